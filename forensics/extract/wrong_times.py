"""Remove impossible times of lines: a broken digit, or a clock that was wrong for a moment.

Such a line may have been printed at any time from the line before to the line after, and no time of a process is assumed to be more exact than its
least exact one. So it has no time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from forensics.extract.parquet_parts import change, with_columns
from forensics.extract.splits import byte_of
from forensics.extract.stream_summaries import HOUR, SET, Run, further_row, gaps_between, merged
from forensics.records.timestamps import SECOND

#: A time that is this far ahead of the lines before and after it is wrong, microseconds.
_AHEAD = 300 * SECOND
#: Threads that were held up print earlier times than lines before them, but none this far before the log's beginning.
_BEHIND = HOUR
#: Minimum silence after the first or before the last lines if the log has no similar one and no other log has a line near these lines.
_FAR = 28 * 24 * HOUR
_LIKE_IT = 10
_NEAR = 24 * HOUR
#: More lines than this, or more such places in a file, come from another process.
_MAX_LINES = 3
_MAX_PLACES = 3
_MOMENT = 10 * SECOND
#: Number of lines before and after it that must agree with each other.
_SURE = 10
_NEAR_BYTES = 1 << 20
_WRONG = "wrong_time"


class _Place(NamedTuple):
    """Lines of a file with an impossible time: the lowest and highest of their times, their number, and the times of the lines before and after them.

    The first lines of a log only have the latter of these two times, its last lines only the former.
    """

    low: int
    high: int
    records: int
    since: int | None
    until: int | None


def mend(files: Sequence[Path], events: Sequence[Path], ranges: Iterable[Mapping[str, Any]]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Remove wrong times.

    Args:
        files: files with rows; files with such a line are rewritten.
        events: those of them with rows of events.
        ranges: rows of `range_row`, each with the `runs` of its records, which are removed.

    Returns:
        The rows of `range_row`, with the times and silences of the other lines; and one more row for each place with a wrong time.
    """
    found: list[dict[str, Any]] = []
    placed: list[dict[str, Any]] = []
    by_path: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for row in sorted(ranges, key=lambda r: int(r["range_start"])):
        by_path[row["path"]].append(row)
    runs_of = {path: [[Run(*run) for run in row["runs"]] for row in rows] for path, rows in by_path.items()}
    whole = {path: merged(chain.from_iterable(runs)) for path, runs in runs_of.items()}
    for path, rows in by_path.items():
        wrong: list[_Place] = []
        gone: list[pa.ChunkedArray] = []
        for place in _places(whole[path], chain.from_iterable(runs for name, runs in whole.items() if name != path)):
            lines = _lines(files, path, place)
            # If more lines have these times, it is unknown which of them are meant.
            if lines.num_rows <= place.records:
                wrong.append(place)
                gone.append(lines["stream_pos"])
                placed += [_range_row(events, rows, path, place, lines)] if lines.num_rows else []
        found += [_without(row, mine, wrong) for row, mine in zip(rows, runs_of[path], strict=True)]
        if gone:
            _remove_times(files, path, pa.concat_arrays([x.combine_chunks() for x in gone]))
    return found, placed


def _places(runs: Sequence[Run], others: Iterable[Run]) -> list[_Place]:
    """Return where a file has wrong times; empty if there are many.

    Args:
        runs: runs of the file.
        others: runs of all other files.
    """
    if len(runs) < 2:
        return []
    first, last, low, high, records = np.array(runs, np.int64).T
    small = (records <= _MAX_LINES) & (high - low <= _MOMENT)
    since, until = np.append(last[0], last[:-1]), np.append(first[1:], first[-1])
    goes_on = until - since >= -SET
    # Each end of the log has only one neighbour.
    since[0], until[-1], goes_on[[0, -1]] = until[0], since[-1], True
    ahead = small & goes_on & (low - np.maximum(since, until) >= _AHEAD)
    back = small & goes_on & (np.minimum(since, until) - high >= _BEHIND)
    # Only a long silence shows these.
    silent = [n for n, is_so in ((0, back[0]), (len(runs) - 1, ahead[-1])) if is_so]
    ahead[-1] = back[0] = False
    others = list(others) if silent else []
    silent = [n for n in silent if _is_alone(runs, n, others)]
    wanted = sorted({*np.flatnonzero(ahead | back).tolist(), *silent})
    if not 0 < len(wanted) <= _MAX_PLACES:
        return []
    earliest = int(np.delete(low, wanted).min(initial=np.iinfo(np.int64).max))
    found = []
    for n in wanted:
        if not (n in silent or ahead[n] or high[n] <= earliest - _BEHIND):
            continue
        earlier, later = ([runs[m] for m in side if m not in wanted] for side in (range(n), range(n + 1, len(runs))))
        if (n == 0 or _agree(earlier)) and (n == len(runs) - 1 or _goes_on(later, int(low[n]) - SET if ahead[n] else None)):
            beside = earlier[-1].last if earlier else None, later[0].first if later else None
            found.append(_Place(runs[n].low, runs[n].high, runs[n].records, *beside))
    return found


