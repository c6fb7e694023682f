"""Find which parts of a buffer contain one of many words, if few parts do."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np
import pyarrow.compute as pc
from ahocorasick_rs import BytesAhoCorasick, MatchKind

from forensics.records.vectorized.buffers import Buffer, Flags, Ints

#: The processor's vector instructions search for this many words at the speed of memory; twice as many take five times as long.
_AT_ONCE = 36
#: Parts with fewer bytes between them are searched together with the bytes between them.
_NEAR = 1_000


class WordSearch:
    """A search for words.

    Args:
        words: ASCII words.
    """

    def __init__(self, words: Iterable[str]) -> None:
        self._words = sorted(words)
        self._sets = [
            BytesAhoCorasick([word.encode() for word in self._words[i : i + _AT_ONCE]], matchkind=MatchKind.LeftmostFirst)
            for i in range(0, len(self._words), _AT_ONCE)
        ]  # fmt: skip

    def holding(self, buffer: Buffer, begins: Ints, stops: Ints) -> Flags:
        """Return for each part whether it contains a word.

        Args:
            buffer: the bytes.
            begins: first byte of each part.
            stops: the byte after its last, not after the next part's first.
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
        # A match may be between two parts, or overlap the border of one.
        some = np.flatnonzero(found)
        if len(some):
            pattern = "|".join(map(re.escape, self._words))
            found[some] = pc.match_substring_regex(buffer.parts(begins[some], stops[some]), pattern).to_numpy(zero_copy_only=False)
        return found
