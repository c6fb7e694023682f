"""Read the members of a tar archive, header by header, with every length bounded.

Python's `tarfile` trusts lengths: a size of 10^20 in a pax header, or a sparse file of a petabyte, never ends. Here a header has 512 bytes, extended
headers have a maximum length, and data is read only as far as there is any. Blocks that are not a header are skipped and counted, because evidence
may follow them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from forensics.evidence.streams import BLOCK, Budget, Lost, Part, Readable, fault_of, lost_of

_HEADER = 512
#: Maximum length of long names and pax records, and maximum number of parts of a sparse file.
_MAX_EXTENSION, _MAX_PARTS = 1 << 20, 50_000
_MAX_SIZE = 1 << 63
_LONG_NAME, _LONG_LINK, _PAX, _GLOBAL_PAX, _SPARSE = b"L", b"K", b"xX", b"g", b"S"
#: Types that have data: files and unknown types. Links, devices and folders have none.
_FILES, _WITHOUT_DATA = b"0\0" + b"7" + _SPARSE, b"123456"
_OCTAL = re.compile(rb"[ \0]*+([0-7]*+)[ \0]*")
_NUMBER = re.compile(rb"[0-9]{1,20}")
_RECORD = re.compile(rb"([0-9]{1,7}) ")
_STRUCT, _IN_HEADER, _IN_EXTENSION = 24, 4, 21


@dataclass(frozen=True)
class Member:
    """A file of an archive. Read it before requesting the next."""

    name: str
    stream: Readable


@dataclass(frozen=True)
class _Header:
    name: bytes
    kind: int
    size: int
    block: bytes

    @classmethod
    def of(cls, block: bytes) -> _Header | None:
        """Return the header in a block; None if its checksum is wrong or its size is not a number."""
        checksum = _number(block[148:156])
        if checksum is None:
            return None
        unsigned = sum(block) - sum(block[148:156]) + 8 * 0x20
        if checksum not in (unsigned, unsigned - 256 * sum(byte > 127 for byte in (*block[:148], *block[156:]))):  # noqa: PLR2004  (signed bytes)
            return None
        size = _number(block[124:136])
        if size is None or size < 0:
            return None
        name = _text(block[:100])
        if block[257:263] == b"ustar\0" and (prefix := _text(block[345:500])):
            name = prefix + b"/" + name
        return cls(name, block[156], size, block)


class TarMembers:
    """The files of a tar archive, in their order.

    Args:
        stream: the stream of the archive.
        budget: the budget of the archive on disk; gaps of sparse files count.

    Attributes:
        passed_over: bytes that are neither a file nor its header.
        faults: other errors in headers, each once.
    """

    def __init__(self, stream: Readable, budget: Budget) -> None:
        self._stream, self._budget = stream, budget
        self.passed_over = 0
        self.faults: list[str] = []

    @property
    def problems(self) -> str:
        """Return what is wrong with the archive; empty if nothing is."""
        over = f"{self.passed_over:,} bytes of the archive are neither a file nor its header, and were skipped" if self.passed_over else ""
        return "; ".join([*self.faults, over] if over else self.faults)

    def __iter__(self) -> Iterator[Member]:
        name, records = b"", dict[bytes, bytes]()
        while block := _exactly(self._stream, _HEADER):
            header = _Header.of(block) if len(block) == _HEADER and any(block) else None
            if header is None:
                self.passed_over += len(block) if any(block) else 0
                continue
            if header.kind in _LONG_NAME:
                name = _text(self._extension(header.size)) or name
            elif header.kind in _PAX:
                records = self._records(self._extension(header.size))
            elif header.kind in _LONG_LINK + _GLOBAL_PAX:
                self._skip(header.size)
            else:
                yield from self._member(header, name, records)
                name, records = b"", {}

    def _member(self, header: _Header, long_name: bytes, records: dict[bytes, bytes]) -> Iterator[Member]:
        size = header.size
        if b"size" in records:
            real_size = _decimal(records[b"size"])
            if real_size is None:
                self._note("a size in an extended header is not a number")
            else:
                size = real_size
        name = _text(records.get(b"GNU.sparse.name", records.get(b"path", b""))) or long_name or header.name
        if header.kind in _WITHOUT_DATA:
            return
        map_, whole, used = self._map(header, records, size)
        stored = Part(self._stream, size - used, self._stream)
        is_file = header.kind in _FILES and not name.endswith(b"/")
        if is_file:
            data: Readable = stored if map_ is None else _Sparse(stored, map_, whole, self._budget)
            yield Member(name.decode("utf-8", "surrogateescape"), data)
        while stored.read(BLOCK):
            pass
        if stored.fault:
            self._note("the archive ends in the middle of a file")
        else:
            _exactly(self._stream, -size % _HEADER)

    def _map(self, header: _Header, records: dict[bytes, bytes], size: int) -> tuple[list[tuple[int, int]] | None, int, int]:
        """Return the positions of a sparse file's data, the file's size, and the number of archive bytes with this map. The positions are None for
        a file without gaps, and if the map is wrong: then the data is read contiguously.
        """
        parts: list[int | None] = []
        used = 0
        if header.kind in _SPARSE:
            whole = _number(header.block[483:495])
            parts = _numbers(header.block, 386, _IN_HEADER)
            more = header.block[482]
            while more and len(parts) < _MAX_PARTS:
                block = _exactly(self._stream, _HEADER)
                if len(block) < _HEADER:
                    break
                parts += _numbers(block, 0, _IN_EXTENSION)
                more = block[504]
        elif records.get(b"GNU.sparse.major") == b"1":
            whole = _decimal(records.get(b"GNU.sparse.realsize", b""))
            parts, used = self._leading_map(size)
        elif b"GNU.sparse.map" in records or b"GNU.sparse.size" in records:
            whole = _decimal(records.get(b"GNU.sparse.size", records.get(b"GNU.sparse.realsize", b"")))
            parts = [_decimal(text) for text in records.get(b"GNU.sparse.map", b"").split(b",")[: 2 * _MAX_PARTS]]
        else:
            return None, size, 0
        map_, end = [], 0
        for offset, length in zip(parts[::2], parts[1::2], strict=False):
            if offset is None or length is None or offset < end or (whole is not None and offset + length > whole):
                break
            end = offset + length
            map_.append((offset, length))
        wrong = whole is None or whole < 0 or 2 * len(map_) != len(parts) or sum(length for _, length in map_) != size - used
        if wrong:
            self._note("the map of a sparse file is wrong: its data is read without its gaps")
        return (None if wrong else map_), whole or 0, used

    def _leading_map(self, size: int) -> tuple[list[int | None], int]:
        """Return the numbers of a map before a file's data (GNU 1.0), and the bytes that it takes."""
        data, used, wanted = b"", 0, 1
        while used + _HEADER <= min(size, _MAX_EXTENSION):
            block = _exactly(self._stream, _HEADER)
            used += len(block)
            data += block
            lines = data.split(b"\n") if used == _HEADER or data.count(b"\n") >= wanted else []
            if lines:
                count = _decimal(lines[0])
                if count is None or count > _MAX_PARTS:
                    return [None], used
                wanted = 2 * count + 1
                if len(lines) > wanted:
                    return [_decimal(line) for line in lines[1:wanted]], used
            if len(block) < _HEADER:
                break
        return [None], used

    def _records(self, data: bytes) -> dict[bytes, bytes]:
        """Return the pairs of an extended header, up to a fault."""
        found: dict[bytes, bytes] = {}
        sparse: list[bytes] = []
        at = 0
        while at < len(data) and data[at]:
            length = _RECORD.match(data, at)
            end = at + int(length[1]) if length else 0
            if length is None or end <= length.end() or end > len(data) or data[end - 1 : end] != b"\n":
                self._note("an extended header is damaged")
                break
            key, _, value = data[length.end() : end - 1].partition(b"=")
            if key in (b"GNU.sparse.offset", b"GNU.sparse.numbytes"):  # GNU 0.0 has a separate key for each part of the map
                sparse.append(value)
            else:
                found[key] = value
            at = end
        if sparse:
            found.setdefault(b"GNU.sparse.map", b",".join(sparse))
        return found

    def _extension(self, size: int) -> bytes:
        """Return the data after a header that extends the next; none if it is longer than any program writes."""
        if size > _MAX_EXTENSION:
            self._note("a name or an extended header is longer than a megabyte")
            self._skip(size)
            return b""
        data = _exactly(self._stream, size)
        _exactly(self._stream, -size % _HEADER)
        return data

    def _skip(self, size: int) -> None:
        left = size + -size % _HEADER
        while left > 0 and (data := self._stream.read(min(BLOCK, left))):
            left -= len(data)

    def _note(self, fault: str) -> None:
        if fault not in self.faults:
            self.faults.append(fault)


