"""Add up what rebalances cost a group in a time."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from forensics.memberships.rounds import KEY
from forensics.relations.missing import greatest, minus, plus, there

if TYPE_CHECKING:
    from forensics.memberships.rounds import Group, GroupRounds, Key, Round
    from forensics.relations.inputs import Inputs, Row


@dataclass(frozen=True)
class _Costs:
    """What a generation cost its members.

    Attributes:
        is_known: False if the pause of a member is unknown.
        paused_ms: the longest known pause; None: none is known.
        revoked: how much was revoked; None: unknown.
    """

    is_known: bool
    paused_ms: int | None
    revoked: int | None


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
        self._members = _costs(inputs)

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
        members = [self._members[key] for key in ((group, *nth) for _, *nth, _ in its) if key in self._members]
        revoked = there(cost.revoked for cost in members)
        is_known = all(cost.is_known for cost in members)
        return {
            "generations": len(its) or None,
            "trigger": min(triggers, key=lambda trigger: (-triggers[trigger], trigger), default=None),
            "rounds_ms": sum(durations) if durations else None,
            "longest_ms": max(durations, default=None),
            "paused_ms": greatest(*(cost.paused_ms for cost in members)) if is_known else None,
            "revoked": sum(revoked) if revoked else None,
            "is_connect": max(protocols, default=None) == "connect",
        }


def _costs(inputs: Inputs) -> dict[Key, _Costs]:
    """Return what each generation cost its members."""
    rows = inputs.table("member_generation", [*KEY, "is_pause_known", "paused_ms", "revoked"])
    its = rows.select([*KEY, "paused_ms"])
    its = its.append_column("unknown", pc.cast(pc.equal(rows["is_pause_known"], False), pa.int64()))
    its = its.append_column("revoked", pc.cast(pc.list_value_length(rows["revoked"]), pa.int64()))
    its = its.group_by(KEY).aggregate([("unknown", "max"), ("paused_ms", "max"), ("revoked", "sum")])
    columns = (its.column(name).to_pylist() for name in (*KEY, "unknown_max", "paused_ms_max", "revoked_sum"))
    return {
        ((kafka_cluster, group_id), incarnation, generation): _Costs(is_known=not unknown, paused_ms=paused_ms, revoked=revoked)
        for kafka_cluster, group_id, incarnation, generation, unknown, paused_ms, revoked in zip(*columns, strict=True)
    }
