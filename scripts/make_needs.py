"""Derive from the SQL of each view under which condition it can have rows, and write `sql/needs.json`.

    python scripts/make_needs.py         # or: make docs, which does it too

Most cases have no rows for most views: no broker's log, no Kafka Connect, no consumer of the new protocol. A build looks up the condition and does not plan
what cannot have rows (`forensics/case/needs.py`): a view, or a SELECT of a UNION ALL in one. SQL that this module does not know may have rows: a condition
only says what is certain. The types of columns are those that an engine gives.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow.parquet as pq
import sqlglot
from sqlglot import exp

from forensics.case import materialise, needs
from forensics.case.integrity import rows_in
from forensics.case.needs import STORED, Condition
from forensics.case.query_parts import branches
from forensics.case.sql_types import sql_type
from forensics.case.view_files import View, views
from forensics.engines import engine
from forensics.resources import sql_dir
from forensics.schema import TABLES, table_columns, table_schema

ALWAYS, NEVER = True, False


def condition(kind: str, *parts: Condition) -> Condition:
    """Return the `and` or the `or` of conditions, without parts that change nothing."""
    decides = kind == "or"
    found: dict[Condition, None] = {}
    for part in parts:
        for one in part[1:] if isinstance(part, tuple) and part[0] == kind else (part,):
            if one is decides:
                return decides
            if one is not (not decides):
                found[one] = None
    # A column with a value belongs to a relation with rows.
    filled = {one[1] for one in found if one[0] in ("has", "like", "filled")}
    if kind == "and":
        kept = [one for one in found if not (one[0] == "rows" and one[1] in filled)]
        kept = [one for one in kept if not (one[0] == "or" and any(other in one[1:] for other in kept))]
    else:
        kept = [one for one in found if not (one[0] in ("has", "like", "filled") and ("rows", one[1]) in found)]
        kept = [one for one in kept if not (one[0] == "and" and any(other in one[1:] for other in kept))]
    return (kind, *kept) if len(kept) > 1 else kept[0] if kept else not decides


#: Supported arguments by sqlglot's key of the expression. Ordering, naming and limiting rows never adds any.
_CLAUSES = "with_ expressions hint distinct from_ laterals joins where group having qualify windows order limit offset"
_OF_SETS = frozenset(["with_", "this", "expression", "distinct", "order", "limit", "offset"])
_PARTS: Mapping[str, frozenset[str]] = {
    "select": frozenset(_CLAUSES.split()),
    **dict.fromkeys(("union", "except", "intersect"), _OF_SETS),
    "subquery": frozenset(["with_", "this", "alias", "order", "limit", "offset"]),
    "table": frozenset(["this", "alias", "hints"]),
    "with": frozenset(("expressions", "recursive")),
    "cte": frozenset(("this", "alias")),
    "join": frozenset(["this", "on", "side", "kind", "hint"]),
    "star": frozenset(("except_",)),
    "column": frozenset(("this", "table")),
    "case": frozenset(("ifs", "default")),
    "if": frozenset(("this", "true")),
    "literal": frozenset(("this", "is_string")),
    **dict.fromkeys(("cast", "trycast"), frozenset(("this", "to"))),
    "in": frozenset(["this", "expressions", "query"]),
    "coalesce": frozenset(["this", "expressions", "is_nvl", "is_null"]),
    "alias": frozenset(("this", "alias")),
    "exists": frozenset(("this",)),
    "boolean": frozenset(("this",)),
    "null": frozenset(),
    **dict.fromkeys(("paren", "not", "max", "min", "firstvalue", "lastvalue", "anyvalue"), frozenset(("this",))),
    **dict.fromkeys(("and", "or", "eq", "like", "is"), frozenset(("this", "expression"))),
}
#: Functions that sqlglot parses as anonymous and that are not aggregates.
_PER_ROW = frozenset({"timestamp_millis", "get", "map_entries", "array_union", "arrays_overlap", "xxhash64"})


@dataclass(frozen=True)
class Choice:
    """One value that an expression can have.

    Attributes:
        when: the condition under which it can have it.
        text: the value, a text or a boolean; None: any value of the column.
        column: relation and column whose values it has.
    """

    when: Condition
    text: str | bool | None = None
    column: tuple[str, str] | None = None


#: What an expression can be, apart from NULL; None: anything.
Values = tuple[Choice, ...] | None


@dataclass(frozen=True)
class Relation:
    """What is known of a relation.

    Attributes:
        alive: the condition under which it can have rows.
        values: what each of its columns can be, in their order; empty: its columns are unknown.
    """

    alive: Condition = ALWAYS
    values: Mapping[str, Values] = field(default_factory=dict)

    def only(self, when: Condition) -> Relation:
        """Return it as the side of a join, which has rows only under a condition."""
        return replace(self, values={name: _guarded(values, when) for name, values in self.values.items()})


def stored(name: str, columns: Sequence[str]) -> Relation:
    """Return a relation whose rows a build has."""
    return Relation(("rows", name), {c: (Choice(ALWAYS, column=(name, c)),) for c in map(str.lower, columns)})


def needs_of(query: str, known: Mapping[str, Relation]) -> Condition:
    """Return the condition under which a query can have rows."""
    return relation_of(query, known).alive


def relation_of(query: str, known: Mapping[str, Relation]) -> Relation:
    """Return what is known of a query's rows.

    Args:
        query: one query.
        known: the relations that it reads, by name.
    """
    try:
        parsed = sqlglot.parse_one(query, read="spark")
    except sqlglot.errors.SqlglotError:
        return Relation()
    return _Reader(dict(known)).relation(parsed)


def _is_supported(part: exp.Expr) -> bool:
    """Return True if this module supports the expression and all of its arguments."""
    parts = _PARTS.get(part.key)
    return parts is not None and not any(value for name, value in part.args.items() if name not in parts)


class _Reader:
    """A reader of queries over known relations; common table expressions are added as they are read."""

    def __init__(self, known: dict[str, Relation]) -> None:
        self._known = known

    def relation(self, part: exp.Expr) -> Relation:
        if not _is_supported(part):
            return Relation()
        inside = _Reader(dict(self._known))
        if part.args.get("with_"):
            inside._tables(part.args["with_"])
        match part:
            case exp.Select():
                return inside._select(part)
            case exp.Union():
                return _union_of(inside.relation(part.this), inside.relation(part.expression))
            case exp.Except():
                return Relation(inside.relation(part.this).alive)
            case exp.Intersect():
                return Relation(condition("and", inside.relation(part.this).alive, inside.relation(part.expression).alive))
            case exp.Subquery():
                return _renamed(inside.relation(part.this), part)
            case exp.Table() if isinstance(part.this, exp.Identifier):
                return _renamed(inside._known.get(part.name.lower(), Relation()), part)
        return Relation()

    def _tables(self, part: exp.Expr) -> None:
        """Add common table expressions."""
        for table in part.expressions:
            name, body = table.alias.lower(), table.this
            if not (_is_supported(part) and _is_supported(table)):
                found = Relation()
            elif part.args.get("recursive"):
                # A recursion without a first row has no rows.
                found = Relation(self.relation(body.this).alive) if isinstance(body, exp.Union) else Relation()
            else:
                found = _renamed(self.relation(body), table)
            self._known[name] = found

    def _select(self, query: exp.Select) -> Relation:
        scope = _Scope(self)
        alive = self._sources(query, scope)
        scope.hide()
        if where := query.args.get("where"):
            alive = condition("and", alive, scope.may(where.this))
        if _always_has_a_row(query):
            alive = ALWAYS
        columns: list[tuple[str, Values]] = []
        for shown in query.expressions:
            if not shown.is_star:
                columns.append((shown.alias_or_name.lower(), scope.possible(shown)))
            elif (more := scope.star(shown)) is not None:
                columns += more
            else:
                return Relation(alive)
        values = dict(columns)
        return Relation(alive, {} if len(values) < len(columns) or "" in values else values)

    def _sources(self, query: exp.Select, scope: _Scope) -> Condition:
        """Add a SELECT's sources to its scope; return the condition under which their join can have rows."""
        begin = query.args.get("from_")
        if begin is None:
            return ALWAYS
        joins = query.args.get("joins") or ()
        first = self.relation(begin.this)
        if not all(map(_is_supported, joins)):
            scope.add("", Relation())  # with USING, a column belongs to both sides
            inner = all((j.args.get("side") or "").upper() in ("", "LEFT") for j in joins)
            return first.alive if inner else ALWAYS
        scope.add(begin.this.alias_or_name, first)
        alive = first.alive
        for join in joins:
            side, kind = (join.args.get("side") or "").upper(), (join.args.get("kind") or "").upper()
            alias, found, on = join.this.alias_or_name, self.relation(join.this), join.args.get("on")
            if isinstance(join.this, exp.Lateral):
                scope.add(alias, Relation())
                alive = alive if side in ("", "LEFT") else ALWAYS
                continue
            scope.add(alias, found, hidden=kind in ("SEMI", "ANTI"))
            meets = condition("and", alive, found.alive, scope.may(on) if on is not None else ALWAYS)
            if kind == "ANTI" or side == "LEFT" and kind != "SEMI":
                scope.add(alias, found.only(meets), hidden=kind == "ANTI")
            elif side in ("", "LEFT"):
                alive = meets
            else:
                alive = condition("or", alive, found.alive)
        for lateral in query.args.get("laterals") or ():
            scope.add(lateral.alias_or_name, Relation())
        return alive


