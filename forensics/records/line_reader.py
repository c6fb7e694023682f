"""Read lines as records: which line begins one, which lines continue it, and the fields that its layout defines.

This is the plain reference implementation, one line at a time. `extract.column_reader` does the same for millions of lines; a test compares them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, NamedTuple

from forensics.errors import own_fault
from forensics.records.exports import read_row
from forensics.records.layouts import (
    JSON_LAYOUT,
    BrokenJson,
    JsonKeys,
    Layout,
    Layouts,
    Wrapper,
    read_entities,
    read_json,
    read_json_as_far,
    strip_colours,
    without_export_time,
    without_frame,
)
from forensics.records.timestamps import SECOND, Moment, TimeFormat, Zone, moment_of, offset_beside

#: A line that begins further than this after its record's first byte does not belong to it, and longer records are truncated.
MAX_RECORD_BYTES = 1 << 20
#: Minimum number of consecutive zero bytes that mean lost text: a crash, or a program that goes on writing to a truncated log, leaves them.
MIN_ZERO_RUN = 16
ZERO_RUN = bytes(MIN_ZERO_RUN)
#: Bytes other than control characters; zero bytes are counted separately.
_PRINTABLE = bytes(b for b in range(256) if b > 0x1F or b in b"\0\t\n\v\f\r\x1b")
_ZERO_RUNS = re.compile(rb"\0{%d,}" % MIN_ZERO_RUN)
_NESTED_WRAPPERS = 3
_LOOKS = rb"\[?[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]{1,9})?(?:Z|[+-][0-9]{2}:?[0-9]{2})?\]?[ |]{1,3}(?:\[(?![0-9]{4}-)[^\[\]]{0,80}\][ |]{0,3}){0,4}(?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL)\b"
#: The beginning of a record, and one within a line: a paste may have lost the line break before it.
_BEGINS_RECORD, _WITHIN_LINE = re.compile(_LOOKS), re.compile(rb"(?:(?<=[^ \t] )|(?<=\)))(?=%b)" % _LOOKS)
#: Nearly every line is ruled out by a date behind its first one, which is found several times as fast.
_LATER_DATE, _FIRST_DATE = re.compile(rb"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T]"), 11
#: Docker's json-file driver splits lines that are longer than 16 KiB; only the last part ends with a line break.
_DOCKER_PART = 16 * 1024
#: It also splits multi-byte characters, which are then replaced by others.
_DOCKER_CUT = 16
#: The beginning of a time, even if the rest is wrong.
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?![0-9])")
_ANY_TIME = TimeFormat("ANY")
#: A collector receives a line within this time, milliseconds.
_COLLECTED_MS = 1000


@dataclass(frozen=True)
class Profile:
    """Properties of a whole file, determined from its beginning; the layout itself is chosen for each record.

    Attributes:
        wrappers: names of wrappers to remove from every line.
        words: names before its records, with their separators; they are removed from continuation lines too.
        colours: True if lines contain ANSI sequences.
        entities: True if lines contain HTML entities in place of special characters.
        framed: True if a terminal drew a box around the lines.
        exported: True if lines end with the time column of an export.
        zones: True if the times beside those of its records show that these are in several zones.
        json: `record` if lines are JSON records, `wrapper` if JSON objects contain whole lines of another layout, `both` if they contain JSON
            records, else empty.
        untimed: True if no line has a time, so layouts without one are tried.
        newest_first: True if the file begins with its newest lines.
        learned: layouts inferred from the file's own lines.
        learned_first: True if those are tried before the described ones.
        zero_runs: True if it contains zero bytes in place of text.
        document: path of the records if it is a JSON document; see `json_documents`.
        folded: number of characters after which longer lines were broken and continue in the next line; 0 if they were not; `KEY_A_ROW`: JSON objects have a key a row.
        cut: number of characters after which longer lines were cut off, so that the last word is a part of one; 0 if they were not.
        joined: True if lines contain several records, because the line breaks between them were lost.
        collected: True if its lines have no time, or no date, and get that of their collector.
        headings: names of the headings that name the file of the lines below them.
        filtered: sign that its lines are a selection, such as `grep` makes: `separators`, `line_numbers` or `values`; empty if there is none.
        literal: a word that all its lines contain, for which a command may have searched; empty if there is none.
        until: the date of its last line, if its times have no year; it is the collector's date if the lines get their collector's times.
        dateless: True if its times have no date; `until` is then the date of its first line.
        year_printed: True if its times have no year, or no date, and a message prints that of its own line.
        lines: number of examined lines that are not blank.
        fitting: number of those that begin a record.
    """

    wrappers: tuple[str, ...] = ()
    words: frozenset[str] = frozenset()
    colours: bool = False
    entities: bool = False
    framed: bool = False
    exported: bool = False
    zones: bool = False
    json: str = ""
    untimed: bool = False
    newest_first: bool = False
    learned: tuple[Layout, ...] = ()
    learned_first: bool = True
    zero_runs: bool = False
    document: tuple[str, ...] | None = None
    folded: int = 0
    cut: int = 0
    joined: bool = False
    collected: bool = False
    headings: tuple[str, ...] = ()
    filtered: str = ""
    literal: str = ""
    until: date | None = None
    dateless: bool = False
    year_printed: bool = False
    lines: int = 0
    fitting: int = 0

    @property
    def is_table(self) -> bool:
        """Return True if it is an export with a header, of which each row contains a record."""
        return any(x.columns for x in self.learned)

    @property
    def plain(self) -> bool:
        """Return True if lines can be read as they are."""
        return not (
            self.wrappers
            or self.colours
            or self.entities
            or self.framed
            or self.exported
            or self.zero_runs
            or self.folded
            or self.cut
            or self.joined
            or self.headings
            or self.is_table
            or self.document is not None
            or self.json in ("wrapper", "both")
        )

    def clean(self, line: str) -> str:
        """Return a line without colours, borders and HTML entities."""
        line = strip_colours(line) if self.colours else line
        line = without_frame(line) if self.framed else line
        return read_entities(line) if self.entities else line


@dataclass(slots=True)
class Record:
    """One record as its layout defines it.

    Attributes:
        layout: name of the layout.
        moment: its time, None if it has none.
        level, thread, logger, source_line, context: as printed.
        message: text without layout; lines joined by line breaks, without blanks at the end.
        source: name of the process in a merged file.
        collector: time of the row or object that contains the whole record as a text.
        pairs: all keys of the object that is the record.
        no_time: True if its time is invalid: before 1970, after 2199, 31 February.
        fault: reason why it could not be read; empty if it could. Its message then consists of its original lines.
    """

    layout: str
    moment: Moment | None = None
    level: str | None = None
    thread: str | None = None
    logger: str | None = None
    source_line: int | None = None
    context: str | None = None
    message: str = ""
    source: str | None = None
    collector: Moment | None = None
    pairs: Mapping[str, Any] | None = None
    no_time: bool = False
    fault: str = ""


@dataclass(slots=True)
class Line:
    """A line without its wrappers.

    Attributes:
        text: the rest.
        source: names in wrappers, joined by `/`.
        collector: time of a wrapper.
        bare: blanks and quotation marks before it.
        wrapped: True if it had a wrapper with a name or a time.
        words: words before it.
        level: level that the writer of the wrapper printed before the record.
        unended: True if the next text from the same source continues this line, because the container runtime or a copying tool split it.
    """

    text: str
    source: str | None = None
    collector: Moment | None = None
    bare: str = ""
    wrapped: bool = False
    words: tuple[str, ...] = ()
    level: str | None = None
    unended: bool = False


Start = tuple[Layout, re.Match[str]] | Mapping[str, Any]


class Fields(NamedTuple):
    """Where the fields of a record are in its lines: the spans of the groups of its matches.

    Attributes:
        heads: the match of its head, and of the head that continues in its second line, if it does.
        tail: the line of the message that ends with a tail, and the tail; None if no line does.
        texts: the lines of its message.
    """

    heads: tuple[re.Match[str], ...]
    tail: tuple[int, re.Match[str]] | None
    texts: list[str]


class RecordReader:
    """A reader of the lines of one file.

    Args:
        layouts: layouts to try, without those that the profile adds.
        profile: the profile of the file.
        until: the date of its last line, if the profile has none yet.

    Attributes:
        layouts: all layouts to try.
    """

    def __init__(self, layouts: Layouts, profile: Profile, until: date | None = None) -> None:
        self._described = layouts
        layouts = layouts.with_learned(profile.learned, first=profile.learned_first)
        self.layouts, self.profile = layouts, profile
        self._wrappers = tuple(w for w in layouts.wrappers if w.name in profile.wrappers)
        self._until = until or (None if profile.collected else profile.until)
        self._offsets: dict[str, int] = {}

    def offset(self, layout: str, own: Moment, beside: Moment | None) -> int | None:
        """Return the offset of a record's time from UTC, by the time next to it; without one, that of the last record with the same layout."""
        found = offset_beside(own, beside) if beside is not None else None
        if found is not None:
            self._offsets[layout] = found
        return self._offsets.get(layout)

    def unwrap(self, line: str) -> Line:
        """Remove what collectors, pastes and exports put around a line."""
        line = self.profile.clean(line)
        found = Line(line)
        if self.profile.exported and (rest := without_export_time(line)) != line:
            found.text, found.collector = rest, _ANY_TIME.read(line[len(rest) + 1 :])
        if self.profile.joined:
            found.text = line.rstrip(" ")  # before the next record
        if 0 < self.profile.cut == len(line) and not line.endswith(("...", "…")):
            found.text = f"{line}…"  # the last word is a part of one
        found.unended = 0 < self.profile.folded == len(line) and not self.profile.json
        self._take_all_off(found)
        if self.profile.json in ("wrapper", "both") and found.text.startswith("{"):
            self._open_json(found)
            self._take_all_off(found)
        if "`" in found.bare and found.text.endswith("`"):
            found.text = found.text.rstrip("`")
        return found

    def _take_all_off(self, line: Line) -> None:
        if self._wrappers:
            for _ in range(_NESTED_WRAPPERS):
                if not any(self._take_off(line, w) for w in self._wrappers):
                    break

    def _take_off(self, line: Line, wrapper: Wrapper) -> bool:
        match = self.layouts.compiled(wrapper.head).match(line.text)
        if match is None or not match.end():
            return False
        rest = line.text[match.end() :]
        find = self.layouts.find_specific
        if wrapper.weak and find(line.text, self.profile.untimed) and not find(rest, self.profile.untimed):
            return False
        if wrapper.words and match[0] not in self.profile.words and not self._begins(rest, _NESTED_WRAPPERS):
            return False
        if wrapper.bare:
            is_object = self.profile.json in ("record", "both") and rest.startswith('{"')
            if not (is_object or self.layouts.find(rest, self.profile.untimed)) and not any(
                self.layouts.compiled(w.head).match(rest) for w in self._wrappers if not w.bare
            ):
                return False
            line.bare += match[0]
        else:
            found = match.groupdict()
            if wrapper.words:
                line.words += (match[0],)
            if found.get("source") and (self.profile.words or not wrapper.words):
                line.source = f"{line.source}/{found['source']}" if line.source else found["source"]
            if found.get("ts") and wrapper.time:
                line.collector = wrapper.time.read(found["ts"], self.profile.until)
            line.unended = line.unended or bool(found.get("unended"))
            line.level = found.get("level") or line.level
            line.wrapped = True
        line.text = rest
        return True

    def _begins(self, text: str, depth: int) -> bool:
        """Return True if a record begins here or after further words, and contains more than a time."""
        if self.profile.json and text.startswith('{"') or self.layouts.find_specific(text, self.profile.untimed):
            return True
        words = next((w for w in self._wrappers if w.words), None)
        match = self.layouts.compiled(words.head).match(text) if words and depth else None
        return match is not None and self._begins(text[match.end() :], depth - 1)

    def _open_json(self, line: Line) -> None:
        found = read_json(line.text)
        keys = self.layouts.keys
        text = keys.get("message", found) if found else None
        if not found or not isinstance(text, str):
            return
        line.collector = _json_time(keys.get("time", found)) or line.collector
        source = keys.get("source", found)
        line.source = str(source) if source else line.source
        line.text = text.removesuffix("\n")
        line.unended = "stream" in found and line.text == text and abs(len(text.encode("utf-8", "replace")) - _DOCKER_PART) < _DOCKER_CUT
        line.wrapped = True

    def heading(self, line: str) -> str | None:
        """Return the file that a heading names, empty for a decoration around one; None for a line that is not a heading."""
        if not self.profile.headings:
            return None
        found = self.layouts.heading(self.profile.clean(line), self.profile.headings)
        return None if found is None else found[1] or ""

    def start(self, line: Line) -> Start | None:
        """Return the start of a record in a line; None if the line continues one."""
        text = line.text
        if self.profile.json in ("record", "both") and looks_like_json(text):
            return read_json_as_far(text)
        return self.layouts.find(text, self.profile.untimed)

    def finish(self, start: Start, lines: list[str]) -> Record:
        """Return the record that `start` begins and whose unwrapped lines are `lines`. It never raises, so that the other records are read."""
        whole = list(lines)
        try:
            return self._finish(start, lines)
        except Exception as e:
            return Record(JSON_LAYOUT if isinstance(start, Mapping) else start[0].name, message="\n".join(whole).rstrip(), fault=own_fault(e))

    def moment(self, start: Start, text: str) -> tuple[Moment | None, bool]:
        """Return the time of the record that a line begins, and whether that is invalid: the same as `finish`, but faster."""
        if isinstance(start, Mapping):
            try:
                return _moment_of_json(self.layouts.keys, start)
            except Exception:  # `finish` reports any error
                return None, False
        layout, match = start
        time = match.groupdict().get("ts")
        if not time or not layout.time or layout.columns or layout.second or "(?P<ts>" in "".join(layout.tails):
            record = self.finish(start, [text])
            return record.moment, record.no_time
        moment = self.read_time(layout.time, time)
        return moment, moment is None

    def read_time(self, time: TimeFormat, text: str) -> Moment | None:
        """Read a time that a layout prints; a date or a year that it does not have is that of the file."""
        return time.read(text, self._until)

    def _finish(self, start: Start, lines: list[str]) -> Record:
        if isinstance(start, Mapping):
            return _json_record(self.layouts, start, lines[:-1] if lines[-1] == "]" else lines)  # `]` closes a list with one object per line
        layout, match = start
        if layout.columns:
            return self._held(layout, match, lines)
        heads, tail, texts = self.fields(layout, match, lines)
        found: dict[str, Any] = {}
        for part in (*heads, *([tail[1]] if tail else [])):
            found.update(part.groupdict())
        time = found.get("ts")
        moment = self.read_time(layout.time, time) if time and layout.time else None
        line = found.get("line")
        return Record(
            layout=layout.name,
            moment=moment,
            level=_strip(found.get("level")),
            thread=_strip(found.get("thread")),
            logger=found.get("logger"),
            source_line=int(line) if line and _is_number(line) and len(line) < 10 else None,
            context=found.get("context"),
            message="\n".join(texts).rstrip(),
            source=found.get("source"),
            no_time=bool(time and layout.time and moment is None),
        )

    def fields(self, layout: Layout, match: re.Match[str], lines: Sequence[str]) -> Fields:
        """Return where the fields of a record are that `match` begins, which is not an object or a row of a table."""
        texts = [lines[0] if layout.whole else lines[0][match.end() :], *lines[1:]]
        second = self.layouts.compiled(layout.second).match(texts[1]) if layout.second and len(texts) > 1 else None
        if second:
            texts = [texts[1][second.end() :], *texts[2:]]
        heads, begin = (match, second) if second else (match,), self.layouts.tail_begin(layout)
        for i, text in enumerate(texts) if layout.tails else ():
            tail = self.layouts.find_tail(layout, text) if begin in text else None
            if tail is not None and (i == 0 or "." in (tail.groupdict().get("logger") or "")):
                texts[i] = text[: tail.start()]
                return Fields(heads, (i, tail), texts)
        return Fields(heads, None, texts)

    def _held(self, layout: Layout, match: re.Match[str], lines: list[str]) -> Record:
        """Return the record in a row of a table; its message may be the whole record as its writer printed it."""
        record = _json_record(self.layouts, read_row("\n".join(lines), layout.columns, layout.delimiter), [""])
        record.layout = layout.name
        if record.moment is None and layout.time and match["ts"]:
            record.moment = self.read_time(layout.time, match["ts"])
        texts = record.message.split("\n")
        inner = self._printed(texts) if record.logger is None else None
        if inner is None:
            return record
        start, source = inner
        held = self.finish(start, texts)
        held.source, held.collector, held.moment = record.source or source or held.source, record.moment, held.moment or record.moment
        return held

    def _printed(self, texts: list[str]) -> tuple[tuple[Layout, re.Match[str]], str | None] | None:
        """Return the beginning of the record in a field, and the name in a wrapper around it, which is removed from the first line."""
        for wrapper in (None, *(w for w in self.layouts.wrappers if not (w.bare or w.weak))):
            outer = self.layouts.compiled(wrapper.head).match(texts[0]) if wrapper else None
            if wrapper and not outer:
                continue
            rest = texts[0][outer.end() :] if outer else texts[0]
            inner = self._described.find_specific(rest)
            if inner is not None:
                texts[0] = rest
                return inner, outer.groupdict().get("source") if outer else None
        whole = self._described.find_specific(texts[0], untimed=True)  # its writer leaves the time to the table
        return (whole, None) if whole else None


