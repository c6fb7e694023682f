"""Write the rows of one task: one Parquet file for each table, with a name that no other attempt uses."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

import pyarrow as pa
import pyarrow.parquet as pq

from forensics.evidence.objects import Location, arrow
from forensics.extract.reading import RangeRow
from forensics.extract.row_builder import MAX_BYTES, MAX_ROWS, Rows, Schemas, held

#: Columns of positions and times. They rise from row to row, so it is enough to write the differences. Their values and the IDs are unique, so a
#: dictionary would only cost time.
_RISING = ("line", "byte_offset", "stream_pos", "ts")
_UNIQUE = frozenset({*_RISING, "event_id"})


def with_columns(table: pa.Table, columns: Mapping[str, pa.ChunkedArray]) -> pa.Table:
    """Return a table in which some columns have other values and the same types."""
    for name, values in columns.items():
        at = table.schema.get_field_index(name)
        field = table.schema.field(at)
        table = table.set_column(at, field, values.dictionary_encode() if pa.types.is_dictionary(field.type) else values.cast(field.type))
    return table


def change(file: Path, changed: Callable[[pa.Table], pa.Table]) -> None:
    """Replace the rows of an existing file, one row group after the other, so that only one is in memory.

    Args:
        file: the file.
        changed: returns the new rows for those of a group; it may remove some.
    """
    new = file.with_suffix(".new")
    repeated = [field.name for field in held(pq.read_schema(file)) if pa.types.is_dictionary(field.type)]
    with pq.ParquetFile(file, read_dictionary=repeated) as source, _writer(str(new), source.schema_arrow, None) as target:
        for n in range(source.num_row_groups):
            rows = changed(source.read_row_group(n))
            if rows.num_rows:
                target.write_table(rows, row_group_size=rows.num_rows)
    new.replace(file)


@dataclass
class _Waiting:
    """Batches of a table that are not written yet, and their size. It is counted once for each batch: asking a batch of a hundred columns takes long."""

    batches: list[pa.RecordBatch] = field(default_factory=list)
    rows: int = 0
    bytes: int = 0

    def add(self, batch: pa.RecordBatch) -> None:
        """Add a batch."""
        self.batches.append(batch)
        self.rows += batch.num_rows
        self.bytes += batch.nbytes


@dataclass
class PartWriter:
    """A writer of rows as they arrive.

    Args:
        folder: where to write; a folder, created if missing, or a prefix of objects.
        schemas: schemas of the tables.
    """

    folder: Location
    schemas: Schemas
    _files: dict[str, tuple[str, pq.ParquetWriter]] = field(default_factory=dict)
    _rows: dict[str, int] = field(default_factory=dict)
    _waiting: dict[str, _Waiting] = field(default_factory=dict)
    _ranges: list[RangeRow] = field(default_factory=list)

    def __enter__(self) -> PartWriter:
        if isinstance(self.folder, Path):
            self.folder.mkdir(parents=True, exist_ok=True)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for table, (_, file) in self._files.items():
            if error is None:
                self._flush(table)
            file.close()

    def write(self, part: Rows | RangeRow) -> None:
        """Write rows of a table, or record the statistics of a range."""
        if isinstance(part, RangeRow):
            self._ranges.append(part)
            return
        if part.table not in self._files:
            name = f"{part.table}-{uuid.uuid4().hex}.parquet"
            system, path = arrow(self.folder / name)
            schema = self.schemas.by_table[part.table]
            self._files[part.table] = name, _writer(path, schema, system)
        self._rows[part.table] = self._rows.get(part.table, 0) + part.batch.num_rows
        waiting = self._waiting.setdefault(part.table, _Waiting())
        waiting.add(part.batch)
        if waiting.rows >= MAX_ROWS or waiting.bytes >= MAX_BYTES:
            self._flush(part.table)

    def _flush(self, table: str) -> None:
        """Write the pending batches. They are collected because beginning a row group takes as long as hundreds of rows."""
        if waiting := self._waiting.pop(table, None):
            self._files[table][1].write_table(pa.Table.from_batches(waiting.batches).unify_dictionaries(), row_group_size=waiting.rows)

    def written(self) -> list[tuple[str, str, int]]:
        """Return table, file name and number of rows of each file, and each range's row as JSON."""
        files = [(table, name, self._rows[table]) for table, (name, _) in self._files.items()]
        return files + [
            ("range_row", json.dumps({**r.row, "error": r.error, "summaries": r.summaries, "runs": r.runs, "doubled": r.doubled}), 1)
            for r in self._ranges
        ]


def _writer(path: str, schema: pa.Schema, system: pa.fs.FileSystem | None) -> pq.ParquetWriter:
    """Open a file for rows, in which dictionaries are texts. It has statistics for positions and times, so that readers can select rows by them."""
    rising = [name for name in _RISING if name in schema.names]
    return pq.ParquetWriter(
        path, schema, filesystem=system, compression="zstd", compression_level=1, write_statistics=rising, store_schema=False,
        use_dictionary=[name for name in schema.names if name not in _UNIQUE], column_encoding=dict.fromkeys(rising, "DELTA_BINARY_PACKED"),
    )  # fmt: skip
