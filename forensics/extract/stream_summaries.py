"""Summarise the rows of streams while a task has them in memory, so that only streams with something wrong are read again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from forensics.records.timestamps import SECOND
from forensics.records.vectorized.buffers import Ints

#: Names that a process prints when it starts.
NAMES = ("broker_id", "worker_url")
#: Threads print out of order by less than this, microseconds.
SET = 2 * SECOND
#: Threads seldom print out of order by this much, microseconds.
JITTER = SECOND // 20
HOUR = 3600 * SECOND
#: Records with less time between them are one run, microseconds.
GAP_US = 30 * SECOND
#: A jump that differs from a multiple of a quarter of an hour by at most this was not a pause: the stream continued.
EXACT = 60 * SECOND
#: Each of these columns distinguishes one client of a process from another.
CLIENT = ("thread", "context", "client_id", "task")
#: Columns that are equal for lines with the same content.
CONTENT_COLUMNS = ("event", "message", *CLIENT)
_SUMMARISED = ("process_id", "path", "stream_pos", "ts", *NAMES)
#: It is enough to know that a stream has more than one name.
_ENOUGH = 2
#: Minimum number of steps back in a stream that is out of order; maximum ratio of steps ahead to them, and minimum ratio to steps back by `SET`.
_MIN_BACK, _AHEAD, _NEAR = 10, 4, 20


#: Counts of a further row of `range_row`, whose lines are counted in the row of their range.
_NOTHING: Mapping[str, Any] = {
    "lines": 0, "records": 0, "events": 0, "counted": 0, "unrecognised": 0, "unfit": 0, "unfit_line": None, "unfit_text": None, "lost": [], "layouts": [], "error": "",
}  # fmt: skip


def further_row(
    row: Mapping[str, Any],
    process_id: str,
    begin: int,
    times: tuple[int, int],
    why: str,
    ids: Sequence[str],
    shift_ms: int = 0,
    gaps: Sequence[Any] = (),
) -> dict[str, Any]:
    """Return a row of `range_row` for lines with a repair that begin at a byte of a file, with their first and last time; `row` is that of their range.

    `why` is empty for lines that only follow a repair.
    """
    how = {"shift_ms": shift_ms, "shift_why": why, "shift_ids": list(ids)} if why else {}
    of_times = {"range_start": begin + 1, "first_ts": times[0], "last_ts": times[1], "gaps": list(gaps)}
    return {**row, **_NOTHING, "process_id": process_id, **of_times, **how}


class Run(NamedTuple):
    """Consecutive records, each within 30 s of the one before: times of the first and the last, the lowest and the highest time."""

    first: int
    last: int
    low: int
    high: int
    records: int

    @classmethod
    def of(cls, times: Ints) -> list[Run]:
        """Return the runs of records with the given times."""
        begins = np.append(0, np.flatnonzero(np.abs(np.diff(times)) > GAP_US) + 1)
        ends = np.append(begins[1:], len(times))
        columns = times[begins], times[ends - 1], np.minimum.reduceat(times, begins), np.maximum.reduceat(times, begins), ends - begins
        return [cls(*run) for run in np.stack(columns, axis=1).tolist()]

    def follows(self, before: Run) -> bool:
        """Return True if this run continues the one before it."""
        return abs(self.first - before.last) <= GAP_US

    def joined(self, behind: Run) -> Run:
        """Return this run and the one after it as one."""
        return Run(self.first, behind.last, min(self.low, behind.low), max(self.high, behind.high), self.records + behind.records)


def gaps_between(runs: Sequence[Run]) -> list[dict[str, int]]:
    """Return the time from each run to the next one, which may be earlier."""
    return [{"from_ts": a.last, "to_ts": b.first} for a, b in pairwise(runs) if not b.follows(a)]


def merged(runs: Iterable[Run]) -> list[Run]:
    """Merge runs that continue each other; chunks and ranges cut the runs of a file."""
    whole: list[Run] = []
    for run in runs:
        if whole and run.follows(whole[-1]):
            whole[-1] = whole[-1].joined(run)
        else:
            whole.append(run)
    return whole


class StreamSummary(NamedTuple):
    """A summary of consecutive rows of one stream.

    Attributes:
        process_id: the stream; None for rows without a process, which have no other attributes.
        first, last: position and time of the first and the last row that has a time, microseconds UTC.
        jumps: True if a step between two times may be more than a pause.
        names: names of the process, in the order of `NAMES` (empty if there is none): no name, one name, or two of several.
        steps: number of steps to an earlier time; and, if there are any, of steps to a later time within a second, and of steps back by `SET`.
    """

    process_id: str | None
    first: tuple[int, int] = (0, 0)
    last: tuple[int, int] = (0, 0)
    jumps: bool = False
    names: Sequence[Sequence[str | int]] = ()
    steps: tuple[int, int, int] = (0, 0, 0)


def summaries_of(events: pa.RecordBatch | None, counted: pa.RecordBatch | None) -> Iterator[tuple[str, StreamSummary]]:
    """Yield file and summary of each file's streams in the rows of events and of records that are only counted."""
    parts = [
        pa.table({c: rows[c] for c in _SUMMARISED if c in rows.schema.names}) for rows in (events, counted) if rows is not None and rows.num_rows
    ]
    if not parts:
        return
    rows = pa.concat_tables(parts, promote_options="default")
    process, path = (joined(rows[name]).dictionary_encode() for name in ("process_id", "path"))
    files, processes = path.dictionary.to_pylist(), [*process.dictionary.to_pylist(), None]
    keys = path.indices.to_numpy().astype(np.int64) * len(processes) + process.indices.fill_null(len(processes) - 1).to_numpy()
    has_time = rows["ts"].is_valid().to_numpy()
    pos, ts = rows["stream_pos"].to_numpy(), rows["ts"].cast(pa.int64()).fill_null(0).to_numpy()
    order = np.lexsort((pos, keys))
    names = [_present(rows[name], order) for name in NAMES if name in rows.column_names]
    begins = np.flatnonzero(np.append(True, np.diff(keys[order]) != 0))
    for begin, end in zip(begins.tolist(), [*begins[1:].tolist(), len(order)], strict=True):
        file, number = divmod(int(keys[order[begin]]), len(processes))
        mine = order[begin:end]
        mine = mine[has_time[mine]]
        if processes[number] is None:
            yield files[file], StreamSummary(None)
        elif len(mine):
            places, times = pos[mine], ts[mine]
            first, last = ((int(places[i]), int(times[i])) for i in (0, -1))
            steps = np.diff(times)
            jumps = bool(is_jump(steps).any() or len(falls_back(times, JITTER)))
            known = tuple(
                [texts[c] for c in np.unique(codes[slice(*np.searchsorted(at, (begin, end)))])[:_ENOUGH].tolist()] for at, codes, texts in names
            )
            yield files[file], StreamSummary(processes[number], first, last, jumps, known, _kinds_of(steps))


