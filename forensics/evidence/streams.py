"""Streams that return as many bytes as possible: a fault ends a stream and is kept in it, and the bytes before the fault are not lost.

Decompression is bounded, because a few hundred bytes can expand to gigabytes.
"""

from __future__ import annotations

import bz2
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from zlib_ng import zlib_ng

MAX_DEPTH = 6
MAX_MEMBERS = 100_000
#: Logs shrink to between a tenth and a fiftieth of their size; very repetitive ones to a hundredth.
MAX_RATIO = 250
#: A small archive may expand more, up to this many bytes.
HARMLESS_BYTES = 32 << 20
_SMALL_RATIO = 1_000
#: Lines cost time regardless of their content. Logs have one line for five bytes of their compressed size; very repetitive ones have one for each byte.
LINES_A_BYTE = 2
HARMLESS_LINES = 500_000
_SMALL_LINES_A_BYTE = 50
BLOCK = 1 << 20
#: Number of bytes that are decompressed at a time. With bzip2, xz and zstd, a fault loses up to this many bytes before it.
_STEP = 64 << 10
_ZSTD_STEP = 4 << 10
WRONG_BYTES = "its checksum does not match: some of the bytes that were read are not the original ones"
#: Memory limit for xz; its strongest setting needs 65 MiB.
_MAX_MEMORY = 256 << 20
# Its stub takes the class for an instance.
_ZLIB_ERROR: type[Exception] = zlib_ng.error  # type: ignore[assignment]
#: Errors that reading hostile or broken evidence may raise.
BROKEN = (
    OSError,
    EOFError,
    ValueError,
    RuntimeError,
    NotImplementedError,
    LookupError,
    zlib.error,
    _ZLIB_ERROR,
    lzma.LZMAError,
    tarfile.TarError,
    zipfile.BadZipFile,
    pa.ArrowException,
)


class Readable(Protocol):
    """Anything with `read(n)`."""

    def read(self, size: int = -1, /) -> bytes: ...


def fault_of(stream: object) -> str:
    """Return why a stream ended early; empty if it did not."""
    return str(getattr(stream, "fault", ""))


@dataclass(frozen=True)
class Lost:
    """Data that a stream could not return because of its fault.

    Attributes:
        size: bytes; 0 if unknown.
        lines: lines; None if only the bytes allow an estimate.
        how: text before the number of bytes: `about `, `more than `, or nothing if it is exact.
    """

    size: int = 0
    lines: int | None = None
    how: str = "about "


def lost_of(stream: object) -> Lost:
    """Return what a stream could not return because of its fault."""
    lost = getattr(stream, "lost", None)
    return lost if isinstance(lost, Lost) else Lost()


class Limited:
    """The first bytes of a stream: a log that has grown since its hash was computed is not read beyond that point."""

    def __init__(self, stream: Readable, size: int) -> None:
        self._stream, self._left = stream, size
        self._into: Any = getattr(stream, "readinto", None)
        if self._into is not None:
            self.readinto = self._read_into

    def read(self, size: int = -1, /) -> bytes:
        data = self._stream.read(self._left if size < 0 else min(size, self._left)) if self._left > 0 else b""
        data = data[: self._left]
        self._left -= len(data)
        return data

    def _read_into(self, room: memoryview, /) -> int:
        count = int(self._into(room[: self._left]) or 0) if self._left > 0 else 0
        self._left -= count
        return count


