"""Find logs of applications that are complete although no line shows the start of their process."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow.compute as pc

from forensics.logs.events import event_table, events

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs

#: Configurations that a client prints when it is created.
_OF_CLIENTS = ("ConsumerConfig", "ProducerConfig", "AdminClientConfig", "StreamsConfig")


def complete_client_logs(inputs: Inputs) -> set[str]:
    """Return the processes whose logs begin with a client's settings, release or subscription, and have one of these for each consumer.

    An application does not log its start.

    Args:
        inputs: rows of `event_row`.
    """
    event, component = pc.field("event"), pc.field("component")
    announced = events(
        inputs,
        ["process_id", "event", "client_id", "config"],
        (event == "subscribed") | (event == "config_dumped") & (component == "ConsumerConfig"),
    )
    names = {
        (row["process_id"], row["client_id"] if row["event"] == "subscribed" else dict(row["config"] or ()).get("client.id")) for row in announced
    }
    consumers = event_table(inputs, ["process_id", "client_id"], (pc.field("client_kind") == "Consumer") & pc.field("group_id").is_valid())
    pairs = consumers.group_by(["process_id", "client_id"]).aggregate([]).to_pylist()
    unannounced = {row["process_id"] for row in pairs if row["client_id"] is None or (row["process_id"], row["client_id"]) not in names}
    return _beginning_with_a_client(inputs) - unannounced


def _beginning_with_a_client(inputs: Inputs) -> set[str]:
    """Return the processes whose first event is a client's start."""
    lines = event_table(inputs, ["process_id", "stream_pos", "event", "component"])
    begins = lines.group_by("process_id").aggregate([("stream_pos", "min")])
    first = lines.join(begins, ["process_id", "stream_pos"], ["process_id", "stream_pos_min"], join_type="inner")
    return {
        row["process_id"]
        for row in first.to_pylist()
        if row["event"] in ("kafka_version", "subscribed") or (row["event"] == "config_dumped" and row["component"] in _OF_CLIENTS)
    }
