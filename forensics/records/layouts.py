"""Compile `parsers/layouts.toml` to layouts, wrappers and headings of whole lines. `line_reader` joins lines to records."""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from html import unescape
from itertools import groupby
from os.path import commonprefix
from typing import Any

from forensics.errors import CatalogueError, UsageError
from forensics.records.beginnings import first_bytes
from forensics.records.pattern_layout import CompiledPattern, compile_pattern
from forensics.records.timestamps import TimeFormat
from forensics.resources import parsers_dir

#: Number of characters at the end of a line in which a tail is searched.
TAIL_WINDOW = 500
JSON_LAYOUT = "json"
#: Maximum length of a heading.
_MAX_HEADING = 500
#: Number of first characters of lines that are cached, and of whole lines; and the longest of these.
_MAX_FIRST, _MAX_LINES, _LONGEST_LINE = 256, 16_384, 1_000
#: Rests of markup after a pasted line: marks of code and of bold, the end of a paragraph.
_MARKDOWN = r"(?:[`*]{1,3}|</[a-z]+>)?"
#: The rest of a colour that has lost its escape character; it begins with one certain character, so that the search is fast.
_COLOUR = re.compile(r"\[[0-9]{1,2}(?:;[0-9]{1,3})*m")
#: Terminal sequences; a paste may have lost their escape character, or show it as ^[.
_ANSI = re.compile(rf"\x1b\[[0-9;]*[A-Za-z]|(?:\^\[|\u241b)?{_COLOUR.pattern}")
#: The last column of an export without quotes, and a time of day.
_EXPORT_TIME = re.compile(r",[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})?Z?\Z")
_LONGEST_EXPORT_TIME = len(",2026-11-21T10:43:54.923456789Z")
_CLOCK = re.compile(r"[0-9]{2}:[0-9]{2}:[0-9]{2}")
#: What a terminal echoes of Ctrl-C, before the next line of the program that it stops.
_INTERRUPTED = ("^C[", "^C2", "^C^C")
#: HTML's special characters, as entities and as they are.
_ENTITY, _RAW = re.compile("&(?:quot|amp|lt|gt|apos|nbsp|#39|#34|#x27|#x2F);"), re.compile("[<>&]")
#: A key and its value in an object whose inner quotation marks are not escaped.
_BROKEN_PAIR = re.compile(
    r"""\s{0,20}"(?P<key>[^"]{1,60})"\s{0,20}:\s{0,20}
    (?:"(?P<text>.*?)(?:"[\s}]{0,40}(?=,\s{0,20}"[^"]{1,60}"\s{0,20}:|\Z)|\Z)|(?P<bare>[^",{}\[\]]+))""",
    re.DOTALL | re.VERBOSE,
)
#: Text before the next key: the ends of objects, and the beginning of one.
_BROKEN_ENDS = re.compile(r"[\s}]{0,40},?")
_BROKEN_OBJECT = re.compile(r'\s{0,20}"(?P<key>[^"]{1,60})"\s{0,20}:\s{0,20}\{')
_BROKEN_LIST = re.compile(r'\s{0,20}"[^"]{1,60}"\s{0,20}:\s{0,20}\[[^\[\]]{0,2000}\]')
_MAX_NESTED = 8
_decode = json.JSONDecoder().raw_decode
#: Characters after an object in a list or in prose.
_AFTER_JSON = " \t\r\n,.;]}`*"
_GROUP = re.compile(r"\(\?P<\w+>")
_PLAIN = re.compile(r"\\[^A-Za-z0-9]|[A-Za-z0-9 \"\',:;=-]")
_PLAIN_RUN = re.compile(rf"(?:(?:{_PLAIN.pattern})(?![*+?{{|]))*")
_FIELDS = {"ts", "level", "thread", "logger", "line", "context", "source"}


@dataclass(frozen=True)
class Example:
    """A line (or a whole record) and the values that must be read from it."""

    line: str
    fields: Mapping[str, Any]


