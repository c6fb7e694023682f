"""Manage processes on this machine that read evidence without an engine: start them, give them partitions, end them.

They start before it is known what there is to read, and while Spark starts. Spark's Python workers would not read faster, and only after Spark has
started. This module imports little: the sooner the processes start, the more they have imported when they are needed.
"""

from __future__ import annotations

import ctypes
import gc
import os
import pickle
import queue
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, BinaryIO, Self

from forensics.errors import ForensicsError
from forensics.import_guard import SAFE

if TYPE_CHECKING:
    from forensics.catalogue.patterns import Catalogue
    from forensics.extract.splits import FileSplit

#: Table, name and number of rows of a file that was written; or `range_row`, its row as JSON, and 1.
Written = tuple[str, str, int]
#: File descriptors from which a process reads its tasks, and to which it writes its results.
Pipe = tuple[int, int]
#: Called with the number of bytes that have been read, and the total.
Progress = Callable[[int, int], None]
#: If there are this many bytes for each process, processes start before the files are examined. With fewer bytes, perhaps nothing is new.
MUCH_BYTES = 32 << 20
#: Environment of reading processes, set before numpy is imported. Its linear algebra, unused here, would start threads that spin while they wait.
_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
_KEPT_BYTES = 256 << 20
_COLLECTED_AFTER = 100_000, 20, 100
#: Each process needs the ends of four pipes in this process, and its own window and rows. Disks do not supply more than this many readers.
_MAX_PROCESSES = 32
# The child gets this process's search path, which may be a checkout's. It receives its input while it imports, so that the sender does not wait.
_PARENT = """
import sys
from threading import Thread
received = []
listening = Thread(target=lambda: received.append(sys.stdin.buffer.read()), daemon=True)
listening.start()
sys.path[:] = {path!r}
from forensics.extract.local_reading import serve
listening.join()
serve(received[0])
"""


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
    """Processes that read evidence. If one process is enough, this one reads.

    Args:
        most: maximum number that read at the same time (not above 32); the number of cores if None. This process reads if it cannot fork.
    """

    def __init__(self, most: int | None) -> None:
        # Windows cannot fork.
        self.most = min(most or cores(), _MAX_PROCESSES) if hasattr(os, "fork") else 1
        self._families: list[_Family] = []
        self._work: tuple[Catalogue, Path] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        for family in self._families:
            family.close()

    def begin(self, count: int) -> None:
        """Start processes until there are `count` of them."""
        count = min(count, self.most)
        more = count - sum(len(family.readers) for family in self._families)
        if more > 0 and count > 1:
            self._families.append(_Family(more))
            if self._work:
                self._families[-1].send_catalogue(*self._work)

    def send_catalogue(self, catalogue: Catalogue, target: Path) -> None:
        """Send the processes, once, the messages to read by and the folder for rows.

        Args:
            catalogue: the messages.
            target: folder for Parquet files.
        """
        self._work = catalogue, target
        for family in self._families:
            family.send_catalogue(catalogue, target)

    def read(self, partitions: Sequence[tuple[FileSplit, ...]], progress: Progress = lambda done, total: None) -> list[Written]:
        """Read partitions on this machine.

        Args:
            partitions: the return value of `splits.plan`.
            progress: called with the bytes of the splits that have been read, and the total.

        Raises:
            ForensicsError: a reading process has ended.
        """
        total = sum(split.stop - split.start for partition in partitions for split in partition)
        read_so_far = 0

        def count(size: int) -> None:
            nonlocal read_so_far
            read_so_far += size
            progress(min(read_so_far, total), total)

        if min(self.most, len(partitions)) <= 1:
            from forensics.extract.local_reading import read_here

            assert self._work is not None  # noqa: S101  (for the type checker)
            return read_here(partitions, *self._work, count)
        waiting: queue.SimpleQueue[tuple[FileSplit, ...]] = queue.SimpleQueue()
        for splits in partitions:
            waiting.put(splits)
        self.begin(len(partitions))
        readers = [reader for family in self._families for reader in family.readers]
        with ThreadPoolExecutor(len(readers)) as pool:
            futures = [pool.submit(reader.work, waiting, count) for reader in readers]
            try:
                written = [row for future in futures for row in future.result()]
            except BaseException:
                for family in self._families:
                    family.kill()
                raise
        for reader in readers:
            reader.dismiss()
        return written


