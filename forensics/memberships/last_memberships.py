"""Find the last membership of each client whose log ends without any line of an end."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import pyarrow.compute as pc

from forensics.logs.events import event_table
from forensics.logs.filtered_logs import filtered_logs
from forensics.logs.instances import Instances
from forensics.logs.member_rounds import member_rounds
from forensics.relations.conditions import one_of
from forensics.relations.missing import first, greatest, less, order

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs, Row

#: Before the first incarnation of any group.
_BEFORE_ALL = -(2**63) + 1
#: A run of a process.
Run = tuple[str, int]


class Client(NamedTuple):
    """A client of a group in one run of a process."""

    process_id: str
    instance: int
    group_id: str | None
    client: str


@dataclass(frozen=True, kw_only=True)
class Membership:
    """A generation in which a client was a member.

    Attributes:
        of: the client.
        kafka_cluster, incarnation, generation: of the group; None: unknown, or not a member yet.
        member_id: None: not printed.
        is_worker: True for a Connect worker.
        is_static: True for a static member.
        from_pos: position of the line that shows it.
        event_id: that line; None: it is not a member yet.
        is_open: True if the log ends before its assignment.
    """

    of: Client
    kafka_cluster: str | None
    incarnation: int | None
    generation: int | None
    member_id: str | None
    is_worker: bool
    is_static: bool
    from_pos: int
    event_id: str | None
    is_open: bool

    @property
    def nth(self) -> tuple[int, int]:
        """Return its place among all generations of the group."""
        return first(self.incarnation, _BEFORE_ALL), first(self.generation, _BEFORE_ALL)


@dataclass(frozen=True)
class LastMembership:
    """The last membership of a client that had not left when its log ended.

    Attributes:
        its: the membership.
        last_ms: last line of the process, by its own clock.
        is_static: True if the client was a static member.
        is_of_task: True for the consumer of a worker's task: they come and go.
        is_asking: True if it asked to join again.
    """

    its: Membership
    last_ms: int
    is_static: bool
    is_of_task: bool
    is_asking: bool


def last_memberships(inputs: Inputs) -> Iterator[LastMembership]:
    """Yield the last membership of each client in a log that ends although the client had not left.

    Args:
        inputs: rows of `process_life`, `shared_log`, `filtered_log`, `process`, `join_round`, `member_round`, `epoch_member`, `process_cluster`,
            `client_event`, `fact_line`, and of events.
    """
    runs = _silent_runs(inputs)
    if not runs:
        return
    of_client: defaultdict[tuple[Client, str | None], list[Membership]] = defaultdict(list)
    for kind in (_rounds, _epochs, _workers_without_round):
        for membership in kind(inputs, runs):
            of_client[membership.of, membership.kafka_cluster].append(membership)
    left_pos, asked_pos = _left(inputs, runs), _asked(inputs, runs)
    for (client, _), memberships in of_client.items():
        asked = asked_pos.get(client)
        open_ones = [its for its in memberships if not less(greatest(its.from_pos, asked), left_pos.get(client))]
        if open_ones:
            last = max(open_ones, key=lambda its: (its.from_pos, order(its.event_id)))
            run = runs[client.process_id, client.instance]
            yield LastMembership(
                last,
                last_ms=run["last_ms"],
                is_static=any(its.is_static for its in open_ones),
                is_of_task=bool(run["is_worker"]) and not last.is_worker,
                is_asking=less(last.from_pos, asked),
            )


def _silent_runs(inputs: Inputs) -> dict[Run, Row]:
    """Return the runs with which the logs of processes end, without any line of an end."""
    left_out = {row["process_id"] for row in inputs.rows("shared_log") if (row["member_count"] or 0) > 0}
    left_out |= filtered_logs(inputs)
    # Another log may have its next lines.
    goes_on: dict[str, int | None] = {}
    for row in inputs.rows("process", ["same_process_ids", "last_ts"]):
        for process_id in row["same_process_ids"] or ():
            goes_on[process_id] = greatest(goes_on.get(process_id), row["last_ts"])
    columns = ["process_id", "instance", "last_ms", "next_start_ms", "ending_id", "is_broker", "is_worker"]
    return {
        (row["process_id"], row["instance"]): row
        for row in inputs.rows("process_life", columns)
        if row["process_id"] not in left_out
        and row["next_start_ms"] is None
        and row["ending_id"] is None
        and row["is_broker"] is False
        and row["last_ms"] is not None
        and not less(row["last_ms"], goes_on.get(row["process_id"]))
    }


def _of(runs: Mapping[Run, Row]) -> pc.Expression:
    """Return a condition on the processes of these runs."""
    return one_of("process_id", {process_id for process_id, _ in runs})


def _rounds(inputs: Inputs, runs: Mapping[Run, Row]) -> Iterator[Membership]:
    """Yield the memberships of the classic protocol."""
    own = ["instance", "is_worker", "group_instance_id", "from_pos", "worker_assigned_id", "synced_id", "joined_id"]
    for row in member_rounds(inputs, own, ["kafka_cluster", "incarnation", "generation", "member_id"], _of(runs)):
        if (row["process_id"], row["instance"]) in runs:
            yield Membership(
                of=Client(row["process_id"], row["instance"], row["group_id"], row["client"]),
                kafka_cluster=row["kafka_cluster"],
                incarnation=row["incarnation"],
                generation=row["generation"],
                member_id=row["member_id"],
                is_worker=bool(row["is_worker"]),
                is_static=row["group_instance_id"] is not None,
                from_pos=row["from_pos"],
                event_id=first(row["worker_assigned_id"], row["synced_id"], row["joined_id"]),
                is_open=row["synced_id"] is None,
            )


def _epochs(inputs: Inputs, runs: Mapping[Run, Row]) -> Iterator[Membership]:
    """Yield the memberships of groups whose broker assigns partitions."""
    columns = ["process_id", "kafka_cluster", "group_id", "incarnation", "generation", "member_id", "group_instance_id", "reached"]
    epochs = [row for row in inputs.rows("epoch_member", columns, _of(runs)) if row["reached"] is not None]
    if not epochs:
        return
    instances = Instances(inputs)
    is_reached = _of(runs) & one_of("event_id", [row["reached"]["event_id"] for row in epochs])
    lines = event_table(inputs, ["process_id", "stream_pos", "event_id", "client_id", "task", "thread"], is_reached).to_pylist()
    line_of = {(line["process_id"], line["event_id"]): line for line in lines}
    for row in epochs:
        line = line_of.get((row["process_id"], row["reached"]["event_id"]))
        if line is None:
            continue
        instance = instances.at(line["process_id"], line["stream_pos"])
        if (line["process_id"], instance) in runs:
            yield Membership(
                of=Client(line["process_id"], instance, row["group_id"], first(line["client_id"], line["task"], line["thread"], "-")),
                kafka_cluster=row["kafka_cluster"],
                incarnation=row["incarnation"],
                generation=row["generation"],
                member_id=row["member_id"],
                is_worker=False,
                is_static=row["group_instance_id"] is not None,
                from_pos=line["stream_pos"],
                event_id=line["event_id"],
                is_open=False,
            )


def _workers_without_round(inputs: Inputs, runs: Mapping[Run, Row]) -> Iterator[Membership]:
    """Yield workers that had not joined: they may have joined after the end of the log."""
    joined = inputs.distinct("join_round", ["process_id", "instance"], _of(runs))
    for row in inputs.rows("process_cluster"):
        run = row["process_id"], row["instance"]
        if run in runs and run not in joined and row["is_life_last"] and row["worker_group_id"] is not None:
            yield Membership(
                of=Client(*run, row["worker_group_id"], "-"),
                kafka_cluster=row["kafka_cluster"],
                incarnation=_BEFORE_ALL,
                generation=None,
                member_id=None,
                is_worker=True,
                is_static=False,
                from_pos=-1,
                event_id=None,
                is_open=False,
            )


def _asked(inputs: Inputs, runs: Mapping[Run, Row]) -> dict[Client, int | None]:
    """Return the position of each client's last request to join."""
    return _last_positions(inputs, runs, "joining")


