# SPDX-License-Identifier: Apache-2.0
"""The scorer itself: it praises the truth, and it catches each kind of error. A made-up recording, no Spark."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from causes import done, score_causes
from closing import closings, working_spans
from dump_offsets import StoredGeneration, read_dump
from questions import score_failures, score_producers, score_streams
from scoring import Clock, score_clocks, score_generations, score_ownership
from truth import Recording, overlaps
from verdicts import score_split_brain

T0 = 1_800_000_000_000
SKEW_S = 41.0


def at(seconds, skew=0.0):
    return datetime.fromtimestamp(T0 / 1000 + seconds + skew, UTC)


@pytest.fixture
def recording(tmp_path):
    """w1 runs orders-0, is frozen from 10 s to 30 s, works until 33 s; w2 (clock 41 s ahead) runs it from 20 s."""
    deeds = [{"t_ms": T0, "did": "brokers started"}]
    deeds += [{"t_ms": T0, "did": "worker started", "worker": w, "group": "g", "skew": s} for w, s in (("w1", None), ("w2", SKEW_S))]
    deeds += [{"t_ms": T0 + 60_000, "did": "scenario ends"}]
    lines = [
        (0, "w1", "running", []),
        (0, "w2", "running", []),
        (5, "w1", "running", ["orders-0"]),
        (10, "w1", "stopped", ["orders-0"]),
        (20, "w2", "running", ["orders-0"]),
        (30, "w1", "running", ["orders-0"]),
        (33, "w1", "running", []),
    ]
    (tmp_path / "truth").mkdir()
    rows = [{"t_ms": T0 + t * 1000, "worker": w, "state": s, "pid": 1, "tasks": tasks} for t, w, s, tasks in lines]
    (tmp_path / "truth" / "threads.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    (tmp_path / "truth.json").write_text(json.dumps({"version": "3.9.1", "scenario": "made_up", "deeds": deeds}))
    for worker in ("w1", "w2"):
        (tmp_path / "logs" / worker).mkdir(parents=True)
        (tmp_path / "logs" / worker / "connect.log").write_text("")
    stop = "[2027-01-15 08:00:32,000] INFO [orders|task-0] Stopping task orders-0 (org.apache.kafka.connect.runtime.Worker:900)\n"
    (tmp_path / "logs" / "w1" / "connect.log").write_text(stop)
    return Recording(tmp_path)


def processes(reference):
    return [{"process_id": p, "reference_process_id": reference} for p in ("w1/connect.log", "w2/connect.log", "broker-1/server.log")]


def ownership(process, start, stop, skew=0.0, wide=0.0):
    stops = {"stop_lo": at(stop - wide, skew), "stop_hi": at(stop + wide, skew)} if stop else {"stop_lo": at(60, skew), "stop_hi": None}
    return {"resource_kind": "task", "resource": "orders-0", "process_id": process, "start_lo": at(start, skew), "start_hi": at(start, skew)} | stops


OWNED = [
    {"ownership_id": "a", "resource_kind": "task", "resource": "orders-0", "process_id": "w1/connect.log", "start_lo": at(5), "start_hi": at(5)},
    {"ownership_id": "b", "resource_kind": "task", "resource": "orders-0", "process_id": "w2/connect.log", "start_lo": at(20), "start_hi": at(20)},
]


def split(kind, verdict, start, end, skew=0.0):
    times = {"from_lo": at(start, skew), "from_hi": at(start, skew), "to_lo": at(end, skew), "to_hi": at(end, skew)}
    who = {"resource_kind": "task", "resource": "orders-0", "process_a": "w1/connect.log", "process_b": "w2/connect.log"}
    return who | {"kind": kind, "verdict": verdict, "ownership_a": "a", "ownership_b": "b"} | times


def clock(recording, reference="broker-1/server.log"):
    return Clock(recording, processes(reference))


def test_truth_is_read(recording):
    true = overlaps(recording.thread_spans, {"w1": "g", "w2": "g"})
    assert [(o.kind, o.from_ms - T0, o.to_ms - T0) for o in true] == [("thread", 20_000, 30_000), ("work", 30_000, 33_000)]
    assert [(c.worker, c.asked_ms - T0, c.closed_ms) for c in closings(recording)] == [("w1", 32_000, None)]
    certain, possible = working_spans(recording)
    assert [(s.end_ms - T0) for s in certain if s.owner == "w1"] == [10_000, 32_000]
    assert [(s.end_ms - T0) for s in possible if s.owner == "w1"] == [10_000, 33_000]


@pytest.mark.parametrize(("reference", "skew"), [("broker-1/server.log", 0.0), ("w2/connect.log", SKEW_S)])
def test_true_ownership_scores_full(recording, reference, skew):
    rows = [ownership("w1/connect.log", 5, 33, skew), ownership("w2/connect.log", 20, None, skew)]
    score = score_ownership(recording, rows, clock(recording, reference))
    assert (score.percent, score.wrong) == (100.0, [])


@pytest.mark.parametrize(
    ("rows", "fault"),
    [
        ([ownership("w1/connect.log", 5, 33)], "orders-0 on w2 had a thread, but `ownership` says that it had none (40.0 s)"),
        (
            [ownership("w1/connect.log", 5, 43), ownership("w2/connect.log", 20, None)],
            "orders-0 on w1 had no thread, but `ownership` says that it had one (9.8 s)",
        ),
        ([ownership("w1/connect.log", 5, 33, wide=3), ownership("w2/connect.log", 20, None)], "wide"),
    ],
)
def test_faults_of_ownership_are_named(recording, rows, fault):
    assert fault in score_ownership(recording, rows, clock(recording)).wrong[0]


def test_true_verdicts_are_right(recording):
    rows = [split("thread", "proved", 20, 33), split("work", "proved", 30, 32)]
    found = score_split_brain(recording, rows, OWNED, clock(recording))
    assert (found.false_proved, found.false_refuted, found.missed, found.true_overlaps) == ([], [], [], 1)


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (split("work", "proved", 20, 28), "no true overlap then"),
        (split("thread", "proved", 20, 50), "certain for 30000 ms, truly 13200 ms"),
        (split("thread", "proved", 35, 36), "no true overlap then"),
    ],
)
def test_false_proof_is_caught(recording, row, words):
    found = score_split_brain(recording, [row], OWNED, clock(recording))
    assert len(found.false_proved) == 1
    assert words in found.false_proved[0]


def test_false_refutation_is_caught(recording):
    found = score_split_brain(recording, [split("thread", "refuted", 40, 45)], OWNED, clock(recording))
    assert len(found.false_refuted) == 1
    other = [OWNED[0], OWNED[1] | {"start_lo": at(40), "start_hi": at(41)}]
    assert score_split_brain(recording, [split("thread", "refuted", 40, 45)], other, clock(recording)).false_refuted == []


def test_silence_is_missed(recording):
    found = score_split_brain(recording, [], OWNED, clock(recording))
    assert len(found.missed) == 1
    assert score_split_brain(recording, [split("thread", "undecided", 20, 33)], OWNED, clock(recording)).missed == []


def test_clocks(recording):
    rows = [{"process_id": "w2/connect.log", "reference_process_id": "broker-1/server.log", "lo_ms": 40_998, "hi_ms": 41_002}]
    score, widest = score_clocks(recording, rows)
    assert (score.right, score.total, widest) == (1, 1, 4.0)
    assert score_clocks(recording, [rows[0] | {"hi_ms": 40_999}])[0].wrong


def test_generations():
    stored = [StoredGeneration("g", 1, "m1", frozenset({"m1"})), StoredGeneration("g", 2, "m1", frozenset({"m1", "m2"}))]
    row = {"group_id": "g", "generation": 1, "leader_member_id": "m1", "member_count": 1}
    score = score_generations(stored, [row])
    assert (score.right, score.total, score.wrong) == (1, 2, ["g generation 2: not found"])
    assert score_generations(stored, [row], printed={("g", 1)}).percent == 100.0
    assert "leader" in score_generations(stored[:1], [row | {"leader_member_id": "m2"}]).wrong[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            'offset: 0 position: 0 key: {"metadata":"g"} payload: {"protocolType":"connect","protocol":"default","generationId":3,'
            '"assignment":"{m1=2E6D31,m2=2E6D31}"}',
            StoredGeneration("g", 3, "m1", frozenset({"m1", "m2"})),
        ),
        (
            '| offset: 0 key: group_metadata::group=g payload: {"protocolType":"consumer","protocol":"range","generationId":4,'
            '"assignment":"{a-1=[orders-0, orders-1], a-2=[]}"}',
            StoredGeneration("g", 4, None, frozenset({"a-1", "a-2"})),
        ),
        (
            '| offset: 0 key: {"type":"2","data":{"group":"g"}} payload: {"version":"3","data":{"generation":5,"leader":"m1",'
            '"members":[{"memberId":"m1"}]}}',
            StoredGeneration("g", 5, "m1", frozenset({"m1"})),
        ),
        (
            'baseOffset: 0 lastOffset: 1\n| offset: 0 key: {"type":"5","data":{"groupId":"g","memberId":"m1"}} payload: {"data":{}}\n'
            '| offset: 1 key: {"type":"3","data":{"groupId":"g"}} payload: {"data":{"epoch":6}}',
            StoredGeneration("g", 6, None, frozenset({"m1"})),
        ),
        ("Error: Could not find or load main class kafka.tools.DumpLogSegments", None),
    ],
)
def test_dumps_of_several_releases(text, expected):
    assert read_dump(text) == ([expected] if expected else [])


@pytest.fixture
def misfortunes(tmp_path):
    """w2, whose clock is 41 s ahead, is frozen from 10 s to 30 s; w1 is killed at 40 s and is back at 50 s; broker 1 is stopped at 70 s."""
    deeds = [{"t_ms": T0, "did": "brokers started", "n": 1, "offsets_rf": 1}]
    deeds += [{"t_ms": T0, "did": "worker started", "worker": w, "group": "g", "skew": s} for w, s in (("w1", None), ("w2", SKEW_S))]
    deeds += [{"t_ms": T0 + t * 1000, "did": f"worker {what}", "worker": "w2"} for t, what in ((10, "paused"), (30, "resumed"))]
    deeds += [{"t_ms": T0 + 40_000, "did": "worker killed", "worker": "w1"}]
    deeds += [{"t_ms": T0 + 50_000, "did": "worker started", "worker": "w1", "group": "g", "skew": None}]
    deeds += [{"t_ms": T0 + 70_000, "did": "broker stopped", "broker": 1}, {"t_ms": T0 + 90_000, "did": "scenario ends"}]
    (tmp_path / "truth.json").write_text(json.dumps({"version": "3.9.1", "scenario": "made_up", "deeds": deeds}))
    return Recording(tmp_path)


def incident(cause, subject, *bounds, alternatives=(), times=1):
    """Bounds in seconds: began at the earliest, at the latest, ended at the earliest, at the latest."""
    moments = [None if b is None else at(b) for b in (*bounds, None, None, None, None)]
    names = ("from_lo", "from_hi", "to_lo", "to_hi")
    return {"cause": cause, "subject": subject, "alternatives": list(alternatives), "times": times} | dict(zip(names, moments, strict=False))


TRUE_CAUSES = [
    incident("process_paused", "w2/connect.log", 9, 15, 16, 31),
    incident("process_killed", "w1/connect.log", 39, 46, 51, 51),
    incident("broker_down", "broker 1", 70, 70),
    incident("clock_wrong", "w2/connect.log"),
]


def causes(recording, rows, withheld=()):
    return score_causes(recording, rows, clock(recording), processes("broker-1/server.log"), list(withheld))


def test_true_causes_are_right(misfortunes):
    found = causes(misfortunes, TRUE_CAUSES)
    assert (found.right, found.open, found.total, found.missed, found.false) == (4, 0, 4, [], [])


def test_a_cause_that_is_left_open_is_none_that_is_wrong(misfortunes):
    left = incident("unknown", "w2/connect.log", 9, 15, 16, 31, alternatives=["member_cut_off", "process_paused"])
    nothing = incident("unknown", "w1/connect.log", 60, 61)
    found = causes(misfortunes, [left, *TRUE_CAUSES[1:], nothing])
    assert (found.right, found.open, found.unknown, found.missed, found.false) == (3, 1, 1, [], [])


@pytest.mark.parametrize(
    ("row", "missed"),
    [
        (incident("member_cut_off", "w2/connect.log", 9, 15, 16, 31), ["worker paused w2"]),
        (incident("process_paused", "w1/connect.log", 9, 15, 16, 31), ["worker paused w2"]),
        (incident("process_paused", "w2/connect.log", 12, 15, 16, 31), ["worker paused w2"]),
        (incident("process_paused", "w2/connect.log", 9, 15, 16, 28), ["worker paused w2"]),
        (incident("unknown", "w2/connect.log", 9, 15, 16, 31, alternatives=["member_cut_off", "process_killed"]), ["worker paused w2"]),
    ],
    ids=["another cause", "another process", "it began before", "it ended later", "not among the alternatives"],
)
def test_a_false_cause_is_caught(misfortunes, row, missed):
    found = causes(misfortunes, [row, *TRUE_CAUSES[1:]])
    assert (found.missed, len(found.false)) == (missed, 1)


def test_what_is_not_said_is_missed(misfortunes):
    assert causes(misfortunes, []).missed == ["worker paused w2", "worker killed w1", "broker stopped 1", "clock of w2 +41 s"]
    assert [d.what for d in done(misfortunes)] == ["worker paused w2", "worker killed w1", "broker stopped 1", "clock of w2 +41 s"]


def test_the_end_of_all_is_no_incident(misfortunes):
    assert causes(misfortunes, [*TRUE_CAUSES, incident("process_restarted", "w1/connect.log", 91, 91, 95, 95)]).false == []


# --- producers, Streams, failed tasks


@pytest.fixture
def clients(tmp_path):
    """p1 is given epoch 0 at 5 s; a thread of s1 has task 0_1 from 10 s to 20 s; b-0 fails on w1 between 30 s and 31 s."""
    deeds = [
        {"t_ms": T0, "did": "worker started", "worker": "w1", "ip": "10.0.0.1", "group": "g", "skew": None},
        {"t_ms": T0, "did": "producer started", "producer": "p1"},
        {"t_ms": T0, "did": "streams started", "streams": "s1", "application_id": "app"},
        {"t_ms": T0 + 60_000, "did": "scenario ends"},
    ]
    trace = "org.ConnectException: x\n\tat a.B\nCaused by: java.net.SocketTimeoutException: Read timed out\n\tat c.D"
    tasks = [{"id": 0, "state": "RUNNING", "worker_id": "10.0.0.1:8083"}, {"id": 0, "state": "FAILED", "worker_id": "10.0.0.1:8083", "trace": trace}]
    status = [{"t_ms": T0 + t, "status": {"b": {"status": {"tasks": [task]}}}} for t, task in zip((30_000, 31_000), tasks, strict=True)]
    (tmp_path / "truth.json").write_text(json.dumps({"version": "4.3.1", "scenario": "made_up", "deeds": deeds, "status": status}))
    threads = [(0, []), (10, ["0_1"]), (20, [])]
    said = {
        "p1": [{"t_ms": T0 + 5_000, "event": "initialised", "producer_id": 7, "epoch": 0}],
        "s1": [{"t_ms": T0 + t * 1000, "threads": [{"active": active, "standby": []}]} for t, active in threads],
    }
    (tmp_path / "truth").mkdir()
    for name, lines in said.items():
        (tmp_path / "truth" / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return Recording(tmp_path)


def session(process="p1/producer.log", epoch=0, start=5.0):
    times = {"start_lo": at(start), "start_hi": at(start)}
    return {"process_id": process, "transactional_id": "t", "producer_id": 7, "first_epoch": epoch} | times


def test_producers_are_compared_by_process_epoch_and_time(clients):
    def compared(*rows):
        score = score_producers(clients, list(rows), Clock(clients, []))
        return score.right, score.total, len(score.wrong)

    assert compared(session()) == (1, 1, 0)
    assert compared(session(), session("connect.log", 3)) == (1, 1, 0)  # of another program: nothing to compare it with
    assert compared(session("p1/producer.log", 1)) == (0, 1, 2)  # missing, and never so
    assert compared(session(start=9.0)) == (0, 1, 2)
    assert compared() == (0, 1, 1)


def test_tasks_of_streams_are_compared_at_each_sample(clients):
    def percent(start, stop, role="active"):
        times = {"start_lo": at(start), "start_hi": at(start), "stop_lo": at(stop), "stop_hi": at(stop)}
        row = {"process_id": "s1/streams.log", "task": "0_1", "role": role} | times
        return score_streams(clients, [row], Clock(clients, [])).percent

    assert percent(10, 20) == 100.0
    assert percent(9.5, 20) == 100.0  # given, and still being restored
    assert percent(10, 30) == pytest.approx(85.0, abs=1)
    assert percent(15, 20) == pytest.approx(93.3, abs=1)
    assert percent(10, 20, "standby") == pytest.approx(83.3, abs=4)


def test_failed_tasks_are_compared_by_worker_time_and_cause(clients):
    def right(process="w1/connect.log", failed=30.5, innermost="java.net.SocketTimeoutException: Read timed out"):
        row = {"resource_kind": "task", "resource": "b-0", "process_id": process, "failed_lo": at(failed), "innermost": innermost}
        score = score_failures(clients, [row], Clock(clients, []))
        return score.right, score.total

    assert right() == (1, 1)
    assert right(process="w2/connect.log") == (0, 1)
    assert right(failed=40) == (0, 1)
    assert right(innermost="org.ConnectException: x") == (0, 1)
