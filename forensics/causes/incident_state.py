"""Decide whether an incident is over when the logs end, what is still open, and which process has to be stopped or started."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from forensics.causes.conditions import conditions
from forensics.causes.doubt import Doubt
from forensics.causes.ends_of_logs import LogEnds
from forensics.causes.occurrences import rows as occurrence
from forensics.causes.states import ORDER, Condition, End, Outcome, outcome
from forensics.relations.missing import first, greatest, least, names, plus

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs


@dataclass(frozen=True)
class IncidentState:
    """Whether an incident is over when the logs end; the attributes are columns of the view `incident`, apart from the ends of its troubles."""

    state: str
    over_ms: int | None
    over_how: str | None
    shown_ms: int | None
    still: list[str]
    targets: list[str]
    ends: frozenset[End] = frozenset()


def states(inputs: Inputs) -> dict[str, IncidentState]:
    """Return the state of each incident."""
    ends, doubt = LogEnds(inputs), Doubt(inputs)
    found = {incident_id: state_of(its, ends.last_ms) for incident_id, its in conditions(inputs, ends, doubt).items()}
    return {incident_id: _unless_lost(state, incident_id, doubt, inputs, ends.last_ms) for incident_id, state in found.items()}


def _unless_lost(state: IncidentState, incident_id: str, doubt: Doubt, inputs: Inputs, last_ms: int | None) -> IncidentState:
    """Return a state that is not over if lines about further effects may be lost, which then need not have ended."""
    if state.state != Outcome.OVER.value or not doubt:
        return state
    causes = [row for row in inputs.rows("root_cause") if row["incident_id"] == incident_id]
    its = [row for row in occurrence(inputs) if row["incident_id"] == incident_id]
    process_ids = {process_id for row in causes for process_id in row["process_ids"] or ()}
    process_ids.update(doubt.members({group_id for row in causes for group_id in row["group_ids"] or ()} | {row["group_id"] for row in its}))
    from_ms = least(*(row["from_lo_ms"] for row in causes), *(row["from_ts"] for row in its))
    # Effects may follow soon after the last one that is known.
    if not doubt.between(process_ids, from_ms, plus(state.over_ms, inputs.knobs.outage_untroubled_ms)):
        return state
    return replace(state, state=Outcome.UNKNOWN.value, over_ms=None, over_how=None, shown_ms=last_ms, targets=[])


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
        ends=frozenset(end for it in found for end, _ in it.ends),
    )
