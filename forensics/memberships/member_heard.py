"""Compute the view `member_heard`: until when the processes of removed members were certainly alive, as their coordinators show."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from forensics.clocks.clock_bound import rows as clock_bound
from forensics.logs.clusters import Clusters
from forensics.logs.events import event_table, events
from forensics.logs.instances import Instances
from forensics.memberships.member_setting import rows as member_setting
from forensics.relations.conditions import one_of
from forensics.relations.missing import order

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs, Row

_OF_GENERATIONS = ("group_stabilized", "assignment_from_leader", "rebalance_preparing", "group_loaded", "group_unloaded")
_EXPIRED = "has failed, removing it from the group"


@dataclass(frozen=True)
class _Line:
    """A line about a group in a run of its coordinator; `stabilized` is the last line that completed a generation there, up to this one."""

    event: str
    at_ms: int
    stream_pos: int
    event_id: str
    generation: int | None
    old_generation: int | None
    stabilized: _Line | None


@dataclass(frozen=True)
class _Removal:
    """A member whose session expired at its coordinator; `place` is the group in that run of the coordinator."""

    place: tuple[str, str, str, int]
    line: Row
    process_id: str
    session: Row
    resolution_ms: int


def rows(inputs: Inputs) -> list[Row]:
    """Return the rows of the view `member_heard`."""
    lines = list(_coordinator_lines(inputs))
    removals = list(_removals(inputs, lines))
    if not removals:
        return []
    groups, awake = _groups(lines), _Awake(inputs, {removal.place[2] for removal in removals})
    bounds = {(row["from_process_id"], row["to_process_id"]): row for row in clock_bound(inputs) if row["hi_ms"] is not None}
    best: dict[tuple[str, str, str], Row] = {}
    for removal in removals:
        found = _heard(removal, groups[removal.place], awake, inputs.knobs.heartbeat_late_ms)
        bound = bounds.get((removal.process_id, removal.place[2]))
        if found is None or bound is None:
            continue
        found |= {"alive_ms": found["heard_lo_ms"] - bound["hi_ms"], "witness": [*found["witness"], *(bound["witness"] or ())]}
        member = found["kafka_cluster"], found["group_id"], found["member_id"]
        best[member] = max(found, best.get(member, found), key=lambda row: order([row["heard_lo_ms"], row["removed_id"]]))
    return list(best.values())


def _coordinator_lines(inputs: Inputs) -> Iterator[Row]:
    """Yield lines about groups, with the run of the broker and its Kafka cluster."""
    columns = ["process_id", "stream_pos", "ts", "event_id", "event", "group_id", "member_id", "generation", "old_generation", "message"]
    is_usable = pc.field("broker_id").is_valid() & pc.field("group_id").is_valid() & pc.field("ts").is_valid()
    found = events(inputs, columns, one_of("event", (*_OF_GENERATIONS, "member_expired")) & is_usable)
    clusters = Clusters(inputs) if found else None
    for line in found:
        if clusters is not None:
            instance, kafka_cluster = clusters.place(line["process_id"], line["stream_pos"])
            yield line | {"place": (kafka_cluster, line["group_id"], line["process_id"], instance)}


def _removals(inputs: Inputs, lines: list[Row]) -> Iterator[_Removal]:
    """Yield removals of members whose session timeout is known. Static members are excluded, and those removed for not joining in time."""
    expired = [line for line in lines if line["event"] == "member_expired" and _EXPIRED in line["message"]]
    if not expired:
        return
    members = {
        (row["kafka_cluster"], row["group_id"], row["member_id"]): row["process_id"]
        for row in inputs.rows("member")
        if row["process_id"] is not None and row["group_instance_id"] is None
    }
    sessions = {
        (row["kafka_cluster"], row["group_id"], row["member_id"]): row
        for row in member_setting(inputs)
        if row["setting"] == "session.timeout.ms" and row["value_how"] in ("config", "broker") and row["value_ms"] is not None
    }
    resolutions = {row["process_id"]: row["resolution_ms"] for row in inputs.rows("process_cluster") if row["is_last"]}
    for line in expired:
        member = line["place"][0], line["group_id"], line["member_id"]
        if member in members and member in sessions:
            yield _Removal(line["place"], line, members[member], sessions[member], resolutions[line["process_id"]])


def _groups(lines: list[Row]) -> dict[tuple[str, str, str, int], list[_Line]]:
    """Return the lines about each group in each run of a coordinator, in the order of their times."""
    found: defaultdict[tuple[str, str, str, int], list[_Line]] = defaultdict(list)
    stabilized: dict[tuple[str, str, str, int], _Line] = {}
    for line in sorted((line for line in lines if line["event"] != "member_expired"), key=lambda line: int(line["stream_pos"])):
        own = _Line(
            line["event"],
            line["ts"],
            line["stream_pos"],
            line["event_id"],
            line["generation"],
            line["old_generation"],
            stabilized.get(line["place"]),
        )
        if line["event"] == "group_stabilized":
            stabilized[line["place"]] = own
        found[line["place"]].append(own)
    return defaultdict(list, {place: sorted(its, key=lambda line: (line.at_ms, line.stream_pos)) for place, its in found.items()})


class _Awake:
    """The lines of brokers.

    Args:
        inputs: rows of `event_row` and `process_start`.
        brokers: their processes.
    """

    def __init__(self, inputs: Inputs, brokers: set[str]) -> None:
        columns = ["process_id", "stream_pos", "ts", "event_id"]
        lines = event_table(inputs, columns, one_of("process_id", brokers) & pc.field("ts").is_valid())
        runs = Instances(inputs).added(lines).sort_by([("ts", "ascending"), ("stream_pos", "ascending")])
        self._of: dict[tuple[str, int], tuple[list[int], list[str]]] = {}
        for run in runs.group_by(["process_id", "instance"]).aggregate([]).to_pylist():
            process_id, instance = run["process_id"], run["instance"]
            its = runs.filter(pc.and_(pc.equal(runs["process_id"], process_id), pc.equal(runs["instance"], instance)))
            self._of[process_id, instance] = its["ts"].to_pylist(), its["event_id"].to_pylist()

    def last(self, process_id: str, instance: int, until_ms: int) -> tuple[int, str] | None:
        """Return time and event of a broker's last line up to that time; None: there is none."""
        times, ids = self._of.get((process_id, instance), ([], []))
        at = bisect_right(times, until_ms)
        return (times[at - 1], ids[at - 1]) if at else None


