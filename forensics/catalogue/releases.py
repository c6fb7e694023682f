"""Find the releases of Kafka that can have printed a record, by the source line (%L) or else by its wording."""

from __future__ import annotations

import re
from functools import cache, lru_cache

from forensics.catalogue.patterns import simple_name
from forensics.resources import parsers_dir

_EVER = re.compile(r"\s*+(?:0\.9\.0\.0\.\.)?\s*")


@cache
def source_lines() -> dict[tuple[str, int], str]:
    """Return releases by simple class name and line, as ranges (`2.3.0..2.3.1 2.5.0`)."""
    found: dict[tuple[str, int], str] = {}
    for text in (parsers_dir() / "source_lines.csv").read_text(encoding="utf-8").splitlines():
        if text.startswith("#"):
            continue
        name, *entries = text.split(",")
        for entry in entries:
            line, _, releases = entry.partition(":")
            found[name, int(line)] = releases
    return found


@cache
def known_releases() -> tuple[str, ...]:
    """Return the releases that `source_lines` covers, oldest first."""
    first = (parsers_dir() / "source_lines.csv").read_text(encoding="utf-8").partition("\n")[0]
    return tuple(first.removeprefix("# Releases: ").split())


@lru_cache(maxsize=16_384)  # there are few different source lines
def releases_of(logger: str | None, line: int | None, level: str | None, wording: str) -> str | None:
    """Return the releases that can have printed a record, as ranges separated by blanks; None if that is unknown.

    Args:
        logger: as printed.
        line: source line, as printed.
        level: as printed; only lines at INFO and above are known.
        wording: releases whose source has the message (`kafka` of its block).
    """
    if level not in ("INFO", "WARN", "ERROR", None):
        return None
    if logger is not None and line is not None:
        found = source_lines().get((simple_name(logger), line))
        if found is not None:
            return found
    return None if _EVER.fullmatch(wording) else wording.replace(",", " ")
