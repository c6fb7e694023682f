"""Find the members that left because of their poll timeout, for no other reason.

A client checks its session before its polls, so a client that was paused for longer than both reports the expired session. A poll timeout alone therefore shows a
process that runs. A KIP-848 client does not check its session, and other libraries have their own order.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from forensics.causes.trouble import PRINTED, Trouble
from forensics.causes.witnesses import Machine
from forensics.relations.by_key import ByKey
from forensics.relations.conditions import one_of
from forensics.relations.missing import between, first, greatest, there, up_to
from forensics.wording.formats import shorten

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs, Row

_EXCEEDED = re.compile(r"exceeded by ([0-9]+) ?ms")
_INTEGER = re.compile(r"\s*[+-]?[0-9]{1,18}\s*")
#: If no line shows the limit between two polls, what a task printed counts if it is at most this much older.
_LIMIT_MS = 60_000
_LONGEST = 160


@dataclass(frozen=True)
class _Leave:
    """A leave at a poll timeout."""

    kafka_cluster: str | None
    group_id: str | None
    process_id: str | None
    instance: int | None
    member_id: str | None
    task: str | None
    limit_ms: int | None
    session_ms: int | None
    left_ms: int | None
    from_ms: int | None
    to_ms: int | None
    event_id: str | None


def poll_timeouts(inputs: Inputs) -> Iterator[Trouble]:
    """Yield the poll timeouts that are not the effect of another trouble of their process or of its coordinator."""
    leaves = [_leave(row) for row in inputs.rows("rule_poll_timeout")]
    if not leaves:
        return
    is_running = _running(inputs, leaves)
    is_effect = _effects(inputs)
    printed = _printed(inputs, leaves)
    for leave in leaves:
        if is_effect(leave):
            continue
        runs = is_running(leave)
        yield Trouble(
            cause="poll_too_slow" if runs else "unknown",
            alternatives=() if runs else ("poll_too_slow", "process_paused"),
            kafka_cluster=leave.kafka_cluster,
            group_ids=there([leave.group_id]),
            subject=leave.process_id,
            of_group_id=leave.group_id if leave.process_id is None else None,
            process_id=leave.process_id,
            instance=leave.instance,
            member_ids=there([leave.member_id]),
            from_lo_ms=leave.from_ms,
            from_hi_ms=leave.to_ms,
            to_lo_ms=leave.from_ms,
            to_hi_ms=leave.to_ms,
            witness=there([leave.event_id]),
            machine=printed.get(leave.event_id),
        )


def _leave(row: Row) -> _Leave:
    facts, proof = row["facts"], row["proof"]
    return _Leave(
        kafka_cluster=row["kafka_cluster"],
        group_id=row["group_id"],
        process_id=facts["process_id"],
        instance=facts["instance"],
        member_id=facts["member_id"],
        task=facts["task"],
        limit_ms=facts["limit_ms"],
        session_ms=facts["session_ms"],
        left_ms=facts["left_at_ms"],
        from_ms=row["from_ms"],
        to_ms=row["to_ms"],
        event_id=proof[0]["event_id"] if proof else None,
    )


def _running(inputs: Inputs, leaves: list[_Leave]) -> Callable[[_Leave], bool]:
    """Return a function that returns True for a leave of a process that certainly was running."""
    sessions = _session_limits(inputs)
    seen_by_broker = _assigned_by_brokers(inputs)
    exceeded = _exceeded_by(inputs, [leave.event_id for leave in leaves if leave.event_id is not None])

    def is_running(leave: _Leave) -> bool:
        group = (leave.kafka_cluster, leave.group_id)
        if None not in group and group in seen_by_broker:
            return seen_by_broker[group]
        session_ms, over_ms = first(sessions.get(leave.process_id), leave.session_ms), exceeded.get(leave.event_id)
        is_session_shorter = session_ms is None or leave.limit_ms is None or session_ms < leave.limit_ms
        return is_session_shorter and (over_ms is None or over_ms <= inputs.knobs.heartbeat_late_ms)

    return is_running


def _printed(inputs: Inputs, leaves: list[_Leave]) -> dict[str | None, Machine]:
    """Return the last warning of each task's plugin between the poll that it should have made and its leave.

    The plugin prints it in the thread of the task, which Connect names before the message from 2.3 on (KIP-449).
    """
    tasks = [leave for leave in leaves if leave.task is not None and leave.left_ms is not None]
    if not tasks:
        return {}
    is_warning = one_of("process_id", (leave.process_id for leave in tasks)) & one_of("level", ("WARN", "ERROR", "FATAL"))
    lines = ByKey(inputs.rows("unrecognised_row", columns=["process_id", "ts", "text", "path", "line"], where=is_warning), "process_id")
    found: dict[str | None, Machine] = {}
    for leave in tasks:
        connector, _, number = (leave.task or "").rpartition("-")
        begin, since_ms = f"[{connector}|task-{number}] ", (leave.left_ms or 0) - first(leave.limit_ms, _LIMIT_MS)
        its = [it for it in lines[leave.process_id] if between(since_ms, it["ts"], leave.left_ms) and (it["text"] or "").startswith(begin)]
        if its:
            last = max(its, key=lambda it: (it["ts"], it["path"], it["line"]))
            text = shorten(last["text"].removeprefix(begin).partition("\n")[0], _LONGEST)
            found[leave.event_id] = Machine(code=PRINTED, how=f"“{text}” ({last['path']}:{last['line']})")
    return found


def _session_limits(inputs: Inputs) -> dict[str | None, int]:
    """Return the longest session timeout of each process."""
    found: defaultdict[str | None, list[int | None]] = defaultdict(list)
    for row in inputs.rows("worker_setting", columns=["process_id", "session_ms"]):
        found[row["process_id"]].append(row["session_ms"])
    settings = inputs.rows("setting", columns=["process_id", "component", "key", "value"], where=pc.field("key") == "session.timeout.ms")
    for row in settings:
        if row["component"] == "ConsumerConfig" and row["value"] is not None and _INTEGER.fullmatch(row["value"]):
            found[row["process_id"]].append(int(row["value"]))
    return {process: longest for process, limits in found.items() if process is not None and (longest := greatest(*limits)) is not None}


def _assigned_by_brokers(inputs: Inputs) -> dict[tuple[str | None, str | None], bool]:
    """Return the groups whose broker makes the assignment: True if the logs of a broker show one."""
    found: defaultdict[tuple[str | None, str | None], bool] = defaultdict(bool)
    for row in inputs.rows("generation", columns=["kafka_cluster", "group_id", "group_protocol", "seen_by_broker"]):
        if row["group_protocol"] not in (None, "classic"):
            found[row["kafka_cluster"], row["group_id"]] |= bool(row["seen_by_broker"])
    return found


def _exceeded_by(inputs: Inputs, event_ids: list[str]) -> dict[str | None, int]:
    """Return by how much a process exceeded its poll timeout, if its line prints it."""
    is_one = (pc.field("event") == "poll_timeout") & one_of("event_id", event_ids)
    lines = inputs.rows("event_row", columns=["event_id", "message"], where=is_one) if event_ids else ()
    printed = ((line["event_id"], _EXCEEDED.search(line["message"] or "")) for line in lines)
    return {event_id: int(match[1]) for event_id, match in printed if match is not None}


def _effects(inputs: Inputs) -> Callable[[_Leave], bool]:
    """Return a function that returns True for a leave while its coordinator was down, or its process was paused or cut off: it is an effect of that."""
    untroubled_ms = inputs.knobs.outage_untroubled_ms
    outages = inputs.rows("coordinator_outage", columns=["process_id", "instance", "group_id", "was_member", "lost_ms", "found_ms"])
    outages_of = ByKey((row for row in outages if row["was_member"]), "process_id", "instance", "group_id")
    troubles = inputs.rows("process_trouble", columns=["process_id", "instance", "cause", "from_lo_ms", "to_hi_ms"])
    troubles_of = ByKey((row for row in troubles if row["cause"] not in (None, "poll_too_slow")), "process_id", "instance")

    def is_effect(leave: _Leave) -> bool:
        for outage in outages_of[leave.process_id, leave.instance, leave.group_id]:
            if up_to(outage["lost_ms"], leave.left_ms) and up_to(leave.left_ms, first(outage["found_ms"], leave.left_ms) + untroubled_ms):
                return True
        for trouble in troubles_of[leave.process_id, leave.instance]:
            end_ms = first(trouble["to_hi_ms"], leave.from_ms)
            if up_to(trouble["from_lo_ms"], leave.to_ms) and leave.from_ms is not None and leave.from_ms <= end_ms + untroubled_ms:
                return True
        return False

    return is_effect
