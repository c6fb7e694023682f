# SPDX-License-Identifier: Apache-2.0
"""One line for each incident, as scripts read it."""

from __future__ import annotations

import pytest
from made_case import written

import forensics
from forensics.report.oneline import COLUMNS


@pytest.fixture
def report(tmp_path):
    return forensics.open_case(written(tmp_path / "case").root).report


def test_each_line_has_all_columns_and_the_id_of_its_incident(report):
    rows = [dict(zip(COLUMNS, line.split("\t"), strict=True)) for line in report().oneline.splitlines()]
    incidents = {i["incident_id"]: i for i in report().model.incidents}
    shown = [row for row in rows if row["id"] in incidents]
    assert shown
    for row in shown:
        incident = incidents[row["id"]]
        assert row["severity"] == incident["severity"]
        assert row["state"] in ("over", "not over", "not shown", "-")
        began = incident["from_hi"] or incident["from_lo"]
        assert row["from"] == (began.isoformat(timespec="milliseconds") if began else "-")


def test_the_worst_is_first_and_every_finding_without_an_incident_has_a_line(report):
    ids = [line.split("\t")[-1] for line in report().oneline.splitlines()]
    alone = {f["finding_id"] for f in report().model.findings if not f["incident_id"] and f["severity"] != "note"}
    assert alone <= set(ids)
    order = ["critical", "warning", "note"]
    severities = [line.split("\t")[0] for line in report().oneline.splitlines() if line.split("\t")[-1] not in alone]
    assert severities == sorted(severities, key=order.index)


def test_without_an_incident_the_line_has_the_title(tmp_path):
    (line,) = forensics.open_case(written(tmp_path / "case", views={}).root).report().oneline.splitlines()
    row = dict(zip(COLUMNS, line.split("\t"), strict=True))
    assert row["severity"] == "none"
    assert row["worst damage"] in forensics.open_case(tmp_path / "case").report().brief
