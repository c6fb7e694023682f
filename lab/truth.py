# SPDX-License-Identifier: Apache-2.0
"""Truth that no log knows: a sampler outside the processes looks five times a second and writes a line when something changed."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lab.cluster import Member

SECONDS = 0.2
#: The kernel shows 15 characters of a thread's name, so a connector's name has one letter and its tasks one digit.
TASK_THREAD = "task-thread-"


def now_ms() -> int:
    """Return epoch milliseconds of the clock that all truth is on."""
    return time.time_ns() // 1_000_000


def tasks_of(threads: list[str]) -> list[str]:
    """Return the Connect tasks (`a-0`) whose threads are among these names of threads."""
    return sorted(name.removeprefix(TASK_THREAD) for name in threads if name.startswith(TASK_THREAD))


class Changes:
    """A file of JSON lines: for each subject a line when what is known about it changed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._last: dict[str, Any] = {}

    def note(self, subject: str, line: dict[str, Any]) -> None:
        """Write the line, with the time, unless the subject's last one was the same."""
        if self._last.get(subject) != line:
            self._last[subject] = line
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"t_ms": now_ms(), **line}) + "\n")


def pauses(path: Path, joined_ms: int = 10) -> list[tuple[int, int]]:
    """Return from when to when a process did not run, as its own pulse says; two with less between them are one."""
    found: list[tuple[int, int]] = []
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        said = json.loads(line)
        if found and said["from_ms"] - found[-1][1] < joined_ms:
            found[-1] = (found[-1][0], said["to_ms"])
        else:
            found.append((said["from_ms"], said["to_ms"]))
    return found


def mark_stopped(path: Path, name: str, spans: list[tuple[int, int]]) -> None:
    """Rewrite samples of threads: during these times nothing of a process ran, which the sampler cannot see."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if spans else []
    for begin, end in spans:
        before = [line for line in lines if line["worker"] == name and line["t_ms"] <= begin]
        inside = [line for line in lines if line["worker"] == name and begin < line["t_ms"] <= end]
        if before and before[-1]["state"] == "running":
            lines.append({**before[-1], "t_ms": begin, "state": "stopped"})
            lines.append({**(inside or before)[-1], "t_ms": end})
        lines = [{**line, "state": "stopped"} if line in inside and line["state"] == "running" else line for line in lines]
        lines.sort(key=lambda line: line["t_ms"])
    if spans:
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


class Sampler(threading.Thread):
    """Looks at every process: `threads.jsonl` for Connect workers with their task threads, `processes.jsonl` for all others."""

    def __init__(self, folder: Path, members: dict[str, Member]) -> None:
        super().__init__(daemon=True)
        self._members, self._stop_now = members, threading.Event()
        self._workers, self._others = Changes(folder / "threads.jsonl"), Changes(folder / "processes.jsonl")

    def run(self) -> None:
        while not self._stop_now.wait(SECONDS):
            for name, member in list(self._members.items()):
                state = member.process.state
                if member.kind == "worker":
                    tasks = tasks_of(member.process.threads) if state != "gone" else []
                    self._workers.note(name, {"worker": name, "state": state, "pid": member.process.pid, "tasks": tasks})
                else:
                    self._others.note(name, {member.kind: name, "state": state, "pid": member.process.pid})

    def stop(self) -> None:
        """End sampling."""
        self._stop_now.set()
        self.join()


class Status(threading.Thread):
    """Asks Connect's REST for the state of all connectors and tasks, and keeps each answer that differs from the one before."""

    def __init__(self, ask: Callable[[], tuple[str, Any] | None]) -> None:
        super().__init__(daemon=True)
        self._ask, self._stop_now = ask, threading.Event()
        self.answers: list[dict[str, Any]] = []

    def run(self) -> None:
        while not self._stop_now.wait(0.5):
            answer = self._ask()
            if answer and (not self.answers or self.answers[-1]["status"] != answer[1]):
                self.answers.append({"t_ms": now_ms(), "via": answer[0], "status": answer[1]})

    def stop(self) -> None:
        """End asking."""
        self._stop_now.set()
        self.join()
