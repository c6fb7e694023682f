"""Order lines of the same time in a log that begins with its newest lines. A store that sorts by time may leave them in the order of printing.

Such a log is read from its end, which reverses them. The lines of different times show which line follows which.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from forensics.extract.parquet_parts import rewrite, with_columns
from forensics.extract.stream_lines import in_order, rows_of
from forensics.extract.stream_summaries import codes_of, joined
from forensics.records.vectorized.buffers import Flags, Ints

#: Minimum number of pairs of lines that must show the reverse order, and their minimum ratio to the pairs that show the opposite.
_MIN_PAIRS, _TIMES_AS_MANY = 5, 2


def restore(events: Sequence[Path], others: Sequence[Path], paths: Iterable[str]) -> None:
    """Give lines of the same time the order in which they were printed, if a log has them in that order and its times in reverse.

    Args:
        events: files with rows of events; files with such lines are rewritten.
        others: files with rows of other records, likewise.
        paths: logs that begin with their newest lines.
    """
    for path in paths:
        mine = pc.field("path") == path
        lines = in_order(rows_of([*events, *others], ["stream_pos", "ts", "event"], mine))
        if lines.num_rows == 0:
            continue
        pos, ts = lines["stream_pos"].to_numpy(), lines["ts"].cast(pa.int64()).to_numpy()
        if is_reversed(ts, codes_of(joined(lines["event"]))):
            now = pos[_swapped(ts)]
            for file in (*events, *others):
                _write(file, path, pos, now)


def is_reversed(ts: Ints, contents: Ints) -> bool:
    """Return True if lines of the same time follow each other in the reverse order of lines of different times.

    Args:
        ts: times of lines that are in order, except within the same time.
        contents: number of each line's content; -1 if unknown.
    """
    first, second, later = contents[:-1], contents[1:], np.diff(ts)
    known = (first >= 0) & (second >= 0) & (first != second)
    size = int(contents.max(initial=-1)) + 1
    follows, before = first * size + second, second * size + first
    seen = np.bincount(follows[known & (later > 0)], minlength=size * size)
    tied: Flags = known & (later == 0)
    usual, unusual = seen[follows[tied]], seen[before[tied]]
    against, for_it = int((usual < unusual).sum()), int((usual > unusual).sum())
    return against >= _MIN_PAIRS and against > _TIMES_AS_MANY * for_it


def _swapped(ts: Ints) -> Ints:
    """Return for each of some ordered lines the index of the line that it changes places with."""
    begins = np.flatnonzero(np.append(True, np.diff(ts) != 0))
    sizes = np.diff(np.append(begins, len(ts)))
    begin = np.repeat(begins, sizes)
    swapped: Ints = 2 * begin + np.repeat(sizes, sizes) - 1 - np.arange(len(ts))
    return swapped


def _write(file: Path, path: str, pos: Ints, swapped: Ints) -> None:
    """Give the lines of one log in a file, which are at the positions `pos`, the positions `swapped`."""
    table = pq.read_table(file)
    was = table["stream_pos"].to_numpy()
    here = np.flatnonzero(pc.and_(pc.equal(table["path"], path), pc.is_valid(table["ts"])).to_numpy())
    if len(here):
        now = was.copy()
        now[here] = swapped[np.searchsorted(pos, was[here])]
        rewrite(file, with_columns(table, {"stream_pos": pa.chunked_array([pa.array(now)])}))
