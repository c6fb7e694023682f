"""Rows of a query to a table, CSV or JSON. Rows come from Spark one partition at a time; nothing but a table's first rows is held."""

from __future__ import annotations

import csv
import json
import re
import sys
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from rich.cells import cell_len

from forensics import queries
from forensics.errors import UsageError
from forensics.report.words import printable, shorten

if TYPE_CHECKING:
    from typing import TextIO

    from pyspark.sql import DataFrame, SparkSession

    from forensics.queries import View
    from forensics.tables import Case

#: A table on the screen ends here; CSV and JSON do not.
TABLE_ROWS = 1000
_WORD = re.compile(r"\w+")
_VIEW = re.compile(r"\s*CREATE OR REPLACE TEMPORARY VIEW\s+`?(\w+)", re.IGNORECASE)
_NUMERIC = ("integer", "long", "short", "byte", "double", "float", "decimal")
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?")
# A spreadsheet runs a cell that begins with one of these.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # noqa: RUF001 (full-width forms count too)


def saved_queries(*folders: str) -> dict[str, View]:
    """Saved queries by the name that a user gives: a rule's id, or a view's name. Folders as in `queries.View`."""
    return {queries.rule_id(v.name) if v.folder == "rules" else v.name: v for v in queries.views().values() if v.folder in folders}


def saved(name: str) -> list[str]:
    """The statement of a saved query.

    Raises:
        UsageError: there is none of this name.
    """
    known = saved_queries("", "rules", "steps")
    if name not in known:
        near = get_close_matches(name, known, n=3)
        fix = f"Do you mean {' or '.join(near)}?" if near else "`forensics sql --list` names the views and rules."
        raise UsageError(f"There is no saved query `{name}`.", where="NAME", fix=fix)
    return [f"SELECT * FROM `{known[name].name}`"]


def own(expression: str, file: Path | None) -> list[str]:
    """The statements of a user's own SQL, from a file or as given.

    Raises:
        UsageError: the file cannot be read, or there is no statement.
    """
    try:
        statements = queries.statements(file.read_text(encoding="utf-8") if file else expression)
    except (OSError, UnicodeDecodeError) as e:
        raise UsageError(f"The file `{file}` cannot be read.", why=str(e), where="-f") from e
    if not statements:
        raise UsageError("There is no statement to run.", where="-f" if file else "-e")
    return statements


def run(spark: SparkSession, case: Case, statements: Sequence[str], form: str, width: int | None) -> int:
    """Runs statements over a case and prints the rows of the last.

    Args:
        spark: the session.
        case: its views are built.
        statements: SQL.
        form: `table`, `csv` or `json`.
        width: of the terminal, for tables; None where lines may be of any length.

    Returns:
        How many rows a table left out.

    Raises:
        UsageError: Spark cannot run a statement; says why.
    """
    from pyspark.errors import PySparkException

    # Never from open.sql: in a copy it may name the original's rows, and whoever sends a case may have written anything there.
    opening = queries.opening(case.tables(), case.views(), case.knobs)
    try:
        for statement in _needed(opening, statements):
            spark.sql(statement)
        frame = [spark.sql(statement) for statement in statements][-1]
        match form:
            case "csv":
                print_csv(frame)
            case "json":
                print_json(frame)
            case _:
                return print_table(frame, width=width)
    except PySparkException as e:
        raise UsageError("The query cannot be run.", why=_reason(str(e))) from e
    return 0


def _needed(opening: Sequence[str], wanted: Sequence[str]) -> list[str]:
    """The statements of `open.sql` that these statements can need, in order: Spark takes a while for each of a hundred views.

    A view is needed when its name is a word of what is needed. What may name views in other ways needs all.
    """
    words = set(_WORD.findall(" ".join(wanted).lower()))
    if words & {"show", "identifier", "execute"}:
        return list(opening)
    creates = {m[1].lower(): statement for statement in opening if (m := _VIEW.match(statement))}
    needed: set[str] = set()
    while fresh := (words & creates.keys()) - needed:
        needed |= fresh
        words = {word for name in fresh for word in _WORD.findall(creates[name].lower())}
    return [s for s in opening if not (m := _VIEW.match(s)) or m[1].lower() in needed]


