"""Find processes that the logs of others name but whose own logs are missing: members, and coordinators."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from forensics.logs.clusters import Clusters
from forensics.logs.events import events
from forensics.logs.member_ids import client_of
from forensics.relations.by_key import ByKey
from forensics.relations.conditions import one_of
from forensics.relations.missing import first, greatest, least, minus, order, there, up_to

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs, Row

#: Beginning of the client ids of sink tasks' consumers.
_OF_TASK = "connector-consumer-"
_NO_TEXT = "\N{REPLACEMENT CHARACTER}"
#: Lines that only coordinators print.
_COORDINATED = ["rebalance_preparing", "group_stabilized", "assignment_from_leader", "group_emptied"]

Group = tuple[str, str]
Generation = tuple[str, str, int]
#: Cluster, group, and member id or client id.
Identity = tuple[str, str, str]
Client = tuple[str, str, str]


@dataclass(frozen=True)
class MissingMember:
    """Members of one client whose logs are missing.

    Attributes:
        process_id: a name for the missing process.
        members: how many there are at least; None: one, or unknown.
        from_ms: when another log first names one.
        to_ms: when another log last names one.
    """

    process_id: str
    group_id: str
    members: int | None
    from_ms: int | None
    to_ms: int | None


@dataclass(frozen=True)
class MissingCoordinator:
    """Generations of a group of which no log of a coordinator has a line.

    Attributes:
        generations: how many they are.
        all_generations: how many generations the group had.
        loaded_by: the broker that loaded the group afterwards; None: no line shows it.
    """

    group_id: str
    generations: int
    all_generations: int
    loaded_by: str | None
    from_ms: int | None
    to_ms: int | None


def missing_members(inputs: Inputs, late_logs: Collection[str]) -> Iterator[MissingMember]:
    """Yield the clients whose members other logs name, and that have no log: those of coordinators' logs, then those that leaders name.

    Args:
        inputs: rows of views.
        late_logs: processes whose logs begin after they started.
    """
    members = inputs.rows("member")
    cut = _CutLogs(inputs, members, late_logs)
    unseen = _unseen(inputs, members, cut)
    without_log = _without_log(inputs, members, unseen)
    of_logs = cut.ids(without_log)
    without_log = [row for row in without_log if _identity(row) not in of_logs]
    yield from _of_coordinators(without_log, unseen)
    reported = {(row["group_id"], client_of(first(row["client_id"], row["member_id"]))) for row in without_log}
    yield from _named_by_leaders(inputs, members, reported)


def _unseen(inputs: Inputs, members: Sequence[Row], cut: _CutLogs) -> dict[Group, int]:
    """Return for each group the most members of a generation that have no log.

    Brokers before 2.8 do not print the number of members: it is at least that of the members that lines before and after name.
    """
    of_group: defaultdict[Group, list[Row]] = defaultdict(list)
    for row in members:
        of_group[row["kafka_cluster"], row["group_id"]].append(row)
    found: dict[Group, int] = {}
    for row in inputs.rows("generation"):
        group, at_ms = (row["kafka_cluster"], row["group_id"]), first(row["stabilized_ts"], row["assigned_ts"])
        counted = row["member_count"] if row["is_count_told"] else greatest(row["member_count"], _named_around(of_group[group], at_ms))
        number = minus(counted, row["seen_by_members"])
        if number is not None:
            number -= cut.without(group, at_ms)
            found[group] = max(number, found.get(group, number))
    return found


def _named_around(members: Iterable[Row], at_ms: int | None) -> int:
    """Return the number of members that lines before and after a moment name; those of one client in one log are one."""
    around = (row for row in members if up_to(row["first_ts"], at_ms) and up_to(at_ms, row["last_ts"]))
    return len({(row["process_id"], row["member_id"] if row["process_id"] is None else row["client_id"]) for row in around})


def _without_log(inputs: Inputs, members: Sequence[Row], unseen: Mapping[Group, int]) -> list[Row]:
    """Return members without a log. Old clients do not print their ids: if each generation has as many members as there are logs, none is missing."""
    # A process on that host has a log, but without the lines of that client.
    hosts = ByKey((row for row in members if row["client_host"] is not None), "process_id")
    quiet = {(row["client"], member["client_host"]) for row in inputs.rows("quiet_log") for member in hosts[row["process_id"]]}
    return [
        row
        for row in members
        if row["process_id"] is None
        and row["left_client"] is None
        and row["member_id"] is not None
        and _NO_TEXT not in row["member_id"]
        and unseen.get((row["kafka_cluster"], row["group_id"]), 1) > 0
        and (None in (row["client_id"], row["client_host"]) or (row["client_id"], row["client_host"]) not in quiet)
    ]


class _CutLogs:
    """The logs that begin after their process had started, or end before it did: they account for members whose ids they do not print.

    Args:
        inputs: rows of views.
        members: rows of `member`.
        late: processes whose logs begin late.
    """

    def __init__(self, inputs: Inputs, members: Iterable[Row], late: Collection[str]) -> None:
        self._late, self._ended = late, {row["process_id"] for row in inputs.rows("silent_member")}
        self._logged = _logged(inputs)
        self._workers = {row["process_id"] for row in inputs.rows("process_life") if row["is_worker"]} & {*self._ended, *late}
        self._of: defaultdict[Client, defaultdict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
        self._in: defaultdict[Group, set[str]] = defaultdict(set)
        self._hosts: defaultdict[str, set[str]] = defaultdict(set)
        for row in members:
            if row["process_id"] in self._ended or row["process_id"] in late:
                self._of[_client(row)][row["process_id"]].append(row)
                self._in[row["kafka_cluster"], row["group_id"]].add(row["process_id"])
                self._hosts[row["process_id"]].update(there([row["client_host"]]))

    def without(self, group: Group, at_ms: int | None) -> int:
        """Return the number of the group's processes whose logs have no lines at a time, but may have lost them."""
        logs = ((process_id, *self._logged.get(process_id, (None, None))) for process_id in self._in[group])
        return sum(
            process_id in self._late and up_to(at_ms, first_ms) or process_id in self._ended and up_to(last_ms, at_ms)
            for process_id, first_ms, last_ms in logs
        )

    def ids(self, without_log: Iterable[Row]) -> set[Identity]:
        """Return the earlier and later ids of these processes' clients, or of tasks that such a worker may have had.

        A client has one id at a time, so each process accounts for ids that do not overlap.
        """
        found: set[Identity] = set()
        for row in sorted(without_log, key=lambda row: (row["client_host"] is None, order(row["first_ts"]), row["member_id"])):
            client = _client(row)
            of_worker = self._workers if client[2].startswith(_OF_TASK) else ()
            for process_id in sorted({*self._of[client], *of_worker}):
                if self._is_of(row, process_id, self._of[client][process_id]):
                    self._of[client][process_id].append(row)
                    found.add(_identity(row))
                    break
        return found

    def _is_of(self, row: Row, process_id: str, its: Sequence[Row]) -> bool:
        """Return True if a member may be of this process, before its log begins or after it ends; `its`: what is known of the same client there."""
        printed = [it for it in its if it["process_id"] is not None]
        first_ms, last_ms = self._logged.get(process_id, (None, None))
        is_earlier = process_id in self._late and up_to(row["last_ts"], least(*(it["first_ts"] for it in printed)) if printed else first_ms)
        is_later = process_id in self._ended and up_to(greatest(*(it["last_ts"] for it in printed)) if printed else last_ms, row["first_ts"])
        is_apart = all(up_to(it["last_ts"], row["first_ts"]) or up_to(row["last_ts"], it["first_ts"]) for it in its)
        hosts = self._hosts[process_id]
        return (is_earlier or is_later) and is_apart and (not hosts or row["client_host"] is None or row["client_host"] in hosts)


