# SPDX-License-Identifier: Apache-2.0
"""Plays a history of a Connect group and writes the logs that real processes of that release would have written.

`simulate(parse("3.9 | w1+ w2+ 12s w2~15s 25s"), 7)` returns the logs, and what was true while they were written. Everything follows from the
line and its seed; `number` only makes names (group, connectors, hosts) distinct, so that many histories fit in one case.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from histories import History
from sim_coordinator import Coordinator
from sim_words import FULL
from sim_worker import Plan, Run, WorkerMember
from sim_world import Process, World


@dataclass
class Simulated:
    """One played history.

    Attributes:
        name: directory of its logs.
        logs: path below the directory to the process that wrote it.
        runs: every thread of every task, with its true times.
        until: true end of the history, milliseconds.
    """

    name: str
    history: History
    plan: Plan
    logs: dict[str, Process]
    runs: list[Run]
    until: float

    def write(self, root: Path, ahead_ms: dict[str, float] | None = None) -> None:
        """Write the logs below `root`; `ahead_ms` sets a process's clock (by name, `w1`) further ahead."""
        for path, process in self.logs.items():
            file = root / self.name / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(process.text((ahead_ms or {}).get(path.split("/")[0], 0.0)), encoding="utf-8")


class _Stage:
    """The processes of one history while it is played."""

    def __init__(self, history: History, number: int) -> None:
        self.world = World(history.seed)
        tasks = tuple(f"{name}{number}-{i}" for name, count in history.connectors for i in range(count))
        self.plan = Plan(
            history.release,
            history.eager,
            f"connect-h{number}",
            f"cluster-{number:04d}-AAAAAAAA",
            tasks,
            history.delay_s * 1000,
            history.slow,
            history.failing,
        )
        self.host = f"10.{number // 250}.{number % 250}."
        self.clocks = dict(history.clocks)
        self.broker = Process(self.world, "broker-1/server.log", 0.0, line_numbers=False)
        self.broker.born()
        self.broker.write("INFO", f"Kafka version: {FULL[history.release]}", "org.apache.kafka.common.utils.AppInfoParser:0")
        if history.release != "3.9":
            self.broker.write("INFO", f"Cluster ID = {self.plan.cluster}", "kafka.server.KafkaServer:0")
        self.broker.write("INFO", "[KafkaServer id=1] started", "kafka.server.KafkaServer:0")
        self.coordinator = Coordinator(self.broker, history.release)
        self.processes: dict[str, Process] = {"b": self.broker}
        self.members: dict[str, WorkerMember] = {}
        self.runs: list[Run] = []

    def start(self, name: str) -> None:
        """A worker's JVM starts, in the log file of its forerunner."""
        if name not in self.processes:
            self.processes[name] = Process(self.world, f"{name}/connect.log", self.clocks.get(name, 0.0) * 1000, line_numbers=True)
        process = self.processes[name]
        if not process.alive:
            process.born()
            host = f"{self.host}{10 + int(name[1:])}"
            self.members[name] = WorkerMember(process, self.coordinator, self.plan, name, host, f"{self.host}1:9092", self.runs)
            self.members[name].start()

    def end(self, name: str) -> None:
        """The JVM is gone, and with it all its threads."""
        process = self.processes[name]
        for run in self.runs:
            if run.worker == name and run.life == process.life and run.ended is None:
                run.surely, run.possibly, run.ended = run.surely or self.world.now, run.possibly or self.world.now, self.world.now
        process.die()

    def do(self, who: str, what: str, seconds: float) -> None:
        """One deed of the history; deeds to a process that is not there do nothing."""
        process = self.processes.get(who)
        later = self.world.now + seconds * 1000
        if what == "+":
            self.start(who)
        elif process is None or not process.alive:
            return
        elif what == "~":
            process.freeze()
            self.world.at(later, process.wake)
        elif what == "/":
            process.cut_until = max(process.cut_until, later)
        elif what == "^":
            process.steps.append((self.world.now, seconds * 1000))
        elif what == "x":
            self.end(who)
        elif what == "-":
            life = process.life
            process.after(0, 1, lambda: self.members[who].shut_down(lambda: self.end(who) if process.life == life else None))


def simulate(history: History, number: int = 0) -> Simulated:
    """Play a history to its end."""
    stage = _Stage(history, number)
    for deed in history.deeds:
        if deed.what == "wait":
            stage.world.run(stage.world.now + deed.seconds * 1000)
        else:
            stage.do(deed.who, deed.what, deed.seconds)
    for process in stage.processes.values():
        if process.frozen:
            process.freezes.append((process._frozen_since, stage.world.now))
    logs = {p.path: p for p in stage.processes.values()}
    return Simulated(f"h{number}", history, stage.plan, logs, stage.runs, stage.world.now)
