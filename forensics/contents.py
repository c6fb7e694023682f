"""Bytes out of files: compression and archives inside one another, opened by what they are and not by what they are called.

Nothing is unpacked to disk by name, and nothing grows without bound: depth, members and the ratio of expansion are limited, for an archive
in a support bundle is as trustworthy as its sender.
"""

from __future__ import annotations

import bz2
import codecs
import lzma
import shutil
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import pyarrow as pa

MOST_DEPTH = 6
MOST_MEMBERS = 100_000
MOST_RATIO = 2_000
#: Below this an archive may expand as much as it likes.
HARMLESS_BYTES = 1 << 30
BLOCK = 1 << 20
_SPOOL_BYTES = 64 << 20
_TAR_MARK = slice(257, 262)
#: What reading hostile or broken evidence may raise.
BROKEN = (
    OSError,
    EOFError,
    ValueError,
    RuntimeError,
    NotImplementedError,
    LookupError,
    zlib.error,
    lzma.LZMAError,
    tarfile.TarError,
    zipfile.BadZipFile,
    pa.ArrowException,
)
SEPARATOR = "!"


class Readable(Protocol):
    """Anything with `read(n)`."""

    def read(self, size: int = -1, /) -> bytes: ...


@dataclass
class _Budget:
    """What the archive on disk may still give."""

    size: int
    given: int = 0
    members: int = 0

    def take(self, count: int) -> None:
        self.given += count
        if self.given > HARMLESS_BYTES and self.given > MOST_RATIO * max(self.size, 1):
            raise ValueError(f"it expands to more than {MOST_RATIO} times its size")

    def enter(self, depth: int) -> None:
        self.members += 1
        if self.members > MOST_MEMBERS:
            raise ValueError(f"it has more than {MOST_MEMBERS} members")
        if depth > MOST_DEPTH:
            raise ValueError(f"archives are nested more than {MOST_DEPTH} deep")


class Content:
    """Uncompressed bytes of one file. A fault ends them early and is kept in `error`.

    Attributes:
        error: why the content ended early, empty when it did not.
        plain: the file on disk holds these bytes as they are, so that ranges of it can be read.
    """

    def __init__(self, stream: Readable, budget: _Budget, *, plain: bool = False, error: str = "") -> None:
        self._stream, self._budget = stream, budget
        self.plain, self.error = plain, error

    def read(self, size: int = BLOCK) -> bytes:
        """Up to `size` bytes; none at the end or after a fault."""
        if self.error:
            return b""
        try:
            data = self._stream.read(size)
            if not self.plain:
                self._budget.take(len(data))
        except BROKEN as e:
            self.error = _reason(e)
            return b""
        return data


class _Peekable:
    """A stream whose first bytes can be looked at."""

    def __init__(self, stream: Readable) -> None:
        self._stream, self._ahead = stream, b""

    def peek(self, size: int) -> bytes:
        while len(self._ahead) < size:
            more = self._stream.read(size - len(self._ahead))
            if not more:
                break
            self._ahead += more
        return self._ahead[:size]

    def read(self, size: int = -1, /) -> bytes:
        if not self._ahead:
            return self._stream.read(size)
        if size < 0:
            data, self._ahead = self._ahead + self._stream.read(), b""
        else:  # filled up, so that the blocks of a plain file keep their places
            data, self._ahead = self._ahead[:size], self._ahead[size:]
            data += self._stream.read(size - len(data)) if len(data) < size else b""
        return data


