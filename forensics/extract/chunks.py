"""Chunks that readers yield: some lines of a text, their records that may become rows, the classification of records, and the counts of all others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from forensics.catalogue.recogniser import Recognised, Recogniser
from forensics.catalogue.releases import releases_of
from forensics.errors import own_fault
from forensics.records.line_reader import Record
from forensics.records.vectorized.buffers import Buffer, Flags, Ints

#: The index of each record's value, and the values.
Values = tuple[Ints, pa.Array]
#: Kinds of records: an event; evidence that no pattern matches; an event that is only counted; not worth a row.
EVENT, OTHER, COUNT, NONE = KINDS = range(4)


class Classification(NamedTuple):
    """Classification of a record.

    Attributes:
        kind: `EVENT`, `OTHER`, `COUNT` or `NONE`.
        found: the event.
        releases: Kafka releases that can have printed it.
        fault: reason why it could not be processed; empty if it could.
    """

    kind: int
    found: Recognised | None = None
    releases: str | None = None
    fault: str = ""


NOTHING = Classification(NONE)


@dataclass(slots=True, eq=False)
class Content:
    """What several records have in common that differ only in their times, or also in some values.

    Attributes:
        record: any one of them.
        classification: None until it has been classified.
    """

    record: Record
    classification: Classification | None = None


class Classifier:
    """A classifier of records.

    Args:
        recogniser: knows the messages.
    """

    def __init__(self, recogniser: Recogniser) -> None:
        self._recogniser = recogniser

    def of(self, content: Content) -> Classification:
        """Return the classification of a content, which is kept in it."""
        if content.classification is None:
            content.classification = self.classify(content.record)
        return content.classification

    def classify(self, record: Record) -> Classification:
        """Classify a record."""
        found, fault = None, record.fault
        try:
            if not fault:
                found = self._recogniser.recognise(record.logger, record.message, record.thread, record.context, record.pairs)
            if found is not None and found.fault:
                fault = f"{found.event}: {found.fault}"
            elif found is not None:
                kind = COUNT if self._recogniser.is_counted(found, record.level) else EVENT
                kafka = "" if found.category == "other" else found.pattern.kafka
                return Classification(kind, found, releases_of(record.logger, record.source_line, record.level, kafka))
        except Exception as e:
            fault = own_fault(e)
        if fault:
            return Classification(OTHER, fault=fault)
        return Classification(OTHER) if self._recogniser.needs_row(record.logger, record.level, record.message) else NOTHING


def array_of(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Return an array. A number that is too large for its type becomes NULL; half a surrogate pair becomes U+FFFD."""
    if pa.types.is_map(kind):
        values = [list(v.items()) if isinstance(v, dict) else v for v in values]
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


def places_of(rows: Ints, count: int) -> Ints:
    """Return for each of `count` rows its index in `rows`; -1 if it is not one of them."""
    found = np.full(count, -1, np.int64)
    found[rows] = np.arange(len(rows))
    return found


@dataclass(frozen=True, slots=True)
class RecordBatch:
    """Records that may become rows, as columns. Content that several records share is held once.

    Attributes:
        contents: distinct contents of the records, None for one that no record here has.
        which: the content of each record: an index into `contents`.
        values: columns in which records with the same content differ: the index of each record's value, -1 if its content has it; and the values.
        buffer: holds their bytes.
        begins, stops: first byte of each record in the buffer, and the byte after its last.
        offsets: position of the first byte of each record in the text.
        lines: number of the first line of each record.
        again: True for each record that is equal to the record just before it, of the same process, with the same time.
        times: microseconds UTC, `NO_TIME` if a record has none.
        resolutions: resolution of each time, milliseconds.
        collectors: time that the wrapper of each record gives, microseconds UTC; empty if none has a wrapper.
    """

    contents: Sequence[Content | None]
    which: Ints
    values: Mapping[str, Values]
    buffer: Buffer
    begins: Ints
    stops: Ints
    offsets: Ints
    lines: Ints
    again: Flags
    times: Ints
    resolutions: Ints
    collectors: Sequence[int | None] = ()


@dataclass(slots=True)
class Chunk:
    """Some lines of a text.

    Attributes:
        lines: number of lines that begin in the range that is read.
        layouts: number of records by layout, including those that are not in `batch`; number of observations by kind of snapshot.
        times: times of all records that have one, in order of lines, microseconds UTC.
        in_order: True if a step between two times means that the process printed nothing in between.
        batch: records that may become rows. Consume it before requesting the next chunk, which reuses its memory.
        unfit: number of lines that belong to no record.
        first_unfit: number and bytes of the first of them.
        cut: numbers of lines whose end is not read.
        broken: numbers of lines where a record of a JSON document begins that is not valid JSON.
        no_times: numbers of lines where a record with an invalid time begins.
        zero_runs: line, position and size of zero bytes in place of text.
        unread: number of each line that could not be processed, and the reason.
        error: reason why the text could not be read to its end.
    """

    lines: int = 0
    layouts: Counter[str] = field(default_factory=Counter)
    times: Iterable[int] = ()
    in_order: bool = True
    batch: RecordBatch | None = None
    unfit: int = 0
    first_unfit: tuple[int, bytes] | None = None
    cut: list[int] = field(default_factory=list)
    broken: list[int] = field(default_factory=list)
    no_times: list[int] = field(default_factory=list)
    zero_runs: list[tuple[int, int, int]] = field(default_factory=list)
    unread: list[tuple[int, str]] = field(default_factory=list)
    error: str = ""

    def see_unfit(self, line: int, raw: bytes, count: int = 1) -> None:
        """Count lines that belong to no record, and keep the first of them."""
        self.unfit += count
        self.first_unfit = self.first_unfit or (line, raw)
