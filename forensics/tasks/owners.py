"""Find who ran a task or connector before and after a failure, on the reference clock."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from operator import itemgetter
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from forensics.relations.missing import first, least, minus, plus, there

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs, Row
    from forensics.tasks.failures import Failure

_FOREVER_MS = 9_000_000_000_000_000
#: A task or connector of a group: Kafka cluster, group, kind and name.
Place = tuple[str | None, str | None, str, str | None]


@dataclass(frozen=True)
class Owner:
    """A run of a task or connector; one that failed ends there.

    Attributes:
        row: its row of `holding`.
        failure_id: its last failure; None: it did not fail.
        line_hi_ms: the line of its start was printed at this time at the latest; None: unknown.
        from_hi_ms: it certainly ran from this time on.
        to_lo_ms: it certainly ran until this time.
        to_hi_ms: it certainly did not run from this time on.
    """

    row: Row
    failure_id: str | None
    line_hi_ms: int | None
    from_hi_ms: int | None
    to_lo_ms: int | None
    to_hi_ms: int

    @property
    def start_hi_ms(self) -> int | None:
        """Return from when on it certainly ran, by its process's clock."""
        start_hi_ms: int | None = first(self.row["start_hi_ms"], self.row["start_lo_ms"])
        return start_hi_ms


@dataclass(frozen=True)
class Around:
    """The owners around a failure.

    Attributes:
        next: the owner whose start is the first after it; None: no line shows one.
        later_lo_ms: an owner that started after it ran from this time on at the earliest.
        earlier_to_lo_ms: an owner that started before it certainly ran until this time.
        earlier_to_hi_ms: owners that started before it may have run until this time.
        earlier_process_id: the process of the one that certainly ran longest.
    """

    next: Owner | None = None
    later_lo_ms: int | None = None
    earlier_to_lo_ms: int | None = None
    earlier_to_hi_ms: int | None = None
    earlier_process_id: str | None = None


class Owners:
    """The owners of all tasks and connectors that failed.

    Args:
        inputs: rows of `holding`.
        failures: the failures.
    """

    def __init__(self, inputs: Inputs, failures: Iterable[Failure]) -> None:
        failed: defaultdict[tuple[str, str, str, str | None], list[Failure]] = defaultdict(list)
        for failure in failures:
            failed[failure.of.process_id, f"{failure.of.instance}/{failure.life}", failure.of.kind, failure.of.name].append(failure)
        wanted = {(kind, name) for _, _, kind, name in failed if name is not None}
        self._islands: defaultdict[Place, set[str]] = defaultdict(set)
        self._own: dict[str, Owner] = {}
        started: defaultdict[tuple[Place, str], list[Owner]] = defaultdict(list)
        for row in inputs.rows("holding", _COLUMNS, pc.field("resource_kind") != "partition") if wanted else ():
            if (row["resource_kind"], row["resource"]) not in wanted:
                continue
            place = row["kafka_cluster"], row["group_id"], row["resource_kind"], row["resource"]
            owner = _owner(row, failed.get((row["process_id"], row["owner"], row["resource_kind"], row["resource"]), ()))
            if row["reference_process_id"] is not None:
                self._islands[place].add(row["reference_process_id"])
            if owner.line_hi_ms is not None:
                started[place, row["reference_process_id"]].append(owner)
                if row["group_id"] is None:
                    started[(row["process_id"], *place[1:]), row["reference_process_id"]].append(owner)
            if owner.failure_id is not None:
                known = self._own.get(owner.failure_id, owner)
                self._own[owner.failure_id] = max(owner, known, key=lambda one: str(one.row["ownership_id"]))
        self._started = {key: _Started(owners) for key, owners in started.items()}

    def own(self, failure: Failure) -> Owner | None:
        """Return the run of the task or connector that failed."""
        return self._own.get(failure.event_id)

    def is_apart(self, failure: Failure) -> bool:
        """Return True if the clocks of its owners cannot be compared."""
        return len(self._islands.get(_place(failure), ())) > 1

    def around(self, failure: Failure, reference_process_id: str, failed_hi_ms: int | None) -> Around:
        """Return the owners around a failure, which was at this time at the latest. A start must have its line after the failure."""
        place = _place(failure)
        started = self._started.get((place, reference_process_id))
        if failure.group_id is None and (started is None or failed_hi_ms is None or started.around(failed_hi_ms).next is None):
            # A worker without a group runs the same connectors again when it is started, perhaps on another cluster.
            started = self._started.get(((failure.of.process_id, *place[1:]), reference_process_id))
        return Around() if started is None or failed_hi_ms is None else started.around(failed_hi_ms)


