"""The form of one member's outage: a time in which no coordinator answered it, by its own clock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

#: Kafka numbers the connection to a coordinator by this number less the id of its broker.
_COORDINATOR_NODES = 2147483647


class Client(NamedTuple):
    """A client of a group in one run of a process.

    Attributes:
        client: its client.id, or its task or thread if no client.id is printed.
    """

    process_id: str
    instance: int
    group_id: str | None
    client: str


@dataclass(frozen=True, kw_only=True)
class Outage:
    """A time in which a client had no coordinator that answered. The fields up to `witness` are columns of `coordinator_outage`.

    Attributes:
        of: the client.
        lost_pos: position of its first loss; None: it never found a coordinator.
        found_pos: position of the line that ended it; None: no line did.
        is_unsure: True if it may have had a coordinator in the meantime.
    """

    of: Client
    kafka_cluster: str | None
    client_id: str | None
    is_worker: bool | None
    task: str | None
    never: bool = False
    was_member: bool = False
    broker_id: int | None = None
    broker: str | None = None
    new_broker_id: int | None = None
    is_refused: bool = False
    lost_ms: int | None
    found_ms: int | None = None
    closed_ms: int | None = None
    back_ms: int | None = None
    losses: int = 0
    flaps: int = 0
    causes: Sequence[str] = ()
    revoked: bool = False
    thrown_out: bool = False
    left_group: bool = False
    witness: Sequence[str]
    lost_pos: int | None = None
    found_pos: int | None = None
    is_unsure: bool = False


def broker_of(coordinator_node: int | None) -> int | None:
    """Return the broker of a coordinator connection."""
    return None if coordinator_node is None else _COORDINATOR_NODES - coordinator_node
