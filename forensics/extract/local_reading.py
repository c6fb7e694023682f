"""Reads partitions of evidence on this machine: in this process where there is one, else in processes that need nothing of an engine.

Spark starts meanwhile. Its Python workers would read no faster, and only when it runs.
"""

from __future__ import annotations

import json
import os
import pickle
import queue
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.abc import MetaPathFinder
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Self

from forensics.catalogue.recogniser import Recogniser
from forensics.errors import ForensicsError
from forensics.evidence.objects import Location
from forensics.extract.memory import ONE_THREAD, collect_seldom, keep_memory
from forensics.extract.parquet_parts import PartWriter
from forensics.extract.reading import read_splits
from forensics.extract.row_builder import Schemas
from forensics.extract.split_counts import RangeRow
from forensics.extract.splits import FileSplit
from forensics.import_guard import SAFE

if TYPE_CHECKING:
    from forensics.catalogue.patterns import Catalogue

#: Table, name and rows of a file that was written; or `range_row`, its row as JSON, and 1.
Written = tuple[str, str, int]
#: Given the bytes that have been read and those that there are.
Progress = Callable[[int, int], None]
# The search path is this process's: it may run from a checkout. What comes first is taken before anything is imported, so that nobody waits for it.
_CHILD = """
import sys
first = sys.stdin.buffer.read(int.from_bytes(sys.stdin.buffer.read(8), "little"))
sys.path[:] = {path!r}
from forensics.extract.local_reading import serve
serve(first)
"""


def read_partition(
    splits: Iterable[FileSplit], recogniser: Recogniser, schemas: Schemas, target: Location, done: Callable[[RangeRow], None] = lambda row: None
) -> list[Written]:
    """Reads splits, writes their rows as Parquet files into a folder, and tells what it wrote.

    Args:
        splits: what to read; members of one archive stand together.
        recogniser: knows the messages.
        schemas: of the tables.
        target: the folder, made when it does not exist; or a prefix of objects.
        done: told the statistics of each split when it has been read.
    """
    keep_memory()
    with PartWriter(target, schemas) as writer:
        for part in read_splits(tuple(splits), recogniser, schemas):
            writer.write(part)
            if isinstance(part, RangeRow):
                done(part)
    return writer.written()


class Readers:
    """Processes that read, which may start before it is known what there is to read. Where one is enough, this process reads.

    Args:
        catalogue: the messages.
        target: folder for Parquet files.
        most: how many processes may read at once.
    """

    def __init__(self, catalogue: Catalogue, target: Path, most: int) -> None:
        self._catalogue, self._target, self.most = catalogue, target, most
        self._readers: list[_Reader] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        for reader in self._readers:
            reader.close()

    def begin(self, count: int) -> None:
        """Starts processes, until there are so many."""
        count = min(count, self.most)
        while len(self._readers) < count > 1:
            self._readers.append(_Reader(self._catalogue, self._target))

    def read(self, partitions: Sequence[tuple[FileSplit, ...]], progress: Progress = lambda done, total: None) -> list[Written]:
        """Reads partitions on this machine.

        Args:
            partitions: as `splits.plan` gives them.
            progress: told bytes of the splits that have been read, and all.

        Raises:
            ForensicsError: a process that read has ended.
        """
        total = sum(map(_size, (split for partition in partitions for split in partition)))
        read_so_far = 0

        def count(size: int) -> None:
            nonlocal read_so_far
            read_so_far += size
            progress(min(read_so_far, total), total)

        if min(self.most, len(partitions)) <= 1:
            recogniser, schemas = Recogniser(self._catalogue), Schemas.of(self._catalogue.fields.values())
            return [
                told for splits in partitions for told in read_partition(splits, recogniser, schemas, self._target, lambda row: count(_bytes_of(row)))
            ]  # fmt: skip
        waiting: queue.SimpleQueue[tuple[FileSplit, ...]] = queue.SimpleQueue()
        for splits in partitions:
            waiting.put(splits)
        self.begin(len(partitions))
        with ThreadPoolExecutor(len(self._readers)) as pool:
            futures = [pool.submit(reader.work, waiting, count) for reader in self._readers]
            try:
                written = [told for future in futures for told in future.result()]
            except BaseException:
                for reader in self._readers:
                    reader.kill()
                raise
        for reader in self._readers:
            reader.dismiss()
        return written


