"""Find the files below some paths, each once, in a stable order."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from forensics.errors import UsageError, reason_of
from forensics.evidence.containers import written
from forensics.evidence.objects import Location, S3Path
from forensics.evidence.streams import MAX_RATIO
from forensics.inventory.evidence import READ, SKIPPED, UNREADABLE

_LEADS_OUT = "a link that leads out of the evidence; to read its target, name it as a separate path"
_LOOP = "a link that leads back to itself, so there is no file"
_NO_TARGET = "a link to a file that is not there"

#: A log that was truncated while its writer had it open begins with a file hole of its former length; but no log consists almost entirely of a hole.
_HOLLOW = "almost the whole file is a sparse-file hole: only {:,} of its {:,} bytes are written; copy these bytes into another file"
_MAX_HOLLOW, _BLOCK = 4 << 30, 512
#: Objects whose metadata is requested in parallel before any is read.
_PARALLEL_REQUESTS = 16


@dataclass(frozen=True)
class FileFound:
    """A file or an object that has not been read yet.

    Attributes:
        path: path relative to the ingested folder.
        size: bytes.
        status, note: why it cannot be read, if that is already known.
        seen: see `mark_of`.
    """

    path: str
    location: Location
    size: int
    status: str = READ
    note: str = ""
    seen: tuple[object, ...] = ()


def mark_of(location: Location) -> tuple[object, ...]:
    """Return a mark that changes when a file is written to or replaced.

    Raises:
        OSError: the file is gone or cannot be accessed.
    """
    return location.mark() if isinstance(location, S3Path) else _mark(location.stat())


def _mark(about: os.stat_result) -> tuple[int, ...]:
    return about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns


def walk(paths: Sequence[Location], exclude: Collection[Location]) -> Iterator[FileFound]:
    """Yield each file once, in a stable order.

    Args:
        paths: files, folders, objects and prefixes of objects.
        exclude: folders, or prefixes of objects, to ignore.

    Raises:
        UsageError: a path does not exist.
        ForensicsError: an object store refuses to list its objects.
    """
    seen: set[object] = set()
    roots = [path.resolve() for path in paths if isinstance(path, Path)]
    for path in paths:
        if isinstance(path, S3Path):
            yield from _objects(path, seen, [p for p in exclude if isinstance(p, S3Path)])
            continue
        if not path.exists():
            raise UsageError(f"There is no file or folder `{path}`.", where=str(path))
        if path.is_dir():
            yield from _walk_folder(path.resolve(), "", seen, exclude, roots)
        else:
            yield from _file(path.resolve(), written(path.name), seen)


def _objects(prefix: S3Path, seen: set[object], exclude: Sequence[S3Path]) -> Iterator[FileFound]:
    out = tuple(f"{p}/" for p in exclude)
    found = [(path, size) for path, size in prefix.files() if path not in seen and not str(path).startswith(out)]
    seen.update(path for path, _ in found)
    with ThreadPoolExecutor(_PARALLEL_REQUESTS) as pool:
        yield from pool.map(lambda item: _object(item[0], item[1], item[0].below(prefix)), found)


def _object(location: S3Path, size: int, path: str) -> FileFound:
    try:
        return FileFound(path, location, size, seen=location.mark())
    except OSError as e:
        return FileFound(path, location, 0, UNREADABLE, reason_of(e))


def _walk_folder(folder: Path, prefix: str, seen: set[object], exclude: Collection[Location], roots: Sequence[Path]) -> Iterator[FileFound]:
    try:
        about = folder.stat()
        if folder.resolve() in exclude or (about.st_dev, about.st_ino) in seen:
            return
        seen.add((about.st_dev, about.st_ino))
        entries = sorted(os.scandir(folder), key=lambda e: e.name)
    except OSError as e:
        yield FileFound(prefix.rstrip("/") or written(folder.name), folder, 0, UNREADABLE, _os_reason(e))
        return
    for entry in entries:
        path = prefix + written(entry.name)
        try:
            if entry.is_symlink() and (note := _fault_of(Path(entry.path), roots)):
                yield FileFound(path, Path(entry.path), 0, UNREADABLE if note == _NO_TARGET else SKIPPED, note)
                continue
            is_dir = entry.is_dir()
        except OSError as e:
            yield FileFound(path, Path(entry.path), 0, UNREADABLE, _os_reason(e))
            continue
        if is_dir:
            yield from _walk_folder(Path(entry.path), path + "/", seen, exclude, roots)
        else:
            yield from _file(Path(entry.path), path, seen)


def _fault_of(link: Path, roots: Sequence[Path]) -> str:
    """Return why a link is not followed; empty if its target is a file or folder below the given paths.

    Otherwise a bundle from someone else could make us read the user's other files.
    """
    try:
        link.stat()
        gone = False
    except OSError as e:
        if e.errno == errno.ELOOP:
            return _LOOP
        gone = e.errno == errno.ENOENT
    target = link.resolve()
    if not any(target == root or root in target.parents for root in roots):
        return _LEADS_OUT
    return _NO_TARGET if gone else ""


def _file(location: Path, path: str, seen: set[object]) -> Iterator[FileFound]:
    try:
        about = location.stat()
    except OSError as e:
        yield FileFound(path, location, 0, UNREADABLE, _os_reason(e))
        return
    key = (about.st_dev, about.st_ino)
    if key in seen:
        return
    seen.add(key)
    if not stat.S_ISREG(about.st_mode):
        yield FileFound(path, location, 0, SKIPPED, "not a regular file")
    elif about.st_size > _MAX_HOLLOW and about.st_blocks * _BLOCK * MAX_RATIO < about.st_size and _has_hole(location, about.st_size):
        yield FileFound(path, location, 0, UNREADABLE, _HOLLOW.format(about.st_blocks * _BLOCK, about.st_size))
    else:
        yield FileFound(path, location, about.st_size, seen=_mark(about))


def _has_hole(location: Path, size: int) -> bool:
    """Return True if the system reports a hole in a file; some systems only fail to count its blocks."""
    with suppress(OSError), location.open("rb") as file:
        return os.lseek(file.fileno(), 0, os.SEEK_HOLE) < size
    return False


def _os_reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
