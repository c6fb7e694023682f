# SPDX-License-Identifier: Apache-2.0
"""Results that views derive from few lines: records read twice, incarnations of a group, ends of tasks. Each log is written for its purpose."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

import pyarrow.dataset as ds
import pytest
from written_logs import CLIENT, CONNECT, case_of, config, consumer, joined, stamp, starts, told

pytestmark = pytest.mark.engine
COORDINATOR = f"{CLIENT}.AbstractCoordinator"
#: Views that these tests look at.
READ = (
    "duplicate_ledger", "generation", "task_holding", "process", "member_generation", "unowned", "clock_offset",
    "coordinator_episode", "rule_coordinator_unavailable", "holding", "split_brain",
)  # fmt: skip


def auto_commit() -> dict[str, str]:
    """a1 gives orders-0 to a2 in good order at 20 s; a2 is thrown out and says at 50 s how far it had read; a1 goes on from the committed offset."""
    auto = {"enable.auto.commit": "true"}
    lost = [
        "Synchronous auto-commit of offsets {orders-0=OffsetAndMetadata{offset=60, leaderEpoch=0, metadata=''}} failed: Commit cannot be completed since "
        "the group has already rebalanced and assigned the partitions to another member.",
        "Resetting generation and member id due to: encountered UNKNOWN_MEMBER_ID from HEARTBEAT response",
        "Giving away all assigned partitions as lost since generation/memberID has been reset,indicating that consumer is in old state or no longer part of the group",
        "Lost previously assigned partitions orders-0",
        "(Re-)joining group",
    ]
    a1 = told(
        (0, config("a1", "auto", **auto)),
        (1, "(Re-)joining group"),
        (2, [*joined(1, "a1-id", "orders-0"), starts("orders-0", 10)]),
        (20, ["Revoke previously assigned partitions orders-0", "(Re-)joining group"]),
        (21, joined(2, "a1-id")),
        (40, "(Re-)joining group"),
        (41, [*joined(3, "a1-id", "orders-0"), starts("orders-0", 40)]),
    )
    a2 = told(
        (18, config("a2", "auto", **auto)),
        (19, "(Re-)joining group"),
        (21, [*joined(2, "a2-id", "orders-0"), starts("orders-0", 25)]),
        (50, lost),
        (51, joined(4, "a2-id2")),
    )
    return {"a1/app.log": consumer("a1", "auto", *a1), "a2/app.log": consumer("a2", "auto", *a2)}


def by_hand() -> dict[str, str]:
    """h1 commits manually and is refused at 45; h2 had begun at 40. h3 takes over from h2, whose last position is unknown."""
    refused = "Offset commit failed on partition orders-0 at offset 45: The coordinator is not aware of this member."
    h1 = told(
        (1, "(Re-)joining group"),
        (2, [*joined(1, "h1-id", "orders-0"), starts("orders-0", 10)]),
        (30, [refused, "Lost previously assigned partitions orders-0"]),
    )
    h2 = told(
        (19, "(Re-)joining group"),
        (20, [*joined(2, "h2-id", "orders-0"), starts("orders-0", 40)]),
        (40, "Revoke previously assigned partitions orders-0"),
    )
    h3 = told((39, "(Re-)joining group"), (40.1, [*joined(3, "h3-id", "orders-0"), starts("orders-0", 70)]))
    return {f"{name}/app.log": consumer(name, "hand", *lines) for name, lines in (("h1", h1), ("h2", h2), ("h3", h3))}


def two_lives() -> dict[str, str]:
    """Group `reset` loses its metadata at 30 s: a process whose new consumer asks after an old one had generation 1 cannot get 1 again in one life."""
    l1 = told(
        (1, "(Re-)joining group"),
        (2, joined(1, "l1-id", "orders-0")),
        (40, "(Re-)joining group"),
        (41, joined(1, "l1-id2", "orders-0")),
        (50, "(Re-)joining group"),
        (51, joined(2, "l1-id2", "orders-0")),
    )
    return {"l1/app.log": consumer("l1", "reset", *l1)}


def printed(lines: Iterable[tuple[float, str, str]]) -> str:
    """A worker's log of seconds, messages and loggers."""
    return "".join(f"{stamp(at)} INFO {message} ({logger}:1)\n" for at, message, logger in lines)