_COLUMNS = [
    *("ownership_id", "kafka_cluster", "group_id", "resource_kind", "resource", "process_id", "owner", "generation", "start_id", "start_lo_ms"),
    *("start_hi_ms", "stop_lo_ms", "stop_hi_ms", "work_stop_hi_ms", "reference_process_id", "ahead_lo_ms", "ahead_hi_ms", "resolution_ms"),
    *("from_lo_ms", "from_hi_ms"),
]


def _place(failure: Failure) -> Place:
    return failure.kafka_cluster, failure.group_id, failure.of.kind, failure.of.name


def _owner(row: Row, failures: Sequence[Failure]) -> Owner:
    """Return a run of a task or connector with these failures."""
    failed_ms = least(*(failure.at_ms for failure in failures))
    late_ms = minus(row["resolution_ms"], row["ahead_lo_ms"])
    line_hi_ms = plus(row["start_lo_ms"], late_ms)
    return Owner(
        row,
        failure_id=max((failure.event_id for failure in failures), default=None),
        line_hi_ms=line_hi_ms,
        from_hi_ms=first(row["from_hi_ms"], line_hi_ms),
        to_lo_ms=minus(least(row["stop_lo_ms"], failed_ms), row["ahead_hi_ms"]),
        to_hi_ms=first(plus(least(failed_ms, row["work_stop_hi_ms"], row["stop_hi_ms"]), late_ms), _FOREVER_MS),
    )


def _later(a: tuple[int, str] | None, b: tuple[int, str] | None) -> tuple[int, str] | None:
    """Return the later of two ends."""
    return max(there([a, b]), default=None)


class _Started:
    """The owners of a task or connector in the order of their starts.

    Args:
        owners: the owners, with times of their starts.
    """

    def __init__(self, owners: Iterable[Owner]) -> None:
        by_id = sorted(owners, key=lambda owner: str(owner.row["ownership_id"]), reverse=True)
        by_time = sorted(((owner.line_hi_ms, owner) for owner in by_id if owner.line_hi_ms is not None), key=itemgetter(0))
        self._times = [at_ms for at_ms, _ in by_time]
        self._owners = [owner for _, owner in by_time]
        certain = [(owner.to_lo_ms, str(owner.row["process_id"])) if owner.to_lo_ms is not None else None for owner in self._owners]
        self._certain = list(accumulate(certain, _later))
        self._possible = list(accumulate((owner.to_hi_ms for owner in self._owners), max))
        self._from_lo = list(accumulate((owner.row["from_lo_ms"] for owner in reversed(self._owners)), least))[::-1]

    def around(self, at_ms: int) -> Around:
        """Return the owners around a time."""
        later = bisect_left(self._times, at_ms)
        longest = self._certain[later - 1] if later else None
        return Around(
            next=self._owners[later] if later < len(self._owners) else None,
            later_lo_ms=self._from_lo[later] if later < len(self._owners) else None,
            earlier_to_lo_ms=longest[0] if longest is not None else None,
            earlier_to_hi_ms=self._possible[later - 1] if later else None,
            earlier_process_id=longest[1] if longest is not None else None,
        )
