"""Decide which lines of a stream belong to another process, time or position than it seems, and repair them. Their rows are rewritten.

The tasks that read the lines have summarised them, so only streams with something wrong are read again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from forensics.extract import wrong_times
from forensics.extract.parquet_parts import change, with_columns
from forensics.extract.repeated_lines import doubled_rows, repeats
from forensics.extract.splits import byte_of
from forensics.extract.stream_lines import StreamLines, batches, rows_by, rows_of
from forensics.extract.stream_segments import Segment, segments_of
from forensics.extract.stream_summaries import (
    GAP_US,
    JITTER,
    SET,
    StreamSummary,
    codes_of,
    further_row,
    joined,
    streams_out_of_order,
    streams_to_read,
)
from forensics.records.timestamps import SECOND
from forensics.records.vectorized.buffers import Flags, Ints

REPEATED, UNORDERED = "repeated", "unordered"
#: A silence whose ends are this close to those of a jump is that jump, microseconds.
_NEAR = 900 * SECOND
#: Minimum number of pairs of lines that must show the reverse order, and their minimum ratio to the pairs that show the opposite.
_MIN_PAIRS, _TIMES_AS_MANY = 5, 2
#: No line has these times.
_LATEST, _NEVER = np.iinfo(np.int64).max, np.iinfo(np.int64).min
#: First and last time of each repair (process and position), and of the rest of each file that has a repair (its path, and -1).
_Spans = dict[tuple[str, int], tuple[int, int]]


@dataclass(frozen=True)
class Repair:
    """Lines of one stream from a jump to the next.

    Attributes:
        process_id: the stream.
        from_pos, to_pos: its positions, `to_pos` excluded.
        shift_us: added to the printed times.
        moved: added to the positions, if the lines belong elsewhere among those of their process.
        owner: process that the lines belong to.
        why: `daylight_saving`, `time_zone`, `midnight` (times without a date are of the next day), `other_log`, `earlier_part`, or `repeated` (its lines appear earlier in the log, so its rows are
            removed). Empty if the repair only ends that of other lines.
        path: the path of the file in which it begins.
        jump: times before and after the jump, as printed; for repeated lines, those at their end.
        until: when the process prints again, in the part of its log that follows; None if there is no such part.
        since: when the process printed last; None means the last of these lines.
        lines: events of the two lines before the jump, and of the two after it. Lines that are only counted are skipped.
    """

    process_id: str
    from_pos: int
    to_pos: int
    shift_us: int
    moved: int
    owner: str
    why: str
    path: str
    jump: tuple[int, int]
    until: int | None = None
    since: int | None = None
    lines: tuple[str, ...] = ()

    @property
    def begin(self) -> int:
        """Return the byte in the file after its first one."""
        return byte_of(self.from_pos) + 1


def separate(
    staged: Path,
    events: Sequence[str],
    counted: Sequence[str],
    others: Sequence[str],
    ranges: list[dict[str, Any]],
    zoned: frozenset[str],
    newest_first: Iterable[str] = (),
    undated: frozenset[str] = frozenset(),
) -> list[dict[str, Any]]:
    """Find the repairs in the rows that were read, and give these rows their own times and processes.

    Args:
        staged: folder of the Parquet files that tasks wrote; files with such lines are rewritten.
        events: names of the files of events.
        counted: names of the files of records that are only counted.
        others: names of the files of unrecognised records.
        ranges: rows of `range_row`, each with the `summaries` of its rows, the `runs` of its records and the records `doubled` in it, which are removed; their `gaps` include steps
            back in time.
        zoned: streams whose times include their offset from UTC, so their zone is known.
        newest_first: paths of logs that begin with their newest lines.
        undated: paths of logs whose times have no date.

    Returns:
        The rows of `range_row`, and one more row for each repair.
    """
    of_events, of_counted, of_others = ([staged / name for name in names] for names in (events, counted, others))
    others_too = [*of_counted, *of_others]
    _restore_same_times(of_events, others_too, newest_first)
    summaries = [StreamSummary(*summary) for row in ranges for summary in row.pop("summaries")]
    doubled = list(doubled_rows(ranges))
    for row in (*ranges, *doubled):
        row.pop("doubled")
    unordered = _sort(of_events, others_too, summaries, ranges)
    streams = [row for row in ranges if row["path"] in undated]
    for row in streams:
        row["runs"] = []  # before midnight, times without a date are far ahead of those after it
    ranges, mended = wrong_times.mend([*of_events, *others_too], of_events, ranges)
    found = find([*of_events, *of_counted], summaries, zoned, frozenset(str(row["process_id"]) for row in streams))
    if found:
        ranges = apply(found, (*of_events, *others_too), ranges)
    return [{**row, "gaps": silences(row["gaps"] or [])} for row in (*ranges, *mended, *doubled, *unordered)]


def find(
    files: Sequence[Path], summaries: Iterable[StreamSummary], zoned: frozenset[str] = frozenset(), undated: frozenset[str] = frozenset()
) -> list[Repair]:
    """Return the repairs of all streams, found by the times and names of their events (including those that are only counted).

    Args:
        files: hold the rows.
        summaries: summaries of all rows.
        zoned: see `separate`.
        undated: streams whose times have no date.
    """
    wanted, alone = streams_to_read(summaries)
    wanted = sorted({*wanted, *undated})
    streams = StreamLines.read(wanted, files, alone=alone)
    return [repair for lines in streams for repair in _repairs(lines, zoned=lines.name in zoned, dated=lines.name not in undated)]


def _repairs(whole: StreamLines, *, zoned: bool, dated: bool) -> list[Repair]:
    """Return the repairs of one stream."""
    again = repeats(whole.ts, whole.contents, JITTER)
    lines = whole.without((begin, end) for begin, end, _ in again)
    segments = segments_of(lines, zoned=zoned, dated=dated)
    found = [_repair(lines, segments, n) for n, s in enumerate(segments) if n or s.moved or s.until]
    return sorted([*found, *_of_repeated(whole, again)], key=lambda s: s.from_pos)


def _repair(lines: StreamLines, segments: Sequence[Segment], n: int) -> Repair:
    begin, shift, owner, why, moved, until = segments[n]
    first, end = lines.places(begin, segments[n + 1].begin if n + 1 < len(segments) else len(lines.ts))
    name = lines.name if not owner else f"{lines.name}#{owner + 1}"
    jump = int(lines.ts[max(begin - 1, 0)]), int(lines.ts[begin])
    before, behind = lines.events(range(begin - 1, -1, -1), 2), lines.events(range(begin, len(lines.ts)), 2)
    return Repair(lines.name, first, end, shift, moved, name, why, lines.paths[begin].as_py(), jump, until, None, (*reversed(before), *behind))


def _of_repeated(lines: StreamLines, repeated: Iterable[tuple[int, int, int]]) -> Iterator[Repair]:
    """Yield the repairs of repeated lines."""
    for begin, end, first in repeated:
        # Unrecognised lines after the last repeated one may be new.
        at, to = int(lines.pos[begin]), int(lines.pos[end - 1]) + 1
        since = int(lines.ts[begin - 1])
        until = int(lines.ts[end]) if end < len(lines.ts) else None
        jump = int(lines.ts[end - 1]), until or 0
        events = lines.events([first, first + 1, begin - 2, begin - 1])
        yield Repair(lines.name, at, to, 0, 0, lines.name, REPEATED, lines.paths[begin].as_py(), jump, until, since, events)


def apply(found: Sequence[Repair], files: Iterable[Path], ranges: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Give the rows of repairs their own times, positions and processes.

    Args:
        found: repairs of all streams.
        files: hold the rows; files with such lines are rewritten.
        ranges: rows of `range_row`.

    Returns:
        The rows of `range_row`, and one more row for each repair.
    """
    with ThreadPoolExecutor() as pool:
        return _ranges(ranges, found, list(pool.map(lambda file: _rewrite(file, found), files)))


