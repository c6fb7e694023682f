# SPDX-License-Identifier: Apache-2.0
"""Inputs cut from public reports, with what is right about each of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest
from some_views import found_by, with_views

from forensics.case.ingestion import ingest
from forensics.engines import engine

FIELD = Path(__file__).parent / "field"
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
    """The coordinator prints why; where it may have slept, nobody is said to have been waited for."""
    generations, incidents = rows("02-coordinator-asleep.log", "generation", "incident")
    assert {g["generation"]: (g["waited_why"], g["trigger"]) for g in generations} == {
        78: ("not_rejoined", "member_joined"),
        79: (None, "member_joined"),
    }
    removed = "2 members of t were removed because they had not rejoined in time; the logs do not show which processes they were in"
    assert removed in {i["headline"] for i in incidents}


def test_an_epoch_that_no_line_raises_is_there_and_topics_have_names(rows) -> None:
    generations, members, coverage = rows("03-kip848-broker.log", "generation", "member_generation", "coverage")
    epochs = {g["generation"]: g for g in generations}
    assert sorted(epochs) == [1, 2, 3]
    assert len(generations) == 3
    assert (epochs[3]["trigger"], epochs[3]["trigger_member_id"], epochs[3]["seen_by_broker"]) == ("member_left", "6nc1qt8rSeyTwBh__vZELQ", True)
    assert {p for m in members for p in m["assigned"]} == {"orders-0", "orders-1"}
    assert not [c for c in coverage if c["process_id"].startswith("coordinator of")]


def test_a_client_of_3_8_prints_member_and_epoch_in_each_others_place(rows) -> None:
    members, owned = rows("04-kip848-client-38.log", "member", "ownership")
    assert [(m["member_id"], m["process_id"]) for m in members] == [("gjWzAEmmRlOfypB2_GB_9Q", "04-kip848-client-38.log")]
    assert sorted(o["resource"] for o in owned) == ["orders-0", "orders-1"]


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
