"""Evidence cut in splits, and the reading of a split.

A split is a byte range of a plain file, or the whole of a compressed one. A record belongs to the split in which its first line begins; whoever
reads it reads on until the record ends. So the same bytes give the same rows, however they are cut.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from heapq import heapreplace
from typing import BinaryIO

import numpy as np

from forensics.catalogue.recogniser import Recogniser
from forensics.errors import reason_of
from forensics.evidence.containers import Content, Text, contents, place_of
from forensics.evidence.streams import Limited, Readable
from forensics.ingest.column_reader import ColumnReader
from forensics.ingest.row_builder import RowBuilder, Rows, Schemas
from forensics.ingest.statistics import RangeRow, Statistics
from forensics.ingest.wrapped_reader import WrappedReader
from forensics.inventory.inventory import COUNT_BLOCK, Evidence
from forensics.records.layouts import Layouts, packaged
from forensics.records.line_reader import MOST_RECORD_BYTES, Profile, RecordReader, decode
from forensics.records.timestamps import Zone
from forensics.records.vectorized.buffers import Buffer
from forensics.records.vectorized.record_starts import HeadFinder
from forensics.snapshots.detection import LOG, READERS
from forensics.snapshots.observation import Broken, Line, Observation, Strange

Part = Rows | RangeRow
RANGE_BYTES = 64 << 20
#: Less than this is not worth a task of its own.
_LEAST_BYTES = 4 << 20
_LOOK_BACK = 64 << 10


@dataclass(frozen=True)
class FileSplit:
    """What a task must know of a file, and which part of it it reads.

    Attributes:
        start, end: bytes of the text; end is None for all that follows.
        breaks: newlines before `start`.
        kind: how it is read; what is no log is one split.
        base: place of the file's first byte in its stream.
        text_bytes: size of the text.
    """

    location: str
    member: str | None
    encoding: str
    plain: bool
    path: str
    process_id: str | None
    file_id: str
    head_id: bytes
    zone: str
    pattern: str | None
    profile: Profile
    base: int
    text_bytes: int
    start: int = 0
    end: int | None = None
    breaks: int = 0
    kind: str = LOG


def plan(evidence: Sequence[Evidence], range_bytes: int = RANGE_BYTES, cores: int = 1) -> list[tuple[FileSplit, ...]]:
    """Cuts evidence in partitions of about equal size.

    Args:
        evidence: files of status `read`.
        range_bytes: largest size of a range of a plain file; smaller files share a partition.
        cores: how many partitions are read at once; evidence of less than as many ranges is cut smaller, so that none is idle.

    Returns:
        Partitions, the largest first. Members of one archive stay together, for it is read once.
    """
    plain = sum(e.text_bytes for e in evidence if e.plain)
    rounds = -(-plain // (cores * range_bytes)) or 1
    range_bytes = min(range_bytes, max(_LEAST_BYTES, -(-plain // (cores * rounds))))
    loads: list[tuple[int, list[FileSplit]]] = []
    small: list[FileSplit] = []
    by_archive: dict[str, list[FileSplit]] = {}
    for e in evidence:
        split = _whole(e)
        if not e.plain:
            by_archive.setdefault(e.location, []).append(split)
        elif e.text_bytes <= range_bytes:
            small.append(split)
        elif e.kind != LOG or e.profile.holes:
            loads.append((e.text_bytes, [split]))
        else:
            loads.extend((stop.text_bytes if stop.end is None else stop.end - stop.start, [stop]) for stop in _cut(split, e, range_bytes))
    loads.extend((sum(p.text_bytes for p in splits), splits) for splits in by_archive.values())
    loads.extend(_shared(small, range_bytes))
    return [tuple(splits) for _, splits in sorted(loads, key=lambda x: -x[0])]


def _shared(small: Sequence[FileSplit], range_bytes: int) -> list[tuple[int, list[FileSplit]]]:
    """Small files in as few partitions as they need, each next one, the largest first, where there is least yet."""
    shares: list[tuple[int, int, list[FileSplit]]] = [(0, n, []) for n in range(-(-sum(p.text_bytes for p in small) // range_bytes) or 1)]
    for split in sorted(small, key=lambda p: -p.text_bytes):
        load, n, splits = shares[0]
        splits.append(split)
        heapreplace(shares, (load + split.text_bytes, n, splits))
    return [(load, splits) for load, _, splits in shares if splits]


def _whole(e: Evidence) -> FileSplit:
    return FileSplit(
        e.location, e.archive_member, e.encoding, e.plain, e.path, (e.process_id or e.path) if e.kind == LOG else None, e.file_id or "", e.head_id,
        e.time_zone or "UTC", e.pattern, e.profile, (e.ordinal or 0) << 40, e.text_bytes, kind=e.kind,
    )  # fmt: skip


def _cut(split: FileSplit, e: Evidence, range_bytes: int) -> Iterator[FileSplit]:
    """Ranges of a plain file, with the newlines before each."""
    for start in range(0, e.text_bytes, range_bytes):
        end = start + range_bytes
        yield replace(split, start=start, end=end if end < e.text_bytes else None, breaks=_breaks_before(e, start))


def _breaks_before(e: Evidence, place: int) -> int:
    blocks, rest = divmod(place, COUNT_BLOCK)
    count = sum(e.counts[:blocks])
    if rest:
        with place_of(e.location).open("rb") as file:
            file.seek(blocks * COUNT_BLOCK)
            count += file.read(rest).count(b"\n")
    return count


def read_splits(splits: Sequence[FileSplit], recogniser: Recogniser, schemas: Schemas) -> Iterator[Part]:
    """All rows of some splits, in batches by table, and each split's statistics, which also say what could not be read."""
    done: set[str] = set()
    for split in splits:
        if split.plain:
            yield from _read_plain(split, recogniser, schemas)
        elif split.location not in done:
            done.add(split.location)
            yield from _read_archive([p for p in splits if p.location == split.location and not p.plain], recogniser, schemas)


