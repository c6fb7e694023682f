"""Convert what is drawn below the lanes: rebalances of each group; runs, gaps, pauses and lost coordinators of each process."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from forensics.clocks.reference import Reference, ms
from forensics.report.page.scene import Round, State, Track
from forensics.wording.formats import span

if TYPE_CHECKING:
    from forensics.report.model import Report, Row
    from forensics.report.page.case_rows import CaseRows
    from forensics.report.page.process_style import ProcessStyles


def find(
    report: Report,
    more: CaseRows,
    styles: ProcessStyles,
    reference: Reference,
    groups: Sequence[tuple[str, str]],
    rounds: Iterable[Round],
    first: float,
    last: float,
) -> tuple[tuple[Track, ...], tuple[State, ...]]:
    """Return tracks and their states: first the groups with rebalances, then the processes in the order of their styles."""
    rounds, unfinished = list(rounds), list(_unfinished(report, groups))
    busy = sorted({r.group for r in rounds} | {number for number, _ in unfinished})
    tracks = [Track(f"group {groups[n][1]}", n, None) for n in busy]
    place = {n: at for at, n in enumerate(busy)}
    states = [
        State(place[r.group], "rebalance", r.start_lo, r.settled, False, f"generation {r.number}: {r.why}", r.witness) for r in rounds if r.settled
    ]
    states += [State(place[number], *rest) for number, rest in unfinished]
    of_process = {}
    for style in styles.all:
        of_process[style.process_id] = len(tracks)
        tracks.append(Track(style.name, None, style.number))
    for state in _of_processes(report, more, reference, of_process, last):
        if state.end >= first and state.begin <= last:
            states.append(state)
    return tuple(tracks), tuple(states)


def _unfinished(report: Report, groups: Sequence[tuple[str, str]]) -> Iterator[tuple[int, tuple[str, float, float, bool, str, tuple[str, ...]]]]:
    """Yield rebalances that had not ended when the logs end: the number of the group, and the values of a state except its track."""
    numbers = {group: n for n, group in enumerate(groups)}
    for group in report.groups:
        for row in group["open_rebalance"]:
            begin, end = ms(row["from_ts"]), ms(row["to_ts"])
            if begin is not None and end is not None:
                number = numbers[group["kafka_cluster"] or "", group["group_id"] or ""]
                yield number, ("rebalance", begin, end, True, "a rebalance that had not ended", tuple(row["witness"] or ()))


def _of_processes(report: Report, more: CaseRows, reference: Reference, place: dict[str, int], last: float) -> Iterator[State]:
    runs = more.process_runs or [
        {"process_id": p["process_id"], "instance": 1, "first_ms": ms(p["first_ts"]), "last_ms": ms(p["last_ts"])} for p in report.case["processes"]
    ]
    for run in runs:
        began, ended = (reference.moment_of_ms(run["process_id"], run[k]) for k in ("first_ms", "last_ms"))
        if began and ended and run["process_id"] in place:
            yield State(place[run["process_id"]], "life", began.middle, ended.middle, False, f"run {run['instance']} of the process", ())
    for c in report.coverage:
        if c["kind"] == "gap" and c["process_id"] in place:
            yield from _interval(c, "gap", (ms(c["from_ts"]), ms(c["to_ts"])), reference, place, last, c["note"] or "no record")
    # A member that receives no further assignment has not paused: it had left, or was idle.
    for p in more.pauses:
        yield from _interval(
            p, "paused", (ms(p["paused_from_ts"]), ms(p["paused_to_ts"])), reference, place, last, f"a member of {p['group_id']} had no work"
        )
    for e in report.coordinator_episodes:
        cause = f", {e['cause'].replace('_', ' ')}" if e["cause"] else ""
        note = f"coordinator of {e['group_id']} lost{cause}" + " until its client was closed" * bool(e.get("closed_ts"))
        yield from _interval(e, "lost", (ms(e["lost_ts"]), ms(e["found_ts"] or e.get("closed_ts"))), reference, place, last, note)


def _interval(
    row: Row, kind: str, own: tuple[float | None, float | None], reference: Reference, place: dict[str, int], last: float, note: str
) -> Iterator[State]:
    """Yield an interval of a process's own time, converted to the reference clock; it extends to the end of the scene if it has no end."""
    began, ended = (reference.moment_of_ms(row["process_id"], at) for at in own)
    if began is None or row["process_id"] not in place:
        return
    end = ended.middle if ended else max(last, began.middle)
    note += f": {span(own[1] - own[0])}" if own[0] is not None and own[1] is not None else ": no end in the log"
    yield State(place[row["process_id"]], kind, began.middle, end, ended is None, note, tuple(row.get("witness") or ()))
