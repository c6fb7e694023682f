"""Compute the view `silent_member`: members whose log ends although they had not left, while their group continued."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from forensics.clocks.offsets import Clocks
from forensics.memberships.last_memberships import last_memberships
from forensics.memberships.later_generations import Generations, Removals
from forensics.relations.conditions import one_of
from forensics.relations.missing import first, greatest, least, less, there, up_to

if TYPE_CHECKING:
    from forensics.clocks.offsets import Offset
    from forensics.memberships.last_memberships import LastMembership
    from forensics.memberships.later_generations import Generation, Group, Nth
    from forensics.relations.inputs import Inputs, Row


@dataclass(frozen=True)
class _Silent:
    """A client whose log ends while it is a member.

    Attributes:
        last: its last membership.
        group: Kafka cluster and group.
        own: the generation of its last membership; None: unknown.
        next: the generation after that; None: there is none.
        final: the last generation of the group.
        removed_ms: its coordinator removed it at this time, by the coordinator's clock; None: no line shows it.
    """

    last: LastMembership
    group: Group
    own: Generation | None
    next: Generation | None
    final: Nth
    removed_ms: int | None


def rows(inputs: Inputs) -> list[Row]:
    """Return the rows of the view `silent_member`."""
    lasts = list(last_memberships(inputs))
    if not lasts:
        return []
    groups = {_group(last) for last in lasts}
    generations, removals, clocks = Generations(inputs, groups), Removals(inputs, groups), Clocks(inputs)
    silent = [_silent(last, generations, removals) for last in lasts]
    moments = _Moments(inputs, clocks, {(its.group, nth) for its in silent for nth in (its.final, its.next.nth if its.next is not None else None)})
    found = []
    for its in silent:
        how, clock = _how(its, generations), clocks.of(its.last.its.of.process_id)
        if how is not None and clock is not None:
            row = _row(its, how, clock, moments)
            row["may_be_back"] = _is_later(generations.last_named(its.group, its.last.its.member_id), its.last.its.nth)
            if _is_silent(row, moments.of(its.group, its.final, clock)[1], inputs.knobs.heartbeat_late_ms):
                found.append(row)
    return found


def _group(last: LastMembership) -> Any:  # noqa: ANN401 (a Group: a member has one)
    return last.its.kafka_cluster, last.its.of.group_id


def _silent(last: LastMembership, generations: Generations, removals: Removals) -> _Silent:
    group, its = _group(last), last.its
    own = generations.at(group, its.nth)
    following = generations.after(group, its.nth) if its.incarnation is not None else None
    final = generations.last(group) if following is not None else None
    since_ms = own.stabilized_ms if own is not None else None
    removed_ms = removals.first(group, its.member_id, its.of.process_id, since_ms)
    return _Silent(last, group, own, following, its.nth if final is None else final.nth, removed_ms)


def _is_later(nth: Nth | None, than: Nth) -> bool:
    return nth is not None and nth > than


def _how(silent: _Silent, generations: Generations) -> str | None:
    """Return how the group went on, as a value of the view's column `how`; None: the client's log may have its end, or the client ended quietly."""
    last, its, following = silent.last, silent.last.its, silent.next
    if following is None:
        is_assigned = silent.own is not None and first(silent.own.row["assigned_ts"], silent.own.row["last_synced_ts"]) is not None
        return "unassigned" if its.is_open and is_assigned and silent.removed_ms is None else None
    by_others = generations.last_with(silent.group, its.nth[0], its.member_id)
    if less(its.generation, by_others) or _is_later(generations.last_led_by(silent.group, its.member_id), its.nth):
        return "continued"
    is_removed_first = up_to(silent.removed_ms, following.stabilized_ms)
    if is_removed_first or (silent.removed_ms is not None and (last.is_static or not following.is_classic)):
        # It may be in a later generation with a new id.
        return "unknown" if last.is_asking else None
    is_seen, is_next = following.row["seen_by_broker"], following.nth[0] == its.incarnation
    if is_next and is_seen and following.is_classic and not last.is_static:
        return "continued"
    # Another client of its process is in a later generation.
    is_other_there = up_to(following.nth[1], generations.last_with(silent.group, its.nth[0], its.of.process_id))
    if is_next and is_seen is False and following.is_listed and its.member_id is not None and not is_other_there:
        return "gone"
    return None if last.is_of_task else "unknown"


class _Moments:
    """When generations were complete: a join phase ends at one moment for all members that are present.

    Args:
        inputs: rows of `member_round` and `broker_generation`.
        clocks: the offsets of all processes.
        wanted: the generations.
    """

    def __init__(self, inputs: Inputs, clocks: Clocks, wanted: Collection[tuple[Group, Nth | None]]) -> None:
        self._of: dict[tuple[Group, Nth, str], tuple[int | None, int | None]] = {}
        of_groups = one_of("group_id", {group[1] for group, _ in wanted})
        columns = ["kafka_cluster", "group_id", "incarnation", "generation", "process_id"]
        for row in inputs.table("member_round", [*columns, "joined", "synced"], of_groups).to_pylist():
            row["at_ms"] = first(*(line["at_ms"] for line in (row["joined"], row["synced"]) if line is not None))
            self._add(row, clocks, wanted)
        for row in inputs.table("broker_generation", [*columns, "stabilized_ms"], of_groups).to_pylist():
            self._add(row | {"at_ms": row["stabilized_ms"]}, clocks, wanted)

    def _add(self, row: Row, clocks: Clocks, wanted: Collection[tuple[Group, Nth | None]]) -> None:
        group, nth = (row["kafka_cluster"], row["group_id"]), (row["incarnation"], row["generation"])
        clock = clocks.of(row["process_id"])
        if clock is not None and row["at_ms"] is not None and (group, nth) in wanted:
            key = group, nth, clock.reference_process_id
            lo_ms, hi_ms = self._of.get(key, (None, None))
            self._of[key] = greatest(lo_ms, clock.earliest(row["at_ms"])), least(hi_ms, clock.latest(row["at_ms"]))

    def of(self, group: Group, nth: Nth, clock: Offset) -> tuple[int | None, int | None]:
        """Return when a generation was complete, at the earliest and at the latest, on the reference of a clock."""
        return self._of.get((group, nth, clock.reference_process_id), (None, None))


def _row(silent: _Silent, how: str, clock: Offset, moments: _Moments) -> Row:
    its, following = silent.last.its, silent.next
    gone_hi_ms = moments.of(silent.group, following.nth, clock)[1] if how == "gone" and following is not None else None
    return {
        **its.of._asdict(),
        "kafka_cluster": its.kafka_cluster,
        "member_id": its.member_id,
        "how": how,
        "generation": its.generation,
        "last_ms": silent.last.last_ms,
        "until_ms": clock.own_earliest(moments.of(silent.group, silent.final, clock)[0]),
        "last_lo_ms": clock.earliest(silent.last.last_ms),
        "gone_hi_ms": gone_hi_ms,
        "reference_process_id": clock.reference_process_id,
        "witness": there([its.event_id, following.event_id if following is not None else None]),
    }


def _is_silent(row: Row, final_hi_ms: int | None, late_ms: int) -> bool:
    """Return True if a log ends before its group went on. One that continued after that lacks these lines elsewhere, or the client ended quietly."""
    if row["how"] == "gone":
        return up_to(row["last_lo_ms"], row["gone_hi_ms"])
    return final_hi_ms is None or up_to(row["last_lo_ms"], final_hi_ms + late_ms)
