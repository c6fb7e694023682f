"""Jumps inside a log stream: daylight saving, another time zone, or lines that are not the next ones of this process.

Most logs print local time without saying whose. Where it goes back by whole quarters of an hour while the process goes on, its zone changed: the
lines from there on get that zone, so that their times follow those before. Where nothing says that the process went on (a start, other
identities), the lines are of another process whose log was appended: they become a process of their own, with their times as printed, since
nobody says in which zone. If what names the process says that they are an earlier part of its log, they are put before the others. A clock that
was set back while the process went on is left alone: that is a step.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from forensics.extract import doubled_lines, wrong_times
from forensics.extract.joined_parts import in_order, in_runs, parts_of, reordered
from forensics.extract.jump_signs import EXACT, HOUR, JITTER, NAMES, SET, Sign, falls_back, streams_to_read
from forensics.extract.repeated_lines import repeats
from forensics.extract.repeated_lines import stretches_of as stretches_of_repeated
from forensics.extract.stream_lines import SAID, StreamLines
from forensics.extract.stretches import OTHER_LOG, Segment, Stretch, apply, silences
from forensics.records.timestamps import SECOND

_QUARTER = 900 * SECOND
#: Less than this is no other zone.
_LEAST = 14 * 60 * SECOND
#: Between the first and the last zone of the world.
_MOST = 26 * HOUR
#: More jumps than this, in the midst of lives, are lines in disorder, not logs one behind the other.
_MOST_STRETCHES = 8


def separate(
    staged: Path,
    events: Sequence[str],
    counted: Sequence[str],
    others: Sequence[str],
    ranges: list[dict[str, Any]],
    zoned: frozenset[str],
    ordinals: Mapping[str, int],
) -> list[dict[str, Any]]:
    """Finds the stretches of what was read, and gives their rows their own times and processes.

    Args:
        staged: folder of the Parquet files that tasks wrote; those with lines of a stretch are written anew.
        events: names of the files of events.
        counted: names of the files of records that are only counted.
        others: names of the files of unrecognised records.
        ranges: rows of `range_row`, each with the `signs` of its rows and the `runs` of its records, which are taken off; among its `gaps` are steps
            back in time.
        zoned: streams whose times say their offset from UTC: they have no zone to find.
        ordinals: of each path its place among the files of its process.

    Returns:
        The rows of `range_row`, with one more for each stretch.
    """
    of_events, of_counted, of_others = ([staged / name for name in names] for names in (events, counted, others))
    known = [*of_events, *of_counted]
    signs = [Sign(*told) for row in ranges for told in row.pop("signs")]
    ranges, mended = wrong_times.mend(of_events, [*of_counted, *of_others], ranges, ordinals)
    doubled = doubled_lines.leave_out(of_events, signs, ranges)
    found = find(known, signs, zoned)
    if found:
        ranges = apply(found, (*known, *of_others), ranges)
    return [{**row, "gaps": silences(row["gaps"] or [])} for row in (*ranges, *mended, *doubled)]


def find(files: Iterable[Path], signs: Iterable[Sign], zoned: frozenset[str] = frozenset()) -> list[Stretch]:
    """The stretches of all streams, by the times and names of their events, those that are only counted included.

    Args:
        files: hold the rows.
        signs: of all of the rows.
        zoned: as in `separate`.
    """
    wanted, alone = streams_to_read(signs)
    return [stretch for name in wanted for stretch in _stretches(StreamLines.read(name, files, alone=alone), zoned=name in zoned)]


def _stretches(whole: StreamLines, *, zoned: bool) -> list[Stretch]:
    """The stretches of one stream; none when there are so many jumps that the lines are in disorder."""
    again = repeats(whole.ts, [whole.column(name) for name in SAID], JITTER)
    lines = whole.without((begin, end) for begin, end, _ in again)
    backs = falls_back(lines.ts, SET).tolist()
    segments = reordered(lines, backs) or _Zones(lines, zoned=zoned).segments(backs)
    found = [_stretch(lines, segments, n) for n, s in enumerate(segments) if n or s.moved or s.until]
    return sorted([*found, *stretches_of_repeated(whole, again)], key=lambda s: s.from_pos)


def _stretch(lines: StreamLines, segments: Sequence[Segment], n: int) -> Stretch:
    begin, shift, owner, why, moved, until = segments[n]
    first, end = lines.places(begin, segments[n + 1].begin if n + 1 < len(segments) else len(lines.ts))
    name = lines.name if not owner else f"{lines.name}#{owner + 1}"
    jump = int(lines.ts[max(begin - 1, 0)]), int(lines.ts[begin])
    before, behind = lines.events(range(begin - 1, -1, -1), 2), lines.events(range(begin, len(lines.ts)), 2)
    return Stretch(lines.name, first, end, shift, moved, name, why, lines.paths[begin].as_py(), jump, until, None, (*reversed(before), *behind))


class _Zones:
    """Jumps of one stream, each taken for another zone, another process, or a clock that was set.

    Args:
        lines: of the stream, as they came.
        zoned: its times say their offset from UTC.
    """

    def __init__(self, lines: StreamLines, *, zoned: bool) -> None:
        self._lines, self._zoned = lines, zoned

    def segments(self, backs: Sequence[int]) -> list[Segment]:
        """Where lines of another process or zone begin, in a log in which they are as they came."""
        ts = self._lines.ts
        whole = [Segment(0, 0, 0, "")]
        if sum(not self._starts(i) for i in backs) > _MOST_STRETCHES:
            return whole
        back, renamed = frozenset(backs), self._renamed()
        places = sorted({*backs, *(np.flatnonzero(np.diff(ts) >= HOUR) + 1).tolist(), *renamed})
        segments = whole
        for n, i in enumerate(places):
            last = segments[-1]
            if i - last.begin < 2 or i + 2 > len(ts):
                continue  # one line tells nothing
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
        """Where a JVM begins to start that then goes by another name than the one before."""
        found = set()
        for column in NAMES:
            last, known = -1, -1
            for i, value in self._lines.who[column].all():
                if column == "broker_id" and not self._lines.broker_names[i]:
                    continue
                if last >= 0 and value != known:
                    # Several that start together are one JVM's.
                    between = np.flatnonzero(self._lines.work[last + 1 : i])
                    if len(between):
                        behind = last + 2 + int(between[-1])
                        starts = np.flatnonzero(self._lines.start_lines[behind:i])
                        found.add(behind + int(starts[0]) if len(starts) else i)
                last, known = i, value
        return found

    def _follows(self, begin: int, i: int, end: int) -> bool:
        """Whether there, where a name changes, one log ends and another begins: not so where the two are merged line by line."""
        members = self._lines.who["member_id"]
        return members.any(begin, i) and not members.any_again(begin, i) and self._lines.named((begin, i), (i, end)) is False

    def _starts(self, i: int) -> bool:
        """Whether what follows is the start of a JVM, or of a client that is all that the log has."""
        if self._lines.who["worker_url"].any(0, len(self._lines.ts)) or not self._lines.settings[i : i + 3].any():
            telling = np.flatnonzero(self._lines.start_lines[i : i + 30] | self._lines.work[i : i + 30])
            return bool(len(telling) and self._lines.start_lines[i + int(telling[0])])
        return True

    def _other(self, segments: Sequence[Segment], i: int, end: int) -> Segment:
        """The lines from there on as those of another process: of an earlier one that goes on, or a new one."""
        return self._earlier(segments, i, end) or Segment(i, 0, max(s.owner for s in segments) + 1, OTHER_LOG)

    def _earlier(self, segments: Sequence[Segment], i: int, end: int) -> Segment | None:
        """The process of an earlier segment, if it goes on there."""
        for n in range(len(segments) - 2, -1, -1):
            begin, shift, owner, *_ = segments[n]
            stop = segments[n + 1].begin
            if owner != segments[-1].owner and self._lines.ts[stop - 1] <= self._lines.ts[i] and self._lines.alike((begin, stop), (i, end)):
                return Segment(i, shift, owner, OTHER_LOG)
        return None

    def _backwards(self, begin: int, i: int, end: int, back: int) -> str:
        """What a jump back is; empty: a clock that was set."""
        by = -(-back // _QUARTER) * _QUARTER
        # A day is no zone's.
        is_zone = back >= _LEAST and by <= _MOST and by != 24 * HOUR and not self._zoned
        is_exact = is_zone and by - back <= EXACT
        alike = self._lines.alike((begin, i), (i, end))
        # A clock that is set back goes over what it has shown already; files in the wrong order do not.
        is_before = bool(self._lines.ts[i:end].max() <= self._lines.ts[begin:i].min())
        if self._starts(i):
            if not (alike and self._lines.named((begin, i), (i, end))):
                return OTHER_LOG
            if self._continued((begin, i), (i, end)):
                return "time_zone" if is_exact else ""
            return "" if back < _LEAST and not is_before else OTHER_LOG
        if alike is False or is_before and (self._undone((begin, i), (i, end)) or alike is None and not is_exact):
            return OTHER_LOG
        if alike:
            # A JVM keeps its zone, but for daylight saving: an exact jump is the machine's, set from one zone to another.
            return "" if not is_exact else "daylight_saving" if by in (HOUR, HOUR // 2) and self._is_change(i) else "time_zone"
        if is_exact and by == HOUR and self._is_change(i):
            return "daylight_saving"
        return OTHER_LOG if is_exact or back > HOUR else ""

    def _ahead(self, segments: Sequence[Segment], i: int, end: int, jump: int) -> Segment | None:
        """The segment that begins with a jump ahead; None: a pause."""
        last = segments[-1]
        if not self._lines.alike((last.begin, i), (i, end)):
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
        """Whether a jump ahead by an hour is the beginning of summer time: at its moment, in the midst of lines, and no start of a JVM."""
        if self._zoned:
            return False
        near = i >= 2 and self._lines.ts[i - 1] - self._lines.ts[i - 2] < 5 * EXACT and self._lines.ts[i + 1] - self._lines.ts[i] < 5 * EXACT
        return bool(near and HOUR <= jump <= HOUR + EXACT and self._is_change(i) and not self._lines.own_starts[i])

    def _is_change(self, i: int) -> bool:
        """Whether local time jumps in a night of a weekend of spring or autumn, at a full hour."""
        before, after = (datetime.fromtimestamp(int(t) / SECOND, UTC) for t in (self._lines.ts[i - 1], self._lines.ts[i]))
        return after.minute == 0 and before.minute >= 58 and before.hour <= 3 and before.month in (3, 4, 9, 10, 11) and before.weekday() >= 4

    def _continued(self, one: tuple[int, int], other: tuple[int, int]) -> bool:
        """Whether each group that has generations in both parts has higher ones in the second: it is the later one."""
        lowest, highest = ({}, {})  # type: dict[str, int], dict[str, int]
        for part, found, take in ((one, highest, max), (other, lowest, min)):
            for i in (part[0] + np.flatnonzero(self._lines.rounds[part[0] : part[1]])).tolist():
                group, generation = self._lines.groups[i].as_py(), self._lines.generations[i].as_py()
                found[group] = take(found.get(group, generation), generation)
        shared = highest.keys() & lowest.keys()
        return bool(shared) and all(highest[g] < lowest[g] for g in shared)

    def _undone(self, one: tuple[int, int], other: tuple[int, int]) -> bool:
        """Whether a member that both parts name has lower generations in the second: it is the earlier one."""
        first, second = ({}, {})  # type: dict[int, int], dict[int, int]
        for found, part, take in ((first, one, min), (second, other, max)):
            for i, member in self._lines.who["member_id"].all(part):
                generation = self._lines.generations[i].as_py() if self._lines.memberships[i] else None
                if generation is not None:
                    found[member] = take(found.get(member, generation), generation)
        return any(second[m] < first[m] for m in first.keys() & second.keys())
