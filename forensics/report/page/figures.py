"""Define the timeline that Bokeh draws: four figures on one time axis, without data. The page's own script fills them with what is visible.

Measured with 5,000 bars: Bokeh's core is 1.3 MB and draws in a third of the time that Plotly (4.8 MB installed) takes. Vega (0.9 MB) is as fast, but
compiles code from text, which the page's content security policy forbids, and draws no patterns.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal

from forensics.report.page.process_style import ANOMALY, PATTERNS

if TYPE_CHECKING:
    from bokeh.plotting import figure as Figure  # noqa: N812  (a class despite its name)

#: The figures in their order on the page: the time axis with the causes, owners, groups and processes, and the whole time with a brush.
FIGURES = ("causes", "lanes", "tracks", "overview")
_GUTTER = 150
#: Distances between the ticks of the time axis that are shorter than a day: the day is printed once, beside them.
_UNITS = ("microseconds", "milliseconds", "seconds", "minsec", "minutes", "hourmin", "hours")
#: Layers of boxes in the upper figures, the lowest first; patterns are drawn over the first three of them.
_BELOW, _ABOVE = ("bands", "fades", "bars"), ("layers", "marks")
_EDGES = ("left", "right", "top", "bottom")
_BOX = (*_EDGES, "fill", "alpha", "line")
#: Patterns with their inks, each with columns of its own: for patterns in a column, Bokeh makes a picture for every box.
_HATCHES = (
    *((pattern, "black") for pattern in PATTERNS[1:]),
    ("vertical_line", "text"),
    ("diagonal_cross", "text"),
    ("left_diagonal_line", "bad"),
    ("right_diagonal_line", "anomaly"),
    ("right_diagonal_line", "text"),
)
_TEXT = ("x", "y", "text")
#: Colours of words, each with columns of its own: if colours and number of words change together, Bokeh reads beyond the end of its columns.
_INKS = ("text", "bad", "cause", "black", "white")


@cache
def library() -> str:
    """Return Bokeh's core as one script. It neither loads nor evaluates anything."""
    return (files("bokeh") / "server" / "static" / "js" / "bokeh.min.js").read_text(encoding="utf-8")


@cache
def document() -> dict[str, Any]:
    """Return the figures as JSON: `doc` is the input of `Bokeh.embed.embed_items`, `roots` names the element of each figure's ID.

    They are the same on every page, and Bokeh takes most of a page's time to make them.
    """
    from bokeh.document import Document
    from bokeh.models import CrosshairTool, Range1d
    from bokeh.models.annotations import BoxAnnotation, Span

    time = Range1d(start=0, end=1, name="time")
    figures = [_upper("causes", time, 90), _upper("lanes", time, 420), _upper("tracks", time, 160), _overview(time)]
    # One cursor and one selection for all of them, on the layer that is drawn without the rest.
    cursor = Span(dimension="height", level="overlay", line_dash="dotted", line_width=1, name="cursor")
    selected = BoxAnnotation(
        left=0, right=0, level="overlay", visible=False, editable=True, resizable="x", movable="none", fill_alpha=0.12, name="selected"
    )
    for plot in figures:
        plot.add_tools(CrosshairTool(dimensions="height", overlay=cursor))
        plot.add_layout(selected)
    whole = Document(title="")
    for plot in figures:
        whole.add_root(plot)
    return {"doc": whole.to_json(deferred=False), "roots": {plot.id: f"figure-{name}" for plot, name in zip(figures, FIGURES, strict=True)}}


