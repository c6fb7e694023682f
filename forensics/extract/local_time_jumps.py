"""Find jumps inside a log stream: daylight saving, another time zone, or lines of another process.

Most logs print local time without naming the zone. If the time goes back by a multiple of a quarter of an hour and the process continues, its
zone has changed. The lines from there on get that zone, so that their times follow the earlier ones. If nothing shows that the process continued (it
starts or has another identity), the lines belong to another process whose log was appended. They become a process of their own and keep their printed times,
because their zone is unknown. If the process's name shows that they are an earlier part of its log, they are moved before the other lines. A clock
that was set back while the process continued is not corrected, because that is a clock step.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from forensics.extract import doubled_lines, wrong_times
from forensics.extract.joined_parts import in_order, in_runs, parts_of, reordered
from forensics.extract.repairs import OTHER_LOG, Repair, Segment, apply, silences
from forensics.extract.repeated_lines import repairs_of as repairs_of_repeated
from forensics.extract.repeated_lines import repeats
from forensics.extract.stream_lines import StreamLines
from forensics.extract.stream_summaries import CONTENT_COLUMNS, EXACT, HOUR, JITTER, NAMES, SET, StreamSummary, falls_back, streams_to_read
from forensics.records.timestamps import SECOND

_QUARTER = 900 * SECOND
#: A smaller jump is not a change of zone.
_MIN_CHANGE = 14 * 60 * SECOND
#: Largest difference between two time zones.
_MAX_DIFFERENCE = 26 * HOUR
#: More jumps than this that are not process starts mean lines out of order, not concatenated logs.
_MAX_STRETCHES = 8


def separate(
    staged: Path,
    events: Sequence[str],
    repeated: Sequence[str],
    counted: Sequence[str],
    others: Sequence[str],
    ranges: list[dict[str, Any]],
    zoned: frozenset[str],
    ordinals: Mapping[str, int],
) -> list[dict[str, Any]]:
    """Find the repairs in the rows that were read, and give these rows their own times and processes.

    Args:
        staged: folder of the Parquet files that tasks wrote; files with such lines are rewritten.
        events: names of the files of events.
        repeated: names of the files of events that repeat the one before them; a file is deleted if all its rows do.
        counted: names of the files of records that are only counted.
        others: names of the files of unrecognised records.
        ranges: rows of `range_row`, each with the `summaries` of its rows and the `runs` of its records, which are removed; their `gaps` include steps
            back in time.
        zoned: streams whose times include their offset from UTC, so their zone is known.
        ordinals: for each path, its position among the files of its process.

    Returns:
        The rows of `range_row`, and one more row for each repair.
    """
    of_events, of_repeated, of_counted, of_others = ([staged / name for name in names] for names in (events, repeated, counted, others))
    summaries = [StreamSummary(*summary) for row in ranges for summary in row.pop("summaries")]
    ranges, mended = wrong_times.mend([*of_events, *of_repeated], [*of_counted, *of_others], ranges, ordinals)
    doubled = doubled_lines.leave_out(of_events, of_repeated, summaries, ranges, {str(row["process_id"]) for row in mended})
    known = [*of_events, *(file for file in of_repeated if file.exists()), *of_counted]
    found = find(known, summaries, zoned)
    if found:
        ranges = apply(found, (*known, *of_others), ranges)
    return [{**row, "gaps": silences(row["gaps"] or [])} for row in (*ranges, *mended, *doubled)]


def find(files: Iterable[Path], summaries: Iterable[StreamSummary], zoned: frozenset[str] = frozenset()) -> list[Repair]:
    """Return the repairs of all streams, found by the times and names of their events (including those that are only counted).

    Args:
        files: hold the rows.
        summaries: summaries of all rows.
        zoned: see `separate`.
    """
    wanted, alone = streams_to_read(summaries)
    return [repair for name in wanted for repair in _repairs(StreamLines.read(name, files, alone=alone), zoned=name in zoned)]


def _repairs(whole: StreamLines, *, zoned: bool) -> list[Repair]:
    """Return the repairs of one stream; none if it has so many jumps that its lines are out of order."""
    again = repeats(whole.ts, [whole.column(name) for name in CONTENT_COLUMNS], JITTER)
    lines = whole.without((begin, end) for begin, end, _ in again)
    backs = falls_back(lines.ts, SET).tolist()
    segments = _changing(reordered(lines, backs) or _Zones(lines, zoned=zoned).segments(backs))
    found = [_repair(lines, segments, n) for n, s in enumerate(segments) if n or s.moved or s.until]
    return sorted([*found, *repairs_of_repeated(whole, again)], key=lambda s: s.from_pos)


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


def _repair(lines: StreamLines, segments: Sequence[Segment], n: int) -> Repair:
    begin, shift, owner, why, moved, until = segments[n]
    first, end = lines.places(begin, segments[n + 1].begin if n + 1 < len(segments) else len(lines.ts))
    name = lines.name if not owner else f"{lines.name}#{owner + 1}"
    jump = int(lines.ts[max(begin - 1, 0)]), int(lines.ts[begin])
    before, behind = lines.events(range(begin - 1, -1, -1), 2), lines.events(range(begin, len(lines.ts)), 2)
    return Repair(lines.name, first, end, shift, moved, name, why, lines.paths[begin].as_py(), jump, until, None, (*reversed(before), *behind))


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
                if last >= 0 and value != known:
                    # Names that are printed during one start belong to one JVM.
                    between = np.flatnonzero(self._lines.work[last + 1 : i])
                    if len(between):
                        behind = last + 2 + int(between[-1])
                        starts = np.flatnonzero(self._lines.start_lines[behind:i])
                        found.add(behind + int(starts[0]) if len(starts) else i)
                last, known = i, value
        return found

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
