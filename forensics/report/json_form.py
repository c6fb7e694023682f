"""Write the report as JSON: the views' columns as keys, ISO 8601 times in UTC; `report-schema.json` says what users may rely on."""

from __future__ import annotations

import json
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

from forensics.report import incidents
from forensics.wording.formats import iso, printable_texts

if TYPE_CHECKING:
    from collections.abc import Iterable

    from forensics.report.model import Report
    from forensics.report.story import Story
    from forensics.report.summary import Summary


#: The version of the document's shape, and the `$id` of its schema. Within a version, keys are added and never removed.
VERSION = 1
SCHEMA = f"urn:kafka-forensics:report:{VERSION}"
#: Maximum number of occurrences that a repeated finding lists; the view `occurrence` has all.
MAX_REPEATS = 1000


def render(report: Report, incident_stories: Iterable[Story] = (), said: Summary | None = None) -> str:
    """Write the whole report as one JSON object.

    Args:
        report: what was found.
        incident_stories: the stories of its incidents, with the summary's names and sentences.
        said: the summary; None for none.
    """
    stories = {s.incident["incident_id"]: _story(s) for s in incident_stories}
    # Texts of the first screen are read, while all other parts are data.
    parts = {
        "schema": SCHEMA,
        "version": VERSION,
        "case": {**report.case, "filters": report.filters},
        **({"summary": printable_texts(_summary(said))} if said else {}),
        "brief": [printable_texts({k: v for k, v in i.items() if k != "lines"} | stories.get(i["incident_id"], {})) for i in incidents.brief(report)],
        "examined": {name: value for name, value in report.examined.items() if name != "facts"},
        "coverage": report.coverage,
        "clocks": report.clocks,
        "groups": report.groups,
        "ownership": report.ownership,
        "split_brain": report.split_brain,
        "coordinator_episodes": report.coordinator_episodes,
        "findings": [f | {"repeats": f.get("repeats", [])[:MAX_REPEATS]} for f in report.findings],
    }
    return json.dumps(parts, default=_plain, indent=1, allow_nan=False) + "\n"


def _summary(said: Summary) -> dict[str, Any]:
    """Return what every format says first, except the incidents."""
    labelled = {
        key: [{"label": label, "text": text} for label, text in rows]
        for key, rows in (("advice", said.advice_alone), ("unsettled", said.unsettled), ("notes", said.foot))
    }
    also = [{key: f[key] for key in ("severity", "headline", "finding_id")} for f in said.also]
    return {"title": said.title, "scope": said.scope, "also": also, **labelled}


def _story(story: Story) -> dict[str, Any]:
    """Return the first screen's text about an incident, as keys of the incident."""
    return {
        "story": [{"from": s.lo, "to": s.hi, "text": s.text, "where": s.where or None, "role": s.role or None} for s in story.steps],
        "impact": [{"what": h.what, "who": h.who, "lasted": h.lasted, "consequence": h.consequence} for h in story.hits],
        "now": story.now or None,
        "next": story.next or None,
        "prevent": story.prevent or None,
    }


def _plain(value: Any) -> Any:  # noqa: ANN401 (whatever a column holds)
    if isinstance(value, datetime):
        return iso(value)
    if isinstance(value, date):
        return value.isoformat()
    raise TypeError(f"no JSON form for {type(value).__name__}")
