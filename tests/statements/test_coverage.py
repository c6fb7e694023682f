# SPDX-License-Identifier: Apache-2.0
"""The catalogue on every statement that Kafka's releases can print; `FORENSICS_KAFKA_FACTS` names the folder of its log statements."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from coverage import measure, report, scope, share, unknown_lines
from facts import Hole, Statement, parse, read_facts
from places import ROOT
from rendering import render

from forensics.catalogue.patterns import load
from forensics.catalogue.recogniser import Recogniser

FACTS = os.environ.get("FORENSICS_KAFKA_FACTS")
needs_facts = pytest.mark.skipif(not FACTS, reason="FORENSICS_KAFKA_FACTS names no folder")
LOADING = "kafka.coordinator.group.GroupCoordinator"


def statement(template: str, arguments: list[str] | None = None, releases: tuple[str, ...] = ("3.9.0",), logger: str = LOADING) -> Statement:
    return Statement("broker", (logger,), logger.rsplit(".", 1)[-1], "info", tuple(parse(template, arguments or [])), "m", releases)


@pytest.fixture(scope="module")
def recogniser():
    return Recogniser(load())


@pytest.fixture(scope="module")
def outcome(recogniser):
    inside, outside = scope(*read_facts(Path(FACTS)), recogniser)
    return measure(inside, recogniser), outside


@needs_facts
def test_every_statement_is_recognised(outcome):
    assert unknown_lines(outcome[0]) == []


@needs_facts
def test_no_statement_is_matched_twice(outcome):
    assert outcome[0].double == {}


@needs_facts
def test_captures_come_from_the_right_holes(outcome):
    assert outcome[0].wrong == {}


@needs_facts
def test_all_releases_and_sides_are_measured(outcome):
    releases = {release for _, _, release in outcome[0].total}
    assert {"0.9.0.0", "0.11.0.3", "2.8.2", "3.9.0", "4.0.0", "4.3.1"} <= releases
    assert sum(outcome[0].total.values()) > 40_000


@needs_facts
def test_the_committed_report_is_the_measured_one(outcome):
    committed = ROOT / "docs" / "coverage.md"
    assert committed.read_text(encoding="utf-8") == report(*outcome), "run `python tests/statements/coverage.py FACTS_DIR --write docs/coverage.md`"


def test_holes_of_a_template():
    assert list(parse("[GroupId {}] Bumped to {}.", ["groupId"])) == ["[GroupId ", Hole("groupId"), "] Bumped to ", Hole(""), "."]
    assert list(parse('x ${a.mkString(", ")} in %d ms', [])) == ["x ", Hole('a.mkString(", ")'), " in ", Hole("d"), " ms"]


def test_a_statement_as_its_release_prints_it():
    ready = statement("Discovered group coordinator {}", ["coordinator"])
    assert render(ready, "3.9.0", LOADING).endswith("broker-1:9092 (id: 2147483646 rack: null)")
    assert render(ready, "4.0.0", LOADING).endswith("(id: 2147483646 rack: null isFenced: false)")


def test_what_is_missing_is_told(recogniser):
    outcome = measure([statement("Never printed by any Kafka: {}")], recogniser)
    assert outcome.known.total() == 0
    assert len(unknown_lines(outcome)) == 1
    assert "3.9.0..3.9.0" in unknown_lines(outcome)[0]


def test_a_capture_of_the_wrong_hole_is_told(recogniser):
    outcome = measure([statement("Loading group metadata for {} with generation {}", ["memberId", "count"])], recogniser)
    (captures,) = outcome.wrong.values()
    assert any(c.startswith("group_loaded.group_id") for c in captures)


def test_a_share_is_only_full_when_nothing_is_missing():
    assert share(9_999, 10_000) == "99.9 %"
    assert share(3, 3) == "100 %"
