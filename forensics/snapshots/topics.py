"""Read `kafka-topics --describe` of every release.

A topic's line has PartitionCount, ReplicationFactor and Configs; a partition's line Leader, Replicas and Isr. Releases up to 2.3 print `Topic:foo`,
later ones `Topic: foo`; 2.8 added TopicId, 2.6 Adding and Removing Replicas, 4.0 Elr and LastKnownElr. Tabs separate fields; in a paste, blanks do.
"""

from __future__ import annotations

import re
from typing import Any

from forensics.redaction import hide
from forensics.snapshots.observation import Line, Observation

_FIELD = re.compile(r"(?:^|(?<=\s))((?:Adding |Removing )?[A-Z][A-Za-z]*): ?")
_CONFIG = re.compile(r",(?=[\w.-]+=)")
_NOBODY = {"none", "-1", "N/A", ""}
_OWN = {"Topic", "TopicId", "PartitionCount", "ReplicationFactor", "Configs", "Partition", "Leader", "Replicas", "Isr"}


def read_topic_line(line: Line) -> Observation | None:
    """Return the topic or partition in a line; None for any other line."""
    fields = _fields(line.text)
    topic = fields.get("Topic")
    if not topic or any(c.isspace() for c in topic):
        return None
    others = {k: v for k, v in fields.items() if k not in _OWN}
    if fields.get("PartitionCount", "").isdigit():
        factor = fields.get("ReplicationFactor", "")
        captures: dict[str, Any] = {
            "topic": topic,
            "topic_id": _known(fields.get("TopicId")),
            "replication_factor": int(factor) if factor.isdigit() else None,
            "config": _configs(fields.get("Configs", "")),
            "columns": {"PartitionCount": fields["PartitionCount"], **others},
        }
        return Observation.of(line, "topic_described", captures)
    if fields.get("Partition", "").isdigit() and "Leader" in fields and "Replicas" in fields:
        leader = fields["Leader"]
        captures = {
            "topic": topic,
            "partition": f"{topic}-{int(fields['Partition'])}",
            "topic_id": _known(fields.get("TopicId")),
            "broker_id": int(leader) if leader.isdigit() else None,
            "replicas": brokers(fields["Replicas"]),
            "isr": brokers(fields["Isr"]) if "Isr" in fields else None,
            "columns": others,
        }
        return Observation.of(line, "partition_described", captures)
    return None


def brokers(text: str) -> list[str]:
    """Return the broker IDs in `1,2,3`."""
    return [b for b in (part.strip() for part in text.split(",")) if b.isdigit()]


def _fields(text: str) -> dict[str, str]:
    marks = list(_FIELD.finditer(text))
    if not marks or marks[0][1] != "Topic" or text[: marks[0].start()].strip():
        return {}
    fields: dict[str, str] = {}
    for mark, following in zip(marks, [*marks[1:], None], strict=True):
        fields.setdefault(mark[1], text[mark.end() : following.start() if following else len(text)].strip())
        if mark[1] == "Configs" and following is None:
            break
    return fields


def _configs(text: str) -> dict[str, str]:
    pairs = (part.partition("=") for part in _CONFIG.split(text) if "=" in part)
    return {key: hide(key, value) for key, _, value in pairs}


def _known(text: str | None) -> str | None:
    return None if text is None or text in _NOBODY else text
