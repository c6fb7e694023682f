"""Read the report of a crashed JVM (`hs_err_pid*.log`): when it crashed, of what, and its process id."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import islice

from forensics.snapshots.machine import HAPPENED, fact, times
from forensics.snapshots.observation import Broken, Item, Line

HEADS = ("# A fatal error has been detected by the Java Runtime Environment", "# There is insufficient memory for the Java Runtime Environment")
#: What happened, the reason of a failed allocation, the library of the problematic frame, and the time, in one line (JDK 11 and later) or without a zone.
WHAT = re.compile(r"#  (?P<how>[A-Z][\w ]{2,60}(?: \([\w.:+-]{1,80}\))?)(?: at pc=0x[0-9a-f]+)?, pid=(?P<pid>\d{1,10}), tid=\w{1,20}")
MEMORY = re.compile(r"# (?P<how>Native memory allocation \(\w{1,20}\) failed to (?:allocate|map) \d{1,20} bytes)[^\n]{0,200}")
FRAME = re.compile(r"# [A-Za-z]  \[(?P<library>[\w.-]{1,100})\+0x[0-9a-f]+\][^\n]*")
TIME = re.compile(
    r"(?:T|t)ime: (?P<time>[A-Z][a-z]{2} [A-Z][a-z]{2} {1,2}\d{1,2} \d\d:\d\d:\d\d \d{4})(?: (?P<zone>[A-Z][\w+:-]{1,9}))?(?: elapsed time: [^\n]{1,80})?"
)
ZONE = re.compile(r"timezone: (?P<zone>\w{1,10})")
_UTC = ("UTC", "GMT")
_FIRST_LINES = 40
#: The end of the process may follow the report by this; the time has no fraction.
_WITHIN_MS = 999


def is_jvm_crash(texts: Iterable[str]) -> bool:
    """Return True if these are the first lines of such a report; a log may quote one."""
    first = [text for text in islice(texts, _FIRST_LINES) if text.strip()]
    return bool(first) and first[0].startswith("#") and any(text.startswith(HEADS) for text in first)


def read_jvm_crash(lines: Iterable[Line]) -> Iterator[Item]:
    """Yield the crash."""
    first: Line | None = None
    how, pid, library, time, zone = "", None, None, None, None
    for line in lines:
        first = first or line
        text = line.text.rstrip()
        if found := WHAT.fullmatch(text) or MEMORY.fullmatch(text):
            how = how or found["how"]
            pid = pid or found.groupdict().get("pid")
        elif frame := FRAME.fullmatch(text):
            library = library or frame["library"]
        elif time is None and (at := TIME.fullmatch(text)):
            time, zone = at["time"], at["zone"]
        elif zone is None and (named := ZONE.fullmatch(text)):
            zone = named["zone"]
    if first is None:
        return
    at_ms = _ms(time) if zone in _UTC else None
    how = (how or "the reason is missing") + (f", in {library}" if library else "")
    yield fact(
        first, HAPPENED, "the JVM crashed", ts=None if at_ms is None else at_ms * 1_000, what="crashed", of="process", clock="host", how=how, pid=pid,
        **times(at_ms, at_ms, _WITHIN_MS),
    )  # fmt: skip
    if at_ms is None:
        yield Broken("it ends before the time of the crash" if time is None else "its time is not in UTC, so the crash has no place in time")


def _ms(time: str | None) -> int | None:
    try:
        return None if time is None else int(datetime.strptime(f"{time} +0000", "%a %b %d %H:%M:%S %Y %z").astimezone(UTC).timestamp() * 1_000)
    except ValueError:
        return None
