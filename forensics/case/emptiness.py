"""Find queries that cannot return rows, from their SQL and from known column values, before any engine plans them.

Most cases have no rows for most views: no broker log, no Kafka Connect, no consumer of the new protocol. A view that selects events which are not in
the case, or that joins an empty view, is also empty. An engine takes as long to plan it as any other view.

A query that uses SQL unknown to this module may have rows: a query is declared empty only when that is certain.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

if TYPE_CHECKING:
    from sqlglot import exp

#: Columns with more distinct values than this are not tracked; the second number limits the first, quick check.
_MAX_VALUES, _LOOKED_AT = 500, 10_000
#: Functions that sqlglot parses as anonymous and that are not aggregates.
_PER_ROW = frozenset({"timestamp_millis", "get", "map_entries", "array_union"})

#: Supported arguments by sqlglot's key of the expression. Ordering, naming and limiting rows never adds any.
_PARTS: Mapping[str, frozenset[str]] = {
    "select": frozenset(
        (
            "with_",
            "expressions",
            "hint",
            "distinct",
            "from_",
            "laterals",
            "joins",
            "where",
            "group",
            "having",
            "qualify",
            "windows",
            "order",
            "limit",
            "offset",
        )
    ),
    "union": frozenset(("with_", "this", "expression", "distinct", "order", "limit", "offset")),
    "except": frozenset(("with_", "this", "expression", "distinct", "order", "limit", "offset")),
    "intersect": frozenset(("with_", "this", "expression", "distinct", "order", "limit", "offset")),
    "subquery": frozenset(("with_", "this", "alias", "order", "limit", "offset")),
    "table": frozenset(("this", "alias", "hints")),
    "with": frozenset(("expressions", "recursive")),
    "cte": frozenset(("this", "alias")),
    "join": frozenset(("this", "on", "side", "kind", "hint")),
    "star": frozenset(("except_",)),
    "column": frozenset(("this", "table")),
    "case": frozenset(("ifs", "default")),
    "if": frozenset(("this", "true")),
    "literal": frozenset(("this", "is_string")),
    **dict.fromkeys(("cast", "trycast"), frozenset(("this", "to"))),
    "in": frozenset(("this", "expressions", "query")),
    "between": frozenset(("this", "low", "high")),
    "coalesce": frozenset(("this", "expressions", "is_nvl", "is_null")),
    "alias": frozenset(("this", "alias")),
    "exists": frozenset(("this",)),
    "boolean": frozenset(("this",)),
    "null": frozenset(),
    **{of_one: frozenset(("this",)) for of_one in ("paren", "not", "neg", "max", "min", "firstvalue", "lastvalue", "anyvalue")},
    **{of_two: frozenset(("this", "expression")) for of_two in ("and", "or", "eq", "neq", "gt", "gte", "lt", "lte", "like", "is")},
}

_ORDERED: Mapping[str, Callable[[int, int], bool]] = {"gt": operator.gt, "gte": operator.ge, "lt": operator.lt, "lte": operator.le}

#: All non-NULL values that an expression can have; None: any value.
Values = frozenset[object] | None


@dataclass(frozen=True)
class RelationProperties:
    """Known properties of a relation.

    Attributes:
        empty: True if it certainly has no rows.
        values: possible non-NULL values by column, in lower case. Nothing is known about a column that is absent here.
        order: all of its columns in order; None if unknown.
    """

    empty: bool = False
    values: Mapping[str, frozenset[object]] = field(default_factory=dict)
    order: tuple[str, ...] | None = None


EMPTY = RelationProperties(empty=True)


def of_rows(table: pa.Table) -> RelationProperties:
    """Derive the known properties of a table: whether it has rows, and the values of text, integer and boolean columns with few distinct values."""
    values = {}
    for name in table.column_names if table.num_rows else ():
        kind = table.schema.field(name).type
        if types.is_string(kind) or types.is_boolean(kind) or types.is_integer(kind):
            column = table.column(name)
            if len(pc.unique(column.slice(0, _LOOKED_AT))) <= _MAX_VALUES and len(found := pc.unique(column)) <= _MAX_VALUES:
                values[name.lower()] = frozenset(found.to_pylist()) - {None}
    return RelationProperties(not table.num_rows, values)


def of_query(sql: str, known: Mapping[str, RelationProperties], variables: Mapping[str, int | None] | None = None) -> RelationProperties:
    """Derive the known properties of a query's rows.

    Args:
        sql: the query of a view.
        known: known properties of the relations that it reads, by name; other relations may contain anything.
        variables: values of the session variables; no column has the name of a variable.
    """
    query = _parsed(sql)
    # A query that sqlglot cannot parse goes to Spark, which reports what is wrong with it.
    return RelationProperties() if query is None else _Reader(dict(known), variables or {}).relation(query)


@lru_cache(maxsize=256)
def _parsed(sql: str) -> exp.Expr | None:
    import sqlglot

    try:
        return sqlglot.parse_one(sql, read="spark")
    except sqlglot.errors.SqlglotError:
        return None


def _is_supported(part: exp.Expr) -> bool:
    """Return True if this module supports the expression and all of its arguments."""
    parts = _PARTS.get(part.key)
    return parts is not None and not any(value for name, value in part.args.items() if name not in parts)


class _Reader:
    """An evaluator of queries over relations with known properties.

    Args:
        known: known properties by relation, in lower case; common table expressions are added as they are read.
        variables: values by name.
    """

    def __init__(self, known: dict[str, RelationProperties], variables: Mapping[str, int | None]) -> None:
        self._known = known
        self.variables = {name: frozenset() if value is None else frozenset({value}) for name, value in variables.items()}

    def relation(self, part: exp.Expr) -> RelationProperties:
        """Derive the known properties of a table, a subquery, a SELECT or a union."""
        from sqlglot import exp

        if not _is_supported(part):
            return RelationProperties()
        inside = _Reader(dict(self._known), {})
        inside.variables = self.variables
        if part.args.get("with_"):
            inside._tables(part.args["with_"])
        match part:
            case exp.Select():
                return inside._select(part)
            case exp.Union():
                return _union_of(inside.relation(part.this), inside.relation(part.expression))
            case exp.Except():
                return RelationProperties(inside.relation(part.this).empty)
            case exp.Intersect():
                return RelationProperties(inside.relation(part.this).empty or inside.relation(part.expression).empty)
            case exp.Subquery():
                found = inside.relation(part.this)
                return RelationProperties(found.empty) if _renames(part) else found
            case exp.Table() if isinstance(part.this, exp.Identifier):
                found = inside._known.get(part.name.lower(), RelationProperties())
                return RelationProperties(found.empty) if _renames(part) else found
        return RelationProperties()

    def _tables(self, part: exp.Expr) -> None:
        """Add common table expressions."""
        from sqlglot import exp

        for table in part.expressions:
            name, body = table.alias.lower(), table.this
            if not (_is_supported(part) and _is_supported(table)):
                found = RelationProperties()
            elif part.args.get("recursive"):
                # A recursion without an anchor row has no rows.
                begins = isinstance(body, exp.Union) and self.relation(body.this)
                self._known[name] = EMPTY if begins and begins.empty else RelationProperties()
                found = EMPTY if begins and begins.empty and self.relation(body).empty else RelationProperties()
            else:
                found = self.relation(body)
            self._known[name] = RelationProperties(found.empty) if _renames(table) else found

    def _select(self, query: exp.Select) -> RelationProperties:
        from sqlglot import exp

        scope = _Scope(self)
        alive = self._sources(query, scope)
        scope.hide()
        where = query.args.get("where")
        alive = alive and not (where and not scope.may(where.this))
        if not alive and _always_has_a_row(query):
            return RelationProperties()
        if not alive:
            return EMPTY
        values: dict[str, frozenset[object]] = {}
        order: list[str] | None = []
        for shown in query.expressions:
            if shown.is_star:
                order = None
                if not all(_is_supported(star) for star in shown.find_all(exp.Star)):
                    return RelationProperties()
                for name, found in scope.star(shown):
                    values[name] = values[name] | found if name in values else found
                continue
            name, possible = shown.alias_or_name.lower(), scope.possible(shown)
            if order is not None:
                order.append(name)
            values.pop(name, None)
            if possible is not None:
                values[name] = possible
        if order is not None and (len(set(order)) < len(order) or "" in order):
            return RelationProperties()
        return RelationProperties(empty=False, values=values, order=tuple(order) if order is not None else None)

    def _sources(self, query: exp.Select, scope: _Scope) -> bool:
        """Add a SELECT's sources to its scope; return True if their join may have rows."""
        begin = query.args.get("from_")
        if begin is None:
            return True
        joins = query.args.get("joins") or ()
        if not all(map(_is_supported, joins)):
            return True  # with USING, a column belongs to both sides
        first = self.relation(begin.this)
        scope.add(begin.this.alias_or_name, first)
        alive = not first.empty
        for join in joins:
            side, kind = (join.args.get("side") or "").upper(), (join.args.get("kind") or "").upper()
            found = self.relation(join.this)
            on = join.args.get("on")
            scope.add(join.this.alias_or_name, found, hidden=kind in ("SEMI", "ANTI"))
            meets = alive and not found.empty and (on is None or scope.may(on))
            if kind == "ANTI" or side == "LEFT" and kind != "SEMI":
                if not meets:
                    scope.set(join.this.alias_or_name, EMPTY)
            elif side == "":
                alive = meets
            elif side == "LEFT":
                alive = meets  # SEMI
            else:
                alive = alive or not found.empty
        for lateral in query.args.get("laterals") or ():
            scope.add(lateral.alias_or_name, RelationProperties())
        return alive


