"""The report as JSON: the views' columns as keys, ISO 8601 times in UTC; `report-schema.json` says what users may rely on."""

from __future__ import annotations

import json
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

from forensics.report import incidents
from forensics.wording.formats import iso

if TYPE_CHECKING:
    from forensics.report.model import Report


#: The version of the document's shape, and the `$id` of the schema that says what holds for it: keys are added within it, and never taken away.
VERSION = 1
SCHEMA = f"urn:kafka-forensics:report:{VERSION}"
#: A finding of what repeats lists so many of its occurrences; the view `occurrence` has all.
MOST_REPEATS = 1000


def render(report: Report) -> str:
    """The whole report as one JSON object."""
    parts = {
        "schema": SCHEMA,
        "version": VERSION,
        "case": {**report.case, "filters": report.filters},
        "brief": incidents.brief(report),
        "examined": report.examined,
        "coverage": report.coverage,
        "clocks": report.clocks,
        "groups": report.groups,
        "ownership": report.ownership,
        "split_brain": report.split_brain,
        "coordinator_episodes": report.coordinator_episodes,
        "findings": [f | {"repeats": f.get("repeats", [])[:MOST_REPEATS]} for f in report.findings],
    }
    return json.dumps(parts, default=_plain, indent=1, allow_nan=False) + "\n"


def _plain(value: Any) -> Any:  # noqa: ANN401 (whatever a column holds)
    if isinstance(value, datetime):
        return iso(value)
    if isinstance(value, date):
        return value.isoformat()
    raise TypeError(f"no JSON form for {type(value).__name__}")
