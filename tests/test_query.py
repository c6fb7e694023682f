"""Rows of queries as tables, CSV and JSON."""

from __future__ import annotations

import csv
import io
import json

import pytest

from forensics.engines.spark import SparkRows
from forensics.report import query

ROWS = """
SELECT * FROM VALUES
  (1, '=1+1', TIMESTAMP'2026-03-01 10:00:00.123', array('a', 'b'), map('k', 1), CAST(NULL AS STRING)),
  (-2, '-5', NULL, array(), map(), 'x"y, \u001b[31m')
AS t(number, text, ts, list, map, maybe)
"""


@pytest.mark.parametrize(
    ("cell", "shown"),
    [
        ("=SUM(A1)", "'=SUM(A1)"),
        ("@x", "'@x"),
        ("-x", "'-x"),
        ("-5", "-5"),
        ("+1.5e3", "+1.5e3"),
        ("\tx", "'\tx"),
        ("orders-0", "orders-0"),
        ("", ""),
    ],
)
def test_formulas_are_inert(cell: str, shown: str) -> None:
    assert query.inert(cell) == shown


@pytest.mark.spark
def test_csv(spark) -> None:
    out = io.StringIO()
    query.print_csv(SparkRows(spark.sql(ROWS)), out)
    assert list(csv.reader(io.StringIO(out.getvalue()))) == [
        ["number", "text", "ts", "list", "map", "maybe"],
        ["1", "'=1+1", "2026-03-01 10:00:00.123", '["a","b"]', '{"k":1}', ""],
        ["-2", "-5", "", "[]", "{}", r'x"y, \x1b[31m'],
    ]


@pytest.mark.spark
def test_json_keeps_types_nulls_and_equal_names(spark) -> None:
    out = io.StringIO()
    query.print_json(SparkRows(spark.sql(ROWS)), out)
    first, second = json.loads(out.getvalue())
    assert first == {"number": 1, "text": "=1+1", "ts": "2026-03-01T10:00:00.123000Z", "list": ["a", "b"], "map": {"k": 1}, "maybe": None}
    assert second["maybe"] == 'x"y, \x1b[31m'
    assert "\x1b" not in out.getvalue()
    out = io.StringIO()
    query.print_json(SparkRows(spark.sql("SELECT 1 AS a WHERE false")), out)
    assert json.loads(out.getvalue()) == []


@pytest.mark.spark
def test_a_table_fits_or_is_told_record_by_record(spark) -> None:
    wide, narrow = io.StringIO(), io.StringIO()
    assert query.print_table(SparkRows(spark.sql(ROWS)), wide) == 0
    assert wide.getvalue().splitlines()[0].split() == ["number", "text", "ts", "list", "map", "maybe"]
    assert "\x1b" not in wide.getvalue()
    query.print_table(SparkRows(spark.sql(ROWS)), narrow, width=40)
    assert "── 1 ─" in narrow.getvalue()
    assert "number  1" in narrow.getvalue()


@pytest.mark.spark
def test_a_long_table_says_how_much_is_left(spark) -> None:
    out = io.StringIO()
    assert query.print_table(SparkRows(spark.range(query.TABLE_ROWS + 7)), out) == 7
    assert len(out.getvalue().splitlines()) == query.TABLE_ROWS + 2


def test_only_views_that_are_needed_are_opened() -> None:
    opening = [
        "DECLARE OR REPLACE VARIABLE k BIGINT DEFAULT 1",
        "CREATE OR REPLACE TEMPORARY VIEW rows AS SELECT * FROM parquet.`x`",
        "CREATE OR REPLACE TEMPORARY VIEW other AS SELECT 1",
        "CREATE OR REPLACE TEMPORARY VIEW event COMMENT 'c' AS SELECT * FROM rows JOIN rows USING (a)",
    ]
    assert query._needed(opening, ["SELECT * FROM Event"]) == [opening[0], opening[1], opening[3]]
    assert query._needed(opening, ["SELECT 1"]) == opening[:1]
    assert query._needed(opening, ["SHOW VIEWS"]) == opening


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("[X] bad; line 1 pos 7;\n'Project [a]\n+- Relation", "[X] bad; line 1 pos 7;"),
        ("[P] syntax\n== SQL ==\nselec 1\n^^^\n\nJVM stacktrace:\nat x", "[P] syntax\n    == SQL ==\n    selec 1\n    ^^^"),
    ],
)
def test_a_reason_has_no_plan_and_no_stack(said: str, reason: str) -> None:
    assert query._reason(said) == reason
