"""Classify records, one by one or many together, with the same result.

A log may print the same message a million times with other offsets, sizes and times. Matching is the smaller part of the cost of a single record. The
rest is typed values, an object for each record, and lists that become columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from forensics.catalogue.converters import CONVERTERS, NoValue
from forensics.catalogue.pattern_files import EventPattern
from forensics.catalogue.plans import Match, Plan
from forensics.catalogue.prefixes import task_of_client
from forensics.catalogue.recogniser import Recognised, Recogniser
from forensics.catalogue.releases import releases_of
from forensics.errors import reason_of
from forensics.records.line_reader import Record
from forensics.records.vectorized.buffers import Ints
from forensics.schema import CAPTURE_TYPES

#: Fewer messages are recognised one by one just as fast.
FEW = 32
#: Numbers with at most this many characters fit in 64 bits.
_DIGITS = 18

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
class Messages:
    """Different messages that one source line printed at one level.

    Attributes:
        texts: one line each, without blanks at either end.
    """

    logger: str
    level: str | None
    source_line: int | None
    texts: Sequence[str]

    def record(self, which: int) -> Record:
        """Return one of the messages as a record without a time."""
        return Record("", None, self.level, None, self.logger, self.source_line, None, self.texts[which])


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


class Classifier:
    """A classifier of records, one by one or many together.

    Args:
        recogniser: knows the messages.
    """

    def __init__(self, recogniser: Recogniser) -> None:
        self._recogniser, self._many = recogniser, _ManyMessages(recogniser)

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

    def of_many(self, messages: Messages) -> list[BulkClassification]:
        """Classify messages of one source line with the results of `classify`. Messages in no answer are left to `classify`."""
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

    @staticmethod
    def _releases(block: EventPattern, logger: str | None, source_line: int | None, level: str | None) -> str | None:
        """Return the releases that can have printed a record."""
        return releases_of(logger, source_line, level, "" if block.category == "other" else block.kafka)


@dataclass(frozen=True, slots=True)
class _Recognition:
    """Messages that one block recognises.

    Attributes:
        event: the block.
        rows: indices of the messages.
        messages: their texts without prefixes.
        contexts: the Connect context of each.
        captures: a column for each capture that any of them has.
    """

    event: EventPattern
    rows: Ints
    messages: Sequence[str]
    contexts: Sequence[str | None]
    captures: Columns


#: Row, message without prefixes, context, captures of prefixes, and the match of a message.
_Matched = tuple[int, str, str | None, Mapping[str, Any], Match]


class _NoColumn(Exception):
    """A text is not a valid value of its capture. The block's messages are then read one by one, which reports the faulty one."""


class _ManyMessages:
    """A recogniser of many messages together.

    Args:
        recogniser: knows the blocks.
    """

    def __init__(self, recogniser: Recogniser) -> None:
        self._recogniser, self._fields = recogniser, recogniser.catalogue.fields

    def recognise(self, logger: str, texts: Iterable[str]) -> Iterator[_Recognition]:
        """Yield the recognised messages of a logger by block; messages in no answer are left to `Recogniser.recognise`.

        Args:
            logger: the printed logger.
            texts: messages of one line each, without blanks at either end.
        """
        index = self._recogniser.index(logger)
        if index is None:
            return
        by_plan: dict[Plan, list[_Matched]] = {}
        for row, (rest, outer, context) in enumerate(self._recogniser.split_all(texts)):
            for plan in index.candidates(rest):
                if plan.may_match(rest) and (found := plan.matched(rest)) is not None:
                    by_plan.setdefault(plan, []).append((row, rest, context, outer, found))
                    break
        for plan, mine in by_plan.items():
            try:
                columns = self._captures(plan, [match for *_, match in mine])
            except _NoColumn:
                continue
            rows, messages, contexts, before, _ = zip(*mine, strict=True)
            self._add_surroundings(columns, before)
            columns = {name: column for name, column in columns.items() if column.null_count < len(column)}
            yield _Recognition(plan.event, np.array(rows, np.int64), messages, contexts, columns)

    def _captures(self, plan: Plan, found: Sequence[Match]) -> Columns:
        """Return a column for each capture of the given matches of a block.

        Raises:
            _NoColumn: a text is not a valid value of its capture.
        """
        if plan.simple is not None:
            groups = zip(*(match.groups() for match in found), strict=True)
            return {name: self._typed(name, texts, converter) for (name, converter), texts in zip(plan.simple, groups, strict=False)}
        columns: dict[str, tuple[list[int], list[Any]]] = {}
        for row, match in enumerate(found):
            for name, value in plan.captures(match).items():
                if isinstance(value, NoValue):
                    raise _NoColumn
                rows, values = columns.setdefault(name, ([], []))
                rows.append(row)
                values.append(value)
        return {name: sparse_array(*column, len(found), self._type(name)) for name, column in columns.items()}

    def _typed(self, name: str, texts: Sequence[str | None], converter: Callable[[str], Any] | None) -> pa.Array:
        """Return a column of a group's texts, with NULL for None."""
        kind = self._type(name)
        if converter is CONVERTERS["int"]:
            present = [text for text in texts if text]
            if len(present) == len(texts) and max(map(len, present)) <= _DIGITS:
                with suppress(ValueError):  # a text is not a number
                    return pa.array(np.fromiter(map(int, present), np.int64, len(present)), kind)
        values: dict[str | None, Any] = {text: converter(text) if converter else text for text in set(texts) if text is not None}
        if any(isinstance(value, NoValue) for value in values.values()):
            raise _NoColumn
        if len(values) * 4 > len(texts) or pa.types.is_string(kind):
            return array_of([values.get(text) for text in texts], kind)
        places = {text: place for place, text in enumerate(values)}
        return array_of(list(values.values()), kind).take(pa.array([places.get(text) for text in texts], pa.int32()))

    def _add_surroundings(self, columns: Columns, outer: Sequence[Mapping[str, Any]]) -> None:
        """Add the captures of prefixes and clients' names where the messages do not have these captures."""
        if "client_id" in columns:
            clients = columns["client_id"].to_pylist()
            of_task = {client: task_of_client(client) for client in set(clients) if client is not None}
            self._fill(columns, [of_task.get(client, {}) if "task" not in captures else {} for client, captures in zip(clients, outer, strict=True)])
        self._fill(columns, outer)

    def _fill(self, columns: Columns, rows: Sequence[Mapping[str, Any]]) -> None:
        """Add captures of each row where it has no value of that name."""
        different = {id(captures): captures for captures in rows}
        for name in sorted({name for captures in different.values() for name in captures}):
            more = array_of([captures.get(name) for captures in rows], self._type(name))
            columns[name] = pc.coalesce(columns[name], more) if name in columns else more

    def _type(self, name: str) -> pa.DataType:
        return CAPTURE_TYPES[self._fields[name].type]


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
