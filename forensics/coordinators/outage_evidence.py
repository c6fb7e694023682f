"""Compute the view `outage_evidence`: what the logs show about the cause and the reach of each outage of a group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.coordinators.absent_brokers import AbsentBrokers
from forensics.coordinators.failed_connections import FailedConnections
from forensics.coordinators.failed_writes import FailedWrites
from forensics.coordinators.group_outage import rows as group_outage
from forensics.coordinators.untroubled import ServedGenerations, UntroubledMembers
from forensics.relations.missing import order

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs, Row


def rows(inputs: Inputs) -> list[Row]:
    """Return the rows of the view `outage_evidence`."""
    outages = group_outage(inputs)
    if not outages:
        return []
    kinds = (UntroubledMembers, ServedGenerations, AbsentBrokers, FailedConnections, FailedWrites, _Coordinators)
    evidence = [kind(inputs, outages) for kind in kinds]
    return [{"outage_id": outage["outage_id"]} | {name: value for its in evidence for name, value in its.of(outage).items()} for outage in outages]


class _Coordinators:
    """What is known about the coordinators of groups, and their partitions of the offsets topic.

    Args:
        inputs: rows of `broker_generation`, `cluster_broker` and `offsets_topic`.
    """

    def __init__(self, inputs: Inputs, _: object) -> None:
        self._logged = {(row["kafka_cluster"], row["broker_id"]) for row in inputs.rows("cluster_broker") if row["process_id"] is not None}
        self._topics = {row["kafka_cluster"]: row for row in inputs.rows("offsets_topic")}
        self._last: dict[tuple[str, str], list[int | None]] = {}
        for *group, stabilized_ms, partition in inputs.distinct(
            "broker_generation", ["kafka_cluster", "group_id", "stabilized_ms", "offsets_partition"]
        ):
            its = [stabilized_ms, partition]
            self._last[group[0], group[1]] = max(its, self._last.get((group[0], group[1]), its), key=order)

    def of(self, outage: Row) -> Row:
        """Return what is known about the coordinator of an outage."""
        partition = self._last.get((outage["kafka_cluster"], outage["group_id"]), [None, None])[1]
        topic: Row = self._topics.get(outage["kafka_cluster"], {})
        return {
            "has_log": (outage["kafka_cluster"], outage["broker_id"]) in self._logged,
            "offsets_partition": partition,
            "is_only_replica": partition is not None
            and any(its["offsets_partition"] == partition and len(its["replicas"]) == 1 for its in topic.get("placements") or ()),
            **{name: topic.get(name) for name in ("brokers", "configured", "failures", "exists_already")},
        }
