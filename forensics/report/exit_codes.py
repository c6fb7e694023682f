"""Decide what a report means for the exit code of the command."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from forensics.report.model import Report


def is_reached(report: Report, fail_on: str) -> bool:
    """Return True if findings reach `--fail-on`; notes never do."""
    serious = [f for f in report.findings if f["severity"] in ("critical", "warning")]
    return bool(serious) if fail_on in ("any", "incomplete") else fail_on == "proved" and any(f["verdict"] == "proved" for f in serious)
