"""Find what each broker failure would break in a topic, and how to distribute the topic's replicas.

The new place of every replica is a minimum-cost flow, which satisfies these wishes in order, each as far as the previous ones allow: leaders stay;
a partition's replicas are in as many racks as possible; brokers have equal numbers; replicas stay where they are.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from forensics.errors import UsageError


@dataclass(frozen=True)
class Placement:
    """The current replicas of one partition. `leader` is None if it has none; `replicas` and `isr` are broker IDs, the preferred leader first."""

    partition: int
    leader: int | None
    replicas: tuple[int, ...]
    isr: tuple[int, ...]


@dataclass(frozen=True)
class Loss:
    """The effect of a broker's failure on a topic, given the current replicas.

    Attributes:
        broker: its ID.
        leads: partitions that it leads.
        replicas: partitions of which it has a replica.
        lost: partitions without an in-sync replica on another live broker: they have no leader until this one is back.
        blocked: partitions that get another leader, but with fewer in-sync replicas than min.insync.replicas: they cannot be written to.
    """

    broker: int
    leads: tuple[int, ...]
    replicas: tuple[int, ...]
    lost: tuple[int, ...]
    blocked: tuple[int, ...]


def group_partition(group_id: str, partitions: int) -> int:
    """Return the partition of `__consumer_offsets` of a group: Java's `Utils.abs(groupId.hashCode()) % partitions`."""
    code = 0
    units = group_id.encode("utf-16-be", "surrogatepass")
    for i in range(0, len(units), 2):
        code = (31 * code + int.from_bytes(units[i : i + 2], "big")) & 0xFFFFFFFF
    signed = code - (1 << 32) if code >= 1 << 31 else code
    return (0 if signed == -(1 << 31) else abs(signed)) % partitions


def live_brokers(placements: Sequence[Placement]) -> tuple[int, ...]:
    """Return brokers that a topic shows to be alive: they lead a partition, or are in sync with a leader."""
    alive = {b for p in placements if p.leader is not None for b in (p.leader, *p.isr)}
    return tuple(sorted(alive))


def losses(placements: Sequence[Placement], brokers: Sequence[int], min_isr: int) -> list[Loss]:
    """Return the effect of the failure of each given broker."""
    live = set(brokers)
    found = []
    for broker in brokers:
        lost, blocked = [], []
        for p in placements:
            if p.leader is None or broker not in p.replicas:
                continue
            rest = [b for b in p.isr if b != broker and b in live]
            if not rest:
                lost.append(p.partition)
            elif len(rest) < min_isr <= len([b for b in p.isr if b in live]):
                blocked.append(p.partition)
        found.append(
            Loss(
                broker,
                tuple(p.partition for p in placements if p.leader == broker),
                tuple(p.partition for p in placements if broker in p.replicas),
                tuple(lost),
                tuple(blocked),
            )
        )
    return found


def spread(placements: Sequence[Placement], brokers: Mapping[int, str | None], factor: int) -> dict[int, tuple[int, ...]]:
    """Return where the replicas of each partition should be.

    Args:
        placements: the current replicas.
        brokers: live brokers and their racks; None for all if there are no racks.
        factor: number of replicas of each partition.

    Returns:
        Broker IDs by partition: the current leader first if it is alive, else a replica that was in sync.

    Raises:
        UsageError: there are fewer live brokers than `factor`.
    """
    if factor < 1:
        raise UsageError(f"{factor} is not a replication factor.", where="--replication-factor", fix="Use 1 or more; 3 is usual.")
    if len(brokers) < factor:
        listed = ", ".join(str(b) for b in sorted(brokers))
        raise UsageError(
            f"{factor} replicas need {factor} brokers, and there are {len(brokers)}.",
            why=f"live brokers: {listed or 'none'}",
            where="--replication-factor",
            fix="Name all live brokers with --brokers, start more, or request fewer replicas.",
        )
    chosen = _Flow(placements, brokers, factor).solve()
    return _ordered(placements, brokers, chosen)


def _first_of(p: Placement, brokers: Mapping[int, str | None]) -> int | None:
    """Return the broker that has to stay: the leader if it is alive."""
    return p.leader if p.leader in brokers else None


def _ordered(placements: Sequence[Placement], brokers: Mapping[int, str | None], chosen: Mapping[int, set[int]]) -> dict[int, tuple[int, ...]]:
    """Return the replicas with the leader first and existing ones next; where there is a choice, brokers come first and second equally often."""
    firsts, seconds = dict.fromkeys(brokers, 0), dict.fromkeys(brokers, 0)
    for p in placements:
        first = _first_of(p, brokers)
        if first is not None:
            firsts[first] += 1
    result = {}
    for p in placements:
        mine, first = set(chosen[p.partition]), _first_of(p, brokers)
        if first is None:
            able = [b for b in mine if b in p.isr] or [b for b in mine if b in p.replicas] or list(mine)
            first = min(able, key=lambda b: (firsts[b], b))
            firsts[first] += 1
        rest = sorted(mine - {first}, key=lambda b: (b not in p.isr, seconds[b], b))
        if rest:
            seconds[rest[0]] += 1
        result[p.partition] = (first, *rest)
    return result


