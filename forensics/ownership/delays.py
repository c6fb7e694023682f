"""Find the scheduled rebalance delays of Connect groups."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

import pyarrow.compute as pc

from forensics.clocks.offsets import Clocks
from forensics.relations.missing import up_to

if TYPE_CHECKING:
    from forensics.ownership.gaps import Gap
    from forensics.relations.inputs import Inputs


class Delay(NamedTuple):
    """A scheduled delay in an assignment of a worker.

    Attributes:
        assigned_ms: earliest time of the assignment, on the reference clock.
        ms: how long the group was to wait.
        event_id: line of the assignment.
    """

    assigned_ms: int
    ms: int
    event_id: str


class Delays:
    """The scheduled delays of all groups.

    Args:
        inputs: rows of `join_round` and `clock_offset`.
    """

    def __init__(self, inputs: Inputs) -> None:
        clocks = Clocks(inputs)
        self._of: defaultdict[tuple[str | None, ...], list[Delay]] = defaultdict(list)
        columns = ["kafka_cluster", "group_id", "process_id", "worker_assigned_ms", "worker_assigned_id", "delay_ms"]
        for row in inputs.rows("join_round", columns, pc.field("delay_ms") > 0):
            clock = clocks.of(row["process_id"])
            assigned_ms = clock.earliest(row["worker_assigned_ms"]) if clock is not None else None
            if clock is not None and assigned_ms is not None:
                place = row["kafka_cluster"], row["group_id"], clock.reference_process_id
                self._of[place].append(Delay(assigned_ms, row["delay_ms"], row["worker_assigned_id"]))
        for its in self._of.values():
            its.sort(key=itemgetter(2), reverse=True)
            its.sort(key=itemgetter(0))

    def first_in(self, gap: Gap) -> Delay | None:
        """Return the first delay in a gap between two owners, which is the longest: those after it are the rest of it."""
        if gap.next is None or gap.from_ms is None:
            return None
        its = self._of.get((*gap.group, gap.reference_process_id), ())
        at = bisect_left(its, gap.from_ms, key=itemgetter(0))
        return its[at] if at < len(its) and up_to(its[at].assigned_ms, gap.to_ms) else None
