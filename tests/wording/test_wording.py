# SPDX-License-Identifier: Apache-2.0
"""Words of rules: the template language, what `forensics check` refuses, and every packaged rule held to its words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.resources import files as resources
from pathlib import Path
from zoneinfo import ZoneInfo

import jinja2
import pyarrow as pa
import pytest

import forensics
from forensics.case import view_files
from forensics.errors import ForensicsError
from forensics.wording import check, files, sentences
from forensics.wording.facts import yields
from forensics.wording.formats import about, about_between, bounded, span
from forensics.wording.language import render, upper_first

COLUMNS = frozenset(view_files.RULE_COLUMNS)
T0 = 1_795_247_965_901
QUERY = """
WITH a AS (SELECT CASE WHEN x THEN 'worker' ELSE 'consumer' END AS code FROM t)
SELECT 'note' AS severity, 'proved' AS verdict, k AS kafka_cluster, g AS group_id, s AS subject, m AS from_ms, CAST(NULL AS BIGINT) AS to_ms,
  code AS code, named_struct('name', n, 'left_at_ms', l) AS facts, array(named_struct('role', 'leaves', 'event_id', e)) AS proof
FROM a
"""
WORDS = """
title = "t"
question = "q"
needs = "n"
silent = "s"
wrong = "f"
why = "w"
[code.worker]
headline = "{{ name }} left"
explanation = "At {{ left_at_ms | clock }}."
advice = "a"
[code.consumer]
headline = "{{ name }} left"
explanation = "e"
advice = "a"
"""


def problems(query: str = QUERY, words: str = WORDS) -> list[str]:
    found = files.parse("made", words)
    return [str(e) for e in check._check("made", yields(query), found.codes, COLUMNS)]


@pytest.mark.parametrize(
    "links",
    ['facts = ["member", "weather"]', 'also = ["member"]', 'cause_by = "chance"', 'follows = { made = "group" }', "strength = 3"],
)
def test_links_of_a_rule_are_of_known_kinds(links: str) -> None:
    with pytest.raises(ForensicsError, match="`links` has unknown keys or values"):
        files.parse("made", f"{WORDS}\n[links]\n{links}\n")


def test_a_rule_without_links_is_linked_by_all_its_facts() -> None:
    words = files.parse("made", WORDS)
    assert (words.level, words.cause, words.links.all_facts, words.links.effects) == (None, "", files.FACTS, None)
    assert files.parse("made", f"level = 3\n{WORDS}[links]\neffects = []\n").links.effects == frozenset()


def test_every_rule_and_its_words_fit() -> None:
    assert [str(e) for e in check.check_rules(view_files.rule_queries(), COLUMNS)] == []


def test_what_fits_is_let_through() -> None:
    assert problems() == []


@pytest.mark.parametrize(
    ("query", "words", "said"),
    [
        (QUERY, WORDS.replace("{{ name }} left", "{{ nmae }} left", 1), "names `nmae`, which is not a fact"),
        (QUERY, WORDS.replace("clock }}", "clokc }}"), "clokc"),
        (QUERY, WORDS.replace("code.worker", "code.wroker"), "The code `worker`"),
        (QUERY.replace("'name', n,", "'name', n, 'unused', u,"), WORDS, "The fact `unused` of made is never used"),
        (QUERY.replace("k AS kafka_cluster, ", ""), WORDS, "yields the wrong columns"),
        (QUERY, WORDS.replace("At {{", "At {%"), "is not a template"),
    ],
)
def test_what_does_not_fit_is_said(query: str, words: str, said: str) -> None:
    assert any(said in problem for problem in problems(query, words)), problems(query, words)


@pytest.mark.parametrize(("words", "said"), [("title = 1\n", "missing"), (WORDS + "\n[extra]\n", "unknown: extra"), ("title =", "not valid TOML")])
def test_a_word_file_of_the_wrong_form_is_refused(words: str, said: str) -> None:
    with pytest.raises(ForensicsError, match=said):
        files.parse("made", words)


PARTS = """
[parts]
who = "{{ name }}"
left = 'At {{ left_at_ms | clock }} {% include "who" %} left.'
"""
SHARING = WORDS.replace('"At {{ left_at_ms | clock }}."', "'{% include \"left\" %}'").replace('"e"', "'So: {% include \"left\" %}'") + PARTS


def test_a_part_stands_in_every_code_that_includes_it() -> None:
    left = "At {{ left_at_ms | clock }} {{ name }} left."
    assert {case.explanation for case in files.parse("made", SHARING).codes.values()} == {left, f"So: {left}"}
    assert problems(words=SHARING) == []
    assert any("names `nmae`" in problem for problem in problems(words=SHARING.replace('"{{ name }}"', '"{{ nmae }}"')))


@pytest.mark.parametrize(("was", "becomes", "said"), [('"left"', '"right"', "made has who, left"), ('"who" %}', '"left" %}', "it includes itself")])
def test_a_part_that_is_not_there_or_holds_itself_is_refused(was: str, becomes: str, said: str) -> None:
    with pytest.raises(ForensicsError, match=said):
        files.parse("made", SHARING.replace(was, becomes))


def test_a_part_that_nothing_includes_is_refused() -> None:
    assert [str(e) for e in check._unused([files.parse("made", SHARING)])] == []
    (unused,) = check._unused([files.parse("made", SHARING.replace('{% include "who" %}', "it"))])
    assert "The part `who` of made is never included" in str(unused)


def test_a_name_that_is_no_fact_is_an_error_and_never_a_blank() -> None:
    with pytest.raises(jinja2.UndefinedError):
        render("{{ nothing }}", {})


def test_templates_cannot_reach_the_machine() -> None:
    for text in ("{{ ''.__class__.__mro__ }}", "{{ name.__init__.__globals__ }}", "{{ cycler }}"):
        with pytest.raises(jinja2.TemplateError):
            render(text, {"name": "x"})


def test_what_is_not_known_is_a_question_mark() -> None:
    assert render("{{ name }} had {{ parts[0].owner }}", {"name": None, "parts": [{"owner": None}]}) == "? had ?"


def test_text_from_logs_is_no_template() -> None:
    assert render("{{ name }}", {"name": "{{ 7 * 7 }}"}) == "{{ 7 * 7 }}"


def test_facts_that_are_null_are_there_at_any_depth() -> None:
    inner = pa.struct([("owner", pa.string()), ("ms", pa.int64())])
    type_ = pa.struct([("name", pa.string()), ("parts", pa.list_(inner)), ("one", inner)])
    assert sentences._whole({"parts": [{"ms": 1}, None]}, type_) == {"name": None, "parts": [{"owner": None, "ms": 1}, None], "one": None}


def test_moments_are_told_in_the_readers_zone_and_with_dates_where_days_differ() -> None:
    facts = {"at": T0, "zone": None, "with_dates": False}
    assert render("{{ at | clock }}", facts) == "07:59:25.901"
    assert render("{{ at | clock }}", facts | {"zone": ZoneInfo("Asia/Tokyo")}) == "16:59:25.901"
    assert render("{{ at | clock }}", facts | {"with_dates": True}) == "2026-11-21 07:59:25.901"
    assert render("{{ nothing | clock }}", {"nothing": None}) == "an unknown time"


def finding(**more: object) -> dict[str, object]:
    at = datetime(2026, 11, 21, 7, 59, 25, 901000, tzinfo=UTC)
    facts = '{"name":"connect-1","process_id":"w1/connect.log","left_at_ms":1795247965901}'
    row = {"rule": "poll-timeout", "code": "worker", "facts": facts, "group_id": "g", "subject": "s", "from_ts": at, "to_ts": None, "witness": ["e"]}
    return row | {"severity": "warning", "verdict": "proved", "kafka_cluster": "k"} | more


TYPES = {"poll-timeout": pa.struct([("name", pa.string()), ("process_id", pa.string()), ("left_at_ms", pa.int64()), ("limit_ms", pa.int64())])}


def test_a_fact_that_is_not_known_is_left_out_of_the_sentence() -> None:
    (row,) = sentences.findings([finding()], TYPES)
    assert row["headline"] == "worker w1/connect.log did not poll in time and left g"
    assert "More than `rebalance.timeout.ms` passed between two polls" in row["explanation"]
    assert row["witness"] == ["e"]


def test_a_code_without_words_names_the_file() -> None:
    with pytest.raises(ForensicsError, match=r"no words for the code `new`(.|\n)*poll-timeout.toml"):
        sentences.findings([finding(code="new")], TYPES)


VIEW_QUERY = "SELECT p AS process_id, t AS from_ts, CASE WHEN x THEN 'gap' END AS code, CAST(NULL AS STRING) AS note, named_struct('lasted_ms', m) AS facts FROM t"
VIEW_COLUMNS = ["process_id", "from_ts", "code", "note", "facts"]
VIEW_WORDS = '[code.gap]\nnote = "{{ process_id }} is silent for {{ lasted_ms | duration }} from {{ from_at_ms | clock }}"\n'


def view_problems(words: str, query: str = VIEW_QUERY) -> list[str]:
    return [str(e) for e in check._check_view(files.parse_view("made", words), yields(query), frozenset(VIEW_COLUMNS))]


def test_every_view_that_is_told_fits_its_words() -> None:
    assert [str(e) for e in check.check_views(view_files.worded_views())] == []
    assert {e.what for e in check.check_views({})} == {
        f"The view {name} has a word file, but its SQL lacks `-- Words: by view`." for name in files.view_words()
    }


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (VIEW_WORDS.replace("note =", "remark ="), "fill `remark`, which is not one of its columns"),
        (VIEW_WORDS.replace("code.gap", "code.hole"), "The code `hole` of made is in only one of its files"),
        (VIEW_WORDS.replace("process_id", "process"), "names `process`, which is neither a column nor a fact"),
        (VIEW_WORDS.replace("lasted_ms | duration", "process_id"), "The fact `lasted_ms` of made is never used"),
        (VIEW_WORDS.replace("duration }}", "duration }"), "is not a template"),
    ],
)
def test_words_that_do_not_fit_a_view_are_named(words: str, said: str) -> None:
    assert view_problems(VIEW_WORDS) == []
    assert any(said in problem for problem in view_problems(words)), view_problems(words)


@pytest.mark.parametrize(
    ("words", "said"), [("note = 'x'\n", "unknown: note"), ("[parts]\n", "missing: every or code"), ("[every", "not valid TOML")]
)
def test_a_word_file_of_a_view_of_the_wrong_form_is_refused(words: str, said: str) -> None:
    with pytest.raises(ForensicsError, match=said):
        files.parse_view("made", words)


def test_a_row_of_a_view_is_told_by_its_columns_and_facts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sentences, "view_words", lambda: {"made": files.parse_view("made", VIEW_WORDS)})
    row = {"process_id": "w1", "from_ts": datetime(2026, 11, 21, 7, 59, tzinfo=UTC), "code": "gap", "note": None, "facts": {"lasted_ms": 90_000}}
    assert sentences.of_view("made", [row])[0]["note"] == "w1 is silent for 1 min 30 s from 07:59:00.000"
    assert sentences.of_view("made", [row], ZoneInfo("Asia/Tokyo"))[0]["note"].endswith("16:59:00.000")
    assert sentences.of_view("made", [row | {"code": None}])[0]["note"] is None
    with pytest.raises(ForensicsError, match=r"no words for the code `new`(.|\n)*sql/made.toml"):
        sentences.of_view("made", [row | {"code": "new"}])


def test_a_repeated_finding_says_how_often_and_which_is_described() -> None:
    day = datetime(2026, 11, 21, 7, 59, tzinfo=UTC)
    row = {"subject": "a-0, a-1", "headline": "h", "explanation": "e.", "from_ts": day, "to_ts": day.replace(hour=9), "worst_ms": 5, "code": "c"}
    (once,) = sentences.of_view("finding", [row | {"occurrences": 1, "subjects": 1}])
    assert (once["headline"], once["explanation"]) == ("h", "e.")
    (often,) = sentences.of_view("finding", [row | {"occurrences": 7, "subjects": 2}])
    assert often["headline"] == "h (the longest of 7 for 2 subjects, from 2026-11-21 07:59 to 2026-11-21 09:59)"
    (quick,) = sentences.of_view("finding", [row | {"occurrences": 2, "subjects": 2, "to_ts": day.replace(second=7)}])
    assert quick["headline"] == "h (the longest of 2, each for a different subject, on 2026-11-21 07:59)"
    assert often["explanation"] == "This happened 7 times, to a-0, a-1; the longest is described here. e."
    (timeless,) = sentences.of_view("finding", [row | {"occurrences": 7, "subjects": 7, "from_ts": None, "to_ts": None, "worst_ms": None}])
    assert (timeless["headline"], timeless["explanation"]) == (
        "h (one of 7)",
        "There are 7 such cases, for 7 subjects; one of them is described here. e.",
    )
    (same,) = sentences.of_view("finding", [row | {"occurrences": 2, "subjects": 1, "to_ts": day.replace(second=7)}])
    assert same["headline"] == "h (twice on 2026-11-21 07:59)", "of one subject, the number is its own"


def test_a_file_that_begins_a_sentence_keeps_its_name() -> None:
    assert upper_first("the clock of w3/connect.log") == "The clock of w3/connect.log"
    assert [upper_first(name) for name in ("w3/connect.log is late", "server.log is late", "broker 1 was down")] == [
        "w3/connect.log is late", "server.log is late", "Broker 1 was down",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("ms", "at_least", "at_most"),
    [
        (999, "999 ms", "999 ms"),
        (1465, "1.46 s", "1.47 s"),
        (9996, "9.99 s", "10.0 s"),
        (22_553, "22.5 s", "22.6 s"),
        (59_951, "59.9 s", "1 min 00 s"),
        (3_599_999, "59 min 59 s", "1 h 00 min"),
    ],
)
def test_a_bound_is_never_rounded_to_a_stronger_claim(ms: int, at_least: str, at_most: str) -> None:
    assert (span(ms, up=False), span(ms, up=True)) == (at_least, at_most)


def test_a_bound_in_a_headline_is_not_rounded_to_a_stronger_claim_either() -> None:
    assert (about(1465), about(1465, up=True)) == ("1.46 s", "1.47 s")


@pytest.mark.parametrize(
    ("lo", "hi", "text"),
    [
        (33_123, 43_100, "33-44 s"),
        (6_034, 16_100, "6-17 s"),
        (4_000, 6_000, "4-6 s"),
        (8_881, 9_504, "8.88-9.51 s"),
        (1_999, 9_995, "1-10 s"),
        (12_300, 12_300, "12-13 s"),
        (33_123, 70_100, "33 s to 1 min 11 s"),
        (999, 5_000, "999 ms to 5.00 s"),
        (0, 5_001, "up to 5.01 s"),
    ],
)
def test_bounds_of_a_duration_in_a_headline_are_rounded_outwards(lo: int, hi: int, text: str) -> None:
    assert about_between(lo, hi) == text


#: How the words before a duration bound it: from below (rounded down), from above (rounded up). `seconds` without an argument rounds down.
BOUNDS = {
    "silence of": "up", "printed nothing for": "up",
    "at least": "down", "when N": "down", "wrong by more than": "down",
    "up to": "up", "at most": "up", "within": "up", "Within": "up", "later than": "up", "N above": "up",
    "silent for more than": "up", "works for more than": "up",
}  # fmt: skip
#: Words before a duration that was measured, on one clock, or that is the difference of two settings.
EXACT = {
    "N in", "N took", "'N waited", "N for", "coordinator for", "record for", "rebalance took", "delay of", "detected it", "the wait", "one every", "member again",
    "members again", "as printed", "than printed", "least N", "differ by", "other by", "partitions again", "lasted =", "heard nothing for",
    "without N after", "timestamps of N are", "stopped it for", "was stopped for", "was set N by", "threads stopped for",
}  # fmt: skip


def _durations() -> Iterator[tuple[str, str, str]]:
    """File, words before it, and rounding of each duration in the words of all views and rules."""
    for path in sorted(Path(str(resources("forensics.sql"))).rglob("*.toml")):
        text = re.sub(r"\s+", " ", path.read_text(encoding="utf-8"))
        for found in re.finditer(r"\{\{[^{}]*\|\s*(duration|seconds)\b(\([^()]*\))?[^{}]*\}\}", text):
            before = re.sub(r"\{\{[^{}]*\}\}", "N", re.sub(r"\{%[^%]*%\}", " ", text[: found.start()]))
            how = {"(up=true)": "up", "(up=false)": "down"}.get(found[2], "down" if found[1] == "seconds" else "")
            yield path.name, " ".join(re.findall(r"[\w'=-]+", before[-300:])[-4:]), how


def test_each_phrase_that_states_a_bound_rounds_to_the_weaker_claim() -> None:
    wrong, known = [], set()
    for name, before, how in _durations():
        phrase = max((p for p in (*BOUNDS, *EXACT) if before.endswith(p)), key=len, default="")
        known.add(phrase)
        # A new phrase belongs to one of the lists above.
        if not phrase or how != BOUNDS.get(phrase, ""):
            wrong.append(f"{name}: `{before}` is {how or 'to the nearest'}")
    assert wrong == []
    assert {*BOUNDS, *EXACT} - known == set()


@pytest.mark.parametrize(
    ("lo", "hi", "text"),
    [
        (1_465, None, "at least 1.46 s"),
        (None, 1_465, "at most 1.47 s"),
        (-1_465, None, "at least -1.47 s"),
        (None, -1_465, "at most -1.46 s"),
        (-9_996, 22_553, "-10.0 s to 22.6 s"),
        (0, 5, "2 ms ±3 ms"),
        (0, 1, "0 ms ±1 ms"),
        (40_999, 41_001, "41.000 s ±1 ms"),
        (7, 7, "7 ms"),
    ],
)
def test_the_bounds_of_a_clock_are_never_narrower_than_known(lo: int | None, hi: int | None, text: str) -> None:
    assert bounded(lo, hi) == text


#: The same for sentences that the report composes.
_BOUND_IN_PYTHON = re.compile(r"(?P<below>at least|≥|more than|not ended after)|(?P<above>at most|up to|≤|possible)")


def test_bounds_in_the_sentences_of_the_report_round_to_the_weaker_claim() -> None:
    wrong = []
    for path in sorted(Path(forensics.__file__).parent.rglob("*.py")):
        for line in path.read_text(encoding="utf-8").splitlines():
            for call in re.finditer(r"(?P<before>[^{}\"]*)\{(?P<what>span|about)\(", line):
                bound = max(_BOUND_IN_PYTHON.finditer(call["before"][-24:]), key=lambda b: b.end(), default=None)
                rest = line[call.end() :].split("}", 1)[0]
                down = "up=False" in rest or (call["what"] == "about" and "up=" not in rest)
                if bound and not ("up=True" in rest if bound["above"] else down):
                    wrong.append(f"{path.name}: {line.strip()}")
    assert wrong == []
