"""Match long texts in a time that is linear in their length, by RE2, with the captures that the `regex` module would find.

A pattern with several captures of free text may try each place of one with each place of the next: a line of 8 kB then takes seconds. RE2 follows all
ways together, and prefers the same one. It knows neither lookaround nor possessive repetitions, and keeps only the last text of a group that is captured
repeatedly: patterns with these must be linear by themselves, which `test_linear.py` checks.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

#: In a class: set operations of `regex`, and texts that may become one in the future.
_SETS = ("[", "--", "&&", "||", "~~")
_GROUP = re.compile(r"\?P<(\w+)>")
_FLAGS = re.compile(r"\?[is]*:")
#: A `\\b` is also that of ASCII: after a keyword, as patterns use it, only a letter beyond ASCII directly behind it makes a difference.
_SAME = frozenset("ntrfv")
#: What `\s`, `\w` and `\d` mean for `regex`: RE2 knows only those of ASCII.
_OF_ASCII = {"s": r"\t-\r\x1c-\x20", "w": "0-9A-Za-z_", "d": "0-9"}
_CLASSES = {
    "s": r"\t-\r\x1c-\x20\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}",
    "w": r"\p{L}\p{M}\p{N}\p{Pc}",
    "d": r"\p{Nd}",
}
#: RE2's classes cannot contain the complement of the wider class above.
_ANY = r"[\s\S]"
_REPEATS = ("*", "+", "{")


@dataclass(frozen=True)
class Linear:
    """A pattern in RE2's syntax.

    Attributes:
        expression: the pattern; its group `whole` is the whole match, `g0` and so on are its named groups.
        of_ascii: the same for texts of ASCII, which RE2 compiles faster.
        names: the names of `g0` and so on; two groups in different alternatives may have one name.
    """

    expression: str
    of_ascii: str
    names: tuple[str, ...]


@dataclass(frozen=True)
class _Pattern:
    groupindex: Mapping[str, int]


class Found:
    """A match, with those methods of `regex.Match` that are used."""

    def __init__(self, text: str, spans: Mapping[str, tuple[int, int]], whole: tuple[int, int]) -> None:
        self.string, self._spans, self._whole = text, spans, whole
        self.re = _Pattern({name: number for number, name in enumerate(spans, 1)})

    def __getitem__(self, name: str | int) -> str | None:
        begin, end = self.span(name)
        return None if begin < 0 else self.string[begin:end]

    def span(self, name: str | int = 0) -> tuple[int, int]:
        """Return where a group begins and ends; (-1, -1) if it is not in the text."""
        return self._whole if isinstance(name, int) else self._spans[name]

    def end(self) -> int:
        """Return where the match ends."""
        return self._whole[1]

    def groups(self) -> tuple[str | None, ...]:
        """Return the text of each named group, in their order."""
        return tuple(self[name] for name in self._spans)

    def groupdict(self) -> dict[str, str | None]:
        """Return the text of each named group by its name."""
        return {name: self[name] for name in self._spans}

    def spans(self, name: str) -> list[tuple[int, int]]:
        """Return where each text of a group is."""
        return [self._spans[name]] if self._spans[name][0] >= 0 else []

    def captures(self, name: str) -> list[str]:
        """Return each text of a group."""
        text = self[name]
        return [] if text is None else [text]


def find(linear: Linear, text: str, begin: int = 0, end: int | None = None) -> Found | None:
    """Return the match of a pattern in a part of a text, from its beginning on."""
    import pyarrow as pa
    import pyarrow.compute as pc

    part = text if end is None else text[begin:end]
    raw = part.encode("utf-8", "replace")
    plain = len(raw) == len(part)
    places: Any = pc.extract_regex_span(pa.scalar(raw.decode()), pattern=linear.of_ascii if plain else linear.expression).as_py()
    if places is None:
        return None

    def span(place: tuple[int, int]) -> tuple[int, int]:
        first, size = place
        ends = (first, first + size)
        return (begin + ends[0], begin + ends[1]) if plain else (begin + len(raw[: ends[0]].decode()), begin + len(raw[: ends[1]].decode()))

    spans: dict[str, tuple[int, int]] = dict.fromkeys(linear.names, (-1, -1))
    for number, name in enumerate(linear.names):
        if (place := places[f"g{number}"]) is not None:
            spans[name] = span(place)
    return Found(text, spans, span(places["whole"]))


@lru_cache(maxsize=4096)
def linear_form(pattern: str, *, whole: bool = True) -> Linear | None:
    """Return a verbose pattern for RE2; None if RE2 cannot express it.

    Args:
        pattern: for the `regex` module, verbose.
        whole: True if it must match a whole text, False if only its beginning.
    """
    names: list[str] = []
    of_ascii, of_all = _converted(pattern, _OF_ASCII, []), _converted(pattern, _CLASSES, names)
    if of_ascii is None or of_all is None:
        return None
    end = "$" * whole
    return Linear(f"^(?P<whole>{of_all}){end}", f"^(?P<whole>{of_ascii}){end}", tuple(names))


def _converted(pattern: str, classes: Mapping[str, str], names: list[str]) -> str | None:
    """Return a pattern for RE2, and add the names of its groups; None if RE2 cannot express it."""
    out: list[str] = []
    captures = [False]  # for each open group: whether it contains a named one
    at, in_class = 0, False
    while at < len(pattern):
        char, two = pattern[at], pattern[at : at + 2]
        step = 1
        if char == "\\":
            escape = _escape(two, in_class, classes)
            if escape is None:
                return None
            char, step = escape, 2
        elif in_class:
            if pattern.startswith(_SETS, at):
                return None
            in_class = char != "]"
        elif pattern.startswith(_ANY, at):
            char, step = "(?s:.)", len(_ANY)
        elif char == "[":
            in_class = True
            # A bracket directly after the opening one is a character of the class.
            opening = re.match(r"\[\^?\]?", pattern[at:])
            char = opening[0].replace("]", r"\]") if opening else char
            step = opening.end() if opening else 1
        elif char == "#":
            end = pattern.find("\n", at)
            char, step = "", (end if end >= 0 else len(pattern)) - at
        elif char.isspace():
            char = ""
        elif char in "^$" or two in ("*+", "++", "?+", "}+"):
            return None
        elif char == "(":
            opened = _opened(pattern, at, names)
            if opened is None:
                return None
            char, step = opened
            captures.append("P<" in char)
        elif char == ")":
            named = captures.pop()
            if named and pattern[at + 1 :].lstrip().startswith(_REPEATS):
                return None
            captures[-1] |= named
        out.append(char)
        at += step
    return "".join(out)


def _opened(pattern: str, at: int, names: list[str]) -> tuple[str, int] | None:
    """Return the opening of a group for RE2, and its size in the pattern; None if RE2 has no such group."""
    if not pattern.startswith("(?", at):
        return "(?:", 1
    if named := _GROUP.match(pattern, at + 1):
        names.append(named[1])
        return f"(?P<g{len(names) - 1}>", 1 + len(named[0])
    if flags := _FLAGS.match(pattern, at + 1):
        return "(" + flags[0], 1 + len(flags[0])
    return None


def _escape(two: str, in_class: bool, classes: Mapping[str, str]) -> str | None:
    """Return an escape for RE2; None if it has none."""
    letter = two[1:]
    if not letter.isalnum() or letter in _SAME or (letter == "b" and not in_class):
        return two
    if letter in classes:
        return classes[letter] if in_class else f"[{classes[letter]}]"
    if letter.lower() in classes:
        return None if in_class else f"[^{classes[letter.lower()]}]"
    return None
