"""Read partitions of evidence, in this process or in forked children that share prepared data."""

from __future__ import annotations

import gc
import json
import os
import pickle
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, BinaryIO

from forensics.catalogue.recogniser import Recogniser
from forensics.errors import ForensicsError
from forensics.evidence.objects import Location
from forensics.extract.parquet_parts import PartWriter
from forensics.extract.reading import RangeRow, Tools, read_splits
from forensics.extract.reading_processes import collect_seldom, keep_memory
from forensics.extract.row_builder import Schemas
from forensics.extract.splits import FileSplit
from forensics.pandas_import import hide

if TYPE_CHECKING:
    from pathlib import Path

    from forensics.catalogue.patterns import Catalogue
    from forensics.extract.reading_processes import Pipe, Written


def read_partition(splits: Iterable[FileSplit], tools: Tools, target: Location, done: Callable[[RangeRow], None] = lambda row: None) -> list[Written]:
    """Read splits, write their rows as Parquet files into a folder, and return a list of the files.

    Args:
        splits: splits to read; members of one archive are next to each other.
        tools: read the splits; a process has one for all partitions.
        target: a folder, created if missing, or a prefix of objects.
        done: called with the statistics of each split after it has been read.
    """
    keep_memory()
    with PartWriter(target, tools.schemas) as writer:
        for part in read_splits(tuple(splits), tools):
            writer.write(part)
            if isinstance(part, RangeRow):
                done(part)
    return writer.written()


def range_rows(written: Sequence[Written]) -> list[dict[str, object]]:
    """Return the rows of `range_row` in `written`, with the keys `error`, `summaries`, `runs` and `doubled`."""
    return [json.loads(text) for table, text, _ in written if table == "range_row"]


def read_here(partitions: Sequence[tuple[FileSplit, ...]], catalogue: Catalogue, target: Path, done: Callable[[int], None]) -> list[Written]:
    """Read partitions in this process, one after the other.

    Args:
        partitions: the return value of `splits.plan`.
        catalogue: the messages.
        target: folder for Parquet files.
        done: called with the size in bytes of each split after it has been read.
    """
    tools = Tools(Recogniser(catalogue), Schemas.of(catalogue.fields.values()))
    return [file for splits in partitions for file in read_partition(splits, tools, target, lambda row: done(_bytes_of(row)))]


def serve(received: bytes) -> None:
    """Run the parent of the reading processes: prepare what they share, fork them, and write to standard output how each of them ended.

    Args:
        received: the pickled catalogue, target folder and pipes of each reader, as the waiting process sends them; empty if there is no work.
    """
    if not received:
        return
    hide()
    collect_seldom()
    ends = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # other output goes to standard error
    pipes: Sequence[Pipe]
    catalogue, target, pipes = pickle.loads(received)  # noqa: S301  (what our own process wrote)
    recogniser = Recogniser(catalogue)
    recogniser.prepare()
    tools = Tools(recogniser, Schemas.of(catalogue.fields.values()))
    gc.freeze()  # otherwise the search for cycles would copy shared memory
    numbers: dict[int, int] = {}
    for number, (source, answers) in enumerate(pipes):
        child = os.fork()
        if not child:
            code = 1
            try:
                for end in (end for other in pipes for end in other if other is not pipes[number]):
                    os.close(end)
                with suppress(BrokenPipeError), os.fdopen(source, "rb") as tasks, os.fdopen(answers, "wb") as out:
                    _serve(tasks, out, lambda splits, done: read_partition(splits, tools, target, done))
                    code = 0
            finally:
                os._exit(code)
        numbers[child] = number
    for end in (end for both in pipes for end in both):
        os.close(end)
    with suppress(BrokenPipeError), ends:
        while numbers:
            child, status = os.wait()
            pickle.dump((numbers.pop(child), os.waitstatus_to_exitcode(status)), ends)
            ends.flush()


def _serve(tasks: BinaryIO, out: BinaryIO, read: Callable[[tuple[FileSplit, ...], Callable[[RangeRow], None]], list[Written]]) -> None:
    """Read partitions as they arrive until there are no more, and report the files that were written."""

    def send(what: object) -> None:
        pickle.dump(what, out)
        out.flush()

    while True:
        try:
            splits = pickle.load(tasks)  # noqa: S301
        except EOFError:
            return
        try:
            send(read(splits, lambda row: send(_bytes_of(row))))
        except Exception as e:  # the waiting process reports every error
            send(_portable(e))


def _bytes_of(row: RangeRow) -> int:
    return int(row.row["range_end"]) - int(row.row["range_start"])


def _portable(error: Exception) -> Exception:
    """Return the error, or a substitute if it cannot be pickled."""
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301
    except Exception:  # whatever its class requires
        return ForensicsError("Evidence could not be read.", why=f"{type(error).__name__}: {error}")
    return error
