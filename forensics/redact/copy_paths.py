"""Choose the paths of the copied files: unique on every file system, and not too long."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping

#: Characters that are not allowed in names on every system.
_ODD = re.compile(r"[^\w.~@+=,-]")
#: On most systems names may have 255 bytes and whole paths 4,096.
_LONGEST, _HEAD, _TAIL = 200, 120, 60
_MAX_FOLDERS, _LAST_FOLDERS = 15, 3


def copy_paths(paths: Iterable[str], rename: Callable[[str], str]) -> Mapping[str, str]:
    """Return the path in the copy by the path in the evidence.

    Names that differ only in odd characters or in upper and lower case get a number. So does a folder whose name is also that of a file, which an
    archive allows. Files of one log, whose names differ after the first dot, keep the part before it in common.

    Args:
        paths: paths of files, with `/` between folders.
        rename: returns the name of a folder or file in the copy.
    """
    folders: dict[tuple[str, str], str] = {}
    taken: set[str] = set()
    stems: dict[str, tuple[str, str]] = {}
    numbers: dict[str, int] = {}
    found: dict[str, str] = {}

    def new(inside: str, part: str, *, is_file: bool) -> str:
        name = _ODD.sub("_", rename(part))
        data = name.encode("utf-8", "replace")
        if len(data) > _LONGEST:
            name = data[:_HEAD].decode("utf-8", "ignore") + data[-_TAIL:].decode("utf-8", "ignore")
        stem, point, rest = name.partition(".") if is_file else (name, "", "")
        owner = inside, part.partition(".")[0]
        known = inside + _folded(stem)
        number = 1
        while True:
            numbered = (stem if number == 1 else f"{stem}~{number}") if stem or rest.strip(".") else f"_{number}"
            whole = inside + numbered + point + rest
            fits = not is_file or stems.setdefault(inside + _folded(numbered), owner) == owner
            if fits and _folded(whole) not in taken:
                taken.add(_folded(whole))
                numbers[known] = number
                return whole
            number = max(number + 1, numbers.get(known, 0))

    for path in sorted(set(paths)):
        *parts, name = path.split("/")
        if len(parts) > _MAX_FOLDERS:
            parts = parts[: _MAX_FOLDERS - _LAST_FOLDERS] + parts[-_LAST_FOLDERS:]
        inside = ""
        for part in parts:
            if (inside, part) not in folders:
                folders[inside, part] = new(inside, part, is_file=False) + "/"
            inside = folders[inside, part]
        found[path] = new(inside, name, is_file=True)
    return found


def _folded(name: str) -> str:
    """Return a name as it is compared by systems that ignore case and Unicode composition."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
