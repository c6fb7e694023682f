"""Measure how time and memory grow as one thing in the logs doubles twice: nothing may grow faster than the logs.

    python bench/growth.py WORKFOLDER [--kinds handovers owners ...] [--scale 1] [--engine sail] [--json bench/growth.json] [--anew]

For each kind, logs are generated at n, 2n and 4n. Processes of their own ingest them and build all views, print the report, and write the page. Each takes
processor time, and memory of its process tree at the peak. The same for a log of a few lines of the first kind is subtracted, because starting takes most of
a small case's time. A factor is what 2n takes divided by what n takes (2 is in proportion, 4 is quadratic), or 4n by n. Differences that are too small to be measured have no factor.
Each measurement is written when it is made: after a run that was stopped, the next one measures only the rest. The exit code is 1 if
a factor exceeds 2.6, or 4.6 from n to 4n.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import shutil
import sys
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

from ingest_vs_spark import measure

FIGURES = Path(__file__).with_name("growth.json")
#: Twice as many, and four times as many, take at most this many times as much.
MOST = {2: 2.6, 4: 4.6}
#: Less than this, in seconds and bytes, is noise: there is no factor.
NOISE = {"cpu": 1.5, "peak": 60e6}
_START = datetime(2026, 11, 21, 7, tzinfo=UTC)
_CONSUMER = "org.apache.kafka.clients.consumer.internals.ConsumerCoordinator"
_INVOKER = "org.apache.kafka.clients.consumer.internals.ConsumerRebalanceListenerInvoker"
_BROKER = "kafka.coordinator.group.GroupCoordinator"
_WORKER = "org.apache.kafka.connect.runtime.distributed.WorkerCoordinator:590"
_HERDER = "org.apache.kafka.connect.runtime.distributed.DistributedHerder:2024"
#: Path of a log, time in milliseconds since the start, logger, message.
Line = tuple[str, int, str, str]

_READ = """
import sys
from pathlib import Path
from forensics.case.ingestion import ingest
ingest([Path(sys.argv[1])], Path(sys.argv[2]))
"""
_BUILD = """
import sys
from pathlib import Path
from forensics.case import views
from forensics.case.ingestion import ingest
from forensics.engines import engine
views.build(ingest([Path(sys.argv[1])], Path(sys.argv[2])).case, engine(sys.argv[3]))
"""
_REPORT = """
import sys
from forensics import api
from forensics.cli import ReportFormat
print(len(api.open_case(sys.argv[1], engine=sys.argv[2]).report().render(ReportFormat(sys.argv[3]))))
"""


def _member(client: str, n: int) -> str:
    return f"{client}-{uuid.UUID(int=random.Random(f'{client} {n}').getrandbits(128))}"


def _consumer(path: str, ms: int, client: str, message: str, logger: str = _CONSUMER) -> Line:
    return path, ms, logger, f"[Consumer clientId={client}, groupId=g1] {message}"


def _joined(path: str, ms: int, client: str, member: str, generation: int, protocol: str = "range") -> Line:
    its = f"Generation{{generationId={generation}, memberId='{member}', protocol='{protocol}'}}"
    return _consumer(path, ms, client, f"Successfully joined group with generation {its}")


def _prepared(ms: int, generation: int, reason: str) -> Line:
    old = f"in state PreparingRebalance with old generation {generation} (__consumer_offsets-7)"
    return "server.log", ms, _BROKER, f"[GroupCoordinator 1]: Preparing to rebalance group g1 {old} (reason: {reason})"


def _adding(member: str) -> str:
    return f"Adding new member {member} with group instance id None; client reason: not provided"


def _formed(ms: int, generation: int, leader: str, members: int) -> Iterator[Line]:
    for message in (
        f"Stabilized group g1 generation {generation} (__consumer_offsets-7) with {members} members",
        f"Assignment received from leader {leader} for group g1 for generation {generation}. The group has {members} members, 0 of which are static.",
    ):
        yield "server.log", ms, _BROKER, f"[GroupCoordinator 1]: {message}"


def handovers(count: int) -> Iterator[Line]:
    """Two clients take one partition from each other, each time while the other still has it."""
    for n in range(count):
        client, path = f"c-{n % 2}", f"c-{n % 2}.log"
        yield _joined(path, 1_000 * n, client, f"{client}-abc", n + 1)
        yield _consumer(path, 1_000 * n + 1, client, "Adding newly assigned partitions: t-0", _INVOKER)
        yield _consumer(path, 1_000 * n + 1_200, client, "Revoke previously assigned partitions t-0", _INVOKER)


def cooperative_handovers(count: int) -> Iterator[Line]:
    """The same with cooperative clients, which list what they own in each generation."""
    for n in range(count):
        client, path = f"c-{n % 2}", f"c-{n % 2}.log"
        yield _joined(path, 1_000 * n, client, f"{client}-abc", n + 1, "cooperative-sticky")
        lists = "Updating assignment with\n\tAssigned partitions:                       [t-0, t-{own}]\n\tCurrent owned partitions:                  [t-{own}]\n"
        yield _consumer(
            path,
            1_000 * n,
            client,
            lists.format(own=n % 2 + 1) + "\tAdded partitions (assigned - owned):       [t-0]\n\tRevoked partitions (owned - assigned):     []\n",
        )
        yield _consumer(path, 1_000 * n + 1, client, "Adding newly assigned partitions: t-0", _INVOKER)
        yield _consumer(path, 1_000 * n + 1_200, client, "Revoke previously assigned partitions t-0", _INVOKER)


def owners(count: int) -> Iterator[Line]:
    """Clients of one process are assigned one partition, each while all before it may still have it."""
    for n in range(count):
        client, member = f"c-{n}", _member(f"c-{n}", n)
        its = f"Generation{{generationId={n + 1}, memberId='{member}', protocol='range'}}"
        yield _consumer("app.log", 1_000 * n, client, "(Re-)joining group")
        yield _joined("app.log", 1_000 * n + 1, client, member, n + 1)
        yield _consumer("app.log", 1_000 * n + 2, client, f"Successfully synced group in generation {its}")
        yield _consumer("app.log", 1_000 * n + 3, client, "Adding newly assigned partitions: t-0", _INVOKER)


def rebalances(count: int) -> Iterator[Line]:
    """One new member after the other joins a group of one, in its coordinator's log."""
    for n in range(count):
        member = _member("c", n)
        yield _prepared(20 * n, n, _adding(member))
        yield from _formed(20 * n + 1, n + 1, member, 1)