@dataclass(frozen=True)
class Layout:
    """A format of records.

    Attributes:
        name: its name in the file; users see it in `source_file.layout`.
        head: regular expression at the beginning of a record, with groups.
        tails: regular expressions at the end of a line, in order of trial.
        time: format of the group ts, None if there is none.
        untimed: True if it is only tried in files without any time.
        general: True if it contains little (a time and text), so that wrappers are tried first.
        whole: True if the head only tests the line, and the message begins with it.
        columns: names of the fields of a row, for tables, whose head only matches the beginning of a row.
        delimiter: separator of the fields.
        second: regular expression at the beginning of the second line, for records whose message is there.
        nameless: True if its records have no logger, because their writers have none.
    """

    name: str
    head: str
    tails: tuple[str, ...] = ()
    time: TimeFormat | None = None
    untimed: bool = False
    general: bool = False
    whole: bool = False
    second: str = ""
    nameless: bool = False
    columns: tuple[str, ...] = ()
    delimiter: str = ","
    examples: tuple[Example, ...] = ()

    @property
    def loses_loggers(self) -> bool:
        """Return True if it has no place for a logger, although writers of such lines have one."""
        return not self.nameless and not any("(?P<logger>" in part for part in (self.head, self.second, *self.tails))

    @property
    def bare_head(self) -> str:
        """Return the head without names of groups, for alternations and for RE2."""
        return _GROUP.sub("(?:", self.head)


@dataclass(frozen=True)
class Wrapper:
    """A text before every line of a collected or pasted log.

    Attributes:
        name: its name in the file.
        head: regular expression at the beginning of a line, with the groups ts and source.
        time: format of the group ts, None if there is none.
        bare: True if it contains neither name nor time.
        weak: True if it resembles a layout's own time. It is kept if a layout fits the whole line and none fits the rest.
        words: True for any word. It is kept unless a record follows it, here or in other lines of the file.
    """

    name: str
    head: str
    time: TimeFormat | None
    bare: bool
    weak: bool = False
    words: bool = False
    examples: tuple[Example, ...] = ()


@dataclass(frozen=True)
class Heading:
    """A line that a tool puts before the lines of each of several files.

    Attributes:
        name: its name in the file.
        head: regular expression of the whole line, with the group source; without it, the line is a decoration.
        alone: True if one such line counts by itself: it names no file.
    """

    name: str
    head: str
    alone: bool = False
    examples: tuple[Example, ...] = ()


@dataclass(frozen=True)
class JsonKeys:
    """Keys of JSON lines, in order of preference; each a path of keys."""

    paths: Mapping[str, tuple[tuple[str, ...], ...]]

    def get(self, what: str, found: Mapping[str, Any]) -> Any:  # noqa: ANN401  (JSON)
        """Return the first value that exists, else None. A key with dots may also be one flat key."""
        return next(self.all(what, found), None)

    def all(self, what: str, found: Mapping[str, Any]) -> Iterator[Any]:
        """Yield all values that exist, in order of preference."""
        for path in self.paths[what]:
            value = found.get(path[0]) if len(path) == 1 else _value_of(path, found)
            if value is not None and not isinstance(value, dict):
                yield _text_of_bytes(value) if isinstance(value, list) else value


def _text_of_bytes(value: list[Any]) -> Any:  # noqa: ANN401  (JSON)
    """Return the text in a list of bytes, as journald writes text with control characters; return any other list unchanged."""
    if not value or not all(type(b) is int and 0 <= b < 256 for b in value):
        return value
    return _ANSI.sub("", bytes(value).decode("utf-8", "replace"))


def _value_of(path: tuple[str, ...], found: Mapping[str, Any]) -> Any:  # noqa: ANN401  (JSON)
    """Return the value of a key with dots, which may be flat, nested, or flat below a part of it."""
    value: Any = found.get(".".join(path))
    if value is not None:
        return value
    value = found
    for i, key in enumerate(path, 1):
        value = value.get(key)
        if not isinstance(value, dict):
            return value if i == len(path) else None
        if (flat := value.get(".".join(path[i:]))) is not None:
            return flat
    return value


