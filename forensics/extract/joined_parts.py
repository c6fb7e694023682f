"""Parts of one process's log that were joined in another order than that of time, as `cat connect.log*` joins them (the newest comes first), or twice."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from forensics.records.timestamps import SECOND

_Ints = npt.NDArray[np.int64]
#: Of more parts of one log that were joined in the wrong order nobody asks.
MOST_PARTS = 200
#: More than so many of each part are lines of two that print side by side.
_MOST_CUT = 4
#: Fewer lines may be alike by chance.
_LEAST_REPEATED = 3
#: Two workers say the same of one rebalance in one second.
_LEAST_IN_SECONDS = 50
_Same = Callable[[Sequence["Part"], Sequence["Part"]], bool]


@dataclass(frozen=True)
class Part:
    """Lines that stand together.

    Attributes:
        begin, end: the first, and the one behind the last.
        owner: process that they were taken to be of.
        names: what that process is called in them; it has one name.
        members: member ids in them; each is one process's.
    """

    begin: int
    end: int
    owner: int
    names: frozenset[Hashable] = frozenset()
    members: frozenset[Hashable] = frozenset()


def in_order(parts: Sequence[Part], times: _Ints, jitter: int, near: int, soon: int = -1) -> list[list[Part]]:
    """The parts of each process, in the order of time; one that goes on behind another, older one is cut there.

    Parts are of one process if they have a name or a member id in common, and no two of them were printed at one time. In a log that names one process
    at most, what follows shortly after another part is of the same process.

    Args:
        parts: of one log.
        times: of all lines.
        jitter: by how much threads print out of order.
        near: what is shortly, where one of the two has no member id.
        soon: what it is where both have some; a process has several one after the other, or for several groups.
    """

    def follow(one: Sequence[Part], other: Sequence[Part]) -> bool:
        most = soon if _members(one) and _members(other) else near
        spans = [(_span(a, times), _span(b, times)) for a in one for b in other]
        return any(abs(begin - last) <= most or abs(first - end) <= most for (first, last), (begin, end) in spans)

    groups = _merged([[p] for p in parts], _are_akin)
    if len(_merged([g for g in groups if _names(g)], _are_akin)) <= 1:
        groups = _merged(groups, follow)
    found: list[list[Part]] = []
    for group in groups:
        ordered = _ordered(group, times, jitter)
        found += [ordered] if ordered else _merged([[p] for p in group], _have_one_owner)
    return found


def moves(places: Sequence[tuple[int, int]]) -> list[int]:
    """What is to be added to the places of parts, each from the first to the one behind the last, so that they are in the order of the list."""
    found: list[int] = []
    floor: int | None = None
    for begin, end in reversed(places):
        move = 0 if floor is None else min(0, floor - end)
        floor = begin + move
        found.append(move)
    return found[::-1]


def _merged(groups: list[list[Part]], are_same: _Same) -> list[list[Part]]:
    """Groups of parts, of which those that are the same are one."""
    found: list[list[Part]] = []
    for group in groups:
        same = [g for g in found if are_same(g, group)]
        found = [*(g for g in found if g not in same), sum(same, []) + group]
    return found


def _have_one_owner(one: Sequence[Part], other: Sequence[Part]) -> bool:
    return any(a.owner == b.owner for a in one for b in other)


def _names(group: Sequence[Part]) -> set[Hashable]:
    return {name for part in group for name in part.names}


def _members(group: Sequence[Part]) -> set[Hashable]:
    return {member for part in group for member in part.members}


def _are_akin(one: Sequence[Part], other: Sequence[Part]) -> bool:
    if _names(one) and _names(other):
        return not _names(one).isdisjoint(_names(other))
    return _have_one_owner(one, other) or not _members(one).isdisjoint(_members(other))


def _span(part: Part, times: _Ints) -> tuple[int, int]:
    printed = times[part.begin : part.end]
    return int(printed.min()), int(printed.max())


def _ordered(group: Sequence[Part], times: _Ints, jitter: int) -> list[Part]:
    """Parts by their time, cut where others go in between; none if they were printed side by side."""

    def by_time(parts: Sequence[Part]) -> list[Part]:
        return sorted(parts, key=lambda p: _span(p, times))

    whole, at = by_time(group), 0
    while at + 1 < len(whole):
        part, next_begins = whole[at], _span(whole[at + 1], times)[0] + jitter
        if _span(part, times)[1] > next_begins:
            cut = part.begin + int(np.argmax(times[part.begin : part.end] > next_begins))
            before, behind = replace(part, end=cut), replace(part, begin=cut)
            if cut == part.begin or _span(before, times)[1] > next_begins or len(whole) >= _MOST_CUT * len(group):
                return []
            whole = by_time([*whole[:at], before, *whole[at + 1 :], behind])
        at += 1
    return whole


def repeats(times: _Ints, said: Sequence[pa.Array], back: int) -> list[tuple[int, int, int]]:
    """Where a log goes back and says again what it has said: a part was joined twice, or two parts overlap.

    Args:
        times: of all lines.
        said: columns in which lines are alike that say the same.
        back: times go back by so much at least.

    Returns:
        The first line of each run, the one behind its last, and the one that says first what the run begins with.
    """
    backs = (np.flatnonzero(np.diff(times) <= -back) + 1).tolist()
    if not 0 < len(backs) < MOST_PARTS:
        return []
    codes = [c if pa.types.is_dictionary(c.type) else c.dictionary_encode() for c in said]
    keys = np.stack([times, *(c.indices.fill_null(-1).to_numpy(zero_copy_only=False) for c in codes)])
    alike = np.lexsort(keys)
    begins = np.flatnonzero(np.append(True, (np.diff(keys[:, alike], axis=1) != 0).any(axis=0)))
    first = np.empty(len(times), np.int64)
    first[alike] = np.repeat(alike[begins], np.diff(np.append(begins, len(times))))
    parts = np.searchsorted(backs, np.arange(len(times)), side="right")
    # What is said twice at one time in one part, a log may well hold.
    again = np.flatnonzero(parts > parts[first])
    runs = np.split(again, np.flatnonzero(np.diff(again) != 1) + 1) if len(again) else []
    return [(int(run[0]), int(run[-1]) + 1, int(first[run[0]])) for run in runs if _is_no_chance(keys[:, run])]


def _is_no_chance(keys: _Ints) -> bool:
    """Whether lines, of which each is a column of its time and what it says, are so many and so different that two processes do not print the same."""
    least = _LEAST_REPEATED if (keys[0] % SECOND).any() else _LEAST_IN_SECONDS
    return bool(keys.shape[1] >= least and len(np.unique(keys[0])) > 1 and len(np.unique(keys[1:], axis=1)[0]) > 1)
