"""Recognised records to Arrow batches: one row a record, one column for each capture."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from forensics.events import Recogniser
from forensics.records import Record
from forensics.schema import Field, table_schema

KIND_EVENT, KIND_UNRECOGNISED, KIND_RANGE = "event", "unrecognised", "range"
MOST_TEXT = 2_000
_EVENT_ONLY = ("event_id", "file_id", "resolution_ms", "collector_ts", "thread", "source_line", "context", "event", "category")
_EVERY = ("process_id", "line", "byte_offset", "stream_pos", "ts", "level", "logger", "message")


def row_schema(fields: Iterable[Field] | None = None) -> pa.Schema:
    """Schema of what the data source yields: columns of `event_row` and `kind`.

    One schema serves all kinds, so that one pass writes them. Rows of kind unrecognised hold their text, and rows of kind range their
    statistics as JSON, in `message`; `tables` gives both their own columns.
    """
    return table_schema("event_row", fields).append(pa.field("kind", pa.string()))


class RowBuilder:
    """Collects rows of one file, column by column.

    Args:
        recogniser: tells what a record is.
        schema: as `row_schema` gives it.
        file_id, head_id, path, process_id: of the file.
        base: place of the file's first byte in its stream.
        backwards: size of the text when the file is sorted newest first, else None.
    """

    def __init__(
        self, recogniser: Recogniser, schema: pa.Schema, *, file_id: str, head_id: bytes, path: str, process_id: str, base: int, backwards: int | None
    ) -> None:
        self.recogniser, self.schema = recogniser, schema
        self.file_id, self.head_id, self.path, self.process_id = file_id, head_id, path, process_id
        self._base, self._backwards = base, backwards
        self.events = self.unrecognised = 0
        self._clear()

    def _clear(self) -> None:
        self._kinds: list[str] = []
        self._every: tuple[list[Any], ...] = tuple([] for _ in _EVERY)
        self._event: tuple[list[Any], ...] = tuple([] for _ in _EVENT_ONLY)
        self._captures: dict[str, tuple[list[int], list[Any]]] = {}

    def __len__(self) -> int:
        return len(self._kinds)

    def add(self, record: Record, raw: bytes, offset: int, line: int, ts: int | None, resolution: int, collector: int | None) -> None:
        """Adds a record if some pattern knows it, or if its logger is one that patterns are for.

        Args:
            record: as read.
            raw: its bytes.
            offset: place of its first byte in the text.
            line: number of its first line.
            ts: microseconds UTC.
            resolution: of ts, milliseconds.
            collector: microseconds UTC of its wrapper.
        """
        logger = record.logger
        found = self.recogniser.recognise(logger, record.message, record.thread, record.context)
        if found is None and (logger is None or not self.recogniser.is_interesting(logger)):
            return
        row = len(self._kinds)
        process, lines, offsets, places, times, levels, loggers, messages = self._every
        process.append(f"{self.process_id}#{record.source}" if record.source else self.process_id)
        lines.append(line)
        offsets.append(offset)
        places.append(self._base + (offset if self._backwards is None else self._backwards - offset))
        times.append(ts)
        levels.append(record.level)
        loggers.append(logger)
        if found is None:
            self.unrecognised += 1
            self._kinds.append(KIND_UNRECOGNISED)
            messages.append(record.message[:MOST_TEXT])
            for column in self._event:
                column.append(None)
            return
        self.events += 1
        self._kinds.append(KIND_EVENT)
        messages.append(found.message[:MOST_TEXT])
        ids, files, resolutions, collectors, threads, source_lines, contexts, events, categories = self._event
        ids.append(hashlib.blake2b(raw.rstrip(b"\r\n"), digest_size=12, salt=self.head_id, person=offset.to_bytes(16, "little")).hexdigest())
        files.append(self.file_id)
        resolutions.append(None if ts is None else resolution)
        collectors.append(collector)
        threads.append(record.thread)
        source_lines.append(record.source_line)
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

    def add_range(self, statistics: str) -> None:
        """Adds the statistics of a byte range, as JSON."""
        self._kinds.append(KIND_RANGE)
        for name, column in zip(_EVERY, self._every, strict=True):
            column.append(statistics if name == "message" else self.process_id if name == "process_id" else None)
        for name, column in zip(_EVENT_ONLY, self._event, strict=True):
            column.append(self.file_id if name == "file_id" else None)

    def take(self) -> pa.RecordBatch:
        """The rows so far; the builder is empty afterwards."""
        count = len(self._kinds)
        columns = dict(zip((*_EVERY, *_EVENT_ONLY), (*self._every, *self._event), strict=True))
        arrays = []
        for field in self.schema:
            if field.name in columns:
                arrays.append(_array(columns[field.name], field.type))
            elif field.name == "path":
                arrays.append(pa.array([self.path] * count, field.type))
            elif field.name == "kind":
                arrays.append(pa.array(self._kinds, field.type))
            else:
                arrays.append(_sparse(self._captures.get(field.name), count, field.type))
        self._clear()
        return pa.record_batch(arrays, schema=self.schema)


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
    except (pa.ArrowException, UnicodeError, OverflowError):
        return pa.array([_fitting(v, kind) for v in values], kind)


def _fitting(value: Any, kind: pa.DataType) -> Any:  # noqa: ANN401  (a cell)
    if isinstance(value, str):
        value = value.encode("utf-8", "replace").decode("utf-8")
    try:
        pa.array([value], kind)
    except (pa.ArrowException, UnicodeError, OverflowError):
        return None
    return value