def expiries(count: int) -> Iterator[Line]:
    """Members join a group and are removed, in its coordinator's log."""
    for n in range(count):
        member, ms = _member("c", n), 50 * n
        created = (
            f"Dynamic member with unknown member id joins group g1 in Stable state. Created a new member id {member} and request the member to rejoin"
        )
        yield "server.log", ms, _BROKER, f"[GroupCoordinator 1]: {created} with this id."
        yield _prepared(ms, 2 * n, _adding(member))
        yield from _formed(ms + 1, 2 * n + 1, member, 2)
        yield "server.log", ms + 20, _BROKER, f"[GroupCoordinator 1]: Member {member} in group g1 has failed, removing it from the group"
        yield _prepared(ms + 20, 2 * n + 1, f"removing member {member} on heartbeat expiration")
        yield next(_formed(ms + 21, 2 * n + 2, member, 1))


def large_group(count: int) -> Iterator[Line]:
    """The leader of a group prints the assignment of all its members, three times."""
    members = [_member(f"c-{n}", n) for n in range(count)]
    assignment = ", ".join(f"{member}=Assignment(partitions=[t-{n}])" for n, member in enumerate(members))
    for g in range(1, 4):
        yield from _leads("consumer.log", g * 60_000, "c-0", members[0], g, assignment)
        yield _consumer("consumer.log", g * 60_000 + 4, "c-0", "Adding newly assigned partitions: t-0", _INVOKER)


