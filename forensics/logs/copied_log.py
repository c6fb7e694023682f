"""Compute the view `copied_log`: logs that copy another one, or a part of it, in another format.

A coordinator issues a member id only once, and no two processes print the same lines about the same task at the same millisecond. One process that was
read as two would own everything twice, so only the log with more lines is used.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from forensics.relations.columns import Codes, codes, flags, is_one_of, numbers, places
from forensics.relations.conditions import one_of
from forensics.relations.missing import greatest, least, less

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs, Knobs, Row

#: Only lines about groups and tasks count, because two processes rarely print the same ones.
_CATEGORIES = ("membership", "assignment", "task", "connector", "coordinator", "broker_group")
#: Equal lines have the same time and text, and these names.
_CONTENT = ["ts", "event", "group_id", "client_id", "member_id", "task", "message"]


@dataclass
class _Log:
    """The lines of one process about groups and tasks. Equal ones in the same millisecond count once.

    Args:
        times: their times, in order.
    """

    times: np.ndarray[Any, np.dtype[np.float64]]
    resolution_ms: int | None
    groups: set[str]

    @property
    def line_count(self) -> int:
        return len(self.times)

    def in_time_of(self, other: _Log) -> int | None:
        """Return how many lines it has in the time of another log; None: it has none."""
        first, after = np.searchsorted(self.times, other.times[0], "left"), np.searchsorted(self.times, other.times[-1], "right")
        return int(after - first) or None


@dataclass
class _Common:
    """What two logs have in common."""

    equal_lines: int = 0
    names_owner: bool = False
    is_joined: bool = False


@dataclass
class _Lines:
    """The lines about groups and tasks of some logs, by number."""

    table: pa.Table
    process: Codes = field(init=False)
    content: Codes = field(init=False)

    def __post_init__(self) -> None:
        self.process = codes(self.table.column("process_id"))
        self.content = np.unique(places(*(codes(self.table.column(name)) for name in _CONTENT)), return_inverse=True)[1]


def rows(inputs: Inputs) -> list[Row]:
    """Return the rows of the view `copied_log`."""
    joins = _shared_joins(inputs)
    processes = _with_common_times(inputs) | {process for pair in joins for process in pair}
    if not processes:
        return []
    lines = _lines(inputs, processes)
    common = _common_lines(lines)
    for pair in joins:
        common[pair].names_owner = common[pair].is_joined = True
    logs = _logs(lines, {process for pair in common for process in pair})
    several = _with_several_workers(inputs)
    originals: defaultdict[str, list[str]] = defaultdict(list)
    for (process_id, other), its in common.items():
        is_alike = (process_id in several) == (other in several)
        if is_alike and process_id in logs and other in logs and _is_copy(process_id, other, logs, its, inputs.knobs):
            originals[process_id].append(other)
    return [_row(process_id, others, logs, common) for process_id, others in originals.items()]


def _row(process_id: str, others: Iterable[str], logs: dict[str, _Log], common: dict[tuple[str, str], _Common]) -> Row:
    other, log = min(others, key=lambda other: (-logs[other].line_count, other)), logs[process_id]
    return {
        "process_id": process_id,
        "of_process": other,
        "equal_lines": common[process_id, other].equal_lines,
        "line_count": log.line_count,
        "from_ms": int(log.times[0]),
        "to_ms": int(log.times[-1]),
    }


def _is_copy(process_id: str, other: str, logs: dict[str, _Log], common: _Common, knobs: Knobs) -> bool:
    """Return True if a log copies another one, which has more lines, or finer times, or comes first by name."""
    a, b = logs[process_id], logs[other]
    if b.line_count == a.line_count:
        is_equal = a.resolution_ms is not None and a.resolution_ms == b.resolution_ms
        is_behind = less(b.resolution_ms, a.resolution_ms) or (is_equal and other < process_id)
    else:
        is_behind = b.line_count > a.line_count
    # Workers of several groups may print the same lines about tasks of the same name.
    if not is_behind or (a.groups and b.groups and not a.groups & b.groups):
        return False
    if common.is_joined:
        return True
    lines, resolution_ms = least(a.in_time_of(b), b.in_time_of(a)), greatest(a.resolution_ms, b.resolution_ms)
    if not common.names_owner or lines is None:
        return False
    if resolution_ms is not None and resolution_ms <= knobs.copied_fine_ms:
        return bool(100 * common.equal_lines >= knobs.copied_percent * lines)
    # If times are printed in whole seconds, two processes have many equal lines by chance.
    return bool(common.equal_lines >= knobs.copied_least_lines and 100 * common.equal_lines >= knobs.copied_coarse_percent * lines)


def _about_work() -> pc.Expression:
    return pc.field("ts").is_valid() & pc.field("process_id").is_valid() & one_of("category", _CATEGORIES)


def _with_common_times(inputs: Inputs) -> set[str]:
    """Return the processes that print the same event as another one at the same time: a quick look at what most logs have not."""
    table = inputs.table("event_row", ["process_id", "ts", "event"], _about_work())
    process = codes(table.column("process_id"))
    if process.max(initial=0) < 1:
        return set()
    moment = places(codes(table.column("ts")), codes(table.column("event")))
    found = _several(process, moment)
    return set(table.column("process_id").filter(pa.array(found)).unique().to_pylist())


def _several(process: Codes, content: Codes) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Return which lines have a content that lines of several processes have."""
    order = np.lexsort((process, content))
    ordered, its = content[order], process[order]
    begins = np.flatnonzero(np.diff(ordered, prepend=ordered[0] - 1))
    sizes = np.diff(np.append(begins, len(ordered)))
    found = np.empty(len(ordered), np.bool_)
    found[order] = np.repeat(its[begins] != its[begins + sizes - 1], sizes)
    return found


