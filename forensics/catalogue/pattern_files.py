"""Load pattern files: convert `[[event]]` blocks of TOML to `EventPattern`, each with its line.

Nothing is compiled or matched here; `patterns` does that.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import regex

from forensics.errors import CatalogueError

CATEGORIES = (
    "membership", "assignment", "task", "connector", "coordinator", "broker_group", "offsets", "config", "start", "process", "network", "streams", "snapshot", "other",
)  # fmt: skip
KEYS = {
    "name": str, "category": str, "logger": list, "kafka": str, "pattern": str, "multiline": bool, "anywhere": bool, "exception": bool, "counted": bool,
    "named": bool, "keys": dict, "proves": str, "disproves": str, "advice": str, "example": list, "counterexample": list,
}  # fmt: skip

#: The end of the pattern of a message with an exception: the exception, and the last cause that is printed below it. An ExecutionException only wraps another. What ends with
#: a colon is continued in the next line.
_EXCEPTION = r"""
    \ * (?: \n \*{0,2} (?:java\.util\.concurrent\.ExecutionException:\ )? (?P<error>[^\n]*:\n(?:[^\sC]|C[^a\n]|Ca[^u\n])[^\n]*|[^\n]+) (?: [\s\S]* \n (?: Caused\ by:\ (?:java\.util\.concurrent\.ExecutionException:\ )? (?P<root_error>[^\n]*:\n(?:[^\sC]|C[^a\n]|Ca[^u\n])[^\n]*|[^\n]+) | (?P<root_error>(?:[a-z]\w*\.)+[A-Z]\w*(?:Exception|Error):\ [^\n]+) ) )? [\s\S]* )?
"""

_NAME = regex.compile(r"[a-z][a-z0-9_]*")
_LOGGER = regex.compile(r"[A-Za-z_][\w]*(?:[.$][A-Za-z_]\w*+)*+\$?")
_RELEASE = r"\d+\.\d+\.\d+(?:\.\d+)?"
_KAFKA = regex.compile(rf"{_RELEASE}\.\.(?:{_RELEASE})?(?:,\ {_RELEASE}\.\.(?:{_RELEASE})?)*")


@dataclass(frozen=True)
class Example:
    """A message and the captures that it must give. For a counterexample, `event` names the event that it must be instead (or none)."""

    line: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    event: str | None = None


@dataclass(frozen=True)
class EventPattern:
    """One wording of one message.

    Attributes:
        name: the event's name; several wordings share it.
        category: one of `CATEGORIES`.
        loggers: full class names that print it.
        kafka: releases, as written: `2.4.0..` or `0.9.0.0..0.9.0.1, 2.0.0..`.
        pattern: verbose pattern, as written, with what `exception` adds.
        multiline: True if the pattern matches all lines of the record.
        anywhere: True if any text may precede the words that the pattern matches.
        counted: True if the message carries no fact. Its records are counted, except those that identify a client or are errors
            (`Recogniser.is_counted`).
        named: True if its words are those of any program, so that only its logger identifies it.
        keys: captures by the keys of values that follow or accompany the words; `key?` may be missing.
        proves: what the message proves, for `forensics explain`.
        disproves: what it does not prove.
        advice: what to do about it.
        file: the file's name.
        line: line of `[[event]]` in the file.
        pattern_line: line in the file where the pattern's text begins.
    """

    name: str
    category: str
    loggers: tuple[str, ...]
    kafka: str
    pattern: str
    multiline: bool = False
    anywhere: bool = False
    counted: bool = False
    named: bool = False
    keys: Mapping[str, str] = field(default_factory=dict)
    proves: str = ""
    disproves: str = ""
    advice: str = ""
    examples: tuple[Example, ...] = ()
    counterexamples: tuple[Example, ...] = ()
    file: str = ""
    line: int = 0
    pattern_line: int = 0

    @property
    def where(self) -> str:
        """Return `file:line` of the block."""
        return f"{self.file}:{self.line}"


def parse_events(text: str, file: str) -> Iterator[EventPattern]:
    """Yield the blocks of one pattern file.

    Args:
        text: the file's content.
        file: its name in errors.

    Raises:
        CatalogueError: it is not valid TOML, or a block has a wrong form.
    """
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as e:
        found = regex.search(r"at line (\d+)", str(e))
        raise CatalogueError("A pattern file is not valid TOML.", why=str(e), where=f"{file}:{found[1]}" if found else file) from e
    unknown = sorted(table.keys() - {"event"})
    if unknown:
        raise CatalogueError(f"Unknown table `{unknown[0]}`.", where=file, fix="A pattern file contains only [[event]] blocks.")
    lines = text.split("\n")
    starts = list(_block_lines(lines))
    for block, start in zip(table.get("event", []), starts, strict=True):
        yield _event(block, file, start, lines)


def _block_lines(lines: list[str]) -> Iterator[int]:
    """Yield the line numbers of `[[event]]`, which may also be text inside a `'''` string."""
    quoted = ""
    for number, line in enumerate(lines, 1):
        if not quoted and line.strip().split("#")[0].strip() == "[[event]]":
            yield number
        for mark in ("'''", '"""'):
            if quoted in ("", mark) and line.count(mark) % 2:
                quoted = "" if quoted else mark


