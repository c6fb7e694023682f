"""Convert Arrow types to the types of Spark SQL, and the types that the SQL file of a computed view declares to Arrow."""

from __future__ import annotations

import pyarrow as pa

#: The types of most columns: importing pyspark to ask it takes longer than everything else here. Sail writes texts of large cases as `string_view`.
_SQL_TYPES = {
    "string": "STRING", "string_view": "STRING", "bool": "BOOLEAN", "int32": "INT", "int64": "BIGINT", "double": "DOUBLE",
}  # fmt: skip
#: The types that a computed view may declare, besides ARRAY, MAP and STRUCT.
_ARROW_TYPES = {
    "STRING": pa.string(), "BOOLEAN": pa.bool_(), "INT": pa.int32(), "BIGINT": pa.int64(), "DOUBLE": pa.float64(),
    "TIMESTAMP": pa.timestamp("us", "UTC"), "TIMESTAMP_LTZ": pa.timestamp("us", "UTC"),
}  # fmt: skip


def sql_type(kind: pa.DataType) -> str:
    """Return the SQL name of the type that Spark finds in a Parquet file of this schema."""
    if pa.types.is_struct(kind):
        return f"STRUCT<{', '.join(f'{quoted_name(field.name)}: {sql_type(field.type)}' for field in kind)}>"
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return f"ARRAY<{sql_type(kind.value_type)}>"
    if pa.types.is_map(kind):
        return f"MAP<{sql_type(kind.key_type)}, {sql_type(kind.item_type)}>"
    if pa.types.is_timestamp(kind):
        # What TIMESTAMP means depends on a setting of the user's session.
        return "TIMESTAMP_LTZ" if kind.tz else "TIMESTAMP_NTZ"
    if str(kind) in _SQL_TYPES:
        return _SQL_TYPES[str(kind)]
    from pyspark.sql.pandas.types import from_arrow_type

    return from_arrow_type(kind).simpleString().upper()


def arrow_type(text: str) -> pa.DataType:
    """Return the Arrow type of a type such as `ARRAY<STRUCT<name: STRING, at_ms: BIGINT>>`, in which everything may be NULL.

    Raises:
        ValueError: no computed view may have this type.
    """
    outer, _, inner = text.strip().removesuffix(">").partition("<")
    if outer == "ARRAY" and inner:
        return pa.list_(arrow_type(inner))
    if outer == "MAP" and len(parts := _parts(inner)) == 2:
        return pa.map_(*map(arrow_type, parts))
    if outer == "STRUCT" and inner:
        return pa.struct([(name.strip("`"), arrow_type(kind)) for name, kind in (part.split(":", 1) for part in map(str.strip, _parts(inner)))])
    if outer not in _ARROW_TYPES or inner:
        raise ValueError(f"{text} is none of ARRAY, MAP, STRUCT, {', '.join(_ARROW_TYPES)}")
    return _ARROW_TYPES[outer]


def _parts(fields: str) -> list[str]:
    """Split the fields of a struct at the commas that are not inside another type."""
    parts, depth = [""], 0
    for character in fields:
        depth += (character == "<") - (character == ">")
        if character == "," and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def quoted_name(column: str) -> str:
    """Quote a column name; a file from someone else may have SQL in a name."""
    return "`" + column.replace("`", "``") + "`"
