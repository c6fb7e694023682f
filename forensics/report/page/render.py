"""Write a report as one self-contained HTML file: it needs no network, no font, and no script except its own."""

from __future__ import annotations

import json
import re
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from forensics.clocks.reference import Reference
from forensics.report import anchors, content, groups, missing_evidence, summary, verdict
from forensics.report.names import Names
from forensics.report.page import build, cards, case_rows, charts, drawing, figures, front, journal, pack, payload, policy, still
from forensics.report.page.process_style import ProcessStyles
from forensics.report.proof import Proofs
from forensics.wording.formats import printable, printable_lines

if TYPE_CHECKING:
    from forensics.report.model import Report
    from forensics.report.page.case_rows import CaseRows

#: Maximum number of findings of one rule with cards; the others have only their headlines.
_MAX_CARDS = 40
_CODE = re.compile(r"`([^`\n]+)`")
TITLE = "Kafka group forensics"
#: The page's own script, in the order in which its parts need each other.
_SCRIPTS = ("unpack", "words", "address", "theme", "scene", "sums", "boxes", "timeline", "lines", "pointer", "controls", "main")


def render(report: Report, more: CaseRows | None = None) -> str:
    """Return the page.

    Args:
        report: what was found.
        more: more rows of the case, from `case_rows.read`; by default only the lines of proofs.
    """
    more = more or case_rows.of_report(report)
    names, clock = Names(report), content.clock(report)
    styles, reference = ProcessStyles(report, names), report.reference
    scene = build.build(report, more, names, styles, reference)
    lines = journal.write(more.lines, styles, reference)
    numbers = build.groups(report)
    bars = {b.ownership_id: b for b in scene.bars}
    found = cards.make(report, clock, lines, styles, more.edges, scene.overlaps, bars, numbers)
    picture, not_drawn = still.draw(scene, styles, report.zone)
    in_full, others = groups.choose(report)
    first = front.make(report, names, clock, lines, scene.overlaps)
    anchored = cards.for_script(found, lines) | front.for_script(report, lines, scene)
    whole = len(lines.lines) >= more.total
    columns = payload.payload(scene, lines, styles, anchored, report.zone, incidents=[i.anchor for i in first.incidents], complete=whole)
    data = pack.pack(*columns)
    sections = cards.sections(report, found, clock, Proofs(clock, reference))
    split_brain = verdict.section(report, names, clock, None)
    scripts, css = (figures.library(), script()), _asset("page.css")
    return (
        _environment()
        .get_template("page.html.j2")
        .render(
            tab=_tab(report, reference, first.title),
            policy=policy.content_security_policy(scripts),
            css=Markup(css),
            library=Markup(scripts[0]),
            script=Markup(scripts[1]),
            figures=Markup(json.dumps(figures.document()).replace("<", "\\u003c")),
            data=data,
            case_line=content.case_line(report),
            window=content.window_line(report),
            front=first,
            scene=scene,
            styles=styles.all,
            swatch=drawing.swatch,
            definitions=drawing.definitions(styles.all),
            still=picture,
            not_drawn=not_drawn,
            carried=(len(lines.lines), more.total),
            islands=[
                (names.process(r), [names.process(p) for p in members]) for r, members in sorted(reference.islands.items(), key=lambda i: -len(i[1]))
            ],
            split_brain=split_brain,
            sections=sections,
            notes=sum(1 for part in sections if part.severity == "note" for _ in part.all),
            zone=summary.zone_names(report),
            most_cards=_MAX_CARDS,
            groups=[
                {
                    "anchor": anchors.group(g["group_id"]),
                    "number": numbers.index((g["kafka_cluster"] or "", g["group_id"] or "")),
                    "title": groups.title(g),
                    "life": groups.generations(g, names, clock, changes=True),
                    "times": groups.times(g, names),
                    "twice": any(d["records_lo"] for d in g["duplicate_ledger"]),
                    "blame": charts.blame(g),
                }
                for g in in_full
            ],
            parts=groups.PARTS,
            other_groups=groups.overview(others, clock),
            episodes=missing_evidence.episodes(report, names, clock),
            clocks=charts.clocks(report, names, styles),
            clock_words=missing_evidence.clocks(report, names),
            coverage=charts.coverage(report, scene, styles, reference),
            missing_evidence=missing_evidence.section(report, names, clock),
            case=report.case,
        )
    )


def _tab(report: Report, reference: Reference, answer: str) -> str:
    """Return the title of the browser tab: the answer, and when the logs begin."""
    reach = reference.reach(report.case["processes"])
    began = f"{reach[0].astimezone(report.zone):%Y-%m-%d %H:%M}" if reach else ""
    return " · ".join(x for x in (answer.split(". ")[0], began, TITLE) if x)


@cache
def script() -> str:
    """Return the page's own script."""
    return '(() => {\n"use strict";\n' + "\n".join(_asset(f"{name}.js") for name in _SCRIPTS) + "})();\n"


def _asset(name: str) -> str:
    return (files("forensics.report.page") / "assets" / name).read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("forensics.report.page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_safe,
    )
    environment.filters["lines"] = lambda text: [printable(part) for part in text.split("\n")]
    environment.filters["safe_text"] = printable
    environment.filters["kind"] = _kind
    environment.filters["prose"] = _prose
    return environment


def _safe(value: Any) -> Any:  # noqa: ANN401  (whatever a template prints)
    """Return what a template prints, with invisible characters of a text as escapes, even where it does not ask for this."""
    return value if type(value) is not str else printable_lines(value)


def _kind(block: Any) -> str:  # noqa: ANN401  (a block of any kind)
    return type(block).__name__


def _prose(text: str) -> Markup:
    """Return a line of our own sentences with its `code`, all of it escaped."""
    return Markup("").join(
        Markup("<code>{}</code>").format(printable(part)) if n % 2 else Markup("{}").format(printable(part))
        for n, part in enumerate(_CODE.split(text))
    )
