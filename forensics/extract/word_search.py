"""Which parts of a buffer hold one of many words, where hardly any part does."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np
import pyarrow.compute as pc
from ahocorasick_rs import BytesAhoCorasick, MatchKind

from forensics.records.vectorized.buffers import Buffer, Flags, Ints

#: So many words are looked for at the speed of memory, by the processor's instructions for vectors; twice as many take five times as long.
_AT_ONCE = 36
#: Parts with fewer bytes between them are searched in one go, with what stands between them.
_NEAR = 1_000


class WordSearch:
    """Looks for words.

    Args:
        words: of ASCII.
    """

    def __init__(self, words: Iterable[str]) -> None:
        self._words = sorted(words)
        self._sets = [
            BytesAhoCorasick([word.encode() for word in self._words[i : i + _AT_ONCE]], matchkind=MatchKind.LeftmostFirst)
            for i in range(0, len(self._words), _AT_ONCE)
        ]  # fmt: skip

    def holding(self, buffer: Buffer, begins: Ints, stops: Ints) -> Flags:
        """Which parts hold a word.

        Args:
            buffer: the bytes.
            begins: first byte of each part.
            stops: the byte after its last, not behind the next one's first.
        """
        found: Flags = np.zeros(len(begins), bool)
        if not len(begins):
            return found
        gaps = np.flatnonzero(begins[1:] - stops[:-1] >= _NEAR)
        whole = buffer.view
        spans = list(zip(begins[np.append(0, gaps + 1)].tolist(), stops[np.append(gaps, len(stops) - 1)].tolist(), strict=True))
        for words in self._sets:
            places = [(begin + first, begin + last) for begin, stop in spans for _, first, last in words.find_matches_as_indexes(whole[begin:stop])]
            if places:
                first, last = np.array(places, np.int64).T
                part = np.minimum(np.searchsorted(stops, first, "right"), len(stops) - 1)
                found[part[last > begins[part]]] = True
        # A word may have been found between two parts, or hang over into one.
        some = np.flatnonzero(found)
        if len(some):
            pattern = "|".join(map(re.escape, self._words))
            found[some] = pc.match_substring_regex(buffer.parts(begins[some], stops[some]), pattern).to_numpy(zero_copy_only=False)
        return found
