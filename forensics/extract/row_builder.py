"""Convert recognised records to Arrow batches: one row for each record, one column for each capture."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from forensics.extract.chunks import (
    COUNT,
    EVENT,
    KINDS,
    NONE,
    OTHER,
    BulkClassification,
    Classifier,
    Columns,
    Content,
    RecordBatch,
    array_of,
    sparse_array,
)  # fmt: skip
from forensics.extract.repeated_lines import Doubled, repeated_rows
from forensics.extract.splits import FileSplit
from forensics.extract.stream_summaries import StreamSummary, summaries_of
from forensics.records.line_reader import Record
from forensics.records.vectorized.buffers import Flags, Ints
from forensics.records.vectorized.line_fields import NO_TIME
from forensics.redaction import scrubbed
from forensics.schema import TIMESTAMP, Field, table_schema

EVENTS, UNRECOGNISED, COUNTED = "event_row", "unrecognised_row", "counted_row"
MAX_TEXT = 2_000
#: Number of extra characters that are read, so that a password is recognised even if the limit cuts it in two.
_OVERLAP = 500
#: Texts that a log line cannot choose freely: IDs, and words of this program.
_OURS = {"event_id", "file_id", "process_id", "path", "event", "category", "releases"}
_ID_BYTES = 12
#: Rows, and bytes of records, that are collected into one batch.
MAX_ROWS = 32_768
MAX_BYTES = 16 << 20


@dataclass(frozen=True)
class Schemas:
    """Arrow schemas of the tables that tasks write."""

    by_table: Mapping[str, pa.Schema]

    @classmethod
    def of(cls, captures: Iterable[Field]) -> Schemas:
        """Return the schemas with a column for each capture."""
        events = table_schema(EVENTS, captures)
        return cls({EVENTS: events, UNRECOGNISED: table_schema(UNRECOGNISED), COUNTED: table_schema(COUNTED)})


@dataclass(frozen=True)
class Rows:
    """Rows of a table."""

    table: str
    batch: pa.RecordBatch


#: Table of each kind of record except the last.
_TABLE_OF = {EVENT: EVENTS, OTHER: UNRECOGNISED, COUNT: COUNTED}


@dataclass(slots=True)
class _Joined:
    """Records of a table that were read together.

    Attributes:
        contents: distinct contents that have been classified.
        many: contents that were classified as columns.
        index: content of each record, by chunk: an index into `contents`, or -1, -2 and so on for the concatenated rows of `many`.
        placed: columns of their positions and times, by chunk.
    """

    contents: list[Content] = field(default_factory=list)
    many: list[BulkClassification] = field(default_factory=list)
    index: list[Ints] = field(default_factory=list)
    placed: list[Columns] = field(default_factory=list)
    _places: dict[int, int] = field(default_factory=dict)
    _rows: int = 0

    def place_of(self, content: Content) -> int:
        """Return the index of a content in `contents`; append it if it is new."""
        place = self._places.setdefault(id(content), len(self.contents))
        if place == len(self.contents):
            self.contents.append(content)
        return place

    def places_of(self, many: BulkClassification) -> Ints:
        """Append some rows; return the index of each."""
        self.many.append(many)
        self._rows += many.count
        return np.arange(many.count - self._rows - 1, -self._rows - 1, -1)

    def places(self) -> Ints:
        """Return the content of each record as an index into `contents` followed by `many`."""
        index = np.concatenate(self.index)
        return np.where(index < 0, len(self.contents) - 1 - index, index)


class RowBuilder:
    """A collector of the rows of one file, column by column.

    Args:
        classifier: classifies records.
        schemas: schemas of the tables.
        split: the part of the file that is read.
    """

    def __init__(self, classifier: Classifier, schemas: Schemas, split: FileSplit) -> None:
        self._classifier, self._schemas, self._split = classifier, schemas, split
        #: Size of the text if its newest lines come first.
        self._backwards = split.text.size if split.format.profile.newest_first else None
        self.events = self.unrecognised = 0
        #: Number of events that are only counted.
        self.counted = 0
        #: Number of records that could not be processed; and the line and reason of the first.
        self.faults = 0
        self.first_fault: tuple[int, str] | None = None
        #: Summaries of the rows that were taken, by stream.
        self.summaries: list[StreamSummary] = []
        #: Events that were left out because they repeat the record before them.
        self.doubled: list[Doubled] = []
        self._clear()

    def _clear(self) -> None:
        self._bytes = self._count = 0
        self._captures: dict[str, tuple[list[int], list[Any]]] = {}
        self._joined = tuple(_Joined() for _ in _TABLE_OF)
        #: For each event, whether it is equal to the record before it.
        self._again: list[Flags] = []

    @property
    def full(self) -> bool:
        """Return True if there is enough to `take`."""
        return self._count >= MAX_ROWS or self._bytes >= MAX_BYTES

    def add(self, items: RecordBatch) -> None:
        """Add those records that a pattern matches, or that may be evidence although no pattern does."""
        kinds, places = self._classified(items)
        kind = kinds[items.which]
        for number, table in _TABLE_OF.items():
            which = np.flatnonzero(kind == number)
            if not len(which):
                continue
            joined = self._joined[number]
            joined.index.append(places[items.which[which]])
            joined.placed.append(self._placed(items, which, table))
            self._again += [items.again[which]] if table == EVENTS else []
            self._count += len(which)
            self._bytes += int((items.stops[which] - items.begins[which]).sum())
        events, others, counted, _ = np.bincount(kind, minlength=len(KINDS)).tolist()
        self.events += events + counted
        self.unrecognised += others
        self.counted += counted

    def _classified(self, items: RecordBatch) -> tuple[Ints, Ints]:
        """Return the kind of each distinct content of the records, and its index among those of its table."""
        kinds = np.full(len(items.contents), NONE, np.int64)
        places = np.zeros(len(kinds), np.int64)
        for i, content in enumerate(items.contents):
            if content is None:
                continue
            classified = self._classifier.of(content)
            if classified.fault:
                for line in items.lines[items.which == i].tolist():
                    self.note_fault(line, classified.fault)
            kinds[i] = classified.kind
            if classified.kind != NONE:
                places[i] = self._joined[classified.kind].place_of(content)
        whole = [(kinds, places), *((np.full(many.count, many.kind), self._joined[many.kind].places_of(many)) for many in items.many)]
        return tuple(np.concatenate(column) for column in zip(*whole, strict=True))  # type: ignore[return-value]

    def _joined_rows(self, table: str, joined: _Joined) -> pa.RecordBatch:
        """Return a table's rows of records that were read together; content that several share is converted once."""
        schema, index = self._schemas.by_table[table], joined.places()
        count, contents = len(index), {name: array_of(values, schema.field(name).type) for name, values in self._content_columns(table, joined)}
        contents = self._with_many(schema, joined, {**contents, **(self._taken_captures(schema, len(joined.contents)) if table == EVENTS else {})})
        contents = _cleaned(contents)
        different = len(contents["event" if table != UNRECOGNISED else "text"])
        if count != different or (index[1:] < index[:-1]).any():
            places = pa.array(index)
            contents = {name: column.take(places) for name, column in contents.items()}
        placed = {name: pa.concat_arrays([part[name] for part in joined.placed]) for name in joined.placed[0]}
        same = {"process_id": self._split.process_id, "path": self._split.path, "file_id": self._split.file_id}
        repeated = {name: pa.repeat(pa.scalar(value, pa.string()), count) for name, value in same.items() if name in schema.names}
        return _batch(schema, count, {**repeated, **placed, **contents})

    def _with_many(self, schema: pa.Schema, joined: _Joined, contents: Columns) -> Columns:
        """Return the columns of contents, followed by those that were classified as columns."""
        if not joined.many:
            return contents
        behind = pa.concat_tables([pa.table(many.columns) for many in joined.many], promote_options="default").combine_chunks()
        columns = {name: behind[name].chunk(0) for name in behind.column_names}
        count = sum(many.count for many in joined.many)
        if "process_id" in contents:
            columns["process_id"] = pa.repeat(pa.scalar(self._split.process_id, pa.string()), count)
        parts = [pa.table(x) for x, size in ((contents, len(joined.contents)), (columns, count)) if size]
        whole = pa.concat_tables(parts, promote_options="default").combine_chunks()
        return {name: whole[name].chunk(0) for name in whole.column_names}

    def _taken_captures(self, schema: pa.Schema, count: int) -> dict[str, pa.Array]:
        """Return the columns of captures so far, and forget them."""
        taken, self._captures = self._captures, {}
        return {name: sparse_array(*column, count, schema.field(name).type) for name, column in taken.items()}

    def _content_columns(self, table: str, joined: _Joined) -> Iterator[tuple[str, list[Any]]]:
        """Yield columns of the records' contents; captures are collected with those of single records."""
        records = [content.record for content in joined.contents]
        yield "level", [record.level for record in records]
        yield "logger", [record.logger for record in records]
        if any(record.source for record in records):
            yield "process_id", [self._process(record) for record in records]
        if table == UNRECOGNISED:
            yield "text", [record.message[: MAX_TEXT + _OVERLAP] for record in records]
            return
        classified = [self._classifier.of(content) for content in joined.contents]
        found = [c.found for c in classified if c.found is not None]
        yield "event", [f.event for f in found]
        yield "releases", [c.releases for c in classified]
        if table == COUNTED:
            return
        yield "thread", [record.thread for record in records]
        yield "source_line", [record.source_line for record in records]
        yield "message", [f.message[: MAX_TEXT + _OVERLAP] for f in found]
        yield "context", [f.context for f in found]
        yield "category", [f.category for f in found]
        for row, f in enumerate(found):
            self._capture(row, f.captures)

    def _placed(self, items: RecordBatch, which: Ints, table: str) -> dict[str, pa.Array]:
        """Return columns of a table with the positions and times of some records, and the IDs of events."""
        offsets = items.offsets[which]
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
            if items.collectors:
                columns["collector_ts"] = pa.array([items.collectors[i] for i in which.tolist()], TIMESTAMP)
        return columns

    def _event_ids(self, items: RecordBatch, which: Ints) -> pa.StringArray:
        """Return IDs that do not change when the file grows or moves: hashes of the file's beginning, the record's bytes and its position."""
        buffer, begins = items.buffer, items.begins[which]
        stops = buffer.without_breaks(begins, items.stops[which])
        data, salt, blake2b = buffer.view, self._split.head_id, hashlib.blake2b
        persons = np.zeros((len(which), 2), "<u8")
        persons[:, 0] = items.offsets[which]
        digests = [
            blake2b(data[begin:stop], digest_size=_ID_BYTES, salt=salt, person=person).digest()
            for begin, stop, person in zip(begins.tolist(), stops.tolist(), persons.view("S16").ravel().tolist(), strict=True)
        ]
        text = b"".join(digests).hex().encode()
        borders = np.arange(0, len(text) + 1, 2 * _ID_BYTES, dtype=np.int32)
        return pa.StringArray.from_buffers(len(digests), pa.py_buffer(borders), pa.py_buffer(text))

    def _process(self, record: Record) -> str | None:
        return f"{self._split.process_id}#{record.source}" if record.source else self._split.process_id

    def _capture(self, row: int, captures: Mapping[str, Any]) -> None:
        """Add the captures of a row."""
        columns = self._captures
        for name, value in captures.items():
            column = columns.get(name)
            if column is None:
                column = columns[name] = ([], [])
            column[0].append(row)
            column[1].append(value)

    def note_fault(self, line: int, reason: str) -> None:
        """Count a record that could not be processed, and keep the first reason."""
        self.faults += 1
        self.first_fault = self.first_fault or (line, reason)

    def take(self) -> Iterator[Rows]:
        """Yield the rows so far; the builder is empty afterwards."""
        rows = {table: self._joined_rows(table, joined) for table, joined in zip(_TABLE_OF.values(), self._joined, strict=True) if joined.index}
        again = np.concatenate(self._again) if self._again else np.empty(0, bool)
        self._clear()
        if again.any():
            left_out, doubled = repeated_rows(rows[EVENTS], again)
            self.doubled += doubled
            rows[EVENTS] = rows[EVENTS].filter(pa.array(~left_out))
        self.summaries += summaries_of(rows.get(EVENTS), rows.get(COUNTED))
        yield from (Rows(table, batch) for table, batch in rows.items() if batch.num_rows)


def _cleaned(columns: Mapping[str, pa.Array]) -> dict[str, pa.Array]:
    """Return columns that are ready for a table. Secrets are removed from all text here, and nowhere else."""
    chosen = [name for name in columns if name not in _OURS]
    cleaned = {**columns, **dict(zip(chosen, scrubbed([columns[name] for name in chosen]), strict=True))}
    for name in cleaned.keys() & {"message", "text"}:
        cleaned[name] = pc.utf8_slice_codeunits(cleaned[name], 0, MAX_TEXT)
    return cleaned


def _batch(schema: pa.Schema, count: int, columns: Mapping[str, pa.Array]) -> pa.RecordBatch:
    """Return rows made of columns; a missing column is NULL."""
    return pa.record_batch([columns[f.name] if f.name in columns else pa.nulls(count, f.type) for f in schema], schema=schema)
