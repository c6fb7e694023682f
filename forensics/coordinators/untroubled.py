"""Find who had a coordinator while members of the group had none: other members, and the coordinator's other groups."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from forensics.clocks.offsets import Clocks
from forensics.logs.filtered_logs import filtered_logs
from forensics.relations.conditions import one_of
from forensics.relations.missing import first, less, minus, plus, there, up_to

if TYPE_CHECKING:
    from forensics.clocks.offsets import Offset
    from forensics.relations.inputs import Inputs, Row


def _certain_end(outage: Row) -> int | None:
    """Return the end of an outage, which is as uncertain as the loss: lines that may be after it do not count."""
    return minus(outage["to_ms"], first(minus(outage["first_lost_ms"], outage["from_ms"]), 0))


class UntroubledMembers:
    """Members of a group in other processes whose logs continue through an outage, or that joined a generation during it.

    Args:
        inputs: rows of `join_round`, `process`, `clock_offset` and `filtered_log`.
        outages: rows of `group_outage`.
    """

    def __init__(self, inputs: Inputs, outages: Sequence[Row]) -> None:
        self._clocks, self._untroubled_ms = Clocks(inputs), inputs.knobs.outage_untroubled_ms
        # A filtered log may also lack the line in which the member lost its coordinator.
        filtered = filtered_logs(inputs)
        columns = ["process_id", "reference_process_id", "first_ts", "last_ts"]
        self._processes = {row["process_id"]: row for row in inputs.rows("process", columns) if row["process_id"] not in filtered}
        self._joins: defaultdict[tuple[str, str], defaultdict[str, list[int | None]]] = defaultdict(lambda: defaultdict(list))
        columns = ["kafka_cluster", "group_id", "process_id", "synced_ms", "joined_ms"]
        for kafka_cluster, group_id, process_id, synced_ms, joined_ms in inputs.distinct(
            "join_round", columns, one_of("group_id", (outage["group_id"] for outage in outages))
        ):
            self._joins[kafka_cluster, group_id][process_id].append(first(synced_ms, joined_ms))
        self._times = {(group, process_id): sorted(there(times)) for group, its in self._joins.items() for process_id, times in its.items()}

    def of(self, outage: Row) -> Row:
        """Return the number of their processes."""
        group = outage["kafka_cluster"], outage["group_id"]
        its = (process_id for process_id in self._joins.get(group, ()) if process_id not in outage["who"])
        return {"untroubled_count": sum(self._is_untroubled(outage, process_id, self._times[group, process_id]) for process_id in its)}

    def _is_untroubled(self, outage: Row, process_id: str, joins: Sequence[int]) -> bool:
        process, clock = self._processes.get(process_id), self._clocks.of(process_id)
        if process is None or clock is None or process["reference_process_id"] != outage["reference_process_id"]:
            return False
        if _joined_between(joins, clock, outage["last_lost_ms"], _certain_end(outage)):
            return True
        through_ms = plus(first(outage["first_lost_ms"], outage["from_ms"]), self._untroubled_ms)
        return up_to(clock.latest(process["first_ts"]), outage["from_ms"]) and up_to(through_ms, clock.earliest(process["last_ts"]))


def _joined_between(joins: Sequence[int], clock: Offset, after_ms: int | None, before_ms: int | None) -> bool:
    """Return True if one of these times is certainly between two times of the reference clock."""
    own_ms = clock.own_latest(after_ms)
    at = bisect_right(joins, own_ms) if own_ms is not None else len(joins)
    return at < len(joins) and less(clock.latest(joins[at]), before_ms)


class ServedGenerations:
    """Generations that a broker continued to coordinate, so the broker was up.

    Args:
        inputs: rows of `cluster_broker`, `clock_offset` and `broker_generation`.
    """

    def __init__(self, inputs: Inputs, _: object) -> None:
        self._clocks, self._open_ms = Clocks(inputs), inputs.knobs.outage_open_ms
        self._brokers = {(row["kafka_cluster"], row["broker_id"]): row["process_id"] for row in inputs.rows("cluster_broker")}
        self._stabilized: defaultdict[str, list[int]] = defaultdict(list)
        for row in inputs.rows("broker_generation", ["process_id", "stabilized_ms"], pc.field("stabilized_ms").is_valid()):
            self._stabilized[row["process_id"]].append(row["stabilized_ms"])
        for times in self._stabilized.values():
            times.sort()

    def of(self, outage: Row) -> Row:
        """Return how many generations the broker certainly coordinated during an outage."""
        process_id = self._brokers.get((outage["kafka_cluster"], outage["broker_id"]))
        clock = self._clocks.of(process_id, outage["reference_process_id"])
        count = 0
        if process_id is not None and clock is not None:
            before_ms = first(_certain_end(outage), plus(outage["last_lost_ms"], self._open_ms))
            from_ms, to_ms = clock.own_latest(outage["last_lost_ms"]), clock.own_earliest(before_ms)
            if from_ms is not None and to_ms is not None:
                times = self._stabilized.get(process_id, ())
                count = max(0, bisect_left(times, to_ms) - bisect_right(times, from_ms))
        return {"served_generations": count}
