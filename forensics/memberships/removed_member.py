"""Compute the view `removed_member`: the members that coordinators removed against their will, each with its process."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from forensics.clocks.offsets import Clocks
from forensics.logs.clusters import Clusters
from forensics.logs.events import events
from forensics.memberships.removals import Removal, removals
from forensics.memberships.sink_workers import SinkWorker, sink_workers
from forensics.relations.conditions import one_of
from forensics.relations.missing import greatest, order

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs, Row

#: A process run and a client in it.
Seat = tuple[str | None, int | None, str | None]


def rows(inputs: Inputs) -> list[Row]:
    """Return the rows of the view `removed_member`."""
    found = list(removals(inputs))
    if not found:
        return []
    places = {(row["group_id"], row["member_id"]): row for row in inputs.rows("member_place")}
    workers = {(removal.removed_id, removal.member_id): worker for removal, worker in sink_workers(inputs, found, places)}
    clocks, sessions = Clocks(inputs), _Sessions(inputs)
    removed: list[Row] = []
    for removal in found:
        worker = workers.get((removal.removed_id, removal.member_id))
        process_id, instance, client = _seat(removal, worker, places)
        clock = clocks.of(process_id, removal.reference_process_id)
        removed.append(
            {
                "kafka_cluster": removal.kafka_cluster,
                "group_id": removal.group_id,
                "member_id": removal.member_id,
                "how": removal.how,
                "protocol": removal.protocol,
                "broker": removal.broker,
                "removed_id": removal.removed_id,
                "removed_lo_ms": removal.lo_ms,
                "removed_hi_ms": removal.hi_ms,
                "heard_ms": removal.heard_ms,
                "reference_process_id": removal.reference_process_id,
                "process_id": process_id,
                "instance": instance,
                "client": client,
                "worker_group_id": worker.group_id if worker is not None else None,
                "worker_member_id": worker.member_id if worker is not None else None,
                "session_ms": sessions.of(removal, process_id, client),
                "own_lo_ms": clock.own_earliest(removal.lo_ms) if clock is not None else None,
                "own_hi_ms": clock.own_latest(removal.hi_ms) if clock is not None else None,
            }
        )
    closes = _Closes(inputs, {(row["process_id"], row["instance"], row["client"]) for row in removed if row["process_id"] is not None})
    for row in removed:
        row["closed_id"] = closes.before((row["process_id"], row["instance"], row["client"]), row["own_hi_ms"])
        row["was_closed"] = row["closed_id"] is not None
    return removed


def _seat(removal: Removal, worker: SinkWorker | None, places: dict[tuple[str, str], Row]) -> tuple[str | None, int | None, str | None]:
    """Return the process run and the client of a member.

    The process is known from the member's own lines, from the refusal that names the id when it returns, or from the task that only one worker had.
    """
    if (own := places.get((removal.group_id, removal.member_id))) is not None:
        return own["process_id"], own["instance"], own["client"]
    if worker is not None and worker.is_sure and (its := places.get((worker.group_id, worker.member_id))) is not None:
        return its["process_id"], its["instance"], f"connector-consumer-{removal.task}"
    return None, None, None


class _Sessions:
    """The session timeout of each member."""

    def __init__(self, inputs: Inputs) -> None:
        self._printed = {
            (row["kafka_cluster"], row["group_id"], row["member_id"]): row["value_ms"]
            for row in inputs.rows("member_setting")
            if row["setting"] == "session.timeout.ms"
        }
        self._of_client: dict[tuple[str, str | None], int | None] = {}
        self._of_broker: dict[tuple[str, str], int | None] = {}
        for row in inputs.rows(
            "setting", ["process_id", "component", "client_id", "key", "value"], pc.ends_with(pc.field("key"), "session.timeout.ms")
        ):
            value = int(row["value"]) if row["value"] is not None and row["value"].isdecimal() else None
            if row["component"] == "KafkaConfig":
                broker = row["process_id"], row["key"]
                self._of_broker[broker] = greatest(self._of_broker.get(broker), value)
            elif row["key"] == "session.timeout.ms" and row["component"] in ("ConsumerConfig", "DistributedConfig"):
                client = row["process_id"], row["client_id"] if row["component"] == "ConsumerConfig" else None
                self._of_client[client] = greatest(self._of_client.get(client), value)
        self._workers = {(row["process_id"], row["client"]) for row in inputs.rows("client_event", ["process_id", "client"], pc.field("is_worker"))}
        self._protocols = _protocol_types(inputs)

    def of(self, removal: Removal, process_id: str | None, client: str | None) -> int | None:
        """Return the session timeout of a member, milliseconds; None: not printed."""
        if removal.protocol == "consumer":
            kind = self._protocols.get((removal.kafka_cluster, removal.group_id), "consumer")
            return self._of_broker.get((removal.broker, f"group.{kind}.session.timeout.ms"))
        printed = self._printed.get((removal.kafka_cluster, removal.group_id, removal.member_id))
        if printed is not None or process_id is None:
            return printed
        return self._of_client.get((process_id, None if (process_id, client) in self._workers else client))


def _protocol_types(inputs: Inputs) -> dict[tuple[str, str], str]:
    """Return the type of groups of Kafka Streams and of share groups, as in `generation`."""
    is_share = (pc.field("client_kind") == "ShareConsumer") | pc.field("broker_id").is_valid() & one_of("protocol_type", ("share", "streams"))
    is_typed = is_share | pc.ends_with(pc.field("logger"), "StreamsMembershipManager")
    clusters = Clusters(inputs)
    found: dict[tuple[str, str], str] = {}
    for row in events(inputs, ["process_id", "stream_pos", "group_id", "client_kind", "protocol_type"], is_typed):
        group = clusters.at(row["process_id"], row["stream_pos"]), row["group_id"]
        kind = "share" if row["client_kind"] == "ShareConsumer" or row["protocol_type"] == "share" else "streams"
        found[group] = min(kind, found.get(group, kind))
    return found


class _Closes:
    """What clients did last: took part in a rebalance, or were closed.

    A client that is closed leaves its group, or its session expires: then the membership was no longer needed and was not lost.

    Args:
        inputs: rows of views.
        seats: the clients.
    """

    def __init__(self, inputs: Inputs, seats: set[Seat]) -> None:
        moments: defaultdict[Seat, list[tuple[object, int, str]]] = defaultdict(list)
        for seat, at_ms, closed_id in _moments(inputs, seats):
            if seat in seats:
                moments[seat].append((order(at_ms), 1 if closed_id is None else 2, closed_id or ""))
        self._moments = {seat: sorted(its) for seat, its in moments.items()}

    def before(self, seat: Seat, at_ms: int | None) -> str | None:
        """Return the event that shows that a client was closed before that time, and did nothing afterwards; None: it was not, or the time is unknown."""
        its = self._moments.get(seat, ())
        at = bisect_right(its, (order(at_ms), 3)) if at_ms is not None else 0
        return its[at - 1][2] or None if at else None


def _moments(inputs: Inputs, seats: set[Seat]) -> Iterator[tuple[Seat, int | None, str | None]]:
    """Yield what clients did: when, and the event if they were closed then."""
    if not seats:
        return
    of_processes = one_of("process_id", (process_id for process_id, _, _ in seats))
    takes_part = one_of("event", ("joining", "joined", "synced", "worker_assigned", "partitions_assigned"))
    columns = ["process_id", "instance", "client", "at_ms"]
    for row in inputs.rows("client_event", columns, of_processes & takes_part):
        yield (row["process_id"], row["instance"], row["client"]), row["at_ms"], None
    columns = ["process_id", "instance", "client_id", "event", "at_ms", "event_id"]
    of_run = defaultdict(list)
    for process_id, instance, client in seats:
        of_run[process_id, instance].append(client)
    for row in inputs.rows("fact_line", columns, of_processes & one_of("event", ("client_closed", "process_stopping"))):
        run = row["process_id"], row["instance"]
        for client in of_run[run] if row["event"] == "process_stopping" else [row["client_id"]]:
            yield (*run, client), row["at_ms"], row["event_id"]
    consumers = defaultdict(set)
    for row in inputs.rows("client_event", ["process_id", "client", "task"], of_processes & ~pc.field("is_worker") & pc.field("task").is_valid()):
        consumers[row["process_id"], row["task"]].add(row["client"])
    for row in inputs.rows("task_life", ["process_id", "instance", "task", "ended", "by_herder"], of_processes):
        if row["ended"] is not None and not row["by_herder"]:
            for client in consumers[row["process_id"], row["task"]]:
                yield (row["process_id"], row["instance"], client), row["ended"]["at_ms"], row["ended"]["event_id"]
