# SPDX-License-Identifier: Apache-2.0
"""Root causes of played histories, held against what was done in each: the simulator knows it to the millisecond."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from causes import RESTARTS, Done, _fits, _listed
from scoring import INFINITE, Row
from sim_world import START

if TYPE_CHECKING:
    from simulator import Simulated

START_MS = START.timestamp() * 1000


@dataclass
class PlayedCauses:
    """The statements about some histories.

    Attributes:
        right: causes that are told and true, by name.
        open: incidents that are left open with the true cause among the alternatives.
        unknown: incidents without any cause.
        false: sentences for incidents that name only what was not done.
    """

    right: Counter[str] = field(default_factory=Counter)
    open: int = 0
    unknown: int = 0
    false: list[str] = field(default_factory=list)


def done(played: Simulated) -> list[Done]:
    """All faults injected into the workers of a history; times are true ones."""
    end, text = START_MS + played.until, played.history.text
    found = []
    for path, process in played.logs.items():
        who = path.split("/", maxsplit=1)[0]
        if not who.startswith("broker"):
            for begun, over in process.freezes:
                thawed = START_MS + over if over < played.until - 1 else None
                found.append(Done(frozenset({"process_paused"}), frozenset({who}), int(START_MS + begun), _whole(thawed), text))
    deeds, cuts = list(_timed(played)), list(_cut_off(played, end))
    # What begins its life without network has none from then on.
    born = (
        Done(d.causes, d.subjects, int(at), d.over_ms, text)
        for what, who, at, _ in deeds
        for d in cuts
        if what == "+" and who in d.subjects and (d.at_ms or 0) < at < (d.over_ms or end)
    )
    found += [*cuts, *born]
    for n, (what, who, at, _) in enumerate(deeds):
        back = next((later for did, other, later, _ in deeds[n + 1 :] if did == "+" and other == who), None)
        if what == "x":
            # Its log does not distinguish frozen from dead: one that is killed while it is frozen is dead from then on.
            frozen = [d.at_ms for d in found if "process_paused" in d.causes and who in d.subjects and (d.over_ms is None or d.over_ms >= at)]
            gone = min([int(at), *(ms for ms in frozen if ms is not None and ms <= at)])
            found.append(Done(frozenset({"process_killed"}), frozenset({who}), gone, _whole(back), text))
        elif what == "-":
            # One that is frozen hears that it shall stop when it goes on.
            thaws = [d.over_ms for d in found if "process_paused" in d.causes and who in d.subjects and d.at_ms is not None and d.at_ms <= at]
            told = max([int(at), *(ms for ms in thaws if ms is not None)])
            found.append(Done(RESTARTS, frozenset({who, played.plan.group}), told, _whole(back), text))
    return found


def _whole(ms: float | None) -> int | None:
    return None if ms is None else int(ms)


def _timed(played: Simulated) -> Iterator[tuple[str, str, float, float]]:
    """Deeds with the moment at which each begins and ends."""
    at = START_MS
    for deed in played.history.deeds:
        if deed.what == "wait":
            at += deed.seconds * 1000
        else:
            yield deed.what, deed.who, at, at + deed.seconds * 1000


def _cut_off(played: Simulated, end: float) -> Iterator[Done]:
    """Times without network; those of one worker that overlap are one."""
    spans: dict[str, list[tuple[float, float]]] = {}
    for what, who, begun, over in _timed(played):
        if what == "/":
            before = spans.setdefault(who, [])
            if before and before[-1][1] >= begun:
                begun, over = before[-1][0], max(before.pop()[1], over)
            before.append((begun, over))
    for who, all_of in spans.items():
        for begun, over in all_of:
            yield Done(frozenset({"member_cut_off"}), frozenset({who}), int(begun), int(over) if over < end else None, played.history.text)


def hold(played: Iterable[Simulated], incidents: list[Row], processes: list[Row]) -> PlayedCauses:
    """Compare every incident of some histories with the injected faults.

    Args:
        played: the histories; their logs lie in folders of their names.
        incidents: view `incident`.
        processes: view `process`.
    """
    result = PlayedCauses()
    for one in played:
        deeds = done(one)
        for row in incidents:
            if str(row["subject"] or "").startswith(f"{one.name}/") or one.plan.group in row["group_ids"]:
                _judge(one, deeds, row, processes, result)
    return result


def _judge(played: Simulated, deeds: list[Done], row: Row, processes: list[Row], result: PlayedCauses) -> None:
    named = set(_listed(row["alternatives"])) if row["cause"] == "unknown" else {str(row["cause"])}
    windows = _windows(played, row, processes)
    # The end of the history is not a fault. The history itself also sets clocks wrong, and has tasks that stop slowly and keep a worker from rejoining in time.
    if windows[0][0] >= START_MS + played.until or row["cause"] == "clock_wrong" or ("poll_too_slow" in named and played.history.slow > 0):
        return
    parts = str(row["subject"] or "").split("/")
    subject = {parts[1] if len(parts) > 1 else parts[0]}
    if row["cause"] == "unknown" and "broker_down" in named:  # of a broker, or of all that could not reach it
        subject |= {path.split("/", maxsplit=1)[0] for path in played.logs}
    if not named:
        result.unknown += 1
    elif not any(named & deed.causes and _fits(deed, subject, window, row) for deed in deeds for window in windows):
        bounds = [None if abs(ms) == INFINITE else round((ms - START_MS) / 1000, 1) for ms in windows[0]]
        result.false.append(f"{row['cause']} {sorted(named)} of {row['subject']} at {bounds}: {played.name} {played.history.text}")
    elif row["cause"] == "unknown":
        result.open += 1
    else:
        result.right[str(row["cause"])] += 1


def _windows(played: Simulated, row: Row, processes: list[Row]) -> list[tuple[float, float, float, float]]:
    """From and to, each at the earliest and latest, in true milliseconds.

    They are on the clock of the process that its island refers to; where the worker's is not joined to the broker's, the broker's may tell of it.
    """
    mine = [p for p in processes if str(p["process_id"]).startswith(f"{played.name}/")]
    about = next((p for p in mine if p["process_id"] == row["subject"]), mine[0] if mine else None)
    brokers = [p for p in mine if p["role"] == "broker"]
    references = dict.fromkeys(str(p["reference_process_id"]).split("/")[1] for p in (about, *brokers) if p and p["reference_process_id"])

    def at(bound: str, skew_ms: float) -> float:
        ts = row[bound]
        if ts is None:
            return -INFINITE if bound.endswith("lo") else INFINITE
        return float(ts.timestamp() * 1000 - skew_ms)

    skews = [dict(played.history.clocks).get(reference, 0.0) * 1000 for reference in references] or [0.0]
    return [(at("from_lo", s), at("from_hi", s), at("to_lo", s), at("to_hi", s)) for s in skews]
