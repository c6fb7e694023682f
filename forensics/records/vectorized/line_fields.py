"""Process many lines together: where they begin, which have the same fixed head, their times, and the logger in their tails.

A log repeats itself. A *header* is learned from one line that the slow reader understood (`[dddd-dd-dd dd:dd:dd,ddd] INFO `) and then compared with
all lines in a few steps of eight bytes. A *tail* (` (org.apache.kafka.clients.Metadata:279)`) is understood once and then recognised by a hash.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from forensics.records.timestamps import SECOND, Moment, Zone
from forensics.records.vectorized.buffers import Buffer, Flags, Ints, Octets, Words

NO_TIME = np.iinfo(np.int64).min
MAX_HEADER_BYTES = 64
_TAIL_WORDS = 4
_TAIL_BYTES = 8 * _TAIL_WORDS
_SLOT_SHIFT = np.uint64(48)
_ZERO, _NINE, _COMMA, _DOT = b"09,."
_HIGH, _LOW, _SIX, _CARRY = 0xF0, 0x0F, 0x06, 0x10


@dataclass(frozen=True, slots=True)
class HeaderEnding:
    """The continuation of a header after the time: `] INFO `.

    Attributes:
        end: first byte after it.
        level: the level in it.
    """

    end: int
    level: str | None


class Header:
    """The fixed beginning of lines up to and including their time, learned from one of them, and its endings.

    Args:
        line: the line's bytes.
        start: position of the part that must be equal except for the digits of the time; it ends with the time.
        time: position of the time.
        moment: the time as read.
        read: reads such a time.
    """

    def __init__(self, line: bytes, start: int, time: tuple[int, int], moment: Moment, read: Callable[[str], Moment | None]) -> None:
        self.start, self.end = start, time[1]
        self.resolution_ms = moment.resolution_ms
        self.endings: list[HeaderEnding] = []
        self._endings: list[tuple[list[np.uint64], list[np.uint64]]] = []
        self._time, self._read = time, read
        self._second = time[0] + moment.second_at
        self._fraction = (time[0] + moment.fraction[0], moment.fraction[1])
        self._bases: dict[bytes, int] = {}
        size = 8 * -(-(self.end - self.start) // 8)
        literal, digit, key = bytearray(size), bytearray(size), bytearray(size)
        for i in range(self.end - self.start):
            place = i + self.start
            timed = time[0] <= place < time[1]
            if timed and 48 <= line[place] <= 57:
                digit[i] = 0xFF
            else:
                literal[i] = 0xFF
            changes = self._second <= place < self._second + 2 or self._fraction[0] <= place < self._fraction[0] + self._fraction[1]
            if timed and not changes:
                key[i] = 0xFF
        text = line[self.start : self.end].ljust(size, b"\0")
        self._mask = _as_words(bytes(a | (b & _HIGH) for a, b in zip(literal, digit, strict=True)))
        self._want = _as_words(bytes((t & a) | (0x30 & b) for t, a, b in zip(text, literal, digit, strict=True)))
        self._low = _as_words(bytes(b & _LOW for b in digit))
        self._six = _as_words(bytes(b & _SIX for b in digit))
        self._carry = _as_words(bytes(b & _CARRY for b in digit))
        self._key = _as_words(bytes(key))

    def learn_ending(self, line: bytes, end: int, level: str | None) -> None:
        """Learn the ending of this header in a line, up to `end`."""
        size = end - self.end
        text, mask = line[self.end : end], b"\xff" * size
        pad = -size % 8
        self._endings.append((list(_as_words(mask + bytes(pad))), list(_as_words(text + bytes(pad)))))
        self.endings.append(HeaderEnding(end, level))

    def fits(self, buffer: Buffer, starts: Ints, ends: Ints) -> Flags:
        """Return for each line whether it has this beginning, with any ending."""
        fits: Flags = starts + self.end <= ends
        runs = buffer.runs(starts + self.start, len(self._mask))
        for i in range(len(self._mask)):
            words = runs[:, i]
            fits &= (words & self._mask[i]) == self._want[i]
            if self._low[i]:
                fits &= ((words & self._low[i]) + self._six[i]) & self._carry[i] == 0
        return fits

    def ends_there(self, buffer: Buffer, starts: Ints, ends: Ints) -> Flags:
        """Return for each fitting line whether the time ends there, without more digits or a fraction. The text after it is not checked."""
        behind = starts + self.end
        longer: Flags = (behind < ends) & _is_digit(buffer.at(behind))
        if not self._fraction[1]:
            sign = buffer.at(behind)
            longer |= (behind + 1 < ends) & ((sign == _COMMA) | (sign == _DOT)) & _is_digit(buffer.at(behind + 1))
        return ~longer

    def endings_of(self, buffer: Buffer, starts: Ints, ends: Ints) -> Ints:
        """Return the ending of each fitting line, -1 for none."""
        found = np.full(len(starts), -1, np.int64)
        most = max((len(masks) for masks, _ in self._endings), default=0)
        runs = buffer.runs(starts + self.end, most)
        words = [runs[:, i] for i in range(most)]
        for index, (masks, wants) in enumerate(self._endings):
            same: Flags = starts + self.endings[index].end <= ends
            for word, mask, want in zip(words, masks, wants, strict=False):
                same &= (word & mask) == want
            found[same] = index
        return found

    def times(self, buffer: Buffer, starts: Ints, zone: Zone) -> Ints:
        """Return the times of fitting lines, microseconds since 1970 in UTC; `NO_TIME` if the digits are not a valid time."""
        count = len(starts)
        if not count:
            return np.empty(0, np.int64)
        runs = buffer.runs(starts + self.start, len(self._key))
        octets = runs.view(np.uint8)
        keys = [runs[:, i] & self._key[i] for i in range(len(self._key)) if self._key[i]]
        new = np.empty(count, bool)
        new[0] = True
        new[1:] = False
        for key in keys:
            new[1:] |= key[1:] != key[:-1]
        firsts = np.flatnonzero(new)
        texts = np.stack([key[firsts] for key in keys], axis=1)
        bases = np.fromiter((self._base(texts[i].tobytes(), buffer, int(starts[f]), zone) for i, f in enumerate(firsts)), np.int64, len(firsts))
        base = np.repeat(bases, np.diff(np.append(firsts, count)))
        seconds = self._number(octets, self._second, 2)
        digits = min(self._fraction[1], 6)
        micros = self._number(octets, self._fraction[0], digits) * 10 ** (6 - digits) if digits else 0
        times = base + (seconds * SECOND + micros)
        wrong = (base == NO_TIME) | (seconds > 60)
        if wrong.any():
            times[wrong] = NO_TIME
        return times

    def _base(self, key: bytes, buffer: Buffer, start: int, zone: Zone) -> int:
        """Return the time rounded down to a minute."""
        known = self._bases.get(key)
        if known is None:
            text = bytearray(buffer.slice(start + self._time[0], start + self._time[1]))
            for at, size in ((self._second - self._time[0], 2), (self._fraction[0] - self._time[0], self._fraction[1])):
                text[at : at + size] = b"0" * size if size else b""
            moment = self._read(text.decode("ascii", "replace"))
            utc = zone.utc(moment) if moment else None
            known = self._bases[key] = NO_TIME if utc is None else utc
        return known

    def _number(self, octets: Octets, at: int, digits: int) -> Ints:
        """Return the number in decimal digits at a position of each line; a row contains a line's bytes from `start` on."""
        value = np.zeros(len(octets), np.int64)
        for i in range(at - self.start, at - self.start + digits):
            value *= 10
            value += octets[:, i] & _LOW
        return value


