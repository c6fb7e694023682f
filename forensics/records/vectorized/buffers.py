"""Move a window over a text: whole lines in one piece of memory that is reused, as bytes, as words, as Arrow arrays."""

from __future__ import annotations

import mmap
import re
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from ahocorasick_rs import BytesAhoCorasick, MatchKind

from forensics.evidence.streams import Readable

Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]
Flags = npt.NDArray[np.bool_]
Octets = npt.NDArray[np.uint8]

#: Number of bytes that may be read after the data, and before it.
PAD = 128
#: The processor's vector instructions search for this many words at the speed of memory; twice as many take five times as long.
_AT_ONCE = 36
#: Parts with fewer bytes between them are searched together with the bytes between them.
_NEAR = 1_000
#: A byte order mark, as the first three of eight bytes.
_THREE, _MARK = np.uint64(0xFFFFFF), np.uint64(0xBFBBEF)
#: ASCII characters that no blank line has, by byte.
_SOLID = np.array([b < 128 and b not in b"\0\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f " for b in range(256)])
#: A line of blanks as Python's `strip` defines them, with byte order marks before it, in UTF-8.
_BLANK = r"^(?:\xef\xbb\xbf)?(?:[\x00\t-\r\x1c-\x20]|\xc2[\x85\xa0]|\xe1\x9a\x80|\xe2\x80[\x80-\x8a\xa8\xa9\xaf]|\xe2\x81\x9f|\xe3\x80\x80)*$"


class Buffer:
    """Bytes with room on both sides. Positions count from the data's first byte.

    Args:
        room: `PAD` bytes, the data, and at least `PAD` bytes more.
        size: the size of the data.
    """

    def __init__(self, room: bytes | mmap.mmap, size: int) -> None:
        self._room, self.size = memoryview(room), size
        self._bytes: Octets = np.frombuffer(room, np.uint8)
        self._words: Words = np.ndarray(shape=(len(room) - 7,), dtype="<u8", buffer=room, strides=(1,))

    @classmethod
    def of(cls, data: bytes) -> Buffer:
        """Return a buffer of its own for some bytes."""
        return cls(b"".join((bytes(PAD), data, bytes(PAD))), len(data))

    def words(self, at: Ints) -> Words:
        """Return the eight bytes at each position."""
        return self._words[at + PAD]

    def runs(self, at: Ints, words: int) -> Words:
        """Return, for each position, a row of this many words of eight bytes: gathering them together costs as much as gathering eight bytes."""
        size = 8 * words
        every: npt.NDArray[np.void] = np.ndarray(shape=(len(self._bytes) - size + 1,), dtype=f"V{size}", buffer=self._room, strides=(1,))
        found: Words = every[at + PAD].view("<u8").reshape(len(at), words)
        return found

    def at(self, places: Ints) -> Octets:
        """Return the byte at each position."""
        return self._bytes[places + PAD]

    def slice(self, start: int, end: int) -> bytes:
        """Return the bytes from start to end."""
        return bytes(self._room[start + PAD : end + PAD])

    @property
    def view(self) -> memoryview:
        """Return the data without a copy."""
        return self._room[PAD : PAD + self.size]

    def segments(self, starts: Ints) -> pa.LargeBinaryArray:
        """Return an Arrow array without a copy: each segment extends to the beginning of the next, the last to the end."""
        offsets = np.append(starts, self.size) + PAD
        return pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(starts), [None, pa.py_buffer(offsets), pa.py_buffer(self._room)])

    def parts(self, begins: Ints, stops: Ints) -> pa.LargeBinaryArray:
        """Return an Arrow array of some parts, each of which ends before the next begins."""
        return slices(self._room, begins + PAD, stops + PAD)

    def without_breaks(self, starts: Ints, ends: Ints) -> Ints:
        """Return the ends of parts without trailing line breaks and carriage returns."""
        while True:
            last = self.at(np.maximum(ends - 1, 0))
            breaks = (ends > starts) & ((last == 10) | (last == 13))
            if not breaks.any():
                return ends
            ends = ends - breaks

    def lines(self) -> tuple[Ints, Ints]:
        """Return the first byte of each line, and the position of its line break (the end for a last line without one)."""
        breaks = np.flatnonzero(self._bytes[PAD : PAD + self.size] == 10)
        if self.size and (not len(breaks) or breaks[-1] != self.size - 1):
            breaks = np.append(breaks, self.size)
        starts = np.empty_like(breaks)
        if len(breaks):
            starts[0] = 0
            np.add(breaks[:-1], 1, out=starts[1:])
        return starts, breaks

    def undecoded(self, starts: Ints, ends: Ints) -> Flags:
        """Return for each line whether it contains bytes that are not part of its text: an initial byte order mark, zero bytes anywhere."""
        odd: Flags = self.words(starts) & _THREE == _MARK
        if self.size and not self._bytes[PAD : PAD + self.size].all():
            zeros = np.flatnonzero(self._bytes[PAD : PAD + self.size] == 0)
            odd |= np.searchsorted(zeros, ends) > np.searchsorted(zeros, starts)
        return odd

    def blank(self, starts: Ints, ends: Ints) -> Flags:
        """Return for each line whether it contains only blanks of any alphabet, zero bytes and byte order marks."""
        size = int(ends[-1]) - int(starts[0]) if len(starts) else 0
        if not size:
            return np.ones(len(starts), bool)
        begin = int(starts[0]) + PAD
        solid = np.zeros(size + 1, np.int32)
        np.cumsum(_SOLID[self._bytes[begin : begin + size]], out=solid[1:])
        blank: Flags = solid[ends - starts[0]] == solid[starts - starts[0]]
        rest = np.flatnonzero(blank & (ends > starts))
        if len(rest):
            array = self.segments(starts).take(pa.array(rest))
            blank[rest] = pc.match_substring_regex(array, _BLANK).to_numpy(zero_copy_only=False)
        return blank


