"""Compose findings as cards: what happened, what to do, and the proof, folded to its three most important lines, with its picture."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from forensics.clocks.reference import ms
from forensics.report import anchors
from forensics.report.findings import repeats, when
from forensics.report.incidents import Effect, began, by_incident, causes, effects, is_among_findings
from forensics.report.page import spacetime
from forensics.report.page.drawing import swatch
from forensics.report.proof import Proofs, displayed_role, key_lines
from forensics.wording.formats import SEVERITIES, shorten

if TYPE_CHECKING:
    from forensics.report.document import Block
    from forensics.report.model import Report, Row
    from forensics.report.page.journal import Journal, Line
    from forensics.report.page.process_style import ProcessStyles
    from forensics.report.page.scene import Bar, Overlap
    from forensics.wording.formats import Clock

_FAR_MS = 1000
#: Maximum number of findings of one rule that are shown; one more is also shown, because it takes no more space than its mention.
_IN_FULL = 2
_MAX_LINES = 60
_MAX_TITLE = 300


@dataclass(frozen=True)
class Proof:
    """A line of a proof: its number, its role, its place."""

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
        proof: its lines in time order, the most important ones in `key_lines`.
        key_lines: up to three of them.
        left_out: lines that the card does not show.
        picture: the proof in space and time, or None.
        repeats: blocks that show when it happened again.
        groups: number of its group, for the filters.
        processes: numbers of the processes of its lines.
        drawn: True if the timeline can show it.
        cause: its cause, in words, and the address of the cause's card; None if it is unknown.
        advised: the preceding card or incident with the same advice; empty if there is none.
        nested: True if it is folded below the card of its cause.
    """

    anchor: str
    row: Row
    when: str
    proof: tuple[Proof, ...]
    key_lines: tuple[Proof, ...]
    left_out: int
    picture: Markup | None
    repeats: tuple[Block, ...]
    groups: tuple[int, ...]
    processes: tuple[int, ...]
    drawn: bool
    cause: tuple[str, str] | None = None
    advised: str = ""
    nested: bool = False


def make(
    report: Report,
    clock: Clock,
    journal: Journal,
    styles: ProcessStyles,
    edges: Sequence[Row],
    overlaps: Iterable[Overlap],
    bars: Mapping[str, Bar],
    groups: Sequence[tuple[str, str]],
) -> list[Card]:
    """Return a card for each finding, in their order.

    Args:
        report: the report with the findings.
        clock: formats times.
        journal: the lines of the page.
        styles: the styles of processes.
        edges: messages between lines of proofs.
        overlaps: overlaps of the scene; a card that proves one draws it.
        bars: ownerships by ID.
        groups: Kafka cluster and ID of the scene's groups, by number.
    """
    of = {o.anchor: o for o in reversed(list(overlaps)) if o.verdict == "proved"}
    numbers = {group: n for n, group in enumerate(groups)}
    sent: dict[str, list[tuple[int, Row]]] = {}
    for n, edge in enumerate(edges):
        sent.setdefault(edge["from_event_id"], []).append((n, edge))
    made = [_card(f, clock, journal, styles, sent, of.get(anchors.finding(f["finding_id"])), bars, numbers) for f in report.findings]
    caused = causes(report)
    return [replace(c, cause=_cause(caused.get(c.row["finding_id"]))) for c in made]


