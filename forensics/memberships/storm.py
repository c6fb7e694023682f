"""Compute the view `storm`: causes that made a group rebalance again and again."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from typing import TYPE_CHECKING

from forensics.memberships.rounds import Group, GroupRounds, Round
from forensics.memberships.storm_cost import StormCosts
from forensics.relations.missing import between, greatest, least, minus, order, plus, there, up_to

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs, Knobs, Row

_EVENTS_MOST = 8
_SECOND_STEPS = ("partitions_to_revoke", "followup")
_DELAY = "scheduled.rebalance.max.delay.ms"


@dataclass(frozen=True, kw_only=True)
class Storm:
    """A cause of rebalances that came back, or a group that rebalances continuously.

    Attributes:
        group: its group.
        kind: as in the view.
        subject: the member, connector or group.
        returns: how often it came back.
        from_ms, to_ms: the first and the last time.
        event_ids: events that show it.
        how: in which way, mostly.
        counts: how often in each way.
    """

    group: Group
    kind: str
    subject: str
    returns: int
    from_ms: int | None
    to_ms: int | None
    event_ids: Sequence[str | None]
    how: str | None = None
    counts: Counter[str] = field(default_factory=Counter)


def rows(inputs: Inputs) -> list[Row]:
    """Return the rows of the view `storm`."""
    knobs = inputs.knobs
    explained = list(_explained(inputs.rows("storm_round"), knobs))
    of_group = defaultdict(list)
    for storm in explained:
        of_group[storm.group].append(storm)
    rounds = GroupRounds(inputs)
    unexplained = (storm for storm in _unexplained(rounds, knobs) if not any(_meets(storm, other, knobs) for other in of_group[storm.group]))
    storms = [*explained, *unexplained]
    if not storms:
        return []
    costs, delays, starts = StormCosts(inputs, rounds), _delays(inputs), _starts(inputs)
    return [_row(storm, costs.of(storm.group, storm.from_ms, storm.to_ms), delays, starts, knobs) for storm in storms]


def _row(storm: Storm, cost: Row, delays: dict[Group, int | None], starts: dict[str, list[int]], knobs: Knobs) -> Row:
    from_ms = minus(storm.from_ms, knobs.storm_start_ms)
    # A member's log may have only some of the generations; their numbers show how many there were.
    is_partial = storm.kind == "pace" and not up_to(storm.returns, cost["generations"])
    return cost | {
        "kafka_cluster": storm.group[0],
        "group_id": storm.group[1],
        "kind": storm.kind,
        "subject": storm.subject,
        "how": storm.how,
        "from_ms": storm.from_ms,
        "to_ms": storm.to_ms,
        "returns": storm.returns,
        **{name: storm.counts[how] for name, how in (("updated", "updated"), ("removed", "removed"), ("state_changes", "state"))},
        "generations": storm.returns if storm.kind == "pace" else cost["generations"],
        "rounds_ms": None if is_partial else cost["rounds_ms"],
        "starts": sum(between(from_ms, at_ms, storm.to_ms) for at_ms in starts.get(storm.subject, ())),
        "delay_ms": delays.get(storm.group),
        "event_ids": storm.event_ids,
    }


def _explained(rounds: Iterable[Row], knobs: Knobs) -> Iterator[Storm]:
    """Yield the causes that came back often enough. Rounds without any change are one storm, whichever member asked for them."""
    chains = defaultdict(list)
    for row in rounds:
        chain = "idle" if row["kind"] == "idle" else row["subject"]
        chains[(row["kafka_cluster"], row["group_id"]), row["kind"], chain].append(row)
    least_returns = {"returning": knobs.storm_returns, "connector": knobs.storm_changes}
    for (group, kind, _), its in chains.items():
        for part in _without_pause(its, knobs.storm_gap_ms):
            if len(part) >= least_returns.get(kind, knobs.storm_idle_rounds):
                yield Storm(
                    group=group,
                    kind=kind,
                    subject=str(most_frequent(row["subject"] for row in part)),
                    how=most_frequent(row["how"] for row in part),
                    returns=len(part),
                    from_ms=least(*(row["at_ms"] for row in part)),
                    to_ms=greatest(*(row["at_ms"] for row in part)),
                    counts=Counter(there(row["how"] for row in part)),
                    event_ids=[row["event_id"] for row in part[:_EVENTS_MOST]],
                )


def _without_pause(its: Sequence[Row], gap_ms: int) -> Iterator[list[Row]]:
    """Yield the rounds of one cause that follow each other within a time."""
    part: list[Row] = []
    for row in sorted(its, key=lambda row: order([row["at_ms"], row["event_id"]])):
        if part and not up_to(minus(row["at_ms"], part[-1]["at_ms"]), gap_ms):
            yield part
            part = []
        part.append(row)
    yield part


def most_frequent(values: Iterable[str | None]) -> str | None:
    """Return the most frequent text, of several the first in alphabetical order; None: all are missing."""
    counts = Counter(there(values))
    return min(counts, key=lambda value: (-counts[value], value), default=None)


def _unexplained(rounds: GroupRounds, knobs: Knobs) -> Iterator[Storm]:
    """Yield the groups that rebalance continuously."""
    timed = sorted((key for key, one in rounds.of.items() if one.at_ms is not None), key=order)
    for (group, _), keys in groupby(timed, key=lambda key: key[:2]):
        for run in _runs([rounds.of[key] for key in keys], knobs.storm_pace_ms):
            returns = run[-1].row["generation"] - run[0].row["generation"]
            if _is_storm(run, returns, knobs):
                ends = sorted(((one.at_ms, one.event_id) for one in run), key=order)
                yield Storm(
                    group=group,
                    kind="pace",
                    subject=group[1],
                    returns=returns,
                    from_ms=ends[0][0],
                    to_ms=ends[-1][0],
                    event_ids=there([ends[0][1], ends[-1][1]]),
                )


def _runs(rounds: Sequence[Round], pace_ms: int) -> Iterator[list[Round]]:
    """Yield the generations that follow each other at a pace. A member's log may have only some of them."""
    run = list(rounds[:1])
    for last, one in pairwise(rounds):
        if not between(0, minus(one.at_ms, last.at_ms), pace_ms * (one.row["generation"] - last.row["generation"])):
            yield run
            run = []
        run.append(one)
    yield run