def _reason(said: str) -> str:
    """What Spark says of a failed statement, without its plan and its stack."""
    kept = []
    for line in said.strip().split("\n"):
        if line.startswith(("'", "+-", ":-", "JVM stacktrace", "\tat ")):
            break
        kept.append(line)
    return "\n    ".join(line for line in kept[:12] if line.strip())


def print_table(frame: DataFrame, to: TextIO | None = None, width: int | None = None) -> int:
    """Prints the first `TABLE_ROWS` rows, as lines where they fit, else one record below the other.

    Args:
        frame: the rows.
        to: where; standard output by default.
        width: columns of the terminal; None where lines may be of any length (a file, a pipe).

    Returns:
        How many rows were left out.
    """
    out = to or sys.stdout
    rows = _texts(frame)
    names = [printable(name) for name in frame.columns]
    shown = [["" if v is None else printable(v) for v in row] for row in islice(rows, TABLE_ROWS)]
    widths = [max(map(cell_len, (name, *(row[i] for row in shown)))) for i, name in enumerate(names)]
    if width is None or sum(widths) + 2 * len(widths) <= width:
        right = [f.dataType.typeName() in _NUMERIC for f in frame.schema.fields]
        for row in (names, ["─" * w for w in widths], *shown):
            cells = (_padded(cell, w, right=r) for cell, w, r in zip(row, widths, right, strict=True))
            out.write("  ".join(cells).rstrip() + "\n")
    else:
        longest = max(map(cell_len, names))
        for number, row in enumerate(shown, 1):
            out.write(f"── {number} " + "─" * max(0, min(width, 60) - 5) + "\n")
            for name, cell in zip(names, row, strict=True):
                out.write(f"{_padded(name, longest)}  {shorten(cell, 10 * width)}".rstrip() + "\n")
    return sum(1 for _ in rows)


def _padded(cell: str, width: int, *, right: bool = False) -> str:
    blanks = " " * (width - cell_len(cell))
    return blanks + cell if right else cell + blanks


def print_csv(frame: DataFrame, to: TextIO | None = None) -> None:
    r"""Prints all rows as CSV (RFC 4180).

    What would steer a terminal is an escape (`\x1b`); line breaks and tabs within a text are kept; a text that a spreadsheet would run as a formula gets an
    apostrophe before it.
    """
    out = to or sys.stdout
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([inert(name) for name in frame.columns])
    for row in _texts(frame):
        writer.writerow(["" if v is None else inert(v) for v in row])


def inert(cell: str) -> str:
    """The cell without what steers a terminal, and with an apostrophe before it where a spreadsheet would take it for a formula; numbers stay numbers."""
    cell = "\n".join("\t".join(map(printable, line.split("\t"))) for line in cell.split("\n"))
    return "'" + cell if cell.startswith(_FORMULA) and not _NUMBER.fullmatch(cell) else cell


def print_json(frame: DataFrame, to: TextIO | None = None) -> None:
    """Prints all rows as an array of objects, one a line; times are ISO 8601 in UTC."""
    from pyspark.sql import functions as f

    out = to or sys.stdout
    keys = {f"c{i}": name for i, name in enumerate(frame.columns)}
    # Spark's own JSON knows every type; numbered keys allow equal column names.
    numbered = frame.toDF(*keys)
    options = {"ignoreNullFields": "false", "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"}
    lines: Iterator[str] = (row[0] for row in numbered.select(f.to_json(f.struct("*"), options)).toLocalIterator()) if keys else iter(())
    first = True
    for line in lines:
        row = {keys[k]: v for k, v in json.loads(line).items()}
        out.write(("[\n" if first else ",\n") + json.dumps(row))
        first = False
    out.write("[]\n" if first else "\n]\n")


def _texts(frame: DataFrame) -> Iterator[Sequence[str | None]]:
    """Rows as text: scalars as Spark casts them, the rest as JSON."""
    from pyspark.sql import functions as f
    from pyspark.sql.types import ArrayType, MapType, StructType, VariantType

    if not frame.columns:
        return iter(())
    numbered = frame.toDF(*(f"c{i}" for i in range(len(frame.columns))))
    cells = [
        f.to_json(field.name) if isinstance(field.dataType, ArrayType | MapType | StructType | VariantType) else f.col(field.name).cast("string")
        for field in numbered.schema.fields
    ]
    return (tuple(row) for row in numbered.select(*cells).toLocalIterator())
