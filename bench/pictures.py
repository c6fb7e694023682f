"""Draw the pictures of docs/speed.md from bench/figures.json.

Drawing needs matplotlib (`pip install 'kafka-forensics[bench]'`); the texts do not. The same figures produce the same files, without dates or random
IDs. The pictures have a white background, so that they are readable on a dark page too, and use the fonts of the reader's machine.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

Figures = dict[str, Any]
#: Names of programs and engines on the page.
PROGRAMS = {"ingest": "forensics ingest", "spark": "Spark", "duckdb": "DuckDB", "polars": "polars", "lnav": "lnav", "ripgrep": "ripgrep"}
COMMANDS = {
    "bare": "Spark starts, one query",
    "first_spark": "first report ever, Spark",
    "next_spark": "report of other logs, Spark",
    "first_sail": "first report, Sail",
    "again": "report, again",
    "stored": "forensics sql split_brain",
}
STAGES = {"look": "examine", "rows": "rows", "write": "write"}
# Colours that colour-blind readers can distinguish too (Okabe and Ito).
BLUE, SKY, ORANGE, RED, GREY = "#0072b2", "#56b4e9", "#e69f00", "#d55e00", "#9a9a9a"
ENGINES = {"spark": (RED, "s"), "sail": (BLUE, "o")}
LETTERS = ["DejaVu Sans", "Verdana", "Arial", "Helvetica", "sans-serif"]


def seconds(value: float) -> str:
    """Return a duration as in the page's tables."""
    return f"{value:.3g} s" if value < 100 else f"{value:.0f} s"


def _micro(stage: float, records: int) -> float:
    return 1e6 * stage / max(records, 1)


def _peers_text(figures: Figures) -> str:
    logs = [
        f"{log['share'] * 100:g} % relevant: " + ", ".join(f"{PROGRAMS.get(name, name)} {seconds(p['wall'])}" for name, p in log["programs"].items())
        for log in figures["peers"]["logs"]
    ]
    return "Bars: wall time of an ingest beside other programs. " + "; ".join(logs)


def _reading_text(figures: Figures) -> str:
    logs = [f"{r['log']} {sum(_micro(r[stage], r['records']) for stage in STAGES):.1f}" for r in figures["reading"]["logs"]]
    return "Bars: microseconds of processor time a record, in its stages examine, rows and write, by log. " + "; ".join(logs)


def _growth_text(figures: Figures) -> str:
    cases = [f"{c['engine'].capitalize()}, {c['events']:,} events: {seconds(c['views'])}" for c in figures["growth"]["cases"]]
    return "Lines: seconds for all views against events, both axes logarithmic, for each engine, beside growth in proportion. " + "; ".join(cases)


def _small_text(figures: Figures) -> str:
    programs = figures["small"]["programs"]
    return "Bars: wall time of commands on a sample. " + "; ".join(
        f"{name} {seconds(programs[key]['wall'])}" for key, name in COMMANDS.items() if key in programs
    )


def _bars(axes: Any, names: list[str], values: list[float], colours: list[str], label: Callable[[float], str]) -> None:  # noqa: ANN401
    """Draw horizontal bars, the first at the top, each with its value at its end."""
    axes.barh(range(len(names)), values, color=colours, height=0.68)
    _label(axes, names, values, label)


def _label(axes: Any, names: list[str], values: list[float], label: Callable[[float], str]) -> None:  # noqa: ANN401
    for place, value in enumerate(values):
        axes.annotate(label(value), (value, place), xytext=(4, 0), textcoords="offset points", va="center")
    axes.set_yticks(range(len(names)), names)
    axes.tick_params(axis="y", length=0)
    axes.invert_yaxis()
    axes.set_xlim(0, 1.17 * max(values))
    axes.grid(axis="x", color="#dddddd", linewidth=0.7)
    axes.set_axisbelow(True)


def _peers(pyplot: Any, figures: Figures) -> Any:  # noqa: ANN401
    logs = figures["peers"]["logs"]
    most = max(p["wall"] for log in logs for p in log["programs"].values())
    picture, all_axes = pyplot.subplots(len(logs), 1, figsize=(7, 0.75 + sum(0.55 + 0.27 * len(log["programs"]) for log in logs)), squeeze=False)
    for log, axes in zip(logs, all_axes[:, 0], strict=True):
        programs = sorted(log["programs"].items(), key=lambda item: (item[1]["wall"], item[0]))
        walls = [p["wall"] for _, p in programs]
        _bars(axes, [PROGRAMS.get(name, name) for name, _ in programs], walls, [BLUE if name == "ingest" else GREY for name, _ in programs], seconds)
        axes.set_title(f"{log['bytes'] / 1e6:,.0f} MB, {log['share'] * 100:g} % of the lines relevant", loc="left")
        axes.set_xlim(0, 1.17 * most)
    all_axes[-1, 0].set_xlabel("seconds of wall time, two cores")
    return picture


