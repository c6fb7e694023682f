"""Find the bytes with which a match of a regular expression may begin: a quick test for lines that it cannot fit."""

from __future__ import annotations

import importlib
from functools import lru_cache
from typing import Any

_PARSER: Any = importlib.import_module("re._parser")
_ANY_BYTE = frozenset(range(256))


@lru_cache(maxsize=1024)
def first_bytes(pattern: str) -> frozenset[int]:
    """Return the bytes with which a match may begin."""
    found, certain = _first_of(_PARSER.parse(pattern))
    return found if certain else _ANY_BYTE


def _first_of(items: Any) -> tuple[frozenset[int], bool]:  # noqa: ANN401  (nodes of re's own parser)
    """Return the first bytes of a sequence, and whether it cannot be empty."""
    found: frozenset[int] = frozenset()
    for kind, value in items:
        match str(kind):
            case "LITERAL" if value < 128:
                return found | {value}, True
            case "IN" if str(value[0][0]) == "NEGATE" and _is_ascii(value[1:]):
                return found | (_ANY_BYTE - _members(value[1:])), True
            case "IN" if _is_ascii(value):
                return found | _members(value), True
            case "SUBPATTERN":
                more, certain = _first_of(value[3])
            case "BRANCH":
                parts = [_first_of(branch) for branch in value[1]]
                more, certain = frozenset().union(*(p for p, _ in parts)), all(c for _, c in parts)
            case "MAX_REPEAT" | "MIN_REPEAT":
                more, certain = _first_of(value[2])
                certain = certain and value[0] > 0
            case _:
                return _ANY_BYTE, True
        found |= more
        if certain:
            return found, True
    return found, False


def _is_ascii(items: Any) -> bool:  # noqa: ANN401
    """Return True if a set contains only ASCII characters, singly or as ranges."""
    return all((str(kind) == "LITERAL" and value < 128) or (str(kind) == "RANGE" and value[1] < 128) for kind, value in items)


def _members(items: Any) -> frozenset[int]:  # noqa: ANN401
    return frozenset(b for kind, value in items for b in ([value] if str(kind) == "LITERAL" else range(value[0], value[1] + 1)))
