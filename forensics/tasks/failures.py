"""Find the failures of tasks and connectors: consecutive lines about one failure are one."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

import pyarrow.compute as pc

from forensics.logs.events import event_table
from forensics.logs.instances import Instances
from forensics.relations.by_key import by_run
from forensics.relations.conditions import one_of
from forensics.relations.missing import first, less, minus, order

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs, Row

FAILED = ("task_failed", "task_killed", "task_start_failed", "task_init_failed", "connector_start_failed", "connector_failed")
_TROUBLE_LEVELS = ("WARN", "WARNING", "ERROR", "SEVERE", "FATAL")
_NUMBER = re.compile("-[0-9]+$")


class Resource(NamedTuple):
    """A task or connector in one run of a worker's process.

    Attributes:
        name: None: the line names none.
    """

    process_id: str
    instance: int
    kind: str
    name: str | None


@dataclass(frozen=True, kw_only=True)
class Failure:
    """A failure of a task or connector.

    Attributes:
        of: the task or connector, and its worker.
        kafka_cluster, group_id, connector: of its lines.
        life: how many starts of it precede the failure in this run of the process.
        lines: rows of `fact_line` about it, in their order.
        warning: the last warning or error of the same task or connector before it, a row of an event; None: none.
        last_ms: last line of the run of the process, by its own clock.
    """

    of: Resource
    kafka_cluster: str | None
    group_id: str | None
    connector: str | None
    life: int
    lines: Sequence[Row]
    warning: Row | None
    last_ms: int | None

    @property
    def event_id(self) -> str:
        """Return its first line."""
        return str(self.lines[0]["event_id"])

    @property
    def at_ms(self) -> int | None:
        """Return when it was, by the worker's clock."""
        at_ms: int | None = self.lines[0]["at_ms"]
        return at_ms

    @property
    def with_exception(self) -> Row:
        """Return its first line with an exception, or else its first line."""
        return next((line for line in self.lines if line["said"] is not None), self.lines[0])


def resource_of(task: str | None, connector: str | None) -> tuple[str, str | None]:
    """Return the kind and the name of what a line is about."""
    return ("task", task) if task is not None else ("connector", connector)


def connector_of(kind: str, name: str) -> str:
    """Return the connector of a task or connector."""
    return _NUMBER.sub("", name) if kind == "task" else name


def failures(inputs: Inputs, starts: dict[Resource, list[Row]]) -> Iterator[Failure]:
    """Yield the failures of tasks and connectors, except those of workers that are stopping.

    Args:
        inputs: rows of `fact_line`, `process_life`, and of events.
        starts: the starts of each task and connector, in the order of their positions.
    """
    lives = by_run(inputs.rows("process_life", ["process_id", "instance", "stopping_ms", "last_ms"]))
    lines: defaultdict[Resource, list[Row]] = defaultdict(list)
    for row in inputs.rows("fact_line", _COLUMNS, one_of("event", FAILED)):
        life = lives.get((row["process_id"], row["instance"]))
        if life is not None and (life["stopping_ms"] is None or less(row["at_ms"], life["stopping_ms"])):
            lines[Resource(row["process_id"], row["instance"], *resource_of(row["task"], row["connector"]))].append(row)
    if not lines:
        return
    warnings = _warnings(inputs, {resource.process_id for resource in lines})
    for resource, its in lines.items():
        positions = [start["stream_pos"] for start in starts.get(resource, ())]
        for alike in _apart(its, starts.get(resource, ()), inputs.knobs.failure_lines_ms):
            begin = alike[0]
            before = warnings.get(resource, [])
            at = bisect_left(before, begin["stream_pos"], key=itemgetter("stream_pos"))
            yield Failure(
                of=resource,
                kafka_cluster=begin["kafka_cluster"],
                group_id=begin["worker_group_id"],
                connector=connector_of("task", begin["task"]) if begin["task"] is not None else begin["connector"],
                life=bisect_right(positions, begin["stream_pos"]),
                lines=alike,
                warning=before[at - 1] if at else None,
                last_ms=lives[resource.process_id, resource.instance]["last_ms"],
            )


_COLUMNS = [
    *("kafka_cluster", "worker_group_id", "process_id", "instance", "task", "connector", "stream_pos", "at_ms", "event_id", "event"),
    *("message", "said", "root_error"),
]


def _apart(lines: Sequence[Row], starts: Sequence[Row], within_ms: int) -> Iterator[list[Row]]:
    """Yield the lines of each failure.

    Without a start in between, a task fails only once; several lines are about that failure. A log without starts may lack them.
    """
    marks = [(line["stream_pos"], line["event_id"], line) for line in lines] + [(start["stream_pos"], start["event_id"], None) for start in starts]
    times = {start["event_id"]: start["at_ms"] for start in starts}
    failure: list[Row] = []
    last_ms: int | None = None
    for _, event_id, line in sorted(marks, key=itemgetter(0, 1)):
        if line is None:
            if failure:
                yield failure
                failure = []
            last_ms = first(times[event_id], last_ms)
            continue
        since_ms = minus(line["at_ms"], last_ms)
        if failure and since_ms is not None and since_ms > within_ms:
            yield failure
            failure = []
        failure.append(line)
        last_ms = first(line["at_ms"], last_ms)
    if failure:
        yield failure


def _warnings(inputs: Inputs, process_ids: set[str]) -> dict[Resource, list[Row]]:
    """Return the warnings and errors of each task and connector that are no failures, in their order."""
    is_trouble = pc.utf8_upper(pc.field("level")).isin(list(_TROUBLE_LEVELS)) & ~one_of("event", [*FAILED, "rest_request"])
    is_about = pc.field("task").is_valid() | pc.field("connector").is_valid()
    columns = ["process_id", "stream_pos", "ts", "event_id", "event", "task", "connector", "error", "cause", "reason", "message"]
    instances, found = Instances(inputs), defaultdict(list)
    for row in event_table(inputs, columns, is_trouble & is_about & one_of("process_id", process_ids)).to_pylist():
        instance = instances.at(row["process_id"], row["stream_pos"])
        found[Resource(row["process_id"], instance, *resource_of(row["task"], row["connector"]))].append(row)
    for its in found.values():
        its.sort(key=lambda row: order([row["stream_pos"], row["event_id"]]))
    return found
