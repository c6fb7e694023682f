"""Summarise the rows of streams while a task has them in memory, so that only streams with something wrong are read again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import blake2b
from itertools import chain, pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from forensics.records.timestamps import SECOND
from forensics.records.vectorized.buffers import Flags, Ints

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
_IDS = ("member_id", "group_instance_id", "broker_id")
#: Columns that are equal for lines with the same content.
CONTENT_COLUMNS = ("event", "message", *CLIENT)
#: Columns that are equal for lines that are one line, printed twice.
SAME_COLUMNS = (*CONTENT_COLUMNS, "level", "logger", *_IDS)
#: Categories of lines that each client of a process prints for itself.
_OF_CLIENTS = frozenset({"membership", "assignment", "coordinator", "offsets", "streams"})
_PLACED = ("process_id", "stream_pos", "ts")
_SUMMARISED = (*_PLACED, *NAMES)
_EVENT_COLUMNS = dict.fromkeys((*_SUMMARISED, *SAME_COLUMNS, "resolution_ms", "category", "config", "byte_offset"))
#: It is enough to know that a stream has more than one name.
_ENOUGH = 2
#: Minimum number of steps back in a stream that is out of order; maximum ratio of steps ahead to them, and minimum ratio to steps back by `SET`.
_MIN_BACK, _AHEAD, _NEAR = 10, 4, 20
#: Fewer different lines that appear twice say nothing about what writes the log.
_FEW = 3


#: Columns of an additional row of `range_row`, whose lines are counted in the row of their range.
NOTHING: Mapping[str, Any] = {
    "lines": 0, "records": 0, "events": 0, "counted": 0, "unrecognised": 0, "unfit": 0, "unfit_line": None, "unfit_text": None, "layouts": [], "error": "",
}  # fmt: skip


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
        events: number of rows of events.
        again: number of them that repeat a row just before them.
        different: number of different events that are repeated.
        ends: the first and the last event: time and content (empty if there is none), position in its file, and that of the record before it (-1 if
            it is the first).
        backwards: True if the log begins with its newest lines. Lines of the same time may then change places.
        steps: number of steps to an earlier time; and, if there are any, of steps to a later time within a second, and of steps back by `SET`.
    """

    process_id: str | None
    first: tuple[int, int] = (0, 0)
    last: tuple[int, int] = (0, 0)
    jumps: bool = False
    names: Sequence[Sequence[str | int]] = ()
    events: int = 0
    again: int = 0
    different: int = 0
    ends: Sequence[tuple[str, int, int]] = (("", 0, 0), ("", 0, 0))
    backwards: bool = False
    steps: tuple[int, int, int] = (0, 0, 0)


