# SPDX-License-Identifier: Apache-2.0
"""A Connect worker: its member of the group, its tasks and their threads, and what becomes of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from sim_client import Client
from sim_coordinator import Coordinator
from sim_words import FULL, say
from sim_world import Action, Process

GRACE_MS = 5_000
COMMIT_MS = 3_000


@dataclass
class Plan:
    """The settings that a history fixes for all its workers: the cluster, the tasks, the behaviour of tasks."""

    release: str
    eager: bool
    group: str
    cluster: str
    tasks: tuple[str, ...]
    delay_ms: float
    slow: float
    failing: float

    def is_source(self, task: str) -> bool:
        """Sources have a producer, sinks a consumer in a group of their own."""
        return task.startswith("a")


@dataclass
class Run:
    """One thread of one task: what the oracle knows. True milliseconds; None while it lasts.

    Attributes:
        began: the thread's first moment; user code runs from here.
        surely: until here user code surely could read or write.
        possibly: from here on it surely could not.
        ended: the thread's last moment.
    """

    worker: str
    task: str
    life: int
    began: float
    surely: float | None = None
    possibly: float | None = None
    ended: float | None = None


class SinkConsumer(Client):
    """A sink task's own consumer, in group `connect-<connector>`; one partition a task."""

    coordinator_class = "ConsumerCoordinator"
    protocol = "range"

    def setup(self, task: str, parts: tuple[str, ...], context: str) -> SinkConsumer:
        """Name it after its task."""
        self.parts, self.held = parts, list[str]()
        self.context = f"{context}[Consumer clientId={self.client_id}, groupId={self.group}] "
        return self

    def metadata(self) -> object:
        return "subscribed"

    def before_join(self, then: Action) -> None:
        if self.held or self.release == "2.3":
            gone = not self.member and self.release != "2.3"
            self.log("lost" if gone else "revoke", parts=", ".join(self.held))
        self.held = []
        then()

    def share_out(self, members: dict[str, object]) -> dict[str, object]:
        names = sorted(members)
        shares: dict[str, object] = {n: [p for i, p in enumerate(self.parts) if i % len(names) == at] for at, n in enumerate(names)}
        words = ", ".join(f"{n}=Assignment(partitions=[{', '.join(shares[n])}])" for n in names)  # type: ignore[arg-type]
        self.log("finished_assignment", parts=words)
        return shares

    def completed(self, assignment: object) -> None:
        self.held = list(assignment or [])  # type: ignore[call-overload]
        self.log("adding", parts=", ".join(self.held))
        for part in self.held:
            self.log("position", part=part)

    def close(self) -> None:
        """Release its partitions and leave."""
        if self.held and self.release != "2.3":
            self.log("revoke", parts=", ".join(self.held))
        self.leave()


