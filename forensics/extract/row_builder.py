"""Convert recognised records to Arrow batches: one row for each record, one column for each capture."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from forensics.errors import own_fault
from forensics.extract.chunks import COUNT, EVENT, KINDS, NONE, OTHER, Classifier, Content, RecordBatch, Values, array_of, places_of
from forensics.extract.repeated_lines import Doubled, repeated_rows
from forensics.extract.splits import FileSplit
from forensics.extract.stream_summaries import StreamSummary, summaries_of
from forensics.records.vectorized.buffers import Flags, Ints
from forensics.records.vectorized.line_fields import NO_TIME
from forensics.redaction import scrubbed
from forensics.schema import TIMESTAMP, Field, table_schema

#: Columns with the same value in all rows of a file.
_OF_FILES = ("process_id", "path", "file_id")
#: Text columns in which most values are different. In all others each different value is held, searched for secrets and written once.
_DIFFERENT = frozenset({"event_id", "message", "text"})
EVENTS, UNRECOGNISED, COUNTED = "event_row", "unrecognised_row", "counted_row"
MAX_TEXT = 2_000
#: Number of extra characters that are read, so that a password is recognised even if the limit cuts it in two.
_OVERLAP = 500
#: Texts that a log line cannot choose freely: words of this program; and the source, which becomes a part of the process ID.
_OURS = {"source", "event", "category", "releases"}
_ID_BYTES = 12
#: A place in the source, as Python's and Go's loggers print it in brackets: another one in each line of a client, so it is no thread.
_SOURCE_PLACE = re.compile(r"[\w.@/-]+\.(?:py|go|js|ts|rb|exs?|erl|cs|cpp|cc?|rs|java|kt|scala):\d+")
#: Rows, and bytes of records, that are collected into one batch.
MAX_ROWS = 32_768
#: After this many faults in a split, records with another one are not looked at singly.
_MAX_LOST = 100
MAX_BYTES = 16 << 20


@dataclass(frozen=True)
class Schemas:
    """Arrow schemas of the tables that tasks write; most text columns are dictionaries."""

    by_table: Mapping[str, pa.Schema]

    @classmethod
    def of(cls, captures: Iterable[Field]) -> Schemas:
        """Return the schemas with a column for each capture."""
        tables = {EVENTS: table_schema(EVENTS, captures), UNRECOGNISED: table_schema(UNRECOGNISED), COUNTED: table_schema(COUNTED)}
        return cls({table: held(schema) for table, schema in tables.items()})


def held(schema: pa.Schema) -> pa.Schema:
    """Return a table's schema with the types in which its columns are held until they are written."""
    dictionary = pa.dictionary(pa.int32(), pa.string())
    return pa.schema([f.with_type(dictionary) if f.type == pa.string() and f.name not in _DIFFERENT else f for f in schema])


@dataclass(frozen=True)
class Rows:
    """Rows of a table."""

    table: str
    batch: pa.RecordBatch


#: Table of each kind of record except the last.
_TABLE_OF = {EVENT: EVENTS, OTHER: UNRECOGNISED, COUNT: COUNTED}


class _Part(NamedTuple):
    """Records of one split and table that were read together.

    Attributes:
        table: the table.
        split: the split.
        contents, which, values: see `RecordBatch`; `which` and `values` of these records.
        placed: columns of their positions and times.
        again: True for each record that is equal to the one before it.
    """

    table: str
    split: FileSplit
    contents: Sequence[Content | None]
    which: Ints
    values: Mapping[str, Values]
    placed: Mapping[str, pa.Array]
    again: Flags

    def at(self, some: slice) -> _Part:
        """Return the part with some of its records."""
        values = {name: (at[some], array) for name, (at, array) in self.values.items()}
        placed = {name: array[some] for name, array in self.placed.items()}
        return self._replace(which=self.which[some], values=values, placed=placed, again=self.again[some])


class Unbuilt(NamedTuple):
    """Records of which no row could be made: table, line of the first, number, and reason."""

    table: str
    line: int
    number: int
    reason: str


