"""Compute the view `offset_commit`: every commit in dumps of `__consumer_offsets`, in the order of its partition of the topic.

A dump has millions of commits. The numbers that order them are held for all; their texts are read again, part by part, when the rows are returned.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from forensics.relations.columns import MISSING, Codebook, Codes, Flags, Growing, begins, integers, known, last_before, places, worded
from forensics.relations.conditions import one_of

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs

_OF_COMMITS = ("offset_stored", "offset_removed", "offset_superseded", "offset_aborted", "offset_pending")
_OF_GROUPS = ("group_stored", "group_removed")
_EARLIER, _LAST, _REMOVED, _ABORTED, _PENDING = range(5)
_OUTCOMES = ("earlier", "last", "removed", "aborted", "pending")
_MEMBER, _OUTSIDE, _UNKNOWN = 0, 1, -1
_MADE_BY = ("member", "outside")
_NUMBERS = ("offsets_partition", "log_offset", "line", "offset", "ts", "log_run", "member_count", "generation")
_SHOWN = (
    *("group_id", "topic", "partition", "offset", "leader_epoch", "metadata", "ts", "expire_ms", "offsets_partition", "log_offset"),
    *("path", "line", "event_id"),
)
_IS_RECORD = one_of("event", (*_OF_COMMITS, *_OF_GROUPS))


def tables(inputs: Inputs) -> Iterator[pa.Table]:
    """Yield the rows of the view `offset_commit`, in the order of the dumps' lines."""
    records = _Records(inputs)
    if not records.is_commit.any():
        return
    history = _History(records)
    made = _made(records, history)
    clusters = _clusters(inputs, history, records.groups)
    member, members = _members(inputs, records, np.where(made.is_placed, history.group_record, -1))
    by_process = _of_transactions(inputs, records, member, members)
    member = np.where((records.producer >= 0) & (by_process < _ITS), -1, member)
    made_by = np.where(by_process >= 0, _MEMBER, made.by)
    at = 0
    for part in inputs.parts("event_row", _SHOWN, _IS_RECORD):
        own = slice(at, at := at + part.num_rows)
        columns = dict(zip(part.column_names, part.columns, strict=True)) | {
            "kafka_cluster": worded(clusters, records.group[own]),
            "committed_ts": part.column("ts"),
            "expire_ts": part.column("expire_ms"),
            "outcome": worded(_OUTCOMES, history.outcome[own]),
            "previous_offset": known(history.previous_offset[own]),
            "is_next": pa.array(history.is_next[own]),
            "generation": known(made.generation[own]),
            "member_id": worded(members, member[own]),
            "made_by": worded(_MADE_BY, made_by[own]),
        }
        yield pa.table(columns).filter(pa.array(records.is_commit[own] & history.is_kept[own]))


class _Records:
    """Commits, and the records of groups between them, as numbers in the order in which they are stored."""

    def __init__(self, inputs: Inputs) -> None:
        self.groups, self.partitions, self.files, self.producers = Codebook(), Codebook(), Codebook(), Codebook()
        paths, events = Codebook(), Codebook()
        texts = {"group_id": self.groups, "partition": self.partitions, "file_id": self.files, "path": paths, "event": events}
        texts["producer_id"] = self.producers
        found = {name: Growing(np.int32) for name in texts} | {name: Growing() for name in _NUMBERS}
        for part in inputs.parts("event_row", list(found), _IS_RECORD):
            for name, values in found.items():
                values.add(texts[name].codes(part.column(name)) if name in texts else integers(part.column(name)))

        def column(name: str) -> Codes:
            return found.pop(name).whole()

        self.group, self.partition, self.file, event = column("group_id"), column("partition"), column("file_id"), column("event")
        #: Which of two equal records is shown must not depend on which file is read first.
        self.nth_path = paths.ranks()[column("path")]
        self.offsets_partition, self.log_offset, self.line = column("offsets_partition"), column("log_offset"), column("line")
        self.offset, self.ts, self.run = column("offset"), column("ts"), column("log_run")
        self.member_count, self.generation = column("member_count"), column("generation")
        #: -1: not in a transaction.
        self.producer = column("producer_id")
        self.is_commit, self.is_stored_group = events.is_one_of(event, _OF_COMMITS), events.is_one_of(event, ("group_stored",))
        self.is_aborted, self.is_pending = events.is_one_of(event, ("offset_aborted",)), events.is_one_of(event, ("offset_pending",))


