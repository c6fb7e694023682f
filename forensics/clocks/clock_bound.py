"""Compute the view `clock_bound`: how far the clock of one process can be ahead of another's, directly and through others.

Each pair of lines bounds the difference of two clocks. The bound of a chain of pairs is the sum of its links' bounds, so the tightest one is the shortest
path in a graph of processes.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from forensics.clocks.clock_edge import rows as clock_edge
from forensics.relations.inputs import once

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs

#: Two processes: the second one's clock is measured by the first one's.
Pair = tuple[str, str]
_LONGEST_CHAIN = 4


class _Chain(NamedTuple):
    """Pairs of lines that link two processes. Of several chains the first in this order is chosen, which does not depend on the order of rows.

    Attributes:
        hi_ms: the bound, milliseconds.
        links: number of pairs of lines.
        key: the event ids of its lines, as a text.
        witness: the event ids of its lines.
    """

    hi_ms: int
    links: int
    key: str
    witness: list[str]

    def then(self, other: _Chain) -> _Chain:
        """Return this chain, continued by another one."""
        return _Chain(self.hi_ms + other.hi_ms, self.links + other.links, self.key + other.key, self.witness + other.witness)


_NO_LINK = _Chain(0, 0, "", [])
Chains = dict[Pair, _Chain]


@once
def rows(inputs: Inputs) -> list[dict[str, Any]]:
    """Return the rows of the view `clock_bound`."""
    tightest, constraints = _direct(inputs)
    jitter_ms = inputs.knobs.clock_jitter_ms
    disagreeing = {(a, b) for (a, b), chain in tightest.items() if (b, a) in tightest and chain.hi_ms + tightest[b, a].hi_ms < -jitter_ms}
    agreeing = Counter(a for a, b in tightest if (a, b) not in disagreeing)
    suspect = {(a, b) for a, b in disagreeing if agreeing[a] <= agreeing[b]}
    life = inputs.rows("process_life", ["process_id", "is_broker", "setbacks"])
    stepped = {a for a, _ in suspect} | {row["process_id"] for row in life if row["setbacks"] is not None}
    links = _links({pair: chain for pair, chain in tightest.items() if stepped.isdisjoint(pair)}, jitter_ms)
    centres = _centres(links, {row["process_id"] for row in life if row["is_broker"]}, inputs.knobs.clock_partners_most)
    chains = _without_contradictions(_shortest(links, centres), centres)
    return [
        {
            "from_process_id": pair[0],
            "to_process_id": pair[1],
            "hi_ms": chains[pair].hi_ms if pair in chains else None,
            "witness": chains[pair].witness if pair in chains else None,
            "constraints": constraints.get(pair),
            "least_ms": tightest[pair].hi_ms if pair in tightest else None,
            "least_witness": tightest[pair].witness if pair in tightest else None,
            "impossible": pair in disagreeing,
            "is_suspect": pair in suspect,
        }
        for pair in sorted(chains.keys() | tightest.keys())
    ]


def _direct(inputs: Inputs) -> tuple[Chains, Mapping[Pair, int]]:
    """Return the tightest pair of lines of each two processes, and how many they have."""
    edges = clock_edge(inputs)
    tightest: dict[Pair, tuple[int, str, str]] = {}
    for edge in edges:
        pair, bound = (edge["from_process_id"], edge["to_process_id"]), (edge["hi_ms"], edge["from_event_id"], edge["to_event_id"])
        if pair not in tightest or bound < tightest[pair]:
            tightest[pair] = bound
    chains = {pair: _Chain(hi_ms, 1, ",".join(lines), list(lines)) for pair, (hi_ms, *lines) in tightest.items()}
    return chains, Counter((edge["from_process_id"], edge["to_process_id"]) for edge in edges)


def _links(tightest: Chains, jitter_ms: int) -> Chains:
    """Return the links of the processes that they connect, with a link of each to itself.

    Args:
        tightest: pairs of lines of processes with steady clocks.
        jitter_ms: contradictions up to this come from drift and only widen the bound.
    """
    links = {(process, process): _NO_LINK for pair in tightest for process in pair}
    for (a, b), chain in tightest.items():
        back = tightest.get((b, a))
        links[a, b] = chain._replace(hi_ms=jitter_ms - back.hi_ms) if back is not None and chain.hi_ms + back.hi_ms < 0 else chain
    return links


def _centres(links: Iterable[Pair], brokers: Collection[str], most: int) -> set[str]:
    """Return all processes but the members of large groups.

    Each of these has fewer partners than any of its partners, brokers and leaders, and one of them has many. Chains between all members would be
    quadratic. No two of them are linked, so a chain of each goes on from a centre. The first partner of each is one too: it may be the reference of an
    island without a broker.

    Args:
        links: pairs of linked processes.
        brokers: brokers are always centres.
        most: up to this number of partners no group is large.
    """
    partners: defaultdict[str, set[str]] = defaultdict(set)
    for a, b in links:
        if a != b:
            partners[a].add(b)
            partners[b].add(a)
    centres = set(brokers)
    for process, its in partners.items():
        centres.add(min(its))
        numbers = [len(partners[partner]) for partner in its]
        if min(numbers) <= len(its) or max(numbers) <= most:
            centres.add(process)
    return centres


def _shortest(links: Chains, centres: Collection[str]) -> Chains:
    """Return the shortest chain from each centre to each process and back, of up to four links, even if contradictory.

    Only chains found in the previous round grow, so the work is the number of pairs times the links of one process, not a third power.
    """
    linked: defaultdict[str, list[tuple[str, _Chain]]] = defaultdict(list)
    for (a, b), chain in links.items():
        linked[a].append((b, chain))
    chains = {pair: chain for pair, chain in links.items() if pair[0] in centres}
    for length in range(1, _LONGEST_CHAIN - 1):
        chains = _grown(chains, length, linked)
    to_centres: defaultdict[str, list[tuple[str, _Chain]]] = defaultdict(list)
    for (a, b), chain in chains.items():
        if b in centres:
            to_centres[a].append((b, chain))
    members = {pair: chain for pair, chain in links.items() if pair[0] not in centres}
    return _grown(chains, _LONGEST_CHAIN - 1, linked) | _continued(members, to_centres)


def _grown(chains: Chains, length: int, linked: Mapping[str, Iterable[tuple[str, _Chain]]]) -> Chains:
    """Return the shortest of these chains and of those of this length with one more link."""
    grown = dict(chains)
    for pair, chain in _continued({pair: chain for pair, chain in chains.items() if chain.links == length}, linked).items():
        if pair not in grown or chain < grown[pair]:
            grown[pair] = chain
    return grown


def _continued(chains: Chains, linked: Mapping[str, Iterable[tuple[str, _Chain]]]) -> Chains:
    """Return the shortest continuation of these chains to each process that their ends are linked to."""
    found: Chains = {}
    for (a, b), chain in chains.items():
        for c, link in linked.get(b, ()):
            longer = chain.then(link)
            if (a, c) not in found or longer < found[a, c]:
                found[a, c] = longer
    return found


def _without_contradictions(chains: Chains, centres: Collection[str]) -> Chains:
    """Return chains without those through a cycle that no clocks can satisfy."""
    wrong = {a for (a, b), chain in chains.items() if a in centres and (b, a) in chains and chain.hi_ms + chains[b, a].hi_ms < 0}
    if not wrong:
        return chains
    into, out = defaultdict(set), defaultdict(set)
    for a, b in chains:
        if b in wrong:
            into[b].add(a)
        if a in wrong:
            out[a].add(b)
    through = {(a, b) for process in wrong for a in into[process] for b in out[process] if a in centres or b in centres}
    return {pair: chain for pair, chain in chains.items() if pair not in through}
