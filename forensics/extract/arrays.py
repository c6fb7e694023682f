"""Convert values to Arrow arrays, including values that do not fit their type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa


def array_of(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Return an array. A number that is too large for its type becomes NULL; half a surrogate pair becomes U+FFFD."""
    if pa.types.is_map(kind):
        values = [list(v.items()) if isinstance(v, dict) else v for v in values]
    try:
        return pa.array(values, kind)
    except (pa.ArrowException, UnicodeError, OverflowError, TypeError, ValueError):
        return pa.array([_fitting(v, kind) for v in values], kind)


def _fitting(value: Any, kind: pa.DataType) -> Any:  # noqa: ANN401  (a cell)
    if isinstance(value, str):
        value = value.encode("utf-8", "replace").decode("utf-8")
    try:
        pa.array([value], kind)
    except (pa.ArrowException, UnicodeError, OverflowError, TypeError, ValueError):
        return None
    return value


def sparse_array(rows: Sequence[int], values: Sequence[Any], count: int, kind: pa.DataType) -> pa.Array:
    """Return a column of `count` rows that has values only in the given rows."""
    if len(rows) == count:
        return array_of(values, kind)
    places = np.zeros(count, np.int64)
    empty = np.ones(count, bool)
    places[list(rows)] = np.arange(len(rows))
    empty[list(rows)] = False
    return array_of(values, kind).take(pa.array(places, mask=empty))
