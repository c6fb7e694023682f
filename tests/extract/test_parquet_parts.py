# SPDX-License-Identifier: Apache-2.0
"""Files whose rows are removed or changed after reading: they keep small row groups with statistics, by which engines select rows."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from forensics.extract.parquet_parts import change
from forensics.extract.row_builder import MAX_ROWS


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file of three row groups."""
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"stream_pos": list(range(2 * MAX_ROWS + 10)), "path": ["w.log"] * (2 * MAX_ROWS + 10)}), path, row_group_size=MAX_ROWS)
    return path


def groups(path: Path) -> list[tuple[int, int]]:
    """First and last position of each row group."""
    metadata = pq.read_metadata(path)
    found = [metadata.row_group(n).column(0).statistics for n in range(metadata.num_row_groups)]
    return [(s.min, s.max) for s in found]


def test_rows_are_removed_group_by_group(file: Path):
    change(file, lambda rows: rows.filter(pc.and_(pc.not_equal(rows["stream_pos"], 7), pc.less(rows["stream_pos"], 2 * MAX_ROWS))))
    assert pq.read_table(file)["stream_pos"].to_pylist() == [n for n in range(2 * MAX_ROWS) if n != 7]
    assert groups(file) == [(0, MAX_ROWS - 1), (MAX_ROWS, 2 * MAX_ROWS - 1)]
    assert [p.name for p in file.parent.iterdir()] == [file.name]


def test_all_rows_are_removed(file: Path):
    schema = pq.read_schema(file)
    change(file, lambda rows: rows.slice(0, 0))
    assert (pq.read_table(file).num_rows, pq.read_schema(file)) == (0, schema)


def test_changed_rows_stay_in_small_groups(file: Path):
    table = pq.read_table(file)
    change(file, lambda rows: rows)
    assert pq.read_table(file).equals(table)
    assert [end for _, end in groups(file)] == [MAX_ROWS - 1, 2 * MAX_ROWS - 1, 2 * MAX_ROWS + 9]
