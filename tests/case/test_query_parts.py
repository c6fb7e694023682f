"""Parts of a query that are computed once: the same rows, and each part of the plan once."""

from __future__ import annotations

import sqlite3
from itertools import product

import pytest

from forensics.case.query_parts import Kept, branches, inlined, split, with_values, without
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


UNITED = """
WITH a AS (SELECT 1 AS x, 'one' AS y UNION ALL SELECT 2, 'two' UNION ALL SELECT 3 AS x, 'UNION ALL SELECT' AS y), idle AS (SELECT 7 AS x, 'idle' AS y)
SELECT y, x FROM (SELECT x, y FROM a WHERE x > 0 UNION ALL SELECT p, q FROM (SELECT x AS p, y AS q FROM a UNION ALL SELECT 4, 'four'))
UNION ALL
SELECT y, x FROM idle
"""


def test_the_selects_of_each_union_are_found() -> None:
    found = branches(UNITED)
    texts = [[UNITED[branch.start : branch.end] for branch in group] for group in found]
    assert [len(group) for group in texts] == [3, 2, 2, 2]
    assert texts[0][2] == "SELECT 3 AS x, 'UNION ALL SELECT' AS y"
    assert texts[-1][1] == "SELECT y, x FROM idle"
    assert [group[0].before.startswith("WITH a AS") for group in found] == [False, True, True, True]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT 1 UNION SELECT 2 UNION ALL SELECT 3",
        "SELECT 1 UNION ALL SELECT 2 EXCEPT SELECT 3",
        "SELECT 1 AS x UNION ALL SELECT 2 ORDER BY x LIMIT 1",
        "SELECT 1 UNION ALL (SELECT 2)",
        "SELECT 1",
    ],
)
def test_a_union_with_something_else_stays_whole(query: str) -> None:
    assert branches(query) == []


@pytest.mark.engine
def test_a_query_without_some_of_its_selects_has_the_rows_and_names_of_the_others(any_engine) -> None:
    groups = branches(UNITED)
    names = [["x", "y"], ["p", "q"], ["x", "y"], ["y", "x"]]
    for chosen in product(*(range(1, 1 << len(group)) for group in groups)):
        kept = [[bool(stay >> n & 1) for n in range(len(group))] for stay, group in zip(chosen, groups, strict=True)]
        unions = [
            Kept(columns, [(b.start, b.end, stays) for b, stays in zip(group, stay, strict=True)])
            for columns, group, stay in zip(names, groups, kept, strict=True)
        ]
        rows = any_engine.query(without(UNITED, unions)).toArrow()
        a = [row for row, stays in zip([("one", 1), ("two", 2), ("UNION ALL SELECT", 3)], kept[0], strict=True) if stays]
        inner = a * kept[1][0] + [("four", 4)] * kept[1][1]
        outer = a * kept[2][0] + inner * kept[2][1]
        assert rows.column_names == ["y", "x"]
        assert sorted(zip(*rows.to_pydict().values(), strict=True)) == sorted(outer * kept[3][0] + [("idle", 7)] * kept[3][1])


@pytest.mark.parametrize(
    ("query", "left"),
    [
        ("WITH a AS (SELECT x FROM t), b AS (SELECT a.x FROM a WHERE a.x <> 'q') SELECT b.x FROM b ORDER BY 1", ""),
        ("WITH a AS (SELECT x, k FROM t) SELECT p.x FROM u JOIN a p ON p.k = u.k ORDER BY 1", ""),
        ("WITH a AS (SELECT x, k FROM t) SELECT x FROM u JOIN a ON a.k = u.k ORDER BY 1", ""),
        ("WITH a AS (SELECT x FROM t) SELECT 'FROM a', x FROM (SELECT x FROM a) AS a ORDER BY 1, 2", "a"),  # `a` is a name of something else, too
        ("WITH a AS (SELECT x FROM t), b AS (SELECT x FROM a) SELECT p.x FROM b p JOIN b q ORDER BY 1", "b"),  # read twice
        ("WITH a (y) AS (SELECT x FROM t) SELECT y FROM a ORDER BY 1", "a"),  # names its columns
        ("WITH a AS (SELECT x FROM t) SELECT * FROM (WITH t AS (SELECT 1 AS x) SELECT * FROM a) ORDER BY 1", "a"),
        ("SELECT x FROM t ORDER BY 1", ""),
    ],
)
def test_an_expression_that_is_read_once_moves_to_its_reader(query: str, left: str) -> None:
    moved = inlined(query)
    assert rows([], moved) == rows([], query) != []
    assert ("WITH" in moved) == bool(left)
    assert f"{left} AS (" in moved or f"{left} (y) AS (" in moved or not left
    assert inlined(moved) == moved or left == "b"


def test_an_expression_stays_if_another_relation_has_its_name_or_one_that_it_reads() -> None:
    query = "WITH a AS (SELECT k AS x FROM u), u AS (SELECT 'r' AS x) SELECT a.x, u.x FROM a JOIN u"
    assert inlined(query) == query


def test_values_replace_variables_and_nothing_else() -> None:
    query = "SELECT gap_ms, 'gap_ms', t.gap_ms, `gap_ms`, gap_ms(1), storm_gap_ms FROM t WHERE x > GAP_MS"
    assert with_values(query, {"gap_ms": "CAST(5 AS BIGINT)"}) == (
        "SELECT CAST(5 AS BIGINT), 'gap_ms', t.gap_ms, `gap_ms`, gap_ms(1), storm_gap_ms FROM t WHERE x > CAST(5 AS BIGINT)"
    )
