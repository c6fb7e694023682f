"""Load TOML files as a checked catalogue of messages.

Each `[[event]]` of `parsers/*.toml` is one wording of one message of Kafka: a verbose pattern of the `regex` module that must match the
whole message (its first line without trailing blanks; with `multiline = true` all lines), the loggers that print it, the releases that have
it, and examples with their captures. `load` reads and checks form only; `check` also compiles, and tries every example.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import regex

from forensics.catalogue.client_libraries import (
    Interpretation,
    Pairs,
    are_distinctive,
    beginnings_of,
    captures_of,
    end_of,
    interpretations,
    names_of,
    pairs_behind,
    places,
    stands_alone,
)
from forensics.catalogue.converters import CONVERTERS, EXPANDING, LISTS, NoValue
from forensics.catalogue.linear import Found, linear_form
from forensics.catalogue.linear import find as find_linear
from forensics.catalogue.literals import facts_of
from forensics.catalogue.pattern_files import EventPattern, Example, parse_events
from forensics.errors import CatalogueError
from forensics.resources import parsers_dir
from forensics.schema import Field, load_fields

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

#: Files of a pattern folder that contain no events.
OTHER_FILES = {
    "fields.toml",
    "layouts.toml",
    "exceptions.toml",
    "kafka_words.toml",
    "known_bugs.toml",
    "plain_words.toml",
    "secrets.toml",
    "machine.toml",
}
#: Longer messages are matched under a time limit, because log lines are untrusted. No text of this length was found that takes a pattern 2 ms.
LONG_MESSAGE = 400
#: After this time, a pattern is matched by RE2, which is slower with usual texts, but linear. Both find the same.
USUAL_SECONDS = 0.005
#: Limit for a pattern that RE2 does not know. Those that are packaged take linear time; one of the user's own might not.
MATCH_SECONDS = 2.0
#: Minimum length of the literal text at the beginning of words that may occur anywhere.
MIN_WORDS = 5


@dataclass(frozen=True)
class Catalogue:
    """All known captures and messages, and a hash of the files that define them."""

    fields: Mapping[str, Field]
    events: tuple[EventPattern, ...]
    hash: str


def load(extra: Sequence[Path] = (), *, keep_all: bool = False) -> Catalogue:
    """Read the packaged pattern files and those of further folders.

    Args:
        extra: folders of the user's own pattern files, or single files.
        keep_all: True if no record may be only counted.

    Raises:
        CatalogueError: a file is not valid TOML or a block has a wrong form. Patterns are not compiled here (see `check`).
    """
    fields = load_fields([p for p in extra if p.is_dir()])
    texts = list(_texts(extra))
    events = [event for file, name, text in texts if file.name not in OTHER_FILES for event in _events(text, name)]
    if keep_all:
        events = [replace(event, counted=False) for event in events]
    return Catalogue(fields, tuple(events), _digest(texts, keep_all=keep_all))


def digest(extra: Sequence[Path] = (), *, keep_all: bool = False) -> str:
    """Return the hash of the catalogue that `load` gives for the same arguments, without parsing its files."""
    return _digest(_texts(extra), keep_all=keep_all)


def _digest(texts: Iterable[tuple[Traversable | Path, str, str]], *, keep_all: bool) -> str:
    found = hashlib.blake2b(digest_size=12)
    for file, _, text in texts:
        found.update(f"{file.name}\n{text}\n".encode())
    if keep_all:
        found.update(b"keep all")
    return found.hexdigest()


@lru_cache(maxsize=128)
def _events(text: str, name: str) -> tuple[EventPattern, ...]:
    """Return the blocks in a file's text, which a process parses once."""
    return tuple(parse_events(text, name))


def _texts(extra: Sequence[Path]) -> Iterator[tuple[Traversable | Path, str, str]]:
    """Yield each file, its name in errors, and its text."""
    for file, name in _files(extra):
        yield file, name, file.read_text(encoding="utf-8")


