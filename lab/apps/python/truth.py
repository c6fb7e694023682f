# SPDX-License-Identifier: Apache-2.0
"""What the Python consumers of the laboratory share: their settings, their files of truth, and what keeps them from going on."""

from __future__ import annotations

import json
import signal
import time
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any


class Truth:
    """A file of JSON lines in the form of Kafka's VerifiableConsumer; it begins with the settings, `CONFIG TRUTH` on the command line.

    Attributes:
        settings: of the consumer: bootstrap, group, topic, client_id, instance_id, session_ms, heartbeat_ms, max_poll_ms, debug, fault.
        ending: True once the process was asked to end.
    """

    def __init__(self, config: str, path: str) -> None:
        self.settings: dict[str, Any] = json.loads(Path(config).read_text(encoding="utf-8"))
        self._path = Path(path)
        self.ending = False
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._end)

    def _end(self, number: int, frame: object) -> None:
        self.ending = True

    def say(self, name: str, partitions: Iterable[dict[str, Any]] = ()) -> None:
        """Write one line."""
        line = {"timestamp": time.time_ns() // 1_000_000, "name": name, "partitions": list(partitions)}
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, separators=(",", ":")) + "\n")

    def assigned(self, partitions: Iterable[Any]) -> None:
        """Write that the consumer gets partitions: of any library, they have a `topic` and a `partition`."""
        self._has("partitions_assigned", partitions)

    def revoked(self, partitions: Iterable[Any]) -> None:
        """Write that the consumer loses partitions."""
        self._has("partitions_revoked", partitions)

    def _has(self, name: str, partitions: Iterable[Any]) -> None:
        self.say(name, ({"topic": topic, "partition": number} for topic, number in sorted((p.topic, p.partition) for p in partitions)))

    @property
    def arguments(self) -> dict[str, Any]:
        """Return the settings that the consumers of kafka-python and aiokafka are made with."""
        s = self.settings
        return {
            "group_id": s["group"],
            "client_id": s["client_id"],
            "session_timeout_ms": s["session_ms"],
            "heartbeat_interval_ms": s["heartbeat_ms"],
            "max_poll_interval_ms": s["max_poll_ms"],
            "auto_offset_reset": "earliest",
            "enable_auto_commit": False,
            **({"group_instance_id": s["instance_id"]} if s.get("instance_id") else {}),
        }

    def consumed(self, records: Iterable[tuple[str, int, int]]) -> None:
        """Write which offsets of which partitions were processed."""
        found: dict[tuple[str, int], list[int]] = defaultdict(list)
        for topic, number, offset in records:
            found[topic, number].append(offset)
        if found:
            self.say(
                "records_consumed",
                (
                    {"topic": topic, "partition": number, "count": len(offsets), "minOffset": min(offsets), "maxOffset": max(offsets)}
                    for (topic, number), offsets in sorted(found.items())
                ),
            )

    @property
    def blocked(self) -> bool:
        """Return True while a file says that processing does not go on."""
        return not self.ending and Path(f"{self.settings['fault']}.blocked").exists()
