"""Read the generations of groups, each with one time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from forensics.relations.missing import first

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs, Row

#: Kafka cluster and group.
Group = tuple[str, str]
#: Group, incarnation and number of a generation, and the columns that have them.
Key = tuple[Group, int, int]
KEY = ["kafka_cluster", "group_id", "incarnation", "generation"]

_TOLD_BY_REASON = ("leader_rejoined", "member_rejoined", "member_metadata_changed", "other")


@dataclass(frozen=True)
class Round:
    """A generation of a group.

    Attributes:
        row: its row of `generation`.
        at_ms: when its members had joined; None: unknown.
        event_id: an event that shows it.
        member_count: the number of its members; None: the logs do not show it.
    """

    row: Row
    at_ms: int | None
    event_id: str | None
    member_count: int | None

    @property
    def trigger(self) -> str | None:
        """Return why the group rebalanced."""
        trigger: str | None = self.row["trigger"]
        return trigger

    @property
    def trigger_member_id(self) -> str | None:
        """Return the member that triggered it."""
        member_id: str | None = self.row["trigger_member_id"]
        return member_id


class GroupRounds:
    """The generations of all groups, by group, incarnation and number.

    Args:
        inputs: rows of `generation`.
    """

    def __init__(self, inputs: Inputs) -> None:
        self.of: dict[Key, Round] = {
            ((row["kafka_cluster"], row["group_id"]), row["incarnation"], row["generation"]): _round(row) for row in inputs.rows("generation")
        }


def _round(row: Row) -> Round:
    at_ms = first(*(row[f"{name}_ts"] for name in ("stabilized", "first_joined", "last_synced", "prepared")))
    # Older coordinators print no member count, only the reason of the rebalance.
    is_told = row["is_count_told"] or (row["trigger_inferred"] is False and row["trigger"] in _TOLD_BY_REASON)
    return Round(row, at_ms, row["witness"][0] if row["witness"] else None, row["member_count"] if is_told else None)
