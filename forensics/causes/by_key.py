"""Find rows by the values of some of their columns."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from forensics.causes.inputs import Row


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
