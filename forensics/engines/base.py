"""What an engine is: PySpark's API, and the few things in which its implementations differ."""

from __future__ import annotations

import threading
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Protocol

import pyarrow.parquet as pq

from forensics import failures
from forensics.engines import other, watchdog
from forensics.errors import ForensicsError
from forensics.pandas_import import show

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from forensics.engines.rows import Rows


class Elsewhere(Protocol):
    """Where executors on other machines find what this machine has a copy of."""

    def seen(self, path: str) -> str:
        """The URL by which they see a file or folder of the copy; other paths are as they are."""

    def fetch(self, folder: Path) -> None:
        """Brings what they wrote into a folder of the copy."""


def is_far(master: str) -> bool:
    """Whether the executors of a Spark master run on other machines than this."""
    return bool(master) and not master.startswith("local")


class Engine(ABC):
    """Runs queries. Nothing starts before it is needed.

    Attributes:
        name: as users say it.
        master: URL of a Spark master, whose executors read evidence too; empty: this machine does all.
        jobs: cores to use on this machine; all when None.
        little: whether there is little to do, so that not much need be compiled for it. What runs already does not heed it.
        elsewhere: where executors find the files of a case in S3; None: under the paths that they have here.
    """

    name: ClassVar[str]
    #: Whether planning a query costs so much that it pays to see from its text that it can have no rows.
    plans_slowly: ClassVar[bool] = False

    def __init__(self, jobs: int | None = None, master: str = "", *, little: bool = False) -> None:
        self.jobs, self.master, self.little = jobs, master, little
        self.elsewhere: Elsewhere | None = None
        self._starting = threading.Lock()
        self._session: SparkSession | None = None

    @property
    def is_far(self) -> bool:
        """Whether queries run on other machines than this."""
        return is_far(self.master)

    @property
    def session(self) -> SparkSession:
        """The session; starts it when it does not run.

        Raises:
            ForensicsError: it does not start.
        """
        with self._starting:
            if self._session is None:
                show()
                # Of a pandas that was installed for something else; no query here goes through pandas.
                warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
                self._session = self._start()
            return self._session

    @abstractmethod
    def _start(self) -> SparkSession:
        """Starts the session, or gives the one of this process."""

    def stop(self) -> None:
        """Ends the session of this process, which engines of one name share."""
        self.session.stop()
        self._session = None

    @abstractmethod
    def cut(self) -> None:
        """End the engine now, from any thread: whoever waits for an answer gets an error."""

    @contextmanager
    def watched(self) -> Iterator[None]:
        """End the engine when its queries neither get further nor use processor time, with an error that says so."""

        def stalled() -> None:
            failures.STALLED.append(
                ForensicsError(
                    f"The engine `{self.name}` has stopped working: no query got further.",
                    why=f"it used no processor time for {watchdog.STALL_SECONDS:.0f} s",
                    where="--engine",
                    fix=f"Run this again with --engine {other(self.name)}: the case is as it was before.",
                )
            )
            self.cut()

        with watchdog.watched(stalled, self._works_elsewhere):
            yield

    def _works_elsewhere(self) -> bool:
        """Return True while other machines are at work."""
        return False

    @abstractmethod
    def sql(self, statement: str) -> DataFrame:
        """Runs a statement as it is written for Spark."""

    @abstractmethod
    def place_of(self, said: str, statement: str) -> tuple[str, int | None]:
        """What an error says of a statement, without the place in it, and that place: so many characters stand before it.

        The place is None where none is told, or where it is one in other words than those of the statement.
        """

    def query(self, text: str) -> DataFrame:
        """A query, which need not be looked at before its rows are asked for: what is wrong with it may be said only then."""
        return self.sql(text)

    def collected(self, frame: DataFrame) -> tuple[pa.Table, StructType]:
        """A query's rows in this process, and their types."""
        return frame.toArrow(), frame.schema

    @abstractmethod
    def rows(self, frame: DataFrame) -> Rows:
        """A query's rows, to be printed."""

    @abstractmethod
    def place(self, path: str) -> str:
        """A path as this engine's readers take it: as it is, and not as a pattern for several."""

    @abstractmethod
    def begin_thread(self) -> None:
        """Says that queries will come from this thread, too."""

    @contextmanager
    def tuned(self, *, small: bool, events: int = 0) -> Iterator[None]:
        """Settings for many queries over a case that is small, or has so many events."""
        del small, events
        yield

    def table(self, name: str, paths: Sequence[str], missing: Sequence[str], *, small: bool = False) -> None:
        """Makes Parquet folders known as one table.

        Args:
            name: the table's.
            paths: of its folders.
            missing: expressions for columns that no folder has.
            small: whether it is so small that one task reads it best.
        """
        rows = self.from_files(self.session.read.option("mergeSchema", str(len(paths) > 1).lower()).parquet(*map(self.place, paths)))
        rows = rows.selectExpr("*", *missing) if missing else rows
        (self._as_one(rows) if small else rows).createOrReplaceTempView(name)

    def from_files(self, rows: DataFrame) -> DataFrame:
        """Return the rows of files as queries may join them."""
        return rows

    def _as_one(self, rows: DataFrame) -> DataFrame:
        """The rows as one partition, where that spares the engine work."""
        return rows

    def keep_rows(self, name: str, rows: DataFrame, path: Path) -> None:
        """Writes a view's rows to a folder, and lets later queries read them there.

        Args:
            name: the view's.
            rows: its rows.
            path: a folder that does not exist.
        """
        rows.write.parquet(str(path))
        self.session.read.schema(rows.schema).parquet(self.place(str(path))).createOrReplaceTempView(name)

    def keep_table(self, name: str, table: pa.Table, schema: StructType, path: Path) -> None:
        """As `keep_rows`, for rows that are in this process: a few thousand are written and read back faster than an engine plans either."""
        path.mkdir()
        pq.write_table(table, path / "part-0.parquet")
        self._know(name, table, schema, path)

    @abstractmethod
    def _know(self, name: str, table: pa.Table, schema: StructType, path: Path) -> None:
        """Lets later queries read rows that are in this process and in a folder."""
