"""Show the findings below their root causes, else by rule; for a rule with many, its first findings and a table of the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Set
from itertools import groupby
from typing import TYPE_CHECKING

from forensics.report.document import Block, Column, Heading, Para, Table, Tone
from forensics.report.examined import nothing_examined
from forensics.report.incidents import began, by_incident, causes, effects, is_among_findings, outcome, walk
from forensics.report.verdict import SPLIT_BRAIN_RULES
from forensics.wording.formats import SEVERITIES, Clock, count, shorten, span

if TYPE_CHECKING:
    from forensics.report.model import Report, Row
    from forensics.report.proof import Proofs

_TONES: dict[str, Tone] = {"critical": "bad", "warning": "warn", "note": ""}
_IN_FULL = 2
_IN_TABLE = 12
_MAX_REPEATS = 200


def title(report: Report) -> str:
    """Return a title such as `Findings: 1 critical, 3 warnings`."""
    numbers = Counter(f["severity"] for f in report.findings)
    parts = [f"{n:,} critical" if severity == "critical" else count(n, severity) for severity in SEVERITIES if (n := numbers[severity])]
    return f"Findings: {', '.join(parts)}" if parts else "Findings"


def section(report: Report, clock: Clock, proofs: Proofs, *, everything: bool) -> list[Block]:
    """Return the blocks of all findings.

    Args:
        report: what was found.
        clock: formats times.
        proofs: formats proofs.
        everything: show each finding in full, with all its lines (the reader selected this rule).
    """
    above = [] if everything else [f for f in report.findings if f["rule"] in SPLIT_BRAIN_RULES and report.split_brain]
    blocks: list[Block] = []
    known = set() if everything else {i["incident_id"] for i in report.incidents if i["code"] != "unexplained"}
    if alone := [f for f in above if f.get("incident_id") not in known]:
        rows = tuple((f["severity"], when(f, clock), f["group_id"] or "", shorten(f["headline"], 200), f["finding_id"]) for f in alone[:_IN_TABLE])
        columns = (Column("", fixed=True), Column("when"), Column("group"), Column("what"), Column("id", fixed=True))
        blocks += [Para("Described above:", tone="dim"), Table(columns, rows)]
        if len(alone) > _IN_TABLE:
            blocks.append(Para(f"… and {len(alone) - _IN_TABLE} more.", tone="dim"))
    of, caused = by_incident(report.findings), causes(report)
    described = {f["finding_id"] for f in above}
    rest = [f for f in report.findings if f["finding_id"] not in described and f.get("incident_id") not in known]
    for severity in SEVERITIES:
        for incident in report.incidents:
            if incident["severity"] == severity and incident["incident_id"] in known:
                blocks += _incident(report, incident, of.get(incident["incident_id"], ()), described, clock, proofs)
        for _, same in groupby((f for f in _ordered(rest) if f["severity"] == severity), key=lambda f: f["rule"]):
            blocks += _rule(list(same), caused, clock, proofs, everything=everything)
    if blocks or report.findings:
        return blocks
    if not nothing_examined(report):
        return [Para("None.", tone="good")]
    one_log = report.examined["why"] == "one_log"
    return [Para("None in this log." if one_log else "None: the lines that most rules need are not in these logs.")]


def _incident(report: Report, incident: Row, findings: Iterable[Row], described: Set[str], clock: Clock, proofs: Proofs) -> Iterator[Block]:
    """Yield a root cause and its findings: the first of each rule that it caused directly in full, and the other effects in a row each.

    Args:
        report: what was found.
        incident: the root cause.
        findings: its findings.
        described: IDs of findings that are described above.
        clock: formats times.
        proofs: formats proofs.
    """
    roots = effects(findings)
    if not is_among_findings(incident, roots):
        return
    tree = list(walk(roots))
    yield Heading(3, f"{incident['severity']}: {incident['headline']}", _TONES.get(incident["severity"], ""))
    at = began(report, incident, clock.between)
    known = ("root cause", incident["cause"].replace("_", " "), at, *outcome(incident), incident["incident_id"])
    yield Para(" · ".join(x for x in known if x), tone="dim")
    if incident.get("stop_now"):
        yield Para(incident["stop_now"], label="To end it now")
    if incident["advice"]:
        yield Para(incident["advice"], label="What to do")
    yield from proofs.blocks(incident["proof"], incident["incident_id"])
    full: dict[str, Row] = {}
    for depth, f in tree:
        if depth == 0 and f["finding_id"] not in described and f["severity"] != "note":
            full.setdefault(f["rule"], f)
    printed: set[tuple[str, str]] = set()
    for f in full.values():
        yield Heading(4, f"{f['severity']}: {f['headline']}", _TONES.get(f["severity"], ""))
        yield from _body(f, {}, clock, proofs, printed, everything=False)
    shown = {f["finding_id"] for f in full.values()}
    rows = [(depth, f) for depth, f in tree if f["finding_id"] not in shown]
    if rows:
        yield Para("Effects, each below its cause (`forensics show ID` prints the lines):" if full else "Effects:", tone="dim")
        cells = tuple((f["severity"], "  " * depth + shorten(f["headline"], 160), when(f, clock), f["finding_id"]) for depth, f in rows[:_IN_TABLE])
        yield Table((Column("", fixed=True), Column("what"), Column("when"), Column("id", fixed=True)), cells)
        if len(rows) > _IN_TABLE:
            yield Para(f"… and {len(rows) - _IN_TABLE} more: `forensics sql finding`.", tone="dim")
        for rule, f in {f["rule"]: f for _, f in reversed(rows) if f["finding_id"] not in described and f["severity"] != "note"}.items():
            if f["advice"] and ("advice", f["advice"]) not in printed:
                printed.add(("advice", f["advice"]))
                yield Para(f["advice"], label=f"What to do ({rule})")


def _ordered(found: list[Row]) -> list[Row]:
    """Group findings of one severity by rule, in the order of each rule's first finding."""
    place: dict[tuple[str, str], int] = {}
    for f in found:
        place.setdefault((f["severity"], f["rule"]), len(place))
    return sorted(found, key=lambda f: place[f["severity"], f["rule"]])


