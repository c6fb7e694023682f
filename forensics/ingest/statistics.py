"""What a range of a text held: counts, times, silences, and the first line that nobody could read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from forensics.ingest.row_builder import MOST_TEXT
from forensics.records.line_reader import decode
from forensics.records.timestamps import SECOND
from forensics.records.vectorized.buffers import Ints
from forensics.records.vectorized.line_fields import NO_TIME
from forensics.redaction import scrub

GAP_US = 30 * SECOND


@dataclass
class Statistics:
    """Counts of one range; see `schema.RANGE` for the meaning of each."""

    lines: int = 0
    records: int = 0
    unfit: int = 0
    unfit_line: int | None = None
    unfit_text: str | None = None
    layouts: Counter[str] = field(default_factory=Counter)
    first: int | None = None
    last: int | None = None
    gaps: list[tuple[int, int]] = field(default_factory=list)
    no_times: int = 0
    no_time_line: int = 0
    cuts: int = 0
    cut_line: int = 0
    hole_bytes: int = 0
    first_hole: tuple[int, int] | None = None
    _before: int | None = None

    def see_times(self, times: Ints) -> None:
        """Takes note of the times of records, in order of lines; `NO_TIME` is left out."""
        times = times[times != NO_TIME]
        if not len(times):
            return
        low, high = int(times.min()), int(times.max())
        self.first = low if self.first is None else min(self.first, low)
        self.last = high if self.last is None else max(self.last, high)
        if self._before is not None:
            times = np.concatenate([np.array([self._before], np.int64), times])
        self._before = int(times[-1])
        for i in np.flatnonzero(np.abs(np.diff(times)) > GAP_US):
            pair = int(times[i]), int(times[i + 1])
            self.gaps.append((min(pair), max(pair)))

    def see_no_time(self, line: int) -> None:
        """Takes note of a record whose time is none."""
        self.no_times += 1
        self.no_time_line = self.no_time_line or line

    def see_hole(self, line: int, place: int, size: int) -> None:
        """Takes note of zero bytes where text should stand; none is none."""
        if size:
            self.hole_bytes += size
            self.first_hole = self.first_hole or (line, place)

    def see_cut(self, line: int) -> None:
        """Takes note of a line of which the end is not read."""
        self.cuts += 1
        self.cut_line = self.cut_line or line

    @property
    def faults(self) -> list[str]:
        """What could not be read, in words."""
        told = []
        if self.first_hole:
            line, place = self.first_hole
            told.append(f"{self.hole_bytes:,} zero bytes, the first in line {line:,} (byte {place:,}), stand where text was lost or never written")
        if self.cuts:
            told.append(f"{_some(self.cuts, 'line is', 'lines are')} longer than 1 MiB and cut there, the first is line {self.cut_line:,}")
        if self.no_times:
            has = _some(self.no_times, "record has", "records have")
            told.append(f"{has} a time that cannot be, the first at line {self.no_time_line:,}: its text is read, its time is not")
        return told

    def see_observation(self, kind: str, ts: int | None) -> None:
        """Takes note of an observation of a snapshot, and of when it was so."""
        self.records += 1
        self.layouts[kind] += 1
        if ts is not None:
            self.first = ts if self.first is None else min(self.first, ts)
            self.last = ts if self.last is None else max(self.last, ts)

    def see_unfit(self, line: int, raw: bytes) -> None:
        """Takes note of a line that belongs to no record."""
        if self.unfit == 0:
            self.unfit_line, self.unfit_text = line, scrub(decode(raw[: 5 * MOST_TEXT]))[:MOST_TEXT]
        self.unfit += 1

    def to_row(self, start: int, end: int, events: int, unrecognised: int) -> dict[str, Any]:
        """The columns of `range_row` that are counted here; times in microseconds."""
        return {
            "range_start": start, "range_end": end, "lines": self.lines, "records": self.records, "events": events, "unrecognised": unrecognised,
            "unfit": self.unfit, "unfit_line": self.unfit_line, "unfit_text": self.unfit_text, "layouts": list(self.layouts.items()),
            "first_ts": self.first, "last_ts": self.last, "gaps": [{"from_ts": a, "to_ts": b} for a, b in self.gaps],
        }  # fmt: skip


def _some(number: int, one: str, more: str) -> str:
    return f"1 {one}" if number == 1 else f"{number:,} {more}"


@dataclass(frozen=True)
class RangeRow:
    """A row of `range_row`, and why the range could not be read to its end (empty when it could)."""

    row: Mapping[str, Any]
    error: str
