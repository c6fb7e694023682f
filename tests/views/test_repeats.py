"""Three months of the same two troubles: what repeats is one finding, and every occurrence stays within reach."""

from __future__ import annotations

import re
from collections import Counter

import pyarrow.dataset as ds
import pytest
import three_months
from written_logs import case_of

from forensics.report import content, reading, selection, text

pytestmark = [pytest.mark.engine, pytest.mark.slow]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory):
    logs, cluster = three_months.write()
    return case_of(logs, tmp_path_factory.mktemp("three-months")), cluster


def rows(case, view: str) -> list[dict]:
    return ds.dataset(case.view_path(view), format="parquet").to_table().to_pylist()


def test_three_months_of_the_same_trouble_are_a_handful_of_findings(told) -> None:
    case, cluster = told
    findings = rows(case, "finding")
    assert len(findings) <= 6
    of = {f["rule"]: f for f in findings}
    assert of["session-timeout"]["occurrences"] == cluster.frozen
    assert of["coordinator-unavailable"]["occurrences"] == cluster.cut_off
    worst = of["coordinator-unavailable"]
    lost = [o for o in rows(case, "occurrence") if o["finding_id"] == worst["finding_id"]]
    assert worst["worst_ms"] == max(o["lasted_ms"] for o in lost)
    assert (worst["from_ts"], worst["to_ts"]) == (min(o["from_ts"] for o in lost), max(o["to_ts"] for o in lost))
    assert f"(the longest of {cluster.cut_off} for 3 subjects, from 2026-08-" in worst["headline"]


def test_every_occurrence_has_its_finding_and_its_lines(told) -> None:
    case, _ = told
    findings = {f["finding_id"]: f for f in rows(case, "finding")}
    occurrences = rows(case, "occurrence")
    assert len({o["occurrence_id"] for o in occurrences}) == len(occurrences) == sum(f["occurrences"] for f in findings.values())
    assert {o["finding_id"] for o in occurrences} == set(findings)
    assert all(o["witness"] for o in occurrences if o["rule"] in ("session-timeout", "coordinator-unavailable"))
    # A finding cites its worst occurrence, and a few lines of the first and the last, however often it happened.
    cited = {o["occurrence_id"]: len(o["witness"]) for o in occurrences}
    assert all(len(f["witness"]) <= cited[f["worst_id"]] + 8 for f in findings.values())


def test_the_brief_counts_for_an_incident_what_belongs_to_it(told) -> None:
    case, _ = told
    of = Counter((o["incident_id"], o["rule"]) for o in rows(case, "occurrence") if o["incident_id"])
    found = reading.read(case, selection.Filters())
    told_of = text.as_text(content.first_screen(found), 2000)
    said = [int(n.replace(",", "")) for n in re.findall(r"\(([0-9,]+) tim", told_of)]
    assert all(n <= max(of.values()) for n in said)


def test_the_report_of_three_months_stays_readable(told) -> None:
    case, _ = told
    assert len(text.as_text(content.compose(reading.read(case, selection.Filters())), 110).splitlines()) < 700
