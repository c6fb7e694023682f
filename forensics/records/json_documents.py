"""Read JSON documents that contain records: an array of objects, or the answer of a log store's API, on one line or on several.

A document is converted to lines, one for each record, as if its store had exported one object per line, which the other readers understand. It is
parsed as a stream, because it may be larger than memory; an error in it costs only the records that contain it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from forensics.evidence.streams import BLOCK, Readable
from forensics.records.layouts import JsonKeys, read_json_as_far

#: Keys from the outermost level of the document to a record; `LIST` for each list on the path.
Path = tuple[str, ...]
LIST = "[]"
#: Loki's answers: objects with `stream`, the labels, and `values`, pairs of a time and a line.
_LABELS, _PAIRS = "stream", ("values", LIST)
#: OpenTelemetry's documents: objects with `resource`, the attributes of a process, and its records two lists below.
_RESOURCE, _OF_RESOURCE, _BODY = "resource", ("scopeLogs", LIST, "logRecords", LIST), "body"
#: Keys under which stores put the record itself, next to their own metadata.
_HOLDING = ("_source", "fields", "attributes", "message")
_HOLDS = re.compile(r'"(?:_source|fields|attributes|message|body)"\s{0,20}:\s{0,20}\{')
#: Maximum depth, and number of places, to search for a record.
_DEEPEST = 8
_MAX_TRIALS = 2_000
#: Maximum depth of brackets in a document of records.
_MAX_OPEN = 10_000
#: Maximum number of searches for the next record after a broken one, and of positions in each search.
_MAX_MENDED = 200
_MAX_BORDERS = 20
_BORDER = re.compile(r"[}\]\"]\s{0,200},\s{0,200}(?=[{\[])")
#: Sizes of the windows of text in which a record is decoded, tried in this order.
_WINDOWS = (8 << 10, 128 << 10, 4 << 20)
#: No record begins like this, and decoding it would take long before it fails.
_TOO_DEEP = re.compile(r"(?:\[[ \t\r\n]{0,20}){100}")
#: `false`, or four digits after `\\u`, may be truncated.
_LONGEST_WORD = 8
_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*+(?P<closed>"?)|[{}\[\]:,]')
_STRING_END = re.compile(r'(?:[^"\\\n]|\\.)*+["\n]')
_NANOSECONDS = re.compile(r"1[0-9]{18}")
_LONGEST_KEY = 200
#: Possible beginnings of a document, as opposed to lines that begin with a time or name in brackets: `[2026-`, `[pod/app-0/app] `.
_BEGINS = re.compile(r'\{|\[[ \t\r\n]{0,80}[\[{"0-9\]-]')
_TIME_IN_BRACKETS = re.compile(r"\[[0-9]+-")
_BLANKS = " \t\r\n"
#: Each byte becomes one character here: the searched texts are ASCII, and positions stay the same.
_AS_BYTES = "latin-1"
_decode = json.JSONDecoder(strict=False).raw_decode


@dataclass(frozen=True, slots=True)
class Element:
    """A record in a document.

    Attributes:
        offset: position of its first byte in the text.
        line: number of that line, from 1.
        raw: its bytes, up to the requested number.
        text: the record as an object on one line, without its store's metadata.
        cut: True if it has more bytes.
        broken: True if it is not valid JSON, or not a record; `text` is what could be read of it.
    """

    offset: int
    line: int
    raw: bytes
    text: str
    cut: bool = False
    broken: bool = False


def document_path(sample: bytes, keys: JsonKeys) -> Path | None:
    """Return the path of the records in a document, by its beginning; None if it has none, or one per line, which needs no conversion."""
    text = sample.decode(_AS_BYTES).removeprefix("\xef\xbb\xbf")
    begins = text.lstrip(_BLANKS)
    if not _BEGINS.match(begins) or _TIME_IN_BRACKETS.match(begins):
        return None
    place, at, trials = _Place(), 0, 0
    while trials < _MAX_TRIALS and len(place.path) < _MAX_OPEN and (token := _TOKEN.search(text, at)):
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
    """Return the end of a document from the beginning of a record on; empty if there is none."""
    text = tail.decode(_AS_BYTES)
    for opening, _ in zip(re.finditer("[{[]", text), range(_MAX_TRIALS), strict=False):
        found, end, _ = _decoded(text, opening.start())
        if end and (_is_pair(found) if path[-2:] == _PAIRS else _is_record(_inner(found, keys), keys)):
            return tail[opening.start() :]
    return b""


class Document:
    """The records of a document.

    Args:
        stream: the text.
        path: path of the records.
        keys: keys that identify a record's message.
        longest: maximum number of bytes of a record that are read.

    Attributes:
        error: reason why the text could not be read to its end.
    """

    def __init__(self, stream: Readable, path: Path, keys: JsonKeys, longest: int) -> None:
        self._stream, self._path, self._keys, self._longest = stream, path, keys, longest
        self._pairs = path[-2:] == _PAIRS
        # Depth of the objects with labels for several records, and their key.
        self._labelled = (len(path) - 1, _LABELS) if self._pairs else (len(path) - 3, _RESOURCE) if path[-4:] == _OF_RESOURCE else (-1, "")
        # The buffered text, its position in the whole, the line at a position in it, and whether nothing follows.
        self._text, self._base, self._line, self._counted, self._ended = "", 0, 1, 0, False
        self._last = "\n"
        self._mended = 0
        self.error = ""

    @property
    def lines(self) -> int:
        """Return the number of lines so far, including a last line without a line break."""
        return self._line - (self._last == "\n")

    def elements(self, outside: Path = ()) -> Iterator[Element]:
        """Yield the records, in order; `outside` is the path at which the text begins."""
        place, labels, at = _Place(outside), dict[str, Any](), 0
        depth, labelled = len(self._path), self._labelled
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
            elif kind == "{" and (here, place.path[-1] if place.path else "") == labelled:
                begin = self._fill(begin)
                found, at, _ = _decoded(self._text, begin)
                labels = _labels(found) if self._pairs else _attributes(found)
                if at:
                    continue
                at = begin + 1
            elif kind == "}" and here == labelled[0]:
                labels = {}
            place.step(kind)
            if len(place.path) > _MAX_OPEN:
                self.error = f"more than {_MAX_OPEN:,} brackets are open in line {self._line_at(at):,}: it is not a document of records"
                while self._more(len(self._text)):
                    pass
                return

    def _more(self, done: int) -> bool:
        """Drop text that was read, and read more; return False at the end of the text."""
        self._line_at(done)
        self._last = self._text[done - 1] if done else self._last
        self._text, self._base, self._counted = self._text[done:], self._base + done, 0
        data = b"" if self._ended else self._stream.read(BLOCK)
        self._ended = not data
        self._text += data.decode(_AS_BYTES)
        return not self._ended

    def _line_at(self, place: int) -> int:
        """Return the number of the line at a position, which is not before the last one that was requested."""
        self._line += self._text.count("\n", self._counted, place)
        self._counted = max(self._counted, place)
        return self._line

    def _behind_string(self, begin: int) -> int:
        """Read to the end of a string that exceeds the buffer; return the position after it."""
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
        """Read until the value at a position is buffered, if it is not too long; return its new position."""
        while not self._ended and len(self._text) - begin <= self._longest and _decoded(self._text, begin)[2]:
            self._more(begin)
            begin = 0
        return begin

    def _element(self, begin: int, labels: Mapping[str, Any]) -> tuple[Element, int]:
        """Return the record at a position, and its end: 0 if that is unknown, -1 if the text ends before."""
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
        """Return the end of a broken record: the beginning of the next complete one; 0 if none is found."""
        if self._mended >= _MAX_MENDED:
            return 0
        self._mended += 1
        borders = _BORDER.finditer(self._text, begin + 1, begin + self._longest)
        for _, border in zip(range(_MAX_BORDERS), borders, strict=False):
            found, end, _ = _decoded(self._text, border.end())
            if end and (_is_pair(found) if self._pairs else _is_record(_inner(found, self._keys), self._keys)):
                return border.start() + 1
        return 0


class _Place:
    """The path of a token in a document."""

    def __init__(self, path: Path = ()) -> None:
        self.path = list(path)
        self._key = False

    def step(self, token: str) -> None:
        """Move to the position after a token."""
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
    """Return the value at a position, its end (0 if it cannot be read), and whether it may just be truncated."""
    if _TOO_DEEP.match(text, begin):
        return None, 0, False
    for window in _WINDOWS:
        part = text[begin : begin + window]  # because an error counts the lines before it
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
    """Return the end of the brackets that open at a position; 0 if they do not close."""
    depth = 0
    for token in _TOKEN.finditer(text, begin, most):
        depth += (token[0] in "{[") - (token[0] in "}]")
        if not depth:
            return token.end()
    return 0


def _is_pair(found: Any) -> bool:  # noqa: ANN401  (JSON)
    """Return True for a pair of a time in nanoseconds and a line."""
    return isinstance(found, list) and 2 <= len(found) <= 3 and _NANOSECONDS.fullmatch(str(found[0])) is not None and isinstance(found[1], str)


def _labels(found: Any) -> dict[str, str]:  # noqa: ANN401  (JSON)
    """Return Loki's labels by name."""
    return {k: v for k, v in found.items() if isinstance(v, str)} if isinstance(found, dict) else {}


