"""Collect the names in records of a log, and rewrite the records without them.

A rewritten record that matched an event is read again. It must match the same event, and its captures may differ only by replaced names. Otherwise,
and if no event matches a record, its message is withheld: only its time, level, logger, origin and number of lines stay.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from forensics.catalogue import patterns
from forensics.catalogue.converters import to_string
from forensics.catalogue.prefixes import Prefixes, captures_of_thread
from forensics.catalogue.recogniser import Recognised, Recogniser
from forensics.records.kafka_words import kafka_words
from forensics.records.layouts import Layout
from forensics.records.line_reader import (
    MAX_RECORD_BYTES,
    Line,
    OutsideLine,
    Piece,
    Record,
    RecordLines,
    RecordReader,
    Start,
    TextLine,
    decode,
    is_no_text,
    records_in,
    text_lines,
)  # fmt: skip
from forensics.redact.assignment_bytes import rewritten_decimals
from forensics.redact.text import Names, Rewriter, kind_of_setting, names_something
from forensics.redaction import scrub
from forensics.schema import Field

WITHHELD = "[withheld]"
#: Stands at the end of a line of bytes that are no text, and the bytes that make the line one of these in the copy too.
NO_TEXT, NO_TEXT_BYTES = "\udcff\x01", b"\xff\x01"
_PAIR = re.compile(r"(?P<key>clientId|groupId|instanceId|transactionalId)=(?P<value>.*?)(?=,\ +(?:clientId|groupId|instanceId|transactionalId)=|$)")
_KIND_OF_PAIR = {"clientId": "client", "groupId": "group", "instanceId": "instance", "transactionalId": "transaction"}
_SETTING = re.compile(r"(?P<before>\s+)(?P<key>[^\s=]+)(?P<equals> =\s?)(?P<value>.*)")
_WORD = re.compile(r"[^\W_]+")
_BRACKETS = re.compile(r"(?<=\[)[^\[\]]*(?=\])")
_COLUMN = re.compile(r"\[(?:\[[^\[\]]{0,80}\]|[^\[\]]){0,80}\]:? ")
_JSON_HEADS = ("time", "level", "line")
#: Keys whose numbers are always times, levels or positions in a program.
_NUMBERS_OF_RECORDS = {
    "level", "level_value", "levelno", "line", "lineNumber", "line_number", "lineno", "pid", "process_id", "thread_id", "threadId", "threadPriority", "epochSecond", "nanoOfSecond",
    "seconds", "nanos", "timestampSeconds", "timestampNanos", "@version", "_PID", "PRIORITY",
}  # fmt: skip
#: The form of times, levels and line numbers.
_HEAD_VALUE = re.compile(r"[A-Za-z]{1,10}|[A-Za-z]{0,4}[\d:.,/+\-TZ ]{1,40}(?:[A-Za-z]{1,4}[\d: ]{0,12}){0,3}")


@dataclass
class Counts:
    """Numbers of records and lines by outcome.

    Attributes:
        lines, records: read.
        rewritten: records of events, kept with other names.
        unrecognised: records that match no event; their messages are withheld.
        damaged: records that no longer match their event after names were replaced; their messages are withheld.
        kept: records that match no event, kept on request with other names and words.
        strange: lines that belong to no record; withheld.
    """

    lines: int = 0
    records: int = 0
    rewritten: int = 0
    unrecognised: int = 0
    damaged: int = 0
    kept: int = 0
    strange: int = 0

    def add(self, other: Counts) -> None:
        """Add the counts of other records."""
        for name in self.__dataclass_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


def message_only(texts: Sequence[str]) -> Record:
    """Return a record without a head: a wrapped line of a file without times."""
    return Record("message only", message="\n".join(texts).rstrip())


class Collector:
    """A collector of the names in records.

    Args:
        recogniser: knows the events.
        names: receives the names.
    """

    def __init__(self, recogniser: Recogniser, names: Names) -> None:
        self._recogniser, self._names = recogniser, names
        self._fields = recogniser.catalogue.fields

    def collect(self, record: Record) -> bool:
        """Collect the names of a record; return True if it matches an event."""
        if record.source:
            for part in record.source.split("/"):
                self._names.add("source", part)
        if record.thread:
            self._take(captures_of_thread(record.thread))
        found = self._recogniser.recognise(record.logger, record.message, record.thread, record.context, record.pairs)
        if found is not None:
            self._take(found.captures)
        else:
            self._take(self._recogniser.split(record.message)[1])
        return found is not None

    def _take(self, captures: Mapping[str, Any]) -> None:
        for name, value in captures.items():
            if name == "threads":
                for thread in value:
                    self._take(captures_of_thread(thread))
            elif (kind := kind_of(self._fields, name)) is not None:
                collect_value(self._names, kind, value)

    def take_captures(self, captures: Mapping[str, Any]) -> None:
        """Collect the names in captures, for example of a snapshot."""
        self._take(captures)


def kind_of(fields: Mapping[str, Field], capture: str) -> str | None:
    """Return the kind of name that the value of a capture is; None if it is not a name."""
    known = fields.get(capture)
    if known is None or known.type in ("int", "double", "assignment_bytes"):
        return None
    return known.names or "words"


_NO_NAMES = {"words", "public", "class", "path"}


def collect_value(names: Names, kind: str, value: Any) -> None:  # noqa: ANN401  (a capture's value)
    """Collect the names in a capture's value."""
    if kind in _NO_NAMES or value is None:
        return
    if isinstance(value, str):
        _collect_name(names, kind, value)
    elif isinstance(value, list):
        for item in value:
            collect_value(names, kind, item)
    elif isinstance(value, Mapping):
        if kind == "configuration":
            _collect_settings(names, value)
        elif kind == "assignment":
            for member, items in value.items():
                _collect_name(names, "member", member)
                for item in items:
                    _collect_name(names, "resource", item)
        else:
            for key in value:
                _collect_name(names, kind, key)