#: What decides in a row where a JSON object ends: quotes and braces. The character of an escape may be in the next row.
_JSON_MARK = re.compile(r'\\.?|["{}]', re.DOTALL)


#: Instead of a width.
KEY_A_ROW = -1
_JSON_ROW = re.compile(r"[ \t]*(?:[\"{}\[\]0-9-]|true|false|null)")


class ObjectRows:
    """Join the rows of JSON objects that were broken at one width, or have a key a row, in time that is linear in their length.

    Args:
        width: number of characters of a row that goes on in the next one; `KEY_A_ROW`: an object begins with a row of its own.
    """

    def __init__(self, width: int) -> None:
        self._width = width
        self._clear()

    def _clear(self) -> None:
        self._rows: list[str] = []
        self._depth, self._is_text, self._is_escape, self._has_ended = 0, False, False, False

    def add(self, row: str) -> str | None:
        """Return the text that ends with this row: the row, or all rows of an object. None: its object goes on in the next row."""
        self._rows.append(row)
        if self._width == KEY_A_ROW:
            goes_on = self._rows[0].strip() == "{" and bool(_JSON_ROW.match(row)) and not self._is_whole(row) and not self._has_ended
        else:
            goes_on = len(row) == self._width and self._rows[0].startswith('{"') and not self._is_whole(row)
        return None if goes_on else self.rest()

    def rest(self) -> str:
        """Return the text of an object that has not ended; empty if there is none. The next row begins another text."""
        text = "".join(self._rows)
        self._clear()
        return text

    def _is_whole(self, row: str) -> bool:
        """Return True if the object ends in this row. One that ends and is invalid, or has more text after it, is invalid with further rows too."""
        if self._has_ended:
            return False
        start, self._is_escape = int(self._is_escape), False
        for mark in _JSON_MARK.finditer(row, start):
            if mark[0] == "\\":
                self._is_escape = True
            elif mark[0] == '"':
                self._is_text = not self._is_text
            elif not self._is_text and mark[0] in "{}":
                self._depth += 1 if mark[0] == "{" else -1
                self._has_ended = self._has_ended or self._depth == 0
        return self._has_ended and read_json("".join(self._rows)) is not None


