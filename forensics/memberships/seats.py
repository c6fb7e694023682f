"""Find the memberships that clients lost, in the clients' own lines: those that they were refused, and those that a coordinator's log shows as removed.

A membership begins when the client becomes a member, and lasts until it becomes a member again. A seat is a client of a group in one process run.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from forensics.clocks.offsets import Clocks
from forensics.logs.clusters import Clusters
from forensics.logs.events import events
from forensics.logs.member_rounds import member_rounds
from forensics.relations.conditions import one_of
from forensics.relations.missing import first, greatest, least, plus, there, up_to

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs, Row

_REFUSED = re.compile(
    "unknown.?member|not aware of this member|member id|member_id was not|member is not known|is unknown|FENCED_MEMBER", re.IGNORECASE
)
_NOT_AWARE = "The coordinator is not aware of this member"
_MAY_REFUSE = ("heartbeat_failed", "join_failed", "sync_failed", "generation_reset")
_IN = ("joined", "synced", "worker_assigned", "partitions_assigned")
_ANSWERS = ("joined", "synced", "coordinator_discovered")
_KINDS = dict.fromkeys(_IN, "in") | {"coordinator_lost": "lost", "coordinator_discovered": "found", "joining": "asked"}
#: Of lines at the same time, a request to join is the last: only requests that are certainly earlier count.
_TURNS = {"asked": 2, "in": 1}

#: Group, process, run of the process, client.
Seat = tuple[str, str, int, str]


@dataclass
class Mark:
    """A line about a seat, or its removal in the coordinator's log.

    Attributes:
        at_ms: by the process's own clock.
        kind: in (it became a member), lost and found (its coordinator), asked (to join), refused, or removed.
        session_ms: its session timeout, for a removal; 0: unknown.
        answered_ms: last response of the coordinator up to here.
        asked_before_ms: last request to join up to here.
        let_in_asked_ms: last request to join that was followed by a membership up to here.
    """

    at_ms: int
    stream_pos: int
    event_id: str
    event: str
    kind: str
    member_id: str | None
    generation: int | None = None
    kafka_cluster: str | None = None
    is_worker: bool = False
    session_ms: int = 0
    answered_ms: int | None = None
    asked_before_ms: int | None = None
    let_in_asked_ms: int | None = None

    @property
    def place(self) -> tuple[int, int, str]:
        """Return its place among the lines of a process."""
        return self.at_ms, self.stream_pos, self.event_id


@dataclass
class LostSeat:
    """A membership that its client was refused, or removed from.

    Attributes:
        member_id: member id; None: unknown.
        generation: last generation that its client printed; None: unknown.
        removed_id: event of the removal; None: no coordinator's log has one that can be compared.
        removed_member: member id that was removed.
        noticed: its client's first line about it.
        refused: its first refusal.
        last_lost_ms: last loss of its coordinator; all times are those of its own clock.
        found_ms: its coordinator was found, or answered, after that.
        first_found_ms: its coordinator was found, or answered, for the first time after it had noticed.
        answered_ms: last response of its coordinator before it noticed, or before it was removed.
        is_joining: True if it had asked to join before it was removed.
        back_ms: it became a member again; None: it did not.
        back_id: event of that.
        is_replaced: True if others were in the next generation without it.
        replaced_ms: when they were; None: unknown, or on another clock.
        last_incarnation: incarnation of its last generation; None: its removal is logged.
        last_generation: its last generation.
    """

    group_id: str
    process_id: str
    instance: int
    client: str
    kafka_cluster: str | None
    is_worker: bool
    member_id: str | None
    generation: int | None
    removed_id: str | None
    removed_member: str | None
    noticed: Mark | None
    refused: Mark | None
    last_lost_ms: int | None
    found_ms: int | None
    first_found_ms: int | None
    answered_ms: int | None
    is_joining: bool
    back_ms: int | None
    back_id: str | None
    is_replaced: bool = False
    replaced_ms: int | None = None
    last_incarnation: int | None = None
    last_generation: int | None = None


def lost_seats(inputs: Inputs, removed: Sequence[Row]) -> list[LostSeat]:
    """Return the memberships that clients lost.

    Args:
        inputs: rows of `client_event`, `event_row`, `member_round`, `join_round` and `clock_offset`.
        removed: rows of `removed_member`.
    """
    seats = _seats(inputs, removed)
    rounds: _Rounds | None = None
    found = []
    for seat, marks in seats.items():
        if not any(mark.kind in ("removed", "refused") for mark in marks):
            continue
        _number(marks)
        memberships = _memberships(marks)
        for number, membership in enumerate(memberships):
            following = memberships[number + 1] if number + 1 < len(memberships) else ()
            if (lost := _lost(inputs, seat, membership, following)) is None:
                continue
            if lost.removed_id is None and lost.noticed is not None:
                rounds = rounds or _Rounds(inputs)
                rounds.replace(lost, lost.noticed)
            found.append(lost)
    return found


def _seats(inputs: Inputs, removed: Sequence[Row]) -> dict[Seat, list[Mark]]:
    """Return the lines of each seat of a process in which a client was refused or removed."""
    seats: defaultdict[Seat, list[Mark]] = defaultdict(list)
    for row in _lines(inputs, {row["process_id"] for row in removed}):
        kind = _KINDS.get(row["event"]) or ("refused" if _is_refusal(row) else "in" if row["event"] == "member_state_changed" else None)
        if kind is None:
            continue
        seat = row["group_id"], row["process_id"], row["instance"], row["client"]
        mark = Mark(row["at_ms"], row["stream_pos"], row["event_id"], row["event"], kind, row["member_id"], row["generation"])
        mark.kafka_cluster, mark.is_worker = row["kafka_cluster"], row["is_worker"]
        seats[seat].append(mark)
    usable = [row for row in removed if row["process_id"] is not None and row["own_lo_ms"] is not None]

    # If the clocks leave the time of the removal open, it is omitted: the member's own lines with that id show the membership.
    def is_open(row: Row) -> bool:
        return bool(row["own_hi_ms"] - row["own_lo_ms"] > inputs.knobs.coordinator_together_ms)

    open_rows = [row for row in usable if is_open(row)]
    printed = _printed_members(inputs, open_rows) if open_rows else set()
    for row in usable:
        if is_open(row) and (row["process_id"], row["group_id"], row["member_id"]) in printed:
            continue
        seat = row["group_id"], row["process_id"], row["instance"], row["client"]
        removal = Mark(row["own_lo_ms"], -1, row["removed_id"], "member_expired", "removed", row["member_id"], session_ms=row["session_ms"] or 0)
        seats[seat].append(removal)
    return seats


def _lines(inputs: Inputs, removed_processes: set[str | None]) -> Iterator[Row]:
    """Yield the clients' lines about memberships, of processes with a removal or a refusal."""
    event, reason = pc.field("event"), pc.field("reason")
    is_not_aware = pc.starts_with(reason, _NOT_AWARE)
    may_refuse = one_of("event", (*_MAY_REFUSE, "member_fenced")) | is_not_aware
    columns = ["kafka_cluster", "group_id", "process_id", "instance", "client", "is_worker", "at_ms", "stream_pos", "event_id", "event"]
    columns += ["member_id", "generation", "group_instance_id", "reason", "cause", "error"]
    is_usable = pc.field("at_ms").is_valid() & pc.field("group_id").is_valid()
    refusals = [row for row in inputs.rows("client_event", columns, may_refuse & is_usable) if _is_refusal(row)]
    processes = removed_processes | {row["process_id"] for row in refusals}
    yield from refusals
    yield from inputs.rows("client_event", columns, one_of("event", _KINDS) & is_usable & one_of("process_id", processes))
    # A member of a share group owns no partition: its membership begins when it is stable.
    is_stable = (pc.field("client_kind") == "ShareConsumer") & (event == "member_state_changed") & (pc.field("state_to") == "STABLE")
    columns = ["process_id", "stream_pos", "ts", "event_id", "event", "group_id", "client_id", "thread", "member_id"]
    clusters: Clusters | None = None
    for row in events(inputs, columns, is_stable & pc.field("ts").is_valid() & pc.field("group_id").is_valid()):
        clusters = clusters or Clusters(inputs)
        instance, kafka_cluster = clusters.place(row["process_id"], row["stream_pos"])
        client = first(row["client_id"], row["thread"], "-")
        yield row | {
            **{"kafka_cluster": kafka_cluster, "instance": instance, "client": client, "is_worker": False, "at_ms": row["ts"], "generation": None},
            **dict.fromkeys(("group_instance_id", "reason", "cause", "error")),
        }


