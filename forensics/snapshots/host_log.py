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


#: Consecutive lines of a journal show a step of the clock if it moved by more than this against the monotonic clock, and by more than a clock is slewed.
_LEAST_STEP_MS = 500
_MOST_SLEW = 1_000  # one part in


class _Steps:
    """The steps of a host's clock that a journal shows: within a boot, its monotonic clock goes on steadily. It stands while the host is suspended."""

    def __init__(self) -> None:
        self._last: dict[str, tuple[int, int]] = {}
        self._suspended: set[str] = set()

    def take(self, record: dict[str, Any]) -> tuple[int, int, int, str | None] | None:
        """Return the clock before and after a step, the step (milliseconds), and the host, if there is one between this record and the one before."""
        real, monotonic = (_micros(record.get(key)) for key in ("__REALTIME_TIMESTAMP", "__MONOTONIC_TIMESTAMP"))
        boot, host = str(record.get("_BOOT_ID")), record.get("_HOSTNAME")
        if real is None or monotonic is None:
            return None
        if str(record.get("MESSAGE")).startswith("PM: suspend"):
            self._suspended.add(boot)
        last = self._last.get(boot)
        self._last[boot] = real, monotonic
        if last is None or monotonic < last[1]:
            return None
        step_ms, between_ms = (real - last[0] - (monotonic - last[1])) // 1_000, (monotonic - last[1]) // 1_000
        if abs(step_ms) <= _LEAST_STEP_MS + between_ms // _MOST_SLEW:
            return None
        if step_ms > 0 and boot in self._suspended:
            self._suspended.discard(boot)
            return None
        return last[0] // 1_000, real // 1_000, step_ms, host if isinstance(host, str) else None


def is_host_log(texts: Iterable[str], *, is_whole: bool) -> bool:
    """Return True if these lines are of programs of a host, one of them says what this reader looks for, and none is Kafka's.

    Args:
        texts: the first lines.
        is_whole: True if they are all lines. Otherwise each must be of such a program, because lines of Kafka may follow.
    """
    shown = fits = lines = 0
    steps = _Steps()
    for text in texts:
        if not text.strip():
            continue
        lines += 1
        if _KAFKA.search(text):
            return False
        record = _json_of(text)
        said = _said(text, record)
        fits += said is not None
        shown += said is not None and (_match(said[2]) is not None or (record is not None and steps.take(record) is not None))
    return shown > 0 and (fits == lines or (is_whole and fits * 2 > lines))


def read_host_log(lines: Iterable[Line]) -> Iterator[Item]:
    """Yield what killed, paused or stopped a process, and what set the clock."""
    undated, steps = 0, _Steps()
    for line in lines:
        record = _json_of(line.text)
        if record is not None and (step := steps.take(record)) is not None:
            yield _step(line, *step)
        said = _said(line.text, record)
        if said is None or (found := _match(said[2])) is None:
            continue
        time, host, _ = said
        pattern, match = found
        undated += time is None
        yield _fact(line, time, host, pattern, match)
    if undated:
        yield Broken(f"{undated} of its lines have no year or no zone, so they have no place in time: `journalctl -o short-iso-precise` prints them")


def _said(text: str, record: dict[str, Any] | None) -> tuple[int | None, str | None, str] | None:
    """Return time, host and message of a line of the programs of a host, which may be a record of JSON; None for any other line."""
    if text.startswith("{"):
        return _of_journal(record)
    found = TEXT.fullmatch(text.rstrip())
    if found is not None:
        if found["program"].rpartition("/")[2] not in _PROGRAMS:
            return None
        time = moment_of(found["time"].replace(",", ".")) if found["time"] else None
        return time, found["host"], found["text"]
    found = KERNEL.fullmatch(text.rstrip())
    return (None, None, found["text"]) if found else None


def _json_of(text: str) -> dict[str, Any] | None:
    try:
        record = json.loads(text) if text.startswith("{") else None
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def _micros(value: Any) -> int | None:  # noqa: ANN401  (what JSON gives)
    stamp = str(value)
    return int(stamp) if stamp.isdecimal() and len(stamp) < 19 else None


def _step(line: Line, before_ms: int, after_ms: int, step_ms: int, host: str | None) -> Item:
    """Return a step of the clock between two lines of a journal."""
    how = f"{step_ms / 1_000:+.3f} s against the monotonic clock" + (", or the host was suspended" if step_ms > 0 else "")
    return fact(
        # The line may show something else too, with an ID of its own.
        line._replace(raw=line.raw.rstrip() + b"\0step"), HAPPENED, "clock_stepped on a host", ts=after_ms * 1_000, what="clock_stepped", of="host", host=host,
        clock="host", how=how, length_ms=step_ms, from_ms=min(before_ms, after_ms), from_by_ms=max(before_ms, after_ms), to_ms=after_ms, to_by_ms=after_ms,
    )  # fmt: skip


def _of_journal(record: dict[str, Any] | None) -> tuple[int | None, str | None, str] | None:
    if record is None or "__REALTIME_TIMESTAMP" not in record or not isinstance(record.get("MESSAGE"), str):
        return None
    program = record.get("SYSLOG_IDENTIFIER") or record.get("_COMM")
    if record.get("_TRANSPORT") != "kernel" and program not in _PROGRAMS:
        return None
    host = record.get("_HOSTNAME")
    return _micros(record["__REALTIME_TIMESTAMP"]), host if isinstance(host, str) else None, record["MESSAGE"]


def _match(said: str) -> tuple[Pattern, re.Match[str]] | None:
    for pattern in patterns(_FORMAT):
        if match := pattern.pattern.fullmatch(said.rstrip()):
            return pattern, match
    return None


def _fact(line: Line, time: int | None, host: str | None, pattern: Pattern, match: re.Match[str]) -> Item:
    groups: dict[str, Any] = match.groupdict()
    ms = length_ms(groups)
    end = None if time is None else time // 1_000
    # A clock that was set forward passed over that time; the line already has the new one.
    begin = end if end is None or ms is None or pattern.what not in ("pause", "stalled", "clock_stepped") else end - max(0, round(ms))
    unit, process = groups.get("unit"), groups.get("process")
    of = "process" if (unit and UNIT.search(unit)) or process == "java" else "host"
    return fact(
        line, HAPPENED, f"{pattern.what} on a host", ts=None if begin is None else begin * 1_000, what=pattern.what, of=of, host=host, clock="host",
        how=scrub(groups["how"])[:300], **times(begin, end, 999), exit_code=groups.get("exit_code"), length_ms=None if ms is None else round(ms),
    )  # fmt: skip
