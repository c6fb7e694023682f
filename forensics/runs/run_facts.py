"""Find what the events of each process run show about it: its last work, its end, and what kind of process it is."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from forensics.logs.events import event_table
from forensics.logs.instances import Instances
from forensics.relations.columns import InOrder, codes, flags, is_one_of, numbers, places
from forensics.relations.missing import order

if TYPE_CHECKING:
    from forensics.relations.columns import Flags
    from forensics.relations.inputs import Inputs

#: Process and number of the run.
Run = tuple[str, int]
_SHUTDOWN = ("process_stopping", "herder_stopping", "work_stopping", "worker_stopping", "worker_stopped", "herder_stopped", "process_stopped")
_STARTED = (
    *("herder_starting", "broker_started", "coordinator_elected", "broker_unfenced", "group_loaded", "group_stabilized", "rebalance_preparing"),
    "isr_changed",
)
#: At WARN a broker prints none of its events, but its own classes and replica fetchers identify it.
_BROKER_CLASSES = re.compile(
    r"^kafka[.](server|controller|cluster|log|network|raft|zk)[.][A-Z]|^org[.]apache[.]kafka[.](controller|coordinator|raft|server|storage)[.]"
)
_WORKER_CLASSES = re.compile(r"^org[.]apache[.]kafka[.]connect[.](runtime|cli)[.]")


@dataclass
class RunFacts:
    """What the events of a run show.

    Attributes:
        last_work_ms: last line of its clients and tasks.
        stopping_ms: when it reported that it was stopping.
        ending_ms: first line that only a stopping process prints.
        ending_id: its event.
        ending_lo_ms: it was not yet stopping before this.
        has_started: True if a line shows that it completed its start.
        is_main: True for a worker, a client, or the log of a broker that has the lines of groups, replica fetchers or its configuration, unlike its others.
    """

    last_work_ms: int | None = None
    stopping_ms: int | None = None
    ending_ms: int | None = None
    ending_id: str | None = None
    ending_lo_ms: int | None = None
    is_broker: bool = False
    is_worker: bool = False
    has_started: bool = False
    is_main: bool = False


def run_facts(inputs: Inputs) -> dict[Run, RunFacts]:
    """Return what the events of each run show.

    Args:
        inputs: rows of `event_row`, `copied_log`, `damaged_line` and `process_start`.
    """
    columns = ["process_id", "stream_pos", "ts", "event_id", "event", "category", "task", "client_kind", "component", "logger"]
    lines = Instances(inputs).added(event_table(inputs, columns))
    found: defaultdict[Run, RunFacts] = defaultdict(RunFacts)
    is_herder = flags(pc.starts_with(lines["event"], "worker_")) | flags(pc.starts_with(lines["event"], "herder_"))
    is_own = is_herder & ~is_one_of(lines["event"], ["herder_starting"])
    is_work = flags(lines["task"].is_valid()) | flags(lines["client_kind"].is_valid()) | is_own
    work = lines.filter(pa.array(is_work)).group_by(["process_id", "instance"]).aggregate([("ts", "max")])
    for process_id, instance, at_ms in zip(*(work.column(name).to_pylist() for name in ("process_id", "instance", "ts_max")), strict=True):
        found[process_id, instance].last_work_ms = at_ms
    is_main_of_broker = _is_main_of_broker(lines)
    for run in _runs(lines, is_main_of_broker | _of_classes(lines, _BROKER_CLASSES)):
        found[run].is_broker = True
    is_worker = is_one_of(lines["client_kind"], ["Worker"]) | is_herder | _of_classes(lines, _WORKER_CLASSES)
    for run in _runs(lines, is_worker):
        found[run].is_worker = True
    for run in _runs(lines, is_main_of_broker | is_worker | is_work | is_one_of(lines["event"], _STARTED)):
        found[run].is_main = True
    for run in _runs(lines, is_one_of(lines["event"], _STARTED)):
        found[run].has_started = True
    _add_endings(lines, found)
    return found


def _runs(lines: pa.Table, which: Flags) -> list[Run]:
    """Return the runs of these lines."""
    its = lines.select(["process_id", "instance"]).filter(pa.array(which)).group_by(["process_id", "instance"]).aggregate([])
    return list(zip(its.column("process_id").to_pylist(), its.column("instance").to_pylist(), strict=True))


def _of_classes(lines: pa.Table, pattern: re.Pattern[str]) -> Flags:
    return is_one_of(lines["logger"], [name for name in pc.unique(lines["logger"]).to_pylist() if name is not None and pattern.search(name)])


def _is_main_of_broker(lines: pa.Table) -> Flags:
    """Return which lines only the main log of a broker has. Schema Registry prints `leader_changed`."""
    event = lines["event"]
    of_groups = is_one_of(lines["category"], ["broker_group"]) & ~is_one_of(event, ["leader_changed"])
    of_config = is_one_of(event, ["config_dumped"]) & is_one_of(lines["component"], ["KafkaConfig"])
    is_fetcher = is_one_of(lines["component"], ["ReplicaFetcher"])
    return is_one_of(event, ["coordinator_elected"]) | of_groups | of_config | is_fetcher


def _add_endings(lines: pa.Table, found: defaultdict[Run, RunFacts]) -> None:
    """Add when each run began to stop.

    The shutdown hook prints the first line. If that is missing, the lines that follow it count; these may be much later.
    """
    position = lines["stream_pos"].to_numpy()
    ordered = InOrder(places(codes(lines["process_id"]), lines["instance"].to_numpy()), position)
    before = np.empty(lines.num_rows, np.float64)
    before[ordered.order] = ordered.earlier(numbers(lines["ts"])[ordered.order])
    names = ["process_id", "instance", "stream_pos", "ts", "event_id", "event"]
    is_ending = is_one_of(lines["event"], _SHUTDOWN)
    endings = lines.select(names).append_column("before_ms", pa.array(before, from_pandas=True)).filter(pa.array(is_ending)).to_pylist()
    for line in sorted(endings, key=lambda line: order([line["ts"], line["stream_pos"], line["event_id"]]), reverse=True):
        own, at_ms = found[line["process_id"], line["instance"]], line["ts"]
        own.ending_id = line["event_id"]
        own.ending_lo_ms = at_ms if line["event"] == "process_stopping" else None if line["before_ms"] is None else int(line["before_ms"])
        if at_ms is not None:
            own.ending_ms = at_ms
    stopping: dict[Run, int] = {}
    for line in endings:
        if line["event"] == "process_stopping" and line["ts"] is not None:
            run = line["process_id"], line["instance"]
            stopping[run] = max(line["ts"], stopping.get(run, line["ts"]))
    for run, own in found.items():
        own.stopping_ms = stopping.get(run, own.ending_ms)
