"""The lines of one stream that have a time, as columns: what they say of their process, and where they stand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import islice
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from forensics.extract.jump_signs import NAMES
from forensics.extract.splits import FILE_BITS
from forensics.records.vectorized.buffers import Ints
from forensics.schema import table_schema

_STARTS = frozenset({"process_started", "process_initializing", "herder_starting", "broker_starting", "connect_starting"})
#: Whose settings a JVM prints once, when it starts.
_MAINS = frozenset({"DistributedConfig", "StandaloneConfig", "KafkaConfig"})
#: What no process says while it starts, but only after it.
_WORK = frozenset({"membership", "assignment", "task", "connector", "coordinator", "broker_group"})
_WHO = (*NAMES, "member_id")
#: In which a leader names the members that it assigns to.
_OF_OTHERS = frozenset({"leader_assigning", "leader_assigned", "leader_revocations_impossible", "assignment_conflict"})
#: Each of these tells one client of a process from another.
CLIENT = ("thread", "context", "client_id", "task")
#: What lines have in common that say the same.
SAID = ("event", "message", *CLIENT)
_COLUMNS = ("stream_pos", "ts", "path", "category", "component", "group_id", "generation", *SAID, *_WHO)
_Bools = npt.NDArray[np.bool_]


class StreamLines:
    """Lines of one stream, in their order. A part of them is two numbers: its first line, and the one behind its last.

    Args:
        name: of the stream.
        rows: of the lines.
        ids: gives the ids of their events, where there are any.
    """

    def __init__(self, name: str, rows: pa.Table, ids: Callable[[], pa.ChunkedArray]) -> None:
        self.name, self._rows, self._find_ids = name, rows, ids

    @classmethod
    def read(cls, name: str, files: Iterable[Path], *, alone: bool) -> StreamLines:
        """The lines of a stream.

        Args:
            name: of the stream.
            files: hold its rows.
            alone: every row of the files is of this stream.
        """

        def some(columns: Sequence[str]) -> pa.Table:
            return in_order(rows_of(files, columns, None if alone else pc.field("process_id") == name))

        # Most streams have no stretch, and need none of the ids.
        return cls(name, some(_COLUMNS), lambda: some(["stream_pos", "ts", "event_id"])["event_id"])

    def without(self, parts: Iterable[tuple[int, int]]) -> StreamLines:
        """The lines that are in none of some parts."""
        here = np.ones(len(self.ts), np.bool_)
        for begin, end in parts:
            here[begin:end] = False
        if here.all():
            return self
        left = pa.array(here)
        return StreamLines(self.name, self._rows.filter(left), lambda: self._ids.filter(left))

    @cached_property
    def pos(self) -> Ints:
        """Their positions in the stream."""
        return _numbers(self._rows["stream_pos"])

    @cached_property
    def ts(self) -> Ints:
        """Their times, microseconds UTC."""
        return _numbers(self._rows["ts"].cast(pa.int64()))

    def column(self, name: str) -> pa.Array:
        """What each of them says of one thing."""
        return joined(self._rows[name])

    @cached_property
    def paths(self) -> pa.Array:
        """Files in which they stand."""
        return self.column("path")

    @cached_property
    def generations(self) -> pa.Array:
        """Generations that they name."""
        return self.column("generation")

    @cached_property
    def groups(self) -> pa.Array:
        """Groups that they name."""
        return self.column("group_id")

    @cached_property
    def settings(self) -> _Bools:
        """Which of them are a JVM's or a client's settings."""
        return _is_in(self._rows["event"], {"config_dumped"})

    @cached_property
    def own_starts(self) -> _Bools:
        """Which of them are a process's own word that it starts."""
        return _is_in(self._rows["event"], _STARTS)

    @cached_property
    def start_lines(self) -> _Bools:
        """Which of them only a process prints that starts."""
        return _is_in(self._rows["category"], {"start"}) | self.own_starts | _is_in(self._rows["component"], _MAINS) & self.settings

    @cached_property
    def broker_names(self) -> _Bools:
        """In which of them a broker says its own id."""
        return _is_in(self._rows["event"], {"broker_starting", "broker_started"})

    @cached_property
    def work(self) -> _Bools:
        """Which of them are of work that a process does once it has started."""
        return _is_in(self._rows["category"], _WORK)

    @cached_property
    def memberships(self) -> _Bools:
        """In which of them a member says that it has joined."""
        return _is_in(self._rows["event"], {"joined", "synced"})

    @cached_property
    def rounds(self) -> _Bools:
        """Which of them tell a group's generation."""
        told = _is_told(self._rows["generation"]) & _is_told(self._rows["group_id"])
        return (self.memberships | _is_in(self._rows["event"], {"group_stabilized"})) & told

    @cached_property
    def who(self) -> dict[str, Said]:
        """What they say of each thing that tells whose they are."""
        own = ~_is_in(self._rows["event"], _OF_OTHERS)
        return {name: Said(self._rows[name], own if name == "member_id" else None) for name in _WHO}

    @cached_property
    def member_of(self) -> dict[int, int]:
        """Member that a line names."""
        return dict(self.who["member_id"].all())

    def names(self, part: tuple[int, int]) -> frozenset[tuple[str, int]]:
        """What the process of a part is called."""
        for column in NAMES:
            said = self.who[column]
            if said.any(*part):
                # Brokers name each other; most lines are of their own.
                return frozenset((column, name) for name in ([said.most(part)] if column == "broker_id" else said.kinds(part)))
        return frozenset()

    def places(self, begin: int, end: int) -> tuple[int, int]:
        """From which position on, and before which one, the lines of a part stand."""
        first = int(self.pos[begin]) if begin else int(self.pos[0]) >> FILE_BITS << FILE_BITS
        return first, int(self.pos[end]) if end < len(self.pos) else (int(self.pos[-1]) >> FILE_BITS) + 1 << FILE_BITS

    def alike(self, one: tuple[int, int], other: tuple[int, int]) -> bool | None:
        """Whether two parts of the stream are of one process, by what names it in both; None: nothing does."""
        told = self.named(one, other)
        if told is not None:
            return told
        a, b = (self.who["member_id"].kinds(part) for part in (one, other))
        return not a.isdisjoint(b) if a and b else None

    def named(self, one: tuple[int, int], other: tuple[int, int]) -> bool | None:
        """Whether two parts of the stream go by one name; None: one of them has none."""
        for column in NAMES:
            said = self.who[column]
            if said.any(*one) and said.any(*other):
                # Brokers name each other; most lines are of their own.
                return said.most(one) == said.most(other) if column == "broker_id" else not said.kinds(one).isdisjoint(said.kinds(other))
        return None

    @cached_property
    def _ids(self) -> pa.ChunkedArray:
        return self._find_ids()

    def events(self, which: Iterable[int], most: int | None = None) -> tuple[str, ...]:
        """The first events of some lines; a line that is only counted is none."""
        return tuple(islice((found for i in which if (found := self._ids[i].as_py()) is not None), most))


