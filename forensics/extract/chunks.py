"""What readers yield: some lines of a text, the records among them that may be worth a row, and what is to be counted of the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from forensics.records.line_reader import Record
from forensics.records.vectorized.buffers import Buffer, Ints
from forensics.snapshots.observation import Observation


@dataclass(slots=True)
class Found:
    """A record that may be worth a row.

    Attributes:
        raw: its bytes.
        offset: place of its first byte in the text.
        line: number of its first line.
        ts: microseconds UTC.
        resolution_ms: of ts.
        collector: microseconds UTC of its wrapper.
    """

    record: Record
    raw: bytes
    offset: int
    line: int
    ts: int | None
    resolution_ms: int = 1
    collector: int | None = None


@dataclass(frozen=True, slots=True)
class Messages:
    """Messages that one line of source printed at one level, each another text.

    Attributes:
        texts: of one line, without blanks at their ends.
    """

    logger: str
    level: str | None
    source_line: int | None
    texts: Sequence[str]

    def record(self, which: int) -> Record:
        """One of them by itself, without its time."""
        return Record("", None, self.level, None, self.logger, self.source_line, None, self.texts[which])


@dataclass(frozen=True, slots=True)
class Together:
    """Records of one buffer that may be worth a row, as columns: what several of them say is held once.

    Attributes:
        said: what the records say, None for what no record here says. A time in it is of one of those who say it.
        messages: more that records say, as columns.
        which: what each record says: index into `said`, or behind that into the texts of `messages`, one behind the other.
        buffer: holds their bytes.
        base: place of the buffer's first byte in the text.
        begins, stops: first byte of each in the buffer, and the byte after its last.
        lines: number of the first line of each.
        times: microseconds UTC, `NO_TIME` without one.
        resolutions: of the times, in milliseconds.
    """

    said: Sequence[Record | None]
    messages: Sequence[Messages]
    which: Ints
    buffer: Buffer
    base: int
    begins: Ints
    stops: Ints
    lines: Ints
    times: Ints
    resolutions: Ints


@dataclass(slots=True)
class Chunk:
    """Some lines of a text.

    Attributes:
        lines: how many begin in the range that is read.
        layouts: records by layout, also those that are not `found`; observations by kind of snapshot.
        times: of all records that have one, in order of lines, microseconds UTC.
        in_order: whether a step between two times is a silence of who wrote them.
        found: records that may be worth a row, or observations.
        together: such records as columns. To be taken before the next chunk is asked for: it uses the same memory.
        unfit: how many lines belong to no record.
        first_unfit: number and bytes of the first of them.
        cut: numbers of lines of which the end is not read.
        broken: numbers of lines where a record of a document begins that is no JSON.
        no_times: numbers of lines where a record begins whose time is none.
        holes: line, place and size of zero bytes where text should stand.
        unread: number of a line that could not be looked at, and why.
        error: why the text could not be read to its end.
    """

    lines: int = 0
    layouts: Counter[str] = field(default_factory=Counter)
    times: Iterable[int] = ()
    in_order: bool = True
    found: Iterable[Found | Observation] = ()
    together: Together | None = None
    unfit: int = 0
    first_unfit: tuple[int, bytes] | None = None
    cut: list[int] = field(default_factory=list)
    broken: list[int] = field(default_factory=list)
    no_times: list[int] = field(default_factory=list)
    holes: list[tuple[int, int, int]] = field(default_factory=list)
    unread: tuple[int, str] | None = None
    error: str = ""

    def see_unfit(self, line: int, raw: bytes, count: int = 1) -> None:
        """Takes note of lines that belong to no record, by the first of them."""
        self.unfit += count
        self.first_unfit = self.first_unfit or (line, raw)
