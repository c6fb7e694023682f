"""Files on disk below some paths, each once, in a stable order."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from forensics.errors import UsageError
from forensics.evidence.containers import written
from forensics.inventory.evidence import READ, SKIPPED, UNREADABLE

_LEADS_OUT = "a link that leads out of the evidence; name where it leads to as a path of its own to have it read"


@dataclass(frozen=True)
class FileOnDisk:
    """A file, before anything of it was read.

    Attributes:
        path: below the ingested folder.
        size: bytes.
        status, note: why it cannot be read, where that is known already.
        seen: see `mark_of`.
    """

    path: str
    location: Path
    size: int
    status: str = READ
    note: str = ""
    seen: tuple[int, ...] = ()


def mark_of(about: os.stat_result) -> tuple[int, ...]:
    """What changes when somebody writes to a file or puts another in its place."""
    return about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns


def walk(paths: Sequence[Path], exclude: set[Path]) -> Iterator[FileOnDisk]:
    """Files on disk, each once, in a stable order.

    Args:
        paths: files and folders.
        exclude: folders to leave out.

    Raises:
        UsageError: a path does not exist.
    """
    seen: set[tuple[int, int]] = set()
    roots = [path.resolve() for path in paths]
    for path in paths:
        if not path.exists():
            raise UsageError(f"There is no file or folder {path}.", where=str(path))
        if path.is_dir():
            yield from _walk_folder(path.resolve(), "", seen, exclude, roots)
        else:
            yield from _file(path.resolve(), written(path.name), seen)


def _walk_folder(folder: Path, prefix: str, seen: set[tuple[int, int]], exclude: set[Path], roots: Sequence[Path]) -> Iterator[FileOnDisk]:
    try:
        about = folder.stat()
        if folder.resolve() in exclude or (about.st_dev, about.st_ino) in seen:
            return
        seen.add((about.st_dev, about.st_ino))
        entries = sorted(os.scandir(folder), key=lambda e: e.name)
    except OSError as e:
        yield FileOnDisk(prefix.rstrip("/") or written(folder.name), folder, 0, UNREADABLE, _os_reason(e))
        return
    for entry in entries:
        path = prefix + written(entry.name)
        try:
            if entry.is_symlink() and not _is_inside(Path(entry.path), roots):
                yield FileOnDisk(path, Path(entry.path), 0, SKIPPED, _LEADS_OUT)
                continue
            is_dir = entry.is_dir()
        except OSError as e:
            yield FileOnDisk(path, Path(entry.path), 0, UNREADABLE, _os_reason(e))
            continue
        if is_dir:
            yield from _walk_folder(Path(entry.path), path + "/", seen, exclude, roots)
        else:
            yield from _file(Path(entry.path), path, seen)


def _is_inside(link: Path, roots: Sequence[Path]) -> bool:
    """Whether a link leads to something below the given paths: else the sender of a bundle could have us read the reader's own files."""
    target = link.resolve()
    return any(target == root or root in target.parents for root in roots)


def _file(location: Path, path: str, seen: set[tuple[int, int]]) -> Iterator[FileOnDisk]:
    try:
        about = location.stat()
    except OSError as e:
        yield FileOnDisk(path, location, 0, UNREADABLE, _os_reason(e))
        return
    key = (about.st_dev, about.st_ino)
    if key in seen:
        return
    seen.add(key)
    if not stat.S_ISREG(about.st_mode):
        yield FileOnDisk(path, location, 0, SKIPPED, "not a regular file")
    else:
        yield FileOnDisk(path, location, about.st_size, seen=mark_of(about))


def _os_reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