def rows_of(files: Iterable[Path], columns: Sequence[str], condition: pc.Expression | None = None) -> pa.Table:
    """Some columns of files together; those that a file has not are empty."""
    types = {field.name: field.type for field in table_schema("event_row")}
    # What repeats stays a dictionary, as it is in the file; of ids there are no two alike.
    repeated = [c for c in columns if types[c] == pa.string() and c != "event_id"]
    none = {c: pa.array([], pa.dictionary(pa.int32(), types[c]) if c in repeated else types[c]) for c in columns}

    def read(file: Path) -> pa.Table:
        told = pq.read_metadata(file)
        names = set(told.schema.to_arrow_schema().names)
        there = [c for c in columns if c in names]
        if condition is not None:
            return pq.read_table(file, columns=there, read_dictionary=repeated, filters=condition)
        with pq.ParquetFile(file, metadata=told, read_dictionary=[c for c in repeated if c in names]) as opened:
            return opened.read(there)

    with ThreadPoolExecutor() as pool:
        whole = pa.concat_tables([pa.table(none), *pool.map(read, files)], promote_options="default")
    return whole.select(columns).unify_dictionaries()


def in_order(rows: pa.Table) -> pa.Table:
    """Rows that have a time, by their place in the stream."""
    if rows["ts"].null_count:
        rows = rows.filter(pc.is_valid(rows["ts"]))
    # Each file's rows are in order: to merge such runs is quicker than any other way of sorting.
    return rows.take(pa.array(np.argsort(rows["stream_pos"].to_numpy(), kind="stable")))


def joined(column: pa.ChunkedArray) -> pa.Array:
    """A column in one piece."""
    return column.combine_chunks() if column.num_chunks else pa.array([], column.type)


def codes_of(column: pa.Array) -> Ints:
    """A number for each value of a column, the same for the same; -1 for none."""
    codes = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    found: Ints = codes.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    return found


def _numbers(column: pa.ChunkedArray) -> Ints:
    """A column without NULL as it is computed with."""
    found: Ints = column.to_numpy().astype(np.int64)
    return found


def _is_in(column: pa.ChunkedArray, values: Iterable[str]) -> npt.NDArray[np.bool_]:
    """Which rows have one of these values."""
    whole = joined(column)
    wanted = np.flatnonzero(np.isin(np.array(whole.dictionary.to_pylist(), object), sorted(values)))
    found: npt.NDArray[np.bool_] = np.isin(codes_of(whole), wanted)
    return found


def _is_told(column: pa.ChunkedArray) -> npt.NDArray[np.bool_]:
    """Which rows have a value."""
    told: npt.NDArray[np.bool_] = pc.is_valid(column).to_numpy().astype(np.bool_)
    return told


class Said:
    """What lines of a stream say of one thing, as numbers for its values: most say nothing, and long parts are asked for again and again.

    Args:
        column: what each of them says.
        which: those that count; all by default.
    """

    def __init__(self, column: pa.ChunkedArray, which: _Bools | None = None) -> None:
        values = joined(column)
        told = values.is_valid().to_numpy(zero_copy_only=False)
        told = told if which is None else told & which
        self._at: Ints = np.flatnonzero(told).astype(np.int64)
        codes = values.filter(pa.array(told))
        codes = codes if pa.types.is_dictionary(codes.type) else codes.dictionary_encode()
        self._codes: Ints = codes.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        last = np.zeros(len(codes.dictionary), np.int64)
        np.maximum.at(last, self._codes, self._at)
        #: Of each line the last that says the same.
        self._last: Ints = last[self._codes]
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
