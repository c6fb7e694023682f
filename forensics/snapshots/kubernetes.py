"""Read what Kubernetes says: `kubectl get pod`, `get node` and `get events` with `-o yaml` or `-o json`, the table of events, and `kubectl describe`.

From a pod, only its name, its node, the memory limits and the states of its containers are read: no value of its environment is kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from forensics.redaction import scrub
from forensics.snapshots.json_text import Documents, Placed, Places
from forensics.snapshots.machine import HAPPENED, end_of_container, fact, times
from forensics.snapshots.observation import Broken, Item, Line, Strange, document, moment_of, number_of
from forensics.snapshots.yaml_text import YamlDocuments

_VERSION = re.compile(r"""\s*(?:[-{] *)?"?apiVersion"?: *"?(?:v1|events\.k8s\.io/v1(?:beta1)?)"?,?\s*$""")
_KIND = re.compile(r"""\s*(?:[-{] *)?"?kind"?: *"?(?:Pod|Event|Node|PodList|EventList|NodeList)"?,?\s*$""")
_ONE_LINE = re.compile(r"""\{.{0,200}"kind": ?"(?:Pod|Event|Node|PodList|EventList|NodeList)\"""")
TABLE = re.compile(
    r"(?:NAMESPACE +)?(?P<seen>LAST SEEN) +(?:FIRST SEEN +COUNT +NAME +KIND +SUBOBJECT +)?(?P<type>TYPE) +(?P<reason>REASON) +(?P<object>OBJECT) +(?:SUBOBJECT +SOURCE +)?(?P<message>MESSAGE)\b.*"
)
_ROW = re.compile(r"(?:\S+ +)?(?:<unknown>|[0-9dhms]{2,12}(?: \(x\d+ over .{1,12}\))?) +(?:Normal|Warning) +\w+ +")
_CELL = re.compile(r"\S+")
_AGE = re.compile(r"(?:(?P<d>\d{1,5})d)?(?:(?P<h>\d{1,5})h)?(?:(?P<m>\d{1,5})m)?(?:(?P<s>\d{1,6})s)?(?: \(x\d+ over .{1,12}\))?")
_IN_BRACES = re.compile(r"\{([^{}]{1,63})\}")
_LONGEST_REASON = 300
#: A described pod: its first lines, and the lines of its containers.
DESCRIBED = re.compile(r"(?P<indent> *)(?P<key>[A-Z][\w -]{0,40}|[a-z0-9][-a-z0-9]{0,62}):(?: +(?P<value>\S.*))?")
_PROBE_KILLS = re.compile(r"Container \S{1,80} failed (?:liveness|startup) probe")
_PROBE_FAILS = re.compile(r"(?:Liveness|Startup) probe")
_STOPS = re.compile(r"Stopping container")
#: The condition of a described node that says whether it is ready.
NODE_READY = re.compile(
    r"(?P<before>\s+Ready\s+(?P<status>True|False|Unknown)\s+(?P<heard>[A-Z][a-z]{2}, [\w :]{17,24} [+-]\d{4})\s+(?P<since>[A-Z][a-z]{2}, [\w :]{17,24} [+-]\d{4})"
    r"\s+(?P<reason>[A-Z]\w{1,60}))(?:\s+(?P<message>\S[^\n]*))?"
)
_NODE_LINES = ("Name:  ", "Roles:  ", "CreationTimestamp:  ", "Unschedulable:  ", "Lease:", "Conditions:", "Addresses:")
#: A node that became ready this soon after it was created had not been ready before.
_NEW_NODE_MS = 600_000
_UNSEEN = "ContainerStatusUnknown"
#: What events show, by their reason; if it depends on the message, by its beginning.
_REASONS: Mapping[str, str | tuple[tuple[re.Pattern[str], str], ...]] = {
    "Killing": ((_PROBE_KILLS, "probe_failed"), (_STOPS, "stopped")),
    "Unhealthy": ((_PROBE_FAILS, "probe_failed"),),
    "Evicted": "evicted",
    "TaintManagerEviction": "evicted",
    "Preempted": "evicted",
    "Preempting": "evicted",
    "OOMKilling": "oom_killed",
    "SystemOOM": "oom_killed",
    "NodeNotReady": "node_not_ready",
}
#: Keys whose values are never secret.
SAFE = {
    *("kind", "apiVersion", "reason", "exitCode", "signal", "startedAt", "finishedAt", "restartCount", "ready", "started", "status", "type", "phase", "count"),
    *("creationTimestamp", "deletionTimestamp", "lastTransitionTime", "lastProbeTime", "lastHeartbeatTime", "firstTimestamp", "lastTimestamp", "eventTime", "lastObservedTime"),
    *("deprecatedFirstTimestamp", "deprecatedLastTimestamp", "component", "reportingComponent", "reportingController", "memory", "cpu", "restartPolicy", "qosClass"),
    *("StartedAt", "FinishedAt", "exitCode", "signal", "Action", "Type", "scope", "__REALTIME_TIMESTAMP", "__MONOTONIC_TIMESTAMP", "_TRANSPORT"),
    *("SYSLOG_IDENTIFIER", "_COMM", "PRIORITY", "State", "Last State", "Reason", "Exit Code", "Started", "Finished", "Ready", "Restart Count", "Status", "Start Time"),
    *("lastStatus", "stopCode", "stoppedAt", "stoppingAt", "executionStoppedAt"),
}  # fmt: skip
_NAMES = {"name", "nodeName", "containerID", "message", "note", "Name", "Node", "fieldPath"}
_LINE = re.compile(r"(?P<before>\s*(?:- +)*)\"?(?P<key>[\w .-]{1,60}?)\"?:(?: +(?P<value>\S.*))?")
#: Why a pod is disrupted (condition DisruptionTarget).
_DRAINED = {"EvictionByEvictionAPI": "drained"}


def is_kubernetes(texts: Iterable[str]) -> bool:
    """Return True if the first lines are those of pods or events."""
    version = kind = began = False
    described = node = 0
    for text in texts:
        if TABLE.fullmatch(text.rstrip()) or (not began and _ONE_LINE.match(text) and '"apiVersion"' in text):
            return True
        if not began and text.strip() and moment_of(text) is None and not text.startswith("---"):
            # A log may quote such an object.
            if not text.startswith(("{", "[", "-", "apiVersion:", "Name:", "kind:")):
                return False
            began = True
        version = version or _VERSION.match(text) is not None
        kind = kind or _KIND.match(text) is not None
        described += text.startswith(("Name:  ", "Namespace:  ", "Node:  ", "Containers:", "Service Account:  "))
        node += text.startswith(_NODE_LINES)
        if (version and kind) or described >= 4 or node >= 5:
            return True
    return False


def read_kubernetes(lines: Iterable[Line]) -> Iterator[Item]:
    """Yield what pods and events show about their containers."""
    text, first, cut = document(lines)
    if first is None:
        return
    begin = next((line for line in text.split("\n") if line.strip() and moment_of(line) is None), "")
    ts = next((moment for line in text.split("\n", 5)[:5] if (moment := moment_of(line)) is not None), None)
    if any(TABLE.fullmatch(line.rstrip()) for line in text.split("\n", 400)[:400]):
        yield from _table(text, first, ts)
    elif begin.startswith(("Name:", "Namespace:")):
        yield from _described_node(text, first) if any(line.startswith("Roles:") for line in text.split("\n", 20)[:20]) else _described(text, first)
    else:
        yield from _objects(text, first, is_json=begin.lstrip()[:1] in ("{", "["))
    if cut:
        yield Broken("the document is larger than 64 MB")


def shown(text: str) -> str:
    """Return a line of such a file as it may be shown: without values that may be those of an environment."""
    found = _LINE.fullmatch(text.rstrip())
    if found is not None:
        value = found["value"] or ""
        if found["key"] in SAFE or found["key"] in _NAMES or not value.strip("[]{}, "):
            return scrub(text)
        return f"{text[: found.start('value')]}(not shown)"
    if not text.strip("[]{}, \r\n-") or TABLE.fullmatch(text.rstrip()) or _ROW.match(text):
        return scrub(text)
    return "(not shown)"


def _objects(text: str, first: Line, *, is_json: bool) -> Iterator[Item]:
    places = Places(text, first)
    if is_json:
        documents = Documents(text)
        for _, value in documents:
            yield from _items(value, places)
        if documents.broken:
            yield Broken(documents.broken)
        return
    blocks = YamlDocuments(text)
    for value in blocks:
        yield from _items(value, places)
    for number, line in blocks.strange:
        if moment_of(line) is None:
            yield Strange(first.number + number, "(a line that does not fit)")
    if blocks.is_cut:
        yield Broken("the YAML ends inside a list or a text")


def _items(value: Any, places: Places) -> Iterator[Item]:  # noqa: ANN401  (what JSON or YAML gives)
    if isinstance(value, list):
        for item in value:
            yield from _items(item, places)
    elif isinstance(value, Placed):
        if isinstance(value.get("items"), list):
            yield from _items(value["items"], places)
        elif isinstance(value.get("status"), dict):
            yield from (_node if value.get("kind") == "Node" or "nodeInfo" in value["status"] else _pod)(value, places)
        elif "reason" in value and ("involvedObject" in value or "regarding" in value):
            yield from _event(value, places)


def _pod(value: Placed, places: Places) -> Iterator[Item]:
    meta, spec, status = (_mapping(value.get(key)) for key in ("metadata", "spec", "status"))
    names: dict[str, Any] = {
        "pod": _text(meta.get("name")),
        "namespace": _text(meta.get("namespace")),
        "pod_id": _text(meta.get("uid")),
        "host": _text(spec.get("nodeName")),
    }
    limits = {}
    for container in _list(spec.get("containers")):
        limit = _mapping(_mapping(container.get("resources")).get("limits")).get("memory")
        limits[_text(container.get("name"))] = _text(limit)
    # Only the logs of a pod's single container may bear the name of the pod alone.
    states = _list(status.get("containerStatuses"))
    together = len(limits.keys() | {_text(state.get("name")) for state in states})
    beside = str(together - 1) if together > 1 else None
    # A container in a virtual machine of its own has another clock than its node.
    clock = "control_plane" if spec.get("runtimeClassName") else "host"
    for state in states:
        present = _mapping(state.get("state"))
        again = (_mapping(present.get("running")) or _mapping(present.get("terminated"))).get("startedAt")
        for when in ("lastState", "state"):
            ended = _mapping(state.get(when)).get("terminated")
            if isinstance(ended, Placed):
                name = _text(state.get("name"))
                of = {**names, "container": name, "container_id": _id(ended.get("containerID") or state.get("containerID")), "beside": beside}
                yield _ended(places.of(ended), of, ended, state.get("restartCount"), limits.get(name), again if when == "lastState" else None, clock)
    if _text(status.get("reason")) == "Evicted":
        yield fact(
            places.of(value), HAPPENED, "pod evicted", what="evicted", of="pod", clock="host", how=_reason("Evicted", status.get("message")), **names
        )
    for condition in _list(status.get("conditions")):
        if condition.get("type") == "DisruptionTarget" and _text(condition.get("status")).lower() == "true":
            reason = _text(condition.get("reason"))
            at = _bounds(condition.get("lastTransitionTime"), "control_plane")
            how = _reason(reason, condition.get("message"))
            yield fact(places.of(condition), HAPPENED, f"pod: {reason}", what=_DRAINED.get(reason, "evicted"), of="pod", how=how, **names, **at)


def _node(value: Placed, places: Places) -> Iterator[Item]:
    meta, status = _mapping(value.get("metadata")), _mapping(value.get("status"))
    for it in _list(status.get("conditions")):
        if it.get("type") == "Ready":
            times_of = (it.get("lastHeartbeatTime"), it.get("lastTransitionTime"), meta.get("creationTimestamp"))
            yield from _ready(
                places.of(it), _text(meta.get("name")), _text(it.get("status")), *times_of, _reason(_text(it.get("reason")), it.get("message"))
            )


def _ready(line: Line, name: str, status: str, heard: Any, since: Any, made: Any, how: str) -> Iterator[Item]:  # noqa: ANN401  (what JSON gives)
    """Yield since when a node is not ready, or until when it was not."""
    # A kubelet says that it is not ready. If it says nothing, the control plane notices it later.
    clock = "host" if status == "False" else "control_plane"
    heard_ms, changed_ms, made_ms = (_bounds(at, clock).get("from_ms") for at in (heard, since, made))
    at: dict[str, Any] = {"clock": clock}
    if status == "True":
        if changed_ms is None or (made_ms is not None and changed_ms - made_ms < _NEW_NODE_MS):
            return
        at |= {"to_ms": changed_ms, "to_by_ms": changed_ms + 999}
    elif status not in ("False", "Unknown"):
        return
    elif changed_ms is not None:
        began_ms = heard_ms if status == "Unknown" and heard_ms is not None and heard_ms < changed_ms else changed_ms
        at |= {"from_ms": began_ms, "from_by_ms": changed_ms + 999}
    ts = int(at["from_ms"]) * 1_000 if "from_ms" in at else None
    yield fact(line, HAPPENED, f"node: ready is {status}", ts=ts, what="node_not_ready", of="node", host=name, how=how, **at)


def _described_node(text: str, first: Line) -> Iterator[Item]:
    """Yield whether a described node is ready."""
    name, made, at = "", None, first.offset
    for number, line in enumerate(text.split("\n")):
        here = Line(first.number + number, at, line.encode("utf-8", "replace"), line)
        at += len(here.raw) + 1
        if line.startswith("Name:"):
            name = line.partition(":")[2].strip()
        elif line.startswith("CreationTimestamp:"):
            made = line.partition(":")[2].strip()
        elif found := NODE_READY.fullmatch(line.rstrip()):
            yield from _ready(here, name, found["status"], found["heard"], found["since"], made, _reason(found["reason"], found["message"]))


def _ended(
    line: Line,
    of: Mapping[str, str | None],
    ended: Mapping[str, Any],
    restarts: Any,  # noqa: ANN401  (what JSON gives)
    limit: str | None,
    again: Any = None,  # noqa: ANN401
    clock: str = "host",
) -> Item:
    """Return the end of a container."""
    reason = _text(ended.get("reason"))
    # The kubelet did not see that end, and makes up exit code 137.
    code = None if reason == _UNSEEN else number_of(ended.get("exitCode"))
    what = end_of_container(code, is_oom=reason == "OOMKilled")
    how = ", ".join(filter(None, (reason, f"exit code {code}" if code is not None else "")))
    at = _bounds(ended.get("finishedAt"), clock)
    starts = {"started_ms": _bounds(ended.get("startedAt"), clock).get("from_ms"), "restarted_ms": _bounds(again, clock).get("from_ms")}
    ts = int(at["from_ms"]) * 1_000 if "from_ms" in at else None
    return fact(
        line,
        HAPPENED,
        f"container ended: {how}",
        ts=ts,
        what=what,
        of="container",
        how=how,
        exit_code=code,
        restarts=number_of(restarts),
        memory_limit=limit,
        **of,
        **at,
        **starts,
    )


def _event(value: Placed, places: Places) -> Iterator[Item]:
    about = _mapping(value.get("involvedObject") or value.get("regarding"))
    message = _text(value.get("message") or value.get("note"))
    source = _mapping(value.get("source") or value.get("deprecatedSource"))
    series = _mapping(value.get("series"))
    from_ = value.get("firstTimestamp") or value.get("deprecatedFirstTimestamp") or value.get("eventTime")
    to = value.get("lastTimestamp") or value.get("deprecatedLastTimestamp") or series.get("lastObservedTime") or from_
    by_kubelet = "kubelet" in (_text(source.get("component")) + _text(value.get("reportingComponent") or value.get("reportingController")))
    clock = "host" if by_kubelet else "control_plane"
    at = _bounds(from_, clock)
    last = _bounds(to, clock)
    if "to_ms" in last:
        at |= {"to_ms": last["to_ms"], "to_by_ms": last["to_by_ms"]}
    yield from _told(
        places.of(value),
        _text(value.get("reason")),
        message,
        _text(about.get("kind")),
        _text(about.get("name")),
        _text(about.get("fieldPath")),
        source.get("host"),
        at | {"namespace": _text(about.get("namespace"))},
    )


def _told(line: Line, reason: str, message: str, kind: str, name: str, place: str, host: Any, at: Mapping[str, Any]) -> Iterator[Item]:  # noqa: ANN401
    """Yield an event, if it shows what this reader looks for."""
    what = _REASONS.get(reason)
    if isinstance(what, tuple):
        what = next((found for begin, found in what if begin.match(message)), None)
    if what is None:
        return
    container = _IN_BRACES.search(place)
    is_pod = kind.lower() == "pod"
    of = {"pod": name, "container": container[1] if container else None, "host": _text(host)} if is_pod else {"host": name or _text(host)}
    ts = int(at["from_ms"]) * 1_000 if "from_ms" in at else None
    yield fact(
        line,
        HAPPENED,
        f"{reason} of a {kind or 'object'}",
        ts=ts,
        what=what,
        of="pod" if is_pod else "node",
        how=_reason(reason, message),
        **of,
        **at,
    )


def first_words(reason: str, message: str) -> str:
    """Return the words at the beginning of a message by which an event is recognised, without names; empty if there are none.

    Args:
        reason: of the event; empty if it is not known.
        message: as printed.
    """
    for name, what in _REASONS.items():
        for begin, _ in what if isinstance(what, tuple) and reason in ("", name) else ():
            if found := begin.match(message):
                words = found[0].split()
                return " ".join([words[0], "-", *words[2:]] if begin is _PROBE_KILLS else words)
    return ""


def _table(text: str, first: Line, ts: int | None) -> Iterator[Item]:
    """Yield the rows of a table of events. It has ages only: they are bounds if a line above says when it was printed."""
    columns: dict[str, int] = {}
    at, aged = first.offset, 0
    for number, line in enumerate(text.split("\n")):
        here = Line(first.number + number, at, line.encode("utf-8", "replace"), line)
        at += len(here.raw) + 1
        if head := TABLE.fullmatch(line.rstrip()):
            columns = {name: head.start(name) for name in ("seen", "type", "reason", "object", "message")}
        elif columns and line.strip() and moment_of(line) is None:
            reason, about = _cell(line, columns["reason"]), _cell(line, columns["object"])
            kind, slash, name = about.partition("/")
            if not slash or not reason:
                yield Strange(here.number, "(not a row of events)")
                continue
            age = _age(line[columns["seen"] : columns["type"]].strip())
            aged += age is not None and ts is None
            at_times: dict[str, Any] = {"clock": "control_plane"}
            if age is not None and ts is not None:
                # An age is rounded down to its smallest unit.
                earliest_ms = ts // 1_000 - age[0] - age[1]
                at_times |= times(earliest_ms, earliest_ms, age[1] + 1_000)
            yield from _told(here, reason, line[line.find(about, columns["object"]) + len(about) :].strip(), kind, name, "", None, at_times)
    if aged:
        yield Broken("its events have ages and no times, and no line says when it was printed: `kubectl get events -o json` has times")


def _cell(line: str, start: int) -> str:
    found = _CELL.search(line, start)
    return found[0] if found else ""


def _age(text: str) -> tuple[int, int] | None:
    """Return an age and its smallest unit in milliseconds."""
    found = _AGE.fullmatch(text)
    if not text or found is None:
        return None
    units = {"d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1_000}
    given = [unit for unit in units if found[unit]]
    return (sum(int(found[unit]) * units[unit] for unit in given), units[given[-1]]) if given else None


def _described(text: str, first: Line) -> Iterator[Item]:
    """Yield the last states of the containers of a described pod."""
    of: dict[str, str | None] = {}
    at = first.offset
    section = container = ""
    state: tuple[Line, dict[str, str]] | None = None
    limit = limits = None
    restarts: str | None = None
    found: list[tuple[Line, dict[str, str | None], dict[str, str]]] = []
    present: dict[str, dict[str, str]] = {}
    containers = set[str]()
    for number, line in enumerate(text.split("\n")):
        here = Line(first.number + number, at, line.encode("utf-8", "replace"), line)
        at += len(here.raw) + 1
        parts = DESCRIBED.fullmatch(line.rstrip())
        if parts is None:
            continue
        depth, key, value = len(parts["indent"]), parts["key"], parts["value"] or ""
        if depth == 0:
            section, state = key, None
            if key == "Name":
                of = {"pod": value}
            elif key == "Namespace":
                of["namespace"] = value
            elif key == "Node":
                of["host"] = value.partition("/")[0]
        elif section == "Containers" and depth == 2:
            container, state, limit = key, None, None
            containers.add(key)
        elif section == "Containers" and depth == 4:
            state = (here, {}) if key in ("State", "Last State") else None
            limits = key == "Limits"
            if key == "State" and state is not None:
                present[container] = state[1]
            if state is not None and value == "Terminated":
                found.append((here, {**of, "container": container}, state[1]))
            elif key == "Restart Count":
                restarts = value
                for _, its, ended in found:
                    if its["container"] == container:
                        ended.setdefault("restarts", restarts)
        elif section == "Containers" and depth == 6:
            if state is not None:
                state[1][key] = value
            elif limits and key == "memory":
                limit = value
                for _, its, ended in found:
                    if its["container"] == container:
                        ended.setdefault("limit", limit)
    beside = str(len(containers) - 1) if len(containers) > 1 else None
    for here, its, ended in found:
        its["beside"] = beside
        told = {
            "reason": ended.get("Reason"),
            "exitCode": ended.get("Exit Code"),
            "startedAt": ended.get("Started"),
            "finishedAt": ended.get("Finished"),
        }
        now = present.get(its["container"] or "", {})
        yield _ended(here, its, told, ended.get("restarts"), ended.get("limit"), None if now is ended else now.get("Started"))


def _bounds(value: Any, clock: str) -> dict[str, Any]:  # noqa: ANN401  (what JSON gives)
    """Return when something was, between the printed second and the next; nothing if no time is given."""
    text = _text(value)
    at: dict[str, Any] = {"clock": clock}
    try:
        moment = datetime.fromisoformat(text.replace("Z", "+00:00")) if text[:4].isdigit() else datetime.strptime(text, "%a, %d %b %Y %H:%M:%S %z")
    except ValueError:
        return at
    if moment.tzinfo is None or moment.year < 2000:
        return at
    at_ms = int(moment.astimezone(UTC).timestamp() * 1_000)
    return at | times(at_ms, at_ms, 1 if moment.microsecond else 999)


def _reason(reason: str, message: Any) -> str:  # noqa: ANN401  (what JSON gives)
    text = scrub(_text(message).split("\n")[0])[:_LONGEST_REASON]
    return f"{reason}: {text}" if text else reason


def _id(value: Any) -> str | None:  # noqa: ANN401  (what JSON gives)
    """Return the id of a container without its runtime (`containerd://...`)."""
    return _text(value).rpartition("//")[2] or None


def _mapping(value: Any) -> Mapping[str, Any]:  # noqa: ANN401  (what JSON gives)
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Placed]:  # noqa: ANN401  (what JSON gives)
    return [item for item in value if isinstance(item, Placed)] if isinstance(value, list) else []


def _text(value: Any) -> str:  # noqa: ANN401  (what JSON gives)
    return "" if value is None else str(value)
