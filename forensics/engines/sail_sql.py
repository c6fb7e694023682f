"""Translate Spark SQL statements for Sail, which interprets paths differently and has no session variables."""

from __future__ import annotations

import re
from collections.abc import Mapping

from forensics.engines.paths import as_url, unquoted

_TOKEN = re.compile(
    r"""
      '(?P<single> (?: [^'\\] | \\. | '' )* )'
    | "(?P<double> (?: [^"\\] | \\. | "" )* )"
    | \bparquet \s* \. \s* `(?P<path> (?: [^`] | `` )+ )`
    | `(?: [^`] | `` )*`
    | (?P<comment> --[^\n]* | /\*.*?\*/ )
    | (?: /\* | ['"`] ) .*  # without an end
    | (?<! [\w.] ) (?P<word> [A-Za-z_]\w* ) (?! \w | \s*\( )
    """,
    re.VERBOSE | re.DOTALL,
)
_DECLARE = re.compile(
    r"\s*DECLARE\s+(?:OR\s+REPLACE\s+)?(?:VARIABLE\s+)?(?P<name>\w+)\s+(?P<type>\w+)\s+(?:DEFAULT|=)(?P<value>.+)", re.IGNORECASE | re.DOTALL
)
_SET = re.compile(r"\s*SET\s+(?:VAR|VARIABLE)\s+(?P<name>\w+)\s*=(?P<value>.+)", re.IGNORECASE | re.DOTALL)
_SCANNED = re.compile(
    r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]*`|(?P<slow>\bcollect_set\(|\bmax\((?=struct\())|[()]""", re.DOTALL | re.IGNORECASE
)
_FILTER = re.compile(r"\s*FILTER\s*\(", re.IGNORECASE)
_OVER = re.compile(r"\s*OVER\b", re.IGNORECASE)


class Variables:
    """Session variables, whose values are inserted into statements that name them."""

    def __init__(self) -> None:
        self._values: dict[str, tuple[str, str]] = {}

    def take(self, statement: str) -> bool:
        """Execute a statement that declares or sets a variable; return whether it was one."""
        if found := _DECLARE.fullmatch(statement):
            self._values[found["name"].lower()] = found["type"], found["value"].strip()
            return True
        found = _SET.fullmatch(statement)
        if found and found["name"].lower() in self._values:
            self._values[found["name"].lower()] = self._values[found["name"].lower()][0], found["value"].strip()
            return True
        return False

    def texts(self) -> Mapping[str, str]:
        """Return an expression of the right type for each variable."""
        return {name: f"CAST({value} AS {kind})" for name, (kind, value) in self._values.items()}


def to_sail(statement: str, variables: Mapping[str, str]) -> str:
    """Return a statement with the values of variables, paths as URLs, quotes in texts as Sail expects them, and running last values in Sail's form.

    Args:
        statement: Spark SQL.
        variables: an expression for each variable, by its name in lower case.
    """

    def word(found: re.Match[str]) -> str:
        if found["single"] is not None:
            return "'" + _escaped(found["single"], "'") + "'"
        if found["double"] is not None:
            return '"' + _escaped(found["double"], '"') + '"'
        if found["path"] is not None:
            # As in `Sail.from_files`: no filter of a join reaches the file.
            return f"(SELECT __file.* FROM parquet.`{as_url(unquoted(found['path']))}` AS __file LATERAL VIEW explode(array(1)) AS __one)"
        if found["comment"] is not None:
            return " " * len(found[0])
        return variables.get((found["word"] or "").lower(), found[0])

    return _faster(_TOKEN.sub(word, statement))


def with_escaped_quotes(statement: str) -> str:
    """Return a statement whose texts have a backslash before each quote in them, instead of a second quote."""

    def text(found: re.Match[str]) -> str:
        kind, quote = ("single", "'") if found["single"] is not None else ("double", '"')
        return found[0] if found[kind] is None else quote + _escaped(found[kind], quote) + quote

    return _TOKEN.sub(text, statement)


def _faster(statement: str) -> str:
    """Return a statement with other words for what takes Sail up to twenty times as long with many groups: sets, and the greatest struct.

    Those of windows stay.
    """
    for slow in reversed([found for found in _SCANNED.finditer(statement) if found["slow"]]):
        end = closed = _closed(statement, slow.end())
        if found := _FILTER.match(statement, closed):
            end = _closed(statement, found.end())
        if _OVER.match(statement, end):
            continue
        of, condition = statement[slow.end() : closed - 1], statement[closed:end]
        words = f"max_by({of}, {of}){condition}" if slow[0].lower() == "max(" else f"array_distinct(collect_list({of}){condition})"
        statement = statement[: slow.start()] + words + statement[end:]
    return statement


def _closed(statement: str, begin: int) -> int:
    """Return the position after the parenthesis that closes the one before a position."""
    depth = 1
    for found in _SCANNED.finditer(statement, begin):
        depth += (found[0][-1] == "(") - (found[0] == ")")
        if not depth:
            return found.end()
    return len(statement)


def _escaped(text: str, quote: str) -> str:
    """Return the content of a text with its doubled quotes escaped by a backslash; a quote that has one already does not begin a pair."""
    return re.sub(rf"\\.|{quote}{quote}", lambda m: f"\\{quote}" if m[0][0] == quote else m[0], text, flags=re.DOTALL)
