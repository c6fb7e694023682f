"""Find the failed writes of coordinators: too few replicas of the offsets topic were in sync."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from itertools import takewhile
from typing import TYPE_CHECKING

from forensics.relations.conditions import one_of
from forensics.relations.missing import first, minus, order, plus, up_to

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs, Row

WRITES = ("group_store_failed", "coordinator_write_failed")
_NOT_ENOUGH = re.compile("not.?enough.?replicas", re.IGNORECASE)


def is_unwritten(line: Row) -> bool:
    """Return True if a coordinator could not write because too few replicas were in sync."""
    return line["event"] in WRITES and _NOT_ENOUGH.search(line["said"] or "") is not None


class FailedWrites:
    """The failed writes in each Kafka cluster.

    Args:
        inputs: rows of `fact_line`.
        outages: rows of `group_outage`.
    """

    def __init__(self, inputs: Inputs, outages: Sequence[Row]) -> None:
        self._knobs = inputs.knobs
        self._writes: defaultdict[str, list[Row]] = defaultdict(list)
        columns = ["kafka_cluster", "event", "said", "at_ms", "event_id"]
        of_clusters = one_of("kafka_cluster", (outage["kafka_cluster"] for outage in outages))
        for line in inputs.rows("fact_line", columns, one_of("event", WRITES) & of_clusters):
            if is_unwritten(line) and line["at_ms"] is not None:
                self._writes[line["kafka_cluster"]].append(line)
        for writes in self._writes.values():
            writes.sort(key=lambda line: order([line["at_ms"], line["event_id"]]))

    def of(self, outage: Row) -> Row:
        """Return the failed write that belongs to an outage."""
        writes, around_ms = self._writes.get(outage["kafka_cluster"], []), self._knobs.outage_writes_ms
        from_ms = minus(outage["from_ms"], around_ms)
        to_ms = plus(first(outage["to_ms"], plus(outage["from_ms"], self._knobs.outage_open_ms)), around_ms)
        begin = bisect_left(writes, from_ms, key=lambda line: int(line["at_ms"])) if from_ms is not None else len(writes)
        its = list(takewhile(lambda line: up_to(line["at_ms"], to_ms), (writes[at] for at in range(begin, len(writes)))))
        return {"unwritten": max((line["said"] for line in its), default=None), "unwritten_id": its[0]["event_id"] if its else None}
