"""The report as a page, without a browser: one file that cannot do harm, and a scene that is true to the rows."""

from __future__ import annotations

import base64
import gc
import gzip
import hashlib
import json
import re
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from html.parser import HTMLParser
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from crowd import crowd, owners
from made_case import LINES, W1, at, finding, incident, made, owned, rows, split
from storm import storm
from test_report import CONTROL, hostile

from forensics.case import view_files
from forensics.clocks.reference import Reference, ms
from forensics.report import content, proof, timeline
from forensics.report.names import Names
from forensics.report.page import build, cards, case_rows, journal, pack, payload, render, spacetime, spans
from forensics.report.page.process_style import COLOURS, ProcessStyles
from forensics.report.page.scene import Scene


class Parsed(HTMLParser):
    """A page's elements, the ids in it, and the contents of its scripts."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.words: list[str] = []
        self._in = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list) -> None:
        self._in = tag
        self.elements.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append((dict(attrs), ""))

    def handle_endtag(self, tag: str) -> None:
        self._in = ""

    def handle_data(self, data: str) -> None:
        if self._in == "script":
            self.scripts[-1] = (self.scripts[-1][0], self.scripts[-1][1] + data)
        elif self._in != "style":
            self.words.append(data)

    @property
    def ids(self) -> list[str]:
        return [a["id"] or "" for _, a in self.elements if "id" in a]

    @property
    def policy(self) -> str:
        return next(a["content"] or "" for tag, a in self.elements if tag == "meta" and a.get("http-equiv") == "Content-Security-Policy")


def drawn(views: dict | None = None, seen: case_rows.CaseRows | None = None, **filters: object) -> tuple[Scene, ProcessStyles]:
    report = made(views, **filters)
    names = Names(report)
    styles = ProcessStyles(report, names)
    return build.build(report, seen or case_rows.of_report(report), names, styles, Reference(report.clocks, report.case["processes"])), styles


def test_each_time_of_a_cause_is_drawn_with_evictions_and_deaths() -> None:
    views = rows()
    views["incident"] = [incident("process_killed", ["f-session-timeout"], from_lo=at(20), from_hi=at(26), to_lo=at(66), to_hi=at(66), times=2)]
    part = {"process_id": "w2/connect.log"}
    parts = [part | {"from_lo_ms": ms(at(a)), "from_hi_ms": ms(at(b)), "to_lo_ms": ms(at(b)), "to_hi_ms": ms(at(b))} for a, b in ((20, 26), (60, 66))]
    removal = {"kafka_cluster": "abc", "group_id": "connect-cluster", "process_id": "w2/connect.log", "member_id": "m", "removed_id": "e1"}
    removals = [removal | {"removed_lo_ms": ms(at(s)), "removed_hi_ms": ms(at(s)), "was_closed": s > 100} for s in (26.5, 110)]
    scene, styles = drawn(views, seen=case_rows.CaseRows(causes=[{"incident_id": "i-process_killed", "parts": parts}], removals=removals))
    assert [(t.start_lo, t.stop_hi, styles.all[t.process].name, t.open) for t in scene.troubles] == [
        (ms(at(20)), ms(at(26)), "w2", False),
        (ms(at(60)), ms(at(66)), "w2", False),
    ]
    # Whoever had closed its client was not evicted against its will.
    assert [(m.kind, m.at, m.label) for m in scene.marks] == [
        ("died", ms(at(20)), "w2 died"),
        ("evicted", ms(at(26.5)), "evicted w2"),
        ("died", ms(at(60)), "w2 died"),
    ]


def test_a_cause_without_an_end_is_drawn_to_the_end() -> None:
    views = rows()
    views["incident"] = [incident("offsets_topic_impossible", [], subject=None, from_lo=at(30), from_hi=at(31), to_lo=None, to_hi=None)]
    scene, _ = drawn(views)
    (trouble,) = scene.troubles
    assert (trouble.open, trouble.stop_hi, trouble.process) == (True, scene.last, -1)
    # What was so all the time has no place on a timeline.
    views["incident"] = [incident("clock_wrong", [], from_lo=None, from_hi=None, to_lo=None, to_hi=None)]
    assert drawn(views)[0].troubles == ()


def test_what_is_frozen_is_cut_out_of_a_bar() -> None:
    scene, _ = drawn()
    (freeze,) = scene.troubles
    assert freeze.froze
    assert freeze.label == "w2 froze 3-10 s"
    assert spans.parts(ms(at(12)), ms(at(100)), [freeze]) == [
        (ms(at(12)), ms(at(50)), 0),
        (ms(at(50)), ms(at(55)), 1),
        (ms(at(55)), ms(at(58)), 2),
        (ms(at(58)), ms(at(60)), 1),
        (ms(at(60)), ms(at(100)), 0),
    ]
    assert spans.parts(5, 5, [freeze]) == []


def test_groups_without_trouble_are_folded_where_another_has_some() -> None:
    views = rows()
    views["ownership"].append(owned("lab-0", "w1", group_id="connect-lab"))
    scene, _ = drawn(views)
    assert [scene.groups[n] for n in scene.quiet] == ["connect-lab"]
    views |= {"incident": [], "split_brain": [], "finding": [], "generation": [g | {"trigger": "member_joined"} for g in views["generation"]]}
    assert drawn(views)[0].quiet == (), "of groups that are all well none is folded"


def test_the_views_of_causes_are_views_that_a_case_keeps() -> None:
    assert {name for name, view in view_files.views().items() if view.kept} >= set(case_rows.VIEWS)


def test_the_first_screen_leads_to_the_cause_and_to_lines() -> None:
    page = Parsed(render.render(made()))
    _skip, *brief = [a["href"] for tag, a in page.elements if tag == "a" and "href" in a]
    assert "#i-i-process_paused" in brief[: brief.index("#timeline")]
    words = " ".join(page.words)
    assert words.index("SPLIT BRAIN PROVED") < words.index("root cause") < words.index("Impact")


def test_several_incidents_have_a_chip_each_and_a_note_none() -> None:
    views = rows()
    views["incident"] += [
        incident("broker_down", [], subject="broker 2", from_lo=at(90), from_hi=at(91), to_lo=None, to_hi=None),
        incident("deployment", [], "note"),
    ]
    page = Parsed(render.render(made(views)))
    chips = [a["href"] for tag, a in page.elements if tag == "a" and (a.get("class") or "").startswith("chip")]
    assert chips == ["#i-i-process_paused", "#i-i-broker_down"]
    words = " ".join(page.words)
    assert "broker 2 down" in words
    assert not [a for tag, a in Parsed(render.render(made())).elements if (a.get("class") or "").startswith("chip")]


def test_a_start_that_no_line_shows_has_its_first_sign_as_its_role() -> None:
    lines = [
        ("A starts", "[id=a-0] Cluster ID: abc"),
        ("A is processing", "x"),
        ("B is asked to start", "Creating task a-0"),
        ("B starts", "Cluster ID: abc"),
        ("B is processing", "y"),
    ]
    told = proof.key_lines([{"event_id": role, "role": role, "text": text} for role, text in lines])
    assert [w["role"] for w in told] == ["B is asked to start", "A is processing", "B is processing"]
    assert proof.displayed_role("A starts", "Cluster ID: abc") == "first sign that A runs"
    assert proof.displayed_role("A starts", "Creating task a-0") == "A starts"


def test_the_page_may_run_its_own_scripts_alone() -> None:
    page = Parsed(render.render(made()))
    run = [text for attrs, text in page.scripts if "type" not in attrs]
    assert len(run) == 2
    hashes = [f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" for text in run]
    assert f"script-src {' '.join(hashes)};" in page.policy
    assert page.policy.startswith("default-src 'none';")
    assert not re.search(r"unsafe-eval|script-src[^;]*unsafe|https?:", page.policy)


def test_the_page_loads_nothing() -> None:
    page = Parsed(render.render(made()))
    for tag, attrs in page.elements:
        assert tag not in {"link", "iframe", "img", "object", "embed", "base", "form"}
        for name, value in attrs.items():
            assert name != "src"
            if name in ("href", "xlink:href", "action"):
                assert (value or "").startswith("#"), (tag, name, value)


def test_log_text_is_inert() -> None:
    written = render.render(made(hostile()))
    page, plain = Parsed(written), Parsed(render.render(made()))
    assert {tag for tag, _ in page.elements} <= {tag for tag, _ in plain.elements} | {"br"}
    assert len(page.scripts) == len(plain.scripts)
    for tag, attrs in page.elements:
        assert not [name for name in attrs if name.startswith("on")], tag
    assert "<script>alert" not in written.replace(page.scripts[-2][1], "")
    assert "<script>alert(1)</script>" in " ".join(page.words), "it is shown as what it is"
    assert not CONTROL.search(" ".join(page.words))


def unpacked(written: str) -> dict:
    """The plain values that the page's script gets."""
    text = next(text for attrs, text in Parsed(written).scripts if attrs.get("id") == "scene-data")
    whole = gzip.decompress(base64.b64decode(text))
    length = int.from_bytes(whole[:8], "little")
    return json.loads(whole[8 : 8 + length])["plain"]


