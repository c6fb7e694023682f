"""Load bugs of Kafka and the releases that have them from `parsers/known_bugs.toml` into the view `known_bug`, for rules that compare releases."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

from forensics.errors import CatalogueError
from forensics.resources import parsers_dir

_WHERE = "parsers/known_bugs.toml"
_ID = re.compile(r"[A-Z]+-\d+")
_RELEASE = re.compile(r"\d+(?:\.\d+){2,3}")
_KEYS = {"id", "since", "fixed"}

Numbers = tuple[int, ...]


@dataclass(frozen=True)
class KnownBug:
    """A bug.

    Attributes:
        id: the issue, for example `KAFKA-9184`.
        since: first release that has it.
        fixed: first releases without it, one for each release line, the oldest first; empty if no release has the fix.
    """

    id: str
    since: str
    fixed: tuple[str, ...]

    def ranges(self) -> Iterator[tuple[Numbers, Numbers | None]]:
        """Yield ranges of releases that have it, as numbers: the first release, and the first one after the range; None for every later one."""
        if not self.fixed:
            yield numbers(self.since), None
        for nth, end in enumerate(map(numbers, self.fixed)):
            begin = numbers(self.since) if nth == 0 else (*end[:-1], 0)
            # If the first release of a line has the fix, the whole line is free of the bug.
            if begin < end:
                yield begin, end


def numbers(release: str) -> Numbers:
    """Return `2.3.0` as `(2, 3, 0)`: tuples compare as releases do."""
    return tuple(map(int, release.split(".")))


@cache
def known_bugs() -> tuple[KnownBug, ...]:
    """Return all bugs in the packaged file.

    Raises:
        CatalogueError: the file has a wrong form.
    """
    return parse((parsers_dir() / "known_bugs.toml").read_text(encoding="utf-8"))


def parse(text: str) -> tuple[KnownBug, ...]:
    """Parse the bugs in a TOML text and check their form.

    Raises:
        CatalogueError: an entry is wrong; the error says which and how.
    """
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as e:
        raise CatalogueError("The file of known bugs is not valid TOML.", why=str(e), where=_WHERE) from e
    found: dict[str, KnownBug] = {}
    for entry in table.get("bug", ()):
        if wrong := _wrong(entry, found):
            raise CatalogueError(f"The known bug {entry.get('id', 'without an id')} has a wrong form.", why=wrong, where=_WHERE)
        found[entry["id"]] = KnownBug(entry["id"], entry["since"], tuple(entry["fixed"]))
    return tuple(found.values())


def _wrong(entry: dict[str, Any], others: Collection[str]) -> str:
    """Return the error of an entry; empty if there is none."""
    if entry.keys() != _KEYS:
        return f"it must have the keys {', '.join(sorted(_KEYS))}"
    if not _ID.fullmatch(entry["id"]) or entry["id"] in others:
        return "`id` must be the number of an issue, as KAFKA-9184, and unique"
    releases = [entry["since"], *entry["fixed"]]
    if not all(map(_RELEASE.fullmatch, releases)):
        return "`since` and `fixed` must be releases, as 2.3.0"
    if any(later <= earlier for earlier, later in pairwise(map(numbers, releases))):
        return "`fixed` must be newer than `since`, the oldest first"
    return ""


def check(worded: Collection[str]) -> Iterator[CatalogueError]:
    """Yield the errors of the packaged file.

    Args:
        worded: bugs for which the rule known-bug has words.
    """
    try:
        known = {bug.id for bug in known_bugs()}
    except CatalogueError as e:
        yield e
        return
    for bug in sorted(known ^ set(worded)):
        why = "the rule known-bug does not look for it" if bug in known else "the rule known-bug looks for it"
        yield CatalogueError(f"The known bug {bug} is in only one of two places.", why=why, where=_WHERE)


def view_sql() -> str:
    """Return the view `known_bug` over these rows: a bug that was fixed in three release lines has up to three."""
    return _HEAD + "\nUNION ALL\n".join(_row(bug, begin, end) for bug in known_bugs() for begin, end in bug.ranges())


def _row(bug: KnownBug, begin: Numbers, end: Numbers | None) -> str:
    until = f"array({', '.join(map(str, end))})" if end else "CAST(NULL AS ARRAY<INT>)"
    fixed = f"array({', '.join(map(repr, bug.fixed))})" if bug.fixed else "CAST(array() AS ARRAY<STRING>)"
    return f"SELECT '{bug.id}' AS bug, array({', '.join(map(str, begin))}) AS since, {until} AS until, {fixed} AS fixed"


_HEAD = """-- One row per known Kafka bug and range of releases that have it.
-- Grain: bug, since
CREATE OR REPLACE TEMPORARY VIEW known_bug (
  bug   COMMENT 'Issue, as KAFKA-9184',
  since COMMENT 'First release of the range, as an array of numbers, which compare in order',
  until COMMENT 'First later release without the bug; NULL: none',
  fixed COMMENT 'First releases without it, of all lines of releases'
)
COMMENT 'One row per known Kafka bug and range of releases that have it.'
AS
"""
