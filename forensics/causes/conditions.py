"""Gather the troubles of each incident, with the lines that end them or show that they went on."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from forensics.causes.doubt import Doubt
from forensics.causes.gaps import rows as incident_gap
from forensics.causes.joins import all_joined_ms, first_join, joins_of
from forensics.causes.occurrences import rows as occurrence
from forensics.causes.states import Condition, End
from forensics.clocks.offsets import Clocks
from forensics.relations.by_key import ByKey, InTime
from forensics.relations.conditions import one_of
from forensics.relations.missing import between, first, greatest, least, minus, plus, there, up_to

if TYPE_CHECKING:
    from forensics.causes.ends_of_logs import LogEnds
    from forensics.relations.inputs import Inputs, Row

Found = Iterator[tuple[str, Condition]]

_PAIR_RULES = ("split-brain-task", "split-brain-partition")
#: Causes after which a process is back when it is a member again.
_KEPT_AWAY = ("process_paused", "member_cut_off", "poll_too_slow", "unknown")
#: Lines of members that join and leave.
_COMES_AND_GOES = ("joined", "joining", "leaving", "synced")
#: Cases of a storm in which one member leaves and returns.
_RETURNS = ("leaves", "restarts")
#: Rules about what happens again and again.
_REPEATED = ("rebalance-storm", "heartbeat-rebalancing", "offset-reset")
#: Causes after which a process is back when its next run has started.
_ENDED = ("process_killed", "process_restarted", "deployment")


def conditions(inputs: Inputs, ends: LogEnds, doubt: Doubt) -> dict[str, list[Condition]]:
    """Return the troubles of each incident.

    Args:
        inputs: the rows of other views.
        ends: the ends of the logs.
        doubt: where lines are lost: there, the absence of an end does not show that the trouble went on.
    """
    found: defaultdict[str, list[Condition]] = defaultdict(list)
    sources = (
        _Causes(inputs, ends, doubt).conditions(),
        _owner_pairs(inputs, ends, doubt),
        _gaps(inputs, doubt),
        _rebalances(inputs),
        _Occurrences(inputs, ends, doubt).conditions(),
    )
    for source in sources:
        for incident_id, condition in source:
            found[incident_id].append(condition)
    return found


def _passed(at_ms: int | None) -> Condition:
    return Condition(None, [(End.PASSED, at_ms)])


class _Causes:
    """The troubles that root causes are: something is away, or is wrong.

    Args:
        inputs: the rows of other views.
        ends: the ends of the logs.
        doubt: where lines are lost.
    """

    def __init__(self, inputs: Inputs, ends: LogEnds, doubt: Doubt) -> None:
        self._inputs, self._knobs, self._ends, self._doubt = inputs, inputs.knobs, ends, doubt
        self._causes = inputs.rows("root_cause")
        self._silent = {row["process_id"] for row in inputs.rows("silent_member", columns=["process_id", "how"]) if row["how"] not in (None, "gone")}
        self._losses = ByKey(inputs.rows("lost_membership", columns=["process_id", "group_id", "back_ms"]), "process_id", "group_id")
        left = {p for row in self._causes if row["cause"] in ("poll_too_slow", "static_id_shared") for p in row["process_ids"] or ()}
        self._joined, self._asked = joins_of(inputs, left), joins_of(inputs, left, ("joining",))

    def conditions(self) -> Found:
        """Yield the troubles of each root cause."""
        for row in self._causes:
            for condition in self._of(row):
                yield row["incident_id"], condition

    def _of(self, row: Row) -> Iterator[Condition]:
        cause = row["cause"]
        if cause in ("duplicate_declaration", "group_id_collision"):
            may_be_lost = self._doubt.since(self._doubt.members(row["group_ids"]), row["from_lo_ms"])
            yield Condition("declared", self._deletions(row), goes_on=not may_be_lost)
        elif cause == "offsets_topic_impossible":
            yield Condition("offsets_topic", goes_on=True)
        elif cause == "clock_wrong":
            state = "zone" if self._zones[row["incident_id"],] else "clock"
            yield Condition(state, goes_on=row["from_lo_ms"] is None, targets=row["process_ids"] or ())
        elif cause == "connector_churn":
            # A connector that is stable for a while may change again.
            is_quiet = up_to(self._knobs.storm_gap_ms, minus(self._ends.last_ms, row["to_hi_ms"]))
            is_quiet = is_quiet and not self._doubt.since(self._doubt.members(row["group_ids"]), row["to_hi_ms"])
            yield _passed(row["to_hi_ms"]) if is_quiet else Condition(None)
        elif cause == "offsets_lost":
            yield _passed(first(row["to_hi_ms"], row["from_hi_ms"]))
        elif cause == "poll_too_slow":
            yield self._after_poll_timeout(row)
        elif cause == "static_id_shared":
            if row["to_hi_ms"] is not None:
                yield _passed(row["to_hi_ms"])
            yield from self._fenced(row)
        else:
            yield self._away(row)

    def _away(self, row: Row) -> Condition:
        """Return the trouble of a process or broker that was away, or of members of which nothing more is known."""
        cause, process_ids, alternatives = row["cause"], row["process_ids"] or [], row["alternatives"] or []
        if cause == "broker_down" or "broker_down" in alternatives:
            is_seen = cause == "broker_down" and not self._is_doubtful(row)
            how = End.STARTED if cause == "broker_down" and process_ids else End.FOUND
            found = self._known_end(row, how)
            return Condition("broker_away", found, goes_on=is_seen, targets=() if found else [row["subject"]])
        if row["subject"] == "" and (completed_ms := self._completed_ms(row)) is not None:
            return Condition("rebalance", [(End.COMPLETED, completed_ms)])
        if row["subject"] == "" and row["kafka_cluster"] in self._lost_clusters:
            return Condition("group_empty", [(End.DELETED, self._lost_clusters[row["kafka_cluster"]])])
        if len(process_ids) != 1 or cause == "coordinator_moved":
            return Condition(None, [(End.PASSED, end_ms) for _, end_ms in self._known_end(row, End.PASSED)])
        how = End.STARTED if cause in _ENDED else End.JOINED
        found = self._known_end(row, how)
        if not found and (is_closed := self._shutdown_after(row)) is not None:
            return self._closed(process_ids[0], is_closed)
        goes_on = not self._is_doubtful(row) and self._ends.go_on(process_ids, first(row["from_hi_ms"], row["from_lo_ms"]))
        return Condition("process_away", found, goes_on=goes_on, targets=() if found else process_ids)

    def _completed_ms(self, row: Row) -> int | None:
        """Return when the groups that removed members of unknown processes had completed a generation without them; None: not all had, or the logs do not show it."""
        last_ms = greatest(*(part["from_hi_ms"] for part in row["parts"] or ()))
        if last_ms is None:
            return None
        lost: defaultdict[str | None, list[int | None]] = defaultdict(list)
        for loss in (loss for part in row["parts"] for member_id in part["member_ids"] or () for loss in self._losses_of[member_id]):
            lost[loss["group_id"]].append(loss["removed_hi_ms"])
        removed = {group_id: first(greatest(*lost[group_id]), last_ms) for group_id in row["group_ids"] or ()}
        completed = [self._generations.first_from((row["kafka_cluster"], group_id), at_ms) for group_id, at_ms in removed.items()]
        return greatest(*(it["completed_ms"] for it in completed if it is not None)) if None not in completed else None

    @cached_property
    def _lost_clusters(self) -> Mapping[str, int]:
        return _former_clusters(self._inputs)[1]

    @cached_property
    def _losses_of(self) -> ByKey:
        return ByKey(self._inputs.rows("lost_membership", columns=["group_id", "member_id", "removed_hi_ms"]), "member_id")

    @cached_property
    def _generations(self) -> InTime:
        """The generations that coordinators completed, with the latest time on the reference clock as `completed_ms`."""
        clocks, columns = Clocks(self._inputs), ["kafka_cluster", "group_id", "generation", "coordinator", "stabilized_ts"]
        rows = self._inputs.rows("generation", columns=columns)
        placed = ({**row, "completed_ms": hi_ms} for row in rows for _, hi_ms in clocks.bounds(row["coordinator"], row["stabilized_ts"]))
        return InTime(placed, "completed_ms", "kafka_cluster", "group_id")

    def _known_end(self, row: Row, how: End) -> list[tuple[End, int | None]]:
        """Return the end of a root cause.

        If no clock places it, a process that is a member again after every loss is back too, at an unknown time.
        """
        if row["to_hi_ms"] is not None:
            return [(how, row["to_hi_ms"])]
        losses = [loss for process in row["process_ids"] or () for group_id in row["group_ids"] or () for loss in self._losses[process, group_id]]
        is_back = bool(losses) and all(loss["back_ms"] is not None for loss in losses)
        return [(End.JOINED if how is End.STARTED and row["cause"] in _ENDED else how, None)] if is_back else []

    def _is_doubtful(self, row: Row) -> bool:
        """Return True if the lines that would show the return of what is away may be missing."""
        process_ids = row["process_ids"] or []
        return (
            row["subject"] == ""
            or self._doubt.since(process_ids, row["from_lo_ms"])
            or "lines_missing" in (row["alternatives"] or ())
            or (len(process_ids) == 1 and process_ids[0] in self._silent)
            # It is also unknown if a broker that was possibly down is back. Members without a coordinator are separate evidence.
            or (row["cause"] == "unknown" and "broker_down" in (row["alternatives"] or ()))
        )

    def _shutdown_after(self, row: Row) -> int | None:
        """Return when the only process of a root cause was shut down cleanly after the root cause began."""
        log = self._ends.get(row["process_ids"][0])
        return log.shut_down_ms(first(row["from_hi_ms"], row["from_lo_ms"])) if log is not None else None

    def _closed(self, process_id: str, at_ms: int) -> Condition:
        """Return the trouble of a process that was away until it was shut down cleanly."""
        log = self._ends.get(process_id)
        is_last = log is not None and up_to(minus(log.end_ms, self._knobs.coordinator_settled_ms), at_ms)
        return Condition("process_away", [(End.STOPPED, at_ms)], is_with_logs=is_last, shown_ms=at_ms if is_last else None, targets=[process_id])

    def _after_poll_timeout(self, row: Row) -> Condition:
        """Return the trouble of a member that left because of its poll timeout: it is back when its process is a member again."""
        if row["subject"] == "":
            return self._away(row)
        process_ids = row["process_ids"] or []
        again = self._joined_after(process_ids, row["group_ids"], row["to_hi_ms"])
        if again is not None:
            return Condition("process_away", [(End.JOINED, again)])
        if len(process_ids) == 1 and (shutdown_ms := self._shutdown_after(row)) is not None:
            return self._closed(process_ids[0], shutdown_ms)
        # A log that ends soon after the member left, or asked to join again, does not show that it stayed away.
        asked_ms = (line["hi_ms"] for process in process_ids for group_id in row["group_ids"] or () for line in self._asked[process, group_id])
        since_ms = greatest(row["to_hi_ms"], *asked_ms)
        logs = there(self._ends.get(process) for process in process_ids)
        last_ms = least(*(log.last_ms for log in logs)) if logs else self._ends.last_ms
        # A log that names no group has no joins either: librdkafka prints both with `debug=cgrp` only.
        is_watched = bool(row["group_ids"]) and not self._doubt.since(process_ids, row["from_lo_ms"])
        goes_on = is_watched and up_to(self._knobs.coordinator_settled_ms, minus(last_ms, since_ms))
        return Condition("process_away", goes_on=goes_on, targets=process_ids if len(process_ids) == 1 else ())

    def _fenced(self, row: Row) -> Iterator[Condition]:
        """Yield the processes whose static member was fenced: that ends the consumer, which is away until its process joins again."""
        for process_id in row["process_ids"] or ():
            again = self._joined_after([process_id], row["group_ids"], row["from_hi_ms"])
            found: list[tuple[End, int | None]] = [(End.JOINED, again)] if again is not None else []
            is_watched = bool(row["group_ids"]) and not self._doubt.since([process_id], row["from_lo_ms"])
            goes_on = is_watched and self._ends.go_on([process_id], row["from_hi_ms"])
            yield Condition("process_away", found, goes_on=goes_on, targets=() if found else [process_id])

    def _joined_after(self, process_ids: Sequence[str], group_ids: Sequence[str] | None, since_ms: int | None) -> int | None:
        """Return when one of these processes was first a member of one of these groups after a time."""
        again = (line["hi_ms"] for process in process_ids for group_id in group_ids or () for line in self._joined[process, group_id])
        return least(*(at_ms for at_ms in there(again) if since_ms is not None and at_ms > since_ms))

    def _deletions(self, row: Row) -> list[tuple[End, int | None]]:
        """Return when the connectors that were declared twice were deleted in one of the places."""
        if row["cause"] != "duplicate_declaration":
            return []
        deleted = [self._deleted_after(name, row["group_ids"] or (), first(row["from_hi_ms"], 0)) for name in row["subject"].split(", ")]
        return [(End.DELETED, greatest(*deleted))] if None not in deleted else []

    @cached_property
    def _zones(self) -> ByKey:
        """The findings about logs in another time zone, by incident: their clocks need not be wrong."""
        return ByKey((it for it in occurrence(self._inputs) if it["code"] in ("wrong_time_zone", "zones_differ")), "incident_id")

    @cached_property
    def _deleted(self) -> ByKey:
        return _deletions_of(self._inputs)

    def _deleted_after(self, connector: str, group_ids: Collection[str], since_ms: int) -> int | None:
        return least(
            *(
                it["lo_ms"]
                for it in self._deleted[connector]
                if it["worker_group_id"] in group_ids and it["lo_ms"] is not None and it["lo_ms"] >= since_ms
            )
        )


def _deletions_of(inputs: Inputs) -> ByKey:
    """Return the lines about deleted connectors by connector, with their earliest time on the reference clock as `lo_ms`."""
    clocks = Clocks(inputs)
    columns = ["kafka_cluster", "worker_group_id", "connector", "process_id", "at_ms"]
    lines = inputs.rows("fact_line", columns=columns, where=pc.field("event") == "connector_config_removed")
    return ByKey(({**line, "lo_ms": lo_ms} for line in lines for lo_ms, _ in clocks.bounds(line["process_id"], line["at_ms"])), "connector")


def _owner_pairs(inputs: Inputs, ends: LogEnds, doubt: Doubt) -> Found:
    """Yield the two owners that incidents had."""
    late_ms, settled_ms = inputs.knobs.heartbeat_late_ms, inputs.knobs.coordinator_settled_ms
    proved = [row for row in occurrence(inputs) if row["rule"] in _PAIR_RULES and row["verdict"] == "proved" and row["incident_id"] is not None]
    pairs = ByKey(inputs.rows("split_brain", columns=_PAIR, where=pc.field("verdict") == "proved") if proved else (), "resource")
    seen = set()
    for it in proved:
        for resource in (it["subject"] or "").split(", "):
            for pair in pairs[resource]:
                a, b = ends.get(pair["process_a"]), ends.get(pair["process_b"])
                key = (it["incident_id"], pair["ownership_a"], pair["ownership_b"])
                is_same_group = (pair["kafka_cluster"], pair["group_id"]) == (it["kafka_cluster"], it["group_id"])
                is_in = between(it["from_ts"], pair["from_lo"], first(it["to_ts"], it["from_ts"]))
                if a is None or b is None or key in seen or not (is_same_group and is_in):
                    continue
                seen.add(key)
                to_ms, settles_ms = pair["to_hi"], minus(greatest(a.end_ms, b.end_ms), settled_ms)
                if to_ms is None:
                    shown_ms = least(a.last_ms, b.last_ms)
                    goes_on = up_to(settles_ms, shown_ms) and not doubt.since((pair["process_a"], pair["process_b"]), pair["from_lo"])
                    yield it["incident_id"], Condition("two_owners", goes_on=goes_on, shown_ms=shown_ms, targets=[pair["process_a"]])
                    continue
                closed = [process for process, log in ((pair["process_a"], a), (pair["process_b"], b)) if log.is_closing(to_ms, late_ms)]
                is_last = bool(closed) and up_to(settles_ms, to_ms)
                how = End.STOPPED if closed else End.PASSED
                targets = [pair["process_a"]] if is_last else closed
                yield (
                    it["incident_id"],
                    Condition("two_owners", [(how, to_ms)], is_with_logs=is_last, shown_ms=to_ms if is_last else None, targets=targets),
                )


_PAIR = ["kafka_cluster", "group_id", "resource", "ownership_a", "ownership_b", "process_a", "process_b", "from_lo", "to_hi"]


def _gaps(inputs: Inputs, doubt: Doubt) -> Found:
    """Yield the periods in which work had no owner, or a group no members. A group ends with the data of its cluster."""
    former, lost = _former_clusters(inputs)
    for gap in incident_gap(inputs):
        if gap["double_work_ms"] is not None:
            if gap["to_ts"] is not None:
                yield gap["incident_id"], _passed(gap["to_ts"])
            continue
        state, how = ("group_empty", End.JOINED) if gap["resource_kind"] == "group" else ("no_owner", End.STARTED)
        found: list[tuple[End, int | None]] = [(how, gap["to_ts"])] if gap["to_ts"] is not None else []
        if not found and gap["kafka_cluster"] in lost:
            found = [(End.DELETED, lost[gap["kafka_cluster"]])]
        goes_on = bool(gap["unowned_ms"]) and gap["kafka_cluster"] not in former and not doubt.since(doubt.members([gap["group_id"]]), gap["from_ts"])
        yield gap["incident_id"], Condition(state, found, goes_on=goes_on)


def _former_clusters(inputs: Inputs) -> tuple[Collection[str], Mapping[str, int]]:
    """Return the clusters that others replaced, and when the data of some of them was lost."""
    replaced = [(it["code"], change) for it in occurrence(inputs) if it["rule"] == "cluster-replaced" for change in _facts(it)["changes"]]
    lost = {change["from_cluster"]: change["at_ms"] for code, change in replaced if code == "data_lost"}
    return {change["from_cluster"] for _, change in replaced}, lost


def _rebalances(inputs: Inputs) -> Found:
    """Yield the rebalances that had not ended when the logs end."""
    rebalances = ByKey((row for row in inputs.rows("open_rebalance") if row["is_given_up"] is False), "kafka_cluster", "group_id")
    for it in occurrence(inputs):
        if it["incident_id"] is not None and it["rule"] == "slow-rebalance" and it["code"] == "unfinished":
            for rebalance in rebalances[it["kafka_cluster"], it["group_id"]]:
                targets = rebalance["awaited_processes"] or ()
                yield it["incident_id"], Condition("rebalance", goes_on=True, shown_ms=rebalance["to_ms"], targets=targets)


class _Occurrences:
    """The troubles that findings are.

    Args:
        inputs: the rows of other views.
        ends: the ends of the logs.
        doubt: where lines are lost.
    """

    def __init__(self, inputs: Inputs, ends: LogEnds, doubt: Doubt) -> None:
        self._inputs, self._knobs, self._ends, self._doubt = inputs, inputs.knobs, ends, doubt
        self._with_cause = {cause["incident_id"] for cause in inputs.rows("root_cause")}
        self._started = self._starts() if any(row["code"] == "herder_died" for row in occurrence(inputs)) else {}

    def conditions(self) -> Found:
        """Yield the trouble of each occurrence."""
        for it in occurrence(self._inputs):
            if it["incident_id"] is not None and it["rule"] not in _PAIR_RULES:
                yield it["incident_id"], self._of(it)

    def _of(self, it: Row) -> Condition:
        end_ms = first(it["to_ts"], it["from_ts"])
        if it["rule"] == "coordinator-unavailable":
            return self._without_coordinator(it, end_ms)
        if it["rule"] == "start-failed" and it["code"] != "beside":
            return self._not_started(it)
        if it["rule"] == "assigned-not-working" and it["to_ts"] is None:
            return self._not_working(it)
        if it["rule"] == "producer-fenced":
            return self._fenced(it)
        if it["rule"] == "controller-unavailable":
            # Controllers that keep a leader for a while may lose it again, and those without one may have elected one after the last line.
            is_quiet = it["to_ts"] is not None and up_to(self._knobs.storm_gap_ms, minus(self._ends.last_ms, end_ms))
            return _passed(end_ms) if is_quiet else Condition(None)
        if it["rule"] == "slow-rebalance" and _facts(it).get("is_given_up"):
            return Condition(None)  # its members were closed: no line shows whether the group ever completed it
        is_alone = it["incident_id"] not in self._with_cause
        # A stuck partition may have moved on without a line.
        if it["rule"] == "stuck-partition" and it["to_ts"] is None or is_alone and self._is_unknown_alone(it, end_ms):
            return Condition(None)
        return _passed(end_ms)

    def _without_coordinator(self, it: Row, end_ms: int | None) -> Condition:
        facts = _facts(it)
        is_open = facts.get("is_open")
        state = "not_stored" if it["code"] == "not_stored" else "no_coordinator"
        has_flapped = it["code"] == "flapping" or facts.get("flaps") and facts.get("back_ms") is None
        if has_flapped and facts.get("is_settled") is False:
            return Condition(state)  # the log ends before it shows whether it lost it again
        if is_open if is_open is not None else it["to_ts"] is None:
            # Without a coordinator nothing joins: it was a later run of each process that did.
            processes = facts.get("processes") or ()
            again_ms = all_joined_ms(self._joined, processes, it["group_id"], it["from_ts"])
            if again_ms is not None:
                return Condition(state, [(End.FOUND, again_ms)])
            return Condition(state, goes_on=self._ends.go_on(processes, it["from_ts"]))
        if facts.get("never") and is_open is not None:
            return self._never_found(it, facts.get("processes") or ())
        if _is_thrown_out(facts):
            return self._thrown_out(it, facts.get("processes") or (), end_ms)
        # A member that may have lost its membership is back when it has joined again.
        return Condition(state, [(End.PASSED, greatest(end_ms, plus(it["from_ts"], facts.get("back_ms"))))])

    def _never_found(self, it: Row, processes: Sequence[str]) -> Condition:
        """Return the trouble of clients that were closed before they found a coordinator: only the shutdown of their processes ended it."""
        logs = there(map(self._ends.get, processes))
        stops = [log.shut_down_ms(it["from_ts"]) for log in logs]
        if not stops or None in stops:
            return Condition("no_coordinator")
        stopped_ms, end_ms = greatest(*stops), greatest(*(log.end_ms for log in logs))
        is_last = up_to(minus(end_ms, self._knobs.coordinator_settled_ms), stopped_ms)
        shown_ms = stopped_ms if is_last else None
        return Condition("no_coordinator", [(End.STOPPED, stopped_ms)], is_with_logs=is_last, shown_ms=shown_ms, targets=processes)

    def _thrown_out(self, it: Row, processes: Sequence[str], end_ms: int | None) -> Condition:
        """Return the trouble of members that the coordinator no longer knew when they found it again: they are away until they join."""
        again_ms = first_join(self._joined, processes, it["group_id"], end_ms)
        is_back = again_ms is not None
        return Condition("process_away", [(End.JOINED, again_ms)] if is_back else (), targets=() if is_back else processes)

    @cached_property
    def _joined(self) -> ByKey:
        """The lines with which members joined that had lost their coordinator."""
        lost = (_facts(it) for it in occurrence(self._inputs) if it["rule"] == "coordinator-unavailable")
        return joins_of(self._inputs, {process for facts in lost for process in facts.get("processes") or ()})

    def _not_started(self, it: Row) -> Condition:
        """Return the trouble of a process that gave up while it started. A later start that the log does not show complete leaves its end unknown."""
        facts = _facts(it)
        if it["to_ts"] is not None:
            return Condition("process_away", [(End.STARTED, it["to_ts"])])
        return Condition("process_away", goes_on=bool(facts.get("is_last")), targets=there([facts.get("process_id")]))

    def _not_working(self, it: Row) -> Condition:
        facts = _facts(it)
        process_id: str = facts.get("process_id") or ""
        if it["code"] == "herder_died":
            started = [at_ms for at_ms in self._started.get(process_id, ()) if up_to(it["from_ts"], at_ms)]
            found: list[tuple[End, int | None]] = [(End.STARTED, min(started))] if started else []
            goes_on = not self._doubt.since([process_id], it["from_ts"]) and self._ends.go_on([process_id], it["from_ts"])
            return Condition("process_away", found, goes_on=goes_on, targets=[process_id] if process_id and not found else ())
        if it["code"] == "no_partitions":
            return _passed(it["from_ts"])
        # Without later lines of the worker, or if lines may be missing, nothing shows that it did not start again.
        state = "failed" if it["code"] == "failed" else "not_started"
        is_watched = (facts.get("watched_ms") or facts.get("waited_ms") or 0) > 0 and not facts.get("is_uncertain")
        is_watched = is_watched and not self._doubt.since([process_id], it["from_ts"])
        return Condition(state, goes_on=is_watched)

    def _fenced(self, it: Row) -> Condition:
        process_id: str = _facts(it).get("process_id") or ""
        sessions = self._sessions[process_id, it["subject"]]
        again = least(*(row["start_hi"] for row in sessions if up_to(it["from_ts"], row["start_hi"])))
        found: list[tuple[End, int | None]] = [(End.STARTED, again)] if again is not None else []
        log = self._ends.get(process_id)
        # The fenced producer is closed: nothing writes with its epoch any more.
        closed = (line["hi_ms"] for line in self._closed[process_id, _facts(it).get("client_id")])
        found += [(End.PASSED, at_ms) for at_ms in there(closed) if up_to(it["from_ts"], at_ms)]
        if log is not None and (stopped_ms := log.shut_down_ms(it["from_ts"])) is not None:
            found.append((End.STOPPED, stopped_ms))
        # A fenced producer cannot write again. A log that ends soon after the fence may lack its successor.
        is_watched = log is not None and up_to(self._knobs.coordinator_settled_ms, minus(log.last_ms, first(it["to_ts"], it["from_ts"])))
        goes_on = is_watched and not _facts(it).get("is_abortable") and not self._doubt.since([process_id], it["from_ts"])
        return Condition("fenced", found, goes_on=goes_on, targets=[process_id] if process_id else ())

    @cached_property
    def _sessions(self) -> ByKey:
        columns = ["process_id", "transactional_id", "start_lo", "start_hi"]
        return ByKey(self._inputs.rows("producer_session", columns=columns), "process_id", "transactional_id")

    @cached_property
    def _closed(self) -> ByKey:
        """The closing of clients, with the latest time on the reference clock."""
        clocks, columns = Clocks(self._inputs), ["process_id", "client_id", "at_ms"]
        lines = self._inputs.rows("fact_line", columns=columns, where=pc.field("event") == "client_closed")
        placed = ({**line, "hi_ms": hi_ms} for line in lines for _, hi_ms in clocks.bounds(line["process_id"], line["at_ms"]))
        return ByKey(placed, "process_id", "client_id")

    def _starts(self) -> dict[str, list[int]]:
        """Return when each worker's herder had started, at the latest, on the reference clock."""
        clocks = Clocks(self._inputs)
        found: defaultdict[str, list[int]] = defaultdict(list)
        for line in self._inputs.rows("fact_line", columns=["process_id", "at_ms"], where=pc.field("event") == "herder_started"):
            for _, hi_ms in clocks.bounds(line["process_id"], line["at_ms"]):
                found[line["process_id"]].extend(there([hi_ms]))
        return found

    def _is_left_last(self, it: Row) -> bool:
        """Return True if the last line of a group's members, after its storm, is a leave: a member that leaves and returns has then not stayed."""
        columns = ["group_id", "at_ms", "event"]
        of_group = (pc.field("group_id") == it["group_id"]) & one_of("event", _COMES_AND_GOES)
        lines = [line for line in self._inputs.rows("client_event", columns=columns, where=of_group) if line["at_ms"] is not None]
        return bool(lines) and max(lines, key=lambda line: (line["at_ms"], line["event"]))["event"] == "leaving"

    def _is_unknown_alone(self, it: Row, end_ms: int | None) -> bool:
        """Return True if it is unknown how an occurrence of an unknown cause went on.

        If the cause of a member's removal is unknown, so is its whereabouts, unless it returned. A log that ends soon after a refused commit does not show that
        the next one succeeded. An abandoned task may still run.
        """
        may_be_lost = self._doubt.since(self._doubt.members([it["group_id"]]), end_ms)
        if it["rule"] == "stale-commit":
            return may_be_lost or not up_to(self._knobs.coordinator_settled_ms, minus(self._ends.last_ms, end_ms))
        # What happens again and again is over if it does not happen again.
        if it["rule"] in _REPEATED and (may_be_lost or (it["code"] in _RETURNS and self._is_left_last(it))):
            return True
        if (it["rule"], it["code"]) == ("session-timeout", "not_known"):
            return _facts(it).get("again_at_ms") is None
        return (it["rule"], it["code"]) in (("session-timeout", "stayed_away"), ("session-timeout", "no_answer"), ("zombie-task", "never_ended"))


def _is_thrown_out(facts: Mapping[str, Any]) -> bool:
    """Return True if the coordinator no longer knew the members when they found it again, and no line shows how long it took them to return."""
    return bool(facts.get("thrown_out")) and facts.get("back_ms") is None


def _facts(it: Row) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(it["facts"] or "{}")
    return found
