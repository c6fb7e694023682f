"""Find parts of a query that an engine need not plan, or need not plan again.

Engines plan a common table expression once for every read, so in a chain of expressions that are each read twice the plan doubles at every step. An
expression that is computed first, and read as rows, is planned once. A SELECT of a UNION ALL that cannot have rows, and an expression that only it reads, need
no plan at all. An expression that is read once needs no name, and a threshold no variable.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

#: Keywords that an engine plans as more than one pass over the rows.
_COSTLY = frozenset(("JOIN", "GROUP", "OVER", "DISTINCT", "UNION", "EXCEPT", "INTERSECT"))
#: What may stand between the SELECTs of a UNION ALL, or after the last, and concerns more than one of them.
_MIXED = frozenset(("EXCEPT", "INTERSECT", "MINUS", "ORDER", "SORT", "LIMIT", "OFFSET"))
#: What may follow a relation that has no alias.
_AFTER_RELATION = frozenset(
    [
        "ANTI",
        "CLUSTER",
        "CROSS",
        "DISTRIBUTE",
        "EXCEPT",
        "FULL",
        "GROUP",
        "HAVING",
        "INNER",
        "INTERSECT",
        "JOIN",
        "LATERAL",
        "LEFT",
        "LIMIT",
        "MINUS",
        "NATURAL",
        "OFFSET",
        "ON",
        "ORDER",
        "PIVOT",
        "QUALIFY",
        "RIGHT",
        "SEMI",
        "SORT",
        "TABLESAMPLE",
        "UNION",
        "UNPIVOT",
        "USING",
        "WHERE",
        "WINDOW",
        ")",
        ",",
        ";",
    ]
)
#: A string or a quoted name; or also a word, or one other character.
_TEXT = r"""'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+"|`[^`]*+`"""
_TOKEN = re.compile(rf"{_TEXT}|\w++|[^\s\w]", re.DOTALL)


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
    """A common table expression: `head` up to its parenthesis, and its `body`, which begins at `start`."""

    name: str
    head: str
    body: str
    words: tuple[str, ...]
    start: int = 0

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


def inlined(query: str) -> str:
    """Return a query with each common table expression that is read once in the place where it is read.

    Spark's analyser gives such an expression new names for all its columns and checks it twice, and its optimiser removes the names again.
    """
    tables, last = _tables(query)
    moved: dict[str, _Table] = {}
    stay = []
    for n, table in enumerate(tables):
        readers = [other for other in (*tables[n + 1 :], last) if table.name in other.words]
        is_read_once = len(readers) == 1 and readers[0].words.count(table.name) == readers[0].reads(table.name) == 1
        # A relation that it reads may have the name of an expression at its new place, and one that an earlier expression reads may have its name.
        is_clear = not any(other.name in table.words for other in tables[n:]) and not any(table.name in other.words for other in tables[:n])
        can_move = is_read_once and is_clear and "with" not in readers[0].words
        if can_move and _HEAD.fullmatch(table.head):
            moved[table.name] = table
        else:
            stay.append(table)
    if not moved:
        return query
    heads = ", ".join(f"{table.head}({_filled(table.body, moved)})" for table in stay)
    return f"{f'WITH {heads}' if heads else ''}\n{_filled(last.body, moved)}"


#: The beginning of a common table expression that does not name its columns.
_HEAD = re.compile(r"\w+\s+AS\s*", re.IGNORECASE)


def _filled(body: str, moved: Mapping[str, _Table]) -> str:
    """Return a query with subqueries in the place of the expressions that it reads."""
    tokens = [token for token in _TOKEN.finditer(body) if token[0][0] not in "'\""]
    done, at = [], 0
    for before, token, after in zip(tokens[:-1], tokens[1:], [*tokens[2:], None], strict=True):
        table = moved.get(token[0].lower()) if before[0].upper() in ("FROM", "JOIN") else None
        if table is not None:
            alias = f" AS {table.name}" if after is None or after[0].upper() in _AFTER_RELATION else ""
            done += [body[at : token.start()], f"({_filled(table.body, moved)}){alias}"]
            at = token.end()
    return "".join([*done, body[at:]])


