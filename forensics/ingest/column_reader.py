"""A text to rows, a few megabytes at a time: the quick reading of `records`, for logs that are read as they stand.

Lines are places in a buffer. `heads` finds first lines; what is relevant is decided by the tail's logger, else by the names and literals of the
catalogue; only relevant records are touched one by one. Memory is bounded by the chunk.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from forensics.evidence.streams import Readable
from forensics.ingest.row_builder import RowBuilder, Rows
from forensics.ingest.statistics import Statistics
from forensics.records.layouts import Layouts
from forensics.records.line_reader import MOST_RECORD_BYTES, Line, Record, RecordReader, decode
from forensics.records.timestamps import Zone
from forensics.records.vectorized.buffers import Buffer, Flags, Ints, Window
from forensics.records.vectorized.line_fields import NO_TAIL, NO_TIME, Tail, Tails
from forensics.records.vectorized.record_starts import HeadFinder, Heads

CHUNK = 8 << 20
_LITERAL = 10
_FEW = 200
_DELIMITED = "(?:^|[^A-Za-z0-9_])(?:{})(?:[^A-Za-z0-9_]|$)"


class _Places(NamedTuple):
    """Of each record: its first line, the line after its last, its first byte, the byte after its last, and its first line's last byte."""

    firsts: Ints
    lasts: Ints
    begins: Ints
    stops: Ints
    ends: Ints


