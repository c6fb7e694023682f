"""Compute the view `offsets_topic`: what the logs show about the replication of `__consumer_offsets` in each Kafka cluster."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from forensics.relations.conditions import one_of
from forensics.relations.missing import first, greatest, least, names, order

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs, Row

_NUMBER_AT_END = re.compile(r"-([0-9]{1,9})$")
#: With ZooKeeper the controller's broker prints the whole placement in one line: 0 -> ArrayBuffer(3), 1 -> ArrayBuffer(1), ...
_PLACED = re.compile(r"([0-9]{1,9}) -> [A-Za-z]+\(([0-9, ]+)\)")
#: Lines that show that the topic exists.
_IN_USE = ("coordinator_elected", "partition_loaded", "group_loaded")
_WITNESS_MOST = 3


@dataclass(frozen=True)
class _Placement:
    """A line about the replicas of a partition, or of all; None: unknown."""

    partition: int | None
    replicas: Sequence[str] | None
    replication_factor: int
    line: Row


def rows(inputs: Inputs) -> list[Row]:
    """Return the rows of the view `offsets_topic`."""
    placements, configured, lines = _placements(inputs), _configured(inputs), _lines(inputs)
    brokers = Counter(row["kafka_cluster"] for row in inputs.rows("cluster_broker", ["kafka_cluster"]))
    # A broker that prints only that the creation failed may not print its id.
    clusters = {*brokers, *(cluster for cluster, its in lines.items() if _failed(its))}
    in_use = {row["kafka_cluster"] for row in inputs.rows("generation")}
    in_use |= {cluster for (cluster,) in inputs.distinct("client_event", ["kafka_cluster"], pc.field("event") == "coordinator_discovered")}
    found = []
    for cluster in clusters:
        its = lines.get(cluster, [])
        is_there = cluster in placements or cluster in in_use or any(line["event"] in _IN_USE for line in its)
        found.append(
            {
                "kafka_cluster": cluster,
                "brokers": brokers[cluster] or None,
                "exists_already": is_there,
                **_placed(placements.get(cluster, [])),
                **_settings(configured.get(cluster, [])),
                **_failures(_failed(its)),
            }
        )
    return found


def _placements(inputs: Inputs) -> dict[str, list[_Placement]]:
    """Return the lines about the replication of the topic in each cluster."""
    found = defaultdict(list)
    columns = ["kafka_cluster", "event", "partition", "replicas", "replication_factor", "message", "at_ms", "event_id"]
    for line in inputs.rows("fact_line", columns, one_of("event", ["partition_placed", "offsets_topic_created"])):
        for placement in _placements_in(line):
            found[line["kafka_cluster"]].append(placement)
    return found


def _placements_in(line: Row) -> Iterator[_Placement]:
    """Yield what one line shows about the replication of the topic."""
    if line["event"] == "partition_placed":
        if line["replicas"]:
            number = _NUMBER_AT_END.search(line["partition"] or "")
            yield _Placement(int(number[1]) if number is not None else None, line["replicas"], len(line["replicas"]), line)
    elif line["replication_factor"] is None:
        for partition, replicas in _PLACED.findall(line["message"] or ""):
            placed = re.split(", *", replicas)
            yield _Placement(int(partition), placed, len(placed), line)
    elif line["replication_factor"] > 0:
        yield _Placement(None, None, line["replication_factor"], line)


def _placed(placements: Sequence[_Placement]) -> Row:
    """Return the replication that lines show."""
    last: dict[int, _Placement] = {}
    for placement in sorted(placements, key=lambda one: order([one.line["at_ms"], one.replicas])):
        if placement.partition is not None:
            last[placement.partition] = placement
    known = [{"offsets_partition": partition, "replicas": list(its.replicas or ())} for partition, its in sorted(last.items())]
    return {
        "replication_factor": least(*(placement.replication_factor for placement in placements)),
        "created_ms": least(*(placement.line["at_ms"] for placement in placements)),
        "placements": known if placements else None,
        "placed_ids": names(placement.line["event_id"] for placement in placements)[:_WITNESS_MOST],
    }


def _configured(inputs: Inputs) -> dict[str, list[Row]]:
    """Return the setting of each broker of each cluster, with which the topic would be created."""
    clusters = {row["process_id"]: row["kafka_cluster"] for row in inputs.rows("process_cluster") if row["is_last"]}
    found = defaultdict(list)
    is_factor = (pc.field("component") == "KafkaConfig") & (pc.field("key") == "offsets.topic.replication.factor")
    for row in inputs.rows("setting", ["process_id", "value", "event_id"], is_factor):
        if row["process_id"] in clusters and re.fullmatch("[0-9]{1,9}", row["value"] or ""):
            found[clusters[row["process_id"]]].append(row)
    return found


def _settings(rows: Sequence[Row]) -> Row:
    """Return the lowest replication factor that a broker would create the topic with."""
    return {"configured": least(*(int(row["value"]) for row in rows)), "config_ids": names(row["event_id"] for row in rows)[:_WITNESS_MOST]}


def _lines(inputs: Inputs) -> dict[str, list[Row]]:
    """Return the lines of each cluster that show that the topic exists, or that its creation failed."""
    found = defaultdict(list)
    columns = ["kafka_cluster", "event", "at_ms", "event_id", "required", "replication_factor", "brokers_alive"]
    for line in inputs.rows("fact_line", columns, one_of("event", ["offsets_topic_failed", *_IN_USE])):
        found[line["kafka_cluster"]].append(line)
    return found


def _failed(lines: Sequence[Row]) -> list[Row]:
    """Return the lines about the failed creation, in the order of their times."""
    failed = [line for line in lines if line["event"] == "offsets_topic_failed"]
    return sorted(failed, key=lambda line: order([line["at_ms"], line["event_id"]]))


def _failures(failed: Sequence[Row]) -> Row:
    """Return how often, when and why the creation of the topic failed."""
    return {
        "failures": len(failed),
        "failed_from_ms": least(*(line["at_ms"] for line in failed)),
        "failed_to_ms": greatest(*(line["at_ms"] for line in failed)),
        "required": greatest(*(first(line["required"], line["replication_factor"]) for line in failed)),
        "alive": failed[-1]["brokers_alive"] if failed else None,
        "failed_ids": list(dict.fromkeys(line["event_id"] for line in (*failed[:1], *failed[-1:]))),
    }
