"""SQL that can be changed: outputs bear their names, lines can be read, events exist, thresholds have a name."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlglot
from sqlglot import exp

from forensics import causes, snapshots
from forensics.case import view_files
from forensics.catalogue.patterns import load
from forensics.errors import ForensicsError
from forensics.resources import sql_dir

VIEWS = view_files.views()
MAX_COLUMNS = 150
#: A number as large as this is a threshold in milliseconds, unless it is one of `FACTS`.
MIN_THRESHOLD = 1_000
#: Numbers that are not our choice: those of Kafka, of Spark, of units, of calendars, and bounds that mean `without a bound`.
FACTS = {
    1_000, 60_000_000, 3_600_000, 900_000, 1_048_576,  # units; zones differ by quarters of an hour
    2_147_483_647, 2_000_000_000, 1_000_000_000,  # a coordinator's node is numbered from the end of INT backwards, so no broker has such a number
    2_000,  # characters that unrecognised_row keeps of a record
    9_223_372_036_854_775_807, 9_000_000_000_000_000, 1_000_000_000_000_000,  # without a bound
}  # fmt: skip


def trees() -> Iterator[tuple[str, exp.Expression]]:
    for name, view in VIEWS.items():
        if not view.computed:
            yield name, sqlglot.parse_one(view.query, read="spark")


@pytest.fixture(scope="module")
def parsed() -> dict[str, exp.Expression]:
    return dict(trees())


def declared(view: view_files.View) -> list[str]:
    return re.findall(r"^\s+(\w+)(?:\s+[A-Z<].*)?\s+COMMENT", view.create, re.MULTILINE)


def test_every_output_bears_the_name_that_is_declared(parsed):
    """Check each part of a union: columns of a view are bound by position, so a swap of two would go unnoticed."""
    wrong = {}
    for name, tree in parsed.items():
        want = declared(VIEWS[name])
        for part in parts(tree) if want else ():
            if not part.is_star and part.named_selects != want:
                wrong[name] = [(got, wanted) for got, wanted in zip(part.named_selects, want, strict=False) if got != wanted]
    assert wrong == {}


def test_a_column_that_views_share_has_its_meaning_in_one_place():
    """A view that repeats the meaning of `columns.toml` would keep the old one when it changes there."""
    written = [f.read_text(encoding="utf-8") for room in sql_dir().iterdir() if room.is_dir() for f in room.iterdir() if f.name.endswith(".sql")]
    lists = [found[1] for text in written if (found := re.search(r"TEMPORARY VIEW \w+ \(\n(.+?)\n\)\n", text, re.DOTALL))]
    bare = [name for columns in lists for name in re.findall(r"\w+", re.sub(r"\w+\s+COMMENT\s+'(?:[^']|'')*'", "", columns))]
    shared = tomllib.loads((sql_dir() / "columns.toml").read_text(encoding="utf-8"))
    assert [name for name in shared if bare.count(name) < 2] == []
    with pytest.raises(ForensicsError, match="extent"):
        view_files._parse("v", "1_evidence", "-- One row per x.\nCREATE OR REPLACE TEMPORARY VIEW v (\n  process_id, extent\n)\nAS\nSELECT 1")
    view = view_files._parse(
        "v", "1_evidence", "-- One row per x.\nCREATE OR REPLACE TEMPORARY VIEW v (\n  process_id, task COMMENT 'T'\n)\nAS\nSELECT 1"
    )
    assert view.comments == {"process_id": "Process", "task": "T"}
    assert view.create.endswith("\n)\nCOMMENT 'One row per x.'")


def parts(query: exp.Expression) -> Iterator[exp.Select]:
    while isinstance(query, exp.Subquery):
        query = query.this
    if isinstance(query, exp.SetOperation):
        yield from parts(query.left)
        yield from parts(query.right)
    elif isinstance(query, exp.Select):
        yield query


def test_every_event_that_is_asked_for_is_in_the_catalogue(parsed):
    events = {e.name for e in load().events} | snapshot_events()
    asked: dict[str, set[str]] = {}
    for name, tree in parsed.items():
        for literal in literals_of_event(tree):
            asked.setdefault(literal, set()).add(name)
    for file in Path(causes.__file__).parent.glob("*.py"):
        for names in re.findall(r'field\("event"\)(?: == |\.isin\()(\[[^]]+\]|"\w+")', file.read_text(encoding="utf-8")):
            for literal in re.findall(r"\w+", names):
                asked.setdefault(literal, set()).add(file.stem)
    assert "polls" in asked["poll_timeout"]
    assert len(asked) > 100
    assert {literal: views for literal, views in asked.items() if literal not in events} == {}


def snapshot_events() -> set[str]:
    """Names from output of tools, dumps and answers; they are in the code that reads those."""
    told = "".join(f.read_text(encoding="utf-8") for f in (Path(snapshots.__file__).parent).glob("*.py"))
    return set(re.findall(r'"([a-z]+(?:_[a-z]+)+)"', told))


def literals_of_event(tree: exp.Expression) -> Iterator[str]:
    """Texts that a column named `event` is compared with."""
    for found in tree.find_all(exp.EQ, exp.NEQ, exp.In, exp.Case, exp.NullSafeEQ):
        side = found.this
        if not (isinstance(side, exp.Column) and side.name == "event"):
            continue
        if isinstance(found, exp.In):
            others = found.expressions
        elif isinstance(found, exp.Case):
            others = [branch.this for branch in found.args["ifs"]]
        else:
            others = [found.expression]
        yield from (x.this for x in others if isinstance(x, exp.Literal) and x.is_string)


def test_thresholds_have_a_name(parsed):
    found = {
        (name, literal.this)
        for name, tree in parsed.items()
        for literal in tree.find_all(exp.Literal)
        if not literal.is_string and re.fullmatch(r"[0-9]+", literal.this) and int(literal.this) not in FACTS and int(literal.this) >= MIN_THRESHOLD
    }
    assert found == set()
    assert [name for name, tree in parsed.items() if tree.find(exp.Interval)] == []


def test_nothing_else_bears_the_name_of_a_threshold(parsed):
    """If an engine has no session variables, their values replace their names everywhere."""
    thresholds = set(re.findall(r"VARIABLE (\w+) ", view_files.thresholds_sql()))
    for name, tree in parsed.items():
        named = {a.alias for a in tree.find_all(exp.Alias, exp.TableAlias)} | {i.name for a in tree.find_all(exp.TableAlias) for i in a.columns}
        of_tables = {c.name for c in tree.find_all(exp.Column) if c.table}
        assert (named | of_tables) & thresholds == set(), name
    for name, view in VIEWS.items():
        assert set(declared(view)) & thresholds == set(), name


COMPARISONS = (
    exp.EQ,
    exp.NEQ,
    exp.LT,
    exp.GT,
    exp.LTE,
    exp.GTE,
    exp.NullSafeEQ,
    exp.In,
    exp.Between,
    exp.Greatest,
    exp.Least,
    exp.Nullif,
    exp.ArrayContains,
)
#: What yields a value of its first argument.
PASSES = (
    exp.Paren, exp.Window, exp.Filter, exp.Min, exp.Max, exp.ArgMin, exp.ArgMax, exp.Lag, exp.Lead, exp.First, exp.Last, exp.FirstValue, exp.LastValue,
    exp.AnyValue, exp.Coalesce, exp.IgnoreNulls,
)  # fmt: skip


def is_struct(value: exp.Expression, names: set[str]) -> bool:
    """Return True if the value is a struct made here, or a column that holds one."""
    if isinstance(value, exp.Column):
        return value.name in names
    if isinstance(value, exp.Case):
        return any(is_struct(branch.args["true"], names) for branch in value.args["ifs"])
    return isinstance(value, exp.Struct | exp.Tuple) or isinstance(value, PASSES) and is_struct(value.this, names)


def compared_structs(tree: exp.Expression) -> list[str]:
    names: set[str] = set()
    while more := {a.alias for a in tree.find_all(exp.Alias) if is_struct(a.this, names)} - names:
        names |= more
    return [
        found.sql("spark")
        for found in tree.find_all(*COMPARISONS)
        if any(is_struct(side, names) for side in (found.this, found.args.get("expression"), *found.expressions) if isinstance(side, exp.Expression))
    ]


def test_no_view_compares_structs(parsed):
    """Sail finds structs with other field names unequal and unordered, where Spark compares their values."""
    assert {name: found for name, tree in parsed.items() if (found := compared_structs(tree))} == {}


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM a JOIN b ON struct(a.x, b.y) < struct(b.u, a.v)",
        "SELECT * FROM a JOIN b ON (a.x, b.y) = (b.u, a.v)",
        "SELECT * FROM a WHERE named_struct('x', y) IN (SELECT named_struct('z', 1))",
        "WITH n AS (SELECT max(struct(x, y)) AS last FROM a) SELECT * FROM n JOIN m ON n.last <=> m.last",
        "SELECT min(struct(x, y)) OVER (PARTITION BY z) = max(struct(x, y)) OVER (PARTITION BY z) AS is_one FROM a",
        "SELECT greatest(struct(x), struct(y)) FROM a",
        "SELECT * FROM a WHERE CASE WHEN x THEN struct(y) END > z",
        "SELECT array_contains(a.pairs, struct(x, y)) FROM a",
    ],
)
def test_a_comparison_of_structs_is_found(query: str):
    assert len(compared_structs(sqlglot.parse_one(query, read="spark"))) == 1


def test_an_order_over_structs_of_one_expression_is_no_comparison():
    query = "SELECT max(struct(x, y)).x, min_by(z, struct(x, y)), count(DISTINCT struct(x, y)), array_sort(collect_set(struct(x, y))) FROM a"
    assert compared_structs(sqlglot.parse_one(query, read="spark")) == []


def outputs(query: exp.Expression, known: dict[str, list[str]], *, is_named: bool = True) -> tuple[list[str], list[str]]:
    """Return the names of a query's columns, and those that it or a part of it names although it has them.

    Columns of an unknown source are left out, and so are two sources' columns of one name: nobody can ask for these on either engine.
    """
    known, twice = dict(known), []
    if ctes := query.args.get("with_"):
        for cte in ctes.expressions:
            known[cte.alias], more = outputs(cte.this, known)
            twice += more
    if isinstance(query, exp.Subquery):
        names, more = outputs(query.this, known)
        return names, twice + more
    if isinstance(query, exp.SetOperation):
        names, more = outputs(query.this, known, is_named=is_named)
        # The names of a union are those of its first part.
        _, others = outputs(query.expression, known, is_named=False)
        return names, twice + more + others
    if not isinstance(query, exp.Select):
        return [], twice
    sources: dict[str, list[str]] = {}
    joined: set[str] = set()
    for part in filter(None, [query.args.get("from_"), *(query.args.get("joins") or ())]):
        source = part.this
        columns, more = outputs(source, known) if isinstance(source, exp.Subquery) else (known.get(source.name, []), [])
        twice += more
        if isinstance(part, exp.Join) and part.side.upper() in ("", "LEFT") and part.kind.upper() in ("SEMI", "ANTI"):
            columns = []
        sources[source.alias_or_name] = columns
        joined |= {i.name for i in part.args.get("using") or ()}
    names = []
    for column in query.expressions:
        if isinstance(column, exp.Star) or isinstance(column, exp.Column) and isinstance(column.this, exp.Star):
            star = column if isinstance(column, exp.Star) else column.this
            of = [n for s in ([column.table] if isinstance(column, exp.Column) and column.table else sources) for n in sources.get(s, [])]
            shared = set() if isinstance(column, exp.Column) and column.table else joined
            left_out = {e.name for e in star.args.get("except_") or ()}
            of = [n for n in of if n not in left_out]
            names += [*dict.fromkeys(n for n in of if n in shared), *(n for n in of if n not in shared)]
        elif isinstance(column, exp.Column | exp.Alias):
            names.append(column.alias_or_name)
    named = [column.alias_or_name for column in query.expressions if not column.is_star]
    made = {column.alias for column in query.expressions if isinstance(column, exp.Alias)}
    if not is_named:
        return names, twice
    return names, twice + sorted({n for n in named if names.count(n) > named.count(n)} | {n for n in made if named.count(n) > 1})


#: A column that one condition makes NULL, under a name of its own.
_CONDITIONAL = re.compile(
    r"\bCASE\s+WHEN\b(?:(?!\bWHEN\b|\bELSE\b|\bEND\b|\bCASE\b).)*?\bTHEN\s+[a-z_]+(?:\.[a-z_]+)*\s+END\s+AS\s+(?P<name>[a-z_]+)", re.DOTALL
)


def conditional_structs(query: str) -> set[str]:
    """Return the names of structs that a condition makes NULL, and of which a field is read: Sail reads the fields as if there were no condition."""
    return {found["name"] for found in _CONDITIONAL.finditer(query) if re.search(rf"\b{found['name']}\.[a-z_]+", query)}


def test_no_view_reads_a_field_of_a_struct_that_a_condition_makes_null() -> None:
    assert {name: found for name, view in VIEWS.items() if (found := conditional_structs(view.query))} == {}


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("WITH a AS (SELECT CASE WHEN k > 1 THEN line END AS last FROM t) SELECT last.event_id FROM a", {"last"}),
        ("WITH a AS (SELECT CASE WHEN k > 1 THEN struct(line.event_id) END AS last FROM t) SELECT last.event_id FROM a", set()),
        ("WITH a AS (SELECT CASE WHEN k > 1 THEN line.event_id END AS last FROM t) SELECT last FROM a", set()),
    ],
)
def test_a_field_of_such_a_struct_is_found(query: str, found: set[str]) -> None:
    assert conditional_structs(query) == found


def test_no_query_gives_a_name_to_two_columns(parsed):
    """Spark refuses a name that two columns have; Sail takes one of them."""
    known = {view.name: declared(view) for view in view_files.views().values()}
    assert {name: twice for name, tree in parsed.items() if (twice := outputs(tree, known)[1])} == {}


@pytest.mark.parametrize(
    "query",
    [
        "SELECT a, b AS a FROM t",
        "WITH n AS (SELECT x, y FROM t) SELECT n.*, lead(x) OVER (ORDER BY y) AS x FROM n",
        "SELECT q FROM (SELECT *, z AS q FROM (SELECT q, z FROM t) AS s) AS r",
    ],
)
def test_a_name_of_two_columns_is_found(query: str):
    assert outputs(sqlglot.parse_one(query, read="spark"), {})[1] != []


def test_columns_that_a_join_shares_have_one_name():
    query = "WITH n AS (SELECT x, y FROM t), m AS (SELECT x, z FROM u) SELECT * EXCEPT (z), z AS w FROM n JOIN m USING (x) LEFT SEMI JOIN n AS o ON o.x = m.x"
    assert outputs(sqlglot.parse_one(query, read="spark"), {}) == (["x", "y", "w"], [])


def sorted_structs(tree: exp.Expression) -> list[str]:
    """Return each `array_sort` of structs or arrays."""
    nested = {a.alias for a in tree.find_all(exp.Alias) if is_struct(a.this, set()) or isinstance(a.this, exp.Array)}
    found = []
    for sort in tree.find_all(exp.ArraySort):
        # sqlglot writes both functions as one; they differ in where NULL comes.
        if sort.args["nulls_first"].this or isinstance(sort.this, exp.Lambda):
            continue
        elements = sort.this.this if isinstance(sort.this, exp.ArrayAgg | exp.ArrayUniqueAgg) else sort.this
        if sort.find(exp.Struct) or isinstance(elements, exp.Column) and elements.name in nested | {"witness", "proof"} and elements is not sort.this:
            found.append(sort.sql("spark"))
    return found


def test_structs_are_sorted_by_sort_array(parsed):
    """If a field is NULL, Spark's `array_sort` puts it first and Sail's puts it last; `sort_array` is the same on both."""
    assert {name: found for name, tree in parsed.items() if (found := sorted_structs(tree))} == {}
    query = "SELECT array_sort(collect_list(struct(at_ms, event_id))), array_sort(collect_set(event_id)), sort_array(collect_set(struct(a))) FROM a"
    assert len(sorted_structs(sqlglot.parse_one(query, read="spark"))) == 1


def test_no_slice_begins_before_its_array(parsed):
    """`slice(x, -2, 2)` of one element is empty on Spark and that element on Sail."""
    found = {
        (name, cut.sql("spark"))
        for name, tree in parsed.items()
        for cut in tree.find_all(exp.ArraySlice)
        if isinstance(cut.args["start"], exp.Neg) and cut.args["start"].this.this != "1"
    }
    assert found == set()


#: A place in the log of one process: lines of two processes may have the same.
PLACES = {"stream_pos", "from_pos", "pos"}


def places_of_several_processes(tree: exp.Expression) -> list[str]:
    """Return each `max_by` and `min_by` that orders lines of several processes by their place in their own log."""
    found = []
    for select in tree.find_all(exp.Select):
        group = select.args.get("group")
        keys = {key.name for key in group.expressions} if group else set()
        for picked in select.find_all(exp.ArgMax, exp.ArgMin):
            by = picked.expression
            if picked.parent_select is select and isinstance(by, exp.Column) and by.name in PLACES and not keys & {"process_id", "event_id", "a_id"}:
                found.append(picked.sql("spark"))
    return found


def test_a_place_in_a_log_orders_lines_of_one_process(parsed):
    """Of two lines at the same place in two logs, each engine takes another."""
    assert {name: found for name, tree in parsed.items() if (found := places_of_several_processes(tree))} == {}
    query = "SELECT max_by(x, stream_pos) AS a, min_by(x, struct(process_id, stream_pos)) AS b FROM t GROUP BY member_id"
    assert places_of_several_processes(sqlglot.parse_one(query, read="spark")) == ["MAX_BY(x, stream_pos)"]


def test_a_number_that_a_log_prints_may_be_too_large(parsed):
    """A text that is no number of that type ends the statement on Spark: `try_cast` makes it NULL."""
    found = {
        (name, cast.sql("spark"))
        for name, tree in parsed.items()
        for cast in tree.find_all(exp.Cast)
        if type(cast) is exp.Cast and cast.to.this in exp.DataType.NUMERIC_TYPES and is_text(cast.this)
    }
    assert found == set()


def is_text(value: exp.Expression) -> bool:
    lambdas = value.find_ancestor(exp.Lambda)
    of_lambda = {x.name for x in lambdas.expressions} if lambdas else set()
    return bool(value.find(exp.RegexpExtract, exp.Split)) or any(
        c.name in {"value", "said"} | of_lambda for c in value.find_all(exp.Column, exp.Identifier)
    )


def test_lines_can_be_read():
    folder = sql_dir()
    rooms = (folder, *(d for d in folder.iterdir() if d.is_dir()))
    files = [f for room in rooms for f in room.iterdir() if f.name.endswith(".sql")]
    assert len(files) > 100
    lines = {f.name: f.read_text(encoding="utf-8").splitlines() for f in files}
    assert [f"{name}:{n}" for name, its in lines.items() for n, line in enumerate(its, 1) if len(line) > MAX_COLUMNS] == []


def test_a_text_over_several_lines_is_one():
    (line,) = [line for line in VIEWS["unowned"].create.splitlines() if line.startswith("  why ")]
    assert line.count("failure: it failed; scheduled_delay: ") == 1
    assert line.endswith(("'", "',"))


def test_a_value_of_an_earlier_row_is_found_in_one_pass():
    """An engine that looks through the rows before each one takes hours for a process with a million lines.

    Sail does so for `last_value`, for `first_value`, and for `lead`, that leave out NULL. It does so for `lag` as well where a descending order lets it
    read the window backwards, as `lead`; `ORDER BY -x` does not.
    """
    found = {}
    for name, tree in trees():
        windows = {w.name: w for w in tree.find_all(exp.Window) if isinstance(w.parent, exp.Select)}
        for ignoring in tree.find_all(exp.IgnoreNulls):
            over = ignoring.parent
            named = windows.get(over.args["alias"].name if over.args.get("alias") else "", over)
            if not isinstance(ignoring.this, exp.Lag) or any(o.args.get("desc") for o in named.find_all(exp.Ordered)):
                found[name] = over.sql("spark")
    assert found == {}
    assert not [name for name, view in VIEWS.items() if re.search(r"\b(first|last)(_value)?\([^()]*(\([^()]*\)[^()]*)*, true\)", view.query)]


def test_every_rule_tells_its_proof_alike():
    """Spark joins the structs of a union by position: a role in the place where others have the event would be taken for it."""
    wrong = []
    for name, tree in trees():
        for struct in tree.find_all(exp.Struct) if VIEWS[name].kind == "rule" else ():
            names = [e.name for e in struct.expressions]
            if {"role", "event_id"} <= set(names) and names.index("role") > names.index("event_id"):
                wrong.append(name)
    assert wrong == []
