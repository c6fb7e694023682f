"""The text of `open.sql`: the tables of a case and its built views, each column with its meaning."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import pyarrow as pa

from forensics.case.integrity import rows_in
from forensics.case.view_files import View, statements, thresholds_sql, views
from forensics.engines.paths import quoted
from forensics.schema import table_columns


def opening(tables: Mapping[str, Sequence[str]], built: Mapping[str, str], overrides: Mapping[str, int] | None = None) -> list[str]:
    """Return the statements of `open.sql`: thresholds, tables, then every view over its built rows, in order.

    Views that are only SQL text would be planned inside each other on every read, which takes minutes. So there are no views before the first build.
    """
    out = statements(thresholds_sql(overrides))
    for name, paths in tables.items():
        out.append(_table(name, paths))
    for name, view in views().items():
        if name in built:
            out.append(create_over(view, built[name]))
        elif built and not view.kept:
            out.extend(statements(view.sql))
    return out


def _table(name: str, paths: Sequence[str]) -> str:
    """Return a statement that makes a table a view over its Parquet files, each column with its meaning."""
    meanings = {column.name: column.meaning for column in table_columns(name)}
    schemas = [rows_in(path).schema for path in paths]
    types = {field.name: field.type for schema in reversed(schemas) for field in schema}
    types |= {column.name: column.type for column in table_columns(name) if column.name not in types}
    columns = ", ".join(f"{_name(c)} COMMENT '{meanings.get(c, '').replace(chr(39), chr(39) * 2)}'" for c in types)
    # Each ingest writes its own folder, and one written by an earlier version may lack columns; SQL on neither engine merges them by name.
    union = " UNION ALL ".join(
        f"SELECT {', '.join(_name(c) if c in schema.names else _null(c, kind) for c, kind in types.items())} FROM parquet.`{quoted(path)}`"
        for path, schema in zip(paths, schemas, strict=True)
    )
    return f"CREATE OR REPLACE TEMPORARY VIEW {name} ({columns}) AS {union}"


def missing_columns(table: str, present: Iterable[str]) -> list[str]:
    """Return NULL expressions for the columns that a table lacks because an earlier version wrote it."""
    known = set(present)
    return [_null(c.name, c.type) for c in table_columns(table) if c.name not in known]


def _null(name: str, kind: pa.DataType) -> str:
    """Return a NULL expression for a column."""
    from pyspark.sql.pandas.types import from_arrow_type

    return f"CAST(NULL AS {from_arrow_type(kind).simpleString()}) AS {_name(name)}"


def _name(column: str) -> str:
    """Quote a column name; a file from someone else may have SQL in a name."""
    return "`" + column.replace("`", "``") + "`"


def create_over(view: View, path: str) -> str:
    """Return the view's CREATE statement, with its column comments, over its built rows.

    Rows built by another version may have other columns; then the view has those.
    """
    found = rows_in(path).schema.names
    if sorted(found) != sorted(view.columns):
        return f"CREATE OR REPLACE TEMPORARY VIEW {view.name}\nAS\nSELECT * FROM parquet.`{quoted(path)}`"
    columns = ", ".join(_name(c) for c in columns_over(view, found))
    return f"{view.create}\nAS\nSELECT {columns} FROM parquet.`{quoted(path)}`"


def columns_over(view: View, found: Sequence[str]) -> Sequence[str]:
    """Return the columns of a view's built rows in the view's order; rows built by another version keep their own columns."""
    declared = view.columns
    return declared if sorted(found) == sorted(declared) else found
