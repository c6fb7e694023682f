"""An owner's time as a bar: full where it is certain, fading out where it is only possible."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from forensics.report.page.drawing import Drawing, paint

if TYPE_CHECKING:
    from forensics.report.page.look import Look
    from forensics.report.page.scene import Bar

_LEAST = 0.5


def owned(
    drawing: Drawing, bar: Bar, x: Callable[[float], float], y: float, height: float, look: Look | None, title: str = ""
) -> tuple[float, float]:
    """Draws an ownership.

    Args:
        drawing: where.
        bar: the ownership.
        x: the place of a moment.
        y: the bar's top.
        height: its height.
        look: its owner's look.
        title: what is said of it.

    Returns:
        Where its certain part begins and ends.
    """
    begin, sure_from, sure_to, end = (x(at) for at in (bar.start_lo, bar.start_hi, max(bar.start_hi, bar.stop_lo), bar.stop_hi))
    if sure_from - begin > _LEAST:
        drawing.box(begin, y, sure_from - begin, height, "fade-in", fill=paint(look), title=title)
    if end - sure_to > _LEAST:
        drawing.box(sure_to, y, end - sure_to, height, "fade-out", fill=paint(look), title=title)
    if bar.stop_lo > bar.start_hi:
        drawing.box(sure_from, y, sure_to - sure_from, height, "certain", fill=paint(look), title=title)
    return sure_from, sure_to
