"""Read how tasks of Amazon ECS ended: the output of `aws ecs describe-tasks` as JSON. No value of an environment is kept."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

from forensics.redaction import scrub
from forensics.snapshots.json_text import Placed, Places, read_documents
from forensics.snapshots.machine import HAPPENED, SIGKILL, end_of_container, fact, times
from forensics.snapshots.observation import Item, Line, number_of

_TASK = re.compile(r'"taskArn": ?"arn:aws[\w-]*:ecs:')
_CONTAINERS = re.compile(r'"containers": ?\[')
_LONGEST_REASON = 300
#: A time of version 2 of the CLI has no fraction if that is zero; version 1 prints seconds since 1970.
_WITHIN_MS = 999
#: What the code of a stopped task shows, if its reason shows no more.
_CODES = {"SpotInterruption": "evicted", "TerminationNotice": "evicted", "UserInitiated": "stopped", "ServiceSchedulerInitiated": "stopped"}
UNHEALTHY = re.compile(r"Task failed (?:ELB|container) health checks")
_NO_MEMORY = "OutOfMemoryError"


def is_ecs(texts: Iterable[str]) -> bool:
    """Return True if the first lines are those of described tasks."""
    first = [text for text in texts if text.strip()]
    if not first or first[0].lstrip()[:1] not in ("{", "["):
        return False
    return any(_TASK.search(text) for text in first) and any(_CONTAINERS.search(text) for text in first)


def read_ecs(lines: Iterable[Line]) -> Iterator[Item]:
    """Yield how stopped tasks and their containers ended."""
    yield from read_documents(lines, _described)


def _described(value: Any, places: Places) -> Iterator[Item]:  # noqa: ANN401  (what JSON gives)
    tasks = value.get("tasks") if isinstance(value, dict) else value
    for task in tasks if isinstance(tasks, list) else [value]:
        if isinstance(task, Placed) and "taskArn" in task:
            yield from _task(task, places)


def _task(task: Placed, places: Places) -> Iterator[Item]:
    moments = [_ms(task.get(key)) for key in ("executionStoppedAt", "stoppingAt", "stoppedAt")]
    at_ms = min((moment for moment in moments if moment is not None), default=None)
    if at_ms is None and task.get("lastStatus") != "STOPPED":
        return
    containers = [it for it in task.get("containers") or () if isinstance(it, Placed)] if isinstance(task.get("containers"), list) else []
    names = {"pod": str(task.get("taskArn")).rpartition("/")[2], "beside": str(len(containers) - 1) if len(containers) > 1 else None}
    at: dict[str, Any] = {"clock": "control_plane", **times(at_ms, at_ms, _WITHIN_MS)}
    ts = None if at_ms is None else at_ms * 1_000
    code, reason = str(task.get("stopCode") or ""), scrub(str(task.get("stoppedReason") or ""))[:_LONGEST_REASON]
    what = "probe_failed" if UNHEALTHY.match(reason) else _CODES.get(code)
    if what is not None:
        how = ": ".join(filter(None, (code, reason)))
        yield fact(places.of(task), HAPPENED, f"task stopped: {code}", ts=ts, what=what, of="pod", how=how, **names, **at)
    for it in containers:
        exit_code, reason = number_of(it.get("exitCode")), scrub(str(it.get("reason") or ""))[:_LONGEST_REASON]
        if exit_code is None and not reason:
            continue
        # Another process of a container that was killed for lack of memory leaves the same reason: only the exit code is that of the first one.
        how = ", ".join(filter(None, (reason, f"exit code {exit_code}" if exit_code is not None else "")))
        yield fact(
            places.of(it),
            HAPPENED,
            f"container ended: {how}",
            ts=ts,
            what=end_of_container(exit_code, is_oom=reason.startswith(_NO_MEMORY) and exit_code == SIGKILL),
            of="container",
            container=it.get("name"),
            container_id=it.get("runtimeId"),
            how=how,
            exit_code=exit_code,
            memory_limit=f"{memory}Mi" if (memory := number_of(it.get("memory"))) else None,
            **names,
            **at,
        )


def _ms(value: Any) -> int | None:  # noqa: ANN401  (what JSON gives)
    """Return a time: text with a zone, or seconds since 1970."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return round(value * 1_000) if 0 < value < 1e11 else None
    try:
        moment = datetime.fromisoformat(str(value).replace("Z", "+00:00"))
    except ValueError:
        return None
    return None if moment.tzinfo is None else round(moment.astimezone(UTC).timestamp() * 1_000)
