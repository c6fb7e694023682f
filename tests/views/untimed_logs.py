# SPDX-License-Identifier: Apache-2.0
"""Written logs without times (`%m (%c:%L)%n`), and timed logs with their times taken away; some lines keep a level before the message."""

from __future__ import annotations

import re

GROUP = "orders-app"
FIRST, SECOND = "consumer-1-1bdfd1ea-5b85-4a4c-8d2d-bd5d43b65b6a", "consumer-1-77777777-5b85-4a4c-8d2d-bd5d43b65b6a"
_CLIENTS = "org.apache.kafka.clients.consumer.internals"
_BUFFER = "java.nio.HeapByteBuffer[pos=0 lim=18 cap=18]"
_TIMED = re.compile(r"\[\d{4}-[^\]]*\] (?P<level>[A-Z]+) (?P<rest>.*)")


def _lines(generation: int, shares: dict[str, list[str]], before: list[str]) -> list[tuple[str, str]]:
    """One round of the member FIRST, which leads, as (class, message)."""
    known = FIRST if generation > 1 else ""
    protocols = f"group_protocols=[{{protocol_name=range,protocol_metadata={_BUFFER}}}]"
    members = ",".join(f"{{member_id={m},member_metadata={_BUFFER}}}" for m in shares)
    given = ",".join(f"{{member_id={m},member_assignment={_BUFFER}}}" for m in shares)
    plan = ", ".join(f"{m}=Assignment(partitions=[{', '.join(p)}])" for m, p in shares.items())
    identity = f"group_id={GROUP},session_timeout=30000,member_id={known},protocol_type=consumer"
    return [
        ("ConsumerCoordinator", f"Revoking previously assigned partitions [{', '.join(before)}]"),
        ("AbstractCoordinator", f"(Re-)joining group {GROUP}"),
        ("AbstractCoordinator", f"Issuing request (JOIN_GROUP: {{{identity},{protocols}}}) to coordinator 2147483646"),
        (
            "AbstractCoordinator",
            f"Joined group: {{error_code=0,generation_id={generation},group_protocol=range,leader_id={FIRST},member_id={FIRST},members=[{members}]}}",
        ),
        ("ConsumerCoordinator", f"Finished assignment: {{{plan}}}"),
        (
            "AbstractCoordinator",
            f"Issuing leader SyncGroup (SYNC_GROUP: {{group_id={GROUP},generation_id={generation},member_id={FIRST},group_assignment=[{given}]}}) "
            "to coordinator 2147483646",
        ),
        ("AbstractCoordinator", f"Received successful sync group response for group {GROUP}: {{error_code=0,member_assignment={_BUFFER}}}"),
        ("ConsumerCoordinator", f"Setting newly assigned partitions [{', '.join(shares[FIRST])}]"),
        ("AbstractCoordinator", "Received successful heartbeat response."),
    ]


def consumer_0_9() -> str:
    """A consumer of release 0.9 at DEBUG: it joins alone, and again when a second member comes."""
    lines = [("AbstractCoordinator", "Issuing group metadata request to broker 1")]
    lines += _lines(1, {FIRST: ["orders-0", "orders-1", "orders-2"]}, [])
    lines += [("AbstractCoordinator", "Attempt to heart beat failed since the group is rebalancing, try to re-join group.")]
    lines += _lines(2, {FIRST: ["orders-0", "orders-1"], SECOND: ["orders-2"]}, ["orders-0", "orders-1", "orders-2"])
    levels = {5: "DEBUG ", 10: "INFO "}
    return "".join(f"{levels.get(i, '')}{message} ({_CLIENTS}.{name}:{300 + i})\n" for i, (name, message) in enumerate(lines))


def without_times(text: str) -> str:
    """A log in Kafka's own layout as `%m (%c:%L)%n` prints it; every seventh line keeps its level."""
    out, number = [], 0
    for line in text.split("\n"):
        if timed := _TIMED.fullmatch(line):
            number += 1
            line = (f"{timed['level']} " if number % 7 == 0 else "") + re.sub(r" \(([\w.$]+)\)$", r" (\1:123)", timed["rest"])
        out.append(line)
    return "\n".join(out)
