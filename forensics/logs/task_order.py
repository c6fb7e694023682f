"""Find lines about a Connect task that cannot follow one another: lines between them are missing."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from operator import itemgetter
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from forensics.logs.gaps import Gap, gap_before
from forensics.relations.ordered import grouped

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs, Row

#: A run of a process.
Run = tuple[str, int]
_COLUMNS = ["process_id", "instance", "resource", "life", "stream_pos", "event_id", "kind", "event", "app_kind", "timeout_ms", "by_schedule"]
#: Kinds of lines with which a run of a task ends, or that only a task that was asked to stop prints.
_ENDS = frozenset(["stop", "failed", "failed_stop", "stopped", "orphan_failed", "closing", "closed", "leaving"])
#: Kinds of lines that a task prints before its thread closes its clients.
_ORDERS = frozenset(["stop", "failed", "orphan_failed"])
_OF_STARTED = frozenset(["sign", "stop", "leaving", "closing"])
_CLIENTS = frozenset(["kafka.consumer", "kafka.producer"])


@dataclass
class _TaskRun:
    """The lines of one start of a task up to a line.

    Attributes:
        life: n-th start in this run of the process; 0: before the first.
        last_pos: last line.
        is_ended: True if a line shows its end, or its order to stop.
        stop_pos: last order to stop.
        closing_pos: last line before its producer was closed cleanly.
        sign_pos: last line of its start or its work.
        failed_stop_pos: last line that the worker abandoned it.
        started_pos: its thread printed its start.
        ordered_pos: last line after which its thread closes its clients.
    """

    life: int
    last_pos: int | None = None
    is_ended: bool = False
    stop_pos: int | None = None
    closing_pos: int | None = None
    sign_pos: int | None = None
    failed_stop_pos: int | None = None
    started_pos: int | None = None
    ordered_pos: int | None = None

    def add(self, line: Row) -> None:
        """Add the next line."""
        self.last_pos = pos = line["stream_pos"]
        kind = line["kind"]
        self.is_ended |= kind in _ENDS
        if kind in ("start", "sign"):
            self.sign_pos = pos
        elif kind == "closing" and _is_clean(line):
            self.closing_pos = pos
        elif kind == "failed_stop":
            self.failed_stop_pos = pos
        if kind == "stop":
            self.stop_pos = pos
        if kind in _ORDERS:
            self.ordered_pos = pos
        if line["event"] == "task_started":
            self.started_pos = pos


def contradicting_tasks(inputs: Inputs) -> Iterator[Gap]:
    """Yield gaps that the order of lines about tasks shows.

    Args:
        inputs: rows of `task_line` and `client_event`.
    """
    several = _runs_with_several_herders(inputs)
    starting: set[Run] = set()
    unstarted: list[Row] = []
    lines = inputs.table("task_line", _COLUMNS, pc.field("resource_kind") == "task")
    for its in grouped(lines, ("process_id", "instance", "resource"), "stream_pos"):
        if _run(its[0]) in several:
            continue
        yield from _of_task(its)
        if any(line["kind"] == "start" for line in its):
            starting.add(_run(its[0]))
        if (first := next((line for line in its if _is_of_unstarted(line)), None)) is not None:
            unstarted.append(first)
    yield from _unstarted(inputs, [line for line in unstarted if _run(line) in starting])


def _run(line: Row) -> Run:
    return line["process_id"], line["instance"]


def _runs_with_several_herders(inputs: Inputs) -> set[Run]:
    """Return runs of MirrorMaker's driver.

    Its connectors have the same names in all of its herders, so their tasks cannot be distinguished.
    """
    groups = defaultdict(set)
    for process_id, instance, group_id in inputs.distinct("client_event", ["process_id", "instance", "group_id"], pc.field("is_worker")):
        groups[process_id, instance].add(group_id)
    return {run for run, its in groups.items() if len(its - {None}) > 1}


def _of_task(lines: list[Row]) -> Iterator[Gap]:
    """Yield the gaps between the lines of one task in one run of a process.

    A worker refuses to start a task that it already runs, and forgets a task after it waited for its end.
    """
    run = _TaskRun(lines[0]["life"])
    is_given_up = False
    for line in lines:
        is_given_up |= line["kind"] == "failed_stop"
        if line["life"] != run.life:
            if run.life > 0 and not run.is_ended and line["kind"] == "start":
                yield gap_before(line, run.last_pos, "started_twice", is_wide=False)
            run = _TaskRun(line["life"])
        yield from _after(run, line, is_given_up=is_given_up)
        run.add(line)


def _after(run: _TaskRun, line: Row, *, is_given_up: bool) -> Iterator[Gap]:
    """Yield what a line contradicts in the lines of its task's run before it.

    Args:
        run: the lines before it.
        line: the line.
        is_given_up: True if the worker abandoned a run of the task. Such a run may close its clients at any time, even during a later run.
    """
    kind, event = line["kind"], line["event"]
    # A thread prints its start only once.
    if event == "task_started" and run.started_pos is not None and not is_given_up:
        yield gap_before(line, run.started_pos, "started_twice")
    if kind == "stop" and run.stop_pos is not None:
        yield gap_before(line, run.stop_pos, "stopped_twice")
    if event == "task_committing" and run.closing_pos is not None:
        yield gap_before(line, run.closing_pos, "worked_after_closing")
    is_closing = (kind == "closing" and _is_clean(line)) or (kind == "closed" and line["app_kind"] in _CLIENTS)
    if is_closing and run.life > 0 and run.ordered_pos is None and not is_given_up and run.sign_pos is not None:
        yield gap_before(line, run.sign_pos, "closed_unasked", is_wide=False)
    # The order to stop ends the scheduled commits.
    if event == "task_committing" and line["by_schedule"] and run.failed_stop_pos is not None:
        yield gap_before(line, run.failed_stop_pos, "committed_after_stop")


def _is_clean(closing: Row) -> bool:
    return closing["timeout_ms"] is not None and closing["timeout_ms"] > 0


def _is_of_unstarted(line: Row) -> bool:
    """Return True if a task works that no line of its run starts, in a log that begins with its worker."""
    return line["life"] == 0 and line["instance"] > 0 and line["kind"] in _OF_STARTED and not line["by_schedule"]


def _unstarted(inputs: Inputs, lines: list[Row]) -> Iterator[Gap]:
    """Yield the gaps before these first lines of tasks. At the last assignment without it, the task did not exist yet."""
    if not lines:
        return
    given = defaultdict(list)
    columns = ["process_id", "instance", "stream_pos", "assigned_tasks"]
    for line in inputs.rows("client_event", columns, pc.field("event") == "worker_assigned"):
        given[_run(line)].append((line["stream_pos"], frozenset(line["assigned_tasks"] or ())))
    for its in given.values():
        its.sort(key=itemgetter(0))
    for line in lines:
        its = given[_run(line)]
        before = bisect_left(its, line["stream_pos"], key=itemgetter(0))
        without = (pos for pos, tasks in islice(reversed(its), len(its) - before, None) if line["resource"] not in tasks)
        yield gap_before(line, next(without, 0), "worked_unstarted")
