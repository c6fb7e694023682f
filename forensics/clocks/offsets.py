"""Place moments of a process's own clock on the reference clock."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from forensics.relations.missing import less, minus, plus, up_to

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs, Row


@dataclass(frozen=True)
class Offset:
    """How far a process's clock is ahead of the reference of its island.

    Attributes:
        reference_process_id: the process whose clock is the reference.
        lo_ms: at least this, milliseconds.
        hi_ms: at most this, milliseconds.
        step: how the clock stepped, as in `clock_offset`; None: it did not.
        has_stepped: True if the clock stepped, or its lines cannot be compared with a steady clock.
    """

    reference_process_id: str
    lo_ms: int
    hi_ms: int
    step: Row | None
    has_stepped: bool

    @property
    def ahead_ms(self) -> int:
        """Return the middle of the bounds, as the integer division of SQL, which rounds towards zero."""
        return int((self.lo_ms + self.hi_ms) / 2)

    def earliest(self, own_ms: int | None) -> int | None:
        """Return the earliest time of a moment on the reference clock."""
        return minus(own_ms, self.hi_ms)

    def latest(self, own_ms: int | None) -> int | None:
        """Return the latest time of a moment on the reference clock."""
        return minus(own_ms, self.lo_ms)

    def own_earliest(self, at_ms: int | None) -> int | None:
        """Return the earliest time of a moment of the reference clock on the process's own clock."""
        return plus(at_ms, self.lo_ms)

    def own_latest(self, at_ms: int | None) -> int | None:
        """Return the latest time of a moment of the reference clock on the process's own clock."""
        return plus(at_ms, self.hi_ms)

    def is_within(self, other: Offset, ms: int) -> bool:
        """Return True if two clocks of one island certainly differ by less than this."""
        is_one = self.reference_process_id == other.reference_process_id
        ahead = (minus(self.hi_ms, other.lo_ms), minus(other.hi_ms, self.lo_ms)) if is_one else (None,)
        return all(less(it, ms) for it in ahead)

    def may_have_stepped(self, from_pos: int | None, to_pos: int | None, length_ms: int | None) -> bool:
        """Return True if the clock was set back between two lines of its log, or may have stepped in a time of this length."""
        step = self.step or {}
        return any(less(from_pos, at) and up_to(at, to_pos) for at in step.get("set_back") or ()) or up_to(step.get("least_ms"), length_ms)


class Clocks:
    """The offsets of all processes.

    Args:
        inputs: the rows of `clock_offset`.
        steady: leave out clocks that stepped.
    """

    def __init__(self, inputs: Inputs, *, steady: bool = False) -> None:
        self._of = {
            row["process_id"]: Offset(row["reference_process_id"], row["lo_ms"], row["hi_ms"], row["step"], bool(row["stepped"]))
            for row in inputs.rows("clock_offset")
            if row["is_island_reference"] and (row["is_steady"] or not steady)
        }

    def of(self, process_id: str | None, reference_process_id: str | None = None) -> Offset | None:
        """Return the offset of a process, if it is measured by that reference; None: unknown."""
        offset = self._of.get(process_id) if process_id is not None else None
        return offset if offset is None or reference_process_id in (None, offset.reference_process_id) else None

    def bounds(self, process_id: str | None, at_ms: int | None) -> Iterator[tuple[int | None, int | None]]:
        """Yield the earliest and latest time of a moment on the reference clock, in milliseconds; nothing if the process has no clock."""
        if (offset := self.of(process_id)) is not None:
            yield offset.earliest(at_ms), offset.latest(at_ms)

    def widths(self) -> dict[str, int]:
        """Return how uncertain the clock of each process is, in milliseconds; without those of which it is unknown."""
        known = ((process_id, minus(offset.hi_ms, offset.lo_ms)) for process_id, offset in self._of.items())
        return {process_id: width for process_id, width in known if width is not None}
