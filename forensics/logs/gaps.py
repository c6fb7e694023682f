"""Describe gaps in logs that the order of lines shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from forensics.relations.inputs import Row


@dataclass(frozen=True)
class Gap:
    """A place in the log of a process run where lines must be missing.

    Attributes:
        process_id, instance: the run.
        from_pos: last position that is certainly before it.
        to_pos: first position that is certainly after it.
        is_wide: True if a whole stretch may be missing; False if a single missing line explains it.
        why: as in the view `log_hole`.
        event_id: first line that is certainly after it; None: a lost range.
    """

    process_id: str
    instance: int
    from_pos: int | None
    to_pos: int | None
    is_wide: bool
    why: str
    event_id: str | None


def gap_before(line: Row, from_pos: int | None, why: str, *, is_wide: bool = True) -> Gap:
    """Return the gap between a position and a line."""
    return Gap(line["process_id"], line["instance"], from_pos, line["stream_pos"], is_wide, why, line["event_id"])