@dataclass(frozen=True)
class Layouts:
    """All layouts, in order of trial, wrappers, and keys of JSON lines. Picklable.

    Attributes:
        layouts: the user's own first.
        wrappers: wrappers to try.
        keys: keys of JSON lines.
        learned: layouts that come from a file or the user.
        headings: lines that name the file of the lines below them.
    """

    layouts: tuple[Layout, ...]
    wrappers: tuple[Wrapper, ...]
    keys: JsonKeys
    learned: tuple[Layout, ...] = ()
    headings: tuple[Heading, ...] = ()
    _compiled: dict[str, re.Pattern[str]] = field(default_factory=dict, compare=False, repr=False)
    _any: dict[bool, tuple[tuple[tuple[Layout, ...], re.Pattern[str]], ...]] = field(default_factory=dict, compare=False, repr=False)
    _begins: dict[str, str] = field(default_factory=dict, compare=False, repr=False)
    _wrapping: dict[str, tuple[Wrapper, ...]] = field(default_factory=dict, compare=False, repr=False)
    _remembered: dict[tuple[object, ...], list[str] | None] = field(default_factory=dict, compare=False, repr=False)

    def __reduce__(self) -> tuple[Any, ...]:
        return Layouts, (self.layouts, self.wrappers, self.keys, self.learned, self.headings)

    @cached_property
    def nameless(self) -> frozenset[str]:
        """Return the names of layouts whose records have no logger."""
        return frozenset({JSON_LAYOUT, *(x.name for x in self.layouts if x.nameless)})

    def compiled(self, source: str) -> re.Pattern[str]:
        """Return `re.compile(source)` from a cache."""
        found = self._compiled.get(source)
        if found is None:
            found = self._compiled[source] = re.compile(source)
        return found

    def wrappers_at(self, line: str) -> tuple[Wrapper, ...]:
        """Return wrappers that may precede a line, by its first character."""
        first = line[:1]
        found = self._wrapping.get(first)
        if found is None:
            byte = first.encode("utf-8", "replace")[:1]
            found = tuple(w for w in self.wrappers if not byte or byte[0] in first_bytes(w.head))
            if len(self._wrapping) < _MAX_FIRST:
                self._wrapping[first] = found
        return found

    def heading(self, line: str, names: Sequence[str] | None = None) -> tuple[Heading, str | None] | None:
        """Return the heading that a line is (of the given names, or any), and the file that it names; None for any other line."""
        if len(line) > _MAX_HEADING:
            return None
        for heading in self.headings:
            if names is None or heading.name in names:
                match = self.compiled(heading.head).fullmatch(line)
                if match is not None:
                    return heading, match.groupdict().get("source")
        return None

    def candidates(self, untimed: bool) -> tuple[Layout, ...]:
        """Return the layouts to try in a file with times, or in one without."""
        return tuple(x for x in self.layouts if x.untimed == untimed)

    def find(self, line: str, untimed: bool = False) -> tuple[Layout, re.Match[str]] | None:
        """Return the first layout whose head fits a line that is not JSON."""
        for tried, pattern in self._alternations(untimed):
            found = pattern.match(line)
            if found is not None and found.lastindex is not None:
                layout = tried[found.lastindex - 1]
                match = self.compiled(layout.head).match(line)
                return (layout, match) if match else None
        return None

    def remembered(self, key: tuple[str, *tuple[object, ...]], ask: Callable[[], list[str] | None]) -> list[str] | None:
        """Return the wrappers that `ask` finds, from a cache by a line and what else they depend on: many logs have equal lines."""
        if len(key[0]) > _LONGEST_LINE:
            return ask()
        with suppress(KeyError):  # another thread may clear the cache at any time
            return self._remembered[key]
        if len(self._remembered) >= _MAX_LINES:
            self._remembered.clear()
        found = self._remembered[key] = ask()
        return found

    def _alternations(self, untimed: bool) -> tuple[tuple[tuple[Layout, ...], re.Pattern[str]], ...]:
        """Return the candidates in order, with one expression for each run of them: described ones are compiled once, regardless of what a file adds."""
        known = self._any.get(untimed)
        if known is None:
            tried = self.candidates(untimed)
            runs = (tuple(run) for _, run in groupby(tried, key=lambda x: x in self.learned))
            known = self._any[untimed] = tuple((run, _alternation(tuple(x.bare_head for x in run))) for run in runs)
        return known

    def find_specific(self, line: str, untimed: bool = False) -> tuple[Layout, re.Match[str]] | None:
        """Do the same as `find`, but return None also if the layout contains little."""
        found = self.find(line, untimed)
        return found if found and not found[0].general else None

    def find_tail(self, layout: Layout, line: str) -> re.Match[str] | None:
        """Return the match of the text after the message at the end of a line."""
        for tail in layout.tails:
            match = self.compiled(tail + _MARKDOWN + r"\Z").search(line, max(0, len(line) - TAIL_WINDOW))
            if match and not (match.groupdict().get("logger") or "").startswith("__"):  # a message may end in (__consumer_offsets-7)
                return match
        return None

    def tail_begin(self, layout: Layout) -> str:
        """Return text with which every tail of a layout begins: a quick test for lines that have none."""
        found = self._begins.get(layout.name)
        if found is None:
            found = self._begins[layout.name] = commonprefix([_literal_prefix(t) for t in layout.tails])
        return found

    def with_learned(self, learned: Sequence[Layout], *, first: bool = True) -> Layouts:
        """Return the layouts extended by those inferred from a file's own lines: tried first, or only before general ones."""
        if not learned:
            return self
        at = 0 if first else next((i for i, x in enumerate(self.layouts) if x.general), len(self.layouts))
        return Layouts((*self.layouts[:at], *learned, *self.layouts[at:]), self.wrappers, self.keys, (*self.learned, *learned), self.headings)

    def with_pattern(self, pattern: str) -> Layouts:
        """Return the layouts extended by a user's PatternLayout string, which is tried first.

        Raises:
            UsageError: the string cannot be compiled.
        """
        own = layout_of_pattern("told", (pattern,))
        return Layouts((own, *self.layouts), self.wrappers, self.keys, (own, *self.learned), self.headings)


