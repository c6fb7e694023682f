"""The report, from rows made by hand: what it says, in which order, that it fits, and that log text can do no harm."""

from __future__ import annotations

import copy
import dataclasses
import html
import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from importlib.resources import files
from typing import Any
from zoneinfo import ZoneInfo

import jsonschema
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_case import HOSTILE, T0, at, finding, generation, incident, made, owned, rows, share, split

from forensics.catalogue.patterns import load
from forensics.clocks.reference import Reference
from forensics.errors import CaseError, UsageError
from forensics.inventory.evidence import FORBIDDEN
from forensics.report import (
    collect,
    content,
    examined,
    exit_codes,
    json_form,
    localize,
    loggers,
    markdown,
    model,
    reading,
    row_times,
    selection,
    stored_rows,
    summary,
    text,
)
from forensics.report.document import Heading, Lines, Table
from forensics.report.names import Names
from forensics.report.page import render
from forensics.report.proof import Proofs, key_lines
from forensics.report.window import CaseTime, Window, parse
from forensics.wording import formats


def as_text(width: int = 120, views: dict | None = None, **filters: object) -> str:
    return text.as_text(content.compose(made(views, **filters)), width)


def flat(written: str) -> str:
    """The words without the line breaks that the width made."""
    return " ".join(written.split())


def test_the_verdict_comes_first_with_bounds_and_lines() -> None:
    written = as_text()
    titles = ["SPLIT BRAIN PROVED", "━━ Split brain: PROVED", "━━ Findings", "━━ Group connect-cluster", "━━ What was not seen"]
    assert sorted(titles, key=written.index) == titles
    assert "1 task worked on by two owners at the same time (orders-2: overlapped for at least 1.01 s, both working for at least 990 ms)" in flat(
        written
    )
    assert "w2/connect.log:7" in written
    assert "Stopping task orders-2" in written
    assert "10:01:00.005 ±5 ms" in written
    assert "1 proved, 1 undecided, 1 refuted" in flat(written)


@pytest.mark.parametrize(
    ("kept", "title"),
    [
        (lambda s: s["verdict"] == "refuted", "Split brain: NONE FOUND"),
        (lambda s: s["verdict"] == "undecided", "Split brain: UNDECIDED for 1 pair of owners"),
        (lambda s: False, "Split brain: NONE FOUND"),
    ],
)
def test_the_title_says_the_worst_verdict(kept, title: str) -> None:
    views = rows()
    views["split_brain"] = [s for s in views["split_brain"] if kept(s)]
    assert title in as_text(views=views)


def test_the_title_tells_work_from_mere_threads() -> None:
    views = rows()
    (work,) = [s for s in views["split_brain"] if s["verdict"] == "proved"]
    views["split_brain"].append(work | {"resource": "orders-7", "certain_ms": 0})
    written = flat(as_text(views=views))
    assert "PROVED. 1 task worked on by two owners at the same time (orders-2: overlapped" in written
    views["split_brain"] = views["split_brain"][-1:]
    assert "PROVED. 1 task had two live threads at the same time, and both worked during that time (orders-7: overlapped" in flat(
        as_text(views=views)
    )


def foot(views: dict | None = None) -> dict[str, str]:
    """What else happened, how sure the report is, and what is missing, by label."""
    report = made(views)
    return dict(summary.make(report, Names(report), content.clock(report)).foot)


def test_a_margin_beside_a_proved_jump_speaks_of_another_one() -> None:
    views = rows()
    sure = "both existed at the same time, unless a clock jumped by more than 40.0 s between these lines."
    assert sure in flat(as_text(views=views))
    views["finding"].append(finding("clock-skew", "note", code="apart"))
    assert sure in flat(as_text(views=views))
    views["finding"].append(finding("clock-skew", "warning", code="contradicted"))
    more = "unless a clock jumped again, undetected, by more than 40.0 s"
    assert f"both existed at the same time, {more} between these lines. The known jump is taken into account." in flat(as_text(views=views))
    assert f"The overlap is certain {more} (the known jump is taken into account)" in foot(views)["Confidence"]


def test_members_that_stood_longer_than_anything_was_surely_unowned_are_told() -> None:
    views = rows() | {"duplicate_ledger": [], "split_brain": []}
    views["member_generation"] = [m | {"paused_ms": 20_800} for m in views["member_generation"]]
    idle = "Members of connect-cluster had no assignment, one of them for at least 20.8 s."
    assert foot(views)["Other"] == idle
    views["incident"] = []
    assert foot(views)["Other"] == idle
    views["member_generation"] = [m | {"paused_ms": 8000} for m in views["member_generation"]]
    assert "Other" not in foot(views)


def test_a_rebalance_that_did_not_end_is_a_row_of_its_group() -> None:
    views = rows()
    asked, awaited = ("{process_id} {client_id}".format(**m) for m in views["member"][:2])
    names = ("kafka_cluster", "group_id")
    row = {key: views["generation"][0][key] for key in names} | {"last_generation": 9, "began_ts": at(70), "from_ts": at(70), "to_ts": at(100)}
    views["open_rebalance"] = [
        row | {"lasted_ms": 30_000, "reason": None, "asked": [asked], "awaited": [awaited], "is_given_up": False, "witness": ["e1"]}
    ]
    told = next(line for line in as_text(160, views).splitlines() if line.strip().startswith("next "))
    assert re.search(r"next +10:01:10.000 +≥ 30.0 s +not ended when the logs end +asked to join: w\d; not yet: w\d$", told.rstrip())
    assert "A rebalance of connect-cluster had not ended 30.0 s after it began." in foot(views)["Other"]
    views["generation"] = []
    assert "not ended when the logs end" in as_text(views=views)
    assert "not ended" not in as_text(views=views, until="10:01:00")


def test_those_affected_outside_the_window_are_not_told() -> None:
    views = rows()
    gap = {"incident_id": "i-process_paused", "kafka_cluster": "abc", "group_id": "connect-cluster", "resource_kind": "task", "double_work_ms": None}
    early = gap | {"resource": "orders-1", "id": "o1", "from_ts": at(10), "to_ts": at(52), "unowned_ms": 42_000, "unowned_hi_ms": 42_000}
    late = gap | {"resource": "orders-2", "id": "o2", "from_ts": at(56), "to_ts": at(59), "unowned_ms": 3000, "unowned_hi_ms": 3050}
    views["incident"] = [
        i | {"resources_hit": ["orders-1", "orders-2"], "longest_outage_ms": 42_000, "longest_outage_hi_ms": 42_000} for i in views["incident"]
    ]
    views["incident_gap"] = [early, late]
    whole, windowed = (made(views, **window).incidents[0] for window in ({}, {"since": "10:00:54"}))
    assert (whole["resources_hit"], whole["longest_outage_ms"]) == (["orders-1", "orders-2"], 42_000)
    assert (windowed["resources_hit"], windowed["longest_outage_ms"], windowed["longest_outage_hi_ms"]) == (["orders-2"], 3000, 3050)
    assert windowed["double_work_ms"] is None


def test_a_log_that_ends_too_soon_for_a_verdict_is_missing() -> None:
    views = rows()
    views["split_brain"] = [split("orders-2", "undecided", facts={"evidence": ["end_of_b", "debug_level_of_a"]})]
    assert "lines of w1/connect.log after 10:02:00" in foot(views)["Missing"]
    assert "The log of w1 ends too early to settle all pairs of owners." in flat(as_text(views=views))


def test_requests_that_differ_only_in_the_resource_are_one() -> None:
    views = rows() | {"finding": [], "incident": []}
    asked = "the log of w1 after 10:01:00, showing when it released {}"
    names = ["orders-1", "orders-2", "orders-10"]
    views["split_brain"] = [split(name, "undecided", resource_kind="partition", missing=asked.format(name)) for name in names]
    views["split_brain"].append(split("a-0", "undecided", missing="w2's log at DEBUG"))
    one = asked.format("partitions orders 1, 2 and 10")
    full, screen = flat(as_text(views=views)), flat(text.as_text(content.first_screen(made(views))))
    for written, times in ((full, 2), (screen, 1)):  # in full also with the pairs
        assert written.count("showing when it released") == times
        assert one in written
        assert "w2's log at DEBUG" in written


@pytest.mark.parametrize(
    ("wanted", "merged"),
    [
        ([("the log of a-0, showing the end of a-0", "a-0")], ["the log of a-0, showing the end of a-0"]),
        # A process has the name of a task.
        (
            [("the log of a-0, showing the end of a-0", "a-0"), ("the log of a-0, showing the end of a-1", "a-1")],
            ["the log of a-0, showing the end of a-0", "the log of a-0, showing the end of a-1"],
        ),
        ([("the end of a-1 in a-10.log", "a-1"), ("the end of a-2 in a-10.log", "a-2")], ["the end of tasks a-1 and a-2 in a-10.log"]),
        ([("x", "a-1"), ("y", "a-2"), ("x", "a-3")], ["x", "y"]),
    ],
)
def test_only_the_name_of_the_resource_is_replaced(wanted: list[tuple[str, str]], merged: list[str]) -> None:
    assert collect.merged([(text, split(resource)) for text, resource in wanted]) == merged


