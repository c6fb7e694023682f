"""Compute the view `incident`: a root cause, with its consequences and whether it is over."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from forensics.causes.gaps import rows as incident_gap
from forensics.causes.incident_state import IncidentState, states
from forensics.causes.occurrences import rows as occurrence
from forensics.causes.states import End
from forensics.causes.trouble import UNSURE
from forensics.relations.by_key import ByKey
from forensics.relations.missing import events_of, first, greatest, least, minus, names, there

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs, Row

_SEVERITIES = ("note", "warning", "critical")
_BROKER = re.compile(r"broker -?[0-9]+")
_THREAD = re.compile(r"-(StreamThread-[0-9]+)-consumer$")
#: Causes with words of their own; the code of an unknown one depends on its alternatives.
_KNOWN = frozenset(
    (
        *("process_paused", "process_killed", "process_restarted", "member_cut_off", "poll_too_slow", "broker_down", "coordinator_moved"),
        *("offsets_topic_impossible", "offsets_lost", "connector_churn", "duplicate_declaration", "group_id_collision", "static_id_shared"),
        *("clock_wrong", "deployment"),
    )
)
#: Cases of the words, the column `code`.
CODES = _KNOWN | {"unexplained", "members_removed", "fell_silent", "ended_unsaid", "one_of", "unknown"}


@dataclass(frozen=True)
class _Effects:
    """What the occurrences of an incident show together.

    Attributes:
        rank: severity of the worst.
        subject, rule: of the occurrences that no other one caused.
        is_taken_over: True if another broker could take over as the coordinator, so the topic has replicas.
        served_ms: a broker served its clients again at this time.
        is_stopped: True if the broker was shut down cleanly; None: no outage shows how it ended.
        is_worker: True if a worker, and no consumer, left at its poll timeout.
        is_librdkafka: True if clients of librdkafka left at it, which have no `max.poll.records`.
        is_python: True if clients of kafka-python were paused, which have no GC log of a JVM.
        limit_ms: the poll timeout that was exceeded, if all that exceeded theirs had the same.
        client: the task or client that exceeded it, if it was only one.
        consumer_count: number of consumers that left at it, in processes with a log.
        is_unanswered: True if it is a worker that could not start because no broker answered.
    """

    finding_ids: list[str] = field(default_factory=list)
    rank: int | None = None
    group_ids: list[str] = field(default_factory=list)
    kafka_cluster: str | None = None
    subject: str | None = None
    rule: str | None = None
    from_ms: int | None = None
    to_ms: int | None = None
    is_taken_over: bool = False
    served_ms: int | None = None
    is_stopped: bool | None = None
    is_worker: bool = False
    is_librdkafka: bool = False
    is_python: bool = False
    limit_ms: int | None = None
    client: str | None = None
    consumer_count: int = 0
    is_unanswered: bool = False
    witness: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Resources:
    """The resources of an incident that had no owner, or two."""

    names: list[str] = field(default_factory=list)
    unowned_ms: int | None = None
    unowned_hi_ms: int | None = None
    double_work_ms: int | None = None


@dataclass(frozen=True)
class _Members:
    """The members that an incident removed.

    Attributes:
        late: number of members whose process is unknown and that a classic group removed because they did not join a rebalance in time.
        keepers: the same in other groups, where they did not give up a partition in time.
        again_ms: when the last was a member again; a member of an unknown process is back when all of them are.
        ids: members whose process is unknown.
        host: address of one of them.
        thread: the thread of Kafka Streams that all are; a thread is a member of its own.
    """

    late: int = 0
    keepers: int = 0
    again_ms: int | None = None
    ids: list[str] | None = None
    host: str | None = None
    thread: str | None = None


def rows(inputs: Inputs) -> list[dict[str, Any]]:
    """Return the rows of the view `incident`, without its sentences."""
    effects, resources, members, state_of = _effects(inputs), _resources(inputs), _members(inputs), states(inputs)
    orderly = _orderly_ends(inputs)
    found = []
    for cause in inputs.rows("root_cause"):
        incident_id = cause["incident_id"]
        known = _with_cause(cause, effects.pop(incident_id, _Effects()), members.get(incident_id, _Members()), orderly)
        found.append(_row(known, resources.get(incident_id, _Resources()), state_of.get(incident_id)))
    for incident_id, of in effects.items():
        found.append(_row(_without_cause(incident_id, of), resources.get(incident_id, _Resources()), state_of.get(incident_id)))
    return found


def _effects(inputs: Inputs) -> dict[str, _Effects]:
    together: defaultdict[str, list[Row]] = defaultdict(list)
    for it in occurrence(inputs):
        if it["incident_id"] is not None:
            together[it["incident_id"]].append(it)
    return {incident_id: _effect(alike) for incident_id, alike in together.items()}


def _effect(alike: Sequence[Row]) -> _Effects:
    polls = [(it["code"], json.loads(it["facts"] or "{}")) for it in alike if it["rule"] == "poll-timeout"]
    limits = {facts.get("limit_ms") for _, facts in polls}
    clients = {f"task {facts['task']}" if facts.get("task") else facts.get("name") for _, facts in polls}
    outages = [(it, json.loads(it["facts"] or "{}")) for it in alike if it["rule"] == "coordinator-unavailable"]
    pauses = [json.loads(it["facts"] or "{}").get("how") for it in alike if it["rule"] == "process-paused"]
    roots = [it for it in alike if it["caused_by"] is None]
    down = there(facts.get("down_how") for _, facts in outages)
    return _Effects(
        finding_ids=names(it["finding_id"] for it in alike),
        rank=max(_rank(it["severity"]) for it in alike),
        group_ids=names(it["group_id"] for it in alike),
        kafka_cluster=max(there(it["kafka_cluster"] for it in alike), default=None),
        subject=max(there(it["subject"] for it in roots), default=None),
        rule=max(there(it["rule"] for it in roots), default=None),
        from_ms=least(*(it["from_ts"] for it in alike)),
        to_ms=greatest(*(first(it["to_ts"], it["from_ts"]) for it in alike)),
        is_taken_over=any(facts.get("new_broker_id") is not None and it["code"] in ("broker_down", "moved") for it, facts in outages),
        served_ms=greatest(*(facts.get("served_at_ms") for _, facts in outages)),
        is_worker=bool(polls) and all(code == "worker" or code == "of_broker" and facts.get("is_worker") for code, facts in polls),
        is_librdkafka=bool(polls) and all(facts.get("is_librdkafka") for _, facts in polls),
        is_python=bool(pauses) and set(pauses) == {"idle"},
        limit_ms=limits.pop() if len(limits) == 1 else None,
        client=clients.pop() if len(clients) == 1 else None,
        consumer_count=len({(facts["process_id"], facts.get("name")) for code, facts in polls if code == "consumer" and facts.get("process_id")}),
        is_unanswered={it["code"] for it, _ in outages} == {"worker_without_broker"},
        is_stopped=all(how == "stopped" for how in down) if down else None,
        witness=events_of((it["witness"] for it in alike), 24),
    )


def _rank(severity: str | None) -> int:
    return _SEVERITIES.index(severity) + 1 if severity in _SEVERITIES else 1


def _resources(inputs: Inputs) -> dict[str, _Resources]:
    together: defaultdict[str, list[Row]] = defaultdict(list)
    for gap in incident_gap(inputs):
        if gap["unowned_ms"] != 0:  # 0: it perhaps had an owner all the time
            together[gap["incident_id"]].append(gap)
    found = {}
    for incident_id, gaps in together.items():
        unowned = [gap["unowned_hi_ms"] for gap in gaps if gap["unowned_ms"] is not None]
        found[incident_id] = _Resources(
            names(gap["resource"] for gap in gaps if gap["resource_kind"] != "group"),
            greatest(*(gap["unowned_ms"] for gap in gaps)),
            greatest(*unowned) if None not in unowned else None,
            greatest(*(gap["double_work_ms"] for gap in gaps)),
        )
    return found


def _members(inputs: Inputs) -> dict[str, _Members]:
    member_ids = {cause["incident_id"]: [m for part in cause["parts"] or () for m in part["member_ids"] or ()] for cause in inputs.rows("root_cause")}
    if not any(member_ids.values()):
        return {}
    removed = inputs.rows("removed_member", columns=["member_id", "how", "protocol"])
    protocols = ByKey((row for row in removed if row["how"] == "rebalance"), "member_id")
    losses = ByKey(inputs.rows("lost_membership", columns=["member_id", "again_ms"]), "member_id")
    clients = ByKey(inputs.rows("member", columns=["member_id", "client_host", "client_id"]), "member_id")
    found = {}
    for cause in inputs.rows("root_cause"):
        ids = member_ids[cause["incident_id"]]
        if not ids:
            continue
        is_unknown = cause["subject"] == ""
        again = [loss["again_ms"] for member_id in ids for loss in losses[member_id] or ({"again_ms": None},)]
        late = {(m, row["protocol"]) for m in ids for row in protocols[m] if row["protocol"] is not None} if is_unknown else set()
        threads = [_thread(client["client_id"]) for m in ids for client in clients[m] or ({"client_id": None},)]
        found[cause["incident_id"]] = _Members(
            late=len({m for m, protocol in late if protocol == "classic"}),
            keepers=len({m for m, protocol in late if protocol != "classic"}),
            again_ms=greatest(*again) if not is_unknown or None not in again else None,
            ids=names(ids) if is_unknown else [],
            host=max(there(client["client_host"] for m in ids for client in clients[m]), default=None),
            thread=threads[0] if len(set(threads)) == 1 else None,
        )
    return found


def _thread(client_id: str | None) -> str | None:
    match = _THREAD.search(client_id or "")
    return match[1] if match else None


@dataclass(frozen=True, kw_only=True)
class _Incident:
    """What is known of an incident apart from its resources and its state."""

    incident_id: str
    kafka_cluster: str | None
    group_ids: list[str]
    of_group_ids: list[str]
    worker_group_id: str | None = None
    sink_members: int = 0
    cause: str = "unknown"
    alternatives: list[str] = field(default_factory=list)
    subject: str | None
    from_lo_ms: int | None
    from_hi_ms: int | None
    to_lo_ms: int | None
    to_hi_ms: int | None
    rank: int
    times: int = 1
    parts: Sequence[Row] = ()
    began_at_ms: list[int] | None = None
    members: int | None = None
    process_ids: list[str] = field(default_factory=list)
    rule: str | None = None
    effects: _Effects
    is_stopped: bool = False
    lost: _Members = field(default_factory=_Members)
    witness: list[str]
    machine: Row | None = None


def _orderly_ends(inputs: Inputs) -> set[tuple[str, int | None]]:
    """Return the runs that had started and then logged that they stop; a log that begins with a run shows no start."""
    lives = inputs.rows("process_life", columns=["process_id", "instance", "start_ms", "stopping_ms", "has_started"])
    return {_run(life) for life in lives if life["stopping_ms"] is not None and (life["has_started"] or life["start_ms"] is None)}


def _run(row: Row) -> tuple[str, int | None]:
    return row["process_id"], row["instance"]


def _with_cause(cause: Row, effects: _Effects, lost: _Members, orderly: Collection[tuple[str, int | None]]) -> _Incident:
    """Return an incident whose root cause, or the possible ones, are known; `orderly` are the runs that ended cleanly."""
    is_orderly = cause["cause"] in ("deployment", "process_restarted")
    rank = first(effects.rank, 1 if is_orderly else 2)
    parts = cause["parts"] or ()
    return _Incident(
        incident_id=cause["incident_id"],
        kafka_cluster=cause["kafka_cluster"],
        group_ids=names(cause["group_ids"], effects.group_ids),
        of_group_ids=cause["group_ids"] or [],
        worker_group_id=cause["worker_group_id"],
        sink_members=cause["sink_members"],
        cause=cause["cause"],
        alternatives=cause["alternatives"] or [],
        subject=cause["subject"] or None,
        from_lo_ms=cause["from_lo_ms"],
        from_hi_ms=cause["from_hi_ms"],
        to_lo_ms=cause["to_lo_ms"],
        to_hi_ms=cause["to_hi_ms"],
        # A worker that was killed is not a note, even if this is uncertain.
        rank=max(rank, 2) if "lines_missing" in (cause["alternatives"] or ()) else rank,
        times=cause["times"] or 1,
        parts=parts,
        began_at_ms=there(part["from_hi_ms"] for part in parts) if (cause["times"] or 1) > 1 and len(cause["process_ids"] or ()) == 1 else None,
        members=sum(len(part["member_ids"] or ()) for part in parts) if cause["subject"] == "" else None,
        process_ids=cause["process_ids"] or [],
        effects=effects,
        is_stopped=first(effects.is_stopped, cause["cause"] == "broker_down" and bool(parts) and all(_run(part) in orderly for part in parts)),
        lost=lost,
        witness=cause["witness"],
        machine=cause["machine"],
    )


def _without_cause(incident_id: str, effects: _Effects) -> _Incident:
    """Return an incident of which only effects are known."""
    return _Incident(
        incident_id=incident_id,
        kafka_cluster=effects.kafka_cluster,
        group_ids=effects.group_ids,
        of_group_ids=effects.group_ids,
        subject=effects.subject,
        from_lo_ms=effects.from_ms,
        from_hi_ms=effects.from_ms,
        to_lo_ms=effects.to_ms,
        to_hi_ms=effects.to_ms,
        rank=first(effects.rank, 1),
        rule=effects.rule,
        effects=effects,
        witness=effects.witness,
    )


def _row(it: _Incident, resources: _Resources, state: IncidentState | None) -> dict[str, Any]:
    return {
        "incident_id": it.incident_id,
        "kafka_cluster": it.kafka_cluster,
        "group_ids": it.group_ids,
        "cause": it.cause,
        "alternatives": it.alternatives,
        "subject": it.subject,
        "from_lo": it.from_lo_ms,
        "from_hi": it.from_hi_ms,
        "to_lo": it.to_lo_ms,
        "to_hi": it.to_hi_ms,
        "severity": _SEVERITIES[it.rank - 1],
        "times": it.times,
        "resources_hit": resources.names,
        "longest_outage_ms": resources.unowned_ms,
        "longest_outage_hi_ms": resources.unowned_hi_ms,
        "double_work_ms": resources.double_work_ms,
        "finding_ids": it.effects.finding_ids,
        "headline": None,
        "advice": None,
        "code": _code(it),
        "facts": _facts(it, state),
        "witness": it.witness,
        "state": state.state if state else None,
        "over_since": state.over_ms if state else None,
        "over_how": state.over_how if state else None,
        "shown_until": state.shown_ms if state else None,
        "still": state.still if state else None,
        "targets": state.targets if state else None,
        **dict.fromkeys(("outcome", "stop_now", "step", "next", "prevent")),
    }


def _code(it: _Incident) -> str | None:
    """Return the case whose words describe an incident."""
    if it.rule is not None:
        return "unexplained"
    if it.cause != "unknown":
        return it.cause if it.cause in _KNOWN else None
    if it.subject is None:
        return "members_removed"
    if "lines_missing" in it.alternatives:
        return "fell_silent" if "process_paused" in it.alternatives else "ended_unsaid"
    return "one_of" if it.alternatives else "unknown"


def _length(part: Row) -> tuple[bool, int]:
    """Return a key by which the longest occurrence is the greatest; one without an end is not over."""
    length_ms = minus(part["to_hi_ms"], part["from_lo_ms"])
    return (length_ms is None, length_ms or 0)


def _facts(it: _Incident, state: IncidentState | None) -> dict[str, Any]:
    # Several occurrences keep their own lengths: never from the first beginning to the last end.
    whole = {"from_lo_ms": it.from_lo_ms, "from_hi_ms": it.from_hi_ms, "to_lo_ms": it.to_lo_ms, "to_hi_ms": it.to_hi_ms}
    longest = max(it.parts, key=_length) if it.times > 1 and it.parts else whole
    removed = [part.get("from_hi_ms") for part in it.parts or ()]
    machine = it.machine or {}
    is_unsure = machine.get("code") == UNSURE
    return {
        "lasted_lo_ms": greatest(0, minus(longest["to_lo_ms"], longest["from_hi_ms"])),
        "lasted_hi_ms": minus(longest["to_hi_ms"], longest["from_lo_ms"]),
        "member_count": it.members,
        "process_count": len(it.process_ids),
        "rule": it.rule,
        "is_taken_over": it.effects.is_taken_over if it.rule is None else False,
        "is_stopped": it.is_stopped if it.rule is None else False,
        "is_worker": it.effects.is_worker,
        "is_librdkafka": it.effects.is_librdkafka,
        "is_python": it.effects.is_python,
        "limit_ms": it.effects.limit_ms,
        "consumer_count": it.effects.consumer_count,
        "is_unanswered": it.effects.is_unanswered,
        "is_broker": _BROKER.fullmatch(it.subject or "") is not None,
        "lost_count": sum(len(part["member_ids"] or ()) for part in it.parts),
        "began_at_ms": it.began_at_ms,
        # A broker that has started serves its clients only after leaders were elected and groups loaded.
        "served_at_ms": it.effects.served_ms,
        # Consequences may be in other groups, from which no member was removed.
        "of_group_ids": [group_id for group_id in it.of_group_ids if group_id != it.worker_group_id],
        # Only if it affected a worker and members of sinks that had its tasks.
        "worker_group_id": it.worker_group_id,
        "sink_members": it.sink_members,
        "late_count": it.lost.late,
        "kept_count": it.lost.keepers,
        "again_at_ms": it.lost.again_ms,
        "member_ids": it.lost.ids[:3] if it.lost.ids is not None else None,
        "host": it.lost.host if it.lost.ids is not None and len(it.lost.ids) == 1 else None,
        "thread": it.lost.thread,
        "client": it.effects.client,
        "is_never_back": it.to_hi_ms is None,
        "over_at_ms": state.over_ms if state else None,
        # From the last removal of members of unknown processes to the generation that their groups completed without them.
        "rebalanced_ms": minus(state.over_ms, greatest(*removed)) if state and it.members and End.COMPLETED in state.ends else None,
        "is_lost": bool(state and it.members and End.DELETED in state.ends),
        "ended_at_ms": it.to_hi_ms,
        "shown_at_ms": state.shown_ms if state else None,
        "machine": None if is_unsure else machine.get("code"),
        "machine_how": None if is_unsure else machine.get("how"),
        "machine_ms": machine.get("length_ms"),
        "memory_limit": machine.get("memory_limit"),
        "machine_at_ms": machine.get("at_ms"),
        "unsure_how": machine.get("how") if is_unsure else None,
    }