def _attributes(found: Any) -> dict[str, str]:  # noqa: ANN401  (JSON)
    """Return OpenTelemetry's attributes, a list of keys and values, by key."""
    given = found.get("attributes") if isinstance(found, dict) else None
    pairs = ((x.get("key"), x.get("value")) for x in given if isinstance(x, dict)) if isinstance(given, list) else ()
    return {k: v["stringValue"] for k, v in pairs if isinstance(k, str) and isinstance(v, dict) and isinstance(v.get("stringValue"), str)}


def _is_record(found: Mapping[str, Any] | None, keys: JsonKeys) -> bool:
    return found is not None and keys.get("message", found) is not None and any(keys.get(k, found) is not None for k in ("time", "level", "logger"))


def _inner(found: Any, keys: JsonKeys, labels: Mapping[str, Any] | None = None) -> dict[str, Any] | None:  # noqa: ANN401  (JSON)
    """Return the record in an element, without its store's metadata; None if there is none."""
    if _is_pair(found):
        more = found[2] if len(found) > 2 and isinstance(found[2], dict) else {}
        return {**(labels or {}), **more, "timestamp": str(found[0]), "message": found[1]}
    if isinstance(found, list):  # CloudWatch Logs Insights lists fields with their names
        if found and all(isinstance(x, dict) and isinstance(x.get("field"), str) for x in found):
            return {x["field"]: x.get("value") for x in found}
        return None
    if not isinstance(found, dict):
        return None
    body = found.get(_BODY)
    if isinstance(body, dict) and isinstance(body.get("stringValue"), str):
        time = found.get("timeUnixNano") or found.get("observedTimeUnixNano")
        level = {"level": found["severityText"]} if found.get("severityText") else {}
        return {**(labels or {}), **_attributes(found), **level, "timestamp": str(time) if time else None, "message": body["stringValue"]}
    for key in _HOLDING:
        held = found.get(key)
        if isinstance(held, dict):
            held = {k: v[0] if isinstance(v, list) and len(v) == 1 else v for k, v in held.items()}
            if keys.get("message", held) is not None and (key == "_source" or keys.get("message", {**found, key: None}) is None):
                return held if key == "_source" else {**{k: v for k, v in found.items() if k not in held and k != key}, **held}
    return found