class _History:
    """The records in the order of their partition of the topic. Several dumps of one log, such as those of its replicas, are one history.

    Attributes:
        is_kept: which records are the first of those that are equal, in dumps of one log.
        in_conflict: the groups of which two dumps have different records in one place: they are of different clusters.
        outcome: the outcome of each commit.
        previous_offset: the offset of the commit before; `MISSING`: none.
        is_next: whether certainly no record is missing between the commit before and this one.
        group_record: the number of the group's record before each commit; -1: none.
    """

    def __init__(self, records: _Records) -> None:
        self._records = records
        #: Without offsets of their records, two dumps cannot be compared: each is a history of its own.
        self._own = np.where(records.log_offset == MISSING, records.file, -1)
        self._arrange()
        self.is_kept = self._first_of_equal()
        self.in_conflict = self._conflicts()
        if self.in_conflict.any():
            apart = self.in_conflict[records.group]
            self._own = np.where(apart, places(records.file, np.maximum(records.run, -1)), self._own)
            self._arrange()
            self.is_kept = self._first_of_equal()
        is_commit = records.is_commit & self.is_kept
        counts = is_commit & ~records.is_aborted & ~records.is_pending
        before = last_before(self._by_place, self._is_first, counts)
        self.previous_offset = np.where(before < 0, MISSING, records.offset[before])
        # The beginning of the log precedes the first commit.
        self.is_next = np.where(before < 0, records.run == 0, self.are_joined(before, np.arange(len(before))))
        last = np.zeros(len(before), np.bool_)
        last[counts] = True
        last[before[counts & (before >= 0)]] = False
        is_removal = records.offset == MISSING
        self.outcome = np.select(
            [records.is_aborted, records.is_pending, last & is_removal, last],
            [np.int8(o) for o in (_ABORTED, _PENDING, _REMOVED, _LAST)],
            np.int8(_EARLIER),
        )
        group = last_before(self._by_group, self._is_first_of_group, ~records.is_commit & self.is_kept)
        self.group_record = np.where(is_commit, group, -1)
        del self._own, self._place, self._by_group, self._by_place, self._is_first, self._is_first_of_group

    def are_joined(self, earlier: Codes, later: Codes) -> Flags:
        """Return whether certainly no record is missing between two records of one group. Gaps are counted in each dump, from its beginning."""
        run, file = self._records.run, self._records.file
        joined: Flags = (run[earlier] == run[later]) & (run[later] != MISSING) & ((run[later] == 0) | (file[earlier] == file[later]))
        return joined

    def _arrange(self) -> None:
        """Order the records: by group, and the same by partition of a group."""
        records = self._records
        group = places(records.group, np.maximum(records.offsets_partition, -1), self._own)
        self._by_group = np.lexsort((records.nth_path, records.line, records.log_offset, group))
        self._is_first_of_group = begins(group[self._by_group])
        self._place = places(group, records.partition)
        self._by_place = self._by_group[np.argsort(self._place[self._by_group], kind="stable")]
        self._is_first = begins(self._place[self._by_place])

    def _first_of_equal(self) -> Flags:
        """Return which records are the first of those with the same content in one place of one log."""
        records, order = self._records, self._by_place
        at = np.where(records.log_offset == MISSING, records.line, records.log_offset)[order]
        is_first = self._is_first | begins(at)
        rows = order[~is_first | ~np.append(is_first[1:], True)]
        kept = np.ones(len(order), np.bool_)
        if len(rows):
            spot = np.empty(len(order), np.int64)
            spot[order] = np.cumsum(is_first)
            by = (records.line, records.nth_path, records.run, records.is_pending, records.ts, records.offset, spot)
            rows = rows[np.lexsort([key[rows] for key in by])]
            kept[rows] = begins(spot[rows], records.offset[rows], records.ts[rows])
        return kept

    def _conflicts(self) -> Flags:
        """Return the groups of which two dumps cannot be of one cluster: different records in one place, or two partitions of the topic."""
        records = self._records
        # If the partition of the topic is unknown, only a group's own records are certainly of one.
        log = np.where(records.offsets_partition == MISSING, -2 - records.group, records.offsets_partition)
        rows = np.flatnonzero(self.is_kept & (records.log_offset != MISSING))
        rows = rows[np.lexsort([key[rows] for key in (records.run, records.file, records.log_offset, log)])]
        # Commits of a transaction share the place of its end.
        is_other = ~begins(log[rows], records.log_offset[rows]) & begins(records.file[rows], records.run[rows])
        found = np.zeros(len(records.groups.numbers), np.bool_)
        found[records.group[np.isin(log, log[rows[is_other]])]] = True
        group, partition = records.group, records.offsets_partition
        first = np.full(len(found), MISSING)
        first[group[partition != MISSING]] = partition[partition != MISSING]
        found[group[(partition != MISSING) & (partition != first[group])]] = True
        return found


@dataclass(frozen=True)
class _Made:
    """Who made each commit.

    Attributes:
        is_placed: whether the group's record before it is in force.
        generation: the generation; `MISSING`: unknown.
        by: `_MEMBER`, `_OUTSIDE` or `_UNKNOWN`.
    """

    is_placed: Flags
    generation: Codes
    by: Codes


