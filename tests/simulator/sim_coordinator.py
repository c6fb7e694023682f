# SPDX-License-Identifier: Apache-2.0
"""The group coordinator of a broker, as the classic protocol has it: join phase, sync phase, heartbeats, expiry."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from zlib import crc32

from sim_words import say
from sim_world import Process

SESSION_MS = 6_000
REBALANCE_MS = 8_000
INITIAL_DELAY_MS = 500

#: What a reply carries: an error name ("" for none) and the fields that the request asked for.
Reply = Callable[[str, dict], None]


@dataclass
class Member:
    """One member of a group, as the coordinator knows it."""

    id: str
    client: str
    host: str
    metadata: object
    seen: float
    joining: Reply | None = None
    syncing: Reply | None = None
    assignment: object = None


@dataclass
class Group:
    """One group's state."""

    id: str
    protocol: str
    state: str = "Empty"
    generation: int = 0
    members: dict[str, Member] = field(default_factory=dict)
    pending: set[str] = field(default_factory=set)
    leader: str = ""
    round: int = 0
    open_until: float = 0.0


class Coordinator:
    """A coordinator: it answers the clients' requests, and writes the lines that the broker of a release writes."""

    def __init__(self, process: Process, release: str) -> None:
        self.process, self.release, self.world = process, release, process.world
        self.groups: dict[str, Group] = {}

    def log(self, name: str, group: Group, **values: object) -> None:
        """Write one line about a group."""
        partition = crc32(group.id.encode()) % 50
        said = say(self.release, name, group=group.id, generation=group.generation, partition=partition, **values)
        if said:
            level, message, logger = said
            self.process.write(level, f"[GroupCoordinator 1]: {message}", logger)

    def join(self, group_id: str, protocol: str, member_id: str, client: str, host: str, metadata: object, why: str, reply: Reply) -> None:
        """JoinGroup: answered when the join phase ends."""
        group = self.groups.setdefault(group_id, Group(group_id, protocol))
        if not member_id:
            new = f"{client}-{self.world.uuid()}"
            group.pending.add(new)
            self.log("id_made", group, state=group.state, member=new)
            self.process.after(SESSION_MS, SESSION_MS, lambda: self._forget(group, new))
            reply("MEMBER_ID_REQUIRED", {"member": new})
        elif member_id in group.pending:
            group.pending.discard(member_id)
            group.members[member_id] = Member(member_id, client, host, metadata, self.world.now, joining=reply)
            self._watch(group, group.members[member_id])
            instance = "instanceid" if self.release == "2.3" else "instance id"
            self._rejoined(group, f"Adding new member {member_id} with group {instance} None", why)
        elif member_id not in group.members:
            reply("UNKNOWN_MEMBER_ID", {})
        else:
            self._join_again(group, group.members[member_id], metadata, why, reply)

    def _join_again(self, group: Group, member: Member, metadata: object, why: str, reply: Reply) -> None:
        member.seen = self.world.now
        same = member.metadata == metadata
        leads = group.leader == member.id
        if (group.state == "Stable" and same and not leads) or (group.state == "CompletingRebalance" and same):
            reply("", self._joined(group, member))
            return
        member.metadata, member.joining = metadata, reply
        if group.state == "Stable" and self.release != "2.3":
            lead = "leader" if self.release == "2.6" else "Leader"
            cause = f"{lead} {member.id} re-joining group during Stable" if leads else f"Updating metadata for member {member.id} during Stable"
        elif group.state == "CompletingRebalance" and self.release != "2.3":
            cause = f"Updating metadata for member {member.id} during CompletingRebalance"
        else:
            cause = f"Updating metadata for member {member.id}"
        self._rejoined(group, cause, why)

    def _rejoined(self, group: Group, cause: str, why: str) -> None:
        if group.state == "PreparingRebalance":
            self._try_complete(group)
        else:
            self._prepare(group, cause + (f"; client reason: {why}" if self.release == "3.9" else ""))

    def _joined(self, group: Group, member: Member) -> dict:
        members = {m.id: m.metadata for m in group.members.values()} if member.id == group.leader else None
        return {"generation": group.generation, "leader": group.leader, "members": members}

    def _prepare(self, group: Group, reason: str) -> None:
        for member in group.members.values():
            if member.syncing:
                member.syncing("REBALANCE_IN_PROGRESS", {})
                member.syncing = None
        delay = INITIAL_DELAY_MS if group.state == "Empty" else 0
        group.state, group.round = "PreparingRebalance", group.round + 1
        group.open_until = self.world.now + delay
        self.log("preparing", group, reason=reason)
        this = group.round
        if delay:
            self.process.after(delay, delay, lambda: self._try_complete(group))
        self.process.after(REBALANCE_MS, REBALANCE_MS, lambda: self._complete(group) if group.round == this else None)
        self._try_complete(group)

    def _try_complete(self, group: Group) -> None:
        waits = group.pending or any(not m.joining for m in group.members.values()) or self.world.now < group.open_until
        if group.state == "PreparingRebalance" and not waits:
            self._complete(group)

    def _complete(self, group: Group) -> None:
        if group.state != "PreparingRebalance":
            return
        gone = [m.id for m in group.members.values() if not m.joining]
        if gone:
            self.log("not_rejoined", group, members=", ".join(gone))
        for member_id in gone:
            del group.members[member_id]
        group.generation, group.round = group.generation + 1, group.round + 1
        if not group.members:
            group.state, group.leader = "Empty", ""
            self.log("empty", group)
            return
        group.state = "CompletingRebalance"
        if group.leader not in group.members:
            group.leader = next(iter(group.members))
        self.log("stabilized", group, members=len(group.members))
        for member in group.members.values():
            reply, member.joining, member.seen, member.assignment = member.joining, None, self.world.now, None
            if reply:
                reply("", self._joined(group, member))

    def sync(self, group_id: str, member_id: str, generation: int, shares: dict | None, reply: Reply) -> None:
        """SyncGroup: answered when the leader's assignment is there."""
        group = self.groups[group_id]
        member = group.members.get(member_id)
        if member is None:
            reply("UNKNOWN_MEMBER_ID", {})
        elif generation != group.generation:
            reply("ILLEGAL_GENERATION", {})
        elif group.state == "PreparingRebalance":
            reply("REBALANCE_IN_PROGRESS", {})
        elif group.state == "Stable":
            reply("", {"assignment": member.assignment})
        else:
            member.seen, member.syncing = self.world.now, reply
            if shares is not None:
                self.log("assignment", group, leader=member_id, members=len(group.members))
                group.state = "Stable"
                for other in group.members.values():
                    other.assignment = shares.get(other.id)
                    if other.syncing:
                        other.syncing("", {"assignment": other.assignment})
                        other.syncing, other.seen = None, self.world.now

    def heartbeat(self, group_id: str, member_id: str, generation: int, reply: Reply) -> None:
        """Answer a heartbeat: keep the session alive, and report a rebalance."""
        group = self.groups[group_id]
        member = group.members.get(member_id)
        if member is None:
            reply("UNKNOWN_MEMBER_ID", {})
        elif generation != group.generation:
            reply("ILLEGAL_GENERATION", {})
        else:
            member.seen = self.world.now
            reply("REBALANCE_IN_PROGRESS" if group.state == "PreparingRebalance" else "", {})

    def leave(self, group_id: str, member_id: str) -> None:
        """LeaveGroup; 3.x writes the rebalance before the leave."""
        group = self.groups[group_id]
        group.pending.discard(member_id)
        member = group.members.get(member_id)
        if member is None:
            return
        reason = f"removing member {member_id} on LeaveGroup"
        if self.release == "3.9":
            reason = f"Removing member {member_id} on LeaveGroup; client reason: the consumer is being closed"
            self._remove(group, member, reason)
        self.log("left", group, member=member_id, client=member.client, host=member.host, protocol=group.protocol)
        if self.release != "3.9":
            self._remove(group, member, reason)

    def _remove(self, group: Group, member: Member, reason: str) -> None:
        del group.members[member.id]
        if group.state in ("Stable", "CompletingRebalance"):
            self._prepare(group, reason)
        else:
            self._try_complete(group)

    def _forget(self, group: Group, member_id: str) -> None:
        if member_id in group.pending:
            group.pending.discard(member_id)
            self._try_complete(group)

    def _watch(self, group: Group, member: Member) -> None:
        """Expires a member whose session passes without a sign of it; one that waits for an answer is alive."""

        def check() -> None:
            if group.members.get(member.id) is not member:
                return
            if member.joining or member.syncing:
                member.seen = self.world.now
            idle = self.world.now - member.seen
            if idle >= SESSION_MS - 1:
                self.log("failed", group, member=member.id)
                self._remove(group, member, f"removing member {member.id} on heartbeat expiration")
            else:
                self.process.after(SESSION_MS - idle, SESSION_MS - idle, check)

        self.process.after(SESSION_MS, SESSION_MS, check)
