"""Convert splits of the evidence to rows. A record belongs to the split in which its first line begins; its reader continues to the record's end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, BinaryIO

import numpy as np

from forensics.catalogue.recogniser import Recogniser
from forensics.errors import reason_of
from forensics.evidence.containers import Content, Text, contents, open_content, place_of
from forensics.evidence.streams import BLOCK, Limited, Readable
from forensics.extract.chunks import Chunk, Classifier
from forensics.extract.column_reader import ColumnReader
from forensics.extract.repeated_lines import Doubled
from forensics.extract.row_builder import COUNTED, EVENTS, MAX_TEXT, UNRECOGNISED, RowBuilder, Rows, Schemas, Unbuilt
from forensics.extract.single_readers import Joined, SnapshotReader, WrappedReader
from forensics.extract.splits import FileSplit
from forensics.extract.stream_summaries import Run, StreamSummary, gaps_between, merged
from forensics.inventory.evidence import LOG, Lost
from forensics.records.layouts import packaged
from forensics.records.line_reader import MAX_RECORD_BYTES, MIN_ZERO_RUN, RecordReader, decode
from forensics.records.timestamps import Zone
from forensics.records.vectorized.buffers import Buffer
from forensics.records.vectorized.record_starts import RecordStartFinder
from forensics.redaction import scrub

_LOOK_BACK = 64 << 10
#: Number of readers that are kept for logs of different formats.
_MAX_KINDS = 4
#: Counts of a range that include the records of each table.
_COUNTED_IN = {EVENTS: ("events",), COUNTED: ("events", "counted"), UNRECOGNISED: ("unrecognised",)}


@dataclass
class Statistics:
    """Counts of one range; `schema.RANGE` describes each of them."""

    lines: int = 0
    records: int = 0
    events: int = 0
    counted: int = 0
    unrecognised: int = 0
    unprocessed: int = 0
    first_unprocessed: tuple[int, str] | None = None
    unfit: int = 0
    unfit_line: int | None = None
    unfit_text: str | None = None
    layouts: Counter[str] = field(default_factory=Counter)
    first: int | None = None
    last: int | None = None
    runs: list[Run] = field(default_factory=list)
    no_times: int = 0
    no_time_line: int = 0
    cuts: int = 0
    cut_line: int = 0
    broken: int = 0
    broken_line: int = 0
    zero_bytes: int = 0
    first_zero_run: tuple[int, int] | None = None

    def add(self, chunk: Chunk) -> None:
        """Count the contents of a chunk, except the records that it found."""
        self.lines += chunk.lines
        self.records += chunk.layouts.total()
        self.layouts.update(chunk.layouts)
        self._add_times(chunk.times, chunk.in_order)
        if chunk.first_unfit and self.unfit_line is None:
            line, raw = chunk.first_unfit
            self.unfit_line, self.unfit_text = line, scrub(decode(raw[: 5 * MAX_TEXT]))[:MAX_TEXT]
        self.unfit += chunk.unfit
        self.cuts += len(chunk.cut)
        self.cut_line = self.cut_line or next(iter(chunk.cut), 0)
        self.broken += len(chunk.broken)
        self.broken_line = self.broken_line or next(iter(chunk.broken), 0)
        self.no_times += len(chunk.no_times)
        self.no_time_line = self.no_time_line or next(iter(chunk.no_times), 0)
        for line, place, size in chunk.zero_runs:
            self.zero_bytes += size
            self.first_zero_run = self.first_zero_run or (line, place)

    def add_records(self, kinds: Sequence[int], faults: Sequence[tuple[int, str]]) -> None:
        """Count the records of each of `KINDS`, and those that could not be processed, given their lines and the reasons."""
        events, others, counted, _ = kinds
        self.events += events + counted
        self.unrecognised += others
        self.counted += counted
        self.unprocessed += len(faults)
        self.first_unprocessed = self.first_unprocessed or next(iter(faults), None)

    def _add_times(self, times: Iterable[int], in_order: bool) -> None:
        array = np.asarray(times, np.int64) if isinstance(times, np.ndarray) else np.fromiter(times, np.int64)
        if not len(array):
            return
        low, high = int(array.min()), int(array.max())
        self.first = low if self.first is None else min(self.first, low)
        self.last = high if self.last is None else max(self.last, high)
        if in_order:
            self.runs[-1:] = merged([*self.runs[-1:], *Run.of(array)])

    @property
    def faults(self) -> list[str]:
        """Describe what could not be read."""
        faults = []
        if self.first_zero_run:
            line, place = self.first_zero_run
            faults.append(
                f"{self.zero_bytes:,} zero bytes, the first in line {line:,} (byte {place:,}), in runs of at least {MIN_ZERO_RUN}: text was lost or never written"
            )
        if self.cuts:
            faults.append(f"{_some(self.cuts, 'line is', 'lines are')} longer than 1 MiB and truncated, the first is line {self.cut_line:,}")
        if self.broken:
            text = _some(self.broken, "record of the document is not valid JSON", "records of the document are not valid JSON")
            faults.append(f"{text}, the first in line {self.broken_line:,}: read as far as possible")
        if self.no_times:
            has = _some(self.no_times, "record has", "records have")
            faults.append(f"{has} an impossible time, the first at line {self.no_time_line:,}: read without the time")
        if self.first_unprocessed:
            line, reason = self.first_unprocessed
            faults.append(_unprocessed(self.unprocessed, line, reason))
        return faults

    def to_row(self, start: int, end: int) -> dict[str, Any]:
        """Return the columns of `range_row` that are counted here; times in microseconds."""
        return {
            "range_start": start, "range_end": end, "lines": self.lines, "records": self.records, "events": self.events, "counted": self.counted,
            "unrecognised": self.unrecognised, "unfit": self.unfit, "unfit_line": self.unfit_line, "unfit_text": self.unfit_text, "layouts": list(self.layouts.items()),
            "first_ts": self.first, "last_ts": self.last, "gaps": gaps_between(self.runs),
        }  # fmt: skip


def _unprocessed(number: int, line: int, reason: str) -> str:
    return f"{_some(number, 'record', 'records')} could not be processed, the first at line {line:,}: {reason}"


def _some(number: int, one: str, more: str) -> str:
    return f"1 {one}" if number == 1 else f"{number:,} {more}"


@dataclass(frozen=True)
class RangeRow:
    """A row of `range_row`.

    Attributes:
        row: its columns.
        error: reason why the range could not be read to its end; empty if it could.
        summaries: summaries of its file's rows, by stream.
        runs: runs of its records.
        doubled: records of its file that were left out.
    """

    row: Mapping[str, Any]
    error: str
    summaries: Sequence[StreamSummary] = ()
    runs: Sequence[Run] = ()
    doubled: Sequence[Doubled] = ()

    def without(self, lost: Sequence[Unbuilt]) -> RangeRow:
        """Return the row without records of which no row could be made."""
        if not lost:
            return self
        numbers: Counter[str] = Counter()
        for some in lost:
            numbers.update(dict.fromkeys(_COUNTED_IN[some.table], some.number))
        total, (_, line, _, reason) = sum(some.number for some in lost), min(lost, key=lambda some: some.line)
        error = "; ".join(filter(None, (self.error, _unprocessed(total, line, reason))))
        return replace(self, row={**self.row, **{column: self.row[column] - number for column, number in numbers.items()}}, error=error)


Part = Rows | RangeRow


def read_splits(splits: Sequence[FileSplit], tools: Tools) -> Iterator[Part]:
    """Yield all rows of some splits in batches by table, then the statistics of each split, which include what could not be read.

    Args:
        splits: splits to read; members of one archive are next to each other.
        tools: read the splits, and keep what they have learned from earlier ones.
    """
    rows = RowBuilder(tools.classifier, tools.schemas)
    ranges: list[RangeRow] = []
    for row in _read(splits, tools, rows):
        if row is None:  # taken here: a fault in rows of several files must not be reported as that of the file being read
            yield from rows.take()
        else:
            ranges.append(row)
    yield from rows.take()
    for row in ranges:
        path = row.row["path"]
        yield replace(
            row.without(rows.lost.pop((path, row.row["range_start"]), ())), summaries=rows.summaries.pop(path, ()), doubled=rows.doubled.pop(path, ())
        )


def _read(splits: Sequence[FileSplit], tools: Tools, rows: RowBuilder) -> Iterator[RangeRow | None]:
    done: set[str] = set()
    for split in splits:
        if split.text.plain:
            yield from _read_plain(split, tools, rows)
        elif split.is_range:
            yield from _read_packed(split, tools, rows)
        elif split.place.location not in done:
            done.add(split.place.location)
            yield from _read_archive([p for p in splits if p.place.location == split.place.location and not p.text.plain], tools, rows)


class Tools:
    """A reader of splits, one after the other. Knowledge about one log is used for later logs with the same format.

    Args:
        recogniser: knows the messages.
        schemas: schemas of the tables.
    """

    def __init__(self, recogniser: Recogniser, schemas: Schemas) -> None:
        self._recogniser, self.schemas = recogniser, schemas
        self.classifier = Classifier(recogniser)
        self._kinds: list[tuple[object, ColumnReader]] = []

    def reader(self, split: FileSplit) -> ColumnReader:
        """Return the reader for logs with the format of this one."""
        # A log's profile without the amount of text that was sampled.
        profile = replace(split.format.profile, lines=0, fitting=0, filtered="", literal="")
        kind = split.format.pattern, split.zone, profile
        found = next((reader for of, reader in self._kinds if of == kind and not reader.full), None)
        if found is None:
            layouts = packaged().with_pattern(split.format.pattern) if split.format.pattern else packaged()
            found = ColumnReader(RecordReader(layouts, split.format.profile), Zone(split.zone), self._recogniser, self.classifier)
            self._kinds = [(kind, found), *[known for known in self._kinds if known[0] != kind][: _MAX_KINDS - 1]]
        return found


def _read_archive(splits: Sequence[FileSplit], tools: Tools, rows: RowBuilder) -> Iterator[RangeRow | None]:
    wanted = {p.place.member: p for p in splits}
    try:
        for member, content in contents(place_of(splits[0].place.location), frozenset(wanted)):
            split = wanted.pop(member, None)
            if split is None:
                continue
            task = _Task(split, tools, rows)
            try:
                yield from task.run(Limited(Text(content, split.text.encoding), split.text.size), 0, 1, b"", content)
            except Exception as e:
                yield from task.fault(e)
    except Exception as e:  # any fault of one file is reported with its name, and the others are read
        for split in wanted.values():
            yield from _Task(split, tools, rows).fault(e)


def _read_plain(split: FileSplit, tools: Tools, rows: RowBuilder) -> Iterator[RangeRow | None]:
    task = _Task(split, tools, rows)
    try:
        with place_of(split.place.location).open("rb", buffering=0) as file:
            place, line = split.start, split.breaks + 1
            if split.start:
                file.seek(split.start - 1)
                if file.read(1) != b"\n":
                    place, line = split.start + _skip_line(file)[0], line + 1
            if split.end is not None and place >= split.end:
                return
            look = min(place, MAX_RECORD_BYTES)
            file.seek(place - look)
            behind = _read_exactly(file, look)
            yield from task.run(Limited(file, split.text.size - place), place, line, behind, None)
    except Exception as e:
        yield from task.fault(e)


def _read_packed(split: FileSplit, tools: Tools, rows: RowBuilder) -> Iterator[RangeRow | None]:
    """Read a range of a packed text, which is unpacked from its beginning."""
    task = _Task(split, tools, rows)
    try:
        with open_content(place_of(split.place.location), split.place.member) as content:
            text, place, line = Text(content, split.text.encoding), 0, split.breaks + 1
            behind = b""
            while place < split.start and (data := text.read(min(BLOCK, split.start - place))):
                place += len(data)
                if place > split.start - MAX_RECORD_BYTES:
                    behind += data
            if place < split.start:
                yield from task.fault(EOFError(content.error or f"it ends at byte {place:,}"))
                return
            rest = b""
            if place and not behind.endswith(b"\n"):
                skipped, behind, rest = _skip_line(text, behind)
                place, line = place + skipped, line + 1
            if split.end is None or place < split.end:
                yield from task.run(Limited(Joined(rest, text), split.text.size - place), place, line, behind[-MAX_RECORD_BYTES:], content)
    except Exception as e:
        yield from task.fault(e)


def _read_exactly(file: BinaryIO, size: int) -> bytes:
    parts = []
    while size and (data := file.read(size)):
        parts.append(data)
        size -= len(data)
    return b"".join(parts)


def _skip_line(stream: Readable, behind: bytes = b"") -> tuple[int, bytes, bytes]:
    """Skip to the byte after the next line break. Return the number of skipped bytes, the last of all bytes before that place, and those already read
    after it.
    """
    skipped = 0
    while data := stream.read(_LOOK_BACK):
        cut = data.find(b"\n") + 1 or len(data)
        skipped, behind = skipped + cut, (behind + data[:cut])[-MAX_RECORD_BYTES:]
        if data[cut - 1 : cut] == b"\n":
            return skipped, behind, data[cut:]
    return skipped, behind, b""


class _Task:
    """The reading of one split. It owns the split's counts; readers only yield what they find."""

    def __init__(self, split: FileSplit, tools: Tools, rows: RowBuilder) -> None:
        self._split, self._tools, self._rows = split, tools, rows
        self._statistics = Statistics()

    def run(self, stream: Readable, place: int, line: int, behind: bytes, content: Content | None) -> Iterator[RangeRow | None]:
        """Yield None when there are enough rows to take, then the statistics of the split.

        Args:
            stream: the text from `place` on.
            place: first line of the split, as a byte position.
            line: number of that line.
            behind: bytes before `place`, as many as a record may have.
            content: checked for a fault afterwards.
        """
        error = ""
        for chunk in self._chunks(stream, place, line, behind):
            self._statistics.add(chunk)
            if chunk.batch is not None:
                kinds, faults = self._rows.add(chunk.batch, self._split)
                self._statistics.add_records(kinds.tolist(), faults)
                if self._rows.full:
                    yield None
            self._statistics.add_records((0, 0, 0, 0), chunk.unread)
            error = chunk.error or error
        yield self._row((content.error if content else "") or error)

    def _chunks(self, stream: Readable, place: int, line: int, behind: bytes) -> Iterator[Chunk]:
        split = self._split
        if split.format.kind != LOG:
            return SnapshotReader(split.format.kind, split.path, split.zone).read(stream)
        columns = self._tools.reader(split)
        reader, zone = columns.reader, columns.zone
        if split.format.profile.plain:
            return columns.read(stream, place, split.end, line, _open_before(reader, zone, place, behind))
        if split.format.profile.document is not None:
            return WrappedReader(reader, zone).read_document(stream)
        ahead = behind[behind.find(b"\n") + 1 :] if len(behind) < place else behind
        return WrappedReader(reader, zone).read(Joined(ahead, stream), place - len(ahead), line - ahead.count(b"\n"), place, split.end)

    def fault(self, error: BaseException) -> Iterator[RangeRow | None]:
        """Yield the statistics of what was read of a split before a fault, with the fault."""
        yield self._row(reason_of(error))

    def _row(self, error: str) -> RangeRow:
        split, counts = self._split, self._statistics.to_row(self._split.start, self._split.stop)
        lost = [
            _placed(lost, split) for lost in split.text.lost if split.start <= lost.from_byte and (split.end is None or lost.from_byte < split.end)
        ]
        row = {"file_id": split.file_id, "path": split.path, "process_id": split.process_id, **counts, "lost": lost}
        return RangeRow(row, "; ".join(filter(None, (error, *self._statistics.faults))), runs=self._statistics.runs)


def _placed(lost: Lost, split: FileSplit) -> dict[str, Any]:
    """Return a lost range with its positions in the process."""
    size, (begin, end) = split.text.size, lost[:2]
    first, last = (size - end, size - begin) if split.format.profile.newest_first else (begin, end)
    return {**lost._asdict(), "from_pos": split.base + first, "to_pos": split.base + last}


def _open_before(reader: RecordReader, zone: Zone, place: int, behind: bytes) -> tuple[int, bytes] | None:
    """Return where the record that is open at a place begins, judged by the bytes before it, and its bytes up to there."""
    for size in (_LOOK_BACK, MAX_RECORD_BYTES):
        part = behind[-size:] if size < len(behind) else behind
        if len(part) < place:
            part = part[part.find(b"\n") + 1 :]
        if not part:
            continue
        buffer = Buffer.of(part)
        starts, ends = buffer.lines()
        records = RecordStartFinder(reader.layouts, reader, zone).find(buffer, starts, ends - (buffer.at(np.maximum(ends - 1, 0)) == 13))
        if len(records.lines):
            begin = int(starts[records.lines[-1]])
            return place - len(part) + begin, part[begin:]
    return None
