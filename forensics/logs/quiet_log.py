"""Compute the view `quiet_log`: logs that name tasks, a worker or consumers, but have none of Kafka's INFO lines about them.

Kafka logs starts, stops, joins and assignments at INFO. Without these lines the owners of tasks and partitions are unknown: the log proves no ownership,
and its silence does not mean that all is well. A sink task that starts has a consumer, named after it unless configured otherwise. A consumer that is
closed or that logs a warning is named too. One that prints only its settings may be in no group, so a coordinator must name it.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from forensics.logs.events import event_table, events
from forensics.logs.member_ids import client_of
from forensics.relations.conditions import one_of
from forensics.relations.missing import greatest, least

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs, Row

_ABOVE_INFO = ("WARN", "WARNING", "ERROR", "SEVERE", "FATAL", "CRITICAL")
_OF_SINK = "connector-consumer-"


def rows(inputs: Inputs) -> list[Row]:
    """Return the rows of the view `quiet_log`."""
    # Brokers print task names as parts of member ids.
    is_worker = {row["process_id"]: row["is_worker"] for row in inputs.rows("process_life") if not row["is_broker"]}
    workers = {process_id for process_id, its in is_worker.items() if its}
    quiet = is_worker.keys() - _with_group_lines(inputs, workers)
    return [*_without_work_lines(inputs, set(is_worker)), *_clients(inputs, quiet & workers, quiet - workers)]


def _is_info() -> pc.Expression:
    return ~one_of("level", _ABOVE_INFO)


def _starts_with(column: str, *texts: str) -> pc.Expression:
    """Return a condition that a column of text begins with one of these texts."""
    found = pc.scalar(False)
    for text in texts:
        found |= pc.coalesce(pc.starts_with(pc.field(column), text), pc.scalar(False))
    return found


def _is_of(kind: str) -> pc.Expression:
    return pc.coalesce(pc.field("client_kind") == kind, pc.scalar(False))


def _without_work_lines(inputs: Inputs, processes: set[str]) -> list[Row]:
    """Return logs that name tasks or a worker, but have no INFO lines about them."""
    names_work = one_of("process_id", processes) & (pc.field("task").is_valid() | pc.field("connector").is_valid() | _is_of("Worker"))
    # A worker that printed only its start had no work yet. Its logger is the one that prints assignments.
    is_work_line = one_of("category", ("membership", "assignment", "task", "connector")) | (pc.field("event") == "herder_starting")
    heard = set(event_table(inputs, ["process_id"], names_work & _is_info() & is_work_line).column("process_id").unique().to_pylist())
    lines = event_table(inputs, ["process_id", "ts"], names_work & ~one_of("process_id", heard))
    extents = lines.group_by("process_id").aggregate([("ts", "min"), ("ts", "max")]).to_pylist()
    return [{"process_id": row["process_id"], "client": None, "from_ms": row["ts_min"], "to_ms": row["ts_max"]} for row in extents]


def _with_group_lines(inputs: Inputs, workers: set[str]) -> set[str]:
    """Return the processes whose log has INFO lines of consumers in groups."""
    in_group = one_of("category", ("membership", "assignment")) & ~_is_of("Worker") & ~_starts_with("event", "worker_")
    # A consumer that chooses its own partitions is in no group.
    in_no_group = ~one_of("process_id", workers) & _starts_with("message", "Subscribed to partition", "Assigned to partition")
    return set(event_table(inputs, ["process_id"], _is_info() & (in_group | in_no_group)).column("process_id").unique().to_pylist())


def _clients(inputs: Inputs, workers: set[str], others: set[str]) -> list[Row]:
    """Return the consumers that such logs name.

    Args:
        inputs: the lines.
        workers: Connect workers without INFO lines of consumers. They have internal consumers, which are in no group.
        others: other such processes.
    """
    extents: defaultdict[tuple[str, str], list[int | None]] = defaultdict(list)
    for row in _named_in_lines(inputs, workers, others):
        extents[row["process_id"], row["client"]] += [row["ts_min"], row["ts_max"]]
    for process_id, client, at_ms in _named_by_coordinator(inputs, others):
        extents[process_id, client].append(at_ms)
    return [
        {"process_id": process_id, "client": client, "from_ms": least(*times), "to_ms": greatest(*times)}
        for (process_id, client), times in extents.items()
    ]


def _named_in_lines(inputs: Inputs, workers: set[str], others: set[str]) -> list[Row]:
    """Return the consumers that lines name, with the times of the first and the last."""
    is_sink_task = _starts_with("message", "WorkerSinkTask{")
    of_client = one_of("process_id", others) | _starts_with("client_id", _OF_SINK)
    is_consumer = _starts_with("message", "App info kafka.consumer for ") | (_is_of("Consumer") & pc.field("group_id").is_valid())
    where = one_of("process_id", workers | others) & (is_sink_task | (of_client & is_consumer))
    lines = event_table(inputs, ["process_id", "ts", "message", "task", "client_id"], where)
    is_sink = pc.fill_null(pc.starts_with(lines.column("message"), "WorkerSinkTask{"), False)
    of_task = pc.binary_join_element_wise(pa.scalar(_OF_SINK), lines.column("task"), "")
    lines = lines.append_column("client", pc.if_else(is_sink, of_task, lines.column("client_id")))
    found = lines.filter(pc.field("client").is_valid()).group_by(["process_id", "client"]).aggregate([("ts", "min"), ("ts", "max")])
    named: list[Row] = found.to_pylist()
    return named


def _named_by_coordinator(inputs: Inputs, processes: set[str]) -> list[tuple[str, str, int | None]]:
    """Return consumers that print only their settings, and that a coordinator names as members: process, client and time."""
    of_broker = pc.field("broker_id").is_valid() & pc.field("group_id").is_valid() & pc.field("member_id").is_valid()
    pairs = event_table(inputs, ["group_id", "member_id"], of_broker).group_by(["group_id", "member_id"]).aggregate([]).to_pylist()
    members = {(row["group_id"], client_of(row["member_id"])) for row in pairs}
    if not members or not processes:
        return []
    where = one_of("process_id", processes) & (pc.field("event") == "config_dumped") & (pc.field("component") == "ConsumerConfig")
    found = []
    for line in events(inputs, ["process_id", "ts", "config"], where):
        settings = dict(line["config"] or ())
        if (settings.get("group.id"), client := settings.get("client.id")) in members:
            found.append((line["process_id"], str(client), line["ts"]))
    return found
