"""Examples of views: given rows of what a view reads, and the rows that are expected of it.

They are `[[example]]` tables in the TOML file beside the view's SQL. Rows are sparse: a column that is not named is NULL in a given row, and may be
anything in an expected one; `nulls` of an expected row lists columns that must be NULL. Moments are milliseconds since 1970. `each.NAME`, beside the
given rows of NAME, has the columns that all of them have in common. Rows may also be given for a common table expression of the view, which they
replace; an example with `part` expects the rows of that expression. If rows are given of what only a step in the view's own folder, or one that is
computed on every read, reads, that step is computed from them. A view that Python computes needs no engine: there, a `part` is a function of its module
that takes the inputs, and rows that are given under the name of such a function replace what it returns.
"""

from __future__ import annotations

import io
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from datetime import datetime
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq
from given_rows import GivenRows, sparse, stored
from pyarrow.dataset import dataset

from forensics.case import materialise, view_files
from forensics.case.open_sql import opening
from forensics.case.query_parts import split
from forensics.case.sql_types import arrow_type
from forensics.engines.rows import may_be_null
from forensics.relations.inputs import _in_ms
from forensics.report.query import _needed
from forensics.resources import sql_dir
from forensics.schema import TABLES

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

    from forensics.case.folder import Case
    from forensics.engines.base import Engine

Example = Mapping[str, Any]
Row = dict[str, Any]


@cache
def examples() -> dict[str, tuple[Example, ...]]:
    """Return all examples by view; a view without examples is left out."""
    found = {}
    for view in view_files.views().values():
        name = view_files.rule_id(view.name) if view.kind == "rule" else view.name
        file = sql_dir() / view.folder / f"{name}.toml"
        if file.is_file() and (its := tomllib.loads(file.read_text(encoding="utf-8")).get("example")):
            found[view.name] = tuple(its)
            for example in its:
                for table, columns in example["given"].pop("each", {}).items():
                    example["given"][table] = [columns | row for row in example["given"][table]]
    return found


class Given(GivenRows):
    """Rows that an example gives of what a computed view reads.

    Args:
        view: the view.
        given: rows by name.
    """

    def __init__(self, view: view_files.View, given: Mapping[str, Sequence[Row]]) -> None:
        super().__init__(given, view.computed)
        self._steps = {step.name: step for step in _steps(view, given) if step.computed}

    def given(self, view: str) -> Sequence[Row]:
        if view in self._steps:
            return _in_ms(computed(self._steps[view], {"given": self._given})).to_pylist()
        return super().given(view)


def computed(view: view_files.View, example: Example) -> pa.Table:
    """Return the rows of a view that Python computes, or of a part of it, over what an example gives."""
    module = import_module(view.computed)
    replaced = (example["given"].keys() & vars(module).keys()) - view_files.views().keys()
    unknown = example["given"].keys() - replaced - {*view_files.views(), *TABLES}
    assert not unknown, f"{view.name} does not read {unknown}"
    inputs = Given(view, {name: rows for name, rows in example["given"].items() if name not in replaced})
    with ExitStack() as patches:
        for name in replaced:
            patches.enter_context(patch.object(module, name, lambda _, name=name: [sparse(row) for row in example["given"][name]]))
        if "part" in example:
            return pa.Table.from_pylist(getattr(module, example["part"])(inputs.of(view.reads)))
        return materialise.computed(view, inputs)


def run(runs: Engine, case: Case, view: view_files.View, example: Example, empty: set[str] | None = None) -> tuple[pa.Table, StructType]:
    """A view's rows over what an example gives, with the columns that the view declares, and the types of its query.

    Args:
        runs: runs the query.
        case: any that has all views: it tells the types of what is given.
        view: the view.
        example: one of its examples.
        empty: as for `give`.
    """
    given = example["given"]
    steps = _steps(view, given)
    names = dict.fromkeys(name for step in (*steps, view) for name in step.reads)
    for step in steps:
        names.pop(step.name)
    give(runs, case, names, {name: rows for name, rows in given.items() if name in names}, empty)
    made: dict[str, list[Row]] = {}
    for step in steps:
        if step.computed:
            read = {name: its for name, its in (given | made).items() if name in {*view_files.views(), *TABLES}}
            rows, types = _stored(computed(step, {"given": read})), _types(step)
        else:
            rows, types = runs.collected(runs.query(_parts_first(runs, step, step.query)))
        made[step.name] = _in_ms(rows.rename_columns(step.columns) if step.columns else rows).to_pylist()
        if empty is not None:
            empty.discard(step.name)
        _know(runs, step.name, rows.rename_columns(step.columns) if step.columns else rows, types)
    rows, types = runs.collected(runs.query(_parts_first(runs, view, _query(runs, view, example, steps))))
    if "part" in example:
        return rows, types
    if view.kind == "rule":
        return rows.select(view_files.RULE_COLUMNS), types
    return rows.rename_columns(view.columns) if view.columns else rows, types