class Window:
    """Whole lines of a stream, some megabytes of them.

    Args:
        stream: the text.
        base: position of the stream's first byte in the text.
        end: chunks after this position are small; None for the end of the text.
        chunk: number of bytes to read at a time.
        longest: lines are truncated at this length.

    Attributes:
        base: position of the first byte of the window.
        buffer: the window's bytes.
        whole: False if the last line of the window was truncated, so that the next window does not follow directly.
    """

    _BEYOND = 256 << 10

    def __init__(self, stream: Readable, base: int, end: int | None, *, chunk: int, longest: int) -> None:
        self._stream, self._end, self._chunk, self._longest = stream, end, chunk, longest
        # Pages that nothing is read into cost nothing, and most files are smaller than a window.
        self._room = mmap.mmap(-1, PAD + 2 * longest + 2 * chunk + PAD)
        self._into: Any = getattr(stream, "readinto", None)
        self._over = b""
        self._filled = 0
        self._skip: int | None = None
        self.base = base
        self.buffer = Buffer(self._room, 0)
        self.whole = True

    def advance(self, drop: int) -> bool:
        """Move on: drop the first `drop` bytes and read more; return False at the end of the text.

        The other bytes move to the front. At the end of the text the window may contain only those.
        """
        if self._skip is not None:  # the window ended in a truncated line
            drop = self._filled
        self._move(drop)
        if self._skip is not None and not self._skip_line():
            return False
        self._skip, self.whole = None, True
        before = self.buffer.size
        while True:
            if self._fill() == 0:
                self.buffer.size = self._filled
                return self._filled > before
            cut = self._room.rfind(b"\n", PAD + before, PAD + self._filled) + 1 - PAD
            if cut > 0:
                self.buffer.size = cut
                return True
            if self._filled - before > self._longest:
                self.buffer.size = before + self._longest
                self._skip, self.whole = before + self._longest, False
                return True

    @property
    def rest(self) -> bytes:
        """Return the bytes from the window's first one to the last one that was read."""
        return bytes(self._room[PAD : PAD + self._filled]) + self._over

    def _move(self, drop: int) -> None:
        rest = self._filled - drop
        self._room[PAD : PAD + rest] = self._room[PAD + drop : PAD + self._filled]
        self.base += drop
        self.buffer.size -= min(drop, self.buffer.size)
        self._filled = rest

    def _fill(self) -> int:
        left = None if self._end is None else self._end - self.base - self._filled
        want = self._chunk if left is None else min(self._chunk, left) if left > 0 else self._BEYOND
        place = PAD + self._filled
        want = min(want, len(self._room) - PAD - place)
        if self._into is not None:
            count = int(self._into(memoryview(self._room)[place : place + want]) or 0)
        else:
            data = self._over or self._stream.read(want)
            data, self._over = data[:want], data[want:]  # converted text may have grown
            count = len(data)
            self._room[place : place + count] = data
        self._filled += count
        return count

    def _skip_line(self) -> bool:
        """Skip to the next line; its beginning stays in the buffer."""
        while count := self._fill():
            cut = self._room.find(b"\n", PAD, PAD + count) + 1 - PAD
            if cut > 0:
                self._move(cut)
                return True
            self._move(count)
        return False


