# SPDX-License-Identifier: Apache-2.0
"""Hosts and processes of one run, inside kernel namespaces that no other process shares.

A run has its own process, mount and network namespaces. When its first process ends, however it ends, the kernel kills all the
others and removes their network and their disks, so a run cannot leave anything behind. Each host is one more network namespace
on a bridge. `/srv` is in memory: logs show `/srv/kafka` and no path of this machine.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
import uuid
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

BRIDGE = "labbr0"
NETWORK = "10.77.0"
SRV = Path("/srv")
KAFKA = SRV / "kafka"
#: program -> what has it, for the error that names what is missing
PROGRAMS = {
    "ip": "iproute2",
    "unshare": "util-linux",
    "setpriv": "util-linux",
    "mount": "mount (util-linux)",
    "java": "a JDK, 17 or later",
    "javac": "a JDK, 17 or later",
    "mvn": "Maven",
}


def missing() -> list[str]:
    """List what this machine lacks for a run, each as a sentence's object: `root`, `ip (iproute2)`."""
    lacks = [] if os.geteuid() == 0 else ["root (try sudo)"]
    return lacks + [f"{program} ({package})" for program, package in PROGRAMS.items() if not shutil.which(program)]


def call(*command: str) -> str:
    """Run a command and return what it prints.

    Raises:
        RuntimeError: it failed; the message has the command and its output.
    """
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed with {done.returncode}: {done.stdout[-2000:]}")
    return done.stdout


def inside(command: Sequence[str]) -> int:
    """Run a command as the first process of new namespaces and return its exit code; it dies with the caller."""
    own = ["setpriv", "--pdeathsig", "KILL", "unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    return subprocess.run([*own, *command], check=False).returncode


def furnish(libs: Path, apps: Path, clients: Path) -> None:
    """Set up the namespaces that this process was started in: names of hosts and `/srv` in memory, jars and programs below it, a bridge."""
    for place in (Path("/run/netns"), SRV):
        place.mkdir(parents=True, exist_ok=True)
        call("mount", "-t", "tmpfs", "tmpfs", str(place))
    for source, name in ((libs, "libs"), (apps, "apps"), (clients, "clients")):
        (KAFKA / name).mkdir(parents=True)
        call("mount", "--bind", "-o", "ro", str(source), str(KAFKA / name))
    call("ip", "link", "set", "lo", "up")
    call("ip", "link", "add", BRIDGE, "type", "bridge")
    call("ip", "addr", "add", f"{NETWORK}.1/24", "dev", BRIDGE)
    call("ip", "link", "set", BRIDGE, "up")


class Hosts:
    """The hosts on the bridge, by name, each with one address."""

    def __init__(self) -> None:
        self.address: dict[str, str] = {}

    def add(self, name: str) -> str:
        """Return the address of a host, which is created on its first use."""
        if name not in self.address:
            number = len(self.address) + 11
            call("ip", "netns", "add", name)
            call("ip", "link", "add", f"cable{number}", "type", "veth", "peer", "name", "eth0", "netns", name)
            call("ip", "link", "set", f"cable{number}", "master", BRIDGE, "up")
            call("ip", "-n", name, "addr", "add", f"{NETWORK}.{number}/24", "dev", "eth0")
            for device in ("lo", "eth0"):
                call("ip", "-n", name, "link", "set", device, "up")
            self.address[name] = f"{NETWORK}.{number}"
        return self.address[name]

    def cable(self, name: str, *, plugged: bool) -> None:
        """Pull a host's cable out, or put it back."""
        number = self.address[name].rsplit(".", 1)[1]
        call("ip", "link", "set", f"cable{number}", "up" if plugged else "down")


class Cage:
    """A control group that limits what one process gets of the machine; the kernel kills the process when it needs more memory.

    Args:
        controller: `memory` or `cpu`.

    Raises:
        OSError: this machine has no control groups of version 1.
    """

    def __init__(self, controller: str) -> None:
        self._folder = Path("/sys/fs/cgroup") / controller / f"lab-{uuid.uuid4().hex[:12]}"
        self._folder.mkdir()

    def limit(self, **values: int) -> None:
        """Set limits; `_` stands for the dot in the names of files."""
        for name, value in values.items():
            (self._folder / name.replace("_", ".", 1)).write_text(str(value), encoding="utf-8")

    def hold(self, process: Process) -> None:
        """Put a process and all its threads into it."""
        (self._folder / "cgroup.procs").write_text(str(process.pid), encoding="utf-8")

    def remove(self) -> None:
        """Remove the group, whose processes have ended."""
        with suppress(OSError):
            self._folder.rmdir()


def out_of_memory(since_ms: int) -> list[tuple[int, str]]:
    """Return what the kernel printed since some time about processes that it killed for lack of memory: microseconds since 1970, and text."""
    booted_us = time.time_ns() // 1_000 - time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1_000
    found: list[tuple[int, str]] = []
    is_about = False
    log = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
    try:
        while True:
            try:
                record = os.read(log, 8192).decode("utf-8", "replace")
            except BrokenPipeError:  # it was overwritten meanwhile
                continue
            head, _, text = record.partition(";")
            at_us = booted_us + int(head.split(",")[2])
            is_about = is_about or "invoked oom-killer" in text
            if is_about and at_us >= since_ms * 1_000:
                found.append((at_us, text.split("\n")[0]))
            is_about = is_about and "Killed process" not in text
    except BlockingIOError:
        return found
    finally:
        os.close(log)


class Process:
    """A program that runs on one host, and what the kernel says about it."""

    def __init__(self, host: str, command: Sequence[str], output: Path) -> None:
        output.parent.mkdir(parents=True, exist_ok=True)
        with output.open("ab") as out:
            # A group of its own, so that Ctrl-C reaches only the one who ends the others in order.
            self._popen = subprocess.Popen(
                ["ip", "netns", "exec", host, *command], stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, process_group=0
            )
        self.pid = self._popen.pid

    @property
    def state(self) -> str:
        """Return `running`, `stopped` (frozen: threads exist, none runs) or `gone`."""
        if self._popen.poll() is not None:
            return "gone"
        try:
            letter = Path(f"/proc/{self.pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0]
        except OSError:
            return "gone"
        return "stopped" if letter == "T" else "running"

    @property
    def threads(self) -> list[str]:
        """Return the names of its threads, each cut at 15 characters by the kernel."""
        names = []
        try:
            tasks = list(Path(f"/proc/{self.pid}/task").iterdir())
        except OSError:
            return []
        for task in tasks:
            try:
                names.append((task / "comm").read_text(encoding="utf-8").rstrip("\n"))
            except OSError:  # it ended meanwhile
                continue
        return names

    @property
    def exit_code(self) -> int | None:
        """Return the exit code (negative: a signal), or None while it exists."""
        return self._popen.poll()

    def send(self, number: signal.Signals) -> None:
        """Send a signal, unless the process has ended."""
        if self._popen.poll() is None:
            self._popen.send_signal(number)

    def wait(self, seconds: float) -> bool:
        """Wait for its end; return False if it still exists."""
        try:
            self._popen.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True
