"""The form of a pair of log lines of two processes where one must have happened before the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

#: A line: its time by its own clock, and its event.
Line = Mapping[str, Any]


class Edge(NamedTuple):
    """Two lines, of which the first one happened before the second; times are by each process's own clock."""

    rule: str
    from_process_id: str
    from_event_id: str
    from_ms: int
    to_process_id: str
    to_event_id: str
    to_ms: int


def edge(rule: str, process_id: str | None, line: Line | None, to_process_id: str | None, to_line: Line | None) -> Iterator[Edge]:
    """Yield the pair, if both lines are there and have a time."""
    if process_id is None or to_process_id is None or line is None or to_line is None or line["at_ms"] is None or to_line["at_ms"] is None:
        return
    yield Edge(rule, process_id, line["event_id"], line["at_ms"], to_process_id, to_line["event_id"], to_line["at_ms"])
