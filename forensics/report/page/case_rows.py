"""Read rows of a case that a page shows beyond the report's: process runs and pauses, the messages behind proofs, and log lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forensics.case.integrity import rows_in
from forensics.report.stored_rows import pylist

if TYPE_CHECKING:
    from forensics.report.model import Report, Row
    from forensics.report.stored_rows import CaseLike

#: Maximum number of lines in a page; if the case has more, those of proofs and the lines near them.
MAX_LINES = 12_000
#: The context of a proof line: lines of all processes within this time before and after it.
_NEAR = timedelta(seconds=2)
#: Maximum number of generations and ownerships with their lines in a page that cannot have all lines.
_MAX_WITNESSES = 4_000
#: Views that are read in addition to the report's.
PROCESS_RUNS, PAUSES, EDGES, CAUSES, REMOVALS = VIEWS = ("process_life", "member_generation", "clock_edge", "root_cause", "removed_member")
_COLUMNS = ("event_id", "process_id", "path", "line", "stream_pos", "ts", "level", "logger", "client_id", "context", "event", "message")


@dataclass(frozen=True)
class CaseRows:
    """Rows of a case beyond the report's.

    Attributes:
        process_runs: rows of `process_life`.
        causes: rows of `root_cause`, whose `parts` have each recurrence of a cause.
        removals: rows of `removed_member`.
        pauses: rows of `member_generation` whose member paused before.
        edges: rows of `clock_edge` whose two lines are in a proof.
        lines: events with `text`, each once, unordered.
        total: number of events of the case; greater than the number of `lines` if not all are in the page.
    """

    process_runs: list[Row] = field(default_factory=list)
    pauses: list[Row] = field(default_factory=list)
    edges: list[Row] = field(default_factory=list)
    lines: list[Row] = field(default_factory=list)
    total: int = 0
    causes: list[Row] = field(default_factory=list)
    removals: list[Row] = field(default_factory=list)


def of_report(report: Report) -> CaseRows:
    """Return the rows of the report alone: the lines of its proofs."""
    lines = {w["event_id"]: w for row in (*report.findings, *report.split_brain) for w in row.get("witness") or () if w.get("path")}
    return CaseRows(lines=list(lines.values()), total=len(lines))


def read(case: CaseLike, report: Report, max_lines: int = MAX_LINES) -> CaseRows:
    """Read the rows of a case.

    Args:
        case: a case with its views built.
        report: the report that will be shown.
        max_lines: maximum number of lines.
    """
    proofs = {w["event_id"]: w for row in (*report.findings, *report.split_brain) for w in row.get("witness") or ()}
    groups = report.filters.get("groups")
    pauses = [p for p in _view(case, PAUSES) if p["paused_from_ts"] and (not groups or p["group_id"] in groups)]
    lines, total = _lines(case, report, proofs, max_lines)
    return CaseRows(_view(case, PROCESS_RUNS), pauses, list(_edges(case, set(proofs))), lines, total, _view(case, CAUSES), _view(case, REMOVALS))


def of_causes(case: CaseLike) -> CaseRows:
    """Read only the rows that show causes: each recurrence, and evictions."""
    return CaseRows(causes=_view(case, CAUSES), removals=_view(case, REMOVALS))


def _view(case: CaseLike, name: str) -> list[Row]:
    path = case.view_path(name)
    return pylist(rows_in(path).to_table()) if path is not None else []


def _edges(case: CaseLike, ids: set[str]) -> Iterator[Row]:
    import pyarrow as pa
    import pyarrow.compute as pc

    path = case.view_path(EDGES)
    if path is None or not ids:
        return
    wanted = pa.array(sorted(ids))
    both = pc.field("from_event_id").isin(wanted) & pc.field("to_event_id").isin(wanted)
    yield from pylist(rows_in(path).to_table(filter=both))


def _lines(case: CaseLike, report: Report, proofs: dict[str, Row], max_lines: int) -> tuple[list[Row], int]:
    """Return all lines, or those of proofs, those near them, then those of generations and ownerships."""
    import pyarrow.dataset as ds

    paths = [Path(p) for p in case.table_paths("event_row")]
    if not paths:
        return [], 0
    events = ds.dataset([rows_in(p) for p in paths])
    total = events.count_rows()
    if total <= max_lines:
        return _unique(pylist(events.to_table(columns=list(_COLUMNS))), max_lines), total
    others = [i for group in report.groups for g in group["generations"] for i in g.get("witness") or ()]
    others += [i for o in report.ownership for i in o.get("witness") or ()]
    wanted = dict.fromkeys([*proofs, *others[:_MAX_WITNESSES]])
    windows = _windows(w["ts"] for w in proofs.values() if w.get("ts"))
    return _unique(_chosen(events, wanted, windows, set(proofs), max_lines), max_lines), total


def _chosen(events: Any, wanted: dict[str, None], windows: Sequence[tuple[datetime, datetime]], proofs: set[str], max_lines: int) -> list[Row]:  # noqa: ANN401
    """Return rows with these IDs, and rows in these windows up to the maximum, in one pass with one batch in memory."""
    import pyarrow as pa
    import pyarrow.compute as pc

    ids = pa.array(list(wanted))
    first: list[Row] = []
    near: list[Row] = []
    for batch in events.to_batches(columns=list(_COLUMNS)):
        table = pa.Table.from_batches([batch])
        named = pc.is_in(table["event_id"], ids)
        first += pylist(table.filter(named))
        for begin, end in windows if len(near) < max_lines else ():
            scalars = (pa.scalar(x, table["ts"].type) for x in (begin, end))
            inside = pc.and_(pc.greater_equal(table["ts"], next(scalars)), pc.less_equal(table["ts"], next(scalars)))
            near += pylist(table.filter(pc.and_not(pc.fill_null(inside, False), named))) if len(near) < max_lines else []  # noqa: FBT003
    first.sort(key=lambda row: row["event_id"] not in proofs)
    return [*first, *near]


def _windows(times: Iterable[datetime]) -> list[tuple[datetime, datetime]]:
    """Return the time around each moment, with overlapping times merged."""
    merged: list[tuple[datetime, datetime]] = []
    for ts in sorted(times):
        if merged and ts - _NEAR <= merged[-1][1]:
            merged[-1] = (merged[-1][0], ts + _NEAR)
        else:
            merged.append((ts - _NEAR, ts + _NEAR))
    return merged


def _unique(rows: Iterable[Row], max_lines: int) -> list[Row]:
    """Return each event once, with `message` as `text`."""
    found: dict[str, Row] = {}
    for row in rows:
        if len(found) >= max_lines:
            break
        row["text"] = row.pop("message")
        found.setdefault(row["event_id"], row)
    return list(found.values())
