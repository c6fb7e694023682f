"""Load `parsers/kafka_words.toml`: what Kafka's classes print around their messages, and words that identify their lines."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import regex

from forensics.errors import CatalogueError
from forensics.resources import parsers_dir

Captures = dict[str, str | int]
WHERE = "parsers/kafka_words.toml"
_SIGNS = ("own", "begins a message", "client's words", "no column")


@dataclass(frozen=True)
class Prefix:
    """A text before a message that identifies who printed it.

    Attributes:
        name: its name in the file.
        pattern: matches the whole prefix.
        pairs: captures by the keys in its group `pairs`.
        numbers: captures that are numbers.
        context: True if the text in its brackets is Connect's logging context.
        examples: a prefix, its captures, and the context in it.
    """

    name: str
    pattern: regex.Pattern[str]
    pairs: Mapping[str, str]
    numbers: frozenset[str]
    context: bool
    examples: tuple[tuple[str, Captures, str | None], ...]


@dataclass(frozen=True)
class Name:
    """A kind of name that identifies the owner of a client or a thread."""

    of: str
    begins: str
    pattern: regex.Pattern[str]
    examples: tuple[tuple[str, Captures], ...]


@dataclass(frozen=True)
class Sign:
    """Words that identify a line as Kafka's."""

    name: str
    pattern: regex.Pattern[str]
    examples: tuple[str, ...]
    counterexamples: tuple[str, ...]


@dataclass(frozen=True)
class KafkaWords:
    """The file's content; comments in the file explain each part."""

    begins: tuple[str, ...]
    packages: tuple[str, ...]
    foreign: tuple[str, ...]
    heir: str
    debug: frozenset[str]
    below_info: frozenset[str]
    prefixes: tuple[Prefix, ...]
    names: tuple[Name, ...]
    signs: Mapping[str, Sign]
    marks: tuple[str, ...]

    def sign(self, name: str) -> regex.Pattern[str]:
        """Return the pattern of a sign."""
        return self.signs[name].pattern


@cache
def kafka_words() -> KafkaWords:
    """Return the packaged file.

    Raises:
        CatalogueError: it has a wrong form.
    """
    return parse((parsers_dir() / "kafka_words.toml").read_text(encoding="utf-8"))


def parse(text: str) -> KafkaWords:
    """Return the content of such a file."""
    try:
        table = tomllib.loads(text)
        loggers, signs = table["loggers"], {s.name: s for s in map(_sign, table["sign"])}
        return KafkaWords(
            begins=tuple(table["begins"]), packages=tuple(loggers["packages"]), foreign=tuple(loggers["foreign"]), heir=loggers["heir"],
            debug=frozenset(loggers["debug"]), below_info=frozenset(loggers["below_info"]), prefixes=tuple(map(_prefix, table["prefix"])), names=tuple(map(_name, table["name"])),
            signs={name: signs[name] for name in _SIGNS}, marks=tuple(table["marks"]["texts"]),
        )  # fmt: skip
    except (tomllib.TOMLDecodeError, KeyError, TypeError, regex.error) as e:
        raise CatalogueError("The file of Kafka's words has a wrong form.", why=str(e), where=WHERE) from e


def _prefix(block: Mapping[str, Any]) -> Prefix:
    examples = tuple((e["line"], e["fields"], e.get("context")) for e in block["example"])
    numbers = frozenset(block.get("numbers", ()))
    return Prefix(block["name"], _compiled(block), block.get("pairs", {}), numbers, block.get("context", False), examples)


def _name(block: Mapping[str, Any]) -> Name:
    return Name(block["of"], block["begins"], _compiled(block), tuple((e["line"], e["fields"]) for e in block["example"]))


def _sign(block: Mapping[str, Any]) -> Sign:
    return Sign(block["name"], _compiled(block), tuple(block["example"]), tuple(block["counterexample"]))


def _compiled(block: Mapping[str, Any]) -> regex.Pattern[str]:
    return regex.compile(block["pattern"], regex.VERBOSE)


def check_signs(words: KafkaWords | None = None) -> Iterator[CatalogueError]:
    """Yield the errors of signs and marks."""
    words = words or kafka_words()
    for sign in words.signs.values():
        if not sign.examples or not sign.counterexamples:
            yield CatalogueError(f"The sign `{sign.name}` lacks an example or a counterexample.", where=WHERE)
        for line in sign.examples:
            if not sign.pattern.search(line):
                yield CatalogueError(f"The sign `{sign.name}` does not find its example.", where=f"{WHERE}: {line}")
        for line in sign.counterexamples:
            if sign.pattern.search(line):
                yield CatalogueError(f"The sign `{sign.name}` finds its counterexample.", where=f"{WHERE}: {line}")
    for mark in words.marks:
        if not any(mark in line or line.startswith(mark) for s in words.signs.values() for line in s.examples) and not words.sign(
            "begins a message"
        ).match(mark):
            yield CatalogueError(f"The mark `{mark}` begins no message.", where=WHERE)
