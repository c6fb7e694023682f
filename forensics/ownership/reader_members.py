"""Find the member that a consumer was when it started to read."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

import pyarrow.compute as pc

from forensics.logs.events import event_table
from forensics.logs.instances import Instances
from forensics.logs.member_rounds import member_rounds
from forensics.relations.missing import first, order

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs, Row


class ReaderMember(NamedTuple):
    """A member of a group in a generation (KIP-848: an epoch)."""

    member_id: str | None
    incarnation: int | None
    generation: int | None


class ReaderMembers:
    """The members that consumers were, one after the other.

    Args:
        inputs: rows of `join_round`, `member_round`, and of events.
    """

    def __init__(self, inputs: Inputs) -> None:
        found: defaultdict[tuple[str, int, str | None, str], list[tuple[int, ReaderMember]]] = defaultdict(list)
        own = ["kafka_cluster", "instance", "task", "from_pos", "member_id", "generation"]
        for row in member_rounds(inputs, own, ["incarnation"]):
            member = ReaderMember(row["member_id"], row["incarnation"], row["generation"])
            found[row["process_id"], row["instance"], first(row["task"], row["client"]), row["group_id"]].append((row["from_pos"], member))
        columns = ["process_id", "stream_pos", "task", "client_id", "group_id", "member_id", "member_epoch"]
        is_epoch = (pc.field("event") == "member_state_changed") & (pc.field("member_epoch") > 0) & pc.field("group_id").is_valid()
        for row in Instances(inputs).added(event_table(inputs, columns, is_epoch)).to_pylist():
            member = ReaderMember(row["member_id"], 1, row["member_epoch"])
            found[row["process_id"], row["instance"], first(row["task"], row["client_id"]), row["group_id"]].append((row["stream_pos"], member))
        self._of = {key: sorted(its, key=order) for key, its in found.items()}

    def before(self, start: Row) -> ReaderMember:
        """Return what a consumer was just before a line of `offset_line`."""
        its = self._of.get((start["process_id"], start["instance"], start["client"], start["group_id"]), ())
        at = bisect_left(its, start["stream_pos"], key=lambda one: one[0])
        return its[at - 1][1] if at else ReaderMember(None, None, None)
