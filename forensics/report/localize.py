"""Rewrite a report's sentences for its reader: times in the reader's zone, processes by the names that the report gives them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from forensics.case.materialise import rule_facts
from forensics.report.stored_rows import rows_of
from forensics.wording import sentences
from forensics.wording.files import view_words

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import tzinfo

    from forensics.report.model import Report, Row
    from forensics.report.stored_rows import CaseLike


def for_reader(case: CaseLike, report: Report, zone: tzinfo, names: Mapping[str, str]) -> Report:
    """Return the report with its sentences rewritten; the facts are unchanged, with times in UTC.

    Args:
        case: has the types of the facts.
        report: what was found.
        zone: the reader's.
        names: the report's names of processes, by process_id.
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
    """Return a view's rows with new sentences; unchanged if another version made them, if they have no code, or if a column of words is missing."""
    known = rows and {"code", *view_words()[name].columns} <= rows[0].keys()
    return sentences.of_view(name, rows, zone, names) if known else rows


def findings(case: CaseLike, rows: list[Row], zone: tzinfo, names: Mapping[str, str]) -> list[Row]:
    """Return rows of `finding` with new sentences: each by its worst occurrence, and that it repeats.

    Args:
        case: has the occurrences.
        rows: rows of `finding`; those without facts are returned unchanged.
        zone: the reader's.
        names: the report's names of processes, by process_id.
    """
    if not rows or "worst_id" not in rows[0]:
        return rows
    worst_ids = {f["worst_id"] for f in rows}
    others = {o["occurrence_id"] for f in rows for o in f.get("repeats") or ()} - worst_ids
    occurrences, types = rows_of("occurrence", case.view_path("occurrence")), rule_facts(case.view_path)
    worded: dict[str, Row] = {}
    # A repetition has a headline only; there may be thousands.
    for ids, needed in ((worst_ids, sentences.TEXTS), (others, ("headline",))):
        meant = [o for o in occurrences if o.get("occurrence_id") in ids]
        worded |= {o["occurrence_id"]: o for o in sentences.findings(meant, types, zone, names, needed)}
    rewritten = []
    for f in rows:
        repeats = [o | {"headline": worded[o["occurrence_id"]]["headline"]} | _impact(worded[o["occurrence_id"]]) for o in f.get("repeats") or ()]
        worst = worded[f["worst_id"]]
        texts = {text: worst[text] for text in sentences.TEXTS} | _impact(worst)
        rewritten.append(f | texts | ({"repeats": repeats} if "repeats" in f else {}))
    return sentences.of_view("finding", rewritten, zone, names)


def _impact(worded: Row) -> Row:
    """Return the damage that an occurrence states in words; empty if other rows show it."""
    return {"impact": worded["impact"]} if worded.get("impact") else {}
