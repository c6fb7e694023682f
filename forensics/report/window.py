"""Parse the time range that a reader selects, relative to the time of the case."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Any

from forensics.clocks.reference import Reference
from forensics.errors import UsageError
from forensics.wording.formats import zone_name

_SPAN = re.compile(r"(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>ms|s|m|min|h|d|w)")
_UNITS = {"ms": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
_CLOCK = re.compile(r"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?")
_FORMS = (
    "Write a time like 2026-11-21T07:50:00Z (without a zone: UTC, or that of --tz), a clock time of the case's day like 07:50, "
    "or a duration before the last event like 90s, 30m, 2h, 1d."
)


@dataclass(frozen=True)
class CaseTime:
    """The time of a case on the reference clock (UTC), as the report prints it.

    Attributes:
        first, last: the first and the last record, without clocks that stepped if there is another.
        earliest, latest: the bounds of all records, also by clocks that stepped; None: those of `first` and `last`.
    """

    first: datetime
    last: datetime
    earliest: datetime | None = None
    latest: datetime | None = None

    @classmethod
    def of(cls, reference: Reference, processes: Iterable[dict[str, Any]], files: Iterable[Mapping[str, Any]] = ()) -> CaseTime | None:
        """Return the time of rows of `process`; None if nothing has a time.

        Args:
            reference: the clocks.
            processes: the rows of `process`.
            files: rows of `source_file`, for a case in which no process has a time.
        """
        processes = list(processes)
        reach, extent = reference.reach(processes), reference.extent(processes)
        if reach and extent:
            return cls(*reach, *extent)
        times = [t for row in files for t in (row.get("first_ts"), row.get("last_ts")) if t]
        return cls(min(times), max(times)) if times else None

    def text(self, zone: tzinfo) -> str:
        """Return the time range in a zone, as text."""
        return f"{_shown(self.first, zone)} to {_shown(self.last, zone)} {zone_name(zone, self.first)}"


@dataclass(frozen=True)
class Window:
    """The time from `since` to `until` (UTC), both included; None: no limit."""

    since: datetime | None = None
    until: datetime | None = None

    def touches(self, start: datetime | None, end: datetime | None) -> bool:
        """Return True if a time on the reference clock overlaps the window; an unknown start may be before it, and a missing end means not ended."""
        return not (self.since and end and end < self.since) and not (self.until and start and start > self.until)

    def holds(self, start: datetime | None, end: datetime | None) -> bool:
        """Return True if a known time is within the window; a start without an end has not ended, and what has no time is never outside."""
        if not start and not end:
            return True
        return not (self.since and start and start < self.since) and not (self.until and (not end or end > self.until))


@dataclass(frozen=True)
class RowTime:
    """The columns with the time of a view's rows.

    Attributes:
        starts, ends: columns that may have its start and its end, the best first; none: the rows have no time. Of bounds, only the outer ones count:
            if the earliest start is unknown, it may be before any window.
        own: those of them that are by the clock of a process; the others are on the reference clock.
        whose: the column that names this process; empty: no column does, so it may be any.
    """

    starts: Sequence[str] = ()
    ends: Sequence[str] = ()
    own: Sequence[str] = ()
    whose: str = "process_id"

    def of(self, row: Mapping[str, Any], reference: Reference) -> tuple[datetime | None, datetime | None]:
        """Return the earliest start and the latest end of a row on the reference clock."""
        return self._bounds(row, self.starts, reference)[0], self._bounds(row, self.ends, reference)[1]

    def _bounds(self, row: Mapping[str, Any], columns: Sequence[str], reference: Reference) -> tuple[datetime, datetime] | tuple[None, None]:
        column = next((c for c in columns if row.get(c)), None)
        if column is None:
            return None, None
        if column not in self.own:
            return row[column], row[column]
        return reference.bounds((row.get(self.whose) or "") if self.whose else None, row[column])


#: The time of a row of `process`.
PRINTED = RowTime(("first_ts",), ("last_ts",), own=("first_ts", "last_ts"))


def parse(since: str, until: str, case: CaseTime | None, zone: tzinfo = UTC) -> Window:
    """Return the window that a reader selected.

    Args:
        since: its start, as `parse_time` reads it; empty: no limit.
        until: its end, likewise.
        case: the case's time.
        zone: the reader's.

    Raises:
        UsageError: a text is not a time, the ends are swapped, or the window is outside the case.
    """
    window = Window(parse_time(since, case, "--since", zone), parse_time(until, case, "--until", zone))
    if window.since and window.until and window.since > window.until:
        text = f"`--since` ({_shown(window.since, zone)}) is after `--until` ({_shown(window.until, zone)})"
        raise UsageError(f"{text} {zone_name(zone, window.since)}.", where="--since")
    if case is None:
        return window
    if window.since and window.since > (case.latest or case.last):
        raise _outside("--since", window.since, "after the case's last record", case, zone)
    if window.until and window.until < (case.earliest or case.first):
        raise _outside("--until", window.until, "before the case's first record", case, zone)
    return window


def parse_time(text: str, case: CaseTime | None, option: str, zone: tzinfo = UTC) -> datetime | None:
    """Parse a moment of `--since` or `--until`.

    Args:
        text: ISO 8601 (without a zone: the reader's; a date alone is the whole day), a clock time of the case's day such as `07:52`, or a span back from
            the case's last record, such as `2h` or `30m`.
        case: the case's time.
        option: the option's name, for the error.
        zone: the reader's.

    Raises:
        UsageError: the text has none of these forms, the case has no times, or the time occurs on several of its days.
    """
    text = text.strip()
    if not text:
        return None
    if case is None:
        raise UsageError(f"`{text}` cannot be used: nothing in the case has a time.", where=option, fix=f"Leave {option} out.")
    if m := _SPAN.fullmatch(text):
        try:
            return case.last - timedelta(seconds=float(m["number"]) * _UNITS[m["unit"]])
        except OverflowError as e:
            raise UsageError(f"`{text}` is too long: it reaches back before the year 1.", where=option) from e
    try:
        if _CLOCK.fullmatch(text):
            return _clock_time(text, case, option, zone)
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=zone)
        if option == "--until" and _is_date(text):
            moment += timedelta(days=1, microseconds=-1)
        return moment.astimezone(UTC)
    except (ValueError, OverflowError) as e:
        # Python's own message adds nothing.
        why = "" if "isoformat" in str(e) else str(e)
        raise UsageError(f"`{text}` is not a valid time or duration.", why=why, where=option, fix=_FORMS) from e


def _clock_time(text: str, case: CaseTime, option: str, reader: tzinfo) -> datetime:
    """Return a clock time on the case's day; in a case of several days, it must be within the case on exactly one of them."""
    clock = time.fromisoformat(text if text[2] == ":" else f"0{text}")
    zone = clock.tzinfo or reader
    first, last = case.first.astimezone(zone).date(), case.last.astimezone(zone).date()
    days = [first + timedelta(days=n) for n in range(min((last - first).days, 2) + 1)]
    moments = [datetime.combine(day, clock, zone).astimezone(UTC) for day in days]
    inside = moments if len(moments) == 1 else [m for m in moments if case.first <= m <= case.last]
    if len(inside) == 1:
        return inside[0]
    why = f"the case spans {case.text(zone)}"
    fix = f"Add the day, like {first:%Y-%m-%d}T{clock:%H:%M:%S}."
    if inside:
        raise UsageError(f"`{text}` is ambiguous: the case contains this time on several days.", why=why, where=option, fix=fix)
    raise UsageError(f"`{text}` is outside the case.", why=why, where=option, fix=fix)


def _is_date(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _outside(option: str, moment: datetime, what: str, case: CaseTime, zone: tzinfo) -> UsageError:
    shown = f"{_shown(moment, zone)} {zone_name(zone, moment)}"
    return UsageError(f"`{option}` ({shown}) is {what}: there is nothing to show.", why=f"the case spans {case.text(zone)}", where=option)


def _shown(moment: datetime, zone: tzinfo) -> str:
    return f"{moment.astimezone(zone):%Y-%m-%d %H:%M:%S}"
