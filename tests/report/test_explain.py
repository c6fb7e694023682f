# SPDX-License-Identifier: Apache-2.0
"""A rule explained by its ID."""

from __future__ import annotations

from forensics.catalogue.patterns import load
from forensics.report import text
from forensics.report.explain import explain
from forensics.wording.files import rule_words


def test_a_rule_is_explained_with_when_it_is_wrong(capsys) -> None:
    found = explain("zombie-task\n", load())
    assert found.known
    text.render(found.document, pager=False)
    said = " ".join(capsys.readouterr().out.split())
    assert "is wrong when" in said
    assert " ".join(rule_words()["zombie-task"].wrong.split()) in said.replace("is wrong when ", "")


def test_a_text_that_only_looks_like_a_rule_is_explained_as_a_line() -> None:
    assert not explain("no-such-rule", load()).known
