"""Compute the view `group_outage`: outages of a group's coordinator that affected its members, over all of them."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from forensics.coordinators.served_processes import ServedProcesses
from forensics.logs.filtered_logs import filtered_logs
from forensics.logs.lost_ranges import LostRanges
from forensics.relations.inputs import once
from forensics.relations.missing import events_of, first, greatest, least, less, minus, names, order, plus, there, up_to

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs, Knobs, Row

_SESSION_EXPIRED = re.compile("session (timed out|expired)")
#: The reference of clients that never found a coordinator: they have none, and such clients of one group form one outage.
_NO_REFERENCE = "-"
_WITNESS_MOST = 16


@dataclass(frozen=True)
class _Outage:
    """The outage of one member.

    Attributes:
        row: its row of `coordinator_outage`.
        found_ms: it found a coordinator, or its process reached one, by its own clock; None: not shown.
        found_hi_ms: it found one, or was closed, at this time at the latest; None: neither.
        duration_ms: its length; None: unknown.
        session_ms: its session timeout as printed; None: it is not.
        bootstrap: its bootstrap.servers; None: unknown.
        is_lost: True if it lost its membership at the same moment, which is reported.
    """

    row: Row
    found_ms: int | None
    found_hi_ms: int | None
    duration_ms: int | None
    session_ms: int | None = None
    bootstrap: str | None = None
    is_lost: bool = False

    @property
    def reference(self) -> str:
        """Return the process on whose clock its bounds are."""
        return _NO_REFERENCE if self.row["never"] else str(self.row["reference_process_id"])

    @property
    def is_open(self) -> bool:
        """Return True if no line shows its end."""
        return self.found_ms is None and self.row["closed_ms"] is None

    @property
    def certain_ms(self) -> int | None:
        """Return its shortest length, if that differs from its longest."""
        certain_ms: int | None = self.row["certain_ms"] if self.found_ms is None and self.duration_ms is not None else None
        return certain_ms

    @property
    def end_ms(self) -> int | None:
        """Return its end, or the end of its log, by its own clock."""
        end_ms: int | None = first(self.found_ms, self.row["closed_ms"], self.row["last_ms"])
        return end_ms


@once
def rows(inputs: Inputs) -> list[Row]:
    """Return the rows of the view `group_outage`."""
    of_group: defaultdict[tuple[Any, ...], list[_Outage]] = defaultdict(list)
    for outage in _known(inputs):
        if _is_relevant(outage, inputs.knobs):
            of_group[outage.row["kafka_cluster"], outage.row["group_id"], outage.reference, outage.row["never"]].append(outage)
    return [
        _row(key, nth, outages, inputs.knobs)
        for key, its in of_group.items()
        for nth, outages in enumerate(_apart(its, inputs.knobs.outage_apart_ms))
    ]


def _known(inputs: Inputs) -> Iterator[_Outage]:
    """Yield the outages whose length and end are known, with what else is known about the members."""
    outages = inputs.rows("coordinator_outage")
    if not outages:
        return
    served, settings, losses = ServedProcesses(inputs, outages), _Settings(inputs), _lost_memberships(inputs)
    filtered = filtered_logs(inputs)
    lost = LostRanges(inputs)
    for row in outages:
        outage = _with_end(row, served.since(row))
        # Without a recovery in a filtered log, or before a lost range, the length and the end of the outage are unknown.
        is_filtered = outage.found_ms is None and row["process_id"] in filtered
        if not is_filtered and not (outage.is_open and lost.in_time(row["process_id"], row["lost_ms"], None)):
            session_ms, bootstrap = settings.of(row)
            is_lost = row["lost_ms"] is not None and (row["process_id"], row["group_id"], row["client"], row["lost_ms"]) in losses
            yield replace(outage, session_ms=session_ms, bootstrap=bootstrap, is_lost=is_lost)


def _with_end(row: Row, served_ms: int | None) -> _Outage:
    """Return an outage; it ended at the latest when its process could reach the coordinator."""
    length_ms = minus(served_ms, row["lost_ms"])
    return _Outage(
        row,
        found_ms=first(row["found_ms"], served_ms),
        found_hi_ms=first(row["found_hi_ms"], plus(length_ms, row["lost_hi_ms"])),
        duration_ms=None if row["duration_ms"] is None else first(length_ms, row["duration_ms"]),
    )


class _Settings:
    """The settings of workers and consumers.

    Args:
        inputs: rows of `worker_setting` and `setting`.
    """

    def __init__(self, inputs: Inputs) -> None:
        self._of_worker = {row["process_id"]: row for row in inputs.rows("worker_setting", ["process_id", "session_ms", "bootstrap"])}
        self._sessions: dict[tuple[str, str | None], int | None] = {}
        self._bootstraps: dict[tuple[str, str | None], str] = {}
        for row in inputs.rows("setting", ["process_id", "component", "client_id", "key", "value"], pc.field("component") == "ConsumerConfig"):
            client = row["process_id"], row["client_id"]
            if row["key"] == "session.timeout.ms":
                self._sessions[client] = greatest(self._sessions.get(client), _number(row["value"]))
            elif row["key"] == "bootstrap.servers" and row["value"] is not None:
                self._bootstraps[client] = max(self._bootstraps.get(client, ""), row["value"])

    def of(self, outage: Row) -> tuple[int | None, str | None]:
        """Return a member's session timeout and bootstrap.servers."""
        client = outage["process_id"], outage["client_id"]
        worker: Row = self._of_worker.get(outage["process_id"], {}) if outage["is_worker"] else {}
        return first(self._sessions.get(client), worker.get("session_ms")), first(worker.get("bootstrap"), self._bootstraps.get(client))


