"""Prepare blocks for matching, and find them by the beginning of a message."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

import regex

from forensics.catalogue.converters import CONVERTERS, EXPANDING, LISTS
from forensics.catalogue.linear import Found
from forensics.catalogue.literals import facts_of
from forensics.catalogue.pattern_files import EventPattern
from forensics.catalogue.patterns import LONG_MESSAGE, Match, compiled, convert, find
from forensics.schema import Field

_KEY = 5
_LETTERS = re.compile("[A-Za-z]+")
_DIGIT, _OF_ID = re.compile("[0-9]"), re.compile("[0-9a-f-]")
#: With more blocks than this, looking up the words of a message is faster than trying each block.
_MANY = 8


class Plan:
    """One prepared block: the text to search for, the pattern, and a converter for each of its groups."""

    __slots__ = ("_facts", "_fullmatch", "_quick", "anchors", "event", "fields", "needle", "simple")

    def __init__(self, event: EventPattern, fields: Mapping[str, Field]) -> None:
        self.event, self.fields = event, fields
        self._facts = facts_of(event.pattern)
        self.needle = self._facts.needle
        #: Every match contains one of them; empty if the needle implies it.
        self.anchors = () if self.needle in self._facts.anchors else self._facts.anchors
        self._fullmatch: Callable[..., regex.Match[str] | None] | None = None
        #: The same for printable ASCII, by Python's own module: it matches in half the time and compiles in a quarter, but has no time limit.
        self._quick: Callable[[str], re.Match[str] | None] | None = None
        self.simple: tuple[tuple[str, Callable[[str], Any] | None], ...] | None = None

    def ignores_numbers(self, *, ids: bool) -> bool:
        """Return True if it matches messages alike that differ only in their numbers and, with `ids`, IDs."""
        return self._facts.ignores_numbers and (not ids or self._facts.ignores_ids)

    def needs_numbers(self, *, ids: bool) -> bool:
        """Return True if a number, or with `ids` an ID, may contain a part of the text to search for."""
        texts = (self.needle, *self.anchors)
        return any(_DIGIT.search(text) or (ids and _OF_ID.search(text[:1] + text[-1:])) for text in texts)

    def may_match(self, message: str) -> bool:
        """Return True if a message contains the text that every match contains."""
        if self.needle not in message:
            return False
        for anchor in self.anchors:
            if anchor in message:
                return True
        return not self.anchors

    def matched(self, text: str) -> Match | None:
        """Return a full match, or None."""
        if self._fullmatch is None:
            self._prepare()
        assert self._fullmatch is not None  # noqa: S101  (for the type checker)
        # Only for these characters do the classes of both modules agree.
        if self._quick is not None and len(text) <= LONG_MESSAGE and text.isascii() and text.isprintable():
            return self._quick(text)
        return self._fullmatch(text) if len(text) <= LONG_MESSAGE else find(self.event, text)

    def match(self, text: str) -> dict[str, Any] | None:
        """Return the captures of a full match, or None."""
        found = self.matched(text)
        return None if found is None else self.captures(found)

    def captures(self, found: Match) -> dict[str, Any]:
        """Return the captures of a match."""
        if self.simple is None:
            assert isinstance(found, regex.Match | Found)  # noqa: S101  (for the type checker)
            return convert(found, self.fields)
        captures = {}
        for (name, converter), value in zip(self.simple, found.groups(), strict=True):
            if value is not None:
                typed = converter(value) if converter else value
                if typed is not None:
                    captures[name] = typed
        return captures

    def _prepare(self) -> None:
        quick = _compiled_quickly(self.event.pattern)
        pattern = quick or compiled(self.event.pattern)
        names = sorted(pattern.groupindex, key=pattern.groupindex.__getitem__)
        kinds = [self.fields[n].type for n in names]
        # A list may be captured one item at a time, and bytes become several captures: these take the general path.
        simple = pattern.groups == len(names) and not any(k in EXPANDING for k in kinds)
        if simple and (not any(k in LISTS for k in kinds) or self._facts.captures_once):
            self.simple = tuple((n, CONVERTERS[k]) for n, k in zip(names, kinds, strict=True))
        self._quick = quick.fullmatch if quick and self.simple is not None else None
        self._fullmatch = self._compile_and_match if self._quick else compiled(self.event.pattern).fullmatch

    def _compile_and_match(self, text: str) -> regex.Match[str] | None:
        """Return a full match by the general module, which few texts need."""
        self._fullmatch = compiled(self.event.pattern).fullmatch
        return self._fullmatch(text)


def _compiled_quickly(pattern: str) -> re.Pattern[str] | None:
    """Return the pattern compiled by Python's own module; None if it uses more than that knows, such as two groups of one name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of sets, which mean the same in both modules
        with suppress(re.error):
            return re.compile(pattern, re.VERBOSE)
    return None


class Index:
    """The blocks of one logger, found by the beginning of the message, then by text that it must contain.

    Blocks without a certain beginning are found by a word in that text if there are many of them.
    """

    def __init__(self, events: Iterable[EventPattern], fields: Mapping[str, Field]) -> None:
        self._by_start: dict[str, list[Plan]] = {}
        self._rest: list[Plan] = []
        self._by_word: dict[str, list[int]] = {}
        self._without_word: list[int] = []
        for event in events:
            plan, prefixes = Plan(event, fields), facts_of(event.pattern).prefixes
            if all(len(p) >= _KEY for p in prefixes):
                for key in sorted({p[:_KEY] for p in prefixes}):
                    self._by_start.setdefault(key, []).append(plan)
            else:
                self._rest.append(plan)

        self._few = len(self._rest) < _MANY
        if self._few:  # then each beginning includes them too
            self._by_start = {key: plans + self._rest for key, plans in self._by_start.items()}
        for place, plan in enumerate(self._rest):
            words = [_whole_word(text) for text in facts_of(plan.event.pattern).anchors]
            if words and all(words):
                for word in set(words):
                    self._by_word.setdefault(word, []).append(place)
            else:
                self._without_word.append(place)

    def needs_numbers(self, message: str, first: int, *, ids: bool) -> bool:
        """Return True if other numbers (with `ids`, IDs) in a message, of which the first is at the given position, could lead to other blocks."""
        if ids and not self._few and not all(word.strip("abcdef") for word in self._by_word):
            return True
        begin, of_number = message[:first], _OF_ID if ids else _DIGIT
        return first < _KEY and any(key.startswith(begin) and of_number.match(key, first) for key in self._by_start)

    def candidates(self, message: str) -> list[Plan]:
        """Return the blocks that may match a message, in their order."""
        if self._few:
            return self._by_start.get(message[:_KEY], self._rest)
        return self._by_start.get(message[:_KEY], []) + self._by_words(message)

    def _by_words(self, message: str) -> list[Plan]:
        places = set(self._without_word)
        for word in self._by_word.keys() & _LETTERS.findall(message):
            places.update(self._by_word[word])
        return [self._rest[place] for place in sorted(places)]


def _whole_word(text: str) -> str:
    """Return the longest word inside a text (not at its ends), which is a word of any text that contains it; empty if there is none."""
    return max((found[0] for found in _LETTERS.finditer(text) if found.start() and found.end() < len(text)), key=len, default="")
