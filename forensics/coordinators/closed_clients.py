"""Find when clients were closed: a client that is closed, or created again under its name, has no outage any more."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import pyarrow.compute as pc

from forensics.coordinators.outages import Client
from forensics.relations.conditions import one_of
from forensics.relations.missing import least, less

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs

_EVENT = pc.field("event")


class Close(NamedTuple):
    """A line that shows that a client was closed: its position in the log, and its time."""

    stream_pos: int
    at_ms: int | None


def closed_clients(inputs: Inputs) -> dict[Client, list[Close]]:
    """Return when each client was closed.

    Args:
        inputs: rows of `fact_line`, `client_event` and `task_life`.
    """
    found: defaultdict[Client, list[Close]] = defaultdict(list)
    consumers = _Consumers(inputs)
    for kind in (_closed, _leaving, _of_stopped_tasks, _of_failed_tasks):
        for client, close in kind(inputs, consumers):
            found[client].append(close)
    return found


class _Consumers:
    """The consumers of each process, and those of each of its tasks: groups and clients."""

    def __init__(self, inputs: Inputs) -> None:
        self.groups: defaultdict[tuple[str, str], set[str | None]] = defaultdict(set)
        self._of_task: defaultdict[tuple[str, str], set[tuple[str | None, str]]] = defaultdict(set)
        for process_id, client, group_id, task in inputs.distinct(
            "client_event", ["process_id", "client", "group_id", "task"], ~pc.field("is_worker")
        ):
            self.groups[process_id, client].add(group_id)
            if task is not None:
                self._of_task[process_id, task].add((group_id, client))

    def of_task(self, process_id: str, instance: int, task: str) -> Iterator[Client]:
        """Yield the consumers of a task in one run of its process."""
        for group_id, client in self._of_task.get((process_id, task), ()):
            yield Client(process_id, instance, group_id, client)


_Closes = Iterator[tuple[Client, Close]]


def _closed(inputs: Inputs, consumers: _Consumers) -> _Closes:
    """Yield clients whose own lines show that they were closed, or created again."""
    columns = ["process_id", "instance", "group_id", "client_id", "event", "stream_pos", "at_ms"]
    is_named = one_of("event", ["client_closed", "subscribed"]) & pc.field("client_id").is_valid()
    for row in inputs.rows("fact_line", columns, is_named):
        groups = {row["group_id"]}
        if row["group_id"] is None:
            # The metrics line of a closed client has no group, and its client id is that of the task.
            groups = consumers.groups.get((row["process_id"], row["client_id"]), set()) if row["event"] == "client_closed" else set()
        for group_id in groups:
            yield Client(row["process_id"], row["instance"], group_id, row["client_id"]), Close(row["stream_pos"], row["at_ms"])


def _leaving(inputs: Inputs, _: _Consumers) -> _Closes:
    """Yield clients that leave their group because they are being closed."""
    for row in inputs.rows("client_event", [*Client._fields, *Close._fields, "reason"], _EVENT == "leaving"):
        if "being closed" in (row["reason"] or ""):
            yield Client(*(row[name] for name in Client._fields)), Close(row["stream_pos"], row["at_ms"])


def _of_stopped_tasks(inputs: Inputs, consumers: _Consumers) -> _Closes:
    """Yield the consumers of tasks that stopped in time. A task that did not may go on looking for its coordinator."""
    for row in inputs.rows("task_life", ["process_id", "instance", "task", "ended", "by_herder"]):
        if row["ended"] is not None and row["by_herder"] is False:
            for client in consumers.of_task(row["process_id"], row["instance"], row["task"]):
                yield client, Close(row["ended"]["pos"], row["ended"]["at_ms"])


def _of_failed_tasks(inputs: Inputs, consumers: _Consumers) -> _Closes:
    """Yield the consumers of tasks that failed, unless it may have been an abandoned thread next to a new one of the same name."""
    columns = ["process_id", "instance", "task", "event", "stream_pos", "at_ms"]
    rows = inputs.rows("fact_line", columns, one_of("event", ["task_failed", "task_stop_failed"]) & pc.field("task").is_valid())
    abandoned: dict[tuple[str, int, str], int | None] = {}
    for row in rows:
        if row["event"] == "task_stop_failed":
            task = row["process_id"], row["instance"], row["task"]
            abandoned[task] = least(abandoned.get(task), row["stream_pos"])
    for row in rows:
        task = row["process_id"], row["instance"], row["task"]
        if row["event"] == "task_failed" and not less(abandoned.get(task), row["stream_pos"]):
            for client in consumers.of_task(*task):
                yield client, Close(row["stream_pos"], row["at_ms"])
