"""Chunks that readers yield: some lines of a text, their records that may become rows, and the counts of all other records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from forensics.extract.classification import BulkClassification, Content
from forensics.records.line_reader import Record
from forensics.records.vectorized.buffers import Buffer, Ints
from forensics.snapshots.observation import Observation


@dataclass(slots=True)
class Found:
    """A record that may become a row.

    Attributes:
        raw: its bytes.
        offset: position of its first byte in the text.
        line: number of its first line.
        before: position of the record before it, of the same process; -1 for the first.
        ts: microseconds UTC.
        resolution_ms: resolution of `ts`, milliseconds.
        collector: time that its wrapper gives, microseconds UTC.
    """

    record: Record
    raw: bytes
    offset: int
    line: int
    before: int
    ts: int | None
    resolution_ms: int = 1
    collector: int | None = None


@dataclass(frozen=True, slots=True)
class RecordBatch:
    """Records of one buffer that may become rows, as columns. Content that several records share is held once.

    Attributes:
        contents: distinct contents of the records, None for one that no record here has.
        many: further contents, already classified.
        which: the content of each record: an index into `contents`, continued into the concatenated rows of `many`.
        buffer: holds their bytes.
        base: position of the buffer's first byte in the text.
        begins, stops: first byte of each record in the buffer, and the byte after its last.
        lines: number of the first line of each record.
        before: position of the record before each one in the text, -1 for the first. Most records are in no batch.
        times: microseconds UTC, `NO_TIME` if a record has none.
        resolutions: resolution of each time, milliseconds.
    """

    contents: Sequence[Content | None]
    many: Sequence[BulkClassification]
    which: Ints
    buffer: Buffer
    base: int
    begins: Ints
    stops: Ints
    lines: Ints
    before: Ints
    times: Ints
    resolutions: Ints


@dataclass(slots=True)
class Chunk:
    """Some lines of a text.

    Attributes:
        lines: number of lines that begin in the range that is read.
        layouts: number of records by layout, including those that are not in `found`; number of observations by kind of snapshot.
        times: times of all records that have one, in order of lines, microseconds UTC.
        in_order: True if a step between two times means that the process printed nothing in between.
        found: records that may become rows, or observations.
        batch: further such records, as columns. Consume it before requesting the next chunk, which reuses its memory.
        unfit: number of lines that belong to no record.
        first_unfit: number and bytes of the first of them.
        cut: numbers of lines whose end is not read.
        broken: numbers of lines where a record of a JSON document begins that is not valid JSON.
        no_times: numbers of lines where a record with an invalid time begins.
        zero_runs: line, position and size of zero bytes in place of text.
        unread: number of a line that could not be processed, and the reason.
        error: reason why the text could not be read to its end.
    """

    lines: int = 0
    layouts: Counter[str] = field(default_factory=Counter)
    times: Iterable[int] = ()
    in_order: bool = True
    found: Iterable[Found | Observation] = ()
    batch: RecordBatch | None = None
    unfit: int = 0
    first_unfit: tuple[int, bytes] | None = None
    cut: list[int] = field(default_factory=list)
    broken: list[int] = field(default_factory=list)
    no_times: list[int] = field(default_factory=list)
    zero_runs: list[tuple[int, int, int]] = field(default_factory=list)
    unread: tuple[int, str] | None = None
    error: str = ""

    def see_unfit(self, line: int, raw: bytes, count: int = 1) -> None:
        """Count lines that belong to no record, and keep the first of them."""
        self.unfit += count
        self.first_unfit = self.first_unfit or (line, raw)
