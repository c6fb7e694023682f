"""Work with whole columns, as lines have them in a case of any size. Only the few rows that are left become objects.

A missing number is NaN, which is neither less than, equal to nor after anything, as NULL in a condition of SQL. Times in milliseconds are exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Numbers = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
#: What stands for a missing whole number.
MISSING = np.iinfo(np.int64).min


def numbers(column: pa.ChunkedArray) -> Numbers:
    """Return the values of a column of numbers; a missing one is NaN."""
    return np.asarray(column.to_numpy(), np.float64)


def integers(column: pa.ChunkedArray) -> Codes:
    """Return the values of a column of whole numbers; a missing one is `MISSING`."""
    return np.asarray(pc.fill_null(column.cast(pa.int64()), MISSING).to_numpy(), np.int64)


def known(values: Codes) -> pa.Array:
    """Return whole numbers as a column in which those that are `MISSING` are NULL."""
    return pa.array(values, mask=values == MISSING)


def worded(words: Sequence[str | None], values: npt.NDArray[np.signedinteger[Any]]) -> pa.Array:
    """Return a column of text: the word of each number; NULL for a negative number."""
    return pa.array(words, pa.string()).take(pa.array(values, mask=values < 0))


class Growing:
    """A column of numbers that is read in parts. It grows in one place: of many small arrays, memory would remain after their end.

    Args:
        kind: the type of the numbers.
    """

    def __init__(self, kind: type[np.generic] = np.int64) -> None:
        self._values, self._size = np.empty(1 << 16, kind), 0

    def add(self, values: npt.NDArray[Any]) -> None:
        """Add the values of a part."""
        end = self._size + len(values)
        if end > len(self._values):
            self._values.resize(max(end, 2 * len(self._values)), refcheck=False)
        self._values[self._size : end] = values
        self._size = end

    def whole(self) -> npt.NDArray[Any]:
        """Return all values; nothing can be added afterwards."""
        self._values.resize(self._size, refcheck=False)
        return self._values


class Codebook:
    """Numbers for the values of a column that is read in parts: the same for equal values, -1 for a missing one."""

    def __init__(self) -> None:
        #: The number of each value.
        self.numbers: dict[Any, int] = {}

    def codes(self, column: pa.ChunkedArray) -> Codes:
        """Return a number for each value of a part of the column."""
        array = _encoded(column)
        found = [-1 if value is None else self.numbers.setdefault(value, len(self.numbers)) for value in array.dictionary.to_pylist()]
        return np.asarray(np.array([*found, -1], np.int64)[_indices(array)])

    def ranks(self) -> Codes:
        """Return the place of each number's value in their order, and -1 for a missing one."""
        found = np.full(len(self.numbers) + 1, -1, np.int64)
        found[[self.numbers[value] for value in sorted(self.numbers)]] = np.arange(len(self.numbers))
        return found

    def is_one_of(self, codes: Codes, values: Iterable[Any]) -> Flags:
        """Return which codes are those of some values."""
        return np.isin(codes, [self.numbers[value] for value in values if value in self.numbers])


def codes(column: pa.ChunkedArray) -> Codes:
    """Return a number for each value of a column: the same for equal ones, -1 for a missing one."""
    return _indices(_encoded(column))


def _encoded(column: pa.ChunkedArray) -> pa.DictionaryArray:
    """Return a column as its different values, and for each row the place of its value."""
    encoded = column.combine_chunks().dictionary_encode()
    return encoded.combine_chunks() if isinstance(encoded, pa.ChunkedArray) else encoded


def _indices(array: pa.DictionaryArray) -> Codes:
    """Return the place of each row's value; -1 for a missing one."""
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
        self._begins = np.flatnonzero(begins(place[self.order]))
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


def begins(*keys: Codes) -> Flags:
    """Return which values, in their order, differ from the one before in one of the keys; the first does."""
    found = np.ones(len(keys[0]), np.bool_)
    found[1:] = np.logical_or.reduce([key[1:] != key[:-1] for key in keys])
    return found


def last_before(order: Codes, is_first: Flags, is_wanted: Flags) -> Codes:
    """Return for each line the number of the last wanted line before it in its place; -1 if there is none.

    Args:
        order: numbers of the lines, place by place.
        is_first: which of them, in this order, are the first of their place.
        is_wanted: which lines may be returned, by their numbers.
    """
    at = np.arange(len(order))
    wanted = np.maximum.accumulate(np.where(is_wanted[order], at, -1))
    before = np.concatenate((np.full(min(1, len(order)), -1), wanted[:-1]))
    before[before < np.maximum.accumulate(np.where(is_first, at, 0))] = -1
    found = np.empty(len(order), np.int64)
    found[order] = np.where(before < 0, -1, order[before])
    return found