def test_a_log_that_lacks_lines_is_not_told_to_end_too_soon() -> None:
    views = rows()
    views["split_brain"] = [split("orders-2", "undecided", facts={"evidence": ["lines_after_b", "start_lines_of_a"]})]
    assert "later lines" not in foot(views)["Missing"]
    assert "too soon" not in flat(as_text(views=views))


@pytest.mark.parametrize(("began_later", "heads"), [(True, ["first", "second"]), (False, ["one", "other"])])
def test_who_was_first_is_told_only_where_the_lines_tell(began_later: bool, heads: list[str]) -> None:
    views = rows()
    views["split_brain"] = [split("orders-2", facts={"b_began_later": began_later})]
    table = next(b for b in content.compose(made(views)) if isinstance(b, Table) and b.columns[0].name == "task")
    assert [c.name for c in table.columns[1:3]] == heads


def test_what_members_alone_tell_of_a_rebalance_is_the_least_that_it_took() -> None:
    views = rows()
    assert "≥" not in as_text(views=views)
    views["generation"] = [g | {"seen_by_broker": False} for g in views["generation"]]
    written = flat(as_text(views=views))
    assert "≥ 3.20 s" in written
    assert "At least 9.60 s spent in rebalances" in written
    # The coordinator's log lacks the line with which it began.
    views["generation"] = [g | {"seen_by_broker": True, "prepared_ts": None} for g in views["generation"]]
    assert "≥ 3.20 s" in flat(as_text(views=views))


def test_what_began_long_before_all_lines_is_told_by_its_latest_time() -> None:
    views = rows()
    views["incident"] = [i | {"from_lo": at(-1800)} for i in views["incident"]]
    assert "· began by 10:00:55" in flat(as_text(views=views))


def test_a_lost_coordinator_is_told_on_the_clock_of_all() -> None:
    views = rows()
    views["coordinator_episode"] = [
        e | {"lost_ts": at(99), "lost_lo": at(21), "lost_hi": at(21), "scope": None} for e in views["coordinator_episode"]
    ]
    table = next(b for b in content.compose(made(views)) if isinstance(b, Table) and any(c.name == "lost at" for c in b.columns))
    assert table.rows[0][2] == "10:00:21.000"
    assert table.rows[0][-1] == "?"


def test_losses_that_follow_each_other_are_one_outage() -> None:
    """Given the address of a dead coordinator again and again, the clients of a process lose it until one finds another, or joins."""
    views = rows()
    one = views["coordinator_episode"][0]

    def lost(second: int, found: int | None, client: str) -> dict:
        times = {"lost_ts": at(second), "lost_lo": at(second), "lost_hi": at(second), "found_ts": found and at(found)}
        return one | times | {"client": client, "losses": 2, "duration_ms": found and (found - second) * 1000}

    def told(*episodes: dict, **more: object) -> list[tuple[str, ...]]:
        blocks = content.compose(made(views | {"coordinator_episode": list(episodes)} | more))
        table = next(b for b in blocks if isinstance(b, Table) and any(c.name == "lost at" for c in b.columns))
        return [(row[2], row[3], row[4]) for row in table.rows]

    flapping = [lost(20, 21, "a"), lost(20, None, "b"), lost(22, 23, "a"), lost(50, 51, "a")]
    assert told(*flapping) == [("10:00:20.000", "3.00 s", "6"), ("10:00:50.000", "1.00 s", "2")]
    alone = lost(20, None, "a")
    assert told(alone) == [("10:00:20.000", "not found again", "2")]
    share = views["member_generation"][0] | {"group_id": one["group_id"], "process_id": one["process_id"], "joined_ts": at(25)}
    assert told(alone, member_generation=[share]) == [("10:00:20.000", "≤ 5.00 s", "2")]


def test_a_setting_that_only_other_members_tell_is_said_to_be_theirs() -> None:
    views = rows()
    theirs = "(the other members' value)"
    assert theirs not in flat(as_text(views=views))
    views["rebalance_blame"] = [b | {"value_how": "group"} for b in views["rebalance_blame"]]
    assert theirs in flat(as_text(views=views))


def test_a_group_that_the_broker_assigns_is_called_by_its_protocol() -> None:
    views = rows()
    of_broker = {"protocol_type": "consumer", "group_protocol": "consumer", "rebalance_mode": "server"}
    views["generation"] = [g | of_broker for g in views["generation"]]
    assert "Group connect-cluster (consumer, KIP-848)" in flat(as_text(views=views))


def test_the_head_counts_skipped_files_apart_and_no_earlier_states_and_spans_times_on_one_clock() -> None:
    views = rows()
    views["source_file"].append(views["source_file"][0] | {"path": "notes.txt", "status": "skipped", "note": "binary"})
    views["source_file"].append(views["source_file"][0] | {"path": "w1.log@12345678", "status": "superseded", "note": "has grown into w1.log"})
    # The clock of w2 is 41 s ahead.
    assert "3 files (1 skipped); 2 Connect workers, 1 broker; Kafka 3.9.1; 2026-03-01 09:59:19 to 10:02:00" in flat(as_text(views=views))


def test_many_members_without_a_log_are_one_table() -> None:
    views = rows()
    named = {"from_ts": at(1), "to_ts": at(50), "kind": "missing_process", "note": "", "facts": {"group_id": "orders"}}
    views["coverage"] = [named | {"process_id": f"member c-{n} at /10.0.0.{n}"} for n in range(2)]
    views["coverage"].append(named | {"process_id": "coordinator of orders", "note": "4 of its generations appear in no broker log"})
    written = flat(as_text(views=views))
    assert "A member named c-1 (at 10.0.0.1, group orders) appears only in other processes' lines; no log has a line with its id." in written
    assert "The coordinator's log for orders is missing: 4 of its generations appear in no broker log." in written
    # All consumers of an application may have one name.
    several = views | {"coverage": [named | {"process_id": "member app-1", "facts": {"group_id": "orders", "members": 2}}]}
    told = "2 members named app-1 (group orders) appear only in other processes' lines; no log has a line with their ids."
    assert told in flat(as_text(views=several))
    assert made(several).examined["members_without_log"] == 2
    views["coverage"][-1] |= {"facts": {"generations": 4, "all_generations": 9}}
    assert "Lines of the coordinator's log for orders are missing:" in flat(as_text(views=views))
    views["coverage"] = [named | {"process_id": f"member c-{n} at /10.0.0.{n}"} for n in range(11)]
    written = flat(as_text(views=views))
    assert "11 members appear only in other processes' lines; no log has lines with their ids:" in written
    assert "c-10 10.0.0.10 orders 10:00:01.000 10:00:50.000" in written


@pytest.mark.parametrize(
    ("notes", "said"),
    [
        (["same content as c1/consumer.log"], "1 file was skipped because it is a copy of c1/consumer.log."),
        (["the beginning of c1/consumer.log"], "1 file was skipped because it is an earlier copy of c1/consumer.log."),
        (["looks like JSON"] * 4, "4 files were skipped because they look like JSON."),
        (["empty"], "1 file was skipped because it is empty."),
        (["binary", "binary", "looks like JSON"], "3 files were skipped: 2 are binary, 1 looks like JSON."),
    ],
)
def test_why_files_were_skipped(notes: list[str], said: str) -> None:
    views = rows()
    views["source_file"] += [views["source_file"][0] | {"path": f"x{n}", "status": "skipped", "note": note} for n, note in enumerate(notes)]
    assert said in flat(as_text(views=views))


def storm() -> dict:
    """No split brain, but a process that is killed repeatedly, and five more incidents whose cause is unknown."""
    views = rows()
    views["split_brain"] = [s for s in views["split_brain"] if s["verdict"] == "refuted"]
    views["finding"] = [finding("session-timeout", "warning", incident_id="i-process_killed", caused_by=None, caused_how="member")]
    views["finding"] += [finding("rebalance-storm", "warning", incident_id="i-process_killed", caused_by="f-session-timeout", caused_how="member")]
    views["finding"] += [
        finding("stale-commit", "warning", finding_id=f"f-{n}", incident_id=f"i-{n}", caused_by=None, caused_how=None, advice="") for n in range(5)
    ]
    views["incident"] = [incident("process_killed", ["f-session-timeout", "f-rebalance-storm"], times=3)]
    views["incident"] += [incident("unknown", [f"f-{n}"], incident_id=f"i-{n}", code="unexplained", headline=HOSTILE) for n in range(5)]
    return views


def test_a_storm_does_not_open_with_an_all_clear() -> None:
    written = as_text(views=storm())
    assert written.strip().startswith("WARNING: w2/connect.log: process_killed")
    assert written.index("1 of ") < written.index("━━ Split brain: NONE FOUND")


def test_a_quiet_case_says_what_the_all_clear_rests_on() -> None:
    said = foot(rows() | {"split_brain": [], "finding": [], "incident": [], "duplicate_ledger": []})
    assert list(said) == ["Confidence", "Missing"]
    assert said["Confidence"].startswith("Based on")


