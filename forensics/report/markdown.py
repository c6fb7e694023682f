"""Convert blocks to Markdown (GitHub's), for tickets and wikis."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from forensics.report.document import Code, Drawing, Heading, Lines, Para, Raw, Table
from forensics.wording.formats import printable

if TYPE_CHECKING:
    from forensics.report.document import Block, Document

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~!&@])")
_CODE = re.compile(r"(`[^`\n]+`)")


def render(document: Document) -> str:
    """Return the blocks as Markdown; text from logs can neither add markup nor end a code block."""
    return "\n".join(part for block in document for part in _block(block)).strip() + "\n"


def _block(block: Block) -> list[str]:
    match block:
        case Heading(_, "", _):
            return []
        case Heading(level, text, _):
            return ["", f"{'#' * level} {_escape(text)}", ""]
        case Para(text, label, _):
            return [(f"**{_escape(label)}:** " if label else "") + _prose(text).replace("\n", "  \n"), ""]
        case Table((first, second), rows, _) if not (first.name or second.name):  # sentences with labels
            return [*(f"- **{_escape(label)}:** {_prose(text)}" if label else f"- {_prose(text)}" for label, text in rows), ""]
        case Table(columns, rows, _):
            head = [_row([_escape(c.name) for c in columns]), _row(["---:" if c.right else "---" for c in columns])]
            return [*head, *(_row([_escape(cell).replace("\n", "<br>") for cell in row]) for row in rows), ""]
        case Lines(lines, label, more):
            worded = (f"{line.ts}  {line.role}{': ' if line.role else ''}{line.text}" for line in lines)
            text = "\n".join(f"{printable(words)}\n    {printable(line.where)}" for words, line in zip(worded, lines, strict=True))
            return [f"**{_escape(label)}:**" + (f" {_prose(more)}" if more else ""), "", _fenced(text), ""]
        case Code(code, label):
            return [f"**{_escape(label)}:**", "", _fenced("\n".join(printable(part) for part in code.split("\n"))), ""]
        case Drawing(drawn):
            return [_fenced("\n".join(printable(letters) for letters, _ in drawn)), ""]
        case Raw(lines):
            return [_fenced("\n".join(f"{'>' if line.event_id else ' '} {line.number}  {printable(line.text)}" for line in lines)), ""]


def _fenced(text: str) -> str:
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    return f"{fence}text\n{text}\n{fence}"


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _escape(text: str) -> str:
    return "\n".join(_SPECIAL.sub(r"\\\1", printable(part)) for part in text.split("\n"))


def _prose(text: str) -> str:
    """Escape one of our own sentences except its `code`."""
    return "".join("`" + printable(part[1:-1]) + "`" if _CODE.fullmatch(part) else _escape(part) for part in _CODE.split(text))
