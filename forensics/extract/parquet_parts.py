"""What one task writes: a Parquet file a table, under names that no other attempt uses."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

import pyarrow.parquet as pq

from forensics.evidence.objects import Location, arrow
from forensics.extract.row_builder import Rows, Schemas
from forensics.extract.split_counts import RangeRow


@dataclass
class PartWriter:
    """Writes rows as they come.

    Args:
        folder: where to; a folder is made when missing, a prefix of objects need not be.
        schemas: of the tables.
    """

    folder: Location
    schemas: Schemas
    _files: dict[str, tuple[str, pq.ParquetWriter]] = field(default_factory=dict)
    _rows: dict[str, int] = field(default_factory=dict)
    _ranges: list[RangeRow] = field(default_factory=list)

    def __enter__(self) -> PartWriter:
        if isinstance(self.folder, Path):
            self.folder.mkdir(parents=True, exist_ok=True)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for _, file in self._files.values():
            file.close()

    def write(self, part: Rows | RangeRow) -> None:
        """Takes rows of a table, or the statistics of a range."""
        if isinstance(part, RangeRow):
            self._ranges.append(part)
            return
        if part.table not in self._files:
            name = f"{part.table}-{uuid.uuid4().hex}.parquet"
            system, path = arrow(self.folder / name)
            schema = self.schemas.by_table[part.table]
            self._files[part.table] = name, pq.ParquetWriter(path, schema, filesystem=system, compression="zstd", compression_level=1)
        self._files[part.table][1].write_batch(part.batch)
        self._rows[part.table] = self._rows.get(part.table, 0) + part.batch.num_rows

    def written(self) -> list[tuple[str, str, int]]:
        """Table, file name and rows of each file; and each range's row as JSON."""
        files = [(table, name, self._rows[table]) for table, (name, _) in self._files.items()]
        return files + [("range_row", json.dumps({**r.row, "error": r.error}), 1) for r in self._ranges]
