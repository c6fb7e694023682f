"""The report's first screen: short, the most severe first, each step with its line, and nothing claimed that is not known."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import UTC, timedelta, timezone

import pytest
from made_case import HOSTILE, LINES, at, finding, incident, made, rows

from forensics.report import content, json_form, story, text
from forensics.report.exceptions import exceptions
from forensics.report.names import Names
from forensics.report.page import front, journal
from forensics.report.page.process_style import ProcessStyles
from forensics.report.summary import between, title
from forensics.wording import sentences


def screen(views: dict | None = None, width: int = 100, **filters: object) -> str:
    return text.as_text(content.first_screen(made(views, **filters)), width)


def flat(written: str) -> str:
    return " ".join(written.split())


def test_the_title_says_that_split_brain_is_proved_and_what_its_state_is() -> None:
    views = rows()
    (cause,) = views["incident"]
    views["incident"] = [cause | {"state": "over", "outcome": "resolved by 10:01:05"}]
    assert screen(views).strip().splitlines()[0] == "SPLIT BRAIN PROVED - resolved by 10:01:05"


def test_what_happened_begins_with_the_root_cause_and_cites_lines() -> None:
    lines = screen().splitlines()
    start = lines.index("What happened")
    assert lines[start + 1].endswith("ROOT CAUSE")
    assert any(f"{line['path']}:{line['line']}" in written for line in LINES.values() for written in lines[start:])


def test_an_incident_with_much_evidence_fits_sixty_lines() -> None:
    views = rows()
    (cause,) = views["incident"]
    more = [
        finding(f"session-timeout-{n}", "warning", finding_id=f"f-{n}", incident_id=cause["incident_id"], caused_by=None, caused_how="member")
        for n in range(300)
    ]
    views["finding"] += more
    views["incident"] = [cause | {"finding_ids": [*cause["finding_ids"], *(f["finding_id"] for f in more)]}]
    for width in (80, 120, 160):
        assert len(screen(views, width).splitlines()) <= 60


def test_the_fourth_incident_and_later_ones_are_short_with_their_worst_damage_or_the_next_step() -> None:
    views = rows() | {"duplicate_ledger": []}
    gap = {"kafka_cluster": "abc", "group_id": "connect-cluster", "resource_kind": "task", "from_ts": at(60), "to_ts": at(70), "double_work_ms": None}
    views["incident_gap"] = [
        gap | {"incident_id": f"i-{n}", "id": f"g{n}", "resource": f"orders-{n}", "unowned_ms": 10_000 + 1000 * n, "unowned_hi_ms": None}
        for n in range(5)
    ]
    views["incident"] = [
        incident("process_killed", [], "warning", incident_id=f"i-{n}", headline=f"w{n} died", resources_hit=["orders-0"], next="See why.")
        for n in range(6)
    ]
    written = screen(views)
    assert "1 of 6: w0 died" in written
    assert "3 of 6:" in written
    assert "4 of 6" not in written
    assert "3 more incidents" in written
    later = flat(written[written.index("3 more incidents") :])
    for n in (3, 4):
        assert f"w{n} died" in later
        assert f"Impact: task orders-{n}: no owner, at least 1{n} s" in later
    assert "w5 died" in later
    assert later.count("Next: See why.") == 1


def test_of_equally_grave_incidents_the_one_that_goes_on_comes_first() -> None:
    views = rows()
    views["incident"] = [
        incident("process_killed", [], "warning", incident_id=f"i-{n}", headline=f"w{n} died", resources_hit=["x"], state=state, longest_outage_ms=ms)
        for n, (state, ms) in enumerate((("over", 90_000), ("open", 1_000), ("unknown", 2_000)))
    ]
    written = screen(views)
    assert written.index("w1 died") < written.index("w0 died") < written.index("w2 died")


def test_the_remedy_of_a_known_bug_that_made_an_incident_last_is_among_its_next_steps() -> None:
    views = rows()
    (cause,) = views["incident"]
    bug = finding("known-bug", "warning", code="KAFKA-9184", finding_id="f-bug", incident_id=cause["incident_id"], caused_by=None, advice="Upgrade.")
    views["finding"].append(bug)
    views["incident"] = [cause | {"next": "Check the network.", "finding_ids": [*cause["finding_ids"], "f-bug"]}]
    assert "Next Check the network. KAFKA-9184: Upgrade." in flat(screen(views))


@pytest.mark.parametrize(("over_how", "is_said"), [("shut_down", True), (None, False)])
def test_after_the_shutdown_of_two_owners_there_is_nothing_to_stop(over_how: str | None, *, is_said: bool) -> None:
    report = made()
    (cause,) = report.incidents
    report = replace(
        report,
        incidents=[cause | {"state": "open", "over_how": over_how}],
        split_brain=[pair | {"incident_id": cause["incident_id"]} for pair in report.split_brain],
    )
    (found,) = story.stories(report, Names(report))
    assert found.now.startswith("Nothing needs stopping. Check the output of task orders-2") is is_said


@pytest.mark.parametrize(("later", "is_said"), [(timedelta(seconds=-60), True), (timedelta(seconds=60), False)])
def test_nothing_needs_stopping_only_if_no_undecided_pair_is_later(later: timedelta, *, is_said: bool) -> None:
    report = made()
    (cause,) = report.incidents
    mine = [pair | {"incident_id": cause["incident_id"]} for pair in report.split_brain if pair["verdict"] == "proved"]
    end = max(pair["to_hi"] for pair in mine)
    undecided = mine[0] | {"verdict": "undecided", "incident_id": None, "resource": "orders-7", "to_hi": end + later}
    report = replace(report, incidents=[cause | {"state": "over", "to_lo": end, "to_hi": end}], split_brain=[*mine, undecided])
    (found,) = story.stories(report, Names(report))
    assert "Check the output of task orders-2" in found.now
    assert ("Nothing needs stopping" in found.now) is is_said


def _impact(gaps: list[dict], pairs: list[dict] = (), findings: list[dict] = ()) -> str:  # the rows of one incident's impact, as one text
    views = rows() | {"duplicate_ledger": [], "occurrence": [], "split_brain": list(pairs), "finding": list(findings)}
    gap = {"incident_id": "i-0", "kafka_cluster": "abc", "group_id": "connect-cluster", "resource_kind": "task", "from_ts": at(60), "to_ts": at(70)}
    views["incident_gap"] = [gap | {"id": f"g{n}", "double_work_ms": None, "unowned_hi_ms": None} | g for n, g in enumerate(gaps)]
    views["incident"] = [incident("process_killed", [f["finding_id"] for f in findings], "warning", incident_id="i-0", resources_hit=["b-0"])]
    text = screen(views, 160)
    return flat(text[text.index("Impact") : text.index("Confidence")])


def test_the_longest_time_without_an_owner_is_named_with_its_resource() -> None:
    found = _impact([{"resource": f"b-{n}", "unowned_ms": ms} for n, ms in enumerate((53_000, 2_000, 5_000))])
    assert found.index("b-0 at least 53 s;") < found.index("2 others 2-5 s")
    assert "at least 52 s each" in _impact([{"resource": f"b-{n}", "unowned_ms": ms} for n, ms in enumerate((53_000, 52_000, 52_500))])


def test_the_worst_damage_comes_first_and_what_is_only_possible_last() -> None:
    found = _impact(
        [
            {"resource": "b-0", "unowned_ms": 1_500},
            {"resource": "b-1", "unowned_ms": 0, "unowned_hi_ms": 24_000},
            {"resource": "in-3", "resource_kind": "partition", "unowned_ms": 30_000},
        ]
    )
    assert found.index("in-3") < found.index("b-0") < found.index("b-1")
    assert "task b-1 possibly no owner up to 24 s undecided" in found


def test_a_rule_states_its_damage_in_its_own_words() -> None:
    facts = {
        **{"connector": "a", "other_connector": "a", "place": "blue", "other_place": "green", "connector_class": "X", "settings": ["x=1"]},
        **{"is_sink": False, "has_both_run": True, "both_at_ms": None},
    }
    declared = finding(
        "duplicate-declaration", "critical", code="two_clusters", facts=json.dumps(facts), incident_id="i-0", finding_id="f-0", caused_by=None
    )
    worded = sentences.findings([declared], {})[0]
    assert "connector a (blue and green) declared twice every record is produced twice" in _impact([], findings=[worded])


def test_bounds_of_a_beginning_do_not_read_as_a_period() -> None:
    """The cause began at a moment between 10:00:50 and 10:00:55; what followed has periods."""
    written = screen(width=120)
    first, second = written[written.index("What happened") :].splitlines()[1:3]
    assert first.split("  ")[1] == "between 10:00:50"
    assert second.split()[:2] == ["and", "10:00:55"]
    assert "10:00:50-55" not in written[written.index("What happened") :]


def test_a_cause_that_came_back_to_the_same_host_is_said() -> None:
    views = rows()
    views["incident"] = [
        incident("process_killed", [], incident_id=f"i-{n}", headline="w2 died", from_lo=at(n * 86400), from_hi=at(n * 86400), resources_hit=["x"])
        for n in (0, 3)
    ]
    assert "Recurred w2: 2 times, 1 Mar 10:00 and 4 Mar 10:00" in flat(screen(views))


def test_without_an_incident_there_is_none_and_what_that_rests_on_is_said() -> None:
    quiet = rows() | {"split_brain": [], "finding": [], "incident": [], "duplicate_ledger": []}
    written = flat(screen(quiet))
    assert written.startswith("NO INCIDENT FOUND")
    assert "Split brain: NONE FOUND" in written
    assert "Based on" in written


def test_a_finding_names_its_group_and_the_time_of_the_logs_without_a_generation() -> None:
    views = {name: [] for name in rows()} | {name: rows()[name] for name in ("source_file", "process", "clock_offset") if name in rows()}
    fenced = finding("static-member-fenced", "critical", incident_id=None, group_id="shop")
    screened = flat(screen(views | {"finding": [fenced]}))
    assert re.search(r" shop, \d+ \w+ \d{4} \d\d:", screened)
    assert "no group" not in screened
    assert screened.startswith("CRITICAL: ")


def test_what_was_not_examined_names_what_to_collect() -> None:
    empty = rows() | {"ownership": [], "split_brain": [], "finding": [], "incident": []}
    written = flat(screen(empty))
    assert written.startswith("SPLIT BRAIN NOT EXAMINED")
    assert "Rebalances connect-cluster had 3 generations: 2 joins, 1 session timeout" in written
    assert "treat this as unresolved" in written
    assert "Known" in written


def test_errors_that_no_finding_reports_are_explained() -> None:
    """A line pasted from a bug report often has only the error: its meaning is the answer."""
    (known,) = [e for e in exceptions() if "UnknownMemberIdException" in e.names]
    views = {name: [] for name in rows()} | {"source_file": rows()["source_file"]}
    error = {"path": "c.log", "line": 3, "ts": None, "text": "heartbeat errored", "said": "UNKNOWN_MEMBER_ID", "known": known, "times": 2}
    written = flat(text.as_text(content.first_screen(replace(made(views), errors=[error])), 100))
    assert "Shown heartbeat errored: UNKNOWN_MEMBER_ID (c.log:3 and 1 more line) The coordinator had removed this member before" in written
    assert "Next Search the broker's log for" in written


def test_undecided_pairs_are_no_proof_and_say_what_would_decide() -> None:
    views = rows() | {"finding": [], "incident": []}
    pair = next(s for s in views["split_brain"] if s["verdict"] == "proved")
    views["split_brain"] = [pair | {"verdict": "undecided", "missing": "the log of the broker that coordinated connect-cluster"}]
    written = flat(screen(views))
    assert written.startswith("SPLIT BRAIN UNDECIDED for 1 pair of owners")
    assert "PROVED" not in written
    assert "the log of the broker that coordinated connect-cluster" in written


def test_processes_are_called_by_their_hosts() -> None:
    views = rows()
    pair, (cause,) = next(s for s in views["split_brain"] if s["verdict"] == "proved"), views["incident"]
    facts = {"ownership_a": pair["ownership_a"], "ownership_b": pair["ownership_b"]}
    views["occurrence"] = [
        finding("split-brain-task", "critical", occurrence_id="o1", lasted_ms=1, facts=json.dumps(facts), incident_id=cause["incident_id"])
    ]
    report = made(views)
    (hit, *_) = next(s for s in story.stories(report, Names(report)) if s.pairs).hits
    assert hit.who == "w2 and w1"


def test_text_of_logs_steers_no_terminal() -> None:
    views = rows()
    (cause,) = views["incident"]
    views["incident"] = [cause | {"headline": HOSTILE, "outcome": HOSTILE}]
    assert "\x1b" not in screen(views)
    assert "\u202e" not in screen(views)


def test_json_has_the_story_of_each_incident() -> None:
    report = made()
    (told,) = json.loads(json_form.render(report, story.stories(report, Names(report))))["brief"]
    assert told["story"][0]["role"] == "root cause"
    assert {"what", "who", "lasted", "consequence"} <= told["impact"][0].keys()
    assert {"now", "next", "prevent"} <= told.keys()


@pytest.mark.parametrize(
    ("lo", "hi", "said"),
    [
        (0, 0.4, "10:00:00"),
        (0, 8, "10:00:00-08"),
        (0, 85, "10:00:00-10:01:25"),
        (0, 86400, "10:00:00 to 2 Mar 10:00:00"),
        (None, 5, "by 10:00:05"),
        (5, None, "10:00:05"),
    ],
)
def test_two_moments_are_as_short_as_they_can_be(lo: float | None, hi: float | None, said: str) -> None:
    assert between(None if lo is None else at(lo), None if hi is None else at(hi), UTC) == said


def test_the_screen_is_in_the_reader_s_zone() -> None:
    assert between(at(0), at(1), timezone(timedelta(hours=2))) == "12:00:00-01"


def test_several_split_brains_are_over_when_the_last_of_them_is() -> None:
    report = made()
    names = Names(report)
    proved = tuple(p for p in report.split_brain if p["verdict"] == "proved")
    first = replace(story.stories(report, names)[0], pairs=proved)
    later = timedelta(days=3)
    one, other = (
        replace(first, incident=first.incident | {"state": "over", "over_since": at(65), "outcome": "resolved by 10:01:05"}),
        replace(
            first,
            incident=first.incident | {"state": "over", "over_since": at(70) + later, "outcome": "resolved by 10:01:10"},
            steps=tuple(replace(s, lo=s.lo and s.lo + later, hi=s.hi and s.hi + later) for s in first.steps),
        ),
    )
    assert title(report, [one, other])[0] == f"SPLIT BRAIN PROVED - resolved by 10:01:10 on {at(70) + later:%-d %b}"
    assert title(report, [one])[0] == "SPLIT BRAIN PROVED - resolved by 10:01:05"
    # What is over does not make the title an all-clear for what is not.
    lasting = replace(first, incident=first.incident | {"state": "open", "outcome": "not over when the logs end"}, pairs=())
    assert title(report, [one, lasting])[0] == "SPLIT BRAIN PROVED - resolved by 10:01:05; 1 other incident is not over"


def test_a_title_has_the_outcome_of_the_incident_that_it_names() -> None:
    report = made()
    held = tuple(p | {"kind": "held", "verdict": "proved"} for p in report.split_brain)
    report = replace(report, split_brain=list(held))
    first = replace(story.stories(report, Names(report))[0], pairs=held)
    one, other = (
        replace(
            first,
            incident=first.incident
            | {"severity": "warning", "state": "over", "over_since": at(at_s), "outcome": f"resolved by 10:01:{at_s - 60:02}"},
        )
        for at_s in (65, 70)
    )
    assert title(report, [one, other])[0].endswith(" - resolved by 10:01:05")


def test_a_critical_finding_without_an_incident_is_the_title_above_incidents_that_are_less_severe() -> None:
    report = made()
    first = story.stories(report, Names(report))[0]
    less = replace(first, incident=first.incident | {"severity": "warning", "state": "over"}, pairs=())
    alone = finding(rule="start-failed", severity="critical", incident_id=None, headline="worker w9 could not start")
    report = replace(report, split_brain=[], findings=[alone, *report.findings])
    assert title(report, [less])[0] == "CRITICAL: worker w9 could not start"
    assert title(report, [replace(less, incident=less.incident | {"severity": "critical"})])[0] != "CRITICAL: worker w9 could not start"


@pytest.mark.parametrize(
    ("more", "until"),
    [
        ({"to_lo": None, "to_hi": None}, "10:00:50-55"),
        ({"to_lo": None, "to_hi": None, "state": "open", "shown_until": at(118.2)}, "10:00:50-10:01:58"),
        # Over by 10:01:43, as the title says.
        ({"state": "over", "over_since": at(102.3)}, "10:00:50-10:01:43"),
        ({"to_hi": at(60), "state": "open", "shown_until": at(118.2)}, "10:00:50-10:01:58"),
        # It existed all the time: the time of the logs.
        ({**dict.fromkeys(("from_lo", "from_hi", "to_lo", "to_hi")), "state": "open", "shown_until": at(118.2)}, "09:59:19-10:02:00"),
    ],
)
def test_the_time_under_the_title_ends_when_the_incident_does(more: dict, until: str) -> None:
    views = rows() | {"split_brain": []}
    views["incident"] = [i | more for i in views["incident"]]
    views["finding"] = []
    assert f"1 Mar 2026 {until} UTC" in flat(screen(views))
    report = made(views)
    names = Names(report)
    lines = journal.write((), ProcessStyles(report, names), report.reference)
    # The chip of the page has the moment of the beginning, which is no period; whether it is over is separate.
    when = front.make(report, names, content.clock(report), lines, ()).incidents[0].when
    assert when == ("began between 10:00:50 and 10:00:55" if views["incident"][0]["from_lo"] else "")


def test_the_time_under_the_title_covers_what_followed() -> None:
    views = rows() | {"split_brain": []}
    late = finding("session-timeout", "warning", start=80, incident_id="i-process_paused", caused_by=None, caused_how="member")
    views["finding"] = [late | {"to_ts": at(95)}]
    assert "1 Mar 2026 10:00:50-10:01:35 UTC" in flat(screen(views))


def test_a_wrong_clock_says_by_how_much_the_largest_first() -> None:
    views = rows()
    views["incident"], views["finding"], views["split_brain"] = [], [], []
    for process, ms in (("w3", -23_000), ("w2", 41_000)):
        said = f"the clock of {process} is {abs(ms) / 1000:.1f} s off"
        views["finding"].append(
            finding("clock-skew", "warning", finding_id=f"f-{process}", incident_id=f"i-{process}", headline=said, facts=json.dumps({"by_ms": ms}))
        )
        views["incident"].append(
            incident("clock_wrong", [f"f-{process}"], "warning", incident_id=f"i-{process}", code="clock_wrong", subject=process)
        )
    written = flat(screen(views))
    assert "WARNING: the clock of w2 is 41.0 s off; the clock of w3 is 23.0 s off" in written


def test_groups_of_two_clusters_with_one_id_carry_their_cluster() -> None:
    views = rows()
    (cause,) = views["incident"]
    group = cause["group_ids"][0]
    assert "on cluster" not in screen(views)
    views["generation"] += [g | {"kafka_cluster": "another"} for g in views["generation"]]
    assert f"{group} on cluster {cause['kafka_cluster'] or 'unknown'}," in flat(screen(views))


def test_no_title_reads_as_an_all_clear_if_evidence_could_not_be_read() -> None:
    quiet = rows() | {"split_brain": [], "finding": [], "incident": [], "duplicate_ledger": []}
    half = [f | {"status": "read", "note": "the compressed data is truncated"} for f in rows()["source_file"]]
    written = flat(screen(quiet | {"source_file": half}))
    assert written.startswith("NO INCIDENT FOUND, but evidence is incomplete")
    assert "could not be read completely" in written
    views = rows() | {"source_file": half}
    views["incident"] = [views["incident"][0] | {"state": "over", "outcome": "resolved by 10:01:05"}]
    assert screen(views).strip().splitlines()[0] == "SPLIT BRAIN PROVED - resolved by 10:01:05; evidence is incomplete"


def test_a_missing_log_is_asked_for_even_if_nothing_is_undecided() -> None:
    missing = {
        "process_id": "member c-9",
        "kind": "missing_process",
        "code": "missing_member",
        "from_ts": at(0),
        "to_ts": at(1),
        "note": "",
        "facts": {},
    }
    quiet = rows() | {"split_brain": [], "finding": [], "incident": [], "duplicate_ledger": []}
    written = flat(screen(quiet | {"coverage": [*rows()["coverage"], missing]}))
    assert written.startswith("NO INCIDENT FOUND, but evidence is incomplete")
    assert "Collect the logs of c-9" in written
    assert "treat this as unresolved" in written


def test_commands_name_the_case_that_is_not_the_default_one() -> None:
    named = text.as_text(content.first_screen(made()).of_case(" --case 'my case'"), 160)
    assert "`forensics report --full --case 'my case'` | `forensics timeline --case 'my case'` | `forensics show" in named
    assert "--case" not in screen()


def test_records_read_twice_are_a_lower_bound_unless_the_logs_show_all() -> None:
    views = rows()
    (cause,) = views["incident"]
    part = views["duplicate_ledger"][0] | {"restarted_lo": cause["from_lo"], "restarted_hi": cause["from_hi"], "group_id": cause["group_ids"][0]}
    ledger = [
        part | {"resource": "orders-0", "restarted_at": 5, "read_to": 6, "records_lo": 1, "records_hi": None},
        part | {"resource": "orders-1", "restarted_at": 5, "read_to": 7, "records_lo": 2, "records_hi": 2},
        part | {"resource": "orders-2", "restarted_at": 0, "read_to": None, "records_lo": 0, "records_hi": None},
    ]
    report = made(views | {"duplicate_ledger": ledger})
    hits = [h for s in story.stories(report, Names(report)) for h in s.hits if "processed twice" in h.consequence]
    assert [(h.what.split(" (")[0], h.lasted) for h in hits] == [
        ("orders-1", "2 records"),
        ("orders-0", "at least 1 record"),
        ("partition orders-2", "number unknown"),
    ]


def test_a_log_that_ends_early_is_no_all_clear() -> None:
    facts = {"why": "coordinator_went_on", "group_id": "g", "generation": 5}
    ended = {
        "process_id": "w3/connect.log",
        "kind": "missing_lines",
        "code": "missing_lines",
        "from_ts": at(0),
        "to_ts": at(1),
        "note": "log lines are missing: its log ends in generation 5 of g, and it was in later ones",
        "facts": facts,
    }
    task = {
        "process_id": "member connector-consumer-b-2",
        "kind": "missing_process",
        "code": "missing_member",
        "from_ts": at(1),
        "to_ts": at(1),
        "note": "",
        "facts": {},
    }
    quiet = rows() | {"split_brain": [], "finding": [], "incident": [], "duplicate_ledger": []}
    written = flat(screen(quiet | {"coverage": [*rows()["coverage"], ended, task]}))
    assert written.startswith("NO INCIDENT FOUND, but evidence is incomplete")
    assert "w3/connect.log ends early)" in written
    assert (
        "Collect the lines of w3/connect.log after its last one: `kubectl logs POD --since-time=2026-03-01T10:00:00Z`, or the whole file Until"
        in written
    )


def test_errors_that_no_finding_explains_are_listed_though_they_are_notes() -> None:
    views = rows()
    views["finding"] += [
        finding("logged-error", "note", finding_id=f"e-{n}", incident_id=None, caused_by=None, headline=f"w1: error {n}, at 10:00:0{n}")
        for n in range(6)
    ]
    written = flat(screen(views))
    assert [f"error {n}" in written for n in range(6)] == [True] * 4 + [False] * 2
    assert "and 2 more: `forensics report --full`" in written


def test_a_group_without_members_is_named_with_its_time_if_nothing_else_is_wrong() -> None:
    report = made(rows() | {"ownership": [], "split_brain": [], "finding": [], "incident": []})
    assert "nobody was in" not in flat(text.as_text(content.first_screen(report), 100))
    gaps = [
        {"group_id": "connect-cluster", "from_ts": at(20), "to_ts": at(29.968), "is_open": False},
        {"group_id": "connect-cluster", "from_ts": at(40), "to_ts": at(41), "is_open": True},
    ]
    written = flat(text.as_text(content.first_screen(replace(report, empty_groups=gaps)), 100))
    assert "nobody was in connect-cluster for 9.97 s from 10:00:20.000 on, the longest of 2 such times" in written
    least = flat(text.as_text(content.first_screen(replace(report, empty_groups=gaps[1:])), 100))
    assert "nobody was in connect-cluster for at least 1.00 s from 10:00:40.000 on" in least


def test_a_warning_without_an_incident_is_the_title_even_if_no_ownership_is_known() -> None:
    views = rows() | {"ownership": [], "split_brain": [], "incident": []}
    assert flat(screen(views | {"finding": []})).startswith("SPLIT BRAIN NOT EXAMINED")
    died = finding("streams-thread-lost", "warning", incident_id=None, headline="1 error killed stream threads of app")
    written = flat(screen(views | {"finding": [died]}))
    assert written.startswith("WARNING: 1 error killed stream threads of app")
    assert "Split brain: NOT EXAMINED" in written


@pytest.mark.parametrize(
    ("is_known", "step"), [(True, r"\S+ started task orders-2 while \S+ was still running it"), (False, r"\S+ and \S+ both ran task orders-2")]
)
def test_which_owner_was_first_is_a_step_only_if_it_is_known(*, is_known: bool, step: str) -> None:
    report = made()
    (cause,) = report.incidents
    pairs = [pair | {"incident_id": cause["incident_id"], "facts": {"b_began_later": is_known}} for pair in report.split_brain]
    (found,) = story.stories(replace(report, split_brain=pairs), Names(report))
    assert [s for s in found.steps if re.fullmatch(step, s.text)]
