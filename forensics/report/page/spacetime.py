"""Draw a proof: a line for each process, its proof lines as points, messages as arrows, the two owners' spans, and their overlap."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from itertools import pairwise
from math import log10
from typing import TYPE_CHECKING

from forensics.report.page.drawing import Drawing, words_width
from forensics.report.page.spans import owned
from forensics.wording.formats import count, span

if TYPE_CHECKING:
    from markupsafe import Markup

    from forensics.report.model import Row
    from forensics.report.page.journal import Line
    from forensics.report.page.process_style import ProcessStyles
    from forensics.report.page.scene import Bar, Overlap

_WIDTH, _GUTTER, _RIGHT = 960.0, 150.0, 20.0
_HEAD, _PROCESS, _FOOT = 44.0, 58.0, 30.0
_MIN_STEP = 12.0
_LABEL = 84.0


@dataclass(frozen=True)
class Point:
    """A line of the proof; `number` is its number in the list beside the picture."""

    number: int
    line: Line


def draw(
    points: Sequence[Point], edges: Iterable[Row], styles: ProcessStyles, overlap: Overlap | None, bars: Mapping[str, Bar], zone: tzinfo = UTC
) -> Markup | None:
    """Return the picture; None if there is nothing to see: fewer than three points with a time, or all in one process and no overlap.

    Args:
        points: the proof's lines in time order.
        edges: rows of `clock_edge` between lines of the proof.
        styles: the styles of processes.
        overlap: the overlap that is proved, if any.
        bars: ownerships by ID.
        zone: the zone for times.
    """
    timed = [p for p in points if p.line.at is not None]
    processes = _order(timed, overlap, styles)
    if len(timed) < 3 or (len(processes) < 2 and overlap is None):
        return None
    scale = _Scale(sorted({p.line.at for p in timed if p.line.at is not None}))
    height = _HEAD + _PROCESS * len(processes) + _FOOT
    rows = {process: _HEAD + _PROCESS * (n + 0.5) for n, process in enumerate(processes)}
    names = ", ".join(styles.all[p].name if p >= 0 else "?" for p in processes)
    drawing = Drawing(_WIDTH, height, f"The proof in space and time: {count(len(timed), 'line')} of {names}", "spacetime")
    if overlap is not None:
        _overlap(drawing, overlap, scale, height)
    for process, y in rows.items():
        drawing.line(_GUTTER, y, _WIDTH - _RIGHT, y, "world")
        drawing.text(_GUTTER - 10, y + 4, styles.all[process].name if process >= 0 else "?", "who", "end")
    if overlap is not None:
        for letter, owner, side in zip("AB", overlap.owners, (-1, 1), strict=True):
            if owner in bars:
                _span(drawing, letter, bars[owner], scale, rows, styles, side if len(set(overlap.processes)) == 1 else 0)
    _times(drawing, timed, scale, height, zone)
    place = {p.line.event_id: (scale.x(p.line.at or 0), rows[p.line.process]) for p in timed}
    for edge in edges:
        begin, end = place.get(edge["from_event_id"]), place.get(edge["to_event_id"])
        if begin and end and begin[1] != end[1]:
            way = 8 if end[1] > begin[1] else -8
            drawing.line(begin[0], begin[1] + way, end[0], end[1] - way, "message", arrow=True)
    for p in timed:
        x, y = place[p.line.event_id]
        drawing.dot(x, y, 8, "point")
        drawing.text(x, y + 3.5, str(p.number), "number", "middle")
    return drawing.markup()


def _order(points: Iterable[Point], overlap: Overlap | None, styles: ProcessStyles) -> list[int]:
    """Return the first owner at the top, the second at the bottom, others between them, because messages go through the broker."""
    found = {p.line.process for p in points} | set(overlap.processes if overlap else ())
    ends = list(dict.fromkeys(overlap.processes)) if overlap else []
    others = sorted(found - set(ends))
    if not ends:
        workers = [p for p in others if p < 0 or styles.all[p].role != "broker"]
        return [*workers[:1], *(p for p in others if p not in workers), *workers[1:]]
    return [ends[0], *others, *ends[1:]]


class _Scale:
    """A time axis. Waits are drawn by their logarithm, so that milliseconds and minutes are visible in one picture."""

    def __init__(self, times: Sequence[float]) -> None:
        self._times = list(times)
        steps = [log10(1 + b - a) for a, b in pairwise(times)]
        room = _WIDTH - _GUTTER - _RIGHT - 50
        smallest = min(_MIN_STEP, room / max(len(steps), 1))
        unit = (room - smallest * len(steps)) / (sum(steps) or 1)
        self._places = [_GUTTER + 25]
        for step in steps:
            self._places.append(self._places[-1] + smallest + unit * step)

    def x(self, at: float) -> float:
        """Return the place of a moment; moments outside the proof's lines are at the edge."""
        if at <= self._times[0]:
            return self._places[0] - (12 if at < self._times[0] else 0)
        if at >= self._times[-1]:
            return self._places[-1] + (12 if at > self._times[-1] else 0)
        n = bisect_right(self._times, at) - 1
        share = (at - self._times[n]) / (self._times[n + 1] - self._times[n])
        return self._places[n] + share * (self._places[n + 1] - self._places[n])


def _overlap(drawing: Drawing, overlap: Overlap, scale: _Scale, height: float) -> None:
    layers = (("possible", overlap.possible), ("there", overlap.there), ("work", overlap.work))
    for kind, layer in layers:
        if layer is not None:
            left, right = scale.x(layer[0]), scale.x(layer[1])
            drawing.box(left, _HEAD - 14, max(right - left, 3), height - _HEAD - _FOOT + 14, f"overlap-{kind}")
    left, right = (scale.x(x) for x in overlap.possible)
    middle = min(max((left + right) / 2, _GUTTER + words_width(overlap.short) / 2), _WIDTH - _RIGHT - words_width(overlap.short) / 2)
    drawing.text(middle, _HEAD - 22, overlap.short, "overlap-label", "middle")


def _span(drawing: Drawing, letter: str, bar: Bar, scale: _Scale, rows: Mapping[int, float], styles: ProcessStyles, side: int) -> None:
    """Draw an owner's time as a bar on its process's line: solid where it is certain, pale where it is possible."""
    if bar.process not in rows:
        return
    y = rows[bar.process] - 6 + side * 15
    style = styles.all[bar.process] if bar.process >= 0 else None
    title = f"{letter}: {span(max(0.0, bar.stop_lo - bar.start_hi), up=False)} for certain"
    owned(drawing, bar, scale.x, y, 12, style, title)
    drawing.text(max(scale.x(bar.start_lo) - 6, _GUTTER + 2), y - 4, letter, "letter", "middle")


def _times(drawing: Drawing, points: Sequence[Point], scale: _Scale, height: float, zone: tzinfo) -> None:
    """Draw the times of as many points as fit."""
    free = 0.0
    for p in points:
        if p.line.at is None:
            continue
        x = scale.x(p.line.at)
        drawing.line(x, _HEAD - 4, x, height - _FOOT, "moment")
        if x - _LABEL / 2 >= free:
            drawing.text(x, height - _FOOT + 16, _clock(p.line.at, zone), "tick", "middle")
            free = x + _LABEL / 2


def _clock(at: float, zone: tzinfo) -> str:
    ts = datetime.fromtimestamp(round(at) / 1000, zone)
    return f"{ts:%H:%M:%S}.{round(at) % 1000:03d}"
