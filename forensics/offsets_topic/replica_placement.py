"""How the replicas of a topic lie over brokers: what dies with each broker, and how they should lie.

The new place of every replica is a flow of least cost, so that the wishes are met in their order and each as far as the one before allows: leaders stay;
a partition's replicas lie in as many racks as there are; brokers carry equally many; replicas stay where they are.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from forensics.errors import UsageError


@dataclass(frozen=True)
class Placement:
    """One partition as it lies. `leader` is None where it has none; `replicas` and `isr` are broker ids, the preferred leader first."""

    partition: int
    leader: int | None
    replicas: tuple[int, ...]
    isr: tuple[int, ...]


@dataclass(frozen=True)
class Loss:
    """What the death of a broker does to a topic, as things stand.

    Attributes:
        broker: its id.
        leads: partitions that it leads.
        replicas: partitions of which it has a replica.
        lost: partitions of which no other live broker has a replica in sync: nobody can lead them until it is back.
        blocked: partitions that another broker will lead, but with fewer replicas in sync than min.insync.replicas: nothing can be written to them.
    """

    broker: int
    leads: tuple[int, ...]
    replicas: tuple[int, ...]
    lost: tuple[int, ...]
    blocked: tuple[int, ...]


def group_partition(group_id: str, partitions: int) -> int:
    """The partition of `__consumer_offsets` that holds a group: Java's `Utils.abs(groupId.hashCode()) % partitions`."""
    code = 0
    units = group_id.encode("utf-16-be", "surrogatepass")
    for i in range(0, len(units), 2):
        code = (31 * code + int.from_bytes(units[i : i + 2], "big")) & 0xFFFFFFFF
    signed = code - (1 << 32) if code >= 1 << 31 else code
    return (0 if signed == -(1 << 31) else abs(signed)) % partitions


def live_brokers(placements: Sequence[Placement]) -> tuple[int, ...]:
    """Brokers that a topic shows to be alive: they lead something, or are in sync with a leader."""
    alive = {b for p in placements if p.leader is not None for b in (p.leader, *p.isr)}
    return tuple(sorted(alive))


def losses(placements: Sequence[Placement], brokers: Sequence[int], min_isr: int) -> list[Loss]:
    """What dies with each of some live brokers."""
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
    """Where the replicas of each partition should lie.

    Args:
        placements: as they lie.
        brokers: live brokers and their racks; None for all where there are no racks.
        factor: replicas of each partition.

    Returns:
        Broker ids by partition: the present leader first where it is alive, else a replica that was in sync.

    Raises:
        UsageError: there are fewer live brokers than `factor`.
    """
    if factor < 1:
        raise UsageError(f"A replication factor of {factor} is none.", where="--replication-factor", fix="1 or more; 3 is usual.")
    if len(brokers) < factor:
        listed = ", ".join(str(b) for b in sorted(brokers))
        raise UsageError(
            f"{factor} replicas need {factor} brokers, and there are {len(brokers)}.",
            why=f"the brokers: {listed or 'none'}",
            where="--replication-factor",
            fix="Name all live brokers with --brokers, start more, or ask for fewer replicas.",
        )
    chosen = _Flow(placements, brokers, factor).solve()
    return _ordered(placements, brokers, chosen)


def _first_of(p: Placement, brokers: Mapping[int, str | None]) -> int | None:
    """The broker that has to stay: the leader where it is alive."""
    return p.leader if p.leader in brokers else None


def _ordered(placements: Sequence[Placement], brokers: Mapping[int, str | None], chosen: Mapping[int, set[int]]) -> dict[int, tuple[int, ...]]:
    """The leader first; then those that were there before; brokers come first and second equally often where that is free."""
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
    """The replicas besides the leaders as a flow of least cost from partitions over their racks to brokers.

    An edge is [to, capacity, cost, index of the edge back]. A broker's k-th replica costs k loads and a partition's k-th replica in one rack k racks, so
    that equal shares are cheapest; a rack outweighs all loads together, a load all moves.
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
        """Sends along the cheapest ways, all of one cost at a time, until there is none."""
        while True:
            cost = self._costs(source)
            if cost[sink] is None:
                return
            tried = [0] * len(self._edges)
            while self._send(source, sink, cost, tried):
                pass

    def _costs(self, source: int) -> list[int | None]:
        """The least cost of reaching each node; None where that cannot be."""
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
        """Sends one unit over edges that lie on cheapest ways; `tried` counts the edges of each node that lead nowhere any more."""
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
