"""Find lines that a log contains twice. Only their first copy is read.

A part of a log may be joined twice, or two parts overlap. Or single lines appear twice at the same time, because of two appenders or a shipper that
retries; these are doubled lines. A few lines count as doubled only if no other record of the file is between them, whether that has a row or not.

Two clients of one process may legitimately print the same message at the same time. Lines of members therefore count as copies only if they identify
their client, or if the whole log is doubled. If few lines have copies, threads that do the same may have printed them.
Every log has a few of these, so the reading tasks write them to files of their own: to leave them out, such a file is deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from forensics.extract.parquet_parts import change
from forensics.extract.splits import byte_of
from forensics.extract.stream_lines import in_order, rows_of
from forensics.extract.stream_segments import MAX_PARTS
from forensics.extract.stream_summaries import (
    NOTHING,
    SAME_COLUMNS,
    SET,
    StreamSummary,
    codes_of,
    doubled_share,
    doubles_of,
    has_one_source,
    joined,
    streams_with_doubles,
)  # fmt: skip
from forensics.records.timestamps import SECOND
from forensics.records.vectorized.buffers import Flags, Ints

DOUBLED = "doubled"
_COLUMNS = ("process_id", "stream_pos", "byte_offset", "ts", "resolution_ms", "path", "event_id", "category", *SAME_COLUMNS)
#: Share of a log's different lines that appear twice in a doubled log. It is below 1 because other threads separate a few pairs.
_ALL = 0.9
#: From this share on, the doubling comes from what writes the log, not from its content.
_MANY = 0.05
#: Summaries count few pairs less or more than there are. From this share on, the rows themselves are counted.
_PERHAPS_MANY = 0.04
#: In a log with fewer lines, a few lines of two clients may be equal by chance.
_MIN_DOUBLED_IN = 50
#: Fewer equal lines may be a coincidence if new lines follow.
_MIN_LINES = 3
#: Two workers can print the same lines about one rebalance within one second.
_MIN_IN_SECONDS = 50
#: Two loops do not print the same message in this many equal milliseconds.
_MOMENTS = 10


def leave_out(
    files: Sequence[Path], repeated: Sequence[Path], summaries: Iterable[StreamSummary], ranges: Sequence[Mapping[str, Any]], corrected: Iterable[str]
) -> list[dict[str, Any]]:
    """Remove the rows of events that repeat a row just before them.

    Args:
        files: hold the rows; files with such a row are rewritten.
        repeated: hold the rows that seemed to repeat the row before them when they were read; files without other rows are deleted.
        summaries: summaries of all rows.
        ranges: rows of `range_row`.
        corrected: streams whose times have been corrected since they were summarised.

    Returns:
        A row of `range_row` for each file that has such lines, with their number in `repeats`. It says `doubled` if many lines appear twice.
    """
    names, unsure = streams_with_doubles(summaries, _PERHAPS_MANY)
    unsure |= {name: ([], False) for name in names.intersection(corrected) - unsure.keys()}
    found: list[dict[str, Any]] = []
    gone: list[str] = []
    for name, (cuts, backwards) in sorted(unsure.items()):
        lines = in_order(rows_of([*files, *repeated], _COLUMNS, pc.field("process_id") == name))
        seen = rows_of(repeated, ("event_id",), pc.field("process_id") == name)["event_id"]
        is_next = pc.or_(pc.is_in(lines["event_id"], seen), pc.is_in(lines["stream_pos"], pa.array(cuts, pa.int64()))).to_numpy()
        first, again, are_many = _doubles(lines, (is_next, backwards), [*files, *repeated], name)
        if len(again):
            gone += lines["event_id"].take(pa.array(again)).to_pylist()
            found += _range_rows(lines, first, again, ranges, why=DOUBLED if are_many else None)
    known = pc.field("process_id").isin(pa.array(sorted(names - unsure.keys()), pa.string()))
    lines = in_order(rows_of(repeated, ("process_id", "stream_pos", "ts", "path"), known))
    every = np.arange(lines.num_rows)
    found += _range_rows(lines, every, every, ranges, why=None)
    ids = pa.array(gone, pa.string())
    for file in repeated:
        rows = pq.read_table(file, columns=["process_id", "event_id"])
        stays = pc.and_(pc.is_in(rows["process_id"], pa.array(sorted(unsure), pa.string())), pc.invert(pc.is_in(rows["event_id"], ids)))
        if pc.any(stays).as_py():
            there = rows["event_id"].filter(stays).combine_chunks()
            change(file, lambda rows, there=there: rows.filter(pc.is_in(rows["event_id"], there)))  # type: ignore[misc]
        else:
            file.unlink()
    for file in files if gone else ():
        if pc.any(pc.is_in(pq.read_table(file, columns=["event_id"])["event_id"], ids)).as_py():
            change(file, lambda rows: rows.filter(pc.invert(pc.is_in(rows["event_id"], ids))))
    return found


def _doubles(lines: pa.Table, nexts: tuple[Flags, bool], files: Sequence[Path], name: str) -> tuple[Ints, Ints, bool]:
    """Return lines that are repeated, their repetitions, and whether their number shows that the program that writes the log prints them.

    Args:
        lines: lines of a stream.
        nexts: True for each line that repeated the record just before it when it was read; and whether the log begins with its newest lines, so that
            this was the record after it in the file, and is now before or after it.
        files: hold the rows.
        name: the stream.
    """
    pos, (is_next, backwards) = lines["stream_pos"].to_numpy(), nexts
    first, again = doubles_of(lines, lambda some: _settings(files, name, pos[some]))
    # A message that one thread prints a hundred times counts once.
    share = doubled_share(len(lines), len(again), len(np.setdiff1d(first, again)))
    if len(lines) >= _MIN_DOUBLED_IN and share >= _ALL and pc.all(pc.less(lines["resolution_ms"].fill_null(1), 1000)).as_py():
        return first, again, True
    places = lines["byte_offset"].to_numpy()
    read_last = np.where(backwards & (places[first] < places[again]), first, again)
    sure = has_one_source(lines.take(pa.array(again))) & ((again == first + 1) & is_next[read_last] | (share >= _MANY))
    return first[sure], again[sure], share >= _MANY


def _settings(files: Iterable[Path], name: str, places: Ints) -> list[str]:
    """Return the configuration that a stream prints at each of some of its positions."""
    rows = rows_of(
        files,
        ("stream_pos", "config"),
        (pc.field("process_id") == name) & (pc.field("event") == "config_dumped") & pc.field("stream_pos").isin(places),
    )
    found = {pos: str(config) for pos, config in zip(*(rows[c].to_pylist() for c in rows.column_names), strict=True)}
    return [found.get(pos, "") for pos in places.tolist()]


def _range_rows(lines: pa.Table, first: Ints, again: Ints, ranges: Sequence[Mapping[str, Any]], why: str | None) -> Iterator[dict[str, Any]]:
    """Yield the row of `range_row` for each file and stream."""
    keys = np.stack([codes_of(joined(lines[name]))[again] for name in ("process_id", "path")], axis=1)
    for process, path in dict.fromkeys(map(tuple, keys.tolist())):
        mine = np.flatnonzero((keys == (process, path)).all(axis=1))
        one = lines.slice(int(again[mine[0]]), 1).to_pylist()[0]
        begin = byte_of(one["stream_pos"])
        row = max((r for r in ranges if r["path"] == one["path"] and r["range_start"] <= begin), key=lambda r: int(r["range_start"]))
        at = int(lines["ts"].cast(pa.int64())[int(again[mine[0]])].as_py())
        times = {"first_ts": at, "last_ts": at, "gaps": []}
        how = {}
        if why:
            ids = lines["event_id"].take(pa.array(first[mine[[0, -1]]])).to_pylist()
            how = {"shift_ms": 0, "shift_why": why, "shift_ids": list(dict.fromkeys(ids))}
        yield {**row, **NOTHING, "process_id": one["process_id"], "range_start": begin + 1, **times, **how, "repeats": len(mine)}


def repeats(times: Ints, contents: Callable[[], Sequence[pa.Array]], back: int) -> list[tuple[int, int, int]]:
    """Find where a log goes back in time and repeats lines, because a part was joined twice or two parts overlap.

    Args:
        times: times of all lines.
        contents: returns columns that are equal for lines with the same content.
        back: minimum step back in time, microseconds.

    Returns:
        The first line of each repeated run, the line after its last, and the line that the first one repeats.
    """
    backs = (np.flatnonzero(np.diff(times) <= -back) + 1).tolist()
    if not 0 < len(backs) < MAX_PARTS:
        return []
    keys = np.stack([times, *(codes_of(column) for column in contents())])
    order = np.lexsort(keys)
    begins = np.flatnonzero(np.append(True, (np.diff(keys[:, order], axis=1) != 0).any(axis=0)))
    first = np.empty(len(times), np.int64)
    first[order] = np.repeat(order[begins], np.diff(np.append(begins, len(times))))
    parts = np.searchsorted(backs, np.arange(len(times)), side="right")
    # A log may well contain equal lines with one time within one part.
    again = np.flatnonzero(parts > parts[first])
    runs = np.split(again, np.flatnonzero(np.diff(again) != 1) + 1) if len(again) else []
    return [
        (int(run[0]), int(run[-1]) + 1, int(first[run[0]]))
        for run in runs
        if _is_no_chance(keys[:, run]) or _is_all_that_goes_back(times, int(run[0]), int(run[-1]) + 1)
    ]


def _is_no_chance(keys: Ints) -> bool:
    """Return True if lines, given as columns of time and content, are too many and too different for two processes to print the same ones."""
    is_exact = bool((keys[0] % SECOND).any())
    moments, kinds = len(np.unique(keys[0])), np.unique(keys[1:], axis=1).shape[1]
    if keys.shape[1] < (_MIN_LINES if is_exact else _MIN_IN_SECONDS):
        return False
    return moments > 1 and kinds > 1 or is_exact and moments >= _MOMENTS


def _is_all_that_goes_back(times: Ints, begin: int, end: int) -> bool:
    """Return True if a log goes back at `begin` and continues after `end` where it was, except for the last lines, which may be cut.

    A clock that was set back does not repeat lines. A few repeated lines come from a thread that was held up only if they are hardly late.
    """
    back_at = int(times[begin - 1])
    if times[begin] > back_at - SET:
        return False
    return bool(end >= len(times) - 1 or times[end : end + 2].max() >= back_at - SET)
