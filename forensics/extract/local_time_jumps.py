"""Jumps inside a log stream: daylight saving, another time zone, or lines that are not the next ones of this process.

Most logs print local time without saying whose. Where it goes back by whole quarters of an hour while the process goes on, its zone changed: the
lines from there on get that zone, so that their times follow those before. Where nothing says that the process went on (a start, other
identities), the lines are of another process whose log was appended: they become a process of their own, with their times as printed, since
nobody says in which zone. If what names the process says that they are an earlier part of its log, they are put before the others. A clock that
was set back while the process went on is left alone: that is a step.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from forensics.extract.joined_parts import MOST_PARTS, Part, in_order, moves, repeats
from forensics.extract.jump_signs import EXACT, HOUR, JITTER, NAMES, SET, Sign, falls_back, streams_to_read
from forensics.extract.split_counts import GAP_US
from forensics.extract.splits import FILE_BITS
from forensics.records.timestamps import SECOND
from forensics.schema import table_schema

_QUARTER = 900 * SECOND
#: Less than this is no other zone.
_LEAST = 14 * 60 * SECOND
#: Between the first and the last zone of the world.
_MOST = 26 * HOUR
#: More jumps than this, in the midst of lives, are lines in disorder, not logs one behind the other.
_MOST_STRETCHES = 8
_STARTS = frozenset({"process_started", "process_initializing", "herder_starting", "broker_starting", "connect_starting"})
#: Whose settings a JVM prints once, when it starts.
_MAINS = frozenset({"DistributedConfig", "StandaloneConfig", "KafkaConfig"})
#: What no process says while it starts, but only after it.
_WORK = frozenset({"membership", "assignment", "task", "connector", "coordinator", "broker_group"})
_WHO = (*NAMES, "member_id")
_OTHER = "other_log"
_EARLIER = "earlier_part"
_REPEATED = "repeated"
_Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Stretch:
    """Lines of one stream, from a jump on.

    Attributes:
        process_id: the stream.
        from_pos, to_pos: its positions, `to_pos` not included.
        shift_us: added to the printed times.
        moved: added to the positions: the lines are of another place among those of their process than they stand at.
        owner: process that the lines belong to.
        why: `daylight_saving`, `time_zone`, `other_log`, `earlier_part`, or `repeated` (its lines stand in the log before, so its rows go); empty: only
            that of others ends here.
        path: of the file in which it begins.
        jump: times before and behind the jump, as printed; of what is repeated those at its end.
        until: when the process prints on, in the part of its log that follows; None: no other does.
        since: when it printed last; None: with the last of these lines.
        lines: events of the two lines before the jump, and of the two after it; where those are only counted, of the next ones that are kept.
    """

    process_id: str
    from_pos: int
    to_pos: int
    shift_us: int
    moved: int
    owner: str
    why: str
    path: str
    jump: tuple[int, int]
    until: int | None = None
    since: int | None = None
    lines: tuple[str, ...] = ()

    @property
    def begin(self) -> int:
        """The byte in the file behind that with which it begins."""
        return (self.from_pos & ((1 << FILE_BITS) - 1)) + 1


def separate(
    staged: Path, events: Sequence[str], counted: Sequence[str], others: Sequence[str], ranges: list[dict[str, Any]], zoned: frozenset[str]
) -> list[dict[str, Any]]:
    """Finds the stretches of what was read, and gives their rows their own times and processes.

    Args:
        staged: folder of the Parquet files that tasks wrote; those with lines of a stretch are written anew.
        events: names of the files of events.
        counted: names of the files of records that are only counted.
        others: names of the files of unrecognised records.
        ranges: rows of `range_row`, each with the `signs` of its rows, which are taken off; among its `gaps` are steps back in time.
        zoned: streams whose times say their offset from UTC: they have no zone to find.

    Returns:
        The rows of `range_row`, with one more for each stretch.
    """
    known = [staged / name for name in (*events, *counted)]
    signs = [Sign(*told) for row in ranges for told in row.pop("signs")]
    found = find(known, signs, zoned)
    if found:
        spans = _Spans()
        for file in (*known, *(staged / name for name in others)):
            _rewrite(file, found, spans)
        ranges = _ranges(ranges, found, spans)
    return [{**row, "gaps": _silent(row["gaps"] or [])} for row in ranges]


def find(files: Iterable[Path], signs: Iterable[Sign], zoned: frozenset[str] = frozenset()) -> list[Stretch]:
    """The stretches of all streams, by the times and names of their events, those that are only counted included.

    Args:
        files: hold the rows.
        signs: of all of the rows.
        zoned: as in `separate`.
    """
    wanted, alone = streams_to_read(signs)
    return [stretch for name in wanted for stretch in _Stream(name, files, name in zoned, alone=alone).stretches()]


def _table(files: Iterable[Path], columns: Sequence[str], condition: pc.Expression | None = None) -> pa.Table:
    """Some columns of files together; those that a file has not are empty."""
    types = {field.name: field.type for field in table_schema("event_row")}
    # What repeats stays a dictionary, as it is in the file; of ids there are no two alike.
    repeated = [c for c in columns if types[c] == pa.string() and c != "event_id"]
    none = {c: pa.array([], pa.dictionary(pa.int32(), types[c]) if c in repeated else types[c]) for c in columns}
    parts = []
    for file in files:
        there = set(pq.read_schema(file).names)
        parts.append(pq.read_table(file, columns=[c for c in columns if c in there], read_dictionary=repeated, filters=condition))
    whole = pa.concat_tables([pa.table(none), *parts], promote_options="default")
    return whole.select(columns).unify_dictionaries()


def _in_order(rows: pa.Table) -> pa.Table:
    """Rows that have a time, by their place in the stream."""
    if rows["ts"].null_count:
        rows = rows.filter(pc.is_valid(rows["ts"]))
    # Each file's rows are in order: to merge such runs is quicker than any other way of sorting.
    return rows.take(pa.array(np.argsort(rows["stream_pos"].to_numpy(), kind="stable")))


def _joined(column: pa.ChunkedArray) -> pa.Array:
    """A column in one piece."""
    return column.combine_chunks() if column.num_chunks else pa.array([], column.type)


class _Segment(NamedTuple):
    """Events from `begin` on: what is added to their times, whose they are, why; what is added to their positions, and when those that follow then begin."""

    begin: int
    shift: int
    owner: int
    why: str
    moved: int = 0
    until: int | None = None


def _is_in(column: pa.ChunkedArray, values: Iterable[str]) -> npt.NDArray[np.bool_]:
    """Which rows have one of these values."""
    whole = _joined(column)
    wanted = np.flatnonzero(np.isin(np.array(whole.dictionary.to_pylist(), object), sorted(values)))
    found: npt.NDArray[np.bool_] = np.isin(whole.indices.fill_null(-1).to_numpy(zero_copy_only=False), wanted)
    return found


def _is_told(column: pa.ChunkedArray) -> npt.NDArray[np.bool_]:
    """Which rows have a value."""
    told: npt.NDArray[np.bool_] = pc.is_valid(column).to_numpy().astype(np.bool_)
    return told


class _Said:
    """What lines of a stream say of one thing, as numbers for its values: most say nothing, and long parts are asked for again and again."""

    def __init__(self, column: pa.ChunkedArray) -> None:
        values = _joined(column)
        self._at: _Ints = np.flatnonzero(values.is_valid().to_numpy(zero_copy_only=False)).astype(np.int64)
        codes = values.drop_null()
        codes = codes if pa.types.is_dictionary(codes.type) else codes.dictionary_encode()
        self._codes: _Ints = codes.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        last = np.zeros(len(codes.dictionary), np.int64)
        np.maximum.at(last, self._codes, self._at)
        #: Of each line the last that says the same.
        self._last: _Ints = last[self._codes]
        self._kinds: dict[tuple[int, int], frozenset[int]] = {}

    def _slice(self, begin: int, end: int) -> slice:
        first, stop = np.searchsorted(self._at, (begin, end))
        return slice(int(first), int(stop))

    def all(self, part: tuple[int, int] = (0, 1 << 62)) -> Iterator[tuple[int, int]]:
        """Lines of a part and what they say."""
        where = self._slice(*part)
        return zip(self._at[where].tolist(), self._codes[where].tolist(), strict=True)

    def any(self, begin: int, end: int) -> bool:
        """Whether a line from `begin` on, and before `end`, says something."""
        where = self._slice(begin, end)
        return bool(where.start < where.stop)

    def any_again(self, begin: int, end: int) -> bool:
        """Whether something that is said there is said again from `end` on."""
        return bool(self._last[self._slice(begin, end)].max(initial=-1) >= end)

    def kinds(self, part: tuple[int, int]) -> frozenset[int]:
        """What is said in a part."""
        if part not in self._kinds:
            self._kinds[part] = frozenset(np.unique(self._codes[self._slice(*part)]).tolist())
        return self._kinds[part]

    def most(self, part: tuple[int, int]) -> int:
        """What is said most often in a part that says something."""
        return int(np.bincount(self._codes[self._slice(*part)]).argmax())


class _Stream:
    """One stream in which time jumps, or a name changes.

    Args:
        name: of the stream.
        files: hold its rows.
        zoned: its times say their offset from UTC.
        alone: every row of the files is of this stream.
    """

    def __init__(self, name: str, files: Iterable[Path], zoned: bool, *, alone: bool) -> None:
        self._name, self._zoned = name, zoned
        self._files, self._alone = files, alone
        self._repeats: list[tuple[int, int, int]] = []
        self._is_said_first: pa.Array | None = None
        rows = self._without_repeats(self._read(["path", "event", "category", "component", "group_id", "generation", "message", *_WHO]))
        self._pos: _Ints = rows["stream_pos"].to_numpy().astype(np.int64)
        self._ts: _Ints = rows["ts"].cast(pa.int64()).to_numpy().astype(np.int64)
        self._paths, self._generation, self._groups = (_joined(rows[c]) for c in ("path", "generation", "group_id"))
        #: A JVM's or a client's settings.
        self._settings = _is_in(rows["event"], {"config_dumped"})
        #: Only a process that starts prints these, and of these some are its own word for it.
        self._own_starts = _is_in(rows["event"], _STARTS)
        self._start_lines = _is_in(rows["category"], {"start"}) | self._own_starts | _is_in(rows["component"], _MAINS) & self._settings
        self._broker_names = _is_in(rows["event"], {"broker_starting", "broker_started"})
        self._work = _is_in(rows["category"], _WORK)
        self._memberships = _is_in(rows["event"], {"joined", "synced"})
        #: Lines that tell a group's generation.
        self._rounds = (self._memberships | _is_in(rows["event"], {"group_stabilized"})) & _is_told(rows["generation"]) & _is_told(rows["group_id"])
        self._who = {c: _Said(rows[c]) for c in _WHO}

    def _without_repeats(self, rows: pa.Table) -> pa.Table:
        """The rows without those that stand in the log before."""
        self._repeats = repeats(rows["ts"].cast(pa.int64()).to_numpy(), [_joined(rows[name]) for name in ("event", "message")], JITTER)
        if not self._repeats:
            return rows
        self._read_paths = rows["path"]
        self._read_ts, self._read_pos = (rows[name].cast(pa.int64()).to_numpy() for name in ("ts", "stream_pos"))
        first = np.ones(rows.num_rows, np.bool_)
        for begin, end, _ in self._repeats:
            first[begin:end] = False
        self._is_said_first = pa.array(first)
        return rows.filter(self._is_said_first)

    def _repeated(self) -> Iterator[Stretch]:
        """Lines that stand in the log before."""
        for begin, end, first in self._repeats:
            # What no pattern knows behind the last of them may be new.
            at, to = self._read_pos[begin], self._read_pos[end - 1] + 1
            since = int(self._read_ts[begin - 1])
            until = int(self._read_ts[end]) if end < len(self._read_ts) else None
            jump = int(self._read_ts[end - 1]), until if until is not None else 0
            lines = tuple(found for i in (first, first + 1, begin - 2, begin - 1) if (found := self._read_ids[i].as_py()) is not None)
            yield Stretch(self._name, int(at), int(to), 0, 0, self._name, _REPEATED, self._read_paths[begin].as_py(), jump, until, since, lines)

    def stretches(self) -> list[Stretch]:
        """The stretches; none when there are so many jumps that the lines are in disorder."""
        backs = falls_back(self._ts, SET).tolist()
        segments = self._reordered(backs) or self._segments(backs)
        found = [self._stretch(segments, n) for n, s in enumerate(segments) if n or s.moved or s.until]
        return sorted([*found, *self._repeated()], key=lambda s: s.from_pos)

    def _segments(self, backs: Sequence[int]) -> list[_Segment]:
        """Where lines of another process or zone begin, in a log in which they are as they came."""
        ts = self._ts
        whole = [_Segment(0, 0, 0, "")]
        if sum(not self._starts(i) for i in backs) > _MOST_STRETCHES:
            return whole
        back, renamed = frozenset(backs), self._renamed()
        places = sorted({*backs, *(np.flatnonzero(np.diff(ts) >= HOUR) + 1).tolist(), *renamed})
        segments = whole
        for n, i in enumerate(places):
            last = segments[-1]
            if i - last.begin < 2 or i + 2 > len(ts):
                continue  # one line tells nothing
            end = places[n + 1] if n + 1 < len(places) else len(ts)
            jump = int(ts[i] - ts[i - 1])
            why = self._backwards(last.begin, i, end, -jump) if i in back else ""
            if why == _OTHER or i in renamed and self._follows(last.begin, i, end):
                segments.append(self._other(segments, i, end))
            elif why:
                segments.append(_Segment(i, last.shift + -(jump // _QUARTER) * _QUARTER, last.owner, why))
            elif jump >= HOUR:
                ahead = self._ahead(segments, i, end, jump)
                segments += [ahead] if ahead else []
        if all(s.owner == 0 for s in segments) or any(s.shift for s in segments):
            return segments
        return self._in_runs(in_order(self._parts([s.begin for s in segments], [s.owner for s in segments]), self._ts, SET, SET))

    def _reordered(self, backs: Sequence[int]) -> list[_Segment]:
        """Parts of one process's log that were joined in another order than that of time; empty where nothing tells it.

        What tells it: generations, which go on where a clock was set back, and here go back as the time does; or parts that follow each other at once
        in the order of time. Of small parts some begin hardly before those in front of them.
        """
        slightly = falls_back(self._ts, JITTER).tolist()
        return self._reordered_at(slightly, JITTER) or (self._reordered_at(backs, SET) if backs != slightly else [])

    def _reordered_at(self, backs: Sequence[int], jitter: int) -> list[_Segment]:
        if not 0 < len(backs) < MOST_PARTS:
            return []
        begins = [0, *backs]
        runs = in_order(self._parts(begins, range(len(begins))), self._ts, jitter, _QUARTER, EXACT)
        if len(runs) > 1:
            return []
        timed = np.concatenate([np.arange(p.begin, p.end) for p in runs[0]])
        was, would = (tuple(self._falls(lines, each) for each in (True, False)) for lines in (np.arange(len(self._ts)), timed))
        if would[0] or would[1] > was[1]:
            return []
        between = [int(self._ts[b.begin : b.end].min() - self._ts[a.begin : a.end].max()) for a, b in pairwise(runs[0])]
        # A clock that was set back by little goes over what it has shown: its lines could be sorted, too, but only if they are cut.
        is_one = len(runs[0]) == len(begins) and max(between) <= (SET if len(between) == 1 else EXACT)
        return self._in_runs(runs) if was[0] or would[1] < was[1] or is_one else []

    def _falls(self, lines: _Ints, each_member: bool) -> int:
        """How often a lower generation of a group follows a higher one, in this order of lines; or of a group's member."""
        last: dict[tuple[str, int | None], int] = {}
        falls = 0
        for i in lines[self._rounds[lines]].tolist():
            key = self._groups[i].as_py(), self._member_of.get(i) if each_member else None
            generation = self._generation[i].as_py()
            falls += generation < last.get(key, generation)
            last[key] = generation
        return falls

    @cached_property
    def _member_of(self) -> dict[int, int]:
        """Member that a line names."""
        return dict(self._who["member_id"].all())

    def _parts(self, begins: Sequence[int], owners: Sequence[int]) -> list[Part]:
        ends = [*begins[1:], len(self._ts)]
        members = self._who["member_id"]
        return [Part(b, e, owner, self._names((b, e)), members.kinds((b, e))) for b, e, owner in zip(begins, ends, owners, strict=True)]

    def _in_runs(self, runs: Iterable[Sequence[Part]]) -> list[_Segment]:
        """The segments of processes, each of parts in the order of time."""
        found = []
        for owner, run in enumerate(sorted(runs, key=lambda run: min(p.begin for p in run))):
            moved = moves([self._places(p.begin, p.end) for p in run])
            untils = [*(int(self._ts[p.begin : p.end].min()) for p in run[1:]), None]
            found += [_Segment(p.begin, 0, owner, "", move, until) for p, move, until in zip(run, moved, untils, strict=True)]
        found.sort()
        owners = [found[0].owner, *(s.owner for s in found)]
        return [s._replace(why=_EARLIER if s.moved else _OTHER * (s.owner != before)) for s, before in zip(found, owners, strict=False)]

    def _renamed(self) -> set[int]:
        """Where a JVM begins to start that then goes by another name than the one before."""
        found = set()
        for column in NAMES:
            last, known = -1, -1
            for i, value in self._who[column].all():
                if column == "broker_id" and not self._broker_names[i]:
                    continue
                if last >= 0 and value != known:
                    # Several that start together are one JVM's.
                    between = np.flatnonzero(self._work[last + 1 : i])
                    if len(between):
                        behind = last + 2 + int(between[-1])
                        starts = np.flatnonzero(self._start_lines[behind:i])
                        found.add(behind + int(starts[0]) if len(starts) else i)
                last, known = i, value
        return found

    def _follows(self, begin: int, i: int, end: int) -> bool:
        """Whether there, where a name changes, one log ends and another begins: not so where the two are merged line by line."""
        members = self._who["member_id"]
        return members.any(begin, i) and not members.any_again(begin, i) and self._named((begin, i), (i, end)) is False

    def _starts(self, i: int) -> bool:
        """Whether what follows is the start of a JVM, or of a client that is all that the log has."""
        if self._who["worker_url"].any(0, len(self._ts)) or not self._settings[i : i + 3].any():
            telling = np.flatnonzero(self._start_lines[i : i + 30] | self._work[i : i + 30])
            return bool(len(telling) and self._start_lines[i + int(telling[0])])
        return True

    def _other(self, segments: Sequence[_Segment], i: int, end: int) -> _Segment:
        """The lines from there on as those of another process: of an earlier one that goes on, or a new one."""
        return self._earlier(segments, i, end) or _Segment(i, 0, max(s.owner for s in segments) + 1, _OTHER)

    def _earlier(self, segments: Sequence[_Segment], i: int, end: int) -> _Segment | None:
        """The process of an earlier segment, if it goes on there."""
        for n in range(len(segments) - 2, -1, -1):
            begin, shift, owner, *_ = segments[n]
            stop = segments[n + 1].begin
            if owner != segments[-1].owner and self._ts[stop - 1] <= self._ts[i] and self._alike((begin, stop), (i, end)):
                return _Segment(i, shift, owner, _OTHER)
        return None

    def _names(self, part: tuple[int, int]) -> frozenset[tuple[str, int]]:
        """What the process of a part is called."""
        for column in NAMES:
            said = self._who[column]
            if said.any(*part):
                # Brokers name each other; most lines are of their own.
                return frozenset((column, name) for name in ([said.most(part)] if column == "broker_id" else said.kinds(part)))
        return frozenset()

    def _places(self, begin: int, end: int) -> tuple[int, int]:
        """From which position on, and before which one, the lines of a part stand."""
        first = int(self._pos[begin]) if begin else int(self._pos[0]) >> FILE_BITS << FILE_BITS
        return first, int(self._pos[end]) if end < len(self._pos) else (int(self._pos[-1]) >> FILE_BITS) + 1 << FILE_BITS

    def _stretch(self, segments: Sequence[_Segment], n: int) -> Stretch:
        begin, shift, owner, why, moved, until = segments[n]
        first, end = self._places(begin, segments[n + 1].begin if n + 1 < len(segments) else len(self._ts))
        name = self._name if not owner else f"{self._name}#{owner + 1}"
        jump = int(self._ts[max(begin - 1, 0)]), int(self._ts[begin])
        before = reversed(self._kept(range(begin - 1, -1, -1)))
        behind = self._kept(range(begin, len(self._ts)))
        lines = (*before, *behind)
        return Stretch(self._name, first, end, shift, moved, name, why, self._paths[begin].as_py(), jump, until, None, lines)

    def _read(self, columns: Sequence[str]) -> pa.Table:
        """Some columns of the stream's lines that have a time, in their order."""
        return _in_order(_table(self._files, ["stream_pos", "ts", *columns], None if self._alone else pc.field("process_id") == self._name))

    @cached_property
    def _read_ids(self) -> pa.ChunkedArray:
        """Ids of the lines' events, of those that are repeated, too: most streams have no stretch, and need none of them."""
        return self._read(["event_id"])["event_id"]

    @cached_property
    def _ids(self) -> pa.ChunkedArray:
        """The same of the lines that are not repeated."""
        return self._read_ids if self._is_said_first is None else self._read_ids.filter(self._is_said_first)

    def _kept(self, lines: Iterable[int]) -> list[str]:
        """The first two events of lines; a line that is only counted is none."""
        return list(islice((found for i in lines if (found := self._ids[i].as_py()) is not None), 2))

    def _backwards(self, begin: int, i: int, end: int, back: int) -> str:
        """What a jump back is; empty: a clock that was set."""
        by = -(-back // _QUARTER) * _QUARTER
        # A day is no zone's.
        is_zone = back >= _LEAST and by <= _MOST and by != 24 * HOUR and not self._zoned
        is_exact = is_zone and by - back <= EXACT
        alike = self._alike((begin, i), (i, end))
        # A clock that is set back goes over what it has shown already; files in the wrong order do not.
        is_before = bool(self._ts[i:end].max() <= self._ts[begin:i].min())
        if self._starts(i):
            if not (alike and self._named((begin, i), (i, end))):
                return _OTHER
            if self._continued((begin, i), (i, end)):
                return "time_zone" if is_exact else ""
            return "" if back < _LEAST and not is_before else _OTHER
        if alike is False or is_before and (self._undone((begin, i), (i, end)) or alike is None and not is_exact):
            return _OTHER
        if alike:
            # A JVM keeps its zone, but for daylight saving: an exact jump is the machine's, set from one zone to another.
            return "" if not is_exact else "daylight_saving" if by in (HOUR, HOUR // 2) and self._is_change(i) else "time_zone"
        if is_exact and by == HOUR and self._is_change(i):
            return "daylight_saving"
        return _OTHER if is_exact or back > HOUR else ""

    def _ahead(self, segments: Sequence[_Segment], i: int, end: int, jump: int) -> _Segment | None:
        """The segment that begins with a jump ahead; None: a pause."""
        last = segments[-1]
        if not self._alike((last.begin, i), (i, end)):
            earlier = self._earlier(segments, i, end)
            if earlier:
                return earlier
        for _, before, whose, *_ in segments[:-1]:
            passed = jump - (last.shift - before)
            is_near = self._is_change(i) or self._ts[i] - self._ts[last.begin] < 2 * HOUR
            if whose == last.owner and before < last.shift and -EXACT <= passed <= EXACT and is_near:
                return _Segment(i, before, whose, "daylight_saving")
        return _Segment(i, last.shift - HOUR, last.owner, "daylight_saving") if self._summer(i, jump) else None

    def _summer(self, i: int, jump: int) -> bool:
        """Whether a jump ahead by an hour is the beginning of summer time: at its moment, in the midst of lines, and no start of a JVM."""
        if self._zoned:
            return False
        near = i >= 2 and self._ts[i - 1] - self._ts[i - 2] < 5 * EXACT and self._ts[i + 1] - self._ts[i] < 5 * EXACT
        return bool(near and HOUR <= jump <= HOUR + EXACT and self._is_change(i) and not self._own_starts[i])

    def _is_change(self, i: int) -> bool:
        """Whether local time jumps in a night of a weekend of spring or autumn, at a full hour."""
        before, after = (datetime.fromtimestamp(int(t) / SECOND, UTC) for t in (self._ts[i - 1], self._ts[i]))
        return after.minute == 0 and before.minute >= 58 and before.hour <= 3 and before.month in (3, 4, 9, 10, 11) and before.weekday() >= 4

    def _alike(self, one: tuple[int, int], other: tuple[int, int]) -> bool | None:
        """Whether two parts of the stream are of one process, by what names it in both; None: nothing does."""
        told = self._named(one, other)
        if told is not None:
            return told
        a, b = (self._who["member_id"].kinds(part) for part in (one, other))
        return not a.isdisjoint(b) if a and b else None

    def _named(self, one: tuple[int, int], other: tuple[int, int]) -> bool | None:
        """Whether two parts of the stream go by one name; None: one of them has none."""
        for column in NAMES:
            said = self._who[column]
            if said.any(*one) and said.any(*other):
                # Brokers name each other; most lines are of their own.
                return said.most(one) == said.most(other) if column == "broker_id" else not said.kinds(one).isdisjoint(said.kinds(other))
        return None

    def _continued(self, one: tuple[int, int], other: tuple[int, int]) -> bool:
        """Whether each group that has generations in both parts has higher ones in the second: it is the later one."""
        lowest, highest = ({}, {})  # type: dict[str, int], dict[str, int]
        for part, found, take in ((one, highest, max), (other, lowest, min)):
            for i in (part[0] + np.flatnonzero(self._rounds[part[0] : part[1]])).tolist():
                group, generation = self._groups[i].as_py(), self._generation[i].as_py()
                found[group] = take(found.get(group, generation), generation)
        shared = highest.keys() & lowest.keys()
        return bool(shared) and all(highest[g] < lowest[g] for g in shared)

    def _undone(self, one: tuple[int, int], other: tuple[int, int]) -> bool:
        """Whether a member that both parts name has lower generations in the second: it is the earlier one."""
        first, second = ({}, {})  # type: dict[int, int], dict[int, int]
        for found, part, take in ((first, one, min), (second, other, max)):
            for i, member in self._who["member_id"].all(part):
                generation = self._generation[i].as_py() if self._memberships[i] else None
                if generation is not None:
                    found[member] = take(found.get(member, generation), generation)
        return any(second[m] < first[m] for m in first.keys() & second.keys())


class _Spans:
    """First and last time of each stretch, and of what is left of each file that has one."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, int], tuple[int, int]] = {}

    def see(self, name: str, place: int, times: pa.ChunkedArray) -> None:
        """Takes note of times, which may be NULL."""
        found = pc.min_max(times).as_py()
        if found["min"] is not None:
            low, high = self._known.get((name, place), (found["min"], found["max"]))
            self._known[name, place] = min(low, found["min"]), max(high, found["max"])

    def of(self, name: str, place: int) -> tuple[int, int] | None:
        """First and last time; None when there is none."""
        return self._known.get((name, place))


def _rewrite(file: Path, found: Sequence[Stretch], spans: _Spans) -> None:
    """Moves the rows of stretches in one file, takes those away that are repeated, and takes note of the times."""
    table = pq.read_table(file)
    printed = table["ts"].cast(pa.int64())
    ts, process, pos, left = printed, table["process_id"], table["stream_pos"], pa.chunked_array([pa.array([True] * table.num_rows)])
    again = pc.invert(left)
    for s in sorted(found, key=lambda s: s.why != _REPEATED):
        here = pc.and_(pc.greater_equal(table["stream_pos"], s.from_pos), pc.less(table["stream_pos"], s.to_pos))
        mine = pc.fill_null(pc.and_(pc.equal(table["process_id"], s.process_id), here), False)  # noqa: FBT003  (Arrow's own form)
        if s.why == _REPEATED:
            again = pc.or_(again, mine)
        else:
            mine = pc.and_not(mine, again)
            ts = pc.if_else(mine, pc.add(printed, s.shift_us), ts)
            process = pc.if_else(mine, s.owner, process)
            pos = pc.if_else(mine, pc.add(pos, s.moved), pos)
        left = pc.and_not(left, mine)
        spans.see(s.process_id, s.from_pos, ts.filter(mine))
    for path in {s.path for s in found}:
        spans.see(path, -1, printed.filter(pc.and_(left, pc.equal(table["path"], path))))
    for name, values in (("ts", ts), ("process_id", process), ("stream_pos", pos)):
        place = table.schema.get_field_index(name)
        table = table.set_column(place, table.schema.field(place), values.cast(table.schema.field(place).type))
    pq.write_table(table.filter(pc.invert(again)), file, compression="zstd", compression_level=1)


def _ranges(ranges: Sequence[Mapping[str, Any]], found: Sequence[Stretch], spans: _Spans) -> list[dict[str, Any]]:
    """Rows of `range_row` in which each stretch has its own: its times, its silences, and how it was found."""
    result: list[dict[str, Any]] = []
    for row in sorted(ranges, key=lambda r: (r["path"], r["range_start"])):
        mine = [s for s in found if s.path == row["path"]]
        if not mine or row["first_ts"] is None:
            result.append(dict(row))
            continue
        repeated = [s for s in mine if s.why == _REPEATED and row["range_start"] < s.begin <= row["range_end"]]
        mine = [s for s in mine if s.why != _REPEATED]
        begun = [s for s in mine if s.begin <= row["range_start"]][-1:]
        here = [s for s in mine if row["range_start"] < s.begin <= row["range_end"]]
        silences = _silences(row["gaps"] or [], begun, here, repeated)
        left = spans.of(begun[0].process_id, begun[0].from_pos) if begun else spans.of(row["path"], -1)
        first, last = (max(row["first_ts"], left[0]), min(row["last_ts"], left[1])) if left else (1, 0)
        told = {"first_ts": first, "last_ts": last} if first <= last else {"first_ts": None, "last_ts": None}
        result.append({**row, **told, "process_id": begun[0].owner if begun else row["process_id"], "gaps": silences.pop(0)})
        for s, gaps in (*zip(here, silences, strict=True), *((s, []) for s in repeated)):
            span = spans.of(s.process_id, s.from_pos)
            if span is not None:
                ended = s.since if s.since is not None else span[1]
                if s.until is not None and s.until - ended > GAP_US:
                    gaps.append({"from_ts": ended, "to_ts": s.until})
                told = {"first_ts": span[0], "last_ts": span[1], "gaps": gaps}
                how = {"shift_ms": s.shift_us // 1000, "shift_why": s.why, "shift_ids": list(s.lines)} if s.why else {}
                result.append({**row, **_NOTHING, "process_id": s.owner, "range_start": s.begin, **told, **how})
    return result


#: Counts are of the file, and stand in the row of its range.
_NOTHING: dict[str, Any] = {
    "lines": 0,
    "records": 0,
    "events": 0,
    "counted": 0,
    "unrecognised": 0,
    "unfit": 0,
    "unfit_line": None,
    "unfit_text": None,
    "layouts": [],
    "error": "",
}


def _silences(
    gaps: Sequence[Mapping[str, int]], begun: Sequence[Stretch], here: Sequence[Stretch], repeated: Sequence[Stretch]
) -> list[list[dict[str, int]]]:
    """Gaps of the stretch that had begun, if any, then of each that begins here. The jumps between them are none."""
    told: list[list[dict[str, int]]] = [[] for _ in range(len(here) + 1)]
    at, shift = 0, begun[0].shift_us if begun else 0
    for gap in gaps:
        if any(_is_at(s.jump, gap, min(_QUARTER, abs(s.jump[1] - s.jump[0]) // 4)) for s in repeated):
            continue
        jumped = next((n for n in range(at, len(here)) if _is_at(here[n].jump, gap, _QUARTER)), None)
        if jumped is not None:
            at, shift = jumped + 1, here[jumped].shift_us
        else:
            told[at].append({"from_ts": gap["from_ts"] + shift, "to_ts": gap["to_ts"] + shift})
    return told


def _is_at(jump: tuple[int, int], gap: Mapping[str, int], within: int) -> bool:
    """Whether a gap between records is a jump between events, of which there are fewer."""
    return abs(gap["from_ts"] - jump[0]) < within and abs(gap["to_ts"] - jump[1]) < within


def _silent(gaps: Sequence[Mapping[str, int]]) -> list[dict[str, int]]:
    """Gaps in which nothing was printed. A step back in time is none, nor is the step ahead that it takes back; one line alone had a wrong time."""
    told: list[tuple[int, int]] = []
    back = (0, 0)
    for begin, end in ((gap["from_ts"], gap["to_ts"]) for gap in gaps):
        if begin > end:
            back = begin, end
            at = next((n for n in reversed(range(len(told))) if told[n][0] <= end), None)
            if at is not None and end < told[at][1]:
                told[at : at + 1] = [(told[at][0], end)] * (told[at][1] == begin)
        elif begin == back[1] and end >= back[0]:
            told.append((back[0], end))
        else:
            told.append((begin, end))
    return [{"from_ts": begin, "to_ts": end} for begin, end in dict.fromkeys(told) if end - begin > GAP_US]
