# SPDX-License-Identifier: Apache-2.0
"""Comparing the views of a case with what was really so. Pure functions over rows; nothing here reads files.

Rows are plain dictionaries with the column names of the views; times are `datetime` on the case's reference clock.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from dump_offsets import StoredGeneration
from truth import SAMPLE_MS, Recording

#: A sample shows a change up to this long after it happened, so nothing closer to an edge can be called wrong.
EDGE_MS = 250
#: Bounds wider than this say too little about the point between them, unless no log could show more.
WIDE_MS = 2_000
#: Two samples: a shorter overlap may be an artefact of sampling the processes one after the other.
SEEN_MS = 2 * SAMPLE_MS
#: An overlap as long as this must not go unmentioned.
MISSED_MS = 1_000

Row = dict[str, object]
INFINITE = 1 << 62
#: What the view says of a point, by what is wrong with it.
_SAID = {
    "wide": "the bounds of `ownership` are too wide to show that",
    "owned": "`ownership` says that it had one",
    "not owned": "`ownership` says that it had none",
}


@dataclass
class Score:
    """The result of one comparison; `wrong` contains sentences for a person to check."""

    right: int = 0
    total: int = 0
    unknowable: int = 0
    wrong: list[str] = field(default_factory=list)

    @property
    def percent(self) -> float | None:
        """Share that is right, in percent; None when nothing could be compared."""
        return 100.0 * self.right / self.total if self.total else None


def owner_of(process_id: object, names: Iterable[str]) -> str | None:
    """The worker or consumer whose directory a process id names (`w1/connect.log` is `w1`)."""
    parts = re.split(r"[/#]", str(process_id or ""))
    return next((n for n in names if n in parts), None)


class Clock:
    """Convert times on the reference clock of a process's island to true milliseconds.

    The host of a broker keeps true time; a worker's clock is ahead by its skew.
    """

    def __init__(self, recording: Recording, processes: list[Row]) -> None:
        self._skew_ms: dict[str, float] = {}
        for row in processes:
            reference = owner_of(row.get("reference_process_id") or row.get("process_id"), recording.workers)
            self._skew_ms[str(row["process_id"])] = recording.workers[reference].skew_s * 1000 if reference else 0.0

    def true_ms(self, process_id: object, at: object, unknown: int) -> float:
        """A view's time for a process as true milliseconds; `unknown` where the view has NULL."""
        if not isinstance(at, datetime):
            return unknown
        aware = at if at.tzinfo else at.replace(tzinfo=UTC)
        return aware.timestamp() * 1000 - self._skew_ms.get(str(process_id), 0.0)


def score_generations(stored: list[StoredGeneration], rows: list[Row], printed: set[tuple[str, int]] | None = None) -> Score:
    """Recall of generations, and whether leader and number of members agree.

    Args:
        stored: what the coordinator stored.
        rows: view `generation`.
        printed: when brokers' logs are withheld, the (group, generation) that some present log prints: only those count.
    """
    score = Score()
    truth: dict[tuple[str, int], list[StoredGeneration]] = defaultdict(list)
    for one in stored:
        truth[one.group, one.generation].append(one)
    found: dict[tuple[object, object], list[Row]] = defaultdict(list)
    for row in rows:
        found[row["group_id"], row["generation"]].append(row)
    for key, states in sorted(truth.items()):
        if printed is not None and key not in printed:
            continue
        score.total += 1
        group, number = key
        seen = found.get(key, [])
        if not seen:
            score.wrong.append(f"{group} generation {number}: not found")
            continue
        score.right += 1
        leaders = {s.leader for s in states if s.leader}
        if leaders and not any(r.get("leader_member_id") in leaders for r in seen):
            known = [r.get("leader_member_id") for r in seen if r.get("leader_member_id")]
            # Without the brokers' logs, only the leader may have logged who leads: an unknown leader is not an error.
            if known or printed is None:
                score.wrong.append(f"{group} generation {number}: leader {known or 'unknown'}, stored {sorted(leaders)}")
        counts = {len(s.members) for s in states}
        if not any(r.get("member_count") in counts for r in seen):
            said = [r.get("member_count") for r in seen if r.get("member_count") is not None]
            if said or printed is None:
                score.wrong.append(f"{group} generation {number}: {said or 'no'} members, stored {sorted(counts)}")
    return score


def _alive_unknowable(recording: Recording) -> dict[str, list[tuple[int, int]]]:
    """Return the times at which a process was frozen, or killed and not yet restarted: no log can distinguish these."""
    spans: dict[str, list[tuple[int, int]]] = defaultdict(list)
    killed = {(d["worker"], d["t_ms"]) for d in recording.deeds if d["did"] == "worker killed"}
    for line, until in recording.stretches():
        name = line["worker"]
        dead = line["state"] == "gone" and any(w == name and abs(t - line["t_ms"]) < MISSED_MS for w, t in killed)
        if dead or line["state"] == "stopped":
            spans[name].append((line["t_ms"], until))
    for name, at in killed:
        # Between the signal and the sampler's next look the threads disappear one by one.
        spans[name].append((at, at + MISSED_MS))
    return spans


def bounds_of(row: Row, clock: Clock) -> tuple[float, float, float, float]:
    """Return the bounds of a row's start and of its end as true milliseconds; where an inner bound is unknown, it is the outer one."""
    p = row["process_id"]
    start_lo, stop_hi = clock.true_ms(p, row["start_lo"], -INFINITE), clock.true_ms(p, row["stop_hi"], INFINITE)
    return start_lo, clock.true_ms(p, row["start_hi"], int(start_lo)), clock.true_ms(p, row["stop_lo"], int(stop_hi)), stop_hi


