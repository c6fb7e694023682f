"""Identify pasted lines, with a whole layout, with part of one, or with none."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from forensics.catalogue.pattern_files import EventPattern
from forensics.catalogue.patterns import compiled
from forensics.catalogue.recogniser import Recognised, Recogniser
from forensics.records import layouts
from forensics.records.layout_detection import profile_of
from forensics.records.line_reader import Record, RecordReader, read_records
from forensics.redaction import scrub
from forensics.report.exceptions import KnownException, find_exceptions

_LEVELS = "TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|SEVERE|FINE|CRITICAL"
#: What may remain of a line's head in a paste: a level, a time, brackets, a logger, an ellipsis.
_HEAD = re.compile(
    rf"\s*(?:(?P<level>{_LEVELS})\b[:,]?|[0-9][0-9:.,/TZ+-]*|\[[^\[\]]{{0,80}}\]:?|\([^()]{{0,80}}\)|\.\.\.|…|[-|:>*~]+"
    r"|(?P<logger>[A-Za-z_][\w$]*(?:\.[\w$]+)+)(?::[0-9]+)?:?)(?=\s)\s*"
)
_TAIL = re.compile(r"\s\((?P<logger>[A-Za-z_][\w.$]*)(?::[0-9]+)?\)\s*$")
_MAX_HEADS = 8
_WORD = re.compile(r"[A-Za-z]{3,}")
_MAX_NEAR = 3
_NEAR_ENOUGH = 0.4
#: A line that was cut off is compared up to this length, and for this long with each event, in seconds.
_LONGEST_CUT, _CUT_SECONDS = 2_000, 0.5
#: Fewer words begin many messages.
_FEWEST_WORDS = 4


@dataclass(slots=True)
class Item:
    """One record of a paste, identified, without its secrets.

    Attributes:
        record: the record as its layout reads it.
        layout: the layout's name; empty if there is none.
        found: the event; None if it is not recognised.
        exceptions: the exceptions of the group protocol that it names.
    """

    record: Record
    layout: str
    found: Recognised | None
    exceptions: list[tuple[KnownException, str]] = field(default_factory=list)


def items_of(text: str, recogniser: Recogniser) -> list[Item]:
    """Identify the records of a text, in their order."""
    return [_item(record, layout, recogniser) for record, layout in _records(text)]


def _records(text: str) -> Iterator[tuple[Record, str]]:
    """Yield the text's records and the names of their layouts; a line that matches no layout is a message by itself."""
    content = text.encode("utf-8", "replace")
    known = layouts.packaged()
    profile = profile_of(content, known)
    if not profile.fitting or (profile.untimed and replace(profile, headings=()).plain):
        yield from ((Record("", message=line.strip()), "") for line in _joined(text))
        return
    unfit: list[tuple[int, Record, str]] = []
    found = read_records(
        content,
        RecordReader(known, profile),
        lambda at, line, raw: unfit.append((at, Record("", message=raw.decode("utf-8", "replace").strip()), "")),
    )
    for _, record, layout in sorted([*unfit, *((r.offset, r.record, r.record.layout) for r in found)], key=lambda x: x[0]):
        yield record, layout


def _joined(text: str) -> list[str]:
    """Return lines without the frames of a stack trace, which belong to their line."""
    lines: list[str] = []
    for line in text.splitlines():
        if lines and re.match(r"\s+at \S+\(|\s*\.\.\. \d+ more|Caused by: ", line):
            lines[-1] += "\n" + line
        elif line.strip():
            lines.append(line)
    return lines


def _item(record: Record, layout: str, recogniser: Recogniser) -> Item:
    found = recogniser.recognise(record.logger, record.message, record.thread, record.context, record.pairs)
    if found is None:
        found = _without_head(record, recogniser)
    text = record.message.partition("\n")[2] if found else record.message
    shown = replace(record, message=scrub(record.message), logger=_scrubbed(record.logger), level=_scrubbed(record.level))
    if found:
        found = replace(found, message=scrub(found.message), captures=_scrubbed(found.captures))
    return Item(shown, layout, found, find_exceptions(text))


