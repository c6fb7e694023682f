# SPDX-License-Identifier: Apache-2.0
"""Inputs cut from public reports, with what is right about each of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest
from places import FIELD
from some_views import found_by, with_views

from forensics.case.ingestion import ingest
from forensics.engines import engine

pytestmark = [pytest.mark.engine, pytest.mark.whole]


@pytest.fixture
def rows(tmp_path):
    """Rows of the views of a case that is made of one input."""

    def of(name: str, *views: str) -> list[list[dict[str, Any]]]:
        case = with_views(ingest([FIELD / name], tmp_path / "case").case, engine(), views)
        return [ds.dataset(str(case.view_path(view)), format="parquet").to_table().to_pylist() for view in views]

    return of


def test_equal_copies_of_a_brokers_log_are_one_broker(rows) -> None:
    generations, coverage = rows("01-twin-equal", "generation", "coverage")
    assert [(g["incarnation"], g["generation"]) for g in generations] == [(1, 1), (1, 2)]
    assert [c["kind"] for c in coverage].count("copy") == 1
    assert "several_brokers" not in {c["kind"] for c in coverage}


def test_who_was_removed_because_it_had_not_rejoined_is_said_to_have_been(rows) -> None:
    """The coordinator prints the reason; if it may have been paused, no member is reported as awaited."""
    generations, incidents = rows("02-coordinator-asleep.log", "generation", "incident")
    assert {g["generation"]: (g["waited_why"], g["trigger"]) for g in generations} == {
        78: ("not_rejoined", "member_joined"),
        79: (None, "member_joined"),
    }
    (removed,) = (i["headline"] for i in incidents if i["code"] == "members_removed")
    assert removed.startswith("2 members of t (consumer@h (github.com/segmentio/kafka-go)-00000002…, ")
    assert removed.endswith(") were removed because they had not rejoined in time; the logs do not show which processes they were in")


def test_an_epoch_that_no_line_raises_is_there_and_topics_have_names(rows) -> None:
    generations, members, coverage = rows("03-kip848-broker.log", "generation", "member_generation", "coverage")
    epochs = {g["generation"]: g for g in generations}
    assert sorted(epochs) == [1, 2, 3]
    assert len(generations) == 3
    assert (epochs[3]["trigger"], epochs[3]["trigger_member_id"], epochs[3]["seen_by_broker"]) == ("member_left", "6nc1qt8rSeyTwBh__vZELQ", True)
    assert {p for m in members for p in m["assigned"]} == {"orders-0", "orders-1"}
    assert not [c for c in coverage if c["process_id"].startswith("coordinator of")]


def test_a_client_of_3_8_prints_member_and_epoch_in_each_others_place(rows) -> None:
    members, owned, generations = rows("04-kip848-client-38.log", "member", "ownership", "member_generation")
    assert [(m["member_id"], m["process_id"]) for m in members] == [("gjWzAEmmRlOfypB2_GB_9Q", "04-kip848-client-38.log")]
    assert [(o["resource"], o["stop_how"], o["phase_end"]) for o in owned] == [("orders-0", None, "running"), ("orders-1", None, "running")]
    # The number in that line is the member's own count of assignments, which is no epoch of the group.
    assert generations == []


def test_a_line_lists_what_was_owned_before_it_and_gives_more(rows) -> None:
    """A consumer without a listener, whose log begins later: what it owned goes on, what a later list lacks ended, what is added begins."""
    (owned,) = rows("15-kip848-goes-on.log", "ownership")
    ended = {o["resource"]: (o["start_lo"] is not None, o["stop_how"]) for o in owned}
    assert ended == {"orders-0": (False, None), "orders-1": (False, "not_listed"), "orders-2": (True, None), "orders-3": (True, None)}
    assert {o["member_id"] for o in owned} == {"2QxWzAEmRlOfypB2_GB_7w"}
    assert {o["generation"] for o in owned} == {None}


def test_librdkafka_has_no_coordinator_until_the_one_that_is_named_takes_it(rows) -> None:
    episodes, findings = rows("07-librdkafka-epoch.log", "coordinator_episode", "finding")
    assert [(e["group_id"], e["broker_id"], e["found_ts"], e["cause"]) for e in episodes] == [("orders", 3, None, "Broker: Not coordinator")]
    assert [(f["rule"], f["code"]) for f in findings] == [("coordinator-unavailable", "moved")]
    assert "no coordinator for 24 min 17 s" in findings[0]["headline"]
    assert "from broker 3 to broker 2" in findings[0]["headline"]


def test_members_of_a_share_group_own_nothing_exclusively(rows) -> None:
    generations, owned, pairs = rows("05b-share-two", "generation", "ownership", "split_brain")
    assert {(g["protocol_type"], g["group_protocol"]) for g in generations} == {("share", "share")}
    assert owned == pairs == []


@pytest.mark.parametrize(
    ("name", "rule", "code", "group"),
    [
        ("08-librdkafka-static.log", "static-member-fenced", "id_not_printed", "0"),
        ("09-streams-died.log", "streams-thread-lost", "all_died", "orders-app"),
        ("10-connect-loop.log", "rebalance-storm", "cause_unknown", "connect"),
        ("12-kafka-python.log", "stale-commit", "unknown_extent", "logreaders"),
    ],
)
def test_what_the_lines_show_is_found(name: str, rule: str, code: str, group: str, tmp_path: Path) -> None:
    case = with_views(ingest([FIELD / name], tmp_path / "case").case, engine(), [f"rule_{rule.replace('-', '_')}"])
    assert [(f["code"], f["group_id"]) for f in found_by(case, rule)] == [(code, group)]
