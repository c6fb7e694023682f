"""Read properties files of brokers, workers, connectors and clients; their keys show which of these they belong to."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from forensics.redaction import hide
from forensics.snapshots.observation import MAX_DOCUMENT_BYTES, Broken, Item, Line, Observation, Strange

_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_KEY_END = re.compile(r"(?<!\\)(?:\\\\)*[=:\s]")
_PLAIN_KEY = re.compile(r"[\w.\->*]+")
_LETTERS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
#: Owners of a file: the first whose condition its keys satisfy. Any one of its sets is sufficient.
_COMPONENTS: tuple[tuple[str, tuple[frozenset[str], ...]], ...] = tuple(
    (name, tuple(frozenset(keys.split()) for keys in several))
    for name, several in {
        "connector": ("connector.class",),
        "worker": (
            "config.storage.topic",
            "offset.storage.topic",
            "status.storage.topic",
            "offset.storage.file.filename",
            "group.id rest.port",
            "group.id plugin.path",
        ),
        "broker": (
            "process.roles",
            "broker.id",
            "node.id log.dirs",
            "log.dirs listeners",
            "zookeeper.connect listeners",
            "log.dirs zookeeper.connect",
        ),
        "zookeeper": ("dataDir clientPort", "dataDir tickTime"),
        "mirror_maker": ("clusters",),
        "streams": ("application.id",),
        "consumer": (
            "key.deserializer",
            "auto.offset.reset",
            "max.poll.records",
            "max.poll.interval.ms",
            "group.id bootstrap.servers",
            "group.instance.id",
            "enable.auto.commit",
        ),
        "producer": (
            "key.serializer",
            "bootstrap.servers acks",
            "bootstrap.servers linger.ms",
            "bootstrap.servers compression.type",
            "bootstrap.servers transactional.id",
        ),
        "client": (
            "bootstrap.servers",
            "security.protocol sasl.mechanism",
            "security.protocol sasl.jaas.config",
            "security.protocol ssl.truststore.location",
        ),
    }.items()
)
#: Properties that have a capture of their own, and the capture.
_CAPTURES = {"group.id": "group_id", "client.id": "client_id", "group.instance.id": "group_instance_id"}
_ENOUGH = 2
#: A log record, in any layout, that prints a configuration.
_PRINTED = re.compile(r"\b[A-Z]\w* values:")


@dataclass(frozen=True)
class Property:
    """One property and its position."""

    line: Line
    key: str
    value: str


def parse(lines: Iterable[Line]) -> Iterator[Property | Line]:
    """Yield properties as Java reads them (comments, continued lines, escapes), and any other line unchanged."""
    waiting: Line | None = None
    text = ""
    for line in lines:
        part = line.text.lstrip()
        if waiting is None and (not part or part[0] in "#!"):
            continue
        waiting, text = waiting or line, text + part
        if _continues(part):
            text = text[:-1]
            continue
        yield _property(waiting, text)
        waiting, text = None, ""
    if waiting is not None:
        yield _property(waiting, text)


def component_of(properties: Mapping[str, str]) -> str | None:
    """Return the owner of properties; None if it cannot be determined."""
    keys = properties.keys()
    for name, several in _COMPONENTS:
        if any(wanted <= keys for wanted in several):
            if name == "broker" and properties.get("process.roles", "").strip() == "controller":
                return "controller"
            return name
    return None


def is_properties(lines: Iterable[Line]) -> bool:
    """Return True if lines are a properties file of Kafka: nearly all are properties, and their keys show the owner.

    A log with printed configurations (`ConsumerConfig values:` and indented lines) is not one.
    """
    found, strange = {}, 0
    for item in parse(lines):
        if _PRINTED.search(item.line.text if isinstance(item, Property) else item.text):
            return False
        if not isinstance(item, Property):
            strange += 1
        elif _PLAIN_KEY.fullmatch(item.key):
            found[item.key] = item.value
        else:
            strange += 1
    return len(found) >= _ENOUGH and strange * 10 <= len(found) and component_of(found) is not None


def read_properties(lines: Iterable[Line]) -> Iterator[Item]:
    """Yield one observation for each property."""
    items: list[Property | Line] = []
    size = 0
    for item in parse(lines):
        size += len(item.line.raw if isinstance(item, Property) else item.raw)
        if size > MAX_DOCUMENT_BYTES:
            yield Broken("the file is larger than 64 MB")
            break
        items.append(item)
    every = {i.key: i.value for i in items if isinstance(i, Property)}
    component = component_of(every)
    connector = every.get("name") if component == "connector" else None
    for item in items:
        if isinstance(item, Line):
            yield Strange(item.number, "(not a property)")
            continue
        value = hide(item.key, item.value)
        captures = {"component": component, "connector": connector, "config": {item.key: value}}
        if item.key in _CAPTURES:
            captures[_CAPTURES[item.key]] = value
        yield Observation.of(item.line, "property_read", captures, None, f"{item.key}={value}")


def _continues(part: str) -> bool:
    return (len(part) - len(part.rstrip("\\"))) % 2 == 1


def _property(line: Line, text: str) -> Property | Line:
    end = _KEY_END.search(text)
    if end is None:
        return line
    key, rest = text[: end.end() - 1], text[end.end() - 1 :].lstrip()
    if rest[:1] in ("=", ":"):
        rest = rest[1:].lstrip()
    elif not _PLAIN_KEY.fullmatch(key) or " " in rest.strip():
        return line  # two or more words: prose
    return Property(line, _unescaped(key), _unescaped(rest).strip()) if key else line


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda m: chr(int(m[1][1:], 16)) if len(m[1]) == 5 else _LETTERS.get(m[1], m[1]), text) if "\\" in text else text
