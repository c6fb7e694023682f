"""Keep what has been read of messages that repeat, and find new ones. New messages of a frequent source line are read together."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from forensics.extract.classification import Content
from forensics.records.line_reader import Record
from forensics.records.vectorized.buffers import Buffer, Flags, Ints

#: Number of messages whose reading is kept, because a log often repeats the messages of the previous few megabytes.
_MAX_KEPT = 20_000
#: Maximum number of hashes kept of messages that have occurred once.
_MAX_SEEN_ONCE = 200_000
#: If this share of a source line's messages was new in two chunks, all its messages count as new for this number of chunks.
_NEARLY_ALL, _FOR_CHUNKS = 0.95, 8


class MessageCache:
    """What has been read of messages, by the number of the text before each message and the bytes after its time."""

    def __init__(self) -> None:
        #: None for a text that is not a record.
        self._kept: dict[tuple[int, bytes], Content | None] = {}
        #: Hashes of messages that have occurred once; a collision only costs time.
        self._seen_once: set[int] = set()
        #: For each source line (by tail), the number of chunks in which nearly all its messages were new; and the chunk up to which that is assumed.
        self._fresh: dict[int, int] = {}
        self._always_new: dict[int, int] = {}
        self._chunks = 0

    def content(self, header: int, text: bytes, read: Callable[[], Record | None]) -> Content | None:
        """Return what records with this text have in common; the same object as for an earlier one.

        Args:
            header: number of the text before it.
            text: all bytes after the time.
            read: reads the record if it has not been read before.
        """
        key = header, text
        if key not in self._kept:
            record = read()
            if len(self._kept) >= _MAX_KEPT:
                self._kept.clear()
            self._kept[key] = Content(record) if record is not None else None
        return self._kept[key]

    def new_among(self, buffer: Buffer, which: Flags, begins: Ints, stops: Ints, headers: Ints, tails: Ints) -> Flags:
        """Return for each message whether it is new. Messages of a source line that hardly ever repeats count as new for a while, without a check.

        Args:
            buffer: holds the messages.
            which: the messages to check; the others are not new.
            begins: first byte of each message, after its time.
            stops: the byte after the last of each message.
            headers: number of the text before each message.
            tails: number of the text after each message.
        """
        self._chunks += 1
        self._always_new = {tail: until for tail, until in self._always_new.items() if until > self._chunks}
        asked = np.flatnonzero(which & ~np.isin(tails, np.array([*self._always_new], np.int64)))
        texts = zip(*(c[asked].tolist() for c in (headers, begins, stops)), strict=True)
        new = np.fromiter((self._is_new(header, buffer.slice(begin, stop)) for header, begin, stop in texts), bool, len(asked))
        of_tail, new_of_tail = np.bincount(tails[asked]), np.bincount(tails[asked], new)
        for tail in np.flatnonzero((of_tail > 0) & (new_of_tail >= _NEARLY_ALL * of_tail)).tolist():
            self._fresh[tail] = self._fresh.get(tail, 0) + 1
            if self._fresh[tail] > 1:  # in the first chunk every message is new
                self._always_new[tail] = self._chunks + _FOR_CHUNKS
        found = which.copy()
        found[asked] = new
        return found

    def _is_new(self, header: int, text: bytes) -> bool:
        """Return True if the text has not occurred before. From its second occurrence on, it is one that is kept."""
        key = header, text
        if key in self._kept or (mark := hash(key)) in self._seen_once:
            return False
        if len(self._seen_once) >= _MAX_SEEN_ONCE:
            self._seen_once.clear()
        self._seen_once.add(mark)
        return True
