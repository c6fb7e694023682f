"""Find the run of a process, and the Kafka cluster that it belonged to, at each position of its log."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from typing import TYPE_CHECKING

from forensics.relations.by_key import InTime

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs


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
