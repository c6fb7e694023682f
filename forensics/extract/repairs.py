"""Repair lines of a stream that belong to another process, time or position than it seems. Their rows are rewritten."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from forensics.extract.parquet_parts import rewrite, with_columns
from forensics.extract.split_counts import GAP_US, NOTHING
from forensics.extract.splits import byte_of
from forensics.records.timestamps import SECOND
from forensics.records.vectorized.buffers import Ints

OTHER_LOG = "other_log"
REPEATED = "repeated"
#: A silence whose ends are this close to those of a jump is that jump, microseconds.
_NEAR = 900 * SECOND
#: No line has these times.
_LATEST, _NEVER = np.iinfo(np.int64).max, np.iinfo(np.int64).min


class Segment(NamedTuple):
    """Lines from `begin` on: shift of their times, owner, reason; shift of their positions, and when the lines that follow then begin."""

    begin: int
    shift: int
    owner: int
    why: str
    moved: int = 0
    until: int | None = None


@dataclass(frozen=True)
class Repair:
    """Lines of one stream from a jump to the next.

    Attributes:
        process_id: the stream.
        from_pos, to_pos: its positions, `to_pos` excluded.
        shift_us: added to the printed times.
        moved: added to the positions, if the lines belong elsewhere among those of their process.
        owner: process that the lines belong to.
        why: `daylight_saving`, `time_zone`, `other_log`, `earlier_part`, or `repeated` (its lines appear earlier in the log, so its rows are
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


def apply(found: Sequence[Repair], files: Iterable[Path], ranges: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Give the rows of repairs their own times, positions and processes.

    Args:
        found: repairs of all streams.
        files: hold the rows; files with such lines are rewritten.
        ranges: rows of `range_row`.

    Returns:
        The rows of `range_row`, and one more row for each repair.
    """
    spans = _Spans()
    for file in files:
        _rewrite(file, found, spans)
    return _ranges(ranges, found, spans)


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


class _Spans:
    """First and last time of each repair, and of the rest of each file that has a repair."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, int], tuple[int, int]] = {}

    def see(self, keys: Sequence[tuple[str, int]], which: Ints, times: Ints) -> None:
        """Record times, each with the index of its key."""
        low, high = np.full(len(keys), _LATEST), np.full(len(keys), -_LATEST)
        np.minimum.at(low, which, times)
        np.maximum.at(high, which, times)
        for n in np.unique(which).tolist():
            first, last = self._known.get(keys[n], (_LATEST, -_LATEST))
            self._known[keys[n]] = min(first, int(low[n])), max(last, int(high[n]))

    def of(self, name: str, place: int) -> tuple[int, int] | None:
        """Return the first and the last time; None if there is none."""
        return self._known.get((name, place))


def _rewrite(file: Path, found: Sequence[Repair], spans: _Spans) -> None:
    """Record the times of repairs in one file, move their rows, and remove repeated ones. A file is only rewritten if one of its rows changes."""
    with pq.ParquetFile(file, read_dictionary=["process_id", "path"]) as opened:
        rows = opened.read(["process_id", "path", "stream_pos", "ts"]).unify_dictionaries()
    if not rows.num_rows:
        return
    processes, paths = (rows[name].combine_chunks() for name in ("process_id", "path"))
    pos, printed = rows["stream_pos"].to_numpy(), rows["ts"].cast(pa.int64()).fill_null(_NEVER).to_numpy()
    timed = printed != _NEVER
    moved, again = (_repair_of(processes, pos, [s if (s.why == REPEATED) is are_repeated else None for s in found]) for are_repeated in (False, True))
    moved[again >= 0] = -1
    repair = np.maximum(moved, again)
    shifts, moves = (np.append([getattr(s, name) for s in found], 0).astype(np.int64) for name in ("shift_us", "moved"))
    inside, outside = (np.flatnonzero(timed & here) for here in (repair >= 0, repair < 0))
    spans.see([(s.process_id, s.from_pos) for s in found], repair[inside], printed[inside] + shifts[repair[inside]])
    names = paths.dictionary.to_pylist()
    spans.see([(name, -1) for name in names], paths.indices.to_numpy()[outside].astype(np.int64), printed[outside])
    is_new = np.append([s.owner != s.process_id or s.shift_us != 0 or s.moved != 0 for s in found], False)  # noqa: FBT003  (for lines without a repair)
    if (again >= 0).any() or is_new[moved].any():
        owners = pa.array([s.owner for s in found], pa.string()).take(pa.array(moved, mask=moved < 0))
        table = pq.read_table(file)
        columns = {
            "ts": pc.add(table["ts"].cast(pa.int64()), pa.array(shifts[moved])),
            "process_id": pc.coalesce(owners, table["process_id"]),
            "stream_pos": pa.chunked_array([pa.array(pos + moves[moved])]),
        }
        rewrite(file, with_columns(table, columns).filter(pa.array(again < 0)))


def _repair_of(processes: pa.DictionaryArray, pos: Ints, found: Sequence[Repair | None]) -> Ints:
    """Return the index of the repair of each row, by process and position; -1 for rows without one. Repairs of one process do not overlap."""
    which = np.full(len(pos), -1, np.int64)
    codes = processes.indices.fill_null(-1).to_numpy()
    for code, name in enumerate(processes.dictionary.to_pylist()):
        mine = sorted((s.from_pos, s.to_pos, n) for n, s in enumerate(found) if s is not None and s.process_id == name)
        if mine:
            begins, ends, numbers = np.array(mine, np.int64).T
            rows = np.flatnonzero(codes == code)
            at = np.searchsorted(begins, pos[rows], side="right") - 1
            here = (at >= 0) & (pos[rows] < ends[at])
            which[rows[here]] = numbers[at[here]]
    return which


def _ranges(ranges: Sequence[Mapping[str, Any]], found: Sequence[Repair], spans: _Spans) -> list[dict[str, Any]]:
    """Return rows of `range_row` in which each repair has its own times and silences, and the way in which it was found."""
    result: list[dict[str, Any]] = []
    for row in sorted(ranges, key=lambda r: (r["path"], r["range_start"])):
        mine = [s for s in found if s.path == row["path"]]
        if not mine or row["first_ts"] is None:
            result.append(dict(row))
            continue
        repeated = [s for s in mine if s.why == REPEATED and row["range_start"] < s.begin <= row["range_end"]]
        mine = [s for s in mine if s.why != REPEATED]
        earlier = [s for s in mine if s.begin <= row["range_start"]][-1:]
        here = [s for s in mine if row["range_start"] < s.begin <= row["range_end"]]
        quiet = _by_repair(row["gaps"] or [], earlier, here, repeated)
        left = spans.of(earlier[0].process_id, earlier[0].from_pos) if earlier else spans.of(row["path"], -1)
        first, last = (max(row["first_ts"], left[0]), min(row["last_ts"], left[1])) if left else (1, 0)
        times = {"first_ts": first, "last_ts": last} if first <= last else {"first_ts": None, "last_ts": None}
        result.append({**row, **times, "process_id": earlier[0].owner if earlier else row["process_id"], "gaps": quiet.pop(0)})
        for s, gaps in (*zip(here, quiet, strict=True), *((s, []) for s in repeated)):
            span = spans.of(s.process_id, s.from_pos)
            if span is not None:
                ended = s.since if s.since is not None else span[1]
                if s.until is not None and s.until - ended > GAP_US:
                    gaps.append({"from_ts": ended, "to_ts": s.until})
                times = {"first_ts": span[0], "last_ts": span[1], "gaps": gaps}
                how = {"shift_ms": s.shift_us // 1000, "shift_why": s.why, "shift_ids": list(s.lines)} if s.why else {}
                result.append({**row, **NOTHING, "process_id": s.owner, "range_start": s.begin, **times, **how})
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
