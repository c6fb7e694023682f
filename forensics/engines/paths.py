"""Paths as engines take them: as they are, and not as patterns for several."""

from __future__ import annotations

import re
from urllib.parse import quote


def literal(path: str) -> str:
    """A path as Spark's readers take it."""
    return re.sub(r"([\[\]{}*?\\])", r"\\\1", path)


def quoted(path: str) -> str:
    """A path within the backticks of a SQL statement, for Spark."""
    return literal(path).replace("`", "``")


def unquoted(text: str) -> str:
    """The path that `quoted` made a text of."""
    return re.sub(r"\\(.)", r"\1", text.replace("``", "`"))


def as_url(path: str) -> str:
    """An absolute path as a URL: in one, Sail sees no pattern."""
    return "file://" + quote(path)
