# SPDX-License-Identifier: Apache-2.0
"""Rules on logs that are written for them: what they say, and the like log on which they are silent. Recordings show the others."""

from __future__ import annotations

import pytest
from some_views import found_by
from written_logs import CONNECT, case_of, config, consumer, joined, stamp, told

pytestmark = pytest.mark.engine

Entry = tuple[float, str, str]
HERDER, WORKER = f"{CONNECT}.distributed.DistributedHerder", f"{CONNECT}.Worker"


def dump(component: str, **values: str) -> str:
    return f"{component} values: \n" + "".join(f"\t{k.replace('_', '.')} = {v}\n" for k, v in sorted(values.items()))


def worker(release: str, group: str, *entries: Entry, url: str = "http://10.0.0.1:8083/", **settings: str) -> str:
    """A Connect worker of a Kafka cluster of its own, which is called as its group."""
    begin: list[Entry] = [
        (0, "WorkerInfo values: \n\tjvm.spec = Debian", f"{CONNECT}.WorkerInfo"),
        (0.1, dump("DistributedConfig", group_id=group, **settings), f"{CONNECT}.distributed.DistributedConfig"),
        (0.2, f"Kafka version: {release}", "org.apache.kafka.common.utils.AppInfoParser"),
        (0.3, f"Kafka cluster ID: {group}-kafka", f"{CONNECT}.WorkerConfig"),
        (0.4, f"Advertised URI: {url}", f"{CONNECT}.rest.RestServer"),
        (1, f"[Worker clientId=connect-1, groupId={group}] (Re-)joining group", f"{CONNECT}.distributed.WorkerCoordinator"),
        (2, f"[Worker clientId=connect-1, groupId={group}] Successfully joined group with generation 1", f"{CONNECT}.distributed.WorkerCoordinator"),
    ]
    return "".join(f"{stamp(at)} {level(message)} {message} ({logger}:1)\n" for at, message, logger in [*begin, *entries])


def level(message: str) -> str:
    return "ERROR" if "exception" in message or "Graceful" in message else "INFO"


def idle(until: float) -> Entry:
    return (until, "WorkerSourceTask{id=other-0} Committing offsets", f"{CONNECT}.WorkerSourceTask")


def zombie(release: str, group: str) -> str:
    """Source task z-0 does not stop in time."""
    return worker(
        release, group,
        (3, "[z|task-0] Creating task z-0", WORKER),
        (3.1, "[z|task-0] " + dump("ProducerConfig", client_id="connector-producer-z-0"), "org.apache.kafka.clients.producer.ProducerConfig"),
        (3.2, "[z|task-0] WorkerSourceTask{id=z-0} Source task finished initialization and start", f"{CONNECT}.WorkerSourceTask"),
        (20, "[z|task-0] Stopping task z-0", WORKER),
        (25, "[z|task-0] Graceful stop of task z-0 failed.", WORKER),
        (40, "[z|task-0|offsets] WorkerSourceTask{id=z-0} Committing offsets", f"{CONNECT}.WorkerSourceTask"),
        idle(60),
    )  # fmt: skip


def herder_dies(release: str, group: str) -> str:
    return worker(
        release, group,
        (20, f"[Worker clientId=connect-1, groupId={group}] Connector c config updated", HERDER),
        (20.1, f"[Worker clientId=connect-1, groupId={group}] Uncaught exception in herder work thread, exiting: \njava.lang.NullPointerException", HERDER),
        idle(60),
    )  # fmt: skip


def member(client: str, group: str, **settings: str) -> str:
    dotted = {k.replace("_", "."): v for k, v in settings.items()}
    return consumer(
        client, group, *told((0, config(client, group, **dotted)), (1, "(Re-)joining group"), (2, joined(1, f"{client}-id", f"{client}-0")))
    )


def broker(release: str, **settings: str) -> str:
    lines = [
        (0, dump("KafkaConfig", **settings), "kafka.server.KafkaConfig"),
        (1, f"Kafka version: {release}", "org.apache.kafka.common.utils.AppInfoParser"),
    ]
    return "".join(f"{stamp(at)} INFO {message} ({logger})\n" for at, message, logger in lines)