def _upper(name: str, time: Any, height: int) -> Figure:  # noqa: ANN401  (a Bokeh model)
    from bokeh.models import BoxSelectTool, BoxZoomTool, FixedTicker, WheelZoomTool
    from bokeh.models.annotations import BoxAnnotation

    plot = _figure(name, time, height, axis="above" if name == "causes" else "below")
    plot.add_tools(
        BoxZoomTool(dimensions="width", name=f"{name}-zoom"),
        BoxSelectTool(dimensions="width", renderers=[], continuous=True, overlay=BoxAnnotation(fill_alpha=0, line_alpha=0), name=f"{name}-select"),
        WheelZoomTool(dimensions="width", modifiers="ctrl", name=f"{name}-wheel"),
    )
    plot.xaxis.visible = name == "causes"
    plot.yaxis.ticker = FixedTicker(ticks=[], name=f"{name}-rows")
    for layer in _BELOW:
        _boxes(plot, f"{name}-{layer}")
    for pattern, ink in _HATCHES:
        _hatches(plot, name, pattern, ink)
    for layer in _ABOVE:
        _boxes(plot, f"{name}-{layer}")
    for ink in _INKS:
        words = _source(f"{name}-texts-{ink}", _TEXT)
        drawn = plot.text("x", "y", "text", source=words, text_font_size="11px", text_baseline="middle", level="overlay")
        drawn.glyph.update(name=f"{name}-ink-{ink}", text_color=ink if ink in ("black", "white") else "black")
    return plot


def _overview(time: Any) -> Figure:  # noqa: ANN401  (a Bokeh model)
    from bokeh.models import Range1d, RangeTool

    plot = _figure("overview", Range1d(start=0, end=1, name="whole"), 64)
    plot.yaxis.visible = False
    _boxes(plot, "overview-bars")
    brush = RangeTool(x_range=time, start_gesture="pan", name="brush")
    brush.overlay.update(fill_alpha=0.15, line_width=1.5, line_dash="solid", name="brush-box")
    plot.add_tools(brush)
    return plot


def _figure(name: str, time: Any, height: int, axis: Literal["above", "below"] = "below") -> Figure:  # noqa: ANN401  (a Bokeh model)
    from bokeh.models import DatetimeTickFormatter, Range1d
    from bokeh.plotting import figure

    plot = figure(
        name=name,
        height=height,
        sizing_mode="stretch_width",
        x_range=time,
        y_range=Range1d(start=1, end=0, name=f"{name}-y"),
        x_axis_type="datetime",
        x_axis_location=axis,
        tools="",
        toolbar_location=None,
        output_backend="canvas",
        min_border_left=_GUTTER,
        min_border_right=24,
        min_border_top=4,
        min_border_bottom=4,
        lod_threshold=None,  # the page's script thins what is drawn, and says so
    )
    context = DatetimeTickFormatter(days="", months="", years="").clone(**dict.fromkeys(_UNITS, "%Y-%m-%d"))
    plot.xaxis.formatter = DatetimeTickFormatter(
        microseconds="%H:%M:%S.%3N",
        milliseconds="%H:%M:%S.%3N",
        seconds="%H:%M:%S",
        minsec="%H:%M:%S",
        minutes="%H:%M",
        hourmin="%H:%M",
        hours="%H:%M",
        days="%Y-%m-%d",
        months="%Y-%m-%d",
        years="%Y-%m-%d",
        context=context,
        context_which="start",
    )
    plot.grid.grid_line_alpha = 0.35
    plot.ygrid.visible = False
    plot.yaxis.major_tick_line_color = plot.yaxis.minor_tick_line_color = plot.yaxis.axis_line_color = None
    plot.outline_line_color = None
    return plot


def _boxes(plot: Figure, name: str) -> None:
    plot.quad(
        left="left",
        right="right",
        top="top",
        bottom="bottom",
        source=_source(name, _BOX),
        fill_color="fill",
        fill_alpha="alpha",
        line_color="line",
    )


def _hatches(plot: Figure, name: str, pattern: str, ink: str) -> None:
    drawn = plot.quad(
        left="left",
        right="right",
        top="top",
        bottom="bottom",
        source=_source(f"{name}-hatch-{pattern}-{ink}", _EDGES),
        fill_color=None,
        line_color=None,
        hatch_pattern=pattern,
        hatch_alpha=0.6,
        hatch_scale=7,
        hatch_weight=1,
    )
    drawn.glyph.update(name=f"{name}-hatch-{ink}", hatch_color=ANOMALY if ink == "anomaly" else "black")


def _source(name: str, columns: tuple[str, ...]) -> Any:  # noqa: ANN401  (a Bokeh model)
    from bokeh.models import ColumnDataSource

    return ColumnDataSource({column: [] for column in columns}, name=name)
