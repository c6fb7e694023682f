"""Find when a process printed anything: the times of all its recognised lines, as in the view `process_line`, which is not stored."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from forensics.relations.conditions import one_of

if TYPE_CHECKING:
    from forensics.logs.clusters import Clusters
    from forensics.relations.inputs import Inputs


class LineTimes:
    """The times of the lines of some processes, by their own clocks.

    Args:
        inputs: rows of `event_row`, `counted_row` and `copied_log`.
        processes: the processes.
        clusters: the runs of all processes.
    """

    def __init__(self, inputs: Inputs, processes: Iterable[str | None], clusters: Clusters) -> None:
        self._times: defaultdict[tuple[str, int], list[int]] = defaultdict(list)
        copies = {row["process_id"] for row in inputs.rows("copied_log")}
        wanted = one_of("process_id", set(processes) - copies) & pc.field("ts").is_valid()
        columns = ["process_id", "stream_pos", "ts"]
        # A collection begins and ends while the program does not run.
        counted = inputs.table("counted_row", columns, wanted & (pc.field("event") != "gc_pause_began"))
        for table in (inputs.table("event_row", columns, wanted & (pc.field("category") != "snapshot")), counted):
            for process_id, stream_pos, at_ms in zip(*(table.column(name).to_pylist() for name in columns), strict=True):
                self._times[process_id, clusters.instance(process_id, stream_pos)].append(at_ms)
        for times in self._times.values():
            times.sort()

    def before(self, process_id: str, instance: int, at_ms: int) -> int | None:
        """Return when a run of a process printed its last line before that time; None: it had printed none."""
        times = self._times.get((process_id, instance), ())
        at = bisect_left(times, at_ms)
        return times[at - 1] if at else None

    def after(self, process_id: str, instance: int, at_ms: int) -> int | None:
        """Return when a run of a process printed its first line after that time; None: it printed none."""
        times = self._times.get((process_id, instance), ())
        at = bisect_right(times, at_ms)
        return times[at] if at < len(times) else None
