# SPDX-License-Identifier: Apache-2.0
"""Rows of views and tables that a test states, in place of stored ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar, cast

import pyarrow as pa

from forensics.case import view_files
from forensics.relations.inputs import Inputs, _in_ms
from forensics.schema import table_columns

Row = dict[str, Any]
T = TypeVar("T")


class GivenRows(Inputs):
    """The rows of views and tables that a test states; of others there are none.

    Args:
        given: rows by name; times are milliseconds, and columns that are left out are None.
        computes: the module of the view that is computed from them.
    """

    def __init__(self, given: Mapping[str, Sequence[Row]], computes: str = "") -> None:
        super().__init__(lambda _: (), view_files.thresholds())
        self._given = given
        self.computes = computes

    def given(self, view: str) -> Sequence[Row]:
        """Return the rows of a view or table."""
        return self._given.get(view, ())

    def rows(self, view: str, columns: Sequence[str] | None = None, where: Any = None) -> list[Row]:  # noqa: ANN401
        super().rows(view)  # whether it may be read
        names = view_files.views()[view].columns if view in view_files.views() else [column.name for column in table_columns(view)]
        assert not set(columns or ()) - set(names), f"{view} has no columns {set(columns or ()) - set(names)}"
        given = self.given(view)
        unknown = {name for row in given for name in row} - set(names)
        assert not unknown, f"{view} has no columns {unknown}"
        rows = [{name: sparse(row.get(name)) for name in names} for row in given]
        if where is not None and rows:
            plain = [name for name in names if not any(isinstance(row[name], list | dict) for row in rows)]
            table = pa.table({name: _column(name, [row[name] for row in rows]) for name in plain}).append_column("nth", pa.array(range(len(rows))))
            rows = [rows[nth] for nth in table.filter(where).column("nth").to_pylist()]
        return rows if columns is None else [{name: row[name] for name in columns} for row in rows]

    def made_by(self, function: Callable[[Inputs], T]) -> T:
        """Return what a function makes; if it makes another view than `computes`, the given rows of that view."""
        makes = {view.computed: view for view in view_files.views().values() if view.computed}
        view = makes.get(function.__module__) if function.__name__ == "rows" else None
        if view is None or view.computed == self.computes:
            return super().made_by(function)
        rows: Any = [{name: sparse(row.get(name)) for name in view.columns} for row in self._given.get(view.name, ())]
        return cast("T", rows)

    def table(self, view: str, columns: Sequence[str], where: Any = None) -> pa.Table:  # noqa: ANN401
        if view in view_files.views():
            rows = self.rows(view, columns, where)
            return _in_ms(pa.table({name: _column(name, [row[name] for row in rows]) for name in columns}))
        schema = pa.schema([pa.field(column.name, column.type) for column in table_columns(view)])
        table = pa.Table.from_pylist([stored(view, row, schema) for row in self.given(view)], schema)
        return _in_ms(table if where is None else table.filter(where)).select(columns)

    def parts(self, view: str, columns: Sequence[str], where: Any = None) -> Iterator[pa.Table]:  # noqa: ANN401
        yield self.table(view, columns, where)


def _column(name: str, values: list[Any]) -> pa.Array:
    """Return the values of a column. Times are given as milliseconds, and a column without a value has a type, too."""
    if name == "ts" or name.endswith("_ts"):
        return pa.array(values, pa.timestamp("ms", "UTC"))
    if any(value is not None for value in values):
        return pa.array(values)
    if name in ("assigned", "revoked"):
        return pa.array(values, pa.list_(pa.string()))
    is_number = name.endswith("_ms") or name in ("generation", "incarnation")
    return pa.array(values, pa.int64() if is_number else pa.bool_() if name.startswith("is_") else pa.string())


class _Sparse(dict[str, Any]):
    """A struct of which an example names some fields; the others are NULL."""

    def __missing__(self, key: str) -> None:
        return None


def sparse(value: Any) -> Any:  # noqa: ANN401
    """Return a value whose structs may leave out fields."""
    if isinstance(value, list):
        return [sparse(item) for item in value]
    return _Sparse({name: sparse(item) for name, item in value.items()}) if isinstance(value, dict) else value


def stored(name: str, row: Row, schema: pa.Schema) -> Row:
    """Return a row with the values that are stored for those of a TOML file."""
    assert not row.keys() - set(schema.names), f"{name} has no columns {row.keys() - set(schema.names)}"
    return {column: None if value is None else _value(value, schema.field(column).type) for column, value in row.items()}


def _value(value: Any, type_: pa.DataType) -> Any:  # noqa: ANN401
    """A value of a TOML file as the column's type wants it."""
    if pa.types.is_timestamp(type_):
        moment = datetime.fromtimestamp(value / 1000, UTC) if isinstance(value, int) else datetime.fromisoformat(value)
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    if pa.types.is_list(type_):
        return [_value(v, type_.value_type) for v in value]
    if pa.types.is_map(type_):
        return [(key, _value(v, type_.item_type)) for key, v in value.items()]
    if pa.types.is_struct(type_):
        unknown = value.keys() - {f.name for f in type_}
        assert not unknown, f"no such fields: {unknown}"
        return {f.name: _value(value[f.name], f.type) for f in type_ if f.name in value}
    return value
