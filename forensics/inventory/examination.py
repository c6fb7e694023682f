"""Examine each file in one pass: its hash, its size as text, and its layout."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Self

from forensics.errors import own_fault, reason_of
from forensics.evidence.containers import SEPARATOR, Content, Text, contents, encoding_of, written
from forensics.evidence.streams import count_lines
from forensics.inventory.evidence import COUNT_BLOCK, READ, SKIPPED, UNREADABLE, Evidence, Fingerprint, Format, Lost, Place, TextForm, Times
from forensics.inventory.file_type import is_binary, is_log, looks_like, packed_as
from forensics.inventory.source_options import SourceOptions
from forensics.inventory.walk import FileFound
from forensics.records.layout_detection import SAMPLE_BYTES, ends_of, profile_of, zone_beside, zone_of_collections
from forensics.records.layouts import Layouts, packaged
from forensics.records.line_reader import ZERO_RUN, PlacedRecord, Profile, RecordReader, is_no_text, read_records, without_zero_runs, zero_runs
from forensics.records.timestamps import Moment
from forensics.snapshots.detection import GC_LOG, kind_of

#: Number of bytes at the beginning of a file from which record IDs are made.
HEAD_BYTES = 64 * 1024
_TAIL_BYTES = 64 * 1024
_START_BYTES = 96
#: Smaller blocks are hashed faster than they are passed to another thread; larger ones exceed the processor's cache.
_BLOCK = 4 << 20
_FEW_BLOCKS = 2
_MAX_LOST = 1_000
#: The end of the first line of a client's, worker's or broker's settings.
_SETTINGS = b" values:"
#: Whether other records have a logger is decided by this many bytes, at least this many records, and this share of them.
_FEW_RECORDS, _FEWEST, _MOST = 4_096, 3, 0.9


def examine(found: FileFound, options: SourceOptions, step: Callable[[int], None]) -> Iterator[Evidence]:
    """Yield the description of a file, or of each member of an archive. An error in one member becomes its note, and the others are still examined.

    Args:
        found: the file.
        options: the user's options for files.
        step: called with the number of bytes read.
    """
    location = written(str(found.location))
    whole = Evidence(found.path, Place(location), below=found.path, status=found.status, note=found.note or None)
    if found.status != READ:
        yield whole
        return
    given = 0
    try:
        for member, content in contents(found.location):
            path = f"{found.path}/{shown(member)}" if member else found.path
            pattern = options.layout(path, location)
            layouts = packaged().with_pattern(pattern) if pattern else packaged()
            evidence = Evidence(
                path, Place(location, member), below=path, text=TextForm(plain=content.plain), format=Format(pattern=pattern), seen=found.seen
            )
            try:
                yield _examined(evidence, content, layouts, step)
            except Exception as e:
                yield replace(evidence, status=UNREADABLE, note=reason_of(e))
            given += 1
    except Exception as e:
        yield replace(whole, status=UNREADABLE, note=reason_of(e).lower())
        return
    if not given:
        yield replace(whole, status=SKIPPED, note="an archive without files")


def shown(member: str) -> str:
    """Return a member's name as a path below the archive, neither absolute nor with `..`."""
    parts = [p for p in member.replace(SEPARATOR, "/").replace("\\", "/").split("/") if p not in ("", ".", "..")]
    return "/".join(parts) or "member"


