"""Convert a record's logger and message to a typed event, by the catalogue."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any

import regex

from forensics.catalogue.client_libraries import Pairs, are_distinctive, beginnings_of, cover_of, interpretations, places, stands_alone
from forensics.catalogue.converters import EXPANDING, LISTS, NoValue
from forensics.catalogue.counted_texts import CountedTexts, counted_texts
from forensics.catalogue.literals import facts_of
from forensics.catalogue.pattern_files import EventPattern
from forensics.catalogue.patterns import Catalogue, beginnings, read, read_at, simple_name
from forensics.catalogue.plans import Index
from forensics.catalogue.prefixes import Prefixes, captures_of_thread, head_end, parse_prefix, task_of_client
from forensics.records.kafka_words import kafka_words
from forensics.schema import Field

#: Prefix of the names of events that only identify the client or component; they do not apply to other classes.
_OTHER = "other_"
#: Levels of records that are kept regardless of their message.
_ERRORS = frozenset({"ERROR", "SEVERE", "FATAL", "CRITICAL"})
#: Any program prints `started` or `shutting down`; without a logger, such a message means nothing.
_WORD = regex.compile(r"[A-Za-z]{1,15}[.!]?|(?i:shutting\ down|starting\ up)[.!]?|[a-z]{1,15}\ [a-z]{1,15}[.!]?")
#: A blank line: Spring prints one before each stack trace.
_BLANK_LINE = regex.compile(r"\n[ \t]*(?=\n)")
#: The rest of a logger after the message if the line was truncated within the logger.
_CUT_LOGGER = regex.compile(r"\ \((?:|or?|org(?:\.[\w.$]*(?::\d*)?)?|ka?|kafk?|kafka(?:\.[\w.$]*(?::\d*)?)?)(?:\.{2,3}|…)?$", regex.MULTILINE)
_COLUMN = regex.compile(r"\[(?:\[[^\[\]]{0,80}\]|[^\[\]]){0,80}\]:?\ ")
#: How a list ends in which a Python program logs messages again; a layout may contain its beginning. They are no other events.
_LIST_ENDS = ("']", '"]')
#: Lengths of a first line that a program may have wrapped, so that the message continues in the next line.
_WRAPPED = (60, 200)
_MAX_CACHED = 20_000
_LONGEST_CACHED = 400


@dataclass(slots=True)
class Recognised:
    """The event of a record. Identical messages share one object: do not change it.

    Attributes:
        event: the event's name.
        category: its category.
        captures: typed values by name, including those of prefixes; a capture without a value is absent.
        message: first line of the message without prefixes.
        context: Connect's logging context as printed, `b|task-1`.
        pattern: the block that matched.
        fault: why a capture cannot be converted, so that the record is not evidence; empty if all can.
    """

    event: str
    category: str
    captures: dict[str, Any]
    message: str
    context: str | None
    pattern: EventPattern
    fault: str = ""

    @classmethod
    def of(cls, pattern: EventPattern, captures: dict[str, Any], message: str, context: str | None = None) -> Recognised:
        """Return an event of a block; a capture that is not a value is its fault."""
        faults = [f"{name}: {value.reason}" for name, value in captures.items() if isinstance(value, NoValue)]
        if faults:
            captures = {name: value for name, value in captures.items() if not isinstance(value, NoValue)}
        return cls(pattern.name, pattern.category, captures, message, context, pattern, "; ".join(faults))


class _Anywhere:
    """The blocks whose words may occur anywhere, found by their beginning."""

    def __init__(self, events: Iterable[EventPattern], fields: Mapping[str, Field]) -> None:
        self._fields = fields
        mine = [(event, facts_of(event.pattern).prefixes) for event in events if event.anywhere]
        self.texts = beginnings_of(p for _, prefixes in mine for p in prefixes)
        self._blocks: dict[str, list[tuple[EventPattern, bool]]] = {text: [] for text in self.texts}
        lengths = {len(text) for text in self.texts}
        for event, prefixes in mine:
            is_distinctive = are_distinctive(prefixes, event.keys)
            for text in {prefix[:length] for prefix in prefixes for length in lengths} & self._blocks.keys():
                self._blocks[text].append((event, is_distinctive))
        self._cover = cover_of(self.texts)
        self._find = beginnings(self.texts)
        self._deep = tuple(text for text, blocks in self._blocks.items() if any(block.multiline for block, _ in blocks))  # in all lines
        self._find_deep = beginnings(self._deep)

    def read(self, message: str, pairs: Pairs | None) -> Recognised | None:
        """Return the event of a message by the words in it."""
        if not any(piece in message for piece in self._cover) or not any(text in message for text in self.texts):
            return None
        is_deep = "\n" in message and any(text in message for text in self._deep)
        for text_read in interpretations(message, pairs):
            deeper = places(text_read.text, self._find_deep, whole=True) if is_deep else ()
            for at, text in chain(places(text_read.text, self._find), deeper):
                for block, distinctive in self._blocks[text]:
                    if not block.multiline and "\n" in text_read.text[:at]:
                        continue
                    captures = read_at(block, text_read, at, self._fields) if stands_alone(text_read.text, at, distinctive) else None
                    if captures is not None:
                        return Recognised.of(block, captures, text_read.text[at:].partition("\n")[0].rstrip())
        at = message.find("\n", 1)
        return self.read(f"{message[:at]} {message[at + 1 :]}", pairs) if _WRAPPED[0] <= at <= _WRAPPED[1] else None


class Recogniser:
    """A recogniser of messages. Picklable: workers receive the catalogue's data and compile only the patterns that they need."""

    def __init__(self, catalogue: Catalogue) -> None:
        self.catalogue = catalogue
        self._kafka = kafka_words()
        self._own = self._kafka.sign("own")
        self._prefixes = Prefixes()
        self._indexes: dict[str, Index] = {}
        self._simple: dict[str, str] = {}
        self._counted: dict[str, tuple[CountedTexts, ...]] = {}
        self._cache: dict[tuple[str | None, str], Recognised | None] = {}

    def __reduce__(self) -> tuple[Callable[[Catalogue], Recogniser], tuple[Catalogue]]:
        return _revive, (self.catalogue,)

    def prepare(self) -> None:
        """Compute in advance what the first records would wait for, mainly the facts of each block's pattern."""
        _ = self.interesting_loggers, self._blocks_of, self.words, self.index(None), self._index_with_facts

    @cached_property
    def interesting_loggers(self) -> frozenset[str]:
        """Return the simple class names of all loggers that a block names."""
        return frozenset(simple_name(logger) for event in self.catalogue.events for logger in event.loggers)

    @cached_property
    def _foreign(self) -> frozenset[str]:
        """Return the simple class names of loggers of which only a few lines are evidence."""
        return frozenset(simple_name(logger) for logger in self._named_loggers if logger.startswith(self._kafka.foreign))

    @cached_property
    def _named_loggers(self) -> frozenset[str]:
        """Return all loggers that a block names, with their packages."""
        return frozenset(logger for event in self.catalogue.events for logger in event.loggers)

    @cached_property
    def _blocks_of(self) -> dict[str, list[EventPattern]]:
        """Return the blocks of each logger, by its simple class name."""
        found: dict[str, list[EventPattern]] = {}
        for event in self.catalogue.events:
            for name in dict.fromkeys(map(simple_name, () if event.anywhere else event.loggers)):
                found.setdefault(name, []).append(event)
        return found

    @cached_property
    def literals(self) -> tuple[str, ...]:
        """Return texts of which every recognisable message contains at least one; none of them contains another."""
        found = {text for event in self.catalogue.events for text in facts_of(event.pattern).anchors}
        kept: list[str] = []
        for text in sorted(found, key=lambda t: (len(t), t)):
            if not any(short in text for short in kept):
                kept.append(text)
        return tuple(kept)

    @cached_property
    def words(self) -> tuple[str, ...]:
        """Return texts of which every record that is recognised for any logger contains one: beginnings of clients' words, and Kafka's own prefixes."""
        return (*self._anywhere.texts, *self._kafka.marks)

    @cached_property
    def _anywhere(self) -> _Anywhere:
        return _Anywhere(self.catalogue.events, self.catalogue.fields)

    @cached_property
    def _index_with_facts(self) -> Index:
        """Return blocks of all loggers that contain more than the identity of a client."""
        return Index((e for e in self.catalogue.events if not e.anywhere and not e.name.startswith(_OTHER)), self.catalogue.fields)

    def is_relevant(self, logger: str | None) -> bool:
        """Return True if records of a logger may be relevant: a block is for it, or it may be a class that extends Kafka's coordinator."""
        return self.is_interesting(logger) or (logger is not None and logger.endswith(self._kafka.heir))

    def is_left_out(self, logger: str | None) -> bool:
        """Return True if a logger is a class of Kafka without a block: its records are known not to be evidence, regardless of their message."""
        return logger is not None and logger.startswith(self._kafka.packages) and not self.is_relevant(logger)

    def is_interesting(self, logger: str | None) -> bool:
        """Return True if a block is for this logger; without a logger, every record may be an event."""
        return logger is None or self._simple_name(logger) in self.interesting_loggers

    def needs_row(self, logger: str | None, level: str | None, message: str) -> bool:
        """Return True if a record that no block matches is a row of `unrecognised`, because it may be missed evidence.

        At INFO and above, this is every record of a relevant logger of Kafka or its clients. Below, it is those of classes whose DEBUG lines are evidence about groups and
        tasks; a fetcher prints ten thousand other lines a minute, which are only counted. If the layout has no logger, or none that was understood,
        the prefixes of Kafka's own classes decide.
        """
        if logger is not None and (not self.is_interesting(logger) or self._simple_name(logger) in self._foreign):
            return False
        if logger is None and not any(mark in message for mark in self._kafka.marks):
            return False
        if level is None or level.strip().upper() not in self._kafka.below_info:
            return True
        return logger is not None and self._simple_name(logger) in self._kafka.debug

    @cached_property
    def row_captures(self) -> frozenset[str]:
        """Return captures that prevent a record from being only counted."""
        return frozenset(name for name, capture in self.catalogue.fields.items() if capture.telling)

    @staticmethod
    def is_error(level: str | None) -> bool:
        """Return True if records of a level are kept regardless of their message."""
        return level is not None and level.strip().upper() in _ERRORS

    def is_counted(self, found: Recognised, level: str | None) -> bool:
        """Return True if a record carries no fact and is not an error: only its position and time matter.

        Its block says so, and neither it nor its surroundings identify a task or member, for which any line is a sign of activity.
        """
        return found.pattern.counted and not self.is_error(level) and self.row_captures.isdisjoint(found.captures)

    def counted_texts(self, logger: str | None) -> tuple[CountedTexts, ...]:
        """Return recognisers of a logger's messages that are only counted and have no prefix."""
        if logger is None or not self.is_interesting(logger):
            return ()
        name = self._simple_name(logger)
        if name not in self._counted:
            self._counted[name] = tuple(counted_texts(self._blocks_of.get(name, ()), self.row_captures))
        return self._counted[name]

    def split(self, message: str) -> tuple[str, dict[str, Any], str | None]:
        """Return the message without context prefixes, their captures (do not change them), and Connect's context (`b|task-1`) or None."""
        return self._prefixes.split(message)

    def spans(self, logger: str | None, message: str, first: int, *, ids: bool) -> tuple[int, dict[str, tuple[int, int]]] | None:
        """Return the size of the prefixes of a logger's message, and where each capture of its pattern begins and ends in it.

        Args:
            logger: as printed.
            message: one line.
            first: position of the first number in it.
            ids: True if it contains IDs.

        Returns:
            None if the message may be recognised otherwise with other numbers or IDs from `first` on, or if no pattern of the logger matches.
        """
        rest, _, _ = self._prefixes.split(message)
        size, index = len(message) - len(rest), self.index(logger)
        if index is None or first < size or index.needs_numbers(rest, first - size, ids=ids):
            return None
        if rest.startswith(self._kafka.begins) and first - size < head_end(rest):
            return None
        for plan in index.candidates(rest):
            if not plan.ignores_numbers(ids=ids):
                if plan.needs_numbers(ids=ids) or plan.may_match(rest):
                    return None
            elif plan.may_match(rest) and (found := plan.matched(rest)) is not None:
                if any(self.catalogue.fields[name].type in (*EXPANDING, *LISTS) and not plan.simple for name in found.re.groupindex):
                    return None
                places = {name: found.span(name) for name in found.re.groupindex}
                return size, {name: (size + begin, size + end) for name, (begin, end) in places.items() if begin >= 0}
        return None

    def recognise(
        self, logger: str | None, message: str, thread: str | None = None, context: str | None = None, pairs: Pairs | None = None
    ) -> Recognised | None:
        """Return the event of a record.

        Args:
            logger: as printed, possibly abbreviated; None if the layout has none: then every block is tried.
            message: the whole record after its layout, lines joined by line breaks.
            thread: as printed; contains the group of a heartbeat thread, or the task of a task's thread.
            context: Connect's logging context, if the layout and not the message contains it (`b|task-1`, with or without brackets).
            pairs: keys and values of a JSON record.

        Returns:
            The event, or None if no block matches. Captures of the pattern take precedence over those of prefixes, and these over the thread's.
        """
        if len(message) > _LONGEST_CACHED or pairs is not None:
            found = self._recognise(logger, message, pairs)
        else:
            key = (logger, message)
            try:
                found = self._cache[key]
            except KeyError:
                if len(self._cache) >= _MAX_CACHED:
                    self._cache.clear()
                found = self._cache[key] = self._recognise(logger, message)
        return self._with_surroundings(found, thread, context) if thread or context else found

    def matches(self, logger: str | None, message: str) -> list[EventPattern]:
        """Return all blocks that match; more than one is an error in the catalogue."""
        rest = self._prefixes.split(message)[0]
        index = self.index(logger)
        plans = index.candidates(rest) if index else []
        others = [e for e in self.catalogue.events if e.anywhere]
        fields = self.catalogue.fields
        found = [p.event for p in plans if p.may_match(rest) and read(p.event, rest, fields) is not None]
        if found and logger is not None:
            return found
        return [*found, *(e for e in others if read(e, rest, fields) is not None)]

    def _recognise(self, logger: str | None, message: str, pairs: Pairs | None = None) -> Recognised | None:
        if logger is None:
            if message.endswith(_LIST_ENDS) and (message.startswith("[") or message.count("[") < message.count("]")):
                return None
            message = _CUT_LOGGER.sub("", message, count=1)
        if "\n" in message:
            message = _BLANK_LINE.sub("", message)
        # Without a logger, words of other clients are tried first: blocks of the Java client match less of the same sentence.
        found = self._anywhere.read(message, pairs) if logger is None and not self._own.search(message) else None
        index = self.index(logger) if found is None else None
        if index is not None and (logger is not None or not _WORD.fullmatch(message)):
            found = self._by_logger(index, message)
        if found is not None or self.is_left_out(logger):
            return found
        found = self._by_mark(message, logger is not None)
        if found is not None:
            return found
        found = self._anywhere.read(message, pairs)
        if found is None and logger and "." not in logger:  # a layout may have read a tag before the message as a logger
            found = self._anywhere.read(f"[{logger}] {message}", pairs)
        return found

    def _by_logger(self, index: Index, message: str) -> Recognised | None:
        rest, outer, context = self._prefixes.split(message)
        found = self._matched(index, rest, outer, context)
        if found is None and rest.startswith("["):
            column = _COLUMN.match(rest)  # of a layout that prints it directly before the message
            found = self._matched(index, *self._prefixes.split(rest[column.end() :])) if column else None
        return found

    def _by_mark(self, message: str, named: bool) -> Recognised | None:
        """Return the event after one of Kafka's own prefixes, after any head and for any logger; with a named logger, only one with a fact."""
        if "[" not in message or not self._own.search(message):
            return None
        # Most records of a named logger do not match these blocks, which is found without the many blocks that only identify a client.
        if named and self._behind_mark(self._index_with_facts, message) is None:
            return None
        found = self._behind_mark(self.index(None), message)
        return None if found is None or (named and found.event.startswith(_OTHER)) else found

    def _behind_mark(self, index: Index | None, message: str) -> Recognised | None:
        for text_read in interpretations(message, None) if index else ():
            mark = self._own.search(text_read.text)
            found = self._matched(index, *self._prefixes.split(text_read.text[mark.start() :])) if index and mark else None
            if found:
                return found
        return None

    @staticmethod
    def _matched(index: Index, rest: str, outer: dict[str, Any], context: str | None) -> Recognised | None:
        line = (rest[: rest.index("\n")] if "\n" in rest else rest).rstrip()
        for plan in index.candidates(rest):
            if plan.may_match(rest):
                event = plan.event
                captures = plan.match(rest if event.multiline else line)
                if captures is not None:
                    if "client_id" in captures and "task" not in outer:
                        captures = {**task_of_client(captures["client_id"]), **captures}
                    return Recognised.of(event, {**outer, **captures} if outer else captures, line, context)
        return None

    @staticmethod
    def _with_surroundings(found: Recognised | None, thread: str | None, context: str | None) -> Recognised | None:
        """Add the captures of thread and layout that neither message nor prefix has."""
        if found is None:
            return None
        extra: dict[str, Any] = captures_of_thread(thread) if thread else {}
        bare = context.strip().removeprefix("[").removesuffix("]") if context else None
        if bare:
            parsed = parse_prefix(f"[{bare}]")
            extra = {**extra, **(parsed[0] if parsed else {})}
        if not extra and not bare:
            return found
        return replace(found, captures={**extra, **found.captures}, context=found.context or bare)

    def index(self, logger: str | None) -> Index | None:
        """Return the prepared blocks of a logger; None if no block is for it. Without a logger, return those of all."""
        name = "" if logger is None else self._simple_name(logger)
        index = self._indexes.get(name)
        if index is None:
            if logger is not None and name not in self.interesting_loggers:
                return None
            events = [e for e in self.catalogue.events if not (e.anywhere or e.named)] if logger is None else self._blocks_of.get(name, [])
            # Without a logger several blocks may match a wording: those with a fact come before those that only identify a client.
            index = self._indexes[name] = Index(sorted(events, key=lambda e: e.name.startswith(_OTHER)), self.catalogue.fields)
        return index

    def _simple_name(self, logger: str) -> str:
        name = self._simple.get(logger)
        if name is None:
            if len(self._simple) >= _MAX_CACHED:
                self._simple.clear()
            name = self._simple[logger] = self._dispatched(logger)
        return name

    def _dispatched(self, logger: str) -> str:
        """Return the class whose blocks apply to a logger's messages.

        If a layout prints the class of the statement (%C), an inner class (`AbstractCoordinator$JoinGroupResponseHandler`) means the class around
        it.
        """
        name = simple_name(logger)
        outer = logger.rstrip("$")
        while name not in self.interesting_loggers and "$" in outer:
            outer = outer.rpartition("$")[0]
            if simple_name(outer) in self.interesting_loggers:
                return simple_name(outer)
        return name if name in self.interesting_loggers or not logger.startswith(self._kafka.packages) else self._before_method(logger)

    def _before_method(self, logger: str) -> str:
        """Return the class at the beginning of a logger if its method follows without a separator, which a paste has lost."""
        begin = logger.rfind(".") + 1
        ends = (i for i in range(len(logger) - 1, begin, -1) if logger[i].islower() and logger[:i] in self._named_loggers)
        return simple_name(logger[: next(ends, len(logger))])


_LIVE: dict[str, Recogniser] = {}


def _revive(catalogue: Catalogue) -> Recogniser:
    """Return one recogniser for each process and catalogue: a worker process gets many tasks, and should compile once."""
    if catalogue.hash not in _LIVE:
        _LIVE.clear()
        _LIVE[catalogue.hash] = Recogniser(catalogue)
    return _LIVE[catalogue.hash]
