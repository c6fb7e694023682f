# SPDX-License-Identifier: Apache-2.0
"""A query of Sail that breaks off is an error, never an answer with fewer rows: whatever its form, whoever reads it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from forensics.case import materialise
from forensics.case.view_files import View
from forensics.engines import SAIL, engine
from forensics.engines.base import Engine
from forensics.engines.sail_answers import BROKEN_OFF, WholeAnswers
from forensics.errors import CaseError

#: Queries whose last stage calls `breaks`, which panics at the fourth row.
FORMS = {
    "projection": "SELECT breaks(id) AS a FROM range(5)",
    "filter": "SELECT id AS a FROM range(5) WHERE breaks(id) > 0",
    "aggregate": "SELECT sum(breaks(id)) AS a FROM range(5) GROUP BY id % 2",
    "having": "SELECT sum(id) AS a FROM range(5) GROUP BY id % 2 HAVING breaks(sum(id) - 1) > 0",
    "after aggregate": "SELECT breaks(a - 1) AS a FROM (SELECT id % 2 AS k, sum(id) AS a FROM range(5) GROUP BY 1)",
    "window": "SELECT breaks(row_number() OVER (ORDER BY id)) AS a FROM range(5)",
    "join": "SELECT breaks(b.id) AS a FROM range(5) a JOIN range(5) b ON a.id = b.id",
    "left join": "SELECT breaks(b.id) AS a FROM range(5) a LEFT JOIN range(1, 5) b ON a.id = b.id",
    "union": "SELECT breaks(id) AS a FROM range(5) UNION ALL SELECT id FROM range(5)",
    "distinct": "SELECT DISTINCT breaks(id) AS a FROM range(5)",
    "limit": "SELECT breaks(id) AS a FROM range(5) LIMIT 4",
    "sort": "SELECT breaks(id) AS a FROM range(5) ORDER BY a",
    "after sort": "SELECT breaks(id) AS a FROM (SELECT id FROM range(5) ORDER BY id DESC LIMIT 5)",
    "scalar subquery": "SELECT id AS a FROM range(5) WHERE id >= (SELECT min(breaks(id)) FROM range(5))",
    "in subquery": "SELECT id AS a FROM range(5) WHERE id IN (SELECT breaks(id) FROM range(5))",
    "not exists": "SELECT a.id AS a FROM range(5) a WHERE NOT EXISTS (SELECT 1 FROM range(5) b WHERE b.id = a.id AND breaks(b.id) > 9)",
    "intersect": "SELECT id AS a FROM range(5) INTERSECT SELECT breaks(id) FROM range(5)",
    "except": "SELECT id AS a FROM range(5) EXCEPT SELECT breaks(id) FROM range(5)",
    "grouping sets": "SELECT sum(breaks(id)) AS a FROM range(5) GROUP BY GROUPING SETS ((id), ())",
    "common table": "WITH t AS (SELECT breaks(id) AS a FROM range(5)) SELECT x.a FROM t x JOIN t y ON x.a = y.a",
    "window over it": "SELECT sum(b) OVER (ORDER BY b) AS a FROM (SELECT breaks(id) AS b FROM range(5))",
    "lambda": "SELECT breaks(size(transform(sequence(1, id), x -> x + 1))) AS a FROM range(1, 5)",
    "explode": "SELECT breaks(a) AS a FROM (SELECT explode(sequence(1, 5)) AS a)",
}


def panics(number: int) -> int:
    """Raise what Rust's side takes for a panic of its own: a bug in the engine."""
    if number == 3:
        raise next(kind for kind in reversed(BaseException.__subclasses__()) if kind.__name__ == "PanicException")("a bug in the engine")
    return number


def fails(number: int) -> int:
    raise ValueError("an error")


@pytest.fixture(scope="module")
def sail() -> Iterator[Engine]:
    pytest.importorskip("pysail")
    from pyspark.sql.types import LongType

    runs = engine(SAIL, jobs=2)
    runs.session.udf.register("breaks", panics, LongType())
    runs.session.udf.register("fails", fails, LongType())
    with pytest.raises(Exception, match="an error"):  # creates Rust's type of panics
        runs.query("SELECT fails(1)").collect()
    yield runs


@pytest.mark.engine
@pytest.mark.parametrize("form", FORMS)
def test_a_query_that_breaks_off_is_an_error(sail: Engine, tmp_path: Path, form: str) -> None:
    for use in (
        lambda: sail.collected(sail.query(FORMS[form])),
        lambda: list(sail.rows(sail.query(FORMS[form])).values()),
        lambda: sail.query(FORMS[form]).collect(),
        lambda: sail.keep_rows(sail.query(FORMS[form]), tmp_path / "kept"),
        lambda: sail.keep_rows(sail.query(f"SELECT * FROM ({FORMS[form]}) UNION ALL SELECT 7"), tmp_path / "more"),
    ):
        with pytest.raises(Exception, match=f"{BROKEN_OFF}|panicked"):
            use()


