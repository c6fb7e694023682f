"""Cut evidence into splits, one or more for each task.

A split is a byte range of a plain file or of a large packed text, or else the whole of what is packed. The rows do not depend on how the bytes
are cut.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import heapreplace

from forensics.evidence.containers import place_of
from forensics.inventory.evidence import COUNT_BLOCK, LOG, Evidence, Format, Place, TextForm

RANGE_BYTES = 128 << 20
#: A position in a stream consists of the file's ordinal and, in this many bits, the byte in the file.
FILE_BITS = 40
#: A smaller range is not worth a task of its own.
_MIN_BYTES = 4 << 20
#: A packed text is unpacked from its beginning for each of its ranges: a smaller one is not cut, and none is cut into more ranges than this.
_MIN_PACKED, _MAX_PACKED = 32 << 20, 8


def byte_of(stream_pos: int) -> int:
    """Return the byte of its file that a position in a stream refers to."""
    return stream_pos & ((1 << FILE_BITS) - 1)


@dataclass(frozen=True)
class FileSplit:
    """A part of a file, and the properties of the file that its task needs.

    Attributes:
        path: the file's name in the case.
        head_id: see `evidence.Fingerprint`.
        zone: time zone of its times.
        text: how its bytes become a text.
        format: how the text is read; a file that is not a log is one split.
        start, end: bytes of the text; `end` is None for all that follows.
        breaks: number of newlines before `start`.
        base: position of the file's first byte in its stream.
    """

    path: str
    place: Place
    process_id: str | None
    file_id: str
    head_id: bytes
    zone: str
    text: TextForm
    format: Format
    base: int
    start: int = 0
    end: int | None = None
    breaks: int = 0

    @property
    def stop(self) -> int:
        """Return the byte after its last one."""
        return self.text.size if self.end is None else self.end

    @property
    def is_range(self) -> bool:
        """Return True if this is only a part of its text."""
        return self.start > 0 or self.end is not None

    @classmethod
    def whole(cls, e: Evidence) -> FileSplit:
        """Return a file as one split."""
        return cls(
            e.path, e.place, e.process, e.fingerprint.file_id or "", e.fingerprint.head_id, e.times.zone or "UTC", replace(e.text, newlines=()), e.format,
            (e.origin.ordinal or 0) << FILE_BITS,
        )  # fmt: skip


def plan(evidence: Sequence[Evidence], range_bytes: int = RANGE_BYTES, cores: int = 1) -> list[tuple[FileSplit, ...]]:
    """Cut evidence into partitions of about equal size.

    Args:
        evidence: files of status `read`.
        range_bytes: largest size of a range of a plain file; smaller files share a partition.
        cores: number of partitions that are read in parallel. If the evidence has fewer ranges, it is cut smaller so that no core is idle. So is a
            packed log that would take one core longer than the other partitions take.

    Returns:
        Partitions, the largest first. Members of one archive stay together, because it is read once.
    """
    plain = sum(e.text.size for e in evidence if e.text.plain)
    rounds = -(-plain // (cores * range_bytes)) or 1
    range_bytes = min(range_bytes, max(_MIN_BYTES, -(-plain // (cores * rounds))))
    loads: list[tuple[int, list[FileSplit]]] = []
    small: list[FileSplit] = []
    by_archive: dict[str, list[FileSplit]] = {}
    share = -(-sum(e.text.size for e in evidence) // cores)
    for e in evidence:
        split = FileSplit.whole(e)
        if not e.text.plain and _may_be_cut(e):
            loads.extend((stop.stop - stop.start, [stop]) for stop in _cut(split, e, _packed_range(e.text.size, share)))
        elif not e.text.plain:
            by_archive.setdefault(e.place.location, []).append(split)
        elif e.text.size <= range_bytes:
            small.append(split)
        elif not _may_be_cut(e):
            loads.append((e.text.size, [split]))
        else:
            loads.extend((stop.stop - stop.start, [stop]) for stop in _cut(split, e, range_bytes))
    loads.extend((sum(p.text.size for p in splits), splits) for splits in by_archive.values())
    loads.extend(_shared(small, range_bytes))
    return [tuple(splits) for _, splits in sorted(loads, key=lambda x: -x[0])]


def _shared(small: Sequence[FileSplit], range_bytes: int) -> list[tuple[int, list[FileSplit]]]:
    """Pack small files into as few partitions as they need: each file, the largest first, goes to the smallest partition."""
    shares: list[tuple[int, int, list[FileSplit]]] = [(0, n, []) for n in range(-(-sum(p.text.size for p in small) // range_bytes) or 1)]
    for split in sorted(small, key=lambda p: -p.text.size):
        load, n, splits = shares[0]
        splits.append(split)
        heapreplace(shares, (load + split.text.size, n, splits))
    return [(load, splits) for load, _, splits in shares if splits]


def _may_be_cut(e: Evidence) -> bool:
    """Return True if any of its lines can be read without those before it and, for packed evidence, if it is one whole text."""
    alone = e.text.plain or (e.place.member is None and e.text.encoding == "utf-8" and e.note is None)
    profile = e.format.profile
    return alone and e.format.kind == LOG and not (profile.zero_runs or profile.headings) and profile.document is None


def _packed_range(size: int, share: int) -> int:
    """Return the size of the ranges of a packed text, of which each core gets `share` bytes: whole blocks, whose newlines are known."""
    count = min(size // max(share, 1) + (size % max(share, 1) > share // 2), size // _MIN_PACKED, _MAX_PACKED)
    return -(-size // (max(count, 1) * COUNT_BLOCK)) * COUNT_BLOCK


def _cut(split: FileSplit, e: Evidence, range_bytes: int) -> Iterator[FileSplit]:
    """Yield ranges of a text, each with the number of newlines before it."""
    for start in range(0, e.text.size, range_bytes):
        end = start + range_bytes
        yield replace(split, start=start, end=end if end < e.text.size else None, breaks=_breaks_before(e, start))


def _breaks_before(e: Evidence, place: int) -> int:
    blocks, rest = divmod(place, COUNT_BLOCK)
    count = sum(e.text.newlines[:blocks])
    if rest:
        with place_of(e.place.location).open("rb") as file:
            file.seek(blocks * COUNT_BLOCK)
            count += file.read(rest).count(b"\n")
    return count