class Budget:
    """Limits on the output of an archive on disk, in proportion to its size, so that a sender cannot cause much work with few bytes.

    Args:
        size: the size of the archive.

    Attributes:
        most_unread: bytes that may be decompressed only to measure a loss.
    """

    def __init__(self, size: int) -> None:
        self._bytes = max(MAX_RATIO * size, min(HARMLESS_BYTES, _SMALL_RATIO * size))
        self._lines = max(LINES_A_BYTE * size, min(HARMLESS_LINES, _SMALL_LINES_A_BYTE * size))
        self.most_unread = _SMALL_RATIO * size
        self._members = 0

    def take(self, data: bytes) -> tuple[bytes, str]:
        """Return as many of the next bytes as may be read, and the reason if that is not all."""
        kept, reason = data, ""
        if len(kept) > self._bytes:
            kept, reason = kept[: self._bytes], f"it expands to more than {MAX_RATIO} times its size"
        lines = count_lines(kept)
        if lines > self._lines:
            kept, reason = _first_lines(kept, self._lines), "it expands to more lines than logs of its size have"
            lines = self._lines
        self._bytes -= len(kept)
        self._lines -= lines
        return kept, reason and f"{reason} and was truncated there; if you trust it, unpack it and ingest the folder"

    def enter(self, depth: int) -> None:
        self._members += 1
        if self._members > MAX_MEMBERS:
            raise ValueError(f"it has more than {MAX_MEMBERS:,} members")
        if depth > MAX_DEPTH:
            raise ValueError(f"archives are nested more than {MAX_DEPTH} deep")


def count_lines(data: bytes) -> int:
    """Return the number of line breaks; for a block, four times as fast as `bytes.count`."""
    return int(np.count_nonzero(np.frombuffer(data, np.uint8) == ord("\n")))


def _first_lines(data: bytes, count: int) -> bytes:
    at = 0
    for _ in range(count):
        at = data.index(b"\n", at) + 1
    return data[:at]


class Peekable:
    """A stream with lookahead. Any exception of the underlying stream becomes its fault."""

    def __init__(self, stream: Readable) -> None:
        self._stream, self._ahead, self._raised = stream, b"", ""

    @property
    def fault(self) -> str:
        return self._raised or fault_of(self._stream)

    @property
    def lost(self) -> Lost:
        return lost_of(self._stream)

    def peek(self, size: int) -> bytes:
        while len(self._ahead) < size:
            more = self._more(size - len(self._ahead))
            if not more:
                break
            self._ahead += more
        return self._ahead[:size]

    def read(self, size: int = -1, /) -> bytes:
        size = BLOCK if size < 0 else size
        if not self._ahead:
            return self._more(size)
        # full blocks, so that the blocks of a plain file keep their positions
        data, self._ahead = self._ahead[:size], self._ahead[size:]
        return data + self._more(size - len(data)) if len(data) < size else data

    def _more(self, size: int) -> bytes:
        try:
            return b"" if self._raised else self._stream.read(size)
        except BROKEN as e:
            self._raised = why(e)
            return b""


class Part:
    """The next bytes of a stream, as many as a file in an archive has.

    Args:
        stream: the stream of the archive.
        size: the size of the file.
        below: stream that knows why the archive ended early; the archive's if None.
    """

    def __init__(self, stream: Readable, size: int, below: object = None) -> None:
        self._stream, self._left, self._below = stream, size, below or stream
        self.fault = ""

    @property
    def lost(self) -> Lost:
        return Lost(self._left, how="")

    def read(self, size: int = -1, /) -> bytes:
        size = min(BLOCK if size < 0 else size, self._left)
        data = self._stream.read(size) if size else b""
        self._left -= len(data)
        if size and not data:
            self.fault = fault_of(self._below) or "the archive ends in the middle of it"
        return data


class Checked:
    """A file of a zip archive, checked against the size and the checksum in the archive."""

    def __init__(self, stream: Readable, size: int, checksum: int) -> None:
        self._stream, self._size, self._want = stream, size, checksum
        self._given = self._found = 0
        self._wrong = ""

    @property
    def fault(self) -> str:
        return fault_of(self._stream) or self._wrong

    @property
    def lost(self) -> Lost:
        return Lost(max(0, self._size - self._given), how="")

    def read(self, size: int = -1, /) -> bytes:
        data = self._stream.read(size)
        self._given += len(data)
        self._found = zlib_ng.crc32(data, self._found)
        if not data and not self.fault and (self._given != self._size or self._found != self._want):
            self._wrong = WRONG_BYTES
        return data


