"""Read bytes out of files: nested compression and archives, recognised by their content and not by their names.

Nothing is unpacked to disk by name, and nothing grows without bound: depth, members and the expansion ratio are limited, because an archive in a
support bundle is only as trustworthy as its sender. What a fault leaves is read, and its cost is reported.
"""

from __future__ import annotations

import codecs
import copy
import os
import re
import shutil
import struct
import tempfile
import zipfile
from bisect import bisect_left
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from forensics.evidence.objects import Location, opened, place
from forensics.evidence.streams import BLOCK, BROKEN, COMPRESSION, Budget, Checked, Lost, Part, Peekable, Readable, deflated, fault_of, lost_of, why
from forensics.evidence.tar_members import TarMembers

_SPOOL_BYTES = 64 << 20
_TAR_MARK = slice(257, 262)
_ENTRY, _DIRECTORY = b"PK\x03\x04", (b"PK\x01\x02", b"PK\x05\x06")
_ENTRY_HEAD = struct.Struct("<4sHHHHHIIIHH")
_UNKNOWN_SIZE = (0, 0xFFFFFFFF)
_NEAR = 4 << 10
#: Number of bytes that show whether every second one is zero: at least this share of one half, and hardly any of the other.
_ENOUGH, _NEARLY_ALL = 4 << 10, (7, 10)
#: Longer names are truncated; no system has such paths.
_LONGEST_NAME = 4_096
SEPARATOR = "!"

Members = Iterator[tuple[str | None, "Content"]]


class Content:
    """Uncompressed bytes of one file. A fault ends them early and is kept in `error`.

    Attributes:
        error: reason why the content ended early; empty if it did not.
        plain: True if the file on disk contains exactly these bytes, so that ranges of it can be read.
    """

    def __init__(self, stream: Readable, *, plain: bool = False, error: str = "") -> None:
        self._stream = stream
        self.plain, self.error = plain, error

    @property
    def lost(self) -> Lost:
        """Return what was lost after the fault."""
        return lost_of(self._stream)

    def read(self, size: int = BLOCK) -> bytes:
        """Return `size` bytes; fewer at the end or before a fault, none after it."""
        parts: list[bytes] = []
        try:
            while size > 0 and not self.error and (data := self._stream.read(size)):
                parts.append(data)
                size -= len(data)
        except BROKEN as e:
            self.error = why(e)
        if size > 0:
            self.error = self.error or fault_of(self._stream)
        return b"".join(parts)


def contents(location: Location, wanted: frozenset[str | None] | None = None) -> Members:
    """Yield all files in a file, in order: the file itself, or the members if it is an archive.

    Args:
        location: a file on disk, or an object.
        wanted: members to open; all if None.

    Yields:
        Member name and content. The name is None for the file itself; names in nested archives are joined by `!`; a repeated name gets a `~2`.
        Read a content before requesting the next. A member that cannot be opened is a content with an error; so is an archive that cannot be
        read completely, after its members.

    Raises:
        OSError: the file itself cannot be opened.
    """
    with opened(location) as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        walk = _Walk(Budget(size), wanted)
        yield from walk.expand(Peekable(file), None, 0, on_disk=file)


@contextmanager
def open_content(location: Location, member: str | None) -> Iterator[Content]:
    """Yield one content by its name.

    Raises:
        OSError: the file is gone, or has no such member.
    """
    for name, content in contents(location, frozenset({member})):
        if name == member:
            yield content
            return
    raise FileNotFoundError(f"{location} has no member {member}")


