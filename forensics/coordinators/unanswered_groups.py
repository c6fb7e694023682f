"""Find the groups that had no coordinator although no member's log shows an outage.

Brokers named no coordinator to a client that never found one, or could not store a group.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING

from forensics.coordinators.failed_writes import WRITES, is_unwritten
from forensics.coordinators.group_outage import rows as group_outage
from forensics.relations.conditions import one_of
from forensics.relations.missing import greatest, least, less, minus, names, there

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs, Row

_LOOKUP = "coordinator_lookup_failed"
_NOT_AVAILABLE = re.compile("not.?available", re.IGNORECASE)
_FOUND = ("coordinator_discovered", "joined", "synced", "worker_assigned")
_EVENTS_MOST = 8


def unanswered_groups(inputs: Inputs) -> Iterator[Row]:
    """Yield rows of `unreached`; no line shows when these failures ended.

    Args:
        inputs: rows of `fact_line`, `group_outage`, `client_event` and `process`.
    """
    of_process = defaultdict(list)
    outages = {row["kafka_cluster"] for row in group_outage(inputs)}
    columns = ["kafka_cluster", "group_id", "process_id", "event", "said", "at_ms", "broker_id", "event_id"]
    for line in inputs.rows("fact_line", columns, one_of("event", (_LOOKUP, *WRITES))):
        is_refused = line["event"] == _LOOKUP and _NOT_AVAILABLE.search(line["said"] or "") is not None
        if (is_refused or is_unwritten(line)) and line["kafka_cluster"] not in outages:
            of_process[line["kafka_cluster"], line["process_id"], is_refused].append(line)
    ends = {row["process_id"]: row["last_ts"] for row in inputs.rows("process", ["process_id", "last_ts"])} if of_process else {}
    refused = {process_id for _, process_id, is_refused in of_process if is_refused}
    is_found = one_of("event", _FOUND) & one_of("process_id", refused)
    found = {process_id for (process_id,) in inputs.distinct("client_event", ["process_id"], is_found)} if refused else set()
    for (kafka_cluster, process_id, is_refused), lines in of_process.items():
        from_ms = least(*(line["at_ms"] for line in lines))
        # A log that ends soon after the first request shows only that the client was starting.
        is_starting = less(minus(ends.get(process_id), from_ms), inputs.knobs.outage_untroubled_ms)
        if not (is_refused and (process_id in found or is_starting)):
            yield {
                "how": "not_named" if is_refused else "not_stored",
                "kafka_cluster": kafka_cluster,
                "group_id": max(there(line["group_id"] for line in lines), default=None),
                "subject": process_id,
                "processes": [process_id],
                "from_ms": from_ms,
                "broker_id": greatest(*(line["broker_id"] for line in lines)),
                "failures": len(lines),
                "error": max(there(line["said"] for line in lines), default=None),
                "event_ids": names(line["event_id"] for line in lines)[:_EVENTS_MOST],
            }
