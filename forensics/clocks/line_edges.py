"""Find pairs of lines of two processes that a member id, an epoch or a producer's epoch joins."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from forensics.clocks.edges import Edge, Line, edge
from forensics.logs.clusters import Clusters
from forensics.logs.events import event_table
from forensics.logs.instances import Instances
from forensics.relations.by_key import ByKey
from forensics.relations.conditions import one_of
from forensics.relations.missing import order
from forensics.relations.ordered import in_order, one_by_one

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs, Row

_LEFT, _LEFT_BY_BROKER = "leaving", "member_left"
_REMOVED_BY_BROKER = ("member_expired", "member_fenced_by_broker")
_ASKED, _RECEIVED = "the member asked, then the broker made its id", "the broker assigned an id, then the member received it"
_REPLACED = "static_member_replaced"


def membership_ends(inputs: Inputs) -> Iterator[Edge]:
    """Yield the ends of memberships in the logs of the member and of its coordinator.

    A KIP-848 member id lasts until its client closes, and the n-th loss in one log need not be the n-th in the other. Only lines that appear once in their
    log are matched.

    Args:
        inputs: rows of `event_row`, `copied_log`, `damaged_line`, `process_start` and `process_cluster`.
    """
    event, reason, cause = pc.field("event"), pc.field("reason"), pc.field("cause")
    unknown_id = pc.match_substring_regex(pc.coalesce(pc.field("error"), cause, reason), "UNKNOWN_MEMBER_ID|member id ([^ ]+ )?is not valid")
    is_end = (
        one_of("event", (_LEFT, _LEFT_BY_BROKER, *_REMOVED_BY_BROKER))
        | ((event == "heartbeat_failed") & unknown_id)
        | ((event == "rejoin_requested") & pc.starts_with(reason, "The coordinator is not aware of this member"))
        | ((event == "member_fenced") & pc.match_substring_regex(cause, "(?i)unknown|fenced"))
    )
    columns = ["process_id", "stream_pos", "ts", "event_id", "event", "member_id", "state_to"]
    lines: defaultdict[tuple[Any, ...], list[Row]] = defaultdict(list)
    clusters = Clusters(inputs)
    for row in one_by_one(event_table(inputs, columns, pc.field("member_id").is_valid() & is_end)):
        cluster = clusters.at(row["process_id"], row["stream_pos"])
        lines[cluster, row["member_id"], row["process_id"], row["event"], row["state_to"]].append(row)
    members: defaultdict[tuple[Any, ...], list[Row]] = defaultdict(list)
    brokers: defaultdict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for (cluster, member_id, _, name, _), its in lines.items():
        if len(its) == 1:
            is_broker = name == _LEFT_BY_BROKER or name in _REMOVED_BY_BROKER
            (brokers if is_broker else members)[cluster, member_id, name in (_LEFT, _LEFT_BY_BROKER)] += its
    for end, its in members.items():
        for row in its:
            for of_broker in brokers.get(end, ()):
                if end[2]:
                    yield from edge("the member left, then the broker said so", *_placed(row), *_placed(of_broker))
                else:
                    yield from edge("the broker removed the member, then the member was notified", *_placed(of_broker), *_placed(row))


def new_ids(inputs: Inputs) -> Iterator[Edge]:
    """Yield the lines about new member ids in the logs of the member and of its coordinator.

    Args:
        inputs: rows of `client_event`, `member_round`, `event_row`, `copied_log` and `damaged_line`.
    """
    answered, kafkajs = _answered(inputs), _kafkajs_entries(inputs)
    mentions = _mentions(inputs, {row["member_id"] for row in (*answered, *kafkajs)})
    for row in answered:
        for broker, made, prepared in mentions.get((row["group_id"], row["member_id"]), ()):
            yield from edge(_ASKED, row["process_id"], row["asked"], broker, made)
            yield from edge(_RECEIVED, broker, made, row["process_id"], row)
            rule = "a new member asked with its id, then the rebalance that names it began"
            yield from edge(rule, row["process_id"], row["asked_again"], broker, prepared)
    for row in kafkajs:
        for broker, made, _ in mentions.get((row["group_id"], row["member_id"]), ()):
            yield from edge(_ASKED, row["process_id"], row["asked"], broker, made)
            yield from edge(_RECEIVED, broker, made, row["process_id"], row)


def _answered(inputs: Inputs) -> list[Row]:
    """Return the answers that gave new members their ids, with the requests before and after.

    A new member's first request is answered with the id that the broker made; it asks again with that id. If it joined, its round has it.
    """
    is_answer = (pc.field("event") == "rejoin_requested") & pc.starts_with(pc.field("reason"), "need to re-join with the given member-id")
    columns = ["process_id", "instance", "group_id", "client", "stream_pos", "at_ms", "event_id", "event", "member_id"]
    answers = inputs.table("client_event", columns, is_answer & pc.field("member_id").is_valid()).to_pylist()
    joined = {member_id for (member_id,) in inputs.distinct("member_round", ["member_id"])} if answers else set()
    left = [row for row in answers if row["member_id"] not in joined]
    if not left:
        return []
    is_request = (pc.field("event") == "joining") & one_of("process_id", (row["process_id"] for row in left))
    requests = ByKey(in_order(inputs.table("client_event", columns, is_request), "process_id", "stream_pos"), "process_id", "instance", "group_id")
    found = []
    for row in left:
        its = [one for one in requests[row["process_id"], row["instance"], row["group_id"]] if one["client"] == row["client"]]
        asked = next((one for one in reversed(its) if one["stream_pos"] < row["stream_pos"]), None)
        found.append(row | {"asked": asked, "asked_again": next((one for one in its if one["stream_pos"] > row["stream_pos"]), None)})
    return found


def _kafkajs_entries(inputs: Inputs) -> list[Row]:
    """Return the lines with which kafkajs prints the id of its first member of a group, with the line that created its consumer.

    It prints no generation. Its first member of a group asks after the consumer is started, and has its id when it prints it.
    """
    columns = ["process_id", "group_id", "stream_pos", "at_ms", "event_id", "event", "member_id"]
    is_id = (pc.field("event") == "synced") & pc.field("member_id").is_valid() & pc.field("generation").is_null()
    lines = inputs.table("client_event", columns, (pc.field("instance") == 0) & (is_id | (pc.field("event") == "client_made")))
    made: dict[tuple[str, str], Row] = {}
    found: dict[tuple[str, str], Row] = {}
    for row in in_order(lines, "process_id", "stream_pos"):
        place = row["process_id"], row["group_id"]
        if row["event"] == "client_made":
            made.setdefault(place, row)
        elif place in made:
            found.setdefault(place, row | {"asked": made[place]})
    return list(found.values())


def _mentions(inputs: Inputs, members: Collection[str]) -> dict[tuple[str, str], list[tuple[str, Line | None, Line | None]]]:
    """Return what coordinators' logs show of these members, by group and member: process, the line that made the id, and the rebalance."""
    if not members:
        return {}
    is_preparing = (pc.field("event") == "rebalance_preparing") & pc.match_substring_regex(pc.field("reason"), "(?i)^adding new member")
    is_mention = one_of("member_id", members) & pc.field("broker_id").is_valid() & ((pc.field("event") == "member_added") | is_preparing)
    first: defaultdict[tuple[str, str, str], dict[str, Line]] = defaultdict(dict)
    for row in event_table(inputs, ["process_id", "group_id", "member_id", "ts", "event_id", "event"], is_mention).to_pylist():
        its, line = first[row["group_id"], row["member_id"], row["process_id"]], _line(row)
        its[row["event"]] = min(line, its.get(row["event"], line), key=_in_time)
    found: defaultdict[tuple[str, str], list[tuple[str, Line | None, Line | None]]] = defaultdict(list)
    for (group_id, member_id, process_id), its in first.items():
        found[group_id, member_id].append((process_id, its.get("member_added"), its.get("rebalance_preparing")))
    return found


