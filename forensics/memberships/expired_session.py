"""Compute the view `expired_session`: sessions that expired, by a coordinator's log or, without one, by the member's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.memberships.expired_by_members import seen_by_members
from forensics.memberships.expiries import expired, expiries

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs, Row

_COLUMNS = [
    "how",
    "kafka_cluster",
    "group_id",
    "member_id",
    "at_ms",
    "event_id",
    "process_id",
    "instance",
    "client",
    "task",
    "group_instance_id",
    "left_client",
    "broker",
    "broker_protocol",
    "session_ms",
    "last_event",
    "last_ms",
    "last_id",
    "again_ms",
    "again_id",
    "ran_on",
    "ending_ms",
    "ending_id",
    "closing_ms",
    "closing_id",
    "lost_ms",
    "lost_id",
    "paused_ms",
    "paused_id",
    "shared_log",
    "namesake",
    "namesake_processes",
]


def rows(inputs: Inputs) -> list[Row]:
    """Return the rows of the view `expired_session`."""
    logged = list(expiries(inputs))
    found = [*(expired(inputs, logged) if logged else ()), *seen_by_members(inputs, logged)]
    return [dict.fromkeys(_COLUMNS) | row for row in found]
