"""Find the troubles of brokers and of coordinators: brokers that were down, and outages that nothing else explains."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from forensics.causes.joins import all_joined_ms, joins_of
from forensics.causes.trouble import Trouble
from forensics.clocks.offsets import Clocks
from forensics.relations.by_key import ByKey
from forensics.relations.missing import between, events_of, first, greatest, least, minus, names, plus, proof_events, there, up_to

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs, Knobs, Row

#: An outage of a coordinator with one of these codes shows that the broker itself was down.
_BROKER_DOWN = ("broker_down", "only_broker_down", "only_replica_down")
#: An outage with one of these codes has another kind of cause, which its rule states.
_OTHER_TROUBLE = ("offsets_topic_impossible", "not_named", "not_stored", "flapping")


@dataclass(frozen=True)
class _Outage:
    """A time in which members of a group had no coordinator."""

    kafka_cluster: str | None
    group_id: str | None
    code: str
    from_ms: int
    from_hi_ms: int
    to_ms: int | None
    reference_process_id: str | None
    processes: Sequence[str]
    broker_id: int | None
    session_ms: int | None
    missed_by: str | None
    witness: Sequence[str]

    @property
    def last_ms(self) -> int:
        """Return its end, or the only time of it that is known."""
        return self.from_ms if self.to_ms is None else self.to_ms

    @property
    def only_process(self) -> str | None:
        """Return the process that lost its coordinator, if it is the only one."""
        return self.processes[0] if len(self.processes) == 1 else None


@dataclass(frozen=True)
class _Ending:
    """The end of a broker's run, until a later run has started; `last_instance` is the run before that.

    Attributes:
        first_how: how that run ended; `row` has how the last one did.
    """

    row: Row
    kafka_cluster: str | None
    broker_id: int | None
    last_instance: int | None
    first_how: str | None


@dataclass
class _Effect:
    """What the end of a broker's run did to groups.

    Attributes:
        group_ids: groups that lost it as their coordinator.
        is_affected: True if one of them was without a coordinator, or lost members.
        lost_ms: its clients lost it at this time at the latest, if they could not reach it until it was back.
    """

    group_ids: set[str] = field(default_factory=set)
    is_affected: bool = False
    lost_ms: int | None = None


@dataclass(frozen=True)
class _Unexplained:
    """An outage without the end of a broker's run, and its possible causes."""

    outage: _Outage
    cause: str
    alternatives: tuple[str, ...]


@dataclass
class _OtherGroups:
    """Other groups that lost the same coordinator at that time, and when the last of them found one again."""

    group_ids: set[str] = field(default_factory=set)
    to_ms: int | None = None


def broker_troubles(inputs: Inputs) -> Iterator[Trouble]:
    """Yield the troubles of brokers and coordinators.

    Trouble of a single member counts as that process's trouble. A broker that restarted cleanly counts as down if a group lost it as its coordinator, but not
    if brokers restarted one after another, which is a deployment.
    """
    knobs = inputs.knobs
    outages = _outages(inputs)
    endings = _endings(inputs)
    # Members that lost a coordinator, including those that found it again before they lost their membership.
    lost = [row for row in inputs.rows("coordinator_outage", columns=_LOST) if row["was_member"] and row["found_hi_ms"] is not None]
    failed = ByKey(inputs.rows("rule_start_failed", columns=["subject", "from_ms"]), "subject")
    for ending, effect in _effects(inputs, endings, outages, lost):
        # A broker that could not start, first or after an orderly stop, without an effect on groups: its failed start is the trouble.
        is_start_failed = any(between(ending.row["from_lo_ms"], row["from_ms"], ending.row["to_hi_ms"]) for row in failed[ending.row["process_id"]])
        if ending.first_how in ("stopped", "failed", "starting") and is_start_failed and not effect.is_affected:
            continue
        if (trouble := _broker_down(ending, effect)) is not None:
            yield trouble
    unexplained = list(_unexplained(inputs, outages, endings))
    yield from _fenced_brokers(inputs, unexplained)
    yield from _coordinator_outages(unexplained, lost, knobs)


_LOST = ["kafka_cluster", "group_id", "broker_id", "reference_process_id", "lost_lo_ms", "found_hi_ms", "was_member"]


