"""Add up what rebalances cost a group in a time."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from forensics.relations.missing import greatest, minus, plus, there

if TYPE_CHECKING:
    from forensics.memberships.rounds import Group, GroupRounds, Round
    from forensics.relations.inputs import Inputs, Row


class StormCosts:
    """The durations and the pauses of generations.

    Args:
        inputs: rows of `member_generation`.
        rounds: the generations of all groups.
    """

    def __init__(self, inputs: Inputs, rounds: GroupRounds) -> None:
        self._edge_ms = inputs.knobs.storm_edge_ms
        self._rounds: defaultdict[Group, list[tuple[int, int, int, Round]]] = defaultdict(list)
        for (group, incarnation, generation), one in rounds.of.items():
            if one.at_ms is not None:
                self._rounds[group].append((one.at_ms, incarnation, generation, one))
        for its in self._rounds.values():
            its.sort(key=lambda one: one[:3])
        self._members: defaultdict[tuple[Group, int, int], list[Row]] = defaultdict(list)
        columns = ["kafka_cluster", "group_id", "incarnation", "generation", "is_pause_known", "paused_ms", "revoked"]
        for row in inputs.rows("member_generation", columns):
            self._members[(row["kafka_cluster"], row["group_id"]), row["incarnation"], row["generation"]].append(row)

    def of(self, group: Group, from_ms: int | None, to_ms: int | None) -> Row:
        """Return the costs of a storm."""
        its = self._rounds.get(group, [])
        first_ms, last_ms = minus(from_ms, self._edge_ms), plus(to_ms, self._edge_ms)
        if first_ms is None or last_ms is None:
            its = []
        else:
            its = its[bisect_left(its, first_ms, key=lambda one: one[0]) : bisect_right(its, last_ms, key=lambda one: one[0])]
        durations = there(one.row["duration_ms"] for *_, one in its)
        triggers = Counter(there(one.row["trigger"] for *_, one in its))
        protocols = there(one.row["protocol_type"] for *_, one in its)
        members = [row for _, incarnation, generation, _ in its for row in self._members.get((group, incarnation, generation), ())]
        revoked = [len(row["revoked"]) for row in members if row["revoked"] is not None]
        is_known = all(row["is_pause_known"] is not False for row in members)
        return {
            "generations": len(its) or None,
            "trigger": min(triggers, key=lambda trigger: (-triggers[trigger], trigger), default=None),
            "rounds_ms": sum(durations) if durations else None,
            "longest_ms": max(durations, default=None),
            "paused_ms": greatest(*(row["paused_ms"] for row in members)) if is_known else None,
            "revoked": sum(revoked) if revoked else None,
            "is_connect": max(protocols, default=None) == "connect",
        }
