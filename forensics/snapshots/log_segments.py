"""Read `kafka-dump-log` of a partition's segments and producer snapshots: which producer wrote which offsets, and which transactions are open.

A line that describes a batch (2.2 and later, or without the records in any release), or a record (0.11 to 2.1), names the producer. Keys and values of the
records are not read. Memory grows with the producers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from forensics.snapshots.observation import Item, Line, Observation

DUMPING = re.compile(r"Dumping (?:.*[/\\])?(?P<topic>[\w.-]{1,249})-(?P<number>\d{1,9})[/\\](?P<base>\d{1,20})\.(?P<kind>log|snapshot)$")
_BATCH = re.compile(
    r"baseOffset: (?P<base>\d{1,18}) lastOffset: (?P<last>\d{1,18}) count: (?P<count>\w{1,18}) baseSequence: (?P<first_seq>-?\d{1,18}) "
    r"lastSequence: (?P<last_seq>-?\d{1,18}) producerId: (?P<producer>-?\d{1,18}) producerEpoch: (?P<epoch>-?\d{1,18}) "
    r"partitionLeaderEpoch: -?\d+ isTransactional: (?P<transactional>true|false) isControl: (?P<control>true|false) [^|]*?"
    r"(?:CreateTime|LogAppendTime|NoTimestampType): (?P<at>-?\d{1,18}) [^|]*crc: \d+[^|]*"
)
_RECORD = re.compile(
    r"offset: (?P<base>\d{1,18}) position: \d+ (?:CreateTime|LogAppendTime|NoTimestampType): (?P<at>-?\d{1,18}) isvalid: \w+ keysize: -?\d+ valuesize: -?\d+ "
    r"magic: \d compresscodec: \w+ producerId: (?P<producer>-?\d{1,18}) producerEpoch: (?P<epoch>-?\d{1,18}) sequence: (?P<first_seq>-?\d{1,18}) "
    r"isTransactional: (?P<transactional>true|false) headerKeys: \[(?P<rest>.*)"
)
_MARKER = re.compile(r"(?:\| offset: \d+ [^|]*?headerKeys: \[\]|\]) endTxnMarker: (?P<outcome>COMMIT|ABORT) coordinatorEpoch: -?\d+")
_PRODUCER = re.compile(
    r"producerId: (?P<producer>\d{1,18}) producerEpoch: (?P<epoch>-?\d{1,18}) coordinatorEpoch: -?\d+ "
    r"currentTxnFirstOffset: (?:(?:Some\(|OptionalLong\[)(?P<open>\d{1,18})[)\]]|None|OptionalLong\.empty) .*?"
    r"(?:lastTimestamp|timestamp): (?P<at>-?\d{1,18})\b.*"
)
#: Of so many producers that wrote last before another one began, the number of records that they wrote after that is counted.
_MAX_BESIDE = 64


def is_log_segment(text: str) -> bool:
    """Return True if a line is the first one about a segment or a producer snapshot of a topic, or describes one of its batches."""
    found = DUMPING.match(text)
    return found["topic"] not in ("__consumer_offsets", "__transaction_state") if found else _BATCH.fullmatch(text) is not None


@dataclass(slots=True)
class _Writer:
    """What one producer wrote into a partition, in one epoch."""

    line: Line
    first_offset: int
    first_ms: int
    first_sequence: int
    last_offset: int = -1
    last_ms: int = -1
    last_sequence: int = -1
    records: int | None = 0
    is_transactional: bool = False
    committed: int = 0
    aborted: int = 0
    ended: int = 0
    #: How many records it had written when each of the producers that came later began.
    before: dict[int, int | None] = field(default_factory=dict)


@dataclass(slots=True)
class _Open:
    """An open transaction: its first batch."""

    line: Line
    epoch: int
    offset: int
    first_ms: int
    last_ms: int


class _Partition:
    """The producers of a partition.

    Args:
        captures: topic and partition.
        is_whole: True if the dump begins at offset 0.
    """

    def __init__(self, captures: dict[str, Any], *, is_whole: bool) -> None:
        self.captures, self.is_whole = captures, is_whole
        self.last_ms, self.last_offset = -1, -1
        self.writers: dict[tuple[int, int], _Writer] = {}
        #: By producer, the one that wrote last at the end.
        self.latest: dict[int, _Writer] = {}
        self.open: dict[int, _Open] = {}
        self.producers: list[tuple[Line, re.Match[str]]] = []
        self.ending: _Writer | None = None

    def batch(self, line: Line, found: re.Match[str], last: int, count: int | None, last_sequence: int, *, is_control: bool) -> None:
        """Take a batch, unless it was taken before: a segment may be dumped twice."""
        base, producer, epoch, at = (int(found[name]) for name in ("base", "producer", "epoch", "at"))
        self.ending = None
        if base <= self.last_offset:
            return
        if base > self.last_offset + 1 and self.last_offset >= 0:  # the end of a transaction may be missing
            self.open.clear()
            self.is_whole = False
        self.last_offset, self.last_ms = last, max(self.last_ms, at)
        writer = self.writers.get((producer, epoch))
        if writer is None:
            if is_control:  # the marker of a coordinator that ended the transaction of an earlier segment
                self.open.pop(producer, None)
                return
            writer = self.writers[producer, epoch] = _Writer(line, base, at, int(found["first_seq"]))
            if producer >= 0 and producer not in self.latest:
                for other in islice(reversed(self.latest.values()), _MAX_BESIDE):
                    other.before[producer] = other.records
        if producer >= 0:
            self.latest.pop(producer, None)
            self.latest[producer] = writer
        if is_control:
            writer.ended += 1
            self.ending = writer
            self.open.pop(producer, None)
            return
        writer.last_offset, writer.last_ms, writer.last_sequence = last, max(writer.last_ms, at), last_sequence
        writer.records = None if writer.records is None or count is None else writer.records + count
        if found["transactional"] == "true":
            writer.is_transactional = True
            its = self.open.setdefault(producer, _Open(line, epoch, base, at, at))
            its.last_ms = max(its.last_ms, at)

    def mark(self, outcome: str) -> None:
        """Take the outcome of the transaction that the last batch ended."""
        if self.ending is not None:
            self.ending.committed += outcome == "COMMIT"
            self.ending.aborted += outcome == "ABORT"
            self.ending = None

    def observations(self) -> Iterator[Observation]:
        """Yield what each producer wrote, the transactions that are open at the end, and the producers of the last snapshot."""
        for (producer, epoch), it in self.writers.items():
            numbers = {
                "FirstTimestamp": it.first_ms, "LastTimestamp": it.last_ms, "LastOffset": it.last_offset, "FirstSequence": it.first_sequence,
                "LastSequence": it.last_sequence, "Ended": it.ended, "Committed": it.committed, "Aborted": it.aborted,
            }  # fmt: skip
            captures = {
                **self.captures, **_of(producer, epoch), "offset": it.first_offset, "record_count": it.records,
                "columns": {name: str(value) for name, value in numbers.items()} | ({"Transactional": "true"} if it.is_transactional else {})
                | {f"After {other}": str(it.records - n) for other, n in it.before.items() if it.records and n is not None and it.records > n},
            }  # fmt: skip
            yield Observation.of(
                it.line, "producer_wrote", captures, _micros(it.first_ms), f"producer {producer} wrote {self.captures.get('partition')}"
            )
        for producer, its in self.open.items():
            columns = {"LastTimestamp": str(its.last_ms), "CurrentTransactionStartTimeMs": str(its.first_ms)}
            columns |= {"LogStartOffset": "0"} if self.is_whole else {}
            captures = {**self.captures, **_of(producer, its.epoch), "offset": its.offset, "columns": columns}
            yield Observation.of(its.line, "transaction_read", captures, _micros(self.last_ms), f"open transaction of producer {producer}")
        for line, found in self.producers:
            captures = {
                **self.captures, **_of(int(found["producer"]), int(found["epoch"])), "offset": int(found["open"]) if found["open"] else None,
                "columns": {"LastTimestamp": found["at"]},
            }  # fmt: skip
            yield Observation.of(line, "producer_described", captures, None, f"producer {found['producer']}")


class LogSegments:
    """A reader of such a dump, line by line."""

    def __init__(self) -> None:
        self._partitions: dict[str, _Partition] = {}

    def read(self, lines: Iterable[Line]) -> Iterator[Item]:
        """Yield, at the end, what the producers of each partition wrote. Other lines may be parts of values, so none is strange."""
        partition = self._begin("", {}, is_whole=False)
        for line in lines:
            text = line.text.strip()
            if text.startswith("baseOffset: "):
                if found := _BATCH.fullmatch(text):
                    count = int(found["count"]) if found["count"].isdigit() else None
                    partition.batch(line, found, int(found["last"]), count, int(found["last_seq"]), is_control=found["control"] == "true")
            elif text.startswith("| offset: "):
                if marker := _MARKER.match(text):
                    partition.mark(marker["outcome"])
            elif text.startswith("offset: "):
                if found := _RECORD.match(text):
                    marker = _MARKER.search(found["rest"].partition(" key: ")[0])
                    partition.batch(line, found, int(found["base"]), 1, int(found["first_seq"]), is_control=marker is not None)
                    if marker:
                        partition.mark(marker["outcome"])
            elif text.startswith("Dumping ") and (dumping := DUMPING.match(text)):
                captures = {"topic": dumping["topic"], "partition": f"{dumping['topic']}-{int(dumping['number'])}"}
                partition = self._begin(captures["partition"], captures, is_whole=dumping["kind"] == "log" and int(dumping["base"]) == 0)
                if dumping["kind"] == "snapshot":
                    partition.producers = []
            elif text.startswith("producerId: ") and (found := _PRODUCER.fullmatch(text)):
                partition.producers.append((line, found))
        for partition in self._partitions.values():
            yield from partition.observations()

    def _begin(self, name: str, captures: dict[str, Any], *, is_whole: bool) -> _Partition:
        """Return the partition of a segment; its segments are dumped in their order."""
        if name not in self._partitions:
            self._partitions[name] = _Partition(captures, is_whole=is_whole)
        return self._partitions[name]


def read_log_segments(lines: Iterable[Line]) -> Iterator[Item]:
    """Yield what producers wrote, according to such a dump."""
    return LogSegments().read(lines)


def _of(producer: int, epoch: int) -> dict[str, int]:
    return {"producer_id": producer, "epoch": epoch} if producer >= 0 else {}


def _micros(at_ms: int) -> int | None:
    return at_ms * 1000 if at_ms >= 0 else None
