# SPDX-License-Identifier: Apache-2.0
"""Logs of several processes in one file, one behind the other: they say what they say apart."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from datetime import datetime, timedelta
from itertools import pairwise

import pyarrow.dataset as ds
import pytest
from places import SAMPLES
from written_logs import case_of

import forensics
from forensics.case.folder import Case
from forensics.case.ingestion import ingest

RE_TIME = re.compile(r"^\[(?P<time>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d),", re.MULTILINE)


def logs(sample: str) -> dict[str, str]:
    """The files of a sample, by path."""
    root = SAMPLES / sample / "logs"
    return {p.relative_to(root).as_posix(): p.read_text(encoding="utf-8") for p in sorted(root.rglob("*.log"))}


def later(text: str, hours: int) -> str:
    """The same lines as printed in a zone further east."""
    return RE_TIME.sub(lambda m: f"[{datetime.fromisoformat(m['time']) + timedelta(hours=hours)},", text)


def rows(case: Case, view: str) -> list[dict[str, object]]:
    return ds.dataset(str(case.view_path(view)), format="parquet").to_table().to_pylist()


def said(case: Case) -> tuple[Counter[tuple[object, ...]], set[object]]:
    """Verdicts of all pairs, and the rules that found something to warn of."""
    pairs = Counter((r["resource"], r["verdict"]) for r in rows(case, "split_brain"))
    return pairs, {r["rule"] for r in rows(case, "finding") if r["severity"] != "note" and r["verdict"] == "proved"}


@pytest.mark.parametrize(
    ("sample", "first", "second", "hours"),
    [
        pytest.param("split-brain-frozen-worker-3.9.1", "w3/connect.log", "w2/connect.log", 1, marks=pytest.mark.slow),
        pytest.param("split-brain-frozen-worker-3.9.1", "w1/connect.log", "w2/connect.log", 0, marks=pytest.mark.slow),
        pytest.param("session-timeouts-consumers-3.9.1", "c1/consumer.log", "c2/consumer.log", 0, marks=pytest.mark.slow),
    ],
)
def test_two_logs_in_one_file_say_what_they_say_apart(any_engine, sample_case, sample, first, second, hours, tmp_path):
    apart = logs(sample)
    together = {path: text for path, text in apart.items() if path != second}
    together[first] = apart[first] + later(apart[second], hours)
    pairs, rules = said(sample_case(sample))
    case = case_of(together, tmp_path)
    both, found = said(case)
    assert pairs
    assert all(both[pair] >= number for pair, number in pairs.items())
    # Of one log's two parts it is not known that they are of two machines: some pairs more, none of them proved.
    assert all(verdict != "proved" for _, verdict in both - pairs)
    assert found - rules <= ({"clock-skew"} if hours else set())
    assert f"{first}#2" in {r["process_id"] for r in rows(case, "process")}


@pytest.mark.slow
def test_two_members_of_one_generation_in_one_log_own_nothing(any_engine, tmp_path):
    """Nothing divides the file where time goes on: consumers print no name when they start."""
    apart = logs("session-timeouts-consumers-3.9.1")
    first, second = "c1/consumer.log", "c2/consumer.log"
    case = case_of({path: text for path, text in apart.items() if path != second} | {first: apart[first] + later(apart[second], 1)}, tmp_path)
    assert first in {r["process_id"] for r in rows(case, "coverage") if r["code"] == "several_members"}
    assert first not in {r["process_id"] for r in rows(case, "holding")}


@pytest.mark.whole
def test_a_log_that_is_there_twice_is_read_once(any_engine, sample_case, tmp_path):
    """A consumer's log beside a container's output of it, and beside an excerpt."""
    sample = "session-timeouts-consumers-3.9.1"
    once = logs(sample)
    lines = once["c2/consumer.log"].splitlines(keepends=True)
    # The container's output lacks the last lines and has one that the file lacks.
    asks = next(line for line in lines if "(Re-)joining group" in line)
    output = [*lines[: len(lines) - 30], re.sub(r",\d{3}\]", ",999]", asks)]
    again = {
        "pod-c2/0.log": "".join(json.dumps({"log": line, "stream": "stdout", "time": "2026-11-21T08:17:20Z"}) + "\n" for line in output),
        "excerpt.log": "".join(line for line in lines if " 08:16:" in line),
    }
    pairs, found = said(sample_case(sample))
    case = case_of(once | again, tmp_path)
    assert said(case) == (pairs, found)
    assert {r["process_id"] for r in rows(case, "process")} == set(once)
    assert {r["process_id"] for r in rows(case, "coverage") if r["kind"] == "copy"} == {"pod-c2", "excerpt.log"}
    assert "another copy of that log" in " ".join(forensics.open_case(case.root).report().text(full=True).split())
    (excerpt, note), (container, longer) = ingest([tmp_path / "logs"], case.root).copies
    assert (excerpt, container) == ("excerpt.log", "pod-c2")
    assert note.endswith("also appear in c2/consumer.log: this is another copy of that log and is left out")
    assert longer.endswith("is left out, with the 1 line that only the copy has")


@pytest.mark.slow
@pytest.mark.engine
def test_rotated_files_in_a_shells_order_and_one_of_them_twice_say_what_the_log_says(sample_case, tmp_path):
    """`cat connect.log*`: the newest first, and .10 and .11 before .2."""
    sample = "split-brain-frozen-worker-3.9.1"
    together = {}
    for path, text in logs(sample).items():
        begins = [m.start() for m in RE_TIME.finditer(text)]
        ends = [begins[len(begins) * n // 12] for n in range(12)] + [len(text)]
        newest_first = [text[begin:end] for begin, end in pairwise(ends)][::-1]
        by_name = sorted(range(12), key=lambda n: f".{n}" if n else "")
        together[path] = "".join(newest_first[n] for n in (*by_name, 3))
    whole, case = sample_case(sample), case_of(together, tmp_path)

    def facts(case: Case, view: str, *columns: str) -> Counter[tuple[object, ...]]:
        return Counter(tuple(str(r[c]) for c in columns) for r in rows(case, view))

    for view, columns in (
        ("process", ("process_id", "role", "worker_url", "instances")),
        ("split_brain", ("resource", "process_a", "process_b", "verdict", "kind", "certain_ms", "possible_ms")),
        ("generation", ("group_id", "generation", "member_count", "seen_by_members", "seen_by_broker", "first_joined_ts")),
        ("ownership", ("process_id", "resource", "start_lo", "start_hi", "stop_lo", "stop_hi", "stop_how")),
    ):
        assert facts(case, view, *columns) == facts(whole, view, *columns), view
    more = {r["code"] for r in rows(case, "finding")} - {r["code"] for r in rows(whole, "finding")}
    assert more == {"parts_out_of_order", "lines_repeated"}


@pytest.mark.slow
@pytest.mark.engine
def test_logs_that_hold_lines_twice_say_what_they_say_once(sample_case, tmp_path):
    """A logger with two appenders in one log, a shipper that tried again in the others."""
    sample = "split-brain-frozen-worker-3.9.1"
    chance = random.Random(5)  # noqa: S311

    def doubled(path: str, text: str) -> str:
        begins = [m.start() for m in RE_TIME.finditer(text)] + [len(text)]
        share = 1.0 if path.startswith("w1") else 0.3
        return "".join(text[a:b] * (1 + (chance.random() < share)) for a, b in pairwise(begins))

    case, whole = case_of({path: doubled(path, text) for path, text in logs(sample).items()}, tmp_path), sample_case(sample)
    assert said(case)[0] == said(whole)[0]
    for view, of in (("generation", "generation"), ("process", "process_id"), ("coverage", "from_ts"), ("ownership", "stop_hi")):
        assert sorted(str(r[of]) for r in rows(case, view)) == sorted(str(r[of]) for r in rows(whole, view)), view
    told = [Counter(r["code"] for r in rows(c, "occurrence")) for c in (case, whole)]
    assert told[0] - told[1] == Counter(lines_doubled=4)
    assert not told[1] - told[0]
