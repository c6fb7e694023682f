"""Summarise the times and names of streams while a task has their rows in memory, so that only streams with jumps are read again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from forensics.records.timestamps import SECOND
from forensics.records.vectorized.buffers import Ints

#: Names that a process prints when it starts.
NAMES = ("broker_id", "worker_url")
#: Threads print out of order by less than this, microseconds.
SET = 2 * SECOND
#: Threads seldom print out of order by this much, microseconds.
JITTER = SECOND // 20
HOUR = 3600 * SECOND
#: A jump that differs from a multiple of a quarter of an hour by at most this was not a pause: the stream continued.
EXACT = 60 * SECOND
_PLACED = ("process_id", "stream_pos", "ts")
#: It is enough to know that a stream has more than one name.
_ENOUGH = 2


class StreamSummary(NamedTuple):
    """A summary of consecutive rows of one stream.

    Attributes:
        process_id: the stream; None for rows without a process, which have no other attributes.
        first, last: position and time of the first and the last row that has a time, microseconds UTC.
        jumps: True if a step between two times may be more than a pause.
        names: names of the process, in the order of `NAMES` (empty if there is none): no name, one name, or two of several.
        doubled: True if two rows near each other have the same time and message.
        ends: messages of the first and the last row; empty if it has none.
    """

    process_id: str | None
    first: tuple[int, int] = (0, 0)
    last: tuple[int, int] = (0, 0)
    jumps: bool = False
    names: Sequence[Sequence[str | int]] = ()
    doubled: bool = False
    ends: tuple[str, str] = ("", "")


def summaries_of(tables: Iterable[pa.RecordBatch]) -> Iterator[StreamSummary]:
    """Yield summaries of the events and counted records in one part of a file, given in any order."""
    parts = [pa.table({name: table[name] for name in (*_PLACED, *NAMES, "message") if name in table.schema.names}) for table in tables]
    if not parts:
        return
    rows = pa.concat_tables(parts, promote_options="default")
    if rows["process_id"].null_count:
        yield StreamSummary(None)
        rows = rows.filter(pc.is_valid(rows["process_id"]))
    if rows["ts"].null_count:
        rows = rows.filter(pc.is_valid(rows["ts"]))
    if not rows.num_rows:
        return
    process = rows["process_id"].combine_chunks().dictionary_encode()
    who = process.indices.to_numpy()
    pos, ts = (rows[name].cast(pa.int64()).to_numpy() for name in ("stream_pos", "ts"))
    named = [(who[at], codes, texts) for at, codes, texts in (_present(rows[name]) for name in NAMES if name in rows.column_names)]
    # Each message is compared with those near it in the order of its stream; their numbers suffice for that.
    messages = rows["message"].combine_chunks().dictionary_encode() if "message" in rows.column_names else None
    contents = messages.indices.fill_null(-1).to_numpy().astype(np.int64) if messages is not None else np.full(len(who), -1, np.int64)
    for number, name in enumerate(process.dictionary.to_pylist()):
        mine = np.flatnonzero(who == number) if len(process.dictionary) > 1 else np.arange(len(who))
        mine = mine[np.argsort(pos[mine], kind="stable")]
        places, times = pos[mine], ts[mine]
        names = tuple([texts[c] for c in np.unique(codes[of == number])[:_ENOUGH].tolist()] for of, codes, texts in named)
        first, last = ((int(places[i]), int(times[i])) for i in (0, -1))
        jumps = bool(is_jump(np.diff(times)).any() or len(falls_back(times, JITTER)))
        its = contents[mine]
        known = its >= 0
        doubled = bool(len(repeated_pairs(times[known], np.ones(np.count_nonzero(known), np.bool_), [its[known]])[1]))
        begin, end = (messages.dictionary[int(c)].as_py() if messages is not None and c >= 0 else "" for c in its[[0, -1]])
        yield StreamSummary(name, first, last, jumps, names, doubled, (begin, end))


def repeated_pairs(times: Ints, exact: npt.NDArray[np.bool_], contents: Sequence[Ints]) -> tuple[Ints, Ints]:
    """Find lines that repeat a line just before them at the same time.

    Args:
        times: times of lines of one stream, in their order.
        exact: True if a line's time is finer than seconds. Other lines of the same moment may appear between two such lines, but not between others.
        contents: columns of numbers, equal for lines with equal contents.

    Returns:
        The earlier line of each pair, and the line that repeats it.
    """
    moment = np.append(0, np.cumsum(np.abs(np.diff(times)) >= JITTER))[: len(times)]
    keys = (moment, times, *contents)
    order = np.lexsort(keys)
    equal = np.logical_and.reduce([key[order[1:]] == key[order[:-1]] for key in keys])
    first, again = order[:-1][equal], order[1:][equal]
    sure = exact[again] | (again == first + 1)
    first, again = first[sure], again[sure]
    by_place = np.argsort(again)
    return first[by_place], again[by_place]


def streams_with_doubles(summaries: Iterable[StreamSummary]) -> list[str]:
    """Return streams in which two rows near each other have the same time and message."""
    found: set[str] = set()
    last: dict[str, StreamSummary] = {}
    for summary in sorted((s for s in summaries if s.process_id is not None), key=lambda s: s.first):
        name = str(summary.process_id)
        before = last.get(name)
        if summary.doubled or before and before.last[1] == summary.first[1] and before.ends[1] == summary.ends[0] != "":
            found.add(name)
        last[name] = summary
    return sorted(found)


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
