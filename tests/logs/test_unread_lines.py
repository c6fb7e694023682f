# SPDX-License-Identifier: Apache-2.0
"""Truncated lines, and lines with bytes that are not text."""

from __future__ import annotations

from given_rows import GivenRows

from forensics.logs.unread_lines import damaged_lines, truncated_lines

WORDS = ["Joined", "Member", "Finished", "Successfully", "Committing"]


def lines(*texts: str, process: str = "w") -> list[dict[str, object]]:
    return [{"process_id": process, "level": "INFO", "ts": 1_000 * n, "text": text} for n, text in enumerate(texts)]


def cut(number: int, length: int = 60) -> list[str]:
    return [f"{WORDS[n % len(WORDS)]} {'x' * length}"[:length] for n in range(number)]


def found(*texts: str) -> list[int]:
    return [log.lines for log in truncated_lines(GivenRows({"unrecognised_row": lines(*texts)}))]


def test_different_messages_of_one_length_were_truncated():
    assert found(*cut(12), "short one") == [12]


def test_few_lines_equal_messages_or_mostly_other_lengths_show_nothing():
    assert found(*cut(9)) == []
    assert found(*["Joined " + "x" * 53] * 12) == []
    assert found(*cut(10), *(f"Other {'y' * n}" for n in range(11))) == []


def test_a_blank_at_the_cut_and_the_lines_of_a_stack_trace_do_not_matter():
    assert found(*(text[:-1] if n % 2 else text + "\n\tat org.example.Main" for n, text in enumerate(cut(12)))) == [12]


def test_bytes_that_are_not_text_count_with_names_that_contradict_the_others():
    rows = [*lines("Starting t\N{REPLACEMENT CHARACTER}sk", "a\x00b", "tab\tand\r\nends"), *lines("clean", process="v")]
    assert damaged_lines(GivenRows({"unrecognised_row": rows, "damaged_line": [{"process_id": "w", "event_id": "e"}]})) == {"w": 3}
