"""Find the brokers that several processes could not reach.

Logs without INFO lines do not show the loss of a coordinator, only since when several processes cannot connect to one broker.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from forensics.coordinators.outages import broker_of
from forensics.relations.conditions import one_of
from forensics.relations.missing import between, greatest, least, names, order, there

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs, Row

#: A node of the first range is a broker, one of the second a connection to a coordinator.
_BROKERS = (0, 1_000_000_000)
_COORDINATORS = (2_000_000_000, 2_147_483_647)
_INFO_EVENTS = ("coordinator_discovered", "coordinator_lost", "joining")
_EVENTS_MOST = 8


def unreachable_brokers(inputs: Inputs) -> Iterator[Row]:
    """Yield rows of `unreached`.

    Args:
        inputs: rows of `fact_line`, `process` and `client_event`.
    """
    columns = ["kafka_cluster", "process_id", "node_id", "text", "at_ms", "event_id"]
    roles = {row["process_id"]: row["role"] for row in inputs.rows("process", ["process_id", "role"])}
    is_quiet = ~one_of("process_id", _with_info(inputs)) & one_of("process_id", roles)
    brokers = defaultdict(list)
    for line in inputs.rows("fact_line", columns, (pc.field("event") == "connection_failed") & is_quiet):
        if between(_BROKERS[0], line["node_id"], _BROKERS[1]):
            brokers[line["kafka_cluster"], line["node_id"]].append(line)
        elif between(_COORDINATORS[0], line["node_id"], _COORDINATORS[1]):
            brokers[line["kafka_cluster"], broker_of(line["node_id"])].append(line)
    for (kafka_cluster, broker_id), lines in brokers.items():
        processes = names(line["process_id"] for line in lines)
        if len(processes) > 1:
            yield {
                "how": "unreachable",
                "kafka_cluster": kafka_cluster,
                "subject": f"broker {broker_id}",
                "processes": processes,
                "from_ms": least(*(line["at_ms"] for line in lines)),
                "to_ms": greatest(*(line["at_ms"] for line in lines)),
                "broker_id": broker_id,
                "address": max(there(line["text"] for line in lines if line["node_id"] <= _BROKERS[1]), default=None),
                "missed_by": min((process_id for process_id in processes if roles[process_id] == "broker"), default=None),
                "failures": len(lines),
                "event_ids": [line["event_id"] for line in sorted(lines, key=lambda line: order([line["at_ms"], line["event_id"]]))[:_EVENTS_MOST]],
            }


def _with_info(inputs: Inputs) -> set[str]:
    """Return the processes whose logs have INFO lines."""
    by_level = inputs.distinct("fact_line", ["process_id"], pc.field("level") == "INFO")
    by_event = inputs.distinct("client_event", ["process_id"], one_of("event", _INFO_EVENTS))
    return {process_id for (process_id,) in by_level | by_event}
