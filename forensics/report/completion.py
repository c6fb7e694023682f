"""Complete names and IDs of a case in the shell. No engine is started, and a case that cannot be read completes nothing."""

from __future__ import annotations

from pathlib import Path

from forensics.case.folder import open_case
from forensics.case.integrity import rows_in
from forensics.errors import ForensicsError

#: Longer lists are useless in a shell.
_MAX_IDS = 200
_IDS = (("finding", "finding_id", "headline"), ("ownership", "ownership_id", "resource"), ("occurrence", "occurrence_id", "headline"))


def groups(case: Path) -> list[str]:
    """Return the groups of a case."""
    return sorted({row["group_id"] for view in ("generation", "member", "ownership") for row in _rows(case, view, ["group_id"]) if row["group_id"]})


def resources(case: Path) -> list[str]:
    """Return the tasks, connectors and partitions that have a known owner in a case."""
    return sorted({row["resource"] for row in _rows(case, "ownership", ["resource"]) if row["resource"]})


def ids(case: Path, incomplete: str) -> list[tuple[str, str]]:
    """Return IDs of findings, ownerships and occurrences that begin with some characters, each with a description.

    Args:
        case: the case folder.
        incomplete: the characters that the user has typed.
    """
    found = {row[column]: f"{view}: {row[title]}" for view, column, title in _IDS for row in _rows(case, view, [column, title], column, incomplete)}
    return [(name, description) for name, description in found.items() if name][:_MAX_IDS]


def _rows(case: Path, view: str, columns: list[str], begins: str = "", incomplete: str = "") -> list[dict[str, str | None]]:
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        path = open_case(case, check=False).view_path(view)
        if path is None:
            return []
        wanted = pc.starts_with(pc.field(begins), incomplete) if begins and incomplete else None
        return rows_in(path).to_table(columns=columns, filter=wanted).to_pylist()  # type: ignore[no-any-return]
    except (ForensicsError, OSError, pa.ArrowException):
        return []
