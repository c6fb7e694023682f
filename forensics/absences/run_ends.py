"""Gather what is known about the end of each process run: its own lines, and those of its coordinator, its controller and its next run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from forensics.absences.broker_absence import rows as broker_absence
from forensics.clocks.offsets import Clocks
from forensics.logs.events import events
from forensics.relations.by_key import ByKey, by_run
from forensics.relations.conditions import one_of
from forensics.relations.missing import greatest, minus, order, there, up_to

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs, Row

#: Process and number of the run.
Run = tuple[str, int]
_MEMBERSHIP = ["joined", "synced", "worker_assigned", "partitions_assigned", "joining", "leaving"]
_START_FAILURES = ["connect_start_failed", "herder_failed", "broker_failed"]


class RunEnds:
    """What is known about the ends of process runs, by run.

    Args:
        inputs: rows of views.
        lives: the rows of `process_life` to ask about.
    """

    def __init__(self, inputs: Inputs, lives: list[Row]) -> None:
        #: Event of a start that failed.
        self.failed: dict[Run, str] = {}
        for line in inputs.rows("fact_line", ["process_id", "instance", "event_id"], one_of("event", _START_FAILURES)):
            self.failed[_run(line)] = min(line["event_id"], self.failed.get(_run(line), line["event_id"]))
        members = inputs.rows("client_event", ["group_id", "process_id", "instance"])
        #: Before it has started, a process that is asked to stop prints nothing.
        self.started: set[Run] = {_run(row) for row in members} | {_run(row) for row in inputs.rows("process_life") if row["has_started"]}
        #: The first group of its consumers.
        self.groups: dict[Run, str] = {}
        for row in members:
            if row["group_id"] is not None:
                self.groups[_run(row)] = min(row["group_id"], self.groups.get(_run(row), row["group_id"]))
        #: For runs whose clients all left their groups, an event that shows it; None for other runs with clients.
        self.left: dict[Run, tuple[bool, str | None]] = dict(_last_lines(inputs))
        #: When its coordinator logged that it left, by its own clock at the latest, and the event.
        self.departed: dict[Run, tuple[int | None, str]] = dict(_departures(inputs))
        #: When it was removed after its last line, by its own clock at the earliest, and the event.
        self.removed: dict[Run, tuple[int, str]] = dict(_removals(inputs, lives))
        #: Event of another broker, or of its next run, that shows that a broker did not end in order.
        self.missed: dict[Run, str] = _missed(inputs, lives)


def _run(row: Row) -> Run:
    return row["process_id"], row["instance"]


def _last_lines(inputs: Inputs) -> Iterator[tuple[Run, tuple[bool, str | None]]]:
    """Yield for each run with clients whether the last line about each membership is that it left, and an event that shows it."""
    last: dict[tuple[Run, str], tuple[object, str, str]] = {}
    columns = ["process_id", "instance", "client", "at_ms", "stream_pos", "event", "event_id"]
    lines = inputs.rows("client_event", columns, one_of("event", _MEMBERSHIP))
    clients = {(_run(row), row["client"]) for row in inputs.rows("client_event", ["process_id", "instance", "client"])}
    columns[2] = "client_id"
    closed = inputs.rows("fact_line", columns, (pc.field("event") == "client_closed") & pc.field("client_id").is_valid())
    for line, client in (*((line, line["client"]) for line in lines), *((line, line["client_id"]) for line in closed)):
        key, how = (_run(line), client), "left" if line["event"] in ("leaving", "client_closed") else "in"
        entry = order([line["at_ms"], line["stream_pos"]]), how, line["event_id"]
        if key in clients:
            last[key] = max(last.get(key, entry), entry)
    of_run: defaultdict[Run, list[tuple[str, str]]] = defaultdict(list)
    for (run, _), (_, how, event_id) in last.items():
        of_run[run].append((how, event_id))
    for run, its in of_run.items():
        yield run, (all(how == "left" for how, _ in its), max((event_id for how, event_id in its if how == "left"), default=None))


def _departures(inputs: Inputs) -> Iterator[tuple[Run, tuple[int | None, str]]]:
    """Yield when coordinators logged that the members of a run left. For a worker only its own membership counts, not those of its tasks' consumers."""
    is_left = (pc.field("event") == "member_left") & pc.field("broker_id").is_valid()
    lines = ByKey(events(inputs, ["process_id", "group_id", "member_id", "ts", "event_id"], is_left), "group_id", "member_id")
    workers: defaultdict[tuple[str, str], bool] = defaultdict(bool)
    for row in inputs.rows("client_event", ["process_id", "client", "is_worker"]):
        workers[row["process_id"], row["client"]] |= row["is_worker"]
    clocks, lives = Clocks(inputs), by_run(inputs.rows("process_life"))
    found: defaultdict[Run, list[tuple[int | None, int | None, str]]] = defaultdict(list)
    for place in inputs.rows("member_place"):
        life = lives.get(_run(place))
        is_worker = workers.get((place["process_id"], place["client"]))
        if life is None or is_worker is None or (life["is_worker"] and not is_worker):
            continue
        for line in lines[place["group_id"], place["member_id"]]:
            broker = clocks.of(line["process_id"])
            own = clocks.of(place["process_id"], broker.reference_process_id) if broker is not None else None
            if broker is not None and own is not None:
                found[_run(place)].append((line["ts"], own.own_latest(broker.latest(line["ts"])), line["event_id"]))
    for run, its in found.items():
        yield run, (greatest(*(left_ms for _, left_ms, _ in its)), max(its, key=lambda line: order([line[0], line[2]]))[2])