class _Family:
    """Reading processes forked by one parent, which imports and prepares once what all of them need.

    Args:
        count: number of reading processes.

    Attributes:
        readers: the reading processes.
    """

    def __init__(self, count: int) -> None:
        code = _PARENT.format(path=sys.path)
        pipes = [(os.pipe(), os.pipe()) for _ in range(count)]
        self._theirs: list[Pipe] = [(tasks[0], answers[1]) for tasks, answers in pipes]
        passed = [end for both in self._theirs for end in both]
        try:
            # They form a process group, so that one signal ends all of them.
            self._parent = subprocess.Popen(
                [sys.executable, "-P", "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                env={**os.environ, **SAFE, **_ONE_THREAD}, pass_fds=passed, process_group=0,
            )  # fmt: skip
        finally:
            for end in passed:
                os.close(end)
        self.readers = [
            _Reader(self, number, os.fdopen(tasks[1], "wb"), os.fdopen(answers[0], "rb")) for number, (tasks, answers) in enumerate(pipes)
        ]
        self._codes_lock = Lock()
        self._codes: dict[int, int] = {}

    def send_catalogue(self, catalogue: Catalogue, target: Path) -> None:
        """Send the parent, once, the messages to read by and the folder for rows."""
        assert self._parent.stdin is not None  # noqa: S101  (for the type checker)
        # If the parent has ended, so have its readers: the code that waits for these reports it.
        with suppress(BrokenPipeError), self._parent.stdin as pipe:
            pickle.dump((catalogue, target, self._theirs), pipe)

    def exit_code(self, reader: int) -> int:
        """Return the exit code of a reader that has ended; the parent's, if the parent ended before it could report the reader's."""
        assert self._parent.stdout is not None  # noqa: S101
        with self._codes_lock:
            while reader not in self._codes:
                try:
                    number, code = pickle.load(self._parent.stdout)  # noqa: S301  (what our own process wrote)
                except EOFError:
                    return self._parent.wait()
                self._codes[number] = code
            return self._codes[reader]

    def kill(self) -> None:
        """Kill all of them with one signal."""
        with suppress(ProcessLookupError):  # they have ended
            os.killpg(self._parent.pid, signal.SIGKILL)

    def close(self) -> None:
        """Wait until all of them have ended."""
        for stream in (self._parent.stdin, *(reader.tasks for reader in self.readers)):
            assert stream is not None  # noqa: S101
            with suppress(BrokenPipeError):  # a process that has ended has not read its input
                stream.close()
        for reader in self.readers:
            reader.close()
        self._parent.wait()
        assert self._parent.stdout is not None  # noqa: S101
        self._parent.stdout.close()


class _Reader:
    """A process that reads partitions, one after the other.

    Args:
        family: the processes that it belongs to.
        number: its number among them.
        tasks: pipe for its tasks.
        answers: pipe from which its results are read.
    """

    def __init__(self, family: _Family, number: int, tasks: BinaryIO, answers: BinaryIO) -> None:
        self._family, self._number, self.tasks, self._answers = family, number, tasks, answers

    def work(self, waiting: queue.SimpleQueue[tuple[FileSplit, ...]], count: Callable[[int], None]) -> list[Written]:
        """Let the process read partitions while there are any; return the files that it wrote."""
        out: list[Written] = []
        while True:
            try:
                splits = waiting.get_nowait()
            except queue.Empty:
                return out
            self._send(splits)
            while True:
                match self._receive():
                    case int() as size:
                        count(size)
                    case list() as written:
                        out.extend(written)
                        break
                    case Exception() as error:
                        raise error

    def _send(self, what: object) -> None:
        try:
            pickle.dump(what, self.tasks)
            self.tasks.flush()
        except OSError as e:
            raise self._ended() from e

    def _receive(self) -> object:
        try:
            return pickle.load(self._answers)  # noqa: S301  (what our own process wrote)
        except EOFError as e:
            raise self._ended() from e

    def _ended(self) -> ForensicsError:
        code = self._family.exit_code(self._number)
        why = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        fix = "The system may have killed it for lack of memory: --jobs 1 needs less. Run this command again; the case has not changed."
        return ForensicsError("A process that read evidence ended before it had finished.", why=why, fix=fix)

    def dismiss(self) -> None:
        """Let the process end, which takes a while, because there are no more tasks."""
        self.tasks.close()

    def close(self) -> None:
        """Wait until the process has ended."""
        with self._answers:
            while self._answers.read(1 << 16):
                pass
