"""Place moments of a process's own clock on the reference clock."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from forensics.relations.missing import minus

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs, Row


class Clocks:
    """How far the clock of each process is ahead of the reference of its island.

    Args:
        inputs: the rows of `clock_offset`.
        steady: leave out clocks that stepped.
    """

    def __init__(self, inputs: Inputs, *, steady: bool = False) -> None:
        self._of: dict[str, Row] = {
            row["process_id"]: row for row in inputs.rows("clock_offset") if row["is_island_reference"] and (row["is_steady"] or not steady)
        }

    def bounds(self, process_id: str | None, at_ms: int | None) -> Iterator[tuple[int | None, int | None]]:
        """Yield the earliest and latest time of a moment on the reference clock, in milliseconds; nothing if the process has no clock."""
        if process_id in self._of:
            clock = self._of[process_id]
            yield minus(at_ms, clock["hi_ms"]), minus(at_ms, clock["lo_ms"])

    def widths(self) -> dict[str, int]:
        """Return how uncertain the clock of each process is, in milliseconds; without those of which it is unknown."""
        known = ((process_id, minus(clock["hi_ms"], clock["lo_ms"])) for process_id, clock in self._of.items())
        return {process_id: width for process_id, width in known if width is not None}
