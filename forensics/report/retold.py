"""A report's sentences told again in the reader's time zone: rows hold facts, and their words hold the times."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, tzinfo
from typing import TYPE_CHECKING

from forensics.case.materialise import rule_facts
from forensics.report.model import rows_of
from forensics.wording import tell

if TYPE_CHECKING:
    from forensics.report.model import CaseLike, Report, Row


def in_zone(case: CaseLike, report: Report, zone: tzinfo) -> Report:
    """The report as it tells its times in a zone; its rows keep theirs in UTC.

    Args:
        case: gives the types of the facts.
        report: what was found.
        zone: the reader's.
    """
    if zone == UTC:
        return report
    return replace(
        report,
        zone=zone,
        findings=findings_in(case, report.findings, zone),
        split_brain=_of_view("split_brain", report.split_brain, zone),
        coverage=_of_view("coverage", report.coverage, zone),
    )


def _of_view(name: str, rows: list[Row], zone: tzinfo) -> list[Row]:
    """A view's rows told again; as they are where they hold no code to tell by."""
    return tell.of_view(name, rows, zone) if rows and "code" in rows[0] else rows


def findings_in(case: CaseLike, findings: list[Row], zone: tzinfo) -> list[Row]:
    """Rows of `finding` told again in a zone: each by its worst occurrence, with that it repeats.

    Args:
        case: has the occurrences.
        findings: rows; those without facts stay as they are.
        zone: the reader's.
    """
    if zone == UTC or not findings or "worst_id" not in findings[0]:
        return findings
    wanted = {f["worst_id"] for f in findings} | {o["occurrence_id"] for f in findings for o in f.get("repeats") or ()}
    occurrences = [o for o in rows_of("occurrence", case.view_path("occurrence")) if o.get("occurrence_id") in wanted] if wanted else []
    told = {o["occurrence_id"]: o for o in tell.findings(occurrences, rule_facts(case.view_path), zone)}
    again = []
    for f in findings:
        repeats = [o | {"headline": told[o["occurrence_id"]]["headline"]} for o in f.get("repeats") or ()]
        again.append(f | {text: told[f["worst_id"]][text] for text in tell.TEXTS} | ({"repeats": repeats} if "repeats" in f else {}))
    return tell.of_view("finding", again, zone)
