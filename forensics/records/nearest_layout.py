"""Find how much of a line the closest layout matches if none fits, to show the user where the line deviates."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import regex

from forensics.records.layouts import Layout

_LOOKED_AT = 300


@dataclass(frozen=True)
class Nearest:
    """The closest layout.

    Attributes:
        layout: its name.
        reached: number of characters of the line that could begin a record of it.
    """

    layout: str
    reached: int


def nearest(line: str, layouts: Iterable[Layout]) -> Nearest | None:
    """Return the layout whose head matches most of a line; None if none matches a part of it that has a digit.

    Layouts with little content (`general`) and those without a time match nearly any text, and are skipped. So are matches without the beginning of a
    time: any text begins with a word.
    """
    best: Nearest | None = None
    for layout in layouts:
        if layout.general or layout.untimed or layout.columns:
            continue
        reached = _reach(regex.compile(layout.head), line[:_LOOKED_AT])
        if any(map(str.isdigit, line[:reached])) and (best is None or reached > best.reached):
            best = Nearest(layout.name, reached)
    return best


def _reach(head: regex.Pattern[str], line: str) -> int:
    """Return the length of the longest beginning of a line that could still become a match; all shorter beginnings can too."""
    low, high = 0, len(line)
    while low < high:
        middle = (low + high + 1) // 2
        if head.fullmatch(line[:middle], partial=True):
            low = middle
        else:
            high = middle - 1
    return low
