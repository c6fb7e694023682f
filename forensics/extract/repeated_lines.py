"""Lines that stand in a log twice: a part of it was joined twice, or two parts overlap. They are read once, where they stand first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from forensics.extract.joined_parts import MOST_PARTS
from forensics.extract.jump_signs import SET
from forensics.extract.stream_lines import StreamLines, codes_of
from forensics.extract.stretches import REPEATED, Stretch
from forensics.records.timestamps import SECOND
from forensics.records.vectorized.buffers import Ints

#: Fewer lines may be alike by chance, where others follow that are new.
_LEAST = 3
#: Two workers say the same of one rebalance in one second.
_LEAST_IN_SECONDS = 50
#: Two loops do not say the same thing in so many of the same milliseconds.
_MOMENTS = 10


def repeats(times: Ints, said: Sequence[pa.Array], back: int) -> list[tuple[int, int, int]]:
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
    keys = np.stack([times, *(codes_of(column) for column in said)])
    alike = np.lexsort(keys)
    begins = np.flatnonzero(np.append(True, (np.diff(keys[:, alike], axis=1) != 0).any(axis=0)))
    first = np.empty(len(times), np.int64)
    first[alike] = np.repeat(alike[begins], np.diff(np.append(begins, len(times))))
    parts = np.searchsorted(backs, np.arange(len(times)), side="right")
    # What is said twice at one time in one part, a log may well hold.
    again = np.flatnonzero(parts > parts[first])
    runs = np.split(again, np.flatnonzero(np.diff(again) != 1) + 1) if len(again) else []
    return [
        (int(run[0]), int(run[-1]) + 1, int(first[run[0]]))
        for run in runs
        if _is_no_chance(keys[:, run]) or _is_all_that_goes_back(times, int(run[0]), int(run[-1]) + 1)
    ]


def _is_no_chance(keys: Ints) -> bool:
    """Whether lines, of which each is a column of its time and what it says, are so many and so different that two processes do not print the same."""
    is_exact = bool((keys[0] % SECOND).any())
    moments, kinds = len(np.unique(keys[0])), np.unique(keys[1:], axis=1).shape[1]
    if keys.shape[1] < (_LEAST if is_exact else _LEAST_IN_SECONDS):
        return False
    return moments > 1 and kinds > 1 or is_exact and moments >= _MOMENTS


def _is_all_that_goes_back(times: Ints, begin: int, end: int) -> bool:
    """Whether a log goes back where lines begin, and goes on behind them where it was, but for the last of them, which may be cut.

    A clock that was set back says nothing again; and few lines that do are those of a thread that was held up only if they are hardly late.
    """
    back_at = int(times[begin - 1])
    if times[begin] > back_at - SET:
        return False
    return bool(end >= len(times) - 1 or times[end : end + 2].max() >= back_at - SET)


def stretches_of(lines: StreamLines, repeated: Iterable[tuple[int, int, int]]) -> Iterator[Stretch]:
    """The stretches of lines that stand in the log before."""
    for begin, end, first in repeated:
        # What no pattern knows behind the last of them may be new.
        at, to = int(lines.pos[begin]), int(lines.pos[end - 1]) + 1
        since = int(lines.ts[begin - 1])
        until = int(lines.ts[end]) if end < len(lines.ts) else None
        jump = int(lines.ts[end - 1]), until or 0
        events = lines.events([first, first + 1, begin - 2, begin - 1])
        yield Stretch(lines.name, at, to, 0, 0, lines.name, REPEATED, lines.paths[begin].as_py(), jump, until, since, events)
