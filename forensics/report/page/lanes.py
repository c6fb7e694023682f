"""Lay out ownerships in rows and lanes: a row for each resource, in it a lane for each owner, and one more for its overlaps."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from forensics.clocks.reference import ms
from forensics.report.page.scene import Bar
from forensics.report.page.scene import Row as Drawn

if TYPE_CHECKING:
    from forensics.report.model import Report, Row
    from forensics.report.page.process_style import ProcessStyles

#: With more owners than this, owners that did not exist at the same time share lanes.
_OWN_LANES = 4
_KINDS = ("task", "connector", "partition")
_GRAVITY = {("proved", "work"): 0, ("proved", "thread"): 1, ("proved", "held"): 2}
_NUMBERS = re.compile(r"(\d+)")

Key = tuple[str, str, str, str]


@dataclass
class _Resource:
    """An unfinished row."""

    key: Key
    owned: list[Row] = field(default_factory=list)
    gravity: int = 9


@dataclass(frozen=True)
class Lanes:
    """Rows with their bars; `place` maps a resource to its row and the lane of its overlaps."""

    rows: tuple[Drawn, ...]
    bars: tuple[Bar, ...]
    place: Mapping[Key, tuple[int, int]]


def key_of(row: Row) -> Key:
    """Return what is owned: Kafka cluster, group, kind, name."""
    return (row["kafka_cluster"] or "", row["group_id"] or "", row["resource_kind"] or "", row["resource"] or "")


def lay_out(report: Report, styles: ProcessStyles, groups: Sequence[tuple[str, str]], first: float, last: float, owned: Iterable[Row]) -> Lanes:
    """Return the rows and bars of ownerships, group by group; resources with two owners at the same time come first in their group.

    Args:
        report: the report with the overlaps.
        styles: numbers of the owners.
        groups: Kafka cluster and ID of each group, in their order on the page.
        first: start of the bar of an ownership that began before its log.
        last: end of the bar of an ownership without an end.
        owned: the ownerships to draw.
    """
    found: dict[Key, _Resource] = {}
    for o in owned:
        key = key_of(o)
        found.setdefault(key, _Resource(key)).owned.append(o)
    for s in report.split_brain:
        if s["verdict"] != "refuted":
            resource = found.setdefault(key_of(s), _Resource(key_of(s)))
            resource.gravity = min(resource.gravity, _GRAVITY.get((s["verdict"], s["kind"]), 3))
    numbers = {group: n for n, group in enumerate(groups)}
    order = sorted(found.values(), key=lambda r: (numbers[r.key[:2]], r.gravity, _place(r.key[2]), _natural(r.key[3])))
    rows, bars, place = [], [], {}
    for number, resource in enumerate(order):
        mine = [_bar(number, o, styles, first, last) for o in resource.owned]
        mine.sort(key=lambda b: (b.start_lo, b.stop_hi, b.ownership_id))
        lanes = _lanes(mine)
        bars += [Bar(**{**vars(b), "lane": lane}) for b, lane in zip(mine, lanes, strict=True)]
        used = max(lanes, default=-1) + 1
        doubled = resource.gravity < 9
        rows.append(Drawn(numbers[resource.key[:2]], resource.key[2], resource.key[3], used + doubled, doubled))
        place[resource.key] = (number, used)
    return Lanes(tuple(rows), tuple(bars), place)


def _bar(row: int, o: Row, styles: ProcessStyles, first: float, last: float) -> Bar:
    start_lo, start_hi, stop_lo, stop_hi, work_to = (ms(o[k]) for k in ("start_lo", "start_hi", "stop_lo", "stop_hi", "work_stop_hi"))
    begin = start_lo if start_lo is not None else min(first, start_hi if start_hi is not None else first)
    known = [x for x in (start_hi, stop_lo) if x is not None]
    end = stop_hi if stop_hi is not None else max(last, *known) if known else last
    certain_from = start_hi if start_hi is not None else (stop_lo if stop_lo is not None else end)
    certain_to = stop_lo if stop_lo is not None else certain_from
    return Bar(
        row=row,
        lane=0,
        process=styles.number(o["process_id"]),
        start_lo=begin,
        start_hi=max(begin, certain_from),
        stop_lo=min(end, certain_to),
        stop_hi=end,
        work_to=min(end, work_to) if work_to is not None else end,
        open_start=start_lo is None,
        open_end=stop_hi is None,
        ownership_id=o["ownership_id"],
        generation=o["generation"],
        witness=tuple(o.get("witness") or ()),
    )


def _lanes(bars: Sequence[Bar]) -> list[int]:
    """Return a lane for each bar, in the order of the bars: one for each owner, and more if one owner existed twice at the same time."""
    owners = list(dict.fromkeys(b.process for b in bars))
    by_owner = len(owners) <= _OWN_LANES
    used: Counter[int] = Counter()
    free: dict[int, list[int]] = defaultdict(list)
    taken: dict[int, list[tuple[float, int]]] = defaultdict(list)
    local: dict[int, tuple[int, int]] = {}
    for begin, n in sorted(((b.start_lo + b.start_hi) / 2, n) for n, b in enumerate(bars)):
        owner = bars[n].process if by_owner else -1
        while taken[owner] and taken[owner][0][0] <= begin:
            heappush(free[owner], heappop(taken[owner])[1])
        if not free[owner]:
            heappush(free[owner], used[owner])
            used[owner] += 1
        lane = heappop(free[owner])
        heappush(taken[owner], (max(begin, (bars[n].stop_lo + bars[n].stop_hi) / 2), lane))
        local[n] = owner, lane
    base, total = {}, 0
    for owner in owners if by_owner else [-1]:
        base[owner] = total
        total += used[owner]
    return [base[owner] + lane for owner, lane in (local[n] for n in range(len(bars)))]


def _place(kind: str) -> int:
    return _KINDS.index(kind) if kind in _KINDS else len(_KINDS)


def _natural(name: str) -> list[tuple[int, int, str]]:
    """Return a sort key that puts `orders-2` before `orders-10`."""
    return [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in _NUMBERS.split(name) if part]