def silences(gaps: Sequence[Mapping[str, int]]) -> list[dict[str, int]]:
    """Return gaps in which nothing was printed. A step back in time and the step ahead that reverts it (one line with a wrong time) are not gaps."""
    intervals: list[tuple[int, int]] = []
    back = (0, 0)
    for begin, end in ((gap["from_ts"], gap["to_ts"]) for gap in gaps):
        if begin > end:
            back = begin, end
            at = next((n for n in reversed(range(len(intervals))) if intervals[n][0] <= end), None)
            if at is not None and end < intervals[at][1]:
                intervals[at : at + 1] = [(intervals[at][0], end)] * (intervals[at][1] == begin)
        elif begin == back[1] and end >= back[0]:
            intervals.append((back[0], end))
        else:
            intervals.append((begin, end))
    return [{"from_ts": begin, "to_ts": end} for begin, end in dict.fromkeys(intervals) if end - begin > GAP_US]


def _span(parts: Iterable[_Spans], key: tuple[str, int]) -> tuple[int, int] | None:
    """Return the first and the last time of a repair, or of the rest of a file, in all files; None if there is none."""
    known = [part[key] for part in parts if key in part]
    return (min(first for first, _ in known), max(last for _, last in known)) if known else None


def _spans(keys: Sequence[tuple[str, int]], which: Ints, times: Ints) -> _Spans:
    """Return the first and the last of the times that have each key, given the index of each one's key."""
    low, high = np.full(len(keys), _LATEST), np.full(len(keys), -_LATEST)
    np.minimum.at(low, which, times)
    np.maximum.at(high, which, times)
    return {keys[n]: (int(low[n]), int(high[n])) for n in np.unique(which).tolist()}


