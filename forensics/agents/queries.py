"""Run queries in a process of their own, which keeps its engine: a query that takes too long, or too much memory, ends with this process.

An engine cannot be relied on to cancel a query: while Sail computes on all cores, it does not receive the request.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forensics import failures
from forensics.errors import ForensicsError
from forensics.import_guard import SAFE

if TYPE_CHECKING:
    from forensics.engines.base import Engine

#: An MCP client usually waits 60 s for an answer. The start of an engine counts separately: on a busy machine, Spark needs longer.
SECONDS, START_SECONDS = 45, 180
#: The process ends itself if its parent, which would have ended it, is gone.
_ALONE_SECONDS = 10
# The process gets this one's search path, which may be a checkout's.
_CODE = "import sys; sys.path[:] = {path!r}; from forensics.agents.queries import answer; answer(*{arguments!r})"
_NARROW = "Narrow it: fewer joins, a condition on time or group."
#: Memory that the process may use. Spark's JVM is a process of its own, which has a limit of its own.
MEMORY_BYTES = 1_500_000_000
_WATCHED_SECONDS = 0.05
_STATM = Path("/proc/self/statm")


class Queries:
    """The process that runs queries over a case; it starts with the first one, and again after one has ended it.

    Args:
        case: the case folder, or the URL of a case in S3.
        engine: `spark` or `sail`.
        jobs: number of cores that the engine uses; None: all.
    """

    def __init__(self, case: Path, engine: str, jobs: int | None) -> None:
        self._arguments = (str(case), engine, jobs)
        self._process: subprocess.Popen[str] | None = None

    def first_rows(self, statement: str, number: int) -> tuple[list[str], list[Sequence[Any]]]:
        """Return the columns and the first rows of a statement that has been accepted.

        Raises:
            ForensicsError: the engine does not start, cannot run the statement, or not in time.
        """
        if self._process is None or self._process.poll() is not None:
            code = _CODE.format(path=sys.path, arguments=self._arguments)
            # A process group, so that one signal also ends the engine's own process.
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8", env={**os.environ, **SAFE},
                process_group=0,
            )  # fmt: skip
            self._answer(self._process, "", START_SECONDS, "The engine did not start", "Try again, on a machine that is less busy.")
        found = self._answer(self._process, json.dumps([statement, number]) + "\n", SECONDS, "The query did not finish", _NARROW)
        return found["names"], found["rows"]

    def _answer(self, process: subprocess.Popen[str], question: str, seconds: int, what: str, fix: str) -> dict[str, Any]:
        """Return the answer of the process to a question; end the process if it takes too long, or too much memory."""
        done, over, until = threading.Event(), [], time.monotonic() + seconds

        def watch() -> None:
            while not done.wait(_WATCHED_SECONDS):
                if time.monotonic() > until:
                    over.append(f"{what} within {seconds} s.")
                elif _used(process.pid) > MEMORY_BYTES:
                    over.append(f"{what}: it needs more than {MEMORY_BYTES / 1e9:.1f} GB of memory.")
                if over:
                    self.end()
                    return

        assert process.stdin is not None  # noqa: S101  (for the type checker)
        assert process.stdout is not None  # noqa: S101
        line, watcher = "", threading.Thread(target=watch, daemon=True)
        watcher.start()
        try:
            with suppress(BrokenPipeError):
                process.stdin.write(question)
                process.stdin.flush()
                line = process.stdout.readline()
        finally:
            done.set()
            watcher.join()
        if not line.endswith("\n") or over:
            self.end()
            if over:
                raise ForensicsError(over[0], where="statement", fix=fix)
            why = "the system may have killed it for lack of memory"
            raise ForensicsError("The process that runs queries ended.", why=why, where="statement", fix=_NARROW)
        found: dict[str, Any] = json.loads(line)
        if "error" in found:
            what, why, where, fix = found["error"]
            raise ForensicsError(what, why=why, where=where, fix=fix)
        return found

    def end(self) -> None:
        """End the process, if there is one."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                if hasattr(os, "killpg"):
                    os.killpg(self._process.pid, signal.SIGKILL)
                else:
                    self._process.kill()
            self._process.wait()


def _used(pid: int) -> int:
    """Return the memory that a process uses, in bytes; 0 if the system has neither `/proc` nor `ps`, as on Windows."""
    try:
        if _STATM.exists():
            return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        return int(subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, check=False).stdout) * 1024  # noqa: S607
    except (OSError, ValueError, IndexError):
        return 0


def answer(case: str, name: str, jobs: int | None) -> None:
    """Answer queries from standard input until it ends: first whether the engine has started, then each query.

    An answer is a line of JSON on standard output; all other output goes to standard error.
    """
    from forensics import api, engines
    from forensics.case import folder
    from forensics.report import query

    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    runs, alarm = engines.engine(name, jobs=jobs), getattr(signal, "alarm", lambda seconds: None)  # Windows has no alarm

    def reply(seconds: int, found: Callable[[], dict[str, Any]]) -> None:
        alarm(seconds + _ALONE_SECONDS)
        try:
            answer = found()
        except Exception as e:
            known = failures.explained(e)
            answer = {"error": (known.what, known.why, known.where, known.fix)}
        alarm(0)
        out.write(json.dumps(answer) + "\n")
        out.flush()

    def opened() -> tuple[folder.Case, Engine]:
        found = folder.open_case(Path(case), check=False)  # the parent has checked it
        return found, api.Case(found, runs).engine

    def rows(statement: str, number: int) -> dict[str, Any]:
        found, engine = opened()
        return dict(zip(("names", "rows"), query.first_rows(lambda: engine, found, [query.Statement(statement)], number), strict=True))

    reply(START_SECONDS, lambda: {"started": bool(opened()[1].session)})
    for line in sys.stdin:
        reply(SECONDS, lambda: rows(*json.loads(line)))  # noqa: B023  (it is called now)
        if failures.STALLED:
            return
