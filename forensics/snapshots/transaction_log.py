"""Read dumps of `__transaction_state`: the state of each transactional.id at the end of the dump.

`kafka-dump-log --transaction-log-decoder` prints the key `transactionalId=X` (1.0 to 2.3) or `transaction_metadata::transactionalId=X` (2.4 and later); the
console consumer's formatter prints `X::TransactionMetadata(...)` (0.11 to 3.8) or one JSON object per line (later). Memory grows with the ids.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from forensics.snapshots.observation import Item, Line, Observation, Strange, number_of

#: Values of `transactionStatus`, and the names that the others print.
_STATES = ("Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "Dead", "PrepareEpochFence")
_STATE_OF = {name.lower(): name for name in _STATES}
#: States in which no transaction is open.
_ENDED = {"Empty", "CompleteCommit", "CompleteAbort", "Dead"}
DUMPING = re.compile(r"Dumping \S.*__transaction_state-(\d+)")
_KEYED = re.compile(r"(?:\| )?(?:offset: (?P<at>\d+)\s.*? )?key: (?:transaction_metadata::)?transactionalId=(?P<id>.+?) payload: (?P<value>.*)$")
_TIME = re.compile(r"\b(?:CreateTime|LogAppendTime): (\d+)")
_DUMPED = re.compile(
    r"producerId:(?P<producer>-?\d+),producerEpoch:(?P<epoch>-?\d+),state=(?P<state>\w+),partitions=(?P<partitions>(?:Set\(|HashSet\(|\[).*[\])]),"
    r"txnLastUpdateTimestamp=(?P<at>-?\d+),txnTimeoutMs=(?P<timeout>-?\d+)$"
)
_PRINTED = re.compile(
    r"(?P<id>.+?)::(?:NULL|TransactionMetadata\(transactionalId=(?P<again>.*?), producerId=(?P<producer>-?\d+), .*?producerEpoch=(?P<epoch>-?\d+), "
    r"txnTimeoutMs=(?P<timeout>-?\d+), state=(?P<state>\w+), .*?topicPartitions=(?P<partitions>\w*\(.*?\)), txnStartTimestamp=(?P<start>-?\d+), "
    r"txnLastUpdateTimestamp=(?P<at>-?\d+)\))$"
)
_FORMATTED = '{"key":{"version":0,"data":{"transactionalId":"'
_OTHER = re.compile(
    r"(?:\| )?(?:offset: \d+ |key: unknown::)|Dumping |(?:Log s|S)tarting offset: |baseOffset: |Found \d+ invalid bytes|Non-consecutive|  \d+ is followed"
)
_PARTITION = re.compile(r"[\w.-]+-\d+")


def is_transaction_log(text: str) -> bool:
    """Return True if a line is of such a dump."""
    return bool(DUMPING.match(text) or text.startswith(_FORMATTED) or _KEYED.match(text) or "::TransactionMetadata(" in text and _PRINTED.match(text))


def names_in(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield where a record that is printed as text has its transactional.id and its partitions: begin, end, and capture."""
    keyed = _KEYED.match(text)
    value = _DUMPED.match(keyed["value"]) if keyed else _PRINTED.match(text)
    at = keyed.start("value") if keyed else 0
    yield from (
        (*found.span(name), "transactional_id") for found in (keyed, value) if found for name in ("id", "again") if found.groupdict().get(name)
    )
    if value and value["partitions"]:
        for found in _PARTITION.finditer(value["partitions"]):
            yield at + value.start("partitions") + found.start(), at + value.start("partitions") + found.end(), "partition"


@dataclass(slots=True)
class _State:
    """The last record of a transactional.id.

    Attributes:
        line: its line.
        captures: its captures.
        start_ms: when the transaction began; None: unknown.
    """

    line: Line
    captures: dict[str, Any]
    timeout_ms: int | None
    updated_ms: int | None
    start_ms: int | None


