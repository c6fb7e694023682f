"""Count the contents of a range of a text: counts, times, silences, and the first line that no layout fits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from forensics.extract.chunks import Chunk
from forensics.extract.row_builder import MAX_TEXT
from forensics.extract.stream_summaries import StreamSummary
from forensics.records.line_reader import MIN_ZERO_RUN, decode
from forensics.records.timestamps import SECOND
from forensics.redaction import scrub

GAP_US = 30 * SECOND


class Run(NamedTuple):
    """Consecutive records, each within 30 s of the one before: times of the first and the last, the lowest and the highest time."""

    first: int
    last: int
    low: int
    high: int
    records: int

    @classmethod
    def of(cls, times: npt.NDArray[np.int64]) -> list[Run]:
        """Return the runs of records with the given times."""
        begins = np.append(0, np.flatnonzero(np.abs(np.diff(times)) > GAP_US) + 1)
        ends = np.append(begins[1:], len(times))
        columns = times[begins], times[ends - 1], np.minimum.reduceat(times, begins), np.maximum.reduceat(times, begins), ends - begins
        return [cls(*run) for run in np.stack(columns, axis=1).tolist()]

    def follows(self, before: Run) -> bool:
        """Return True if this run continues the one before it."""
        return abs(self.first - before.last) <= GAP_US

    def joined(self, behind: Run) -> Run:
        """Return this run and the one after it as one."""
        return Run(self.first, behind.last, min(self.low, behind.low), max(self.high, behind.high), self.records + behind.records)


def gaps_between(runs: Sequence[Run]) -> list[dict[str, int]]:
    """Return the time from each run to the next one, which may be earlier."""
    return [{"from_ts": a.last, "to_ts": b.first} for a, b in pairwise(runs) if not b.follows(a)]


def joined(runs: Iterable[Run]) -> list[Run]:
    """Merge runs that continue each other; chunks and ranges cut the runs of a file."""
    whole: list[Run] = []
    for run in runs:
        if whole and run.follows(whole[-1]):
            whole[-1] = whole[-1].joined(run)
        else:
            whole.append(run)
    return whole


@dataclass
class Statistics:
    """Counts of one range; `schema.RANGE` describes each of them."""

    lines: int = 0
    records: int = 0
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

    def _add_times(self, times: Iterable[int], in_order: bool) -> None:
        array = np.asarray(times, np.int64) if isinstance(times, np.ndarray) else np.fromiter(times, np.int64)
        if not len(array):
            return
        low, high = int(array.min()), int(array.max())
        self.first = low if self.first is None else min(self.first, low)
        self.last = high if self.last is None else max(self.last, high)
        if in_order:
            self.runs[-1:] = joined([*self.runs[-1:], *Run.of(array)])

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
        return faults

    def to_row(self, start: int, end: int, events: int, counted: int, unrecognised: int) -> dict[str, Any]:
        """Return the columns of `range_row` that are counted here; times in microseconds."""
        return {
            "range_start": start, "range_end": end, "lines": self.lines, "records": self.records, "events": events, "counted": counted,
            "unrecognised": unrecognised, "unfit": self.unfit, "unfit_line": self.unfit_line, "unfit_text": self.unfit_text, "layouts": list(self.layouts.items()),
            "first_ts": self.first, "last_ts": self.last, "gaps": gaps_between(self.runs),
        }  # fmt: skip


def _some(number: int, one: str, more: str) -> str:
    return f"1 {one}" if number == 1 else f"{number:,} {more}"


@dataclass(frozen=True)
class RangeRow:
    """A row of `range_row`.

    Attributes:
        row: its columns.
        error: reason why the range could not be read to its end; empty if it could.
        summaries: summaries of its rows, by stream.
        runs: runs of its records.
    """

    row: Mapping[str, Any]
    error: str
    summaries: Sequence[StreamSummary] = ()
    runs: Sequence[Run] = ()


#: Columns of an additional row of `range_row`, whose lines are counted in the row of their range.
NOTHING: Mapping[str, Any] = {
    "lines": 0, "records": 0, "events": 0, "counted": 0, "unrecognised": 0, "unfit": 0, "unfit_line": None, "unfit_text": None, "layouts": [], "error": "",
}  # fmt: skip
