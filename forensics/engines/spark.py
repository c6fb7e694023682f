"""Run Apache Spark, the reference engine and the one for clusters."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from forensics.engines import SPARK
from forensics.engines.base import Engine
from forensics.engines.paths import literal, quoted, unquoted
from forensics.engines.rows import are_numbers, types_of
from forensics.engines.spark_session import check_s3a, session

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, Row, SparkSession
    from pyspark.sql.readwriter import DataFrameReader
    from pyspark.sql.types import StructType


#: A Parquet folder in a statement.
_PATH = re.compile(r"parquet\.`((?:[^`]|``)+)`")
#: Position of an error in a statement.
_AT = re.compile(r"(?:; | \()line (?P<line>\d+),? pos (?P<pos>\d+)\)?;?|(?<== SQL) \(line (?P<row>\d+), position (?P<column>\d+)\)")
#: Rows of a larger file are not kept in the JVM's memory.
_SENT_BYTES = 4 << 20
#: With a few thousand rows, compiling, adapting plans, shuffles and broadcasts do not pay off: a build takes less than half the time.
SMALL = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    # Interpreted expressions keep common subexpressions in a cache, which is cleared for each row: a seventh of all tasks' time.
    "spark.sql.subexpressionElimination.enabled": "false",
    # With more than 128 groups, rows would be sorted.
    "spark.sql.objectHashAggregate.sortBased.fallbackThreshold": "100000",
    # The default is looked up in the process's environment for each group.
    "spark.sql.types.framework.enabled": "false",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.shuffle.partitions": "1",
    # An inner join of single partitions has two equal partitionings, and the sizes of joins are overestimated. For either, Spark would shuffle.
    "spark.sql.optimizer.expressionProjectionCandidateLimit": "1",
    "spark.sql.maxSinglePartitionBytes": str((1 << 63) - 1),
    "spark.sql.legacy.storeAnalyzedPlanForView": "true",
    # Otherwise the serialisability of a function of each operator is tested by serialising it.
    "spark.sql.execution.usePartitionEvaluator": "true",
    "spark.sql.constraintPropagation.enabled": "false",
    # Each plan is described for a web page that is disabled.
    "spark.sql.ui.explainMode": "simple",
    "spark.sql.debug.maxToStringFields": "1",
    # ICU looks through all characters before it converts the first one.
    "spark.sql.icu.caseMappings.enabled": "false",
}


class Spark(Engine):
    """Spark on this machine, or on a master.

    Args:
        master: its URL; empty for this machine.
        jobs: cores to use on this machine; None for all.
        little: True if there is little to do.
    """

    name: ClassVar[str] = SPARK
    part_cost: ClassVar[int] = 4

    def __init__(self, master: str = "", jobs: int | None = None, *, little: bool = False) -> None:
        super().__init__(jobs, master, little=little)

    def _start(self) -> SparkSession:
        started = session(self.master, self.jobs, little=self.little)
        if self.elsewhere is not None:
            check_s3a(started)
        return started

    def cut(self) -> None:
        from pyspark import SparkContext

        gateway = SparkContext._gateway  # noqa: SLF001
        if gateway is not None and getattr(gateway, "proc", None) is not None:
            gateway.proc.kill()

    def _works_elsewhere(self) -> bool:
        return self.is_far and self._session is not None and bool(self._session.sparkContext.statusTracker().getActiveStageIds())

    def sql(self, statement: str) -> DataFrame:
        return self.session.sql(_PATH.sub(lambda m: f"parquet.`{quoted(self._seen(unquoted(m[1])))}`", statement) if self.elsewhere else statement)

    def query(self, text: str) -> DataFrame:
        # Before a WITH without parentheses, the parser looks for an INSERT after it, and reads all of it twice.
        return self.sql(f"({text})")

    def place_of(self, message: str, statement: str) -> tuple[str, int | None]:
        found = _AT.search(message)
        if found is None:
            return message, None
        line, before = int(found["line"] or found["row"]), int(found["pos"] or int(found["column"]) - 1)
        lines = statement.splitlines(keepends=True)
        same = not (self.elsewhere and _PATH.search(statement)) and line <= len(lines)
        return message[: found.start()] + message[found.end() :], sum(map(len, lines[: line - 1])) + before if same else None

    def rows(self, frame: DataFrame) -> SparkRows:

        return SparkRows(frame)

    def place(self, path: str) -> str:
        return literal(self._seen(path))

    def _seen(self, path: str) -> str:
        return self.elsewhere.seen(path) if self.elsewhere else path

    def keep_rows(self, rows: DataFrame, path: Path) -> None:
        if self.elsewhere is None:
            super().keep_rows(rows, path)
            return
        rows.write.parquet(self._seen(str(path)))
        self.elsewhere.fetch(path)

    def begin_thread(self) -> None:
        # Otherwise each step of a plan searches the JVM's stack for the calling line, to show it in a web page that is disabled.
        for form in ("short", "long"):
            self.session.sparkContext.setLocalProperty(f"callSite.{form}", "kafka-forensics")

    def for_few_rows(self) -> Spark:
        few = Spark(self.master, self.jobs, little=self.little)
        few._session = self.session.newSession()
        for key, value in SMALL.items():
            few._session.conf.set(key, value)
        return few

    @contextmanager
    def tuned(self, *, small: bool) -> Iterator[None]:
        with settings(self.session, SMALL if small else {}):
            yield

    def know(self, name: str, path: Path, types: StructType, *, sent: bool = False) -> None:
        if not sent:
            super().know(name, path, types)
            return
        import pyarrow.parquet as pq

        if not self.is_far and sum(file.stat().st_size for file in path.iterdir()) > _SENT_BYTES:
            rows = self.session.read.schema(types).parquet(self.place(str(path)))
        else:
            table = pq.read_table(path)
            rows = self.session.createDataFrame(table, schema=types)
            if not table.num_rows:  # the optimiser should know
                rows.createOrReplaceTempView(name)
                return
        self._as_one(rows).createOrReplaceTempView(name)

    def _reader(self, schema: pa.Schema | None) -> DataFrameReader:
        # Without the schema, a job reads it from the files.
        return self.session.read.schema(types_of(schema)) if schema else self.session.read

    def _as_one(self, rows: DataFrame) -> DataFrame:
        # One partition satisfies every join, group and window without a shuffle: a query is one task.
        return rows.coalesce(1)


@contextmanager
def settings(spark: SparkSession, wanted: Mapping[str, str]) -> Iterator[None]:
    """Apply settings to a session temporarily."""
    before = {key: spark.conf.get(key, None) for key in wanted}
    try:
        for key, value in wanted.items():
            spark.conf.set(key, value)
        yield
    finally:
        for key, old in before.items():
            if old is None:
                spark.conf.unset(key)
            else:
                spark.conf.set(key, old)


def _rows_of(frame: DataFrame) -> Iterator[Row]:
    """Yield rows, one partition at a time. Errors while rows arrive (a division by zero) are reported like earlier ones."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors.exceptions.captured import UnknownException, convert_exception

    try:
        yield from frame.toLocalIterator()
    except Py4JJavaError as e:
        cause = e.java_exception
        while cause is not None:
            known = convert_exception(cause)
            if not isinstance(known, UnknownException):
                raise known from e
            cause = cause.getCause()
        raise


class SparkRows:
    """Rows of a data frame, converted to text by Spark, which knows every type. They arrive one partition at a time."""

    def __init__(self, frame: DataFrame) -> None:
        self.names: Sequence[str] = frame.columns
        self.numeric: Sequence[bool] = are_numbers(frame.schema)
        # Numbered columns allow equal names.
        self._frame = frame.toDF(*(f"c{i}" for i in range(len(self.names))))

    def texts(self) -> Iterator[Sequence[str | None]]:
        from pyspark.sql import functions as f
        from pyspark.sql.types import ArrayType, MapType, StructType, VariantType

        nested = ArrayType | MapType | StructType | VariantType
        cells = [f.to_json(c.name) if isinstance(c.dataType, nested) else f.col(c.name).cast("string") for c in self._frame.schema.fields]
        return (tuple(row) for row in _rows_of(self._frame.select(*cells))) if cells else iter(())

    def values(self) -> Iterator[Sequence[Any]]:
        from pyspark.sql import functions as f

        options = {"ignoreNullFields": "false", "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"}
        for row in _rows_of(self._frame.select(f.to_json(f.struct("*"), options))):
            values = json.loads(row[0])
            yield [values[column] for column in self._frame.columns]
