"""Join the two sides of each lost membership: the removal in the coordinator's log, and the client's own lines."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from forensics.clocks.offsets import Clocks, Offset
from forensics.logs.filtered_logs import filtered_logs
from forensics.relations.by_key import ByKey
from forensics.relations.missing import first, least, minus

if TYPE_CHECKING:
    from forensics.memberships.seats import LostSeat, Mark
    from forensics.relations.inputs import Inputs, Row


@dataclass(frozen=True)
class Loss:
    """A membership that a client lost against its will.

    Attributes:
        loss_id: event of the removal and member id, or the refusal if the coordinator's log is missing.
        removal: the row of `removed_member`; None: only the client's log shows it.
        seat: the client's lines; None: there are none, or its clock cannot be compared.
        clock: the clock of its process, on that reference; None: unknown.
        own_hi_ms: removed at this time at the latest, by its own clock.
        replaced_ms: others were in the next generation at this time, by its own clock; None: unknown.
    """

    loss_id: str
    kafka_cluster: str | None
    group_id: str
    member_id: str | None
    process_id: str | None
    instance: int | None
    client: str | None
    reference_process_id: str
    removal: Row | None
    seat: LostSeat | None
    clock: Offset | None
    own_hi_ms: int | None
    replaced_ms: int | None

    @property
    def how(self) -> str:
        """Return how it was lost: session, rebalance, or refused."""
        return self.removal["how"] if self.removal is not None else "refused"

    @property
    def protocol(self) -> str:
        """Return its protocol: classic or consumer (KIP-848)."""
        if self.removal is not None:
            return str(self.removal["protocol"])
        return "consumer" if self.noticed is not None and self.noticed.event == "member_fenced" else "classic"

    @property
    def removed_id(self) -> str | None:
        """Return the event of the removal."""
        return self.removal["removed_id"] if self.removal is not None else None

    @property
    def removed_lo_ms(self) -> int | None:
        """Return when it was removed at the earliest, on the reference clock."""
        return self.removal["removed_lo_ms"] if self.removal is not None else None

    @property
    def removed_hi_ms(self) -> int | None:
        """Return when it was removed at the latest, on the reference clock."""
        return self.removal["removed_hi_ms"] if self.removal is not None else None

    @property
    def own_lo_ms(self) -> int | None:
        """Return when it was removed at the earliest, by its own clock."""
        return self.removal["own_lo_ms"] if self.removal is not None else None

    @property
    def broker(self) -> str | None:
        """Return the coordinator's process."""
        return self.removal["broker"] if self.removal is not None else None

    @property
    def session_ms(self) -> int | None:
        """Return its session timeout."""
        return self.removal["session_ms"] if self.removal is not None else None

    @property
    def noticed(self) -> Mark | None:
        """Return the client's first line about it."""
        return self.seat.noticed if self.seat is not None else None

    @property
    def noticed_ms(self) -> int | None:
        """Return the time of that line, by its own clock."""
        return self.noticed.at_ms if self.noticed is not None else None

    @property
    def noticed_lo_ms(self) -> int | None:
        """Return the earliest time of that line on the reference clock."""
        return self.clock.earliest(self.noticed_ms) if self.clock is not None else None

    @property
    def noticed_hi_ms(self) -> int | None:
        """Return the latest time of that line on the reference clock."""
        return self.clock.latest(self.noticed_ms) if self.clock is not None else None

    @property
    def refused_ms(self) -> int | None:
        """Return when it was refused, by its own clock; None: never, or before the removal."""
        refused = self.seat.refused if self.seat is not None else None
        return refused.at_ms if refused is not None and refused.at_ms >= first(self.own_lo_ms, refused.at_ms) else None

    @property
    def is_replaced(self) -> bool:
        """Return True if the group certainly went on without it."""
        return self.removal is not None or (self.seat is not None and self.seat.is_replaced)