class _Flow:
    """The replicas other than the leaders as a minimum-cost flow from partitions through their racks to brokers.

    An edge is [to, capacity, cost, index of the reverse edge]. A broker's k-th replica costs k loads and a partition's k-th replica in one rack
    k racks, so equal shares are cheapest. A rack outweighs all loads together, a load all moves.
    """

    def __init__(self, placements: Sequence[Placement], brokers: Mapping[int, str | None], factor: int) -> None:
        self._placements, self._brokers, self._factor = placements, brokers, factor
        self._edges: list[list[list[int]]] = []
        replicas = len(placements) * factor
        self._load = replicas + 1
        self._rack = self._load * (replicas + 1) * (replicas + 1)
        self._has_racks = any(rack is not None for rack in brokers.values())

    def solve(self) -> dict[int, set[int]]:
        source, sink = self._node(), self._node()
        broker_node = {b: self._node() for b in sorted(self._brokers)}
        led = {b: sum(_first_of(p, self._brokers) == b for p in self._placements) for b in self._brokers}
        for broker, node in broker_node.items():
            for nth in range(led[broker] + 1, len(self._placements) + 1):
                self._edge(node, sink, 1, nth * self._load)
        choices: list[tuple[int, int, list[int]]] = []
        for p in self._placements:
            first = _first_of(p, self._brokers)
            node = self._node()
            self._edge(source, node, self._factor - (first is not None), 0)
            by_rack: dict[str | None, list[int]] = {}
            for broker in sorted(self._brokers):
                if broker != first:
                    by_rack.setdefault(self._brokers[broker], []).append(broker)
            for rack, members in by_rack.items():
                at = node
                if self._has_racks:
                    at = self._node()
                    taken = first is not None and self._brokers[first] == rack
                    for nth in range(1 + taken, min(len(members), self._factor) + 1 + taken):
                        self._edge(node, at, 1, nth * self._rack)
                for broker in members:
                    choices.append((p.partition, broker, self._edge(at, broker_node[broker], 1, broker not in p.replicas)))
        self._run(source, sink)
        chosen: dict[int, set[int]] = {p.partition: {f for f in (_first_of(p, self._brokers),) if f is not None} for p in self._placements}
        for partition, broker, edge in choices:
            if edge[1] == 0:
                chosen[partition].add(broker)
        return chosen

    def _node(self) -> int:
        self._edges.append([])
        return len(self._edges) - 1

    def _edge(self, start: int, end: int, capacity: int, cost: int) -> list[int]:
        edge = [end, capacity, cost, len(self._edges[end])]
        self._edges[start].append(edge)
        self._edges[end].append([start, 0, -cost, len(self._edges[start]) - 1])
        return edge

    def _run(self, source: int, sink: int) -> None:
        """Send flow along the cheapest paths, all those of one cost at a time, until there is no path."""
        while True:
            cost = self._costs(source)
            if cost[sink] is None:
                return
            tried = [0] * len(self._edges)
            while self._send(source, sink, cost, tried):
                pass

    def _costs(self, source: int) -> list[int | None]:
        """Return the lowest cost of reaching each node; None if it is unreachable."""
        cost: list[int | None] = [None] * len(self._edges)
        waiting, queued = deque([source]), [False] * len(self._edges)
        cost[source] = 0
        while waiting:
            node = waiting.popleft()
            queued[node] = False
            here = cost[node] or 0
            for end, capacity, more, _ in self._edges[node]:
                if capacity:
                    there = cost[end]
                    if there is None or here + more < there:
                        cost[end] = here + more
                        if not queued[end]:
                            waiting.append(end)
                            queued[end] = True
        return cost

    def _send(self, source: int, sink: int, cost: list[int | None], tried: list[int]) -> bool:
        """Send one unit over edges on cheapest paths; `tried` counts the edges of each node that have become dead ends."""
        way: list[list[int]] = []
        nodes, on_way = [source], {source}
        while nodes[-1] != sink:
            node = nodes[-1]
            edges, here = self._edges[node], cost[node] or 0
            while tried[node] < len(edges):
                edge = edges[tried[node]]
                if edge[1] and cost[edge[0]] == here + edge[2] and edge[0] not in on_way:
                    way.append(edge)
                    nodes.append(edge[0])
                    on_way.add(edge[0])
                    break
                tried[node] += 1
            else:
                if not way:
                    return False
                on_way.discard(nodes.pop())
                way.pop()
                tried[nodes[-1]] += 1
        for edge in way:
            edge[1] -= 1
            self._edges[edge[0]][edge[3]][1] += 1
        return True
