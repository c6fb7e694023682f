"""What a task sees of the times and names of streams while it has their rows, so that only streams in which something jumps are read again."""

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

#: What a process is called, which it prints when it starts.
NAMES = ("broker_id", "worker_url")
#: Threads print out of order by less than this.
SET = 2 * SECOND
#: They seldom do by so much.
JITTER = SECOND // 20
HOUR = 3600 * SECOND
#: A jump of so many quarters of an hour and at most this was no pause: the stream just went on.
EXACT = 60 * SECOND
_PLACED = ("process_id", "stream_pos", "ts")
#: More names than one are all that is asked for.
_ENOUGH = 2


class Sign(NamedTuple):
    """Rows of one stream that stand together.

    Attributes:
        process_id: the stream; None for what has no process, of which nothing else is said.
        first, last: position and time of the first and the last row that has a time, microseconds UTC.
        jumps: whether there is a step between two times that may be more than a pause.
        names: what the process is called there, by the places of `NAMES` (empty where nothing is said): none, one, or two of several.
        doubled: whether two of them that stand near each other have one time and one message.
        ends: messages of the first and the last row; empty where it has none.
    """

    process_id: str | None
    first: tuple[int, int] = (0, 0)
    last: tuple[int, int] = (0, 0)
    jumps: bool = False
    names: Sequence[Sequence[str | int]] = ()
    doubled: bool = False
    ends: tuple[str, str] = ("", "")


def signs_of(tables: Iterable[pa.RecordBatch]) -> Iterator[Sign]:
    """What rows of events and counted records say that stand in one part of a file, in whatever order."""
    parts = [pa.table({name: table[name] for name in (*_PLACED, *NAMES, "message") if name in table.schema.names}) for table in tables]
    if not parts:
        return
    rows = pa.concat_tables(parts, promote_options="default")
    if rows["process_id"].null_count:
        yield Sign(None)
        rows = rows.filter(pc.is_valid(rows["process_id"]))
    if rows["ts"].null_count:
        rows = rows.filter(pc.is_valid(rows["ts"]))
    if not rows.num_rows:
        return
    process = rows["process_id"].combine_chunks().dictionary_encode()
    who = process.indices.to_numpy()
    pos, ts = (rows[name].cast(pa.int64()).to_numpy() for name in ("stream_pos", "ts"))
    named = [(who[at], codes, texts) for at, codes, texts in (_told(rows[name]) for name in NAMES if name in rows.column_names)]
    # Of messages each is compared with those near it, in the order of its stream: their numbers are enough for that.
    messages = rows["message"].combine_chunks().dictionary_encode() if "message" in rows.column_names else None
    said = messages.indices.fill_null(-1).to_numpy().astype(np.int64) if messages is not None else np.full(len(who), -1, np.int64)
    for number, name in enumerate(process.dictionary.to_pylist()):
        mine = np.flatnonzero(who == number) if len(process.dictionary) > 1 else np.arange(len(who))
        mine = mine[np.argsort(pos[mine], kind="stable")]
        places, times = pos[mine], ts[mine]
        names = tuple([texts[c] for c in np.unique(codes[of == number])[:_ENOUGH].tolist()] for of, codes, texts in named)
        first, last = ((int(places[i]), int(times[i])) for i in (0, -1))
        jumps = bool(is_jump(np.diff(times)).any() or len(falls_back(times, JITTER)))
        its = said[mine]
        told = its >= 0
        doubled = bool(len(said_again(times[told], np.ones(np.count_nonzero(told), np.bool_), [its[told]])[1]))
        begin, end = (messages.dictionary[int(c)].as_py() if messages is not None and c >= 0 else "" for c in its[[0, -1]])
        yield Sign(name, first, last, jumps, names, doubled, (begin, end))


def said_again(times: Ints, exact: npt.NDArray[np.bool_], said: Sequence[Ints]) -> tuple[Ints, Ints]:
    """Lines that a line just before them says too, at the same time.

    Args:
        times: of lines of one stream, in their order.
        exact: which of them have times finer than seconds: between two such lines others of the same moment may stand, else none.
        said: numbers for what they say, which are alike where lines are.

    Returns:
        The line that says it just before, and the one that says it again.
    """
    moment = np.append(0, np.cumsum(np.abs(np.diff(times)) >= JITTER))[: len(times)]
    keys = (moment, times, *said)
    order = np.lexsort(keys)
    alike = np.logical_and.reduce([key[order[1:]] == key[order[:-1]] for key in keys])
    first, again = order[:-1][alike], order[1:][alike]
    sure = exact[again] | (again == first + 1)
    first, again = first[sure], again[sure]
    by_place = np.argsort(again)
    return first[by_place], again[by_place]


def streams_with_doubles(signs: Iterable[Sign]) -> list[str]:
    """Streams in which two rows near each other have one time and one message."""
    found: set[str] = set()
    last: dict[str, Sign] = {}
    for sign in sorted((s for s in signs if s.process_id is not None), key=lambda s: s.first):
        name = str(sign.process_id)
        before = last.get(name)
        if sign.doubled or before and before.last[1] == sign.first[1] and before.ends[1] == sign.ends[0] != "":
            found.add(name)
        last[name] = sign
    return sorted(found)


def _told(column: pa.ChunkedArray) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], list[Any]]:
    """Rows that have a value, the number of each one's value, and the values."""
    whole = column.combine_chunks()
    at = np.flatnonzero(whole.is_valid().to_numpy(zero_copy_only=False)) if whole.null_count < len(whole) else np.empty(0, np.int64)
    values = whole.drop_null().dictionary_encode()
    return at, values.indices.to_numpy(), values.dictionary.to_pylist()


def is_jump(steps: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Which steps between two times, in microseconds, may be more than a pause."""
    found: npt.NDArray[np.bool_] = (steps <= -SET) | ((steps >= HOUR) & (steps <= HOUR + EXACT))
    return found


def falls_back(times: npt.NDArray[np.int64], by: int) -> npt.NDArray[np.int64]:
    """Where time goes back by so much at least, and not for one line alone, as that of a thread that was held up."""
    fallen = np.minimum(times[:-3], times[1:-2]) - np.maximum(times[2:-1], times[3:])
    return np.flatnonzero(fallen >= by) + 2


def streams_to_read(signs: Iterable[Sign]) -> tuple[list[str], bool]:
    """Streams in which time jumps or a name changes; and whether all rows are of one stream."""
    by_process: dict[str | None, list[Sign]] = defaultdict(list)
    for sign in signs:
        by_process[sign.process_id].append(sign)
    wanted = []
    for process, mine in by_process.items():
        if process is None:
            continue
        mine.sort(key=lambda sign: sign.first)
        between = np.array([b.first[1] - a.last[1] for a, b in zip(mine, mine[1:], strict=False)], np.int64)
        names = [set(chain.from_iterable(said)) for said in zip(*(sign.names for sign in mine if sign.names), strict=True)]
        if any(len(said) > 1 for said in names) or any(sign.jumps for sign in mine) or is_jump(between).any():
            wanted.append(process)
    return sorted(wanted), len(by_process) == 1 and None not in by_process
