"""Text that every match of a pattern must contain, read off the pattern itself.

A record is tried against few patterns only: those whose literal text it holds. `requirements` computes that text; nobody writes it down.
"""

from __future__ import annotations

import importlib
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

_PARSER: Any = importlib.import_module("re._parser")
_NAMED_GROUP = re.compile(r"\(\?P<\w+>")
_MOST_ALTERNATIVES = 12


@dataclass(frozen=True)
class Requirements:
    """What a message must have to be worth a match.

    Attributes:
        prefixes: it begins with one of these; `("",)` when nothing is known.
        needle: text that it contains; the longest such.
        anchors: it contains one of these; longest guarantee, also over alternatives (`a|b`), so `(needle,)` or better.
    """

    prefixes: tuple[str, ...]
    needle: str
    anchors: tuple[str, ...]


@lru_cache(maxsize=4096)
def requirements(pattern: str) -> Requirements:
    """Reads literal text off a verbose pattern; patterns in a syntax that only `regex` has give none."""
    try:
        # `regex` lets two groups have one name, `re` does not; names do not matter here.
        tree = _PARSER.parse(_NAMED_GROUP.sub("(", pattern), re.VERBOSE)
    except re.error:
        return Requirements(("",), "", ())
    prefixes, _ = _prefixes(tree)
    runs: list[str] = []
    choices: list[tuple[str, ...]] = []
    _collect(tree, runs, choices)
    return Requirements(tuple(sorted(prefixes)), max(runs, key=len, default=""), _strongest(runs, choices))


def _prefixes(items: Any) -> tuple[set[str], bool]:  # noqa: ANN401  (nodes of re's own parser)
    """Possible beginnings, and whether they are the whole of `items`."""
    found = {""}
    for op, arg in items:
        name = str(op)
        if name == "LITERAL":
            more, whole = {chr(arg)}, True
        elif name == "SUBPATTERN" and not (arg[1] or arg[2]):
            more, whole = _prefixes(arg[3])
        elif name == "BRANCH":
            parts = [_prefixes(branch) for branch in arg[1]]
            more, whole = set().union(*(p for p, _ in parts)), all(w for _, w in parts)
        elif name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT") and arg[1] == 1:
            more, whole = _prefixes(arg[2])
            more = more | {""} if arg[0] == 0 else more
        elif name in ("AT", "ASSERT_NOT"):
            continue
        else:
            return found, False
        grown = {a + b for a in found for b in more}
        if len(grown) > _MOST_ALTERNATIVES:
            return found, False
        found = grown
        if not whole:
            return found, False
    return found, True


def _collect(items: Any, runs: list[str], choices: list[tuple[str, ...]]) -> None:  # noqa: ANN401
    """Adds the unbroken literal runs that every match contains, and sets of which every match contains one."""
    run = ""
    for op, arg in items:
        name = str(op)
        if name == "LITERAL":
            run += chr(arg)
            continue
        runs.append(run)
        run = ""
        if name == "SUBPATTERN" and not (arg[1] or arg[2]):
            _collect(arg[3], runs, choices)
        elif name == "ATOMIC_GROUP":
            _collect(arg, runs, choices)
        elif name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT") and arg[0] > 0:
            _collect(arg[2], runs, choices)
        elif name == "BRANCH":
            branches = [_best(branch) for branch in arg[1]]
            if all(branches):
                choices.append(tuple(text for branch in branches for text in branch))
    runs.append(run)


def _best(items: Any) -> tuple[str, ...]:  # noqa: ANN401
    """Texts of which every match of `items` contains one; empty when there is no such set."""
    runs: list[str] = []
    choices: list[tuple[str, ...]] = []
    _collect(items, runs, choices)
    return _strongest(runs, choices)


def _strongest(runs: list[str], choices: list[tuple[str, ...]]) -> tuple[str, ...]:
    """The set whose shortest text is longest."""
    sets = [*((run,) for run in runs if run), *choices]
    return max(sets, key=lambda texts: min(map(len, texts)), default=())
