# SPDX-License-Identifier: Apache-2.0
"""Every proof implies its claim by itself; and the checker that says so praises what follows and catches what does not."""

from __future__ import annotations

from datetime import UTC, datetime

import proof_checker
import pytest
from expect_samples import names
from histories import parse, random_history
from proof_checker import FOREVER, Evidence, clock_fault, faults, overlap_fault, refutation_fault
from simulator import simulate
from written_logs import case_of, consumer, joined, told

T0 = datetime(2026, 3, 1, 10, tzinfo=UTC)


def line(name, process, pos, ms, event="worker_assigned", generation=None):
    told_ms = round(T0.timestamp() * 1000) + ms
    return {"event_id": name, "process_id": process, "stream_pos": pos, "ms": told_ms, "resolution_ms": 1, "event": event, "generation": generation}


def evidence(*lines, links=(), **holdings):
    return Evidence({x["event_id"]: x for x in lines}, list(links), holdings)


#: Process b answers a's message within 3 ms by its own clock, and a answers b's.
TALK = [line("a1", "a", 1, 0), line("b1", "b", 1, 3), line("b2", "b", 2, 10), line("a2", "a", 2, 12)]
LINKS = [("a1", "b1"), ("b2", "a2")]


def test_what_cited_lines_leave_to_clocks():
    told_of = evidence(*TALK, links=LINKS)
    best = told_of.offsets(["a1", "b1", "b2", "a2"])
    assert (best["a", "b"], best["b", "a"]) == (4, 3)
    assert told_of.offsets(["a1", "b1"])["b", "a"] == FOREVER
    assert told_of.offsets(["a1", "b2"])["a", "b"] == FOREVER


def claim(lo, hi, zone=None):
    return {"process_id": "b", "reference_process_id": "a", "lo_ms": lo, "hi_ms": hi, "suspect_time_zone": zone}


def test_a_clock_is_said_to_step_only_by_lines_that_contradict_each_other():
    cited = ["a1", "b1", "b2", "a2"]
    assert clock_fault(evidence(*TALK, links=LINKS), cited, claim(-3, 4), True) == "one offset satisfies all cited lines"
    early = [*TALK[:3], line("a2", "a", 2, -30)]
    assert clock_fault(evidence(*early, links=LINKS), cited, claim(-3, 4), True) is None
    back = [line("b1", "b", 1, 9_000), line("b2", "b", 2, 1_000)]
    assert clock_fault(evidence(*back), ["b1", "b2"], claim(None, None), True) is None
    assert clock_fault(evidence(*back), ["b1"], claim(None, None), True) is not None


def test_a_clock_is_said_to_be_apart_only_as_far_as_the_lines_go():
    ahead = [x | {"ms": x["ms"] + 5_000 * (x["process_id"] == "b")} for x in TALK]
    told_of, cited = evidence(*ahead, links=LINKS), ["a1", "b1", "b2", "a2"]
    assert clock_fault(told_of, cited, claim(4_997, 5_004), False) is None
    assert clock_fault(told_of, cited, claim(4_998, 5_004), False) is not None
    assert clock_fault(told_of, cited[:2], claim(4_997, 5_004), False) is not None


def held(process, start, stop, start_id=None, **more):
    begin, end = (round(T0.timestamp() * 1000) + ms for ms in (start, stop))
    return {"process_id": process, "start_hi_ms": begin, "stop_lo_ms": end, "stop_id": None, "start_id": start_id, "not_before_id": start_id} | more


def test_an_overlap_needs_lines_of_both_at_both_ends():
    lines = [*TALK, line("a3", "a", 3, 900), line("b3", "b", 3, 1_000)]
    told_of = evidence(*lines, links=LINKS, x=held("a", 0, 900), y=held("b", 10, 1_000))
    row = {"ownership_a": "x", "ownership_b": "y", "process_a": "a", "process_b": "b", "kind": "work", "certain_ms": 800}
    cited = ["a1", "b1", "b2", "a2", "a3", "b3"]
    assert overlap_fault(told_of, cited, row) is None
    assert "the claim is 950" in overlap_fault(told_of, cited, row | {"certain_ms": 950})
    assert "the cited lines show" in overlap_fault(told_of, ["a1", "b1", "b2", "a2", "b3"], row)
    assert overlap_fault(told_of, ["a1", "a3", "b2", "b3"], row) == "no cited lines bound the clocks"


def test_a_refutation_needs_an_end_before_a_start():
    lines = [*TALK, line("a3", "a", 3, 900), line("b3", "b", 3, 1_000), line("b4", "b", 4, 901)]
    row = {"ownership_a": "x", "ownership_b": "y", "process_a": "a", "process_b": "b", "clock_how": "edges"}
    for start, fine in (("b3", True), ("b4", False)):
        told_of = evidence(*lines, links=LINKS, x=held("a", 0, 900, stop_id="a3"), y=held("b", 900, 2_000, start_id=start))
        assert (refutation_fault(told_of, ["a1", "b1", "b2", "a2", "a3", start], row) is None) is fine


@pytest.mark.engine
@pytest.mark.parametrize("name", [name if name == "producer-fenced-4.3.1" else pytest.param(name, marks=pytest.mark.slow) for name in names()])
def test_every_proof_of_a_sample_implies_its_claim(name, sample_case):
    assert faults(*proof_checker.read(sample_case(name).root)) == []


@pytest.mark.slow
@pytest.mark.engine
def test_every_proof_of_histories_and_of_a_clock_that_was_set_implies_its_claim(tmp_path):
    """Histories in which clocks are set, and a log whose times go back though it answers in time: its own lines prove that, no message does."""
    logs = {}
    for n in range(12):
        logs |= {f"h{n}/{path}": p.text() for path, p in simulate(parse(random_history(700_000 + n, stepping=True)), n).logs.items()}
    first = told((1, "(Re-)joining group"), (2, joined(1, "s-id", "orders-0")))
    later = told((31, "(Re-)joining group"), (32, joined(2, "s-id", "orders-0")), (12, "(Re-)joining group"), (13, joined(3, "s-id", "orders-0")))
    logs["s/app.log"] = consumer("s", "set", *first, *later)
    logs["o/app.log"] = consumer("o", "set", *told((0.9, "(Re-)joining group"), (2, joined(1, "o-id", "orders-1")), (31, "(Re-)joining group")))
    case = case_of(logs, tmp_path)
    told_of, claims = proof_checker.read(case.root)
    assert faults(told_of, claims) == []
    (step,) = [f for f in claims["occurrence"] if f["rule"] == "clock-skew" and f["subject"] == "s/app.log"]
    assert "back by at least 20.0 s" in step["headline"]
    assert [told_of.lines[i]["process_id"] for i in step["witness"]] == ["s/app.log"] * 2
