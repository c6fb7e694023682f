"""What is known of one file of the evidence, and how it is kept in a case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from forensics.evidence.containers import SEPARATOR
from forensics.evidence.objects import Location
from forensics.records.line_reader import Profile
from forensics.records.timestamps import Moment

#: A log, in the column `kind` of `evidence_file`; any other kind is a snapshot's.
LOG = "log"
READ, SKIPPED, UNREADABLE, SUPERSEDED = "read", "skipped", "unreadable", "superseded"
#: What is said of a file whose rows and whose hash may be of different bytes.
CHANGED = "it changed while it was read: its rows may be of other bytes than its hash; ingest it again"
#: What is said of a log as it was earlier, before the path of the file that it is now.
GREW = "has grown into "
#: Newlines are counted for each block of so many bytes.
COUNT_BLOCK = 4 << 20


@dataclass(frozen=True)
class Place:
    """Where a file lies.

    Attributes:
        location: absolute path on disk, or URL of an object.
        member: path inside the archive that lies there, None when the file is no member of one.
    """

    location: str
    member: str | None = None


@dataclass(frozen=True)
class Fingerprint:
    """What tells a content from others.

    Attributes:
        file_id: the beginning of its SHA-256; None for what has no rows.
        size: bytes.
        lines: lines, a last one without a line break included.
        head_id: made of its first 64 KiB; ids of records begin with it, so that a log that grows keeps them.
        start_id: made of its first bytes only: candidates for being one log at two times.
    """

    file_id: str | None = None
    sha256: str | None = None
    size: int | None = None
    lines: int | None = None
    head_id: bytes = b""
    start_id: str = ""


@dataclass(frozen=True)
class TextForm:
    """A content as text.

    Attributes:
        encoding: see `containers.Text`.
        plain: the bytes lie there as they are, so that a range of them can be read.
        size: bytes as UTF-8.
        newlines: in each `COUNT_BLOCK`, so that ranges know their line numbers.
    """

    encoding: str = "utf-8"
    plain: bool = False
    size: int = 0
    newlines: tuple[int, ...] = ()


@dataclass(frozen=True)
class Format:
    """How a content is read.

    Attributes:
        kind: `log`, or the kind of snapshot: such a file has no process and no zone.
        profile: what its lines look like.
        pattern: the layout that the user told for it.
    """

    kind: str = LOG
    profile: Profile = Profile()
    pattern: str | None = None


@dataclass(frozen=True)
class Times:
    """The zone by which a log's times are read, and its ends.

    Attributes:
        zone: its name.
        how: `layout` (they say it), `told`, `collector` (times that a collector printed beside them tell it), `gc_log` (a GC log of its
            folder says it) or `assumed`.
        by: who printed them: `log` (its own lines have them), `collector` (before lines that have none), or `collector_no_year` (without a year: it is
            the last in which they were printed before the file was changed); None where nobody did.
        ends: times of the first and the last record, as printed.
        first, last: the same, microseconds UTC.
    """

    zone: str | None = None
    how: str | None = None
    by: str | None = None
    ends: tuple[Moment | None, Moment | None] = (None, None)
    first: int | None = None
    last: int | None = None


@dataclass(frozen=True)
class Origin:
    """Who wrote a log.

    Attributes:
        process_id: the process.
        host: where it ran.
        host_told: whether the user said so.
        ordinal: place of the file among the files of its process.
    """

    process_id: str | None = None
    host: str | None = None
    host_told: bool = False
    ordinal: int | None = None


@dataclass(frozen=True)
class Evidence:
    """One file, or one member of an archive.

    Attributes:
        path: its name in the case; as `below`, with more in front of it where two would have one name.
        below: path below the ingested folder.
        status: one of `READ`, `SKIPPED`, `UNREADABLE`, `SUPERSEDED`.
        note: why it was not read, or not to its end.
        segment: segment of the case's tables that has its rows.
        seen: what the disk or the store said of the file before it was looked at; see `walk.mark_of`.
        is_named: whether the user has named its place; False: a case alone says it, so nothing is opened there.
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
        """The ingested folder."""
        place = self.place
        whole = f"{place.location}/{place.member.replace(SEPARATOR, '/')}" if place.member else place.location
        return whole.removesuffix(self.below or self.path).rstrip("/")

    def is_below(self, paths: Sequence[Location]) -> bool:
        """Whether it lies in one of these folders, or is one of these files."""
        roots = (str(path.resolve() if isinstance(path, Path) else path) for path in paths)
        return any(self.place.location == root or self.place.location.startswith(f"{root.rstrip('/')}/") for root in roots)

    @property
    def is_live(self) -> bool:
        """Whether a process wrote it: a log that is read."""
        return self.status == READ and self.format.kind == LOG

    @property
    def process(self) -> str | None:
        """The process that wrote it; a log of which that is not known is a process of its own, a snapshot is none."""
        return (self.origin.process_id or self.path) if self.format.kind == LOG else None

    def of(self, process_id: str | None, ordinal: int | None) -> Evidence:
        """The same as a file of a process."""
        return replace(self, origin=replace(self.origin, process_id=process_id, ordinal=ordinal))

    def as_record(self) -> dict[str, Any]:
        """What a case keeps of it, the columns of `evidence_file` among it; what only the reading needs is left out."""
        return {
            "file_id": self.fingerprint.file_id, "sha256": self.fingerprint.sha256, "path": self.path, "location": self.place.location,
            "archive_member": self.place.member, "bytes": self.fingerprint.size, "lines": self.fingerprint.lines,
            "process_id": self.origin.process_id, "host": self.origin.host, "time_zone": self.times.zone, "time_zone_how": self.times.how,
            "time_by": self.times.by,
            "ordinal": self.origin.ordinal, "status": self.status, "note": self.note, "kind": self.format.kind,
            "start_id": self.fingerprint.start_id, "encoding": self.text.encoding, "plain": self.text.plain, "pattern": self.format.pattern,
            "text_bytes": self.text.size, "below": self.below, "segment": self.segment, "first": self.times.first, "last": self.times.last,
            "host_told": self.origin.host_told, "filtered": self.format.profile.filtered or None, "literal": self.format.profile.literal or None,
        }  # fmt: skip

    @classmethod
    def of_record(cls, record: Mapping[str, Any]) -> Evidence:
        """The evidence that `as_record` wrote; keys in `NEEDED` are there, others may be missing or new."""
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
#: Without these a record says of no file what it is.
NEEDED = frozenset({"file_id", "sha256", "path", "location", "archive_member"})
_TEXTS = ("path", "location", "status", "kind", "below", "encoding", "start_id", "segment")
_NUMBERS = ("bytes", "lines", "ordinal", "text_bytes", "first", "last")
_YES_OR_NO = ("plain", "host_told")
_MOST_NUMBER = 2**63


def is_record(record: object) -> bool:
    """Return True if `Evidence.of_record` can read it: others may have written it."""
    if not isinstance(record, dict) or not record.keys() >= NEEDED:
        return False
    for key, value in record.items():
        if key in _NUMBERS:
            fits = value is None or (type(value) is int and abs(value) < _MOST_NUMBER)
        elif key in _YES_OR_NO:
            fits = isinstance(value, bool)
        else:
            fits = isinstance(value, str) or (value is None and key not in _TEXTS) or key not in _NOTHING
        if not fits:
            return False
    return True