def _card(
    f: Row,
    clock: Clock,
    journal: Journal,
    styles: ProcessStyles,
    sent: Mapping[str, Sequence[tuple[int, Row]]],
    overlap: Overlap | None,
    bars: Mapping[str, Bar],
    groups: Mapping[tuple[str, str], int],
) -> Card:
    roles = {w["event_id"]: w.get("role") or "" for w in f["witness"]}
    numbers, number_of_lines = journal.numbers(roles)[:_MAX_LINES], len(roles)
    found = [one for event_id in roles for one in sent.get(event_id, ()) if one[1]["to_event_id"] in roles]
    mine = [edge for _, edge in sorted(found, key=lambda one: one[0])]
    if overlap is not None:
        roles = _of_owners(overlap, bars, mine) | {i: role for i, role in roles.items() if role}
    proof = tuple(_proof(n, journal.lines[i], roles, clock, styles) for n, i in enumerate(numbers, 1))
    points = [spacetime.Point(p.number, p.line) for p in proof]
    group = (f["kafka_cluster"] or "", f["group_id"] or "")
    processes = {p.line.process for p in proof if p.line.process >= 0} | set(overlap.processes if overlap else ())
    return Card(
        anchor=anchors.finding(f["finding_id"]),
        row=f,
        when=when(f, clock),
        proof=proof,
        key_lines=_key_lines(proof, f["witness"]),
        left_out=number_of_lines - len(proof),
        picture=spacetime.draw(points, mine, styles, overlap, bars, clock.zone),
        repeats=tuple(repeats(f, clock, everything=False)),
        groups=(groups[group],) if f["group_id"] and group in groups else (),
        processes=tuple(sorted(processes)),
        drawn=f["from_ts"] is not None,
    )


def _cause(cause: Row | None) -> tuple[str, str] | None:
    return (shorten(cause["headline"], _MAX_TITLE), anchors.finding(cause["finding_id"]) if "finding_id" in cause else "") if cause else None


def _of_owners(overlap: Overlap, bars: Mapping[str, Bar], edges: Iterable[Row]) -> dict[str, str]:
    """Return roles for the lines of a proof of two owners to which no rule gives a role."""
    roles = {e[end]: "bounds the clocks" for e in edges for end in ("from_event_id", "to_event_id")}
    for word, owner in zip(("first owner", "second owner"), overlap.owners, strict=True):
        roles |= dict.fromkeys(bars[owner].witness if owner in bars else (), word)
    return roles


def _proof(number: int, line: Line, roles: Mapping[str, str], clock: Clock, styles: ProcessStyles) -> Proof:
    style = styles.all[line.process] if line.process >= 0 else None
    role = roles.get(line.event_id) or line.event
    return Proof(
        number, displayed_role(role, line.text), _time(line, clock), line, style.name if style else "?", swatch(style) if style else Markup("")
    )


def _time(line: Line, clock: Clock) -> str:
    """Return a line's time on the reference clock, and its own time if it is far from it."""
    if line.at is None or line.own is None:
        return "no time"
    text = clock.at(datetime.fromtimestamp(line.at / 1000, UTC)) + (f" ±{line.bound} ms" if line.bound else "")
    return text + (f" (by its own clock {clock.at(datetime.fromtimestamp(line.own / 1000, UTC))})" if abs(line.own - line.at) >= _FAR_MS else "")


def _key_lines(proof: tuple[Proof, ...], witness: Sequence[Row]) -> tuple[Proof, ...]:
    """Return the lines of a proof that the terminal report shows."""
    chosen = {w["event_id"] for w in key_lines(witness)} if witness else set()
    return tuple(p for p in proof if p.line.event_id in chosen) or proof[:1]


@dataclass(frozen=True)
class Node:
    """A card, and the cards of its effects, in folds."""

    card: Card
    effects: tuple[Fold, ...] = ()

    @property
    def all(self) -> Iterator[Card]:
        """Yield its card and all below it, in page order."""
        yield self.card
        for fold in self.effects:
            yield from fold.all


@dataclass(frozen=True)
class Fold:
    """Cards of one severity and rule: some to show, the others to fold away."""

    shown: tuple[Node, ...]
    folded: tuple[Node, ...]

    @property
    def all(self) -> Iterator[Card]:
        """Yield its cards and all below them."""
        for node in (*self.shown, *self.folded):
            yield from node.all


