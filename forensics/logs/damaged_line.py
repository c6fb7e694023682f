"""Compute the view `damaged_line`: records with a name that contradicts all other lines.

A process does not change the name of a group, a client or a member for one line and then print the old name again. Such a line is damaged, so it
proves nothing; the other lines are read without it. A real second member prints several lines, or a name that is not nearly the same. Ids of members
are unique: two that agree in one half are the same, and each belongs to one group.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs, Row

#: Names that a line prints.
_NAMES = ["client_kind", "client_id", "group_id", "task", "offsets_partition", "member_id"]
#: Characters of the unique part of a member id, and of half of it.
_UUID, _HALF = 36, 18
#: A damaged name differs in at most so many characters.
_EDITS_MOST = 2
#: With so many lines a name is certain, whatever the order of the lines, ...
_LINES_CERTAIN = 10
#: ... and even if the other differs in a number: names are often numbered, so one of two may be another group or worker.
_LINES_CERTAIN_NUMBERED = 50
_BROKEN = "\N{REPLACEMENT CHARACTER}"


@dataclass
class _Printed:
    """The lines that print a value at a place."""

    lines: int
    from_pos: int
    to_pos: int
    process_id: str
    event_id: str

    def add(self, other: _Printed) -> None:
        self.lines += other.lines
        self.from_pos, self.to_pos = min(self.from_pos, other.from_pos), max(self.to_pos, other.to_pos)


@dataclass(frozen=True)
class _Place:
    """What has one name: the group of a client, the client of a worker or task, the group on a partition, a member or its group."""

    of: str
    parts: tuple[Hashable, ...]
    is_unique: bool = False


def rows(inputs: Inputs) -> list[Row]:
    """Return the rows of the view `damaged_line`."""
    found: dict[str, Row] = {}
    # Of several contradictions of a line, the values that come first.
    for row in [*_contradictions(inputs), *_broken_names(inputs)]:
        its = found.setdefault(row["event_id"], row)
        its["value"] = min(its["value"], row["value"])
        its["expected"] = min((it["expected"] for it in (its, row) if it["expected"] is not None), default=None)
    return list(found.values())


def _row(value: str, line: _Printed, expected: str | None) -> Row:
    return {"event_id": line.event_id, "process_id": line.process_id, "stream_pos": line.from_pos, "value": value, "expected": expected}


def _contradictions(inputs: Inputs) -> Iterator[Row]:
    """Yield lines with a name that is nearly that of the other lines at the same place."""
    for place, printed in _printed(inputs).items():
        single = [(value, line) for value, line in printed.items() if line.lines == 1]
        for expected, others in printed.items():
            if others.lines > 1:
                for value, line in single:
                    if _contradicts(line, others, is_unique=place.is_unique, differ_in_number=_numbered(value) == _numbered(expected)) and (
                        _differ_slightly(value, expected)
                    ):
                        yield _row(value, line, expected)


def _contradicts(line: _Printed, others: _Printed, *, is_unique: bool, differ_in_number: bool) -> bool:
    """Return True if the other lines show that one with another name is damaged, if the names are nearly the same."""
    if is_unique:
        return True
    if differ_in_number and others.lines < _LINES_CERTAIN_NUMBERED:
        return False
    return others.lines >= _LINES_CERTAIN or others.from_pos < line.from_pos < others.to_pos


def _numbered(name: str) -> str:
    return re.sub("[0-9]+", "0", name)


def _differ_slightly(a: str, b: str) -> bool:
    """Return True if few edits (a character added, removed or replaced) make one name of the other."""
    most = min(_EDITS_MOST, len(b) // 3)
    if abs(len(a) - len(b)) > most:
        return False
    edits = list(range(len(b) + 1))  # of what was read of `a`, to each beginning of `b`
    for read, one in enumerate(a, 1):
        before, edits = edits, [read]
        for at, other in enumerate(b, 1):
            edits.append(min(before[at] + 1, edits[at - 1] + 1, before[at - 1] + (one != other)))
        if min(edits) > most:
            return False
    return edits[-1] <= most


def _printed(inputs: Inputs) -> dict[_Place, dict[str, _Printed]]:
    """Return the values at each place that has several, with their lines."""
    found: defaultdict[_Place, dict[str, _Printed]] = defaultdict(dict)
    for names, line in _lines_by_names(inputs):
        for place, value in _identities(names):
            if value:
                if value in found[place]:
                    found[place][value].add(line)
                else:
                    found[place][value] = _Printed(**vars(line))
    return {place: printed for place, printed in found.items() if len(printed) > 1}


def _lines_by_names(inputs: Inputs) -> Iterator[tuple[Row, _Printed]]:
    """Yield the different combinations of names, with the lines that print each."""
    lines = inputs.table("event_row", ["process_id", "event_id", "stream_pos", *_NAMES], pc.field("category") != "snapshot")
    keys = ["process_id", *_NAMES]
    counted = lines.append_column("nth", pa.array(np.arange(lines.num_rows))).group_by(keys)
    groups = counted.aggregate([("nth", "count"), ("nth", "min"), ("stream_pos", "min"), ("stream_pos", "max")])
    # Only of a single line the event matters.
    events = lines.column("event_id").take(groups.column("nth_min")).to_pylist()
    for row, event_id in zip(groups.to_pylist(), events, strict=True):
        yield row, _Printed(row["nth_count"], row["stream_pos_min"], row["stream_pos_max"], row["process_id"], event_id)


def _identities(names: Row) -> Iterator[tuple[_Place, str | None]]:
    """Yield the places for which a line prints a name."""
    process_id, kind, client, task, member = (names[name] for name in ("process_id", "client_kind", "client_id", "task", "member_id"))
    if kind is not None and client is not None:
        yield _Place("group of client", (process_id, kind, client)), names["group_id"]
    if kind == "Worker":
        yield _Place("client of worker", (process_id, names["group_id"])), client
    elif kind is not None and task is not None:
        yield _Place("client of task", (process_id, kind, task)), client
    if names["offsets_partition"] is not None:
        yield _Place("group on partition", (process_id, names["offsets_partition"])), names["group_id"]
    if member is not None and len(member) > _UUID:
        yield _Place("group of member", (member,), is_unique=True), names["group_id"]
        yield _Place("member by its end", (member[-_HALF:],), is_unique=True), member
        yield _Place("member by its begin", (member[:-_HALF],), is_unique=True), member


def _broken_names(inputs: Inputs) -> Iterator[Row]:
    """Yield lines with bytes that are not text in a name. A name in another encoding has them in all of its lines."""
    names = ["group_id", "client_id", "member_id"]
    where = None
    for name in names:
        contains = pc.match_substring(pc.field(name), _BROKEN)
        where = contains if where is None else where | contains
    lines = inputs.rows("event_row", ["event_id", "process_id", "stream_pos", *names], where)
    values = [" ".join(line[name] for name in names if line[name] is not None) for line in lines]
    times = Counter((line["process_id"], value) for line, value in zip(lines, values, strict=True))
    for line, value in zip(lines, values, strict=True):
        if times[line["process_id"], value] == 1:
            yield _row(value, _Printed(1, line["stream_pos"], line["stream_pos"], line["process_id"], line["event_id"]), None)
