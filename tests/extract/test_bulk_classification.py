# SPDX-License-Identifier: Apache-2.0
"""Messages that differ only in their numbers are read together with the results of `Classifier.classify`, which matches each of them, as the reference."""

from __future__ import annotations

import random
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reading import recogniser

from forensics.catalogue.literals import facts_of
from forensics.catalogue.pattern_files import EventPattern
from forensics.catalogue.patterns import subject
from forensics.extract.bulk_classification import MessageTemplates
from forensics.extract.chunks import EVENT, Classification, Classifier
from forensics.records.line_reader import Record
from forensics.records.vectorized.buffers import Buffer

_EVENTS = [event for event in recogniser().catalogue.events if not event.anywhere]
_PREFIXES = (
    "",
    "[b|task-1] ",
    "[Consumer clientId=connector-consumer-b-1, groupId=g-2] ",
    "[GroupCoordinator 2]: ",
    "stream-thread [app-1-StreamThread-2] ",
    "[x-7] ",
)


def record(logger: str, text: str) -> Record:
    return Record("", None, "INFO", None, logger, 7, None, text)


def one_by_one(logger: str, text: str) -> tuple[int, dict[str, Any]]:
    """Return kind and columns of a message, as `Classifier.classify` finds them."""
    return columns_of(record(logger, text), Classifier(recogniser()).classify(record(logger, text)))


def columns_of(of: Record, classified: Classification | None) -> tuple[int, dict[str, Any]]:
    """Return kind and columns of a record."""
    assert classified is not None
    found = classified.found
    if found is None:
        return classified.kind, {}
    columns = {"level": of.level, "logger": of.logger, "event": found.event, "releases": classified.releases}
    if classified.kind == EVENT:
        columns |= {"source_line": of.source_line, "category": found.category, "context": found.context, "message": found.message, **found.captures}
    return classified.kind, {name: value for name, value in columns.items() if value is not None}


def together(logger: str, texts: list[str]) -> dict[int, tuple[int, dict[str, Any]]]:
    """Return kind and columns of the messages that are read together, by index."""
    data = "\n".join(texts).encode()
    ends = np.cumsum([len(text.encode()) + 1 for text in texts]) - 1
    begins = np.append(0, ends[:-1] + 1)
    rows = {}
    templates = MessageTemplates(Classifier(recogniser()), recogniser())
    found = templates.read(Buffer.of(data), begins, ends, np.zeros(len(texts), np.int64), lambda _, text: record(logger, text))
    for row, which in enumerate(found.which.tolist()):
        if which >= 0:
            kind, columns = columns_of(found.contents[which].record, found.contents[which].classification)
            own = {name: array[int(at[row])].as_py() for name, (at, array) in found.values.items() if at[row] >= 0}
            rows[row] = kind, {**columns, **{name: dict(value) if name in _MAPS else value for name, value in own.items()}}
    return rows


_MAPS = {name for name, field in recogniser().catalogue.fields.items() if field.type in ("map", "config", "offsets")}


_ID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"


def renumbered(text: str, rng: random.Random) -> str:
    """Return a message with other IDs and numbers, of which a few are too large."""

    def other(found: re.Match[str]) -> str:
        if len(found[0]) == 36 and "-" in found[0]:
            return re.sub("[0-9a-f]", lambda _: rng.choice("0123456789abcdef" if rng.random() < 0.9 else "0"), found[0])
        return str(rng.randrange(10 ** rng.choice((*(1, 2, 9, 18) * 8, 25))))

    return re.sub(rf"{_ID}|\d+", other, text)


def compare(event: EventPattern, texts: list[str]) -> int:
    """Compare both readings of messages of one line; return the number of those that were read together."""
    logger = event.loggers[0]
    found = together(logger, texts)
    for row, read in found.items():
        assert read == one_by_one(logger, texts[row]), (event.where, texts[row])
    return len(found)


def test_the_examples_of_every_pattern_are_read_together_as_one_by_one():
    """Other numbers and IDs in the examples, after each kind of prefix, and texts with one character less or more."""
    rng, read = random.Random(3), 0
    for event in _EVENTS:
        for example in (*event.examples, *event.counterexamples):
            line = subject(event, example.line)
            if "\n" in line or not line.isascii() or len(line) < 2:
                continue
            prefix = rng.choice(_PREFIXES)
            at = rng.randrange(len(line))
            lines = [line, line[:at] + line[at + 1 :], line[:at] + rng.choice("0aZ .-_[]'=,:") + line[at:]]
            texts = [prefix + renumbered(text, rng).strip() for text in lines for _ in range(9)]
            read += compare(event, [text for text in texts if text])
    assert read > 8_000


_PRINTABLE = "".join(map(chr, range(32, 127)))


@settings(max_examples=300)
@given(st.data())
def test_generated_messages_are_read_together_as_one_by_one(data: st.DataObject) -> None:
    event = data.draw(st.sampled_from([event for event in _EVENTS if facts_of(event.pattern).ignores_numbers]))
    # With a line break, without which some patterns match nothing.
    text = data.draw(st.from_regex(re.sub(r"\(\?P<\w+>", "(?:", f"(?x:{event.pattern})"), fullmatch=True, alphabet=_PRINTABLE + "\n"))
    numbers = st.text("0123456789", min_size=1, max_size=20)
    texts = [re.sub("[0-9]+", lambda _: data.draw(numbers), text).strip() for _ in range(4)]
    compare(event, [text for text in texts if len(text) > 1 and "\n" not in text])


@pytest.mark.parametrize(
    ("pattern", "alike"),
    [
        (r"took\ (?P<a>\d+)\ ms", True),
        (r"(?P<a>.+?)\ at\ (?P<b>[\w.-]+)", True),
        (r"(?P<a>(?:(?!,\ ).)+),\ x(?:,\ \S+)*", True),
        (r"(?!.*'x')(?P<a>.+)\ is", True),
        (r"(?P<a>\d+)(?=.*\ ms)\ .*", True),
        (r"(?P<a>(?:(?!\ \d+\ ms).)+)\ .*", True),
        (r"x(?:\n(?s:.)*)?", True),
        (r"error\ 5", False),  # a number is part of the text
        (r"(?P<a>\d{3})x", False),  # the number of digits matters
        (r"(?P<a>\d)x", False),
        (r"(?P<a>[0-4]+)x", False),  # the digit matters
        (r"(?P<a>[^7]+)x", False),
        (r"(?P<a>\w+)(?P<b>\d+)", False),  # two groups may divide a number
        (r"(?P<a>\w+)(?:x?)(?P<b>\d+)", False),
        (r"(?:a|(?P<a>\d+))*", False),
        (r"(?!\d+5)(?P<a>\d+)", False),
        (r"(?!.*5\ ms)(?P<a>.+)", False),
        (r"(?!.*\d+\B)(?P<a>.+)", False),  # the condition may end inside a number
        (r"(?P<a>(?:(?!\d+\ ms).)+)\ .*", False),  # it is also tested inside a number
        (r"(?P<a>.+)(?<=.\d+\ )x", False),
        (r"(?P<a>\d+?)(?P<b>.*)", False),
        (r"(?>a|\d+)x", False),
    ],
)
def test_a_pattern_ignores_numbers_if_each_is_read_as_a_whole(pattern: str, alike: bool) -> None:
    assert facts_of(pattern).ignores_numbers is alike
