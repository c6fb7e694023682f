"""Read Connect's own data on connectors and tasks: answers of its REST API, and its config, status and offsets topics as the console consumer prints them.

REST: `/`, `/connectors?expand=status&expand=info`, `/connectors/X`, `/connectors/X/status`, `/connectors/X/config`, `/connectors/X/tasks`,
`/connectors/X/tasks/0/status`, `/connectors/X/offsets`; complete, pretty-printed, several in one file, with the headers of `curl -i` (whose Date is the time of the answer).
Topics: one record per line with a key, a separator, and a JSON value or `null` (`--property print.key=true`), optionally preceded by `CreateTime:`,
partition, offset and headers. The key with which workers sign their requests (`session-key`) is never kept.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from forensics.redaction import hide
from forensics.snapshots.json_text import Documents, Placed, Places
from forensics.snapshots.observation import Broken, Item, Line, Observation, Strange, document, moment_of
from forensics.snapshots.source_offsets import is_offsets_answer, is_source_record, offsets_of, read_source_record, requested_connector

_STATES = {"RUNNING", "FAILED", "PAUSED", "UNASSIGNED", "DESTROYED", "STOPPED", "RESTARTING", "STARTED"}
#: A record's key, after anything that the console consumer may print before it; and the separator after it.
KEY = re.compile(
    r"(?P<before>(?:.{0,500}?[^\w.-])??)"
    r"\"?(?P<key>(?P<kind>status-(?:task|connector)-|connector-|task-|target-state-|commit-|session-key|tasks-fencing-|restart-connector-|status-topic-|logger-cluster-)(?P<name>(?:.*?[^\t|;:= ])??))\"?"
    r"(?P<parting>[\t|;:= ]+)(?P<value>\{.*|null)$"
)
_TIME = re.compile(r"(?:CreateTime|LogAppendTime):(\d+)")
_NUMBERED = re.compile(r"(.+)-(\d+)$")
_HTTP = re.compile(r"(?:[<>*] ?)?(?:HTTP/[\d.]+ \d+.*|[A-Za-z][\w-]*: .*|[<>*].*)?")
_MAX_TRACE = 500


def read_topic(lines: Iterable[Line]) -> Iterator[Item]:
    """Yield the records of the status, config and offsets topics."""
    for line in lines:
        text = line.text.strip()
        if not text or moment_of(text) is not None or text.startswith(("Processed a total of", "[20")):
            continue
        match = KEY.match(text)
        if match is None and is_source_record(text):
            time = _TIME.search(text[: text.index("[")])
            yield from read_source_record(line, int(time[1]) * 1000 if time else None)
            continue
        if match is None:
            yield Strange(line.number, "(not a record of Connect)")
            continue
        value: Any = None
        if match["kind"] != "session-key" and match["value"] != "null":
            try:
                value = json.loads(match["value"])
            except (ValueError, RecursionError):
                yield Strange(line.number, f"{match['key']}: its value is incomplete")
                continue
            if isinstance(value, dict) and "schema" in value and "payload" in value:
                value = value["payload"]
        time = _TIME.search(match["before"])
        yield from _record(line, match["kind"], match["name"], value, int(time[1]) * 1000 if time else None)


def _record(line: Line, kind: str, name: str, value: Any, ts: int | None) -> Iterator[Item]:  # noqa: ANN401  (what JSON gives)
    data = value if isinstance(value, dict) else None
    numbered = _NUMBERED.match(name)
    match kind:
        case "status-task-" if numbered:
            yield _status(line, numbered[1], numbered[0], data, ts)
        case "status-connector-":
            yield _status(line, name, None, data, ts)
        case "connector-":
            yield _config(line, name, None, data and data.get("properties"), ts, removed=data is None)
        case "task-" if numbered:
            yield _config(line, numbered[1], numbered[0], data and data.get("properties"), ts, removed=data is None)
        case "commit-":
            count = (data or {}).get("tasks")
            captures = {"connector": name, "record_count": count if isinstance(count, int) else None}
            yield Observation.of(line, "task_configs_committed", captures, ts, f"{name}: configurations of {count} tasks committed")
        case "target-state-":
            state = (data or {}).get("state.v2") or (data or {}).get("state")
            yield Observation.of(line, "target_state_stored", {"connector": name, "state": state}, ts, f"{name} is to be {state}")
        case "session-key":
            yield Observation.of(line, "session_key_stored", {}, ts, "a new session key (never kept)")
        case _:
            yield Observation.of(line, "connect_record_stored", {"connector": name}, ts, f"{kind}{name}")


def read_rest(lines: Iterable[Line]) -> Iterator[Item]:
    """Yield the contents of answers of Connect's REST API."""
    text, first, cut = document(lines)
    if first is None:
        return
    where, ts, dated, connector = Documents(text), None, 0, None
    place = Places(text, first)
    for _, value in where:
        for _, outside in where.between[dated:]:
            ts = moment_of(outside) or ts
            connector = requested_connector(outside) or connector
        dated = len(where.between)
        if isinstance(value, Placed) and is_offsets_answer(value):
            yield from offsets_of(value, connector, place.of(value), ts)
            connector = None
        else:
            yield from _answer(value, place, ts)
    for at, outside in where.between:
        if moment_of(outside) is None and requested_connector(outside) is None and not _HTTP.fullmatch(outside.strip()):
            yield Strange(where.line_of(at) + first.number, "(a line outside the JSON)")
    if where.broken or cut:
        yield Broken(where.broken or "the document is larger than 64 MB")


