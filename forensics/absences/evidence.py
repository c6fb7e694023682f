"""Gather what shows that one process by itself was in trouble: the memberships that it lost, connections that failed, and pauses in its own log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from forensics.absences.connections import cut_offs
from forensics.clocks.offsets import Clocks
from forensics.logs.clusters import worker_groups
from forensics.relations.by_key import ByKey, by_run
from forensics.relations.missing import first, greatest, least, minus, plus, there, up_to

if TYPE_CHECKING:
    from forensics.clocks.offsets import Offset
    from forensics.relations.inputs import Inputs, Knobs, Row

_KINDS = ("paused", "cut_off", "paused_or_cut_off", "replaced", "returned", "silent", "silent_unsure", "slow", "slow_or_paused")
_SILENT = ("silent", "silent_unsure")


@dataclass(frozen=True)
class Evidence:
    """A time in which one process was in trouble.

    Attributes:
        kind: how it lost a membership, as in `lost_membership`; or paused, or cut_off.
        is_late: True if it did not rejoin in time.
        is_placed: False if its time in the process's own clock is unknown; then `own_from_ms` and `own_to_ms` are the coordinator's.
        own_from_ms: from, by its own clock.
        own_to_ms: to, by its own clock.
        from_lo_ms: it began at this time at the earliest, on the reference clock.
        from_hi_ms: it began at this time at the latest.
        to_lo_ms: it ended at this time at the earliest; None: unknown.
        to_hi_ms: it ended at this time at the latest; None: unknown.
    """

    kafka_cluster: str | None
    group_id: str | None
    process_id: str
    instance: int
    member_id: str | None
    kind: str
    is_late: bool
    is_placed: bool
    own_from_ms: int | None
    own_to_ms: int | None
    from_lo_ms: int
    from_hi_ms: int | None
    to_lo_ms: int | None
    to_hi_ms: int | None
    reference_process_id: str
    witness: Sequence[str]


def evidence(inputs: Inputs) -> Iterator[Evidence]:
    """Yield all evidence with a known earliest beginning. If no line bounds it, as in a log that begins later, there is only the refusal."""
    yield from _losses(inputs)
    yield from _cut_offs(inputs)
    yield from _pauses(inputs)


def _losses(inputs: Inputs) -> Iterator[Evidence]:
    clocks, knobs = Clocks(inputs), inputs.knobs
    lives = by_run(inputs.rows("process_life"))
    for loss in inputs.rows("lost_membership"):
        if loss["kind"] not in _KINDS:
            continue
        # If no message links its clock to the reference, its own times cannot be used there.
        clock = clocks.of(loss["process_id"], loss["reference_process_id"])
        from_lo_ms = _earliest(loss, clock, lives.get((loss["process_id"], loss["instance"])), knobs)
        if from_lo_ms is None:
            continue
        own_from_ms = _own_beginning(loss)
        from_hi_ms = least(loss["removed_hi_ms"], _on(clock, loss["own_hi_ms"])[1], _on(clock, loss["noticed_ms"])[1])
        own_to_ms = greatest(first(loss["own_hi_ms"], loss["noticed_ms"]), loss["after_ms"] or 0, loss["noticed_ms"] or 0, loss["found_ms"] or 0)
        to_lo_ms, to_hi_ms = (None, None) if loss["kind"] in _SILENT else _end(loss, clock, knobs.heartbeat_late_ms)
        yield Evidence(
            loss["kafka_cluster"],
            loss["group_id"],
            loss["process_id"],
            loss["instance"],
            loss["member_id"],
            loss["kind"],
            is_late=loss["how"] == "rebalance",
            is_placed=own_from_ms is not None,
            own_from_ms=first(own_from_ms, from_lo_ms),
            own_to_ms=from_hi_ms if own_from_ms is None else own_to_ms,
            from_lo_ms=from_lo_ms,
            from_hi_ms=from_hi_ms,
            to_lo_ms=to_lo_ms,
            to_hi_ms=to_hi_ms,
            reference_process_id=loss["reference_process_id"],
            witness=there(loss[name] for name in ("removed_id", "noticed_id", "refused_id", "back_id")),
        )


def _on(clock: Offset | None, own_ms: int | None) -> tuple[int | None, int | None]:
    """Return the bounds of a moment on the reference clock."""
    return (clock.earliest(own_ms), clock.latest(own_ms)) if clock is not None else (None, None)


def _own_beginning(loss: Row) -> int | None:
    """Return when the trouble began, by the process's own clock."""
    last_ms = first(minus(loss["own_lo_ms"], loss["session_ms"]), loss["before_ms"], loss["own_lo_ms"], loss["noticed_ms"])
    return least(last_ms, first(loss["own_lo_ms"], loss["noticed_ms"]))


