"""Find the facts by which an occurrence can be linked to its cause: members, processes, generations, resources, brokers, connectors, and its group."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow.dataset as ds

from forensics.clocks.offsets import Clocks
from forensics.relations.by_key import ByKey
from forensics.relations.missing import between, first, greatest, least, minus, plus

if TYPE_CHECKING:
    from forensics.causes.facts import Occurrence
    from forensics.relations.inputs import Inputs, Row


@dataclass(frozen=True)
class Key:
    """A fact of an occurrence.

    Attributes:
        kind: member, process, generation, resource, broker, connector, group or whole; each occurrence has one key of the last kind.
        kafka_cluster, group_id: of the fact.
        name: member ID, process, task or partition, connector, or broker ID.
        number: run of the process, or generation; None: any, or none.
        incarnation: of the group's metadata, for a generation; None: unknown.
        from_ms, to_ms: the part of the occurrence with this fact began and ended at these times on the reference clock; None: unknown.
        begun_ms: it had certainly begun at this time.
    """

    kind: str
    kafka_cluster: str | None
    group_id: str | None
    name: str | None = None
    number: int | None = None
    incarnation: int | None = None
    from_ms: int | None = None
    to_ms: int | None = None
    begun_ms: int | None = None

    @property
    def place(self) -> tuple[str | None, str | None]:
        """Return its cluster and its group."""
        return self.kafka_cluster, self.group_id


@dataclass(frozen=True)
class _Owners:
    """Two owners of one resource at the same time."""

    kafka_cluster: str | None
    group_id: str | None
    resource: str
    member_id: str | None
    process_a: str
    process_b: str
    generation: int | None
    from_ms: int
    to_ms: int | None
    begun_ms: int


def keys(inputs: Inputs, occurrences: Sequence[Occurrence]) -> dict[str, list[Key]]:
    """Return the keys of each occurrence, by its ID."""
    owners = _owners(inputs, occurrences)
    uncertain = _clock_uncertainty(inputs, occurrences)
    linked = (_lost_members(inputs, occurrences), _previous_owners(inputs, occurrences), _revocations(inputs, occurrences))
    found = {}
    for it in occurrences:
        pairs = owners.get(it.id, [])
        every = [*_own(it), *(key for pair in pairs for key in _of_owners(pair)), *(key for keys in linked for key in keys.get(it.id, ()))]
        begun_ms = greatest(*(pair.begun_ms for pair in pairs), it.begun_ms if it.begun_ms != it.from_ms else None)
        found[it.id] = _merged(every, begun_ms, uncertain.get(it.id, 0))
    return found


def _merged(keys: Iterable[Key], begun_ms: int | None, uncertain_ms: int) -> list[Key]:
    """Return each different key once, from the first begin to the last end.

    Args:
        keys: keys of one occurrence.
        begun_ms: when the occurrence had certainly begun; None: at the begin of each key, apart from the uncertainty of a clock.
        uncertain_ms: this uncertainty.
    """
    same: defaultdict[Hashable, list[Key]] = defaultdict(list)
    for key in keys:
        same[key.kind, *key.place, key.name, key.number, key.incarnation].append(key)
    merged = []
    for its in same.values():
        from_ms = least(*(key.from_ms for key in its))
        certain_ms = first(begun_ms, plus(from_ms, uncertain_ms))
        merged.append(replace(its[0], from_ms=from_ms, to_ms=greatest(*(key.to_ms for key in its)), begun_ms=certain_ms))
    return merged


def _own(it: Occurrence) -> Iterator[Key]:
    """Yield the keys of the facts of an occurrence itself."""
    its: dict[str, Any] = {"kafka_cluster": it.group[0], "group_id": it.group[1], "from_ms": it.from_ms, "to_ms": it.to_ms}
    yield Key("whole", **its)
    known = it.links.all_facts
    processes = it.texts("processes")
    named = [
        ("member", "member", it.text("member_id"), None),
        ("process", "process", it.text("process_id"), it.number("instance")),
        ("subject", "process", it.row["subject"], None),
        ("process", "process", processes[0] if len(processes) == 1 and "subject" not in known else None, None),
        ("task", "resource", it.text("task"), None),
        ("broker", "broker", it.text("broker_id"), None),
        ("connector", "connector", it.text("connector"), None),
    ]
    for fact, kind, name, number in named:
        if fact in known and name is not None:
            yield Key(kind, name=name, number=number, **its)
    if "group" in known and it.group[1] is not None:
        yield Key("group", **its)
    generation = it.number("generation")
    if "generation" in known and generation is not None and it.group[1] is not None:
        yield Key("generation", number=generation, incarnation=it.number("incarnation"), **its)


def _of_owners(pair: _Owners) -> Iterator[Key]:
    """Yield the first owner, both processes, the resource, and the generation that assigned it to the second."""
    its: dict[str, Any] = {"kafka_cluster": pair.kafka_cluster, "group_id": pair.group_id, "from_ms": pair.from_ms, "to_ms": pair.to_ms}
    for kind, name in (("member", pair.member_id), ("process", pair.process_a), ("process", pair.process_b), ("resource", pair.resource)):
        if name is not None:
            yield Key(kind, name=name, **its)
    if pair.generation is not None and pair.group_id is not None:
        yield Key("generation", number=pair.generation, **its)


def _owners(inputs: Inputs, occurrences: Iterable[Occurrence]) -> Mapping[str, list[_Owners]]:
    """Return the pairs of owners that an occurrence names, by the occurrence's ID."""
    its = [it for it in occurrences if "owners" in it.links.all_facts]
    if not its:
        return {}
    split: defaultdict[Hashable, list[Row]] = defaultdict(list)
    for row in inputs.rows("split_brain", columns=_SPLIT_BRAIN):
        split[row["kafka_cluster"], row["group_id"], row["verdict"], row["process_a"], row["process_b"], row["from_lo"]].append(row)
    ownerships = {row["ownership_id"]: row for row in inputs.rows("ownership", columns=["ownership_id", "member_id", "generation"])}
    wide, found = Clocks(inputs).widths(), defaultdict(list)
    for it in its:
        subjects = frozenset((it.row["subject"] or "").split(", "))
        for row in split.get((*it.group, it.row["verdict"], it.text("process_a"), it.text("process_b"), it.from_ms), ()):
            a, b = ownerships.get(row["ownership_a"]), ownerships.get(row["ownership_b"])
            if row["resource"] not in subjects or a is None or b is None or it.from_ms is None:
                continue
            uncertain_ms = max(wide.get(row["process_a"], 0), wide.get(row["process_b"], 0))
            found[it.id].append(
                _Owners(
                    row["kafka_cluster"],
                    row["group_id"],
                    row["resource"],
                    a["member_id"],
                    row["process_a"],
                    row["process_b"],
                    b["generation"],
                    it.from_ms,
                    first(row["to_hi"], it.to_ms),
                    it.from_ms + (uncertain_ms if uncertain_ms > inputs.knobs.coordinator_together_ms else 0),
                )
            )
    return found


