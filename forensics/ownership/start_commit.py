"""Compute the step `start_commit`: what a group had committed, according to a dump, when one of its consumers started to read a partition."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow.compute as pc

from forensics.clocks.offsets import Clocks
from forensics.relations.columns import MISSING, Codebook, Codes, Flags, Growing, flags, integers
from forensics.relations.conditions import one_of
from forensics.relations.missing import first, greatest, least, less, order, plus, there, up_to
from forensics.relations.ordered import grouped

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs, Row

_CLIENT = ("process_id", "instance", "client")
_OF_LINE = ("kafka_cluster", "group_id", "resource", "process_id", "instance", "client", "stream_pos", "event_id", "how", "at_offset")
_VOID = ("aborted", "pending")


def rows(inputs: Inputs) -> list[Row]:
    """Return the rows of the step `start_commit`."""
    starts = list(_starts(inputs))
    dump = _Dump(inputs, {start["group_id"] for start in starts})
    clocks = Clocks(inputs)
    groups = _groups(inputs, dump, clocks)
    found = [_row(start, group, dump, clocks) for start in starts if (group := groups.get((start["kafka_cluster"], start["group_id"])))]
    ids = dump.event_ids(row["before"] for row in found)
    return [row | {"before": None if row["before"] is None else dump.record(row["before"], ids)} for row in found]


def _starts(inputs: Inputs) -> Iterator[Row]:
    """Yield the lines in which a consumer of a group starts to read, with whether it was assigned the partition just before, and its membership."""
    memberships = _Memberships(inputs)
    is_position = one_of("kind", ("given", "start")) & pc.field("resource").is_valid()
    for lines in grouped(inputs.table("offset_line", [*_OF_LINE, "at_ms", "kind"], is_position), (*_CLIENT, "resource"), "stream_pos", "event_id"):
        kind = None
        for line in lines:
            if line["kind"] == "start" and line["group_id"] is not None and line["at_offset"] is not None:
                yield line | {"is_fresh": kind == "given", "member": memberships.before(line)}
            kind = line["kind"]


class _Member(NamedTuple):
    """A member of a group in a generation."""

    member_id: str | None
    generation: int | None


class _Memberships:
    """The members that consumers were, one after the other.

    Args:
        inputs: the rows of `join_round`.
    """

    def __init__(self, inputs: Inputs) -> None:
        self._of: defaultdict[tuple[Any, ...], list[tuple[int, _Member]]] = defaultdict(list)
        for row in inputs.rows("join_round", ["process_id", "instance", "task", "client", "group_id", "from_pos", "member_id", "generation"]):
            key = row["process_id"], row["instance"], first(row["task"], row["client"]), row["group_id"]
            self._of[key].append((row["from_pos"], _Member(row["member_id"], row["generation"])))
        for its in self._of.values():
            its.sort(key=order)

    def before(self, line: Row) -> _Member:
        """Return what a consumer was just before a line."""
        its = self._of.get((*(line[name] for name in _CLIENT), line["group_id"]), ())
        at = bisect_left(its, line["stream_pos"], key=lambda one: one[0])
        return its[at - 1][1] if at else _Member(None, None)


class _Axis:
    """Commits of one partition in the order of their generations or times.

    Args:
        key: their generations or times, in order.
        numbers: their numbers in the dump.
        acknowledged: what a member committed; `MISSING`: nothing.
        perhaps: what a member may have committed.
    """

    def __init__(self, key: Codes, numbers: Codes, acknowledged: Codes, perhaps: Codes) -> None:
        self._key, self._numbers = key, numbers
        self._acknowledged, self._perhaps = np.maximum.accumulate(acknowledged), np.maximum.accumulate(perhaps)

    def acknowledged(self, before: int) -> int | None:
        """Return the highest offset that members had committed before a generation or time; None: none."""
        at = int(np.searchsorted(self._key, before))
        return None if at == 0 or self._acknowledged[at - 1] == MISSING else int(self._acknowledged[at - 1])

    def perhaps(self, before: int) -> int:
        """Return the highest offset that members may have committed before it; -1: none."""
        at = int(np.searchsorted(self._key, before))
        return -1 if at == 0 else max(-1, int(self._perhaps[at - 1]))

    def last(self, before: int) -> int | None:
        """Return the number of the last commit before it."""
        at = int(np.searchsorted(self._key, before))
        return int(self._numbers[at - 1]) if at else None


class _Dump:
    """The commits of some groups, as numbers.

    Args:
        inputs: the rows of `offset_commit`.
        groups: the groups.
    """

    def __init__(self, inputs: Inputs, groups: Iterable[str]) -> None:
        self._inputs, self._where = inputs, one_of("group_id", groups) & pc.field("kafka_cluster").is_valid()
        texts = {name: Codebook() for name in ("kafka_cluster", "group_id", "partition", "outcome", "made_by")}
        numbers = ("offset", "generation", "committed_ts", "log_offset")
        found = {name: Growing(np.int32) for name in texts} | {name: Growing() for name in numbers} | {"is_next": Growing(np.int8)}
        for part in inputs.parts("offset_commit", list(found), self._where) if groups else ():
            for name, values in found.items():
                column = part.column(name)
                values.add(texts[name].codes(column) if name in texts else integers(column) if name in numbers else flags(column))
        columns = {name: found.pop(name).whole() for name in list(found)}
        self._offset, self._columns = columns["offset"], columns
        made_by, is_void = columns["made_by"], texts["outcome"].is_one_of(columns["outcome"], _VOID)
        self._made_by = {number: word for word, number in texts["made_by"].numbers.items()}
        self._acknowledged = np.where(texts["made_by"].is_one_of(made_by, ("member",)), self._offset, MISSING)
        self._perhaps = np.where(texts["made_by"].is_one_of(made_by, ("outside",)), MISSING, self._offset)
        #: The numbers of each partition's commits.
        self._of: dict[tuple[str, str, str], Codes] = {}
        self._counts: Flags = ~is_void
        self._axes: dict[tuple[tuple[str, str, str], str], _Axis] = {}
        if len(self._offset):
            names = {name: list(texts[name].numbers) for name in ("kafka_cluster", "group_id", "partition")}
            key = np.stack([columns[name] for name in names])
            order = np.lexsort(key[::-1])
            borders = np.flatnonzero(np.any(np.diff(key[:, order], axis=1), axis=0)) + 1
            for its in np.split(order, borders):
                cluster, group, partition = (names[name][columns[name][its[0]]] for name in names)
                self._of[cluster, group, partition] = np.sort(its)

    def partitions(self) -> dict[tuple[str, str, str], _Partition]:
        """Return what is known of the commits of each partition."""
        return {place: self._partition(its) for place, its in self._of.items()}

    def _partition(self, its: Codes) -> _Partition:
        generation, at_ms = self._columns["generation"][its], self._columns["committed_ts"][its]
        return _Partition(
            bool(np.all(self._columns["is_next"][its] == 1)),
            bool(np.all(generation != MISSING)),
            bool(np.all(at_ms != MISSING)),
            _largest(at_ms),
            _largest(generation),
        )

    def axis(self, place: tuple[str, str, str], by: str) -> _Axis:
        """Return the commits of a partition that count, in the order of `generation` or `committed_ts`."""
        if (place, by) not in self._axes:
            its = self._of.get(place, np.zeros(0, np.int64))
            its = its[self._counts[its]]
            key = self._columns[by][its] if len(its) else its
            its, key = its[key != MISSING], key[key != MISSING]
            nth = np.lexsort((its, self._columns["log_offset"][its] if len(its) else its, key))
            its = its[nth]
            self._axes[place, by] = _Axis(key[nth], its, self._acknowledged[its], self._perhaps[its])
        return self._axes[place, by]

    def event_ids(self, numbers: Iterable[int | None]) -> dict[int, str]:
        """Return the ids of some commits."""
        wanted, found, begin = np.unique(np.array(there(numbers), np.int64)), dict[int, str](), 0
        for part in self._inputs.parts("offset_commit", ["event_id"], self._where) if len(wanted) else ():
            its = wanted[(wanted >= begin) & (wanted < begin + part.num_rows)]
            found.update(zip(its.tolist(), part.column("event_id").take(its - begin).to_pylist(), strict=True))
            begin += part.num_rows
        return found

    def record(self, number: int, ids: dict[int, str]) -> Row:
        """Return a commit as a row."""
        offset, at_ms = int(self._offset[number]), int(self._columns["committed_ts"][number])
        return {
            "offset": None if offset == MISSING else offset,
            "made_by": self._made_by.get(int(self._columns["made_by"][number])),
            "at_ms": None if at_ms == MISSING else at_ms,
            "event_id": ids[number],
        }

    def offset(self, number: int | None) -> int | None:
        """Return the offset of a commit."""
        return None if number is None or self._offset[number] == MISSING else int(self._offset[number])


class _Partition(NamedTuple):
    """What is known of the commits of a partition: whether all are there, have generations and times; the last time and generation."""

    is_whole: bool
    is_numbered: bool
    is_timed: bool
    last_ms: int | None
    last_number: int | None


class _Group(NamedTuple):
    """A group in a dump.

    Attributes:
        partitions: what is known of the commits of its partitions. The dump of a group has all of them: without a record, nothing was committed there.
        is_whole, last_ms, last_number: the same of all of them.
        has_one_incarnation: True if the numbers of its generations never restart: only then they order commits.
        ahead_lo_ms, ahead_hi_ms: how far the clocks of its coordinators are ahead of their reference.
        reference_process_id: the reference; None: none, or several, or a clock stepped.
    """

    partitions: dict[str, _Partition]
    is_whole: bool
    last_ms: int | None
    last_number: int | None
    has_one_incarnation: bool
    ahead_lo_ms: int | None
    ahead_hi_ms: int | None
    reference_process_id: str | None


def _groups(inputs: Inputs, dump: _Dump, clocks: Clocks) -> dict[tuple[str, str], _Group]:
    """Return the groups of a dump by cluster and name."""
    partitions: defaultdict[tuple[str, str], dict[str, _Partition]] = defaultdict(dict)
    for (cluster, group, partition), one in dump.partitions().items():
        partitions[cluster, group][partition] = one
    generations: defaultdict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in inputs.rows("generation", ["kafka_cluster", "group_id", "incarnation", "coordinator"], one_of("group_id", {g for _, g in partitions})):
        generations[row["kafka_cluster"], row["group_id"]].append(row)
    found = {}
    for key, its in partitions.items():
        offsets = [clocks.of(row["coordinator"]) for row in generations[key]]
        known = there(offsets)
        references = {offset.reference_process_id for offset in known}
        is_usable = len(references) == 1 and not any(offset.has_stepped for offset in known)
        bounds = [(offset.lo_ms, offset.hi_ms) for offset in known if len(known) == len(offsets)]
        found[key] = _Group(
            its,
            all(one.is_whole for one in its.values()),
            greatest(*(one.last_ms for one in its.values())),
            greatest(*(one.last_number for one in its.values())),
            len({row["incarnation"] for row in generations[key]} - {None}) == 1,
            least(*(lo for lo, _ in bounds)) if None not in [lo for lo, _ in bounds] else None,
            greatest(*(hi for _, hi in bounds)) if None not in [hi for _, hi in bounds] else None,
            max(references) if is_usable else None,
        )
    return found


def _row(start: Row, group: _Group, dump: _Dump, clocks: Clocks) -> Row:
    """Return a row of the step; `before` is the number of the commit."""
    place = start["kafka_cluster"], start["group_id"], start["resource"]
    own = group.partitions.get(start["resource"], _Partition(True, True, True, None, None))  # noqa: FBT003
    number = start["member"].generation if group.has_one_incarnation else None
    clock = clocks.of(start["process_id"])
    lo_ms, hi_ms = (clock.earliest(start["at_ms"]), clock.latest(start["at_ms"])) if clock is not None else (None, None)
    is_comparable = clock is not None and not clock.has_stepped and own.is_timed and clock.reference_process_id == group.reference_process_id
    from_ms, to_ms = (plus(lo_ms, group.ahead_lo_ms), plus(hi_ms, group.ahead_hi_ms)) if is_comparable else (None, None)
    acknowledged: list[int | None] = []
    by_number = by_time = before_number = before_time = None
    if number is not None:
        axis = dump.axis(place, "generation")
        acknowledged.append(axis.acknowledged(number))
        # Nobody else could commit in the generation in which it was assigned the partition.
        by_number = (axis.perhaps(number) if start["is_fresh"] else axis.perhaps(number + 1)) if own.is_numbered else None
        before_number = axis.last(number)
    if from_ms is not None and to_ms is not None:
        axis = dump.axis(place, "committed_ts")
        acknowledged.append(axis.acknowledged(from_ms))
        by_time, before_time = axis.perhaps(to_ms + 1), axis.last(from_ms)
    before = before_number if start["is_fresh"] and number is not None and own.is_numbered else before_time
    ends_later = up_to(number, group.last_number) or less(to_ms, group.last_ms)
    # A consumer that starts at the committed offset has read the last commit: if the dump has another one, some are missing from it.
    is_confirmed = start["how"] != "committed" or dump.offset(before) == start["at_offset"]
    return {
        **{name: start[name] for name in _OF_LINE},
        "member_id": start["member"].member_id,
        "generation": start["member"].generation,
        "start_lo_ms": lo_ms,
        "start_hi_ms": hi_ms,
        "reference_process_id": clock.reference_process_id if clock is not None else None,
        "acknowledged_lo": greatest(*acknowledged),
        "acknowledged_hi": least(by_number, by_time),
        "before": before,
        "is_whole": group.is_whole and ends_later and is_confirmed,
    }


def _largest(values: Codes) -> int | None:
    found = int(values.max(initial=MISSING))
    return None if found == MISSING else found
