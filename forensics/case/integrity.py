"""Record the content of a case's files, and check that it has not changed.

The manifest records the size, row count and SHA-256 of every file. A command refuses a case with a missing, damaged or foreign file, because an empty view
would look like "nothing happened". It also refuses a case that contains a link, a named pipe or a device: the sender may have put it there so that reading,
writing or deleting it affects the user's other files.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from forensics.case.stated_sizes import overstated
from forensics.errors import CaseError
from forensics.evidence.objects import Location, opened

#: By path below the case: `bytes`, `sha256`, and `rows` of a Parquet file.
Contents = Mapping[str, Mapping[str, Any]]
_BLOCK = 1 << 20
_NAMED = 3
_TABLES, _KEPT = "tables/", ("tables/", "views/")
#: Top-level folders and files of a case. Anything else there belongs to the user and is ignored.
_FOLDERS, _FILES = ("tables", "views", "sql", "staging", ".next"), ("case.json", "open.sql", "steps.sql", ".lock")
#: Folder of `open.sql`, `steps.sql` and `sql` until they are moved to their final paths.
STAGED = ".next"
_DEEPEST = 16
_PATH = re.compile(r"(?:tables|views|sql)(?:/[\w.~=-]+)+|(?:open|steps)\.sql")


@dataclass(frozen=True)
class Fault:
    """A file that is not as it was written.

    Attributes:
        path: its path relative to the case.
        why: what is wrong with it, as a predicate that follows the path.
    """

    path: str
    why: str


def refuse_strange(root: Path, called: Location) -> None:
    """Refuse a case that has anything but folders and regular files where this program reads, writes and deletes.

    Args:
        root: the case's folder.
        called: its name in errors.

    Raises:
        CaseError: the case contains something else.
    """
    for name in (*_FOLDERS, *_FILES):
        path = root / name
        try:
            about = path.lstat()
        except (FileNotFoundError, NotADirectoryError):
            continue
        what = _strange(about, folder=name in _FOLDERS, alone=name == ".lock")
        found = (name, what) if what else next(_strange_below(path, name), None) if name in _FOLDERS else None
        if found:
            raise CaseError(
                f"The case in `{called}` contains an unexpected entry, so nothing in it is used.",
                why=f"`{found[0]}` {found[1]}", where=str(root / found[0]),
                fix="If you received this case from someone else, it may be malicious. If you created this entry yourself, remove it.",
            )  # fmt: skip


def _strange_below(folder: Path, name: str) -> Iterator[tuple[str, str]]:
    if name.count("/") >= _DEEPEST:
        yield name, "is nested deeper than any folder of a case"
        return
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                below = f"{name}/{entry.name}"
                about = entry.stat(follow_symlinks=False)
                folder_too = stat.S_ISDIR(about.st_mode)
                if what := _strange(about, folder=folder_too):
                    yield below, what
                elif folder_too:
                    yield from _strange_below(folder / entry.name, below)
    except (FileNotFoundError, NotADirectoryError):
        return  # another command has just deleted it
    except OSError as e:
        yield name, f"cannot be examined ({e.strerror or e})"


def _strange(about: os.stat_result, *, folder: bool, alone: bool = False) -> str:
    """Return why an entry is not the folder or regular file that it should be; an empty string if it is."""
    if stat.S_ISLNK(about.st_mode):
        return "is a link"
    if folder:
        return "" if stat.S_ISDIR(about.st_mode) else "is not a folder"
    if not stat.S_ISREG(about.st_mode):
        return "is not a regular file"
    # Acquiring a lock truncates its file, and a hard link to it may be another file of the user.
    return "has another hard link" if alone and about.st_nlink > 1 else ""


def is_contents(contents: object) -> bool:
    """Return True if a manifest's `contents` has the form that `record` produces; the manifest may come from someone else."""
    return isinstance(contents, dict) and all(
        _PATH.fullmatch(path)
        and not {"..", "."} & set(path.split("/"))
        and isinstance(recorded, dict)
        and all(type(recorded.get(key, 0)) is int for key in ("bytes", "rows"))
        and isinstance(recorded.get("sha256"), str)
        and "bytes" in recorded
        for path, recorded in contents.items()
    )


def rows_in(folder: Path | str) -> ds.Dataset:
    """Return the rows in a folder of a table or a view.

    Raises:
        CaseError: the folder has no files; no rows would look like "nothing happened".
    """
    try:
        names = sorted(entry.name for entry in os.scandir(folder) if not entry.name.startswith((".", "_")))
    except (FileNotFoundError, NotADirectoryError):
        names = []
    if not names:
        fix = "Another command may have changed the case. Run this command again."
        raise CaseError("Rows of the case are missing.", where=str(folder), fix=fix)
    files = [f"{folder}/{name}" for name in names]
    rows = ds.dataset(files, format="parquet")
    plain = pa.schema([field.with_type(_plain(field.type)) for field in rows.schema])
    return rows if plain == rows.schema else ds.dataset(files, plain, format="parquet")


