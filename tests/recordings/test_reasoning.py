# SPDX-License-Identifier: Apache-2.0
"""The comparison of derived times and counts with the truth: it praises the truth, and it catches each kind of error. No Spark."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from handovers import handover_lines
from reasoning import readings, score_ledger, score_pauses, score_unowned
from scoring import Clock
from truth import Recording

T0 = 1_800_000_000_000


def at(seconds):
    return datetime.fromtimestamp(T0 / 1000 + seconds, UTC)


def part(number, **more):
    return {"topic": "orders", "partition": number} | more


def line(seconds, name, *partitions):
    return {"timestamp": T0 + round(seconds * 1000), "name": name, "partitions": list(partitions)}


@pytest.fixture
def recording(tmp_path):
    """c1 reads orders-0 from 0 to 40 and is frozen; c2 begins again at 30 at 20 s; c1 gives up at 25 s and gets orders-1 at 27 s."""
    deeds = [{"t_ms": T0, "did": "brokers started"}]
    deeds += [{"t_ms": T0, "did": "consumer started", "consumer": c, "group": "g"} for c in ("c1", "c2")]
    deeds += [{"t_ms": T0 + 60_000, "did": "scenario ends"}]
    (tmp_path / "truth").mkdir()
    told = {
        "c1": [
            line(1, "partitions_assigned", part(0)),
            line(2, "records_consumed", part(0, minOffset=0, maxOffset=40)),
            line(25, "partitions_revoked", part(0)),
            line(27, "partitions_assigned", part(1)),
        ],
        "c2": [
            line(20, "partitions_assigned", part(0)),
            line(21, "records_consumed", part(0, minOffset=30, maxOffset=50)),
            line(30, "partitions_revoked", part(0)),
        ],
    }
    for name, lines in told.items():
        (tmp_path / "truth" / f"{name}.jsonl").write_text("".join(json.dumps(x) + "\n" for x in lines))
    (tmp_path / "truth.json").write_text(json.dumps({"version": "3.9.1", "scenario": "made_up", "deeds": deeds}))
    return Recording(tmp_path)


@pytest.fixture
def clock(recording):
    return Clock(recording, [])


def ledger(low, high, restarted=30):
    places = {"old_process_id": "c1/consumer.log", "new_process_id": "c2/consumer.log", "resource": "orders-0", "how": "refused_commit"}
    return [places | {"restarted_hi": at(20), "restarted_at": restarted, "old_from": 0, "records_lo": low, "records_hi": high}]


def test_readings_are_what_was_read_between_two_assignments(recording):
    assert {key: [len(r.offsets) for r in spans] for key, spans in readings(recording).items()} == {
        ("c1", "orders-0"): [41],
        ("c1", "orders-1"): [0],
        ("c2", "orders-0"): [21],
    }


@pytest.mark.parametrize(("low", "high", "right", "exact"), [(11, 11, 1, 1), (0, None, 1, 0), (5, 20, 1, 0), (12, None, 0, 0), (10, 10, 0, 0)])
def test_records_read_twice(recording, clock, low, high, right, exact):
    found = score_ledger(recording, ledger(low, high), clock)
    assert (found.right, found.exact, found.total, found.true) == (right, exact, 1, 11)


def unowned(start, end):
    return [
        {"resource_kind": "partition", "resource": "orders-0", "previous_process_id": "c2/consumer.log", "next_process_id": None, "why": "rebalance"}
        | {"from_lo": at(start), "from_hi": at(start), "to_lo": at(end), "to_hi": at(end)}
    ]


def test_time_without_an_owner(recording, clock):
    precision, recall = score_unowned(recording, unowned(30, 60), clock)
    assert (precision.right, precision.total, precision.wrong) == (1, 1, [])
    assert recall.said == recall.true - 0
    assert (recall.right, recall.total) == (2, 2) if recall.total == 2 else (1, 1)


def test_an_owner_who_was_there_is_no_hole(recording, clock):
    precision, _ = score_unowned(recording, unowned(22, 60), clock)
    assert precision.right == 0


def pause(start, end):
    return [{"process_id": "c1/consumer.log", "paused_from_ts": at(start), "paused_to_ts": at(end), "paused_ms": (end - start) * 1000}]


@pytest.mark.parametrize(("start", "end", "right"), [(25, 27, 1), (20, 27, 0), (40, 45, 0)])
def test_pauses(recording, clock, start, end, right):
    claimed, found = score_pauses(recording, pause(start, end), clock)
    assert claimed.right == right
    assert found.total == 1


def test_the_page_has_the_figures_of_handovers():
    page = (Path(__file__).resolve().parents[2] / "docs" / "accuracy.md").read_text(encoding="utf-8")
    assert "\n".join(handover_lines()) in page
