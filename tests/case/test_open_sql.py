# SPDX-License-Identifier: Apache-2.0
"""Types that `open.sql` states for stored views."""

from __future__ import annotations

import pyarrow as pa
import pytest

from forensics.case.open_sql import _sql_type


@pytest.mark.parametrize(
    ("kind", "stated"),
    [
        (pa.string(), "STRING"),
        (pa.string_view(), "STRING"),  # written by Sail for the views of a large case
        (pa.list_(pa.string_view()), "ARRAY<STRING>"),
        (pa.map_(pa.string(), pa.string_view()), "MAP<STRING, STRING>"),
        (pa.timestamp("us", "UTC"), "TIMESTAMP_LTZ"),
        (pa.int64(), "BIGINT"),
    ],
)
def test_the_type_of_a_column_is_what_spark_reads(kind: pa.DataType, stated: str) -> None:
    assert _sql_type(kind) == stated
