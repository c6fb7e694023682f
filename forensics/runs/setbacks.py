"""Find where the clock of a process was set back during its run.

Threads print slightly out of order, so only a jump back of more than two seconds plus `clock_jitter_ms` shows that a clock was set back. A single line does not: a
clock that was set back stays back, whereas an isolated line was only printed late.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from forensics.logs.instances import Instances
from forensics.logs.lines import line_table
from forensics.relations.columns import InOrder, codes, numbers
from forensics.relations.conditions import one_of

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs, Row
    from forensics.runs.run_facts import Run


def setbacks(inputs: Inputs) -> dict[Run, list[Row]]:
    """Return the lines before which the clock was set back, by run: position, event (None: only counted), the event before, by how much, and if a file begins.

    Args:
        inputs: rows of `event_row`, `counted_row`, `copied_log`, `process_start` and `shared_log`.
    """
    # In a log of several members or processes, times go back without a clock step.
    is_own = ~one_of("process_id", (row["process_id"] for row in inputs.rows("shared_log")))
    lines = line_table(inputs, ["process_id", "stream_pos", "ts", "path"], is_own & pc.field("ts").is_valid())
    if lines.num_rows == 0:
        return {}
    ordered = InOrder(codes(lines["process_id"]), lines["stream_pos"].to_numpy())
    at_ms = numbers(lines["ts"])[ordered.order]
    before_ms = ordered.earlier(at_ms)
    # A time that is missing does not matter.
    least_ms = np.fmin(np.fmin(before_ms - at_ms, ordered.earlier(at_ms, 2) - at_ms), before_ms - ordered.later(at_ms))
    found = np.flatnonzero(least_ms > inputs.knobs.clock_setback_ms + inputs.knobs.clock_jitter_ms)
    if len(found) == 0:
        return {}
    places = lines.take(ordered.order[found])
    files = codes(lines["path"])[ordered.order].astype(np.float64)
    return _by_run(inputs, places, (before_ms - at_ms)[found].tolist(), (ordered.earlier(files) != files)[found].tolist())


def _by_run(inputs: Inputs, places: pa.Table, by_ms: list[float], is_file: list[bool]) -> dict[Run, list[Row]]:
    """Return the set-backs of each run, in order, with their events."""
    instances, events = Instances(inputs), _events(inputs, places["process_id"].to_pylist())
    runs: defaultdict[Run, list[Row]] = defaultdict(list)
    for process_id, pos, by, begins in zip(places["process_id"].to_pylist(), places["stream_pos"].to_pylist(), by_ms, is_file, strict=True):
        positions, ids = events.get(process_id, ([], []))
        at = bisect_left(positions, pos)
        own = ids[at] if at < len(positions) and positions[at] == pos else None
        before = ids[at - 1] if at > 0 else None
        row = {"stream_pos": pos, "event_id": own, "before_id": before, "by_ms": int(by), "is_file_begin": begins}
        runs[process_id, instances.at(process_id, pos)].append(row)
    return {run: sorted(its, key=lambda row: int(row["stream_pos"])) for run, its in runs.items()}


def _events(inputs: Inputs, processes: list[str]) -> dict[str, tuple[list[int], list[str]]]:
    """Return positions and ids of the events of these processes that have a time, in order."""
    wanted = one_of("process_id", processes) & pc.field("ts").is_valid() & (pc.field("category") != "snapshot")
    lines = inputs.table("event_row", ["process_id", "stream_pos", "event_id"], wanted)
    found = {}
    for process_id in set(processes):
        its = lines.filter(pc.equal(lines["process_id"], process_id)).sort_by("stream_pos")
        found[process_id] = its["stream_pos"].to_pylist(), its["event_id"].to_pylist()
    return found