def _number(value: str | None) -> int | None:
    """Return the number that a setting is; None: it is none."""
    return int(value) if value is not None and re.fullmatch(r"\s*[+-]?\d{1,18}\s*", value) else None


def _lost_memberships(inputs: Inputs) -> set[tuple[str, str, str, int | None]]:
    """Return the memberships whose loss is reported, and when their clients noticed it. A refusal without a member id is not reported by itself."""
    columns = ["process_id", "group_id", "client", "noticed_ms", "kind", "member_id"]
    return {
        (row["process_id"], row["group_id"], row["client"], row["noticed_ms"])
        for row in inputs.rows("lost_membership", columns)
        if row["member_id"] is not None or row["kind"] not in ("refused", None)
    }


def _is_relevant(outage: _Outage, knobs: Knobs) -> bool:
    """Return True if an outage of a member counts as one of its group."""
    its = outage.row
    session_ms = first(outage.session_ms, knobs.least_session_default_ms)
    is_long = less(session_ms, outage.duration_ms)
    # A client that closes while it waits for its first coordinator counts only if it waited long.
    had_reason = its["was_member"] or (outage.found_ms is None and (its["closed_ms"] is None or is_long))
    # A worker revokes its work one heartbeat interval after it notices the loss, long before the session expires.
    is_effective = (its["revoked"] and its["is_worker"]) or its["left_group"]
    # One whose session expired had no answer for longer than that. If its membership was lost too, that is reported.
    is_expired = not outage.is_lost and any(_SESSION_EXPIRED.search(cause) for cause in its["causes"] or ())
    # A member that keeps finding and losing it has none either. Twice is normal while a broker restarts, unless the log ends meanwhile.
    flaps, rest_ms = first(its["flaps"], 0), minus(its["last_ms"], outage.found_ms)
    is_flapping = flaps >= knobs.flaps_many or (flaps > 1 and up_to(rest_ms, knobs.coordinator_settled_ms))
    return bool(had_reason and (is_long or is_effective or is_expired or is_flapping))


def _apart(outages: Sequence[_Outage], gap_ms: int) -> Iterator[list[_Outage]]:
    """Yield the outages of members that form one outage of their group. One without a recovery lasts, so no other one begins after it."""
    part: list[_Outage] = []
    is_open, to_ms = False, None
    for outage in sorted(outages, key=lambda outage: order([outage.row[name] for name in ("lost_lo_ms", "process_id", "instance", "client")])):
        if part and not is_open and less(plus(to_ms, gap_ms), outage.row["lost_lo_ms"]):
            yield part
            part = []
        part.append(outage)
        is_open, to_ms = is_open or outage.found_hi_ms is None, greatest(to_ms, outage.found_hi_ms)
    yield part


def _is_late(outage: _Outage, served_ms: int | None, late_ms: int) -> bool:
    """Return True if a member still had no coordinator when another one had one again: only the member itself explains that."""
    its = outage.row
    without_ms = plus(minus(first(outage.found_ms, its["last_ms"]), its["lost_ms"]), its["lost_lo_ms"])
    return its["closed_ms"] is None and up_to(its["lost_hi_ms"], served_ms) and less(plus(served_ms, late_ms), without_ms)


