"""Read a case into a report."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from forensics.report import single_lines
from forensics.report.assembly import assemble
from forensics.report.row_times import VIEWS
from forensics.report.stored_rows import files_without_kafka, rows_of, witnesses

if TYPE_CHECKING:
    from forensics.report.model import Report
    from forensics.report.selection import Filters
    from forensics.report.stored_rows import CaseLike


def read(case: CaseLike, filters: Filters) -> Report:
    """Read a case's built views, or the files of a case that has no views because no line of Kafka was read.

    Raises:
        UsageError: the case does not have a selected time, group or rule.
    """
    if case.manifest["views"]:
        rows = {name: rows_of(name, case.view_path(name)) for name in VIEWS}
    else:
        rows = {name: [] for name in VIEWS} | {"source_file": files_without_kafka(case)}
    report = assemble(case.manifest, rows, filters, lambda ids: witnesses(case, ids))
    report = replace(report, left_empty=single_lines.left_empty(case, report), commits_back=single_lines.commits_back(case, report))
    if not report.groups:
        report = replace(report, groups_named=single_lines.groups_named(case, report))
    if not any(f["severity"] != "note" for f in (*report.findings, *report.incidents)):
        errors = [] if report.examined["examined"] else single_lines.errors(case)
        report = replace(report, empty_groups=list(single_lines.empty_groups(case, report)), errors=errors)
    return report
