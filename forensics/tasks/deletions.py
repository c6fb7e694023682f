"""Find when connectors were deleted, or left out of the command line of a standalone worker."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from operator import itemgetter
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from forensics.clocks.offsets import Clocks
from forensics.logs.events import events
from forensics.logs.instances import Instances

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from forensics.relations.inputs import Inputs, Row
    from forensics.tasks.failures import Failure, Resource


class Deletions:
    """The lines of workers that show that a connector is no longer configured, on the reference clock.

    A standalone worker runs the connectors of its command line, so a later run that starts others, and completes its start, does not have it.

    Args:
        inputs: rows of `fact_line`, `clock_offset` and events.
        starts: the starts of each task and connector.
    """

    def __init__(self, inputs: Inputs, starts: Mapping[Resource, Sequence[Row]]) -> None:
        self._clocks = clocks = Clocks(inputs)
        self._runs = _standalone_runs(inputs, starts)
        self._of: defaultdict[tuple[str | None, ...], list[tuple[int, str, str]]] = defaultdict(list)
        columns = ["kafka_cluster", "worker_group_id", "connector", "process_id", "at_ms", "event_id"]
        for row in inputs.rows("fact_line", columns, pc.field("event") == "connector_config_removed"):
            clock = clocks.of(row["process_id"])
            lo_ms = clock.earliest(row["at_ms"]) if clock is not None else None
            if clock is not None and lo_ms is not None and None not in (row["kafka_cluster"], row["worker_group_id"], row["connector"]):
                place = row["kafka_cluster"], row["worker_group_id"], row["connector"], clock.reference_process_id
                self._of[place].append((lo_ms, row["process_id"], row["event_id"]))
        for its in self._of.values():
            its.sort()

    def after(self, failure: Failure, reference_process_id: str, from_ms: int | None) -> tuple[int | None, str | None]:
        """Return when the connector of a failure was deleted or left out after that time, at the earliest, and the line that shows it."""
        its = self._of.get((failure.kafka_cluster, failure.group_id, failure.connector, reference_process_id), [])
        at = bisect_left(its, from_ms, key=itemgetter(0)) if from_ms is not None else len(its)
        if at < len(its):
            return its[at][0], its[at][2]
        clock, runs = self._clocks.of(failure.of.process_id), self._runs.get(failure.of.process_id, {})
        if clock is None or failure.connector is None or failure.of.instance not in runs:
            return None, None
        for instance, started in sorted(runs.items()):
            if instance > failure.of.instance and started and failure.connector not in started:
                line = min(started.values(), key=itemgetter("stream_pos"))
                return clock.earliest(line["at_ms"]), line["event_id"]
        return None, None


def _standalone_runs(inputs: Inputs, starts: Mapping[Resource, Sequence[Row]]) -> Mapping[str, Mapping[int, Mapping[str | None, Row]]]:
    """Return the runs of standalone workers: the first start of each of its connectors; none if the run could not complete its start."""
    instances = Instances(inputs)
    runs: defaultdict[str, dict[int, dict[str | None, Row]]] = defaultdict(dict)
    is_standalone = (pc.field("event") == "config_dumped") & (pc.field("component") == "StandaloneConfig")
    for row in events(inputs, ["process_id", "stream_pos"], is_standalone):
        runs[row["process_id"]][instances.at(row["process_id"], row["stream_pos"])] = {}
    if not runs:
        return runs
    failed = inputs.rows("fact_line", ["process_id", "instance"], pc.field("event") == "connect_start_failed")
    incomplete = {(row["process_id"], row["instance"]) for row in failed}
    for resource, its in starts.items():
        run = runs.get(resource.process_id, {}).get(resource.instance)
        if run is not None and resource.kind == "connector" and (resource.process_id, resource.instance) not in incomplete:
            run[resource.name] = its[0]
    return runs
