"""Find why a task or connector was started: a REST request, or what the worker's herder was doing."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from forensics.logs.events import events
from forensics.logs.instances import Instances
from forensics.relations.conditions import one_of
from forensics.relations.missing import minus, order, up_to
from forensics.tasks.failures import Resource, connector_of

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs, Row

_REST_URL = re.compile(r"^/connectors/([^/?]+)(?:/tasks/([0-9]+))?/restart")
_HTTP_REFUSED = 300


def starts_of(inputs: Inputs) -> dict[Resource, list[Row]]:
    """Return the starts of each task and connector, in the order of their positions.

    Args:
        inputs: rows of `task_line`.
    """
    columns = ["process_id", "instance", "resource_kind", "resource", "stream_pos", "at_ms", "event_id"]
    found = defaultdict(list)
    for row in inputs.rows("task_line", columns, pc.field("kind") == "start"):
        found[Resource(row["process_id"], row["instance"], row["resource_kind"], row["resource"])].append(row)
    for its in found.values():
        its.sort(key=lambda row: order([row["stream_pos"], row["event_id"]]))
    return found


class Restarts:
    """Why each task or connector was started.

    Args:
        inputs: rows of events.
        starts: the starts of each task and connector.
    """

    def __init__(self, inputs: Inputs, starts: Mapping[Resource, Sequence[Row]]) -> None:
        self._knobs = inputs.knobs
        self._starts = starts
        self._of_id = {start["event_id"]: (resource, nth) for resource, its in starts.items() for nth, start in enumerate(its)}
        instances = Instances(inputs)
        #: Accepted requests to restart a task or connector.
        self._requests: defaultdict[Resource, list[Row]] = defaultdict(list)
        columns = ["process_id", "stream_pos", "ts", "url", "http_status", "client_host", "event_id"]
        for row in events(inputs, columns, (pc.field("event") == "rest_request") & (pc.field("operation") == "POST")):
            url = _REST_URL.match(row["url"] or "")
            if url is not None and row["http_status"] is not None and row["http_status"] < _HTTP_REFUSED:
                kind, name = ("connector", url[1]) if url[2] is None else ("task", f"{url[1]}-{url[2]}")
                self._requests[Resource(row["process_id"], instances.at(row["process_id"], row["stream_pos"]), kind, name)].append(row)
        #: What the herder of each run of a process was doing.
        self._doing: defaultdict[tuple[str, int], list[Row]] = defaultdict(list)
        is_doing = one_of("event", ["work_starting", "work_started", "restart_executing"])
        for row in events(inputs, ["process_id", "stream_pos", "event", "connector", "event_id"], is_doing):
            self._doing[row["process_id"], instances.at(row["process_id"], row["stream_pos"])].append(row)
        for its in (*self._requests.values(), *self._doing.values()):
            its.sort(key=lambda row: order([row["stream_pos"], row["event_id"]]))

    def of(self, start_id: str | None) -> tuple[str | None, str | None]:
        """Return why a start happened, as a value of the view's column `restart_how`, and the host that sent a REST request."""
        if start_id is None or start_id not in self._of_id:
            return None, None
        resource, nth = self._of_id[start_id]
        start = self._starts[resource][nth]
        request = self._request_after(resource, nth)
        if request is not None and up_to(minus(request["ts"], start["at_ms"]), self._knobs.restart_answered_ms):
            return "rest", request["client_host"]
        doing = self._doing.get((resource.process_id, resource.instance), [])
        at = bisect_left(doing, (start["stream_pos"], start["event_id"]), key=itemgetter("stream_pos", "event_id"))
        mark = doing[at - 1] if at else {"event": None}
        if mark["event"] == "restart_executing" and mark["connector"] == connector_of(resource.kind, resource.name or ""):
            return "restart_plan", None
        return ("assignment" if mark["event"] == "work_starting" else None), None

    def instance(self, start_id: str | None) -> int | None:
        """Return the run of the process that a start belongs to."""
        return self._of_id[start_id][0].instance if start_id in self._of_id else None

    def _request_after(self, resource: Resource, nth: int) -> Row | None:
        """Return the first request after a start and before the next one: the answer is logged after the start that it caused."""
        starts, requests = self._starts[resource], self._requests.get(resource, [])
        at = bisect_right(requests, starts[nth]["stream_pos"], key=itemgetter("stream_pos"))
        is_before_next = at < len(requests) and (nth + 1 == len(starts) or requests[at]["stream_pos"] < starts[nth + 1]["stream_pos"])
        return requests[at] if is_before_next else None
