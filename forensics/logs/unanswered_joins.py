"""Find requests to join without an answer, although the coordinator must have answered: the answer is missing, and with it what the member was assigned."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import zip_longest
from typing import TYPE_CHECKING

from forensics.logs.events import event_table, events
from forensics.logs.gaps import Gap
from forensics.relations.conditions import one_of, one_of_numbers
from forensics.relations.missing import first, greatest, less, minus

if TYPE_CHECKING:
    from forensics.logs.clusters import Clusters
    from forensics.relations.inputs import Inputs, Row

#: A run of a process.
Run = tuple[str, int]
#: Lines that are no answer. A client that has lost its coordinator prints that.
_NO_ANSWERS = frozenset(["joining", "worker_rebalance_started", "heartbeat_failed", "leaving", "partitions_revoked"])
_WORKER = object()
_INTEGER = re.compile(r"[+-]?[0-9]+")


class UnansweredJoins:
    """Requests to join that no line of their client answers. The coordinator answers when the rebalance timeout has passed.

    Args:
        inputs: rows of `setting` and of events.
    """

    def __init__(self, inputs: Inputs) -> None:
        self._inputs = inputs
        self._timeouts = _timeouts(inputs)
        self._asked: list[tuple[Row, Row | None]] = []

    def add(self, lines: list[Row]) -> None:
        """Add the lines of one client in one run of a process, in order."""
        for line, following in zip_longest(lines, lines[1:]):
            if line["event"] == "joining" and (following is None or following["event"] in _NO_ANSWERS):
                self._asked.append((line, following))

    def gaps(self, clusters: Clusters) -> Iterator[Gap]:
        """Yield the gaps between the requests and the next line of the client, or the last one of its process run."""
        ends = _last_lines(self._inputs, {_run(line) for line, after in self._asked if after is None or after["at_ms"] is None}, clusters)
        for line, following in self._asked:
            end = ends.get(_run(line))
            next_ms = first(following["at_ms"] if following is not None else None, end["ts"] if end is not None else None)
            shown = following if following is not None else end
            if shown is not None and less(self._longest_ms(line), minus(next_ms, line["at_ms"])):
                yield Gap(*_run(line), line["stream_pos"], shown["stream_pos"], is_wide=True, why="join_unanswered", event_id=shown["event_id"])

    def _longest_ms(self, line: Row) -> int:
        """Return after which time the coordinator certainly answered."""
        knobs = self._inputs.knobs
        usual_ms = knobs.usual_worker_rebalance_ms if line["is_worker"] else knobs.usual_poll_ms
        timeout_ms = self._timeouts.get((line["process_id"], _WORKER if line["is_worker"] else line["client"]))
        return int(knobs.heartbeat_late_ms + first(timeout_ms, usual_ms))


def _run(line: Row) -> Run:
    return line["process_id"], line["instance"]


def _timeouts(inputs: Inputs) -> dict[tuple[str, object], int | None]:
    """Return the rebalance timeouts of the worker and the consumers of each process."""
    found: dict[tuple[str, object], int | None] = {}
    keys = {"DistributedConfig": "rebalance.timeout.ms", "ConsumerConfig": "max.poll.interval.ms"}
    columns = ["process_id", "component", "client_id", "key", "value"]
    for row in inputs.rows("setting", columns, one_of("key", keys.values())):
        value = (row["value"] or "").strip()
        if keys.get(row["component"]) == row["key"] and _INTEGER.fullmatch(value):
            client = row["process_id"], row["client_id"] if row["component"] == "ConsumerConfig" else _WORKER
            found[client] = greatest(found.get(client), int(value))
    return found


def _last_lines(inputs: Inputs, runs: Iterable[Run], clusters: Clusters) -> dict[Run, Row]:
    """Return the last lines of runs."""
    of_process = defaultdict(list)
    for process_id, instance in runs:
        of_process[process_id].append(instance)
    if not of_process:
        return {}
    wanted = one_of("process_id", of_process)
    positions = defaultdict(list)
    for process_id, pos in zip(*event_table(inputs, ["process_id", "stream_pos"], wanted).to_pydict().values(), strict=True):
        positions[process_id].append(pos)
    last: dict[tuple[str, int], Run] = {}
    for process_id, instances in of_process.items():
        its = sorted(positions[process_id])
        for instance in instances:
            # The run of a position grows with it.
            end = bisect_left(its, instance + 1, key=lambda pos, of=process_id: clusters.instance(of, pos))  # type: ignore[misc]
            if end:
                last[process_id, its[end - 1]] = process_id, instance
    lines = events(inputs, ["process_id", "stream_pos", "event_id", "ts"], wanted & one_of_numbers("stream_pos", (pos for _, pos in last)))
    return {last[place]: line for line in lines if (place := (line["process_id"], line["stream_pos"])) in last}
