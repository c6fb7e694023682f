"""Build the scene that is drawn from a report's rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.clocks.reference import Reference, ms
from forensics.report.page import causes, lanes, overlaps, rounds, tracks
from forensics.report.page.scene import Scene
from forensics.wording.formats import count

if TYPE_CHECKING:
    from forensics.report.model import Report, Row
    from forensics.report.names import Names
    from forensics.report.page.case_rows import CaseRows
    from forensics.report.page.process_style import ProcessStyles

#: Maximum number of ownerships on a page; if there are more, those of overlaps are drawn first, then the longest.
MAX_OWNERSHIPS = 120_000
MAX_GENERATIONS = 20_000


def build(report: Report, more: CaseRows, names: Names, styles: ProcessStyles, reference: Reference) -> Scene:
    """Return the scene of a report.

    Args:
        report: what was found.
        more: more rows of the case.
        names: names of members and processes.
        styles: numbers of the processes.
        reference: the clocks.
    """
    first, last = _extent(report)
    known = groups(report)
    owned, left_out = _kept(report)
    laid = lanes.lay_out(report, styles, known, first, last, owned)
    by_id = {b.ownership_id: b for b in laid.bars}
    doubled = (*overlaps.find(report, styles, by_id, laid.place, last), *overlaps.without_owner(report, by_id, laid.place, last))
    turns = rounds.find(report, names, reference, known, last)
    if len(turns) > MAX_GENERATIONS:
        left_out.append(f"{len(turns) - MAX_GENERATIONS:,} of {count(len(turns), 'generation')}, the latest")
        turns = turns[:MAX_GENERATIONS]
    ids = tuple(group_id for _, group_id in known)
    below, states = tracks.find(report, more, styles, reference, known, turns, first, last)
    troubles, marks = causes.find(report, more, names, styles, reference, known, first, last)
    quiet = causes.quiet(report, known, marks)
    return Scene(first, last, ids, laid.rows, laid.bars, doubled, turns, below, states, troubles, marks, quiet, tuple(left_out))


def _extent(report: Report) -> tuple[float, float]:
    """Return the time that is shown: the reader's window, else the time of all processes."""
    first, last = (ms(at) for at in report.extent or (None, None))
    since, until = ms(report.filters.get("since")), ms(report.filters.get("until"))
    begin = max((at for at in (first, since) if at is not None), default=0.0)
    end = min((at for at in (last, until) if at is not None), default=1.0)
    return begin, max(end, begin + 1.0)


def groups(report: Report) -> list[tuple[str, str]]:
    """Return Kafka cluster and ID of each group, those of the report first."""
    rows = [*report.groups, *report.ownership, *report.split_brain]
    return list(dict.fromkeys((r["kafka_cluster"] or "", r["group_id"] or "") for r in rows))


def _kept(report: Report) -> tuple[list[Row], list[str]]:
    """Return the ownerships to draw, and sentences about those that are left out."""
    if len(report.ownership) <= MAX_OWNERSHIPS:
        return report.ownership, []
    doubled = {s[k] for s in report.split_brain if s["verdict"] != "refuted" for k in ("ownership_a", "ownership_b")}
    ranked = sorted(report.ownership, key=lambda o: (o["ownership_id"] not in doubled, -_length(o), o["ownership_id"]))
    kept = ranked[: max(MAX_OWNERSHIPS, len(doubled))]
    return kept, [f"{len(ranked) - len(kept):,} of {count(len(ranked), 'ownership')}, the shortest; no overlap is left out"]


def _length(o: Row) -> float:
    begin, end = ms(o["start_lo"] or o["start_hi"]), ms(o["stop_hi"] or o["stop_lo"])
    return end - begin if begin is not None and end is not None else float("inf")
