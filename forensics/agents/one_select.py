"""Accept one SELECT over a case's views, of limited size."""

from __future__ import annotations

from sqlglot import exp

from forensics.case import view_files
from forensics.errors import UsageError
from forensics.report.query import Statement
from forensics.report.read_only import Guard, Refused

_LONGEST = 20_000
_FIX = "Write one SELECT over the views of the case. Without a statement, this tool lists the views."


def accept(text: str, rows: int) -> Statement:
    """Return a statement that an engine may run.

    Args:
        text: the user's statement.
        rows: the number of rows that the caller reads; a SELECT without LIMIT gets it as its limit.

    Raises:
        UsageError: it is not one SELECT over views of the case, or is not known to only read them.
    """
    if len(text) > _LONGEST:
        raise _refused(f"it has more than {_LONGEST:,} characters")
    statements = view_files.statements(text)
    if len(statements) != 1:
        raise _refused(f"there are {len(statements)} statements")
    guard = Guard()
    try:
        query = guard.query(statements[0])
        if isinstance(query, exp.Select) and not query.args.get("limit"):
            query = query.limit(rows)
        return Statement(guard.written(query))
    except Refused as e:
        raise _refused(e.why, e.fix or _FIX) from e


def _refused(why: str, fix: str = _FIX) -> UsageError:
    return UsageError("The statement was not run.", why=why, where="statement", fix=fix)