def test_what_no_incident_on_the_screen_says_is_told_besides() -> None:
    views = rows() | {"duplicate_ledger": [], "split_brain": []}
    assert "Other" not in foot(views)
    of_none = {"resource_kind": "partition", "incident_id": None}
    views["split_brain"].append(split("orders-9", kind="held", certain_ms=3000, there_certain_ms=3000, **of_none))
    gap = {"kafka_cluster": "abc", "group_id": "connect-cluster", "resource_kind": "task", "from_ts": at(60), "to_ts": at(70), "double_work_ms": None}
    views["incident"].append(incident("deployment", [], "note", incident_id="i-note", resources_hit=[]))
    views["incident_gap"] = [gap | {"incident_id": "i-note", "resource": "a-0", "id": "o1", "unowned_ms": 4000, "unowned_hi_ms": 5000}]
    assert foot(views)["Other"] == (
        "Task a-0 had no owner for at least 4.00 s. Partition orders-9 was held by two owners at the same time for at least 3.00 s."
    )
    views["incident_gap"] = [g | {"incident_id": "i-process_paused"} for g in views["incident_gap"]]
    assert "a-0" not in foot(views)["Other"], "the impact of the incident has it"


def test_a_long_orderly_restart_is_told_besides_an_incident() -> None:
    views = rows() | {"duplicate_ledger": [], "split_brain": []}
    restart = {
        "incident_id": "i-stop",
        "from_hi": at(0),
        "to_lo": at(7200),
        "headline": "b1 was shut down cleanly and restarted",
        "resources_hit": [],
    }
    views["incident"].append(incident("process_restarted", [], "note", **restart))
    assert foot(views)["Other"].endswith("B1 was shut down cleanly and restarted (2 h 00 min).")


def test_a_group_left_without_members_and_commits_that_went_back_are_told_besides() -> None:
    report = made(rows() | {"duplicate_ledger": [], "split_brain": []})
    (group,) = {g for i in report.incidents for g in i["group_ids"]}
    report = dataclasses.replace(report, left_empty={group: at(90), "another": at(90)}, commits_back={"g": 2}, groups=[])
    found = summary.make(report, Names(report), content.clock(report))
    assert "Dumps of `__consumer_offsets` have 2 commits of g that went back" in dict(found.foot)["Other"]
    assert f"No member was left in {group} when the logs end, since 10:01:30." in dict(found.foot)["Other"]


def test_every_format_begins_with_the_same_summary() -> None:
    views = rows() | {"duplicate_ledger": []}
    views["finding"].append(finding("risky-config", "warning", finding_id="f-alone", incident_id=None, caused_by=None, headline="alone happened"))
    views["member_generation"] = [m | {"paused_ms": 20_800} for m in views["member_generation"]]
    report = made(views)
    found = summary.make(report, Names(report), content.clock(report))
    (story,) = found.stories
    facts = [found.title, found.scope, *(step.text for step in story.steps), *(hit.what for hit in story.hits)]
    facts += [story.now, *(text for _, text in (*story.advice, *found.unsettled, *found.foot)), *(f["headline"] for f in found.also)]
    facts = [plain(fact) for fact in facts if fact]
    assert len(facts) > 8
    written = {
        "screen": text.as_text(content.first_screen(report), 2000),
        "full": text.as_text(content.compose(report), 2000),
        "Markdown": markdown.render(content.compose(report)).replace("\\", "").replace("<br>", " "),
        "JSON": " ".join(texts(json.loads(json_form.render(report, found.stories, found)))),
        "page": html.unescape(re.sub(r"<[^>]*>", "", render.render(report))),
    }
    for name, words in written.items():
        assert [fact for fact in facts if fact not in plain(words)] == [], name


def plain(words: str) -> str:
    return flat(words).replace("`", "")


def texts(value: Any) -> Iterator[str]:
    """Yield all texts in a JSON value."""
    if isinstance(value, str):
        yield value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from texts(item)


def test_a_cause_is_told_once_with_its_effects_below_it() -> None:
    blocks = list(content.compose(made(storm())))
    assert sum(isinstance(b, Heading) and b.level > 2 and "process_killed" in b.text for b in blocks) == 1
    assert not any(isinstance(b, Heading) and "rebalance-storm happened" in b.text for b in blocks)
    (below,) = [b for b in blocks if isinstance(b, Table) and any("  rebalance-storm happened" in cell for row in b.rows for cell in row)]
    assert [row[1] for row in below.rows] == ["  rebalance-storm happened"]


def test_a_rule_alone_names_its_cause() -> None:
    assert "Caused by: session-timeout happened" in flat(as_text(views=storm(), rules=["session-timeout", "rebalance-storm"]))


def test_json_nests_findings_below_their_causes() -> None:
    (paused,) = json.loads(json_form.render(made()))["brief"]
    assert paused["cause"] == "process_paused"
    (timeout,) = paused["findings"]
    assert (timeout["rule"], [e["rule"] for e in timeout["effects"]]) == ("session-timeout", ["split-brain-task"])


def test_incidents_of_other_groups_are_left_out() -> None:
    views = rows()
    views["incident"].append(incident("broker_down", [], incident_id="i-other", group_ids=["another"]))
    assert [i["incident_id"] for i in made(views, groups=["connect-cluster"]).incidents] == ["i-process_paused"]
    assert len(made(views).incidents) == 2


def test_a_filter_by_group_shows_what_the_group_lost_and_keeps_the_severity_of_the_incident() -> None:
    views = rows()
    shared = incident(
        "broker_down", ["f-a", "f-b"], "critical", group_ids=["one", "other"], resources_hit=["orders-0", "users-0"], double_work_ms=1470
    )
    views["incident"] = [shared]
    views["ownership"] = [owned("orders-0", "w1", group_id="one"), owned("users-0", "w2", group_id="other")]
    views["split_brain"] = [split("users-0", group_id="other")]
    views["finding"] = [
        finding("session-timeout", "warning", finding_id="f-a", group_id="one", incident_id="i-broker_down"),
        finding("split-brain-task", "critical", finding_id="f-b", group_id="other", incident_id="i-broker_down"),
    ]
    (seen,) = made(views, groups=["one"]).incidents
    assert (seen["severity"], seen["resources_hit"], seen["double_work_ms"]) == ("critical", ["orders-0"], None)
    (whole,) = made(views).incidents
    assert (whole["severity"], whole["double_work_ms"]) == ("critical", 1470)


def test_a_held_overlap_is_not_called_proved_work() -> None:
    views = rows()
    views["split_brain"] = [split("orders-0", kind="held")]
    written = as_text(views=views)
    assert "PROVED" not in written
    assert "held by two owners at the same time, without proof that both worked" in flat(written)


def test_overlaps_of_one_pair_at_one_time_are_one_incident() -> None:
    views = rows()
    views["split_brain"] = [split(f"orders-{i}", certain_ms=900 + i) for i in range(30)] + [
        split("late-0", from_lo=at(900), from_hi=at(900), to_lo=at(901), to_hi=at(901))
    ]
    headings = [b.text for b in content.compose(made(views)) if isinstance(b, Heading) and b.text.startswith("proved")]
    assert headings == [
        "proved: w2 and w1 both worked on task late-0 (group connect-cluster)",
        "proved: w2 and w1 both worked on tasks orders-[0-29] (group connect-cluster)",
    ]


def test_many_incidents_and_groups_stay_readable() -> None:
    views = rows()
    views["split_brain"] = [
        split(f"t{i}-0", from_lo=at(900 * i), from_hi=at(900 * i), to_lo=at(900 * i + 1), to_hi=at(900 * i + 2)) for i in range(300)
    ]
    views["generation"] += [generation(n, 10 * n, group_id=f"app-{i}", protocol_type="consumer") for i in range(400) for n in (1, 2)]
    views["finding"].append(finding("session-timeout", "warning", group_id="app-399"))
    written = as_text(views=views)
    assert len(written.splitlines()) < 600
    assert "299 more proved incidents" in written
    assert "393 more groups" in written
    assert "━━ Group app-399" in written
    assert "━━ Group app-123" in as_text(views=views, groups=["app-123"])


def test_what_happens_to_the_same_two_again_is_told_in_full_once_and_counted() -> None:
    views = rows()
    views["split_brain"] = [
        split(f"orders-{i % 3}", kind="held", resource_kind="partition", from_lo=at(900 * i), from_hi=at(900 * i), to_lo=at(900 * i + 1), to_hi=None)
        for i in range(200)
    ]
    written = as_text(200, views)
    assert len(re.findall(r"(?m)^proved: ", written)) == 1
    assert re.search(r"orders-\[0-2\] +w2 +w1 +both holding +199 ", written)


def test_both_there_and_both_at_work_have_names_of_their_own() -> None:
    table = next(b for b in content.compose(made()) if isinstance(b, Table) and b.columns[0].name == "task")
    told = dict(zip((c.name for c in table.columns), table.rows[0], strict=True))
    assert (told["overlap at least"], told["both working at least"]) == ("1.01 s", "990 ms")
    views = rows()
    views["split_brain"] = [split("orders-0", kind="held", work_certain_ms=None)]
    table = next(b for b in content.compose(made(views)) if isinstance(b, Table) and b.columns[0].name == "task")
    assert [c.name for c in table.columns if "at least" in c.name] == ["both holding at least"]


