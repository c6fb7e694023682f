"""Compute the view `storm_round`: rounds of groups that had one cause each, which may come back."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from forensics.clocks.offsets import Clocks
from forensics.memberships.rounds import KEY, Group, GroupRounds, Key, Round
from forensics.relations.conditions import one_of, one_of_numbers
from forensics.relations.missing import first, minus, order, plus, there

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs, Row

_CHANGES = {"connector_config_updated": "updated", "connector_config_removed": "removed", "connector_target_state_changed": "state"}


def rows(inputs: Inputs) -> list[Row]:
    """Return the rows of the view `storm_round`."""
    rounds, members = GroupRounds(inputs), _Members(inputs)
    changes = list(_connector_changes(inputs))
    return [*_returns(inputs, rounds, members), *changes, *_idle_rounds(inputs, rounds, members, changes)]


def _row(group: Group, kind: str, subject: str, at_ms: int | None, how: str | None, event_id: str | None) -> Row:
    names = ("kafka_cluster", "group_id", "kind", "subject", "at_ms", "how", "event_id")
    return dict(zip(names, (*group, kind, subject, at_ms, how, event_id), strict=True))


class _Members:
    """The members of groups. A member known only by its id can never return.

    Args:
        inputs: rows of `member`.
    """

    def __init__(self, inputs: Inputs) -> None:
        columns = ["kafka_cluster", "group_id", "member_id", "process_id", "client_id", "client_host", "group_instance_id", "task"]
        self.of = {
            (row["kafka_cluster"], row["group_id"], row["member_id"]): row for row in inputs.rows("member", [*columns, "left_client", "left_broker"])
        }

    def place(self, group: Group, member_id: str | None) -> str | None:
        """Return the process and client of a member, its group.instance.id, its client id and host, or its id; None: there is no such member."""
        row = self.of.get((*group, member_id))
        if row is None:
            return None
        process = plus_text(row["process_id"], f" (task {row['task']})" if row["task"] is not None else "")
        client = plus_text(row["client_id"], " at ", row["client_host"])
        return str(first(process, row["group_instance_id"], client, row["member_id"]))


def plus_text(*parts: str | None) -> str | None:
    """Return the parts as one text, or None if one is missing."""
    return "".join(there(parts)) if None not in parts else None


def _returns(inputs: Inputs, rounds: GroupRounds, members: _Members) -> Iterator[Row]:
    """Yield the rounds in which a member returned.

    Several consumers of one process join one after the other, which is no return: one of them must have ended since the last join.
    """
    edges: defaultdict[tuple[Group, str], list[tuple[Any, ...]]] = defaultdict(list)
    for group, member_id, first_round, last_ms in _memberships(inputs, rounds):
        row = members.of.get((*group, member_id))
        place = members.place(group, member_id)
        if row is not None and place is not None:
            ended = next((how for how in (row["left_client"], row["left_broker"]) if how not in (None, "unknown")), "gone")
            edges[group, place].append((first_round.at_ms, 0, member_id, row["task"], first_round.event_id, None))
            edges[group, place].append((last_ms, 1, member_id, row["task"], first_round.event_id, ended))
    for (group, place), its in edges.items():
        for (_, was_end, *_, ended), (at_ms, is_end, member_id, task, event_id, _) in pairwise(sorted(its, key=order)):
            # A sink task's consumer that its worker stops and starts is not the cause; the worker's group is. If no line shows its end, it may be one.
            if was_end and not is_end and place != member_id and not (task is not None and ended in ("left", "gone")):
                yield _row(group, "returning", place, at_ms, ended, event_id)


def _memberships(inputs: Inputs, rounds: GroupRounds) -> Iterator[tuple[Group, str, Round, int | None]]:
    """Yield each membership with its first round and the time of its last one."""
    members = inputs.table("member_generation", [*KEY, "member_id"], pc.field("member_id").is_valid())
    seen = set()
    # There may be millions of rows: of each membership only the first and the last round become objects.
    in_order = sorted(rounds.of.items(), key=lambda one: order([one[1].at_ms, one[1].event_id]))
    columns = {name: pa.array([one.row[name] for _, one in in_order], members.schema.field(name).type) for name in KEY}
    columns |= {"nth": pa.array(range(len(in_order)), pa.int64()), "at_ms": pa.array([one.at_ms for _, one in in_order], pa.int64())}
    places = pa.table(columns)
    its = members.join(places, KEY, join_type="left outer").group_by([*KEY[:2], "member_id"]).aggregate([("nth", "min"), ("at_ms", "max")])
    found = (its.column(name).to_pylist() for name in (*KEY[:2], "member_id", "nth_min", "at_ms_max"))
    for kafka_cluster, group_id, member_id, nth, last_ms in zip(*found, strict=True):
        seen.add(((kafka_cluster, group_id), member_id))
        if nth is not None:
            yield (kafka_cluster, group_id), member_id, in_order[nth][1], last_ms
    # Only the coordinator's log is available: the member that triggered the rebalance by joining.
    for (group, *_), one in rounds.of.items():
        if one.trigger == "member_joined" and one.trigger_member_id is not None and (group, one.trigger_member_id) not in seen:
            yield group, one.trigger_member_id, one, one.at_ms


def _connector_changes(inputs: Inputs) -> Iterator[Row]:
    """Yield the changes of connectors. All workers read the changes, so only the worker with the most lines counts."""
    columns = ["kafka_cluster", "worker_group_id", "process_id", "connector", "event", "at_ms", "event_id"]
    lines = inputs.rows("fact_line", columns, one_of("event", _CHANGES))
    counts: defaultdict[Group, Counter[str]] = defaultdict(Counter)
    of_process = defaultdict(list)
    for line in lines:
        of_process[line["kafka_cluster"], line["process_id"]].append(line)
        if line["worker_group_id"] is not None:
            counts[line["kafka_cluster"], line["worker_group_id"]][line["process_id"]] += 1
    clocks = Clocks(inputs) if counts else None
    for group, its in counts.items():
        process_id = min(its, key=lambda name: (-its[name], name))
        if clocks is not None and (clock := clocks.of(process_id)) is not None:
            ahead_ms = _half(plus(clock.lo_ms, clock.hi_ms))
            for line in of_process[group[0], process_id]:
                if line["connector"] is not None:
                    how = _CHANGES[line["event"]]
                    yield _row(group, "connector", line["connector"], minus(line["at_ms"], ahead_ms), how, line["event_id"])


def _half(value: int | None) -> int | None:
    """Return the half of a number, rounded towards zero."""
    return None if value is None else abs(value) // 2 * (-1 if value < 0 else 1)


def _joined(assigned: Sequence[str] | None) -> str | None:
    return ",".join(sorted(there(assigned))) if assigned is not None else None


def _idle_rounds(inputs: Inputs, rounds: GroupRounds, members: _Members, changes: Sequence[Row]) -> Iterator[Row]:
    """Yield the rounds that changed nothing, unless a connector had changed."""
    times: defaultdict[Group, list[int]] = defaultdict(list)
    for change in changes:
        if change["at_ms"] is not None:
            times[change["kafka_cluster"], change["group_id"]].append(change["at_ms"])
    for its in times.values():
        its.sort()
    for group, last, one in _unchanged(rounds, _signatures(inputs, rounds, members), _revoking(inputs)):
        from_ms = minus(last.at_ms, inputs.knobs.storm_change_ms)
        changed = times.get(group, [])
        at = bisect_left(changed, from_ms) if from_ms is not None else len(changed)
        if one.at_ms is None or at == len(changed) or changed[at] > one.at_ms:
            subject = first(members.place(group, one.trigger_member_id), one.trigger_member_id, "nobody known")
            yield _row(group, "idle", subject, one.at_ms, one.trigger, one.event_id)


def _signatures(inputs: Inputs, rounds: GroupRounds, members: _Members) -> dict[Key, list[str]]:
    """Return what each member was given in each generation of which all members are shown, and were given something, or nothing.

    If no line prints the number of members, others may have come and gone.
    """
    whole = {key for key, (seen, given) in _sizes(inputs).items() if key in rounds.of and seen == given == rounds.of[key].member_count}
    # Only a generation with the one before it is compared.
    wanted = {key for key in whole if (key[0], key[1], key[2] - 1) in whole or (key[0], key[1], key[2] + 1) in whole}
    found = defaultdict(list)
    columns = [*KEY, "member_id", "assigned"]
    of_wanted = one_of("group_id", (group[1] for group, *_ in wanted)) & one_of_numbers("generation", (generation for *_, generation in wanted))
    for row in inputs.rows("member_generation", columns, of_wanted) if wanted else ():
        key = (row["kafka_cluster"], row["group_id"]), row["incarnation"], row["generation"]
        if key in wanted:
            found[key].append("|".join(there([first(members.place(key[0], row["member_id"]), row["member_id"]), _joined(row["assigned"])])))
    return {key: sorted(its) for key, its in found.items()}


def _sizes(inputs: Inputs) -> dict[Key, tuple[int, int]]:
    """Return the number of members that each generation shows, and how many of them were given something, or nothing."""
    rows = inputs.table("member_generation", [*KEY, "state", "assigned"])
    is_given = pc.and_(pc.fill_null(pc.equal(rows["state"], "synced"), False), rows["assigned"].is_valid())
    counted = rows.select(KEY).append_column("given", pc.cast(is_given, pa.int64())).group_by(KEY).aggregate([("given", "count"), ("given", "sum")])
    columns = (counted.column(name).to_pylist() for name in (*KEY, "given_count", "given_sum"))
    return {((kafka_cluster, group_id), *nth): (seen, given) for kafka_cluster, group_id, *nth, seen, given in zip(*columns, strict=True)}


def _revoking(inputs: Inputs) -> set[Key]:
    """Return the generations in which members were asked to revoke something: it is gone, or assigned to another member, in the next."""
    rows = inputs.rows("member_generation", [*KEY, "revoked"], pc.field("revoked").is_valid())
    return {((row["kafka_cluster"], row["group_id"]), row["incarnation"], row["generation"]) for row in rows if row["revoked"]}


def _unchanged(rounds: GroupRounds, signatures: Mapping[Key, list[str]], revoking: set[Key]) -> Iterator[tuple[Group, Round, Round]]:
    """Yield the generations whose members have what they had in the one before, with that one."""
    for (group, incarnation, generation), sign in signatures.items():
        before = group, incarnation, generation - 1
        if before not in revoking and signatures.get(before) == sign:
            yield group, rounds.of[before], rounds.of[group, incarnation, generation]
