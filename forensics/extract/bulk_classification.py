"""Classify many messages together: those that differ only in their numbers and IDs, and those that are only counted.

In most logs most messages are new, because offsets, durations and the IDs of members differ. What is left of a message without these is its *template*. One
message of each template is classified. In all others, each capture begins and ends at the same distance from the same number or ID
(`PatternFacts.ignores_numbers`), so columns of captures are cut out of the bytes. In this module, IDs are numbers too.

Records with the same tail, level and block that are only counted do not differ in anything that is kept.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import regex

from forensics.catalogue.converters import CONVERTERS, NoValue
from forensics.catalogue.counted_texts import CountedTexts
from forensics.catalogue.recogniser import Recogniser
from forensics.extract.chunks import EVENT, Classifier, Content, Values, array_of, places_of
from forensics.records.kafka_words import kafka_words
from forensics.records.line_reader import Record
from forensics.records.vectorized.buffers import Buffer, Flags, Ints, Octets, slices
from forensics.records.vectorized.line_fields import Header, Tail
from forensics.schema import CAPTURE_TYPES

#: A template is worth learning when this many of its messages have occurred.
_ENOUGH = 3
_MAX_TEMPLATES, _MAX_COUNTED = 20_000, 200_000
#: Numbers with at most this many digits fit in 64 bits.
_DIGITS = 18
_ZERO, _CLOSING, _COLON, _BLANK, _LAST, _DASH = b"0]: ~-"
#: Digits of the parts of an ID, which dashes separate.
_PARTS = (8, 4, 4, 4, 12)
_ID = sum(_PARTS) + len(_PARTS) - 1
_OTHER, _HEXADECIMAL, _LETTER = range(3)
_KINDS = np.array([_HEXADECIMAL if chr(b) in "0123456789abcdef" else _LETTER if chr(b).isalpha() else _OTHER for b in range(256)])
_MAX_PREFIXES = 4
_INTEGER = regex.compile("-?[0-9]+")
#: Fewer records of one logger that may only be counted, or longer ones, are classified one by one just as fast.
_FEW_COUNTED, _LONGEST_COUNTED = 200, 1_000
_MAX_ENDINGS, _MAX_BLOCKS = 1 << 12, 64


class _Place(NamedTuple):
    """A position in the messages of a template: the number that it follows (0: the beginning of the message), and the distance from that."""

    number: int
    distance: int


@dataclass(frozen=True, slots=True)
class _Template:
    """What messages have in common that differ only in their numbers.

    Attributes:
        content: the content of one of them, without captures that contain a number.
        kind: its kind: `EVENT` or `COUNT`.
        size: bytes before the message without its prefixes.
        parts: where each capture that contains a number begins and ends; none if messages are only counted.
    """

    content: Content
    kind: int
    size: int
    parts: Mapping[str, tuple[_Place, _Place]]


class BulkClassification(NamedTuple):
    """The classification of messages.

    Attributes:
        contents: contents of their templates.
        which: the index of each message's content; -1 if it is to be classified alone.
        values: see `RecordBatch`.
    """

    contents: Sequence[Content]
    which: Ints
    values: Mapping[str, Values]


class _Texts:
    """Messages in one piece of memory, and the numbers in them after their prefixes.

    Args:
        texts: the messages, none of them empty.

    Attributes:
        octets: all bytes.
        borders: first byte of each message, and the end of the last.
        numbers: beginning and end of each number.
        ids: True for each of them that is an ID.
        firsts: the first number of each message, and the number of all numbers.
        plain: True for messages that are plain (`_plain`) and have no number of too many digits.
    """

    def __init__(self, texts: pa.LargeBinaryArray) -> None:
        self.octets, self.borders = _whole(texts)
        starts, stops = self.borders[:-1], self.borders[1:]
        digit = self.octets - _ZERO < 10
        edge = np.zeros(len(digit) + 1, bool)
        edge[self.borders] = True
        ids = self._ids()
        for offset in range(_ID):
            digit[ids + offset] = False
        begins = np.append(np.flatnonzero(digit & (edge[:-1] | ~np.append(False, digit[:-1]))), ids)
        ends = np.append(np.flatnonzero(digit & (edge[1:] | ~np.append(digit[1:], False))) + 1, ids + _ID)
        are_ids = np.arange(len(begins)) >= len(begins) - len(ids)
        order = np.argsort(begins, kind="stable")
        order = order[begins[order] >= self._prefixes()[np.searchsorted(starts, begins[order], side="right") - 1]]
        self.numbers, self.ids = (begins[order], ends[order]), are_ids[order]
        self.firsts: Ints = np.searchsorted(self.numbers[0], self.borders)
        self.plain = _plain(self.octets, self.borders)
        long = self.numbers[0][(self.numbers[1] - self.numbers[0] > _DIGITS) & ~self.ids]
        self.plain[np.searchsorted(stops, long, side="right")] = False

    def _ids(self) -> Ints:
        """Return where IDs begin that no letter or digit precedes or follows."""
        found = np.flatnonzero(self.octets == _DASH) - _PARTS[0]
        found = found[(found > 0) & (found + _ID < len(self.octets))]
        at = _PARTS[0]
        for size in _PARTS[1:-1]:
            at += size + 1
            found = found[self.octets[found + at] == _DASH]
        for offset in (-1, *range(_ID + 1)):
            kinds = _KINDS[self.octets[found + offset]]
            found = found[kinds == _OTHER if offset in (-1, _ID) else (kinds == _HEXADECIMAL) | (self.octets[found + offset] == _DASH)]
        whole: Ints = found[np.searchsorted(self.borders, found, side="right") == np.searchsorted(self.borders, found + _ID - 1, side="right")]
        return whole

    def _prefixes(self) -> Ints:
        """Return the end of each message's prefixes, if it has any; whether they are prefixes, the splitter decides."""
        ends, begins = self.borders[:-1].copy(), kafka_words().begins
        closings = np.append(np.flatnonzero(self.octets == _CLOSING), len(self.octets))
        padded = np.append(self.octets, np.zeros(max(map(len, begins)), np.uint8))
        rest = np.arange(len(ends))
        for _ in range(_MAX_PREFIXES):
            mine = np.zeros(len(rest), bool)
            for word in begins:
                mine |= np.logical_and.reduce([padded[ends[rest] + i] == char for i, char in enumerate(word.encode())])
            rest = rest[mine]
            closed = closings[np.searchsorted(closings, ends[rest])] + 1
            rest, closed = rest[closed < self.borders[rest + 1]], closed[closed < self.borders[rest + 1]]
            if not len(rest):
                break
            for sign in (_COLON, _BLANK):
                closed += padded[closed] == sign
            ends[rest] = closed
        return ends

    def templates(self) -> pa.DictionaryArray:
        """Return each message with a byte in place of each number."""
        begins, ends = self.numbers
        inside = np.zeros(len(self.octets) + 1, np.int8)
        inside[begins + 1] += 1
        inside[ends] -= 1
        left = self.octets.copy()
        left[begins] = self.ids
        left = left[np.cumsum(inside[:-1], dtype=np.int8) == 0]
        removed = np.append(0, np.cumsum(ends - begins - 1))[self.firsts]
        buffers = [None, pa.py_buffer(self.borders - removed), pa.py_buffer(left)]
        return pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(self.borders) - 1, buffers).dictionary_encode()

    def text(self, which: int) -> str:
        """Return a plain message."""
        return self.octets[self.borders[which] : self.borders[which + 1]].tobytes().decode("ascii")

    def numbers_of(self, which: int) -> list[tuple[int, int]]:
        """Return where the numbers of a message begin and end in it."""
        mine = slice(self.firsts[which], self.firsts[which + 1])
        begins, ends = (column[mine] - self.borders[which] for column in self.numbers)
        return list(zip(begins.tolist(), ends.tolist(), strict=True))

    def places(self, rows: Ints, numbers: Ints, distances: Ints) -> Ints:
        """Return the position of a place in each of some messages."""
        found: Ints = self._anchors[self.firsts[rows] + rows + numbers] + distances
        return found

    @cached_property
    def _anchors(self) -> Ints:
        """Return the beginning of each message, followed by the ends of its numbers."""
        return np.insert(self.numbers[1], self.firsts[:-1], self.borders[:-1])


