# SPDX-License-Identifier: Apache-2.0
"""Holding the verdicts of `split_brain` against the true overlaps, and the true overlaps against the verdicts."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field

from closing import longest, working_spans
from scoring import EDGE_MS, INFINITE, MISSED_MS, SEEN_MS, Clock, Row, owner_of
from truth import SAMPLE_MS, Overlap, Recording, Span, overlaps

Window = tuple[float, float, float, float]


@dataclass
class Verdicts:
    """How the rows of `split_brain` stand against the true overlaps."""

    counts: Counter[str] = field(default_factory=Counter)
    false_proved: list[str] = field(default_factory=list)
    false_refuted: list[str] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)
    unjudged: int = 0
    true_overlaps: int = 0


def true_work_on_partitions(recording: Recording) -> list[Overlap]:
    """Holdings that overlap, less frozen time, in which both consumers really consumed a batch of the partition."""
    found = []
    for held in overlaps(recording.holding_spans, recording.consumers):
        batches = recording.consumed_offsets[held.resource]
        both = all(any(held.from_ms <= at <= held.to_ms + EDGE_MS for at, _, _ in batches.get(owner, [])) for owner in (held.owner_a, held.owner_b))
        if both:
            found.append(held)
    return found


class Overlaps:
    """The true overlaps of a recording, by the kind of claim that they bear out or contradict."""

    def __init__(self, recording: Recording) -> None:
        groups = {name: w.group for name, w in recording.workers.items()}
        certain, possible = working_spans(recording)
        threads = [Span(s.owner, s.resource, s.start_ms, s.end_ms, True, s.pid) for s in recording.thread_spans]
        held, worked = overlaps(recording.holding_spans, recording.consumers), true_work_on_partitions(recording)
        #: What a `proved` of (resource kind, kind) may rest on.
        self.bears_out = {
            ("task", "thread"): overlaps(_merged(threads), groups),
            ("task", "work"): overlaps(possible, groups),
            ("partition", "held"): held,
            ("partition", "thread"): held,
            ("partition", "work"): worked,
        }
        #: What a `refuted` of that kind must not contradict, and what must not go unmentioned.
        self.must_show = self.bears_out | {("task", "work"): overlaps(certain, groups)}


def _merged(spans: list[Span]) -> list[Span]:
    """Spans of one owner, resource and pid that touch, as one: freezing does not end a thread."""
    found: list[Span] = []
    for span in sorted(spans, key=lambda s: (s.owner, s.resource, s.start_ms)):
        last = found[-1] if found else None
        if last and (last.owner, last.resource, last.pid, last.end_ms) == (span.owner, span.resource, span.pid, span.start_ms):
            found[-1] = Span(last.owner, last.resource, last.start_ms, span.end_ms, True, last.pid)
        else:
            found.append(span)
    return found


def _window(row: Row, clock: Clock) -> Window:
    process = row["process_a"]
    return (
        clock.true_ms(process, row.get("from_lo"), -INFINITE),
        clock.true_ms(process, row.get("from_hi"), INFINITE),
        clock.true_ms(process, row.get("to_lo"), -INFINITE),
        clock.true_ms(process, row.get("to_hi"), INFINITE),
    )


def score_split_brain(recording: Recording, rows: list[Row], clock: Clock) -> Verdicts:
    """Holds every verdict against the truth, and every true overlap against the verdicts."""
    result, truth = Verdicts(), Overlaps(recording)
    names = [*recording.workers, *recording.consumers]
    known = {"task"} if recording.knows_tasks else set()
    known |= {"partition"} if recording.consumers else set()
    answers: dict[tuple[str, str, str, str, str], list[tuple[str, Window]]] = defaultdict(list)
    for row in rows:
        kind, resource_kind, verdict = str(row["kind"]), str(row["resource_kind"]), str(row["verdict"])
        result.counts[f"{kind} {verdict}"] += 1
        a, b = owner_of(row["process_a"], names), owner_of(row["process_b"], names)
        if resource_kind not in known or (resource_kind, kind) not in truth.bears_out or not a or not b:
            result.unjudged += 1
            continue
        window = _window(row, clock)
        resource, (first, second) = str(row["resource"]), sorted((a, b))
        answers[resource_kind, kind, resource, first, second].append((verdict, window))
        if verdict == "proved":
            fault = _unborne(window, _of(truth.bears_out[resource_kind, kind], resource, first, second))
            if fault:
                result.false_proved.append(f"{kind} of {resource} by {first} and {second}: {fault}")
    for (resource_kind, kind), true in truth.must_show.items():
        if resource_kind in known and kind != "held" and (resource_kind, kind) != ("partition", "thread"):
            _check_shown(recording, (resource_kind, kind), true, answers, result)
    if "partition" in known:
        _check_shown(recording, ("partition", "held"), truth.must_show["partition", "held"], answers, result)
    return result


def _of(true: list[Overlap], resource: str, a: str, b: str) -> list[Overlap]:
    return [o for o in true if (o.resource, o.owner_a, o.owner_b) == (resource, a, b)]


def _unborne(window: Window, true: list[Overlap]) -> str | None:
    """Why a proof is not borne out: nothing overlaps there, or not all through the time that it calls certain."""
    from_lo, from_hi, to_lo, to_hi = window
    touching = [o for o in true if o.from_ms - SAMPLE_MS < to_hi + EDGE_MS and o.to_ms > from_lo - EDGE_MS]
    if not touching:
        return f"no true overlap then{f' (elsewhere {longest(true)} ms)' if true else ''}"
    if from_hi + EDGE_MS < to_lo - EDGE_MS and to_lo < INFINITE:
        inside = any(o.from_ms - SAMPLE_MS <= from_hi + EDGE_MS and o.to_ms + SAMPLE_MS >= to_lo - EDGE_MS for o in touching)
        if not inside:
            return f"certain for {to_lo - from_hi:.0f} ms, truly {longest(touching)} ms"
    return None


def _check_shown(
    recording: Recording,
    kinds: tuple[str, str],
    true: list[Overlap],
    answers: dict[tuple[str, str, str, str, str], list[tuple[str, Window]]],
    result: Verdicts,
) -> None:
    for overlap in true:
        if overlap.length_ms < SEEN_MS:
            continue
        result.true_overlaps += 1
        rows = answers.get((*kinds, overlap.resource, overlap.owner_a, overlap.owner_b), [])
        shown = [v for v, w in rows if v != "refuted" and overlap.from_ms < w[3] + EDGE_MS and overlap.to_ms > w[0] - EDGE_MS]
        denied = [w for v, w in rows if v == "refuted" and _covers(w, overlap)]
        at = f"{(overlap.from_ms - recording.start_ms) / 1000:.1f} s"
        what = f"{kinds[1]} of {overlap.resource} by {overlap.owner_a} and {overlap.owner_b} from {at} for {overlap.length_ms} ms"
        if denied or (not shown and any(v == "refuted" for v, _ in rows)):
            result.false_refuted.append(what)
        elif not shown and overlap.length_ms >= MISSED_MS:
            result.missed.append(what)


def _covers(window: Window, overlap: Overlap) -> bool:
    """Whether a refuted row's own window holds a whole overlap: it then says that this very time was not shared."""
    from_lo, _, _, to_hi = window
    return -INFINITE < from_lo <= overlap.from_ms and overlap.to_ms <= to_hi < INFINITE
