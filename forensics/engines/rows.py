"""Rows to be printed, whoever computed them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from forensics.engines import cells

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

_NUMERIC = ("integer", "long", "short", "byte", "double", "float", "decimal")


def are_numbers(schema: StructType) -> list[bool]:
    """Which columns of a query are numbers."""
    return [field.dataType.typeName() in _NUMERIC for field in schema.fields]


class Rows(Protocol):
    """Rows of a case, or of a query."""

    @property
    def names(self) -> Sequence[str]:
        """The columns; several may have one name."""

    @property
    def numeric(self) -> Sequence[bool]:
        """Which of them are numbers."""

    def texts(self) -> Iterator[Sequence[str | None]]:
        """Rows as text: scalars as Spark casts them, the rest as JSON."""

    def values(self) -> Iterator[Sequence[Any]]:
        """Rows as what JSON knows; times are ISO 8601 in UTC."""


@dataclass(frozen=True)
class ArrowRows:
    """Rows that come as Arrow.

    Attributes:
        names: the columns.
        numeric: which of them are numbers.
        batches: gives the rows, in portions; their columns stand in the same order.
    """

    names: Sequence[str]
    numeric: Sequence[bool]
    batches: Callable[[], Iterator[pa.RecordBatch]]

    def texts(self) -> Iterator[Sequence[str | None]]:
        return self._rows(cells.texts)

    def values(self) -> Iterator[Sequence[Any]]:
        return self._rows(cells.values)

    def _rows(self, make: Callable[[pa.Array], Sequence[Any]]) -> Iterator[Sequence[Any]]:
        for batch in self.batches():
            yield from zip(*map(make, batch.columns), strict=True)