def all_members(count: int) -> Iterator[Line]:
    """Each member of a group has its own log, and another partition in each generation; the leader prints the assignment of all."""
    members = [_member(f"c-{n}", n) for n in range(count)]
    assignment = ", ".join(f"{member}=Assignment(partitions=[t-{n}])" for n, member in enumerate(members))
    for n, member in enumerate(members):
        for g in range(1, 6):
            path, ms = f"h{n}/consumer.log", g * 60_000 + n
            yield from _leads(path, ms, f"c-{n}", member, g, "" if n else assignment)
            yield _consumer(path, ms + 4, f"c-{n}", f"Adding newly assigned partitions: t-{(n + g) % count}", _INVOKER)


def _leads(path: str, ms: int, client: str, member: str, generation: int, assignment: str) -> Iterator[Line]:
    its = f"Generation{{generationId={generation}, memberId='{member}', protocol='cooperative-sticky'}}"
    yield _consumer(path, ms, client, "(Re-)joining group")
    yield _joined(path, ms + 1, client, member, generation, "cooperative-sticky")
    if assignment:
        yield _consumer(path, ms + 2, client, f"Finished assignment for group at generation {generation}: {{{assignment}}}")
    yield _consumer(path, ms + 3, client, f"Successfully synced group in generation {its}")


def workers(count: int) -> Iterator[Line]:
    """Connect workers exchange their tasks in each generation."""
    for n in range(count):
        path, host = f"w{n}/connect.log", f"10.0.{n // 250}.{n % 250}"
        member = _member(f"connect-{host}:8083", n)
        head = f"[Worker clientId=connect-{host}:8083, groupId=cc]"
        yield path, n, "org.apache.kafka.connect.cli.AbstractConnectCli:114", "Kafka Connect worker initializing ..."
        for g in range(1, 6):
            its = f"Generation{{generationId={g}, memberId='{member}', protocol='sessioned'}}"
            ms, task = g * 10_000 + n, f"a-{(n + g) % count}"
            yield path, ms, _WORKER, f"{head} Successfully joined group with generation {its}"
            yield path, ms + 1, _HERDER, f"{head} Starting task {task}"
            yield path, ms + 8_000, "org.apache.kafka.connect.runtime.Worker:1", f"{head} Stopping task {task}"


