"""Decide how a membership was lost.

A running member of the classic protocol notices the expiry of its session at the same moment as its coordinator. A member that reports it much later did not run
in between. The same is true if several of its clients, each with its own thread, cancel requests long after their timeouts. A member that reports the expiry in
time and cannot find its coordinator for long did run. Trouble of other members of the group at the same moment means trouble of the coordinator.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from forensics.clocks.offsets import Clocks
from forensics.logs.events import events
from forensics.logs.filtered_logs import filtered_logs
from forensics.logs.lost_ranges import LostRanges
from forensics.relations.by_key import ByKey, by_run
from forensics.relations.conditions import one_of
from forensics.relations.missing import between, first, greatest, least, minus, plus, up_to

if TYPE_CHECKING:
    from forensics.memberships.losses import Loss
    from forensics.memberships.surroundings import Namesakes, Surroundings
    from forensics.relations.inputs import Inputs, Row


class Kinds:
    """Decides how memberships were lost.

    Args:
        inputs: rows of views.
        losses: all losses.
        around: what was printed around each, by loss id.
        candidates: the clients that a member of an unknown process may have been, by loss id.
    """

    def __init__(self, inputs: Inputs, losses: Sequence[Loss], around: dict[str, Surroundings], candidates: dict[str, Namesakes]) -> None:
        self._knobs, self._around, self._candidates, self._clocks = inputs.knobs, around, candidates, Clocks(inputs)
        self._paused_coordinator = set(_of_paused_coordinators(inputs, losses))
        self._coordinator_trouble = set(_of_coordinators_in_trouble(inputs, losses))
        self._ended = {(row["process_id"], row["instance"]) for row in inputs.rows("process_ending")}
        self._lives = by_run(inputs.rows("process_life"))
        self._partly_read = {row["process_id"] for row in inputs.rows("evidence_file") if row["status"] == "read" and row["note"] is not None}
        self._filtered = filtered_logs(inputs)
        self._lost_lines = LostRanges(inputs)

    def of(self, loss: Loss) -> str:
        """Return how a membership was lost: one of the kinds that `lost_membership` lists."""
        around = self._around[loss.loss_id]
        if loss.loss_id in self._paused_coordinator:
            return "coordinator"
        if loss.process_id is None:
            return "abandoned" if loss.loss_id in self._candidates else "nobody"
        # A member that runs returns to a coordinator that is back. One that prints nothing afterwards may have died.
        is_alive = around.after_ms is not None or loss.refused_ms is not None
        if loss.loss_id in self._coordinator_trouble and is_alive:
            return "coordinator"
        if loss.removal is not None and loss.removal["was_closed"]:
            return "closed"
        if not is_alive and self._is_over(loss):
            return "over"
        # Its own lines cannot be compared with the removal, so they do not show that its log ends.
        if first(loss.own_lo_ms, loss.own_hi_ms, loss.noticed_ms) is None:
            return "silent_unsure" if around.returned_ms is None else "returned"
        if not is_alive:
            return "silent_unsure" if self._may_be_back(loss, around) else "silent"
        return self._of_running(loss, around)

    def _is_over(self, loss: Loss) -> bool:
        """Return True if its process had ended."""
        run = loss.process_id, loss.instance
        return run in self._ended or (run in self._lives and up_to(self._lives[run]["ending_ms"], loss.own_lo_ms))

    def _may_be_back(self, loss: Loss, around: Surroundings) -> bool:
        """Return True if lines may be missing after the end of its log, or its coordinator shows a member of its name later that has no log."""
        in_trouble = loss.loss_id in self._coordinator_trouble
        return in_trouble or around.again_ms is not None or loss.process_id in self._partly_read or self._lacks_lines(loss, around)

    def _lacks_lines(self, loss: Loss, around: Surroundings) -> bool:
        """Return True if lines may be missing between the last one before the loss and the first one after it."""
        from_ms = first(around.before_ms, loss.own_lo_ms, loss.noticed_ms)
        to_ms = greatest(around.after_ms, loss.noticed_ms, loss.seat.found_ms if loss.seat is not None else None)
        return loss.process_id in self._filtered or (loss.process_id is not None and self._lost_lines.in_time(loss.process_id, from_ms, to_ms))

    def _of_running(self, loss: Loss, around: Surroundings) -> str:
        """Return the kind for a process that printed lines after the loss, or was refused."""
        lost_coordinator = loss.noticed is not None and loss.noticed.event == "coordinator_lost"
        if loss.how == "rebalance":
            # Its heartbeats continued, so it learns of the removal from the next one.
            is_prompt = up_to(loss.noticed_ms, plus(loss.own_hi_ms, self._knobs.coordinator_together_ms))
            return "slow" if loss.noticed is not None and not lost_coordinator and is_prompt else "slow_or_paused"
        if loss.noticed is None:
            return "replaced" if loss.how == "session" and self._is_new(loss, around) else "unnoticed"
        if lost_coordinator and self._was_paused(loss, around):
            return "paused"
        if lost_coordinator and self._was_cut_off(loss, around):
            return "cut_off"
        if not loss.is_replaced:
            return "refused"
        return "slow_or_paused" if loss.how == "refused" else "paused_or_cut_off"

    def _is_new(self, loss: Loss, around: Surroundings) -> bool:
        """Return True if a new client took its place without any line about the loss.

        A client that had lost its membership would have been refused when it returned. One that joins soon after the first line of its process is new, in a
        process that prints no start.
        """
        life = self._lives.get((loss.process_id, loss.instance))
        if life is None or life["instance"] != 0 or life["start_ms"] is not None:
            return False
        waited_ms = minus(loss.seat.back_ms if loss.seat is not None else None, around.after_ms)
        return around.returned_ms is not None if waited_ms is None else bool(waited_ms <= self._knobs.coordinator_settled_ms)

    def _was_paused(self, loss: Loss, around: Surroundings) -> bool:
        """Return True if it lost its coordinator much later than its session expired, and printed nothing in between."""
        late_ms = plus(loss.own_hi_ms, self._knobs.heartbeat_late_ms)
        is_late = late_ms is not None and all(at_ms is not None and at_ms > late_ms for at_ms in (loss.noticed_ms, around.after_ms))
        # While it waits for the response to a join request it sends no heartbeats and does not check its session.
        is_joining = loss.seat is None or loss.seat.is_joining
        # A log that begins later may lack an earlier line, and a filtered one any line.
        is_shown = around.before_ms is not None or (loss.instance or 0) > 0 or around.sent_ms is not None
        return is_late and not is_joining and is_shown and not self._lacks_lines(loss, around)

    def _was_cut_off(self, loss: Loss, around: Surroundings) -> bool:
        """Return True if it reported the expiry in time, and could not find its coordinator for long."""
        late_ms: int = self._knobs.heartbeat_late_ms
        removed_ms = first(greatest(loss.own_lo_ms, loss.replaced_ms), loss.own_hi_ms)
        is_prompt = up_to(least(loss.noticed_ms, around.after_ms), plus(removed_ms, late_ms))
        # A member that is back has found its coordinator, even without a line; one that is closed no longer looks for it.
        found = (loss.seat.found_ms, loss.seat.back_ms) if loss.seat is not None else ()
        life = self._lives.get((loss.process_id, loss.instance))
        away_ms = minus(first(least(*found, around.closed_ms), life["last_ms"] if life is not None else None), loss.noticed_ms)
        # A clock step in the meantime can make the time seem longer.
        clock = self._clocks.of(loss.process_id)
        step_ms = plus(clock.step["least_ms"], self._knobs.clock_skew_ms) if clock is not None and clock.step is not None else None
        is_long = away_ms is not None and away_ms > late_ms + (step_ms or 0)
        waited_ms = minus(around.disconnect_ms, loss.noticed_ms)
        return is_prompt and is_long and (waited_ms is None or waited_ms <= late_ms) and not self._lacks_lines(loss, around)


def _of_paused_coordinators(inputs: Inputs, losses: Sequence[Loss]) -> Iterator[str]:
    """Yield the losses right after their coordinator was paused: it removes all members whose heartbeats it could not read meanwhile."""
    pauses = ByKey(inputs.rows("process_pause"), "process_id")
    removed = {loss.removed_id: loss for loss in losses if loss.removed_id is not None and loss.broker in pauses}
    if not removed:
        return
    rows = events(inputs, ["event_id", "ts"], one_of("event_id", removed))
    at_ms = {row["event_id"]: row["ts"] for row in rows}
    for loss in losses:
        if any(
            between(pause["after_ms"], at_ms.get(loss.removed_id), pause["after_ms"] + inputs.knobs.pause_noticed_ms) for pause in pauses[loss.broker]
        ):
            yield loss.loss_id


def _of_coordinators_in_trouble(inputs: Inputs, losses: Sequence[Loss]) -> Iterator[str]:
    """Yield the losses at a moment at which others of the group lost the same coordinator too, or it had only just returned.

    If a clock leaves this open, and another process had no trouble, they did not. Nor did processes of one host that was suspended: they notice their removal
    late, and together.
    """
    together_ms, late_ms = inputs.knobs.coordinator_together_ms, inputs.knobs.heartbeat_late_ms
    outages = _Outages(inputs)
    untroubled = _Untroubled(inputs, outages)
    brokers = ByKey((row for row in inputs.rows("process_ending") if row["is_broker"]), "process_id", "reference_process_id")
    for loss in losses:
        since_ms = minus(loss.removed_lo_ms, (loss.session_ms or 0) + inputs.knobs.coordinator_settled_ms)
        endings = brokers[loss.broker, loss.reference_process_id]
        if any(up_to(end["to_lo_ms"], loss.removed_hi_ms) and up_to(since_ms, end["to_hi_ms"]) for end in endings):
            yield loss.loss_id
            continue
        others = list(outages.of_others(loss, loss.noticed_lo_ms, loss.noticed_hi_ms))
        if others and untroubled.names(loss):
            width_ms = minus(loss.noticed_hi_ms, loss.noticed_lo_ms)
            after_ms = minus(loss.noticed_lo_ms, loss.removed_hi_ms)
            is_prompt = up_to(width_ms, together_ms) and (after_ms is None or after_ms <= late_ms)
            others = [row for row in others if is_prompt and up_to(minus(row["lost_hi_ms"], row["lost_lo_ms"]), together_ms)]
        if others:
            yield loss.loss_id


class _Outages:
    """When members lost their coordinators.

    Args:
        inputs: rows of `coordinator_outage`.
    """

    def __init__(self, inputs: Inputs) -> None:
        self._together_ms: int = inputs.knobs.coordinator_together_ms
        found: defaultdict[tuple[str, str], list[Row]] = defaultdict(list)
        columns = ["group_id", "process_id", "lost_lo_ms", "lost_hi_ms", "reference_process_id", "was_member"]
        for row in inputs.rows("coordinator_outage", columns):
            if row["was_member"] and None not in (row["lost_lo_ms"], row["lost_hi_ms"]):
                found[row["group_id"], row["reference_process_id"]].append(row)
        self._of = {key: sorted(its, key=lambda row: int(row["lost_lo_ms"])) for key, its in found.items()}
        self._widest_ms = {key: max(row["lost_hi_ms"] - row["lost_lo_ms"] for row in its) for key, its in found.items()}

    def near(self, group_id: str, reference_process_id: str, lo_ms: int | None, hi_ms: int | None) -> Iterator[Row]:
        """Yield the losses of a group's coordinator that may be at about the same time."""
        its = self._of.get((group_id, reference_process_id), [])
        if not its or lo_ms is None or hi_ms is None:
            return
        from_ms = lo_ms - self._together_ms
        widest_ms = self._widest_ms[group_id, reference_process_id]
        for row in its[bisect_left(its, from_ms - widest_ms, key=lambda row: int(row["lost_lo_ms"])) :]:
            if row["lost_lo_ms"] > hi_ms + self._together_ms:
                break
            if row["lost_hi_ms"] >= from_ms:
                yield row

    def of_others(self, loss: Loss, lo_ms: int | None, hi_ms: int | None) -> Iterator[Row]:
        """Yield those of other processes."""
        if loss.process_id is not None:
            yield from (row for row in self.near(loss.group_id, loss.reference_process_id, lo_ms, hi_ms) if row["process_id"] != loss.process_id)


