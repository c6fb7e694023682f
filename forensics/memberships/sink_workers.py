"""Tie a sink's member that was removed to the worker that had its task.

A sink's consumer is named after its task (connector-consumer-orders-1, since 2.3), and a generation of workers assigns each task to one worker: the member was
lost with the removed worker that had its task, or, if all other workers are known and did not have it, with the one that is left. If two removed workers are
possible, or the Kafka cluster has several Connect clusters, the worker is unknown.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from forensics.logs.member_rounds import member_rounds
from forensics.relations.by_key import ByKey
from forensics.relations.missing import order

if TYPE_CHECKING:
    from forensics.memberships.removals import Removal
    from forensics.relations.inputs import Inputs, Row


@dataclass(frozen=True)
class SinkWorker:
    """The worker that a sink's member was lost with.

    Attributes:
        is_sure: False if it is only the one that is left, and the number of workers is unknown.
    """

    group_id: str
    member_id: str
    is_sure: bool


@dataclass(frozen=True)
class _RemovedWorker:
    """A worker that was removed, with the tasks that it and the others had.

    Attributes:
        own: what it was assigned last; None: unknown.
        others: what the other workers had, or were asked to revoke.
        known: how many of the others have an assignment in its last generation.
        members: how many workers that generation had; None: unknown.
    """

    removal: Removal
    own: Sequence[str] | None
    others: frozenset[str]
    known: int
    members: int | None

    def may_have(self, task: str) -> bool:
        """Return True if it had a task, or may have been the one that had it."""
        if task in self.others:
            return False
        return task in (self.own or ()) or self.members is None or self.known == self.members - 1


def sink_workers(inputs: Inputs, removals: Sequence[Removal], places: Mapping[tuple[str, str], Row]) -> Iterator[tuple[Removal, SinkWorker]]:
    """Yield the removals of sinks' members with the worker that each was lost with, if only one is possible.

    Args:
        inputs: rows of `join_round`, `member_round` and `broker_generation`.
        removals: all removals.
        places: the process of each member, by group and member id.
    """
    sinks = [removal for removal in removals if removal.task is not None]
    if not sinks:
        return
    workers = defaultdict(list)
    for worker in _removed_workers(inputs, removals, places):
        workers[worker.removal.kafka_cluster, worker.removal.reference_process_id].append(worker)
    apart_ms = inputs.knobs.sessions_apart_ms
    for its in workers.values():
        its.sort(key=lambda worker: worker.removal.lo_ms)
    for removal in sinks:
        its = workers.get((removal.kafka_cluster, removal.reference_process_id), [])
        # The coordinator last heard from both at the same time, and their session timeouts differ.
        widest_ms = max((worker.removal.hi_ms - worker.removal.lo_ms for worker in its), default=0)
        possible = []
        for worker in its[bisect_left(its, removal.lo_ms - apart_ms - widest_ms, key=lambda worker: worker.removal.lo_ms) :]:
            if worker.removal.lo_ms > removal.hi_ms + apart_ms:
                break
            if removal.lo_ms <= worker.removal.hi_ms + apart_ms and worker.may_have(removal.task or ""):
                possible.append(worker)
        if len(possible) == 1:
            (worker,) = possible
            is_sure = removal.task in (worker.own or ()) or worker.members is not None
            yield removal, SinkWorker(worker.removal.group_id, worker.removal.member_id, is_sure)


def _removed_workers(inputs: Inputs, removals: Iterable[Removal], places: Mapping[tuple[str, str], Row]) -> Iterator[_RemovedWorker]:
    only = _single_connect_groups(inputs)
    mine = [removal for removal in removals if only.get(removal.kafka_cluster) == removal.group_id]
    if not mine:
        return
    generations = ByKey(inputs.rows("broker_generation"), "kafka_cluster", "group_id", "process_id")
    # What each worker was assigned, and asked to revoke, in each generation.
    placed = ["kafka_cluster", "incarnation", "generation", "member_id"]
    rounds = (row for row in member_rounds(inputs, ["is_worker", "assigned", "revoked"], placed) if row["is_worker"])
    in_order = sorted(rounds, key=lambda share: order([share["generation"], share["assigned"]]))
    shares = ByKey(in_order, "kafka_cluster", "group_id", "incarnation")
    for removal in mine:
        completed = [
            (row["stabilized_ms"], row["incarnation"], row["generation"], row["member_count"])
            for row in generations[removal.kafka_cluster, removal.group_id, removal.broker]
            if row["stabilized_ms"] is not None and row["stabilized_ms"] < removal.at_ms
        ]
        if not completed:
            continue
        _, incarnation, generation, members = max(completed, key=lambda last: order(list(last)))
        process_id = places[removal.group_id, removal.member_id]["process_id"] if (removal.group_id, removal.member_id) in places else None
        in_life = shares[removal.kafka_cluster, removal.group_id, incarnation]
        until = bisect_right(in_life, generation, key=lambda share: share["generation"])
        had = next(
            (share for share in reversed(in_life[:until]) if share["assigned"] is not None and _is_of(share, removal.member_id, process_id)), None
        )
        since = bisect_left(in_life, had["generation"] if had is not None else generation, hi=until, key=lambda share: share["generation"])
        others = [share for share in in_life[since:until] if not _is_of(share, removal.member_id, process_id)]
        if others:
            yield _RemovedWorker(
                removal,
                own=had["assigned"] if had is not None else None,
                # A worker may still have the tasks that it is asked to revoke, and keeps its last assignment until another one is assigned the task.
                others=frozenset(task for share in others for tasks in (share["assigned"], share["revoked"]) for task in tasks or ()),
                known=sum(share["assigned"] is not None and share["generation"] == generation for share in others),
                members=members,
            )


def _is_of(share: Row, member_id: str, process_id: str | None) -> bool:
    """Return True if a share is that member's; up to 2.5 only the process of a member is known."""
    if share["member_id"] is not None:
        return bool(share["member_id"] == member_id)
    return process_id is not None and share["process_id"] == process_id


def _single_connect_groups(inputs: Inputs) -> dict[str, str]:
    """Return the group of Connect workers of each Kafka cluster that has only one."""
    groups = defaultdict(set)
    for row in inputs.rows("join_round", ["kafka_cluster", "group_id", "is_worker"]):
        if row["is_worker"]:
            groups[row["kafka_cluster"]].add(row["group_id"])
    return {cluster: min(its) for cluster, its in groups.items() if len(its) == 1}