class TransactionLog:
    """A reader of the records, one by one."""

    def __init__(self) -> None:
        self._states: dict[str, _State] = {}
        #: Time of the latest record: the dump was not taken before.
        self._last_ms: int | None = None

    def read(self, lines: Iterable[Line]) -> Iterator[Item]:
        """Yield what does not fit, and at the end the last record of each id."""
        for line in lines:
            text = line.text.strip()
            if text and not self._take(line, text) and not _OTHER.match(text):
                yield Strange(line.number, "")
        for state in self._states.values():
            times = {"CurrentTransactionStartTimeMs": state.start_ms, "TransactionTimeoutMs": state.timeout_ms, "LastUpdateTimeMs": state.updated_ms}
            columns = {name: str(value) for name, value in times.items() if value is not None}
            ts = None if self._last_ms is None else self._last_ms * 1000
            captures = {**state.captures, "columns": columns}
            yield Observation.of(state.line, "transaction_stored", captures, ts, f"{captures['transactional_id']}: {captures['state']}")

    def _take(self, line: Line, text: str) -> bool:
        """Take a record and return True; return False if a line is none."""
        if text.startswith("{"):
            return self._formatted(line, text)
        if keyed := _KEYED.match(text):
            value, name = _DUMPED.match(keyed["value"]), keyed["id"]
            if value is None and keyed["value"] != "<DELETE>":
                return False
            if at := _TIME.search(text[: keyed.start("id")]):
                self._see(int(at[1]))
        else:
            value = _PRINTED.match(text)
            if value is None:
                return False
            name, value = value["id"], value if value["state"] else None
        if value is None:
            self._states.pop(name, None)
        else:
            found = value.groupdict()
            partitions = _PARTITION.findall(found["partitions"].partition("(" if "(" in found["partitions"] else "[")[2])
            self._keep(line, name, {**found, "partitions": partitions})
        return True

    def _formatted(self, line: Line, text: str) -> bool:
        try:
            row = json.loads(text)
            name, value = row["key"]["data"]["transactionalId"], row["value"]
            data = value and value["data"]
        except (ValueError, RecursionError, LookupError, TypeError):
            return False
        if not isinstance(name, str) or value is not None and not isinstance(data, dict):
            return False
        if value is None:
            self._states.pop(name, None)
            return True
        status, topics = number_of(data.get("transactionStatus")), data.get("transactionPartitions") or ()
        partitions = [f"{t.get('topic')}-{n}" for t in topics if isinstance(t, dict) for n in t.get("partitionIds") or ()]
        names = {"producer": "producerId", "epoch": "producerEpoch", "timeout": "transactionTimeoutMs", "at": "transactionLastUpdateTimestampMs", "start": "transactionStartTimestampMs"}  # fmt: skip
        found = {name: data.get(key) for name, key in names.items()}
        state = _STATES[status] if status is not None and 0 <= status < len(_STATES) else ""
        self._keep(line, name, {**found, "state": state, "partitions": partitions})
        return True

    def _keep(self, line: Line, name: str, found: Mapping[str, Any]) -> None:
        """Keep a record instead of the one before. Its time is that of the first record of the transaction, if the one before it ended another."""
        state = _STATE_OF.get(str(found["state"]).replace("_", "").lower(), str(found["state"]))
        updated, start = number_of(found["at"]), number_of(found.get("start"))
        before = self._states.get(name)
        if state in _ENDED:
            start = None
        elif "start" not in found and before is not None:
            start = updated if before.captures["state"] in _ENDED else before.start_ms
        self._see(updated)
        captures = {"transactional_id": name, "producer_id": number_of(found["producer"]), "epoch": number_of(found["epoch"]), "state": state, "partitions": found["partitions"]}  # fmt: skip
        self._states[name] = _State(line, captures, number_of(found["timeout"]), updated, start if start is None or start > 0 else None)

    def _see(self, at_ms: int | None) -> None:
        if at_ms is not None and (self._last_ms is None or at_ms > self._last_ms):
            self._last_ms = at_ms


def read_transaction_log(lines: Iterable[Line]) -> Iterator[Item]:
    """Yield the last state of each transactional.id in such a dump."""
    return TransactionLog().read(lines)
