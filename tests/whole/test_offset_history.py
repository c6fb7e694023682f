"""What moved a group's offsets, from a consumer's log and a dump of `__consumer_offsets`: a tool, or a commit that was removed; and damaged dumps."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

import forensics

pytestmark = [pytest.mark.engine, pytest.mark.whole]

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


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    """A case with the consumer of each group, and a dump of each."""
    logs = tmp_path_factory.mktemp("offsets") / "logs"
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
    return forensics.ingest(logs, logs.parent / "case").case


def _of(case, view: str, group: str):
    return [row for row in case.view(view).to_pylist() if row["group_id"] == group]


@pytest.mark.parametrize(
    ("group", "code", "again", "skipped", "by"),
    [
        ("back", "set_from_outside", 5500, 0, "outside"),
        ("ahead", "set_from_outside", 0, 4210, "outside"),
        ("removed", "commit_removed", 5500, 0, "removed"),
    ],
)
def test_what_moved_the_offsets_is_found(case, group, code, again, skipped, by):
    found = [f for f in case.findings if f["rule"] == "offset-reset" and f["group_id"] == group]
    assert [(f["code"], f["verdict"]) for f in found] == [(code, "proved")]
    twice = [(d["committed_again_lo"], d["committed_again_hi"]) for d in _of(case, "duplicate_ledger", group)]
    assert twice == ([(again, again)] if again else [])  # a consumer that continues further ahead reads nothing twice
    never = next(s for s in _of(case, "skip_ledger", group) if s["generation"] == 3)
    assert (never["records_lo"], never["records_hi"], never["certainty"], never["moved_by"]) == (skipped, skipped, "exact", by)
    text = case.report(groups=[group]).text()
    assert f"{again or skipped:,} records" in text
    assert ("0 records skipped" in text) == bool(again)
    ranges = [(r["what"], r["first_offset"], r["last_offset"], r["certainty"], r["why"]) for r in _of(case, "affected_range", group)]
    expected = ("read_twice", 0, again - 1, "at_least", "committed") if again else ("skipped", 5500, 9709, "exact", "outside")
    assert ranges == [expected]


def test_a_dump_with_a_gap_gives_bounds(case):
    never = next(s for s in _of(case, "skip_ledger", "gap") if s["generation"] == 3)
    assert (never["records_lo"], never["records_hi"], never["certainty"], never["reason"]) == (0, 6210, "bounded", "missing_commits")  # truly 4210
    assert not [f for f in case.findings if f["rule"] == "offset-reset" and f["group_id"] == "gap" and f["code"] != "no_commit"]


def test_outputs_with_times_show_what_stood_still_and_what_changed_hands(case):
    found = [f for f in case.findings if f["rule"] == "growing-lag"]
    assert [(f["code"], f["group_id"], f["subject"], f["verdict"]) for f in found] == [("stands_still", "slow", "orders-0", "undecided")]
    changed = [r for r in case.view("lag_change").to_pylist() if r["owner"] == "changed"]
    assert [(r["partition"], r["from_ts"].timestamp() * 1000 - T0, r["to_ts"].timestamp() * 1000 - T0) for r in changed] == [
        ("orders-1", 60_000, 120_000)
    ]
    assert "committed nothing past offset 700" in case.report(groups=["slow"]).text(full=True)


def test_an_offset_of_a_source_that_went_back_and_a_hanging_transaction_are_findings(case):
    found = {f["rule"]: f for f in case.findings if f["rule"] in ("source-rewound", "hanging-transaction") and f["subject"] != "shop"}
    assert {rule: (f["code"], f["subject"], f["verdict"]) for rule, f in found.items()} == {
        "source-rewound": ("went_back", "files", "undecided"),
        "hanging-transaction": ("hanging", "orders-0", "undecided"),
    }
    assert [(r["change"], r["outcome"]) for r in case.view("source_offset").to_pylist()] == [("first", "earlier"), ("back", "last")]


def test_a_snapshot_that_is_taken_again_is_proved_by_the_lines_of_both(case):
    starts = sorted(case.view("source_start").to_pylist(), key=lambda row: row["life"])
    assert [(s["task"], s["life"], s["found"], s["snapshot"], s["before"]) for s in starts] == [
        ("shop-0", 1, "missing", "completed", None),
        ("shop-0", 2, "missing", "completed", "completed"),
    ]
    (found,) = (f for f in case.findings if f["rule"] == "source-rewound" and f["subject"] == "shop")
    assert (found["code"], found["verdict"], len(found["witness"])) == ("snapshot_taken_again", "proved", 6)
    assert case.view("unrecognised").num_rows == 0
