"""View files: what their headers promise, and what every view's rows must hold to in every sample."""

from __future__ import annotations

import re
from collections import Counter
from importlib import import_module
from pathlib import Path

import pyarrow.dataset as ds
import pytest

from forensics.case import view_files
from forensics.case.open_sql import opening
from forensics.case.sql_types import arrow_type
from forensics.report.query import _needed
from forensics.wording.files import rule_words

SAMPLES = ["split-brain-frozen-worker-3.9.1", "rolling-bounce-skewed-clocks-3.9.1", "session-timeouts-consumers-3.9.1"]
TABLES = {"event_row", "unrecognised_row", "counted_row", "range_row", "evidence_file"}
VIEWS = view_files.views()
_NAMED = re.compile(r"\b(?:FROM|JOIN)\s+([a-z_]+)\b")
_CTE = re.compile(r"(?:\bWITH|^\)?,)\s*([a-z_]+)\s+AS\s*\(", re.MULTILINE)


@pytest.mark.parametrize("name", VIEWS)
def test_reads_names_exactly_what_is_read(name):
    view = VIEWS[name]
    sql = "\n".join(view_files.statements(view.sql))
    used = read_by(view.computed) if view.computed else set(_NAMED.findall(sql)) - set(_CTE.findall(sql)) - {name}
    assert used == set(view.reads)


def read_by(module: str) -> set[str]:
    """Return the views and tables that a module of a computed view reads, itself or in the modules that it imports."""
    found, left, seen = set(), [module], set()
    rooms = "|".join(sorted({view.computed.split(".")[1] for view in VIEWS.values() if view.computed}))
    while left:
        seen.add(module := left.pop())
        text = Path(import_module(module).__file__).read_text(encoding="utf-8")
        found |= set(re.findall(r"\.(?:rows|table|parts|distinct)\(\s*\"(\w+)\"", text))
        prefixes = tuple(re.findall(r"\.may_read\(\"(\w+)\"\)", text))
        found |= {name for name in VIEWS if name.startswith(prefixes)} if prefixes else set()
        left += set(re.findall(rf"^from (forensics\.(?:{rooms})\.\w+) import", text, re.MULTILINE)) - seen
    return found


def test_a_computed_view_declares_types_and_reads_what_is_stored():
    computed = {name: view for name, view in VIEWS.items() if view.computed}
    assert "finding" in computed
    for name, view in computed.items():
        assert list(view.types) == view.columns, name
        assert all(arrow_type(kind) for kind in view.types.values()), name
        assert [read for read in view.reads if read in VIEWS and not VIEWS[read].kept] == [], name
        assert view.kept, name


@pytest.mark.parametrize("name", VIEWS)
def test_reads_exist_and_come_before(name):
    order = list(VIEWS)
    for read in VIEWS[name].reads:
        assert read in TABLES or order.index(read) < order.index(name)


def test_a_view_reads_only_from_its_own_layer_and_those_before_it():
    upward = [(view.folder, name, read, VIEWS[read].folder) for name, view in VIEWS.items() for read in view.reads if read in VIEWS]
    assert [found for found in upward if found[3] > found[0]] == []
    assert [folder for folder in {view.folder for view in VIEWS.values()} if not re.fullmatch(r"\d_[a-z]+", folder)] == [], (
        "the digit gives the order"
    )


@pytest.mark.parametrize("name", VIEWS)
def test_says_what_a_row_is(name):
    view = VIEWS[name]
    assert view.about.startswith(("One row per ", "One row for each "))
    if view.kind == "rule":
        assert view_files.rule_id(name) in rule_words()
    else:
        assert view.grain


def test_knobs_are_used_and_explained():
    text = view_files.thresholds_sql()
    declared = re.findall(r"DECLARE OR REPLACE VARIABLE (\w+)", text)
    rooms = {Path(import_module(view.computed).__file__).parent for view in VIEWS.values() if view.computed}
    sql = "\n".join([*(view.sql for view in VIEWS.values()), *(p.read_text(encoding="utf-8") for room in rooms for p in room.glob("*.py"))])
    sql += " ".join(f"{rule.links.repeats} {rule.links.outlasts}" for rule in rule_words().values())
    assert [knob for knob in declared if not re.search(rf"\b{knob}\b", sql)] == []
    assert text.count("\n-- ") >= len(declared)


def test_links_of_rules_name_thresholds_and_rules_that_exist():
    thresholds, rules = view_files.thresholds(), rule_words()
    for rule in rules.values():
        assert {rule.links.repeats, rule.links.outlasts or rule.links.repeats} <= thresholds.keys(), rule.name
        assert {*rule.links.follows, *(rule.links.effects or ())} <= rules.keys(), rule.name
        assert {*rule.links.unless, *rule.links.cases} <= rule.codes.keys(), rule.name


