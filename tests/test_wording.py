# SPDX-License-Identifier: Apache-2.0
"""Words of rules: the template language, what `forensics check` refuses, and every packaged rule held to its words."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import jinja2
import pytest

from forensics.case import view_files
from forensics.errors import ForensicsError
from forensics.wording import check, files, tell
from forensics.wording.facts import yields
from forensics.wording.language import tell as told

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


def test_every_rule_and_its_words_fit() -> None:
    assert [str(e) for e in check.check_rules(view_files.rule_queries(), COLUMNS)] == []


def test_what_fits_is_let_through() -> None:
    assert problems() == []


@pytest.mark.parametrize(
    ("query", "words", "said"),
    [
        (QUERY, WORDS.replace("{{ name }} left", "{{ nmae }} left", 1), "names `nmae`, which is no fact"),
        (QUERY, WORDS.replace("clock }}", "clokc }}"), "clokc"),
        (QUERY, WORDS.replace("code.worker", "code.wroker"), "The code `worker`"),
        (QUERY.replace("'name', n,", "'name', n, 'unused', u,"), WORDS, "The fact `unused` of made is told nowhere"),
        (QUERY.replace("k AS kafka_cluster, ", ""), WORDS, "yields the wrong columns"),
        (QUERY, WORDS.replace("At {{", "At {%"), "is no template"),
    ],
)
def test_what_does_not_fit_is_said(query: str, words: str, said: str) -> None:
    assert any(said in problem for problem in problems(query, words)), problems(query, words)


@pytest.mark.parametrize(("words", "said"), [("title = 1\n", "missing"), (WORDS + "\n[extra]\n", "unknown: extra"), ("title =", "no TOML")])
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
    assert [str(e) for e in check._unused({"made": files.parse("made", SHARING)})] == []
    (unused,) = check._unused({"made": files.parse("made", SHARING.replace('{% include "who" %}', "it"))})
    assert "The part `who` of made is included nowhere" in str(unused)


def test_a_name_that_is_no_fact_is_an_error_and_never_a_blank() -> None:
    with pytest.raises(jinja2.UndefinedError):
        told("{{ nothing }}", {})


def test_templates_cannot_reach_the_machine() -> None:
    for text in ("{{ ''.__class__.__mro__ }}", "{{ name.__init__.__globals__ }}", "{{ cycler }}"):
        with pytest.raises(jinja2.TemplateError):
            told(text, {"name": "x"})


def test_text_from_logs_is_no_template() -> None:
    assert told("{{ name }}", {"name": "{{ 7 * 7 }}"}) == "{{ 7 * 7 }}"


def test_moments_are_told_in_the_readers_zone_and_with_dates_where_days_differ() -> None:
    facts = {"at": T0, "zone": None, "with_dates": False}
    assert told("{{ at | clock }}", facts) == "07:59:25.901"
    assert told("{{ at | clock }}", facts | {"zone": ZoneInfo("Asia/Tokyo")}) == "16:59:25.901"
    assert told("{{ at | clock }}", facts | {"with_dates": True}) == "2026-11-21 07:59:25.901"
    assert told("{{ nothing | clock }}", {"nothing": None}) == "an unknown time"


def finding(**more: object) -> dict[str, object]:
    at = datetime(2026, 11, 21, 7, 59, 25, 901000, tzinfo=UTC)
    facts = '{"name":"connect-1","process_id":"w1/connect.log","left_at_ms":1795247965901}'
    row = {"rule": "poll-timeout", "code": "worker", "facts": facts, "group_id": "g", "subject": "s", "from_ts": at, "to_ts": None, "witness": ["e"]}
    return row | {"severity": "warning", "verdict": "proved", "kafka_cluster": "k"} | more


NAMES = {"poll-timeout": ["name", "process_id", "left_at_ms", "limit_ms"]}


def test_a_fact_that_is_not_known_is_left_out_of_the_sentence() -> None:
    (row,) = tell.findings([finding()], NAMES)
    assert row["headline"] == "worker connect-1 in w1/connect.log did not poll in time and left g"
    assert "`rebalance.timeout.ms` between two polls" in row["explanation"]
    assert row["witness"] == ["e"]


def test_a_code_without_words_names_the_file() -> None:
    with pytest.raises(ForensicsError, match=r"no words for the code `new`(.|\n)*poll-timeout.toml"):
        tell.findings([finding(code="new")], NAMES)
