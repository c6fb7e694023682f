"""Jumps of local time inside a log stream: daylight saving, another time zone, or the log of another machine behind the first.

Most logs print local time without saying whose. Where it goes back by an hour or by six, in the middle of a stream, no clock has been set as a
rule: the lines from there on are of another zone. Each such stretch gets its own zone, so that its times follow those before it, and what may be
another machine becomes a process of its own. A clock that was set back by some seconds or minutes is left alone: that is a step.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from forensics.records.timestamps import SECOND

_QUARTER, _HOUR = 900 * SECOND, 3600 * SECOND
#: Less than this is a clock that was set.
_LEAST = 14 * 60 * SECOND
#: A jump of so many quarters of an hour and at most this was no pause: the stream just went on.
_EXACT = 60 * SECOND
#: Between the first and the last zone of the world.
_MOST = 26 * _HOUR
#: More jumps than this are lines in disorder, not logs one behind the other.
_MOST_STRETCHES = 8
_STARTS = frozenset({"process_started", "process_initializing", "herder_starting", "broker_starting", "connect_starting"})
_WHO = ("broker_id", "worker_url", "member_id")
_Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Stretch:
    """Lines of one stream, from a jump on.

    Attributes:
        process_id: the stream.
        from_pos, to_pos: its positions, `to_pos` not included.
        shift_us: added to the printed times.
        owner: process that the lines belong to.
        why: `daylight_saving`, `time_zone` or `other_machine`.
        path: of the file in which it begins.
        jump: times before and behind the jump, as printed.
        lines: events of the two lines before the jump, and of the two after it.
    """

    process_id: str
    from_pos: int
    to_pos: int
    shift_us: int
    owner: str
    why: str
    path: str
    jump: tuple[int, int]
    lines: tuple[str, ...] = ()


def separate(staged: Path, events: Sequence[str], others: Sequence[str], ranges: list[dict[str, Any]], zoned: frozenset[str]) -> list[dict[str, Any]]:
    """Finds the stretches of what was read, and gives their rows their own times and processes.

    Args:
        staged: folder of the Parquet files that tasks wrote; those with lines of a stretch are written anew.
        events: names of the files of events.
        others: names of the files of unrecognised records.
        ranges: rows of `range_row`.
        zoned: streams whose times say their offset from UTC: there is nothing to find in them.

    Returns:
        The rows of `range_row`, with one more for each stretch.
    """
    found = [s for s in find([staged / name for name in events]) if s.process_id not in zoned]
    if not found:
        return ranges
    spans = _Spans()
    for name in (*events, *others):
        _rewrite(staged / name, found, spans)
    return _ranges(ranges, found, spans)


def find(files: Iterable[Path]) -> list[Stretch]:
    """The stretches of all streams, by the times of their events."""
    tables = [pq.read_table(f, columns=["process_id", "stream_pos", "ts"]) for f in files]
    if not tables:
        return []
    whole = pa.concat_tables(tables)
    whole = whole.filter(pc.and_(pc.is_valid(whole["ts"]), pc.is_valid(whole["process_id"])))
    names = whole["process_id"].combine_chunks().dictionary_encode()
    if isinstance(names, pa.ChunkedArray):
        names = names.combine_chunks()
    who = names.indices.to_numpy().astype(np.int64)
    pos = whole["stream_pos"].to_numpy().astype(np.int64)
    ts = whole["ts"].cast(pa.int64()).to_numpy().astype(np.int64)
    order = np.lexsort((pos, who))
    who, ts = who[order], ts[order]
    jumps = np.diff(ts)
    near = (np.diff(who) == 0) & ((jumps <= -_LEAST) | ((jumps >= _HOUR) & (jumps <= _HOUR + _EXACT)))
    result = []
    for index in np.unique(who[1:][near]):
        name = names.dictionary[int(index)].as_py()
        result += _Stream(name, files).stretches()
    return result


class _Stream:
    """One stream in which time jumps."""

    def __init__(self, name: str, files: Iterable[Path]) -> None:
        self._name = name
        columns = ["event_id", "path", "stream_pos", "ts", "event", *_WHO]
        parts = [pq.read_table(f, columns=columns, filters=[("process_id", "=", name)]) for f in files]
        rows = pa.concat_tables(parts)
        rows = rows.filter(pc.is_valid(rows["ts"])).sort_by("stream_pos")
        self._pos: list[int] = rows["stream_pos"].to_pylist()
        self._ts: _Ints = rows["ts"].cast(pa.int64()).to_numpy().astype(np.int64)
        self._ids: list[str] = rows["event_id"].to_pylist()
        self._paths: list[str] = rows["path"].to_pylist()
        self._event: list[str] = rows["event"].to_pylist()
        self._who: dict[str, list[Any]] = {c: rows[c].to_pylist() for c in _WHO}

    def stretches(self) -> list[Stretch]:
        """The stretches; none when there are so many jumps that the lines are in disorder."""
        ts = self._ts
        jumps = np.diff(ts)
        places = [int(i) + 1 for i in np.flatnonzero((jumps <= -_LEAST) | (jumps >= _HOUR))]
        back = [i for i in places if jumps[i - 1] < 0]
        if len(back) > _MOST_STRETCHES:
            return []
        # One segment after the other: where it begins, what is added to its times, which process, why.
        segments: list[tuple[int, int, int, str]] = [(0, 0, 0, "")]
        owners = 1
        for i in places:
            begin, shift, owner, _ = segments[-1]
            if i - begin < 2 or i + 2 > len(ts):
                continue  # one line tells nothing
            end = next((p for p in places if p > i), len(ts))
            jump = int(ts[i] - ts[i - 1])
            if jump < 0:
                if int(min(ts[i - 2], ts[i - 1]) - max(ts[i], ts[i + 1])) < _LEAST:
                    continue
                by = -(jump // _QUARTER) * _QUARTER
                new = self._backwards(begin, i, end, by, by + jump)
                if new:
                    owner, owners = (owner, owners) if new != "other_machine" else (owners, owners + 1)
                    segments.append((i, shift + (by if by <= _MOST else 0), owner, new))
            else:
                returned = self._returned(segments, i, end, jump)
                if returned:
                    segments.append((i, *returned))
                elif self._summer(i, jump):
                    segments.append((i, shift - _HOUR, owner, "daylight_saving"))
        return [self._stretch(segments, n) for n in range(1, len(segments))]

    def _stretch(self, segments: Sequence[tuple[int, int, int, str]], n: int) -> Stretch:
        begin, shift, owner, why = segments[n]
        end = self._pos[segments[n + 1][0]] if n + 1 < len(segments) else 1 << 62
        name = self._name if not owner else f"{self._name}#{owner + 1}"
        jump = int(self._ts[begin - 1]), int(self._ts[begin])
        return Stretch(self._name, self._pos[begin], end, shift, name, why, self._paths[begin], jump, tuple(self._ids[begin - 2 : begin + 2]))

    def _backwards(self, begin: int, i: int, end: int, by: int, passed: int) -> str:
        """What a jump back is, by so many quarters of an hour while some time passed; empty: a clock that was set."""
        starts = any(e in _STARTS for e in self._event[i : i + 30]) or "config_dumped" in self._event[i : i + 3]
        alike = self._alike((begin, i), (i, end))
        if alike and not starts:
            # A JVM keeps its zone, but for daylight saving: an exact jump is the machine's, set from one zone to another.
            return "" if passed > _EXACT else "daylight_saving" if by in (_HOUR, _HOUR // 2) and self._is_change(i) else "time_zone"
        if passed <= _EXACT and by == _HOUR and self._is_change(i) and not starts and alike is None:
            return "daylight_saving"
        if passed > _EXACT and by <= _HOUR and alike is None and not starts:
            return ""
        return "other_machine"

    def _returned(self, segments: Sequence[tuple[int, int, int, str]], i: int, end: int, jump: int) -> tuple[int, int, str] | None:
        """The earlier segment that goes on after a jump ahead: its shift, its process, why."""
        begin, shift, owner, _ = segments[-1]
        for n, (start, before, whose, _) in enumerate(segments[:-1]):
            passed = jump - (shift - before)
            if before >= shift or not -_EXACT <= passed < _QUARTER:
                continue
            if whose == owner and passed <= _EXACT and (self._is_change(i) or self._ts[i] - self._ts[begin] < 2 * _HOUR):
                return before, owner, "daylight_saving"
            stop = segments[n + 1][0]
            if whose != owner and self._alike((start, stop), (i, end)) and not self._alike((begin, i), (i, end)):
                return before, whose, "other_machine"
        return None

    def _summer(self, i: int, jump: int) -> bool:
        """Whether a jump ahead by an hour is the beginning of summer time: at its moment, in the midst of lines, and no start of a JVM."""
        near = i >= 2 and self._ts[i - 1] - self._ts[i - 2] < 5 * _EXACT and self._ts[i + 1] - self._ts[i] < 5 * _EXACT
        return bool(near and _HOUR <= jump <= _HOUR + _EXACT and self._is_change(i) and self._event[i] not in _STARTS)

    def _is_change(self, i: int) -> bool:
        """Whether local time jumps in a night of a weekend of spring or autumn, at a full hour."""
        before, after = (datetime.fromtimestamp(int(t) / SECOND, UTC) for t in (self._ts[i - 1], self._ts[i]))
        return after.minute == 0 and before.minute >= 58 and before.hour <= 3 and before.month in (3, 4, 9, 10, 11) and before.weekday() >= 4

    def _alike(self, one: tuple[int, int], other: tuple[int, int]) -> bool | None:
        """Whether two parts of the stream are of one process, by what names it in both; None: nothing does."""
        told = None
        for column in _WHO:
            a, b = (Counter(v for v in self._who[column][slice(*part)] if v is not None) for part in (one, other))
            if not a or not b:
                continue
            # Brokers name each other; most lines are of their own.
            told = a.most_common(1)[0][0] == b.most_common(1)[0][0] if column == "broker_id" else bool(a.keys() & b.keys())
            if told or column != "member_id":
                return told
        return told


class _Spans:
    """First and last time of each stretch, and of what is left of each file that has one."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, int], tuple[int, int]] = {}

    def see(self, name: str, place: int, times: pa.ChunkedArray) -> None:
        """Takes note of times, which may be NULL."""
        found = pc.min_max(times).as_py()
        if found["min"] is not None:
            low, high = self._known.get((name, place), (found["min"], found["max"]))
            self._known[name, place] = min(low, found["min"]), max(high, found["max"])

    def of(self, name: str, place: int) -> tuple[int, int] | None:
        """First and last time; None when there is none."""
        return self._known.get((name, place))


