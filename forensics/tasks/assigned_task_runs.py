"""Find the tasks that were assigned to workers, and whether they ran there."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

import pyarrow.compute as pc

from forensics.relations.by_key import by_run
from forensics.relations.missing import first, least

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs, Row


class _Assigned(NamedTuple):
    """A task in an assignment of a worker.

    Attributes:
        assigned_ms: when it was assigned, by the worker's clock.
        until_ms: the next assignment, or the end of the process run.
        event_id: the event of the assignment.
    """

    kafka_cluster: str
    group_id: str
    process_id: str
    instance: int
    task: str
    assigned_ms: int
    until_ms: int | None
    event_id: str


def assigned_task_runs(inputs: Inputs) -> list[Row]:
    """Return a row for each task and assignment of a worker.

    `started` is True if the task ran in the meantime, and None if that is unknown because the clock was set back; `is_kept` if the worker may have had it before
    its log begins.
    """
    assigned = list(dict.fromkeys(_assigned(inputs)))
    if not assigned:
        return []
    runs, kept = _Runs(inputs), _kept(inputs, assigned)
    set_back = {row["process_id"] for row in inputs.rows("clock_offset") if (row["step"] or {}).get("set_back") is not None}
    # By a clock that was set back, a running task seems to have started after the end of its assignment.
    return [
        one._asdict()
        | {
            "started": True if runs.meet(one) else None if one.process_id in set_back else False,
            "is_kept": (one.process_id, one.instance, one.task) in kept,
        }
        for one in assigned
    ]


def _assigned(inputs: Inputs) -> Iterator[_Assigned]:
    """Yield the tasks of each assignment. They are recognised by their place in the line: a connector may have the name of a task, `orders-1`."""
    columns = ["event_id", "assigned_tasks"]
    tasks = {row["event_id"]: row["assigned_tasks"] for row in inputs.rows("client_event", columns, pc.field("assigned_tasks").is_valid())}
    lives = by_run(inputs.rows("process_life", ["process_id", "instance", "stopping_ms", "last_ms"]))
    of_client = defaultdict(list)
    for row in _assignments(inputs):
        if (row["process_id"], row["instance"]) in lives:
            of_client[row["process_id"], row["instance"], row["group_id"], row["client"]].append(row)
    for (process_id, instance, group_id, _), its in of_client.items():
        its.sort(key=lambda row: int(row["round"]))
        life = lives[process_id, instance]
        ends = [*(row["worker_assigned_ms"] for row in its[1:]), first(life["stopping_ms"], life["last_ms"])]
        for row, until_ms in zip(its, ends, strict=True):
            for task in tasks.get(row["worker_assigned_id"]) or ():
                at = row["worker_assigned_ms"], until_ms, row["worker_assigned_id"]
                yield _Assigned(row["kafka_cluster"], group_id, process_id, instance, task, *at)


def _assignments(inputs: Inputs) -> list[Row]:
    """Return the rounds in which workers were assigned something, or nothing."""
    columns = ["kafka_cluster", "group_id", "process_id", "instance", "client", "round", "is_worker", "worker_assigned_ms", "worker_assigned_id"]
    return [row for row in inputs.rows("join_round", columns, pc.field("worker_assigned_ms").is_valid()) if row["is_worker"]]


def _kept(inputs: Inputs, assigned: list[_Assigned]) -> set[tuple[str, int, str]]:
    """Return the tasks that a worker may have kept, and did not start again.

    An assignment of Connect's cooperative protocol also lists these. In a log that begins later than its worker, those of the first assignment may be such tasks.
    """
    first_ms: dict[str, int] = {}
    for row in _assignments(inputs):
        if row["instance"] == 0:
            at_ms = row["worker_assigned_ms"]
            first_ms[row["process_id"]] = min(at_ms, first_ms.get(row["process_id"], at_ms))
    return {(one.process_id, 0, one.task) for one in assigned if one.instance == 0 and one.assigned_ms == first_ms[one.process_id]}


class _Runs:
    """When tasks ran on workers.

    Args:
        inputs: rows of `holding`.
    """

    def __init__(self, inputs: Inputs) -> None:
        spans: defaultdict[tuple[str, str], list[tuple[int, float]]] = defaultdict(list)
        columns = ["process_id", "resource", "resource_kind", "start_lo_ms", "start_hi_ms", "stop_asked_ms", "stop_hi_ms"]
        for row in inputs.rows("holding", columns, pc.field("resource_kind") == "task"):
            start_ms, end_ms = first(row["start_lo_ms"], row["start_hi_ms"]), least(row["stop_hi_ms"], row["stop_asked_ms"])
            if start_ms is not None:
                spans[row["process_id"], row["resource"]].append((start_ms, float("inf") if end_ms is None else end_ms))
        #: The starts of each task in their order, and how far each run, or one before it, reaches.
        self._of = {}
        for task, its in spans.items():
            its.sort()
            self._of[task] = [start_ms for start_ms, _ in its], list(accumulate((end_ms for _, end_ms in its), max))

    def meet(self, one: _Assigned) -> bool:
        """Return True if a task ran on the worker while it was assigned to it."""
        starts, reach = self._of.get((one.process_id, one.task), ([], []))
        begun = bisect_right(starts, one.until_ms) if one.until_ms is not None else 0
        return begun > 0 and reach[begun - 1] >= one.assigned_ms
