"""The Spark data source: each task reads its splits of evidence, writes their rows as Parquet, and yields the names of the files.

Rows do not pass through the JVM: a row of a hundred mostly empty columns takes eighty microseconds there and five in Arrow. Spark still schedules the
tasks, retries failed ones, and counts only the reports of successful ones. Files of failed tasks stay in the staging folder, which is deleted.

The module imports little, because Spark starts several processes that only ask for the schema or the partitions.
"""

from __future__ import annotations

import base64
import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import LongType, StringType, StructField, StructType

if TYPE_CHECKING:
    from forensics.catalogue.patterns import Catalogue
    from forensics.evidence.objects import Location
    from forensics.extract.reading import Tools
    from forensics.extract.splits import FileSplit

NAME = "forensics_evidence"
#: One row for each file that was written (table, file, rows), and one for each range that was read (`range_row`, its row as JSON, 1).
SCHEMA = StructType([StructField("table", StringType()), StructField("written", StringType()), StructField("rows", LongType())])


@dataclass
class Task(InputPartition):
    """Splits of one task, pickled, because only the task itself reads them."""

    splits: bytes


class EvidenceSource(DataSource):
    """`spark.read.format("forensics_evidence")`; its option `job` is the return value of `job_option`."""

    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> StructType:
        return SCHEMA

    def reader(self, schema: StructType) -> EvidenceReader:
        return EvidenceReader(*pickle.loads(base64.b64decode(self.options["job"])))  # noqa: S301  (written by job_option, in the driver)


class EvidenceReader(DataSourceReader):
    """A reader of the tasks of a job.

    Args:
        tasks: pickled splits of each task.
        catalogue: pickled.
        target: folder, or prefix of objects, for Parquet files.
    """

    def __init__(self, tasks: Sequence[bytes], catalogue: bytes, target: str) -> None:
        self._tasks, self._catalogue, self._target = tasks, catalogue, target

    def __reduce__(self) -> tuple[object, ...]:
        return EvidenceReader, ((), self._catalogue, self._target)  # a task receives its own splits only

    def partitions(self) -> Sequence[InputPartition]:
        return [Task(splits) for splits in self._tasks]

    def read(self, partition: InputPartition) -> Iterator[tuple[str, str, int]]:
        """Read, write and report. Spark repeats the call on another executor if it fails."""
        from forensics.evidence.objects import place
        from forensics.extract.local_reading import read_partition

        assert isinstance(partition, Task)
        splits: tuple[FileSplit, ...] = pickle.loads(partition.splits)  # noqa: S301
        yield from read_partition(splits, _prepared(self._catalogue), place(self._target))


@lru_cache(maxsize=1)
def _prepared(catalogue: bytes) -> Tools:
    """Return what all tasks of a worker process share, so that patterns are compiled once and repeated messages are recognised once."""
    from forensics.catalogue.recogniser import Recogniser
    from forensics.extract.reading import Tools
    from forensics.extract.reading_processes import collect_seldom
    from forensics.extract.row_builder import Schemas

    collect_seldom()
    found: Catalogue = pickle.loads(catalogue)  # noqa: S301
    return Tools(Recogniser(found), Schemas.of(found.fields.values()))


def job_option(tasks: Sequence[tuple[FileSplit, ...]], catalogue: Catalogue, target: Location) -> str:
    """Return the value of the option `job`."""
    return base64.b64encode(pickle.dumps(([pickle.dumps(t) for t in tasks], pickle.dumps(catalogue), str(target)))).decode()
