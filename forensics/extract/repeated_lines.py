"""Find lines that a log contains twice. Only their first copy is read.

Single lines may appear twice at the same time, because of two appenders or a shipper that retries; these are doubled lines. The tasks that read leave
them out if no other record of the file is between them, whether that has a row or not. Two clients of one process may legitimately print the same
message at the same time. Lines of members are therefore left out only if they identify their client.

Or a part of a log may be joined twice, or two parts overlap.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from forensics.extract.stream_segments import MAX_PARTS
from forensics.extract.stream_summaries import CLIENT, SET, codes_of, further_row
from forensics.records.timestamps import SECOND
from forensics.records.vectorized.buffers import Flags, Ints

DOUBLED = "doubled"
#: Columns by which a line identifies its client.
_IDS = (*CLIENT, "member_id", "group_instance_id", "broker_id")
#: Categories of lines that each client of a process prints for itself.
_OF_CLIENTS = pa.array(["membership", "assignment", "coordinator", "offsets", "streams"])
#: From this share of the lines on, and this number, the doubling comes from what writes the log, not from its content.
_MANY, _FEW = 0.05, 3
#: Fewer equal lines may be a coincidence if new lines follow.
_MIN_LINES = 3
#: Two workers can print the same lines about one rebalance within one second.
_MIN_IN_SECONDS = 50
#: Two loops do not print the same message in this many equal milliseconds.
_MOMENTS = 10


class Doubled(NamedTuple):
    """Lines of a process that were left out: the byte and time of the first, their number, that of different ones, and the first and last copy that
    is read.
    """

    process_id: str
    begin: int
    ts: int
    records: int
    different: int
    ids: Sequence[str]


def repeated_rows(events: pa.RecordBatch, again: Flags) -> tuple[Flags, list[tuple[str, Doubled]]]:
    """Return which rows are to be left out, and the file and a description of them.

    Args:
        events: rows of events, in the order of their files.
        again: True for each row of a record that is equal to the record just before it.
    """
    left_out = again.copy()
    some = np.flatnonzero(again)
    rows = events.select(["category", *_IDS]).take(pa.array(some))
    identified = ~pc.is_in(rows["category"].cast(pa.string()), _OF_CLIENTS).to_numpy(zero_copy_only=False)
    for name in _IDS:
        identified |= rows[name].is_valid().to_numpy(zero_copy_only=False)
    left_out[some] = identified
    paths, processes = (events[name].dictionary_encode() for name in ("path", "process_id"))
    streams = codes_of(paths) * len(processes.dictionary) + codes_of(processes)
    found = []
    for stream in np.unique(streams[left_out]).tolist():
        mine = np.flatnonzero(streams == stream)
        out = np.flatnonzero(left_out[mine])
        firsts = np.flatnonzero(~left_out[mine])
        firsts = firsts[np.isin(firsts + 1, out)]
        first = int(mine[out[0]])
        place, ts = events["byte_offset"][first].as_py(), events["ts"].cast(pa.int64())[first].as_py()
        ids = events["event_id"].take(pa.array(mine[firsts[[0, -1]]])).to_pylist() if len(firsts) else []
        doubled = Doubled(events["process_id"][first].as_py(), place, ts, len(out), len(firsts), ids)
        found.append((events["path"][first].as_py(), doubled))
    return left_out, found


def doubled_rows(ranges: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the row of `range_row` for each file and process with doubled lines. It says `doubled` if many lines appear twice.

    Args:
        ranges: rows of `range_row`, each with what was `doubled` in it.
    """
    by_stream: dict[tuple[str, str], list[tuple[Mapping[str, Any], Doubled]]] = defaultdict(list)
    rows_in: Counter[str] = Counter()
    for row in sorted(ranges, key=lambda row: int(row["range_start"])):
        rows_in[row["path"]] += int(row["events"]) - int(row["counted"])
        for doubled in (Doubled(*values) for values in row["doubled"]):
            by_stream[row["path"], doubled.process_id].append((row, doubled))
    for (path, process), found in by_stream.items():
        row, first = found[0]
        records, different = (sum(getattr(doubled, name) for _, doubled in found) for name in ("records", "different"))
        why = DOUBLED if different >= max(_FEW, _MANY * (rows_in[path] - records)) else ""
        ids = [event_id for _, doubled in found for event_id in doubled.ids]
        ends = dict.fromkeys([*ids[:1], *ids[-1:]])
        yield {**further_row(row, process, first.begin, (first.ts, first.ts), why, list(ends)), "repeats": records}


def repeats(times: Ints, contents: Callable[[], Sequence[pa.Array]], back: int) -> list[tuple[int, int, int]]:
    """Find where a log goes back in time and repeats lines, because a part was joined twice or two parts overlap.

    Args:
        times: times of all lines.
        contents: returns columns that are equal for lines with the same content.
        back: minimum step back in time, microseconds.

    Returns:
        The first line of each repeated run, the line after its last, and the line that the first one repeats.
    """
    backs = (np.flatnonzero(np.diff(times) <= -back) + 1).tolist()
    if not 0 < len(backs) < MAX_PARTS:
        return []
    parts = np.searchsorted(backs, np.arange(len(times)), side="right")
    _, earliest, moment = np.unique(times, return_index=True, return_inverse=True)
    # A log may well contain equal lines with one time within one part.
    in_several = np.zeros(len(earliest), bool)
    in_several[moment[parts > parts[earliest[moment]]]] = True
    some = np.flatnonzero(in_several[moment])
    if not len(some):
        return []
    keys = np.stack([times[some], *(codes_of(column)[some] for column in contents())])
    order = np.lexsort(keys)
    begins = np.flatnonzero(np.append(True, (np.diff(keys[:, order], axis=1) != 0).any(axis=0)))
    first = np.empty(len(some), np.int64)
    first[order] = np.repeat(some[order[begins]], np.diff(np.append(begins, len(some))))
    again = np.flatnonzero(parts[some] > parts[first])
    runs = np.split(again, np.flatnonzero(np.diff(some[again]) != 1) + 1) if len(again) else []
    found = [(int(some[run[0]]), int(some[run[-1]]) + 1, int(first[run[0]])) for run in runs]
    return [place for place, run in zip(found, runs, strict=True) if _is_no_chance(keys[:, run]) or _is_all_that_goes_back(times, place[0], place[1])]


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
