"""Define the report as blocks: content without layout. Text, Markdown and HTML each render these and nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Literal

Tone = Literal["", "bad", "warn", "good", "dim"]
#: A command in a sentence that reads a case.
_COMMAND = re.compile(r"`(forensics (?:report|show|sql|timeline)\b[^`]*)`")


@dataclass(frozen=True)
class Heading:
    """A title; level 1 is the report's, 2 a section's, 3 a subject's, 4 that of a part of a subject."""

    level: int
    text: str
    tone: Tone = ""


@dataclass(frozen=True)
class Para:
    """A paragraph. `label` is printed before it in bold (`Advice:`)."""

    text: str
    label: str = ""
    tone: Tone = ""


@dataclass(frozen=True)
class Column:
    """A table's column: `right` for numbers; `fixed` if its cells are never wrapped."""

    name: str
    right: bool = False
    fixed: bool = False


@dataclass(frozen=True)
class Table:
    """Rows of text. `tones` colours rows, `anchors` gives them an address, by their index.

    `records`: the number of columns that stay side by side on a page that is too narrow; the others are below them, each with its name. 0: as many as fit.
    """

    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    tones: dict[int, Tone] = field(default_factory=dict)
    anchors: dict[int, str] = field(default_factory=dict)
    records: int = 0


@dataclass(frozen=True)
class Line:
    """A line of a proof: its place, time, text and ID, and the role that it has in the proof."""

    where: str
    ts: str
    text: str
    event_id: str
    role: str = ""


@dataclass(frozen=True)
class Lines:
    """Lines of a proof, in time order; `more` says how to see the others."""

    lines: tuple[Line, ...]
    label: str = "Proof"
    more: str = ""


@dataclass(frozen=True)
class RawLine:
    """An unchanged line of a log; `event_id` is empty for context, `role` says what the line shows in a proof."""

    number: int
    text: str
    event_id: str = ""
    role: str = ""


@dataclass(frozen=True)
class Raw:
    """Lines of one file with their numbers; a gap in the numbers is a gap in the lines."""

    lines: tuple[RawLine, ...]


@dataclass(frozen=True)
class Code:
    """A text to copy unchanged: lines of a configuration, commands."""

    text: str
    label: str


@dataclass(frozen=True)
class Drawing:
    """A picture in characters: its lines, each with its tone, already of the right width."""

    lines: tuple[tuple[str, Tone], ...]


Block = Heading | Para | Table | Lines | Raw | Code | Drawing


class Document:
    """Blocks in reading order; a section without blocks is left out."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []

    def __iter__(self) -> Iterator[Block]:
        return iter(self.blocks)

    def add(self, *blocks: Block) -> None:
        """Append blocks."""
        self.blocks.extend(blocks)

    def of_case(self, option: str) -> Document:
        """Return the document with an option that names the case in each command that reads it, so that the command can be copied."""
        named = Document()
        named.add(*(_named(block, option) for block in self.blocks))
        return named

    def section(self, title: str, blocks: list[Block], tone: Tone = "") -> None:
        """Append a heading and its blocks, unless there are none."""
        if blocks:
            self.add(Heading(2, title, tone), *blocks)


def _named(block: Block, option: str) -> Block:
    def of(text: str) -> str:
        return _COMMAND.sub(lambda command: f"`{command[1]}{option}`", text)

    match block:
        case Heading() | Para():
            return replace(block, text=of(block.text))
        case Table():
            return replace(block, rows=tuple(tuple(map(of, row)) for row in block.rows))
        case Lines():
            return replace(block, more=of(block.more))
    return block