@lru_cache(maxsize=64)
def _alternation(heads: tuple[str, ...]) -> re.Pattern[str]:
    """Return one expression for several; the number of its last group shows which of them matches."""
    return re.compile("|".join(f"{head}()" for head in heads))


#: A line between the borders of a box, as programs that show logs in a terminal draw it: one blank beside each border.
_IN_FRAME = re.compile("[\u2502\u2503\u2551] ?([^\u2502\u2503\u2551]*?) ?[\u2502\u2503\u2551] *")


def has_colours(lines: Sequence[str]) -> bool:
    """Return True if lines have ANSI sequences, or a terminal's echo of Ctrl-C; without their escape characters, only if many have."""
    return (
        any("\x1b[" in t or t.startswith(_INTERRUPTED) for t in lines)
        or sum(bool(_COLOUR.search(t)) for t in lines) > sum(t[:1] not in " \t" for t in lines) // 4
    )


def strip_colours(line: str) -> str:
    """Return the line without ANSI sequences and the echo of Ctrl-C before it."""
    if line.startswith(_INTERRUPTED):
        line = line.lstrip("^C")
    return _ANSI.sub("", line) if "\x1b" in line or "m" in line else line


def has_entities(lines: Sequence[str]) -> bool:
    """Return True if lines were copied from HTML source: its special characters appear only as entities."""
    return any("&" in t and _ENTITY.search(t) for t in lines) and not any(_RAW.search(_ENTITY.sub("", t)) for t in lines)


def read_entities(line: str) -> str:
    """Return the line with the characters that its HTML entities stand for."""
    return _ENTITY.sub(lambda entity: unescape(entity[0]), line) if "&" in line else line


def frame_width(lines: Sequence[str]) -> int:
    """Return the number of characters between the borders of a box that a terminal drew around the lines; 0 if it drew none."""
    inner = Counter(len(found[1]) for t in lines if (found := _IN_FRAME.fullmatch(t)))
    width, count = inner.most_common(1)[0] if inner else (0, 0)
    return width if count > len(lines) / 2 else 0


def without_frame(line: str) -> str:
    """Return the line without the borders of a box, and without the blanks that fill it."""
    found = _IN_FRAME.fullmatch(line)
    return found[1].rstrip(" ") if found else line


def has_export_times(lines: Sequence[str]) -> bool:
    """Return True if most lines with a time have another one after a comma at their end: a column of an export, after that of the lines."""
    timed = [t for t in lines if _CLOCK.search(t)]
    return sum(without_export_time(t) != t for t in timed) > len(timed) / 2


def without_export_time(line: str) -> str:
    """Return the line without the time that an export added at its end."""
    if not (line[-1:].isdigit() or line.endswith("Z")):
        return line
    found = line[:-_LONGEST_EXPORT_TIME] + _EXPORT_TIME.sub("", line[-_LONGEST_EXPORT_TIME:])
    return found if _CLOCK.search(found) else line


