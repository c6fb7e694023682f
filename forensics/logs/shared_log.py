"""Compute the view `shared_log`: logs with lines of several members, workers or brokers that cannot be distinguished.

A coordinator issues an id only once: a client that joins with one id, then with another, never joins with the first again. If one does, the log has
lines of several clients that cannot be distinguished, for example all pods of a deployment logging to one file. The same is true if two ids follow each
other and both joined generations that the group had only once: the log of another client was appended. It is also true if the second id begins at an
earlier time than the first ended, in no later generation. Where no ids are printed, one client is given different partitions in one generation. A process run has at most one Connect worker or one broker, so lines of two do not alternate
in it. If the lines do not name their file, as in the output of `cat` or `grep -h`, the next process begins at an earlier time than the previous one
ended. A clock that was set back looks alike, but then the same process continues. MirrorMaker 2 runs one worker for each pair of clusters, named after
the pair, in a single process.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from forensics.logs.events import event_table
from forensics.logs.instances import Instances
from forensics.relations.columns import InOrder, codes, places
from forensics.relations.conditions import one_of
from forensics.relations.missing import greatest, least, names, order, up_to

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs, Row

#: What only the broker that coordinates a group prints.
_OF_COORDINATOR = ("rebalance_preparing", "group_stabilized", "assignment_from_leader", "member_expired", "group_loaded", "group_unloaded")
_CLIENT = ["process_id", "client"]


@dataclass
class _Writer:
    """A Connect worker or a broker whose lines are in a log.

    Args:
        is_turned: True if its lines continue after lines of another one.
    """

    name: str
    group_id: str | None
    broker_id: int | None
    from_ms: int | None
    to_ms: int | None
    is_turned: bool

    def add(self, other: _Writer) -> None:
        self.from_ms, self.to_ms = least(self.from_ms, other.from_ms), greatest(self.to_ms, other.to_ms)
        self.is_turned |= other.is_turned


def rows(inputs: Inputs) -> list[Row]:
    """Return the rows of the view `shared_log`."""
    merged = merged_log(inputs)
    shared = {row["process_id"] for row in merged}
    clients = _clients(inputs)
    named = {(row["process_id"], row["client"]) for row in clients}
    clients += [row for row in _without_ids(inputs) if (row["process_id"], row["client"]) not in named]
    return [*(row for row in clients if row["process_id"] not in shared), *map(_of_writers, merged)]


def _of_writers(log: Row) -> Row:
    count = log["worker_count"]
    return {
        "process_id": log["process_id"],
        "client": None,
        "group_id": log["group_id"],
        "is_worker": count > 0,
        "member_count": count,
        "broker_count": log["broker_count"],
        "broker_ids": log["broker_ids"],
        "from_ms": log["from_ms"],
        "to_ms": log["to_ms"],
    }


def _clients(inputs: Inputs) -> list[Row]:
    """Return clients whose log has lines of several members."""
    joins = _joins(inputs)
    stays = defaultdict(list)
    for stay in _stays(joins):
        stays[stay["process_id"], stay["client"]].append(stay)
    appended = _appended(inputs, joins) | {client for client, its in stays.items() if _begins_before_another_ended(inputs, its)}
    return [
        {
            "process_id": client[0],
            "client": client[1],
            "group_id": min(names([stay["group_id"] for stay in its]), default=None),
            "is_worker": any(stay["is_worker_max"] for stay in its),
            "member_count": len({stay["member_id"] for stay in its}),
            "broker_count": 0,
            "broker_ids": None,
            "from_ms": least(*(stay["ts_min"] for stay in its)),
            "to_ms": greatest(*(stay["ts_max"] for stay in its)),
        }
        for client, its in stays.items()
        # An id that comes back after another one.
        if client in appended or any(stay["begins_sum"] > 1 for stay in its)
    ]


def _without_ids(inputs: Inputs) -> list[Row]:
    """Return clients that were given different partitions in one generation: each time it was another member, whose id is not printed."""
    where = (one_of("event", ("joined", "synced")) & pc.field("generation").is_valid()) | (pc.field("event") == "partitions_assigned")
    columns = ["process_id", "client_id", "group_id", "generation", "member_id", "partitions", "ts", "stream_pos"]
    lines = event_table(inputs, columns, where & pc.field("client_id").is_valid() & pc.field("group_id").is_valid()).sort_by("stream_pos").to_pylist()
    generations: dict[tuple[str, str, str], int] = {}
    given: defaultdict[tuple[str, str, str], defaultdict[int, dict[frozenset[str], list[int | None]]]] = defaultdict(lambda: defaultdict(dict))
    for line in lines:
        place = line["process_id"], line["client_id"], line["group_id"]
        if line["generation"] is not None:
            generations[place] = line["generation"]
            if line["member_id"]:
                generations.pop(place)
        elif line["partitions"] and place in generations:
            given[place][generations[place]].setdefault(frozenset(line["partitions"]), []).append(line["ts"])
    found: list[Row] = []
    for (process_id, client, group), of_generation in given.items():
        if (count := max(map(len, of_generation.values()))) > 1:
            times = [ts for its in of_generation.values() for at in its.values() for ts in at]
            row = {"process_id": process_id, "client": client, "group_id": group, "is_worker": False, "member_count": count}
            found.append({**row, "broker_count": 0, "broker_ids": None, "from_ms": least(*times), "to_ms": greatest(*times)})
    return found


def _joins(inputs: Inputs) -> pa.Table:
    """Return lines of members that joined, with the client in its process."""
    # kafkajs prints the member id in each of its lines, which distinguishes them.
    is_kafkajs = pc.coalesce(pc.field("logger") == "kafkajs", pc.scalar(False))
    where = one_of("event", ("joined", "synced")) & (pc.field("member_id") != "") & pc.field("group_instance_id").is_null() & ~is_kafkajs
    who = ["client_id", "task", "thread"]
    columns = ["process_id", "group_id", "member_id", "client_kind", "ts", "stream_pos", "generation", *who]
    found = event_table(inputs, columns, where)
    client = pc.coalesce(*(found.column(name) for name in who), pa.scalar("-"))
    is_worker = pc.fill_null(pc.equal(found.column("client_kind"), "Worker"), False)
    return found.append_column("client", client).append_column("is_worker", is_worker)


def _stays(joins: pa.Table) -> list[Row]:
    """Return a row for each member of a client, with the number of times that it begins after another one."""
    place = [*_CLIENT, "group_id"]
    counted = _with_begins(joins, place, ["member_id"]).group_by([*place, "member_id"])
    ends = [(name, end) for name in ("ts", "generation") for end in ("min", "max")]
    found: list[Row] = counted.aggregate([("begins", "sum"), ("is_worker", "max"), ("stream_pos", "min"), *ends]).to_pylist()
    return found


def _with_begins(lines: pa.Table, place: Sequence[str], writer: Sequence[str]) -> pa.Table:
    """Return lines with the column `begins`: True for the first line of a writer after another one, or after none, at the same place."""
    at, who = (places(*(codes(lines.column(name)) for name in columns)) for columns in (place, writer))
    in_order = InOrder(at, lines.column("stream_pos").to_numpy())
    begins = np.empty(lines.num_rows, np.bool_)
    begins[in_order.order] = who[in_order.order] != in_order.earlier(who[in_order.order])
    return lines.append_column("begins", pa.array(begins))


def _appended(inputs: Inputs, joins: pa.Table) -> set[tuple[str, str]]:
    """Return clients of which two members joined several generations that the group had only once."""
    counted = joins.group_by([*_CLIENT, "group_id", "generation"]).aggregate([("member_id", "count_distinct")])
    several = counted.filter(pc.field("member_id_count_distinct") > 1).to_pylist()
    if not several:
        return set()
    # Generations that the coordinator completed once, so the group was not recreated.
    completed = event_table(inputs, ["group_id", "generation"], pc.field("event") == "group_stabilized").group_by(["group_id", "generation"])
    once = {(row["group_id"], row["generation"]) for row in completed.aggregate([([], "count_all")]).to_pylist() if row["count_all"] == 1}
    generations: defaultdict[tuple[str, str], int] = defaultdict(int)
    for row in several:
        generation = row["group_id"], row["generation"]
        generations[row["process_id"], row["client"]] += None not in generation and generation in once
    return {client for client, number in generations.items() if number > 1}


def _begins_before_another_ended(inputs: Inputs, stays: Iterable[Row]) -> bool:
    """Return True if a member begins at an earlier time than the one before it ended, in no later generation."""
    last: dict[str | None, tuple[int | None, int | None]] = {}
    for stay in sorted(stays, key=lambda stay: stay["stream_pos_min"]):
        to_ms, generation = last.get(stay["group_id"], (None, None))
        if _is_set_back(inputs, to_ms, stay["ts_min"]) and up_to(stay["generation_min"], generation):
            return True
        last[stay["group_id"]] = greatest(to_ms, stay["ts_max"]), greatest(generation, stay["generation_max"])
    return False


def _is_set_back(inputs: Inputs, last_ms: int | None, from_ms: int | None) -> bool:
    return last_ms is not None and from_ms is not None and last_ms - from_ms > inputs.knobs.clock_setback_ms + inputs.knobs.clock_jitter_ms


def merged_log(inputs: Inputs) -> list[Row]:
    """Return logs with lines of several workers or brokers."""
    found = []
    for process_id, writers in _writers(inputs).items():
        if any(writer.is_turned for writer in writers) or _is_any_earlier(inputs, writers):
            brokers = sorted(writer.broker_id for writer in writers if writer.broker_id is not None)
            row = {
                "process_id": process_id,
                "group_id": " and ".join(names([writer.group_id for writer in writers])) or None,
                "worker_count": len(writers) - len(brokers),
                "broker_count": len(brokers),
                "broker_ids": ", ".join(map(str, brokers)) or None,
                "from_ms": least(*(writer.from_ms for writer in writers)),
                "to_ms": greatest(*(writer.to_ms for writer in writers)),
            }
            found.append(row)
    return found


def _is_any_earlier(inputs: Inputs, writers: Iterable[_Writer]) -> bool:
    """Return True if a writer begins at an earlier time than one before it ended."""
    last_ms = None
    for writer in sorted(writers, key=lambda writer: (order(writer.from_ms), writer.name)):
        if _is_set_back(inputs, last_ms, writer.from_ms):
            return True
        last_ms = greatest(last_ms, writer.to_ms)
    return False


def _writers(inputs: Inputs) -> dict[str, list[_Writer]]:
    """Return the workers and brokers whose lines are in each log."""
    is_worker = (pc.field("client_kind") == "Worker") & pc.field("group_id").is_valid() & ~pc.match_substring(pc.field("client_id"), "->")
    is_broker = pc.field("broker_id").is_valid() & one_of("event", _OF_COORDINATOR)
    instances = Instances(inputs)
    found: defaultdict[str, dict[str, _Writer]] = defaultdict(dict)
    for columns, where in ((["group_id", "client_id"], is_worker), (["broker_id"], is_broker)):
        lines = instances.added(event_table(inputs, ["process_id", "stream_pos", "ts", *columns], where))
        run = ["process_id", "instance"]
        turns = _with_begins(lines, run, columns).group_by([*run, *columns])
        for row in turns.aggregate([("begins", "sum"), ("ts", "min"), ("ts", "max")]).to_pylist():
            writer = _writer(row)
            of_log = found[row["process_id"]]
            if writer.name in of_log:
                of_log[writer.name].add(writer)
            else:
                of_log[writer.name] = writer
    return {process_id: list(of_log.values()) for process_id, of_log in found.items()}


def _writer(row: dict[str, Any]) -> _Writer:
    broker_id = row.get("broker_id")
    name = f"broker {broker_id}" if broker_id is not None else f"{row['group_id']}|{row['client_id']}"
    return _Writer(name, row.get("group_id"), broker_id, row["ts_min"], row["ts_max"], row["begins_sum"] > 1)
