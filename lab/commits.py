# SPDX-License-Identifier: Apache-2.0
"""Scenarios in which records are processed twice or never, or in which another program moves what a group, a producer or a connector had stored."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable

from lab import cluster
from lab.cluster import Run
from lab.scenarios import COOPERATIVE, FILE_SINK, Names, assigned, hinder, scenario, settled, taken_over

#: A row of the table that `kafka-consumer-groups.sh --reset-offsets` prints; some releases print all of them on one line.
RE_SET = re.compile(r"(?P<topic>\S+)\s+(?P<partition>\d+)\s+(?P<offset>\d+)(?=\s|$)")
COMMITTED = ("truth/c1.jsonl", '"offsets_committed".*"success":true')
REFUSED = ("truth/c[12].jsonl", '"offsets_committed".*"success":false')


def start(run: Run, names: Names, name: str, **settings: object) -> None:
    """Start a consumer that commits itself once in five seconds, or as its settings say, and wait until it has partitions."""
    ready = assigned(run, name)
    usual: dict[str, object] = {"session_timeout_ms": 6000, "heartbeat_interval_ms": 1500, "auto_offset_reset": "earliest", "commit_every_ms": 5000}
    about = usual | {"group_id": names.application, "topic": names.topic, "fault": cluster.KAFKA / name} | settings
    run.app("consumer", name, "PartitionReader", **about)  # type: ignore[arg-type]
    run.until(f"{name} has partitions", ready, 90)
    run.wait(3)


def begin(run: Run, names: Names, *consumers: str, brokers: dict[str, object] | None = None, **settings: object) -> None:
    """Start a broker with records to consume, and consumers."""
    run.brokers(settings=brokers)
    run.feed(names.topic, 40)
    run.watch(names.application)
    for name in consumers:
        start(run, names, name, **settings)
    run.wait(8)


def uncommitted(run: Run, name: str, least: int) -> Callable[[], bool]:
    """Return the condition that a consumer has read this number of batches since its last commit."""

    def true() -> bool:
        text = (run.folder / "truth" / f"{name}.jsonl").read_text(encoding="utf-8")
        return text[text.rfind('"offsets_committed"') + 1 :].count('"records_consumed"') >= least

    return true


def end_all(run: Run, *consumers: str) -> None:
    """Stop consumers in good order; the group is empty then."""
    for name in consumers:
        run.stop(name)
    run.wait(3)


def again(run: Run, name: str) -> None:
    """Start a consumer again and wait until it has partitions."""
    ready = assigned(run, name)
    run.restart(name)
    run.until(f"{name} has partitions again", ready, 90)
    run.wait(3)


def set_offsets(run: Run, names: Names, partitions: str, *how: str) -> None:
    """Set offsets of the group as an operator does; the deed has what the tool printed."""
    flags = ("--bootstrap-server", run.bootstrap, "--group", names.application, "--topic", f"{names.topic}:{partitions}")
    text = run.tool("ConsumerGroupCommand", "--reset-offsets", *flags, *how, "--execute")
    offsets = {f"{m['topic']}-{m['partition']}": int(m["offset"]) for m in RE_SET.finditer(text)}
    run.did("group offsets set", group=names.application, offsets=offsets, moved_by="outside")


@scenario(COMMITTED, ("truth.json", '"group offsets set"'))
def offsets_set_by_hand(run: Run, names: Names) -> None:
    """The consumers of a group stop; somebody sets some of its offsets back and others forward; the consumers start again."""
    begin(run, names, "c1", "c2")
    end_all(run, "c1", "c2")
    set_offsets(run, names, "0,1", "--to-earliest")
    set_offsets(run, names, "2", "--to-latest")
    set_offsets(run, names, "3", "--shift-by", "-25")
    run.wait(2)
    again(run, "c1")
    again(run, "c2")
    run.wait(10)


#: Commits expire a minute after the last member left.
EXPIRES_SOON: dict[str, object] = {"offsets.retention.minutes": 1, "offsets.retention.check.interval.ms": 5000}


@scenario(COMMITTED, ("logs/broker-1/server.log", r"(?i)removed \d+ expired offsets|expir\w+ offsets|tombstone"))
def commits_expired(run: Run, names: Names) -> None:
    """A group is empty for longer than offsets.retention.minutes; then one consumer starts at the earliest offsets, and another at the latest."""
    begin(run, names, "c1", brokers=EXPIRES_SOON)
    start(run, names, "c2", auto_offset_reset="latest")
    run.wait(8)
    end_all(run, "c1", "c2")
    run.wait(80)
    run.did("group offsets expired", group=names.application, offsets=dict.fromkeys(f"{names.topic}-{n}" for n in range(6)), moved_by="removed")
    again(run, "c1")
    run.wait(1)
    again(run, "c2")
    run.wait(10)


@scenario(COMMITTED, REFUSED, ("truth/processes.jsonl", '"c2", "state": "stopped"'))
def commit_lost_frozen(run: Run, names: Names) -> None:
    """A consumer that has read what it has not committed is frozen until it has lost its partitions; then its commit is refused."""
    begin(run, names, "c1", "c2")
    ready = assigned(run, "c1")
    run.until("c2 has something to commit", uncommitted(run, "c2", 8))
    run.freeze("c2", 4, ready)
    run.wait(15)


@scenario(("truth/c1.jsonl", "records_consumed"), ("truth.json", '"consumer killed"'))
def commit_never_made(run: Run, names: Names) -> None:
    """With auto.offset.reset=latest, a consumer is killed before its first commit: what came until it is back is never read."""
    run.brokers()
    run.feed(names.topic, 40)
    run.watch(names.application)
    start(run, names, "c1", auto_offset_reset="latest", commit_every_ms=20_000)
    run.wait(6)
    run.kill("c1")
    run.wait(8)
    again(run, "c1")
    run.wait(25)


@scenario(COMMITTED, REFUSED, ("truth/c2.jsonl", '"unblocked"'))
def commit_too_late(run: Run, names: Names) -> None:
    """A consumer works for longer than max.poll.interval.ms on what it has read, and commits it when it has lost its partitions."""
    begin(run, names, "c1", "c2", max_poll_interval_ms=6000)
    run.until("c2 has something to commit", uncommitted(run, "c2", 8))
    hinder(run, "c2", "blocked", 12)
    run.wait(15)


@scenario(COMMITTED, REFUSED)
def commit_in_rebalance(run: Run, names: Names) -> None:
    """Cooperative consumers commit five times a second while others join, and some of these commits fail because of the rebalance."""
    settings = {"partition_assignment_strategy": COOPERATIVE, "commit_every_ms": 200}
    begin(run, names, "c1", **settings)
    for name in ("c2", "c3", "c4"):
        start(run, names, name, **settings)
    run.stop("c4")
    run.stop("c3")
    run.until("a commit fails", lambda: any('"success":false' in (run.folder / f"truth/c{n}.jsonl").read_text(encoding="utf-8") for n in (1, 2)), 5)
    run.wait(8)


@scenario(COMMITTED, ("truth/processes.jsonl", '"c2", "state": "stopped"'))
def exactly_once_reader_frozen(run: Run, names: Names) -> None:
    """Two consumers commit in transactions with what they write; one is frozen with an open transaction until it has lost its partitions."""
    run.brokers(settings={"transaction.abort.timed.out.transaction.cleanup.interval.ms": 1000})
    run.feed(names.topic, 40)
    run.watch(names.application)
    for name in ("c1", "c2"):
        start(run, names, name, transactional_id=f"copy-{name}", isolation_level="read_committed")
    run.wait(8)
    ready = assigned(run, "c1")
    run.until("c2 has something to commit", uncommitted(run, "c2", 8))
    run.freeze("c2", 3, ready)
    run.wait(15)


def transactional(run: Run, names: Names, name: str, transactional_id: str, records: int) -> None:
    """Start a producer whose transactions may last for ten minutes."""
    timeouts = {"transaction_timeout_ms": 600_000, "delivery_timeout_ms": 10_000, "request_timeout_ms": 4_000, "max_block_ms": 15_000}
    amount = {"records": records, "pause_ms": 100, "slow_ms": 0}
    run.app("producer", name, "TransactionalProducer", transactional_id=transactional_id, topic=names.topic, **timeouts, **amount)  # type: ignore[arg-type]
    run.until(f"{name} commits", lambda: run.truth_has(name, "committed"))


def said_last(run: Run, name: str) -> str:
    """Return the last step that a transactional producer wrote."""
    lines = (run.folder / "truth" / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return str(json.loads(lines[-1])["event"]) if lines else ""


def left_open(run: Run, names: Names) -> None:
    """Kill a producer inside a transaction, beside another producer and a consumer that reads only what is committed."""
    run.brokers()
    run.watch(names.application)
    transactional(run, names, "p2", f"{names.transactional_id}-b", 10)
    transactional(run, names, "p1", names.transactional_id, 60)
    start(run, names, "c1", isolation_level="read_committed")
    run.wait(5)
    run.until("a transaction has just begun", lambda: said_last(run, "p1") == "begun", 20)
    run.wait(3)
    run.kill("p1")
    run.wait(20)


def save_transactions(run: Run, names: Names) -> None:
    """Save what `kafka-transactions.sh` and `kafka-dump-log.sh` print of the topic's partitions and of the coordinator's own store."""
    server, topic = ("--bootstrap-server", run.bootstrap), names.topic
    run.save("kafka-transactions-list.txt", "TransactionsCommand", *server, "list")
    run.save("kafka-transactions-find-hanging.txt", "TransactionsCommand", *server, "find-hanging", "--broker-id", 1, "--max-transaction-timeout", 1)
    for number in range(6):
        flags = ("describe-producers", "--topic", topic, "--partition", number)
        run.save(f"kafka-transactions-describe-producers-{number}.txt", "TransactionsCommand", *server, *flags)
    run.save_segments(topic)
    run.save_segments("__transaction_state", "--transaction-log-decoder")


LEFT_OPEN = (("truth.json", '"producer killed"'), ("truth/p1.jsonl", '"begun"'))


@scenario(*LEFT_OPEN)
def transaction_left_open(run: Run, names: Names) -> None:
    """A producer is killed inside a transaction with a long timeout: consumers with read_committed receive nothing that follows."""
    left_open(run, names)
    save_transactions(run, names)


@scenario(*LEFT_OPEN, ("truth.json", "transactions lost"))
def transaction_hanging(run: Run, names: Names) -> None:
    """The same; then the broker restarts without the coordinator's store: the transaction will never end."""
    left_open(run, names)
    run.stop("broker-1")
    for folder in (cluster.KAFKA / "data" / "b1").glob("__transaction_state-*"):
        shutil.rmtree(folder)
    run.did("partition transactions lost", partition="__transaction_state")
    run.restart("broker-1")
    run.wait(375)  # find-hanging lists what is open for longer than its --max-transaction-timeout and five minutes
    save_transactions(run, names)