def _printed_members(inputs: Inputs, removed: Sequence[Row]) -> set[tuple[str, str, str]]:
    """Return process, group and member id of the clients' lines with one of these members."""
    is_theirs = one_of("member_id", (row["member_id"] for row in removed)) & pc.field("at_ms").is_valid()
    rows = inputs.rows("client_event", ["process_id", "group_id", "member_id"], is_theirs)
    return {(row["process_id"], row["group_id"], row["member_id"]) for row in rows}


def _is_refusal(row: Row) -> bool:
    if row["event"] in _KINDS:
        return False
    if row["event"] == "member_fenced" and row["group_instance_id"] is None or (row["reason"] or "").startswith(_NOT_AWARE):
        return True
    return row["event"] in _MAY_REFUSE and _REFUSED.search(first(row["cause"], row["error"], row["reason"], "")) is not None


def _number(marks: list[Mark]) -> None:
    """Put the lines of a seat in order, and note what came before each."""
    asked_ms = let_in_ms = answered_ms = None
    for mark in sorted(marks, key=lambda mark: (mark.at_ms, _TURNS.get(mark.kind, 0), mark.stream_pos, mark.event_id)):
        if mark.kind == "asked":
            asked_ms = mark.at_ms
        elif mark.kind == "in":
            let_in_ms = greatest(let_in_ms, asked_ms)
        mark.asked_before_ms, mark.let_in_asked_ms = asked_ms, let_in_ms
    marks.sort(key=lambda mark: mark.place)
    for mark in marks:
        if mark.event in _ANSWERS:
            answered_ms = mark.at_ms
        mark.answered_ms = answered_ms


