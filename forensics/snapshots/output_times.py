"""Read the times that users save with the outputs of tools: lines between the outputs, headers of `watch`, and names of files."""

from __future__ import annotations

import re

from forensics.records.timestamps import Moment, TimeFormat

#: Forms of `date` in several locales, ISO 8601, the time in a file's name, and seconds since 1970.
_FORMATS = tuple(
    TimeFormat(text)
    for text in (
        "ANY", "EEE MMM ppd HH:mm:ss z yyyy", "EEE MMM ppd HH:mm:ss yyyy", "EEE MMM ppd hh:mm:ss a z yyyy", "EEE MMM ppd hh:mm:ss a yyyy", "EEE ppd MMM HH:mm:ss z yyyy",
        "EEE ppd MMM yyyy HH:mm:ss z", "EEE ppd MMM yyyy hh:mm:ss a z", "EEE, ppd MMM yyyy HH:mm:ss z", "yyyyMMdd'T'HHmmss'Z'", "yyyyMMdd'T'HHmmss", "yyyyMMdd-HHmmss",
        "UNIX",
    )
)  # fmt: skip
_WATCH = re.compile(r"Every \d+(?:[.,]\d+)?s: (?P<command>.*?)\s{2,}(?:\S+: )?(?P<time>[A-Z]\S* .*)")
_WORDS = re.compile(r"(?:[\W_]*(?:date|time|timestamp|taken|at)\b)?[\W_]*(?P<time>.*?)(?P<offset>[+-]\d\d:?\d\d)?[\W_]*", re.IGNORECASE)
_NAMED = re.compile(
    r"(?<!\d)(?P<y>(?:19|20)\d\d)[-_.]?(?P<M>\d\d)[-_.]?(?P<d>\d\d)[-_.T ]?(?P<H>\d\d)[-_.:h]?(?P<m>\d\d)[-_.:m]?(?P<s>\d\d)(?:s|[.,]\d{3,9})?(?P<z>Z|UTC)?(?!\d)"
)
_EPOCH = re.compile(r"(?<!\d)(1\d{9})(?:\d{3})?(?!\d)")
_LONGEST = 200
_READ = TimeFormat("ANY")


def time_in_line(text: str) -> Moment | None:
    """Return the time in a line that has only a time and decoration, such as `===== 2024-03-05 10:15:30 =====`, or in a header of `watch`."""
    text = text.strip()
    if not 10 <= len(text) <= _LONGEST:
        return None
    if watched := _WATCH.fullmatch(text):
        text = watched["time"]
    found = _WORDS.fullmatch(text)
    if found is None or not found["time"]:
        return None
    time = found["time"] + (found["offset"] or "")
    return next((moment for form in _FORMATS if (moment := form.read(time)) is not None), None)


def watched_command(text: str) -> str:
    """Return the command in a header of `watch`; any other line unchanged."""
    found = _WATCH.fullmatch(text.strip())
    return found["command"] if found else text


def time_in_name(path: str) -> Moment | None:
    """Return the time in the name of a file, such as `describe-20240305-101530.txt`; None if it has none with seconds, or several."""
    name = path.replace("!", "/").rsplit("/", 1)[-1]
    found = {"{y}-{M}-{d} {H}:{m}:{s}".format(**m.groupdict()) + ("Z" if m["z"] else "") for m in _NAMED.finditer(name)}
    moments = [_READ.read(text) for text in found] or [TimeFormat("UNIX").read(m[1]) for m in _EPOCH.finditer(name)]
    return moments[0] if len(moments) == 1 else None
