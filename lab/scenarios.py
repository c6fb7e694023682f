# SPDX-License-Identifier: Apache-2.0
"""What is done to a cluster, scenario by scenario, and what must be there afterwards for a recording to count.

Times are short: sessions end after 6 s without a heartbeat, and Connect waits 8 s for a lost worker.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass

from lab import cluster
from lab.clients import LIBRARIES
from lab.cluster import Run

FILE_SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"
FILE_SINK = "org.apache.kafka.connect.file.FileStreamSinkConnector"
#: The coordinator looks for transactions that exceeded their timeout once a second instead of every 10 s.
ABORTS_SOON = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": 1000}


@dataclass(frozen=True)
class Names:
    """What a reader could learn by heart, so a seed other than 0 changes it: names, numbers, and to whom it happens.

    Attributes:
        group: of the Connect workers.
        source: the connector with one task; like all connectors it has a name of one letter.
        sinks: two sink connectors.
        tasks: of the first sink.
        victim: the worker that a fault hits.
        others: the other workers.
        application: of Streams, and group of consumers.
        topic: what producers write and consumers read.
        transactional_id: of the producers.
        collector: of the process that a fault hits, where its garbage collector matters.
    """

    group: str
    source: str
    sinks: tuple[str, str]
    tasks: int
    victim: str
    others: tuple[str, ...]
    application: str
    topic: str
    transactional_id: str
    collector: str

    @classmethod
    def of(cls, seed: int) -> Names:
        """Return the names of a seed; 0 is the plain case."""
        draw = random.Random(seed)
        letters = draw.sample("fghjkmpqruvxyz", 3) if seed else ["a", "b", "c"]
        victim = draw.choice(["w1", "w2", "w3"]) if seed else "w2"
        return cls(
            group=draw.choice(["cdc-prod", "connect", "lake.sinks", "etl_7"]) if seed else "connect-cluster",
            source=letters[0],
            sinks=(letters[1], letters[2]),
            tasks=draw.choice([3, 5, 6]) if seed else 4,
            victim=victim,
            others=tuple(w for w in ("w1", "w2", "w3") if w != victim),
            application=draw.choice(["billing.v2", "g-7", "search-indexer"]) if seed else "orders-app",
            topic=draw.choice(["invoices", "click-stream_raw", "products.cdc.v1"]) if seed else "orders",
            transactional_id=draw.choice(["tx-1", "shop.payments_0", "invoicer-eu-2"]) if seed else "payments-0",
            collector=draw.choice(["Serial", "Parallel", "G1"]) if seed else "Serial",
        )


@dataclass(frozen=True)
class Scenario:
    """A scenario as `make lab SCENARIO=` names it.

    Attributes:
        name: of its function.
        notes: its docstring; `truth.json` has it.
        play: does it.
        leaves: patterns that files of the recording must match, as (glob, regular expression); without them the fault did not happen.
        since: the first release that can play it.
        library: the client library that its consumers use, if that is not Java's.
    """

    name: str
    notes: str
    play: Callable[[Run, Names], None]
    leaves: tuple[tuple[str, str], ...]
    since: tuple[int, ...]
    library: str = ""


SCENARIOS: dict[str, Scenario] = {}


def scenario(*leaves: tuple[str, str], since: tuple[int, ...] = (3, 3)) -> Callable[[Callable[[Run, Names], None]], Callable[[Run, Names], None]]:
    """Enter a function as a scenario; `leaves` and `since` as in `Scenario`."""

    def enter(play: Callable[[Run, Names], None]) -> Callable[[Run, Names], None]:
        SCENARIOS[play.__name__] = Scenario(play.__name__, (play.__doc__ or "").strip(), play, leaves, since)
        return play

    return enter


def file_source(run: Run, worker: str, name: str, topic: str, lines: int = 50, **settings: object) -> None:
    """Put a connector that reads a file of a few lines into a topic."""
    path = cluster.KAFKA / f"{name}.in"
    path.write_text("hello\n" * lines, encoding="utf-8")
    run.connector(worker, name, FILE_SOURCE, tasks_max=1, file=path, topic=topic, **settings)


def file_sink(run: Run, worker: str, name: str, tasks: int, topic: str) -> None:
    """Put a connector that writes a topic into a file."""
    run.connector(worker, name, FILE_SINK, tasks_max=tasks, topics=topic, file=cluster.KAFKA / f"{name}.out")


def settled(run: Run, *tasks: tuple[str, int]) -> None:
    """Wait until every task of the connectors has a thread in exactly one worker, and a while more."""
    wanted = sorted(f"{name}-{number}" for name, count in tasks for number in range(count))
    workers = [name for name, member in run.members.items() if member.kind == "worker"]
    run.until(f"tasks {wanted} run", lambda: sorted(task for worker in workers for task in run.tasks(worker)) == wanted, 90)
    run.wait(8)


def taken_over(run: Run, victim: str) -> Callable[[], bool]:
    """Return the condition that other workers have threads of all tasks that a worker has now."""
    held = run.tasks(victim)
    others = [name for name, member in run.members.items() if member.kind == "worker" and name != victim]
    return lambda: held <= {task for worker in others for task in run.tasks(worker)}


def three_workers(run: Run, names: Names, **settings: object) -> None:
    """Start three Connect workers with a source and two sinks, and let them settle."""
    run.brokers()
    for worker in ("w1", "w2", "w3"):
        run.worker(worker, names.group, **settings)
    file_source(run, "w1", names.source, "lab-input")
    for sink, tasks in zip(names.sinks, (names.tasks, 2), strict=True):
        file_sink(run, "w1", sink, tasks, "lab-input")
    settled(run, (names.source, 1), *zip(names.sinks, (names.tasks, 2), strict=True))


@scenario(("truth/threads.jsonl", '"stopped", .*"tasks": \\["'))
def worker_frozen(run: Run, names: Names) -> None:
    """A Connect worker is frozen until the others have its tasks; it wakes up still running them."""
    three_workers(run, names)
    run.freeze(names.victim, 6, taken_over(run, names.victim))
    run.wait(15)


def produce(run: Run, names: Names, name: str, *, timeout_ms: int = 20_000, records: int = 10, slow_ms: int = 0) -> None:
    """Start a transactional producer with the shared transactional.id."""
    run.app(
        "producer",
        name,
        "TransactionalProducer",
        transactional_id=names.transactional_id,
        transaction_timeout_ms=timeout_ms,
        delivery_timeout_ms=10_000,
        request_timeout_ms=4_000,
        max_block_ms=15_000,
        topic=names.topic,
        records=records,
        pause_ms=150,
        slow_ms=slow_ms,
    )


@scenario(
    ("truth/p1.jsonl", '"fatal".*Fenced|"fatal".*InvalidProducerEpoch'), ("truth/p2.jsonl", '"fatal"'), ("truth/transactions.jsonl", '"Ongoing"')
)
def producer_fenced(run: Run, names: Names) -> None:
    """Two processes with one transactional.id: the second fences the first, whose supervisor starts it again, which fences the second."""
    run.brokers()
    run.watch()
    produce(run, names, "p1")
    run.until("p1 commits", lambda: run.truth_has("p1", "committed"))
    run.wait(8)
    produce(run, names, "p2")
    run.until("p1 is fenced", lambda: run.members["p1"].process.state == "gone", 40)
    run.wait(6)
    run.restart("p1")
    run.until("p2 is fenced", lambda: run.members["p2"].process.state == "gone", 40)
    run.wait(6)


@scenario(("logs/broker-1/server.log", "Completed rollback of ongoing transaction"), ("truth/p1.jsonl", '"(failed|fatal)"'))
def producer_timed_out(run: Run, names: Names) -> None:
    """A producer is frozen inside a transaction for longer than transaction.timeout.ms: the coordinator aborts it and bumps the epoch."""
    run.brokers(settings=ABORTS_SOON)
    run.watch()
    produce(run, names, "p1", timeout_ms=6000, records=32)
    run.until("p1 commits", lambda: run.truth_has("p1", "committed"))
    run.wait(8)
    run.freeze("p1", 4, lambda: run.log_has("broker-1", "Completed rollback of ongoing transaction"))
    run.wait(15)


@scenario(("logs/broker-1/server.log", "Completed rollback of ongoing transaction"), ("truth/p1.jsonl", '"(failed|fatal)"'))
def producer_too_slow(run: Run, names: Names) -> None:
    """A producer works for longer than transaction.timeout.ms before it commits; its supervisor starts it again if that ends it."""
    run.brokers(settings=ABORTS_SOON)
    run.watch()
    produce(run, names, "p1", timeout_ms=6000, slow_ms=12_000)
    run.until("the coordinator aborts", lambda: run.log_has("broker-1", "Completed rollback of ongoing transaction"))
    run.until("p1 learns of it", lambda: run.truth_has("p1", '"failed"') or run.truth_has("p1", '"fatal"'))
    run.wait(8)
    if run.members["p1"].process.state == "gone":
        run.restart("p1")
    run.wait(10)


def streams(run: Run, names: Names, guarantee: str = "at_least_once") -> None:
    """Start two instances of a Streams application, each with two threads, on six partitions, and let them settle."""
    run.brokers()
    run.feed(names.topic, 30)
    run.watch(names.application)
    for name in ("s1", "s2"):
        run.app(
            "streams",
            name,
            "StreamsCounter",
            heap=256,
            application_id=names.application,
            topic=names.topic,
            fault=cluster.KAFKA / f"{names.topic}.fault",
            num_stream_threads=2,
            num_standby_replicas=1,
            processing_guarantee=guarantee,
            state_dir=cluster.KAFKA / "state" / name,
            replication_factor=1,
            session_timeout_ms=6000,
            heartbeat_interval_ms=1500,
            commit_interval_ms=500,
            acceptable_recovery_lag=100_000,
        )
        run.until(f"{name} has tasks", lambda name=name: active(run, name), 90)
        run.wait(3)
    run.until("both have tasks", lambda: active(run, "s1") and len(active(run, "s1") + active(run, "s2")) == 6, 90)
    run.wait(6)


def active(run: Run, name: str, since: int = 0) -> list[str]:
    """Return the active tasks that an instance of Streams had in its last sample, if that is later than some lines of its truth."""
    path = run.folder / "truth" / f"{name}.jsonl"
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    lines = text[: text.rfind("\n") + 1].splitlines()[since:]
    last = next((line for line in reversed(lines) if '"threads"' in line), '{"threads":[]}')
    return [task for thread in json.loads(last)["threads"] for task in thread["active"]]


def back(run: Run, name: str) -> None:
    """Start an instance of Streams again and wait until it has tasks."""
    lines = (run.folder / "truth" / f"{name}.jsonl").read_text(encoding="utf-8").count("\n")
    run.restart(name)
    run.until(f"{name} has tasks again", lambda: active(run, name, lines), 90)


HAD_TASKS = tuple((f"truth/{name}.jsonl", '"active":\\["') for name in ("s1", "s2"))
FROZEN = ("truth/processes.jsonl", '"s1", "state": "stopped"')


@scenario(*HAD_TASKS, FROZEN)
def streams_frozen(run: Run, names: Names) -> None:
    """One of two Streams instances is frozen until the other has its tasks; it wakes up still believing that it has them."""
    streams(run, names)
    run.freeze("s1", 5, lambda: len(active(run, "s2")) == 6)
    run.wait(16)


@scenario(*HAD_TASKS, FROZEN, ("logs/s1/streams.log", "ProducerFencedException|InvalidProducerEpochException|TaskMigratedException"))
def streams_exactly_once_frozen(run: Run, names: Names) -> None:
    """The same with exactly_once_v2: what it has in hand when it wakes up is fenced."""
    streams(run, names, "exactly_once_v2")
    run.freeze("s1", 12, lambda: len(active(run, "s2")) == 6)
    run.wait(16)


@scenario(*HAD_TASKS, ("truth/processes.jsonl", '"s1", "state": "gone"'))
def streams_killed(run: Run, names: Names) -> None:
    """One of two Streams instances is killed and comes back with its state."""
    streams(run, names)
    run.kill("s1")
    run.until("s2 has all tasks", lambda: len(active(run, "s2")) == 6)
    run.wait(5)
    back(run, "s1")
    run.wait(8)


@scenario(*HAD_TASKS, ("truth/s1.jsonl", '"exception"'), ("truth/s2.jsonl", '"exception"'))
def streams_poisoned(run: Run, names: Names) -> None:
    """A record that the application cannot process ends the instance that has it, then the one that takes its task over."""
    streams(run, names)
    fault = cluster.KAFKA / f"{names.topic}.fault-2"
    fault.write_text("", encoding="utf-8")
    run.did("partition cannot be processed", partition=f"{names.topic}-2")
    for name in ("s1", "s2"):
        run.until(f"{name} ends", lambda name=name: run.members[name].process.state == "gone", 60)
    run.wait(8)
    fault.unlink()
    run.did("partition can be processed", partition=f"{names.topic}-2")
    for name in ("s1", "s2"):
        back(run, name)
    run.wait(8)


def failing(run: Run, connector: str, state: str = "FAILED") -> list[int]:
    """Return which tasks of a connector are in a state, according to REST."""
    return [task["id"] for task in run.rest("w1", "GET", f"/connectors/{connector}/status")["tasks"] if task["state"] == state]


@scenario(("truth.json", '"FAILED"'), ("truth.json", "Read timed out"), ("truth.json", "Converting byte"))
def connector_task_throws(run: Run, names: Names) -> None:
    """A source task throws; its first restart fails and its second succeeds. A sink task meets a record that it cannot read, until it may skip it."""
    run.brokers()
    for worker in ("w1", "w2", "w3"):
        run.worker(worker, names.group)
    fault = cluster.KAFKA / f"{names.source}.fault"
    sink = names.sinks[0]
    run.connector("w1", names.source, "FaultySource", tasks_max=3, topic="lab-input", fault=fault)
    file_sink(run, "w1", sink, names.tasks, "lab-input")
    settled(run, (names.source, 3), (sink, names.tasks))
    one = fault.with_name(f"{fault.name}-1")
    one.write_text("", encoding="utf-8")
    run.did("task fault begins", task=f"{names.source}-1", connector=names.source)
    run.until("the task fails", lambda: failing(run, names.source) == [1])
    run.wait(5)
    run.restart_task(names.source, 1)
    run.wait(5)
    one.unlink()
    run.did("task fault ends", task=f"{names.source}-1", connector=names.source)
    run.restart_task(names.source, 1)
    run.wait(5)
    poison = names.sinks[1]
    text = "org.apache.kafka.connect.storage.StringConverter"
    file_source(run, "w1", poison, "lab-input", lines=1, key_converter=text, value_converter=text)
    run.until("a sink task fails", lambda: failing(run, sink))
    run.wait(6)
    run.restart_task(sink, failing(run, sink)[0])
    run.wait(6)
    run.connector("w1", sink, FILE_SINK, tasks_max=names.tasks, topics="lab-input", file=cluster.KAFKA / f"{sink}.out", errors_tolerance="all")
    run.wait(10)


@scenario(("logs/w*/connect.log", "ProducerFenced|InvalidProducerEpoch"), ("truth/threads.jsonl", '"stopped", .*"tasks": \\["'))
def exactly_once_source_fenced(run: Run, names: Names) -> None:
    """A worker with exactly-once source tasks is frozen until the others run them, whose producers fence its own; then tasks.max changes."""
    run.brokers(settings=ABORTS_SOON)
    run.watch()
    for worker in ("w1", "w2", "w3"):
        run.worker(worker, names.group, exactly_once_source_support="enabled")
    run.connector("w1", names.source, "FaultySource", tasks_max=6, topic="lab-input", exactly_once_support="required")
    file_sink(run, "w1", names.sinks[0], 2, "lab-input")
    settled(run, (names.source, 6), (names.sinks[0], 2))
    run.freeze(names.victim, 6, taken_over(run, names.victim))
    run.wait(12)
    run.connector(names.others[0], names.source, "FaultySource", tasks_max=4, topic="lab-input", exactly_once_support="required")
    run.wait(8)


QUICK_EPOCHS = {
    "group.consumer.session.timeout.ms": 6000,
    "group.consumer.min.session.timeout.ms": 6000,
    "group.consumer.heartbeat.interval.ms": 1500,
    "group.consumer.min.heartbeat.interval.ms": 1500,
}


def assigned(run: Run, name: str, times: int = 1) -> Callable[[], bool]:
    """Return the condition that a consumer has been given partitions this number of times more than now."""

    def count() -> int:
        path = run.folder / "truth" / f"{name}.jsonl"
        return path.read_text(encoding="utf-8").count('"partitions_assigned","partitions":[{') if path.exists() else 0

    before = count()
    return lambda: count() >= before + times


def held_by(run: Run, name: str) -> list[int]:
    """Return the partitions that a consumer was last given, by their numbers."""
    path = run.folder / "truth" / f"{name}.jsonl"
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if "partitions_assigned" in line] if path.exists() else []
    return sorted(p["partition"] for p in lines[-1]["partitions"]) if lines else [0]


def consume(run: Run, names: Names, name: str, *arguments: str) -> None:
    """Start a consumer, or start it again with other arguments, and wait until it has partitions."""
    ready = assigned(run, name)
    run.consumer(name, names.application, names.topic, *arguments)
    run.until(f"{name} has partitions", ready)
    run.wait(3)


def roll(run: Run, names: Names, *arguments: str) -> None:
    """Stop the three consumers one after the other and start each with other arguments."""
    for name in ("c1", "c2", "c3"):
        run.stop(name)
        consume(run, names, name, *arguments)
    run.wait(5)


@scenario(("logs/broker-1/server.log", "(?i)upgrade|convert|consumer protocol"), ("truth/c1.jsonl", "partitions_revoked"), since=(4, 0))
def classic_to_kip848(run: Run, names: Names) -> None:
    """Three consumers move from the classic protocol to KIP-848, one at a time, while the group runs."""
    run.brokers(settings=QUICK_EPOCHS)
    run.feed(names.topic)
    run.watch(names.application)
    for name in ("c1", "c2", "c3"):
        consume(run, names, name)
    roll(run, names, "--group-protocol", "consumer")


RANGE = "org.apache.kafka.clients.consumer.RangeAssignor"
COOPERATIVE = "org.apache.kafka.clients.consumer.CooperativeStickyAssignor"


@scenario(("logs/c4/consumer.log", "InconsistentGroupProtocol"), ("logs/c1/consumer.log", "protocol='cooperative-sticky'"))
def assignors_rolled(run: Run, names: Names) -> None:
    """A consumer with another assignor is refused; then the group moves to it in two rolling restarts, as KIP-429 describes."""
    run.brokers()
    run.feed(names.topic)
    run.watch(names.application)
    for name in ("c1", "c2", "c3"):
        consume(run, names, name, "--assignment-strategy", RANGE)
    run.consumer("c4", names.application, names.topic, "--assignment-strategy", COOPERATIVE)
    run.until("c4 is refused", lambda: run.members["c4"].process.state == "gone")
    roll(run, names, "--assignment-strategy", f"{COOPERATIVE},{RANGE}")
    roll(run, names, "--assignment-strategy", COOPERATIVE)


def read(run: Run, names: Names, name: str, **levels: str) -> None:
    """Start a consumer that can be kept from reading what it has, and wait until it has partitions."""
    ready = assigned(run, name)
    levels = {f"org.apache.kafka.clients.consumer.{key}": level for key, level in levels.items()}
    fault = cluster.KAFKA / name
    session = {"session_timeout_ms": 6000, "heartbeat_interval_ms": 1500}
    commit = {"auto_commit_interval_ms": 1000, "auto_offset_reset": "earliest"}
    run.app("consumer", name, "PartitionReader", levels=levels, group_id=names.application, topic=names.topic, fault=fault, **session, **commit)
    run.until(f"{name} has partitions", ready, 90)
    run.wait(3)


def hinder(run: Run, name: str, how: str, seconds: float, then: Callable[[], object] = lambda: None) -> None:
    """Keep a consumer from reading for some time; before that ends, do something."""
    file = cluster.KAFKA / f"{name}.{how}"
    file.write_text("", encoding="utf-8")
    run.did("consumer hindered", consumer=name, how=how)
    run.wait(seconds)
    then()
    file.unlink()
    run.did("consumer no longer hindered", consumer=name, how=how)


@scenario(
    ("logs/c1/consumer.log", "Pausing partitions"),
    ("logs/c2/consumer.log", "pause flag in partitions"),
    ("logs/c2/consumer.log", "RecordDeserializationException"),
    ("truth/c3.jsonl", '"unblocked"'),
)
def partition_stuck(run: Run, names: Names) -> None:
    """Consumers keep their partitions and do not read them: paused (once at DEBUG, once at INFO), a record that cannot be read, a blocked thread."""
    run.brokers()
    run.feed(names.topic, 60)
    run.watch(names.application)
    read(run, names, "c1", **{"internals.ClassicKafkaConsumer": "DEBUG", "internals.ConsumerCoordinator": "DEBUG"})
    read(run, names, "c2")
    hinder(run, "c1", f"paused-{held_by(run, 'c1')[0]}", 12)
    run.wait(4)
    hinder(run, "c2", f"paused-{held_by(run, 'c2')[0]}", 10, lambda: read(run, names, "c3"))
    run.wait(5)
    hinder(run, "c3", "blocked", 15)
    run.wait(4)
    hinder(run, "c2", "unreadable", 20, (cluster.KAFKA / "c2.skip").touch)
    run.wait(8)


@scenario(
    ("truth/c1.jsonl", "records_consumed"),
    ("truth/c2.jsonl", "records_consumed"),
    ("truth/processes.jsonl", '"c1", "state": "stopped"'),
    since=(4, 2),
)
def share_group(run: Run, names: Names) -> None:
    """Three consumers of a share group, which may have the same partition by design: one is frozen beyond its locks, one is killed."""
    quick = {f"group.share.{key}": value for key, value in (("session.timeout.ms", 6000), ("min.session.timeout.ms", 6000))}
    beats = {f"group.share.{key}": value for key, value in (("heartbeat.interval.ms", 1500), ("min.heartbeat.interval.ms", 1500))}
    run.brokers(settings=quick | beats | {"group.share.record.lock.duration.ms": 15_000})
    run.feed(names.topic)
    for name in ("c1", "c2", "c3"):
        run.consumer(name, names.application, names.topic, "--offset-reset-strategy", "earliest", share=True)
    for name in ("c1", "c2", "c3"):
        run.until(f"{name} has records", lambda name=name: run.truth_has(name, "records_consumed"))
    run.wait(6)
    run.freeze("c1", 18)
    run.wait(8)
    run.kill("c2")
    run.wait(12)


@scenario(("truth/threads.jsonl", '"stopped", .*"tasks": \\["'), ("truth.json", '"worker killed"'))
def eight_workers(run: Run, names: Names) -> None:
    """Eight Connect workers: one is frozen until the others have its tasks, another is killed and starts again."""
    run.brokers()
    workers = [f"w{number}" for number in range(1, 9)]
    for worker in workers:
        run.worker(worker, names.group, heap=256)
    file_source(run, "w1", names.source, "lab-input")
    for sink in names.sinks:
        file_sink(run, "w1", sink, 8, "lab-input")
    settled(run, (names.source, 1), *((sink, 8) for sink in names.sinks))
    run.freeze(names.victim, 6, taken_over(run, names.victim))
    run.wait(8)
    later = taken_over(run, "w5")
    run.kill("w5")
    run.until("the others have the tasks of w5", later)
    run.wait(4)
    run.restart("w5")
    run.until("w5 has tasks", lambda: run.tasks("w5"))
    run.wait(8)


@scenario(("truth.json", '"worker killed"'), ("truth.json", '"worker cut off"'), ("truth.json", '"broker started"'))
def several_faults(run: Run, names: Names) -> None:
    """One worker is killed while another is frozen; later the broker is killed and starts again; at last a worker is cut off."""
    three_workers(run, names)
    victim, other = names.victim, names.others[1]
    later = taken_over(run, victim)
    run.kill(victim)
    run.wait(2)
    run.freeze(other, 4, later)
    run.restart(victim)
    run.until(f"{victim} has tasks", lambda: run.tasks(victim), 90)
    run.wait(6)
    run.kill("broker-1")
    run.wait(4)
    run.restart("broker-1")
    run.wait(15)
    run.cut_off(other, 16)
    run.wait(15)


#: What MirrorMaker 2 does often enough for a run of two minutes.
MIRRORED_SOON = {
    "emit_checkpoints_interval_seconds": 3,
    "sync_group_offsets_interval_seconds": 3,
    "refresh_topics_interval_seconds": 5,
    "refresh_groups_interval_seconds": 5,
    "sync_group_offsets_enabled": "true",
    "replication_factor": 1,
    "offset-syncs_topic_replication_factor": 1,
    "checkpoints_topic_replication_factor": 1,
    "heartbeats_topic_replication_factor": 1,
}


def east_to_west(run: Run, names: Names, east: str) -> dict[str, object]:
    """Return the settings of MirrorMaker's connectors on Connect that copy a topic from a cluster to the first one."""
    return {
        "source_cluster_alias": "east",
        "target_cluster_alias": "west",
        "source_cluster_bootstrap_servers": east,
        "target_cluster_bootstrap_servers": run.bootstrap,
        "topics": names.topic,
        "groups": names.application,
        "key_converter": "org.apache.kafka.connect.converters.ByteArrayConverter",
        "value_converter": "org.apache.kafka.connect.converters.ByteArrayConverter",
        **MIRRORED_SOON,
    }


