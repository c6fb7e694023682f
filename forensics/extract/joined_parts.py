"""Find parts of one process's log that are not joined in the order of time, for example by `cat connect.log*` (the newest comes first)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from forensics.extract.repairs import OTHER_LOG, Segment
from forensics.extract.stream_lines import StreamLines
from forensics.extract.stream_summaries import EXACT, JITTER, SET, falls_back
from forensics.records.timestamps import SECOND
from forensics.records.vectorized.buffers import Ints

#: A log with more parts in the wrong order is not sorted.
MAX_PARTS = 200
#: If more lines of each part overlap, two processes print side by side.
_MAX_CUT = 4
#: A part that follows this soon belongs to the same process if neither part names its process.
_SOON = 900 * SECOND
_EARLIER = "earlier_part"
_Same = Callable[[Sequence["Part"], Sequence["Part"]], bool]


@dataclass(frozen=True)
class Part:
    """Consecutive lines.

    Attributes:
        begin, end: the first line, and the line after the last.
        owner: process that they were attributed to.
        names: names that the process has in them; a process has one name.
        members: member IDs in them; a member ID belongs to one process.
    """

    begin: int
    end: int
    owner: int
    names: frozenset[Hashable] = frozenset()
    members: frozenset[Hashable] = frozenset()


def in_order(parts: Sequence[Part], times: Ints, jitter: int, near: int, soon: int = -1) -> list[list[Part]]:
    """Return the parts of each process, in the order of time; a part that continues an older part is cut there.

    Parts belong to one process if they have a name or a member ID in common, and no two of them were printed at the same time. In a log that names at
    most one process, a part that follows shortly after another belongs to the same process.

    Args:
        parts: parts of one log.
        times: times of all lines.
        jitter: maximum time by which threads print out of order, microseconds.
        near: maximum time that is short, if one of the two parts has no member ID, microseconds.
        soon: maximum time that is short, if both have member IDs, microseconds; a process may have several, in succession or for several groups.
    """

    def follow(one: Sequence[Part], other: Sequence[Part]) -> bool:
        most = soon if _members(one) and _members(other) else near
        spans = [(_span(a, times), _span(b, times)) for a in one for b in other]
        return any(abs(begin - last) <= most or abs(first - end) <= most for (first, last), (begin, end) in spans)

    groups = _merged([[p] for p in parts], _are_akin)
    if len(_merged([g for g in groups if _names(g)], _are_akin)) <= 1:
        groups = _merged(groups, follow)
    found: list[list[Part]] = []
    for group in groups:
        ordered = _ordered(group, times, jitter)
        found += [ordered] if ordered else _merged([[p] for p in group], _have_one_owner)
    return found


def moves(places: Sequence[tuple[int, int]]) -> list[int]:
    """Return what to add to the positions of parts (first, and the one after the last) so that they follow each other in the order of the list."""
    found: list[int] = []
    floor: int | None = None
    for begin, end in reversed(places):
        move = 0 if floor is None else min(0, floor - end)
        floor = begin + move
        found.append(move)
    return found[::-1]


def _merged(groups: list[list[Part]], are_same: _Same) -> list[list[Part]]:
    """Return groups of parts in which groups of the same process are merged."""
    found: list[list[Part]] = []
    for group in groups:
        same = [g for g in found if are_same(g, group)]
        found = [*(g for g in found if g not in same), sum(same, []) + group]
    return found


def _have_one_owner(one: Sequence[Part], other: Sequence[Part]) -> bool:
    return any(a.owner == b.owner for a in one for b in other)


def _names(group: Sequence[Part]) -> set[Hashable]:
    return {name for part in group for name in part.names}


def _members(group: Sequence[Part]) -> set[Hashable]:
    return {member for part in group for member in part.members}


def _are_akin(one: Sequence[Part], other: Sequence[Part]) -> bool:
    if _names(one) and _names(other):
        return not _names(one).isdisjoint(_names(other))
    return _have_one_owner(one, other) or not _members(one).isdisjoint(_members(other))


def _span(part: Part, times: Ints) -> tuple[int, int]:
    printed = times[part.begin : part.end]
    return int(printed.min()), int(printed.max())


def _ordered(group: Sequence[Part], times: Ints, jitter: int) -> list[Part]:
    """Return parts by time, cut where others belong in between; none if they were printed side by side."""

    def by_time(parts: Sequence[Part]) -> list[Part]:
        return sorted(parts, key=lambda p: _span(p, times))

    whole, at = by_time(group), 0
    while at + 1 < len(whole):
        part, next_begins = whole[at], _span(whole[at + 1], times)[0] + jitter
        if _span(part, times)[1] > next_begins:
            cut = part.begin + int(np.argmax(times[part.begin : part.end] > next_begins))
            before, behind = replace(part, end=cut), replace(part, begin=cut)
            if cut == part.begin or _span(before, times)[1] > next_begins or len(whole) >= _MAX_CUT * len(group):
                return []
            whole = by_time([*whole[:at], before, *whole[at + 1 :], behind])
        at += 1
    return whole


def reordered(lines: StreamLines, backs: Sequence[int]) -> list[Segment]:
    """Return the parts of one process's log that were joined in an order other than that of time; empty if nothing shows it.

    Two things show it. Generations fall when the time falls; when a clock is set back, they go on instead. Or parts follow each other without a gap
    in the order of time. Some small parts begin hardly earlier than those in front of them.
    """
    slightly = falls_back(lines.ts, JITTER).tolist()
    return _reordered_at(lines, slightly, JITTER) or (_reordered_at(lines, backs, SET) if backs != slightly else [])


def _reordered_at(lines: StreamLines, backs: Sequence[int], jitter: int) -> list[Segment]:
    if not 0 < len(backs) < MAX_PARTS:
        return []
    begins = [0, *backs]
    runs = in_order(parts_of(lines, begins, range(len(begins))), lines.ts, jitter, _SOON, EXACT)
    if len(runs) > 1:
        return []
    timed = np.concatenate([np.arange(p.begin, p.end) for p in runs[0]])
    was, would = (tuple(_falls(lines, order, each) for each in (True, False)) for order in (np.arange(len(lines.ts)), timed))
    if would[0] or would[1] > was[1]:
        return []
    between = [int(lines.ts[b.begin : b.end].min() - lines.ts[a.begin : a.end].max()) for a, b in pairwise(runs[0])]
    # A clock that was set back a little repeats times: its lines could be sorted, too, but only if they are cut.
    is_one = len(runs[0]) == len(begins) and max(between) <= (SET if len(between) == 1 else EXACT)
    return in_runs(lines, runs) if was[0] or would[1] < was[1] or is_one else []


def _falls(lines: StreamLines, order: Ints, each_member: bool) -> int:
    """Return how often a lower generation of a group (or of a group's member) follows a higher one in this order of lines."""
    last: dict[tuple[str, int | None], int] = {}
    falls = 0
    for i in order[lines.rounds[order]].tolist():
        key = lines.groups[i].as_py(), lines.member_of.get(i) if each_member else None
        generation = lines.generations[i].as_py()
        falls += generation < last.get(key, generation)
        last[key] = generation
    return falls


def parts_of(lines: StreamLines, begins: Sequence[int], owners: Sequence[int]) -> list[Part]:
    """Return the parts of a log that begin at the given lines, each with the process that it was attributed to."""
    ends = [*begins[1:], len(lines.ts)]
    members = lines.who["member_id"]
    return [Part(b, e, owner, lines.names((b, e)), members.kinds((b, e))) for b, e, owner in zip(begins, ends, owners, strict=True)]


def in_runs(lines: StreamLines, runs: Iterable[Sequence[Part]]) -> list[Segment]:
    """Return the segments of processes, each made of parts in the order of time."""
    found = []
    for owner, run in enumerate(sorted(runs, key=lambda run: min(p.begin for p in run))):
        moved = moves([lines.places(p.begin, p.end) for p in run])
        untils = [*(int(lines.ts[p.begin : p.end].min()) for p in run[1:]), None]
        found += [Segment(p.begin, 0, owner, "", move, until) for p, move, until in zip(run, moved, untils, strict=True)]
    found.sort()
    owners = [found[0].owner, *(s.owner for s in found)]
    return [s._replace(why=_EARLIER if s.moved else OTHER_LOG * (s.owner != before)) for s, before in zip(found, owners, strict=False)]
