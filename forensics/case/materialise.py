"""Compute views: each once, in order, and written as Parquet, so that reading a view never recomputes the views below it.

An engine runs a view's query; a view without a query is computed here, by its module, from the rows of the views before it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import partial
from graphlib import TopologicalSorter
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq

from forensics.case.integrity import rows_in
from forensics.case.needs import Needs
from forensics.case.open_sql import missing_columns
from forensics.case.query_parts import inlined, split, with_values
from forensics.case.sql_types import arrow_type
from forensics.case.view_files import View, rule_id, statements, threshold_literals, thresholds, views
from forensics.engines import other
from forensics.engines.rows import may_be_null, types_of
from forensics.errors import CaseError
from forensics.failures import ENGINE_FAILED, explained
from forensics.relations.inputs import Inputs, Row
from forensics.scratch import PrivateFolder

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

    from forensics.engines.base import Engine


def build(
    engine: Engine,
    tables: Mapping[str, Sequence[str]],
    target: Path,
    progress: Callable[[str, int, int], None] | None = None,
    *,
    small: bool = False,
    overrides: Mapping[str, int] | None = None,
) -> dict[str, str]:
    """Compute every kept view once, in order, into Parquet.

    Args:
        engine: computes them.
        tables: table name to Parquet paths.
        target: a folder that does not exist; each view gets `target/<view>`.
        progress: called with the view's name, its number, and the number of views.
        small: True if the case is small enough that planning and compiling a query costs more than running it.
        overrides: the user's thresholds.

    Returns:
        The path of each view's rows, by view name.

    Raises:
        CaseError: a view could not be computed; the error names it and the reason.
    """
    target.mkdir(parents=True, exist_ok=True)
    with engine.watched(), engine.tuned(small=small), PrivateFolder() as parts:
        _ = engine.session  # two threads that import different parts of pyspark for the first time would wait for each other
        ready = _Build(engine, tables, target, parts, small=small, overrides=overrides)
        return ready.run(progress or (lambda view, number, of: None))


@dataclass(frozen=True)
class _Relation:
    """A relation that queries may read.

    Attributes:
        rows: about how many it has.
        register: registers it in an engine.
        known_by: those that have registered it.
    """

    rows: int
    register: Callable[[_Reader], None]
    known_by: set[_Reader] = field(default_factory=set)
    lock: Lock = field(default_factory=Lock)


class _Reader:
    """An engine, which learns of a relation when a query reads it: only modules and reports read most views.

    Args:
        engine: runs the queries.
        relations: what queries may read so far, by name.
        few: True if its queries read few rows.
    """

    def __init__(self, engine: Engine, relations: Mapping[str, _Relation], *, few: bool) -> None:
        self.engine, self.few = engine, few
        self._relations = relations

    def learn(self, names: Iterable[str]) -> None:
        """Register relations that are not registered yet; other threads may need them too."""
        for relation in map(self._relations.__getitem__, names):
            with relation.lock:
                if self not in relation.known_by:
                    relation.register(self)
                    relation.known_by.add(self)


class _Build:
    """One build of all views.

    Args:
        engine: computes them.
        tables: table name to Parquet paths.
        target: folder for the views' rows.
        parts: folder for the rows of parts of views.
        small: as for `build`.
        overrides: the user's thresholds.
    """

    def __init__(
        self,
        engine: Engine,
        tables: Mapping[str, Sequence[str]],
        target: Path,
        parts: Path,
        *,
        small: bool,
        overrides: Mapping[str, int] | None,
    ) -> None:
        self._engine, self._target, self._parts, self._small = engine, target, parts, small
        self._views = views()
        self._relations = {
            name: _Relation(sum(rows_in(path).count_rows() for path in paths), partial(_register_table, name, paths))
            for name, paths in tables.items()
        }
        self._keeps_all = small and ("event_row" not in tables or self._relations["event_row"].rows < _KEPT_EVENTS)
        self._all = _Reader(engine, self._relations, few=small)
        few = engine if small or engine.is_far else engine.for_few_rows()
        self._few = self._all if few is engine else _Reader(few, self._relations, few=True)

        def so_far(name: str) -> list[pyarrow.dataset.Dataset]:
            return [rows_in(path) for path in tables.get(name, (target / name,))]

        self._inputs, self._needs = Inputs(so_far, thresholds(overrides)), Needs(so_far)
        self._values = threshold_literals(overrides)

    def run(self, progress: Callable[[str, int, int], None]) -> dict[str, str]:
        order = TopologicalSorter({name: [r for r in view.reads if r in self._views] for name, view in self._views.items()})
        order.prepare()
        built: dict[str, str] = {}
        # Most of the cost of a small case's view is planning, which uses one core per query: several queries in parallel use all cores.
        with ThreadPoolExecutor(max_workers=_PARALLEL_QUERIES, initializer=self._engine.begin_thread) as pool:
            running: dict[Future[None], str] = {}
            number = 0
            while order.is_active():
                for name in order.get_ready():
                    running[pool.submit(self._compute, self._views[name])] = name
                progress(next(iter(running.values())), number, len(self._views))  # the one that started first
                try:
                    done, _ = wait(running, return_when=FIRST_COMPLETED)
                except KeyboardInterrupt:
                    self._engine.cut()  # otherwise exiting would wait for its queries
                    pool.shutdown(wait=False, cancel_futures=True)
                    raise
                for future in done:
                    name, number = running.pop(future), number + 1
                    future.result()
                    if self._views[name].kept:
                        built[name] = str(self._target / name)
                    order.done(name)
            progress("", number, len(self._views))
        return built

    def _compute(self, view: View) -> None:
        """Compute one view, so that later views can read it."""
        try:
            if view.computed and (parts := computed_parts(view, self._inputs)) is not None:
                self._write(view.name, parts, arrow_schema(view), self._target / view.name)
            elif view.computed:
                self._keep_here(view, computed(view, self._inputs))
            elif view.kept and (none := self._needs.empty(view.query)) is not None:
                self._write(view.name, [none], none.schema, self._target / view.name)
            elif view.kept:
                self._keep(view)
            elif self._keeps_all:
                # Otherwise each of its readers would plan its joins again. It is not published: its rows are those of a table.
                self._keep_for_build(view.name, self._needs.live(view.query))
            else:
                read = (self._relations[name].rows for name in self._read_by(view.query))
                self._relations[view.name] = _Relation(max(read, default=0), partial(self._create, view))
        except Exception as e:  # engines' errors have no common base that pyspark promises
            known = explained(e)
            if known.what != ENGINE_FAILED:
                raise known from e
            why, fix = known.why, "Please report this with the log lines that show it."
            if not view.computed:
                fix = f"`--engine {other(self._engine.name)}` may compute it. {fix}"
            raise CaseError(f"The view {view.name} could not be computed.", why=why, where=f"sql/{view.folder}/{view.name}.sql", fix=fix) from e

    def _computed_first(self, view: View) -> str:
        """Compute the parts of a view's query that it reads more than once; return the query that reads their rows."""
        if self._engine.is_far and not self._small:
            return view.query  # other machines could not read a part in this one's temporary folder
        parts, query = split(self._needs.live(view.query), prefix=view.name, worth=self._engine.part_cost)
        for part in parts:
            self._keep_for_build(part.name, part.query)
        return query

    def _asked(self, query: str) -> tuple[_Reader, DataFrame]:
        """Return a query, in the form that an engine plans fastest, and what runs it."""
        names = self._read_by(query)
        reader = self._few if sum(self._relations[name].rows for name in names) < _FEW_ROWS else self._all
        reader.learn(names)
        return reader, reader.engine.query(with_values(inlined(query), self._values))

    def know_inputs(self, view: View) -> None:
        """Register what a view reads, as its query would."""
        self._all.learn(self._read_by(view.query))

    def _read_by(self, query: str) -> set[str]:
        """Return the relations that a query names."""
        return self._relations.keys() & set(re.findall(r"\w+", query.lower()))

    def _create(self, view: View, reader: _Reader) -> None:
        """Register a view that is not stored."""
        for statement in statements(view.sql):
            reader.learn(self._read_by(statement) - {view.name})
            reader.engine.sql(with_values(statement, self._values))

    def _keep_for_build(self, name: str, query: str) -> None:
        """Compute a relation, so that later queries can read its rows until the build ends."""
        reader, rows = self._asked(query)
        rows = may_be_null(rows)
        if reader.few:
            table, types = reader.engine.collected(rows)
            self._write(name, [table], table.schema, self._parts / name, types)
        else:
            self._keep_rows(name, rows, self._parts / name)

    def _keep(self, view: View) -> None:
        """Compute and write a view's rows."""
        reader, rows = self._asked(self._computed_first(view))
        if reader.few or view.words:
            self._keep_here(view, *_named_here(*reader.engine.collected(rows), view.columns))
        else:
            self._keep_rows(view.name, _named(rows, view.columns), self._target / view.name)

    def _keep_here(self, view: View, table: pa.Table, types: StructType | None = None) -> None:
        """Write rows that are in this process, with their sentences: views with words have few rows, most of which the report shows."""
        if view.words:
            table = with_words(view, table, self._target)
        self._write(view.name, [table], table.schema, self._target / view.name, types)

    def _keep_rows(self, name: str, rows: DataFrame, path: Path) -> None:
        """Let the engine write rows."""
        self._all.engine.keep_rows(rows, path)
        self._relations[name] = _Relation(rows_in(path).count_rows(), partial(_register_rows, name, path, rows.schema, is_here=False))

    def _write(self, name: str, parts: Iterable[pa.Table], schema: pa.Schema, path: Path, types: StructType | None = None) -> None:
        """Write rows that are in this process: writing and reading a few thousand is faster than an engine's planning."""
        path.mkdir()
        number = 0
        with pq.ParquetWriter(path / "part-0.parquet", schema) as writer:
            for part in parts:
                writer.write_table(part)
                number += part.num_rows
        self._relations[name] = _Relation(number, partial(_register_rows, name, path, types or types_of(schema), is_here=True))


