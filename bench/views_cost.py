"""Measure the time to build all views as a case grows; it must be proportional to the number of events.

    python bench/views_cost.py WORKFOLDER --events 250000 500000 1000000

The logs are generated: one broker and 50 Connect groups of four workers, so about 200 processes; a generation every few seconds moves one task from
one worker to the next, 50 events each. Each size is ingested and built in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TextIO

from ingest_vs_spark import measure

GROUPS, WORKERS, TASKS = 50, 4, 8
EVENTS_A_GENERATION = 50
_START = datetime(2026, 3, 1, tzinfo=UTC)
_WORKER = "org.apache.kafka.connect.runtime.distributed.WorkerCoordinator"
_HERDER = "org.apache.kafka.connect.runtime.distributed.DistributedHerder"
_RUNTIME = "org.apache.kafka.connect.runtime.Worker"


class Log:
    """The log of one process."""

    def __init__(self, file: TextIO, source_line: bool) -> None:
        self._file, self._source_line = file, source_line

    def write(self, ms: int, message: str, logger: str, line: int) -> None:
        at = _START + timedelta(milliseconds=ms)
        place = f"{logger}:{line}" if self._source_line else logger
        self._file.write(f"[{at:%Y-%m-%d %H:%M:%S},{ms % 1000:03d}] INFO {message} ({place})\n")


def _generations(group: int, broker: list[tuple[int, str]], workers: list[Log], number: int) -> Iterator[None]:
    """Yield after each generation of one group; the broker's lines are collected, to be merged by time."""
    name = f"connect-{group:03d}"
    members = [f"connect-10.{group}.0.{w}:8083-{group:08x}-0000-4000-8000-{w:012x}" for w in range(WORKERS)]
    prefix = [f"[Worker clientId=connect-10.{group}.0.{w}:8083, groupId={name}] " for w in range(WORKERS)]
    coordinator = "[GroupCoordinator 1]: "
    owned = [[f"job{group}-{t}" for t in range(TASKS) if t % WORKERS == w] for w in range(WORKERS)]
    for w, log in enumerate(workers):
        log.write(group + w, "Kafka version: 3.9.1", "org.apache.kafka.common.utils.AppInfoParser", 125)
        log.write(group + w, f"{prefix[w]}Cluster ID: bench-AAAAAAAAAAAAAAAA", "org.apache.kafka.clients.Metadata", 365)
        log.write(group + w, f"{prefix[w]}Discovered group coordinator 10.0.0.1:9092 (id: 2147483646 rack: null)", _WORKER, 937)
        for task in owned[w]:
            log.write(group + w + 50, f"[job{group}|task-{task[-1]}] Creating task {task}", _RUNTIME, 645)
    for n in range(1, number + 1):
        ms = 1_000 + n * 5_000 + group * 7
        giver, taker = n % WORKERS, (n + 1) % WORKERS
        moved = owned[giver].pop(0) if owned[giver] else None
        where = f"(__consumer_offsets-{group % 50})"
        reason = f"(reason: Updating metadata for member {members[0]} during Stable; client reason: rebalance)"
        logger = "kafka.coordinator.group.GroupCoordinator"
        broker.append(
            (
                ms,
                f"{coordinator}Preparing to rebalance group {name} in state PreparingRebalance with old generation {n - 1} {where} {reason} ({logger})",
            )
        )
        broker.append((ms + 20, f"{coordinator}Stabilized group {name} generation {n} {where} with {WORKERS} members ({logger})"))
        received = f"Assignment received from leader {members[0]} for group {name} for generation {n}. The group has {WORKERS} members, 0 of which are static."
        broker.append((ms + 30, f"{coordinator}{received} ({logger})"))
        for w, log in enumerate(workers):
            generation = f"Generation{{generationId={n}, memberId='{members[w]}', protocol='sessioned'}}"
            log.write(ms + 5, f"{prefix[w]}Rebalance started", _WORKER, 242)
            if w == giver and moved:
                log.write(ms + 6, f"[job{group}|task-{moved[-1]}] Stopping task {moved}", _RUNTIME, 1047)
                log.write(ms + 9, f"{prefix[w]}Finished stopping tasks in preparation for rebalance", _HERDER, 2740)
            log.write(ms + 10, f"{prefix[w]}(Re-)joining group", _WORKER, 604)
            log.write(ms + 22, f"{prefix[w]}Successfully joined group with generation {generation}", _WORKER, 665)
            log.write(ms + 33, f"{prefix[w]}Successfully synced group in generation {generation}", _WORKER, 842)
            if w == taker and moved:
                owned[w].append(moved)
            given = f"connectorIds=[], taskIds=[{', '.join(owned[w])}], revokedConnectorIds=[], revokedTaskIds=[], delay=0"
            assignment = f"Assignment{{error=0, leader='{members[0]}', leaderUrl='http://10.{group}.0.0:8083/', offset=9, {given}}}"
            log.write(
                ms + 34,
                f"{prefix[w]}Joined group at generation {n} with protocol version 2 and got assignment: {assignment} with rebalance delay: 0",
                _HERDER,
                2648,
            )
            log.write(ms + 35, f"{prefix[w]}Starting connectors and tasks using config offset 9", _HERDER, 1984)
            if w == taker and moved:
                log.write(ms + 36, f"[job{group}|task-{moved[-1]}] Creating task {moved}", _RUNTIME, 645)
            log.write(ms + 40, f"{prefix[w]}Finished starting connectors and tasks", _HERDER, 2010)
            for task in owned[w][:2]:
                context, committing = (
                    f"[job{group}|task-{task[-1]}] ",
                    f"WorkerSinkTask{{id={task}}} Committing offsets asynchronously using sequence number {n}: {{in-0=OffsetAndMetadata{{offset={n}, leaderEpoch=null, metadata=''}}}}",
                )
                for late in (1_000, 2_500):
                    log.write(ms + late, context + committing, "org.apache.kafka.connect.runtime.WorkerSinkTask", 349)
        yield


