"""Read rows of large views, without keeping them all."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

    from forensics.relations.inputs import Row


def in_order(table: pa.Table, *by: str) -> Iterator[Row]:
    """Yield rows in the order of the values of some columns, which distinguish all rows."""
    yield from one_by_one(table.sort_by([(column, "ascending") for column in by]))


def one_by_one(table: pa.Table) -> Iterator[Row]:
    """Yield rows in their order."""
    for batch in table.to_batches(max_chunksize=10_000):
        yield from batch.to_pylist()


def grouped(table: pa.Table, key: tuple[str, ...], *by: str) -> Iterator[list[Row]]:
    """Yield the rows of each key, in the order of other columns. Rows in which a column of the key is missing belong together."""
    for _, rows in groupby(in_order(table, *key, *by), key=itemgetter(*key)):
        yield list(rows)