def _examined(evidence: Evidence, content: Content, layouts: Layouts, step: Callable[[int], None]) -> Evidence:
    """Examine a content in one pass: hash, size, newlines and layout."""
    fingerprint, counter, encoding = _pass_over(content, step if evidence.text.plain else lambda size: None)
    size, lines = fingerprint.size or 0, counter.lines + (counter.last not in (b"", b"\n"))
    plain = evidence.text.plain and encoding == "utf-8"
    places = (*counter.lost, *([Lost(counter.size, counter.size, lines + 1, lines + 1, "unread")] if content.error else ()))
    found = replace(
        evidence, fingerprint=replace(fingerprint, lines=lines), text=TextForm(encoding, plain, counter.size, tuple(counter.counts), places)
    )
    if content.error and not size:
        return replace(found, fingerprint=Fingerprint(), status=UNREADABLE, note=content.error)
    note = _fault_note(content, size, lines) if content.error else None
    if counter.garbage:
        place, _, line, *_ = next(lost for lost in counter.lost if lost.why == "no_text")
        note = _joined(
            note, f"{_some(counter.garbage)} of bytes that are no text, the first is line {line:,} (byte {place:,}): what was there is lost"
        )
    if not size:
        return replace(found, status=SKIPPED, note="empty")
    if not counter.written:
        lost = is_log(evidence.path, b"", Profile())
        why = "nothing but zero bytes" + (": the data written to it is lost" if lost else "")
        return replace(found, status=UNREADABLE if lost else SKIPPED, note=why)
    sample, tail = bytes(counter.sample), b"".join(counter.tail)[-_TAIL_BYTES:]
    if packed := packed_as(sample):
        return replace(found, fingerprint=Fingerprint(), status=UNREADABLE, note=packed)
    profile = Profile()
    if not is_binary(sample):
        failed: dict[str, Exception] = {}
        end = tail if counter.written > SAMPLE_BYTES + _TAIL_BYTES else b""
        profile = profile_of(sample, layouts, end, _changed(evidence.place), lambda line, error: failed.update({line: failed.get(line, error)}))
        note = _joined(note, _failed_note(failed, sample))
    profile = replace(profile, zero_runs=counter.zero_runs)
    # A layout that was learned from the file itself also fits the output of a tool.
    fitting = 0 if profile.learned else profile.fitting
    kind = kind_of(sample, fitting=fitting, lines=profile.lines) if not is_binary(sample) else None
    if kind == GC_LOG:
        # It shows the time zone of its process.
        ends = ends_of(sample, tail if counter.written > SAMPLE_BYTES else sample, layouts, profile)
        found = replace(found, times=Times(by=_times_by(profile, ends), ends=ends))
    if kind is not None:
        return replace(found, format=replace(found.format, kind=kind), note=note)
    if not is_log(evidence.path, sample, profile):
        return replace(found, status=SKIPPED, note=looks_like(evidence.path, sample))
    end = tail if counter.written > SAMPLE_BYTES else sample
    if (begin := _cut_at(end, layouts, profile)) is not None:
        note = _joined(note, f"it ends inside a record, in line {lines:,}: the rest of that is lost")
        cut = Lost(counter.size - len(end) + begin, counter.size, lines, lines, "cut_end")
        found = replace(found, text=replace(found.text, lost=(*found.text.lost, cut)))
    beside = zone_beside(sample, end, layouts, profile)
    ends = ends_of(sample, end, layouts, profile)
    zone, how = beside, "collector" if beside else None
    if not beside:
        zone, is_mixed = zone_of_collections(sample, end, layouts, profile)
        how = GC_LOG if zone else "assumed" if is_mixed else None
    times = Times(zone, how, _times_by(profile, ends), ends)
    return replace(found, format=replace(found.format, profile=profile), times=times, note=note)


def _cut_at(end: bytes, layouts: Layouts, profile: Profile) -> int | None:
    """Return where the last line of a text begins if the text ends inside a record; None if it does not, or nothing shows it."""
    begin = end.rstrip(b"\r\n").rfind(b"\n") + 1
    reader = RecordReader(layouts, profile)
    if _ends_in_settings(end, reader):
        return begin
    if not profile.plain or end.endswith((b"\n", b"\r")):
        return None
    first = end.find(b"\n", begin - _FEW_RECORDS, begin) + 1 if begin > _FEW_RECORDS else 0
    named = [placed.record.logger is not None for placed in read_records(end[first:], reader)]
    return begin if len(named) > _FEWEST and not named[-1] and sum(named) >= _MOST * (len(named) - 1) else None


