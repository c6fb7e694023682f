"""Divide the time of rebalances into parts: noticing a lost member, waiting for members, the assignment, and the scheduled delay."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from forensics.relations.by_key import ByKey
from forensics.relations.missing import first, minus, there, up_to

if TYPE_CHECKING:
    from forensics.generations.rebalances import Rebalance
    from forensics.relations.inputs import Inputs, Row

_NO_POLL = "poll timeout"


@dataclass(frozen=True, kw_only=True)
class Part:
    """A part of a rebalance.

    Attributes:
        of: the rebalance.
        part: detection, waiting, sync or scheduled_delay.
        from_ms, to_ms: its begin and end; None: unknown.
        member_id: the member that took the time; None: unknown.
        setting: the setting that decided it; None: none.
        inferred: True if no line gives the reason; None: unknown.
        late_ms: how late the last member asked to join, or the scheduled delay; None: unknown.
        witness: events that show it.
    """

    of: Rebalance
    part: str
    from_ms: int | None = None
    to_ms: int | None = None
    member_id: str | None = None
    setting: str | None = None
    inferred: bool | None = False
    late_ms: int | None = None
    witness: list[str]


def parts(inputs: Inputs, rebalance: Rebalance, members: ByKey) -> Iterator[Part]:
    """Yield the parts of a rebalance.

    Args:
        inputs: the thresholds.
        rebalance: the rebalance.
        members: rows of `member` by cluster, group and member id.
    """
    row, broker = rebalance.row, rebalance.broker
    late_ms: int = inputs.knobs.heartbeat_late_ms
    if row["trigger"] == "member_expired":
        yield _silence(rebalance)
    if row["trigger"] == "member_left":
        yield from _missed_polls(rebalance, members)
    if None not in (row["prepared_ts"], row["stabilized_ts"]):
        yield _waiting(rebalance, late_ms)
    else:
        yield from _waiting_of_members(rebalance, late_ms)
    if None not in (row["stabilized_ts"], row["assigned_ts"]):
        shown = there([broker["stabilized_id"], broker["assigned_id"]])
        times = {"from_ms": row["stabilized_ts"], "to_ms": row["assigned_ts"]}
        yield Part(of=rebalance, part="sync", member_id=row["leader_member_id"], witness=shown, **times)
    if rebalance.delay_ms > 0 and not rebalance.last_delay_ms:
        yield _delay(rebalance)


def _silence(rebalance: Rebalance) -> Part:
    """Return the time until the coordinator noticed that a member was silent."""
    row, broker = rebalance.row, rebalance.broker
    protocol = first(row["group_protocol"], "classic")
    # Another may have been removed while they waited.
    is_same = None in (broker["expired_member"], row["trigger_member_id"]) or broker["expired_member"] == row["trigger_member_id"]
    return Part(
        of=rebalance,
        part="detection",
        to_ms=row["prepared_ts"],
        member_id=first(row["trigger_member_id"], broker["expired_member"]),
        setting="session.timeout.ms" if protocol == "classic" else f"group.{protocol}.session.timeout.ms",
        inferred=row["trigger_inferred"],
        witness=there([broker["expired_id"] if is_same else None, broker["prepared_id"]]),
    )


def _missed_polls(rebalance: Rebalance, members: ByKey) -> Iterator[Part]:
    """Yield the time until a member noticed that it had not polled."""
    row, reason = rebalance.row, rebalance.row["reason"]
    is_printed = _NO_POLL in reason if reason is not None else None
    for member in members[row["kafka_cluster"], row["group_id"], row["trigger_member_id"]]:
        if member["left_client"] == "poll_timeout" or is_printed:
            yield Part(
                of=rebalance,
                part="detection",
                to_ms=row["prepared_ts"],
                member_id=row["trigger_member_id"],
                setting=rebalance.poll_setting,
                inferred=None if is_printed is None else not is_printed,
                witness=there([rebalance.broker["prepared_id"]]),
            )


def _waiting(rebalance: Rebalance, most_ms: int) -> Part:
    """Return the join phase by the coordinator's log.

    It ends when the last member has asked: if it does not, it waits for a member without log lines, or one that has gone.
    """
    row, broker, last, in_vain = rebalance.row, rebalance.broker, rebalance.last, rebalance.has_waited_in_vain
    from_empty = broker["from_empty"]
    after_last_ms = minus(minus(row["stabilized_ts"], row["prepared_ts"]), rebalance.late_ms)
    member_id = setting = None
    if from_empty:
        setting = "group.initial.rebalance.delay.ms"
    elif not rebalance.is_silent and in_vain:
        member_id = broker["expired_member"]
        setting = "session.timeout.ms" if broker["expired_how"] in ("session_timeout", "pending_timeout") else rebalance.poll_setting
    elif not rebalance.is_silent:
        member_id = last["member_id"] if after_last_ms is None or after_last_ms <= most_ms else None
        setting = "heartbeat.interval.ms" if up_to(after_last_ms, most_ms) else None
    of_wait = broker["expired_id"] if in_vain else last["event_id"] if from_empty is False else None
    return Part(
        of=rebalance,
        part="waiting",
        from_ms=row["prepared_ts"],
        to_ms=row["stabilized_ts"],
        member_id=member_id,
        setting=setting,
        inferred=False if in_vain or from_empty else None if from_empty is None else True,
        late_ms=rebalance.late_ms,
        witness=there([broker["prepared_id"], of_wait, broker["stabilized_id"]]),
    )


def _waiting_of_members(rebalance: Rebalance, most_ms: int) -> Iterator[Part]:
    """Yield the join phase without the coordinator's log: from the first request to join to the first answer."""
    side, last = rebalance.side, rebalance.last
    if side is None or not rebalance.is_comparable or side["is_set_back"] is not False:
        return
    first_ms, joined_ms = _value(side["first_request"], "at_ms"), _value(side["first_answer"], "at_ms")
    last_ms = _value(side["last_request"], "at_ms")
    if up_to(first_ms, joined_ms):
        yield Part(
            of=rebalance,
            part="waiting",
            from_ms=first_ms,
            to_ms=joined_ms,
            member_id=last["member_id"] if up_to(minus(joined_ms, last_ms), most_ms) else None,
            inferred=True,
            late_ms=minus(last_ms, first_ms),
            witness=there([_value(side["first_request"], "event_id"), last["event_id"], _value(side["first_answer"], "event_id")]),
        )


def _value(line: Row | None, name: str) -> Any:  # noqa: ANN401 (of the type of the value)
    return line[name] if line is not None else None


def _delay(rebalance: Rebalance) -> Part:
    """Return the periods in which a Connect group held tasks for the missing worker's return."""
    row, then = rebalance.row, rebalance.undelayed
    is_comparable = then is not None and then.settled_by is not None and then.settled_by == rebalance.settled_by
    return Part(
        of=rebalance,
        part="scheduled_delay",
        from_ms=rebalance.settled_ms,
        to_ms=then.settled_ms if then is not None and is_comparable else None,
        member_id=row["trigger_member_id"] if row["trigger"] in ("member_expired", "member_left") else None,
        setting="scheduled.rebalance.max.delay.ms",
        late_ms=rebalance.delay_ms,
        witness=there([rebalance.of_members("delay", "worker_assigned_id")]),
    )
