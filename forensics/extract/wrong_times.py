"""Lines whose time cannot be: a broken digit, or a clock that was wrong for a moment. They are read at the time of the line before.

They may have been printed at any time from there to the line behind, so that is how exact their times are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from forensics.extract.jump_signs import HOUR, SET
from forensics.extract.parquet_parts import rewrite, with_columns
from forensics.extract.split_counts import NOTHING, Run, gaps_between, joined
from forensics.extract.splits import FILE_BITS
from forensics.records.timestamps import SECOND

#: A time is wrong that is so far ahead of the lines before and behind it.
_AHEAD = 300 * SECOND
#: Threads that were held up print earlier times than those before them, but none from before the log begins.
_BEHIND = HOUR
#: More lines than this, or more such places in a file, are the lines of somebody else.
_MOST_LINES = 3
_MOST_PLACES = 3
_MOMENT = 10 * SECOND
#: So many lines before and behind it agree with each other.
_SURE = 10
_NEAR_BYTES = 1 << 20
_WRONG = "wrong_time"


class _Place(NamedTuple):
    """Where a file has times that cannot be: the first and the last of them, how many records have them; and between which times these were printed."""

    low: int
    high: int
    records: int
    since: int
    until: int


def mend(events: Sequence[Path], others: Sequence[Path], ranges: Iterable[Mapping[str, Any]]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Gives lines with a wrong time that of the line before.

    Args:
        events: files with rows of events; those with such a line are written anew.
        others: files with rows of other records, likewise.
        ranges: rows of `range_row`, each with the `runs` of its records, which are taken off.

    Returns:
        The rows of `range_row`, whose times and silences are those of the other lines; and one more for each place where lines were given a time.
    """
    found: list[dict[str, Any]] = []
    told: list[dict[str, Any]] = []
    by_path: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for row in ranges:
        by_path[row["path"]].append(row)
    for path, rows in by_path.items():
        rows.sort(key=lambda r: r["range_start"])
        runs = [[Run(*run) for run in row["runs"]] for row in rows]
        wrong = []
        for place in _places(joined(chain.from_iterable(runs))):
            lines = _lines((*events, *others), path, place)
            # Where more have these times, nothing says which of them are meant.
            if lines.num_rows <= place.records:
                wrong.append((place, lines["stream_pos"]))
                told += [_told(events, rows, path, place, lines)] if lines.num_rows else []
        found += [_without(row, mine, [place for place, _ in wrong]) for row, mine in zip(rows, runs, strict=True)]
        for files, is_event in ((events, True), (others, False)):
            for file in files if wrong else ():
                _set_times(file, path, wrong, is_event=is_event)
    return found, told


def _places(runs: Sequence[Run]) -> list[_Place]:
    """Where a file has wrong times; none if there are many."""
    if len(runs) < 3:
        return []
    first, last, low, high, records = np.array(runs, np.int64).T
    small = (records <= _MOST_LINES) & (high - low <= _MOMENT)
    goes_on = first[2:] - last[:-2] >= -SET
    ahead = small[1:-1] & goes_on & (low[1:-1] - np.maximum(last[:-2], first[2:]) >= _AHEAD)
    behind = small[1:-1] & goes_on & (np.minimum(last[:-2], first[2:]) - high[1:-1] >= _BEHIND)
    wanted = (np.flatnonzero(ahead | behind) + 1).tolist()
    if not 0 < len(wanted) <= _MOST_PLACES:
        return []
    earliest = int(np.delete(low, wanted).min())
    is_before = [n for n in wanted if ahead[n - 1] or high[n] <= earliest - _BEHIND]
    return [
        _Place(int(low[n]), int(high[n]), int(records[n]), *sorted((int(last[n - 1]), int(first[n + 1]))))
        for n in is_before
        if _agree(runs[:n]) and _goes_on(runs[n + 1 :], int(low[n]) - SET if ahead[n - 1] else None)
    ]


def _agree(runs: Sequence[Run]) -> bool:
    """Whether enough lines stand before a place without a step back among them."""
    total = 0
    for run, behind in zip(reversed(runs), [None, *reversed(runs)], strict=False):
        if behind is not None and behind.first < run.last:
            return False
        total += run.records
        if total >= _SURE:
            return True
    return False


