# SPDX-License-Identifier: Apache-2.0
"""The releases that fit the lines of a process."""

from __future__ import annotations

from given_rows import GivenRows

from forensics.processes.kafka_release import fingerprints

END_MS = 1_790_000_000_000  # September 2026


def fits(*hints: str, starts: tuple[int, ...] = (), end_ms: int = END_MS) -> str | None:
    """Return the releases that fit lines with these hints, at positions 0, 10, 20, ..."""
    given = GivenRows(
        {
            "event_row": [
                {"process_id": "p", "category": "membership", "event": "joined", "releases": hint, "stream_pos": 10 * n}
                for n, hint in enumerate(hints)
            ],
            "process_start": [{"process_id": "p", "starts": [{"stream_pos": pos} for pos in starts]}],
            "process_life": [{"process_id": "p", "last_ms": end_ms}],
        }
    )
    found = fingerprints(given).get("p")
    return None if found is None else found.range


def test_three_hints_that_only_one_release_allows_name_it():
    assert fits("2.8.1..", "2.6.1..2.8.1", "2.3.0..2.3.1 2.8.1..2.8.2") == "2.8.1"


def test_two_hints_or_repeated_ones_are_too_few():
    assert fits("2.8.1..", "2.6.1..2.8.1") is None
    assert fits("2.8.1..", "2.6.1..2.8.1", "2.8.1..", "2.6.1..2.8.1") is None


def test_hints_that_contradict_each_other_name_no_release():
    assert fits("..2.0.0", "2.6.1..2.8.1", "3.0.0..3.0.2") is None


def test_only_the_last_run_counts():
    hints = ("2.0.0", "2.0.1", "2.1.0", "3.3.0..", "..3.3.1", "2.3.0..")
    assert fits(*hints) is None
    assert fits(*hints, starts=(30,)) == "3.3.0..3.3.1"


def test_a_release_that_did_not_exist_when_the_log_ended_is_not_named():
    assert fits("2.7.1 3.3.1", "2.7.1 3.3.1..", "2.7.1 3.3.0..", end_ms=1_626_000_000_000) == "2.7.1"