class ColumnReader:
    """Reads a text, or a range of one.

    Args:
        layouts: layouts to try.
        reader: the slow reader, for single records.
        zone: by which times without an offset are read.
        rows: takes relevant records.
        statistics: takes note of all.
    """

    def __init__(self, layouts: Layouts, reader: RecordReader, zone: Zone, rows: RowBuilder, statistics: Statistics) -> None:
        self._layouts, self._reader, self._rows, self._statistics = layouts, reader, rows, statistics
        self._finder = HeadFinder(layouts, reader, zone)
        self._tails = Tails(self._understand)
        self._names = _sieve_of_names(rows.recogniser.interesting_loggers)
        # Beginnings are enough for a sieve; whole texts would be more states than RE2 keeps, and a hundred times slower.
        self._literals = _sieve((*rows.recogniser.literals, *rows.recogniser.words))
        self._words = _sieve(rows.recogniser.words)
        candidates = layouts.candidates(reader.profile.untimed)
        #: Layouts that print a date; JSON may.
        self._dated = np.array([*(x.time is not None and x.time.dated for x in candidates), True], bool)
        #: Layouts in which a record without a logger's name cannot be: all others are searched for all literals, these for clients' words only.
        self._named = np.array([*("(?P<logger>" in x.head and "(?P<logger>" not in "".join(x.tails) for x in candidates), False], bool)

    def read(self, stream: Readable, start: int, end: int | None, first_line: int, before: int | None) -> Iterator[Rows]:
        """Rows of the records that begin from `start` to before `end`.

        Args:
            stream: gives the text from `start` on, which begins a line.
            start: place of its first byte in the whole text.
            end: None for the end of the text.
            first_line: number of its first line.
            before: where the record begins that is open at `start`, None when there is none.

        Yields:
            Batches of bounded size.
        """
        window = Window(stream, start, end, chunk=CHUNK, longest=MOST_RECORD_BYTES)
        line, drop = first_line, 0
        while True:
            more = window.advance(drop)
            if not more and not window.buffer.size:
                return
            buffer, at = window.buffer, window.base
            starts, breaks = buffer.lines()
            for i in np.flatnonzero(breaks - starts > MOST_RECORD_BYTES).tolist():
                if end is None or at + int(starts[i]) < end:
                    self._statistics.see_cut(line + i)
            if not window.whole and breaks[-1] - starts[-1] == MOST_RECORD_BYTES and (end is None or at + int(starts[-1]) < end):
                self._statistics.see_cut(line + len(starts) - 1)
            ends = _text_ends(buffer, starts, breaks)
            heads = self._finder.find(buffer, starts, ends)
            limit = len(starts) if end is None else int(np.searchsorted(starts, end - at))
            owned = int(np.searchsorted(heads.lines, limit))
            first = int(heads.lines[0]) if len(heads.lines) else len(starts)
            self._see_unfit(buffer, starts, ends, 0, min(first, limit), at, line, before)
            complete = owned
            if owned == len(heads.lines) and owned and more and window.whole and buffer.size - int(starts[heads.lines[-1]]) < MOST_RECORD_BYTES:
                complete -= 1  # its end may be in the next window
            upto = int(heads.lines[complete]) if complete < len(heads.lines) else len(starts)
            yield from self._records(buffer, starts, ends, heads, complete, upto, at, line, limit)
            self._statistics.lines += min(upto, limit)
            if not more or owned < len(heads.lines):
                return
            drop = int(starts[upto]) if upto < len(starts) else buffer.size
            line += upto
            if complete == owned:
                before = at + int(starts[heads.lines[owned - 1]]) if owned else before
                if end is not None and at + buffer.size >= end:
                    return

    def _records(
        self, buffer: Buffer, starts: Ints, ends: Ints, heads: Heads, count: int, upto: int, at: int, line: int, limit: int
    ) -> Iterator[Rows]:
        """The first `count` records, which end before line `upto`."""
        if not count:
            return
        firsts = heads.lines[:count]
        lasts = np.append(heads.lines[1:count], upto)
        begins = starts[firsts]
        borders = np.append(starts, buffer.size)
        stops = borders[lasts]
        for i in np.flatnonzero(stops - begins > MOST_RECORD_BYTES):
            lasts[i] = max(int(np.searchsorted(starts, begins[i] + MOST_RECORD_BYTES)), int(firsts[i]) + 1)
            stop = int(borders[lasts[i]])
            next_ = int(heads.lines[i + 1]) if i + 1 < count else upto
            self._see_unfit(buffer, starts, ends, int(lasts[i]), min(next_, limit), at, line, None)
            stops[i] = stop
        self._statistics.records += count
        self._statistics.see_times(heads.times[:count])
        for name, number in zip(self._finder.names, np.bincount(heads.layouts[:count]).tolist(), strict=False):
            if number:
                self._statistics.layouts[name] += number
        self._see_no_times(buffer, heads, np.flatnonzero(heads.times[:count] == NO_TIME), starts[firsts], ends[firsts], line)
        tails = np.full(count, -1, np.int64)
        relevant = np.zeros(count, bool)
        fixed = np.flatnonzero(heads.shapes[:count] >= 0)
        if len(fixed):
            tails[fixed] = self._tails.classify(buffer, starts[firsts[fixed]], ends[firsts[fixed]])
            relevant[fixed] = self._tails.interesting(tails[fixed])
            foreign = fixed[self._tails.foreign(tails[fixed])]
            relevant[foreign] = self._holding(buffer, begins, foreign, self._words)
            fixed = fixed[~self._tails.missing(tails[fixed])]
        unnamed = np.ones(count, bool)
        unnamed[fixed] = False
        others = np.flatnonzero(unnamed)
        relevant[others] = self._search(buffer, begins, others, self._named[heads.layouts[others]])
        yield from self._take(buffer, np.flatnonzero(relevant), _Places(firsts, lasts, begins, stops, ends[firsts]), heads, tails, at, line)

    def _see_no_times(self, buffer: Buffer, heads: Heads, which: Ints, begins: Ints, ends: Ints, line: int) -> None:
        """Takes note of those records without a time whose layout prints one."""
        for i in which[self._dated[heads.layouts[which]]].tolist():
            text = decode(buffer.slice(int(begins[i]), int(ends[i])))
            start = self._reader.start(Line(text))
            if start is not None and self._reader.finish(start, [text]).no_time:
                self._statistics.see_no_time(line + int(heads.lines[i]))

    def _take(self, buffer: Buffer, which: Ints, places: _Places, heads: Heads, tails: Ints, at: int, line: int) -> Iterator[Rows]:
        """Reads relevant records one by one."""
        columns = (
            places.firsts, places.lasts, places.begins, places.stops, places.ends, tails, heads.times, heads.shapes, heads.variants,
        )  # fmt: skip
        for first, last, begin, stop, end, tail_index, time, shape_index, variant_index in zip(*(c[which].tolist() for c in columns), strict=True):
            raw = buffer.slice(begin, min(stop, begin + MOST_RECORD_BYTES))
            tail = self._tails.found[tail_index] if tail_index >= 0 else NO_TAIL
            if tail.size and last - first == 1:
                shape = self._finder.shapes[shape_index]
                variant = shape.variants[variant_index]
                text = decode(buffer.slice(begin + variant.end, end - tail.size)).rstrip()
                record = Record("", None, variant.level, tail.thread, tail.logger, tail.source_line, None, text)
                resolution = shape.resolution_ms
            else:
                lines = _decode_lines(raw)
                start = self._reader.start(Line(lines[0]))
                if start is None:
                    continue
                record = self._reader.finish(start, lines)
                resolution = record.moment.resolution_ms if record.moment else 1
            self._rows.add(record, raw, at + begin, line + first, None if time == NO_TIME else time, resolution, None)
            if self._rows.full:
                yield from self._rows.take()

    def _search(self, buffer: Buffer, begins: Ints, which: Ints, named: Flags) -> Flags:
        """Whether some records hold a name or literal of the catalogue."""
        if len(which) <= _FEW:
            return np.ones(len(which), bool)  # the sieve would cost more than it saves
        found = self._holding(buffer, begins, which, self._names)
        for also, texts in ((~named, self._literals), (named, self._words)):
            rest = np.flatnonzero(~found & also)
            if len(rest):
                found[rest] = self._holding(buffer, begins, which[rest], texts)
        return found

    @staticmethod
    def _holding(buffer: Buffer, begins: Ints, which: Ints, pattern: str) -> Flags:
        """Which of some records hold something."""
        found: Flags = np.zeros(len(which), bool)
        if len(which):
            found[:] = pc.match_substring_regex(buffer.pieces(begins).take(pa.array(which)), pattern).to_numpy(zero_copy_only=False)
        return found

    def _see_unfit(self, buffer: Buffer, starts: Ints, ends: Ints, begin: int, stop: int, at: int, line: int, before: int | None) -> None:
        """Takes note of lines that no record can claim."""
        for i in range(begin, stop):
            if before is not None and at + int(starts[i]) - before < MOST_RECORD_BYTES:
                continue
            raw = buffer.slice(int(starts[i]), int(ends[i]))
            if decode(raw).strip():
                self._statistics.see_unfit(line + i, raw)

    def _understand(self, line: str) -> Tail:
        """The tail of a line of the fixed layout."""
        layout = self._finder.fixed
        match = self._layouts.find_tail(layout, line) if layout else None
        if match is None:
            return NO_TAIL
        found = match.groupdict()
        number, logger, recogniser = found.get("line"), found.get("logger"), self._rows.recogniser
        tells = recogniser.may_tell(logger)
        return Tail(
            len(match[0].encode()), logger, int(number) if number and number.isdigit() and len(number) < 10 else None,
            found.get("thread"), tells, not tells and not recogniser.is_left_out(logger),
        )  # fmt: skip


