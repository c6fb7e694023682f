"""Rows of a query to a table, CSV or JSON. They come in portions, from what the case keeps or from Spark; nothing but a table's first rows is held."""

from __future__ import annotations

import csv
import json
import re
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from rich.cells import cell_len

from forensics.case import open_sql, view_files
from forensics.errors import UsageError
from forensics.wording.formats import printable, shorten

if TYPE_CHECKING:
    from typing import TextIO

    from forensics.case.folder import Case
    from forensics.case.view_files import View
    from forensics.engines.base import Engine
    from forensics.engines.rows import Rows

#: A table on the screen ends here; CSV and JSON do not.
TABLE_ROWS = 1000
_WORD = re.compile(r"\w+")
_VIEW = re.compile(r"\s*CREATE OR REPLACE TEMPORARY VIEW\s+`?(\w+)", re.IGNORECASE)
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?")
# A spreadsheet runs a cell that begins with one of these.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # noqa: RUF001 (full-width forms count too)


def saved_queries(*folders: str) -> dict[str, View]:
    """Saved queries by the name that a user gives: a rule's id, or a view's name. Folders as in `view_files.View`; none for all."""
    return {
        view_files.rule_id(v.name) if v.folder == "rules" else v.name: v for v in view_files.views().values() if not folders or v.folder in folders
    }


def saved(name: str) -> View:
    """The saved query of a name.

    Raises:
        UsageError: there is none of this name.
    """
    known = saved_queries()
    if name not in known:
        near = get_close_matches(name, known, n=3)
        fix = f"Do you mean {' or '.join(near)}?" if near else "`forensics sql --list` names the views and rules."
        raise UsageError(f"There is no saved query `{name}`.", where="NAME", fix=fix)
    return known[name]


def own(expression: str, file: Path | None) -> list[str]:
    """The statements of a user's own SQL, from a file or as given.

    Raises:
        UsageError: the file cannot be read, or there is no statement.
    """
    try:
        statements = view_files.statements(file.read_text(encoding="utf-8") if file else expression)
    except (OSError, UnicodeDecodeError) as e:
        raise UsageError(f"The file `{file}` cannot be read.", why=str(e), where="-f") from e
    if not statements:
        raise UsageError("There is no statement to run.", where="-f" if file else "-e")
    return statements


def stored(case: Case, view: View | None, statements: Sequence[str]) -> Rows | None:
    """The rows that are asked for, if the case keeps them; None where only an engine can tell them.

    Args:
        case: its views are built.
        view: a saved query.
        statements: or a user's own SQL.
    """
    from forensics.report.stored import of_statement, of_view

    if view is not None:
        return of_view(case, view.name)
    return of_statement(case, statements[0]) if len(statements) == 1 else None


def run(engine: Engine, case: Case, statements: Sequence[str], form: str, width: int | None) -> int:
    """Runs statements over a case and prints the rows of the last.

    Args:
        engine: runs them.
        case: its views are built.
        statements: SQL.
        form: `table`, `csv` or `json`.
        width: of the terminal, for tables; None where lines may be of any length.

    Returns:
        How many rows a table left out.

    Raises:
        UsageError: the engine cannot run a statement; says why.
    """
    from pyspark.errors import PySparkException

    # Never from open.sql: in a copy it may name the original's rows, and whoever sends a case may have written anything there.
    opening = open_sql.opening(case.tables(), case.views(), case.knobs)
    try:
        for statement in _needed(opening, statements):
            engine.sql(statement)
        return print_rows(engine.rows([engine.sql(statement) for statement in statements][-1]), form, width)
    except PySparkException as e:
        raise UsageError("The query cannot be run.", why=_reason(str(e))) from e


def print_rows(rows: Rows, form: str, width: int | None) -> int:
    """Prints rows; arguments and result as those of `run`."""
    match form:
        case "csv":
            print_csv(rows)
        case "json":
            print_json(rows)
        case _:
            return print_table(rows, width=width)
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


def print_table(rows: Rows, to: TextIO | None = None, width: int | None = None) -> int:
    """Prints the first `TABLE_ROWS` rows, as lines where they fit, else one record below the other.

    Args:
        rows: what is printed.
        to: where; standard output by default.
        width: columns of the terminal; None where lines may be of any length (a file, a pipe).

    Returns:
        How many rows were left out.
    """
    out = to or sys.stdout
    cells = rows.texts()
    names = [printable(name) for name in rows.names]
    shown = [["" if v is None else printable(v) for v in row] for row in islice(cells, TABLE_ROWS)]
    widths = [max(map(cell_len, (name, *(row[i] for row in shown)))) for i, name in enumerate(names)]
    if width is None or sum(widths) + 2 * len(widths) <= width:
        for row in (names, ["─" * w for w in widths], *shown):
            padded = (_padded(cell, w, right=r) for cell, w, r in zip(row, widths, rows.numeric, strict=True))
            out.write("  ".join(padded).rstrip() + "\n")
    else:
        longest = max(map(cell_len, names))
        for number, row in enumerate(shown, 1):
            out.write(f"── {number} " + "─" * max(0, min(width, 60) - 5) + "\n")
            for name, cell in zip(names, row, strict=True):
                out.write(f"{_padded(name, longest)}  {shorten(cell, 10 * width)}".rstrip() + "\n")
    return sum(1 for _ in cells)


def _padded(cell: str, width: int, *, right: bool = False) -> str:
    blanks = " " * (width - cell_len(cell))
    return blanks + cell if right else cell + blanks


def print_csv(rows: Rows, to: TextIO | None = None) -> None:
    r"""Prints all rows as CSV (RFC 4180).

    What would steer a terminal is an escape (`\x1b`); line breaks and tabs within a text are kept; a text that a spreadsheet would run as a formula gets an
    apostrophe before it.
    """
    out = to or sys.stdout
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([inert(name) for name in rows.names])
    for row in rows.texts():
        writer.writerow(["" if v is None else inert(v) for v in row])


def inert(cell: str) -> str:
    """The cell without what steers a terminal, and with an apostrophe before it where a spreadsheet would take it for a formula; numbers stay numbers."""
    cell = "\n".join("\t".join(map(printable, line.split("\t"))) for line in cell.split("\n"))
    return "'" + cell if cell.startswith(_FORMULA) and not _NUMBER.fullmatch(cell) else cell


def print_json(rows: Rows, to: TextIO | None = None) -> None:
    """Prints all rows as an array of objects, one a line; times are ISO 8601 in UTC."""
    out = to or sys.stdout
    first = True
    for row in rows.values() if rows.names else ():
        out.write(("[\n" if first else ",\n") + json.dumps(dict(zip(rows.names, row, strict=True))))
        first = False
    out.write("[]\n" if first else "\n]\n")