def _reading(pyplot: Any, figures: Figures) -> Any:  # noqa: ANN401
    logs = figures["reading"]["logs"]
    picture, axes = pyplot.subplots(figsize=(7, 1.15 + 0.3 * len(logs)))
    ends = [0.0] * len(logs)
    for (stage, name), colour in zip(STAGES.items(), (SKY, BLUE, ORANGE), strict=True):
        values = [_micro(r[stage], r["records"]) for r in logs]
        axes.barh(range(len(logs)), values, left=ends, color=colour, height=0.68, label=name)
        ends = [end + value for end, value in zip(ends, values, strict=True)]
    _label(axes, [r["log"].replace(", every", ",\nevery") for r in logs], ends, lambda value: f"{value:.1f} µs")
    axes.set_xlabel("microseconds of processor time a record")
    axes.legend(loc="lower right", frameon=False, ncols=len(STAGES), bbox_to_anchor=(1, 1))
    return picture


def _growth(pyplot: Any, figures: Figures) -> Any:  # noqa: ANN401
    picture, axes = pyplot.subplots(figsize=(7, 3.6))
    cases = figures["growth"]["cases"]
    sizes = sorted({c["events"] for c in cases})
    ends = sizes[0] / 1.3, sizes[-1] * 1.3
    for engine, (colour, marker) in ENGINES.items():
        points = sorted((c["events"], c["views"]) for c in cases if c["engine"] == engine)
        if not points:
            continue
        axes.plot(*zip(*points, strict=True), color=colour, marker=marker, label=engine.capitalize())
        first, took = points[0]
        axes.plot(ends, [took * end / first for end in ends], color=colour, linestyle=":", linewidth=1, label=f"{engine.capitalize()}, in proportion")
        for events, views in points:
            white = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}
            axes.annotate(seconds(views), (events, views), xytext=(0, -8), textcoords="offset points", ha="center", va="top", bbox=white)
    axes.set(xscale="log", yscale="log", xlabel="events", ylabel="seconds for all views")
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axes.set_xlim(ends)
    axes.minorticks_off()
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    low, high = axes.get_ylim()
    axes.set_ylim(low := low / 1.6, high)
    axes.set_yticks([v for v in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000) if low <= v <= high])
    axes.grid(color="#dddddd", linewidth=0.7)
    axes.legend(loc="upper left", bbox_to_anchor=(0, -0.17), frameon=False, ncols=4, columnspacing=1.2, handlelength=1.8)
    return picture


def _small(pyplot: Any, figures: Figures) -> Any:  # noqa: ANN401
    programs = {name: figures["small"]["programs"][key]["wall"] for key, name in COMMANDS.items() if key in figures["small"]["programs"]}
    picture, axes = pyplot.subplots(figsize=(7, 0.85 + 0.29 * len(programs)))
    _bars(axes, list(programs), list(programs.values()), [GREY if name == COMMANDS["bare"] else BLUE for name in programs], seconds)
    axes.set_xlabel("seconds of wall time, from the command to its last line")
    return picture


#: For each part of the figures: the picture's title, its description in words, and the function that draws it.
PICTURES: dict[str, tuple[str, Callable[[Figures], str], Callable[[Any, Figures], Any]]] = {
    "small": ("A small case: seconds of each command", _small_text, _small),
    "reading": ("Reading: microseconds a record, by log", _reading_text, _reading),
    "peers": ("Ingest beside other programs", _peers_text, _peers),
    "growth": ("All views against events", _growth_text, _growth),
}


def texts(figures: Figures) -> dict[str, str]:
    """Return a description of each picture for readers who cannot see it."""
    return {part: text(figures) + "." for part, (_, text, _) in PICTURES.items() if part in figures}


def draw(figures: Figures, folder: Path) -> None:
    """Write `speed-PART.svg` for each part that has figures."""
    import matplotlib as mpl

    mpl.use("svg")
    from matplotlib import pyplot

    folder.mkdir(parents=True, exist_ok=True)
    settings = {
        "svg.hashsalt": "forensics", "svg.fonttype": "none", "font.family": "sans-serif", "font.sans-serif": LETTERS, "font.size": 9.5,
        "axes.titlesize": 9.5, "axes.spines.top": False, "axes.spines.right": False, "axes.spines.left": False, "axes.edgecolor": "#666666",
        "text.color": "#222222", "axes.labelcolor": "#222222", "xtick.color": "#222222", "ytick.color": "#222222", "savefig.facecolor": "white",
    }  # fmt: skip
    for part, (title, _, drawn) in PICTURES.items():
        if part in figures:
            with mpl.rc_context(settings):
                picture = drawn(pyplot, figures)
                picture.tight_layout()
                metadata = {"Date": None, "Creator": None, "Title": title}
                picture.savefig(folder / f"speed-{part}.svg", metadata=metadata)
                pyplot.close(picture)