def _is_storm(run: Sequence[Round], returns: int, knobs: Knobs) -> bool:
    """Return True if there are more generations than its members explain."""
    counted = greatest(*(one.row["member_count"] for one in run if one.row["is_count_told"]))
    is_cooperative = any(one.row["rebalance_mode"] == "cooperative" or one.row["asked_why"] in _SECOND_STEPS for one in run)
    of_member = knobs.storm_pace_per_cooperative if is_cooperative else knobs.storm_pace_per_member
    if returns < knobs.storm_pace_generations + (counted or 0) * of_member:
        return False
    # If their number is unknown, the members of a new group may all still be joining.
    times = there(one.at_ms for one in run)
    is_fast = max(times) - min(times) <= knobs.storm_fast_ms * returns
    return counted is not None or (run[0].row["generation"] > knobs.storm_pace_generations and is_fast)


def _meets(storm: Storm, other: Storm, knobs: Knobs) -> bool:
    edge_ms = knobs.storm_edge_ms
    return up_to(other.from_ms, plus(storm.to_ms, edge_ms)) and up_to(minus(storm.from_ms, edge_ms), other.to_ms)


def _delays(inputs: Inputs) -> dict[Group, int | None]:
    """Return the rebalance delay of each group."""
    found = inputs.rows("member_setting", ["kafka_cluster", "group_id", "setting", "value_how", "value_ms"])
    return {(row["kafka_cluster"], row["group_id"]): row["value_ms"] for row in found if row["value_how"] == "group" and row["setting"] == _DELAY}


def _starts(inputs: Inputs) -> dict[str, list[int]]:
    """Return when each process started."""
    found = defaultdict(list)
    for row in inputs.rows("process_life", ["process_id", "start_ms"]):
        if row["start_ms"] is not None:
            found[row["process_id"]].append(row["start_ms"])
    return found
