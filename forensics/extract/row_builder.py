"""Convert recognised records to Arrow batches: one row for each record, one column for each capture."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
from forensics.records.vectorized.buffers import Flags, Ints
from forensics.records.vectorized.line_fields import NO_TIME
from forensics.redaction import scrubbed
from forensics.schema import TIMESTAMP, Field, table_schema

#: Columns with the same value in all rows of a file.
_OF_FILES = ("process_id", "path", "file_id")
EVENTS, UNRECOGNISED, COUNTED = "event_row", "unrecognised_row", "counted_row"
MAX_TEXT = 2_000
#: Number of extra characters that are read, so that a password is recognised even if the limit cuts it in two.
_OVERLAP = 500
#: Texts that a log line cannot choose freely: words of this program; and the source, which becomes a part of the process ID.
_OURS = {"source", "event", "category", "releases"}
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
        splits: split of each chunk.
    """

    contents: list[Content] = field(default_factory=list)
    many: list[BulkClassification] = field(default_factory=list)
    index: list[Ints] = field(default_factory=list)
    placed: list[Columns] = field(default_factory=list)
    splits: list[FileSplit] = field(default_factory=list)
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
    """A collector of the rows of a task's files, column by column. Files share batches, because beginning a batch takes as long as hundreds of rows.

    Args:
        classifier: classifies records.
        schemas: schemas of the tables.
    """

    def __init__(self, classifier: Classifier, schemas: Schemas) -> None:
        self._classifier, self._schemas = classifier, schemas
        #: Summaries of the rows that were taken, and events that were left out because they repeat the record before them, by file.
        self.summaries: dict[str, list[StreamSummary]] = {}
        self.doubled: dict[str, list[Doubled]] = {}
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

    def add(self, items: RecordBatch, split: FileSplit) -> tuple[Ints, list[tuple[int, str]]]:
        """Add those records of a split that a pattern matches, or that may be evidence although no pattern does.

        Returns:
            The number of records of each of `KINDS`; and the line and reason of each record that could not be processed.
        """
        kinds, places, faults = self._classified(items)
        kind = kinds[items.which]
        for number, table in _TABLE_OF.items():
            which = np.flatnonzero(kind == number)
            if not len(which):
                continue
            joined = self._joined[number]
            joined.index.append(places[items.which[which]])
            joined.placed.append(_placed(items, which, table, split))
            joined.splits.append(split)
            self._again += [items.again[which]] if table == EVENTS else []
            self._count += len(which)
            self._bytes += int((items.stops[which] - items.begins[which]).sum())
        return np.bincount(kind, minlength=len(KINDS)), faults

    def _classified(self, items: RecordBatch) -> tuple[Ints, Ints, list[tuple[int, str]]]:
        """Return the kind of each distinct content of the records, its index among those of its table, and the faults of records."""
        faults: list[tuple[int, str]] = []
        kinds = np.full(len(items.contents), NONE, np.int64)
        places = np.zeros(len(kinds), np.int64)
        for i, content in enumerate(items.contents):
            if content is None:
                continue
            classified = self._classifier.of(content)
            if classified.fault:
                faults += [(line, classified.fault) for line in items.lines[items.which == i].tolist()]
            kinds[i] = classified.kind
            if classified.kind != NONE:
                places[i] = self._joined[classified.kind].place_of(content)
        whole = [(kinds, places), *((np.full(many.count, many.kind), self._joined[many.kind].places_of(many)) for many in items.many)]
        kinds, places = (np.concatenate(column) for column in zip(*whole, strict=True))
        return kinds, places, faults

    def _joined_rows(self, table: str, joined: _Joined) -> pa.RecordBatch:
        """Return a table's rows of records that were read together; content that several share is converted once."""
        schema, index = self._schemas.by_table[table], joined.places()
        types = {"source": pa.string(), **{field.name: field.type for field in schema}}
        count, contents = len(index), {name: array_of(values, types[name]) for name, values in self._content_columns(table, joined)}
        contents = self._with_many(schema, joined, {**contents, **(self._taken_captures(schema, len(joined.contents)) if table == EVENTS else {})})
        contents = _cleaned(contents)
        different = len(contents["event" if table != UNRECOGNISED else "text"])
        if count != different or (index[1:] < index[:-1]).any():
            places = pa.array(index)
            contents = {name: column.take(places) for name, column in contents.items()}
        placed = {name: pa.concat_arrays([part[name] for part in joined.placed]) for name in joined.placed[0]}
        sizes = [len(part) for part in joined.index]
        of_files = {name: _repeated([getattr(split, name) for split in joined.splits], sizes) for name in _OF_FILES}
        if (source := contents.pop("source", None)) is not None:
            of_one = pc.binary_join_element_wise(of_files["process_id"], source, "#")
            of_files["process_id"] = pc.coalesce(of_one, of_files["process_id"])
        return _batch(schema, count, {**of_files, **placed, **contents})

    def _with_many(self, schema: pa.Schema, joined: _Joined, contents: Columns) -> Columns:
        """Return the columns of contents, followed by those that were classified as columns."""
        if not joined.many:
            return contents
        behind = pa.concat_tables([pa.table(many.columns) for many in joined.many], promote_options="default").combine_chunks()
        columns = {name: behind[name].chunk(0) for name in behind.column_names}
        parts = [pa.table(x) for x in ((contents, columns) if joined.contents else (columns,))]
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
            yield "source", [record.source or None for record in records]
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

    def _capture(self, row: int, captures: Mapping[str, Any]) -> None:
        """Add the captures of a row."""
        columns = self._captures
        for name, value in captures.items():
            column = columns.get(name)
            if column is None:
                column = columns[name] = ([], [])
            column[0].append(row)
            column[1].append(value)

    def take(self) -> Iterator[Rows]:
        """Yield the rows so far; the builder is empty afterwards."""
        rows = {table: self._joined_rows(table, joined) for table, joined in zip(_TABLE_OF.values(), self._joined, strict=True) if joined.index}
        again = np.concatenate(self._again) if self._again else np.empty(0, bool)
        self._clear()
        if again.any():
            left_out, doubled = repeated_rows(rows[EVENTS], again)
            for path, found in doubled:
                self.doubled.setdefault(path, []).append(found)
            rows[EVENTS] = rows[EVENTS].filter(pa.array(~left_out))
        for path, summary in summaries_of(rows.get(EVENTS), rows.get(COUNTED)):
            self.summaries.setdefault(path, []).append(summary)
        yield from (Rows(table, batch) for table, batch in rows.items() if batch.num_rows)


