"""Join what the coordinators and the members of groups show about each rebalance."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from forensics.relations.by_key import ByKey
from forensics.relations.missing import first, less, minus, order

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs, Row

_KEY = ("kafka_cluster", "group_id", "incarnation", "generation")


@dataclass
class Rebalance:
    """The rebalance that began a generation.

    Attributes:
        row: its row of `generation`.
        broker: its row of `broker_generation`; its values are None if there is none.
        side: its row of `member_side`; None: there is none.
        settled_ms: it was over.
        settled_by: the process whose clock gives its end; None: it stepped, or there are several.
        late_ms: how late the last member asked; None: its clock and the coordinator's cannot be compared.
        last_delay_ms: scheduled delay of the generation before; None: there is none.
        undelayed: the next generation without a delay.
    """

    row: Row
    broker: Row
    side: Row | None
    settled_ms: int | None
    settled_by: str | None
    late_ms: int | None
    last_delay_ms: int | None = None
    undelayed: Rebalance | None = None

    @property
    def poll_setting(self) -> str:
        """Return the setting that limits how long its members may take to ask to join."""
        return "rebalance.timeout.ms" if self.row["protocol_type"] == "connect" else "max.poll.interval.ms"

    @property
    def is_silent(self) -> bool:
        """Return True if the coordinator's log was silent meanwhile."""
        return bool(self.broker["is_silent"])

    @property
    def has_waited_in_vain(self) -> bool:
        """Return True if a member was removed while the others waited."""
        return less(self.row["prepared_ts"], self.broker["expired_ms"]) and not self.is_silent

    @property
    def is_comparable(self) -> bool:
        """Return True if all requests of members are by one clock."""
        return self.side is not None and self.side["clocks"] == 1

    @property
    def last(self) -> Row:
        """Return the last request. It is unknown if the members' clocks cannot be compared, or if a member's request is missing."""
        is_known = self.side is not None and self.is_comparable and _has_all_requests(self.row, self.side)
        return (self.side["last_request"] if is_known and self.side is not None else None) or {"member_id": None, "event_id": None}

    @property
    def delay_ms(self) -> int:
        """Return the scheduled delay of the workers' assignment; 0: none."""
        return int(_of(self.side, "delay", "delay_ms") or 0)

    def of_members(self, request: str, value: str) -> object:
        """Return a value of a request or an answer that its members' logs show."""
        return _of(self.side, request, value)


def _of(side: Row | None, request: str, value: str) -> int | str | None:
    found: int | str | None = side[request][value] if side is not None and side[request] is not None else None
    return found


def _has_all_requests(row: Row, side: Row) -> bool:
    return side["askers"] is not None and side["askers"] >= first(row["member_count"], 1)


def rebalances(inputs: Inputs) -> Iterator[Rebalance]:
    """Yield the rebalances of all generations.

    Args:
        inputs: rows of `generation`, `broker_generation`, `member_side` and `clock_offset`.
    """
    columns = ["expired_ms", "is_silent", "from_empty", "expired_member", "expired_id", "expired_how", "prepared_id", "stabilized_id", "assigned_id"]
    none = dict.fromkeys(columns)
    brokers = ByKey(inputs.rows("broker_generation", [*_KEY, *columns]), *_KEY)
    sides = ByKey(inputs.rows("member_side"), *_KEY)
    clocks = {row["process_id"]: row for row in inputs.rows("clock_offset", where=pc.field("is_island_reference"))}
    of_group = defaultdict(list)
    for row in inputs.rows("generation"):
        key = tuple(row[column] for column in _KEY)
        broker, side = next(iter(brokers[key]), none), next(iter(sides[key]), None)
        of_group[key[:3]].append(_rebalance(row, broker, side, clocks.get(row["coordinator"])))
    for its in of_group.values():
        its.sort(key=lambda rebalance: order(rebalance.row["generation"]))
        for before, rebalance in zip(its, its[1:], strict=False):
            rebalance.last_delay_ms = before.delay_ms
        undelayed = None
        for rebalance in reversed(its):
            rebalance.undelayed = undelayed
            undelayed = rebalance if rebalance.delay_ms == 0 else undelayed
        yield from its


def _rebalance(row: Row, broker: Row, side: Row | None, clock: Row | None) -> Rebalance:
    settled_by = late_ms = None
    if row["assigned_ts"] is not None:
        is_steady = clock is None or clock["is_steady"] is not False
        settled_by = row["coordinator"] if is_steady else None
    elif side is not None and side["clocks"] == 1 and side["is_steady"]:
        settled_by = side["clock_id"]
    if side is not None and clock is not None and side["clocks"] == 1 and _has_all_requests(row, side) and side["clock_id"] is not None:
        at_ms = side["last_request"]["at_ms"] if side["last_request"] is not None else None
        if side["clock_id"] == clock["clock_id"]:
            late_ms = minus(at_ms, minus(row["prepared_ts"], clock["ahead_ms"]))
    return Rebalance(row, broker, side, first(row["assigned_ts"], row["last_synced_ts"]), settled_by, late_ms)
