"""Find the segments of a log stream: parts joined in the wrong order, daylight saving, another time zone, or lines of another process.

Most logs print local time without naming the zone. If the time goes back by a multiple of a quarter of an hour and the process continues, its
zone has changed. The lines from there on get that zone, so that their times follow the earlier ones. If nothing shows that the process continued (it
starts or has another identity), the lines belong to another process whose log was appended. They become a process of their own and keep their printed times,
because their zone is unknown. If the process's name shows that they are an earlier part of its log, they are moved before the other lines. A clock
that was set back while the process continued is not corrected, because that is a clock step.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from forensics.extract.stream_lines import StreamLines
from forensics.extract.stream_summaries import EXACT, HOUR, JITTER, NAMES, SET, falls_back
from forensics.records.timestamps import SECOND
from forensics.records.vectorized.buffers import Ints

OTHER_LOG = "other_log"
#: A log with more parts in the wrong order is not sorted.
MAX_PARTS = 200
#: If more lines of each part overlap, two processes print side by side.
_MAX_CUT = 4
#: A part that follows this soon belongs to the same process if neither part names its process.
_SOON = 900 * SECOND
_EARLIER = "earlier_part"
_Same = Callable[["_Group", "_Group"], bool]
_QUARTER = 900 * SECOND
#: A smaller jump is not a change of zone.
_MIN_CHANGE = 14 * 60 * SECOND
#: Largest difference between two time zones.
_MAX_DIFFERENCE = 26 * HOUR
#: More jumps than this that are not process starts mean lines out of order, not concatenated logs.
_MAX_STRETCHES = 8
#: A URL with an IPv4 address instead of a name.
_ADDRESS = re.compile(r"https?://[0-9]+(?:\.[0-9]+){3}(?:[:/]|$)")


class Segment(NamedTuple):
    """Lines from `begin` on: shift of their times, owner, reason; shift of their positions, and when the lines that follow then begin."""

    begin: int
    shift: int
    owner: int
    why: str
    moved: int = 0
    until: int | None = None


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


class _Group(NamedTuple):
    """Parts of one process, and the owners, names and members of all of them."""

    parts: list[Part]
    owners: frozenset[int]
    names: frozenset[Hashable]
    members: frozenset[Hashable]

    @classmethod
    def of(cls, part: Part) -> _Group:
        """Return one part as a group."""
        return cls([part], frozenset((part.owner,)), part.names, part.members)


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

    def follow(one: _Group, other: _Group) -> bool:
        most = soon if one.members and other.members else near
        spans = [(_span(a, times), _span(b, times)) for a in one.parts for b in other.parts]
        return any(abs(begin - last) <= most or abs(first - end) <= most for (first, last), (begin, end) in spans)

    groups = _merged(map(_Group.of, parts), _are_akin)
    if len(_merged((group for group in groups if group.names), _are_akin)) <= 1:
        groups = _merged(groups, follow)
    found: list[list[Part]] = []
    for group in groups:
        ordered = _ordered(group.parts, times, jitter)
        found += [ordered] if ordered else [g.parts for g in _merged(map(_Group.of, group.parts), _have_one_owner)]
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


def _merged(groups: Iterable[_Group], are_same: _Same) -> list[_Group]:
    """Return groups of parts in which groups of the same process are merged."""
    found: list[_Group] = []
    for group in groups:
        same = [other for other in found if are_same(other, group)]
        if same:
            found = [other for other in found if other not in same]
            every = [*same, group]
            owners, names, members = (frozenset().union(*sets) for sets in list(zip(*every, strict=True))[1:])
            group = _Group([part for other in every for part in other.parts], owners, names, members)  # noqa: PLW2901
        found.append(group)
    return found


def _have_one_owner(one: _Group, other: _Group) -> bool:
    return not one.owners.isdisjoint(other.owners)


def _are_akin(one: _Group, other: _Group) -> bool:
    if one.names and other.names:
        return not one.names.isdisjoint(other.names)
    return _have_one_owner(one, other) or not one.members.isdisjoint(other.members)


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


def segments_of(lines: StreamLines, *, zoned: bool, dated: bool = True) -> list[Segment]:
    """Return the segments of a stream; a single one if nothing is wrong, or if its many jumps show that its lines are out of order.

    Args:
        lines: lines of the stream, in their original order.
        zoned: True if its times include their offset from UTC.
        dated: False if its times have no date.
    """
    if not dated:
        midnights = (np.flatnonzero(np.diff(lines.ts) < -12 * HOUR) + 1).tolist()
        return [Segment(0, 0, 0, ""), *(Segment(i, n * 24 * HOUR, 0, "midnight") for n, i in enumerate(midnights, 1))]
    backs = falls_back(lines.ts, SET).tolist()
    return _changing(reordered(lines, backs) or _Zones(lines, zoned=zoned).segments(backs))


def _changing(segments: Iterable[Segment]) -> list[Segment]:
    """Return segments, each of which differs from the one before it in time zone, process or position; others are parts of the one before them."""
    found: list[Segment] = []
    for s in segments:
        before = found[-1] if found else None
        if before is not None and not s.why and (s.shift, s.owner, s.moved) == (before.shift, before.owner, before.moved):
            found[-1] = before._replace(until=s.until)
        else:
            found.append(s)
    return found


class _Zones:
    """Jumps of one stream. Each is attributed to another zone, another process, or a clock step.

    Args:
        lines: lines of the stream, in their original order.
        zoned: True if its times include their offset from UTC.
    """

    def __init__(self, lines: StreamLines, *, zoned: bool) -> None:
        self._lines, self._zoned = lines, zoned

    def segments(self, backs: Sequence[int]) -> list[Segment]:
        """Return the segments of a log, each beginning where lines of another process or zone begin."""
        ts = self._lines.ts
        whole = [Segment(0, 0, 0, "")]
        if sum(not self._starts(i) for i in backs) > _MAX_STRETCHES:
            return whole
        back, renamed = frozenset(backs), self._renamed()
        places = sorted({*backs, *(np.flatnonzero(np.diff(ts) >= HOUR) + 1).tolist(), *renamed})
        segments = whole
        for n, i in enumerate(places):
            last = segments[-1]
            if i - last.begin < 2 or i + 2 > len(ts):
                continue  # a single line proves nothing
            end = places[n + 1] if n + 1 < len(places) else len(ts)
            jump = int(ts[i] - ts[i - 1])
            why = self._backwards(last.begin, i, end, -jump) if i in back else ""
            if why == OTHER_LOG or i in renamed and self._follows(last.begin, i, end):
                segments.append(self._other(segments, i, end))
            elif why:
                segments.append(Segment(i, last.shift + -(jump // _QUARTER) * _QUARTER, last.owner, why))
            elif jump >= HOUR:
                ahead = self._ahead(segments, i, end, jump)
                segments += [ahead] if ahead else []
        if all(s.owner == 0 for s in segments) or any(s.shift for s in segments):
            return segments
        return in_runs(
            self._lines, in_order(parts_of(self._lines, [s.begin for s in segments], [s.owner for s in segments]), self._lines.ts, SET, SET)
        )

    def _renamed(self) -> set[int]:
        """Return the lines where a JVM starts whose name differs from the previous JVM's."""
        found = set()
        for column in NAMES:
            last, known = -1, -1
            for i, value in self._lines.who[column].all():
                if column == "broker_id" and not self._lines.broker_names[i]:
                    continue
                if last >= 0 and value != known and not self._has_new_address(column, last, i):
                    # Names that are printed during one start belong to one JVM.
                    between = np.flatnonzero(self._lines.work[last + 1 : i])
                    if len(between):
                        behind = last + 2 + int(between[-1])
                        starts = np.flatnonzero(self._lines.start_lines[behind:i])
                        found.add(behind + int(starts[0]) if len(starts) else i)
                last, known = i, value
        return found

    def _has_new_address(self, column: str, last: int, i: int) -> bool:
        """Return True if a worker stopped before this line and started again with another address, as containers do; `last` is the line that named it before."""
        if column != "worker_url" or not self._lines.stops[last:i].any() or self._lines.ts[i] < self._lines.ts[last]:
            return False
        return all(_ADDRESS.match(self._lines.column(column)[line].as_py()) for line in (last, i))

    def _follows(self, begin: int, i: int, end: int) -> bool:
        """Return True if one log ends and another begins at a change of name; False if two logs are merged line by line."""
        members = self._lines.who["member_id"]
        return members.any(begin, i) and not members.any_recurs(begin, i) and self._lines.named((begin, i), (i, end)) is False

    def _starts(self, i: int) -> bool:
        """Return True if a JVM starts at this line, or a client in a log that contains nothing else."""
        if self._lines.who["worker_url"].any(0, len(self._lines.ts)) or not self._lines.settings[i : i + 3].any():
            decisive = np.flatnonzero(self._lines.start_lines[i : i + 30] | self._lines.work[i : i + 30])
            return bool(len(decisive) and self._lines.start_lines[i + int(decisive[0])])
        return True

    def _other(self, segments: Sequence[Segment], i: int, end: int) -> Segment:
        """Return the segment of another process that begins here: an earlier process that continues, or a new one."""
        return self._earlier(segments, i, end) or Segment(i, 0, max(s.owner for s in segments) + 1, OTHER_LOG)

    def _earlier(self, segments: Sequence[Segment], i: int, end: int) -> Segment | None:
        """Return a segment of an earlier segment's process, if that process continues here."""
        for n in range(len(segments) - 2, -1, -1):
            begin, shift, owner, *_ = segments[n]
            stop = segments[n + 1].begin
            if owner != segments[-1].owner and self._lines.ts[stop - 1] <= self._lines.ts[i] and self._lines.is_one_process((begin, stop), (i, end)):
                return Segment(i, shift, owner, OTHER_LOG)
        return None

    def _backwards(self, begin: int, i: int, end: int, back: int) -> str:
        """Return the reason for a jump back; empty for a clock step."""
        by = -(-back // _QUARTER) * _QUARTER
        # No zone change is a whole day.
        is_zone = back >= _MIN_CHANGE and by <= _MAX_DIFFERENCE and by != 24 * HOUR and not self._zoned
        is_exact = is_zone and by - back <= EXACT
        is_same = self._lines.is_one_process((begin, i), (i, end))
        # A clock that is set back repeats times that it has already shown; files in the wrong order do not.
        is_before = bool(self._lines.ts[i:end].max() <= self._lines.ts[begin:i].min())
        if self._starts(i):
            if not (is_same and self._lines.named((begin, i), (i, end))):
                return OTHER_LOG
            if self._continued((begin, i), (i, end)):
                return "time_zone" if is_exact else ""
            return "" if back < _MIN_CHANGE and not is_before else OTHER_LOG
        if is_same is False or is_before and (self._undone((begin, i), (i, end)) or is_same is None and not is_exact):
            return OTHER_LOG
        if is_same:
            # A JVM changes its zone only for daylight saving. With any other exact jump, the machine's time was set from one zone to another.
            return "" if not is_exact else "daylight_saving" if by in (HOUR, HOUR // 2) and self._is_change(i) else "time_zone"
        if is_exact and by == HOUR and self._is_change(i):
            return "daylight_saving"
        return OTHER_LOG if is_exact or back > HOUR else ""

    def _ahead(self, segments: Sequence[Segment], i: int, end: int, jump: int) -> Segment | None:
        """Return the segment that begins with a jump ahead; None for a pause."""
        last = segments[-1]
        if not self._lines.is_one_process((last.begin, i), (i, end)):
            earlier = self._earlier(segments, i, end)
            if earlier:
                return earlier
        for _, before, whose, *_ in segments[:-1]:
            passed = jump - (last.shift - before)
            is_near = self._is_change(i) or self._lines.ts[i] - self._lines.ts[last.begin] < 2 * HOUR
            if whose == last.owner and before < last.shift and -EXACT <= passed <= EXACT and is_near:
                return Segment(i, before, whose, "daylight_saving")
        return Segment(i, last.shift - HOUR, last.owner, "daylight_saving") if self._summer(i, jump) else None

    def _summer(self, i: int, jump: int) -> bool:
        """Return True if a jump ahead by an hour is the beginning of summer time: at the right moment, between close lines, and not a JVM's start."""
        if self._zoned:
            return False
        near = i >= 2 and self._lines.ts[i - 1] - self._lines.ts[i - 2] < 5 * EXACT and self._lines.ts[i + 1] - self._lines.ts[i] < 5 * EXACT
        return bool(near and HOUR <= jump <= HOUR + EXACT and self._is_change(i) and not self._lines.own_starts[i])

    def _is_change(self, i: int) -> bool:
        """Return True if local time jumps at a full hour, during a weekend night in spring or autumn."""
        before, after = (datetime.fromtimestamp(int(t) / SECOND, UTC) for t in (self._lines.ts[i - 1], self._lines.ts[i]))
        return after.minute == 0 and before.minute >= 58 and before.hour <= 3 and before.month in (3, 4, 9, 10, 11) and before.weekday() >= 4

    def _continued(self, one: tuple[int, int], other: tuple[int, int]) -> bool:
        """Return True if each group with generations in both parts has higher ones in the second, which is then the later part."""
        lowest, highest = ({}, {})  # type: dict[str, int], dict[str, int]
        for part, found, take in ((one, highest, max), (other, lowest, min)):
            for i in (part[0] + np.flatnonzero(self._lines.rounds[part[0] : part[1]])).tolist():
                group, generation = self._lines.groups[i].as_py(), self._lines.generations[i].as_py()
                found[group] = take(found.get(group, generation), generation)
        shared = highest.keys() & lowest.keys()
        return bool(shared) and all(highest[g] < lowest[g] for g in shared)

    def _undone(self, one: tuple[int, int], other: tuple[int, int]) -> bool:
        """Return True if a member that both parts name has lower generations in the second, which is then the earlier part."""
        first, second = ({}, {})  # type: dict[int, int], dict[int, int]
        for found, part, take in ((first, one, min), (second, other, max)):
            for i, member in self._lines.who["member_id"].all(part):
                generation = self._lines.generations[i].as_py() if self._lines.memberships[i] else None
                if generation is not None:
                    found[member] = take(found.get(member, generation), generation)
        return any(second[m] < first[m] for m in first.keys() & second.keys())
