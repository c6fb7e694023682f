"""Read snapshots like logs: convert their lines to chunks of observations."""

from __future__ import annotations

from collections.abc import Iterator

from forensics.errors import reason_of
from forensics.evidence.streams import Readable
from forensics.extract.chunks import Chunk
from forensics.records.line_reader import decode
from forensics.snapshots.detection import READERS
from forensics.snapshots.observation import Broken, Line, Observation, Strange

_MAX_OBSERVATIONS = 4_096
_MAX_BYTES = 4 << 20
_BLOCK = 64 << 10


class SnapshotReader:
    """A reader of a snapshot.

    Args:
        kind: kind of snapshot; see `snapshots.detection`.
    """

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._chunk = Chunk()
        self._begin()

    def _begin(self) -> Chunk:
        """Begin a chunk; return the one before."""
        before = self._chunk
        self._found: list[Observation] = []
        self._times: list[int] = []
        self._chunk, self._bytes = Chunk(found=self._found, times=self._times, in_order=False), 0
        return before

    def read(self, stream: Readable) -> Iterator[Chunk]:
        """Yield chunks of all observations."""
        try:
            for item in READERS[self._kind](self._lines(stream)):
                match item:
                    case Observation():
                        self._take(item)
                    case Strange():
                        self._chunk.see_unfit(item.line, item.text.encode())
                    case Broken():
                        self._chunk.error = item.reason
                if len(self._found) >= _MAX_OBSERVATIONS or self._bytes >= _MAX_BYTES:
                    yield self._begin()
        except Exception as e:  # observations before the fault are kept
            self._chunk.error = reason_of(e)
        yield self._begin()

    def _take(self, item: Observation) -> None:
        self._found.append(item)
        self._bytes += len(item.raw)
        self._chunk.layouts[self._kind] += 1
        if item.ts is not None:
            self._times.append(item.ts)

    def _lines(self, stream: Readable) -> Iterator[Line]:
        """Yield the lines of a text, including a last line without a line break."""
        at = number = 0
        partial: list[bytes] = []
        while data := stream.read(_BLOCK):
            *whole, rest = data.split(b"\n")
            for raw in whole:
                raw, partial = b"".join((*partial, raw)), []
                number += 1
                yield self._line(number, at, raw + b"\n")
                at += len(raw) + 1
            partial.append(rest)
        if raw := b"".join(partial):
            yield self._line(number + 1, at, raw)

    def _line(self, number: int, at: int, raw: bytes) -> Line:
        self._chunk.lines += 1
        return Line(number, at, raw, decode(raw.rstrip(b"\r\n")))