def _outages(inputs: Inputs) -> list[_Outage]:
    of_group: defaultdict[tuple[str, str, int], list[Row]] = defaultdict(list)
    for row in inputs.rows("group_outage", columns=["kafka_cluster", "group_id", "from_ms", "first_lost_ms", "reference_process_id"]):
        of_group[row["kafka_cluster"], row["group_id"], row["from_ms"]].append(row)
    found = []
    rows = inputs.rows("rule_coordinator_unavailable")
    joined = joins_of(inputs, {process for row in rows if row["to_ms"] is None for process in row["facts"]["processes"] or ()})
    for row in rows:
        if row["from_ms"] is None:
            continue  # a loss without a time, in a log without times
        key = (row["kafka_cluster"], row["group_id"], row["from_ms"])
        alike = of_group.get(key, ()) if None not in key else ()
        facts = row["facts"]
        found.append(
            _Outage(
                kafka_cluster=row["kafka_cluster"],
                group_id=row["group_id"],
                code=row["code"],
                from_ms=row["from_ms"],
                from_hi_ms=first(greatest(*(other["first_lost_ms"] for other in alike)), row["from_ms"]),
                # Without a coordinator nothing joins: it was a later run of each process that did.
                to_ms=first(row["to_ms"], all_joined_ms(joined, facts["processes"] or (), row["group_id"], row["from_ms"])),
                reference_process_id=max(there(other["reference_process_id"] for other in alike), default=None),
                processes=facts["processes"] or (),
                broker_id=facts["broker_id"],
                session_ms=facts["session_ms"],
                missed_by=facts["missed_by"],
                witness=proof_events(row["proof"]),
            )
        )
    return found


def _endings(inputs: Inputs) -> list[_Ending]:
    """Return the ends of brokers' runs, with the cluster and the id of the broker.

    A broker is back when its next run has started. The first line of that run does not show it, and a run that ends before it has started only interrupts the
    absence.
    """
    brokers = ByKey(inputs.rows("cluster_broker"), "process_id")
    started = _started(inputs)
    found: list[_Ending] = []
    for row in sorted(inputs.rows("process_ending"), key=lambda row: (row["process_id"], row["instance"] or 0)):
        known = brokers[row["process_id"]] if row["is_broker"] else ()
        if not known:
            continue
        back = started.get((row["process_id"], plus(row["instance"], 1)))
        if back is not None and up_to(row["to_hi_ms"], back[1]):
            row = row | {"to_lo_ms": back[0], "to_hi_ms": back[1]}
        before = found[-1].row if found and found[-1].row["process_id"] == row["process_id"] else None
        if before is not None and row["how"] in ("failed", "starting") and row["instance"] == plus(found[-1].last_instance, 1):
            witness = [*(before["witness"] or ()), *(row["witness"] or ())]
            away = before | {"how": row["how"], "to_lo_ms": row["to_lo_ms"], "to_hi_ms": row["to_hi_ms"], "witness": witness}
            found[-1] = replace(found[-1], row=away, last_instance=row["instance"])
            continue
        cluster = max(there(broker["kafka_cluster"] for broker in known), default=None)
        found.append(_Ending(row, cluster, greatest(*(broker["broker_id"] for broker in known)), row["instance"], row["how"]))
    return found


def _started(inputs: Inputs) -> dict[tuple[str | None, int | None], tuple[int | None, int | None]]:
    """Return when each run of a broker had started, at the earliest and at the latest."""
    clocks = Clocks(inputs, steady=True)
    lines = inputs.rows("fact_line", columns=["process_id", "instance", "at_ms"], where=pc.field("event") == "broker_started")
    found: dict[tuple[str | None, int | None], tuple[int | None, int | None]] = {}
    for line in sorted(lines, key=lambda line: line["at_ms"] or 0, reverse=True):
        for bounds in clocks.bounds(line["process_id"], line["at_ms"]):
            found[line["process_id"], line["instance"]] = bounds
    return found


