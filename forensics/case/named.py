"""Evidence locations that the user has named. No other location is opened, even if a case's manifest names it.

A case may come from a stranger, and its manifest may name a device, a named pipe, a private file of the user or the sender's bucket. Each location that an
ingest of this user has read carries a seal (`seals`). A file without a valid seal is read only below a folder that the
user names.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath

from forensics.evidence.containers import place_of
from forensics.evidence.objects import Location, S3Path

#: Maximum depth of a recorded location that is looked up below the user's folder.
_DEEPEST = 40


class NotNamedError(OSError):
    """A location that the user has not named, and that is therefore not opened."""


def source(location: str, *, is_named: bool, folders: Sequence[Location] = ()) -> Location:
    """Find the location from which an evidence file may be read now.

    Args:
        location: its location as recorded in the case.
        is_named: True if the user's own ingest has read it there.
        folders: folders, files and object prefixes that the user names now. A file is looked up there by its full path, then by ever shorter ends of it:
            `/old/logs/w1/connect.log` also matches `DIR/w1/connect.log`.

    Raises:
        NotNamedError: the user has not named its location.
    """
    recorded = S3Path.parse(location)
    for folder in folders:
        if isinstance(folder, S3Path):
            if recorded is not None and (recorded == folder or str(recorded).startswith(f"{folder}/")):
                return recorded
        elif recorded is None and (found := _below(folder, location)) is not None:
            return found
    if is_named:
        return place_of(location)
    raise NotNamedError("its location comes from the case alone, and you have not named it")


def _below(folder: Path, location: str) -> Path | None:
    """Find the file below a folder whose path equals a recorded location or its end; links out of the folder are not followed."""
    base = folder.resolve()
    if base.is_file():
        return base if base.name == PurePosixPath(location).name else None
    parts = PurePosixPath(location).parts[1:]
    if ".." in parts or "\0" in location or len(parts) > _DEEPEST:
        return None
    lexical = PurePosixPath(location)
    inside = [lexical.relative_to(base).parts] if lexical.is_relative_to(base) else []
    for tail in [*inside, *(parts[n:] for n in range(len(parts)))]:
        with suppress(OSError, ValueError):
            found = place_of(str(base.joinpath(*tail)))
            if isinstance(found, Path) and (found := found.resolve()).is_relative_to(base) and found.is_file():
                return found
    return None