def _register_table(name: str, paths: Sequence[str], reader: _Reader) -> None:
    schema = pa.unify_schemas([rows_in(path).schema for path in paths], promote_options="permissive")
    reader.engine.table(name, paths, missing_columns(name, set(schema.names)), schema=schema, small=reader.few)


def _register_rows(name: str, path: Path, types: StructType, reader: _Reader, *, is_here: bool) -> None:
    """Register rows; `is_here`: this process wrote them, so that other machines cannot read them."""
    reader.engine.know(name, path, types, sent=reader.few or (is_here and reader.engine.is_far))


#: A query that reads fewer rows is planned for few: compiling it and distributing its rows would cost more than that saves.
_FEW_ROWS = 500_000
_PARALLEL_QUERIES = 3
#: With fewer events, a build keeps the rows of `event` and of the other views that are not stored: they fit into the engine's memory.
_KEPT_EVENTS = 50_000


def computed(view: View, inputs: Inputs) -> pa.Table:
    """Return the rows of a view that a module computes.

    Args:
        view: the view.
        inputs: the rows of other views.
    """
    parts = computed_parts(view, inputs)
    if parts is not None:
        return pa.concat_tables([arrow_schema(view).empty_table(), *parts])
    rows: list[Row] = import_module(view.computed).rows(inputs.of(view.reads))
    if rows and rows[0].keys() != view.types.keys():
        wrong = ", ".join(sorted(rows[0].keys() ^ view.types.keys()))
        raise CaseError(f"The module {view.computed} does not return the columns of {view.name}.", why=f"missing or unknown: {wrong}")
    schema = arrow_schema(view)
    return _stored(pa.table({field.name: _column([row[field.name] for row in rows], field.type) for field in schema}), schema)