def test_log_text_reaches_the_script_without_controls() -> None:
    data = unpacked(render.render(made(hostile())))
    texts = json.dumps(
        [data["line_texts"], data["places"], data["groups"], data["rows"], data["processes"], data["whys"], data["notes"]], ensure_ascii=False
    )
    assert "alert" in texts
    assert not CONTROL.search(texts)


def test_every_id_has_an_address() -> None:
    written = render.render(made())
    page, data = Parsed(written), unpacked(written)
    assert {"f-f-split-brain-task", "f-f-session-timeout", "f-f-risky-config"} <= set(page.ids)
    assert [a for a in data["round_anchors"] if a not in page.ids] == []
    assert data["round_anchors"] == ["g-connect-cluster-1-1", "g-connect-cluster-1-2", "g-connect-cluster-1-3"]
    assert [i for i in data["bar_ids"] if not any(o["ownership_id"].startswith(i) for o in rows()["ownership"])] == []
    assert set(data["line_ids"]) == set(LINES)
    assert len(page.ids) == len(set(page.ids)), "no id stands twice"


def test_links_lead_somewhere() -> None:
    written = render.render(made())
    page, data = Parsed(written), unpacked(written)
    known = {*page.ids, *(f"e-{i}" for i in data["line_ids"]), *(o["anchor"] for o in data["overlaps"])}
    assert [a["href"] for tag, a in page.elements if tag == "a" and (a["href"] or "")[1:] not in known] == []