def replacements(inputs: Inputs) -> Iterator[tuple[str, str, Line]]:
    """Yield the new ids of static members that came back, each with its coordinator and the line that made it.

    A static member that comes back gets a new id instead of the old one. Up to 2.8 its coordinator names it then; later ones name it when they refuse a request
    with the old id and no other member has replaced it since.

    Args:
        inputs: rows of `event_row`, `copied_log`, `damaged_line` and `process_start`.
    """
    columns = ["process_id", "stream_pos", "ts", "event_id", "event", "group_instance_id", "member_id", "old_member_id"]
    is_static = pc.field("broker_id").is_valid() & pc.field("group_instance_id").is_valid()
    lines = event_table(inputs, columns, is_static & one_of("event", (_REPLACED, "member_added", "member_fenced_by_broker")))
    instances = Instances(inputs)
    last: dict[tuple[str, int, str], Row] = {}
    made: dict[tuple[str, str], Line] = {}
    for row in in_order(lines, "process_id", "stream_pos"):
        place = row["process_id"], instances.at(row["process_id"], row["stream_pos"]), row["group_instance_id"]
        by = None
        if row["event"] == _REPLACED:
            by = row
        elif row["event"] == "member_fenced_by_broker" and place in last and last[place]["event"] == _REPLACED:
            by = last[place] if row["old_member_id"] is not None and last[place]["old_member_id"] == row["old_member_id"] else None
        if by is not None and row["member_id"] is not None:
            member = row["process_id"], row["member_id"]
            made[member] = min(_line(by), made.get(member, _line(by)), key=_in_time)
        if row["event"] in (_REPLACED, "member_added"):
            last[place] = row
    yield from ((process_id, member_id, line) for (process_id, member_id), line in made.items())


