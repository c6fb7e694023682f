"""Convert times to microseconds: formats of log4j, logback and SimpleDateFormat, and zones.

A format describes how a time looks (`pattern`), and reads one (`read`). `Zone` converts the result to UTC, because most logs print local time without
its zone.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from forensics.errors import UsageError

SECOND = 1_000_000
#: Zones differ by multiples of this. A collector has a line at the earliest and at the latest this long before and after the time that the line prints.
QUARTER, COLLECTED_EARLY, COLLECTED_LATE = 900 * SECOND, SECOND, 60 * SECOND
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001  (naive on purpose: wall time)
_MONTHS = {m: i for i, m in enumerate(("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"), 1)}
_OFFSET = re.compile(r"([+-])([0-9]{2}):?([0-9]{2})?")
#: A time before 1970 or after 2199 is a broken field or an attack, and no engine could represent all such times.
_FIRST_US, _LAST_US = 0, int((datetime(2200, 1, 1) - _EPOCH).total_seconds()) * SECOND  # noqa: DTZ001
#: Maximum offset of a zone from UTC, in hours.
_MAX_OFFSET = 18

#: Names of formats in log4j 1, log4j 2 and logback. ISO8601 means both forms, with a space and with a T.
NAMED = {
    "": "yyyy-MM-dd HH:mm:ss,SSS",
    "ISO8601": "yyyy-MM-dd HH:mm:ss,SSS",
    "DEFAULT": "yyyy-MM-dd HH:mm:ss,SSS",
    "DEFAULT_MICROS": "yyyy-MM-dd HH:mm:ss,SSSSSS",
    "DEFAULT_NANOS": "yyyy-MM-dd HH:mm:ss,SSSSSSSSS",
    "DEFAULT_PERIOD": "yyyy-MM-dd HH:mm:ss.SSS",
    "STRICT": "yyyy-MM-dd'T'HH:mm:ss,SSS",
    "ISO8601_BASIC": "yyyyMMdd'T'HHmmss,SSS",
    "ISO8601_BASIC_PERIOD": "yyyyMMdd'T'HHmmss.SSS",
    "ISO8601_OFFSET_DATE_TIME_HH": "yyyy-MM-dd'T'HH:mm:ss,SSSX",
    "ISO8601_OFFSET_DATE_TIME_HHMM": "yyyy-MM-dd'T'HH:mm:ss,SSSXX",
    "ISO8601_OFFSET_DATE_TIME_HHCMM": "yyyy-MM-dd'T'HH:mm:ss,SSSXXX",
    "ISO8601_PERIOD": "yyyy-MM-dd'T'HH:mm:ss.SSS",
    "ISO8601_PERIOD_MICROS": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
    "ABSOLUTE": "HH:mm:ss,SSS",
    "ABSOLUTE_PERIOD": "HH:mm:ss.SSS",
    "ABSOLUTE_MICROS": "HH:mm:ss,SSSSSS",
    "ABSOLUTE_NANOS": "HH:mm:ss,SSSSSSSSS",
    "DATE": "dd MMM yyyy HH:mm:ss,SSS",
    "DATE_PERIOD": "dd MMM yyyy HH:mm:ss.SSS",
    "COMPACT": "yyyyMMddHHmmssSSS",
    "UNIX": "epoch",
    "UNIX_MILLIS": "epoch",
    "RFC1123": "EEE, dd MMM yyyy HH:mm:ss z",
}
#: Abbreviations with only one meaning, in hours. CST, IST, BST and MST are ambiguous and ignored.
_ABBREVIATED = {
    "WET": 0, "WEST": 1, "CET": 1, "CEST": 2, "EET": 2, "EEST": 3, "MSK": 3, "HKT": 8, "SGT": 8, "JST": 9, "KST": 9, "AEST": 10, "AEDT": 11, "NZST": 12,
    "NZDT": 13, "EST": -5, "EDT": -4, "CDT": -5, "MDT": -6, "PST": -8, "PDT": -7,
}  # fmt: skip
#: Zones as logs print them.
ZONES = "|".join(("Z", "UTC", "GMT", *sorted((*_ABBREVIATED, "CST", "IST", "BST", "MST"), key=lambda n: (-len(n), n)), "[+-][0-9]{2}:?[0-9]{2}"))
_ZONE = r"Z|UTC|GMT|[A-Z]{2,5}|[+-][0-9]{2}:?[0-9]{2}"
#: ISO 8601 and variants: T or space, comma or point, any number of fraction digits, 12 or 24 hours, a zone or none.
_ANY = (
    r"(?P<y>[0-9]{4})[-/](?P<M>[0-9]{2})[-/](?P<d>[0-9]{2})[T ](?P<H>[0-9]{2}):(?P<m>[0-9]{2}):(?P<s>[0-9]{2})(?:[.,](?P<S>[0-9]{1,9}))?"
    f"(?:[ \u202f](?P<a>[AaPp][Mm]))?(?P<z> ?(?:{ZONES}))?"
)


@dataclass(frozen=True, slots=True)
class Moment:
    """One time as read.

    Attributes:
        wall_us: microseconds since 1970 on the writer's wall clock, None if the text has no date.
        offset_us: offset of that wall clock from UTC, if the text contains it.
        resolution_ms: milliseconds between two printable times; 1 also for finer ones.
        second_at: position of the seconds' digits in the text, -1 if a fixed-position reader cannot use it.
        fraction: position and number of the fraction's digits.
    """

    wall_us: int | None
    offset_us: int | None
    resolution_ms: int
    second_at: int = -1
    fraction: tuple[int, int] = (0, 0)


def moment_of(
    wall_us: int | None, offset_us: int | None, resolution_ms: int, second_at: int = -1, fraction: tuple[int, int] = (0, 0)
) -> Moment | None:
    """Return a `Moment`, None for a time at which no log can have been written."""
    if wall_us is not None and not _FIRST_US <= wall_us < _LAST_US:
        return None
    return Moment(wall_us, offset_us, resolution_ms, second_at, fraction)


class TimeFormat:
    """A format of times.

    Args:
        text: a name of `NAMED`, `ISO8601`, `ANY`, or letters of Java's SimpleDateFormat; with DateTimeFormatter's `p`.

    Attributes:
        pattern: regular expression of a time in this format, without groups.
        dated: False if the format has no date.
        yearless: True if its dates have no year.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        source = _ANY if text == "ANY" else _java_format(NAMED.get(text, text))
        if text in ("ISO8601", "", "DEFAULT"):
            source = _java_format("yyyy-MM-dd") + "[ T]" + _java_format("HH:mm:ss,SSS")
        self.pattern = re.sub(r"\(\?P<\w+>", "(?:", source)
        self.dated = "(?P<d>" in source or "(?P<epoch>" in source
        self.yearless = "(?P<d>" in source and "(?P<y>" not in source
        self._regex = re.compile(source)

    def fits(self, text: str) -> bool:
        """Return True if a text has the form of a time in this format, even if it is invalid."""
        return self._regex.fullmatch(text) is not None

    def read(self, text: str, until: date | None = None) -> Moment | None:
        """Read one time; return None if it is invalid (31 February, for example).

        Args:
            text: the printed time.
            until: a time without a date is on this day, and a date without a year is the last one that is not after it; if None, the first has
                no wall time, and the second is invalid.
        """
        return _read(self._regex.fullmatch, text, until)


