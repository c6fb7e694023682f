"""Convert a process's own times to the reference clock of its island, as milliseconds with bounds. Pictures and merged lines use only this time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from forensics.relations.inputs import Row


class Moment(NamedTuple):
    """A moment between `lo` and `hi`, in milliseconds since 1970."""

    lo: float
    hi: float

    @property
    def middle(self) -> float:
        """Return the best estimate."""
        return (self.lo + self.hi) / 2


def ms(ts: datetime | None) -> float | None:
    """Return milliseconds since 1970."""
    return None if ts is None else round(ts.timestamp() * 1000, 3)


class Reference:
    """The reference clocks, from the views `clock_offset` and `process`.

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
        #: Processes by the process whose clock is their island's reference; times of two islands must not be compared.
        self.islands = dict(islands)

    @property
    def farthest_ms(self) -> float:
        """Return the maximum distance of any clock from its reference, in milliseconds."""
        return max((abs(end) for ends in self._ahead.values() for end in ends), default=0.0)

    def moment(self, process_id: str | None, ts: datetime | None) -> Moment | None:
        """Return the moment at which a process printed `ts`; the time as printed if its clock has no bounds."""
        return self.moment_of_ms(process_id, ms(ts))

    def bounds(self, process_id: str | None, ts: datetime) -> tuple[datetime, datetime]:
        """Return the earliest and the latest moment at which a process can have printed `ts`; None: its clock may be any of the case's."""
        lo, hi = (-self.farthest_ms, self.farthest_ms) if process_id is None else self._ahead.get(process_id, (0.0, 0.0))
        return ts - timedelta(milliseconds=hi), ts - timedelta(milliseconds=lo)

    def time(self, process_id: str | None, ts: datetime) -> datetime:
        """Return the best estimate of the moment at which a process printed `ts`."""
        lo, hi = self._ahead.get(process_id or "", (0.0, 0.0))
        return ts - timedelta(milliseconds=(lo + hi) / 2)

    def extent(self, processes: Iterable[Row]) -> tuple[datetime, datetime] | None:
        """Return the earliest and the latest moment of any line of rows of `process`, also by clocks that stepped; None if no line has a time."""
        found = [self.bounds(p["process_id"], p[end]) for p in processes for end in ("first_ts", "last_ts") if p[end]]
        return (min(lo for lo, _ in found), max(hi for _, hi in found)) if found else None

    def reach(self, processes: Iterable[Row]) -> tuple[datetime, datetime] | None:
        """Return the time from the first to the last line of rows of `process`, as far as clocks compare; None if no line has a time.

        Clocks that stepped are ignored if there is another clock.
        """
        processes = list(processes)
        processes = [p for p in processes if p["process_id"] not in self._stepped] or processes
        times = [round(m.middle) for p in processes for end in ("first_ts", "last_ts") if (m := self.moment(p["process_id"], p[end])) is not None]
        if not times:
            return None
        first, last = (datetime.fromtimestamp(at // 1000, UTC).replace(microsecond=at % 1000 * 1000) for at in (min(times), max(times)))
        return first, last

    def moment_of_ms(self, process_id: str | None, at_ms: float | None) -> Moment | None:
        """Return the moment of a time in milliseconds since 1970, as steps have it."""
        if at_ms is None:
            return None
        lo, hi = self._ahead.get(process_id or "", (0.0, 0.0))
        return Moment(at_ms - hi, at_ms - lo)
