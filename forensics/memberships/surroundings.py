"""Find what else was printed around each lost membership: by its process, by its client, and by its coordinator about others of its name."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from forensics.clocks.offsets import Clocks
from forensics.logs.events import events
from forensics.logs.instances import Instances
from forensics.logs.line_times import LineTimes
from forensics.logs.member_ids import before_uuid, client_of, is_made
from forensics.relations.by_key import ByKey, by_run
from forensics.relations.conditions import one_of
from forensics.relations.missing import first, order, there

if TYPE_CHECKING:
    from forensics.memberships.losses import Loss
    from forensics.relations.inputs import Inputs, Row

#: Lines after which a client may have been in trouble.
_TROUBLE = ("coordinator_lost", "heartbeat_failed", "join_failed", "member_fenced", "poll_timeout", "sync_failed")


@dataclass(frozen=True)
class Surroundings:
    """What was printed around a loss. All times but the last two are by the clock of its process.

    Attributes:
        before_ms: last line of its process before the removal.
        after_ms: first line of its process after it, in the same run.
        sent_ms: when the last of the requests was sent that several clients cancelled late at that moment: the process ran then.
        closed_ms: when its client was closed afterwards.
        disconnect_ms: when its client asked for the disconnection from its coordinator.
        again_ms: a member of its name that has no log joined at this time at the latest, by the reference clock.
        returned_ms: its client joined again as another member at this time at the latest, by the reference clock.
    """

    before_ms: int | None = None
    after_ms: int | None = None
    sent_ms: int | None = None
    closed_ms: int | None = None
    disconnect_ms: int | None = None
    again_ms: int | None = None
    returned_ms: int | None = None


@dataclass(frozen=True)
class Namesakes:
    """The clients of a member's name, of which none was in trouble."""

    client_id: str
    processes: list[str]


def surroundings(inputs: Inputs, losses: Sequence[Loss]) -> dict[str, Surroundings]:
    """Return what was printed around each loss, by loss id.

    Args:
        inputs: rows of `event_row`, `counted_row`, `fact_line`, `member_place` and `clock_offset`.
        losses: the losses.
    """
    lines = LineTimes(inputs, (loss.process_id for loss in losses))
    cancelled, closes = _late_cancellations(inputs, losses), _closes(inputs, losses)
    joins = _Joins(inputs, losses)
    found = {}
    for loss in losses:
        before_ms = after_ms = closed_ms = disconnect_ms = None
        if loss.process_id is not None and loss.instance is not None:
            if (at_ms := first(loss.own_lo_ms, loss.own_hi_ms, loss.noticed_ms)) is not None:
                before_ms = lines.before(loss.process_id, loss.instance, at_ms)
            if (at_ms := first(loss.own_hi_ms, loss.noticed_ms)) is not None:
                after_ms = lines.after(loss.process_id, loss.instance, at_ms)
        if (noticed_ms := loss.noticed_ms) is not None:
            # A client asks for the disconnection right after it printed that it lost its coordinator, unless its process hardly runs.
            its = [row for row in closes[loss.process_id, loss.instance, loss.client] if row["at_ms"] is not None and row["at_ms"] >= noticed_ms]
            closed_ms = min((row["at_ms"] for row in its if row["event"] == "client_closed"), default=None)
            disconnect_ms = min((row["at_ms"] for row in its if row["event"] != "client_closed"), default=None)
        found[loss.loss_id] = Surroundings(
            before_ms, after_ms, cancelled.get(loss.loss_id), closed_ms, disconnect_ms, joins.of_name(loss), joins.of_process(loss)
        )
    return found


def _closes(inputs: Inputs, losses: Iterable[Loss]) -> ByKey:
    wanted = one_of("event", ("client_closed", "coordinator_disconnect_requested")) & _of_processes(losses)
    return ByKey(inputs.rows("fact_line", ["process_id", "instance", "client_id", "event", "at_ms"], wanted), "process_id", "instance", "client_id")


def _of_processes(losses: Iterable[Loss]) -> pc.Expression:
    return one_of("process_id", (loss.process_id for loss in losses))


