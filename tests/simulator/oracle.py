# SPDX-License-Identifier: Apache-2.0
"""The truth about a simulated history, and whether the program's verdicts agree with it.

Plain Python over the simulator's own record of threads; it never sees a log line, and it shares nothing with the SQL.

What a verdict may say (true times; a tolerance of a few milliseconds for times cut to milliseconds):
- `proved`, kind thread: at some time of its window two runs of the task were there, and all through the time that it calls certain.
- `proved`, kind work: at some time of its window the spans of user code (thread begun, work not ended) overlap, and each of the two had
  a moment in that overlap at which it could run: its process was not frozen.
- `refuted`: the two runs that it is about, found by when their ownerships began, never were there together.
`held` says only what was assigned, which is no overlap: it is not judged here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from sim_worker import Run
from sim_world import START
from simulator import Simulated

SLACK_MS = 3.0
NEVER = float("inf")

Interval = tuple[float, float]
Row = dict[str, object]


def union(intervals: Iterable[Interval]) -> list[Interval]:
    """The same time as disjoint intervals in order."""
    merged: list[Interval] = []
    for start, end in sorted(i for i in intervals if i[0] < i[1]):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged


def both(a: list[Interval], b: list[Interval]) -> list[Interval]:
    """Time in both."""
    return union((max(x[0], y[0]), min(x[1], y[1])) for x in a for y in b)


def without(a: list[Interval], gone: list[Interval]) -> list[Interval]:
    """Time in `a` but not in `gone`."""
    kept = a
    for start, end in gone:
        kept = [piece for x in kept for piece in ((x[0], min(x[1], start)), (max(x[0], end), x[1])) if piece[0] < piece[1]]
    return kept


@dataclass(frozen=True)
class Shared:
    """The time that two runs of one task truly shared: threads, and user code that may have run in both."""

    task: str
    a: Run
    b: Run
    thread: tuple[Interval, ...]
    possible: tuple[Interval, ...]


class Truth:
    """The complete truth about the owners of each task in one history."""

    def __init__(self, played: Simulated) -> None:
        self.played = played
        self.frozen = {path.split("/")[0]: p.freezes for path, p in played.logs.items()}
        self.shared = [
            Shared(a.task, a, b, tuple(both(self._span(a, "thread"), self._span(b, "thread"))), tuple(self._worked(a, b)))
            for i, a in enumerate(played.runs)
            for b in played.runs[i + 1 :]
            if a.task == b.task
        ]

    def _span(self, run: Run, kind: str) -> list[Interval]:
        end = run.ended if kind == "thread" else run.possibly
        return [(run.began, self.played.until if end is None else end)]

    def _worked(self, a: Run, b: Run) -> list[Interval]:
        """Return spans of simultaneous work in which each was awake at some moment; a run that sleeps through all of them overlapped with no other."""
        spans = both(self._span(a, "possible"), self._span(b, "possible"))
        return [x for x in spans if without([x], self.frozen[a.worker]) and without([x], self.frozen[b.worker])]

    def between(self, task: str, a: str, b: str) -> list[Shared]:
        """The pairs of runs of one task in two workers (or twice in one)."""
        return [s for s in self.shared if s.task == task and {s.a.worker, s.b.worker} == {a, b}]


def _ms(at: object, unknown: float, skew_ms: float | None) -> float:
    """True milliseconds of a time by a clock that is ahead by `skew_ms`; unknown where the time or the clock is."""
    if not isinstance(at, datetime) or skew_ms is None:
        return unknown
    aware = at if at.tzinfo else at.replace(tzinfo=START.tzinfo)
    return (aware - START).total_seconds() * 1000 - skew_ms


def window(row: Row, skew_ms: float | None) -> tuple[float, float, float, float]:
    """From (earliest, latest) and to (earliest, latest) of a row, in true milliseconds; what is NULL is unbounded."""
    bounds = (("from_lo", -NEVER), ("from_hi", NEVER), ("to_lo", -NEVER), ("to_hi", NEVER))
    from_lo, from_hi, to_lo, to_hi = (_ms(row.get(name), unknown, skew_ms) for name, unknown in bounds)
    return from_lo, from_hi, to_lo, to_hi


def _touches(times: Iterable[Interval], low: float, high: float) -> bool:
    return any(start <= high + SLACK_MS and end >= low - SLACK_MS for start, end in times)


def _holds(times: Iterable[Interval], low: float, high: float) -> bool:
    return any(start <= low + SLACK_MS and end >= high - SLACK_MS for start, end in times)


def contradictions(
    truth: Truth, rows: list[Row], ownerships: dict[str, Row], worker_of: dict[str, str], reference_skew_ms: dict[str, float | None]
) -> list[str]:
    """Return the contradictions between the truth and the rows of `split_brain` of one history; empty if there are none.

    Args:
        truth: of the history.
        rows: of its group, resource_kind `task`.
        ownerships: rows of `ownership` by their id.
        worker_of: process id to worker.
        reference_skew_ms: process id to how far the clock that its times are given in is ahead of true time; None: it was set in between.
    """
    found = []
    for row in rows:
        a, b = worker_of[str(row["process_a"])], worker_of[str(row["process_b"])]
        task, kind = str(row["resource"]), str(row["kind"])
        pairs = truth.between(task, a, b)
        skew_ms = reference_skew_ms[str(row["process_a"])]
        if kind == "held":
            continue
        if row["verdict"] == "proved":
            spans = union(span for s in pairs for span in (s.thread if kind == "thread" else s.possible))
            from_lo, from_hi, to_lo, to_hi = window(row, skew_ms)
            if not _touches(spans, from_lo, to_hi):
                found.append(f"false proved {kind} of {task} by {a}, {b} [{from_lo:.0f}, {to_hi:.0f}]; truly {_words(spans)}")
            elif kind == "thread" and -NEVER < from_hi < to_lo < NEVER and not _holds(spans, from_hi, to_lo):
                found.append(f"{kind} of {task} by {a}, {b} is not certain all through [{from_hi:.0f}, {to_lo:.0f}]; truly {_words(spans)}")
        elif row["verdict"] == "refuted":
            began = [_began(ownerships[str(row[side])], reference_skew_ms) for side in ("ownership_a", "ownership_b")]
            for s in pairs:
                if _is_of(began, s) and sum(end - start for start, end in s.thread) > 2 * SLACK_MS:
                    found.append(f"false refuted {task} by {a}, {b}: truly {_words(s.thread)}")
    return found


def contradictions_whatever_the_clocks(truth: Truth, rows: list[Row], ownerships: dict[str, Row], worker_of: dict[str, str]) -> list[str]:
    """Like `contradictions`, for complete logs whose clocks were set in between: the times of a row mean nothing.

    An ownership is told by its number in its process. A verdict says by `margin_ms` which jump of a clock would undo it; one that
    a larger jump has undone said the truth.
    """
    set_by = {path.split("/")[0]: sum(abs(by) for _, by in p.steps) for path, p in truth.played.logs.items()}
    runs: dict[tuple[str, str], list[Run]] = {}
    for run in sorted(truth.played.runs, key=lambda r: r.began):
        runs.setdefault((run.worker, run.task), []).append(run)
    shared = {(id(x), id(y)): s for s in truth.shared for x, y in ((s.a, s.b), (s.b, s.a))}
    found = []
    for row in rows:
        a, b = worker_of[str(row["process_a"])], worker_of[str(row["process_b"])]
        one, other = (
            runs[w, str(row["resource"])][int(str(ownerships[str(row[side])]["instance"])) - 1]
            for w, side in ((a, "ownership_a"), (b, "ownership_b"))
        )
        s, margin_ms = shared[id(one), id(other)], row["margin_ms"]
        if row["kind"] == "held" or (margin_ms is not None and float(str(margin_ms)) <= set_by[a] + set_by[b]):
            continue
        length_ms = sum(end - start for start, end in s.thread)
        if (row["verdict"] == "proved" and length_ms == 0) or (row["verdict"] == "refuted" and length_ms > 2 * SLACK_MS):
            found.append(f"false {row['verdict']} {s.task} by {a}, {b} (margin {margin_ms} ms): truly {_words(s.thread)}")
    return found


def unmentioned(
    truth: Truth, rows: list[Row], worker_of: dict[str, str], reference_skew_ms: dict[str, float | None], at_least_ms: float
) -> list[str]:
    """True overlaps of two workers' threads, of some length, that no row proves or leaves undecided.

    Where the clocks of the two could not be joined, their row's times mean nothing together: any undecided row will do.
    """
    found = []
    for s in truth.shared:
        for start, end in s.thread:
            if s.a.worker != s.b.worker and end - start >= at_least_ms:
                shown = any(
                    row["verdict"] != "refuted"
                    and row["resource"] == s.task
                    and {worker_of[str(row["process_a"])], worker_of[str(row["process_b"])]} == {s.a.worker, s.b.worker}
                    and (
                        row.get("clock_how") in ("none", "stepped")
                        or _touches([(start, end)], *window(row, reference_skew_ms[str(row["process_a"])])[::3])
                    )
                    for row in rows
                )
                found += [] if shown else [f"{s.task} by {s.a.worker}, {s.b.worker}: {_words([(start, end)])}"]
    return found


def _began(ownership: Row, reference_skew_ms: dict[str, float | None]) -> Interval:
    skew_ms = reference_skew_ms[str(ownership["process_id"])]
    return _ms(ownership["start_lo"], -NEVER, skew_ms), _ms(ownership["start_hi"], NEVER, skew_ms)


def _is_of(began: list[Interval], s: Shared) -> bool:
    """Return True if two ownerships can only be these two runs; each run began within the bounds of its ownership."""

    def fits(bounds: Interval, run: Run) -> bool:
        return bounds[0] - SLACK_MS <= run.began <= bounds[1] + SLACK_MS

    return (fits(began[0], s.a) and fits(began[1], s.b)) or (fits(began[0], s.b) and fits(began[1], s.a))


def _words(spans: Iterable[Interval]) -> str:
    return ", ".join(f"[{start:.0f}, {end:.0f}]" for start, end in spans) or "never"
