"""Compute the view `process_cluster`: the Kafka cluster that each process run belonged to, and the group of its Connect worker.

A broker that lost its data, and a worker whose brokers did, belong to a new cluster afterwards. Groups of the same name in two clusters are unrelated.
In a process run the first cluster id holds from the beginning, and a different id of the same client from that line on. A run without an id takes the
id of the runs around it if they agree. A process without any id takes that of the case if there is only one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from forensics.logs.events import event_table, events
from forensics.logs.instances import Instances
from forensics.logs.lines import line_table
from forensics.relations.missing import first

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs, Row

Run = tuple[str, int]
#: Before the first position: a stretch that begins with the run.
_BEGIN = -(2**63) + 1


@dataclass
class _Stretch:
    """A part of a run in which it belonged to one cluster; None: no line of the run shows which."""

    run: Run
    from_pos: int = _BEGIN
    printed: str | None = None
    at_ms: int | None = None
    event_id: str | None = None


@dataclass
class _Worker:
    """The Connect worker of a run."""

    group_id: str
    client_id: str | None


def rows(inputs: Inputs) -> list[Row]:
    """Return the rows of the view `process_cluster`."""
    instances = Instances(inputs)
    printed = _printed(inputs, instances)
    clusters = {stretch.printed for stretch in chain.from_iterable(printed.values()) if stretch.printed is not None}
    of_case = next(iter(clusters)) if len(clusters) == 1 else None
    workers, resolutions = _workers(inputs, instances), _resolutions(inputs, instances)
    by_process: defaultdict[str, list[_Stretch]] = defaultdict(list)
    for run in sorted(resolutions):
        by_process[run[0]] += printed.get(run, [_Stretch(run)])
    return [row for its in by_process.values() for row in _of_process(its, of_case, workers, resolutions)]


def _of_process(stretches: Sequence[_Stretch], of_case: str | None, workers: dict[Run, _Worker], resolutions: dict[Run, int | None]) -> Iterator[Row]:
    """Yield the rows of a process from its stretches in their order."""
    resolution_ms = max((found for stretch in stretches if (found := resolutions[stretch.run]) is not None), default=1)
    names = _names(stretches, of_case)
    for (stretch, following), name in zip(pairwise([*stretches, None]), names, strict=True):
        assert stretch is not None
        is_life_last = following is None or following.run != stretch.run
        worker = workers.get(stretch.run)
        yield {
            "process_id": stretch.run[0],
            "instance": stretch.run[1],
            "from_pos": stretch.from_pos,
            "to_pos": None if is_life_last or following is None else following.from_pos,
            "kafka_cluster": name,
            "cluster_ms": stretch.at_ms,
            "cluster_event": stretch.event_id,
            "is_life_last": is_life_last,
            "is_last": following is None,
            "resolution_ms": resolution_ms,
            "worker_group_id": worker.group_id if worker else None,
            "worker_client_id": worker.client_id if worker else None,
        }


def _names(stretches: Sequence[_Stretch], of_case: str | None) -> Iterator[str]:
    """Yield the cluster of each stretch of a process."""
    clusters = {stretch.printed for stretch in stretches} - {None}
    later = _last_known([stretch.printed for stretch in reversed(stretches)])[::-1]
    for stretch, before, after in zip(stretches, _last_known([stretch.printed for stretch in stretches]), later, strict=True):
        agree = (before is not None and before == after) or len(clusters) == 1
        unknown = f"unknown ({stretch.run[0]}, life {stretch.run[1]})" if len(clusters) > 1 else "unknown"
        yield str(first(stretch.printed, first(before, after) if agree else None, of_case, unknown))


def _last_known(values: Sequence[str | None]) -> list[str | None]:
    """Return for each value the last one before it that is known."""
    found: list[str | None] = [None]
    for value in values:
        found.append(first(value, found[-1]))
    return found[:-1]


def _printed(inputs: Inputs, instances: Instances) -> dict[Run, list[_Stretch]]:
    """Return the stretches of each run that prints a cluster id."""
    columns = ["process_id", "stream_pos", "ts", "event_id", "kafka_cluster_id", "group_id", "broker_id", "client_kind"]
    lines = events(inputs, columns, pc.field("kafka_cluster_id").is_valid())
    sources: defaultdict[Run, defaultdict[tuple[int, str], list[Row]]] = defaultdict(lambda: defaultdict(list))
    for line in sorted(lines, key=lambda line: line["stream_pos"]):
        run = line["process_id"], instances.at(line["process_id"], line["stream_pos"])
        sources[run][_source(line), line["group_id"] or ""].append(line)
    return {run: list(_stretches(run, its[min(its)])) for run, its in sources.items()}


def _source(line: Row) -> int:
    """Return the rank of who prints a cluster id: a broker's own line, a worker's, one without a client name, a consumer's, any other client's."""
    if line["broker_id"] is not None:
        return 0
    return {"Worker": 1, None: 2, "Consumer": 3}.get(line["client_kind"], 4)


def _stretches(run: Run, lines: Sequence[Row]) -> Iterator[_Stretch]:
    """Yield the stretches of a run from the lines of its best source."""
    last = None
    for line in lines:
        if line["kafka_cluster_id"] != last:
            yield _Stretch(run, _BEGIN if last is None else line["stream_pos"], line["kafka_cluster_id"], line["ts"], line["event_id"])
            last = line["kafka_cluster_id"]


def _resolutions(inputs: Inputs, instances: Instances) -> dict[Run, int | None]:
    """Return the runs that printed any line, with the resolution of their times."""
    lines = instances.added(line_table(inputs, ["process_id", "stream_pos", "resolution_ms"]))
    found = lines.group_by(["process_id", "instance"]).aggregate([("resolution_ms", "max")])
    return {(row["process_id"], row["instance"]): row["resolution_ms_max"] for row in found.to_pylist()}


def _workers(inputs: Inputs, instances: Instances) -> dict[Run, _Worker]:
    """Return the Connect worker of each run that has one.

    Lines of Worker and of tasks have no group id in any release, lines of the herder none before 2.3.
    """
    of_worker = event_table(
        inputs, ["process_id", "stream_pos", "group_id", "client_id"], (pc.field("client_kind") == "Worker") & pc.field("group_id").is_valid()
    )
    different = instances.added(of_worker).group_by(["process_id", "instance", "group_id", "client_id"]).aggregate([]).to_pylist()
    found = [((row["process_id"], row["instance"]), row["group_id"], row["client_id"]) for row in different]
    is_dump = (pc.field("event") == "config_dumped") & (pc.field("component") == "DistributedConfig")
    for row in events(inputs, ["process_id", "stream_pos", "config"], is_dump):
        found.append(((row["process_id"], instances.at(row["process_id"], row["stream_pos"])), dict(row["config"] or ()).get("group.id"), None))
    groups: defaultdict[Run, set[str]] = defaultdict(set)
    clients: defaultdict[Run, set[str]] = defaultdict(set)
    for run, group_id, client_id in found:
        if group_id is not None:
            groups[run].add(group_id)
            clients[run] |= {client_id} - {None}
    return {run: _Worker(next(iter(its)), max(clients[run], default=None)) for run, its in groups.items() if len(its) == 1}
