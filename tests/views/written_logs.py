# SPDX-License-Identifier: Apache-2.0
"""Small logs written for what they show: a stamp, a message, and the logger that prints it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from forensics.case.folder import Case

CLIENT = "org.apache.kafka.clients.consumer.internals"
CONNECT = "org.apache.kafka.connect.runtime"


def stamp(seconds: float) -> str:
    return f"[2026-03-01 10:{int(seconds) // 60:02d}:{int(seconds) % 60:02d},{round(seconds * 1000) % 1000:03d}]"


def consumer(client: str, group: str, *lines: tuple[float, str]) -> str:
    """A consumer's log of release 3.9: seconds and message; the logger follows from the message."""
    out = []
    for at, message in lines:
        if message.startswith("ConsumerConfig"):
            out.append(f"{stamp(at)} INFO {message} (org.apache.kafka.clients.consumer.ConsumerConfig)")
            continue
        logger = f"{CLIENT}.ConsumerCoordinator"
        if message.startswith(("Adding", "Revoke", "Lost")):
            logger = f"{CLIENT}.ConsumerRebalanceListenerInvoker"
        prefix = f"[Consumer clientId={client}, groupId={group}] "
        if message.startswith("Setting offset"):
            prefix, logger = "", f"{CLIENT}.ConsumerUtils"
        out.append(f"{stamp(at)} INFO {prefix}{message} ({logger})")
    return "\n".join(out) + "\n"


def config(client: str, group: str, **more: str) -> str:
    keys = {"client.id": client, "group.id": group, "partition.assignment.strategy": "[class org.apache.kafka.clients.consumer.RangeAssignor]"}
    return "ConsumerConfig values: \n" + "".join(f"\t{k} = {v}\n" for k, v in sorted((keys | more).items()))


def joined(generation: int, member: str, *partitions: str) -> list[str]:
    who = f"Generation{{generationId={generation}, memberId='{member}', protocol='range'}}"
    return [
        f"Successfully joined group with generation {who}",
        f"Successfully synced group in generation {who}",
        f"Adding newly assigned partitions: {', '.join(partitions)}",
    ]


def starts(partition: str, offset: int) -> str:
    return f"Setting offset for partition {partition} to the committed offset FetchPosition{{offset={offset}, offsetEpoch=Optional[0]}}"


def told(*lines: tuple[float, str | list[str]]) -> list[tuple[float, str]]:
    """Lists of messages at one time, spread by milliseconds."""
    return [(at + i / 1000, m) for at, messages in lines for i, m in enumerate([messages] if isinstance(messages, str) else messages)]


def case_of(logs: Mapping[str, str], root: Path, views: Iterable[str] = ()) -> Case:
    """Write logs below a folder, read them, and build their views: all, or those of these names."""
    from some_views import with_views

    from forensics.case.ingestion import ingest
    from forensics.case.views import build
    from forensics.engines import engine

    for path, text in logs.items():
        file = root / "logs" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    case = ingest([root / "logs"], root / "case").case
    return with_views(case, engine(), views) if views else build(case, engine())
