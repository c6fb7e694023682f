# SPDX-License-Identifier: Apache-2.0
"""What the lines of logs that people posted in public prove, compared with what the first screen and the views say of them."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from places import ROOT
from posted import with_section
from posted_facts import FOLDER, LIST, Compared, compare, mark, reports

REPORTS = reports()
CHECKS = ("screen", "never", "rows")
#: These are `whole`, the others `slow`: a case of each takes some seconds. They cover the kinds of programs, layouts and states.
CHOSEN = {
    "broker-four-groups-at-once.log",
    "compose-broker-and-printing-consumers.log",
    "connect-herder-null-pointer.log",
    "poll-timeout-time-of-day-only.log",
    "streams-broker-away-four-minutes.log",
}
NOT_ALONE = pytest.mark.xfail(reason="not yet compared in a case of its own", strict=False)
GIVEN = [
    pytest.param(
        r,
        id=r["file"],
        marks=[pytest.mark.whole if r["file"] in CHOSEN else pytest.mark.slow, *([] if r.get("alone", True) else [NOT_ALONE])],
    )
    for r in REPORTS
]


def test_each_excerpt_has_facts() -> None:
    assert sorted(r["file"] for r in REPORTS) == sorted(p.name for p in FOLDER.iterdir())
    assert {r["file"] for r in REPORTS} >= CHOSEN
    for report in REPORTS:
        assert report["source"]
        for fact in report["facts"]:
            assert fact["says"]
            assert sum(c in fact for c in CHECKS) == 1, fact
            assert ("rows" in fact) == ("gives" in fact), fact
            assert fact.get("wrong") in (None, "missing", "false"), fact
            for pattern in (fact[c] for c in ("screen", "never") if c in fact):
                re.compile(pattern)


@pytest.mark.parametrize("report", GIVEN)
def test_facts(report: dict[str, Any], tmp_path: Path) -> None:
    screen, found = compare(report, tmp_path)
    changed = [
        f"{'no longer right' if 'wrong' not in c.fact else 'right now: remove `wrong`'}: {c.fact['says']}"
        for c in found
        if not c.fact.get("by_eye") and c.holds == ("wrong" in c.fact)
    ]
    assert not changed, "\n".join([*changed, screen])


def test_the_page_on_accuracy_has_the_share_of_facts() -> None:
    page = (ROOT / "docs" / "accuracy.md").read_text(encoding="utf-8")
    assert with_section(page) == page


def test_a_fact_is_marked_where_its_check_fails_and_not_where_it_holds() -> None:
    text = LIST.read_text(encoding="utf-8")
    first, second = REPORTS[0]["facts"][:2]
    file = REPORTS[0]["file"]
    marked = mark(text, [(file, Compared(first, holds=False)), (file, Compared(second, holds=True))])
    now = tomllib.loads(marked)["report"][0]["facts"]
    assert [f.get("wrong") for f in now[:2]] == ["missing", None]
    assert mark(marked, [(file, Compared(now[0], holds=True))]) == text
