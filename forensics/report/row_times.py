"""List the views that a report reads, and the columns with the times of their rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from forensics.report.window import PRINTED, RowTime

#: The column with the time at which a generation's rebalance began, from the coordinator's log.
GENERATION_BEGAN = ("prepared_ts",)
#: Columns with times by which it had certainly begun, the earliest step first; the reason for the members' requests may be older than the requests.
GENERATION_BEGUN_BY = ("first_asked_ts", "first_joined_ts", "stabilized_ts", "assigned_ts", "last_synced_ts")
#: The times of a generation by its coordinator's clock; its other times come from its members, on the reference clock.
BY_COORDINATOR = ("prepared_ts", "stabilized_ts", "assigned_ts")
#: The views that a report reads, and the time of their rows.
VIEWS: Mapping[str, RowTime] = {
    "source_file": RowTime(),
    "process": PRINTED,
    "member": replace(PRINTED, whose=""),
    "generation": RowTime(
        (*GENERATION_BEGAN, *GENERATION_BEGUN_BY),
        ("assigned_ts", "last_synced_ts", "stabilized_ts", "first_joined_ts", "first_asked_ts", "prepared_ts"),
        own=BY_COORDINATOR,
        whose="coordinator",
    ),
    "member_generation": RowTime(),
    "rebalance_blame": RowTime(("from_ts", "to_ts"), ("to_ts",), own=("from_ts", "to_ts"), whose="coordinator"),
    "duplicate_ledger": RowTime(("restarted_lo",), ("restarted_hi",)),
    "skip_ledger": RowTime(("started_lo",), ("started_hi",)),
    "open_rebalance": RowTime(("from_ts",), ("to_ts",)),
    "ownership": RowTime(("start_lo",), ("stop_hi",)),
    "unowned": RowTime(("from_lo",), ("to_hi",)),
    "split_brain": RowTime(("from_lo",), ("to_hi",)),
    "coordinator_episode": RowTime(("lost_lo", "lost_ts"), ("found_ts",), own=("lost_ts", "found_ts")),
    "clock_offset": RowTime(),
    "coverage": RowTime(("from_ts",), ("to_ts",), own=("from_ts", "to_ts")),
    "finding": RowTime(("from_ts",), ("to_ts",)),
    "occurrence": RowTime(("from_ts",), ("to_ts", "from_ts")),
    "incident": RowTime(("from_lo",), ("to_hi",)),
    "incident_gap": RowTime(("from_ts",), ("to_ts",)),
}