def _scrubbed(value: Any) -> Any:  # noqa: ANN401  (any capture)
    """Return a value without its secrets."""
    if isinstance(value, str):
        return scrub(value)
    if isinstance(value, dict):
        return {_scrubbed(k): _scrubbed(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_scrubbed(v) for v in value]
    return value


def _without_head(record: Record, recogniser: Recogniser) -> Recognised | None:
    """Recognise the event behind what remains of a head: level, time, thread and logger in any order."""
    text, logger = record.message, record.logger
    tail = _TAIL.search(text.partition("\n")[0])
    if tail and recogniser.is_interesting(tail["logger"]):
        text, logger = text[: tail.start()], tail["logger"]
    for _ in range(_MAX_HEADS):
        found = recogniser.recognise(logger, text) or (recogniser.recognise(None, text) if logger else None)
        if found:
            record.logger = logger
            return found
        head = _HEAD.match(text)
        if head is None:
            return None
        record.level = record.level or head["level"]
        if head["logger"] and recogniser.is_interesting(head["logger"]):
            logger = head["logger"]
        text = text[head.end() :]
    return None


def begun_event(text: str, recogniser: Recogniser) -> EventPattern | None:
    """Return the event whose message begins with a text that was cut off, among those with the nearest examples; None: there is none."""
    line = text.partition("\n")[0][:_LONGEST_CUT]
    if len(_WORD.findall(line)) < _FEWEST_WORDS:
        return None
    return next((event for event, _ in near_events(line, recogniser) if is_begun(event, line, recogniser)), None)


def is_begun(event: EventPattern, line: str, recogniser: Recogniser) -> bool:
    """Return True if the message of an event can begin with a line, without its head."""
    pattern = compiled(event.pattern)
    with suppress(TimeoutError):
        return any(pattern.fullmatch(recogniser.split(rest)[0], partial=True, timeout=_CUT_SECONDS) for rest in _beheaded(line))
    return False


def _beheaded(text: str) -> Iterator[str]:
    """Yield a line, and what is left of it without one after another part of its head."""
    yield text
    for _ in range(_MAX_HEADS):
        head = _HEAD.match(text)
        if head is None:
            return
        yield (text := text[head.end() :])


def near_events(text: str, recogniser: Recogniser) -> list[tuple[EventPattern, str]]:
    """Return the events whose examples share most words with a text, weighted by rarity, each with its example."""
    examples, weight = _examples(recogniser)
    mine = {word for word in _words(text) if word in weight}
    if not mine:
        return []
    whole = sum(weight[word] for word in mine)
    scored: dict[str, tuple[float, EventPattern, str]] = {}
    for event, line, bag in examples:
        shared = sum(weight[word] for word in bag & mine)
        score = 2 * shared / (whole + sum(weight[word] for word in bag))
        if score > scored.get(event.name, (0.0, event, line))[0]:
            scored[event.name] = score, event, line
    best = sorted(scored.values(), key=lambda x: (-x[0], x[1].name))[:_MAX_NEAR]
    return [(event, line) for score, event, line in best if score >= _NEAR_ENOUGH]


@lru_cache(maxsize=1)
def _examples(recogniser: Recogniser) -> tuple[list[tuple[EventPattern, str, set[str]]], dict[str, float]]:
    """Return the examples of a catalogue's events, each with its words, and the weights of all words."""
    lines = [
        (event, example.line.partition("\n")[0]) for event in recogniser.catalogue.events for example in event.examples if event.category != "other"
    ]
    examples = [(event, line, _words(line)) for event, line in lines]
    common = Counter(word for _, _, bag in examples for word in bag)
    return examples, {word: math.log(1 + len(examples) / count) for word, count in common.items()}


def _words(text: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(text[:2_000])}
