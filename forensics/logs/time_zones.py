"""Find the processes that the machine's witnesses are about, and the logs whose time zone is only assumed: then times of other files are not comparable with theirs."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import pyarrow.compute as pc

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs, Row

#: A client prints when it started, in milliseconds since 1970. In its zone, the time of that line is at most this much earlier or later.
_EARLY_MS, _LATE_MS = 1_000, 60_000


class Owners:
    """The processes that rows of `machine_event` are about. A broker prints several logs, of which one is about groups.

    Args:
        inputs: rows of `machine_event`.
        main: the processes that are workers or clients, or main logs of brokers (`process_life.is_main`).
    """

    def __init__(self, inputs: Inputs, main: Collection[str]) -> None:
        self._main = frozenset(main)
        its = [self.of(row) for row in inputs.rows("machine_event", ["what", "process_ids", "event_id"]) if row["what"] in ("pause", "watched")]
        #: Those of which a GC log is certainly theirs.
        self.of_gc_logs = {process_ids[0] for process_ids in its if len(process_ids) == 1}

    def of(self, row: Row) -> list[str]:
        """Return the process that a row is about; of several, the main ones."""
        process_ids: list[str] = row["process_ids"] or []
        return process_ids if len(process_ids) == 1 else [process_id for process_id in process_ids if process_id in self._main]


def unsure_zones(inputs: Inputs, owners: Owners) -> set[str]:
    """Return the processes whose logs are read in a time zone that nothing shows.

    Args:
        inputs: rows of `evidence_file` and `event_row`.
        owners: a GC log that is certainly a process's own shows its zone; that of another one in its folder shows nothing.
    """
    files = inputs.rows("evidence_file", columns=["process_id", "time_zone_how"])
    unsure = {row["process_id"] for row in files if row["time_zone_how"] == "assumed"}
    unsure |= {row["process_id"] for row in files if row["time_zone_how"] == "gc_log"} - owners.of_gc_logs
    return unsure - _shown_by_starts(inputs) if unsure else unsure


def _shown_by_starts(inputs: Inputs) -> set[str]:
    """Return the processes whose lines `Kafka startTimeMs: ...` all have the time that they print."""
    starts = inputs.rows("event_row", columns=["process_id", "ts", "start_time_ms"], where=pc.field("event") == "client_started")
    late = [(row["process_id"], row["ts"] - row["start_time_ms"]) for row in starts if row["ts"] is not None and row["start_time_ms"] is not None]
    return {process_id for process_id, _ in late} - {process_id for process_id, ms in late if not -_EARLY_MS <= ms <= _LATE_MS}