def _read_archive(splits: Sequence[FileSplit], recogniser: Recogniser, schemas: Schemas) -> Iterator[Part]:
    wanted = {p.member: p for p in splits}
    try:
        for member, content in contents(place_of(splits[0].location), frozenset(wanted)):
            split = wanted.pop(member, None)
            if split is None:
                continue
            task = _Task(split, recogniser, schemas)
            try:
                yield from task.run(Limited(Text(content, split.encoding), split.text_bytes), 0, 1, None, content)
            except Exception as e:
                yield from task.fault(e)
    except Exception as e:  # whatever is wrong with one file, it is named and the others are read
        for split in wanted.values():
            yield from _Task(split, recogniser, schemas).fault(e)


def _read_plain(split: FileSplit, recogniser: Recogniser, schemas: Schemas) -> Iterator[Part]:
    task = _Task(split, recogniser, schemas)
    try:
        with place_of(split.location).open("rb", buffering=0) as file:
            place, line = split.start, split.breaks + 1
            if split.start:
                file.seek(split.start - 1)
                if file.read(1) != b"\n":
                    place, line = split.start + _skip_line(file), line + 1
            if split.end is not None and place >= split.end:
                return
            look = min(place, MOST_RECORD_BYTES)
            file.seek(place - look)
            behind = _read_exactly(file, look)
            yield from task.run(Limited(file, split.text_bytes - place), place, line, behind, None)
    except Exception as e:
        yield from task.fault(e)


def _read_exactly(file: BinaryIO, size: int) -> bytes:
    parts = []
    while size and (data := file.read(size)):
        parts.append(data)
        size -= len(data)
    return b"".join(parts)


def _skip_line(file: BinaryIO) -> int:
    """Bytes up to and with the next line break."""
    skipped = 0
    while data := file.read(_LOOK_BACK):
        cut = data.find(b"\n") + 1
        skipped += cut or len(data)
        if cut:
            break
    return skipped


