"""Examine files and read partitions of evidence, in this process or in forked children that share prepared data."""

from __future__ import annotations

import gc
import json
import os
import pickle
import sys
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any

from forensics.catalogue.recogniser import Recogniser
from forensics.errors import ForensicsError
from forensics.evidence.objects import Location
from forensics.extract.parquet_parts import PartWriter
from forensics.extract.reading import Tools, read_splits
from forensics.extract.reading_processes import collect_seldom, ended, keep_memory
from forensics.extract.row_builder import Schemas
from forensics.extract.splits import FileSplit
from forensics.inventory.examination import examine
from forensics.pandas_import import hide
from forensics.records.layouts import packaged

if TYPE_CHECKING:
    from pathlib import Path

    from forensics.catalogue.patterns import Catalogue
    from forensics.extract.reading_processes import Written

#: What forked children share with their parent: what to do with which parts, the tools for reading, and the folder for rows.
_shared: tuple[str, Sequence[Any], Tools, Path]


def read_partition(splits: Iterable[FileSplit], tools: Tools, target: Location) -> list[Written]:
    """Read splits, write their rows as Parquet files into a folder, and return a list of the files.

    Args:
        splits: splits to read; members of one archive are next to each other.
        tools: read the splits; a process has one for all partitions.
        target: a folder, created if missing, or a prefix of objects.
    """
    keep_memory()
    with PartWriter(target, tools.schemas) as writer:
        for part in read_splits(tuple(splits), tools):
            writer.write(part)
    return writer.written()


def range_rows(written: Sequence[Written]) -> list[dict[str, object]]:
    """Return the rows of `range_row` in `written`, with the keys `error`, `summaries`, `runs` and `doubled`."""
    return [json.loads(text) for table, text, _ in written if table == "range_row"]


def read_here(partitions: Sequence[tuple[FileSplit, ...]], catalogue: Catalogue, target: Path) -> Iterator[tuple[int, list[Written]]]:
    """Read partitions in this process, one after the other; yield the number of each one and the files with its rows.

    Args:
        partitions: the return value of `splits.plan`.
        catalogue: the messages.
        target: folder for Parquet files.
    """
    tools = Tools(Recogniser(catalogue), Schemas.of(catalogue.fields.values()))
    for number, splits in enumerate(partitions):
        yield number, read_partition(splits, tools, target)


def serve() -> None:
    """Run the parent of the reading processes: prepare what they share, fork them, and write their results to standard output.

    Standard input has, pickled, the catalogue and the target folder. Then follow, once or twice, what to do (`examine` or `read`), its parts, and the
    number of processes. It may end before each of these.
    """
    hide()
    collect_seldom()
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # other output goes to standard error
    with suppress(EOFError, BrokenPipeError):
        catalogue, target = pickle.load(sys.stdin.buffer)  # noqa: S301  (what our own process wrote)
        recogniser = Recogniser(catalogue)
        recogniser.prepare()
        packaged()
        tools, what = Tools(recogniser, Schemas.of(catalogue.fields.values())), ""
        while what != "read":  # the last work: this process then gives its memory back
            what, work, count = pickle.load(sys.stdin.buffer)  # noqa: S301
            global _shared  # noqa: PLW0603  (children get it when they are forked)
            _shared = what, work, tools, target
            gc.freeze()  # otherwise the search for cycles would copy shared memory
            with ProcessPoolExecutor(count, get_context("fork")) as pool:
                futures = {pool.submit(_done, number): number for number in range(len(work))}
                for future in as_completed(futures):
                    error = future.exception()
                    answer = (futures[future], future.result()) if error is None else _portable(error)
                    pickle.dump(answer, answers)
                    answers.flush()


def _done(number: int) -> object:
    """Examine one of the shared files, or read one of the shared partitions."""
    what, work, tools, target = _shared
    if what == "examine":
        file, options = work[number]
        return list(examine(file, options, lambda size: None))
    return read_partition(work[number], tools, target)


def _portable(error: BaseException) -> Exception:
    """Return the error, or a substitute if a child has died or the error cannot be pickled."""
    if isinstance(error, BrokenProcessPool):
        return ended("It crashed or was killed (SIGKILL)")
    try:
        found: Exception = pickle.loads(pickle.dumps(error))  # noqa: S301
    except Exception:  # whatever its class requires
        return ForensicsError("Evidence could not be read.", why=f"{type(error).__name__}: {error}")
    return found
