# SPDX-License-Identifier: Apache-2.0
"""Evidence of one trouble: what belongs together, when it was, and which causes it leaves open."""

from __future__ import annotations

from itertools import permutations

import pytest

from forensics.absences.episodes import Episode, episodes
from forensics.absences.evidence import Evidence


def evidence(kind: str, from_ms: int, to_ms: int, *, end: tuple[int, int] | None = None, is_late: bool = False, wide_ms: int = 10) -> Evidence:
    return Evidence(
        kafka_cluster="k",
        group_id="g",
        process_id="w",
        instance=1,
        member_id=f"m{from_ms}",
        kind=kind,
        is_late=is_late,
        is_placed=True,
        own_from_ms=from_ms,
        own_to_ms=to_ms,
        from_lo_ms=from_ms - wide_ms,
        from_hi_ms=from_ms + wide_ms,
        to_lo_ms=end[0] if end else None,
        to_hi_ms=end[1] if end else None,
        reference_process_id="b",
        witness=[f"e{from_ms}"],
    )


def test_what_overlaps_is_one_trouble_in_any_order():
    its = [evidence("paused", 100, 200), evidence("paused_or_cut_off", 150, 180), evidence("paused", 200, 300), evidence("paused", 500, 600)]
    for order in permutations(its):
        assert [[it.own_from_ms for it in episode.evidence] for episode in episodes(order)] == [[100, 150], [200], [500]]


@pytest.mark.parametrize(
    ("kinds", "cause", "alternatives"),
    [
        (["paused", "paused_or_cut_off"], "process_paused", []),
        (["cut_off", "paused_or_cut_off"], "member_cut_off", []),
        (["paused", "cut_off"], "unknown", ["member_cut_off", "process_paused"]),
        (["slow"], "poll_too_slow", []),
        (["silent"], "unknown", ["member_cut_off", "process_killed", "process_paused"]),
        (["silent_unsure", "silent"], "unknown", ["lines_missing", "member_cut_off", "process_killed", "process_paused"]),
        (["replaced"], "unknown", ["process_killed", "process_restarted"]),
    ],
)
def test_a_cause_is_named_only_if_the_evidence_leaves_no_other(kinds, cause, alternatives):
    episode = Episode([evidence(kind, 100, 200) for kind in kinds])
    assert (episode.cause, episode.alternatives(is_busy=False)) == (cause, alternatives)


def test_a_member_that_did_not_rejoin_in_time_may_have_been_slow():
    assert "poll_too_slow" in Episode([evidence("silent", 100, 200, is_late=True)]).alternatives(is_busy=False)


def test_a_client_that_sends_heartbeats_between_records_may_have_worked_on_one():
    assert Episode([evidence("paused_or_cut_off", 100, 200)]).alternatives(is_busy=True) == ["member_cut_off", "poll_too_slow", "process_paused"]
    assert Episode([evidence("paused", 100, 200)]).alternatives(is_busy=True) == []


def test_evidence_of_the_kind_of_trouble_decides_when_it_was():
    vague = evidence("paused_or_cut_off", 100, 400, end=(350, 450), wide_ms=90)
    exact = evidence("paused", 120, 400, end=(390, 400), wide_ms=5)
    assert Episode([vague, exact]).bounds() == (115, 125, 390, 400)


def test_a_log_that_ends_shows_no_end():
    assert Episode([evidence("silent", 100, 200, end=(150, 190))]).bounds() == (90, 110, None, None)