def _files(extra: Sequence[Path]) -> Iterator[tuple[Traversable | Path, str]]:
    for packaged in sorted(parsers_dir().iterdir(), key=lambda f: f.name):
        if packaged.name.endswith(".toml"):
            yield packaged, f"parsers/{packaged.name}"
    for path in extra:
        if not path.exists():
            raise CatalogueError(f"There is no pattern file or folder `{path}`.", where=str(path), fix="Name a folder of .toml files, or one file.")
        for own in sorted(path.glob("*.toml")) if path.is_dir() else [path]:
            yield own, str(own)


def simple_name(logger: str) -> str:
    """Return the simple class name of a logger: layouts abbreviate packages (`o.a.k.c.c.internals.ConsumerCoordinator`)."""
    return logger.rstrip("$").rsplit(".", 1)[-1].rsplit("$", 1)[-1]


def subject(event: EventPattern, message: str) -> str:
    """Return the part of a message that a pattern must match."""
    return message if event.multiline else message.partition("\n")[0].rstrip()


@lru_cache(maxsize=4096)
def compiled(pattern: str) -> regex.Pattern[str]:
    """Return the compiled pattern; each process compiles it once."""
    return regex.compile(pattern, regex.VERBOSE)


Match: TypeAlias = regex.Match[str] | re.Match[str] | Found
#: Patterns that took too long for a text.
_SLOW: set[str] = set()


def find(event: EventPattern, text: str, begin: int = 0, end: int | None = None, *, whole: bool = True) -> Match | None:
    """Return the match of a part of a text: of all of it, or only of its beginning.

    The time is linear in the length of the text, and the result depends on no time limit.

    Raises:
        CatalogueError: a pattern that is not packaged takes too long.
    """
    pattern = compiled(event.pattern)
    take = pattern.fullmatch if whole else pattern.match
    end = len(text) if end is None else end
    if end - begin <= LONG_MESSAGE:
        return take(text, begin, end)
    linear = linear_form(event.pattern, whole=whole)
    if linear is None or event.pattern not in _SLOW:
        try:
            return take(text, begin, end, timeout=MATCH_SECONDS if linear is None else USUAL_SECONDS)
        except TimeoutError as e:
            if linear is None:
                raise CatalogueError(
                    f"The pattern of `{event.name}` takes too long.",
                    why=f"a message of {end - begin:,} characters takes it more than {MATCH_SECONDS:.0f} s",
                    where=event.where,
                    fix="Make its repetitions possessive (`[^,]++`), or remove its lookarounds: RE2 then matches it in linear time.",
                ) from e
            _SLOW.add(event.pattern)
    return find_linear(linear, text, begin, end)


def match(event: EventPattern, message: str) -> Match | None:
    """Return the full match of a message.

    Args:
        event: the block.
        message: the record's text without context prefixes.
    """
    return find(event, subject(event, message))


def read(event: EventPattern, message: str, fields: Mapping[str, Field], pairs: Pairs | None = None) -> dict[str, Any] | None:
    """Return the captures that a block reads from a message; None if the block does not match.

    Args:
        event: the block.
        message: the record's text without context prefixes.
        fields: known captures.
        pairs: keys and values of a JSON record.
    """
    if not event.anywhere:
        found = match(event, message)
        return convert(found, fields) if found else None
    prefixes = facts_of(event.pattern).prefixes
    for text_read in interpretations(message, pairs):
        for at, _ in places(text_read.text, beginnings(prefixes), whole=event.multiline):
            if (
                stands_alone(text_read.text, at, are_distinctive(prefixes, event.keys))
                and (captures := read_at(event, text_read, at, fields)) is not None
            ):
                return captures
    return None


def read_at(event: EventPattern, text_read: Interpretation, at: int, fields: Mapping[str, Field]) -> dict[str, Any] | None:
    """Return the captures of a client's words that begin at a position; None if they are not this block's."""
    text = text_read.text if event.multiline else text_read.text.partition("\n")[0]
    end = end_of(text, at)
    found = find(event, text, at, end, whole=not event.keys)
    if found is None or not event.keys:
        return convert(found, fields) if found else None
    pairs = pairs_behind(text[found.end() : end], text_read.pairs)
    texts = captures_of(pairs, event.keys) if pairs is not None else None
    if texts is None:
        return None
    typed = {name: CONVERTERS[fields[name].type](value) for name, value in texts.items()}
    return {**convert(found, fields), **{name: value for name, value in typed.items() if value is not None}}


