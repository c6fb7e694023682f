"""Times, spans, names and untrusted text, as a reader wants them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta, tzinfo

# Control characters (C0, DEL, C1) and the format characters that reorder or hide text: a log line is written by others and must not steer a terminal.
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")
_NUMBERED = re.compile(r"(?P<name>.+)-(?P<number>\d{1,9})")

ELLIPSIS = "…"
#: Closed vocabularies of the views, the gravest first.
SEVERITIES = ("critical", "warning", "note")
VERDICTS = ("proved", "undecided", "refuted")


def printable(text: str) -> str:
    r"""The text with everything that could steer a terminal shown as an escape (`\x1b`); tabs become blanks."""
    return _UNSAFE.sub(lambda m: " " if m[0] == "\t" else ascii(m[0])[1:-1], text)


def iso(ts: datetime | None, zone: tzinfo = UTC) -> str | None:
    """ISO 8601 with milliseconds and `Z`, or the offset of the reader's zone; a time without a zone is UTC already."""
    if ts is None:
        return None
    local = (ts.replace(tzinfo=UTC) if ts.tzinfo is None else ts).astimezone(zone)
    told = local.strftime("%Y-%m-%dT%H:%M:%S.") + f"{local.microsecond // 1000:03d}"
    return told + ("Z" if zone == UTC else local.isoformat()[-6:])


class Clock:
    """Prints times in the reader's zone; without their date while the whole report lies in one day.

    Args:
        times: all times that the report may print (UTC); they decide whether dates are needed.
        zone: the reader's.
    """

    def __init__(self, times: Iterable[datetime], zone: tzinfo = UTC) -> None:
        self.zone = zone
        days = {t.astimezone(zone).date() for t in times}
        self.day = next(iter(days)) if len(days) == 1 else None

    def at(self, ts: datetime | None, unknown: str = "?") -> str:
        """`07:51:44.123`, with the date in front when days differ."""
        if ts is None:
            return unknown
        ts = ts.astimezone(self.zone)
        text = ts.strftime("%H:%M:%S.") + f"{ts.microsecond // 1000:03d}"
        return text if ts.date() == self.day else f"{ts:%Y-%m-%d} {text}"

    def between(self, lo: datetime | None, hi: datetime | None) -> str:
        """A moment known by its bounds: one time with `±`, or both ends when they are more than two seconds apart."""
        if lo is None and hi is None:
            return "?"
        if lo is None:
            return f"before {self.at(hi)}"
        if hi is None:
            return f"after {self.at(lo)}"
        width = (hi - lo).total_seconds() * 1000
        if width > 2000:
            return f"{self.at(lo)} to {self.at(hi)}"
        half = round(width / 2)
        return self.at(lo + (hi - lo) / 2) + (f" ±{half} ms" if half else "")

    def second(self, lo: datetime, hi: datetime | None) -> str:
        """A moment to the second, `07:51:44`, or both its bounds, `07:51:44 to 07:51:52`; with the date in front when days differ."""

        def text(ts: datetime) -> str:
            ts = ts.astimezone(self.zone)
            return f"{ts:%H:%M:%S}" if ts.date() == self.day else f"{ts:%Y-%m-%d %H:%M:%S}"

        return text(lo) if hi is None or text(hi) == text(lo) else f"{text(lo)} to {text(hi)}"


def zone_name(zone: tzinfo, at: datetime) -> str:
    """A zone as a reader writes it, with its offset at a time where the name does not tell it: `UTC`, `UTC+02:00`, `Europe/Berlin (UTC+01:00)`."""
    offset = at.astimezone(zone).utcoffset() or timedelta()
    minutes = abs(int(offset.total_seconds())) // 60
    told = "UTC" + (f"{'-' if offset < timedelta() else '+'}{minutes // 60:02d}:{minutes % 60:02d}" if minutes else "")
    name = getattr(zone, "key", "")
    return f"{name} ({told})" if name and name != "UTC" else told


def span(ms: float | None, unknown: str = "?") -> str:
    """`340 ms`, `1.04 s`, `12.3 s`, `2 min 05 s`, `3 h 10 min`, `2 d 4 h`."""
    if ms is None:
        return unknown
    sign, whole = ("-" if ms < 0 else ""), round(abs(ms))
    # Rounded before it is taken apart, so that nothing reads `60 s` or `1 min 60 s`.
    if whole < 1000:
        text = f"{whole} ms"
    elif whole < 9_995:
        text = f"{whole / 1000:.2f} s"
    elif whole < 59_950:
        text = f"{whole / 1000:.1f} s"
    elif (seconds := round(whole / 1000)) < 3600:
        text = f"{seconds // 60} min {seconds % 60:02d} s"
    elif (minutes := round(seconds / 60)) < 1440:
        text = f"{minutes // 60} h {minutes % 60:02d} min"
    else:
        hours = round(minutes / 60)
        text = f"{hours // 24} d {hours % 24} h"
    return sign + text


