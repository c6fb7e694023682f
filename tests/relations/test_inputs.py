# SPDX-License-Identifier: Apache-2.0
"""Rows for computed views: which may be read, which columns there are, and how times are given."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from time import sleep

import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from forensics.errors import ForensicsError
from forensics.relations.inputs import Inputs, once

MOMENT = pa.timestamp("us", "UTC")
AT, AT_MS = datetime(2026, 11, 21, 10, 0, 0, 123_456, UTC), 1_795_255_200_123
SPANS = pa.list_(pa.struct([("from_ts", MOMENT), ("name", pa.string())]))
TABLE = pa.table(
    {
        "name": ["a", "b", None],
        "at_ts": pa.array([AT, None, None], MOMENT),
        "spans": pa.array([[{"from_ts": AT, "name": "x"}], [], None], SPANS),
    }
)


def inputs(**tables: list[pa.Table]) -> Inputs:
    return Inputs(lambda name: [ds.dataset(table) for table in tables[name]], {"gap_ms": 300, "assume_skew_ms": None})


def test_times_are_milliseconds_at_any_depth() -> None:
    assert inputs(v=[TABLE]).rows("v") == [
        {"name": "a", "at_ts": AT_MS, "spans": [{"from_ts": AT_MS, "name": "x"}]},
        {"name": "b", "at_ts": None, "spans": []},
        {"name": None, "at_ts": None, "spans": None},
    ]


def test_columns_and_rows_are_chosen() -> None:
    assert inputs(v=[TABLE]).rows("v", columns=["at_ts"], where=ds.field("name") == "a") == [{"at_ts": AT_MS}]


def test_segments_of_a_table_are_one_and_what_an_earlier_version_did_not_write_is_missing() -> None:
    old = pa.table({"name": ["c"]})
    assert inputs(v=[TABLE.slice(0, 1), old]).rows("v", columns=["name", "at_ts"]) == [{"name": "a", "at_ts": AT_MS}, {"name": "c", "at_ts": None}]


def test_a_view_reads_only_what_it_declares() -> None:
    limited = inputs(v=[TABLE], w=[TABLE]).of(["v"])
    assert len(limited.rows("v", columns=["name"])) == 3
    with pytest.raises(ForensicsError, match="reads w, which the header"):
        limited.rows("w")


def test_what_several_views_need_is_computed_once() -> None:
    asked: list[str] = []

    @once
    def names(given: Inputs) -> list[str]:
        asked.append("names")
        sleep(0.01)  # the others ask meanwhile
        return [row["name"] for row in given.rows("v", columns=["name"])]

    one, other = inputs(v=[TABLE]), inputs(v=[TABLE.slice(0, 1)])
    with ThreadPoolExecutor() as pool:
        assert list(pool.map(names, [one.of(["v"]), one, one])) == [["a", "b", None]] * 3
    assert asked == ["names"]
    assert names(other) == ["a"]


def test_thresholds_are_attributes() -> None:
    knobs = inputs().knobs
    assert (knobs.gap_ms, knobs.assume_skew_ms) == (300, None)
    with pytest.raises(AttributeError, match=r"knobs.sql declares no variable gap"):
        _ = knobs.gap
