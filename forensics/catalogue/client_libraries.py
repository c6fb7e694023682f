"""Find words of client libraries in an application's own log format: librdkafka's through a callback, sarama's after a prefix, franz-go's as JSON.

Any text may precede such words: a block with `anywhere = true` is searched wherever its first literal text occurs. Keys and values (`group=a`,
`{"group": "a"}`, `; group: a`, or other keys of a JSON record) are read in the same way for all clients, and a block's `keys` define which of them
become captures.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

Pairs = Mapping[str, Any]

#: Maximum number of positions in a text that are tried; a client's line contains its words once.
_MAX_PLACES = 8
#: Words whose beginning has this length identify a client by themselves. Shorter ones, and those that need keys and values, must not be part of a
#: sentence.
_DISTINCTIVE = 12
_PIECE = 5
#: Keys of the message in a JSON object within a text.
_MESSAGES = ("message", "msg")
_LOGFMT_MESSAGE = re.compile(r'(?<![^\s])(?:msg|message)=(?:"((?:[^"\\]|\\.)*)"|([^\s"]+))')
_LOGFMT_PAIR = re.compile(r'(?<![\w.@-])([A-Za-z_@][\w.@-]*)=(?:"((?:[^"\\]|\\.)*)"|([^\s"]*))')
_COLON_PAIR = re.compile(r"(?:^|, )([a-z][a-z0-9_]*): ")
_NAMED = re.compile(r"\(\?P<(\w+)>")
_ESCAPED = re.compile(r"\\(.)")
_WORD = re.compile(r"[A-Za-z][a-z]*")
_CLOSING = " ]})>,;."
_QUOTES = "\"'`"
#: What precedes a quotation mark that opens.
_BEFORE_QUOTED = (" ", "=", "(", "[", "{", ":", "")
_NOTHING = ("", "<nil>", "null", "nil", "None")


@dataclass(frozen=True, slots=True)
class Interpretation:
    """One interpretation of a record's text.

    Attributes:
        text: the text to search for words.
        pairs: keys and values that accompany it; None if there are none.
    """

    text: str
    pairs: Pairs | None = None


def interpretations(message: str, pairs: Pairs | None) -> Iterator[Interpretation]:
    """Yield the interpretations of a record's text, with keys and values separated from words if it has any.

    Args:
        message: the record's text.
        pairs: the keys of a JSON record, else None.
    """
    message = message.lstrip("\n")  # some layouts put the message on a line of its own
    line = message.partition("\n")[0]
    if "=" in line and (found := _LOGFMT_MESSAGE.search(line)):
        rest = {**_logfmt(line[: found.start()]), **_logfmt(line[found.end() :])}
        yield Interpretation(_unescaped(found[1]) if found[1] is not None else found[2], rest)
    at = line.find('{"')
    if at >= 0 and line.endswith("}"):
        try:
            held = json.loads(line[at:])
        except (ValueError, RecursionError):
            held = None
        if isinstance(held, dict):
            message_text = next((held[key] for key in _MESSAGES if isinstance(held.get(key), str)), None)
            if message_text is not None:
                yield Interpretation(message_text, held)
            yield Interpretation(line[:at].rstrip(), held)
    yield Interpretation(message, pairs)


def places(text: str, beginnings: re.Pattern[str], *, whole: bool = False) -> Iterator[tuple[int, str]]:
    """Yield the positions where words may begin, each with its beginning: in the first line of a text, or in all its lines (a stack trace)."""
    stop = -1 if whole else text.find("\n")
    for found in islice(beginnings.finditer(text, 0, len(text) if stop < 0 else stop), _MAX_PLACES):
        yield found.start(), found[0]


def are_distinctive(prefixes: Iterable[str], keys: Mapping[str, str]) -> bool:
    """Return True if words with these beginnings are a client's regardless of what precedes them."""
    return not keys and all(len(p) >= _DISTINCTIVE for p in prefixes)


