# SPDX-License-Identifier: Apache-2.0
"""The verdicts on random histories, held against an oracle that knows what was true.

Fifty histories make one case, so that one run judges them all. The slow tests judge two thousand more, in cases of five hundred, and the
first fifty with lines, files and clocks changed. `FORENSICS_SEED` sets where the random numbers begin, for a long hunt. A failure names the history as one line that
plays it again.
"""

from __future__ import annotations

import os
import random
from collections import Counter

import pytest
from histories import parse, random_history
from judging import damage, judge
from oracle import Truth, contradictions, contradictions_whatever_the_clocks, unmentioned
from simulator import simulate

HISTORIES, MANY, BATCHES = 50, 500, 4
SEED = int(os.environ.get("FORENSICS_SEED", "1"))

pytestmark = pytest.mark.engine


def histories(begin, count=HISTORIES, stepping=False):
    return [simulate(parse(random_history(SEED * 100_000 + begin + n, stepping)), n) for n in range(count)]


@pytest.fixture(scope="module")
def played():
    return histories(0)


@pytest.fixture(scope="module")
def plain(played, tmp_path_factory):
    return judge(played, tmp_path_factory.mktemp("plain"))


def false_of(judged):
    found = []
    for one in judged:
        faults = contradictions(Truth(one.played), one.rows, one.ownerships, one.worker_of, one.reference_skew_ms)
        found += [f"{one.played.history.text}: {fault}" for fault in faults]
    return found


def changes(before, after):
    """Pairs of verdicts of the same two ownerships in two runs, with the history's line."""
    for one, other in zip(before, after, strict=True):
        told = other.verdicts()
        for key, verdict in one.verdicts().items():
            yield one.played.history.text, key, verdict, told.get(key)


def test_no_verdict_is_false(plain):
    assert false_of(plain) == []


def silent_of(judged):
    return [
        f"{one.played.history.text}: {fault}"
        for one in judged
        for fault in unmentioned(Truth(one.played), one.rows, one.worker_of, one.reference_skew_ms, 1_000)
    ]


def test_overlaps_are_mentioned(plain):
    assert silent_of(plain) == []


def test_verdicts_are_not_evaded(plain):
    """With all logs at hand, most pairs are decided; an oracle never contradicts a program that never says anything."""
    said = Counter(v for one in plain for v in one.verdicts().values())
    assert said["proved"] > HISTORIES / 10
    assert said["refuted"] > HISTORIES / 10
    assert said["proved"] + said["refuted"] > said["undecided"]


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(BATCHES))
def test_no_verdict_of_many_more_is_false(batch, tmp_path):
    judged = judge(histories(HISTORIES + batch * MANY, MANY), tmp_path)
    assert false_of(judged) == []
    assert silent_of(judged) == []


@pytest.mark.slow
def test_lost_lines_make_no_verdict_false(played, plain, tmp_path):
    rng = random.Random(SEED)

    def change(one, path, text):
        luck = rng.random()
        return None if luck < 0.1 else damage(text, rng) if luck < 0.6 else text

    judged = judge(played, tmp_path, change=change)
    assert false_of(judged) == []


@pytest.mark.slow
def test_without_brokers_no_verdict_is_false(played, plain, tmp_path):
    judged = judge(played, tmp_path, change=lambda one, path, text: None if path.startswith("broker") else text)
    assert false_of(judged) == []
    opposite = {("proved", "refuted"), ("refuted", "proved")}
    assert [c for c in changes(plain, judged) if (c[2], c[3]) in opposite] == []


@pytest.mark.slow
def test_a_clock_set_ahead_changes_no_verdict(played, plain, tmp_path):
    judged = judge(played, tmp_path, ahead_ms={"w1": 7_654_321.0, "w3": -60_000.0})
    assert false_of(judged) == []
    assert [c for c in changes(plain, judged) if c[2] != c[3]] == []


@pytest.mark.slow
def test_the_order_of_files_changes_no_verdict(played, plain, tmp_path):
    judged = judge(played, tmp_path, rename=lambda one: f"z{9_999 - int(one.name[1:])}")
    assert [c for c in changes(plain, judged) if c[2] != c[3]] == []


@pytest.mark.slow
def test_clocks_that_are_set_make_no_verdict_false(tmp_path):
    """Nor do they make the program dumb: messages alone decide hand-overs."""
    judged = judge(histories(0, stepping=True), tmp_path)
    found = []
    for one in judged:
        faults = contradictions_whatever_the_clocks(Truth(one.played), one.rows, one.ownerships, one.worker_of)
        found += [f"{one.played.history.text}: {fault}" for fault in faults]
    assert found == []
    said = Counter(v for one in judged for v in one.verdicts().values())
    assert said["refuted"] > HISTORIES / 10