def _memberships(marks: Sequence[Mark]) -> list[list[Mark]]:
    """Return the lines of each membership of a seat; the first are those before it became a member in its log."""
    found: list[list[Mark]] = [[]]
    for mark in marks:
        if mark.kind == "in":
            found.append([])
        found[-1].append(mark)
    return found


def _lost(inputs: Inputs, seat: Seat, marks: Sequence[Mark], following: Sequence[Mark]) -> LostSeat | None:
    """Return a membership if its client was refused or removed.

    Args:
        inputs: the thresholds.
        seat: the seat.
        marks: its lines.
        following: the lines of the next membership, which begin with the one that shows it.
    """
    of_kind: defaultdict[str, list[Mark]] = defaultdict(list)
    for mark in marks:
        of_kind[mark.kind].append(mark)
    removals, refusals = of_kind["removed"], of_kind["refused"]
    if not removals and not refusals:
        return None
    refused = min(refusals, key=lambda mark: mark.place, default=None)
    since_ms = _since(inputs, of_kind)
    noticed = min((mark for mark in marks if mark.kind in ("lost", "refused") and mark.at_ms >= since_ms), key=lambda mark: mark.place, default=None)
    # A refusal is a response of the coordinator, so a loss after it is another loss.
    lost = [mark.at_ms for mark in of_kind["lost"] if mark.at_ms >= since_ms and (refused is None or mark.at_ms <= refused.at_ms)]
    last_lost_ms = max(lost, default=None)
    answers = [mark.at_ms for mark in marks if mark.kind in ("found", "refused")]
    asked_ms = min((mark.at_ms for mark in of_kind["asked"]), default=None)
    removed_ms = min((mark.at_ms for mark in removals), default=None)
    back = following[0] if following else None
    return LostSeat(
        *seat,
        kafka_cluster=max(there(mark.kafka_cluster for mark in marks), default=None),
        is_worker=any(mark.is_worker for mark in marks),
        member_id=max(there(mark.member_id for mark in marks), default=None),
        generation=greatest(*(mark.generation for mark in (*of_kind["in"], *refusals))),
        removed_id=max((mark.event_id for mark in removals), default=None),
        removed_member=max(there(mark.member_id for mark in removals), default=None),
        noticed=noticed,
        refused=refused,
        last_lost_ms=last_lost_ms,
        found_ms=min((at_ms for at_ms in answers if up_to(last_lost_ms, at_ms)), default=None),
        first_found_ms=min((at_ms for at_ms in answers if noticed is not None and at_ms >= noticed.at_ms), default=None),
        answered_ms=first(noticed.answered_ms if noticed is not None else None, least(*(mark.answered_ms for mark in removals))),
        is_joining=asked_ms is not None and removed_ms is not None and asked_ms < removed_ms,
        back_ms=back.at_ms if back is not None else None,
        back_id=back.event_id if back is not None else None,
    )


