"""Words that occur in everyone's logs: the words of the patterns in `parsers/`, and those in `parsers/plain_words.toml`."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from forensics.resources import parsers_dir

if TYPE_CHECKING:
    from forensics.catalogue.patterns import Catalogue

_WORD = re.compile(r"[A-Za-z]+")
_COMMENT = re.compile(r"(?m)(?<!\\)#.*$")
#: Parts of a regular expression that are not text.
_SYNTAX = re.compile(r"\(\?P?<\w+>|\(\?P=\w+\)|\\[A-Za-z]")


@dataclass(frozen=True)
class Vocabulary:
    """Words that name nothing.

    Attributes:
        running: words in lower case that stay in running text.
        inside: they stay inside names too.
        topics: whole topic names that everyone has.
        files: words in lower case that stay in names of files and folders.
        keys: words in lower case that stay in keys of JSON.
        settings: words in lower case that stay in keys of settings.
    """

    running: frozenset[str]
    inside: frozenset[str]
    topics: frozenset[str]
    files: frozenset[str]
    keys: frozenset[str]
    settings: frozenset[str]


@cache
def _plain() -> dict[str, Any]:
    return tomllib.loads((parsers_dir() / "plain_words.toml").read_text(encoding="utf-8"))


@cache
def _exceptions() -> frozenset[str]:
    table = tomllib.loads((parsers_dir() / "exceptions.toml").read_text(encoding="utf-8"))
    texts = [text for block in table["exception"] for key in ("name", "says") for text in block.get(key, ())]
    return frozenset(word.lower() for text in texts for word in _WORD.findall(text))


def _words_of_pattern(pattern: str) -> Iterator[str]:
    yield from _WORD.findall(_SYNTAX.sub(" ", _COMMENT.sub("", pattern)))


def vocabulary_of(catalogue: Catalogue) -> Vocabulary:
    """Return the words of a catalogue and the plain ones."""
    plain = _plain()
    running = {word.lower() for word in plain["running_text"].split()} | _exceptions()
    for event in catalogue.events:
        running.update(word.lower() for word in _words_of_pattern(event.pattern))
        running.update(word.lower() for logger in event.loggers for word in _WORD.findall(logger))
    kafka = tomllib.loads((parsers_dir() / "kafka_words.toml").read_text(encoding="utf-8"))
    for block in (*kafka["prefix"], *kafka["name"], *kafka["sign"]):
        running.update(word.lower() for word in _words_of_pattern(block["pattern"]))
    inside = frozenset(plain["inside_names"])
    running.update(word.lower() for word in inside)
    keys, settings = ({*running, *plain[name].split()} for name in ("json_keys", "setting_keys"))
    return Vocabulary(frozenset(running), inside, frozenset(plain["topics"]), frozenset(plain["files"]), frozenset(keys), frozenset(settings))