def _kinds_of(steps: Ints) -> tuple[int, int, int]:
    """Count the steps between times by their kind, as `StreamSummary.steps` describes."""
    back = int(np.count_nonzero(steps < 0))
    return (back, int(np.count_nonzero((steps > 0) & (steps < SECOND))), int(np.count_nonzero(steps <= -SET))) if back else (0, 0, 0)


def joined(column: pa.ChunkedArray) -> pa.Array:
    """Return a column as one array."""
    return column.combine_chunks() if column.num_chunks else pa.array([], column.type)


def codes_of(column: pa.Array) -> Ints:
    """Return a number for each value of a column, equal for equal values; -1 for NULL."""
    codes = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    found: Ints = codes.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    return found


def _present(column: pa.ChunkedArray, order: Ints) -> tuple[Ints, Ints, list[Any]]:
    """Return the places of rows that have a value in an order of rows, the number of each one's value, and the values."""
    codes = joined(column).dictionary_encode()
    found = codes_of(codes)[order]
    at = np.flatnonzero(found >= 0)
    return at, found[at], codes.dictionary.to_pylist()


def is_jump(steps: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Return for each step between two times, in microseconds, whether it may be more than a pause."""
    found: npt.NDArray[np.bool_] = (steps <= -SET) | ((steps >= HOUR) & (steps <= HOUR + EXACT))
    return found


def falls_back(times: npt.NDArray[np.int64], by: int) -> npt.NDArray[np.int64]:
    """Return where time goes back by at least `by` for more than one line; a single late line comes from a thread that was held up."""
    fallen = np.minimum(times[:-3], times[1:-2]) - np.maximum(times[2:-1], times[3:])
    return np.flatnonzero(fallen >= by) + 2


def streams_out_of_order(summaries: Iterable[StreamSummary]) -> list[str]:
    """Return the streams that are in the order of their times only roughly, such as an export that is sorted by second.

    Threads that print alternately put fewer than one line in a hundred before its time.
    """
    by_process: dict[str, list[tuple[int, int, int]]] = defaultdict(list)
    for summary in summaries:
        if summary.steps[0]:
            by_process[str(summary.process_id)].append(summary.steps)
    totals = {name: [sum(kind) for kind in zip(*steps, strict=True)] for name, steps in by_process.items()}
    return sorted(name for name, (back, ahead, far) in totals.items() if back >= _MIN_BACK and _AHEAD * back > ahead and _NEAR * far < back)


def streams_to_read(summaries: Iterable[StreamSummary]) -> tuple[list[str], bool]:
    """Return streams in which time jumps or a name changes, and whether all rows belong to one stream."""
    by_process: dict[str | None, list[StreamSummary]] = defaultdict(list)
    for summary in summaries:
        by_process[summary.process_id].append(summary)
    wanted = []
    for process, mine in by_process.items():
        if process is None:
            continue
        mine.sort(key=lambda summary: summary.first)
        between = np.array([b.first[1] - a.last[1] for a, b in zip(mine, mine[1:], strict=False)], np.int64)
        names = [set(chain.from_iterable(found)) for found in zip(*(summary.names for summary in mine if summary.names), strict=True)]
        if any(len(found) > 1 for found in names) or any(summary.jumps for summary in mine) or is_jump(between).any():
            wanted.append(process)
    return sorted(wanted), len(by_process) == 1 and None not in by_process
