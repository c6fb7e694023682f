"""Find when a coordinator answered another client of a process, which shows that the process could reach it."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable
from operator import itemgetter
from typing import TYPE_CHECKING

from forensics.relations.conditions import one_of

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs, Row

_PLACE = ("process_id", "instance", "group_id")


class ServedProcesses:
    """When the coordinator of a group answered each client of a process run, by its own clock.

    Args:
        inputs: rows of `client_event`.
        outages: rows of `coordinator_outage`.
    """

    def __init__(self, inputs: Inputs, outages: Iterable[Row]) -> None:
        self._answers: defaultdict[tuple[object, ...], list[tuple[int, str]]] = defaultdict(list)
        processes = {outage["process_id"] for outage in outages if _is_lost(outage)}
        if not processes:
            return
        is_joined = one_of("event", ["joined", "synced"]) & one_of("process_id", processes)
        joined = inputs.distinct("client_event", [*_PLACE, "at_ms", "client"], is_joined)
        found = {(*(outage[name] for name in _PLACE), outage["found_ms"], outage["client"]) for outage in outages}
        for *place, at_ms, client in joined | found:
            if at_ms is not None and None not in place:
                self._answers[tuple(place)].append((at_ms, client))
        for answers in self._answers.values():
            answers.sort()

    def since(self, outage: Row) -> int | None:
        """Return when another client of the process was first answered after a loss that no line ends; None: never, or the client was answered itself."""
        if not _is_lost(outage):
            return None
        answers = self._answers.get(tuple(outage[name] for name in _PLACE), ())
        begin = bisect_left(answers, outage["lost_ms"], key=itemgetter(0))
        return next((answers[at][0] for at in range(begin, len(answers)) if answers[at][1] != outage["client"]), None)


def _is_lost(outage: Row) -> bool:
    """Return True if a client lost its coordinator once, and its log shows no recovery."""
    is_ended = outage["found_ms"] is not None or outage["closed_ms"] is not None
    return not outage["never"] and outage["losses"] == 1 and not is_ended and outage["lost_ms"] is not None
