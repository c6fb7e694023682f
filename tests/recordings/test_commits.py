# SPDX-License-Identifier: Apache-2.0
"""What a dump of `__consumer_offsets` shows, compared with what the consumers of the recordings noted themselves."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from reasoning import owners, score_commits, score_handovers, score_ledger
from score import read_all
from scoring import Clock
from truth import recordings

ROOT = os.environ.get("FORENSICS_RECORDINGS")
#: Those with a dump that has commits; the others' dumps are of groups that commit none.
FOUND = recordings(Path(ROOT), ["consumers_eager", "consumers_cooperative", "static_fenced", "4.1.1-consumers_kip848"]) if ROOT else []
GIVEN = [pytest.param(r, id=r.name, marks=() if "3.9.1-consumers_eager" in r.name else pytest.mark.slow) for r in FOUND]

pytestmark = [pytest.mark.whole, pytest.mark.engine, pytest.mark.skipif(not FOUND, reason="FORENSICS_RECORDINGS names no directory of recordings")]


@pytest.fixture(scope="module", params=GIVEN)
def recording(request):
    return request.param


@pytest.fixture(scope="module")
def rows(recording, tmp_path_factory):
    """Rows of a view of the case that has the logs and what was saved beside them."""
    return read_all(recording, tmp_path_factory.mktemp("case") / "case")


def test_commits_belong_to_those_who_made_them(recording, rows):
    commits = rows("offset_commit")
    precision, recall = score_commits(recording, commits, owners(recording, rows("member")))
    assert precision.wrong == []
    assert precision.total > 700 or not any(c["generation"] for c in commits)
    if "kip848" not in recording.name:  # such a group stores no generation with its members
        assert recall.right >= 0.99 * recall.total, recall.wrong[:10]
    assert all(c["kafka_cluster"] and c["is_next"] for c in commits)


def test_what_was_processed_twice_or_never_is_exact(recording, rows):
    clock, twice = Clock(recording, rows("process")), rows("duplicate_ledger")
    assert score_ledger(recording, twice, clock).wrong == []
    again, skipped = score_handovers(recording, twice, rows("skip_ledger"), clock)
    assert again.wrong == []
    assert skipped.wrong == []
    assert again.exact >= 0.99 * again.total >= 10
    assert skipped.exact >= 0.99 * skipped.total >= 10
