"""Merge the lines of all processes in the order of the reference clock, around an ID, a time, or a generation."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from typing import TYPE_CHECKING

from forensics.catalogue.patterns import simple_name
from forensics.clocks.reference import Reference
from forensics.errors import UsageError
from forensics.report.document import Column, Document, Para, Table
from forensics.report.show import events_dataset, ids_of
from forensics.report.stored_rows import pylist, rows_of
from forensics.report.window import CaseTime, parse_time
from forensics.wording.formats import NO_TEXT, Clock, count, tolerance, zone_name

if TYPE_CHECKING:
    from forensics.report.model import Row
    from forensics.report.stored_rows import CaseLike

_GENERATION = re.compile(r"(?P<group>.+):(?P<generation>\d+)")
_TIME = re.compile(r"\d{4}-\d{2}-\d{2}.*|\d{1,2}:\d{2}.*")
#: Lines within the first interval of a requested time count as requested; neighbours of a line are read within the second interval.
_AROUND, _NEAR = timedelta(seconds=1), timedelta(seconds=60)
_COLUMNS = ("event_id", "process_id", "path", "line", "stream_pos", "ts", "level", "logger", "client_id", "context", "message")
_MAX_LINES = 5_000


def show(case: CaseLike, wanted: str, context: int, zone: tzinfo = UTC) -> Document:
    """Return the merged lines around something.

    Args:
        case: a case with its views built.
        wanted: an ID or its first characters, a time, or a generation (`GROUP:NUMBER`).
        context: number of lines of any process to show before and after each requested line.
        zone: the reader's.

    Raises:
        UsageError: `wanted` matches nothing in the case.
    """
    out = Document()
    processes = rows_of("process", case.view_path("process"))
    reference = Reference(rows_of("clock_offset", case.view_path("clock_offset")), processes)
    requested, moment = _requested(case, wanted, CaseTime.of(reference, processes), zone, out)
    lines = _lines(case, requested, moment, reference)
    middle = moment.timestamp() * 1000 if moment else None
    around = _AROUND.total_seconds() * 1000
    chosen = [n for n, (at, row) in enumerate(lines) if (abs(at - middle) <= around if middle is not None else row["event_id"] in requested)]
    if not chosen:
        raise UsageError(f"The case has no line at `{wanted}`.", where="ID", fix="`forensics report` shows the times, ids and generations of a case.")
    near = sorted({m for n in chosen for m in range(max(0, n - context), min(len(lines), n + context + 1))})
    _add_table(out, [lines[n] for n in near[:_MAX_LINES]], {lines[n][1]["event_id"] for n in chosen}, reference, zone, _gaps(near))
    if len(near) > _MAX_LINES:
        out.add(Para(f"… and {count(len(near) - _MAX_LINES, 'more line')}; narrow the request.", tone="dim"))
    return out


def _requested(case: CaseLike, wanted: str, time: CaseTime | None, zone: tzinfo, out: Document) -> tuple[set[str], datetime | None]:
    """Return the requested events, or the requested time."""
    if _TIME.fullmatch(wanted):
        return set(), parse_time(wanted, time, "ID", zone)
    if m := _GENERATION.fullmatch(wanted):
        number = int(m["generation"])
        rows = [g for g in rows_of("generation", case.view_path("generation")) if g["group_id"] == m["group"] and g["generation"] == number]
        if rows:
            return {i for g in rows for i in g["witness"] or ()}, None
    return set(ids_of(case, wanted, out, zone)), None


def _lines(case: CaseLike, requested: set[str], moment: datetime | None, reference: Reference) -> list[tuple[float, Row]]:
    """Return lines near the requested ones with their time on the reference clock, in its order; lines of one process keep the order of its log."""
    import pyarrow as pa
    import pyarrow.compute as pc

    events = events_dataset(case)
    if moment is not None:
        centres = [moment]
    else:
        rows = pylist(events.to_table(columns=list(_COLUMNS), filter=pc.field("event_id").isin(pa.array(sorted(requested), pa.string()))))
        found = [reference.moment(r["process_id"], r["ts"]) for r in rows]
        centres = [datetime.fromtimestamp(m.middle / 1000, UTC) for m in found if m]
    # A clock may be far off: its lines near these moments have other times.
    off = timedelta(milliseconds=reference.farthest_ms)
    condition = None
    for begin, end in _windows(centres, _NEAR + off):
        kind = events.schema.field("ts").type
        part = (pc.field("ts") >= pa.scalar(begin, kind)) & (pc.field("ts") <= pa.scalar(end, kind))
        condition = part if condition is None else condition | part
    if condition is None:
        return []
    placed = {}
    for row in pylist(events.to_table(columns=list(_COLUMNS), filter=condition)):
        if at := reference.moment(row["process_id"], row["ts"]):
            placed[row["event_id"]] = ((at.middle, row["process_id"] or "", row["stream_pos"] or row["line"] or 0, row["event_id"]), row)
    return [(key[0], row) for key, row in sorted(placed.values(), key=lambda p: p[0])]


def _windows(centres: Sequence[datetime], reach: timedelta) -> list[tuple[datetime, datetime]]:
    merged: list[tuple[datetime, datetime]] = []
    for at in sorted(centres):
        if merged and at - reach <= merged[-1][1]:
            merged[-1] = (merged[-1][0], at + reach)
        else:
            merged.append((at - reach, at + reach))
    return merged


def _gaps(near: Sequence[int]) -> set[int]:
    """Return the positions before which lines are left out."""
    return {n for n in range(1, len(near)) if near[n] > near[n - 1] + 1}


def head(row: Row) -> str:
    """Return level, class and client of a line: `INFO NetworkClient connector-consumer-b-1:`."""
    parts = (row.get("level"), simple_name(row.get("logger") or ""), row.get("client_id") or row.get("context"))
    text = " ".join(filter(None, parts))
    return f"{text}:" if text else ""


def _add_table(out: Document, lines: Sequence[tuple[float, Row]], requested: set[str], reference: Reference, zone: tzinfo, gaps: set[int]) -> None:
    times = [datetime.fromtimestamp(at / 1000, UTC) for at, _ in lines]
    clock = Clock(times, zone)
    islands = reference.islands
    on = (
        f"the clock of {next(iter(islands))}"
        if len(islands) == 1
        else "the reference clocks; do not compare times of processes whose clocks no messages relate"
    )
    day = f"{times[0].astimezone(zone):%Y-%m-%d}, " if clock.day else ""
    out.add(Para(f"Lines of all processes, ordered by {on}; {day}times in {zone_name(zone, times[0])}. `>` marks the requested lines.", tone="dim"))
    columns = (Column(""), Column("time", fixed=True), Column("process"), Column("line"))
    rows: list[tuple[str, ...]] = []
    dim = {}
    for n, (_, row) in enumerate(lines):
        moment = reference.moment(row["process_id"], row["ts"])
        bound = tolerance(moment.hi - moment.lo) if moment else 0
        if n in gaps:
            dim[len(rows)] = "dim"
            rows.append(("", "⋮", "", ""))
        marked = row["event_id"] in requested
        if not marked:
            dim[len(rows)] = "dim"
        message = " ".join(filter(None, (head(row), row["message"] or NO_TEXT)))
        text = f"{message}\n{row['path']}:{row['line']}  {row['event_id']}" if marked else message
        rows.append((">" if marked else "", clock.at(times[n]) + (f" ±{bound} ms" if bound else ""), row["process_id"] or "?", text))
    out.add(Table(columns, tuple(rows), dim))  # type: ignore[arg-type]
