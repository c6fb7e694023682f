"""Lay out a table's cells in lines of a given width. Nothing is cut off: columns that do not fit side by side are wrapped, or put below their row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len

if TYPE_CHECKING:
    from forensics.report.document import Column

#: Numbers of lines that belong to no row.
HEAD, RULE = -1, -2
_GAP = 2
#: Indentation of columns that are below their row.
_INDENT = 4
_HANGING = 2
#: A column with cells longer than the first number contains sentences and needs at minimum the second width; short texts are wrapped at any blank.
_SENTENCE, _SENTENCE_WIDTH = 48, 28
_LONG = 96
#: A word longer than this may be broken (a path, a member ID), as may a number with its unit.
_WORD, _NUMBER = 24, 14
_BREAKS = "/,;:=&-_."


class Printed(NamedTuple):
    """A printed line: the number of its row, or HEAD, or RULE."""

    row: int
    text: str


def lay_out(columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int, records: int = 0) -> Iterator[Printed]:
    """Yield the lines of a table.

    Args:
        columns: their names; whether they are numbers, and whether they are kept unbroken if possible.
        rows: their cells; a cell may have several lines.
        width: the width of the page.
        records: the number of columns side by side if not all fit; the others are below, each with its name. 0: as many as fit.
    """
    beside, widths = _fitted(columns, rows, width)
    if records and len(beside) < len(columns):
        beside, widths = _fitted(columns[:records], [row[:records] for row in rows], width)
    below = [i for i in range(len(columns)) if i not in beside]
    # A single column of long lines needs no label; a short text below a row could be mistaken for a cell of the first column.
    alone = len(below) == 1 and max((cell_len(row[below[0]]) for row in rows), default=0) > _LONG
    if any(c.name for c in columns):
        yield from (Printed(HEAD, line) for line in _beside([columns[i].name for i in beside], columns, beside, widths))
        if alone:
            yield from (Printed(HEAD, line) for line in _indented(columns[below[0]].name, width))
        yield Printed(RULE, "─" * min(width, max(sum(widths) + _GAP * (len(widths) - 1), min(width, 40) if below else 0)))
    for number, row in enumerate(rows):
        yield from (Printed(number, line) for line in _beside([row[i] for i in beside], columns, beside, widths))
        for i in below:
            label = f"{columns[i].name}: " if columns[i].name and not alone else ""
            yield from (Printed(number, line) for line in _indented(label + row[i], width) if row[i])


def wrap(text: str, width: int) -> list[str]:
    """Wrap a text's lines at blanks; break a word that is wider than the page after a separator, or anywhere.

    If the text itself has several lines, continuation lines are indented.
    """
    lines: list[str] = []
    several = "\n" in text and width > 2 * _HANGING
    for whole in text.split("\n"):
        if several:
            first, *more = wrap(whole, width) if cell_len(whole) <= width else wrap(whole, width - _HANGING)
            lines += [first, *(" " * _HANGING + line for line in more)]
            continue
        line = ""
        for word in whole.split(" "):
            joined = f"{line} {word}" if line else word
            if cell_len(joined) <= width:
                line = joined
                continue
            if line:
                lines.append(line)
            while cell_len(word) > width:
                part = _part(word, width)
                lines.append(part)
                word = word[len(part) :]
            line = word
        lines.append(line)
    return lines


def _part(word: str, width: int) -> str:
    """Return as much of a word's beginning as fits."""
    end = max(1, width)
    while end > 1 and cell_len(word[:end]) > width:
        end -= 1
    joint = max((word.rfind(sign, 0, end) for sign in _BREAKS), default=-1) + 1
    return word[:joint] if joint > end // 2 else word[:end]


def _fitted(columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int) -> tuple[list[int], list[int]]:
    """Return the columns that fit side by side, and their widths."""
    natural = [max([cell_len(c.name), *(cell_len(line) for row in rows for line in row[i].split("\n"))]) for i, c in enumerate(columns)]
    minimum = [_minimum_width(c, [row[i] for row in rows], natural[i]) for i, c in enumerate(columns)]
    beside = list(range(len(columns)))

    def room(of: Sequence[int]) -> int:
        return width - sum(of[i] for i in beside) - _GAP * (len(beside) - 1)

    while len(beside) > 1 and room(minimum) < 0:
        # The first column identifies the row; sentences are also readable below it.
        beside.remove(max(beside[1:], key=lambda i: (not columns[i].fixed, minimum[i], i)))
    if len(beside) == 1:
        return beside, [min(natural[beside[0]], width)]
    widths = list(minimum)
    spare = room(minimum)
    while spare > 0 and (short := [i for i in beside if widths[i] < natural[i]]):
        widths[max(short, key=lambda i: natural[i] / widths[i])] += 1
        spare -= 1
    return beside, [widths[i] for i in beside]


def _minimum_width(column: Column, cells: Sequence[str], natural: int) -> int:
    """Return the minimum width at which a column is readable."""
    words = [cell_len(word) for cell in cells for word in ((cell,) if column.right and len(cell) <= _NUMBER else cell.split())]
    head = max((cell_len(word) for word in column.name.split()), default=1)
    if column.fixed:
        return max(head, *(cell_len(line) for cell in cells for line in cell.split("\n"))) if cells else head
    sentences = _SENTENCE_WIDTH if natural > _SENTENCE else 0
    return min(natural, max(head, sentences, min(_WORD, max(words, default=1))))


def _beside(cells: Sequence[str], columns: Sequence[Column], beside: Sequence[int], widths: Sequence[int]) -> Iterator[str]:
    wrapped = [wrap(cell, width) for cell, width in zip(cells, widths, strict=True)]
    for line in zip_longest(*wrapped, fillvalue=""):
        padded = (padded_to(text, width, right=columns[i].right) for text, i, width in zip(line, beside, widths, strict=True))
        yield (" " * _GAP).join(padded).rstrip()


def _indented(text: str, width: int) -> Iterator[str]:
    for line in wrap(text, max(1, width - _INDENT)):
        yield " " * _INDENT + line


def padded_to(text: str, width: int, *, right: bool = False) -> str:
    """Return the text padded with blanks to a width."""
    blanks = " " * (width - cell_len(text))
    return blanks + text if right else text + blanks
