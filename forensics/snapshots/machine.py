"""Define rows about the machine: what the JVM, the host or the platform did to a process, and the patterns of lines that show it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from forensics.errors import CatalogueError
from forensics.resources import parsers_dir
from forensics.snapshots.observation import Line, Observation

#: The events of such rows: something happened, and a file shows what happened in a time.
HAPPENED, WATCHED = "machine_event", "machine_watched"
WHERE = "parsers/machine.toml"
#: Exit code of a process that SIGKILL ended.
SIGKILL = 137
_FORMATS = ("gc_log", "host_log")
#: A record of a program's log: a JVM may print its own lines and dumps among them.
RECORD = re.compile(
    r"^\W{0,3}\d{4}[-/]\d\d[-/]\d\d[ T]\d\d:\d\d:\d\d[^\n]{0,80}?\b(?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL)\b|^\{\"[^\n]{0,400}?\"(?:level|severity|message)\"",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Pattern:
    """One wording of a line.

    Attributes:
        of: format of its file.
        what: what it shows.
        begins: True if the pause begins with the line; otherwise it ends with it.
        pattern: compiled; it matches the whole text after the time.
        examples: lines and their groups.
        counterexamples: lines that no pattern of the format matches.
    """

    of: str
    what: str
    begins: bool
    pattern: re.Pattern[str]
    examples: tuple[tuple[str, Mapping[str, str]], ...]
    counterexamples: tuple[str, ...]


@cache
def patterns(of: str) -> tuple[Pattern, ...]:
    """Return the patterns of a format."""
    return tuple(p for p in all_patterns() if p.of == of)


@cache
def all_patterns() -> tuple[Pattern, ...]:
    """Return the patterns of `parsers/machine.toml`.

    Raises:
        CatalogueError: the file does not have its form.
    """
    return tuple(parse((parsers_dir() / "machine.toml").read_text(encoding="utf-8")))


def parse(text: str) -> Iterator[Pattern]:
    """Yield the patterns of such a file."""
    try:
        for block in tomllib.loads(text)["line"]:
            if block["of"] not in _FORMATS:
                raise CatalogueError(f"A line is of the unknown format `{block['of']}`.", where=WHERE, fix=f"Use one of {', '.join(_FORMATS)}.")
            examples = tuple((it["line"], it.get("groups", {})) for it in block["example"])
            compiled = re.compile(block["pattern"], re.VERBOSE)
            yield Pattern(block["of"], block["what"], block.get("begins", False), compiled, examples, tuple(block.get("counterexample", ())))
    except (tomllib.TOMLDecodeError, KeyError, TypeError, re.error) as e:
        raise CatalogueError("The file of lines of the machine does not have its form.", why=f"{type(e).__name__}: {e}", where=WHERE) from e


def length_ms(groups: Mapping[str, str | None]) -> float | None:
    """Return the length in the groups of a pattern, in milliseconds."""
    for unit, per in (("ms", 1.0), ("s", 1e3), ("ns", 1e-6)):
        if value := groups.get(unit):
            return float(value.replace(",", ".")) * per
    return None


def times(begin_ms: int | None, end_ms: int | None, within_ms: int = 0) -> dict[str, int | None]:
    """Return the columns of a beginning and an end that are each printed up to this much too early."""
    late = [None if at_ms is None else at_ms + within_ms for at_ms in (begin_ms, end_ms)]
    return {"from_ms": begin_ms, "from_by_ms": late[0], "to_ms": end_ms, "to_by_ms": late[1]}


def end_of_container(exit_code: int | None, *, is_oom: bool) -> str:
    """Return what the end of a container was: exit code 137 alone is a SIGKILL by anyone."""
    return "oom_killed" if is_oom else "killed" if exit_code == SIGKILL else "exited"


def fact(line: Line, event: str, message: str, *, ts: int | None = None, **columns: Any) -> Observation:  # noqa: ANN401  (numbers and texts)
    """Return a row about the machine.

    Args:
        line: where it is printed.
        event: `HAPPENED` or `WATCHED`.
        message: what it shows, in a few words that contain no value of an environment.
        ts: its time, microseconds UTC.
        columns: what the view `machine_event` reads: `what`, `of`, names, `from_ms` and `to_ms` (begin and end at the earliest), `from_by_ms` and
            `to_by_ms` (at the latest), `clock`, `how`, ... Missing values are left out.
    """
    return Observation.of(line, event, {"columns": {key: str(value) for key, value in columns.items() if value not in (None, "")}}, ts, message)
