"""Find the run of its process that printed each line."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from forensics.relations.columns import Codes, codes

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs


class Instances:
    """The run of each process at each position of its log: 0 before its first start there.

    Args:
        inputs: rows of `process_start`.
    """

    def __init__(self, inputs: Inputs) -> None:
        self._starts: defaultdict[str, list[int]] = defaultdict(list)
        for row in inputs.rows("process_start", ["process_id", "starts"]):
            self._starts[row["process_id"]] += [start["stream_pos"] for start in row["starts"] or ()]
        for starts in self._starts.values():
            starts.sort()

    def at(self, process_id: str, stream_pos: int) -> int:
        """Return the run of a process at a position."""
        return bisect_right(self._starts.get(process_id, ()), stream_pos)

    def added(self, lines: pa.Table) -> pa.Table:
        """Return lines of any number, which have the columns `process_id` and `stream_pos`, with the column `instance`."""
        return lines.append_column("instance", pa.array(self._of(lines), pa.int64()))

    def _of(self, lines: pa.Table) -> Codes:
        found = np.zeros(lines.num_rows, np.int64)
        process, position = codes(lines.column("process_id")), lines.column("stream_pos").to_numpy()
        order = np.argsort(process, kind="stable")
        bounds = np.searchsorted(process[order], np.arange(process.max(initial=-1) + 2))
        for begin, end in zip(bounds[:-1], bounds[1:], strict=True):
            here = order[begin:end]
            if starts := self._starts.get(lines.column("process_id")[here[0]].as_py()):
                found[here] = np.searchsorted(starts, position[here], "right")
        return found
