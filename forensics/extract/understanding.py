"""What records are: one by one, and many at a time."""

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

_MOST_KNOWN = 16_384
#: What a record may be: an event; evidence that no pattern knows; an event that is only counted; worth no row.
EVENT, OTHER, COUNT, NONE = KINDS = range(4)


class Told(NamedTuple):
    """What a record is.

    Attributes:
        kind: `EVENT`, `OTHER`, `COUNT` or `NONE`.
        found: the event.
        releases: that can have printed it.
        fault: why it could not be read, empty when it could.
    """

    kind: int
    found: Recognised | None = None
    releases: str | None = None
    fault: str = ""


NOTHING = Told(NONE)


@dataclass(frozen=True, slots=True)
class ManyTold:
    """What many messages are of which one block is.

    Attributes:
        kind: `EVENT` or `COUNT`.
        rows: which of the messages.
        same: columns whose value is the same for all of them.
        columns: the others, captures among them.
    """

    kind: int
    rows: Ints
    same: dict[str, Any]
    columns: Columns


class Understanding:
    """What records are. Logs say again what they and others have said: the same object is understood once.

    Args:
        recogniser: knows the messages.
    """

    def __init__(self, recogniser: Recogniser) -> None:
        self._recogniser, self._many = recogniser, ManyMessages(recogniser)
        self._known_releases: dict[tuple[object, ...], str | None] = {}
        #: By the identity of records, which are kept so that no other takes it.
        self._told: dict[int, tuple[Record, Told]] = {}

    def of(self, record: Record) -> Told:
        """What a record is, which may be the same object as one before."""
        known = self._told.get(id(record))
        if known is None:
            if len(self._told) >= _MOST_KNOWN:
                self._told.clear()
            known = self._told[id(record)] = (record, self.understand(record))
        return known[1]

    def understand(self, record: Record) -> Told:
        """What a record is; it is not kept."""
        found, fault = None, record.fault
        try:
            if not fault:
                found = self._recogniser.recognise(record.logger, record.message, record.thread, record.context, record.pairs)
            if found is not None and found.fault:
                fault = f"{found.event}: {found.fault}"
            elif found is not None:
                kind = COUNT if self._recogniser.is_counted(found, record.level) else EVENT
                return Told(kind, found, self._releases(found.pattern, record.logger, record.source_line, record.level))
        except Exception as e:
            fault = reason_of(e)
        if fault:
            return Told(OTHER, fault=fault)
        return Told(OTHER) if self._recogniser.is_worth_a_row(record.logger, record.level, record.message) else NOTHING

    def of_many(self, messages: Messages) -> list[ManyTold]:
        """What messages of one line of source are, as `understand` tells it of each; those that are in no answer are left to that."""
        try:
            return list(self._of_many(messages))
        except Exception:  # one by one, it is named whose fault it is
            return []

    def _of_many(self, messages: Messages) -> Iterator[ManyTold]:
        logger, level = messages.logger, messages.level
        for found in self._many.recognise(logger, messages.texts):
            event = found.event
            releases = self._releases(event, logger, messages.source_line, level)
            counted = {"level": level, "logger": logger, "event": event.name, "releases": releases}
            whole = {**counted, "category": event.category, "source_line": messages.source_line}
            columns = {"message": array_of(found.messages, pa.string()), "context": array_of(found.contexts, pa.string()), **found.captures}
            if not event.counted or self._recogniser.is_error(level):
                yield ManyTold(EVENT, found.rows, whole, columns)
                continue
            told = np.zeros(len(found.rows), bool)
            for name in found.captures.keys() & self._recogniser.telling:
                told |= found.captures[name].is_valid().to_numpy(zero_copy_only=False)
            if told.any():
                yield ManyTold(EVENT, found.rows[told], whole, {name: column.filter(pa.array(told)) for name, column in columns.items()})
            if not told.all():
                yield ManyTold(COUNT, found.rows[~told], counted, {})

    def _releases(self, block: EventPattern, logger: str | None, source_line: int | None, level: str | None) -> str | None:
        """Releases that can have printed a record; there are few different lines of source."""
        key = (id(block), logger, source_line, level)
        if key not in self._known_releases:
            if len(self._known_releases) >= _MOST_KNOWN:
                self._known_releases.clear()
            wording = "" if block.category == "other" else block.kafka
            self._known_releases[key] = releases_of(logger, source_line, level, wording)
        return self._known_releases[key]
