"""Find messages that have not occurred before. New messages of a frequent source line are read together; repeated ones are read once and kept."""

from __future__ import annotations

from collections.abc import Container

import numpy as np

from forensics.records.vectorized.buffers import Buffer, Flags, Ints

#: Maximum number of hashes kept of messages that have occurred once.
_MAX_SEEN_ONCE = 200_000
#: If this share of a source line's messages was new in two chunks, all its messages count as new for this number of chunks.
_NEARLY_ALL, _FOR_CHUNKS = 0.95, 8


class NewMessages:
    """A memory of messages, which distinguishes new messages from those that have occurred before.

    Args:
        kept: messages that are kept whole, by header and bytes.
    """

    def __init__(self, kept: Container[tuple[int, bytes]]) -> None:
        self._kept = kept
        #: Hashes of messages that have occurred once; a collision only costs time.
        self._seen_once: set[int] = set()
        #: For each source line (by tail), the number of chunks in which nearly all its messages were new; and the chunk up to which that is assumed.
        self._fresh: dict[int, int] = {}
        self._always_new: dict[int, int] = {}
        self._chunks = 0

    def among(self, buffer: Buffer, which: Flags, begins: Ints, stops: Ints, headers: Ints, tails: Ints) -> Flags:
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
