"""Read rows that a case stores, as dictionaries with times in UTC. Reads Parquet; starts no Spark."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from forensics.case.integrity import rows_in
from forensics.case.view_files import views
from forensics.errors import CaseError
from forensics.report.model import Row


class CaseLike(Protocol):
    """The part of a case folder that a report needs."""

    @property
    def manifest(self) -> Mapping[str, Any]:
        """Return the manifest's keys."""

    def view_path(self, name: str) -> Path | None:
        """Return the folder of a view's Parquet files; None if it is not built."""

    def table_paths(self, name: str) -> Sequence[str]:
        """Return the folders of a table's Parquet files."""


def rows_of(view: str, path: Path | None) -> list[Row]:
    """Return all rows of a view.

    Raises:
        CaseError: the view is missing, cannot be read, or has the columns of something else.
    """
    if path is None:
        raise CaseError(
            f"The case has no view `{view}`.", why="another version of this program made it", fix="Ingest the logs again, into a new folder."
        )
    fix = "Run `forensics verify` to see what is damaged."
    try:
        table = rows_in(path).to_table()
    except (OSError, pa.ArrowException) as e:
        raise CaseError(f"The view `{view}` cannot be read.", why=str(e).split("\n")[0], where=str(path), fix=fix) from e
    columns = views()[view].columns if view in views() else ()
    # Another version may lack some of them, and have a few others.
    if table.num_rows and columns and 2 * len(set(table.column_names).difference(columns)) > table.num_columns:
        raise CaseError(f"The view `{view}` cannot be read.", why="its file has the columns of something else", where=str(path), fix=fix)
    return pylist(table)


def witnesses(case: CaseLike, ids: Iterable[str]) -> dict[str, Row]:
    """Return the lines of event IDs: `event_id, process_id, path, line, byte_offset, ts, text`."""
    wanted, paths = sorted(set(ids)), [str(p) for p in case.table_paths("event_row")]
    found: dict[str, Row] = {}
    if not wanted:
        return found
    columns = ["event_id", "process_id", "path", "line", "byte_offset", "ts", "message"]
    for path in paths:
        table = rows_in(path).to_table(columns=columns, filter=pc.field("event_id").isin(pa.array(wanted)))
        for row in pylist(table):
            row["text"] = row.pop("message")
            found.setdefault(row["event_id"], row)
    return found


def pylist(table: pa.Table) -> list[Row]:
    """Return a table as rows, with times as datetimes in UTC."""
    rows = table.to_pylist(maps_as_pydicts="lossy")
    for row in rows:
        for key, value in row.items():
            if isinstance(value, datetime):
                row[key] = value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    return rows  # type: ignore[no-any-return]


def files_without_kafka(case: CaseLike) -> list[Row]:
    """Return the rows of `source_file` for files without a recognised record, without their layouts."""
    ranges: dict[str, list[Row]] = {}
    for path in case.table_paths("range_row"):
        for row in pylist(rows_in(Path(path)).to_table()):
            ranges.setdefault(row["file_id"], []).append(row)
    files = []
    for path in case.table_paths("evidence_file"):
        for f in pylist(rows_in(Path(path)).to_table()):
            mine = ranges.get(f["file_id"], [])
            counts = {name: sum(r[name] or 0 for r in mine) if mine else None for name in ("records", "events", "counted", "unrecognised", "unfit")}
            first, last = (
                min((r["first_ts"] for r in mine if r["first_ts"]), default=None),
                max((r["last_ts"] for r in mine if r["last_ts"]), default=None),
            )
            files.append(f | counts | {"kind": f["kind"] or "log", "other": counts["records"], "repeats": 0, "first_ts": first, "last_ts": last})
    return files
