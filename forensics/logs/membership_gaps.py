"""Find places where a member reached a generation, or was in one, in a way that its own log does not explain: lines are missing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from forensics.logs.client_rounds import is_loss
from forensics.logs.events import events
from forensics.logs.gaps import Gap, gap_before
from forensics.relations.conditions import one_of
from forensics.relations.missing import first, greatest, less, minus

if TYPE_CHECKING:
    from forensics.logs.client_rounds import ReachedRound, Rounds
    from forensics.logs.instances import Instances
    from forensics.relations.inputs import Inputs, Row

#: Group and member id.
Member = tuple[str | None, str]
_ENDS = frozenset(["leaving", "partitions_lost", "member_fenced", "generation_reset"])
_SHOWN = _ENDS | {"joining", "partitions_revoked", "heartbeat_failed", "poll_timeout"}


def unexplained_rounds(reached: list[ReachedRound], rounds: Rounds) -> Iterator[Gap]:
    """Yield places where a client reached a generation in a way that its log does not explain.

    A member id changes only with a line (fenced, left, generation reset) or in a new process run. A change without either means that such a line is
    missing. A member that was paused or cut off while its group continued prints errors when it returns, so a skipped generation without such an error
    is a gap. Membership without a join request is a gap too.

    Args:
        reached: the generations of one client in one run of a process.
        rounds: those of all clients.
    """
    last: Row | None = None
    of_member: Row | None = None
    for its in reached:
        row = its.row
        if of_member is not None and row["member_id"] not in (None, of_member["member_id"]):
            # A member that learns only from the coordinator's response that its id is no longer valid asks again.
            since = its.trouble_pos if (row["joining_count"] or 0) > 1 else its.loss_pos
            if not less(of_member["from_pos"], since):
                yield _gap(its, of_member, "member_changed")
        if last is not None:
            asked = row["joining_count"] or 0
            # Up to 2.6.0 a round that failed after the join is not printed, only the next join request.
            most = 1 if rounds.prints_joins(row) else max(asked, 1)
            if less(most, minus(row["generation"], last["generation"])) and not less(last["from_pos"], its.trouble_pos):
                yield _gap(its, last, "generation_skipped")
            is_later = less(last["generation"], row["generation"])
            if row["is_worker"] and row["joining_count"] == 0 and rounds.has_requests(row) and is_later:
                yield _gap(its, last, "joined_unasked", is_wide=False)
        yield from _left_as_another(its)
        last = row
        of_member = row if row["member_id"] is not None else of_member


def _gap(its: ReachedRound, last: Row, why: str, *, is_wide: bool = True) -> Gap:
    row = its.row
    return Gap(row["process_id"], row["instance"], last["from_pos"], row["from_pos"], is_wide, why, its.event_id)


def _left_as_another(its: ReachedRound) -> Iterator[Gap]:
    """Yield the lines with which a member leaves under another id: a leaving member prints its own."""
    member_id = its.row["member_id"]
    for line in its.after:
        if line["event"] == "leaving" and None not in (line["member_id"], member_id) and line["member_id"] != member_id:
            yield gap_before(line, its.row["from_pos"], "member_changed")
        if is_loss(line):
            return


def unheard_generations(reached: list[ReachedRound], coordinated: Mapping[Member, int]) -> Iterator[Gap]:
    """Yield memberships that the coordinator counted in a later generation than the member's own log: lines in between are missing.

    Args:
        reached: the generations of one client in one run of a process.
        coordinated: the last generation of each member by its coordinator.
    """
    for its, following in zip_longest(reached, reached[1:]):
        row = its.row
        shown = [line for line in its.after if line["event"] in _SHOWN]
        is_final = following is None or row["member_id"] is None or row["member_id"] != following.row["member_id"]
        if not shown or not is_final:
            continue
        # The first line that reports the end of a membership ends it. Requests before it may have been answered without a logged response.
        end = next((nth for nth, line in enumerate(shown) if line["event"] in _ENDS), None)
        asked = sum(line["event"] == "joining" for line in shown[:end])
        # Releases that do not print the id with the generation print it when it is no longer valid.
        member_id = first(row["member_id"], *(line["member_id"] for line in shown))
        known = coordinated.get((row["group_id"], member_id)) if member_id is not None else None
        # A member whose join was never answered may be in that generation without knowing it.
        if less(asked, minus(known, row["generation"])):
            yield gap_before(shown[-1 if end is None else end], row["from_pos"], "coordinator_ahead")


def coordinated_generations(inputs: Inputs, instances: Instances) -> dict[Member, int]:
    """Return the last generation in which coordinators knew each member.

    A coordinator that reports a member as leaving, removed or joining again knows it in the group's current generation. Member ids are unique even if
    the coordinator's cluster is unknown.

    Args:
        inputs: rows of events.
        instances: the runs of all processes.
    """
    columns = ["process_id", "stream_pos", "group_id", "member_id", "event", "reason", "old_generation"]
    is_report = one_of("event", ("rebalance_preparing", "member_expired", "member_left")) & pc.field("broker_id").is_valid()
    current: defaultdict[tuple[str, int, str | None], int | None] = defaultdict(lambda: None)
    found: dict[Member, int] = {}
    for line in sorted(events(inputs, columns, is_report), key=lambda line: (line["process_id"], line["stream_pos"])):
        # This is not the last stabilised generation: if a member leaves while others join, its departure is logged after the generation without it.
        group = line["process_id"], instances.at(line["process_id"], line["stream_pos"]), line["group_id"]
        current[group] = generation = first(line["old_generation"], current[group])
        if line["member_id"] is not None and generation is not None and _is_known(line):
            member = line["group_id"], line["member_id"]
            found[member] = greatest(found.get(member), generation) or generation
    return found


def _is_known(line: Row) -> bool:
    """Return True if the coordinator reports a member that it had."""
    if line["event"] != "rebalance_preparing":
        return True
    return line["reason"] is not None and not line["reason"].lower().startswith("adding new member")
