"""Find the run of a process, and the Kafka cluster that it belonged to, at each position of its log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.logs.instances import Instances
from forensics.relations.by_key import InTime

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs


class Clusters:
    """The Kafka cluster that each process belonged to at each position of its log.

    Args:
        inputs: rows of `process_start` and `process_cluster`.
    """

    def __init__(self, inputs: Inputs) -> None:
        self._instances = Instances(inputs)
        self._of = InTime(
            inputs.rows("process_cluster", ["process_id", "instance", "from_pos", "kafka_cluster"]), "from_pos", "process_id", "instance"
        )

    def place(self, process_id: str, stream_pos: int) -> tuple[int, str]:
        """Return the run of a process at the position of one of its lines, and the cluster."""
        instance = self._instances.at(process_id, stream_pos)
        stretch = self._of.last_until((process_id, instance), stream_pos)
        return instance, str(stretch["kafka_cluster"]) if stretch is not None else "unknown"

    def at(self, process_id: str, stream_pos: int) -> str:
        """Return the cluster of a process at the position of one of its lines."""
        return self.place(process_id, stream_pos)[1]


def worker_groups(inputs: Inputs) -> dict[tuple[str, int], str | None]:
    """Return the group of the Connect worker of each process run, at its end; None: it has none, or several."""
    rows = inputs.rows("process_cluster", ["process_id", "instance", "worker_group_id", "is_life_last"])
    return {(row["process_id"], row["instance"]): row["worker_group_id"] for row in rows if row["is_life_last"]}