@lru_cache(maxsize=1 << 12)
def _read(fullmatch: Callable[[str], re.Match[str] | None], text: str, until: date | None) -> Moment | None:
    match = fullmatch(text)
    return _moment(match, until) if match else None


def _java_format(text: str) -> str:
    """Convert SimpleDateFormat letters to a regular expression with a group for each field."""
    if text == "epoch":
        return r"(?P<epoch>1[0-9]{9})(?:[.,]?(?P<S>[0-9]{3,9}))?"
    parts = []
    for quoted, letters, other in _pieces(text):
        if letters:
            parts.append(_field(letters))
        else:
            parts.append(re.escape(quoted or other))
    # since Java 20, the blank before AM and PM is a narrow one
    return "".join(parts).replace("\\ (?P<a>", "(?: |\u202f)(?P<a>")


def _pieces(text: str) -> list[tuple[str, str, str]]:
    """Return quoted text, runs of one letter, and other single characters."""
    return [(m[1] or "", m[2] or "", m[4] or "") for m in re.finditer(r"'([^']*)'|(([A-Za-z])\3*)|([^A-Za-z])", text)]


def _field(letters: str) -> str:
    letter, count = letters[0], len(letters)
    if letter in "yu":
        return "(?P<y>[0-9]{2})" if count == 2 else "(?P<y>[0-9]{4})"
    if letter in "ML":
        return "(?P<M>[0-9]{2})" if count == 2 else "(?P<M>[0-9]{1,2})" if count == 1 else r"(?P<M>[A-Za-z]{3,9}\.?)"
    if letter in "dHhms" or letter in "kK":
        name = {"k": "H", "K": "h"}.get(letter, letter)
        return f"(?P<{name}>[0-9]{{2}})" if count > 1 else f"(?P<{name}>[0-9]{{1,2}})"
    if letter in "Sn":
        return f"(?P<S>[0-9]{{{count}}})"
    if letter == "p":  # the next field has this width, padded with blanks
        return f" {{0,{count - 1}}}"
    if letter == "a":
        return "(?P<a>[AaPp][Mm])"
    if letter in "zZXxOV":
        return f"(?P<z>{_ZONE})"
    if letter == "E":
        return "[A-Za-z]{3,9}"
    if letter == "o":  # the ending of an ordinal number, as in moment.js
        return "(?:st|nd|rd|th)"
    raise UsageError(
        f"Unknown letters `{letters}` in a time format.", fix="Use the letters of Java's SimpleDateFormat, for example yyyy-MM-dd HH:mm:ss,SSS."
    )


