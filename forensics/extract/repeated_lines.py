"""Find lines that appear twice in a log because a part was joined twice or two parts overlap. Only their first occurrence is read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from forensics.extract.joined_parts import MAX_PARTS
from forensics.extract.repairs import REPEATED, Repair
from forensics.extract.stream_lines import StreamLines
from forensics.extract.stream_summaries import SET, codes_of
from forensics.records.timestamps import SECOND
from forensics.records.vectorized.buffers import Ints

#: Fewer equal lines may be a coincidence if new lines follow.
_MIN_LINES = 3
#: Two workers can print the same lines about one rebalance within one second.
_MIN_IN_SECONDS = 50
#: Two loops do not print the same message in this many equal milliseconds.
_MOMENTS = 10


def repeats(times: Ints, contents: Sequence[pa.Array], back: int) -> list[tuple[int, int, int]]:
    """Find where a log goes back in time and repeats lines, because a part was joined twice or two parts overlap.

    Args:
        times: times of all lines.
        contents: columns that are equal for lines with the same content.
        back: minimum step back in time, microseconds.

    Returns:
        The first line of each repeated run, the line after its last, and the line that the first one repeats.
    """
    backs = (np.flatnonzero(np.diff(times) <= -back) + 1).tolist()
    if not 0 < len(backs) < MAX_PARTS:
        return []
    keys = np.stack([times, *(codes_of(column) for column in contents)])
    order = np.lexsort(keys)
    begins = np.flatnonzero(np.append(True, (np.diff(keys[:, order], axis=1) != 0).any(axis=0)))
    first = np.empty(len(times), np.int64)
    first[order] = np.repeat(order[begins], np.diff(np.append(begins, len(times))))
    parts = np.searchsorted(backs, np.arange(len(times)), side="right")
    # A log may well contain equal lines with one time within one part.
    again = np.flatnonzero(parts > parts[first])
    runs = np.split(again, np.flatnonzero(np.diff(again) != 1) + 1) if len(again) else []
    return [
        (int(run[0]), int(run[-1]) + 1, int(first[run[0]]))
        for run in runs
        if _is_no_chance(keys[:, run]) or _is_all_that_goes_back(times, int(run[0]), int(run[-1]) + 1)
    ]


def _is_no_chance(keys: Ints) -> bool:
    """Return True if lines, given as columns of time and content, are too many and too different for two processes to print the same ones."""
    is_exact = bool((keys[0] % SECOND).any())
    moments, kinds = len(np.unique(keys[0])), np.unique(keys[1:], axis=1).shape[1]
    if keys.shape[1] < (_MIN_LINES if is_exact else _MIN_IN_SECONDS):
        return False
    return moments > 1 and kinds > 1 or is_exact and moments >= _MOMENTS


def _is_all_that_goes_back(times: Ints, begin: int, end: int) -> bool:
    """Return True if a log goes back at `begin` and continues after `end` where it was, except for the last lines, which may be cut.

    A clock that was set back does not repeat lines. A few repeated lines come from a thread that was held up only if they are hardly late.
    """
    back_at = int(times[begin - 1])
    if times[begin] > back_at - SET:
        return False
    return bool(end >= len(times) - 1 or times[end : end + 2].max() >= back_at - SET)


def repairs_of(lines: StreamLines, repeated: Iterable[tuple[int, int, int]]) -> Iterator[Repair]:
    """Yield the repairs of repeated lines."""
    for begin, end, first in repeated:
        # Unrecognised lines after the last repeated one may be new.
        at, to = int(lines.pos[begin]), int(lines.pos[end - 1]) + 1
        since = int(lines.ts[begin - 1])
        until = int(lines.ts[end]) if end < len(lines.ts) else None
        jump = int(lines.ts[end - 1]), until or 0
        events = lines.events([first, first + 1, begin - 2, begin - 1])
        yield Repair(lines.name, at, to, 0, 0, lines.name, REPEATED, lines.paths[begin].as_py(), jump, until, since, events)
