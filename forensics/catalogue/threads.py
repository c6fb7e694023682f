"""Read what each thread of a JVM did in a dump of its threads (`jstack`, `kill -3`, `jcmd Thread.print`)."""

from __future__ import annotations

import re
from collections.abc import Iterator

#: The first line of a dump, with the release of the JVM.
BEGIN = re.compile(r"Full thread dump (?:OpenJDK|Java HotSpot)[\w (),.:+-]{0,200}")
#: The head of a thread of HotSpot: its name, number, and whether it is a daemon; then its priorities.
HEAD = re.compile(r'"(?P<name>[^\n]{0,300}?)" (?:#\d{1,12}\b|\[\d|daemon |virtual |prio=|os_prio=)[^\n]*')
#: What of it names nothing.
NUMBERS = re.compile(r"(?: (?:#\d{1,12}|\[\d{1,12}\]|daemon|virtual|(?:prio|os_prio|cpu|elapsed|tid|nid)=[\w.-]{1,40}))*")
STATE = re.compile(r" {2,4}java\.lang\.Thread\.State: (?P<state>[A-Z_]{3,20})(?: \([a-z ]{1,40}\))?")
FRAME = re.compile(r"\s{1,16}at (?P<frame>[^\s()]{1,200}\([^()\n]{0,200}\))")
#: JDK 9 and later print the module and its release: `Thread.sleep(java.base@17.0.6/Native Method)`.
_MODULE = re.compile(r"(?<=\()[\w.]{1,80}(?:@[\w.+-]{1,40})?/")
_ELAPSED = re.compile(r" elapsed=(\d{1,12}\.\d{1,3})s ")
_MOST_THREADS, _MOST_FRAMES = 2_000, 12


def threads_of(text: str) -> dict[str, list[str]]:
    """Return the state of each thread and its frames, the innermost first, by the thread's name; a further thread of a name has a number after it.

    Only the first 2,000 threads, and the innermost 12 frames of each, are returned.
    """
    found: dict[str, list[str]] = {}
    seen: dict[str, int] = {}
    current: list[str] = []
    for line in text.split("\n"):
        if line.startswith('"'):
            current = []
            if (head := HEAD.fullmatch(line.rstrip())) is not None and len(found) < _MOST_THREADS:
                name = head["name"]
                seen[name] = number = seen.get(name, 0) + 1
                current = found.setdefault(name if number == 1 else f"{name} ({number})", ["UNKNOWN"])
        elif not current:
            continue
        elif (state := STATE.fullmatch(line.rstrip())) is not None:
            current[0] = state["state"]
        elif len(current) <= _MOST_FRAMES and (frame := FRAME.fullmatch(line.rstrip())) is not None:
            current.append(_MODULE.sub("", frame["frame"]))
    return found


def elapsed_s(lines: Iterator[str]) -> float | None:
    """Return the seconds since the oldest thread of a dump started: the JVM runs for about as long; None: it does not print them (JDK 8)."""
    return max((float(found[1]) for line in lines if line.startswith('"') and (found := _ELAPSED.search(line))), default=None)