class _Inflating:
    """Members of a compressed stream one behind the other, as gzip, bzip2 and xz allow; gives what it can before a fault."""

    def __init__(self, stream: Readable, new: Callable[[], Any]) -> None:
        self._stream, self._new, self._engine = stream, new, new()
        self._ready, self._ended, self._begun = b"", False, False

    def read(self, size: int = -1, /) -> bytes:
        size = BLOCK if size < 0 else size
        while not self._ready and not self._ended:
            data = self._stream.read(BLOCK // 4)
            if not data:
                self._ended = True
                if self._begun and not self._engine.eof:
                    raise EOFError("the compressed data is cut off")
                break
            self._ready = self._feed(data)
        data, self._ready = self._ready[:size], self._ready[size:]
        return data

    def _feed(self, data: bytes) -> bytes:
        out = b""
        while data:
            if self._engine.eof:
                data = data.lstrip(b"\0")
                if not data:
                    break
                self._engine = self._new()
            out += self._engine.decompress(data)
            self._begun = True
            data = self._engine.unused_data if self._engine.eof else b""
        return out


def _zstd(stream: Readable) -> Readable:
    return pa.CompressedInputStream(pa.PythonFile(stream, mode="r"), "zstd")  # type: ignore[no-any-return]


_COMPRESSION: tuple[tuple[bytes, Callable[[Readable], Readable]], ...] = (
    (b"\x1f\x8b", lambda s: _Inflating(s, lambda: zlib.decompressobj(31))),
    (b"BZh", lambda s: _Inflating(s, bz2.BZ2Decompressor)),
    (b"\xfd7zXZ\0", lambda s: _Inflating(s, lzma.LZMADecompressor)),
    (b"\x28\xb5\x2f\xfd", _zstd),
)


def contents(location: Path, wanted: frozenset[str | None] | None = None) -> Iterator[tuple[str | None, Content]]:
    """All files in a file, in order: itself, or the members of the archive that it is.

    Args:
        location: a file on disk.
        wanted: members to open; all when None.

    Yields:
        Member name (None for the file itself; members of nested archives are joined by `!`) and content. A content must be read before the
        next is asked for. What cannot be opened is a content with an error.

    Raises:
        OSError: the file cannot be opened at all.
    """
    budget = _Budget(location.stat().st_size)
    with location.open("rb") as file:
        yield from _expand(_Peekable(file), None, 0, budget, wanted, on_disk=file)


@contextmanager
def open_content(location: Path, member: str | None) -> Iterator[Content]:
    """One content by its name.

    Raises:
        OSError: the file is gone, or has no such member.
    """
    for name, content in contents(location, frozenset({member})):
        if name == member:
            yield content
            return
    raise FileNotFoundError(f"{location} has no member {member}")


def _expand(
    stream: _Peekable, name: str | None, depth: int, budget: _Budget, wanted: frozenset[str | None] | None, on_disk: BinaryIO | None = None
) -> Iterator[tuple[str | None, Content]]:
    try:
        budget.enter(depth)
        head = stream.peek(512)
        opened = next((open_ for magic, open_ in _COMPRESSION if head.startswith(magic)), None)
        if opened:
            yield from _expand(_Peekable(opened(stream)), name, depth + 1, budget, wanted)
        elif head[_TAR_MARK] == b"ustar":
            yield from _tar(stream, name, depth, budget, wanted)
        elif head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
            yield from _zip(stream, name, depth, budget, wanted, on_disk)
        elif wanted is None or name in wanted:
            yield name, Content(stream, budget, plain=on_disk is not None)
    except BROKEN as e:
        yield name, Content(stream, budget, error=_reason(e))


def _tar(
    stream: _Peekable, name: str | None, depth: int, budget: _Budget, wanted: frozenset[str | None] | None
) -> Iterator[tuple[str | None, Content]]:
    with tarfile.open(fileobj=stream, mode="r|", bufsize=BLOCK) as archive:  # type: ignore[call-overload]
        for entry in archive:
            file = archive.extractfile(entry) if entry.isreg() else None
            if file is not None and _may_hold(_joined(name, entry.name), wanted):
                yield from _expand(_Peekable(file), _joined(name, entry.name), depth + 1, budget, wanted)
            archive.members = []  # a stream never goes back; its index would only grow


def _zip(
    stream: _Peekable, name: str | None, depth: int, budget: _Budget, wanted: frozenset[str | None] | None, on_disk: BinaryIO | None
) -> Iterator[tuple[str | None, Content]]:
    with tempfile.SpooledTemporaryFile(max_size=_SPOOL_BYTES) as spool:
        file: Any = on_disk
        if file is None:
            file = spool
            shutil.copyfileobj(_Counted(stream, budget), spool, BLOCK)
        with zipfile.ZipFile(file) as archive:
            for entry in archive.infolist():
                full = _joined(name, entry.filename)
                if entry.is_dir() or not _may_hold(full, wanted):
                    continue
                try:
                    with archive.open(entry) as member:
                        yield from _expand(_Peekable(member), full, depth + 1, budget, wanted)
                except BROKEN as e:
                    yield full, Content(stream, budget, error=_reason(e))


@dataclass
class _Counted:
    stream: Readable
    budget: _Budget

    def read(self, size: int = -1, /) -> bytes:
        data = self.stream.read(size)
        self.budget.take(len(data))
        return data


def _may_hold(name: str, wanted: frozenset[str | None] | None) -> bool:
    return wanted is None or any(w is not None and (w == name or w.startswith(name + SEPARATOR)) for w in wanted)


def _joined(outer: str | None, name: str) -> str:
    return f"{outer}{SEPARATOR}{name}" if outer else name


def _reason(error: BaseException) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__


class Text:
    """A content as UTF-8: UTF-16 is recoded, a byte order mark dropped. Offsets of rows count the bytes of this text.

    Attributes:
        encoding: `utf-8` (the bytes as they are), `utf-8-sig` or `utf-16`.
    """

    def __init__(self, content: Content | Readable, encoding: str) -> None:
        self._content, self.encoding = content, encoding
        self._decoder = None if encoding == "utf-8" else codecs.getincrementaldecoder(encoding)(errors="replace")

    def read(self, size: int = BLOCK) -> bytes:
        """Up to about `size` bytes; none at the end."""
        while data := self._content.read(size):
            if self._decoder is None:
                return data
            text = self.recode(data)
            if text:
                return text
        return self.recode(b"", final=True)

    def recode(self, data: bytes, *, final: bool = False) -> bytes:
        """The next bytes of the content as UTF-8."""
        return data if self._decoder is None else self._decoder.decode(data, final).encode()


def encoding_of(head: bytes) -> str:
    """Encoding by byte order mark."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    return "utf-8-sig" if head.startswith(b"\xef\xbb\xbf") else "utf-8"
