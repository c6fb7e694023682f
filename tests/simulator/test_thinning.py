# SPDX-License-Identifier: Apache-2.0
"""Lines taken away may make a verdict undecided, never reverse it, never make a proof, and no ownership certain that was none."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from expect_samples import SAMPLES
from histories import parse, random_history
from judging import judge
from oracle import Truth, contradictions
from simulator import simulate
from thinning import OF_ONE, WAYS, late_starts, read_copies, reversed_verdicts, truth_says, uncertain, write_copies
from truth import recordings

ROOT = os.environ.get("FORENSICS_RECORDINGS")
FOUND = recordings(Path(ROOT)) if ROOT else []
SEED = int(os.environ.get("FORENSICS_SEED", "1"))

LINE = "[2026-03-01 10:00:{:02d},000] INFO [Worker clientId=connect-1, groupId=g] Rebalance started ({})\n"
TEXT = "".join(LINE.format(s, "org.apache.kafka.connect.runtime.distributed.WorkerCoordinator:225") for s in range(60))


@pytest.mark.parametrize("how", sorted(WAYS))
def test_a_thinned_log_holds_lines_of_the_whole_one_in_order(how):
    lines = iter(TEXT.splitlines())
    assert all(line in lines for line in WAYS[how](TEXT, random.Random(3)).splitlines())


def test_a_stretch_has_its_length():
    assert len(WAYS["5s"](TEXT, random.Random(1)).splitlines()) in range(55, 60)


@pytest.mark.parametrize("how", sorted(OF_ONE))
def test_one_log_suffers_and_the_others_are_whole(how, tmp_path):
    for name in ("w1", "w2", "w3"):
        (tmp_path / "logs" / name).mkdir(parents=True)
        (tmp_path / "logs" / name / "connect.log").write_text(TEXT, encoding="utf-8")
    write_copies(tmp_path / "logs", tmp_path, [how], SEED)
    texts = [path.read_text(encoding="utf-8") for path in sorted((tmp_path / "c001").rglob("*.log"))]
    assert len(texts) == 3
    assert sum(text != TEXT for text in texts) == 1


def thinned(logs, root, ways, seed):
    copies = write_copies(logs, root, ways, seed)
    read_copies(copies, root)
    return copies


@pytest.mark.engine
@pytest.mark.slow
def test_a_thinned_sample_says_no_false_word(tmp_path):
    whole, *others = thinned(
        SAMPLES / "split-brain-frozen-worker-3.9.1", tmp_path, ["5%", "5%", "20%", "20%", "20s", "15s of one log", "clients"], SEED
    )
    assert {row["verdict"] for row in whole.rows["split_brain"]} >= {"proved", "refuted"}
    assert all(copy.rows["holding"] and copy.rows["split_brain"] for copy in others if copy.how in ("5%", "20s"))
    faults = [(c.name, c.how, fault) for c in others for fault in uncertain(whole, c) + late_starts(whole, c) + reversed_verdicts(whole, c)]
    assert faults == []


@pytest.mark.slow
@pytest.mark.engine
@pytest.mark.skipif(not FOUND, reason="FORENSICS_RECORDINGS names no directory of recordings")
@pytest.mark.parametrize("recording", FOUND, ids=lambda r: r.name)
def test_a_thinned_recording_says_no_false_word(recording, tmp_path):
    whole, *others = thinned(recording.logs, tmp_path, list(WAYS | OF_ONE), SEED)
    known = truth_says(recording, whole)[0]
    found = [
        (c.name, c.how, fault)
        for c in others
        for fault in [
            *(f for f in truth_says(recording, c)[0] if f not in known),
            *uncertain(whole, c),
            *late_starts(whole, c),
            *reversed_verdicts(whole, c),
        ]
    ]
    assert found == []
    # The certain share hardly shrinks with one line in twenty removed.
    shares = {c.how: truth_says(recording, c)[1].percent for c in (whole, *others)}
    assert shares[""] is None or shares["5%"] >= min(95.0, shares[""] - 2.0)


@pytest.mark.slow
@pytest.mark.engine
@pytest.mark.parametrize("how", ["1%", "5%", "20%", "5s", "loggers"])
def test_thinned_histories_make_no_verdict_false(how, tmp_path):
    rng = random.Random(SEED)
    played = [simulate(parse(random_history(SEED * 100_000 + n)), n) for n in range(100)]
    judged = judge(played, tmp_path, change=lambda one, path, text: WAYS[how](text, rng))
    found = []
    for one in judged:
        faults = contradictions(Truth(one.played), one.rows, one.ownerships, one.worker_of, one.reference_skew_ms)
        found += [f"{one.played.history.text}: {fault}" for fault in faults]
    assert found == []
