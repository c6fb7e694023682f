"""The answer in at most six lines: what happened, what to do first, what it rests on."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from forensics.report import anchors, verdict
from forensics.report.document import Tone
from forensics.report.examined import rests_on
from forensics.wording.formats import Clock, count, shorten

if TYPE_CHECKING:
    from forensics.report.model import Report, Row
    from forensics.report.names import Names

_MOST = 6
_MOST_FINDINGS = 2
_LONGEST = 400


@dataclass(frozen=True)
class Said:
    """A line of the brief; `anchor` leads to what it tells of."""

    text: str
    label: str = ""
    tone: Tone = ""
    anchor: str = ""


def write(report: Report, names: Names, clock: Clock) -> list[Said]:
    """The lines, the verdict on split brain first."""
    title, tone, _ = verdict.section(report, names, clock, None)
    graver = [f for f in report.findings if f["severity"] != "note"]
    one = Said(title, tone=tone, anchor="split-brain")
    # A group that did not settle is no all-clear: what was found stands before what was not.
    lines = [] if tone == "good" and graver else [one]
    told = [f for f in graver if f["rule"] not in verdict.TOLD_HERE or not report.split_brain]
    for f in told[:_MOST_FINDINGS]:
        lines.append(
            Said(f"{f['severity']}: {f['headline']}", tone="bad" if f["severity"] == "critical" else "warn", anchor=anchors.finding(f["finding_id"]))
        )
    if len(told) > _MOST_FINDINGS:
        lines.append(Said(_others(told[_MOST_FINDINGS:]), anchor="findings"))
    lines += [] if one in lines else [Said(title, tone="dim", anchor="split-brain")]
    if advised := next((f for f in graver if f["advice"]), None):
        lines.append(Said(shorten(advised["advice"], _LONGEST), "What to do first", anchor=anchors.finding(advised["finding_id"])))
    if report.examined["examined"]:
        lines.append(Said(rests_on(report, clock), tone="dim", anchor="unseen"))
    return lines[:_MOST]


def _others(findings: list[Row]) -> str:
    numbers = Counter(f["severity"] for f in findings)
    return ", ".join(f"{n:,} more critical" if severity == "critical" else count(n, f"more {severity}") for severity, n in numbers.items()) + "."
