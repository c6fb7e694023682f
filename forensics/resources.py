"""Locate the packaged TOML and SQL files, in a wheel and in an editable install."""

from __future__ import annotations

from importlib.resources import files
from importlib.resources.abc import Traversable

from forensics.errors import ForensicsError

#: Folder of the rules below `sql/`.
RULES = "7_rules"


def parsers_dir() -> Traversable:
    """Return the folder of pattern files (top-level `parsers/` in the source tree)."""
    return _package("forensics.parsers")


def sql_dir() -> Traversable:
    """Return the folder of view files (top-level `sql/` in the source tree)."""
    return _package("forensics.sql")


def _package(name: str) -> Traversable:
    try:
        return files(name)
    except ModuleNotFoundError as e:
        raise ForensicsError(
            f"The package {name} is not installed.",
            why="`parsers/` and `sql/` become packages only by installation, even in a clone.",
            fix="Run `pip install -e .` in the clone.",
        ) from e
