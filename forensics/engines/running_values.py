"""The last value so far, said so that DataFusion (Sail's engine) keeps it from row to row: `last_value(x, true)` looks at all rows before for each row."""

from __future__ import annotations

import re

_LAST = re.compile(r"""'[^']*'|"[^"]*"|`[^`]*`|(?P<call>\blast_value\s*\()""", re.IGNORECASE)
_OVER = re.compile(r"\s*OVER\s*(?:(?P<name>[A-Za-z_]\w*)|\()", re.IGNORECASE)
_IGNORING_NULLS = re.compile(r"(?P<value>.+),\s*true\s*", re.IGNORECASE | re.DOTALL)
#: Places in a log: never NULL, and no two lines of one log have the same.
_WINDOW = re.compile(
    r".*\bORDER\s+BY\s+(?P<key>(?:\w+\.)?(?:stream_pos|pos))(?P<desc>\s+DESC)?\s+ROWS\s+(?:BETWEEN\s+)?UNBOUNDED\s+PRECEDING\b.*",
    re.IGNORECASE | re.DOTALL,
)
_WORD = re.compile(r"[A-Za-z_]\w*")
_AS = re.compile(r"\s+AS\s*\(", re.IGNORECASE)
_QUERY = re.compile(r"\s*(?:SELECT|WITH|FROM)\b", re.IGNORECASE)


def kept(statement: str) -> str:
    """The statement with each `last_value(x, true)` over the lines of a log so far as a `max_by`, which is the same and costs one look a row."""
    found = _LAST.search(statement)
    while found:
        text = _rewritten(statement, found.start(), found.end()) if found["call"] else None
        statement = text or statement
        found = _LAST.search(statement, found.start() if text else found.end())
    return statement


def _rewritten(statement: str, start: int, inside: int) -> str | None:
    end = _closing(statement, inside)
    call = _IGNORING_NULLS.fullmatch(statement, inside, end - 1)
    over = _OVER.match(statement, end)
    if not call or not over:
        return None
    window = _named(statement, over.end(), over["name"]) if over["name"] else statement[over.end() : _closing(statement, over.end()) - 1]
    order = _WINDOW.fullmatch(window or "")
    if not order:
        return None
    value = call["value"].strip()
    function = "min_by" if order["desc"] else "max_by"
    return f"{statement[:start]}{function}({value}, CASE WHEN ({value}) IS NOT NULL THEN {order['key']} END){statement[end:]}"


def _closing(statement: str, at: int) -> int:
    """Behind the parenthesis that closes the one before `at`."""
    depth = 1
    while depth and at < len(statement):
        at, char = _next(statement, at)
        depth += {"(": 1, ")": -1}.get(char, 0)
    return at


def _next(statement: str, at: int) -> tuple[int, str]:
    """Behind the next character or quoted text, and its first character."""
    char = statement[at]
    if char in "'\"`":
        end = statement.find(char, at + 1)
        return (end + 1 if end >= 0 else len(statement)), char
    return at + 1, char


def _named(statement: str, at: int, name: str) -> str | None:
    """What the window `name` is in the query that goes on at `at`: the definition behind the query's own WINDOW, not one of a query inside it."""
    # What is open around the call: a query of its own, whose end is the end of its windows, or the call of a function.
    around = _opened(statement, at)
    depth, defining = 0, False
    while at < len(statement):
        if depth == 0 and (word := _WORD.match(statement, at)):
            at = word.end()
            defining = defining or word[0].upper() == "WINDOW"
            opened = _AS.match(statement, at)
            if defining and opened and word[0].lower() == name.lower():
                return statement[opened.end() : _closing(statement, opened.end()) - 1]
            continue
        at, char = _next(statement, at)
        depth += {"(": 1, ")": -1}.get(char, 0)
        if depth < 0:
            if not around or _QUERY.match(statement, around.pop()):
                return None
            depth = 0
    return None


def _opened(statement: str, to: int) -> list[int]:
    """Behind each parenthesis that is open at `to`."""
    found: list[int] = []
    at = 0
    while at < to:
        at, char = _next(statement, at)
        if char == "(":
            found.append(at)
        elif char == ")" and found:
            found.pop()
    return found