@lru_cache(maxsize=4)
def _sieve_of_names(names: frozenset[str]) -> str:
    """An expression for names that stand alone."""
    return _DELIMITED.format("|".join(map(re.escape, sorted(names))))


@lru_cache(maxsize=8)
def _sieve(texts: tuple[str, ...]) -> str:
    """An expression for the beginnings of some texts."""
    return "|".join(re.escape(text) for text in sorted({x[:_LITERAL] for x in texts}))


def _text_ends(buffer: Buffer, starts: Ints, breaks: Ints) -> Ints:
    """Ends of lines without carriage returns; of endless lines only so much as a record may have."""
    ends = np.minimum(breaks, starts + MOST_RECORD_BYTES)
    while True:
        returns = (ends > starts) & (buffer.at(np.maximum(ends - 1, 0)) == 13)
        if not returns.any():
            return ends
        ends = ends - returns


def _decode_lines(raw: bytes) -> list[str]:
    """The lines of a record as `records.decode` gives each."""
    if b"\r" not in raw and b"\0" not in raw and b"\xef\xbb\xbf" not in raw and len(raw) < MOST_RECORD_BYTES:
        return raw.removesuffix(b"\n").decode("utf-8", "replace").split("\n")
    return [decode(x[:MOST_RECORD_BYTES]) for x in raw.removesuffix(b"\n").split(b"\n")]
