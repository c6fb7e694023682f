"""Compute the view `duplicate_ledger`: the partitions that another consumer continued to read, and the records that were read twice."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from forensics.clocks.offsets import Clocks
from forensics.ownership.reader_members import ReaderMembers
from forensics.ownership.readings import readings
from forensics.relations.conditions import one_of
from forensics.relations.missing import greatest, less, minus, order, there

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs, Row

_EAGER = re.compile(r"RangeAssignor|RoundRobinAssignor|[.]StickyAssignor")
_AUTO_COMMIT = ("enable.auto.commit", "group.protocol", "partition.assignment.strategy")


def rows(inputs: Inputs) -> list[Row]:
    """Return the rows of the view `duplicate_ledger`."""
    starts = reading_starts(inputs)
    if not starts:
        return []
    dumped = _dumped_to(inputs)
    for start in starts:
        start["last_committed_to"] = greatest(start["last_committed"], dumped.get((start["event_id"], start["resource"])))
    commits = {(row["event_id"], row["resource"]): row for row in inputs.rows("start_commit")}
    eager = _eager_clients(inputs)
    ledger = (_row(old, new, eager, commits.get((new["event_id"], new["resource"]))) for old, new in _successions(starts))
    return [row for row in ledger if row is not None]


def reading_starts(inputs: Inputs) -> list[Row]:
    """Return each line in which a consumer of a group starts to read a partition, with its progress according to later lines."""
    clocks, members, starts = Clocks(inputs), None, []
    for reading in readings(inputs):
        members = members or ReaderMembers(inputs)
        start, clock = reading.start, clocks.of(reading.start["process_id"])
        starts.append(
            {
                name: start[name]
                for name in ("kafka_cluster", "group_id", "resource", "process_id", "instance", "client", "stream_pos", "event_id", "how")
            }
            | members.before(start)._asdict()
            | {
                "start_offset": start["at_offset"],
                "reference_process_id": clock.reference_process_id if clock is not None else None,
                "start_lo_ms": clock.earliest(start["at_ms"]) if clock is not None else None,
                "start_hi_ms": clock.latest(start["at_ms"]) if clock is not None else None,
                "last_committed": reading.committed,
                "asked": reading.asked and reading.asked._asdict(),
                "refused": reading.refused and reading.refused._asdict(),
                "final_offset": reading.final_offset,
                "taken": reading.taken,
                "fence": reading.fence,
                "any_refused": reading.any_refused,
            }
        )
    return starts


def _successions(starts: Iterable[Row]) -> Iterator[tuple[Row, Row]]:
    """Yield the reading of a partition before each other one, and that one.

    Generations order readers of any clock; if they are unknown, only readers whose clocks can be compared follow each other.
    """
    of_partition: defaultdict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for start in starts:
        reference = start["reference_process_id"] if start["generation"] is None else None
        of_partition[start["kafka_cluster"], start["group_id"], start["resource"], reference].append(start)
    by = ("incarnation", "generation", "start_lo_ms", "process_id", "stream_pos")
    for its in of_partition.values():
        yield from pairwise(sorted(its, key=lambda start: order([start[name] for name in by])))


def _eager_clients(inputs: Inputs) -> set[tuple[str, int, str]]:
    """Return the eager consumers with auto-commit: they commit before they release their partitions, and print a refusal."""
    dumps: defaultdict[tuple[str, int, str], defaultdict[str, dict[str, str]]] = defaultdict(lambda: defaultdict(dict))
    columns = ["process_id", "instance", "client_id", "event_id", "key", "value"]
    of_consumer = (pc.field("component") == "ConsumerConfig") & one_of("key", _AUTO_COMMIT) & pc.field("client_id").is_valid()
    for row in inputs.rows("config_value", columns, of_consumer):
        dump = dumps[row["process_id"], row["instance"], row["client_id"]][row["event_id"]]
        if row["value"] is not None:
            dump[row["key"]] = max(row["value"], dump.get(row["key"], ""))
    return {client for client, its in dumps.items() if all(map(_commits_eagerly, its.values()))}


def _commits_eagerly(config: dict[str, str]) -> bool:
    commits, protocol, strategies = map(config.get, _AUTO_COMMIT)
    return commits == "true" and (protocol or "").upper() != "CONSUMER" and (strategies is None or bool(_EAGER.search(strategies)))


def _dumped_to(inputs: Inputs) -> dict[tuple[str, str], int]:
    """Return the highest offset that each reading committed by a dump: after its start, and before a later start of the same member.

    The key is the line of its start, and the partition.
    """
    columns = ["kafka_cluster", "group_id", "partition", "member_id", "generation"]
    is_known = pc.field("generation").is_valid() & pc.field("offset").is_valid()
    highest: dict[tuple[Any, ...], int] = {}
    for part in inputs.parts("offset_commit", [*columns, "offset"], is_known):  # a dump may have millions of commits
        for row in part.group_by(columns).aggregate([("offset", "max")]).to_pylist():
            key = tuple(row[name] for name in columns)
            highest[key] = max(row["offset_max"], highest.get(key, row["offset_max"]))
    # By member and partition: its generations, in their order, and the highest offset of each.
    commits: defaultdict[tuple[Any, ...], list[tuple[int, int]]] = defaultdict(list)
    for key, offset in sorted(highest.items(), key=lambda item: item[0][-1]):
        if None not in key:
            commits[key[:-1]].append((key[-1], offset))
    of_member: defaultdict[tuple[Any, ...], list[tuple[int, int, str]]] = defaultdict(list)
    for row in inputs.rows("start_commit") if commits else ():
        if row["generation"] is not None:
            place = row["kafka_cluster"], row["group_id"], row["resource"], row["member_id"]
            of_member[place].append((row["generation"], row["stream_pos"], row["event_id"]))
    found: dict[tuple[str, str], int] = {}
    for place, its in of_member.items():
        its.sort()
        ends = [*(generation for generation, _, _ in its[1:]), None]
        for (generation, _, event_id), end in zip(its, ends, strict=True):
            known = commits.get(place, ())
            its_own = known[bisect_left(known, (generation,)) : len(known) if end is None else bisect_left(known, (end,))]
            if its_own:
                found[event_id, place[2]] = max(offset for _, offset in its_own)
    return found


def _row(old: Row, new: Row, eager: set[tuple[str, int, str]], commit: Row | None) -> Row | None:
    """Return a row of the view; None: a consumer that starts again at its position has read nothing twice."""
    asked, refused, taken, fence = (old[name] or {} for name in ("asked", "refused", "taken", "fence"))
    old_from, new_from, committed = old["start_offset"], new["start_offset"], old["last_committed_to"]
    read_to = greatest(refused.get("at_offset"), asked.get("at_offset"), committed, old["final_offset"])
    is_eager = (old["process_id"], old["instance"], old["client"]) in eager
    is_clean = is_eager and taken.get("how") == "revoked" and not old["any_refused"] and new["how"] == "committed"
    is_exact = is_clean or old["final_offset"] is not None and old["final_offset"] == read_to
    got_to = new_from if is_clean else greatest(read_to, old_from)
    is_same = all(old[name] == new[name] for name in ("process_id", "instance", "client"))
    if is_same and not less(new_from, got_to) and not less(new_from, old_from):
        return None
    has_read = less(old_from, got_to)
    by_commit = {"refused_commit": refused.get("at_offset"), "committed": committed, "asked_commit": asked.get("at_offset")}
    shown_by = next((how for how, at_offset in by_commit.items() if has_read and at_offset == got_to), None)
    records = max(0, minus(got_to, greatest(new_from, old_from)) or 0)
    again = commit or {}
    progress = next((one["event_id"] for one in (refused, asked) if got_to is not None and one.get("at_offset") == got_to), None)
    return {
        "kafka_cluster": new["kafka_cluster"],
        "group_id": new["group_id"],
        "resource": new["resource"],
        **{f"old_{name}": old[name] for name in ("process_id", "client", "member_id", "generation")},
        **{f"new_{name}": new[name] for name in ("process_id", "client", "member_id", "generation")},
        "incarnation": new["incarnation"],
        "old_from": old_from,
        "last_committed": committed,
        "restarted_at": new_from,
        "restarted_how": new["how"],
        "restarted_lo": new["start_lo_ms"],
        "restarted_hi": new["start_hi_ms"],
        "read_to": got_to if has_read or is_exact else None,
        "records_lo": records,
        "records_hi": records if is_exact else None,
        "how": "automatic_commit" if is_exact else shown_by or ("went_back" if less(new_from, old_from) else "unknown"),
        "committed_again_lo": max(0, minus(again.get("acknowledged_lo"), new_from) or 0) if commit is not None else None,
        "committed_again_hi": max(0, minus(again.get("acknowledged_hi"), new_from) or 0) if again.get("is_whole") else None,
        "fenced_by": fence.get("fenced_by"),
        "reference_process_id": new["reference_process_id"],
        "event_id": new["event_id"],
        "witness": list(dict.fromkeys(there([old["event_id"], progress, taken.get("event_id"), fence.get("event_id"), new["event_id"]]))),
    }
