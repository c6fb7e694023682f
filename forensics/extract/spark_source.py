"""The Spark data source: each task reads its splits of evidence, writes their rows as Parquet, and yields what it wrote.

Rows do not travel through the JVM. A row of a hundred columns, of which most are empty, costs eighty microseconds there and five in Arrow; with
this, Spark places the work, tries a failed task again, and counts only what a successful one reports. Files of failed tasks stay in the
staging folder, which is thrown away.

The module imports little, for Spark starts several processes that only ask for the schema or the partitions.
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
#: One row for each file that was written (table, file, rows), and one for each range that was read (table `range_row`, its row as JSON, 1).
SCHEMA = StructType([StructField("table", StringType()), StructField("written", StringType()), StructField("rows", LongType())])


@dataclass
class Task(InputPartition):
    """Splits of one task, pickled: only the task itself needs to know them."""

    splits: bytes


class EvidenceSource(DataSource):
    """`spark.read.format("forensics_evidence")`; its option `job` is what `job_option` gives."""

    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> StructType:
        return SCHEMA

    def reader(self, schema: StructType) -> EvidenceReader:
        return EvidenceReader(*pickle.loads(base64.b64decode(self.options["job"])))  # noqa: S301  (written by job_option, in the driver)


class EvidenceReader(DataSourceReader):
    """Reads the tasks of a job.

    Args:
        tasks: pickled splits of each.
        catalogue: pickled.
        target: folder, or prefix of objects, for Parquet files.
    """

    def __init__(self, tasks: Sequence[bytes], catalogue: bytes, target: str) -> None:
        self._tasks, self._catalogue, self._target = tasks, catalogue, target

    def __reduce__(self) -> tuple[object, ...]:
        return EvidenceReader, ((), self._catalogue, self._target)  # a task is sent its own splits

    def partitions(self) -> Sequence[InputPartition]:
        return [Task(splits) for splits in self._tasks]

    def read(self, partition: InputPartition) -> Iterator[tuple[str, str, int]]:
        """Reads, writes and reports. Spark calls it again, elsewhere, when it fails."""
        from forensics.evidence.objects import place
        from forensics.extract.local_reading import read_partition

        assert isinstance(partition, Task)
        splits: tuple[FileSplit, ...] = pickle.loads(partition.splits)  # noqa: S301
        yield from read_partition(splits, _prepared(self._catalogue), place(self._target))


@lru_cache(maxsize=1)
def _prepared(catalogue: bytes) -> Tools:
    """What all tasks of a worker process share: patterns are read and compiled once, and what a log says again is understood once."""
    from forensics.catalogue.recogniser import Recogniser
    from forensics.extract.memory import collect_seldom
    from forensics.extract.reading import Tools
    from forensics.extract.row_builder import Schemas

    collect_seldom()
    found: Catalogue = pickle.loads(catalogue)  # noqa: S301
    return Tools(Recogniser(found), Schemas.of(found.fields.values()))


def job_option(tasks: Sequence[tuple[FileSplit, ...]], catalogue: Catalogue, target: Location) -> str:
    """The value of the option `job`."""
    return base64.b64encode(pickle.dumps(([pickle.dumps(t) for t in tasks], pickle.dumps(catalogue), str(target)))).decode()