def worker() -> dict[str, str]:
    """w runs task c-0, is killed after 20 s, and prints one line before the one by which its restart is known; s-0 does not stop in time."""
    coordinator = f"{CONNECT}.distributed.WorkerCoordinator"
    lines = [
        (0.9, "Kafka version: 7.4.1-ccs", "org.apache.kafka.common.utils.AppInfoParser"),
        (1, "WorkerInfo values: ", f"{CONNECT}.WorkerInfo"),
        (2, "[Worker clientId=connect-1, groupId=cc] (Re-)joining group", coordinator),
        (3, "[c|task-0] Creating task c-0", f"{CONNECT}.Worker"),
        (3.1, "[s|task-0] Creating task s-0", f"{CONNECT}.Worker"),
        (4, "[c|task-0] WorkerSinkTask{id=c-0} Executing sink task", f"{CONNECT}.WorkerSinkTask"),
        (4.1, "[s|task-0] AbstractWorkerSourceTask{id=s-0} Executing source task", f"{CONNECT}.AbstractWorkerSourceTask"),
        (10, "[s|task-0] Stopping task s-0", f"{CONNECT}.Worker"),
        (
            11,
            "[s|task-0] [Producer clientId=connector-producer-s-0] Closing the Kafka producer with timeoutMillis = 30000 ms.",
            "org.apache.kafka.clients.producer.KafkaProducer",
        ),
        (15, "[s|task-0] Graceful stop of task s-0 failed.", f"{CONNECT}.Worker"),
        (
            15.001,
            "[Producer clientId=connector-producer-s-0] Closing the Kafka producer with timeoutMillis = 0 ms.",
            "org.apache.kafka.clients.producer.KafkaProducer",
        ),
        (15.002, "App info kafka.producer for connector-producer-s-0 unregistered", "org.apache.kafka.common.utils.AppInfoParser"),
        (20, "[Worker clientId=connect-1, groupId=cc] Rebalance started", coordinator),
        (60, "Kafka Connect worker initializing ...", "org.apache.kafka.connect.cli.AbstractConnectCli"),
        (60.1, "WorkerInfo values: ", f"{CONNECT}.WorkerInfo"),
        (61, "[Worker clientId=connect-1, groupId=cc] (Re-)joining group", coordinator),
    ]
    return {"w/connect.log": printed(lines)}


def in_vain() -> dict[str, str]:
    """v hears of the rebalance to generation 2, asks, and is closed before it ends; a new consumer of its name gets generation 3. All clocks are equal."""
    coordinator = "kafka.coordinator.group.GroupCoordinator"
    preparing = "Preparing to rebalance group vain in state PreparingRebalance with old generation {} (__consumer_offsets-0) (reason: {})"
    broker = [
        (
            1.005,
            "Dynamic member with unknown member id joins group vain in Empty state. Created a new member id v-id and request the member to rejoin with this id.",
        ),
        (1.010, preparing.format(0, "Adding new member v-id with group instance id None; client reason: not provided")),
        (2, "Stabilized group vain generation 1 (__consumer_offsets-0) with 1 members"),
        (30, preparing.format(1, "Adding new member u-id with group instance id None; client reason: not provided")),
        (32, "Stabilized group vain generation 2 (__consumer_offsets-0) with 2 members"),
        (33, preparing.format(2, "Removing member v-id on LeaveGroup; client reason: the consumer is being closed")),
        (
            34,
            "Dynamic member with unknown member id joins group vain in PreparingRebalance state. Created a new member id v-id2 and request the member to rejoin with this id.",
        ),
        (36, "Stabilized group vain generation 3 (__consumer_offsets-0) with 2 members"),
    ]
    v = told(
        (1, "(Re-)joining group"),
        (1.008, "(Re-)joining group"),
        (2.002, joined(1, "v-id", "orders-0")),
        (
            30.5,
            ["Request joining group due to: group is already rebalancing", "Revoke previously assigned partitions orders-0", "(Re-)joining group"],
        ),
        (31.9, "Member v-id sending LeaveGroup request to coordinator h:9092 (id: 2147483646 rack: null) due to the consumer is being closed"),
        (33.999, "(Re-)joining group"),
        (34.002, "(Re-)joining group"),
        (36.002, joined(3, "v-id2", "orders-0")),
    )
    lines = "".join(f"{stamp(at)} INFO [GroupCoordinator 1]: {message} ({coordinator})\n" for at, message in broker)
    return {"broker-1/server.log": lines, "v/app.log": consumer("v", "vain", *v)}


