"""Work with whole columns, as lines have them in a case of any size. Only the few rows that are left become objects.

A missing number is NaN, which is neither less than, equal to nor after anything, as NULL in a condition of SQL. Times in milliseconds are exact.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Numbers = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


def numbers(column: pa.ChunkedArray) -> Numbers:
    """Return the values of a column of numbers; a missing one is NaN."""
    return np.asarray(column.to_numpy(), np.float64)


def codes(column: pa.ChunkedArray) -> Codes:
    """Return a number for each value of a column: the same for equal ones, -1 for a missing one."""
    encoded = column.combine_chunks().dictionary_encode()
    array = encoded.combine_chunks() if isinstance(encoded, pa.ChunkedArray) else encoded
    return np.asarray(array.indices.fill_null(-1).to_numpy(zero_copy_only=False), np.int64)


def places(*keys: Codes) -> Codes:
    """Return a number for each combination of codes."""
    found = np.zeros(len(keys[0]), np.int64)
    for key in keys:
        size = int(key.max(initial=-1)) + 2
        if int(found.max(initial=0)) > np.iinfo(np.int64).max // size - 1:
            found = np.unique(found, return_inverse=True)[1]
        found = found * size + key + 1
    return found


def flags(column: pa.ChunkedArray) -> Flags:
    """Return the values of a condition; a missing one is False."""
    return np.asarray(pc.fill_null(column, False).to_numpy(), np.bool_)


def is_one_of(column: pa.ChunkedArray, values: Iterable[str]) -> Flags:
    """Return which values of a column are one of these."""
    return flags(pc.is_in(column, pa.array(sorted(values), column.type)))


class InOrder:
    """The order of lines within each place of a log.

    Args:
        place: the place of each line, as a code.
        position: its position.
    """

    def __init__(self, place: Codes, position: npt.NDArray[np.generic]) -> None:
        #: The numbers of the lines, ordered by place and position.
        self.order = np.lexsort((position, place))
        ordered = place[self.order]
        self._begins = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1]))) if len(place) else np.array([], np.int64)
        #: How many lines precede each in its place, and follow it, in this order.
        sizes = np.diff(np.append(self._begins, len(place)))
        self.before_it = np.arange(len(place)) - np.repeat(self._begins, sizes)
        self.after_it = np.repeat(sizes, sizes) - 1 - self.before_it

    def earlier(self, values: npt.NDArray[Any], nth: int = 1) -> Numbers:
        """Return, for values in this order, those of the nth line before in the same place; NaN if there is none."""
        shifted = np.concatenate((np.full(min(nth, len(values)), np.nan), np.asarray(values, np.float64)[:-nth]))
        return np.where(self.before_it >= nth, shifted, np.nan)

    def later(self, values: npt.NDArray[Any], nth: int = 1) -> Numbers:
        """Return those of the nth line after in the same place; NaN if there is none."""
        shifted = np.concatenate((np.asarray(values, np.float64)[nth:], np.full(min(nth, len(values)), np.nan)))
        return np.where(self.after_it >= nth, shifted, np.nan)
