"""Infer undescribed layouts: a file's own lines show how it prints time, level, thread and logger around its messages.

A line is split into *cells* (time, level, logger, something in brackets, a number, a word) and separators. Lines of one layout have the same cells,
so the most frequent ones are the layout. Only lines that the described layouts do not explain are examined.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from forensics.records.kafka_words import kafka_words
from forensics.records.layouts import TAIL_WINDOW, Layout
from forensics.records.pattern_layout import LEVELS, LOGGER
from forensics.records.timestamps import SECOND, ZONES, TimeFormat

_MAX_CELLS = 14
_MAX_WORDS = 2
#: Maximum number of blanks that pad a column.
_MAX_BLANKS = 80
_LONGEST_HEAD = 400
_COMMON = 0.05
_MAX_LAYOUTS = 4
_COLUMN = 0.9
_HAVING = 0.1
#: Maximum offset of a zone from UTC.
_MAX_OFFSET = 15 * 3600 * SECOND

_LEVEL = "|".join(
    sorted(
        {w for level in (*LEVELS, "NOTE", "ERR", "CRIT", "EMERG", "ALERT") for w in (level, level.lower(), level.capitalize())},
        key=lambda w: (-len(w), w),
    )
)
_PACKAGES = r"(?:org|kafka|io|com|net|state|aiokafka|logstash)\.[A-Za-z0-9_.$-]*[A-Za-z0-9_$]"
_CLASS = rf"(?:[.A-Za-z_$][A-Za-z0-9_$.-]*\.[A-Z][A-Za-z0-9_$]*|{_PACKAGES})"
_SIMPLE = r"[A-Z](?=[A-Z0-9_$]*+[a-z])[A-Za-z0-9_$]*+"
_ZONE = rf" ?(?:{ZONES})"
_HALF = "[ \u202f][AaPp][Mm]"
_CLOCK = r"[0-9]{2}:[0-9]{2}:[0-9]{2}"
#: Forms of a time, and letters of its date and clock.
_TIMES: tuple[tuple[str, str], ...] = (
    (r"[0-9]{4}[-/][0-9]{2}[-/][0-9]{2}[T ]" + _CLOCK, "ANY"),
    (r"[0-9]{4}\.[0-9]{2}\.[0-9]{2} " + _CLOCK, "yyyy.MM.dd HH:mm:ss"),
    (r"[0-9]{8} " + _CLOCK, "yyyyMMdd HH:mm:ss"),
    (r"[0-9]{8}T" + _CLOCK, "yyyyMMdd'T'HH:mm:ss"),
    (r"[0-9]{8}T[0-9]{6}", "yyyyMMdd'T'HHmmss"),
    (r"[0-9]{8}-" + _CLOCK, "yyyyMMdd-HH:mm:ss"),
    (r"[0-9]{2}/[0-9]{2}/[0-9]{4} " + _CLOCK, "dd/MM/yyyy HH:mm:ss"),
    (r"[0-9]{2}-[0-9]{2}-[0-9]{4} " + _CLOCK, "dd-MM-yyyy HH:mm:ss"),
    (r"[0-9]{2}\.[0-9]{2}\.[0-9]{4} " + _CLOCK, "dd.MM.yyyy HH:mm:ss"),
    (r"[0-9]{2}/[0-9]{2}/[0-9]{2} " + _CLOCK, "yy/MM/dd HH:mm:ss"),
    (r"[0-9]{2}-[A-Z][a-z]{2}-[0-9]{4} " + _CLOCK, "dd-MMM-yyyy HH:mm:ss"),
    (r"[0-9]{2} [A-Z][a-z]{2} [0-9]{4} " + _CLOCK, "dd MMM yyyy HH:mm:ss"),
    (r"[0-9]{2}/[A-Z][a-z]{2}/[0-9]{4}:" + _CLOCK, "dd/MMM/yyyy:HH:mm:ss"),
    (r"[A-Z][a-z]{2} [0-9]{1,2}, [0-9]{4} @ " + _CLOCK, "MMM d, yyyy @ HH:mm:ss"),
    (r"[A-Z][a-z]{2,8} [0-9]{1,2}(?:st|nd|rd|th) [0-9]{4}, " + _CLOCK, "MMMM do yyyy, HH:mm:ss"),
    (r"[A-Z][a-z]{2} [0-9]{1,2}, [0-9]{4} [0-9]{1,2}:[0-9]{2}:[0-9]{2}", "MMM d, yyyy H:mm:ss"),
    (r"[0-9]{1,2}/[0-9]{1,2}/[0-9]{4} [0-9]{1,2}:[0-9]{2}:[0-9]{2}", "d/M/yyyy H:mm:ss"),
    (r"1[0-9]{12}(?![0-9A-Za-z.])", "epoch"),
    (r"1[0-9]{9}\.[0-9]{3,6}(?![0-9A-Za-z.])", "epoch"),
    (r"1[4-9][0-9]{8}(?:[0-9]{6}|[0-9]{9})?(?![0-9A-Za-z.])", "epoch"),
    (r"[A-Z][a-z]{2} {1,2}[0-9]{1,2} " + _CLOCK, "MMM ppd HH:mm:ss"),
    (r"[0-9]{2}-[0-9]{2} " + _CLOCK, "MM-dd HH:mm:ss"),
    (_CLOCK, "HH:mm:ss"),
)
_TIME = re.compile("|".join(f"({look}(?:[.,][0-9]{{1,9}})?(?:{_HALF})?(?:{_ZONE})?)" if text != "epoch" else f"({look})" for look, text in _TIMES))
#: A prompt that shows the time, before a command.
_PROMPT = re.compile(r"\[?[0-9]{1,2}:[0-9]{2}:[0-9]{2}\]? ?[$#%] ")
_FRACTION = re.compile(r"([.,])([0-9]{1,9})(?=\D*$|[+-][0-9:]+$)")
_OPENING = {"[": "]", "(": ")", "{": "}", "<": ">", '"': '"', "'": "'"}
_AFTER = r"(?=[ \t|;,:=\])}>\"'-]|$)"
_SEPARATOR = re.compile(r"[ \t]*(?:(?:-{1,4}|\|{1,2}|[;,:>~•·»*]|::|->|=>)(?=[ \t\[({<\"|;A-Za-z0-9]|$)[ \t]*)*")
_KEY = re.compile(r"[@A-Za-z_.]{1,30}=\"?")
_MESSAGE_KEY = re.compile(r"(?:msg|message|text)=\"?$")
_LEVEL_CELL = re.compile(rf"(?:{_LEVEL}){_AFTER}")
_CLASS_CELL = re.compile(
    rf"(?P<logger>{_CLASS}?)(?P<method>\.[a-z<][A-Za-z0-9_$<>]*|[ ][a-z][A-Za-z0-9_$]*(?=:[ ]))?(?::(?P<line>[0-9]+|\?))?{_AFTER}"
)
_SIMPLE_CELL = re.compile(
    rf"{_SIMPLE}(?:(?P<method>\.[a-z<][A-Za-z0-9_$<>]*)?(?::(?P<line>[0-9]+)){_AFTER}|(?=:[ \t]|[ \t]*(?:-|\||;|\]|\)|>)[ \t]|[ \t]+:[ \t]|[;|\]\t]))"
)
_SOURCE = r"[A-Za-z0-9_$./-]+\.(?:java|scala|kt|py|go|rb|js|ts|cs|cc|cpp|c)"
_PLACE_CELL = re.compile(rf"{_SOURCE}:([0-9]+|\?)")
_NUMBER_CELL = re.compile(rf"[0-9]+{_AFTER}")
_PIPED = re.compile(r"[^|]{1,120}(?P<end> \| )")
_SEMICOLONS = re.compile(r"[^;]{1,120}(?P<end>;)")
#: A value of several words without quotation marks, which ends before the next key.
_VALUE = re.compile(r"[^=\"]{1,120}?(?=[ \t][@A-Za-z_.]{1,30}=)")
_WORD_CELL = re.compile(r"[^ \t|;,\[\](){}<>\"=]+(?=[ \t|;,]|$)")
_NO_LOGGER = re.compile(r"^(?:\s|Caused by|\.\.\. [0-9]+ |at [a-z])|^[A-Za-z0-9_.$]+(?:Exception|Error)\b")
#: Ways to print a logger after the message; the thread may follow.
_TAILS = tuple(
    rf"{begin}(?P<logger>{_CLASS})(?::(?P<line>[0-9]+|\?))?{end}{thread}"
    for begin, end in ((r" +\(", r"\)"), (r" +\[", r"\]"), (r" +\{", r"\}"), (r" +<", ">"), (r" +- ", ""), (r" +\| *", ""), (r"\t", ""), (r" +@ ?", ""))
    for thread in ("", r" +\[(?P<thread>[^\[\]]+)\]", r" +\((?P<thread>[^()]+)\)")
)  # fmt: skip


#: Called with a line that cannot be examined because of a fault of this program, and the error.
Failed = Callable[[str, Exception], None]


@dataclass(frozen=True)
class Guess:
    """A possible layout of one line.

    Attributes:
        head: regular expression up to the message, or up to where it would begin without the last cell.
        format: the format of its time; empty if it has none.
        cells: its components: T time, P level, C logger, B brackets, N number, W word.
        shorter: the guess without its last brackets, which may belong to the message.
    """

    head: str
    format: str
    cells: str
    shorter: Guess | None = None

    @property
    def rank(self) -> tuple[bool, bool, bool]:
        """Return what it contains: time, logger, level."""
        return "T" in self.cells, "C" in self.cells, "P" in self.cells


def infer(lines: Sequence[str], *, names: bool = True, fail: Failed | None = None) -> tuple[Layout, ...]:
    """Return layouts of some lines, the most frequent first; none if the lines have nothing in common.

    Args:
        lines: without wrappers and colours; they may include continuation lines.
        names: True if a class without a package may be a logger.
        fail: called with a line whose examination fails; None: the error is raised.
    """
    guesses: list[Guess] = []
    for line in lines:
        try:
            found = None if _NO_LOGGER.match(line) or _PROMPT.match(line) else guess(line, names=names)
        except Exception as e:
            if fail is None:
                raise
            fail(line, e)
            continue
        guesses += [found] if found is not None else []
    if not guesses:
        return ()
    for what in (0, 2):  # if lines begin with a time, or else with a level, those without it continue records
        having = [g for g in guesses if g.rank[what]]
        if len(having) > _HAVING * len(guesses):
            guesses = having
            break
    layouts: list[Layout] = []
    counted: Counter[Guess] = Counter()
    plain = Counter(guesses)
    for g, n in plain.items():
        counted[_settled(g, plain)] += n
    # of two that are about equally frequent, the one with more content
    for top in sorted(counted, key=lambda g: (counted[g] * (2 if "C" in g.cells else 1), g.rank), reverse=True)[:_MAX_LAYOUTS]:
        if counted[top] >= max(1, _COMMON * len(guesses)):
            layouts.append(_layout(top, lines, len(layouts)))
    return tuple(layouts)


def _settled(found: Guess, counted: Counter[Guess]) -> Guess:
    """Return the guess without brackets at its end that only some lines have."""
    while found.shorter is not None:
        begin = found.shorter.head
        alike = sum(n for g, n in counted.items() if g.head.startswith(begin))
        with_brackets = sum(n for g, n in counted.items() if g.head.startswith(found.head))
        if with_brackets >= _COLUMN * alike:
            break
        found = found.shorter
    return found


def _layout(found: Guess, lines: Sequence[str], number: int) -> Layout:
    head = re.compile(found.head)
    mine = [line for line in lines if head.match(line)]
    tails: list[str] = []
    if "C" not in found.cells:
        counted = Counter(tail for line in lines for tail in _TAILS if re.search(tail + r"\Z", line[-TAIL_WINDOW:]))
        tails = [tail for tail, n in counted.most_common(3) if n >= max(1, 0.2 * len(mine))]
        tails.sort(key=len, reverse=True)
    if found.head.endswith('="'):
        tails.append('"')
    time = TimeFormat(_month_first(found, mine)) if found.format else None
    return Layout(learned_name(number), found.head, tuple(tails), time, untimed=time is None)


def learned_name(number: int) -> str:
    """Return the name of a layout learned from a file, by its number from 0."""
    return f"found in the file, {number + 1}" if number else "found in the file"


def _month_first(found: Guess, lines: Sequence[str]) -> str:
    """Return the format with month and day in the order that the numbers allow. With a 12-hour clock the month is first, unless a number is above 12."""
    if not found.format.startswith(("dd/MM/", "dd-MM-", "d/M/", "yy/MM/dd")):
        return found.format
    head = re.compile(found.head)
    numbers = [re.findall("[0-9]+", m["ts"])[:3] for line in lines if (m := head.match(line))]
    if found.format.startswith("yy/"):
        days = {n[2] for n in numbers}
        if any(int(n[1]) > 12 for n in numbers) or any(int(n[0]) < 15 for n in numbers) and len({n[0] for n in numbers}) > len(days):
            return found.format.replace("yy/MM/dd", "MM/dd/yy")
        return found.format
    month_first = any(int(n[1]) > 12 for n in numbers) or " a" in found.format and not any(int(n[0]) > 12 for n in numbers)
    return re.sub(r"^(d+)([/-])(M+)", r"\3\2\1", found.format) if month_first else found.format


def guess(line: str, *, names: bool = True) -> Guess | None:
    """Return a possible layout of a line; None if it begins with neither time nor level nor logger."""
    return _Cells(line[:_LONGEST_HEAD], names).read()


class _Cells:
    """A parser of the cells of one line."""

    def __init__(self, line: str, names: bool) -> None:
        self._line, self._names = line, names
        self._parts: list[str] = []
        self._cells: list[str] = []
        self._groups: set[str] = set()
        self._format = self._printed = ""

    def read(self) -> Guess | None:
        at = 0
        words = 0
        ends: list[int] = []  # number of parts after each cell
        while at < len(self._line) and len(self._cells) < _MAX_CELLS:
            key = _KEY.match(self._line, at)
            if key:
                self._parts.append(re.escape(key[0]))
                at = key.end()
                if _MESSAGE_KEY.search(key[0]):
                    break
            after = self._cell(at, quoted=key is not None and key[0].endswith('"'), keyed=key is not None)
            if after is None:
                if key:
                    return None
                break
            at = after
            words = words + 1 if self._cells[-1] == "W" else 0
            ends.append(len(self._parts))
            if words > _MAX_WORDS:
                break
            separator = _SEPARATOR.match(self._line, at)
            assert separator is not None
            if not separator[0] and not self._line.startswith(("[", "("), at):
                break
            if self._cells[-1] == "C" and separator[0].strip() == "" and at < len(self._line) and self._line[at : at + 1] not in ("\t", "[", "("):
                following = self._line[separator.end() : separator.end() + 1]
                if following not in "[(<|" and not self._bracketed_last() and not _KEY.match(self._line, separator.end()):
                    at = separator.end()
                    self._parts.append(_blanks(separator[0]))
                    ends[-1] = len(self._parts)
                    break
            self._parts.append(_blanks(separator[0]))
            ends[-1] = len(self._parts)
            at = separator.end()
        return self._cut(ends)

    def _bracketed_last(self) -> bool:
        return self._parts[-1].endswith(("]", ")", ">"))

    def _cut(self, ends: list[int]) -> Guess | None:
        """Return the guess without cells of the message: it ends with the last cell that a layout has, or with brackets after that."""
        strong = max((i for i, c in enumerate(self._cells) if c in "TPC"), default=-1)
        if strong < 0:
            return None
        last = strong
        while last + 1 < len(self._cells) and self._cells[last + 1] in "BL":
            last += 1
        found: Guess | None = None
        for i in range(strong, last + 1):
            found = Guess("".join(self._parts[: ends[i]]), self._format, "".join(self._cells[: i + 1]), found if self._cells[i] == "B" else None)
        keyed = len(self._parts) > ends[-1] and self._parts[-1].endswith(('="', "="))
        if keyed and found is not None:
            return Guess("".join(self._parts), self._format, "".join(self._cells))
        return found

    def _cell(self, at: int, *, quoted: bool, keyed: bool) -> int | None:
        """Add the cell at a position; return its end, or None."""
        line = self._line
        if at >= len(line):
            return None  # a key without a value
        opening = line[at]
        if opening in _OPENING and not quoted:
            return self._bracket(at, opening, _OPENING[opening])
        inner = self._field(at)
        if inner is not None:
            return self._closed(inner) if quoted else inner
        if quoted:
            end = line.find('"', at)
            if end < 0:
                return None
            self._add("W", '[^"]*"')
            return end + 1
        columns = _columns(self._parts[-1]) if self._cells and "C" not in self._cells else None
        if (
            columns and (column := columns.match(line, at)) and self._named(column.end())
        ):  # a thread of several words, and the logger in the next column
            self._add("B", f"[^{column['end'].strip()}]*?")
            return column.start("end")
        if keyed and (column := _VALUE.match(line, at)):
            self._add("W", "[^=]{1,120}?")
            return column.end()
        number = _NUMBER_CELL.match(line, at) if "C" not in self._cells else None
        if number:
            self._add("N", "[0-9]+")
            return number.end()
        if "C" in self._cells:
            column = _PIPED.match(line, at) if self._parts[-1].endswith(r"\| ") else None
            if column:
                self._add("B", r"[^|]* \| ")
                return column.end()
        word = _WORD_CELL.match(line, at)
        if word and "C" not in self._cells:
            self._add("W", r"[^ \t|;,]+")
            return word.end()
        return None

    def _closed(self, at: int) -> int | None:
        if not self._line.startswith('"', at):
            return None
        self._parts.append('"')
        return at + 1

    def _bracket(self, at: int, opening: str, closing: str) -> int | None:
        line = self._line
        inside = at + 1 + len(line[at + 1 :]) - len(line[at + 1 :].lstrip(" "))
        begin = re.escape(opening) + " *"
        before = len(self._parts)
        self._parts.append(begin)
        after = self._field(inside) if line[inside : inside + 1] != closing else None
        if after is not None:
            close = re.match(rf" *{re.escape(closing)}", line[after:])
            if close:
                self._parts.append(" *" + re.escape(closing))
                return after + close.end()
            if self._cells[-1] in "TP":  # [TIME LEVEL] or [TIME][LEVEL: the bracket closes after a later cell
                return after
            self._undo(before)
            self._parts.append(begin)
        del self._parts[before:]
        end = _closing(line, at, opening, closing)
        if end < 0 or opening in "\"'" or _is_context(line[at : end + 1]) and not self._is_column(line[at : end + 1], end + 1):
            return None
        place = _PLACE_CELL.fullmatch(line[at + 1 : end])
        if place and "line" not in self._groups:
            self._groups.add("line")
            self._add("L", rf"{re.escape(opening)}{_SOURCE}:(?P<line>[0-9]+|\?){re.escape(closing)}")
        elif name := self._name_of(line[at : end + 1]):
            self._groups.add(name)
            self._add("B", rf"{re.escape(opening)}(?P<{name}>{_inside(line[at : end + 1], opening, closing)}){re.escape(closing)}")
        else:
            self._add("B", rf"{re.escape(opening)}{_inside(line[at : end + 1], opening, closing)}{re.escape(closing)}")
        return end + 1

    def _is_column(self, context: str, at: int) -> bool:
        """Return True if brackets that may be a message's prefix are Connect's context as a column of the layout, which a logger follows."""
        return (
            "|" in context
            and "C" not in self._cells
            and self._line[at : at + 1] in (" ", "\t")
            and self._named(len(self._line) - len(self._line[at:].lstrip(" \t"))) is not None
        )

    def _name_of(self, bracketed: str) -> str:
        """Return the name of the content of brackets; empty if it is unknown or a repetition."""
        name = "context" if _is_context(bracketed) else "thread" if re.search("[A-Za-z]", bracketed) else ""
        return "" if name in self._groups else name

    def _undo(self, parts: int) -> None:
        kind = self._cells.pop()
        if kind == "C":
            self._groups -= {"logger", "line"}
        del self._parts[parts:]

    def _field(self, at: int) -> int | None:
        """Add a time, level or logger; return its end, or None."""
        line = self._line
        time = _TIME.match(line, at)
        if time and time.lastindex and ("T" not in self._cells or self._is_better(time)):
            self._printed = time[0]
            self._format = _concrete(_TIMES[time.lastindex - 1][1], time[0])
            self._add("T", f"(?P<ts>{TimeFormat(self._format).pattern})")
            return time.end()
        level = _LEVEL_CELL.match(line, at) if "P" not in self._cells else None
        if level:
            self._add("P", f"(?P<level>{_LEVEL})")
            return level.end()
        named = self._named(at) if "C" not in self._cells else None
        return self._logger(named) if named else None

    def _is_better(self, time: re.Match[str]) -> bool:
        """Return True for the epoch of the time before it, if that lacks its zone and perhaps its date: that is then a word, and this the time."""
        if self._format == "epoch" or _TIMES[(time.lastindex or 1) - 1][1] != "epoch":
            return False
        before, epoch = TimeFormat(self._format).read(self._printed), TimeFormat("epoch").read(time[0])
        if before is None or epoch is None or epoch.wall_us is None or before.offset_us is not None:
            return False
        if before.wall_us is not None and abs(before.wall_us - epoch.wall_us) > _MAX_OFFSET:
            return False
        self._parts = [part.replace("(?P<ts>", "(?:") for part in self._parts]
        self._cells[self._cells.index("T")] = "W"
        return True

    def _named(self, at: int) -> re.Match[str] | None:
        """Return the logger at a position."""
        named = _CLASS_CELL.match(self._line, at)
        if named and not named["logger"].endswith(("Exception", "Error")):
            return named
        return _SIMPLE_CELL.match(self._line, at) if self._names and self._cells else None

    def _logger(self, found: re.Match[str]) -> int:
        text = f"(?P<logger>{LOGGER})"
        if found["method"]:
            text = f"(?P<logger>{LOGGER}?)[. ][a-z<][A-Za-z0-9_$<>]*"
        self._groups.add("logger")
        if found["line"] and "line" not in self._groups:
            self._groups.add("line")
            text += r":(?P<line>[0-9]+|\?)"
        self._add("C", text)
        return found.end()

    def _add(self, kind: str, part: str) -> None:
        self._cells.append(kind)
        self._parts.append(part)


def _columns(before: str) -> re.Pattern[str] | None:
    """Return a pattern for columns of several words, by the separator before them; None if columns are words."""
    return _PIPED if before.endswith(r"\| ") else _SEMICOLONS if before.endswith(";") else None


def _closing(line: str, at: int, opening: str, closing: str) -> int:
    """Return where the brackets close that open at a position, -1 if they do not: names of threads may contain the same brackets."""
    depth = 1
    for i in range(at + 1, len(line)):
        depth += (line[i] == opening) - (line[i] == closing)
        if not depth:
            return i
    return line.find(closing, at + 1)


def _inside(text: str, opening: str, closing: str) -> str:
    """Return a regular expression for the content of such brackets, with or without nested ones. It is unambiguous for every line."""
    begin, end = re.escape(opening), re.escape(closing)
    if text.count(opening) != text.count(closing):
        return f"[^{end}]*"
    return rf"(?:{begin}[^{begin}{end}]*{end}|[^{begin}{end}])*"


def _is_context(text: str) -> bool:
    """Return True if brackets are a message's own prefix (`[Consumer clientId=...]`, `[b|task-1]`) and not a column of the layout."""
    return kafka_words().sign("no column").match(text) is not None


