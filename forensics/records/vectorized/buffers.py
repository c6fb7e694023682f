"""A window that moves over a text: whole lines in one piece of memory that is used again and again, as bytes, as words, as Arrow arrays."""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from forensics.evidence.streams import Readable

Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]
Flags = npt.NDArray[np.bool_]
Octets = npt.NDArray[np.uint8]

#: Bytes that may be read behind the data, and before it.
PAD = 128
#: A byte order mark, as the first three of eight bytes.
_THREE, _MARK = np.uint64(0xFFFFFF), np.uint64(0xBFBBEF)
#: ASCII characters that no line of blanks has, by byte.
_SOLID = np.array([b < 128 and b not in b"\0\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f " for b in range(256)])
#: A line of blanks as Python's `strip` knows them, byte order marks in front of it, in UTF-8.
_BLANK = r"^(?:\xef\xbb\xbf)?(?:[\x00\t-\r\x1c-\x20]|\xc2[\x85\xa0]|\xe1\x9a\x80|\xe2\x80[\x80-\x8a\xa8\xa9\xaf]|\xe2\x81\x9f|\xe3\x80\x80)*$"


class Buffer:
    """Bytes with room on both sides. Places count from the data's first byte.

    Args:
        room: `PAD` bytes, the data, and at least `PAD` bytes more.
        size: of the data.
    """

    def __init__(self, room: bytes | mmap.mmap, size: int) -> None:
        self._room, self.size = memoryview(room), size
        self._bytes: Octets = np.frombuffer(room, np.uint8)
        self._words: Words = np.ndarray(shape=(len(room) - 7,), dtype="<u8", buffer=room, strides=(1,))

    @classmethod
    def of(cls, data: bytes) -> Buffer:
        """A buffer of its own for some bytes."""
        return cls(b"".join((bytes(PAD), data, bytes(PAD))), len(data))

    def words(self, at: Ints) -> Words:
        """The eight bytes at each place."""
        return self._words[at + PAD]

    def runs(self, at: Ints, words: int) -> Words:
        """So many times eight bytes from each place on, as a row of words: to gather them together costs as much as to gather eight."""
        size = 8 * words
        every: npt.NDArray[np.void] = np.ndarray(shape=(len(self._bytes) - size + 1,), dtype=f"V{size}", buffer=self._room, strides=(1,))
        found: Words = every[at + PAD].view("<u8").reshape(len(at), words)
        return found

    def at(self, places: Ints) -> Octets:
        """The byte at each place."""
        return self._bytes[places + PAD]

    def slice(self, start: int, end: int) -> bytes:
        """Bytes from start to end."""
        return bytes(self._room[start + PAD : end + PAD])

    @property
    def view(self) -> memoryview:
        """The data, without a copy."""
        return self._room[PAD : PAD + self.size]

    def segments(self, starts: Ints) -> pa.LargeBinaryArray:
        """An Arrow array without a copy: each segment goes to the beginning of the next, the last to the end."""
        offsets = np.append(starts, self.size) + PAD
        return pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(starts), [None, pa.py_buffer(offsets), pa.py_buffer(self._room)])

    def parts(self, begins: Ints, stops: Ints) -> pa.LargeBinaryArray:
        """An Arrow array of some parts, each of which ends before the next begins."""
        borders = np.stack([begins, stops], axis=1).ravel() + PAD
        count = len(borders) - 1
        both = pa.LargeBinaryArray.from_buffers(pa.large_binary(), count, [None, pa.py_buffer(borders), pa.py_buffer(self._room)])
        return both.take(pa.array(np.arange(0, count, 2)))

    def without_breaks(self, starts: Ints, ends: Ints) -> Ints:
        """Ends of parts without the line breaks and carriage returns at them."""
        while True:
            last = self.at(np.maximum(ends - 1, 0))
            breaks = (ends > starts) & ((last == 10) | (last == 13))
            if not breaks.any():
                return ends
            ends = ends - breaks

    def lines(self) -> tuple[Ints, Ints]:
        """First byte of each line, and the place of its line break (of a last line without one, the end)."""
        breaks = np.flatnonzero(self._bytes[PAD : PAD + self.size] == 10)
        if self.size and (not len(breaks) or breaks[-1] != self.size - 1):
            breaks = np.append(breaks, self.size)
        starts = np.empty_like(breaks)
        if len(breaks):
            starts[0] = 0
            np.add(breaks[:-1], 1, out=starts[1:])
        return starts, breaks

    def undecoded(self, starts: Ints, ends: Ints) -> Flags:
        """Which lines hold bytes that are no part of their text: byte order marks at their beginning, zero bytes anywhere."""
        odd: Flags = self.words(starts) & _THREE == _MARK
        if self.size and not self._bytes[PAD : PAD + self.size].all():
            zeros = np.flatnonzero(self._bytes[PAD : PAD + self.size] == 0)
            odd |= np.searchsorted(zeros, ends) > np.searchsorted(zeros, starts)
        return odd

    def blank(self, starts: Ints, ends: Ints) -> Flags:
        """Which lines hold nothing but blanks, in any alphabet, zero bytes and byte order marks."""
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
        base: place of the stream's first byte in the text.
        end: chunks behind this place are small; None for the end of the text.
        chunk: bytes to read at a time.
        longest: a line is cut there; what follows of it is dropped.

    Attributes:
        base: place of the first byte of the window.
        buffer: the window's bytes.
        whole: False when the last line of the window was cut, so that the next window does not follow at once.
    """

    _BEYOND = 256 << 10

    def __init__(self, stream: Readable, base: int, end: int | None, *, chunk: int, longest: int) -> None:
        self._stream, self._end, self._chunk, self._longest = stream, end, chunk, longest
        # Pages that nothing is read into cost nothing: most files are smaller than a window.
        self._room = mmap.mmap(-1, PAD + 2 * longest + 2 * chunk + PAD)
        self._into: Any = getattr(stream, "readinto", None)
        self._over = b""
        self._filled = 0
        self._skip: int | None = None
        self.base = base
        self.buffer = Buffer(self._room, 0)
        self.whole = True

    def advance(self, drop: int) -> bool:
        """Moves on: forgets the first `drop` bytes and reads more; False at the end of the text.

        What is not dropped stays in front. At the end of the text the window may hold that alone.
        """
        if self._skip is not None:  # the window ended in a line that was cut
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
            data, self._over = data[:want], data[want:]  # what is recoded may have grown
            count = len(data)
            self._room[place : place + count] = data
        self._filled += count
        return count

    def _skip_line(self) -> bool:
        """Reads on to the next line; its beginning stays in the room."""
        while count := self._fill():
            cut = self._room.find(b"\n", PAD, PAD + count) + 1 - PAD
            if cut > 0:
                self._move(cut)
                return True
            self._move(count)
        return False
