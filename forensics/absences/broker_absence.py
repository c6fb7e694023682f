"""Compute the view `broker_absence`: when brokers were certainly or possibly down, by their own logs and by those of others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from forensics.clocks.offsets import Clocks
from forensics.logs.events import events
from forensics.relations.by_key import ByKey
from forensics.relations.conditions import one_of
from forensics.relations.inputs import once
from forensics.relations.missing import first, order, there

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs, Row


@once
def rows(inputs: Inputs) -> list[Row]:
    """Return the rows of the view `broker_absence`."""
    clocks = Clocks(inputs)
    found = []
    for absence in (*_own(inputs), *_reported(inputs)):
        clock = clocks.of(absence["process_id"])
        if clock is None:
            continue
        reference = clocks.of(clock.reference_process_id)
        found.append(
            absence
            | {
                "from_lo_ms": clock.earliest(absence["from_ms"]),
                "from_hi_ms": clock.latest(absence["from_ms"]),
                "to_hi_ms": clock.latest(absence["to_ms"]),
                "reference_process_id": clock.reference_process_id,
                "is_steady": not (clock.has_stepped or (reference is not None and reference.has_stepped)),
            }
        )
    return found


def _own(inputs: Inputs) -> Iterator[Row]:
    """Yield the runs of brokers, each with what followed it in its own log."""
    lines = one_of("event", ("process_stopping", "broker_failed"))
    stops, failed = defaultdict(list), set()
    for line in inputs.rows("fact_line", ["process_id", "instance", "event", "at_ms", "event_id"], lines):
        run = line["process_id"], line["instance"]
        if line["event"] == "broker_failed":
            failed.add(run)
        else:
            stops[run].append(line)
    numbers = defaultdict(set)
    for row in inputs.rows("cluster_broker"):
        numbers[row["process_id"]].add(row["broker_id"])
    clusters = {row["process_id"]: row["kafka_cluster"] for row in inputs.rows("process") if row["role"] == "broker"}
    for life in inputs.rows("process_life"):
        process_id, run = life["process_id"], (life["process_id"], life["instance"])
        if process_id not in clusters:
            continue
        stop = min(stops[run], key=lambda line: order([line["at_ms"], line["event_id"]]), default=None)
        stopped_ms = min(there(line["at_ms"] for line in stops[run]), default=None)
        # In a log with the lines of several brokers it is unknown which of them was down.
        broker_ids = numbers[process_id] - {None}
        yield {
            "process_id": process_id,
            "kafka_cluster": clusters[process_id],
            "broker_id": min(broker_ids) if len(broker_ids) == 1 else None,
            "how": _how(life, is_failure=stop is not None and run in failed, is_stopped=stopped_ms is not None),
            "from_ms": first(stopped_ms, life["last_ms"]),
            "to_ms": life["next_start_ms"],
            "event_id": stop["event_id"] if stop is not None else life["next_start_id"],
        }


def _how(life: Row, *, is_failure: bool, is_stopped: bool) -> str:
    if is_failure:
        return "starting"
    if is_stopped:
        return "stopped"
    if life["next_start_ms"] is None:
        return "silent"
    return "restarted" if life["has_started"] else "starting"


def _reported(inputs: Inputs) -> Iterator[Row]:
    """Yield what other brokers report.

    A controller fences a broker whose heartbeats are missing, and a replica cannot fetch from a broker that is down.
    """
    event = pc.field("event")
    lines = (event == "broker_fenced") | (event == "connection_failed") & (pc.field("component") == "ReplicaFetcher")
    brokers = ByKey(inputs.rows("cluster_broker"), "process_id")
    for line in events(inputs, ["process_id", "event_id", "ts", "event", "broker_id", "node_id"], lines):
        missed = line["broker_id"] if line["event"] == "broker_fenced" else line["node_id"]
        others = (
            row["kafka_cluster"] for row in brokers[line["process_id"]] if None not in (missed, row["broker_id"]) and row["broker_id"] != missed
        )
        for kafka_cluster in dict.fromkeys(others):
            yield {
                "process_id": line["process_id"],
                "kafka_cluster": kafka_cluster,
                "broker_id": missed,
                "how": "reported",
                "from_ms": line["ts"],
                "to_ms": None,
                "event_id": line["event_id"],
            }