def _rule(found: list[Row], caused: Mapping[str, Row], clock: Clock, proofs: Proofs, *, everything: bool) -> Iterator[Block]:
    # One more finding in full takes no more space than a table with a single row.
    in_full = found if everything or len(found) <= _IN_FULL + 1 else found[:_IN_FULL]
    printed: set[tuple[str, str]] = set()
    for f in in_full:
        yield Heading(3, f"{f['severity']}: {f['headline']}", _TONES.get(f["severity"], ""))
        yield from _body(f, caused, clock, proofs, printed, everything=everything)
    rest = found[len(in_full) :]
    if rest:
        yield Para(f"{len(rest)} more of {rest[0]['rule']}:", tone="dim")
        rows = tuple((when(f, clock), f["group_id"] or "", shorten(f["headline"], 160)) for f in rest[:_IN_TABLE])
        yield Table((Column("when"), Column("group"), Column("what")), rows)
        if len(rest) > _IN_TABLE:
            yield Para(f"… and {len(rest) - _IN_TABLE} more: `forensics report --rule {rest[0]['rule']}` shows all.", tone="dim")


def _body(f: Row, caused: Mapping[str, Row], clock: Clock, proofs: Proofs, printed: set[tuple[str, str]], *, everything: bool) -> Iterator[Block]:
    """Yield what is below a finding's headline: its cause, if `caused` has one, and what is not yet in `printed`."""
    group = f"group {f['group_id']}" if f["group_id"] else ""
    yield Para(" · ".join(x for x in (f["rule"], f["verdict"], group, when(f, clock), f["finding_id"]) if x), tone="dim")
    if cause := caused.get(f["finding_id"]):
        yield Para(cause["headline"], label="Caused by")
    for label, key in (("", "explanation"), ("What to do", "advice")):
        if f[key] and (key, f[key]) not in printed:
            printed.add((key, f[key]))
            yield Para(f[key], label=label)
    yield from repeats(f, clock, everything=everything)
    yield from proofs.blocks(f["witness"], f["finding_id"], everything=everything)


def repeats(f: Row, clock: Clock, *, everything: bool) -> Iterator[Block]:
    """Yield the occurrences of a repeated finding: the longest, the first and the last, in time order."""
    all_of = f.get("repeats") or []
    if not all_of:
        return
    if len(all_of) < f["occurrences"]:
        yield Para(f"{len(all_of):,} of the {f['occurrences']:,} occurrences {'is' if len(all_of) == 1 else 'are'} in the selected time.", tone="dim")
    number = _MAX_REPEATS if everything else _IN_TABLE
    # Of equally long ones, the latest.
    longest = sorted(all_of[-2:0:-1], key=lambda o: -(o["lasted_ms"] or 0))[: number - 2]
    chosen = {o["occurrence_id"] for o in (all_of[0], *longest, all_of[-1])}
    shown = [o for o in all_of if o["occurrence_id"] in chosen]
    timed = any(o["lasted_ms"] for o in shown)
    # Findings about settings and clocks have no time.
    dated = any(o["from_ts"] for o in shown)
    columns = (
        *((Column("when"),) if dated else ()),
        *((Column("lasted", right=True, fixed=True),) if timed else ()),
        Column("what"),
        Column("id", fixed=True),
    )
    rows = [
        (*((when(o, clock),) if dated else ()), *((span(o["lasted_ms"], ""),) if timed else ()), shorten(o["headline"], 160), o["occurrence_id"])
        for o in shown
    ]
    yield Table(columns, tuple(rows))
    if len(all_of) > len(shown):
        which = "the longest, the first and the last of them" if timed else "the first and the last of them"
        where = "forensics sql occurrence" if everything else f"forensics report --rule {f['rule']}"
        yield Para(
            f"{len(shown)} of {len(all_of):,} occurrences: {which}. `{where}` shows more; `forensics show ID` prints the lines of each.", tone="dim"
        )


def when(f: Row, clock: Clock) -> str:
    """Return a finding's time: a moment, or from when to when."""
    if f["from_ts"] is None:
        return ""
    return clock.at(f["from_ts"]) + (f" to {clock.at(f['to_ts'])}" if f["to_ts"] and f["to_ts"] != f["from_ts"] else "")
