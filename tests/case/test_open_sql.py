# SPDX-License-Identifier: Apache-2.0
"""Types that `open.sql` states for stored views."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from conftest import forget_views
from some_views import with_views
from written_logs import consumer, joined, told

from forensics.case import views
from forensics.case.ingestion import ingest
from forensics.case.sql_types import sql_type
from forensics.case.view_files import statements
from forensics.report.query import _needed

if TYPE_CHECKING:
    from forensics.engines.base import Engine


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
    assert sql_type(kind) == stated


@pytest.mark.engine
def test_a_large_case_opens_with_the_types_and_rows_of_a_small_one(any_engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Engines write the views of a large case themselves, with other types of texts; here it has as few events as the small one."""
    lines = told((1, "(Re-)joining group"), (2, joined(1, "m-1", "orders-0")), (31, "(Re-)joining group"), (32, joined(2, "m-1", "orders-0")))
    (tmp_path / "app.log").write_text(consumer("m", "shop", *lines), encoding="utf-8")
    case = ingest([tmp_path / "app.log"], tmp_path / "case").case
    opened = []
    for limit in (views.SMALL_EVENTS, 0):
        monkeypatch.setattr(views, "SMALL_EVENTS", limit)
        built = with_views(case, any_engine, ["holding"])
        forget_views(any_engine.session)
        script = [statement for name in ("open.sql", "steps.sql") for statement in statements((built.root / name).read_text(encoding="utf-8"))]
        # Other statements read views that are not built here.
        for statement in _needed(script, [f"SELECT * FROM {name}" for name in built.views()]):
            any_engine.sql(statement)
        kept = {name: any_engine.collected(any_engine.query(f"SELECT * FROM {name}")) for name in built.views()}
        opened.append({name: (types.simpleString(), sorted(map(str, rows.to_pylist()))) for name, (rows, types) in kept.items()})
    small, large = opened
    assert len(large["holding"][1]) == 1
    assert small == large
