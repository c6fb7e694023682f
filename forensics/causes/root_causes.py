"""Compute the view `root_cause`: repetitions of one trouble in one place, at most `storm_gap_ms` apart, are one root cause.

A cause follows from views, even if no rule reports its effects. A configuration that a rule reports is a cause by itself.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from forensics.causes.brokers import broker_troubles
from forensics.causes.pauses import broker_pauses
from forensics.causes.polls import poll_timeouts
from forensics.causes.proved import proved_causes
from forensics.causes.trouble import Trouble
from forensics.causes.witnesses import Witnesses, together
from forensics.relations.missing import between, events_of, first, greatest, least, names, order, there

if TYPE_CHECKING:
    from forensics.causes.witnesses import Machine
    from forensics.relations.inputs import Inputs


def rows(inputs: Inputs) -> list[dict[str, Any]]:
    """Return the rows of the view `root_cause`."""
    unordered = {row["process_id"] for row in inputs.rows("filtered_log") if row["why"] == "unordered"}
    chains: defaultdict[str, list[Trouble]] = defaultdict(list)
    witnesses = Witnesses(inputs)
    explained = list(witnesses.explained(list(troubles(inputs))))
    for trouble in (*explained, *witnesses.unnoticed(explained)):
        # In a log without an order, it is unknown in what order these happened in its process.
        if trouble.process_id is None or trouble.process_id not in unordered:
            chains[chain_of(trouble)].append(trouble)
    parts = [
        (chain, nth, part)
        for chain, alike in sorted(chains.items())
        for nth, part in enumerate(_apart(sorted(alike, key=_in_time), inputs.knobs.storm_gap_ms))
    ]
    return [_root_cause(*part) for part in _together(parts, inputs.knobs.removed_together_ms)]


def troubles(inputs: Inputs) -> Iterator[Trouble]:
    """Yield every trouble that is a cause."""
    for row in inputs.rows("process_trouble"):
        yield Trouble(
            cause=row["cause"],
            alternatives=row["alternatives"] or (),
            kafka_cluster=row["kafka_cluster"],
            group_ids=row["group_ids"] or (),
            subject=row["process_id"],
            of_group_id=row["of_group_id"],
            process_id=row["process_id"],
            instance=row["instance"],
            member_ids=row["member_ids"] or (),
            from_lo_ms=row["from_lo_ms"],
            from_hi_ms=row["from_hi_ms"],
            to_lo_ms=row["to_lo_ms"],
            to_hi_ms=row["to_hi_ms"],
            witness=row["witness"] or (),
        )
    of_coordinators = list(broker_troubles(inputs))
    yield from _one_event(of_coordinators, list(proved_causes(inputs)))
    yield from _restarts(inputs, {(it.process_id, it.instance) for it in of_coordinators if it.process_id is not None and it.instance is not None})
    yield from broker_pauses(inputs)
    yield from poll_timeouts(inputs)


def _one_event(of_brokers: Sequence[Trouble], of_rules: Sequence[Trouble]) -> Iterator[Trouble]:
    """Yield these troubles; a broker that was down and came back without its groups' offsets is one trouble, not two."""
    absorbed: set[int] = set()
    losses = []
    for loss in of_rules:
        mine = [down for down in of_brokers if loss.cause == "offsets_lost" and _is_down_at(down, loss)]
        if mine:
            absorbed.update(map(id, mine))
            witness = events_of(([*down.witness[:2]] for down in mine), 6)
            loss = replace(
                loss,
                subject=mine[0].subject,
                group_ids=names(loss.group_ids, *(down.group_ids for down in mine)),
                instance=mine[0].instance,
                from_lo_ms=least(*(down.from_lo_ms for down in mine)),
                witness=[*witness, *(event for event in loss.witness if event not in witness)],
            )
        losses.append(loss)
    yield from (down for down in of_brokers if id(down) not in absorbed)
    yield from losses


def _is_down_at(down: Trouble, loss: Trouble) -> bool:
    """Return True if a broker was down between the last moment at which its group's metadata existed and the loss."""
    return (
        down.cause == "broker_down"
        and down.process_id is not None
        and down.process_id == loss.process_id
        and between(loss.from_lo_ms, down.from_lo_ms, loss.from_hi_ms)
    )


def _restarts(inputs: Inputs, known: set[tuple[str | None, int | None]]) -> Iterator[Trouble]:
    """Yield the orderly restarts of processes, and deployments, which are restarts of several processes of a group, or of brokers."""
    for row in inputs.rows("process_ending"):
        if row["is_deployment"] is None or (row["process_id"], row["instance"]) in known:
            continue
        yield Trouble(
            cause="deployment" if row["is_deployment"] else "process_restarted",
            kafka_cluster=row["kafka_cluster"],
            group_ids=there([row["group_id"]]),
            subject=first(row["group_id"], "brokers") if row["is_deployment"] else row["process_id"],
            process_id=row["process_id"],
            instance=row["instance"],
            from_lo_ms=row["from_lo_ms"],
            from_hi_ms=row["from_hi_ms"],
            to_lo_ms=row["to_lo_ms"],
            to_hi_ms=row["to_hi_ms"],
            witness=row["witness"] or (),
        )