def _types(step: view_files.View) -> StructType:
    """Return the types that a computed view declares."""
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(pa.schema([pa.field(name, arrow_type(kind)) for name, kind in step.types.items()]))


def _parts_first(runs: Engine, view: view_files.View, query: str) -> str:
    """Compute the parts that a build computes first; return the query that reads their rows."""
    parts, query = split(query, prefix=view.name, worth=runs.part_cost)
    for part in parts:
        _know(runs, part.name, *runs.collected(may_be_null(runs.query(part.query))))
    return query


def _know(runs: Engine, name: str, rows: pa.Table, types: StructType) -> None:
    """Register rows, so that later queries can read them; Arrow makes no frame without rows."""
    runs.session.createDataFrame(*((rows,) if rows.num_rows else ([], types))).createOrReplaceTempView(name)


def _steps(view: view_files.View, given: Mapping[str, Sequence[Row]]) -> list[view_files.View]:
    """Return the steps that read what is given and is not read by the view itself, each after those that it reads.

    They are in the view's own folder, or are computed on every read, or in Python.
    """
    all_views = view_files.views()
    found: list[view_files.View] = []

    def reads(step: view_files.View, name: str) -> bool:
        return name in step.reads or any(reads(all_views[other], name) for other in step.reads if is_near(other))

    def is_near(name: str) -> bool:
        step = all_views.get(name)
        return step is not None and name not in given and step.kind == "step" and (step.folder == view.folder or step.computed != "" or not step.kept)

    wanted = {name for name in given if name not in view.reads and name in {*all_views, *TABLES}}
    for name in all_views:  # in the order of their reads
        if is_near(name) and reads(view, name) and any(reads(all_views[name], other) for other in wanted):
            found.append(all_views[name])
    return found


def _query(runs: Engine, view: view_files.View, example: Example, steps: Sequence[view_files.View]) -> str:
    """Return the query of the view, or of its part, that reads the given rows in place of the common table expressions that they replace."""
    from forensics.case.query_parts import _Table, _tables, _with

    read = {*view.reads, *view_files.views(), *(name for step in steps for name in step.reads)}
    replaced = example["given"].keys() - read
    part = example.get("part", "")
    if not replaced and not part:
        return view.query
    tables, last = _tables(view.query)
    unknown = (replaced | {part} - {""}) - {table.name for table in tables}
    assert not unknown, f"{view.name} does not read {unknown}"
    before: list[_Table] = []
    for table in tables:
        if table.name == part:
            return _with(before, table.words, table.body)
        if table.name in replaced:
            name = f"given_{table.name}"
            found = runs.query(_with(before, table.words, table.body)).limit(0).toArrow().schema
            _register(runs, name, example["given"][table.name], pa.schema([pa.field(f.name, _open(f.type)) for f in found]))
            table = _Table(table.name, table.head, f"SELECT * FROM {name}", (name,))
        before.append(table)
    return _with(before, last.words, last.body)