def stands_alone(text: str, at: int, distinctive: bool) -> bool:
    """Return True if the text at a position may be a client's words and is not part of a sentence.

    Args:
        text: the record's text.
        at: where the words begin.
        distinctive: True if the words identify a client by themselves.
    """
    if at == 0 or not text[at].isalnum():
        return True
    if text[at - 1].isalnum() or text[at - 1] in "_-":
        return False
    end = at
    while end and text[end - 1] == " ":
        end -= 1
    if not end or distinctive or end == at or not text[end - 1].isalnum():
        return True
    begin = max(text.rfind(" ", 0, end), text.rfind("\t", 0, end)) + 1
    return _WORD.fullmatch(text, begin, end) is None  # a level, a time, a file, a logger; but not a word of a sentence


def end_of(text: str, at: int) -> int:
    """Return the end of the words that begin at a position: the closing quotation mark if they are quoted, also with text before them, else the end of the text."""
    end = len(text.rstrip())
    closed = len(text.rstrip(_CLOSING)) - 1
    if closed <= at or (quote := text[closed]) not in _QUOTES:
        return end
    opened = text.rfind(quote, 0, at)
    is_quoted = opened == at - 1 or opened >= 0 and text[opened - 1 : opened] in _BEFORE_QUOTED and text.find(quote, at, closed) < 0
    return closed if is_quoted and opened >= 0 else end


def pairs_behind(text: str, pairs: Pairs | None) -> Pairs | None:
    """Return keys and values directly after words, or given with them; None if other text follows."""
    if not text.strip():
        return pairs if pairs is not None else {}
    if text.startswith("; "):
        return _colons(text[2:])
    if text[:1] in " \t" and (found := _LOGFMT_PAIR.match(text.lstrip())) and found[1]:
        return _logfmt(text)
    return None


def captures_of(pairs: Pairs, keys: Mapping[str, str]) -> dict[str, str] | None:
    """Return the texts of captures by a block's `keys`; None if a key without a question mark is missing, or has another value than its pattern."""
    found: dict[str, str] = {}
    for key, capture in keys.items():
        value = _text(pairs.get(key.removesuffix("?")))
        if value is not None and "(?P<" in capture:
            if (matched := re.fullmatch(capture, value)) is None:
                return None
            found |= matched.groupdict()
        elif value is not None:
            found[capture] = value
        elif not key.endswith("?"):
            return None
    return found


def names_of(keys: Mapping[str, str]) -> Iterator[str]:
    """Yield the captures that a block's `keys` define: by name, or inside the pattern of a value."""
    for capture in keys.values():
        yield from _NAMED.findall(capture) or (capture,)


def beginnings_of(prefixes: Iterable[str]) -> tuple[str, ...]:
    """Return the shortest texts such that each of the prefixes begins with one."""
    kept: list[str] = []
    for prefix in sorted(set(prefixes), key=lambda p: (len(p), p)):
        if not any(prefix.startswith(k) for k in kept):
            kept.append(prefix)
    return tuple(kept)


def cover_of(texts: Iterable[str]) -> tuple[str, ...]:
    """Return a few short texts of which each given text contains one: searching for them saves most records the search for all."""
    left, cover = set(texts), []
    while left:
        pieces = Counter(piece for text in left for piece in {text[i : i + _PIECE] for i in range(max(1, len(text) - _PIECE + 1))})
        best = max(pieces, key=lambda piece: (pieces[piece], piece))
        cover.append(best)
        left = {text for text in left if best not in text}
    return tuple(cover)


def _text(value: Any) -> str | None:  # noqa: ANN401  (JSON)
    """Return a value as its writer's own logger would print it; None for an empty value."""
    if value is None or value in _NOTHING or (isinstance(value, (dict, list)) and not value):
        return None
    if isinstance(value, bool):
        return str(value).lower()
    return json.dumps(value, separators=(",", ":")) if isinstance(value, (dict, list)) else str(value)


def _logfmt(text: str) -> dict[str, str]:
    return {m[1]: _unescaped(m[2]) if m[2] is not None else m[3] for m in _LOGFMT_PAIR.finditer(text)}


def _colons(text: str) -> dict[str, str] | None:
    """Parse `group: a, member_id: b`, where a value ends before the next key. Return None if the text does not begin with a key."""
    keys = list(_COLON_PAIR.finditer(text))
    if not keys or keys[0].start():
        return None
    ends = [*(k.start() for k in keys[1:]), len(text)]
    return {k[1]: text[k.end() : end].strip() for k, end in zip(keys, ends, strict=True)}


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(r"\1", text) if "\\" in text else text
