"""What a case's own files were when they were written, and whether they still are.

The manifest keeps the size, the rows and the SHA-256 of every file of a case. No command answers from a case with a file that is missing, damaged
or not its own: an empty view would read as "nothing happened". And none uses a case with a link, a named pipe or a device in it: whoever sent it may
have put it there, so that what is read, written or deleted in the case is a file of the reader's.
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

from forensics.errors import CaseError
from forensics.evidence.objects import Location, opened

#: By path below the case: `bytes`, `sha256`, and `rows` of a Parquet file.
Contents = Mapping[str, Mapping[str, Any]]
_BLOCK = 1 << 20
_NAMED = 3
_TABLES, _KEPT = "tables/", ("tables/", "views/")
#: What a case has at its top: folders, and files. What else lies there is the user's own, and is left alone.
_FOLDERS, _FILES = ("tables", "views", "sql", "staging", ".next"), ("case.json", "open.sql", ".lock")
#: Until a manifest's `open.sql` and `sql` are in their places, they are here.
STAGED = ".next"
_DEEPEST = 16
_PATH = re.compile(r"(?:tables|views|sql)(?:/[\w.~=-]+)+|open\.sql")


@dataclass(frozen=True)
class Fault:
    """A file that is not as it was written.

    Attributes:
        path: below the case.
        why: what is wrong with it, to be read after the path.
    """

    path: str
    why: str


def refuse_strange(root: Path, called: Location) -> None:
    """Make sure that a case has nothing but folders and regular files where this program reads, writes and deletes.

    Args:
        root: the case's folder.
        called: as the user calls it.

    Raises:
        CaseError: it holds something else.
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
                f"The case in `{called}` holds what no case holds: nothing in it is used.",
                why=f"`{found[0]}` {found[1]}", where=str(root / found[0]),
                fix="If somebody sent you this case, it may be meant to harm you. If you put this there yourself, take it away.",
            )  # fmt: skip


def _strange_below(folder: Path, name: str) -> Iterator[tuple[str, str]]:
    if name.count("/") >= _DEEPEST:
        yield name, "lies deeper than a case has folders"
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
        return  # another command has just taken it away
    except OSError as e:
        yield name, f"cannot be looked at ({e.strerror or e})"


def _strange(about: os.stat_result, *, folder: bool, alone: bool = False) -> str:
    """What something is that is not the folder or the regular file that it should be; empty: it is that."""
    if stat.S_ISLNK(about.st_mode):
        return "is a link"
    if folder:
        return "" if stat.S_ISDIR(about.st_mode) else "is no folder"
    if not stat.S_ISREG(about.st_mode):
        return "is no regular file"
    # A lock is emptied by who takes it: a second name of it may be a file of the reader's.
    return "has another name elsewhere" if alone and about.st_nlink > 1 else ""


def is_contents(contents: object) -> bool:
    """Return True if a manifest's `contents` has the form that `record` gives it: others may have written it."""
    return isinstance(contents, dict) and all(
        _PATH.fullmatch(path)
        and not {"..", "."} & set(path.split("/"))
        and isinstance(told, dict)
        and all(type(told.get(key, 0)) is int for key in ("bytes", "rows"))
        and isinstance(told.get("sha256"), str)
        and "bytes" in told
        for path, told in contents.items()
    )


def rows_in(folder: Path | str) -> ds.Dataset:
    """Return the rows in a folder of a table or a view.

    Raises:
        CaseError: the folder has no file any more: no rows would read as "nothing happened".
    """
    try:
        names = sorted(entry.name for entry in os.scandir(folder) if not entry.name.startswith((".", "_")))
    except (FileNotFoundError, NotADirectoryError):
        names = []
    if not names:
        fix = "Another command may have changed the case meanwhile: run this again."
        raise CaseError("Rows of the case are not there any more.", where=str(folder), fix=fix)
    return ds.dataset([f"{folder}/{name}" for name in names], format="parquet")


def record(root: Path, below: Iterable[Path]) -> dict[str, dict[str, Any]]:
    """What some files and folders of a case hold now, for its manifest.

    Args:
        root: the case.
        below: files and folders in it.
    """
    files = [file for place in below for file in (_files(place) if place.is_dir() else (place,))]
    with ThreadPoolExecutor() as pool:
        return dict(zip((f.relative_to(root).as_posix() for f in files), pool.map(_record, files), strict=True))


def faults(root: Path, contents: Contents, folders: Iterable[Path] = ()) -> list[Fault]:
    """What is not as the manifest says, by path.

    Args:
        root: the case.
        contents: what the manifest says of each file.
        folders: folders that must exist, whatever they hold.
    """
    with ThreadPoolExecutor() as pool:
        checked = pool.map(lambda item: (item[0], _why_in(root, *item)), contents.items())
        found = [Fault(path, why) for path, why in checked if why]
    found += [Fault(f.relative_to(root).as_posix(), "is missing") for f in folders if not f.is_dir()]
    # Whoever reads a folder reads every file in it.
    for folder in {(root / path).parent for path in contents if path.startswith(_KEPT)}:
        strange = (file.relative_to(root).as_posix() for file in _files(folder))
        found += [Fault(path, "does not belong to the case") for path in strange if path not in contents]
    return sorted(set(found), key=lambda fault: fault.path)


def error(path: Location, found: list[Fault]) -> CaseError:
    """The error that a damaged case ends every command with."""
    named = "; ".join(f"{fault.path} {fault.why}" for fault in found[:_NAMED])
    more = f"; and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    if any(fault.path.startswith(_TABLES) for fault in found):
        fix = "Ingest the logs again, into a new folder."
    else:
        fix = f"`forensics verify {quote(str(path))} --rebuild` makes the views again from the case's tables, which are whole."
    return CaseError(f"The case in `{path}` is damaged and cannot be used.", why=named + more, where=str(path), fix=fix)


def of_views(found: Iterable[Fault]) -> bool:
    """Whether only what is made from the tables is damaged."""
    return not any(fault.path.startswith(_TABLES) for fault in found)


def _files(folder: Path) -> Iterator[Path]:
    """Files below a folder; those that Spark and pyarrow pass over when they read it (`_SUCCESS`, `.part-0.crc`) are left out."""
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith((".", "_"))]
        yield from (Path(place) / name for name in names if not name.startswith((".", "_")))


def _record(file: Path) -> dict[str, Any]:
    told: dict[str, Any] = {"bytes": file.stat().st_size, "sha256": _sha256(file)}
    if file.suffix == ".parquet":
        told["rows"] = _rows(file)
    return told


def _rows(file: Path) -> int:
    with opened(file, links=False) as content:
        return int(pq.read_metadata(content).num_rows)


def _why_in(root: Path, path: str, told: Mapping[str, Any]) -> str:
    """As `_why`; what a writer was killed before it put into its place counts as there, and the next writer puts it there."""
    why = _why(root / path, told)
    return why if why and (path.startswith(_KEPT) or _why(root / STAGED / path, told)) else ""


def _why(file: Path, told: Mapping[str, Any]) -> str:
    """What is wrong with a file, empty when nothing is."""
    try:
        size = file.lstat().st_size
        if size != told["bytes"]:
            return f"has {size:,} bytes, not {told['bytes']:,}"
        if _sha256(file) != told["sha256"]:
            return "has another SHA-256 than when it was written"
        if "rows" in told and (rows := _rows(file)) != told["rows"]:
            return f"has {rows:,} rows, not {told['rows']:,}"
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
