"""Read the lines of members about their coordinator."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from forensics.coordinators.outages import Client
from forensics.logs.events import event_table
from forensics.logs.instances import Instances
from forensics.relations.conditions import one_of
from forensics.relations.missing import first

if TYPE_CHECKING:
    from forensics.coordinators.closed_clients import Close
    from forensics.relations.inputs import Inputs, Row


class Kind(Enum):
    """What a line of a member shows about its coordinator.

    Attributes:
        LOST: the member lost it.
        FOUND: the member found its address, often that of a broker that is down.
        CLEARED: the member forgets it before it looks for it.
        REFUSED: the broker that it found responds that it is not the coordinator.
        ANSWERED: the line follows from a response of the coordinator.
        ASSIGNED: so does the join before the callback that prints this line.
        BEATING: a member that goes on sending heartbeats has had responses.
        CLOSED: the client was closed.
        OTHER: nothing.
    """

    LOST = auto()
    FOUND = auto()
    CLEARED = auto()
    REFUSED = auto()
    ANSWERED = auto()
    ASSIGNED = auto()
    BEATING = auto()
    CLOSED = auto()
    OTHER = auto()


@dataclass(frozen=True, kw_only=True)
class Line:
    """One line of a client. Only lines of members have an event.

    Attributes:
        error: cause, error or reason as printed.
    """

    kind: Kind
    stream_pos: int
    at_ms: int | None
    event: str | None = None
    event_id: str | None = None
    kafka_cluster: str | None = None
    client_id: str | None = None
    is_worker: bool | None = None
    task: str | None = None
    coordinator: str | None = None
    coordinator_node: int | None = None
    reason: str | None = None
    error: str | None = None


_KINDS = {
    "coordinator_lost": Kind.LOST,
    "coordinator_discovered": Kind.FOUND,
    "coordinator_cleared": Kind.CLEARED,
    "joined": Kind.ANSWERED,
    "synced": Kind.ANSWERED,
    "worker_assigned": Kind.ANSWERED,
    "assignment_computed": Kind.ANSWERED,
    "partitions_assigned": Kind.ASSIGNED,
}
#: Requests that failed because of the coordinator's response, or because there was none.
_FAILED = ("heartbeat_failed", "join_failed", "sync_failed")
_WITHOUT_RESPONSE = re.compile("coordinator|disconnect|timed out|not available", re.IGNORECASE)
#: librdkafka prints its heartbeats with the same setting, debug=cgrp, that shows the loss of a coordinator.
_IS_HEARTBEAT = (pc.field("logger") == "HEARTBEAT") & one_of("event", ["heartbeat_sent", "heartbeat_failed"])
_OF_LINE = [
    "stream_pos",
    "at_ms",
    "event",
    "event_id",
    "kafka_cluster",
    "client_id",
    "is_worker",
    "task",
    "coordinator",
    "coordinator_node",
    "reason",
]


@dataclass(frozen=True)
class Member:
    """A client that lost its coordinator, with all of its lines in their order.

    Attributes:
        shows_heartbeats: True if its process's log has heartbeats of a client of this name.
    """

    client: Client
    lines: Sequence[Line]
    shows_heartbeats: bool


def members(inputs: Inputs, closed: Mapping[Client, Sequence[Close]]) -> Iterator[Member]:
    """Yield the clients that lost their coordinator.

    Args:
        inputs: rows of `client_event` and of events.
        closed: when clients were closed.
    """
    lines = _own_lines(inputs)
    refused = {client.process_id for client, its in lines.items() if any(line.kind is Kind.REFUSED for line in its)}
    beats = _heartbeats(inputs, refused)
    showing = {(client.process_id, client.client) for client in beats}
    for client, its in lines.items():
        its += beats.get(client, ())
        its += (Line(kind=Kind.CLOSED, stream_pos=close.stream_pos, at_ms=close.at_ms) for close in closed.get(client, ()))
        its.sort(key=lambda line: (line.stream_pos, line.kind.value, line.event_id or ""))
        yield Member(client, its, (client.process_id, client.client) in showing)


def _own_lines(inputs: Inputs) -> dict[Client, list[Line]]:
    """Return the lines of each client that lost its coordinator."""
    found = {Client(*its): list[Line]() for its in inputs.distinct("client_event", Client._fields, pc.field("event") == "coordinator_lost")}
    is_losing = one_of("process_id", {client.process_id for client in found})
    for row in inputs.table("client_event", [*Client._fields, *_OF_LINE, "cause", "error"], is_losing).to_pylist():
        if (client := Client(*(row[name] for name in Client._fields))) in found:
            error = first(row["cause"], row["error"], row["reason"])
            found[client].append(Line(kind=_kind(row, error), error=error, **{name: row[name] for name in _OF_LINE}))
    return found


def _kind(row: Row, error: str | None) -> Kind:
    """Return what a member's own line shows about its coordinator."""
    event = row["event"]
    if event == "join_failed" and (row["error"] or "").startswith("Broker: Not coordinator"):
        return Kind.REFUSED
    is_asked = event == "rejoin_requested" and "already rebalancing" in (row["reason"] or "")
    if is_asked or (event in _FAILED and not _WITHOUT_RESPONSE.search(error or "")):
        return Kind.ANSWERED
    return _KINDS.get(event, Kind.OTHER)


def _heartbeats(inputs: Inputs, process_ids: Collection[str]) -> dict[Client, list[Line]]:
    """Return the heartbeats of the clients of some processes; only the lines of requests show that earlier ones were answered."""
    found: defaultdict[Client, list[Line]] = defaultdict(list)
    if not process_ids:
        return found
    instances = Instances(inputs)
    is_wanted = _IS_HEARTBEAT & one_of("process_id", process_ids)
    columns = ["process_id", "stream_pos", "group_id", "client_id", "task", "thread", "ts", "event"]
    for row in event_table(inputs, columns, is_wanted).to_pylist():
        instance = instances.at(row["process_id"], row["stream_pos"])
        its = found[Client(row["process_id"], instance, row["group_id"], first(row["client_id"], row["task"], row["thread"], "-"))]
        if row["event"] == "heartbeat_sent":
            its.append(Line(kind=Kind.BEATING, stream_pos=row["stream_pos"], at_ms=row["ts"]))
    return found
