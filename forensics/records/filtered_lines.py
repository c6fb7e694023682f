"""Lines that a command such as `grep` chose from a log: what only a selection of lines can look like.

A log that lost a piece, or was cut at its ends, has whole records elsewhere; a selection has parts of records, or marks that the command made.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

#: So many signs of one kind are no chance.
_FEWEST = 2
_FEWEST_NUMBERS = 3
#: Of a client's, worker's or broker's settings, one line each, below the line that says whose they are.
_VALUE = re.compile(rb"(?P<head>[^\t]{0,300})\t[a-z][a-zA-Z0-9_]*(?:\.[a-zA-Z0-9_]+)* = ")
_VALUES_OF = re.compile(rb"[Vv]alues: ?")
#: The number that `grep -n` and `rg` put before a line, and before one of its context.
_NUMBER = re.compile(rb"(?:[^ :|\[\]{}\"]{1,300}[:-])?(?P<number>[0-9]{1,9})[:-]")
_WORD = re.compile(r"[A-Za-z][A-Za-z_]{3,60}")
#: Words that layouts print in every line.
_OF_LAYOUTS = frozenset(
    {"info", "warn", "error", "debug", "trace", "main", "warning", "level", "message", "timestamp", "logger", "thread", "kafka", "apache"}
)
_FEWEST_LINES = 3


def filtered_by(lines: Sequence[bytes], wrappers: Sequence[str] = ()) -> str:
    """Why the lines of a file must be a selection: `separators` between hits with context, `line_numbers` that jump, `values` without their heads.

    Args:
        lines: from a file's beginning on, without line breaks.
        wrappers: what stands before them.

    Returns:
        The first of these that shows, empty when none does.
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
        if _is_value(line) and before and not _is_value(before) and not _VALUES_OF.search(before):
            headless += 1
    return "values" if headless >= _FEWEST else ""


def _is_value(line: bytes) -> bool:
    return _VALUE.match(line) is not None


def common_literal(lines: Sequence[str]) -> str:
    """The longest word that all lines have, whatever its case; empty when there is none, or there are few lines."""
    if len(lines) < _FEWEST_LINES:
        return ""
    words: set[str] = {w.lower() for w in _WORD.findall(min(lines, key=len))} - _OF_LAYOUTS
    # A line has a part of a longer word, too: `rebalanc` in `rebalance` and `rebalancing`.
    words |= {w[:n] for w in words for n in range(4, len(w))}
    for line in lines:
        low = line.lower()
        words = {w for w in words if w in low}
        if not words:
            return ""
    return max(words, key=lambda w: (len(w), w))
