"""Find how groups went on after a membership: their later generations, who was in them, and who was removed."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from forensics.logs.clusters import Clusters
from forensics.logs.events import event_table
from forensics.logs.member_ids import client_of
from forensics.relations.conditions import one_of
from forensics.relations.missing import there

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs, Row

Group = tuple[str, str]
#: A generation of a group: incarnation and number.
Nth = tuple[int, int]


@dataclass(frozen=True)
class Generation:
    """A generation of a group.

    Attributes:
        nth: its incarnation and number.
        row: its row of `generation`.
        is_listed: True if all of its members are known.
    """

    nth: Nth
    row: Row
    is_listed: bool

    @property
    def is_classic(self) -> bool:
        """Return True if it is of the classic protocol."""
        return self.row["group_protocol"] in (None, "classic")

    @property
    def stabilized_ms(self) -> int | None:
        """Return when all members had joined, by the coordinator's clock."""
        stabilized_ms: int | None = self.row["stabilized_ts"]
        return stabilized_ms

    @property
    def event_id(self) -> str | None:
        """Return the first line that shows it."""
        return self.row["witness"][0] if self.row["witness"] else None


class Generations:
    """The generations of some groups, and their members.

    Args:
        inputs: rows of `generation` and `member_generation`.
        groups: the groups: Kafka cluster and name.
    """

    def __init__(self, inputs: Inputs, groups: Iterable[Group]) -> None:
        wanted = set(groups)
        self._sizes: Counter[tuple[Group, Nth]] = Counter()
        self._presence: dict[tuple[Group, int, str], int] = {}
        self._unlogged: dict[tuple[Group, str], Nth] = {}
        self._read_members(inputs, wanted)
        self._of: defaultdict[Group, list[Generation]] = defaultdict(list)
        self._led: dict[tuple[Group, str], Nth] = {}
        for row in inputs.rows("generation"):
            group, nth = (row["kafka_cluster"], row["group_id"]), (row["incarnation"], row["generation"])
            if group in wanted and None not in nth:
                is_listed = bool(row["is_count_told"]) and row["member_count"] == self._sizes.get((group, nth))
                self._of[group].append(Generation(nth, row, is_listed))
                if (leader := row["leader_member_id"]) is not None:
                    self._led[group, leader] = max(nth, self._led.get((group, leader), nth))
        for its in self._of.values():
            its.sort(key=attrgetter("nth"))

    def _read_members(self, inputs: Inputs, groups: set[Group]) -> None:
        columns = ["kafka_cluster", "group_id", "incarnation", "generation", "process_id", "member_id"]
        of_groups = one_of("group_id", {group_id for _, group_id in groups})
        members = inputs.table("member_generation", columns, of_groups)
        for kafka_cluster, group_id, incarnation, generation, process_id, member_id in zip(
            *(members.column(name).to_pylist() for name in columns), strict=True
        ):
            group, nth = (kafka_cluster, group_id), (incarnation, generation)
            if group not in groups:
                continue
            self._sizes[group, nth] += 1
            if (who := process_id if process_id is not None else member_id) is not None:
                place = group, incarnation, who
                self._presence[place] = max(generation, self._presence.get(place, generation))
            if process_id is None and member_id is not None:
                name = group, client_of(member_id)
                self._unlogged[name] = max(nth, self._unlogged.get(name, nth))

    def at(self, group: Group, nth: Nth) -> Generation | None:
        """Return a generation."""
        its = self._of.get(group, ())
        at = bisect_left(its, nth, key=attrgetter("nth"))
        return its[at] if at < len(its) and its[at].nth == nth else None

    def after(self, group: Group, nth: Nth) -> Generation | None:
        """Return the first generation after one."""
        its = self._of.get(group, ())
        at = bisect_right(its, nth, key=attrgetter("nth"))
        return its[at] if at < len(its) else None

    def last(self, group: Group) -> Generation | None:
        """Return the last generation of a group."""
        its = self._of.get(group)
        return its[-1] if its else None

    def last_with(self, group: Group, incarnation: int, who: str | None) -> int | None:
        """Return the last generation of an incarnation with a process, or with a member that only others name."""
        return None if who is None else self._presence.get((group, incarnation, who))

    def last_led_by(self, group: Group, member_id: str | None) -> Nth | None:
        """Return the last generation that a member led."""
        return None if member_id is None else self._led.get((group, member_id))

    def last_named(self, group: Group, member_id: str | None) -> Nth | None:
        """Return the last generation with a member of the same name whose log is missing."""
        return None if member_id is None else self._unlogged.get((group, client_of(member_id)))


class Removals:
    """When coordinators removed members of some groups, by their own clocks.

    Args:
        inputs: rows of `member`, `process_start`, `process_cluster`, and of events.
        groups: the groups.
    """

    def __init__(self, inputs: Inputs, groups: Iterable[Group]) -> None:
        wanted = set(groups)
        columns = ["kafka_cluster", "group_id", "member_id", "process_id"]
        process_of = {tuple(row[name] for name in columns[:3]): row["process_id"] for row in inputs.rows("member", columns)}
        self._by_id: defaultdict[tuple[Group, str], list[int]] = defaultdict(list)
        #: Of each process; None: of unknown ones.
        self._by_process: defaultdict[tuple[Group, str | None], list[int]] = defaultdict(list)
        for group, member_id, at_ms in _removed(inputs, wanted):
            self._by_process[group, process_of.get((*group, member_id))].append(at_ms)
            if member_id is not None:
                self._by_id[group, member_id].append(at_ms)
        for times in (*self._by_id.values(), *self._by_process.values()):
            times.sort()

    def first(self, group: Group, member_id: str | None, process_id: str, from_ms: int | None) -> int | None:
        """Return when a member was first removed from a time on. One whose id is unknown may be any whose process is unknown."""
        if member_id is not None:
            return _first_from(self._by_id.get((group, member_id), ()), from_ms)
        candidates = (self._by_process.get((group, process), ()) for process in (process_id, None))
        return min(there(_first_from(times, from_ms) for times in candidates), default=None)


def _first_from(times: list[int] | tuple[int, ...], from_ms: int | None) -> int | None:
    at = 0 if from_ms is None else bisect_left(times, from_ms)
    return times[at] if at < len(times) else None


def _removed(inputs: Inputs, groups: set[Group]) -> Iterable[tuple[Group, str | None, int]]:
    """Yield the removals of members in the coordinators' logs: group, member, if it is printed, and time."""
    is_removal = one_of("event", ["member_expired", "member_left"]) & pc.field("broker_id").is_valid() & pc.field("ts").is_valid()
    of_groups = one_of("group_id", {group_id for _, group_id in groups})
    lines = event_table(inputs, ["process_id", "stream_pos", "group_id", "member_id", "members", "ts"], is_removal & of_groups).to_pylist()
    clusters = Clusters(inputs) if lines else None
    for line in lines:
        group = clusters.at(line["process_id"], line["stream_pos"]) if clusters else "", line["group_id"]
        if group in groups:
            is_list = line["member_id"] is None and line["members"] is not None
            for member_id in line["members"] if is_list else [line["member_id"]]:
                yield group, member_id, line["ts"]