def test_an_overlap_has_its_layers() -> None:
    views = rows()
    views["ownership"] = [
        owned("orders-2", "w2", start_lo=at(10), start_hi=at(10.1), stop_lo=at(61.1), stop_hi=at(61.3)),
        owned("orders-2", "w1", start_lo=at(59.9), start_hi=at(60), stop_lo=at(90), stop_hi=at(91)),
    ]
    views["split_brain"] = [split("orders-2")]
    scene, _ = drawn(views)
    (overlap,) = scene.overlaps
    assert overlap.work == (ms(at(60.01)), ms(at(61)))
    assert overlap.there == (ms(at(60)), ms(at(61.1)))
    assert overlap.possible[0] <= overlap.there[0] < overlap.work[0] < overlap.work[1] < overlap.there[1] <= overlap.possible[1]
    assert overlap.short == "both working 990 ms"


def test_what_is_not_decided_has_no_layer_of_certainty_and_what_is_refuted_is_not_drawn() -> None:
    scene, _ = drawn()
    found = {scene.rows[o.row].resource: o for o in scene.overlaps}
    assert set(found) == {"orders-0", "orders-2"}
    assert found["orders-0"].work is found["orders-0"].there is None


def test_two_owners_have_two_lanes_and_the_overlap_one_of_its_own() -> None:
    views = rows()
    views["ownership"] = [owned("orders-2", "w2", stop_lo=at(70), stop_hi=at(70)), owned("orders-2", "w1", start_lo=at(60), start_hi=at(60))]
    scene, styles = drawn(views)
    row = next(n for n, r in enumerate(scene.rows) if r.resource == "orders-2")
    lanes = {styles.all[b.process].name: b.lane for b in scene.bars if b.row == row}
    assert lanes == {"w2": 0, "w1": 1}
    assert [o.lane for o in scene.overlaps if o.row == row] == [2]
    assert scene.rows[row].lanes == 3


