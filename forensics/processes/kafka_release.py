"""Find the release of Kafka that fits the lines of a process, by source line numbers and wordings, if no line prints it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from forensics.relations.conditions import one_of

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs

#: The month in which each release could first be used.
FIRST_MONTHS = dict(
    entry.split("=")
    for entry in [
        "0.9.0.0=2015-11",
        "0.9.0.1=2016-02",
        "0.10.0.0=2016-05",
        "0.10.0.1=2016-08",
        "0.10.1.0=2016-10",
        "0.10.1.1=2016-12",
        "0.10.2.0=2017-02",
        "0.10.2.1=2017-04",
        "0.10.2.2=2018-06",
        "0.11.0.0=2017-06",
        "0.11.0.1=2017-09",
        "0.11.0.2=2017-11",
        "0.11.0.3=2018-06",
        "1.0.0=2017-10",
        "1.0.1=2018-02",
        "1.0.2=2018-06",
        "1.1.0=2018-03",
        "1.1.1=2018-07",
        "2.0.0=2018-07",
        "2.0.1=2018-10",
        "2.1.0=2018-11",
        "2.1.1=2019-02",
        "2.2.0=2019-03",
        "2.2.1=2019-05",
        "2.2.2=2019-11",
        "2.3.0=2019-06",
        "2.3.1=2019-10",
        "2.4.0=2019-12",
        "2.4.1=2020-03",
        "2.5.0=2020-04",
        "2.5.1=2020-07",
        "2.6.0=2020-07",
        "2.6.1=2020-12",
        "2.6.2=2021-04",
        "2.6.3=2021-11",
        "2.7.0=2020-12",
        "2.7.1=2021-04",
        "2.7.2=2021-11",
        "2.8.0=2021-04",
        "2.8.1=2021-09",
        "2.8.2=2022-09",
        "3.0.0=2021-09",
        "3.0.1=2022-03",
        "3.0.2=2022-09",
        "3.1.0=2022-01",
        "3.1.1=2022-05",
        "3.1.2=2022-09",
        "3.2.0=2022-05",
        "3.2.1=2022-07",
        "3.2.2=2022-09",
        "3.2.3=2022-09",
        "3.3.0=2022-09",
        "3.3.1=2022-09",
        "3.3.2=2023-01",
        "3.4.0=2023-02",
        "3.4.1=2023-05",
        "3.5.0=2023-06",
        "3.5.1=2023-07",
        "3.5.2=2023-12",
        "3.6.0=2023-10",
        "3.6.1=2023-12",
        "3.6.2=2024-04",
        "3.7.0=2024-02",
        "3.7.1=2024-06",
        "3.8.0=2024-07",
        "3.8.1=2024-10",
        "3.9.0=2024-11",
        "3.9.1=2025-05",
        "4.0.0=2025-03",
        "4.1.1=2025-11",
        "4.2.0=2026-01",
        "4.3.1=2026-06",
    ]
)
_HINTS_LEAST = 3
_AGREEING_LEAST = 0.8
#: Lines that print a release prove it; they are no hints.
_PRINTED = ("kafka_version", "kafka_commit_id")


@dataclass(frozen=True)
class Fingerprint:
    """The releases that fit the lines of a process.

    Attributes:
        releases: the releases that remain, the oldest first.
        hints: number of different hints.
        agreeing: number of these that allow the remaining releases.
    """

    releases: list[str]
    hints: int
    agreeing: int

    @property
    def range(self) -> str:
        """Return the releases as a range."""
        return self.releases[0] if len(self.releases) == 1 else f"{self.releases[0]}..{self.releases[-1]}"


def fingerprints(inputs: Inputs) -> dict[str, Fingerprint]:
    """Return the releases that fit the lines of each process.

    Each distinct hint (`event.releases`) votes for the releases that it allows. The releases with the most votes remain if they have nearly all votes. A patched
    build, or a layout whose line numbers are wrong (clients of 1.0), matches no release, and none is guessed. Only the last process run counts.

    Args:
        inputs: rows of `event_row`, `counted_row`, `copied_log`, `process_start` and `process_life`.
    """
    ends: dict[str, int] = {}
    for row in inputs.rows("process_life"):
        if row["last_ms"] is not None:
            ends[row["process_id"]] = max(row["last_ms"], ends.get(row["process_id"], row["last_ms"]))
    found = {}
    for process_id, hints in _hints(inputs).items():
        if process_id in ends and (fingerprint := _fingerprint(hints, ends[process_id])) is not None:
            found[process_id] = fingerprint
    return found


def _hints(inputs: Inputs) -> Mapping[str, set[str]]:
    """Return the different hints of the last run of each process."""
    copies = {row["process_id"] for row in inputs.rows("copied_log")}
    last_start: dict[str, int] = {}
    for row in inputs.rows("process_start"):
        for start in row["starts"] or ():
            last_start[row["process_id"]] = max(start["stream_pos"], last_start.get(row["process_id"], start["stream_pos"]))
    is_hint = pc.field("releases").is_valid() & ~one_of("event", _PRINTED)
    columns = ["process_id", "releases", "stream_pos"]
    lines = pa.concat_tables(
        [
            inputs.table("event_row", columns, is_hint & (pc.field("category") != "snapshot")),
            inputs.table("counted_row", columns, is_hint & (pc.field("event") != "gc_pause_began")),
        ]
    )
    found = defaultdict(set)
    last = lines.group_by(["process_id", "releases"]).aggregate([("stream_pos", "max")])
    for process_id, releases, pos in zip(*(last.column(name).to_pylist() for name in ("process_id", "releases", "stream_pos_max")), strict=True):
        if process_id not in copies and (process_id not in last_start or pos >= last_start[process_id]):
            found[process_id].add(releases)
    return found


def _fingerprint(hints: Iterable[str], end_ms: int) -> Fingerprint | None:
    """Return the releases with the most votes, if they have nearly all votes.

    A release that did not exist when the log ends has no vote: a vendor's build can have the line numbers of a later one.
    """
    ranges = [[_bounds(part) for part in hint.split()] for hint in hints]
    month = datetime.fromtimestamp(end_ms / 1000, UTC).strftime("%Y-%m")
    votes = {
        release: sum(any(_allows(bounds, _number(release)) for bounds in its) for its in ranges)
        for release, first_month in FIRST_MONTHS.items()
        if first_month <= month
    }
    most = max(votes.values(), default=0)
    if most < _HINTS_LEAST or most < _AGREEING_LEAST * len(ranges):
        return None
    return Fingerprint(sorted((release for release, its in votes.items() if its == most), key=_number), len(ranges), most)


def _bounds(part: str) -> tuple[tuple[int, ...] | None, tuple[int, ...] | None]:
    """Return the first and the last release of a range; None: it has no bound."""
    first, _, last = part.partition("..") if ".." in part else (part, "", part)
    return _number(first) if first else None, _number(last) if last else None


def _allows(bounds: tuple[tuple[int, ...] | None, tuple[int, ...] | None], number: tuple[int, ...]) -> bool:
    first, last = bounds
    return (first is None or first <= number) and (last is None or number <= last)


def _number(release: str) -> tuple[int, ...]:
    """Return a release as four numbers."""
    return tuple(int(part) for part in [*release.split("."), "0", "0", "0"][:4])
