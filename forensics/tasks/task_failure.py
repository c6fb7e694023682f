"""Compute the view `task_failure`: why and when a task or connector failed, what came before, and who ran it afterwards.

Work ends at the line of the failure; the task stays assigned, and only a start ends the time for which it is not running.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from forensics.clocks.offsets import Clocks
from forensics.relations.inputs import once
from forensics.relations.missing import first, greatest, least, less, minus, plus, there, up_to
from forensics.tasks.deletions import Deletions
from forensics.tasks.failures import failures
from forensics.tasks.owners import Owners
from forensics.tasks.restarts import Restarts, starts_of

if TYPE_CHECKING:
    from forensics.clocks.offsets import Offset
    from forensics.relations.inputs import Inputs, Row
    from forensics.tasks.failures import Failure, Resource
    from forensics.tasks.owners import Around, Owner

_LINES_MOST = 4


@dataclass(frozen=True)
class _Placed:
    """A failure on the reference clock, and what followed.

    Attributes:
        clock: the clock of its worker.
        resolution_ms: resolution of the times that the worker prints.
        around: the owners around it.
        own: the run that failed; None: unknown.
        is_same_worker: True if the next owner is in the same worker's log, or in another part of it.
        is_apart: True if the clocks of the owners cannot be compared.
        deleted_lo_ms, deleted_id: the first line after it, and before the next owner, that shows that its connector is not configured any more.
    """

    failure: Failure
    clock: Offset
    resolution_ms: int
    around: Around
    own: Owner | None
    is_same_worker: bool
    is_apart: bool
    deleted_lo_ms: int | None
    deleted_id: str | None

    @property
    def lo_ms(self) -> int | None:
        """Return its earliest time."""
        return self.clock.earliest(self.failure.at_ms)

    @property
    def hi_ms(self) -> int | None:
        """Return its latest time."""
        return self.clock.latest(plus(self.failure.at_ms, self.resolution_ms))

    @property
    def next(self) -> Row | None:
        """Return the ownership after it; None: no line shows one."""
        return self.around.next.row if self.around.next is not None else None

    @property
    def is_same_log(self) -> bool:
        """Return True if the next owner is in the same log."""
        return self.next is not None and self.next["process_id"] == self.failure.of.process_id

    @property
    def is_elsewhere(self) -> bool:
        """Return True if another owner certainly had it already."""
        return less(self.hi_ms, self.around.earlier_to_lo_ms)


@once
def rows(inputs: Inputs) -> list[Row]:
    """Return the rows of the view `task_failure`."""
    starts = starts_of(inputs)
    found = list(failures(inputs, starts))
    if not found:
        return []
    doubt, restarts = _Doubt(inputs), Restarts(inputs, starts)
    return [_row(placed, doubt, restarts, inputs.knobs.failure_before_ms) for placed in _placed(inputs, found, starts)]


def _placed(inputs: Inputs, found: list[Failure], starts: Mapping[Resource, list[Row]]) -> list[_Placed]:
    """Return the failures of workers whose clocks are known, on the reference clock."""
    clocks, owners, deletions = Clocks(inputs), Owners(inputs, found), Deletions(inputs, starts)
    resolutions = {row["process_id"]: row["resolution_ms"] for row in inputs.rows("process_cluster") if row["is_last"]}
    parts = {row["process_id"]: set(row["same_process_ids"] or ()) for row in inputs.rows("process", ["process_id", "same_process_ids"])}
    placed = []
    for failure in found:
        process_id, clock = failure.of.process_id, clocks.of(failure.of.process_id)
        if clock is None or process_id not in resolutions:
            continue
        lo_ms, hi_ms = clock.earliest(failure.at_ms), clock.latest(plus(failure.at_ms, resolutions[process_id]))
        around = owners.around(failure, clock.reference_process_id, hi_ms)
        next_process_id = around.next.row["process_id"] if around.next is not None else None
        deleted_lo_ms, deleted_id = deletions.after(failure, clock.reference_process_id, lo_ms)
        if around.next is not None and up_to(around.next.row["from_lo_ms"], deleted_lo_ms):
            deleted_lo_ms = deleted_id = None
        placed.append(
            _Placed(
                failure,
                clock,
                resolutions[process_id],
                around,
                owners.own(failure),
                is_same_worker=next_process_id == process_id or next_process_id in parts.get(process_id, ()),
                is_apart=owners.is_apart(failure),
                deleted_lo_ms=deleted_lo_ms,
                deleted_id=deleted_id,
            )
        )
    return placed


class _Doubt:
    """Why the time for which a task was not running may be unknown.

    Args:
        inputs: rows of `log_hole`, `quiet_log`, `clock_offset` and `unowned`.
    """

    def __init__(self, inputs: Inputs) -> None:
        self._holes: dict[tuple[str, int], int | None] = {}
        for row in inputs.rows("log_hole", ["process_id", "instance", "to_pos"]):
            run = row["process_id"], row["instance"]
            self._holes[run] = greatest(self._holes.get(run), row["to_pos"])
        self._quiet = {row["process_id"] for row in inputs.rows("quiet_log", ["process_id", "client"]) if row["client"] is None}
        self._steps = {
            row["process_id"]: _last_step(row["step"]) for row in inputs.rows("clock_offset") if (row["step"] or {}).get("places") is not None
        }
        self._may_be_owned = {
            (row["previous_ownership_id"], row["next_ownership_id"])
            for row in inputs.rows("unowned", ["previous_ownership_id", "next_ownership_id", "may_be_owned"], pc.field("may_be_owned"))
        }

    def lacks_lines(self, failure: Failure) -> bool:
        """Return True if lines of the worker's log are missing after a failure."""
        hole_pos = self._holes.get((failure.of.process_id, failure.of.instance))
        return less(failure.lines[-1]["stream_pos"], hole_pos) or failure.of.process_id in self._quiet

    def is_stepped(self, placed: _Placed) -> bool:
        """Return True if a clock stepped after a failure."""
        step_pos = self._steps.get(placed.failure.of.process_id)
        is_other_stepped = placed.next is not None and not placed.is_same_log and placed.next["process_id"] in self._steps
        return less(placed.failure.lines[0]["stream_pos"], step_pos) or is_other_stepped

    def hides_owner(self, placed: _Placed) -> bool:
        """Return True if another member may have had it meanwhile, or lines may be missing."""
        own_id = placed.own.row["ownership_id"] if placed.own is not None else None
        next_id = placed.next["ownership_id"] if placed.next is not None else None
        return placed.is_apart or (own_id, next_id) in self._may_be_owned or self.lacks_lines(placed.failure)