def repeated(number: int) -> dict:
    """One finding of session timeouts, and its occurrences: one each 1000 s, the 10th the longest."""
    views = rows()
    views["finding"] = [finding("session-timeout", "warning", finding_id="all", occurrences=number, to_ts=at(1000 * (number - 1) + 1), start=0)]
    views["occurrence"] = [
        {key: f[key] for key in ("subject", "from_ts", "to_ts", "headline", "group_id")}
        | {"occurrence_id": f"o{i}", "finding_id": "all", "incident_id": None, "lasted_ms": 90_000 if i == 10 else 1000}
        for i in range(number)
        for f in [finding("session-timeout", "warning", start=1000 * i, to_ts=at(1000 * i + 1), headline=f"time {i}", subject=f"m{i}")]
    ]
    for row in (*views["process"], *views["source_file"]):
        row["last_ts"] = at(1000 * number)
    return views


def test_what_repeats_is_one_finding_with_a_table() -> None:
    written = as_text(views=repeated(171))
    assert "Findings: 1 warning" in written
    assert "12 of 171 occurrences" in flat(written)
    assert all(f"time {i} " in written for i in (0, 10, 170))
    assert "1 min 30 s" in written
    assert len(written.splitlines()) < 150
    found = json.loads(json_form.render(made(repeated(171))))["findings"][0]
    assert (len(found["repeats"]), found["repeats"][170]["occurrence_id"]) == (171, "o170")


def test_what_repeats_is_told_of_the_window_alone() -> None:
    views = repeated(171)
    since = {"since": "2026-03-01T10:00:00Z", "until": "2026-03-01T10:40:00Z"}
    assert "3 of the 171 occurrences are in the selected time" in flat(as_text(views=views, **since))
    between = made(views, since="2026-03-01T10:05:00Z", until="2026-03-01T10:06:00Z")
    assert between.findings == []


def test_a_group_tells_what_its_rebalances_went_by_with_and_what_was_read_twice() -> None:
    written = as_text(200)
    assert "detecting a lost member" in written
    assert "session.timeout.ms = 6000 instead of 10000 would have detected it 4.00 s sooner" in written
    assert "At least 1 record was read twice" in written


@pytest.mark.parametrize("width", [80, 120, 200])
def test_nothing_is_wider_than_the_page_but_the_places_of_lines(width: int) -> None:
    for line in as_text(width).splitlines():
        assert len(line) <= width or ".log:" in line, line


def test_a_run_of_like_generations_is_one_row() -> None:
    views = rows()
    storm = [generation(i, 100 + i, trigger="member_left" if i % 1000 == 0 else "metadata_changed") for i in range(4, 57_000)]
    views["generation"] += storm
    views["member_generation"] += [share(g["generation"], "connect-w1-x", ["a-0"]) for g in storm]
    document = content.compose(made(views))
    tables = [b for b in document if isinstance(b, Table) and any("assignments" in c.name for c in b.columns)]
    assert sum(len(t.rows) for t in tables) <= 60
    written = text.as_text(document, 100)
    assert "56,999 generations" in written
    assert "4-999" in written
    assert len(written.splitlines()) < 320


def test_a_member_without_a_line_in_a_generation_is_neither_without_a_log_nor_idle_nor_gone() -> None:
    """Its log may exist without these lines; its assignment is then unknown."""
    views = rows()
    views["generation"] = [g | {"member_count": 3} for g in views["generation"]]
    last = views["generation"][-1]["generation"]
    views["member_generation"] = [s | ({"assigned": None} if s["generation"] == last else {}) for s in views["member_generation"]]
    written = flat(as_text(views=views))
    assert "w1*: not known" in written
    assert "whose assignment is not logged" in written
    assert "without a log here" not in written
    assert "as before" not in written


def test_lines_that_must_be_missing_are_told() -> None:
    views = rows()
    views["coverage"].append(views["coverage"][0] | {"kind": "missing_lines", "code": "missing_lines", "note": "log lines are missing: why"})
    written = flat(as_text(views=views))
    assert "lines of w3" in written
    assert "lines missing" in written


def test_many_findings_of_one_rule_become_a_table() -> None:
    views = rows()
    views["finding"] += [finding("poll-timeout", "warning", start=i, finding_id=f"p{i}") for i in range(200)]
    written = as_text(views=views)
    assert written.count("poll-timeout · proved") == 2
    assert "forensics report --rule poll-timeout" in written
    assert len(as_text(views=views, rules=["poll-timeout"]).splitlines()) > 200


def test_a_rule_shows_its_findings_alone() -> None:
    written = as_text(rules=["session-timeout"])
    assert "session-timeout happened" in written
    assert "Split brain" not in written
    assert "risky-config" not in written
    assert "What was not seen" in written


def test_a_second_incarnation_is_a_table_of_its_own_and_says_why() -> None:
    views = rows()
    views["generation"].append(generation(1, 200, incarnation=2, incarnation_why="metadata_lost"))
    assert "Generations restart here (the group's metadata was lost): incarnation 2 of the group." in flat(as_text(views=views))


def test_logs_that_begin_late_say_nothing_of_generations_that_begin_again() -> None:
    views = rows()
    for row in views["generation"]:
        row |= {"incarnation": 1, "incarnation_why": "unknown"}
    assert "begin again" not in flat(as_text(views=views))


def test_a_pause_that_lines_are_missing_of_makes_the_others_a_lower_bound() -> None:
    views = rows()
    assert "≥ 200 ms" not in flat(as_text(views=views))
    views["member_generation"].append(views["member_generation"][0] | {"paused_ms": None, "is_pause_known": False})
    assert "≥ 200 ms" in flat(as_text(views=views))
    for row in views["member_generation"]:
        row |= {"paused_ms": None, "is_pause_known": False}
    assert "≥ 200 ms" not in flat(as_text(views=views))


def test_what_was_not_seen_is_said() -> None:
    written = flat(as_text())
    assert "No log of w3" in written
    assert "40.0 s" in written
    assert "3 lines of group-related loggers (10.0 %) were not recognised" in written
    assert "no time zone; assumed UTC" in written


def test_islands_of_clocks_are_said() -> None:
    views = rows()
    views["process"][2]["clock_island"] = 2
    assert "across them, verdicts rest on the order of messages and of generations alone" in flat(as_text(views=views))


def test_an_empty_case_has_a_report() -> None:
    empty = {name: [] for name in row_times.VIEWS}
    written = as_text(views=empty)
    assert "NOT EXAMINED" in written
    assert markdown.render(content.compose(made(empty)))
    validate(made(empty))


# --- what "none found" rests on, and the third headline


def nothing(**of: object) -> dict[str, list[dict]]:
    """A case without any ownership; `of` replaces what it has of the rest."""
    views = {name: [] for name in rows()}
    file = rows()["source_file"][0] | {"events": 0, "unrecognised": 0}
    return views | {"source_file": [file]} | of


PATH = rows()["source_file"][0]["path"]
NEVER = rows()["finding"][0] | {"rule": "coordinator-unavailable", "facts": '{"never": true}'}
CLIENTS = [p for p in rows()["process"] if p["role"] != "broker"]


