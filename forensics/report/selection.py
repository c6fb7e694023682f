"""Choose the rows of the groups and the time that a reader selected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, tzinfo

from forensics.clocks.reference import Reference
from forensics.errors import UsageError, did_you_mean
from forensics.report.incidents import by_incident
from forensics.report.model import Row
from forensics.report.row_times import VIEWS
from forensics.report.window import CaseTime, Window, parse

#: The columns that identify a generation.
GENERATION_KEY = ("kafka_cluster", "group_id", "incarnation", "generation")


@dataclass(frozen=True)
class Filters:
    """The reader's selection. Times have the forms that `window.parse_time` reads, in the reader's zone; empty means no limit."""

    since: str = ""
    until: str = ""
    groups: Sequence[str] = ()
    rules: Sequence[str] = ()
    zone: tzinfo = UTC


class Selected:
    """The rows that a reader selected.

    Args:
        rows: the rows of each view in `VIEWS`.
        filters: the reader's selection.
        reference: the clocks.
        time: the time of the case; None if nothing has a time.

    Raises:
        UsageError: the case does not have a selected time or group.
    """

    def __init__(self, rows: Mapping[str, list[Row]], filters: Filters, reference: Reference, time: CaseTime | None) -> None:
        self.window: Window = parse(filters.since, filters.until, time, filters.zone)
        self.groups = filters.groups
        self._rules, self._rows, self._reference = filters.rules, rows, reference
        self._coordinators = {tuple(g[k] for k in GENERATION_KEY): {"coordinator": g.get("coordinator")} for g in rows["generation"]}
        known = sorted({r["group_id"] for name in ("generation", "member", "ownership", "finding") for r in rows[name] if r.get("group_id")})
        for group in filters.groups:
            if group not in known:
                raise UsageError(
                    f"The case has no group `{group}`.", where="--group", fix=did_you_mean(group, known, f"Its groups: {', '.join(known) or 'none'}.")
                )

    def of(self, view: str) -> list[Row]:
        """Return the rows of a view that are about the selected groups, or about no group, and overlap the selected time."""
        rows = [r for r in self.in_time(view) if _in_groups(r, self.groups)]
        return [r for r in rows if not self._rules or r["rule"] in self._rules] if view == "finding" else rows

    def in_time(self, view: str) -> list[Row]:
        """Return the rows of a view that overlap the selected time."""
        rows = self._rows.get(view, [])
        return [r for r in rows if self._touches(view, r)] if self.has_limit else rows

    @property
    def has_limit(self) -> bool:
        """Return True if a time was selected."""
        return bool(self.window.since or self.window.until)

    def _touches(self, view: str, row: Row) -> bool:
        if view == "rebalance_blame":
            row = row | self._coordinators.get(tuple(row[k] for k in GENERATION_KEY), {})
        return self.window.touches(*VIEWS[view].of(row, self._reference))


def hit_in(incidents: list[Row], gaps: list[Row]) -> list[Row]:
    """Return incidents with the resources that had no owner, or two, because of them, in the reader's window.

    Args:
        incidents: incidents with their impact over the whole case.
        gaps: periods without an owner, or with two working owners, that overlap the window.
    """
    of = by_incident(gaps)

    def limited(incident: Row) -> Row:
        mine = [g for g in of.get(incident["incident_id"], []) if g["unowned_ms"] != 0]  # 0: it perhaps had an owner all the time
        idle = [g for g in mine if g["unowned_ms"] is not None]
        most = [g["unowned_hi_ms"] for g in idle]
        return incident | {
            "resources_hit": sorted({g["resource"] for g in mine if g["resource_kind"] != "group"}),
            "longest_outage_ms": max((g["unowned_ms"] for g in idle), default=None),
            "longest_outage_hi_ms": None if None in most else max(most, default=None),
            "double_work_ms": max((g["double_work_ms"] for g in mine if g["double_work_ms"] is not None), default=None),
        }

    return [limited(i) for i in incidents]


def seen_by(incident: Row, owned: list[Row], splits: list[Row]) -> Row:
    """Return an incident of several groups as it affected the selected ones: the resources, and for how long. A filter never changes its severity or cause."""
    hit = sorted(set(incident["resources_hit"]) & {o["resource"] for o in owned})
    double = [s["certain_ms"] for s in splits if s["resource"] in hit and s["verdict"] == "proved" and s["kind"] == "work" and s["certain_ms"]]
    return incident | {
        "resources_hit": hit,
        "double_work_ms": max(double, default=None),
        # The longest outage of all groups; its group is not kept.
        "longest_outage_ms": None,
        "longest_outage_hi_ms": None,
    }


def _in_groups(row: Row, groups: Sequence[str]) -> bool:
    return not groups or row.get("group_id") is None or row["group_id"] in groups
