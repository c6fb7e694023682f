"""Find common table expressions of a query that are worth computing once.

Engines plan a common table expression once for every read, so in a chain of expressions that are each read twice the plan doubles at every step. An
expression that is computed first, and read as rows, is planned once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

#: Keywords that an engine plans as more than one pass over the rows.
_COSTLY = frozenset(("JOIN", "GROUP", "OVER", "DISTINCT", "UNION", "EXCEPT", "INTERSECT"))
#: A string, a quoted name, a word, or one other character.
_TOKEN = re.compile(r"""'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+"|`[^`]*+`|\w++|[^\s\w]""", re.DOTALL)


@dataclass(frozen=True)
class Part:
    """A common table expression as a separate query.

    Attributes:
        name: the unique name of the relation that later queries read.
        query: the query of its rows; may read earlier parts.
    """

    name: str
    query: str


@dataclass(frozen=True)
class _Table:
    """A common table expression: `head` up to its parenthesis, and its `body`."""

    name: str
    head: str
    body: str
    words: tuple[str, ...]

    def reads(self, name: str) -> int:
        """Return the number of times that it reads a relation."""
        return sum(word == name and before in ("FROM", "JOIN") for before, word in pairwise(self.words))


def split(query: str, prefix: str, worth: int) -> tuple[list[Part], str]:
    """Split off the parts that are worth computing first, in order, and return them with the query that reads them.

    Args:
        query: a view's query, without comments.
        prefix: prefix of the parts' names.
        worth: minimum number of costly keywords, counted once per repeated read, that makes a separate query worthwhile.
    """
    tables, last = _tables(query)
    parts: list[Part] = []
    cost: dict[str, int] = {}
    seen: list[_Table] = []
    for n, table in enumerate(tables):
        cost[table.name] = _cost(table.words, cost)
        used = sum(other.reads(table.name) for other in tables[n + 1 :]) + last.reads(table.name)
        if (used - 1) * cost[table.name] >= worth:
            name = f"{prefix}__{table.name}"
            parts.append(Part(name, _with(seen, table.words, table.body)))
            table, cost[table.name] = _Table(table.name, table.head, f"SELECT * FROM {name}", (name,)), 0
        seen.append(table)
    return (parts, _with(seen, last.words, last.body)) if parts else ([], query)


def _cost(words: tuple[str, ...], known: dict[str, int]) -> int:
    return sum((word in _COSTLY) + known.get(word, 0) for word in words)


def _with(tables: list[_Table], words: tuple[str, ...], body: str) -> str:
    """Return a query preceded by the common table expressions that it needs."""
    needed = set(words)
    used = []
    for table in reversed(tables):
        if table.name in needed:
            needed.update(table.words)
            used.append(f"{table.head}({table.body})")
    return f"WITH {', '.join(reversed(used))}\n{body}" if used else body


def _tables(query: str) -> tuple[list[_Table], _Table]:
    """Return the common table expressions at the beginning of a query, and the rest of the query."""
    tokens = [token for token in _TOKEN.finditer(query) if token[0][0] not in "'\""]
    whole = _Table("", "", query, _words(tokens))
    if not tokens or tokens[0][0].upper() != "WITH" or tokens[1][0].upper() == "RECURSIVE":
        return [], whole
    tables, at = [], 1
    while True:
        begin = at
        opening = next(n for n in range(at, len(tokens)) if tokens[n][0].upper() == "AS") + 1
        closing = _closing(tokens, opening)
        head, body = query[tokens[begin].start() : tokens[opening].start()], query[tokens[opening].end() : tokens[closing].start()]
        tables.append(_Table(tokens[begin][0].lower(), head, body, _words(tokens[opening + 1 : closing])))
        at = closing + 1
        if tokens[at][0] != ",":
            return tables, _Table("", "", query[tokens[at].start() :], _words(tokens[at:]))
        at += 1


def _words(tokens: list[re.Match[str]]) -> tuple[str, ...]:
    """Return names in lower case and SQL keywords in upper case, in order of appearance."""
    return tuple(_each_word(tokens))


def _each_word(tokens: list[re.Match[str]]) -> Iterator[str]:
    for token, following in zip(tokens, [*tokens[1:], None], strict=True):
        if following is None or following[0] != ".":  # an alias before its column reads nothing
            yield token[0].lower()
        if (word := token[0].upper()) in _COSTLY or word == "FROM":
            yield word


def _closing(tokens: list[re.Match[str]], opening: int) -> int:
    depth = 0
    for n in range(opening, len(tokens)):
        depth += (tokens[n][0] == "(") - (tokens[n][0] == ")")
        if not depth:
            return n
    raise ValueError(f"no parenthesis closes {tokens[opening]}")