@dataclass(frozen=True)
class Section:
    """A root cause with the cards of its effects, or cards without a root cause (then without an incident).

    Attributes:
        cards: its cards, causes above their effects.
        anchor: its address.
        row: the incident.
        when: when it began, in words.
        advised: the preceding card or incident with the same advice; empty if there is none.
        proof: the proof of an incident without a card.
    """

    cards: tuple[Fold, ...]
    anchor: str = ""
    row: Row | None = None
    when: str = ""
    advised: str = ""
    proof: tuple[Block, ...] = ()

    @property
    def severity(self) -> str:
        """Return its incident's severity, else that of its first card."""
        return str((self.row or self.cards[0].shown[0].card.row)["severity"])

    @property
    def all(self) -> Iterator[Card]:
        """Yield its cards and all below them."""
        for fold in self.cards:
            yield from fold.all


def sections(report: Report, cards: Sequence[Card], clock: Clock, proofs: Proofs) -> list[Section]:
    """Return the cards in sections: below their root causes, the most severe first; by rule if the reader selected rules."""
    incidents = [] if report.filters.get("rules") else [i for i in report.incidents if i["code"] != "unexplained"]
    of = {card.row["finding_id"]: card for card in cards}
    mine = by_incident(report.findings)
    found: list[Section] = []
    known: set[str] = set()
    for incident in incidents:
        tree = effects(mine.get(incident["incident_id"], ()))
        if not is_among_findings(incident, tree):
            continue
        known.add(incident["incident_id"])
        folds = _folds([_node(effect, of) for effect in tree])
        found.append(
            Section(
                folds,
                anchors.incident(incident["incident_id"]),
                incident,
                began(report, incident, clock.between),
                proof=tuple(proofs.blocks(incident["proof"], incident["incident_id"])),
            )
        )
    alone = _folds([Node(card) for card in cards if card.row.get("incident_id") not in known])
    parts = [*found, *(Section((fold,)) for fold in alone)]
    parts.sort(key=lambda part: SEVERITIES.index(part.severity))
    return _with_advice_once(parts)


def _node(effect: Effect, of: Mapping[str, Card], *, nested: bool = False) -> Node:
    # The position of a card shows its cause.
    return Node(replace(of[effect.finding["finding_id"]], cause=None, nested=nested), _folds([_node(e, of, nested=True) for e in effect.effects]))


def _folds(nodes: Sequence[Node]) -> tuple[Fold, ...]:
    """Group nodes by severity and rule; rules are in the order of their first finding."""
    of: dict[tuple[str, str], list[Node]] = {}
    for node in nodes:
        of.setdefault((node.card.row["severity"], node.card.row["rule"]), []).append(node)
    return tuple(Fold(tuple(same), ()) if len(same) <= _IN_FULL + 1 else Fold(tuple(same[:_IN_FULL]), tuple(same[_IN_FULL:])) for same in of.values())


def _with_advice_once(parts: Sequence[Section]) -> list[Section]:
    """Return the sections with a link to the first card with the same advice in place of repeated advice."""
    first: dict[str, str] = {}

    def above(advice: str | None, anchor: str) -> str:
        there = first.setdefault(advice or "", anchor)
        return there if there != anchor else ""

    def node(n: Node) -> Node:
        return Node(replace(n.card, advised=above(n.card.row["advice"], n.card.anchor)), tuple(map(fold, n.effects)))

    def fold(f: Fold) -> Fold:
        return Fold(tuple(map(node, f.shown)), tuple(map(node, f.folded)))

    return [replace(p, advised=above(p.row["advice"], p.anchor) if p.row else "", cards=tuple(map(fold, p.cards))) for p in parts]


def for_script(cards: Iterable[Card], journal: Journal) -> dict[str, dict[str, Any]]:
    """Return what the page's script needs of each card, by its anchor."""
    return {
        card.anchor: {
            "title": shorten(card.row["headline"], _MAX_TITLE),
            "lines": journal.numbers(w["event_id"] for w in card.row["witness"]),
            "from": ms(card.row["from_ts"]),
            "to": ms(card.row["to_ts"] or card.row["from_ts"]),
        }
        for card in cards
    }
