"""Views to rows: each is computed once, in order, and kept as Parquet, so that a reader never waits for the steps below a view."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from graphlib import TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.dataset

from forensics.case.open_sql import missing_columns
from forensics.case.view_files import View, knobs, rule_id, statements, views
from forensics.errors import CaseError
from forensics.failures import ENGINE_FAILED, explained

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

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
        target: a folder that does not exist; `target/<view>` is made for each.
        progress: called with the view's name, its number and how many there are.
        small: whether the case is so small that planning and compiling a query costs more than running it.
        overrides: thresholds of the user's own.

    Returns:
        View name to the path of its rows.

    Raises:
        CaseError: a view could not be computed; says which and why.
    """
    for statement in statements(knobs(overrides)):
        engine.sql(statement)
    for name, paths in tables.items():
        found = {column for path in paths for column in pyarrow.dataset.dataset(path, format="parquet").schema.names}
        engine.table(name, paths, missing_columns(name, found))
    with engine.tuned(small=small):
        return _build_all(engine, target, progress or (lambda view, number, of: None), small=small)


def _build_all(engine: Engine, target: Path, progress: Callable[[str, int, int], None], *, small: bool) -> dict[str, str]:
    target.mkdir(parents=True, exist_ok=True)
    everything = views()
    order = TopologicalSorter({name: [r for r in view.reads if r in everything] for name, view in everything.items()})
    order.prepare()
    built: dict[str, str] = {}
    # A view of a small case costs mostly planning, which Spark does on one core a query: two at a time use both.
    with ThreadPoolExecutor(max_workers=_AT_ONCE) as pool:
        running: dict[Future[None], str] = {}
        number = 0
        while order.is_active():
            for name in order.get_ready():
                running[pool.submit(_compute, engine, everything[name], target / name, small=small)] = name
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                name, number = running.pop(future), number + 1
                future.result()
                if everything[name].kept:
                    built[name] = str(target / name)
                progress(name, number, len(everything))
                order.done(name)
    return built


_AT_ONCE = 3


def _compute(engine: Engine, view: View, path: Path, *, small: bool) -> None:
    """Compute one view, once, and let later views read what was kept of it."""
    try:
        if not view.kept:
            for statement in statements(view.sql):
                engine.sql(statement)
            return
        rows = _named(engine.sql(view.query), view.columns)
        if view.words:
            # They are few, and most of them are the report's: they are worded in this process.
            engine.keep_table(view.name, with_words(view, rows.toArrow(), path.parent), rows.schema, path)
        else:
            engine.keep(view.name, rows, path, small=small)
    except Exception as e:  # engines' errors have no common base that pyspark promises
        known = explained(e)
        if known.what != ENGINE_FAILED:
            raise known from e
        why = known.why
        raise CaseError(f"The view {view.name} could not be computed.", why=why, where=f"sql/{view.folder}/{view.name}.sql") from e


def with_words(view: View, table: pa.Table, target: Path) -> pa.Table:
    """The rows of a view with their sentences.

    Args:
        view: one that has words.
        table: its rows; columns of text that words fill may be NULL in it.
        target: the folder of the views that were kept so far.
    """
    from forensics.wording import tell
    from forensics.wording.files import view_words

    if view.words == "by rule":
        worded = tell.findings(table.to_pylist(), rule_facts(lambda name: target / name))
        columns: Iterable[str] = tell.TEXTS
    else:
        worded = tell.of_view(view.name, table.to_pylist())
        columns = view_words()[view.name].columns
    for column in columns:
        at = table.schema.get_field_index(column)
        table = table.set_column(at, table.schema.field(at), pa.array([row[column] for row in worded], table.schema.field(at).type))
    return table


def rule_facts(folder: Callable[[str], Path | None]) -> dict[str, pyarrow.DataType]:
    """The Arrow type of each rule's facts, by the rule's id, as its rows have them.

    Args:
        folder: gives the folder of a view's rows.
    """
    found = {}
    for view in views().values():
        path = folder(view.name) if view.facts else None
        if path is not None and path.is_dir():
            found[rule_id(view.name)] = pyarrow.dataset.dataset(str(path), format="parquet").schema.field("facts").type
    return found


def _named(rows: DataFrame, columns: Sequence[str]) -> DataFrame:
    """The rows with the declared columns, in their order: by name where all are named, else by place."""
    return rows.select(*columns) if sorted(rows.columns) == sorted(columns) else rows.toDF(*columns)
