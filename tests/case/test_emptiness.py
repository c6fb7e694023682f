"""Views that cannot have rows are known before they are planned: no claim is wrong, and most of the views without rows are claimed."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from forensics.case import emptiness, materialise, open_sql, view_files
from forensics.case.emptiness import EMPTY, RelationProperties
from forensics.case.ingestion import ingest

KNOWN = {
    "event": emptiness.of_rows(pa.table({"event": ["joined", "synced", None], "ok": [True, True, None], "n": [0, 3, None], "text": ["a", "b", "c"]})),
    "falses": RelationProperties(values={"ok": frozenset({False}), "maybe": frozenset()}),
    "anything": RelationProperties(),
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
        "SELECT * FROM (SELECT CASE WHEN n > 0 THEN 1L ELSE 0L END AS k, CAST(NULL AS STRING) AS nowhere FROM event) WHERE k = 2 OR nowhere = 'x'",
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
        "SELECT * FROM event WHERE event NOT LIKE 'left%'",
        "SELECT * FROM event WHERE event LIKE 'join/%' ESCAPE '/'",
        "SELECT * FROM event WHERE event LIKE ANY ('join%', 'left')",
        "SELECT * FROM event WHERE event COLLATE UTF8_LCASE = 'JOINED'",
        "SELECT * FROM event WHERE event IS NOT DISTINCT FROM NULL",
        r"SELECT * FROM event WHERE event = '\152oined'",
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
        "SELECT 1 + max(x) FROM nothing",
        "SELECT transform(collect_set(x), y -> y) FROM nothing",
        "SELECT first(x) FILTER (WHERE y) FROM nothing",
        "SELECT any(x) FROM nothing",
        "SELECT * FROM anything WHERE EXISTS (SELECT count(*) FROM nothing)",
        "SELECT this is no query",
        "SELECT 1 FROM nothing HAVING count(*) = 0",
        "SELECT x, count(*) FROM nothing GROUP BY GROUPING SETS ((x), ())",
        "SELECT x, count(*) FROM nothing GROUP BY x WITH ROLLUP",
        "SELECT x, count(*) FROM nothing GROUP BY CUBE (x)",
        "SELECT * FROM anything a LEFT JOIN nothing b ON b.x = a.x",
        "SELECT * FROM nothing a RIGHT JOIN anything b ON b.x = a.x",
        "SELECT * FROM nothing a FULL OUTER JOIN anything b ON b.x = a.x",
        "SELECT * FROM (nothing a FULL OUTER JOIN anything b ON b.x = a.x)",
        "SELECT * FROM ((SELECT * FROM nothing) a RIGHT JOIN anything b ON b.x = a.x) c",
        "SELECT * FROM (event a JOIN anything b ON b.x = a.x) WHERE event = 'left'",
        "SELECT * FROM event UNPIVOT (v FOR event IN (a, b)) WHERE event = 'a'",
        "SELECT * FROM event a LATERAL VIEW OUTER explode(x) a AS event WHERE a.event = 'left'",
        "SELECT * FROM event a LEFT JOIN LATERAL (SELECT 'left' AS event) b WHERE b.event = 'left'",
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


@st.composite
def conditions(draw: st.DrawFn, seen: Sequence[str], depth: int) -> str:
    """A condition over rows of relations, each with a text k and a number n."""
    a, b = draw(st.sampled_from(seen)), draw(st.sampled_from(seen))
    plain = [
        f"{a}.k = 'x'",
        f"{a}.k <> 'y'",
        f"{a}.k IN ('x', 'z')",
        f"{a}.k NOT IN ('x', 'z')",
        f"{a}.k LIKE 'x%'",
        f"{a}.k NOT LIKE 'y%'",
        f"{a}.k IS NULL",
        f"{a}.k IS NOT NULL",
        f"{a}.k = {b}.k",
        f"{a}.n > 1",
        f"{a}.n <= {b}.n",
        f"{a}.n BETWEEN 1 AND 2",
        f"{a}.n NOT BETWEEN 0 AND 1",
        f"coalesce({a}.k, {b}.k, 'z') = 'z'",
        f"CASE WHEN {a}.n = 1 THEN 'p' WHEN {b}.k = 'y' THEN 'q' END = 'p'",
        f"{a}.n <> -1",
        "true",
        "false",
    ]
    if not depth or draw(st.booleans()):
        return draw(st.sampled_from(plain))
    less = conditions(seen, depth - 1)
    match draw(st.sampled_from(["not", "and", "or", "exists", "not exists", "in", "not in"])):
        case "not":
            return f"NOT ({draw(less)})"
        case "and" | "or" as word:
            return f"({draw(less)} {word} {draw(less)})"
        case "exists" | "not exists" as word:
            return f"{word} (SELECT 1 FROM ({draw(queries(depth - 1))}) i WHERE {draw(conditions([*seen, 'i'], 0))})"
        case word:
            return f"{a}.k {word} (SELECT k FROM ({draw(queries(depth - 1))}) i)"


@st.composite
def queries(draw: st.DrawFn, depth: int) -> str:
    """A query with columns k and n, over the tables r, s and t."""
    less = queries(depth - 1).map("({})".format) if depth else st.nothing()
    source = st.one_of(st.sampled_from("rst"), less)
    if depth and draw(st.integers(0, 4)) == 0:
        word = draw(st.sampled_from(["UNION", "UNION ALL", "EXCEPT", "INTERSECT"]))
        return f"SELECT k, n FROM {draw(less)} a {word} SELECT k, n FROM {draw(less)} b"
    if depth and draw(st.integers(0, 4)) == 0:
        first, join = draw(less), draw(st.sampled_from(_JOINS))
        return f"WITH d AS {first}, e AS (SELECT * FROM d WHERE {draw(conditions('d', 0))}) SELECT d.k, e.n FROM d {join} e ON d.n = e.n"
    joined, text = ["a"], f"{draw(source)} a"
    for alias in "bc"[: draw(st.integers(0, 2))]:
        joined.append(alias)
        text += f" {draw(st.sampled_from(_JOINS))} {draw(source)} {alias} ON {draw(conditions(joined, depth))}"
    a, b = draw(st.sampled_from(joined)), draw(st.sampled_from(joined))
    shown, after = draw(
        st.sampled_from(
            [
                (f"{a}.k, {b}.n", ""),
                (f"{a}.*", ""),
                ("'x' AS k, 1 AS n", ""),
                (f"CASE WHEN {a}.n > 0 THEN 'x' ELSE {b}.k END AS k, -1 AS n", ""),
                (f"max({a}.k) AS k, count(*) AS n", ""),
                (f"max({a}.k) AS k, count({b}.n) AS n", "HAVING count(*) = 0"),
                (f"{a}.k, max({b}.n) AS n", f"GROUP BY {a}.k"),
                (f"min({a}.k) OVER (PARTITION BY {b}.k) AS k, {b}.n", ""),
            ]
        )
    )
    where = f"WHERE {draw(conditions(joined, depth))}" if draw(st.booleans()) else ""
    return f"SELECT {shown} FROM {text} {where} {after}"


_JOINS = ("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN")
_ROWS = st.lists(st.tuples(st.sampled_from(["x", "y", None]), st.sampled_from([0, 1, 2, None])), max_size=3)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.tuples(_ROWS, _ROWS, _ROWS), queries(2))
def test_a_database_finds_no_rows_where_none_are_claimed(rows: Sequence[Sequence[tuple[str | None, int | None]]], sql: str) -> None:
    """SQLite speaks the SQL that queries of views have in common, and knows nothing of this program."""
    with contextlib.closing(sqlite3.connect(":memory:")) as database:
        known = {}
        for name, its in zip("rst", rows, strict=True):
            database.execute(f"CREATE TABLE {name} (k TEXT, n INTEGER)")
            database.executemany(f"INSERT INTO {name} VALUES (?, ?)", its)
            k, n = pa.array([k for k, _ in its], pa.string()), pa.array([n for _, n in its], pa.int64())
            known[name] = emptiness.of_rows(pa.table({"k": k, "n": n}))
        found = emptiness.of_query(sql, known)
        try:
            answer = database.execute(sql).fetchall()
        except sqlite3.OperationalError as e:  # some releases cannot plan a nested join that asks for nothing of its own
            assume("references tables to its right" not in str(e))
            raise
    assert not (found.empty and answer)
    for place, column in enumerate(("k", "n")):
        assert {row[place] for row in answer} - {None} <= found.values.get(column, {row[place] for row in answer})


def test_every_view_is_empty_over_nothing() -> None:
    """A case without one event, but for the few views that count what there is not."""
    known: dict[str, RelationProperties] = dict.fromkeys(("event_row", "unrecognised_row", "counted_row", "range_row", "evidence_file"), EMPTY)
    for name, view in view_files.views().items():
        known[name] = emptiness.of_query(view.query, known)
    # What is known of the releases comes from this program, and not from a case.
    assert [name for name, found in known.items() if not found.empty] == ["known_bug"]


@pytest.mark.engine
@pytest.mark.parametrize(
    # That the other sample's views with rows were planned, its expected rows show.
    "sample",
    ["split-brain-frozen-worker-3.9.1", pytest.param("session-timeouts-consumers-3.9.1", marks=pytest.mark.slow)],
)
def test_what_is_claimed_of_a_sample_is_true(sample: str, sample_case) -> None:
    """The engine finds no rows in any view that was not planned, and few of the views without rows were planned."""
    from forensics.engines import engine

    runs, case = engine(jobs=2), sample_case(sample)
    for statement in open_sql.opening(case.tables(), case.views(), {}):
        runs.sql(statement)
    known = {name: emptiness.of_rows(ds.dataset([ds.dataset(p) for p in paths]).to_table()) for name, paths in case.tables().items()}
    empty, claimed = [], []
    for name, view in view_files.views().items():
        found = emptiness.of_query(view.query, known, view_files.threshold_values())
        known[name] = emptiness.of_rows(ds.dataset(case.views()[name]).to_table()) if view.kept else found
        empty += [name] if view.kept and known[name].empty else []
        if found.empty:
            claimed.append(name)
            assert not runs.sql(view.query).toArrow().num_rows, name
    assert len(claimed) >= 0.4 * len(empty)


@pytest.mark.whole
@pytest.mark.engine
def test_views_without_rows_have_the_same_columns_whether_they_were_asked_for_or_known(any_engine, tmp_path) -> None:
    """The columns of a view are requested once per process; a build that knows them gives the same rows as one that does not."""
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "app.log").write_text(
        "[2026-11-20 10:00:00,000] INFO [Consumer clientId=c-1, groupId=orders] (Re-)joining group "
        "(org.apache.kafka.clients.consumer.internals.ConsumerCoordinator)\n"
    )
    tables = ingest([logs], tmp_path / "case").case.tables()
    found = []
    materialise._COLUMNS.clear()
    for turn in ("asked for", "known"):
        built = materialise.build(any_engine, tables, tmp_path / turn, small=True)
        found.append({name: ds.dataset(path).to_table() for name, path in built.items()})
    asked, known = found
    assert asked.keys() == known.keys()
    assert sum(not table.num_rows for table in known.values()) > 100
    for name, table in known.items():
        assert table.schema.equals(asked[name].schema), name
        assert table.num_rows == asked[name].num_rows, name
