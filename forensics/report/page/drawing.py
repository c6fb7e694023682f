"""Draw SVG that is part of the page: it prints, needs no script, and takes its colours from the page's style sheet."""

from __future__ import annotations

from markupsafe import Markup

from forensics.report.page.process_style import PATTERNS, ProcessStyle
from forensics.wording.formats import printable

#: The strokes of each pattern in a tile of 8 by 8.
_STROKES = {
    "blank": "",
    "right_diagonal_line": "M-2 2 L2 -2 M0 8 L8 0 M6 10 L10 6",
    "left_diagonal_line": "M-2 6 L2 10 M0 0 L8 8 M6 -2 L10 2",
    "vertical_line": "M4 0 V8",
    "horizontal_line": "M0 4 H8",
    "cross": "M4 0 V8 M0 4 H8",
    "diagonal_cross": "M0 8 L8 0 M0 0 L8 8",
    "dot": "M4 3.2 A0.8 0.8 0 1 1 3.99 3.2 Z",
}


class Drawing:
    """An unfinished SVG, with a size in its own units; it is drawn as wide as the page allows.

    Args:
        width, height: its size.
        title: a description, for screen readers.
        kind: its class in the style sheet.
    """

    def __init__(self, width: float, height: float, title: str, kind: str) -> None:
        self.width, self.height = width, height
        self._title, self._kind = title, kind
        self._parts: list[Markup] = []

    def box(self, x: float, y: float, width: float, height: float, kind: str, *, fill: str = "", title: str = "") -> None:
        """Add a rectangle of a class; `fill` is the paint of its subject."""
        hover = Markup("<title>{}</title>").format(printable(title)) if title else Markup("")
        paint = Markup(' fill="{}"').format(fill) if fill else Markup("")
        self._parts.append(
            Markup('<rect class="{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"{}>{}</rect>').format(
                kind, x, y, max(width, 0.5), height, paint, hover
            )
        )

    def text(self, x: float, y: float, words: str, kind: str = "", anchor: str = "start") -> None:
        """Add words; `anchor` is start, middle or end."""
        self._parts.append(Markup('<text class="{}" x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>').format(kind, x, y, anchor, printable(words)))

    def line(self, x1: float, y1: float, x2: float, y2: float, kind: str, *, arrow: bool = False) -> None:
        """Add a straight line, with a head at its end if it is an arrow."""
        head = Markup(' marker-end="url(#arrow)"') if arrow else Markup("")
        self._parts.append(Markup('<line class="{}" x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}"{}/>').format(kind, x1, y1, x2, y2, head))

    def dot(self, x: float, y: float, radius: float, kind: str) -> None:
        """Add a filled circle."""
        self._parts.append(Markup('<circle class="{}" cx="{:.1f}" cy="{:.1f}" r="{:.1f}"/>').format(kind, x, y, radius))

    def markup(self) -> Markup:
        """Return the whole drawing."""
        head = Markup('<svg class="drawing {}" role="img" aria-label="{}" viewBox="0 0 {:.0f} {:.0f}" width="{:.0f}" height="{:.0f}">')
        whole = head.format(self._kind, printable(self._title), self.width, self.height, self.width, self.height)
        return whole + Markup("").join(self._parts) + Markup("</svg>")


def paint(style: ProcessStyle | None) -> str:
    """Return the paint of a process: its colour under its pattern."""
    return f"url(#style-{style.number})" if style else "#999999"


def swatch(style: ProcessStyle) -> Markup:
    """Return a process's paint in a small box."""
    box = Markup('<svg class="swatch" aria-hidden="true" width="18" height="12"><rect width="18" height="12" fill="{}"/></svg>')
    return box.format(paint(style))


def definitions(styles: tuple[ProcessStyle, ...]) -> Markup:
    """Return the definitions that all drawings of a page refer to: paints of processes, patterns of states and parts, the head of an arrow."""
    tile = Markup('<pattern id="{}" width="8" height="8" patternUnits="userSpaceOnUse">{}<path class="{}" d="{}"/></pattern>')
    tiles = [
        tile.format(
            f"style-{style.number}",
            Markup('<rect width="8" height="8" fill="{}"/>').format(style.colour),
            "dots" if style.pattern == "dot" else "strokes",
            _STROKES[style.pattern],
        )
        for style in styles
    ]
    tiles += [tile.format(f"pattern-{name}", "", "dots" if name == "dot" else "strokes-own", _STROKES[name]) for name in PATTERNS]
    tiles.append(tile.format("pattern-anomaly", "", "strokes-anomaly", _STROKES["right_diagonal_line"]))
    arrow = Markup(
        '<marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path class="head" d="M0 0 L8 4 L0 8 Z"/></marker>'
    )
    fade = Markup(
        '<linearGradient id="fade-{0}" x1="{1}" x2="{2}"><stop offset="0" stop-color="#fff" stop-opacity=".75"/><stop offset="1" stop-color="#fff" stop-opacity=".08"/>'
        '</linearGradient><mask id="mask-{0}" maskContentUnits="objectBoundingBox"><rect width="1" height="1" fill="url(#fade-{0})"/></mask>'
    )
    fades = fade.format("in", 1, 0) + fade.format("out", 0, 1)
    whole = Markup('<svg class="definitions" aria-hidden="true" width="0" height="0"><defs>{}{}{}</defs></svg>')
    return whole.format(Markup("").join(tiles), arrow, fades)


def words_width(text: str, size: float = 11) -> float:
    """Return the approximate width of drawn words."""
    return len(text) * size * 0.56
