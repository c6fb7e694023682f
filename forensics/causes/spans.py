"""Find spans of time that overlap another one, without a look at all of them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import Generic, TypeVar

T = TypeVar("T")
_ALWAYS = float("inf")


class Spans(Generic[T]):
    """Spans, each with what it is of.

    Args:
        spans: the begin of each, None if it is unknown; its end, None if it has none; and what it is of.
    """

    def __init__(self, spans: Iterable[tuple[int | None, int | None, T]]) -> None:
        known = ((-_ALWAYS if begin is None else begin, _ALWAYS if end is None else end, of) for begin, end, of in spans)
        self._spans = sorted(known, key=lambda span: span[0])
        self._begins = [begin for begin, _, _ in self._spans]
        #: The last end of each span and of all that began before it.
        self._last_ends = list(accumulate((end for _, end, _ in self._spans), max))

    def touching(self, begin: int | None, end: int | None) -> Iterator[T]:
        """Yield what began at `end` at the latest and ended at `begin` at the earliest, the last first.

        If `end` is None, only spans with an unknown begin are known to have begun; if `begin` is None, only those without an end have not ended.
        """
        after = _ALWAYS if begin is None else begin
        for at in range(bisect_right(self._begins, -_ALWAYS if end is None else end) - 1, -1, -1):
            if self._last_ends[at] < after:
                return
            if self._spans[at][1] >= after:
                yield self._spans[at][2]
