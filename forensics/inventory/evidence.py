"""The description of one evidence file, and its record in a case."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from forensics.evidence.containers import SEPARATOR
from forensics.evidence.objects import Location
from forensics.records.line_reader import Profile
from forensics.records.timestamps import Moment

#: The kind of a log in the column `kind` of `evidence_file`; every other kind is a snapshot.
LOG = "log"
READ, SKIPPED, UNREADABLE, SUPERSEDED = "read", "skipped", "unreadable", "superseded"
#: The note of a file whose rows and hash may come from different content.
CHANGED = "it changed while it was read: its rows and its hash may come from different content; ingest it again"
#: The note of a file that its owner lets nobody else read. It is no fault of the file.
FORBIDDEN = os.strerror(errno.EACCES).lower()
#: The note of an earlier state of a log, followed by the path of its present file.
GREW = "has grown into "
#: Size in bytes of the blocks for which newlines are counted.
COUNT_BLOCK = 4 << 20


@dataclass(frozen=True)
class Place:
    """The location of a file.

    Attributes:
        location: absolute path on disk, or URL of an object.
        member: path inside the archive at that location; None if the file is not in an archive.
    """

    location: str
    member: str | None = None


@dataclass(frozen=True)
class Fingerprint:
    """Hashes and sizes that identify a content.

    Attributes:
        file_id: the first digits of its SHA-256; None for a file without rows.
        size: bytes.
        lines: number of lines, including a last one without a line break.
        head_id: hash of its first 64 KiB. Record IDs begin with it, so they stay the same when a log grows.
        start_id: hash of its first bytes; files with the same one may be states of the same log.
    """

    file_id: str | None = None
    sha256: str | None = None
    size: int | None = None
    lines: int | None = None
    head_id: bytes = b""
    start_id: str = ""


class Lost(NamedTuple):
    """A range of a text in which what was printed is lost: `from_byte` to before `to_byte`, in the lines `from_line` to `to_line`.

    `why` is `zero_bytes`, `no_text` (bytes that are no text) or `unread` (a packed file has a fault here; the end is not known).
    """

    from_byte: int
    to_byte: int
    from_line: int
    to_line: int
    why: str


@dataclass(frozen=True)
class TextForm:
    """A content as text.

    Attributes:
        encoding: see `containers.Text`.
        plain: True if the file is not compressed or recoded, so that a byte range of it can be read.
        size: bytes as UTF-8.
        newlines: number of newlines in each `COUNT_BLOCK`, from which ranges compute their line numbers.
        lost: the ranges that are lost, in order. A line that begins before one is lost too, from its beginning.
    """

    encoding: str = "utf-8"
    plain: bool = False
    size: int = 0
    newlines: tuple[int, ...] = ()
    lost: tuple[Lost, ...] = ()


@dataclass(frozen=True)
class Format:
    """The format of a content.

    Attributes:
        kind: `log`, or a kind of snapshot. Snapshots have no process and no time zone.
        profile: the layout of its lines.
        pattern: the PatternLayout string that the user specified for it.
    """

    kind: str = LOG
    profile: Profile = Profile()
    pattern: str | None = None


@dataclass(frozen=True)
class Times:
    """A log's time zone, and its first and last time.

    Attributes:
        zone: name of the time zone.
        how: source of the time zone: `layout` (the times include it), `told` (the user), `collector` (times that a collector printed beside them),
            `gc_log` (GC lines in it, or a GC log in the same folder), or `assumed`.
        by: source of the times: `log` (its own lines have them), `collector` (a collector printed them before lines without times), or
            `log_no_year` and `collector_no_year` (these have no year, or no date: it is the last possible one before the file was modified). None: there are no times.
        ends: times of the first and the last record, as printed.
        first, last: the same in microseconds UTC.
    """

    zone: str | None = None
    how: str | None = None
    by: str | None = None
    ends: tuple[Moment | None, Moment | None] = (None, None)
    first: int | None = None
    last: int | None = None


@dataclass(frozen=True)
class Origin:
    """The process and host that wrote a log.

    Attributes:
        process_id: the process.
        host: the host on which it ran.
        is_host_given: True if the user specified the host.
        ordinal: position of the file among the files of its process.
    """

    process_id: str | None = None
    host: str | None = None
    is_host_given: bool = False
    ordinal: int | None = None


@dataclass(frozen=True)
class Evidence:
    """One file, or one member of an archive.

    Attributes:
        path: its name in the case: `below`, with a prefix if two files would have the same name.
        below: path relative to the ingested folder.
        status: one of `READ`, `SKIPPED`, `UNREADABLE`, `SUPERSEDED`.
        note: why it was not read, or not read completely.
        segment: the segment of the case's tables that has its rows.
        seen: the file's mark before it was examined; see `walk.mark_of`.
        is_named: True if the user has named its location. False: only a case names it, so it is not opened.
    """

    path: str
    place: Place
    below: str = ""
    status: str = READ
    note: str | None = None
    fingerprint: Fingerprint = Fingerprint()
    text: TextForm = TextForm()
    format: Format = Format()
    times: Times = Times()
    origin: Origin = Origin()
    segment: str = ""
    seen: tuple[object, ...] = ()
    is_named: bool = True

    @property
    def root(self) -> str:
        """Return the ingested folder."""
        place = self.place
        whole = f"{place.location}/{place.member.replace(SEPARATOR, '/')}" if place.member else place.location
        return whole.removesuffix(self.below or self.path).rstrip("/")

    def is_below(self, paths: Sequence[Location]) -> bool:
        """Return True if it is one of these files or is in one of these folders."""
        roots = (str(path.resolve() if isinstance(path, Path) else path) for path in paths)
        return any(self.place.location == root or self.place.location.startswith(f"{root.rstrip('/')}/") for root in roots)

    @property
    def is_live(self) -> bool:
        """Return True for a log that is read."""
        return self.status == READ and self.format.kind == LOG

    @property
    def fault(self) -> str:
        """Return why it could not be read, or not completely; empty if it could."""
        return (self.note or self.status) if self.status == UNREADABLE or (self.status == READ and self.note) else ""

    @property
    def process(self) -> str | None:
        """Return the process that wrote it. A log without a known process is its own process; a snapshot has none."""
        return (self.origin.process_id or self.path) if self.format.kind == LOG else None

    def of(self, process_id: str | None, ordinal: int | None) -> Evidence:
        """Return the same file with this process and ordinal."""
        return replace(self, origin=replace(self.origin, process_id=process_id, ordinal=ordinal))

    def as_record(self) -> dict[str, Any]:
        """Return its record in a case, including the columns of `evidence_file`; values that only reading needs are omitted."""
        return {
            "file_id": self.fingerprint.file_id, "sha256": self.fingerprint.sha256, "path": self.path, "location": self.place.location,
            "archive_member": self.place.member, "bytes": self.fingerprint.size, "lines": self.fingerprint.lines,
            "process_id": self.origin.process_id, "host": self.origin.host, "time_zone": self.times.zone, "time_zone_how": self.times.how,
            "time_by": self.times.by,
            "ordinal": self.origin.ordinal, "status": self.status, "note": self.note, "kind": self.format.kind,
            "start_id": self.fingerprint.start_id, "encoding": self.text.encoding, "plain": self.text.plain, "pattern": self.format.pattern,
            "text_bytes": self.text.size, "below": self.below, "segment": self.segment, "first": self.times.first, "last": self.times.last,
            "host_told": self.origin.is_host_given, "filtered": self.format.profile.filtered or None, "literal": self.format.profile.literal or None,
        }  # fmt: skip

    @classmethod
    def of_record(cls, record: Mapping[str, Any]) -> Evidence:
        """Return the evidence that `as_record` wrote; the keys in `NEEDED` must exist, others may be missing or unknown."""
        kept = {**_NOTHING, **record}
        return cls(
            kept["path"],
            Place(kept["location"], kept["archive_member"]),
            kept["below"],
            kept["status"],
            kept["note"],
            Fingerprint(kept["file_id"], kept["sha256"], kept["bytes"], kept["lines"], start_id=kept["start_id"]),
            TextForm(kept["encoding"], kept["plain"], kept["text_bytes"]),
            Format(kept["kind"], Profile(filtered=kept["filtered"] or "", literal=kept["literal"] or ""), kept["pattern"]),
            Times(kept["time_zone"], kept["time_zone_how"], kept["time_by"], first=kept["first"], last=kept["last"]),
            Origin(kept["process_id"], kept["host"], kept["host_told"], kept["ordinal"]),
            kept["segment"],
        )


_NOTHING = Evidence("", Place("")).as_record()
#: Keys that every record has.
NEEDED = frozenset({"file_id", "sha256", "path", "location", "archive_member"})
_TEXTS = ("path", "location", "status", "kind", "below", "encoding", "start_id", "segment")
_NUMBERS = ("bytes", "lines", "ordinal", "text_bytes", "first", "last")
_YES_OR_NO = ("plain", "host_told")
_MAX_NUMBER = 2**63


def is_record(record: object) -> bool:
    """Return True if `Evidence.of_record` can read the record, which may come from someone else."""
    if not isinstance(record, dict) or not record.keys() >= NEEDED:
        return False
    for key, value in record.items():
        if key in _NUMBERS:
            fits = value is None or (type(value) is int and abs(value) < _MAX_NUMBER)
        elif key in _YES_OR_NO:
            fits = isinstance(value, bool)
        else:
            fits = isinstance(value, str) or (value is None and key not in _TEXTS) or key not in _NOTHING
        if not fits:
            return False
    return True
