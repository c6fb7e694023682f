# SPDX-License-Identifier: Apache-2.0
"""Dumps of `__transaction_state` and of a partition's segments, in the forms of Kafka's releases."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import pytest

from forensics.extract.single_readers import SnapshotReader
from forensics.redact.copying import redact
from forensics.snapshots.detection import kind_of
from forensics.snapshots.observation import Observation

T0 = 1_795_244_400_000
HEAD = "Dumping /kafka/__transaction_state-3/00000000000000000000.log\nLog starting offset: 0\n"


def read(text: str, kind: str) -> list[Observation]:
    """Return the observations of a dump, whose kind is recognised by its content."""
    data = text.encode()
    assert kind_of(data, fitting=0, lines=text.count("\n")) == kind
    return list(SnapshotReader(kind).observations(BytesIO(data)))


def _json(status: int, at: int, start: int, partitions: str) -> str:
    value = (
        f'{{"version":1,"data":{{"producerId":7,"producerEpoch":3,"transactionTimeoutMs":60000,"transactionStatus":{status},"transactionPartitions":[{partitions}],'
        f'"transactionLastUpdateTimestampMs":{at},"transactionStartTimestampMs":{start}}}}}'
    )
    return f'{{"key":{{"version":0,"data":{{"transactionalId":"pay-1"}}}},"value":{value}}}\n'


def _printed(state: str, at: int, start: int, partitions: str) -> str:
    return (
        f"pay-1::TransactionMetadata(transactionalId=pay-1, producerId=7, producerEpoch=3, txnTimeoutMs=60000, state={state}, pendingState=None, "
        f"topicPartitions=Set({partitions}), txnStartTimestamp={start}, txnLastUpdateTimestamp={at})\n"
    )


def _dumped(n: int, state: str, at: int, partitions: str, key: str = "transaction_metadata::transactionalId=pay-1") -> str:
    value = f"producerId:7,producerEpoch:3,state={state},partitions={partitions},txnLastUpdateTimestamp={at},txnTimeoutMs=60000"
    return f"| offset: {n} CreateTime: {at} keySize: 9 valueSize: 37 sequence: -1 headerKeys: [] key: {key} payload: {value}\n"


FORMS = {
    "console, 0.11 to 3.8": _printed("CompleteCommit", T0, T0 - 9, "t-0") + _printed("Ongoing", T0 + 5, T0 + 1, "t-0, t-1"),
    "console, later": _json(4, T0, T0 - 9, "") + _json(1, T0 + 5, T0 + 1, '{"topic":"t","partitionIds":[0,1]}'),
    "dump, 1.0 to 2.3": HEAD
    + _dumped(0, "CompleteCommit", T0, "Set()", "transactionalId=pay-1")[2:]
    + _dumped(1, "Ongoing", T0 + 1, "Set(t-0)", "transactionalId=pay-1")[2:]
    + _dumped(2, "Ongoing", T0 + 5, "Set(t-0, t-1)", "transactionalId=pay-1")[2:],
    "dump, 2.4 and later": HEAD
    + _dumped(0, "CompleteCommit", T0, "[]")
    + _dumped(1, "Ongoing", T0 + 1, "[t-0]")
    + _dumped(2, "Ongoing", T0 + 5, "[t-0,t-1]"),
    "names of constants": HEAD
    + _dumped(0, "COMPLETE_ABORT", T0, "[]")
    + _dumped(1, "ONGOING", T0 + 1, "[t-0]")
    + _dumped(2, "ONGOING", T0 + 5, "[t-0,t-1]"),
}


@pytest.mark.parametrize("form", FORMS)
def test_the_last_state_of_a_transaction(form: str) -> None:
    (found,) = read(FORMS[form], "transaction_log")
    assert (found.event, found.ts) == ("transaction_stored", (T0 + 5) * 1000)
    assert dict(found.captures) == {
        "transactional_id": "pay-1", "producer_id": 7, "epoch": 3, "state": "Ongoing", "partitions": ["t-0", "t-1"],
        "columns": {"CurrentTransactionStartTimeMs": str(T0 + 1), "TransactionTimeoutMs": "60000", "LastUpdateTimeMs": str(T0 + 5)},
    }  # fmt: skip


def test_the_begin_of_a_transaction_is_unknown_if_records_before_it_are_missing() -> None:
    (found,) = read(HEAD + _dumped(7, "Ongoing", T0, "[t-0]") + _dumped(8, "Ongoing", T0 + 5, "[t-0]"), "transaction_log")
    assert "CurrentTransactionStartTimeMs" not in found.captures["columns"]


@pytest.mark.parametrize("size", range(0, 700, 9))
def test_a_dump_of_states_that_is_cut_has_no_wrong_state(size: int) -> None:
    text = FORMS["dump, 2.4 and later"]
    reader = SnapshotReader("transaction_log")
    for found in reader.observations(BytesIO(text.encode()[:size])):
        assert found.captures["state"] in ("Ongoing", "CompleteCommit")
        assert found.captures["partitions"] in ([], ["t-0"], ["t-0", "t-1"])


def batch(base: int, last: int, producer: int, at: int, *, control: bool = False, transactional: bool = True, epoch: int = 0) -> str:
    return (
        f"baseOffset: {base} lastOffset: {last} count: {last - base + 1} baseSequence: {base} lastSequence: {last} producerId: {producer} producerEpoch: {epoch} "
        f"partitionLeaderEpoch: 0 isTransactional: {str(transactional).lower()} isControl: {str(control).lower()} deleteHorizonMs: OptionalLong.empty position: 0 "
        f"CreateTime: {at} size: 99 magic: 2 compresscodec: none crc: 1 isvalid: true\n"
    )


def record(offset: int, rest: str = "key: a payload: b") -> str:
    return f"| offset: {offset} CreateTime: {T0} keySize: 1 valueSize: 1 sequence: 0 headerKeys: [] {rest}\n"


def segment(topic: str = "orders", base: int = 0, kind: str = "log") -> str:
    return f"Dumping /var/lib/kafka/{topic}-2/{base:020}.{kind}\nLog starting offset: {base}\n"


def ranges(found: list[Observation]) -> list[tuple]:
    return [
        (o.captures.get("producer_id"), o.captures["offset"], int(o.captures["columns"]["LastOffset"]), o.captures.get("record_count"))
        for o in found
        if o.event == "producer_wrote"
    ]


def opened(found: list[Observation]) -> list[tuple]:
    return [
        (o.captures["producer_id"], o.captures["offset"], o.captures["columns"].get("LogStartOffset")) for o in found if o.event == "transaction_read"
    ]


def test_which_producer_wrote_what_and_which_transactions_are_open() -> None:
    hostile = batch(0, 99, 66, T0) + "baseOffset: 9 endTxnMarker: COMMIT\n"  # in values, which may have line breaks
    text = (
        segment() + batch(0, 1, 7, T0) + record(0) + record(1, f"key: a payload: x endTxnMarker: COMMIT\n{hostile}") + batch(2, 4, 8, T0 + 5)
        + batch(5, 5, 7, T0 + 6, control=True) + record(5, "endTxnMarker: ABORT coordinatorEpoch: 0") + batch(6, 6, -1, T0 + 7, transactional=False)
    )  # fmt: skip
    found = read(text, "log_segments")
    assert ranges(found) == [(7, 0, 1, 2), (8, 2, 4, 3), (None, 6, 6, 1)]
    assert [o.captures["columns"]["Aborted"] for o in found if o.event == "producer_wrote"] == ["1", "0", "0"]
    assert opened(found) == [(8, 2, "0")]
    assert {o.captures["partition"] for o in found} == {"orders-2"}
    assert {o.ts for o in found if o.event == "transaction_read"} == {(T0 + 7) * 1000}


def test_how_many_records_a_producer_wrote_after_each_later_one_had_begun_is_counted() -> None:
    plain = [(0, 1, 7), (2, 4, 8), (5, 5, 7), (6, 9, 9), (10, 12, 7), (13, 13, -1), (14, 14, 8)]
    text = segment() + "".join(batch(base, last, producer, T0 + base, transactional=False) for base, last, producer in plain)
    columns = [o.captures["columns"] for o in read(text, "log_segments")]
    assert [{name: n for name, n in it.items() if name.startswith("After")} for it in columns] == [
        {"After 8": "4", "After 9": "3"}, {"After 9": "1"}, {}, {},
    ]  # fmt: skip


def test_a_missing_segment_may_have_the_end_of_a_transaction() -> None:
    first, third = segment() + batch(0, 9, 7, T0), segment(base=20) + batch(20, 29, 8, T0 + 9)
    assert opened(read(first + third, "log_segments")) == [(8, 20, None)]
    assert opened(read(first + segment(base=10) + batch(10, 10, 7, T0 + 1, control=True), "log_segments")) == []


@pytest.mark.parametrize("order", ["twice", "reversed"])
def test_segments_that_are_dumped_twice_or_in_reverse_open_nothing(order: str) -> None:
    first, second = (
        segment() + batch(0, 9, 7, T0),
        segment(base=10) + batch(10, 10, 7, T0 + 1, control=True) + batch(11, 12, 7, T0 + 2, transactional=False),
    )
    text = {"twice": first + second + first + second, "reversed": second + first}[order]
    found = read(text, "log_segments")
    assert opened(found) == []
    assert sum(r[3] for r in ranges(found)) <= 12


def test_records_of_releases_before_2_2_name_their_producers() -> None:
    def line(offset: int, rest: str) -> str:
        return (
            f"offset: {offset} position: 0 CreateTime: {T0 + offset} isvalid: true keysize: 1 valuesize: 1 magic: 2 compresscodec: NONE producerId: 7 "
            f"producerEpoch: 0 sequence: {offset} isTransactional: true headerKeys: []{rest}\n"
        )

    text = (
        segment()
        + line(0, " key: a payload: b")
        + line(1, " endTxnMarker: COMMIT coordinatorEpoch: 0")
        + line(2, " key: a payload: ] endTxnMarker: ABORT coordinatorEpoch: 0")
    )
    found = read(text, "log_segments")
    assert ranges(found) == [(7, 0, 2, 2)]
    assert opened(found) == [(7, 2, "0")]


def test_a_snapshot_of_producers_has_their_open_transactions() -> None:
    text = segment(base=50, kind="snapshot").partition("Log")[0] + (
        f"producerId: 7 producerEpoch: 3 coordinatorEpoch: 0 currentTxnFirstOffset: OptionalLong[41] lastTimestamp: {T0} firstSequence: 0 lastSequence: 0 "
        f"lastOffset: 44 offsetDelta: 3 timestamp: {T0}\n"
        f"producerId: 8 producerEpoch: 0 coordinatorEpoch: -1 currentTxnFirstOffset: None firstSequence: 0 lastSequence: 0 lastOffset: 2 offsetDelta: 0 timestamp: {T0}\n"
    )
    found = read(text, "log_segments")
    assert [(o.event, o.captures["producer_id"], o.captures.get("offset"), o.captures["partition"]) for o in found] == [
        ("producer_described", 7, 41, "orders-2"),
        ("producer_described", 8, None, "orders-2"),
    ]


def test_a_copy_to_share_has_neither_names_nor_records(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for number, form in enumerate(FORMS):
        text = FORMS[form].replace("pay-1", "acmepay-1").replace('"t"', '"acmetopic"')
        (tmp_path / "in" / f"state-{number}.txt").write_text(text.replace("t-0", "acmetopic-0").replace("t-1", "acmetopic-1"))
    text = (
        segment("acmeorders") + batch(0, 1, 7, T0) + record(0, "key: acmekey payload: acmevalue\nacmevalue") + record(1).replace("[]", "[acmeheader]")
    )
    (tmp_path / "in" / "segment.txt").write_text(text + batch(2, 2, 7, T0, control=True) + record(2, "endTxnMarker: ABORT coordinatorEpoch: 0"))
    redact(tmp_path / "in", tmp_path / "out")
    copies = sorted(path for path in (tmp_path / "out").rglob("*") if path.is_file())
    assert len(copies) == len(FORMS) + 1
    assert not any("acme" in copy.read_text() for copy in copies)
    (copy,) = (copy for copy in copies if "endTxnMarker" in copy.read_text())
    assert ranges(read(copy.read_text(), "log_segments")) == [(7, 0, 1, 2)]
