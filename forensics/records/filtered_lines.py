"""Detect lines that a command such as `grep` selected from a log, by signs that only a selection can have.

A log that lost a part, or was truncated, has whole records elsewhere; a selection has parts of records, or marks of the command.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

#: This many signs of one kind are not a coincidence.
_FEWEST = 2
_FEWEST_NUMBERS = 3
#: A setting of a client, worker, connector or broker: one line each, below the line that identifies the owner. Names may have hyphens
#: (`offset-syncs.topic.replication.factor`) and capitals (`transforms.InsertKey.type`).
_VALUE = re.compile(rb"[^\t]{0,300}\t[A-Za-z][^\s=]* = ")
#: The first line of a record. A value that has line breaks itself, such as a query, continues on lines without a level.
_RECORD = re.compile(rb"\b(?:TRACE|DEBUG|INFO|WARN|WARNING|ERROR|FATAL)\b")
_VALUES_OF = re.compile(rb"[Vv]alues: ?")
#: The number that `grep -n` and `rg` put before a line, or before a line of its context.
_NUMBER = re.compile(rb"(?:[^ :|\[\]{}\"]{1,300}[:-])?(?P<number>[0-9]{1,9})[:-]")
_WORD = re.compile(r"[A-Za-z][A-Za-z_]{3,60}")
#: Words that layouts print in every line.
_OF_LAYOUTS = frozenset(
    {"info", "warn", "error", "debug", "trace", "main", "warning", "level", "message", "timestamp", "logger", "thread", "kafka", "apache"}
)
_FEWEST_LINES = 3


def filtered_by(lines: Sequence[bytes], wrappers: Sequence[str] = ()) -> str:
    """Return the sign that lines are a selection: `separators` between hits with context, `line_numbers` that jump, `values` without their heads.

    Args:
        lines: lines from the beginning of a file, without line breaks.
        wrappers: wrappers of the lines.

    Returns:
        The first of these signs that is present; empty if there is none.
    """
    stripped = [line.rstrip(b"\r") for line in lines]
    if sum(line == b"--" for line in stripped) >= _FEWEST:
        return "separators"
    if "line numbers" in wrappers or "grep" in wrappers:
        numbers = [int(m["number"]) if (m := _NUMBER.match(line)) else None for line in stripped]
        if sum(a is not None and b is not None and b > a + 1 for a, b in pairwise(numbers)) >= _FEWEST_NUMBERS:
            return "line_numbers"
    headless = 0
    for before, line in pairwise(stripped):
        if _is_value(line) and not _is_value(before) and _RECORD.search(before) and not _VALUES_OF.search(before):
            headless += 1
    return "values" if headless >= _FEWEST else ""


def _is_value(line: bytes) -> bool:
    return _VALUE.match(line) is not None


def common_literal(lines: Sequence[str]) -> str:
    """Return the longest word that all lines contain, ignoring case; empty if there is none, or if there are few lines."""
    if len(lines) < _FEWEST_LINES:
        return ""
    words: set[str] = {w.lower() for w in _WORD.findall(min(lines, key=len))} - _OF_LAYOUTS
    # Lines may contain a part of a longer word: `rebalanc` in `rebalance` and `rebalancing`.
    words |= {w[:n] for w in words for n in range(4, len(w))}
    for line in lines:
        low = line.lower()
        words = {w for w in words if w in low}
        if not words:
            return ""
    return max(words, key=lambda w: (len(w), w))
