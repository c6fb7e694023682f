"""Find the gaps between owners in which another member may have owned the resource."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from forensics.clocks.offsets import Clocks
from forensics.logs.clusters import Clusters
from forensics.logs.events import event_table
from forensics.logs.lost_ranges import LostRanges
from forensics.relations.conditions import one_of, one_of_numbers
from forensics.relations.missing import greatest, less, minus, plus, there

if TYPE_CHECKING:
    from forensics.ownership.gaps import Gap
    from forensics.relations.inputs import Inputs, Row

#: A Kafka cluster, a group and a generation; and one with its incarnation.
_Number = tuple[str, str | None, int]
_Generation = tuple[str | None, str | None, int | None, int | None]


@dataclass(kw_only=True)
class _Members:
    """What the members of a generation were assigned, by their logs or their leader's.

    Attributes:
        shown: members whose assignment is known.
        assigned: what members with logs were assigned.
        revoked: what members were asked to release.
        delay_ms: the longest scheduled delay.
    """

    shown: int = 0
    assigned: set[str] = field(default_factory=set)
    revoked: set[str] = field(default_factory=set)
    delay_ms: int = 0


@dataclass(frozen=True)
class _Known:
    """A generation that logs show.

    Attributes:
        row: its row of `generation`.
        members: its members.
        is_counted: a broker's log has the number of members; otherwise there may be one more than the logs show.
    """

    row: Row
    members: _Members
    is_counted: bool

    def may_give(self, gap: Gap) -> bool:
        """Return True if this generation may have given the resource of a gap to a member that the logs do not show."""
        count, is_classic = self.row["member_count"], self.row["group_protocol"] == "classic"
        # A generation assigns a resource to one member: if a log shows it, no other member can have had it.
        if gap.previous["resource"] in self.members.assigned:
            return False
        if is_classic and less(self.members.shown, count) or less(self.row["seen_by_members"], count):
            return True
        # A resource that a generation revokes from one worker goes to another in the next; a delay holds for a lost worker what it had, but not what it
        # had been asked to revoke.
        is_held = self.members.delay_ms > 0 and _is_gone(gap.previous)
        is_between = _is_between(self.row["generation"], gap)
        return not self.is_counted and is_between and not is_held and gap.previous["resource"] not in self.members.revoked


def _is_between(generation: int, gap: Gap) -> bool:
    """Return True if a generation is after that of the owner before, and before that of the owner after."""
    return gap.next is not None and less(gap.previous["generation"], generation) and less(generation, gap.next["generation"])


def _is_gone(owner: Row) -> bool:
    """Return True if the process of an owner ended, or no line shows that the owner lost it."""
    return owner["stop_hi"] is None or owner["phase_end"] == "gone" or owner["stop_how"] == "worker_stopped"


@dataclass
class _History:
    """What the generations of a group show together.

    Attributes:
        incarnations: how often its metadata began again.
        is_broker_assigned: KIP-848: only a member's own lines show its partitions, not epochs.
        has_all_logs: all its members and, unless it is classic, its coordinator have logs.
    """

    incarnations: set[int] = field(default_factory=set)
    is_broker_assigned: bool = False
    has_all_logs: bool = True


class PossibleOwners:
    """What shows whether another member may have owned a resource in a gap.

    Args:
        inputs: rows of `generation`, `broker_generation`, `member_generation`, `member`, `log_hole`, `lost_range`, `clock_offset`, and of events.
        gaps: all gaps that are certain.
    """

    def __init__(self, inputs: Inputs, gaps: Collection[Gap]) -> None:
        self._most: int = inputs.knobs.gap_generations_most
        self._clocks, self._lost = Clocks(inputs), LostRanges(inputs)
        self._histories = _histories(inputs)
        numbers = set(chain.from_iterable(self._numbers(gap) for gap in gaps))
        rows = _rows_of_members(inputs, numbers)
        self._known = _known(inputs, numbers, rows)
        self._given: defaultdict[_Number, list[Row]] = defaultdict(list)
        for row in rows:
            if row["process_id"] is not None and row["assigned"]:
                self._given[row["kafka_cluster"], row["group_id"], row["generation"]].append(row)
        damaged = {row["process_id"] for row in inputs.rows("lost_range", ["process_id"])}
        self._damaged: defaultdict[tuple[str, str | None], set[str]] = defaultdict(set)
        columns = ["kafka_cluster", "group_id", "process_id"]
        for cluster, group_id, process_id in inputs.distinct("member_generation", columns, one_of("process_id", damaged)) if damaged else ():
            self._damaged[cluster, group_id].add(process_id)

    def exist(self, gap: Gap) -> bool:
        """Return True if another member may have owned the resource in a certain gap."""
        return self._is_unnumbered(gap) or self._lacks_lines(gap) or any(self._may_give(number, gap) for number in self._numbers(gap))

    def _numbers(self, gap: Gap) -> Iterator[_Number]:
        """Yield the generations from that of the owner before to that of the owner after."""
        cluster, group_id = gap.group
        if gap.generations is not None and gap.generations <= self._most:
            for generation in range(gap.previous["generation"], gap.previous["generation"] + gap.generations + 1):
                yield cluster, group_id, generation

    def _may_give(self, number: _Number, gap: Gap) -> bool:
        """Return True if a generation may have given the resource to another member, or did so in a line that is missing."""
        is_between = _is_between(number[2], gap)
        if any(one.may_give(gap) for one in self._known[number]) if number in self._known else is_between:
            return True
        return gap.is_partition and is_between and any(self._is_other(row, gap) for row in self._given.get(number, ()))

    def _is_other(self, row: Row, gap: Gap) -> bool:
        """Return True if a generation gave the resource to another member, or again to the last owner, which had released it."""
        if gap.previous["resource"] not in row["assigned"]:
            return False
        if row["process_id"] != gap.previous["process_id"] or row["member_id"] != gap.previous["member_id"]:
            return True
        clock = self._clocks.of(row["process_id"], gap.reference_process_id)
        return clock is not None and less(gap.previous["stop_lo"], clock.earliest(row["synced_ts"]))

    def _lacks_lines(self, gap: Gap) -> bool:
        """Return True if the log of a member lacks lines in the gap: it may have had the resource meanwhile."""
        for process_id in self._damaged.get(gap.group, ()):
            clock = self._clocks.of(process_id, gap.reference_process_id)
            from_ms = plus(clock.own_earliest(gap.previous["stop_hi"]), 1) if clock is not None else None
            to_ms = minus(clock.own_latest(gap.to_lo_ms), 1) if clock is not None else None
            if self._lost.in_time(process_id, from_ms, to_ms):
                return True
        return False

    def _is_unnumbered(self, gap: Gap) -> bool:
        """Return True if the numbers of generations do not show which of them were between the two owners."""
        if gap.next is None:
            return False
        history = self._histories.get(gap.group, _History())
        generations, after = gap.generations, gap.next
        if history.is_broker_assigned and not history.has_all_logs:
            return True
        # If generations start again, their numbers do not show which were in between.
        if len(history.incarnations) > 1 and any(after[name] != gap.previous[name] for name in ("generation", "member_id")):
            return True
        if generations is not None:
            # A later owner by the same or an earlier generation: the line that gave it a later one is missing.
            return generations < 0 or generations == 0 and after["process_id"] != gap.previous["process_id"] or generations > self._most
        # One of their generations is unknown: another may have had it since, except where the same member stops and starts it.
        return gap.group[1] is not None and not (history.is_broker_assigned if gap.is_partition else gap.is_restart)


def _histories(inputs: Inputs) -> dict[tuple[str | None, str | None], _History]:
    """Return what the generations of each group show together."""
    found: defaultdict[tuple[str | None, str | None], _History] = defaultdict(_History)
    unlogged = inputs.distinct("member", ["kafka_cluster", "group_id"], pc.field("process_id").is_null())
    columns = ["kafka_cluster", "group_id", "incarnation", "group_protocol", "seen_by_broker"]
    for cluster, group_id, incarnation, protocol, is_seen in inputs.distinct("generation", columns):
        history = found[cluster, group_id]
        history.incarnations.update(there([incarnation]))
        history.is_broker_assigned |= protocol not in (None, "classic")
        history.has_all_logs &= (cluster, group_id) not in unlogged and (is_seen is not False or protocol == "classic")
    return found


def _rows_of_members(inputs: Inputs, numbers: Collection[_Number]) -> list[Row]:
    """Return what members were given or asked to release in these generations. Most members of a large group are only named by their leader."""
    columns = [*_GENERATION, "member_id", "process_id", "state", "synced_ts", "assigned", "revoked", "delay_ms"]
    is_shown = pc.field("process_id").is_valid() | pc.field("revoked").is_valid() | pc.field("delay_ms").is_valid()
    return [row for row in inputs.table("member_generation", columns, _is_of(numbers) & is_shown).to_pylist() if _number(row) in numbers]


def _is_of(numbers: Collection[_Number]) -> pc.Expression:
    """Return a condition that lets through the rows of these generations, and few others."""
    return one_of("group_id", {number[1] for number in numbers}) & one_of_numbers("generation", {number[2] for number in numbers})


_GENERATION = ("kafka_cluster", "group_id", "incarnation", "generation")


def _generation(row: Row) -> _Generation:
    return row["kafka_cluster"], row["group_id"], row["incarnation"], row["generation"]


def _number(row: Row) -> Any:  # noqa: ANN401 (of the type of `_Number`, or with missing values)
    return row["kafka_cluster"], row["group_id"], row["generation"]


def _members(inputs: Inputs, rows: Collection[Row]) -> defaultdict[_Generation, _Members]:
    """Return the members of each generation.

    A member that joined and got no assignment before the next rebalance had nothing, unless its log lacks lines.
    """
    holed = {process_id for (process_id,) in inputs.distinct("log_hole", ["process_id"])}
    found: defaultdict[_Generation, _Members] = defaultdict(_Members)
    for row in rows:
        its = found[_generation(row)]
        if row["process_id"] is not None:
            its.shown += row["assigned"] is not None or row["state"] == "joined" and row["process_id"] not in holed
            its.assigned.update(row["assigned"] or ())
        its.revoked.update(row["revoked"] or ())
        its.delay_ms = greatest(its.delay_ms, row["delay_ms"]) or 0
    return found


def _known(inputs: Inputs, numbers: Collection[_Number], rows: Collection[Row]) -> dict[_Number, list[_Known]]:
    """Return the generations that logs show, by their numbers. Those in which the group became empty gave nothing to a member."""
    members, of_these = _members(inputs, rows), _is_of(numbers)
    found: dict[_Number, list[_Known]] = {number: [] for number in _emptied(inputs, of_these)}
    counted = inputs.distinct("broker_generation", _GENERATION, of_these & pc.field("member_count").is_valid())
    for row in inputs.table("generation", [*_GENERATION, "group_protocol", "member_count", "seen_by_members"], of_these).to_pylist():
        is_counted = _generation(row) in counted or row["group_protocol"] not in (None, "classic")
        found.setdefault(_number(row), []).append(_Known(row, members.get(_generation(row), _Members()), is_counted))
    return found


def _emptied(inputs: Inputs, of_these: pc.Expression) -> Iterator[_Number]:
    """Yield the generations in which a group became empty, by its coordinator's log."""
    clusters = Clusters(inputs)
    columns = ["process_id", "stream_pos", "group_id", "generation"]
    for row in event_table(inputs, columns, (pc.field("event") == "group_emptied") & of_these).to_pylist():
        yield clusters.at(row["process_id"], row["stream_pos"]), row["group_id"], row["generation"]
