"""Which messages were not met before: those of a line of source that are many are read together, what a log says again is read once and kept."""

from __future__ import annotations

from collections.abc import Container

import numpy as np

from forensics.records.vectorized.buffers import Buffer, Flags, Ints

#: So many messages that were met once are remembered, as numbers.
_MOST_MET = 200_000
#: Of a line of source of which so large a share was new twice, nothing is asked for so many chunks.
_NEARLY_ALL, _FOR_CHUNKS = 0.95, 8


class NewMessages:
    """Tells new messages from those that were met before.

    Args:
        kept: messages that are kept whole, by header and bytes.
    """

    def __init__(self, kept: Container[tuple[int, bytes]]) -> None:
        self._kept = kept
        #: Hashes of messages that were met once; one that is taken for another costs time alone.
        self._met: set[int] = set()
        #: Lines of source, by tail: in how many chunks nearly all that they printed was new; and up to which chunk that is taken for granted.
        self._fresh: dict[int, int] = {}
        self._always_new: dict[int, int] = {}
        self._chunks = 0

    def among(self, buffer: Buffer, which: Flags, begins: Ints, stops: Ints, headers: Ints, tails: Ints) -> Flags:
        """Which of some messages of a chunk are new. Where hardly one of a line of source ever was met before, that is not asked of each for a while.

        Args:
            buffer: holds the messages.
            which: the messages that are asked for; the others are not new.
            begins: first byte of each, behind its time.
            stops: the byte after the last of each.
            headers: what is before each, by number.
            tails: what is behind each, by number.
        """
        self._chunks += 1
        self._always_new = {tail: until for tail, until in self._always_new.items() if until > self._chunks}
        asked = np.flatnonzero(which & ~np.isin(tails, np.array([*self._always_new], np.int64)))
        texts = zip(*(c[asked].tolist() for c in (headers, begins, stops)), strict=True)
        new = np.fromiter((self._is_new(header, buffer.slice(begin, stop)) for header, begin, stop in texts), bool, len(asked))
        of_tail, new_of_tail = np.bincount(tails[asked]), np.bincount(tails[asked], new)
        for tail in np.flatnonzero((of_tail > 0) & (new_of_tail >= _NEARLY_ALL * of_tail)).tolist():
            self._fresh[tail] = self._fresh.get(tail, 0) + 1
            if self._fresh[tail] > 1:  # in the first chunk everything is new
                self._always_new[tail] = self._chunks + _FOR_CHUNKS
        found = which.copy()
        found[asked] = new
        return found

    def _is_new(self, header: int, text: bytes) -> bool:
        """Whether a text was not met before; from the second time on it is one that is kept."""
        key = header, text
        if key in self._kept or (mark := hash(key)) in self._met:
            return False
        if len(self._met) >= _MOST_MET:
            self._met.clear()
        self._met.add(mark)
        return True
