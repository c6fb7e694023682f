# SPDX-License-Identifier: Apache-2.0
"""The ground truth: the truth files beside a recording of a real Kafka.

A recording is a directory with `logs/` (what an operator would collect), `truth.json` (what was done when), `truth/` (what
a sampler outside the processes saw) and `witness/` (what the live cluster answered). Nothing here reads a log or the case:
scoring must not believe the thing it scores. All times are epoch milliseconds of the true clock.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

#: The sampler looks at each process five times a second: a change lies up to this long before the line that shows it.
SAMPLE_MS = 200
#: The coordinator's answers about a group, from which the start of a holding is known, may be late by as much as this.
STREAMS_MS = 1000
#: The keys by which a deed names the process that it was done to.
MEMBERS = ("worker", "consumer", "streams", "producer", "mirror")


def member_of(deed: dict) -> str | None:
    """Return the name of the process that a deed was done to; None for brokers, and for what was done to no process."""
    return next((str(deed[key]) for key in MEMBERS if deed.get(key)), None)


@dataclass(frozen=True)
class Span:
    """An unbroken time in which one process truly had one resource.

    Attributes:
        owner: name of the host (`w1`, `c2`).
        resource: a task (`orders-0`) or a partition (`topic-3`).
        start_ms: first sample, or callback, that shows it.
        end_ms: first sample that no longer shows it (so the end lies up to `SAMPLE_MS` before), or the callback.
        running: False while the process was frozen: the thread exists, nothing of it runs.
        pid: operating system's process, which tells a restarted process from its forerunner.
    """

    owner: str
    resource: str
    start_ms: int
    end_ms: int
    running: bool = True
    pid: int = 0


@dataclass(frozen=True)
class Overlap:
    """A time in which two processes truly had the same resource; `kind` is `work` when neither was frozen, else `thread`."""

    resource: str
    owner_a: str
    owner_b: str
    kind: str
    from_ms: int
    to_ms: int

    @property
    def length_ms(self) -> int:
        """Return how long both had it, according to the samples."""
        return self.to_ms - self.from_ms


@dataclass(frozen=True)
class Worker:
    """A Connect worker as it was started: its group, and by how many seconds its clock is ahead of the true one."""

    name: str
    group: str
    skew_s: float


class Recording:
    """One directory of evidence with its truth.

    Args:
        path: the directory that holds `logs/` and `truth.json`.

    Raises:
        FileNotFoundError: when `truth.json` is missing, so that a wrong directory is not scored as an empty one.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = path.name
        truth = json.loads((path / "truth.json").read_text(encoding="utf-8"))
        self.version: str = truth["version"]
        self.scenario: str = truth["scenario"]
        self.deeds: list[dict] = truth["deeds"]
        self.statuses: list[dict] = truth.get("status") or []
        #: Paths below `logs/` that a machine or a platform wrote, not Kafka.
        self.witnesses: list[str] = truth.get("witnesses") or []

    @property
    def logs(self) -> Path:
        """Return the files that a user would pass to `forensics ingest`."""
        return self.path / "logs"

    @cached_property
    def start_ms(self) -> int:
        """When the first deed was done; notes and tables count seconds from here."""
        return int(self.deeds[0]["t_ms"])

    @cached_property
    def end_ms(self) -> int:
        """When truth ends: what the logs show later is the shutdown of everything."""
        ends = [d["t_ms"] for d in self.deeds if d["did"] in ("scenario ends", "recording ends")]
        return int(min(ends)) if ends else max(int(d["t_ms"]) for d in self.deeds)

    @cached_property
    def workers(self) -> dict[str, Worker]:
        """The Connect workers by name."""
        return {d["worker"]: Worker(d["worker"], d["group"], float(d.get("skew") or 0.0)) for d in self.deeds if d["did"] == "worker started"}

    @cached_property
    def consumers(self) -> dict[str, str]:
        """The processes that hold partitions themselves, plain consumers and instances of Streams: name to group."""
        plain = {d["consumer"]: d["group"] for d in self.deeds if d["did"] == "consumer started" and not d.get("share")}
        return plain | {d["streams"]: d["application_id"] for d in self.deeds if d["did"] == "streams started"}

    @cached_property
    def late_ms(self) -> int:
        """By how much the ground truth of holdings may be late."""
        return STREAMS_MS if any(d["did"] == "streams started" for d in self.deeds) else SAMPLE_MS

    @cached_property
    def members(self) -> list[str]:
        """The names of all processes but brokers, in the order in which they were started."""
        return list(dict.fromkeys(name for d in self.deeds if d["did"].endswith(" started") and (name := member_of(d))))

    @cached_property
    def samples(self) -> list[dict]:
        """The lines of `threads.jsonl` until truth ends, in order of time."""
        file = self.path / "truth" / "threads.jsonl"
        if not file.is_file():
            return []
        lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        return sorted((x for x in lines if x["t_ms"] < self.end_ms), key=lambda x: x["t_ms"])

    @cached_property
    def knows_tasks(self) -> bool:
        """Return True if task threads can be identified by name (Connect names them since release 2.3)."""
        return any(x["tasks"] for x in self.samples)

    def stretches(self) -> Iterator[tuple[dict, int]]:
        """Each sampler's line with the time at which the worker's next line (or the end of truth) replaces it."""
        for worker in sorted({x["worker"] for x in self.samples}):
            own = [x for x in self.samples if x["worker"] == worker]
            for line, after in zip(own, [*own[1:], None], strict=True):
                yield line, (after["t_ms"] if after else self.end_ms)

    @cached_property
    def thread_spans(self) -> list[Span]:
        """Task threads by worker, split where the process froze, woke or was started anew.

        A name seen twice in one sample counts once: a thread has its parent's name for a moment before it takes its own.
        """
        spans: list[Span] = []
        open_spans: dict[tuple[str, str], Span] = {}
        for line, until in self.stretches():
            running = line["state"] == "running"
            present = set(line["tasks"]) if line["state"] != "gone" else set()
            for task in present:
                last = open_spans.get((line["worker"], task))
                if last and last.end_ms == line["t_ms"] and (last.running, last.pid) == (running, line["pid"]):
                    grown = Span(last.owner, task, last.start_ms, until, running, last.pid)
                    spans[spans.index(last)] = grown
                else:
                    grown = Span(line["worker"], task, line["t_ms"], until, running, line["pid"])
                    spans.append(grown)
                open_spans[line["worker"], task] = grown
        return sorted(spans, key=lambda s: (s.start_ms, s.owner, s.resource))

    def grid(self) -> Iterator[tuple[int, str, str, bool]]:
        """Yield every point (time, worker, task, thread exists) of the sampler's grid, for each task that ever existed.

        Yields nothing for a release whose threads have no telling names: there is no truth to compare with.
        """
        tasks = sorted({task for x in self.samples for task in x["tasks"]})
        for line, until in self.stretches():
            present = set(line["tasks"]) if line["state"] != "gone" else set()
            for at in range(line["t_ms"], until, SAMPLE_MS):
                for task in tasks:
                    yield at, line["worker"], task, task in present

    def named(self, kind: str) -> list[str]:
        """Return the names of all processes of one kind (`streams`, `producer`), in the order in which they were started."""
        return list(dict.fromkeys(d[kind] for d in self.deeds if d["did"] == f"{kind} started"))

    def said_by(self, name: str) -> list[dict]:
        """Return the lines that a client wrote about itself until the ground truth ends."""
        file = self.path / "truth" / f"{name}.jsonl"
        if not file.is_file():
            return []
        lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line.startswith("{")]
        return [x for x in lines if x.get("timestamp", x.get("t_ms", 0)) < self.end_ms]

    @cached_property
    def failed_tasks(self) -> list[tuple[str, str, int, int, str]]:
        """Return (task, worker, time of the answer before, time of the answer, stack trace) for each change to FAILED in the REST API's answers."""
        workers = {d["ip"]: d["worker"] for d in self.deeds if d["did"] == "worker started"}
        found, states, since = [], {}, self.start_ms
        for answer in self.statuses:
            if "error" in answer["status"]:  # the worker did not answer
                continue
            tasks = {
                f"{connector}-{task['id']}": task
                for connector, answered in answer["status"].items()
                for task in (answered.get("status") or {}).get("tasks", [])
            }
            for name, task in tasks.items():
                worker = workers.get(task["worker_id"].split(":")[0])
                if task["state"] == "FAILED" and states.get(name) != "FAILED" and worker and answer["t_ms"] < self.end_ms:
                    found.append((name, worker, since, answer["t_ms"], task.get("trace") or ""))
            states, since = {name: task["state"] for name, task in tasks.items()}, answer["t_ms"]
        return found

    @cached_property
    def own_words(self) -> dict[str, list[dict]]:
        """Return the lines that each consumer and instance of Streams wrote about itself until the ground truth ends, by its name."""
        return {name: lines for name in self.consumers if (lines := self.said_by(name))}

    @cached_property
    def callbacks(self) -> dict[str, list[dict]]:
        """Return what each VerifiableConsumer printed of its callbacks, by its name."""
        return {name: own for name, lines in self.own_words.items() if (own := [x for x in lines if "name" in x])}

    def _death_ms(self, member: str, since_ms: int = 0) -> int:
        kills = [int(d["t_ms"]) for d in self.deeds if d["did"].endswith(" killed") and member_of(d) == member and d["t_ms"] >= since_ms]
        return min([*kills, self.end_ms])

    def freezes(self, owner: str) -> list[tuple[int, int]]:
        """The times in which a process was stopped by a signal."""
        spans, since = [], None
        for deed in self.deeds:
            if member_of(deed) != owner:
                continue
            if deed["did"].endswith("paused"):
                since = int(deed["t_ms"])
            elif deed["did"].endswith("resumed") and since is not None:
                spans.append((since, int(deed["t_ms"])))
                since = None
        return spans + ([(since, self.end_ms)] if since is not None else [])

    def dead(self, owner: str) -> list[tuple[int, int]]:
        """The times from which a process was killed until it was started again."""
        kills = [int(d["t_ms"]) for d in self.deeds if d["did"].endswith(" killed") and member_of(d) == owner]
        starts = [int(d["t_ms"]) for d in self.deeds if d["did"].endswith(" started") and member_of(d) == owner]
        return [(kill, min([*(t for t in starts if t > kill), self.end_ms])) for kill in kills]

    @cached_property
    def holding_spans(self) -> list[Span]:
        """Partitions held by consumers, from the callback that gave them to the one that took them, or to the process's death."""
        spans = []
        for name, lines in self.callbacks.items():
            held: dict[str, int] = {}
            for line in lines:
                parts = [f"{p['topic']}-{p['partition']}" for p in line.get("partitions", []) if isinstance(p, dict)]
                for partition in [p for p, since in held.items() if self._death_ms(name, since) < line["timestamp"]]:
                    spans.append(Span(name, partition, since := held.pop(partition), self._death_ms(name, since)))
                if line["name"] == "partitions_assigned":
                    held |= {p: line["timestamp"] for p in parts if p not in held}
                elif line["name"] == "partitions_revoked":
                    spans += [Span(name, p, held.pop(p), line["timestamp"]) for p in parts if p in held]
            spans += [Span(name, p, since, self._death_ms(name, since)) for p, since in held.items()]
        spans += self._streams_spans()
        return sorted(spans, key=lambda s: (s.start_ms, s.owner, s.resource))

    def prints_assignments(self, consumer: str) -> bool:
        """Return True if a consumer's log contains which partitions it is given: librdkafka prints them only with `debug`."""
        deed = next(d for d in self.deeds if d["did"] == "consumer started" and d["consumer"] == consumer)
        return deed.get("library") != "librdkafka" or bool(deed.get("debug"))

    def holding_grid(self) -> Iterator[tuple[int, str, str, bool]]:
        """Yield every point (time, consumer, partition, held) from the first holding on, for plain consumers that print their assignments."""
        spans = [s for s in self.holding_spans if s.owner in self.callbacks and self.prints_assignments(s.owner)]
        partitions = sorted({s.resource for s in spans})
        for owner in sorted({s.owner for s in spans}):
            own = [s for s in spans if s.owner == owner]
            for at in range(own[0].start_ms, self.end_ms, SAMPLE_MS):
                for partition in partitions:
                    yield at, owner, partition, any(s.resource == partition and s.start_ms <= at < s.end_ms for s in own)

    def _partition(self, member: str, task: str) -> str:
        """Return the partition that a task of the laboratory's Streams application reads: it has one sub-topology of one topic."""
        topic = next(d["topic"] for d in self.deeds if d["did"] == "streams started" and d["streams"] == member)
        return f"{topic}-{task.rsplit('_', 1)[1]}"

    def _given(self, member: str) -> list[tuple[int, set[str]]]:
        """Return the partitions that the coordinator said a member's host has, each time that they changed."""
        file = self.path / "truth" / "groups.jsonl"
        hosts = {f"/{d['ip']}" for d in self.deeds if d["did"].endswith(" started") and member_of(d) == member}
        answers = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.is_file() else []
        return [(x["t_ms"], {p for m in x["members"] if m["host"] in hosts for p in m["partitions"]}) for x in answers if x.get("state") == "Stable"]

    def _streams_spans(self) -> Iterator[Span]:
        """Yield the partitions of the active tasks that each instance of Streams sampled in itself.

        A thread counts a task as its own only when the task is restored, so a holding begins when the coordinator gave it the partition.
        """
        for name, lines in self.own_words.items():
            samples = [x for x in lines if "threads" in x]
            given = self._given(name) if samples else []
            held: dict[str, int] = {}
            for line in samples:
                active = {self._partition(name, task) for thread in line["threads"] for task in thread["active"]}
                for partition in {*held} - active:
                    yield Span(name, partition, held[partition], min(line["t_ms"], self._death_ms(name, held.pop(partition))))
                held |= {p: _since(given, p, line["t_ms"]) for p in active if p not in held}
            for partition, since in held.items():
                yield Span(name, partition, since, self._death_ms(name, since))

    @cached_property
    def consumed_offsets(self) -> dict[str, dict[str, list[tuple[int, int, int]]]]:
        """Partition to consumer to (time, first offset, last offset) of each batch it consumed."""
        found: dict[str, dict[str, list[tuple[int, int, int]]]] = defaultdict(lambda: defaultdict(list))
        for name, lines in self.callbacks.items():
            for line in lines:
                if line["name"] == "records_consumed":
                    for p in line["partitions"]:
                        found[f"{p['topic']}-{p['partition']}"][name].append((line["timestamp"], p["minOffset"], p["maxOffset"]))
        for name, lines in self.own_words.items():
            for line in lines:
                for task, (first, last) in line.get("processed", {}).items():
                    found[self._partition(name, task)][name].append((line["t_ms"], first, last))
        return found


