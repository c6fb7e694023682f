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
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from forensics import failures
from forensics.errors import ForensicsError
from forensics.import_guard import SAFE

#: An MCP client usually waits 60 s for an answer.
SECONDS = 45
#: The process ends itself if its parent, which would have ended it, is gone.
_ALONE_SECONDS = SECONDS + 10
# The process gets this one's search path, which may be a checkout's.
_CODE = "import sys; sys.path[:] = {path!r}; from forensics.agents.queries import answer; answer(*{arguments!r})"
_NARROW = "Narrow it: fewer joins, a condition on time or group."


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
            ForensicsError: the engine cannot run it, or not in time.
        """
        process, over = self._running(), threading.Event()
        assert process.stdin is not None  # noqa: S101  (for the type checker)
        assert process.stdout is not None  # noqa: S101

        def stop() -> None:
            over.set()
            self.end()

        limit = threading.Timer(SECONDS, stop)
        limit.start()
        answer = ""
        try:
            with suppress(BrokenPipeError):
                process.stdin.write(json.dumps([statement, number]) + "\n")
                process.stdin.flush()
                answer = process.stdout.readline()
        finally:
            limit.cancel()
        if not answer.endswith("\n"):
            self.end()
            if over.is_set():
                raise ForensicsError(f"The query did not finish within {SECONDS} s.", where="statement", fix=_NARROW)
            why = "the system may have killed it for lack of memory"
            raise ForensicsError("The process that ran the query ended.", why=why, where="statement", fix=_NARROW)
        found = json.loads(answer)
        if "error" in found:
            what, why, where, fix = found["error"]
            raise ForensicsError(what, why=why, where=where, fix=fix)
        return found["names"], found["rows"]

    def _running(self) -> subprocess.Popen[str]:
        if self._process is None or self._process.poll() is not None:
            code = _CODE.format(path=sys.path, arguments=self._arguments)
            # A process group, so that one signal also ends the engine's own process.
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8", env={**os.environ, **SAFE},
                process_group=0,
            )  # fmt: skip
        return self._process

    def end(self) -> None:
        """End the process, if there is one."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()


def answer(case: str, engine: str, jobs: int | None) -> None:
    """Answer queries from standard input until it ends, each with a line of JSON on standard output; all other output goes to standard error."""
    from forensics import api, engines
    from forensics.case import folder
    from forensics.report import query

    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    runs = engines.engine(engine, jobs=jobs)
    for line in sys.stdin:
        statement, number = json.loads(line)
        signal.alarm(_ALONE_SECONDS)
        try:
            opened = folder.open_case(Path(case), check=False)  # the parent has checked it
            names, rows = query.first_rows(lambda: api.Case(opened, runs).engine, opened, [query.Statement(statement)], number)  # noqa: B023
            found: dict[str, Any] = {"names": names, "rows": rows}
        except Exception as e:
            known = failures.explained(e)
            found = {"error": (known.what, known.why, known.where, known.fix)}
        signal.alarm(0)
        out.write(json.dumps(found) + "\n")
        out.flush()
        if failures.STALLED:
            return
