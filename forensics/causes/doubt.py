"""Find where lines of logs are lost, so that the absence of a line there shows nothing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from forensics.clocks.offsets import Clocks
from forensics.relations.by_key import ByKey
from forensics.relations.missing import there

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs

#: A range on the reference clock: the earliest time of a line that is lost, and the latest; None: no line bounds it.
Range = tuple[int | None, int | None]
_COLUMNS = ["process_id", "from_ms", "to_ms", "why"]


class Doubt:
    """The ranges of logs in which lines are lost, and the logs of which any line may be missing.

    Args:
        inputs: the rows of other views.
    """

    def __init__(self, inputs: Inputs) -> None:
        self._ranges: defaultdict[str, list[Range]] = defaultdict(list)
        for row in inputs.rows("filtered_log", columns=["process_id"]):
            self._ranges[row["process_id"]].append((None, None))
        #: Where logs end inside a record. They end there like any other: they may have been copied while they were written.
        self._cut: defaultdict[str, list[Range]] = defaultdict(list)
        lost = inputs.rows("lost_range", columns=_COLUMNS)
        clocks = Clocks(inputs) if lost else None
        for row in lost:
            from_lo = [lo for lo, _ in clocks.bounds(row["process_id"], row["from_ms"])] if clocks else []
            to_hi = [hi for _, hi in clocks.bounds(row["process_id"], row["to_ms"])] if clocks else []
            ranges = self._cut if row["why"] == "cut_end" and row["to_ms"] is None else self._ranges
            ranges[row["process_id"]].append((from_lo[0] if from_lo else None, to_hi[0] if to_hi else None))
        self._groups = ByKey(inputs.rows("member", columns=["group_id", "process_id"]), "group_id") if self else None

    def __bool__(self) -> bool:
        return bool(self._ranges or self._cut)

    def between(self, process_ids: Iterable[str | None], from_ms: int | None, to_ms: int | None) -> list[Range]:
        """Return the ranges of these logs that may contain lines of a period, also after a cut end; None: it has no bound."""
        return self._overlapping((self._ranges, self._cut), process_ids, from_ms, to_ms)

    def _overlapping(
        self, of: Iterable[Mapping[str, list[Range]]], process_ids: Iterable[str | None], from_ms: int | None, to_ms: int | None
    ) -> list[Range]:
        ranges = (one for process_id in set(there(process_ids)) for by_process in of for one in by_process.get(process_id, ()))
        return [(lo, hi) for lo, hi in ranges if (lo is None or to_ms is None or lo <= to_ms) and (hi is None or from_ms is None or hi >= from_ms)]

    def since(self, process_ids: Iterable[str | None], at_ms: int | None) -> bool:
        """Return True if lines of these logs may be missing after a time and before their end."""
        return bool(self._overlapping((self._ranges,), process_ids, at_ms, None))

    def members(self, group_ids: Iterable[str | None] | None) -> list[str]:
        """Return the processes of the members of these groups whose logs lack lines."""
        if self._groups is None:
            return []
        found = {row["process_id"] for group_id in set(there(group_ids or ())) for row in self._groups[group_id]}
        return sorted(process_id for process_id in found if process_id in self._ranges or process_id in self._cut)
