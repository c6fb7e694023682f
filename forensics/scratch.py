"""A folder for temporary files of Spark: of this user alone, and gone when the process has ended, however it ended.

A killed process cannot clean up. So a shell that waits for its end does, in a session of its own, where no signal to the process's group reaches it;
and what even that left behind (the machine lost its power) is removed by the next process.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path

from filelock import FileLock

PREFIX = "kafka-forensics-"
_LOCK = ".lock"
#: Java ends after us and still writes: the folder has to stay away for a second.
_REMOVE = 'cat; gone=0; while [ $gone -lt 4 ]; do if [ -e "$0" ]; then gone=0; rm -rf "$0"; else gone=$((gone+1)); fi; sleep 0.3; done'
#: Open as long as this process lives: a folder's lock tells that it is in use, the pipe tells the shell that it is not any more.
_HELD: list[object] = []


@cache
def scratch(below: Path) -> Path:
    """The folder of this process; made at the first call.

    Args:
        below: where to make it.

    Raises:
        OSError: it cannot be made.
    """
    _sweep(below)
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=below))  # 0700
    lock = FileLock(folder / _LOCK, mode=0o600)
    lock.acquire()
    nowhere = subprocess.DEVNULL
    with suppress(OSError):  # without a shell the next process cleans up
        _HELD.append(
            subprocess.Popen(
                ["/bin/sh", "-c", _REMOVE, str(folder)], stdin=subprocess.PIPE, stdout=nowhere, stderr=nowhere, cwd="/", start_new_session=True
            )
        )
    _HELD.append(lock)
    return folder


def _sweep(below: Path) -> None:
    """Removes folders of this user whose process is gone."""
    for folder in below.glob(PREFIX + "*"):
        with suppress(OSError):
            if folder.is_symlink() or folder.stat().st_uid != os.getuid():
                continue
            if (folder / _LOCK).exists():
                with FileLock(folder / _LOCK, timeout=0):  # its `Timeout` is an OSError
                    shutil.rmtree(folder, ignore_errors=True)