def _plain(kind: pa.DataType) -> pa.DataType:
    """Return a type with `string` in place of `string_view`, as Sail writes texts of large cases: Arrow cannot filter rows that have one."""
    if pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_plain(kind.value_type)))
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_plain(field.type)) for field in kind])
    if pa.types.is_map(kind):
        return pa.map_(_plain(kind.key_type), kind.item_field.with_type(_plain(kind.item_type)))
    return kind


def record(root: Path, below: Iterable[Path]) -> dict[str, dict[str, Any]]:
    """Record the size, hash and row count of files of a case for its manifest.

    Args:
        root: the case's folder.
        below: files and folders in it.
    """
    files = [file for place in below for file in (_files(place) if place.is_dir() else (place,))]
    with ThreadPoolExecutor() as pool:
        return dict(zip((f.relative_to(root).as_posix() for f in files), pool.map(_record, files), strict=True))


def faults(root: Path, contents: Contents, folders: Iterable[Path] = ()) -> list[Fault]:
    """Return the files that differ from the manifest, sorted by path.

    Args:
        root: the case's folder.
        contents: the manifest's record of each file.
        folders: folders that must exist, even if empty.
    """
    with ThreadPoolExecutor() as pool:
        checked = pool.map(lambda item: (item[0], _fault_in(root, *item)), contents.items())
        found = [Fault(path, why) for path, why in checked if why]
    found += [Fault(f.relative_to(root).as_posix(), "is missing") for f in folders if not f.is_dir()]
    # A reader of a folder reads every file in it.
    for folder in {(root / path).parent for path in contents if path.startswith(_KEPT)}:
        strange = (file.relative_to(root).as_posix() for file in _files(folder))
        found += [Fault(path, "does not belong to the case") for path in strange if path not in contents]
    return sorted(set(found), key=lambda fault: fault.path)


def error(path: Location, found: list[Fault]) -> CaseError:
    """Return the error for a damaged case."""
    named = "; ".join(f"{fault.path} {fault.why}" for fault in found[:_NAMED])
    more = f"; and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    if any(fault.path.startswith(_TABLES) for fault in found):
        fix = "Ingest the logs again, into a new folder."
    else:
        fix = f"`forensics verify {quote(str(path))} --rebuild` rebuilds the views from the case's tables, which are intact."
    return CaseError(f"The case in `{path}` is damaged and cannot be used.", why=named + more, where=str(path), fix=fix)


def of_views(found: Iterable[Fault]) -> bool:
    """Return True if no table is damaged, so that everything can be rebuilt."""
    return not any(fault.path.startswith(_TABLES) for fault in found)


def _files(folder: Path) -> Iterator[Path]:
    """Yield the files below a folder, except those that Spark and pyarrow ignore (`_SUCCESS`, `.part-0.crc`)."""
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith((".", "_"))]
        yield from (Path(place) / name for name in names if not name.startswith((".", "_")))


def _record(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = {"bytes": file.stat().st_size, "sha256": _sha256(file)}
    if file.suffix == ".parquet":
        found["rows"] = _rows(file)
    return found


def _rows(file: Path) -> int:
    with opened(file, links=False) as content:
        return int(pq.read_metadata(content).num_rows)


def _fault_in(root: Path, path: str, recorded: Mapping[str, Any]) -> str:
    """Return what is wrong with a file of the case, or an empty string.

    A file that a killed writer staged and did not move counts as present: the next writer moves it.
    """
    why = _fault(root / path, recorded)
    return why if why and (path.startswith(_KEPT) or _fault(root / STAGED / path, recorded)) else ""


def _fault(file: Path, recorded: Mapping[str, Any]) -> str:
    """Return how a file differs from its record, or an empty string."""
    try:
        size = file.lstat().st_size
        if size != recorded["bytes"]:
            return f"has {size:,} bytes, not {recorded['bytes']:,}"
        if why := overstated(file):
            return why
        if _sha256(file) != recorded["sha256"]:
            return "has another SHA-256 than when it was written"
        if "rows" in recorded and (rows := _rows(file)) != recorded["rows"]:
            return f"has {rows:,} rows, not {recorded['rows']:,}"
    except (FileNotFoundError, NotADirectoryError):
        return "is missing"
    except (OSError, pa.ArrowException) as e:
        return f"cannot be read ({(e.strerror if isinstance(e, OSError) else None) or e})"
    return ""


def _sha256(file: Path) -> str:
    digest = hashlib.sha256()
    with opened(file, links=False) as content:
        while data := content.read(_BLOCK):
            digest.update(data)
    return digest.hexdigest()
