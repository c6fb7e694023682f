"""Rows that a case keeps are printed without an engine, and as the engine would print them."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import made_case
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from forensics.case import open_sql, view_files
from forensics.case.folder import Case
from forensics.engines.rows import ArrowRows, Rows
from forensics.engines.spark import SMALL, SparkRows, settings
from forensics.report import query, stored

FORMS: tuple[Callable[..., object], ...] = (query.print_table, query.print_csv, query.print_json)


def printed(rows: Rows, **width: int) -> list[str]:
    """Rows in every form."""
    out = []
    for form in FORMS:
        to = io.StringIO()
        form(rows, to, **(width if form is query.print_table else {}))
        out.append(to.getvalue())
    return out


@pytest.fixture(scope="module")
def case(tmp_path_factory) -> Case:
    return made_case.written(tmp_path_factory.mktemp("made") / "case")


HOSTILE = 'x"y\\z \x1b[31m \x07\b\f\n\r\t/ \x7f \u2028 é 🦊 \\u001b'
MOMENTS = [datetime(2026, 3, 1, 10, tzinfo=UTC), datetime(2026, 3, 1, 10, 0, 0, 120_000, tzinfo=UTC), datetime(1970, 1, 1, 0, 0, 0, 1, tzinfo=UTC)]
TS = pa.timestamp("us", tz="UTC")
INNER = pa.struct([("a", pa.int64()), ("b", pa.string()), ("ts", TS), ("none", pa.struct([("x", pa.int32())])), ("ok", pa.bool_())])


def every_type() -> pa.Table:
    """Rows of every type that a view may have, with what is hard to write."""
    n, m = None, MOMENTS
    full = {"a": -1, "b": HOSTILE, "ts": m[1], "none": {"x": n}, "ok": False}
    bare = dict.fromkeys(("a", "b", "ts", "none", "ok"))
    columns = {
        "text": pa.array([HOSTILE, "", n, "=1+1", "-5"]),
        "whole": pa.array([1, -(2**63), 2**63 - 1, n, 0], pa.int64()),
        "small": pa.array([1, -1, n, 0, 7], pa.int32()),
        "truth": pa.array([True, False, n, True, n]),
        "ts": pa.array([*m, n, m[0]], TS),
        "double": pa.array([1.0, 1e7, 9.99e-4, n, -0.0]),
        "odd": pa.array([float("nan"), float("inf"), float("-inf"), 123456.789, 1e22]),
        "exact": pa.array([Decimal("1.50"), n, Decimal("-0.01"), Decimal("12345.00"), Decimal(0)], pa.decimal128(10, 2)),
        "day": pa.array([date(2026, 3, 1), n, n, n, n]),
        "texts": pa.array([[HOSTILE, n, ""], [], n, ["a"], ["b"]], pa.list_(pa.string())),
        "numbers": pa.array([[1, n], [], n, [2], [3]], pa.list_(pa.int64())),
        "doubles": pa.array([[1.0, 1e10, n], [float("nan")], n, [0.5], []], pa.list_(pa.float64())),
        "struct": pa.array([full, bare, n, full, bare], INNER),
        "structs": pa.array([[full, n, bare], [], n, [bare], [full]], pa.list_(INNER)),
        "map": pa.array([[("k", HOSTILE), (HOSTILE, n)], [], n, [("a", "b")], []], pa.map_(pa.string(), pa.string())),
        "counts": pa.array([[("k", 1), ("l", n)], [], n, [("a", 2)], []], pa.map_(pa.string(), pa.int64())),
        "times": pa.array([[("k", [m[1], n])], [], n, [("a", [])], []], pa.map_(pa.string(), pa.list_(TS))),
    }
    return pa.table(columns)


def over(path: Path) -> ArrowRows:
    source = ds.dataset(str(path), format="parquet")
    return stored.StoredView(source, tuple((name, name) for name in source.schema.names)).rows()


@pytest.mark.spark
def test_every_type_is_printed_as_spark_prints_it(spark, tmp_path: Path) -> None:
    pq.write_table(every_type(), tmp_path / "part.parquet")
    frame = spark.read.parquet(str(tmp_path))
    assert printed(over(tmp_path)) == printed(SparkRows(frame))


@pytest.mark.spark
def test_the_public_views_of_a_sample_are_printed_as_spark_prints_them(sample_case, spark) -> None:
    case = sample_case("split-brain-frozen-worker-3.9.1")
    with settings(spark, SMALL):
        for name, path in case.views().items():
            if view_files.views()[name].kind != "public":  # a step, whose types are those of the others
                continue
            rows = stored.of_view(case, name)
            assert rows is not None
            spark.sql(open_sql.create_over(view_files.views()[name], path))
            by_spark = SparkRows(spark.table(name))
            assert rows.names == by_spark.names
            assert rows.numeric == by_spark.numeric
            assert list(rows.texts()) == list(by_spark.texts()), name
            assert list(map(list, rows.values())) == list(by_spark.values()), name


@pytest.mark.spark
def test_a_statement_gives_what_spark_gives(sample_case, spark) -> None:
    case = sample_case("split-brain-frozen-worker-3.9.1")
    spark.sql(open_sql.create_over(view_files.views()["config_value"], case.views()["config_value"]))
    for where in (
        "", "WHERE component = 'worker'", "WHERE component <> 'worker' OR value IS NULL", "WHERE NOT (value IN ('false', 'none'))",
        "WHERE value IS NOT NULL AND NOT value = 'true'",
    ):  # fmt: skip
        statement = (
            f"SELECT key AS k, value, process_id FROM Config_Value {where} ORDER BY value DESC, component, process_id, key NULLS LAST, ts LIMIT 40"
        )
        rows = stored.of_statement(case, statement)
        assert rows is not None
        assert printed(rows) == printed(SparkRows(spark.sql(statement))), where


# --- without Spark


@pytest.mark.parametrize(
    ("statement", "resources"),
    [
        ("SELECT resource FROM split_brain", ["orders-2", "orders-1", "orders-0"]),
        ("select resource as r from `split_brain` order by resource", ["orders-0", "orders-1", "orders-2"]),
        ("SELECT resource FROM split_brain WHERE verdict = 'proved' OR certain_ms = 0", ["orders-2", "orders-0"]),
        ("SELECT resource FROM split_brain WHERE NOT certain_ms > 0", ["orders-0"]),
        ("SELECT resource FROM split_brain WHERE from_lo IS NULL -- why?", ["orders-0"]),
        ("SELECT resource FROM split_brain WHERE verdict IN ('refuted', 'proved') LIMIT 1", ["orders-2"]),
        ("SELECT resource FROM split_brain ORDER BY from_lo, resource DESC", ["orders-0", "orders-2", "orders-1"]),
        ("SELECT resource FROM split_brain ORDER BY from_lo NULLS LAST, resource DESC LIMIT 2", ["orders-2", "orders-1"]),
        ("SELECT resource FROM split_brain WHERE resource = 'nothing'", []),
        ("SELECT resource FROM split_brain LIMIT 0", []),
    ],
)
def test_a_choice_of_columns_and_rows_takes_no_engine(case: Case, statement: str, resources: list[str]) -> None:
    rows = stored.of_statement(case, statement)
    assert rows is not None
    assert [row[0] for row in rows.values()] == resources


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT count(*) FROM split_brain",
        "SELECT nothing FROM split_brain",
        "SELECT RESOURCE FROM split_brain",
        "SELECT resource FROM nowhere",
        "SELECT resource FROM event",
        "SELECT DISTINCT resource FROM split_brain",
        "SELECT a.resource FROM split_brain a",
        "SELECT resource FROM split_brain, finding",
        "SELECT resource FROM split_brain WHERE from_lo > '2026-01-01'",
        "SELECT resource FROM split_brain WHERE resource = 5",
        "SELECT resource FROM split_brain WHERE certain_ms > 0.5",
        "SELECT resource FROM split_brain WHERE resource LIKE 'o%'",
        "SELECT resource FROM split_brain WHERE resource = 'it''s'",
        r"SELECT resource FROM split_brain WHERE resource = '\n'",
        "SELECT resource AS verdict FROM split_brain ORDER BY verdict",
        "SELECT resource FROM split_brain ORDER BY 1",
        "SELECT resource FROM split_brain GROUP BY resource",
        "SELECT resource FROM split_brain TABLESAMPLE (1 ROWS)",
        "SELECT resource FROM split_brain LIMIT 1 OFFSET 1",
        "SELECT resource FROM split_brain UNION ALL SELECT resource FROM ownership",
        "SELECT * EXCEPT (resource) FROM split_brain",
        "SELECT clock_skew_ms FROM split_brain",
        "WITH split_brain AS (SELECT 1 AS resource) SELECT resource FROM split_brain",
        "FROM split_brain SELECT resource WHERE",
        "SHOW VIEWS",
    ],
)
def test_the_rest_is_left_to_the_engine(case: Case, statement: str) -> None:
    assert stored.of_statement(case, statement) is None


def test_commands_on_stored_rows_need_no_java_and_are_quick(case: Case) -> None:
    code = (
        "import sys\nfrom forensics.cli import app\nsys.argv[0] = 'forensics'\n"
        "try:\n    app()\nexcept SystemExit as e:\n    print('exit', e.code, 'pyspark' in sys.modules, file=sys.stderr)\n"
    )
    for args in (
        ["sql", "split_brain", "--format", "json"],
        ["sql", "-e", "SELECT resource FROM split_brain", "--format", "json"],
        ["report", "--full"],
    ):
        env = {**os.environ, "JAVA_HOME": "/nonexistent", "FORENSICS_CASE": str(case.root)}
        done = subprocess.run([sys.executable, "-c", code, *args], capture_output=True, text=True, env=env, check=False)
        assert done.stderr == "exit 0 False\n"
        assert "orders-2" in done.stdout
        if args[0] == "sql":
            assert [row["resource"] for row in json.loads(done.stdout)] == ["orders-2", "orders-1", "orders-0"]
