# SPDX-License-Identifier: Apache-2.0
"""Dumps of `__consumer_offsets` that are cut, compacted, duplicated, mixed or out of order: what is stated of their commits is true, or it is not stated."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

import pytest
from given_rows import GivenRows

from forensics.case import materialise, view_files
from forensics.extract.single_readers import SnapshotReader

Row = dict[str, Any]
T0 = 1_795_249_000_000
HEAD = "Dumping /kafka/__consumer_offsets-7/00000000000000000000.log\nLog starting offset: 0\n"
PARTITIONS = ("t-0", "t-1", "t-2")


@dataclass
class History:
    """What a group did: records of its partition of the topic, and the truth about them.

    Attributes:
        lines: each record, by its offset there.
        commits: of each record that is a commit: partition, offset, commit before, generation, member (None: from outside).
        starts: of each start of a reader: generation, member, partition, offset, whether at the committed one, and what members had committed before.
    """

    lines: list[str] = field(default_factory=list)
    commits: dict[int, tuple[str, int | None, int | None, int, str | None]] = field(default_factory=dict)
    starts: list[tuple[int, str, str, int, bool, int]] = field(default_factory=list)


def history(rng: random.Random, name: str = "m") -> History:
    """Return a random history of a group of one or two members, which is empty now and then; somebody else then sets or removes its commits."""
    its, current, highest = History(), dict.fromkeys(PARTITIONS), dict.fromkeys(PARTITIONS, -1)

    def record(key: Row, value: Row | None) -> None:
        n = len(its.lines)
        text = "<DELETE>" if value is None else json.dumps({"version": "3", "data": value}, separators=(",", ":"))
        head = f"| offset: {n} CreateTime: {T0 + n} keySize: 26 valueSize: 24 sequence: 0 headerKeys: [] "
        its.lines.append(f"{head}key: {json.dumps(key, separators=(',', ':'))} payload: {text}\n")

    def commit(partition: str, offset: int | None, generation: int, member: str | None) -> None:
        its.commits[len(its.lines)] = partition, offset, current[partition], generation, member
        data = None if offset is None else {"offset": offset, "leaderEpoch": -1, "metadata": "", "commitTimestamp": T0 + len(its.lines)}
        record({"type": "1", "data": {"group": "g", "topic": "t", "partition": int(partition[-1])}}, data)
        current[partition] = offset
        if member is not None and offset is not None:
            highest[partition] = max(highest[partition], offset)

    for generation in range(1, rng.randint(3, 9)):
        members = [f"{name}{n}" for n in range(rng.choice((0, 1, 1, 2)))]
        owners = {p: members[n % len(members)] for n, p in enumerate(PARTITIONS)} if members else {}
        given = [
            {
                "memberId": m,
                "assignment": {"version": 3, "assignedPartitions": [{"topic": "t", "partitions": [int(p[-1]) for p in owners if owners[p] == m]}]},
            }
            for m in members
        ]
        record({"type": "2", "data": {"group": "g"}}, {"protocolType": "consumer", "generation": generation, "protocol": "range", "members": given})
        position = {}
        for partition, member in owners.items():
            is_committed = current[partition] is not None
            position[partition] = current[partition] if is_committed else rng.choice((0, 50))
            its.starts.append((generation, member, partition, position[partition], is_committed, highest[partition]))
        for _ in range(rng.randint(0, 12)):
            partition = rng.choice(PARTITIONS)
            if members:
                position[partition] += rng.randint(1, 9)
                commit(partition, position[partition], generation, owners[partition])
            elif rng.random() < 0.3:
                commit(partition, rng.choice((None, 0, 5, 400)), generation, None)
    return its


def cut(lines: Sequence[str], rng: random.Random) -> list[str]:
    """Return a dump that ends anywhere, also within a line."""
    text = HEAD + "".join(lines)
    return [text[: rng.randint(len(HEAD), len(text))]]


def without_begin(lines: Sequence[str], rng: random.Random) -> list[str]:
    """Return a dump whose first bytes are missing."""
    text = HEAD + "".join(lines)
    return [text[rng.randint(0, len(text)) :]]


def compacted(lines: Sequence[str], rng: random.Random) -> list[str]:
    """Return a dump in which some records are missing."""
    return [HEAD + "".join(line for line in lines if rng.random() < 0.8)]


def duplicated(lines: Sequence[str], rng: random.Random) -> list[str]:
    """Return a dump that was taken twice into one file, or two files, at different times."""
    early, late = HEAD + "".join(lines[: rng.randint(1, len(lines))]), HEAD + "".join(lines)
    return rng.choice(([early + late], [early, late], [late, early]))


def in_segments(lines: Sequence[str], rng: random.Random) -> list[str]:
    """Return a dump of each segment, in any order, some missing."""
    borders = sorted(rng.sample(range(1, len(lines)), 2)) if len(lines) > 2 else [1, 1]
    its = ["".join(lines[a:b]) for a, b in zip([0, *borders], [*borders, len(lines)], strict=True)]
    files = [HEAD + text for text in rng.sample(its, rng.randint(1, 3))]
    return rng.choice((files, ["".join(files)]))


def shuffled(lines: Sequence[str], rng: random.Random) -> list[str]:
    """Return a dump whose lines are in another order."""
    moved = list(lines)
    for _ in range(rng.randint(1, 4)):
        moved.insert(rng.randrange(len(moved)), moved.pop(rng.randrange(len(moved))))
    return [HEAD + "".join(moved)]


def broken(lines: Sequence[str], rng: random.Random) -> list[str]:
    """Return a dump with a line that is not UTF-8, one that is huge, and one that was overwritten."""
    its = list(lines)
    for _ in range(3):
        at = rng.randrange(len(its))
        its[at] = rng.choice(
            (its[at][:-9] + "\udcff\udcfe\n", its[at][:40] + "x" * 3_000_000 + "\n", "\0" * 50 + its[at][50:], its[at].replace("offset", "0ffset"))
        )
    return [HEAD + "".join(its)]


def of_two_clusters(lines: Sequence[str], rng: random.Random) -> list[str]:
    """Return the dump and one of a group of the same name in another cluster, in one file or two, cut anywhere."""
    other = history(rng, rng.choice(("m", "x"))).lines
    begin = rng.randint(0, len(other) // 2)
    files = [HEAD + "".join(lines[: rng.randint(1, len(lines))]), HEAD + "".join(other[begin:])]
    rng.shuffle(files)
    return rng.choice((files, ["".join(files)]))


ATTACKS: tuple[Callable[[Sequence[str], random.Random], list[str]], ...] = (
    cut, without_begin, compacted, duplicated, in_segments, shuffled, broken, of_two_clusters,
)  # fmt: skip


def computed(files: Sequence[str], its: History) -> tuple[list[Row], list[Row]]:
    """Return the rows of `offset_commit` and `start_commit` for dumps and the starts of a history."""
    events = []
    for number, text in enumerate(files):
        content = BytesIO(text.encode("utf-8", "surrogateescape"))
        for nth, o in enumerate(SnapshotReader("offsets_dump").observations(content)):
            placed = {
                "event_id": f"{number}-{nth}",
                "event": o.event,
                "path": f"f{number}",
                "file_id": f"f{number}",
                "line": o.line,
                "category": "snapshot",
            }
            captures = {k: v for k, v in o.captures.items() if k != "columns"}
            events.append(placed | captures | ({} if o.ts is None else {"ts": o.ts // 1000}))
    generations = [{"kafka_cluster": "k", "group_id": "g", "incarnation": 1, "generation": n} for n in range(1, 10)]
    commits = of_view("offset_commit", {"event_row": events, "generation": generations})
    common = {"kafka_cluster": "k", "group_id": "g", "instance": 0, "client": "c"}
    lines, rounds = [], []
    for n, (generation, member, partition, offset, is_committed, _) in enumerate(its.starts):
        place = common | {"process_id": f"{member}-{n}", "resource": partition, "at_ms": T0}
        lines.append(place | {"kind": "given", "stream_pos": 10, "event_id": f"g{n}"})
        lines.append(
            place | {"kind": "start", "stream_pos": 11, "event_id": f"n{n}", "how": "committed" if is_committed else "reset", "at_offset": offset}
        )
        rounds.append(
            {
                "process_id": f"{member}-{n}",
                "instance": 0,
                "client": "c",
                "group_id": "g",
                "from_pos": 9,
                "member_id": member,
                "generation": generation,
            }
        )
    given = {"offset_line": lines, "join_round": rounds, "generation": generations, "offset_commit": commits}
    return commits, of_view("start_commit", given)


def of_view(name: str, given: dict[str, list[Row]]) -> list[Row]:
    view = view_files.views()[name]
    found = materialise.computed(view, GivenRows(given, view.computed).of(view.reads)).to_pylist()
    return [{k: round(v.timestamp() * 1000) if k == "committed_ts" and v is not None else v for k, v in row.items()} for row in found]


def wrong(commits: Sequence[Row], starts: Sequence[Row], its: History, *, is_mixed: bool) -> list[object]:
    """Return what is stated and not true. Dumps of two clusters that share no offset cannot be distinguished from one with a gap: only what is exact counts."""
    found: list[object] = []
    for c in commits if not is_mixed else ():
        truth = its.commits.get(c["log_offset"])
        if truth is None or truth[:2] != (c["partition"], c["offset"]):
            found.append((c, truth))
        elif c["kafka_cluster"] is not None:
            _, _, before, generation, member = truth
            is_true = (
                not c["is_next"] or c["previous_offset"] == before,
                c["generation"] in (None, generation),
                c["member_id"] in (None, member),
                c["made_by"] in (None, "outside" if member is None else "member"),
            )
            if not all(is_true):
                found.append((c, truth))
    for s in starts:
        *_, acknowledged = its.starts[int(s["event_id"][1:])]
        lo, hi = s["acknowledged_lo"], s["acknowledged_hi"]
        if (s["is_whole"] or not is_mixed) and lo is not None and lo > acknowledged or s["is_whole"] and hi is not None and hi < acknowledged:
            found.append((s, acknowledged))
    return found


@pytest.mark.parametrize("files", [1, 2], ids=["one dump", "dumps of two replicas"])
@pytest.mark.parametrize("times", [1, 2], ids=["once", "twice in a file"])
def test_what_a_whole_dump_shows_is_exact(files: int, times: int) -> None:
    exact = total = 0
    for seed in range(30):
        its = history(random.Random(seed))
        commits, starts = computed([(HEAD + "".join(its.lines)) * times] * files, its)
        assert len(commits) == len(its.commits)
        assert wrong(commits, starts, its, is_mixed=False) == []
        assert all(c["is_next"] and c["generation"] and c["made_by"] for c in commits)
        last = max((g for *_, g, _ in its.commits.values()), default=0)
        known = [s for s in starts if s["generation"] <= last]
        exact += sum(s["is_whole"] and max(s["acknowledged_lo"] or -1, -1) == s["acknowledged_hi"] for s in known)
        total += len(known)
    assert exact == total > 150


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
def test_what_a_damaged_dump_shows_is_true(attack: Callable[[Sequence[str], random.Random], list[str]]) -> None:
    for seed in range(5 if attack is broken else 120):
        rng = random.Random(seed)
        its = history(rng)
        files = attack(its.lines, rng)
        commits, starts = computed(files, its)
        assert wrong(commits, starts, its, is_mixed=attack is of_two_clusters) == [], (seed, files)