def _is_in(outage: _Outage, ending: _Ending, noticed_ms: int) -> bool:
    """Return True if clients were without this broker, their coordinator, while it was away."""
    row = ending.row
    return up_to(outage.from_ms, plus(row["to_hi_ms"], noticed_ms)) and up_to(minus(row["from_lo_ms"], noticed_ms), outage.last_ms)


def _effects(inputs: Inputs, endings: Iterable[_Ending], outages: Iterable[_Outage], lost: Iterable[Row]) -> Iterator[tuple[_Ending, _Effect]]:
    """Yield each end of a broker's run with its effect on groups."""
    knobs = inputs.knobs
    outages_of = _by_broker(outages)
    lost_by = ByKey(lost, "kafka_cluster", "broker_id", "reference_process_id")
    removed_by = ByKey((row for row in inputs.rows("removed_member", columns=_REMOVED) if row["how"] == "session"), "broker", "reference_process_id")
    for ending in endings:
        row, effect = ending.row, _Effect()
        reference = row["reference_process_id"]
        for outage in outages_of.get((ending.kafka_cluster, ending.broker_id), ()):
            if _is_in(outage, ending, knobs.broker_noticed_ms):
                effect.is_affected = True
                effect.group_ids.update(there([outage.group_id]))
                if outage.code in _BROKER_DOWN and up_to(row["from_lo_ms"], outage.from_hi_ms):
                    effect.lost_ms = least(effect.lost_ms, outage.from_hi_ms)
        for member in lost_by[ending.kafka_cluster, ending.broker_id, reference]:
            if between(minus(row["from_lo_ms"], knobs.broker_noticed_ms), member["lost_lo_ms"], row["to_hi_ms"]):
                effect.group_ids.update(there([member["group_id"]]))
        # Members that it removed when it was back, because they had not been able to reach it.
        for member in removed_by[row["process_id"], reference]:
            late_ms = first(member["session_ms"], knobs.session_longest_ms) + knobs.heartbeat_late_ms
            # One that joined when it was back had not been kept away.
            was_here = not up_to(row["to_hi_ms"], member["heard_ms"])
            if was_here and up_to(row["to_lo_ms"], member["removed_hi_ms"]) and up_to(member["removed_lo_ms"], plus(row["to_hi_ms"], late_ms)):
                effect.is_affected = True
                effect.group_ids.update(there([member["group_id"]]))
        yield ending, effect


_REMOVED = ["group_id", "broker", "how", "reference_process_id", "removed_lo_ms", "removed_hi_ms", "heard_ms", "session_ms"]


def _by_broker(outages: Iterable[_Outage]) -> dict[tuple[str | None, int | None], list[_Outage]]:
    found: defaultdict[tuple[str | None, int | None], list[_Outage]] = defaultdict(list)
    for outage in outages:
        if outage.kafka_cluster is not None and outage.broker_id is not None:
            found[outage.kafka_cluster, outage.broker_id].append(outage)
    return found


def _broker_down(ending: _Ending, effect: _Effect) -> Trouble | None:
    row = ending.row
    how = row["how"]
    is_orderly = how in ("stopped", "starting") and effect.is_affected and not row["is_deployment"]
    if how not in ("died", "failed", "unknown") and not is_orderly:
        return None
    is_unsure = how == "unknown" and not effect.is_affected
    # If members cannot reach it until it is back, they lost it when it died. Its own log does not show that moment.
    from_hi_ms = least(row["from_hi_ms"], effect.lost_ms) if how in ("died", "failed") else row["from_hi_ms"]
    return Trouble(
        cause="unknown" if is_unsure else "broker_down",
        alternatives=("lines_missing", "process_killed") if is_unsure else (),
        kafka_cluster=ending.kafka_cluster,
        group_ids=sorted(effect.group_ids),
        subject=broker_name(ending.broker_id),
        process_id=row["process_id"],
        instance=row["instance"],
        from_lo_ms=row["from_lo_ms"],
        from_hi_ms=from_hi_ms,
        to_lo_ms=row["to_lo_ms"],
        to_hi_ms=row["to_hi_ms"],
        witness=row["witness"] or (),
    )


def broker_name(broker_id: int | None) -> str | None:
    return f"broker {broker_id}" if broker_id is not None else None


