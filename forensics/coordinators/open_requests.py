"""Find what shows that a rebalance had not ended when the logs end: coordinators that prepare it, and members that ask to join."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from forensics.clocks.offsets import Clocks
from forensics.logs.clusters import Clusters
from forensics.logs.events import event_table
from forensics.relations.conditions import one_of, one_of_numbers
from forensics.relations.missing import first, greatest, least, less, order

if TYPE_CHECKING:
    from forensics.clocks.offsets import Offset
    from forensics.relations.inputs import Inputs, Row
    from forensics.runs.last_runs import LastRun

Group = tuple[str | None, str | None]
#: A client of a group in a process.
Client = tuple[str | None, str | None, str, str]

#: Lines of a coordinator of which the last shows whether it prepares a rebalance.
_OF_COORDINATORS = [
    *("rebalance_preparing", "group_stabilized", "assignment_from_leader", "group_emptied", "group_died", "group_unloaded"),
    # The group changed to a protocol without rebalances while it was in one (KIP-848).
    *("group_converted", "group_epoch_bumped"),
]
#: Lines of a member of which the last shows whether it waits to join.
_OF_MEMBERS = [
    *("joining", "joined", "join_answered", "synced", "worker_assigned", "partitions_assigned", "assignment_received", "assignment_computed"),
    *("leaving", "poll_timeout", "member_fenced", "coordinator_lost", "generation_reset", "join_failed"),
]
#: Lines that a member prints while it is closed: event, and part of the reason.
_CLOSING = {"leaving": "being closed", "generation_reset": "pro-actively"}
_CLOSED = ["client_closed", "close_timed_out", "subscribed"]


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """A line after which a rebalance had not ended.

    Attributes:
        group: Kafka cluster and group.
        run: the run of the process that printed it.
        at_ms, event_id: the line, by its own clock.
        name: the member that asks, as process and task or client; None: the coordinator prepares it.
        client_id: its client ID.
        member_id, reason: what the coordinator prints.
        last_ms: it had not ended then, by its own clock.
        is_closed: True if the member was closed, or its process stopped, before it was answered.
    """

    group: Group
    run: LastRun
    at_ms: int | None
    event_id: str
    name: str | None = None
    client_id: str | None = None
    member_id: str | None = None
    reason: str | None = None
    last_ms: int | None
    is_closed: bool = False

    @property
    def is_member(self) -> bool:
        """Return True if a member asks."""
        return self.name is not None


def latest_generations(inputs: Inputs) -> dict[Group, Row]:
    """Return the last generation of each group of the classic protocol.

    Args:
        inputs: rows of `generation`.
    """
    found: dict[Group, Row] = {}
    for row in inputs.rows("generation"):
        if row["group_protocol"] == "classic":
            group = row["kafka_cluster"], row["group_id"]
            found[group] = max(row, found.get(group, row), key=_nth)
    return found


def _nth(row: Row) -> tuple[int, int]:
    return row["incarnation"], row["generation"]


def open_preparations(inputs: Inputs, runs: Mapping[str, LastRun], latest: Mapping[Group, Row]) -> Iterator[Evidence]:
    """Yield the rebalances that coordinators prepare in their last lines about a group.

    Args:
        inputs: rows of events.
        runs: the last run of each process.
        latest: the last generation of each group.
    """
    is_about = one_of("event", _OF_COORDINATORS) & pc.field("group_id").is_valid()
    lines = event_table(inputs, ["process_id", "group_id", "stream_pos"], is_about)
    last = {tuple(row.values()) for row in lines.group_by(["process_id", "group_id"]).aggregate([("stream_pos", "max")]).to_pylist()}
    columns = ["process_id", "group_id", "stream_pos", "ts", "event_id", "old_generation", "reason", "client_reason", "member_id"]
    is_last = (pc.field("event") == "rebalance_preparing") & one_of_numbers("stream_pos", [at for _, _, at in last])
    clusters = Clusters(inputs) if last else None
    for row in event_table(inputs, columns, is_last & pc.field("group_id").is_valid()).to_pylist():
        run = runs.get(row["process_id"])
        is_open = (row["process_id"], row["group_id"], row["stream_pos"]) in last
        if clusters is None or run is None or run.is_ending or not is_open:
            continue
        instance, kafka_cluster = clusters.place(row["process_id"], row["stream_pos"])
        if instance != run.instance:
            continue
        group = kafka_cluster, row["group_id"]
        # Another log may show a generation that follows it.
        if group not in latest or not less(row["old_generation"], latest[group]["generation"]):
            reasons = [text for text in (row["reason"], row["client_reason"] or None) if text is not None]
            yield Evidence(
                group=group,
                run=run,
                at_ms=row["ts"],
                event_id=row["event_id"],
                member_id=row["member_id"],
                reason="; client reason: ".join(reasons) or None,
                last_ms=run.last_ms,
            )


@dataclass
class _LastLine:
    """The last line of a member about its membership; task and client ID may be from an earlier one."""

    client: Client
    instance: int
    stream_pos: int
    at_ms: int | None
    event: str
    event_id: str
    task: str | None
    client_id: str | None


def join_requests(inputs: Inputs, runs: Mapping[str, LastRun], latest: Mapping[Group, Row]) -> Iterator[Evidence]:
    """Yield the members that ask to join a later generation than the last one, in their last lines.

    Args:
        inputs: rows of `client_event`, `fact_line`, `task_life`, `member_round` and `clock_offset`.
        runs: the last run of each process.
        latest: the last generation of each group.
    """
    asking = [line for line in _last_lines(inputs) if line.event == "joining"]
    if not asking:
        return
    closes, ends, rounds = _closes(inputs), _ends_of_tasks(inputs), _Rounds(inputs, latest)
    for line in asking:
        *group, process_id, _ = line.client
        run = runs.get(process_id)
        if run is not None and run.instance == line.instance and rounds.is_later(line, run):
            close = closes.get((process_id, line.client[3]))
            closed = [close] if close is not None and close[0] > line.stream_pos else []
            closed += [end for end in ends.get((process_id, line.instance, line.task), ()) if end[0] > line.stream_pos][:1]
            yield Evidence(
                group=(group[0], group[1]),
                run=run,
                at_ms=line.at_ms,
                event_id=line.event_id,
                name=" ".join(part for part in (process_id, first(line.task, line.client_id)) if part is not None),
                client_id=line.client_id,
                last_ms=least(*(at_ms for _, at_ms in closed), run.last_ms),
                is_closed=run.is_ending or bool(closed),
            )


_OF_LINE = ["instance", "stream_pos", "at_ms", "event", "event_id", "task", "client_id", "reason"]


def _last_lines(inputs: Inputs) -> list[_LastLine]:
    """Return the last line of each client about its membership."""
    found: dict[Client, _LastLine] = {}
    columns = ["kafka_cluster", "group_id", "process_id", "client", *_OF_LINE]
    lines = inputs.table("client_event", columns, one_of("event", _OF_MEMBERS))
    for row in zip(*(lines.column(name).to_pylist() for name in columns), strict=True):
        line, reason = _LastLine(row[:4], *row[4:-1]), row[-1]
        if line.event in _CLOSING and _CLOSING[line.event] in (reason or ""):
            continue
        last = found.get(line.client, line)
        newer = max(last, line, key=lambda line: (line.stream_pos, line.event_id))
        newer.task = max(filter(None, (last.task, line.task)), default=None)
        newer.client_id = max(filter(None, (last.client_id, line.client_id)), default=None)
        found[line.client] = newer
    return list(found.values())


def _closes(inputs: Inputs) -> dict[tuple[str, str], tuple[int, int | None]]:
    """Return the last line about the close of each client: position and time."""
    found: dict[tuple[str, str], tuple[int, int | None]] = {}
    is_close = one_of("event", _CLOSED) & pc.field("client_id").is_valid()
    closes = [
        ((row["process_id"], row["client_id"]), (row["stream_pos"], row["at_ms"]))
        for row in inputs.rows("fact_line", ["process_id", "client_id", "stream_pos", "at_ms"], is_close)
    ]
    for row in inputs.rows("client_event", ["process_id", "client", "stream_pos", "at_ms", "reason"], pc.field("event") == "leaving"):
        if _CLOSING["leaving"] in (row["reason"] or ""):
            closes.append(((row["process_id"], row["client"]), (row["stream_pos"], row["at_ms"])))
    for client, close in closes:
        found[client] = max(close, found.get(client, close), key=order)
    return found


def _ends_of_tasks(inputs: Inputs) -> dict[tuple[str, int, str | None], list[tuple[int, int | None]]]:
    """Return the lines with which each task ended in each run of its process: positions and times."""
    found: dict[tuple[str, int, str | None], list[tuple[int, int | None]]] = {}
    for row in inputs.rows("task_life", ["process_id", "instance", "task", "ended"]):
        if row["ended"] is not None and row["task"] is not None:
            found.setdefault((row["process_id"], row["instance"], row["task"]), []).append((row["ended"]["pos"], row["ended"]["at_ms"]))
    for ends in found.values():
        ends.sort(key=order)
    return found


class _Rounds:
    """The last generation of each client, and when the last generation of each group was complete.

    Args:
        inputs: rows of `member_round` and `clock_offset`.
        latest: the last generation of each group.
    """

    def __init__(self, inputs: Inputs, latest: Mapping[Group, Row]) -> None:
        self._latest = latest
        self._of: dict[Client, tuple[int, int, int]] = {}
        #: At the latest, on each reference clock.
        self._settled: dict[tuple[Group, str], int | None] = {}
        clocks = Clocks(inputs)
        for group, row in latest.items():
            if row["coordinator"] is not None:
                self._settle(group, clocks.of(row["coordinator"]), first(row["assigned_ts"], row["stabilized_ts"]))
        columns = ["kafka_cluster", "group_id", "process_id", "client", "round", "incarnation", "generation", "synced", "joined"]
        table = inputs.table("member_round", columns)
        for *client, nth, incarnation, generation, synced, joined in zip(*(table.column(name).to_pylist() for name in columns), strict=True):
            kafka_cluster, group_id, process_id, name = client
            its = nth, incarnation, generation
            self._of[kafka_cluster, group_id, process_id, name] = max(its, self._of.get((kafka_cluster, group_id, process_id, name), its))
            last = latest.get((kafka_cluster, group_id))
            # Without its coordinator's log, as its members print it.
            if last is not None and last["coordinator"] is None and _nth(last) == (incarnation, generation):
                at_ms = first(*(line["at_ms"] for line in (synced, joined) if line is not None))
                self._settle((kafka_cluster, group_id), clocks.of(process_id), at_ms)

    def _settle(self, group: Group, clock: Offset | None, at_ms: int | None) -> None:
        if clock is not None:
            key = group, clock.reference_process_id
            self._settled[key] = greatest(self._settled.get(key), clock.latest(at_ms))

    def is_later(self, line: _LastLine, run: LastRun) -> bool:
        """Return True if a client that had the last generation, or asked when that existed, asks for a later one."""
        kafka_cluster, group_id, *_ = line.client
        last, own = self._latest.get((kafka_cluster, group_id)), self._of.get(line.client)
        if last is None or (own is not None and own[1:] == _nth(last)):
            return True
        return less(self._settled.get(((kafka_cluster, group_id), run.clock.reference_process_id)), run.clock.earliest(line.at_ms))
