"""Leave out lines that a log contains twice at the same time, because of two appenders or a shipper that retries. The first copy is read.

Two clients of one process may legitimately print the same message at the same time. Lines of members therefore count as copies only if they identify
their client, or if the whole log is doubled. If few lines have copies, only adjacent ones count, because threads that do the same print the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from forensics.extract.parquet_parts import keep
from forensics.extract.split_counts import NOTHING
from forensics.extract.splits import byte_of
from forensics.extract.stream_lines import CLIENT, CONTENT_COLUMNS, codes_of, in_order, joined, rows_of
from forensics.extract.stream_summaries import StreamSummary, repeated_pairs, streams_with_doubles
from forensics.records.timestamps import SECOND
from forensics.records.vectorized.buffers import Ints

DOUBLED = "doubled"
_NAMES = ("member_id", "group_instance_id", "broker_id")
#: Each of these columns distinguishes one client from another.
_WHO = (*CLIENT, *_NAMES)
#: Categories of lines that each client of a process prints for itself.
_OF_CLIENTS = frozenset({"membership", "assignment", "coordinator", "offsets", "streams"})
_CONTENT_COLUMNS = (*CONTENT_COLUMNS, "level", "logger", *_NAMES)
_COLUMNS = ("process_id", "stream_pos", "ts", "resolution_ms", "path", "event_id", "category", *_CONTENT_COLUMNS)
#: Share of a log's different lines that appear twice in a doubled log. It is below 1 because other threads separate a few pairs.
_ALL = 0.9
#: From this share on, the doubling comes from what writes the log, not from its content.
_MANY = 0.05
#: Fewer different lines that appear twice say nothing about what writes the log.
_FEW = 3
#: In a log with fewer lines, a few lines of two clients may be equal by chance.
_MIN_LINES = 50


def leave_out(files: Sequence[Path], summaries: Iterable[StreamSummary], ranges: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Remove the rows of events that repeat a row just before them.

    Args:
        files: hold the rows; files with such a row are rewritten.
        summaries: summaries of all rows.
        ranges: rows of `range_row`.

    Returns:
        A row of `range_row` for each file that has such lines, with their number in `repeats`. It says `doubled` if many lines appear twice.
    """
    found: list[dict[str, Any]] = []
    gone: list[str] = []
    for name in streams_with_doubles(summaries):
        lines = in_order(rows_of(files, _COLUMNS, pc.field("process_id") == name))
        first, again, are_many = _doubles(lines, lambda places, name=name: _settings(files, name, places))  # type: ignore[misc]
        if len(again):
            gone += lines["event_id"].take(pa.array(again)).to_pylist()
            found += _range_rows(lines, first, again, ranges, why=DOUBLED if are_many else None)
    if gone:
        ids = pa.array(gone)
        for file in files:
            here = pc.is_in(pq.read_table(file, columns=["event_id"])["event_id"], ids)
            if pc.any(here).as_py():
                keep(file, lambda rows: pc.invert(pc.is_in(rows["event_id"], ids)))
    return found


def _doubles(lines: pa.Table, settings: Callable[[Ints], Mapping[int, int]]) -> tuple[Ints, Ints, bool]:
    """Return lines that are repeated, their repetitions, and whether there are so many that they come from what writes the log."""
    pos, times = (lines[name].cast(pa.int64()).to_numpy() for name in ("stream_pos", "ts"))
    contents = [codes_of(joined(lines[name])) for name in _CONTENT_COLUMNS]
    # A client's configuration is printed in the lines after its first one. Only lines that are equal otherwise are compared by it.
    equal = np.unique(np.concatenate(repeated_pairs(times, np.ones(len(times), np.bool_), contents)))
    dumped = equal[pc.equal(lines["event"].cast(pa.string()), "config_dumped").fill_null(False).to_numpy()[equal]]  # noqa: FBT003  (Arrow's own form)
    if len(dumped):
        numbers = settings(pos[dumped])
        contents.append(np.zeros(len(pos), np.int64))
        contents[-1][dumped] = [numbers.get(p, 0) for p in pos[dumped].tolist()]
    exact = lines["resolution_ms"].fill_null(1).to_numpy() < SECOND // 1000
    first, again = repeated_pairs(times, exact if (times % SECOND).any() else np.zeros(len(times), np.bool_), contents)
    # A message that one thread prints a hundred times counts once.
    different = len(np.setdiff1d(first, again))
    share = different / max(len(lines) - len(again), 1) if different >= _FEW else 0.0
    if len(lines) >= _MIN_LINES and share >= _ALL and exact.all():
        return first, again, True
    known = np.any([lines[name].is_valid().to_numpy() for name in _WHO], axis=0)
    known |= ~pc.is_in(lines["category"].cast(pa.string()), pa.array(sorted(_OF_CLIENTS))).to_numpy()
    sure = known[again] & ((again == first + 1) | (share >= _MANY))
    return first[sure], again[sure], share >= _MANY


def _settings(files: Iterable[Path], name: str, places: Ints) -> dict[int, int]:
    """Return, by position, a number for each configuration that a stream prints at some of its positions."""
    rows = rows_of(
        files,
        ("stream_pos", "config"),
        (pc.field("process_id") == name) & (pc.field("event") == "config_dumped") & pc.field("stream_pos").isin(places),
    )
    numbers: dict[tuple[tuple[str, str], ...], int] = {}
    return {
        pos: numbers.setdefault(tuple(config or ()), len(numbers) + 1)
        for pos, config in zip(*(rows[c].to_pylist() for c in rows.column_names), strict=True)
    }


def _range_rows(lines: pa.Table, first: Ints, again: Ints, ranges: Sequence[Mapping[str, Any]], why: str | None) -> Iterator[dict[str, Any]]:
    """Yield the row of `range_row` for each file of a stream."""
    paths = codes_of(joined(lines["path"]))[again]
    for code in dict.fromkeys(paths.tolist()):
        mine = np.flatnonzero(paths == code)
        one = lines.slice(int(again[mine[0]]), 1).to_pylist()[0]
        begin = byte_of(one["stream_pos"])
        row = max((r for r in ranges if r["path"] == one["path"] and r["range_start"] <= begin), key=lambda r: int(r["range_start"]))
        at = int(lines["ts"].cast(pa.int64())[int(again[mine[0]])].as_py())
        ids = lines["event_id"].take(pa.array(first[mine[[0, -1]]])).to_pylist()
        times = {"first_ts": at, "last_ts": at, "gaps": []}
        how = {"shift_ms": 0, "shift_why": why, "shift_ids": list(dict.fromkeys(ids))} if why else {}
        yield {**row, **NOTHING, "process_id": one["process_id"], "range_start": begin + 1, **times, **how, "repeats": len(mine)}
