"""Print rows of a query as a table, CSV or JSON. They arrive in batches, from the case or from Spark; only a table's first rows are kept in memory."""

from __future__ import annotations

import csv
import json
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

from rich.cells import cell_len

from forensics import failures
from forensics.case import open_sql, view_files
from forensics.errors import CaseError, UsageError, did_you_mean
from forensics.report import read_only
from forensics.report.columns import lay_out, padded_to, wrap
from forensics.report.document import Column
from forensics.wording.formats import printable, printable_lines

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from forensics.case.folder import Case
    from forensics.case.view_files import View
    from forensics.engines.base import Engine
    from forensics.engines.rows import Rows

#: Maximum number of rows of a table on the screen; CSV and JSON have no limit.
TABLE_ROWS = 1000
#: In a file or a pipe, a column is padded to its widest cell, but to at most this width or twice its average.
_PADDED_WIDTH = 40
_WORD = re.compile(r"\w+")
_VIEW = re.compile(r"\s*CREATE OR REPLACE TEMPORARY VIEW\s+`?(\w+)", re.IGNORECASE)
#: What `--unrestricted` means, for errors and help.
UNRESTRICTED = "it can then read and write every file that you can, and on Spark run programs"
_FIX = f"For SQL that you trust, `--unrestricted` runs it as it is: {UNRESTRICTED}."
_VIEWS = "`forensics sql --list` lists the views and rules."
#: Messages of Sail, and how they are reported to the reader.
_SAIL = (
    (
        re.compile(r'attribute ObjectName\(\[[^\]\n]{0,2000}Identifier\("([^"]{0,200})"\)\]\) is missing from the schema: cannot resolve attribute'),
        r"there is no column `\1`",
    ),
    (re.compile(r"found (\S+)(?: at [0-9:]+)? expected something else.*"), r"SQL syntax error at `\1`"),
)
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?")
# A spreadsheet runs a cell that begins with one of these.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # noqa: RUF001 (full-width forms count too)


def saved_queries(*kinds: str) -> dict[str, View]:
    """Return saved queries by the name that a user gives: a rule's ID, or a view's name. Kinds as in `view_files.View`; none for all."""
    return {view_files.rule_id(v.name) if v.kind == "rule" else v.name: v for v in view_files.views().values() if not kinds or v.kind in kinds}


def print_list(to: TextIO, width: int | None) -> None:
    """List the views and rules, with what a row is.

    Args:
        to: stream to print to.
        width: width of the terminal; None for lines of any length.
    """
    columns = (Column("", fixed=True), Column(""))
    for title, kind in (("Views", "public"), ("Rules", "rule")):
        rows = [(name, view.about) for name, view in sorted(saved_queries(kind).items())]
        to.write(f"{title}:\n")
        to.writelines(f"  {line.text}\n" for line in lay_out(columns, rows, width - 2 if width else sys.maxsize))


def saved(name: str) -> View:
    """Return the saved query of a name.

    Raises:
        UsageError: no saved query has this name.
    """
    known = saved_queries()
    if name not in known:
        # Views and rules first: there are many steps behind them, which users rarely mean.
        if re.search(r"\S\s+\S", name):
            raise UsageError("A query is not the name of a view or rule.", where="NAME", fix=f"Pass it with -e: forensics sql -e {shlex.quote(name)}")
        fix = did_you_mean(name, saved_queries("public", "rule"), "") or did_you_mean(
            name, known, "`forensics sql --list` lists the views and rules."
        )
        raise UsageError(f"There is no view or rule `{name}`.", where="NAME", fix=fix)
    return known[name]


_Used = TypeVar("_Used")


@dataclass(frozen=True)
class Statement:
    """A SQL statement, and its place in the user's text.

    Attributes:
        text: the statement as an engine runs it.
        source: option or file; empty if the user did not write it.
        line, column: position of its first character, from 1.
        original: the statement as the user wrote it, with blanks in place of comments, if `text` was written from it; empty if it is the same.
    """

    text: str
    source: str = ""
    line: int = 1
    column: int = 1
    original: str = ""

    def place(self, at: int | None) -> str:
        """Return the place of the character at an offset of the user's text; empty if it is unknown."""
        if at is None or not self.source:
            return ""
        *above, before = (self.original or self.text)[:at].split("\n")
        return f"{self.source}, line {self.line + len(above)}, column {len(before) + (1 if above else self.column)}"


