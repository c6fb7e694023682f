"""Write one line for each incident, for a chat, for grep, and for scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.report import summary
from forensics.report.names import Names
from forensics.wording.formats import and_more, printable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from forensics.report.model import Report, Row
    from forensics.report.story import Story

#: What a line has between tabs; a value that is not known is `-`.
COLUMNS = ("severity", "state", "from", "to", "subject", "cause", "worst damage", "id")
_STATES = {"over": "over", "open": "not over", "unknown": "not shown"}
_LONGEST = 3


def lines(report: Report) -> list[str]:
    """Return the incidents and the findings without an incident, in the order of the first screen, as lines with the columns `COLUMNS` between tabs.

    Without any, the only line has the severity `none` and the title of the report. Times are ISO 8601 in the reader's zone: from when the incident had
    begun, and by when it was over or, if it is not, up to when the logs show it.
    """
    names = Names(report)
    stories = summary.incidents(report, names)
    found = [*(_incident(report, names, story) for story in stories), *(_finding(report, names, f) for f in summary.without_incident(report))]
    if not found:
        title, _ = summary.title(report, stories)
        begin, end = report.examined["from_ts"], report.examined["to_ts"]
        found = [("none", None, _time(report, begin), _time(report, end), None, None, title, None)]
    return ["\t".join(_cells(row)) for row in found]


def _incident(report: Report, names: Names, story: Story) -> tuple[str | None, ...]:
    incident = story.incident
    subject = names.process(incident["subject"]) if incident["subject"] else ""
    cause = " or ".join(incident["alternatives"] or ()) if incident["cause"] == "unknown" else incident["cause"]
    return (
        incident["severity"],
        _STATES.get(incident.get("state") or ""),
        _time(report, incident["from_hi"] or incident["from_lo"]),
        _time(report, incident.get("over_since") or incident["to_hi"] or incident.get("shown_until")),
        subject or and_more(incident["group_ids"] or (), _LONGEST),
        cause or "unknown",
        story.worst or story.headline,
        incident["incident_id"],
    )


def _finding(report: Report, names: Names, finding: Row) -> tuple[str | None, ...]:
    times = _time(report, finding["from_ts"]), _time(report, finding["to_ts"])
    subject = names.process(finding["subject"]) if finding["subject"] else finding["group_id"]
    return finding["severity"], None, *times, subject, finding["rule"], finding["headline"], finding["finding_id"]


def _time(report: Report, at: datetime | None) -> str | None:
    return at.astimezone(report.zone).isoformat(timespec="milliseconds") if at else None


def _cells(row: tuple[str | None, ...]) -> Iterator[str]:
    for value in row:
        yield printable(" ".join(value.split())) if value else "-"
