"""Find when a process printed anything: the times of all its recognised lines, as in the view `process_line`, which is not stored."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from forensics.logs.instances import Instances
from forensics.logs.lines import line_table
from forensics.relations.conditions import one_of

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs


class LineTimes:
    """The times of the lines of some processes, by their own clocks.

    Args:
        inputs: rows of `event_row`, `counted_row`, `copied_log` and `process_start`.
        processes: the processes.
    """

    def __init__(self, inputs: Inputs, processes: Iterable[str | None]) -> None:
        self._times: defaultdict[tuple[str, int], list[int]] = defaultdict(list)
        wanted = one_of("process_id", processes) & pc.field("ts").is_valid()
        lines = Instances(inputs).added(line_table(inputs, ["process_id", "stream_pos", "ts"], wanted))
        for process_id, instance, at_ms in zip(*(lines[name].to_pylist() for name in ("process_id", "instance", "ts")), strict=True):
            self._times[process_id, instance].append(at_ms)
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
