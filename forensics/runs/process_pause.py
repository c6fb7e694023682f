"""Compute the view `process_pause`: the periods in which a process certainly did not run, as its own log shows.

A paused process prints nothing, and when it continues, all of its threads find at the same moment that time has passed.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow.compute as pc

from forensics.logs.events import events
from forensics.logs.filtered_logs import filtered_logs
from forensics.logs.instances import Instances
from forensics.logs.lines import line_table
from forensics.logs.lost_ranges import LostRanges
from forensics.relations.columns import InOrder, codes, numbers, places
from forensics.relations.conditions import one_of
from forensics.relations.missing import first, greatest, least, there

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs, Knobs, Row

_WITNESS_MOST = 8
#: The best evidence first.
_HOW = ("zookeeper", "requests", "idle", "periodic")
#: Events in which a client certainly noticed something late, with the kind of evidence.
_NOTICED = {"request_cancelled": "requests", "zookeeper_timed_out": "zookeeper", "coordinator_idle": "idle"}
#: A run of a process.
Run = tuple[str, int]


@dataclass(frozen=True)
class _Silence:
    """A time in which a run of a process printed nothing; one that begins before the log has no beginning."""

    before_ms: int | None
    after_ms: int
    before_id: str | None


@dataclass(frozen=True)
class _Sign:
    """A client that noticed something late, and by how much at least."""

    at_ms: int
    event_id: str
    client: str
    how: str
    printed_ms: int | None = None
    least_ms: int = 0


class _Missed(NamedTuple):
    """Two lines that come at equal intervals, between which others were missing."""

    before_ms: int
    at_ms: int
    period_ms: int


@dataclass(frozen=True)
class _Pause:
    """A pause, as one kind of evidence shows it."""

    how: str
    before_ms: int | None
    before_id: str | None
    least_ms: int
    printed_ms: int | None
    clients: int
    signs: list[tuple[int, str]]


def rows(inputs: Inputs) -> list[Row]:
    """Return the rows of the view `process_pause`."""
    late, expired = _late(inputs), _expired(inputs)
    found: defaultdict[tuple[str, int, int], list[_Pause]] = defaultdict(list)
    silences = _silences(inputs, {run for run, _ in (*late.items(), *expired.items())})
    missed = _missed(inputs, {run[0] for run, signs in expired.items() if len({sign.client for sign in signs}) > 1})
    filtered, lost = filtered_logs(inputs), LostRanges(inputs)
    for run, its in silences.items():
        for after_ms, alike in _by_end(its).items():
            found[*run, after_ms] += _late_pauses(alike, late.get(run, ()), inputs.knobs)
            # Missing lines may have been printed in a silence.
            sure = [] if run[0] in filtered else [it for it in alike if not lost.in_time(run[0], it.before_ms, it.after_ms)]
            found[*run, after_ms] += _periodic_pauses(sure, missed.get(run, ()), expired.get(run, ()), inputs.knobs)
    return [_row(*place, pauses) for place, pauses in found.items() if pauses]


def _row(process_id: str, instance: int, after_ms: int, pauses: list[_Pause]) -> Row:
    before_ms = greatest(*(pause.before_ms for pause in pauses))
    signs = sorted(sign for pause in pauses for sign in pause.signs)
    before_id = min(there(pause.before_id for pause in pauses), default=None)
    return {
        "process_id": process_id,
        "instance": instance,
        "before_ms": before_ms,
        "after_ms": after_ms,
        "least_ms": max(pause.least_ms for pause in pauses),
        "most_ms": None if before_ms is None else after_ms - before_ms,
        "printed_ms": greatest(*(pause.printed_ms for pause in pauses)),
        "how": min((pause.how for pause in pauses), key=_HOW.index),
        "clients": max(pause.clients for pause in pauses),
        "after_id": signs[0][1],
        "witness": list(dict.fromkeys(there([before_id, *(event_id for _, event_id in signs[:_WITNESS_MOST])]))),
    }


def _by_end(silences: Iterable[_Silence]) -> Mapping[int, list[_Silence]]:
    found: defaultdict[int, list[_Silence]] = defaultdict(list)
    for silence in silences:
        found[silence.after_ms].append(silence)
    return found


def _late_pauses(silences: list[_Silence], signs: Iterable[_Sign], knobs: Knobs) -> Iterator[_Pause]:
    """Yield the pauses that end with these silences and that late signs show, by the kind of sign."""
    noticed: defaultdict[str, list[tuple[_Silence, _Sign]]] = defaultdict(list)
    for silence in silences:
        for sign in signs:
            # It printed nothing from the moment at which it should have noticed.
            is_silent = silence.before_ms is None or sign.at_ms - sign.least_ms >= silence.before_ms
            if is_silent and silence.after_ms <= sign.at_ms <= silence.after_ms + knobs.pause_noticed_ms:
                noticed[sign.how].append((silence, sign))
    for how, pairs in noticed.items():
        clients = {sign.client for _, sign in pairs}
        if how in ("zookeeper", "idle") or len(clients) > 1:
            sent_ms = greatest(*(sign.at_ms - sign.printed_ms for _, sign in pairs if sign.printed_ms is not None))
            yield _Pause(
                how,
                first(least(*(silence.before_ms for silence, _ in pairs)), sent_ms),
                min(there(silence.before_id for silence, _ in pairs), default=None),
                max(sign.least_ms for _, sign in pairs),
                greatest(*(sign.printed_ms for _, sign in pairs)),
                len(clients),
                sorted((sign.at_ms, sign.event_id) for _, sign in pairs),
            )


def _periodic_pauses(silences: list[_Silence], missed: Iterable[_Missed], signs: Iterable[_Sign], knobs: Knobs) -> Iterator[_Pause]:
    """Yield the pause that ends with these silences, if several clients lost their sessions and lines that come at fixed intervals stopped."""
    found = [
        (silence, silence.after_ms - lines.before_ms - lines.period_ms)
        for silence in silences
        if silence.before_ms is not None and silence.after_ms - silence.before_ms >= knobs.pause_silent_ms
        for lines in missed
        if lines.before_ms <= silence.before_ms and lines.at_ms >= silence.after_ms
    ]
    noticed = [sign for sign in signs if any(silence.after_ms <= sign.at_ms <= silence.after_ms + knobs.pause_noticed_ms for silence, _ in found)]
    clients, least_ms = {sign.client for sign in noticed}, max((ms for _, ms in found), default=0)
    if len(clients) > 1 and least_ms >= knobs.pause_silent_ms // 2:
        yield _Pause(
            "periodic",
            least(*(silence.before_ms for silence, _ in found)),
            min(there(silence.before_id for silence, _ in found), default=None),
            least_ms,
            None,
            len(clients),
            sorted({(sign.at_ms, sign.event_id) for sign in noticed}),
        )


def _late(inputs: Inputs) -> Mapping[Run, list[_Sign]]:
    """Return what clients certainly noticed too late, by run."""
    knobs, instances = inputs.knobs, Instances(inputs)
    limits: defaultdict[str, list[int]] = defaultdict(list)
    for row in inputs.rows("setting", ["process_id", "key", "value"], pc.field("key") == "zookeeper.session.timeout.ms"):
        limits[row["process_id"]] += [int(row["value"])] if (row["value"] or "").isdecimal() else []
    found: defaultdict[Run, list[_Sign]] = defaultdict(list)
    columns = ["process_id", "stream_pos", "ts", "event_id", "event", "client_id", "duration_ms", "timeout_ms"]
    lines = events(inputs, columns, one_of("event", (*_NOTICED, "zookeeper_connected")))
    for line in lines:
        if line["event"] == "zookeeper_connected" and line["timeout_ms"] is not None:
            limits[line["process_id"]].append(line["timeout_ms"])
    for line in lines:
        how = _NOTICED.get(line["event"])
        if how is None or line["ts"] is None or line["duration_ms"] is None:
            continue
        client, limit_ms = line["client_id"], line["timeout_ms"]
        if how == "zookeeper":
            client, limit_ms = "ZooKeeper", max(limits[line["process_id"]], default=knobs.zookeeper_longest_ms)
        if how == "idle":  # a running member sends heartbeats on this connection, or closes it when its session has expired
            client, limit_ms = first(client, "-"), knobs.session_longest_ms
        if client is not None and limit_ms is not None and line["duration_ms"] - limit_ms >= knobs.pause_least_ms:
            run = line["process_id"], instances.at(line["process_id"], line["stream_pos"])
            found[run].append(_Sign(line["ts"], line["event_id"], client, how, line["duration_ms"], line["duration_ms"] - limit_ms))
    return _of_members(found, inputs)


def _of_members(signs: Mapping[Run, list[_Sign]], inputs: Inputs) -> Mapping[Run, list[_Sign]]:
    """Return the signs without idle connections of clients that are no members, which send no heartbeats: the sessions of members expire too."""
    if not any(sign.how == "idle" for its in signs.values() for sign in its):
        return signs
    sessions = _expired(inputs, "session expired")
    found = {
        run: [
            sign for sign in its
            if sign.how != "idle" or any(abs(other.at_ms - sign.at_ms) <= inputs.knobs.pause_noticed_ms for other in sessions.get(run, ()))
        ]
        for run, its in signs.items()
    }  # fmt: skip
    return {run: its for run, its in found.items() if its}


def _expired(inputs: Inputs, words: str = "session timed out") -> Mapping[Run, list[_Sign]]:
    """Return the sessions that clients found expired, by run."""
    instances = Instances(inputs)
    found: defaultdict[Run, list[_Sign]] = defaultdict(list)
    printed = pc.coalesce(pc.field("cause"), pc.field("error"), pc.field("reason"))
    is_expired = (pc.field("event") == "coordinator_lost") & pc.field("ts").is_valid() & pc.match_substring(printed, words)
    for line in events(inputs, ["process_id", "stream_pos", "ts", "event_id", "client_id", "thread"], is_expired):
        run = line["process_id"], instances.at(line["process_id"], line["stream_pos"])
        found[run].append(_Sign(line["ts"], line["event_id"], first(line["client_id"], line["thread"], "-"), "periodic"))
    return found


def _silences(inputs: Inputs, runs: set[Run]) -> Mapping[Run, list[_Silence]]:
    """Return the silences of these runs. In a log of several processes, the silence of one is not visible."""
    shared = {row["process_id"] for row in inputs.rows("shared_log", ["process_id", "is_worker"]) if row["is_worker"]}
    processes = {process_id for process_id, _ in runs} - shared
    found: defaultdict[Run, list[_Silence]] = defaultdict(list)
    if not processes:
        return found
    is_theirs = one_of("process_id", processes) & pc.field("ts").is_valid()
    lines = Instances(inputs).added(line_table(inputs, ["process_id", "stream_pos", "ts"], is_theirs))
    ordered = InOrder(places(codes(lines["process_id"]), np.asarray(lines["instance"].to_numpy(), np.int64)), lines["stream_pos"].to_numpy())
    at_ms = numbers(lines["ts"])[ordered.order]
    before_ms = ordered.earlier(at_ms)
    at = np.flatnonzero(np.isnan(before_ms) | (at_ms - before_ms >= inputs.knobs.pause_least_ms))
    ids = _Events(inputs, processes)
    for row, before in zip(lines.take(ordered.order[at]).to_pylist(), before_ms[at].tolist(), strict=True):
        run = row["process_id"], row["instance"]
        if run in runs:
            before_id = ids.before(run, row["stream_pos"])
            found[run].append(_Silence(None if np.isnan(before) else int(before), row["ts"], before_id))
    return found


class _Events:
    """The events of processes in their order."""

    def __init__(self, inputs: Inputs, processes: set[str]) -> None:
        is_theirs = one_of("process_id", processes) & pc.field("ts").is_valid() & (pc.field("category") != "snapshot")
        lines = Instances(inputs).added(inputs.table("event_row", ["process_id", "stream_pos", "event_id"], is_theirs))
        ordered = lines.sort_by([(column, "ascending") for column in ("process_id", "instance", "stream_pos")])
        self._of: dict[Run, tuple[list[int], list[str]]] = {}
        at = 0
        for run in ordered.group_by(["process_id", "instance"], use_threads=False).aggregate([("stream_pos", "count")]).to_pylist():
            its = ordered.slice(at, run["stream_pos_count"])
            self._of[run["process_id"], run["instance"]] = its["stream_pos"].to_pylist(), its["event_id"].to_pylist()
            at += its.num_rows

    def before(self, run: Run, stream_pos: int) -> str | None:
        """Return the last event of a run before a position."""
        positions, ids = self._of.get(run, ([], []))
        at = bisect_left(positions, stream_pos)
        return ids[at - 1] if at else None


def _missed(inputs: Inputs, processes: set[str]) -> Mapping[Run, list[_Missed]]:
    """Return the lines about commits of tasks between which others were missing, by run."""
    found: defaultdict[Run, list[_Missed]] = defaultdict(list)
    if not processes:
        return found
    instances = Instances(inputs)
    is_commit = one_of("event", ("task_commit_idle", "task_committing")) & pc.field("task").is_valid() & pc.field("ts").is_valid()
    of_task: defaultdict[tuple[str, int, str, str], list[tuple[int, int]]] = defaultdict(list)
    for line in events(inputs, ["process_id", "stream_pos", "ts", "task", "event"], is_commit & one_of("process_id", processes)):
        instance = instances.at(line["process_id"], line["stream_pos"])
        of_task[line["process_id"], instance, line["task"], line["event"]].append((line["stream_pos"], line["ts"]))
    for (process_id, instance, _, _), lines in of_task.items():
        times = [at_ms for _, at_ms in sorted(lines)]
        steps = [later - earlier for earlier, later in zip(times, times[1:], strict=False)]
        for n, step_ms in enumerate(steps):
            period_ms = first(_period(steps[n + 1 : n + 3]), _period(steps[max(n - 2, 0) : n]))
            if period_ms is not None and period_ms > 0 and step_ms >= inputs.knobs.pause_periods * period_ms:
                found[process_id, instance].append(_Missed(times[n], times[n + 1], period_ms))
    return found


def _period(steps: list[int]) -> int | None:
    """Return the interval at which lines come, if two that follow one another are nearly equal; None: they are not."""
    return max(steps) if steps and max(steps) <= min(steps) + int(min(steps) / 5) else None