def _heard(removal: _Removal, lines: list[_Line], awake: _Awake, late_ms: int) -> Row | None:
    """Return the last request of a member that its removal proves; None: it proves none.

    A session expires one session timeout after the member's last request. But the coordinator itself restarts the timer when a join phase ends, an assignment
    arrives or the group is loaded. So the lines of the last generation must be in the log and be older than that request, and a later line must show that no other
    generation came between. A paused broker removes members late: its last line that is certainly before the removal shows that the session had not expired at that
    time.
    """
    _, _, broker, instance = removal.place
    removed_ms, session_ms = removal.line["ts"], removal.session["value_ms"]
    last = awake.last(broker, instance, removed_ms - late_ms)
    at = bisect_right(lines, removed_ms + removal.resolution_ms - session_ms, key=lambda line: line.at_ms)
    if last is None or at in (0, len(lines)):
        return None
    assigned, still, heard_ms = lines[at - 1], lines[at], last[0] - session_ms - late_ms
    stabilized, generation = assigned.stabilized, assigned.generation
    if stabilized is None or generation is None or assigned.event != "assignment_from_leader" or stabilized.generation != generation:
        return None
    is_same = (still.event == "rebalance_preparing" and still.old_generation == generation) or (
        still.event == "group_stabilized" and still.generation == generation + 1
    )
    if not is_same or assigned.at_ms + removal.resolution_ms >= heard_ms:
        return None
    return {
        "kafka_cluster": removal.place[0],
        "group_id": removal.line["group_id"],
        "member_id": removal.line["member_id"],
        "generation": generation,
        "process_id": removal.process_id,
        "broker": broker,
        "session_ms": session_ms,
        "heard_lo_ms": heard_ms,
        "alive_ms": None,
        "removed_ms": removed_ms,
        "removed_id": removal.line["event_id"],
        "witness": [stabilized.event_id, assigned.event_id, last[1], removal.line["event_id"], still.event_id, removal.session["event_id"]],
    }