def _since(inputs: Inputs, of_kind: defaultdict[str, list[Mark]]) -> int:
    """Return when the trouble of a membership can have begun: a coordinator that was found and kept for long ends the earlier trouble."""
    if of_kind["removed"]:
        return min(mark.at_ms - mark.session_ms for mark in of_kind["removed"]) - int(inputs.knobs.heartbeat_late_ms)
    refused_ms = min(mark.at_ms for mark in of_kind["refused"])
    settled = [mark.at_ms for mark in of_kind["found"] if mark.at_ms + inputs.knobs.coordinator_settled_ms <= refused_ms]
    return int(first(max(settled, default=None), min((mark.at_ms for mark in of_kind["in"]), default=None), 0))


@dataclass(frozen=True)
class _Round:
    """A round of a seat: its generation and when it was synced, by its own clock; `hi_ms`: when it had joined, by the reference clock."""

    at_ms: int | None
    generation: tuple[str, str, int, int]
    hi_ms: int | None
    reference_process_id: str


@dataclass
class _Rounds:
    """Without the coordinator's log: the last generation of a member, and when others were in the next one without it.

    Args:
        inputs: rows of views.
    """

    inputs: Inputs
    _of_seat: dict[Seat, list[_Round]] = field(init=False)

    def __post_init__(self) -> None:
        self._clocks, self._together_ms = Clocks(self.inputs), self.inputs.knobs.coordinator_together_ms
        seats: defaultdict[Seat, list[_Round]] = defaultdict(list)
        self._joined: defaultdict[tuple[str, str, int, int], dict[str, int | None]] = defaultdict(dict)
        for seat, entry in self._entries():
            seats[seat].append(entry)
            of_clock = self._joined[entry.generation]
            of_clock[entry.reference_process_id] = least(of_clock.get(entry.reference_process_id), entry.hi_ms)
        self._all = {seat: {(entry.generation, entry.reference_process_id) for entry in its} for seat, its in seats.items()}
        self._of_seat = {
            seat: sorted((entry for entry in its if entry.at_ms is not None), key=lambda entry: (entry.at_ms, entry.generation[2:]))
            for seat, its in seats.items()
        }

    def _entries(self) -> Iterator[tuple[Seat, _Round]]:
        times = ["synced_ms", "joined_ms", "worker_assigned_ms"]
        for row in member_rounds(self.inputs, ["instance", *times], ["kafka_cluster", "incarnation", "generation"]):
            clock = self._clocks.of(row["process_id"])
            if clock is None:
                continue
            # An uncertain clock gives no usable time.
            is_close = clock.hi_ms - clock.lo_ms <= self._together_ms
            joined_ms = first(row["joined_ms"], row["synced_ms"], row["worker_assigned_ms"])
            yield (
                (row["group_id"], row["process_id"], row["instance"], row["client"]),
                _Round(
                    first(*(row[name] for name in times)),
                    (row["kafka_cluster"], row["group_id"], row["incarnation"], row["generation"]),
                    clock.latest(joined_ms) if is_close else None,
                    clock.reference_process_id,
                ),
            )

    def replace(self, lost: LostSeat, noticed: Mark) -> None:
        """Note the last generation of a membership before it was noticed to be lost, and whether others had moved on."""
        seat = lost.group_id, lost.process_id, lost.instance, lost.client
        its = self._of_seat.get(seat, [])
        at = bisect_right(its, noticed.at_ms, key=lambda entry: entry.at_ms or 0)
        if at == 0:
            return
        last = its[at - 1]
        *_, lost.last_incarnation, lost.last_generation = last.generation
        clock = self._clocks.of(lost.process_id)
        # If it asked again after that generation and became a member, the lines that show its generation are missing.
        if clock is None or (noticed.let_in_asked_ms is not None and last.at_ms is not None and noticed.let_in_asked_ms > last.at_ms):
            return
        following = (*last.generation[:3], last.generation[3] + 1)
        others = {reference: hi_ms for reference, hi_ms in self._joined.get(following, {}).items() if (following, reference) not in self._all[seat]}
        lost.is_replaced = bool(others)
        if clock.hi_ms - clock.lo_ms <= self._together_ms:
            lost.replaced_ms = plus(others.get(clock.reference_process_id), clock.hi_ms)
