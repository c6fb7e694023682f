"""Compute the view `open_rebalance`: groups whose last rebalance had not ended when the logs end."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from forensics.coordinators.open_requests import join_requests, latest_generations, open_preparations
from forensics.relations.conditions import one_of
from forensics.relations.missing import first, greatest, minus, names, order, there, up_to
from forensics.runs.last_runs import last_runs

if TYPE_CHECKING:
    from forensics.coordinators.open_requests import Evidence, Group
    from forensics.relations.inputs import Inputs, Row
    from forensics.runs.last_runs import LastRun

_WITNESS_MOST = 16


def rows(inputs: Inputs) -> list[Row]:
    """Return the rows of the view `open_rebalance`."""
    runs, latest = {run.process_id: run for run in last_runs(inputs)}, latest_generations(inputs)
    requests = list(join_requests(inputs, runs, latest))
    of_group: defaultdict[Group, list[Evidence]] = defaultdict(list)
    for evidence in (*open_preparations(inputs, runs, latest), *requests):
        of_group[evidence.group].append(evidence)
    if not of_group:
        return []
    with_logs = inputs.distinct("client_event", ["kafka_cluster", "group_id"])
    awaited = _awaited(inputs, {group: latest.get(group) for group in of_group}, runs, requests)
    found = []
    for group, its in of_group.items():
        row = _times(its)
        is_given_up = all(evidence.is_closed for evidence in its)
        # Groups that stop rebalance until their last member has left: these are left out.
        if not is_given_up or up_to(inputs.knobs.slow_rebalance_ms, row["lasted_ms"]):
            found.append(
                row | _known(group, its, latest.get(group)) | awaited[group] | {"has_member_logs": group in with_logs, "is_given_up": is_given_up}
            )
    return found


def _begin(evidence: Evidence) -> Any:  # noqa: ANN401 (a sort key)
    """Return a sort key by which the line that gives the begin of the rebalance, and the clock, is the first: the coordinator's, or else the earliest."""
    return order([evidence.is_member, evidence.run.clock.earliest(evidence.at_ms), evidence.run.process_id, evidence.at_ms, evidence.event_id])


def _times(its: Sequence[Evidence]) -> Row:
    """Return when a rebalance began, and until when it had not ended."""
    began = min(its, key=_begin)
    clock = began.run.clock
    from_ms = minus(began.at_ms, int((clock.lo_ms + clock.hi_ms) / 2))  # as the integer division of SQL, which rounds towards zero
    is_given_up = all(evidence.is_closed for evidence in its)
    # Closed members show how long it lasts only if no other member does.
    lasting = [evidence for evidence in its if evidence.is_closed == is_given_up]
    comparable = [evidence for evidence in lasting if evidence.run.clock.reference_process_id == clock.reference_process_id]
    to_ms = greatest(from_ms, *(evidence.run.clock.earliest(evidence.last_ms) for evidence in comparable))
    lengths = [_length_ms(began, evidence) for evidence in comparable]
    is_stepped = any(evidence.run.clock.has_stepped for evidence in its)
    return {
        "began_ts": began.at_ms,
        "began_ms": began.at_ms,
        "from_ts": from_ms,
        "from_ms": from_ms,
        "to_ts": to_ms,
        "to_ms": to_ms,
        "reference_process_id": clock.reference_process_id,
        "lasted_ms": None if is_stepped else greatest(0, *lengths),
    }


def _length_ms(began: Evidence, evidence: Evidence) -> int | None:
    """Return how long the rebalance lasted at least, according to one line."""
    if evidence.run.process_id == began.run.process_id:
        return minus(evidence.last_ms, began.at_ms)
    return minus(evidence.run.clock.earliest(evidence.last_ms), began.run.clock.latest(began.at_ms))


def _known(group: Group, its: Iterable[Evidence], latest: Row | None) -> Row:
    """Return what is known about the group, and who prepares the rebalance and asked to join."""
    its = sorted(its, key=lambda evidence: order([evidence.is_member, evidence.at_ms, evidence.event_id]))
    generation = latest or {}
    return {
        "kafka_cluster": group[0],
        "group_id": group[1],
        "incarnation": generation.get("incarnation"),
        "last_generation": generation.get("generation"),
        "protocol_type": generation.get("protocol_type"),
        "rebalance_mode": generation.get("rebalance_mode"),
        "coordinator": max((evidence.run.process_id for evidence in its if not evidence.is_member), default=None),
        "reason": max(there(evidence.reason for evidence in its), default=None),
        "member_id": max(there(evidence.member_id for evidence in its), default=None),
        "asked": names(evidence.name for evidence in its),
        "witness": [evidence.event_id for evidence in its][:_WITNESS_MOST],
    }


def _awaited(inputs: Inputs, latest: Mapping[Group, Row | None], runs: Mapping[str, LastRun], requests: Iterable[Evidence]) -> dict[Group, Row]:
    """Return the members of each group's last generation that had not asked to join, and the processes of those with logs."""
    left = {
        (row["kafka_cluster"], row["group_id"], row["member_id"])
        for row in inputs.rows("member", ["kafka_cluster", "group_id", "member_id", "left_client", "left_broker"])
        if first(row["left_client"], "unknown") != "unknown" or first(row["left_broker"], "unknown") != "unknown"
    }
    asked = {(*request.group, request.run.process_id, request.client_id) for request in requests}
    members, processes = defaultdict(set), defaultdict(set)
    columns = ["kafka_cluster", "group_id", "incarnation", "generation", "member_id", "process_id", "client_id", "task"]
    of_groups = one_of("group_id", {group_id for _, group_id in latest})
    for row in inputs.table("member_generation", columns, of_groups).to_pylist():
        group, process_id = (row["kafka_cluster"], row["group_id"]), row["process_id"]
        last = latest.get(group)
        is_last = last is not None and (last["incarnation"], last["generation"]) == (row["incarnation"], row["generation"])
        has_gone = (*group, row["member_id"]) in left or (*group, process_id, row["client_id"]) in asked
        if not is_last or has_gone or (process_id is not None and (process_id not in runs or runs[process_id].is_ending)):
            continue
        members[group].add(" ".join(there([process_id, first(row["task"], row["client_id"])])) if process_id is not None else row["member_id"])
        processes[group].add(process_id)
    return {group: {"awaited": names(members[group]), "awaited_processes": names(processes[group])} for group in latest}