def _rewrite(file: Path, found: Sequence[Repair]) -> _Spans:
    """Move the rows of repairs in one file, and remove repeated ones; return their times. A file is only rewritten if one of its rows changes."""
    with pq.ParquetFile(file, read_dictionary=["process_id", "path"]) as opened:
        rows = opened.read(["process_id", "path", "stream_pos", "ts"]).unify_dictionaries()
    if not rows.num_rows:
        return {}
    processes, paths = (rows[name].combine_chunks() for name in ("process_id", "path"))
    pos, printed = rows["stream_pos"].to_numpy(), rows["ts"].cast(pa.int64()).fill_null(_NEVER).to_numpy()
    timed = printed != _NEVER
    moved, again = (_repair_of(processes, pos, [s if (s.why == REPEATED) is are_repeated else None for s in found]) for are_repeated in (False, True))
    moved[again >= 0] = -1
    repair = np.maximum(moved, again)
    shifts, moves = (np.append([getattr(s, name) for s in found], 0).astype(np.int64) for name in ("shift_us", "moved"))
    inside, outside = (np.flatnonzero(timed & here) for here in (repair >= 0, repair < 0))
    spans = _spans([(s.process_id, s.from_pos) for s in found], repair[inside], printed[inside] + shifts[repair[inside]])
    names = paths.dictionary.to_pylist()
    spans |= _spans([(name, -1) for name in names], paths.indices.to_numpy()[outside].astype(np.int64), printed[outside])
    is_new = np.append([s.owner != s.process_id or s.shift_us != 0 or s.moved != 0 for s in found], False)  # noqa: FBT003  (for lines without a repair)
    owners, at = pa.array([s.owner for s in found], pa.string()), 0

    def changed(rows: pa.Table) -> pa.Table:
        nonlocal at
        here = slice(at, at + rows.num_rows)
        at, mine, left = here.stop, moved[here], again[here] < 0
        if is_new[mine].any():
            columns = {
                "ts": pc.add(rows["ts"].cast(pa.int64()), pa.array(shifts[mine])),
                "process_id": pc.coalesce(owners.take(pa.array(mine, mask=mine < 0)), rows["process_id"].cast(pa.string())),
                "stream_pos": pa.chunked_array([pa.array(pos[here] + moves[mine])]),
            }
            rows = with_columns(rows, columns)
        return rows if left.all() else rows.filter(pa.array(left))

    if (again >= 0).any() or is_new[moved].any():
        change(file, changed)
    return spans


def _repair_of(processes: pa.DictionaryArray, pos: Ints, found: Sequence[Repair | None]) -> Ints:
    """Return the index of the repair of each row, by process and position; -1 for rows without one. Repairs of one process do not overlap."""
    which = np.full(len(pos), -1, np.int64)
    codes = processes.indices.fill_null(-1).to_numpy()
    by_process: dict[str, list[tuple[int, int, int]]] = defaultdict(list)
    for n, s in enumerate(found):
        if s is not None:
            by_process[s.process_id].append((s.from_pos, s.to_pos, n))
    for code, name in enumerate(processes.dictionary.to_pylist()):
        if mine := by_process.get(name):
            begins, ends, numbers = np.array(sorted(mine), np.int64).T
            rows = np.flatnonzero(codes == code)
            at = np.searchsorted(begins, pos[rows], side="right") - 1
            here = (at >= 0) & (pos[rows] < ends[at])
            which[rows[here]] = numbers[at[here]]
    return which


