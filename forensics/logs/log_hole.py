"""Compute the view `log_hole`: gaps in members' logs where lines must be missing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict
from itertools import pairwise
from typing import TYPE_CHECKING

from forensics.logs.client_rounds import CLIENT, COLUMNS, Rounds, client_of
from forensics.logs.events import events
from forensics.logs.filtered_logs import filtered_logs
from forensics.logs.gaps import Gap
from forensics.logs.instances import Instances
from forensics.logs.membership_gaps import coordinated_generations, unexplained_rounds, unheard_generations
from forensics.logs.unanswered_joins import UnansweredJoins
from forensics.logs.work_holes import work_holes
from forensics.relations.conditions import one_of
from forensics.relations.missing import least
from forensics.relations.ordered import grouped

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs, Row


def rows(inputs: Inputs) -> list[Row]:
    """Return the rows of the view `log_hole`: of several gaps that end at one place the widest, with the first of the reasons for it."""
    instances = Instances(inputs)
    work = (Gap(**row) for row in work_holes(inputs))
    at_place = defaultdict(list)
    for gap in (*_of_members(inputs, instances), *work, *_lost(inputs), *_filtered(inputs, instances)):
        at_place[gap.process_id, gap.instance, gap.to_pos].append(gap)
    return [asdict(_joined(gaps)) for gaps in at_place.values()]


def _joined(gaps: list[Gap]) -> Gap:
    """Return one gap for those that end at one place."""
    best = min(gaps, key=lambda gap: (not gap.is_wide, gap.why))
    event_id = min((gap.event_id for gap in gaps if gap.event_id is not None), default=None)
    return Gap(best.process_id, best.instance, least(*(gap.from_pos for gap in gaps)), best.to_pos, best.is_wide, best.why, event_id)


def _of_members(inputs: Inputs, instances: Instances) -> Iterator[Gap]:
    """Yield gaps that the memberships of clients show."""
    rounds, joins, coordinated = Rounds(inputs), UnansweredJoins(inputs), coordinated_generations(inputs, instances)
    for lines in grouped(inputs.table("client_event", [*COLUMNS, "is_worker", "at_ms"]), CLIENT, "stream_pos"):
        reached = rounds.reached(lines, client_of(lines[0]))
        yield from unexplained_rounds(reached, rounds)
        yield from unheard_generations(reached, coordinated)
        joins.add(lines)
    yield from joins.gaps(instances)


def _lost(inputs: Inputs) -> Iterator[Gap]:
    """Yield lost ranges. One may hide the end of one run and the start of the next."""
    for row in inputs.rows("lost_range"):
        for instance in dict.fromkeys((row["before_instance"], row["instance"])):
            if instance is not None:
                yield Gap(row["process_id"], instance, row["from_pos"], row["to_pos"], is_wide=True, why="lost", event_id=None)


def _filtered(inputs: Inputs, instances: Instances) -> Iterator[Gap]:
    """Yield the places between any two lines of a filtered log, and before the first and after the last of each run."""
    filtered = filtered_logs(inputs)
    of_run = defaultdict(list)
    for line in events(inputs, ["process_id", "stream_pos", "event_id"], one_of("process_id", filtered)) if filtered else ():
        run = line["process_id"], instances.at(line["process_id"], line["stream_pos"])
        of_run[run].append((line["stream_pos"], line["event_id"]))
    for run, lines in of_run.items():
        lines.sort()
        first_pos, last = lines[0][0] - 1, lines[-1]
        for (from_pos, _), (to_pos, event_id) in pairwise([(first_pos, ""), *lines, (last[0] + 1, last[1])]):
            yield Gap(*run, from_pos, to_pos, is_wide=True, why="filtered", event_id=event_id)