class _Scope:
    """The relations of one SELECT, and what expressions over them can be."""

    def __init__(self, reader: _Reader) -> None:
        self._reader = reader
        self._sources: dict[str, Relation] = {}
        self._hidden: set[str] = set()

    def add(self, alias: str, known: Relation, *, hidden: bool = False) -> None:
        self._sources[alias.lower()] = known
        if hidden:
            self._hidden.add(alias.lower())

    def hide(self) -> None:
        """Remove relations that only join conditions can see."""
        for alias in self._hidden:
            del self._sources[alias]
        self._hidden = set()

    def star(self, part: exp.Expr) -> list[tuple[str, Values]] | None:
        """Return the columns of `*` or `alias.*`; None: unknown."""
        stars = list(part.find_all(exp.Star))
        alias = part.table.lower() if isinstance(part, exp.Column) else ""
        meant = [known.values for name, known in self._sources.items() if name == alias or not alias]
        if not all(map(_is_supported, stars)) or not all(meant):
            return None
        left_out = {e.name.lower() for star in stars for e in star.args.get("except_") or ()}
        return [(name, found) for values in meant for name, found in values.items() if name not in left_out]

    def possible(self, part: exp.Expr | None) -> Values:
        """Return what an expression can be, apart from NULL."""
        if part is not None and not _is_supported(part):
            return None
        match part:
            case None | exp.Null():
                return ()
            case exp.Literal() if part.is_string:
                return None if "\\" in part.this else (Choice(ALWAYS, text=part.this),)
            case exp.Boolean():
                return (Choice(ALWAYS, text=bool(part.this)),)
            case exp.Alias() | exp.Paren() | exp.Max() | exp.Min() | exp.FirstValue() | exp.LastValue() | exp.AnyValue():
                return self.possible(part.this)
            case exp.Cast() if isinstance(part.this, exp.Null):
                return ()
            case exp.Column():
                return self._column(part)
            case exp.Case() if part.args.get("this") is None and all(map(_is_supported, part.args["ifs"])):
                branches = [_guarded(self.possible(branch.args["true"]), self.may(branch.this)) for branch in part.args["ifs"]]
                return _any_of([*branches, self.possible(part.args.get("default"))])
            case exp.Coalesce():
                return _any_of([self.possible(part.this), *map(self.possible, part.expressions)])
        return None

    def _column(self, part: exp.Column) -> Values:
        name, alias = part.name.lower(), part.table.lower()
        if alias:
            return self._sources[alias].values.get(name) if alias in self._sources else None
        # A column without an alias belongs to exactly one source; otherwise the query would be invalid.
        owners = [known.values for known in self._sources.values() if name in known.values]
        return owners[0][name] if len(owners) == 1 else None

    def may(self, part: exp.Expr) -> Condition:
        """Return when the condition can be true for a row."""
        if not _is_supported(part):
            return ALWAYS
        match part:
            case exp.Paren():
                return self.may(part.this)
            case exp.And():
                return condition("and", self.may(part.this), self.may(part.expression))
            case exp.Or():
                return condition("or", self.may(part.this), self.may(part.expression))
            case exp.Boolean():
                return ALWAYS if part.this else NEVER
            case exp.Null():
                return NEVER
            case exp.Column():
                return _meet(self.possible(part), (Choice(ALWAYS, text=True),))
            case exp.EQ():
                return _meet(self.possible(part.this), self.possible(part.expression))
            case exp.In():
                return self._may_be_in(part)
            case exp.Like():
                return self._may_be_like(part)
            case exp.Exists():
                return self._reader.relation(part.this).alive
            case exp.Not() if isinstance(part.this, exp.Is) and _is_supported(part.this) and isinstance(part.this.expression, exp.Null):
                found = self.possible(part.this.this)
                return ALWAYS if found is None else condition("or", *(_some(choice) for choice in found))
        return ALWAYS

    def _may_be_in(self, part: exp.In) -> Condition:
        found = self.possible(part.this)
        if query := part.args.get("query"):
            inner = self._reader.relation(query)
            return condition("and", inner.alive, _meet(found, next(iter(inner.values.values()), None)))
        return condition("or", *(_meet(found, self.possible(value)) for value in part.expressions))

    def _may_be_like(self, part: exp.Like) -> Condition:
        found, pattern = self.possible(part.this), part.expression
        if found is None or not isinstance(pattern, exp.Literal) or "\\" in pattern.this.replace("\\_", "").replace("\\%", ""):
            return ALWAYS
        expression = _like(pattern.this)
        matches = re.compile(expression, re.DOTALL)
        return condition(
            "or",
            *(
                condition("and", choice.when, ("like", *choice.column, expression))
                if choice.column
                else choice.when
                if isinstance(choice.text, str) and matches.fullmatch(choice.text)
                else NEVER
                for choice in found
            ),
        )


