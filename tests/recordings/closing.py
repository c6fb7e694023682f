# SPDX-License-Identifier: Apache-2.0
"""When a task that was asked to stop had provably stopped working, by a plain scan of the worker's text.

The sampler sees threads. A thread whose consumer has left its group, or whose producer is closed, is there but no longer
works; the samples cannot show that, the log can. This scan is deliberately dumb (one regular expression over the default
layout, no catalogue, no clocks but the known skew), so that it shares nothing with the program that it helps to judge.
"""

from __future__ import annotations

import gzip
import re
from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from truth import Overlap, Recording, Span

RE_LINE = re.compile(
    r"^\[(?P<ts>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3})\] \w+ .*?(?:"
    r"(?P<stopping>Stopping task (?P<t1>\S+) \()|"
    r"(?P<creating>Creating task (?P<t2>\S+) \()|"
    r"(?P<left>Member connector-consumer-(?P<t3>.+?-\d+)-[0-9a-f]{8}-[0-9a-f-]+ sending LeaveGroup)|"
    r"(?P<closed>App info kafka\.(?:producer|consumer) for connector-(?:producer|consumer)-(?P<t4>.+-\d+) unregistered)|"
    r"(?P<threw>WorkerS\w+Task\{id=(?P<t5>\S+)\} Task threw an uncaught))"
)


@dataclass(frozen=True)
class Closing:
    """One end of a task in one worker: asked to stop, then (perhaps) provably closed; true clock, milliseconds."""

    worker: str
    task: str
    asked_ms: int
    closed_ms: int | None
    again_ms: int | None


def log_text(path: Path) -> str:
    """A log's text, unpacked where it is gzipped."""
    data = path.read_bytes()
    return (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8", errors="replace")


def closings(recording: Recording) -> list[Closing]:
    """Return every stop of a task that a worker's log shows, in order, until the ground truth ends."""
    found = []
    for name, worker in recording.workers.items():
        marks: dict[str, list[tuple[int, str]]] = defaultdict(list)
        for path in sorted((recording.logs / name).glob("connect*.log*")):
            for line in log_text(path).splitlines():
                hit = RE_LINE.match(line)
                if hit:
                    local = datetime.strptime(hit["ts"], "%Y-%m-%d %H:%M:%S,%f").replace(tzinfo=UTC)
                    task = next(hit[t] for t in ("t1", "t2", "t3", "t4", "t5") if hit[t])
                    what = next(k for k in ("stopping", "creating", "left", "closed", "threw") if hit[k])
                    marks[task].append((round(local.timestamp() * 1000 - worker.skew_s * 1000), what))
        for task, seen in marks.items():
            found += _closings_of(name, task, seen)
    return [c for c in found if c.asked_ms < recording.end_ms]


def _closings_of(worker: str, task: str, seen: list[tuple[int, str]]) -> list[Closing]:
    found: list[Closing] = []
    asked: int | None = None
    closed: int | None = None
    for at, what in seen:
        if what == "creating":
            if asked is not None:
                found.append(Closing(worker, task, asked, closed, at))
            asked = closed = None
        elif what in ("stopping", "threw") and asked is None:
            asked = at
            closed = at if what == "threw" else None
        elif what in ("left", "closed") and asked is not None and closed is None:
            closed = at
    return [*found, Closing(worker, task, asked, closed, None)] if asked is not None else found


def _without(spans: list[Span], ends: list[tuple[str, str, int, int]]) -> list[Span]:
    """Spans less the given (owner, resource, from, to) times."""
    for owner, resource, start, end in ends:
        cut = []
        for span in spans:
            if (span.owner, span.resource) != (owner, resource) or span.end_ms <= start or span.start_ms >= end:
                cut.append(span)
                continue
            if span.start_ms < start:
                cut.append(Span(owner, resource, span.start_ms, start, span.running, span.pid))
            if end < span.end_ms:
                cut.append(Span(owner, resource, end, span.end_ms, span.running, span.pid))
        spans = cut
    return spans


def working_spans(recording: Recording) -> tuple[list[Span], list[Span]]:
    """Spans in which a task certainly worked (not yet asked to stop), and those in which it possibly did (not yet closed).

    Frozen time is in neither: a stopped process runs no code. It may work from the moment it is resumed, before the next sample.
    """
    stops = closings(recording)
    never = recording.end_ms + 1
    running = [s for s in recording.thread_spans if s.running]
    woken = [
        Span(s.owner, s.resource, woke, s.end_ms, True, s.pid)
        for s in recording.thread_spans
        if not s.running
        for _, woke in recording.freezes(s.owner)
        if s.start_ms < woke < s.end_ms
    ]
    certain = _without(running, [(c.worker, c.task, c.asked_ms, c.again_ms or never) for c in stops])
    possible = _without(running + woken, [(c.worker, c.task, c.closed_ms, c.again_ms or never) for c in stops if c.closed_ms is not None])
    return certain, possible


def longest(found: list[Overlap]) -> int:
    """Length of the longest of some overlaps, 0 when there is none."""
    return max((o.length_ms for o in found), default=0)