@pytest.mark.parametrize(
    ("views", "why", "said"),
    [
        (nothing(source_file=[]), "no_files", "No log was read: there are no files."),
        (nothing(source_file=[rows()["source_file"][0] | {"status": "skipped", "note": "binary"}]), "no_files", f"No log was read ({PATH}: binary)."),
        (nothing(source_file=[rows()["source_file"][0] | {"records": 0}]), "no_records", f"No line of the 1 file ({PATH}) has a known layout"),
        (nothing(), "not_kafka", f"None of the 10 records in 1 file ({PATH}) is from a logger of Kafka"),
        (
            nothing(source_file=rows()["source_file"], process=CLIENTS, finding=[NEVER]),
            "no_coordinator",
            "No group formed in these logs",
        ),
        (nothing(source_file=rows()["source_file"], process=rows()["process"][:1], finding=[NEVER]), "no_group_lines", "none of the 30 records"),
        (
            nothing(source_file=rows()["source_file"]),
            "no_group_lines",
            "none of the 30 records shows, in a known form, that a member joined a group or was assigned",
        ),
        (nothing(source_file=rows()["source_file"], generation=rows()["generation"], process=rows()["process"][:1]), "brokers_only", "brokers' logs"),
        (
            nothing(
                source_file=rows()["source_file"],
                generation=rows()["generation"],
                member_generation=rows()["member_generation"],
                process=CLIENTS,
            ),
            "no_signs",
            "The logs show assignments, but no task, connector or consumer that then worked",
        ),
        (
            nothing(source_file=rows()["source_file"], generation=rows()["generation"], process=CLIENTS),
            "no_assignments",
            "do not show which member held what, and for how long",
        ),
        (
            nothing(
                source_file=rows()["source_file"],
                generation=rows()["generation"],
                member_generation=[m | {"assigned": []} for m in rows()["member_generation"]],
                process=CLIENTS,
            ),
            "nothing_assigned",
            "were given no task, connector or partition",
        ),
    ],
)
def test_nothing_to_judge_is_no_all_clear(views: dict, why: str, said: str) -> None:
    report = made(views)
    assert report.examined["why"] == why
    written = as_text(views=views)
    assert "━━ Split brain: NOT EXAMINED" in written
    assert "NONE FOUND" not in written
    assert said in flat(written)
    assert "not an all-clear" in flat(written)
    assert validate(report)["examined"]["examined"] is False
    # Levels are reported if there are lines whose loggers are known.
    parts = ("log4j.logger.org.apache.kafka.connect=INFO", "- name: kafka.coordinator", '<logger name="org.apache.kafka.clients" level="INFO"/>')
    first = flat(text.as_text(content.first_screen(report), 120))
    # The first screen says what was read, and what is expected.
    assert first.startswith("NO KAFKA LOGS FOUND") == (why in ("no_files", "no_records", "not_kafka"))
    assert ("Expected logs of Kafka brokers (`server.log`" in first) == (why in ("no_files", "no_records", "not_kafka"))
    levels_matter = why not in ("no_files", "no_records", "not_kafka", "no_coordinator", "no_signs", "nothing_assigned")
    assert [part for part in parts if part in written] == [*parts] * levels_matter
    if levels_matter:
        # A command is copied whole, also from a narrow terminal.
        rest = "  'http://WORKER:8083/admin/loggers/org.apache.kafka.common.utils.AppInfoParser?scope=cluster'"
        assert rest in as_text(60, views)
        assert rest in markdown.render(content.compose(report))
        assert "admin/loggers/org.apache.kafka.connect?scope=cluster" in render.render(report)


def test_what_nobody_may_read_is_asked_for_as_such_and_not_as_a_damaged_copy() -> None:
    closed = rows()["source_file"][0] | {"path": "w9/connect.log", "status": "unreadable", "note": FORBIDDEN, "records": None}
    first = flat(text.as_text(content.first_screen(made(nothing(source_file=[closed]))), 120))
    assert "No log was read (w9/connect.log: permission denied). Run the command again as a user who may read the file" in first
    assert "More `forensics sql source_file`" in first
    assert "timeline" not in first
    asked = list(collect.rows(made({**rows(), "source_file": [*rows()["source_file"], closed]}), []))
    assert [text for text in asked if "w9" in text] == ["w9/connect.log, as a user who may read it (permission denied)"]


def test_share_groups_have_no_owners_to_compare() -> None:
    """Their members share partitions by design: nothing is missing, and nothing needs to be turned on."""
    generations = [g | {"group_protocol": "share", "protocol_type": "share"} for g in rows()["generation"]]
    views = nothing(source_file=rows()["source_file"], generation=generations, member_generation=rows()["member_generation"], process=CLIENTS)
    assert made(views).examined["why"] == "share_groups"
    assert "their members share each partition by design" in flat(as_text(views=views))
    assert "not an all-clear" not in as_text(views=views)


def test_none_found_says_what_it_rests_on() -> None:
    views = rows() | {"split_brain": [], "finding": []}
    views["coverage"] = [c for c in views["coverage"] if c["kind"] == "gap"]
    views["ownership"] += [owned("orders", "w2", resource_kind="connector"), owned("t-0", "w2", resource_kind="partition", group_id="connect-orders")]
    written = flat(as_text(views=views))
    assert "Split brain: NONE FOUND Based on 3 tasks, 1 connector and 1 partition of 2 groups, owned by 2 processes with logs, " in written
    assert "from 09:59:19.000 to 10:02:00.000 (2 min 41 s), with a silence of 40.0 s." in written
    assert made(views).examined["members_without_log"] == 0


def test_members_without_a_log_stand_in_the_title() -> None:
    views = rows() | {"split_brain": []}
    views["coverage"].append({"process_id": "member connect-4 at /10.0.0.4", "from_ts": None, "to_ts": None, "kind": "missing_process", "note": ""})
    written = flat(as_text(views=views))
    assert "Split brain: NONE FOUND among the members with logs (1 more at 10.0.0.4 has none)" in written
    assert "There are no lines of 1 member: what it owned is unknown." in written


def test_members_whose_loggers_were_off_stand_in_the_title() -> None:
    views = rows() | {"split_brain": []}
    views["coverage"].append(
        {"process_id": "w1", "from_ts": None, "to_ts": None, "kind": "no_info", "code": "no_client_info", "note": "x", "facts": {"client_count": 3}}
    )
    written = flat(as_text(views=views))
    assert "Split brain: NONE FOUND among the members with logs (the logs of 3 do not show ownership)" in written
    assert "What 3 consumers owned is unknown: their logs have no INFO lines." in written


def test_logs_whose_lines_are_cut_stand_in_the_title() -> None:
    views = rows() | {"split_brain": []}
    cut = {"from_ts": None, "to_ts": None, "kind": "cut_lines", "code": "cut_lines", "note": "x", "facts": {"line_count": 40}}
    views["coverage"] += [cut | {"process_id": "w1/connect.log"}, cut | {"process_id": "w2/connect.log"}]
    written = flat(as_text(views=views))
    assert "Split brain: NONE FOUND among the members with logs (2 logs have truncated lines)" in written
    assert "The lines of w1 and w2 are truncated: 80 lines with different messages" in written
    assert "2 logs whose lines are cut" in written


def test_damaged_logs_are_named_in_the_title() -> None:
    views = rows() | {"split_brain": []}
    damaged = {"from_ts": None, "to_ts": None, "kind": "damaged", "code": "damaged", "note": "2 lines are damaged", "facts": {"line_count": 2}}
    views["coverage"].append(damaged | {"process_id": "w1/connect.log"})
    written = flat(as_text(views=views))
    assert "Split brain: NONE FOUND among the members with logs (1 log has damaged lines)" in written
    assert "w1: 2 lines are damaged." in written
    assert "1 log with damaged lines" in written


def test_nothing_is_examined_if_lines_of_several_members_are_left_out() -> None:
    views = rows() | {"split_brain": []}
    facts = {"group_id": "g", "client": None, "members": 2}
    views["coverage"].append(
        {"process_id": "w9", "from_ts": None, "to_ts": None, "kind": "several_members", "code": "several_members", "note": "x", "facts": facts}
    )
    written = flat(as_text(views=views))
    assert "Split brain: NOT EXAMINED" in written
    assert "NONE FOUND" not in written


def test_what_had_two_threads_is_counted_by_its_kind() -> None:
    views = rows()
    split = views["split_brain"][0] | {"kind": "thread", "verdict": "proved"}
    views["split_brain"] = [
        split | {"resource_kind": kind, "resource": name} for kind, name in (("connector", "a"), ("task", "a-0"), ("task", "b-1"))
    ] + [split | {"resource_kind": "partition", "resource": "t-0", "kind": "held"}]
    written = flat(as_text(views=views))
    assert (
        "1 connector and 2 tasks had two running threads at the same time; 1 partition held by two owners at the same time, without proof that both worked"
        in written
    )


def one_worker() -> dict:
    """The log of one worker alone: it led a life in a group of which nothing else is here."""
    views = rows() | {"split_brain": [], "finding": [], "incident": []}
    for name in ("ownership", "member"):
        views[name] = [r for r in views[name] if r.get("process_id") in (None, "w2/connect.log", "w2")]
    views["generation"] = [g | {"seen_by_broker": False, "member_count": 1} for g in views["generation"]]
    views["coverage"] = [c for c in views["coverage"] if c["kind"] == "gap"]
    return views


@pytest.mark.parametrize(
    ("member_id", "name"),
    [
        ("connect-10.77.0.13:8083-b4d2ae49-9c6d-4bfd-b595-b648eb420ae2", "10.77.0.13:8083"),
        ("connect-[fe80::1]:8083-b4d2ae49-9c6d-4bfd-b595-b648eb420ae2", "[fe80::1]:8083"),
        ("connect-w1:8083", "w1:8083"),
        ("connect-1-b4d2ae49-9c6d-4bfd-b595-b648eb420ae2", "connect-1-b4d2ae49…"),
        ("connect-http://w1:8083-b4d2ae49-9c6d-4bfd-b595-b648eb420ae2", "connect-http://w1:8083-b4d2ae49…"),
    ],
)
def test_a_worker_is_called_by_the_address_in_its_member_id(member_id: str, name: str) -> None:
    assert formats.short_member(member_id) == name


