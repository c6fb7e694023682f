"""Read logs that stores export as tables with a header (CSV, TSV)."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from forensics.records.layouts import Layout, Layouts
from forensics.records.timestamps import TimeFormat

_DELIMITERS = (",", "\t", ";")
_MAX_ROWS = 50
_LONGEST_FIELD = 1 << 20
#: Times in exports, and their formats; a fraction and a zone may follow the first.
_TIMES = (
    (r"[0-9]{4}[-/][0-9]{2}[-/][0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]{1,9})?(?: ?(?:Z|UTC|GMT|[+-][0-9]{2}:?[0-9]{2}))?", "ANY"),
    (r"[A-Z][a-z]{2} [0-9]{1,2}, [0-9]{4} @ [0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}", "MMM d, yyyy @ HH:mm:ss.SSS"),
    (r"[0-9]{1,2}/[0-9]{1,2}/[0-9]{4}, [0-9]{1,2}:[0-9]{2}:[0-9]{2}\.[0-9]{3} [AP]M", "M/d/yyyy, h:mm:ss.SSS a"),
    (r"1[0-9]{9}(?:[0-9]{3}|\.[0-9]{1,6})?", "epoch"),
)


def layout_of_export(lines: Sequence[str], layouts: Layouts) -> Layout | None:
    """Return the layout of a table whose header names a time and a message; None if some lines cannot be the beginning of such a table."""
    for delimiter in _DELIMITERS if len(lines) > 1 else ():
        if delimiter not in lines[0]:
            continue
        columns = tuple(name.strip().lower() for name in _fields(lines[0].removeprefix("\ufeff"), delimiter))
        names = {name: i for i, name in enumerate(columns)}
        time, message = (next((names[".".join(p)] for p in layouts.keys.paths[what] if ".".join(p) in names), None) for what in ("time", "message"))
        if time is None or message is None:
            continue
        reader = csv.reader(io.StringIO("\n".join(lines[1:])), delimiter=delimiter)
        try:
            rows = [row for row in islice(reader, _MAX_ROWS) if len(row) == len(columns)]
        except csv.Error:
            continue
        for look, text in _TIMES:
            if rows and all(re.fullmatch(look, row[time]) for row in rows):
                field = rf'(?:"(?:[^"]|"")*"|[^"{delimiter}]*){delimiter}'
                head = rf'(?:{field}){{{time}}}"?(?P<ts>{TimeFormat(text).pattern})"?(?:{delimiter}|$)'
                if message < time and (begins := _begins([row[message] for row in rows], layouts)):
                    head = rf'(?:{head}|(?:{field}){{{message}}}"(?:{begins}))'
                return Layout("table", head, (), TimeFormat(text), columns=columns, delimiter=delimiter)
    return None


def _begins(messages: Sequence[str], layouts: Layouts) -> str:
    """Return a pattern for the beginning of messages that are whole records. In a record of several lines, later columns are in the last one."""
    firsts = [text.split("\n")[0] for text in messages]
    found = {start[0].head for untimed in (False, True) for text in firsts if (start := layouts.find_specific(text, untimed))}
    return "|".join(re.sub(r"\(\?P<\w+>", "(?:", head) for head in sorted(found))


def _fields(line: str, delimiter: str) -> list[str]:
    csv.field_size_limit(_LONGEST_FIELD)
    try:
        return next(csv.reader(io.StringIO(line), delimiter=delimiter), [])
    except csv.Error:
        return []


def read_row(text: str, columns: Sequence[str], delimiter: str) -> Mapping[str, Any]:
    """Return the fields of a row by column, without empty ones."""
    return {name: value for name, value in zip(columns, _fields(text, delimiter), strict=False) if value}
