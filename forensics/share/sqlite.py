"""Export the views of a case as tables of one SQLite file, which any tool opens."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import types

from forensics.scratch import unfinished
from forensics.wording.formats import printable_lines, printable_texts

_BATCH = 10_000


def write(views: Iterable[tuple[str, pa.Table]], path: Path) -> int:
    """Write each view as a table of its name. A file at `path` is replaced when the new one is complete.

    Times are text in UTC (`2026-11-21 07:51:48.840Z`), which SQLite's date functions read; lists, maps and structs are JSON; booleans are 0 and 1.
    Characters that nobody sees are escapes.

    Returns:
        The number of rows.

    Raises:
        OSError: the file cannot be written.
    """
    with unfinished(f".{path.name[:40]}.", path.parent) as folder:
        made = folder / "made"
        try:
            with closing(sqlite3.connect(made)) as connection, connection:
                number = sum(_table(connection, name, table) for name, table in views)
        except sqlite3.OperationalError as e:
            raise OSError(str(e)) from e
        made.replace(path)
    return number


def _table(connection: sqlite3.Connection, name: str, table: pa.Table) -> int:
    columns = ", ".join(f"{_quoted(column.name)} {_kind(column.type)}" for column in table.schema)
    connection.execute(f"CREATE TABLE {_quoted(name)} ({columns})")
    places = ", ".join("?" * table.num_columns)
    connection.executemany(f"INSERT INTO {_quoted(name)} VALUES ({places})", _rows(table))  # noqa: S608  (names of views)
    return int(table.num_rows)


def _rows(table: pa.Table) -> Iterator[tuple[Any, ...]]:
    for batch in table.to_batches(max_chunksize=_BATCH):
        yield from zip(*([_value(value) for value in column.to_pylist()] for column in batch.columns), strict=True)


def _value(value: Any) -> Any:  # noqa: ANN401  (any value of a view)
    if isinstance(value, datetime):
        return f"{value:%F %T}.{value.microsecond // 1000:03d}Z"
    if isinstance(value, list | dict | tuple):
        return json.dumps(printable_texts(value), ensure_ascii=False, default=_value)
    if isinstance(value, str):
        return printable_lines(value)
    return value


def _kind(kind: pa.DataType) -> str:
    if types.is_integer(kind) or types.is_boolean(kind):
        return "INTEGER"
    return "REAL" if types.is_floating(kind) or types.is_decimal(kind) else "TEXT"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