def _removals(inputs: Inputs, lives: list[Row]) -> Iterator[tuple[Run, tuple[int, str]]]:
    """Yield removals after the last line of a run. Before earlier ones the process was paused or cut off, and came back."""
    last = {_run(life): life["last_ms"] for life in lives}
    found = defaultdict(list)
    for row in inputs.rows("removed_member"):
        if not row["was_closed"] and row["process_id"] is not None and up_to(last.get(_run(row)), row["own_lo_ms"]):
            found[_run(row)].append(row)
    for run, its in found.items():
        yield run, (max(row["own_lo_ms"] for row in its), min(its, key=lambda row: order([row["removed_hi_ms"], row["removed_id"]]))["removed_id"])


def _missed(inputs: Inputs, lives: list[Row]) -> dict[Run, str]:
    """Return evidence of a broker's end in other logs, and of its next run: a broker that did not close its logs recovers them when it starts again."""
    clocks = Clocks(inputs)
    reports = ByKey((row for row in broker_absence(inputs) if row["how"] == "reported"), "kafka_cluster", "broker_id", "reference_process_id")
    numbers = ByKey(inputs.rows("cluster_broker"), "process_id")
    unclean = ByKey(inputs.rows("fact_line", ["process_id", "instance", "event_id"], pc.field("event") == "unclean_start"), "process_id", "instance")
    found: dict[Run, str] = {}
    for life in lives:
        process_id, clock = life["process_id"], clocks.of(life["process_id"])
        if not life["is_broker"]:
            continue
        ids = [line["event_id"] for line in unclean[process_id, life["instance"] + 1]]
        if clock is not None:
            from_ms, to_ms = clock.latest(life["last_ms"]), clock.earliest(life["next_start_ms"])
            for number in numbers[process_id]:
                for row in reports[number["kafka_cluster"], number["broker_id"], clock.reference_process_id]:
                    is_after = up_to(from_ms, minus(row["from_lo_ms"], 1))
                    if row["process_id"] != process_id and is_after and up_to(row["from_hi_ms"], minus(to_ms, 1)):
                        ids.append(row["event_id"])
        if ids:
            found[_run(life)] = min(there(ids))
    return found
