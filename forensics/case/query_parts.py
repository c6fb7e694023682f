"""Find common table expressions of a query that are worth computing once.

Engines plan a common table expression once for every read, so in a chain of expressions that are each read twice the plan doubles at every step. An
expression that is computed first, and read as rows, is planned once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlglot.tokenizer_core import Token

#: Keywords that an engine plans as more than one pass over the rows.
_COSTLY = frozenset(("JOIN", "GROUP", "OVER", "DISTINCT", "UNION", "EXCEPT", "INTERSECT"))


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
    import sqlglot
    from sqlglot import TokenType

    tokens = sqlglot.tokenize(query, read="spark")
    whole = _Table("", "", query, _words(tokens))
    if not tokens or tokens[0].token_type is not TokenType.WITH or tokens[1].text.upper() == "RECURSIVE":
        return [], whole
    tables, at = [], 1
    while True:
        begin = at
        opening = _next(tokens, at, TokenType.ALIAS) + 1
        closing = _closing(tokens, opening)
        head, body = query[tokens[begin].start : tokens[opening].start], query[tokens[opening].end + 1 : tokens[closing].start]
        tables.append(_Table(tokens[begin].text.lower(), head, body, _words(tokens[opening + 1 : closing])))
        at = closing + 1
        if tokens[at].token_type is not TokenType.COMMA:
            return tables, _Table("", "", query[tokens[at].start :], _words(tokens[at:]))
        at += 1


def _words(tokens: list[Token]) -> tuple[str, ...]:
    """Return names in lower case and SQL keywords in upper case, in order of appearance."""
    return tuple(_each_word(tokens))


def _each_word(tokens: list[Token]) -> Iterator[str]:
    from sqlglot import TokenType

    for token, following in zip(tokens, [*tokens[1:], None], strict=True):
        if token.token_type is TokenType.STRING:
            continue
        if following is None or following.token_type is not TokenType.DOT:  # an alias before its column reads nothing
            yield token.text.lower()
        if (word := token.text.upper().partition(" ")[0]) in _COSTLY or word == "FROM":  # GROUP BY is one token
            yield word


def _next(tokens: list[Token], at: int, wanted: object) -> int:
    return next(n for n in range(at, len(tokens)) if tokens[n].token_type is wanted)


def _closing(tokens: list[Token], opening: int) -> int:
    from sqlglot import TokenType

    depth = 0
    for n in range(opening, len(tokens)):
        depth += (tokens[n].token_type is TokenType.L_PAREN) - (tokens[n].token_type is TokenType.R_PAREN)
        if not depth:
            return n
    raise ValueError(f"no parenthesis closes {tokens[opening]}")