def _some(choice: Choice) -> Condition:
    """Return when an expression has this value at all."""
    return condition("and", choice.when, ("filled", *choice.column)) if choice.column else choice.when


def _guarded(values: Values, when: Condition) -> Values:
    return values and tuple(replace(v, when=condition("and", v.when, when)) for v in values)


def _any_of(parts: Sequence[Values]) -> Values:
    return None if None in parts else tuple(dict.fromkeys(choice for values in parts for choice in values or ()))


def _meet(a: Values, b: Values) -> Condition:
    """Return when two expressions can be equal."""
    if a == () or b == ():
        return NEVER
    if a is None or b is None:
        known = a if a is not None else b
        return ALWAYS if known is None else condition("or", *map(_some, known))
    return condition("or", *(condition("and", x.when, y.when, _equal(x, y)) for x in a for y in b))


def _equal(x: Choice, y: Choice) -> Condition:
    if x.column and y.column:
        return condition("and", ("filled", *x.column), ("filled", *y.column))
    if x.column or y.column:
        column, text = (x.column, y.text) if x.column else (y.column, x.text)
        return ("has", *column, text)
    return ALWAYS if type(x.text) is not type(y.text) or x.text == y.text else NEVER


def _union_of(a: Relation, b: Relation) -> Relation:
    """Combine the two sides of a UNION: columns take the first side's names and match by position."""
    alive = condition("or", a.alive, b.alive)
    if len(a.values) != len(b.values):
        return Relation(alive)
    both = zip(a.values.items(), b.values.values(), strict=True)
    return Relation(alive, {name: _any_of([_guarded(mine, a.alive), _guarded(other, b.alive)]) for (name, mine), other in both})