class Task:
    """One start of a task in a worker, from `Creating task` to the end of its thread."""

    def __init__(self, worker: WorkerMember, task: str) -> None:
        self.worker, self.task, self.process = worker, task, worker.process
        self.source = worker.plan.is_source(task)
        connector, number = task.rsplit("-", 1)
        self.context = f"[{connector}|task-{number}] "
        self.consumer: SinkConsumer | None = None
        self.run: Run | None = None
        self.asked = self.cancelled = self.closing = False
        self.on_end: Action | None = None
        self.commits = 0
        self.log("creating_task")

    def construct(self, submitted: Action) -> None:
        """Build the task, then pass it to a thread; only then does the herder continue."""

        def begin() -> None:
            self._begin()
            submitted()

        self.process.after(1, 80, begin)

    def log(self, name: str, context: str | None = None, **values: object) -> None:
        """Write one line in this task's context."""
        said = say(self.worker.release, name, task=self.task, broker=self.worker.broker, **values)
        if said:
            level, message, logger = said
            self.process.write(level, (self.context if context is None else context) + message, logger)

    @property
    def producer(self) -> str:
        return f"[Producer clientId=connector-producer-{self.task}] "

    def _begin(self) -> None:
        world = self.process.world
        self.run = Run(self.worker.name, self.task, self.process.life, world.now)
        self.worker.runs.append(self.run)
        self.process.after(0.2, 20, self._up)
        if world.rng.random() < self.worker.plan.failing:
            self.process.after(2_000, 20_000, self._fail)

    def _up(self) -> None:
        if self.run is None or self.run.ended is not None:
            return
        self.log("source_up" if self.source else "sink_up")
        if not self.source and not self.asked and not self.closing:
            connector = self.task.rsplit("-", 1)[0]
            names = (self.worker.host, self.worker.broker)
            parts = tuple(f"{connector}-input-{i}" for i, t in enumerate(x for x in self.worker.plan.tasks if x.startswith(connector + "-")))
            self.consumer = SinkConsumer(
                self.process, self.worker.coordinator, self.worker.release, f"connect-{connector}", f"connector-consumer-{self.task}", names
            ).setup(self.task, parts, self.context)
            self.consumer.find()
        self.process.after(COMMIT_MS, COMMIT_MS, self._commit)

    def _commit(self) -> None:
        if self.run is None or self.closing or self.asked:
            return
        self.commits += 1
        if self.source:
            self.log("source_commit", context=self.context.replace("] ", "|offsets] "))
        elif self.consumer and self.consumer.held:
            self.log("sink_commit", number=self.commits, part=self.consumer.held[0])
        self.process.after(COMMIT_MS, COMMIT_MS, self._commit)

    def _fail(self) -> None:
        if self.run and self.run.surely is None and not self.asked and not self.closing:
            self.log("threw", **{"class": "WorkerSourceTask" if self.source else "WorkerSinkTask"})
            self._close()

    def stop(self, on_end: Action) -> None:
        """Receive the request to stop; sooner or later user code learns of it."""
        self.log("stopping_task")
        self.asked, self.on_end = True, on_end
        if self.consumer:
            self.consumer.busy = True
        if self.run is not None and self.run.ended is not None:
            on_end()
        elif self.process.world.rng.random() < self.worker.plan.slow:
            self.process.after(GRACE_MS, 5 * GRACE_MS, self._close)
        else:
            self.process.after(1, 400, self._close)

    def cancel(self) -> None:
        """Did not end in time: the herder goes on without it; 3.x takes a source's producer away, and no context is printed."""
        self.on_end = None
        self.log("stop_failed")
        self.cancelled = True
        if self.source and self.worker.release == "3.9" and self.run and self.run.surely is None:
            self.log("closing_producer", context=self.producer, timeout=0)
            self.log("unregistered", context="", kind="producer")
            self.run.surely = self.process.world.now

    def _close(self) -> None:
        if self.run is None:
            # The herder is asked to end while a task is still being built.
            self.process.after(1, 80, self._close)
            return
        if self.closing:
            return
        self.closing = True
        world = self.process.world
        if self.source:
            self.log("closing_producer", context=self.context + self.producer, timeout=30_000)
            reachable = not self.process.cut
            self.process.after(*((0.5, 60) if reachable else (1_000, 30_000)), self._closed)
        else:
            self.run.surely = self.run.possibly = world.now
            if self.consumer:
                self.consumer.close()
            self.process.after(0.5, 150, self._closed)

    def _closed(self) -> None:
        run, now = self.run, self.process.world.now
        if run is None or run.ended is not None:
            return
        if not (self.source and self.cancelled and self.worker.release == "3.9"):
            self.log("unregistered", kind="producer" if self.source else "consumer")
        run.surely, run.possibly, run.ended = run.surely or now, run.possibly or now, now
        if self.on_end:
            self.on_end()


@dataclass
class Leading:
    """State that a leader keeps between generations: since when tasks are missing."""

    until: float | None = None
    known: set[str] = field(default_factory=set)