def with_values(query: str, values: Mapping[str, str]) -> str:
    """Return a query with an expression for each session variable.

    Args:
        query: a view's query, without comments.
        values: the expression for each variable, by its name.
    """
    name = rf"(?<![\w.])(?:{'|'.join(values)})(?!\w|\s*[.(])"
    return re.sub(rf"{_TEXT}|{name}", lambda found: values.get(found[0].lower(), found[0]), query, flags=re.DOTALL | re.IGNORECASE)


@dataclass(frozen=True)
class Branch:
    """A SELECT of a UNION ALL.

    Attributes:
        start, end: its place in the query.
        before: the query with the common table expressions that it can read, up to the place where it can begin.
    """

    start: int
    end: int
    before: str


def branches(query: str) -> list[list[Branch]]:
    """Return the SELECTs of each UNION ALL of a query, at any depth.

    A UNION ALL that is mixed with other set operations is left out, and one that a clause of the whole follows.
    """
    tables, last = _tables(query)
    found = []
    for n, table in enumerate([*tables, last]):
        heads = ", ".join(f"{other.head}({other.body})" for other in tables[:n])
        before = f"WITH {heads}\n" if heads else ""
        for group in _unions(table.body):
            found.append([Branch(table.start + start, table.start + end, before) for start, end in group])
    return found


@dataclass(frozen=True)
class Kept:
    """What stays of a UNION ALL.

    Attributes:
        names: its columns.
        selects: place of each SELECT, and whether it stays; one does.
    """

    names: Sequence[str]
    selects: Sequence[tuple[int, int, bool]]


def without(query: str, unions: Iterable[Kept]) -> str:
    """Return a query without some SELECTs of its UNION ALLs, and without the common table expressions that nothing reads then."""
    changes: list[tuple[int, int, str]] = []  # place, end of what goes away there (or the place), and what is put there
    for union in unions:
        at = [(start, end) for start, end, _ in union.selects]
        first = next(n for n, (_, _, stays) in enumerate(union.selects) if stays)
        changes += [(at[n][0], at[n + 1][0], "") for n in range(first)]
        changes += [(at[n - 1][1], at[n][1], "") for n, (_, _, stays) in enumerate(union.selects) if n > first and not stays]
        if first:  # a UNION ALL has the names of its first SELECT
            start, end = at[first]
            changes += [(start, start, "SELECT * FROM ("), (end, end, f") AS kept ({', '.join(union.names)})")]
    kept, so_far = [], 0
    for place, end, text in sorted(changes):
        if place >= so_far:  # otherwise in something larger that goes away
            kept += [query[so_far:place], text]
            so_far = place
        so_far = max(so_far, end)
    tables, last = _tables("".join([*kept, query[so_far:]]))
    return _with(tables, last.words, last.body)


def _unions(body: str) -> Iterator[list[tuple[int, int]]]:
    """Yield the places of the SELECTs of each UNION ALL."""
    tokens = [token for token in _TOKEN.finditer(body) if token[0][0] not in "'\""]
    words = [token[0].upper() for token in tokens]
    scopes: list[list[int] | None] = [[0]]  # where each SELECT of an open parenthesis begins; None: something else
    for n, word in enumerate([*words, ")"]):
        scope = scopes[-1]
        if word == "(":
            scopes.append([n + 1])
        elif word == ")":
            scopes.pop()
            if scope is not None and len(scope) > 1 and all(words[at] == "SELECT" for at in scope):
                ends = [tokens[end].start() if end < len(tokens) else len(body) for end in (*(at - 2 for at in scope[1:]), n)]
                yield [(tokens[at].start(), len(body[:end].rstrip())) for at, end in zip(scope, ends, strict=True)]
        elif word == "UNION" and scope is not None and words[n + 1] == "ALL":
            scope.append(n + 2)
        elif word in _MIXED or word == "UNION":
            scopes[-1] = None


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
        tables.append(_Table(tokens[begin][0].lower(), head, body, _words(tokens[opening + 1 : closing]), tokens[opening].end()))
        at = closing + 1
        if tokens[at][0] != ",":
            return tables, _Table("", "", query[tokens[at].start() :], _words(tokens[at:]), tokens[at].start())
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