_SPLIT_BRAIN = (
    "kafka_cluster", "group_id", "resource", "verdict", "process_a", "process_b", "ownership_a", "ownership_b", "from_lo", "to_hi",
)  # fmt: skip


def _clock_uncertainty(inputs: Inputs, occurrences: Iterable[Occurrence]) -> dict[str, int]:
    """Return how uncertain the begin of an occurrence is. For times from a member's own line, it is the earliest moment that its clock allows."""
    wide, found = Clocks(inputs).widths(), {}
    for it in occurrences:
        if it.links.own_clock:
            process = it.text("process_id")
            found[it.id] = max((wide.get(name, 0) for name in (it.texts("processes") if process is None else [process])), default=0)
    return found


def _lost_members(inputs: Inputs, occurrences: Iterable[Occurrence]) -> Mapping[str, list[Key]]:
    """Return the process of a member of which only the coordinator's lines are known to the rule."""
    found: defaultdict[str, list[Key]] = defaultdict(list)
    its = [it for it in occurrences if it.text("process_id") is None and it.text("member_id") is not None and None not in it.group]
    if its:
        columns = ["kafka_cluster", "group_id", "member_id", "process_id", "instance"]
        lost = ByKey(inputs.rows("lost_membership", columns=columns), "kafka_cluster", "group_id", "member_id")
        for it in its:
            for row in lost[(*it.group, it.text("member_id"))]:
                if row["process_id"] is not None:
                    found[it.id].append(Key("process", *it.group, row["process_id"], row["instance"], None, it.from_ms, it.to_ms))
    return found


def _previous_owners(inputs: Inputs, occurrences: Iterable[Occurrence]) -> Mapping[str, list[Key]]:
    """Return the previous owners of tasks without an owner, and the generations that assigned them again."""
    found: defaultdict[str, list[Key]] = defaultdict(list)
    its = [it for it in occurrences if "previous_owner" in it.links.all_facts]
    if its:
        unowned = ByKey(inputs.rows("unowned", columns=_UNOWNED), "kafka_cluster", "group_id", "resource")
        for it in its:
            for row in (row for task in dict.fromkeys(it.texts("tasks")) for row in unowned[(*it.group, task)]):
                if not (between(it.from_ms, row["from_hi"], it.to_ms) and between(it.from_ms, row["to_lo"], it.to_ms)):
                    continue
                for kind, name in (("member", row["previous_member_id"]), ("process", row["previous_process_id"])):
                    if name is not None:
                        found[it.id].append(Key(kind, *it.group, name, None, None, it.from_ms, it.to_ms))
                if row["generation"] is not None:
                    found[it.id].append(Key("generation", *it.group, None, row["generation"], None, it.from_ms, it.to_ms))
    return found


_UNOWNED = ("kafka_cluster", "group_id", "resource", "from_hi", "to_lo", "previous_member_id", "previous_process_id", "generation")


def _revocations(inputs: Inputs, occurrences: Iterable[Occurrence]) -> Mapping[str, list[Key]]:
    """Return the generation that revoked a task which its worker was asked to stop."""
    found: defaultdict[str, list[Key]] = defaultdict(list)
    its = [it for it in occurrences if "revocation" in it.links.all_facts]
    if its:
        columns = ["process_id", "group_id", "client", "round", "revoked", "worker_assigned_ms", "synced_ms"]
        joined = ByKey(inputs.rows("join_round", columns=columns, where=ds.field("is_worker")), "process_id")
        columns = ["process_id", "kafka_cluster", "group_id", "client", "round", "generation", "incarnation"]
        rounds = ByKey(inputs.rows("member_round", columns=columns), "process_id", "group_id", "client", "round")
        for it in its:
            asked_ms, task = it.number("asked_at_ms"), it.text("task")
            for join in joined[it.text("process_id")]:
                assigned_ms = first(join["worker_assigned_ms"], join["synced_ms"])
                if task not in (join["revoked"] or ()) or not between(minus(asked_ms, inputs.knobs.outage_untroubled_ms), assigned_ms, asked_ms):
                    continue
                for row in rounds[join["process_id"], join["group_id"], join["client"], join["round"]]:
                    if row["generation"] is not None and row["group_id"] is not None:
                        place = row["kafka_cluster"], row["group_id"]
                        found[it.id].append(Key("generation", *place, None, row["generation"], row["incarnation"], it.from_ms, it.to_ms))
    return found
