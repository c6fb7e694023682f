"""Follow the lines of a group's client from one generation to the next."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from typing import TYPE_CHECKING

from forensics.relations.missing import first, greatest

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs, Row

#: Columns that distinguish the clients of groups in runs of processes.
CLIENT = ("process_id", "instance", "group_id", "client")
client_of = itemgetter(*CLIENT)
#: Columns of `client_event` that are read here.
COLUMNS = (*CLIENT, "stream_pos", "event_id", "event", "member_id", "error", "cause", "reason", "is_unannounced")

#: Lines that do not invalidate the member id: a lost coordinator, a worker that revokes its work.
_DISTANT = frozenset(["coordinator_lost", "worker_revoking"])
_LOSSES = frozenset(["generation_reset", "poll_timeout", "member_fenced", "leaving", "join_failed", "sync_failed"])


@dataclass
class ReachedRound:
    """A generation that a client became a member of.

    Attributes:
        row: its row of `join_round`.
        trouble_pos: last line before it that can end a membership.
        loss_pos: the last of these that can invalidate the member id.
        after: the client's lines after it, up to the next generation.
    """

    row: Row
    trouble_pos: int | None
    loss_pos: int | None
    after: list[Row] = field(default_factory=list)

    @property
    def event_id(self) -> str | None:
        """Return the line that shows it."""
        shown: str | None = first(self.row["synced_id"], self.row["joined_id"], self.row["worker_assigned_id"])
        return shown


class Rounds:
    """The generations of all clients.

    Args:
        inputs: rows of `join_round`.
    """

    def __init__(self, inputs: Inputs) -> None:
        columns = [*CLIENT, "is_worker", "generation", "member_id", "from_pos", "joining_count", "synced_id", "joined_id", "worker_assigned_id"]
        self._of: defaultdict[tuple[object, ...], dict[int, Row]] = defaultdict(dict)
        self._most_asked: dict[tuple[str, str, str], int | None] = {}
        self._printing: set[tuple[str, str, str]] = set()
        for row in inputs.rows("join_round", columns):
            self._of[client_of(row)][row["from_pos"]] = row
            client = _in_all_runs(row)
            self._most_asked[client] = greatest(self._most_asked.get(client), row["joining_count"])
            if row["joined_id"] is not None:
                self._printing.add(client)

    def reached(self, lines: Iterable[Row], client: tuple[object, ...]) -> list[ReachedRound]:
        """Return the generations that one client reached, with its lines after each."""
        rounds: Mapping[int, Row] = self._of.get(client, {})
        found: list[ReachedRound] = []
        trouble_pos = loss_pos = None
        for line in lines if rounds else ():
            pos = line["stream_pos"]
            if (row := rounds.get(pos)) is not None:
                found.append(ReachedRound(row, trouble_pos, loss_pos))
            elif found:
                found[-1].after.append(line)
            if line["event"] in _DISTANT:
                trouble_pos = pos
            elif is_loss(line):
                trouble_pos = loss_pos = pos
        return found

    def has_requests(self, row: Row) -> bool:
        """Return True if a client's log has requests to join."""
        return (self._most_asked[_in_all_runs(row)] or 0) > 0

    def prints_joins(self, row: Row) -> bool:
        """Return True if a client prints that it joined, before it has synced (2.6.1 and later)."""
        return _in_all_runs(row) in self._printing


def _in_all_runs(row: Row) -> tuple[str, str, str]:
    return row["process_id"], row["group_id"], row["client"]


def is_loss(line: Row) -> bool:
    """Return True if a client's line can invalidate its member id."""
    event = line["event"]
    if event in _LOSSES:
        return True
    if event == "heartbeat_failed":
        # A member that learns in time of its group's rebalance does not miss the generation.
        return "rebalanc" not in first(line["error"], line["cause"], line["reason"], "").lower()
    is_rejoining = event == "rejoin_requested" and line["is_unannounced"] and line["reason"] is not None
    return bool(is_rejoining and "rebalanc" not in line["reason"].lower())
