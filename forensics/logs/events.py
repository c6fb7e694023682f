"""Read the rows of the view `event`, which is not stored: those of `event_row` without snapshots, copies of logs and damaged lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from forensics.relations.conditions import one_of

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs, Row


def event_table(inputs: Inputs, columns: Sequence[str], where: pc.Expression | None = None) -> pa.Table:
    """Return columns of events, of a case of any size.

    Args:
        inputs: rows of `event_row`, `copied_log` and `damaged_line`.
        columns: columns of `event_row`.
        where: a condition on its columns.
    """
    return inputs.table("event_row", columns, is_event(inputs, where))


def events(inputs: Inputs, columns: Sequence[str], where: pc.Expression) -> list[Row]:
    """Return events that a condition selects, as `event_table` does."""
    return inputs.rows("event_row", columns, is_event(inputs, where))


def is_event(inputs: Inputs, where: pc.Expression | None = None) -> pc.Expression:
    """Return a condition on rows of `event_row` that also leaves out those that are not events."""
    condition = pc.field("category") != "snapshot"
    if where is not None:
        condition &= where
    if copies := inputs.rows("copied_log"):
        condition &= ~one_of("process_id", (row["process_id"] for row in copies))
    if damaged := inputs.rows("damaged_line"):
        condition &= ~one_of("event_id", (row["event_id"] for row in damaged))
    return condition
