"""Convert paths for engines, which must not interpret them as patterns."""

from __future__ import annotations

import re
from urllib.parse import quote


def literal(path: str) -> str:
    """Return a path for Spark's readers."""
    return re.sub(r"([\[\]{}*?\\])", r"\\\1", path)


def quoted(path: str) -> str:
    """Return a path for the backticks of a SQL statement, for Spark."""
    return literal(path).replace("`", "``")


def unquoted(text: str) -> str:
    """Return the path that was passed to `quoted`."""
    return re.sub(r"\\(.)", r"\1", text.replace("``", "`"))


def as_url(path: str) -> str:
    """Return an absolute path as a URL, in which Sail does not look for patterns."""
    return "file://" + quote(path)
