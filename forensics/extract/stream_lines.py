"""Hold the lines of one stream that have a time, as columns: their contents, which identify their process, and their positions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, lru_cache
from itertools import islice
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from forensics.extract.splits import FILE_BITS
from forensics.extract.stream_summaries import CONTENT_COLUMNS, NAMES, codes_of, joined
from forensics.records.vectorized.buffers import Ints
from forensics.schema import table_schema

_STARTS = frozenset({"process_started", "process_initializing", "herder_starting", "broker_starting", "connect_starting"})
#: Settings that a JVM prints once, when it starts.
_MAINS = frozenset({"DistributedConfig", "StandaloneConfig", "KafkaConfig"})
#: Categories of lines that no process prints before it has started.
_WORK = frozenset({"membership", "assignment", "task", "connector", "coordinator", "broker_group"})
_WHO = (*NAMES, "member_id")
#: Events in which a leader names the members to which it assigns.
_OF_OTHERS = frozenset({"leader_assigning", "leader_assigned", "leader_revocations_impossible", "assignment_conflict"})
_COLUMNS = ("stream_pos", "ts", "event", "path", "category", "component", "group_id", "generation", *_WHO)
#: Streams in files with at most this many rows are read together, because reading takes longer for each stream than for each row.
_FEW_ROWS = 1_000_000
_Bools = npt.NDArray[np.bool_]


def _marked(column: str, values: AbstractSet[str]) -> cached_property[_Bools]:
    """Return a property that is True for each line with one of these values."""
    return cached_property(lambda lines: _is_in(lines.column(column), values))


class StreamLines:
    """Lines of one stream, in their order. A part of them is a pair of numbers: its first line, and the line after its last.

    Args:
        name: the name of the stream.
        rows: rows of the lines.
        more: returns other columns of them.
    """

    def __init__(self, name: str, rows: pa.Table, more: Callable[[Sequence[str]], pa.Table]) -> None:
        self.name, self._rows, self._more = name, rows, more

    @classmethod
    def read(cls, names: Sequence[str], files: Sequence[Path], *, alone: bool) -> Iterator[StreamLines]:
        """Yield the lines of some streams.

        Args:
            names: the names of the streams.
            files: hold their rows; several streams are read together if these are few.
            alone: True if every row of the files belongs to one stream.
        """
        for some in batches(names, files):

            def read(columns: tuple[str, ...], some: Sequence[str] = some) -> dict[str, pa.Table]:
                return rows_by("process_id", some, files, columns, alone=alone)

            # Most streams have no repair and need neither the IDs nor the messages.
            kept = lru_cache(2 if len(some) > 1 else 0)(read)
            for name, rows in read(_COLUMNS).items():
                yield cls(name, rows, lambda columns, name=name, kept=kept: kept(("stream_pos", "ts", *columns))[name])  # type: ignore[misc]

    def without(self, parts: Iterable[tuple[int, int]]) -> StreamLines:
        """Return the lines that are in none of the given parts."""
        here = np.ones(len(self.ts), np.bool_)
        for begin, end in parts:
            here[begin:end] = False
        if here.all():
            return self
        left = pa.array(here)
        return StreamLines(self.name, self._rows.filter(left), lambda columns: self._more(columns).filter(left))

    @cached_property
    def pos(self) -> Ints:
        """Return the positions of the lines in the stream."""
        return _numbers(self._rows["stream_pos"])

    @cached_property
    def ts(self) -> Ints:
        """Return the times of the lines, microseconds UTC."""
        return _numbers(self._rows["ts"].cast(pa.int64()))

    def column(self, name: str) -> pa.Array:
        """Return one column of the lines."""
        return joined(self._rows[name])

    def contents(self) -> list[pa.Array]:
        """Return columns that are equal for lines with the same content."""
        rows = self._more(CONTENT_COLUMNS)
        return [joined(rows[name]) for name in CONTENT_COLUMNS]

    paths = cached_property(lambda self: self.column("path"))
    generations = cached_property(lambda self: self.column("generation"))
    groups = cached_property(lambda self: self.column("group_id"))
    #: Lines that begin the settings of a JVM or a client.
    settings = _marked("event", {"config_dumped"})
    #: Lines that a process logs when it starts.
    own_starts = _marked("event", _STARTS)
    #: Lines in which a broker prints its own ID.
    broker_names = _marked("event", {"broker_starting", "broker_started"})
    #: Lines that a Connect worker logs when it has stopped.
    stops = _marked("event", {"worker_stopped", "herder_stopped", "process_stopped"})
    #: Lines about work that a process does only after it has started.
    work = _marked("category", _WORK)
    #: Lines that a member logs when it has joined.
    memberships = _marked("event", {"joined", "synced"})

    @cached_property
    def start_lines(self) -> _Bools:
        """Return True for each line that only a starting process prints."""
        return _is_in(self.column("category"), {"start"}) | self.own_starts | _is_in(self.column("component"), _MAINS) & self.settings

    @cached_property
    def rounds(self) -> _Bools:
        """Return True for each line with a generation of a group."""
        known = _has_value(self._rows["generation"]) & _has_value(self._rows["group_id"])
        return (self.memberships | _is_in(self.column("event"), {"group_stabilized"})) & known

    @cached_property
    def who(self) -> dict[str, StreamColumn]:
        """Return the contents of each column that identifies the process or client of a line."""
        own = ~_is_in(self.column("event"), _OF_OTHERS)
        return {name: StreamColumn(self._rows[name], own if name == "member_id" else None) for name in _WHO}

    @cached_property
    def member_of(self) -> dict[int, int]:
        """Return the member that each line names, by line."""
        return dict(self.who["member_id"].all())

    def names(self, part: tuple[int, int]) -> frozenset[tuple[str, int]]:
        """Return the names that the process of a part has."""
        return next((frozenset((column, name) for name in self._named(column, part)) for column in NAMES if self.who[column].any(*part)), frozenset())

    def _named(self, column: str, part: tuple[int, int]) -> frozenset[int]:
        """Return the values of a column by which the process of a part is known."""
        values = self.who[column]
        # Brokers name each other, but most of a broker's lines are about itself.
        return frozenset((values.most_frequent(part),)) if column == "broker_id" else values.kinds(part)

    def places(self, begin: int, end: int) -> tuple[int, int]:
        """Return the first position of a part, and the first position after it."""
        first = int(self.pos[begin]) if begin else int(self.pos[0]) >> FILE_BITS << FILE_BITS
        return first, int(self.pos[end]) if end < len(self.pos) else (int(self.pos[-1]) >> FILE_BITS) + 1 << FILE_BITS

    def is_one_process(self, one: tuple[int, int], other: tuple[int, int]) -> bool | None:
        """Return whether two parts of the stream belong to one process, by the identities in both; None if they have none in common."""
        same_name = self.named(one, other)
        if same_name is not None:
            return same_name
        a, b = (self.who["member_id"].kinds(part) for part in (one, other))
        return not a.isdisjoint(b) if a and b else None

    def named(self, one: tuple[int, int], other: tuple[int, int]) -> bool | None:
        """Return whether two parts of the stream have the same name; None if one of them has no name."""
        shared = (column for column in NAMES if self.who[column].any(*one) and self.who[column].any(*other))
        return next((not self._named(column, one).isdisjoint(self._named(column, other)) for column in shared), None)

    @cached_property
    def _ids(self) -> pa.ChunkedArray:
        return self._more(["event_id"])["event_id"]

    def events(self, which: Iterable[int], most_frequent: int | None = None) -> tuple[str, ...]:
        """Return the IDs of the first events among the given lines; a line that is only counted has none."""
        return tuple(islice((found for i in which if (found := self._ids[i].as_py()) is not None), most_frequent))


def rows_of(files: Iterable[Path], columns: Sequence[str], condition: pc.Expression | None = None) -> pa.Table:
    """Read some columns of several files into one table; a column that a file does not have is NULL."""
    types = {field.name: field.type for field in table_schema("event_row")}
    # Repeated values stay a dictionary, as in the file. IDs are unique.
    repeated = [c for c in columns if types[c] == pa.string() and c != "event_id"]
    none = {c: pa.array([], pa.dictionary(pa.int32(), types[c]) if c in repeated else types[c]) for c in columns}

    def read(file: Path) -> pa.Table:
        metadata = pq.read_metadata(file)
        names = set(metadata.schema.to_arrow_schema().names)
        there = [c for c in columns if c in names]
        if condition is not None:
            return pq.read_table(file, columns=there, read_dictionary=repeated, filters=condition)
        with pq.ParquetFile(file, metadata=metadata, read_dictionary=[c for c in repeated if c in names]) as opened:
            return opened.read(there)

    with ThreadPoolExecutor() as pool:
        whole = pa.concat_tables([pa.table(none), *pool.map(read, files)], promote_options="default")
    return whole.select(columns).unify_dictionaries()


def batches(values: Sequence[str], files: Iterable[Path]) -> Iterator[Sequence[str]]:
    """Yield streams, or paths, whose rows are read together: all if the files have few rows, else one after the other."""
    size = len(values) if sum(pq.read_metadata(file).num_rows for file in files) <= _FEW_ROWS else 1
    yield from (values[first : first + size] for first in range(0, len(values), size or 1))


def rows_by(by: str, values: Sequence[str], files: Iterable[Path], columns: Sequence[str], *, alone: bool = False) -> dict[str, pa.Table]:
    """Return the rows with each of some values in the column `by`, in the order of `in_order`; if `alone`, all rows have the only value."""
    if len(values) == 1:
        return {values[0]: in_order(rows_of(files, columns, None if alone else pc.field(by) == values[0]))}
    rows = in_order(rows_of(files, list(dict.fromkeys([by, *columns])), pc.field(by).isin(values)))
    names, codes = joined(rows[by]).dictionary.to_pylist(), codes_of(joined(rows[by]))
    rows, ends = rows.take(pa.array(np.argsort(codes, kind="stable"))), np.cumsum(np.bincount(codes, minlength=len(names))).tolist()
    return {name: rows.slice(begin, end - begin) for name, begin, end in zip(names, [0, *ends], ends, strict=False) if end > begin}


def in_order(rows: pa.Table) -> pa.Table:
    """Return the rows that have a time, in the order of their positions in the stream."""
    if rows["ts"].null_count:
        rows = rows.filter(pc.is_valid(rows["ts"]))
    # The rows of each file are already in order: merging such runs is faster than any other sort.
    return rows.take(pa.array(np.argsort(rows["stream_pos"].to_numpy(), kind="stable")))


def _numbers(column: pa.ChunkedArray) -> Ints:
    """Return a column without NULL as numbers to compute with."""
    found: Ints = column.to_numpy().astype(np.int64)
    return found


def _is_in(column: pa.DictionaryArray, values: Iterable[str]) -> _Bools:
    """Return for each row whether it has one of these values."""
    wanted = np.flatnonzero(np.isin(np.array(column.dictionary.to_pylist(), object), sorted(values)))
    found: _Bools = np.isin(codes_of(column), wanted)
    return found


def _has_value(column: pa.ChunkedArray) -> npt.NDArray[np.bool_]:
    """Return for each row whether it has a value."""
    known: npt.NDArray[np.bool_] = pc.is_valid(column).to_numpy().astype(np.bool_)
    return known


class StreamColumn:
    """One column of a stream's lines, as numbers for its values. Most lines have no value, and long parts are queried repeatedly.

    Args:
        column: value of each line.
        which: True for the lines to consider; all by default.
    """

    def __init__(self, column: pa.ChunkedArray, which: _Bools | None = None) -> None:
        values = joined(column)
        known = values.is_valid().to_numpy(zero_copy_only=False)
        known = known if which is None else known & which
        self._at: Ints = np.flatnonzero(known).astype(np.int64)
        codes = values.filter(pa.array(known))
        codes = codes if pa.types.is_dictionary(codes.type) else codes.dictionary_encode()
        self._codes: Ints = codes.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        last = np.zeros(len(codes.dictionary), np.int64)
        np.maximum.at(last, self._codes, self._at)
        #: For each line with a value, the last line that has the same one.
        self._last: Ints = last[self._codes]
        self._kinds: dict[tuple[int, int], frozenset[int]] = {}

    def _slice(self, begin: int, end: int) -> slice:
        first, stop = self._at.searchsorted((begin, end))
        return slice(int(first), int(stop))

    def all(self, part: tuple[int, int] = (0, 1 << 62)) -> Iterator[tuple[int, int]]:
        """Yield the lines of a part that have a value, and the value."""
        where = self._slice(*part)
        return zip(self._at[where].tolist(), self._codes[where].tolist(), strict=True)

    def any(self, begin: int, end: int) -> bool:
        """Return True if a line from `begin` to before `end` has a value."""
        where = self._slice(begin, end)
        return bool(where.start < where.stop)

    def any_recurs(self, begin: int, end: int) -> bool:
        """Return True if a value in this part occurs again from `end` on."""
        return bool(self._last[self._slice(begin, end)].max(initial=-1) >= end)

    def kinds(self, part: tuple[int, int]) -> frozenset[int]:
        """Return the values in a part."""
        if part not in self._kinds:
            self._kinds[part] = frozenset(np.unique(self._codes[self._slice(*part)]).tolist())
        return self._kinds[part]

    def most_frequent(self, part: tuple[int, int]) -> int:
        """Return the most frequent value in a part that has one."""
        return int(np.bincount(self._codes[self._slice(*part)]).argmax())
