"""Decide whether an incident is over when the logs end, what is still open, and which process has to be stopped or started."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from forensics.causes.conditions import conditions
from forensics.causes.ends_of_logs import LogEnds
from forensics.causes.missing import first, greatest, least, names
from forensics.causes.states import ORDER, Condition, End, Outcome, outcome

if TYPE_CHECKING:
    from forensics.causes.inputs import Inputs


@dataclass(frozen=True)
class IncidentState:
    """Whether an incident is over when the logs end; the attributes are columns of the view `incident`."""

    state: str
    over_ms: int | None
    over_how: str | None
    shown_ms: int | None
    still: list[str]
    targets: list[str]


def states(inputs: Inputs) -> dict[str, IncidentState]:
    """Return the state of each incident."""
    ends = LogEnds(inputs)
    return {incident_id: state_of(found, ends.last_ms) for incident_id, found in conditions(inputs, ends).items()}


def state_of(found: Sequence[Condition], last_ms: int | None) -> IncidentState:
    """Return the state of an incident with these troubles.

    Args:
        found: the troubles; at least one.
        last_ms: the end of the logs.
    """
    result = outcome(found)
    is_over = result is Outcome.OVER
    # If something is known to be open, unknown troubles are not reported as open.
    left = [it for it in found if it.outcome is result] if not is_over else []
    shut = [it for it in found if it.ends and it.end[0] is End.STOPPED]
    is_shut_down = bool(shut) and (is_over or all(it.is_with_logs for it in left))
    return IncidentState(
        state=result.value,
        over_ms=greatest(*(it.end[1] for it in found)) if is_over and all(it.end[1] is not None for it in found) else None,
        over_how="shut_down" if is_shut_down else "ended" if is_over else None,
        shown_ms=None if is_over else first(least(*(it.shown_ms for it in found)), last_ms),
        still=[state for state in ORDER if any(it.state == state for it in left)],
        targets=names(*(it.targets for it in (shut if is_over else [it for it in found if it.outcome is not Outcome.OVER]))),
    )