def _is_digit(octets: Octets) -> Flags:
    found: Flags = (octets >= _ZERO) & (octets <= _NINE)
    return found


def _as_words(data: bytes) -> Words:
    return np.frombuffer(data, "<u8")


@dataclass(frozen=True)
class Tail:
    """The text after a message, once it has been understood.

    Attributes:
        size: its bytes; 0 if the line has none.
        logger, source_line, thread: its contents.
        interesting: True if a pattern is for its logger.
        foreign: True if its logger belongs to another program: then the words of a record decide.
    """

    size: int = 0
    logger: str | None = None
    source_line: int | None = None
    thread: str | None = None
    interesting: bool = False
    foreign: bool = False


NO_TAIL = Tail()
_NEVER = 1 << 40  # longer than any line, so that lines with such a hash are always read one by one


def _ends_say_all(text: bytes, size: int) -> bool:
    """Return True if the last bytes of a tail contain logger and line, so that their hash, the tail's length and its beginning identify it."""
    return size <= _TAIL_BYTES or (text.endswith(b")") and any(c in text for c in b".$"))


class _Columns(NamedTuple):
    """Properties of tails, as columns."""

    sizes: Ints
    interesting: Flags
    foreign: Flags

    @classmethod
    def of(cls, tails: Sequence[Tail]) -> _Columns:
        sizes = np.array([t.size for t in tails], np.int64)
        return cls(sizes, np.array([t.interesting for t in tails], bool), np.array([t.foreign for t in tails], bool))


