"""Read what Docker says about containers: `docker inspect`, and `docker events` as text or JSON. No value of an environment is kept."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from forensics.snapshots.json_text import Placed, Places, read_documents
from forensics.snapshots.machine import HAPPENED, SIGKILL, end_of_container, fact, times
from forensics.snapshots.observation import Broken, Item, Line, moment_of, number_of

EVENT = re.compile(
    r"(?P<time>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)) container (?P<action>\w+)(?:: [^(]{0,200})? (?P<id>\w{1,64})"
    r"(?: \((?P<facts>[^\n]*)\))?"
)
_FACT = re.compile(r"(?P<key>exitCode|signal|name)=(?P<value>[^,)]{1,255})")
_INSPECTED = re.compile(r'\s*"(?:OOMKilled|FinishedAt)":')
_JSON_EVENT = re.compile(r'\{"(?:status|Type)":"[\w: -]{1,60}",.{0,600}"(?:Type|Action)":"\w+"')
_NANOS = re.compile(r"(\.\d{6})\d{1,9}")
#: What the actions of containers show.
_ACTIONS = {"oom": "oom_killed", "die": "exited", "kill": "stopped"}


def is_docker(texts: Iterable[str]) -> bool:
    """Return True if the first lines are those of `docker inspect` or `docker events`."""
    first = [text for text in texts if text.strip()]
    if not first:
        return False
    if first[0].strip() in ("[", "[{") or first[0].lstrip().startswith('[{"Id"'):
        return sum(_INSPECTED.match(text) is not None for text in first) >= 2 or '"OOMKilled"' in first[0]
    events = sum(EVENT.fullmatch(text.rstrip()) is not None or _JSON_EVENT.match(text) is not None for text in first)
    return events > 0 and events * 2 > len(first)


def read_docker(lines: Iterable[Line]) -> Iterator[Item]:
    """Yield the ends of containers, and who asked for them."""
    held: list[Line] = []
    events: list[_Event] = []
    for line in lines:
        if held or line.text.lstrip().startswith("["):
            held.append(line)
        elif found := EVENT.fullmatch(line.text.rstrip()):
            facts = {m["key"]: m["value"] for m in _FACT.finditer(found["facts"] or "")}
            events.append(_Event(line, moment_of(_short(found["time"])), found["action"], found["id"], facts))
        elif line.text.startswith("{"):
            for item in _json_event(line):
                if isinstance(item, _Event):
                    events.append(item)
                else:
                    yield item
    yield from _shown(events)
    if held:
        yield from read_documents(held, _inspected)


class _Event(NamedTuple):
    """An event of a container; `ts` is in microseconds UTC."""

    line: Line
    ts: int | None
    action: str
    container_id: str
    facts: Mapping[str, Any]


def _shown(events: Sequence[_Event]) -> Iterator[Item]:
    """Yield what events show; an end with the start before it and the one after it."""
    again: dict[str, int | None] = {}
    restarted: list[int | None] = []
    for event in reversed(events):
        restarted.append(again.get(event.container_id))
        if event.action == "start":
            again[event.container_id] = event.ts
    started: dict[str, int | None] = {}
    for event, after in zip(events, reversed(restarted), strict=True):
        starts = (started.get(event.container_id), after) if event.action == "die" else (None, None)
        if event.action == "start":
            started[event.container_id] = event.ts
        yield from _event(*event, *starts)


def _json_event(line: Line) -> Iterator[_Event | Broken]:
    try:
        record = json.loads(line.text)
    except (ValueError, RecursionError):
        yield Broken(f"line {line.number} is no complete event")
        return
    actor = record.get("Actor") if isinstance(record, dict) else None
    if not isinstance(actor, dict) or record.get("Type") != "container":
        return
    facts = actor.get("Attributes")
    nanos = record.get("timeNano")
    ts = nanos // 1_000 if isinstance(nanos, int) else None
    yield _Event(line, ts, str(record.get("Action")), str(actor.get("ID")), facts if isinstance(facts, dict) else {})


def _event(
    line: Line, ts: int | None, action: str, container_id: str, facts: Mapping[str, Any], started_us: int | None, restarted_us: int | None
) -> Iterator[Item]:
    what = _ACTIONS.get(action)
    if what is None:
        return
    code, signal = number_of(facts.get("exitCode")), facts.get("signal")
    if (what == "exited" and code == SIGKILL) or (what == "stopped" and signal in ("9", "KILL", "SIGKILL")):
        what = "killed"
    how = f"docker: {action}" + (f", exit code {code}" if code is not None else "") + (f", signal {signal}" if signal else "")
    at_ms = None if ts is None else ts // 1_000
    yield fact(
        line, HAPPENED, how, ts=ts, what=what, of="container", container=facts.get("name"), container_id=container_id, clock="host", how=how, exit_code=code,
        started_ms=_ms(started_us), restarted_ms=_ms(restarted_us), **times(at_ms, at_ms),
    )  # fmt: skip


def _inspected(value: Any, places: Places) -> Iterator[Item]:  # noqa: ANN401  (what JSON gives)
    for it in value if isinstance(value, list) else [value]:
        state = it.get("State") if isinstance(it, Placed) else None
        if isinstance(state, Placed) and "FinishedAt" in state:
            yield from _ended(it, state, places)


def _ended(it: Placed, state: Placed, places: Places) -> Iterator[Item]:
    """Yield the last end of a container that has ended."""
    ts = moment_of(_short(str(state.get("FinishedAt"))))
    if ts is not None and ts < 0:  # year 1: it has not ended yet
        ts = None
    if ts is None and state.get("Running") is True:
        return
    # A container that was started again has the end of the run before, but start, exit code and lack of memory are those of the present one.
    is_present = state.get("Running") is True
    code = None if is_present else number_of(state.get("ExitCode"))
    killed = state.get("OOMKilled") is True and not is_present
    start_us = moment_of(_short(str(state.get("StartedAt"))))
    start = {"restarted_ms" if is_present else "started_ms": _ms(start_us) if start_us is not None and start_us > 0 else None}
    what = end_of_container(code, is_oom=killed)
    how = ", ".join(filter(None, ("OOMKilled" if killed else "", f"exit code {code}" if code is not None else ""))) or "ended"
    host = it.get("HostConfig")
    limit = number_of(host.get("Memory")) if isinstance(host, dict) else None
    at_ms = None if ts is None else ts // 1_000
    yield fact(
        places.of(state), HAPPENED, f"container ended: {how}", ts=ts, what=what, of="container", container=str(it.get("Name") or "").lstrip("/"),
        container_id=it.get("Id"), clock="host", how=how, exit_code=code, restarts=number_of(it.get("RestartCount")),
        memory_limit=f"{limit // (1 << 20)}Mi" if limit else None, **start, **times(at_ms, at_ms),
    )  # fmt: skip


def _ms(at_us: int | None) -> int | None:
    return None if at_us is None else at_us // 1_000


def _short(time: str) -> str:
    """Return a time with at most microseconds."""
    return _NANOS.sub(r"\1", time)
