"""Recognise messages of a logger that carry no fact, by expressions that are applied to many texts together.

Nothing is captured, because only the block matters for records that are only counted. The expressions are therefore those of RE2, which is fast
without captures. A text that another block of the logger might match too is left to the recogniser.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from forensics.catalogue.literals import facts_of
from forensics.catalogue.pattern_files import EventPattern

#: A block with more rivals is not worth the checks.
_MAX_RIVALS = 24
_GROUP = re.compile(r"\?P<(\w+)>")
#: Escapes with the same meaning in both syntaxes, for ASCII texts.
_SAME = frozenset("dDsSwWbBntr")
#: In a class: set operations of `regex`, and texts that may become one in the future.
_SETS = ("[", "--", "&&", "||", "~~")


@dataclass(frozen=True)
class Rival:
    """Another block of the logger.

    Attributes:
        words: every match contains one of them.
        expression: for whole texts; None if RE2 cannot express it, so that only the words are used.
    """

    words: tuple[str, ...]
    expression: str | None


@dataclass(frozen=True)
class CountedTexts:
    """A block without a fact.

    Attributes:
        expression: for whole texts.
        rivals: the other blocks of the logger.
    """

    expression: str
    rivals: tuple[Rival, ...]


def counted_texts(events: Sequence[EventPattern], row_captures: Collection[str]) -> Iterator[CountedTexts]:
    """Yield the blocks of one logger whose matches are only counted unless they are errors.

    Args:
        events: all blocks of the logger.
        row_captures: captures that make a record a row.
    """
    if len(events) > _MAX_RIVALS:
        return
    for event in events:
        expression = re2(event.pattern)
        if expression is None or not event.counted or event.keys or not set(row_captures).isdisjoint(_GROUP.findall(event.pattern)):
            continue
        rivals = []
        for other in events:
            needs = facts_of(other.pattern)
            if other is not event:
                rivals.append(Rival(needs.anchors or ((needs.needle,) if needs.needle else ()), re2(other.pattern)))
        if all(rival.words or rival.expression for rival in rivals):
            yield CountedTexts(expression, tuple(rivals))


def re2(pattern: str) -> str | None:
    """Return a verbose pattern in RE2's syntax, without names, for a whole text of one line; None if RE2 cannot express it."""
    out, at, in_class = [], 0, False
    while at < len(pattern):
        char, two = pattern[at], pattern[at : at + 2]
        if char == "\\":
            if two[1:].isalnum() and two[1] not in _SAME:
                return None
            out.append(two)
            at += 2
            continue
        if in_class:
            if any(pattern.startswith(sign, at) for sign in _SETS):
                return None
            in_class = char != "]"
        elif char == "[":
            in_class = True
            # A bracket directly after the opening one is a character of the class.
            opening = re.match(r"\[\^?\]?", pattern[at:])
            out.append(opening[0] if opening else char)
            at += len(out[-1])
            continue
        elif char == "#":
            at = pattern.find("\n", at) if "\n" in pattern[at:] else len(pattern)
            continue
        elif char.isspace():
            at += 1
            continue
        elif char == "(" and two == "(?":
            named = _GROUP.match(pattern, at + 1)
            if named is None and not pattern.startswith("(?:", at):
                return None
            out.append("(?:")
            at = named.end() if named else at + 3
            continue
        elif two in ("*+", "++", "?+", "}+"):
            return None
        elif char == "(":
            char = "(?:"
        out.append(char)
        at += 1
    return rf"^(?:{''.join(out)})$"
