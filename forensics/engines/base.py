"""Define an engine: PySpark's API, and the few operations in which the implementations differ."""

from __future__ import annotations

import threading
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Protocol

from forensics import failures
from forensics.engines import other, watchdog
from forensics.errors import ForensicsError
from forensics.pandas_import import show

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.readwriter import DataFrameReader
    from pyspark.sql.types import StructType

    from forensics.engines.rows import Rows


class Elsewhere(Protocol):
    """The place where executors on other machines find the originals of files that this machine has copies of."""

    def seen(self, path: str) -> str:
        """Return the URL of a file or folder of the copy for the executors; return other paths unchanged."""

    def fetch(self, folder: Path) -> None:
        """Download files that the executors wrote into a folder of the copy."""


def is_far(master: str) -> bool:
    """Return True if the executors of a Spark master run on other machines."""
    return bool(master) and not master.startswith("local")


class Engine(ABC):
    """An engine that runs queries. It starts nothing before it is needed.

    Attributes:
        name: the name that users give.
        master: URL of a Spark master, whose executors read evidence too; empty if this machine does everything.
        jobs: cores to use on this machine; None for all.
        little: True if there is little to do, so that compiling much is not worth it. A running engine ignores it.
        elsewhere: where executors find the files of a case in S3; None if their paths are the same there.
    """

    name: ClassVar[str]
    #: From this cost on (see `query_parts.split`), a part that a query reads more than once is worth a query of its own.
    part_cost: ClassVar[int] = 12

    def __init__(self, jobs: int | None = None, master: str = "", *, little: bool = False) -> None:
        self.jobs, self.master, self.little = jobs, master, little
        self.elsewhere: Elsewhere | None = None
        self._starting = threading.Lock()
        self._session: SparkSession | None = None

    @property
    def is_far(self) -> bool:
        """Return True if queries run on other machines."""
        return is_far(self.master)

    @property
    def session(self) -> SparkSession:
        """Return the session; start it if it is not running.

        Raises:
            ForensicsError: it does not start.
        """
        with self._starting:
            if self._session is None:
                show()
                # For a pandas that was installed for something else; no query here uses pandas.
                warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
                self._session = self._start()
            return self._session

    @abstractmethod
    def _start(self) -> SparkSession:
        """Start the session, or return that of this process."""

    def stop(self) -> None:
        """End the session of this process, which engines of the same name share."""
        self.session.stop()
        self._session = None

    @abstractmethod
    def cut(self) -> None:
        """Kill the engine immediately, from any thread: pending calls raise an error."""

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Kill the engine if its queries neither progress nor use processor time, with an error that explains this."""

        def stalled() -> None:
            failures.STALLED.append(
                ForensicsError(
                    f"The engine `{self.name}` has stopped working: no query made progress.",
                    why=f"it used no processor time for {watchdog.STALL_SECONDS:.0f} s",
                    where="--engine",
                    fix=f"Run the command again with --engine {other(self.name)}. The case has not changed.",
                )
            )
            self.cut()

        with watchdog.watched(stalled, self._works_elsewhere):
            yield

    def _works_elsewhere(self) -> bool:
        """Return True while other machines are working."""
        return False

    @abstractmethod
    def sql(self, statement: str) -> DataFrame:
        """Run a statement of Spark SQL."""

    @abstractmethod
    def place_of(self, message: str, statement: str) -> tuple[str, int | None]:
        """Split an error about a statement into its text and its position, the number of characters before it.

        The position is None if the error has none, or if it refers to a different text than the statement.
        """

    def query(self, text: str) -> DataFrame:
        """Return a query. It may be analysed only when its rows are requested, which then raises its errors."""
        return self.sql(text)

    def collected(self, frame: DataFrame) -> tuple[pa.Table, StructType]:
        """Return a query's rows in this process, and their types."""
        return frame.toArrow(), frame.schema

    @abstractmethod
    def rows(self, frame: DataFrame) -> Rows:
        """Return a query's rows for printing."""

    @abstractmethod
    def place(self, path: str) -> str:
        """Return a path for this engine's readers, which must not interpret it as a pattern."""

    @abstractmethod
    def begin_thread(self) -> None:
        """Prepare the engine for queries from this thread."""

    def for_few_rows(self) -> Engine:
        """Return an engine in the same process for queries that read few rows."""
        return self

    @contextmanager
    def tuned(self, *, small: bool) -> Iterator[None]:
        """Apply settings for many queries over a case, which may be small."""
        del small
        yield

    def table(self, name: str, paths: Sequence[str], missing: Sequence[str], *, schema: pa.Schema | None = None, small: bool = False) -> None:
        """Register Parquet folders as one table.

        Args:
            name: the table's name.
            paths: its folders.
            missing: expressions for columns that none of them has.
            schema: the columns that any of them has, if known.
            small: True if it is so small that one task reads it fastest.
        """
        rows = self.from_files(self._reader(schema).option("mergeSchema", str(len(paths) > 1).lower()).parquet(*map(self.place, paths)))
        rows = rows.selectExpr("*", *missing) if missing else rows
        (self._as_one(rows) if small else rows).createOrReplaceTempView(name)

    def _reader(self, schema: pa.Schema | None) -> DataFrameReader:
        """Return a reader of files with these columns."""
        del schema  # the files have it
        return self.session.read

    def from_files(self, rows: DataFrame) -> DataFrame:
        """Return the rows of files in a form that queries can join safely."""
        return rows

    def _as_one(self, rows: DataFrame) -> DataFrame:
        """Return the rows as one partition if that saves the engine work."""
        return rows

    def keep_rows(self, rows: DataFrame, path: Path) -> None:
        """Write rows to a folder that does not exist yet."""
        rows.write.parquet(str(path))

    def know(self, name: str, path: Path, types: StructType, *, sent: bool = False) -> None:
        """Register the rows in a folder of Parquet files, so that later queries can read them.

        Args:
            name: the relation's name.
            path: the folder.
            types: the columns.
            sent: True if they are better sent to the engine than read by it.
        """
        del sent
        self.from_files(self.session.read.schema(types).parquet(self.place(str(path)))).createOrReplaceTempView(name)
