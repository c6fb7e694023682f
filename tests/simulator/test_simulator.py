# SPDX-License-Identifier: Apache-2.0
"""The simulator and its oracle: they say what Kafka does, in lines that the catalogue knows. No Spark."""

from __future__ import annotations

from datetime import timedelta

import pytest
from histories import parse, random_history
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import Truth, both, contradictions, union, unmentioned, without
from sim_world import START
from simulator import simulate

from forensics.catalogue import patterns
from forensics.catalogue.recogniser import Recogniser

FROZEN = "tasks=b:2 seed=3 | w1+ w2+ 12s w2~15s 25s"


def shared(line, kind="thread"):
    """The longest time, in seconds, for which two workers shared a task."""
    truth = Truth(simulate(parse(line)))
    return max((end - start for s in truth.shared if s.a.worker != s.b.worker for start, end in getattr(s, kind)), default=0) / 1000


@pytest.mark.parametrize("word", ["w1*", "w1~", "12", "x1+", "w1+3s"])
def test_a_word_that_is_none_is_named(word):
    with pytest.raises(ValueError, match="no word of the language after the bar"):
        parse(f"3.9 | {word}")
    with pytest.raises(ValueError, match="no word of the language before the bar"):
        parse("4.7 | w1+")


def test_same_line_same_logs():
    texts = [{path: p.text() for path, p in simulate(parse(random_history(7))).logs.items()} for _ in range(2)]
    assert texts[0] == texts[1]


def test_a_clock_moves_the_text_and_nothing_else():
    played = simulate(parse(FROZEN))
    process = played.logs["w1/connect.log"]
    plain, ahead = process.text().splitlines(), process.text(3_600_000).splitlines()
    assert [line[25:] for line in plain] == [line[25:] for line in ahead]
    assert plain[0].startswith("[2026-03-01 12:00:00,000]")
    assert ahead[0].startswith("[2026-03-01 13:00:00,000]")


@pytest.mark.parametrize("release", ["2.3", "2.6", "3.9"])
def test_nothing_is_shared_when_nothing_goes_wrong(release):
    assert shared(f"{release} tasks=a:1,b:3 | w1+ w2+ 10s w3+ 10s w2- 10s w2+ 10s") == 0
    assert shared(f"{release} eager tasks=a:1,b:3 | w1+ w2+ 10s w3+ 10s w2- 10s w2+ 10s") == 0


def test_a_frozen_worker_wakes_beside_its_successor():
    # 2.3 never takes a task away from a worker that comes back with it.
    for release in ("3.9", "2.6 eager"):
        assert 0 < shared(f"{release} {FROZEN}", "possible") <= shared(f"{release} {FROZEN}") < shared(f"2.3 {FROZEN}") - 5


def test_a_worker_without_a_network_keeps_its_tasks_only_in_old_releases():
    line = "tasks=b:2 seed=5 | w1+ w2+ 12s w2/25s 40s"
    assert shared(f"2.3 {line}") > 15
    assert shared(f"2.6 {line}") < 5


def test_a_killed_worker_shares_nothing():
    assert shared("2.3 tasks=b:3 | w1+ w2+ 12s w2x 20s w2+ 20s") == 0


def test_a_task_that_does_not_hear_outlives_its_herders_patience():
    # What the worker gives away it still has: some seeds let a task hang for longer than task.shutdown.graceful.timeout.ms.
    assert any(shared(f"3.9 tasks=b:4 slow=0.7 seed={seed} | w1+ 8s w2+ 40s", "possible") > 10 for seed in range(6))


@settings(max_examples=30)
@given(st.integers(0, 100_000))
def test_every_simulated_line_is_of_the_catalogue(recogniser, seed):
    for process in simulate(parse(random_history(seed))).logs.values():
        for _, _, message, logger in process.lines:
            assert recogniser.recognise(logger.split(":")[0], message), message


@pytest.fixture(scope="module")
def recogniser():
    return Recogniser(patterns.load())


@settings(max_examples=60)
@given(st.integers(0, 100_000))
def test_runs_lie_in_order_and_inside_the_history(seed):
    played = simulate(parse(random_history(seed)))
    for run in played.runs:
        ends = [run.began, run.surely, run.possibly, run.ended]
        known = [e for e in ends if e is not None]
        assert known == sorted(known)
        assert known[-1] <= played.until
        # Nothing ends before what comes before it.
        assert ends == [*known, *[None] * (4 - len(known))]


intervals = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)).map(lambda x: (min(x), max(x))), max_size=6)


@given(intervals, intervals)
def test_interval_arithmetic_against_single_moments(a, b):
    moments = [x + 0.5 for x in range(50)]

    def inside(spans):
        return {m for m in moments if any(s <= m < e for s, e in spans)}

    assert inside(union(a)) == inside(a)
    assert inside(both(union(a), union(b))) == inside(a) & inside(b)
    assert inside(without(union(a), b)) == inside(a) - inside(b)


def at(ms):
    return START + timedelta(milliseconds=ms)


def row(kind, verdict, low, high, **more):
    times = {"from_lo": at(low), "from_hi": at(low), "to_lo": at(high), "to_hi": at(high)}
    return times | {"process_a": "w1", "process_b": "w2", "kind": kind, "verdict": verdict, "ownership_a": "a", "ownership_b": "b"} | more


def test_the_oracle_contradicts_what_is_false():
    truth = Truth(simulate(parse("2.3 tasks=b:2 seed=3 | w1+ w2+ 12s w2~15s 25s")))
    (pair,) = [s for s in truth.shared if s.thread]
    (start, end), (work, _) = pair.thread[0], pair.possible[0]
    owners = {
        name: {"process_id": run.worker, "start_lo": at(run.began - 20), "start_hi": at(run.began + 20)}
        for name, run in (("a", pair.a), ("b", pair.b))
    }
    names, skews = {"w1": "w1", "w2": "w2"}, {"w1": 0.0, "w2": 0.0}

    def said(*rows, ahead=0.0):
        return contradictions(truth, [r | {"resource": pair.task} for r in rows], owners, names, skews | {"w1": ahead})

    assert said(row("thread", "proved", start, end), row("work", "proved", work, end)) == []
    assert said(row("thread", "undecided", start, end)) == []
    assert "false proved work" in said(row("work", "proved", start, work - 500))[0]
    assert "not certain" in said(row("thread", "proved", start - 5_000, end))[0]
    assert "false refuted" in said(row("thread", "refuted", start, end))[0]
    # Rows on another clock are moved by it.
    assert said(row("thread", "proved", start + 9_000, end + 9_000), ahead=9_000.0) == []
    # What is only refuted, or not there, is not mentioned.
    assert len(unmentioned(truth, [], names, skews, 1_000)) == 1
    assert unmentioned(truth, [row("thread", "undecided", start, end, resource=pair.task)], names, skews, 1_000) == []
