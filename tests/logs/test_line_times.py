# SPDX-License-Identifier: Apache-2.0
"""When a run of a process printed something, whatever it was."""

from __future__ import annotations

from given_rows import GivenRows

from forensics.logs.line_times import LineTimes

GIVEN = GivenRows(
    {
        "event_row": [
            {"process_id": "w", "category": "task", "event": "task_starting", "stream_pos": 1, "ts": 1_000},
            {"process_id": "w", "category": "task", "event": "task_starting", "stream_pos": 11, "ts": 5_000},
            {"process_id": "w", "category": "snapshot", "event": "groups_described", "stream_pos": 12, "ts": 5_500},
            {"process_id": "copy", "category": "task", "event": "task_starting", "stream_pos": 1, "ts": 1_000},
        ],
        "counted_row": [
            {"process_id": "w", "event": "heartbeat_ok", "stream_pos": 2, "ts": 2_000},
            {"process_id": "w", "event": "gc_pause_began", "stream_pos": 3, "ts": 3_000},
            {"process_id": "w", "event": "heartbeat_ok", "stream_pos": 13, "ts": None},
        ],
        "process_start": [{"process_id": "w", "starts": [{"stream_pos": 10}]}],
        "copied_log": [{"process_id": "copy"}],
    }
)


def test_lines_of_one_run_are_those_strictly_before_and_after():
    lines = LineTimes(GIVEN, ["w", "copy", None])
    assert (lines.before("w", 0, 2_000), lines.before("w", 0, 2_001), lines.before("w", 0, 1_000)) == (1_000, 2_000, None)
    assert (lines.after("w", 0, 1_000), lines.after("w", 0, 2_000)) == (2_000, None)
    assert (lines.before("w", 1, 9_000), lines.after("w", 1, 0)) == (5_000, 5_000)


def test_a_copy_and_a_process_that_was_not_asked_for_have_no_lines():
    lines = LineTimes(GIVEN, ["copy"])
    assert lines.after("copy", 0, 0) is None
    assert lines.after("w", 0, 0) is None
