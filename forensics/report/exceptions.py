"""Find exceptions of the group protocol, in the words of any client library: `parsers/exceptions.toml`, for `forensics explain`."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache

from forensics.errors import CatalogueError
from forensics.resources import parsers_dir

_CLASS = re.compile(r"(?<![A-Za-z0-9_])[A-Z][A-Za-z]{3,60}(?![A-Za-z0-9_])")
_MAX_TEXT = 20_000


@dataclass(frozen=True)
class KnownException:
    """An error of the group protocol.

    Attributes:
        names: class names in the client libraries.
        says: messages, in lower case.
        kafka: releases of Kafka that throw it, as `2.4.0..`.
        proves, disproves, advice: as of an event.
    """

    names: tuple[str, ...]
    says: tuple[str, ...]
    kafka: str
    proves: str
    disproves: str
    advice: str


@cache
def exceptions() -> tuple[KnownException, ...]:
    """Return all known exceptions.

    Raises:
        CatalogueError: the file is malformed.
    """
    try:
        table = tomllib.loads((parsers_dir() / "exceptions.toml").read_text(encoding="utf-8"))
        return tuple(
            KnownException(
                tuple(b["name"]), tuple(s.lower() for s in b["says"]), b["kafka"], b["proves"], b.get("disproves", ""), b.get("advice", "")
            )
            for b in table["exception"]
        )
    except (tomllib.TOMLDecodeError, KeyError, TypeError) as e:
        raise CatalogueError("The file of exceptions has a wrong form.", why=str(e), where="parsers/exceptions.toml") from e


def find_exceptions(text: str) -> list[tuple[KnownException, str]]:
    """Return the exceptions that a text names or quotes, in order of their first place in it, each with the name or wording that matched."""
    text = text[:_MAX_TEXT]
    lower = text.lower()
    places: dict[int, tuple[KnownException, str]] = {}
    names = {found[0]: found.start() for found in reversed(list(_CLASS.finditer(text)))}
    for known in exceptions():
        matches = [(names[n], n) for n in known.names if n in names] or [(at, s) for s in known.says if (at := lower.find(s)) >= 0]
        if matches:
            at, by = min(matches)
            places[at] = known, by
    return [places[at] for at in sorted(places)]
