"""Compute the view `work_hole`: places where the order of lines about tasks or partitions is impossible in one process."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from forensics.logs.partition_order import contradicting_partitions
from forensics.logs.task_order import contradicting_tasks

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs, Row


def rows(inputs: Inputs) -> list[Row]:
    """Return the rows of the view `work_hole`."""
    return [asdict(gap) for gap in (*contradicting_tasks(inputs), *contradicting_partitions(inputs))]
