"""Find the clients that never found a coordinator in a run of their process."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from forensics.coordinators.outages import Client, Outage
from forensics.logs.events import event_table
from forensics.logs.filtered_logs import filtered_logs
from forensics.logs.lost_ranges import LostRanges
from forensics.relations.conditions import one_of
from forensics.relations.missing import least, order

if TYPE_CHECKING:
    from forensics.coordinators.closed_clients import Close
    from forensics.relations.inputs import Inputs, Row

_EVENT, _KIND = pc.field("event"), pc.field("client_kind")
#: A worker whose herder starts and a consumer that subscribed need a coordinator.
_NEEDS_COORDINATOR = ((_KIND == "Worker") & (_EVENT == "herder_starting")) | ((_KIND == "Consumer") & (_EVENT == "subscribed"))
#: Events of clients that found a coordinator.
_WITH_COORDINATOR = [
    *("coordinator_discovered", "coordinator_lost", "joining", "joined", "join_answered", "join_failed", "synced", "sync_answered", "sync_failed"),
    *("worker_assigned", "worker_revoking", "assignment_computed", "assignment_received", "partitions_assigned", "partitions_revoked"),
    *("partitions_lost", "heartbeat_failed", "member_fenced", "poll_timeout", "leaving"),
]
#: What only members do.
_OF_MEMBERS = ["position_set", "offset_committed", "commit_failed"]
_DISCONNECTED = ["connection_failed", "bootstrap_failed", "node_disconnected"]
_NO_INFO = "(?i)warn|error|fatal|severe|critical"


@dataclass(frozen=True, kw_only=True)
class _Request:
    """A client that needs a coordinator.

    Attributes:
        client: the client.
        kafka_cluster, task: of its lines.
        is_worker: True for a Connect worker.
        at_ms: when it first needed one.
        event_id: the first line that shows it.
        last_pos: position of the last such line.
    """

    client: Client
    kafka_cluster: str
    task: str | None
    is_worker: bool
    at_ms: int | None
    event_id: str
    last_pos: int


def never_found(inputs: Inputs, closed: Mapping[Client, Sequence[Close]]) -> Iterator[Outage]:
    """Yield the outages of clients that never found a coordinator.

    Args:
        inputs: rows of `fact_line`, `client_event`, `task_life`, `process`, `process_life`, `process_cluster`, `filtered_log`, `lost_range`,
            `broker_generation`, and of events.
        closed: when clients were closed.
    """
    for request in _with_evidence(inputs, _without_coordinator(inputs, list(_requests(inputs)))):
        # For a client that was closed and created again, the last close counts.
        closes = [close.at_ms for close in closed.get(request.client, ()) if close.stream_pos > request.last_pos]
        yield Outage(
            of=request.client,
            kafka_cluster=request.kafka_cluster,
            client_id=request.client.client,
            is_worker=request.is_worker,
            task=request.task,
            never=True,
            lost_ms=request.at_ms,
            closed_ms=least(*closes),
            witness=[request.event_id],
        )


def _requests(inputs: Inputs) -> Iterator[_Request]:
    """Yield the clients that need a coordinator. Releases before 1.0 print neither line with a client."""
    columns = ["kafka_cluster", "process_id", "instance", "group_id", "client_id", "client_kind", "task", "stream_pos", "at_ms", "event_id"]
    of_client: defaultdict[tuple[object, ...], list[Row]] = defaultdict(list)
    for row in inputs.rows("fact_line", columns, _NEEDS_COORDINATOR & pc.field("group_id").is_valid() & pc.field("client_id").is_valid()):
        of_client[tuple(row[name] for name in columns[:7])].append(row)
    for its in of_client.values():
        its.sort(key=lambda row: order([row["stream_pos"], row["event_id"]]))
        begin = its[0]
        yield _Request(
            client=Client(begin["process_id"], begin["instance"], begin["group_id"], begin["client_id"]),
            kafka_cluster=begin["kafka_cluster"],
            task=begin["task"],
            is_worker=begin["client_kind"] == "Worker",
            at_ms=least(*(row["at_ms"] for row in its)),
            event_id=begin["event_id"],
            last_pos=its[-1]["stream_pos"],
        )


def _without_coordinator(inputs: Inputs, requests: Sequence[_Request]) -> list[_Request]:
    """Return the clients of which no line shows that they had a coordinator, in logs that would have it."""
    if not requests:
        return []
    is_asking = one_of("process_id", {request.client.process_id for request in requests})
    contacts = inputs.distinct("client_event", ["process_id", "instance", "group_id", "client_id"], is_asking & one_of("event", _WITH_COORDINATOR))
    # A client whose group lines are missing, but which did things that only members do, had a coordinator.
    acts = inputs.distinct("fact_line", ["process_id", "instance", "client_id"], is_asking & one_of("event", _OF_MEMBERS))
    at_work = {(row["process_id"], row["instance"]) for row in inputs.rows("task_life", ["process_id", "instance"])}
    # The discovery may be in a part of its log that was read as another process, or absent from a filtered log.
    partial = {row["process_id"] for row in inputs.rows("process", ["process_id", "same_process_ids"]) if row["same_process_ids"] is not None}
    partial |= filtered_logs(inputs)
    lost = LostRanges(inputs)
    return [
        request
        for request in requests
        for process_id, instance, _, client_id in [request.client]
        if request.client not in contacts
        and (process_id, instance, client_id) not in acts
        and not (request.is_worker and (process_id, instance) in at_work)
        and process_id not in partial
        and not lost.in_time(process_id, request.at_ms, None)
    ]


def _with_evidence(inputs: Inputs, requests: Sequence[_Request]) -> Iterator[_Request]:
    """Yield workers, and the consumers whose silence is evidence."""
    consumers = [request for request in requests if not request.is_worker]
    logging, disconnected = _logging(inputs, consumers), _disconnected(inputs, consumers)
    unknown = _unknown_groups(inputs, consumers)
    for request in requests:
        process_id, _, group_id, client_id = request.client
        is_silent = process_id in logging or (process_id, client_id) in disconnected or (request.kafka_cluster, group_id) in unknown
        if request.is_worker or is_silent:
            yield request


def _logging(inputs: Inputs, consumers: Iterable[_Request]) -> set[str]:
    """Return the processes whose consumer internals log at INFO."""
    of_internals = pc.match_substring(pc.field("logger"), ".clients.consumer.internals.")
    at_info = ~pc.match_substring_regex(pc.coalesce(pc.field("level"), pc.scalar("")), _NO_INFO)
    return {process_id for (process_id,) in _of_events(inputs, consumers, ["process_id"], of_internals & at_info)}


def _disconnected(inputs: Inputs, consumers: Iterable[_Request]) -> set[tuple[str, ...]]:
    """Return the clients that cannot connect."""
    return _of_events(inputs, consumers, ["process_id", "client_id"], one_of("event", _DISCONNECTED))


def _of_events(inputs: Inputs, consumers: Iterable[_Request], columns: Sequence[str], where: pc.Expression) -> set[tuple[str, ...]]:
    """Return the different values of columns in the events of the processes of these consumers."""
    processes = {request.client.process_id for request in consumers}
    if not processes:
        return set()
    found = event_table(inputs, columns, where & one_of("process_id", processes))
    return {tuple(row.values()) for row in found.group_by(list(columns)).aggregate([]).to_pylist()}


def _unknown_groups(inputs: Inputs, consumers: Iterable[_Request]) -> set[tuple[str, str | None]]:
    """Return the groups that never appear in the available brokers' logs."""
    brokers = {row["process_id"] for row in inputs.rows("process_life", ["process_id", "is_broker"]) if row["is_broker"]}
    columns = ["process_id", "kafka_cluster"]
    logged = {row["kafka_cluster"] for row in inputs.rows("process_cluster", columns) if row["process_id"] in brokers}
    known = {(row["kafka_cluster"], row["group_id"]) for row in inputs.rows("broker_generation", ["kafka_cluster", "group_id"])}
    groups = {(request.kafka_cluster, request.client.group_id) for request in consumers}
    return {group for group in groups - known if group[0] in logged}