def _goes_on(runs: Sequence[Run], until: int | None) -> bool:
    """Whether enough lines stand behind a place without a step back among them, before they come to a time.

    A process that was stopped may print first what it says now, and then what its other threads were about to say: these lines have all one time.
    """
    total = 0
    for before, run in zip([None, *runs], runs, strict=False):
        if before is not None and run.first < before.last or until is not None and run.first >= until:
            return False
        total += run.records
        if total >= _SURE and run.last - runs[0].first >= SECOND:
            return True
    return False


def _rows(files: Iterable[Path], columns: Sequence[str], path: str, wanted: pc.Expression) -> pa.Table:
    """Rows of one file of the evidence, in their order."""
    found = [pq.read_table(file, columns=columns, filters=(pc.field("path") == path) & wanted) for file in files]
    return pa.concat_tables(found, promote_options="permissive").sort_by("stream_pos")


def _lines(files: Sequence[Path], path: str, place: _Place) -> pa.Table:
    """Rows of lines with these times: process and position. Those are not among them at which the log has come to these times by and by."""
    ts = pc.field("ts").cast(pa.int64())
    found = _rows(files, ["process_id", "stream_pos"], path, (ts >= place.low) & (ts <= place.high))
    between = _rows(files, ["stream_pos"], path, (ts > place.since + SET) & (ts < place.low - SET))["stream_pos"]
    return found.filter(pc.less(found["stream_pos"], pc.min(between))) if len(between) else found


def _told(events: Sequence[Path], ranges: Sequence[Mapping[str, Any]], path: str, place: _Place, lines: pa.Table) -> dict[str, Any]:
    """The row of `range_row` that says where lines were given another time."""
    first, last = (lines["stream_pos"][n].as_py() for n in (0, -1))
    begin = first & ((1 << FILE_BITS) - 1)
    row = next(row for row in reversed(ranges) if row["range_start"] <= begin)
    pos = pc.field("stream_pos")
    near = _rows(events, ["stream_pos", "event_id"], path, (pos > first - _NEAR_BYTES) & (pos < last + _NEAR_BYTES))
    at = near["stream_pos"].to_numpy()
    before, behind = np.searchsorted(at, first), np.searchsorted(at, last, side="right")
    times = {"first_ts": place.since, "last_ts": place.since, "gaps": []}
    how = {
        "shift_ms": (place.since - place.low) // 1000,
        "shift_why": _WRONG,
        "shift_ids": near["event_id"][max(before - 1, 0) : behind + 1].to_pylist(),
    }
    return {**row, **NOTHING, "process_id": lines["process_id"][0].as_py(), "range_start": begin + 1, **times, **how}


def _without(row: Mapping[str, Any], runs: Sequence[Run], wrong: Sequence[_Place]) -> dict[str, Any]:
    """A row of `range_row` whose times and silences are those of the other lines."""
    found = {name: value for name, value in row.items() if name != "runs"}
    left = [run for run in runs if not any(place.low <= run.low and run.high <= place.high for place in wrong)]
    if len(left) < len(runs):
        found["first_ts"] = min((run.low for run in left), default=None)
        found["last_ts"] = max((run.high for run in left), default=None)
        found["gaps"] = gaps_between(left)
    return found


def _set_times(file: Path, path: str, wrong: Iterable[tuple[_Place, pa.ChunkedArray]], *, is_event: bool) -> None:
    """Gives the lines of a file their times, and says of events how exact these are: other lines tell no more than that the process was there."""
    if not any(_rows([file], ["stream_pos"], path, pc.field("stream_pos").isin(lines)).num_rows for _, lines in wrong):
        return
    table = pq.read_table(file)
    mine = pc.equal(table["path"], path)
    for place, lines in wrong:
        here = pc.and_(mine, pc.is_in(table["stream_pos"], lines))
        told = {"ts": place.since} | ({"resolution_ms": 1 + (place.until - place.since) // 1000} if is_event else {})
        table = with_columns(table, {name: pc.if_else(here, value, table[name].cast(pa.int64())) for name, value in told.items()})
    rewrite(file, table)