def _unexplained(inputs: Inputs, outages: Iterable[_Outage], endings: Iterable[_Ending]) -> Iterator[_Unexplained]:
    """Yield the outages that neither the end of a broker's run nor the trouble of a single process explains."""
    knobs = inputs.knobs
    endings_of: defaultdict[tuple[str | None, int | None], list[_Ending]] = defaultdict(list)
    for ending in endings:
        endings_of[ending.kafka_cluster, ending.broker_id].append(ending)
    troubles_of = ByKey(inputs.rows("process_trouble", columns=["process_id", "from_lo_ms", "to_hi_ms"]), "process_id")

    def is_explained(outage: _Outage) -> bool:
        key = (outage.kafka_cluster, outage.broker_id)
        if None not in key and any(_is_in(outage, ending, knobs.broker_noticed_ms) for ending in endings_of[key]):
            return True
        return outage.only_process is not None and any(
            up_to(trouble["from_lo_ms"], outage.last_ms + knobs.heartbeat_late_ms)
            and first(trouble["to_hi_ms"], outage.from_ms) >= outage.from_ms - knobs.heartbeat_late_ms
            for trouble in troubles_of[outage.only_process]
        )

    left = [outage for outage in outages if outage.code not in _OTHER_TROUBLE and not is_explained(outage)]
    alive = _with_live_broker(inputs, left)
    for outage in left:
        yield _possible_causes(outage, is_alive=(outage.kafka_cluster, outage.group_id, outage.from_ms) in alive)


def _with_live_broker(inputs: Inputs, outages: Iterable[_Outage]) -> set[tuple[str | None, str | None, int]]:
    """Return the cluster, group and beginning of the outages through which the log of the broker continues."""
    brokers = ByKey(inputs.rows("cluster_broker"), "kafka_cluster", "broker_id")
    absences = ByKey((row for row in inputs.rows("broker_absence") if row["how"] not in (None, "reported")), "process_id")
    return {
        (outage.kafka_cluster, outage.group_id, outage.from_ms)
        for outage in outages
        for broker in brokers[outage.kafka_cluster, outage.broker_id]
        for absence in absences[broker["process_id"]]
        if absence["from_lo_ms"] is not None and absence["from_lo_ms"] > outage.last_ms
    }


def _possible_causes(outage: _Outage, *, is_alive: bool) -> _Unexplained:
    """Return an outage with its cause, or with the causes that its lines do not distinguish."""
    if outage.code in _BROKER_DOWN:
        return _Unexplained(outage, "broker_down", ())
    if outage.code == "moved" and is_alive:
        return _Unexplained(outage, "coordinator_moved", ())
    alternatives: tuple[str, ...] = ()
    if outage.code in ("moved", "connections_failed", "no_broker_reachable") and not is_alive and outage.missed_by is not None:
        alternatives = ("broker_cut_off", "broker_down")
    elif outage.code == "unreachable_broker":
        alternatives = ("broker_down", "member_cut_off" if outage.missed_by is None else "broker_cut_off")
    elif outage.code == "moved":
        alternatives = ("broker_down", "coordinator_moved")
    elif outage.code in ("member_unanswered", "one_member"):
        alternatives = ("member_cut_off", "process_paused")
    elif outage.code in ("connections_failed", "no_broker_reachable") and not is_alive:
        alternatives = ("broker_down", "member_cut_off")
    return _Unexplained(outage, "unknown", alternatives)