def epochs(inputs: Inputs) -> Iterator[Edge]:
    """Yield the lines about epochs: one rises after a member asked to join and before any member reaches it (KIP-848).

    Args:
        inputs: rows of `epoch_member` and `epoch_generation`.
    """
    key = ("kafka_cluster", "group_id", "incarnation", "generation")
    risen = ByKey(inputs.rows("epoch_generation", [*key, "process_id", "bumped_ms", "bumped_id", "cause", "cause_member"]), *key)
    for row in one_by_one(inputs.table("epoch_member", [*key, "member_id", "process_id", "joining", "reached"])):
        for its in risen[tuple(row[name] for name in key)]:
            bumped = {"at_ms": its["bumped_ms"], "event_id": its["bumped_id"]}
            yield from edge("the epoch rose, then a member had it", its["process_id"], bumped, row["process_id"], row["reached"])
            if its["cause"] == "member_joined" and row["member_id"] is not None and its["cause_member"] == row["member_id"]:
                rule = "a member asked to join, then the epoch rose for it"
                yield from edge(rule, row["process_id"], row["joining"], its["process_id"], bumped)


def producers(inputs: Inputs) -> Iterator[Edge]:
    """Yield the lines about a transactional producer's epoch, which is given once, in its log and that of its coordinator.

    Args:
        inputs: rows of `event_row`, `copied_log`, `damaged_line`, `process_start` and `process_cluster`.
    """
    names = ["transactional_id", "producer_id", "epoch"]
    is_theirs = (
        one_of("event", ("producer_initializing", "producer_id_set", "transactional_id_initialized")) & pc.field("transactional_id").is_valid()
    )
    columns = ["process_id", "stream_pos", "ts", "event_id", "event", "client_id", *names]
    clusters = Clusters(inputs)
    asked: dict[tuple[Any, ...], Row] = {}
    received: list[tuple[tuple[Any, ...], Row, Row | None]] = []
    given: defaultdict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in in_order(event_table(inputs, columns, is_theirs), "process_id", "stream_pos"):
        instance, cluster = clusters.place(row["process_id"], row["stream_pos"])
        client, epoch = (row["process_id"], instance, row["client_id"], row["transactional_id"]), (cluster, *(row[name] for name in names))
        if row["event"] == "producer_initializing":
            asked[client] = row
        elif None not in epoch and row["event"] == "producer_id_set":
            received.append((epoch, row, asked.get(client)))
        elif None not in epoch:
            given[epoch].append(row)
    for epoch, row, request in received:
        for of_broker in given.get(epoch, ()):
            if request is not None:
                yield from edge("a producer asked for an epoch, then the coordinator gave it", *_placed(request), *_placed(of_broker))
            yield from edge("the coordinator gave an epoch, then the producer received it", *_placed(of_broker), *_placed(row))


def _line(row: Row) -> Line:
    return {"at_ms": row["ts"], "event_id": row["event_id"]}


def _placed(row: Row) -> tuple[str, Line]:
    """Return the process of a line, and its time and event."""
    return row["process_id"], _line(row)


def _in_time(line: Line) -> Any:  # noqa: ANN401 (what can be compared)
    return order([line["at_ms"], line["event_id"]])