@lru_cache(maxsize=1024)
def beginnings(prefixes: tuple[str, ...]) -> re.Pattern[str]:
    """Return an expression that finds the beginnings of words."""
    return re.compile("|".join(re.escape(text) for text in beginnings_of(prefixes)))


def convert(found: regex.Match[str] | Found, fields: Mapping[str, Field]) -> dict[str, Any]:
    """Return the typed captures of a match, without empty ones; one that cannot be converted is a `NoValue`. Lists may be captured item by item."""
    captures: dict[str, Any] = {}
    for name, text in found.groupdict().items():
        if text is None:
            continue
        kind = fields[name].type
        if kind in EXPANDING:
            expanded = EXPANDING[kind](text)
            captures.update({name: expanded} if isinstance(expanded, NoValue) else expanded)
            continue
        if kind in LISTS and len(found.captures(name)) > 1:
            parts = [CONVERTERS[kind](part) or [] for part in found.captures(name)]
            value: Any = next((part for part in parts if isinstance(part, NoValue)), None) or [item for part in parts for item in part]
        else:
            value = CONVERTERS[kind](text)
        if value is not None:
            captures[name] = value
    return captures


def check(extra: Sequence[Path] = ()) -> list[CatalogueError]:
    """Return all errors in the packaged files, or in further folders used with them; the list is empty if there are none.

    For every block, the pattern must compile and have literal text, and its groups must be known captures. Its examples must match it alone among the
    blocks of its loggers and give the stated captures; its counterexamples must not match it.

    Args:
        extra: folders or files of the user's own. Their blocks are checked, also against the packaged ones, which are assumed to be correct.
            If empty, the packaged blocks are checked.
    """
    try:
        catalogue = load(extra)
        packaged = len(load().events) if extra else 0
    except CatalogueError as e:
        return [e]
    errors: list[CatalogueError] = []
    sound: list[EventPattern] = []
    for event in catalogue.events[packaged:]:
        found = list(check_pattern(event, catalogue.fields))
        errors.extend(found)
        if not found:
            sound.append(event)
    others = catalogue.events[:packaged]
    for event in sound:
        errors.extend(check_examples(event, [e for e in (*others, *sound) if e is not event and _meet(e, event)], catalogue.fields))
    for event in others:
        rivals = [e for e in sound if _meet(e, event)]
        if rivals:
            errors.extend(check_examples(event, rivals, catalogue.fields))
    return errors


def _meet(one: EventPattern, other: EventPattern) -> bool:
    """Return True if records of any logger are tried against both blocks."""
    return bool({simple_name(x) for x in one.loggers} & {simple_name(x) for x in other.loggers})


