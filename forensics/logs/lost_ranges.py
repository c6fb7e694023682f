"""Find whether lines of a log are lost in a time, so that the absence of a line there shows nothing."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from operator import itemgetter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs


class LostRanges:
    """The times in which lines of each log are lost, by its own clock.

    Args:
        inputs: rows of `lost_range`.
    """

    def __init__(self, inputs: Inputs) -> None:
        #: In the order of their begins: each range's begin, and the latest end up to there.
        self._of: defaultdict[str, list[tuple[float, float]]] = defaultdict(list)
        bounds = ((row["process_id"], *_bounds(row["from_ms"], row["to_ms"])) for row in inputs.rows("lost_range"))
        for process_id, from_ms, to_ms in sorted(bounds):
            its = self._of[process_id]
            its.append((from_ms, max(to_ms, its[-1][1]) if its else to_ms))

    def in_time(self, process_id: str, from_ms: int | None, to_ms: int | None) -> bool:
        """Return True if lines of a log may be lost in a time; None: it has no bound."""
        its = self._of.get(process_id, ())
        earliest, latest = _bounds(from_ms, to_ms)
        begun = bisect_right(its, latest, key=itemgetter(0))
        return begun > 0 and its[begun - 1][1] >= earliest


def _bounds(from_ms: int | None, to_ms: int | None) -> tuple[float, float]:
    return float("-inf") if from_ms is None else from_ms, float("inf") if to_ms is None else to_ms
