# SPDX-License-Identifier: Apache-2.0
"""A consumer of confluent-kafka (librdkafka): `CONFIG TRUTH`. The library prints to stderr in its own format, the application through `logging`."""

from __future__ import annotations

import logging
import sys
import time

from confluent_kafka import Consumer, KafkaException
from truth import Truth

log = logging.getLogger("orders")


def main() -> None:
    """Consume until asked to end."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    truth = Truth(sys.argv[1], sys.argv[2])
    s = truth.settings
    config = {
        "bootstrap.servers": s["bootstrap"],
        "group.id": s["group"],
        "client.id": s["client_id"],
        "session.timeout.ms": s["session_ms"],
        "heartbeat.interval.ms": s["heartbeat_ms"],
        "max.poll.interval.ms": s["max_poll_ms"],
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "partition.assignment.strategy": s.get("strategy") or "range,roundrobin",
    }
    if s.get("instance_id"):
        config["group.instance.id"] = s["instance_id"]
    if s.get("debug"):
        config["debug"] = s["debug"]
    consumer = Consumer(config, logger=logging.getLogger("kafka")) if s.get("python_logger") else Consumer(config)

    consumer.subscribe(
        [s["topic"]],
        on_assign=lambda c, p: truth.assigned(p),
        on_revoke=lambda c, p: truth.revoked(p),
        on_lost=lambda c, p: truth.revoked(p),
    )
    log.info("consuming %s", s["topic"])
    while not truth.ending:
        records = []
        for message in consumer.consume(100, timeout=0.2):
            if message.error():
                log.warning("%s", message.error())
            else:
                records.append((message.topic(), message.partition(), message.offset()))
        while truth.blocked:
            time.sleep(0.1)
        if records:
            truth.consumed(records)
            try:
                consumer.commit(asynchronous=False)
            except KafkaException as error:
                log.warning("commit failed: %s", error)
    consumer.close()
    log.info("closed")


if __name__ == "__main__":
    main()
