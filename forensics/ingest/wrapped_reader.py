"""Logs that a collector or a paste has wrapped: read line by line, for every line must be taken out of its wrapper first."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from forensics.evidence.streams import BLOCK, Readable
from forensics.ingest.row_builder import RowBuilder, Rows
from forensics.ingest.statistics import Statistics
from forensics.records.line_reader import HOLE, MOST_RECORD_BYTES, Assembler, Between, PlacedRecord, RecordReader, utc
from forensics.records.timestamps import Zone
from forensics.records.vectorized.line_fields import NO_TIME


class WrappedReader:
    """Reads a text, or a range of one, in which several processes may speak by turns.

    Args:
        reader: unwraps lines.
        zone: by which times without an offset are read.
        rows: takes relevant records.
        statistics: takes note of all.
    """

    def __init__(self, reader: RecordReader, zone: Zone, rows: RowBuilder, statistics: Statistics) -> None:
        self._assembler = Assembler(reader)
        self._zone, self._rows, self._statistics = zone, rows, statistics
        self._counted = 0

    def read(self, stream: Readable, at: int, line: int, start: int, end: int | None) -> Iterator[Rows]:
        """Rows of the records that begin from `start` to before `end`.

        Args:
            stream: gives the text from `at` on, which begins a line.
            at: place of its first byte; up to `MOST_RECORD_BYTES` before `start`, for the records that are open there.
            line: number of the line at `at`.
            start: first byte of the range.
            end: None for the end of the text.

        Yields:
            Batches of bounded size.
        """
        for place, number, raw, cut in _Lines(self._statistics).read(stream, at, line):
            beyond = end is not None and place >= end
            if beyond and (not self._assembler.has_open(start, end) or place - (end or 0) > MOST_RECORD_BYTES):
                break
            mine = place >= start and not beyond
            if mine and number != self._counted:
                self._statistics.lines += 1
                self._counted = number
            done = self._assembler.close() if cut else []
            ended, fits = self._assembler.feed(place, number, raw)
            if mine and not fits:
                self._statistics.see_unfit(number, raw)
            for record in (*done, *ended):
                self._take(record, start, end)
            if self._rows.full:
                yield from self._rows.take()
        for record in self._assembler.close():
            self._take(record, start, end)
        if self._assembler.fault:
            self._rows.note_fault(*self._assembler.fault)

    def _take(self, placed: PlacedRecord, start: int, end: int | None) -> None:
        if placed.offset < start or (end is not None and placed.offset >= end):
            return
        record = placed.record
        time = utc(record.moment, self._zone)
        self._statistics.records += 1
        if record.no_time:
            self._statistics.see_no_time(placed.line)
        self._statistics.layouts[record.layout] += 1
        self._statistics.see_times(np.array([NO_TIME if time is None else time]))
        resolution = record.moment.resolution_ms if record.moment else 1
        self._rows.add(record, placed.raw, placed.offset, placed.line, time, resolution, utc(placed.collector, self._zone))


class _Lines:
    """Place, number and bytes of each line, or of each part of one between holes, and whether a hole is before it.

    What is longer than a record may be is cut.
    """

    def __init__(self, statistics: Statistics) -> None:
        self._statistics, self._between = statistics, Between()

    def read(self, stream: Readable, at: int, line: int) -> Iterator[tuple[int, int, bytes, bool]]:
        held, dropping = b"", False
        while data := stream.read(BLOCK):
            parts = (held + data).split(b"\n")
            held = parts.pop()
            for part in parts:
                if not dropping:
                    yield from self._written(at, line, part + b"\n")
                dropping = False
                at += len(part) + 1
                line += 1
            if held.endswith(HOLE) or len(held) > MOST_RECORD_BYTES:
                if not dropping:
                    yield from self._written(at, line, held)
                dropping = not held.endswith(HOLE)
                at += len(held)
                held = b""
        if held and not dropping:
            yield from self._written(at, line, held)

    def _written(self, at: int, line: int, raw: bytes) -> Iterator[tuple[int, int, bytes, bool]]:
        left = len(raw)
        for place, part, cut in self._between.split(raw):
            left -= len(part)
            if len(part) > MOST_RECORD_BYTES + 1:
                self._statistics.see_cut(line)
                part = part[:MOST_RECORD_BYTES] + b"\n" * raw.endswith(b"\n")
            yield at + place, line, part, cut
        self._statistics.see_hole(line, at, left)
