"""What is drawn, before any library or page: rows and lanes of owners, overlaps, generations and tracks, in milliseconds on the reference clock."""

from __future__ import annotations

from dataclasses import dataclass, field

Span = tuple[float, float]


@dataclass(frozen=True)
class Bar:
    """An ownership in a lane of its row.

    Attributes:
        row: number of its row.
        lane: lane in the row, from the top.
        process: number of the owner's look.
        start_lo, start_hi: it began between these.
        stop_lo, stop_hi: it ended between these.
        work_to: work surely had ended by then, and only the thread went on; `stop_hi` where nothing says so.
        open_start, open_end: owned when the log began; nothing says that it ended.
        ownership_id: the view's id.
        generation: that assigned it, where a line says.
        witness: event ids.
    """

    row: int
    lane: int
    process: int
    start_lo: float
    start_hi: float
    stop_lo: float
    stop_hi: float
    work_to: float
    open_start: bool
    open_end: bool
    ownership_id: str
    generation: int | None
    witness: tuple[str, ...]


@dataclass(frozen=True)
class Overlap:
    """Two owners of one resource at once, in up to three layers.

    Attributes:
        row: number of the row.
        lane: the row's lane for overlaps.
        verdict: `proved` or `undecided`.
        kind: `work`, `thread` or `held`.
        possible: both may have been there.
        there: both were there for certain; None: that is not shown.
        work: both were at work for certain; None: that is not shown.
        label: the layers in words.
        short: the gravest of them.
        anchor: where the page tells of it.
        owners: ids of the two ownerships.
        processes: numbers of their looks.
        witness: event ids.
    """

    row: int
    lane: int
    verdict: str
    kind: str
    possible: Span
    there: Span | None
    work: Span | None
    label: str
    short: str
    anchor: str
    owners: tuple[str, str]
    processes: tuple[int, int]
    witness: tuple[str, ...]


@dataclass(frozen=True)
class Row:
    """A resource: what is owned, by whom at most in so many lanes at once."""

    group: int
    kind: str
    resource: str
    lanes: int
    overlaps: bool


@dataclass(frozen=True)
class Round:
    """A generation of a group: from the begin of its rebalance until the next one's.

    Attributes:
        group: number of the group.
        start_lo, start_hi: its rebalance began between these.
        settled: its members had their assignment then; None: no line says.
        end: the next one began, or the case ended.
        number: the generation's number.
        why: its trigger in words.
        anchor: where the page tells of it.
        witness: event ids.
    """

    group: int
    start_lo: float
    start_hi: float
    settled: float | None
    end: float
    number: int
    why: str
    anchor: str
    witness: tuple[str, ...]


@dataclass(frozen=True)
class State:
    """A stretch of a track: `life`, `gap`, `paused`, `lost` or `rebalance`; `open`: nothing says that it ended."""

    track: int
    kind: str
    begin: float
    end: float
    open: bool
    note: str
    witness: tuple[str, ...]


@dataclass(frozen=True)
class Track:
    """What is drawn below the lanes: a group's rebalances, or a process (the number of its look)."""

    label: str
    group: int | None
    process: int | None


@dataclass(frozen=True)
class Scene:
    """All that is drawn.

    Attributes:
        first, last: the time that is shown.
        groups: ids of the groups, by number.
        left_out: what is not drawn, in sentences.
    """

    first: float
    last: float
    groups: tuple[str, ...] = ()
    rows: tuple[Row, ...] = ()
    bars: tuple[Bar, ...] = ()
    overlaps: tuple[Overlap, ...] = ()
    rounds: tuple[Round, ...] = ()
    tracks: tuple[Track, ...] = ()
    states: tuple[State, ...] = ()
    left_out: tuple[str, ...] = field(default=())