def _earliest(loss: Row, clock: Offset | None, life: Row | None, knobs: Knobs) -> int | None:
    """Return when the trouble can have begun at the earliest.

    The process still took part when the coordinator last heard from it, one session before. A paused process prints no line; one that is cut off does. A response
    after the removal does not precede the trouble. Neither does a response that a refusal follows immediately, after the trouble was over.
    """
    session_ms = first(loss["session_ms"], knobs.session_longest_ms)
    heard_ms = minus(loss["removed_lo_ms"], session_ms + knobs.heartbeat_late_ms)
    # A log that begins in the middle of a run does not show when the run began.
    began_ms = _on(clock, life["first_ms"])[0] if life is not None and life["instance"] > 0 else None
    answered_ms = loss["answered_ms"]
    if None not in (answered_ms, loss["own_lo_ms"]):
        is_before = answered_ms < loss["own_lo_ms"]
    else:
        is_before = up_to(plus(answered_ms, knobs.coordinator_together_ms), loss["noticed_ms"])
    before_ms = loss["before_ms"] if loss["kind"] == "paused" else None
    return greatest(heard_ms, began_ms, loss["heard_ms"], _on(clock, answered_ms)[0] if is_before else None, _on(clock, before_ms)[0])


def _end(loss: Row, clock: Offset | None, late_ms: int) -> tuple[int | None, int | None]:
    """Return when the trouble ended, at the earliest and at the latest."""
    kind, noticed = loss["kind"], _on(clock, loss["noticed_ms"])
    if kind == "cut_off":
        found_late_ms = minus(loss["first_found_ms"], loss["noticed_ms"])
        if found_late_ms is not None and found_late_ms > late_ms:
            return noticed[0], _on(clock, loss["first_found_ms"])[1]
        return _on(clock, loss["last_lost_ms"])[0], _on(clock, loss["found_ms"])[1]
    to_lo_ms = least(loss["removed_lo_ms"], noticed[0])
    if kind == "paused":
        # A process that wakes notices immediately that its session expired; a line before that shows that it was awake.
        to_lo_ms = greatest(to_lo_ms, minus(_on(clock, least(loss["noticed_ms"], loss["after_ms"]))[0], late_ms))
    if kind == "returned":
        return to_lo_ms, loss["returned_ms"]
    if kind in ("paused_or_cut_off", "slow_or_paused"):
        return to_lo_ms, first(_on(clock, first(loss["found_ms"], loss["back_ms"]))[1], loss["returned_ms"])
    return to_lo_ms, _on(clock, first(loss["noticed_ms"], loss["after_ms"]))[1]


def _cut_offs(inputs: Inputs) -> Iterator[Evidence]:
    groups = worker_groups(inputs)
    for cut in cut_offs(inputs):
        outage = cut.outage
        yield Evidence(
            outage.kafka_cluster,
            groups.get((outage.process_id, outage.instance)),
            outage.process_id,
            outage.instance,
            None,
            "cut_off",
            is_late=False,
            is_placed=True,
            own_from_ms=outage.from_ms,
            own_to_ms=outage.to_ms,
            from_lo_ms=cut.before_ms - outage.clock.hi_ms,
            from_hi_ms=cut.since_ms,
            # A connection that fails was attempted some time before.
            to_lo_ms=outage.to_lo_ms - inputs.knobs.unreachable_ms,
            to_hi_ms=outage.clock.latest(cut.after_ms),
            reference_process_id=outage.clock.reference_process_id,
            witness=[outage.first_id, outage.last_id],
        )


def _pauses(inputs: Inputs) -> Iterator[Evidence]:
    """Yield times in which a process did not run, as its own log shows, whether or not that cost it a membership."""
    pauses = inputs.rows("process_pause")
    if not pauses:
        return
    clocks = Clocks(inputs)
    members = {(row["process_id"], row["instance"]) for row in inputs.rows("process_life") if not row["is_broker"]}
    columns = ["kafka_cluster", "group_id", "process_id", "instance"]
    seats = {tuple(row[name] for name in columns): row for row in inputs.rows("client_event", columns)}
    groups = ByKey(seats.values(), "process_id", "instance")
    for pause in pauses:
        run, clock = (pause["process_id"], pause["instance"]), clocks.of(pause["process_id"])
        if clock is None or run not in members or pause["before_ms"] is None:
            continue
        for group in groups[run] or [{"kafka_cluster": None, "group_id": None}]:
            yield Evidence(
                group["kafka_cluster"],
                group["group_id"],
                *run,
                None,
                "paused",
                is_late=False,
                is_placed=True,
                own_from_ms=pause["before_ms"],
                own_to_ms=pause["after_ms"],
                from_lo_ms=pause["before_ms"] - clock.hi_ms,
                from_hi_ms=clock.latest(minus(pause["after_ms"], pause["least_ms"])),
                to_lo_ms=clock.earliest(minus(pause["after_ms"], inputs.knobs.heartbeat_late_ms)),
                to_hi_ms=clock.latest(pause["after_ms"]),
                reference_process_id=clock.reference_process_id,
                witness=pause["witness"] or (),
            )
