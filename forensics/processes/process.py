"""Compute the view `process`: what each log shows about its process."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from forensics.clocks.offsets import Clocks
from forensics.logs.events import events, is_event
from forensics.processes.kafka_release import Fingerprint, fingerprints
from forensics.processes.same_process import Log, same_processes
from forensics.relations.conditions import one_of
from forensics.relations.missing import greatest, least, order, there

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs, Row

_MEMBERSHIP = ("joining", "joined", "synced", "worker_assigned")
#: Confluent has its own release numbers: 5.x is 2.x of Apache Kafka, 6.0 to 6.2 are 2.6 to 2.8, 7.x is 3.x, 8.x is 4.x.
_CONFLUENT = re.compile(r"^([0-9]+)[.]([0-9]+).*-c(?:cs|e)")


def rows(inputs: Inputs) -> list[Row]:
    """Return the rows of the view `process`."""
    lives = defaultdict(list)
    for life in inputs.rows("process_life"):
        lives[life["process_id"]].append(life)
    printed, releases, clocks = _printed(inputs), fingerprints(inputs), Clocks(inputs)
    hosts: dict[str, str] = {}
    for row in inputs.rows("evidence_file"):
        if None not in (row["process_id"], row["host"]):
            hosts[row["process_id"]] = max(row["host"], hosts.get(row["process_id"], row["host"]))
    stretches = defaultdict(list)
    for row in sorted(inputs.rows("process_cluster"), key=lambda row: order([row["instance"], row["from_pos"], row["kafka_cluster"]])):
        stretches[row["process_id"]].append(row)
    logs = {
        process_id: Log(printed[process_id].worker_url, least(*(life["first_ms"] for life in its)), greatest(*(life["last_ms"] for life in its)))
        for process_id, its in lives.items()
    }
    same = same_processes(inputs, logs)
    found = []
    for process_id, its in lives.items():
        own, clock = printed[process_id], clocks.of(process_id)
        clusters = [row["kafka_cluster"] for row in stretches[process_id] if row["cluster_event"] is not None]
        reference = clock.reference_process_id if clock is not None else None
        found.append(
            {
                "process_id": process_id,
                "host": hosts.get(process_id),
                "role": "broker"
                if any(life["is_broker"] for life in its)
                else "connect_worker"
                if any(life["is_worker"] for life in its)
                else "client",
                **_version(own.kafka_version, releases.get(process_id)),
                "kafka_cluster": next((row["kafka_cluster"] for row in stretches[process_id] if row["is_last"]), None),
                "kafka_clusters": list(dict.fromkeys(clusters)) or None,
                "worker_url": own.worker_url,
                "group_ids": sorted(own.group_ids) if own.has_events else None,
                "instances": own.starts,
                "clock_island": reference,
                "reference_process_id": reference,
                "first_ts": logs[process_id].first_ms,
                "last_ts": logs[process_id].last_ms,
                "same_process_ids": sorted(same[process_id]) if process_id in same else None,
            }
        )
    return found


@dataclass
class _Printed:
    """What the events of a process print: its release and URL as printed last, its groups, and how often its JVM started."""

    kafka_version: str | None = None
    worker_url: str | None = None
    starts: int = 0
    has_events: bool = False

    def __post_init__(self) -> None:
        self.group_ids: set[str] = set()


def _printed(inputs: Inputs) -> defaultdict[str, _Printed]:
    found: defaultdict[str, _Printed] = defaultdict(_Printed)
    for (process_id,) in inputs.distinct("event_row", ["process_id"], is_event(inputs)):
        found[process_id].has_events = True
    is_wanted = one_of("event", ("kafka_version", "process_started")) | pc.field("worker_url").is_valid()
    columns = ["process_id", "stream_pos", "event", "kafka_version", "worker_url"]
    for row in sorted(events(inputs, columns, is_wanted), key=lambda row: order(row["stream_pos"])):
        own = found[row["process_id"]]
        own.starts += row["event"] == "process_started"
        if row["event"] == "kafka_version" and row["kafka_version"] is not None:
            own.kafka_version = row["kafka_version"]
        if row["worker_url"] is not None:
            own.worker_url = row["worker_url"]
    for process_id, group_id in inputs.distinct("event_row", ["process_id", "group_id"], is_event(inputs, one_of("event", _MEMBERSHIP))):
        found[process_id].group_ids.update(there([group_id]))
    return found


def _version(printed: str | None, fits: Fingerprint | None) -> Row:
    """Return the columns about the release of a process."""
    if printed is None:
        only = fits.releases[0] if fits is not None and len(fits.releases) == 1 else None
        how, possible = ("fingerprint", fits.range) if fits is not None else (None, None)
        return {"kafka_version": only, "version_how": how, "version_range": possible}
    if "-ccs" not in printed and "-ce" not in printed:
        return {"kafka_version": printed, "version_how": "printed", "version_range": printed}
    possible = printed
    if (number := _CONFLUENT.match(printed)) is not None:
        major, minor = int(number[1]), int(number[2])
        possible = f"2.{minor}.x" if major == 5 else f"2.{minor + 6}.x" if major == 6 else f"{major - 4}.{minor}.x"  # noqa: PLR2004 (Confluent's numbers)
    return {"kafka_version": printed, "version_how": "confluent", "version_range": possible}


def process_fingerprint(inputs: Inputs) -> list[Row]:
    """Return the releases that fit the lines of each process."""
    return [
        {
            "process_id": process_id,
            "releases": its.releases,
            "version_range": its.range,
            "hints": its.hints,
            "agreeing": its.agreeing,
        }
        for process_id, its in fingerprints(inputs).items()
    ]
