# SPDX-License-Identifier: Apache-2.0
"""Records are read together, what several of them say once: each gives the row that the slow reader gives, whatever has been done to its bytes."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from reading import read_evidence

from forensics.inventory.inventory import find_evidence
from forensics.records.line_reader import Profile

SAMPLES = Path(__file__).parent.parent / "sample_logs"
LOGS = ("split-brain-frozen-worker-3.9.1", "session-timeouts-consumers-3.9.1", "split-brain-partitioned-worker-2.3.0")

#: What may befall a line; each must leave both readings alike.
HARMS: dict[str, Callable[[bytes], bytes]] = {
    "letters of other alphabets": lambda x: x.replace(b"group", "grüpp €".encode()),
    "broken UTF-8": lambda x: x.replace(b"a", b"\xff", 1),
    "zero byte": lambda x: x.replace(b"] INFO ", b"] INFO no\0thing "),
    "zero byte in a time": lambda x: x.replace(b"[20", b"[2\0000", 1),
    "byte order mark": lambda x: b"\xef\xbb\xbf" + x,
    "carriage returns": lambda x: x + b"\r\r",
    "cut": lambda x: x[: len(x) // 2],
    "secret": lambda x: x.replace(b" (org", b" password=hunter2 (org"),
    "odd blanks": lambda x: re.sub(rb" \(org", b"  \t\xc2\xa0 (org", x.replace(b"] INFO ", b"] INFO \xc2\xa0 ")),
    "blank lines": lambda x: x + b"\n\n\n",
    "unknown": lambda x: x.replace(b"] INFO ", b"] INFO Nobody knows of this: "),
    "another level": lambda x: x.replace(b"] INFO ", b"] DEBUG "),
    "no time": lambda x: re.sub(rb"\d\d:\d\d:\d\d", b"25:61:61", x, count=1),
    "seconds only": lambda x: re.sub(rb",\d{3}\]", b"]", x, count=1),
    "long number": lambda x: re.sub(rb"generation=?(Id=)?", rb"\g<0>9999999999999999999999", x),
    "another program": lambda x: x.replace(b"(org.apache.kafka", b"(com.example.kafka"),
    "long": lambda x: x.replace(b" (org", b" and more" * 400 + b" (org"),
}


def harmed(log: bytes, seed: int) -> bytes:
    """A log of which every third line has been harmed in some way."""
    rng = random.Random(seed)
    harms = list(HARMS.values())
    return b"\n".join(rng.choice(harms)(line) if rng.random() < 0.3 else line for line in log.split(b"\n"))


def told(counts: dict[str, Any]) -> dict[str, Any]:
    """What a range held; the order of layouts says nothing."""
    return {**counts, "layouts": dict(counts["layouts"])}


@pytest.mark.parametrize("sample", LOGS)
@pytest.mark.parametrize(("ends", "keep_all"), [(b"\n", False), (b"\r\n", False), (b"\n", True)], ids=["LF", "CRLF", "all kept"])
def test_what_is_said_often_is_read_as_what_is_said_once(
    sample: str, ends: bytes, keep_all: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, log in enumerate(sorted((SAMPLES / sample).rglob("*.log"))):
        content = harmed(log.read_bytes(), number)
        (tmp_path / f"{number}.log").write_bytes((content + b"\n" + content).replace(b"\n", ends))
    evidence = find_evidence([tmp_path])
    assert any(e.format.profile.plain for e in evidence)
    quick = read_evidence(evidence, 100_000, broken=True, keep_all=keep_all)
    monkeypatch.setattr(Profile, "plain", property(lambda self: False))
    slow = read_evidence(evidence, 100_000, broken=True, keep_all=keep_all)
    assert quick.unrecognised
    assert bool(quick.counted) == (not keep_all and "worker" in sample)
    assert quick.counted == slow.counted
    assert quick.events == slow.events
    assert quick.unrecognised == slow.unrecognised
    assert quick.faults == slow.faults
    assert [told(r) for r in quick.ranges if r["events"]] == [told(r) for r in slow.ranges if r["events"]]


def test_a_time_with_a_fraction_is_not_read_as_one_without_where_lines_are_cut(tmp_path: Path) -> None:
    whole = b"[2026-11-21 07:51:21,404] INFO Worker stopping (org.apache.kafka.connect.runtime.Worker:250)\n"
    (tmp_path / "connect.log").write_bytes(whole * 50 + b"[2026-11-21 07:51:25]\n[2026-11-21 07:51:25,735] I")
    found = read_evidence(find_evidence([tmp_path]), 1 << 20)
    assert [r["last_ts"] % 60_000_000 for r in found.ranges] == [25_735_000]
