"""Compute the view `member_setting`: the timeouts in force for each member, according to its group, and who printed them.

The member's own configuration has priority, then the coordinator's lines about the member, then the value that all other members of the group share.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import pyarrow.compute as pc

from forensics.logs.clusters import Clusters
from forensics.logs.events import event_table, is_event
from forensics.relations.conditions import one_of
from forensics.relations.inputs import once
from forensics.relations.missing import order, there
from forensics.relations.ordered import one_by_one

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs, Row

_SETTINGS = ("session.timeout.ms", "heartbeat.interval.ms", "max.poll.interval.ms", "rebalance.timeout.ms", "scheduled.rebalance.max.delay.ms")
#: What a coordinator prints about a member, and the settings that it comes from.
_PRINTED = {"session_timeout_ms": ("session.timeout.ms",), "rebalance_timeout_ms": ("max.poll.interval.ms", "rebalance.timeout.ms")}
_WORKERS, _CONSUMERS = "DistributedConfig", "ConsumerConfig"
_NUMBER = re.compile("[0-9]+")
_MOST = 2**63 - 1


class _Of(NamedTuple):
    """Whose setting it is; `member_id` is None for all members of the group."""

    kafka_cluster: str
    group_id: str | None
    member_id: str | None
    setting: str


class _Value(NamedTuple):
    """A value, and the event that shows it."""

    ms: int | None
    event_id: str


@once
def rows(inputs: Inputs) -> list[Row]:
    """Return the rows of the view `member_setting`."""
    own, coordinators = _own(inputs), _coordinators(inputs)
    found = [_row(of, value, "config") for of, value in own.items()]
    found += [_row(of, value, "broker") for of, value in coordinators.items() if of not in own]
    shared: defaultdict[_Of, list[_Value]] = defaultdict(list)
    for of, value in (*own.items(), *coordinators.items()):
        shared[of._replace(member_id=None)].append(value)
    return found + [_row(of, max(values, key=order), "group") for of, values in shared.items() if _is_one(values)]


def _row(of: _Of, value: _Value, how: str) -> Row:
    return {**of._asdict(), "value_ms": value.ms, "value_how": how, "event_id": value.event_id}


def _is_one(values: Iterable[_Value]) -> bool:
    return len(set(there(value.ms for value in values))) == 1


def _own(inputs: Inputs) -> dict[_Of, _Value]:
    """Return what members print about themselves, if all configurations that the process printed for one client have the same value."""
    printed = _configured(inputs)
    # The member id of a worker begins with a client id that no consumer has. Its process prints a worker configuration.
    kinds: defaultdict[tuple[str, str], bool] = defaultdict(bool)
    for process_id, group_id, kind in inputs.distinct(
        "event_row", ["process_id", "group_id", "client_kind"], is_event(inputs, pc.field("group_id").is_valid())
    ):
        kinds[process_id, group_id] |= kind == "Worker"
    found = {}
    columns = ["kafka_cluster", "group_id", "member_id", "process_id", "client_id"]
    for member in inputs.rows("member", columns, pc.field("process_id").is_valid()):
        is_worker = kinds.get((member["process_id"], member["group_id"]))
        client_id = "" if is_worker else member["client_id"]
        if is_worker is not None and client_id is not None:
            for setting, value in printed.get((member["process_id"], is_worker, client_id), {}).items():
                found[_Of(member["kafka_cluster"], member["group_id"], member["member_id"], setting)] = value
    return found


def _configured(inputs: Inputs) -> dict[tuple[str, bool, str | None], dict[str, _Value]]:
    """Return the settings of each worker and client, by process. A worker's settings belong to its process, whichever client prints them."""
    columns = ["process_id", "component", "client_id", "key", "value", "event_id"]
    of_member = one_of("component", (_WORKERS, _CONSUMERS)) & one_of("key", _SETTINGS)
    printed: defaultdict[tuple[str, bool, str | None], defaultdict[str, list[_Value]]] = defaultdict(lambda: defaultdict(list))
    for row in inputs.rows("config_value", columns, of_member):
        if row["value"] is not None and _NUMBER.fullmatch(row["value"]):
            number = int(row["value"])
            client = row["process_id"], row["component"] == _WORKERS, row["client_id"] if row["component"] == _CONSUMERS else ""
            printed[client][row["key"]].append(_Value(number if number <= _MOST else None, row["event_id"]))
    return {
        client: {setting: max(values, key=lambda value: order([value.event_id, value.ms])) for setting, values in its.items() if _is_one(values)}
        for client, its in printed.items()
    }


def _coordinators(inputs: Inputs) -> dict[_Of, _Value]:
    """Return what coordinators print about members."""
    found: dict[_Of, _Value] = {}
    for of, value in _mentions(inputs):
        found[of] = max(value, found.get(of, value))
    return found


def _mentions(inputs: Inputs) -> Iterator[tuple[_Of, _Value]]:
    columns = ["process_id", "stream_pos", "event_id", "group_id", "member_id", *_PRINTED]
    has_value = pc.field("session_timeout_ms").is_valid() | pc.field("rebalance_timeout_ms").is_valid()
    lines = event_table(inputs, columns, pc.field("broker_id").is_valid() & pc.field("member_id").is_valid() & has_value)
    if not lines.num_rows:
        return
    clusters = Clusters(inputs)
    for row in one_by_one(lines):
        cluster = clusters.at(row["process_id"], row["stream_pos"])
        for column, settings in _PRINTED.items():
            if row[column] is not None:
                for setting in settings:
                    yield _Of(cluster, row["group_id"], row["member_id"], setting), _Value(row[column], row["event_id"])
