"""What cannot have rows is known before it is planned: no claim is wrong, and most of what a case lacks is claimed."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from forensics.case import emptiness, open_sql, view_files
from forensics.case.emptiness import EMPTY, Known

KNOWN = {
    "event": emptiness.of_rows(pa.table({"event": ["joined", "synced", None], "ok": [True, True, None], "n": [0, 3, None], "text": ["a", "b", "c"]})),
    "falses": Known(values={"ok": frozenset({False}), "maybe": frozenset()}),
    "anything": Known(),
    "nothing": EMPTY,
}
VARIABLES = {"limit_ms": 5, "unset_ms": None}


def is_empty(sql: str) -> bool:
    return emptiness.of_query(sql, KNOWN, VARIABLES).empty


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM nothing",
        "SELECT * FROM event WHERE event = 'left'",
        "SELECT * FROM event WHERE EVENT IN ('left', 'died') AND text = 'a'",
        "SELECT * FROM event e WHERE e.event LIKE 'task\\\\_%'",
        "SELECT * FROM event WHERE event = 'left' OR n > 3",
        "SELECT * FROM event WHERE n > limit_ms",
        "SELECT * FROM event WHERE n < unset_ms",
        "SELECT * FROM event WHERE n BETWEEN 4 AND 9",
        "SELECT * FROM event WHERE n = -1",
        "SELECT * FROM falses WHERE ok",
        "SELECT * FROM falses WHERE maybe IS NOT NULL",
        "SELECT * FROM event WHERE false",
        "SELECT a.* FROM anything a JOIN nothing b ON b.x = a.x",
        "SELECT a.* FROM anything a CROSS JOIN nothing b",
        "SELECT a.* FROM anything a, nothing b",
        "SELECT * FROM nothing a LEFT JOIN anything b ON b.x = a.x",
        "SELECT * FROM anything a LEFT SEMI JOIN nothing b ON b.x = a.x",
        "SELECT * FROM nothing a LEFT ANTI JOIN anything b ON b.x = a.x",
        "SELECT * FROM nothing a FULL OUTER JOIN nothing b ON b.x = a.x",
        "SELECT * FROM anything a LEFT JOIN nothing b ON b.x = a.x WHERE b.x IS NOT NULL",
        "SELECT * FROM anything a LEFT JOIN nothing b ON b.x = a.x WHERE b.x > 5",
        "SELECT * FROM anything a LEFT JOIN event b ON b.x = a.x AND b.event = 'left' WHERE b.x = a.x",
        "SELECT * FROM anything a JOIN event b ON b.x = a.x AND b.event = 'left'",
        "SELECT x, count(*) FROM nothing GROUP BY x",
        "SELECT max(x) OVER (PARTITION BY y) FROM nothing",
        "SELECT last_value(x) IGNORE NULLS OVER w FROM nothing WINDOW w AS (ORDER BY y)",
        "SELECT timestamp_millis(x) FROM nothing",
        "SELECT (SELECT max(x) FROM anything) FROM nothing",
        "SELECT * FROM nothing UNION ALL SELECT * FROM event WHERE event = 'left'",
        "SELECT * FROM nothing EXCEPT SELECT * FROM anything",
        "SELECT * FROM anything INTERSECT SELECT * FROM nothing",
        "WITH a AS (SELECT event AS what FROM event) SELECT * FROM a WHERE what = 'left'",
        "WITH a AS (SELECT CASE WHEN event = 'left' THEN 'end' WHEN event = 'joined' THEN 'begin' END AS kind FROM event) SELECT * FROM a WHERE kind = 'end'",
        "WITH a AS (SELECT 'x' AS k FROM event UNION ALL SELECT 'y' FROM anything) SELECT * FROM a WHERE k = 'z'",
        "WITH a AS (SELECT *, coalesce(event, 'none') AS what FROM event) SELECT * FROM a WHERE what = 'left'",
        "WITH RECURSIVE a AS (SELECT x FROM nothing UNION ALL SELECT a.x + 1 FROM a JOIN anything b ON b.x = a.x) SELECT * FROM a",
        "SELECT * FROM anything WHERE x IN (SELECT x FROM nothing)",
        "SELECT * FROM event WHERE event IN (SELECT 'left' AS e FROM anything)",
        "SELECT * FROM anything a WHERE EXISTS (SELECT 1 FROM nothing b WHERE b.x = a.x)",
        "SELECT * FROM (SELECT * FROM event) WHERE event = 'left'",
        "SELECT x FROM nothing LATERAL VIEW explode(y) t AS z",
    ],
)
def test_what_cannot_have_rows_is_claimed(sql: str) -> None:
    assert is_empty(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM unheard_of",
        "SELECT * FROM anything WHERE event = 'left'",
        "SELECT * FROM event WHERE event = 'joined'",
        "SELECT * FROM event WHERE NOT event = 'left'",
        "SELECT * FROM event WHERE event <> 'left'",
        "SELECT * FROM event WHERE event IS NULL",
        "SELECT * FROM event WHERE n >= 3 AND n <= 3",
        "SELECT * FROM event WHERE n > 2.5",
        "SELECT * FROM event WHERE n = '3'",
        "SELECT * FROM event WHERE ok = 'true'",
        "SELECT * FROM event WHERE event LIKE 'join%'",
        "SELECT * FROM event WHERE upper(event) = 'JOINED'",
        "SELECT * FROM event WHERE event < 'left'",
        "SELECT * FROM event WHERE event <=> NULL",
        "SELECT * FROM falses WHERE NOT ok",
        "SELECT * FROM falses WHERE coalesce(maybe, 'x') = 'x'",
        "SELECT count(*) FROM nothing",
        "SELECT count(*) FROM event WHERE event = 'left'",
        "SELECT sum(count(*)) OVER () FROM nothing",
        "SELECT collect_list(x), unheard_of(x) FROM nothing",
        "SELECT unheard_of(x) FROM nothing",
        "SELECT 1 FROM nothing HAVING count(*) = 0",
        "SELECT x, count(*) FROM nothing GROUP BY GROUPING SETS ((x), ())",
        "SELECT x, count(*) FROM nothing GROUP BY x WITH ROLLUP",
        "SELECT x, count(*) FROM nothing GROUP BY CUBE (x)",
        "SELECT * FROM anything a LEFT JOIN nothing b ON b.x = a.x",
        "SELECT * FROM nothing a RIGHT JOIN anything b ON b.x = a.x",
        "SELECT * FROM nothing a FULL OUTER JOIN anything b ON b.x = a.x",
        "SELECT * FROM anything a LEFT ANTI JOIN nothing b ON b.x = a.x",
        "SELECT * FROM anything a LEFT JOIN nothing b ON b.x = a.x WHERE b.x IS NULL",
        "SELECT * FROM anything a FULL JOIN event b USING (event) WHERE event = 'left'",
        "SELECT * FROM anything a LEFT ANTI JOIN event b ON b.x = a.x WHERE event = 'left'",
        "SELECT * FROM anything WHERE x NOT IN (SELECT x FROM nothing)",
        "SELECT * FROM anything a WHERE NOT EXISTS (SELECT 1 FROM nothing b WHERE b.x = a.x)",
        "SELECT * FROM anything a WHERE (SELECT count(*) FROM nothing) = 0",
        "SELECT * FROM nothing UNION ALL SELECT * FROM anything",
        "SELECT * FROM anything EXCEPT SELECT * FROM nothing",
        "WITH a AS (SELECT upper(event) AS event FROM event) SELECT * FROM a WHERE event = 'JOINED'",
        "WITH a AS (SELECT *, upper(text) AS event FROM event) SELECT * FROM a WHERE event = 'A'",
        "WITH event AS (SELECT * FROM anything) SELECT * FROM event WHERE event = 'left'",
        "WITH a AS (SELECT 'x' AS k, text FROM event UNION ALL SELECT text, 'x' FROM anything) SELECT * FROM a WHERE k = 'z'",
        "WITH a (text, event) AS (SELECT event, text FROM event) SELECT * FROM a WHERE event = 'a'",
        "SELECT * FROM (SELECT event, text FROM event) AS a (text, event) WHERE event = 'a'",
        "WITH RECURSIVE a AS (SELECT x FROM anything UNION ALL SELECT a.x + 1 FROM a JOIN nothing b ON b.x = a.x) SELECT * FROM a",
        "SELECT * FROM VALUES (1), (2)",
        "SELECT 1",
    ],
)
def test_what_may_have_rows_is_not(sql: str) -> None:
    assert not is_empty(sql)


def test_every_view_is_empty_over_nothing() -> None:
    """A case without one event, but for the few views that count what there is not."""
    known: dict[str, Known] = dict.fromkeys(("event_row", "unrecognised_row", "range_row", "evidence_file"), EMPTY)
    for name, view in view_files.views().items():
        known[name] = emptiness.of_query(view.query, known)
    # What is known of the releases comes from this program, and not from a case.
    assert [name for name, found in known.items() if not found.empty] == ["known_bug"]


@pytest.mark.spark
@pytest.mark.parametrize("sample", ["split-brain-frozen-worker-3.9.1", "session-timeouts-consumers-3.9.1"])
def test_what_is_claimed_of_a_sample_is_true(sample: str, sample_case, spark_session) -> None:
    """The engine finds no rows in any view that was not planned, and few of the views without rows were planned."""
    from forensics.engines import engine

    runs, case = engine(jobs=2), sample_case(sample)
    for statement in open_sql.opening(case.tables(), case.views(), {}):
        runs.sql(statement)
    known = {name: emptiness.of_rows(ds.dataset([ds.dataset(p) for p in paths]).to_table()) for name, paths in case.tables().items()}
    empty, claimed = [], []
    for name, view in view_files.views().items():
        found = emptiness.of_query(view.query, known, view_files.knob_values())
        known[name] = emptiness.of_rows(ds.dataset(case.views()[name]).to_table()) if view.kept else found
        empty += [name] if view.kept and known[name].empty else []
        if found.empty:
            claimed.append(name)
            assert not runs.sql(view.query).toArrow().num_rows, name
    assert len(claimed) >= 0.4 * len(empty)
