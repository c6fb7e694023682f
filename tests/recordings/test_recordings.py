# SPDX-License-Identifier: Apache-2.0
"""The program on recordings of a real Kafka; `FORENSICS_RECORDINGS` names the directory that holds them."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from effects import early
from expected_findings import expected, found
from proof_checker import faults, read
from truth import Recording, recordings

from forensics.case.folder import open_case

ROOT = os.environ.get("FORENSICS_RECORDINGS")
FOUND = recordings(Path(ROOT)) if ROOT else []

#: Some recordings of each kind, with all their logs, are `whole`; the others are `slow`.
CHOSEN = ("3.9.1-worker_frozen", "2.3.0-worker_partitioned", "4.1.1-consumers_kip848")
GIVEN = [pytest.param(r, id=r.name, marks=() if any(name in r.name for name in CHOSEN) else pytest.mark.slow) for r in FOUND]

pytestmark = [
    pytest.mark.whole,
    pytest.mark.engine,
    pytest.mark.skipif(not FOUND, reason="FORENSICS_RECORDINGS names no directory of recordings"),
]


@pytest.fixture(scope="module", params=[None, pytest.param("broker", marks=pytest.mark.slow)], ids=["all-logs", "without-brokers"])
def withhold(request):
    return request.param


@pytest.fixture(scope="module", params=GIVEN)
def result(request, withhold, tmp_path_factory):
    from score import score

    recording: Recording = request.param
    case = tmp_path_factory.mktemp("case") / "case"
    return replace(score(recording, case, withhold), case=case)


def test_no_false_verdict(result):
    assert result.false_verdicts == []


def test_no_long_overlap_is_missed(result):
    assert result.verdicts.missed == []


def test_views_are_complete(result):
    assert result.missing == []


def test_generations(result):
    assert result.generations.right == result.generations.total, result.generations.wrong


def test_leaders_and_members_agree(result):
    assert result.generations.wrong == []


def test_ownership(result):
    if result.withheld:
        pytest.skip("bounds are wide without the brokers' logs")
    assert result.ownership.percent is None or result.ownership.percent >= 97.0, result.ownership.wrong


def test_clock_bounds_hold_the_true_skew(result):
    assert result.clocks.wrong == []


def test_every_proof_implies_its_claim(result):
    assert faults(*read(result.case)) == []


def test_nothing_begins_before_what_it_is_an_effect_of(result):
    assert early(open_case(result.case)) == []


def test_findings_are_those_that_the_truth_bears_out(result):
    """`tests/recordings/expected_findings.toml` was judged by a person; a recording that it does not name has not been judged."""
    wanted = expected().get(result.recording.name)
    if result.withheld or wanted is None:
        pytest.skip("not judged")
    got = found(result.case)
    for severity, findings in got.items():
        assert findings == wanted.get(severity, []), severity