def _event(block: dict[str, Any], file: str, start: int, lines: list[str]) -> EventPattern:
    where = f"{file}:{start}"

    def fail(what: str, fix: str = "") -> CatalogueError:
        return CatalogueError(what, where=where, fix=fix)

    if isinstance(block.get("logger"), str):
        block["logger"] = [block["logger"]]
    for key, value in block.items():
        if key not in KEYS:
            raise fail(f"Unknown key `{key}` in an [[event]] block.", f"Known: {', '.join(KEYS)}.")
        if not isinstance(value, KEYS[key]):
            raise fail(f"`{key}` must be a {KEYS[key].__name__}.")
    for key in ("name", "category", "logger", "kafka", "pattern"):
        if not block.get(key):
            raise fail(f"An [[event]] block lacks `{key}`.", "See CONTRIBUTING.md for a complete block.")
    if not _NAME.fullmatch(block["name"]):
        raise fail(f"The event name `{block['name']}` must be lower case words joined by _.")
    if block["category"] not in CATEGORIES:
        raise fail(f"Unknown category `{block['category']}`.", f"One of {', '.join(CATEGORIES)}.")
    for logger in block["logger"]:
        if not isinstance(logger, str) or not _LOGGER.fullmatch(logger):
            raise fail(f"`{logger}` is not a class name.", "Write the full name of the class that prints the message.")
    if not _KAFKA.fullmatch(block["kafka"]):
        raise fail(f"`{block['kafka']}` is not a range of releases.", 'Write "2.4.0..", "0.9.0.0..2.6.0", or several separated by ", ".')
    if not block.get("example"):
        raise fail(f"The event `{block['name']}` has no example.", "Add [[event.example]] with a line and the captures that it gives.")
    pattern_line = next((n for n in range(start, len(lines) + 1) if lines[n - 1].lstrip().startswith("pattern")), start)
    if lines[pattern_line - 1].rstrip().endswith("'''"):
        pattern_line += 1  # TOML drops the line break after the opening quotes
    has_exception = block.get("exception", False)
    return EventPattern(
        name=block["name"],
        category=block["category"],
        loggers=tuple(block["logger"]),
        kafka=block["kafka"],
        pattern=block["pattern"] + _EXCEPTION * has_exception,
        multiline=block.get("multiline", False) or has_exception,
        anywhere=block.get("anywhere", False),
        counted=block.get("counted", False),
        named=block.get("named", False),
        keys=block.get("keys", {}),
        proves=block.get("proves", ""),
        disproves=block.get("disproves", ""),
        advice=block.get("advice", ""),
        examples=tuple(_example(e, fail) for e in block["example"]),
        counterexamples=tuple(_example(e, fail) for e in block.get("counterexample", [])),
        file=file,
        line=start,
        pattern_line=pattern_line,
    )


def _example(entry: object, fail: Any) -> Example:  # noqa: ANN401  (a closure that makes an error)
    if not isinstance(entry, dict) or not isinstance(entry.get("line"), str) or entry.keys() - {"line", "fields", "event"}:
        raise fail("An example needs a `line`, and may have `fields` (of a counterexample: `event`).")
    if not isinstance(entry.get("fields", {}), dict) or not isinstance(entry.get("event", ""), str):
        raise fail("`fields` of an example must be a table, `event` of a counterexample a string.")
    return Example(entry["line"], entry.get("fields", {}), entry.get("event"))