def _last_step(step: Mapping[str, list[Row]]) -> int | None:
    return greatest(*(place["after_pos"] for place in step["places"]))


def _certain_ms(placed: _Placed, doubt: _Doubt) -> int:
    """Return for how long it was certainly not running, if anything ran it again."""
    around, following, own = placed.around, placed.next or {}, placed.own.row if placed.own is not None else {}
    is_moved = following.get("generation") != own.get("generation") and own.get("stop_hi_ms") is None
    if less(placed.hi_ms, around.earlier_to_hi_ms) or doubt.hides_owner(placed) or is_moved:
        return 0
    if placed.is_same_log and up_to(following["from_lo_ms"], around.later_lo_ms):
        since_ms = plus(placed.failure.at_ms, placed.resolution_ms)
        return max(0, minus(following["start_lo_ms"], since_ms) or 0)
    return max(0, minus(around.later_lo_ms, placed.hi_ms) or 0)


def _possible_ms(placed: _Placed) -> int | None:
    """Return for how long it was not running at most; None: no bound."""
    if placed.is_elsewhere:
        return 0
    following = placed.around.next
    if following is None:
        return None
    if placed.is_same_log:
        return minus(plus(following.start_hi_ms, placed.resolution_ms), placed.failure.at_ms)
    return minus(following.from_hi_ms, placed.lo_ms)