def test_an_owner_that_is_there_twice_has_two_lanes() -> None:
    views = rows()
    views["split_brain"] = []
    views["ownership"] = [
        owned("orders-2", "w2", ownership_id="a", start_lo=at(10), start_hi=at(10), stop_lo=at(50), stop_hi=at(50)),
        owned("orders-2", "w2", ownership_id="b", start_lo=at(40), start_hi=at(40), stop_lo=at(60), stop_hi=at(60)),
        owned("orders-2", "w2", ownership_id="c", start_lo=at(61), start_hi=at(61), stop_lo=at(70), stop_hi=at(70)),
    ]
    scene, _ = drawn(views)
    assert {b.ownership_id: b.lane for b in scene.bars} == {"a": 0, "b": 1, "c": 0}


def test_open_ends_are_possible_not_certain() -> None:
    views = rows()
    views["split_brain"] = []
    views["ownership"] = [owned("orders-2", "w2", start_lo=None, start_hi=at(30), stop_lo=at(40), stop_hi=None)]
    scene, _ = drawn(views)
    (bar,) = scene.bars
    assert (bar.open_start, bar.open_end) == (True, True)
    assert (bar.start_hi, bar.stop_lo) == (ms(at(30)), ms(at(40)))
    assert bar.start_lo == scene.first
    assert bar.stop_hi == scene.last


def test_doubled_resources_come_first_and_numbers_count() -> None:
    views = rows()
    views["split_brain"] = [split("orders-10")]
    views["ownership"] = [owned(f"orders-{n}", "w1") for n in (10, 2, 1)]
    scene, _ = drawn(views)
    assert [r.resource for r in scene.rows] == ["orders-10", "orders-1", "orders-2"]


def test_times_are_moved_to_the_reference_clock() -> None:
    report = made()
    reference = Reference(report.clocks, report.case["processes"])
    moment = reference.moment("w2/connect.log", at(60))
    assert moment is not None
    assert (moment.lo, moment.hi) == (ms(at(60) - timedelta(milliseconds=41_001)), ms(at(60) - timedelta(milliseconds=40_999)))
    assert reference.moment("b1/server.log", at(60)) == (ms(at(60)), ms(at(60)))
    assert reference.moment("b1/server.log", None) is None
    scene, _ = drawn()
    lost = next(s for s in scene.states if s.kind == "lost")
    assert lost.begin == ms(at(58 - 41))
    assert lost.open


def test_lines_of_all_processes_are_merged_on_the_reference_clock() -> None:
    report = made()
    names = Names(report)
    styles = ProcessStyles(report, names)
    lines = [LINES["e1"] | {"event": "task_stopping"}, LINES["e2"] | {"ts": at(20), "event": "task_starting"}]
    merged = journal.write(lines, styles, Reference(report.clocks, report.case["processes"]))
    # w2 wrote at 60 s by a clock that is 41 s ahead: that was before what w1 wrote at 20 s.
    assert [line.event_id for line in merged.lines] == ["e1", "e2"]
    assert merged.lines[0].at == ms(at(19))
    assert merged.lines[0].bound == 1.0
    assert merged.numbers(["e2", "nobody's", "e1"]) == [0, 1]


