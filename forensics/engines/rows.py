"""Provide rows for printing, independent of the engine that computed them."""

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
    """Return for each column of a query whether it is a number."""
    return [field.dataType.typeName() in _NUMERIC for field in schema.fields]


def types_of(schema: pa.Schema) -> StructType:
    """Return an engine's types of columns."""
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(schema)


def may_be_null(rows: DataFrame) -> DataFrame:
    """Return the rows with all fields of structs and all elements of lists nullable.

    Arrow rejects a non-nullable field of a struct that is NULL itself, which a LEFT JOIN can produce.
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
        """Return the columns; several may have the same name."""

    @property
    def numeric(self) -> Sequence[bool]:
        """Return True for each column of numbers."""

    def texts(self) -> Iterator[Sequence[str | None]]:
        """Yield rows as text: scalars as Spark casts them, other values as JSON."""

    def values(self) -> Iterator[Sequence[Any]]:
        """Yield rows as JSON values; times are ISO 8601 in UTC."""


@dataclass(frozen=True)
class ArrowRows:
    """Rows that arrive as Arrow.

    Attributes:
        names: the columns.
        numeric: True for each column of numbers.
        batches: yields the rows in batches whose columns have the same order.
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