def commits(count: int) -> Iterator[Line]:
    """Two consumers commit their positions, and change them now and then: a dump of the group's partition of __consumer_offsets."""
    partitions, generations, log_offset = 10, max(1, count // 25_000), 0

    def record(ms: int, key: dict[str, Any], value: dict[str, Any]) -> Line:
        nonlocal log_offset
        log_offset += 1
        parts = (json.dumps(part, separators=(",", ":")) for part in (key, {"version": "3", "data": value}))
        at = int(_START.timestamp() * 1_000) + ms
        head = f"| offset: {log_offset - 1} CreateTime: {at} keySize: 26 valueSize: 24 sequence: 0 headerKeys: [] "
        return "dump.txt", ms, "", head + "key: {} payload: {}".format(*parts)

    yield "dump.txt", 0, "", "Dumping /kafka/__consumer_offsets-7/00000000000000000000.log"
    members = [_member(f"c-{n}", n) for n in range(2)]
    for n in range(count):
        g, ms, part = n * generations // count, n, n % partitions
        if n == 0 or g != (n - 1) * generations // count:
            own = [list(range((i + g) % 2, partitions, 2)) for i in range(2)]
            held = [{"topic": "t", "partitions": its} for its in own]
            its = [{"memberId": m, "assignment": {"version": 3, "assignedPartitions": [h]}} for m, h in zip(members, held, strict=True)]
            value = {"protocolType": "consumer", "generation": g + 1, "protocol": "range", "leader": members[0], "members": its}
            yield record(ms, {"type": "2", "data": {"group": "g1"}}, value)
            for i, member in enumerate(members):
                yield _consumer(f"c-{i}.log", ms, f"c-{i}", "(Re-)joining group")
                yield _joined(f"c-{i}.log", ms, f"c-{i}", member, g + 1)
                yield _consumer(f"c-{i}.log", ms, f"c-{i}", "Adding newly assigned partitions: " + ", ".join(f"t-{p}" for p in own[i]), _INVOKER)
                for p in own[i]:
                    position = f"FetchPosition{{offset={n - n % partitions}, offsetEpoch=Optional.empty, currentLeader=LeaderAndEpoch{{leader=Optional.empty, epoch=0}}}}"
                    yield _consumer(f"c-{i}.log", ms, f"c-{i}", f"Setting offset for partition t-{p} to the committed offset {position}")
        key = {"type": "1", "data": {"group": "g1", "topic": "t", "partition": part}}
        yield record(ms, key, {"offset": n - part, "leaderEpoch": 0, "metadata": "", "commitTimestamp": int(_START.timestamp() * 1_000) + ms})


#: What there is more and more of: how many in the smallest logs, and what writes the lines.
KINDS: dict[str, tuple[int, Callable[[int], Iterator[Line]]]] = {
    "handovers": (5_000, handovers),
    "cooperative handovers": (2_500, cooperative_handovers),
    "owners": (1_200, owners),
    "rebalances": (3_000, rebalances),
    "expiries": (1_500, expiries),
    "members of one group": (2_000, large_group),
    "members with logs": (100, all_members),
    "workers": (100, workers),
    "commits": (500_000, commits),
}
#: What is measured, in words.
STEPS = {"build": "ingest and all views", "report": "report", "page": "page"}
FIELDS = {"cpu": "seconds of processor time", "peak": "bytes of memory"}


#: What starting takes: a log of a few lines of the first kind.
START = "a few lines"


def write(folder: Path, lines: Iterator[Line]) -> int:
    """Write logs into a new folder; return their size in bytes."""
    shutil.rmtree(folder, ignore_errors=True)
    of: defaultdict[str, list[str]] = defaultdict(list)

    def flush() -> None:
        for path, texts in of.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            with (folder / path).open("a", encoding="utf-8") as file:
                file.writelines(texts)
        of.clear()

    for number, (path, ms, logger, message) in enumerate(lines, 1):
        at = _START + timedelta(milliseconds=ms)
        # A line without a logger is one of a tool.
        of[path].append(f"[{at:%Y-%m-%d %H:%M:%S},{ms % 1000:03d}] INFO {message} ({logger})\n" if logger else f"{message}\n")
        if number % 1_000_000 == 0:
            flush()
    flush()
    return sum(p.stat().st_size for p in folder.rglob("*") if p.is_file())


def measured(work: Path, name: str, number: int, engine: str) -> dict[str, Any]:
    """Return what building the views of a kind's logs, reporting them and writing their page takes, and the size of the logs."""
    logs, case = work / "logs", work / "case"
    size = write(logs, (handovers if name == START else KINDS[name][1])(number))
    shutil.rmtree(case, ignore_errors=True)
    costs = {
        "build": measure(_BUILD, [str(logs), str(case), engine]),
        "report": measure(_REPORT, [str(case), engine, "text"]),
        "page": measure(_REPORT, [str(case), engine, "html"]),
    }
    written = {f"{step}_bytes": int(costs[step].said) for step in ("report", "page")}
    return {"n": number, "bytes": size, **written, **{step: {"cpu": cost.cpu, "peak": cost.peak} for step, cost in costs.items()}}


def dump_of_commits(work: Path, number: int, engine: str) -> dict[str, Any]:
    """Return what reading a dump of commits, reading it and building all views, and a report take."""
    logs, case = work / "logs", work / "case"
    found: dict[str, Any] = {"commits": number, "bytes": write(logs, commits(number)), "engine": engine}
    for step, program, arguments in (
        ("read", _READ, [str(logs), str(case)]),
        ("build", _BUILD, [str(logs), str(case), engine]),
        ("report", _REPORT, [str(case), engine, "text"]),
    ):
        if step != "report":
            shutil.rmtree(case, ignore_errors=True)
        cost = measure(program, arguments)
        found[step] = {"wall": cost.wall, "cpu": cost.cpu, "peak": cost.peak}
    return found


def factors(start: dict[str, Any], sizes: Sequence[dict[str, Any]]) -> dict[str, list[float | None]]:
    """Return how many times as much 2n takes as n, 4n as 2n, and 4n as n, without the start; None if the smaller one takes nothing that can be measured.

    Args:
        start: what a log of a few lines takes.
        sizes: what n, 2n and 4n take.
    """

    def factor(step: str, field: str, less: dict[str, Any], more: dict[str, Any]) -> float | None:
        small, large = (size[step][field] - start[step][field] for size in (less, more))
        return round(large / max(small, NOISE[field]), 2) if large > 2 * NOISE[field] or small > NOISE[field] else None

    return {f"{step}_{field}": [factor(step, field, *pair) for pair in _pairs(sizes)] for step in STEPS for field in FIELDS}


def _pairs(sizes: Sequence[dict[str, Any]]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    return [*pairwise(sizes), (sizes[0], sizes[-1])]


def too_large(kinds: Sequence[dict[str, Any]]) -> list[str]:
    """Return a line for each factor above `MOST`."""
    return [
        f"{kind['kind']}, {name.replace('_', ' ')}: {factor} from {less['n']:,} to {more['n']:,}"
        for kind in kinds
        for name, found in kind["factors"].items()
        for factor, (less, more) in zip(found, _pairs(kind["sizes"]), strict=True)
        if factor is not None and factor > MOST[more["n"] // less["n"]]
    ]


class Kept:
    """The figures in a file: those of whole kinds, and those of kinds whose measurement is not at its end."""

    def __init__(self, file: Path) -> None:
        known = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
        self.file = file
        self.kinds: list[dict[str, Any]] = known.get("kinds", [])
        self.begun: dict[str, dict[str, Any]] = known.get("begun", {})

    def write(self) -> None:
        """Write all figures."""
        self.file.write_text(json.dumps({"kinds": self.kinds, "begun": self.begun}, indent=1) + "\n", encoding="utf-8")

    def end(self, kind: dict[str, Any]) -> None:
        """Keep a whole kind instead of its sizes; the next run measures it again."""
        self.kinds = sorted([*(k for k in self.kinds if k["kind"] != kind["kind"]), kind], key=lambda k: list(KINDS).index(k["kind"]))
        self.begun = {key: size for key, size in self.begun.items() if not key.startswith(f"{kind['kind']}, ")}
        self.write()


def _printed(kind: str, size: dict[str, Any]) -> str:
    steps = "  ".join(f"{step} {size[step]['cpu']:6.1f} s {size[step]['peak'] / 1e6:6,.0f} MB" for step in STEPS)
    return f"{kind:24} {size['n']:7,}  {size['bytes'] / 1e6:5.1f} MB  {steps}"


def main() -> None:
    """Measure the requested kinds and print a line for each size; keep the figures of the others."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS), metavar="KIND")
    parser.add_argument("--scale", type=float, default=1.0, help="multiplies the numbers of the smallest logs")
    parser.add_argument("--engine", default="sail")
    parser.add_argument("--json", type=Path, default=FIGURES)
    parser.add_argument("--anew", action="store_true", help="measure again what a run that was stopped has measured")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    known = Kept(options.json)
    if options.anew:
        known.begun.clear()

    def size(name: str, number: int) -> dict[str, Any]:
        key = f"{name}, {number:,}, {options.engine}"
        if key not in known.begun:
            known.begun[key] = measured(options.work, name, number, options.engine)
            known.write()
        print(_printed(name, known.begun[key]), flush=True)
        return known.begun[key]

    for name in options.kinds:
        sizes = [size(name, int(KINDS[name][0] * options.scale) * times) for times in (4, 2, 1)][::-1]  # the largest shows trouble first
        start = size(START, 2)
        what = (KINDS[name][1].__doc__ or "").strip()
        of = {"kind": name, "what": what, "engine": options.engine, "start": start, "sizes": sizes, "factors": factors(start, sizes)}
        of |= {
            "date": f"{datetime.now(UTC):%Y-%m-%d}",
            "machine": f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}",
        }
        print(f"{'':24} factors: " + ", ".join(f"{key} {values}" for key, values in of["factors"].items() if any(values)), flush=True)
        known.end(of)
    if wrong := too_large([k for k in known.kinds if k["kind"] in options.kinds]):
        sys.exit("faster than the logs: " + "; ".join(wrong))


if __name__ == "__main__":
    main()
