# SPDX-License-Identifier: Apache-2.0
"""Excerpts of logs as people post them, against facts that were read off them by hand; `FORENSICS_CORPUS` names their folder.

`index.jsonl` there has a line for each file with its `ground_truth`. Every relevant record must be recognised, and what the rows say must be those facts.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from reading import Reading, read, recogniser

FOLDER = os.environ.get("FORENSICS_CORPUS")
INDEX = [json.loads(line) for line in (Path(FOLDER) / "index.jsonl").read_text(encoding="utf-8").splitlines()] if FOLDER else []
CASES = [pytest.param(entry, id=entry["file"]) for entry in INDEX]
needs_corpus = pytest.mark.skipif(not FOLDER, reason="FORENSICS_CORPUS names no folder")

#: Lines that belong to no record: the end of a record whose beginning the excerpt lacks, and a heading that a user typed.
UNFIT = {
    ("031.log", "   [org.apache.kafka.connect.runtime.ConnectorConfig$EnrichedConnectorConfig]"),
    ("033.log", "   [org.apache.kafka.clients.consumer.ConsumerConfig]"),
    ("088.log", "====kafka server.log==="),
}
#: Facts by hand that the lines do not bear out as facts of their own moment, and why.
WRONG_BY_HAND = {
    ("078.log", "leader"): "it stands in what members say that they own, so it led the generation before; the line does not say who leads now",
}
#: What a person concluded, not what a line says.
CONCLUSIONS = {
    "split_brain", "split_brain_with_set", "split_brain_by_user_account", "zombies_reported_by_user", "rebalance_storm", "stuck", "flapping",
    "ownership_conflict_hint", "identity_conflict", "truncated", "hard_wrapped", "assignment_edited", "lines_out_of_order", "level", "fatal",
    "is_disconnected", "distinct_poll_timeouts",
}  # fmt: skip
MEMBERS = ("member_id", "old_member_id", "leader_member_id")
JOINING = ("joining", "joined", "synced", "worker_assigned", "rejoin_requested", "heartbeat_failed", "leaving", "group_stabilized")
_CLIENT_JOIN = re.compile(r"Successfully joined group|Joined group|.*joined the group|.*Joined group|.*JoinGroup response: GenerationId [0-9]")


@cache
def reading(name: str) -> Reading:
    assert FOLDER is not None
    return read([Path(FOLDER) / name])


def values(rows: Reading, *columns: str) -> set[Any]:
    found: set[Any] = set()
    for event in rows.events:
        for column in columns:
            value = event.get(column)
            found.update(value if isinstance(value, list) else [] if value is None else [value])
    return found


def seconds(early: dict[str, Any], late: dict[str, Any]) -> float:
    return round((late["ts"] - early["ts"]).total_seconds(), 2)


def worker_state(rows: Reading) -> dict[str, Any]:
    return rows.named("worker_assigned")[-1]


FACTS: dict[str, Callable[[Reading, Any], tuple[Any, Any]]] = {}


def fact(name: str) -> Callable[[Callable[[Reading, Any], tuple[Any, Any]]], Callable[[Reading, Any], tuple[Any, Any]]]:
    def keep(check: Callable[[Reading, Any], tuple[Any, Any]]) -> Callable[[Reading, Any], tuple[Any, Any]]:
        FACTS[name] = check
        return check

    return keep


def count(name: str, *events: str) -> None:
    FACTS[name] = lambda rows, stated: (len(rows.named(*events)), stated)


def holds(name: str, *columns: str) -> None:
    FACTS[name] = lambda rows, stated: (set(stated) & values(rows, *columns), set(stated))


count("coordinator_discovered", "coordinator_discovered")
count("coordinator_found", "coordinator_discovered")
count("coordinator_lost", "coordinator_lost")
count("leave_group_sent", "leaving")
count("left_group", "leaving")
count("rebalances_prepared", "rebalance_preparing")
count("members_left", "member_left")
count("members_failed", "member_expired")
count("heartbeat_failures", "heartbeat_failed")
count("heartbeat_error_responses", "heartbeat_failed")
count("join_failures", "join_failed")
count("rejoin_requests", "rejoin_requested")
count("rejoins", "rejoin_requested")
count("poll_timeouts", "poll_timeout")
count("coordinator_unreachable_revocations", "worker_revoking")
count("rebalances", "rebalance_failed")
holds("groups", "group_id")
holds("workers", "client_id")
holds("clients", "client_id")
holds("members", *MEMBERS)


@fact("poll_timeouts")
def _poll_timeouts(rows: Reading, stated: int) -> tuple[int, int]:
    return len(rows.named("poll_timeout")) + sum("poll timeout" in e.get("reason", "") for e in rows.named("leaving")), stated


@fact("members")
def _members(rows: Reading, stated: list[str]) -> tuple[set[str], set[str]]:
    in_assignments = {member for e in rows.events for member, _ in e.get("assignment", ())}
    return set(stated) & (values(rows, *MEMBERS) | in_assignments), set(stated)


@fact("joins")
def _joins(rows: Reading, stated: int) -> tuple[int, int]:
    """Until 2.6.0, and in other clients, the only record of a join is printed after the sync."""
    return len(rows.named("joined")) or len(rows.named("synced")), stated


@fact("generations")
def _generations(rows: Reading, stated: list[int]) -> tuple[set[int], set[int]]:
    events = rows.named("joined", "synced", "worker_assigned", "rejoin_requested", "heartbeat_failed", "heartbeat_sent")
    return {e["generation"] for e in events if "generation" in e}, set(stated)


@fact("generations_by_group")
def _generations_by_group(rows: Reading, stated: dict[str, list[int]]) -> tuple[dict[str, set[int]], dict[str, set[int]]]:
    found: dict[str, set[int]] = {}
    for e in rows.named("joined", "synced"):
        found.setdefault(e["group_id"], set()).add(e["generation"])
    return found, {g: set(n) for g, n in stated.items()}


def _by_group(rows: Reading, event: str) -> dict[str, set[int]]:
    found: dict[str, set[int]] = {}
    for e in rows.named(event):
        found.setdefault(e["group_id"], set()).add(e["generation"])
    return found


@fact("stabilized")
def _stabilized(rows: Reading, stated: dict[str, list[int]]) -> tuple[dict[str, set[int]], dict[str, set[int]]]:
    return _by_group(rows, "group_stabilized"), {g: set(n) for g, n in stated.items()}


@fact("emptied")
def _emptied(rows: Reading, stated: dict[str, list[int]]) -> tuple[dict[str, set[int]], dict[str, set[int]]]:
    return _by_group(rows, "group_emptied"), {g: set(n) for g, n in stated.items()}


@fact("dead")
def _dead(rows: Reading, stated: list[str]) -> tuple[set[str], set[str]]:
    return {e["group_id"] for e in rows.named("group_died")}, set(stated)


@fact("leader")
def _leader(rows: Reading, stated: str) -> tuple[set[str], set[str]]:
    events = rows.named("worker_assigned") or rows.events
    return ({e["leader_member_id"] for e in events if "leader_member_id" in e} or _assigning(rows)), {stated}


def _assigning(rows: Reading) -> set[str]:
    """For the broker: the member whose assignment it received."""
    return {e["member_id"] for e in rows.named("assignment_from_leader", "worker_assignment_step") if "member_id" in e}


@fact("leader_url")
def _leader_url(rows: Reading, stated: str) -> tuple[set[Any], set[Any]]:
    return values(rows, "leader_url"), {stated}


@fact("assigned")
def _assigned(rows: Reading, stated: dict[str, dict[str, Any]]) -> tuple[Any, Any]:
    if len(stated) > 1:  # by the leader, for all
        got = {m.rsplit("-", 5)[0]: set(r) for e in rows.events for m, r in e.get("assignment", ())}
        return got, {w: {*a["connectors"], *a["tasks"]} for w, a in stated.items()}
    (want,) = stated.values()
    state = worker_state(rows)
    names = {"generation": "generation", "connectors": "assigned_connectors", "tasks": "assigned_tasks", "delay_ms": "delay_ms"}
    got = {k: state.get(names[k]) for k in want}
    return {k: sorted(v) if isinstance(v, list) else v for k, v in got.items()}, {k: sorted(v) if isinstance(v, list) else v for k, v in want.items()}


@fact("revoked")
def _revoked(rows: Reading, stated: dict[str, dict[str, Any]]) -> tuple[Any, Any]:
    (want,) = stated.values()
    if "generation" in want:
        state = next(e for e in rows.named("worker_assigned") if e["generation"] == want["generation"])
        return (state["revoked_connectors"], state["revoked_tasks"]), (want["connectors"], want["tasks"])
    (state,) = rows.named("worker_revoking")
    return (state["revoked_connectors"], state["revoked_tasks"]), (want["connectors"], want["tasks"])


@fact("delayed_rebalance_ms")
def _delayed(rows: Reading, stated: int) -> tuple[Any, Any]:
    return max(e.get("delay_ms", 0) for e in rows.named("worker_assigned")), stated


@fact("outage_s")
def _outage(rows: Reading, stated: float) -> tuple[float, float]:
    lost = rows.named("coordinator_lost")[0]
    found = next(e for e in rows.named("coordinator_discovered") if e["stream_pos"] > lost["stream_pos"])
    return seconds(lost, found), stated


@fact("tasks_down_s")
def _tasks_down(rows: Reading, stated: float) -> tuple[float, float]:
    stop = rows.named("task_stopping")[0]
    start = next(e for e in rows.named("task_creating", "task_starting") if e["stream_pos"] > stop["stream_pos"])
    return pytest.approx(seconds(stop, start), abs=1.0), stated


@fact("catch_up_config")
def _catch_up(rows: Reading, stated: list[int]) -> tuple[list[Any], list[Any]]:
    event = next(e for e in rows.named("config_behind", "config_catching_up") if "config_offset" in e)
    return [event["config_offset"], event["assigned_config_offset"]], stated


@fact("stopped")
def _stopped(rows: Reading, stated: list[str]) -> tuple[set[str], set[str]]:
    tasks, connectors = rows.named("task_stopping"), rows.named("connector_stopping")
    return {e["task"] for e in tasks} | {e["connector"] for e in connectors}, set(stated)


@fact("started_tasks")
def _started(rows: Reading, stated: list[str]) -> tuple[set[str], set[str]]:
    return {e["task"] for e in rows.named("task_starting")}, set(stated)


@fact("graceful_stop_failed")
def _graceful(rows: Reading, stated: list[str]) -> tuple[set[str], set[str]]:
    return {e["task"] for e in rows.named("task_stop_failed")}, set(stated)


@fact("connector_failed_to_stop")
def _connector_failed(rows: Reading, stated: list[str]) -> tuple[set[str], set[str]]:
    return {e["connector"] for e in rows.named("connector_stop_failed")}, set(stated)


@fact("orderly_shutdown")
def _orderly(rows: Reading, stated: bool) -> tuple[bool, bool]:
    return bool(rows.named("herder_stopping", "process_stopping") and rows.named("leaving") and not rows.named("task_stop_failed")), stated


@fact("broker_shutdown")
def _broker_shutdown(rows: Reading, stated: str) -> tuple[bool, bool]:
    return bool(rows.named("process_stopping")), stated == "controlled"


def _causes(rows: Reading) -> list[str]:
    return [re.sub(r"\.?\s*isDisconnected.*|\.$", "", e.get("cause", "")) for e in rows.named("coordinator_lost")]


@fact("coordinator_lost_causes")
def _lost_causes(rows: Reading, stated: list[str]) -> tuple[set[str], set[str]]:
    return {c for c in _causes(rows) if c}, set(stated)


@fact("coordinator_lost_cause")
def _lost_cause(rows: Reading, stated: str) -> tuple[set[str], set[str]]:
    return set(_causes(rows)), {stated}


@fact("coordinator_not_available")
def _not_available(rows: Reading, stated: int) -> tuple[int, int]:
    told = [e for e in rows.events if re.search("coordinator ?not ?available", f"{e.get('error')} {e.get('reason')} {e['message']}", re.IGNORECASE)]
    return len({e["line"] for e in told}), stated


@fact("not_coordinator_errors")
def _not_coordinator(rows: Reading, stated: int) -> tuple[int, int]:
    told = rows.named("coordinator_lookup_failed", "join_failed", "rebalance_failed", "coordinator_lost")
    return sum(bool(re.search(r"not ?(?:the )?(?:correct )?coordinat(?:or|ed by)", str(e.get("error", "")), re.IGNORECASE)) for e in told), stated


@fact("coordinator_queries")
def _queries(rows: Reading, stated: int) -> tuple[int, int]:
    return len(rows.named("coordinator_lookup_sent")), stated


@fact("coordinator_id")
def _coordinator_id(rows: Reading, stated: int) -> tuple[set[Any], set[Any]]:
    return {e["broker_id"] for e in rows.named("coordinator_discovered")}, {stated}


@fact("coordinators")
def _coordinators(rows: Reading, stated: dict[str, int]) -> tuple[Any, Any]:
    return {e["group_id"]: e["broker_id"] for e in rows.named("coordinator_discovered")}, stated


@fact("assigned_partitions")
def _assigned_partitions(rows: Reading, stated: dict[str, list[Any]]) -> tuple[Any, Any]:
    want = {p if isinstance(p, str) else f"{p[0]}-{p[1]}" for ps in stated.values() for p in ps}
    events = rows.named("partitions_assigned", "assignment_received", "sink_offset_ignored", "synced")
    got = {p for e in events for k in ("partitions", "assigned_partitions", "added_partitions") for p in e.get(k, ())}
    return got, want


@fact("assigned_partitions_nonempty")
def _assigned_nonempty(rows: Reading, stated: dict[str, list[str]]) -> tuple[Any, Any]:
    got = {p for e in rows.named("partitions_assigned", "assignment_updated") for k in ("partitions", "assigned_partitions") for p in e.get(k, ())}
    return got, {p for ps in stated.values() for p in ps}


@fact("lost_partitions")
def _lost_partitions(rows: Reading, stated: list[str]) -> tuple[set[str], set[str]]:
    return {p for e in rows.named("partitions_lost") for p in (*e.get("partitions", ()), *([e["partition"]] if "partition" in e else ()))}, {
        p.replace("/", "-") for p in stated
    }


@fact("partitions_written_but_not_assigned")
def _not_assigned(rows: Reading, stated: list[str]) -> tuple[set[str], set[str]]:
    return {e["partition"] for e in rows.named("sink_offset_ignored")}, set(stated)


@fact("revoked_partitions")
def _revoked_partitions(rows: Reading, stated: list[list[Any]]) -> tuple[Any, Any]:
    return {p for e in rows.named("partitions_revoked") for p in e.get("partitions", ())}, {f"{t}-{n}" for t, n in stated}


@fact("revoked_partitions_count")
def _revoked_count(rows: Reading, stated: int) -> tuple[int, int]:
    return max(len(e.get("partitions", ())) for e in rows.named("partitions_revoked")), stated


@fact("newest_first")
def _newest_first(rows: Reading, stated: bool) -> tuple[Any, Any]:
    times = [e["ts"] for e in rows.events]
    return rows.evidence[0].format.profile.newest_first and times == sorted(times), stated


@fact("rejoin_reason")
def _rejoin_reason(rows: Reading, stated: str) -> tuple[Any, Any]:
    return {e.get("reason") for e in rows.named("rejoin_requested")}, {stated}


@fact("heartbeat_errors")
def _heartbeat_errors(rows: Reading, stated: list[str]) -> tuple[Any, Any]:
    return [e.get("error") for e in rows.named("heartbeat_failed")], stated


@fact("unknown_member")
def _unknown_member(rows: Reading, stated: int) -> tuple[Any, Any]:
    return sum("recogni" in e["message"] or "UnknownMember" in e["message"] for e in rows.named("heartbeat_failed", "member_fenced")), stated


@fact("elected_leader")
def _elected(rows: Reading, stated: bool) -> tuple[Any, Any]:
    return bool(rows.named("assignment_started")) or any(
        "elected=true" in str(e.get("text", "")) or e["event"] == "joined" for e in rows.events
    ), stated


@fact("joins_at_same_generation")
def _same_generation(rows: Reading, stated: bool) -> tuple[Any, Any]:
    return max(Counter(e["generation"] for e in rows.named("joined")).values()) > 1, stated


@fact("is_leader")
def _is_leader(rows: Reading, stated: bool) -> tuple[Any, Any]:
    state = worker_state(rows)
    return state["leader_member_id"] in values(rows, "member_id"), stated


@fact("task")
def _task(rows: Reading, stated: str) -> tuple[Any, Any]:
    return values(rows, "task"), {stated}


@fact("offset_commit_failed")
def _commit_failed(rows: Reading, stated: list[dict[str, Any]]) -> tuple[Any, Any]:
    return [{k: e.get(k) for k in ("partition", "offset", "error")} for e in rows.named("commit_failed")], stated


@fact("static_instance")
def _static_instance(rows: Reading, stated: str) -> tuple[Any, Any]:
    return values(rows, "group_instance_id"), {stated}


@fact("fenced_instance")
def _fenced(rows: Reading, stated: int) -> tuple[Any, Any]:
    return len(rows.named("member_fenced_by_broker", "member_fenced")), stated


@fact("no_group_events")
def _no_group_events(rows: Reading, stated: bool) -> tuple[Any, Any]:
    return not rows.named(*JOINING), stated


@needs_corpus
@pytest.mark.parametrize("entry", CASES)
def test_every_relevant_record_is_recognised(entry):
    rows = reading(entry["file"])
    assert [(r.get("logger"), r["text"]) for r in rows.unrecognised] == []
    assert {(r["path"], r["unfit_text"]) for r in rows.ranges if r["unfit"]} <= UNFIT
    assert rows.total("lines") == entry["lines"] or entry["lines"] in (rows.total("lines") - 1, rows.total("lines") + 1)
    assert rows.evidence[0].status == "read"


@needs_corpus
@pytest.mark.parametrize("entry", CASES)
def test_facts_are_those_read_by_hand(entry):
    rows = reading(entry["file"])
    wrong = {}
    for name, stated in entry["ground_truth"].items():
        if name in CONCLUSIONS or (entry["file"], name) in WRONG_BY_HAND:
            continue
        assert name in FACTS, f"nobody compares the fact `{name}`"
        got, want = FACTS[name](rows, stated)
        if got != want:
            wrong[name] = (got, want)
    assert wrong == {}


@needs_corpus
def test_every_relevant_logger_of_the_corpus_is_one_to_the_program():
    """A class of the catalogue is one under whatever name a layout prints it: abbreviated, inner, without a package."""
    left = set()
    for entry in INDEX:
        for line in (Path(FOLDER or "") / entry["file"]).read_bytes().decode("utf-8", "replace").splitlines():
            for name in re.findall(r"(?:org\.apache\.kafka|kafka)\.[a-z.]+\.[A-Z][\w$]+", line):
                outer = name.rsplit(".", 1)[-1].partition("$")[0]
                if outer in recogniser().interesting_loggers and not recogniser().is_interesting(name):
                    left.add(name)
    assert left == set()


RECORDINGS = os.environ.get("FORENSICS_RECORDINGS")
LOGS = sorted(Path(RECORDINGS).glob("*/logs")) if RECORDINGS else []


@pytest.mark.slow
@pytest.mark.skipif(not LOGS, reason="FORENSICS_RECORDINGS names no folder")
@pytest.mark.parametrize("logs", LOGS, ids=lambda p: p.parent.name)
def test_recordings_leave_nothing_unrecognised(logs):
    """Every line of a relevant logger is recognised, at INFO and above for all classes, at DEBUG for the group's classes."""
    rows = read([logs])
    assert {(r["level"], r["logger"], r["text"][:200]) for r in rows.unrecognised} == set()
    assert rows.total("unfit") == 0
    assert rows.total("events") - rows.total("counted") == len(rows.events) + rows.doubled
