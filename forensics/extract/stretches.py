"""Stretches of a stream: lines that are of another process, time or place than they stand for. Their rows are given what is theirs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from forensics.extract.parquet_parts import rewrite, with_columns
from forensics.extract.split_counts import GAP_US, NOTHING
from forensics.extract.splits import byte_of
from forensics.records.timestamps import SECOND

OTHER_LOG = "other_log"
REPEATED = "repeated"
#: A silence that begins and ends so near to a jump is that jump.
_NEAR = 900 * SECOND


class Segment(NamedTuple):
    """Lines from `begin` on: what is added to their times, whose they are, why; what is added to their positions, and when those that follow then begin."""

    begin: int
    shift: int
    owner: int
    why: str
    moved: int = 0
    until: int | None = None


@dataclass(frozen=True)
class Stretch:
    """Lines of one stream, from a jump on.

    Attributes:
        process_id: the stream.
        from_pos, to_pos: its positions, `to_pos` not included.
        shift_us: added to the printed times.
        moved: added to the positions: the lines are of another place among those of their process than they stand at.
        owner: process that the lines belong to.
        why: `daylight_saving`, `time_zone`, `other_log`, `earlier_part`, or `repeated` (its lines stand in the log before, so its rows go); empty: only
            that of others ends here.
        path: of the file in which it begins.
        jump: times before and behind the jump, as printed; of what is repeated those at its end.
        until: when the process prints on, in the part of its log that follows; None: no other does.
        since: when it printed last; None: with the last of these lines.
        lines: events of the two lines before the jump, and of the two after it; where those are only counted, of the next ones that are kept.
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
        """The byte in the file behind that with which it begins."""
        return byte_of(self.from_pos) + 1