class _Scope:
    """The relations of one SELECT, and the values that expressions over them can have."""

    def __init__(self, reader: _Reader) -> None:
        self._reader = reader
        self._sources: dict[str, RelationProperties] = {}
        self._hidden: set[str] = set()

    def add(self, alias: str, known: RelationProperties, *, hidden: bool = False) -> None:
        self._sources[alias.lower()] = known
        if hidden:
            self._hidden.add(alias.lower())

    def set(self, alias: str, known: RelationProperties) -> None:
        self._sources[alias.lower()] = known

    def hide(self) -> None:
        """Remove relations that only join conditions can see."""
        for alias in self._hidden:
            del self._sources[alias]
        self._hidden = set()

    def star(self, part: exp.Expr) -> Iterable[tuple[str, frozenset[object]]]:
        """Yield the columns of `*` or `alias.*` with their possible values."""
        from sqlglot import exp

        alias = part.table.lower() if isinstance(part, exp.Column) else ""
        for name, known in self._sources.items():
            if name == alias or not alias:
                yield from known.values.items()

    def possible(self, part: exp.Expr | None) -> Values:
        """Return all non-NULL values that an expression can have."""
        from sqlglot import exp

        if part is not None and not _is_supported(part):
            return None
        match part:
            case None | exp.Null():
                return frozenset()
            case exp.Literal() if part.is_string:
                return frozenset({part.this})
            case exp.Boolean():
                return frozenset({bool(part.this)})
            case exp.Literal() if part.this.isdecimal():
                return frozenset({int(part.this)})
            case exp.Neg():
                found = self.possible(part.this)
                return frozenset(-v for v in found if type(v) is int) if found and _kinds(found) == {int} else None
            case exp.Alias() | exp.Paren() | exp.Max() | exp.Min() | exp.FirstValue() | exp.LastValue() | exp.AnyValue():
                return self.possible(part.this)
            case exp.Cast() if isinstance(part.this, exp.Null):
                return frozenset()
            case exp.Cast() if part.to.this == exp.DType.BIGINT and isinstance(part.this, exp.Literal) and not part.this.is_string:
                return self.possible(part.this)  # 0L
            case exp.Column():
                return self._column(part)
            case exp.Case() if all(map(_is_supported, part.args["ifs"])):
                branches = [self.possible(branch.args["true"]) for branch in part.args["ifs"] if self.may(branch.this)]
                return _union([*branches, self.possible(part.args.get("default"))])
            case exp.Coalesce():
                return _union([self.possible(part.this), *(self.possible(more) for more in part.expressions)])
        return None

    def _column(self, part: exp.Column) -> Values:
        name, alias = part.name.lower(), part.table.lower()
        if alias:
            known = self._sources.get(alias)
            if known is None:
                return None
            return frozenset() if known.empty else known.values.get(name)
        # A column without an alias belongs to exactly one source; otherwise the query would be invalid.
        found = [known.values[name] for known in self._sources.values() if name in known.values]
        return found[0] if len(found) == 1 else self._reader.variables.get(name) if not found else None

    def may(self, part: exp.Expr) -> bool:
        """Return True if the condition can be true for a row."""
        from sqlglot import exp

        if not _is_supported(part):
            return True
        match part:
            case exp.Paren():
                return self.may(part.this)
            case exp.And():
                return self.may(part.this) and self.may(part.expression)
            case exp.Or():
                return self.may(part.this) or self.may(part.expression)
            case exp.Boolean():
                return bool(part.this)
            case exp.Column():
                found = self.possible(part)
                return found is None or True in found
            case exp.EQ():
                return _meet(self.possible(part.this), self.possible(part.expression))
            case exp.NEQ() | exp.GT() | exp.GTE() | exp.LT() | exp.LTE():
                return _compare(part.key, self.possible(part.this), self.possible(part.expression))
            case exp.Between():
                found = self.possible(part.this)
                return _compare("gte", found, self.possible(part.args["low"])) and _compare("lte", found, self.possible(part.args["high"]))
            case exp.In():
                return self._may_be_in(part)
            case exp.Like():
                return self._may_be_like(part)
            case exp.Exists():
                return not self._reader.relation(part.this).empty
            case exp.Not() if isinstance(part.this, exp.Is) and _is_supported(part.this) and isinstance(part.this.expression, exp.Null):
                return self.possible(part.this.this) != frozenset()
        return True

    def _may_be_in(self, part: exp.In) -> bool:
        found = self.possible(part.this)
        query = part.args.get("query")
        if query is not None:
            inner = self._reader.relation(query)
            column = inner.values.get(inner.order[0]) if inner.order else None
            return not inner.empty and _meet(found, column)
        return any(_meet(found, self.possible(value)) for value in part.expressions)

    def _may_be_like(self, part: exp.Like) -> bool:
        from sqlglot import exp

        found, pattern = self.possible(part.this), part.expression
        if found is None or not isinstance(pattern, exp.Literal):
            return True
        matches = re.compile(_like(pattern.this), re.DOTALL)
        return any(isinstance(value, str) and matches.fullmatch(value) for value in found)