def _collect_name(names: Names, kind: str, text: str) -> None:
    if kind == "address":
        if text.startswith("/"):  # a path of Connect's REST API
            return
        found = re.search(r"(?:^|[/@])(\[[^\]]{0,255}\]|[^\s/:@]+)(?=$|[:/])", text.partition("://")[2] or text.lstrip("/"))
        names.add("host", found[1] if found else "")
        return
    if kind == "setting":
        names.keys.add(text)
        return
    names.add(kind, text)
    if kind in ("task", "partition"):
        owner, dash, number = text.rpartition("-")
        if dash and number.isdigit():
            names.add("connector" if kind == "task" else "topic", owner)


def _collect_settings(names: Names, settings: Mapping[str, Any]) -> None:
    for key, value in settings.items():
        names.keys.add(key)
        if not isinstance(value, str):
            continue
        if key == "offsets.topic.num.partitions" and value.isdigit() and int(value) > 0:
            names.offsets_partitions.add(int(value))
        kind = kind_of_setting(key)
        if kind and names_something(value):
            for item in value.split(","):
                _collect_name(names, kind, item.strip())


class RecordRewriter:
    """A rewriter of records without names.

    Args:
        reader: the reader of the file.
        recogniser: knows the events.
        rewriter: rewriter of names and text.
        keep_unrecognised: keep the messages of records that match no event, with every word replaced that is neither Kafka's nor plain English.
    """

    def __init__(self, reader: RecordReader, recogniser: Recogniser, rewriter: Rewriter, *, keep_unrecognised: bool = False) -> None:
        self._reader, self._recogniser, self._rewriter = reader, recogniser, rewriter
        self._keep = keep_unrecognised
        self._fields = recogniser.catalogue.fields
        self._prefixes = Prefixes()
        self._loggers: dict[str, str] = {}
        self.counts = Counts()
        self._may_be_known = True
        self._kept_prefix = ""
        #: By layout, logger and prefix: True if the rest of a withheld record matches no event.
        self._harmless: dict[tuple[str, str | None, str], bool] = {}

    def lines(self, raw: Iterable[bytes], known: Sequence[int]) -> Iterator[str]:
        """Yield the lines of a text, in order, without names.

        A line of bytes that are no text ends with `NO_TEXT`.

        Args:
            raw: its lines.
            known: True for each record that matches an event; unknown for records after the end.
        """
        waiting: deque[TextLine] = deque()
        done: dict[int, str] = {}

        def read() -> Iterator[TextLine]:
            for line in text_lines(raw):
                waiting.append(line)
                self.counts.lines += 1
                yield line

        number = 0
        for found in records_in(read(), self._reader):
            if isinstance(found, OutsideLine):
                done[found.offset] = self._outside(found)
            else:
                self._may_be_known = number < len(known) and bool(known[number])
                number += 1
                done.update(zip((piece.offset for piece in found.lines.pieces), self.rewrite(found.lines), strict=True))
            if self._reader.profile.json and self._reader.profile.folded:
                pieces = [found] if isinstance(found, OutsideLine) else found.lines.pieces
                done.update(dict.fromkeys((at for piece in pieces for at in _later_rows(piece.offset, piece.raw, waiting)), ""))
            while waiting and all(offset in done for offset, *_ in waiting[0].parts):
                yield self._whole(waiting.popleft(), done)
        yield from (self._whole(line, done) for line in waiting)

    @staticmethod
    def _whole(line: TextLine, done: dict[int, str]) -> str:
        return line.with_texts(done) + NO_TEXT * is_no_text(line.raw)

    def _outside(self, found: OutsideLine) -> str:
        """Return a line that belongs to no record: blank, the heading or the separator of a tool, or withheld."""
        text = decode(found.raw[:MAX_RECORD_BYTES])
        name = self._reader.heading(text) if found.fits else None
        if name is not None:
            text = text.replace(name, self._rewriter.source(name)) if name else text
        if not text.strip() or found.fits and (text.strip() == "--" or name is not None) and not self._rewriter.leaks(text):
            return text
        self.counts.strange += 1
        return WITHHELD

    def rewrite(self, whole: RecordLines) -> list[str]:
        """Return the lines of a record in its file, each without names; their number stays. A line that was split is whole again in its first part."""
        self.counts.records += 1
        texts, result = iter(self._texts(whole)), []
        for piece in whole.pieces:
            begun = [""] * piece.continues
            result.append(self._wrapped(piece, [*begun, *islice(texts, len(piece.texts) - len(begun))]))
        return result

    def _texts(self, whole: RecordLines) -> list[str]:
        start, texts = whole.start, whole.texts
        old = self._reader.finish(start, list(texts))
        known = self._known(old) if self._may_be_known and not old.fault else None
        if known:
            new = self._attempt(start, old, texts, known)
            if new is not None and self._same(known, old, new) and not self._rewriter.leaks("\n".join(new)):
                self.counts.rewritten += 1
                return new
        elif self._keep and not old.fault:
            new = self._attempt(start, old, texts, None)
            if new is not None and self._is_equivalent(old, new) and not self._rewriter.leaks("\n".join(new)):
                self.counts.kept += 1
                return new
        if known:
            self.counts.damaged += 1
        else:
            self.counts.unrecognised += 1
        return self._withheld(start, old, texts)

    def _known(self, record: Record) -> Recognised | None:
        try:
            found = self._recogniser.recognise(record.logger, record.message, record.thread, record.context, record.pairs)
        except Exception:  # a record that cannot be recognised is withheld
            return None
        return found if found is not None and not found.fault else None

    def _again(self, texts: list[str]) -> Record | None:
        start = self._reader.start(Line(texts[0]))
        return self._reader.finish(start, list(texts)) if start is not None else message_only(texts)

    def _attempt(self, start: Start, old: Record, texts: list[str], known: Recognised | None) -> list[str] | None:
        try:
            new = self._record(start, old, texts, known)
        except Exception:  # the record is withheld after any error
            return None
        return new if len(new) == len(texts) else None

    def _same(self, known: Recognised, old: Record, texts: list[str]) -> bool:
        """Return True if rewritten lines are the same event, and differ only in names."""
        new = self._again(texts)
        found = self._known(new) if new and not new.fault else None
        if new is None or found is None or found.event != known.event or found.pattern is not known.pattern:
            return False
        if (new.moment, new.level, new.source_line, new.layout) != (old.moment, old.level, old.source_line, old.layout) and self._timed(old):
            return False
        if known.captures.keys() != found.captures.keys():
            return False
        return all(self._is_renamed(name, value, found.captures[name]) for name, value in known.captures.items())

    def _is_renamed(self, name: str, old: Any, new: Any) -> bool:  # noqa: ANN401  (a capture's value)
        """Return True if the value of a capture is the old one with other names."""
        kind = kind_of(self._fields, name)
        if kind is None:
            return bool(old == new)
        if self._rewriter.value(kind, old) == new:
            return True
        wanted = self._rewriter.value(kind, scrub(old) if isinstance(old, str) else old)
        # Free text may contain other captures, whose names are replaced even if they are common words.
        return bool(wanted == new) or (kind == "words" and isinstance(old, str) and len(_WORD.findall(scrub(old))) == len(_WORD.findall(str(new))))

    @staticmethod
    def _timed(record: Record) -> bool:
        return record.layout != "message only"

    def _is_equivalent(self, old: Record, texts: list[str]) -> bool:
        """Return True if rewritten lines are still a record that matches no event, and are as relevant as before."""
        new = self._again(texts)
        if new is None or new.fault or self._known(new) is not None or (new.moment, new.level) != (old.moment, old.level):
            return False
        needs_row = self._recogniser.needs_row
        return needs_row(new.logger, new.level, new.message) == needs_row(old.logger, old.level, old.message)

    def _withheld(self, start: Start, old: Record, texts: list[str]) -> list[str]:
        """Return a record without its message. The prefix that identifies its client stays if nothing else identifies it."""
        for with_prefix in (True, False):
            try:
                new = self._without_message(start, old, texts, with_prefix=with_prefix)
            except Exception:  # noqa: S112  (the shorter form is tried, then nothing stays)
                continue
            if (with_prefix and not self._is_harmless(old, new)) or self._rewriter.leaks("\n".join(new)):
                continue
            return new
        return [WITHHELD, *self._blank(texts[1:])]

    def _is_harmless(self, old: Record, texts: list[str]) -> bool:
        """Return True if the rest of a withheld record is a record with the same time, and no event."""
        key = (old.layout, old.logger, self._kept_prefix)
        known = self._harmless.get(key)
        if known is None:
            again = self._again(texts)
            known = again is not None and not again.fault and again.moment == old.moment and self._known(again) is None
            self._harmless[key] = known
        return known

    @staticmethod
    def _blank(texts: list[str]) -> list[str]:
        return [f"\t{WITHHELD}" if text.strip() else "" for text in texts]

    # --- heads

    def _without_message(self, start: Start, old: Record, texts: list[str], *, with_prefix: bool) -> list[str]:
        prefix = ""
        if with_prefix:
            rest = self._prefixes.split(old.message)[0]
            prefix = self._prefix(old.message[: len(old.message) - len(rest)])
        self._kept_prefix = prefix
        message = f"{prefix}{WITHHELD}"
        if isinstance(start, Mapping):
            return [self._json(start, [message]), *self._blank(texts[1:])]
        bodies, heads, tail = self._parts(start, texts)
        lines = [message, *self._blank(bodies[1:])]
        if tail[0]:
            lines[tail[0]] = ""
        return self._joined(lines, heads, tail)

    def _parts(self, start: tuple[Layout, re.Match[str]], texts: list[str]) -> tuple[list[str], list[str], tuple[int, str]]:
        """Return the lines of a record's message, the rewritten heads before it, and the line that ends with a tail and this tail, rewritten."""
        layout, match = start
        if layout.columns:
            raise ValueError("rows of tables cannot be split")  # noqa: TRY003
        heads, tail, bodies = self._reader.fields(layout, match, texts)
        first = "" if layout.whole else self._head(heads[0])
        return bodies, [first, *map(self._head, heads[1:])], (tail[0], self._head(tail[1])) if tail else (0, "")

    @staticmethod
    def _joined(lines: list[str], heads: list[str], tail: tuple[int, str]) -> list[str]:
        """Return the lines of a record, given those of its message, its heads and its tail."""
        lines[tail[0]] += tail[1]
        return [*heads[:-1], heads[-1] + lines[0], *lines[1:]]

    def _head(self, match: re.Match[str]) -> str:
        """Return the text that a layout prints around a message, without names."""
        spans = sorted((match.span(name), name) for name, value in match.groupdict().items() if value)
        result, at = [], match.start()
        for (begin, end), name in spans:
            if begin < at:
                continue
            result.append(self._rewriter.running(match.string[at:begin]))
            result.append(self._part(name, match.string[begin:end]))
            at = end
        result.append(self._rewriter.running(match.string[at : match.end()]))
        return "".join(result)

    def _part(self, name: str, text: str) -> str:
        if name in ("ts", "level", "line", "unended"):
            return text
        if name == "thread":
            return self._rewriter.thread(text)
        if name == "context":
            return self._context(text)
        if name == "logger":
            return self._logger(text)
        return self._rewriter.source(text) if name == "source" else self._rewriter.running(text)

    def _context(self, text: str) -> str:
        bare = text.strip()
        opened, closed = "[" * bare.startswith("["), "]" * bare.endswith("]")
        inner = bare.removeprefix("[").removesuffix("]")
        return text.replace(bare, f"{opened}{self._rewriter.context(inner)}{closed}")

    def _logger(self, logger: str) -> str:
        known = self._loggers.get(logger)
        if known is None:
            packages = kafka_words().packages
            simple = logger.rpartition(".")[2]
            own = (
                logger.startswith(packages)
                or self._recogniser.is_interesting(logger)
                and re.fullmatch(r"(?:[a-z]{1,2}\.)*[\w$]+|(?:org|kafka)\..*", logger)
            )
            known = logger if own or "." not in logger and simple in self._recogniser.interesting_loggers else self._rewriter.running(logger)
            self._loggers[logger] = known
        return known

    # --- messages

    def _record(self, start: Start, old: Record, texts: list[str], known: Recognised | None) -> list[str]:
        if isinstance(start, Mapping):
            message = scrub(old.message).split("\n")
            first = self._json(start, self._message(message, known))
            return [first, *self._blank(texts[1:])]
        bodies, heads, tail = self._parts(start, texts)
        scrubbed = scrub("\n".join(bodies)).split("\n")
        if len(scrubbed) != len(bodies):
            return []
        new = self._message(scrubbed, known)
        return self._joined(new, heads, tail) if len(new) == len(bodies) else []

    def _message(self, lines: list[str], known: Recognised | None) -> list[str]:
        message = "\n".join(lines)
        rest = self._prefixes.split(message)[0]
        prefix = self._prefix(message[: len(message) - len(rest)])
        if known is None:
            first, *others = rest.split("\n")
            return [prefix + self._rewriter.running(first), *self._rewriter.frames(others)]
        match = patterns.match(known.pattern, rest)
        if match is None and (column := _COLUMN.match(rest)):  # of a layout that prints it directly before the message
            behind = rest[column.end() :]
            bare = self._prefixes.split(behind)[0]
            prefix += self._rewriter.running(column[0]) + self._prefix(behind[: len(behind) - len(bare)])
            rest = bare
            match = patterns.match(known.pattern, rest)
        if match is None:
            first, *others = rest.split("\n")
            rewritten = self._rewriter.dump("\n".join(others)).split("\n") if "threads" in known.captures else self._rewriter.frames(others)
            return [prefix + self._rewriter.running(first), *rewritten]
        if known.pattern.multiline:
            return (prefix + self._spans(match)).split("\n")
        first, *others = rest.split("\n")
        return [prefix + self._spans(match) + first[match.end() :], *self._rewriter.frames(others)]

    def _spans(self, match: Any) -> str:  # noqa: ANN401  (of `regex`)
        """Rewrite a recognised message: each capture by its kind, the rest as running text."""
        # Captures of free text are rewritten with the text around them, and may contain other captures.
        names = [
            n
            for n in match.re.groupindex
            if n not in self._fields or self._fields[n].type in ("int", "config") or self._fields[n].names not in ("", "words")
        ]
        spans = sorted((span, name) for name in names for span in match.spans(name) if span[0] >= 0)
        text, result, at = match.string, [], 0
        for (begin, end), name in spans:
            if begin < at:
                continue
            result.append(self._rewriter.running(text[at:begin]))
            result.append(self._capture(name, text[begin:end]))
            at = end
        result.append(self._rewriter.running(text[at : match.end()]))
        return "".join(result)

    def _capture(self, name: str, text: str) -> str:
        known = self._fields.get(name)
        if known is None or known.type in ("int", "double"):
            return text
        if to_string(text) is None:  # a missing value as Java prints it
            return text
        if known.type == "assignment_bytes":
            return rewritten_decimals(text, self._rewriter.of_kind)
        kind = known.names or "words"
        if kind == "configuration":
            return "\n".join(self._setting(line) for line in text.split("\n"))
        if known.type == "map":
            return self._map(text)
        if known.type == "partitions":
            return self._rewriter.partitions(text)
        if known.type == "list":
            return self._rewriter.items(kind, text)
        return self._rewriter.running(text, numbers=True) if known.type == "offsets" else self._rewriter.of_kind(kind, text)

    def _map(self, text: str) -> str:
        """Rewrite a leader's assignment: members and topics anywhere, resources in brackets."""
        if "assignment=[" in text and "memberId='" in text:
            text = re.sub(r"(?<=memberId=')[^']*", lambda m: self._rewriter.of_kind("member", m[0]), text)
            return re.sub(r"(?<=assignment=\[)[-\d, ]*", lambda m: rewritten_decimals(m[0], self._rewriter.of_kind), text)
        parts, at = [], 0
        for found in _BRACKETS.finditer(text):
            parts.append(self._rewriter.running(text[at : found.start()]))
            parts.append(", ".join(self._rewriter.resource(item) if item else item for item in found[0].split(", ")))
            at = found.end()
        return "".join([*parts, self._rewriter.running(text[at:])])

    def _setting(self, line: str) -> str:
        found = _SETTING.fullmatch(line)
        if found is None:
            return self._rewriter.running(line)
        return f"{found['before']}{self._rewriter.setting_key(found['key'])}{found['equals']}{self._rewriter.setting(found['key'], found['value'])}"

    def _prefix(self, prefix: str) -> str:
        """Rewrite context prefixes, `[b|task-1] [Consumer clientId=..., groupId=...] `."""

        def one(found: re.Match[str]) -> str:
            return f"[{self._in_prefix(found[1])}]" if found[1] is not None else self._rewriter.running(found[0])

        end = prefix.rfind("]") + 1  # each bracket before it is closed
        return re.sub(r"\[([^\]]*)\]|[^\[]+", one, prefix[:end]) + self._rewriter.running(prefix[end:])

    def _in_prefix(self, text: str) -> str:
        if _PAIR.search(text):
            return _PAIR.sub(lambda m: f"{m['key']}={self._value_of_pair(m['key'], m['value'])}", text)
        if "|" in text:
            return self._rewriter.context(text)
        for word in ("GroupId ", "Group ", "GroupId="):
            if text.startswith(word) and not text.startswith("Group Metadata"):
                return word + self._rewriter.of_kind("group", text.removeprefix(word))
        return self._rewriter.running(text)

    def _value_of_pair(self, key: str, value: str) -> str:
        return value if value in ("", "null") else self._rewriter.of_kind(_KIND_OF_PAIR[key], value)

    # --- objects

    def _json(self, found: Mapping[str, Any], message: list[str]) -> str:
        """Rewrite a record that is an object: its time and level stay, its message is the rewritten one, and all other texts are rewritten."""
        keys = self._reader.layouts.keys
        old = keys.get("message", found)
        kept = [
            value
            for value in (keys.get(what, found) for what in _JSON_HEADS)
            if value is not None and value is not old and (not isinstance(value, str) or _HEAD_VALUE.fullmatch(value))
        ]
        trace = keys.get("trace", found)
        first = message if not isinstance(trace, str) else message[: max(1, len(message) - len(trace.split("\n")))]
        special = {
            "thread": keys.get("thread", found),
            "context": keys.get("context", found),
            "logger": keys.get("logger", found),
            "source": keys.get("source", found),
        }

        def rewritten(value: Any, key: str = "") -> Any:  # noqa: ANN401  (JSON)
            if isinstance(value, Mapping):
                return {self._rewriter.key(k): rewritten(v, k) for k, v in value.items()}
            if isinstance(value, list):
                return [rewritten(v, key) for v in value]
            if any(value is k for k in kept) or value is None or isinstance(value, bool):
                return value
            if not isinstance(value, str):
                return value if key in _NUMBERS_OF_RECORDS else self._rewriter.number_of_key(key, value)
            if value is old:
                return "\n".join(first)
            if value is trace:
                return "\n".join(message[len(first) :]) or WITHHELD
            for name, mine in special.items():
                if value is mine:
                    return self._part(name, value)
            return value if key in _NUMBERS_OF_RECORDS and value.isdigit() else self._rewriter.text_of_key(key, value)

        return json.dumps(rewritten(found), ensure_ascii=False)

    # --- wrappers

    def _wrapped(self, piece: Piece, texts: list[str]) -> str:
        """Return a line with its wrappers, without names."""
        text = "\n".join(texts)
        line, old, raw = piece.line, "\n".join(piece.texts), decode(piece.raw[:MAX_RECORD_BYTES])
        raw = self._reader.profile.clean(raw)
        if raw.endswith(old):
            return self._before(raw[: len(raw) - len(old)], line) + text
        try:
            return self._in_object(raw, line, text)
        except ValueError:  # the text around it is left out
            return text

    def _before(self, before: str, line: Line) -> str:
        if not before:
            return before
        for wrapper in self._reader.layouts.wrappers:
            if wrapper.name in self._reader.profile.wrappers and (match := self._reader.layouts.compiled(wrapper.head).match(before)) and match.end():
                return self._head(match) + self._before(before[match.end() :], line)
        return before if not before.strip("\"' \t>|") else self._rewriter.running(before)

    def _in_object(self, raw: str, line: Line, text: str) -> str:
        at = raw.find("{")
        found = json.loads(raw[at:].removesuffix(",")) if at >= 0 else None
        if not isinstance(found, dict):
            return WITHHELD if "\n" in text else text
        keys = self._reader.layouts.keys
        message = keys.get("message", found)
        ends = "\n" * (isinstance(message, str) and message.endswith("\n"))
        return self._before(raw[:at], line) + self._json(found, [text + ends])


def _later_rows(offset: int, joined: bytes, lines: Iterable[TextLine]) -> Iterator[int]:
    """Yield the positions of the rows after the first one of an object that was joined from rows: the first one gets its whole text, these become empty."""
    left = len(joined)
    for at, part, _ in (part for line in lines for part in line.parts):
        if at >= offset and left > 0:
            if at > offset:
                yield at
            left -= len(part)
