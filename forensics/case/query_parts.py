"""A query's common table expressions that are worth computing once.

Spark puts each common table expression into the plan as often as it is read, so a chain of them that are read twice each doubles the plan at every step.
Computed first, and read as rows, each is planned once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlglot.tokenizer_core import Token

#: Words for which an engine plans more than a pass over rows.
_COSTLY = frozenset(("JOIN", "GROUP", "OVER", "DISTINCT", "UNION", "EXCEPT", "INTERSECT"))
#: How many of these words, read again, are worth a query of their own.
_WORTH = 4


@dataclass(frozen=True)
class Part:
    """One common table expression, as a query of its own.

    Attributes:
        name: of the relation that the following queries read; no other relation has it.
        query: gives its rows; may read the parts before it.
    """

    name: str
    query: str


@dataclass(frozen=True)
class _Table:
    """A common table expression: `head` up to its parenthesis, and what stands in it."""

    name: str
    head: str
    body: str
    words: tuple[str, ...]

    def reads(self, name: str) -> int:
        """How often it reads a relation."""
        return sum(word == name and before in ("FROM", "JOIN") for before, word in pairwise(self.words))


def split(query: str, prefix: str) -> tuple[list[Part], str]:
    """The parts that are worth computing first, in order, and the query that reads them.

    Args:
        query: one of a view, without comments.
        prefix: begins the parts' names.
    """
    tables, last = _tables(query)
    parts: list[Part] = []
    cost: dict[str, int] = {}
    seen: list[_Table] = []
    for n, table in enumerate(tables):
        cost[table.name] = _cost(table.words, cost)
        used = sum(other.reads(table.name) for other in tables[n + 1 :]) + last.reads(table.name)
        if (used - 1) * cost[table.name] >= _WORTH:
            name = f"{prefix}__{table.name}"
            parts.append(Part(name, _with(seen, table.words, table.body)))
            table, cost[table.name] = _Table(table.name, table.head, f"SELECT * FROM {name}", (name,)), 0
        seen.append(table)
    return (parts, _with(seen, last.words, last.body)) if parts else ([], query)


def _cost(words: tuple[str, ...], known: dict[str, int]) -> int:
    return sum((word in _COSTLY) + known.get(word, 0) for word in words)


def _with(tables: list[_Table], words: tuple[str, ...], body: str) -> str:
    """A query with those of the tables before it that it needs."""
    needed = set(words)
    used = []
    for table in reversed(tables):
        if table.name in needed:
            needed.update(table.words)
            used.append(f"{table.head}({table.body})")
    return f"WITH {', '.join(reversed(used))}\n{body}" if used else body


def _tables(query: str) -> tuple[list[_Table], _Table]:
    """The tables of the WITH that a query begins with, and what follows them."""
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
    """Names in lower case, and words of SQL in upper case, as they stand."""
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
