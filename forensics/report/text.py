"""Blocks to a terminal, at any width, with or without colours."""

from __future__ import annotations

import io
import os
import sys
from typing import TYPE_CHECKING, TextIO

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from forensics.report.document import Code, Heading, Lines, Para, Raw, Table
from forensics.wording.formats import printable

if TYPE_CHECKING:
    from forensics.report.document import Block, Document

_STYLE = {"": "", "bad": "bold red", "warn": "yellow", "good": "green", "dim": "dim"}
#: Width where there is no terminal to ask (a file, a pipe): wide enough for a log line's beginning, narrow enough for a ticket.
_PIPED_WIDTH = 120


def render(document: Document, to: TextIO | None = None, width: int | None = None) -> None:
    """Prints the blocks.

    Args:
        document: what to print.
        to: where; standard output by default.
        width: columns; by default the terminal's, or $COLUMNS, or 120 where there is no terminal.
    """
    out = to or sys.stdout
    console = Console(file=out, width=width, highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        out.write(as_text(document, width or _piped_width()))
        return
    for block in document:
        _print(console, block)


def as_text(document: Document, width: int = _PIPED_WIDTH) -> str:
    """The blocks as plain text, without blanks at the ends of lines."""
    written = io.StringIO()
    console = Console(file=written, width=width, highlight=False, markup=False, emoji=False, no_color=True, force_terminal=False)
    for block in document:
        _print(console, block)
    return "\n".join(line.rstrip() for line in written.getvalue().split("\n"))


def _piped_width() -> int:
    columns = os.environ.get("COLUMNS", "")
    return max(40, int(columns)) if columns.isdecimal() else _PIPED_WIDTH


def _print(console: Console, block: Block) -> None:
    match block:
        case Heading(level, text, tone):
            console.print()
            if level == 2:
                console.print(Text("━━ ", _STYLE[tone] or "bold") + Text(printable(text), _STYLE[tone] or "bold"))
            else:
                console.print(Text(printable(text), _STYLE[tone] if level == 3 and tone else "bold"))
        case Para(text, label, tone):
            words = Text.assemble((f"{printable(label)}: " if label else "", "bold"), (_lines(text), _STYLE[tone]))
            console.print(Padding(words, (0, 0, 0, 2), expand=False))
        case Table():
            console.print(Padding(_table(block), (0, 0, 0, 2), expand=False))
        case Raw(lines):
            digits = len(str(lines[-1].number)) if lines else 0
            before = None
            for raw in lines:
                if before is not None and raw.number > before + 1:
                    console.print(Text(f"  {'⋮':>{digits}}", "dim"))
                before = raw.number
                mark = Text("> " if raw.event_id else "  ", "bold") + Text(f"{raw.number:>{digits}}  ", "cyan" if raw.event_id else "dim")
                console.print(mark + Text(printable(raw.text), "" if raw.event_id else "dim"), soft_wrap=True)
        case Code(code, label):
            console.print(Padding(Text(f"{label}:", "bold"), (0, 0, 0, 2), expand=False))
            for part in code.split("\n"):  # unbroken, so that it can be copied
                console.print(Text("    " + printable(part)), soft_wrap=True)
        case Lines(lines, label):
            console.print(Padding(Text(f"{label}:", "bold"), (0, 0, 0, 2), expand=False))
            for line in lines:
                # The place stands alone and unbroken, so that a terminal or an editor can follow it.
                head = Text(printable(line.where), "cyan") + Text(f"  {line.ts}  ", "dim") + Text(printable(line.event_id), "dim")
                console.print(Padding(head, (0, 0, 0, 4), expand=False), soft_wrap=True)
                console.print(Padding(Text(printable(line.text)), (0, 0, 0, 6), expand=False))


def _lines(text: str) -> str:
    """Text of our own making may have line breaks; nothing in it may steer the terminal."""
    return "\n".join(printable(part) for part in text.split("\n"))


def _table(block: Table) -> RichTable:
    table = RichTable(
        box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold dim", padding=(0, 1), show_header=any(c.name for c in block.columns)
    )
    for column in block.columns:
        # A column of words stays wide enough for a word; numbers, times and names are never broken.
        table.add_column(
            column.name,
            justify="right" if column.right else "left",
            no_wrap=column.fixed,
            overflow="fold",
            min_width=min(12, max((len(line) for row in block.rows for line in row[block.columns.index(column)].split("\n")), default=0)),
        )
    for number, row in enumerate(block.rows):
        table.add_row(*(Text(_lines(cell)) for cell in row), style=_STYLE[block.tones.get(number, "")])
    return table