def check_pattern(event: EventPattern, fields: Mapping[str, Field]) -> Iterator[CatalogueError]:
    """Yield the errors of a block's pattern by itself."""
    try:
        names = compiled(event.pattern).groupindex
    except regex.error as e:
        line, column = (e.lineno or 1) - 1, (e.colno or 1) - 1
        shown = event.pattern.split("\n")[line]
        yield CatalogueError(
            f"The pattern of `{event.name}` does not compile.",
            why=f"{e.msg}\n   |  {shown}\n   |  {' ' * column}^",
            where=f"{event.file}:{event.pattern_line + line}",
            fix="Patterns are verbose: write a blank as `\\ ` and escape ( ) [ ] { } . * + ? ^ $ | #.",
        )
        return
    for name in (*names, *names_of(event.keys)):
        if name not in fields:
            line = next((i for i, text in enumerate(event.pattern.split("\n")) if f"<{name}>" in text), 0)
            shown = event.pattern.split("\n")[line]
            caret = " " * shown.find(f"<{name}>") + "^" * (len(name) + 2)
            yield CatalogueError(
                f"`{event.name}` captures `{name}`, which is not in fields.toml.",
                why=f"every capture is a column with one type and one meaning\n   |  {shown}\n   |  {caret}",
                where=f"{event.file}:{event.pattern_line + line}",
                fix="Use an existing capture, or add an entry with type and meaning to fields.toml.",
            )
    if not facts_of(event.pattern).anchors:
        yield CatalogueError(
            f"The pattern of `{event.name}` contains no literal text.",
            why="every record of the logger would be tried against it",
            where=f"{event.file}:{event.pattern_line}",
            fix="Name some words of the message; for alternatives, some in each.",
        )

    if event.anywhere and any(len(p) < MIN_WORDS for p in facts_of(event.pattern).prefixes):
        yield CatalogueError(
            f"The pattern of `{event.name}` does not begin with words.",
            why="a block with `anywhere` is found by the literal text that it begins with",
            where=f"{event.file}:{event.pattern_line}",
            fix=f"Begin each alternative with at least {MIN_WORDS} characters that are always the same.",
        )


def check_examples(event: EventPattern, rivals: Sequence[EventPattern], fields: Mapping[str, Field]) -> Iterator[CatalogueError]:
    """Yield the errors of a block's examples and counterexamples.

    Args:
        event: the block.
        rivals: other blocks that the records of its loggers are tried against.
        fields: known captures.
    """
    for example in event.examples:
        captures = read(event, example.line, fields)
        if captures is None:
            yield _no_match(event, example)
            continue
        wrong = sorted(k for k in captures.keys() | example.fields.keys() if captures.get(k) != example.fields.get(k))
        if wrong:
            yield CatalogueError(
                f"An example of `{event.name}` gives other captures.",
                why="; ".join(f"{k}: stated {example.fields.get(k)!r}, captured {captures.get(k)!r}" for k in wrong),
                where=event.where,
                fix=f"Example: {example.line[:200]}",
            )
        for rival in rivals:
            if read(rival, example.line, fields) is not None:
                yield CatalogueError(
                    f"An example of `{event.name}` is matched by `{rival.name}` too.",
                    why="exactly one pattern may match a record; order never decides",
                    where=f"{event.where} and {rival.where}",
                    fix=f"Make one of them stricter. Example: {example.line[:200]}",
                )
    for example in event.counterexamples:
        matched = [e for e in (event, *rivals) if read(e, example.line, fields) is not None]
        if [e.name for e in matched] != ([example.event] if example.event else []):
            names = ", ".join(f"`{e.name}` ({e.where})" for e in matched) or "nothing"
            yield CatalogueError(
                f"A counterexample of `{event.name}` is matched by {names}.",
                why=f"it should be {f'`{example.event}`' if example.event else 'matched by nothing'}",
                where=event.where,
                fix=f"Counterexample: {example.line[:200]}",
            )


def _no_match(event: EventPattern, example: Example) -> CatalogueError:
    """Return the error of an example without a match, with a caret where matching stopped."""
    text = subject(event, example.line)
    reached = 0
    partial = compiled(event.pattern).fullmatch(text[:LONG_MESSAGE], partial=True)
    if partial is None:
        low, high = 0, min(len(text), LONG_MESSAGE)
        while low < high:  # the longest beginning of the message that could still become a match
            middle = (low + high + 1) // 2
            low, high = (middle, high) if compiled(event.pattern).fullmatch(text[:middle], partial=True) else (low, middle - 1)
        reached = low
    else:
        reached = len(text)
    start = max(0, reached - 100)
    shown = text[start : start + 160]
    return CatalogueError(
        f"The pattern of `{event.name}` does not match its own example.",
        why=f"{'the message ends too early' if reached == len(text) else 'matched up to here'}\n   |  {shown}\n   |  {' ' * (reached - start)}^",
        where=f"{event.file}:{event.pattern_line}",
        fix="The whole message must match, without layout and context prefix.",
    )
