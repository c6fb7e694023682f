# SPDX-License-Identifier: Apache-2.0
"""What a file that is not a log looks like."""

from __future__ import annotations

import time

import pytest

from forensics.inventory.file_type import is_log, looks_like
from forensics.records.layout_detection import profile_of
from forensics.records.layouts import packaged

BLANK = b"\n" * 9

KINDS = [
    (b"\n# first\n! second\n\nbootstrap.servers=a:9092\n\ngroup.id : g\n", "looks like properties"),
    (b"  a=1\n#\n\nb=2", "looks like properties"),
    (b"# a comment\n\n---\nkafka:\n  port: 9092\n", "looks like YAML"),
    (BLANK + b"kafka:\n  port: 9092\n", "looks like YAML"),
    (b"\n  Topic: orders\tTopicId: x PartitionCount: 3\n", "looks like output of kafka-topics --describe"),
    (BLANK + b"<configuration>\n", "looks like XML"),
    (b'"main" #1 prio=5\n', "looks like a thread dump"),
    (b"a word\n", "no line looks like a log record"),
    (BLANK, "no line looks like a log record"),
]


@pytest.mark.parametrize(("content", "kind"), KINDS, ids=range(len(KINDS)))
def test_a_kind_is_known_by_its_first_lines(content, kind):
    assert looks_like("a.txt", content) == kind


@pytest.mark.parametrize("repeated", [b"\n", b" \n", b"#\n", b" ", b"a", b"a=\n", b"a\n", b'"', b"Topic: a\n", b"\t \n#\n"])
@pytest.mark.parametrize("end", [b"", b"\x01", b"note"])
def test_a_long_beginning_takes_no_time(repeated, end):
    began = time.process_time()
    looks_like("notes.txt", repeated * 16_384 + end)
    assert time.process_time() - began < 0.2


def test_a_markdown_file_of_messages_without_times_is_a_log_but_not_one_that_quotes_a_few():
    message = "Marking the coordinator b:9092 (id: 2147483646 rack: null) dead for group orders\n"
    prose = "After a restart we see this line.\nIt comes back each day.\nIs it harmful?\n"
    for text, expected in ((f"{prose}```\n{message * 2}```\n", True), (f"{prose * 2}```\n{message}```\n", False)):
        assert is_log("report.md", text.encode(), profile_of(text.encode(), packaged())) is expected
