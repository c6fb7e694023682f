"""Compute the view `lost_membership`: the memberships that clients lost against their will, and how."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.memberships.kinds import Kinds
from forensics.memberships.losses import Loss, losses
from forensics.memberships.seats import lost_seats
from forensics.memberships.surroundings import Namesakes, Surroundings, namesakes, surroundings
from forensics.relations.missing import first

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs, Row


def rows(inputs: Inputs) -> list[Row]:
    """Return the rows of the view `lost_membership`."""
    removed = inputs.rows("removed_member")
    found = list(losses(inputs, removed, lost_seats(inputs, removed)))
    if not found:
        return []
    around, candidates = surroundings(inputs, found), namesakes(inputs, found)
    kinds = Kinds(inputs, found, around, candidates)
    return [_row(loss, kinds.of(loss), around[loss.loss_id], candidates.get(loss.loss_id)) for loss in found]


def _row(loss: Loss, kind: str, around: Surroundings, candidates: Namesakes | None) -> Row:
    removal, seat = loss.removal or {}, loss.seat
    return {
        "kafka_cluster": loss.kafka_cluster,
        "group_id": loss.group_id,
        "loss_id": loss.loss_id,
        "member_id": loss.member_id,
        "process_id": loss.process_id,
        "instance": loss.instance,
        "client": first(loss.client, candidates.client_id if candidates is not None else None),
        "is_worker": seat.is_worker if seat is not None else None,
        "how": loss.how,
        "protocol": loss.protocol,
        "removed_id": loss.removed_id,
        "removed_lo_ms": loss.removed_lo_ms,
        "removed_hi_ms": loss.removed_hi_ms,
        "heard_ms": removal.get("heard_ms"),
        "reference_process_id": loss.reference_process_id,
        "session_ms": loss.session_ms,
        "own_lo_ms": loss.own_lo_ms,
        "own_hi_ms": loss.own_hi_ms,
        "broker": loss.broker,
        "worker_group_id": removal.get("worker_group_id"),
        "worker_member_id": removal.get("worker_member_id"),
        "kind": kind,
        "answered_ms": seat.answered_ms if seat is not None else None,
        "before_ms": first(around.before_ms, around.sent_ms),
        "after_ms": first(around.after_ms, loss.refused_ms),
        "noticed_ms": loss.noticed_ms,
        "noticed_id": loss.noticed.event_id if loss.noticed is not None else None,
        "noticed": loss.noticed.event if loss.noticed is not None else None,
        "last_lost_ms": seat.last_lost_ms if seat is not None else None,
        "found_ms": seat.found_ms if seat is not None else None,
        "first_found_ms": seat.first_found_ms if seat is not None else None,
        "refused_id": seat.refused.event_id if seat is not None and seat.refused is not None else None,
        "again_ms": around.again_ms,
        "returned_ms": around.returned_ms,
        "back_ms": seat.back_ms if seat is not None else None,
        "back_id": seat.back_id if seat is not None else None,
        "candidates": candidates.processes if candidates is not None else None,
    }
