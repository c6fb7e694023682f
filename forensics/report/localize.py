"""Write a report's sentences for its reader: times in the reader's zone, processes by the names that the report gives them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from forensics.case.materialise import rule_facts
from forensics.report.model import rows_of
from forensics.wording import tell
from forensics.wording.files import view_words

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import tzinfo

    from forensics.report.model import CaseLike, Report, Row


def for_reader(case: CaseLike, report: Report, zone: tzinfo, names: Mapping[str, str]) -> Report:
    """Return the report with its sentences written anew; the facts stay as they are, times in UTC.

    Args:
        case: gives the types of the facts.
        report: what was found.
        zone: the reader's.
        names: what the report calls processes, by process_id.
    """
    return replace(
        report,
        zone=zone,
        findings=findings(case, report.findings, zone, names),
        split_brain=_of_view("split_brain", report.split_brain, zone, names),
        coverage=_of_view("coverage", report.coverage, zone, names),
        incidents=_of_view("incident", report.incidents, zone, names),
    )


def _of_view(name: str, rows: list[Row], zone: tzinfo, names: Mapping[str, str]) -> list[Row]:
    """Return a view's rows with new sentences; as they are where another version made them, without a code or without a column of words."""
    known = rows and {"code", *view_words()[name].columns} <= rows[0].keys()
    return tell.of_view(name, rows, zone, names) if known else rows


def findings(case: CaseLike, rows: list[Row], zone: tzinfo, names: Mapping[str, str]) -> list[Row]:
    """Return rows of `finding` with new sentences: each by its worst occurrence, with that it repeats.

    Args:
        case: has the occurrences.
        rows: of `finding`; those without facts stay as they are.
        zone: the reader's.
        names: what the report calls processes, by process_id.
    """
    if not rows or "worst_id" not in rows[0]:
        return rows
    wanted = {f["worst_id"] for f in rows} | {o["occurrence_id"] for f in rows for o in f.get("repeats") or ()}
    occurrences = [o for o in rows_of("occurrence", case.view_path("occurrence")) if o.get("occurrence_id") in wanted] if wanted else []
    worded = {o["occurrence_id"]: o for o in tell.findings(occurrences, rule_facts(case.view_path), zone, names)}
    again = []
    for f in rows:
        repeats = [o | {"headline": worded[o["occurrence_id"]]["headline"]} for o in f.get("repeats") or ()]
        again.append(f | {text: worded[f["worst_id"]][text] for text in tell.TEXTS} | ({"repeats": repeats} if "repeats" in f else {}))
    return tell.of_view("finding", again, zone, names)
