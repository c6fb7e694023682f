# SPDX-License-Identifier: Apache-2.0
"""Scenarios in which the machine or the platform stops a process and leaves a witness of it beside Kafka's logs.

The deed says by `machine` what a witness may truly say; an empty list: no witness decides.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from lab import cluster, platforms
from lab.cluster import Run
from lab.hosts import Cage, call, out_of_memory
from lab.platforms import Event, Pod
from lab.scenarios import Names, assigned, file_sink, scenario, settled, taken_over
from lab.truth import now_ms

REMOVED = ("logs/broker-1/server.log", "has failed, removing it from the group|removed from (the )?group|heartbeat expiration")
_LONG = ("logs/*/*-gc.log", r"Pause .* \d{4,}\.\d+ms")
SESSION_MS = 4000
#: Share of a heap that is filled: the rest is enough for a second of work between two collections, or only for a moment.
FULL, FULLER = "0.9", "0.985"
#: What a GC log may truly show of a process that is stopped from outside: no long collection, or one during which the host did not let it run.
STOPPED = ["not_gc", "gc_starved"]
#: What it may truly show of collections on a machine that others use too: the processor time that it prints decides.
COLLECTED = ["gc_pause", "gc_starved"]


def reader(run: Run, names: Names, name: str, heap: int = 160, collector: str = "Serial") -> None:
    """Start a consumer whose collector works every few seconds, and wait until it has partitions."""
    ready = assigned(run, name)
    session = {"session_timeout_ms": SESSION_MS, "heartbeat_interval_ms": 1000}
    commit = {"auto_commit_interval_ms": 1000, "auto_offset_reset": "earliest"}
    fault = cluster.KAFKA / name
    run.app(
        "consumer", name, "PartitionReader", heap, None, collector, group_id=names.application, topic=names.topic, fault=fault, **session, **commit
    )
    run.until(f"{name} has partitions", ready, 90)


def two_readers(run: Run, names: Names, **victim: object) -> str:
    """Start a broker and two consumers; return the one that a fault hits."""
    run.brokers()
    run.feed(names.topic)
    reader(run, names, "c1")
    reader(run, names, "c2", **victim)  # type: ignore[arg-type]
    run.wait(8)
    return "c2"


def two_workers(run: Run, names: Names, **victim: object) -> str:
    """Start a broker and two workers with tasks; return the one that a fault hits."""
    run.brokers()
    session = {"session_timeout_ms": SESSION_MS, "heartbeat_interval_ms": 1000, "scheduled_rebalance_max_delay_ms": 3000}
    run.worker("w1", names.group, **session)
    run.worker("w2", names.group, **session, **victim)  # type: ignore[arg-type]
    run.connector("w1", names.source, "FaultySource", tasks_max=4, topic="lab-input")
    file_sink(run, "w1", names.sinks[0], 2, "lab-input")
    settled(run, (names.source, 4), (names.sinks[0], 2))
    return "w2"


def removals(run: Run) -> int:
    """Return how often the coordinator has removed a member so far."""
    log = run.folder / "logs/broker-1/server.log"
    text = log.read_text(encoding="utf-8") if log.exists() else ""
    return text.count("has failed, removing it") + text.count("heartbeat expiration")


def removed(run: Run) -> Callable[[], bool]:
    """Return the condition that the coordinator has removed one more member than now."""
    before = removals(run)
    return lambda: removals(run) > before


def fill_heap(run: Run, name: str, seconds: float, share: str = FULL) -> None:
    """Fill the heap of a process until it is removed from its group, and for a time more."""
    gone = removed(run)
    file = cluster.KAFKA / f"{name}.heap"
    file.write_text(share, encoding="utf-8")
    run.until(f"{name} is removed", gone, 150)
    run.wait(seconds)
    file.unlink()
    run.wait(15)
    run.paused_itself(name, SESSION_MS, COLLECTED)


@scenario(REMOVED, _LONG)
def heap_full(run: Run, names: Names) -> None:
    """The heap of a consumer is full: one full collection follows another, some longer than its session timeout."""
    fill_heap(run, two_readers(run, names, heap=2000, collector=names.collector), 6)


@scenario(REMOVED, _LONG)
def worker_heap_full(run: Run, names: Names) -> None:
    """The heap of a Connect worker is full: one full collection follows another, some longer than its session timeout."""
    fill_heap(run, two_workers(run, names, heap=2000, collector=names.collector), 6)


@scenario(REMOVED, ("logs/*/*-gc.log", r"Pause Full .* \d{3,}\.\d+ms"))
def heap_thrashing(run: Run, names: Names) -> None:
    """The small heap of a consumer is full: its collector runs nearly all the time, and no collection is longer than a second or two."""
    fill_heap(run, two_readers(run, names, heap=400, collector=names.collector), 6, FULLER)


def back(run: Run, name: str, seconds: float = 2) -> None:
    """Start a process again, as its supervisor does, and wait until it has work."""
    run.wait(seconds)
    if run.members[name].kind == "worker":
        run.restart(name)
        run.until(f"{name} has tasks again", lambda: run.tasks(name), 90)
    else:
        ready = assigned(run, name)
        run.restart(name)
        run.until(f"{name} has partitions again", ready, 90)
    run.wait(6)


def started_ms(run: Run, name: str, nth: int = -1) -> int:
    """Return when a process was started: the last time, or the n-th."""
    return int([d for d in run.deeds if d["did"].endswith(" started") and name in d.values()][nth]["t_ms"])


@scenario(("logs/c2/kernel.txt", "Memory cgroup out of memory: Killed process"))
def memory_exceeded(run: Run, names: Names) -> None:
    """A consumer exceeds the limit of its memory cgroup, which is lower than its heap: the kernel kills it, and it starts again."""
    name = two_readers(run, names, heap=1200)
    cage, since = Cage("memory"), now_ms()
    cage.hold(run.members[name].process)
    cage.limit(memory_limit_in_bytes=400 << 20)
    (cluster.KAFKA / f"{name}.heap").write_text(FULL, encoding="utf-8")
    run.ended(name, machine=["oom_killed"])
    (cluster.KAFKA / f"{name}.heap").unlink()
    # What the kernel really printed; the laboratory's processes have other numbers there.
    run.witness(f"{name}/kernel.txt", platforms.kernel_text(name, out_of_memory(since)))
    run.wait(6)
    back(run, name)
    run.paused_itself(name, SESSION_MS, COLLECTED)
    cage.remove()


@scenario(REMOVED, ("logs/pods.json", '"OOMKilled"'))
def pod_out_of_memory(run: Run, names: Names) -> None:
    """A worker exceeds its container's memory limit: the kernel kills it; the pod's last state says so; it starts again."""
    name = two_workers(run, names, heap=1500)
    cage, began = Cage("memory"), started_ms(run, name)
    cage.hold(run.members[name].process)
    cage.limit(memory_limit_in_bytes=600 << 20)
    (cluster.KAFKA / f"{name}.heap").write_text(FULL, encoding="utf-8")
    end = run.ended(name, machine=["oom_killed"])
    (cluster.KAFKA / f"{name}.heap").unlink()
    back(run, name)
    pods = [Pod("w1", "connect", started_ms(run, "w1")), Pod(name, "connect", started_ms(run, name), (began, end, "OOMKilled", 137), 1, "600Mi")]
    run.witness("pods.json", platforms.listed(pods))
    run.paused_itself(name, SESSION_MS, COLLECTED)
    cage.remove()


@scenario(REMOVED, ("logs/pods.json", '"Error"'), ("truth.json", "worker resumed"))
def pod_killed_then_frozen(run: Run, names: Names) -> None:
    """A worker is killed, and its pod's last state says so; it starts again, and later it is frozen, of which the pod says nothing."""
    name = two_workers(run, names)
    began = started_ms(run, name)
    run.kill(name, machine=["killed"])
    end = int(run.deeds[-1]["t_ms"])
    run.wait(4)
    back(run, name, 3)
    run.wait(6)
    run.freeze(name, 5, taken_over(run, name), machine=STOPPED)
    run.wait(12)
    pods = [Pod("w1", "connect", started_ms(run, "w1")), Pod(name, "connect", started_ms(run, name), (began, end, "Error", 137), 1)]
    run.witness("pods.json", platforms.listed(pods))


