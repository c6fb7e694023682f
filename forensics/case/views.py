"""Build a case's views once with an engine, and publish their rows with the SQL that computed them, `open.sql` and `steps.sql`."""

from __future__ import annotations

import hashlib
import importlib.resources
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING

from forensics import relations, wording
from forensics.case import folder as case_folder
from forensics.case import materialise, view_files
from forensics.case.integrity import rows_in
from forensics.case.open_sql import scripts
from forensics.resources import sql_dir

if TYPE_CHECKING:
    from forensics.case.folder import Case
    from forensics.engines.base import Engine

#: A case with fewer events is small: planning and compiling a query costs more than running it.
SMALL_EVENTS = 200_000
#: Reasons to compute views: there are none, another version computed them, or the user's thresholds have changed.
NONE, OLDER, THRESHOLDS = "none", "older", "thresholds"
Progress = Callable[[str, int, int], None]


def build(case: Case, engine: Engine, progress: Progress = lambda view, number, of: None, thresholds: Mapping[str, int] | None = None) -> Case:
    """Build all views of a case and publish them.

    Args:
        case: the case; the caller has opened it, so its files have been checked.
        engine: computes the views.
        progress: called with each view's name, its number, and the number of views.
        thresholds: the user's thresholds; None: those of the case.

    Raises:
        CaseError: a view cannot be computed, or another command is writing to the case.
    """
    with case_folder.writing(case.root, check=False) as writer:
        case = writer.case or case
        engine.elsewhere = writer.remote if engine.is_far else None
        if writer.remote and engine.is_far:
            writer.remote.upload(case.manifest["contents"])
        return case_folder.publish(*computed(case, engine, progress, thresholds))


def computed(
    case: Case, engine: Engine, progress: Progress = lambda view, number, of: None, thresholds: Mapping[str, int] | None = None
) -> tuple[Case, dict[str, str]]:
    """Return the case with all its views, and their SQL files, for `case_folder.publish`. Takes the same arguments as `build`."""
    overrides = case.thresholds if thresholds is None else dict(thresholds)
    built = materialise.build(engine, case.tables(), case_folder.new_views_folder(case), progress, small=is_small(case), overrides=overrides)
    return _with(case, built, overrides)


def without(case: Case, thresholds: Mapping[str, int] | None = None) -> tuple[Case, dict[str, str]]:
    """Return the case without views, and an `open.sql` with its tables only; the next report builds the views with these thresholds."""
    return _with(case, {}, case.thresholds if thresholds is None else dict(thresholds))


def as_moved(case: Case) -> tuple[Case, dict[str, str]]:
    """Return the case with its present views, and an `open.sql` that names its present path; the views must be current."""
    return _with(case, case.views(), case.thresholds)


def _with(case: Case, built: Mapping[str, str], overrides: Mapping[str, int]) -> tuple[Case, dict[str, str]]:
    case = case_folder.with_views(case, built, overrides)
    texts = {f"{case_folder.KEPT_SQL}/{name}": text for name, text in _texts(overrides).items()} if built else {}
    opened, steps = scripts(case.tables(), case.views(), overrides)
    texts[case_folder.OPEN_SQL] = case_folder.open_sql(opened)
    if steps:
        texts[case_folder.STEPS_SQL] = case_folder.steps_sql(steps)
    return case, texts


def _texts(thresholds: Mapping[str, int]) -> Mapping[str, str]:
    """Return the text of every SQL file by its path below `sql/`."""
    texts = {"knobs.sql": view_files.thresholds_sql(thresholds)}
    for view in view_files.views().values():
        name = view_files.rule_id(view.name) if view.kind == "rule" else view.name
        texts[f"{view.folder}/{name}.sql"] = f"{view.sql}\n-- Code: {_code()}\n" if view.computed else view.sql
    return texts


@cache
def _code() -> str:
    """Return the SHA-256 of what computes and words views besides their SQL."""
    return hashlib.sha256(b"\0".join(part for name, text in sorted(code().items()) for part in (name.encode(), text))).hexdigest()


def code() -> dict[str, bytes]:
    """Return the packages of the modules that compute and word views, and the TOML files beside their SQL: each file by its folder and name."""
    kept = view_files.views().values()
    rooms = {relations.__name__, wording.__name__} | {view.computed.rpartition(".")[0] for view in kept if view.computed}
    folders = [*map(importlib.resources.files, rooms), *(sql_dir() / folder for folder in {view.folder for view in kept})]
    return {
        f"{folder.name}/{file.name}": file.read_bytes() for folder in folders for file in folder.iterdir() if file.name.endswith((".py", ".toml"))
    }


def outdated(case: Case, thresholds: Mapping[str, int] | None = None) -> str | None:
    """Return why the case's views must be computed before they are read (`NONE`, `OLDER` or `THRESHOLDS`), or None if they are current.

    Args:
        case: the case.
        thresholds: the user's thresholds; None: those of the case.
    """
    if not case.views():
        return NONE
    if thresholds is not None and thresholds != case.thresholds:
        return THRESHOLDS
    return None if _is_current(case) else OLDER


def _is_current(case: Case) -> bool:
    """Return True if the case's views were built with this version's SQL, apart from the user's thresholds."""
    top = f"{case_folder.KEPT_SQL}/"
    kept = {path.removeprefix(top): recorded["sha256"] for path, recorded in case.manifest["contents"].items() if path.startswith(top)}
    return kept == {name: hashlib.sha256(text.encode()).hexdigest() for name, text in _texts(case.thresholds).items()}


def is_empty(case: Case) -> bool:
    """Return True if no view would have a row except `source_file` and the note on a file in `coverage`: no line of Kafka and no snapshot was read."""
    tables = ("event_row", "counted_row", "unrecognised_row")
    return not any(rows_in(path).count_rows() for name in tables for path in case.table_paths(name))


def is_small(case: Case) -> bool:
    """Return True if the case has fewer events than `SMALL_EVENTS`."""
    events = sum(rows_in(path).count_rows() for path in case.table_paths("event_row"))
    return bool(events < SMALL_EVENTS)