LOGS = {
    "url1/connect.log": worker("3.9.1", "urls", idle(40), url="http://localhost:8083/"),
    "url2/connect.log": worker("3.9.1", "urls", idle(50), url="http://localhost:8083/"),
    "single/connect.log": worker("3.9.1", "single", url="http://localhost:8083/"),
    "failed/connect.log": worker(
        "3.9.1", "failing",
        (3, "[s|task-0] Creating task s-0", WORKER),
        (9, "[s|task-0] WorkerSinkTask{id=s-0} Task threw an uncaught and unrecoverable exception. Task is being killed and will not recover until manually restarted", f"{CONNECT}.WorkerTask"),
        idle(60),
    ),
    "restarted/connect.log": worker(
        "3.9.1", "restarting",
        (3, "[s|task-0] Creating task s-0", WORKER),
        (4, "[s|task-0] WorkerSinkTask{id=s-0} Sink task finished initialization and start", f"{CONNECT}.WorkerSinkTask"),
        (7, "[s|task-0] WorkerSinkTask{id=s-0} Commit of offsets threw an unexpected exception for sequence number 3: null\norg.apache.kafka.common.errors.TimeoutException: too late", f"{CONNECT}.WorkerSinkTask"),
        (9, "[s|task-0] WorkerSinkTask{id=s-0} Task threw an uncaught and unrecoverable exception. Task is being killed and will not recover until manually restarted\norg.apache.kafka.connect.errors.ConnectException: Exiting WorkerSinkTask\n\tat a.B.c(B.java:1)\nCaused by: java.lang.IllegalStateException: no such table\n\tat a.B.d(B.java:2)", f"{CONNECT}.WorkerTask"),
        (30, "[s|task-0] Stopping task s-0", WORKER),
        (30.1, "[s|task-0] Creating task s-0", WORKER),
        (30.3, "[s|task-0] WorkerSinkTask{id=s-0} Sink task finished initialization and start", f"{CONNECT}.WorkerSinkTask"),
        (30.5, '10.0.0.9 - - [01/Mar/2026:10:00:30 +0000] "POST /connectors/s/tasks/0/restart HTTP/1.1" 204 - "-" "curl/8.5.0" 401', f"{CONNECT}.rest.RestServer"),
        idle(60),
    ),
    "zombie-old/connect.log": zombie("2.5.0", "zombie-old"),
    "zombie-new/connect.log": zombie("3.9.1", "zombie-new"),
    "herder-old/connect.log": herder_dies("3.0.0", "herder-old"),
    "herder-new/connect.log": herder_dies("3.9.1", "herder-new"),
    "reader/connect.log": worker(
        "2.2.0", "reading",
        (20, "Unexpected exception in Thread[KafkaBasedLog Work Thread - connect-configs,5,main]\norg.apache.kafka.common.errors.TimeoutException: Failed to get offsets", "org.apache.kafka.connect.util.KafkaBasedLog"),
    ),
    "clean/connect.log": worker("2.3.0", "clean", idle(60)),
    "risky/connect.log": worker(
        "3.9.1", "risky", config_storage_topic="c", config_storage_replication_factor="1", session_timeout_ms="10000", heartbeat_interval_ms="5000",
        task_shutdown_graceful_timeout_ms="60000", rebalance_timeout_ms="60000", scheduled_rebalance_max_delay_ms="0", connect_protocol="eager",
    ),
    "good/connect.log": worker(
        "3.9.1", "good", config_storage_topic="c", config_storage_replication_factor="3", session_timeout_ms="10000", heartbeat_interval_ms="3000",
        task_shutdown_graceful_timeout_ms="5000", rebalance_timeout_ms="60000", scheduled_rebalance_max_delay_ms="300000", connect_protocol="sessioned",
    ),
    "m1/app.log": member("m1", "uneven", max_poll_interval_ms="300000", session_timeout_ms="45000", heartbeat_interval_ms="3000"),
    "m2/app.log": member("m2", "uneven", max_poll_interval_ms="900000", session_timeout_ms="45000", heartbeat_interval_ms="3000"),
    "broker/server.log": broker("3.9.1", broker_id="1", transaction_state_log_replication_factor="1", transaction_state_log_min_isr="2", unclean_leader_election_enable="true"),
}  # fmt: skip