class _Walk:
    """A traversal of a file on disk."""

    def __init__(self, budget: Budget, wanted: frozenset[str | None] | None) -> None:
        self._budget, self._wanted = budget, wanted
        self._sorted = sorted(w for w in wanted or () if w is not None)

    def expand(self, stream: Peekable, name: str | None, depth: int, on_disk: BinaryIO | None = None) -> Members:
        try:
            self._budget.enter(depth)
            head = stream.peek(512)
            opened = next((open_ for magic, open_ in COMPRESSION if head.startswith(magic)), None)
            if opened:
                yield from self.expand(Peekable(opened(stream, self._budget)), name, depth + 1)
            elif head[_TAR_MARK] == b"ustar":
                yield from self._tar(stream, name, depth)
            elif head.startswith((_ENTRY, _DIRECTORY[1])):
                yield from self._zip(stream, name, depth, on_disk)
            elif self._wanted is None or name in self._wanted:
                yield name, Content(stream, plain=on_disk is not None)
        except BROKEN as e:
            yield name, Content(stream, error=stream.fault or why(e))

    def _tar(self, stream: Peekable, name: str | None, depth: int) -> Members:
        names, members = _Names(name), TarMembers(stream, self._budget)
        for member in members:
            full = names.of(member.name)
            if self._may_hold(full):
                yield from self.expand(Peekable(member.stream), full, depth + 1)
        if fault := stream.fault or members.problems:
            yield name, Content(stream, error=fault)

    def _zip(self, stream: Peekable, name: str | None, depth: int, on_disk: BinaryIO | None) -> Members:
        with tempfile.SpooledTemporaryFile(max_size=_SPOOL_BYTES) as spool:
            file: Any = on_disk
            if file is None:
                file = spool
                shutil.copyfileobj(stream, spool, BLOCK)
            try:
                archive = zipfile.ZipFile(file)
            except BROKEN as e:
                yield from self._zip_by_entries(file, name, depth)
                yield name, Content(stream, error=f"{stream.fault or why(e)}: its directory is lost, its files were searched one by one")
                return
            names = _Names(name)
            separate, overlapping = _without_overlaps(archive.infolist())
            with archive:
                for entry in separate:
                    full = names.of(entry.filename) if not entry.is_dir() else None
                    if full is None or not self._may_hold(full):
                        continue
                    try:
                        with archive.open(_as_stored(entry)) as raw:
                            yield from self.expand(Peekable(self._unpacked(raw, entry)), full, depth + 1)
                    except BROKEN as e:
                        yield full, Content(stream, error=why(e))
            if overlapping:
                overlap, were = ("overlaps", "was") if overlapping == 1 else ("overlap", "were")
                yield name, Content(stream, error=f"{overlapping:,} of its members {overlap} others, which no program produces, and {were} not read")

    def _unpacked(self, raw: Readable, entry: zipfile.ZipInfo) -> Readable:
        """Return the unpacked bytes of a file in a zip archive, given its packed bytes."""
        packed = Part(raw, entry.compress_size)
        if entry.compress_type == zipfile.ZIP_STORED:
            return Checked(packed, entry.file_size, entry.CRC)
        return Checked(deflated(packed, self._budget), entry.file_size, entry.CRC)

    def _zip_by_entries(self, file: Any, name: str | None, depth: int) -> Members:  # noqa: ANN401  (a file, or one in memory)
        """Yield the files of a truncated zip archive by the header before each of them."""
        names, end = _Names(name), file.seek(0, os.SEEK_END)
        at = _find(file, 0, _ENTRY)
        while at >= 0:
            file.seek(at)
            head = file.read(_ENTRY_HEAD.size)
            if len(head) < _ENTRY_HEAD.size:
                return
            _, _, flags, method, _, _, checksum, size, whole, name_size, extra_size = _ENTRY_HEAD.unpack(head)
            stored_name = file.read(name_size).decode("utf-8" if flags & 0x800 else "cp437", "replace")
            begin = at + _ENTRY_HEAD.size + name_size + extra_size
            known = size not in _UNKNOWN_SIZE and not flags & 8 and begin + size <= end
            at = _find(file, begin + size if known else begin, _ENTRY)
            full = names.of(stored_name)
            if stored_name.endswith("/") or flags & 1 or method not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) or not self._may_hold(full):
                continue
            if not known:
                size = max(0, (at if at >= 0 else end) - begin)
            file.seek(begin)
            part: Readable = Part(file, size)
            if method == zipfile.ZIP_DEFLATED:
                part = deflated(part, self._budget)
            yield from self.expand(Peekable(Checked(part, whole, checksum) if known else part), full, depth + 1)

    def _may_hold(self, name: str) -> bool:
        if self._wanted is None or name in self._wanted:
            return True
        inside = name + SEPARATOR
        at = bisect_left(self._sorted, inside)
        return at < len(self._sorted) and self._sorted[at].startswith(inside)


