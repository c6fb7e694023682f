"""Compute the view `unreached`: failures to reach a broker, or to have a coordinator, that no outage of a member shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.coordinators.failed_starts import failed_starts
from forensics.coordinators.unanswered_groups import unanswered_groups
from forensics.coordinators.unreachable_brokers import unreachable_brokers

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs, Row

_COLUMNS = ["how", "kafka_cluster", "group_id", "subject", "processes", "from_ms", "to_ms", "broker_id", "address", "missed_by", "failures", "error"]
_COLUMNS += ["bootstrap", "security", "starts", "event_ids", "given_up_ids"]


def rows(inputs: Inputs) -> list[Row]:
    """Return the rows of the view `unreached`."""
    found = (*failed_starts(inputs), *unreachable_brokers(inputs), *unanswered_groups(inputs))
    return [dict.fromkeys(_COLUMNS) | row for row in found]
