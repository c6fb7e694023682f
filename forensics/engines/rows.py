"""Rows to be printed, whoever computed them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from forensics.engines import cells

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType, StructType

_NUMERIC = ("integer", "long", "short", "byte", "double", "float", "decimal")


def are_numbers(schema: StructType) -> list[bool]:
    """Which columns of a query are numbers."""
    return [field.dataType.typeName() in _NUMERIC for field in schema.fields]


def may_be_null(rows: DataFrame) -> DataFrame:
    """The rows, where no field of a struct and no element of a list is said never to be NULL.

    Arrow cannot take such a field of a struct that is NULL itself, as a LEFT JOIN makes it.
    """
    from pyspark.sql.types import StructField, StructType

    fields = [StructField(field.name, _loose(field.dataType), field.nullable) for field in rows.schema.fields]
    return rows if fields == rows.schema.fields else rows.to(StructType(fields))


def _loose(kind: DataType) -> DataType:
    from pyspark.sql.types import ArrayType, MapType, StructField, StructType

    match kind:
        case StructType():
            return StructType([StructField(field.name, _loose(field.dataType)) for field in kind.fields])
        case ArrayType():
            return ArrayType(_loose(kind.elementType))
        case MapType():
            return MapType(_loose(kind.keyType), _loose(kind.valueType))
    return kind


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