def give(runs: Engine, case: Case, reads: Iterable[str], given: Mapping[str, Sequence[Row]], empty: set[str] | None = None) -> None:
    """The thresholds, and given rows under the names of tables and views; those of which none are given are empty.

    Args:
        runs: gets them.
        case: any that has all views: it tells the types of what is given.
        reads: the names.
        given: rows by name.
        empty: names that the calls before, with this same set, have left empty, if nobody else has given the engine anything since; they stay.
    """
    names = tuple(reads)
    assert set(given) <= set(names), f"rows are given of what is not read: {set(given) - set(names)}"
    for statement in _thresholds():
        runs.sql(statement)
    # To look up the columns of one makes others that it reads.
    if empty and any(name not in _SCHEMAS and not _kept(case, name) for name in names):
        empty.clear()
    schemas = {name: _schema(runs, case, name) for name in names}
    for name, schema in schemas.items():
        if empty is not None:
            if name in empty and not given.get(name):
                continue
            (empty.discard if given.get(name) else empty.add)(name)
        _register(runs, name, given.get(name, ()), schema)


def _register(runs: Engine, name: str, given: Sequence[Row], schema: pa.Schema) -> None:
    from pyspark.sql.pandas.types import from_arrow_schema

    rows = [stored(name, row, schema) for row in given]
    _know(runs, name, _stored(pa.Table.from_pylist(rows, schema)), from_arrow_schema(schema))


@cache
def _thresholds() -> list[str]:
    return view_files.statements(view_files.thresholds_sql())


def _stored(rows: pa.Table) -> pa.Table:
    """Rows as they come from a case's files: there a NULL struct has NULL fields, in Arrow they may have values."""
    file = io.BytesIO()
    pq.write_table(rows, file)
    return pq.read_table(file)


_SCHEMAS: dict[str, pa.Schema] = {}


def _schema(runs: Engine, case: Case, name: str) -> pa.Schema:
    """The columns of a view or table, as a case has them; each may be NULL."""
    if name not in _SCHEMAS:
        _SCHEMAS[name] = pa.schema([pa.field(f.name, _open(f.type)) for f in _looked_up(runs, case, name)])
    return _SCHEMAS[name]


def _kept(case: Case, name: str) -> Any:  # noqa: ANN401
    """The place of rows of a view or table; None of a view that is computed when it is read."""
    return case.views().get(name) or (case.table_paths(name) or [None])[0]


def _looked_up(runs: Engine, case: Case, name: str) -> pa.Schema:
    path = _kept(case, name)
    if path:
        return dataset(str(path), format="parquet").schema
    # A view that is computed when it is read.
    for statement in _needed(opening(case.tables(), case.views()), [f"SELECT * FROM {name}"]):
        runs.sql(statement)
    return runs.session.table(name).limit(0).toArrow().schema


def _open(type_: pa.DataType) -> pa.DataType:
    """A type whose parts may all be NULL."""
    if pa.types.is_struct(type_):
        return pa.struct([pa.field(f.name, _open(f.type)) for f in type_])
    if pa.types.is_list(type_):
        return pa.list_(_open(type_.value_type))
    if pa.types.is_map(type_):
        return pa.map_(type_.key_type, _open(type_.item_type))
    return type_


def assert_rows(rows: Sequence[Row], expected: Sequence[Row]) -> None:
    """Each expected row is one of the rows, and no row is left."""
    left = list(rows)
    for wanted in expected:
        same = [row for row in left if _is(row, wanted)]
        assert same, f"no row is as {wanted} says; there are {left}"
        left.remove(same[0])
    assert not left, f"nothing expects {left}"


def _is(row: Row, wanted: Row) -> bool:
    named = wanted.keys() - {"nulls"} | set(wanted.get("nulls", ()))
    assert not named - row.keys(), f"no such columns: {named - row.keys()}; there are {', '.join(row)}"
    return all(row[c] is None for c in wanted.get("nulls", ())) and all(_same(row[c], v) for c, v in wanted.items() if c != "nulls")


def _same(value: Any, wanted: Any) -> bool:  # noqa: ANN401
    """Return True if a value is as expected; of a struct, only the named fields are compared."""
    if isinstance(value, datetime):
        value = round(value.timestamp() * 1000)
    if isinstance(wanted, dict):
        found = value if isinstance(value, dict) or value is None else dict(value)  # a map of Arrow's is a list of pairs
        return found is not None and _is(found, wanted)
    if isinstance(wanted, list):
        return isinstance(value, list) and len(value) == len(wanted) and all(_same(v, w) for v, w in zip(value, wanted, strict=True))
    return bool(value == wanted)
