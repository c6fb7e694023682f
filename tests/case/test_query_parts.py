"""Parts of a query that are computed once: the same rows, and each part of the plan once."""

from __future__ import annotations

import sqlite3

import pytest

from forensics.case.query_parts import split
from forensics.case.view_files import views

CHAIN = """
WITH a AS (SELECT x, count(*) AS n FROM t JOIN u ON t.k = u.k GROUP BY x),
  over AS (SELECT p.x, p.n + q.n AS n FROM a p JOIN a q ON p.x <= q.x),
  c (x, n) AS (SELECT x, n FROM over UNION ALL SELECT x, -n FROM over)
SELECT l.x, sum(l.n * r.n) AS n FROM c l JOIN c r ON r.x = l.x WHERE l.x <> 'FROM a JOIN a' GROUP BY l.x ORDER BY l.x
"""


def rows(statements: list[tuple[str, str]], query: str) -> list[tuple[object, ...]]:
    store = sqlite3.connect(":memory:")
    store.executescript("CREATE TABLE t (k, x); INSERT INTO t VALUES (1,'p'),(1,'q'),(2,'q'); CREATE TABLE u (k); INSERT INTO u VALUES (1),(2),(2);")
    for name, part in statements:
        store.execute(f"CREATE TABLE {name} AS {part}")
    return store.execute(query).fetchall()


def test_what_a_chain_reads_twice_is_computed_once_and_gives_the_same_rows() -> None:
    parts, last = split(CHAIN, prefix="v", worth=4)
    assert [part.name for part in parts] == ["v__over"]
    assert rows([(part.name, part.query) for part in parts], last) == rows([], CHAIN) != []


@pytest.mark.parametrize(
    "query",
    [
        "SELECT 1",
        "WITH a AS (SELECT 1 AS x) SELECT * FROM a p JOIN a q ON p.x = q.x",  # nothing to spare
        "WITH a AS (SELECT DISTINCT x FROM t JOIN u ON t.k = u.k GROUP BY x) SELECT * FROM a",  # read once
        "WITH a AS (SELECT DISTINCT x FROM t JOIN u ON t.k = u.k GROUP BY x) SELECT a.x, 'FROM a', a.a FROM a WHERE a.x > 0",
        "WITH RECURSIVE a AS (SELECT 1 AS x UNION SELECT DISTINCT x FROM a JOIN u) SELECT * FROM a JOIN a",
    ],
)
def test_what_is_not_worth_it_stays(query: str) -> None:
    assert split(query, prefix="v", worth=4) == ([], query)


def test_a_part_brings_only_the_tables_that_it_needs() -> None:
    query = "WITH no AS (SELECT 1), base AS (SELECT x FROM t), a AS (SELECT DISTINCT b.x FROM base b JOIN base c JOIN base d GROUP BY 1) SELECT * FROM a JOIN a JOIN no"
    (part,), last = split(query, prefix="v", worth=4)
    assert "no AS" not in part.query
    assert "base AS (SELECT x FROM t)" in part.query
    assert "no AS (SELECT 1)" in last
    assert "base" not in last


@pytest.mark.parametrize("view", [view for view in views().values() if view.kept and not view.computed], ids=lambda view: view.name)
def test_each_part_of_a_view_is_read_by_what_comes_after_it(view) -> None:
    parts, last = split(view.query, prefix=view.name, worth=4)
    queries = [*(part.query for part in parts), last]
    for n, part in enumerate(parts):
        assert not any(part.name in query for query in queries[: n + 1])
        assert any(f"SELECT * FROM {part.name})" in query for query in queries[n + 1 :])
