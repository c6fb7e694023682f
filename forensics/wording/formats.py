"""Format times, durations, names and untrusted text for readers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from math import ceil
from typing import Any

# Control characters (C0, DEL, C1), and all characters that reorder or hide text or look like nothing (format characters, tags, fillers, variation selectors,
# soft hyphens): log lines are untrusted. They must not control a terminal, and a program that reads them must not read more than a person sees.
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\u2800\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000110bd\U000110cd\U00013430-\U0001345f\U00016fe4\U0001bca0-\U0001bca3\U0001d159"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_NUMBERED = re.compile(r"(?P<name>.+)-(?P<number>\d{1,9})")
_UUID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"

ELLIPSIS = "…"
#: Closed vocabulary of the views, in descending order of severity.
SEVERITIES = ("critical", "warning", "note")
VERDICTS = ("proved", "undecided", "refuted")


def printable(text: str) -> str:
    r"""Return the text with every character that could control a terminal, or that nobody sees, as an escape (`\x1b`, `\u200b`); tabs become blanks.

    All text from logs is shown through this function, or through `printable_lines`.
    """
    return _UNSAFE.sub(lambda m: " " if m[0] == "\t" else ascii(m[0])[1:-1], text)


def printable_lines(text: str) -> str:
    r"""Do the same, but keep line breaks and tabs."""
    return _UNSAFE.sub(lambda m: m[0] if m[0] in "\n\t" else ascii(m[0])[1:-1], text)


def printable_texts(value: Any) -> Any:  # noqa: ANN401 (JSON)
    """Do the same with all texts in a JSON value, but not with keys."""
    if isinstance(value, str):
        return printable_lines(value)
    if isinstance(value, Mapping):
        return {k: printable_texts(v) for k, v in value.items()}
    return [printable_texts(v) for v in value] if isinstance(value, list | tuple) else value


def iso(ts: datetime | None, zone: tzinfo = UTC) -> str | None:
    """Return ISO 8601 with milliseconds and `Z`, or the offset of the reader's zone; a time without a zone is in UTC."""
    if ts is None:
        return None
    local = (ts.replace(tzinfo=UTC) if ts.tzinfo is None else ts).astimezone(zone)
    shown = local.strftime("%Y-%m-%dT%H:%M:%S.") + f"{local.microsecond // 1000:03d}"
    return shown + ("Z" if zone == UTC else local.isoformat()[-6:])


class Clock:
    """A printer of times in the reader's zone, without the date if the whole report covers a single day.

    Args:
        times: all times that the report may print (UTC); they determine whether dates are needed.
        zone: the reader's zone.
    """

    def __init__(self, times: Iterable[datetime], zone: tzinfo = UTC) -> None:
        self.zone = zone
        days = {t.astimezone(zone).date() for t in times}
        self.day = next(iter(days)) if len(days) == 1 else None

    def at(self, ts: datetime | None, unknown: str = "?") -> str:
        """Return `07:51:44.123`, preceded by the date if the report covers several days."""
        if ts is None:
            return unknown
        ts = ts.astimezone(self.zone)
        text = ts.strftime("%H:%M:%S.") + f"{ts.microsecond // 1000:03d}"
        return text if ts.date() == self.day else f"{ts:%Y-%m-%d} {text}"

    def between(self, lo: datetime | None, hi: datetime | None) -> str:
        """Return a moment with bounds: one time with `±`, or both bounds if they are more than two seconds apart."""
        if lo is None and hi is None:
            return "?"
        if lo is None:
            return f"before {self.at(hi)}"
        if hi is None:
            return f"after {self.at(lo)}"
        width = (hi - lo).total_seconds() * 1000
        if width > 2000:
            return f"{self.at(lo)} to {self.at(hi)}"
        half = tolerance(width)
        return self.at(lo + (hi - lo) / 2) + (f" ±{half} ms" if half else "")

    def second(self, lo: datetime, hi: datetime | None) -> str:
        """Return a moment to the second, `07:51:44`, or both bounds, `07:51:44 to 07:51:52`; with the date if the report covers several days."""

        def text(ts: datetime) -> str:
            ts = ts.astimezone(self.zone)
            return f"{ts:%H:%M:%S}" if ts.date() == self.day else f"{ts:%Y-%m-%d %H:%M:%S}"

        return text(lo) if hi is None or text(hi) == text(lo) else f"{text(lo)} to {text(hi)}"


def tolerance(width_ms: float) -> int:
    """Return half the distance of two bounds, in milliseconds, rounded up: what the middle, itself rounded, may be off."""
    return ceil(round(width_ms / 2, 3))


def zone_name(zone: tzinfo, at: datetime) -> str:
    """Return a zone's name, with its offset at a time if the name does not show it: `UTC`, `UTC+02:00`, `Europe/Berlin (UTC+01:00)`."""
    offset = at.astimezone(zone).utcoffset() or timedelta()
    minutes = abs(int(offset.total_seconds())) // 60
    shown = "UTC" + (f"{'-' if offset < timedelta() else '+'}{minutes // 60:02d}:{minutes % 60:02d}" if minutes else "")
    name = getattr(zone, "key", "")
    return f"{name} ({shown})" if name and name != "UTC" else shown


#: Durations in milliseconds below a limit are shown in this unit.
_SHOWN_MS = ((1_000, 1), (10_000, 10), (60_000, 100), (3_600_000, 1_000), (86_400_000, 60_000), (float("inf"), 3_600_000))