class Tails:
    """Tails by the hash of their last bytes. Each process salts the hash, so that lines cannot be crafted to collide.

    Args:
        understand: finds the tail of a line with the slow reader.
    """

    def __init__(self, understand: Callable[[str], Tail]) -> None:
        self._understand = understand
        self._salt = np.frombuffer(os.urandom(_TAIL_BYTES), "<u8") | np.uint64(1)
        # Sorted by hash. The first entry, which a line matches only with probability 1 in 2^64, saves a check for an empty table.
        self._hashes: Words = np.zeros(1, np.uint64)
        self._order: Ints = np.zeros(1, np.int64)
        self._sizes: Ints = np.full(1, _NEVER)
        self._begins: Words = np.zeros(1, np.uint64)
        self._slots: Ints = np.zeros(1 << 16, np.int64)
        self.found: list[Tail] = [NO_TAIL]
        self._columns = _Columns.of([])
        self._exact: dict[bytes, int] = {b"": 0}

    def classify(self, buffer: Buffer, starts: Ints, ends: Ints) -> Ints:
        """Return the index in `found` of each line's tail."""
        if not len(starts):
            return np.empty(0, np.int64)
        hashes = np.zeros(len(starts), np.uint64)
        short = np.maximum(_TAIL_BYTES - (ends - starts), 0)
        runs = buffer.runs(ends - _TAIL_BYTES, _TAIL_WORDS)
        for i in range(_TAIL_WORDS):
            words = runs[:, i]
            outside = np.clip(short - 8 * i, 0, 8)
            if outside.any():  # bytes of the line before must not count
                words = np.where(outside == 8, np.uint64(0), words >> (outside % 8 * 8).astype(np.uint64))
            hashes += words * self._salt[i]
        places = self._places(buffer, starts, ends, hashes)
        odd = self._sizes[places] > 0
        odd &= (ends - self._sizes[places] < starts) | (buffer.words(np.maximum(ends - self._sizes[places], 0)) != self._begins[places])
        result: Ints = self._order[places]
        for n in np.flatnonzero(odd).tolist():
            result[n] = self._one_by_one(buffer.slice(int(starts[n]), int(ends[n])))
        return result

    def interesting(self, indexes: Ints) -> Flags:
        """Return for each tail whether a pattern is for its logger."""
        found: Flags = self._known.interesting[indexes]
        return found

    def sizes(self, indexes: Ints) -> Ints:
        """Return the sizes of tails in bytes; 0 for lines without one."""
        found: Ints = self._known.sizes[indexes]
        return found

    def foreign(self, indexes: Ints) -> Flags:
        """Return for each tail whether its logger belongs to another program."""
        found: Flags = self._known.foreign[indexes]
        return found

    @property
    def _known(self) -> _Columns:
        if len(self._columns.sizes) != len(self.found):
            new = _Columns.of(self.found[len(self._columns.sizes) :])
            self._columns = _Columns(*(np.concatenate(both) for both in zip(self._columns, new, strict=True)))
        return self._columns

    def _places(self, buffer: Buffer, starts: Ints, ends: Ints, hashes: Words) -> Ints:
        """Return the position of each hash in the table; new hashes are understood and added."""
        places = self._slots[(hashes >> _SLOT_SHIFT).astype(np.int64)]
        wrong = np.flatnonzero(self._hashes[places] != hashes)
        if not len(wrong):
            return places
        # two hashes in one slot, or new ones
        found = np.minimum(np.searchsorted(self._hashes, hashes[wrong]), len(self._hashes) - 1)
        unknown = wrong[self._hashes[found] != hashes[wrong]]
        if len(unknown):
            self._learn(buffer, starts, ends, hashes, unknown)
            places = self._slots[(hashes >> _SLOT_SHIFT).astype(np.int64)]
            wrong = np.flatnonzero(self._hashes[places] != hashes)
            found = np.searchsorted(self._hashes, hashes[wrong])
        places[wrong] = found
        return places

    def _learn(self, buffer: Buffer, starts: Ints, ends: Ints, hashes: Words, unknown: Ints) -> None:
        """Understand lines with new hashes."""
        new, firsts = np.unique(hashes[unknown], return_index=True)
        sizes, begins, order = [], [], []
        for i in unknown[firsts].tolist():
            start, end = int(starts[i]), int(ends[i])
            order.append(self._one_by_one(buffer.slice(start, end)))
            tail = self.found[order[-1]]
            sizes.append(tail.size if _ends_say_all(buffer.slice(end - min(tail.size, _TAIL_BYTES), end), tail.size) else _NEVER)
            begins.append(int(buffer.words(np.array([end - tail.size]))[0]))
        self._hashes = np.concatenate([self._hashes, new])
        by_hash = np.argsort(self._hashes, kind="stable")
        self._hashes = self._hashes[by_hash]
        self._order = np.concatenate([self._order, np.array(order, np.int64)])[by_hash]
        self._sizes = np.concatenate([self._sizes, np.array(sizes, np.int64)])[by_hash]
        self._begins = np.concatenate([self._begins, np.array(begins, np.uint64)])[by_hash]
        self._slots[(self._hashes >> _SLOT_SHIFT).astype(np.int64)] = np.arange(len(self._hashes))

    def _one_by_one(self, line: bytes) -> int:
        """Use the slow reader; equal tails get equal indexes."""
        tail = self._understand(line.decode("utf-8", "replace"))
        text = line[len(line) - tail.size :]
        index = self._exact.get(text)
        if index is None:
            index = self._exact[text] = len(self.found)
            self.found.append(tail)
        return index
