"""Find when processes were members of their groups again."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from forensics.clocks.offsets import Clocks
from forensics.relations.by_key import ByKey
from forensics.relations.conditions import one_of
from forensics.relations.missing import greatest, least, there, up_to

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs


#: Lines with which a member joined or got an assignment.
_JOINED = ("joined", "synced", "worker_assigned", "partitions_assigned")


def joins_of(inputs: Inputs, process_ids: Collection[str], events: Sequence[str] = _JOINED) -> ByKey:
    """Return the lines with which members of these processes joined or, with other `events`, asked to; by process and group, with their latest time as `hi_ms`."""
    if not process_ids:
        return ByKey((), "process_id", "group_id")
    clocks, columns = Clocks(inputs), ["process_id", "group_id", "at_ms"]
    lines = inputs.rows("client_event", columns=columns, where=one_of("event", events) & one_of("process_id", process_ids))
    placed = ({**line, "hi_ms": hi_ms} for line in lines for _, hi_ms in clocks.bounds(line["process_id"], line["at_ms"]))
    return ByKey(placed, "process_id", "group_id")


def first_join(joined: ByKey, process_ids: Sequence[str], group_id: str | None, since_ms: int | None) -> int | None:
    """Return when a member of one of these processes first joined a group after a time; `joined` is what `joins_of` returns."""
    lines = (line["hi_ms"] for process_id in process_ids for line in joined[process_id, group_id])
    return least(*(at_ms for at_ms in there(lines) if up_to(since_ms, at_ms)))


def all_joined_ms(joined: ByKey, process_ids: Sequence[str], group_id: str | None, since_ms: int | None) -> int | None:
    """Return when members of all these processes had joined a group after a time; None: not all did, or there are none."""
    found = [first_join(joined, [process_id], group_id, since_ms) for process_id in process_ids]
    return greatest(*found) if found and None not in found else None