def looks_like_json(text: str) -> bool:
    """Return True if a line in a file of JSON records begins one: it opens and closes an object, or opens one at its first key."""
    return text.startswith('{"') or (text.startswith("{") and text.endswith(("}", "},")))


def _strip(text: str | None) -> str | None:
    return text.strip() or None if text else None


def _json_record(layouts: Layouts, found: Mapping[str, Any], lines: list[str]) -> Record:
    keys = layouts.keys
    if isinstance(found, BrokenJson) and len(lines) > 1:
        found, lines = read_json_as_far("\n".join(lines)), lines[:1]
    message = keys.get("message", found)
    trace = keys.get("trace", found)
    texts = [str(message) if message is not None else lines[0], *([trace] if isinstance(trace, str) else []), *lines[1:]]
    logger = keys.get("logger", found)
    line = keys.get("line", found)
    name, _, number = str(logger).rpartition(":") if logger else ("", "", "")
    if name and _is_number(number):  # class:line in one key
        logger, line = name, number
    moment, no_time = _moment_of_json(keys, found)
    return Record(
        layout=JSON_LAYOUT,
        moment=moment,
        level=_text(keys.get("level", found)),
        thread=_text(keys.get("thread", found)),
        logger=_text(logger),
        source_line=int(line) if _is_number(str(line)) and len(str(line)) < 10 else None,
        context=(_text(keys.get("context", found)) or "").strip("[] ") or None,
        message="\n".join(texts).rstrip(),
        source=_text(keys.get("source", found)),
        pairs=found,
        no_time=no_time,
    )


