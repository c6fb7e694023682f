# SPDX-License-Identifier: Apache-2.0
"""Compare a redacted copy with its original, using only the mapping: the program's own replacement code is not used."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

#: Names so short that they are words unless they stand alone.
_SHORT = 3
_MADE_ID = re.compile(r"\b[0-9a-f]{12,24}\b")
#: Ends of keys of offsets, which move when names change their length, and of notes about files that a copy leaves out.
_PLACES = ("_pos", "pos", "byte_offset", "file_notes")
_CLIENT_LAST = ("client", "member")


class Mapped:
    """The names in a mapping.

    Args:
        mapping: as `forensics redact --mapping` wrote it.
    """

    def __init__(self, mapping: Mapping[str, Any]) -> None:
        self.names: dict[str, str] = {}
        for kind in sorted(mapping["names"], key=lambda k: (k in _CLIENT_LAST, k)):
            for name, pseudonym in mapping["names"][kind].items():
                self.names.setdefault(name, pseudonym)
        for name, pseudonym in mapping["names"].get("connector", {}).items():
            self.names.setdefault(f"connect-{name}", f"connect-{pseudonym}")
        for old, new in mapping["files"].items():
            for _ in range(old.count("/") + 1):
                self.names.setdefault(old, new)
                self.names.setdefault(old.rpartition("/")[2], new.rpartition("/")[2])
                old, new = old.rpartition("/")[0] or old, new.rpartition("/")[0] or new  # noqa: PLW2901
        long = sorted((n for n in self.names if len(n) > _SHORT), key=len, reverse=True)
        self._any = re.compile("|".join(rf"(?<![A-Za-z0-9]){re.escape(n)}(?![A-Za-z0-9])" for n in long) or "(?!)")

    def of(self, value: Any) -> Any:  # noqa: ANN401  (a cell)
        """A cell with all names replaced."""
        if isinstance(value, str):
            if value in self.names:
                return self.names[value]
            if all(part in self.names for part in value.split(", ")):
                return ", ".join(self.names[part] for part in value.split(", "))
            return self._any.sub(lambda m: self.names[m[0]], value)
        if isinstance(value, list | tuple):
            return [self.of(v) for v in value]
        if isinstance(value, Mapping):
            return {self.of(k): self.of(v) for k, v in value.items()}
        return value


def read_mapping(file: Path) -> Mapped:
    """The names in a mapping file."""
    return Mapped(json.loads(file.read_text(encoding="utf-8")))


def without_ids(value: Any) -> Any:  # noqa: ANN401  (a cell)
    """Return a cell without ids that are made of places and names, with lists (also printed ones, `a, b`) in an order that depends on none."""
    if isinstance(value, str):
        return ", ".join(sorted(_MADE_ID.sub("#", value).split(", ")))
    if isinstance(value, list | tuple):
        return sorted((without_ids(v) for v in value), key=str)
    if isinstance(value, Mapping):
        return {k: without_ids(v) for k, v in value.items() if not str(k).endswith(_PLACES)}
    return value


def counted(rows: Iterable[Mapping[str, Any]], left_out: Iterable[str], mapped: Mapped | None) -> Counter[str]:
    """Rows as texts, by how often they are there."""
    gone = set(left_out)
    kept = ({k: v for k, v in row.items() if k not in gone} for row in rows)
    return Counter(json.dumps(without_ids({k: mapped.of(v) for k, v in r.items()} if mapped else r), default=str, sort_keys=True) for r in kept)