@scenario(("logs/w*/connect.log", "MirrorSourceTask"), ("truth/threads.jsonl", '"stopped"'), since=(3, 6))
def mirror_maker(run: Run, names: Names) -> None:
    """MirrorMaker 2 on three workers copies a topic and a group's offsets; a worker is frozen, then the source cluster's broker is down."""
    run.brokers()
    east = run.brokers()
    for worker in ("w1", "w2", "w3"):
        run.worker(worker, names.group)
    run.feed(names.topic, bootstrap=east)
    run.consumer("c1", names.application, names.topic, bootstrap=east)
    clusters = east_to_west(run, names, east)
    for name, kind, tasks in zip((names.source, *names.sinks), ("Source", "Checkpoint", "Heartbeat"), (3, 1, 1), strict=True):
        run.connector("w1", name, f"org.apache.kafka.connect.mirror.Mirror{kind}Connector", tasks_max=tasks, **clusters)
    settled(run, (names.source, 3), (names.sinks[0], 1), (names.sinks[1], 1))
    run.freeze(names.victim, 6, taken_over(run, names.victim))
    run.wait(10)
    run.kill("broker-2")
    run.wait(8)
    run.restart("broker-2")
    run.wait(12)


@scenario(("logs/m*/mirror.log", "Kafka MirrorMaker started"), ("logs/w1/connect.log", "MirrorSourceTask"), since=(3, 6))
def mirror_maker_twice(run: Run, names: Names) -> None:
    """Two nodes of MirrorMaker's own driver copy both ways; a Connect worker copies one way too; then the source cluster's broker is down."""
    run.brokers()
    east = run.brokers()
    run.feed(names.topic, bootstrap=east)
    run.consumer("c1", names.application, names.topic, bootstrap=east)
    for node in ("m1", "m2"):
        run.mirror(node, {"west": run.bootstrap, "east": east}, topics=names.topic, groups=names.application, tasks_max=3, **MIRRORED_SOON)
    run.until("the driver copies", lambda: run.log_has("m1", "replicating") or run.log_has("m2", "replicating"), 240)
    run.wait(15)
    run.worker("w1", names.group)
    clusters = east_to_west(run, names, east) | {"admin_timeout_ms": 5000}
    for name, kind, tasks in zip((names.source, names.sinks[0]), ("Source", "Checkpoint"), (2, 1), strict=True):
        run.connector("w1", name, f"org.apache.kafka.connect.mirror.Mirror{kind}Connector", tasks_max=tasks, **clusters)
    settled(run, (names.source, 2), (names.sinks[0], 1))
    run.kill("broker-2")
    run.wait(40)
    run.restart("broker-2")
    run.wait(15)