def _fenced_brokers(inputs: Inputs, unexplained: Iterable[_Unexplained]) -> Iterator[Trouble]:
    """Yield the brokers from which the controller no longer heard. Without the broker's log it is unknown why."""
    fenced = inputs.rows(
        "fact_line", columns=["kafka_cluster", "process_id", "broker_id", "event_id", "at_ms"], where=pc.field("event") == "broker_fenced"
    )
    if not fenced:
        return
    settled_ms = inputs.knobs.coordinator_settled_ms
    clocks = Clocks(inputs)
    with_log = ByKey((row for row in inputs.rows("cluster_broker") if row["process_id"] is not None), "kafka_cluster", "broker_id")
    outages_of = _by_broker(it.outage for it in unexplained)
    for line in fenced:
        key = (line["kafka_cluster"], line["broker_id"])
        for lo_ms, hi_ms in clocks.bounds(line["process_id"], line["at_ms"]):
            is_in_outage = any(
                up_to(outage.from_ms - settled_ms, hi_ms) and up_to(lo_ms, outage.last_ms + settled_ms) for outage in outages_of.get(key, ())
            )
            if key not in with_log and not is_in_outage:
                yield Trouble(
                    cause="unknown",
                    alternatives=("broker_cut_off", "broker_down"),
                    kafka_cluster=line["kafka_cluster"],
                    subject=broker_name(line["broker_id"]),
                    from_lo_ms=lo_ms,
                    from_hi_ms=hi_ms,
                    to_lo_ms=None,
                    to_hi_ms=None,
                    witness=[line["event_id"]],
                )


def _coordinator_outages(unexplained: Iterable[_Unexplained], lost: Iterable[Row], knobs: Knobs) -> Iterator[Trouble]:
    """Yield the outages that no log of a broker explains. An outage of one broker is one trouble, however many groups it affected."""
    unexplained = list(unexplained)
    others = _other_groups(unexplained, lost, knobs.broker_noticed_ms)
    together: defaultdict[tuple[object, ...], list[_Unexplained]] = defaultdict(list)
    for it in unexplained:
        o = it.outage
        group_id = o.group_id if o.broker_id is None else None
        together[o.kafka_cluster, it.cause, it.alternatives, o.broker_id, group_id, tuple(o.processes), o.from_ms // knobs.storm_gap_ms].append(it)
    for alike in together.values():
        outages = [it.outage for it in alike]
        of_others = [others[key] for o in outages if (key := (o.kafka_cluster, o.group_id, o.broker_id, o.from_ms)) in others]
        one, cause, alternatives = outages[0], alike[0].cause, alike[0].alternatives
        # A member that was paused or cut off notices it up to one session later.
        may_be_late = "member_cut_off" in alternatives
        late_ms = [first(o.session_ms, knobs.session_longest_ms) + knobs.heartbeat_late_ms if may_be_late else 0 for o in outages]
        # The last failed connection to a broker does not show that it came back, because perhaps no client tried again.
        is_over = not any(o.to_ms is None or o.code == "unreachable_broker" for o in outages)
        yield Trouble(
            cause=cause,
            alternatives=alternatives,
            kafka_cluster=one.kafka_cluster,
            group_ids=names((o.group_id for o in outages), *(of.group_ids for of in of_others)),
            subject=one.only_process
            if one.only_process is not None and cause == "unknown"
            else first(broker_name(one.broker_id), one.only_process, min(there(o.group_id for o in outages), default=None)),
            process_id=one.only_process,
            from_lo_ms=min(o.from_ms - late for o, late in zip(outages, late_ms, strict=True)),
            from_hi_ms=max(o.from_hi_ms for o in outages),
            to_lo_ms=max(o.from_ms for o in outages) if is_over else None,
            to_hi_ms=greatest(*(o.to_ms for o in outages), *(of.to_ms for of in of_others)) if is_over else None,
            witness=events_of((o.witness for o in outages), 16),
        )


def _other_groups(unexplained: Iterable[_Unexplained], lost: Iterable[Row], noticed_ms: int) -> dict[tuple[object, ...], _OtherGroups]:
    """Return the other groups that lost the same broker, by the cluster, group, broker and beginning of the outage."""
    lost_by = ByKey(lost, "kafka_cluster", "broker_id", "reference_process_id")
    found: defaultdict[tuple[object, ...], _OtherGroups] = defaultdict(_OtherGroups)
    for it in unexplained:
        o = it.outage
        if it.cause != "broker_down" and "broker_down" not in it.alternatives:
            continue
        for member in lost_by[o.kafka_cluster, o.broker_id, o.reference_process_id]:
            if between(o.from_ms - noticed_ms, member["lost_lo_ms"], o.to_ms):
                others = found[o.kafka_cluster, o.group_id, o.broker_id, o.from_ms]
                others.group_ids.update(there([member["group_id"]]))
                others.to_ms = greatest(others.to_ms, member["found_hi_ms"])
    return found
