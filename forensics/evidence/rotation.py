"""Map file names to log streams: which files belong to one process, and in what order."""

from __future__ import annotations

import re
from dataclasses import dataclass

COMPRESSED = re.compile(r"(?:\.(?:gz|zst|bz2|xz|zip|tgz)){1,8}$", re.IGNORECASE)
_EXT = r"(?:log|out|txt|json|err|csv)"
_DATE = r"[0-9]{4}-?[0-9]{2}-?[0-9]{2}(?:[-_T. ]?[0-9]{2}(?:[-_:]?[0-9]{2}){0,2})?"
_RULES = (
    ("restart", re.compile(rf"(?P<number>[0-9]{{1,4}})\.{_EXT}(?:\.(?P<date>{_DATE}))?")),
    ("dated", re.compile(rf"(?P<base>.+?\.{_EXT})[.-](?P<date>{_DATE})(?:[.-](?P<number>[0-9]{{1,4}}))?")),
    ("dated", re.compile(rf"(?P<base>.+?)[._-](?P<date>{_DATE})(?:[.-](?P<number>[0-9]{{1,4}}))?(?P<ext>\.{_EXT})")),
    ("numbered", re.compile(r"(?=[^A-Za-z]*[A-Za-z])(?P<base>.+)\.(?P<number>[0-9]{1,4})")),
    ("previous", re.compile(rf"(?P<base>.+?)[._-](?:previous|prev|old)(?P<ext>\.{_EXT})?")),
    ("weak", re.compile(rf"(?P<base>.+?)[._-](?P<number>[0-9]{{1,3}})(?P<ext>\.{_EXT})")),
)
#: A name that appears twice in an archive: one log at two times, or two logs.
_COPY = re.compile(r"~(?P<number>[0-9]{1,4})\Z")
_GENERIC = {"log", "logs", "var", "kafka", "kafka-logs", "connect", "container", "containers", "current", "output", "data", "files", "tmp", "opt"}


@dataclass(frozen=True)
class Name:
    """The parts of a file name.

    Attributes:
        base: name of the stream, folder included.
        weak: True if the number may also distinguish two processes (`broker-1.log`), so times must decide.
        order: position among files of the stream if times do not decide; oldest first.
    """

    base: str
    weak: bool
    order: tuple[int, str, int]


def read_name(path: str) -> Name:
    """Split a path below the ingested folder into its parts.

    `connect.log.2026-11-21-07`, `server.log.1.gz`, `app-2026-11-21.0.log`, `app-1.log`; `0.log`, `1.log` of a Kubernetes container folder.
    """
    folder, slash, name = path.rpartition("/")
    name = COMPRESSED.sub("", name) or name
    copies: list[int] = []  # a name with more than a few is nobody's copy
    while len(copies) < 10 and (copy := _COPY.search(name, max(1, len(name) - 5))):
        copies.append(int(copy["number"]))
        name = COMPRESSED.sub("", name[: copy.start()]) or name[: copy.start()]
    if copies:
        inner = _without_copies("", "", name)
        return Name(f"{folder}{slash}{inner.base}", True, (*inner.order[:2], inner.order[2] + sum(copies)))
    return _without_copies(folder, slash, name)


def _without_copies(folder: str, slash: str, name: str) -> Name:
    for kind, rule in _RULES:
        match = rule.fullmatch(name)
        if not match or (kind == "restart" and not folder):
            continue
        found = match.groupdict()
        number = int(found.get("number") or 0)
        date = re.sub(r"[^0-9]", "", found.get("date") or "")
        if kind == "restart":
            return Name(folder, False, (1 if not date else 0, date, number))
        base = f"{folder}{slash}{found['base']}{found.get('ext') or ''}"
        return Name(base, kind == "weak", (1, "", 0) if kind == "previous" else (0, date, number) if date else (1, "", -number))
    return Name(f"{folder}{slash}{name}", False, (2, "", 0))


def host_of(path: str) -> str | None:
    """Return the nearest folder with a meaningful name: `w1/logs/connect.log` is of w1."""
    for part in reversed(path.split("/")[:-1]):
        if part.lower() not in _GENERIC and part not in ("", "."):
            return part
    return None


def disjoint(spans: list[tuple[int | None, int | None]]) -> bool:
    """Return True if time spans (microseconds) are known and do not overlap, as those of rotated files do not."""
    known = sorted((a, b) for a, b in spans if a is not None and b is not None)
    return len(known) == len(spans) and all(first[1] <= second[0] for first, second in zip(known, known[1:], strict=False))
