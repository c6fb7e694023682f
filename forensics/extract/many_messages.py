"""Convert many messages of one logger to columns, with the same result as `Recogniser` gives for each message alone.

A log may print the same message a million times with other offsets, sizes and times. Matching is the smaller part of the cost of a single record. The
rest is typed values, an object for each record, and lists that become columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from forensics.catalogue.converters import CONVERTERS, NoValue
from forensics.catalogue.pattern_files import EventPattern
from forensics.catalogue.plans import Match, Plan
from forensics.catalogue.prefixes import task_of_client
from forensics.catalogue.recogniser import Recogniser
from forensics.extract.arrays import array_of, sparse_array
from forensics.records.vectorized.buffers import Ints
from forensics.schema import CAPTURE_TYPES

#: Fewer messages are recognised one by one just as fast.
FEW = 32
#: Numbers with at most this many characters fit in 64 bits.
_DIGITS = 18

Columns = dict[str, pa.Array]


@dataclass(frozen=True, slots=True)
class Recognition:
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


class ManyMessages:
    """A recogniser of many messages together.

    Args:
        recogniser: knows the blocks.
    """

    def __init__(self, recogniser: Recogniser) -> None:
        self._recogniser, self._fields = recogniser, recogniser.catalogue.fields

    def recognise(self, logger: str, texts: Iterable[str]) -> Iterator[Recognition]:
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
            yield Recognition(plan.event, np.array(rows, np.int64), messages, contexts, columns)

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