def _moment(match: re.Match[str], until: date | None = None) -> Moment | None:
    found = match.groupdict()
    fraction = found.get("S") or ""
    micros = int(fraction[:6].ljust(6, "0")) if fraction else 0
    resolution = 1000 if not fraction else max(1, 1000 // 10 ** len(fraction))
    place = (match.start("S"), len(fraction)) if fraction else (0, 0)
    if found.get("epoch"):
        return moment_of(int(found["epoch"]) * SECOND + micros, 0, resolution)
    if not found.get("d") and until is None:
        return Moment(None, None, resolution)
    hour = int(found.get("H") or found.get("h") or 0)
    if found.get("a"):
        hour = hour % 12 + (12 if found["a"][0] in "Pp" else 0)
    year, month, day = _date(found, until)
    minutes = _wall_minute(year, month, day, hour, int(found.get("m") or 0))
    second = int(found.get("s") or 0)
    if minutes is None or second > 60:
        return None
    zone = (found.get("z") or "").strip()
    offset = _zone_offset(zone)
    if offset is None and _OFFSET.fullmatch(zone):
        return None  # +99:99
    at = match.start("s") if len(found.get("s") or "") == 2 else -1
    return moment_of(minutes + second * SECOND + micros, offset, resolution, at, place)


def _date(found: dict[str, str | None], until: date | None) -> tuple[int, int, int]:
    """Return year, month and day of a time; what it does not have is as `TimeFormat.read` describes. Year 0 is invalid."""
    if until is not None and not found.get("d"):
        return until.year, until.month, until.day
    name, day, printed = found["M"] or "", int(found["d"] or 0), found.get("y")
    month = int(name) if name[0].isdigit() else _MONTHS.get(name[:3].lower(), 0)
    if printed:
        return int(printed) + (2000 if len(printed) == 2 else 0), month, day
    return 0 if until is None else until.year - ((month, day) > (until.month, until.day)), month, day


@lru_cache(maxsize=4096)
def _wall_minute(year: int, month: int, day: int, hour: int, minute: int) -> int | None:
    try:
        return (datetime(year, month, day, hour, minute) - _EPOCH) // timedelta(microseconds=1)  # noqa: DTZ001
    except ValueError:
        return None


def _zone_offset(text: str | None) -> int | None:
    """Return the offset from UTC in microseconds; None for ambiguous abbreviations, and for offsets that no zone can have."""
    text = (text or "").strip()
    if text in ("Z", "UTC", "GMT"):
        return 0
    if text in _ABBREVIATED:
        return _ABBREVIATED[text] * 3600 * SECOND
    match = _OFFSET.fullmatch(text)
    if not match or int(match[2]) > _MAX_OFFSET or int(match[3] or 0) > 59:
        return None
    seconds = int(match[2]) * 3600 + int(match[3] or 0) * 60
    return (-seconds if match[1] == "-" else seconds) * SECOND


def day_of(wall_us: int) -> date:
    """Return the date of a wall time."""
    return (_EPOCH + timedelta(microseconds=wall_us)).date()


def offset_beside(own: Moment, beside: Moment) -> int | None:
    """Return the offset from UTC of a record's time by a time that its collector or its store printed next to it; None if the two have another distance.

    A collector uses the machine's clock when it receives a line, and an appender may delay the line: the two differ by a multiple of a quarter of an hour and a
    little more.
    """
    if own.wall_us is None or beside.wall_us is None:
        return None
    quarters, late = divmod(beside.wall_us - (beside.offset_us or 0) - own.wall_us + COLLECTED_EARLY, QUARTER)
    return -quarters * QUARTER if late <= COLLECTED_EARLY + COLLECTED_LATE else None


class Zone:
    """A converter of wall time to UTC, for times without an offset.

    An hour that a clock change repeats is interpreted as the first one, a skipped hour with the offset before the change.

    Args:
        name: an IANA name (`Europe/Berlin`) or an offset (`+02:00`, `Z`).

    Raises:
        UsageError: there is no such zone.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._zone = find_zone(name)
        self._offsets: dict[int, int] = {}

    def __reduce__(self) -> tuple[type[Zone], tuple[str]]:
        return Zone, (self.name,)

    def utc(self, moment: Moment) -> int | None:
        """Return microseconds since 1970 in UTC; None without a date."""
        if moment.wall_us is None:
            return None
        return moment.wall_us - (self.offset(moment.wall_us) if moment.offset_us is None else moment.offset_us)

    def offset(self, wall_us: int) -> int:
        """Return the offset of this zone from UTC at a wall time, in microseconds."""
        quarter = wall_us // (900 * SECOND)
        if quarter not in self._offsets:
            wall = (_EPOCH + timedelta(seconds=quarter * 900)).replace(tzinfo=self._zone)
            self._offsets[quarter] = int((wall.utcoffset() or timedelta()).total_seconds()) * SECOND
        return self._offsets[quarter]


def offset_name(minutes: int) -> str:
    """Return an offset from UTC as logs and `find_zone` write it: `+01:00`, `-05:30`."""
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02d}:{abs(minutes) % 60:02d}"


def find_zone(name: str) -> tzinfo:
    """Return a time zone by its IANA name or its offset.

    Raises:
        UsageError: there is no such zone.
    """
    offset = _zone_offset(name)
    if offset is not None:
        return timezone(timedelta(microseconds=offset)) if offset else UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as e:
        raise UsageError(f"Unknown time zone `{name}`.", fix="Use an IANA name such as Europe/Berlin, or an offset such as +02:00.") from e
