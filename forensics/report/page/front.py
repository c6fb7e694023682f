"""Compose the page's first screen: each incident with its chip, its steps linked to their cards and lines, its impact, and what to do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from forensics.clocks.reference import ms
from forensics.report import anchors, summary
from forensics.report.incidents import began, ended
from forensics.report.page import causes
from forensics.report.story import ROOT
from forensics.wording.formats import shorten

if TYPE_CHECKING:
    from forensics.report.document import Block, Tone
    from forensics.report.model import Report, Row
    from forensics.report.names import Names
    from forensics.report.page.journal import Journal
    from forensics.report.page.scene import Overlap, Scene, Trouble
    from forensics.report.story import Hit, Step, Story
    from forensics.wording.formats import Clock

_LONGEST = 60


@dataclass(frozen=True)
class Link:
    """Words with an address: `lines` opens the log lines there, else the page scrolls to it."""

    text: str
    anchor: str = ""
    lines: bool = False


@dataclass(frozen=True)
class Moment:
    """A step: its time, what happened with its card, and the line that shows it."""

    when: str
    what: Link
    line: Link
    is_root: bool


@dataclass(frozen=True)
class Incident:
    """An incident on the first screen.

    Attributes:
        anchor: its section among the findings.
        severity: critical, warning or note.
        name: what happened in a few words.
        when: when it happened or began.
        state: whether it is over; empty if unknown.
        headline: the sentence of its root cause.
        steps: what happened, in time order.
        left_out: number of steps that are left out.
        hits: the impact.
        twice: resources with two owners, each with the address of its overlap.
        advice: labelled sentences: what to do next, and what prevents it.
        now: what stops it.
    """

    anchor: str
    severity: str
    name: str
    when: str
    state: str
    headline: str
    steps: tuple[Moment, ...]
    left_out: int
    hits: tuple[Hit, ...]
    twice: tuple[Link, ...]
    advice: tuple[tuple[str, str], ...]
    now: str


@dataclass(frozen=True)
class Front:
    """The first screen.

    Attributes:
        title, tone: the verdict.
        scope: groups, time and processes.
        incidents: the most severe first.
        unsettled: what is undecided, and what to collect.
        also: findings that belong to no incident, each with its severity.
        unlisted: the number of others.
        foot: what else happened, how sure it is, and what is missing.
    """

    title: str
    tone: Tone
    scope: str
    incidents: tuple[Incident, ...]
    unsettled: tuple[Block, ...]
    also: tuple[tuple[str, Link], ...]
    unlisted: int
    foot: tuple[tuple[str, str], ...]


def make(report: Report, names: Names, clock: Clock, journal: Journal, overlaps: Sequence[Overlap]) -> Front:
    """Return the first screen of a report.

    Args:
        report: what was found.
        names: the report's names of processes and members.
        clock: formats times.
        journal: the lines in the page.
        overlaps: the drawn overlaps.
    """
    found = summary.make(report, names, clock)
    lines = {line.where: line.event_id for line in journal.lines}
    cards = {f["headline"]: anchors.finding(f["finding_id"]) for f in reversed(report.findings)}
    drawn = {o.owners: o.anchor for o in overlaps}
    dated = summary.days(report, found.stories)

    def moment(story: Story, step: Step) -> Moment:
        root = step.role == ROOT
        anchor = anchors.incident(story.incident["incident_id"]) if root and story.incident["code"] != "unexplained" else _card(step.text, cards)
        line = Link(step.where, f"e-{lines[step.where]}" if step.where in lines else "", lines=True)
        return Moment(summary.step_time(step, report.zone, dated=dated), Link(step.text, anchor), line, root and story.incident["cause"] != "unknown")

    def incident(story: Story) -> Incident:
        i = story.incident
        pairs = {p["resource"]: drawn.get((p["ownership_a"], p["ownership_b"]), "") for p in story.pairs if p["verdict"] == "proved"}
        return Incident(
            anchor=anchors.incident(i["incident_id"]),
            severity=i["severity"],
            name=causes.short(i, names),
            when=began(report, i, clock.second),
            state=shorten(i.get("outcome") or "", _LONGEST),
            headline=story.headline,
            steps=tuple(moment(story, step) for step in story.steps),
            left_out=story.left_out,
            hits=story.hits,
            twice=tuple(Link(resource, anchor) for resource, anchor in pairs.items() if anchor),
            advice=story.advice,
            now=story.now,
        )

    return Front(
        title=found.title,
        tone=found.tone,
        scope=found.scope,
        incidents=tuple(map(incident, found.stories)),
        unsettled=tuple(summary.table(rows) for rows in (found.unsettled, found.advice_alone) if rows),
        also=tuple((f["severity"], Link(f["headline"], anchors.finding(f["finding_id"]))) for f in found.listed),
        unlisted=len(found.also) - len(found.listed),
        foot=found.foot,
    )


def _card(text: str, cards: Mapping[str, str]) -> str:
    """Return the address of the card whose headline a step repeats, alone or before ` (the first of 4 such events)`; empty if there is none."""
    return cards.get(text) or cards.get(text.rpartition(" (the first of ")[0], "")


def for_script(report: Report, journal: Journal, scene: Scene) -> dict[str, dict[str, object]]:
    """Return what the page's script needs of each incident, by its anchor: title, lines, and the time from its start to the end of its effects."""
    troubles: dict[str, list[Trouble]] = {}
    for t in scene.troubles:
        troubles.setdefault(t.anchor, []).append(t)
    return {
        anchors.incident(i["incident_id"]): _of_incident(i, report, journal, scene, troubles.get(anchors.incident(i["incident_id"]), ()))
        for i in report.incidents
    }


def _of_incident(i: Row, report: Report, journal: Journal, scene: Scene, troubles: Iterable[Trouble]) -> dict[str, object]:
    pairs = [s for s in report.pairs_by_incident.get(i["incident_id"], ()) if s["verdict"] == "proved"]
    moments = [ms(i["from_lo"]), ms(i["from_hi"]), ms(ended(i)), *(ms(s[k]) for s in pairs for k in ("from_lo", "to_hi"))]
    moments += [x for t in troubles for x in (t.start_lo, t.stop_hi)]
    known = [min(max(m, scene.first), scene.last) for m in moments if m is not None]
    return {
        "title": i["headline"] or "",
        "lines": journal.numbers(i.get("witness") or ()),
        "from": min(known) if known else None,
        "to": max(known) if known else None,
    }
