"""Compose the report's sections, the most important for the reader first."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from forensics.errors import UsageError, did_you_mean
from forensics.report import findings, groups, missing_evidence, summary, verdict
from forensics.report.document import Column, Document, Heading, Para, Table
from forensics.report.names import Names
from forensics.report.proof import Proofs
from forensics.report.row_times import VIEWS
from forensics.report.window import Window
from forensics.wording.formats import Clock, count, joined

if TYPE_CHECKING:
    from forensics.report.model import Report

_ROLES = {"broker": "broker", "connect_worker": "Connect worker", "client": "client"}


def compose(report: Report, *, all_lines: bool = False) -> Document:
    """Return the whole report. With `--rule`, it consists of the findings of those rules and the missing evidence.

    Args:
        report: what was found.
        all_lines: show every line of each proof, not only the three most important.
    """
    names, out = Names(report), Document()
    times = clock(report)
    proofs = _proofs(report, times, everything=all_lines)
    only = bool(report.filters.get("rules"))
    under_title = "\n".join(filter(None, (case_line(report, zoned=only or not report.extent), window_line(report))))
    if only:
        out.add(Heading(1, "Kafka group forensics"), Para(under_title))
    else:
        out.add(*summary.compose(report, names, summary.make(report, names, times), under_title))
        title, tone, blocks = verdict.section(report, names, times, proofs)
        out.section(title, blocks, tone)
    out.section(findings.title(report), findings.section(report, times, proofs, everything=only))
    if not only:
        shown, others = groups.choose(report)
        for group in shown:
            out.section(groups.title(group), groups.section(group, names, times))
        out.section(count(len(others), "more group"), groups.overview(others, times))
        out.section("Coordinator lost", missing_evidence.episodes(report, names, times))
        out.section("Clocks", missing_evidence.clocks(report, names))
    out.section("What was not seen", missing_evidence.section(report, names, times))
    return out


def first_screen(report: Report) -> Document:
    """Return the verdict and the incidents, short enough for one screen."""
    out = Document()
    out.add(*summary.first_screen(report, Names(report), clock(report), window_line(report)))
    return out


def one_finding(report: Report, finding_id: str) -> Document:
    """Return one finding, or those of an incident, with every line of their proofs.

    Raises:
        UsageError: no finding and no incident has this ID, or several begin with it.
    """
    found = [f for f in report.findings if f["finding_id"].startswith(finding_id)] if finding_id else []
    of_incident = [f for f in report.findings if (f.get("incident_id") or "").startswith(finding_id)] if finding_id and not found else []
    if len({f["incident_id"] for f in of_incident}) == 1:
        found = of_incident
    elif len(found) != 1:
        known = [f["finding_id"] for f in report.findings]
        why = f"{len(found)} ids begin with it" if found else "the report has no finding of this id"
        raise UsageError(
            f"Cannot show the finding `{finding_id}`.", why=why, where="--finding",
            fix=did_you_mean(finding_id, known, "`forensics sql finding` lists the findings; `forensics show ID` takes ids of other things."),
        )  # fmt: skip
    times = clock(report)
    out = Document()
    out.add(*findings.section(replace(report, findings=found, incidents=[]), times, _proofs(report, times, everything=True), everything=True))
    return out


def finding_list(report: Report) -> Document:
    """Return a table of all findings."""
    times = clock(report)
    out = Document()
    if not report.findings:
        out.add(Para("No findings."))
        return out
    columns = (*(Column(name, fixed=True) for name in ("id", "severity", "verdict", "from", "rule")), Column("group"), Column("headline"))
    keys = ("finding_id", "severity", "verdict", "from_ts", "rule", "group_id", "headline")
    out.add(Table(columns, tuple(tuple(times.at(f[k], "") if k == "from_ts" else f[k] or "" for k in keys) for f in report.findings)))
    return out


def notes(report: Report) -> Document:
    """Return all notes."""
    mine = [f for f in report.findings if f["severity"] == "note"]
    times = clock(report)
    out = Document()
    if not mine:
        out.add(Para("No notes."))
        return out
    only = replace(report, findings=mine, incidents=[])
    out.section(findings.title(only), findings.section(only, times, _proofs(report, times, everything=False), everything=True))
    return out


def _proofs(report: Report, times: Clock, *, everything: bool) -> Proofs:
    return Proofs(times, report.reference, everything=everything)


def clock(report: Report) -> Clock:
    """Return the format of the report's times."""
    return Clock(_times(report), report.zone)


def _times(report: Report) -> list[datetime]:
    rows = [*report.findings, *report.incidents, *report.split_brain, *report.coordinator_episodes, *report.coverage, *report.case["processes"]]
    rows += [g for group in report.groups for g in group["generations"]]
    return [v for row in rows for v in row.values() if isinstance(v, datetime)]


def case_line(report: Report, *, zoned: bool = True) -> str:
    """Summarise what was read: files, processes, releases, the time, and the reader's zone if requested."""
    processes = report.case["processes"]
    files = [f for f in report.case["source_files"] if f.get("status") != "superseded"]
    roles = Counter(_ROLES.get(p["role"], "other log") for p in processes)
    versions = sorted({p["kafka_version"] for p in processes if p["kafka_version"]})
    skipped = sum(f.get("status") == "skipped" for f in files)
    read = count(len(files) - skipped, "file") + f" ({skipped:,} skipped)" * bool(skipped)
    parts = [read, ", ".join(count(n, role) for role, n in sorted(roles.items())) or "no process"]
    if versions:
        parts.append("Kafka " + ", ".join(versions))
    text = "; ".join(parts)
    if reach := report.reference.reach(processes):
        begin, end = (at.astimezone(report.zone) for at in reach)
        until = f"{end:%H:%M:%S}" if begin.date() == end.date() else f"{end:%Y-%m-%d %H:%M:%S}"
        text += f"; {begin:%Y-%m-%d %H:%M:%S} to {until}" + f", times in {summary.zone_names(report)}" * zoned
    return text + "."


def window_line(report: Report) -> str:
    """Describe the selection, and that anything which extends beyond it is shown whole; empty if everything is selected."""
    since, until = report.filters.get("since"), report.filters.get("until")
    parts = [f"group {', '.join(report.filters['groups'])}"] if report.filters.get("groups") else []
    parts += [f"rule {', '.join(report.filters['rules'])}"] if report.filters.get("rules") else []
    parts += [f"since {since.astimezone(report.zone):%Y-%m-%d %H:%M:%S}"] if since else []
    parts += [f"until {until.astimezone(report.zone):%Y-%m-%d %H:%M:%S}"] if until else []
    if not parts:
        return ""
    window = Window(since, until)
    beyond = [
        count(number, what, several)
        for rows, time, what, several in (
            (report.findings, VIEWS["finding"], "finding", ""),
            ([s for s in report.split_brain if s["verdict"] != "refuted"], VIEWS["split_brain"], "pair of owners", "pairs of owners"),
            (report.incidents, VIEWS["incident"], "root cause", ""),
        )
        if (number := sum(not window.holds(*time.of(row, report.reference)) for row in rows))
    ]
    whole = " Anything that began before that time or ended after it is shown whole, with its full length: "
    return f"Only: {'; '.join(parts)}.{whole * bool(beyond)}{joined(beyond)}{'.' * bool(beyond)}"
