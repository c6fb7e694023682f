"""The cache of cases that `forensics report LOGS` creates: one folder per case, named by a hash of the logs' content."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import platformdirs
from filelock import FileLock

from forensics.errors import UsageError
from forensics.evidence.objects import Location, S3Path, opened
from forensics.inventory.walk import walk

#: Entries unused for this long are deleted, then the least recently used ones until the cache fits this size.
MAX_DAYS, MAX_BYTES = 30, 512 << 20
#: Entries used within this many seconds are kept.
_RECENT_SECONDS = 600
_DAY = 24 * 3600
_CHUNK = 1 << 20
#: Length of the short name of a case.
_SHORT = 8
_HASH = re.compile(r"[0-9a-f]{6,16}")
_PROCESS = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def case_folder(logs: Sequence[Location], options: Iterable[str] = ()) -> Path:
    """Return the folder of the case for these logs with their current content; it may not exist yet.

    Args:
        logs: files and folders, local or in an object store.
        options: everything else that affects how they are read.

    Raises:
        UsageError: a path does not exist, or the cache folder cannot be created.
        ForensicsError: the object store refuses to list its objects.
    """
    key = hashlib.sha256()
    for option in options:
        key.update(f"{option}\0".encode())
    for path in logs:
        if isinstance(path, S3Path):
            for found in walk([path], set()):  # the store provides a hash or an equivalent
                key.update(f"{found.location}\0{found.seen}\0".encode())
            continue
        if not path.exists():
            raise UsageError(f"There is no file or folder `{path}`.", where=str(path))
        for file in sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else (path,):
            key.update(os.fsencode(file.absolute()) + b"\0")
            with suppress(OSError), opened(file) as bytes_:  # the ingest reports files that cannot be read
                key.update(hashlib.file_digest(bytes_, "sha256").digest())  # type: ignore[arg-type]
    folder = cache_folder() / key.hexdigest()[:16]
    if folder.is_dir():
        os.utime(folder)
    return folder


def kept_input(stream: BinaryIO, name: str = "-", process: str = "input") -> Path:
    """Save standard input in the cache so that its lines can be shown later; the same bytes and name give the same file.

    Args:
        stream: the stream to save.
        name: its name in errors.
        process: the name of the process that printed it.

    Returns:
        The folder of the file.

    Raises:
        UsageError: the stream is empty, it cannot be written, or the name cannot be that of a file.
    """
    if not _PROCESS.fullmatch(process):
        fix = "Use letters, digits, dots, hyphens and underscores, for example connect-0."
        raise UsageError(f"`{process}` cannot be the name of a process.", where="--name", fix=fix)
    place = cache_folder()
    try:
        with tempfile.NamedTemporaryFile(dir=place, prefix=".input-", delete=False) as written:
            digest, size = hashlib.sha256(b"" if process == "input" else f"{process}\0".encode()), 0
            while chunk := stream.read(_CHUNK):
                digest.update(chunk)
                size += written.write(chunk)
        if not size:
            Path(written.name).unlink()
            what = "Standard input" if name == "-" else "The pipe"
            raise UsageError(f"{what} is empty.", where=name, fix="Check that the command before the pipe prints something.")
        folder = place / f"input-{digest.hexdigest()[:16]}"
        folder.mkdir(mode=0o700, exist_ok=True)
        Path(written.name).replace(folder / f"{process}.log")
    except OSError as e:
        raise UsageError("Standard input cannot be kept.", why=e.strerror or str(e), where=str(place)) from e
    return folder


def kept_pipe(path: str, process: str = "input") -> Path | None:
    """Save a pipe, such as bash's `<(kubectl logs connect-0)`, in the cache; return None if the path is not a pipe.

    Raises:
        UsageError: the pipe is empty, or it cannot be written.
    """
    if not Path(path).is_fifo():
        return None
    with Path(path).open("rb") as stream:
        return kept_input(stream, path, process)


def cache_folder() -> Path:
    """Return the cache folder, created if needed and accessible only to the user.

    Raises:
        UsageError: it cannot be created.
    """
    place = where()
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as e:
        raise UsageError("The case cache cannot be created.", why=e.strerror or str(e), where=str(place), fix="--case DIR names one.") from e
    return place


def where() -> Path:
    """Return the path of the cache folder, which may not exist."""
    return Path(platformdirs.user_cache_dir("kafka-forensics")) / "cases"


def short_name(case: Path | str) -> str:
    """Return the first characters of the name of a case in the cache, by which `named` finds it; empty if the case is elsewhere."""
    path = Path(case)
    return path.name[:_SHORT] if path.parent == where() else ""


def named(case: Path) -> Path:
    """Return the case in the cache whose name begins with this word, if there is exactly one and no folder has this name; else the same path."""
    if _HASH.fullmatch(str(case)) and not case.exists() and where().is_dir():
        found = [path for path in where().iterdir() if path.name.startswith(str(case)) and (path / "case.json").is_file()]
        return found[0] if len(found) == 1 else case
    return case


@dataclass(frozen=True)
class Kept:
    """A cache entry: a case, an input, the copy of a case in S3, or a partial input left by a killed command.

    Attributes:
        path: its file or folder.
        size: total bytes of its files.
        used: time of last use, seconds since 1970.
    """

    path: Path
    size: int
    used: float


def kept() -> list[Kept]:
    """Return the cache entries, most recently used first."""
    place, found = where(), []
    for path in place.iterdir() if place.is_dir() else ():
        with suppress(OSError):  # another command has just deleted it
            size = sum(f.lstat().st_size for f in (path, *(path.rglob("*") if path.is_dir() else ())) if f.is_file())
            found.append(Kept(path, size, path.lstat().st_mtime))
    return sorted(found, key=lambda one: (-one.used, one.path))


def tidy(*, everything: bool = False) -> tuple[int, int]:
    """Delete entries unused for `MAX_DAYS`, then the least recently used ones while the cache exceeds `MAX_BYTES`.

    Entries that are being written, or were used within the last ten minutes, are kept.

    Args:
        everything: delete all entries that are not being written.

    Returns:
        Number of deleted entries, and their total bytes.
    """
    now, total, gone, freed = time.time(), 0, 0, 0
    for one in kept():
        total += one.size
        age = now - one.used
        if everything or (age > _RECENT_SECONDS and (age > MAX_DAYS * _DAY or total > MAX_BYTES)):
            with suppress(OSError), ExitStack() as held:  # `Timeout` is an OSError
                if (one.path / ".lock").is_file():
                    held.enter_context(FileLock(one.path / ".lock", timeout=0))
                if one.path.is_dir() and not one.path.is_symlink():
                    shutil.rmtree(one.path)
                else:
                    one.path.unlink()
                total, gone, freed = total - one.size, gone + 1, freed + one.size
    return gone, freed