def own(expression: str, file: Path | None, *, guard: read_only.Guard | None = None, unrestricted: bool = False) -> list[Statement]:
    """Return the statements of a user's own SQL, from a file or from the command line, which may come from someone else, like the case.

    Args:
        expression: the SQL, if there is no file.
        file: a file with it.
        guard: accepts the statements; None: a new one.
        unrestricted: True to run them as they are, whatever they do.

    Raises:
        UsageError: the file cannot be read, there is no statement, or one is not known to only read views.
    """
    try:
        text = file.read_text(encoding="utf-8") if file else expression
    except (OSError, UnicodeDecodeError) as e:
        raise UsageError(f"The file `{file}` cannot be read.", why=str(e), where="-f") from e
    statements = [
        Statement(statement, str(file or "-e"), text.count("\n", 0, begin) + 1, begin - text.rfind("\n", 0, begin))
        for begin, statement in view_files.placed_statements(text)
    ]
    if not statements:
        raise UsageError("There is no statement to run.", where="-f" if file else "-e")
    guard = guard or read_only.Guard()
    return statements if unrestricted else [_accepted(statement, guard) for statement in statements]


def _accepted(statement: Statement, guard: read_only.Guard) -> Statement:
    try:
        return replace(statement, text=guard.accept(statement.text), original=statement.text)
    except read_only.NoView as e:
        at = next((word.start() for word in re.finditer(r"\w+", statement.text) if word[0].lower() == e.name.lower()), 0)
        raise UsageError(f"There is no view `{e.name[:200]}`.", where=statement.place(at), fix=e.fix or _VIEWS) from e
    except read_only.Unparsed as e:
        raise UsageError(f"{e.why}.", where=statement.place(0), fix=e.fix) from e
    except read_only.Refused as e:
        where = statement.place(0 if e.at is None else e.at)
        raise UsageError(
            "The statement was not run, because a query only reads a case.", why=e.why, where=where, fix=" ".join(filter(None, (e.fix, _FIX)))
        ) from e


def stored(case: Case, view: View | None, statements: Sequence[Statement]) -> Rows | None:
    """Return the requested rows if the case keeps them; None if they need an engine.

    Args:
        case: a case with its views built.
        view: a saved query, or None.
        statements: a user's own SQL, if there is no saved query.
    """
    from forensics.report.stored import of_statement, of_view

    if view is not None:
        return of_view(case, view.name)
    return of_statement(case, statements[0].text) if len(statements) == 1 else None


@dataclass(frozen=True)
class Wanted:
    """The format of printed rows.

    Attributes:
        form: `table`, `csv` or `json`.
        columns: the columns to print, in this order; none: all.
        width: width of the terminal, for tables; None for lines of any length.
    """

    form: str
    columns: Sequence[str] = ()
    width: int | None = None


@dataclass(frozen=True)
class _Chosen:
    """Rows with only some of their columns."""

    rows: Rows
    places: Sequence[int]

    @property
    def names(self) -> Sequence[str]:
        return [self.rows.names[i] for i in self.places]

    @property
    def numeric(self) -> Sequence[bool]:
        return [self.rows.numeric[i] for i in self.places]

    def texts(self) -> Iterator[Sequence[str | None]]:
        return ([row[i] for i in self.places] for row in self.rows.texts())

    def values(self) -> Iterator[Sequence[Any]]:
        return ([row[i] for i in self.places] for row in self.rows.values())


def choose(rows: Rows, columns: Sequence[str]) -> Rows:
    """Return the rows with only these columns, in this order; all columns if none is named.

    Raises:
        UsageError: the rows lack a named column.
    """
    places = {name.lower(): i for i, name in reversed(list(enumerate(rows.names)))}
    for column in columns:
        if column.lower() not in places:
            fix = did_you_mean(column, rows.names, f"The columns: {', '.join(rows.names)}.")
            raise UsageError(f"The rows have no column `{column}`.", where="--columns", fix=fix)
    return _Chosen(rows, [places[column.lower()] for column in columns]) if columns else rows