def _ends_in_settings(end: bytes, reader: RecordReader) -> bool:
    """Return True if a text ends inside a list of settings. Such a record ends with its logger or a blank line, unless a tool removed these lines."""
    profile = reader.profile
    if (
        profile.newest_first
        or profile.is_table
        or profile.document is not None
        or profile.folded
        or profile.cut
        or profile.filtered
        or profile.literal
    ):
        return False
    at = end.rfind(_SETTINGS)
    records = read_records(end[end.rfind(b"\n", 0, at) + 1 :], reader) if at >= 0 else []
    return len(records) == 1 and _is_open(records[0]) and not any(_is_open(r) for r in read_records(end, reader)[:-1])


def _is_open(placed: PlacedRecord) -> bool:
    """Return True if a record is a list of settings without its end."""
    first, *settings = placed.lines.texts
    whole = len(placed.lines.pieces[-1].texts) > 1  # an object contains it
    return first.rstrip().encode().endswith(_SETTINGS) and not whole and (not settings or settings[-1].startswith("\t"))


def _times_by(profile: Profile, ends: tuple[Moment | None, Moment | None]) -> str | None:
    """Return the source of a log's times, see `Times.by`."""
    if ends[0] is None:
        return None
    return ("collector" if profile.collected else "log") + ("" if profile.until is None or profile.year_printed else "_no_year")


def _changed(place: Place) -> date:
    """Return the day on which a file or its archive was last modified; today for an object."""
    with suppress(OSError):
        return datetime.fromtimestamp(Path(place.location).stat().st_mtime, UTC).date()
    return datetime.now(UTC).date()


def _pass_over(content: Content, step: Callable[[int], None]) -> tuple[Fingerprint, _TextCounter, str]:
    """Return the hashes, counts and encoding of a content, read to its end or to an error."""
    head_hash, start_hash = hashlib.blake2b(digest_size=16), hashlib.blake2b(digest_size=8)
    counter = _TextCounter()
    size = 0
    text: Text | None = None
    with _Hash() as whole:
        while data := content.read(_BLOCK):
            text = text or Text(content, encoding_of(data))
            if size < HEAD_BYTES:
                start_hash.update(data[: max(0, _START_BYTES - size)])
                head_hash.update(data[: HEAD_BYTES - size])
            whole.update(data)
            size += len(data)
            counter.add(text.recode(data))
            step(len(data))
        if text is not None:
            counter.add(text.recode(b"", final=True))
        digest = whole.hexdigest()
    fingerprint = Fingerprint(digest[:24], digest, size, None, head_hash.digest(), start_hash.hexdigest())
    return fingerprint, counter, text.encoding if text else "utf-8"


