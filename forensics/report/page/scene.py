"""Define what is drawn, before any library or page: rows and lanes of owners, overlaps, generations and tracks, in milliseconds on the reference clock."""

from __future__ import annotations

from dataclasses import dataclass, field

Span = tuple[float, float]


@dataclass(frozen=True)
class Bar:
    """An ownership in a lane of its row.

    Attributes:
        row: number of its row.
        lane: lane in the row, from the top.
        process: number of the owner's style.
        start_lo, start_hi: it began between these.
        stop_lo, stop_hi: it ended between these.
        work_to: work had certainly ended by then, and only the thread still ran; `stop_hi` if the logs do not show it.
        open_start, open_end: it was owned when the log began; the logs do not show its end.
        ownership_id: its ID in the view.
        generation: the generation that assigned it, if known.
        witness: event IDs.
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
    """Two owners of one resource at the same time, in up to three layers; or no owner, because of an incident.

    Attributes:
        row: number of the row.
        lane: the row's lane for overlaps; without an owner, its first lane, which is empty then.
        verdict: `proved` or `undecided`.
        kind: `work`, `thread` or `held`; `none`: no owner.
        possible: both may have existed, or it may have had none.
        there: both certainly existed; None if that is not shown, or if it had none.
        work: both certainly worked; None if that is not shown.
        label: the layers in words.
        short: the most severe of these layers.
        least: how long both existed, or it had no owner, for certain, in milliseconds.
        working: how long both certainly worked.
        most: how long it may have had no owner; None: as long as `possible`.
        anchor: address of its description.
        owners: IDs of the two ownerships; empty without an owner.
        processes: numbers of their styles.
        witness: event IDs.
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
    least: float
    working: float
    most: float | None
    anchor: str
    owners: tuple[str, ...]
    processes: tuple[int, ...]
    witness: tuple[str, ...]


@dataclass(frozen=True)
class Row:
    """A resource, with the number of lanes that its owners and overlaps need."""

    group: int
    kind: str
    resource: str
    lanes: int
    overlaps: bool


@dataclass(frozen=True)
class Round:
    """A generation of a group, from the start of its rebalance to the start of the next one.

    Attributes:
        group: number of the group.
        start_lo, start_hi: its rebalance began between these.
        settled: when its members had their assignments; None if unknown.
        end: when the next one began, or the case ended.
        number: the generation's number.
        why: its trigger in words.
        anchor: address of its description.
        witness: event IDs.
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
    """An interval of a track: `life`, `gap`, `paused`, `lost` or `rebalance`; `open` if the logs do not show its end."""

    track: int
    kind: str
    begin: float
    end: float
    open: bool
    note: str
    witness: tuple[str, ...]


@dataclass(frozen=True)
class Track:
    """A track below the lanes: a group's rebalances, or a process (the number of its style)."""

    label: str
    group: int | None
    process: int | None


@dataclass(frozen=True)
class Trouble:
    """One time that the cause of an incident lasted: a freeze, a cut from the broker, an outage, a death.

    Attributes:
        anchor: the incident's, where the page describes it.
        cause: as in `incident`.
        process: number of the style of the affected process; -1 if there is none, or if it is unknown.
        start_lo, start_hi: it began between these.
        stop_lo, stop_hi: it ended between these.
        open: the logs do not show its end.
        is_moment: it certainly happened, at one moment between these bounds, such as a leave.
        label: what happened, in a few words.
        severity: the incident's.
        witness: event IDs.
    """

    anchor: str
    cause: str
    process: int
    start_lo: float
    start_hi: float
    stop_lo: float
    stop_hi: float
    open: bool
    is_moment: bool
    label: str
    severity: str
    witness: tuple[str, ...]

    @property
    def froze(self) -> bool:
        """Return True if the process did nothing in that time, whatever it owned."""
        return self.cause == "process_paused"


@dataclass(frozen=True)
class Mark:
    """A moment that is marked across a group's rows: an eviction from the group, a death, or a departure.

    Attributes:
        kind: `evicted`, `died` or `left`.
        at: the middle of its bounds.
        group: number of the group; -1: all.
        process: number of the style of the process; -1: unknown.
        label: what happened, in a few words.
        witness: event IDs.
    """

    kind: str
    at: float
    group: int
    process: int
    label: str
    witness: tuple[str, ...]


@dataclass(frozen=True)
class Scene:
    """Everything that is drawn.

    Attributes:
        first, last: the time that is shown.
        groups: IDs of the groups, by number.
        quiet: numbers of the groups without an incident, an overlap or an eviction, if another group has one.
        left_out: sentences about what is not drawn.
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
    troubles: tuple[Trouble, ...] = ()
    marks: tuple[Mark, ...] = ()
    quiet: tuple[int, ...] = ()
    left_out: tuple[str, ...] = field(default=())
