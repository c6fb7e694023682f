"""Find requests to join without an answer, although the coordinator must have answered: the answer is missing, and with it what the member was assigned."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import zip_longest
from typing import TYPE_CHECKING

from forensics.logs.events import event_table, events
from forensics.logs.gaps import Gap
from forensics.relations.conditions import one_of, one_of_numbers
from forensics.relations.missing import first, greatest, less, minus

if TYPE_CHECKING:
    from forensics.logs.instances import Instances
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

    def gaps(self, instances: Instances) -> Iterator[Gap]:
        """Yield the gaps between the requests and the next line of the client, or the last one of its process run."""
        ends = _last_lines(self._inputs, {_run(line) for line, after in self._asked if after is None or after["at_ms"] is None}, instances)
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


def _last_lines(inputs: Inputs, runs: Iterable[Run], instances: Instances) -> dict[Run, Row]:
    """Return the last lines of runs."""
    asked = set(runs)
    if not asked:
        return {}
    wanted = one_of("process_id", (process_id for process_id, _ in asked))
    its = instances.added(event_table(inputs, ["process_id", "stream_pos"], wanted))
    its = its.group_by(["process_id", "instance"]).aggregate([("stream_pos", "max")])
    columns = (its.column(name).to_pylist() for name in ("process_id", "instance", "stream_pos_max"))
    last = {(process_id, pos): (process_id, instance) for process_id, instance, pos in zip(*columns, strict=True) if (process_id, instance) in asked}
    lines = events(inputs, ["process_id", "stream_pos", "event_id", "ts"], wanted & one_of_numbers("stream_pos", (pos for _, pos in last)))
    return {last[place]: line for line in lines if (place := (line["process_id"], line["stream_pos"])) in last}
