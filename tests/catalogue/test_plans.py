# SPDX-License-Identifier: Apache-2.0
"""Patterns are matched by Python's own module where it gives the same result as the general one, which is the reference here."""

from __future__ import annotations

import random

import pytest
import regex
from reading import recogniser

from forensics.catalogue.pattern_files import EventPattern
from forensics.catalogue.patterns import LONG_MESSAGE, subject
from forensics.catalogue.plans import Plan

_CATALOGUE = recogniser().catalogue
_RANDOM = random.Random(11)  # noqa: S311
#: Texts with characters whose classes differ between the two modules, or that end a line.
_ODD = ("\x1c", "\x1f", "\u00a0", "\u0301", "\u0663", "\u2028", "\n", "\t", "\ud800")


def variants(line: str) -> list[str]:
    """Return a message, and messages that differ from it in one place."""
    found = [line]
    for _ in range(6):
        at = _RANDOM.randrange(len(line) + 1)
        found += [line[:at] + line[at + 1 :], line[:at] + _RANDOM.choice("0aZ .-_[]{}'=,:") + line[at:], line[:at] + _RANDOM.choice(_ODD) + line[at:]]
    return found


def texts_of(event: EventPattern) -> list[str]:
    lines = [x.line for x in (*event.examples, *event.counterexamples)]
    return [text for line in lines for text in variants(subject(event, line))]


def test_both_modules_match_the_same_messages_with_the_same_captures():
    quick = 0
    for event in _CATALOGUE.events:
        plan = Plan(event, _CATALOGUE.fields)
        general = regex.compile(event.pattern, regex.VERBOSE)
        for text in texts_of(event):
            found, expected = plan.matched(text), general.fullmatch(text)
            assert (found and found.groups()) == (expected and expected.groups()), (event.where, text)
            quick += isinstance(found, regex.Match) is False and found is not None
    assert quick > 3_000


@pytest.mark.parametrize("text", ["a" * 401, "a" * (LONG_MESSAGE + 1), "é" * 3, "a\nb"])
def test_only_short_messages_of_printable_ascii_are_matched_by_the_quick_module(text: str):
    plan = next(plan for plan in (Plan(e, _CATALOGUE.fields) for e in _CATALOGUE.events) if plan.matched("x") is None and plan._quick)
    plan._quick = lambda _: pytest.fail("It was matched by Python's own module.")
    assert plan.matched(text) is None
