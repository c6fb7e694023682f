"""Find the logs whose time zone is only assumed: then times of other files are not comparable with theirs."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import pyarrow.compute as pc

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs

#: A client prints when it started, in milliseconds since 1970. In its zone, the time of that line is at most this much earlier or later.
_EARLY_MS, _LATE_MS = 1_000, 60_000


def unsure_zones(inputs: Inputs, collected: Collection[str]) -> set[str]:
    """Return the processes whose logs are read in a time zone that nothing shows.

    Args:
        inputs: rows of `evidence_file` and `event_row`.
        collected: processes of which a GC log is certainly theirs; that of another one in their folder shows nothing of their zone.
    """
    files = inputs.rows("evidence_file", columns=["process_id", "time_zone_how"])
    unsure = {row["process_id"] for row in files if row["time_zone_how"] == "assumed"}
    unsure |= {row["process_id"] for row in files if row["time_zone_how"] == "gc_log"} - set(collected)
    return unsure - _shown_by_starts(inputs) if unsure else unsure


def _shown_by_starts(inputs: Inputs) -> set[str]:
    """Return the processes whose lines `Kafka startTimeMs: ...` all have the time that they print."""
    starts = inputs.rows("event_row", columns=["process_id", "ts", "start_time_ms"], where=pc.field("event") == "client_started")
    late = [(row["process_id"], row["ts"] - row["start_time_ms"]) for row in starts if row["ts"] is not None and row["start_time_ms"] is not None]
    return {process_id for process_id, _ in late} - {process_id for process_id, ms in late if not -_EARLY_MS <= ms <= _LATE_MS}