@pytest.fixture(scope="module")
def findings(tmp_path_factory):
    """Findings of a rule as (group, subject, severity, headline)."""
    rules = ("advertised-url", "assigned-not-working", "zombie-task", "known-bug", "risky-config")
    case = case_of(LOGS, tmp_path_factory.mktemp("rules"), [f"rule_{rule.replace('-', '_')}" for rule in rules])
    rows = [row for rule in rules for row in found_by(case, rule)]
    assert all(any(p["event_id"] for p in r["proof"]) for r in rows), [r["headline"] for r in rows]
    assert all(r["advice"] and r["explanation"] for r in rows), [r["headline"] for r in rows if not (r["advice"] and r["explanation"])]

    def found(rule: str) -> list[tuple[str, str, str, str]]:
        return [(r["group_id"], r["subject"], r["severity"], r["headline"]) for r in rows if r["rule"] == rule]

    found.rows = rows
    return found


@pytest.fixture(scope="module")
def explained(findings):
    """Severity, headline and explanation of a rule's findings, by group."""
    return lambda rule: {r["group_id"]: (r["severity"], r["headline"], r["explanation"]) for r in findings.rows if r["rule"] == rule}


def test_workers_that_advertise_localhost(findings):
    ((group, subject, severity, headline),) = findings("advertised-url")
    assert (group, subject, severity) == ("urls", "http://localhost:8083/", "warning")
    assert headline.startswith("2 workers of urls advertise the same URL")


def test_work_that_is_assigned_and_not_done(findings, explained):
    told = explained("assigned-not-working")
    found = {group: (severity, headline) for group, _, severity, headline in findings("assigned-not-working")}
    assert found["failing"] == ("critical", "task s-0 failed on worker failed/connect.log and did not start again")
    severity, headline, explanation = told["restarting"]
    assert (severity, headline) == (
        "warning",
        "task s-0 failed on worker restarted/connect.log and started again after at least 21 s: IllegalStateException: no such table",
    )
    assert explanation.startswith("The innermost exception is “java.lang.IllegalStateException: no such table”, logged as the cause of")
    assert (
        "Within 2.00 s before the failure, the worker logged a warning or an error: “org.apache.kafka.common.errors.TimeoutException: too late”."
        in explanation
    )
    assert (
        "A REST request from 10.0.0.9 (directly, or forwarded by a worker) restarted it. No worker ran it for at least 21.0 s and at most 21.4 s."
        in explanation
    )
    assert found["herder-old"][1].startswith("the herder of herder-old/connect.log died")
    assert "clean" not in found


def test_a_task_that_does_not_stop(findings):
    assert {(group, subject) for group, subject, _, _ in findings("zombie-task")} == {("zombie-old", "z-0"), ("zombie-new", "z-0")}


def test_a_bug_is_known_by_its_mark_and_its_release(findings):
    found = {(group, subject) for group, subject, _, _ in findings("known-bug")}
    assert found == {("zombie-old", "KAFKA-10340"), ("herder-old", "KAFKA-13586"), ("reading", "KAFKA-7941")}


def test_settings_that_ask_for_trouble(findings):
    found = findings("risky-config")
    assert {subject for group, subject, _, _ in found if group == "risky"} == {
        "heartbeat.interval.ms", "task.shutdown.graceful.timeout.ms", "replication of Connect's topics", "scheduled.rebalance.max.delay.ms", "connect.protocol",
    }  # fmt: skip
    assert {subject for group, subject, _, _ in found if group is None} == {
        "transaction.state.log.replication.factor", "transaction.state.log.min.isr", "unclean.leader.election.enable",
    }  # fmt: skip
    assert [subject for group, subject, _, _ in found if group == "uneven"] == ["max.poll.interval.ms"]
    assert [subject for group, subject, _, _ in found if group == "good"] == []
