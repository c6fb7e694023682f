"""Read the manifest of a script of `forensics collect`: what was asked for, what was given, and what was refused."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from forensics.redaction import scrub
from forensics.snapshots.observation import Broken, Item, Line, Observation, Strange, moment_of

#: The beginning of a manifest; its first line goes on with the time.
HEAD = "kafka-forensics collection 1"
#: How a note about refusals begins.
REFUSED = "the platform refused "
STATES = ("got", "empty", "refused")
_FIELDS = 4
_SHOWN = 3


def is_collected(texts: Iterable[str]) -> bool:
    """Return True if the first line is that of a manifest."""
    return next(iter(texts), "").startswith(HEAD)


def read_collected(lines: Iterable[Line]) -> Iterator[Item]:
    """Yield each file that was asked for, and say which were refused."""
    taken: int | None = None
    refused: dict[str, str] = {}
    for line in lines:
        fields = line.text.split("\t")
        if line.text.startswith(HEAD):
            taken = next((at for field in fields if (at := moment_of(field.removeprefix("taken "))) is not None), None)
        elif len(fields) != _FIELDS or fields[0] not in STATES:
            if line.text.strip():
                yield Strange(line.number, "(not a line of a manifest)")
        else:
            state, file, command, error = (scrub(field) for field in fields)
            yield Observation.of(line, "collected", {"columns": {"state": state, "how": f"{file}: {command}"[:300]}}, taken, f"{file}: {state}")
            if state == "refused":
                refused[file] = error[:100].strip() or "no reason given"
    if refused:
        more = f" and {len(refused) - _SHOWN} more" if len(refused) > _SHOWN else ""
        reasons = dict.fromkeys(list(refused.values())[:_SHOWN])
        yield Broken(f"{REFUSED}{', '.join(list(refused)[:_SHOWN])}{more} ({'; '.join(reasons)})")
