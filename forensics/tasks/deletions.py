"""Find when connectors were deleted."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from operator import itemgetter
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from forensics.clocks.offsets import Clocks

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs
    from forensics.tasks.failures import Failure


class Deletions:
    """The lines of workers about the deletion of connectors, on the reference clock.

    Args:
        inputs: rows of `fact_line` and `clock_offset`.
    """

    def __init__(self, inputs: Inputs) -> None:
        clocks = Clocks(inputs)
        self._of: defaultdict[tuple[str | None, ...], list[tuple[int, str, str]]] = defaultdict(list)
        columns = ["kafka_cluster", "worker_group_id", "connector", "process_id", "at_ms", "event_id"]
        for row in inputs.rows("fact_line", columns, pc.field("event") == "connector_config_removed"):
            clock = clocks.of(row["process_id"])
            lo_ms = clock.earliest(row["at_ms"]) if clock is not None else None
            if clock is not None and lo_ms is not None and None not in (row["kafka_cluster"], row["worker_group_id"], row["connector"]):
                place = row["kafka_cluster"], row["worker_group_id"], row["connector"], clock.reference_process_id
                self._of[place].append((lo_ms, row["process_id"], row["event_id"]))
        for its in self._of.values():
            its.sort()

    def after(self, failure: Failure, reference_process_id: str, from_ms: int | None) -> tuple[int | None, str | None]:
        """Return when the connector of a failure was deleted after that time, at the earliest, and the line that shows it."""
        its = self._of.get((failure.kafka_cluster, failure.group_id, failure.connector, reference_process_id), [])
        at = bisect_left(its, from_ms, key=itemgetter(0)) if from_ms is not None else len(its)
        return (its[at][0], its[at][2]) if at < len(its) else (None, None)
