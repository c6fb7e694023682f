"""Render blocks for a terminal, at any width, with or without colours."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from forensics.report import screen
from forensics.report.columns import HEAD, RULE, lay_out
from forensics.report.document import Code, Drawing, Heading, Lines, Para, Raw, Table
from forensics.wording.formats import printable

if TYPE_CHECKING:
    from forensics.report.document import Block, Document

_STYLE = {"": "", "bad": "red", "warn": "yellow", "good": "green", "dim": "dim"}
_INDENT = 2


def render(document: Document, *, pager: bool = True) -> None:
    """Print the blocks to standard output: with colours and a pager on a terminal, else as plain text.

    Args:
        document: what to print.
        pager: True to show output that is longer than the screen in a pager.
    """
    if not screen.is_terminal():
        sys.stdout.write(as_text(document, screen.width()))
        return
    with screen.output(pager=pager) as out:
        console = Console(file=out, width=screen.width(), force_terminal=True, highlight=False, markup=False, emoji=False)
        for block in document:
            _print(console, block)


def as_text(document: Iterable[Block], width: int = screen.PIPED_WIDTH) -> str:
    """Return the blocks as plain text, without blanks at the ends of lines."""
    written = io.StringIO()
    console = Console(file=written, width=width, highlight=False, markup=False, emoji=False, no_color=True, force_terminal=False)
    for block in document:
        _print(console, block)
    return "\n".join(line.rstrip() for line in written.getvalue().split("\n"))


def _print(console: Console, block: Block) -> None:
    match block:
        case Heading(level, text, tone):
            console.print()
            if level == 2:
                console.print(Text(f"━━ {printable(text)}", f"bold {_STYLE[tone]}".strip()))
            else:
                words = Text(printable(text), f"bold {_STYLE[tone]}".strip())
                console.print(Padding(words, (0, 0, 0, 2 if level > 3 else 0), expand=False))
        case Para(text, label, tone):
            words = Text.assemble((f"{printable(label)}: " if label else "", "bold"), (_lines(text), _STYLE[tone]))
            console.print(Padding(words, (0, 0, 0, 2), expand=False))
        case Table():
            _table(console, block)
        case Raw(lines):
            digits = len(str(lines[-1].number)) if lines else 0
            before = None
            for raw in lines:
                if before is not None and raw.number > before + 1:
                    console.print(Text(f"  {'⋮':>{digits}}", "dim"))
                before = raw.number
                if raw.role:
                    console.print(Text(f"  {'':>{digits}}  {printable(raw.role)}:", "bold"), soft_wrap=True)
                mark = Text("> " if raw.event_id else "  ", "bold") + Text(f"{raw.number:>{digits}}  ", "cyan" if raw.event_id else "dim")
                console.print(mark + Text(printable(raw.text), "" if raw.event_id else "dim"), soft_wrap=True)
        case Drawing(drawn):
            for letters, tone in drawn:
                console.print(Text(" " * _INDENT + printable(letters), _STYLE[tone]), soft_wrap=True)
        case Code(code, label):
            console.print(Padding(Text(f"{printable(label)}:", "bold"), (0, 0, 0, 2), expand=False))
            for part in code.split("\n"):  # not wrapped, so that it can be copied
                console.print(Text("    " + printable(part)), soft_wrap=True)
        case Lines(lines, label, more):
            head = Text.assemble((printable(label), "bold"), (f" ({printable(more)}):" if more else ":", "dim" if more else "bold"))
            console.print(Padding(head, (0, 0, 0, 2), expand=False))
            for line in lines:
                words = Text.assemble((f"{line.ts}  ", "cyan"), (f"{printable(line.role)}: " if line.role else "", "bold"), printable(line.text))
                for number, row in enumerate(words.wrap(console, console.width - 6)):
                    console.print(Text(" " * (6 if number else 4)) + row, soft_wrap=True)
                # The place is on a line of its own, not wrapped, so that a terminal or an editor can open it.
                console.print(Text(f"      {printable(line.where)}  {printable(line.event_id)}", "dim"), soft_wrap=True)


def _lines(text: str) -> str:
    """Return our own text, which may have line breaks, without control characters for the terminal."""
    return "\n".join(printable(part) for part in text.split("\n"))


def _table(console: Console, block: Table) -> None:
    rows = [tuple(map(_lines, row)) for row in block.rows]
    for row, line in lay_out(block.columns, rows, console.width - _INDENT, block.records):
        style = "bold dim" if row == HEAD else "dim" if row == RULE else _STYLE[block.tones.get(row, "")]
        console.print(Text(" " * _INDENT + line, style), soft_wrap=True)