class StreamSummaries:
    """Summaries of the rows of one part of a file.

    Args:
        backwards: True if the file begins with its newest lines.

    Attributes:
        found: one summary for each stream and call of `see`.
    """

    def __init__(self, *, backwards: bool = False) -> None:
        self.found: list[StreamSummary] = []
        self._backwards = backwards
        #: Digest and position of the last event of each stream.
        self._last: dict[str, tuple[str, int]] = {}

    def see(self, events: pa.RecordBatch | None, counted: pa.RecordBatch | None, before: Sequence[tuple[Ints, Ints]]) -> Ints:
        """Add a summary of rows that follow those of earlier calls; return the events that repeat the record just before them in the file.

        Args:
            events: rows of events.
            counted: rows of records that are only counted.
            before: positions of records, and of the record before each, which may have no row.
        """
        of_events, of_counted = (_some_columns(rows, wanted) for rows, wanted in ((events, _EVENT_COLUMNS), (counted, _SUMMARISED)))
        parts = [rows.select([c for c in _SUMMARISED if c in rows.column_names]) for rows in (of_events, of_counted) if rows.num_rows]
        if not parts:
            return np.empty(0, np.int64)
        rows = pa.concat_tables(parts, promote_options="default")
        if rows["process_id"].null_count:
            self.found.append(StreamSummary(None))
        process = joined(rows["process_id"]).dictionary_encode()
        who, has_time = process.indices.fill_null(-1).to_numpy(), rows["ts"].is_valid().to_numpy()
        pos, ts = rows["stream_pos"].to_numpy(), rows["ts"].cast(pa.int64()).fill_null(0).to_numpy()
        named = [(who[at], codes, texts) for at, codes, texts in (_present(rows[name]) for name in NAMES if name in rows.column_names)]
        repeated = [np.empty(0, np.int64)]
        for number, name in enumerate(process.dictionary.to_pylist()):
            mine = np.flatnonzero((who == number) & has_time)
            if not len(mine):
                continue
            mine = mine[np.argsort(pos[mine], kind="stable")]
            places, times = pos[mine], ts[mine]
            names = tuple([texts[c] for c in np.unique(codes[of == number])[:_ENOUGH].tolist()] for of, codes, texts in named)
            first, last = ((int(places[i]), int(times[i])) for i in (0, -1))
            steps = np.diff(times)
            jumps = bool(is_jump(steps).any() or len(falls_back(times, JITTER)))
            found = StreamSummary(name, first, last, jumps, names, backwards=self._backwards, steps=_kinds_of(steps))
            its = mine[mine < of_events.num_rows]
            if len(its):
                found, surely = self._with_repeats(found, of_events, its, before)
                repeated.append(surely)
            self.found.append(found)
        return np.concatenate(repeated)

    def _with_repeats(self, summary: StreamSummary, events: pa.Table, which: Ints, before: Sequence[tuple[Ints, Ints]]) -> tuple[StreamSummary, Ints]:
        """Return a summary with what the given events of its stream repeat, and those that repeat the record just before them in the file."""
        name = str(summary.process_id)
        is_whole = len(which) == events.num_rows and bool((np.diff(which) == 1).all())
        lines = events if is_whole else events.take(pa.array(which))
        first, again = doubles_of(lines, lambda some: [str(config) for config in lines["config"].take(pa.array(some)).to_pylist()])
        places = lines["byte_offset"].to_numpy()
        content, at = self._last.get(name, ("", 0))
        if content == _digest(lines, 0):  # the event before it was seen in the previous call
            first, again = np.append(-1, first), np.append(0, again)
        if len(again):
            one, other = np.where(first < 0, at, places[first]), places[again]
            is_next = (again == first + 1) & ((one == other) | (_before(before, np.maximum(one, other)) == np.minimum(one, other)))
            surely = again[is_next]
            surely = surely[has_one_source(lines.take(pa.array(surely)))]
        else:
            surely = again
        left = np.setdiff1d(np.arange(len(which)), surely)
        if len(left):
            of_ends = left[[0, -1]]
            positions = (places[of_ends].tolist(), _before(before, places[of_ends]).tolist())
            summary = summary._replace(ends=tuple(zip((_digest(lines, i) for i in of_ends.tolist()), *positions, strict=True)))
        self._last[name] = _digest(lines, len(which) - 1), int(places[-1])
        different = len(np.setdiff1d(first, again))
        return summary._replace(events=len(which), again=len(again), different=different), which[surely]


def _kinds_of(steps: Ints) -> tuple[int, int, int]:
    """Count the steps between times by their kind, as `StreamSummary.steps` describes."""
    back = int(np.count_nonzero(steps < 0))
    return (back, int(np.count_nonzero((steps > 0) & (steps < SECOND))), int(np.count_nonzero(steps <= -SET))) if back else (0, 0, 0)


def _before(known: Sequence[tuple[Ints, Ints]], places: Ints) -> Ints:
    """Return the positions of the records before those at the given positions."""
    records, before = (np.concatenate(columns) for columns in zip(*known, strict=True))
    order = np.argsort(records)
    found: Ints = before[order[np.searchsorted(records, places, sorter=order)]]
    return found


def _some_columns(batch: pa.RecordBatch | None, wanted: Iterable[str]) -> pa.Table:
    """Return a table of some columns of a batch."""
    return pa.table({name: batch[name] for name in wanted if name in batch.schema.names}) if batch is not None else pa.table({})


def _digest(lines: pa.Table, which: int) -> str:
    """Return a text that is equal for lines with equal times and contents."""
    row = lines.slice(which, 1)
    values = [row["ts"].cast(pa.int64())[0].as_py(), *(row[name][0].as_py() for name in (*SAME_COLUMNS, "config"))]
    return blake2b(repr(values).encode("utf-8", "replace"), digest_size=12).hexdigest()


def has_one_source(lines: pa.Table) -> Flags:
    """Return for each line whether it identifies its client, or is of a category that no two clients of a process print for themselves."""
    of_clients = pc.is_in(joined(lines["category"].cast(pa.string())), pa.array(sorted(_OF_CLIENTS)))
    found: Flags = ~of_clients.to_numpy(zero_copy_only=False)
    for name in (*CLIENT, *_IDS):
        found |= lines[name].is_valid().to_numpy()
    return found


