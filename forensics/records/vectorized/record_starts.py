"""Find the lines of a buffer that begin a record, with layout and time: `line_reader.RecordReader.start` for all lines together."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from forensics.records.beginnings import first_bytes
from forensics.records.layouts import JSON_LAYOUT, BrokenJson, Layout, Layouts
from forensics.records.line_reader import Line, RecordReader, decode, utc
from forensics.records.timestamps import TimeFormat, Zone
from forensics.records.vectorized.buffers import Buffer, Ints
from forensics.records.vectorized.line_fields import MAX_HEADER_BYTES, NO_TIME, Header

_MAX_HEADERS = 16
#: For fewer lines, Python is faster than compiling an expression in RE2.
_FEW = 500
#: Number of lines to learn from before an expression is compiled for all, because most lines of a log have one of its first beginnings.
_FIRST = 8
_ANY_TIME = TimeFormat("ANY")
_FIXED = re.compile(r"(?:\\[^A-Za-z0-9]|[^\\\[\](){}.*+?|^$])*")
_FIELD = re.compile(r"\(\?P<(?:ts|level)>(?:[^()]|\([^()]*\))*\)")


@dataclass(slots=True)
class RecordStarts:
    """First lines of records.

    Attributes:
        lines: their indexes among all lines.
        layouts: for each, the index in `RecordStartFinder.names`.
        headers, endings: for each of the fixed layout, the index in `RecordStartFinder.headers`, and in the header's endings; -1 for others.
        times: microseconds UTC, or `NO_TIME`.
        clocks: for each of another layout that begins with its time and whose time one of `RecordStartFinder.clocks` read, the index of that one;
            -1 for others.
    """

    lines: Ints
    layouts: Ints
    headers: Ints
    endings: Ints
    times: Ints
    clocks: Ints


class _Found:
    """Knowledge about each line so far."""

    def __init__(self, buffer: Buffer, starts: Ints, ends: Ints) -> None:
        self.buffer, self.starts, self.ends = buffer, starts, ends
        self.layout, self.header, self.ending, self.clock = (np.full(len(starts), -1, np.int64) for _ in range(4))
        self.times = np.full(len(starts), NO_TIME, np.int64)


class RecordStartFinder:
    """A finder of first lines.

    Args:
        layouts: layouts to try.
        reader: the slow reader of single lines.
        zone: time zone of times without an offset.

    Attributes:
        names: names of layouts, by index.
        headers: learned beginnings of the fixed layout. That is the first layout whose head consists of literal text, a time and a level, unless a
            layout before it could match its lines.
        clocks: times of other layouts, learned from lines that begin with one.
    """

    def __init__(self, layouts: Layouts, reader: RecordReader, zone: Zone) -> None:
        self._layouts, self._reader, self._zone = layouts, reader, zone
        untimed = reader.profile.untimed
        self._candidates = layouts.candidates(untimed)
        self.names = [*(x.name for x in self._candidates), JSON_LAYOUT]
        self._json = len(self._candidates) if reader.profile.json == "record" else -1
        self._fixed = _fixed_layout(self._candidates)
        self._any = "^(?:" + "|".join(_for_bytes(x.bare_head) for x in self._candidates) + ")"
        first = frozenset().union(*(first_bytes(x.bare_head) for x in self._candidates))
        self._may_begin = np.array([byte in first for byte in range(256)])
        self._each = ["^(?:" + _for_bytes(x.bare_head) + ")" for x in self._candidates]
        self.headers: list[Header] = []
        self._learned = 0
        self._times: dict[int, list[Header]] = {}
        self.clocks: list[Header] = []

    @property
    def fixed(self) -> Layout | None:
        """Return the layout of `headers`."""
        return None if self._fixed < 0 else self._candidates[self._fixed]

    def find(self, buffer: Buffer, starts: Ints, ends: Ints) -> RecordStarts:
        """Return the first lines of records among the lines of a buffer.

        Args:
            buffer: the bytes.
            starts: where lines begin.
            ends: where they end, without line breaks.
        """
        found = _Found(buffer, starts, ends)
        rest = np.arange(len(starts))
        if self._json >= 0:
            opened = (ends > starts + 1) & (buffer.at(starts) == 0x7B)
            objects = opened & ((buffer.at(starts + 1) == 0x22) | (buffer.at(np.maximum(ends - 1, 0)) == 0x7D))
            found.layout[objects] = self._json
            rest = rest[~objects]
        for index in range(len(self.headers)):
            rest = self._take(index, rest, found)
        odd = buffer.undecoded(starts[rest], ends[rest])
        self._one_by_one(rest[odd], found)
        rest = rest[~odd]
        rest = rest[self._may_begin[buffer.at(starts[rest])]]
        if not self.headers:
            rest = self._begin(rest, found)
        if len(rest) <= _FEW:
            self._one_by_one(rest, found)
            rest = rest[:0]
        rest = self._matching(buffer, rest, starts, self._any)
        while self._fixed >= 0 and len(rest) and self._learned < _MAX_HEADERS:
            of_fixed = self._matching(buffer, rest, starts, self._each[self._fixed])
            index = self._learn_fixed(buffer.slice(int(starts[of_fixed[0]]), int(ends[of_fixed[0]]))) if len(of_fixed) else -1
            if index < 0:
                break
            rest = self._take(index, rest, found)
        for index, pattern in enumerate(self._each):
            if not len(rest):
                break
            mine = self._matching(buffer, rest, starts, pattern)
            found.layout[mine] = index
            rest = rest[found.layout[rest] < 0]
        others = np.flatnonzero((found.layout >= 0) & (found.header < 0))
        for index in np.unique(found.layout[others]):
            mine = others[found.layout[others] == index]
            found.times[mine], found.clock[mine] = self._other_times(int(index), buffer, starts[mine], ends[mine])
        lines = np.flatnonzero(found.layout >= 0)
        return RecordStarts(lines, found.layout[lines], found.header[lines], found.ending[lines], found.times[lines], found.clock[lines])

    def message_at(self, headers: Ints, endings: Ints) -> Ints:
        """Return the number of bytes before the message of lines of the fixed layout, by header and ending."""
        most = max(len(h.endings) for h in self.headers)
        sizes = np.zeros((len(self.headers), most), np.int64)
        for row, header in zip(sizes, self.headers, strict=True):
            row[: len(header.endings)] = [ending.end for ending in header.endings]
        found: Ints = sizes[headers, endings]
        return found

    def _begin(self, rest: Ints, found: _Found) -> Ints:
        """Learn beginnings of the fixed layout from the first lines, and assign the lines that fit them; return the others."""
        for _ in range(_FIRST if self._fixed >= 0 else 0):
            if not len(rest) or self._learned >= _MAX_HEADERS:
                break
            i = int(rest[0])
            index = self._learn_fixed(found.buffer.slice(int(found.starts[i]), int(found.ends[i])))
            if index < 0:
                break
            rest = self._take(index, rest, found)
        return rest

    def _one_by_one(self, rest: Ints, found: _Found) -> None:
        """Find the layouts of a few lines without compiling an expression; learn fixed beginnings from them."""
        while len(rest):
            i, rest = int(rest[0]), rest[1:]
            line = found.buffer.slice(int(found.starts[i]), int(found.ends[i]))
            layout = self._layouts.find(decode(line), self._reader.profile.untimed)
            if layout is None:
                continue
            index = self._learn_fixed(line) if layout[0] is self.fixed and self._learned < _MAX_HEADERS else -1
            if index < 0 or len(self._take(index, np.array([i]), found)):
                found.layout[i] = self._candidates.index(layout[0])
            elif len(rest):
                rest = self._take(index, rest, found)

    def _take(self, index: int, rest: Ints, found: _Found) -> Ints:
        """Assign the lines that fit a header to the fixed layout; return the others."""
        header = self.headers[index]
        fits = header.fits(found.buffer, found.starts[rest], found.ends[rest])
        mine = rest[fits]
        endings = header.endings_of(found.buffer, found.starts[mine], found.ends[mine])
        if (endings < 0).any():
            fits[np.flatnonzero(fits)[endings < 0]] = False
            mine, endings = mine[endings >= 0], endings[endings >= 0]
        found.layout[mine] = self._fixed
        found.header[mine] = index
        found.ending[mine] = endings
        found.times[mine] = header.times(found.buffer, found.starts[mine], self._zone)
        return rest[~fits]

    @staticmethod
    def _matching(buffer: Buffer, lines: Ints, starts: Ints, pattern: str) -> Ints:
        """Return those of some lines that match a regular expression."""
        if not len(lines):
            return lines
        array = buffer.segments(starts)
        if len(lines) < len(starts):
            array = array.take(pa.array(lines))
        matching: np.ndarray = pc.match_substring_regex(array, pattern).to_numpy(zero_copy_only=False)
        found: np.ndarray = lines[matching]
        return found

    def _learn_fixed(self, line: bytes) -> int:
        """Learn the beginning of a line of the fixed layout; return the index of its header, -1 if it cannot be compared byte by byte."""
        found = self._layouts.find(decode(line), self._reader.profile.untimed)
        if found is None or found[0] is not self.fixed or found[0].time is None:
            return -1
        layout, match = found
        read = partial(self._reader.read_time, found[0].time)
        moment = read(match["ts"])
        if (
            moment is None
            or moment.second_at < 0
            or match.end() > MAX_HEADER_BYTES
            or not match[0].isascii()
            or not line.startswith(match[0].encode())
        ):
            return -1
        level = match.groupdict().get("level")
        if "level" in match.re.groupindex and match.start("level") < match.start("ts"):
            return -1
        buffer = Buffer.of(line)
        one = np.array([0]), np.array([len(line)])
        index = next((i for i, header in enumerate(self.headers) if header.fits(buffer, *one)[0]), -1)
        if index < 0:
            self.headers.append(Header(line, 0, match.span("ts"), moment, read))
            index = len(self.headers) - 1
        self.headers[index].learn_ending(line, match.end(), level.strip() if level else None)
        self._learned += 1
        return index

    def _other_times(self, index: int, buffer: Buffer, starts: Ints, ends: Ints) -> tuple[Ints, Ints]:
        """Return the times of lines of any other layout, by learned positions or else one by one; and the index in `clocks` of each."""
        times, clocks = np.full(len(starts), NO_TIME, np.int64), np.full(len(starts), -1, np.int64)
        headers = self._times.setdefault(index, [])
        rest = np.arange(len(starts))
        for header in headers:
            rest = self._read_times(header, rest, buffer, starts, ends, times, clocks)
        while len(rest):
            start, end = int(starts[rest[0]]), int(ends[rest[0]])
            line = buffer.slice(start, end)
            known = len(headers)
            times[rest[0]] = self._one_time(index, line, headers)
            rest = rest[1:]
            if len(headers) > known:
                rest = self._read_times(headers[-1], rest, buffer, starts, ends, times, clocks)
        return times, clocks

    def _read_times(self, header: Header, rest: Ints, buffer: Buffer, starts: Ints, ends: Ints, times: Ints, clocks: Ints) -> Ints:
        """Read into `times` the times of lines that fit a header and whose time ends where the header's does; return the others."""
        fits = header.fits(buffer, starts[rest], ends[rest]) & header.ends_there(buffer, starts[rest], ends[rest])
        mine = rest[fits]
        times[mine] = header.times(buffer, starts[mine], self._zone)
        if header.start == 0:
            if header not in self.clocks:
                self.clocks.append(header)
            clocks[mine[times[mine] != NO_TIME]] = self.clocks.index(header)
        return rest[~fits]

    def _one_time(self, index: int, raw: bytes, headers: list[Header]) -> int:
        """Return the slow reader's time of one line; learn its position."""
        text = decode(raw)
        start = self._reader.start(Line(text))
        if start is None:
            return NO_TIME
        moment, _ = self._reader.moment(start, text)
        time = utc(moment, self._zone)
        if moment is None or time is None or moment.second_at < 0 or len(headers) >= _MAX_HEADERS:
            return NO_TIME if time is None else time
        if isinstance(start, tuple):
            if start[1].re.groupindex.get("ts") is None:
                return time  # it is after the message
            begin, stop = start[1].span("ts")
            equal, read = begin, partial(self._reader.read_time, start[0].time or _ANY_TIME)
        else:
            value = str(self._layouts.keys.get("time", start))
            begin, read = text.find(value), partial(self._reader.read_time, _ANY_TIME)
            stop = begin + len(value)
            equal = 0
            if isinstance(start, BrokenJson) and stop == len(text):
                return NO_TIME  # the line was truncated in the middle of its time
        if begin >= 0 and stop - equal <= MAX_HEADER_BYTES and text[:stop].isascii() and raw.startswith(text[:stop].encode()):
            headers.append(Header(raw, equal, (begin, stop), moment, read))
        return time


def _fixed_layout(candidates: tuple[Layout, ...]) -> int:
    """Return the index of the first layout whose lines all begin alike, if no layout before it can begin so; -1 if there is none."""
    beginnings: set[int] = set()
    for index, layout in enumerate(candidates):
        first = first_bytes(layout.bare_head)
        plain = _FIELD.sub("", layout.head)
        if layout.time and layout.time.dated and not layout.whole and _FIXED.fullmatch(plain) and not first & beginnings:
            return index
        beginnings |= first
    return -1


def _for_bytes(pattern: str) -> str:
    """Return the pattern for lines that still have their line break."""
    return pattern[:-1] + "[\r\n]*$" if pattern.endswith("$") else pattern
