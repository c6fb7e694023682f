# SPDX-License-Identifier: Apache-2.0
"""Written logs of a small cluster over three months: one broker, three consumers of a group, and every day or so the same trouble.

Each trouble is of one of two kinds. *Frozen*: a consumer stands still longer than its session, the broker removes it, it comes back, is told
UNKNOWN_MEMBER_ID, gives up its partitions and joins anew. *Cut off*: a consumer loses its coordinator for some seconds and finds it again, with
the same membership. Nothing else happens, so two kinds of trouble is all that there is to tell.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random

GROUP, CLIENT = "orders-app", "consumer-orders-app-1"
START = datetime(2026, 8, 20, tzinfo=UTC)
_COORDINATOR = "10.77.0.11:9092 (id: 2147483646 rack: null)"
_CLIENTS = "org.apache.kafka.clients.consumer.internals"


@dataclass
class Cluster:
    """The logs by path while they are written, and how often what happened."""

    rng: Random
    lines: dict[str, list[str]] = field(default_factory=dict)
    members: dict[str, str] = field(default_factory=dict)
    generation: int = 0
    frozen: int = 0
    cut_off: int = 0
    share: dict[str, list[str]] = field(default_factory=dict)

    def broker(self, at: datetime, message: str) -> None:
        self._line("broker-1/server.log", at, f"[GroupCoordinator 1]: {message} (kafka.coordinator.group.GroupCoordinator)")

    def consumer(self, name: str, at: datetime, *messages: str) -> None:
        for i, message in enumerate(messages):
            logger = "ConsumerRebalanceListenerInvoker" if message.startswith(("Adding", "Revoke", "Lost")) else "ConsumerCoordinator"
            self._line(
                f"{name}/consumer.log",
                at + timedelta(milliseconds=i),
                f"[Consumer clientId={CLIENT}, groupId={GROUP}] {message} ({_CLIENTS}.{logger})",
            )

    def _line(self, path: str, at: datetime, text: str) -> None:
        self.lines.setdefault(path, []).append(f"[{at:%Y-%m-%d %H:%M:%S},{at.microsecond // 1000:03d}] INFO {text}")

    def new_id(self, name: str) -> str:
        self.members[name] = f"{CLIENT}-{uuid.UUID(int=self.rng.getrandbits(128), version=4)}"
        return self.members[name]

    def rebalance(self, at: datetime, reason: str, who: list[str]) -> None:
        """A round of the members named, 20 ms long; the first leads."""
        old, self.generation = self.generation, self.generation + 1
        ms = timedelta(milliseconds=1)
        group = f"{GROUP} in state PreparingRebalance with old generation {old} (__consumer_offsets-1)"
        self.broker(at, f"Preparing to rebalance group {group} (reason: {reason})")
        self.broker(at + 10 * ms, f"Stabilized group {GROUP} generation {self.generation} (__consumer_offsets-1) with {len(who)} members")
        leader = self.members[who[0]]
        told = f"Assignment received from leader {leader} for group {GROUP} for generation {self.generation}."
        self.broker(at + 14 * ms, f"{told} The group has {len(who)} members, 0 of which are static.")
        share = {name: [f"orders-{p}" for p in range(6) if p % len(who) == i] for i, name in enumerate(who)}
        for i, name in enumerate(who):
            generation = f"Generation{{generationId={self.generation}, memberId='{self.members[name]}', protocol='range'}}"
            self.consumer(name, at + 2 * ms, "(Re-)joining group")
            self.consumer(name, at + 11 * ms, f"Successfully joined group with generation {generation}")
            if i == 0:
                plan = ", ".join(f"{self.members[n]}=Assignment(partitions=[{', '.join(share[n])}])" for n in who)
                self.consumer(name, at + 13 * ms, f"Finished assignment for group at generation {self.generation}: {{{plan}}}")
            self.consumer(
                name,
                at + 16 * ms,
                f"Successfully synced group in generation {generation}",
                f"Notifying assignor about the new Assignment(partitions=[{', '.join(share[name])}])",
                f"Adding newly assigned partitions: {', '.join(share[name])}",
            )
        self.share = share

    def revoke(self, at: datetime, who: list[str]) -> None:
        for name in who:
            held = ", ".join(self.share[name])
            self.consumer(name, at, "Request joining group due to: group is already rebalancing", f"Revoke previously assigned partitions {held}")

    def freeze(self, at: datetime, name: str) -> None:
        """Removed for silence at that time; back some seconds later."""
        self.frozen += 1
        held = self.share[name]
        old, others = self.members[name], sorted(n for n in self.members if n != name)
        self.broker(at, f"Member {old} in group {GROUP} has failed, removing it from the group")
        self.revoke(at + timedelta(seconds=1), others)
        self.rebalance(at + timedelta(seconds=1, milliseconds=5), f"removing member {old} on heartbeat expiration", others)
        back = at + timedelta(seconds=self.rng.randint(5, 60))
        self.consumer(
            name,
            back,
            f"Group coordinator {_COORDINATOR} is unavailable or invalid due to cause: session timed out without receiving a heartbeat response. "
            "isDisconnected: false. Rediscovery will be attempted.",
            f"Discovered group coordinator {_COORDINATOR}",
            f"Attempt to heartbeat with Generation{{generationId={self.generation - 1}, memberId='{old}', protocol='range'}} and group instance id "
            "Optional.empty failed due to UNKNOWN_MEMBER_ID, resetting generation",
            "Request joining group due to: encountered UNKNOWN_MEMBER_ID from HEARTBEAT response",
            f"Lost previously assigned partitions {', '.join(held)}",
            "(Re-)joining group",
        )
        self.come(back + timedelta(milliseconds=20), name)

    def come(self, at: datetime, name: str) -> None:
        """A member is given an id and joins."""
        others = sorted(n for n in self.members if n != name)
        new = self.new_id(name)
        ask = f"need to re-join with the given member-id: {new}"
        self.broker(
            at,
            f"Dynamic member with unknown member id joins group {GROUP} in {'Stable' if others else 'Empty'} state. "
            f"Created a new member id {new} and request the member to rejoin with this id.",
        )
        self.consumer(name, at + timedelta(milliseconds=2), f"Request joining group due to: {ask}")
        self.revoke(at + timedelta(milliseconds=500), others)
        reason = f"Adding new member {new} with group instance id None; client reason: {ask}"
        self.rebalance(at + timedelta(milliseconds=510), reason, [*others, name])

    def cut(self, at: datetime, name: str) -> None:
        """The coordinator is lost, and found again."""
        self.cut_off += 1
        cause = "is unavailable or invalid due to cause: null. isDisconnected: true. Rediscovery will be attempted."
        self.consumer(name, at, f"Group coordinator {_COORDINATOR} {cause}")
        self.consumer(name, at + timedelta(seconds=self.rng.randint(12, 90)), f"Discovered group coordinator {_COORDINATOR}")


def write(days: int = 90, a_day: int = 3, seed: int = 1) -> tuple[dict[str, str], Cluster]:
    """The logs by path, and what was done."""
    cluster = Cluster(Random(seed))
    for i, name in enumerate(("c1", "c2", "c3")):
        at = START + timedelta(seconds=10 * i)
        cluster.consumer(name, at, f"Discovered group coordinator {_COORDINATOR}", "(Re-)joining group")
        cluster.come(at + timedelta(milliseconds=5), name)
    for day in range(days):
        for nth in range(a_day):
            at = START + timedelta(days=day, hours=1 + nth * 22 / a_day, seconds=cluster.rng.randint(0, 3600))
            name = cluster.rng.choice(("c1", "c2", "c3"))
            (cluster.freeze if cluster.rng.random() < 0.6 else cluster.cut)(at, name)
    return {path: "\n".join(lines) + "\n" for path, lines in cluster.lines.items()}, cluster