def computed_parts(view: View, inputs: Inputs) -> Iterator[pa.Table] | None:
    """Return the rows of a view in parts, as they are stored; None if its module makes them one by one. Takes the same arguments as `computed`."""
    tables: Callable[[Inputs], Iterator[pa.Table]] | None = getattr(import_module(view.computed), "tables", None)
    return None if tables is None else (_stored(table, arrow_schema(view)) for table in tables(inputs.of(view.reads)))


def arrow_schema(view: View) -> pa.Schema:
    """Return the columns that a computed view declares."""
    return pa.schema([(name, arrow_type(kind)) for name, kind in view.types.items()])


def _column(values: list[Any], kind: pa.DataType) -> pa.Array:
    """Return the values of a column, times as milliseconds since 1970."""
    return pa.array(values, pa.int64() if pa.types.is_timestamp(kind) else kind)


def _stored(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return rows, whose times are milliseconds since 1970, with their columns in order and of the stored types."""
    named = ((field.type, table.column(field.name)) for field in schema)
    columns = [(column.cast(pa.timestamp("ms", "UTC")) if pa.types.is_timestamp(kind) else column).cast(kind) for kind, column in named]
    return pa.table(columns, schema=schema)


def with_words(view: View, table: pa.Table, target: Path) -> pa.Table:
    """Return the rows of a view with their sentences.

    Args:
        view: a view that has words.
        table: its rows; text columns that the words fill may be NULL.
        target: the folder of the views built so far.
    """
    from forensics.wording import sentences
    from forensics.wording.files import view_words

    if view.words == "by rule":
        worded = sentences.findings(table.to_pylist(), rule_facts(lambda name: target / name))
        columns: Iterable[str] = sentences.TEXTS
    else:
        worded = sentences.of_view(view.name, table.to_pylist())
        columns = view_words()[view.name].columns
    for column in columns:
        at = table.schema.get_field_index(column)
        table = table.set_column(at, table.schema.field(at), pa.array([row[column] for row in worded], table.schema.field(at).type))
    return table


def rule_facts(folder: Callable[[str], Path | None]) -> dict[str, pyarrow.DataType]:
    """Return the Arrow type of each rule's facts, by rule ID.

    Args:
        folder: returns the folder of a view's rows.
    """
    found = {}
    for view in views().values():
        path = folder(view.name) if view.kind == "rule" else None
        if path is not None and path.is_dir():
            found[rule_id(view.name)] = rows_in(path).schema.field("facts").type
    return found


def _named(rows: DataFrame, columns: Sequence[str]) -> DataFrame:
    """Return the rows with the declared columns in their order, matched by name if all names match, otherwise by position."""
    return rows.select(*columns) if sorted(rows.columns) == sorted(columns) else rows.toDF(*columns)


def _named_here(table: pa.Table, schema: StructType, columns: Sequence[str]) -> tuple[pa.Table, StructType]:
    """Do the same as `_named` for rows in this process, without planning a query."""
    if sorted(table.column_names) == sorted(columns):
        return table.select(columns), type(schema)([schema[name] for name in columns])
    for each, name in zip(schema.fields, columns, strict=True):
        each.name = name
    return table.rename_columns(columns), type(schema)(schema.fields)
