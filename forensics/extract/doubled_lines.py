"""Lines that a log holds twice at one time, as two appenders or a shipper that tries again leave it. They are read once, where they stand first.

Two clients of one process may well say the same at one time: lines of members count as the same only where they tell whose they are, or where the whole
log stands twice. Where few lines are alike, only neighbours count: threads that work on the same things say the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from forensics.extract.jump_signs import Sign, said_again, streams_with_doubles
from forensics.extract.parquet_parts import rewrite
from forensics.extract.split_counts import NOTHING
from forensics.extract.splits import byte_of
from forensics.extract.stream_lines import CLIENT, SAID, codes_of, in_order, joined, rows_of
from forensics.records.timestamps import SECOND
from forensics.records.vectorized.buffers import Ints

DOUBLED = "doubled"
_NAMES = ("member_id", "group_instance_id", "broker_id")
#: Each of these tells one client from another.
_WHO = (*CLIENT, *_NAMES)
#: What each client of a process says for itself.
_OF_CLIENTS = frozenset({"membership", "assignment", "coordinator", "offsets", "streams"})
_SAID = (*SAID, "level", "logger", *_NAMES)
_COLUMNS = ("process_id", "stream_pos", "ts", "resolution_ms", "path", "event_id", "category", *_SAID)
#: Share of a log's different lines that stand there twice where all do; a few pairs are parted by other threads.
_ALL = 0.9
#: Where so many do, that comes from what writes the log, not from what it tells.
_MANY = 0.05
#: Fewer different lines that stand twice say nothing of what writes the log.
_FEW = 3
#: A few lines of two clients are alike by chance.
_LEAST = 50


def leave_out(files: Sequence[Path], signs: Iterable[Sign], ranges: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Takes away the rows of events that repeat one just before them.

    Args:
        files: hold the rows; those with such a row are written anew.
        signs: of all rows.
        ranges: rows of `range_row`.

    Returns:
        A row of `range_row` for each file that has such lines, with their number in `repeats`; it says `doubled` where many lines stand twice.
    """
    told: list[dict[str, Any]] = []
    gone: list[str] = []
    for name in streams_with_doubles(signs):
        lines = in_order(rows_of(files, _COLUMNS, pc.field("process_id") == name))
        first, again, are_many = _doubles(lines, _settings(files, name))
        if len(again):
            gone += lines["event_id"].take(pa.array(again)).to_pylist()
            told += _told(lines, first, again, ranges, why=DOUBLED if are_many else None)
    if gone:
        ids = pa.array(gone)
        for file in files:
            here = pc.is_in(pq.read_table(file, columns=["event_id"])["event_id"], ids)
            if pc.any(here).as_py():
                rewrite(file, pq.read_table(file).filter(pc.invert(here)))
    return told


def _doubles(lines: pa.Table, settings: Mapping[int, int]) -> tuple[Ints, Ints, bool]:
    """Lines that are said again, those that say them again, and whether these are so many that they come from what writes the log."""
    pos, times = (lines[name].cast(pa.int64()).to_numpy() for name in ("stream_pos", "ts"))
    said = [codes_of(joined(lines[name])) for name in _SAID]
    # What a client's configuration says stands in the lines behind its first one.
    said.append(np.array([settings.get(p, 0) for p in pos.tolist()], np.int64))
    exact = lines["resolution_ms"].fill_null(1).to_numpy() < SECOND // 1000
    first, again = said_again(times, exact if (times % SECOND).any() else np.zeros(len(times), np.bool_), said)
    # One message that a thread says a hundred times is one.
    different = len(np.setdiff1d(first, again))
    share = different / max(len(lines) - len(again), 1) if different >= _FEW else 0.0
    if len(lines) >= _LEAST and share >= _ALL and exact.all():
        return first, again, True
    known = np.any([lines[name].is_valid().to_numpy() for name in _WHO], axis=0)
    known |= ~pc.is_in(lines["category"].cast(pa.string()), pa.array(sorted(_OF_CLIENTS))).to_numpy()
    sure = known[again] & ((again == first + 1) | (share >= _MANY))
    return first[sure], again[sure], share >= _MANY


def _settings(files: Iterable[Path], name: str) -> dict[int, int]:
    """By position, a number for each configuration that a stream prints."""
    rows = rows_of(files, ("stream_pos", "config"), (pc.field("process_id") == name) & (pc.field("event") == "config_dumped"))
    numbers: dict[tuple[tuple[str, str], ...], int] = {}
    return {
        pos: numbers.setdefault(tuple(config or ()), len(numbers) + 1)
        for pos, config in zip(*(rows[c].to_pylist() for c in rows.column_names), strict=True)
    }


def _told(lines: pa.Table, first: Ints, again: Ints, ranges: Sequence[Mapping[str, Any]], why: str | None) -> Iterator[dict[str, Any]]:
    """The row of `range_row` of each file of a stream."""
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
