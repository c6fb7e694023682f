"""Find the brokers that did not run for a while, as their own logs show. The pauses of members are among the rows of `process_trouble`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from forensics.causes.brokers import broker_name
from forensics.causes.trouble import Trouble
from forensics.clocks.offsets import Clocks
from forensics.relations.by_key import ByKey
from forensics.relations.missing import between, minus, names, plus

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs


def broker_pauses(inputs: Inputs) -> Iterator[Trouble]:
    """Yield the pauses of brokers, with the groups from which they removed members when they continued."""
    pauses = inputs.rows("process_pause")
    if not pauses:
        return
    noticed_ms = inputs.knobs.pause_noticed_ms
    clocks = Clocks(inputs)
    brokers = ByKey(inputs.rows("cluster_broker"), "process_id")
    removed = ByKey(inputs.rows("lost_membership", columns=["broker", "group_id", "kind", "removed_hi_ms"]), "broker")
    for pause in pauses:
        for broker in brokers[pause["process_id"]][:1]:
            for after_lo_ms, after_hi_ms in clocks.bounds(pause["process_id"], pause["after_ms"]):
                groups = (
                    row["group_id"]
                    for row in removed[pause["process_id"]]
                    if row["kind"] == "coordinator" and between(minus(after_lo_ms, noticed_ms), row["removed_hi_ms"], plus(after_hi_ms, noticed_ms))
                )
                yield Trouble(
                    cause="process_paused",
                    kafka_cluster=broker["kafka_cluster"],
                    group_ids=names(groups),
                    subject=broker_name(broker["broker_id"]),
                    process_id=pause["process_id"],
                    instance=pause["instance"],
                    from_lo_ms=minus(after_lo_ms, pause["most_ms"]),
                    from_hi_ms=minus(after_hi_ms, pause["least_ms"]),
                    to_lo_ms=minus(after_lo_ms, inputs.knobs.heartbeat_late_ms),
                    to_hi_ms=after_hi_ms,
                    witness=pause["witness"] or (),
                )
