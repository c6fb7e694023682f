"""Compute the view `unowned`: the periods in which a task, connector or partition that had had an owner had none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow.compute as pc

from forensics.ownership.delays import Delay, Delays
from forensics.ownership.gaps import Gap, gaps
from forensics.ownership.possible_owners import PossibleOwners
from forensics.relations.missing import minus, there

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs, Row


def rows(inputs: Inputs) -> list[Row]:
    """Return the rows of the view `unowned`."""
    found = list(gaps(inputs))
    if not found:
        return []
    # Another possible owner matters only if the last owner had certainly ended before the next one began.
    owners, delays = PossibleOwners(inputs, [gap for gap in found if gap.is_certain]), Delays(inputs)
    expired = inputs.distinct("member", ["kafka_cluster", "group_id", "member_id"], pc.field("left_broker") == "expired")
    return [_row(gap, gap.is_certain and owners.exist(gap), delays.first_in(gap), expired) for gap in found]


def _row(gap: Gap, may_be_owned: bool, delay: Delay | None, expired: set[tuple[str | None, ...]]) -> Row:
    previous, following = gap.previous, gap.next or {}
    certain_ms = 0 if may_be_owned else max(0, minus(gap.to_lo_ms, previous["stop_hi"]) or 0)
    lines = [*(previous["witness"] or ())[-1:], *(following.get("witness") or ())[:1], delay.event_id if delay is not None else None]
    return {
        **{name: previous[name] for name in ("kafka_cluster", "group_id", "resource_kind", "resource")},
        "from_lo": gap.from_ms,
        "from_hi": previous["stop_hi"],
        "to_lo": gap.to_lo_ms,
        "to_hi": gap.to_hi_ms,
        "certain_ms": certain_ms if gap.to_lo_ms is not None else None,
        "possible_ms": minus(gap.to_hi_ms, gap.from_ms),
        "why": _why(gap, delay, (*gap.group, previous["member_id"]) in expired),
        "delay_ms": delay.ms if delay is not None else None,
        "previous_ownership_id": previous["ownership_id"],
        "previous_process_id": previous["process_id"],
        "previous_member_id": previous["member_id"],
        "next_ownership_id": following.get("ownership_id"),
        "next_process_id": following.get("process_id"),
        "next_member_id": following.get("member_id"),
        "generation": following.get("generation"),
        "reference_process_id": gap.reference_process_id,
        "witness": list(dict.fromkeys(there(lines))),
        "may_be_owned": may_be_owned,
    }


def _why(gap: Gap, delay: Delay | None, is_expired: bool) -> str:
    """Return why the resource had no owner."""
    phase, stop_how = gap.previous["phase_end"], gap.previous["stop_how"]
    if phase == "failed":
        return "failure"
    if delay is not None and not gap.is_partition:
        return "scheduled_delay"
    if phase == "gone":
        return "process_gone"
    if is_expired and stop_how in (None, "lost"):
        return "expired"
    if stop_how == "lost" or stop_how in ("client_closed", "worker_stopped") and gap.is_partition:
        return "left_group"
    if gap.is_restart and not gap.is_partition:
        return "restart"
    return "rebalance" if gap.next is not None else "unknown"