class _Hash:
    """A SHA-256 of blocks that hashes each block while the next one is read, counted or inflated. A content of a few blocks uses no thread."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self._alone = _FEW_BLOCKS
        self._open: Future[None] | None = None
        self._last = b""
        self._thread: ThreadPoolExecutor | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._thread is not None:
            self._thread.shutdown()

    def update(self, data: bytes) -> None:
        """Add the next block."""
        if self._alone:
            self._alone -= 1
            self._hash.update(data)
            return
        if self._last:
            self._thread = self._thread or ThreadPoolExecutor(1)
            self._wait()
            self._open = self._thread.submit(self._hash.update, self._last)
        self._last = data

    def hexdigest(self) -> str:
        """Return the digest of all blocks so far."""
        self._wait()
        self._hash.update(self._last)
        self._last = b""
        return self._hash.hexdigest()

    def _wait(self) -> None:
        if self._open is not None:
            self._open.result()


def _fault_note(content: Content, size: int, lines: int) -> str:
    """Return a note on how much of a content was read before an error, and how much is lost."""
    note = f"read up to a fault: {content.error}; {_some(lines)} ({size:,} bytes) before it"
    lost = content.lost
    if not lost.size:
        return note
    behind = _some(lost.lines) if lost.lines is not None else f"about {_some(max(1, lost.size * lines // max(size, 1)))}"
    return f"{note}, {lost.how}{lost.size:,} bytes ({behind}) are lost"


def _failed_note(failed: Mapping[str, Exception], sample: bytes) -> str | None:
    """Return a note on lines from which no layout could be learned."""
    if not failed:
        return None
    text, error = next(iter(failed.items()))
    number = next((n for n, line in enumerate(sample.split(b"\n"), 1) if text.encode() in line), None)
    return f"no layout could be learned from line {f'{number:,}' if number else repr(text[:60])}: {own_fault(error)}"


def _joined(*notes: str | None) -> str | None:
    return "; ".join(filter(None, notes)) or None


def _some(lines: int) -> str:
    return f"{lines:,} {'line' if lines == 1 else 'lines'}"


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


@dataclass
class _TextCounter:
    """A counter of newlines per block of text that also keeps the text's beginning and end without runs of zero bytes (file holes).

    Attributes:
        written: size without file holes.
        zero_runs: True if there is a file hole, or a line that begins with a zero byte.
        garbage: number of lines that are no text.
        lost: file holes and lines that are no text.
    """

    size: int = 0
    written: int = 0
    lines: int = 0
    last: bytes = b""
    counts: list[int] = field(default_factory=list)
    zero_runs: bool = False
    garbage: int = 0
    lost: list[Lost] = field(default_factory=list)
    sample: bytearray = field(default_factory=bytearray)
    tail: deque[bytes] = field(default_factory=deque)

    def add(self, data: bytes) -> None:
        room = COUNT_BLOCK - self.size % COUNT_BLOCK
        while len(data) > room:
            self._add(data[:room])
            data, room = data[room:], COUNT_BLOCK
        self._add(data)

    def _add(self, data: bytes) -> None:
        """Add bytes of one block."""
        if not data:
            return
        block = self.size // COUNT_BLOCK
        self.counts.extend([0] * (block + 1 - len(self.counts)))
        newlines = count_lines(data)
        if ZERO_RUN in data or not data.isascii():
            self._find_lost(data)
        self.counts[block] += newlines
        self.lines += newlines
        self.size += len(data)
        self.last = data[-1:]
        if b"\0" in data:
            self.zero_runs = self.zero_runs or ZERO_RUN in data or b"\n\0" in data or (self.size == len(data) and data[:1] == b"\0")
            data = without_zero_runs(data)
        self.written += len(data)
        if len(self.sample) < SAMPLE_BYTES:
            self.sample += data[: SAMPLE_BYTES - len(self.sample)]
        self.tail.append(data)
        while len(self.tail) > 1 and sum(map(len, self.tail)) - len(self.tail[0]) >= _TAIL_BYTES:
            self.tail.popleft()

    def _find_lost(self, data: bytes) -> None:
        is_text = data.isascii() or _is_utf8(data)
        place = 0
        for n, line in enumerate(data.split(b"\n") if not is_text or ZERO_RUN in data else (), self.lines + 1):
            if not is_text and is_no_text(line):
                self.garbage += 1
                self._lose(place, place + len(line) + 1, n, "no_text")
            else:
                for begin, end in zero_runs(line):
                    self._lose(place if line[:begin].strip(b"\0\r") else place + begin, place + end, n, "zero_bytes")
            place += len(line) + 1

    def _lose(self, begin: int, end: int, line: int, why: str) -> None:
        """Add a lost range, given its bytes in the present block. Of very many ranges, the last are one."""
        begin, last = self.size + begin, self.lost[-1] if self.lost else None
        if last is not None and (begin <= last.to_byte or len(self.lost) >= _MAX_LOST):
            self.lost[-1] = last._replace(to_byte=self.size + end, to_line=line)
        else:
            self.lost.append(Lost(begin, self.size + end, line, line, why))
