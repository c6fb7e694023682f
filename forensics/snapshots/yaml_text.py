"""Read YAML as kubectl prints it, with the position of every object: blocks of mappings and lists, no anchors, no aliases.

A library (PyYAML) builds nothing from a text that is cut off, and gives no positions; what kubectl prints needs only this.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from forensics.snapshots.json_text import Placed

#: Deeper objects are not read.
_MAX_DEPTH = 60
_KEY = re.compile(
    r"(?:\"(?P<double>(?:[^\"\\]|\\.)*+)\"|'(?P<single>(?:[^']|'')*+)'|(?P<plain>[^\s\"'#\[\]{},&*!|>%@`-][^\s:]*+(?::[^\s:]++)*+)):(?: +(?P<value>\S.*)?)?$"
)
_BLOCK = re.compile(r"[|>][-+0-9]{0,2}(?: +#.*)?")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))")
_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "0": "\0"}


class YamlDocuments:
    """The documents of a YAML text.

    Args:
        text: all of it.

    Attributes:
        strange: lines that do not fit, each with its number from 0.
        is_cut: True if the last document ends inside a quoted text, or before the kind of a list, which kubectl prints after its items.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self.strange: list[tuple[int, str]] = []
        self.is_cut = False

    def __iter__(self) -> Iterator[Placed]:
        """Yield each document that is a mapping; the last may be what could be read of it."""
        at = 0
        builder = Builder()
        for number, line in enumerate(self._text.split("\n")):
            if line.startswith("---") or line.rstrip() == "...":
                yield from builder.documents()
                builder = Builder()
            elif not builder.take(line, at):
                self.strange.append((number, line))
            at += len(line) + 1
        self.is_cut = builder.is_cut
        yield from builder.documents()


class Builder:
    """A document that is being read, line by line.

    Attributes:
        goes_on: True if the last line belongs to the value before it.
    """

    def __init__(self) -> None:
        self.goes_on = False
        self._root: Placed | None = None
        #: Open mappings and lists, each with its indent.
        self._open: list[tuple[int, Any]] = []
        #: A key without a value so far: its mapping, its name and its indent.
        self._waiting: tuple[Any, Any, int] | None = None
        #: A value that may go on in the next lines: its mapping or list, its place, its indent and its quote; `|`: a block of text.
        self._running: tuple[Any, Any, int, str] | None = None

    def documents(self) -> Iterator[Placed]:
        """Yield the document, if there is one."""
        if self._root is not None:
            yield self._root

    @property
    def is_cut(self) -> bool:
        """Return True if the document ends inside a quoted text, or before the kind of a list."""
        quoted = self._running is not None and self._running[3] in ('"', "'")
        return quoted or (self._root is not None and "items" in self._root and "kind" not in self._root)

    def take(self, line: str, at: int) -> bool:
        """Take the next line; return False if it does not fit.

        Args:
            line: without its line break.
            at: position of its first character.
        """
        body = line.strip()
        indent = len(line) - len(line.lstrip(" "))
        self.goes_on = self._running is not None and self._goes_on(body, indent)
        if self.goes_on:
            return True
        if not body or body.startswith("#"):
            return True
        while body == "-" or body.startswith("- "):
            items = self._list_at(indent)
            if items is None:
                return False
            rest = body[1:].lstrip(" ")
            self._waiting = (items, None, indent)
            indent += len(body) - len(rest)
            body = rest
            if not body:
                return True
        found = _KEY.match(body)
        if found is None:
            return self._scalar(body, indent)
        mapping = self._mapping_at(indent, at + line.find(body))
        if mapping is None:
            return False
        key = _quoted(found["double"], '"') if found["double"] is not None else (found["single"] or found["plain"] or "").replace("''", "'")
        mapping[key] = None
        self._put(mapping, key, found["value"] or "", indent)
        return True

    def _goes_on(self, body: str, indent: int) -> bool:
        """Return True if a line belongs to the value before it."""
        holder: Any
        holder, place, own_indent, quote = self._running or (None, None, 0, "")
        if quote in ('"', "'"):
            text = f"{holder[place]} {body}"
            holder[place] = text
            if _ends(text, quote):
                holder[place], self._running = _quoted(text[1:-1], quote), None
            return True
        if body and indent <= own_indent:
            self._running = None
            return False
        if body:
            holder[place] = f"{holder[place]}{' ' if holder[place] else ''}{body}"
        return True

    def _put(self, holder: Any, place: Any, value: str, indent: int) -> None:  # noqa: ANN401  (a mapping and its key, or a list and its index)
        if not value or value.startswith("#"):
            self._waiting = (holder, place, indent)
        elif _BLOCK.fullmatch(value):
            holder[place] = ""
            self._running = (holder, place, indent, "|")
        elif value[0] in "\"'":
            holder[place] = value
            if len(value) > 1 and _ends(value, value[0]):
                holder[place] = _quoted(value[1:-1], value[0])
            else:
                self._running = (holder, place, indent, value[0])
        else:
            holder[place] = {"{}": {}, "[]": [], "null": None, "~": None}.get(value, value)
            self._running = (holder, place, indent, "") if isinstance(holder[place], str) else None

    def _scalar(self, body: str, indent: int) -> bool:
        """Take an item of a list that is no mapping."""
        if self._waiting is None or self._waiting[1] is not None:
            return False
        items, _, own_indent = self._waiting
        self._waiting = None
        items.append(None)
        self._put(items, len(items) - 1, body, own_indent)
        return True

    def _list_at(self, indent: int) -> Any:  # noqa: ANN401  (a list)
        """Return the list whose items have this indent; a list may have that of its key."""
        while self._open and (self._open[-1][0] > indent):
            self._open.pop()
        if self._waiting is not None and self._waiting[2] <= indent:
            return self._opened([], indent)
        if self._open and self._open[-1][0] == indent and isinstance(self._open[-1][1], list):
            return self._open[-1][1]
        return None

    def _mapping_at(self, indent: int, at: int) -> Any:  # noqa: ANN401  (a mapping)
        while self._open and (self._open[-1][0] > indent or (self._open[-1][0] == indent and isinstance(self._open[-1][1], list))):
            self._open.pop()
        if self._waiting is not None and self._waiting[2] < indent:
            mapping = Placed()
            mapping.at = at
            return self._opened(mapping, indent)
        self._waiting = None
        if self._open:
            return self._open[-1][1] if self._open[-1][0] == indent else None
        if self._root is not None or indent:
            return None
        self._root = Placed()
        self._root.at = at
        self._open.append((0, self._root))
        return self._root

    def _opened(self, found: Any, indent: int) -> Any:  # noqa: ANN401  (a mapping or a list)
        """Put a new mapping or list where one is waited for, and open it."""
        holder: Any
        holder, place, _ = self._waiting or (None, None, 0)
        self._waiting = None
        if len(self._open) >= _MAX_DEPTH:
            return None
        if place is None:
            holder.append(found)
        else:
            holder[place] = found
        self._open.append((indent, found))
        return found


def _ends(text: str, quote: str) -> bool:
    """Return True if a quoted text is complete."""
    if quote == "'":
        return (len(text) - len(text.rstrip("'"))) % 2 == (1 if len(text.strip("'")) else 0)
    behind = len(text) - 1 - len(text[:-1].rstrip("\\"))
    return text.endswith('"') and behind % 2 == 0


def _quoted(text: str, quote: str) -> str:
    if quote == "'":
        return text.replace("''", "'")
    return _ESCAPE.sub(lambda m: chr(int(m[1], 16)) if m[1] else _LETTERS.get(m[2], m[2]), text)