def doubles_of(lines: pa.Table, settings: Callable[[Ints], Sequence[str]]) -> tuple[Ints, Ints]:
    """Find lines that repeat a line just before them at the same time.

    Args:
        lines: lines of one stream, in their order.
        settings: returns the settings that the given lines begin. They are compared only for lines that are equal otherwise.

    Returns:
        The earlier line of each pair, and the line that repeats it.
    """
    times = lines["ts"].cast(pa.int64()).to_numpy()
    moments = np.append(0, np.cumsum(np.abs(np.diff(times)) >= JITTER))[: len(times)]
    # Few lines have the time and the message of another one: only these are compared further.
    some = _in_pairs([moments, times, codes_of(joined(lines["message"]))])
    if not len(some):
        return some, some
    rows = lines.take(pa.array(some))
    keys = [moments[some], times[some], *(codes_of(joined(rows[name])) for name in SAME_COLUMNS)]
    equal = _in_pairs(keys)
    dumped = equal[(np.array(rows["event"].take(pa.array(equal)).to_pylist(), object) == "config_dumped")]
    if len(dumped):
        numbers: dict[str, int] = {}
        keys.append(np.zeros(len(some), np.int64))
        keys[-1][dumped] = [numbers.setdefault(text, len(numbers)) for text in settings(some[dumped])]
    first, again = _pairs(keys)
    # Between two lines whose times are finer than seconds, other lines of the same moment may appear.
    exact = (rows["resolution_ms"].fill_null(1).to_numpy() < SECOND // 1000) & bool((times % SECOND).any())
    sure = exact[again] | (some[again] == some[first] + 1)
    first, again = some[first[sure]], some[again[sure]]
    by_place = np.argsort(again)
    return first[by_place], again[by_place]


def _pairs(keys: Sequence[Ints]) -> tuple[Ints, Ints]:
    """Return each row with equal keys as an earlier row: the last such earlier row, and the row itself."""
    order = np.lexsort(keys[::-1])
    equal = np.logical_and.reduce([key[order[1:]] == key[order[:-1]] for key in keys])
    return order[:-1][equal], order[1:][equal]


def _in_pairs(keys: Sequence[Ints]) -> Ints:
    """Return the rows whose keys are equal to those of another row."""
    found: Ints = np.unique(np.concatenate(_pairs(keys)))
    return found


def joined(column: pa.ChunkedArray) -> pa.Array:
    """Return a column as one array."""
    return column.combine_chunks() if column.num_chunks else pa.array([], column.type)


def codes_of(column: pa.Array) -> Ints:
    """Return a number for each value of a column, equal for equal values; -1 for NULL."""
    codes = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    found: Ints = codes.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    return found


def doubled_share(events: int, again: int, different: int) -> float:
    """Return which share of different events appears twice; 0 if these are so few that they say nothing about what writes the log.

    Args:
        events: number of events.
        again: number of events that repeat one before them.
        different: number of different events that are repeated.
    """
    return different / max(events - again, 1) if different >= _FEW else 0.0


def streams_with_doubles(summaries: Iterable[StreamSummary], many: float) -> tuple[set[str], dict[str, tuple[list[int], bool]]]:
    """Return the streams in which events are repeated; and those of them in which not only the events that `see` returned may be left out, with the
    positions of events that repeat the last record of another summary, and whether the log begins with its newest lines.

    Args:
        summaries: summaries of all rows.
        many: share of a stream's events from which on it may have other repetitions.
    """
    by_name: dict[str, list[StreamSummary]] = defaultdict(list)
    for summary in summaries:
        if summary.events:
            by_name[str(summary.process_id)].append(summary)
    repeated: set[str] = set()
    unsure: dict[str, tuple[list[int], bool]] = {}
    for name, mine in by_name.items():
        mine.sort(key=lambda summary: summary.first)
        cuts = [b.first[0] for a, b in pairwise(mine) if _continues(a.ends[1], b.ends[0])]
        events, again, different = (sum(counts) for counts in zip(*((s.events, s.again, s.different) for s in mine), strict=True))
        if again or cuts:
            repeated.add(name)
            if cuts or mine[0].backwards or doubled_share(events, again, different) >= many:
                unsure[name] = cuts, mine[0].backwards
    return repeated, unsure


def _continues(last: tuple[str, int, int], first: tuple[str, int, int]) -> bool:
    """Return True if the first event of one summary repeats the last one of another, and no record is between them."""
    (content, one, before_one), (same, other, before_other) = last, first
    return content == same != "" and (before_other in (one, -1) or before_one == other)


def _present(column: pa.ChunkedArray) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], list[Any]]:
    """Return rows that have a value, the number of each one's value, and the values."""
    whole = column.combine_chunks()
    at = np.flatnonzero(whole.is_valid().to_numpy(zero_copy_only=False)) if whole.null_count < len(whole) else np.empty(0, np.int64)
    values = whole.drop_null().dictionary_encode()
    return at, values.indices.to_numpy(), values.dictionary.to_pylist()


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
