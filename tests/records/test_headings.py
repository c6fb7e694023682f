# SPDX-License-Identifier: Apache-2.0
"""Several logs in one file: each part that a heading or a prefix names is a process of its own."""

from __future__ import annotations

import pytest

from forensics.records.layout_detection import profile_of
from forensics.records.layouts import packaged
from forensics.records.line_reader import RecordReader, read_records

W1 = "[2026-11-21 07:51:21,404] INFO first (a.B)\n\tdetail of w1\n"
W2 = "[2026-11-21 07:51:20,000] INFO second (a.B)\n"


def sources(text: str) -> list[tuple[str | None, str]]:
    """The file that each record is from, and its message."""
    content = text.encode()
    reader = RecordReader(packaged(), profile_of(content, packaged()))
    return [(r.record.source, r.record.message) for r in read_records(content, reader)]


BOTH = [("w1/connect.log", "first\n\tdetail of w1"), ("w2/connect.log", "second")]


@pytest.mark.parametrize(
    "text",
    [
        f"==> w1/connect.log <==\n{W1}\n==> w2/connect.log <==\n{W2}",
        f"==> ./w1/connect.log <==\n{W1}\n==> ./w2/connect.log <==\n{W2}",
        "".join(f"{':' * 14}\n{name}\n{':' * 14}\n{lines}" for name, lines in (("w1/connect.log", W1), ("w2/connect.log", W2))),
        f"=== w1/connect.log ===\n{W1}=== w2/connect.log ===\n{W2}",
        f"##### File: w1/connect.log\n{W1}##### File: w2/connect.log\n{W2}",
        f"w1/connect.log\n{W1}\nw2/connect.log\n{W2}",
        "".join(f"{name}:{line}\n" for name, lines in (("w1/connect.log", W1), ("w2/connect.log", W2)) for line in lines.splitlines()),
        "".join(f"./{name}:{n}:{line}\n" for name, lines in (("w1/connect.log", W1), ("w2/connect.log", W2)) for n, line in enumerate(lines.splitlines(), 7)),
    ],
    ids=["tail", "tail of .", "more", "banner", "banner with a word", "rg --heading", "grep", "grep -n of ."],
)  # fmt: skip
def test_each_part_is_of_the_file_that_its_heading_names(text: str) -> None:
    assert sources(text) == BOTH


def test_a_part_may_come_again_and_its_lines_are_numbered_or_not() -> None:
    text = f"w1/connect.log\n12:{W2}w2/connect.log\n3:{W2}w1/connect.log\n20:{W2}"
    assert [source for source, _ in sources(text)] == ["w1/connect.log", "w2/connect.log", "w1/connect.log"]


def test_a_record_does_not_go_on_behind_a_heading() -> None:
    found = sources(f"==> w1/connect.log <==\n{W1}\n==> w2/connect.log <==\n\trest of a record that is cut\n{W2}")
    assert found == BOTH


@pytest.mark.parametrize("inside", ["==> w9.log <==", "w9/connect.log", "::::::::::::::", "--- a/w9.log", "==========="])
def test_one_such_line_inside_a_record_is_no_heading(inside: str) -> None:
    text = W1.replace("\tdetail of w1", inside) + W2
    assert sources(text) == [(None, f"first\n{inside}"), (None, "second")]


JOURNALCTL = ["-- Boot 3e5bfc4ef4d84f7c9a4e4d1fc0e5a0f1 --", "-- Reboot --", "-- No entries --", "-- Logs begin at Fri 2026-11-20 10:00:00 UTC, end at Sat 2026-11-21 08:00:00 UTC. --"]  # fmt: skip


@pytest.mark.parametrize("line", JOURNALCTL)
@pytest.mark.parametrize("head", ["", "Nov 21 07:51:21 w1 connect[12]: "], ids=["cat", "short"])
def test_a_line_of_journalctl_belongs_to_no_record_and_names_no_process(line: str, head: str) -> None:
    found = sources(f"{line}\n{head}{W2}{line}\n{head}{W2.replace('second', 'third')}")
    assert found == [("w1 connect" if head else None, "second"), ("w1 connect" if head else None, "third")]


def test_a_boot_behind_the_sample_ends_a_record() -> None:
    head = "Nov 21 07:51:21 w1 connect[12]: "
    found = sources(f"{head}{W2}" * 12_000 + f"{JOURNALCTL[0]}\n" + f"{head}{W2}" * 12_000)
    assert len(found) == 24_000
    assert set(found) == {("w1 connect", "second")}
