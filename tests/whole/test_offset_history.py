"""What moved a group's offsets, from a consumer's log and a dump of `__consumer_offsets`: a tool, or a commit that was removed; and damaged dumps."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

import forensics

pytestmark = [pytest.mark.engine, pytest.mark.whole]

T0 = 1_795_249_000_000
CLIENT = "[Consumer clientId=consumer-orders-app-1, groupId=orders-app]"
KAFKA = "org.apache.kafka.clients.consumer.internals."
FIRST, SECOND = "consumer-orders-app-1-aaaaaaaa-1111-1111-1111-aaaaaaaaaaaa", "consumer-orders-app-1-bbbbbbbb-2222-2222-2222-bbbbbbbbbbbb"
POSITION = "FetchPosition{offset=%d, offsetEpoch=Optional.empty, currentLeader=LeaderAndEpoch{leader=Optional[b1:9092 (id: 1 rack: null)], epoch=0}}"


def _run(at: int, generation: int, member: str, how: str, offset: int) -> list[tuple[int, str]]:
    """Return the lines of a consumer that joins, starts to read at an offset, and leaves after a minute."""
    joined = f"Generation{{generationId={generation}, memberId='{member}', protocol='range'}} ({KAFKA}ConsumerCoordinator)"
    position = POSITION % offset
    if how == "committed":
        start = f"Setting offset for partition orders-0 to the committed offset {position} ({KAFKA}ConsumerUtils)"
    else:
        start = f"{CLIENT} Resetting offset for partition orders-0 to position {position}. ({KAFKA}SubscriptionState)"
    return [
        (at, "Kafka version: 3.9.1 (org.apache.kafka.common.utils.AppInfoParser)"),
        (at + 20, f"{CLIENT} (Re-)joining group ({KAFKA}ConsumerCoordinator)"),
        (at + 50, f"{CLIENT} Successfully joined group with generation {joined}"),
        (at + 60, f"{CLIENT} Successfully synced group in generation {joined}"),
        (at + 61, f"{CLIENT} Adding newly assigned partitions: orders-0 ({KAFKA}ConsumerRebalanceListenerInvoker)"),
        (at + 70, start),
        (at + 60_000, f"{CLIENT} Revoke previously assigned partitions orders-0 ({KAFKA}ConsumerRebalanceListenerInvoker)"),
        (at + 60_030, "App info kafka.consumer for consumer-orders-app-1 unregistered (org.apache.kafka.common.utils.AppInfoParser)"),
    ]


def _dump(moved: int | None, start: int) -> str:
    """Return a dump: members commit up to 5500, the group is empty, the commit is replaced or removed, and a member begins at `start`."""
    records: list[tuple[int, dict, dict | None]] = []

    def group(at: int, generation: int, *members: str) -> None:
        given = [{"memberId": m, "assignment": {"version": 3, "assignedPartitions": [{"topic": "orders", "partitions": [0]}]}} for m in members]
        value = {"protocolType": "consumer", "generation": generation, "protocol": "range", "members": given}
        records.append((at, {"type": "2", "data": {"group": "orders-app"}}, {"version": "3", "data": value}))

    def commit(at: int, offset: int | None) -> None:
        value = (
            None if offset is None else {"version": "3", "data": {"offset": offset, "leaderEpoch": -1, "metadata": "", "commitTimestamp": T0 + at}}
        )
        records.append((at, {"type": "1", "data": {"group": "orders-app", "topic": "orders", "partition": 0}}, value))

    group(55, 1, FIRST)
    for i in range(1, 12):
        commit(100 + 5_000 * i, 500 * i)
    group(60_010, 2)
    commit(200_000, moved)
    group(300_055, 3, SECOND)
    commit(305_100, start + 500)
    group(360_010, 4)
    head = "Dumping /kafka/__consumer_offsets-1/00000000000000000000.log\nLog starting offset: 0\n"
    return head + "".join(
        f"| offset: {n} CreateTime: {T0 + at} keySize: 26 valueSize: 24 sequence: 0 headerKeys: [] key: {json.dumps(key, separators=(',', ':'))} "
        f"payload: {'<DELETE>' if value is None else json.dumps(value)}\n"
        for n, (at, key, value) in enumerate(records)
    )


def _case(folder, moved: int | None, start: int, dump: str | None = None):
    lines = _run(0, 1, FIRST, "reset", 0) + _run(300_000, 3, SECOND, "reset" if moved is None else "committed", start)
    (folder / "logs" / "c1").mkdir(parents=True)
    text = "".join(f"[{datetime.fromtimestamp((T0 + at) / 1000, UTC):%Y-%m-%d %H:%M:%S},{at % 1000:03d}] INFO {line}\n" for at, line in lines)
    (folder / "logs" / "c1" / "consumer.log").write_text(text)
    (folder / "logs" / "dump.txt").write_text(_dump(moved, start) if dump is None else dump)
    return forensics.ingest(folder / "logs", folder / "case").case


@pytest.mark.parametrize(
    ("moved", "start", "code", "again", "skipped", "by"),
    [
        (0, 0, "set_from_outside", 5500, 0, "outside"),
        (9710, 9710, "set_from_outside", 0, 4210, "outside"),
        (None, 0, "commit_removed", 5500, 0, "removed"),
    ],
    ids=["back", "ahead", "removed"],
)
def test_what_moved_the_offsets_is_found(tmp_path, moved, start, code, again, skipped, by):
    case = _case(tmp_path, moved, start)
    found = [f for f in case.findings if f["rule"] == "offset-reset"]
    assert [(f["code"], f["verdict"]) for f in found] == [(code, "proved")]
    twice = [(d["committed_again_lo"], d["committed_again_hi"]) for d in case.view("duplicate_ledger").to_pylist()]
    assert twice == ([(again, again)] if again else [])  # a consumer that continues further ahead reads nothing twice
    never = next(s for s in case.view("skip_ledger").to_pylist() if s["generation"] == 3)
    assert (never["records_lo"], never["records_hi"], never["certainty"], never["moved_by"]) == (skipped, skipped, "exact", by)
    assert f"{again or skipped:,} records" in case.report().text()


def test_a_dump_with_a_gap_gives_bounds(tmp_path):
    lines = _dump(9710, 9710).splitlines(keepends=True)
    del lines[10:12]  # two commits
    case = _case(tmp_path, 9710, 9710, "".join(lines))
    never = next(s for s in case.view("skip_ledger").to_pylist() if s["generation"] == 3)
    assert (never["records_lo"], never["records_hi"], never["certainty"], never["reason"]) == (0, 6210, "bounded", "missing_commits")  # truly 4210
    assert not [f for f in case.findings if f["rule"] == "offset-reset" and f["code"] != "no_commit"]
