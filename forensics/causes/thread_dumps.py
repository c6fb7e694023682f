"""Find what the thread of a member did that did not poll in time, if a dump of its process's threads was made then."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from forensics.relations.by_key import ByKey
from forensics.relations.conditions import one_of
from forensics.relations.missing import first, there

if TYPE_CHECKING:
    from collections.abc import Iterable

    from forensics.relations.inputs import Inputs, Row

#: If no line shows the limit between two polls, a dump must be at most this much older.
_LIMIT_MS = 60_000
#: A dump has no fraction of a second, and threads print late.
_LATE_MS = 1_000
#: A JVM prints its first line this long after its oldest thread started.
_START_MS = 120_000
#: What only the thread that polls prints.
_BY_POLLER = ("joining", "joined", "synced", "partitions_assigned", "partitions_revoked")
_BESIDE = re.compile(r"kafka-coordinator-heartbeat-thread|kafka-(?:producer-network|admin-client)-thread")
_STREAMS = re.compile(r"(.*-StreamThread-\d+)-consumer")
#: Frames that only wait or work for others.
_OF_JAVA = re.compile(r"(?:java|javax|jdk|sun|com\.sun)\.")
#: The thread of a worker that polls; Spring Boot prints the last 15 characters of a thread's name.
_HERDER, _CUT = "DistributedHerder", 15
_STATES = {"RUNNABLE": "running", "BLOCKED": "blocked in", "WAITING": "waiting in", "TIMED_WAITING": "waiting in"}


@dataclass(frozen=True)
class Seen:
    """What a thread did at the time of a dump.

    Attributes:
        thread: its name.
        where: its innermost frame that is not Java's own, and what that one waits for.
        at_ms: time of the dump, by the clock of its process.
        event_id: the dump.
    """

    thread: str
    where: str
    at_ms: int
    event_id: str


class ThreadDumps:
    """The dumps of threads that are about exactly one process.

    Args:
        inputs: rows of `machine_event`, `event_row`, `evidence_file`, `process_life` and `rule_poll_timeout`.
        dumps: rows of `machine_event`, each with its only `process_id`.
    """

    def __init__(self, inputs: Inputs, dumps: Iterable[Row]) -> None:
        dumps = list(dumps)
        self._inputs = inputs
        wanted = (pc.field("event") == "thread_dump") & one_of("event_id", (row["event_id"] for row in dumps))
        texts = inputs.rows("event_row", columns=["event_id", "path", "event", "threads", "elapsed_s"], where=wanted) if dumps else []
        self._texts = {row["event_id"]: row for row in texts}
        files = inputs.rows("evidence_file", columns=["path", "process_id", "time_zone", "time_zone_how"]) if dumps else []
        self._zone_of = {row["path"]: row["time_zone"] for row in files}
        self._zones: defaultdict[str, set[tuple[str | None, bool]]] = defaultdict(set)
        for row in files:
            if row["process_id"] is not None:
                self._zones[row["process_id"]].add((row["time_zone"], row["time_zone_how"] == "layout"))
        self._runs = ByKey(inputs.rows("process_life") if dumps else [], "process_id")
        self._of = ByKey((row for row in dumps if row["event_id"] in self._texts and self._is_of(row)), "process_id")
        self._leaves = {row["proof"][0]["event_id"]: row["facts"] for row in inputs.rows("rule_poll_timeout") if row["proof"]} if self._of else {}

    def _is_of(self, dump: Row) -> bool:
        """Return True if the time of a dump is by the clock of the log of its process, and no run of that began at another time than the dumped JVM."""
        text, process_id = self._texts[dump["event_id"]], dump["process_id"]
        zones = self._zones[process_id]
        # A log that prints its zone may use another one than its JVM.
        if dump["tied_by"] != "log" and (len(zones) != 1 or (self._zone_of.get(text["path"]), False) not in zones):
            return False
        starts = [start_ms for start_ms in there(row["start_ms"] for row in self._runs[process_id]) if start_ms <= dump["from_ts"]]
        if text["elapsed_s"] is None or not starts:
            return True
        began_ms: float = dump["from_ts"] - text["elapsed_s"] * 1_000
        return bool(abs(max(starts) - began_ms) <= _START_MS)

    def at(self, event_id: str | None) -> Seen | None:
        """Return what the thread of a member did in the last dump before it exceeded its poll timeout, but after it should have polled; None: unknown.

        Args:
            event_id: the line of the poll timeout.
        """
        leave = self._leaves.get(event_id) if event_id is not None else None
        if leave is None or leave["left_at_ms"] is None:
            return None
        begin_ms = leave["left_at_ms"] - first(leave["limit_ms"], _LIMIT_MS)
        dumps = [row for row in self._of[leave["process_id"]] if begin_ms <= row["from_ts"] <= leave["left_at_ms"] + _LATE_MS]
        names = self._threads(leave) if dumps else []
        for dump in sorted(dumps, key=lambda row: (-row["from_ts"], row["event_id"])):
            threads = dict(self._texts[dump["event_id"]]["threads"] or ())
            mine = [name for name in threads if any(_is_named(name, it) for it in names)]
            if len(mine) == 1 and len(threads[mine[0]]) > 1:
                return Seen(mine[0], _where(threads[mine[0]]), dump["from_ts"], dump["event_id"])
        return None

    def _threads(self, leave: Row) -> list[str]:
        """Return the names that the thread of a member that polls may have."""
        if leave["task"] is not None:
            return [f"task-thread-{leave['task']}"]
        if leave["is_worker"]:
            return [_HERDER]
        if (found := _STREAMS.fullmatch(leave["name"] or "")) is not None:
            return [found[1]]
        of_client = (pc.field("process_id") == leave["process_id"]) & (pc.field("client_id") == leave["name"]) & one_of("event", _BY_POLLER)
        lines = self._inputs.rows("event_row", columns=["process_id", "client_id", "event", "thread"], where=of_client)
        threads = {line["thread"].strip() for line in lines if line["thread"] and not _BESIDE.match(line["thread"])}
        return sorted(threads) if len(threads) == 1 else []


def _is_named(name: str, printed: str) -> bool:
    """Return True if a thread may be printed by this name in its log."""
    return name == printed or (printed == _HERDER and name.startswith(_HERDER)) or (len(printed) == _CUT and name.endswith(printed))


def _where(thread: list[str]) -> str:
    state, innermost, *outer = thread
    own = next((frame for frame in (innermost, *outer) if not _OF_JAVA.match(frame)), innermost)
    return own if own == innermost else f"{own}, {_STATES.get(state, 'in')} {innermost.partition('(')[0]}"
