"""Convert pairs of owners to overlaps with their layers: both certainly working, both certainly there, possible."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from forensics.clocks.reference import ms
from forensics.report import anchors
from forensics.report.page.lanes import key_of
from forensics.report.page.scene import Bar, Overlap, Span
from forensics.wording.formats import span

if TYPE_CHECKING:
    from forensics.report.model import Report, Row
    from forensics.report.page.lanes import Key
    from forensics.report.page.process_style import ProcessStyles


def find(report: Report, styles: ProcessStyles, bars: Mapping[str, Bar], place: Mapping[Key, tuple[int, int]], last: float) -> tuple[Overlap, ...]:
    """Return all overlaps that are not refuted, the certain ones first.

    Args:
        report: the report with `split_brain`, and the findings whose cards describe overlaps.
        styles: numbers of the owners.
        bars: the selected ownerships by ID.
        place: row and lane of each resource.
        last: end of an overlap without an end.
    """
    anchor_of = _findings(report)
    drawn = []
    for s in report.split_brain:
        if s["verdict"] == "refuted":
            continue
        ids = tuple(w["event_id"] for w in s.get("witness") or ())
        possible, certain = _possible(s, last), _certain(s)
        a, b = bars.get(s["ownership_a"]), bars.get(s["ownership_b"])
        work = certain if s["kind"] == "work" else None
        there = _both(a, b) if work or s["verdict"] == "proved" else None
        if s["kind"] != "work":
            there = there or certain
        row, lane = place[key_of(s)]
        drawn.append(
            Overlap(
                row=row,
                lane=lane,
                verdict=s["verdict"],
                kind=s["kind"],
                possible=_around(possible, there, work),
                there=there,
                work=work,
                label=_label(s),
                short=_short(s),
                least=_least(s),
                working=(s["certain_ms"] or 0) if s["verdict"] == "proved" and s["kind"] == "work" else 0,
                most=None,
                anchor=anchor_of.get(ids, anchors.overlap(s)) if ids else anchors.overlap(s),
                owners=(s["ownership_a"], s["ownership_b"]),
                processes=(styles.number(s["process_a"]), styles.number(s["process_b"])),
                witness=ids,
            )
        )
    return tuple(sorted(drawn, key=lambda o: (o.verdict != "proved", o.work is None, o.row, o.possible)))


def without_owner(report: Report, bars: Mapping[str, Bar], place: Mapping[Key, tuple[int, int]], last: float) -> Iterator[Overlap]:
    """Yield the periods in which a resource had no owner, or perhaps none, because of an incident; arguments as for `find`."""
    for gap in report.incident_gaps:
        begin, end = ms(gap["from_ts"]), ms(gap["to_ts"])
        if gap["double_work_ms"] is not None or begin is None or key_of(gap) not in place or not (gap["unowned_ms"] or gap["unowned_hi_ms"]):
            continue
        before = bars.get(gap.get("id") or "")
        limit = f"for up to {span(gap['unowned_hi_ms'], up=True)}" if gap["unowned_hi_ms"] is not None else "for an unknown time"
        least = span(gap["unowned_ms"], up=False) if gap["unowned_ms"] else ""
        yield Overlap(
            row=place[key_of(gap)][0],
            lane=0,
            verdict="proved" if least else "undecided",
            kind="none",
            possible=(begin, max(begin, end if end is not None else last)),
            there=None,
            work=None,
            label=f"no owner for at least {least}; possible: {limit}" if least else f"possibly no owner, {limit}",
            short=f"no owner {least}" if least else "possibly no owner",
            least=gap["unowned_ms"] or 0,
            working=0,
            most=gap["unowned_hi_ms"],
            anchor=anchors.absence(gap),
            owners=(),
            processes=(),
            witness=before.witness if before else (),
        )


def _label(s: Row) -> str:
    """Return what is proved and what is possible in an overlap, in words."""
    limit = f"for up to {span(s['possible_ms'], up=True)}" if s["possible_ms"] is not None else "for an unknown time"
    if s["verdict"] != "proved":
        return f"not proved; possible: two owners {limit}"
    if s["kind"] == "work":
        there = f"two owners for at least {span(s.get('there_certain_ms'), up=False)}"
        # Both showed work while both existed, perhaps not at the same moment.
        working = f"both working for at least {span(s['certain_ms'], up=False)}" if s["certain_ms"] else "each of which did work in that time"
        return f"proved: {there}, {working}; possible: both working {limit}"
    both = "both held it" if s["kind"] == "held" else "two owners"
    return f"proved: {both} for at least {span(s['certain_ms'], up=False)}; possible: {limit}"


def _short(s: Row) -> str:
    if s["verdict"] != "proved":
        return "undecided"
    if s["kind"] == "work":
        return f"both working {span(s['certain_ms'], up=False)}" if s["certain_ms"] else f"overlap {span(s.get('there_certain_ms'), up=False)}"
    return f"{'both holding' if s['kind'] == 'held' else 'overlap'} {span(s['certain_ms'], up=False)}"


def _least(s: Row) -> float:
    """Return how long both certainly existed, in milliseconds."""
    if s["verdict"] != "proved":
        return 0
    return (s.get("there_certain_ms") if s["kind"] == "work" else s["certain_ms"]) or 0


def _findings(report: Report) -> dict[tuple[str, ...], str]:
    """Return the card of a proof, by the proof's lines."""
    return {tuple(w["event_id"] for w in f["witness"]): anchors.finding(f["finding_id"]) for f in reversed(report.findings) if f["witness"]}


def _possible(s: Row, last: float) -> Span:
    begin = ms(s["from_lo"]) if s["from_lo"] else ms(s["from_hi"])
    end = ms(s["to_hi"]) if s["to_hi"] else last
    begin = begin if begin is not None else last
    end = end if end is not None else begin
    return (begin, max(begin, end))


def _certain(s: Row) -> Span | None:
    """Return the certain time; a moment in the middle if the bounds of two clocks are wider than what the lines prove."""
    if s["verdict"] != "proved" or not s["certain_ms"]:
        return None
    begin, end = ms(s["from_hi"]), ms(s["to_lo"])
    if begin is None or end is None:
        return None
    return (begin, end) if begin < end else ((begin + end) / 2, (begin + end) / 2)


def _both(a: Bar | None, b: Bar | None) -> Span | None:
    if a is None or b is None:
        return None
    begin, end = max(a.start_hi, b.start_hi), min(a.stop_lo, b.stop_lo)
    return (begin, end) if begin < end else None


def _around(possible: Span, *layers: Span | None) -> Span:
    """Widen the possible time so that it contains every layer."""
    known = [layer for layer in layers if layer is not None]
    return (min([possible[0], *(x[0] for x in known)]), max([possible[1], *(x[1] for x in known)]))
