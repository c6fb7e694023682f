"""Compute the view `unstarted_task`: workers with tasks that were assigned to them and did not start."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from forensics.clocks.offsets import Clocks
from forensics.logs.events import events
from forensics.logs.instances import Instances
from forensics.relations.conditions import one_of
from forensics.relations.missing import least, minus, names
from forensics.tasks.assigned_task_runs import assigned_task_runs
from forensics.tasks.task_failure import rows as task_failure

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs, Row

#: Lines of a task that is there, even if it says that it had nothing to commit.
_SEEN = ("task_commit_idle", "task_committing", "task_started", "task_executing")
_EVENTS_MOST = 4


def rows(inputs: Inputs) -> list[Row]:
    """Return the rows of the view `unstarted_task`."""
    clocks = Clocks(inputs)
    of_worker: defaultdict[tuple[str, str, str], list[Row]] = defaultdict(list)
    for run in _unstarted(inputs):
        of_worker[run["kafka_cluster"], run["group_id"], run["process_id"]].append(run)
    return [
        {
            "kafka_cluster": kafka_cluster,
            "group_id": group_id,
            "process_id": process_id,
            "tasks": names(run["task"] for run in its),
            "from_ms": least(*(minus(run["assigned_ms"], clock.ahead_ms) for run in its)),
            "waited_ms": max(run["until_ms"] - run["assigned_ms"] for run in its),
            "event_ids": names(run["event_id"] for run in its)[:_EVENTS_MOST],
        }
        for (kafka_cluster, group_id, process_id), its in of_worker.items()
        if (clock := clocks.of(process_id)) is not None
    ]


def _unstarted(inputs: Inputs) -> Iterator[Row]:
    """Yield the assignments of tasks that certainly did not start, nor fail, and whose worker did not die."""
    waited = [run for run in assigned_task_runs(inputs) if _has_waited(run, inputs.knobs.not_started_ms)]
    if not waited:
        return
    failed = {(row["process_id"], row["instance"], row["resource"]) for row in task_failure(inputs)}
    died = inputs.rows("fact_line", ["process_id", "instance"], pc.field("event") == "herder_failed")
    # If lines are missing, those of the start may be among them.
    holes = inputs.rows("log_hole", ["process_id", "instance"])
    in_doubt = {(row["process_id"], row["instance"]) for row in (*died, *holes)}
    seen = _seen(inputs, {run["process_id"] for run in waited})
    for run in waited:
        task = run["process_id"], run["instance"], run["task"]
        if task not in failed and task not in seen and task[:2] not in in_doubt:
            yield run


def _has_waited(run: Row, least_ms: int) -> bool:
    """Return True if a task did not start in its time.

    An assignment of Connect's cooperative protocol also lists the tasks that the worker keeps, and does not start again.
    """
    if run["started"] is not False or run["is_kept"] or run["until_ms"] is None or run["assigned_ms"] is None:
        return False
    return bool(run["until_ms"] - run["assigned_ms"] >= least_ms)


def _seen(inputs: Inputs, processes: set[str]) -> set[tuple[str, int, str]]:
    """Return the tasks of which these processes printed something, with the run of the process."""
    instances = Instances(inputs)
    is_there = one_of("event", _SEEN) & pc.field("task").is_valid() & one_of("process_id", processes)
    lines = events(inputs, ["process_id", "stream_pos", "task"], is_there)
    return {(line["process_id"], instances.at(line["process_id"], line["stream_pos"]), line["task"]) for line in lines}
