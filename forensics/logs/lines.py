"""Read the rows of the view `process_line`, which is not stored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from forensics.relations.conditions import one_of

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs


def line_table(inputs: Inputs, columns: Sequence[str], where: pc.Expression | None = None) -> pa.Table:
    """Return columns of all recognised lines, of a case of any size, except those of copies.

    Any line that a process prints is a sign of life.

    Args:
        inputs: rows of `event_row`, `counted_row` and `copied_log`.
        columns: columns that both tables have.
        where: a condition on such columns.
    """
    wanted = pc.scalar(True) if where is None else where
    if copies := inputs.rows("copied_log"):
        wanted &= ~one_of("process_id", (row["process_id"] for row in copies))
    # A collection begins and ends while the program does not run.
    counted = inputs.table("counted_row", columns, (pc.field("event") != "gc_pause_began") & wanted)
    return pa.concat_tables([inputs.table("event_row", columns, (pc.field("category") != "snapshot") & wanted), counted])
