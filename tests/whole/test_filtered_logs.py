# SPDX-License-Identifier: Apache-2.0
"""The output of grep, and hosts that sleep: what a log does not say is no proof."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow.dataset as ds
import pytest
from places import SAMPLES
from some_views import found_by
from written_logs import case_of, stamp

from forensics.inventory.examination import SAMPLE_BYTES
from forensics.records.filtered_lines import common_literal, filtered_by
from forensics.records.layout_detection import profile_of
from forensics.records.layouts import packaged

FROZEN = SAMPLES / "split-brain-frozen-worker-3.9.1" / "logs"
RECORDINGS = os.environ.get("FORENSICS_RECORDINGS", "")


def logs_of(folder: Path) -> dict[str, str]:
    files = (f for f in sorted(folder.rglob("*")) if f.is_file() and f.suffix in (".log", ".out"))
    return {str(f.relative_to(folder)): f.read_text(encoding="utf-8", errors="replace") for f in files}


def grep(word: str, logs: dict[str, str]) -> dict[str, str]:
    """`grep -i WORD` of each log."""
    return {path: "".join(f"{line}\n" for line in text.splitlines() if word in line.lower()) for path, text in logs.items()}


def rows(case: object, view: str) -> list[dict]:
    return ds.dataset(str(case.view_path(view)), format="parquet").to_table().to_pylist()  # type: ignore[attr-defined]


HEAD, VALUE = b"[2026-11-21 07:51:21,404] INFO ", b"\trebalance.timeout.ms = 20000"


@pytest.mark.parametrize(
    ("lines", "wrappers", "why"),
    [
        ([HEAD + b"a (b)", VALUE, HEAD + b"c (d)", VALUE], (), "values"),
        ([HEAD + b"a (b)", b"--", HEAD + b"c (d)", b"--", HEAD + b"e (f)"], (), "separators"),
        ([b"3:" + HEAD, b"9:" + HEAD, b"17:" + HEAD, b"40:" + HEAD], ("line numbers",), "line_numbers"),
        # A log that begins in the middle of settings, or has them below their heads, is none; nor is one whose lines are numbered, all of them.
        ([VALUE, VALUE, HEAD + b"a (b)"], (), ""),
        ([HEAD + b"ConsumerConfig values: ", VALUE, HEAD + b"ConsumerConfig values: (a.B:372)", VALUE], (), ""),
        # Names of settings may have hyphens, and values may have line breaks.
        ([HEAD + b"MirrorSourceConfig values: ", VALUE, b"\toffset-syncs.topic.location = source", VALUE, b"\tk = v", b"\ta-b.c = 1", VALUE], (), ""),
        ([HEAD + b"JdbcSourceConfig values: ", b"\tquery = SELECT a", b"  FROM b", VALUE, b"\tq = SELECT c", b"FROM d", VALUE], (), ""),
        ([b"3:" + HEAD, b"4:" + HEAD, b"5:" + HEAD, b"6:" + HEAD], ("line numbers",), ""),
    ],
)
def test_what_only_a_selection_of_lines_can_look_like(lines: list[bytes], wrappers: tuple[str, ...], why: str) -> None:
    assert filtered_by(lines, wrappers) == why


def test_the_word_that_was_looked_for_is_found() -> None:
    assert common_literal(["Rebalance started", "group is rebalancing", "\trebalance.timeout.ms = 1"]) == "rebalanc"
    assert common_literal(["Rebalance started", "group is rebalancing", "something else"]) == ""


@pytest.mark.parametrize("folder", sorted(SAMPLES.glob("*/logs")), ids=lambda f: f.parent.name)
def test_no_sample_looks_like_a_selection(folder: Path) -> None:
    for path, text in logs_of(folder).items():
        content = text.encode()
        profile = profile_of(content[:SAMPLE_BYTES], packaged(), content[-64 * 1024 :])
        assert (profile.filtered, profile.headings) == ("", ()), path


@pytest.mark.slow
@pytest.mark.skipif(not RECORDINGS, reason="FORENSICS_RECORDINGS names no folder of recordings")
def test_no_recording_looks_like_a_selection() -> None:
    for file in sorted(Path(RECORDINGS).glob("*/logs/**/*.log")):
        with file.open("rb") as log:
            profile = profile_of(log.read(SAMPLE_BYTES), packaged())
        assert (profile.filtered, profile.headings) == ("", ()), file


VIEWS = ("filtered_log", "shared_log", "open_rebalance", "rule_assigned_not_working", "rule_clock_skew", "coverage", "generation", "split_brain")


@pytest.mark.slow
@pytest.mark.engine
def test_grep_of_a_whole_case_proves_nothing_by_what_it_lacks(tmp_path: Path) -> None:
    case = case_of(grep("rebalanc", logs_of(FROZEN)), tmp_path, VIEWS)
    workers = {r["process_id"] for r in rows(case, "filtered_log")}
    assert {"w1/connect.log", "w2/connect.log", "w3/connect.log", "broker-1/server.log"} <= workers
    assert rows(case, "open_rebalance") == []
    assert found_by(case, "assigned-not-working") == []
    assert {c["process_id"] for c in rows(case, "coverage") if c["kind"] == "filtered"} == workers
    # Each rebalance that the coordinator's lines begin is there, with its time and reason, also of groups that no other line shows.
    found = {(g["group_id"], g["generation"]): g for g in rows(case, "generation")}
    assert {n for group, n in found if group == "connect-cluster"} == set(range(1, 15))
    assert {g["trigger"] for g in found.values()} == {
        "member_joined",
        "leader_rejoined",
        "member_expired",
        "member_metadata_changed",
        "member_left",
    }
    frozen = found["connect-cluster", 11]
    assert (frozen["trigger"], frozen["trigger_inferred"]) == ("member_expired", False)
    assert str(frozen["prepared_ts"]).startswith("2026-11-21 07:51:48.84")
    assert (frozen["coordinator"], frozen["seen_by_broker"], frozen["stabilized_ts"]) == ("broker-1/server.log", False, None)
    assert {("connect-b", n) for n in range(1, 6)} <= found.keys()
    # The coordinator's log is here, in part.
    evidence = {e for pair in rows(case, "split_brain") for e in pair["facts"]["evidence"] or ()}
    assert "coordinator_whole" in evidence
    assert evidence.isdisjoint({"coordinator_log", "coordinator_lines"})


@pytest.mark.engine
def test_a_whole_case_is_no_selection(tmp_path: Path) -> None:
    assert rows(case_of(logs_of(FROZEN), tmp_path, ("filtered_log",)), "filtered_log") == []


@pytest.mark.slow
@pytest.mark.engine
def test_a_mix_of_logs_shows_no_clock_that_was_set(tmp_path: Path) -> None:
    case = case_of({"all.txt": "".join(grep("rebalanc", logs_of(FROZEN)).values())}, tmp_path, VIEWS)
    assert [f for f in found_by(case, "clock-skew") if f["code"] == "set_back"] == []
    assert "several_members" in {c["kind"] for c in rows(case, "coverage")}


def asleep(until: float, *meanwhile: tuple[float, str]) -> str:
    """The log of a coordinator that waits from second 20 on, and removes a member at second `until`."""
    lines = [
        (
            0,
            "Preparing to rebalance group t in state PreparingRebalance with old generation 77 (__consumer_offsets-31) (reason: Adding new member m-1)",
        ),
        (5, "Stabilized group t generation 78 (__consumer_offsets-31) with 45 members"),
        (
            20,
            "Preparing to rebalance group t in state PreparingRebalance with old generation 78 (__consumer_offsets-31) (reason: Adding new member m-4)",
        ),
        *meanwhile,
        (until, "Group t removed dynamic members who haven't joined: Set(m-5)"),
        (until, "Stabilized group t generation 79 (__consumer_offsets-31) with 44 members"),
    ]
    return "".join(f"{stamp(at)} INFO [GroupCoordinator 3]: {message} (kafka.coordinator.group.GroupCoordinator)\n" for at, message in lines)


OTHER = "Preparing to rebalance group u in state PreparingRebalance with old generation 1 (__consumer_offsets-3) (reason: Adding new member n-1)"


@pytest.mark.engine
def test_a_coordinator_that_slept_proves_no_ghost(tmp_path: Path) -> None:
    views = ("rule_rebalance_waits_for_ghost", "rule_slow_rebalance", "generation")
    case = case_of(
        {
            "slept/server.log": asleep(733.6),
            # As long as the default of max.poll.interval.ms.
            "waited/server.log": asleep(320).replace("group t", "group w").replace("Group t", "Group w"),
            # It printed something all the while.
            "awake/server.log": asleep(733.6, *((at, OTHER) for at in range(40, 730, 20))).replace("group t", "group a").replace("Group t", "Group a"),
        },
        tmp_path,
        views,
    )  # fmt: skip
    assert {f["group_id"] for f in found_by(case, "rebalance-waits-for-ghost")} == {"w", "a"}
    slow = [f for f in found_by(case, "slow-rebalance") if f["group_id"] == "t"]
    assert [f["code"] for f in slow] == ["eager"]
    assert "may have been paused" in slow[0]["explanation"]
    assert {g["group_id"]: g["waited_for_member_id"] for g in rows(case, "generation") if g["generation"] == 79} == {
        "t": None,
        "w": "m-5",
        "a": "m-5",
    }


def begun(at: float, old_generation: int) -> str:
    return (
        f"{stamp(at)} INFO [GroupCoordinator 1]: Preparing to rebalance group g in state PreparingRebalance with old generation {old_generation} "
        f"(__consumer_offsets-7) (reason: Adding new member m-{old_generation} with group instance id None) (kafka.coordinator.group.GroupCoordinator)\n"
    )


def reaper(at: float) -> str:
    return f"{stamp(at)} INFO [ExpirationReaper-1-Rebalance]: Starting (kafka.server.DelayedOperationPurgatory$ExpiredOperationReaper)\n"


@pytest.mark.engine
def test_a_filtered_log_shows_what_it_can(tmp_path: Path) -> None:
    """A broker that was started again, a coordinator that a worker lost, and one that another never names."""
    broker = reaper(0) + "".join(begun(5 + n, n) for n in range(4)) + reaper(70) + begun(72, 4) + begun(75, 5)
    head = "INFO [Worker clientId=connect-1, groupId=g]"
    herder, again = "(org.apache.kafka.connect.runtime.distributed.DistributedHerder)", "Rebalance started"
    joined = "(org.apache.kafka.connect.runtime.distributed.WorkerCoordinator)"
    abstract = "(org.apache.kafka.clients.consumer.internals.ConsumerCoordinator)"
    rounds = "".join(f"{stamp(5 + n)} {head} {again} {joined}\n" for n in range(4))
    lost = f"{stamp(20)} {head} Group coordinator b:9092 (id: 2147483646 rack: null) is unavailable or invalid due to cause: coordinator unavailable."
    lost += f"isDisconnected: false. Rediscovery will be attempted. {joined}\n{stamp(200)} {head} Member m left {abstract}\n"
    starts = f"{stamp(1)} {head} Herder starting {herder}\n"
    views = ("filtered_log", "coverage", "rule_coordinator_unavailable", "generation")
    case = case_of({"server.log": broker, "w1.log": rounds + lost, "w2.log": starts + f"--\n{stamp(90)} {head} x (a.B)\n--\n"}, tmp_path, views)
    assert {r["process_id"] for r in rows(case, "filtered_log")} == {"server.log", "w1.log", "w2.log"}
    again_row = [c for c in rows(case, "coverage") if c["kind"] == "missing_lines" and c["process_id"] == "server.log"]
    assert [c["facts"]["why"] for c in again_row] == ["started_again"]
    assert {g["generation"] for g in rows(case, "generation")} == {1, 2, 3, 4, 5}
    assert found_by(case, "coordinator-unavailable") == []
