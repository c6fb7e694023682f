# SPDX-License-Identifier: Apache-2.0
"""The last value so far, as Sail is told it: the same statement but for functions that read every row before anew."""

import re
from pathlib import Path

import pytest

from forensics.engines.running_values import kept

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize(
    ("window", "function"),
    [
        ("(PARTITION BY p ORDER BY stream_pos ROWS UNBOUNDED PRECEDING)", "max_by"),
        ("(PARTITION BY p ORDER BY stream_pos ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)", "max_by"),
        ("(PARTITION BY p ORDER BY stream_pos DESC ROWS UNBOUNDED PRECEDING)", "min_by"),
    ],
)
def test_the_last_value_so_far_is_kept_from_row_to_row(window: str, function: str) -> None:
    told = f"{function}(x + 1, CASE WHEN (x + 1) IS NOT NULL THEN stream_pos END) OVER"
    assert kept(f"SELECT last_value(x + 1, true) OVER {window} AS y FROM t") == f"SELECT {told} {window} AS y FROM t"
    named = f"SELECT coalesce(last_value(x + 1, true) OVER w, 0) AS y FROM (SELECT x, lag(x) OVER w AS z FROM t WINDOW w AS (ORDER BY x)) WINDOW w AS {window}"
    assert kept(named) == named.replace("last_value(x + 1, true) OVER", told)


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT last_value(x) OVER (ORDER BY stream_pos ROWS UNBOUNDED PRECEDING) FROM t",
        "SELECT last_value(x, true) OVER (ORDER BY stream_pos) FROM t",
        "SELECT last_value(x, true) OVER (ORDER BY ts, stream_pos ROWS UNBOUNDED PRECEDING) FROM t",
        "SELECT last_value(x, true) OVER (ORDER BY name ROWS UNBOUNDED PRECEDING) FROM t",
        "SELECT last_value(x, true) OVER (ORDER BY stream_pos ROWS BETWEEN 3 PRECEDING AND CURRENT ROW) FROM t",
        "SELECT * FROM (SELECT last_value(x, true) OVER w FROM t) WINDOW w AS (ORDER BY stream_pos ROWS UNBOUNDED PRECEDING)",
        "SELECT 'last_value(x, true) OVER (ORDER BY stream_pos ROWS UNBOUNDED PRECEDING' FROM t",
        "SELECT last_value(x, true OVER (",
    ],
)
def test_what_is_something_else_stays(statement: str) -> None:
    assert kept(statement) == statement


def test_views_rest_on_it() -> None:
    texts = [re.sub("--[^\n]*", "", path.read_text()) for path in (ROOT / "sql").rglob("*.sql")]
    calls = [sum(t.count("last_value(") for t in some) for some in (texts, [kept(t) for t in texts])]
    assert calls[1] < calls[0] / 2