def _late_cancellations(inputs: Inputs, losses: Sequence[Loss]) -> dict[str, int]:
    """Return when the last of the requests was sent that several clients cancelled late when a loss was noticed."""
    columns = ["process_id", "stream_pos", "client_id", "ts", "duration_ms", "timeout_ms"]
    late: defaultdict[tuple[str | None, int | None], list[Row]] = defaultdict(list)
    instances = Instances(inputs)
    for row in events(inputs, columns, (pc.field("event") == "request_cancelled") & pc.field("ts").is_valid() & _of_processes(losses)):
        if None not in (row["duration_ms"], row["timeout_ms"]) and row["duration_ms"] > row["timeout_ms"] + inputs.knobs.heartbeat_late_ms:
            late[row["process_id"], instances.at(row["process_id"], row["stream_pos"])].append(row)
    found = {}
    for loss in losses if late else ():
        if (noticed_ms := loss.noticed_ms) is not None:
            its = [row for row in late.get((loss.process_id, loss.instance), ()) if abs(row["ts"] - noticed_ms) <= inputs.knobs.loss_noticed_ms]
            if len({row["client_id"] for row in its} - {None}) > 1:
                found[loss.loss_id] = max(row["ts"] - row["duration_ms"] for row in its)
    return found


class _Joins:
    """The members that coordinators let in.

    Args:
        inputs: rows of views.
        losses: the losses.
    """

    def __init__(self, inputs: Inputs, losses: Iterable[Loss]) -> None:
        self._clocks = Clocks(inputs)
        self._places = inputs.rows("member_place", ["group_id", "member_id", "process_id"])
        placed = {(row["group_id"], row["member_id"]) for row in self._places}
        self._of_member: defaultdict[tuple[str, str, str], list[Row]] = defaultdict(list)
        #: The last join of a name at a coordinator by a member without a log. A KIP-848 member keeps its id.
        self._last: dict[tuple[str, str, str], Row] = {}
        event = pc.field("event")
        is_join = one_of("event", ("member_added", "member_joined"))
        is_join |= (event == "rebalance_preparing") & pc.starts_with(pc.field("reason"), "Adding new member")
        columns = ["process_id", "group_id", "member_id", "stream_pos", "ts"]
        for row in events(inputs, columns, is_join & pc.field("broker_id").is_valid() & pc.field("member_id").is_valid()):
            self._of_member[row["process_id"], row["group_id"], row["member_id"]].append(row)
            name = client_of(row["member_id"])
            if (row["group_id"], row["member_id"]) not in placed or name == row["member_id"]:
                key = row["process_id"], row["group_id"], name
                self._last[key] = max(self._last.get(key, row), row, key=lambda row: int(row["stream_pos"]))
        removed = one_of("event_id", (loss.removed_id for loss in losses))
        self._removed = {row["event_id"]: row["stream_pos"] for row in events(inputs, ["event_id", "stream_pos"], removed)}
        self._members: defaultdict[tuple[str, str, str], set[str]] = defaultdict(set)
        for row in self._places:
            self._members[row["group_id"], row["process_id"], before_uuid(row["member_id"])].add(row["member_id"])

    def of_name(self, loss: Loss) -> int | None:
        """Return when the last member of that name without a log joined after the removal, at the latest; None: none did."""
        clock, pos = self._clocks.of(loss.broker), self._removed.get(loss.removed_id)
        if clock is None or pos is None or loss.broker is None or loss.member_id is None:
            return None
        last = self._last.get((loss.broker, loss.group_id, client_of(loss.member_id)))
        return clock.latest(last["ts"]) if last is not None and last["stream_pos"] > pos else None

    def of_process(self, loss: Loss) -> int | None:
        """Return when the coordinator let in the first other member of the same process and name after the removal, at the latest; None: it did not."""
        clock, pos = self._clocks.of(loss.broker), self._removed.get(loss.removed_id)
        if clock is None or pos is None or loss.broker is None or loss.process_id is None or loss.member_id is None:
            return None
        others = self._members.get((loss.group_id, loss.process_id, before_uuid(loss.member_id)), set()) - {loss.member_id}
        joins = (row for member in others for row in self._of_member.get((loss.broker, loss.group_id, member), ()) if row["stream_pos"] > pos)
        return min(there(clock.latest(row["ts"]) for row in joins), default=None)