def read_json(line: str) -> dict[str, Any] | None:
    """Return the object in a line, None if there is none. The comma of a list, or marks of the text around it, may follow."""
    try:
        found, end = _decode(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and not line[end:].strip(_AFTER_JSON) else None


class BrokenJson(dict[str, Any]):
    """The readable part of an invalid object: a layout pattern did not escape its values, or the line was truncated."""


def read_json_as_far(text: str) -> dict[str, Any]:
    """Return the object in a text. For a broken one, return its text values: each ends where the next key begins, regardless of its content.

    Keys of objects inside a broken one are flat, with dots (`content.timestamp`).
    """
    found = read_json(text)
    if found is not None:
        return found
    broken, outer, at = BrokenJson(), list[str](), 1
    while True:
        if ends := _BROKEN_ENDS.match(text, at):
            at = ends.end()
            del outer[max(len(outer) - ends[0].count("}"), 0) :]
        if passed := _BROKEN_LIST.match(text, at):
            at = passed.end()
        elif (opened := _BROKEN_OBJECT.match(text, at)) and len(outer) < _MAX_NESTED:
            outer.append(opened["key"])
            at = opened.end()
        elif match := _BROKEN_PAIR.match(text, at):
            value = match["text"]
            broken[".".join((*outer, match["key"]))] = match["bare"] if value is None else value.replace('\\"', '"')
            at = match.end() if value is None else match.end("text") + 1
        else:
            return broken


def layout_of_pattern(name: str, patterns: Sequence[str], **more: Any) -> Layout:  # noqa: ANN401
    """Return a layout of PatternLayout strings that differ only after the message.

    Raises:
        UsageError: a string cannot be compiled, or their heads differ.
    """
    compiled: list[CompiledPattern] = [compile_pattern(p) for p in patterns]
    first = compiled[0]
    if any(c.head != first.head for c in compiled):
        raise UsageError("The patterns of one layout must have the same text before the message.", where=name)
    head, whole = first.head, False
    untimed = first.time is None
    if not head:  # only the tail shows that the line is a record
        head, whole = rf"[^ \t].*(?:{'|'.join(_GROUP.sub('(?:', c.tail) for c in compiled)})$", True
    return Layout(name, head, tuple(c.tail for c in compiled if c.tail), first.time, **{"untimed": untimed, "whole": whole, **more})


@cache
def packaged() -> Layouts:
    """Return the layouts of `parsers/layouts.toml`.

    Raises:
        CatalogueError: the file has a wrong form.
    """
    return parse_layouts((parsers_dir() / "layouts.toml").read_text(encoding="utf-8"), "parsers/layouts.toml")


def parse_layouts(text: str, file: str) -> Layouts:
    """Return the blocks of a layout file; `file` is its name in errors."""
    try:
        table = tomllib.loads(text)
        layouts = tuple(_layout(block) for block in table["layout"])
        wrappers = tuple(
            Wrapper(
                b["name"],
                b["head"],
                TimeFormat(b["time"]) if "time" in b else None,
                b.get("bare", False),
                b.get("weak", False),
                b.get("words", False),
                _examples(b),
            )
            for b in table["wrapper"]
        )
        headings = tuple(Heading(b["name"], b["head"], b.get("alone", False), _examples(b)) for b in table.get("heading", ()))
        keys = JsonKeys({k: tuple(tuple(path.split(".")) for path in paths) for k, paths in table["json"].items()})
    except (tomllib.TOMLDecodeError, KeyError, TypeError, re.error, UsageError) as e:
        raise CatalogueError("The layout file has a wrong form.", why=str(e), where=file) from e
    return Layouts(layouts, wrappers, keys, headings=headings)


def _layout(block: Mapping[str, Any]) -> Layout:
    more = {"untimed": block.get("untimed", False), "nameless": block.get("nameless", False), "examples": _examples(block)}
    if "pattern" in block:
        return layout_of_pattern(block["name"], block["pattern"], **more)
    unknown = set(re.findall(r"\(\?P<(\w+)>", block["head"])) - _FIELDS
    if unknown:
        raise UsageError(f"Unknown groups {', '.join(sorted(unknown))} in the layout `{block['name']}`.")
    time = TimeFormat(block["time"]) if "time" in block else None
    return Layout(
        block["name"], block["head"], tuple(block.get("tail", ())), time,
        general=block.get("general", False), whole=block.get("message_at") == 0, second=block.get("second", ""), **more,
    )  # fmt: skip


def _examples(block: Mapping[str, Any]) -> tuple[Example, ...]:
    return tuple(Example(e["line"], e.get("fields", {})) for e in block.get("example", ()))


def _literal_prefix(pattern: str) -> str:
    """Return the characters with which a regular expression begins, as far as they are literal."""
    return "".join(m[0][-1] for m in _PLAIN.finditer(_PLAIN_RUN.match(pattern)[0]))  # type: ignore[index]
