"""Compute the view `lost_range`: places in logs where what was printed is lost."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from forensics.logs.instances import Instances
from forensics.logs.lines import line_table
from forensics.relations.columns import Numbers, numbers
from forensics.relations.conditions import one_of

if TYPE_CHECKING:
    import pyarrow as pa

    from forensics.relations.inputs import Inputs, Row

Positions = npt.NDArray[np.int64]
_NO_LINES: tuple[Positions, Numbers] = (np.array([], np.int64), np.array([], np.float64))


def rows(inputs: Inputs) -> list[Row]:
    """Return the rows of the view `lost_range`. Several damaged places without a record between them are one."""
    losses: defaultdict[str, list[Row]] = defaultdict(list)
    for row in inputs.rows("range_row", ["path", "lost"]):
        if row["lost"]:
            losses[row["path"]] += row["lost"]
    if not losses:
        return []
    files = _processes(inputs, losses)
    lines = line_table(inputs, ["process_id", "stream_pos", "ts"], one_of("process_id", (process_id for _, process_id in files)))
    logs, instances = _logs(lines), Instances(inputs)
    between: defaultdict[tuple[str, int | None, int | None], list[Row]] = defaultdict(list)
    for path, process_id in sorted(files):
        positions, _ = logs.get(process_id, _NO_LINES)
        for loss in losses[path]:
            # The beginning of a cut record may still show its time, so it is before the loss.
            at = int(np.searchsorted(positions, loss["from_pos"], "right"))
            key = process_id, at - 1 if at > 0 else None, at if at < len(positions) else None
            between[key].append(loss | {"path": path})
    return [_row(process_id, logs, instances, before, after, its) for (process_id, before, after), its in between.items()]


def _processes(inputs: Inputs, paths: dict[str, list[Row]]) -> set[tuple[str, str]]:
    """Return the processes whose lines are in these files."""
    is_in_file, columns = one_of("path", paths), ["path", "process_id"]
    return inputs.distinct("event_row", columns, is_in_file & (pc.field("category") != "snapshot")) | inputs.distinct(
        "counted_row", columns, is_in_file
    )


def _logs(lines: pa.Table) -> dict[str, tuple[Positions, Numbers]]:
    """Return the positions and times of the lines of each process, in order."""
    found = {}
    for process_id in pc.unique(lines["process_id"]).to_pylist():
        its = lines.filter(pc.equal(lines["process_id"], process_id)).sort_by("stream_pos")
        found[process_id] = its["stream_pos"].to_numpy(), numbers(its["ts"])
    return found


def _row(
    process_id: str,
    logs: dict[str, tuple[Positions, Numbers]],
    instances: Instances,
    before: int | None,
    after: int | None,
    losses: list[Row],
) -> Row:
    positions, times = logs.get(process_id, _NO_LINES)
    earlier = [int(positions[at]) for at in (before,) if at is not None]
    later = [int(positions[at]) for at in (after,) if at is not None]
    return {
        "process_id": process_id,
        "before_instance": instances.at(process_id, earlier[0]) if earlier else None,
        "instance": instances.at(process_id, later[0]) if later else None,
        "from_pos": earlier[0] if earlier else min(loss["from_pos"] for loss in losses) - 1,
        "to_pos": later[0] if later else max(loss["to_pos"] for loss in losses) + 1,
        "from_ms": _time(times, before),
        "to_ms": _time(times, after),
        "path": min(loss["path"] for loss in losses),
        "from_line": min(loss["from_line"] for loss in losses),
        "to_line": max(loss["to_line"] for loss in losses),
        "from_byte": min(loss["from_byte"] for loss in losses),
        "to_byte": max(loss["to_byte"] for loss in losses),
        "why": min(loss["why"] for loss in losses),
    }


def _time(times: Numbers, at: int | None) -> int | None:
    return int(times[at]) if at is not None and not np.isnan(times[at]) else None