def test_the_log_of_one_member_is_no_all_clear_for_its_group() -> None:
    views = one_worker()
    assert "Split brain: NOT EXAMINED, because only one member has a log" in flat(as_text(views=views))
    assert examined.nothing_examined(made(views))
    # Pairs inside the one log, which it refutes itself, are no look at the others.
    alone = views | {"split_brain": [r | {"verdict": "refuted", "process_b": r["process_a"], "certain_ms": 0} for r in rows()["split_brain"]]}
    assert "Split brain: NOT EXAMINED, because only one member has a log" in flat(as_text(views=alone))
    missing = {"from_ts": None, "to_ts": None, "kind": "missing_process", "note": ""}
    views["coverage"].append(missing | {"process_id": "member connect-w1:8083"})
    views["coverage"].append(missing | {"process_id": "coordinator of connect-cluster"})
    written = flat(as_text(views=views))
    assert "only one member has a log (1 more has none)" in written
    assert "Its lines name another member, and its log is missing: w1:8083." in written
    assert foot(views)["Missing"] == "the logs of 1 member, the coordinator's log for connect-cluster, a silence of 40.0 s."
    assert "NONE FOUND" not in written


def test_where_no_line_tells_how_many_members_there_were_none_found_says_so() -> None:
    views = rows() | {"split_brain": [], "finding": [], "incident": []}
    assert "the number of members" not in flat(as_text(views=views)).lower()
    views["generation"] = [g | {"seen_by_broker": False, "is_count_told": False} for g in views["generation"]]
    written = flat(as_text(views=views))
    assert "NONE FOUND among the members with logs (the number of members of connect-cluster is unknown)" in written
    assert "The number of members of connect-cluster is unknown: there may have been more." in written


def test_what_had_two_owners_stands_before_what_had_none_and_before_what_only_lost_its_session() -> None:
    views = rows()
    views["finding"] = [
        finding("session-timeout", "warning", finding_id="f-a", incident_id="i-a", caused_by=None, caused_how=None),
        finding("split-brain-partition", "warning", finding_id="f-b", incident_id="i-b", caused_by=None, caused_how=None),
    ]
    kept = {"severity": "warning", "resources_hit": [], "longest_outage_ms": None, "double_work_ms": None}
    views["incident"] = [incident("unknown", [f"f-{n}"], incident_id=f"i-{n}", **kept) for n in "ab"]
    assert [i["incident_id"] for i in made(views).incidents] == ["i-b", "i-a"]


def test_a_process_of_a_merged_file_has_the_name_that_the_file_gives_it() -> None:
    report = made()
    ids = ["compose.log#w1-1", "compose.log#w2-1", "other.log#w2-1", "w3.log#2", "w4/connect.log"]
    report.case["processes"] = [{"process_id": name, "host": "w4" if "w4" in name else None} for name in ids]
    assert [Names(report).process(name) for name in ids] == ["w1-1", "compose.log#w2-1", "other.log#w2-1", "w3.log#2", "w4"]


def test_parts_of_one_members_log_are_no_two_members() -> None:
    """For a log whose parts were joined in an unknown order, or for the files of two days."""
    views = one_worker()
    name = "w2/connect.log#2"
    views |= {view: [*views[view], *(r | {"process_id": name} for r in views[view])] for view in ("ownership", "member")}
    assert "Split brain: NONE FOUND" in as_text(views=views)
    views["process"] = [p | {"same_process_ids": [name] if p["process_id"] == "w2/connect.log" else None} for p in views["process"]]
    assert "Split brain: NOT EXAMINED" in as_text(views=views)


def test_one_member_is_an_all_clear_where_the_coordinator_says_that_it_was_alone() -> None:
    views = one_worker()
    views["generation"] = [g | {"seen_by_broker": True, "member_count": 1} for g in views["generation"]]
    assert "Split brain: NONE FOUND Based on" in flat(as_text(views=views))
    # Two members of one log, as two threads of Kafka Streams, and one of another.
    views["generation"][0] |= {"member_count": 2, "seen_by_members": 2}
    assert "Split brain: NONE FOUND Based on" in flat(as_text(views=views))
    views["generation"][0]["seen_by_members"] = 1
    assert "NOT EXAMINED" in as_text(views=views)


def test_a_group_whose_owners_no_line_tells_is_named() -> None:
    views = rows() | {"split_brain": []}
    views["generation"].append(generation(1, 5, group_id="billing"))
    assert "Not examined, because no line shows ownership: group billing." in flat(as_text(views=views))
    asked = as_text(views=views, groups=["billing"])
    assert "NOT EXAMINED" in asked
    assert "The logs do not show ownership in billing" in flat(asked)


def test_a_window_without_owners_is_not_examined() -> None:
    views = rows() | {"split_brain": []}
    written = flat(as_text(views=views, until="10:00:05"))
    assert "NOT EXAMINED" in written
    assert "The whole case has 3 ownership periods" in written


def test_a_window_without_a_double_owner_says_that_there_is_one_outside_it() -> None:
    views = rows()
    asked = as_text(views=views, since="10:01:50")
    assert "Split brain: NONE FOUND" in asked
    assert "in the time that was selected; outside it, 1 pair of owners is proved" in flat(asked)
    assert "outside it" not in as_text(views=views | {"split_brain": []}, since="10:01:50")


def test_the_loggers_to_turn_on_are_those_of_the_catalogue() -> None:
    """Each Java class whose lines are about membership, assignment and work is under one of the names; each name has such classes."""
    told = {"membership", "assignment", "task", "connector", "broker_group"}
    classes = {
        name
        for event in load(()).events
        if event.category in told
        for name in event.loggers
        if re.match(r"(org\.apache\.kafka|kafka)\..*\.[A-Z]", name)
    }
    names = {*loggers.WORKER, *loggers.CLIENT, *loggers.BROKER}
    assert {c for c in classes if not any(c.startswith(n) for n in names)} == set()
    everything = {name for event in load(()).events for name in event.loggers}
    assert {n for n in names if not any(c.startswith(n) for c in everything)} == set()


# --- time windows and filters


def test_what_reaches_beyond_the_window_is_said_to_be_told_whole() -> None:
    written = flat(as_text(since="10:00:55", until="10:01:00"))
    assert "Anything that began before that time or ended after it is shown whole, with its full length: " in written
    # Of the pairs that are not refuted.
    assert "2 findings, 2 pairs of owners and 1 root cause." in written
    assert "told whole" not in flat(as_text())
    assert "told whole" not in flat(as_text(groups=["connect-cluster"]))


@pytest.mark.parametrize(
    ("since", "until", "generations"),
    [
        ("", "", [1, 2, 3]),
        ("2026-03-01T10:00:12Z", "", [2, 3]),
        ("", "2026-03-01T10:00:09+00:00", [1]),
        ("2026-03-01 11:00:12+01:00", "2026-03-01T10:00:14", [2]),
        ("90s", "", [3]),
        ("1.5m", "60s", [3]),
        ("1d", "", [1, 2, 3]),
        ("10:00:12", "", [2, 3]),
        ("", "10:00:09", [1]),
        ("11:00:12+01:00", "10:00:14.000Z", [2]),
        ("09:00", "23:00", [1, 2, 3]),
        ("2026-03-01", "2026-03-01", [1, 2, 3]),
    ],
)
def test_a_window_keeps_what_touches_it(since: str, until: str, generations: list[int]) -> None:
    groups = made(since=since, until=until).groups
    assert [g["generation"] for g in groups[0]["generations"]] == generations
    assert {s["generation"] for s in groups[0]["member_generations"]} == set(generations)


@pytest.mark.parametrize(
    ("filters", "said"),
    [
        ({"since": "yesterday"}, "not a valid time or duration"),
        ({"until": "12:60"}, "not a valid time or duration"),
        ({"since": "99999999999d"}, "reaches back before the year 1"),
        ({"since": "2026-03-02", "until": "2026-03-01"}, "is after"),
        ({"groups": ["nobody"]}, "no group `nobody`"),
    ],
)
def test_a_wrong_filter_is_a_wrong_use(filters: dict, said: str) -> None:
    with pytest.raises(UsageError, match=said) as error:
        made(**filters)
    assert error.value.where.startswith("--")


@pytest.mark.parametrize(
    ("filters", "said"),
    [
        ({"since": "2027-01-01"}, "after the case's last record"),
        ({"since": "11:00"}, "after the case's last record"),
        ({"until": "2026-02-28"}, "before the case's first record"),
        ({"until": "09:59"}, "before the case's first record"),
        ({"until": "3m"}, "before the case's first record"),
    ],
)
def test_a_window_outside_the_case_is_a_wrong_use_and_names_the_cases_span(filters: dict, said: str) -> None:
    with pytest.raises(UsageError, match=said) as error:
        made(**filters)
    # As the report's first lines say: the clock of w2 is 41 s ahead.
    assert error.value.why == "the case spans 2026-03-01 09:59:19 to 2026-03-01 10:02:00 UTC"


def test_a_duration_counts_back_from_the_last_record_on_the_reference_clock() -> None:
    views = rows()
    views["clock_offset"] = [c | {"lo_ms": 40_000.0, "hi_ms": 40_000.0} for c in views["clock_offset"]]
    ahead = [p | {"last_ts": at(160)} if p["process_id"].startswith("w2") else p for p in views["process"]]
    report = made(views | {"process": ahead}, since="1m")
    assert report.filters["since"] == at(60)
    assert report.case["last_event_ts"] == at(120)
    # Not the times of files that no process wrote, such as a dump made a day later.
    dump = views["source_file"][0] | {"path": "dump.txt", "process_id": None, "last_ts": at(86_400)}
    assert made(views | {"source_file": [*views["source_file"], dump]}, since="1m").filters["since"] == at(60)


