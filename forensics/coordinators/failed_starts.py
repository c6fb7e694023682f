"""Find the workers that reached no broker when they started: they have no herder and no group yet."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from forensics.relations.conditions import one_of
from forensics.relations.missing import first, greatest, least, less, names, order, there

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs, Row

_GIVEN_UP = "connect_start_failed"
_REFUSED = "authentication_failed"
_EVENTS = (_GIVEN_UP, "connection_failed", "bootstrap_failed", _REFUSED, "kafka_cluster_id")
_EVENTS_MOST = 8


def failed_starts(inputs: Inputs) -> Iterator[Row]:
    """Yield rows of `unreached`. A later start that worked ends a failure; the starts that failed before that are one failure.

    Args:
        inputs: rows of `fact_line` and `worker_setting`.
    """
    runs = list(_failed_runs(inputs))
    if not runs:
        return
    settings = {row["process_id"]: row for row in inputs.rows("worker_setting", ["process_id", "group_id", "bootstrap", "security"])}
    started = defaultdict(list)
    is_started = (pc.field("event") == "herder_started") & one_of("process_id", (run["process_id"] for run in runs))
    for line in inputs.rows("fact_line", ["process_id", "stream_pos", "at_ms"], is_started):
        started[line["process_id"]].append(line)
    failures: defaultdict[tuple[str, int | None], list[Row]] = defaultdict(list)
    for run in runs:
        later = (line["at_ms"] for line in started[run["process_id"]] if less(run["given_up_pos"], line["stream_pos"]))
        failures[run["process_id"], least(*later)].append(run)
    for (process_id, started_ms), its in failures.items():
        setting: Row = settings.get(process_id, {})
        yield {
            "how": "refused" if any(run["is_refused"] for run in its) else "no_broker",
            "kafka_cluster": max(there(run["kafka_cluster"] for run in its), default=None),
            "subject": process_id,
            "processes": [process_id],
            "from_ms": least(*(run["from_ms"] for run in its)),
            "to_ms": started_ms,
            "failures": sum(run["failures"] for run in its),
            "error": max(its, key=lambda run: order(run["instance"]))["error"],
            "starts": len(its),
            "event_ids": names(*(run["event_ids"] for run in its))[:_EVENTS_MOST],
            "given_up_ids": names(*(run["given_up_ids"] for run in its)),
            **{name: setting.get(name) for name in ("group_id", "bootstrap", "security")},
        }


def _failed_runs(inputs: Inputs) -> Iterator[Row]:
    """Yield the runs of workers that give up and never know their Kafka cluster."""
    given_up = {process_id for (process_id,) in inputs.distinct("fact_line", ["process_id"], pc.field("event") == _GIVEN_UP)}
    if not given_up:
        return
    columns = ["kafka_cluster", "process_id", "instance", "stream_pos", "at_ms", "event", "said", "event_id"]
    runs = defaultdict(list)
    for line in inputs.rows("fact_line", columns, one_of("event", _EVENTS) & one_of("process_id", given_up)):
        runs[line["process_id"], line["instance"]].append(line)
    for (process_id, instance), lines in runs.items():
        ends = [line for line in lines if line["event"] == _GIVEN_UP]
        if not ends or len(ends) == len(lines) or any(line["event"] == "kafka_cluster_id" for line in lines):
            continue
        refusals = [line for line in lines if line["event"] == _REFUSED]
        yield {
            "kafka_cluster": max(there(line["kafka_cluster"] for line in lines), default=None),
            "process_id": process_id,
            "instance": instance,
            "from_ms": least(*(line["at_ms"] for line in lines)),
            "given_up_pos": greatest(*(line["stream_pos"] for line in ends)),
            "failures": len(lines) - len(ends),
            "is_refused": bool(refusals),
            "error": first(_last_said(refusals), _last_said(ends)),
            "event_ids": [line["event_id"] for line in lines],
            "given_up_ids": [line["event_id"] for line in ends],
        }


def _last_said(lines: Sequence[Row]) -> str | None:
    """Return the last of the texts in alphabetical order."""
    return max(there(line["said"] for line in lines), default=None)
