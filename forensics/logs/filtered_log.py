"""Compute the view `filtered_log`: logs that are a selection of their lines, for example by `grep`, or whose lines are not in their order.

A filter leaves marks: separators, line numbers with gaps, or parts of records without their first lines. If not, the combination of lines shows it: a
coordinator prepares one rebalance after another and completes none, or members reach generation after generation without asking to join. A single case
may be a lost line; the pattern counts only if it has no exception. No conclusion may rest on the absence of a line from such a log. The same is true if
lines are not in the order in which they were printed, as in an export that sorts by second. Their times show that (threads that write alternately put
fewer than one line in a hundred before its time), or lines that one thread prints one after the other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from forensics.logs.events import event_table
from forensics.logs.instances import Instances
from forensics.relations.columns import Flags, InOrder, codes, flags, is_one_of, numbers, places
from forensics.relations.conditions import one_of
from forensics.relations.missing import first, there

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs, Row

#: Lines that one thread prints one after the other.
_FIRST, _SECOND, _THIRD = (
    ("joined", "group_stabilized", "task_creating"),
    ("synced", "assignment_from_leader", "task_instantiated"),
    ("worker_assigned",),
)
_ENDS = ("group_stabilized", "group_emptied", "group_died", "group_loaded", "group_unloaded")
_WORK = ("work_starting", "work_started", "tasks_stopped", "config_behind")
_GIVEN = ("partitions_assigned", "partitions_revoked", "assignment_received")
_OTHERS = ("rebalance_preparing", "worker_rebalance_started", "heartbeat_failed", "join_failed", "rejoin_requested", "heartbeat_sent", "joining")
_SIGNS = {*_FIRST, *_SECOND, *_THIRD, *_ENDS, *_WORK, *_GIVEN, *_OTHERS}
#: Configurations with dozens of settings. Some connectors and converters have none.
_CONFIGS = ("ConsumerConfig", "ProducerConfig", "AdminClientConfig", "DistributedConfig", "KafkaConfig")
#: Settings as a list, whose length a condition can ask for.
_PAIRS = pa.list_(pa.struct([pa.field("key", pa.string(), nullable=False), pa.field("value", pa.string())]))
_PLACE = ["process_id", "instance", "group_id", "client_id"]


def rows(inputs: Inputs) -> list[Row]:
    """Return the rows of the view `filtered_log`."""
    extents, signs = _extents(inputs), _signs(inputs)
    counts = _counts(signs)
    empty_settings = _empty_settings(inputs)
    unordered = _unordered(inputs, extents, signs)
    found = []
    for process_id, extent in extents.items():
        marks = _marks(inputs, process_id)
        filters = min(there(mark["filtered"] for mark in marks), default=None)
        pattern = _pattern(counts[process_id], empty_settings[process_id])
        if why := first(unordered.get(process_id), filters, pattern):
            literal = max(there(mark["literal"] for mark in marks), default=None)
            found.append({"process_id": process_id, "why": why, "literal": literal, "from_ms": extent["ts_min"], "to_ms": extent["ts_max"]})
    return found


def _pattern(counts: Mapping[str, int], empty_settings: int) -> str | None:
    """Return the kind of line that never appears alone, and does here."""
    n = counts
    patterns = {
        "rebalances_unended": n["prepared"] >= 2 and not n["ended"],
        "rebalances_unprepared": n["stabilized"] >= 2 and not n["preparing"],
        # A KIP-848 consumer is never asked to join again.
        "rounds_unasked": not n["asked"] and (n["rounds"] >= 2 or (n["assigned"] >= 2 and n["asked_again"] >= 1 and not n["joined"])),
        "answers_unasked": max(n["answers"], n["join_answers"]) >= 2 and not n["asked"],
        "heartbeats_unsent": n["heartbeat_answers"] >= 2 and not n["heartbeats"],
        "assignments_unstarted": n["given_work"] >= 2 and not n["work_lines"],
        "starts_unmade": n["starts"] >= 5 and n["worker_given"] >= 2 and not n["made"],
        "rounds_unassigned": (n["consumer_rounds"] >= 2 and not n["given"]) or (n["worker_rounds"] >= 2 and not n["worker_given"]),
        "settings_empty": empty_settings >= 2,
    }
    return next((why for why, is_found in patterns.items() if is_found), None)


def _extents(inputs: Inputs) -> dict[str, Row]:
    """Return the times of each log, the number of its events, and of those that have an earlier time than the one before."""
    lines = event_table(inputs, ["process_id", "stream_pos", "ts"])
    in_order = InOrder(codes(lines.column("process_id")), lines.column("stream_pos").to_numpy())
    times, is_earlier = numbers(lines.column("ts"))[in_order.order], np.empty(lines.num_rows, np.bool_)
    is_earlier[in_order.order] = times < in_order.earlier(times)
    counted = lines.append_column("earlier", pa.array(is_earlier)).group_by("process_id")
    found = counted.aggregate([("ts", "min"), ("ts", "max"), ("earlier", "count"), ("earlier", "sum")]).to_pylist()
    return {row["process_id"]: row for row in found}


def _signs(inputs: Inputs) -> pa.Table:
    """Return the lines that may show a pattern, and how they follow others of the same client and event, in this order."""
    texts = ["event", "category", "client_kind", "logger", "reason", "error", "cause", "task"]
    columns = ["process_id", "stream_pos", "group_id", "client_id", "generation", "old_generation", "resolution_ms", "assigned_tasks", *texts]
    lines = Instances(inputs).added(event_table(inputs, columns, one_of("event", _SIGNS) | one_of("category", ("task", "connector"))))
    # A coordinator's lines name no client.
    place = places(*(codes(lines.column(name)) for name in (*_PLACE, "event")))
    in_order = InOrder(place, lines.column("stream_pos").to_numpy())
    lines = lines.take(pa.array(in_order.order))
    for name in ("generation", "old_generation"):
        its = numbers(lines.column(name))
        lines = lines.append_column(f"rises_{name}", pa.array(its > in_order.earlier(its)))
    return lines.append_column("has_earlier", pa.array(in_order.before_it > 0)).append_column("has_later", pa.array(in_order.after_it > 0))


def _counts(lines: pa.Table) -> defaultdict[str, defaultdict[str, int]]:
    """Return how many lines of each kind a log has."""
    kinds = _kinds(lines)
    table = pa.table({"process_id": lines.column("process_id"), **{name: pa.array(its) for name, its in kinds.items()}})
    found: defaultdict[str, defaultdict[str, int]] = defaultdict(lambda: defaultdict(int))
    for row in table.group_by("process_id").aggregate([(name, "sum") for name in kinds]).to_pylist():
        found[row["process_id"]].update({name: row[f"{name}_sum"] for name in kinds})
    return found


def _kinds(lines: pa.Table) -> dict[str, Flags]:
    """Return for each kind of line which lines are of that kind."""
    event, category, logger = (lines.column(name) for name in ("event", "category", "logger"))
    earlier, later, rises = (flags(lines.column(name)) for name in ("has_earlier", "has_later", "rises_generation"))
    consumer, worker = (is_one_of(lines.column("client_kind"), [kind]) for kind in ("Consumer", "Worker"))
    joined, synced, assigned = is_one_of(event, ["joined", "synced"]), is_one_of(event, ["synced"]), is_one_of(event, ["worker_assigned"])
    task, failed = is_one_of(category, ["task"]), is_one_of(event, ["heartbeat_failed"])
    reason = pc.coalesce(*(lines.column(name) for name in ("error", "cause", "reason")), pa.scalar(""))
    return {
        "prepared": is_one_of(event, ["rebalance_preparing"]) & flags(lines.column("rises_old_generation")),
        "ended": is_one_of(event, _ENDS),
        "stabilized": is_one_of(event, ["group_stabilized"]) & rises,
        "preparing": is_one_of(event, ["rebalance_preparing"]),
        # Each member's own next round, because an excerpt may begin in the middle of a round.
        "rounds": ((joined & (consumer | worker)) | assigned) & rises | is_one_of(event, ["worker_rebalance_started"]) & earlier,
        # A client without a coordinator is also asked to join but cannot. Only members send heartbeats.
        # Clients in other languages print this answer as a warning, and their requests to join at INFO or DEBUG.
        "answers": failed & flags(pc.ends_with(logger, "Coordinator")) & flags(pc.match_substring(reason, "rebalanc", ignore_case=True)),
        # librdkafka prints its requests next to the responses.
        "join_answers": is_one_of(event, ["joined", "join_failed"]) & is_one_of(logger, ["JOINGROUP"]),
        "heartbeat_answers": failed & is_one_of(logger, ["HEARTBEAT"]) & flags(pc.is_valid(lines.column("group_id"))),
        "assigned": is_one_of(event, ["partitions_assigned"]) & consumer & earlier,
        "joined": joined,
        "asked_again": is_one_of(event, ["rejoin_requested"]) & flags(pc.ends_with(lines.column("reason"), "already rebalancing")),
        "heartbeats": is_one_of(event, ["heartbeat_sent"]),
        "asked": is_one_of(event, ["joining"]),
        "given_work": assigned & flags(pc.greater(pc.list_value_length(lines.column("assigned_tasks")), 0)) & later,
        "work_lines": task | is_one_of(category, ["connector"]) | is_one_of(event, _WORK),
        "starts": is_one_of(event, ["task_starting"]),
        "made": task & ~is_one_of(event, ["task_starting", "task_stopping"]),
        "consumer_rounds": synced & consumer & later,
        "worker_rounds": synced & worker & later,
        "worker_given": assigned,
        "given": is_one_of(event, _GIVEN),
    }


def _empty_settings(inputs: Inputs) -> defaultdict[str, int]:
    """Return how many configurations without settings each log has; clients, workers and brokers have dozens."""
    found: defaultdict[str, int] = defaultdict(int)
    is_empty = pc.coalesce(pc.list_value_length(pc.field("config").cast(_PAIRS)), pc.scalar(0)) <= 0
    where = (pc.field("event") == "config_dumped") & one_of("component", _CONFIGS) & is_empty
    for process_id in event_table(inputs, ["process_id"], where).column("process_id").to_pylist():
        found[process_id] += 1
    return found


def _unordered(inputs: Inputs, extents: Mapping[str, Row], signs: pa.Table) -> dict[str, str]:
    """Return the logs whose lines are not in the order in which they were printed: `unordered`, or only those of one millisecond: `sorted`."""
    found = {row["process_id"]: "sorted" for row in inputs.rows("range_row", ["process_id"], pc.field("shift_why") == "unordered")}
    for process_id, resolution_ms in _swapped(signs):
        is_coarse = resolution_ms is not None and resolution_ms > 1
        found[process_id] = "unordered" if is_coarse else found.get(process_id, "sorted")
    few = 10
    much = {process_id for process_id, its in extents.items() if its["earlier_sum"] >= few and its["earlier_sum"] * 5 > its["earlier_count"]}
    return found | dict.fromkeys(much, "unordered")


def _swapped(signs: pa.Table) -> Iterable[tuple[str, int | None]]:
    """Yield the logs in which lines that one thread prints one after the other often are in another order, with the resolution of their times."""
    lines = signs.filter(pa.array(is_one_of(signs.column("event"), {*_FIRST, *_SECOND, *_THIRD})))
    position, nothing = lines.column("stream_pos"), pa.scalar(None, pa.int64())
    for name, events in (("first", _FIRST), ("second", _SECOND), ("third", _THIRD)):
        lines = lines.append_column(name, pc.if_else(pa.array(is_one_of(lines.column("event"), events)), position, nothing))
    task = pc.if_else(pc.is_null(lines.column("generation")), lines.column("task"), pa.scalar(None, pa.string()))
    step = lines.append_column("of_task", task).group_by([*_PLACE, "generation", "of_task"])
    steps = step.aggregate([("resolution_ms", "max"), ("first", "min"), ("second", "min"), ("third", "min")])
    one, two, three = (steps.column(f"{name}_min") for name in ("first", "second", "third"))
    swapped = flags(pc.greater(one, two)) | flags(pc.greater(two, three))
    compared = flags(pc.is_valid(two)) & flags(pc.or_(pc.is_valid(one), pc.is_valid(three)))
    table = pa.table({"process_id": steps.column("process_id"), "swapped": swapped, "compared": compared, "ms": steps.column("resolution_ms_max")})
    for row in table.group_by("process_id").aggregate([("swapped", "sum"), ("compared", "sum"), ("ms", "max")]).to_pylist():
        if row["swapped_sum"] >= 2 and row["swapped_sum"] * 5 > row["compared_sum"]:
            yield row["process_id"], row["ms_max"]


def _marks(inputs: Inputs, process_id: str) -> list[Row]:
    """Return the files of a log in which a filter left marks. A file may contain the lines of several processes."""
    files = inputs.rows("evidence_file", ["process_id", "filtered", "literal"], pc.field("filtered").is_valid())
    return [
        row for row in files if row["process_id"] is not None and (process_id == row["process_id"] or process_id.startswith(row["process_id"] + "#"))
    ]
