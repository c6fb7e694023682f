# SPDX-License-Identifier: Apache-2.0
"""A rule explained by its ID."""

from __future__ import annotations

import pytest

from forensics.catalogue.patterns import load
from forensics.report import text
from forensics.report.explain import explain
from forensics.wording.files import rule_words


def test_a_rule_is_explained_with_when_it_is_wrong(capsys) -> None:
    found = explain("zombie-task\n", load())
    assert found.known
    text.render(found.document, pager=False)
    said = " ".join(capsys.readouterr().out.split())
    assert "can be wrong" in said
    assert " ".join(rule_words()["zombie-task"].wrong.split()) in said.replace("can be wrong ", "")


def test_a_text_that_only_looks_like_a_rule_is_explained_as_a_line() -> None:
    assert not explain("no-such-rule", load()).known


@pytest.mark.parametrize(
    ("line", "event"),
    [
        ("ERROR WorkerSinkTask{id=b-0} Commit of offsets threw an unexpected exception for sequence number 12", "task_commit_failed"),
        ("WARN [Consumer clientId=c1, groupId=g] Offset commit failed", "commit_failed"),
    ],
)
def test_a_line_whose_end_was_cut_off_is_explained(line: str, event: str, capsys) -> None:
    found = explain(line, load())
    assert found.known
    text.render(found.document, pager=False)
    said = capsys.readouterr().out
    assert f"{event} " in said and "cut off" in said and "Proves:" in said


@pytest.mark.parametrize("line", ["WARN Offset commit", "INFO Started", "the weather in the group was unexpected today"])
def test_a_text_that_begins_many_messages_or_none_is_unknown(line: str) -> None:
    assert not explain(line, load()).known