class _Names:
    """Unique names for the members of one archive: a second member with the same name is evidence too."""

    def __init__(self, outer: str | None) -> None:
        self._outer, self._seen = outer, dict[str, int]()

    def of(self, name: str) -> str:
        """Return the member's name in the file on disk."""
        name = written(name)[:_LONGEST_NAME]
        while True:
            self._seen[name] = number = self._seen.get(name, 0) + 1
            if number == 1:
                break
            name = f"{name}~{number}"
        return f"{self._outer}{SEPARATOR}{name}" if self._outer else name


def _without_overlaps(entries: list[zipfile.ZipInfo]) -> tuple[list[zipfile.ZipInfo], int]:
    """Return the entries of a zip archive that overlap no other, in their order, and the number of others: thousands can share a few bytes."""
    kept, end = set[int](), -1
    for entry in sorted(entries, key=lambda e: e.header_offset):
        if entry.header_offset > end:
            kept.add(id(entry))
            end = entry.header_offset + _ENTRY_HEAD.size + len(entry.filename) + entry.compress_size - 1
    separate = [entry for entry in entries if id(entry) in kept]
    return separate, len(entries) - len(separate)


def _as_stored(entry: zipfile.ZipInfo) -> zipfile.ZipInfo:
    """Return the entry as if its packed bytes were the file: unpacking and checking here keeps what precedes a fault."""
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise NotImplementedError(f"its compression (method {entry.compress_type}) is unknown")
    stored = copy.copy(entry)
    stored.compress_type, stored.file_size = zipfile.ZIP_STORED, entry.compress_size
    del stored.CRC
    return stored


def _find(file: Any, at: int, mark: bytes) -> int:  # noqa: ANN401
    """Return the first position of a mark at or after a place; -1 if there is none."""
    file.seek(at)
    held, size = b"", _NEAR  # it is usually near, and there may be many
    while data := file.read(size):
        size = min(2 * size, BLOCK)
        held += data
        found: int = held.find(mark)
        if found >= 0:
            return at + found
        at += max(0, len(held) - len(mark) + 1)
        held = held[-len(mark) + 1 :]
    return -1


def written(name: str) -> str:
    r"""Return a name as it is stored: bytes that are not UTF-8 become `\xff`, because neither JSON nor Parquet can contain them."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def place_of(location: str) -> Location:
    """Return the file for a name that `written` returned, or the object for a URL."""
    path = place(location)
    if isinstance(path, Path) and "\\x" in location and not path.exists():
        raw = re.sub(rb"\\x([89a-f][0-9a-f])", lambda m: bytes((int(m[1], 16),)), location.encode())
        path = Path(os.fsdecode(raw))
    return path


class Text:
    """A content as UTF-8: UTF-16 is converted, a byte order mark removed. Offsets in rows count the bytes of this text.

    Attributes:
        encoding: `utf-8` (the bytes as they are), `utf-8-sig`, `utf-16`, or, without a mark, `utf-16-le` or `utf-16-be`.
    """

    def __init__(self, content: Content | Readable, encoding: str) -> None:
        self._content, self.encoding = content, encoding
        self._decoder = None if encoding == "utf-8" else codecs.getincrementaldecoder(encoding)(errors="replace")

    def read(self, size: int = BLOCK) -> bytes:
        """Return up to about `size` bytes; none at the end."""
        while data := self._content.read(size):
            if self._decoder is None:
                return data
            text = self.recode(data)
            if text:
                return text
        return self.recode(b"", final=True)

    def recode(self, data: bytes, *, final: bool = False) -> bytes:
        """Return the next bytes of the content as UTF-8."""
        return data if self._decoder is None else self._decoder.decode(data, final).encode()


def encoding_of(head: bytes) -> str:
    """Return the encoding by the byte order mark. UTF-16 without a mark is recognised because every second byte of a log is zero."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    if head.startswith(b"\xef\xbb\xbf"):
        return "utf-8-sig"
    sample = head[:_ENOUGH]
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    if max(even, odd) * 2 * _NEARLY_ALL[1] < len(sample) * _NEARLY_ALL[0] or min(even, odd) * _NEARLY_ALL[1] > max(even, odd):
        return "utf-8"
    return "utf-16-le" if odd > even else "utf-16-be"
