"""Statements that make a case known to Spark: for an engine of this program, and for `open.sql` and `steps.sql`, which a user's own Spark runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath

import pyarrow as pa

from forensics.case.integrity import rows_in
from forensics.case.sql_types import quoted_name, sql_type
from forensics.case.view_files import View, statements, thresholds_sql, views
from forensics.engines.paths import literal, quoted
from forensics.schema import table_columns


def opening(tables: Mapping[str, Sequence[str]], built: Mapping[str, str], overrides: Mapping[str, int] | None = None) -> list[str]:
    """Return the statements for an engine of this program: thresholds, tables, then every view over its built rows, in order.

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


def scripts(tables: Mapping[str, Sequence[str]], built: Mapping[str, str], overrides: Mapping[str, int] | None = None) -> tuple[list[str], list[str]]:
    """Return the statements of `open.sql` and of `steps.sql`; no view, no steps.

    The first defines the public views, the rules, and what those that are computed on every read need; the second the rest: thresholds, tables and steps.
    A definition states the columns with their types, so that Spark opens a file only when a query reads it.
    """
    found = views()
    public = [name for name, view in found.items() if view.kind != "step"]
    first = set(public) if built else set(tables)
    while more := {read for name in first & found.keys() if not found[name].kept for read in found[name].reads} - first:
        first |= more
    opened: list[str] = []
    steps = statements(thresholds_sql(overrides)) if built else []
    for name, paths in tables.items():
        (opened if name in first else steps).append(_stated_table(name, paths))
    for name, view in found.items():
        to = opened if name in first else steps
        if name in built:
            to.append(_stated(view, built[name]))
        elif built and not view.kept:
            to.extend(statements(view.sql))
    return opened, steps


def _stated(view: View, path: str) -> str:
    """Return a statement that makes a view known with its columns, their types and their comments; its rows are in one folder."""
    schema = rows_in(path).schema
    types = {name: schema.field(name).type for name in columns_over(view, schema.names)}
    return _over_files(view.name, types, view.comments, literal(path))


def _stated_table(name: str, paths: Sequence[str]) -> str:
    """Return the same for a table; columns that a folder lacks are NULL."""
    schemas = [rows_in(path).schema for path in paths]
    types = _types(name, schemas)
    if any(field.type != types[field.name] for schema in schemas for field in schema):
        return _table(name, paths)  # only a query can convert what folders hold in different types
    above, folders = str(PurePath(paths[0]).parent), [PurePath(path).name for path in paths]
    pattern = folders[0] if len(folders) == 1 else f"{{{','.join(folders)}}}"
    return _over_files(name, types, _meanings(name), f"{literal(above)}/{pattern}")


def _over_files(name: str, types: Mapping[str, pa.DataType], comments: Mapping[str, str], pattern: str) -> str:
    """Return a statement that makes Parquet files known under a name.

    Args:
        name: of a view or table.
        types: type of each column.
        comments: meaning of a column, as the content of a SQL literal.
        pattern: path of the folders with the files, as Spark's readers expect it.
    """
    columns = ",\n".join(f"  {quoted_name(c)} {sql_type(kind)}" + (f" COMMENT '{comments[c]}'" if c in comments else "") for c, kind in types.items())
    return f"CREATE OR REPLACE TEMPORARY VIEW {name} (\n{columns}\n)\nUSING parquet OPTIONS (path {path_text(pattern)})"


def path_text(pattern: str) -> str:
    """Return a path as the SQL literal that `open.sql` has of it."""
    return "'" + pattern.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _types(table: str, schemas: Sequence[pa.Schema]) -> dict[str, pa.DataType]:
    """Return the type of each column of a table: those of its folders, the oldest folder's type first, then those that all folders lack."""
    types = {field.name: field.type for schema in reversed(schemas) for field in schema}
    return types | {column.name: column.type for column in table_columns(table) if column.name not in types}


def _meanings(table: str) -> dict[str, str]:
    """Return the meaning of each column of a table, as the content of a SQL literal."""
    return {column.name: column.meaning.replace("'", "''") for column in table_columns(table) if column.meaning}


def _table(name: str, paths: Sequence[str]) -> str:
    """Return a statement that makes a table a view over its Parquet files, each column with its meaning."""
    meanings = _meanings(name)
    schemas = [rows_in(path).schema for path in paths]
    types = _types(name, schemas)
    columns = ", ".join(f"{quoted_name(c)} COMMENT '{meanings.get(c, '')}'" for c in types)
    # Each ingest writes its own folder, and one written by an earlier version may lack columns; SQL on neither engine merges them by name.
    union = " UNION ALL ".join(
        f"SELECT {', '.join(quoted_name(c) if c in schema.names else _null(c, kind) for c, kind in types.items())} FROM parquet.`{quoted(path)}`"
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

    return f"CAST(NULL AS {from_arrow_type(kind).simpleString()}) AS {quoted_name(name)}"


def create_over(view: View, path: str) -> str:
    """Return the view's CREATE statement, with its column comments, over its built rows.

    Rows built by another version may have other columns; then the view has those.
    """
    found = rows_in(path).schema.names
    if sorted(found) != sorted(view.columns):
        return f"CREATE OR REPLACE TEMPORARY VIEW {view.name}\nAS\nSELECT * FROM parquet.`{quoted(path)}`"
    columns = ", ".join(quoted_name(c) for c in columns_over(view, found))
    return f"{view.create}\nAS\nSELECT {columns} FROM parquet.`{quoted(path)}`"


def columns_over(view: View, found: Sequence[str]) -> Sequence[str]:
    """Return the columns of a view's built rows in the view's order; rows built by another version keep their own columns."""
    declared = view.columns
    return declared if sorted(found) == sorted(declared) else found
