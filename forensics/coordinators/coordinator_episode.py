"""Compute the view `coordinator_episode`: each time that a member lost its group's coordinator.

Repeated losses before the coordinator is found again are one episode.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from forensics.clocks.offsets import Clocks
from forensics.coordinators.concurrent_losses import Loss, scopes
from forensics.coordinators.outages import broker_of
from forensics.relations.by_key import InTime
from forensics.relations.conditions import one_of
from forensics.relations.missing import first, least, minus, order, up_to

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs, Row

_IS_COORDINATOR_LINE = one_of("event", ["coordinator_lost", "coordinator_discovered"])
_OF_LINE = [
    "kafka_cluster",
    "group_id",
    "process_id",
    "client",
    "stream_pos",
    "at_ms",
    "event",
    "event_id",
    "coordinator",
    "coordinator_node",
    "cause",
]
_OF_OUTAGE = ["process_id", "group_id", "client", "lost_ms", "found_ms", "closed_ms", "is_refused", "broker_id", "broker"]
_WITNESS_MOST = 20


@dataclass(frozen=True)
class _Episode:
    """The losses of a coordinator by one client, and the discovery that ended them.

    Attributes:
        lost: lines that report the loss.
        found: line that reports the discovery; None: there is none, or it does not count.
        outage: the outage of the member that the episode belongs to; None: unknown.
    """

    lost: Sequence[Row]
    found: Row | None
    outage: Row | None

    @property
    def lost_ms(self) -> int | None:
        """Return when the coordinator was lost, by the process's own clock."""
        return least(*(line["at_ms"] for line in self.lost))

    @property
    def is_ended(self) -> bool:
        """Return True if the client found the coordinator.

        One that another client of that name found after this one was closed does not count, nor one that refused.
        """
        if self.found is None:
            return False
        its = self.outage
        return its is None or not (up_to(its["closed_ms"], self.found["at_ms"]) or (its["is_refused"] and its["found_ms"] is None))

    @property
    def found_ms(self) -> int | None:
        """Return when the coordinator was found again."""
        return self.found["at_ms"] if self.found is not None and self.is_ended else None

    @property
    def found_pos(self) -> int | None:
        """Return the position of the discovery."""
        return self.found["stream_pos"] if self.found is not None and self.is_ended else None

    @property
    def closed_ms(self) -> int | None:
        """Return when the client was closed, if it was before it found the coordinator."""
        closed_ms = self.outage["closed_ms"] if self.outage is not None else None
        return closed_ms if self.found is None or up_to(closed_ms, self.found["at_ms"]) else None


def rows(inputs: Inputs) -> list[Row]:
    """Return the rows of the view `coordinator_episode`."""
    episodes = list(_episodes(inputs))
    losses = _losses(inputs, episodes)
    found = scopes(losses, inputs.knobs.episodes_together_ms)
    return [_row(episode, loss, scope) for episode, loss, scope in zip(episodes, losses, found, strict=True)]


def _episodes(inputs: Inputs) -> Iterator[_Episode]:
    """Yield the episodes of all clients."""
    outages = InTime(inputs.rows("coordinator_outage", _OF_OUTAGE), "lost_ms", "process_id", "group_id", "client")
    of_client: defaultdict[tuple[str | None, ...], list[Row]] = defaultdict(list)
    for row in inputs.rows("client_event", _OF_LINE, _IS_COORDINATOR_LINE):
        of_client[tuple(row[name] for name in _OF_LINE[:4])].append(row)
    for lines in of_client.values():
        lost: list[Row] = []
        for line in sorted(lines, key=lambda line: order([line["stream_pos"], line["event_id"]])):
            if line["event"] == "coordinator_lost":
                lost.append(line)
            elif lost:
                yield _Episode(lost, line, _outage(outages, lost))
                lost = []
        if lost:
            yield _Episode(lost, None, _outage(outages, lost))


def _outage(outages: InTime, lost: Sequence[Row]) -> Row | None:
    """Return the outage that an episode with these losses belongs to."""
    lost_ms, begin = least(*(line["at_ms"] for line in lost)), lost[0]
    outage = outages.last_until((begin["process_id"], begin["group_id"], begin["client"]), lost_ms)
    if outage is None:
        return None
    is_unnamed = begin["coordinator_node"] is None and outage["lost_ms"] == lost_ms
    return outage if up_to(lost_ms, outage["closed_ms"]) or outage["is_refused"] or is_unnamed else None


def _losses(inputs: Inputs, episodes: Sequence[_Episode]) -> list[Loss]:
    """Return when each episode was, on the reference clock."""
    clocks = Clocks(inputs)
    found = []
    for episode in episodes:
        begin, outage = episode.lost[0], episode.outage or {}
        clock = clocks.of(begin["process_id"])
        length_ms = minus(episode.found_ms, episode.lost_ms)
        is_doubted = clock is not None and clock.may_have_stepped(begin["stream_pos"], episode.found_pos, length_ms)
        found.append(
            Loss(
                kafka_cluster=begin["kafka_cluster"],
                group_id=begin["group_id"],
                process_id=begin["process_id"],
                broker_id=first(broker_of(begin["coordinator_node"]), outage.get("broker_id")),
                reference_process_id=clock.reference_process_id if clock is not None else None,
                lost_lo_ms=clock.earliest(episode.lost_ms) if clock is not None else None,
                lost_hi_ms=clock.latest(episode.lost_ms) if clock is not None else None,
                length_ms=None if is_doubted else length_ms,
            )
        )
    return found


def _row(episode: _Episode, loss: Loss, scope: str | None) -> Row:
    begin = episode.lost[0]
    lines = [*episode.lost, *([episode.found] if episode.found is not None else [])]
    return {
        **{name: begin[name] for name in ("kafka_cluster", "group_id", "process_id", "client", "cause")},
        "broker": first(begin["coordinator"], episode.outage["broker"] if episode.outage is not None else None),
        "broker_id": loss.broker_id,
        "lost_ts": episode.lost_ms,
        "lost_lo": loss.lost_lo_ms,
        "lost_hi": loss.lost_hi_ms,
        "found_ts": episode.found_ms,
        "closed_ts": episode.closed_ms,
        "duration_ms": loss.length_ms,
        "losses": len(episode.lost),
        "scope": scope,
        "witness": [line["event_id"] for line in lines[:_WITNESS_MOST]],
    }