def _row(key: tuple[Any, ...], nth: int, outages: Sequence[_Outage], knobs: Knobs) -> Row:
    """Return the row of an outage of a group."""
    kafka_cluster, group_id, reference, never = key
    its = [outage.row for outage in outages]
    served_ms = least(*(outage.found_hi_ms for outage in outages if outage.found_ms is not None))
    late = [_is_late(outage, served_ms, knobs.outage_late_ms) for outage in outages]
    each = [outage for outage, is_late in zip(outages, late, strict=True) if not is_late]
    is_open = any(outage.is_open for outage in outages)
    return {
        "outage_id": _id(*there([kafka_cluster, group_id, reference]), str(never).lower(), str(nth)),
        "kafka_cluster": kafka_cluster,
        "group_id": group_id,
        "reference_process_id": reference,
        "never": never,
        "from_ms": least(*(row["lost_lo_ms"] for row in its)),
        "first_lost_ms": least(*(row["lost_hi_ms"] for row in its)),
        "last_lost_lo_ms": greatest(*(row["lost_lo_ms"] for row in its)),
        "last_lost_ms": greatest(*(row["lost_hi_ms"] for row in its)),
        "to_ms": None if is_open else greatest(*(outage.found_hi_ms for outage in outages)),
        "open": is_open,
        "longest_ms": greatest(*(outage.duration_ms for outage in outages)),
        "each_lo_ms": least(*(first(outage.certain_ms, outage.duration_ms) for outage in each)),
        "each_hi_ms": greatest(*(outage.duration_ms for outage in each)),
        "served_ms": served_ms,
        "late": names(row["process_id"] for row, is_late in zip(its, late, strict=True) if is_late),
        "session_ms": greatest(*(first(outage.session_ms, knobs.least_session_default_ms) for outage in outages)),
        "session_told_ms": greatest(*(outage.session_ms for outage in outages)),
        "back_ms": greatest(*(minus(row["back_ms"], row["lost_ms"]) for row in its)),
        "bootstrap": max(there(outage.bootstrap for outage in outages), default=None),
        "is_settled": all(_is_settled(outage, knobs.coordinator_settled_ms) for outage in outages),
        "clients": _clients(outages),
        **_of_members(its),
    }


def _of_members(its: Sequence[Row]) -> Row:
    """Return what the outages of the members have in common or add up to."""
    return {
        "who": names(row["process_id"] for row in its),
        "members": len({(row["process_id"], row["client"]) for row in its}),
        "is_worker": any(there(row["is_worker"] for row in its)),
        "is_sink": any(row["task"] is not None for row in its),
        "broker_id": greatest(*(row["broker_id"] for row in its)),
        "broker": max(there(row["broker"] for row in its), default=None),
        "new_broker_id": greatest(*(row["new_broker_id"] for row in its)),
        "causes": names(*(row["causes"] for row in its)),
        "losses": sum(there(row["losses"] for row in its)),
        "flaps": sum(there(row["flaps"] for row in its)),
        "revoked": len({row["process_id"] for row in its if row["revoked"]}),
        "thrown_out": len({row["process_id"] for row in its if row["thrown_out"]}),
        "left_group": any(row["left_group"] for row in its),
        "witness": events_of((row["witness"] for row in its), _WITNESS_MOST),
    }


def _is_settled(outage: _Outage, settled_ms: int) -> bool:
    """Return True if the member's log continues for long enough after it found the coordinator, or the member was closed."""
    rest_ms = minus(outage.row["last_ms"], outage.found_ms)
    return outage.row["closed_ms"] is not None if rest_ms is None else rest_ms > settled_ms


def _clients(outages: Sequence[_Outage]) -> list[Row]:
    """Return the members' own spans."""
    spans = {(outage.row["process_id"], outage.row["instance"], outage.row["lost_ms"], outage.end_ms) for outage in outages}
    return [dict(zip(("process_id", "instance", "from_ms", "to_ms"), span, strict=True)) for span in sorted(spans, key=order)]


def _id(*parts: str) -> str:
    return hashlib.sha256("|".join(parts).encode()).hexdigest()[:16]
