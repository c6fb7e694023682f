# SPDX-License-Identifier: Apache-2.0
"""Types that computed views declare are those that `open.sql` states for their rows."""

from __future__ import annotations

import pyarrow as pa
import pytest

from forensics.case.sql_types import arrow_type, sql_type


@pytest.mark.parametrize(
    "text",
    [
        "STRING",
        "BIGINT",
        "INT",
        "BOOLEAN",
        "DOUBLE",
        "ARRAY<STRING>",
        "MAP<STRING, ARRAY<INT>>",
        "STRUCT<`a`: BIGINT, `b`: ARRAY<STRUCT<`c`: ARRAY<INT>, `d`: STRING>>>",
    ],
)
def test_a_type_is_the_same_both_ways(text: str) -> None:
    assert sql_type(arrow_type(text.replace("`", ""))) == text


def test_a_timestamp_is_a_moment_in_microseconds() -> None:
    assert arrow_type("TIMESTAMP") == pa.timestamp("us", "UTC")


@pytest.mark.parametrize("text", ["TEXT", "STRING<INT>", "MAP<STRING>", "ARRAY", ""])
def test_other_types_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is none of"):
        arrow_type(text)
