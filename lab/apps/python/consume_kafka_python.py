# SPDX-License-Identifier: Apache-2.0
"""A consumer of kafka-python: `CONFIG TRUTH`. The library logs through `logging`, as the application does."""

from __future__ import annotations

import logging
import sys
import time

from kafka import ConsumerRebalanceListener, KafkaConsumer, TopicPartition
from kafka.errors import CommitFailedError, KafkaError
from truth import Truth

log = logging.getLogger("orders")


class Listener(ConsumerRebalanceListener):
    """Writes down what the consumer gets and loses."""

    def __init__(self, truth: Truth) -> None:
        self._truth = truth

    def on_partitions_revoked(self, revoked: set[TopicPartition]) -> None:
        """Write what it loses."""
        self._truth.revoked(revoked)

    def on_partitions_assigned(self, assigned: set[TopicPartition]) -> None:
        """Write what it gets."""
        self._truth.assigned(assigned)


def main() -> None:
    """Consume until asked to end."""
    truth = Truth(sys.argv[1], sys.argv[2])
    s = truth.settings
    logging.basicConfig(level=s.get("level") or "INFO", format="%(asctime)s %(levelname)s %(name)s %(message)s")
    consumer = KafkaConsumer(bootstrap_servers=s["bootstrap"].split(","), **truth.arguments)
    consumer.subscribe([s["topic"]], listener=Listener(truth))
    while not truth.ending:
        try:
            batches = consumer.poll(timeout_ms=200)
            while truth.blocked:
                time.sleep(0.1)
            if batches:
                truth.consumed((r.topic, r.partition, r.offset) for batch in batches.values() for r in batch)
                consumer.commit()
        except CommitFailedError as error:
            log.warning("commit failed: %s", error)
        except KafkaError as error:
            log.warning("consumer failed: %r", error)
            if not error.retriable:
                raise
    consumer.close()


if __name__ == "__main__":
    main()
