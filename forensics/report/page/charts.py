"""Draw small charts: where a rebalance's time was spent, how far clocks are apart, which time each file covers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from forensics.report.groups import PARTS
from forensics.report.page.drawing import Drawing, paint, words_width
from forensics.wording.formats import bounded, count, shorten, span

if TYPE_CHECKING:
    from markupsafe import Markup

    from forensics.clocks.reference import Reference
    from forensics.report.model import Report, Row
    from forensics.report.names import Names
    from forensics.report.page.process_style import ProcessStyles
    from forensics.report.page.scene import Scene

_WIDTH, _GUTTER, _RIGHT, _ROW = 760.0, 170.0, 120.0, 20.0
_MAX_ROWS = 14
_MAX_FILES = 40
_MIN_MS = 50


def blame(group: Row) -> tuple[Markup | None, int]:
    """Return a stacked bar for each of a group's longest rebalances, and the number of all; None if no part of any is known."""
    parts: dict[tuple[int, int], dict[str, float]] = defaultdict(dict)
    for b in group["rebalance_blame"]:
        if b["ms"]:
            parts[b["incarnation"] or 0, b["generation"] or 0][b["part"]] = b["ms"]
    longest = sorted(parts, key=lambda key: -sum(parts[key].values()))[:_MAX_ROWS]
    longest = sorted(key for key in longest if sum(parts[key].values()) >= _MIN_MS)
    if not longest:
        return None, 0
    maximum = max(sum(parts[key].values()) for key in longest)
    drawing = Drawing(_WIDTH, _ROW * len(longest) + 4, f"Time spent in {count(len(longest), 'rebalance')}", "chart")
    for n, key in enumerate(longest):
        y, x = n * _ROW + 3, _GUTTER
        drawing.text(_GUTTER - 8, y + 12, f"generation {key[1]}", "resource", "end")
        for part in PARTS:
            if ms := parts[key].get(part):
                width = ms / maximum * (_WIDTH - _GUTTER - _RIGHT)
                drawing.box(x, y, width, _ROW - 5, f"part part-{part}", title=f"{PARTS[part]}: {span(ms)}")
                x += width
        drawing.text(x + 6, y + 12, span(sum(parts[key].values())), "tick")
    return drawing.markup(), len(parts)


def clocks(report: Report, names: Names, styles: ProcessStyles) -> Markup | None:
    """Return an interval for each clock: the minimum and maximum by which it is ahead of its island's reference."""
    own = {p["process_id"]: p["reference_process_id"] for p in report.case["processes"]}
    rows = [
        c
        for c in report.clocks
        if c["process_id"] != c["reference_process_id"] == own.get(c["process_id"]) and c["lo_ms"] is not None and c["hi_ms"] is not None
    ][:_MAX_FILES]
    if not rows:
        return None
    low, high = min(0, *(c["lo_ms"] for c in rows)), max(0, *(c["hi_ms"] for c in rows))
    room = _WIDTH - _GUTTER - _RIGHT - 60
    scale = room / ((high - low) or 1)
    drawing = Drawing(_WIDTH, _ROW * len(rows) + 22, "How far each clock is ahead of the reference clock: lower and upper bound", "chart")
    zero = _GUTTER + 10 - low * scale
    drawing.line(zero, 0, zero, _ROW * len(rows) + 4, "zero")
    drawing.text(zero, _ROW * len(rows) + 18, "the reference's clock", "tick", "middle")
    for n, c in enumerate(rows):
        y = n * _ROW + 3
        left, right = _GUTTER + 10 + (c["lo_ms"] - low) * scale, _GUTTER + 10 + (c["hi_ms"] - low) * scale
        drawing.text(_GUTTER - 8, y + 12, shorten(names.process(c["process_id"]), 24), "resource", "end")
        drawing.box(
            left, y + 2, max(right - left, 3), _ROW - 9, "interval", fill=paint(styles.of(c["process_id"])), title=f"{c['lo_ms']} to {c['hi_ms']} ms"
        )
        drawing.text(max(right, left + 3) + 8, y + 12, bounded(c["lo_ms"], c["hi_ms"]), "tick")
    return drawing.markup()


def coverage(report: Report, scene: Scene, styles: ProcessStyles, reference: Reference) -> tuple[Markup | None, int]:
    """Return a strip for each log file, from its first to its last record, with its gaps; and the number of files without a strip."""
    files = [f for f in report.case["source_files"] if f["process_id"] and f["first_ts"] and f["last_ts"]]
    shown: Sequence[Row] = files[:_MAX_FILES]
    if not shown:
        return None, 0
    gaps: dict[str, list[Row]] = defaultdict(list)
    for c in report.coverage:
        if c["kind"] == "gap" and c["from_ts"] and c["to_ts"]:
            gaps[c["process_id"]].append(c)

    def place(process: str, ts: object) -> float:
        moment = reference.moment(process, ts)  # type: ignore[arg-type]
        at = moment.middle if moment else scene.first
        share = (min(max(at, scene.first), scene.last) - scene.first) / (scene.last - scene.first)
        return _GUTTER + 60 + share * (_WIDTH - _GUTTER - 60 - _RIGHT)

    drawing = Drawing(_WIDTH, _ROW * len(shown) + 4, "Time that each file covers", "chart")
    for n, f in enumerate(shown):
        y = n * _ROW + 3
        left, right = place(f["process_id"], f["first_ts"]), place(f["process_id"], f["last_ts"])
        path = f["path"] if words_width(f["path"]) < _GUTTER + 50 else "…" + f["path"][-33:]
        drawing.text(_GUTTER + 52, y + 12, path, "resource", "end")
        drawing.box(left, y, max(right - left, 2), _ROW - 6, "covered", fill=paint(styles.of(f["process_id"])))
        for gap in gaps[f["process_id"]]:
            begin, end = place(f["process_id"], gap["from_ts"]), place(f["process_id"], gap["to_ts"])
            if end > left and begin < right:
                drawing.box(max(begin, left), y, min(end, right) - max(begin, left), _ROW - 6, "state-gap", title=gap["note"] or "gap")
        drawing.text(_WIDTH - _RIGHT + 8, y + 12, count(f["lines"] or 0, "line"), "tick")
    return drawing.markup(), len(files) - len(shown)
