# SPDX-License-Identifier: Apache-2.0
"""Reports of crashed JVMs: what happened and when, of several releases, and what has no place in time.

The lines are those of reports that people posted: JDK 8 (8.0_251), 17 (17.0.9+9), and an allocation that failed (druid-0.8.0).
"""

from __future__ import annotations

import pytest

from forensics.snapshots.detection import JVM_CRASH, READERS, kind_of, sample_lines
from forensics.snapshots.observation import Broken, Item, Observation

HEAD = "#\n# A fatal error has been detected by the Java Runtime Environment:\n#\n"
#: 21 March 2024, 11:39:40 UTC.
AT = 1_711_021_180_000
TIME = "Time: Thu Mar 21 11:39:40 2024 UTC elapsed time: 5697278.196357 seconds (65d 22h 34m 38s)\n"
FORMS = {
    "signal": (HEAD + "#  SIGSEGV (0xb) at pc=0x00007f8b2c41a3d9, pid=21847, tid=21902\n#\n# Problematic frame:\n# J 3821 c2 x.Y.z()V\n" + TIME, "SIGSEGV (0xb)", "21847"),
    "library": (
        HEAD + "#  SIGSEGV (0xb) at pc=0x0000000120cecd8b, pid=24103, tid=0x000000000000712f\n# Problematic frame:\n"
        "# C  [librocksdbjni3847518070546690970.jnilib+0x19d8b]  _Z20key+0xdb\n" + TIME,
        "SIGSEGV (0xb), in librocksdbjni3847518070546690970.jnilib",
        "24103",
    ),
    "memory": (
        "#\n# There is insufficient memory for the Java Runtime Environment to continue.\n"
        "# Native memory allocation (malloc) failed to allocate 28520448 bytes for committing reserved memory.\n"
        "#  Out of Memory Error (os_linux.cpp:2749), pid=25770, tid=0x00007f\n" + TIME,
        "Native memory allocation (malloc) failed to allocate 28520448 bytes",
        "25770",
    ),
    "JDK 8": (HEAD + "#  SIGBUS (0x7) at pc=0xb695dd12, pid=16158, tid=1824521072\ntime: Thu Mar 21 11:39:40 2024\ntimezone: UTC\nelapsed time: 20 seconds\n", "SIGBUS (0x7)", "16158"),
}  # fmt: skip


def items(text: str) -> tuple[Observation, list[Item]]:
    found = list(READERS[JVM_CRASH](sample_lines(text.encode())))
    return next(item for item in found if isinstance(item, Observation)), found


@pytest.mark.parametrize("form", FORMS)
def test_what_crashed_and_when(form: str) -> None:
    text, how, pid = FORMS[form]
    assert kind_of(text.encode(), fitting=0, lines=9) == JVM_CRASH
    row, found = items(text)
    columns = row.captures["columns"]
    assert (columns["what"], columns["of"], columns["how"], columns["pid"]) == ("crashed", "process", how, pid)
    assert (int(columns["from_ms"]), int(columns["to_by_ms"])) == (AT, AT + 999)
    assert len(found) == 1


@pytest.mark.parametrize(
    "end",
    ["", "Time: Thu Mar 21 11:39:40 2024 CET elapsed time: 0 seconds\n", "time: Thu Mar 21 11:39:40 2024\n", "Time: Thu Mar 91 11:39:40 2024 UTC\n"],
)
def test_a_crash_without_a_known_time_has_no_place_in_time(end: str) -> None:
    row, found = items(HEAD + "#  SIGSEGV (0xb) at pc=0x1, pid=1, tid=1\n" + end)
    assert row.ts is None
    assert "from_ms" not in row.captures["columns"]
    assert any(isinstance(item, Broken) for item in found)


def test_a_log_that_quotes_a_crash_is_a_log() -> None:
    line = "[2026-11-22 00:00:01,000] INFO x (org.apache.kafka.a.B:1)\n"
    assert kind_of((line + HEAD).encode(), fitting=1, lines=4) is None