def bounded(lo_ms: float | None, hi_ms: float | None) -> str:
    """A span known by its bounds: `41.000 s ±1 ms` while they are close, else both."""
    if lo_ms is None or hi_ms is None:
        return f"at least {span(lo_ms)}" if lo_ms is not None else f"at most {span(hi_ms)}" if hi_ms is not None else "no bound"
    half = (hi_ms - lo_ms) / 2
    if half > 1000:
        return f"{span(lo_ms)} to {span(hi_ms)}"
    middle = (lo_ms + hi_ms) / 2
    return (f"{round(middle)} ms" if abs(middle) < 1000 else f"{middle / 1000:,.3f} s") + (f" ±{half:.0f} ms" if half >= 0.5 else "")


def count(number: int, one: str, many: str = "") -> str:
    """`1 task`, `2 tasks`, `57,000 generations`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


#: Triggers of rebalances as things that are counted: one, several.
_TRIGGERS = {
    "member_joined": ("join", "joins"),
    "group_created": ("creation of the group", "creations of the group"),
    "member_left": ("member that left", "members that left"),
    "member_gone": ("member gone", "members gone"),
    "member_expired": ("session timeout", "session timeouts"),
    "leader_rejoined": ("rejoin of the leader", "rejoins of the leader"),
    "member_rejoined": ("rejoin", "rejoins"),
    "member_metadata_changed": ("change of a member's metadata", "changes of members' metadata"),
    "static_member_changed": ("change of a static member", "changes of static members"),
    "unknown": ("whose trigger is not printed", "whose trigger is not printed"),
}


def trigger_count(trigger: str | None, number: int) -> str:
    """How often a trigger made a group rebalance: `3 joins`, `1 member that left`."""
    one, many = _TRIGGERS.get(trigger or "unknown", ((trigger or "").replace("_", " "),) * 2)
    return f"{number:,} {one if number == 1 else many}"


def joined(words: Sequence[str], last: str = "and") -> str:
    """`a`, `a and b`, `a, b and c`; empty of none."""
    return f"{', '.join(words[:-1])} {last} {words[-1]}" if len(words) > 1 else "".join(words)


def fold(items: Sequence[str], limit: int = 12) -> str:
    """Resources in few words: `orders-[0-3,7] b-1`; beyond `limit` names the rest is only counted."""
    groups: dict[str, list[int]] = {}
    plain: list[str] = []
    for item in items:
        m = _NUMBERED.fullmatch(item)
        if m and not (len(m["number"]) > 1 and m["number"].startswith("0")):
            groups.setdefault(m["name"], []).append(int(m["number"]))
        else:
            plain.append(item)
    words = [f"{name}-{_ranges(sorted(set(numbers)))}" for name, numbers in sorted(groups.items())] + sorted(plain)
    if len(words) > limit:
        words = [*words[:limit], f"{ELLIPSIS} {len(words) - limit} more"]
    return " ".join(words)


def _ranges(numbers: list[int]) -> str:
    if len(numbers) == 1:
        return str(numbers[0])
    parts: list[str] = []
    start = last = numbers[0]
    for n in [*numbers[1:], None]:
        if n is not None and n == last + 1:
            last = n
            continue
        parts.append(str(start) if start == last else f"{start},{last}" if last == start + 1 else f"{start}-{last}")
        if n is not None:
            start = last = n
    return f"[{','.join(parts)}]"


#: Stands for the message of a record whose first line has none: the next lines may.
NO_TEXT = "(this line is empty: see the lines below it in the log)"


def shorten(text: str, limit: int) -> str:
    """The text cut to at most `limit` characters, behind a word where one ends near, and an ellipsis where it was cut."""
    if len(text) <= limit:
        return text
    kept = text[: limit - 1]
    words, blank, word = kept.rpartition(" ")
    return (words.rstrip(" ,;:") if blank and len(word) < limit // 4 and text[limit - 1] != " " else kept.rstrip()) + ELLIPSIS


def short_member(member_id: str) -> str:
    """A member id with its uuid cut to eight digits: `consumer-1-3f2a9c01…`."""
    m = re.fullmatch(r"(.*[0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", member_id)
    return m[1] + ELLIPSIS if m else member_id
