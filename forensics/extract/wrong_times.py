"""Correct lines with an impossible time: a broken digit, or a clock that was wrong for a moment. They get the time of the line before.

They may have been printed at any time from the line before to the line after, so their time is only as exact as that interval. If it is long, or if a
log begins or ends with such lines, they lose their times: no time of a process is assumed to be more exact than its least exact one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from forensics.extract.parquet_parts import change, with_columns
from forensics.extract.splits import byte_of
from forensics.extract.stream_summaries import HOUR, NOTHING, SET, Run, gaps_between, merged
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
#: A time that is less exact than this is removed.
_EXACT = SECOND
_NEAR_BYTES = 1 << 20
_WRONG = "wrong_time"


class _Place(NamedTuple):
    """Lines of a file with an impossible time: the lowest and highest of their times, their number, and the times between which they were printed.

    The first lines of a log only have the latter of these two times, its last lines only the former.
    """

    low: int
    high: int
    records: int
    since: int | None
    until: int | None

    @property
    def beside(self) -> int:
        """Return the time of the line before it or, if a log begins with it, of the line after it."""
        return cast(int, self.until if self.since is None else self.since)


def mend(
    events: Sequence[Path], others: Sequence[Path], ranges: Iterable[Mapping[str, Any]], ordinals: Mapping[str, int]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Give lines with a wrong time that of the line before, or none if no line precedes or follows them.

    Args:
        events: files with rows of events; files with such a line are rewritten.
        others: files with rows of other records, likewise.
        ranges: rows of `range_row`, each with the `runs` of its records, which are removed.
        ordinals: for each path, its position among the files of its process.

    Returns:
        The rows of `range_row`, with the times and silences of the other lines; and one more row for each place where lines got another time.
    """
    found: list[dict[str, Any]] = []
    placed: list[dict[str, Any]] = []
    by_path: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for row in ranges:
        by_path[row["path"]].append(row)
    runs_of: dict[str, list[list[Run]]] = {}
    for path, rows in by_path.items():
        rows.sort(key=lambda r: r["range_start"])
        runs_of[path] = [[Run(*run) for run in row["runs"]] for row in rows]
    log = _Log(
        {path: merged(chain.from_iterable(runs)) for path, runs in runs_of.items()}, {path: _stream(rows, ordinals) for path, rows in by_path.items()}
    )
    for path, rows in by_path.items():
        runs, wrong = runs_of[path], []
        for place in log.places(path):
            lines = _lines((*events, *others), path, place)
            # If more lines have these times, it is unknown which of them are meant.
            if lines.num_rows <= place.records:
                wrong.append((place, lines["stream_pos"]))
                placed += [_range_row(events, rows, path, place, lines)] if lines.num_rows else []
        found += [_without(row, mine, [place for place, _ in wrong]) for row, mine in zip(rows, runs, strict=True)]
        for files, is_event in ((events, True), (others, False)):
            for file in files if wrong else ():
                _set_times(file, path, wrong, is_event=is_event)
    return found, placed


def _stream(ranges: Sequence[Mapping[str, Any]], ordinals: Mapping[str, int]) -> tuple[str, int]:
    """Return the process of a file, and the file's position among those of the process."""
    return ranges[0]["process_id"] or "", ordinals.get(ranges[0]["path"], 0)