class _Task:
    """Reads one split."""

    def __init__(self, split: FileSplit, recogniser: Recogniser, schemas: Schemas) -> None:
        self.split = split
        self._reader = RecordReader(_layouts(split.pattern), split.profile)
        self._layouts = self._reader.layouts
        self._zone = Zone(split.zone)
        self._statistics = Statistics()
        self._rows = RowBuilder(
            recogniser, schemas, file_id=split.file_id, head_id=split.head_id, path=split.path, process_id=split.process_id, base=split.base,
            backwards=split.text_bytes if split.profile.newest_first else None,
        )  # fmt: skip

    def run(self, stream: Readable, place: int, line: int, behind: bytes | None, content: Content | None) -> Iterator[Part]:
        """Rows of the split.

        Args:
            stream: the text from `place` on.
            place: first line of the split.
            line: its number.
            behind: bytes before `place`, as many as a record may have.
            content: where to look for a fault afterwards.
        """
        end = self.split.end
        error = ""
        if self.split.kind != LOG:
            error = yield from self._observe(stream)
        elif self.split.profile.plain:
            columns = ColumnReader(self._layouts, self._reader, self._zone, self._rows, self._statistics)
            yield from columns.read(stream, place, end, line, self._open_before(place, behind or b""))
        else:
            ahead = behind or b""
            ahead = ahead[ahead.find(b"\n") + 1 :] if len(ahead) < place else ahead
            wrapped = WrappedReader(self._reader, self._zone, self._rows, self._statistics)
            yield from wrapped.read(_Joined(ahead, stream), place - len(ahead), line - ahead.count(b"\n"), place, end)
        yield from self._finish((content.error if content else "") or error)

    def _observe(self, stream: Readable) -> Generator[Part, None, str]:
        """Rows of a second witness; gives why it could not be read to its end, empty when it could."""
        statistics, rows = self._statistics, self._rows
        error = ""
        for item in READERS[self.split.kind](_counted(_lines(stream), statistics)):
            match item:
                case Observation():
                    rows.add_observation(item)
                    statistics.see_observation(self.split.kind, item.ts)
                case Strange():
                    statistics.see_unfit(item.line, item.text.encode())
                case Broken():
                    error = item.reason
            if rows.full:
                yield from rows.take()
        return error

    def fault(self, error: BaseException) -> Iterator[Part]:
        """What was read of a split before a fault, and the fault."""
        yield from self._finish(reason_of(error))

    def _finish(self, error: str) -> Iterator[Part]:
        rows, split = self._rows, self.split
        yield from rows.take()
        end = split.text_bytes if split.end is None else split.end
        counts = self._statistics.to_row(split.start, end, rows.events, rows.unrecognised)
        told = [error, *self._statistics.faults]
        if rows.first_fault:
            line, reason = rows.first_fault
            text = "1 record" if rows.faults == 1 else f"{rows.faults:,} records"
            told.append(f"{text} could not be understood, the first at line {line:,}: {reason}")
        error = "; ".join(filter(None, told))
        yield RangeRow({"file_id": split.file_id, "path": split.path, "process_id": split.process_id, **counts}, error)

    def _open_before(self, place: int, behind: bytes) -> int | None:
        """Where the record begins that is open at a place, by the bytes before it."""
        for size in (_LOOK_BACK, MOST_RECORD_BYTES):
            part = behind[-size:] if size < len(behind) else behind
            if len(part) < place:
                part = part[part.find(b"\n") + 1 :]
            if not part:
                continue
            buffer = Buffer.of(part)
            starts, ends = buffer.lines()
            heads = HeadFinder(self._layouts, self._reader, self._zone).find(buffer, starts, ends - (buffer.at(np.maximum(ends - 1, 0)) == 13))
            if len(heads.lines):
                return place - len(part) + int(starts[heads.lines[-1]])
        return None


@dataclass
class _Joined:
    """Bytes, and then a stream."""

    ahead: bytes
    stream: Readable

    def read(self, size: int = -1, /) -> bytes:
        if self.ahead:
            data, self.ahead = self.ahead, b""
            return data
        return self.stream.read(size)


def _lines(stream: Readable) -> Iterator[Line]:
    """Lines of a text; a last one without a line break too."""
    at = number = 0
    begun: list[bytes] = []
    while data := stream.read(_LOOK_BACK):
        *whole, rest = data.split(b"\n")
        for raw in whole:
            raw, begun = b"".join((*begun, raw)), []
            number += 1
            yield Line(number, at, raw + b"\n", decode(raw.rstrip(b"\r")))
            at += len(raw) + 1
        begun.append(rest)
    if raw := b"".join(begun):
        yield Line(number + 1, at, raw, decode(raw.rstrip(b"\r")))


def _counted(lines: Iterable[Line], statistics: Statistics) -> Iterator[Line]:
    for line in lines:
        statistics.lines += 1
        yield line


@lru_cache(maxsize=64)
def _layouts(pattern: str | None) -> Layouts:
    return packaged().with_pattern(pattern) if pattern else packaged()
