"""Processes of this machine that read evidence, and need nothing of an engine: started, given partitions, ended.

They start before it is known what there is to read, and Spark starts meanwhile; its Python workers would read no faster, and only when it runs. Nothing heavy
is imported here: the sooner the processes start, the more they have imported when they are needed.
"""

from __future__ import annotations

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
from forensics.extract.memory import ONE_THREAD
from forensics.import_guard import SAFE

if TYPE_CHECKING:
    from forensics.catalogue.patterns import Catalogue
    from forensics.extract.splits import FileSplit

#: Table, name and rows of a file that was written; or `range_row`, its row as JSON, and 1.
Written = tuple[str, str, int]
#: Where a process finds its tasks, and where it tells what it wrote.
Pipe = tuple[int, int]
#: Given the bytes that have been read and those that there are.
Progress = Callable[[int, int], None]
#: Of so many bytes for each of them, processes start before files are looked at; of fewer, perhaps nothing is new.
MUCH_BYTES = 32 << 20
#: Each has four pipes' ends in this process, and a window and rows of its own; a disk gives no more than so many can read.
_MOST_PROCESSES = 32
# The search path is this process's: it may run from a checkout. What is told it takes while it imports, so that nobody waits for it.
_PARENT = """
import sys
from threading import Thread
told = []
listening = Thread(target=lambda: told.append(sys.stdin.buffer.read()), daemon=True)
listening.start()
sys.path[:] = {path!r}
from forensics.extract.local_reading import serve
listening.join()
serve(told[0])
"""


def cores() -> int:
    """Return the number of cores that this process may use: those of the machine, or fewer in a container."""
    found = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with suppress(OSError, ValueError):  # another system, an older one, or no limit
        quota, period = map(int, Path("/sys/fs/cgroup/cpu.max").read_text().split())
        found = min(found, max(1, round(quota / period)))
    return found


class Readers:
    """Processes that read. Where one is enough, this process reads.

    Args:
        most: how many may read at once, 32 at most; as many as there are cores when None. Where a process cannot be forked, this process reads.
    """

    def __init__(self, most: int | None) -> None:
        # Windows has no fork.
        self.most = min(most or cores(), _MOST_PROCESSES) if hasattr(os, "fork") else 1
        self._families: list[_Family] = []
        self._work: tuple[Catalogue, Path] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        for family in self._families:
            family.close()

    def begin(self, count: int) -> None:
        """Starts processes, until there are so many."""
        count = min(count, self.most)
        more = count - sum(len(family.readers) for family in self._families)
        if more > 0 and count > 1:
            self._families.append(_Family(more))
            if self._work:
                self._families[-1].tell(*self._work)

    def tell(self, catalogue: Catalogue, target: Path) -> None:
        """Says once what evidence is read by, and where rows go.

        Args:
            catalogue: the messages.
            target: folder for Parquet files.
        """
        self._work = catalogue, target
        for family in self._families:
            family.tell(catalogue, target)

    def read(self, partitions: Sequence[tuple[FileSplit, ...]], progress: Progress = lambda done, total: None) -> list[Written]:
        """Reads partitions on this machine.

        Args:
            partitions: as `splits.plan` gives them.
            progress: told bytes of the splits that have been read, and all.

        Raises:
            ForensicsError: a process that read has ended.
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
                written = [told for future in futures for told in future.result()]
            except BaseException:
                for family in self._families:
                    family.kill()
                raise
        for reader in readers:
            reader.dismiss()
        return written


class _Family:
    """Processes that read, of one that begot them: what all need is imported and made ready once.

    Args:
        count: how many read.

    Attributes:
        readers: those who read.
    """

    def __init__(self, count: int) -> None:
        code = _PARENT.format(path=sys.path)
        pipes = [(os.pipe(), os.pipe()) for _ in range(count)]
        self._theirs: list[Pipe] = [(tasks[0], answers[1]) for tasks, answers in pipes]
        passed = [end for both in self._theirs for end in both]
        try:
            # In a group of their own, all can be ended at once.
            self._parent = subprocess.Popen(
                [sys.executable, "-P", "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                env={**os.environ, **SAFE, **ONE_THREAD}, pass_fds=passed, process_group=0,
            )  # fmt: skip
        finally:
            for end in passed:
                os.close(end)
        self.readers = [
            _Reader(self, number, os.fdopen(tasks[1], "wb"), os.fdopen(answers[0], "rb")) for number, (tasks, answers) in enumerate(pipes)
        ]
        self._told = Lock()
        self._codes: dict[int, int] = {}

    def tell(self, catalogue: Catalogue, target: Path) -> None:
        """Says once what evidence is read by, and where rows go."""
        assert self._parent.stdin is not None  # noqa: S101  (for the type checker)
        # Where it has ended, so have its readers: who waits for these will say so.
        with suppress(BrokenPipeError), self._parent.stdin as told:
            pickle.dump((catalogue, target, self._theirs), told)

    def exit_code(self, reader: int) -> int:
        """How a reader ended that has ended; as its parent did, where that ended before it could tell."""
        assert self._parent.stdout is not None  # noqa: S101
        with self._told:
            while reader not in self._codes:
                try:
                    number, code = pickle.load(self._parent.stdout)  # noqa: S301  (what our own process wrote)
                except EOFError:
                    return self._parent.wait()
                self._codes[number] = code
            return self._codes[reader]

    def kill(self) -> None:
        """Ends all of them at once."""
        with suppress(ProcessLookupError):  # they have ended
            os.killpg(self._parent.pid, signal.SIGKILL)

    def close(self) -> None:
        """Waits for the end of all of them."""
        for stream in (self._parent.stdin, *(reader.tasks for reader in self.readers)):
            assert stream is not None  # noqa: S101
            with suppress(BrokenPipeError):  # who has ended has not taken what was sent
                stream.close()
        for reader in self.readers:
            reader.close()
        self._parent.wait()
        assert self._parent.stdout is not None  # noqa: S101
        self._parent.stdout.close()


class _Reader:
    """A process that reads partitions, one after the other.

    Args:
        family: it belongs to.
        number: its number there.
        tasks: what it takes.
        answers: what it tells.
    """

    def __init__(self, family: _Family, number: int, tasks: BinaryIO, answers: BinaryIO) -> None:
        self._family, self._number, self.tasks, self._answers = family, number, tasks, answers

    def work(self, waiting: queue.SimpleQueue[tuple[FileSplit, ...]], count: Callable[[int], None]) -> list[Written]:
        """Reads partitions while there are any."""
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
        fix = "Maybe the system was short of memory and ended it: --jobs 1 needs less. Run this again: the case is as it was before."
        return ForensicsError("A process that read evidence has ended before its work was done.", why=why, fix=fix)

    def dismiss(self) -> None:
        """Lets the process end, which takes it a while, as nothing more will come."""
        self.tasks.close()

    def close(self) -> None:
        """Waits for the end of the process."""
        with self._answers:
            while self._answers.read(1 << 16):
                pass
