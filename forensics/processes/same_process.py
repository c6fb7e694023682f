"""Find logs that are, or may be, other parts of a process's log: of another day, or from before or after a clock step."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import permutations
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from forensics.relations.missing import there

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs

_PART = re.compile("#[0-9]+$")


@dataclass(frozen=True)
class Log:
    """A log: the URL that its process advertises, and the time that it covers, by its own clock."""

    worker_url: str | None
    first_ms: int | None
    last_ms: int | None


def same_processes(inputs: Inputs, logs: Mapping[str, Log]) -> Mapping[str, set[str]]:
    """Return the other logs of the same process, by process id.

    Args:
        inputs: rows of `client_event`, `member_round` and `join_round`.
        logs: all logs, by process id.
    """
    found = defaultdict(set)
    for a, b in (*_with_same_member(inputs), *_of_one_file(inputs, logs), *_with_same_url(logs)):
        found[a].add(b)
    return found


def _with_same_member(inputs: Inputs) -> Iterator[tuple[str, str]]:
    """Yield pairs of logs that print the same member id as their own.

    A coordinator issues a member id only once. A leader prints the other members' ids when it computes an assignment.
    """
    owners = defaultdict(set)
    is_own = pc.field("member_id").is_valid() & (pc.field("event") != "assignment_computed")
    for group_id, member_id, process_id in inputs.distinct("client_event", ["group_id", "member_id", "process_id"], is_own):
        if group_id is not None:
            owners[group_id, member_id].add(process_id)
    for its in owners.values():
        yield from permutations(its, 2)


def _of_one_file(inputs: Inputs, logs: Mapping[str, Log]) -> Iterator[tuple[str, str]]:
    """Yield pairs of parts of one file.

    A file is split where time jumps back. Then the second part belongs to the same process with its clock set back, unless it has another URL, or one client name
    has two member ids in one generation.
    """
    files = defaultdict(list)
    for process_id in logs:
        files[_PART.sub("", process_id)].append(process_id)
    parts = {process_id for its in files.values() if len(its) > 1 for process_id in its}
    different = _different(inputs, parts) if parts else set()
    for its in files.values():
        for a, b in permutations(its, 2):
            urls = set(there([logs[a].worker_url, logs[b].worker_url]))
            if len(urls) < 2 and (a, b) not in different:  # noqa: PLR2004
                yield a, b


def _different(inputs: Inputs, parts: set[str]) -> set[tuple[str, str]]:
    """Return pairs of logs in which one client name has two member ids in one generation.

    A static member that restarts gets another id in the same generation.
    """
    columns = ["process_id", "client", "group_instance_id"]
    static = {(row["process_id"], row["client"]) for row in inputs.rows("join_round", columns) if row["group_instance_id"] is not None}
    members = defaultdict(set)
    for row in inputs.rows("member_round", ["kafka_cluster", "group_id", "incarnation", "generation", "process_id", "client", "member_id"]):
        if row["process_id"] in parts and row["member_id"] is not None and (row["process_id"], row["client"]) not in static:
            key = row["kafka_cluster"], row["group_id"], row["incarnation"], row["generation"], row["client"]
            members[key].add((row["process_id"], row["member_id"]))
    return {(a, b) for its in members.values() for (a, one), (b, other) in permutations(its, 2) if a != b and one != other}


def _with_same_url(logs: Mapping[str, Log]) -> Iterator[tuple[str, str]]:
    """Yield pairs of logs with one URL, unless they overlap in time: two workers may both advertise localhost."""
    of_url = defaultdict(list)
    for process_id, log in logs.items():
        if log.worker_url is not None and log.first_ms is not None and log.last_ms is not None:
            of_url[log.worker_url].append((log.first_ms, log.last_ms, process_id))
    for its in of_url.values():
        for (_, a_last_ms, a), (b_first_ms, _, b) in permutations(its, 2):
            if a_last_ms < b_first_ms:
                yield from ((a, b), (b, a))