@scenario(REMOVED, ("logs/c2/systemd.json", "status=9/KILL"))
def unit_killed(run: Run, names: Names) -> None:
    """A consumer is killed and not started again; systemd says how its main process ended."""
    name = two_readers(run, names)
    gone = removed(run)
    run.kill(name, machine=["killed"])
    end = int(run.deeds[-1]["t_ms"])
    unit = "kafka-orders.service"
    texts = ("Main process exited, code=killed, status=9/KILL", "Failed with result 'signal'.")
    run.witness(f"{name}/systemd.json", platforms.journal(unit, name, [(end + 4 * n, f"{unit}: {text}") for n, text in enumerate(texts)]))
    run.until(f"{name} is removed", gone)
    run.wait(10)


@scenario(("logs/docker-events.txt", "exitCode=143"))
def container_stopped(run: Run, names: Names) -> None:
    """A worker's container is stopped in good order and started again."""
    name = two_workers(run, names)
    asked = now_ms()
    run.stop(name, machine=["stopped"])
    end = int(run.deeds[-1]["t_ms"])
    back(run, name)
    again = started_ms(run, name)
    events = [(asked, "kill", "signal=15"), (end, "die", "exitCode=143"), (end + 30, "stop", ""), (again, "start", "")]
    run.witness("docker-events.txt", platforms.docker_events(name, events))
    run.witness(f"{name}/inspect.json", platforms.inspected(name, again, end))


