"""Lines of one moment in a log that has its newest lines first: a store that sorts by time may leave them in the order in which they were printed.

Such a log is read from its end, which turns them round. What follows what within a moment is told by the lines of different moments.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from forensics.extract.parquet_parts import rewrite, with_columns
from forensics.extract.stream_lines import codes_of, in_order, joined, rows_of
from forensics.records.vectorized.buffers import Flags, Ints

#: So many pairs of lines must say that they are turned round, and so many times as many as say that they are not.
_LEAST, _TIMES_AS_MANY = 5, 2


def set_right(events: Sequence[Path], others: Sequence[Path], paths: Iterable[str]) -> None:
    """Gives lines of one moment the order in which they were printed, where a log has them in that order and its moments in the other.

    Args:
        events: files with rows of events; those with such lines are written anew.
        others: files with rows of other records, likewise.
        paths: logs with their newest lines first.
    """
    for path in paths:
        mine = pc.field("path") == path
        lines = in_order(rows_of([*events, *others], ["stream_pos", "ts", "event"], mine))
        if lines.num_rows == 0:
            continue
        pos, ts = lines["stream_pos"].to_numpy(), lines["ts"].cast(pa.int64()).to_numpy()
        if are_turned_round(ts, codes_of(joined(lines["event"]))):
            now = pos[_turned(ts)]
            for file in (*events, *others):
                _write(file, path, pos, now)


def are_turned_round(ts: Ints, said: Ints) -> bool:
    """Whether lines of one moment follow each other as those of different moments do not.

    Args:
        ts: times of lines that are in order but for those of one moment.
        said: what each of them says, as a number; -1 where that is not known.
    """
    first, second, later = said[:-1], said[1:], np.diff(ts)
    known = (first >= 0) & (second >= 0) & (first != second)
    most = int(said.max(initial=-1)) + 1
    follows, before = first * most + second, second * most + first
    seen = np.bincount(follows[known & (later > 0)], minlength=most * most)
    tied: Flags = known & (later == 0)
    usual, unusual = seen[follows[tied]], seen[before[tied]]
    against, for_it = int((usual < unusual).sum()), int((usual > unusual).sum())
    return against >= _LEAST and against > _TIMES_AS_MANY * for_it


def _turned(ts: Ints) -> Ints:
    """Of each line the place of the one that changes places with it, among lines in order."""
    begins = np.flatnonzero(np.append(True, np.diff(ts) != 0))
    sizes = np.diff(np.append(begins, len(ts)))
    begin = np.repeat(begins, sizes)
    turned: Ints = 2 * begin + np.repeat(sizes, sizes) - 1 - np.arange(len(ts))
    return turned


def _write(file: Path, path: str, pos: Ints, turned: Ints) -> None:
    """Gives a file's lines of a log, which are at `pos`, the places `turned`."""
    table = pq.read_table(file)
    was = table["stream_pos"].to_numpy()
    here = np.flatnonzero(pc.and_(pc.equal(table["path"], path), pc.is_valid(table["ts"])).to_numpy())
    if len(here):
        now = was.copy()
        now[here] = turned[np.searchsorted(pos, was[here])]
        rewrite(file, with_columns(table, {"stream_pos": pa.chunked_array([pa.array(now)])}))
