"""The first question: did two own the same work at once? The verdict, its bounds, and the lines that prove it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from itertools import groupby
from typing import TYPE_CHECKING

from forensics.report.document import Block, Column, Heading, Line, Lines, Para, Table, Tone
from forensics.report.words import Clock, count, fold, span

if TYPE_CHECKING:
    from forensics.report.model import Report, Row
    from forensics.report.names import Names

#: Overlaps of one pair of processes that begin within this time of each other are told as one incident.
_SAME_INCIDENT = timedelta(seconds=60)
#: Rules whose findings this section tells, with their lines.
TOLD_HERE = ("split-brain-task", "split-brain-partition")
_ROWS_SHOWN = 40
_IN_FULL = 8
_WHAT = {"work": "worked on", "thread": "had a running thread for", "held": "held"}
_NOUN = {"task": "task", "connector": "connector", "partition": "partition"}


def section(report: Report, names: Names, clock: Clock) -> tuple[str, Tone, list[Block]]:
    """Title, tone and blocks of the verdict on split brain."""
    splits = report.split_brain
    by_verdict = {v: [s for s in splits if s["verdict"] == v] for v in ("proved", "undecided", "refuted")}
    title, tone = _title(by_verdict)
    blocks: list[Block] = []
    for verdict in ("proved", "undecided"):
        incidents = list(_incidents(by_verdict[verdict]))
        for incident in incidents[:_IN_FULL]:
            blocks += _incident(incident, names, clock)
        blocks += _more(incidents[_IN_FULL:], verdict, names, clock)
    for advice in dict.fromkeys(f["advice"] for f in report.findings if f["rule"] in TOLD_HERE and f["severity"] == "critical" and f["advice"]):
        blocks.append(Para(advice, label="What to do"))
    blocks.append(Para(_examined(report, by_verdict), tone="dim"))
    return title, tone, blocks


def _title(by_verdict: dict[str, list[Row]]) -> tuple[str, Tone]:
    work = [s for s in by_verdict["proved"] if s["kind"] == "work"]
    if work:
        longest = max(work, key=_length)
        resources = {(s["group_id"], s["resource"]) for s in work}
        bounds = f"{span(longest['certain_ms'])} at least, {span(longest['possible_ms'], 'no bound')} at most"
        return f"Split brain: PROVED. {_resources(work[0], len(resources))} worked on by two owners at once ({longest['resource']}: {bounds})", "bad"
    if by_verdict["proved"]:
        one = by_verdict["proved"][0]
        resources = {(s["group_id"], s["resource"]) for s in by_verdict["proved"]}
        held = all(s["kind"] == "held" for s in by_verdict["proved"])
        how = f"{'held by two owners' if held else 'had two running threads'} at once, without proof that both worked"
        return f"Split brain: {_resources(one, len(resources))} {how}", "warn"
    if by_verdict["undecided"]:
        return f"Split brain: UNDECIDED for {count(len(by_verdict['undecided']), 'pair')} of owners", "warn"
    return "Split brain: NONE FOUND", "good"


def _resources(row: Row, number: int) -> str:
    return count(number, _NOUN.get(row["resource_kind"], "resource"))


def _examined(report: Report, by_verdict: dict[str, list[Row]]) -> str:
    refuted = len(by_verdict["refuted"])
    text = f"{count(len(report.ownership), 'ownership')} rebuilt from the logs; {count(len(report.split_brain), 'pair')} of owners examined"
    if report.split_brain:
        text += f": {len(by_verdict['proved'])} proved, {len(by_verdict['undecided'])} undecided, {refuted} refuted"
        text += " (the order of messages makes an overlap impossible)" * bool(refuted)
    return text + ". What the logs cannot show is listed under “What was not seen”."


def _incidents(rows: list[Row]) -> Iterator[list[Row]]:
    """Rows of the same group, kind, first and second process whose overlaps begin close to each other."""

    def pair(row: Row) -> tuple[str, ...]:
        return (row["group_id"] or "", row["kind"], row["process_a"] or "", row["process_b"] or "")

    found: list[list[Row]] = []
    for _, same in groupby(sorted(rows, key=lambda r: (pair(r), _start(r))), key=pair):
        current: list[Row] = []
        for row in same:
            if current and _start(row) - _start(current[-1]) > _SAME_INCIDENT.total_seconds():
                found.append(current)
                current = []
            current.append(row)
        found.append(current)
    order = {"work": 0, "thread": 1, "held": 2}
    yield from sorted(found, key=lambda i: (order.get(i[0]["kind"], 3), -max(r["certain_ms"] or 0 for r in i)))


def _start(row: Row) -> float:
    moment = row["from_lo"] or row["from_hi"]
    return moment.timestamp() if moment else 0.0


def _more(incidents: list[list[Row]], verdict: str, names: Names, clock: Clock) -> Iterator[Block]:
    """The incidents after the first ones, a row each."""
    if not incidents:
        return
    yield Para(f"{count(len(incidents), f'more {verdict} incident')}; each pair of owners: `forensics sql split_brain`.", tone="dim")
    columns = tuple(Column(name, right=name.startswith("at ")) for name in ("what", "first", "second", "kind", "both from", "at least", "at most"))
    rows = []
    for incident in incidents[:_ROWS_SHOWN]:
        worst = max(incident, key=_length)
        what = fold(sorted({r["resource"] for r in incident}), 6)
        ends = names.process(worst["process_a"]), names.process(worst["process_b"])
        rows.append(
            (what, *ends, worst["kind"], clock.between(worst["from_lo"], worst["from_hi"]), _at_least(worst), span(worst["possible_ms"], "no bound"))
        )
    yield Table(columns, tuple(rows))


def _length(row: Row) -> tuple[float, float]:
    return row["certain_ms"] or 0, row["possible_ms"] or 0


def _at_least(row: Row) -> str:
    return "> 0 ms" if row["verdict"] == "proved" and row["certain_ms"] == 0 else span(row["certain_ms"])


def _incident(rows: list[Row], names: Names, clock: Clock) -> Iterator[Block]:
    strongest = max(rows, key=_length)
    a, b = names.process(strongest["process_a"]), names.process(strongest["process_b"])
    both = f"{a} twice" if a == b else f"{a} and {b} both"
    what = f"{_NOUN.get(strongest['resource_kind'], '')} {fold(sorted({r['resource'] for r in rows}))}".strip()
    yield Heading(
        3, f"{strongest['verdict']}: {both} {_WHAT.get(strongest['kind'], 'owned')} {what} of group {strongest['group_id']}", _tone(strongest)
    )
    columns: tuple[Column, ...] = (
        Column(strongest["resource_kind"], fixed=True),
        Column("first"),
        Column("second"),
        Column("both from"),
        Column("to"),
        Column("at least", right=True, fixed=True),
        Column("at most", right=True, fixed=True),
        Column("records read twice", right=True),
    )
    shown = rows[:_ROWS_SHOWN]
    cells: tuple[tuple[str, ...], ...] = tuple(
        (
            r["resource"],
            names.process(r["process_a"]),
            names.process(r["process_b"]),
            clock.between(r["from_lo"], r["from_hi"]),
            clock.between(r["to_lo"], r["to_hi"]),
            _at_least(r),
            span(r["possible_ms"], "no bound"),
            f"{r['records_at_risk']:,}" if r["records_at_risk"] is not None else "not in the logs",
        )
        for r in shown
    )
    if all(r["records_at_risk"] is None for r in shown):
        columns, cells = columns[:-1], tuple(row[:-1] for row in cells)
    yield Table(columns, cells)
    if len(rows) > len(shown):
        yield Para(f"… and {len(rows) - len(shown)} more: `forensics sql split_brain`.", tone="dim")
    if strongest["explanation"]:
        yield Para(strongest["explanation"], label=f"Why ({strongest['resource']})")
    if strongest["cause"]:
        yield Para(strongest["cause"].replace("_", " ") + ".", label="Cause")
    if strongest["verdict"] == "proved" and strongest["margin_ms"] is not None:
        yield Para(f"holds unless a clock jumped by more than {span(strongest['margin_ms'])} between these lines.", label="How sure")
    if strongest["missing"]:
        yield Para(strongest["missing"], label="What would decide")
    if strongest["witness"]:
        yield Lines(tuple(line(w, clock) for w in strongest["witness"]))


def _tone(row: Row) -> Tone:
    return "bad" if row["verdict"] == "proved" and row["kind"] == "work" else "warn"


def line(witness: Row, clock: Clock) -> Line:
    """A witness as a line; one whose event is not in the case's tables keeps its id alone."""
    if witness.get("path") is None:
        return Line("?", "", "(not in this case's tables)", witness["event_id"])
    return Line(f"{witness['path']}:{witness['line']}", clock.at(witness["ts"], "no time"), witness["text"] or "", witness["event_id"])
