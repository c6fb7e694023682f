"""Find when processes were members of their groups again."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from forensics.clocks.offsets import Clocks
from forensics.relations.by_key import ByKey
from forensics.relations.conditions import one_of

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs


def joins_of(inputs: Inputs, process_ids: Collection[str]) -> ByKey:
    """Return the lines with which members of these processes joined or got an assignment, by process and group, with their latest time as `hi_ms`."""
    if not process_ids:
        return ByKey((), "process_id", "group_id")
    clocks, columns = Clocks(inputs), ["process_id", "group_id", "at_ms"]
    is_joined = one_of("event", ("joined", "synced", "worker_assigned", "partitions_assigned"))
    lines = inputs.rows("client_event", columns=columns, where=is_joined & one_of("process_id", process_ids))
    placed = ({**line, "hi_ms": hi_ms} for line in lines for _, hi_ms in clocks.bounds(line["process_id"], line["at_ms"]))
    return ByKey(placed, "process_id", "group_id")
