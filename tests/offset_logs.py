# SPDX-License-Identifier: Apache-2.0
"""Logs of consumers and a source task, and dumps and outputs of tools beside them, that show what moved offsets and which transactions are open."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

T0 = 1_795_249_000_000
KAFKA = "org.apache.kafka.clients.consumer.internals."
FIRST, SECOND = "aaaaaaaa-1111-1111-1111-aaaaaaaaaaaa", "bbbbbbbb-2222-2222-2222-bbbbbbbbbbbb"
#: For each group: the commit that replaced its last one (None: it was removed), and where its next consumer started.
MOVED = {"back": (0, 0), "ahead": (9710, 9710), "removed": (None, 0), "gap": (9710, 9710)}
POSITION = "FetchPosition{offset=%d, offsetEpoch=Optional.empty, currentLeader=LeaderAndEpoch{leader=Optional[b1:9092 (id: 1 rack: null)], epoch=0}}"


def _run(group: str, at: int, generation: int, member: str, how: str, offset: int) -> list[tuple[int, str]]:
    """Return the lines of a consumer that joins, starts to read at an offset, and leaves after a minute."""
    client = f"[Consumer clientId=consumer-{group}-1, groupId={group}]"
    joined = f"Generation{{generationId={generation}, memberId='consumer-{group}-1-{member}', protocol='range'}} ({KAFKA}ConsumerCoordinator)"
    position = POSITION % offset
    if how == "committed":
        start = f"Setting offset for partition orders-0 to the committed offset {position} ({KAFKA}ConsumerUtils)"
    else:
        start = f"{client} Resetting offset for partition orders-0 to position {position}. ({KAFKA}SubscriptionState)"
    return [
        (at, "Kafka version: 3.9.1 (org.apache.kafka.common.utils.AppInfoParser)"),
        (at + 20, f"{client} (Re-)joining group ({KAFKA}ConsumerCoordinator)"),
        (at + 50, f"{client} Successfully joined group with generation {joined}"),
        (at + 60, f"{client} Successfully synced group in generation {joined}"),
        (at + 61, f"{client} Adding newly assigned partitions: orders-0 ({KAFKA}ConsumerRebalanceListenerInvoker)"),
        (at + 70, start),
        (at + 60_000, f"{client} Revoke previously assigned partitions orders-0 ({KAFKA}ConsumerRebalanceListenerInvoker)"),
        (at + 60_030, f"App info kafka.consumer for consumer-{group}-1 unregistered (org.apache.kafka.common.utils.AppInfoParser)"),
    ]


def _dump(name: str, moved: int | None, start: int) -> str:
    """Return a dump: members commit up to 5500, the group is empty, the commit is replaced or removed, and a member begins at `start`."""
    records: list[tuple[int, dict, dict | None]] = []

    def group(at: int, generation: int, *members: str) -> None:
        given = [
            {"memberId": f"consumer-{name}-1-{m}", "assignment": {"version": 3, "assignedPartitions": [{"topic": "orders", "partitions": [0]}]}}
            for m in members
        ]
        value = {"protocolType": "consumer", "generation": generation, "protocol": "range", "members": given}
        records.append((at, {"type": "2", "data": {"group": name}}, {"version": "3", "data": value}))

    def commit(at: int, offset: int | None) -> None:
        value = (
            None if offset is None else {"version": "3", "data": {"offset": offset, "leaderEpoch": -1, "metadata": "", "commitTimestamp": T0 + at}}
        )
        records.append((at, {"type": "1", "data": {"group": name, "topic": "orders", "partition": 0}}, value))

    group(55, 1, FIRST)
    for i in range(1, 12):
        commit(100 + 5_000 * i, 500 * i)
    group(60_010, 2)
    commit(200_000, moved)
    group(300_055, 3, SECOND)
    commit(305_100, start + 500)
    group(360_010, 4)
    head = f"Dumping /kafka/__consumer_offsets-{list(MOVED).index(name)}/00000000000000000000.log\nLog starting offset: 0\n"
    return head + "".join(
        f"| offset: {n} CreateTime: {T0 + at} keySize: 26 valueSize: 24 sequence: 0 headerKeys: [] key: {json.dumps(key, separators=(',', ':'))} "
        f"payload: {'<DELETE>' if value is None else json.dumps(value)}\n"
        for n, (at, key, value) in enumerate(records)
    )


def _source() -> str:
    """Return the log of a worker that starts a source task twice; each start finds no offset and takes a snapshot."""
    worker, lines = "org.apache.kafka.connect.runtime.Worker:645", list[tuple[int, str]]()
    for at in (0, 60_000):
        lines += [
            (at, f"[shop|task-0] Creating task shop-0 ({worker})"),
            (at + 500, "[shop|task-0] No previous offsets found (io.debezium.connector.common.BaseSourceTask:637)"),
            (
                at + 600,
                "[shop|task-0] According to the connector configuration both schema and data will be snapshot. "
                "(io.debezium.relational.RelationalSnapshotChangeEventSource:323)",
            ),
            (
                at + 30_000,
                "[shop|task-0] Snapshot ended with SnapshotResult [status=COMPLETED, offset=PostgresOffsetContext [lsn=LSN{0/7}]] "
                "(io.debezium.pipeline.ChangeEventSourceCoordinator:320)",
            ),
            (at + 30_100, "[shop|task-0] Requested thread factory for component PostgresConnector (io.debezium.connector.common.BaseSourceTask:99)"),
            (at + 40_000, f"[shop|task-0] Stopping task shop-0 ({worker})"),
        ]
    return _log(lines)


def _states() -> str:
    """Return a dump of __transaction_state: a transaction that has been open for an hour, and one that ended."""
    value = "producerId:%d,producerEpoch:0,state=%s,partitions=[%s],txnLastUpdateTimestamp=%d,txnTimeoutMs=60000"
    records = (
        ("pay-1", value % (8, "CompleteCommit", "", T0)),
        ("pay-1", value % (8, "Ongoing", "pay-0,pay-1", T0 + 1)),
        ("pay-2", value % (9, "CompleteAbort", "", T0 + 3_600_000)),
    )
    lines = (
        f"| offset: {n} CreateTime: {T0 + (3_600_000 if n == 2 else n)} keySize: 9 valueSize: 37 sequence: -1 headerKeys: [] "
        f"key: transaction_metadata::transactionalId={name} payload: {text}\n"
        for n, (name, text) in enumerate(records)
    )
    return "Dumping /kafka/__transaction_state-3/00000000000000000000.log\nLog starting offset: 0\n" + "".join(lines)


def _segments() -> str:
    """Return a dump of a partition into which a transaction wrote that has no end, and half an hour later a producer without an id."""
    batches = ((0, 4, 5, "true", T0), (5, 9, -1, "false", T0 + 1_800_000))
    return "Dumping /kafka/audit-0/00000000000000000000.log\nLog starting offset: 0\n" + "".join(
        f"baseOffset: {base} lastOffset: {last} count: 5 baseSequence: 0 lastSequence: 4 producerId: {producer} producerEpoch: 0 partitionLeaderEpoch: 0 "
        f"isTransactional: {transactional} isControl: false deleteHorizonMs: OptionalLong.empty position: 0 CreateTime: {at} size: 9 magic: 2 "
        "compresscodec: none crc: 1 isvalid: true\n"
        for base, last, producer, transactional, at in batches
    )


def _log(lines: list[tuple[int, str]]) -> str:
    return "".join(f"[{datetime.fromtimestamp((T0 + at) / 1000, UTC):%Y-%m-%d %H:%M:%S},{at % 1000:03d}] INFO {line}\n" for at, line in lines)


def _described(minute: int) -> str:
    """Return an output of kafka-consumer-groups with its time: of two partitions of a group without logs, only the second advances, and it changes hands."""
    at = datetime.fromtimestamp(T0 / 1000 + 60 * minute, UTC)
    owner = FIRST if minute < 2 else SECOND
    rows = "".join(
        f"slow {' ' * 10} orders {' ' * 8} {n} {' ' * 9} {offset} {' ' * 12} {1000 + 100 * minute} {' ' * 12} {1000 + 100 * minute - offset} {' ' * 12} {member} /10.0.0.1 c\n"
        for n, offset, member in ((0, 700, f"c-{FIRST}"), (1, 900 + 100 * minute, f"c-{owner}"))
    )
    return f"===== {at:%Y-%m-%d %H:%M:%S} =====\n\nGROUP TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG CONSUMER-ID HOST CLIENT-ID\n{rows}"


def write(logs: Path) -> None:
    """Write a consumer's log for each group, a dump of each, and the rest, into a folder."""
    for group, (moved, start) in MOVED.items():
        lines = _run(group, 0, 1, FIRST, "reset", 0) + _run(group, 300_000, 3, SECOND, "reset" if moved is None else "committed", start)
        (logs / group).mkdir(parents=True)
        (logs / group / "consumer.log").write_text(_log(lines))
        dump = _dump(group, moved, start).splitlines(keepends=True)
        if group == "gap":
            del dump[10:12]  # two commits
        (logs / f"{group}.txt").write_text("".join(dump))
    (logs / "connect.log").write_text(_source())
    (logs / "lags.txt").write_text("".join(_described(minute) for minute in range(4)))
    (logs / "connect-offsets.txt").write_text(
        f'CreateTime:{T0}\t["files",{{"filename":"a"}}]\t{{"position":900}}\nCreateTime:{T0 + 5000}\t["files",{{"filename":"a"}}]\t{{"position":30}}\n'
    )
    (logs / "hanging.txt").write_text(
        "Topic\tPartition\tProducerId\tProducerEpoch\tCoordinatorEpoch\tStartOffset\tLastTimestamp\tDuration(min)\t\n"
        f"orders\t0\t7\t3\t-1\t50\t{T0}\t70\t\n"
    )
    (logs / "states.txt").write_text(_states())
    (logs / "segments.txt").write_text(_segments())
