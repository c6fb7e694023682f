"""Split context prefixes, which identify the client or component, off messages before patterns see these; the prefixes become captures.

They are printed by Connect's logging context, by the clients' LogContext, and by the broker's coordinators; several may follow each other:
`[b|task-1] [Consumer clientId=connector-consumer-b-1, groupId=connect-b] Resetting ...`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import regex

from forensics.catalogue.converters import is_blanked, to_int
from forensics.errors import CatalogueError
from forensics.records.kafka_words import WHERE, Captures, KafkaWords, Prefix, kafka_words

_MAX_CACHED = 8_192


class Prefixes:
    """A splitter of prefixes from messages. It remembers them, because there are few and they repeat a million times."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[Captures, str | None] | None] = {}
        self._begins = kafka_words().begins

    def __reduce__(self) -> tuple[type[Prefixes], tuple[()]]:
        return Prefixes, ()

    def split(self, message: str) -> tuple[str, Captures, str | None]:
        """Split a message.

        Args:
            message: the record's text after its layout.

        Returns:
            The message without prefixes, their captures, and Connect's context as printed (`b|task-1`) or None.
        """
        captures: Captures = {}
        context = None
        at = 0
        while message.startswith(self._begins, at):
            end = head_end(message, at)
            if end == 0:
                break
            head = message[at:end]
            known = self._known[head] if head in self._known else self._learn(head)
            if not known:
                break
            captures = {**captures, **known[0]} if captures else known[0]
            context = known[1] or context
            at = end
        return (message[at:] if at else message), captures, context

    def _learn(self, head: str) -> tuple[Captures, str | None] | None:
        parsed = parse_prefix(head)
        if len(self._known) >= _MAX_CACHED:
            self._known.clear()
        self._known[head] = parsed
        return parsed


def head_end(message: str, at: int = 0) -> int:
    """Return the position after the text from `at` on that decides whether a prefix begins there: up to the bracket that closes the first one, a colon and
    a blank; 0 if there is none. Names may contain brackets.
    """
    end = message.find("]", at) + 1
    begin = message.find("[", at) + 1
    while (inner := message.find("[", begin, end) + 1) and (further := message.find("]", end) + 1):
        begin, end = inner, further
    for sign in ":", " ":
        end += message.startswith(sign, end) and end > 0
    return end


def parse_prefix(head: str, words: KafkaWords | None = None) -> tuple[Captures, str | None] | None:
    """Return the captures of one prefix with its closing bracket and blank, and Connect's context in it; None if it is not a prefix."""
    for prefix in (words or kafka_words()).prefixes:
        if found := prefix.pattern.fullmatch(head):
            return _captures(prefix, found), head.strip()[1:-1] if prefix.context else None
    return None


def _captures(prefix: Prefix, found: regex.Match[str]) -> Captures:
    groups = {k: v for k, v in found.groupdict().items() if v is not None and not is_blanked(v)}
    pairs = groups.pop("pairs", "")
    numbers = {k: to_int(groups.pop(k)) for k in prefix.numbers & groups.keys()}
    captures = _with_task(groups) | {k: number for k, number in numbers.items() if number is not None}
    for key, value in _pairs_of(tuple(prefix.pairs)).findall(pairs) if pairs else ():
        if value not in ("", "null") and not is_blanked(value):
            captures[prefix.pairs[key]] = value
    return captures | task_of_client(str(captures.get("client_id", "")))


@cache
def _pairs_of(keys: tuple[str, ...]) -> regex.Pattern[str]:
    """Return a pattern for each of some keys with its value, which ends before the next of them."""
    either = "|".join(map(regex.escape, keys))
    return regex.compile(rf"({either})=(.*?)(?=,\ +(?:{either})=|$)")


def _with_task(groups: dict[str, str]) -> Captures:
    """Return named groups as captures: a task's number and its connector form the task."""
    number = groups.pop("number", None)
    return {**groups, "task": f"{groups['connector']}-{number}"} if number is not None else {**groups}


def task_of_client(client_id: str) -> Captures:
    """Return task and connector of a task's own client; nothing for any other client."""
    return _captures_in_name("client", client_id)


def captures_of_thread(thread: str) -> Captures:
    """Return the captures in a thread's name: the group of a heartbeat thread, the task of a task's thread."""
    return _captures_in_name("thread", thread)


def _captures_in_name(of: str, text: str, words: KafkaWords | None = None) -> Captures:
    for name in (words or kafka_words()).names:
        if name.of == of and text.startswith(name.begins):
            found = name.pattern.fullmatch(text)
            return _with_task({k: v for k, v in found.groupdict().items() if v is not None}) if found else {}
    return {}


def check(words: KafkaWords | None = None) -> Iterator[CatalogueError]:
    """Yield the errors in `parsers/kafka_words.toml`: each example must match only its own block and give the stated captures."""
    words = words or kafka_words()
    for prefix in words.prefixes:
        for line, fields, context in prefix.examples:
            takers = [other.name for other in words.prefixes if other.pattern.fullmatch(line)]
            if takers != [prefix.name] or not line.startswith(words.begins):
                yield CatalogueError(f"An example of `{prefix.name}` does not match it alone.", why=f"Matching: {takers}.", where=f"{WHERE}: {line}")
            elif (found := parse_prefix(line, words)) != (fields, context):
                yield CatalogueError(f"An example of `{prefix.name}` gives other captures.", why=f"It gives {found}.", where=f"{WHERE}: {line}")
    for name in words.names:
        for line, fields in name.examples:
            if (given := _captures_in_name(name.of, line, words)) != fields:
                yield CatalogueError(f"A name of a {name.of} gives other captures.", why=f"It gives {given}.", where=f"{WHERE}: {line}")
