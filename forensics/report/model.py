"""Hold the selected rows of a case in one plain structure: the JSON report, from which the other formats are made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from functools import cached_property
from typing import Any

from forensics.clocks.reference import Reference
from forensics.report.incidents import by_incident

Row = dict[str, Any]


@dataclass(frozen=True)
class Report:
    """The selected rows of a case, with times as datetimes in UTC.

    Attributes:
        case: manifest facts, `processes` and `source_files`.
        incidents: root causes, the most severe first.
        incident_gaps: periods without an owner, or with two, that the incidents caused.
        groups: one entry per group with its `generations`, `members`, `member_generations`, `rebalance_blame`, `duplicate_ledger` and
            `open_rebalance`.
        skipped: rows of `skip_ledger`; the JSON report does not have them.
        filters: the selection, as printed in the report.
        examined: the basis of the answer about split brain, from `examined.examine`.
        groups_named: groups that only single lines name, if the logs show no generation, member, ownership or finding of any group.
        errors: the errors of the group protocol that members printed, with `known` (its meaning), `said`, `times` and the first line, the most
            frequent first, if no incident and no finding above a note reports them.
        left_empty: groups that had no members when the logs end, by their coordinators' logs: since when.
        commits_back: how many commits of each group went back, by dumps of `__consumer_offsets`.
        empty_groups: times in which a group had no members, if no finding above a note reports them.
        zone: the reader's zone for times in texts; the rows are in UTC.
    """

    case: Row
    coverage: list[Row]
    clocks: list[Row]
    groups: list[Row]
    ownership: list[Row]
    unowned: list[Row]
    split_brain: list[Row]
    coordinator_episodes: list[Row]
    findings: list[Row]
    incidents: list[Row]
    incident_gaps: list[Row] = field(default_factory=list)
    skipped: list[Row] = field(default_factory=list)
    filters: Row = field(default_factory=dict)
    examined: Row = field(default_factory=dict)
    groups_named: list[str] = field(default_factory=list)
    errors: list[Row] = field(default_factory=list)
    left_empty: dict[str, datetime] = field(default_factory=dict)
    commits_back: dict[str, int] = field(default_factory=dict)
    empty_groups: list[Row] = field(default_factory=list)
    zone: tzinfo = UTC

    @cached_property
    def pairs_by_incident(self) -> Mapping[str, Sequence[Row]]:
        """Return the pairs of owners by the incident that caused them."""
        return by_incident(self.split_brain)

    @cached_property
    def gaps_by_incident(self) -> Mapping[str, Sequence[Row]]:
        """Return the periods without an owner, or with two, by the incident that caused them."""
        return by_incident(self.incident_gaps)

    @cached_property
    def owner_starts(self) -> Mapping[str, datetime | None]:
        """Return by when each owner had its resource."""
        return {o["ownership_id"]: o["start_hi"] for o in self.ownership}

    @cached_property
    def group_numbers(self) -> Mapping[str, Sequence[int]]:
        """Return the places in `groups` of each group ID, one for each Kafka cluster that has it."""
        found: dict[str, list[int]] = {}
        for n, group in enumerate(self.groups):
            found.setdefault(group["group_id"], []).append(n)
        return found

    @cached_property
    def skipped_at(self) -> Mapping[tuple[Any, ...], Row]:
        """Return the rows of `skip_ledger` by cluster, group, partition, and the line in which a consumer started to read."""
        return {(s["kafka_cluster"], s["group_id"], s["resource"], s["event_id"]): s for s in self.skipped}

    @cached_property
    def reference(self) -> Reference:
        """Return the reference clocks."""
        return Reference(self.clocks, self.case["processes"])

    @cached_property
    def extent(self) -> tuple[datetime, datetime] | None:
        """Return the earliest and the latest moment of any line of all processes, on the reference clock."""
        return self.reference.extent(self.case["processes"])