class _Untroubled:
    """Processes of a group, with a known clock and a log that continues, that lost no coordinator.

    Args:
        inputs: rows of `client_event`, `process_life` and `clock_offset`.
        outages: the losses of coordinators.
    """

    def __init__(self, inputs: Inputs, outages: _Outages) -> None:
        self._together_ms: int = inputs.knobs.coordinator_together_ms
        self._outages = outages
        clocks = Clocks(inputs)
        lives = by_run(inputs.rows("process_life"))
        self._spans: defaultdict[tuple[str, str], list[tuple[str, int | None, int | None]]] = defaultdict(list)
        runs = {(row["group_id"], row["process_id"], row["instance"]) for row in inputs.rows("client_event", ["group_id", "process_id", "instance"])}
        for group_id, process_id, instance in sorted(runs):
            clock, life = clocks.of(process_id), lives.get((process_id, instance))
            if clock is not None and life is not None and clock.hi_ms - clock.lo_ms <= self._together_ms:
                span = process_id, clock.latest(life["first_ms"]), clock.earliest(life["last_ms"])
                self._spans[group_id, clock.reference_process_id].append(span)

    def names(self, loss: Loss) -> bool:
        """Return True if another process of the group lost no coordinator at the moment of the removal."""
        lo_ms, hi_ms = least(loss.removed_lo_ms, loss.noticed_lo_ms), greatest(loss.removed_hi_ms, loss.noticed_hi_ms)
        troubled = {row["process_id"] for row in self._outages.near(loss.group_id, loss.reference_process_id, lo_ms, hi_ms)}
        since_ms = minus(loss.removed_lo_ms, self._together_ms)
        return any(
            process_id != loss.process_id and up_to(first_ms, since_ms) and up_to(loss.removed_hi_ms, last_ms) and process_id not in troubled
            for process_id, first_ms, last_ms in self._spans[loss.group_id, loss.reference_process_id]
        )
