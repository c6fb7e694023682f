"""JSON documents that hold records: an array of objects, or the answer of a log store's interface, on one line or on many.

A document becomes lines, one for each record, as if its store had exported an object a line: all that reads those then reads it too. It is taken
apart as it comes, for it may be larger than memory; what is broken in it costs the records in which it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from forensics.evidence.streams import BLOCK, Readable
from forensics.records.layouts import JsonKeys, read_json_as_far

#: Keys from the document's outside to a record; `LIST` for each list on the way.
Path = tuple[str, ...]
LIST = "[]"
#: What Loki answers: objects with `stream`, the labels, and `values`, pairs of a time and a line.
_LABELS, _PAIRS = "stream", ("values", LIST)
#: Keys behind which stores hold the record itself, beside what they know about it.
_HOLDING = ("_source", "fields", "attributes", "message")
_HOLDS = re.compile(r'"(?:_source|fields|attributes|message)"\s{0,20}:\s{0,20}\{')
#: A record is not looked for deeper than this, nor in more places.
_DEEPEST = 8
_MOST_TRIALS = 2_000
#: Brackets within brackets: more than this is no document of records.
_MOST_OPEN = 10_000
#: Records behind a broken one are looked for so often, each time in so many places.
_MOST_MENDED = 200
_MOST_BORDERS = 20
_BORDER = re.compile(r"[}\]\"]\s{0,200},\s{0,200}(?=[{\[])")
#: A record is decoded in a part of the text that is as long as this, or else as that.
_WINDOWS = (8 << 10, 128 << 10, 4 << 20)
#: A record does not begin like this, and to decode it costs much before it fails.
_TOO_DEEP = re.compile(r"(?:\[[ \t\r\n]{0,20}){100}")
#: `false`, or four digits behind `\\u`, may be cut.
_LONGEST_WORD = 8
_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*+(?P<closed>"?)|[{}\[\]:,]')
_STRING_END = re.compile(r'(?:[^"\\\n]|\\.)*+["\n]')
_NANOSECONDS = re.compile(r"1[0-9]{18}")
_LONGEST_KEY = 200
#: How a document may begin, and no line whose time or name stands in brackets: `[2026-`, `[pod/app-0/app] `.
_BEGINS = re.compile(r'\{|\[[ \t\r\n]{0,80}[\[{"0-9\]-]')
_TIME_IN_BRACKETS = re.compile(r"\[[0-9]+-")
_BLANKS = " \t\r\n"
#: Bytes stand for characters here: what is looked for is ASCII, and places stay places.
_AS_BYTES = "latin-1"
_decode = json.JSONDecoder(strict=False).raw_decode


@dataclass(frozen=True, slots=True)
class Element:
    """A record in a document.

    Attributes:
        offset: where it begins in the text.
        line: number of that line, from 1.
        raw: its bytes, no more of them than asked for.
        text: the record as an object on one line, without what its store knows about it.
        cut: it has more bytes.
        broken: it is no JSON, or no record; `text` has what could be read of it.
    """

    offset: int
    line: int
    raw: bytes
    text: str
    cut: bool = False
    broken: bool = False


def document_path(sample: bytes, keys: JsonKeys) -> Path | None:
    """Where the records of a document are, by its beginning. None when it holds none, or one a line: those are read as they stand."""
    text = sample.decode(_AS_BYTES).removeprefix("\xef\xbb\xbf")
    begins = text.lstrip(_BLANKS)
    if not _BEGINS.match(begins) or _TIME_IN_BRACKETS.match(begins):
        return None
    place, at, trials = _Place(), 0, 0
    while trials < _MOST_TRIALS and len(place.path) < _MOST_OPEN and (token := _TOKEN.search(text, at)):
        begin, at = token.start(), token.end()
        if text[begin] in "{[" and (not place.path or place.path[-1] == LIST) and len(place.path) <= _DEEPEST:
            trials += 1
            found, end, _ = _decoded(text, begin)
            if end and _is_record(_inner(found, keys), keys):
                before, after = text[text.rfind("\n", 0, begin) + 1 : begin], text[end : text.find("\n", end) + 1 or len(text)]
                alone = (
                    isinstance(found, dict)
                    and _is_record(found, keys)
                    and not before.strip(_BLANKS)
                    and after.strip(_BLANKS) in ("", ",")
                    and "\n" not in text[begin:end]
                )
                return None if alone else tuple(place.path)
        place.step(token[0])
    return None


def last_records(tail: bytes, path: Path, keys: JsonKeys) -> bytes:
    """The end of a document from the beginning of a record on; empty when it has none."""
    text = tail.decode(_AS_BYTES)
    for opening, _ in zip(re.finditer("[{[]", text), range(_MOST_TRIALS), strict=False):
        found, end, _ = _decoded(text, opening.start())
        if end and (_is_pair(found) if path[-2:] == _PAIRS else _is_record(_inner(found, keys), keys)):
            return tail[opening.start() :]
    return b""


class Document:
    """The records of a document.

    Args:
        stream: the text.
        path: where they are.
        keys: what tells a record's message.
        longest: bytes of a record that are read.

    Attributes:
        error: why the text could not be read to its end.
    """

    def __init__(self, stream: Readable, path: Path, keys: JsonKeys, longest: int) -> None:
        self._stream, self._path, self._keys, self._longest = stream, path, keys, longest
        self._pairs = path[-2:] == _PAIRS
        # What is held of the text, its place in it, the line at some place in what is held, and whether nothing follows.
        self._text, self._base, self._line, self._counted, self._ended = "", 0, 1, 0, False
        self._last = "\n"
        self._mended = 0
        self.error = ""

    @property
    def lines(self) -> int:
        """Lines so far, a last one without a line break included."""
        return self._line - (self._last == "\n")

    def elements(self, outside: Path = ()) -> Iterator[Element]:
        """The records, in order; `outside` is where in the document the text begins."""
        place, labels, at = _Place(outside), dict[str, Any](), 0
        depth = len(self._path)
        while True:
            token = _TOKEN.search(self._text, at)
            if token is None:
                if not self._more(len(self._text)):
                    return
                at = 0
                continue
            begin, at, kind = token.start(), token.end(), token[0]
            if kind[0] == '"' and not token["closed"] and at == len(self._text) and not self._ended:
                at = self._behind_string(begin)
                continue
            here = len(place.path)
            if kind in "{[" and here == depth and tuple(place.path) == self._path:
                begin = self._fill(begin)
                element, at = self._element(begin, labels)
                yield element
                if at < 0:
                    self.error = "the document ends in the middle of a record"
                    self._more(len(self._text))
                    return
                if at:
                    continue
                at = begin + 1
            elif kind == "{" and self._pairs and here == depth - 1 and place.path[-1] == _LABELS:
                begin = self._fill(begin)
                found, at, _ = _decoded(self._text, begin)
                labels = {k: v for k, v in found.items() if isinstance(v, str)} if isinstance(found, dict) else {}
                if at:
                    continue
                at = begin + 1
            elif kind == "}" and here == depth - 1:
                labels = {}
            place.step(kind)
            if len(place.path) > _MOST_OPEN:
                self.error = f"more than {_MOST_OPEN:,} brackets are open in line {self._line_at(at):,}: it is no document of records"
                while self._more(len(self._text)):
                    pass
                return

    def _more(self, done: int) -> bool:
        """Forgets what was read and reads on; False at the end of the text."""
        self._line_at(done)
        self._last = self._text[done - 1] if done else self._last
        self._text, self._base, self._counted = self._text[done:], self._base + done, 0
        data = b"" if self._ended else self._stream.read(BLOCK)
        self._ended = not data
        self._text += data.decode(_AS_BYTES)
        return not self._ended

    def _line_at(self, place: int) -> int:
        """Number of the line at a place, which is not before the last that was asked for."""
        self._line += self._text.count("\n", self._counted, place)
        self._counted = max(self._counted, place)
        return self._line

    def _behind_string(self, begin: int) -> int:
        """Reads on in a string that does not end in what is held; where to go on."""
        if len(self._text) - begin <= self._longest:
            self._more(begin)
            return 0
        at = begin + 1
        while not (end := _STRING_END.match(self._text, at)):
            if not self._more(len(self._text) - self._text.endswith("\\")):
                return len(self._text)
            at = 0
        return end.end()

    def _fill(self, begin: int) -> int:
        """Reads on until what begins at a place is held, if it is not too long; its place then."""
        while not self._ended and len(self._text) - begin <= self._longest and _decoded(self._text, begin)[2]:
            self._more(begin)
            begin = 0
        return begin

    def _element(self, begin: int, labels: Mapping[str, Any]) -> tuple[Element, int]:
        """The record at a place, and where it ends: 0 when nobody knows, -1 when the text ends before."""
        found, end, _ = _decoded(self._text, begin)
        broken = not end or (self._pairs and not _is_pair(found))
        if broken:
            end = self._border(begin) or end or _balanced(self._text, begin, begin + self._longest)
        stop = min(end or len(self._text), begin + self._longest)
        raw = self._text[begin:stop].encode(_AS_BYTES)
        cut = stop < (end or len(self._text)) or not (end or self._ended)
        element = Element(self._base + begin, self._line_at(begin), raw, self._as_line(raw, labels), cut, broken and not cut)
        return element, end if end or not self._ended or cut else -1

    def _as_line(self, raw: bytes, labels: Mapping[str, Any]) -> str:
        text = raw.decode("utf-8", "replace").replace("\0", "")
        if self._pairs or text[:1] == "[" or _HOLDS.search(text):
            found, end, _ = _decoded(text, 0)
            if not end:
                broken = read_json_as_far(text)
                found = {key.partition(".")[2] if key.partition(".")[0] in _HOLDING else key: value for key, value in broken.items()}
            inner = _inner(found, self._keys, labels)
            text = json.dumps(inner, ensure_ascii=False) if inner else text
        return text.replace("\n", " ")

    def _border(self, begin: int) -> int:
        """Where a broken record ends: before the next one that is whole. 0 when none is found."""
        if self._mended >= _MOST_MENDED:
            return 0
        self._mended += 1
        borders = _BORDER.finditer(self._text, begin + 1, begin + self._longest)
        for _, border in zip(range(_MOST_BORDERS), borders, strict=False):
            found, end, _ = _decoded(self._text, border.end())
            if end and (_is_pair(found) if self._pairs else _is_record(_inner(found, self._keys), self._keys)):
                return border.start() + 1
        return 0


class _Place:
    """Where in a document a token stands."""

    def __init__(self, path: Path = ()) -> None:
        self.path = list(path)
        self._key = False

    def step(self, token: str) -> None:
        """Goes on behind a token."""
        first = token[0]
        if first == '"':
            if self._key and len(token) < _LONGEST_KEY:
                self.path[-1] = token[1:-1]
            self._key = False
        elif first in "{[":
            self.path.append(LIST if first == "[" else "")
            self._key = first == "{"
        elif first in "}]":
            if self.path:
                self.path.pop()
            self._key = False
        elif first == ",":
            self._key = bool(self.path) and self.path[-1] != LIST
        else:
            self._key = False


def _decoded(text: str, begin: int) -> tuple[Any, int, bool]:
    """What begins at a place, its end (0 when it cannot be read), and whether that may be because the text ends before it does."""
    if _TOO_DEEP.match(text, begin):
        return None, 0, False
    for window in _WINDOWS:
        part = text[begin : begin + window]  # an error counts the lines before it
        try:
            found, end = _decode(part)
        except json.JSONDecodeError as e:
            if not (e.msg.startswith("Unterminated string") or e.pos >= len(part) - _LONGEST_WORD):
                return None, 0, False
        except (ValueError, RecursionError):
            return None, 0, False
        else:
            return found, begin + end, False
        if begin + window >= len(text):
            return None, 0, True
    return None, 0, False


def _balanced(text: str, begin: int, most: int) -> int:
    """Where the brackets close that open at a place; 0 when they do not."""
    depth = 0
    for token in _TOKEN.finditer(text, begin, most):
        depth += (token[0] in "{[") - (token[0] in "}]")
        if not depth:
            return token.end()
    return 0


def _is_pair(found: Any) -> bool:  # noqa: ANN401  (JSON)
    """Whether something is a time in nanoseconds and a line."""
    return isinstance(found, list) and 2 <= len(found) <= 3 and _NANOSECONDS.fullmatch(str(found[0])) is not None and isinstance(found[1], str)


def _is_record(found: Mapping[str, Any] | None, keys: JsonKeys) -> bool:
    return found is not None and keys.get("message", found) is not None and any(keys.get(k, found) is not None for k in ("time", "level", "logger"))


def _inner(found: Any, keys: JsonKeys, labels: Mapping[str, Any] | None = None) -> dict[str, Any] | None:  # noqa: ANN401  (JSON)
    """The record in an element, without what its store knows about it; None when it is none."""
    if _is_pair(found):
        more = found[2] if len(found) > 2 and isinstance(found[2], dict) else {}
        return {**(labels or {}), **more, "timestamp": str(found[0]), "message": found[1]}
    if isinstance(found, list):  # CloudWatch Logs Insights names each field
        if found and all(isinstance(x, dict) and isinstance(x.get("field"), str) for x in found):
            return {x["field"]: x.get("value") for x in found}
        return None
    if not isinstance(found, dict):
        return None
    for key in _HOLDING:
        held = found.get(key)
        if isinstance(held, dict):
            held = {k: v[0] if isinstance(v, list) and len(v) == 1 else v for k, v in held.items()}
            if keys.get("message", held) is not None and (key == "_source" or keys.get("message", {**found, key: None}) is None):
                return held if key == "_source" else {**{k: v for k, v in found.items() if k not in held and k != key}, **held}
    return found
