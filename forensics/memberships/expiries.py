"""Gather what is known about each session that expired according to a coordinator's log."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from forensics.clocks.offsets import Clocks
from forensics.logs.clusters import Clusters
from forensics.logs.events import events
from forensics.logs.filtered_logs import filtered_logs
from forensics.logs.instances import Instances
from forensics.logs.lost_ranges import LostRanges
from forensics.memberships.sessions import PrintedSessions
from forensics.relations.by_key import ByKey, by_run
from forensics.relations.conditions import one_of
from forensics.relations.missing import between, first, order, up_to

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs, Row


@dataclass(frozen=True)
class Expiry:
    """A line of a coordinator that removes a member for missing heartbeats."""

    kafka_cluster: str
    group_id: str
    member_id: str
    broker: str
    stream_pos: int
    at_ms: int | None
    event_id: str


def expiries(inputs: Inputs) -> Iterator[Expiry]:
    """Yield the removals. The reason of the rebalance shows one too, where the line before it is missing.

    Args:
        inputs: rows of `event_row`, `process_start` and `process_cluster`.
    """
    is_expiry = pc.field("event") == "member_expired"
    is_reason = (pc.field("event") == "rebalance_preparing") & pc.match_substring(pc.field("reason"), "on heartbeat expiration")
    is_named = pc.field("member_id").is_valid() & pc.field("group_id").is_valid()
    columns = ["process_id", "stream_pos", "ts", "event_id", "event", "group_id", "member_id"]
    lines = events(inputs, columns, (is_expiry | is_reason) & is_named)
    logged = {(row["process_id"], row["group_id"], row["member_id"]) for row in lines if row["event"] == "member_expired"}
    clusters = Clusters(inputs) if lines else None
    for row in lines:
        if clusters is not None and (row["event"] == "member_expired" or (row["process_id"], row["group_id"], row["member_id"]) not in logged):
            yield Expiry(
                clusters.at(row["process_id"], row["stream_pos"]),
                *(row[name] for name in ("group_id", "member_id", "process_id", "stream_pos", "ts", "event_id")),
            )


def expired(inputs: Inputs, found: Sequence[Expiry]) -> Iterator[Row]:
    """Yield a row of `expired_session` for each removal of a member that had not left, or stopped polling, before.

    Args:
        inputs: rows of views.
        found: the removals.
    """
    members = ByKey(inputs.rows("member"), "kafka_cluster", "group_id", "member_id")
    known, sessions = _Known(inputs, found), PrintedSessions(inputs)
    for expiry in found:
        its: Sequence[Row | None] = members[expiry.kafka_cluster, expiry.group_id, expiry.member_id] or [None]
        for member in its:
            if member is not None and member["left_client"] in ("left", "poll_timeout"):
                continue
            process_id = member["process_id"] if member is not None else None
            protocol = sessions.protocol(expiry.kafka_cluster, expiry.group_id)
            own_ms = sessions.own(process_id, member["client_id"] if member is not None else None)
            yield {
                "how": "expired",
                "kafka_cluster": expiry.kafka_cluster,
                "group_id": expiry.group_id,
                "member_id": expiry.member_id,
                "at_ms": expiry.at_ms,
                "event_id": expiry.event_id,
                "process_id": process_id,
                "task": member["task"] if member is not None else None,
                "group_instance_id": member["group_instance_id"] if member is not None else None,
                "left_client": member["left_client"] if member is not None else None,
                "broker": expiry.broker,
                "broker_protocol": protocol,
                "session_ms": own_ms if protocol is None else sessions.of_broker(expiry.broker, protocol),
                **known.last_line(expiry, member),
                **known.rejoin(expiry),
                **known.end(expiry),
                **known.close(expiry),
                **known.pause(expiry),
                **(known.unknown(expiry) if process_id is None else dict.fromkeys(("shared_log", "namesake", "namesake_processes"))),
            }


class _Known:
    """What the logs show about removals.

    Args:
        inputs: rows of views.
        found: the removals.
    """

    def __init__(self, inputs: Inputs, found: Sequence[Expiry]) -> None:
        self._clocks, self._noticed_ms = Clocks(inputs), inputs.knobs.pause_noticed_ms
        self._pauses = ByKey(inputs.rows("process_pause"), "process_id")
        self._lines = _lines(inputs, {expiry.group_id for expiry in found})
        members = one_of("member_id", (expiry.member_id for expiry in found))
        # A member of the consumer protocol (KIP-848) keeps its id when it joins again, and no other member has it.
        columns = ["process_id", "group_id", "member_id", "stream_pos", "ts", "event_id"]
        self._joins = ByKey(events(inputs, columns, (pc.field("event") == "member_joined") & members), "process_id", "group_id", "member_id")
        self._ends, self._closes = _ends(inputs), _closes(inputs)
        # Its process is unknown, but none of the candidates was in trouble.
        abandoned = (row for row in inputs.rows("lost_membership") if row["kind"] == "abandoned")
        self._abandoned = ByKey(abandoned, "removed_id", "member_id")
        mixed = {row["process_id"] for row in inputs.rows("shared_log") if (row["member_count"] or 0) > 0}
        is_own = ~pc.field("broker_id").is_valid() & ~pc.starts_with(pc.field("event"), "leader_") & members & one_of("process_id", mixed)
        self._in_mixed = ByKey(events(inputs, ["process_id", "group_id", "member_id"], is_own) if mixed else (), "group_id", "member_id")

    def last_line(self, expiry: Expiry, member: Row | None) -> Row:
        """Return the last group line of the member before its removal, which was as early as its clock allows."""
        last = None
        if member is not None and member["process_id"] is not None and (clock := self._clocks.of(member["process_id"])) is not None:
            at_ms = clock.own_earliest(expiry.at_ms)
            its = self._lines.get((member["process_id"], expiry.group_id, member["client_id"] or ""), [])
            at = bisect_right(its, at_ms, key=lambda line: int(line["at_ms"])) if at_ms is not None else 0
            last = its[at - 1] if at else None
        return {
            "instance": last["instance"] if last is not None else None,
            "last_event": last["event"] if last is not None else None,
            "last_ms": last["at_ms"] if last is not None else None,
            "last_id": last["event_id"] if last is not None else None,
        }

    def rejoin(self, expiry: Expiry) -> Row:
        """Return when the member joined again."""
        later = (row for row in self._joins[expiry.broker, expiry.group_id, expiry.member_id] if row["stream_pos"] > expiry.stream_pos)
        again = min(later, key=lambda row: (row["stream_pos"], row["event_id"]), default=None)
        return {"again_ms": again["ts"] if again is not None else None, "again_id": again["event_id"] if again is not None else None}

    def end(self, expiry: Expiry) -> Row:
        """Return whether its process ran on, or had begun to stop."""
        ran_on, ending = self._ends.get(expiry.event_id, (False, (None, None)))
        return {"ran_on": ran_on, "ending_ms": ending[0], "ending_id": ending[1]}

    def close(self, expiry: Expiry) -> Row:
        """Return when its client had been closed, and had lost its coordinator before."""
        names = ("closing_ms", "closing_id", "lost_ms", "lost_id")
        return dict(zip(names, self._closes.get((expiry.event_id, expiry.member_id), (None,) * 4), strict=True))

    def pause(self, expiry: Expiry) -> Row:
        """Return the pause of its coordinator: one that continues removes the members that it could not hear meanwhile."""
        its = [p for p in self._pauses[expiry.broker] if between(p["after_ms"], expiry.at_ms, p["after_ms"] + self._noticed_ms)]
        return {"paused_ms": max((p["least_ms"] for p in its), default=None), "paused_id": min((p["after_id"] for p in its), default=None)}

    def unknown(self, expiry: Expiry) -> Row:
        """Return what is known about a member of an unknown process: a log of several members with its lines, or clients of its name."""
        abandoned = next(iter(self._abandoned[expiry.event_id, expiry.member_id]), None)
        return {
            "shared_log": min((row["process_id"] for row in self._in_mixed[expiry.group_id, expiry.member_id]), default=None),
            "namesake": abandoned["client"] if abandoned is not None else None,
            "namesake_processes": abandoned["candidates"] if abandoned is not None else None,
        }


def _lines(inputs: Inputs, groups: set[str]) -> dict[tuple[str, str, str], list[Row]]:
    """Return the group lines of the clients of these groups, in order, by process, group and client id."""
    found = defaultdict(list)
    columns = ["process_id", "instance", "group_id", "client_id", "event", "at_ms", "stream_pos", "event_id"]
    for line in inputs.rows("client_event", columns, one_of("group_id", groups) & pc.field("at_ms").is_valid()):
        found[line["process_id"], line["group_id"], line["client_id"] or ""].append(line)
    # Heartbeats at DEBUG.
    is_heartbeat = one_of("event", ("heartbeat_sent", "heartbeat_ok")) & one_of("group_id", groups) & pc.field("client_id").is_valid()
    columns = ["process_id", "group_id", "client_id", "event", "ts", "stream_pos", "event_id"]
    instances = Instances(inputs)
    for line in events(inputs, columns, is_heartbeat & pc.field("ts").is_valid()):
        instance = instances.at(line["process_id"], line["stream_pos"])
        found[line["process_id"], line["group_id"], line["client_id"]].append(line | {"at_ms": line["ts"], "instance": instance})
    return {
        key: sorted(its, key=lambda line: order([line[name] for name in ("at_ms", "stream_pos", "event", "event_id")])) for key, its in found.items()
    }


def _ends(inputs: Inputs) -> dict[str, tuple[bool, tuple[int | None, str | None]]]:
    """Return by removal whether the process run continued, and when it had begun to stop: a consumer that is not closed then prints no line when it leaves.

    A filtered log may lack the first line of the next run, and so may a lost range.
    """
    filtered = filtered_logs(inputs)
    lost = LostRanges(inputs)
    lives = by_run(inputs.rows("process_life"))
    found: dict[str, tuple[bool, tuple[int | None, str | None]]] = {}
    for row in inputs.rows("removed_member"):
        life = lives.get((row["process_id"], row["instance"]))
        if life is None or row["removed_id"] is None:
            continue
        ran_on, ending = found.get(row["removed_id"], (False, (None, None)))
        lacks_lines = row["process_id"] in filtered or lost.in_time(row["process_id"], row["own_lo_ms"], None)
        is_later = row["own_hi_ms"] is not None and life["last_ms"] is not None and life["last_ms"] > row["own_hi_ms"]
        if up_to(life["ending_ms"], row["own_lo_ms"]):
            own = life["ending_ms"], life["ending_id"]
            ending = min(own, ending) if ending[0] is not None else own
        found[row["removed_id"]] = ran_on or (is_later and not lacks_lines), ending
    return found


def _closes(inputs: Inputs) -> dict[tuple[str, str], tuple[int | None, str, int | None, str | None]]:
    """Return by removal and member when its client had been closed, and when it had lost the coordinator that it could have notified."""
    closed = [row for row in inputs.rows("removed_member") if row["was_closed"]]
    if not closed:
        return {}
    lines = events(inputs, ["event_id", "ts"], one_of("event_id", (row["closed_id"] for row in closed)))
    times = {row["event_id"]: row["ts"] for row in lines}
    outages = ByKey((row for row in inputs.rows("coordinator_outage") if row["was_member"]), "process_id", "instance", "group_id", "client")
    found = {}
    for row in closed:
        if row["closed_id"] in times:
            at_ms = times[row["closed_id"]]
            lost = min(
                (
                    (outage["lost_ms"], next(iter(outage["witness"] or ()), None))
                    for outage in outages[row["process_id"], row["instance"], row["group_id"], row["client"]]
                    if between(outage["lost_ms"], at_ms, first(outage["found_ms"], outage["closed_ms"], outage["last_ms"]))
                ),
                key=lambda lost: order(list(lost)),
                default=(None, None),
            )
            found[row["removed_id"], row["member_id"]] = (at_ms, row["closed_id"], *lost)
    return found
