# SPDX-License-Identifier: Apache-2.0
"""Rows of a case, whichever engine wrote them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from forensics.case.integrity import rows_in

#: Sail writes texts of large cases so.
VIEW = pa.string_view()


@pytest.mark.parametrize(
    ("kind", "value", "plain"),
    [
        (VIEW, "a", pa.string()),
        (pa.list_(VIEW), ["a"], pa.list_(pa.string())),
        (pa.struct([("x", VIEW)]), {"x": "a"}, pa.struct([("x", pa.string())])),
        (pa.map_(pa.string(), VIEW), [("x", "a")], pa.map_(pa.string(), pa.string())),
    ],
    ids=str,
)
def test_rows_can_be_filtered_with_whatever_type_their_texts_were_written(
    tmp_path: Path, kind: pa.DataType, value: object, plain: pa.DataType
) -> None:
    for n in range(2):
        pq.write_table(pa.table({"n": [n, None], "text": pa.array([value, None], kind)}), tmp_path / f"{n}.parquet")
    rows = rows_in(tmp_path)
    assert rows.schema.field("text").type == plain
    assert rows.to_table(filter=pc.field("n") == 1).to_pylist() == [{"n": 1, "text": value}]
