"""Compute the view `process_trouble`: when one process by itself was paused, cut off, killed or too slow to poll."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING

from forensics.absences.episodes import episodes
from forensics.absences.evidence import evidence
from forensics.clocks.offsets import Clocks
from forensics.logs.clusters import worker_groups
from forensics.logs.events import events
from forensics.logs.instances import Instances
from forensics.relations.by_key import ByKey, by_run
from forensics.relations.conditions import one_of
from forensics.relations.missing import between, events_of, first, greatest, least, minus, names, plus, there

if TYPE_CHECKING:
    from forensics.absences.run_ends import Run
    from forensics.relations.inputs import Inputs, Row

_WITNESS_MOST = 16
_REMOVALS_MOST = 12


def rows(inputs: Inputs) -> list[Row]:
    """Return the rows of the view `process_trouble`."""
    return [*_episodes(inputs), *_ended(inputs), *_unknown_processes(inputs), *_vanished(inputs)]


def _id(*parts: object) -> str:
    return hashlib.sha256("|".join(str(part) for part in there(parts)).encode()).hexdigest()[:12]


def _episodes(inputs: Inputs) -> Iterator[Row]:
    """Yield troubles of processes that went on, or whose log ends."""
    found = list(episodes(evidence(inputs)))
    busy = _busy(inputs) if found else set()
    for episode in found:
        one = episode.evidence[0]
        from_lo_ms, from_hi_ms, to_lo_ms, to_hi_ms = episode.bounds()
        yield {
            "trouble_id": _id("trouble", one.process_id, one.instance, episode.own_from_ms),
            "kafka_cluster": max(there(it.kafka_cluster for it in episode.evidence), default=None),
            "group_ids": episode.group_ids,
            "process_id": one.process_id,
            "instance": one.instance,
            "member_ids": episode.member_ids,
            "of_group_id": None,
            "cause": episode.cause,
            "alternatives": episode.alternatives(is_busy=(one.process_id, one.instance) in busy),
            "from_lo_ms": from_lo_ms,
            "from_hi_ms": from_hi_ms,
            "to_lo_ms": to_lo_ms,
            "to_hi_ms": to_hi_ms,
            "reference_process_id": max(it.reference_process_id for it in episode.evidence),
            "witness": episode.witness,
        }


def _busy(inputs: Inputs) -> set[Run]:
    """Return the runs of clients that send heartbeats between records or batches only (kafkajs, ruby-kafka)."""
    rows = events(inputs, ["process_id", "stream_pos"], one_of("logger", ("kafkajs", "ruby.kafka")))
    instances = Instances(inputs)
    return {(row["process_id"], instances.at(row["process_id"], row["stream_pos"])) for row in rows}


def _ended(inputs: Inputs) -> Iterator[Row]:
    """Yield runs that ended, and did not print so."""
    over = [row for row in inputs.rows("lost_membership") if row["kind"] == "over"]
    lost = ByKey(over, "process_id", "instance")
    lives = by_run(inputs.rows("process_life"))
    groups = worker_groups(inputs)
    heard = _last_heartbeats(inputs, over)
    for ending in inputs.rows("process_ending"):
        run = ending["process_id"], ending["instance"]
        if (
            ending["is_broker"]
            or run not in lives
            or not (ending["how"] == "died" or _may_have_died(ending, lives[run], inputs.knobs.life_shortest_ms))
        ):
            continue
        losses, has_died = lost[run], ending["how"] == "died"
        removed = names([row["removed_id"] for row in losses])[:_REMOVALS_MOST]
        # A worker that is shut down prints so.
        open_causes = ["lines_missing", "process_killed"] if ending["is_worker"] else ["process_killed", "process_restarted"]
        yield {
            "trouble_id": _id("over", *run),
            "kafka_cluster": ending["kafka_cluster"],
            "group_ids": names([row["group_id"] for row in losses] if losses else [groups.get(run)]),
            "process_id": ending["process_id"],
            "instance": ending["instance"],
            "member_ids": names([row["member_id"] for row in losses]),
            "of_group_id": None,
            "cause": "process_killed" if has_died else "unknown",
            "alternatives": [] if has_died else open_causes,
            "from_lo_ms": least(greatest(ending["from_lo_ms"], heard.get((*run, ending["reference_process_id"]))), ending["from_hi_ms"]),
            "from_hi_ms": ending["from_hi_ms"],
            "to_lo_ms": ending["to_lo_ms"],
            "to_hi_ms": ending["to_hi_ms"],
            "reference_process_id": ending["reference_process_id"],
            "witness": list(dict.fromkeys([*ending["witness"], *removed])),
        }


def _may_have_died(ending: Row, life: Row, shortest_ms: int) -> bool:
    """Return True if a run may have been killed. One without any duration is the beginning of the next one, with some lines missing."""
    lasted_ms = minus(ending["next_ms"], life["first_ms"])
    return ending["how"] == "unknown" and lasted_ms is not None and lasted_ms >= shortest_ms


def _last_heartbeats(inputs: Inputs, over: list[Row]) -> dict[tuple[str, int, str], int | None]:
    """Return when each run that ended certainly ran: one that was removed for missing heartbeats ran when its session began."""
    found: dict[tuple[str, int, str], int | None] = {}
    sessions = _SessionStarts(inputs) if over else None
    for loss in over:
        if loss["how"] == "session" and sessions is not None and not sessions.begin_anew(loss):
            key = loss["process_id"], loss["instance"], loss["reference_process_id"]
            session_ms = first(loss["session_ms"], inputs.knobs.session_longest_ms)
            found[key] = greatest(found.get(key), minus(loss["removed_lo_ms"], session_ms + inputs.knobs.heartbeat_late_ms))
    return found


class _SessionStarts:
    """When coordinators began the sessions of their members anew: they loaded a group, or completed a generation.

    Args:
        inputs: rows of `fact_line`, `generation`, `process_ending` and `clock_offset`.
    """

    def __init__(self, inputs: Inputs) -> None:
        self._clocks = Clocks(inputs)
        self._endings = by_run(inputs.rows("process_ending"))
        loads = one_of("event", ("coordinator_elected", "partition_loaded", "group_loaded"))
        self._loads = ByKey(inputs.rows("fact_line", ["process_id", "at_ms"], loads), "process_id")
        self._generations = ByKey(inputs.rows("generation"), "kafka_cluster", "group_id")

    def begin_anew(self, loss: Row) -> bool:
        """Return True if the session of a removed member may have begun after its process ended."""
        ending, clock = self._endings.get((loss["process_id"], loss["instance"])), self._clocks.of(loss["broker"])
        if ending is None or clock is None:
            return False
        from_ms, to_ms = plus(ending["from_lo_ms"], clock.lo_ms), plus(loss["removed_hi_ms"], clock.hi_ms)
        if any(between(from_ms, line["at_ms"], to_ms) for line in self._loads[loss["broker"]]):
            return True
        return any(between(from_ms, row["stabilized_ts"], to_ms) for row in self._generations[loss["kafka_cluster"], loss["group_id"]])


def _unknown_processes(inputs: Inputs) -> Iterator[Row]:
    """Yield losses of unknown processes, which only their coordinator's log shows.

    A member that its group was not waiting for would have announced its departure, unless it is static or belongs to Kafka Streams. A sink's member was lost with
    the worker that had its task.
    """
    expired = {
        (row["kafka_cluster"], row["group_id"], row["trigger_member_id"])
        for row in inputs.rows("generation")
        if row["trigger"] == "member_expired" and row["trigger_inferred"] is False and row["trigger_member_id"] is not None
    }
    for loss in inputs.rows("lost_membership"):
        if loss["kind"] != "nobody":
            continue
        member = loss["kafka_cluster"], first(loss["worker_group_id"], loss["group_id"]), first(loss["worker_member_id"], loss["member_id"])
        is_expired = member in expired and loss["how"] == "session"
        session_ms = first(loss["session_ms"], inputs.knobs.session_longest_ms)
        yield {
            "trouble_id": _id("nobody", loss["loss_id"]),
            "kafka_cluster": loss["kafka_cluster"],
            "group_ids": [loss["group_id"]],
            "process_id": None,
            "instance": None,
            "member_ids": [loss["member_id"]],
            "of_group_id": first(loss["worker_group_id"], loss["group_id"]),
            "cause": "unknown",
            "alternatives": ["member_cut_off", "process_killed", "process_paused", "process_restarted"] if is_expired else [],
            "from_lo_ms": greatest(loss["heard_ms"], minus(loss["removed_lo_ms"], session_ms + inputs.knobs.heartbeat_late_ms)),
            "from_hi_ms": loss["removed_hi_ms"],
            "to_lo_ms": None,
            "to_hi_ms": None,
            "reference_process_id": loss["reference_process_id"],
            "witness": [loss["removed_id"]],
        }


def _vanished(inputs: Inputs) -> Iterator[Row]:
    """Yield processes whose log ends, and whose group continued without them. The log may only lack the lines of its end."""
    lost = {(row["process_id"], row["instance"]) for row in inputs.rows("lost_membership")}
    runs = defaultdict(list)
    for row in inputs.rows("silent_member"):
        if row["how"] == "gone" and (row["process_id"], row["instance"]) not in lost:
            runs[row["process_id"], row["instance"]].append(row)
    for (process_id, instance), its in runs.items():
        yield {
            "trouble_id": _id("vanished", process_id, instance),
            "kafka_cluster": max(there(row["kafka_cluster"] for row in its), default=None),
            "group_ids": names([row["group_id"] for row in its]),
            "process_id": process_id,
            "instance": instance,
            "member_ids": names([row["member_id"] for row in its]),
            "of_group_id": None,
            "cause": "unknown",
            "alternatives": ["lines_missing", "member_cut_off", "process_killed", "process_paused"],
            "from_lo_ms": greatest(*(row["last_lo_ms"] for row in its)),
            "from_hi_ms": least(*(row["gone_hi_ms"] for row in its)),
            "to_lo_ms": None,
            "to_hi_ms": None,
            "reference_process_id": max(there(row["reference_process_id"] for row in its), default=None),
            "witness": events_of((row["witness"] for row in its), _WITNESS_MOST),
        }
