"""Find the periods in which a resource that had had an owner had no known owner."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from forensics.clocks.offsets import Clocks
from forensics.relations.missing import first, greatest, less, order
from forensics.relations.ordered import grouped

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs, Row


@dataclass(frozen=True, kw_only=True)
class Gap:
    """A time without a known owner.

    Attributes:
        previous: the owner before, a row of `ownership`.
        next: the owner after; None: none.
        from_ms: the owner before certainly had it until this time.
        to_lo_ms: the owner after had it from this time on at the earliest; None: no owner after.
    """

    previous: Row
    next: Row | None
    from_ms: int | None
    to_lo_ms: int | None

    @property
    def group(self) -> tuple[str, str | None]:
        """Return the Kafka cluster and the group."""
        return self.previous["kafka_cluster"], self.previous["group_id"]

    @property
    def reference_process_id(self) -> str | None:
        """Return the process on whose clock its times are."""
        reference_process_id: str | None = self.previous["reference_process_id"]
        return reference_process_id

    @property
    def is_partition(self) -> bool:
        """Return True if the resource is a partition, not a task or a connector."""
        return bool(self.previous["resource_kind"] == "partition")

    @property
    def is_certain(self) -> bool:
        """Return True if the owner before had certainly lost it before the owner after had it."""
        return less(self.previous["stop_hi"], self.to_lo_ms)

    @property
    def to_hi_ms(self) -> int | None:
        """Return when the owner after certainly had it."""
        to_hi_ms: int | None = (self.next or {}).get("start_hi")
        return to_hi_ms

    @property
    def to_ms(self) -> int | None:
        """Return the latest time at which it may have ended."""
        to_ms: int | None = first(self.to_hi_ms, self.to_lo_ms)
        return to_ms

    @property
    def generations(self) -> int | None:
        """Return how many generations are between those of the owners; None: one of them is unknown."""
        before, after = self.previous["generation"], self.next["generation"] if self.next is not None else None
        return after - before if before is not None and after is not None else None

    @property
    def is_restart(self) -> bool:
        """Return True if the same known member of the same process had it before and after."""
        after = self.next or {}
        return self.previous["member_id"] is not None and all(self.previous[name] == after.get(name) for name in ("process_id", "member_id"))


_PLACE = ("kafka_cluster", "group_id", "resource_kind", "resource")
_ISLAND = (*_PLACE, "reference_process_id")
_COLUMNS = [
    *(*_ISLAND, "ownership_id", "process_id", "member_id", "generation", "start_lo", "start_hi", "stop_lo", "stop_hi"),
    *("phase_end", "stop_how", "witness"),
]


def gaps(inputs: Inputs) -> Iterator[Gap]:
    """Yield the gaps of each resource.

    Owners whose clocks cannot be compared have none: one may have had it while the other had not. Of several owners before, the one that ended last counts.

    Args:
        inputs: rows of `ownership`, `member_heard`, `join_round` and `clock_offset`.
    """
    contacts = _contacts(inputs)
    owners = inputs.table("ownership", _COLUMNS, pc.field("kafka_cluster").is_valid())
    islands = Counter(island[:-1] for island in inputs.distinct("ownership", _ISLAND, pc.field("reference_process_id").is_valid()))
    for its in grouped(owners, _ISLAND, "ownership_id"):
        if islands[tuple(its[0][name] for name in _PLACE)] == 1:
            yield from _gaps_of(its, contacts)


def _gaps_of(owners: list[Row], contacts: dict[tuple[Any, ...], int]) -> Iterator[Gap]:
    """Yield the gaps between the owners of one resource, whose clocks can be compared."""
    previous: Row | None = None
    from_ms: int | None = None
    # A sort keeps the order of owners that began at the same time.
    for owner in sorted(owners, key=lambda owner: order(_begun_ms(owner))):
        begun_ms = _begun_ms(owner)
        if previous is not None and less(from_ms, first(owner["start_hi"], begun_ms)) and (_is_closed(previous) or less(from_ms, begun_ms)):
            # An owner that had it before its log begins may have had it immediately.
            to_lo_ms = from_ms if owner["start_lo"] is None else begun_ms
            heard_ms = _heard_ms(previous, contacts)
            if not less(heard_ms, first(to_lo_ms, owner["start_hi"])):
                heard_ms = None
            yield Gap(previous=previous, next=owner, from_ms=greatest(from_ms, heard_ms), to_lo_ms=to_lo_ms)
        previous = owner if previous is None else max(previous, owner, key=_end)
        from_ms = greatest(from_ms, owner["stop_lo"])
    if previous is not None and _is_closed(previous):
        yield Gap(previous=previous, next=None, from_ms=from_ms, to_lo_ms=None)


def _begun_ms(owner: Row) -> int | None:
    begun_ms: int | None = first(owner["start_lo"], owner["start_hi"])
    return begun_ms


def _is_closed(owner: Row) -> bool:
    """Return True if a line shows that an owner lost it."""
    return owner["stop_hi"] is not None


def _end(owner: Row) -> Any:  # noqa: ANN401 (a sort key)
    """Return a key by which the owner that ended last is the last. An open one ends last."""
    return not _is_closed(owner), order([owner["stop_hi"], owner["stop_lo"], owner["ownership_id"]])


_MEMBER = ("process_id", "group_id", "member_id")


def _contacts(inputs: Inputs) -> dict[tuple[Any, ...], int]:
    """Return when its coordinator last heard from each member after the end of its log, in the last generation of that log: it still had its assignment.

    The key is its cluster, group, member and process, and the process on whose clock the time is.
    """
    synced = inputs.distinct("join_round", [*_MEMBER, "generation"], pc.field("synced_id").is_valid())
    last = {row[:-1]: row[-1] for row in sorted(row for row in synced if None not in row)}
    clocks, found = Clocks(inputs), dict[tuple[Any, ...], int]()
    for row in inputs.rows("member_heard", ["kafka_cluster", *_MEMBER, "generation", "alive_ms"], pc.field("generation").is_valid()):
        clock = clocks.of(row["process_id"])
        alive_ms = clock.earliest(row["alive_ms"]) if clock is not None else None
        if clock is not None and alive_ms is not None and last.get(tuple(row[name] for name in _MEMBER)) == row["generation"]:
            key = row["kafka_cluster"], row["group_id"], row["member_id"], row["process_id"], clock.reference_process_id
            found[key] = max(alive_ms, found.get(key, alive_ms))
    return found


def _heard_ms(owner: Row, contacts: dict[tuple[Any, ...], int]) -> int | None:
    """Return when the coordinator last heard from an owner of a partition whose end is unknown."""
    if _is_closed(owner) or owner["resource_kind"] != "partition":
        return None
    return contacts.get(tuple(owner[name] for name in ("kafka_cluster", "group_id", "member_id", "process_id", "reference_process_id")))