class MessageTemplates:
    """The templates of messages that have been read.

    Args:
        classifier: classifies one message of each template.
        recogniser: knows the patterns.
    """

    def __init__(self, classifier: Classifier, recogniser: Recogniser) -> None:
        self._classifier, self._recogniser, self._fields = classifier, recogniser, recogniser.catalogue.fields
        #: By source and template; None if messages of this template are read one by one.
        self._known: dict[tuple[int, bytes], _Template | None] = {}
        #: Number of messages of each template that is not known yet.
        self._counts: dict[tuple[int, bytes], int] = {}

    def read(self, buffer: Buffer, begins: Ints, stops: Ints, sources: Ints, record: Callable[[int, str], Record]) -> BulkClassification:
        """Classify messages. Those without a content are left to `Classifier.classify`.

        Args:
            buffer: holds the messages.
            begins: first byte of each message, in rising order.
            stops: the byte after its last.
            sources: a number of the level, logger and other properties of its record.
            record: returns a message's record, given its index and text.
        """
        if len(begins):
            with suppress(Exception):  # one by one, the faulty message is reported
                texts = _Texts(buffer.parts(begins, stops))
                templates, which = self._templates_of(texts, sources, record)
                if templates:
                    return self._read(texts, templates, which)
        return BulkClassification((), np.full(len(begins), -1, np.int64), {})

    def _templates_of(self, texts: _Texts, sources: Ints, record: Callable[[int, str], Record]) -> tuple[list[_Template], Ints]:
        """Return known templates, and the index of each message's; -1 if it has none."""
        encoded = texts.templates()
        keys = encoded.indices.to_numpy().astype(np.int64) * (int(sources.max()) + 1) + sources
        _, firsts, numbers, counts = np.unique(keys, return_index=True, return_inverse=True, return_counts=True)
        names = encoded.dictionary.take(encoded.indices.take(pa.array(firsts))).to_pylist()
        found: list[_Template] = []
        index = np.full(len(firsts), -1, np.int64)
        for n, (first, source, name, count) in enumerate(zip(firsts.tolist(), sources[firsts].tolist(), names, counts.tolist(), strict=True)):
            key = source, name
            if key not in self._known:
                count += self._counts.get(key, 0)
                if count < _ENOUGH or not texts.plain[first]:
                    if len(self._counts) >= _MAX_COUNTED:
                        self._counts.clear()
                    self._counts[key] = count
                    continue
                if len(self._known) >= _MAX_TEMPLATES:
                    self._known.clear()
                self._counts.pop(key, None)
                self._known[key] = self._learn(record(first, texts.text(first)), texts.numbers_of(first), ids=1 in name)
            template = self._known[key]
            if template is not None:
                index[n] = len(found)
                found.append(template)
        return found, np.where(texts.plain, index[numbers], -1)

    def _learn(self, record: Record, numbers: Sequence[tuple[int, int]], *, ids: bool) -> _Template | None:
        """Return the template of a message with numbers at the given positions; None if other numbers could mean something else."""
        first = numbers[0][0] if numbers else len(record.message)
        classified, spans = self._classifier.classify(record), self._recogniser.spans(record.logger, record.message, first, ids=ids)
        found = classified.found
        if found is None or spans is None:
            return None
        same, parts = dict(found.captures), {}
        for name, (begin, end) in spans[1].items():
            if not any(begin <= number < end for number, _ in numbers):
                continue
            text = record.message[begin:end]
            is_other = self._fields[name].type == "int" and not _INTEGER.fullmatch(text)
            if is_other or same.pop(name, None) is None or (name == "client_id" and _may_be_of_task(text)):
                return None
            parts[name] = _place(begin, numbers), _place(end, numbers)
        content = Content(record, classified._replace(found=replace(found, captures=same)))
        return _Template(content, classified.kind, spans[0], parts if classified.kind == EVENT else {})

    def _read(self, texts: _Texts, templates: Sequence[_Template], which: Ints) -> BulkClassification:
        """Return the messages of the given templates, with the values of captures that contain a number."""
        values: dict[str, Values] = {}
        which = which.copy()
        parts: dict[str, list[tuple[int, ...]]] = defaultdict(list)
        for n, template in enumerate(templates):
            for name, (begin, end) in template.parts.items():
                parts[name].append((n, *begin, *end))
        are_wrong = np.zeros(len(which), bool)
        for name, known in parts.items():
            which_of, *places = np.array(known, np.int64).T
            index = np.full(len(templates) + 1, -1)
            index[which_of] = np.arange(len(which_of))
            of_rows = index[which]
            rows = np.flatnonzero(of_rows >= 0)
            found, wrong = self._values(name, texts, rows, [place[of_rows[rows]] for place in places])
            are_wrong[rows[wrong]] = True
            values[name] = places_of(rows, len(which)), found
        which[are_wrong] = -1
        rows = np.flatnonzero(np.array([*(template.kind == EVENT for template in templates), False])[which])
        begins = texts.borders[rows] + np.array([template.size for template in templates])[which[rows]]
        values["message"] = places_of(rows, len(which)), slices(texts.octets, begins, texts.borders[rows + 1]).cast(pa.string())
        return BulkClassification([template.content for template in templates], which, values)

    def _values(self, name: str, texts: _Texts, rows: Ints, places: Sequence[Ints]) -> tuple[pa.Array, Ints]:
        """Return a capture of some messages, given where it is in each, and the indices of those whose text is not a value of it."""
        found = slices(texts.octets, texts.places(rows, *places[:2]), texts.places(rows, *places[2:])).cast(pa.string())
        kind = self._fields[name].type
        if kind in ("string", "int"):  # a text with a digit is a value
            return found.cast(CAPTURE_TYPES[kind]), np.empty(0, np.int64)
        distinct = found.dictionary_encode()
        values = [CONVERTERS[kind](text) for text in distinct.dictionary.to_pylist()]
        wrong = np.array([isinstance(value, NoValue) for value in values])[distinct.indices.to_numpy()]
        typed = array_of([None if isinstance(value, NoValue) else value for value in values], CAPTURE_TYPES[kind])
        return typed.take(distinct.indices), np.flatnonzero(wrong)


