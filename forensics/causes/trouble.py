"""The form of one trouble that may be, or be part of, a root cause."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from forensics.causes.witnesses import Machine

#: What a witness shows fits only if the log is in the time zone that is assumed for it, so it decides nothing.
UNSURE = "zone_unsure"
#: What a thread did, which proves no cause.
THREAD = "thread"
#: What a task printed, which proves no cause either.
PRINTED = "printed"


@dataclass(frozen=True, kw_only=True)
class Trouble:
    """One time in which something went wrong, at one place.

    Attributes:
        cause: its cause, in the vocabulary of the view `incident`.
        alternatives: causes that the lines do not distinguish.
        kafka_cluster: Kafka cluster id.
        group_ids: groups that it affected.
        subject: process, broker, group, connector or group.instance.id where it began; None: unknown.
        of_group_id: group of the members that were lost, if their process is unknown.
        process_id: process where it began.
        instance: run of this process.
        member_ids: members that were lost.
        from_lo_ms: it began at this time at the earliest, on the reference clock; None: always.
        from_hi_ms: it began at this time at the latest.
        to_lo_ms: it ended at this time at the earliest; None: still open, or always.
        to_hi_ms: it ended at this time at the latest.
        witness: events that show it.
        step_ms: of a clock that certainly stepped, by at least how much it was set (negative: back); 0: unknown; None: it may not have stepped.
        machine: what the machine's witnesses show about it.
    """

    cause: str
    alternatives: Sequence[str] = ()
    kafka_cluster: str | None
    group_ids: Sequence[str] = ()
    subject: str | None
    of_group_id: str | None = None
    process_id: str | None = None
    instance: int | None = None
    member_ids: Sequence[str] = ()
    from_lo_ms: int | None
    from_hi_ms: int | None
    to_lo_ms: int | None
    to_hi_ms: int | None
    witness: Sequence[str] = field(default=())
    step_ms: int | None = None
    machine: Machine | None = None
