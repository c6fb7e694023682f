"""Read one record at a time: logs that a collector, a store or a paste has wrapped, because each line must first be unwrapped; and snapshots."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from forensics.catalogue.recogniser import Recognised
from forensics.errors import own_fault, reason_of
from forensics.evidence.streams import BLOCK, Readable
from forensics.extract.chunks import EVENT, Chunk, Classification, Content, RecordBatch, Values, array_of, places_of
from forensics.records.json_documents import Document
from forensics.records.line_reader import MAX_RECORD_BYTES, ZERO_RUN, Assembler, Between, PlacedRecord, Record, RecordReader, decode, utc
from forensics.records.timestamps import Zone
from forensics.records.vectorized.buffers import Buffer
from forensics.records.vectorized.line_fields import NO_TIME
from forensics.snapshots.detection import READERS, TOOLS
from forensics.snapshots.observation import COMMIT_VALUES, MAX_DOCUMENT_BYTES, Broken, CommitEvent, Observation, Strange
from forensics.snapshots.observation import Line as SnapshotLine
from forensics.snapshots.output_times import time_in_name

#: Maximum number of records (or observations) in a chunk, and of their bytes.
_MAX_RECORDS = 4_096
_MAX_BYTES = 4 << 20
_BLOCK = 64 << 10
#: Category of observations in snapshots.
SNAPSHOT = "snapshot"
_COMMIT_TYPES = {name: pa.string() if name == "metadata" else pa.int64() for name in COMMIT_VALUES}


@dataclass
class Joined:
    """Bytes, followed by a stream."""

    ahead: bytes
    stream: Readable

    def read(self, size: int = -1, /) -> bytes:
        if self.ahead:
            data, self.ahead = self.ahead, b""
            return data
        return self.stream.read(size)


class _SingleReader:
    """A reader that collects records one by one.

    Args:
        in_order: see `Chunk`.
    """

    def __init__(self, *, in_order: bool) -> None:
        self._in_order = in_order
        self._begin()

    def _begin(self) -> None:
        #: Content and bytes of each record, and the columns of `RecordBatch` from `offsets` to `collectors`.
        self._found: list[tuple[Content, bytes, tuple[int, int, bool, int, int], int | None]] = []
        self._times, self._bytes = list[int](), 0
        self._chunk = Chunk(times=self._times, in_order=self._in_order)

    def _ended(self) -> Chunk:
        """Return the chunk, and begin another one."""
        chunk = self._chunk
        if self._found:
            found, raws, columns, collectors = zip(*self._found, strict=True)
            borders, numbers = np.cumsum([0, *map(len, raws)]), dict[Content, int]()
            which = np.array([numbers.setdefault(content, len(numbers)) for content in found])
            contents = list(numbers)
            offsets, lines, again, times, resolutions = np.array(columns, np.int64).T
            buffer = Buffer.of(b"".join(raws))
            chunk.batch = RecordBatch(
                contents, which, self._values(), buffer, borders[:-1], borders[1:], offsets, lines, again > 0, times, resolutions, collectors
            )
        self._begin()
        return chunk

    def _values(self) -> dict[str, Values]:
        """Return columns in which records with the same content differ."""
        return {}

    def _add(
        self,
        content: Content,
        raw: bytes,
        offset: int,
        line: int,
        ts: int | None,
        *,
        again: bool = False,
        resolution_ms: int = 1,
        collector: int | None = None,
    ) -> None:
        """Add a record; the arguments are those of `RecordBatch`."""
        self._found.append((content, raw, (offset, line, again, NO_TIME if ts is None else ts, resolution_ms), collector))
        self._bytes += len(raw)
        if ts is not None:
            self._times.append(ts)

    @property
    def _is_full(self) -> bool:
        noted = len(self._chunk.zero_runs) + len(self._chunk.cut) + len(self._chunk.broken)
        return len(self._found) + noted >= _MAX_RECORDS or self._bytes >= _MAX_BYTES


class WrappedReader(_SingleReader):
    """A reader of a text, or a range of one, in which lines of several processes may alternate.

    Args:
        reader: unwraps lines.
        zone: time zone of times without an offset.
    """

    def __init__(self, reader: RecordReader, zone: Zone) -> None:
        self._reader, self._zone = reader, zone
        self._assembler, self._between = Assembler(reader), Between(joined=reader.profile.joined)
        super().__init__(in_order=True)
        #: Time and content of the last record of each process.
        self._last: dict[str | None, tuple[object, ...]] = {}

    def read(self, stream: Readable, at: int, line: int, start: int, end: int | None) -> Iterator[Chunk]:
        """Yield the records that begin at or after `start` and before `end`.

        Args:
            stream: the text from `at`, which is the beginning of a line.
            at: position of its first byte; up to `MAX_RECORD_BYTES` before `start`, for the records that are open there.
            line: number of the line at `at`.
            start: first byte of the range.
            end: None for the end of the text.
        """
        counted = 0
        try:
            for place, number, raw, cut in self._lines(stream, at, line):
                beyond = end is not None and place >= end
                if beyond and (not self._assembler.has_open(start, end) or place - (end or 0) > MAX_RECORD_BYTES):
                    break
                mine = place >= start and not beyond
                if mine and number != counted:
                    self._chunk.lines += 1
                    counted = number
                self._take(self._assembler.close() if cut else (), start, end)
                ended, fits = self._assembler.feed(place, number, raw)
                if mine and not fits:
                    self._chunk.see_unfit(number, raw)
                self._take(ended, start, end)
                if self._is_full:
                    yield self._ended()
            self._take(self._assembler.close(), start, end)
        except Exception as e:  # records before the fault are kept
            self._chunk.error = reason_of(e)
        yield self._ended()

    def read_document(self, stream: Readable) -> Iterator[Chunk]:
        """Yield the records of a JSON document, as if each were on a line of its own."""
        document = Document(stream, self._reader.profile.document or (), self._reader.layouts.keys, MAX_RECORD_BYTES)
        counted = 0
        try:
            for element in document.elements():
                ended, fits = self._assembler.feed(element.offset, element.line, element.raw, element.text)
                if not fits:
                    self._chunk.see_unfit(element.line, element.raw)
                if element.cut:
                    self._chunk.cut.append(element.line)
                elif element.broken:
                    self._chunk.broken.append(element.line)
                self._take(ended, 0, None)
                if self._is_full:
                    self._chunk.lines, counted = document.lines - counted, document.lines
                    yield self._ended()
            self._take(self._assembler.close(), 0, None)
            self._chunk.error = document.error
        except Exception as e:  # records before the fault are kept
            self._chunk.error = reason_of(e)
        self._chunk.lines = document.lines - counted
        yield self._ended()

    def _take(self, ended: Iterable[PlacedRecord], start: int, end: int | None) -> None:
        self._chunk.unread += [(line, why) for at, line, why in self._assembler.faults if at >= start and (end is None or at < end)]
        self._assembler.faults.clear()
        for placed in ended:
            try:
                self._take_one(placed, start, end)
            except Exception as e:  # the other records are read
                self._chunk.unread.append((placed.line, own_fault(e)))

    def _take_one(self, placed: PlacedRecord, start: int, end: int | None) -> None:
        record = placed.record
        time = utc(record.moment, self._zone)
        # A collector may have stamped two copies of a record at different times.
        content: tuple[object, ...] = time, placed.raw.rstrip(b"\r\n")
        if record.collector or placed.collector:
            content = time, record.level, record.thread, record.logger, record.source_line, record.context, record.message
        again = time is not None and self._last.get(record.source) == content
        self._last[record.source] = content
        if placed.offset < start or (end is not None and placed.offset >= end):
            return
        self._chunk.layouts[record.layout] += 1
        if record.no_time:
            self._chunk.no_times.append(placed.line)
        resolution = record.moment.resolution_ms if record.moment else 1
        collector = utc(placed.collector, self._zone)
        self._add(Content(record), placed.raw, placed.offset, placed.line, time, again=again, resolution_ms=resolution, collector=collector)

    def _lines(self, stream: Readable, at: int, line: int) -> Iterator[tuple[int, int, bytes, bool]]:
        """Yield position, number and bytes of each line, or of each part of one between gaps of zero bytes, and whether such a gap precedes it.

        Lines that are longer than a record may be are truncated.
        """
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
            if held.endswith(ZERO_RUN) or len(held) > MAX_RECORD_BYTES:
                if not dropping:
                    yield from self._written(at, line, held)
                dropping = not held.endswith(ZERO_RUN)
                at += len(held)
                held = b""
        if held and not dropping:
            yield from self._written(at, line, held)

    def _written(self, at: int, line: int, raw: bytes) -> Iterator[tuple[int, int, bytes, bool]]:
        left = len(raw)
        for place, part, cut in self._between.split(raw):
            left -= len(part)
            if len(part) > MAX_RECORD_BYTES + 1:
                self._chunk.cut.append(line)
                part = part[:MAX_RECORD_BYTES] + b"\n" * raw.endswith(b"\n")
            yield at + place, line, part, cut
        if left:
            self._chunk.zero_runs.append((line, at, left))


def _content(event: str, captures: Mapping[str, Any], message: str) -> Content:
    found = Recognised(event, SNAPSHOT, dict(captures), message, None, None)  # type: ignore[arg-type]  # of no pattern
    return Content(Record("", message=message), Classification(EVENT, found))


class SnapshotReader(_SingleReader):
    """A reader of a snapshot.

    Args:
        kind: kind of snapshot; see `snapshots.detection`.
        path: its path, whose name may have the time of a tool's output.
        zone: time zone of times without an offset.
    """

    def __init__(self, kind: str, path: str = "", zone: str = "UTC") -> None:
        self._kind, self._zone = kind, Zone(zone)
        self._named = time_in_name(path) if kind in TOOLS else None
        super().__init__(in_order=False)
        self._seen_at = (-1, 0)

    def observations(self, stream: Readable) -> Iterator[Observation]:
        """Yield all observations."""
        for item in READERS[self._kind](self._lines(stream)):
            if isinstance(item, CommitEvent):
                yield item.commit.observation(item.event)
            elif isinstance(item, Observation):
                yield replace(item, ts=self._time(item), moment=None)

    def _time(self, item: Observation) -> int | None:
        moment = item.moment or (self._named if item.output == 0 else None)
        return item.ts if item.ts is not None or moment is None else self._zone.utc(moment)

    def read(self, stream: Readable) -> Iterator[Chunk]:
        """Yield chunks of all observations."""
        try:
            for item in READERS[self._kind](self._lines(stream)):
                match item:
                    case CommitEvent():
                        self._take_commit(item)
                    case Observation():
                        self._take(item)
                    case Strange():
                        self._chunk.see_unfit(item.line, item.text.encode())
                    case Broken():
                        self._chunk.error = item.reason
                if self._is_full:
                    yield self._ended()
        except Exception as e:  # observations before the fault are kept
            self._chunk.error = reason_of(e)
        yield self._ended()

    def _take(self, item: Observation) -> None:
        # One line may contain several observations, whose IDs differ by their number in the line.
        number = self._seen_at[1] + 1 if self._seen_at[0] == item.offset else 0
        self._seen_at = item.offset, number
        raw = item.raw.rstrip(b"\r\n") + (b"\0%d" % number if number else b"")
        self._add(_content(item.event, item.captures, item.message), raw, item.offset, item.line, self._time(item))
        self._chunk.layouts[self._kind] += 1

    def _take_commit(self, item: CommitEvent) -> None:
        """Take a commit. Those of a partition share their content; what differs is in columns."""
        event, commit = item
        content = commit.of.contents.get(event)
        if content is None:
            content = commit.of.contents[event] = _content(event, commit.of.captures, commit.of.message(event))
        self._add(content, commit.raw.rstrip(b"\r\n"), commit.offset, commit.line, commit.ts)
        self._own.append((len(self._found) - 1, commit.values))
        self._chunk.layouts[self._kind] += 1

    def _begin(self) -> None:
        super()._begin()
        #: The index of each commit among the records, and the values of its captures.
        self._own: list[tuple[int, tuple[Any, ...]]] = []

    def _values(self) -> dict[str, Values]:
        if not self._own:
            return {}
        places, rows = zip(*self._own, strict=True)
        at = places_of(np.array(places), len(self._found))
        columns = zip(COMMIT_VALUES, zip(*rows, strict=True), strict=True)
        return {name: (at, array_of(values, _COMMIT_TYPES[name])) for name, values in columns}

    def _lines(self, stream: Readable) -> Iterator[SnapshotLine]:
        """Yield the lines of a text, including a last line without a line break. What exceeds the size of a document is not read."""
        at = length = 0
        number = 1
        partial: list[bytes] = []
        while data := stream.read(_BLOCK):
            *whole, rest = data.split(b"\n")
            for raw in whole:
                if length:
                    partial.append(raw)
                    length += len(raw)
                    yield self._joined(number, at, partial, length, b"\n")
                else:
                    length = len(raw)
                    yield self._line(number, at, raw + b"\n")
                at += length + 1
                number += 1
                partial, length = [], 0
            if length <= MAX_DOCUMENT_BYTES:
                partial.append(rest)
            length += len(rest)
        if length:
            yield self._joined(number, at, partial, length, b"")

    def _joined(self, number: int, at: int, parts: Sequence[bytes], length: int, end: bytes) -> SnapshotLine:
        """Return a line that was read in parts. If some are missing it has no end, and is noted."""
        raw = b"".join(parts)
        if len(raw) < length:
            self._chunk.cut.append(number)
            return self._line(number, at, raw)
        return self._line(number, at, raw + end)

    def _line(self, number: int, at: int, raw: bytes) -> SnapshotLine:
        self._chunk.lines += 1
        return SnapshotLine(number, at, raw, decode(raw.rstrip(b"\r\n")))
