"""Reads partitions of evidence: in this process, or as one that was started for it and has children that share what it made ready."""

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
from forensics.extract.memory import collect_seldom, keep_memory
from forensics.extract.parquet_parts import PartWriter
from forensics.extract.reading import Tools, read_splits
from forensics.extract.row_builder import Schemas
from forensics.extract.split_counts import RangeRow
from forensics.extract.splits import FileSplit
from forensics.pandas_import import hide

if TYPE_CHECKING:
    from pathlib import Path

    from forensics.catalogue.patterns import Catalogue
    from forensics.extract.reading_processes import Pipe, Written


def read_partition(splits: Iterable[FileSplit], tools: Tools, target: Location, done: Callable[[RangeRow], None] = lambda row: None) -> list[Written]:
    """Reads splits, writes their rows as Parquet files into a folder, and tells what it wrote.

    Args:
        splits: what to read; members of one archive stand together.
        tools: read them; a process has one for all partitions.
        target: the folder, made when it does not exist; or a prefix of objects.
        done: told the statistics of each split when it has been read.
    """
    keep_memory()
    with PartWriter(target, tools.schemas) as writer:
        for part in read_splits(tuple(splits), tools):
            writer.write(part)
            if isinstance(part, RangeRow):
                done(part)
    return writer.written()


def range_rows(written: Sequence[Written]) -> list[dict[str, object]]:
    """Rows of `range_row` among what was written, with the keys `error`, `signs` and `runs`."""
    return [json.loads(text) for table, text, _ in written if table == "range_row"]


def read_here(partitions: Sequence[tuple[FileSplit, ...]], catalogue: Catalogue, target: Path, done: Callable[[int], None]) -> list[Written]:
    """Reads partitions, one after the other.

    Args:
        partitions: as `splits.plan` gives them.
        catalogue: the messages.
        target: folder for Parquet files.
        done: told the bytes of each split when it has been read.
    """
    tools = Tools(Recogniser(catalogue), Schemas.of(catalogue.fields.values()))
    return [told for splits in partitions for told in read_partition(splits, tools, target, lambda row: done(_bytes_of(row)))]


def serve(told: bytes) -> None:
    """What the process does that begets those who read: makes ready what all need, and tells on its standard output how each of them ended.

    Args:
        told: the catalogue, the folder to write to, and the pipes of each reader, as the process that waits sends them; empty when there is no work.
    """
    if not told:
        return
    hide()
    collect_seldom()
    ends = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what anything else prints goes to standard error
    pipes: Sequence[Pipe]
    catalogue, target, pipes = pickle.loads(told)  # noqa: S301  (what our own process wrote)
    recogniser = Recogniser(catalogue)
    recogniser.prepare()
    tools = Tools(recogniser, Schemas.of(catalogue.fields.values()))
    gc.freeze()  # else to look for cycles would copy what is shared
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
    """Reads partitions as they come, until no more will, and tells what was written."""

    def tell(what: object) -> None:
        pickle.dump(what, out)
        out.flush()

    while True:
        try:
            splits = pickle.load(tasks)  # noqa: S301
        except EOFError:
            return
        try:
            tell(read(splits, lambda row: tell(_bytes_of(row))))
        except Exception as e:  # whatever it is, the process that waits says it
            tell(_portable(e))


def _bytes_of(row: RangeRow) -> int:
    return int(row.row["range_end"]) - int(row.row["range_start"])


def _portable(error: Exception) -> Exception:
    """An error that another process can take."""
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301
    except Exception:  # whatever its class asks for
        return ForensicsError("Evidence could not be read.", why=f"{type(error).__name__}: {error}")
    return error
