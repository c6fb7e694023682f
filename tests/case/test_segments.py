# SPDX-License-Identifier: Apache-2.0
"""A case that was added to: each ingest leaves a folder of rows, and a table is all of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from some_views import only_views

import forensics
from forensics.case import open_sql
from forensics.schema import table_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

LINE = (
    "[2026-11-21 07:51:{:02d},897] INFO [Consumer clientId=c-{}, groupId=g] (Re-)joining group "
    "(org.apache.kafka.clients.consumer.internals.ConsumerCoordinator:611)\n"
)


def segments(folder: Path) -> dict[str, list[str]]:
    """Two folders of events: an earlier version's without a column that there is now, and one with a capture of the user's own."""
    columns = [field for field in table_schema("event_row") if field.name not in ("worker_id", "assignment")]
    for number, fields in enumerate((columns, [*reversed(table_schema("event_row")), pa.field("shift", pa.int64())])):
        row = {"event_id": f"e{number}", "generation": number, "shift": 8, "assigned_tasks": ["a-0"]}
        (folder / str(number)).mkdir()
        pq.write_table(pa.Table.from_pylist([row], pa.schema(fields)), folder / str(number) / "part-0.parquet")
    return {"event_row": [str(folder / "0"), str(folder / "1")]}


def rows_of(run: Callable[[str], DataFrame], tables: dict[str, list[str]]) -> list[tuple[object, ...]]:
    """Return events as an engine finds them that received exactly the definition of a table in `open.sql`."""
    for statement in open_sql.opening(tables, {}):
        if statement.startswith("CREATE OR REPLACE TEMPORARY VIEW event_row "):
            run(statement)
    chosen = run("SELECT event_id, generation, shift, assigned_tasks, assignment, worker_id FROM event_row ORDER BY event_id")
    return [tuple(row) for row in chosen.collect()]


WRITTEN = [("e0", 0, None, ["a-0"], None, None), ("e1", 1, 8, ["a-0"], None, None)]


@pytest.mark.engine
def test_folders_with_other_columns_are_one_table(any_engine, tmp_path: Path) -> None:
    assert rows_of(any_engine.sql, segments(tmp_path)) == WRITTEN


@pytest.mark.spark
def test_folders_with_other_columns_are_one_table_for_spark(spark: SparkSession, tmp_path: Path) -> None:
    assert rows_of(spark.sql, segments(tmp_path)) == WRITTEN


@pytest.mark.spark
@pytest.mark.parametrize("name", ["case", 'a case\'s [x] {y,z} "q" `b`'])
def test_open_sql_makes_them_one_table_for_spark(spark: SparkSession, tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    opened, steps = open_sql.scripts(segments(tmp_path / name), {})
    assert steps == []
    users = spark.newSession()
    for statement in opened:
        users.sql(statement)
    chosen = users.sql("SELECT event_id, generation, shift, assigned_tasks, assignment, worker_id FROM event_row ORDER BY event_id")
    assert [tuple(row) for row in chosen.collect()] == WRITTEN


@pytest.mark.spark
def test_open_sql_converts_a_capture_that_changed_its_type(spark: SparkSession, tmp_path: Path) -> None:
    tables = segments(tmp_path)
    row = pa.table({"event_id": ["e1"], "shift": ["late"]})
    pq.write_table(row, tmp_path / "1" / "part-0.parquet")
    pq.write_table(pa.table({"event_id": ["e0"], "shift": pa.array([8], pa.int64())}), tmp_path / "0" / "part-0.parquet")
    users = spark.newSession()
    for statement in open_sql.scripts(tables, {})[0]:
        users.sql(statement)
    assert [tuple(r) for r in users.sql("SELECT event_id, CAST(shift AS STRING) FROM event_row WHERE event_id = 'e0'").collect()] == [("e0", "8")]


@pytest.mark.engine
def test_a_case_that_was_added_to_answers_questions_about_events(any_engine, tmp_path: Path) -> None:
    for number in range(2):
        logs = tmp_path / f"logs-{number}"
        logs.mkdir()
        (logs / f"app-{number}.log").write_text("".join(LINE.format(second, number) for second in range(10 + number)))
        with only_views(["event"]):
            case = forensics.ingest(logs, tmp_path / "case").case
    assert case.view("event").group_by("client_id").aggregate([("event", "count")]).sort_by("client_id").to_pylist() == [
        {"client_id": "c-0", "event_count": 10},
        {"client_id": "c-1", "event_count": 11},
    ]
    assert case.view("snapshot").num_rows == 0
