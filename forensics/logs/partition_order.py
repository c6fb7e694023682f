"""Find lists of partitions that contradict the earlier lines of a consumer: lines between them are missing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from operator import itemgetter
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from forensics.logs.gaps import Gap, gap_before
from forensics.relations.missing import least, less
from forensics.relations.ordered import grouped

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs, Row

_GOT = frozenset(["joined", "synced", "partitions_assigned"])
_GIVING_UP = frozenset(["partitions_revoked", "partitions_lost"])
_RESETS = frozenset(["generation_reset", "member_fenced"])


@dataclass(frozen=True)
class _Owned:
    """What a consumer owns from a position of its log on.

    Attributes:
        partitions: its last assignment; none after it revoked all.
        gave_up: True if it revoked all.
    """

    stream_pos: int
    partitions: frozenset[str]
    gave_up: bool


@dataclass(frozen=True)
class _Synced:
    """A line that a consumer synced.

    Attributes:
        next_pos: the consumer's next line; None: there is none.
    """

    stream_pos: int
    next_pos: int | None


def contradicting_partitions(inputs: Inputs) -> Iterator[Gap]:
    """Yield gaps that partitions of consumers show.

    Args:
        inputs: rows of `owned_list` and `client_event`.
    """
    key, columns = ("process_id", "instance", "client"), ["process_id", "instance", "client", "stream_pos", "event_id", "partitions"]
    lists = inputs.table("owned_list", columns, pc.field("is_eager") & pc.field("is_last"))
    of_consumer = {itemgetter(*key)(its[0]): its for its in grouped(lists, key, "stream_pos")}
    lines = inputs.table("client_event", [*columns, "group_id", "event"], ~pc.field("is_worker"))
    for its in grouped(lines, key, "stream_pos"):
        if (its_lists := of_consumer.get(itemgetter(*key)(its[0]))) is not None:
            yield from _contradicting_lists(its_lists, its)
        of_group = defaultdict(list)
        for line in its:
            of_group[line["group_id"]].append(line)
        for of_member in of_group.values():
            yield from _contradicting_revocations(of_member)


def _contradicting_lists(lists: list[Row], lines: list[Row]) -> Iterator[Gap]:
    """Yield the gaps before complete lists of an eager consumer that are not what the lines before say that it owns.

    Args:
        lists: its lists.
        lines: all its lines.
    """
    owned: _Owned | None = None
    synced: _Synced | None = None
    following = {line["stream_pos"]: after["stream_pos"] for line, after in pairwise(lines)}
    marks = [("list", line) for line in lists] + [(line["event"], line) for line in lines]
    for kind, line in sorted(marks, key=lambda mark: (mark[1]["stream_pos"], mark[0])):
        pos = line["stream_pos"]
        if kind == "list":
            partitions = frozenset(line["partitions"] or ())
            if owned is not None and partitions != owned.partitions:
                yield _mismatch(line, owned, synced)
            owned = _Owned(pos, frozenset(), gave_up=True)
        elif kind == "partitions_assigned" and line["partitions"] is not None:
            owned = _Owned(pos, frozenset(line["partitions"]), gave_up=False)
        elif kind == "synced":
            synced = _Synced(pos, following.get(pos))


def _mismatch(line: Row, owned: _Owned, synced: _Synced | None) -> Gap:
    """Return the gap before a list that is not what its consumer owns.

    An eager consumer prints its assignment right after its generation. If the assignment is missing, it belongs there.
    """
    since = synced if synced is not None and synced.stream_pos > owned.stream_pos else None
    from_pos = since.stream_pos if owned.gave_up and since is not None else owned.stream_pos
    to_pos = line["stream_pos"] if since is None else least(since.next_pos, line["stream_pos"])
    is_wide = not owned.gave_up or since is None
    return Gap(line["process_id"], line["instance"], from_pos, to_pos, is_wide, "lists_differ", line["event_id"])


def _contradicting_revocations(lines: list[Row]) -> Iterator[Gap]:
    """Yield the gaps before partitions that a consumer gives up although it cannot have owned them.

    Args:
        lines: its lines about one group.
    """
    first_pos, reset_pos, settled_pos, got_pos = lines[0]["stream_pos"], None, None, None
    for line in lines:
        event, pos = line["event"], line["stream_pos"]
        if event in _GIVING_UP and line["partitions"]:
            # A consumer that lost its membership prints its partitions as lost, not as revoked, unless it joined again.
            if event == "partitions_revoked" and less(settled_pos, reset_pos):
                yield gap_before(line, reset_pos, "lists_differ")
            # It revokes partitions that were never assigned to it, in a generation that it never joined.
            if got_pos is None and first_pos < pos and line["instance"] > 0:
                yield gap_before(line, first_pos, "lists_differ")
        if event in _GOT:
            got_pos = settled_pos = pos
        elif event == "partitions_lost":
            settled_pos = pos
        elif event in _RESETS:
            reset_pos = pos