def namesakes(inputs: Inputs, losses: Iterable[Loss]) -> dict[str, Namesakes]:
    """Return, by loss id, the clients of a member's name with an unknown id, if the member was one of them and none was in trouble.

    They asked to join before the removal, and printed nothing more in that process run. None was in trouble if all ran on, and there are at least as many of them
    as members. Old clients do not print the member id; later ones print it after the response.

    Args:
        inputs: rows of `client_event`, `member_place`, `process_life` and `clock_offset`.
        losses: the losses.
    """
    by_name = defaultdict(list)
    for loss in losses:
        is_unknown = loss.process_id is None and loss.how == "session" and loss.protocol == "classic"
        if is_unknown and loss.member_id is not None and is_made(loss.member_id):
            by_name[loss.kafka_cluster, loss.group_id, client_of(loss.member_id)].append(loss)
    if not by_name:
        return {}
    clients, clocks = _unknown_clients(inputs, {name for _, _, name in by_name}), Clocks(inputs)
    found = {}
    for key, its in by_name.items():
        removed_ms = sorted(there(loss.removed_lo_ms for loss in its))
        for loss in its:
            named = []
            for client in clients[key]:
                clock = clocks.of(client.process_id, loss.reference_process_id)
                if clock is not None and client.is_before(loss, clock.lo_ms, clock.hi_ms):
                    named.append((client, clock))
            members = bisect_right(removed_ms, loss.removed_lo_ms or 0)
            if named and len(named) >= members and all(client.ran_on(loss, clock.hi_ms) for client, clock in named):
                found[loss.loss_id] = Namesakes(key[2], sorted({client.process_id for client, _ in named}))
    return found


@dataclass(frozen=True)
class _Client:
    """A client with an unknown member id: when it asked to join, its last line, and the end of its process run."""

    process_id: str
    asked_ms: int | None
    last_ms: int | None
    last_event: str
    life: Row

    def is_before(self, loss: Loss, lo_ms: int, hi_ms: int) -> bool:
        """Return True if it asked to join before the removal, and printed nothing after it."""
        if None in (self.asked_ms, self.last_ms, loss.removed_hi_ms, loss.removed_lo_ms):
            return False
        return bool(self.asked_ms - hi_ms <= loss.removed_hi_ms and self.last_ms - lo_ms < loss.removed_lo_ms)  # type: ignore[operator]

    def ran_on(self, loss: Loss, hi_ms: int) -> bool:
        """Return True if its process ran on, or shut down cleanly, and the client was not in trouble."""
        last_ms = self.life["last_ms"]
        is_later = last_ms is not None and loss.removed_hi_ms is not None and last_ms - hi_ms > loss.removed_hi_ms
        return (self.life["ending_ms"] is not None or is_later) and self.last_event not in _TROUBLE


def _unknown_clients(inputs: Inputs, names: set[str]) -> defaultdict[tuple[str | None, str, str], list[_Client]]:
    """Return the clients of these names that did not leave, and whose member ids are unknown. A client with a known id is another member."""
    known = {(row["group_id"], row["process_id"], row["instance"], row["client"]) for row in inputs.rows("member_place")}
    lives = by_run(inputs.rows("process_life"))
    columns = ["kafka_cluster", "group_id", "client_id", "process_id", "instance", "client", "event", "at_ms", "stream_pos"]
    lines = defaultdict(list)
    for row in inputs.rows("client_event", columns, one_of("client_id", names)):
        if (row["group_id"], row["process_id"], row["instance"], row["client"]) not in known:
            lines[tuple(row[name] for name in columns[:6])].append(row)
    found: defaultdict[tuple[str | None, str, str], list[_Client]] = defaultdict(list)
    for (kafka_cluster, group_id, client_id, process_id, instance, _), its in lines.items():
        if (process_id, instance) in lives and not any(row["event"] == "leaving" for row in its):
            asked_ms = min((row["at_ms"] for row in its if row["event"] == "joining" and row["at_ms"] is not None), default=None)
            last = max(its, key=lambda row: (row["stream_pos"], order(row["at_ms"])))
            found[kafka_cluster, group_id, client_id].append(_Client(process_id, asked_ms, last["at_ms"], last["event"], lives[process_id, instance]))
    return found