def test_generations_are_bands_until_the_next_one() -> None:
    scene, _ = drawn()
    assert [r.number for r in scene.rounds] == [1, 2, 3]
    for before, after in zip(scene.rounds, scene.rounds[1:], strict=False):
        assert before.end == pytest.approx((after.start_lo + after.start_hi) / 2)
    assert scene.rounds[-1].end == scene.last
    assert scene.rounds[2].why == "member expired (w2)"
    assert scene.rounds[0].settled == ms(at(8.2))


def test_generations_tell_what_changed() -> None:
    words = " ".join(Parsed(render.render(made())).words)
    assert "w2 new +orders-2" in words
    assert "w1* +orders-2" in words
    assert "w2 gone −orders-2" in words


def test_processes_look_different_with_and_without_colours() -> None:
    views = rows()
    views["process"] = [views["process"][1] | {"process_id": f"w{n}/connect.log", "host": f"w{n}"} for n in range(30)]
    styles = ProcessStyles(made(views), Names(made(views))).all
    assert len({(style.colour, style.pattern) for style in styles}) == len(styles) == 30
    for a, b in zip(styles, styles[1:], strict=False):
        assert a.colour != b.colour
        assert a.pattern != b.pattern
    assert {style.colour for style in styles} == set(COLOURS)


def test_a_proof_is_folded_to_three_lines_with_their_roles() -> None:
    views = rows()
    views["finding"] = [finding("session-timeout", "warning", witness=["e1", "e2", "e3", "e4"], witness_role=["it stops", "", "", "it is gone"])]
    more = {f"e{n}": LINES["e1"] | {"event_id": f"e{n}", "line": 10 + n, "ts": at(60 + n)} for n in (3, 4)}
    LINES.update(more)
    try:
        report = made(views)
    finally:
        for key in more:
            del LINES[key]
    names = Names(report)
    styles, reference = ProcessStyles(report, names), Reference(report.clocks, report.case["processes"])
    lines = journal.write(case_rows.of_report(report).lines, styles, reference)
    (card,) = cards.make(report, render.content.clock(report), lines, styles, [], [], {}, build.groups(report))
    assert len(card.proof) == 4
    assert len(card.key_lines) == 3
    assert [p.number for p in card.key_lines] == sorted(p.number for p in card.key_lines)
    assert card.key_lines[0].role == "it stops"


def picture(edges: list[dict]) -> str:
    report = made()
    names = Names(report)
    styles, reference = ProcessStyles(report, names), Reference(report.clocks, report.case["processes"])
    rows_of = [LINES["e1"], LINES["e2"], LINES["e1"] | {"event_id": "e3", "process_id": "b1/server.log", "ts": at(19.5)}]
    lines = journal.write(rows_of, styles, reference).lines
    scene, _ = drawn()
    drawing = spacetime.draw(
        [spacetime.Point(n, line) for n, line in enumerate(lines, 1)], edges, styles, scene.overlaps[0], {b.ownership_id: b for b in scene.bars}
    )
    assert drawing is not None
    return str(drawing)


def test_a_proof_is_drawn_in_space_and_time() -> None:
    drawing = picture([{"from_event_id": "e1", "to_event_id": "e3"}])
    assert drawing.count('class="world"') == 3
    assert drawing.count('class="message"') == 1
    assert drawing.count('class="point"') == 3
    assert 'class="overlap-work"' in drawing
    # Time runs to the right: the points are in the order of their lines.
    places = [float(x) for x in re.findall(r'class="point" cx="([\d.]+)"', drawing)]
    assert places == sorted(places)
    assert 'class="message"' not in picture([])


