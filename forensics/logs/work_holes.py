"""Find places where the order of lines about tasks or partitions is impossible in one process."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from forensics.logs.partition_order import contradicting_partitions
from forensics.logs.task_order import contradicting_tasks

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs, Row


def work_holes(inputs: Inputs) -> list[Row]:
    """Return a gap for each such place: lines of the process are missing.

    A worker refuses to start a task that it already runs, so a second start without a stop request in between is a gap. It forgets a task after waiting for its
    end, so a second stop request is a gap too. So are commits of a task whose producer was closed cleanly, clean closing of clients whose task was neither asked to
    stop nor failed, scheduled commits of a task that was abandoned (the stop request ends them), and a working task that was never started, in a log that begins
    with its worker. So is a list of partitions that a consumer revokes, or owns, and that contradicts the lines before it.
    """
    return [asdict(gap) for gap in (*contradicting_tasks(inputs), *contradicting_partitions(inputs))]