@scenario(("logs/events.json", "Liveness probe failed"))
def probe_kills(run: Run, names: Names) -> None:
    """A liveness probe with a short timeout fails three times: the kubelet stops a healthy worker and starts it again."""
    name = two_workers(run, names)
    began, first = started_ms(run, name), now_ms()
    run.wait(10)
    asked = now_ms()
    run.stop(name, machine=["probe_failed"])
    end = int(run.deeds[-1]["t_ms"])
    back(run, name)
    address = run.hosts.address[name]
    failed = f'Liveness probe failed: Get "http://{address}:8083/": context deadline exceeded (Client.Timeout exceeded while awaiting headers)'
    killing = "Container connect failed liveness probe, will be restarted"
    events = [Event(name, "connect", "Unhealthy", failed, first, asked - 40, 3), Event(name, "connect", "Killing", killing, asked, asked)]
    run.witness("events.json", platforms.listed(events))
    run.witness("pods.json", platforms.listed([Pod(name, "connect", started_ms(run, name), (began, end, "Error", 143), 1)]))


@scenario(REMOVED, ("truth/processes.jsonl", '"c2", "state": "stopped"'))
def frozen_beside_gc(run: Run, names: Names) -> None:
    """A consumer is frozen; its collector works every few seconds, and never for long."""
    name = two_readers(run, names, collector=names.collector)
    run.freeze(name, 4, removed(run), machine=STOPPED)
    run.wait(14)


@scenario(REMOVED, ("truth/processes.jsonl", '"c3", "state": "stopped"'))
def host_asleep(run: Run, names: Names) -> None:
    """Two consumers of one host stop at the same time, as when their virtual machine is suspended; a third goes on."""
    two_readers(run, names)
    reader(run, names, "c3")
    run.wait(6)
    gone = removed(run)
    run.freeze(("c2", "c3"), 5, gone, machine=STOPPED)
    run.wait(14)


@scenario(REMOVED)
def cut_off_beside_gc(run: Run, names: Names) -> None:
    """A consumer loses its network until it is removed; its collector works on as ever."""
    name = two_readers(run, names)
    run.cut_off(name, 10)
    run.wait(16)


@scenario(REMOVED)
def throttled(run: Run, names: Names) -> None:
    """The CPU quota of a consumer lets it run for a millisecond in each second: its collections take seconds and use hardly any processor time."""
    name = two_readers(run, names)
    cage = Cage("cpu")
    cage.hold(run.members[name].process)
    gone = removed(run)
    cage.limit(cpu_cfs_period_us=1_000_000, cpu_cfs_quota_us=1_000)
    run.did("consumer paused", consumer=name, machine=["gc_starved", "not_gc"], is_slow=True)
    run.until(f"{name} is removed", gone, 90)
    run.wait(5)
    cage.limit(cpu_cfs_quota_us=-1)
    run.did("consumer resumed", consumer=name)
    run.wait(15)


@scenario(REMOVED, _LONG)
def collection_throttled(run: Run, names: Names) -> None:
    """The heap of a consumer is full, and then its CPU quota lets it run for 3 % of the time: a collection of a second takes half a minute."""
    name = two_readers(run, names, heap=700)
    cage, heap = Cage("cpu"), cluster.KAFKA / f"{name}.heap"
    cage.hold(run.members[name].process)
    heap.write_text(FULL, encoding="utf-8")
    run.wait(10)
    gone = removed(run)
    cage.limit(cpu_cfs_period_us=1_000_000, cpu_cfs_quota_us=30_000)
    run.until(f"{name} is removed", gone, 90)
    run.wait(6)
    heap.unlink()
    cage.limit(cpu_cfs_quota_us=-1)
    run.wait(15)
    run.paused_itself(name, SESSION_MS, COLLECTED)


@scenario(("logs/broker-1/server.log", "No space left on device"))
def disk_full(run: Run, names: Names) -> None:
    """The disk of the only broker is full: it halts; space is freed, and systemd starts it again."""
    data = cluster.KAFKA / "data" / "b1"
    data.mkdir(parents=True)
    call("mount", "-t", "tmpfs", "-o", "size=96m", "tmpfs", str(data))
    two_readers(run, names)
    filler = data / "core.4711"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        for _ in range(96):
            file.write(bytes(1 << 20))
    end = run.ended("broker-1", 120, machine=["exited"])
    unit = "kafka.service"
    texts = ("Main process exited, code=exited, status=1/FAILURE", "Failed with result 'exit-code'.")
    run.witness("broker-1/systemd.json", platforms.journal(unit, "b1", [(end + 4 * n, f"{unit}: {text}") for n, text in enumerate(texts)]))
    run.wait(3)
    filler.unlink()
    run.restart("broker-1")
    run.wait(20)