@scenario(("truth/threads.jsonl", '"stopped", .*"tasks": \\["'), ("witness/dump-lab-input-*.txt", "producerId: [0-9]"))
def source_written_twice(run: Run, names: Names) -> None:
    """A worker with source tasks that have idempotent producers is frozen until the others have its tasks; it wakes up and writes on."""
    run.brokers()
    for worker in ("w1", "w2", "w3"):
        run.worker(worker, names.group)
    idempotent = {"producer_override_enable_idempotence": "true", "producer_override_acks": "all"}
    run.connector("w1", names.source, "FaultySource", tasks_max=6, topic="lab-input", **idempotent)
    run.connector("w1", names.sinks[0], FILE_SINK, tasks_max=2, topics="lab-input", file=cluster.KAFKA / f"{names.sinks[0]}.out")
    settled(run, (names.source, 6), (names.sinks[0], 2))
    run.freeze(names.victim, 6, taken_over(run, names.victim))
    run.wait(15)
    run.save_segments("lab-input")


@scenario(("truth.json", '"connector offsets deleted"'), ("witness/connect-offsets.txt", "count"), since=(3, 6))
def source_starts_anew(run: Run, names: Names) -> None:
    """Somebody stops a source connector, deletes its offsets by REST, and resumes it: its tasks read everything again."""
    run.brokers()
    for worker in ("w1", "w2"):
        run.worker(worker, names.group)
    run.connector("w1", names.source, "FaultySource", tasks_max=2, topic="lab-input")
    settled(run, (names.source, 2))
    run.wait(6)
    path = f"/connectors/{names.source}"
    ask = lambda: json.dumps(run.rest("w1", "GET", f"{path}/offsets")) + "\n"  # noqa: E731
    (run.folder / "witness" / "rest-w1-offsets-before.json").write_text(ask(), encoding="utf-8")
    run.rest("w1", "PUT", f"{path}/stop")
    run.until("no task runs", lambda: not (run.tasks("w1") | run.tasks("w2")))
    run.wait(2)
    run.rest("w1", "DELETE", f"{path}/offsets", seconds=60)
    run.did("connector offsets deleted", connector=names.source)
    run.rest("w1", "PUT", f"{path}/resume")
    settled(run, (names.source, 2))
    (run.folder / "witness" / "rest-w1-offsets.json").write_text(ask(), encoding="utf-8")
    # The tool ends when nothing comes for a time.
    run.rest("w1", "PUT", f"{path}/stop")
    flags = ("--bootstrap-server", run.bootstrap, "--topic", f"{names.group}-offsets", "--from-beginning", "--timeout-ms", 10_000)
    prints = [part for what in ("key", "timestamp", "offset", "partition") for part in ("--property", f"print.{what}=true")]
    run.save("connect-offsets.txt", "ConsoleConsumer", *flags, *prints)
