"""Compute the view `incident_gap`: the periods in which a resource had no owner, or two that worked on it, because of an incident."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from forensics.causes.generations import BEGAN
from forensics.causes.parts import Part, parts
from forensics.causes.reach import incident_reach
from forensics.clocks.offsets import Clocks
from forensics.relations.by_key import ByKey, InTime
from forensics.relations.inputs import once
from forensics.relations.missing import first, latest_first, minus, plus, up_to

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs, Row

#: Causes that concern a single process.
_OF_PROCESS = ("process_paused", "process_killed", "member_cut_off", "process_restarted", "deployment", "poll_too_slow", "unknown")


@dataclass(frozen=True)
class _Gap:
    """A time in which a resource had no owner, or two.

    Attributes:
        id: the ownership before it, or the two that ran at the same time.
        member_id: the owner before it, or the earlier one of the two.
        process_id: its process.
        generation: the generation that assigned the resource again.
    """

    kafka_cluster: str | None
    group_id: str | None
    resource_kind: str | None
    resource: str | None
    id: str | None
    member_id: str | None
    process_id: str | None
    generation: int | None
    from_ms: int | None
    from_hi_ms: int | None
    to_ms: int | None
    unowned_ms: int | None = None
    unowned_hi_ms: int | None = None
    double_work_ms: int | None = None


@dataclass(frozen=True)
class _Candidate:
    """An incident that may have caused a gap: the fact that links them is the stronger, the smaller its rank is."""

    incident_id: str
    rank: int
    since_ms: int | None


def _is_of_one_run(group_id: str) -> bool:
    """Return True for a group whose name the console consumer made up when it started."""
    return bool(re.fullmatch(r"console-consumer-[0-9]+", group_id))


@once
def rows(inputs: Inputs) -> list[dict[str, Any]]:
    """Return the rows of the view `incident_gap`."""
    causes = inputs.rows("root_cause")
    if not causes:
        return []
    candidates = _Candidates(inputs)
    found: dict[tuple[Any, ...], tuple[Any, _Gap, _Candidate]] = {}
    for gap in _gaps(inputs):
        for candidate in candidates.of(gap):
            key = (gap.kafka_cluster, gap.group_id, gap.resource_kind, gap.resource, gap.id)
            order = (candidate.rank, latest_first(candidate.since_ms), candidate.incident_id)
            if key not in found or order < found[key][0]:
                found[key] = (order, gap, candidate)
    return [
        {
            "incident_id": candidate.incident_id,
            "kafka_cluster": gap.kafka_cluster,
            "group_id": gap.group_id,
            "resource_kind": gap.resource_kind,
            "resource": gap.resource,
            "id": gap.id,
            "from_ts": gap.from_ms,
            "to_ts": gap.to_ms,
            "unowned_ms": gap.unowned_ms,
            "unowned_hi_ms": gap.unowned_hi_ms,
            "double_work_ms": gap.double_work_ms,
        }
        for _, gap, candidate in found.values()
    ]


def _gaps(inputs: Inputs) -> Iterator[_Gap]:
    yield from _closed_gaps(inputs)
    yield from _open_gaps(inputs)
    yield from _empty_groups(inputs)
    yield from _double_work(inputs)


_UNOWNED = [
    *("kafka_cluster", "group_id", "resource_kind", "resource", "previous_ownership_id", "previous_member_id", "previous_process_id", "generation"),
    *("from_lo", "from_hi", "to_lo", "to_hi", "certain_ms", "possible_ms", "next_ownership_id", "reference_process_id"),
]


def _before(row: Row) -> dict[str, Any]:
    """Return the attributes of a gap that are known of the ownership before it and of the generation after it."""
    return {
        **{column: row[column] for column in ("kafka_cluster", "group_id", "resource_kind", "resource", "generation")},
        "id": row["previous_ownership_id"],
        "member_id": row["previous_member_id"],
        "process_id": row["previous_process_id"],
    }


#: Why a resource lost its owner, if that owner's end is unknown: there may have been no owner until the next one began.
_LOST = ("scheduled_delay", "process_gone", "expired", "left_group")


def _closed_gaps(inputs: Inputs) -> Iterator[_Gap]:
    """Yield the periods in which a resource had no owner, or perhaps none, because the logs do not show when its last owner ended.

    If a member of the group has no log, it may have been the owner.
    """
    hit_ms = inputs.knobs.resource_hit_ms
    is_long = (pc.field("certain_ms") >= hit_ms) | (pc.field("possible_ms") >= hit_ms)
    logless = inputs.rows("member", columns=["kafka_cluster", "group_id", "process_id"], where=pc.field("process_id").is_null())
    unseen = {(row["kafka_cluster"], row["group_id"]) for row in logless}
    for row in inputs.rows("unowned", columns=[*_UNOWNED, "why"], where=is_long):
        is_certain = up_to(hit_ms, row["certain_ms"])
        if is_certain or row["certain_ms"] is not None and row["why"] in _LOST and (row["kafka_cluster"], row["group_id"]) not in unseen:
            yield _Gap(
                **_before(row),
                from_ms=row["from_lo"],
                from_hi_ms=row["from_hi"],
                to_ms=first(row["to_hi"], row["to_lo"]),
                unowned_ms=row["certain_ms"] if is_certain else 0,
                unowned_hi_ms=row["possible_ms"],
            )


def _open_gaps(inputs: Inputs) -> Iterator[_Gap]:
    """Yield the resources that were released for a rebalance that has not ended: no member gets an assignment before all do.

    They have no owner when the logs end.
    """
    rebalances = ByKey(
        (
            row
            for row in inputs.rows("open_rebalance")
            if row["rebalance_mode"] == "eager" and row["lasted_ms"] is not None and (row["coordinator"] is not None or row["awaited"] == [])
        ),
        *("kafka_cluster", "group_id", "reference_process_id"),
    )
    knobs = inputs.knobs
    for row in inputs.rows("unowned", columns=_UNOWNED, where=pc.field("next_ownership_id").is_null()):
        for rebalance in rebalances[row["kafka_cluster"], row["group_id"], row["reference_process_id"]]:
            unowned_ms = minus(rebalance["to_ms"], row["from_hi"])
            if up_to(knobs.resource_hit_ms, unowned_ms) and up_to(minus(rebalance["from_ms"], knobs.outage_untroubled_ms), row["from_lo"]):
                yield _Gap(**_before(row), from_ms=row["from_lo"], from_hi_ms=row["from_hi"], to_ms=None, unowned_ms=unowned_ms)


def _empty_groups(inputs: Inputs) -> Iterator[_Gap]:
    """Yield the periods in which a group had no members, by its coordinator's log: from "is now empty" to its next generation, if there is one.

    Members may have joined a generation that the log of the coordinator lacks. The member that was removed last links it to its cause.
    """
    columns = ["kafka_cluster", "group_id", "process_id", "at_ms", "event_id"]
    emptied = [row for row in inputs.rows("fact_line", columns=columns, where=pc.field("event") == "group_emptied") if row["at_ms"] is not None]
    if not emptied:
        return
    clocks = Clocks(inputs)
    columns = ["kafka_cluster", "group_id", "process_id", "generation", "stabilized_ms"]
    generations = InTime(inputs.rows("broker_generation", columns=columns), "stabilized_ms", "kafka_cluster", "group_id", "process_id")
    joined = InTime(
        inputs.rows("generation", columns=["kafka_cluster", "group_id", "generation", *BEGAN]), "first_joined_ts", "kafka_cluster", "group_id"
    )
    columns = ["kafka_cluster", "group_id", "member_id", "process_id", "removed_lo_ms", "removed_hi_ms"]
    losses = InTime(inputs.rows("lost_membership", columns=columns), "removed_lo_ms", "kafka_cluster", "group_id")
    # A broker may have served another cluster later.
    clusters = ByKey(inputs.rows("process_cluster", columns=["process_id", "instance", "kafka_cluster"]), "process_id", "instance")
    last_ms: dict[tuple[str, str | None], int] = {}
    for life in inputs.rows("process_life", columns=["process_id", "instance", "last_ms"]):
        for served in (it["kafka_cluster"] for it in clusters[life["process_id"], life["instance"]]):
            if life["last_ms"] is not None:
                last_ms[life["process_id"], served] = max(life["last_ms"], last_ms.get((life["process_id"], served), life["last_ms"]))
    for row in emptied:
        group = (row["kafka_cluster"], row["group_id"])
        following = generations.first_from((*group, row["process_id"]), row["at_ms"])
        for from_ms, from_hi_ms in clocks.bounds(row["process_id"], row["at_ms"]):
            # Without a later generation, it is empty up to the coordinator's last line.
            until_ms = following["stabilized_ms"] if following is not None else last_ms.get((row["process_id"], row["kafka_cluster"]))
            empty_ms = minus(until_ms, row["at_ms"])
            if following is None and from_hi_ms is not None and (following := joined.first_from(group, from_hi_ms)) is not None:
                empty_ms = minus(following["first_joined_ts"], from_hi_ms)
            if empty_ms is None or following is not None and empty_ms < inputs.knobs.resource_hit_ms:
                continue
            if empty_ms < inputs.knobs.resource_hit_ms:
                empty_ms = 0  # the log ends with it
            removed = losses.last_until(group, from_hi_ms) or {}
            # Members that leave in order may have finished their work, and no later start of a console consumer joins its group.
            is_lost = up_to(minus(from_ms, inputs.knobs.heartbeat_late_ms), removed.get("removed_hi_ms")) and not _is_of_one_run(row["group_id"])
            if following is None and not is_lost:
                continue
            yield _Gap(
                kafka_cluster=row["kafka_cluster"],
                group_id=row["group_id"],
                resource_kind="group",
                resource=row["group_id"],
                id=row["event_id"],
                member_id=removed.get("member_id"),
                process_id=removed.get("process_id"),
                generation=following["generation"] if following is not None else None,
                from_ms=from_ms,
                from_hi_ms=from_hi_ms,
                to_ms=plus(from_hi_ms, empty_ms) if following is not None else None,
                unowned_ms=empty_ms,
                unowned_hi_ms=empty_ms if following is not None else None,
            )


def _double_work(inputs: Inputs) -> Iterator[_Gap]:
    is_work = (pc.field("verdict") == "proved") & (pc.field("kind") == "work")
    pairs = inputs.rows("split_brain", columns=_PAIR, where=is_work)
    owners = ByKey(inputs.rows("ownership", columns=["ownership_id", "member_id", "generation"]) if pairs else (), "ownership_id")
    for pair in pairs:
        for a in owners[pair["ownership_a"]]:
            for b in owners[pair["ownership_b"]]:
                yield _Gap(
                    **{column: pair[column] for column in ("kafka_cluster", "group_id", "resource_kind", "resource")},
                    id=f"{pair['ownership_a']}/{pair['ownership_b']}",
                    member_id=a["member_id"],
                    process_id=pair["process_a"],
                    generation=b["generation"],
                    from_ms=pair["from_lo"],
                    from_hi_ms=pair["from_hi"],
                    to_ms=pair["to_hi"],
                    double_work_ms=pair["work_certain_ms"],
                )


_PAIR = [
    *("kafka_cluster", "group_id", "resource_kind", "resource", "ownership_a", "ownership_b", "process_a"),
    *("from_lo", "from_hi", "to_hi", "work_certain_ms"),
]


class _Candidates:
    """The incidents that may have caused a gap."""

    def __init__(self, inputs: Inputs) -> None:
        self._knobs = inputs.knobs
        reach = incident_reach(inputs)
        self._lost = ByKey((row for row in reach if row["role"] == "lost"), "kafka_cluster", "group_id", "member_id")
        self._rebalanced = ByKey(reach, "kafka_cluster", "group_id", "generation")
        self._began = _beginnings(inputs)
        self._awaited = _awaited_processes(inputs)
        self._parts: defaultdict[str, list[Part]] = defaultdict(list)
        for part in parts(inputs.rows("root_cause")):
            if part.cause in _OF_PROCESS and part.process_id is not None and part.from_lo_ms is not None:
                self._parts[part.process_id].append(part)
        self._of_brokers = [
            cause
            for cause in inputs.rows("root_cause")
            if cause["cause"] in ("broker_down", "coordinator_moved")
            or cause["cause"] == "unknown"
            and "broker_down" in (cause["alternatives"] or ())
        ]

    def of(self, gap: _Gap) -> Iterator[_Candidate]:
        """Yield the incidents that may have caused a gap."""
        yield from self._of_member(gap)
        yield from self._of_process(gap)
        for reach in self._rebalanced[gap.kafka_cluster, gap.group_id, first(gap.generation, self._generation_at(gap))]:
            # The generation that ends the time without members is no effect of what emptied the group.
            if gap.resource_kind != "group" or None in (reach["from_ms"], gap.from_hi_ms) or up_to(reach["from_ms"], gap.from_hi_ms):
                yield _Candidate(reach["incident_id"], 3, reach["from_ms"])
        yield from self._of_awaited_process(gap)
        yield from self._of_broker(gap)

    def _generation_at(self, gap: _Gap) -> int | None:
        """Return the generation whose rebalance a gap is part of, if the group's members print no generations: the last that began shortly before it."""
        began = self._began.get((gap.kafka_cluster, gap.group_id), [])
        at = bisect_right(began, (first(gap.from_hi_ms, gap.from_ms, 0), _LATER)) - 1
        is_recent = at >= 0 and self._is_soon(gap, began[at][0])
        return began[at][1] if is_recent else None

    def _of_member(self, gap: _Gap) -> Iterator[_Candidate]:
        for lost in self._lost[gap.kafka_cluster, gap.group_id, gap.member_id]:
            is_after = None in (gap.from_hi_ms, lost["from_ms"]) or up_to(lost["from_ms"], gap.from_hi_ms)
            if is_after and self._is_soon(gap, lost["to_ms"]):
                yield _Candidate(lost["incident_id"], 1, lost["from_ms"])

    def _is_after(self, gap: _Gap, since_ms: int | None, early_ms: int) -> bool:
        """Return True if a gap began after its cause, as far as their bounds show: an effect does not begin before.

        Args:
            gap: the gap.
            since_ms: beginning of the cause.
            early_ms: an uncertain gap may begin this much earlier at the earliest.
        """
        return up_to(since_ms, first(gap.from_hi_ms, gap.from_ms)) and up_to(minus(since_ms, early_ms), gap.from_ms)

    def _is_soon(self, gap: _Gap, end_ms: int | None) -> bool:
        """Return True if a gap began before its cause was over, or soon afterwards."""
        return end_ms is None or up_to(gap.from_ms, end_ms + self._knobs.outage_untroubled_ms)

    def _of_process(self, gap: _Gap) -> Iterator[_Candidate]:
        for part in self._parts.get(gap.process_id, ()) if gap.process_id is not None else ():
            if self._is_after(gap, part.from_lo_ms, self._knobs.heartbeat_late_ms) and self._is_soon(gap, part.to_hi_ms):
                yield _Candidate(part.incident_id, 2, part.from_lo_ms)

    def _of_awaited_process(self, gap: _Gap) -> Iterator[_Candidate]:
        """Yield incidents of a process for which a rebalance waited.

        Resources that the other members released have no owner while the rebalance waits for the member that the cause delayed.
        """
        for process_id in self._awaited.get((gap.kafka_cluster, gap.group_id, gap.generation), ()):
            for part in self._parts.get(process_id, ()):
                is_after = self._is_after(gap, part.from_lo_ms, self._knobs.heartbeat_late_ms)
                if is_after and (part.to_hi_ms is None or up_to(gap.from_ms, part.to_hi_ms)):
                    yield _Candidate(part.incident_id, 3, part.from_lo_ms)

    def _of_broker(self, gap: _Gap) -> Iterator[_Candidate]:
        for cause in self._of_brokers:
            if (
                cause["kafka_cluster"] == gap.kafka_cluster
                and gap.group_id in (cause["group_ids"] or ())
                and self._is_after(gap, cause["from_lo_ms"], self._knobs.broker_noticed_ms)
                and self._is_soon(gap, cause["to_hi_ms"])
            ):
                yield _Candidate(cause["incident_id"], 4, cause["from_lo_ms"])


