"""Show what each broker failure would break in an internal topic, and the reassignment that fixes it, from output of `kafka-topics --describe`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Any, TextIO

from forensics.case.integrity import rows_in
from forensics.errors import EvidenceError, UsageError
from forensics.evidence.containers import Text, contents, encoding_of
from forensics.evidence.streams import BROKEN
from forensics.offsets_topic.replica_placement import Loss, Placement, group_partition, live_brokers, losses, spread
from forensics.report.document import Column, Document, Heading, Para, Table
from forensics.snapshots.command_output import read_tools
from forensics.snapshots.detection import TOPICS, kind_of, sample_lines
from forensics.snapshots.observation import MAX_DOCUMENT_BYTES, Observation
from forensics.wording.formats import count, shorten

OFFSETS = "__consumer_offsets"
#: Broker property with the replication factor that Kafka uses when it creates the topic.
_CREATED_BY = {
    OFFSETS: "offsets.topic.replication.factor",
    "__transaction_state": "transaction.state.log.replication.factor",
    "__share_group_state": "share.coordinator.state.topic.replication.factor",
}
_SAMPLE = 256 * 1024
_SHOWN = 12


@dataclass(frozen=True)
class Request:
    """The user's request.

    Attributes:
        topic: the topic in the file.
        brokers: IDs and racks of all live brokers; empty: the live brokers in the file.
        groups: groups whose partition is requested.
        factor: replicas that each partition should have; None: change nothing.
        release: Kafka's version, major and minor, for the printed commands.
        throttle: maximum bytes per second for copying.
        file: file of the reassignment.
    """

    topic: str = OFFSETS
    brokers: Mapping[int, str | None] | None = None
    groups: Sequence[str] = ()
    factor: int | None = None
    release: tuple[int, ...] = (4, 0)
    throttle: int = 10_000_000
    file: str = "reassignment.json"


@dataclass(frozen=True)
class Answer:
    """The answer to a request; `reassignment` is the input of `kafka-reassign-partitions`, None if no factor was requested."""

    request: Request
    path: str
    placements: list[Placement]
    brokers: dict[int, str | None]
    absent: list[int]
    losses: list[Loss]
    groups: dict[str, int]
    min_isr: int | None
    reassignment: dict[str, Any] | None
    commands: list[tuple[str, str]]
    notes: list[str]


def parse_brokers(text: str) -> dict[int, str | None]:
    """Parse IDs and racks from `1,2,3` or `1:rackA,2:rackB`.

    Raises:
        UsageError: the text has another form, names a broker twice, or names a rack for only some brokers.
    """
    found: dict[int, str | None] = {}
    for part in (p.strip() for p in text.split(",")):
        broker, colon, rack = part.partition(":")
        if not broker.strip().isdigit() or (colon and not rack.strip()):
            raise UsageError(f"`{part}` is not a broker.", where="--brokers", fix="Write --brokers 1,2,3 or --brokers 1:rackA,2:rackB,3:rackC.")
        if int(broker) in found:
            raise UsageError(f"Broker {int(broker)} is named twice.", where="--brokers")
        found[int(broker)] = rack.strip() if colon else None
    if len({rack is None for rack in found.values()}) > 1:
        without = ", ".join(str(b) for b, rack in found.items() if rack is None)
        raise UsageError(
            "Some brokers have a rack and some have none.", why=f"without: {without}", where="--brokers", fix="Give every broker a rack, or none."
        )
    return found


def parse_release(text: str) -> tuple[int, ...]:
    """Parse the numbers of `2.3` or `2.3.1`.

    Raises:
        UsageError: the text is not a version.
    """
    parts = text.strip().split(".")
    if not all(p.isdigit() for p in parts):
        raise UsageError(f"`{text}` is not a Kafka release.", where="--kafka-version", fix="Write for example 3.9 or 2.3.1.")
    return tuple(int(p) for p in parts)


def answer(path: Path, request: Request) -> Answer:
    """Read the file and answer the request.

    Raises:
        UsageError: the file is not output of kafka-topics or lacks the topic, or there are too few brokers.
        EvidenceError: the file cannot be read.
    """
    described = _described(path)
    placements, config = _placements(described, request.topic, path)
    if request.groups and request.topic != OFFSETS:
        raise UsageError(f"Groups are stored in {OFFSETS}, not in {request.topic}.", where="--group", fix="Leave out --group, or --topic.")
    shown = sorted({b for item in described for b in (int(r) for r in item.captures.get("replicas", ()))})
    alive = live_brokers(_all_placements(described))
    brokers = dict(request.brokers) if request.brokers else dict.fromkeys(alive)
    min_isr = int(config["min.insync.replicas"]) if config.get("min.insync.replicas", "").isdigit() else None
    absent = [b for b in shown if b not in brokers]
    notes = _notes(placements, brokers, absent, named=bool(request.brokers))
    reassignment = None
    if request.factor is not None:
        target = spread(placements, brokers, request.factor)
        rows = [{"topic": request.topic, "partition": p, "replicas": list(replicas)} for p, replicas in sorted(target.items())]
        reassignment = {"version": 1, "partitions": rows}
    groups = {g: group_partition(g, len(placements)) for g in dict.fromkeys(request.groups)}
    return Answer(
        request, str(path), placements, brokers, absent, losses(placements, sorted(brokers), min_isr or 1), groups, min_isr, reassignment,
        _commands(request, min_isr) if reassignment else [], notes,
    )  # fmt: skip


def _described(path: Path) -> list[Observation]:
    """Return the descriptions of topics and partitions in the file, which may be compressed."""
    fix = "Save one with `kafka-topics --describe --topic __consumer_offsets --bootstrap-server HOST:9092 > topics.txt`."
    if not path.is_file():
        raise UsageError(f"There is no file `{path}`.", where=str(path), fix=fix)
    found: list[Observation] = []
    try:
        for _, content in contents(path):
            parts: list[bytes] = []
            text: Text | None = None
            while (data := content.read()) and sum(map(len, parts)) <= MAX_DOCUMENT_BYTES:
                text = text or Text(content, encoding_of(data))
                parts.append(text.recode(data))
            whole = b"".join(parts)
            if kind_of(whole[:_SAMPLE], fitting=0, lines=1) == TOPICS:
                found += [i for i in read_tools(sample_lines(whole)) if isinstance(i, Observation)]
    except BROKEN as e:
        why = e.strerror if isinstance(e, OSError) and e.strerror else str(e)
        raise EvidenceError(f"The file `{path}` cannot be read.", why=why, where=str(path)) from e
    if not found:
        raise UsageError(f"`{path}` is not output of kafka-topics --describe.", why="no line describes a topic's partition", where=str(path), fix=fix)
    return found


def _all_placements(described: Sequence[Observation]) -> list[Placement]:
    return [_placement(i) for i in described if i.event == "partition_described"]


def _placement(item: Observation) -> Placement:
    number = int(str(item.captures["partition"]).rpartition("-")[2])
    replicas, isr = (tuple(int(b) for b in item.captures.get(name, ())) for name in ("replicas", "isr"))
    leader = item.captures.get("broker_id")
    return Placement(number, None if leader is None else int(leader), replicas, isr)


def _placements(described: Sequence[Observation], topic: str, path: Path) -> tuple[list[Placement], dict[str, str]]:
    mine = [i for i in described if i.captures.get("topic") == topic]
    by_number = {p.partition: p for p in _all_placements(mine)}
    if not by_number:
        topics = sorted({str(i.captures["topic"]) for i in described if i.event == "partition_described"})
        listed = ", ".join(topics[:8]) + (", ..." if len(topics) > 8 else "")
        fix = "Describe it too: `kafka-topics --describe` without --topic shows all." if topic == OFFSETS else "Name one of these with --topic."
        raise UsageError(f"The topic {topic} is not in `{path}`.", why=f"it has {listed or 'no partitions'}", where=str(path), fix=fix)
    config = next((dict(i.captures.get("config", {})) for i in reversed(mine) if i.event == "topic_described"), {})
    stated = next((i.captures.get("columns", {}).get("PartitionCount") for i in reversed(mine) if i.event == "topic_described"), None)
    expected = int(stated) if stated else max(by_number) + 1
    if sorted(by_number) != list(range(expected)):
        lacking = sorted(set(range(expected)) - by_number.keys())
        raise UsageError(
            f"`{path}` does not show all partitions of {topic}.",
            why=f"it should have {expected}; there is none of {', '.join(map(str, lacking[:10]))}" if lacking else f"it should have {expected}",
            where=str(path),
            fix="Save the whole output: the partition of a group depends on the number of partitions.",
        )
    return [by_number[n] for n in sorted(by_number)], config


def _notes(placements: Sequence[Placement], brokers: Mapping[int, str | None], absent: Sequence[int], *, named: bool) -> list[str]:
    notes = []
    if not named:
        notes.append(
            f"IDs of the live brokers in the file: {_listed(sorted(brokers))}. The file does not show brokers without a replica; "
            "list all brokers with `--brokers`."
        )
    if absent:
        why = "they are not in --brokers" if named else "they lead no partition and are in sync with no leader"
        notes.append(f"Assumed to be gone, because {why}: {_listed(absent)}.")
    headless = [p for p in placements if p.leader is None or p.leader not in brokers]
    if headless:
        notes.append(f"Without a live leader now: {_partitions([p.partition for p in headless])}.")
    gone = [p.partition for p in placements if not set(p.replicas) & brokers.keys()]
    if gone:
        notes.append(
            f"No live broker has a copy of {_partitions(gone)}: their reassignment cannot end before one of their brokers is back, because there is nothing to copy."
        )
    return notes


def _commands(request: Request, min_isr: int | None) -> list[tuple[str, str]]:
    """Return what to run, in order, in the syntax of the release."""
    release = (*request.release, 0, 0)[:3]
    new_place, old_place = "--bootstrap-server HOST:9092", "--zookeeper ZOOKEEPER:2181"
    place = new_place if release >= (2, 6, 0) else old_place
    base = f"kafka-reassign-partitions {place} --reassignment-json-file {quote(request.file)}"
    throttle = f" --throttle {request.throttle}" if release >= (0, 10, 1) else ""
    commands = [
        ("Start it; keep the printed current assignment for a rollback", f"{base} --execute{throttle}"),
        ("Check its progress; once it is complete, this also removes the throttle" if throttle else "Check its progress", f"{base} --verify"),
        (
            "Check that all replicas are in sync",
            f"kafka-topics {new_place if release >= (2, 2, 0) else old_place} --describe --topic {quote(request.topic)}",
        ),
    ]
    advised = advised_min_isr(request.factor or 1)
    if (min_isr or 1) != advised:
        config_place = new_place if release >= (2, 5, 0) else old_place
        commands.append((
            "Only when all replicas are in sync",
            f"kafka-configs {config_place} --entity-type topics --entity-name {quote(request.topic)} --alter --add-config min.insync.replicas={advised}",
        ))  # fmt: skip
    return commands


def advised_min_isr(factor: int) -> int:
    """Return min.insync.replicas for a factor: one broker may be down, and if possible no acknowledged write is on a single disk."""
    return max(1, min(2, factor - 1))


def to_json(found: Answer) -> dict[str, Any]:
    """Return the answer as data."""
    by_partition = _groups_by_partition(found.groups)
    target = {r["partition"]: r["replicas"] for r in found.reassignment["partitions"]} if found.reassignment else {}

    def groups_of(partitions: Sequence[int]) -> list[str]:
        return [g for p in partitions for g in by_partition.get(p, ())]

    return {
        "topic": found.request.topic,
        "file": found.path,
        "partitions": [
            {"partition": p.partition, "leader": p.leader, "replicas": list(p.replicas), "isr": list(p.isr), "groups": by_partition.get(p.partition, []),
             **({"new_replicas": target[p.partition]} if target else {})}
            for p in found.placements
        ],
        "brokers": [
            {"broker": x.broker, "rack": found.brokers[x.broker], "leads": list(x.leads), "replicas": list(x.replicas), "lost_partitions": list(x.lost),
             "lost_groups": groups_of(x.lost), "blocked_partitions": list(x.blocked), "blocked_groups": groups_of(x.blocked)}
            for x in found.losses
        ],
        "groups": [{"group_id": g, "partition": p, "leader": found.placements[p].leader} for g, p in found.groups.items()],
        "min_insync_replicas": {"present": found.min_isr, "advised": advised_min_isr(found.request.factor) if found.request.factor else None},
        "reassignment": found.reassignment,
        "commands": [{"what": what, "command": command} for what, command in found.commands],
        "notes": found.notes,
    }  # fmt: skip


def compose(found: Answer, written: bool) -> Document:
    """Return the answer as a document.

    Args:
        found: the answer.
        written: True if the reassignment was written to its file.
    """
    out = Document()
    factors = sorted({len(p.replicas) for p in found.placements})
    factor = str(factors[0]) if len(factors) == 1 else f"{factors[0]} to {factors[-1]}"
    out.add(Heading(1, f"{found.request.topic}: {count(len(found.placements), 'partition')}, replication factor {factor}"))
    out.add(*(Para(note, tone="dim" if note.startswith("Brokers are") else "warn") for note in found.notes))
    _add_losses(out, found)
    _add_groups(out, found)
    if found.reassignment:
        _add_reassignment(out, found, written)
    else:
        out.section("What to do", [Para("--replication-factor 3 writes a reassignment that fixes it.", tone="dim")] if factors[0] < 3 else [])
    return out


def _add_losses(out: Document, found: Answer) -> None:
    by_partition = _groups_by_partition(found.groups)
    racks = any(found.brokers.values())
    rows, tones = [], {}
    for number, x in enumerate(found.losses):
        dead = _numbers(x.lost) + (f"; not writable: {_numbers(x.blocked)}" if x.blocked else "") if x.lost or x.blocked else "nothing"
        groups = [g for p in (*x.lost, *x.blocked) for g in by_partition.get(p, ())]
        row = [str(x.broker), *([found.brokers[x.broker] or ""] if racks else []), str(len(x.leads)), str(len(x.replicas)), dead]
        if found.groups:
            row.append(", ".join(shorten(g, 60) for g in groups[:_SHOWN]) + (f", ... {len(groups) - _SHOWN} more" if len(groups) > _SHOWN else ""))
        rows.append(tuple(row))
        if x.lost:
            tones[number] = "bad"
        elif x.blocked:
            tones[number] = "warn"
    columns = [
        Column("broker", right=True, fixed=True),
        *([Column("rack")] if racks else []),
        Column("leads", right=True),
        Column("holds", right=True),
    ]
    columns += [Column("unavailable without it"), *([Column("groups on these")] if found.groups else [])]
    out.section("What each broker failure would break", [Table(tuple(columns), tuple(rows), tones)])  # type: ignore[arg-type]
    if any(x.lost for x in found.losses):
        what = (
            "the groups on such a partition have no coordinator: their members cannot join, send heartbeats or commit"
            if found.request.topic == OFFSETS
            else "they cannot be read or written"
        )
        out.add(
            Para(
                f"A partition is unavailable without a broker if no other live broker has an in-sync replica. Until that broker is back, {what}.",
                tone="dim",
            )
        )


def _add_groups(out: Document, found: Answer) -> None:
    rows = []
    for group, partition in sorted(found.groups.items(), key=lambda g: (g[1], g[0])):
        p = found.placements[partition]
        rows.append((shorten(group, 60), str(partition), "none" if p.leader is None else str(p.leader), _listed(p.replicas), _listed(p.isr)))
    columns = (Column("group"), Column("partition", right=True), Column("coordinator", right=True), Column("replicas"), Column("in sync"))
    out.section("Groups", [Table(columns, tuple(rows[:200]))] if rows else [])


def _add_reassignment(out: Document, found: Answer, written: bool) -> None:
    assert found.reassignment is not None
    assert found.request.factor is not None
    target = {r["partition"]: r["replicas"] for r in found.reassignment["partitions"]}
    changed = [p for p in found.placements if tuple(target[p.partition]) != p.replicas]
    copies = sum(len(set(target[p.partition]) - set(p.replicas)) for p in found.placements)
    out.add(Heading(2, f"Reassignment to {count(found.request.factor, 'replica')}"))
    if not changed:
        out.add(Para("Nothing needs to move: the replicas are already placed like this.", tone="good"))
        return
    kept = sum(p.leader is not None and target[p.partition][0] == p.leader for p in found.placements)
    out.add(
        Para(
            f"{len(changed)} of {count(len(found.placements), 'partition')} {'changes' if len(changed) == 1 else 'change'}, "
            f"{count(copies, 'replica')} {'is' if copies == 1 else 'are'} copied; {count(kept, 'leader stays', 'leaders stay')}."
        )
    )
    load = {b: sum(b in replicas for replicas in target.values()) for b in sorted(found.brokers)}
    leads = {b: sum(replicas[0] == b for replicas in target.values()) for b in load}
    rows = tuple((str(b), found.brokers[b] or "", str(leads[b]), str(load[b])) for b in load)
    racks = any(found.brokers.values())
    columns = (Column("broker", right=True), Column("rack"), Column("leads", right=True), Column("holds", right=True))
    out.add(Table(columns if racks else (columns[0], *columns[2:]), rows if racks else tuple((r[0], *r[2:]) for r in rows)))
    if leads and max(leads.values()) - min(leads.values()) > 1:
        out.add(Para("Leaders are not balanced, because each stays where it is now.", tone="dim"))
    where = f"It is in {found.request.file}." if written else f"Write it with --output {found.request.file}, and then:"
    out.add(Para(where))
    for number, (what, command) in enumerate(found.commands, 1):
        out.add(Para(f"{what}:\n{_wrapped(command)}", label=str(number)))
    out.add(*(Para(text) for text in _advice(found)))


def _wrapped(command: str) -> str:
    """Return a command over several lines that a shell reads as one."""
    words = command.split(" --")
    return " \\\n  --".join(words) if len(command) > 72 else command


def _advice(found: Answer) -> list[str]:
    factor = found.request.factor or 1
    current = "not set on the topic (the default is 1)" if found.min_isr is None else str(found.min_isr)
    advised = advised_min_isr(factor)
    if factor >= 3:
        why = "a write is acknowledged by two brokers, and one of three may be down."
    else:
        why = f"with {count(factor, 'replica')} a higher value would stop all commits whenever one broker restarts; 3 replicas and a value of 2 are safer."
    advice = [f"min.insync.replicas is {current}; with {count(factor, 'replica')} it should be {advised}: {why}"]
    key = _CREATED_BY.get(found.request.topic)
    if key:
        advice.append(f"Set {key}={factor} on all brokers too: it applies when Kafka creates the topic, and does not change the existing one.")
    if found.request.release >= (0, 10, 1):
        advice.append(
            "Set the throttle above the rate at which producers write to these brokers, or replicas never catch up; run --execute with a higher one to change it."
        )
    return advice


def _groups_by_partition(groups: Mapping[str, int]) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    for group, partition in groups.items():
        found.setdefault(partition, []).append(group)
    return found


def _partitions(numbers: Sequence[int]) -> str:
    return ("partition " if len(numbers) == 1 else "partitions ") + _numbers(numbers)


def _numbers(numbers: Sequence[int]) -> str:
    """Return numbers as `0, 3-7, 9`."""
    parts: list[list[int]] = []
    for n in sorted(numbers):
        if parts and n == parts[-1][1] + 1:
            parts[-1][1] = n
        else:
            parts.append([n, n])
    return ", ".join(str(a) if a == b else f"{a}-{b}" if b > a + 1 else f"{a}, {b}" for a, b in parts)


def _listed(brokers: Sequence[int]) -> str:
    return ", ".join(map(str, brokers)) or "none"


def write(found: Answer, output: TextIO) -> None:
    """Write the reassignment."""
    output.write(json.dumps(found.reassignment, separators=(",", ":")) + "\n")


def groups_of_case(view_path: Callable[[str], Path | None]) -> list[str]:
    """Return the groups of a case, from logs and from snapshots beside them."""
    import pyarrow.compute as pc

    found: set[str] = set()
    for view in ("generation", "member", "group_snapshot"):
        path = view_path(view)
        if path is not None:
            found |= set(pc.unique(rows_in(path).to_table(columns=["group_id"]).column(0)).to_pylist())
    return sorted(g for g in found if g)
