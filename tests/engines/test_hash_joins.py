"""The hints that make Spark join few rows without sorting them."""

from __future__ import annotations

import re

import pytest
import sqlglot
from sqlglot import TokenType

from forensics.case.view_files import views
from forensics.engines.hash_joins import hash_joins


@pytest.mark.parametrize(
    ("query", "hinted"),
    [
        ("SELECT a FROM t WHERE a IN ('x JOIN y')", "SELECT a FROM t WHERE a IN ('x JOIN y')"),
        ("SELECT 1 FROM t JOIN u USING (k)", "SELECT /*+ SHUFFLE_HASH(t, u) */ 1 FROM t JOIN u USING (k)"),
        (
            "WITH c AS (SELECT DISTINCT x.a FROM t AS x LEFT ANTI JOIN u y ON x.a IS DISTINCT FROM y.a) SELECT a FROM c UNION SELECT 1 FROM d CROSS JOIN e",
            "WITH c AS (SELECT /*+ SHUFFLE_HASH(x, y) */ DISTINCT x.a FROM t AS x LEFT ANTI JOIN u y ON x.a IS DISTINCT FROM y.a) "
            "SELECT a FROM c UNION SELECT /*+ SHUFFLE_HASH(d, e) */ 1 FROM d CROSS JOIN e",
        ),
        (
            "SELECT 1 FROM (SELECT a FROM t JOIN u ON t.a = u.a) AS x JOIN v ON extract(YEAR FROM v.at) = x.a",
            "SELECT /*+ SHUFFLE_HASH(x, v) */ 1 FROM (SELECT /*+ SHUFFLE_HASH(t, u) */ a FROM t JOIN u ON t.a = u.a) AS x "
            "JOIN v ON extract(YEAR FROM v.at) = x.a",
        ),
    ],
)
def test_each_select_names_what_it_joins(query: str, hinted: str) -> None:
    assert hash_joins(query) == hinted


def test_every_join_of_the_views_has_a_hint() -> None:
    for view in views().values():
        named = [hint.split(", ") for hint in re.findall(r"/\*\+ SHUFFLE_HASH\((.*?)\) \*/", hash_joins(view.query))] if view.query else []
        joins = sum(token.token_type is TokenType.JOIN for token in sqlglot.tokenize(view.query, read="spark"))
        assert sum(len(names) - 1 for names in named) == joins, view.name