def make(folder: Path, events: int) -> None:
    """Write logs with about this number of events."""
    broker: list[tuple[int, str]] = []
    for group in range(GROUPS):
        files = []
        for w in range(WORKERS):
            path = folder / f"g{group:03d}-w{w}" / "connect.log"
            path.parent.mkdir(parents=True)
            files.append(path.open("w", encoding="utf-8"))
        for _ in _generations(group, broker, [Log(f, source_line=True) for f in files], events // EVENTS_A_GENERATION // GROUPS):
            pass
        for file in files:
            file.close()
    path = folder / "broker-1" / "server.log"
    path.parent.mkdir(parents=True)
    with path.open("w", encoding="utf-8") as out:
        for ms, text in sorted(broker):
            at = _START + timedelta(milliseconds=ms)
            out.write(f"[{at:%Y-%m-%d %H:%M:%S},{ms % 1000:03d}] INFO {text}\n")


_BUILD = """
import json, os, sys, time
from pathlib import Path
logs, case, name = sys.argv[1:]
import pyarrow.dataset as ds
from forensics.case import ingestion
from forensics.case import views
from forensics.engines import engine
begun = time.perf_counter()
case = ingestion.ingest([Path(logs)], Path(case)).case
read = time.perf_counter()
events = sum(ds.dataset(p, format="parquet").count_rows() for p in case.table_paths("event_row"))
running = engine(name)
assert running.session
started = time.perf_counter()
built = views.build(case, running)
seconds = time.perf_counter() - started
rows = {v: ds.dataset(built.view_path(v), format="parquet").count_rows() for v in ("process", "generation", "ownership", "split_brain")}
print(json.dumps({"events": events, "read": read - begun, "views": seconds, "rows": rows}))
"""


def built(logs: Path, case: Path, engine: str) -> dict[str, Any]:
    """Read logs into a new case and build its views, in a process of its own.

    Returns:
        `events`, seconds of `read` and `views`, `rows` by view, and `peak`: the largest resident memory of the process tree, bytes.
    """
    shutil.rmtree(case, ignore_errors=True)
    done = measure(_BUILD, [str(logs), str(case), engine])
    return {**json.loads(done.said.splitlines()[-1]), "peak": done.peak}


def grown(folder: Path, events: int, engine: str) -> dict[str, Any]:
    """Return the results of `built` for a case of about this number of events."""
    logs = folder / f"logs-{events}"
    if not logs.exists():
        make(logs, events)
    return built(logs, folder / f"case-{events}-{engine}", engine)


def main() -> None:
    """Generate and build each size, and print a line for it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--events", type=int, nargs="+", default=[250_000, 500_000, 1_000_000])
    parser.add_argument("--engine", default="spark")
    options = parser.parse_args()
    for events in options.events:
        print(json.dumps(grown(options.folder, events, options.engine)), flush=True)


if __name__ == "__main__":
    main()
