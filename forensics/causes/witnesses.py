"""Decide by the machine's own witnesses what stopped, killed or restarted a process: GC logs, objects of Kubernetes (view `machine_event`)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pyarrow.dataset as ds

from forensics.causes.thread_dumps import ThreadDumps
from forensics.causes.trouble import THREAD, UNSURE, Trouble
from forensics.clocks.offsets import Clocks
from forensics.logs.time_zones import Owners, unsure_zones
from forensics.relations.by_key import ByKey
from forensics.relations.conditions import one_of
from forensics.relations.missing import first, greatest, minus, there

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs, Row

#: A printed time is rounded by up to a second, and threads print late.
_LATE_MS = 1_000
#: Pauses decide if they cover at least this share of the time in which the process certainly did not run.
_MOST, _OF = 4, 5
#: A collection that used less than this share of its length in processor time was itself stopped by the host.
_CPU_SHARE = 5
#: What ended a process without asking it, the gravest first.
_KILLED = ("oom_killed", "crashed", "killed")
#: What ended a process, the gravest first; an exit and a failed probe do not show that it was killed.
_KILLS = ("oom_killed", "crashed", "evicted", "probe_failed", "killed", "exited")
_DECIDING = (*_KILLED, "evicted")
#: What is the end itself; the others only ask for one.
_ENDS = (*_KILLED, "exited")
_STEP = "clock_stepped"
#: The pauses of a JVM among the lines of its process.
_PAUSES = ("gc_pause", "gc_collection", "threads_stopped")
_ORDERLY = ("process_restarted", "deployment")
#: Who asked for a restart.
_ASKED = ("evicted", "drained", "probe_failed", "restarted_by_operator", "stopped", "oom_killed", "killed")
#: The clock of an operator's host may differ by this from that of a process's host.
_OTHER_CLOCK_MS = 60_000
#: The first lines of a process that was started again.
_STARTS = ("process_initializing", "process_started", "config_dumped", "kafka_version", "client_started")
#: A platform starts a container that ended again after at most this long.
_RESTART_MS = 300_000
#: The time that a container has to stop after it was asked to, with room for a longer one.
_GRACE_MS = 60_000


@dataclass(frozen=True, kw_only=True)
class Machine:
    """What the machine's witnesses show about one trouble.

    Attributes:
        code: `clock_stepped` (its host's clock was set); `gc_pause`; `gc_starved` (a collection during which the host did not let the process run);
            `gc_unsure` (nothing shows which of the two); `safepoint` (all threads stopped without a collection); `not_gc`; `zone_unsure` (it fits if the log is
            in the zone that is assumed for it); `printed` (what a task printed before it exceeded its poll timeout); or what ended the process, as in `machine_event.what`.
        how: the printed reason.
        length_ms: of all its pauses together; of `not_gc`, the longest one in that time at most; of a step of the clock, by how much it was set.
        name: pod, container or host.
        exit_code: of the process.
        memory_limit: of its container.
        at_ms: of `thread` (what the thread `name` did then, before it exceeded its poll timeout), when, on the reference clock.
        witness: its events.
    """

    code: str
    how: str | None = None
    length_ms: int | None = None
    name: str | None = None
    exit_code: int | None = None
    memory_limit: str | None = None
    at_ms: int | None = None
    witness: Sequence[str] = ()


class Witnesses:
    """The rows of `machine_event` that are about exactly one process, and the steps of its host's clock.

    Args:
        inputs: `machine_event`, `clock_offset`, `process_life`, the files, what logs lack, and the lines of processes.
    """

    def __init__(self, inputs: Inputs) -> None:
        self._inputs = inputs
        rows = [row for row in inputs.rows("machine_event") if row["from_ts"] is not None and row["to_by_ts"] is not None]
        owners = Owners(inputs, {row["process_id"] for row in inputs.rows("process_life") if row["is_main"]})
        sure = []
        for row in rows:
            only = owners.of(row)
            # All processes of a host have its clock.
            if len(only) == 1 or (row["what"] == _STEP and row["tied_by"] == "name"):
                sure += [row | {"process_id": process_id} for process_id in only]
        of_host = [row for row in sure if row["of_what"] in ("host", "node")]
        self._steps = ByKey((row for row in of_host if row["what"] == _STEP and row["length_ms"]), "process_id")
        of_process = [row for row in sure if row["of_what"] not in ("host", "node")]
        self._of = ByKey((row for row in of_process if row["clock"] == "host"), "process_id")
        self._killed = {row["process_id"] for row in of_process if row["clock"] == "host" and row["what"] in _KILLED}
        self._asked = ByKey((row for row in of_process if row["clock"] != "host" and row["what"] in _ASKED), "process_id")
        self._clocks = Clocks(inputs) if sure else None
        self._dumps = ThreadDumps(inputs, (row for row in of_process if row["what"] == "threads_dumped"))
        #: Logs that lack lines, and with them perhaps lines about collections.
        self._damaged = {row["process_id"] for row in (*inputs.rows("filtered_log"), *inputs.rows("lost_range"))} if sure else set()
        self._unsure_zone: set[str] = set()
        #: The paths of their logs.
        self._unsure_paths: set[str] = set()
        if self._clocks is not None:
            self._unsure_zone = self._not_tied(unsure_zones(inputs, owners), self._clocks)
            files = inputs.rows("evidence_file", columns=["path", "process_id"])
            self._unsure_paths = {row["path"] for row in files if row["process_id"] in self._unsure_zone}

    def _not_tied(self, unsure: set[str], clocks: Clocks) -> set[str]:
        """Return the processes of these whose clock nothing compares with one of a known zone: neither generations nor the start of a container."""
        if not unsure:
            return unsure
        tied = {row["process_id"] for row in self._inputs.rows("process_life") if row["end_id"] is not None}
        files = self._inputs.rows("evidence_file", columns=["process_id", "time_zone_how"])
        known = [clocks.of(row["process_id"]) for row in files if row["time_zone_how"] is not None and row["process_id"] not in unsure - tied]
        within_ms = self._inputs.knobs.zone_step_ms // 2

        def is_near(process_id: str) -> bool:
            mine = clocks.of(process_id)
            return mine is not None and any(it is not None and mine.is_within(it, within_ms) for it in known)

        return {process_id for process_id in unsure - tied if not is_near(process_id)}

    def explained(self, troubles: Sequence[Trouble]) -> Iterator[Trouble]:
        """Yield troubles with what the witnesses show, and with their causes if they decide them."""
        ends: defaultdict[str | None, list[Trouble]] = defaultdict(list)
        for trouble in troubles:
            if trouble.cause in _ORDERLY:
                ends[trouble.process_id].append(trouble)
        for trouble in troubles:
            yield self._explained(trouble, ends[trouble.process_id])

    def _explained(self, trouble: Trouble, ends: Sequence[Trouble]) -> Trouble:
        process_id = trouble.process_id
        rows, steps, asked_for = self._of[process_id], self._steps[process_id], self._asked[process_id]
        if not (rows or steps or asked_for) or self._clocks is None:
            return trouble
        if trouble.step_ms is not None:
            least_ms = abs(trouble.step_ms) - _LATE_MS
            fit = [row for row in steps if abs(row["length_ms"]) >= max(least_ms, _LATE_MS) and (trouble.step_ms == 0 or row["length_ms"] < 0)]
            return _told(trouble, _step(max(fit, key=lambda row: (abs(row["length_ms"]), row["event_id"]))), "clock_wrong") if fit else trouble
        lo_ms, hi_ms = next(self._clocks.bounds(process_id, 0), (None, None))
        if lo_ms is None or hi_ms is None:
            return trouble
        placed = [_Placed(row, lo_ms, hi_ms) for row in rows]
        found = list(self._fitting(trouble, placed, [_Placed(row, lo_ms, hi_ms) for row in steps]))
        if found and process_id in self._unsure_zone:
            return _told(trouble, _if_in_zone([machine for machine, _ in found]), trouble.cause)
        if not found and trouble.cause in _ORDERLY:
            # By the operator's clock, whose log and that of the process may both lack their zone.
            ordered = [
                _Placed(row, 0, 0, _OTHER_CLOCK_MS) for row in asked_for if process_id not in self._unsure_zone or row["path"] in self._unsure_paths
            ]
            if asked := [it for it in _asked(trouble, ordered) if sum(bool(_asked(end, [it])) for end in ends) == 1]:
                found = [(_ended(asked), trouble.cause)]
        seen = next(filter(None, map(self._dumps.at, trouble.witness)), None) if not found and _may_be(trouble, "poll_too_slow") else None
        if seen is not None:
            where = Machine(code=THREAD, how=seen.where, name=seen.thread, at_ms=seen.at_ms + lo_ms, witness=[seen.event_id])
            found = [(where, trouble.cause)]
        if not found and _may_be(trouble, "process_paused") and (refuted := self._not_gc(trouble, placed)) is not None:
            found = [(refuted, trouble.cause)]
        return _told(trouble, *found[0]) if found else trouble

    def _fitting(self, trouble: Trouble, placed: Sequence[_Placed], steps: Sequence[_Placed]) -> Iterator[tuple[Machine, str]]:
        """Yield what fits a trouble by its time, on the clock of its host, and the cause that it shows; what decides comes first."""
        if trouble.cause == "process_paused" and not trouble.member_ids:
            yield from ((_step(it.row), "clock_wrong") for it in steps if self._is_step(trouble, it))
        if _may_be(trouble, "process_paused") and (paused := self._paused(trouble, [it for it in placed if it.row["what"] == "pause"])) is not None:
            yield paused, "process_paused"
        if trouble.cause == "broker_down" or _may_be(trouble, "process_killed"):
            kills = _in_time(placed, _KILLS, trouble.from_lo_ms, trouble.from_hi_ms)
            is_open = trouble.cause == "unknown"
            if kills and (not is_open or kills[0].row["what"] in _DECIDING):
                yield _ended(kills), "process_killed" if is_open else trouble.cause
        if trouble.cause in _ORDERLY and (asked := _asked(trouble, placed)):
            yield _ended(asked), trouble.cause

    def unnoticed(self, known: Sequence[Trouble]) -> Iterator[Trouble]:
        """Yield the kills that no trouble is about, of processes whose next line shows that they were started again.

        Without its coordinator's log, a consumer that was killed and started again looks like one that runs and makes a new client.
        """
        brokers = {row["process_id"] for row in self._inputs.rows("cluster_broker")} if self._killed else set()
        for process_id in sorted(self._killed - brokers - self._unsure_zone):
            for lo_ms, hi_ms in self._clocks.bounds(process_id, 0) if self._clocks is not None else ():
                if lo_ms is not None and hi_ms is not None:
                    mine = [it for it in known if it.process_id == process_id]
                    yield from self._kills(process_id, [_Placed(row, lo_ms, hi_ms) for row in self._of[process_id]], mine)

    def _kills(self, process_id: str, placed: Sequence[_Placed], known: Sequence[Trouble]) -> Iterator[Trouble]:
        left = sorted((it for it in placed if it.row["what"] in _KILLED), key=lambda it: (it.from_lo_ms, it.row["event_id"]))
        while left:
            # The kernel, systemd and the platform each log it.
            one = [it for it in left if it.from_lo_ms <= left[0].to_hi_ms + _LATE_MS]
            left = left[len(one) :]
            begin_ms, end_ms = one[0].from_lo_ms - _LATE_MS, min(it.to_hi_ms for it in one) + _LATE_MS
            if any((it.from_lo_ms or begin_ms) <= end_ms and (first(it.to_hi_ms, it.from_hi_ms) or end_ms) >= begin_ms for it in known):
                continue
            before, start_ms = self._around(process_id, one[0].row)
            if before is None or start_ms is None:
                continue
            ahead_lo_ms, ahead_hi_ms = one[0].from_lo_ms - one[0].row["from_ts"], one[0].to_hi_ms - one[0].row["to_by_ts"]
            kills = sorted(one, key=lambda it: (_KILLS.index(it.row["what"]), it.from_lo_ms, it.row["event_id"]))
            yield Trouble(
                cause="process_killed",
                kafka_cluster=before["kafka_cluster"],
                group_ids=there([before["group_id"]]),
                subject=process_id,
                process_id=process_id,
                instance=before["instance"],
                from_lo_ms=max(it.from_lo_ms for it in one),
                from_hi_ms=min(it.to_hi_ms for it in one),
                to_lo_ms=start_ms + ahead_lo_ms,
                to_hi_ms=start_ms + ahead_hi_ms,
                witness=[it.row["event_id"] for it in kills],
                machine=_ended(kills),
            )

    def _around(self, process_id: str, row: Row) -> tuple[Row | None, int | None]:
        """Return the last line of a client before a kill, and when the process was started again; None if its next line shows no start."""
        columns = ["process_id", "instance", "kafka_cluster", "group_id", "at_ms", "event_id"]
        lines = self._inputs.rows("client_event", columns=columns, where=ds.field("process_id") == process_id)
        before = [line for line in lines if line["at_ms"] is not None and line["at_ms"] <= row["to_by_ts"]]
        where = _between(process_id, row["from_ts"], row["to_by_ts"] + _RESTART_MS)
        # The new JVM may print its GC log among its lines.
        own = self._inputs.rows("event_row", columns=["process_id", "ts", "event", "event_id"], where=where & (ds.field("category") != "snapshot"))
        counted = self._inputs.rows("counted_row", columns=["process_id", "ts"], where=where & (ds.field("event") != "gc_pause_began"))
        start = min(own, key=lambda it: (it["ts"], it["event_id"]), default=None)
        if start is None or start["event"] not in _STARTS or any(line["ts"] < start["ts"] for line in counted):
            return None, None
        return max(before, key=lambda it: (it["at_ms"], it["event_id"]), default=None), start["ts"]

    @staticmethod
    def _is_step(trouble: Trouble, step: _Placed) -> bool:
        """Return True if a silence that only the process's own clock shows is the time by which its host's clock was set forward."""
        begin_ms, end_ms = trouble.from_lo_ms, first(trouble.to_hi_ms, trouble.from_hi_ms)
        certain_ms = minus(first(trouble.to_lo_ms, trouble.from_hi_ms), trouble.from_hi_ms) or 0
        if begin_ms is None or end_ms is None or "suspended" in (step.row["how"] or ""):
            return False
        is_inside = step.from_lo_ms >= begin_ms - _LATE_MS and step.to_hi_ms <= end_ms + _LATE_MS
        return is_inside and step.row["length_ms"] > 0 and step.row["length_ms"] * _OF >= certain_ms * _MOST

    def _paused(self, trouble: Trouble, pauses: Sequence[_Placed]) -> Machine | None:
        """Return the pauses that are the trouble: inside the time in which it may have been, and nearly as long as it certainly was."""
        begin_ms, end_ms = trouble.from_lo_ms, first(trouble.to_hi_ms, trouble.from_hi_ms)
        if begin_ms is None or end_ms is None or trouble.from_hi_ms is None:
            return None
        inside = [it for it in pauses if it.from_lo_ms >= begin_ms - _LATE_MS and (it.to_hi_ms <= end_ms + _LATE_MS or trouble.to_hi_ms is None)]
        if trouble.to_lo_ms is not None:
            least_ms = trouble.to_lo_ms - trouble.from_hi_ms
        else:
            # It was removed for its silence, so it was silent for most of the time since it was heard last.
            inside = [it for it in inside if it.to_lo_ms >= trouble.from_hi_ms - _LATE_MS]
            least_ms = trouble.from_hi_ms - begin_ms
        length_ms = sum(it.row["length_ms"] or 0 for it in inside)
        if not inside or length_ms * _OF < least_ms * _MOST or any(self._prints(trouble.process_id, it.row) for it in inside):
            return None
        longest = max(inside, key=lambda it: (it.row["length_ms"] or 0, it.row["event_id"]))
        ordered = sorted(inside, key=lambda it: (it is not longest, it.row["from_ts"], it.row["event_id"]))
        return Machine(
            code=_kind(longest.row),
            how=longest.row["how"],
            length_ms=length_ms,
            name=longest.row["name"],
            witness=[it.row["event_id"] for it in ordered],
        )

    def _prints(self, process_id: str | None, row: Row) -> bool:
        """Return True if a process printed a line in the middle of a pause: then it is the pause of another one."""
        begin_ms, end_ms = row["from_by_ts"] + _LATE_MS, row["to_ts"] - _LATE_MS
        if begin_ms >= end_ms:
            return False
        where = _between(process_id, begin_ms, end_ms)
        return bool(
            self._inputs.rows("event_row", columns=["process_id", "ts"], where=where & (ds.field("category") != "snapshot"))
            or self._inputs.rows("counted_row", columns=["process_id", "ts"], where=where)
        )

    def _not_gc(self, trouble: Trouble, placed: Sequence[_Placed]) -> Machine | None:
        """Return how long the longest pause of its collector was in that time, if a complete GC log shows that none was long enough."""
        begin_ms, end_ms = trouble.from_lo_ms, first(trouble.to_lo_ms, trouble.from_hi_ms)
        if begin_ms is None or end_ms is None or trouble.process_id in self._unsure_zone:
            return None
        whole = [
            it
            for it in placed
            if it.row["what"] == "watched"
            and it.row["is_complete"]
            and it.row["pauses"]
            # It may be that of another program whose log is there.
            and len(it.row["process_ids"]) == 1
            and (it.row["tied_by"] != "log" or trouble.process_id not in self._damaged)
            and it.from_hi_ms <= begin_ms
            and it.to_lo_ms >= end_ms
        ]
        pauses = [it.row for it in placed if it.row["what"] == "pause" and it.to_hi_ms >= begin_ms and it.from_lo_ms <= end_ms]
        # Short pauses with little between them stop a process too; among the lines of its own log, they are rows of no view.
        length_ms = sum(row["length_ms"] or 0 for row in pauses) + self._short_ms(trouble.process_id, begin_ms, end_ms, whole)
        certain_ms = minus(first(trouble.to_lo_ms, trouble.from_hi_ms), first(trouble.from_hi_ms, begin_ms) if trouble.to_lo_ms else begin_ms) or 0
        if len(whole) != 1 or length_ms * _OF >= certain_ms:
            return None
        row = whole[0].row
        longest_ms = greatest(*(pause["length_ms"] for pause in pauses)) or min(row["length_ms"] or 0, _LATE_MS)
        return Machine(code="not_gc", length_ms=longest_ms, name=row["path"], witness=[row["event_id"]])

    def _short_ms(self, process_id: str | None, begin_ms: int, end_ms: int, watched: Sequence[_Placed]) -> int:
        """Return how long the pauses in a process's own log took that are too short for a row, in this time and around it."""
        if not any(it.row["tied_by"] == "log" for it in watched):
            return 0
        # The lines are by its own clock, which is at most this far from that of the time.
        within_ms = max(abs(it.from_lo_ms - it.row["from_ts"]) + abs(it.from_hi_ms - it.row["from_ts"]) for it in watched)
        begin, end = (datetime.fromtimestamp(at_ms / 1_000, UTC) for at_ms in (begin_ms - within_ms, end_ms + within_ms))
        where = (ds.field("process_id") == process_id) & one_of("event", _PAUSES) & (ds.field("ts") >= begin) & (ds.field("ts") <= end)
        rows = self._inputs.rows("event_row", columns=["process_id", "ts", "event", "pause_ms", "pause_s"], where=where)
        return round(sum((row["pause_ms"] or 0) + 1_000 * (row["pause_s"] or 0) for row in rows))


def _between(process_id: str | None, after_ms: int, before_ms: int) -> ds.Expression:
    """Return the condition of a process's lines after one moment of its clock and before another."""
    after, before = (datetime.fromtimestamp(at_ms / 1_000, UTC) for at_ms in (after_ms, before_ms))
    return (ds.field("process_id") == process_id) & (ds.field("ts") > after) & (ds.field("ts") < before)


class _Placed:
    """A row with its times on the reference clock, which may be off by some time."""

    def __init__(self, row: Row, ahead_lo_ms: int, ahead_hi_ms: int, within_ms: int = 0) -> None:
        # The clock's bounds are those of the moment 0.
        self.row = row
        self.from_lo_ms: int = row["from_ts"] + ahead_lo_ms - within_ms
        self.from_hi_ms: int = first(row["from_by_ts"], row["from_ts"]) + ahead_hi_ms + within_ms
        self.to_lo_ms: int = first(row["to_ts"], row["from_ts"]) + ahead_lo_ms - within_ms
        self.to_hi_ms: int = row["to_by_ts"] + ahead_hi_ms + within_ms


def _kind(row: Row) -> str:
    how, length_ms, cpu_ms = row["how"] or "", row["length_ms"] or 0, row["cpu_ms"]
    if how.startswith(("Safepoint", "Total time")):
        return "safepoint"
    if cpu_ms is not None:
        return "gc_pause" if cpu_ms * _CPU_SHARE >= length_ms else "gc_starved"
    return "gc_pause" if how.startswith(("Pause Full", "Full GC")) else "gc_unsure"


def _may_be(trouble: Trouble, cause: str) -> bool:
    """Return True if a trouble has this cause, or may have it."""
    return trouble.cause == cause or (trouble.cause == "unknown" and cause in trouble.alternatives)


def _if_in_zone(found: Sequence[Machine]) -> Machine:
    """Return all that would fit if a log were in the zone that is assumed for it."""
    how = "; ".join(dict.fromkeys(there(it.how or it.code for it in found)))
    return Machine(code=UNSURE, how=how[:300], witness=[event for it in found for event in it.witness[:2]])


def _in_time(placed: Sequence[_Placed], whats: Sequence[str], begin_ms: int | None, end_ms: int | None) -> list[_Placed]:
    """Return the rows of these kinds that may be in this time, the gravest first; those that only ask for an end may be earlier."""
    if begin_ms is None or end_ms is None:
        return []
    found = [
        it
        for it in placed
        if it.row["what"] in whats
        and it.from_lo_ms <= end_ms + _LATE_MS
        and it.to_hi_ms >= begin_ms - (_LATE_MS if it.row["what"] in _ENDS else _GRACE_MS)
    ]
    return sorted(found, key=lambda it: (whats.index(it.row["what"]), -it.from_lo_ms, it.row["event_id"]))


def _asked(trouble: Trouble, placed: Sequence[_Placed]) -> list[_Placed]:
    """Return the rows about who asked for an orderly end."""
    return _in_time(placed, _ASKED, trouble.from_lo_ms, first(trouble.to_hi_ms, trouble.from_hi_ms))


def _step(row: Row) -> Machine:
    return Machine(code=_STEP, how=row["how"], length_ms=row["length_ms"], name=row["name"], witness=[row["event_id"]])


def _ended(rows: Sequence[_Placed]) -> Machine:
    row = rows[0].row
    return Machine(
        code=row["what"],
        how=row["how"],
        name=row["name"],
        exit_code=first(*(it.row["exit_code"] for it in rows)),
        memory_limit=first(*(it.row["memory_limit"] for it in rows)),
        witness=[it.row["event_id"] for it in rows],
    )


def _told(trouble: Trouble, machine: Machine, cause: str) -> Trouble:
    """Return a trouble with what a witness shows, which comes first in its proof, unless it only adds what a thread did."""
    decided = machine.code not in ("not_gc", UNSURE, THREAD)
    witness = [*trouble.witness, *machine.witness] if machine.code == THREAD else [*machine.witness[:4], *trouble.witness]
    return replace(
        trouble,
        cause=cause,
        alternatives=() if decided and cause != "unknown" else trouble.alternatives,
        machine=machine,
        witness=list(dict.fromkeys(witness)),
    )


def together(machines: Sequence[Machine | None]) -> Machine | None:
    """Return what the witnesses show about several troubles that are one cause: the longest, if they all agree."""
    said: list[Machine] = there(machines)
    if len({it.code for it in said}) != 1 or len(said) < len(machines):
        return None
    return max(said, key=lambda it: (it.length_ms or 0, it.how or ""))
