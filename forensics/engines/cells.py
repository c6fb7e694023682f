"""Convert Arrow values to text and to JSON values exactly as Spark does in UTC; a test verifies this."""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

#: Characters that JSON must escape; Spark writes their codes in capitals.
_ESCAPED = re.compile(r'[\x00-\x1f"\\]')
_SHORT = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
#: Java prints a number in plain form from the first of these on, and with an exponent from the second on.
_PLAIN_FROM, _PLAIN_BELOW = 1e-3, 1e7
_Writer = Callable[[Any], str]
_Maker = Callable[[Any], Any]


def is_number(kind: pa.DataType) -> bool:
    """Return True if a column's values are numbers, which tables align to the right."""
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))


def texts(column: pa.Array) -> Sequence[str | None]:
    """Return a column as text: scalars as Spark casts them, nested values as JSON without NULL fields."""
    kind = column.type
    if types.is_dictionary(kind):
        return texts(column.dictionary_decode())
    if types.is_timestamp(kind):
        whole = column.cast(pa.timestamp("us")).cast(pa.string())
        return pc.utf8_rtrim(pc.utf8_rtrim(whole, "0"), ".").to_pylist()  # type: ignore[no-any-return]
    if types.is_floating(kind):
        return [None if v is None else _java(v, kind) for v in column.to_pylist()]
    if types.is_nested(kind):
        write = _writer(kind)
        return [None if v is None else write(v) for v in column.to_pylist()]
    if types.is_binary(kind) or types.is_large_binary(kind):
        return [None if v is None else v.decode("utf-8", "replace") for v in column.to_pylist()]
    return column.cast(pa.string()).to_pylist()  # type: ignore[no-any-return]


def values(column: pa.Array) -> Sequence[Any]:
    """Return a column as JSON values: times as ISO 8601 in UTC with microseconds, maps as objects."""
    if types.is_dictionary(column.type):
        return values(column.dictionary_decode())
    make = _maker(column.type)
    return column.to_pylist() if make is None else [None if v is None else make(v) for v in column.to_pylist()]


def _writer(kind: pa.DataType) -> _Writer:
    """Return a function that converts a value of a type, other than NULL, to JSON text."""
    if types.is_struct(kind):
        fields = [(kind.field(i).name, _quoted(kind.field(i).name), _writer(kind.field(i).type)) for i in range(kind.num_fields)]
        return lambda v: "{" + ",".join(f"{name}:{write(v[key])}" for key, name, write in fields if v[key] is not None) + "}"
    if types.is_map(kind):
        key, item = _key(kind.key_type), _writer(kind.item_type)
        return lambda v: "{" + ",".join(f"{_quoted(key(k))}:{'null' if x is None else item(x)}" for k, x in v) + "}"
    if _is_list(kind):
        write = _writer(kind.value_type)
        return lambda v: "[" + ",".join("null" if x is None else write(x) for x in v) + "]"
    if types.is_boolean(kind):
        return lambda v: "true" if v else "false"
    if types.is_floating(kind):
        return lambda v: _java(v, kind) if math.isfinite(v) else f'"{_java(v, kind)}"'
    if types.is_integer(kind) or types.is_decimal(kind):
        return lambda v: f"{v:f}" if types.is_decimal(kind) else str(v)
    if types.is_timestamp(kind):
        return lambda v: f'"{_iso(v, "milliseconds", zone=kind.tz is not None)}"'
    plain = _plain(kind)
    return lambda v: _quoted(plain(v))


def _maker(kind: pa.DataType) -> _Maker | None:
    """Return a function that converts a value of a type, other than NULL, to a JSON value; None if no conversion is needed."""
    if types.is_struct(kind):
        makers = {kind.field(i).name: _maker(kind.field(i).type) for i in range(kind.num_fields)}
        return lambda v: {name: x if x is None or makers[name] is None else makers[name](x) for name, x in v.items()}  # type: ignore[misc]
    if types.is_map(kind):
        key, item = _key(kind.key_type), _maker(kind.item_type)
        return lambda v: {key(k): x if x is None or item is None else item(x) for k, x in v}
    if _is_list(kind):
        make = _maker(kind.value_type)
        return None if make is None else lambda v: [None if x is None else make(x) for x in v]
    if types.is_floating(kind):
        return lambda v: v if math.isfinite(v) else _java(v, kind)
    if types.is_decimal(kind):
        return lambda v: int(v) if kind.scale == 0 else float(v)
    if types.is_timestamp(kind):
        return (lambda v: _iso(v, "microseconds", zone=True)) if kind.tz else (lambda v: _iso(v, "milliseconds", zone=False))
    if types.is_boolean(kind) or types.is_integer(kind) or types.is_null(kind) or _is_text(kind):
        return None
    return _plain(kind)


def _plain(kind: pa.DataType) -> Callable[[Any], str]:
    """Return the conversion of texts, dates, bytes, and other types with only one representation."""
    if types.is_binary(kind) or types.is_large_binary(kind):
        return lambda v: base64.b64encode(v).decode()
    return str


def _key(kind: pa.DataType) -> Callable[[Any], str]:
    return (lambda k: "true" if k else "false") if types.is_boolean(kind) else str


def _is_list(kind: pa.DataType) -> bool:
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind) or types.is_list_view(kind))


def _is_text(kind: pa.DataType) -> bool:
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _iso(moment: datetime, timespec: str, *, zone: bool) -> str:
    utc = moment.astimezone(UTC) if moment.tzinfo else moment
    return utc.replace(tzinfo=None).isoformat("T", timespec) + ("Z" if zone else "")


def _quoted(text: str) -> str:
    return '"' + _ESCAPED.sub(lambda m: _SHORT.get(m[0]) or f"\\u{ord(m[0]):04X}", text) + '"'


def _java(number: float, kind: pa.DataType) -> str:
    """Return a floating-point number as Java prints it: `1.0`, `1.0E7`, `NaN`."""
    if not math.isfinite(number):
        return "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"
    exact = np.float32(number) if types.is_float32(kind) else np.float64(number)
    if number == 0 or _PLAIN_FROM <= abs(number) < _PLAIN_BELOW:
        return np.format_float_positional(exact, unique=True, trim="0")
    digits, _, exponent = np.format_float_scientific(exact, unique=True, trim="0").partition("e")
    return f"{digits}E{int(exponent)}"
