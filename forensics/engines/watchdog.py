"""Kill an engine that neither progresses nor uses processor time, and the processes that this one has started."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

#: An engine that uses less processor time than the limit for this many seconds has stopped working. An idle JVM uses a fraction of the limit.
STALL_SECONDS = 60.0
IDLE_SECONDS = 0.5
_LOOK_SECONDS = 5.0
_PROC = Path("/proc")
#: Name of the engine's threads. Of the other threads, those that draw or wait for a connection do not count.
_ENGINE_THREADS = "tokio"


@contextmanager
def watched(stalled: Callable[[], None], progress: Callable[[], bool] = lambda: False) -> Iterator[None]:
    """Watch this process and the processes that it started.

    Args:
        stalled: called once, in another thread, if nothing progresses.
        progress: returns True while work is going on elsewhere.
    """
    over = threading.Event()
    watching = threading.Thread(target=_watch, args=(over, stalled, progress), daemon=True, name="forensics-watchdog")
    watching.start()
    try:
        yield
    finally:
        over.set()


def _watch(over: threading.Event, stalled: Callable[[], None], progress: Callable[[], bool]) -> None:
    idle, used, before = 0.0, 0.0, busy_seconds()
    step = min(_LOOK_SECONDS, STALL_SECONDS / 4)
    while True:
        began = time.monotonic()
        if over.wait(step):
            return
        now = busy_seconds()
        used += max(now - before, 0.0)
        before = now
        # After a pause of this process itself (Ctrl-Z, a suspended machine) the time in between is unknown.
        if time.monotonic() - began > 2 * step or used > IDLE_SECONDS * STALL_SECONDS / 60 or progress():
            idle, used = 0.0, 0.0
            continue
        idle += step
        if idle >= STALL_SECONDS:
            stalled()
            return


def busy_seconds() -> float:
    """Return the processor time of this process's work and of its descendants, seconds."""
    me = os.getpid()
    found = processes()
    return sum(found[pid][1] for pid in _descendants(found, me)) + (_of_threads() if _PROC.joinpath("self/task").is_dir() else found[me][1])


def _of_threads() -> float:
    """Return the processor time of the threads that compute: the engine's, and Python's except those that watch or draw."""
    ours = {t.native_id for t in threading.enumerate() if "Refresh" not in type(t).__name__ and not t.name.startswith("forensics-")}
    total = 0.0
    for task in _PROC.joinpath("self/task").iterdir():
        with suppress(OSError, ValueError, IndexError):
            name, _, rest = (task / "stat").read_text().partition("(")[2].rpartition(")")
            if name.startswith(_ENGINE_THREADS) or int(task.name) in ours:
                fields = rest.split()
                total += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return total


def processes() -> dict[int, tuple[int, float]]:
    """Return each process's parent, and the processor time that it has used, seconds."""
    found: dict[int, tuple[int, float]] = {}
    if _PROC.joinpath("self/stat").exists():
        tick = os.sysconf("SC_CLK_TCK")
        for entry in _PROC.iterdir():
            if entry.name.isdecimal():
                with suppress(OSError, ValueError, IndexError):  # it has ended
                    fields = (entry / "stat").read_text().rpartition(")")[2].split()
                    found[int(entry.name)] = int(fields[1]), (int(fields[11]) + int(fields[12])) / tick
    else:
        listed = subprocess.run(["ps", "-A", "-o", "pid=,ppid=,time="], capture_output=True, text=True, check=False)
        for line in listed.stdout.splitlines():
            pid, parent, used = line.split()
            seconds = 0.0
            for part in used.replace("-", ":").split(":"):
                seconds = seconds * 60 + float(part)
            found[int(pid)] = int(parent), seconds
    found.setdefault(os.getpid(), (0, time.process_time()))
    return found


def _descendants(found: dict[int, tuple[int, float]], pid: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for child, (parent, _) in found.items():
        children.setdefault(parent, []).append(child)
    out = list(children.get(pid, ()))
    for child in out:
        out += children.get(child, ())
    return out


def end_children() -> None:
    """Kill every process that this one has started, except those in a session of their own, which end with this process."""
    if not hasattr(os, "getsid"):
        return
    for pid in _descendants(processes(), os.getpid()):
        with suppress(OSError):
            if os.getsid(pid) == os.getsid(0):
                os.kill(pid, signal.SIGKILL)