def test_statements_keep_semicolons_and_dashes_of_strings():
    assert view_files.statements("SELECT ';' -- a; b\n, '--'; SELECT 2;") == ["SELECT ';' \n, '--'", "SELECT 2"]


@pytest.mark.engine
@pytest.mark.parametrize("sample", [SAMPLES[0], *(pytest.param(s, marks=pytest.mark.slow) for s in SAMPLES[1:])])
def test_grain_tells_rows_apart(sample, sample_case):
    built = sample_case(sample).views()
    for name, view in VIEWS.items():
        if not (view.grain and view.kept):
            continue
        rows = ds.dataset(built[name], format="parquet").to_table(columns=list(view.grain)).to_pylist()
        twice = [row for row, n in Counter(tuple(map(str, r.values())) for r in rows).items() if n > 1]
        assert twice == [], f"{name}: {view.grain}"


@pytest.mark.engine
def test_steps_count_time_in_milliseconds(sample_case):
    """Only what users read has timestamps: a step that hands one on has the next one turn it into a number again."""
    built = sample_case(SAMPLES[0]).views()
    steps = [name for name, view in VIEWS.items() if view.kept and view.kind != "public"]
    assert len(steps) > 80
    assert [s for s in steps if "timestamp" in str(ds.dataset(built[s], format="parquet").schema)] == []


#: Columns that two views add to those of a table; the others' comments come with it.
COMPUTED = {("event", "instance"), ("snapshot", "source_kind")}
CREATED = re.compile(r"CREATE OR REPLACE TEMPORARY VIEW\s+(\w+)")


def created_by(file: Path) -> dict[str, str]:
    return {found[1]: text for text in view_files.statements(file.read_text()) if (found := CREATED.match(text))}


@pytest.mark.engine
def test_open_sql_and_steps_sql_state_name_type_and_comment_of_every_column(sample_case):
    """The statements of a step are those of a public view with other columns: here they are held to the files, and those of public views run below."""
    case = sample_case(SAMPLES[0])
    opened, steps = created_by(case.root / "open.sql"), created_by(case.root / "steps.sql")
    assert opened.keys() & steps.keys() == set()
    assert opened.keys() | steps.keys() == VIEWS.keys() | TABLES
    for name, view in VIEWS.items():
        if view.kept:
            text = (opened | steps)[name]
            columns = re.findall(r"^\s{2}`(\w+)` [A-Z][A-Z_]+(?:<.+>)? COMMENT '(?:[^']|'')+',?$", text, re.MULTILINE)
            assert columns == view.columns, name
            assert sorted(columns) == sorted(ds.dataset(case.views()[name], format="parquet").schema.names), name


@pytest.mark.engine
def test_open_sql_has_the_public_views_and_rules_and_reads_no_file(sample_case):
    """The cost of a session over a case before its first query: each file whose schema must be inferred takes time."""
    text = (sample_case(SAMPLES[0]).root / "open.sql").read_text()
    opened = created_by(sample_case(SAMPLES[0]).root / "open.sql")
    saved = {name for name, view in VIEWS.items() if view.kind != "step"}
    assert opened.keys() - saved == {"event_row", "evidence_file", "process_start", "copied_log", "damaged_line"}, "what event and snapshot read"
    assert saved <= opened.keys()
    assert "parquet.`" not in text
    assert len(view_files.statements(text)) == len(opened), "no thresholds: no view of them is computed by a query"


@pytest.mark.spark
def test_open_sql_gives_the_same_rows_and_every_column_a_comment(sample_case, spark):
    case = sample_case(SAMPLES[0])
    public = [name for name, view in VIEWS.items() if view.kind != "step"]
    users, ours = spark.newSession(), spark.newSession()
    for statement in view_files.statements((case.root / "open.sql").read_text()):
        users.sql(statement)
    for statement in _needed(opening(case.tables(), case.views()), [f"SELECT * FROM {name}" for name in public]):
        ours.sql(statement)
    for name in public:
        assert users.table(name).schema == ours.table(name).schema, name
        if VIEWS[name].kept:
            assert users.table(name).collect() == ours.table(name).collect(), name
    for name in (name for name in public if VIEWS[name].kind == "public"):
        schema = users.table(name).schema
        assert schema.fields, name
        for field in schema.fields:
            assert field.metadata.get("comment") or (name, field.name) in COMPUTED, f"{name}.{field.name}"
    for statement in view_files.statements((case.root / "steps.sql").read_text()):
        users.sql(statement)
    assert users.table("join_round").collect() == users.read.parquet(str(case.views()["join_round"])).select(VIEWS["join_round"].columns).collect()