def run(engine: Engine, case: Case, statements: Sequence[Statement], wanted: Wanted, to: TextIO | None = None) -> int:
    """Run statements over a case and print the rows of the last.

    Args:
        engine: engine that runs them.
        case: a case with its views built.
        statements: at least one statement.
        wanted: the format of the rows.
        to: stream to print to; standard output by default.

    Returns:
        The number of rows that a table left out.

    Raises:
        UsageError: the engine cannot run a statement, with the reason.
    """
    return _with_rows(engine, case, statements, lambda rows: print_rows(rows, wanted, to))


def dicts(engine: Callable[[], Engine], case: Case, statements: Sequence[Statement]) -> list[dict[str, Any]]:
    """Return the rows of the last statement as dictionaries; errors as those of `run`. The engine starts only if the case does not keep the rows."""
    rows = stored(case, None, statements)
    return _dicts(rows) if rows is not None else _with_rows(engine(), case, statements, _dicts)


def first_rows(engine: Callable[[], Engine], case: Case, statements: Sequence[Statement], number: int) -> tuple[list[str], list[Sequence[Any]]]:
    """Return the columns and the first rows of the last statement; errors and engine as for `dicts`."""

    def first(rows: Rows) -> tuple[list[str], list[Sequence[Any]]]:
        return list(rows.names), list(islice(rows.values(), number))

    rows = stored(case, None, statements)
    return first(rows) if rows is not None else _with_rows(engine(), case, statements, first)


def _dicts(rows: Rows) -> list[dict[str, Any]]:
    return [dict(zip(rows.names, row, strict=True)) for row in rows.values()]


def _with_rows(engine: Engine, case: Case, statements: Sequence[Statement], use: Callable[[Rows], _Used]) -> _Used:
    """Run statements, and pass the rows of the last to `use`."""
    from pyspark.errors import PySparkException

    texts, now = [statement.text for statement in statements], Statement("")
    try:
        with engine.watched():
            _open(engine, case, texts)
            for now in statements:
                frame = engine.sql(now.text)
            return use(engine.rows(frame))
    except PySparkException as e:
        if failures.STALLED:
            raise failures.STALLED[-1] from e
        message, at = engine.place_of(str(e), now.text)
        at = read_only.same_place(now.original, now.text, at) if now.original else at
        raise UsageError("The query cannot be run.", why=_reason(message), where=now.place(at), fix=_near_columns(texts)) from e


def frame(engine: Engine, case: Case, view: View) -> DataFrame:
    """Return a view's rows as a data frame of the engine's session.

    Raises:
        CaseError: the rows cannot be read.
    """
    from pyspark.errors import PySparkException

    try:
        if (path := case.view_path(view.name)) is not None and view.kept:
            rows = engine.from_files(engine.session.read.parquet(engine.place(str(path))))
            return rows.select(*open_sql.columns_over(view, rows.columns))
        statement = f"SELECT * FROM `{view.name}`"
        _open(engine, case, [statement])
        return engine.sql(statement)
    except PySparkException as e:
        raise CaseError(f"The view `{view.name}` cannot be read.", why=_reason(str(e)), fix="Run `forensics verify` to see what is damaged.") from e


def _open(engine: Engine, case: Case, statements: Sequence[str]) -> None:
    """Define the tables and views that the statements need in the engine.

    Does not use open.sql: in a copied case it may name the original's rows, and the sender of a case may have put anything into it.
    """
    for statement in _needed(open_sql.opening(case.tables(), case.views(), case.thresholds), statements):
        engine.sql(statement)


def _near_columns(statements: Sequence[str]) -> str:
    """Suggest columns for names that the only view of a query does not have."""
    import sqlglot
    from sqlglot import exp

    known = {view.name.lower(): view for view in view_files.views().values()}
    for statement in statements:
        try:
            query = sqlglot.parse_one(statement, read="spark")
        except sqlglot.errors.SqlglotError:
            continue
        tables = [table.name.lower() for table in query.find_all(exp.Table)]
        view = known.get(tables[0]) if len(tables) == 1 and isinstance(query, exp.Select) else None
        if view is not None and view.columns:
            named = {c.lower() for c in view.columns} | {a.alias.lower() for a in query.find_all(exp.Alias)}
            for column in query.find_all(exp.Column):
                if column.name and column.name.lower() not in named:
                    return did_you_mean(column.name, view.columns, f"The columns of {view.name}: {', '.join(view.columns)}.")
    return ""