def _rewrite(file: Path, found: Sequence[Stretch], spans: _Spans) -> None:
    """Moves the rows of stretches in one file, and takes note of the times."""
    table = pq.read_table(file)
    printed = table["ts"].cast(pa.int64())
    ts, process, left = printed, table["process_id"], pa.chunked_array([pa.array([True] * table.num_rows)])
    for s in found:
        here = pc.and_(pc.greater_equal(table["stream_pos"], s.from_pos), pc.less(table["stream_pos"], s.to_pos))
        mine = pc.fill_null(pc.and_(pc.equal(table["process_id"], s.process_id), here), False)  # noqa: FBT003  (Arrow's own form)
        ts = pc.if_else(mine, pc.add(printed, s.shift_us), ts)
        process = pc.if_else(mine, s.owner, process)
        left = pc.and_not(left, mine)
        spans.see(s.process_id, s.from_pos, ts.filter(mine))
    for path in {s.path for s in found}:
        spans.see(path, -1, printed.filter(pc.and_(left, pc.equal(table["path"], path))))
    for name, values in (("ts", ts), ("process_id", process)):
        place = table.schema.get_field_index(name)
        table = table.set_column(place, table.schema.field(place), values.cast(table.schema.field(place).type))
    pq.write_table(table, file, compression="zstd", compression_level=1)


