"""Rows of queries as tables, CSV and JSON."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

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


OWN = "SELECT 1; -- first; of two\n  SELECT 'ä''x' AS n, -- its name\n  b c FROM event"


def test_a_statement_knows_where_it_stands_in_what_the_user_wrote(tmp_path: Path) -> None:
    first, second = query.own(OWN, None)
    assert (first.original, second.original.split()) == ("SELECT 1", ["SELECT", "'ä''x'", "AS", "n,", "b", "c", "FROM", "event"])
    assert first.place(7) == "-e, line 1, column 8"
    assert second.place(second.original.index("n,")) == "-e, line 2, column 20"
    assert second.place(second.original.index("c FROM")) == "-e, line 3, column 5"
    assert second.place(None) == ""
    (tmp_path / "own.sql").write_text(OWN)
    assert query.own("", tmp_path / "own.sql")[1].place(0) == f"{tmp_path / 'own.sql'}, line 2, column 3"


@pytest.mark.parametrize(
    ("before", "known"),
    [
        ("SELECT 'ä''x' AS n, /* its name; é */\n  b c ", True),
        ("SELECT ", True),
        ("SELECT gap_ms, ", False),
        ("SELECT * FROM parquet.`/a b` ", False),
    ],
)
def test_sails_places_are_those_of_the_users_words_or_none(before: str, known: bool) -> None:
    pytest.importorskip("pysail")
    from forensics.engines.sail import Sail
    from forensics.engines.sail_sql import to_sail

    sail = Sail()
    assert sail._variables.take("DECLARE OR REPLACE VARIABLE gap_ms BIGINT DEFAULT 1")
    at = len(to_sail(before, sail._variables.texts()).encode())
    assert sail.place_of(f"found ) at {at}:{at + 1} expected end", before + ") FROM x") == ("found ) expected end", len(before) if known else None)
    assert sail.place_of("found end of input expected end", before) == ("found end of input expected end", None)


@pytest.mark.parametrize(
    ("said", "reason", "place"),
    [
        (
            "[X] bad. SQLSTATE: 1 (line 2, pos 3)\n\n== SQL ==\nSELECT 1,\n   x (line 1, pos 1)",
            "[X] bad. SQLSTATE: 1\n\n== SQL ==\nSELECT 1,\n   x (line 1, pos 1)",
            13,
        ),
        ("[X] bad. SQLSTATE: 1; line 2 pos 3;\n'Project", "[X] bad. SQLSTATE: 1\n'Project", 13),
        ("[X] bad\n== SQL (line 1, position 8) ==\nSELECT 1", "[X] bad\n== SQL ==\nSELECT 1", 7),
        ("[X] bad\n== SQL of VIEW v (line 1, position 8) ==", "[X] bad\n== SQL of VIEW v (line 1, position 8) ==", None),
        ("[X] bad; line 9 pos 3", "[X] bad", None),
    ],
)
def test_sparks_places_are_taken_from_its_words(said: str, reason: str, place: int | None) -> None:
    from forensics.engines.spark import Spark

    assert Spark().place_of(said, "SELECT 1,\n   foo FROM x") == (reason, place)