def span(ms: float | None, unknown: str = "?", *, up: bool | None = None) -> str:
    """Return a duration: `340 ms`, `1.04 s`, `12.3 s`, `2 min 05 s`, `3 h 10 min`, `2 d 4 h`.

    Args:
        ms: milliseconds.
        unknown: the text if they are unknown.
        up: True rounds up, as a bound from above needs, False rounds down, as one from below; None rounds to the nearest.
    """
    if ms is None:
        return unknown
    sign, whole = ("-" if ms < 0 else ""), round(abs(ms))
    if up is not None:
        step = next(unit for limit, unit in _SHOWN_MS if whole < limit)
        # A negative duration is nearer to zero when it is rounded up.
        whole = (-(-whole // step) if up is (ms >= 0) else whole // step) * step
    # Rounded before it is split into units, so that it never reads `60 s` or `1 min 60 s`.
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


def about(ms: float, *, up: bool = False) -> str:
    """Return a span for a headline: whole seconds above ten, rounded down for a lower bound and up for an upper bound.

    Args:
        ms: milliseconds.
        up: the span is a bound from above.
    """
    if abs(ms) < 10_000 or abs(ms) >= 60_000:
        return span(ms, up=up)
    return f"{-(-ms // 1000) if up else ms // 1000:.0f} s"


def about_between(lo_ms: float, hi_ms: float) -> str:
    """Return bounds of a duration for a headline: `6-17 s`, `8.88-9.51 s`, `33 s to 1 min 10 s`, `up to 5.00 s`; rounded outwards, to the precision of the upper one."""
    if lo_ms <= 0:
        return f"up to {about(hi_ms, up=True)}"
    if hi_ms >= 60_000 or lo_ms < 1000:
        lo, hi = about(lo_ms), about(hi_ms, up=True)
        return lo if lo == hi else f"{lo} to {hi}"
    step = 1000 if hi_ms > 9_990 else 10
    lo, hi = (f"{n * step / 1000:g}" for n in (lo_ms // step, -(-hi_ms // step)))
    return f"{lo} s" if lo == hi else f"{lo}-{hi} s"


def bounded(lo_ms: float | None, hi_ms: float | None) -> str:
    """Return a duration with bounds: `41.000 s ±1 ms` if they are close, else both."""
    if lo_ms is None or hi_ms is None:
        return f"at least {span(lo_ms, up=False)}" if lo_ms is not None else f"at most {span(hi_ms, up=True)}" if hi_ms is not None else "no bound"
    half = tolerance(hi_ms - lo_ms)
    if half > 1000:
        return f"{span(lo_ms, up=False)} to {span(hi_ms, up=True)}"
    middle = (lo_ms + hi_ms) / 2
    return (f"{round(middle)} ms" if abs(middle) < 1000 else f"{middle / 1000:,.3f} s") + (f" ±{half} ms" if half else "")


def count(number: int, one: str, many: str = "") -> str:
    """Return a count with its noun: `1 task`, `2 tasks`, `57,000 generations`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


#: Triggers of rebalances as nouns: singular, plural.
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
    "unknown": ("trigger not logged", "triggers not logged"),
}


def trigger_count(trigger: str | None, number: int) -> str:
    """Return how often a trigger caused a rebalance of a group: `3 joins`, `1 member that left`."""
    one, many = _TRIGGERS.get(trigger or "unknown", ((trigger or "").replace("_", " "),) * 2)
    return f"{number:,} {one if number == 1 else many}"


def joined(words: Sequence[str], last: str = "and") -> str:
    """Join words: `a`, `a and b`, `a, b and c`; return an empty text for none."""
    return f"{', '.join(words[:-1])} {last} {words[-1]}" if len(words) > 1 else "".join(words)


def and_more(words: Sequence[str], most: int = 6) -> str:
    """Return `a, b and c`, or, for more than `most` words, `a, b and 4 more`; empty if there are none."""
    shown = [*words[: most - 1], f"{len(words) - most + 1:,} more"] if len(words) > most else list(words)
    return joined(shown)


def fold(items: Sequence[str], limit: int = 12) -> str:
    """Return a compact list of resources: `orders-[0-3,7] b-1`; names beyond `limit` are only counted."""
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


#: Replaces the message of a record whose first line has none; the next lines may have one.
NO_TEXT = "(this line is empty: see the lines below it in the log)"


def shorten(text: str, limit: int) -> str:
    """Return the text truncated to `limit` characters, if possible after a word, with an ellipsis if it was truncated."""
    if len(text) <= limit:
        return text
    kept = text[: limit - 1]
    words, blank, word = kept.rpartition(" ")
    return (words.rstrip(" ,;:") if blank and len(word) < limit // 4 and text[limit - 1] != " " else kept.rstrip()) + ELLIPSIS


def short_member(member_id: str) -> str:
    """Return a member ID with its UUID shortened to eight digits: `consumer-1-3f2a9c01…`.

    The member ID of a Connect worker (3.7 and later) contains the address that the worker advertises, which is its name:
    `10.77.0.13:8083` of `connect-10.77.0.13:8083-…`.
    """
    if worker := re.fullmatch(rf"connect-((?:\[[^\]\s]+\]|[^\s:/\[\]]+):\d{{1,5}})(?:-{_UUID})?", member_id):
        return worker[1]
    m = re.fullmatch(r"(.*[0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", member_id)
    return m[1] + ELLIPSIS if m else member_id