def _is_alone(runs: Sequence[Run], n: int, others: Iterable[Run]) -> bool:
    """Return True if the first or last lines of a log are far from all others: its own, which are close together, and those of other logs."""
    rest = runs[1:] if n == 0 else runs[:-1]
    silence = rest[0].low - runs[n].high if n == 0 else runs[n].low - rest[-1].high
    longest = max((abs(b.first - a.last) for a, b in pairwise(rest)), default=0)
    is_near = any(run.low - _NEAR <= runs[n].high and runs[n].low <= run.high + _NEAR for run in others)
    return silence >= max(_FAR, _LIKE_IT * longest) and not is_near


def _agree(runs: Sequence[Run]) -> bool:
    """Return True if enough lines precede a place without a step back among them."""
    total = 0
    for run, behind in zip(reversed(runs), [None, *reversed(runs)], strict=False):
        if behind is not None and behind.first < run.last or run.last < run.first - SET:
            return False
        total += run.records
        if total >= _SURE:
            return True
    return False


def _goes_on(runs: Sequence[Run], until: int | None) -> bool:
    """Return True if enough lines follow a place, up to the time `until`, without a step back among them.

    A process that was stopped may first print a current line, and then lines that its other threads were about to print; all of these have one time.
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
    """Return rows of one file of the evidence, in their order."""
    found = [pq.read_table(file, columns=columns, filters=(pc.field("path") == path) & wanted) for file in files]
    return pa.concat_tables(found, promote_options="permissive").sort_by("stream_pos")


def _lines(files: Sequence[Path], path: str, place: _Place) -> pa.Table:
    """Return process and position of the lines with these times, except those where the log reached these times gradually."""
    ts = pc.field("ts").cast(pa.int64())
    found = _rows(files, ["process_id", "stream_pos"], path, (ts >= place.low) & (ts <= place.high))
    if place.since is None or place.until is None:
        return found
    between = _rows(files, ["stream_pos"], path, (ts > place.since + SET) & (ts < place.low - SET))["stream_pos"]
    return found.filter(pc.less(found["stream_pos"], pc.min(between))) if len(between) else found


def _range_row(events: Sequence[Path], ranges: Sequence[Mapping[str, Any]], path: str, place: _Place, lines: pa.Table) -> dict[str, Any]:
    """Return the row of `range_row` that describes lines without their time."""
    first, last = (lines["stream_pos"][n].as_py() for n in (0, -1))
    begin = byte_of(first)
    row = next(row for row in reversed(ranges) if row["range_start"] <= begin)
    pos = pc.field("stream_pos")
    near = _rows(events, ["stream_pos", "event_id"], path, (pos > first - _NEAR_BYTES) & (pos < last + _NEAR_BYTES))
    at = near["stream_pos"].to_numpy()
    before, behind = np.searchsorted(at, first), np.searchsorted(at, last, side="right")
    beside = int((place.until if place.since is None else place.since) or 0)
    ids = near["event_id"][max(before - 1, 0) : behind + 1].to_pylist()
    return further_row(row, lines["process_id"][0].as_py(), begin, (beside, beside), _WRONG, ids, (beside - place.low) // 1000)


def _without(row: Mapping[str, Any], runs: Sequence[Run], wrong: Sequence[_Place]) -> dict[str, Any]:
    """Return a row of `range_row` with the times and silences of the other lines only."""
    found = {name: value for name, value in row.items() if name != "runs"}
    left = [run for run in runs if not any(place.low <= run.low and run.high <= place.high for place in wrong)]
    if len(left) < len(runs):
        found["first_ts"] = min((run.low for run in left), default=None)
        found["last_ts"] = max((run.high for run in left), default=None)
        found["gaps"] = gaps_between(left)
    return found


def _remove_times(files: Iterable[Path], path: str, lines: pa.Array) -> None:
    """Remove the times of some lines of a file of the evidence."""

    def changed(rows: pa.Table) -> pa.Table:
        here = pc.and_(pc.equal(rows["path"], path), pc.is_in(rows["stream_pos"], lines))
        return with_columns(rows, {"ts": pc.if_else(here, pa.scalar(None, rows["ts"].type), rows["ts"])})

    for file in files:
        if _rows([file], ["stream_pos"], path, pc.field("stream_pos").isin(lines)).num_rows:
            change(file, changed)
