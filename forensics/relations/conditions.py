"""State conditions on stored columns, which a reader of rows applies while it reads."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc

from forensics.relations.missing import there


def one_of(column: str, values: Iterable[str | None]) -> pc.Expression:
    """Return a condition that a column of text is one of these values; missing ones are never equal."""
    return pc.field(column).isin(pa.array(sorted(set(there(values))), pa.string()))


def one_of_numbers(column: str, values: Iterable[int | None]) -> pc.Expression:
    """Return a condition that a column of numbers is one of these values; missing ones are never equal."""
    return pc.field(column).isin(pa.array(sorted(set(there(values))), pa.int64()))
