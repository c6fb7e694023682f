"""Recognised records to Arrow batches: one row a record, one column for each capture."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from forensics.extract.arrays import array_of, sparse_array
from forensics.extract.chunks import Found, Together
from forensics.extract.jump_signs import Sign, signs_of
from forensics.extract.many_messages import Columns
from forensics.extract.splits import FileSplit
from forensics.extract.understanding import COUNT, EVENT, KINDS, NONE, OTHER, ManyTold, Told, Understanding
from forensics.records.line_reader import Record
from forensics.records.vectorized.buffers import Ints
from forensics.records.vectorized.line_fields import NO_TIME
from forensics.redaction import scrubbed
from forensics.schema import TIMESTAMP, Field, table_schema
from forensics.snapshots.observation import Observation

EVENTS, UNRECOGNISED, COUNTED = "event_row", "unrecognised_row", "counted_row"
MOST_TEXT = 2_000
#: So much more is read, so that a password that is cut in two is still seen to be one.
_OVERLAP = 500
#: Texts that no line can choose freely: ids, and words of this program.
_OURS = {"event_id", "file_id", "process_id", "path", "event", "category", "releases"}
_ID_BYTES = 12
#: Category of what snapshots say.
SNAPSHOT = "snapshot"
#: Rows, and bytes of records, that are collected before they are given on.
MOST_ROWS = 16_384
MOST_BYTES = 16 << 20
_EVENT_ONLY = ("event_id", "file_id", "resolution_ms", "collector_ts", "thread", "source_line", "releases", "context", "event", "category")
_EVERY = ("process_id", "line", "byte_offset", "stream_pos", "ts", "level", "logger", "message")
_COUNTED_ONLY = ("resolution_ms", "releases", "event")


@dataclass(frozen=True)
class Schemas:
    """Arrow schemas of the tables that tasks write."""

    by_table: Mapping[str, pa.Schema]

    @classmethod
    def of(cls, captures: Iterable[Field]) -> Schemas:
        """With a column for each capture."""
        return cls({EVENTS: table_schema(EVENTS, captures), UNRECOGNISED: table_schema(UNRECOGNISED), COUNTED: table_schema(COUNTED)})


@dataclass(frozen=True)
class Rows:
    """Rows of a table."""

    table: str
    batch: pa.RecordBatch


#: The table of each kind of record but the last.
_TABLE_OF = {EVENT: EVENTS, OTHER: UNRECOGNISED, COUNT: COUNTED}


@dataclass(slots=True)
class _Joined:
    """Records of a table that were read together.

    Attributes:
        said: what they say, and what that is.
        many: what they say and is told as columns.
        index: of what each record says, by chunk: into `said`; or into the rows of `many`, one behind the other, as -1, -2 and so on.
        placed: columns of where they stand, by chunk.
    """

    said: list[tuple[Record, Told]] = field(default_factory=list)
    many: list[ManyTold] = field(default_factory=list)
    index: list[Ints] = field(default_factory=list)
    placed: list[Columns] = field(default_factory=list)
    _places: dict[int, int] = field(default_factory=dict)
    _rows: int = 0

    def place_of(self, record: Record, told: Told) -> int:
        """Index into `said` of a record, which is added when it is a new one."""
        place = self._places.setdefault(id(record), len(self.said))
        if place == len(self.said):
            self.said.append((record, told))
        return place

    def places_of(self, many: ManyTold) -> Ints:
        """Index of each of some rows, which are added."""
        self.many.append(many)
        self._rows += len(many.rows)
        return np.arange(len(many.rows) - self._rows - 1, -self._rows - 1, -1)

    def places(self) -> Ints:
        """Of each record, which of all texts it says: those of `said`, then those of `many`."""
        index = np.concatenate(self.index)
        return np.where(index < 0, len(self.said) - 1 - index, index)


class RowBuilder:
    """Collects rows of one file, column by column.

    Args:
        understanding: tells what a record is.
        schemas: of the tables.
        split: what is read.
    """

    def __init__(self, understanding: Understanding, schemas: Schemas, split: FileSplit) -> None:
        self._understanding, self._schemas, self._split = understanding, schemas, split
        #: Size of the text when it is sorted newest first.
        self._backwards = split.text.size if split.format.profile.newest_first else None
        self.events = self.unrecognised = 0
        #: Of the events, those that are only counted.
        self.counted = 0
        #: Records that could not be read, and line and reason of the first.
        self.faults = 0
        self.first_fault: tuple[int, str] | None = None
        #: What the rows that were taken say of their stream.
        self.signs: list[Sign] = []
        self._seen_at = (-1, 0)
        self._clear()

    def _clear(self) -> None:
        self._bytes = self._count = 0
        self._every: tuple[list[Any], ...] = tuple([] for _ in _EVERY)
        self._event: tuple[list[Any], ...] = tuple([] for _ in _EVENT_ONLY)
        self._captures: dict[str, tuple[list[int], list[Any]]] = {}
        self._others: tuple[list[Any], ...] = tuple([] for _ in _EVERY)
        self._counted: tuple[list[Any], ...] = tuple([] for _ in (*_EVERY[:-1], *_COUNTED_ONLY))
        self._joined = tuple(_Joined() for _ in _TABLE_OF)

    @property
    def full(self) -> bool:
        """Whether it is time to `take`."""
        return self._count >= MOST_ROWS or self._bytes >= MOST_BYTES

    def add(self, item: Found | Observation) -> None:
        """Adds an observation, or a record if some pattern knows it, or if none does and it may be evidence all the same."""
        if isinstance(item, Observation):
            self._add_observation(item)
        else:
            self._add_record(item)

    def add_together(self, items: Together) -> None:
        """Adds records that were read together, each as `add` would add it by itself."""
        kinds, places = self._understood(items)
        kind = kinds[items.which]
        for number, table in _TABLE_OF.items():
            which = np.flatnonzero(kind == number)
            if not len(which):
                continue
            joined = self._joined[number]
            joined.index.append(places[items.which[which]])
            joined.placed.append(self._placed(items, which, table))
            self._count += len(which)
            self._bytes += int((items.stops[which] - items.begins[which]).sum())
        events, others, counted, _ = np.bincount(kind, minlength=len(KINDS)).tolist()
        self.events += events + counted
        self.unrecognised += others
        self.counted += counted

    def _understood(self, items: Together) -> tuple[Ints, Ints]:
        """Of each thing that some records say, what it is, and its place among those of its table."""
        kinds = np.full(len(items.said) + sum(len(m.texts) for m in items.messages), NONE, np.int64)
        places = np.zeros(len(kinds), np.int64)
        one_by_one = [(i, record, False) for i, record in enumerate(items.said) if record is not None]
        first = len(items.said)
        for messages in items.messages:
            left = np.ones(len(messages.texts), bool)
            for many in self._understanding.of_many(messages):
                kinds[first + many.rows] = many.kind
                places[first + many.rows] = self._joined[many.kind].places_of(many)
                left[many.rows] = False
            one_by_one += [(first + i, messages.record(i), True) for i in np.flatnonzero(left).tolist()]
            first += len(left)
        for i, record, is_new in one_by_one:
            told = self._understanding.understand(record) if is_new else self._understanding.of(record)
            if told.fault:
                for line in items.lines[items.which == i].tolist():
                    self.note_fault(line, told.fault)
            kinds[i] = told.kind
            if told.kind != NONE:
                places[i] = self._joined[told.kind].place_of(record, told)
        return kinds, places

    def _joined_rows(self, table: str, joined: _Joined) -> Rows:
        """A table's rows of records that were read together: what several say is made ready once."""
        schema, index = self._schemas.by_table[table], joined.places()
        count, said = len(index), {name: array_of(values, schema.field(name).type) for name, values in self._said(table, joined)}
        said = self._with_many(schema, joined, {**said, **(self._taken_captures(schema, len(joined.said)) if table == EVENTS else {})})
        said = _cleaned(said)
        different = len(said["event" if table != UNRECOGNISED else "text"])
        if count != different or (index[1:] < index[:-1]).any():
            places = pa.array(index)
            said = {name: column.take(places) for name, column in said.items()}
        placed = {name: pa.concat_arrays([part[name] for part in joined.placed]) for name in joined.placed[0]}
        same = {"process_id": self._split.process_id, "path": self._split.path, "file_id": self._split.file_id}
        repeated = {name: pa.repeat(pa.scalar(value, pa.string()), count) for name, value in same.items() if name in schema.names}
        return Rows(table, _batch(schema, count, {**repeated, **placed, **said}))

    def _with_many(self, schema: pa.Schema, joined: _Joined, said: Columns) -> Columns:
        """What records say, and behind it what is told as columns."""
        if not joined.many:
            return said
        counts = [len(many.rows) for many in joined.many]
        which = pa.array(np.repeat(np.arange(len(counts)), counts))
        names = {*joined.many[0].same, *({"process_id"} & said.keys())}
        same = {name: [many.same.get(name, self._split.process_id) for many in joined.many] for name in names}
        several = [pa.table(many.columns) for many in joined.many if many.columns]
        behind = pa.concat_tables(several, promote_options="default").combine_chunks() if several else pa.table({})
        columns = {name: behind[name].chunk(0) for name in behind.column_names}
        columns |= {name: array_of(values, schema.field(name).type).take(which) for name, values in same.items()}
        parts = [pa.table(x) for x, count in ((said, len(joined.said)), (columns, sum(counts))) if count]
        whole = pa.concat_tables(parts, promote_options="default").combine_chunks()
        return {name: whole[name].chunk(0) for name in whole.column_names}

    def _taken_captures(self, schema: pa.Schema, count: int) -> dict[str, pa.Array]:
        """The columns of captures so far, which are forgotten."""
        taken, self._captures = self._captures, {}
        return {name: sparse_array(*column, count, schema.field(name).type) for name, column in taken.items()}

    def _said(self, table: str, joined: _Joined) -> Iterator[tuple[str, list[Any]]]:
        """Columns of what records say; captures go where those of single records do."""
        records = [record for record, _ in joined.said]
        yield "level", [record.level for record in records]
        yield "logger", [record.logger for record in records]
        if any(record.source for record in records):
            yield "process_id", [self._process(record) for record in records]
        if table == UNRECOGNISED:
            yield "text", [record.message[: MOST_TEXT + _OVERLAP] for record in records]
            return
        found = [told.found for _, told in joined.said if told.found is not None]
        yield "event", [f.event for f in found]
        yield "releases", [told.releases for _, told in joined.said]
        if table == COUNTED:
            return
        yield "thread", [record.thread for record in records]
        yield "source_line", [record.source_line for record in records]
        yield "message", [f.message[: MOST_TEXT + _OVERLAP] for f in found]
        yield "context", [f.context for f in found]
        yield "category", [f.category for f in found]
        for row, f in enumerate(found):
            self._capture(row, f.captures)

    def _placed(self, items: Together, which: Ints, table: str) -> dict[str, pa.Array]:
        """Columns of a table that say where some records stand, and when; of events their ids."""
        offsets = items.base + items.begins[which]
        times = items.times[which]
        untimed = times == NO_TIME
        columns = {
            "line": pa.array(items.lines[which]),
            "byte_offset": pa.array(offsets),
            "stream_pos": pa.array(self._split.base + (offsets if self._backwards is None else self._backwards - offsets)),
            "ts": pa.array(times, mask=untimed).cast(TIMESTAMP),
        }
        if table != UNRECOGNISED:
            columns["resolution_ms"] = pa.array(items.resolutions[which].astype(np.int32), mask=untimed)
        if table == EVENTS:
            columns["event_id"] = self._event_ids(items, which)
        return columns

    def _event_ids(self, items: Together, which: Ints) -> pa.StringArray:
        """What `_event_id` gives for each of some records."""
        buffer, begins = items.buffer, items.begins[which]
        stops = buffer.without_breaks(begins, items.stops[which])
        data, salt, blake2b = buffer.view, self._split.head_id, hashlib.blake2b
        offsets = (items.base + begins).tolist()
        digests = [
            blake2b(data[begin:stop], digest_size=_ID_BYTES, salt=salt, person=offset.to_bytes(16, "little")).digest()
            for begin, stop, offset in zip(begins.tolist(), stops.tolist(), offsets, strict=True)
        ]
        text = b"".join(digests).hex().encode()
        borders = np.arange(0, len(text) + 1, 2 * _ID_BYTES, dtype=np.int32)
        return pa.StringArray.from_buffers(len(digests), pa.py_buffer(borders), pa.py_buffer(text))

    def _process(self, record: Record) -> str | None:
        return f"{self._split.process_id}#{record.source}" if record.source else self._split.process_id

    def _capture(self, row: int, captures: Mapping[str, Any]) -> None:
        """Takes the captures of a row."""
        columns = self._captures
        for name, value in captures.items():
            column = columns.get(name)
            if column is None:
                column = columns[name] = ([], [])
            column[0].append(row)
            column[1].append(value)

    def _add_record(self, item: Found) -> None:
        record, raw, offset = item.record, item.raw, item.offset
        told = self._understanding.understand(record)
        if told.fault:
            self.note_fault(item.line, told.fault)
        if told.kind == NONE:
            return
        found = told.found
        self._count += 1
        self._bytes += len(raw)
        columns = (self._every, self._others, self._counted)[told.kind]
        process, lines, offsets, places, times, levels, loggers, *more = columns
        row = len(lines)
        process.append(self._process(record))
        lines.append(item.line)
        offsets.append(offset)
        places.append(self._split.base + (offset if self._backwards is None else self._backwards - offset))
        times.append(item.ts)
        levels.append(record.level)
        loggers.append(record.logger)
        if found is None:
            self.unrecognised += 1
            more[0].append(record.message[: MOST_TEXT + _OVERLAP])
            return
        self.events += 1
        resolution = None if item.ts is None else item.resolution_ms
        if told.kind == COUNT:
            self.counted += 1
            for column, value in zip(more, (resolution, told.releases, found.event), strict=True):
                column.append(value)
            return
        more[0].append(found.message[: MOST_TEXT + _OVERLAP])
        ids, files, resolutions, collectors, threads, source_lines, releases, contexts, events, categories = self._event
        ids.append(self._event_id(raw.rstrip(b"\r\n"), offset))
        files.append(self._split.file_id)
        resolutions.append(resolution)
        collectors.append(item.collector)
        threads.append(record.thread)
        source_lines.append(record.source_line)
        releases.append(told.releases)
        contexts.append(found.context)
        events.append(found.event)
        categories.append(found.category)
        self._capture(row, found.captures)

    def note_fault(self, line: int, reason: str) -> None:
        """Takes note of a record that could not be read."""
        self.faults += 1
        self.first_fault = self.first_fault or (line, reason)

    def _add_observation(self, seen: Observation) -> None:
        """Several may stand in one line: their ids differ by their number there."""
        number = self._seen_at[1] + 1 if self._seen_at[0] == seen.offset else 0
        self._seen_at = seen.offset, number
        self._count += 1
        self._bytes += len(seen.raw)
        self.events += 1
        row = len(self._every[0])
        raw = seen.raw.rstrip(b"\r\n") + (b"\0%d" % number if number else b"")
        event_id = self._event_id(raw, seen.offset)
        every = (
            self._split.process_id,
            seen.line,
            seen.offset,
            self._split.base + seen.offset,
            seen.ts,
            None,
            None,
            seen.message[: MOST_TEXT + _OVERLAP],
        )
        mine = (event_id, self._split.file_id, None if seen.ts is None else 1, None, None, None, None, None, seen.event, SNAPSHOT)
        for column, value in (*zip(self._every, every, strict=True), *zip(self._event, mine, strict=True)):
            column.append(value)
        self._capture(row, seen.captures)

    def _event_id(self, raw: bytes, offset: int) -> str:
        """An id that a file keeps when it grows or moves: of its beginning, of what stands there, and of the place."""
        return hashlib.blake2b(raw, digest_size=_ID_BYTES, salt=self._split.head_id, person=offset.to_bytes(16, "little")).hexdigest()

    def take(self) -> Iterator[Rows]:
        """The rows so far; the builder is empty afterwards."""
        rows = list(self._taken())
        self.signs += signs_of(part.batch for part in rows if part.table != UNRECOGNISED)
        self._clear()
        yield from rows

    def _taken(self) -> Iterator[Rows]:
        if self._every[0]:
            yield self._rows(EVENTS, dict(zip((*_EVERY, *_EVENT_ONLY), (*self._every, *self._event), strict=True)), len(self._every[0]))
        if self._others[0]:
            yield self._rows(UNRECOGNISED, dict(zip((*_EVERY[:-1], "text"), self._others, strict=True)), len(self._others[0]))
        if self._counted[0]:
            yield self._rows(COUNTED, dict(zip((*_EVERY[:-1], *_COUNTED_ONLY), self._counted, strict=True)), len(self._counted[0]))
        for table, joined in zip(_TABLE_OF.values(), self._joined, strict=True):
            if joined.index:
                yield self._joined_rows(table, joined)

    def _rows(self, table: str, columns: Mapping[str, list[Any]], count: int) -> Rows:
        schema = self._schemas.by_table[table]
        arrays = {name: array_of(values, schema.field(name).type) for name, values in columns.items()}
        arrays["path"] = pa.array([self._split.path] * count, pa.string())
        if table == EVENTS:
            arrays.update(self._taken_captures(schema, count))
        return Rows(table, _batch(schema, count, _cleaned(arrays)))


def _cleaned(columns: Mapping[str, pa.Array]) -> dict[str, pa.Array]:
    """Columns as they may become part of a table. Text does so here, and nowhere else: whatever it is, it goes without its secrets."""
    chosen = [name for name in columns if name not in _OURS]
    cleaned = {**columns, **dict(zip(chosen, scrubbed([columns[name] for name in chosen]), strict=True))}
    for name in cleaned.keys() & {"message", "text"}:
        cleaned[name] = pc.utf8_slice_codeunits(cleaned[name], 0, MOST_TEXT)
    return cleaned


def _batch(schema: pa.Schema, count: int, columns: Mapping[str, pa.Array]) -> pa.RecordBatch:
    """Rows of columns; a column that is not there is empty."""
    return pa.record_batch([columns[f.name] if f.name in columns else pa.nulls(count, f.type) for f in schema], schema=schema)
