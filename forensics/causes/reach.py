"""Find the members that a root cause removed from their group or brought back, and the generations that followed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from forensics.causes.generations import BEGAN
from forensics.causes.parts import Part, parts
from forensics.relations.by_key import ByKey
from forensics.relations.inputs import once
from forensics.relations.missing import first, greatest, latest_first, least, minus, plus, up_to

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs, Row

#: A process that ended lost all of its members.
_ENDED = ("process_killed", "process_restarted", "deployment")
#: Alternatives of an unknown cause with which a process ended.
_MAY_HAVE_ENDED = {"process_killed", "process_restarted", "lines_missing"}
#: A process that was kept from its group, and came back.
_KEPT_AWAY = ("process_paused", "member_cut_off", "poll_too_slow", "unknown")
_TRIGGERS = {"lost": ("member_expired", "member_left", "member_gone", "member_never_synced"), "returned": ("member_joined", "static_member_changed")}
#: A generation with one of these triggers may only complete the one before.
_COMPLETING = ("leader_rejoined", "member_metadata_changed", "member_rejoined", "unknown")


@dataclass(frozen=True)
class _Touched:
    """A member that a root cause removed (`lost`) or brought back (`returned`), not before and not after these times."""

    incident_id: str
    kafka_cluster: str | None
    group_id: str | None
    member_id: str | None
    role: str
    from_ms: int | None
    to_ms: int | None


@once
def incident_reach(inputs: Inputs) -> list[dict[str, Any]]:
    """Return a row for each member that a root cause touched, and each generation that followed because of such a member.

    `role` is `lost`, `returned` or, of a generation, `rebalanced`. From and to limit, on the reference clock, when the member was lost or returned; a generation has
    the time at which its rebalance began.
    """
    touched = list(_merged(_touched(inputs, parts(inputs.rows("root_cause")))))
    generations = [
        {
            "incident_id": cause.incident_id,
            "kafka_cluster": generation.kafka_cluster,
            "group_id": generation.group_id,
            "role": "rebalanced",
            "member_id": None,
            "incarnation": generation.incarnation,
            "generation": generation.generation,
            "from_ms": generation.at_ms,
            "to_ms": None,
        }
        for generation, cause in _rebalanced(inputs, touched)
    ]
    members = [
        {
            "incident_id": it.incident_id,
            "kafka_cluster": it.kafka_cluster,
            "group_id": it.group_id,
            "role": it.role,
            "member_id": it.member_id,
            "incarnation": None,
            "generation": None,
            "from_ms": it.from_ms,
            "to_ms": it.to_ms,
        }
        for it in touched
    ]
    return generations + members


def _touched(inputs: Inputs, causes: list[Part]) -> Iterator[_Touched]:
    members = ByKey(inputs.rows("member", columns=["kafka_cluster", "group_id", "member_id"]), "member_id")
    places = inputs.rows("member_place", columns=["kafka_cluster", "group_id", "member_id", "process_id", "instance"])
    by_run = ByKey(places, "process_id", "instance")
    for part in causes:
        # Losses after its return have another cause.
        to_ms = part.to_hi_ms if part.cause != "process_killed" else None
        for member_id in part.member_ids:
            for member in members[member_id]:
                yield _touched_by(part, member, "lost", part.from_lo_ms, to_ms)
        if part.cause in _ENDED or part.cause == "unknown" and part.to_lo_ms is not None:
            # The members of a run that ended do not come back; one that may only have been paused has its later losses for other reasons.
            is_ended = part.cause in _ENDED or _MAY_HAVE_ENDED & set(part.alternatives)
            for member in by_run[part.process_id, part.instance]:
                yield _touched_by(part, member, "lost", part.from_lo_ms, None if is_ended else part.to_hi_ms)
        if part.cause in _ENDED:
            for member in by_run[part.process_id, plus(part.instance, 1)]:
                yield _returned(inputs, part, member)
        elif part.to_lo_ms is not None and part.cause in _KEPT_AWAY:
            for member in by_run[part.process_id, part.instance]:
                yield _returned(inputs, part, member)
    yield from _removed_by_brokers(inputs, causes)


def _touched_by(part: Part, member: Row, role: str, from_ms: int | None, to_ms: int | None) -> _Touched:
    return _Touched(part.incident_id, member["kafka_cluster"], member["group_id"], member["member_id"], role, from_ms, to_ms)


def _returned(inputs: Inputs, part: Part, member: Row) -> _Touched:
    """Return a member of a process that is back. The next run takes its time to start; a process that was only paused is back immediately."""
    late_ms = inputs.knobs.coordinator_settled_ms if member["instance"] == part.instance else inputs.knobs.storm_gap_ms
    return _touched_by(part, member, "returned", part.to_lo_ms, plus(part.to_hi_ms, late_ms))


def _removed_by_brokers(inputs: Inputs, causes: list[Part]) -> Iterator[_Touched]:
    """Yield the members that a coordinator removed because it had been down, or paused, itself."""
    losses = inputs.rows("lost_membership", columns=_LOSS)
    of_broker = ByKey((row for row in losses if row["kind"] == "coordinator" and row["member_id"] is not None), "kafka_cluster", "broker")
    for part in causes:
        if part.cause in ("broker_down", "process_paused"):
            for loss in of_broker[part.kafka_cluster, part.process_id]:
                late_ms = inputs.knobs.coordinator_settled_ms + first(loss["session_ms"], 0)
                if up_to(part.from_lo_ms, loss["removed_hi_ms"]) and up_to(
                    loss["removed_lo_ms"], plus(first(part.to_hi_ms, part.from_hi_ms), late_ms)
                ):
                    yield _touched_by(part, loss, "lost", part.from_lo_ms, None)


_LOSS = ["kafka_cluster", "group_id", "member_id", "kind", "broker", "removed_lo_ms", "removed_hi_ms", "session_ms"]


def _merged(touched: Iterable[_Touched]) -> Iterator[_Touched]:
    """Yield each member that a cause touched once, over the longest time."""
    together: defaultdict[tuple[Any, ...], list[_Touched]] = defaultdict(list)
    for it in touched:
        together[it.incident_id, it.kafka_cluster, it.group_id, it.member_id, it.role].append(it)
    for (incident_id, kafka_cluster, group_id, member_id, role), alike in together.items():
        is_bounded = all(it.to_ms is not None for it in alike)
        to_ms = greatest(*(it.to_ms for it in alike)) if is_bounded else None
        yield _Touched(incident_id, kafka_cluster, group_id, member_id, role, least(*(it.from_ms for it in alike)), to_ms)


@dataclass(frozen=True)
class _Generation:
    """A generation, and why the rebalances that led to it began.

    Attributes:
        root_ms: when the first of these rebalances began.
        root_trigger: its trigger.
        root_member_id: the member that triggered it; empty: none, or unknown.
    """

    kafka_cluster: str | None
    group_id: str | None
    incarnation: int | None
    generation: int
    at_ms: int | None
    root_ms: int | None
    root_trigger: str | None
    root_member_id: str | None


def _rebalanced(inputs: Inputs, touched: Iterable[_Touched]) -> Iterator[tuple[_Generation, _Touched]]:
    """Yield the generations that a member's loss or return caused; of several, the one that began last."""
    by_member: defaultdict[tuple[Any, ...], list[_Touched]] = defaultdict(list)
    for it in touched:
        if None not in (it.kafka_cluster, it.group_id, it.member_id):
            by_member[it.kafka_cluster, it.group_id, it.member_id].append(it)
    if not by_member:
        return
    heartbeat_late_ms = inputs.knobs.heartbeat_late_ms
    for generation in _generations(inputs):
        root_ms = generation.root_ms
        causes = [
            it
            for it in by_member.get((generation.kafka_cluster, generation.group_id, generation.root_member_id), ())
            if generation.root_trigger in _TRIGGERS[it.role]
            and (root_ms is None or up_to(minus(it.from_ms, heartbeat_late_ms), root_ms) and (it.to_ms is None or root_ms <= it.to_ms))
        ]
        if causes:
            yield generation, min(causes, key=lambda it: (latest_first(it.from_ms), it.role, it.incident_id))


