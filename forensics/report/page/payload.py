"""Convert the scene and the journal to the columns that the page's script reads; times are half milliseconds since the scene's start."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING, Any

import numpy as np

from forensics.wording.formats import printable, shorten

if TYPE_CHECKING:
    from forensics.report.page.journal import Journal
    from forensics.report.page.process_style import ProcessStyles
    from forensics.report.page.scene import Scene

Array = np.ndarray[Any, Any]
#: The middle of two bounds in whole milliseconds may be a half.
_PER_MS = 2
_LONGEST_NAME = 200
#: Seconds within which no zone changes its clocks twice.
_DAY = 86_400


def payload(
    scene: Scene,
    journal: Journal,
    styles: ProcessStyles,
    cards: dict[str, dict[str, Any]],
    zone: tzinfo = UTC,
    *,
    incidents: Sequence[str] = (),
    complete: bool = False,
) -> tuple[dict[str, Array], dict[str, Any]]:
    """Return arrays and plain values for `pack.pack`.

    Args:
        scene: what is drawn.
        journal: the lines in the page.
        styles: the styles of processes.
        cards: the script's data of each finding, by its anchor.
        incidents: anchors of the incidents on the first screen, the most severe first.
        complete: True if the journal has every recognised line of the case.
        zone: the reader's zone, in which the script prints times.
    """
    whys, notes, places, heads = _Texts(), _Texts(), _Texts(), _Texts()
    arrays: dict[str, Array] = {}
    arrays |= _bars(scene, journal) | _rounds(scene, journal, whys) | _states(scene, journal, notes) | _lines(scene, journal, places, heads)
    plain = {
        "first": scene.first,
        "last": scene.last,
        "per_ms": _PER_MS,
        "zone_offsets": zone_offsets(zone, scene.first, scene.last),
        "groups": [printable(shorten(g, _LONGEST_NAME)) for g in scene.groups],
        "processes": [{"name": x.name, "id": printable(x.process_id), "role": x.role, "colour": x.colour, "pattern": x.pattern} for x in styles.all],
        "rows": [[r.group, r.kind, printable(shorten(r.resource, _LONGEST_NAME)), r.lanes, int(r.overlaps)] for r in scene.rows],
        "bar_ids": _shortest([b.ownership_id for b in scene.bars]),
        "overlaps": [
            {
                "row": o.row,
                "lane": o.lane,
                "proved": o.verdict == "proved",
                "kind": o.kind,
                "possible": _relative(scene, o.possible),
                "there": _relative(scene, o.there),
                "work": _relative(scene, o.work),
                "label": o.label,
                "short": o.short,
                "least": o.least,
                "working": o.working,
                "most": o.most,
                "anchor": o.anchor,
                "processes": o.processes,
                "lines": journal.numbers(o.witness),
            }
            for o in scene.overlaps
        ],
        "troubles": [
            {
                "anchor": t.anchor,
                "process": t.process,
                "times": [_relative(scene, (t.start_lo, t.start_hi)), _relative(scene, (t.stop_lo, t.stop_hi))],
                "open": t.open,
                "froze": t.froze,
                "note": t.severity == "note",
                "label": printable(t.label),
                "lines": journal.numbers(t.witness),
            }
            for t in scene.troubles
        ],
        "marks": [
            {
                "kind": m.kind,
                "at": _relative(scene, (m.at, m.at)),
                "group": m.group,
                "process": m.process,
                "label": printable(m.label),
                "lines": journal.numbers(m.witness),
            }
            for m in scene.marks
        ],
        "quiet": list(scene.quiet),
        "round_anchors": [r.anchor for r in scene.rounds],
        "whys": whys.all,
        "tracks": [
            [printable(shorten(t.label, _LONGEST_NAME)), -1 if t.group is None else t.group, -1 if t.process is None else t.process]
            for t in scene.tracks
        ],
        "notes": notes.all,
        "line_ids": [x.event_id for x in journal.lines],
        "line_texts": [x.text for x in journal.lines],
        "line_events": [x.event for x in journal.lines],
        "places": places.all,
        "heads": heads.all,
        "cards": cards,
        "incidents": list(incidents),
        "complete": complete,
    }
    return arrays, plain


def zone_offsets(zone: tzinfo, first: float, last: float) -> list[list[int]]:
    """Return moments, and by how much a zone is ahead of UTC from then on, in milliseconds: the first moment, and each change up to the last."""

    def offset(at: int) -> int:
        ahead = datetime.fromtimestamp(at, UTC).astimezone(zone).utcoffset()
        return round(ahead.total_seconds() * 1000) if ahead else 0

    begin, end = math.floor(first / 1000), math.ceil(last / 1000)
    found = [[begin * 1000, offset(begin)]]
    for day in range(begin, end, _DAY):
        before, after = day, min(day + _DAY, end)
        if offset(before) == offset(after):
            continue
        while after - before > 1:
            middle = (before + after) // 2
            before, after = (middle, after) if offset(middle) == found[-1][1] else (before, middle)
        found.append([after * 1000, offset(after)])
    return found


class _Texts:
    """Texts by number, each once."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        return self._numbers.setdefault(text, len(self._numbers))

    @property
    def all(self) -> list[str]:
        return [printable(text) for text in self._numbers]