def sink_closed() -> dict[str, str]:
    """k's task d-0 stops in time after its consumer lost the coordinator: no client looks for it any more, and k keeps working for a minute."""
    client = "[Consumer clientId=connector-consumer-d-0, groupId=connect-d] "
    lines = [
        (1, "[Worker clientId=connect-1, groupId=kk] (Re-)joining group", f"{CONNECT}.distributed.WorkerCoordinator"),
        (3, "[d|task-0] Creating task d-0", f"{CONNECT}.Worker"),
        (3.5, f"[d|task-0] {client}Discovered group coordinator h:9092 (id: 2147483646 rack: null)", COORDINATOR),
        (4, f"[d|task-0] {client}(Re-)joining group", COORDINATOR),
        (5, f"[d|task-0] {client}Successfully joined group with generation 4", COORDINATOR),
        (
            20,
            f"[d|task-0] {client}Group coordinator h:9092 (id: 2147483646 rack: null) is unavailable or invalid, will attempt rediscovery",
            COORDINATOR,
        ),
        (22, "[d|task-0] Stopping task d-0", f"{CONNECT}.Worker"),
        (
            22.1,
            "[Worker clientId=connect-1, groupId=kk] Finished stopping tasks in preparation for rebalance",
            f"{CONNECT}.distributed.DistributedHerder",
        ),
        (90, "[Worker clientId=connect-1, groupId=kk] (Re-)joining group", f"{CONNECT}.distributed.WorkerCoordinator"),
    ]
    return {"k/connect.log": printed(lines)}


def given_up() -> dict[str, str]:
    """g's task e-0 is given up on twice and started a third time; the two old threads close their consumers at 40 and 50 s, while the third works."""
    client = "[Consumer clientId=connector-consumer-e-0, groupId=connect-e] "
    lines = [(1, "[Worker clientId=connect-1, groupId=gg] (Re-)joining group", f"{CONNECT}.distributed.WorkerCoordinator")]
    for start in (3, 14, 25):
        lines += [
            (start, "[e|task-0] Creating task e-0", f"{CONNECT}.Worker"),
            (start + 0.5, f"[e|task-0] {client}(Re-)joining group", COORDINATOR),  # or so says the old thread's consumer
            (start + 0.8, "[e|task-0] WorkerSinkTask{id=e-0} Sink task finished initialization and start", f"{CONNECT}.WorkerSinkTask"),
            (start + 1, f"[e|task-0] {client}Successfully joined group with generation 4", COORDINATOR),
            # A log without any assignment would be taken for the output of grep.
            (start + 1.1, f"[e|task-0] {client}Setting newly assigned partitions []", f"{CLIENT}.ConsumerCoordinator"),
        ]
        if start < 25:
            lines += [
                (start + 5, "[e|task-0] Stopping task e-0", f"{CONNECT}.Worker"),
                (start + 10, "[e|task-0] Graceful stop of task e-0 failed.", f"{CONNECT}.Worker"),
            ]
    closed = "[e|task-0] App info kafka.consumer for connector-consumer-e-0 unregistered"
    lines += [(at, closed, "org.apache.kafka.common.utils.AppInfoParser") for at in (40, 50)]
    lines += [(60, "[Worker clientId=connect-1, groupId=gg] (Re-)joining group", f"{CONNECT}.distributed.WorkerCoordinator")]
    return {"g/connect.log": printed(lines)}


def old_sink() -> dict[str, str]:
    """o is of a release whose consumers bear no task's name and are closed without a line: its task f-0 stops in time at 20 s and is started again."""
    client = "[Consumer clientId=consumer-5, groupId=connect-f] "
    herder = f"{CONNECT}.distributed.DistributedHerder"
    lines = [
        (1, "(Re-)joining group", f"{CONNECT}.distributed.WorkerCoordinator"),
        (2, "Starting task f-0", herder),
        (3, "Creating task f-0", f"{CONNECT}.Worker"),
        (4, f"{client}(Re-)joining group", COORDINATOR),
        (5, f"{client}Successfully joined group with generation 1", COORDINATOR),
        (5.1, f"{client}Setting newly assigned partitions [sunk-0]", f"{CLIENT}.ConsumerCoordinator"),
        (20, "Stopping task f-0", f"{CONNECT}.Worker"),
        (20.5, "Finished stopping tasks in preparation for rebalance", herder),
        (30, "Creating task f-0", f"{CONNECT}.Worker"),
        (60, "(Re-)joining group", f"{CONNECT}.distributed.WorkerCoordinator"),
    ]
    return {"o/connect.log": printed(lines)}


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    case = case_of(
        auto_commit() | by_hand() | two_lives() | worker() | in_vain() | sink_closed() | given_up() | old_sink(),
        tmp_path_factory.mktemp("derived"),
        READ,
    )
    return lambda view: ds.dataset(case.view_path(view), format="parquet").to_table().to_pylist()


def ledger(rows, group):
    found = [r for r in rows("duplicate_ledger") if r["group_id"] == group]
    return sorted((r["old_client"], r["new_client"], r["restarted_at"], r["records_lo"], r["records_hi"], r["how"]) for r in found)


def test_automatic_commits_give_exact_numbers(rows):
    assert ledger(rows, "auto") == [("a1", "a2", 25, 0, 0, "automatic_commit"), ("a2", "a1", 40, 20, 20, "automatic_commit")]