def _generations(inputs: Inputs) -> Iterator[_Generation]:
    """Yield every generation. One that only completes the previous one, at the end of its delay or after its revocations, has the same cause."""
    unfinished = _unfinished(inputs)
    in_order: defaultdict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in inputs.rows("generation", columns=_GENERATION):
        in_order[row["kafka_cluster"], row["group_id"], row["incarnation"]].append(row)
    for (kafka_cluster, group_id, incarnation), generations in in_order.items():
        root_ms: int | None = None
        root_trigger: str | None = None
        root_member_id: str | None = None
        for row in sorted(generations, key=lambda row: row["generation"]):
            at_ms = first(*(row[column] for column in BEGAN))
            before = (kafka_cluster, group_id, incarnation, row["generation"] - 1)
            may_complete = row["trigger"] in (None, *_COMPLETING)
            own = (at_ms, row["trigger"], first(row["trigger_member_id"], ""))
            if not (may_complete and None not in before and before in unfinished):
                yield _Generation(kafka_cluster, group_id, incarnation, row["generation"], at_ms, *own)
                root_ms, root_trigger, root_member_id = first(own[0], root_ms), first(own[1], root_trigger), own[2]
            else:
                yield _Generation(kafka_cluster, group_id, incarnation, row["generation"], at_ms, root_ms, root_trigger, root_member_id)


_GENERATION = ["kafka_cluster", "group_id", "incarnation", "generation", "trigger", "trigger_member_id", *BEGAN]


def _unfinished(inputs: Inputs) -> set[tuple[Any, ...]]:
    """Return the generations after which another one has to follow: it delayed an assignment, or revoked something."""
    columns = ["kafka_cluster", "group_id", "incarnation", "generation", "delay_ms", "revoked"]
    may_be = (pc.field("delay_ms") > 0) | pc.field("revoked").is_valid()
    return {
        (row["kafka_cluster"], row["group_id"], row["incarnation"], row["generation"])
        for row in inputs.rows("member_generation", columns, may_be)
        if first(row["delay_ms"], 0) > 0 or row["revoked"]
    }
