"""Compute the view `coordinator_outage`: each time in which one member had no coordinator that answered."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import fields
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from forensics.clocks.offsets import Clocks
from forensics.coordinators.closed_clients import closed_clients
from forensics.coordinators.coordinator_lines import members
from forensics.coordinators.lost_coordinators import outages_of
from forensics.coordinators.never_found import never_found
from forensics.coordinators.outages import Outage
from forensics.logs.filtered_logs import filtered_logs
from forensics.logs.lost_ranges import LostRanges
from forensics.relations.by_key import by_run
from forensics.relations.conditions import one_of
from forensics.relations.missing import first, less, minus

if TYPE_CHECKING:
    from forensics.clocks.offsets import Offset
    from forensics.relations.inputs import Inputs, Row

_NO_COLUMNS = ("of", "lost_pos", "found_pos", "is_unsure")


def rows(inputs: Inputs) -> list[Row]:
    """Return the rows of the view `coordinator_outage`."""
    lives = by_run(inputs.rows("process_life", ["process_id", "instance", "stopping_ms", "last_ms"]))
    clocks, doubt = Clocks(inputs), _Doubt(inputs)
    found = []
    for outage in _outages(inputs):
        life, clock = lives.get((outage.of.process_id, outage.of.instance)), clocks.of(outage.of.process_id)
        # Losing the coordinator during shutdown is normal.
        if life is not None and clock is not None and (life["stopping_ms"] is None or less(outage.lost_ms, life["stopping_ms"])):
            found.append(_row(outage, clock, first(life["stopping_ms"], life["last_ms"]), doubt))
    return found


def _outages(inputs: Inputs) -> Iterator[Outage]:
    closed = closed_clients(inputs)
    for member in members(inputs, closed):
        yield from outages_of(member, inputs.knobs)
    yield from never_found(inputs, closed)


class _Doubt:
    """Why the length of an outage may be unknown.

    Args:
        inputs: rows of `filtered_log` and `lost_range`.
    """

    def __init__(self, inputs: Inputs) -> None:
        self._filtered = filtered_logs(inputs)
        self._lost = LostRanges(inputs)
        self._last_ms = _last_before_made_again(inputs)
        self._silent_ms: int = inputs.knobs.pause_silent_ms

    def of(self, outage: Outage, clock: Offset, length_ms: int | None) -> bool:
        """Return True if the member may have found a coordinator at another time than these lines show, or its clock may have stepped."""
        process_id = outage.of.process_id
        return (
            outage.is_unsure
            # A filtered log may lack the line of the recovery.
            or (outage.found_ms is None and process_id in self._filtered)
            # A lost range may hide when it was found, or that it was found and lost again.
            or self._lost.in_time(process_id, outage.lost_ms, first(outage.found_ms, outage.closed_ms))
            or clock.may_have_stepped(outage.lost_pos, outage.found_pos, length_ms)
        )

    def certain_end_ms(self, outage: Outage) -> int | None:
        """Return the last line of a client that was created again after a silence: its process may have ended long before the next one started."""
        if outage.found_ms is not None:
            return None
        last_ms = self._last_ms.get((outage.of.process_id, outage.client_id, outage.closed_ms))
        return last_ms if less(self._silent_ms, minus(outage.closed_ms, last_ms)) else None


def _last_before_made_again(inputs: Inputs) -> dict[tuple[str, str | None, int | None], int]:
    """Return when a client of the same name printed its last line before each line with which one was created again, by process, client and time."""
    columns = ["process_id", "client_id", "event", "at_ms"]
    is_named = pc.field("client_id").is_valid() & pc.field("at_ms").is_valid()
    made = inputs.rows("fact_line", columns, is_named & (pc.field("event") == "subscribed"))
    times = Counter((row["process_id"], row["client_id"]) for row in made)
    clients = {client_id for (_, client_id), count in times.items() if count > 1}
    if not clients:
        return {}
    printed: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for view in ("fact_line", "client_event"):
        for row in inputs.rows(view, ["process_id", "client_id", "at_ms"], is_named & one_of("client_id", clients)):
            printed[row["process_id"], row["client_id"]].append(row["at_ms"])
    found = {}
    for its in printed.values():
        its.sort()
    for row in made:
        its = printed.get((row["process_id"], row["client_id"]), [])
        if at := bisect_left(its, row["at_ms"]):
            found[row["process_id"], row["client_id"], row["at_ms"]] = its[at - 1]
    return found


def _row(outage: Outage, clock: Offset, last_ms: int | None, doubt: _Doubt) -> Row:
    end_ms = first(outage.found_ms, outage.closed_ms)
    length_ms = minus(first(end_ms, last_ms), outage.lost_ms)
    certain_ms = minus(doubt.certain_end_ms(outage), outage.lost_ms)
    return {
        **outage.of._asdict(),
        **{field.name: getattr(outage, field.name) for field in fields(outage) if field.name not in _NO_COLUMNS},
        "last_ms": last_ms,
        "lost_lo_ms": clock.earliest(outage.lost_ms),
        "lost_hi_ms": clock.latest(outage.lost_ms),
        "found_hi_ms": clock.latest(end_ms),
        "certain_ms": None if certain_ms is None else max(certain_ms, 0),
        "reference_process_id": clock.reference_process_id,
        "duration_ms": None if doubt.of(outage, clock, length_ms) else length_ms,
    }
