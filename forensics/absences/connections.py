"""Find processes that alone could not reach the brokers: connections that fail for long while members in other processes keep theirs."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from forensics.clocks.offsets import Clocks
from forensics.relations.by_key import ByKey
from forensics.relations.conditions import one_of
from forensics.relations.missing import first, plus, up_to

if TYPE_CHECKING:
    from forensics.clocks.offsets import Offset
    from forensics.relations.inputs import Inputs, Row

Run = tuple[str, int]


@dataclass(frozen=True)
class Outage:
    """A time in which a member's process repeatedly failed to connect to brokers for long.

    Attributes:
        failures: its failures, in order, by its own clock; those of one stretch may be of several clusters.
        from_ms: the first of them in this cluster.
        to_ms: the last.
        first_id: event of the first.
        last_id: event of the last.
    """

    kafka_cluster: str
    process_id: str
    instance: int
    failures: list[int]
    from_ms: int
    to_ms: int
    first_id: str
    last_id: str
    clock: Offset

    @property
    def from_lo_ms(self) -> int:
        """Return when it began at the earliest, on the reference clock."""
        return self.from_ms - self.clock.hi_ms

    @property
    def from_hi_ms(self) -> int:
        """Return when it began at the latest."""
        return self.from_ms - self.clock.lo_ms

    @property
    def to_lo_ms(self) -> int:
        """Return when it ended at the earliest."""
        return self.to_ms - self.clock.hi_ms

    @property
    def to_hi_ms(self) -> int:
        """Return when it ended at the latest."""
        return self.to_ms - self.clock.lo_ms


@dataclass(frozen=True)
class CutOff:
    """A process that alone could not connect.

    Attributes:
        before_ms: last response of a broker before it, by its own clock.
        after_ms: first response after it; None: there is none.
        since_ms: from this time on it was certainly alone, on the reference clock.
    """

    outage: Outage
    before_ms: int
    after_ms: int | None
    since_ms: int


def cut_offs(inputs: Inputs) -> Iterator[CutOff]:
    """Yield processes that alone could not connect: others of their cluster kept their coordinator, and no broker was down.

    An outage that begins together with that of a broker or of others counts from the first response to another process on.
    """
    outages = list(_outages(inputs))
    if not outages:
        return
    responses, others = _responses(inputs), _Others(inputs)
    brokers = [row for row in inputs.rows("process_ending") if row["is_broker"]]
    for outage in outages:
        since_ms = others.unaffected_since(outage)
        if since_ms is None or not _is_long(outage, since_ms, inputs.knobs.unreachable_ms):
            continue
        times = responses.get((outage.process_id, outage.instance), [])
        before, after = bisect_left(times, outage.from_ms), bisect_right(times, outage.to_ms)
        if before == 0:
            continue
        reference = outage.clock.reference_process_id
        is_shared = any(
            other.kafka_cluster == outage.kafka_cluster
            and other.process_id != outage.process_id
            and other.clock.reference_process_id == reference
            and other.from_lo_ms <= outage.to_hi_ms
            and other.to_hi_ms >= since_ms
            for other in outages
        )
        is_brokers = any(
            row["reference_process_id"] == reference and up_to(row["from_lo_ms"], outage.to_hi_ms) and up_to(since_ms, row["to_hi_ms"])
            for row in brokers
        )
        if not is_shared and not is_brokers:
            yield CutOff(outage, times[before - 1], times[after] if after < len(times) else None, since_ms)


def _is_long(outage: Outage, since_ms: int, least_ms: int) -> bool:
    """Return True if it failed for long after others were answered.

    An attempt to connect that fails may have begun before the others were answered, so one failure afterwards is not enough.
    """
    later = [at_ms for at_ms in outage.failures if at_ms - outage.clock.lo_ms >= since_ms]
    return bool(later) and later[-1] - later[0] >= least_ms


def _outages(inputs: Inputs) -> Iterator[Outage]:
    """Yield long stretches of failures.

    Failures in close succession are one stretch, unless a coordinator answers one of the process's members in between. A single or brief failure proves nothing.
    """
    clocks = Clocks(inputs)
    members = {(row["process_id"], row["instance"]) for row in inputs.rows("process_life") if not row["is_broker"]}
    for run, stretches in _stretches(inputs).items():
        clock = clocks.of(run[0])
        if clock is None or run not in members:
            continue
        for stretch in stretches:
            clusters = defaultdict(list)
            for line in stretch:
                clusters[line["kafka_cluster"]].append(line)
            for kafka_cluster, lines in clusters.items():
                from_ms, to_ms = lines[0]["at_ms"], lines[-1]["at_ms"]
                if to_ms - from_ms >= inputs.knobs.unreachable_ms:
                    failures = [line["at_ms"] for line in stretch]
                    yield Outage(kafka_cluster, *run, failures, from_ms, to_ms, lines[0]["event_id"], lines[-1]["event_id"], clock)


def _stretches(inputs: Inputs) -> dict[Run, list[list[Row]]]:
    """Return the stretches of failures to connect of each run."""
    columns = ["kafka_cluster", "process_id", "instance", "at_ms", "event_id", "event"]
    has_time = pc.field("at_ms").is_valid()
    failures = inputs.rows("fact_line", columns, has_time & one_of("event", ("connection_failed", "bootstrap_failed")))
    runs: defaultdict[Run, list[tuple[int, str, Row | None]]] = defaultdict(list)
    for line in failures:
        runs[line["process_id"], line["instance"]].append((line["at_ms"], line["event_id"], line))
    is_answer = one_of("event", ("joined", "synced", "heartbeat_failed")) & one_of("process_id", (process_id for process_id, _ in runs))
    for line in inputs.rows("client_event", columns[1:5], has_time & is_answer) if runs else ():
        if (line["process_id"], line["instance"]) in runs:
            runs[line["process_id"], line["instance"]].append((line["at_ms"], line["event_id"], None))
    found: dict[Run, list[list[Row]]] = {}
    for run, lines in runs.items():
        stretches: list[list[Row]] = []
        last_ms = None
        for at_ms, _, failure in sorted(lines, key=lambda line: line[:2]):
            if failure is None:
                last_ms = None
                continue
            if last_ms is None or at_ms - last_ms > inputs.knobs.coordinator_settled_ms:
                stretches.append([])
            stretches[-1].append(failure)
            last_ms = at_ms
        found[run] = stretches
    return found


def _responses(inputs: Inputs) -> dict[Run, list[int]]:
    """Return the times of the lines of each run that follow from a broker's response."""
    found = defaultdict(list)
    columns, has_time, event = ["process_id", "instance", "at_ms"], pc.field("at_ms").is_valid(), pc.field("event")
    answers = ("coordinator_discovered", "joined", "synced", "heartbeat_failed")
    for view, wanted in (("fact_line", event == "kafka_cluster_id"), ("client_event", one_of("event", answers))):
        for line in inputs.rows(view, columns, has_time & wanted):
            found[line["process_id"], line["instance"]].append(line["at_ms"])
    return {run: sorted(times) for run, times in found.items()}


