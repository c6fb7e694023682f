"""A case's views: computed once with Spark, kept as Parquet, and published with the SQL that made them and `open.sql`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import pyarrow.dataset

from forensics import queries, tables

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from forensics.tables import Case

#: Cases with fewer events get their views with the ingest; for larger ones the first reader waits, not every ingest.
EAGER_EVENTS = 200_000


def build(
    case: Case,
    spark: SparkSession,
    progress: Callable[[str, int, int], None] = lambda view, number, of: None,
    knobs: Mapping[str, int] | None = None,
) -> Case:
    """Builds all views of a case and makes them part of it.

    Args:
        case: the case as it is now.
        spark: the session.
        progress: told each view's name, its number, and how many there are.
        knobs: the user's own thresholds; None for those that the case has.

    Raises:
        CaseError: a view cannot be computed, or someone else is writing to the case.
    """
    with tables.writing(case.root) as writer:
        current = writer.case or case
        told = case.knobs if knobs is None else knobs
        built = queries.build(spark, current.tables(), tables.new_views_folder(current), progress, small=is_small(current), told=told)
        published = tables.publish_views(current, built, told)
        tables.keep_sql(published, _texts(told))
        tables.write_open_sql(published, queries.opening(published.tables(), published.views(), told))
    return published


def publish_unbuilt(case: Case, knobs: Mapping[str, int] | None = None) -> None:
    """Writes the SQL and an `open.sql` with the tables alone, for a case whose views wait for the first reader.

    Args:
        case: the case.
        knobs: the user's own thresholds for that build; None for those that the case has.
    """
    if knobs is not None:
        case = tables.publish_views(case, {}, knobs)
    tables.keep_sql(case, _texts(case.knobs))
    tables.write_open_sql(case, queries.opening(case.tables(), {}, case.knobs))


def _texts(knobs: Mapping[str, int]) -> Mapping[str, str]:
    """Every SQL file by its path below `sql/`."""
    texts = {"knobs.sql": queries.knobs(knobs)}
    for view in queries.views().values():
        if view.name == "rule_finding":
            continue  # has no file
        name = queries.rule_id(view.name) if view.folder == "rules" else view.name
        texts[f"{view.folder}/{name}.sql" if view.folder else f"{name}.sql"] = view.sql
    return texts


def is_current(case: Case) -> bool:
    """Whether the case's views were built with the SQL of this version, but for the user's own thresholds."""
    folder = case.root / "sql"
    kept = {f.relative_to(folder).as_posix(): f.read_text(encoding="utf-8") for f in folder.rglob("*.sql")}
    return kept == _texts(case.knobs)


def is_small(case: Case) -> bool:
    """Whether the case has fewer events than `EAGER_EVENTS`."""
    events = sum(pyarrow.dataset.dataset(path, format="parquet").count_rows() for path in case.table_paths("event_row"))
    return bool(events < EAGER_EVENTS)
