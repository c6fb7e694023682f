"""Draw the timeline for print and for readers without scripts: the rows, lanes, layers and causes of the live one, over the whole time."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING

from forensics.report.page.drawing import Drawing, paint, words_width
from forensics.report.page.spans import owned
from forensics.wording.formats import count, shorten

if TYPE_CHECKING:
    from markupsafe import Markup

    from forensics.report.page.process_style import ProcessStyles
    from forensics.report.page.scene import Bar, Overlap, Round, Scene

_WIDTH, _GUTTER, _RIGHT = 1000.0, 150.0, 10.0
_LANE, _PAD, _HEAD, _TRACK, _AXIS = 11.0, 3.0, 17.0, 16.0, 22.0
_MAX_ROWS, _MAX_TRACKS, _MAX_BARS, _MAX_CAUSES = 36, 16, 1500, 6
_NAME = 22
#: Top and bottom of each state on a track, as parts of its height.
_PLACES = {"rebalance": (0.2, 0.8), "life": (0.62, 0.85), "gap": (0.55, 0.92), "paused": (0.12, 0.34), "lost": (0.36, 0.58)}


def draw(scene: Scene, styles: ProcessStyles, zone: tzinfo = UTC) -> tuple[Markup, str]:
    """Return the drawing, and a sentence on what it leaves out, empty if nothing is left out. Times are in `zone`."""
    rows = list(range(len(scene.rows)))
    doubled = {o.row for o in scene.overlaps}  # or without an owner
    if len(rows) > _MAX_ROWS:
        rows = sorted(sorted(rows, key=lambda r: r not in doubled)[: max(_MAX_ROWS, 0)])
    left_out = [f"{count(len(scene.rows) - len(rows), 'more resource')}"] if len(rows) < len(scene.rows) else []
    return _Still(scene, styles, rows, left_out, zone).markup()


class _Still:
    """An unfinished drawing."""

    def __init__(self, scene: Scene, styles: ProcessStyles, rows: Sequence[int], left_out: list[str], zone: tzinfo) -> None:
        self.scene, self.styles, self.rows, self.left_out, self.zone = scene, styles, rows, left_out, zone
        self.tracks = list(range(len(scene.tracks)))[:_MAX_TRACKS]
        if len(self.tracks) < len(scene.tracks):
            left_out.append(f"{count(len(scene.tracks) - len(self.tracks), 'more track')}")
        groups = {scene.rows[r].group for r in rows}
        self.causes = [t for t in scene.troubles if t.severity != "note"][:_MAX_CAUSES]
        self.top = _AXIS + _HEAD * (len(self.causes) + bool(scene.marks))
        height = sum(self._height(r) for r in rows) + len(groups) * (_HEAD + _PAD) + len(self.tracks) * _TRACK + self.top + 8
        title = "Timeline: causes of incidents; who owned what, when; overlaps, generations, and the states of processes"
        self.drawing = Drawing(_WIDTH, height, title, "still")

    def markup(self) -> tuple[Markup, str]:
        """Return the drawing and what it leaves out."""
        self._axis()
        self._causes()
        y = self.top
        bars: dict[int, list[Bar]] = defaultdict(list)
        for bar in self.scene.bars:
            bars[bar.row].append(bar)
        overlaps: dict[int, list[Overlap]] = defaultdict(list)
        for overlap in self.scene.overlaps:
            overlaps[overlap.row].append(overlap)
        drawn = 0
        for at, row in enumerate(self.rows):
            group = self.scene.rows[row].group
            if at == 0 or self.scene.rows[self.rows[at - 1]].group != group:
                y = self._head(group, y + _PAD)
            drawn += len(bars[row])
            self._row(row, y, bars[row] if drawn <= _MAX_BARS else [], overlaps[row])
            y += self._height(row)
        if drawn > _MAX_BARS:
            self.left_out.append("the lanes of the lower rows")
        self._tracks(y + 6)
        note = f"Not in this drawing: {', '.join(self.left_out)}." if self.left_out else ""
        return self.drawing.markup(), note

    def _x(self, at: float) -> float:
        share = (min(max(at, self.scene.first), self.scene.last) - self.scene.first) / (self.scene.last - self.scene.first)
        return _GUTTER + share * (_WIDTH - _GUTTER - _RIGHT)

    def _height(self, row: int) -> float:
        return max(1, self.scene.rows[row].lanes) * _LANE + 2 * _PAD

    def _axis(self) -> None:
        first, last = self.scene.first, self.scene.last
        steps = 7
        long = last - first > 86_400_000
        for n in range(steps):
            at = first + (last - first) * n / (steps - 1)
            x = self._x(at)
            moment = datetime.fromtimestamp(at / 1000, self.zone)
            anchor = "start" if n == 0 else "end" if n == steps - 1 else "middle"
            self.drawing.text(x, 12, moment.strftime("%m-%d %H:%M" if long else "%H:%M:%S"), "tick", anchor)
            self.drawing.line(x, 16, x, self.drawing.height, "moment")

    def _causes(self) -> None:
        """Draw a lane for each cause, shaded across all rows, and a lane of evictions, deaths and departures."""
        for n, t in enumerate(self.causes):
            y = _AXIS + n * _HEAD
            self.drawing.text(_GUTTER - 8, y + 12, "cause" if n == 0 else "", "group", "end")
            begin, sure_from, sure_to, end = (self._x(at) for at in (t.start_lo, t.start_hi, t.stop_lo, t.stop_hi))
            for left, right in ((begin, end), (sure_from, max(sure_from, sure_to))):
                self.drawing.box(left, y, max(right - left, 1), self.drawing.height - y, "cause-band")
            self.drawing.box(begin, y + 3, max(end - begin, 2), _HEAD - 7, "cause-maybe", title=t.label)
            if sure_to > sure_from:
                self.drawing.box(sure_from, y + 3, sure_to - sure_from, _HEAD - 7, "cause", title=t.label)
            side = "start" if end + words_width(t.label) + 8 < _WIDTH - _RIGHT else "end"
            self.drawing.text(end + 4 if side == "start" else begin - 4, y + 12, t.label, "cause-words", side)
        y, free = _AXIS + len(self.causes) * _HEAD, 0.0
        if self.scene.marks:
            kinds = {m.kind for m in self.scene.marks}
            self.drawing.text(_GUTTER - 8, y + 12, ", ".join(k for k in ("evicted", "died", "left") if k in kinds), "resource", "end")
        for m in self.scene.marks:
            x = self._x(m.at)
            if x < free:
                continue
            high = self.drawing.height - y - 3 if m.group < 0 else _HEAD - 7
            self.drawing.box(x - 1, y + 3, 2, high, "rule" if m.kind == "left" else "cause", title=m.label)
            words = m.label if x + words_width(m.label) + 6 < _WIDTH - _RIGHT else ""
            self.drawing.text(x + 4, y + 12, words, "cause-words")
            free = x + words_width(words) + 8

    def _head(self, group: int, y: float) -> float:
        self.drawing.text(_GUTTER - 8, y + 12, shorten(self.scene.groups[group], _NAME), "group", "end")
        free = 0.0
        for r in (r for r in self.scene.rounds if r.group == group):
            free = self._round(r, y, free)
        return y + _HEAD

    def _round(self, r: Round, y: float, free: float) -> float:
        """Draw a generation in the head of its group; generations that would overlap are drawn as one."""
        left, right = self._x((r.start_lo + r.start_hi) / 2), self._x(r.end)
        if right <= free:
            return free
        self.drawing.box(left, y + 1, max(right - left, 1), _HEAD - 4, "round", title=f"generation {r.number}: {r.why}")
        if r.settled is not None and self._x(r.settled) - left > 0.5:
            self.drawing.box(left, y + 1, self._x(r.settled) - left, _HEAD - 4, "busy")
        words = next((w for w in (f"{r.number} · {r.why}", str(r.number)) if words_width(w) < right - left - 6), "")
        if words:
            self.drawing.text(max(left, self._x(r.settled or 0)) + 3, y + 12, words, "round-words")
        return max(right, left + 2)

    def _row(self, row: int, y: float, bars: Sequence[Bar], overlaps: Sequence[Overlap]) -> None:
        connector = self.scene.rows[row].kind == "connector"
        self.drawing.text(
            _GUTTER - 8, y + self._height(row) / 2 + 4, shorten("connector " * connector + self.scene.rows[row].resource, _NAME), "resource", "end"
        )
        self.drawing.line(_GUTTER, y, _WIDTH - _RIGHT, y, "rule")
        for bar in bars:
            top = y + _PAD + bar.lane * _LANE
            style = self.styles.all[bar.process] if bar.process >= 0 else None
            freezes = [t for t in self.scene.troubles if t.froze and t.process == bar.process >= 0]
            inner = owned(self.drawing, bar, self._x, top, _LANE - 1.5, style, kind="pale-bar" if connector else "certain", freezes=freezes)
            if style and inner[1] - inner[0] > words_width(style.name, 9) + 8:
                self.drawing.box(inner[0] + 2, top + 0.5, words_width(style.name, 9) + 3, _LANE - 2.5, "behind")
                self.drawing.text(inner[0] + 4, top + 8, style.name, "owner")
        # Overlaps that would be drawn at the same place, to the width of a line, are drawn once.
        places = {(o.lane, o.kind, o.verdict, *(int(self._x(o.possible[side])) for side in (0, 1))): o for o in reversed(overlaps)}
        apart = list(reversed(places.values()))
        begins, ends = (sorted(self._x(o.possible[side]) for o in apart) for side in (0, 1))
        for overlap in apart:
            self._overlap(overlap, y + _PAD + overlap.lane * _LANE, begins, ends)

    def _overlap(self, o: Overlap, top: float, begins: Sequence[float], ends: Sequence[float]) -> None:
        """Draw an overlap; `begins` and `ends` are the places of all overlaps of its row, in order."""
        outer = ("absent" if o.kind == "none" else "possible") if o.verdict == "proved" else "undecided"
        layers = ((outer, o.possible), ("there", o.there), ("work", o.work))
        for kind, layer in layers:
            if layer is not None:
                self.drawing.box(
                    self._x(layer[0]), top, max(self._x(layer[1]) - self._x(layer[0]), 2.5), _LANE - 1.5, f"overlap-{kind}", title=o.label
                )
        # The label is beside the overlap, where its lane is free.
        wide = words_width(o.short) + 8
        left, right = self._x(o.possible[0]), self._x(o.possible[1])

        def is_free(since: float, until: float) -> bool:
            """Return True if no other overlap of the row is between these places."""
            return bisect_left(begins, until) - bisect_right(ends, since) - (left < until and right > since) == 0

        if o.kind == "none" and right - left > wide:
            self.drawing.text(left + 4, top + 8.5, o.short, "overlap-label")
        elif right + wide < _WIDTH - _RIGHT and is_free(left, right + wide):
            self.drawing.text(right + 4, top + 8.5, o.short, "overlap-label")
        elif is_free(left - wide, right):
            self.drawing.text(left - 4, top + 8.5, o.short, "overlap-label", "end")

    def _tracks(self, y: float) -> None:
        for n in self.tracks:
            track = self.scene.tracks[n]
            self.drawing.text(_GUTTER - 8, y + n * _TRACK + 12, shorten(track.label, _NAME), "resource", "end")
            self.drawing.line(_GUTTER, y + n * _TRACK, _WIDTH - _RIGHT, y + n * _TRACK, "rule")
        drawn_to: dict[tuple[int, str], float] = {}
        for state in sorted(self.scene.states, key=lambda s: s.begin):
            left, right = self._x(state.begin), self._x(state.end)
            # A state that would be drawn over the one before it is left out.
            if state.track not in self.tracks or right <= drawn_to.get((state.track, state.kind), -1.0):
                continue
            drawn_to[state.track, state.kind] = max(right, left + 1)
            top, bottom = (y + (state.track + part) * _TRACK for part in _PLACES[state.kind])
            process = self.scene.tracks[state.track].process
            fill = paint(self.styles.all[process]) if state.kind == "life" and process is not None else ""
            self.drawing.box(left, top, max(right - left, 1), bottom - top, f"state-{state.kind}", fill=fill)
