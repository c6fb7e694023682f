"""Order root causes with the findings that they caused, each once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from forensics.report.model import Report, Row

#: Keys of a finding below its incident in JSON; the others are in `findings`.
_FINDING_KEYS = ("finding_id", "rule", "severity", "verdict", "kafka_cluster", "group_id", "subject", "from_ts", "to_ts", "headline", "caused_how")
#: A bound this long before the first line comes not from a line, but from the longest session timeout.
_LONG_BEFORE = timedelta(minutes=1)
#: Causes that affect several processes in the same way, so that their incidents are shown as one. The finding of such an incident says more than the incident.
MERGED_CAUSES = ("clock_wrong",)
#: The columns that state whether and when an incident ended.
STATED_END = ("to_hi", "over_since", "shown_until", "state", "outcome")
#: Codes of causes that happen at a moment; the others begin and last.
_MOMENTS = frozenset({"process_killed", "process_restarted", "ended_unsaid", "fell_silent", "members_removed", "coordinator_moved", "offsets_lost"})


@dataclass(frozen=True)
class Effect:
    """A finding, and the findings that it caused."""

    finding: Row
    effects: tuple[Effect, ...]


def by_incident(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """Return rows by their incident, in their order; rows without an incident are left out."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        if row.get("incident_id"):
            found.setdefault(row["incident_id"], []).append(row)
    return found


def in_one(texts: Sequence[str], limit: int) -> str:
    """Return the texts of merged incidents as one, and how many are above the limit."""
    return "; ".join(texts[:limit]) + f"; and {len(texts) - limit} more" * (len(texts) > limit)


def is_reported(incident: Row, findings: Sequence[Row]) -> bool:
    """Return True if a report shows an incident."""
    if incident["severity"] == "note":
        return bool(incident["resources_hit"]) or incident["cause"] == "process_restarted"
    is_shown = incident["code"] in ("ended_unsaid", "fell_silent") or "broker_cut_off" in (incident["alternatives"] or ())
    return incident["cause"] != "unknown" or is_shown or bool(findings)


def is_among_findings(incident: Row, tree: Sequence[Effect]) -> bool:
    """Return True if an incident is among the findings: above its effects, or by itself if no finding reports it."""
    return bool(tree) or not incident["finding_ids"] and is_reported(incident, ())


def lacks_earliest_begin(report: Report, incident: Row) -> bool:
    """Return True if lines show only by when an incident had begun: its earliest time is long before all of them."""
    extent = report.extent
    return bool(extent and incident["from_lo"] and incident["from_hi"] and incident["from_lo"] < extent[0] - _LONG_BEFORE)


def began(report: Report, incident: Row, moment: Callable[[datetime, datetime], str]) -> str:
    """Return when an incident happened or began: `at 07:51:44`, `the first time between 07:51:40 and 07:51:48`, `began by 07:51:48`; empty: before the logs begin.

    Args:
        report: what was found.
        incident: the incident.
        moment: formats a moment that is known by its bounds.
    """
    lo, hi = incident["from_lo"], incident["from_hi"]
    if not lo:
        return ""
    when = f"by {moment(hi, hi)}" if lacks_earliest_begin(report, incident) else moment(lo, hi)
    between = f"between {when.replace(' to ', ' and ')}" if " to " in when else when if when.startswith("by ") else f"at {when}"
    if incident["times"] > 1:
        return f"the first time {between}"
    return between if incident["code"] in _MOMENTS else f"began {between}"


def ended(incident: Row) -> datetime | None:
    """Return when an incident had ended with its consequences or, if the logs do not show that, up to when they show it; None: it existed all the time."""
    over: datetime | None = incident.get("over_since")
    # As its outcome prints it: over by the next full second.
    by = over + timedelta(microseconds=-over.microsecond % 1_000_000) if over else None
    began_by: datetime | None = incident["from_hi"]
    return max((at for at in (incident["to_hi"], by, incident.get("shown_until")) if at), default=began_by) if began_by else None


def outcome(incident: Row) -> list[str]:
    """Return whether an incident is over, since when, or what is not over; empty in a case of an earlier release, which lacks this column."""
    return [incident["outcome"]] if incident.get("outcome") else []


def effects(findings: Iterable[Row]) -> tuple[Effect, ...]:
    """Return the findings that an incident's cause produced directly, each with its own effects."""
    mine = {f["finding_id"]: f for f in findings}
    below: dict[str | None, list[Row]] = {}
    for f in mine.values():
        cause = f.get("caused_by")
        below.setdefault(cause if cause in mine and cause != f["finding_id"] else None, []).append(f)

    def under(cause: str | None) -> tuple[Effect, ...]:
        return tuple(Effect(f, under(f["finding_id"])) for f in below.get(cause, ()))

    return under(None)


def walk(tree: Iterable[Effect], depth: int = 0) -> Iterator[tuple[int, Row]]:
    """Yield every finding of a tree with its depth, causes before their effects."""
    for node in tree:
        yield depth, node.finding
        yield from walk(node.effects, depth + 1)


def brief(report: Report) -> list[Row]:
    """Return, for the JSON report, the incidents, the most severe first, each with `findings`, and these with `effects`."""
    of = by_incident(report.findings)

    def with_effects(node: Effect) -> Row:
        return {key: node.finding.get(key) for key in _FINDING_KEYS} | {"effects": [with_effects(e) for e in node.effects]}

    return [incident | {"findings": [with_effects(node) for node in effects(of.get(incident["incident_id"], ()))]} for incident in report.incidents]


def causes(report: Report) -> dict[str, Row]:
    """Return by finding_id what caused the finding: another finding, else the incident itself, if its cause is known or narrowed down."""
    findings = {f["finding_id"]: f for f in report.findings}
    incidents = {i["incident_id"]: i for i in report.incidents if i["code"] != "unexplained"}
    found = {f["finding_id"]: findings.get(f.get("caused_by") or "") or incidents.get(f.get("incident_id") or "") for f in report.findings}
    return {finding_id: cause for finding_id, cause in found.items() if cause}
