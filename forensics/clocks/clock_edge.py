"""Compute the view `clock_edge`: pairs of log lines of two processes where one must have happened before the other.

Every message is sent before it is received, and inside one process lines are in order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from forensics.clocks.line_edges import epochs, membership_ends, new_ids, producers, replacements
from forensics.clocks.round_edges import replaced_edges, round_edges
from forensics.relations.inputs import once
from forensics.relations.missing import plus

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs


@once
def rows(inputs: Inputs) -> list[dict[str, Any]]:
    """Return the rows of the view `clock_edge`."""
    # If the lines of a process are not in the order in which they were printed, it is unknown which of them belong together.
    unordered = {row["process_id"] for row in inputs.rows("filtered_log", ["process_id"], pc.field("why") == "unordered")}
    resolutions = {
        row["process_id"]: row["resolution_ms"]
        for row in inputs.rows("process_cluster", ["process_id", "resolution_ms", "is_last"])
        if row["is_last"]
    }
    found = dict.fromkeys(round_edges(inputs))
    found |= dict.fromkeys(replaced_edges(inputs, replacements(inputs)))
    for pairs in (membership_ends, new_ids, epochs, producers):
        found |= dict.fromkeys(pairs(inputs))
    return [
        {
            "rule": pair.rule,
            "from_process_id": pair.from_process_id,
            "from_event_id": pair.from_event_id,
            "from_ts": pair.from_ms,
            "to_process_id": pair.to_process_id,
            "to_event_id": pair.to_event_id,
            "to_ts": pair.to_ms,
            # Printed times are truncated to the layout's resolution, so the later one may be later by nearly that much.
            "hi_ms": plus(pair.to_ms - pair.from_ms, resolutions[pair.to_process_id]),
        }
        for pair in found
        if pair.from_process_id != pair.to_process_id
        and pair.to_process_id in resolutions
        and unordered.isdisjoint((pair.from_process_id, pair.to_process_id))
    ]
