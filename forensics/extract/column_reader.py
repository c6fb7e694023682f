"""Read a text as chunks of records, a few megabytes at a time: the fast path for logs in their original form.

Lines are positions in a buffer. `record_starts` finds first lines. The logger in the tail decides whether a record is relevant; without one, names
and literals of the catalogue decide. Only relevant records are processed singly. The chunk size bounds memory.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from forensics.catalogue.recogniser import Recogniser
from forensics.errors import own_fault
from forensics.evidence.streams import Readable
from forensics.extract.bulk_classification import CountedRecords, MessageTemplates, matching
from forensics.extract.chunks import Chunk, Classifier, Content, RecordBatch, Values
from forensics.extract.single_readers import Joined, WrappedReader
from forensics.records.line_reader import MAX_RECORD_BYTES, Line, Record, RecordReader, decode
from forensics.records.timestamps import Zone
from forensics.records.vectorized.buffers import Buffer, Flags, Ints, Window, WordSearch
from forensics.records.vectorized.line_fields import NO_TAIL, NO_TIME, Tail, Tails
from forensics.records.vectorized.record_starts import RecordStartFinder, RecordStarts

CHUNK = 8 << 20
_LITERAL = 10
_FEW = 200
#: What has been read of longer messages, in bytes, is not kept.
_LONGEST_KEPT = 4_000
#: Number of messages whose reading is kept, because a log often repeats the messages of the previous few megabytes.
_MAX_KEPT = 20_000
#: Longer messages, in bytes, are read one by one; fewer messages are, just as fast.
_LONGEST_OF_MANY, FEW = 1_000, 32
#: More than the number of headers, and of their endings.
_MAX_HEADS = 1 << 8
#: Number of line ends that are kept, more than any program has.
_MAX_TAILS = 20_000
_DELIMITED = "(?:^|[^A-Za-z0-9_])(?:{})(?:[^A-Za-z0-9_]|$)"


class _Places(NamedTuple):
    """For each record: its first line, the line after its last, its first byte, the byte after its last, and the last byte of its first line."""

    firsts: Ints
    lasts: Ints
    begins: Ints
    stops: Ints
    ends: Ints


class _Page(NamedTuple):
    """The lines of a window.

    Attributes:
        buffer: the window's bytes.
        at: position of its first byte in the text.
        line: number of its first line.
        starts, ends: first and last byte of each line's text.
        limit: number of lines that begin in the range that is read.
        records: the records that begin here.
        before: bytes of the record before them, up to the beginning of the window.
    """

    buffer: Buffer
    at: int
    line: int
    starts: Ints
    ends: Ints
    limit: int
    records: RecordStarts
    before: bytes


class ColumnReader:
    """A reader of texts with one format, or of ranges of them, one after the other.

    Args:
        reader: reads single records, slowly.
        zone: time zone of times without an offset.
        recogniser: knows which records may become rows.
        classifier: classifies records.
    """

    def __init__(self, reader: RecordReader, zone: Zone, recogniser: Recogniser, classifier: Classifier) -> None:
        self.reader, self.zone, self._recogniser = reader, zone, recogniser
        self._finder = RecordStartFinder(reader.layouts, reader, zone)
        self._tails = Tails(self._understand)
        self._counted = CountedRecords(recogniser, self._tails.found, self._finder.headers)
        self._templates = MessageTemplates(classifier, recogniser)
        #: What has been read of messages, by the number of the text before each message and the bytes after its time; None for a text that is no record.
        self._kept: dict[tuple[int, bytes], Content | None] = {}
        self._words = WordSearch(_beginnings(recogniser.words))
        #: Number of the first line that has not been read.
        self._next_line = 1
        #: True if most records that are only counted have different texts. It is then faster to look for these first and for equal records later.
        self._counted_differ = False
        candidates = reader.layouts.candidates(reader.profile.untimed)
        #: True for each layout that prints a date; JSON may.
        self._dated = np.array([*(x.time is not None and x.time.dated for x in candidates), True], bool)
        #: True for each layout whose records always name a logger. They are searched only for clients' words, all others for all literals.
        self._named = np.array([*("(?P<logger>" in x.head and "(?P<logger>" not in "".join(x.tails) for x in candidates), False], bool)

    @property
    def full(self) -> bool:
        """Return True if the caches are so large that a new reader should start with empty ones."""
        return len(self._tails.found) >= _MAX_TAILS

    def read(self, stream: Readable, start: int, end: int | None, first_line: int, opened: tuple[int, bytes] | None) -> Iterator[Chunk]:
        """Yield the records that begin at or after `start` and before `end`.

        Args:
            stream: the text from `start`, which is the beginning of a line.
            start: position of its first byte in the whole text.
            end: None for the end of the text.
            first_line: number of its first line.
            opened: position where the record that is open at `start` begins, and its bytes up to there; None if none is open.
        """
        window = Window(stream, start, end, chunk=CHUNK, longest=MAX_RECORD_BYTES)
        self._next_line = first_line
        try:
            yield from self._read(window, end, opened)
        except OSError:
            raise
        except Exception as e:
            # The rest is read line by line, so that only a line that fails by itself is lost.
            yield Chunk(unread=[(self._next_line, f"{own_fault(e)}; from that line on, each line was read by itself")])
            yield from WrappedReader(self.reader, self.zone).read(Joined(window.rest, stream), window.base, self._next_line, window.base, end)

    def _read(self, window: Window, end: int | None, opened: tuple[int, bytes] | None) -> Iterator[Chunk]:
        before, last = opened or (None, b"")
        line, drop = self._next_line, 0
        while True:
            more = window.advance(drop)
            self._next_line = line
            if not more and not window.buffer.size:
                return
            chunk = Chunk()
            page = self._page(window, line, end, chunk, last)
            buffer, starts, records = page.buffer, page.starts, page.records.lines
            owned = int(np.searchsorted(records, page.limit))
            first = int(records[0]) if len(records) else len(starts)
            _see_unfit(chunk, page, 0, min(first, page.limit), before)
            complete = owned
            if owned == len(records) and owned and more and window.whole and buffer.size - int(starts[records[-1]]) < MAX_RECORD_BYTES:
                complete -= 1  # its end may be in the next window
            upto = int(records[complete]) if complete < len(records) else len(starts)
            chunk.lines = min(upto, page.limit)
            chunk.batch = self._records(chunk, page, complete, upto)
            yield chunk
            if not more or owned < len(records):
                return
            drop = int(starts[upto]) if upto < len(starts) else buffer.size
            last = buffer.slice(int(starts[records[complete - 1]]), drop) if complete else last
            line += upto
            if complete == owned:
                before = page.at + int(starts[records[owned - 1]]) if owned else before
                if end is not None and page.at + buffer.size >= end:
                    return

    def _page(self, window: Window, line: int, end: int | None, chunk: Chunk, last: bytes) -> _Page:
        """Return the lines of a window whose first line has the number `line`, after the record `last`; add lines that are cut to `chunk`."""
        buffer, at = window.buffer, window.base
        starts, breaks = buffer.lines()
        for i in np.flatnonzero(breaks - starts > MAX_RECORD_BYTES).tolist():
            if end is None or at + int(starts[i]) < end:
                chunk.cut.append(line + i)
        if not window.whole and breaks[-1] - starts[-1] == MAX_RECORD_BYTES and (end is None or at + int(starts[-1]) < end):
            chunk.cut.append(line + len(starts) - 1)
        ends = _text_ends(buffer, starts, breaks)
        limit = len(starts) if end is None else int(np.searchsorted(starts, end - at))
        return _Page(buffer, at, line, starts, ends, limit, self._finder.find(buffer, starts, ends), last)

    def _records(self, chunk: Chunk, page: _Page, count: int, upto: int) -> RecordBatch | None:
        """Count in `chunk` the first `count` records, which end before line `upto`; return those that may become rows."""
        if not count:
            return None
        buffer, starts, records = page.buffer, page.starts, page.records
        firsts = records.lines[:count]
        lasts = np.append(records.lines[1:count], upto)
        begins, ends = starts[firsts], page.ends[firsts]
        borders = np.append(starts, buffer.size)
        stops = borders[lasts]
        for i in np.flatnonzero(stops - begins > MAX_RECORD_BYTES):
            lasts[i] = max(int(np.searchsorted(starts, begins[i] + MAX_RECORD_BYTES)), int(firsts[i]) + 1)
            stop = int(borders[lasts[i]])
            next_ = int(records.lines[i + 1]) if i + 1 < count else upto
            _see_unfit(chunk, page, int(lasts[i]), min(next_, page.limit), None)
            stops[i] = stop
        times = records.times[:count]
        chunk.times = times[times != NO_TIME]
        for name, number in zip(self._finder.names, np.bincount(records.layouts[:count]).tolist(), strict=False):
            if number:
                chunk.layouts[name] += number
        chunk.no_times = self._without_times(page, np.flatnonzero(times == NO_TIME))
        tails = np.full(count, -1, np.int64)
        relevant = np.zeros(count, bool)
        fixed = np.flatnonzero(records.headers[:count] >= 0)
        if len(fixed):
            tails[fixed] = self._tails.classify(buffer, begins[fixed], ends[fixed])
            relevant[fixed] = self._tails.interesting(tails[fixed])
            foreign = fixed[self._tails.foreign(tails[fixed])]
            if len(foreign):
                single = lasts[foreign] - firsts[foreign] == 1
                messages = begins[foreign] + self._finder.message_at(records.headers[foreign], records.endings[foreign])
                behind = np.where(single, ends[foreign] - self._tails.sizes(tails[foreign]), stops[foreign])
                relevant[foreign] = self._words.holding(buffer, messages, np.maximum(messages, behind))
            fixed = fixed[self._tails.sizes(tails[fixed]) > 0]
        unnamed = np.ones(count, bool)
        unnamed[fixed] = False
        others = np.flatnonzero(unnamed)
        relevant[others] = self._search(buffer, begins, others, self._named[records.layouts[others]])
        return self._read_batch(page, np.flatnonzero(relevant), _Places(firsts, lasts, begins, stops, ends), tails)

    def _without_times(self, page: _Page, which: Ints) -> list[int]:
        """Return the line numbers of those of the given records without a time whose layout prints one."""
        found = []
        for i in which[self._dated[page.records.layouts[which]]].tolist():
            line = int(page.records.lines[i])
            text = decode(page.buffer.slice(int(page.starts[line]), int(page.ends[line])))
            start = self.reader.start(Line(text))
            if start is not None and self.reader.moment(start, text)[1]:
                found.append(page.line + line)
        return found

    def _read_batch(self, page: _Page, which: Ints, places: _Places, tails: Ints) -> RecordBatch | None:
        """Read the given records. Records of the fixed layout that differ only in their times are read once, all others one by one."""
        if not len(which):
            return None
        buffer, records = page.buffer, page.records
        stops = np.minimum(places.stops[which], places.begins[which] + MAX_RECORD_BYTES)
        headers = records.headers[which]
        resolutions = np.ones(len(which), np.int64)
        index = np.empty(len(which), np.int64)
        fixed = np.flatnonzero(headers >= 0)
        contents: list[Content | None] = []
        clocks = records.clocks[which]
        timed = np.flatnonzero(clocks >= 0)
        if len(timed):
            ends, resolution = np.array([(c.end, c.resolution_ms) for c in self._finder.clocks], np.int64).T
            mine, kinds = which[timed], clocks[timed]
            resolutions[timed] = resolution[kinds]
            begins = places.begins[mine] + ends[kinds]
            index[timed], firsts = _different(buffer, begins, stops[timed], kinds)
            columns = (places.begins[mine], begins, stops[timed], kinds)
            contents = [self._behind_time(buffer, *row) for row in zip(*(c[firsts].tolist() for c in columns), strict=True)]
        for i in np.flatnonzero((headers < 0) & (clocks < 0)).tolist():
            record = self._one(buffer.slice(int(places.begins[which[i]]), int(stops[i])))
            index[i] = len(contents)
            contents.append(_content(record))
            if record is not None and record.moment is not None:
                resolutions[i] = record.moment.resolution_ms
        values: dict[str, Values] = {}
        if len(fixed):
            of_headers = ((h.end, h.resolution_ms) for h in self._finder.headers)
            ends, resolution = np.array(list(of_headers), np.int64).T
            mine, kinds = which[fixed], headers[fixed]
            resolutions[fixed] = resolution[kinds]
            begins = places.begins[mine] + ends[kinds]
            numbers, firsts = self._distinct(page, mine, places, tails, begins, stops[fixed])
            found, of_found = self._contents_of(page, mine[firsts], places, tails, begins[firsts], contents)
            index[fixed] = found[numbers]
            for name, (at, array) in of_found.items():
                values[name] = np.full(len(which), -1, np.int64), array
                values[name][0][fixed] = at[numbers]
        known = np.array([content is not None for content in contents])[index]
        which, index, stops, resolutions = which[known], index[known], stops[known], resolutions[known]
        values = {name: (at[known], array) for name, (at, array) in values.items()}
        begins, again = places.begins[which], _again(page, which, places)
        lines = page.line + places.firsts[which]
        return RecordBatch(contents, index, values, buffer, begins, stops, page.at + begins, lines, again, records.times[which], resolutions)

    def _contents_of(
        self, page: _Page, which: Ints, places: _Places, tails: Ints, begins: Ints, contents: list[Content | None]
    ) -> tuple[Ints, dict[str, Values]]:
        """Return the index of each given record's content, and values in which records with the same content differ. The records have the fixed
        layout and are all different. Their contents are appended to `contents`.
        """
        buffer, records = page.buffer, page.records
        found = np.full(len(which), -1, np.int64)
        tail, headers, endings = tails[which], records.headers[which], records.endings[which]
        starts, stops = places.begins[which] + self._finder.message_at(headers, endings), places.ends[which] - self._tails.sizes(tail)
        short = (places.lasts[which] - places.firsts[which] == 1) & (stops - starts > 1) & (stops - starts <= _LONGEST_OF_MANY)
        some = np.flatnonzero(short & self._tails.interesting(tail))
        some = some[np.argsort(starts[some])] if len(some) >= FEW else some[:0]

        def record(n: int, text: str) -> Record:
            i = some[n]
            source, level = self._tails.found[tail[i]], self._finder.headers[headers[i]].endings[endings[i]].level
            return Record("", None, level, source.thread, source.logger, source.source_line, None, text)

        sources = (tail[some] * _MAX_HEADS + headers[some]) * _MAX_HEADS + endings[some]
        bulk = self._templates.read(buffer, starts[some], stops[some], sources, record)
        known = bulk.which >= 0
        found[some[known]] = len(contents) + bulk.which[known]
        contents += bulk.contents
        one_by_one = np.flatnonzero(found < 0)
        found[one_by_one] = len(contents) + np.arange(len(one_by_one))
        mine = which[one_by_one]
        columns = (begins[one_by_one], *(c[mine] for c in (*places, tails, records.headers, records.endings)))
        contents += [self._known(buffer, *row) for row in zip(*(c.tolist() for c in columns), strict=True)]
        values: dict[str, Values] = {}
        for name, (at, array) in bulk.values.items():
            values[name] = np.full(len(which), -1, np.int64), array
            values[name][0][some[known]] = at[known]
        return found, values

    def _distinct(self, page: _Page, which: Ints, places: _Places, tails: Ints, begins: Ints, stops: Ints) -> tuple[Ints, Ints]:
        """Return for each given record of the fixed layout the number of its distinct content, and the position of each content's first record.

        Records are distinct if they differ in a byte from `begins` to `stops`, after their times. Of records that are only counted, only the
        parts that are kept are compared.
        """
        headers = page.records.headers[which]
        if self._counted_differ:
            groups = self._counted_groups(page, which, places, tails)
            rest, counted = np.flatnonzero(groups < 0), np.flatnonzero(groups >= 0)
            numbers, firsts = _different(page.buffer, begins[rest], stops[rest], headers[rest])
            _, first, number = np.unique(groups[counted], return_index=True, return_inverse=True)
            whole = np.empty(len(which), np.int64)
            whole[rest], whole[counted] = numbers, number + len(firsts)
            return whole, np.append(rest[firsts], counted[first])
        numbers, firsts = _different(page.buffer, begins, stops, headers)
        groups = self._counted_groups(page, which[firsts], places, tails)
        counted = np.flatnonzero(groups >= 0)
        if not len(counted):
            return numbers, firsts
        _, first, number = np.unique(groups[counted], return_index=True, return_inverse=True)
        others = np.ones(len(firsts), bool)
        others[counted] = False
        self._counted_differ = 2 * len(counted) > int(np.count_nonzero(~others[numbers]))
        renamed = np.cumsum(others) - 1
        renamed[counted] = number + int(others.sum())
        return renamed[numbers], np.append(firsts[others], firsts[counted[first]])

    def _counted_groups(self, page: _Page, which: Ints, places: _Places, tails: Ints) -> Ints:
        """Return a number for each given record of the fixed layout, equal for records that are counted as one; -1 if a record is not only counted."""
        found = np.full(len(which), -1, np.int64)
        single = np.flatnonzero(places.lasts[which] - places.firsts[which] == 1)
        lines, records = which[single], page.records
        found[single] = self._counted.group_numbers(
            page.buffer, places.begins[lines], places.ends[lines], tails[lines], records.headers[lines], records.endings[lines]
        )
        return found

    def _known(
        self, buffer: Buffer, message: int, first: int, last: int, begin: int, stop: int, end: int, tail_index: int, header: int, ending: int
    ) -> Content | None:
        """Return the content of a record of the fixed layout; the same object as for an earlier record that differs only in its time."""

        def read() -> Record | None:
            return self._fixed(buffer, first, last, begin, stop, end, tail_index, header, ending)

        return self._content(header, buffer.slice(message, stop), read)

    def _content(self, header: int, text: bytes, read: Callable[[], Record | None]) -> Content | None:
        """Return what records with a text after a header have in common; the same object as for an earlier one."""
        if len(text) > _LONGEST_KEPT:
            return _content(read())
        key = header, text
        if key not in self._kept:
            record = read()
            if len(self._kept) >= _MAX_KEPT:
                self._kept.clear()
            self._kept[key] = _content(record)
        return self._kept[key]

    def _fixed(
        self, buffer: Buffer, first: int, last: int, begin: int, stop: int, end: int, tail_index: int, header: int, ending: int
    ) -> Record | None:
        """Return a record of the fixed layout; its time is not read."""
        tail = self._tails.found[tail_index] if tail_index >= 0 else NO_TAIL
        if not tail.size or last - first > 1:
            return self._one(buffer.slice(begin, min(stop, begin + MAX_RECORD_BYTES)))
        found = self._finder.headers[header].endings[ending]
        text = decode(buffer.slice(begin + found.end, end - tail.size)).rstrip()
        return Record("", None, found.level, tail.thread, tail.logger, tail.source_line, None, text)

    def _behind_time(self, buffer: Buffer, begin: int, behind: int, stop: int, clock: int) -> Content | None:
        """Return the content of a record of another layout that begins with its time; the same object as for one that differs only in its time."""

        def read() -> Record | None:
            return self._one(buffer.slice(begin, stop))

        # Headers count from 0. A clock is of one layout.
        return self._content(-1 - clock, buffer.slice(behind, stop), read)

    def _one(self, raw: bytes) -> Record | None:
        """Return a record as the slow reader reads it; None if no record begins here."""
        lines = _decode_lines(raw)
        start = self.reader.start(Line(lines[0]))
        return None if start is None else self.reader.finish(start, lines)

    def _search(self, buffer: Buffer, begins: Ints, which: Ints, named: Flags) -> Flags:
        """Return for each given record whether it contains a name or literal of the catalogue."""
        if len(which) <= _FEW:
            return np.ones(len(which), bool)  # the sieve would cost more than it saves
        recogniser = self._recogniser
        found = self._holding(buffer, begins, which, _sieve_of_names(recogniser.interesting_loggers))
        for also in (~named, named):
            rest = np.flatnonzero(~found & also)
            if len(rest):
                texts = recogniser.words if also is named else (*recogniser.literals, *recogniser.words)
                found[rest] = self._holding(buffer, begins, which[rest], _sieve(texts))
        return found

    @staticmethod
    def _holding(buffer: Buffer, begins: Ints, which: Ints, pattern: str) -> Flags:
        """Return for each given record whether it contains the pattern."""
        found: Flags = np.zeros(len(which), bool)
        if len(which):
            found[:] = matching(buffer.segments(begins).take(pa.array(which)), pattern)
        return found

    def _understand(self, line: str) -> Tail:
        """Return the tail of a line of the fixed layout."""
        layout = self._finder.fixed
        match = self.reader.layouts.find_tail(layout, line) if layout else None
        if match is None or "\ufffd" in match[0]:  # the text does not show its size in bytes
            return NO_TAIL
        found = match.groupdict()
        number, logger, recogniser = found.get("line"), found.get("logger"), self._recogniser
        is_relevant = recogniser.is_relevant(logger)
        return Tail(
            len(match[0].encode()), logger, int(number) if number and number.isdigit() and len(number) < 10 else None,
            found.get("thread"), is_relevant, not is_relevant and not recogniser.is_left_out(logger),
        )  # fmt: skip


def _again(page: _Page, which: Ints, places: _Places) -> Flags:
    """Return for each given record whether it has the time and the bytes of the record before it."""
    buffer, times, before = page.buffer, page.records.times, np.maximum(which - 1, 0)
    some = np.flatnonzero((times[which] == times[before]) & (times[which] != NO_TIME))
    (begins, stops), (begins_before, stops_before) = ((places.begins[n[some]], places.stops[n[some]]) for n in (which, before))
    sizes, sizes_before = buffer.without_breaks(begins, stops) - begins, buffer.without_breaks(begins_before, stops_before) - begins_before
    alike = (which[some] == 0) | (sizes == sizes_before)
    # Most records of one time and size differ in one of these places.
    for part in np.linspace(0.3, 0.95, 8).tolist():
        at = (part * sizes).astype(np.int64)
        alike &= (which[some] == 0) | (buffer.words(begins + at) == buffer.words(begins_before + at))
    found: Flags = np.zeros(len(which), bool)
    for i in np.flatnonzero(alike).tolist():
        first = b"" if which[some[i]] else page.before
        other = first + buffer.slice(int(begins_before[i]) if which[some[i]] else 0, int(stops_before[i]) if which[some[i]] else int(begins[i]))
        found[some[i]] = buffer.slice(int(begins[i]), int(stops[i])).rstrip(b"\r\n") == other.rstrip(b"\r\n")
    return found


def _content(record: Record | None) -> Content | None:
    return None if record is None else Content(record)


@lru_cache(maxsize=4)
def _sieve_of_names(names: frozenset[str]) -> str:
    """Return an expression for names as whole words."""
    return _DELIMITED.format("|".join(map(re.escape, sorted(names))))


@lru_cache(maxsize=8)
def _sieve(texts: tuple[str, ...]) -> str:
    """Return an expression for the beginnings of some texts."""
    return "|".join(map(re.escape, sorted(_beginnings(texts))))


def _beginnings(texts: Iterable[str]) -> set[str]:
    """Return prefixes to search for: whole texts would need more states than RE2 keeps, and take a hundred times longer."""
    return {x[:_LITERAL] for x in texts}


def _different(buffer: Buffer, begins: Ints, stops: Ints, kinds: Ints) -> tuple[Ints, Ints]:
    """Return for each text the number of its distinct value (bytes and kind), and the position of each value's first text."""
    if not len(begins):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    array = buffer.parts(begins, stops).dictionary_encode()
    numbers: Ints = array.indices.to_numpy().astype(np.int64)
    most = len(array.dictionary)
    if (kinds != kinds[0]).any():
        different, numbers = np.unique(numbers * (int(kinds.max()) + 1) + kinds, return_inverse=True)
        most = len(different)
    firsts = np.empty(most, np.int64)
    firsts[numbers[::-1]] = np.arange(len(numbers))[::-1]
    return numbers, firsts