def _meet(a: Values, b: Values) -> bool:
    """Return True if two expressions can be equal."""
    if frozenset() in (a, b):
        return False
    # Values of different types are cast before they are compared.
    return a is None or b is None or len(_kinds(a | b)) > 1 or bool(a & b)


def _compare(how: str, a: Values, b: Values) -> bool:
    """Return True if the comparison can hold for a value of `a` and a value of `b`."""
    if frozenset() in (a, b):
        return False
    if a is None or b is None or len(_kinds(a | b)) > 1:
        return True
    if how == "neq":
        return len(a | b) > 1
    mine, others = [v for v in a if type(v) is int], [v for v in b if type(v) is int]
    if len(mine) < len(a) or len(others) < len(b):
        return True  # the order of strings depends on the engine
    return _ORDERED[how](max(mine), min(others)) if how in ("gt", "gte") else _ORDERED[how](min(mine), max(others))


def _kinds(values: frozenset[object]) -> set[type]:
    return {type(value) for value in values}


def _union(parts: Sequence[Values]) -> Values:
    return None if None in parts else frozenset().union(*(p for p in parts if p is not None))


def _like(pattern: str) -> str:
    """Convert a LIKE pattern to a regular expression; a backslash escapes the next character."""
    words = {"%": ".*", "_": "."}
    return "".join(re.escape(m[1]) if m[1] else words.get(m[0], re.escape(m[0])) for m in re.finditer(r"\\(.)|.", pattern, re.DOTALL))