#: Greater than every generation.
_LATER = 2**63


def _beginnings(inputs: Inputs) -> dict[tuple[Any, ...], list[tuple[int, int]]]:
    """Return when the rebalance of each generation began, with the generation, by group in this order."""
    found: defaultdict[tuple[Any, ...], list[tuple[int, int]]] = defaultdict(list)
    for row in inputs.rows("generation", columns=["kafka_cluster", "group_id", "generation", *BEGAN]):
        at_ms = first(*(row[column] for column in BEGAN))
        if at_ms is not None and row["generation"] is not None:
            found[row["kafka_cluster"], row["group_id"]].append((at_ms, row["generation"]))
    return {group: sorted(began) for group, began in found.items()}


def _awaited_processes(inputs: Inputs) -> dict[tuple[Any, ...], list[str]]:
    """Return the processes for whose member the rebalance of a generation waited, if it took long."""
    columns = ["kafka_cluster", "group_id", "generation", "join_ms", "duration_ms", "waited_for_member_id"]
    generations = inputs.rows("generation", columns=columns, where=pc.field("waited_for_member_id").is_valid())
    members = ByKey(inputs.rows("member", columns=["kafka_cluster", "group_id", "member_id", "process_id"]), "kafka_cluster", "group_id", "member_id")
    found: defaultdict[tuple[Any, ...], list[str]] = defaultdict(list)
    for row in generations:
        key = (row["kafka_cluster"], row["group_id"], row["generation"])
        if None not in key and up_to(inputs.knobs.resource_hit_ms, first(row["join_ms"], row["duration_ms"])):
            for member in members[row["kafka_cluster"], row["group_id"], row["waited_for_member_id"]]:
                if member["process_id"] is not None:
                    found[key].append(member["process_id"])
    return found
