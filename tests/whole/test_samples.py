"""The sample incidents: what is expected of each, and what their READMEs say is true."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pytest
from effects import early
from expect_samples import SAMPLES, SHOWN, excerpt, names, rows_of, with_excerpt

from forensics.case.folder import open_case

#: One sample is checked on Spark, with all its views; the others on the engine that starts quickly, which gives the same rows.
ON_AN_ENGINE = [pytest.param(name, marks=pytest.mark.spark if name == SHOWN else pytest.mark.engine) for name in names()]


@pytest.mark.parametrize("name", ON_AN_ENGINE)
def test_a_sample_gives_what_is_expected(name: str, sample_case) -> None:
    found = rows_of(sample_case(name))
    for view, rows in found.items():
        expected = json.loads((SAMPLES / name / "expected" / f"{view}.json").read_text(encoding="utf-8"))
        assert rows == expected, f"{view} of {name}; `make samples` rewrites what is expected"


@pytest.mark.spark
def test_the_readme_shows_a_real_report(sample_case) -> None:
    readme = (SAMPLES.parent / "README.md").read_text(encoding="utf-8")
    assert with_excerpt(readme, excerpt(sample_case(SHOWN))) == readme, "`make samples` rewrites it"


def proved(name: str, kind: str) -> set[tuple[str, str, str]]:
    rows = json.loads((SAMPLES / name / "expected" / "split_brain.json").read_text(encoding="utf-8"))
    return {(r["resource"], *sorted((r["process_a"], r["process_b"]))) for r in rows if r["verdict"] == "proved" and r["kind"] == kind}


def test_the_frozen_worker_worked_beside_its_successor() -> None:
    both = ("w2/connect.log", "w3/connect.log")
    assert proved("split-brain-frozen-worker-3.9.1", "work") == {("a-0", *both), ("b-1", *both)}


def test_the_partitioned_worker_kept_its_tasks() -> None:
    found = proved("split-brain-partitioned-worker-2.3.0", "work") | proved("split-brain-partitioned-worker-2.3.0", "thread")
    assert {("a-0", "w1/connect.log", "w2/connect.log"), ("b-2", "w1/connect.log", "w2/connect.log")} <= found
    assert {pair for _, *pair in found if "w3/connect.log" in pair} == set()


@pytest.mark.parametrize("name", ["rolling-bounce-skewed-clocks-3.9.1", "session-timeouts-consumers-3.9.1"])
def test_no_split_brain_is_proved_where_there_was_none(name: str) -> None:
    assert proved(name, "work") == set()


@pytest.mark.engine
@pytest.mark.parametrize("name", names())
def test_nothing_begins_before_what_it_is_an_effect_of(name: str, sample_case) -> None:
    assert early(sample_case(name)) == []


@pytest.mark.engine
def test_skewed_clocks_are_measured(sample_case) -> None:
    from forensics.report import reading, selection

    rows = reading.read(sample_case("rolling-bounce-skewed-clocks-3.9.1"), selection.Filters()).clocks
    of = {c["process_id"].split("/")[0]: c for c in rows if c["reference_process_id"].startswith("broker")}
    for worker, ahead in (("w1", 0), ("w2", 41_000), ("w3", -23_000)):
        assert of[worker]["lo_ms"] - 5 <= ahead <= of[worker]["hi_ms"] + 5
        assert of[worker]["hi_ms"] - of[worker]["lo_ms"] < 50


@pytest.mark.slow
@pytest.mark.spark
def test_a_moved_case_opens_in_a_users_own_spark(sample_case, tmp_path: Path) -> None:
    moved = tmp_path / "a case"
    shutil.copytree(sample_case(SHOWN).root, moved)
    assert open_case(moved).root == moved.resolve()
    wanted = "SELECT resource FROM split_brain WHERE verdict = 'proved' AND kind = 'work' ORDER BY resource"
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    command = ["spark-sql", "-i", str(moved / "open.sql"), "-e", wanted]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["a-0", "b-1"], done.stderr[-2000:]


@pytest.mark.parametrize("name", names())
def test_a_sample_says_what_was_done_and_what_is_true(name: str) -> None:
    text = (SAMPLES / name / "README.md").read_text(encoding="utf-8")
    assert re.search(r"Kafka \d+\.\d+\.\d+", text)
    for title in ("## Actions", "## Ground truth", "## Lines removed"):
        assert title in text
    assert sum(f.stat().st_size for f in (SAMPLES / name).rglob("*.log")) < 600 * 1024


def test_expected_times_are_times() -> None:
    for file in SAMPLES.glob("*/expected/generation.json"):
        for row in json.loads(file.read_text(encoding="utf-8")):
            assert datetime.fromisoformat(row["prepared_ts"]) <= datetime.fromisoformat(row["stabilized_ts"]), file