def score_ownership(recording: Recording, rows: list[Row], clock: Clock) -> Score:
    """Compare every sampled point (time, worker, task) with the ownerships of the case."""
    bounds = _bounds_by_owner(rows, "task", recording.workers, clock)
    dark = _alive_unknowable(recording)

    def is_unknowable(at: int, worker: str, verdict: str) -> bool:
        return verdict == "wide" and any(a - EDGE_MS <= at < b for a, b in dark[worker])

    def truth(worker: str, task: str, exists: bool) -> str:
        return f"{task} on {worker} {'had a thread' if exists else 'had no thread'}"

    return _score_points(recording.grid(), bounds, is_unknowable, truth)


def score_holdings(recording: Recording, rows: list[Row], clock: Clock) -> Score:
    """Compare every sampled point (time, consumer, partition) with the ownerships of the case.

    Nothing is expected of a frozen or dead process: no log can distinguish the two, and what a killed process held ends when its group lost it.
    """
    bounds = _bounds_by_owner(rows, "partition", recording.consumers, clock)
    dark = {owner: recording.freezes(owner) + recording.dead(owner) for owner in recording.consumers}

    def is_unknowable(at: int, owner: str, verdict: str) -> bool:
        return verdict != "right" and any(a - EDGE_MS <= at < b + EDGE_MS for a, b in dark[owner])

    def truth(owner: str, partition: str, held: bool) -> str:
        return f"{owner} {'held' if held else 'did not hold'} {partition}"

    return _score_points(recording.holding_grid(), bounds, is_unknowable, truth)


Bounds = tuple[float, float, float, float]


def _bounds_by_owner(rows: list[Row], kind: str, names: Collection[str], clock: Clock) -> dict[tuple[str, str], list[Bounds]]:
    """Return the bounds of all ownerships of a kind, by owner and resource."""
    bounds: dict[tuple[str, str], list[Bounds]] = defaultdict(list)
    for row in rows:
        owner = owner_of(row["process_id"], names)
        if row["resource_kind"] == kind and owner:
            bounds[owner, str(row["resource"])].append(bounds_of(row, clock))
    return bounds


def _score_points(
    points: Iterable[tuple[int, str, str, bool]],
    bounds: Mapping[tuple[str, str], list[Bounds]],
    is_unknowable: Callable[[int, str, str], bool],
    truth: Callable[[str, str, bool], str],
) -> Score:
    """Compare points (time, owner, resource, whether it was owned) with the bounds of ownerships; `truth` puts one that is wrong in words."""
    score, faults = Score(), Counter[str]()
    for at, owner, resource, exists in points:
        verdict = judge_point(at, exists, bounds.get((owner, resource), []))
        if is_unknowable(at, owner, verdict):
            score.unknowable += 1
            continue
        score.total += 1
        if verdict == "right":
            score.right += 1
        else:
            faults[f"{truth(owner, resource, exists)}, but {_SAID[verdict]}"] += 1
    score.wrong = [f"{what} ({n * SAMPLE_MS / 1000:.1f} s)" for what, n in faults.most_common()]
    return score


def judge_point(at: int, exists: bool, bounds: list[tuple[float, float, float, float]], edge_ms: int = EDGE_MS) -> str:
    """`right`, or what is wrong with one point: `not owned`, `owned`, or `wide` bounds."""
    near = any(abs(at - edge) <= edge_ms for four in bounds for edge in four)
    if any(start_hi <= at <= stop_lo for _, start_hi, stop_lo, _ in bounds):
        return "right" if exists or near else "owned"
    around = [four for four in bounds if four[0] <= at <= four[3]]
    if not around:
        return "right" if not exists or near else "not owned"
    widths = [(hi - lo) for start_lo, start_hi, stop_lo, stop_hi in around for lo, hi in ((start_lo, start_hi), (stop_lo, stop_hi)) if lo <= at <= hi]
    return "right" if near or (widths and max(widths) <= WIDE_MS) else "wide"


def score_clocks(recording: Recording, rows: list[Row]) -> tuple[Score, float | None]:
    """Return whether the bounds of `clock_offset` contain the true skew of every worker, and the widest bounds in milliseconds."""
    score, widest = Score(), None
    if not recording.workers:
        return score, widest
    for row in rows:
        skews = []
        for process in (row["process_id"], row["reference_process_id"]):
            name = owner_of(process, recording.workers)
            skews.append(recording.workers[name].skew_s * 1000 if name else 0.0)
        if row["process_id"] == row["reference_process_id"] or (row.get("lo_ms") is None and row.get("hi_ms") is None):
            continue
        lo = float(row["lo_ms"]) if row.get("lo_ms") is not None else float("-inf")  # type: ignore[arg-type]
        hi = float(row["hi_ms"]) if row.get("hi_ms") is not None else float("inf")  # type: ignore[arg-type]
        score.total += 1
        if lo <= skews[0] - skews[1] <= hi:
            score.right += 1
        else:
            score.wrong.append(f"{row['process_id']} against {row['reference_process_id']}: [{lo:g}, {hi:g}] ms, truly {skews[0] - skews[1]:g}")
        widest = max(widest or 0.0, hi - lo)
    return score, widest
