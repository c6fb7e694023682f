"""Decide for many lines together what need not be read: lines without any of many words, and records without a fact, which are only counted.

Records with the same tail, level and block that are only counted do not differ in anything that is kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from ahocorasick_rs import BytesAhoCorasick, MatchKind

from forensics.catalogue.counted_texts import CountedTexts
from forensics.catalogue.recogniser import Recogniser
from forensics.records.kafka_words import kafka_words
from forensics.records.vectorized.buffers import Buffer, Flags, Ints
from forensics.records.vectorized.line_fields import Header, Tail

#: The processor's vector instructions search for this many words at the speed of memory; twice as many take five times as long.
_AT_ONCE = 36
#: Parts with fewer bytes between them are searched together with the bytes between them.
_NEAR = 1_000
#: Fewer records are recognised one by one just as fast.
_FEW = 200
_LONGEST = 1_000
_BLANK, _LAST = ord(" "), ord("~")
_MAX_ENDINGS, _MAX_BLOCKS = 1 << 12, 64


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


class CountedRecords:
    """A finder of records that are only counted, by the blocks of their logger.

    Args:
        recogniser: knows the blocks.
        tails: known tails; the caller may append to them.
        headers: known headers; the caller may append to them.
    """

    def __init__(self, recogniser: Recogniser, tails: Sequence[Tail], headers: Sequence[Header]) -> None:
        self._recogniser, self._tails, self._headers = recogniser, tails, headers
        #: For each tail, the index in `_texts` of its logger's; -1 for none.
        self._of_tail: list[int] = []
        self._texts: list[tuple[CountedTexts, ...]] = []
        self._known: dict[str | None, int] = {}
        #: Matches the beginning of a message with a context prefix, which is removed before blocks are tried.
        self._prefixed = f"^(?:{'|'.join(map(re.escape, kafka_words().begins))})"

    def group_numbers(self, buffer: Buffer, begins: Ints, ends: Ints, tails: Ints, headers: Ints, endings: Ints) -> Ints:
        """Return a number for each of some lines with a fixed head, equal for lines that are counted as one; -1 for all others.

        Args:
            buffer: holds the lines.
            begins: first byte of each line.
            ends: the byte after the last of each line.
            tails: tail of each line, -1 for none.
            headers: header of each line.
            endings: number of the ending that follows the header of each line.
        """
        found = np.full(len(begins), -1, np.int64)
        self._learn()
        loggers = np.append(np.array(self._of_tail, np.int64), -1)[tails]
        if not (loggers >= 0).any():
            return found
        keys, key = np.unique(headers * _MAX_ENDINGS + endings, return_inverse=True)
        heads = [self._headers[k // _MAX_ENDINGS].endings[k % _MAX_ENDINGS] for k in keys.tolist()]
        sizes = np.append(np.array([tail.size for tail in self._tails], np.int64), 0)
        starts, stops = begins + np.array([h.end for h in heads], np.int64)[key], ends - sizes[tails]
        may_be = (loggers >= 0) & (stops - starts > 1) & (stops - starts <= _LONGEST)
        may_be &= ~np.array([self._recogniser.is_error(h.level) for h in heads], bool)[key]
        for logger in np.unique(loggers[may_be]).tolist():
            which = np.flatnonzero(may_be & (loggers == logger))
            if len(which) < _FEW:
                continue
            texts = buffer.parts(starts[which], stops[which])
            plain = _plain(texts)
            if not plain.all():
                which, texts = which[plain], texts.filter(pa.array(plain))
            for number, block in enumerate(self._texts[logger]):
                mine = np.flatnonzero(_matching(texts, block.expression))
                mine = mine[~self._doubtful(texts if len(mine) == len(texts) else texts.take(pa.array(mine)), block)]
                at = which[mine]
                found[at] = (tails[at] * len(keys) + key[at]) * _MAX_BLOCKS + number
        return found

    def _doubtful(self, texts: pa.Array, block: CountedTexts) -> Flags:
        """Return for each text whether another block of the logger may match too, or a context precedes the message."""
        # An expression for a whole text usually fails early, so it is faster than a word search; one combined expression is faster than several.
        whole = [rival.expression for rival in block.rivals if rival.expression]
        words = [re.escape(word) for rival in block.rivals if not rival.expression for word in rival.words]
        found = _matching(texts, "|".join((*whole, self._prefixed)))
        return found | _matching(texts, "|".join(words)) if words else found

    def _learn(self) -> None:
        """Look up tails that were added since the last call."""
        for tail in self._tails[len(self._of_tail) :]:
            logger = tail.logger if tail.size and tail.thread is None else None
            if logger not in self._known:
                blocks = self._recogniser.counted_texts(logger)
                self._known[logger] = len(self._texts) if blocks else -1
                self._texts += [blocks] if blocks else []
            self._of_tail.append(self._known[logger])


def _plain(texts: pa.LargeBinaryArray) -> Flags:
    """Return for each text whether it has only printable ASCII characters, and no blank at either end.

    For such texts all decoders agree on letters, digits and blanks, and nothing is stripped.
    """
    _, offsets, data = texts.buffers()
    borders = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    octets = np.frombuffer(data, np.uint8)[borders[0] : borders[-1]]
    starts, stops = borders[:-1] - borders[0], borders[1:] - borders[0]
    plain: Flags = (octets[starts] != _BLANK) & (octets[stops - 1] != _BLANK)
    odd = np.flatnonzero((octets < _BLANK) | (octets > _LAST))
    plain[np.searchsorted(stops, odd, side="right")] = False
    return plain


def _matching(texts: pa.Array, expression: str) -> Flags:
    found: Flags = np.array(pc.match_substring_regex(texts, expression).to_numpy(zero_copy_only=False), bool)
    return found