class _Zlib:
    """A zlib decompressor (zlib-ng, which takes half the time) with the interface of those of bz2 and lzma; bytes before a fault are not lost."""

    def __init__(self, bits: int) -> None:
        self._engine: Any = zlib_ng.decompressobj(bits)
        self._rest = b""
        self._full = False
        self._error: Exception | None = None

    @property
    def eof(self) -> bool:
        return bool(self._engine.eof)

    @property
    def needs_input(self) -> bool:
        return not (self._rest or self._full or self._error)

    @property
    def unused_data(self) -> bytes:
        return bytes(self._engine.unused_data)

    def decompress(self, data: bytes, most: int) -> bytes:
        if self._error is not None:
            raise self._error
        data = self._rest + data
        before = self._engine.copy()
        try:
            out: bytes = self._engine.decompress(data, most)
        except _ZLIB_ERROR as e:
            self._error, self._rest = e, b""
            return _up_to_fault(before, data)
        self._rest, self._full = self._engine.unconsumed_tail, len(out) >= most
        return out


def _up_to_fault(engine: Any, data: bytes) -> bytes:  # noqa: ANN401  (zlib has no name for its type)
    """Return what a decompressor yields before the byte at which it fails."""
    out = []
    try:
        for at in range(len(data)):
            out.append(engine.decompress(data[at : at + 1]))
    except _ZLIB_ERROR:
        pass
    return b"".join(out)