class _Sparse:
    """A sparse file whose gaps are zero bytes; see `Inflating` for its attributes."""

    def __init__(self, stored: Part, map_: list[tuple[int, int]], size: int, budget: Budget) -> None:
        self._stored, self._budget = stored, budget
        self._parts, self._size, self._at = map_[::-1], size, 0
        self.fault = ""

    @property
    def lost(self) -> Lost:
        return lost_of(self._stored) if fault_of(self._stored) else Lost(self._size - self._at, None, "")

    def read(self, size: int = -1, /) -> bytes:
        size = BLOCK if size < 0 else min(size, BLOCK)
        while self._parts and self._at >= sum(self._parts[-1]):
            self._parts.pop()
        if self.fault or size == 0 or self._at >= self._size:
            return b""
        begin, length = self._parts[-1] if self._parts else (self._size, 0)
        if self._at < begin:
            data, self.fault = self._budget.take(bytes(min(size, begin - self._at)))
        else:
            data = self._stored.read(min(size, begin + length - self._at))
            self.fault = fault_of(self._stored)
        self._at += len(data)
        return data


def _exactly(stream: Readable, size: int) -> bytes:
    """Return `size` bytes; fewer at the end."""
    data = stream.read(size) if size else b""
    while 0 < len(data) < size and (more := stream.read(size - len(data))):
        data += more
    return data


def _number(field: bytes) -> int | None:
    """Return the number in a header's field, in octal digits or in base 256; None if it is not a number."""
    if field[0] in (0x80, 0xFF):
        return int.from_bytes(field if field[0] == 0xFF else field[1:], "big", signed=field[0] == 0xFF)  # noqa: PLR2004
    found = _OCTAL.fullmatch(field.partition(b"\0")[0])
    return int(found[1] or b"0", 8) if found else None


def _numbers(block: bytes, at: int, count: int) -> list[int | None]:
    """Return offsets and lengths of the parts of an old sparse file, up to the first empty one."""
    found: list[int | None] = []
    for begin in range(at, at + count * _STRUCT, _STRUCT):
        if not any(block[begin : begin + _STRUCT].strip(b"\0 ")):
            break
        found += [_number(block[begin : begin + 12]), _number(block[begin + 12 : begin + _STRUCT])]
    return found


def _decimal(text: bytes) -> int | None:
    number = int(text) if _NUMBER.fullmatch(text) else None
    return number if number is not None and number < _MAX_SIZE else None


def _text(field: bytes) -> bytes:
    return field.partition(b"\0")[0]