def _placed(items: RecordBatch, which: Ints, table: str, split: FileSplit) -> dict[str, pa.Array]:
    """Return columns of a table with the positions and times of some records, and the IDs of events."""
    offsets = items.offsets[which]
    places = split.text.size - offsets if split.format.profile.newest_first else offsets
    times = items.times[which]
    untimed = times == NO_TIME
    columns = {
        "line": pa.array(items.lines[which]),
        "byte_offset": pa.array(offsets),
        "stream_pos": pa.array(split.base + places),
        "ts": pa.array(times, mask=untimed).cast(TIMESTAMP),
    }
    if table != UNRECOGNISED:
        columns["resolution_ms"] = pa.array(items.resolutions[which].astype(np.int32), mask=untimed)
    if table == EVENTS:
        columns["event_id"] = _event_ids(items, which, split.head_id)
        collectors = [items.collectors[i] for i in which.tolist()] if items.collectors else None
        columns["collector_ts"] = pa.nulls(len(which), TIMESTAMP) if collectors is None else pa.array(collectors, TIMESTAMP)
    return columns


def _event_ids(items: RecordBatch, which: Ints, salt: bytes) -> pa.StringArray:
    """Return IDs that do not change when the file grows or moves: hashes of the file's beginning, the record's bytes and its position."""
    buffer, begins = items.buffer, items.begins[which]
    stops = buffer.without_breaks(begins, items.stops[which])
    data, blake2b = buffer.view, hashlib.blake2b
    persons = np.zeros((len(which), 2), "<u8")
    persons[:, 0] = items.offsets[which]
    digests = [
        blake2b(data[begin:stop], digest_size=_ID_BYTES, salt=salt, person=person).digest()
        for begin, stop, person in zip(begins.tolist(), stops.tolist(), persons.view("S16").ravel().tolist(), strict=True)
    ]
    text = b"".join(digests).hex().encode()
    borders = np.arange(0, len(text) + 1, 2 * _ID_BYTES, dtype=np.int32)
    return pa.StringArray.from_buffers(len(digests), pa.py_buffer(borders), pa.py_buffer(text))


def _repeated(values: Sequence[str | None], sizes: Sequence[int]) -> pa.Array:
    """Return a column in which each value is repeated; most tasks have one file."""
    if len(set(values)) == 1:
        return pa.repeat(pa.scalar(values[0], pa.string()), sum(sizes))
    return pa.array(values, pa.string()).take(pa.array(np.repeat(np.arange(len(sizes)), sizes)))


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
