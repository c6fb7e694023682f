"""Compute the view `process_life`: each run of a process, from its first to its last line, and how it ended."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from forensics.logs.instances import Instances
from forensics.logs.lines import line_table
from forensics.relations.missing import between, first, greatest, least, minus, order
from forensics.runs.run_facts import Run, RunFacts, run_facts
from forensics.runs.setbacks import setbacks

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs, Row

_KILLS = ("oom_killed", "killed", "exited")
_NONE = RunFacts()


def rows(inputs: Inputs) -> list[Row]:
    """Return the rows of the view `process_life`."""
    spans, facts, starts = _spans(inputs), run_facts(inputs), _Starts(inputs)
    ranges, set_back, ends = _ranges(inputs), setbacks(inputs), _container_ends(inputs)
    brokers = {process_id for (process_id, _), its in facts.items() if its.is_broker}
    workers = {process_id for (process_id, _), its in facts.items() if its.is_worker}
    begun: set[str] = set()
    found = []
    for run in sorted(spans):
        process_id, instance = run
        own, (first_ms, last_ms) = facts.get(run, _NONE), spans[run]
        start, following = starts.of.get(run), starts.of.get((process_id, instance + 1))
        log_first_ms, log_last_ms = ranges.get(process_id, (None, None))
        next_ms = following["at_ms"] if following is not None else None
        if next_ms is None:
            last_ms = greatest(last_ms, log_last_ms)
        else:
            # The detected start is not always the first line of a new JVM. Only lines of its clients and tasks certainly belong to the old one. A broker's start
            # begins with its first line: the line before it is from the old run, and so was the broker.
            before_ms = starts.silent_since(process_id, next_ms) if own.is_broker else None
            last_ms = greatest(first(own.last_work_ms, last_ms), before_ms)
        end = _container_end(ends[process_id], last_ms, next_ms, inputs.knobs.zone_step_ms)
        found.append(
            {
                "process_id": process_id,
                "instance": instance,
                "first_ms": first_ms if process_id in begun else least(first_ms, log_first_ms),
                "last_ms": last_ms,
                "stopping_ms": own.stopping_ms,
                "ending_ms": own.ending_ms,
                "ending_id": own.ending_id,
                "ending_lo_ms": own.ending_lo_ms,
                "start_ms": start["at_ms"] if start is not None else None,
                "start_id": start["event_id"] if start is not None else None,
                "next_start_ms": next_ms,
                "next_start_id": following["event_id"] if following is not None else None,
                "next_start_pos": following["stream_pos"] if following is not None else None,
                "is_broker": process_id in brokers,
                "is_worker": process_id in workers,
                "has_started": own.has_started,
                "setbacks": set_back.get(run),
                "end_ms": end[0],
                "end_id": end[1],
            }
        )
        begun.add(process_id)
    return found


def _spans(inputs: Inputs) -> dict[Run, tuple[int | None, int | None]]:
    """Return the times of the first and the last line of each run."""
    lines = Instances(inputs).added(line_table(inputs, ["process_id", "stream_pos", "ts"]))
    its = lines.group_by(["process_id", "instance"]).aggregate([("ts", "min"), ("ts", "max")])
    columns = (its.column(name).to_pylist() for name in ("process_id", "instance", "ts_min", "ts_max"))
    return {(process_id, instance): (first_ms, last_ms) for process_id, instance, first_ms, last_ms in zip(*columns, strict=True)}


def _ranges(inputs: Inputs) -> dict[str, tuple[int | None, int | None]]:
    """Return the first and the last time of each log, of recognised lines or others."""
    found: dict[str, tuple[int | None, int | None]] = {}
    for row in inputs.rows("range_row", ["process_id", "first_ts", "last_ts", "gaps"]):
        first_ms, last_ms = found.get(row["process_id"], (None, None))
        found[row["process_id"]] = least(first_ms, row["first_ts"]), greatest(last_ms, row["last_ts"])
    return found


class _Starts:
    """The starts of runs, and the silences before them.

    Args:
        inputs: rows of `process_start` and `range_row`.
    """

    def __init__(self, inputs: Inputs) -> None:
        self.of: dict[Run, Row] = {}
        for row in inputs.rows("process_start", ["process_id", "starts"]):
            for start in row["starts"] or ():
                self.of[row["process_id"], start["instance"]] = start
        #: Between consecutive records, recognised or not, and between the ranges and files of a log: from when, by the time at which it ended.
        self._silences: dict[tuple[str, int], int | None] = {}
        ranges = inputs.rows("range_row", ["process_id", "first_ts", "last_ts", "gaps"])
        for row in ranges:
            for gap in row["gaps"] or ():
                self._add(row["process_id"], gap["from_ts"], gap["to_ts"])
        last: dict[str, int | None] = {}
        for row in sorted(ranges, key=lambda row: order([row["first_ts"], row["last_ts"]])):
            self._add(row["process_id"], last.get(row["process_id"]), row["first_ts"])
            last[row["process_id"]] = greatest(last.get(row["process_id"]), row["last_ts"])

    def _add(self, process_id: str, from_ms: int | None, to_ms: int | None) -> None:
        if from_ms is not None and to_ms is not None and from_ms <= to_ms:
            self._silences[process_id, to_ms] = greatest(self._silences.get((process_id, to_ms)), from_ms)

    def silent_since(self, process_id: str, at_ms: int) -> int | None:
        """Return the time of the line before a start; None: unknown."""
        return self._silences.get((process_id, at_ms))


def _container_ends(inputs: Inputs) -> defaultdict[str, list[tuple[int, str]]]:
    """Return when containers ended at the latest, by their only process."""
    found: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)
    is_end = (pc.field("of_what") == "container") & (pc.field("clock") == "host") & pc.field("to_by_ts").is_valid()
    for row in inputs.rows("machine_event", ["what", "process_ids", "to_by_ts", "event_id"], is_end):
        if row["what"] in _KILLS and len(row["process_ids"]) == 1:
            found[row["process_ids"][0]].append((row["to_by_ts"], row["event_id"]))
    return found


def _container_end(ends: list[tuple[int, str]], last_ms: int | None, next_ms: int | None, apart_ms: int) -> tuple[int | None, str | None]:
    """Return the first end between a run and the next one, which is that of the first, or of one after it without lines.

    If the two are as far apart as time zones, it may be another end.
    """
    length_ms = minus(next_ms, last_ms)
    if length_ms is None or length_ms >= apart_ms:
        return None, None
    return min((end for end in ends if between(last_ms, end[0], next_ms)), default=(None, None))
