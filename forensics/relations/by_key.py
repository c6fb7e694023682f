"""Find rows by the values of some of their columns."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from forensics.relations.missing import order

if TYPE_CHECKING:
    from forensics.relations.inputs import Row


class ByKey:
    """An index of rows. A row in which one of the columns is missing is not in it.

    Args:
        rows: the rows.
        columns: names of the columns of the key.
    """

    def __init__(self, rows: Iterable[Row], *columns: str) -> None:
        self._rows: defaultdict[Hashable, list[Row]] = defaultdict(list)
        for row in rows:
            key = tuple(row[column] for column in columns)
            if None not in key:
                self._rows[key].append(row)

    def __getitem__(self, key: object) -> Sequence[Row]:
        return self._rows.get(key if isinstance(key, tuple) else (key,), ())

    def __contains__(self, key: object) -> bool:
        return bool(self[key])


def by_run(rows: Iterable[Row]) -> dict[tuple[Any, Any], Row]:
    """Return rows by the run of a process that each is about: its process and number."""
    return {(row["process_id"], row["instance"]): row for row in rows}


class InTime:
    """An index of rows in the order of a time, those of one time in the order of their values.

    A row without that time, or in which one of the columns is missing, is not in it.

    Args:
        rows: the rows.
        time: name of the column with the time.
        columns: names of the columns of the key.
    """

    def __init__(self, rows: Iterable[Row], time: str, *columns: str) -> None:
        self._time = time
        self._rows = ByKey(sorted((row for row in rows if row[time] is not None), key=lambda row: (row[time], order(list(row.values())))), *columns)

    def first_from(self, key: object, at_ms: int) -> Row | None:
        """Return the first row of this time or later."""
        rows = self._rows[key]
        at = bisect_left(rows, at_ms, key=lambda row: row[self._time])
        return rows[at] if at < len(rows) else None

    def last_until(self, key: object, at_ms: int | None) -> Row | None:
        """Return the last row of this time or earlier; None if the time is unknown."""
        rows = self._rows[key]
        at = bisect_right(rows, at_ms, key=lambda row: row[self._time]) if at_ms is not None else 0
        return rows[at - 1] if at else None