def _moment_of_json(keys: JsonKeys, found: Mapping[str, Any]) -> tuple[Moment | None, bool]:
    """Return the time of an object, and whether it is invalid."""
    printed = _instant(found) or keys.get("time", found)
    moment = _json_time(printed)
    if moment is not None and moment.offset_us is None:  # another time in the object may have its zone, or be an epoch
        moment = next((m for value in keys.all("time", found) if (m := _json_time(value)) is not None and m.offset_us is not None), moment)
    return moment, moment is None and _is_time(printed)


def _text(value: object) -> str | None:
    return None if value is None or value == "" else str(value)


def _instant(found: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return a time in two numbers, as log4j (`instant`) and Google's encoders (`timestamp`, `timestampSeconds`) print it."""
    held = next((found[key] for key in ("instant", "timestamp") if isinstance(found.get(key), Mapping)), None)
    if held is None and "timestampSeconds" in found:
        held = {"seconds": found["timestampSeconds"], "nanos": found.get("timestampNanos", 0)}
    return held


def _json_time(value: object) -> Moment | None:
    """Return a time in JSON: text of ISO 8601, epoch seconds or milliseconds, or an instant in two numbers."""
    if isinstance(value, Mapping):
        seconds, nanos = value.get("epochSecond", value.get("seconds")), value.get("nanoOfSecond", value.get("nanos", 0))
        return moment_of(seconds * SECOND + nanos // 1000, 0, 1) if type(seconds) is int and type(nanos) is int else None
    if isinstance(value, str):
        if not _is_number(value):
            return _ANY_TIME.read(value.strip())
        value = int(value) if len(value) < 20 else None
    if isinstance(value, int) and 10**17 < value < 10**20:  # nanoseconds, as in Loki
        return moment_of(value // 1000, 0, 1)
    if isinstance(value, int) and 10**14 < value < 10**17:  # microseconds, as in journald
        return moment_of(value, 0, 1)
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 10**8 < value < 10**16:
        micros = value * (1000 if value > 10**11 else SECOND)
        return moment_of(int(micros), 0, 1 if value > 10**11 or isinstance(value, float) else 1000)
    return None


def _is_time(value: object) -> bool:
    """Return True if a value has the form of a time in JSON, even if it is invalid."""
    if isinstance(value, str) and not _is_number(value):
        return _ANY_TIME.fits(value.strip()) or _DATE.match(value.strip()) is not None
    return isinstance(value, Mapping) or (isinstance(value, (int, float, str)) and float(value) > 10**8)


def _is_number(text: str) -> bool:
    """Return True if a text is digits that `int` accepts, because it does not accept all."""
    return text.isascii() and text.isdigit()


@dataclass(slots=True)
class PlacedRecord:
    """A record and its position.

    Attributes:
        offset, line: position of its first byte and its line number in the content, from 0 and 1.
        raw: the bytes of its lines only, at most `MAX_RECORD_BYTES`.
        collector: time of the first line's wrapper.
        lines: its lines in the file.
    """

    record: Record
    offset: int
    line: int
    raw: bytes
    collector: Moment | None
    lines: RecordLines


@dataclass(slots=True)
class Piece:
    """A line of the file as part of a record.

    Attributes:
        offset: position of its first byte.
        raw: its bytes.
        line: the line without its wrappers.
        texts: lines of the record in it; several if an object contains a whole record.
        continues: True if the first of them continues the last one of the piece before.
    """

    offset: int
    raw: bytes
    line: Line
    texts: list[str]
    continues: bool = False


@dataclass(slots=True)
class RecordLines:
    """The lines of a record: how it starts, its pieces in the file, and the number of the first of these lines."""

    start: Start
    number: int
    pieces: list[Piece]

    @property
    def texts(self) -> list[str]:
        """Return its lines without wrappers; a line that was split is whole again."""
        whole: list[str] = []
        for piece in self.pieces:
            if piece.continues:
                whole[-1] += piece.texts[0]
            whole.extend(piece.texts[piece.continues :])
        return whole


class Assembler:
    """A joiner of lines to records; lines of several processes may alternate, each with its own open record.

    Args:
        reader: the reader of the file.

    Attributes:
        faults: position and number of each line that could not be processed, and the reason. Whoever reports them empties it.
        taken: True if the line processed last belongs to a record.
    """

    def __init__(self, reader: RecordReader) -> None:
        self._reader = reader
        self.faults: list[tuple[int, int, str]] = []
        self.taken = False
        self._open: dict[str | None, RecordLines] = {}
        self._latest: str | None = None
        self._headed: str | None = None
        profile = reader.profile
        self._objects = ObjectRows(profile.folded) if profile.json and profile.folded else None
        #: Place of an object that goes on in the next row, and the bytes of its rows.
        self._begin: tuple[int, int] | None = None
        self._raw: list[bytes] = []
        self._bytes = 0

    def has_open(self, start: int, end: int | None) -> bool:
        """Return True if a record that begins in a range is still open."""
        begins = [lines.pieces[0].offset for lines in self._open.values()] + ([self._begin[0]] if self._begin else [])
        return any(start <= at and (end is None or at < end) for at in begins)

    def feed(self, offset: int, number: int, raw: bytes, text: str | None = None) -> tuple[list[PlacedRecord], bool]:
        """Process the next line.

        Args:
            offset: position of its first byte.
            number: line number, from 1.
            raw: its bytes.
            text: text to read instead; None for the text of the bytes.

        Returns:
            Records that it ends, and False if it belongs to no record although it is not blank.
        """
        self.taken = False
        row = decode(raw[:MAX_RECORD_BYTES]) if text is None else text
        if self._objects is None:
            return self._feed(offset, number, raw, row)
        self._begin = self._begin or (offset, number)
        self._raw.append(raw)
        self._bytes += len(raw)
        whole = self._objects.add(row)
        if whole is None and self._bytes < MAX_RECORD_BYTES:
            self.taken = True
            return [], True
        return self._feed_rows(self._objects.rest() if whole is None else whole)

    def _feed_rows(self, whole: str) -> tuple[list[PlacedRecord], bool]:
        """Process the text of the rows that are kept, as one line."""
        assert self._begin is not None
        (offset, number), raw = self._begin, b"".join(self._raw)
        self._begin, self._raw, self._bytes = None, [], 0
        return self._feed(offset, number, raw, whole)

    def _feed(self, offset: int, number: int, raw: bytes, whole: str) -> tuple[list[PlacedRecord], bool]:
        try:
            heading = self._reader.heading(whole)
            line = self._reader.unwrap(whole)
            start = self._reader.start(line)
        except Exception as e:
            self.faults.append((offset, number, own_fault(e)))
            return [], True
        if heading is not None:
            self._headed = heading or self._headed
            return self.close(), True
        line.source = "/".join(filter(None, (self._headed, line.source))) or None
        key = line.source
        if line.wrapped and key in self._open and self._open[key].pieces[-1].line.unended:
            start = None
        if start is None and line.wrapped and self._reader.profile.untimed:
            start = _bare(line.text)
        if line.text == "--" and "--" not in raw.decode("utf-8", "replace")[3:] and self._reader.profile.wrappers:
            return [], True  # between two hits of grep with context
        if start is not None:
            done = [self._finish(key)] if key in self._open else []
            self._open[key] = RecordLines(start, number, [Piece(offset, raw, line, line.text.split("\n"))])  # an object may contain a whole record
            self._latest, self.taken = key, True
            return done, True
        if not line.wrapped and key not in self._open:
            key = self._latest  # a terminal broke the line of the last writer
        open_ = self._open.get(key)
        if open_ is None:
            is_header = number == 1 and self._reader.profile.is_table
            return [], is_header or not line.text.strip()
        first, last = open_.pieces[0], open_.pieces[-1]
        if offset - first.offset >= MAX_RECORD_BYTES:
            return [self._finish(key)], not line.text.strip()
        texts = (line.text.removeprefix(first.line.bare) if first.line.bare else line.text).split("\n")
        open_.pieces.append(Piece(offset, raw, line, texts, last.line.unended))
        self.taken = True
        return [], True

    def close(self) -> list[PlacedRecord]:
        """Return the records that are still open at the end of the text."""
        ended: list[PlacedRecord] = []
        if self._begin and self._objects:
            ended, _ = self._feed_rows(self._objects.rest())
        return ended + [self._finish(key) for key in list(self._open)]

    def _finish(self, key: str | None) -> PlacedRecord:
        lines = self._open.pop(key)
        first = lines.pieces[0]
        record = self._reader.finish(lines.start, lines.texts)
        record.source = first.line.source or record.source
        record.level = record.level or first.line.level
        collector = first.line.collector or record.collector
        if self._reader.profile.collected and not record.no_time and (record.moment is None or record.moment.wall_us is None):
            record.moment = replace(collector, resolution_ms=max(collector.resolution_ms, _COLLECTED_MS)) if collector else record.moment
        if self._reader.profile.zones and record.moment is not None and record.moment.offset_us is None:
            record.moment = replace(record.moment, offset_us=self._reader.offset(record.layout, record.moment, collector))
        raw = b"".join(piece.raw for piece in lines.pieces)[:MAX_RECORD_BYTES]
        return PlacedRecord(record, first.offset, lines.number, raw, collector, lines)


class Between:
    """The text between runs of zero bytes, line by line. No record continues across such a run, so it ends the open records.

    Args:
        joined: True if a line may contain several records, each of which is then a part of it.
    """

    def __init__(self, *, joined: bool = False) -> None:
        self._cut, self._joined = False, joined

    def split(self, raw: bytes) -> Iterator[tuple[int, bytes, bool]]:
        """Return each written part of a line: its position, its bytes, and whether a run of zero bytes precedes it."""
        if not self._joined:
            return self._written(raw)
        return ((at + place, one, cut and not place) for at, part, cut in self._written(raw) for place, one in joined_records(part))

    def _written(self, raw: bytes) -> Iterator[tuple[int, bytes, bool]]:
        if not self._cut and ZERO_RUN not in raw:
            yield 0, raw, False
            return
        at = 0
        for run in (*_ZERO_RUNS.finditer(raw), None):
            part = raw[at : run.start() if run else None]
            rest = part.lstrip(b"\0") if self._cut else part
            if rest.strip(b"\r\n") or (run is None and rest):
                yield at + len(part) - len(rest), rest, self._cut
                self._cut = False
            if run:
                at, self._cut = run.end(), True


@dataclass(frozen=True, slots=True)
class OutsideLine:
    """A line that belongs to no record.

    Attributes:
        offset, line: position of its first byte and its number, as in `PlacedRecord`.
        raw: its bytes.
        fits: False if it is expected to belong to one.
    """

    offset: int
    line: int
    raw: bytes
    fits: bool


class TextLine(NamedTuple):
    """A line of a text.

    Attributes:
        offset: position of its first byte.
        raw: its bytes.
        parts: position and bytes of its parts between gaps of zero bytes, and whether such a gap precedes each.
    """

    offset: int
    raw: bytes
    parts: Sequence[tuple[int, bytes, bool]]

    def with_texts(self, texts: dict[int, str]) -> str:
        """Return the line with other texts, by position, for its parts; they are removed from `texts`. The zero bytes between them stay."""
        line, end = [], self.offset
        for offset, part, _ in self.parts:
            line += [self.raw[end - self.offset : offset - self.offset].decode("latin-1"), texts.pop(offset)]
            end = offset + len(part)
        return "".join([*line, self.raw[end - self.offset :].decode("latin-1").rstrip("\r\n")])


def is_no_text(line: bytes) -> bool:
    """Return True if a line is no text: neither UTF-8 nor without control characters, as text in another encoding is."""
    if line.isascii() or not line.translate(None, _PRINTABLE):
        return False
    try:
        line.decode()
    except UnicodeDecodeError:
        return True
    return False


def begins_record(line: bytes) -> bool:
    """Return True if a line begins with a time and a level."""
    return _BEGINS_RECORD.match(line) is not None


def has_joined_records(line: bytes) -> bool:
    """Return True if a line begins with a record and contains another one."""
    return begins_record(line) and _LATER_DATE.search(line, _FIRST_DATE) is not None and _WITHIN_LINE.search(line) is not None


def joined_records(line: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield position and bytes of each record in a line of records whose line breaks were lost, and of the text before the first."""
    begin = 0
    for found in _WITHIN_LINE.finditer(line):
        yield begin, line[begin : found.start()]
        begin = found.start()
    yield begin, line[begin:]


def text_lines(lines: Iterable[bytes], *, joined: bool = False) -> Iterator[TextLine]:
    """Yield the lines of a text with their parts; see `Between`."""
    between, at = Between(joined=joined), 0
    for raw in lines:
        yield TextLine(at, raw, [(at + place, part, cut) for place, part, cut in between.split(raw)])
        at += len(raw)


def records_in(lines: Iterable[TextLine], reader: RecordReader) -> Iterator[PlacedRecord | OutsideLine]:
    """Yield the records of a text, each when it is complete, and the lines that belong to none."""
    assembler = Assembler(reader)
    for number, line in enumerate(lines, 1):
        for offset, part, cut in line.parts:
            yield from assembler.close() if cut else ()
            ended, fits = assembler.feed(offset, number, part)
            yield from ended
            if not assembler.taken:
                yield OutsideLine(offset, number, part, fits)
    yield from assembler.close()


def read_records(
    content: bytes, reader: RecordReader, unfit: Callable[[int, int, bytes], None] = lambda offset, line, raw: None
) -> list[PlacedRecord]:
    """Return all records of a content with the reference implementation.

    Args:
        content: UTF-8.
        reader: the reader of the file.
        unfit: called with offset, line number and bytes of each line that belongs to no record and is not blank.

    Returns:
        Records by their first byte.
    """
    done: list[PlacedRecord] = []
    for found in records_in(text_lines(_lines(content), joined=reader.profile.joined), reader):
        if isinstance(found, PlacedRecord):
            done.append(found)
        elif not found.fits:
            unfit(found.offset, found.line, found.raw)
    return sorted(done, key=lambda r: r.offset)


_BARE = Layout("message only", "", untimed=True)
#: Continuation lines are indented, or are the exception after a message.
_BEGINS = re.compile(r"(?![ \t]|$|(?:Caused by: |Suppressed: )?(?:[a-z][A-Za-z0-9_]*\.)+[A-Z][A-Za-z0-9_$]*(?:Exception|Error|Throwable)(?::|$))")


def _bare(text: str) -> Start | None:
    """Return a record that is only a message: a wrapped line of a file without times."""
    match = _BEGINS.match(text)
    return (_BARE, match) if match else None


def _lines(content: bytes) -> Iterable[bytes]:
    r"""Yield lines with their line breaks; only \n breaks lines, as in `grep`."""
    parts = content.split(b"\n")
    last = parts.pop()
    yield from (p + b"\n" for p in parts)
    if last:
        yield last


def zero_runs(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield the runs of zero bytes in place of text."""
    return (run.span() for run in _ZERO_RUNS.finditer(data))


def without_zero_runs(data: bytes) -> bytes:
    """Return the bytes without runs of zero bytes."""
    return _ZERO_RUNS.sub(b"", data) if ZERO_RUN in data else data


def decode(raw: bytes) -> str:
    """Return the text of a line: UTF-8 with broken bytes as U+FFFD, without line break, zero bytes and byte order mark."""
    return raw.decode("utf-8", "replace").rstrip("\r\n").removeprefix("\ufeff").replace("\0", "")


def utc(moment: Moment | None, zone: Zone) -> int | None:
    """Return microseconds since 1970 in UTC, None without a time or date."""
    return zone.utc(moment) if moment is not None else None
