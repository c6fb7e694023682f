"""Classify records, one by one or in bulk."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from forensics.catalogue.pattern_files import EventPattern
from forensics.catalogue.recogniser import Recognised, Recogniser
from forensics.catalogue.releases import releases_of
from forensics.errors import reason_of
from forensics.extract.arrays import array_of
from forensics.extract.chunks import Messages
from forensics.extract.many_messages import Columns, ManyMessages
from forensics.records.line_reader import Record
from forensics.records.vectorized.buffers import Ints

_MAX_KNOWN = 16_384
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


@dataclass(frozen=True, slots=True)
class BulkClassification:
    """Classification of messages that one block matches.

    Attributes:
        kind: `EVENT` or `COUNT`.
        rows: indices of the messages.
        same: columns whose value is the same for all of them.
        columns: the other columns, including captures.
    """

    kind: int
    rows: Ints
    same: dict[str, Any]
    columns: Columns


class Understanding:
    """A classifier of records. Logs repeat their own and each other's content: the same object is classified once.

    Args:
        recogniser: knows the messages.
    """

    def __init__(self, recogniser: Recogniser) -> None:
        self._recogniser, self._many = recogniser, ManyMessages(recogniser)
        self._known_releases: dict[tuple[object, ...], str | None] = {}
        #: Classifications by the identity of records. The records are kept so that their identities are not reused.
        self._known: dict[int, tuple[Record, Classification]] = {}

    def of(self, record: Record) -> Classification:
        """Return the classification of a record, which may be the same object as an earlier one."""
        known = self._known.get(id(record))
        if known is None:
            if len(self._known) >= _MAX_KNOWN:
                self._known.clear()
            known = self._known[id(record)] = (record, self.understand(record))
        return known[1]

    def understand(self, record: Record) -> Classification:
        """Classify a record without keeping the result."""
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

    def of_many(self, messages: Messages) -> list[BulkClassification]:
        """Classify messages of one source line with the results of `understand`. Messages in no answer are left to `understand`."""
        try:
            return list(self._of_many(messages))
        except Exception:  # one by one, the faulty message is reported
            return []

    def _of_many(self, messages: Messages) -> Iterator[BulkClassification]:
        logger, level = messages.logger, messages.level
        for found in self._many.recognise(logger, messages.texts):
            event = found.event
            releases = self._releases(event, logger, messages.source_line, level)
            counted = {"level": level, "logger": logger, "event": event.name, "releases": releases}
            whole = {**counted, "category": event.category, "source_line": messages.source_line}
            columns = {"message": array_of(found.messages, pa.string()), "context": array_of(found.contexts, pa.string()), **found.captures}
            if not event.counted or self._recogniser.is_error(level):
                yield BulkClassification(EVENT, found.rows, whole, columns)
                continue
            informative = np.zeros(len(found.rows), bool)
            for name in found.captures.keys() & self._recogniser.row_captures:
                informative |= found.captures[name].is_valid().to_numpy(zero_copy_only=False)
            if informative.any():
                yield BulkClassification(
                    EVENT, found.rows[informative], whole, {name: column.filter(pa.array(informative)) for name, column in columns.items()}
                )
            if not informative.all():
                yield BulkClassification(COUNT, found.rows[~informative], counted, {})

    def _releases(self, block: EventPattern, logger: str | None, source_line: int | None, level: str | None) -> str | None:
        """Return the releases that can have printed a record; there are few different source lines."""
        key = (id(block), logger, source_line, level)
        if key not in self._known_releases:
            if len(self._known_releases) >= _MAX_KNOWN:
                self._known_releases.clear()
            wording = "" if block.category == "other" else block.kafka
            self._known_releases[key] = releases_of(logger, source_line, level, wording)
        return self._known_releases[key]
