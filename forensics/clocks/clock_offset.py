"""Compute the view `clock_offset`: each process's clock against the reference of its island, and each pair of processes that lines compare.

Nothing is compared across islands. A process whose clock stepped is an island of its own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from forensics.clocks.clock_bound import rows as clock_bound
from forensics.relations.conditions import one_of

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs, Knobs, Row

_QUARTER_MS = 15 * 60 * 1000
_QUARTERS_OF_A_DAY = 96
_NO_BOUND: Mapping[str, Any] = {"hi_ms": None, "constraints": None, "impossible": False}


def rows(inputs: Inputs) -> list[dict[str, Any]]:
    """Return the rows of the view `clock_offset`."""
    bounds = {(row["from_process_id"], row["to_process_id"]): row for row in clock_bound(inputs)}
    life = inputs.rows("process_life", ["process_id", "is_broker", "setbacks"])
    reference = _references(bounds, {row["process_id"] for row in life if row["is_broker"]})
    islands = {(process, reference.get(process, process)) for process in {row["process_id"] for row in life} | reference.keys()}
    others = {(max(pair), min(pair)) for pair, bound in bounds.items() if bound["constraints"] is not None}
    others -= islands | {(b, a) for a, b in islands}
    steps = _steps(inputs, bounds, life)
    pairs = [(*pair, True) for pair in sorted(islands)] + [(*pair, False) for pair in sorted(others)]
    return [_offset(process, other, bounds, steps, inputs.knobs, is_island=is_island) for process, other, is_island in pairs]


def _references(bounds: Mapping[tuple[str, str], Row], brokers: set[str]) -> dict[str, str]:
    """Return the reference of the island of each process that is bounded on both sides: a broker, if possible."""
    reference: dict[str, str] = {}
    for (process, other), bound in bounds.items():
        back = bounds.get((other, process))
        if bound["hi_ms"] is None or back is None or back["hi_ms"] is None:
            continue
        if process not in reference or (other not in brokers, other) < (reference[process] not in brokers, reference[process]):
            reference[process] = other
    return reference


def _offset(
    process: str,
    reference: str,
    bounds: Mapping[tuple[str, str], Row],
    steps: Mapping[str, Row],
    knobs: Knobs,
    *,
    is_island: bool,
) -> dict[str, Any]:
    """Return the row of two processes."""
    is_same = process == reference
    forth, back = bounds.get((reference, process), _NO_BOUND), bounds.get((process, reference), _NO_BOUND)
    lo_ms = 0 if is_same else None if back["hi_ms"] is None else -back["hi_ms"]
    hi_ms = 0 if is_same else forth["hi_ms"]
    middle_ms = None
    if is_island and lo_ms is not None and hi_ms is not None and hi_ms - lo_ms <= knobs.clock_skew_ms:
        middle_ms = int((lo_ms + hi_ms) / 2)  # as the integer division of SQL, which rounds towards zero
    is_close = middle_ms is not None
    stepped = bool(forth["impossible"]) or process in steps
    return {
        "process_id": process,
        "reference_process_id": reference,
        "lo_ms": lo_ms,
        "hi_ms": hi_ms,
        "constraints": (forth["constraints"] or 0) + (back["constraints"] or 0),
        "stepped": stepped,
        "suspect_time_zone": None if stepped else zone(lo_ms, hi_ms, knobs.zone_skew_ms),
        "is_island_reference": is_island,
        "clock_id": reference if is_close else process if is_island else None,
        "ahead_ms": middle_ms if is_close else 0 if is_island else None,
        "is_steady": reference not in steps if is_close else not stepped if is_island else None,
        "step": steps.get(process) if is_island else None,
    }


def zone(lo_ms: int | None, hi_ms: int | None, zone_skew_ms: int) -> str | None:
    """Return the time zone error that an offset shows, as +HH:MM; None: none.

    It is a multiple of 15 minutes, not of a day, within the bounds. In a zone with whole or half hours, the clock may also be a little wrong.

    Args:
        lo_ms: the offset is at least this.
        hi_ms: and at most this.
        zone_skew_ms: how wrong it may be.
    """
    if lo_ms is None or hi_ms is None or hi_ms - lo_ms >= _QUARTER_MS:
        return None
    quarters = -(-lo_ms // _QUARTER_MS)
    if quarters * _QUARTER_MS > hi_ms:
        quarters = -(-(lo_ms - zone_skew_ms) // (2 * _QUARTER_MS)) * 2
        if quarters * _QUARTER_MS > hi_ms + zone_skew_ms:
            return None
    if quarters % _QUARTERS_OF_A_DAY == 0:
        return None
    hours, rest = divmod(abs(quarters), 4)
    return f"{'-' if quarters < 0 else '+'}{hours:02d}:{rest * 15:02d}"


@dataclass(frozen=True)
class _Suspicion:
    """Why a clock is thought to have stepped.

    Attributes:
        how: `contradicted` (no steady offset to the partner fits), `files_overlap` (its times go back where a file begins) or `set_back` (elsewhere).
        by_ms: by how much, or by how much the bounds contradict each other; None: unknown.
        witness: the fewest lines that cannot all be true with a steady clock.
        partner: the process whose clock contradicts it; None: its own times go back.
        stream_pos: position before which it was set back.
    """

    how: str
    by_ms: int | None
    witness: list[str]
    partner: str | None = None
    stream_pos: int | None = None

    @property
    def badness(self) -> tuple[Any, ...]:
        """Return a key by which the worst suspicion is the last."""
        return self.how, self.by_ms is not None, self.by_ms or 0, ",".join(self.witness), self.partner or ""


def _steps(inputs: Inputs, bounds: Mapping[tuple[str, str], Row], life: Sequence[Row]) -> dict[str, Row]:
    """Return how the clocks stepped that did."""
    suspicions: defaultdict[str, list[_Suspicion]] = defaultdict(list)
    for (process, partner), bound in bounds.items():
        if bound["is_suspect"]:
            back = bounds[partner, process]
            witness = list(dict.fromkeys(bound["least_witness"] + back["least_witness"]))
            suspicions[process].append(_Suspicion("contradicted", -(bound["least_ms"] + back["least_ms"]), witness, partner))
    for row in life:
        for setback in row["setbacks"] or ():
            witness = [event for event in (setback["before_id"], setback["event_id"]) if event is not None]
            how = "files_overlap" if setback["is_file_begin"] else "set_back"
            suspicions[row["process_id"]].append(_Suspicion(how, setback["by_ms"], witness, stream_pos=setback["stream_pos"]))
    places = _places(inputs, suspicions)
    return {process: _step(its, places.get(process)) for process, its in suspicions.items()}


def _step(suspicions: Sequence[_Suspicion], places: list[Row] | None) -> Row:
    """Return how a clock stepped, the worst of several ways."""
    worst = max(suspicions, key=lambda one: one.badness)
    is_set_back = worst.how != "contradicted"
    set_back = sorted(one.stream_pos for one in suspicions if one.stream_pos is not None)
    return {
        "how": worst.how,
        "partner": worst.partner,
        "by_ms": worst.by_ms,
        "times": (len(set_back) if is_set_back else len(suspicions)) or None,
        "witness": worst.witness,
        "set_back": set_back if is_set_back else None,
        "least_ms": None if is_set_back else worst.by_ms,
        "places": places,
    }


def _places(inputs: Inputs, suspicions: Mapping[str, Sequence[_Suspicion]]) -> dict[str, list[Row]]:
    """Return where each clock stepped: after the line at `before_pos` and before that at `after_pos`.

    No steady clock satisfies the lines of a contradiction: the clock stepped between the first and the last of them in its own log.
    """
    found: defaultdict[str, list[Row]] = defaultdict(list)
    positions = _positions(inputs, {event for its in suspicions.values() for one in its if one.how == "contradicted" for event in one.witness})
    for process, its in suspicions.items():
        for one in its:
            if one.how != "contradicted":
                if one.stream_pos is not None:
                    hi_ms = None if one.by_ms is None else -one.by_ms
                    found[process].append({"before_pos": one.stream_pos - 1, "after_pos": one.stream_pos, "hi_ms": hi_ms})
            elif own := [positions[process, event] for event in one.witness if (process, event) in positions]:
                found[process].append({"before_pos": min(own), "after_pos": max(own), "hi_ms": None})
    for places in found.values():
        places.sort(key=lambda place: (place["before_pos"], place["after_pos"]))
    return dict(found)


def _positions(inputs: Inputs, events: set[str]) -> dict[tuple[str, str], int]:
    """Return the position of each of these events in its process's log."""
    if not events:
        return {}
    lines = inputs.rows("event_row", ["event_id", "process_id", "stream_pos"], one_of("event_id", events))
    return {(line["process_id"], line["event_id"]): line["stream_pos"] for line in lines}