def chain_of(trouble: Trouble) -> str:
    """Return what a trouble has in common with its repetitions.

    Two clusters that declare many connectors twice are one cause. So are removals without any other evidence, if the members are of one group, or are members of
    sinks that were lost with the same worker.
    """
    groups = ",".join(there(trouble.group_ids))
    place = trouble.subject
    if trouble.cause == "duplicate_declaration" and len(trouble.group_ids) > 1:
        place = groups
    elif place is None:
        place = first(trouble.of_group_id, groups)
    return "|".join([trouble.cause, ",".join(trouble.alternatives), first(trouble.kafka_cluster, "-"), place])


def _in_time(trouble: Trouble) -> Any:  # noqa: ANN401 (a sort key)
    return order([trouble.from_lo_ms, trouble.process_id, trouble.instance, list(trouble.witness)])


def _apart(alike: Iterable[Trouble], gap_ms: int) -> Iterator[list[Trouble]]:
    """Yield the parts of a chain that are further apart than this."""
    part: list[Trouble] = []
    last_ms: int | None = None
    for trouble in alike:
        if part and trouble.from_lo_ms is not None and last_ms is not None and trouble.from_lo_ms - last_ms > gap_ms:
            yield part
            part = []
        part.append(trouble)
        last_ms = greatest(last_ms, first(trouble.to_hi_ms, trouble.from_hi_ms))
    yield part


_Part = tuple[str, int, list[Trouble]]


def _together(parts: Sequence[_Part], within_ms: int) -> Iterator[_Part]:
    """Yield the parts; removals of unknown members from several groups within this time are one part, because one host or process had them all."""
    removals = sorted(
        (order([it.kafka_cluster, it.cause, list(it.alternatives)]), it.from_hi_ms, n)
        for n, (_, _, alike) in enumerate(parts)
        for it in alike
        if it.subject is None and (it.of_group_id is None or it.of_group_id in it.group_ids) and it.from_hi_ms is not None
    )
    joined = list(range(len(parts)))  # another part with which each is merged; itself: none

    def first_of(n: int) -> int:
        while joined[n] != n:
            n = joined[n] = joined[joined[n]]
        return n

    for (kind, at_ms, n), (next_kind, next_ms, following) in pairwise(removals):
        if kind == next_kind and next_ms - at_ms <= within_ms:
            keep, drop = sorted((first_of(n), first_of(following)))
            joined[drop] = keep
    merged: defaultdict[int, list[Trouble]] = defaultdict(list)
    for n, (_, _, alike) in enumerate(parts):
        merged[first_of(n)] += alike
    for n, alike in merged.items():
        chain, nth, part = parts[n]
        yield chain, nth, part if len(alike) == len(part) else sorted(alike, key=_in_time)


def _root_cause(chain: str, nth: int, alike: Sequence[Trouble]) -> dict[str, Any]:
    from_lo_ms = least(*(it.from_lo_ms for it in alike))
    last = max(alike, key=lambda it: order([it.from_lo_ms, it.process_id, it.instance]))
    elsewhere = [it.of_group_id for it in alike if it.of_group_id is not None and it.of_group_id not in it.group_ids]
    parts = [
        {
            "from_lo_ms": it.from_lo_ms,
            "from_hi_ms": it.from_hi_ms,
            "to_lo_ms": it.to_lo_ms,
            "to_hi_ms": it.to_hi_ms,
            "process_id": it.process_id,
            "instance": it.instance,
            "member_ids": list(it.member_ids),
        }
        for it in alike
    ]
    return {
        "incident_id": _id(chain, nth, from_lo_ms),
        "cause": alike[0].cause,
        "alternatives": list(alike[0].alternatives),
        "kafka_cluster": alike[0].kafka_cluster,
        "group_ids": names(*(it.group_ids for it in alike)),
        "worker_group_id": max(elsewhere, default=None),
        "sink_members": len(elsewhere),
        "subject": ", ".join(names(it.subject for it in alike)[:10]),
        "process_ids": names(it.process_id for it in alike),
        "times": len(alike),
        "parts": sorted(parts, key=lambda part: order(list(part.values()))),
        "from_lo_ms": from_lo_ms,
        "from_hi_ms": least(*(it.from_hi_ms for it in alike)),
        "to_lo_ms": last.to_lo_ms,
        "to_hi_ms": last.to_hi_ms,
        "witness": events_of((it.witness for it in alike), 24),
        "machine": None if (machine := together([it.machine for it in alike])) is None else _said(machine),
    }


def _said(machine: Machine) -> dict[str, Any]:
    return {
        "code": machine.code,
        "how": machine.how,
        "length_ms": machine.length_ms,
        "name": machine.name,
        "exit_code": machine.exit_code,
        "memory_limit": machine.memory_limit,
        "at_ms": machine.at_ms,
    }


def _id(chain: str, nth: int, from_lo_ms: int | None) -> str:
    parts = [chain, str(nth), *([] if from_lo_ms is None else [str(from_lo_ms)])]
    return hashlib.sha256("|".join(parts).encode()).hexdigest()[:12]