def _bars(scene: Scene, journal: Journal) -> dict[str, Array]:
    bars = scene.bars
    at, lines = _flat(journal.numbers(b.witness) for b in bars)
    times = ("start_lo", "start_hi", "stop_lo", "stop_hi", "work_to")
    return {f"bar_{name}": _times(scene, [getattr(b, name) for b in bars]) for name in times} | {
        "bar_row": _int([b.row for b in bars]),
        "bar_lane": _int([b.lane for b in bars]),
        "bar_process": _int([b.process for b in bars]),
        "bar_generation": _int([b.generation if b.generation is not None else -1 for b in bars]),
        "bar_open": np.array([b.open_start + 2 * b.open_end for b in bars], np.uint8),
        "bar_lines_at": at,
        "bar_lines": lines,
    }


def _rounds(scene: Scene, journal: Journal, whys: _Texts) -> dict[str, Array]:
    rounds = scene.rounds
    at, lines = _flat(journal.numbers(r.witness) for r in rounds)
    return {
        "round_start_lo": _times(scene, [r.start_lo for r in rounds]),
        "round_start_hi": _times(scene, [r.start_hi for r in rounds]),
        "round_settled": _times(scene, [r.settled if r.settled is not None else scene.first - 1 for r in rounds]),
        "round_end": _times(scene, [r.end for r in rounds]),
        "round_group": _int([r.group for r in rounds]),
        "round_number": _int([r.number for r in rounds]),
        "round_why": _int([whys.number(r.why) for r in rounds]),
        "round_lines_at": at,
        "round_lines": lines,
    }


_STATE_KINDS = ("rebalance", "life", "gap", "paused", "lost")


def _states(scene: Scene, journal: Journal, notes: _Texts) -> dict[str, Array]:
    states = scene.states
    at, lines = _flat(journal.numbers(s.witness) for s in states)
    return {
        "state_track": _int([s.track for s in states]),
        "state_kind": np.array([_STATE_KINDS.index(s.kind) for s in states], np.uint8),
        "state_begin": _times(scene, [s.begin for s in states]),
        "state_end": _times(scene, [s.end for s in states]),
        "state_open": np.array([s.open for s in states], np.uint8),
        "state_note": _int([notes.number(s.note) for s in states]),
        "state_lines_at": at,
        "state_lines": lines,
    }


def _lines(scene: Scene, journal: Journal, places: _Texts, heads: _Texts) -> dict[str, Array]:
    lines = journal.lines
    split = [x.where.rpartition(":") for x in lines]
    return {
        "line_at": _times(scene, [x.at if x.at is not None else scene.first for x in lines]),
        "line_own": _times(scene, [x.own if x.own is not None else scene.first for x in lines]),
        "line_timed": np.array([x.at is not None for x in lines], np.uint8),
        "line_bound": _int([round(x.bound * _PER_MS) for x in lines]),
        "line_process": _int([x.process for x in lines]),
        "line_head": _int([heads.number(x.head) for x in lines]),
        "line_place": _int([places.number(path) for path, _, _ in split]),
        "line_number": _int([int(n) if n.isdecimal() else 0 for _, _, n in split]),
    }


def _times(scene: Scene, values: Sequence[float]) -> Array:
    return np.rint((np.array(values, np.float64) - scene.first) * _PER_MS).astype(np.int64)


def _relative(scene: Scene, span: tuple[float, float] | None) -> list[int] | None:
    return None if span is None else [round((x - scene.first) * _PER_MS) for x in span]


def _int(values: Sequence[int]) -> Array:
    return np.array(values, np.int32)


def _flat(lists: Iterable[list[int]]) -> tuple[Array, Array]:
    """Flatten lists of numbers into one, and return where each begins."""
    at, flat = [0], []
    for numbers in lists:
        flat += numbers
        at.append(len(flat))
    return _int(at), _int(flat)


def _shortest(ids: Sequence[str]) -> list[str]:
    """Shorten IDs to the length at which no two are equal; `forensics show` accepts such IDs."""
    for length in range(8, max((len(i) for i in ids), default=8)):
        if len({i[:length] for i in ids}) == len(set(ids)):
            return [i[:length] for i in ids]
    return list(ids)