def _ranges(ranges: Sequence[Mapping[str, Any]], found: Sequence[Repair], spans: Sequence[_Spans]) -> list[dict[str, Any]]:
    """Return rows of `range_row` in which each repair has its own times and silences, and the way in which it was found."""
    result: list[dict[str, Any]] = []
    by_path: dict[str, list[Repair]] = defaultdict(list)
    for s in found:
        by_path[s.path].append(s)
    for row in sorted(ranges, key=lambda r: (r["path"], r["range_start"])):
        mine = by_path[row["path"]]
        if not mine or row["first_ts"] is None:
            result.append(dict(row))
            continue
        repeated = [s for s in mine if s.why == REPEATED and row["range_start"] < s.begin <= row["range_end"]]
        mine = [s for s in mine if s.why != REPEATED]
        earlier = [s for s in mine if s.begin <= row["range_start"]][-1:]
        here = [s for s in mine if row["range_start"] < s.begin <= row["range_end"]]
        quiet = _by_repair(row["gaps"] or [], earlier, here, repeated)
        left = _span(spans, (earlier[0].process_id, earlier[0].from_pos) if earlier else (row["path"], -1))
        first, last = (max(row["first_ts"], left[0]), min(row["last_ts"], left[1])) if left else (1, 0)
        times = {"first_ts": first, "last_ts": last} if first <= last else {"first_ts": None, "last_ts": None}
        result.append({**row, **times, "process_id": earlier[0].owner if earlier else row["process_id"], "gaps": quiet.pop(0)})
        for s, gaps in (*zip(here, quiet, strict=True), *((s, []) for s in repeated)):
            span = _span(spans, (s.process_id, s.from_pos))
            if span is not None:
                ended = s.since if s.since is not None else span[1]
                if s.until is not None and s.until - ended > GAP_US:
                    gaps.append({"from_ts": ended, "to_ts": s.until})
                result.append(further_row(row, s.owner, byte_of(s.from_pos), span, s.why, s.lines, s.shift_us // 1000, gaps))
    return result


def _by_repair(
    gaps: Sequence[Mapping[str, int]], earlier: Sequence[Repair], here: Sequence[Repair], repeated: Sequence[Repair]
) -> list[list[dict[str, int]]]:
    """Return the gaps of the repair that began before, if any, then those of each that begins here, without the jumps between them."""
    by_repair: list[list[dict[str, int]]] = [[] for _ in range(len(here) + 1)]
    at, shift = 0, earlier[0].shift_us if earlier else 0
    for gap in gaps:
        if any(_is_at(s.jump, gap, min(_NEAR, abs(s.jump[1] - s.jump[0]) // 4)) for s in repeated):
            continue
        jumped = next((n for n in range(at, len(here)) if _is_at(here[n].jump, gap, _NEAR)), None)
        if jumped is not None:
            at, shift = jumped + 1, here[jumped].shift_us
        else:
            by_repair[at].append({"from_ts": gap["from_ts"] + shift, "to_ts": gap["to_ts"] + shift})
    return by_repair


def _is_at(jump: tuple[int, int], gap: Mapping[str, int], within: int) -> bool:
    """Return True if a gap between records is a jump between events, which are fewer than records."""
    return abs(gap["from_ts"] - jump[0]) < within and abs(gap["to_ts"] - jump[1]) < within


def _restore_same_times(events: Sequence[Path], others: Sequence[Path], paths: Iterable[str]) -> None:
    """Give lines of the same time the order in which they were printed, if a log has them in that order and its times in reverse.

    A store that sorts by time may leave them in the order of printing. Such a log is read from its end, which reverses them. The lines of different
    times show which line follows which.

    Args:
        events: files with rows of events; files with such lines are rewritten.
        others: files with rows of other records, likewise.
        paths: logs that begin with their newest lines.
    """
    files, moves = (*events, *others), dict[str, tuple[Ints, Ints]]()
    for some in batches(list(paths), files):
        for path, lines in rows_by("path", some, files, ["stream_pos", "ts", "event"]).items():
            pos, ts = lines["stream_pos"].to_numpy(), lines["ts"].cast(pa.int64()).to_numpy()
            if lines.num_rows and is_reversed(ts, codes_of(joined(lines["event"]))):
                moves[path] = pos, pos[_swapped(ts)]
    _move(files, "path", moves)


def is_reversed(ts: Ints, contents: Ints) -> bool:
    """Return True if lines of the same time follow each other in the reverse order of lines of different times.

    Args:
        ts: times of lines that are in order, except within the same time.
        contents: number of each line's content; -1 if unknown.
    """
    first, second, later = contents[:-1], contents[1:], np.diff(ts)
    known = (first >= 0) & (second >= 0) & (first != second)
    size = int(contents.max(initial=-1)) + 1
    follows, before = first * size + second, second * size + first
    seen = np.bincount(follows[known & (later > 0)], minlength=size * size)
    tied: Flags = known & (later == 0)
    usual, unusual = seen[follows[tied]], seen[before[tied]]
    against, for_it = int((usual < unusual).sum()), int((usual > unusual).sum())
    return against >= _MIN_PAIRS and against > _TIMES_AS_MANY * for_it


def _swapped(ts: Ints) -> Ints:
    """Return for each of some ordered lines the index of the line that it changes places with."""
    begins = np.flatnonzero(np.append(True, np.diff(ts) != 0))
    sizes = np.diff(np.append(begins, len(ts)))
    begin = np.repeat(begins, sizes)
    swapped: Ints = 2 * begin + np.repeat(sizes, sizes) - 1 - np.arange(len(ts))
    return swapped


def _sort(
    events: Sequence[Path], others: Sequence[Path], summaries: Iterable[StreamSummary], ranges: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Sort the lines of streams that are in the order of their times only roughly. Nothing shows the order of those with the same time.

    Args:
        events: files with rows of events; files with such lines are rewritten.
        others: files with rows of other records, likewise.
        summaries: summaries of all rows.
        ranges: rows of `range_row`.

    Returns:
        A row of `range_row` for each file of such a stream.
    """
    found: list[dict[str, Any]] = []
    rows, moves = (*events, *others), dict[str, tuple[Ints, Ints]]()
    columns = ["stream_pos", "ts", "byte_offset", "path", "event_id"]
    streams = (rows_by("process_id", some, rows, columns) for some in batches(streams_out_of_order(summaries), rows))
    for name, lines in (stream for some in streams for stream in some.items()):
        pos, ts, paths = lines["stream_pos"].to_numpy(), lines["ts"].cast(pa.int64()).to_numpy(), joined(lines["path"])
        files = codes_of(paths)
        # A long step back begins another part of a log; it is not a line out of order.
        parts = np.append(0, np.cumsum((np.diff(ts) <= -SET) | (np.diff(files) != 0)))
        now = np.empty_like(pos)
        now[np.lexsort((ts, parts))] = pos
        moves[name] = pos, now
        for code in np.unique(files[now != pos]).tolist():
            found.append(_range_of_unordered(lines.filter(pa.array(files == code)), ranges, name, paths.dictionary[code].as_py()))
    _move(rows, "process_id", moves)
    return found


def _range_of_unordered(lines: pa.Table, ranges: Sequence[Mapping[str, Any]], name: str, path: str) -> dict[str, Any]:
    """Return the row of `range_row` that describes a stream's lines in one file, with the first two events that are out of order."""
    ts = lines["ts"].cast(pa.int64()).to_numpy()
    events = np.flatnonzero(lines["event_id"].is_valid().to_numpy())
    back = np.flatnonzero(np.diff(ts[events]) < 0)[:1]
    shown = lines["event_id"].take(pa.array(events[[*back, *(back + 1)]])).to_pylist()
    row = next(row for row in ranges if row["path"] == path)
    return further_row(row, name, lines["byte_offset"][0].as_py(), (int(ts.min()), int(ts.max())), UNORDERED, shown)


def _move(files: Iterable[Path], by: str, moves: Mapping[str, tuple[Ints, Ints]]) -> None:
    """Give lines other positions.

    Args:
        files: files with rows; those with such lines are rewritten.
        by: a column.
        moves: the positions, ascending, of the lines with each of some values in it, and their new positions.
    """

    def changed(rows: pa.Table) -> pa.Table:
        places, names = rows["stream_pos"].to_numpy().copy(), joined(rows[by]).dictionary_encode()
        codes = np.where(pc.is_valid(rows["ts"]).to_numpy(), codes_of(names), -1)
        for code, name in enumerate(names.dictionary.to_pylist()):
            if name in moves:
                pos, now = moves[name]
                here = np.flatnonzero(codes == code)
                places[here] = now[np.searchsorted(pos, places[here])]
        return with_columns(rows, {"stream_pos": pa.chunked_array([pa.array(places)])})

    for file in files if moves else ():
        if rows_of([file], ["stream_pos"], pc.field(by).isin(list(moves))).num_rows:
            change(file, changed)