def _ranges(ranges: Sequence[Mapping[str, Any]], found: Sequence[Stretch], spans: _Spans) -> list[dict[str, Any]]:
    """Rows of `range_row` in which each stretch has its own: its times, its silences, and how it was found."""
    result: list[dict[str, Any]] = []
    for row in sorted(ranges, key=lambda r: (r["path"], r["range_start"])):
        mine = [s for s in found if s.path == row["path"]]
        left = spans.of(row["path"], -1)
        if not mine or row["first_ts"] is None:
            result.append(dict(row))
            continue
        first, last = (max(row["first_ts"], left[0]), min(row["last_ts"], left[1])) if left else (1, 0)
        base = {**row, "first_ts": first, "last_ts": last} if first <= last else {**row, "first_ts": None, "last_ts": None}
        silences = _silences(row["gaps"] or [], mine)
        result.append({**base, "gaps": silences.pop(0)})
        for s, gaps in zip(mine, silences, strict=True):
            place, span = (s.from_pos & ((1 << 40) - 1)) + 1, spans.of(s.process_id, s.from_pos)
            if span is not None and row["range_start"] < place <= row["range_end"]:
                told = {"shift_ms": s.shift_us // 1000, "shift_why": s.why, "shift_ids": list(s.lines)}
                result.append(
                    {**row, **_NOTHING, "process_id": s.owner, "range_start": place, "first_ts": span[0], "last_ts": span[1], "gaps": gaps, **told}
                )
    return result


#: Counts are of the file, and stand in the row of its range.
_NOTHING: dict[str, Any] = {
    "lines": 0,
    "records": 0,
    "events": 0,
    "unrecognised": 0,
    "unfit": 0,
    "unfit_line": None,
    "unfit_text": None,
    "layouts": [],
    "error": "",
}


def _silences(gaps: Sequence[Mapping[str, int]], mine: Sequence[Stretch]) -> list[list[dict[str, int]]]:
    """Silences of what is before the first stretch, then of each stretch. One that seems as long as the jump is none."""
    told: list[list[dict[str, int]]] = [[] for _ in range(len(mine) + 1)]
    at = 0
    for gap in gaps:
        ends = sorted(mine[at].jump) if at < len(mine) else (0, 0)
        if at < len(mine) and abs(gap["from_ts"] - ends[0]) < _QUARTER and abs(gap["to_ts"] - ends[1]) < _QUARTER:
            at += 1
            continue
        shift = mine[at - 1].shift_us if at else 0
        told[at].append({"from_ts": gap["from_ts"] + shift, "to_ts": gap["to_ts"] + shift})
    return told