class Inflating:
    """Consecutive members of a compressed stream, as gzip, bzip2 and xz allow.

    Args:
        stream: compressed.
        new: returns a decompressor for the next member.
        budget: the budget of the archive on disk.
        several: True if several members may follow one another.

    Attributes:
        fault: why it ended early, and how much of the compressed data follows that point.
        lost: what it would have returned, as far as is known.
    """

    def __init__(self, stream: Readable, new: Callable[[], Any], budget: Budget, *, several: bool = True) -> None:
        self._stream, self._new, self._budget, self._several = stream, new, budget, several
        self._engine = new()
        self._taken = self._given = 0
        self._ended = False
        self.fault = ""
        self.lost = Lost()

    def read(self, size: int = -1, /) -> bytes:
        size = _STEP if size < 0 else min(size, _STEP)
        while size and not self._ended:
            try:
                data = self._step(size)
            except BROKEN as e:
                self._fail(why(e))
                break
            kept, self.fault = self._budget.take(data)
            self._given += len(kept)
            if self.fault:
                self.lost = _unread(data[len(kept) :], lambda: self._ended, lambda: self._step(_STEP), self._budget)
                self._ended = True
            if kept:
                return kept
        return b""

    def _step(self, size: int) -> bytes:
        """Return some bytes; none if more input is needed, or at the end."""
        data = b""
        if self._engine.eof:
            data = self._next_member()
            if not data:
                self._ended = True
                return b""
            self._engine = self._new()
        elif self._engine.needs_input:
            data = self._input()
            if not data:
                raise EOFError(fault_of(self._stream) or "the compressed data is truncated")
        return bytes(self._engine.decompress(data, size))

    def _next_member(self) -> bytes:
        """Return the first bytes of the next member, without zeros that pad the last one."""
        data: bytes = self._engine.unused_data.lstrip(b"\0") if self._several else b""
        while self._several and not data:
            more = self._input()
            if not more:
                break
            data = more.lstrip(b"\0")
        if not data and fault_of(self._stream):
            raise EOFError(fault_of(self._stream))
        return data

    def _input(self) -> bytes:
        data = self._stream.read(_STEP)
        self._taken += len(data)
        return data

    def _fail(self, reason: str) -> None:
        """Keep the fault; read the compressed data to its end to measure how much of it is lost."""
        self._ended = True
        at = self._taken
        behind = lost_of(self._stream).size
        while data := self._stream.read(BLOCK):
            behind += len(data)
        self.lost = Lost(behind * self._given // at if at else 0)
        self.fault = f"{reason} (about byte {at:,} of {at + behind:,} compressed bytes)"


def _unread(head: bytes, ended: Callable[[], bool], step: Callable[[], bytes], budget: Budget) -> Lost:
    """Measure what was lost by decompressing it: to its end, if the budget allows."""
    size, lines, how = len(head), head.count(b"\n"), ""
    try:
        while not ended():
            if budget.most_unread <= 0:
                how = "more than "
                break
            data = step()
            budget.most_unread -= len(data)
            size += len(data)
            lines += data.count(b"\n")
    except BROKEN:
        how = "more than "
    return Lost(size, lines, how)


class Framed:
    """Zstandard or LZ4, decompressed by Arrow; see `Inflating` for its attributes.

    Args:
        codec: name of the format in Arrow.
    """

    def __init__(self, stream: Readable, budget: Budget, codec: str) -> None:
        self._counted = _Counted(stream)
        self._engine = pa.CompressedInputStream(pa.PythonFile(self._counted, mode="r"), codec)
        self._budget, self._given = budget, 0
        self._ended = False
        self.fault = ""
        self.lost = Lost()

    def read(self, size: int = -1, /) -> bytes:
        if self._ended:
            return b""
        try:
            data = self._step(_ZSTD_STEP if size < 0 else min(size, _ZSTD_STEP))
        except BROKEN as e:
            self._ended = True
            at = self._counted.taken
            while self._counted.read(BLOCK):
                pass
            behind = self._counted.taken - at + lost_of(self._counted.stream).size
            self.lost = Lost(behind * self._given // at if at else 0)
            self.fault = f"{fault_of(self._counted.stream) or why(e)} (about byte {at:,} of {at + behind:,} compressed bytes)"
            return b""
        kept, self.fault = self._budget.take(data)
        self._given += len(kept)
        if self.fault:
            self.lost = _unread(data[len(kept) :], lambda: self._ended, lambda: self._step(_STEP), self._budget)
            self._ended = True
        elif self._ended:
            self.fault = fault_of(self._counted.stream)
        return kept

    def _step(self, size: int) -> bytes:
        data = bytes(self._engine.read(size))
        self._ended = self._ended or not data
        return data


class _Counted:
    """A stream that counts the bytes it has returned; Arrow checks whether it is closed."""

    closed = False

    def __init__(self, stream: Readable) -> None:
        self.stream, self.taken = stream, 0

    def read(self, size: int = -1, /) -> bytes:
        data = self.stream.read(size)
        self.taken += len(data)
        return data

    def close(self) -> None:
        """Do nothing, because nothing is open."""


def deflated(stream: Readable, budget: Budget) -> Inflating:
    """Return the decompressed bytes of a file in a zip archive."""
    return Inflating(stream, lambda: _Zlib(-15), budget, several=False)


#: First bytes of each compression format, and the function that opens it.
COMPRESSION: tuple[tuple[bytes, Callable[[Readable, Budget], Readable]], ...] = (
    (b"\x1f\x8b", lambda s, b: Inflating(s, lambda: _Zlib(31), b)),
    (b"BZh", lambda s, b: Inflating(s, bz2.BZ2Decompressor, b)),
    (b"\xfd7zXZ\0", lambda s, b: Inflating(s, lambda: lzma.LZMADecompressor(memlimit=_MAX_MEMORY), b)),
    (b"\x28\xb5\x2f\xfd", partial(Framed, codec="zstd")),
    (b"\x04\x22\x4d\x18", partial(Framed, codec="lz4")),
    # A skippable frame: pzstd writes one before each of its own.
    *((bytes((first,)) + b"\x2a\x4d\x18", partial(Framed, codec="zstd")) for first in range(0x50, 0x60)),
)


def why(error: BaseException) -> str:
    """Return the reason for an error, in one line."""
    text = " ".join(str(error).split())[:200] or type(error).__name__
    return WRONG_BYTES if text.endswith(("incorrect data check", "incorrect length check")) else text