@dataclass(frozen=True)
class Clients:
    """Consumers of one client library in one group.

    Attributes:
        run: the cluster.
        names: of the seed.
        library: its name in `lab/clients.py`.
        settings: of every consumer, beside those of the scenario.
    """

    run: Run
    names: Names
    library: str
    settings: dict[str, object]

    def begin(self) -> None:
        """Start a broker with records to consume."""
        self.run.brokers()
        self.run.feed(self.names.topic)
        self.run.watch(self.names.application)

    def start(self, name: str, **settings: object) -> None:
        """Start a consumer with short timeouts."""
        timeouts = {"session_ms": 6000, "heartbeat_ms": 1500, "max_poll_ms": 10_000}
        self.run.client(name, self.library, self.names.application, self.names.topic, **timeouts, **self.settings, **settings)

    def joins(self, name: str, **settings: object) -> None:
        """Start a consumer and let it join."""
        ready = assigned(self.run, name)
        self.start(name, **settings)
        if self.library == "kafka_go":  # its reader does not say what it was given
            self.run.wait(8)
        else:
            self.run.until(f"{name} has partitions", ready, 40)
        self.run.wait(4)


def frozen_and_killed(clients: Clients) -> None:
    """Three consumers of the library join one after another; one is frozen past its session timeout; later another is killed and comes back."""
    run = clients.run
    clients.begin()
    for name in ("c1", "c2", "c3"):
        clients.joins(name)
    run.freeze("c2", 12)
    run.wait(12)
    run.kill("c3")
    run.wait(13)
    run.restart("c3")
    run.wait(12)