class Nested(HTMLParser):
    """Return the address of each card with those of the sections, lists of effects and folds that contain it."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.inside: list[tuple[str, str]] = []
        self.cards: dict[str, list[str]] = {}
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list) -> None:
        told = {name: value or "" for name, value in attrs}
        if tag == "article":
            self.cards[told["id"]] = [name for _, name in self.inside if name]
        if tag in ("section", "div", "details"):
            kind = next((k for k in ("incident", "effects", "more") if k in told.get("class", "").split()), "")
            self.inside.append((tag, kind and (told.get("id") or kind)))

    def handle_endtag(self, tag: str) -> None:
        if tag in ("section", "div", "details"):
            self.inside.pop()


def test_cards_stand_below_their_root_cause_with_what_followed() -> None:
    page = render.render(made())
    assert Nested(page).cards == {
        "f-f-session-timeout": ["i-i-process_paused"],
        "f-f-split-brain-task": ["i-i-process_paused", "effects"],
        "f-f-risky-config": [],
    }
    assert list(Nested(page).cards)[0] == "f-f-session-timeout", "the cause stands above its effect, which is graver"
    assert "Caused by" not in page
    alone = render.render(made(rules=["split-brain-task", "session-timeout"]))
    assert set(map(tuple, Nested(alone).cards.values())) == {()}
    assert 'Caused by:</b> <a href="#f-f-session-timeout">' in alone


def test_many_cards_of_one_rule_are_folded_below_their_cause() -> None:
    views = rows()
    views["finding"] += [
        finding("stale-commit", "warning", finding_id=f"c{n}", incident_id="i-process_paused", caused_by="f-session-timeout") for n in range(9)
    ]
    of = Nested(render.render(made(views))).cards
    assert of["f-c1"] == ["i-i-process_paused", "effects"]
    assert of["f-c8"] == ["i-i-process_paused", "effects", "more"]
    assert len(of) == 12


def test_the_same_advice_is_told_where_it_stands_first() -> None:
    views = rows()
    for f in views["finding"]:
        f["advice"] = "Look at the garbage collection log."
    page = render.render(made(views))
    assert page.count("Look at the garbage collection log.") == 1
    first = page.index("Look at the garbage collection log.")
    assert page.index('id="f-f-session-timeout"') < first < page.index('id="f-f-split-brain-task"')
    assert '<a href="#f-f-session-timeout">as described above</a>' in page


@pytest.mark.parametrize(("zone", "said"), [(UTC, "10:01:00.000"), (timezone(timedelta(hours=5, minutes=30)), "15:31:00.000")])
def test_times_are_told_in_the_reader_s_zone(zone: tzinfo, said: str) -> None:
    page = render.render(replace(made(), zone=zone))
    assert said in page
    assert f"Times are in {'UTC' if zone is UTC else 'UTC+05:30'}" in page
    assert ("10:01:00.000" in page) == (zone is UTC)


def test_a_zone_may_change_its_clocks_in_between() -> None:
    berlin, hour = ZoneInfo("Europe/Berlin"), 3_600_000
    first, change, last = (datetime(2026, 3, 29, h, tzinfo=UTC).timestamp() * 1000 for h in (0, 1, 23))
    assert payload.zone_offsets(berlin, first, last) == [[first, hour], [change, 2 * hour]]
    assert payload.zone_offsets(berlin, change, last) == [[change, 2 * hour]]
    year = payload.zone_offsets(berlin, first, first + 365 * 24 * hour)
    assert [offset // hour for _, offset in year] == [1, 2, 1, 2]
    assert payload.zone_offsets(UTC, first, last) == [[first, 0]]


def test_a_case_that_is_empty_has_a_page() -> None:
    empty = {name: [] for name in rows()}
    page = Parsed(render.render(made(empty)))
    assert "brief" in page.ids
    assert "NOT EXAMINED" in " ".join(page.words)


def test_packed_numbers_are_those_that_were_packed() -> None:
    wide = np.array([0, -1, 3, 2**31, 90 * 86_400_000 * 2], np.int64)
    whole = gzip.decompress(base64.b64decode(pack.pack({"t": wide, "n": np.array([7], np.int32)}, {"x": "<é>"})))
    length = int.from_bytes(whole[:8], "little")
    header = json.loads(whole[8 : 8 + length])
    assert header["plain"] == {"x": "<é>"}
    kind, begin, number = header["arrays"]["t"]
    assert (kind, number) == ("wide", 5)
    high, low = (np.frombuffer(whole, "<i4", number, 8 + length + begin + at) for at in (0, 4 * number))
    assert (high.astype(np.int64) * 2**30 + low).tolist() == wide.tolist()


def test_no_overlap_is_left_out_and_what_is_left_out_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "MAX_OWNERSHIPS", 100)
    views = storm(generations=50, ownerships=1_000, resources=20, overlaps=15)
    scene, _ = drawn(views)
    assert len(scene.overlaps) == 15
    assert len(scene.bars) == 100
    doubled = {owner for o in scene.overlaps for owner in o.owners}
    assert doubled <= {b.ownership_id for b in scene.bars}
    written = " ".join(Parsed(render.render(made(views))).words)
    assert "900 of 1,000 ownerships" in written
    assert "no overlap is left out" in written
    assert "forensics export --to perfetto" in written


def test_the_reader_s_window_is_the_time_that_is_shown() -> None:
    scene, _ = drawn(since="2026-03-01T10:00:30Z", until="2026-03-01T10:01:00Z")
    assert (scene.first, scene.last) == (ms(at(30)), ms(at(60)))


def test_members_are_called_by_their_process() -> None:
    views = rows()
    views["generation"] = [g | {"trigger_member_id": W1} for g in views["generation"]]
    scene, _ = drawn(views)
    assert {r.why for r in scene.rounds} == {"member joined (w1)", "member expired (w1)"}


def test_each_message_is_looked_up_and_not_searched_for_by_each_finding() -> None:
    class Counted(dict):
        read = 0

        def __getitem__(self, key: str) -> object:
            Counted.read += 1
            return super().__getitem__(key)

    views = crowd(50)
    report = made(views)
    names = Names(report)
    styles = ProcessStyles(report, names)
    edges = [Counted({"from_event_id": f"a{n}", "to_event_id": f"b{n}"}) for n in range(100)]
    lines = journal.write(case_rows.of_report(report).lines, styles, report.reference)
    found = cards.make(report, render.content.clock(report), lines, styles, edges, [], {}, build.groups(report))
    assert len(found) == 100
    assert Counted.read <= 2 * len(edges)


@pytest.mark.parametrize(("make", "number"), [pytest.param(crowd, 1_000, marks=pytest.mark.slow), (owners, 300)], ids=["groups", "owners"])
def test_reports_take_linear_time(make: Callable[[int], dict[str, list[dict]]], number: int) -> None:
    def took(number: int) -> dict[str, float]:
        views, spent = make(number), {}
        begun = time.process_time()
        report = made(views)
        for name, write in (
            ("rows", lambda: None),
            ("page", lambda: render.render(report)),
            ("full", lambda: content.compose(report)),
            ("screen", lambda: content.first_screen(report)),
            ("timeline", lambda: timeline.compose(report, 120)),
        ):
            write()
            spent[name] = time.process_time() - begun
            begun = time.process_time()
        return spent

    took(2)  # loads what is loaded once
    gc.disable()  # its share of the time depends on the tests before
    try:
        few, many = took(number), took(4 * number)
        if any(many[name] > 6 * few[name] for name in many):  # on a busy machine one measurement may be several times as long
            again = took(4 * number)
            many = {name: min(many[name], again[name]) for name in many}
    finally:
        gc.enable()
    # Parts of less than a second are too short to compare: what is not yet in the processor's cache decides.
    assert {name: many[name] / few[name] for name in few if many[name] > max(6 * few[name], 1.0)} == {}, (few, many)
    assert sum(many.values()) < 6 * sum(few.values()), (few, many)
