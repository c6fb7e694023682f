"""Compute the view `process_ending`: how each process run ended that another follows in the same log."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from forensics.absences.run_ends import Run, RunEnds
from forensics.clocks.offsets import Clocks
from forensics.relations.by_key import by_run
from forensics.relations.missing import first, greatest, minus, order, there, up_to

if TYPE_CHECKING:
    from forensics.clocks.offsets import Offset
    from forensics.relations.inputs import Inputs, Row


def rows(inputs: Inputs) -> list[Row]:
    """Return the rows of the view `process_ending`."""
    # In a log with the lines of several workers, it is unknown which worker a start belongs to.
    of_workers = {row["process_id"] for row in inputs.rows("shared_log") if row["is_worker"]}
    lives = [row for row in inputs.rows("process_life") if row["last_ms"] is not None and row["process_id"] not in of_workers]
    ended = [life for life in lives if life["next_start_ms"] is not None]
    if not ended:
        return []
    ends, clocks, places = RunEnds(inputs, ended), Clocks(inputs), _Places(inputs)
    found = []
    for life in ended:
        if (clock := clocks.of(life["process_id"])) is not None:
            found.append(_ending(inputs, life, clock, ends, places))
    deployed = _deployments(found, inputs.knobs.storm_gap_ms)
    return [row | {"is_deployment": deployed.get((row["process_id"], row["instance"]))} for row in found]


class _Places:
    """The Kafka cluster and the worker's group of each run.

    Args:
        inputs: rows of `process_cluster` and `cluster_broker`.
    """

    def __init__(self, inputs: Inputs) -> None:
        self.of_run = by_run(row for row in inputs.rows("process_cluster") if row["is_life_last"])
        self.of_broker: dict[str, str] = {}
        for row in inputs.rows("cluster_broker"):
            if None not in (row["process_id"], row["kafka_cluster"]):
                self.of_broker[row["process_id"]] = max(row["kafka_cluster"], self.of_broker.get(row["process_id"], row["kafka_cluster"]))


def _ending(inputs: Inputs, life: Row, clock: Offset, ends: RunEnds, places: _Places) -> Row:
    run = life["process_id"], life["instance"]
    how = _how(life, ends, inputs.knobs.coordinator_together_ms)
    running_ms = life["last_ms"] if life["ending_id"] is None else life["ending_lo_ms"]
    last_ms = first(life["ending_ms"], life["last_ms"])
    next_lo_ms, next_hi_ms = _next_start(life, clock, running_ms)
    place = places.of_run.get(run)
    return {
        "process_id": life["process_id"],
        "instance": life["instance"],
        "is_broker": life["is_broker"],
        "is_worker": life["is_worker"],
        "kafka_cluster": first(places.of_broker.get(life["process_id"]), place["kafka_cluster"] if place is not None else None),
        "group_id": None if life["is_broker"] else first(place["worker_group_id"] if place is not None else None, ends.groups.get(run)),
        "how": how,
        "last_ms": last_ms,
        "next_ms": life["next_start_ms"],
        "from_lo_ms": clock.earliest(running_ms),
        # A member that was removed for missing heartbeats may have lost its network, and ended later.
        "from_hi_ms": clock.latest(last_ms if how in ("stopped", "failed") else next_hi_ms),
        "to_lo_ms": clock.earliest(next_lo_ms),
        "to_hi_ms": clock.latest(next_hi_ms),
        "reference_process_id": clock.reference_process_id,
        "witness": _witness(life, ends),
    }


def _how(life: Row, ends: RunEnds, together_ms: int) -> str:
    """Return how a run ended. If a process prints nothing about its end, lines may be missing."""
    run = life["process_id"], life["instance"]
    if run in ends.failed:
        return "failed"
    if life["ending_id"] is not None:
        return "stopped"
    if life["is_broker"] and run in ends.missed:
        return "died"
    if run not in ends.started:
        return "starting"
    if run in ends.removed:
        return "died"
    departed_ms, _ = ends.departed.get(run, (None, ""))
    has_left, _ = ends.left.get(run, (False, None))
    return "left" if has_left or up_to(life["last_ms"] - together_ms, departed_ms) else "unknown"


def _witness(life: Row, ends: RunEnds) -> list[str]:
    """Return the events that show how a run ended, and its next start."""
    run = life["process_id"], life["instance"]
    own = first(ends.failed.get(run), life["ending_id"])
    if life["ending_id"] is not None:
        return there([own, life["next_start_id"]])
    _, removed = ends.removed.get(run, (None, None))
    _, departed = ends.departed.get(run, (None, None))
    _, left = ends.left.get(run, (False, None))
    return there([own, ends.missed.get(run), removed, first(departed, left), life["next_start_id"]])


def _next_start(life: Row, clock: Offset, running_ms: int | None) -> tuple[int | None, int | None]:
    """Return when the next run began, by the clock of this one, at the earliest and at the latest.

    The reference's own clock may have been set after a line of this run or an earlier one, and before a line of a later one, so perhaps while it was down.
    Between its own lines and another clock the bounds of the offset already allow for a clock step.
    """
    at_ms, pos = life["next_start_ms"], life["next_start_pos"]
    step = clock.step if clock.reference_process_id == life["process_id"] else None
    places = (step or {}).get("places") or ()
    steps = [place["hi_ms"] for place in places if place["before_pos"] < pos <= place["after_pos"]]
    if not steps:
        return at_ms, at_ms
    set_by_ms = max(*steps, 0) if None not in steps else None
    return greatest(minus(at_ms, set_by_ms), running_ms), None


def _deployments(endings: Sequence[Row], gap_ms: int) -> dict[Run, bool]:
    """Return for each clean restart whether other processes of the group, or other brokers, restarted before or after it."""
    restarts = defaultdict(list)
    for row in endings:
        if row["how"] in ("stopped", "left") and row["from_lo_ms"] is not None and (row["is_broker"] or row["group_id"] is not None):
            restarts[row["kafka_cluster"], row["is_broker"], row["group_id"]].append(row)
    found: dict[Run, bool] = {}
    for its in restarts.values():
        series: list[list[Row]] = []
        previous_ms = None
        for row in sorted(its, key=lambda row: order([row["from_lo_ms"], row["process_id"], row["instance"]])):
            if previous_ms is None or row["from_lo_ms"] - previous_ms > gap_ms:
                series.append([])
            series[-1].append(row)
            previous_ms = row["to_hi_ms"]
        for part in series:
            is_deployment = len({row["process_id"] for row in part}) > 1
            found |= {(row["process_id"], row["instance"]): is_deployment for row in part}
    return found
