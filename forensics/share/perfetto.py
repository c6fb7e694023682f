"""Export a case as a Perfetto trace: one track for each owner of a resource, next to overlaps and generations, on the reference clock.

The format is Chrome's trace event JSON, which ui.perfetto.dev and its trace processor read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import count
from typing import Any, TextIO

from forensics.report.model import Report
from forensics.report.row_times import VIEWS
from forensics.wording.formats import printable, printable_lines

Row = Mapping[str, Any]
Slice = dict[str, Any]


class _Tracks:
    """Numbers of processes and tracks, in the order of their first use, and the metadata that names them."""

    def __init__(self) -> None:
        self._groups: dict[str, int] = {}
        self._tracks: dict[tuple[int, str], int] = {}
        self._free: dict[tuple[int, str], list[datetime]] = {}
        self._next = count(1)
        self.named: list[Slice] = []

    def group(self, title: str) -> int:
        if title not in self._groups:
            pid = self._groups[title] = next(self._next)
            self.named.append({"ph": "M", "name": "process_name", "pid": pid, "args": {"name": printable(title)}})
            self.named.append({"ph": "M", "name": "process_sort_index", "pid": pid, "args": {"sort_index": len(self._groups)}})
        return self._groups[title]

    def lane(self, pid: int, title: str, begin: datetime, end: datetime) -> dict[str, int]:
        """Return a track of this title that is free from `begin` to `end`, because Perfetto requires slices of one track to be nested or disjoint."""
        lanes = self._free.setdefault((pid, title), [])
        number = next((n for n, until in enumerate(lanes) if until <= begin), len(lanes))
        lanes[number : number + 1] = [end]
        return self._track(pid, title if number == 0 else f"{title} ({number + 1})")

    def _track(self, pid: int, title: str) -> dict[str, int]:
        key = (pid, title)
        if key not in self._tracks:
            tid = self._tracks[key] = next(self._next)
            self.named.append({"ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": {"name": printable(title)}})
            self.named.append({"ph": "M", "name": "thread_sort_index", "pid": pid, "tid": tid, "args": {"sort_index": len(self._tracks)}})
        return {"pid": pid, "tid": self._tracks[key]}


def write(report: Report, to: TextIO) -> int:
    """Write a trace.

    Args:
        report: the content.
        to: receives the JSON, one event per line.

    Returns:
        The number of slices.
    """
    tracks, number = _Tracks(), 0
    to.write('{"displayTimeUnit":"ms","traceEvents":[')
    separator = "\n"
    for drawn in _slices(report, tracks):
        to.write(separator + json.dumps(drawn, default=str))
        separator, number = ",\n", number + 1
    for named in tracks.named:
        to.write(separator + json.dumps(named))
        separator = ",\n"
    to.write("\n]}\n")
    return number


def _slices(report: Report, tracks: _Tracks) -> Iterator[Slice]:
    drawn = _Drawing(tracks, *(report.extent or (None, None)))

    def at(view: str, row: Row, *columns: str) -> datetime | None:
        """Return the first of some columns that has a time, on the reference clock."""
        column = next((c for c in columns if row[c]), "")
        time = VIEWS[view]
        return report.reference.time(row[time.whose] if column in time.own else None, row[column]) if column else None

    for group in report.groups:
        for g in sorted(group["generations"], key=lambda g: (g["incarnation"], g["generation"])):
            name = f"generation {g['generation']} ({(g['trigger'] or 'unknown').replace('_', ' ')})"
            begin = at("generation", g, "prepared_ts", "first_asked_ts", "first_joined_ts", "stabilized_ts")
            end = at("generation", g, "assigned_ts", "stabilized_ts", "last_synced_ts")
            yield from drawn.slice(_group(g), "rebalances", begin, end, name, "rebalance", g)
    for o in sorted(report.ownership, key=lambda o: (str(o["resource"]), str(o["process_id"]), str(o["start_lo"] or ""))):
        yield from drawn.owned(o)
    for s in report.split_brain:
        if s["verdict"] != "refuted":
            title = f"{s['resource_kind']} {s['resource']}: two owners ({s['kind']}): {s['process_a']} and {s['process_b']}"
            begin, end = s["from_lo"] or s["from_hi"] or drawn.first, s["to_hi"] or s["to_lo"] or drawn.last
            yield from drawn.slice(_group(s), title, begin, end, f"{s['verdict']}: {s['kind']}", "overlap", s)
    for e in report.coordinator_episodes:
        name = f"coordinator lost ({e['cause']})"
        begin, end = at("coordinator_episode", e, "lost_ts"), at("coordinator_episode", e, "found_ts") or drawn.last
        yield from drawn.slice(_group(e), f"coordinator lost: {e['process_id']}", begin, end, name, "coordinator", e)
    for p in report.case["processes"]:
        begin, end = at("process", p, "first_ts"), at("process", p, "last_ts")
        yield from drawn.slice("processes", p["process_id"], begin, end, p["process_id"], "process", p)
    for c in report.coverage:
        if c["kind"] != "covered" and c["process_id"] is not None:
            title = f"{c['process_id']}: not seen"
            begin, end = at("coverage", c, "from_ts"), at("coverage", c, "to_ts") or drawn.last
            yield from drawn.slice("processes", title, begin, end, c["note"] or c["kind"], "coverage", c)
    for f in report.findings:
        yield from drawn.slice("findings", f["rule"], f["from_ts"], f["to_ts"] or f["from_ts"], f["headline"], "finding", f)


class _Drawing:
    """Rows as slices.

    Args:
        tracks: the tracks to draw on.
        first: beginning of the case, and of slices without a beginning.
        last: end of the case.
    """

    def __init__(self, tracks: _Tracks, first: datetime | None, last: datetime | None) -> None:
        self._tracks, self.first, self.last = tracks, first, last

    def slice(self, group: str, title: str, begin: datetime | None, end: datetime | None, name: str, category: str, row: Row) -> Iterator[Slice]:
        if begin is not None and end is not None:
            track = self._tracks.lane(self._tracks.group(group), title, begin, max(begin, end))
            yield _complete(begin, end, name, category, track) | {"args": _arguments(row)}

    def owned(self, o: Row) -> Iterator[Slice]:
        """Yield an owner's whole possible time, and inside it the time for which ownership is certain."""
        begin, end = o["start_lo"] or o["start_hi"] or self.first, o["stop_hi"] or o["stop_lo"] or self.last
        name = f"{o['resource']} may be here"
        for outer in self.slice(_group(o), f"{o['resource_kind']} {o['resource']}: {o['process_id']}", begin, end, name, "possible", o):
            yield outer
            if o["start_hi"] and o["stop_lo"] and o["start_hi"] < o["stop_lo"]:
                yield _complete(o["start_hi"], o["stop_lo"], f"{o['resource']} is here", "certain", {"pid": outer["pid"], "tid": outer["tid"]})


def _complete(begin: datetime, end: datetime, name: str, category: str, track: Mapping[str, int]) -> Slice:
    return {"ph": "X", "ts": _micros(begin), "dur": max(0, _micros(end) - _micros(begin)), "name": printable(name), "cat": category, **track}


def _arguments(row: Row) -> dict[str, Any]:
    """Return the row's own columns as Perfetto shows them next to a slice; a proof as `path:line`."""
    shown = {k: v for k, v in row.items() if v is not None and not isinstance(v, (list, dict))}
    lines = [f"{w['path']}:{w['line']}" for w in row.get("witness") or () if isinstance(w, Mapping) and "path" in w]
    arguments = {k: v.isoformat() if isinstance(v, datetime) else v for k, v in shown.items()} | ({"proof": ", ".join(lines)} if lines else {})
    return {k: printable_lines(v) if isinstance(v, str) else v for k, v in arguments.items()}


def _group(row: Row) -> str:
    return f"group {row['group_id']}" + (f" on {row['kafka_cluster']}" if row.get("kafka_cluster") else "")


def _micros(at: datetime) -> int:
    return round(at.timestamp() * 1_000_000)
