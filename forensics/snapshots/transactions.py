"""Read tables of `kafka-transactions`: list, describe, describe-producers and find-hanging (3.0 and later).

Tabs or blanks separate the columns; the names of the columns identify the table. Only the command shows of which partition `describe-producers` is.
"""

from __future__ import annotations

import re
from typing import Any

from forensics.snapshots.observation import Line, Observation, number_of

_LIST = {"TransactionalId", "Coordinator", "ProducerId", "TransactionState"}
_DESCRIBE = {"CoordinatorId", "TransactionalId", "ProducerId", "ProducerEpoch", "TransactionState"}
_PRODUCERS = {"ProducerId", "ProducerEpoch", "LastSequence", "LastTimestamp", "CurrentTransactionStartOffset"}
_HANGING = {"Topic", "Partition", "ProducerId", "ProducerEpoch", "StartOffset", "LastTimestamp"}
_TABLES = {
    "transaction_listed": _LIST,
    "transaction_described": _DESCRIBE,
    "producer_described": _PRODUCERS,
    "hanging_transaction_described": _HANGING,
}
_COMMAND = re.compile(r"\bkafka-transactions(?:\.sh|\.bat)?\s")
_OPTION = re.compile(r"\s--(topic|partition)[ =]+['\"]?([^\s'\"]+)")
_NUMBERS = {"Coordinator", "CoordinatorId", "ProducerId", "ProducerEpoch", "Partition", "StartOffset", "LastTimestamp"}


class TransactionTables:
    """A reader of such output, line by line."""

    def __init__(self) -> None:
        self._columns: list[str] = []
        self._event = ""
        self._partition: tuple[str, str] | None = None

    def see(self, line: str) -> bool:
        """Take note of a command and return True; return False for any other line."""
        if _COMMAND.search(line) is None:
            return False
        options = dict(_OPTION.findall(line))
        known = "describe-producers" in line and not line.rstrip().endswith("...")
        self._partition = (options["topic"], options["partition"]) if known and {"topic", "partition"} <= options.keys() else None
        return True

    def end(self) -> None:
        """Take note that another table begins."""
        self._columns = []

    def read(self, line: Line) -> Observation | bool:
        """Return the transaction or producer in a line; True for a header, False for any other line."""
        tokens = line.text.split()
        if event := table_of(line.text):
            self._columns, self._event = tokens, event
            return True
        values = [value.strip() for value in line.text.rstrip("\r\n").split("\t")] if "\t" in line.text else tokens
        while len(values) > len(self._columns) and not values[-1]:
            values.pop()
        if self._columns and len(values) == len(self._columns) - 1 and self._columns[-1] == "TopicPartitions":
            values.append("")
        if not self._columns or len(values) != len(self._columns):
            return False
        row = dict(zip(self._columns, values, strict=True))
        if any(number_of(row[name]) is None for name in _NUMBERS & row.keys()):
            return False
        return self._observed(line, row)

    def _observed(self, line: Line, row: dict[str, str]) -> Observation:
        topic, number = (row["Topic"], row["Partition"]) if "Topic" in row else self._partition or (None, None)
        if self._event != "producer_described" and "Topic" not in row:
            topic = number = None
        offset = row.get("CurrentTransactionStartOffset", row.get("StartOffset"))
        captures: dict[str, Any] = {
            "transactional_id": row.get("TransactionalId"), "producer_id": number_of(row["ProducerId"]), "epoch": number_of(row.get("ProducerEpoch")),
            "state": row.get("TransactionState"), "topic": topic, "partition": None if topic is None else f"{topic}-{number}",
            "offset": None if offset is None else number_of(offset), "broker_id": number_of(row.get("CoordinatorId", row.get("Coordinator"))),
            "partitions": [p for p in row["TopicPartitions"].split(",") if p] if "TopicPartitions" in row else None,
            "columns": {name: value for name, value in row.items() if name in _TIMES},
        }  # fmt: skip
        return Observation.of(line, self._event, captures)


_TIMES = ("LastTimestamp", "LastSequence", "TransactionTimeoutMs", "CurrentTransactionStartTimeMs", "TransactionDurationMs", "Duration(min)")


def table_of(text: str) -> str | None:
    """Return the event of the rows below a line, if it is the header of such a table."""
    names = set(text.split())
    return next((event for event, needed in _TABLES.items() if needed <= names), None)
