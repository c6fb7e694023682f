# SPDX-License-Identifier: Apache-2.0
"""Holding the root causes of `incident` against what was done to the processes of a recording, and what was done against the causes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from scoring import EDGE_MS, INFINITE, Clock, Row, owner_of
from truth import SAMPLE_MS, Recording, member_of

#: Restarts in good order: one, or one of several.
RESTARTS = frozenset({"process_restarted", "deployment"})
#: Deletions of one connector that are one too many to be a change of mind.
CHURN = 3
#: Client libraries whose members leave, or are removed, when their application does not go on for long.
_LEAVES_WHEN_SLOW = ("librdkafka", "kafkajs", "kafka_python", "aiokafka")
#: Effects of a scenario that no single fault shows.
SCENARIOS = {
    "connector_declared_twice": "duplicate_declaration",
    "two_clusters_one_connector": "duplicate_declaration",
    "same_group_other_topics": "group_id_collision",
}


@dataclass(frozen=True)
class Done:
    """One thing that was done.

    Attributes:
        causes: names that `incident` may give it.
        subjects: what it was done to: names of hosts, `broker 1`, a connector, a group; empty: the case as a whole.
        at_ms: when; None: it was so all the time.
        over_ms: when it was undone; None: never, or at no known moment.
        what: for a person.
        machine: what a witness of the machine may say of it, as in `facts.machine` of an incident; empty: there is none.
        is_minor: True if it may be without any effect: nothing is missing if no incident shows it.
        is_slow: True if the process did not stop for all that time, but ran now and then for a moment.
    """

    causes: frozenset[str]
    subjects: frozenset[str]
    at_ms: int | None
    over_ms: int | None
    what: str
    machine: frozenset[str] = frozenset()
    is_minor: bool = False
    is_slow: bool = False


@dataclass
class Causes:
    """The rows of `incident` compared with the injected faults.

    Attributes:
        right: deeds whose cause is told.
        open: deeds that are among the `alternatives` of an incident whose cause is left unknown.
        total: deeds that are a root cause.
        missed: deeds that no incident tells.
        false: incidents that name a cause, or only causes, that nothing was done of.
        unknown: incidents that say that nothing tells their cause.
        witnessed: deeds that an incident tells together with what a witness of the machine says of them.
        witnesses: deeds of which a witness of the machine can say something.
    """

    right: int = 0
    open: int = 0
    total: int = 0
    missed: list[str] = field(default_factory=list)
    false: list[str] = field(default_factory=list)
    unknown: int = 0
    witnessed: int = 0
    witnesses: int = 0


def done(recording: Recording) -> list[Done]:
    """Return all injected faults of a recording that are root causes."""
    return [
        *_to_processes(recording),
        *_by_their_application(recording),
        *_to_brokers(recording),
        *_to_connectors(recording),
        *_all_the_time(recording),
    ]


def _to_processes(recording: Recording) -> Iterator[Done]:
    for n, deed in enumerate(recording.deeds):
        name, what = member_of(deed), deed["did"].split(" ", 1)[-1]
        if not name or deed["t_ms"] >= recording.end_ms:
            continue
        later = [d for d in recording.deeds[n + 1 :] if member_of(d) == name]
        group = recording.workers[name].group if name in recording.workers else recording.consumers.get(name, "")

        def over(*ends: str, later: list[dict] = later) -> int | None:
            return next((int(d["t_ms"]) for d in later if d["did"].split(" ", 1)[-1] in ends), None)

        told = f"{deed['did']} {name}"
        machine, is_minor, is_slow = frozenset(deed.get("machine", ())), bool(deed.get("is_minor")), bool(deed.get("is_slow"))
        if what == "paused":
            yield Done(frozenset({"process_paused"}), frozenset({name}), deed["t_ms"], over("resumed"), told, machine, is_minor, is_slow)
        elif what == "cut off":
            yield Done(frozenset({"member_cut_off"}), frozenset({name}), deed["t_ms"], over("healed"), told)
        elif what == "killed":
            yield Done(frozenset({"process_killed"}), frozenset({name}), deed["t_ms"], over("started"), told, machine, is_minor)
        elif what == "stopped" and over("started"):
            began = max((int(d["t_ms"]) for d in recording.deeds[:n] if member_of(d) == name and d["did"].endswith("stopping")), default=deed["t_ms"])
            yield Done(RESTARTS, frozenset({name, group}), began, over("started"), told, machine, is_minor)


def _without_broker(recording: Recording) -> list[tuple[int, int]]:
    downs = [int(d["t_ms"]) for d in recording.deeds if d["did"] == "broker stopping"]
    return [
        (at, min([int(d["t_ms"]) for d in recording.deeds if d["did"] == "broker started" and d["t_ms"] > at] or [recording.end_ms])) for at in downs
    ]


def _by_their_application(recording: Recording) -> Iterator[Done]:
    """Yield each time in which a consumer of another client library did not go on for longer than its `max_poll_ms`, according to its own truth."""
    for name in recording.named("consumer"):
        start = next((d for d in recording.deeds if d["did"] == "consumer started" and d["consumer"] == name), {})
        limit_ms, library = start.get("max_poll_ms"), start.get("library")
        if library not in _LEAVES_WHEN_SLOW:
            continue
        times = [line["timestamp"] for line in recording.said_by(name)]
        away = recording.freezes(name) + recording.dead(name)
        if library != "librdkafka":  # it says so also of an application that waits for a commit because its broker is down
            away += _without_broker(recording)
        for before, after in pairwise(times):
            if limit_ms and after - before > limit_ms - EDGE_MS and not any(a < after and b > before for a, b in away):
                yield Done(frozenset({"poll_too_slow"}), frozenset({name}), None, None, f"{name} did not poll for {after - before} ms")


def _to_brokers(recording: Recording) -> Iterator[Done]:
    for n, deed in enumerate(recording.deeds):
        if deed["did"] in ("broker killed", "broker stopped") and deed["t_ms"] < recording.end_ms:
            back = next((int(d["t_ms"]) for d in recording.deeds[n + 1 :] if d["did"] == "broker started" and d["broker"] == deed["broker"]), None)
            # A broker that comes back without its offsets is one incident, which its loss of offsets names.
            wiped = any(d["did"] == "offsets topic wiped" and (back is None or d["t_ms"] <= back) for d in recording.deeds[n + 1 :])
            causes = frozenset({"broker_down", "offsets_lost"} if wiped else {"broker_down"})
            asked = [d["t_ms"] for d in recording.deeds[:n] if d["did"] == "broker stopping" and d["broker"] == deed["broker"]]
            at_ms = max(asked) if deed["did"] == "broker stopped" and asked else deed["t_ms"]
            causes |= RESTARTS if asked and back else frozenset()
            broker = deed["broker"]
            machine = frozenset(deed.get("machine", ()))
            yield Done(causes, frozenset({f"broker {broker}", f"broker-{broker}/server.log"}), at_ms, back, f"{deed['did']} {broker}", machine)
        elif deed["did"] == "offsets topic wiped":
            yield Done(frozenset({"offsets_lost"}), frozenset(), deed["t_ms"], recording.end_ms, deed["did"])
        elif deed["did"] == "brokers started" and deed.get("offsets_rf", 1) > deed["n"]:
            yield Done(frozenset({"offsets_topic_impossible"}), frozenset(), None, None, "too few brokers for __consumer_offsets")
        elif deed["did"].startswith("second owner of instance id"):
            yield Done(
                frozenset({"static_id_shared"}),
                frozenset({two := deed["did"].rsplit(" ", 1)[-1]}),
                None,
                None,
                f"second owner of instance ID `{two}`",
            )


def _to_connectors(recording: Recording) -> Iterator[Done]:
    deleted = [d for d in recording.deeds if d["did"] == "connector deleted"]
    for name in sorted({d["connector"] for d in deleted}):
        times = [int(d["t_ms"]) for d in deleted if d["connector"] == name]
        if len(times) >= CHURN:
            yield Done(frozenset({"connector_churn"}), frozenset({name}), None, None, f"connector {name} deleted {len(times)} times")


def _all_the_time(recording: Recording) -> Iterator[Done]:
    if recording.scenario in SCENARIOS:
        yield Done(frozenset({SCENARIOS[recording.scenario]}), frozenset(), None, None, recording.scenario)
    for worker in recording.workers.values():
        if worker.skew_s:
            yield Done(frozenset({"clock_wrong"}), frozenset({worker.name}), None, None, f"clock of {worker.name} {worker.skew_s:+g} s")


def score_causes(recording: Recording, rows: list[Row], clock: Clock, processes: list[Row], withheld: list[str]) -> Causes:
    """Compare every incident with the faults, and every fault with the incidents.

    Args:
        recording: with the truth.
        rows: view `incident`.
        clock: to true time.
        processes: view `process`.
        withheld: hosts whose logs were left out: what was done to them cannot be known.
    """
    result, deeds = Causes(), [d for d in done(recording) if not d.subjects & set(withheld)]
    names, some = recording.members, next((p["process_id"] for p in processes), None)
    placed = [(row, *_subject(row, names), _window(row, clock, processes, some)) for row in rows]
    placed = [p for p in placed if p[3][0] < recording.end_ms]
    for deed in deeds:
        if deed.is_minor:
            continue
        result.total += 1
        about = [row for row, subject, _, window in placed if _fits(deed, subject, window, row)]
        result.witnesses += bool(deed.machine)
        result.witnessed += any(_machine(row) in deed.machine for row in about)
        if any(row["cause"] in deed.causes for row in about):
            result.right += 1
        elif any(row["cause"] == "unknown" and deed.causes & set(_listed(row["alternatives"])) for row in about):
            result.open += 1
        else:
            result.missed.append(deed.what)
    for row, subject, said, window in placed:
        named = set(_listed(row["alternatives"])) if row["cause"] == "unknown" else {str(row["cause"])}
        if not named:
            result.unknown += 1
        elif not any(named & deed.causes and _fits(deed, subject, window, row) for deed in deeds):
            result.false.append(f"{row['cause']}{' of ' + ', '.join(sorted(named)) if row['cause'] == 'unknown' else ''}: {said}")
        elif (said_by := _machine(row)) and not any(said_by in deed.machine and _fits(deed, subject, window, row) for deed in deeds):
            result.false.append(f"{row['cause']} by {said_by}: {said}")
    return result


def _machine(row: Row) -> str | None:
    """Return what a witness of the machine says of an incident."""
    facts = row.get("facts")
    return facts.get("machine") if isinstance(facts, dict) else None


def _subject(row: Row, names: list[str]) -> tuple[set[str], str]:
    said = str(row.get("subject") or "")
    found = {owner for part in said.split(", ") if (owner := owner_of(part, names))}
    return found or set(said.split(", ")), said


def _window(row: Row, clock: Clock, processes: list[Row], some: object) -> tuple[float, float, float, float]:
    """From and to, each at the earliest and latest, in true milliseconds."""
    process = row["subject"] if any(p["process_id"] == row["subject"] for p in processes) else some
    return (
        clock.true_ms(process, row.get("from_lo"), -INFINITE),
        clock.true_ms(process, row.get("from_hi"), INFINITE),
        clock.true_ms(process, row.get("to_lo"), -INFINITE),
        clock.true_ms(process, row.get("to_hi"), INFINITE),
    )


def _fits(deed: Done, subject: set[str], window: tuple[float, float, float, float], row: Row) -> bool:
    """Return True if an incident can be about a fault: the same subject, and bounds that contain the moments at which it began and ended."""
    from_lo, from_hi, to_lo, to_hi = window
    # If the logs of members are missing, their processes are unknown.
    if deed.subjects and not deed.subjects & subject and row["subject"]:
        return False
    if deed.at_ms is None:
        return True
    # That a process received an order to stop may be recorded after it has stopped.
    if int(str(row.get("times") or 1)) > 1 or row["cause"] in RESTARTS:
        return from_lo - EDGE_MS <= deed.at_ms <= to_hi + EDGE_MS
    if deed.is_slow:
        return deed.over_ms is not None and from_hi + EDGE_MS >= deed.at_ms and to_lo - EDGE_MS <= deed.over_ms
    if not from_lo - EDGE_MS <= deed.at_ms <= from_hi + EDGE_MS + SAMPLE_MS:
        return False
    # When a process was restarted is known up to the moment of the order; its log begins seconds later.
    return deed.over_ms is None or row["cause"] not in ("process_paused", "member_cut_off") or to_lo - EDGE_MS <= deed.over_ms <= to_hi + EDGE_MS


def _listed(value: object) -> list[str]:
    return list(value) if isinstance(value, list | tuple) else []
