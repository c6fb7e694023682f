# SPDX-License-Identifier: Apache-2.0
"""Holding the verdicts of `split_brain` against the true overlaps, and the true overlaps against the verdicts."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace

from closing import longest, working_spans
from scoring import EDGE_MS, INFINITE, MISSED_MS, SEEN_MS, Clock, Row, owner_of
from truth import SAMPLE_MS, Overlap, Recording, Span, overlaps

Window = tuple[float, float, float, float]


@dataclass
class Verdicts:
    """The rows of `split_brain` compared with the true overlaps."""

    counts: Counter[str] = field(default_factory=Counter)
    false_proved: list[str] = field(default_factory=list)
    false_refuted: list[str] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)
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
        self.groups = {name: w.group for name, w in recording.workers.items()} | recording.consumers
        certain, possible = working_spans(recording)
        self.certain_work = overlaps(certain, self.groups)
        self.spans = {"task": _merged(recording.thread_spans), "partition": recording.holding_spans}
        threads, held = (overlaps(self.spans[k], self.groups) for k in ("task", "partition"))
        #: What a row must show.
        self.shown = {"task": ("thread", threads), "partition": ("held", held)}
        #: A thread may have begun right after the sample before the first one that shows it.
        from_sample_before = [replace(s, start_ms=s.start_ms - SAMPLE_MS) for s in self.spans["task"]]
        #: What a `proved` of (resource kind, kind) may rest on.
        self.bears_out = {
            ("task", "thread"): overlaps(from_sample_before, self.groups),
            ("task", "work"): overlaps(possible, self.groups),
            ("partition", "held"): held,
            ("partition", "thread"): held,
            ("partition", "work"): true_work_on_partitions(recording),
        }

    def must_show(self, resource_kind: str) -> list[tuple[str, Overlap]]:
        """Return the overlaps that must not be missing: simultaneous threads and simultaneous holdings."""
        kind, found = self.shown[resource_kind]
        return [(kind, o) for o in found]


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


def score_split_brain(recording: Recording, rows: list[Row], ownerships: list[Row], clock: Clock) -> Verdicts:
    """Compare every verdict with the truth, and every true overlap with the verdicts.

    Args:
        recording: with the truth.
        rows: view `split_brain`.
        ownerships: view `ownership`, by whose ids a refuted row says which two spans it is about.
        clock: to true time.
    """
    result, truth = Verdicts(), Overlaps(recording)
    names = [*recording.workers, *recording.consumers]
    known = ({"task"} if recording.knows_tasks else set()) | ({"partition"} if recording.consumers else set())
    owned = {row.get("ownership_id"): row for row in ownerships}
    shown: list[tuple[str, str, str, str, str, Window]] = []
    for row in rows:
        kind, resource_kind, verdict, resource = (str(row[c]) for c in ("kind", "resource_kind", "verdict", "resource"))
        result.counts[f"{kind} {verdict}"] += 1
        a, b = owner_of(row["process_a"], names), owner_of(row["process_b"], names)
        if resource_kind not in known or (resource_kind, kind) not in truth.bears_out or not a or not b or a == b:
            continue
        from_lo, from_hi, to_lo, to_hi = _window(row, clock)
        if from_lo >= recording.end_ms:
            continue  # what happens then is not part of the ground truth
        window = (from_lo, from_hi, min(to_lo, recording.end_ms), to_hi)
        a, b = sorted((a, b))
        what = f"{kind} of {resource} by {a} and {b}"
        if verdict != "refuted":
            shown.append((resource_kind, kind, resource, a, b, window))
        if verdict == "proved":
            fault = _unborne(window, _of(truth.bears_out[resource_kind, kind], resource, a, b), kind, recording.late_ms)
            if fault:
                result.false_proved.append(f"{what}: {fault}")
        elif verdict == "refuted":
            pair = [owned.get(row.get(side)) for side in ("ownership_a", "ownership_b")]
            if all(pair):
                spans = _spans_of([p for p in pair if p], truth.spans[resource_kind], resource, names, clock)
                together = overlaps(spans, truth.groups)
                if kind == "work":
                    there = _of(truth.certain_work, resource, a, b)
                    together = [o for o in there if any(t.from_ms <= o.from_ms and o.to_ms <= t.to_ms for t in together)]
                if longest(together) >= SEEN_MS:
                    result.false_refuted.append(f"{what}: truly together for {longest(together)} ms")
    for resource_kind in known:
        for kind, overlap in truth.must_show(resource_kind):
            _check_shown(recording, resource_kind, kind, overlap, shown, result)
    return result


def _spans_of(pair: list[Row], spans: list[Span], resource: str, names: list[str], clock: Clock) -> list[Span]:
    """The true spans that two ownerships are about: those that began within their bounds. Nothing, when one is not found."""
    found = []
    for row in pair:
        owner = owner_of(row["process_id"], names)
        low = clock.true_ms(row["process_id"], row["start_lo"], -INFINITE) - EDGE_MS
        high = clock.true_ms(row["process_id"], row["start_hi"], INFINITE) + EDGE_MS + SAMPLE_MS
        mine = [s for s in spans if (s.owner, s.resource) == (owner, resource) and low <= s.start_ms <= high]
        if len(mine) != 1:
            return []
        found += mine
    return found


def _of(true: list[Overlap], resource: str, a: str, b: str) -> list[Overlap]:
    return [o for o in true if (o.resource, o.owner_a, o.owner_b) == (resource, a, b)]


def _unborne(window: Window, true: list[Overlap], kind: str, late_ms: int) -> str | None:
    """Return the reason why a proof is wrong: nothing overlaps there, or not during the whole time that it calls certain."""
    from_lo, from_hi, to_lo, to_hi = window
    touching = [o for o in true if o.from_ms - late_ms < to_hi + EDGE_MS and o.to_ms > from_lo - EDGE_MS]
    if not touching:
        return f"no true overlap then{f' (elsewhere {longest(true)} ms)' if true else ''}"
    # Work is certain at two signs of it; between them a process may have been frozen.
    if kind != "work" and from_hi + EDGE_MS < to_lo - EDGE_MS and to_lo < INFINITE:
        inside = any(o.from_ms - late_ms <= from_hi + EDGE_MS and o.to_ms + late_ms >= to_lo - EDGE_MS for o in touching)
        if not inside:
            return f"certain for {to_lo - from_hi:.0f} ms, truly {longest(touching)} ms"
    return None


def _check_shown(
    recording: Recording, resource_kind: str, kind: str, overlap: Overlap, shown: list[tuple[str, str, str, str, str, Window]], result: Verdicts
) -> None:
    """A true overlap is shown by a row of any kind that proves it or leaves it undecided: kinds differ in strength, not in time."""
    if overlap.length_ms >= SEEN_MS:
        result.true_overlaps += 1
    if overlap.length_ms >= MISSED_MS and not any(
        (k, r, a, b) == (resource_kind, overlap.resource, overlap.owner_a, overlap.owner_b)
        and overlap.from_ms < w[3] + EDGE_MS
        and overlap.to_ms > w[0] - EDGE_MS
        for k, _, r, a, b, w in shown
    ):
        at = f"{(overlap.from_ms - recording.start_ms) / 1000:.1f} s"
        result.missed.append(f"{kind} of {overlap.resource} by {overlap.owner_a} and {overlap.owner_b} from {at} for {overlap.length_ms} ms")