def _why_unknown(placed: _Placed, doubt: _Doubt) -> str | None:
    """Return why the time for which it was not running is unknown; None: it is known."""
    if placed.failure.at_ms is None:
        return "no_times"
    if placed.is_elsewhere:
        return None
    if placed.next is None:
        return "other_clock" if placed.is_apart else "lines_missing" if doubt.lacks_lines(placed.failure) else "no_later_start"
    return "clock_stepped" if doubt.is_stepped(placed) else None


def _row(placed: _Placed, doubt: _Doubt, restarts: Restarts, before_ms: int) -> Row:
    failure, why_unknown = placed.failure, _why_unknown(placed, doubt)
    possible_ms = _possible_ms(placed)
    return {
        **_failed(placed),
        **_before(failure, before_ms),
        **_next(placed, restarts),
        "deleted_lo": placed.deleted_lo_ms,
        "deleted_id": placed.deleted_id,
        "idle_certain_ms": least(_certain_ms(placed, doubt), possible_ms) if why_unknown is None else None,
        "idle_possible_ms": possible_ms if why_unknown is None else None,
        "why_unknown": why_unknown,
        "watched_ms": minus(failure.last_ms, failure.at_ms),
        "witness": _witness(placed, before_ms),
    }


def _failed(placed: _Placed) -> Row:
    """Return what failed, when and why."""
    failure, line = placed.failure, placed.failure.with_exception
    return {
        "event_id": failure.event_id,
        "kafka_cluster": failure.kafka_cluster,
        "group_id": failure.group_id,
        "resource_kind": failure.of.kind,
        "resource": failure.of.name,
        "connector": failure.connector,
        "process_id": failure.of.process_id,
        "instance": failure.of.instance,
        "event": failure.lines[0]["event"],
        "failed_ts": failure.at_ms,
        "failed_lo": placed.lo_ms,
        "failed_hi": placed.hi_ms,
        "message": line["message"],
        "exception": line["said"],
        "innermost": first(line["root_error"], line["said"]),
        "reference_process_id": placed.clock.reference_process_id,
    }


def _warning(failure: Failure, before_ms: int) -> Row | None:
    """Return the last warning or error before a failure, if it was that short before it."""
    warning = failure.warning
    return warning if warning is not None and up_to(minus(failure.at_ms, warning["ts"]), before_ms) else None


def _before(failure: Failure, before_ms: int) -> Row:
    warning = _warning(failure, before_ms) or {}
    return {
        "before_id": warning.get("event_id"),
        "before_event": warning.get("event"),
        "before_said": first(*(warning.get(name) for name in ("error", "cause", "reason", "message"))),
        "before_ms": minus(failure.at_ms, warning.get("ts")),
    }


def _next(placed: _Placed, restarts: Restarts) -> Row:
    """Return who ran it afterwards, and why."""
    following = {} if placed.next is None or placed.is_elsewhere else placed.next
    how, client = restarts.of(following.get("start_id"))
    if placed.is_same_log and less(placed.failure.of.instance, restarts.instance(following.get("start_id"))):
        how = "process_restarted"
    ran_again = None if not following else "same_worker" if placed.is_same_worker else "other_worker"
    return {
        "ran_again": "already_elsewhere" if placed.is_elsewhere else ran_again,
        "restart_how": how,
        "restart_client": client,
        "next_process_id": placed.around.earlier_process_id if placed.is_elsewhere else following.get("process_id"),
        "next_ownership_id": following.get("ownership_id"),
        "next_start_id": following.get("start_id"),
        "next_ts": following.get("start_lo_ms"),
    }


def _witness(placed: _Placed, before_ms: int) -> list[str]:
    """Return what came before, the lines of the failure, the next start, and the deletion."""
    warning = _warning(placed.failure, before_ms) or {}
    lines = sorted(line["event_id"] for line in placed.failure.lines)[:_LINES_MOST]
    start_id = placed.next["start_id"] if placed.next is not None else None
    return list(dict.fromkeys(there([warning.get("event_id"), *lines, start_id, placed.deleted_id])))