def _renamed(found: Relation, part: exp.Expr) -> Relation:
    """Return a relation with the columns' names of its alias."""
    alias = part.args.get("alias")
    names = [c.name.lower() for c in alias.args.get("columns") or ()] if alias is not None else []
    if not names:
        return found
    return renamed(found, names)


def renamed(found: Relation, names: Sequence[str]) -> Relation:
    """Return a relation with other names for all of its columns."""
    return Relation(found.alive, dict(zip(names, found.values.values(), strict=True)) if len(found.values) == len(names) else {})


def _like(pattern: str) -> str:
    """Convert a LIKE pattern to a regular expression; a backslash escapes the next character."""
    words = {"%": ".*", "_": "."}
    return "".join(re.escape(m[1]) if m[1] else words.get(m[0], re.escape(m[0])) for m in re.finditer(r"\\(.)|.", pattern, re.DOTALL))


def _always_has_a_row(query: exp.Select) -> bool:
    """Return True if a SELECT returns a row even without input rows, as `SELECT count(*)` does."""
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
    while isinstance(part.parent, exp.IgnoreNulls | exp.RespectNulls):
        part = part.parent
    return isinstance(part.parent, exp.Window) and part.parent.this is part


@cache
def relations() -> Mapping[str, Relation]:
    """Return what is known of each table and view while a build computes the views that read it."""
    known: dict[str, Relation] = {name: stored(name, [c.name for c in table_columns(name)]) for name in TABLES}
    for view in views().values():
        known[view.name] = stored(view.name, view.columns) if view.kept else _declared(relation_of(view.query, known), view)
    return known


@cache
def conditions() -> Mapping[str, Condition]:
    """Return the condition of each stored view that a query computes, by its name."""
    known = relations()
    return {view.name: needs_of(view.query, known) for view in views().values() if view.kept and view.query}


