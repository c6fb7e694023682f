# SPDX-License-Identifier: Apache-2.0
"""Time, processes and the network of the simulator: what can go wrong with them, and what they write.

True time is a number of milliseconds from the start. Each process has a clock of its own, which may be ahead or behind by a
constant, and be set. A frozen process does nothing and loses nothing: what was due happens when it wakes. What is sent from or to a process
that is cut off is lost. A dead process does nothing more.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import count
from random import Random

#: True time 0 of every simulation.
START = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)

Action = Callable[[], None]


class World:
    """The queue of what is to happen, and the one source of chance."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)
        self.now = 0.0
        self._queue: list[tuple[float, int, Action]] = []
        self._order = count()
        self._arrivals: dict[tuple[str, str], float] = {}

    def at(self, when: float, action: Action) -> None:
        """Schedule an action at a true time; actions at the same time run in the order of the requests."""
        heapq.heappush(self._queue, (max(when, self.now), next(self._order), action))

    def run(self, until: float) -> None:
        """Let time pass up to `until`."""
        while self._queue and self._queue[0][0] <= until:
            self.now, _, action = heapq.heappop(self._queue)
            action()
        self.now = until

    def between(self, low: float, high: float) -> float:
        """A time span in milliseconds."""
        return self.rng.uniform(low, high)

    def send(self, source: Process, target: Process, arrive: Action) -> None:
        """Carries a message, in order, after a latency; loses it when either end is cut off, or when the target is no more."""
        if source.cut or target.cut:
            return
        latency = self.between(40, 300) if self.rng.random() < 0.03 else self.between(0.1, 4)
        key = (source.path, target.path)
        due = max(self.now + latency, self._arrivals.get(key, 0.0) + 0.01)
        self._arrivals[key] = due
        life = target.life

        def deliver() -> None:
            if not target.cut:
                target.do(life, arrive)

        self.at(due, deliver)

    def uuid(self) -> str:
        """A random identity as Kafka's member ids end with."""
        bits = f"{self.rng.getrandbits(128):032x}"
        return "-".join((bits[:8], bits[8:12], bits[12:16], bits[16:20], bits[20:]))


class Process:
    """One JVM after another that write one log file.

    Attributes:
        path: of its log, below the directory of the history.
        skew_ms: how far its clock is ahead of true time at the beginning.
        steps: true times at which its clock was set, and by how many milliseconds.
        life: which JVM it is; what a former one had planned does not happen.
        freezes: true times between which it was stopped.
        lines: (true time, text) of each record written, in order.
    """

    def __init__(self, world: World, path: str, skew_ms: float, line_numbers: bool) -> None:
        self.world, self.path, self.skew_ms = world, path, skew_ms
        self.line_numbers = line_numbers
        self.life, self.alive, self.frozen = 0, False, False
        self.cut_until = 0.0
        self.freezes: list[tuple[float, float]] = []
        self.steps: list[tuple[float, float]] = []
        self.lines: list[tuple[float, str, str, str]] = []
        self._parked: list[Action] = []
        self._frozen_since = 0.0

    @property
    def cut(self) -> bool:
        """Return True if it has no network, for one reason or several."""
        return self.world.now < self.cut_until

    def do(self, life: int, action: Action) -> None:
        """Run an action now, or when the process resumes, or never."""
        if not self.alive or life != self.life:
            return
        if self.frozen:
            self._parked.append(lambda: self.do(life, action))
        else:
            action()

    def after(self, low: float, high: float, action: Action) -> None:
        """Run an action after a while, if this JVM is still running."""
        life = self.life
        self.world.at(self.world.now + self.world.between(low, high), lambda: self.do(life, action))

    def born(self) -> None:
        """A new JVM starts."""
        self.life += 1
        self.alive = True

    def die(self) -> None:
        """End the JVM immediately."""
        self.wake()
        self._parked.clear()
        self.alive = False

    def freeze(self) -> None:
        """Freeze everything that runs in it."""
        if self.alive and not self.frozen:
            self.frozen, self._frozen_since = True, self.world.now

    def wake(self) -> None:
        """Resume; actions that were due meanwhile run now, in their order, within a short time."""
        if not self.frozen:
            return
        self.frozen = False
        self.freezes.append((self._frozen_since, self.world.now))
        due, self._parked = self._parked, []
        when = self.world.now
        for action in due:
            when += self.world.between(0, 5)
            self.world.at(when, action)

    def write(self, level: str, message: str, logger: str) -> None:
        """Appends one record; brokers' default layout has no line numbers."""
        self.lines.append((self.world.now, level, message, logger if self.line_numbers else logger.rsplit(":", 1)[0]))

    def text(self, ahead_ms: float = 0.0) -> str:
        """The log as written, with the clock another `ahead_ms` ahead."""
        rendered = []
        for at, level, message, logger in self.lines:
            set_by = sum(by for when, by in self.steps if when <= at)
            local = START + timedelta(milliseconds=int(at + self.skew_ms + ahead_ms + set_by))
            rendered.append(f"[{local:%Y-%m-%d %H:%M:%S},{local.microsecond // 1000:03d}] {level} {message} ({logger})\n")
        return "".join(rendered)
