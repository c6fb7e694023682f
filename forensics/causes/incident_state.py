"""Decide whether an incident is over when the logs end, what is still open, and which process has to be stopped or started."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from forensics.causes.by_key import ByKey
from forensics.causes.ends_of_logs import LogEnds
from forensics.causes.missing import between, first, greatest, least, minus, names, there, up_to

if TYPE_CHECKING:
    from forensics.causes.inputs import Inputs, Row

#: What may still be open, the most severe first.
_STILL = (
    *("two_owners", "broker_away", "process_away", "rebalance", "offsets_topic", "no_coordinator", "declared", "clock"),
    *("not_started", "failed", "not_stored"),
)
_PAIR_RULES = ("split-brain-task", "split-brain-partition")


@dataclass(frozen=True)
class _Strand:
    """One condition of an incident: its end, or what is still open.

    Attributes:
        to_ms: it ended at this time; None: not over, or over at an unknown time.
        still: what is not over.
        is_unknown: True if it leaves no lines, so its state is unknown; None: over, at an unknown time.
        shown_ms: the logs show it up to this time.
        targets: processes or brokers to stop or start.
    """

    to_ms: int | None = None
    still: str | None = None
    is_unknown: bool | None = False
    shown_ms: int | None = None
    targets: Sequence[str] = ()


@dataclass(frozen=True)
class State:
    """Whether an incident is over when the logs end; the attributes are columns of the view `incident`."""

    state: str
    over_ms: int | None
    over_how: str | None
    shown_ms: int | None
    still: list[str]
    targets: list[str]


@dataclass(frozen=True)
class _OwnerPair:
    """Two owners that an incident had, and how that ended."""

    process_a: str
    to_ms: int | None
    shown_ms: int | None
    closed: tuple[str, ...]
    is_last: bool
    is_seen: bool


def states(inputs: Inputs) -> dict[str, State]:
    """Return the state of each incident."""
    ends = LogEnds(inputs)
    strands: defaultdict[str, list[_Strand]] = defaultdict(list)
    pairs = _owner_pairs(inputs, ends)
    for source in (_of_causes(inputs, ends), _of_owner_pairs(pairs), _of_gaps(inputs), _of_rebalances(inputs), _of_occurrences(inputs, ends)):
        for incident_id, strand in source:
            strands[incident_id].append(strand)
    return {incident_id: _state(parts, pairs.get(incident_id, ()), ends) for incident_id, parts in strands.items()}


def _state(strands: Sequence[_Strand], pairs: Sequence[_OwnerPair], ends: LogEnds) -> State:
    certain = [it.still for it in strands if it.still is not None and it.is_unknown is False]
    is_open, is_unknown = bool(certain), any(it.is_unknown for it in strands)
    is_over = not is_open and not is_unknown
    # If something is known to be open, unknown parts are not reported as open.
    open_ones = set(certain or there(it.still for it in strands))
    still = [condition for condition in _STILL if condition in open_ones]
    is_shut = any(pair.closed for pair in pairs)
    is_all = is_shut and all(pair.to_ms is not None for pair in pairs)
    over_how = "ended" if is_over else None
    if is_all and (is_over or is_open and still == ["two_owners"]):
        over_how = "shut_down"
    return State(
        state="open" if is_open else "unknown" if is_unknown else "over",
        over_ms=greatest(*(it.to_ms for it in strands)) if is_over and all(it.is_unknown is not None for it in strands) else None,
        over_how=over_how,
        shown_ms=None if is_over else first(least(*(it.shown_ms for it in strands)), ends.last_ms),
        still=still,
        targets=names(*(pair.closed for pair in pairs)) if is_over and is_shut else names(*(it.targets for it in strands)),
    )


def _of_causes(inputs: Inputs, ends: LogEnds) -> Iterator[tuple[str, _Strand]]:
    causes = inputs.rows("root_cause")
    back = _returns(inputs, causes)
    silent = {row["process_id"] for row in inputs.rows("silent_member", columns=["process_id", "how"]) if row["how"] not in (None, "gone")}
    for cause in causes:
        yield cause["incident_id"], _of_cause(inputs, cause, ends, back, silent)


def _of_cause(inputs: Inputs, row: Row, ends: LogEnds, back: dict[str, int | None], silent: set[str]) -> _Strand:
    cause, to_hi_ms, process_ids = row["cause"], row["to_hi_ms"], row["process_ids"] or ()
    is_back = row["incident_id"] in back
    may_be_broker = cause == "broker_down" or "broker_down" in (row["alternatives"] or ())
    if cause == "poll_too_slow":
        to_ms = back.get(row["incident_id"])
    else:
        to_ms = to_hi_ms if cause not in ("duplicate_declaration", "group_id_collision", "offsets_topic_impossible") else None
    targets: Sequence[str] = ()
    if to_hi_ms is None and may_be_broker:
        targets = [row["subject"]]
    elif (to_hi_ms is None or cause == "poll_too_slow") and not is_back and len(process_ids) == 1:
        targets = process_ids
    return _Strand(to_ms, _still_of_cause(row, is_back), _is_unknown_cause(inputs, row, ends, is_back, silent), None, targets)


def _still_of_cause(row: Row, is_back: bool) -> str | None:
    cause = row["cause"]
    if cause in ("duplicate_declaration", "group_id_collision"):
        return "declared"
    if cause == "offsets_topic_impossible":
        return "offsets_topic"
    if cause == "clock_wrong":
        return "clock"
    if cause == "poll_too_slow" and not is_back:
        return "process_away"
    if row["to_hi_ms"] is not None or is_back:
        return None
    if cause == "broker_down" or "broker_down" in (row["alternatives"] or ()):
        return "broker_away"
    return "process_away" if len(row["process_ids"] or ()) == 1 else None


def _is_unknown_cause(inputs: Inputs, row: Row, ends: LogEnds, is_back: bool, silent: set[str]) -> bool | None:
    cause, alternatives = row["cause"], row["alternatives"] or ()
    process_ids: Sequence[str] = row["process_ids"] or ()
    since_ms = minus(ends.last_ms, row["to_hi_ms"])
    if cause == "connector_churn":
        # A connector that is stable for a while may change again.
        return since_ms < inputs.knobs.storm_gap_ms if since_ms is not None else None
    if cause == "clock_wrong":
        return row["from_lo_ms"] is not None
    if cause in ("duplicate_declaration", "group_id_collision", "offsets_topic_impossible"):
        return False
    if cause == "poll_too_slow":
        # A log that ends soon after the member left does not show that it stayed away.
        return not is_back and (since_ms is None or since_ms < inputs.knobs.coordinator_settled_ms)
    if is_back:
        return None
    return row["to_hi_ms"] is None and (
        row["subject"] == ""
        or "lines_missing" in alternatives
        or len(process_ids) == 1
        and process_ids[0] in silent
        or cause == "coordinator_moved"
        # It is also unknown if a broker that was possibly down is back. Members without a coordinator are separate evidence.
        or cause == "unknown"
        and "broker_down" in alternatives
    )


def _returns(inputs: Inputs, causes: Sequence[Row]) -> dict[str, int | None]:
    """Return when the members of an incident were back.

    A member that left because of its poll timeout is back when its process is a member again. If no clock places the end of another trouble, a process that is a
    member again after every loss is back too, at an unknown time.
    """
    found: dict[str, int | None] = {}
    slow = [cause for cause in causes if cause["cause"] == "poll_too_slow"]
    joined = _joined(inputs, {process for cause in slow for process in cause["process_ids"] or ()}) if slow else {}
    for cause in slow:
        again = [
            at_ms
            for process in cause["process_ids"] or ()
            for group_id in cause["group_ids"] or ()
            for at_ms in joined.get((process, group_id), ())
            if cause["to_hi_ms"] is not None and at_ms > cause["to_hi_ms"]
        ]
        if again:
            found[cause["incident_id"]] = min(again)
    losses = ByKey(inputs.rows("lost_membership", columns=["process_id", "group_id", "back_ms"]), "process_id", "group_id")
    for cause in causes:
        if cause["to_hi_ms"] is None and cause["cause"] != "poll_too_slow":
            of_cause = [loss for process in cause["process_ids"] or () for group_id in cause["group_ids"] or () for loss in losses[process, group_id]]
            if of_cause and all(loss["back_ms"] is not None for loss in of_cause):
                found[cause["incident_id"]] = None
    return found


def _joined(inputs: Inputs, process_ids: set[str]) -> dict[tuple[str, str], list[int]]:
    """Return the times at which members of these processes joined or got an assignment, by process and group."""
    clocks = ByKey((row for row in inputs.rows("clock_offset") if row["is_island_reference"]), "process_id")
    is_joined = pc.field("process_id").isin(sorted(process_ids)) & pc.field("event").isin(
        ["joined", "synced", "worker_assigned", "partitions_assigned"]
    )
    found: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for line in inputs.rows("client_event", columns=["process_id", "group_id", "at_ms"], where=is_joined):
        for clock in clocks[line["process_id"]]:
            found[line["process_id"], line["group_id"]].extend(there([minus(line["at_ms"], clock["lo_ms"])]))
    return found


def _owner_pairs(inputs: Inputs, ends: LogEnds) -> dict[str, list[_OwnerPair]]:
    """Return the pairs of owners of each incident."""
    late_ms, settled_ms = inputs.knobs.heartbeat_late_ms, inputs.knobs.coordinator_settled_ms
    found: defaultdict[str, dict[tuple[str, str], _OwnerPair]] = defaultdict(dict)
    proved = [
        row for row in inputs.rows("occurrence") if row["rule"] in _PAIR_RULES and row["verdict"] == "proved" and row["incident_id"] is not None
    ]
    pairs: defaultdict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for pair in inputs.rows("split_brain", columns=_PAIR, where=pc.field("verdict") == "proved") if proved else ():
        pairs[pair["kafka_cluster"], pair["group_id"], pair["resource"]].append(pair)
    for it in proved:
        for resource in (it["subject"] or "").split(", "):
            for pair in pairs[it["kafka_cluster"], it["group_id"], resource]:
                a, b = ends.get(pair["process_a"]), ends.get(pair["process_b"])
                if a is None or b is None or not between(it["from_ts"], pair["from_lo"], first(it["to_ts"], it["from_ts"])):
                    continue
                to_ms, end_ms, shown_ms = pair["to_hi"], greatest(a.end_ms, b.end_ms), least(a.last_ms, b.last_ms)
                closed = tuple(process for process, log in ((pair["process_a"], a), (pair["process_b"], b)) if log.is_closing(to_ms, late_ms))
                is_last = bool(closed) and up_to(minus(end_ms, settled_ms), to_ms)
                is_seen = up_to(minus(end_ms, settled_ms), shown_ms)
                key = (pair["ownership_a"], pair["ownership_b"])
                found[it["incident_id"]][key] = _OwnerPair(pair["process_a"], to_ms, shown_ms, closed, is_last, is_seen)
    return {incident_id: list(of.values()) for incident_id, of in found.items()}


_PAIR = ["kafka_cluster", "group_id", "resource", "ownership_a", "ownership_b", "process_a", "process_b", "from_lo", "to_hi"]


def _of_owner_pairs(pairs: dict[str, list[_OwnerPair]]) -> Iterator[tuple[str, _Strand]]:
    for incident_id, of in pairs.items():
        for pair in of:
            is_open = pair.to_ms is None
            yield (
                incident_id,
                _Strand(
                    to_ms=pair.to_ms,
                    still="two_owners" if is_open or pair.is_last else None,
                    is_unknown=is_open and not pair.is_seen,
                    shown_ms=pair.to_ms if pair.is_last else pair.shown_ms if is_open else None,
                    targets=[pair.process_a] if is_open or pair.is_last else (),
                ),
            )


def _of_gaps(inputs: Inputs) -> Iterator[tuple[str, _Strand]]:
    for gap in inputs.rows("incident_gap"):
        if gap["to_ts"] is not None:
            yield gap["incident_id"], _Strand(gap["to_ts"])


def _of_rebalances(inputs: Inputs) -> Iterator[tuple[str, _Strand]]:
    rebalances = ByKey((row for row in inputs.rows("open_rebalance") if row["is_given_up"] is False), "kafka_cluster", "group_id")
    for it in inputs.rows("occurrence"):
        if it["incident_id"] is not None and it["rule"] == "slow-rebalance" and it["code"] == "unfinished":
            for rebalance in rebalances[it["kafka_cluster"], it["group_id"]]:
                yield it["incident_id"], _Strand(None, "rebalance", False, rebalance["to_ms"], rebalance["awaited_processes"] or ())


def _of_occurrences(inputs: Inputs, ends: LogEnds) -> Iterator[tuple[str, _Strand]]:
    known = {cause["incident_id"] for cause in inputs.rows("root_cause")}
    for it in inputs.rows("occurrence"):
        if it["incident_id"] is not None and it["rule"] not in _PAIR_RULES:
            to_ms = first(it["to_ts"], it["from_ts"])
            is_unknown = it["rule"] == "stuck-partition" and it["to_ts"] is None
            if it["incident_id"] not in known:
                is_unknown = is_unknown or _is_unknown_alone(inputs, it, ends)
            yield it["incident_id"], _Strand(to_ms, _still_of_occurrence(it), is_unknown)


def _still_of_occurrence(it: Row) -> str | None:
    if it["rule"] == "coordinator-unavailable":
        is_open = json.loads(it["facts"] or "{}").get("is_open")
        if is_open if is_open is not None else it["to_ts"] is None:
            return "not_stored" if it["code"] == "not_stored" else "no_coordinator"
    elif it["rule"] == "assigned-not-working" and it["to_ts"] is None:
        return "failed" if it["code"].startswith("failed") else "not_started"
    return None


def _is_unknown_alone(inputs: Inputs, it: Row, ends: LogEnds) -> bool:
    """Return True if it is unknown how an occurrence of an unknown cause went on.

    If the cause of a member's removal is unknown, so is its whereabouts, unless it returned. A log that ends soon after a refused commit does not show that the
    next one succeeded. A stuck partition may have moved on without a line, and an abandoned task may still run.
    """
    if it["rule"] == "stale-commit":
        since_ms = minus(ends.last_ms, first(it["to_ts"], it["from_ts"]))
        return since_ms is None or since_ms < inputs.knobs.coordinator_settled_ms
    return (it["rule"], it["code"]) in (("session-timeout", "stayed_away"), ("zombie-task", "never_ended"))
