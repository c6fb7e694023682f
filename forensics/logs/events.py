"""Read the rows of the view `event`, which is not stored: those of `event_row` without snapshots, copies of logs and damaged lines."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from forensics.relations.by_key import InTime

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs, Row


def event_table(inputs: Inputs, columns: Sequence[str], where: pc.Expression | None = None) -> pa.Table:
    """Return columns of events, of a case of any size.

    Args:
        inputs: rows of `event_row`, `copied_log` and `damaged_line`.
        columns: columns of `event_row`.
        where: a condition on its columns.
    """
    return inputs.table("event_row", columns, _counts(inputs, where))


def events(inputs: Inputs, columns: Sequence[str], where: pc.Expression) -> list[Row]:
    """Return events that a condition selects, as `event_table` does."""
    return inputs.rows("event_row", columns, _counts(inputs, where))


def _counts(inputs: Inputs, where: pc.Expression | None) -> pc.Expression:
    """Return a condition that also leaves out rows that are not events."""
    condition = pc.field("category") != "snapshot"
    if where is not None:
        condition &= where
    if copies := sorted(row["process_id"] for row in inputs.rows("copied_log")):
        condition &= ~pc.field("process_id").isin(pa.array(copies))
    if damaged := sorted(row["event_id"] for row in inputs.rows("damaged_line")):
        condition &= ~pc.field("event_id").isin(pa.array(damaged))
    return condition


class Clusters:
    """The Kafka cluster that each process belonged to at each position of its log.

    Args:
        inputs: rows of `process_start` and `process_cluster`.
    """

    def __init__(self, inputs: Inputs) -> None:
        self._starts: defaultdict[str, list[int]] = defaultdict(list)
        for row in inputs.rows("process_start", ["process_id", "starts"]):
            self._starts[row["process_id"]] += [start["stream_pos"] for start in row["starts"] or ()]
        for starts in self._starts.values():
            starts.sort()
        self._of = InTime(
            inputs.rows("process_cluster", ["process_id", "instance", "from_pos", "kafka_cluster"]), "from_pos", "process_id", "instance"
        )

    def place(self, process_id: str, stream_pos: int) -> tuple[int, str]:
        """Return the run of a process at the position of one of its lines, and the cluster."""
        instance = self.instance(process_id, stream_pos)
        stretch = self._of.last_until((process_id, instance), stream_pos)
        return instance, str(stretch["kafka_cluster"]) if stretch is not None else "unknown"

    def at(self, process_id: str, stream_pos: int) -> str:
        """Return the cluster of a process at the position of one of its lines."""
        return self.place(process_id, stream_pos)[1]

    def instance(self, process_id: str, stream_pos: int) -> int:
        """Return the run of a process at a position: 0 before its first start in the log."""
        return bisect_right(self._starts.get(process_id, ()), stream_pos)