@pytest.mark.engine
@pytest.mark.parametrize("small", [True, False])
@pytest.mark.parametrize("form", ["projection", "union", "left join"])
def test_a_view_is_not_built_without_its_rows(sail: Engine, tmp_path: Path, monkeypatch, form: str, small: bool) -> None:
    view = View("broken", "1_evidence", f"CREATE OR REPLACE TEMPORARY VIEW broken (\n  a COMMENT 'x'\n)\nAS\n{FORMS[form]}", (), ("a",), kept=True)
    monkeypatch.setattr(materialise, "views", lambda: {"broken": view})
    with pytest.raises(CaseError, match="The view broken could not be computed"):
        materialise.build(sail, {}, tmp_path / "views", small=small)


@pytest.mark.engine
def test_whole_answers_are_given_without_rows_and_with_many(sail: Engine, tmp_path: Path) -> None:
    assert sail.collected(sail.query("SELECT id FROM range(5) WHERE id > 7"))[0].num_rows == 0
    none = sail.query("SELECT id FROM range(5) WHERE id > 7")
    sail.keep_rows(none, tmp_path / "none")
    sail.know("none", tmp_path / "none", none.schema)
    assert sail.query("SELECT count(*) FROM none").first()[0] == 0
    many = sail.rows(sail.query("SELECT id, repeat('x', 500) AS x FROM range(20000)"))
    assert sum(1 for _ in many.values()) == 20_000
    first = many.values()
    assert next(first)[0] == 0
    first.close()  # the server ends the query
    assert sail.query("SELECT 1").first()[0] == 1


class Stub:
    """A server that gives prepared answers."""

    def __init__(self, *responses: Any, again: Sequence[Any] = ()) -> None:
        self.responses, self.again, self.released = responses, again, 0
        self.ReleaseExecute = SimpleNamespace(future=self._release)

    def _release(self, request: Any, metadata: Any) -> None:
        self.released += 1

    def ExecutePlan(self, request: Any, metadata: Any) -> Any:
        assert request.operation_id
        assert request.request_options[0].reattach_options.reattachable

        return Call(self.responses)

    def ReattachExecute(self, request: Any, metadata: Any) -> Any:
        assert request.last_response_id == self.responses[-1].response_id
        return Call(self.again)


class Call(list):
    """An answer that is given."""

    def cancel(self) -> None:
        pass


def test_only_the_end_mark_makes_an_answer_whole() -> None:
    pytest.importorskip("pyspark.sql.connect.proto")
    from pyspark.errors import PySparkException
    from pyspark.sql.connect import proto

    rows = proto.ExecutePlanResponse(arrow_batch=proto.ExecutePlanResponse.ArrowBatch(row_count=1, data=b"x"))
    end = proto.ExecutePlanResponse(result_complete=proto.ExecutePlanResponse.ResultComplete())
    whole, broken, left = Stub(rows, end), Stub(rows, rows), Stub(rows, rows)
    assert len(list(WholeAnswers(whole).ExecutePlan(proto.ExecutePlanRequest()))) == 2
    with pytest.raises(PySparkException, match=BROKEN_OFF):
        list(WholeAnswers(broken).ExecutePlan(proto.ExecutePlanRequest()))
    answer = WholeAnswers(left).ExecutePlan(proto.ExecutePlanRequest())
    next(iter(answer))
    answer.close()  # type: ignore[attr-defined]
    assert [whole.released, broken.released, left.released] == [0, 1, 1]


def test_the_rest_of_an_answer_that_is_damaged_on_its_way_is_asked_for_once() -> None:
    pytest.importorskip("pyspark.sql.connect.proto")
    from pyspark.errors import PySparkException
    from pyspark.sql.connect import proto

    rows = [
        proto.ExecutePlanResponse(response_id=f"r{n}", arrow_batch=proto.ExecutePlanResponse.ArrowBatch(row_count=1, data=b"x")) for n in range(3)
    ]
    end = proto.ExecutePlanResponse(response_id="end", result_complete=proto.ExecutePlanResponse.ResultComplete())
    mended, lost = Stub(*rows[:2], again=[rows[2], end]), Stub(*rows[:2], again=[rows[2]])
    assert [r.response_id for r in WholeAnswers(mended).ExecutePlan(proto.ExecutePlanRequest())] == ["r0", "r1", "r2", "end"]
    with pytest.raises(PySparkException, match=BROKEN_OFF):
        list(WholeAnswers(lost).ExecutePlan(proto.ExecutePlanRequest()))
    assert [mended.released, lost.released] == [0, 1]
