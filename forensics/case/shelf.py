"""Cases that `forensics report LOGS` makes: each in a folder of its own in the user's cache, found again by what the logs hold."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

import platformdirs

from forensics.errors import UsageError
from forensics.evidence.objects import Location, S3Path
from forensics.inventory.walk import walk

#: Cases that are kept; of more the ones that were used longest ago go.
KEPT = 20
#: A case that somebody used so lately is not taken away, seconds.
_LATELY = 24 * 3600
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
            with suppress(OSError), file.open("rb") as bytes_:  # the ingest says what cannot be read
                key.update(hashlib.file_digest(bytes_, "sha256").digest())
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
        raise UsageError("There is no place for the case.", why=e.strerror or str(e), where=str(place), fix="--case DIR names one.") from e
    return place


def where() -> Path:
    """The folder of these cases, which need not exist."""
    return Path(platformdirs.user_cache_dir("kafka-forensics")) / "cases"


def tidy() -> None:
    """Takes away the cases, and kept inputs, that were used longest ago."""
    with suppress(OSError):
        found = sorted((p for p in shelf().iterdir() if p.is_dir()), key=lambda p: p.stat().st_mtime, reverse=True)
        for old in found[KEPT:]:
            if time.time() - old.stat().st_mtime > _LATELY:
                shutil.rmtree(old, ignore_errors=True)