def test_a_refused_commit_is_a_lower_bound_and_nothing_is_made_up(rows):
    assert ledger(rows, "hand") == [("h1", "h2", 40, 5, None, "refused_commit"), ("h2", "h3", 70, 0, None, "unknown")]
    fenced = {r["old_client"]: r["fenced_by"] for r in rows("duplicate_ledger") if r["group_id"] == "hand"}
    assert fenced == {"h1": "group", "h2": None}


def test_the_same_generation_given_anew_begins_another_life(rows):
    found = sorted((r["incarnation"], r["generation"]) for r in rows("generation") if r["group_id"] == "reset")
    assert found == [(1, 1), (2, 1), (2, 2)]


def test_first_lines_of_a_restart_are_no_life_signs_of_the_old_process(rows):
    (held,) = [r for r in rows("task_holding") if r["resource"] == "c-0"]
    assert datetime.fromtimestamp(held["stop_lo_ms"] / 1000, UTC) == datetime(2026, 3, 1, 10, 0, 20, tzinfo=UTC)
    assert datetime.fromtimestamp(held["stop_hi_ms"] / 1000, UTC) >= datetime(2026, 3, 1, 10, 1, 0, tzinfo=UTC)


def test_a_build_of_confluent_is_read_as_the_release_of_apache_kafka_that_it_is(rows):
    (w,) = [r for r in rows("process") if r["process_id"] == "w/connect.log"]
    assert (w["kafka_version"], w["version_how"], w["version_range"]) == ("7.4.1-ccs", "confluent", "3.4.x")


def test_a_producer_closed_over_the_head_of_its_thread_ends_no_thread(rows):
    (held,) = [r for r in rows("task_holding") if r["resource"] == "s-0"]
    assert held["stop_how"] == "process_restarted"


def test_a_pause_lasts_until_the_next_assignment(rows):
    paused = {(r["client_id"], r["generation"]): r["paused_ms"] for r in rows("member_generation") if r["group_id"] == "auto"}
    assert paused == {("a1", 1): None, ("a1", 2): 1002, ("a1", 3): 0, ("a2", 2): None, ("a2", 4): 999}


def test_time_without_an_owner_has_its_reason(rows):
    found = [(r["resource"], r["why"], r["next_process_id"]) for r in rows("unowned") if r["group_id"] == "hand"]
    assert all(why in ("rebalance", "left_group", "unknown") for _, why, _ in found)


def test_who_asked_in_vain_ties_no_clocks(rows) -> None:
    """The rebalance that a member heard of is not the one that its successor of the same name got into."""
    (v,) = [r for r in rows("clock_offset") if r["process_id"] == "v/app.log" and r["is_island_reference"]]
    assert v["reference_process_id"] == "broker-1/server.log"
    assert not v["stepped"]
    assert v["lo_ms"] <= 0 <= v["hi_ms"] <= v["lo_ms"] + 20


def test_a_consumer_that_stopped_with_its_task_has_no_outage_any_more(rows) -> None:
    assert [r for r in rows("coordinator_episode") if r["group_id"] == "connect-d"]
    assert not [f for f in rows("rule_coordinator_unavailable") if f["group_id"] == "connect-d"]


def test_threads_that_were_given_up_on_end_when_all_their_consumers_are_closed(rows) -> None:
    """Two lines of one name close two consumers; neither names its consumer, but both existed at the first and not at the second. A start is reported once."""
    lives = sorted((h for h in rows("holding") if h["resource"] == "e-0"), key=lambda h: h["start_hi_ms"])
    seconds = [tuple(ms and ms // 1000 % 3600 for ms in (h["stop_lo_ms"], h["stop_hi_ms"])) for h in lives]
    assert seconds == [(40, 50), (40, 50), (60, None)]
    # A line of a consumer may be the old thread's: it is no sign of the new one.
    assert [round(h["start_hi_ms"] % 60_000 / 1000, 1) for h in lives] == [3.5, 14.8, 25.8]
    pairs = [p for p in rows("split_brain") if p["resource"] == "e-0"]
    # The third shows itself at its start alone: that it ran on is not shown, so the moment that it surely shares with the second has no length.
    assert sorted((p["kind"], p["verdict"], p["cause"]) for p in pairs if p["verdict"] == "proved") == [("thread", "proved", "graceful_stop_failed")]
    assert [(p["kind"], p["verdict"]) for p in pairs if p["verdict"] != "proved"] == [("thread", "undecided")]


def test_a_sink_that_stopped_holds_no_partition_though_no_line_names_its_consumer(rows) -> None:
    (held,) = [h for h in rows("holding") if h["resource"] == "sunk-0"]
    assert (held["stop_how"], held["stop_hi_ms"] // 1000 % 60) == ("tasks_stopped", 20)
