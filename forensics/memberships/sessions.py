"""Look up session timeouts as members, workers and brokers print them."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import pyarrow.compute as pc

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs

_KEY = "session.timeout.ms"


class PrintedSessions:
    """The session timeouts that processes print. For groups that the broker assigns, the broker's own setting counts, not the member's.

    Args:
        inputs: rows of `config_value` and `generation`.
    """

    def __init__(self, inputs: Inputs) -> None:
        self._of_client: dict[tuple[str, str | None], str] = {}
        self._of_worker: dict[str, str] = {}
        self._of_broker: dict[tuple[str, str], str] = {}
        columns = ["process_id", "component", "client_id", "key", "value"]
        for row in inputs.rows("config_value", columns, pc.ends_with(pc.field("key"), _KEY) & pc.field("value").is_valid()):
            process_id, value = row["process_id"], row["value"]
            if row["key"] != _KEY:
                self._of_broker[process_id, row["key"]] = max(value, self._of_broker.get((process_id, row["key"]), value))
                continue
            client = process_id, row["client_id"]
            self._of_client[client] = max(value, self._of_client.get(client, value))
            if row["component"] == "DistributedConfig":
                self._of_worker[process_id] = max(value, self._of_worker.get(process_id, value))
        protocols = defaultdict(set)
        for row in inputs.rows("generation"):
            protocols[row["kafka_cluster"], row["group_id"]].add(row["group_protocol"])
        self._protocols = {group: max(its - {None}) for group, its in protocols.items() if its - {None} and "classic" not in its}

    def protocol(self, kafka_cluster: str | None, group_id: str | None) -> str | None:
        """Return the protocol of a group that the broker assigns; None: its members assign."""
        return self._protocols.get((kafka_cluster, group_id))

    def own(self, process_id: str | None, client_id: str | None) -> int | None:
        """Return the session timeout that a client, or its worker, prints, in milliseconds."""
        if process_id is None:
            return None
        printed = self._of_client.get((process_id, client_id)) if client_id is not None else None
        return _number(printed if printed is not None else self._of_worker.get(process_id))

    def of_broker(self, process_id: str, protocol: str) -> int | None:
        """Return the session timeout that a broker prints for groups of a protocol, in milliseconds."""
        return _number(self._of_broker.get((process_id, f"group.{protocol}.{_KEY}")))


def _number(printed: str | None) -> int | None:
    return int(printed) if printed is not None and printed.strip().lstrip("-").isdecimal() else None
