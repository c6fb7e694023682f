# SPDX-License-Identifier: Apache-2.0
"""Rows of large views in an order: whatever order they are stored in, those of one key come together."""

from __future__ import annotations

import pyarrow as pa

from forensics.relations.ordered import grouped, in_order

LINES = pa.table({"client": ["b", "a", None, "b", None], "pos": [2, 1, 9, 1, 3], "tasks": [["t"], None, [], None, ["u", "v"]]})


def test_rows_come_in_order() -> None:
    assert [row["pos"] for row in in_order(LINES, "pos", "client")] == [1, 1, 2, 3, 9]


def test_rows_of_a_key_come_together_and_those_without_one_too() -> None:
    groups = [[(row["client"], row["pos"]) for row in rows] for rows in grouped(LINES, ("client",), "pos")]
    assert groups == [[("a", 1)], [("b", 1), ("b", 2)], [(None, 3), (None, 9)]]