def is_answer(value: Any) -> bool:  # noqa: ANN401  (what JSON gives)
    """Return True if a JSON value is an answer of Connect's REST API."""
    if isinstance(value, list):
        return bool(value) and all(isinstance(v, dict) and isinstance(v.get("id"), dict) and {"connector", "task"} <= v["id"].keys() for v in value)
    if not isinstance(value, dict):
        return False
    if is_offsets_answer(value) or _is_root(value) or _is_status(value) or _is_info(value) or _is_task_status(value) or "connector.class" in value:
        return True
    both = [v for v in value.values() if isinstance(v, dict) and v.keys() & {"status", "info"}]
    return len(both) == len(value) and any(_is_status(v.get("status")) or _is_info(v.get("info")) for v in both)


def _is_root(value: Any) -> bool:  # noqa: ANN401  (what JSON gives)
    return isinstance(value, dict) and {"version", "commit"} <= value.keys() and len(value) <= 5


def _is_status(value: Any) -> bool:  # noqa: ANN401  (what JSON gives)
    return isinstance(value, dict) and "name" in value and isinstance(value.get("connector"), dict) and "state" in value["connector"]


def _is_info(value: Any) -> bool:  # noqa: ANN401  (what JSON gives)
    return (
        isinstance(value, dict)
        and isinstance(value.get("name"), str)
        and isinstance(value.get("config"), dict)
        and "connector.class" in value["config"]
    )


def _is_task_status(value: Any) -> bool:  # noqa: ANN401  (what JSON gives)
    return isinstance(value, dict) and {"id", "state", "worker_id"} <= value.keys() and value["state"] in _STATES


def _answer(value: Any, place: Places, ts: int | None) -> Iterator[Observation]:  # noqa: ANN401  (what JSON gives)
    if isinstance(value, list):
        for task in value:
            if isinstance(task, Placed) and isinstance(task.get("id"), dict) and "connector" in task["id"]:
                name = str(task["id"]["connector"])
                yield _config(place.of(task), name, f"{name}-{task['id'].get('task')}", task.get("config"), ts)
        return
    if not isinstance(value, Placed):
        return
    if _is_root(value):
        cluster = value.get("kafka_cluster_id")
        columns = {"kafka_cluster_id": str(cluster)} if cluster else {}
        captures = {"kafka_version": _text(value["version"]), "commit_id": _text(value["commit"]), "columns": columns}
        yield Observation.of(place.of(value), "worker_described", captures, ts, f"Kafka {value['version']}, cluster {cluster}")
    elif _is_status(value) or (isinstance(value.get("tasks"), list) and "name" in value and "config" not in value):
        yield from _statuses(value, place, ts)
    elif _is_info(value):
        yield _info(value, place, ts)
    elif _is_task_status(value):
        yield _status(place.of(value), None, None, value, ts)
    elif "connector.class" in value:
        yield _config(place.of(value), _text(value.get("name")), None, value, ts)
    else:
        for name, both in value.items():
            if not isinstance(both, dict):
                continue
            if isinstance(both.get("status"), Placed):
                yield from _statuses(both["status"], place, ts, name)
            if isinstance(both.get("info"), Placed):
                yield _info(both["info"], place, ts, name)


def _statuses(value: Placed, place: Places, ts: int | None, name: str = "") -> Iterator[Observation]:
    name = str(value.get("name") or name)
    own = value.get("connector")
    if isinstance(own, Placed):
        yield _status(place.of(own), name, None, own, ts)
    for task in value.get("tasks") or ():
        if isinstance(task, Placed):
            yield _status(place.of(task), name, f"{name}-{task.get('id')}", task, ts)


def _info(value: Placed, place: Places, ts: int | None, name: str = "") -> Observation:
    name = str(value.get("name") or name)
    tasks = [f"{name}-{t.get('task')}" for t in value.get("tasks") or () if isinstance(t, dict)]
    found = _config(place.of(value), name, None, value.get("config"), ts)
    return Observation(found.line, found.offset, found.raw, found.event, found.message, {**found.captures, "tasks": tasks}, ts)


def _status(line: Line, connector: str | None, task: str | None, value: Mapping[str, Any] | None, ts: int | None) -> Observation:
    """Return the state of a task, or of a connector if `task` is None. No value means that the status was removed."""
    value = value or {}
    trace = str(value.get("trace") or "").strip().split("\n")[0][:_MAX_TRACE]
    generation = value.get("generation")
    version = value.get("version")
    captures = {
        "connector": connector, "task": task, "state": _text(value.get("state")) or "REMOVED", "worker_id": _text(value.get("worker_id")),
        "error": hide("", trace) or None, "generation": generation if isinstance(generation, int) else None, "plugin_version": _text(version),
    }  # fmt: skip
    message = f"{task or connector or 'a task'} {captures['state']}" + (f" on {value['worker_id']}" if value.get("worker_id") else "")
    is_task = task is not None or connector is None
    return Observation.of(
        line,
        "task_status_reported" if is_task else "connector_status_reported",
        captures,
        ts,
        f"{message}: {captures['error']}" if trace else message,
    )


def _config(line: Line, connector: str | None, task: str | None, value: Any, ts: int | None, *, removed: bool = False) -> Observation:  # noqa: ANN401  (what JSON gives)
    config = {str(k): hide(str(k), v if isinstance(v, str) else json.dumps(v)) for k, v in value.items()} if isinstance(value, dict) else {}
    what = task or connector
    captures = {
        "connector": connector, "task": task, "component": "task" if task else "connector", "config": config,
        "class_name": config.get("task.class" if task else "connector.class"),
    }  # fmt: skip
    event = "connector_config_removed" if removed else "task_config_reported" if task else "connector_described"
    return Observation.of(line, event, captures, ts, f"{what}: removed" if removed else f"{what}: {len(config)} properties")


def _text(value: Any) -> str | None:  # noqa: ANN401  (what JSON gives)
    return None if value is None else str(value)
