"""Find the readings of partitions: from the line in which a consumer of a group starts to read until it starts again or is assigned partitions again."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import pyarrow.compute as pc

from forensics.logs.events import event_table
from forensics.logs.instances import Instances
from forensics.relations.missing import first, greatest, least, less
from forensics.relations.ordered import grouped

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs, Row

CLIENT = ("process_id", "instance", "client")
#: Lines of these kinds show how far a consumer read.
_COMMITS = ("committed", "asked", "refused")


class Asked(NamedTuple):
    """A commit that was asked for or refused, as a row of the examples."""

    at_offset: int
    event_id: str


@dataclass(kw_only=True)
class Reading:
    """A reading of a partition by a consumer of a group.

    Attributes:
        start: the line in which it starts, a row of `offset_line`.
        committed: highest offset that it committed.
        asked: highest offset that it asked to commit, and the line.
        refused: highest offset whose commit was refused, and the line.
        automatic: last automatic commit that was refused, a row of `offset_line`.
        last_commit_pos: position of its last line about commits.
        taken: the line in which it lost the partition, a row of `offset_line`.
        fence: the first line after its start that says why its commits were refused, a row of `offset_line`.
        any_refused: True if a commit of it, or of all partitions of its client, was refused.
        end_pos: position at which it certainly ended.
        last_joining_pos: position of the last join request of its client before it lost the partition.
    """

    start: Row
    committed: int | None = None
    asked: Asked | None = None
    refused: Asked | None = None
    automatic: Row | None = None
    last_commit_pos: int | None = None
    taken: Row | None = None
    fence: Row | None = None
    any_refused: bool = False
    end_pos: int | None = None
    last_joining_pos: int | None = None

    def add(self, line: Row) -> None:
        """Add one of its lines about offsets, in the order of their positions."""
        kind, at_offset = line["kind"], line["at_offset"]
        if kind == "committed":
            self.committed = greatest(self.committed, at_offset)
        elif kind == "taken":
            self.taken = self.taken or line
        elif kind in ("asked", "refused") and at_offset is not None:
            commit, known = Asked(at_offset, line["event_id"]), self.asked if kind == "asked" else self.refused
            setattr(self, kind, max(commit, known) if known is not None else commit)
        if kind == "refused" and line["how"] == "automatic":
            self.automatic = line
        if kind in _COMMITS:
            self.last_commit_pos = line["stream_pos"]

    @property
    def final_offset(self) -> int | None:
        """Return the position up to which it certainly read, and no further.

        An automatic commit has the complete position. If it is the last line about offsets, and no join request comes between it and the loss, nothing
        more was read.
        """
        if self.automatic is None or self.taken is None:
            return None
        at = self.automatic["stream_pos"]
        is_last = at == self.last_commit_pos and at < self.taken["stream_pos"] and not less(at, self.last_joining_pos)
        final_offset: int | None = self.automatic["at_offset"]
        return final_offset if is_last else None


_COLUMNS = [
    *("kafka_cluster", *CLIENT, "group_id", "resource", "stream_pos", "at_ms", "event_id", "kind", "how", "at_offset", "fenced_by"),
]


def readings(inputs: Inputs) -> Iterator[Reading]:
    """Yield the readings of consumers that are assigned partitions. Consumers that read without an assignment are not members.

    Args:
        inputs: rows of `offset_line`, and of events.
    """
    joinings: dict[tuple[str, int, str], list[int]] | None = None
    for lines in grouped(inputs.table("offset_line", _COLUMNS), CLIENT, "stream_pos", "event_id"):
        given = sorted({line["stream_pos"] for line in lines if line["kind"] == "given"})
        if not given or not any(line["kind"] == "start" for line in lines):
            continue
        if joinings is None:
            joinings = _joinings(inputs)
        its = list(_of_client(lines))
        client = _Client(lines, given, joinings.get((lines[0]["process_id"], lines[0]["instance"], lines[0]["client"]), ()))
        for reading in its:
            client.complete(reading)
        yield from its


def _of_client(lines: Sequence[Row]) -> Iterator[Reading]:
    """Yield the readings of a client with the next line that starts one of the same partition. A new assignment starts one whose first line is missing."""
    open_readings: dict[str, Reading | None] = {}
    last: dict[str, Reading] = {}
    for line in lines:
        resource, kind = line["resource"], line["kind"]
        if resource is None:
            continue
        if kind == "start":
            reading = Reading(start=line)
            open_readings[resource] = reading
            if line["group_id"] is not None:
                if resource in last:
                    last[resource].end_pos = line["stream_pos"]
                last[resource] = reading
                yield reading
        elif kind == "given":
            open_readings[resource] = None
        elif (its := open_readings.get(resource)) is not None:
            its.add(line)


@dataclass
class _Client:
    """A client's lines that concern several of its readings.

    Args:
        lines: its lines, in the order of their positions.
        given: positions of its assignments, in their order.
        joinings: positions of its join requests, in their order.
    """

    lines: Sequence[Row]
    given: Sequence[int]
    joinings: Sequence[int]
    refused: defaultdict[str | None, list[Row]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        for line in self.lines:
            if line["kind"] == "refused":
                self.refused[line["resource"]].append(line)

    def complete(self, reading: Reading) -> None:
        """Add to a reading what lines about other partitions, or all of them, show.

        It ends for good when the client is assigned partitions after this one was taken: a commit failure just after the loss still concerns it.
        """
        if reading.taken is not None:
            at = reading.taken["stream_pos"]
            later, earlier = bisect_right(self.given, at), bisect_left(self.joinings, at)
            reading.end_pos = least(reading.end_pos, self.given[later] if later < len(self.given) else None)
            reading.last_joining_pos = self.joinings[earlier - 1] if earlier else None
        for resource in (None, reading.start["resource"]):
            self._add_refused(reading, self.refused.get(resource, ()))

    def _add_refused(self, reading: Reading, refused: Sequence[Row]) -> None:
        """Add the first line that says why commits of a reading were refused."""
        for line in refused[bisect_right(refused, reading.start["stream_pos"], key=_position) :]:
            if reading.end_pos is not None and line["stream_pos"] >= reading.end_pos:
                return
            reading.any_refused = True
            if line["fenced_by"] is not None:
                if reading.fence is None or _fence(line) < _fence(reading.fence):
                    reading.fence = line
                return


def _position(line: Row) -> int:
    return int(line["stream_pos"])


def _fence(line: Row) -> tuple[int, str, str]:
    return line["stream_pos"], line["fenced_by"], line["event_id"]


def _joinings(inputs: Inputs) -> dict[tuple[str, int, str], list[int]]:
    """Return the positions of the join requests of each consumer."""
    columns = ["process_id", "stream_pos", "task", "client_id", "thread"]
    is_joining = (pc.field("event") == "joining") & (pc.field("client_kind") == "Consumer")
    found: defaultdict[tuple[str, int, str], list[int]] = defaultdict(list)
    for row in Instances(inputs).added(event_table(inputs, columns, is_joining)).to_pylist():
        found[row["process_id"], row["instance"], first(row["task"], row["client_id"], row["thread"], "-")].append(row["stream_pos"])
    for its in found.values():
        its.sort()
    return found
