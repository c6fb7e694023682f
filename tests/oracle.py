# SPDX-License-Identifier: Apache-2.0
"""What is true of a played history, and whether the program's verdicts can stand beside it.

Plain Python over the simulator's own record of threads; it never sees a log line, and it shares nothing with the SQL.

What a verdict may say (true times; a tolerance of a few milliseconds for times cut to milliseconds):
- `proved`, kind thread: at some time of its window both workers had a thread of the task, and all through the time that it calls certain.
- `proved`, kind work: at some time of its window user code could run in both: thread begun, not closed, process not frozen.
- `refuted`: no time that both shared is answered by this alone, and none lies inside its own window.
`held` says only what was assigned, which is no overlap: it is not judged here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

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
    """The time that two workers truly shared a task."""

    task: str
    a: str
    b: str
    thread: tuple[Interval, ...]
    possible: tuple[Interval, ...]
    certain: tuple[Interval, ...]


class Truth:
    """All that is true about who shared which task of one history."""

    def __init__(self, played: Simulated) -> None:
        self.played = played
        self.skew_ms = {path.split("/")[0]: p.skew_ms for path, p in played.logs.items()}
        frozen = {path.split("/")[0]: p.freezes for path, p in played.logs.items()}
        spans: dict[str, dict[tuple[str, str], list[Interval]]] = {k: defaultdict(list) for k in ("thread", "possible", "certain")}
        for run in played.runs:
            key = (run.worker, run.task)
            for kind, end in (("thread", run.ended), ("possible", run.possibly), ("certain", run.surely)):
                spans[kind][key].append((run.began, played.until if end is None else end))
        self.spans = {
            kind: {key: union(intervals) if kind == "thread" else without(union(intervals), frozen[key[0]]) for key, intervals in by_key.items()}
            for kind, by_key in spans.items()
        }

    def shared(self) -> list[Shared]:
        """Each pair of workers and task of which both ever had a thread, with the time that they shared (perhaps none)."""
        found = []
        keys = sorted(self.spans["thread"], key=lambda k: (k[1], k[0]))
        for i, (a, task) in enumerate(keys):
            for b, other in keys[i + 1 :]:
                if task == other:
                    times = {k: tuple(both(self.spans[k][a, task], self.spans[k][b, task])) for k in self.spans}
                    found.append(Shared(task, a, b, times["thread"], times["possible"], times["certain"]))
        return found


def _ms(at: object, unknown: float, skew_ms: float) -> float:
    if not isinstance(at, datetime):
        return unknown
    aware = at if at.tzinfo else at.replace(tzinfo=START.tzinfo)
    return (aware - START).total_seconds() * 1000 - skew_ms


def window(row: Row, skew_ms: float) -> tuple[float, float, float, float]:
    """From (earliest, latest) and to (earliest, latest) of a row, in true milliseconds; what is NULL is unbounded."""
    bounds = (("from_lo", -NEVER), ("from_hi", NEVER), ("to_lo", -NEVER), ("to_hi", NEVER))
    from_lo, from_hi, to_lo, to_hi = (_ms(row.get(name), unknown, skew_ms) for name, unknown in bounds)
    return from_lo, from_hi, to_lo, to_hi


def _touches(times: Iterable[Interval], low: float, high: float) -> bool:
    return any(start <= high + SLACK_MS and end >= low - SLACK_MS for start, end in times)


def _holds(times: Iterable[Interval], low: float, high: float) -> bool:
    return any(start <= low + SLACK_MS and end >= high - SLACK_MS for start, end in times)


def contradictions(truth: Truth, rows: list[Row], worker_of: dict[str, str], reference_skew_ms: dict[str, float]) -> list[str]:
    """What the truth says against rows of `split_brain` of one history; empty when nothing.

    Args:
        truth: of the history.
        rows: of its group, resource_kind `task`.
        worker_of: process id to worker.
        reference_skew_ms: process id to how far the clock that its times are given in is ahead of true time.
    """
    found = []
    shared = {(s.task, s.a, s.b): s for s in truth.shared()}
    answers: dict[tuple[str, str, str, str], list[tuple[str, tuple[float, float, float, float]]]] = defaultdict(list)
    for row in rows:
        a, b = sorted((worker_of[str(row["process_a"])], worker_of[str(row["process_b"])]))
        task, kind, verdict = str(row["resource"]), str(row["kind"]), str(row["verdict"])
        if kind == "held" or a == b:
            continue
        times = window(row, reference_skew_ms[str(row["process_a"])])
        answers[task, a, b, kind].append((verdict, times))
        true = shared.get((task, a, b))
        if verdict == "proved":
            spans = () if true is None else true.thread if kind == "thread" else true.possible
            from_lo, from_hi, to_lo, to_hi = times
            if not _touches(spans, from_lo, to_hi):
                found.append(f"false proved {kind} of {task} by {a}, {b} [{from_lo:.0f}, {to_hi:.0f}]; truly {_words(spans)}")
            elif kind == "thread" and -NEVER < from_hi < to_lo < NEVER and not _holds(spans, from_hi, to_lo):
                found.append(f"{kind} of {task} by {a}, {b} is not certain all through [{from_hi:.0f}, {to_lo:.0f}]; truly {_words(spans)}")
    for (task, a, b), true in shared.items():
        for kind, spans in (("thread", true.thread), ("work", true.certain)):
            rows_of = answers.get((task, a, b, kind), [])
            for start, end in spans:
                if end - start > 2 * SLACK_MS and rows_of:
                    shown = any(v != "refuted" and start <= w[3] + SLACK_MS and end >= w[0] - SLACK_MS for v, w in rows_of)
                    inside = any(v == "refuted" and -NEVER < w[0] <= start and end <= w[3] < NEVER for v, w in rows_of)
                    if inside or not shown:
                        found.append(f"false refuted {kind} of {task} by {a}, {b}: truly {_words([(start, end)])}")
    return found


def _words(spans: Iterable[Interval]) -> str:
    return ", ".join(f"[{start:.0f}, {end:.0f}]" for start, end in spans) or "never"
