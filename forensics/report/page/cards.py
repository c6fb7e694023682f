"""Findings as cards: what happened, what to do, and the proof, folded to its three telling lines, with its picture."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from forensics.report import anchors
from forensics.report.findings import repeats, when
from forensics.report.page import spacetime
from forensics.report.page.drawing import swatch
from forensics.report.page.reference import ms
from forensics.report.words import shorten

if TYPE_CHECKING:
    from forensics.report.document import Block
    from forensics.report.model import Report, Row
    from forensics.report.page.journal import Journal, Line
    from forensics.report.page.look import Looks
    from forensics.report.page.scene import Bar, Overlap
    from forensics.report.words import Clock

_FOLDED = 3
_MOST_LINES = 60
_MOST_TITLE = 300


@dataclass(frozen=True)
class Proof:
    """A line of a proof: its number, its role, where it stands."""

    number: int
    role: str
    time: str
    line: Line
    name: str
    swatch: Markup


@dataclass(frozen=True)
class Card:
    """A finding as the page shows it.

    Attributes:
        anchor: its address.
        row: the finding.
        when: its time in words.
        proof: its lines in order of time, the telling ones in `telling`.
        telling: up to three of them.
        left_out: lines that the card does not show.
        picture: the proof in space and time, or None.
        repeats: blocks that tell when it happened again.
        groups: number of its group, for the filters.
        processes: numbers of the processes that its lines are of.
        drawn: whether the timeline has a place to show it.
    """

    anchor: str
    row: Row
    when: str
    proof: tuple[Proof, ...]
    telling: tuple[Proof, ...]
    left_out: int
    picture: Markup | None
    repeats: tuple[Block, ...]
    groups: tuple[int, ...]
    processes: tuple[int, ...]
    drawn: bool


def make(
    report: Report,
    clock: Clock,
    journal: Journal,
    looks: Looks,
    edges: Sequence[Row],
    overlaps: Iterable[Overlap],
    bars: Mapping[str, Bar],
    groups: Sequence[tuple[str, str]],
) -> list[Card]:
    """A card for each finding, in their order.

    Args:
        report: its findings.
        clock: how times are printed.
        journal: the lines of the page.
        looks: how processes look.
        edges: messages between lines of proofs.
        overlaps: those of the scene; a card that proves one draws it.
        bars: ownerships by id.
        groups: Kafka cluster and id of the scene's groups, by number.
    """
    of = {o.anchor: o for o in reversed(list(overlaps)) if o.verdict == "proved"}
    return [_card(f, clock, journal, looks, edges, of.get(anchors.finding(f["finding_id"])), bars, groups) for f in report.findings]


def _card(
    f: Row,
    clock: Clock,
    journal: Journal,
    looks: Looks,
    edges: Sequence[Row],
    overlap: Overlap | None,
    bars: Mapping[str, Bar],
    groups: Sequence[tuple[str, str]],
) -> Card:
    roles = {w["event_id"]: w.get("role") or "" for w in f["witness"]}
    times = {w["event_id"]: clock.at(w.get("ts"), "no time") for w in f["witness"]}
    numbers = journal.numbers(roles)[:_MOST_LINES]
    proof = tuple(_proof(n, journal.lines[i], roles, times, looks) for n, i in enumerate(numbers, 1))
    ids = set(roles)
    mine = [e for e in edges if e["from_event_id"] in ids and e["to_event_id"] in ids]
    points = [spacetime.Point(p.number, p.line) for p in proof]
    group = (f["kafka_cluster"] or "", f["group_id"] or "")
    processes = {p.line.process for p in proof if p.line.process >= 0} | set(overlap.processes if overlap else ())
    return Card(
        anchor=anchors.finding(f["finding_id"]),
        row=f,
        when=when(f, clock),
        proof=proof,
        telling=_telling(proof),
        left_out=len(roles) - len(proof),
        picture=spacetime.draw(points, mine, looks, overlap, bars),
        repeats=tuple(repeats(f, clock, everything=False)),
        groups=(groups.index(group),) if f["group_id"] and group in groups else (),
        processes=tuple(sorted(processes)),
        drawn=f["from_ts"] is not None,
    )


def _proof(number: int, line: Line, roles: Mapping[str, str], times: Mapping[str, str], looks: Looks) -> Proof:
    look = looks.all[line.process] if line.process >= 0 else None
    role = roles[line.event_id] or line.event
    return Proof(number, role, times[line.event_id], line, look.name if look else "?", swatch(look) if look else Markup(""))


def _telling(proof: tuple[Proof, ...]) -> tuple[Proof, ...]:
    """Three lines that tell the most: the first of each process, as far as there is room, and the last line."""
    if len(proof) <= _FOLDED:
        return proof
    firsts = list({p.line.process: p for p in reversed(proof)}.values())
    firsts.sort(key=lambda p: p.number)
    chosen = dict.fromkeys([*(p.number for p in firsts[: _FOLDED - 1]), proof[-1].number, *(p.number for p in proof)])
    kept = sorted(list(chosen)[:_FOLDED])
    return tuple(p for p in proof if p.number in kept)


def for_script(cards: Iterable[Card], journal: Journal) -> dict[str, dict[str, Any]]:
    """What the page's script needs of each card, by its anchor."""
    return {
        card.anchor: {
            "title": shorten(card.row["headline"], _MOST_TITLE),
            "lines": journal.numbers(w["event_id"] for w in card.row["witness"]),
            "from": ms(card.row["from_ts"]),
            "to": ms(card.row["to_ts"] or card.row["from_ts"]),
        }
        for card in cards
    }
