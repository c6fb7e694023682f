# SPDX-License-Identifier: Apache-2.0
"""Known bugs of Kafka: which releases have them, and what is wrong with a file of them."""

from __future__ import annotations

import pytest

from forensics.catalogue import known_bugs
from forensics.errors import CatalogueError
from forensics.wording.files import rule_words

ONE = '[[bug]]\nid = "KAFKA-1"\nsince = "2.3.0"\nfixed = ["2.5.1", "2.6.0"]\n'


def ranges(since: str, *fixed: str) -> list[tuple[known_bugs.Numbers, known_bugs.Numbers | None]]:
    return list(known_bugs.KnownBug("KAFKA-1", since, fixed).ranges())


def test_each_line_of_releases_has_its_own_fix() -> None:
    assert ranges("2.3.0", "2.6.2", "2.7.1", "2.8.0") == [((2, 3, 0), (2, 6, 2)), ((2, 7, 0), (2, 7, 1))]
    assert ranges("0.9.0.0", "3.3.2", "3.4.0") == [((0, 9, 0, 0), (3, 3, 2))]


def test_a_bug_without_a_fix_is_in_every_later_release() -> None:
    assert ranges("2.3.0") == [((2, 3, 0), None)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[bug]", "not valid TOML"),
        (ONE.replace("since", "from"), "must have the keys fixed, id, since"),
        (ONE.replace("KAFKA-1", "9184"), "number of an issue"),
        (ONE + ONE, "unique"),
        (ONE.replace("2.3.0", "2.x"), "must be releases"),
        (ONE.replace('["2.5.1", "2.6.0"]', '["2.6.0", "2.5.1"]'), "the oldest first"),
        (ONE.replace("2.3.0", "2.7.0"), "the oldest first"),
    ],
)
def test_a_file_of_the_wrong_form_is_refused(text: str, said: str) -> None:
    with pytest.raises(CatalogueError, match=said):
        known_bugs.parse(text)


def test_the_rule_looks_for_every_bug_of_the_file_and_for_no_other() -> None:
    told = rule_words()["known-bug"].codes
    assert list(known_bugs.check(told)) == []
    assert [e.what for e in known_bugs.check({*told, "KAFKA-1"})] == ["The known bug KAFKA-1 is in only one of two places."]
    assert len(list(known_bugs.check(()))) == len(known_bugs.known_bugs())