def print_rows(rows: Rows, wanted: Wanted, to: TextIO | None = None) -> int:
    """Print rows; arguments and result as those of `run`."""
    rows = choose(rows, wanted.columns)
    match wanted.form:
        case "csv":
            print_csv(rows, to)
        case "json":
            print_json(rows, to)
        case _:
            return print_table(rows, to, wanted.width)
    return 0


def _needed(opening: Sequence[str], wanted: Sequence[str]) -> list[str]:
    """Return the statements of `open.sql` that these statements can need, in order: Spark takes time for each of a hundred views.

    A view is needed if its name is a word in a needed statement. A statement that can name views in other ways needs all.
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


def _reason(message: str) -> str:
    """Return an engine's message about a failed statement, without its plan and stack trace."""
    kept = []
    for line in message.strip().split("\n"):
        if line.startswith(("'", "+-", ":-", "JVM stacktrace", "\tat ")):
            break
        kept.append(line)
    text = "\n    ".join(line for line in kept[:12] if line.strip())
    for pattern, words in _SAIL:
        text = pattern.sub(words, text)
    return text


def print_table(rows: Rows, to: TextIO | None = None, width: int | None = None) -> int:
    """Print the first `TABLE_ROWS` rows, as lines if they fit, else one record below the other.

    Args:
        rows: the rows to print.
        to: stream to print to; standard output by default.
        width: columns of the terminal; None for lines of any length (a file, a pipe).

    Returns:
        The number of rows that were left out.
    """
    out = to or sys.stdout
    cells = rows.texts()
    names = [printable(name) for name in rows.names]
    shown = [["" if v is None else printable(v) for v in row] for row in islice(cells, TABLE_ROWS)]
    lengths = [[cell_len(text) for text in column] for column in zip(names, *shown, strict=True)]
    widths = [max(column) if width else _padded_width(column) for column in lengths]
    if width is None or sum(widths) + 2 * len(widths) <= width:
        for row in (names, ["─" * w for w in widths], *shown):
            padded = (padded_to(cell, w, right=r) for cell, w, r in zip(row, widths, rows.numeric, strict=True))
            out.write("  ".join(padded).rstrip() + "\n")
    else:
        longest = min(max(map(cell_len, names)), max(8, width // 2))
        for number, row in enumerate(shown, 1):
            title = f"── {number} "
            out.write(title + "─" * max(0, min(width, 60) - cell_len(title)) + "\n")
            for name, cell in zip(names, row, strict=True):
                if " " not in cell and width - longest - 2 < cell_len(cell) <= width - 2:  # an ID, a path: not wrapped, so that it can be copied
                    out.write(f"{name}\n  {cell}\n")
                    continue
                named, text = wrap(name, longest), wrap(cell, max(8, width - longest - 2))
                for left, right in zip_longest(named, text, fillvalue=""):
                    out.write(f"{padded_to(left, longest)}  {right}".rstrip() + "\n")
    return sum(1 for _ in cells)


def _padded_width(lengths: Sequence[int]) -> int:
    """Return the width to which a column is padded in a file or a pipe: one huge cell must not make every row as long as itself."""
    return min(max(lengths), max(_PADDED_WIDTH, 2 * sum(lengths) // len(lengths)))


def print_csv(rows: Rows, to: TextIO | None = None) -> None:
    r"""Print all rows as CSV (RFC 4180).

    Control characters are printed as escapes (`\x1b`); line breaks and tabs within a text are kept; a text that a spreadsheet would run as a formula is
    prefixed with an apostrophe.
    """
    out = to or sys.stdout
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([inert(name) for name in rows.names])
    for row in rows.texts():
        writer.writerow(["" if v is None else inert(v) for v in row])


def inert(cell: str) -> str:
    """Return a cell without control characters, and with an apostrophe before it if a spreadsheet would take it for a formula; numbers stay numbers."""
    cell = printable_lines(cell)
    return "'" + cell if cell.startswith(_FORMULA) and not _NUMBER.fullmatch(cell) else cell


def print_json(rows: Rows, to: TextIO | None = None) -> None:
    """Print all rows as an array of objects, one per line; times are ISO 8601 in UTC."""
    out = to or sys.stdout
    first = True
    for row in rows.values() if rows.names else ():
        out.write(("[\n" if first else ",\n") + json.dumps(dict(zip(rows.names, row, strict=True))))
        first = False
    out.write("[]\n" if first else "\n]\n")
