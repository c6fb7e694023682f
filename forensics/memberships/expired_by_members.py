"""Find the sessions that expired according to the members' own logs, where no coordinator's log shows it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from forensics.logs.clusters import Clusters
from forensics.logs.events import events
from forensics.memberships.sessions import PrintedSessions
from forensics.relations.conditions import one_of
from forensics.relations.missing import first, greatest, least, minus

if TYPE_CHECKING:
    from forensics.memberships.expiries import Expiry
    from forensics.relations.inputs import Inputs, Row

_UNKNOWN_ID = re.compile("UNKNOWN_MEMBER_ID|member id ([^ ]+ )?is not valid")
_UNKNOWN = re.compile("unknown.?member|not aware of this member|member_id was not|member is not known", re.IGNORECASE)
_COLUMNS = ["kafka_cluster", "group_id", "member_id", "process_id", "instance", "client", "client_id", "task", "generation"]
_COLUMNS += ["event", "at_ms", "stream_pos", "event_id", "cause", "error", "reason"]


def seen_by_members(inputs: Inputs, logged: Sequence[Expiry]) -> Iterator[Row]:
    """Yield rows of `expired_session`: without `expiry`, only their own columns.

    Args:
        inputs: rows of views.
        logged: the removals in coordinators' logs.
    """
    sessions = PrintedSessions(inputs)
    for row in (*_by_own_clock(inputs, logged, sessions), *_fenced(inputs), *_not_known(inputs), *_unanswered(inputs)):
        protocol = sessions.protocol(row["kafka_cluster"], row["group_id"])
        yield row | {"broker_protocol": None if row["how"] == "own_words" else first(protocol, "consumer")}


def _row(how: str, line: Row, **more: object) -> Row:
    names = ("kafka_cluster", "group_id", "member_id", "process_id", "instance", "task", "at_ms", "event_id")
    return {"how": how} | {name: line[name] for name in names} | more


def _by_own_clock(inputs: Inputs, logged: Sequence[Expiry], sessions: PrintedSessions) -> Iterator[Row]:
    """Yield members that found their session expired, and then were refused.

    A coordinator's log that begins with a later generation, or ends with this one, does not cover it.
    """
    removed = {(expiry.kafka_cluster, expiry.group_id, expiry.member_id) for expiry in logged}
    refused = []
    for line in inputs.rows("client_event", _COLUMNS, (pc.field("event") == "heartbeat_failed") & pc.field("member_id").is_valid()):
        is_unknown = _UNKNOWN_ID.search(first(line["error"], line["cause"], line["reason"], "")) is not None
        if is_unknown and (line["kafka_cluster"], line["group_id"], line["member_id"]) not in removed:
            refused.append(line)
    if not refused:
        return
    covered = _covered(inputs)
    earlier = defaultdict(list)
    of_processes = one_of("process_id", (line["process_id"] for line in refused)) & one_of("event", ("joined", "coordinator_lost"))
    for line in inputs.rows("client_event", _COLUMNS, of_processes):
        earlier[line["process_id"], line["instance"], line["group_id"], line["client"]].append(line)
    for line in refused:
        from_generation, to_generation = covered.get((line["kafka_cluster"], line["group_id"]), (1, 0))
        if from_generation <= to_generation and (line["generation"] is None or from_generation <= line["generation"] < to_generation):
            continue
        # The member's earlier lines about its session, since it last joined.
        before = [
            it for it in earlier[line["process_id"], line["instance"], line["group_id"], line["client"]] if it["stream_pos"] < line["stream_pos"]
        ]
        joined_pos = max((it["stream_pos"] for it in before if it["event"] == "joined"), default=None)
        losses = (it for it in before if it["event"] == "coordinator_lost" and (it["cause"] or "").startswith("session timed out"))
        lost = max(losses, key=lambda it: int(it["stream_pos"]), default=None)
        if lost is not None and (joined_pos is None or lost["stream_pos"] > joined_pos):
            session_ms = sessions.own(line["process_id"], line["client_id"])
            yield _row("own_words", line, last_ms=lost["at_ms"], last_id=lost["event_id"], last_event="coordinator_lost", session_ms=session_ms)


def _covered(inputs: Inputs) -> dict[tuple[str, str], tuple[int, int]]:
    """Return the first and the last generation of each group in coordinators' logs."""
    found: dict[tuple[str, str], tuple[int, int]] = {}
    for row in inputs.rows("generation"):
        if row["seen_by_broker"]:
            group = row["kafka_cluster"], row["group_id"]
            low, high = found.get(group, (None, None))
            found[group] = least(low, row["generation"]) or 0, greatest(high, row["generation"]) or 0
    return found


def _fenced(inputs: Inputs) -> Iterator[Row]:
    """Yield members that learn from the coordinator that they are no longer members: a KIP-848 member does not check its own session."""
    seen = {(row["kafka_cluster"], row["group_id"]) for row in inputs.rows("generation") if row["seen_by_broker"]}
    is_fenced = (pc.field("event") == "member_fenced") & pc.field("member_id").is_valid() & pc.match_substring(pc.field("cause"), "is unknown")
    for line in inputs.rows("client_event", _COLUMNS, is_fenced):
        if (line["kafka_cluster"], line["group_id"]) not in seen:
            yield _row("told_by_coordinator", line)


def _not_known(inputs: Inputs) -> Iterator[Row]:
    """Yield clients that print no member id."""
    losses = {
        row["refused_id"]: row for row in inputs.rows("lost_membership") if row["how"] == "refused" and row["member_id"] is None and row["refused_id"]
    }
    if not losses:
        return
    for line in inputs.rows("client_event", _COLUMNS, one_of("event_id", losses) & (pc.field("event") != "join_failed")):
        if _UNKNOWN.search(first(line["error"], line["cause"], line["reason"], "")) is not None:
            loss = losses[line["event_id"]]
            of_loss = {name: loss[name] for name in ("kafka_cluster", "group_id", "process_id", "instance")} | {"member_id": None, "task": None}
            yield _row("not_known", line | of_loss, client=line["client"], again_ms=loss["back_ms"])


def _unanswered(inputs: Inputs) -> Iterator[Row]:
    """Yield clients whose group is unknown: librdkafka prints it only with debug=cgrp; other rules report losses of a coordinator in a known group."""
    is_loss = (pc.field("event") == "coordinator_lost") & pc.match_substring(pc.field("message"), "Consumer group session timed out")
    lines = events(inputs, ["process_id", "stream_pos", "ts", "duration_ms", "event_id"], is_loss)
    if not lines:
        return
    known = {row["event_id"] for row in inputs.rows("client_event", ["event_id"], one_of("event_id", (line["event_id"] for line in lines)))}
    clusters = Clusters(inputs)
    for line in lines:
        if line["event_id"] not in known:
            instance, kafka_cluster = clusters.place(line["process_id"], line["stream_pos"])
            own = {"kafka_cluster": kafka_cluster, "instance": instance, "at_ms": line["ts"], **dict.fromkeys(("group_id", "member_id", "task"))}
            yield _row("no_answer", line | own, last_ms=minus(line["ts"], line["duration_ms"]))
