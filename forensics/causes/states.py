"""Declare every trouble that lasts: what begins it, what ends it, what only interrupts it. Whether an incident is over follows from this table alone.

A trouble is over if one of its ends has a line. It is not over (`open`) if a later line shows that it went on where an end would have been logged. Otherwise the
logs do not show it (`unknown`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum


class End(Enum):
    """Ways in which a trouble ends.

    Attributes:
        STARTED: started again: work by the line of its start, a process by the line that its next run has started; its first line is none.
        STOPPED: stopped, or shut down cleanly, so that nothing is left to go on.
        DELETED: deleted or configured away, or lost with the data of its cluster.
        JOINED: a member of its group again.
        FOUND: members found a coordinator again.
        COMPLETED: the group completed a generation, or stored its state.
        PASSED: its own end is stated with it, as for an outage whose duration is known.
    """

    STARTED = "started"
    STOPPED = "stopped"
    DELETED = "deleted"
    JOINED = "joined"
    FOUND = "found"
    COMPLETED = "completed"
    PASSED = "passed"


class Outcome(Enum):
    """Whether a trouble is over when the logs end."""

    OVER = "over"
    OPEN = "open"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class State:
    """One kind of trouble.

    Attributes:
        begins: what begins it.
        ends: what ends it.
        interrupts: what looks like an end and only interrupts it; empty: nothing.
        goes_on: which later line shows that it went on.
    """

    begins: str
    ends: frozenset[End]
    goes_on: str
    interrupts: str = ""


def _state(begins: str, *ends: End, goes_on: str, interrupts: str = "") -> State:
    return State(begins, frozenset(ends), goes_on, interrupts)


#: Every trouble that lasts, by the name that the column `still` has for it, the most severe first.
STATES: Mapping[str, State] = {
    "two_owners": _state(
        "a second owner of a task or partition began before the first had ended",
        *(End.STOPPED, End.PASSED),
        goes_on="both owners' logs, which continue until the logs end without the end of either",
        interrupts="a rebalance that does not reach the earlier owner",
    ),
    "broker_away": _state(
        "the process of a broker ended, or clients lost it",
        *(End.STARTED, End.FOUND),
        goes_on="lines of others after it was lost, when it had not started again",
        interrupts="a run that ends before it has started",
    ),
    "process_away": _state(
        "a process ended, was removed from its group, left at its poll timeout, was fenced, or could not start",
        *(End.JOINED, End.STARTED, End.STOPPED),
        goes_on="lines of its group after it was lost, without it; or its own line that it gave up",
        interrupts="a run that ends before it has started; a line of the process while it is no member",
    ),
    "rebalance": _state(
        "a rebalance began",
        End.COMPLETED,
        goes_on="lines of the coordinator or of its members, without a new generation",
        interrupts="another member that asks to join",
    ),
    "offsets_topic": _state("the topic of committed offsets could not be created", End.PASSED, goes_on="refused requests to create it"),
    "no_coordinator": _state(
        "members of a group lost their coordinator, or never found one",
        *(End.FOUND, End.PASSED, End.STARTED, End.STOPPED),
        goes_on="lines of a member that has not found one",
        interrupts="a coordinator that is found and lost again within seconds",
    ),
    "declared": _state(
        "the same connector was declared twice, or unrelated applications used one group",
        End.DELETED,
        goes_on="the declaration, which stays until it is changed",
    ),
    "fenced": _state(
        "a transactional producer was fenced, by another one or by its coordinator",
        *(End.STARTED, End.STOPPED, End.PASSED),
        goes_on="lines of its process after it was fenced, without a new producer for its transactional.id",
        interrupts="a transaction that its coordinator aborts, after which the same producer may go on",
    ),
    "group_empty": _state(
        "the last member of a group was removed",
        *(End.JOINED, End.DELETED),
        goes_on="lines of its coordinator, without a new generation",
        interrupts="a member that asks to join and gets no assignment",
    ),
    "no_owner": _state(
        "the owner of a task or partition ended, was removed or gave it up",
        *(End.STARTED, End.DELETED),
        goes_on="lines of its group's members, without a new owner",
        interrupts="an owner that is assigned and has not started",
    ),
    "clock": _state("a clock was wrong", End.PASSED, goes_on="its later lines, if it was wrong from some time on"),
    "zone": _state(
        "the times of a log were read in the wrong time zone",
        End.PASSED,
        goes_on="its later lines, if no line shows a change of the zone",
    ),
    "not_started": _state("work was assigned and not started", *(End.STARTED, End.DELETED), goes_on="lines of the worker, without the start"),
    "failed": _state(
        "a task or connector failed, or a worker's herder died",
        *(End.STARTED, End.DELETED, End.STOPPED),
        goes_on="lines of the worker after the failure, without a start",
        interrupts="a rebalance that leaves failed work where it is",
    ),
    "not_stored": _state("a coordinator could not store a group", *(End.COMPLETED, End.PASSED), goes_on="lines of the coordinator"),
}
#: Names of the states, the most severe first.
ORDER = tuple(STATES)


@dataclass(frozen=True)
class Condition:
    """One trouble of an incident, and what the logs show of its end.

    Attributes:
        state: its name in `STATES`; None: something that passed, with its end.
        ends: the ends that lines show, each with its time on the reference clock; None: at an unknown time.
        goes_on: True if a later line shows that it went on.
        is_with_logs: True if a shutdown ended it, with which the logs end: without that, it would have gone on.
        shown_ms: the logs show it up to this time; None: up to their end.
        targets: processes or brokers to stop or start.
    """

    state: str | None
    ends: Sequence[tuple[End, int | None]] = ()
    goes_on: bool = False
    is_with_logs: bool = False
    shown_ms: int | None = None
    targets: Sequence[str] = field(default=())

    def __post_init__(self) -> None:
        undeclared = {end for end, _ in self.ends} - (STATES[self.state].ends if self.state is not None else {End.PASSED})
        if undeclared:
            raise ValueError(f"{', '.join(end.value for end in undeclared)} does not end {self.state}")

    @property
    def outcome(self) -> Outcome:
        """Return whether it is over."""
        if self.ends:
            return Outcome.OPEN if self.is_with_logs else Outcome.OVER
        return Outcome.OPEN if self.goes_on else Outcome.UNKNOWN

    @property
    def end(self) -> tuple[End, int | None]:
        """Return its first end; one at an unknown time is the first, because then the time is unknown."""
        return min(self.ends, key=lambda end: (end[1] is not None, end[1] or 0))


def outcome(conditions: Iterable[Condition]) -> Outcome:
    """Return whether an incident with these conditions is over: if one is open, the incident is."""
    found = {it.outcome for it in conditions}
    return next((it for it in (Outcome.OPEN, Outcome.UNKNOWN) if it in found), Outcome.OVER)
