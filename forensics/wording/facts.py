"""Extract the names and codes that a rule's SQL yields from the SQL itself, so that words can be checked without running anything."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import sqlglot
from sqlglot import exp


@dataclass(frozen=True)
class Yields:
    """The output of the last SELECT of a query.

    Attributes:
        columns: its output names.
        facts: keys of the struct in the column `facts`.
        codes: string literals that are possible values of the column `code`.
        roles: roles of the lines in the column `proof`.
    """

    columns: tuple[str, ...]
    facts: frozenset[str]
    codes: frozenset[str]
    roles: frozenset[str]


def yields(query: str) -> Yields:
    """Analyse a rule's query (without CREATE).

    Raises:
        sqlglot.errors.ParseError: it cannot be parsed.
    """
    tree = sqlglot.parse_one(query, read="spark")
    selects = list(_selects(tree))
    named = [{p.alias_or_name: p.unalias() for p in s.expressions} for s in selects]
    return Yields(
        tuple(named[0]),
        frozenset(key for columns in named if "facts" in columns for key in _keys(columns["facts"], tree)),
        frozenset(code for columns in named if "code" in columns for code in _literals(columns["code"], tree)),
        frozenset(role for columns in named if "proof" in columns for found in _behind(columns["proof"], tree) for role in _roles(found)),
    )


def _selects(tree: exp.Expr) -> Iterator[exp.Select]:
    """Yield the SELECTs whose rows a query yields: one, or those of a UNION."""
    if isinstance(tree, exp.SetOperation):
        yield from _selects(tree.left)
        yield from _selects(tree.right)
    elif isinstance(tree, exp.Select):
        yield tree
    elif isinstance(tree, exp.Subquery):
        yield from _selects(tree.this)


def _behind(node: exp.Expr, tree: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the expression itself or, if it only names a column of an earlier step, the expressions that this step gives that name.

    Of `coalesce`, yield those behind each of its arguments.
    """
    if isinstance(node, exp.Coalesce):
        for part in (node.this, *node.expressions):
            yield from _behind(part, tree)
        return
    if not isinstance(node, exp.Column):
        yield node
        return
    for select in tree.find_all(exp.Select):
        for projection in select.expressions:
            if isinstance(projection, exp.Alias) and projection.alias == node.name and not isinstance(projection.this, exp.Column):
                yield projection.this


def _keys(node: exp.Expr, tree: exp.Expr) -> Iterator[str]:
    for found in _behind(node, tree):
        if isinstance(found, exp.Struct):
            yield from (p.this.name for p in found.expressions if isinstance(p, exp.PropertyEQ))


def _literals(node: exp.Expr, tree: exp.Expr) -> Iterator[str]:
    """Yield the possible values of a code: a literal, or the results (not the conditions) of a CASE, also inside coalesce and parentheses."""
    for found in _behind(node, tree):
        yield from _results(found)


def _results(node: exp.Expr) -> Iterator[str]:
    if isinstance(node, exp.Literal) and node.is_string:
        yield node.name
    elif isinstance(node, exp.Case):
        for branch in node.args["ifs"]:
            yield from _results(branch.args["true"])
        if node.args.get("default") is not None:
            yield from _results(node.args["default"])
    elif isinstance(node, exp.If):
        yield from _results(node.args["true"])
        if node.args.get("false") is not None:
            yield from _results(node.args["false"])
    elif isinstance(node, exp.Coalesce | exp.Paren):
        for part in (node.this, *node.expressions):
            yield from _results(part)


def _roles(node: exp.Expr) -> Iterator[str]:
    for struct in node.find_all(exp.Struct):
        for p in struct.expressions:
            if isinstance(p, exp.PropertyEQ) and p.this.name == "role":
                yield from _results(p.expression)
