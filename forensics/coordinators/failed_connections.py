"""Find the connection errors of members during their outages."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from forensics.relations.conditions import one_of
from forensics.relations.missing import minus, order, there, up_to

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs, Row

_FAILED = ("connection_failed", "bootstrap_failed")
_EVENTS = (*_FAILED, "authentication_failed", "coordinator_lookup_failed")
#: A node above this is not a broker, but a coordinator's separate connection.
_NODE_MOST = 1_000_000_000


class FailedConnections:
    """The connection errors in the logs of the members.

    Args:
        inputs: rows of `fact_line`.
        outages: rows of `group_outage`.
    """

    def __init__(self, inputs: Inputs, outages: Sequence[Row]) -> None:
        self._before_ms = inputs.knobs.outage_before_ms
        processes = {client["process_id"] for outage in outages for client in outage["clients"] or ()}
        columns = ["process_id", "instance", "event", "node_id", "said", "at_ms", "event_id"]
        self._lines: defaultdict[tuple[str, int], list[Row]] = defaultdict(list)
        for line in inputs.rows("fact_line", columns, one_of("event", _EVENTS) & one_of("process_id", processes)) if processes else ():
            if line["at_ms"] is not None:
                self._lines[line["process_id"], line["instance"]].append(line)
        for lines in self._lines.values():
            lines.sort(key=lambda line: int(line["at_ms"]))

    def of(self, outage: Row) -> Row:
        """Return what the errors of the members show in the meantime. A line counts for each client of its process that had no coordinator then."""
        counts: Counter[str] = Counter()
        found: list[Row] = []
        for line, times in self._in(outage):
            found.append(line)
            counts["failed"] += times * (line["event"] in _FAILED)
            counts["bootstrap"] += times * (line["event"] == "bootstrap_failed" or (line["node_id"] is not None and line["node_id"] < 0))
        of_event = {event: [line for line in found if line["event"] == event] for event in _EVENTS}
        failed, refused = of_event["connection_failed"], of_event["authentication_failed"]
        nodes = {line["node_id"] for line in failed if line["node_id"] is not None and 0 <= line["node_id"] <= _NODE_MOST}
        return {
            "failed_connections": counts["failed"],
            "failed_nodes": len(nodes) if found else None,
            "bootstrap_failed": counts["bootstrap"],
            "authentication": max(there(line["said"] for line in refused), default=None),
            "authentication_id": min(there(line["event_id"] for line in refused), default=None),
            "lookup": max(there(line["said"] for line in of_event["coordinator_lookup_failed"]), default=None),
            "failed_id": min(failed, key=lambda line: order([line["at_ms"], line["event_id"]]))["event_id"] if failed else None,
        }

    def _in(self, outage: Row) -> Iterator[tuple[Row, int]]:
        """Yield the lines in the members' own spans of an outage, and in how many spans each one is."""
        spans: defaultdict[tuple[str, int], list[tuple[int, int]]] = defaultdict(list)
        for client in outage["clients"] or ():
            from_ms = minus(client["from_ms"], self._before_ms)
            if from_ms is not None and up_to(from_ms, client["to_ms"]):
                spans[client["process_id"], client["instance"]].append((from_ms, client["to_ms"]))
        for run, its in spans.items():
            begins, ends, lines = sorted(begin for begin, _ in its), sorted(end for _, end in its), self._lines.get(run, [])
            for at in range(bisect_left(lines, begins[0], key=_at), bisect_right(lines, ends[-1], key=_at)):
                times = bisect_right(begins, lines[at]["at_ms"]) - bisect_left(ends, lines[at]["at_ms"])
                if times:
                    yield lines[at], times


def _at(line: Row) -> int:
    return int(line["at_ms"])
