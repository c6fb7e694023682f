"""Ask Spark for hash joins. Without statistics it sorts both sides of each join, and sorting a few rows costs more than a table of them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_TOKEN = re.compile(r"""'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+"|`[^`]*+`|\w++|[^\s\w]""", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_`]")
#: What can follow a relation that has no alias.
_FOLLOW = frozenset(
    ("ON", "USING", "JOIN", "INNER", "CROSS", "LEFT", "RIGHT", "FULL", "SEMI", "ANTI", "NATURAL", "LATERAL")
    + ("WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "WINDOW", "UNION", "EXCEPT", "INTERSECT")
)


@dataclass
class _Select:
    """A SELECT: the position after this word, the names of the relations that it joins, and whether it joins any."""

    at: int
    names: list[str] = field(default_factory=list)
    joins: bool = False


def hash_joins(query: str) -> str:
    """Return a query with a hint in each SELECT that joins relations: Spark builds a hash table of one side, if the sides have equal columns.

    A hint changes no rows. Relations that this function does not recognise get none.

    Args:
        query: a query without comments.
    """
    tokens = list(_TOKEN.finditer(query))
    words = [token[0].upper() for token in tokens] + ["", ""]

    def name(at: int) -> list[str]:
        """Return the alias at or after `AS`, if there is one."""
        at += words[at] == "AS"
        return [tokens[at][0]] if words[at] not in _FOLLOW and _NAME.match(words[at]) else []

    found: list[_Select] = []
    # For each open parenthesis: the SELECT in it, and whether it is a relation.
    within: list[tuple[_Select | None, bool]] = [(None, False)]
    for n, (token, word) in enumerate(zip(tokens, words, strict=False)):
        select, _ = within[-1]
        # `a IS DISTINCT FROM b` reads no relation.
        reads = n > 0 and words[n - 1] in ("FROM", "JOIN") and words[n - 2] != "DISTINCT"
        if word == "(":
            within.append((None, reads))
        elif word == ")":
            _, was_relation = within.pop()
            if was_relation and (around := within[-1][0]):
                around.names += name(n + 1)
        elif word == "SELECT":
            found.append(_Select(token.end()))
            within[-1] = found[-1], within[-1][1]
        elif select and reads and words[n + 1] != "." and _NAME.match(word) and word != "LATERAL":
            select.names += name(n + 1) or [token[0]]
        elif select and word == "JOIN":
            select.joins = True
    for select in reversed(found):
        if select.joins and select.names:
            query = f"{query[: select.at]} /*+ SHUFFLE_HASH({', '.join(select.names)}) */{query[select.at :]}"
    return query
