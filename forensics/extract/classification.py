"""Classify single records, and make columns of their contents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from forensics.catalogue.pattern_files import EventPattern
from forensics.catalogue.recogniser import Recognised, Recogniser
from forensics.catalogue.releases import releases_of
from forensics.errors import reason_of
from forensics.records.line_reader import Record

Columns = dict[str, pa.Array]
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
    """What several records have in common that differ only in their times.

    Attributes:
        record: any one of them.
        classification: None until it has been classified.
    """

    record: Record
    classification: Classification | None = None


@dataclass(frozen=True, slots=True)
class BulkClassification:
    """The classification of many records as columns.

    Attributes:
        kind: `EVENT` or `COUNT`.
        count: number of records.
        columns: columns of their contents, including captures.
    """

    kind: int
    count: int
    columns: Columns


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
                return Classification(kind, found, self._releases(found.pattern, record.logger, record.source_line, record.level))
        except Exception as e:
            fault = reason_of(e)
        if fault:
            return Classification(OTHER, fault=fault)
        return Classification(OTHER) if self._recogniser.needs_row(record.logger, record.level, record.message) else NOTHING

    @staticmethod
    def _releases(block: EventPattern, logger: str | None, source_line: int | None, level: str | None) -> str | None:
        """Return the releases that can have printed a record."""
        return releases_of(logger, source_line, level, "" if block.category == "other" else block.kafka)


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


def sparse_array(rows: Sequence[int], values: Sequence[Any], count: int, kind: pa.DataType) -> pa.Array:
    """Return a column of `count` rows that has values only in the given rows."""
    if len(rows) == count:
        return array_of(values, kind)
    places = np.zeros(count, np.int64)
    empty = np.ones(count, bool)
    places[list(rows)] = np.arange(len(rows))
    empty[list(rows)] = False
    return array_of(values, kind).take(pa.array(places, mask=empty))
