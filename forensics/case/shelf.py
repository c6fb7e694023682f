"""Cases that `forensics report LOGS` makes: each in a folder of its own in the user's cache, found again by what the logs hold."""

from __future__ import annotations

import hashlib
import os
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

#: What was not used for so long goes; of the rest what was used longest ago, until it takes no more than so many bytes.
MOST_DAYS, MOST_BYTES = 30, 512 << 20
#: What somebody used so lately is not taken away, seconds.
_LATELY = 600
_DAY = 24 * 3600
_CHUNK = 1 << 20


def case_folder(logs: Sequence[Location], options: Iterable[str] = ()) -> Path:
    """The folder of the case for some logs as they are now; it need not exist yet.

    Args:
        logs: files and folders, on this machine or as objects.
        options: whatever else decides what is read from them.

    Raises:
        UsageError: a path does not exist, or there is no cache folder.
        ForensicsError: a store does not let its objects be listed.
    """
    key = hashlib.sha256()
    for option in options:
        key.update(f"{option}\0".encode())
    for path in logs:
        if isinstance(path, S3Path):
            for found in walk([path], set()):  # the store has hashes of its own, or something as good
                key.update(f"{found.location}\0{found.seen}\0".encode())
            continue
        if not path.exists():
            raise UsageError(f"There is no file or folder `{path}`.", where=str(path))
        for file in sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else (path,):
            key.update(os.fsencode(file.absolute()) + b"\0")
            with suppress(OSError), opened(file) as bytes_:  # the ingest says what cannot be read
                key.update(hashlib.file_digest(bytes_, "sha256").digest())  # type: ignore[arg-type]
    folder = shelf() / key.hexdigest()[:16]
    if folder.is_dir():
        os.utime(folder)
    return folder


def kept_input(stream: BinaryIO, name: str = "-") -> Path:
    """Standard input as a file beside the cases, so that its lines can be shown later; the same bytes are the same file.

    Args:
        stream: what to keep.
        name: of the stream, for errors.

    Raises:
        UsageError: there is nothing in it, or it cannot be written.
    """
    place = shelf()
    try:
        with tempfile.NamedTemporaryFile(dir=place, prefix=".input-", delete=False) as written:
            digest, size = hashlib.sha256(), 0
            while chunk := stream.read(_CHUNK):
                digest.update(chunk)
                size += written.write(chunk)
        if not size:
            Path(written.name).unlink()
            what = "Standard input" if name == "-" else "The pipe"
            raise UsageError(f"{what} is empty.", where=name, fix="Does the command before the pipe print anything?")
        folder = place / f"input-{digest.hexdigest()[:16]}"
        folder.mkdir(mode=0o700, exist_ok=True)
        Path(written.name).replace(folder / "input.log")
    except OSError as e:
        raise UsageError("Standard input cannot be kept.", why=e.strerror or str(e), where=str(place)) from e
    return folder


def kept_pipe(path: str) -> Path | None:
    """A pipe, as `<(kubectl logs connect-0)` is one in bash, as a file beside the cases; None for what is none.

    Raises:
        UsageError: there is nothing in it, or it cannot be written.
    """
    if not Path(path).is_fifo():
        return None
    with Path(path).open("rb") as stream:
        return kept_input(stream, path)


def shelf() -> Path:
    """The folder of these cases, for the user alone.

    Raises:
        UsageError: it cannot be made.
    """
    place = where()
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as e:
        raise UsageError("The case cache cannot be created.", why=e.strerror or str(e), where=str(place), fix="--case DIR names one.") from e
    return place


def where() -> Path:
    """The folder of these cases, which need not exist."""
    return Path(platformdirs.user_cache_dir("kafka-forensics")) / "cases"


@dataclass(frozen=True)
class Kept:
    """An entry of the cache: the folder of a case, of an input, or of the copy of a case in S3, or an input that a killed command left half read.

    Attributes:
        path: where it is.
        size: bytes of its files.
        used: when it was used last, seconds since 1970.
    """

    path: Path
    size: int
    used: float


def kept() -> list[Kept]:
    """What the cache holds, the last used first."""
    place, found = where(), []
    for path in place.iterdir() if place.is_dir() else ():
        with suppress(OSError):  # another command has just taken it away
            size = sum(f.lstat().st_size for f in (path, *(path.rglob("*") if path.is_dir() else ())) if f.is_file())
            found.append(Kept(path, size, path.lstat().st_mtime))
    return sorted(found, key=lambda one: (-one.used, one.path))


def tidy(*, everything: bool = False) -> tuple[int, int]:
    """Takes away what was not used for `MOST_DAYS`, and what was used longest ago of more than `MOST_BYTES`.

    What is being written to, or was used in the last minutes, stays.

    Args:
        everything: take away all that nobody writes to.

    Returns:
        How many folders went, and their bytes.
    """
    now, total, gone, freed = time.time(), 0, 0, 0
    for one in kept():
        total += one.size
        age = now - one.used
        if everything or (age > _LATELY and (age > MOST_DAYS * _DAY or total > MOST_BYTES)):
            with suppress(OSError), ExitStack() as held:  # `Timeout` is an OSError
                if (one.path / ".lock").is_file():
                    held.enter_context(FileLock(one.path / ".lock", timeout=0))
                if one.path.is_dir() and not one.path.is_symlink():
                    shutil.rmtree(one.path)
                else:
                    one.path.unlink()
                total, gone, freed = total - one.size, gone + 1, freed + one.size
    return gone, freed
