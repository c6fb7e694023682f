"""Compute text that every match of a pattern must contain from the pattern itself.

A record is tried only against patterns whose literal text it contains. `requirements` computes that text, so it need not be written down.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

_PARSER: Any = importlib.import_module("re._parser")
_NAMED_GROUP = re.compile(r"\(\?P<\w+>")
_MAX_ALTERNATIVES = 16
#: A text of this length is rare enough: beyond it, having few alternatives matters more than length.
_SELECTIVE = 12
_REPEATS = ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")

#: Nodes that contain no other nodes, or none of which anything is kept.
_WITHOUT_GROUPS = ("LITERAL", "NOT_LITERAL", "ANY", "IN", "AT", "CATEGORY", "ASSERT", "ASSERT_NOT", "GROUPREF")

Texts = frozenset[str]


@dataclass(frozen=True)
class Requirements:
    """Conditions that a message must meet to be worth a match.

    Attributes:
        prefixes: the message begins with one of these; `("",)` if unknown.
        needle: the longest text that the message must contain, or empty.
        anchors: the message contains one of these; empty if unknown.
    """

    prefixes: tuple[str, ...]
    needle: str
    anchors: tuple[str, ...]


@lru_cache(maxsize=4096)
def requirements(pattern: str) -> Requirements:
    """Return the literal text of a verbose pattern; none for syntax that only `regex` supports."""
    try:
        # `regex` allows two groups with the same name, `re` does not; names do not matter here.
        tree = _PARSER.parse(_NAMED_GROUP.sub("(", pattern), re.VERBOSE)
    except re.error:
        return Requirements(("",), "", ())
    prefixes, _ = _texts(tree)
    runs = list(_runs(tree))
    needle = max((text for run in runs if len(run) == 1 for text in run), key=len, default="")
    return Requirements(tuple(sorted(prefixes)), needle, tuple(sorted(_strongest(runs))))


def captures_once(pattern: str) -> bool:
    """Return True if no group of a verbose pattern can be captured several times; False if that is unknown."""
    names = _NAMED_GROUP.findall(pattern)
    if len(set(names)) < len(names):
        return False
    try:
        return not _repeats_a_group(_PARSER.parse(pattern, re.VERBOSE), repeated=False)
    except re.error:
        return False


def _repeats_a_group(items: Any, *, repeated: bool) -> bool:  # noqa: ANN401
    """Return True if a group among nodes of a pattern is inside a part that may be repeated."""
    for op, arg in items:
        name = str(op)
        if name == "SUBPATTERN":
            if (repeated and arg[0] is not None) or _repeats_a_group(arg[3], repeated=repeated):
                return True
        elif name in _REPEATS:
            if _repeats_a_group(arg[2], repeated=repeated or arg[1] > 1):
                return True
        elif name == "ATOMIC_GROUP":
            if _repeats_a_group(arg, repeated=repeated):
                return True
        elif name == "BRANCH":
            if any(_repeats_a_group(branch, repeated=repeated) for branch in arg[1]):
                return True
        elif name not in _WITHOUT_GROUPS:
            return True
    return False


def _joined(items: Any) -> Iterator[tuple[str, Any]]:  # noqa: ANN401  (nodes of re's own parser)
    """Yield nodes by name; consecutive characters, which are most of a pattern, form one `TEXT`."""
    text = ""
    for op, arg in items:
        if op is _PARSER.LITERAL:
            text += chr(arg)
            continue
        if text:
            yield "TEXT", text
            text = ""
        yield str(op), arg
    if text:
        yield "TEXT", text


def _texts(items: Any) -> tuple[Texts, bool]:  # noqa: ANN401  (nodes of re's own parser)
    """Return texts with one of which `items` begins, and whether they are all of it."""
    found: Texts = frozenset([""])
    for name, arg in _joined(items):
        more, whole = _alternatives(name, arg)
        grown = frozenset(a + b for a in found for b in more)
        if len(grown) > _MAX_ALTERNATIVES:
            return found, False
        found = grown
        if not whole:
            return found, False
    return found, True


def _alternatives(op: str, arg: Any) -> tuple[Texts, bool]:  # noqa: ANN401
    """Return the possible beginnings of one node of a pattern, and whether they are all of it."""
    nothing: Texts = frozenset([""])
    if op == "TEXT":
        return frozenset([arg]), True
    if op == "IN" and all(str(kind) == "LITERAL" for kind, _ in arg):
        return frozenset(chr(char) for _, char in arg), True
    if op == "SUBPATTERN" and not (arg[1] or arg[2]):
        return _texts(arg[3])
    if op == "ATOMIC_GROUP":
        return _texts(arg)
    if op == "BRANCH":
        parts = [_texts(branch) for branch in arg[1]]
        return frozenset().union(*(texts for texts, _ in parts)), all(whole for _, whole in parts)
    if op in _REPEATS and arg[1] == 1:
        texts, whole = _texts(arg[2])
        return (texts if arg[0] else texts | nothing), whole
    return nothing, op in ("AT", "ASSERT_NOT")


def _runs(items: Any) -> Iterator[Texts]:  # noqa: ANN401
    """Yield sets of texts; every match contains one text of each set."""
    run: Texts = frozenset([""])
    for name, arg in _joined(items):
        more, whole = _alternatives(name, arg)
        grown = frozenset(a + b for a in run for b in more)
        fits = len(grown) <= _MAX_ALTERNATIVES
        if fits and whole:
            run = grown
            continue
        yield grown if fits else run
        yield from _inside(name, arg)
        run = more if whole and len(more) <= _MAX_ALTERNATIVES else frozenset([""])
    yield run


def _inside(op: str, arg: Any) -> Iterator[Texts]:  # noqa: ANN401
    """Yield sets of texts that a node contains after its beginning."""
    if op == "SUBPATTERN" and not (arg[1] or arg[2]):
        yield from _runs(arg[3])
    elif op == "ATOMIC_GROUP":
        yield from _runs(arg)
    elif op in _REPEATS and arg[0] > 0:
        yield from _runs(arg[2])
    elif op == "BRANCH":
        branches = [_strongest(_runs(branch)) for branch in arg[1]]
        if all(branches):
            yield frozenset().union(*branches)


def _strongest(runs: Any) -> Texts:  # noqa: ANN401  (any iterable of sets)
    """Return the most selective set: first long texts, then, if they are long enough, few of them; empty if none is selective."""

    def selectivity(run: Texts) -> tuple[int, int, int]:
        shortest = min(map(len, run))
        return min(shortest, _SELECTIVE), -len(run), shortest

    return max((run for run in runs if all(run)), key=selectivity, default=frozenset())
