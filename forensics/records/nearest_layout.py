"""How far the closest layout gets on a line that none fits, so that a person sees what is strange about it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import regex

from forensics.records.layouts import Layout

_LOOKED_AT = 300


@dataclass(frozen=True)
class Nearest:
    """The layout that comes closest.

    Attributes:
        layout: its name.
        reached: so many characters of the line could begin a record of it.
    """

    layout: str
    reached: int


def nearest(line: str, layouts: Iterable[Layout]) -> Nearest | None:
    """The layout whose head goes along with a line the furthest; None when none takes its first character.

    Layouts that say little (`general`) and those without a time take nearly any text; they tell nothing.
    """
    best: Nearest | None = None
    for layout in layouts:
        if layout.general or layout.untimed or layout.columns:
            continue
        reached = _reach(regex.compile(layout.head), line[:_LOOKED_AT])
        if reached and (best is None or reached > best.reached):
            best = Nearest(layout.name, reached)
    return best


def _reach(head: regex.Pattern[str], line: str) -> int:
    """Length of the longest beginning of a line that could still become what a pattern matches; the lengths that can are without gaps."""
    low, high = 0, len(line)
    while low < high:
        middle = (low + high + 1) // 2
        if head.fullmatch(line[:middle], partial=True):
            low = middle
        else:
            high = middle - 1
    return low
