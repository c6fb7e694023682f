"""Draw an owner's time as a bar: solid where it is certain, fading where it is possible, hollow while its process was frozen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from forensics.report.page.drawing import Drawing, paint

if TYPE_CHECKING:
    from forensics.report.page.process_style import ProcessStyle
    from forensics.report.page.scene import Bar, Trouble

_MIN_WIDTH = 0.5


def owned(
    drawing: Drawing,
    bar: Bar,
    x: Callable[[float], float],
    y: float,
    height: float,
    style: ProcessStyle | None,
    title: str = "",
    *,
    kind: str = "certain",
    freezes: Sequence[Trouble] = (),
) -> tuple[float, float]:
    """Draw an ownership.

    Args:
        drawing: the drawing to add to.
        bar: the ownership.
        x: converts a moment to a place.
        y: the bar's top.
        height: its height.
        style: its owner's style.
        title: its description.
        kind: the class of its certain part.
        freezes: freezes of its process.

    Returns:
        The places of the start and end of its certain part.
    """
    begin, sure_from, sure_to, end = (x(at) for at in (bar.start_lo, bar.start_hi, max(bar.start_hi, bar.stop_lo), bar.stop_hi))
    if sure_from - begin > _MIN_WIDTH:
        drawing.box(begin, y, sure_from - begin, height, "fade-in", fill=paint(style), title=title)
    if end - sure_to > _MIN_WIDTH:
        drawing.box(sure_to, y, end - sure_to, height, "fade-out", fill=paint(style), title=title)
    for begin_at, end_at, frozen in parts(bar.start_hi, bar.stop_lo, freezes):
        drawing.box(x(begin_at), y, x(end_at) - x(begin_at), height, (kind, "thaw", "hollow")[frozen], fill=paint(style), title=title)
    return sure_from, sure_to


def parts(begin: float, end: float, freezes: Iterable[Trouble]) -> list[tuple[float, float, int]]:
    """Split an interval where its process froze: start, end, and 0 (not frozen), 1 (possibly) or 2 (certainly), in time order."""
    found = [(begin, end, 0)] if end > begin else []
    for t in freezes:
        for first, last, frozen in ((t.start_lo, t.stop_hi, 1), (t.start_hi, t.stop_lo, 2)):
            found = [piece for part in found for piece in _cut(part, first, last, frozen)]
    return found


def _cut(part: tuple[float, float, int], first: float, last: float, frozen: int) -> list[tuple[float, float, int]]:
    begin, end, known = part
    if last <= begin or first >= end or known >= frozen:
        return [part]
    inner = (max(begin, first), min(end, last))
    return [x for x in ((begin, inner[0], known), (*inner, frozen), (inner[1], end, known)) if x[1] > x[0]]
