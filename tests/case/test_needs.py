"""Views that cannot have rows are not planned: no condition is wrong, and what is stored is what the SQL says."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Mapping, Sequence

import make_needs
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from expect_samples import names
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from make_needs import Relation, condition, needs_of, stored

from forensics.case import materialise, needs, open_sql
from forensics.case.needs import Needs
from forensics.case.query_parts import Branch, branches
from forensics.case.sql_types import sql_type
from forensics.case.view_files import views
from forensics.resources import sql_dir
from forensics.schema import TABLES, table_schema

ROWS = {
    "event": pa.table({"event": ["joined", "synced", None], "ok": [True, True, None], "n": [0, 3, None], "text": ["a", "b", "c"], "x": [1, 2, 3]}),
    "falses": pa.table({"ok": [False, None], "maybe": pa.array([None, None], pa.string())}),
    "nothing": pa.table({"x": pa.array([], pa.int64()), "y": pa.array([], pa.int64())}),
}
KNOWN = {name: stored(name, table.column_names) for name, table in ROWS.items()} | {"anything": Relation()}


def holds(wanted: object, rows: Mapping[str, pa.Table]) -> bool:
    """Return whether a condition, as it is stored, holds for these rows."""
    return Needs(lambda name: [ds.dataset(rows[name])]).hold(json.loads(json.dumps(wanted)))


def is_empty(sql: str) -> bool:
    return not holds(needs_of(sql, KNOWN), ROWS)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM nothing",
        "SELECT * FROM event WHERE event = 'left'",
        "SELECT * FROM event WHERE EVENT IN ('left', 'died') AND text = 'a'",
        "SELECT * FROM event e WHERE e.event LIKE 'task\\\\_%'",
        "SELECT * FROM (SELECT CASE WHEN n > 0 THEN 'p' ELSE 'q' END AS k, CAST(NULL AS STRING) AS nowhere FROM event) WHERE k = 'r' OR nowhere = 'x'",
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
        tables = {}
        for name, its in zip("rst", rows, strict=True):
            database.execute(f"CREATE TABLE {name} (k TEXT, n INTEGER)")
            database.executemany(f"INSERT INTO {name} VALUES (?, ?)", its)
            tables[name] = pa.table({"k": pa.array([k for k, _ in its], pa.string()), "n": pa.array([n for _, n in its], pa.int64())})
        wanted = needs_of(sql, {name: stored(name, ("k", "n")) for name in tables})
        try:
            answer = database.execute(sql).fetchall()
        except sqlite3.OperationalError as e:  # some releases cannot plan a nested join that asks for nothing of its own
            assume("references tables to its right" not in str(e))
            raise
    assert holds(wanted, tables) or not answer


def test_what_changes_nothing_in_a_condition_is_left_out() -> None:
    has, rows = ("has", "event", "event", "joined"), ("rows", "event")
    assert condition("and", rows, True, has) == has
    assert condition("or", rows, has, False) == rows
    assert condition("and", has, condition("or", has, rows)) == has
    assert condition("and", rows, False) is False
    assert condition("or") is False
    assert condition("and") is True


def test_no_view_has_rows_in_a_case_without_a_line() -> None:
    """What is known of the releases comes from this program, and not from a case."""
    rows = {name: table_schema(name).empty_table() for name in TABLES}
    nothing = pa.table({"x": pa.array([], pa.int64())})
    claimed = [name for name, wanted in make_needs.conditions().items() if not holds(wanted, rows | dict.fromkeys(views(), nothing))]
    assert set(views()) - set(claimed) == {name for name, view in views().items() if view.computed or not view.kept} | {"known_bug"}


def _stored() -> dict[str, dict[str, object]]:
    return json.loads((sql_dir() / needs.STORED).read_text(encoding="utf-8"))


def test_the_stored_conditions_are_those_of_the_sql() -> None:
    wanted = {needs.key(views()[name].query): found for name, found in make_needs.conditions().items() if found is not True}
    assert {key: found["needs"] for key, found in _stored().items() if "needs" in found} == json.loads(json.dumps(wanted)), "run `make docs`"


def test_the_stored_conditions_of_unions_are_those_of_the_sql() -> None:
    known = make_needs.relations()
    for entry in _stored().values():
        if "unions" in entry:
            found = make_needs.unions(views()[entry["view"]].query, known, lambda _: (("x", "int"),))
            conditions = json.loads(json.dumps([[select[:3] for select in union["selects"]] for union in found]))
            assert all([select[:3] for select in union["selects"]] in conditions for union in entry["unions"]), f"{entry['view']}: run `make docs`"


@pytest.mark.engine
@pytest.mark.slow
def test_the_stored_types_and_unions_are_those_of_the_engine(any_engine) -> None:
    del any_engine
    types, unions = make_needs.derived()
    stored_rows = _stored().values()
    assert all(entry["types"] == types[entry["view"]] for entry in stored_rows if "types" in entry), "run `make docs`"
    assert {entry["view"]: entry["unions"] for entry in stored_rows if "unions" in entry} == json.loads(json.dumps(unions)), "run `make docs`"


def _selects(query: str, so_far: Needs) -> list[tuple[Branch, bool]]:
    """Return the SELECTs of each UNION ALL of a query that is known, and whether they may have rows."""
    unions = _stored().get(needs.key(query), {}).get("unions", [])
    known = {(start, end): so_far.hold(wanted) for union in unions for start, end, wanted, _ in union["selects"]}
    return [(branch, known[branch.start, branch.end]) for group in branches(query) for branch in group if (branch.start, branch.end) in known]


@pytest.mark.engine
@pytest.mark.slow
@pytest.mark.parametrize("sample", names())
def test_the_engine_finds_no_rows_in_a_view_that_was_not_planned(sample: str, sample_case, any_engine) -> None:
    case = sample_case(sample)
    for statement in open_sql.opening(case.tables(), case.views(), {}):
        any_engine.sql(statement)
    so_far = Needs(lambda name: [ds.dataset(path) for path in case.tables().get(name) or (case.views()[name],)])
    left_out = [view for view in views().values() if view.kept and view.query and so_far.empty(view.query) is not None]
    assert len(left_out) > 10
    for view in left_out:
        assert not any_engine.sql(view.query).toArrow().num_rows, view.name
    left_out_selects = [
        (branch.before + view.query[branch.start : branch.end], view.name)
        for view in views().values()
        if view.query
        for branch, stays in _selects(view.query, so_far)
        if not stays
    ]
    assert len(left_out_selects) > 10
    for select, name in left_out_selects:
        assert not any_engine.sql(select).toArrow().num_rows, (name, select)


@pytest.mark.engine
@pytest.mark.slow
def test_a_build_that_leaves_views_out_gives_the_columns_of_one_that_does_not(any_engine, sample_case, tmp_path, monkeypatch) -> None:
    """Also the types: `open.sql` and a later version read both."""
    case = sample_case("producer-fenced-4.3.1")
    monkeypatch.setattr(needs, "_stored", dict)
    whole = materialise.build(any_engine, case.tables(), tmp_path / "whole", small=True)
    for name, path in whole.items():
        mine, other = ds.dataset(path).schema, ds.dataset(case.views()[name]).schema
        assert [(f.name, sql_type(f.type)) for f in mine] == [(f.name, sql_type(f.type)) for f in other], name
        assert ds.dataset(path).count_rows() == ds.dataset(case.views()[name]).count_rows(), name