class WorkerMember(Client):
    """A worker's member of the Connect group, and its herder."""

    coordinator_class = "WorkerCoordinator"

    def __init__(self, process: Process, coordinator: Coordinator, plan: Plan, name: str, host: str, broker: str, runs: list[Run]) -> None:
        client_id = f"connect-{host}:8083" if plan.release == "3.9" else "connect-1"
        super().__init__(process, coordinator, plan.release, plan.group, client_id, (host, broker))
        self.plan, self.name, self.runs = plan, name, runs
        self.protocol = "default" if plan.eager else "sessioned" if plan.release != "2.3" else "compatible"
        self.context = f"[Worker clientId={client_id}, groupId={plan.group}] "
        self.url = f"http://{host}:8083/"
        self.leader_url = self.url
        self.tasks: dict[str, Task] = {}
        self.leading = Leading()

    def start(self) -> None:
        """A new JVM begins to write."""
        for name, values in (("starting", {}), ("version", {"version": FULL[self.release]})):
            self.log(name, context="", **values)
        self.log("herder_starting")
        self.process.after(100, 600, self._ready)

    def _ready(self) -> None:
        if not self.process.cut:
            self.log("cluster", cluster=self.plan.cluster)
        self.log("herder_started")
        self.find()

    def metadata(self) -> object:
        return (self.url, () if self.plan.eager else tuple(sorted(self.tasks)))

    def before_join(self, then: Action) -> None:
        self.log("rebalance_started")
        if self.plan.eager:
            self.stop_tasks(list(self.tasks), then)
        else:
            then()

    def stop_tasks(self, names: list[str], then: Action) -> None:
        """Stop tasks in parallel, wait for them as long as Connect does, then continue."""
        waiting = {n: self.tasks.pop(n) for n in names}
        self.busy = True
        stopped = list(waiting)

        def go_on() -> None:
            if stopped:
                self.log("finished_stopping")
                self.log("flushed")
            self.busy = False
            then()

        def ended(name: str) -> Callable[[], None]:
            def end() -> None:
                if waiting.pop(name, None) and not waiting:
                    self.process.after(0.1, 5, go_on)

            return end

        def too_late() -> None:
            if waiting:
                for task in waiting.values():
                    task.cancel()
                waiting.clear()
                go_on()

        if not waiting:
            go_on()
            return
        self.process.after(GRACE_MS, GRACE_MS + 5, too_late)
        for name, task in list(waiting.items()):
            task.stop(ended(name))

    def share_out(self, members: dict[str, object]) -> dict[str, object]:
        claims = {m: list(facts[1]) for m, facts in sorted(members.items())}  # type: ignore[index]
        if self.plan.eager:
            names = sorted(claims)
            return {m: self._share([t for i, t in enumerate(self.plan.tasks) if i % len(names) == at], [], 0, members) for at, m in enumerate(names)}
        revoked: dict[str, list[str]] = {m: [] for m in claims}
        taken: dict[str, list[str]] = {}
        for m, tasks in claims.items():
            for t in tasks:
                taken.setdefault(t, []).append(m)
        for t, owners in taken.items():
            if len(owners) > 1 and self.release != "2.3":
                for m in owners:
                    revoked[m].append(t)
        free = [t for t in self.plan.tasks if t not in taken]
        delay = self._delay(free)
        if delay:
            free = [t for t in free if t not in self.leading.known]
        kept = {m: [t for t in tasks if t not in revoked[m]] for m, tasks in claims.items()}
        for t in free:
            kept[min(kept, key=lambda m: (len(kept[m]), m))].append(t)
        most, least = (f(kept, key=lambda m: len(kept[m])) for f in (max, min))
        if not delay and not any(revoked.values()) and len(kept[most]) - len(kept[least]) > 1:
            settled = [t for t in kept[most] if t in claims[most]]
            for t in settled[: (len(kept[most]) - len(kept[least])) // 2]:
                kept[most].remove(t)
                revoked[most].append(t)
        self.leading.known = set(self.plan.tasks)
        return {m: self._share(kept[m], revoked[m], delay, members) for m in claims}

    def _delay(self, free: list[str]) -> float:
        now = self.process.world.now
        lost = [t for t in free if t in self.leading.known]
        if not lost or not self.plan.delay_ms:
            self.leading.until = None
            return 0
        if self.leading.until is None:
            self.leading.until = now + self.plan.delay_ms
        if now >= self.leading.until:
            self.leading.until = None
            return 0
        return self.leading.until - now

    def _share(self, tasks: list[str], revoked: list[str], delay: float, members: dict[str, object]) -> dict[str, object]:
        return {"tasks": tasks, "revoked": revoked, "delay": int(delay), "url": members[self.member][0]}  # type: ignore[index]

    def _assignment(self, tasks: list[str], revoked: list[str], delay: int) -> dict[str, object]:
        words = f", revokedConnectorIds=[], revokedTaskIds=[{', '.join(revoked)}], delay={delay}"
        facts = {"leader": self.leader, "url": self.leader_url, "offset": 14, "tasks": ", ".join(tasks)}
        return facts | {"revoked": "" if self.plan.eager else words}

    def completed(self, assignment: object) -> None:
        share: dict = assignment or {"tasks": [], "revoked": [], "delay": 0}  # type: ignore[assignment]
        self.leader_url = share.get("url", self.leader_url)
        facts = {"generation": self.generation, "leader": self.leader, "url": self.leader_url}
        share = share | {"facts": facts}
        gone = [t for t in share["revoked"] if t in self.tasks]
        if gone:
            self.stop_tasks(gone, lambda: self._take(share))
        else:
            self._take(share)

    def _take(self, share: dict) -> None:
        version = 0 if self.plan.eager else 2
        words = self._assignment(share["tasks"], share["revoked"], share["delay"]) | share["facts"]
        self.log("assigned", **words, version=version, delay=share["delay"])
        self.log("work_starting", offset=14)
        if self.state == "closed":
            return
        new = [name for name in share["tasks"] if name not in self.tasks]
        waiting = set(new)
        self.busy = True

        def submitted(name: str) -> Action:
            def one() -> None:
                waiting.discard(name)
                if not waiting:
                    self._taken(share)

            return one

        for name in new:
            self.log("starting_task", task=name)
            self.tasks[name] = Task(self, name)
            self.tasks[name].construct(submitted(name))
        if not new:
            self._taken(share)

    def _taken(self, share: dict) -> None:
        self.log("work_started")
        self.busy = False
        if share["delay"]:
            self.process.after(share["delay"], share["delay"] + 2, self._again)
        if share["revoked"]:
            self.wants = True
        self.poll()

    def _again(self) -> None:
        self.wants = True
        self.poll()

    def while_unknown(self, since: float) -> None:
        """From 2.4 on a worker without a coordinator gives up its tasks after a while."""
        if self.release != "2.3" and self.tasks and not self.busy and self.process.world.now - since >= 1_500:
            self.log("unreachable", **self._assignment(list(self.tasks), [], 0))
            self.stop_tasks(list(self.tasks), self.poll)

    def shut_down(self, gone: Action) -> None:
        """SIGTERM: stops everything, leaves, and the JVM ends."""
        self.log("stopping", context="")
        self.log("herder_stopping")
        self._halt(gone)

    def _halt(self, gone: Action) -> None:
        """Run the last action of the herder's only thread after it has finished its current one; it learns of no further rebalance."""
        if self.busy:
            self.process.after(5, 60, lambda: self._halt(gone))
            return
        self.log("stopping_all")
        waiting = dict(self.tasks)
        self.busy = True
        self.beat(self._next())

        def end() -> None:
            self.leave()
            self.process.after(1, 300, exit_now)

        def exit_now() -> None:
            self.log("herder_stopped")
            self.log("stopped", context="")
            gone()

        def ended(name: str) -> Callable[[], None]:
            def one() -> None:
                if waiting.pop(name, None) and not waiting:
                    end()

            return one

        def too_late() -> None:
            if waiting:
                for task in waiting.values():
                    task.cancel()
                waiting.clear()
                end()

        if not waiting:
            end()
            return
        self.process.after(GRACE_MS, GRACE_MS + 5, too_late)
        for name, task in dict(waiting).items():
            task.stop(ended(name))
