"""Read the occurrences of which a root cause consists."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from forensics.relations.inputs import Row


@dataclass(frozen=True)
class Part:
    """One occurrence of a root cause, with the cause, its alternatives and the cluster of the whole."""

    incident_id: str
    cause: str
    alternatives: Sequence[str]
    kafka_cluster: str | None
    from_lo_ms: int | None
    from_hi_ms: int | None
    to_lo_ms: int | None
    to_hi_ms: int | None
    process_id: str | None
    instance: int | None
    member_ids: Sequence[str]


def parts(root_causes: Iterable[Row]) -> list[Part]:
    """Return the occurrences of these root causes."""
    return [
        Part(
            cause["incident_id"],
            cause["cause"],
            cause["alternatives"] or (),
            cause["kafka_cluster"],
            part["from_lo_ms"],
            part["from_hi_ms"],
            part["to_lo_ms"],
            part["to_hi_ms"],
            part["process_id"],
            part["instance"],
            part["member_ids"] or (),
        )
        for cause in root_causes
        for part in cause["parts"] or ()
    ]