def _thread(printed: str | None) -> str | None:
    """Return a thread, None if the layout has a place in the source where others have the thread."""
    return None if printed is not None and ":" in printed and _SOURCE_PLACE.fullmatch(printed) else printed


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
        #: Records of which no row could be made, by path and start of their split.
        self.lost: dict[tuple[str, int], list[Unbuilt]] = {}
        self._clear()

    def _clear(self) -> None:
        self._bytes = self._count = 0
        self._parts: list[_Part] = []

    @property
    def full(self) -> bool:
        """Return True if there is enough to `take`."""
        return self._count >= MAX_ROWS or self._bytes >= MAX_BYTES

    def add(self, items: RecordBatch, split: FileSplit) -> tuple[Ints, list[tuple[int, str]]]:
        """Add those records of a split that a pattern matches, or that may be evidence although no pattern does.

        Returns:
            The number of records of each of `KINDS`; and the line and reason of each record that could not be processed.
        """
        classified = [None if content is None else self._classifier.of(content) for content in items.contents]
        kinds = np.array([NONE if c is None else c.kind for c in classified], np.int64)
        faulty = ((i, c.fault) for i, c in enumerate(classified) if c is not None and c.fault)
        faults = [(line, fault) for i, fault in faulty for line in items.lines[items.which == i].tolist()]
        kind = kinds[items.which]
        # A record whose first line is cut, or partly overwritten, shows only that its process printed it.
        kind[_cut(items, np.flatnonzero(kind == EVENT), split)] = COUNT
        for number, table in _TABLE_OF.items():
            which = np.flatnonzero(kind == number)
            if not len(which):
                continue
            values = {name: (at[which], array) for name, (at, array) in items.values.items()} if table == EVENTS else {}
            placed = _placed(items, which, table, split)
            self._parts.append(_Part(table, split, items.contents, items.which[which], values, placed, items.again[which]))
            self._count += len(which)
            self._bytes += int((items.stops[which] - items.begins[which]).sum())
        return np.bincount(kind, minlength=len(KINDS)), faults

    def _rows(self, table: str, parts: Sequence[_Part]) -> pa.RecordBatch:
        """Return a table's rows of records that were read together; content that several share is converted once."""
        schema, sizes = self._schemas.by_table[table], [len(part.which) for part in parts]
        contents, index = _joined(parts)
        types = {field.name: field.type for field in schema}
        columns = {name: (_cells(cells, types.get(name, pa.string())), at[index]) for name, cells, at in self._columns(table, contents)}
        for name in {name for part in parts for name in part.values}:
            columns[name] = _with_values(name, columns.get(name, (None, np.full(len(index), -1))), parts)
        cleaned = _cleaned({name: column for name, (column, _) in columns.items()})
        rows = {name: _placed_at(cleaned[name], at, types.get(name, pa.string())) for name, (_, at) in columns.items()}
        of_files = {name: _repeated([getattr(part.split, name) for part in parts], sizes) for name in _OF_FILES}
        if (source := rows.pop("source", None)) is not None:
            own = of_files["process_id"].cast(pa.string())
            of_files["process_id"] = pc.coalesce(pc.binary_join_element_wise(own, source, "#"), own).dictionary_encode()
        placed = {name: pa.concat_arrays([part.placed[name] for part in parts]) for name in parts[0].placed}
        return _batch(schema, len(index), {**of_files, **placed, **rows})

    def _columns(self, table: str, contents: Sequence[Content]) -> Iterator[tuple[str, Sequence[Any], Ints]]:
        """Yield columns of contents: name, values, and the place of each content's value among them, -1 for none."""
        records, every = [content.record for content in contents], np.arange(len(contents))
        yield "level", [record.level for record in records], every
        yield "logger", [record.logger for record in records], every
        if any(record.source for record in records):
            yield "source", [record.source or None for record in records], every
        if table == UNRECOGNISED:
            yield "text", [record.message[: MAX_TEXT + _OVERLAP] for record in records], every
            return
        classified = [self._classifier.of(content) for content in contents]
        found = [c.found for c in classified if c.found is not None]
        yield "event", [f.event for f in found], every
        yield "releases", [c.releases for c in classified], every
        if table == COUNTED:
            return
        yield "thread", [_thread(record.thread) for record in records], every
        yield "source_line", [record.source_line for record in records], every
        yield "message", [f.message[: MAX_TEXT + _OVERLAP] for f in found], every
        yield "context", [f.context for f in found], every
        yield "category", [f.category for f in found], every
        captures: dict[str, tuple[list[int], list[Any]]] = {}
        for row, f in enumerate(found):
            for name, value in f.captures.items():
                column = captures.get(name)
                if column is None:
                    column = captures[name] = ([], [])
                column[0].append(row)
                column[1].append(value)
        for name, (rows, values) in captures.items():
            yield name, values, places_of(np.array(rows), len(found))

    def take(self) -> Iterator[Rows]:
        """Yield the rows so far; the builder is empty afterwards. Records of which no row can be made are in `lost`."""
        parts = self._parts
        self._clear()
        return self._taken(parts)

    def _taken(self, parts: Sequence[_Part]) -> Iterator[Rows]:
        try:
            rows = {table: self._rows(table, mine) for table in _TABLE_OF.values() if (mine := [part for part in parts if part.table == table])}
            again = np.concatenate([np.empty(0, bool), *(part.again for part in parts if part.table == EVENTS)])
            doubled: list[tuple[str, Doubled]] = []
            if again.any():
                left_out, doubled = repeated_rows(rows[EVENTS], again)
                rows[EVENTS] = rows[EVENTS].filter(pa.array(~left_out))
            summaries = list(summaries_of(rows.get(EVENTS), rows.get(COUNTED)))
        except Exception as e:
            for fewer in self._divided(parts, e):
                yield from self._taken(fewer)
            return
        for path, found in doubled:
            self.doubled.setdefault(path, []).append(found)
        for path, summary in summaries:
            self.summaries.setdefault(path, []).append(summary)
        yield from (Rows(table, batch) for table, batch in rows.items() if batch.num_rows)

    def _divided(self, parts: Sequence[_Part], error: Exception) -> Iterator[list[_Part]]:
        """Yield two halves of some records, of which one at least is at fault; note a record that fails alone, or many, as lost."""
        if len(parts) > 1:
            middle = len(parts) // 2
            yield from (list(parts[:middle]), list(parts[middle:]))
            return
        (part,) = parts
        lost, size = self.lost.setdefault((part.split.path, part.split.start), []), len(part.which)
        if size == 1 or len(lost) >= _MAX_LOST:
            lost.append(Unbuilt(part.table, part.placed["line"][0].as_py(), size, own_fault(error)))
        else:
            yield from ([part.at(slice(0, size // 2))], [part.at(slice(size // 2, size))])


def _cut(items: RecordBatch, which: Ints, split: FileSplit) -> Ints:
    """Return those of some records whose first line touches a lost range."""
    if not split.text.lost or not len(which):
        return which[:0]
    begins, ends = np.array([(lost.from_byte, lost.to_byte) for lost in split.text.lost], np.int64).T
    offsets = items.offsets[which]
    sizes = items.stops[which] - items.begins[which]
    at = np.minimum(np.searchsorted(ends, offsets, side="right"), len(ends) - 1)
    touched = np.flatnonzero((begins[at] < offsets + sizes) & (offsets < ends[at]))
    firsts = [items.buffer.slice(int(items.begins[i]), int(items.stops[i])).find(b"\n") for i in which[touched].tolist()]
    reach = np.where(np.array(firsts, np.int64) < 0, sizes[touched], firsts)
    cut: Ints = which[touched[begins[at[touched]] < offsets[touched] + reach]]
    return cut


def _joined(parts: Sequence[_Part]) -> tuple[list[Content], Ints]:
    """Return the distinct contents of some records, and the index of each record's content."""
    contents: dict[int, Content] = {}
    numbers: dict[int, int] = {}
    index = []
    for part in parts:
        used, which = np.unique(part.which, return_inverse=True)
        mine = [part.contents[i] for i in used.tolist()]
        contents.update((id(content), content) for content in mine if content is not None)
        index.append(np.array([numbers.setdefault(id(content), len(numbers)) for content in mine])[which])
    return list(contents.values()), np.concatenate(index)


def _cells(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    return array_of(values, kind.value_type if pa.types.is_dictionary(kind) else kind)


def _with_values(name: str, column: tuple[pa.Array | None, Ints], parts: Sequence[_Part]) -> tuple[pa.Array, Ints]:
    """Return a column followed by the values of those records that have their own, and the place of each record's value in it."""
    arrays, at, row = [array for array in column[:1] if array is not None], column[1], 0
    for part in parts:
        if name in part.values:
            own, array = part.values[name]
            rows = np.flatnonzero(own >= 0)
            at[row + rows] = sum(map(len, arrays)) + own[rows]
            arrays.append(array)
        row += len(part.which)
    return pa.concat_arrays(arrays), at


def _placed_at(column: pa.Array, at: Ints, kind: pa.DataType) -> pa.Array:
    """Return a column with the value at each place; -1 is NULL."""
    if not pa.types.is_dictionary(kind):
        return column if np.array_equal(at, np.arange(len(column))) else column.take(pa.array(at, mask=at < 0))
    encoded = column.dictionary_encode()
    codes = np.append(encoded.indices.fill_null(-1).to_numpy(), np.int32(-1))[at]
    return pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), encoded.dictionary)


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


def _repeated(values: Sequence[str | None], sizes: Sequence[int]) -> pa.DictionaryArray:
    """Return a column in which each value is repeated."""
    encoded = pa.array(values, pa.string()).dictionary_encode()
    return encoded.take(pa.array(np.repeat(np.arange(len(sizes)), sizes)))


def _cleaned(columns: Mapping[str, pa.Array]) -> dict[str, pa.Array]:
    """Return columns that are ready for a table. Secrets are removed from all text here, and nowhere else."""
    chosen = [name for name in columns if name not in _OURS]
    cleaned = {**columns, **dict(zip(chosen, scrubbed([columns[name] for name in chosen]), strict=True))}
    for name in cleaned.keys() & {"message", "text"}:
        if (pc.max(pc.binary_length(cleaned[name])).as_py() or 0) > MAX_TEXT:
            cleaned[name] = pc.utf8_slice_codeunits(cleaned[name], 0, MAX_TEXT)
    return cleaned


def _batch(schema: pa.Schema, count: int, columns: Mapping[str, pa.Array]) -> pa.RecordBatch:
    """Return rows made of columns; a missing column is NULL."""
    return pa.record_batch([columns[f.name] if f.name in columns else pa.nulls(count, f.type) for f in schema], schema=schema)