def losses(inputs: Inputs, removed: Sequence[Row], seats: Sequence[LostSeat]) -> Iterator[Loss]:
    """Yield all lost memberships.

    Args:
        inputs: rows of `clock_offset`, `broker_generation` and `filtered_log`.
        removed: rows of `removed_member`.
        seats: the memberships that clients lost.
    """
    clocks, together_ms = Clocks(inputs), inputs.knobs.coordinator_together_ms
    logged = {(seat.group_id, seat.removed_id, seat.removed_member): seat for seat in seats if seat.removed_id is not None}
    of_member = defaultdict(list)
    for seat in seats:
        if seat.removed_id is None and seat.member_id is not None:
            of_member[seat.group_id, seat.process_id, seat.member_id].append(seat)
    by_id = set()
    for row in removed:
        member = row["group_id"], row["process_id"], row["member_id"]
        own = logged.get((row["group_id"], row["removed_id"], row["member_id"]))
        its: list[LostSeat | None] = [own] if own is not None else []
        # If the clocks leave the time open, only the member id links the two.
        width_ms = minus(row["own_hi_ms"], row["own_lo_ms"])
        if width_ms is None or width_ms > together_ms:
            its += of_member[member]
            by_id.add(member)
        for own_lines in its or [None]:
            yield _removed(row, own_lines, clocks)
    covered = _Covered(inputs)
    for seat in seats:
        clock = clocks.of(seat.process_id)
        is_left = (seat.group_id, seat.process_id, seat.member_id) in by_id or covered.shows(seat)
        if seat.removed_id is None and seat.refused is not None and clock is not None and not is_left:
            # The refusal came after the removal; a new client of the same name may have been in a later generation before.
            own_hi_ms = least(seat.replaced_ms, seat.refused.at_ms) if seat.replaced_ms is not None else None
            yield Loss(
                *(seat.refused.event_id, seat.kafka_cluster, seat.group_id, seat.member_id, seat.process_id, seat.instance, seat.client),
                reference_process_id=clock.reference_process_id,
                removal=None,
                seat=seat,
                clock=clock,
                own_hi_ms=own_hi_ms,
                replaced_ms=None,
            )


def _removed(row: Row, seat: LostSeat | None, clocks: Clocks) -> Loss:
    """Return a removal as a loss."""
    replaced_ms = seat.replaced_ms if seat is not None and seat.removed_id is None else None
    return Loss(
        f"{row['removed_id']}/{row['member_id']}",
        kafka_cluster=row["kafka_cluster"],
        group_id=row["group_id"],
        member_id=row["member_id"],
        process_id=row["process_id"],
        instance=row["instance"],
        client=row["client"],
        reference_process_id=row["reference_process_id"],
        removal=row,
        seat=seat,
        clock=clocks.of(row["process_id"], row["reference_process_id"]),
        own_hi_ms=least(row["own_hi_ms"], replaced_ms),
        replaced_ms=replaced_ms,
    )


class _Covered:
    """The generations that coordinators' logs contain together with the following one.

    Such a log would show a removal, so a member that is refused without one had left. A log that begins later or ends earlier proves nothing, and lines that
    are missing from a filtered log are unknown, not absent.
    """

    def __init__(self, inputs: Inputs) -> None:
        filtered = filtered_logs(inputs)
        rows = [row for row in inputs.rows("broker_generation") if row["process_id"] not in filtered]
        last: dict[tuple[str, int, str], int] = {}
        for row in rows:
            life = row["group_id"], row["incarnation"], row["process_id"]
            last[life] = max(row["generation"], last.get(life, row["generation"]))
        self._groups = {row["group_id"] for row in rows}
        followed = (row for row in rows if row["generation"] < last[row["group_id"], row["incarnation"], row["process_id"]])
        self._followed = ByKey(followed, "group_id", "generation")

    def shows(self, seat: LostSeat) -> bool:
        """Return True if a coordinator's log would show that a membership was removed."""
        generation = first(seat.last_generation, seat.generation)
        if generation is None:
            return seat.group_id in self._groups
        return any(seat.last_incarnation in (None, row["incarnation"]) for row in self._followed[seat.group_id, generation])