def _union_of(a: RelationProperties, b: RelationProperties) -> RelationProperties:
    """Combine the two sides of a UNION: columns take the first side's names and match by position."""
    if a.order is None or b.order is None or len(a.order) != len(b.order):
        if b.empty:
            return a
        return RelationProperties(a.empty and b.empty)
    second = {mine: b.values.get(other) for mine, other in zip(a.order, b.order, strict=True)}
    values = {name: a.values[name] | more for name, more in second.items() if name in a.values and more is not None}
    return RelationProperties(a.empty and b.empty, values, a.order)


def _renames(part: exp.Expr) -> bool:
    """Return True if an alias renames columns."""
    alias = part.args.get("alias")
    return bool(alias is not None and alias.args.get("columns"))


def _always_has_a_row(query: exp.Select) -> bool:
    """Return True if a SELECT returns a row even without input rows, as `SELECT count(*)` does."""
    from sqlglot import exp

    group = query.args.get("group")
    if group is not None:
        # ROLLUP, CUBE and GROUPING SETS may include the grand total.
        several = any(isinstance(by, exp.GroupingSets | exp.Cube | exp.Rollup) for by in group.expressions)
        return several or not group.expressions or any(value for name, value in group.args.items() if name != "expressions")
    if query.args.get("having"):
        return True
    kinds = (exp.AggFunc, exp.Anonymous, exp.Any, exp.All)
    many = (found for shown in query.expressions for found in shown.find_all(*kinds) if found.parent_select is query)
    return any(not (isinstance(found, exp.Anonymous) and found.name.lower() in _PER_ROW or _is_of_window(found)) for found in many)


def _is_of_window(part: exp.Expr) -> bool:
    from sqlglot import exp

    while isinstance(part.parent, exp.IgnoreNulls | exp.RespectNulls):
        part = part.parent
    return isinstance(part.parent, exp.Window) and part.parent.this is part
