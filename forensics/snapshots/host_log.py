"""Read what a host says about its processes: lines of the kernel, systemd and chrony, in text with full dates, or as `journalctl -o json` prints them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from forensics.redaction import scrub
from forensics.snapshots.machine import HAPPENED, Pattern, fact, length_ms, patterns, times
from forensics.snapshots.observation import Broken, Item, Line, moment_of

_FORMAT = "host_log"
#: A line with host and program: of `journalctl -o short-iso` and rsyslog with a date and a zone, of syslog without them, and of `dmesg -T`.
TEXT = re.compile(
    r"(?:(?P<time>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)) +|[A-Z][a-z]{2} {1,2}\d{1,2} \d\d:\d\d:\d\d(?:\.\d{1,6})? +)"
    r"(?P<host>[\w.-]{1,253}) (?P<program>[\w@./-]{1,64})(?:\[\d{1,10}\])?: (?:\[ *\d{1,9}\.\d{1,9}\] )?(?P<text>[^\n]*)"
)
KERNEL = re.compile(r"\[(?:[A-Z][a-z]{2} [A-Z][a-z]{2} {1,2}\d{1,2} \d\d:\d\d:\d\d \d{4}| *\d{1,9}\.\d{1,9})\] (?P<text>[^\n]*)")
_PROGRAMS = {"kernel", "systemd", "chronyd", "systemd-journald", "systemd-timesyncd", "systemd-logind", "systemd-oomd", "ntpd", "earlyoom"}
_KAFKA = re.compile(r"org\.apache\.kafka|\bkafka\.(?:server|controller|coordinator|cluster|log)\b|clientId=")
#: Units that may run a broker or a worker; another unit's end is only about the host.
UNIT = re.compile(r"kafka|connect|confluent|broker", re.IGNORECASE)


def is_host_log(texts: Iterable[str], *, is_whole: bool) -> bool:
    """Return True if these lines are of programs of a host, one of them says what this reader looks for, and none is Kafka's.

    Args:
        texts: the first lines.
        is_whole: True if they are all lines. Otherwise each must be of such a program, because lines of Kafka may follow.
    """
    told = fits = lines = 0
    for text in texts:
        if not text.strip():
            continue
        lines += 1
        if _KAFKA.search(text):
            return False
        said = _said(text)
        fits += said is not None
        told += said is not None and _match(said[2]) is not None
    return told > 0 and (fits == lines or (is_whole and fits * 2 > lines))


def read_host_log(lines: Iterable[Line]) -> Iterator[Item]:
    """Yield what killed, paused or stopped a process, and what set the clock."""
    undated = 0
    for line in lines:
        said = _said(line.text)
        if said is None or (found := _match(said[2])) is None:
            continue
        time, host, _ = said
        pattern, match = found
        undated += time is None
        yield _fact(line, time, host, pattern, match)
    if undated:
        yield Broken(f"{undated} of its lines have no year or no zone, so they have no place in time: `journalctl -o short-iso-precise` prints them")


def _said(text: str) -> tuple[int | None, str | None, str] | None:
    """Return time, host and message of a line of the programs of a host; None for any other line."""
    if text.startswith("{"):
        return _of_journal(text)
    found = TEXT.fullmatch(text.rstrip())
    if found is not None:
        if found["program"].rpartition("/")[2] not in _PROGRAMS:
            return None
        time = moment_of(found["time"].replace(",", ".")) if found["time"] else None
        return time, found["host"], found["text"]
    found = KERNEL.fullmatch(text.rstrip())
    return (None, None, found["text"]) if found else None


def _of_journal(text: str) -> tuple[int | None, str | None, str] | None:
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict) or "__REALTIME_TIMESTAMP" not in record or not isinstance(record.get("MESSAGE"), str):
        return None
    program = record.get("SYSLOG_IDENTIFIER") or record.get("_COMM")
    if record.get("_TRANSPORT") != "kernel" and program not in _PROGRAMS:
        return None
    stamp = str(record["__REALTIME_TIMESTAMP"])
    host = record.get("_HOSTNAME")
    return int(stamp) if stamp.isdecimal() and len(stamp) < 19 else None, host if isinstance(host, str) else None, record["MESSAGE"]


def _match(said: str) -> tuple[Pattern, re.Match[str]] | None:
    for pattern in patterns(_FORMAT):
        if match := pattern.pattern.fullmatch(said.rstrip()):
            return pattern, match
    return None


def _fact(line: Line, time: int | None, host: str | None, pattern: Pattern, match: re.Match[str]) -> Item:
    groups: dict[str, Any] = match.groupdict()
    ms = length_ms(groups)
    end = None if time is None else time // 1_000
    begin = end if end is None or ms is None or pattern.what not in ("pause", "stalled") else end - round(ms)
    unit, process = groups.get("unit"), groups.get("process")
    of = "process" if (unit and UNIT.search(unit)) or process == "java" else "host"
    return fact(
        line, HAPPENED, f"{pattern.what} on a host", ts=None if begin is None else begin * 1_000, what=pattern.what, of=of, host=host, clock="host",
        how=scrub(groups["how"])[:300], **times(begin, end, 999), exit_code=groups.get("exit_code"), length_ms=None if ms is None else round(ms),
    )  # fmt: skip
