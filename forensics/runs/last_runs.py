"""Find the runs with which the logs of processes end, where the absence of a line shows something."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from forensics.clocks.offsets import Clocks
from forensics.logs.filtered_logs import filtered_logs
from forensics.relations.missing import first

if TYPE_CHECKING:
    from forensics.clocks.offsets import Offset
    from forensics.relations.inputs import Inputs


@dataclass(frozen=True)
class LastRun:
    """The last run of a process in its log.

    Attributes:
        process_id, instance: the process and the number of the run.
        last_ms: the first line about its end, or the last line, by its own clock.
        is_ending: True if there is a line about its end.
        clock: its clock.
    """

    process_id: str
    instance: int
    last_ms: int | None
    is_ending: bool
    clock: Offset


def last_runs(inputs: Inputs) -> Iterator[LastRun]:
    """Yield the last run of each log. If the log is filtered, or has a lost range in that run, the absence of a line proves nothing.

    Args:
        inputs: rows of `process_life`, `clock_offset`, `filtered_log` and `lost_range`.
    """
    filtered = filtered_logs(inputs)
    lost = {(row["process_id"], row["instance"]) for row in inputs.rows("lost_range", ["process_id", "instance"])}
    clocks = Clocks(inputs)
    for row in inputs.rows("process_life", ["process_id", "instance", "last_ms", "ending_ms", "ending_id", "next_start_ms"]):
        process_id, clock = row["process_id"], clocks.of(row["process_id"])
        is_lost = process_id in filtered or not lost.isdisjoint([(process_id, row["instance"]), (process_id, None)])
        if clock is not None and row["next_start_ms"] is None and not is_lost:
            last_ms = first(row["ending_ms"], row["last_ms"])
            yield LastRun(process_id, row["instance"], last_ms, row["ending_id"] is not None, clock)