def range_rows(written: Sequence[Written]) -> list[dict[str, object]]:
    """Rows of `range_row` among what was written, with the key `error`."""
    return [json.loads(text) for table, text, _ in written if table == "range_row"]


def _size(split: FileSplit) -> int:
    return split.stop - split.start


def _bytes_of(row: RangeRow) -> int:
    return int(row.row["range_end"]) - int(row.row["range_start"])


class _Reader:
    """A process that reads partitions, one after the other.

    Args:
        catalogue: the messages.
        target: folder for Parquet files.
    """

    def __init__(self, catalogue: Catalogue, target: Path) -> None:
        code = _CHILD.format(path=sys.path)
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, **SAFE, **ONE_THREAD}
        )
        first = pickle.dumps((catalogue, target))
        self._write(len(first).to_bytes(8, "little") + first)

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
        self._write(pickle.dumps(what))

    def _write(self, data: bytes) -> None:
        assert self._process.stdin is not None  # noqa: S101  (for the type checker)
        try:
            self._process.stdin.write(data)
            self._process.stdin.flush()
        except OSError as e:
            raise self._ended() from e

    def _receive(self) -> object:
        assert self._process.stdout is not None  # noqa: S101
        try:
            return pickle.load(self._process.stdout)  # noqa: S301  (what our own process wrote)
        except EOFError as e:
            raise self._ended() from e

    def _ended(self) -> ForensicsError:
        code = self._process.wait()
        why = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        fix = "Maybe the system was short of memory and ended it: --jobs 1 needs less. Run this again: the case is as it was before."
        return ForensicsError("A process that read evidence has ended before its work was done.", why=why, fix=fix)

    def kill(self) -> None:
        self._process.kill()

    def dismiss(self) -> None:
        """Lets the process end, which takes it a while, as nothing more will come."""
        assert self._process.stdin is not None  # noqa: S101
        self._process.stdin.close()

    def close(self) -> None:
        """Ends the process."""
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None  # noqa: S101
            try:
                stream.close()
            except OSError:
                self._process.kill()  # it has not taken what was sent
        self._process.wait()


class _WithoutPandas(MetaPathFinder):
    """Arrow imports pandas where it is installed, if only to see that no array is one of its own; that takes longer than a small file."""

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> None:
        if fullname == "pandas":
            raise ModuleNotFoundError(fullname)


def serve(first: bytes) -> None:
    """What a process that reads does: takes partitions from its standard input, and tells what it wrote on its standard output.

    Args:
        first: the catalogue and the folder to write to, as the process that waits sends them.
    """
    sys.meta_path.insert(0, _WithoutPandas())
    collect_seldom()
    source, answers = sys.stdin.buffer, _own_output()
    catalogue, target = pickle.loads(first)  # noqa: S301  (what our own process wrote)
    recogniser, schemas = Recogniser(catalogue), Schemas.of(catalogue.fields.values())
    recogniser.prepare()

    def tell(what: object) -> None:
        pickle.dump(what, answers)
        answers.flush()

    while True:
        try:
            splits = pickle.load(source)  # noqa: S301
        except EOFError:
            return
        try:
            tell(read_partition(splits, recogniser, schemas, target, lambda row: tell(_bytes_of(row))))
        except Exception as e:  # whatever it is, the process that waits says it
            tell(_portable(e))


def _own_output() -> BinaryIO:
    """Standard output for this module alone; what anything else prints goes to standard error."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return answers


def _portable(error: Exception) -> Exception:
    """An error that another process can take."""
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301
    except Exception:  # whatever its class asks for
        return ForensicsError("Evidence could not be read.", why=f"{type(error).__name__}: {error}")
    return error
