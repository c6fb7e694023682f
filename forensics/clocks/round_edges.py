"""Find pairs of lines of members and their coordinators, or of two members, in one generation of a classic group."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from forensics.clocks.edges import Edge, Line, edge
from forensics.relations.by_key import ByKey
from forensics.relations.ordered import one_by_one

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs, Row

_GENERATION = ("kafka_cluster", "group_id", "incarnation", "generation")
_KINDS = ("is_leader", "is_entry", "is_fresh", "is_static", "joining_count", "asks_with_id")
_OWN = ("joining_first", "joining_second", "joining_last", "rejoin", "joined", "computed", "synced")
_BROKERS = ("broker", "prepared", "prepared_member", "prepared_reason", "stabilized", "assigned", "made")
_REMOVAL = re.compile("(?i)remov|expir|leave")
_ADDITION = re.compile("(?i)^adding new member")
_ID_IS_MADE = "the member asked, then the broker made its id"
_ONE_ASKED = "one member asked to join, then another joined"


def round_edges(inputs: Inputs) -> list[Edge]:
    """Return the pairs of lines of generations.

    Args:
        inputs: rows of `member_round`.
    """
    rounds = inputs.table("member_round", [*_GENERATION, "process_id", "member_id", *_KINDS, *_OWN, *_BROKERS])
    found = [pair for row in one_by_one(rounds) for pair in _with_coordinator(row)]
    stepped = _stepped(found, inputs.knobs.clock_jitter_ms)
    # Without a coordinator's log, or with one whose clock is wrong, members are compared through the leader: the pairs of a generation grow with its
    # members and not with their square.
    leaders = [row for row in one_by_one(rounds) if row["is_leader"] and (_time(row["stabilized"]) is None or row["broker"] in stepped)]
    return found + (list(_with_leaders(ByKey(leaders, *_GENERATION), one_by_one(rounds))) if leaders else [])


def _with_coordinator(row: Row) -> Iterator[Edge]:
    """Yield the pairs of a member and its coordinator in one generation."""
    own, broker, is_fresh = row["process_id"], row["broker"], row["is_fresh"]
    yield from edge("the join phase ended, then the member joined", broker, row["stabilized"], own, row["joined"])
    yield from edge("the assignment arrived, then the member synced", broker, row["assigned"], own, row["synced"])
    yield from edge("the rebalance began, then the member learnt of it", broker, row["prepared"], own, row["rejoin"])
    if is_fresh:
        yield from edge("asked to join, then the join phase ended", own, row["joining_last"], broker, row["stabilized"])
    # Only from 2.6.1 on is a line printed between the leader's join and its assignment. A leader that prints the assignment of a generation sends
    # it: no member had synced before. A leader that asks again once its assignment has arrived gets a later generation, unless it is static.
    if row["is_leader"] and (is_fresh or row["is_static"] is False or _is_made(row)):
        yield from edge("the leader made the assignment, then it arrived", own, row["computed"], broker, row["assigned"])
    reason, is_named = row["prepared_reason"] or "", row["member_id"] is not None and row["member_id"] == row["prepared_member"]
    if is_named and row["prepared_reason"] is not None and not _REMOVAL.search(reason):
        rule = "a member asked to join, then the rebalance that names it began"
        yield from edge(rule, own, row["joining_first"], broker, row["prepared"])
    if row["is_entry"] and row["made"] is not None:
        yield from _of_entry(row, row["made"], is_added=is_named and _ADDITION.search(reason) is not None)


def _of_entry(row: Row, made: Row, *, is_added: bool) -> Iterator[Edge]:
    """Yield the pairs of a member and the coordinator that made its id."""
    own, must_rejoin, asks_twice = row["process_id"], made["must_rejoin"], (row["joining_count"] or 0) >= 2
    # A new member asks twice: only the second request has the id that the broker gave, which the reason names.
    if is_added and asks_twice and must_rejoin:
        rule = "a new member asked with its id, then the rebalance that names it began"
        yield from edge(rule, own, row["joining_second"], row["broker"], row["prepared"])
    # If a member that has to ask twice has a single request, it may be the second.
    if asks_twice or must_rejoin is False:
        yield from edge(_ID_IS_MADE, own, row["joining_first"], made["process_id"], made)
    if asks_twice and row["asks_with_id"] and must_rejoin:
        yield from edge("the broker assigned an id, then the member asked with it", made["process_id"], made, own, row["joining_last"])


def _is_made(row: Row) -> bool:
    """Return True if a leader printed the assignment on a line of its own."""
    computed, joined = (row[name]["event_id"] if row[name] is not None else None for name in ("computed", "joined"))
    return computed is not None and joined is not None and computed != joined


def _time(line: Any) -> int | None:  # noqa: ANN401 (a line that may be missing)
    return None if line is None else line["at_ms"]


def _stepped(pairs: Iterable[Edge], jitter_ms: int) -> set[str]:
    """Return the processes without a constant offset to most of the processes with which they exchange messages: their clocks stepped."""
    bounds: dict[tuple[str, str], int] = {}
    for pair in pairs:
        processes, hi_ms = (pair.from_process_id, pair.to_process_id), pair.to_ms - pair.from_ms
        bounds[processes] = min(hi_ms, bounds.get(processes, hi_ms))
    partners, contradictions = Counter[str](), Counter[str]()
    for (process_id, other), hi_ms in bounds.items():
        if (back_ms := bounds.get((other, process_id))) is not None:
            partners[process_id] += 1
            contradictions[process_id] += hi_ms + back_ms < -jitter_ms
    return {process_id for process_id, number in partners.items() if 2 * contradictions[process_id] > number}


def _with_leaders(leaders: ByKey, rounds: Iterable[Row]) -> Iterator[Edge]:
    """Yield the pairs of leaders and the other members of their generations: no member joins before all have asked."""
    for other in rounds:
        for leader in leaders[tuple(other[name] for name in _GENERATION)]:
            own, its = leader["process_id"], other["process_id"]
            if own == its:
                continue
            if leader["is_fresh"]:
                yield from edge(_ONE_ASKED, own, leader["joining_last"], its, other["joined"])
            if other["is_fresh"]:
                yield from edge(_ONE_ASKED, its, other["joining_last"], own, leader["joined"])
            if leader["is_fresh"] or _is_made(leader):
                yield from edge("the leader joined, then the other synced", own, leader["computed"], its, other["synced"])


def replaced_edges(inputs: Inputs, replacements: Iterable[tuple[str, str, Line]]) -> Iterator[Edge]:
    """Yield the pairs of static members that came back with a new id, in the first generation of that id.

    Args:
        inputs: rows of `member_round`.
        replacements: the broker, the new member id, and the line that made it.
    """
    made: defaultdict[str, list[tuple[str, Line]]] = defaultdict(list)
    for broker, member_id, line in replacements:
        made[member_id].append((broker, line))
    if not made:
        return
    rounds: defaultdict[tuple[str, str, str], list[Row]] = defaultdict(list)
    for row in one_by_one(inputs.table("member_round", ["process_id", "client", "member_id", "round", "joining_first", "joined"])):
        if row["member_id"] in made:
            rounds[row["process_id"], row["client"], row["member_id"]].append(row)
    for (own, _, member_id), its in rounds.items():
        first = min(row["round"] for row in its)
        for row in its:
            if row["round"] == first:
                for broker, line in made[member_id]:
                    yield from edge(_ID_IS_MADE, own, row["joining_first"], broker, line)
                    yield from edge("the broker assigned an id, then the member received it", broker, line, own, row["joined"])