def _since(given: list[tuple[int, set[str]]], partition: str, at_ms: int) -> int:
    """Return since when a partition was given without a break, as of a time; that time itself if it was not."""
    since = at_ms
    for t_ms, partitions in reversed([x for x in given if x[0] <= at_ms]):
        if partition not in partitions:
            break
        since = t_ms
    return since


def overlaps(spans: list[Span], groups: dict[str, str]) -> list[Overlap]:
    """Pairs of spans of one resource in two processes of one group that share time.

    Args:
        spans: thread or holding spans of one recording.
        groups: owner to group; owners of different groups never conflict here.

    Returns:
        One overlap for each maximal time of one kind, earliest first; owners in order of name.
    """
    by_resource: dict[str, list[Span]] = defaultdict(list)
    for span in spans:
        by_resource[span.resource].append(span)
    found = []
    for resource, owned in by_resource.items():
        for i, a in enumerate(owned):
            for b in owned[i + 1 :]:
                start, end = max(a.start_ms, b.start_ms), min(a.end_ms, b.end_ms)
                if a.owner != b.owner and groups.get(a.owner) == groups.get(b.owner) and start < end:
                    first, second = sorted((a.owner, b.owner))
                    kind = "work" if a.running and b.running else "thread"
                    found.append(Overlap(resource, first, second, kind, start, end))
    return sorted(found, key=lambda o: (o.from_ms, o.resource))


def recordings(root: Path, names: list[str] | None = None) -> list[Recording]:
    """Return all recordings below a directory (or only those whose name contains one of `names`), by name.

    Raises:
        FileNotFoundError: when the directory holds none.
    """
    found = [Recording(p) for p in sorted(root.iterdir()) if (p / "truth.json").is_file()]
    if names:
        found = [r for r in found if any(n in r.name for n in names)]
    if not found:
        raise FileNotFoundError(f"no recording (a directory with truth.json) below {root}")
    return found