def _shared_joins(inputs: Inputs) -> set[tuple[str, str]]:
    """Return pairs of logs in which a member joins the same generation, or gets its id.

    A member joins a generation once, and a coordinator creates a member id once. That holds even if the clocks were read in two zones or the times are
    whole seconds.
    """
    joins = one_of("event", ("joined", "synced")) & pc.field("generation").is_valid()
    ids = (pc.field("event") == "member_added") & pc.match_substring(pc.field("message"), "reated a new member id")
    columns = ["group_id", "member_id", "generation", "event", "process_id"]
    logs = defaultdict(set)
    for *join, process_id in inputs.distinct("event_row", columns, (pc.field("member_id") != "") & (joins | ids)):
        if process_id is not None:
            logs[tuple(join)].add(process_id)
    return {pair for its in logs.values() for pair in permutations(its, 2)}


def _lines(inputs: Inputs, processes: Iterable[str]) -> _Lines:
    columns = ["process_id", "resolution_ms", *_CONTENT, "assigned_tasks", "partitions"]
    return _Lines(inputs.table("event_row", columns, _about_work() & one_of("process_id", processes)))


def _common_lines(lines: _Lines) -> defaultdict[tuple[str, str], _Common]:
    """Return what pairs of logs have in common: lines with the same time and text."""
    found: defaultdict[tuple[str, str], _Common] = defaultdict(_Common)
    if not len(lines.process):
        return found
    shared = pa.table({"content": lines.content, "process": lines.process, "names_owner": _names_owner(lines.table)}).filter(
        pa.array(_several(lines.process, lines.content))
    )
    owners = shared.group_by("content").aggregate([("names_owner", "max")])
    each = shared.group_by(["content", "process"]).aggregate([]).join(owners, "content", join_type="inner")
    others = each.select(["content", "process"]).rename_columns(["content", "other"])
    pairs = each.join(others, "content", join_type="inner").filter(pc.field("process") != pc.field("other"))
    names = lines.table.column("process_id").combine_chunks().dictionary_encode().dictionary.to_pylist()
    for row in pairs.group_by(["process", "other"]).aggregate([("content", "count"), ("names_owner_max", "max")]).to_pylist():
        found[names[row["process"]], names[row["other"]]] = _Common(row["content_count"], row["names_owner_max_max"])
    return found


def _names_owner(table: pa.Table) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Return which lines name an owner, a task or a round."""
    lists = (pc.greater(pc.list_value_length(table.column(name)), 0) for name in ("assigned_tasks", "partitions"))
    found = flags(pc.not_equal(table.column("member_id"), "")) | flags(pc.is_valid(table.column("task")))
    for has_any in lists:
        found |= flags(has_any)
    return found | is_one_of(table.column("event"), ("group_stabilized", "rebalance_preparing"))


def _logs(lines: _Lines, processes: set[str]) -> dict[str, _Log]:
    """Return the logs of these processes."""
    return dict(_each_log(lines, processes))


def _each_log(lines: _Lines, processes: set[str]) -> Iterator[tuple[str, _Log]]:
    names = lines.table.column("process_id").combine_chunks().dictionary_encode().dictionary.to_pylist()
    times = numbers(lines.table.column("ts"))
    for process, name in enumerate(names):
        if name not in processes:
            continue
        here = np.flatnonzero(lines.process == process)
        first = here[np.unique(lines.content[here], return_index=True)[1]]
        its = lines.table.select(["resolution_ms", "group_id"]).take(pa.array(here))
        groups = {group for group in its.column("group_id").unique().to_pylist() if group is not None}
        yield name, _Log(np.sort(times[first]), pc.max(its.column("resolution_ms")).as_py(), groups)


def _with_several_workers(inputs: Inputs) -> set[str]:
    """Return logs with lines of several Connect workers. Such a log and a worker's own log are not copies of each other, whatever lines they share."""
    workers = (pc.field("client_kind") == "Worker") & pc.field("group_id").is_valid() & ~pc.match_substring(pc.field("client_id"), "->")
    found = defaultdict(set)
    for process_id, *worker in inputs.distinct("event_row", ["process_id", "group_id", "client_id"], workers):
        found[process_id].add(tuple(worker))
    return {process_id for process_id, its in found.items() if len(its) > 1}