def slow_then_broker_restarted(clients: Clients) -> None:
    """Two consumers of the library; one works for longer than max.poll.interval.ms while a third joins; later the broker restarts."""
    run = clients.run
    clients.begin()
    for name in ("c1", "c2"):
        clients.joins(name)
    hinder(run, "c1", "blocked", 16, lambda: clients.start("c3"))
    run.wait(14)
    run.stop("broker-1")
    run.wait(4)
    run.restart("broker-1")
    run.wait(22)


def static_ids(clients: Clients) -> None:
    """Two consumers of the library with static ids; one restarts within its session timeout; then a third process has the other's id."""
    run = clients.run
    clients.begin()
    clients.joins("c1", instance_id="orders-1")
    clients.joins("c2", instance_id="orders-2")
    run.stop("c2")
    run.wait(1)
    run.restart("c2")
    run.wait(10)
    clients.start("c3", instance_id="orders-1")
    run.did("second owner of instance id orders-1", consumer="c3")
    run.wait(14)


def _of_library(library: str, ending: str, play: Callable[[Clients], None], leaves: tuple[tuple[str, str], ...], **settings: object) -> None:
    """Enter a scenario of consumers of a library; settings are those of all its consumers."""
    name = f"{library}_{ending}"
    notes = (play.__doc__ or "").strip().replace("the library", library.replace("_", "-"))
    SCENARIOS[name] = Scenario(name, notes, lambda run, names: play(Clients(run, names, library, settings)), leaves, (3, 3), library)


KILLED = (("truth/processes.jsonl", '"c2", "state": "stopped"'), ("truth/processes.jsonl", '"c3", "state": "gone"'))
RESTARTED = (("truth.json", '"broker started"'), ("truth/c2.jsonl", "records_consumed"))
for _library, _about in LIBRARIES.items():
    _of_library(_library, "frozen_and_killed", frozen_and_killed, KILLED)
    _of_library(_library, "slow", slow_then_broker_restarted, RESTARTED)
    if _about.has_static_ids:
        _of_library(_library, "static_ids", static_ids, (("truth.json", "second owner"),))
_of_library("librdkafka", "debug", frozen_and_killed, KILLED, debug="cgrp")
_of_library("librdkafka", "slow_debug", slow_then_broker_restarted, RESTARTED, debug="cgrp", strategy="cooperative-sticky")
_of_library("librdkafka", "static_ids_logging", static_ids, (("truth.json", "second owner"),), python_logger=True)