class _Log:
    """The runs of all files, and the order of the files of each process.

    Args:
        runs: runs of each path.
        streams: for each path, its process and its position among the files of the process.
    """

    def __init__(self, runs: Mapping[str, Sequence[Run]], streams: Mapping[str, tuple[str, int]]) -> None:
        self._runs = runs
        paths = sorted((path for path in runs if runs[path]), key=lambda path: (streams[path], path))
        self._behind = {a: b for a, b in pairwise(paths) if streams[a][0] == streams[b][0] != ""}
        self._before = {b: a for a, b in self._behind.items()}

    def places(self, path: str) -> list[_Place]:
        """Return where a file has wrong times, including the adjacent ends of the files before and after it; empty if there are many."""
        before, behind = self._before.get(path), self._behind.get(path)
        runs = merged(chain.from_iterable(self._runs[name] for name in (before, path, behind) if name))
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
        for n in silent:
            ahead[n] = back[n] = False
        silent = [n for n in silent if self._is_alone(path, runs, n)]
        wanted = sorted({*np.flatnonzero(ahead | back).tolist(), *silent})
        if not 0 < len(wanted) <= _MAX_PLACES:
            return []
        earliest = int(np.delete(low, wanted).min(initial=np.iinfo(np.int64).max))
        certain = [n for n in wanted if n in silent or ahead[n] or high[n] <= earliest - _BEHIND]
        found = []
        for n in certain:
            earlier, later = ([runs[m] for m in side if m not in wanted] for side in (range(n), range(n + 1, len(runs))))
            if (n == 0 or _agree(earlier)) and (n == len(runs) - 1 or _goes_on(later, int(low[n]) - SET if ahead[n] else None)):
                found.append(_place(runs[n], earlier, later))
        return found

    def _is_alone(self, path: str, runs: Sequence[Run], n: int) -> bool:
        """Return True if the first or last lines of a log are far from all others: its own, which are close together, and those of other logs."""
        beside = 1 if n == 0 else n - 1
        silence = runs[beside].low - runs[n].high if n == 0 else runs[n].low - runs[beside].high
        rest = runs[1:] if n == 0 else runs[:-1]
        longest = max((abs(b.first - a.last) for a, b in pairwise(rest)), default=0)
        if silence < max(_FAR, _LIKE_IT * longest):
            return False
        near = {path, self._before.get(path), self._behind.get(path)}
        others = chain.from_iterable(found for name, found in self._runs.items() if name not in near)
        return not any(run.low - _NEAR <= runs[n].high and runs[n].low <= run.high + _NEAR for run in others)


def _place(wrong: Run, earlier: Sequence[Run], later: Sequence[Run]) -> _Place:
    """Return the place of a run between the runs before and after it, without wrong ones."""
    since, until = earlier[-1].last if earlier else None, later[0].first if later else None
    if since is not None and until is not None:
        since, until = sorted((since, until))
    return _Place(wrong.low, wrong.high, wrong.records, since, until)


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
    """Return the row of `range_row` that describes lines that got another time."""
    first, last = (lines["stream_pos"][n].as_py() for n in (0, -1))
    begin = byte_of(first)
    row = next(row for row in reversed(ranges) if row["range_start"] <= begin)
    pos = pc.field("stream_pos")
    near = _rows(events, ["stream_pos", "event_id"], path, (pos > first - _NEAR_BYTES) & (pos < last + _NEAR_BYTES))
    at = near["stream_pos"].to_numpy()
    before, behind = np.searchsorted(at, first), np.searchsorted(at, last, side="right")
    times = {"first_ts": place.beside, "last_ts": place.beside, "gaps": []}
    how = {
        "shift_ms": (place.beside - place.low) // 1000,
        "shift_why": _WRONG,
        "shift_ids": near["event_id"][max(before - 1, 0) : behind + 1].to_pylist(),
    }
    return {**row, **NOTHING, "process_id": lines["process_id"][0].as_py(), "range_start": begin + 1, **times, **how}


def _without(row: Mapping[str, Any], runs: Sequence[Run], wrong: Sequence[_Place]) -> dict[str, Any]:
    """Return a row of `range_row` with the times and silences of the other lines only."""
    found = {name: value for name, value in row.items() if name != "runs"}
    left = [run for run in runs if not any(place.low <= run.low and run.high <= place.high for place in wrong)]
    if len(left) < len(runs):
        found["first_ts"] = min((run.low for run in left), default=None)
        found["last_ts"] = max((run.high for run in left), default=None)
        found["gaps"] = gaps_between(left)
    return found


def _set_times(file: Path, path: str, wrong: Sequence[tuple[_Place, pa.ChunkedArray]], *, is_event: bool) -> None:
    """Give the lines of a file their times, or none, and record in events how exact these are; other lines only show that the process was running."""
    if not any(_rows([file], ["stream_pos"], path, pc.field("stream_pos").isin(lines)).num_rows for _, lines in wrong):
        return

    def changed(rows: pa.Table) -> pa.Table:
        mine = pc.equal(rows["path"], path)
        for place, lines in wrong:
            here = pc.and_(mine, pc.is_in(rows["stream_pos"], lines))
            values: dict[str, int | None] = {"ts": None}
            if place.since is not None and place.until is not None and place.until - place.since <= _EXACT:
                values = {"ts": place.since}
                if is_event:
                    values["resolution_ms"] = 1 + (place.until - place.since) // 1000
            columns = {name: pc.if_else(here, pa.scalar(value, pa.int64()), rows[name].cast(pa.int64())) for name, value in values.items()}
            rows = with_columns(rows, columns)
        return rows

    change(file, changed)
