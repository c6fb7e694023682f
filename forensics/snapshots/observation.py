"""Define the input and output of snapshot readers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from forensics.records.timestamps import Moment

#: A document (JSON, properties) has to be read as a whole; larger ones are not read.
MAX_DOCUMENT_BYTES = 64 << 20
_ISO = re.compile(r"(?:date: *)?(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?) ?(Z|UTC|[+-]\d\d:?\d\d)", re.IGNORECASE)
_UNIX_DATE = re.compile(r"[A-Z][a-z]{2} ([A-Z][a-z]{2}) +(\d{1,2}) (\d\d:\d\d:\d\d) (?:UTC|GMT) (\d{4})")
_NUMBER = re.compile(r"-?[0-9]{1,18}")
_HTTP_DATE = re.compile(r"(?:< )?date: *([A-Z][a-z]{2}, .* GMT)", re.IGNORECASE)


class Line(NamedTuple):
    """One line of a file: its number from 1, its position, its bytes with the line break, and its text without."""

    number: int
    offset: int
    raw: bytes
    text: str


@dataclass(frozen=True, slots=True)
class Observation:
    """One fact in a snapshot; becomes a row of `event_row`.

    Attributes:
        line: number of its line.
        offset: position of its first byte.
        raw: its bytes, from which its ID is computed; never stored.
        event: name of the event.
        message: text without secrets.
        captures: captures by their names in `fields.toml`.
        ts: time of the fact, microseconds UTC; None if the snapshot does not contain it.
        moment: its time as printed, perhaps without a zone, instead of `ts`.
        output: of several outputs in a file, the one that has it, from 0.
    """

    line: int
    offset: int
    raw: bytes
    event: str
    message: str
    captures: Mapping[str, Any] = field(default_factory=dict)
    ts: int | None = None
    moment: Moment | None = None
    output: int = 0

    @classmethod
    def of(cls, line: Line, event: str, captures: Mapping[str, Any], ts: int | None = None, message: str | None = None) -> Observation:
        """Return the observation of a whole line, without captures that are None."""
        kept = {k: v for k, v in captures.items() if v is not None and v != {}}
        return cls(line.number, line.offset, line.raw, event, line.text.strip() if message is None else message, kept, ts)


@dataclass(slots=True, eq=False)
class Committed:
    """What all commits of a group's partition have in common, so that each of millions holds only what differs.

    Attributes:
        captures: captures that all of them have.
        subject: group and partition, for the message.
        contents: what a reader keeps by event.
    """

    captures: Mapping[str, Any]
    subject: str
    contents: dict[str, Any] = field(default_factory=dict)

    def message(self, event: str) -> str:
        """Return the text of a commit that becomes an event of this name; the offset is a column."""
        return f"{self.subject}: {_COMMIT_WORDS[event]}"


class Commit(NamedTuple):
    """A commit in a dump of __consumer_offsets; becomes a row of `event_row`.

    Attributes:
        line: number of its line.
        offset: position of its first byte.
        raw: its bytes.
        of: its group and partition.
        ts: time of its record, or of the end of its transaction, by the coordinator's clock, microseconds UTC.
        values: captures of its own.
    """

    line: int
    offset: int
    raw: bytes
    of: Committed
    ts: int | None
    values: tuple[Any, ...]

    def observation(self, event: str) -> Observation:
        """Return the commit as an observation."""
        own = {k: v for k, v in zip(COMMIT_VALUES, self.values, strict=True) if v is not None}
        return Observation(self.line, self.offset, self.raw, event, self.of.message(event), {**self.of.captures, **own}, self.ts)


#: Captures in which the commits of a partition differ.
COMMIT_VALUES = ("offset", "leader_epoch", "metadata", "expire_ms", "log_offset", "log_run", "producer_id", "member_count")
_COMMIT_WORDS = {
    "offset_stored": "last commit",
    "offset_removed": "the commit was removed",
    "offset_superseded": "commit",
    "offset_aborted": "commit in a transaction that did not end with it",
    "offset_pending": "commit in an open transaction",
}


class CommitEvent(NamedTuple):
    """A commit, and the event that it becomes."""

    event: str
    commit: Commit


@dataclass(frozen=True, slots=True)
class Strange:
    """A line that does not fit the format; `text` is the part that may be stored."""

    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Broken:
    """The reason why the content could not be read to its end."""

    reason: str


Item = Observation | CommitEvent | Strange | Broken
Reader = Callable[[Iterable[Line]], Iterator[Item]]


def moment_of(text: str) -> int | None:
    """Return the time, microseconds UTC, of a line that is only a time: an ISO time with a zone, the output of `date` in UTC, or a `Date:` header."""
    line = text.strip()
    if not 20 <= len(line) <= 60:
        return None
    try:
        if m := _ISO.fullmatch(line):
            zone = "+00:00" if m[2].upper() in ("Z", "UTC") else m[2]
            moment = datetime.fromisoformat(m[1].replace(",", ".").replace(" ", "T") + zone)
        elif m := _UNIX_DATE.fullmatch(line):
            moment = datetime.strptime(f"{m[1]} {m[2]} {m[3]} {m[4]} +0000", "%b %d %H:%M:%S %Y %z")
        elif m := _HTTP_DATE.fullmatch(line):
            moment = parsedate_to_datetime(m[1])
        else:
            return None
    except ValueError:
        return None
    return round(moment.astimezone(UTC).timestamp() * 1_000_000)


def number_of(value: Any) -> int | None:  # noqa: ANN401  (what JSON, YAML or a table gives)
    """Return a whole number; None if it is none, or has more digits than a column of 64 bits."""
    text = str(value).strip()
    return int(text) if _NUMBER.fullmatch(text) else None


def document(lines: Iterable[Line]) -> tuple[str, Line | None, bool]:
    """Return all text, the first line, and whether it was truncated at `MAX_DOCUMENT_BYTES`."""
    parts: list[str] = []
    first, size = None, 0
    for line in lines:
        first = first or line
        size += len(line.raw)
        if size > MAX_DOCUMENT_BYTES:
            return "".join(parts), first, True
        parts.append(line.text + "\n")
    return "".join(parts), first, False