def _identity(row: Row) -> Identity:
    return row["kafka_cluster"], row["group_id"], row["member_id"]


def _client(row: Row) -> Client:
    return row["kafka_cluster"], row["group_id"], first(row["client_id"], client_of(row["member_id"]))


def _of_coordinators(without_log: Iterable[Row], unseen: Mapping[Group, int]) -> Iterator[MissingMember]:
    """Yield the clients of members without a log.

    One client may have had several ids; for some, lines show neither client nor host. Some libraries give all members one client id: if a group has no other
    missing client, all members without a log have this one.
    """
    clients: defaultdict[Group, defaultdict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for row in without_log:
        clients[row["kafka_cluster"], row["group_id"]][first(row["client_id"], client_of(row["member_id"]))].append(row)
    for group, of_group in clients.items():
        for client, its in of_group.items():
            hosts = {row["client_host"] for row in its} - {None}
            at: defaultdict[str | None, list[Row]] = defaultdict(list)
            # Of several members at a time, those without a printed host may be anywhere.
            is_one = (unseen.get(group) or 1) <= 1 or None not in {row["client_host"] for row in its}
            for row in its:
                at[first(row["client_host"], min(hosts)) if len(hosts) == 1 and is_one else row["client_host"] if is_one else None].append(row)
            for host, rows in at.items():
                is_only = len(of_group) == 1 and any(row["client_host"] is None for row in rows)
                number = unseen.get(group) if is_only else None
                yield _missing(f"member {client}" + (f" at {host}" if host is not None else ""), group[1], number, rows, "first_ts", "last_ts")


def _missing(name: str, group_id: str, number: int | None, rows: Iterable[Row], began: str, ended: str) -> MissingMember:
    rows = list(rows)
    from_ms, to_ms = least(*(row[began] for row in rows)), greatest(*(row[ended] for row in rows))
    return MissingMember(name, group_id, None if number == 1 else number, from_ms, to_ms)


def _named_by_leaders(inputs: Inputs, members: Sequence[Row], reported: set[tuple[str, str]]) -> Iterator[MissingMember]:
    """Yield clients that only leaders name, and workers that name their leader.

    Without a coordinator's log, a worker names one other member, the leader, and a consumer that leads names all members. These are ids without a line in any
    log. All consumers of an application may have one name: their number is that of one generation.

    Args:
        inputs: rows of views.
        members: rows of `member`.
        reported: groups and clients that are already reported.
    """
    named: defaultdict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in _unknown(inputs, members):
        if (row["group_id"], row["client"]) not in reported:
            named[row["group_id"], row["client"]].append(row)
    for (group_id, client), rows in named.items():
        at_once = defaultdict(set)
        for row in rows:
            at_once[row["generation"]].add(row["member_id"])
        yield _missing(f"member {client}", group_id, max(map(len, at_once.values())), rows, "from_ms", "to_ms")


def _unknown(inputs: Inputs, members: Sequence[Row]) -> Iterator[Row]:
    """Yield the members that are named in a generation and of which no log is known."""
    named = list(_named(inputs))
    if not named:
        return
    by_id = {(row["kafka_cluster"], row["group_id"], row["member_id"]) for row in members}
    processes: defaultdict[tuple[str, str, str], set[str]] = defaultdict(set)
    for row in members:
        if row["process_id"] is not None and row["client_id"] is not None:
            processes[row["kafka_cluster"], row["group_id"], row["client_id"]].add(row["process_id"])
    logged = _logged(inputs)
    has_log = pc.field("process_id").is_valid() & one_of("member_id", (row["member_id"] for row in named))
    columns = ["kafka_cluster", "group_id", "generation", "member_id"]
    with_log = {_member(row) for row in inputs.rows("member_generation", columns, has_log)}
    anonymous = _anonymous(inputs)
    clients: defaultdict[tuple[Generation, str], set[str]] = defaultdict(set)
    for row in named:
        clients[_generation(row), row["client"]].add(row["member_id"])
    nth = {(*key, member): n for key, its in clients.items() for n, member in enumerate(sorted(its), 1)}
    for row in named:
        group, generation = (row["kafka_cluster"], row["group_id"]), _generation(row)
        is_other_run = any(
            # A log that begins later or ends earlier may be that of another process run of the same client, unless it is the leader's own.
            process_id != row["leader_process_id"] and not _covers(logged.get(process_id), row)
            for process_id in processes[(*group, row["client"])]
        )
        # It may be one that prints no id. The log of such a member is also known from its assignment.
        is_anonymous = (generation, None) in anonymous or anonymous[generation, row["client"]] >= nth[generation, row["client"], row["member_id"]]
        if (*group, row["member_id"]) not in by_id and not is_other_run and not is_anonymous and _member(row) not in with_log:
            yield row


def _anonymous(inputs: Inputs) -> Counter[tuple[Generation, str | None]]:
    """Return the number of members of each generation that print no id, by client id."""
    columns = ["kafka_cluster", "group_id", "generation", "client_id"]
    rows = inputs.table("member_generation", columns, ~pc.field("member_id").is_valid())
    counted = rows.append_column("one", pa.array(np.ones(rows.num_rows, np.int64))).group_by(columns).aggregate([("one", "sum")])
    return Counter(
        {
            ((*key, generation), client): n
            for *key, generation, client, n in zip(*(counted.column(name).to_pylist() for name in (*columns, "one_sum")), strict=True)
        }
    )


def _named(inputs: Inputs) -> Iterator[Row]:
    """Yield the members that other members name in a generation."""
    for row in inputs.rows("generation"):
        if row["seen_by_broker"] is False and row["leader_member_id"] is not None:
            joined_ms, synced_ms = row["first_joined_ts"], row["last_synced_ts"]
            yield {
                **{name: row[name] for name in ("kafka_cluster", "group_id", "generation")},
                "member_id": row["leader_member_id"],
                "client": client_of(row["leader_member_id"]),
                "leader_process_id": None,
                "from_ms": first(joined_ms, synced_ms),
                "to_ms": first(synced_ms, joined_ms),
            }
    # Clients before 1.0 do not name the group in this line.
    groups = {row["event_id"]: row for row in inputs.rows("client_event", ["event_id", "kafka_cluster", "group_id"], _IS_COMPUTED)}
    if not groups:
        return
    mixed = {row["process_id"] for row in inputs.rows("shared_log") if (row["member_count"] or 0) > 0}
    columns = ["event_id", "process_id", "generation", "assignment", "members", "ts"]
    for row in events(inputs, columns, _IS_COMPUTED):
        if row["event_id"] in groups and row["process_id"] not in mixed:
            of_group = groups[row["event_id"]]
            for member_id in [name for name, _ in row["assignment"]] if row["assignment"] is not None else row["members"] or ():
                yield {
                    "kafka_cluster": of_group["kafka_cluster"],
                    "group_id": of_group["group_id"],
                    "generation": row["generation"],
                    "member_id": member_id,
                    "client": client_of(member_id),
                    "leader_process_id": row["process_id"],
                    "from_ms": row["ts"],
                    "to_ms": row["ts"],
                }


_IS_COMPUTED = pc.field("event") == "assignment_computed"


def _logged(inputs: Inputs) -> dict[str, tuple[int | None, int | None]]:
    """Return the first and the last time of each process's log."""
    found: dict[str, tuple[int | None, int | None]] = {}
    for row in inputs.rows("process_life"):
        from_ms, to_ms = found.get(row["process_id"], (None, None))
        found[row["process_id"]] = least(from_ms, row["first_ms"]), greatest(to_ms, row["last_ms"])
    return found


def _covers(log: tuple[int | None, int | None] | None, named: Row) -> bool:
    return log is not None and up_to(log[0], named["from_ms"]) and up_to(named["to_ms"], log[1])


def _generation(row: Row) -> Generation:
    return row["kafka_cluster"], row["group_id"], row["generation"]


def _member(row: Row) -> tuple[Generation, str | None]:
    return _generation(row), row["member_id"]


@dataclass(frozen=True)
class _Coordinated:
    """A generation that the group had: when members saw it, or the times of the generations around it."""

    key: Generation
    is_seen: bool | None
    first_joined_ms: int | None
    last_synced_ms: int | None


def missing_coordinators(inputs: Inputs) -> Iterator[MissingCoordinator]:
    """Yield groups with generations that no coordinator's log shows.

    If one line of a generation is lost, another may remain: the line with which a rebalance begins names the generation before. A broker that loads a group
    coordinates it from then on: only the log of the earlier coordinator is missing.
    """
    generations = list(_generations(inputs))
    if not any(generation.is_seen is False for generation in generations):
        return
    clusters = Clusters(inputs)
    coordinated, loaded = _coordinated(inputs, clusters), _loaded(inputs, clusters)
    numbers = Counter(generation.key[1] for generation in generations)
    unseen: defaultdict[str, list[_Coordinated]] = defaultdict(list)
    for generation in generations:
        if generation.is_seen is False and generation.key not in coordinated:
            unseen[generation.key[1]].append(generation)
    for group_id, its in unseen.items():
        loads = there(loaded.get((generation.key[0], group_id)) for generation in its)
        load = (min(row["generation"] for row in loads), min(row["ts"] for row in loads), min(row["process_id"] for row in loads)) if loads else None
        last = greatest(*(generation.key[2] for generation in its))
        is_loaded = load is not None and up_to(last, load[0])
        yield MissingCoordinator(
            group_id,
            len(its),
            numbers[group_id],
            load[2] if load is not None and is_loaded else None,
            least(*(first(generation.first_joined_ms, generation.last_synced_ms) for generation in its)),
            load[1] if load is not None and is_loaded else greatest(*(first(g.last_synced_ms, g.first_joined_ms) for g in its)),
        )


def _generations(inputs: Inputs) -> Iterator[_Coordinated]:
    """Yield all generations of all groups.

    A coordinator prints a line for each generation, even an empty one: it also coordinated those between two of its own.
    """
    of_life = defaultdict(list)
    for row in inputs.rows("generation"):
        yield _Coordinated(_generation(row), row["seen_by_broker"], row["first_joined_ts"], row["last_synced_ts"])
        of_life[row["kafka_cluster"], row["group_id"], row["incarnation"]].append(row)
    for (kafka_cluster, group_id, _), rows in of_life.items():
        before: Row | None = None
        for row in sorted(rows, key=lambda row: order(row["generation"])):
            if before is not None and all(r["seen_by_broker"] and first(r["group_protocol"], "classic") == "classic" for r in (before, row)):
                last_ms = first(before["assigned_ts"], before["last_synced_ts"], before["stabilized_ts"])
                began_ms = first(row["prepared_ts"], row["first_joined_ts"], row["stabilized_ts"])
                for number in range(before["generation"] + 1, row["generation"]):
                    yield _Coordinated((kafka_cluster, group_id, number), False, last_ms, began_ms)
            before = row


def _coordinated(inputs: Inputs, clusters: Clusters) -> set[Generation]:
    """Return the generations that a coordinator's lines name."""
    columns = ["process_id", "stream_pos", "event", "group_id", "generation", "old_generation"]
    found: set[Generation] = set()
    for row in events(inputs, columns, one_of("event", _COORDINATED)):
        old = row["old_generation"]
        other = old + 1 if old is not None and row["event"] == "rebalance_preparing" else old
        group = clusters.at(row["process_id"], row["stream_pos"]), row["group_id"]
        found |= {(*group, number) for number in (row["generation"], other) if number is not None}
    return found


def _loaded(inputs: Inputs, clusters: Clusters) -> dict[Group, Row]:
    """Return the first generation in which a broker loaded each group, with the first such line's time and process."""
    is_loaded = (pc.field("event") == "group_loaded") & pc.field("generation").is_valid() & pc.field("ts").is_valid()
    found: dict[Group, Row] = {}
    for row in sorted(
        events(inputs, ["process_id", "stream_pos", "group_id", "generation", "ts", "event_id"], is_loaded),
        key=lambda row: (row["ts"], order(row["event_id"])),
    ):
        group = clusters.at(row["process_id"], row["stream_pos"]), row["group_id"]
        if group in found:
            row = found[group] | {"generation": min(found[group]["generation"], row["generation"])}
        found[group] = row
    return found
