"""Manage processes on this machine that examine and read evidence without an engine: start them, give them work, end them.

They start before it is known what there is to read, and while Spark starts. Spark's Python workers would not read faster, and only after Spark has
started. This module imports little: the sooner the processes start, the more they have imported when they are needed.
"""

from __future__ import annotations

import ctypes
import gc
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from forensics.errors import ForensicsError
from forensics.import_guard import SAFE

if TYPE_CHECKING:
    from forensics.catalogue.patterns import Catalogue
    from forensics.extract.splits import FileSplit
    from forensics.inventory.evidence import Evidence
    from forensics.inventory.source_options import SourceOptions
    from forensics.inventory.walk import FileFound

#: Table, name and number of rows of a file that was written; or `range_row`, its row as JSON, and 1.
Written = tuple[str, str, int]
#: Called with the number of bytes that have been read, and the total.
Progress = Callable[[int, int], None]
#: If there are this many bytes for each process, processes start before the files are examined. With fewer bytes, perhaps nothing is new.
MUCH_BYTES = 32 << 20
#: Processes examine the files if there are this many for each: most of an examination is single-threaded.
_MANY_FILES = 50
#: Environment of reading processes, set before numpy is imported. Its linear algebra, unused here, would start threads that spin while they wait.
_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
_KEPT_BYTES = 256 << 20
_COLLECTED_AFTER = 100_000, 20, 100
#: Each process needs its own window and rows. Disks do not supply more than this many readers.
_MAX_PROCESSES = 32
# The parent of the readers gets this process's search path, which may be a checkout's.
_PARENT = "import sys; sys.path[:] = {path!r}; from forensics.extract.local_reading import serve; serve()"


def collect_seldom() -> None:
    """Make Python look for cycles after 100,000 new objects instead of 700. Only for our own processes; saves a fifth of the time for new content."""
    gc.set_threshold(*_COLLECTED_AFTER)


def keep_memory() -> None:
    """Set the thresholds of glibc's allocator for this process; do nothing on other C libraries. Saves a fifth of a reading task's time.

    By default, the C library returns memory to the kernel after each array and immediately gets the same pages back, cleared again.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError, TypeError):
        return
    mallopt(_M_MMAP_THRESHOLD, _KEPT_BYTES)
    mallopt(_M_TRIM_THRESHOLD, _KEPT_BYTES)


def cores() -> int:
    """Return the number of cores that this process may use: those of the machine, or fewer in a container."""
    found = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with suppress(OSError, ValueError):  # another system, an older one, or no limit
        quota, period = map(int, Path("/sys/fs/cgroup/cpu.max").read_text().split())
        found = min(found, max(1, round(quota / period)))
    return found


class Readers:
    """Processes that read evidence, forked by one parent, which imports and prepares once what all of them need. If one is enough, this process reads.

    Args:
        most: maximum number that read at the same time (not above 32); the number of cores if None. This process reads if it cannot fork.
    """

    def __init__(self, most: int | None) -> None:
        # Windows cannot fork.
        self.most = min(most or cores(), _MAX_PROCESSES) if hasattr(os, "fork") else 1
        self._parent: subprocess.Popen[bytes] | None = None
        # The parent receives its input after it has imported what it needs; this process does not wait for that.
        self._sender = ThreadPoolExecutor(1)
        self._work: tuple[Catalogue, Path] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._sender.shutdown()
        if self._parent is not None:
            with suppress(BrokenPipeError):  # a process that has ended has not read its input
                self._parent.communicate()

    def begin(self, count: int) -> None:
        """Start the parent of `count` processes, unless it has started or one process is enough."""
        if min(count, self.most) > 1 and self._parent is None:
            # It leads a process group, so that one signal ends all of them.
            self._parent = subprocess.Popen(
                [sys.executable, "-P", "-c", _PARENT.format(path=sys.path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                env={**os.environ, **SAFE, **_ONE_THREAD}, process_group=0,
            )  # fmt: skip
            self._send(self._work)

    def send_catalogue(self, catalogue: Catalogue, target: Path) -> None:
        """Send the processes, once, the messages to read by and the folder for rows.

        Args:
            catalogue: the messages.
            target: folder for Parquet files.
        """
        self._work = catalogue, target
        self._send(self._work)

    def examine(self, found: Sequence[FileFound], options: SourceOptions) -> Iterator[tuple[int, list[Evidence]]] | None:
        """Start the parent if there is much to read. Yield number and description of each file if there are many, else return None.

        Args:
            found: the files.
            options: the user's options for files.
        """
        many = len(found) // _MANY_FILES
        self.begin(max(sum(file.size for file in found) // MUCH_BYTES, many))
        return self._done("examine", [(file, options) for file in found], min(self.most, many)) if many > 1 and self._parent else None

    def read(self, partitions: Sequence[tuple[FileSplit, ...]], progress: Progress = lambda done, total: None) -> list[Written]:
        """Read partitions on this machine.

        Args:
            partitions: the return value of `splits.plan`.
            progress: called with the bytes of the partitions that have been read, and the total.

        Raises:
            ForensicsError: a reading process has ended.
        """
        from forensics.extract.local_reading import read_here

        sizes = [sum(split.stop - split.start for split in partition) for partition in partitions]
        count, done = min(self.most, len(partitions)), 0
        assert self._work is not None  # noqa: S101  (for the type checker)
        self.begin(count)
        found: list[Written] = []
        for number, written in self._done("read", partitions, count) if count > 1 else read_here(partitions, *self._work):
            done += sizes[number]
            found += written
            progress(done, sum(sizes))
        return found

    def _done(self, what: str, work: Sequence[Any], count: int) -> Iterator[tuple[int, Any]]:
        """Let `count` processes do some work, see `local_reading.serve`; yield the number of each part of it, and the result."""
        assert self._parent is not None  # noqa: S101
        assert self._parent.stdout is not None  # noqa: S101
        self._send((what, work, count))
        try:
            for _ in work:
                answer = pickle.load(self._parent.stdout)  # noqa: S301  (what our own process wrote)
                if isinstance(answer, Exception):
                    raise answer  # noqa: TRY301
                yield answer
        except EOFError as e:
            code = self._parent.wait()
            raise ended(f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}") from e
        except BaseException:
            with suppress(ProcessLookupError):  # they have ended
                os.killpg(self._parent.pid, signal.SIGKILL)
            raise

    def _send(self, what: object) -> None:
        """Send the parent what it waits for next, if both exist."""
        if self._parent is not None and what is not None:
            self._sender.submit(self._dump, what)

    def _dump(self, what: object) -> None:
        assert self._parent is not None  # noqa: S101
        assert self._parent.stdin is not None  # noqa: S101
        # If the parent has ended, the code that waits for its answers reports it.
        with suppress(BrokenPipeError):
            pickle.dump(what, self._parent.stdin)
            self._parent.stdin.flush()


def ended(why: str) -> ForensicsError:
    """Return the error that a reading process has ended."""
    fix = "The system may have killed it for lack of memory: --jobs 1 needs less. Run this command again; the case has not changed."
    return ForensicsError("A process that read evidence ended before it had finished.", why=why, fix=fix)