class _Others:
    """What members in other processes received meanwhile.

    Args:
        inputs: rows of `join_round`, `process_life`, `coordinator_outage` and `clock_offset`.
    """

    def __init__(self, inputs: Inputs) -> None:
        self._least_ms: int = inputs.knobs.unreachable_ms
        self._clocks = Clocks(inputs)
        self._lives = ByKey(inputs.rows("process_life"), "process_id")
        lost = (row for row in inputs.rows("coordinator_outage") if row["was_member"])
        self._outages = ByKey(lost, "process_id")
        # The last response that a member received in each round, by its own clock.
        responses: defaultdict[str, defaultdict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
        for row in inputs.rows("join_round", ["process_id", "kafka_cluster", "synced_ms", "joined_ms", "worker_assigned_ms"]):
            if (at_ms := first(row["synced_ms"], row["joined_ms"], row["worker_assigned_ms"])) is not None:
                responses[row["kafka_cluster"]][row["process_id"]].append(at_ms)
        self._responses = {cluster: {process: sorted(times) for process, times in its.items()} for cluster, its in responses.items()}

    def unaffected_since(self, outage: Outage) -> int | None:
        """Return from when on a member in another process certainly reached the brokers, on the reference clock; None: none did."""
        found = []
        for process_id, times in self._responses.get(outage.kafka_cluster, {}).items():
            clock = self._clocks.of(process_id, outage.clock.reference_process_id)
            if clock is None or process_id == outage.process_id:
                continue
            if times[0] - clock.lo_ms < outage.from_lo_ms and self._kept_coordinator(process_id, clock, outage):
                found.append(outage.from_hi_ms)
            # It received a response in the meantime, long before this process could connect again.
            at = bisect_right(times, outage.from_hi_ms + clock.hi_ms)
            if at < len(times) and times[at] - clock.lo_ms < outage.to_lo_ms - self._least_ms:
                found.append(times[at] - clock.lo_ms)
        return min(found, default=None)

    def _kept_coordinator(self, process_id: str, clock: Offset, outage: Outage) -> bool:
        """Return True if a process ran all the time and lost no coordinator."""
        ran = any(
            up_to(clock.latest(life["first_ms"]), outage.from_lo_ms - 1) and up_to(outage.to_hi_ms + 1, clock.earliest(life["last_ms"]))
            for life in self._lives[process_id]
        )
        return ran and not any(
            up_to(row["lost_lo_ms"], outage.to_hi_ms)
            and up_to(outage.from_lo_ms, first(row["found_hi_ms"], plus(row["lost_hi_ms"], row["duration_ms"])))
            for row in self._outages[process_id]
        )