def _made(records: _Records, history: _History) -> _Made:
    """Return who made each commit. The members of a KIP-848 group are counted in the dump; before it became one, it may have been a classic group."""
    held = history.group_record
    in_transaction = records.producer >= 0
    is_placed = (
        (held >= 0) & history.are_joined(held, np.arange(len(held))) & records.is_stored_group[held] & ~records.is_aborted & ~records.is_pending
    )
    members = np.where(is_placed & ~in_transaction, records.member_count[held], MISSING)
    own = np.where(in_transaction, MISSING, records.member_count)
    by = np.select([own > 0, own == 0, members > 0, members == 0], [_MEMBER, _OUTSIDE, _MEMBER, _OUTSIDE], _UNKNOWN)
    return _Made(is_placed, np.where(members == MISSING, MISSING, records.generation[held]), by)


def _members(inputs: Inputs, records: _Records, held: Codes) -> tuple[Codes, list[str]]:
    """Return the member that had the partition of each commit according to the group's record before it, as a number, -1: unknown; and the members.

    Args:
        inputs: the rows of `event_row`.
        records: the records.
        held: the number of the group's record of each commit, -1: none.
    """
    members, found = Codebook(), [np.zeros((3, 0), np.int64)]
    stored = np.unique(held[held >= 0])
    stored = stored[np.lexsort((records.line[stored], records.file[stored]))]
    size = int(records.line.max(initial=0)) + 2
    places_of = records.file[stored].astype(np.int64) * size + records.line[stored]
    columns = ["file_id", "line", "group_id", "member_id", "assigned_partitions"]
    for part in inputs.parts("event_row", columns, pc.field("event") == "member_stored") if len(stored) else ():
        lists = part.column("assigned_partitions").combine_chunks()
        row = np.asarray(pc.list_parent_indices(lists), np.int64)
        place = (records.files.codes(part.column("file_id")) * size + integers(part.column("line")))[row]
        at = np.minimum(np.searchsorted(places_of, place), len(stored) - 1)
        of = np.stack((stored[at], records.partitions.codes(pa.chunked_array([lists.flatten()])), members.codes(part.column("member_id"))[row]))
        is_its = (places_of[at] == place) & (records.group[stored[at]] == records.groups.codes(part.column("group_id"))[row])
        found.append(of[:, is_its])
    record, partition, member = np.concatenate(found, axis=1)
    size = len(records.partitions.numbers) + 1
    key, first, times = np.unique(record * size + partition, return_index=True, return_counts=True)
    # Two members cannot both have it.
    key, member = key[times == 1], member[first[times == 1]]
    wanted = held * size + records.partition
    at = np.minimum(np.searchsorted(key, wanted), max(len(key) - 1, 0))
    has = (held >= 0) & (key[at] == wanted) if len(key) else np.zeros(len(held), np.bool_)
    return np.where(has, member[at] if len(key) else -1, -1), list(members.numbers)


#: Whose process made a commit of a transaction: that of a member of the group, or that of the member that had the partition.
_OF_MEMBER, _ITS = 0, 1


def _of_transactions(inputs: Inputs, records: _Records, member: Codes, members: list[str]) -> Codes:
    """Return for each commit of a transaction whose process made it, by its producer id; -1: unknown, or no such commit.

    The end of a transaction may come after the next generation began, so the generation before it is not certainly that of the commit.
    """
    found = np.full(len(member), -1)
    rows = np.flatnonzero((records.producer >= 0) & records.is_commit & ~records.is_aborted & ~records.is_pending)
    if not len(rows):
        return found
    processes: defaultdict[int, set[str]] = defaultdict(set)
    columns = ["producer_id", "process_id"]
    for producer_id, process_id in inputs.distinct("event_row", columns, (pc.field("event") == "producer_id_set") & (pc.field("producer_id") >= 0)):
        processes[producer_id].add(process_id)
    only = {producer_id: max(its) for producer_id, its in processes.items() if len(its) == 1}
    clients = inputs.distinct("client_event", ["process_id", "group_id", "member_id"], one_of("process_id", set(only.values())))
    of_group = {(process_id, group_id) for process_id, group_id, _ in clients}
    keys = np.stack([records.group[rows], records.producer[rows], member[rows]])
    different, nth = np.unique(keys, axis=1, return_inverse=True)
    groups, producers = list(records.groups.numbers), list(records.producers.numbers)

    def whose(group: int, producer: int, its: int) -> int:
        process_id, group_id = only.get(producers[producer]), groups[group]
        if process_id is None or (process_id, group_id) not in of_group:
            return -1
        return _ITS if its >= 0 and (process_id, group_id, members[its]) in clients else _OF_MEMBER

    found[rows] = np.array([whose(*key) for key in different.T.tolist()])[nth.reshape(-1)]
    return found


def _clusters(inputs: Inputs, history: _History, groups: Codebook) -> list[str | None]:
    """Return the cluster of each group: the only one whose logs name it, unless dumps of the group contradict each other."""
    named: defaultdict[str, set[str]] = defaultdict(set)
    for group, cluster in inputs.distinct("generation", ["group_id", "kafka_cluster"]):
        if cluster is not None:
            named[group].add(cluster)
    return [
        max(named[group]) if len(named[group]) == 1 and not in_conflict else None
        for group, in_conflict in zip(groups.numbers, history.in_conflict, strict=True)
    ]
