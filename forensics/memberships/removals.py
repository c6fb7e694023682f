"""Find the members that coordinators removed, in the coordinators' own lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from forensics.clocks.offsets import Clocks
from forensics.logs.clusters import Clusters
from forensics.logs.events import events
from forensics.relations.conditions import one_of
from forensics.relations.missing import there

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs, Row

_SINK = re.compile(r"^connector-consumer-(.+-[0-9]+)-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")


@dataclass(frozen=True)
class Removal:
    """A member that its coordinator removed against its will.

    Attributes:
        broker: the coordinator's process.
        how: session: no heartbeat; rebalance: it did not rejoin, or revoke its partitions, in time.
        protocol: classic or consumer (KIP-848).
        at_ms: when, by the coordinator's own clock.
        lo_ms: removed at this time at the earliest, by the reference clock.
        hi_ms: removed at this time at the latest.
        heard_ms: it asked to join the current generation at this time at the earliest; None: the log begins later.
        task: the sink task after which the member is named; None: it is not a sink's.
    """

    kafka_cluster: str
    group_id: str
    member_id: str
    broker: str
    removed_id: str
    how: str
    protocol: str
    at_ms: int
    lo_ms: int
    hi_ms: int
    heard_ms: int | None
    reference_process_id: str
    task: str | None


def removals(inputs: Inputs) -> Iterator[Removal]:
    """Yield the members that coordinators removed.

    The reason of a rebalance shows a removal too, where the line before it is missing.

    Args:
        inputs: rows of `event_row`, `broker_generation` and `clock_offset`.
    """
    lines = _coordinator_lines(inputs)
    removed = {(line["group_id"], line["process_id"], line["member_id"]) for line in lines if line["event"] == "member_expired"}
    clocks, generations = Clocks(inputs), _prepared(inputs)
    last_generation: dict[tuple[str, str, str], str] = {}
    for line in lines:
        group = line["kafka_cluster"], line["group_id"], line["process_id"]
        if line["event"] == "group_stabilized":
            last_generation[group] = line["event_id"]
            continue
        if line["event"] == "rebalance_preparing" and (line["group_id"], line["process_id"], line["member_id"]) in removed:
            continue
        clock = clocks.of(line["process_id"])
        if clock is None or line["ts"] is None:
            continue
        is_listed = line["member_id"] is None
        is_late = is_listed or "rebalance" in (line["reason"] or "").lower()
        for member_id in there(line["members"] or ()) if is_listed else [line["member_id"]]:
            sink = _SINK.match(member_id)
            if member_id != "":
                yield Removal(
                    *(line["kafka_cluster"], line["group_id"], member_id, line["process_id"], line["event_id"]),
                    how="rebalance" if is_late else "session",
                    protocol="consumer" if "fenced from the group" in line["message"] else "classic",
                    at_ms=line["ts"],
                    lo_ms=line["ts"] - clock.hi_ms,
                    hi_ms=line["ts"] - clock.lo_ms,
                    heard_ms=clock.earliest(generations.get(last_generation.get(group))),
                    reference_process_id=clock.reference_process_id,
                    task=sink[1] if sink is not None else None,
                )


def _coordinator_lines(inputs: Inputs) -> list[Row]:
    """Return lines about removals and completed generations in the order of each log, with the Kafka cluster."""
    event, reason = pc.field("event"), pc.field("reason")
    is_removal = (event == "rebalance_preparing") & pc.match_substring(reason, "on heartbeat expiration")
    wanted = one_of("event", ("member_expired", "group_stabilized")) | is_removal
    columns = ["process_id", "stream_pos", "ts", "event_id", "event", "group_id", "member_id", "members", "reason", "message"]
    # A process that was given a member id and never joined with it was never a member.
    is_member = ~pc.starts_with(pc.field("message"), "Pending member")
    clusters = Clusters(inputs)
    lines = [
        line | {"kafka_cluster": clusters.at(line["process_id"], line["stream_pos"])}
        for line in events(inputs, columns, wanted & pc.field("group_id").is_valid() & pc.field("broker_id").is_valid() & is_member)
    ]
    return sorted(lines, key=lambda line: (line["process_id"], line["stream_pos"]))


def _prepared(inputs: Inputs) -> dict[str | None, int | None]:
    """Return when each generation was prepared, by the event that completed it."""
    rows = inputs.rows("broker_generation", ["stabilized_id", "prepared_ms"])
    return {row["stabilized_id"]: row["prepared_ms"] for row in rows if row["stabilized_id"] is not None}
