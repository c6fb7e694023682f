"""Provide folders for temporary files that are private to the user and are removed when the process ends, however it ends.

A killed process cannot clean up. For Spark's files, a shell in a session of its own, which signals to the process group do not reach, waits for its end and removes the
folder. If even the shell could not (power failure), the next process does.
"""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

PREFIX = "kafka-forensics-"
_LOCK = ".lock"
#: A process has created its lock and holds it within the first time, and has a lock within the second.
_LOCKED_SECONDS, _ABANDONED_SECONDS = 2, 60
_ATTEMPTS = 20
#: Java ends after this process and still writes, so the folder must stay absent for a second.
_REMOVE = 'cat; gone=0; while [ $gone -lt 4 ]; do if [ -e "$0" ]; then gone=0; rm -rf "$0"; else gone=$((gone+1)); fi; sleep 0.3; done'
#: Open while this process runs: the folder's lock shows that it is in use, and the end of the pipe shows the shell that it no longer is.
_HELD: list[object] = []
#: Folders of outputs that are not complete.
_UNFINISHED: set[Path] = set()


class PrivateFolder:
    """A folder for temporary files, private to the user and locked while this process uses it. The next process removes it if this one is killed.

    Args:
        below: parent folder; that of the system by default.

    Raises:
        OSError: it cannot be created.
    """

    def __init__(self, below: Path | None = None) -> None:
        from filelock import FileLock

        below = Path(tempfile.gettempdir()) if below is None else below
        sweep(below)
        self.path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=below))  # 0700
        self._lock = FileLock(self.path / _LOCK, mode=0o600, thread_local=False)
        self._lock.acquire()

    def remove(self) -> None:
        """Remove the folder and all that is in it."""
        self._lock.release()
        shutil.rmtree(self.path, ignore_errors=True)

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *_: object) -> None:
        self.remove()


@contextmanager
def unfinished(prefix: str, below: Path) -> Iterator[Path]:
    """Create a folder for an output that is renamed when it is complete; if it is not, remove it, also after an interrupt.

    Raises:
        OSError: it cannot be created.
    """
    folder = below / f"{prefix}{secrets.token_hex(4)}"
    _UNFINISHED.add(folder)
    try:
        folder.mkdir(mode=0o700)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        _UNFINISHED.discard(folder)


def remove_unfinished() -> None:
    """Remove the folders of incomplete outputs before the process ends; another thread may still write into them."""
    for folder in list(_UNFINISHED):
        for _ in range(_ATTEMPTS):
            shutil.rmtree(folder, ignore_errors=True)
            if not folder.exists():
                break


@cache
def scratch(below: Path) -> Path:
    """Return the folder of this process; the first call creates it.

    Args:
        below: parent folder.

    Raises:
        OSError: it cannot be created.
    """
    folder = PrivateFolder(below)
    nowhere = subprocess.DEVNULL
    with suppress(OSError):  # without a shell, the next process cleans up
        _HELD.append(
            subprocess.Popen(
                ["/bin/sh", "-c", _REMOVE, str(folder.path)], stdin=subprocess.PIPE, stdout=nowhere, stderr=nowhere, cwd="/", start_new_session=True
            )
        )
    _HELD.append(folder)
    return folder.path


def sweep(below: Path | None = None) -> None:
    """Remove folders of this user whose process has ended.

    Args:
        below: their parent folder; that of the system by default. What cannot be read or removed stays.
    """
    below = Path(tempfile.gettempdir()) if below is None else below
    names = []
    with suppress(OSError):
        names = [name for name in os.listdir(below) if name.startswith(PREFIX)]  # noqa: PTH208  (the names only)
    if not names:
        return
    from filelock import FileLock  # it takes as long to import as a short command has

    for folder in (below / name for name in names):
        with suppress(OSError):
            if folder.is_symlink() or folder.stat().st_uid != os.getuid():
                continue
            if (folder / _LOCK).exists():
                if (folder / _LOCK).stat().st_mtime > time.time() - _LOCKED_SECONDS:
                    continue
                with FileLock(folder / _LOCK, timeout=0):  # its `Timeout` is an OSError
                    shutil.rmtree(folder, ignore_errors=True)
            elif not any(folder.iterdir()) and folder.stat().st_mtime < time.time() - _ABANDONED_SECONDS:  # its process ended before it was locked
                folder.rmdir()