def _left(inputs: Inputs, runs: Mapping[Run, Row]) -> dict[Client, int | None]:
    """Return the position of the last line with which each client left, was fenced, or was closed."""
    found = _last_positions(inputs, runs, "leaving", "member_fenced")
    groups = defaultdict(set)
    for process_id, group_id, client in inputs.distinct("client_event", ["process_id", "group_id", "client"], _of(runs)):
        groups[process_id, client].add(group_id)
    is_closed = _of(runs) & (pc.field("event") == "client_closed")
    for row in inputs.rows("fact_line", ["process_id", "instance", "client_id", "stream_pos"], is_closed):
        for group_id in groups.get((row["process_id"], row["client_id"]), ()):
            client = Client(row["process_id"], row["instance"], group_id, row["client_id"])
            found[client] = greatest(found.get(client), row["stream_pos"])
    return found


def _last_positions(inputs: Inputs, runs: Mapping[Run, Row], *events: str) -> dict[Client, int | None]:
    """Return the last position of these events of each client."""
    found: dict[Client, int | None] = {}
    lines = inputs.table("client_event", [*Client._fields, "stream_pos"], _of(runs) & one_of("event", events))
    for *its, stream_pos in zip(*(lines.column(name).to_pylist() for name in lines.column_names), strict=True):
        client = Client(*its)
        found[client] = greatest(found.get(client), stream_pos)
    return found
