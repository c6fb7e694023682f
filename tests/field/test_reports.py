# SPDX-License-Identifier: Apache-2.0
"""What the lines of logs that people posted in public prove, compared with what the first screen and the views say of them."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from places import FIELD

import forensics
from forensics.engines import SAIL

FOLDER = FIELD / "reports"
REPORTS: list[dict[str, Any]] = tomllib.loads((FIELD / "reports.toml").read_text(encoding="utf-8"))["report"]
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
    forensics.ingest([FOLDER / report["file"]], tmp_path / "case", engine=SAIL)
    case = forensics.open_case(tmp_path / "case", engine=SAIL)
    screen = " ".join(case.report().text().split())
    compared = [f for f in report["facts"] if not f.get("by_eye")]
    changed = [
        f"{'no longer right' if 'wrong' not in fact else 'right now: remove `wrong`'}: {fact['says']}"
        for fact in compared
        if _holds(case, screen, fact) == ("wrong" in fact)
    ]
    assert not changed, "\n".join([*changed, screen])


def _holds(case: forensics.Case, screen: str, fact: dict[str, Any]) -> bool:
    if "screen" in fact:
        return re.search(fact["screen"], screen) is not None
    if "never" in fact:
        return re.search(fact["never"], screen) is None
    return [list(row.values()) for row in case.sql(fact["rows"])] == fact["gives"]
