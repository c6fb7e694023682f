"""Read the rows that a case keeps with pyarrow: to choose columns and rows of one view, no engine needs to start."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from pyarrow import types

from forensics.case import view_files
from forensics.case.integrity import rows_in
from forensics.case.open_sql import columns_over
from forensics.engines.cells import is_number
from forensics.engines.rows import ArrowRows

if TYPE_CHECKING:
    from sqlglot import exp

    from forensics.case.folder import Case

_BATCH = 10_000
#: Maximum number of rows that are sorted here, in memory; an engine sorts more.
_SORTED = 1_000_000
_LONGEST_INTEGER = 18
_COMPARED = {"EQ": "__eq__", "NEQ": "__ne__", "GT": "__gt__", "GTE": "__ge__", "LT": "__lt__", "LTE": "__le__"}


@dataclass(frozen=True)
class StoredView:
    """The stored rows of a view, or a selection of them.

    Attributes:
        source: the view's Parquet files.
        columns: the columns to show: name, and the stored column.
        where: the condition on rows; None: all.
        order: column, True for descending, True for NULL first.
        limit: maximum number of rows; None: all.
    """

    source: ds.Dataset
    columns: tuple[tuple[str, str], ...]
    where: pc.Expression | None = None
    order: tuple[tuple[str, bool, bool], ...] = ()
    limit: int | None = field(default=None)

    @property
    def names(self) -> Sequence[str]:
        return [name for name, _ in self.columns]

    def rows(self) -> ArrowRows:
        """Return the rows, to be printed."""
        return ArrowRows(self.names, [is_number(self.source.schema.field(column).type) for _, column in self.columns], self._batches)

    def _batches(self) -> Iterator[pa.RecordBatch]:
        left = self.limit
        for batch in self._sorted() if self.order else self._read().to_batches():
            if left is not None:
                batch, left = batch.slice(0, left), left - min(left, batch.num_rows)
            if batch.num_rows:
                yield pa.RecordBatch.from_arrays([batch.column(column) for _, column in self.columns], names=self.names)
            if left == 0:
                return

    def _read(self) -> ds.Scanner:
        wanted = list(dict.fromkeys([*(column for _, column in self.columns), *(column for column, _, _ in self.order)]))
        return self.source.scanner(columns=wanted, filter=self.where, batch_size=_BATCH)

    def _sorted(self) -> list[pa.RecordBatch]:
        table = self._read().to_table()
        keys = []
        for n, (column, falling, nulls_first) in enumerate(self.order):
            # Each key has its own position of NULL; a single sort of Arrow has one for all keys.
            absent, key = f"absent {n}", f"key {n}"
            table = table.append_column(absent, pc.is_null(table.column(column))).append_column(key, table.column(column))
            keys += [(absent, "descending" if nulls_first else "ascending"), (key, "descending" if falling else "ascending")]
        return table.sort_by(keys).to_batches(max_chunksize=_BATCH)  # type: ignore[no-any-return]


def of_view(case: Case, name: str) -> ArrowRows | None:
    """Return all rows of a view; None if the case does not keep them.

    Args:
        case: the case.
        name: the view's name.
    """
    kept = _kept(case, name)
    return None if kept is None else kept.rows()


def of_known_view(case: Case, view: view_files.View) -> ArrowRows | None:
    """Return the rows as `of_view` does, for callers that go through all views: looking up one view by name reads all their files."""
    kept = _kept_of(case, view)
    return None if kept is None else kept.rows()


def table(case: Case, name: str) -> pa.Table | None:
    """Return all rows of a view as a table, in the order of its columns; None if the case does not keep them."""
    kept = _kept(case, name)
    return None if kept is None else kept.source.to_table(columns=[column for _, column in kept.columns])


def _kept(case: Case, name: str) -> StoredView | None:
    view = view_files.views().get(name)
    return None if view is None else _kept_of(case, view)


def _kept_of(case: Case, view: view_files.View) -> StoredView | None:
    path = case.view_path(view.name)
    if path is None or not view.kept:
        return None
    source = rows_in(path)
    return StoredView(source, tuple((column, column) for column in columns_over(view, source.schema.names)))


def of_statement(case: Case, statement: str) -> ArrowRows | None:
    """Return the rows of a statement that only chooses columns and rows of one view; None if it needs an engine.

    Anything that is not completely clear, including a wrong name, is left to the engine, which decides what SQL means.
    """
    import sqlglot
    from sqlglot import exp

    if not statement.lstrip().lower().startswith("select") or "\\" in statement or "''" in statement:
        return None
    try:
        query = sqlglot.parse_one(statement, read="spark")
    except sqlglot.errors.SqlglotError:
        return None
    if not isinstance(query, exp.Select) or _parts(query) - {"expressions", "from_", "where", "order", "limit"}:
        return None
    table = query.args["from_"].this if query.args.get("from_") else None
    if not isinstance(table, exp.Table) or _parts(table) != {"this"}:
        return None
    kept = _kept(case, table.name.lower())
    try:
        return None if kept is None else _chosen(kept, query).rows()
    except _Unclear:
        return None


class _Unclear(Exception):  # noqa: N818  (not an error: an engine runs the statement)
    """A statement that only an engine can interpret."""


def _parts(part: exp.Expression) -> set[str]:
    return {name for name, value in part.args.items() if value}


def _chosen(rows: StoredView, query: exp.Select) -> StoredView:
    from sqlglot import exp

    known = {name: rows.source.schema.field(name).type for name in rows.names}
    columns: list[tuple[str, str]] = []
    for shown in query.expressions:
        if isinstance(shown, exp.Star) and not _parts(shown):
            columns.extend(rows.columns)
        elif isinstance(shown, exp.Alias) and _parts(shown) == {"this", "alias"}:
            columns.append((shown.alias, _column(shown.this, known)))
        else:
            columns.append((_column(shown, known),) * 2)
    renamed = {name for name, column in columns if name != column}
    order = []
    for by in query.args["order"].expressions if query.args.get("order") else ():
        if not isinstance(by, exp.Ordered) or _parts(by) - {"this", "desc", "nulls_first"} or (column := _column(by.this, known)) in renamed:
            raise _Unclear
        if types.is_nested(known[column]) or types.is_floating(known[column]):
            raise _Unclear
        order.append((column, bool(by.args.get("desc")), bool(by.args.get("nulls_first"))))
    if order and rows.source.count_rows() > _SORTED:
        raise _Unclear
    where, limit = query.args.get("where"), query.args.get("limit")
    return replace(
        rows, columns=tuple(columns), where=_condition(where.this, known) if where else None, order=tuple(order),
        limit=_integer(limit.expression) if limit else None,
    )  # fmt: skip


def _column(part: exp.Expression, known: Mapping[str, pa.DataType]) -> str:
    """Return the name of a column of the view, spelled as in the view."""
    from sqlglot import exp

    if not isinstance(part, exp.Column) or _parts(part) != {"this"} or part.name not in known:
        raise _Unclear
    return part.name


def _condition(part: exp.Expression, known: Mapping[str, pa.DataType]) -> pc.Expression:
    """Convert a condition on texts, integers, booleans and NULL; Arrow's `&`, `|` and `~` use three-valued logic, as SQL does."""
    from sqlglot import exp

    match part:
        case exp.Paren():
            return _condition(part.this, known)
        case exp.And():
            return _condition(part.this, known) & _condition(part.expression, known)
        case exp.Or():
            return _condition(part.this, known) | _condition(part.expression, known)
        case exp.Not():
            return ~_condition(part.this, known)
        case exp.Is() if isinstance(part.expression, exp.Null):
            return pc.field(_column(part.this, known)).is_null()
        case exp.In() if _parts(part) == {"this", "expressions"}:
            either = [_compared("EQ", part.this, value, known) for value in part.expressions]
            condition = either[0]
            for more in either[1:]:
                condition = condition | more
            return condition
        case exp.Column() if types.is_boolean(known[_column(part, known)]):
            return pc.field(part.name)
    return _compared(type(part).__name__, part.args.get("this"), part.args.get("expression"), known)


def _compared(how: str, left: Any, right: Any, known: Mapping[str, pa.DataType]) -> pc.Expression:  # noqa: ANN401 (whatever the parser gave)
    """Compare a column with a value of its own type; comparisons that an engine would cast are not made here."""
    from sqlglot import exp

    if how not in _COMPARED:
        raise _Unclear
    name = _column(left, known)
    if types.is_string(known[name]) and isinstance(right, exp.Literal) and right.is_string:
        value: object = right.this
    elif types.is_integer(known[name]):
        value = _integer(right)
    else:
        raise _Unclear
    return getattr(pc.field(name), _COMPARED[how])(value)


def _integer(part: exp.Expression) -> int:
    from sqlglot import exp

    sign = -1 if isinstance(part, exp.Neg) else 1
    number = part.this if isinstance(part, exp.Neg) else part
    if not isinstance(number, exp.Literal) or number.is_string or not number.this.isdecimal() or len(number.this) > _LONGEST_INTEGER:
        raise _Unclear
    return sign * int(number.this)