def _concrete(text: str, found: str) -> str:
    """Return the format with the zone and the number of fraction digits of a time."""
    if text in ("ANY", "epoch"):
        return text
    fraction = _FRACTION.search(found)
    if fraction:
        text += ("'" + fraction[1] + "'") + "S" * len(fraction[2])
    if re.search(rf"{_HALF}(?:{_ZONE})?$", found):
        text = text.replace("HH", "hh").replace("H", "h") + " a"
    zone = re.search(rf"({_ZONE})$", found)
    if zone:
        text += (" " if zone[1].startswith(" ") else "") + "z"
    return text


def _blanks(separator: str) -> str:
    """Return the separator of two cells: columns are padded, so there may be more or fewer blanks; exactly one precedes the message."""
    if not separator.strip(" \t"):
        return r"\t" if separator == "\t" else " +" if separator else ""
    body = separator.rstrip(" \t")
    end = separator[len(body) :]
    begin = body[: len(body) - len(body.lstrip(" \t"))]
    inner = re.sub(r"(?:\\ )+", " +", re.escape(body.strip(" \t")))
    # limited, because the adjacent text may contain blanks too
    return (
        (f" {{0,{_MAX_BLANKS}}}" if begin.strip("\t") or not begin else r"\t")
        + inner
        + (" " if end == " " else rf"[ \t]{{0,{_MAX_BLANKS}}}" if end else "")
    )