def slices(data: Any, begins: Ints, stops: Ints) -> pa.LargeBinaryArray:  # noqa: ANN401  (whatever has bytes)
    """Return an Arrow array of some parts of bytes, each of which ends before the next begins."""
    borders = np.stack([begins, stops], axis=1).ravel()
    count = max(len(borders) - 1, 0)
    both = pa.LargeBinaryArray.from_buffers(pa.large_binary(), count, [None, pa.py_buffer(borders), pa.py_buffer(data)])
    return both.take(pa.array(np.arange(0, count, 2)))


class WordSearch:
    """A search for words.

    Args:
        words: ASCII words.
    """

    def __init__(self, words: Iterable[str]) -> None:
        self._words = sorted(words)
        self._sets = [
            BytesAhoCorasick([word.encode() for word in self._words[i : i + _AT_ONCE]], matchkind=MatchKind.LeftmostFirst)
            for i in range(0, len(self._words), _AT_ONCE)
        ]  # fmt: skip

    def holding(self, buffer: Buffer, begins: Ints, stops: Ints) -> Flags:
        """Return for each part whether it contains a word.

        Args:
            buffer: the bytes.
            begins: first byte of each part.
            stops: the byte after its last, not after the next part's first.
        """
        found: Flags = np.zeros(len(begins), bool)
        if not len(begins):
            return found
        gaps = np.flatnonzero(begins[1:] - stops[:-1] >= _NEAR)
        whole = buffer.view
        spans = list(zip(begins[np.append(0, gaps + 1)].tolist(), stops[np.append(gaps, len(stops) - 1)].tolist(), strict=True))
        for words in self._sets:
            places = [(begin + first, begin + last) for begin, stop in spans for _, first, last in words.find_matches_as_indexes(whole[begin:stop])]
            if places:
                first, last = np.array(places, np.int64).T
                part = np.minimum(np.searchsorted(stops, first, "right"), len(stops) - 1)
                found[part[last > begins[part]]] = True
                # A match that goes on in the next parts hides those that begin in it.
                end = np.searchsorted(begins, last, "left") - 1
                for at in np.flatnonzero(end > part):
                    found[part[at] : end[at] + 1] = True
        # A match may be between two parts, or overlap the border of one.
        some = np.flatnonzero(found)
        if len(some):
            pattern = "|".join(map(re.escape, self._words))
            found[some] = pc.match_substring_regex(buffer.parts(begins[some], stops[some]), pattern).to_numpy(zero_copy_only=False)
        return found