def _place(position: int, numbers: Sequence[tuple[int, int]]) -> _Place:
    """Return a position in a message as the place relative to the last number before it."""
    before = [end for _, end in numbers if end <= position]
    return _Place(len(before), position - max(before, default=0))


def _may_be_of_task(client: str) -> bool:
    """Return True if a client with this name but for its numbers may belong to a task."""
    fixed = regex.split("[0-9]", client, maxsplit=1)[0]
    return any(fixed.startswith(name.begins) or name.begins.startswith(fixed) for name in kafka_words().names if name.of == "client")


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
        may_be = (loggers >= 0) & (stops - starts > 1) & (stops - starts <= _LONGEST_COUNTED)
        may_be &= ~np.array([self._recogniser.is_error(h.level) for h in heads], bool)[key]
        for logger in np.unique(loggers[may_be]).tolist():
            which = np.flatnonzero(may_be & (loggers == logger))
            if len(which) < _FEW_COUNTED:
                continue
            texts = buffer.parts(starts[which], stops[which])
            plain = _plain(*_whole(texts))
            if not plain.all():
                which, texts = which[plain], texts.filter(pa.array(plain))
            for number, block in enumerate(self._texts[logger]):
                mine = np.flatnonzero(matching(texts, block.expression))
                mine = mine[~self._doubtful(texts if len(mine) == len(texts) else texts.take(pa.array(mine)), block)]
                at = which[mine]
                found[at] = (tails[at] * len(keys) + key[at]) * _MAX_BLOCKS + number
        return found

    def _doubtful(self, texts: pa.Array, block: CountedTexts) -> Flags:
        """Return for each text whether another block of the logger may match too, or a context precedes the message."""
        # An expression for a whole text usually fails early, so it is faster than a word search; one combined expression is faster than several.
        whole = [rival.expression for rival in block.rivals if rival.expression]
        words = [re.escape(word) for rival in block.rivals if not rival.expression for word in rival.words]
        found = matching(texts, "|".join((*whole, self._prefixed)))
        return found | matching(texts, "|".join(words)) if words else found

    def _learn(self) -> None:
        """Look up tails that were added since the last call."""
        for tail in self._tails[len(self._of_tail) :]:
            logger = tail.logger if tail.size and tail.thread is None else None
            if logger not in self._known:
                blocks = self._recogniser.counted_texts(logger)
                self._known[logger] = len(self._texts) if blocks else -1
                self._texts += [blocks] if blocks else []
            self._of_tail.append(self._known[logger])


def _plain(octets: Octets, borders: Ints) -> Flags:
    """Return for each of some texts, one after the other, whether it has only printable ASCII characters, and no blank at either end.

    For such texts all decoders agree on letters, digits and blanks, and nothing is stripped.
    """
    starts, stops = borders[:-1], borders[1:]
    plain: Flags = (octets[starts] != _BLANK) & (octets[stops - 1] != _BLANK)
    plain[np.searchsorted(stops, np.flatnonzero((octets < _BLANK) | (octets > _LAST)), side="right")] = False
    return plain


def _whole(texts: pa.LargeBinaryArray) -> tuple[Octets, Ints]:
    """Return the bytes of some texts, and the first byte of each and the end of the last."""
    _, borders, data = texts.buffers()
    places: Ints = np.frombuffer(borders, np.int64)[: len(texts) + 1]
    return np.frombuffer(data, np.uint8)[: places[-1]], places


def matching(texts: pa.Array, expression: str) -> Flags:
    """Return for each text whether it contains the expression."""
    found: Flags = np.array(pc.match_substring_regex(texts, expression).to_numpy(zero_copy_only=False), bool)
    return found
