"""Find where logs end, on the reference clock."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from forensics.relations.by_key import ByKey
from forensics.relations.missing import between, greatest, least, minus, plus, there, up_to

if TYPE_CHECKING:
    from collections.abc import Iterable

    from forensics.relations.inputs import Inputs


@dataclass
class LogEnd:
    """The end of one process's log.

    Attributes:
        last_ms: its last line, at the latest.
        end_ms: the last line of any log that this one's clock is tied to.
        runs: for each run of the process, the beginning of its shutdown, at the earliest, and its last line, at the latest.
    """

    last_ms: int | None = None
    end_ms: int | None = None
    runs: list[tuple[int | None, int | None]] = field(default_factory=list)

    def is_closing(self, at_ms: int | None, late_ms: int) -> bool:
        """Return True if a run of the process was shutting down at this time."""
        return any(between(ending_ms, at_ms, plus(last_ms, late_ms)) for ending_ms, last_ms in self.runs)

    def shut_down_ms(self, since_ms: int | None) -> int | None:
        """Return the beginning of the first shutdown after this time, if the process printed one."""
        return least(*(ending_ms for ending_ms, _ in self.runs if up_to(since_ms, ending_ms)))


class LogEnds:
    """The ends of all logs.

    Attributes:
        last_ms: the last line of all logs.
    """

    def __init__(self, inputs: Inputs) -> None:
        self._knobs = inputs.knobs
        lives = ByKey(inputs.rows("process_life", columns=["process_id", "ending_ms", "last_ms"]), "process_id")
        self._logs: dict[str, LogEnd] = {}
        islands: defaultdict[str | None, list[LogEnd]] = defaultdict(list)
        for clock in inputs.rows("clock_offset"):
            runs = [(minus(life["ending_ms"], clock["hi_ms"]), minus(life["last_ms"], clock["lo_ms"])) for life in lives[clock["process_id"]]]
            if clock["is_island_reference"] and runs:
                log = self._logs[clock["process_id"]] = LogEnd(greatest(*(last_ms for _, last_ms in runs)), None, runs)
                islands[clock["reference_process_id"]].append(log)
        for logs in islands.values():
            end_ms = greatest(*(log.last_ms for log in logs))
            for log in logs:
                log.end_ms = end_ms
        self.last_ms = greatest(*(log.last_ms for log in self._logs.values()))

    def get(self, process_id: str | None) -> LogEnd | None:
        """Return the end of a process's log; None: it has no log, or no clock."""
        return self._logs.get(process_id) if process_id is not None else None

    def go_on(self, process_ids: Iterable[str], since_ms: int | None) -> bool:
        """Return False if all logs that could show the end of a trouble end soon (`outage_untroubled_ms`) after it began.

        Args:
            process_ids: the processes in trouble.
            since_ms: when it began, on the reference clock.
        """
        ends = there(log.end_ms for log in map(self.get, process_ids) if log is not None)
        watched_ms = minus(max(ends) if ends else self.last_ms, since_ms)
        return watched_ms is None or watched_ms >= self._knobs.outage_untroubled_ms
