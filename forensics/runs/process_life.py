"""Compute the view `process_life`: each run of a process, from its first to its last line, and how it ended."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from forensics.logs.instances import Instances
from forensics.logs.lines import line_table
from forensics.logs.time_zones import Owners, unsure_zones
from forensics.relations.missing import between, first, greatest, least, minus, order, up_to
from forensics.runs.run_facts import Run, RunFacts, run_facts
from forensics.runs.setbacks import setbacks

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs, Row

_KILLS = ("oom_killed", "killed", "exited")
#: When a container was started, and the first line of the run that it began.
_STARTS = (("started_ts", "start_ms"), ("restarted_ts", "next_start_ms"))
_NONE = RunFacts()


def rows(inputs: Inputs) -> list[Row]:
    """Return the rows of the view `process_life`."""
    spans, facts, starts = _spans(inputs), run_facts(inputs), _Starts(inputs)
    brokers = {process_id for (process_id, _), its in facts.items() if its.is_broker}
    workers = {process_id for (process_id, _), its in facts.items() if its.is_worker}
    main = {process_id for (process_id, _), its in facts.items() if its.is_main}
    ranges, set_back, ends = _ranges(inputs), setbacks(inputs), _ContainerEnds(inputs, main)
    begun: set[str] = set()
    found: list[Row] = []
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
            before_ms = starts.silent_since(process_id, next_ms)
            printed_ms = greatest(last_ms, before_ms)
            last_ms = greatest(first(own.last_work_ms, last_ms), before_ms if own.is_broker else None)
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
                "is_main": process_id in main,
                "has_started": own.has_started,
                "setbacks": set_back.get(run),
                "end_ms": None,
                "end_id": None,
            }
        )
        if next_ms is not None:
            ends.see(found[-1], printed_ms)
        begun.add(process_id)
    for row in found:
        row["end_ms"], row["end_id"] = ends.of(row)
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


class _ContainerEnds:
    """The ends of containers, each with its only process, and the runs of processes that another one follows.

    Args:
        inputs: rows of `machine_event`, `evidence_file` and `event_row`.
        main: the processes that are workers or clients, or main logs of brokers.
    """

    def __init__(self, inputs: Inputs, main: Collection[str]) -> None:
        self._step_ms = inputs.knobs.zone_step_ms
        self._start_ms = inputs.knobs.container_start_ms
        self._ends: defaultdict[str, list[Row]] = defaultdict(list)
        is_end = (pc.field("of_what") == "container") & (pc.field("clock") == "host") & pc.field("to_by_ts").is_valid()
        columns = ["what", "process_ids", "to_ts", "to_by_ts", "started_ts", "restarted_ts", "event_id"]
        owners = Owners(inputs, main)
        for row in inputs.rows("machine_event", columns, is_end):
            if row["what"] in _KILLS and len(its := owners.of(row)) == 1:
                self._ends[its[0]].append(row)
        self._unsure_zone = unsure_zones(inputs, owners) if self._ends else set()
        self._runs: defaultdict[str, list[tuple[Row, int | None]]] = defaultdict(list)

    def see(self, run: Row, printed_ms: int | None) -> None:
        """Note a run of a process, and the time of the last line before the next one."""
        self._runs[run["process_id"]].append((run, printed_ms))

    def of(self, run: Row) -> tuple[int | None, str | None]:
        """Return when the container of a run had ended at the latest, before the next run began, and the row that shows it."""
        process_id = run["process_id"]
        printed_ms = next((at_ms for it, at_ms in self._runs[process_id] if it is run), None)
        found = [end for end in self._ends[process_id] if self._is_of(end, run, printed_ms, 0) and self._is_in_zone(end, run)]
        return min(((end["to_by_ts"], end["event_id"]) for end in found), default=(None, None))

    def _is_of(self, end: Row, run: Row, printed_ms: int | None, ahead_ms: int) -> bool:
        """Return True if a container, by a clock that is ahead by this, ended between the last line of a run and the first one of the next.

        A line after its end, or one before it had been started, is that of another container. If the two lines are as far apart as time zones, it may be
        another end.
        """
        last_ms, next_ms, end_ms = run["last_ms"], run["next_start_ms"], end["to_by_ts"] + ahead_ms
        length_ms = minus(next_ms, last_ms)
        if length_ms is None or length_ms >= self._step_ms or not between(greatest(last_ms, printed_ms), end_ms, next_ms):
            return False
        return all(end[start] is None or up_to(end[start] + ahead_ms, run[line]) for start, line in (("started_ts", "first_ms"), _STARTS[1]))

    def _is_in_zone(self, end: Row, run: Row) -> bool:
        """Return True if the clock of a container is that of the log of a run.

        If nothing shows the time zone of the log, the container must have been started right before the first line of this run, or of the next. With
        another zone, no other run may fit as well.
        """
        if run["process_id"] not in self._unsure_zone:
            return True
        if not any(self._begins(end[start], run[line], 0) for start, line in _STARTS):
            return False
        for other, printed_ms in self._runs[run["process_id"]]:
            for start, line in _STARTS:
                ahead_ms = round((minus(other[line], end[start]) or 0) / self._step_ms) * self._step_ms
                if (
                    other is not run
                    and ahead_ms
                    and self._begins(end[start], other[line], ahead_ms)
                    and self._is_of(end, other, printed_ms, ahead_ms)
                ):
                    return False
        return True

    def _begins(self, started_ms: int | None, line_ms: int | None, ahead_ms: int) -> bool:
        late_ms = minus(line_ms, started_ms)
        return late_ms is not None and 0 <= late_ms - ahead_ms <= self._start_ms
