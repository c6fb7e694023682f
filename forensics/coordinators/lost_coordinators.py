"""Find the outages of members that lost their coordinator.

A member finds the address of its coordinator again immediately, often that of a broker that is down. So only a line that follows from a response, or a
discovery without another loss soon after, ends an outage.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from forensics.coordinators.coordinator_lines import Kind
from forensics.coordinators.outages import Outage, broker_of
from forensics.relations.missing import first, greatest, least, less, minus, there, up_to

if TYPE_CHECKING:
    from forensics.coordinators.coordinator_lines import Line, Member
    from forensics.relations.inputs import Knobs

_SERVED = frozenset([Kind.ANSWERED, Kind.ASSIGNED, Kind.CLOSED])
_OF_MEMBERS = frozenset(["joined", "synced", "worker_assigned", "heartbeat_failed"])
_JOINED = frozenset(["synced", "worker_assigned"])
_GIVEN_UP = frozenset(["worker_revoking", "partitions_lost"])
_LEFT = frozenset(["leaving", "poll_timeout"])
_FAILED = frozenset(["heartbeat_failed", "join_failed", "sync_failed"])
_NO_MEMBER = re.compile("unknown.?member|not aware of this member|not known in the current|illegal.?generation|member.?id", re.IGNORECASE)


def outages_of(member: Member, knobs: Knobs) -> Iterator[Outage]:
    """Yield the outages of a member."""
    for lines in _in_outages(member, knobs):
        yield _Lines(lines, knobs).outage(member)


@dataclass(frozen=True)
class _Seen:
    """A line of a member in view of its earlier lines.

    Attributes:
        line: the line.
        kind: what it shows about the coordinator, given the earlier lines.
        was_member: True if the client had been a member before, or had had its coordinator for long.
        is_flap: True if it lost the coordinator soon after it had found it.
    """

    line: Line
    kind: Kind
    was_member: bool
    is_flap: bool

    @property
    def is_first_refusal(self) -> bool:
        """Return True if the coordinator that was found refused the member: the member had not found one."""
        return self.kind is Kind.LOST and self.line.kind is Kind.REFUSED


class _History:
    """The state that the lines of a member have shown so far.

    Args:
        knobs: the thresholds.
        began_before: True if its log begins later than its process.
    """

    def __init__(self, knobs: Knobs, *, began_before: bool) -> None:
        self._knobs, self._began_before = knobs, began_before
        self._lost_pos: int | None = None
        self._lost_ms: int | None = None
        self._found_pos: int | None = None
        self._found_ms: int | None = None
        self._answered_pos: int | None = None
        self._beating_pos: int | None = None
        self._was_member: bool | None = None

    def add(self, line: Line) -> None:
        """Take another line into account."""
        if line.kind is Kind.LOST:
            self._lost_pos, self._lost_ms = line.stream_pos, greatest(self._lost_ms, line.at_ms)
        elif line.kind is Kind.FOUND:
            self._found_pos, self._found_ms = line.stream_pos, greatest(self._found_ms, line.at_ms)
        elif line.kind in _SERVED:
            self._answered_pos = line.stream_pos
        elif line.kind is Kind.BEATING:
            self._beating_pos = line.stream_pos
        if line.event is not None:
            self._was_member = self._was_member or line.event in _OF_MEMBERS

    def of(self, line: Line) -> _Seen:
        """Return the next line in view of these."""
        kind, since_ms = self._kind(line), minus(line.at_ms, self._found_ms)
        return _Seen(
            line,
            kind,
            was_member=self._had_coordinator(line),
            is_flap=kind is Kind.LOST and less(first(self._lost_pos, 0), self._found_pos) and up_to(since_ms, self._knobs.coordinator_settled_ms),
        )

    def begins(self, seen: _Seen) -> bool:
        """Return True if an outage begins with the next line."""
        since_ms = minus(seen.line.at_ms, self._found_ms)
        is_settled = less(self._lost_pos, self._found_pos) and less(self._knobs.coordinator_settled_ms, since_ms)
        is_over = self._lost_pos is None or less(self._lost_pos, self._answered_pos) or (is_settled and not seen.is_first_refusal)
        return seen.kind is Kind.LOST and is_over

    def _kind(self, line: Line) -> Kind:
        if line.kind is Kind.ASSIGNED:
            # The callback of an assignment follows the response, so a loss may come between the two.
            is_late = less(self._knobs.coordinator_settled_ms, minus(line.at_ms, self._lost_ms))
            return Kind.ANSWERED if is_late else Kind.OTHER
        if line.kind is Kind.REFUSED:
            # A refusal without a preceding loss and discovery, or after heartbeats, belongs to no outage by itself, because the loss is printed too.
            served_pos = greatest(self._answered_pos, self._beating_pos)
            is_unserved = served_pos is None or less(served_pos, self._found_pos)
            return Kind.LOST if less(self._lost_pos, self._found_pos) and is_unserved else Kind.OTHER
        return line.kind

    def _had_coordinator(self, line: Line) -> bool:
        if line.kind is not Kind.LOST:
            return bool(self._was_member)
        # A consumer that assigns itself its partitions never joins, and uses its coordinator for commits.
        is_long = less(self._knobs.least_session_default_ms, minus(line.at_ms, self._found_ms))
        # A client whose first line in a log that begins later than its process is a loss had a coordinator before. Only members send heartbeats.
        return is_long or (self._began_before if self._was_member is None else self._was_member)


def _in_outages(member: Member, knobs: Knobs) -> Iterator[list[_Seen]]:
    """Yield the lines of each outage: from its first loss to the next outage."""
    history = _History(knobs, began_before=member.client.instance == 0)
    outage: list[_Seen] = []
    for line in member.lines:
        seen = history.of(line)
        begins = history.begins(seen)
        if begins and outage:
            yield outage
            outage = []
        if begins or outage:
            outage.append(seen)
        history.add(line)
    if outage:
        yield outage


class _Lines:
    """The lines of one outage: up to the close of the client, if that was before it found a coordinator.

    Args:
        lines: its lines, in their order.
        knobs: the thresholds.
    """

    def __init__(self, lines: Sequence[_Seen], knobs: Knobs) -> None:
        self._knobs = knobs
        self._losses = [seen for seen in lines if seen.kind is Kind.LOST]
        later = [seen for seen in lines if seen.line.stream_pos > self._losses[-1].line.stream_pos]
        found = [seen for seen in later if seen.kind in (Kind.FOUND, Kind.ANSWERED)]
        closed = [seen for seen in later if seen.kind is Kind.CLOSED]
        is_closed = bool(closed) and (not found or closed[0].line.stream_pos < found[0].line.stream_pos)
        if is_closed:
            lines, later = ([seen for seen in its if seen.line.stream_pos < closed[0].line.stream_pos] for its in (lines, later))
        self._all, self._later = lines, later
        self._found = [] if is_closed else found
        self.found_ms = least(*(seen.line.at_ms for seen in self._found))
        self.closed_ms = least(*(seen.line.at_ms for seen in closed)) if is_closed else None
        self._lost_ms = least(*(seen.line.at_ms for seen in self._losses))
        # The effects of an outage on a member appear at the latest when it returns.
        self._effects = [seen.line for seen in lines if up_to(self._lost_ms, seen.line.at_ms) and self._is_effect(seen.line)]

    def _is_effect(self, line: Line) -> bool:
        return self.found_ms is None or self._is_soon(line, self._knobs.outage_affected_ms)

    def _is_soon(self, line: Line, most_ms: int) -> bool:
        """Return True if a line was printed at most this long after the coordinator was found."""
        return up_to(minus(line.at_ms, self.found_ms), most_ms)

    def outage(self, member: Member) -> Outage:
        """Return the outage."""
        lost, cleared = self._losses[0].line, [seen.line for seen in self._all if seen.kind is Kind.CLEARED]
        is_refused = any(seen.is_first_refusal for seen in self._losses)
        # Without the lines of the join before it, an assignment shows only that the coordinator had answered by then.
        is_found_before = bool(self._found) and self._found[0].line.event == "partitions_assigned"
        return Outage(
            of=member.client,
            kafka_cluster=lost.kafka_cluster,
            client_id=max(there(seen.line.client_id for seen in self._all), default=None),
            is_worker=lost.is_worker,
            task=max(there(seen.line.task for seen in self._all), default=None),
            was_member=self._losses[0].was_member,
            broker_id=broker_of(first(lost.coordinator_node, *(line.coordinator_node for line in cleared))),
            broker=first(lost.coordinator, *(line.coordinator for line in cleared)),
            new_broker_id=broker_of(self._new_coordinator(is_refused=is_refused)),
            is_refused=is_refused,
            lost_ms=self._lost_ms,
            found_ms=self.found_ms,
            closed_ms=self.closed_ms,
            back_ms=self._back_ms(),
            losses=sum(not seen.is_first_refusal for seen in self._losses),
            flaps=sum(seen.is_flap for seen in self._losses),
            causes=sorted(set(there(seen.line.error for seen in self._losses))),
            revoked=any(line.event in _GIVEN_UP for line in self._effects),
            thrown_out=any(_shows_lost_membership(line) for line in self._effects),
            left_group=any(_shows_poll_timeout(line) for line in self._effects),
            witness=self._witness(),
            lost_pos=lost.stream_pos,
            found_pos=self._found[0].line.stream_pos if self._found else None,
            # If a log never has heartbeats, their absence is no evidence.
            is_unsure=is_found_before or (is_refused and not member.shows_heartbeats),
        )

    def _new_coordinator(self, *, is_refused: bool) -> int | None:
        """Return the connection to the coordinator that finally answered, or that was named and refused the member."""
        by_found = self._found[0].line.coordinator_node if self._found and self._found[0].kind is Kind.FOUND else None
        named = [seen.line.coordinator_node for seen in self._all if seen.kind is Kind.FOUND]
        by_refusal = named[-1] if is_refused and named else None
        return by_refusal if by_found is None else by_found

    def _rejoins(self) -> bool:
        """Return True if the member joined because of the outage."""
        return any(seen.line.event == "joining" and self._is_soon(seen.line, self._knobs.outage_rejoined_ms) for seen in self._later)

    def _back_ms(self) -> int | None:
        """Return when it was a member again."""
        joined = (seen.line for seen in self._later if seen.line.event in _JOINED)
        rejoins = self._rejoins()
        return least(*(line.at_ms for line in joined if rejoins or self._is_soon(line, self._knobs.outage_back_ms)))

    def _witness(self) -> list[str]:
        """Return the first loss, its effects, and the line that ended it."""
        joined = [seen.line for seen in self._later if seen.line.event in _JOINED] if self._rejoins() else []
        lines = [
            self._losses[0].line,
            _first_of(self._effects, lambda line: line.event in _GIVEN_UP),
            _first_of(self._effects, lambda line: line.event in _LEFT or line.event in ("generation_reset", "heartbeat_failed")),
            self._losses[-1].line,
            self._found[0].line if self._found else None,
            joined[0] if joined else None,
        ]
        return list(dict.fromkeys(there(line.event_id for line in lines if line is not None)))


def _shows_lost_membership(line: Line) -> bool:
    if line.event == "generation_reset":
        return line.reason is not None and "pro-actively" not in line.reason
    return line.event in _FAILED and _NO_MEMBER.search(line.error or "") is not None


def _shows_poll_timeout(line: Line) -> bool:
    return line.event == "poll_timeout" or (line.event == "leaving" and "poll timeout" in (line.reason or ""))


def _first_of(lines: Iterable[Line], condition: Callable[[Line], bool]) -> Line | None:
    return next((line for line in lines if condition(line)), None)