def test_times_by_a_process_s_own_clock_are_placed_before_they_are_selected() -> None:
    """The clock of w2 is 41 s ahead: what it prints from 10:00:18 to 10:00:58 is from 09:59:37 to 10:00:17."""
    views = rows()
    views["coordinator_episode"] = [e | {"lost_lo": at(17), "lost_hi": at(17), "found_ts": at(60)} for e in views["coordinator_episode"]]
    views["ownership"] = [o | {"start_lo": at(1)} for o in views["ownership"]]

    def seen(**window: str) -> tuple[int, int, int]:
        report = made(views, **window)
        return sum(c["kind"] == "gap" for c in report.coverage), report.examined["gaps"], len(report.coordinator_episodes)

    assert seen() == (1, 1, 1)
    assert seen(until="10:00:10") == (1, 1, 0)
    assert seen(since="10:00:18") == (0, 0, 1)
    assert seen(since="10:00:30") == (0, 0, 0)


def test_a_generation_is_placed_by_the_clock_of_its_coordinator() -> None:
    views = rows()
    views["generation"] = [generation(1, 60, coordinator="w2/connect.log")]
    views["rebalance_blame"] = [b | {"generation": 1, "from_ts": at(60), "to_ts": at(63)} for b in views["rebalance_blame"]]

    def seen(**window: str) -> list[tuple[int, int]]:
        return [(len(g["generations"]), len(g["rebalance_blame"])) for g in made(views, **window).groups if g["generations"]]

    assert seen(since="10:00:15", until="10:00:25") == [(1, 1)]
    assert seen(since="10:00:55") == []


def test_a_member_whose_lines_are_by_any_clock_is_not_lost() -> None:
    views = rows()
    views["member"] = [m | {"first_ts": at(70), "last_ts": at(80)} for m in views["member"]]
    assert [len(g["members"]) for g in made(views, until="10:00:35").groups] == [2]
    assert [len(g["members"]) for g in made(views, until="10:00:20").groups] == [0]


def test_the_time_of_a_clock_that_stepped_is_within_the_case() -> None:
    views = rows()
    views["clock_offset"] = [c | {"lo_ms": None, "hi_ms": None, "stepped": True} for c in views["clock_offset"]]
    views["process"] = [p | {"last_ts": at(7200)} if p["process_id"].startswith("w2") else p for p in views["process"]]
    assert made(views, since="11:00").filters["since"] == at(3600)
    with pytest.raises(UsageError, match="after the case's last record"):
        made(views, since="12:30")


def test_a_clock_time_is_one_of_the_cases_days() -> None:
    night = CaseTime(datetime(2026, 3, 1, 23, 50, tzinfo=UTC), datetime(2026, 3, 2, 0, 20, tzinfo=UTC))
    assert parse("23:55", "0:05", night) == Window(datetime(2026, 3, 1, 23, 55, tzinfo=UTC), datetime(2026, 3, 2, 0, 5, tzinfo=UTC))
    # In Berlin it is one day.
    assert parse("00:30+01:00", "", night).since == night.first - timedelta(minutes=20)
    with pytest.raises(UsageError, match="outside the case") as error:
        parse("12:00", "", night)
    assert "2026-03-01T12:00:00" in error.value.fix
    long = CaseTime(night.first, night.first + timedelta(days=90))
    with pytest.raises(UsageError, match="several days"):
        parse("12:00", "", long)
    with pytest.raises(UsageError, match="nothing in the case has a time"):
        parse("", "2h", None)


def test_a_moment_has_its_own_end_and_what_has_none_goes_on() -> None:
    views = rows()
    views["finding"] = [finding("session-timeout", "warning", to_ts=at(60)), finding("assigned-not-working", "critical", to_ts=None)]
    assert [f["rule"] for f in made(views, since="10:01:30").findings] == ["assigned-not-working"]
    assert len(made(views, until="10:01:00").findings) == 2
    assert made(views, until="10:00:59").findings == []


def test_what_may_have_begun_before_is_never_left_out() -> None:
    views = rows()
    views["split_brain"] = [split("orders-0", "undecided", from_lo=None, from_hi=at(60))]
    assert made(views, until="10:00:10").split_brain


def test_rows_without_a_time_or_group_stay() -> None:
    views = rows()
    views["finding"].append(finding("clock-skew", "warning", start=None, group_id=None))
    assert "clock-skew" in [f["rule"] for f in made(views, since="1s", groups=["connect-cluster"]).findings]


@pytest.mark.parametrize(
    ("found", "proved", "any_"),
    [
        ([], False, False),
        ([finding("x", "note")], False, False),
        ([finding("x", "warning", "undecided")], False, True),
        ([finding("x", "warning", "proved")], True, True),
        ([finding("x", "critical", "undecided")], False, True),
    ],
)
def test_fail_on(found: list, proved: bool, any_: bool) -> None:
    report = made(rows() | {"finding": found})
    assert tuple(exit_codes.is_reached(report, fail_on) for fail_on in ("proved", "any", "never")) == (proved, any_, False)


# --- JSON