def _see_unfit(chunk: Chunk, page: _Page, begin: int, stop: int, before: int | None) -> None:
    """Count lines that no record can claim; `before` is where a record begins that may continue in them."""
    if before is not None:
        begin = max(begin, min(int(np.searchsorted(page.starts, before - page.at + MAX_RECORD_BYTES)), stop))
    if begin >= stop:
        return
    unfit = np.flatnonzero(~page.buffer.blank(page.starts[begin:stop], page.ends[begin:stop]))
    if len(unfit):
        first = begin + int(unfit[0])
        chunk.see_unfit(page.line + first, page.buffer.slice(int(page.starts[first]), int(page.ends[first])), len(unfit))


def _text_ends(buffer: Buffer, starts: Ints, breaks: Ints) -> Ints:
    """Return the ends of lines without carriage returns; an overlong line ends at the maximum length of a record."""
    ends = np.minimum(breaks, starts + MAX_RECORD_BYTES)
    while True:
        returns = (ends > starts) & (buffer.at(np.maximum(ends - 1, 0)) == 13)
        if not returns.any():
            return ends
        ends = ends - returns


def _decode_lines(raw: bytes) -> list[str]:
    """Return the lines of a record as `line_reader.decode` returns each of them."""
    if b"\r" not in raw and b"\0" not in raw and b"\xef\xbb\xbf" not in raw and len(raw) < MAX_RECORD_BYTES:
        return raw.removesuffix(b"\n").decode("utf-8", "replace").split("\n")
    return [decode(x[:MAX_RECORD_BYTES]) for x in raw.removesuffix(b"\n").split(b"\n")]
