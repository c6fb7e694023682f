# SPDX-License-Identifier: Apache-2.0
"""A client of a group: finds the coordinator, joins, syncs, beats; loses it all, and begins again."""

from __future__ import annotations

from collections.abc import Callable

from sim_coordinator import SESSION_MS, Coordinator
from sim_words import say
from sim_world import Action, Process

BEAT_MS = 1_500
ANSWER_MS = 15_000


class Client:
    """One member's side of the protocol. What is done with an assignment is left to `WorkerMember` and `SinkConsumer`.

    Attributes:
        state: `out`, `preparing` (before it asks to join), `joining`, `syncing`, `stable`, `closed`.
        known: whether it has a coordinator.
        busy: whether its owner must not rejoin just now.
        wants: whether it should rejoin when it may.
    """

    coordinator_class = ""
    protocol = ""

    def __init__(self, process: Process, coordinator: Coordinator, release: str, group: str, client_id: str, names: tuple[str, str]) -> None:
        self.process, self.coordinator, self.release = process, coordinator, release
        self.group, self.client_id = group, client_id
        self.host, self.broker = names
        self.context = ""
        self.member, self.generation, self.leader = "", -1, ""
        self.state, self.known, self.busy, self.wants = "out", False, False, False
        self.answered = 0.0
        self._turn = 0
        self._why = ""

    def log(self, name: str, context: str | None = None, **values: object) -> None:
        """Write one line in this client's context."""
        defaults = {"member": self.member, "generation": self.generation, "protocol": self.protocol, "broker": self.broker}
        said = say(self.release, name, self.coordinator_class, **(defaults | values))
        if said:
            level, message, logger = said
            self.process.write(level, (self.context if context is None else context) + message, logger)

    # What the owner does.
    def metadata(self) -> object:
        """Return the metadata that it sends when it joins."""
        raise NotImplementedError

    def before_join(self, then: Action) -> None:
        """Gets ready for a rebalance, then goes on."""
        raise NotImplementedError

    def share_out(self, members: dict[str, object]) -> dict[str, object]:
        """The leader's assignment."""
        raise NotImplementedError

    def completed(self, assignment: object) -> None:
        """Take the assignment."""
        raise NotImplementedError

    def while_unknown(self, since: float) -> None:
        """Hears how long there has been no coordinator."""

    # The protocol.
    def find(self) -> None:
        """Look up the coordinator until there is one."""
        turn = self._next()
        since = self.process.world.now

        def attempt() -> None:
            if turn != self._turn or self.known or self.state == "closed":
                return
            self.while_unknown(since)
            self._ask(turn, lambda answer: answer("", {}), found)
            self.process.after(1_000, 1_000, again)

        def again() -> None:
            if turn == self._turn and not self.known:
                self.log("no_connection")
                attempt()

        def found(_: str, __: dict) -> None:
            self.known, self.answered = True, self.process.world.now
            self.log("discovered")
            if self.member and self.state in ("stable", "preparing"):
                self.beat(self._turn)
            if self.state == "out":
                self.wants = True
            self.poll()

        attempt()

    def _next(self) -> int:
        self._turn += 1
        return self._turn

    def _ask(self, turn: int, request: Callable[[Callable[[str, dict], None]], None], on_answer: Callable[[str, dict], None]) -> None:
        """Send a request; the answer counts only while this client still waits for it."""
        world, life = self.process.world, self.process.life

        def answer(error: str, values: dict) -> None:
            def arrive() -> None:
                if turn == self._turn and self.state != "closed" and life == self.process.life:
                    on_answer(error, values)

            world.send(self.coordinator.process, self.process, arrive)

        world.send(self.process, self.coordinator.process, lambda: request(answer))

    def poll(self) -> None:
        """Rejoin if it should and may."""
        if self.wants and self.known and not self.busy and self.state in ("out", "stable"):
            self.wants = False
            self.state = "preparing"
            self.before_join(self._join)

    def _join(self) -> None:
        if self.state == "closed":
            return
        if not self.known:
            self.wants, self.state = True, "out" if not self.member else "stable"
            return
        self.state = "joining"
        self.log("joining")
        turn = self._next()
        facts = (self.group, self.protocol, self.member, self.client_id, self.host, self.metadata(), self._why)
        self._why = ""
        self._ask(turn, lambda answer: self.coordinator.join(*facts, answer), self._joined)
        self.process.after(ANSWER_MS, ANSWER_MS, lambda: self._lost("request timed out") if turn == self._turn else None)

    def _joined(self, error: str, values: dict) -> None:
        if error == "MEMBER_ID_REQUIRED":
            self.member = values["member"]
            self._why = f"need to re-join with the given member-id: {self.member}" if self.coordinator_class == "ConsumerCoordinator" else ""
            if self._why:
                self.log("rejoin", reason=self._why)
            self._join()
        elif error:
            self._reset()
            self._join()
        else:
            self.generation, self.leader = values["generation"], values["leader"]
            self.state = "syncing"
            self.log("joined")
            shares = None
            if values["members"] is not None:
                shares = self.share_out(values["members"])
            turn, facts = self._next(), (self.group, self.member, self.generation, shares)
            self._ask(turn, lambda answer: self.coordinator.sync(*facts, answer), self._synced)
            self.process.after(ANSWER_MS, ANSWER_MS, lambda: self._lost("request timed out") if turn == self._turn else None)

    def _synced(self, error: str, values: dict) -> None:
        if error:
            if error != "REBALANCE_IN_PROGRESS":
                self._reset()
            self._join()
            return
        self.state, self.answered = "stable", self.process.world.now
        self.log("synced")
        self.beat(self._next())
        self.completed(values["assignment"])

    def beat(self, turn: int) -> None:
        """Heartbeats as long as nothing else is asked of the coordinator."""
        if turn != self._turn or not self.member or self.state not in ("stable", "preparing"):
            return
        if self.process.world.now - self.answered > SESSION_MS:
            self._lost("session timed out without receiving a heartbeat response")
            return
        facts = (self.group, self.member, self.generation)
        self._ask(turn, lambda answer: self.coordinator.heartbeat(*facts, answer), self._beaten)
        self.process.after(BEAT_MS, BEAT_MS, lambda: self.beat(turn))

    def _beaten(self, error: str, _: dict) -> None:
        self.answered = self.process.world.now
        if error == "REBALANCE_IN_PROGRESS":
            if self.state == "stable" and not self.wants:
                self.log("rebalancing")
                if self.coordinator_class == "ConsumerCoordinator":
                    self.log("rejoin", reason="group is already rebalancing")
                self.wants = True
        elif error:
            if error == "UNKNOWN_MEMBER_ID":
                self.log("unknown_member")
            self.log("reset", reason=f"encountered {error} from HEARTBEAT response")
            self._reset()
            self._next()
            self.wants = True
        self.poll()

    def _reset(self) -> None:
        self.member, self.generation = "", -1
        if self.state == "stable":
            self.state = "out"

    def _lost(self, cause: str) -> None:
        if self.state == "closed":
            return
        self.log("coordinator_lost", cause=cause)
        self.known = False
        if self.state not in ("stable", "preparing"):
            self.state = "out"
        self.find()

    def leave(self) -> None:
        """Leave the group, if it has a coordinator to notify; either way it does nothing more."""
        if self.known and self.member:
            self.log("leaving")
            group, member = self.group, self.member
            self.process.world.send(self.process, self.coordinator.process, lambda: self.coordinator.leave(group, member))
        self.state = "closed"
        self._next()
