# SPDX-License-Identifier: Apache-2.0
"""A consumer of aiokafka: `CONFIG TRUTH`. The library logs through `logging`, as the application does."""

from __future__ import annotations

import asyncio
import logging
import sys

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, TopicPartition
from aiokafka.errors import CommitFailedError, KafkaError
from truth import Truth

log = logging.getLogger("orders")


class Listener(ConsumerRebalanceListener):
    """Writes down what the consumer gets and loses."""

    def __init__(self, truth: Truth) -> None:
        self._truth = truth

    async def on_partitions_revoked(self, revoked: set[TopicPartition]) -> None:
        """Write what it loses."""
        self._truth.revoked(revoked)

    async def on_partitions_assigned(self, assigned: set[TopicPartition]) -> None:
        """Write what it gets."""
        self._truth.assigned(assigned)


async def consume(truth: Truth) -> None:
    """Consume until asked to end."""
    s = truth.settings
    consumer = AIOKafkaConsumer(bootstrap_servers=s["bootstrap"], **truth.arguments)
    consumer.subscribe([s["topic"]], listener=Listener(truth))
    await consumer.start()
    while not truth.ending:
        try:
            batches = await consumer.getmany(timeout_ms=200)
            while truth.blocked:
                await asyncio.sleep(0.1)
            if batches:
                truth.consumed((r.topic, r.partition, r.offset) for batch in batches.values() for r in batch)
                await consumer.commit()
        except CommitFailedError as error:
            log.warning("commit failed: %s", error)
        except KafkaError as error:
            log.warning("consumer failed: %r", error)
            if not error.retriable:
                raise
    await consumer.stop()


def main() -> None:
    """Start the consumer."""
    truth = Truth(sys.argv[1], sys.argv[2])
    logging.basicConfig(level=truth.settings.get("level") or "INFO", format="%(asctime)s %(levelname)s %(name)s %(message)s")
    asyncio.run(consume(truth))


if __name__ == "__main__":
    main()