def apply(found: Sequence[Stretch], files: Iterable[Path], ranges: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Gives the rows of stretches their own times, places and processes.

    Args:
        found: of all streams.
        files: hold the rows; those with lines of a stretch are written anew.
        ranges: rows of `range_row`.

    Returns:
        The rows of `range_row`, with one more for each stretch.
    """
    spans = _Spans()
    for file in files:
        _rewrite(file, found, spans)
    return _ranges(ranges, found, spans)


def silences(gaps: Sequence[Mapping[str, int]]) -> list[dict[str, int]]:
    """Gaps in which nothing was printed. A step back in time is none, nor is the step ahead that it takes back; one line alone had a wrong time."""
    told: list[tuple[int, int]] = []
    back = (0, 0)
    for begin, end in ((gap["from_ts"], gap["to_ts"]) for gap in gaps):
        if begin > end:
            back = begin, end
            at = next((n for n in reversed(range(len(told))) if told[n][0] <= end), None)
            if at is not None and end < told[at][1]:
                told[at : at + 1] = [(told[at][0], end)] * (told[at][1] == begin)
        elif begin == back[1] and end >= back[0]:
            told.append((back[0], end))
        else:
            told.append((begin, end))
    return [{"from_ts": begin, "to_ts": end} for begin, end in dict.fromkeys(told) if end - begin > GAP_US]


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
    """Moves the rows of stretches in one file, takes those away that are repeated, and takes note of the times."""
    table = pq.read_table(file)
    printed = table["ts"].cast(pa.int64())
    ts, process, pos, left = printed, table["process_id"], table["stream_pos"], pa.chunked_array([pa.array([True] * table.num_rows)])
    again = pc.invert(left)
    for s in sorted(found, key=lambda s: s.why != REPEATED):
        here = pc.and_(pc.greater_equal(table["stream_pos"], s.from_pos), pc.less(table["stream_pos"], s.to_pos))
        mine = pc.fill_null(pc.and_(pc.equal(table["process_id"], s.process_id), here), False)  # noqa: FBT003  (Arrow's own form)
        if s.why == REPEATED:
            again = pc.or_(again, mine)
        else:
            mine = pc.and_not(mine, again)
            ts = pc.if_else(mine, pc.add(printed, s.shift_us), ts)
            process = pc.if_else(mine, s.owner, process)
            pos = pc.if_else(mine, pc.add(pos, s.moved), pos)
        left = pc.and_not(left, mine)
        spans.see(s.process_id, s.from_pos, ts.filter(mine))
    for path in {s.path for s in found}:
        spans.see(path, -1, printed.filter(pc.and_(left, pc.equal(table["path"], path))))
    rewrite(file, with_columns(table, {"ts": ts, "process_id": process, "stream_pos": pos}).filter(pc.invert(again)))


def _ranges(ranges: Sequence[Mapping[str, Any]], found: Sequence[Stretch], spans: _Spans) -> list[dict[str, Any]]:
    """Rows of `range_row` in which each stretch has its own: its times, its silences, and how it was found."""
    result: list[dict[str, Any]] = []
    for row in sorted(ranges, key=lambda r: (r["path"], r["range_start"])):
        mine = [s for s in found if s.path == row["path"]]
        if not mine or row["first_ts"] is None:
            result.append(dict(row))
            continue
        repeated = [s for s in mine if s.why == REPEATED and row["range_start"] < s.begin <= row["range_end"]]
        mine = [s for s in mine if s.why != REPEATED]
        begun = [s for s in mine if s.begin <= row["range_start"]][-1:]
        here = [s for s in mine if row["range_start"] < s.begin <= row["range_end"]]
        quiet = _by_stretch(row["gaps"] or [], begun, here, repeated)
        left = spans.of(begun[0].process_id, begun[0].from_pos) if begun else spans.of(row["path"], -1)
        first, last = (max(row["first_ts"], left[0]), min(row["last_ts"], left[1])) if left else (1, 0)
        told = {"first_ts": first, "last_ts": last} if first <= last else {"first_ts": None, "last_ts": None}
        result.append({**row, **told, "process_id": begun[0].owner if begun else row["process_id"], "gaps": quiet.pop(0)})
        for s, gaps in (*zip(here, quiet, strict=True), *((s, []) for s in repeated)):
            span = spans.of(s.process_id, s.from_pos)
            if span is not None:
                ended = s.since if s.since is not None else span[1]
                if s.until is not None and s.until - ended > GAP_US:
                    gaps.append({"from_ts": ended, "to_ts": s.until})
                told = {"first_ts": span[0], "last_ts": span[1], "gaps": gaps}
                how = {"shift_ms": s.shift_us // 1000, "shift_why": s.why, "shift_ids": list(s.lines)} if s.why else {}
                result.append({**row, **NOTHING, "process_id": s.owner, "range_start": s.begin, **told, **how})
    return result


def _by_stretch(
    gaps: Sequence[Mapping[str, int]], begun: Sequence[Stretch], here: Sequence[Stretch], repeated: Sequence[Stretch]
) -> list[list[dict[str, int]]]:
    """Gaps of the stretch that had begun, if any, then of each that begins here. The jumps between them are none."""
    told: list[list[dict[str, int]]] = [[] for _ in range(len(here) + 1)]
    at, shift = 0, begun[0].shift_us if begun else 0
    for gap in gaps:
        if any(_is_at(s.jump, gap, min(_NEAR, abs(s.jump[1] - s.jump[0]) // 4)) for s in repeated):
            continue
        jumped = next((n for n in range(at, len(here)) if _is_at(here[n].jump, gap, _NEAR)), None)
        if jumped is not None:
            at, shift = jumped + 1, here[jumped].shift_us
        else:
            told[at].append({"from_ts": gap["from_ts"] + shift, "to_ts": gap["to_ts"] + shift})
    return told


def _is_at(jump: tuple[int, int], gap: Mapping[str, int], within: int) -> bool:
    """Whether a gap between records is a jump between events, of which there are fewer."""
    return abs(gap["from_ts"] - jump[0]) < within and abs(gap["to_ts"] - jump[1]) < within