def _declared(found: Relation, view: View) -> Relation:
    """Return what is known of a view that is not stored, by the names that it declares."""
    declared = [name.lower() for name in view.columns]
    return found if not declared or sorted(found.values) == sorted(declared) else renamed(found, declared)


#: What is stored of a UNION ALL: `names` of its columns, and `selects`, of each: begin and end of its text, when it can have rows, and whether its columns
#: have the types of the whole.
Union = dict[str, Any]
#: The columns that an engine gives a query: names and types.
Columns = tuple[tuple[str, str], ...]


def unions(query: str, known: Mapping[str, Relation], columns: Callable[[str], Columns | None]) -> list[Union]:
    """Return each UNION ALL of a query in which a SELECT has no rows unless a condition holds.

    Args:
        query: one query.
        known: the relations that it reads, by name.
        columns: returns the columns of a query; None if it cannot be read by itself.
    """
    found = []
    scopes: dict[str, _Reader | None] = {}
    for group in branches(query):
        before = group[0].before
        if before not in scopes:
            scopes[before] = _scope(before, known)
        reader = scopes[before]
        texts = [query[branch.start : branch.end] for branch in group]
        alive = [reader.relation(sqlglot.parse_one(text, read="spark")).alive if reader else ALWAYS for text in texts]
        if all(wanted is ALWAYS for wanted in alive):
            continue
        given = [columns(before + text) for text in texts]
        if _have_one_type(given):
            has_types = [_types(one) == _types(given[0]) for one in given]
            selects = [[b.start, b.end, wanted, same] for b, wanted, same in zip(group, alive, has_types, strict=True)]
            found.append({"names": [name for name, _ in given[0] or ()], "selects": selects})
    return found


def _scope(before: str, known: Mapping[str, Relation]) -> _Reader | None:
    """Return a reader that knows the common table expressions of a query's beginning."""
    reader = _Reader(dict(known))
    if before:
        try:
            reader._tables(sqlglot.parse_one(before + "SELECT 1", read="spark").args["with_"])
        except sqlglot.errors.SqlglotError:
            return None
    return reader


def _types(columns: Columns | None) -> list[str]:
    return [kind for _, kind in columns or ()]


def _have_one_type(given: Sequence[Columns | None]) -> bool:
    """Return True if the columns of a UNION ALL have the types of its first SELECT: those of each other are the same, or only NULL."""
    first = _types(given[0])
    return None not in given and all(kind in (whole, "void") for one in given for kind, whole in zip(_types(one), first, strict=True))


def derived() -> tuple[dict[str, dict[str, str]], dict[str, list[Union]]]:
    """Return the SQL types of each stored view's columns, as the default engine gives them for a case without rows, and the UNION ALLs of each view."""
    known = relations()
    found: dict[str, list[Union]] = {}
    runs, compute = engine(), materialise._Build._compute

    def columns(query: str) -> Columns | None:
        try:
            return tuple((f.name, f.dataType.simpleString()) for f in runs.query(query).schema.fields)
        except Exception:  # noqa: BLE001  (a SELECT that reads the one around it)
            return None

    def at_its_turn(build: materialise._Build, view: View) -> None:
        if view.query:
            build.know_inputs(view)
            found[view.name] = unions(view.query, known, columns)
        compute(build, view)

    with tempfile.TemporaryDirectory() as folder, patch.object(needs, "_stored", dict), patch.object(materialise._Build, "_compute", at_its_turn):
        tables = {}
        for name in TABLES:
            path = Path(folder) / name
            path.mkdir()
            pq.write_table(table_schema(name).empty_table(), path / "part-0.parquet")
            tables[name] = [str(path)]
        built = materialise.build(runs, tables, Path(folder) / "views", small=True)
        types = {name: {f.name: sql_type(f.type) for f in rows_in(path).schema} for name, path in built.items()}
    return types, {name: groups for name, groups in found.items() if groups}


def content() -> str:
    """Return the content of the file: a line for each view."""
    (typed, united), queries = derived(), views()
    found: dict[str, dict[str, object]] = {}
    for name, wanted in conditions().items():
        if wanted is not ALWAYS:
            found[name] = {"needs": wanted, "types": typed[name]}
    for name, groups in united.items():
        found.setdefault(name, {})["unions"] = groups
    lines = sorted(f"{json.dumps(needs.key(queries[name].query))}: {json.dumps({'view': name, **facts})}" for name, facts in found.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    (Path(str(sql_dir())) / STORED).write_text(content(), encoding="utf-8")
