"""Read the rows of views and tables from which other views are computed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import wraps
from threading import Lock
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.dataset as ds

from forensics.errors import ForensicsError
from forensics.schema import table_columns

Row = dict[str, Any]
T = TypeVar("T")


class Knobs:
    """The thresholds of `knobs.sql`, with the user's values, as attributes: `knobs.heartbeat_late_ms`.

    Args:
        values: the value of each threshold; None: NULL.
    """

    def __init__(self, values: Mapping[str, int | None]) -> None:
        self._values = values

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 (an int, except for the one whose default is NULL)
        try:
            return self._values[name]
        except KeyError:
            raise AttributeError(f"knobs.sql declares no variable {name}") from None


class Inputs:
    """The rows of stored views and of tables, and the thresholds.

    Rows are read once for the same columns and the same filter. Readers must not change them.

    Args:
        dataset: returns the rows of a view or a table; several for the segments of a table.
        knobs: the value of each threshold; None: NULL.
    """

    def __init__(self, dataset: Callable[[str], Sequence[ds.Dataset]], knobs: Mapping[str, int | None]) -> None:
        self.knobs = Knobs(knobs)
        self._dataset = dataset
        self._rows: dict[tuple[str, tuple[str, ...] | None, str], list[Row]] = {}
        self._lock = Lock()
        self._made: dict[object, Any] = {}
        self._making: defaultdict[object, Lock] = defaultdict(Lock)
        self._only: frozenset[str] | None = None

    def of(self, reads: Iterable[str]) -> Inputs:
        """Return the same inputs for a view that may read only these views and tables."""
        limited = copy(self)
        limited._only = frozenset(reads)
        return limited

    def may_read(self, prefix: str) -> list[str]:
        """Return the names of views that may be read and begin with this, in order."""
        return sorted(name for name in self._only or () if name.startswith(prefix))

    def rows(self, view: str, columns: Sequence[str] | None = None, where: ds.Expression | None = None) -> list[Row]:
        """Return rows of a view or a table, times as milliseconds since 1970.

        Args:
            view: its name.
            columns: the columns to read; all if None. A view with a row for each event must be read with few columns and a filter.
            where: a condition on the stored columns; all rows if None.

        Raises:
            ForensicsError: the view that is computed does not declare that it reads this one.
        """
        self._may_read(view)
        key = view, None if columns is None else tuple(columns), str(where)
        with self._lock:
            if key not in self._rows:
                self._rows[key] = [row for part in self._dataset(view) for row in _rows_of(part, key[1], where)]
            return self._rows[key]

    def table(self, view: str, columns: Sequence[str], where: ds.Expression | None = None) -> pa.Table:
        """Return columns of a table with a row for each record, times as milliseconds since 1970. It is read at each call.

        Takes the same arguments as `rows`, and raises the same error.
        """
        self._may_read(view)
        return pa.concat_tables(_in_ms(_table_of(part, view, columns, where)) for part in self._dataset(view))

    def parts(self, view: str, columns: Sequence[str], where: ds.Expression | None = None) -> Iterator[pa.Table]:
        """Yield columns of a view or a table of any size in parts, times as milliseconds since 1970. They are read at each call, in the same order.

        Takes the same arguments as `rows`, and raises the same error.
        """
        self._may_read(view)
        for part in self._dataset(view):
            names = [name for name in columns if name in part.schema.names]
            # Without limits, dozens of batches wait in memory.
            for batch in part.to_batches(columns=names, filter=where, batch_readahead=1, fragment_readahead=1):
                if batch.num_rows:
                    yield _in_ms(_with_all(pa.Table.from_batches([batch]), view, columns))

    def distinct(self, view: str, columns: Sequence[str], where: ds.Expression | None = None) -> set[tuple[Any, ...]]:
        """Return the different combinations of values of some columns, of a view or table of any size.

        Takes the same arguments as `rows`, and raises the same error.
        """
        found = self.table(view, columns, where).group_by(list(columns)).aggregate([])
        return set(zip(*(found.column(name).to_pylist() for name in columns), strict=True))

    def made_by(self, function: Callable[[Inputs], T]) -> T:
        """Return what a function of these inputs returns. It is called once, also if several threads ask at the same time."""
        with self._lock:
            making = self._making[function]
        with making:
            if function not in self._made:
                self._made[function] = function(self)
            made: T = self._made[function]
            return made

    def _may_read(self, view: str) -> None:
        if self._only is not None and view not in self._only:
            raise ForensicsError(f"A computed view reads {view}, which the header of its SQL file does not name.", fix="Add it to `-- Reads:`.")


def once(function: Callable[[Inputs], T]) -> Callable[[Inputs], T]:
    """Let a function that several views need be called once for the same inputs. Its callers must not change what it returns."""

    @wraps(function)
    def found(inputs: Inputs) -> T:
        return inputs.made_by(function)

    return found


def _rows_of(part: ds.Dataset, columns: Sequence[str] | None, where: ds.Expression | None) -> list[Row]:
    """Return rows of a dataset; columns that an earlier version did not write are None."""
    names = part.schema.names if columns is None else columns
    rows = _in_ms(part.to_table(columns=[name for name in names if name in part.schema.names], filter=where)).to_pylist()
    lacking = dict.fromkeys(name for name in names if name not in part.schema.names)
    return [row | lacking for row in rows] if lacking else rows


def _table_of(part: ds.Dataset, view: str, columns: Sequence[str], where: ds.Expression | None) -> pa.Table:
    """Return columns of a dataset; those that an earlier version did not write are NULL."""
    return _with_all(part.to_table(columns=[name for name in columns if name in part.schema.names], filter=where), view, columns)


def _with_all(table: pa.Table, view: str, columns: Sequence[str]) -> pa.Table:
    """Return a table with all these columns; those that an earlier version did not write are NULL."""
    for name in columns:
        if name not in table.column_names:
            kind = next(column.type for column in table_columns(view) if column.name == name)
            table = table.append_column(name, pa.nulls(table.num_rows, kind))
    return table.select(list(columns))


def _in_ms(table: pa.Table) -> pa.Table:
    """Return a table with numbers of milliseconds instead of timestamps."""
    for at, field in enumerate(table.schema):
        fine = _replaced(field.type, pa.timestamp("ms", "UTC"))
        if fine != field.type or pa.types.is_timestamp(field.type):
            numbers = table.column(at).cast(fine, safe=False).cast(_replaced(field.type, pa.int64()))
            table = table.set_column(at, field.name, numbers)
    return table


def _replaced(kind: pa.DataType, by: pa.DataType) -> pa.DataType:
    """Return a type with another one instead of its timestamps."""
    if pa.types.is_timestamp(kind):
        return by
    if pa.types.is_list(kind):
        return pa.list_(_replaced(kind.value_type, by))
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(field.name, _replaced(field.type, by)) for field in kind])
    return kind
