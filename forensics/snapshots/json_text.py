"""Parse JSON with the position of every object, even if the text is truncated."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from json import decoder, scanner
from typing import Any

from forensics.snapshots.observation import Broken, Item, Line, document

_CLOSING = {"{": "}", "[": "]"}


class Placed(dict[str, Any]):
    """An object, and its position in the text."""

    at: int = 0


class _Decoder(json.JSONDecoder):
    """A decoder whose objects are `Placed`."""

    def __init__(self) -> None:
        super().__init__()
        self.parse_object = self._placed
        self.scan_once = scanner.py_make_scanner(self)  # type: ignore[attr-defined]  # the scanner in C does not call parse_object

    @staticmethod
    def _placed(s_and_end: tuple[str, int], *args: Any) -> tuple[Placed, int]:  # noqa: ANN401  (as json hands them over)
        found, end = decoder.JSONObject(s_and_end, *args)  # type: ignore[attr-defined]
        placed = Placed(found)
        placed.at = s_and_end[1] - 1
        return placed, end


class Documents:
    """The consecutive JSON values of a text, with other lines between them.

    Args:
        text: all of it.

    Attributes:
        broken: why the last value is incomplete; empty if it is complete.
        between: lines outside the values, with their positions.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._breaks = [i for i, c in enumerate(text) if c == "\n"]
        self.broken = ""
        self.between: list[tuple[int, str]] = []

    def line_of(self, at: int) -> int:
        """Return the number of lines before a position."""
        return bisect_right(self._breaks, at - 1)

    def __iter__(self) -> Iterator[tuple[int, Any]]:
        """Yield each value and its position; the last may be what could be recovered of it."""
        at, size, decode = 0, len(self._text), _Decoder()
        while at < size:
            if self._text[at].isspace():
                at += 1
            elif self._text[at] in "{[":
                try:
                    value, end = decode.raw_decode(self._text, at)
                except (ValueError, RecursionError):
                    cut = _closed(self._text[at:])
                    self.broken = f"the JSON that begins in line {self.line_of(at) + 1} is incomplete"
                    try:
                        value = decode.raw_decode(cut)[0] if cut else None
                    except (ValueError, RecursionError):
                        value = None
                    if value is not None:
                        yield at, _moved(value, at)
                    return
                yield at, value
                at = end
            else:
                end = self._text.find("\n", at)
                end = size if end < 0 else end
                self.between.append((at, self._text[at:end]))
                at = end


class Places:
    """A converter of positions in a document to lines.

    Args:
        text: all of it.
        first: its first line.
    """

    def __init__(self, text: str, first: Line) -> None:
        self._text, self._first = text, first
        self._begins, self._starts = [0], [first.offset]
        for line in text.split("\n"):
            self._begins.append(self._begins[-1] + len(line) + 1)
            self._starts.append(self._starts[-1] + len(line.encode("utf-8", "replace")) + 1)

    def of(self, value: Placed) -> Line:
        """Return the line of an object; its bytes are the object's, from which the ID is computed."""
        number = bisect_right(self._begins, value.at) - 1
        offset = self._starts[number] + len(self._text[self._begins[number] : value.at].encode("utf-8", "replace"))
        return Line(self._first.number + number, offset, json.dumps(value, sort_keys=True).encode(), "")


def _closed(text: str) -> str:
    """Return the beginning of a JSON text up to its last complete value, with open brackets closed."""
    stack: list[str] = []
    best: tuple[int, tuple[str, ...]] | None = None
    in_string = escaped = False
    for i, c in enumerate(text):
        if in_string:
            if escaped:
                escaped = False
            elif c == "\\":
                escaped = True
            elif c == '"':
                in_string = False
            continue
        if c == '"':
            in_string = True
        elif c in "{[":
            stack.append(c)
        elif c in "}]":
            if not stack or _CLOSING[stack[-1]] != c:
                break
            stack.pop()
            best = (i + 1, tuple(stack))
        elif c == ",":
            best = (i, tuple(stack))
    if best is None:
        return ""
    end, still = best
    return text[:end] + "".join(_CLOSING[c] for c in reversed(still))


def _moved(value: Any, by: int) -> Any:  # noqa: ANN401  (what JSON gives)
    """Return the value with its objects' positions moved."""
    if isinstance(value, Placed):
        value.at += by
        for inner in value.values():
            _moved(inner, by)
    elif isinstance(value, list):
        for inner in value:
            _moved(inner, by)
    return value


def read_documents(lines: Iterable[Line], read: Callable[[Any, Places], Iterator[Item]]) -> Iterator[Item]:
    """Yield what a function reads from each JSON value of a text, then whether the text is incomplete.

    Args:
        lines: the text.
        read: reads a value; it is called with the value and the places of objects.
    """
    text, first, cut = document(lines)
    if first is None:
        return
    places, where = Places(text, first), Documents(text)
    for _, value in where:
        yield from read(value, places)
    if where.broken or cut:
        yield Broken(where.broken or "the document is larger than 64 MB")
