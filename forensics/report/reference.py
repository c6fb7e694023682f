"""Moments of a process's own clock on the reference clock of its island, as milliseconds with bounds: what is drawn and merged is in this time alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from forensics.report.model import Row


class Moment(NamedTuple):
    """Between `lo` and `hi`, milliseconds since 1970."""

    lo: float
    hi: float

    @property
    def middle(self) -> float:
        """The best guess."""
        return (self.lo + self.hi) / 2


def ms(ts: datetime | None) -> float | None:
    """Milliseconds since 1970."""
    return None if ts is None else round(ts.timestamp() * 1000, 3)


class Reference:
    """What the views `clock_offset` and `process` say of the clocks.

    Args:
        clocks: rows of `clock_offset`.
        processes: rows of `process`.
    """

    def __init__(self, clocks: Iterable[Row], processes: Iterable[Row]) -> None:
        own = {p["process_id"]: p["reference_process_id"] for p in processes}
        clocks = list(clocks)
        self._ahead = {
            c["process_id"]: (float(c["lo_ms"]), float(c["hi_ms"]))
            for c in clocks
            if c["lo_ms"] is not None and c["hi_ms"] is not None and c["reference_process_id"] == own.get(c["process_id"])
        }
        self._stepped = {c["process_id"] for c in clocks if c.get("stepped")}
        islands: dict[str, list[str]] = defaultdict(list)
        for process, reference in own.items():
            islands[reference or process].append(process)
        #: Processes by the one whose clock is their island's reference; times of two islands may not be compared.
        self.islands = dict(islands)

    @property
    def farthest_ms(self) -> float:
        """How far any clock may be from its reference."""
        return max((abs(end) for ends in self._ahead.values() for end in ends), default=0.0)

    def moment(self, process_id: str | None, ts: datetime | None) -> Moment | None:
        """The moment that a process printed as `ts`; without bounds of its clock the time as printed."""
        return self.moment_of_ms(process_id, ms(ts))

    def reach(self, processes: Iterable[Row]) -> tuple[datetime, datetime] | None:
        """From the first to the last line of some rows of `process`, as far as clocks compare; None where no line has a time.

        A clock that stepped tells nothing of it where another is there.
        """
        processes = list(processes)
        processes = [p for p in processes if p["process_id"] not in self._stepped] or processes
        times = [round(m.middle) for p in processes for end in ("first_ts", "last_ts") if (m := self.moment(p["process_id"], p[end])) is not None]
        if not times:
            return None
        first, last = (datetime.fromtimestamp(at // 1000, UTC).replace(microsecond=at % 1000 * 1000) for at in (min(times), max(times)))
        return first, last

    def moment_of_ms(self, process_id: str | None, at_ms: float | None) -> Moment | None:
        """The same of a time in milliseconds since 1970, as steps have it."""
        if at_ms is None:
            return None
        lo, hi = self._ahead.get(process_id or "", (0.0, 0.0))
        return Moment(at_ms - hi, at_ms - lo)