def validate(report: model.Report) -> dict:
    schema = json.loads(files("forensics").joinpath("report-schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    written = json.loads(json_form.render(report))
    jsonschema.Draft202012Validator(schema).validate(written)
    return written


def test_json_keeps_to_its_schema() -> None:
    written = validate(made())
    proof = written["findings"][0]["witness"][0]
    assert proof == {
        "event_id": "e1",
        "process_id": "w2/connect.log",
        "path": "w2/connect.log",
        "line": 7,
        "byte_offset": 700,
        "ts": "2026-03-01T10:01:00.000Z",
        "text": "Stopping task orders-2",
    }


def test_json_says_what_was_asked_for() -> None:
    assert validate(made(since="2026-03-01T10:00:12Z", groups=["connect-cluster"]))["case"]["filters"] == {
        "since": "2026-03-01T10:00:12.000Z",
        "until": None,
        "groups": ["connect-cluster"],
        "rules": [],
    }


def test_the_schema_is_no_rubber_stamp() -> None:
    broken = made()
    broken.findings[0]["severity"] = "bad"
    with pytest.raises(jsonschema.ValidationError):
        validate(broken)
    broken = made()
    del broken.split_brain[0]["verdict"]
    with pytest.raises(jsonschema.ValidationError):
        validate(broken)


# --- hostile text


def hostile() -> dict:
    """The rows with every free text replaced by one that attacks the terminal, HTML and Markdown."""
    views = copy.deepcopy(rows())
    fixed = {"severity", "verdict", "kind", "resource_kind", "rule", "role", "group_protocol", "incarnation_why", "waited_why", "phase_end", "scope"}
    for view in views.values():
        for row in view:
            for key, value in row.items():
                if isinstance(value, str) and key not in fixed:
                    row[key] = value + HOSTILE
    return views


CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def test_log_text_cannot_steer_the_terminal() -> None:
    written = as_text(views=hostile())
    assert "\\x1b[31m" in written
    assert not CONTROL.search(written)
    assert not CONTROL.search(markdown.render(content.compose(made(hostile()))))
    assert not CONTROL.search(json_form.render(made(hostile())))


def test_log_text_cannot_make_markup_in_markdown() -> None:
    written = markdown.render(content.compose(made(hostile())))
    outside = re.sub(r"^(`{3,})text\n.*?\n\1$", "", written, flags=re.DOTALL | re.MULTILINE)
    outside = re.sub(r"(?<!\\)`[^`\n]+`", "", outside)
    assert not re.search(r"(?<!\\)<(?!br>)", outside)
    for line in outside.splitlines():
        if line.startswith("|"):
            assert len(re.findall(r"(?<!\\)\|", line)) in {4, 5, 6, 7, 8, 9}, line


def test_a_fence_is_longer_than_any_in_the_text() -> None:
    block = next(b for b in content.compose(made()) if isinstance(b, Lines))
    hostile_line = type(block.lines[0])("a.log:1", "", "``````` end", "e")
    assert "````````text" in markdown.render([Lines((hostile_line,))])  # type: ignore[arg-type]


# --- words


@given(st.text())
def test_printable_text_has_no_controls_and_keeps_the_rest(value: str) -> None:
    shown = formats.printable(value)
    assert not CONTROL.search(shown)
    assert "\n" not in shown
    if value.isascii() and value.isprintable():
        assert shown == value


@pytest.mark.parametrize(
    ("ms", "said"),
    [
        (None, "?"),
        (0, "0 ms"),
        (999, "999 ms"),
        (1040, "1.04 s"),
        (59_940, "59.9 s"),
        (125_000, "2 min 05 s"),
        (11_400_000, "3 h 10 min"),
        (-40, "-40 ms"),
    ],
)
def test_spans(ms: float | None, said: str) -> None:
    assert formats.span(ms) == said


@given(st.integers(min_value=0, max_value=10**12))
def test_no_span_says_sixty(ms: int) -> None:
    assert not re.search(r"(?:^|\s)60(\.0)? (s|min)|1000 ms|10\.00 s|\b24 h", formats.span(ms))


@pytest.mark.parametrize(
    ("items", "said"),
    [
        ([], ""),
        (["b-1"], "b-1"),
        (["o-0", "o-1"], "o-[0,1]"),
        (["o-0", "o-1", "o-2", "o-7"], "o-[0-2,7]"),
        (["x", "o-10", "o-9"], "o-[9,10] x"),
        (["a-00"], "a-00"),
        ([f"t{i}-0" for i in range(20)], "t0-0 t1-0 t10-0 t11-0 t12-0 t13-0 t14-0 t15-0 t16-0 t17-0 t18-0 t19-0 … 8 more"),
    ],
)
def test_resources_are_folded(items: list[str], said: str) -> None:
    assert formats.fold(items) == said


def test_clock_leaves_the_date_out_only_within_one_day() -> None:
    assert formats.Clock([T0, at(5)]).at(at(5)) == "10:00:05.000"
    assert formats.Clock([T0, T0 + timedelta(days=1)]).at(at(5)) == "2026-03-01 10:00:05.000"
    assert formats.Clock([T0]).between(None, at(5)) == "before 10:00:05.000"
    assert formats.Clock([T0]).between(at(1), at(5)) == "10:00:01.000 to 10:00:05.000"


def lines_of(found: list) -> list:
    return next(block for block in found if isinstance(block, Lines)).lines


def sign(event_id: str, role: str, seconds: float, process: str) -> dict:
    return {
        "event_id": event_id,
        "role": role,
        "ts": at(seconds),
        "process_id": process,
        "path": process,
        "line": 1,
        "byte_offset": 0,
        "text": f"text {event_id}",
    }


OWNERS = [
    sign("a0", "A starts", 10, "w2/connect.log"),
    sign("a1", "A is processing", 30, "w2/connect.log"),
    sign("a2", "A ends", 40, "w2/connect.log"),
    sign("b0", "B is asked to start", 20, "w1/connect.log"),
    sign("b1", "B starts", 21, "w1/connect.log"),
    sign("c0", "clock bound", 5, "w1/connect.log"),
]


def test_a_proof_is_three_lines_in_order_of_time_with_their_roles() -> None:
    clocks = Reference([], [])
    times = formats.Clock([at(0)])
    told = Proofs(times, clocks).blocks(OWNERS, "f1")
    assert [line.role for line in lines_of(told)] == ["A starts", "B starts", "A is processing"]
    assert told[0].more == "3 of 6 lines; `forensics show f1` or `--proof all` prints all"
    whole = Proofs(times, clocks, everything=True).blocks(OWNERS)
    assert [line.event_id for line in lines_of(whole)] == ["c0", "a0", "b0", "b1", "a1", "a2"]
    assert not whole[0].more


def test_of_owners_who_were_there_before_the_line_that_shows_them_is_told() -> None:
    lines = [
        sign("a0", "A is already active", 10, "w2/connect.log"),
        sign("b0", "B is already active", 21, "w1/connect.log"),
        *OWNERS[1:3],
        OWNERS[5],
    ]
    assert {w["event_id"] for w in key_lines(lines)} == {"a0", "b0", "a1"}


def test_of_owners_who_were_both_at_work_the_lines_that_show_their_work_are_told() -> None:
    assert [w["role"] for w in key_lines([*OWNERS, sign("b2", "B is processing", 29, "w1/connect.log")])] == [
        "B is asked to start",
        "A is processing",
        "B is processing",
    ]


def test_of_other_proofs_a_line_of_each_role_is_told() -> None:
    lines = [
        sign(f"e{n}", role, 10 - n, "w1/connect.log")
        for n, role in enumerate(["the rebalance", "the rebalance", "given up", "the rebalance", "joins"])
    ]
    assert {w["event_id"] for w in key_lines(lines)} == {"e0", "e2", "e4"}
    assert len(key_lines(lines[:2])) == 2


def test_lines_of_a_clock_that_is_far_off_are_told_by_both_clocks() -> None:
    views = rows()
    views["clock_offset"] = [
        c | {"lo_ms": 3_600_000, "hi_ms": 3_600_010} for c in views["clock_offset"] if c["process_id"] != c["reference_process_id"]
    ][:1]
    report = made(views)
    late = sign("x", "A starts", 3600, report.clocks[0]["process_id"])
    line = lines_of(Proofs(formats.Clock([at(0)]), Reference(report.clocks, report.case["processes"])).blocks([late]))[0]
    assert line.ts == "09:59:59.995 ±5 ms (by its own clock 11:00:00.000)"


BERLIN, INDIA = ZoneInfo("Europe/Berlin"), timezone(timedelta(hours=5, minutes=30))


def test_times_are_told_in_the_reader_s_zone_and_the_head_says_so_once() -> None:
    report = dataclasses.replace(made(since="10:00:01"), zone=BERLIN)
    written = flat(text.as_text(content.compose(report)))
    assert "2026-03-01 10:59:19 to 11:02:00. Only:" in written
    assert "1 Mar 2026 11:00:50-11:01:01 Europe/Berlin (UTC+01:00)" in written
    assert "Only: since 2026-03-01 11:00:01." in written
    assert "11:01:00.005 ±5 ms" in written
    assert "10:01:00.005" not in written
    assert written.count("Europe/Berlin") == 1
    assert "10:00:50-10:01:01 UTC (" in flat(as_text())


def test_a_day_of_the_reader_s_may_be_two_of_utc() -> None:
    times = [datetime(2026, 3, 1, 20, tzinfo=UTC), datetime(2026, 3, 2, 3, tzinfo=UTC)]
    assert formats.Clock(times, INDIA).at(times[0]) == "01:30:00.000"
    assert formats.Clock(times, BERLIN).at(times[0]) == "2026-03-01 21:00:00.000"


def test_times_that_are_asked_for_are_meant_in_the_reader_s_zone() -> None:
    case = CaseTime(datetime(2026, 3, 1, 9, tzinfo=UTC), datetime(2026, 3, 1, 23, 30, tzinfo=UTC))
    assert parse("10:30", "2026-03-01T12:00", case, BERLIN) == Window(datetime(2026, 3, 1, 9, 30, tzinfo=UTC), datetime(2026, 3, 1, 11, tzinfo=UTC))
    assert parse("10:30Z", "2026-03-01", case, BERLIN) == Window(
        datetime(2026, 3, 1, 10, 30, tzinfo=UTC), datetime(2026, 3, 1, 22, 59, 59, 999999, tzinfo=UTC)
    )
    with pytest.raises(UsageError) as error:
        parse("2026-03-02T01:00", "", case, BERLIN)
    assert "2026-03-02 01:00:00 Europe/Berlin (UTC+01:00)" in error.value.what


@pytest.mark.parametrize(
    ("zone", "said"),
    [
        (UTC, "UTC"),
        (INDIA, "UTC+05:30"),
        (timezone(timedelta(hours=-3)), "UTC-03:00"),
        (BERLIN, "Europe/Berlin (UTC+01:00)"),
        (ZoneInfo("UTC"), "UTC"),
    ],
)
def test_a_zone_is_told_with_its_offset(zone: tzinfo, said: str) -> None:
    assert formats.zone_name(zone, T0) == said


@pytest.mark.engine
@pytest.mark.parametrize("name", ["split-brain-frozen-worker-3.9.1", "session-timeouts-consumers-3.9.1"])
def test_sentences_told_again_are_those_of_the_case_with_other_times(name: str, sample_case) -> None:
    case = sample_case(name)
    report = reading.read(case, selection.Filters())
    same = localize.for_reader(case, report, ZoneInfo("Etc/UTC"), {})
    # A case does not store what a finding says of the damage.
    findings = [{name: text for name, text in f.items() if name != "impact"} for f in same.findings]
    assert (findings, same.split_brain, same.coverage) == (report.findings, report.split_brain, report.coverage)
    there = localize.for_reader(case, report, INDIA, {})
    clock_times = re.compile(r"\b(\d\d):(\d\d):(\d\d\.\d{3})")
    moved = 0
    for before, after in zip([*report.findings, *report.split_brain], [*there.findings, *there.split_brain], strict=True):
        said, again = (clock_times.findall(row["explanation"] or "") for row in (before, after))
        assert [((int(h) * 60 + int(m) + 330) % 1440, s) for h, m, s in said] == [(int(h) * 60 + int(m), s) for h, m, s in again]
        moved += len(said)
    assert moved > 4


def test_the_rows_of_another_view_are_refused(tmp_path) -> None:
    """As in a case whose folders somebody has swapped."""
    pq.write_table(pa.table({"process_id": ["w1"], "lo_ms": [0], "hi_ms": [0], "stepped": [False]}), tmp_path / "part-0.parquet")
    with pytest.raises(CaseError, match="cannot be read") as error:
        stored_rows.rows_of("incident", tmp_path)
    assert error.value.why == "its file has the columns of something else"
