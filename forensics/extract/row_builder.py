"""Recognised records to Arrow batches: one row a record, one column for each capture."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from forensics.catalogue.pattern_files import EventPattern
from forensics.catalogue.recogniser import Recogniser
from forensics.catalogue.releases import releases_of
from forensics.errors import reason_of
from forensics.extract.chunks import Found
from forensics.extract.splits import FileSplit
from forensics.records.line_reader import Record
from forensics.redaction import scrubbed
from forensics.schema import Field, table_schema
from forensics.snapshots.observation import Observation

EVENTS, UNRECOGNISED = "event_row", "unrecognised_row"
MOST_TEXT = 2_000
#: So much more is read, so that a password that is cut in two is still seen to be one.
_OVERLAP = 500
#: Texts that no line can choose freely: ids, and words of this program.
_OURS = {"event_id", "file_id", "process_id", "path", "event", "category", "releases"}
#: Category of what snapshots say.
SNAPSHOT = "snapshot"
#: Rows, and bytes of records, that are collected before they are given on.
MOST_ROWS = 16_384
MOST_BYTES = 16 << 20
_EVENT_ONLY = ("event_id", "file_id", "resolution_ms", "collector_ts", "thread", "source_line", "releases", "context", "event", "category")
_EVERY = ("process_id", "line", "byte_offset", "stream_pos", "ts", "level", "logger", "message")


@dataclass(frozen=True)
class Schemas:
    """Arrow schemas of the tables that tasks write."""

    by_table: Mapping[str, pa.Schema]

    @classmethod
    def of(cls, captures: Iterable[Field]) -> Schemas:
        """With a column for each capture."""
        return cls({EVENTS: table_schema(EVENTS, captures), UNRECOGNISED: table_schema(UNRECOGNISED)})


@dataclass(frozen=True)
class Rows:
    """Rows of a table."""

    table: str
    batch: pa.RecordBatch


class RowBuilder:
    """Collects rows of one file, column by column.

    Args:
        recogniser: tells what a record is.
        schemas: of the tables.
        split: what is read.
    """

    def __init__(self, recogniser: Recogniser, schemas: Schemas, split: FileSplit) -> None:
        self._recogniser, self._schemas, self._split = recogniser, schemas, split
        #: Size of the text when it is sorted newest first.
        self._backwards = split.text.size if split.format.profile.newest_first else None
        self.events = self.unrecognised = 0
        #: Records that could not be read, and line and reason of the first.
        self.faults = 0
        self.first_fault: tuple[int, str] | None = None
        self._known_releases: dict[tuple[object, ...], str | None] = {}
        self._seen_at = (-1, 0)
        self._clear()

    def _clear(self) -> None:
        self._bytes = self._count = 0
        self._every: tuple[list[Any], ...] = tuple([] for _ in _EVERY)
        self._event: tuple[list[Any], ...] = tuple([] for _ in _EVENT_ONLY)
        self._captures: dict[str, tuple[list[int], list[Any]]] = {}
        self._others: tuple[list[Any], ...] = tuple([] for _ in _EVERY)

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

    def _add_record(self, item: Found) -> None:
        record, raw, offset = item.record, item.raw, item.offset
        logger = record.logger
        found, fault = None, record.fault
        try:
            if not fault:
                found = self._recogniser.recognise(logger, record.message, record.thread, record.context, record.pairs)
            event_id = self._event_id(raw.rstrip(b"\r\n"), offset)
            known_releases = self._releases(found.pattern, record) if found else None
        except Exception as e:
            found, fault = None, reason_of(e)
        if fault:
            self.note_fault(item.line, fault)
        elif found is None and not self._recogniser.is_worth_a_row(logger, record.level, record.message):
            return
        self._count += 1
        self._bytes += len(raw)
        process, lines, offsets, places, times, levels, loggers, messages = self._others if found is None else self._every
        row = len(lines)
        process.append(f"{self._split.process_id}#{record.source}" if record.source else self._split.process_id)
        lines.append(item.line)
        offsets.append(offset)
        places.append(self._split.base + (offset if self._backwards is None else self._backwards - offset))
        times.append(item.ts)
        levels.append(record.level)
        loggers.append(logger)
        if found is None:
            self.unrecognised += 1
            messages.append(record.message[: MOST_TEXT + _OVERLAP])
            return
        self.events += 1
        messages.append(found.message[: MOST_TEXT + _OVERLAP])
        ids, files, resolutions, collectors, threads, source_lines, releases, contexts, events, categories = self._event
        ids.append(event_id)
        files.append(self._split.file_id)
        resolutions.append(None if item.ts is None else item.resolution_ms)
        collectors.append(item.collector)
        threads.append(record.thread)
        source_lines.append(record.source_line)
        releases.append(known_releases)
        contexts.append(found.context)
        events.append(found.event)
        categories.append(found.category)
        captures = self._captures
        for name, value in found.captures.items():
            column = captures.get(name)
            if column is None:
                column = captures[name] = ([], [])
            column[0].append(row)
            column[1].append(value)

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
        for name, value in seen.captures.items():
            rows, values = self._captures.setdefault(name, ([], []))
            rows.append(row)
            values.append(value)

    def _event_id(self, raw: bytes, offset: int) -> str:
        """An id that a file keeps when it grows or moves: of its beginning, of what stands there, and of the place."""
        return hashlib.blake2b(raw, digest_size=12, salt=self._split.head_id, person=offset.to_bytes(16, "little")).hexdigest()

    def _releases(self, block: EventPattern, record: Record) -> str | None:
        """Releases that can have printed a record; there are few different lines of source."""
        key = (id(block), record.logger, record.source_line, record.level)
        if key not in self._known_releases:
            if len(self._known_releases) >= MOST_ROWS:
                self._known_releases.clear()
            wording = "" if block.category == "other" else block.kafka
            self._known_releases[key] = releases_of(record.logger, record.source_line, record.level, wording)
        return self._known_releases[key]

    def take(self) -> Iterator[Rows]:
        """The rows so far; the builder is empty afterwards."""
        if self._every[0]:
            yield self._rows(EVENTS, dict(zip((*_EVERY, *_EVENT_ONLY), (*self._every, *self._event), strict=True)), len(self._every[0]))
        if self._others[0]:
            yield self._rows(UNRECOGNISED, dict(zip((*_EVERY[:-1], "text"), self._others, strict=True)), len(self._others[0]))
        self._clear()

    def _rows(self, table: str, columns: Mapping[str, list[Any]], count: int) -> Rows:
        schema = self._schemas.by_table[table]
        arrays = {}
        for field in schema:
            if field.name in columns:
                arrays[field.name] = _array(columns[field.name], field.type)
            elif field.name == "path":
                arrays[field.name] = pa.array([self._split.path] * count, field.type)
            else:
                arrays[field.name] = _sparse(self._captures.get(field.name), count, field.type)
        # Here, and nowhere else, text becomes part of a table: whatever it is, it goes without its secrets.
        chosen = [name for name in arrays if name not in _OURS]
        arrays.update(zip(chosen, scrubbed([arrays[name] for name in chosen]), strict=True))
        for name in arrays.keys() & {"message", "text"}:
            arrays[name] = pc.utf8_slice_codeunits(arrays[name], 0, MOST_TEXT)
        return Rows(table, pa.record_batch([arrays[name] for name in schema.names], schema=schema))


def _sparse(column: tuple[Sequence[int], Sequence[Any]] | None, count: int, kind: pa.DataType) -> pa.Array:
    """A column that has values in some rows only."""
    if column is None:
        return pa.nulls(count, kind)
    rows, values = column
    if pa.types.is_map(kind):
        values = [list(v.items()) if isinstance(v, dict) else v for v in values]
    if len(rows) == count:
        return _array(values, kind)
    places = np.zeros(count, np.int64)
    empty = np.ones(count, bool)
    places[list(rows)] = np.arange(len(rows))
    empty[list(rows)] = False
    return _array(values, kind).take(pa.array(places, mask=empty))


def _array(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """An array; a value that does not fit its type (a number of thirty digits, half a surrogate pair) is empty, or shown with U+FFFD."""
    try:
        return pa.array(values, kind)
    except (pa.ArrowException, UnicodeError, OverflowError, TypeError, ValueError):
        return pa.array([_fitting(v, kind) for v in values], kind)


def _fitting(value: Any, kind: pa.DataType) -> Any:  # noqa: ANN401  (a cell)
    if isinstance(value, str):
        value = value.encode("utf-8", "replace").decode("utf-8")
    try:
        pa.array([value], kind)
    except (pa.ArrowException, UnicodeError, OverflowError, TypeError, ValueError):
        return None
    return value
