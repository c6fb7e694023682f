"""Rewrite what the machine says without names: what a reader of these files uses stays, everything else is withheld."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from forensics.records.line_reader import decode
from forensics.redact.text import Rewriter
from forensics.snapshots.collected import HEAD, STATES
from forensics.snapshots.detection import COLLECTED, DOCKER, ECS, GC_LOG, HOST_LOG, JVM_CRASH, KUBERNETES, THREAD_DUMP
from forensics.snapshots.docker import EVENT
from forensics.snapshots.ecs import UNHEALTHY
from forensics.snapshots.gc_log import CPU, DATED, LENGTH, STAMPED, UNIFIED, is_unknown, times_of
from forensics.snapshots.host_log import KERNEL, TEXT, UNIT
from forensics.snapshots.jvm_crash import HEADS, MEMORY, TIME, WHAT, ZONE
from forensics.snapshots.kubernetes import DESCRIBED, NODE_READY, SAFE, TABLE, first_words
from forensics.snapshots.machine import patterns
from forensics.snapshots.output_times import time_in_line
from forensics.snapshots.yaml_text import Builder

#: Kinds of files that this module rewrites.
KINDS = (GC_LOG, KUBERNETES, DOCKER, HOST_LOG, COLLECTED, JVM_CRASH, ECS, THREAD_DUMP)
#: What of a row names something, or quotes a text; the rest must stay the same.
NAMES = ("pod", "container", "container_id", "host")
_TEXTS = ("how", "namespace", "pod_id")
_WITHHELD = "[withheld]"
#: Decorations of unified logging that name nothing: times, levels, numbers and tags. `hostname` names the host.
_BRACKET = re.compile(r"\[([^\[\]]*)\]")
_DECORATION = re.compile(r"[\d.,:TZ+\-]{1,40}(?:ns|ms|s)?|(?:trace|debug|info|warning|error) *|(?:gc|safepoint)[\w,+]* *")
_NAMED = {
    "_HOSTNAME",
    "_BOOT_ID",
    "Id",
    "ID",
    "id",
    "Hostname",
    "name",
    "nodeName",
    "hostname",
    "host",
    "containerID",
    "Name",
    "Container ID",
    "runtimeId",
}
_MESSAGES = {"message", "note"}
_KEYS = {
    *("items", "metadata", "spec", "containers", "initContainers", "env", "value", "valueFrom", "resources", "limits", "requests", "conditions", "containerStatuses"),
    *("initContainerStatuses", "lastState", "state", "terminated", "running", "waiting", "involvedObject", "regarding", "source", "deprecatedSource", "series"),
    *("namespace", "labels", "annotations", "fieldPath", "image", "imageID", "command", "args", "volumes", "volumeMounts", "ports", "uid", "resourceVersion"),
    *("Containers", "Init Containers", "Limits", "Requests", "Environment", "Mounts", "Conditions", "Volumes", "Events", "Namespace", "Node", "Labels", "Annotations"),
    *("OOMKilled", "ExitCode", "Running", "HostConfig", "Config", "Memory", "RestartCount", "Env", "Actor", "Attributes", "timeNano", "time", "from", "MESSAGE"),
    *("nodeInfo", "addresses", "address", "Roles", "Addresses", "Lease", "Unschedulable", "Taints", "Capacity", "Allocatable", "System Info"),
    *("tasks", "taskArn", "containerArn", "stoppedReason", "failures", "overrides", "containerOverrides", "environment"),
    *("IP", "IPs", "Image", "Image ID", "Port", "Host Port", "Command", "Args", "Controlled By", "Service Account", "Priority", "QoS Class", "Tolerations"),
}  # fmt: skip
_DOCKER_FACT = re.compile(r"(exitCode|signal|name)=([^,)]{1,255})")
_PLAIN = re.compile(r"[\w .,:+\-/]{0,60}")
_THREAD = re.compile(r"^(\w+ Stall )\(.*\)( \d+[.,]\d+ms)$")
_FIRST_WORD = re.compile(r"[A-Z]\w{1,60}")
_FIELD_PATH = re.compile(r"(spec\.\w+)\{([^{}]*)\}")
_LITERAL = re.compile(r'"(?P<text>(?:[^"\\]|\\.)*+)"(?P<colon>\s*:)?')
_YAML = re.compile(r"(?P<before>\s*(?:- +)*)(?P<key>\"(?:[^\"\\]|\\.)*+\"|'(?:[^']|'')*+'|[^\s\"'#-][^\s:]*+(?::[^\s:]++)*+):(?: +(?P<value>\S.*))?")
_ITEM = re.compile(r"(\s*(?:- +)*-)(?: .*)?")


def names_in(columns: Mapping[str, str]) -> list[str]:
    """Return the names in the columns of a row."""
    return [columns[key] for key in NAMES if key in columns]


def comparable(columns: Mapping[str, str]) -> dict[str, str]:
    """Return what must stay the same in the columns of a row."""
    return {key: value for key, value in columns.items() if key not in NAMES and key not in _TEXTS}


class MachineRewriter:
    """A rewriter of these files.

    Args:
        rewriter: rewriter of names.
    """

    def __init__(self, rewriter: Rewriter) -> None:
        self._rewriter = rewriter

    def rewrite(self, kind: str, content: bytes) -> bytes:
        """Return a file with the same lines, without names."""
        lines = [decode(raw) for raw in content.split(b"\n")]
        if kind == GC_LOG:
            new = [self._gc_line(text) for text in lines]
        elif kind == THREAD_DUMP:
            new = [text if time_in_line(text) is not None else self._rewriter.dump(text) for text in lines]
        elif kind == JVM_CRASH:
            new = [self._crash_line(text) for text in lines]
        elif kind == COLLECTED:
            new = [self._collected(text) for text in lines]
        elif kind == DOCKER and any(EVENT.fullmatch(text.rstrip()) for text in lines):
            new = [self._docker_event(text) for text in lines]
        elif kind in (DOCKER, HOST_LOG, ECS) and any(text.lstrip().startswith(("{", "[{", "[\n")) or text.strip() == "[" for text in lines):
            new = self._json(lines)
        elif kind == HOST_LOG:
            new = [self._host_line(text) for text in lines]
        elif any(TABLE.fullmatch(text.rstrip()) for text in lines):
            new = self._table(lines)
        elif next((text for text in lines if text.strip()), "").lstrip()[:1] in ("{", "["):
            new = self._json(lines)
        elif any(text.startswith("apiVersion:") for text in lines):
            new = self._yaml(lines)
        else:
            new = [self._described(text) for text in lines]
        return "\n".join(new).encode()

    def _name(self, text: str) -> str:
        return self._rewriter.of_kind("host", text) if text else text

    def _gc_line(self, text: str) -> str:
        if unified := UNIFIED.fullmatch(text):
            head = _BRACKET.sub(lambda m: m[0] if _DECORATION.fullmatch(m[1]) else "[-]", text[: unified.start("text")])
            # Threads are named after connectors and applications.
            said = _THREAD.sub(r"\1(-)\2", unified["text"])
            return head + (said if self._is_safe(said) else _WITHHELD)
        if stamped := STAMPED.fullmatch(text) or DATED.fullmatch(text):
            said = stamped["text"]
            found = next(((p, match) for p in patterns(GC_LOG) if (match := p.pattern.fullmatch(said.rstrip()))), None)
            head = text[: stamped.start("text")]
            if found is None:
                return head + (_times(said) or ("[GC?]" if is_unknown(said) else "[GC concurrent]"))
            pattern, match = found
            length = at[0] if (at := LENGTH.search(said)) else ""
            return head + (f"[{match['how']}{length} {_times(said)}".rstrip() if pattern.begins else said)
        return f" {_times(text) or _WITHHELD}" if text.strip() else text

    @staticmethod
    def _is_safe(said: str) -> bool:
        return CPU.match(said) is not None or any(p.pattern.fullmatch(said.rstrip()) for p in patterns(GC_LOG))

    @staticmethod
    def _crash_line(text: str) -> str:
        """Keep what happened and when; withhold the frames, threads, settings and environment."""
        if text.rstrip() == "#" or text.startswith(HEADS) or any(kept.fullmatch(text.rstrip()) for kept in (WHAT, MEMORY, TIME, ZONE)):
            return text
        return ("# " if text.startswith("#") else "") + _WITHHELD if text.strip() else text

    @staticmethod
    def _collected(text: str) -> str:
        """Keep what became of each file, and withhold its name, the command and the answer."""
        if text.startswith(HEAD) or not text.strip():
            return text
        state, *others = text.split("\t")
        return "\t".join([state if state in STATES else _WITHHELD, *(_WITHHELD for _ in others)])

    def _docker_event(self, text: str) -> str:
        found = EVENT.fullmatch(text.rstrip())
        if found is None:
            return _WITHHELD if text.strip() else text
        facts = [f"{m[1]}={self._name(m[2]) if m[1] == 'name' else m[2]}" for m in _DOCKER_FACT.finditer(found["facts"] or "")]
        return f"{found['time']} container {found['action']} {self._name(found['id'])}" + (f" ({', '.join(facts)})" if facts else "")

    def _host_line(self, text: str) -> str:
        """Keep a line that shows something, of others only their time and program."""
        found = TEXT.fullmatch(text.rstrip()) or KERNEL.fullmatch(text.rstrip())
        if found is None:
            return _WITHHELD if text.strip() else text
        said = found["text"]
        head = text[: found.start("text")]
        if host := found.groupdict().get("host"):
            head = head.replace(host, self._name(host), 1)
        return head + self._host_message(said)

    @staticmethod
    def _host_message(said: str) -> str:
        match = next((m for p in patterns(HOST_LOG) if (m := p.pattern.fullmatch(said.rstrip()))), None)
        if match is None:
            return _WITHHELD
        unit, process = match.groupdict().get("unit"), match.groupdict().get("process")
        if unit:
            said = said.replace(unit, "kafka.service" if UNIT.search(unit) else "other.service", 1)
        return said if process in (None, "java") else said.replace(f"({process})", "(other)", 1)

    def _json(self, lines: list[str]) -> list[str]:
        key = ""

        def literal(found: re.Match[str]) -> str:
            nonlocal key
            try:
                text = str(json.loads(f'"{found["text"]}"', strict=False))
            except ValueError:
                text = found["text"]
            if found["colon"]:
                key = text
                return json.dumps(self._key(key)) + found["colon"]
            return json.dumps(self._value(key, text))

        return [_LITERAL.sub(literal, text) for text in lines]

    def _yaml(self, lines: list[str]) -> list[str]:
        builder, new = Builder(), []
        for text in lines:
            if text.startswith("---"):
                builder = Builder()
                new.append("---")
                continue
            builder.take(text, 0)
            if builder.goes_on or not text.strip() or text.lstrip().startswith("#"):
                new.append("")
            elif found := _YAML.fullmatch(text.rstrip()):
                key = found["key"].strip("\"'")
                value = found["value"]
                shown = "" if value is None else f" {value if value in ('{}', '[]') else json.dumps(self._value(key, _unquoted(value)))}"
                new.append(f"{found['before']}{self._key(key) if key in SAFE | _NAMED | _MESSAGES | _KEYS else json.dumps(self._key(key))}:{shown}")
            elif item := _ITEM.fullmatch(text):
                new.append(f"{item[1]} {json.dumps(_WITHHELD)}")
            else:
                new.append("")
        return new

    def _described(self, text: str) -> str:
        if ready := NODE_READY.fullmatch(text.rstrip()):
            return ready["before"]
        found = DESCRIBED.fullmatch(text.rstrip())
        if found is None:
            return " " * (len(text) - len(text.lstrip())) + _WITHHELD if text.strip() else text
        key, value = found["key"], found["value"] or ""
        if key == "Node":
            value = self._name(value.partition("/")[0])
        elif value:
            value = self._value(key, value)
        is_container = not found["value"] and len(found["indent"]) == 2
        return f"{found['indent']}{self._name(key) if is_container and key not in _KEYS else self._key(key)}:{'  ' + value if value else ''}"

    def _table(self, lines: list[str]) -> list[str]:
        columns: list[int] = []
        new = []
        for text in lines:
            if head := TABLE.fullmatch(text.rstrip()):
                columns = [head.start(name) for name in ("seen", "type", "reason", "object", "message")]
                new.append(text)
            elif not columns or not text.strip():
                new.append(text if text[:4].isdigit() else "")
            else:
                seen, reason, about, message = (
                    text[a:b] for a, b in ((columns[0], columns[2]), *zip(columns[2:], [*columns[3:], None], strict=True))
                )
                kind, slash, name = about.strip().partition("/")
                row = (
                    " " * columns[0]
                    + seen
                    + reason
                    + f"{kind}{slash}{self._name(name)} ".ljust(columns[4] - columns[3])
                    + first_words(reason.strip(), message)
                )
                new.append(row)
        return new

    def _key(self, key: str) -> str:
        return key if key in SAFE or key in _NAMED or key in _MESSAGES or key in _KEYS else self._rewriter.setting_key(key)

    def _value(self, key: str, value: str) -> str:
        if key == "MESSAGE":
            return self._host_message(value)
        if key == "reason" and " " in value:
            return f"{found[0]}: {_WITHHELD}" if (found := _FIRST_WORD.match(value)) else _WITHHELD
        if key in SAFE and _PLAIN.fullmatch(value):
            return value
        if key == "taskArn":
            return f"arn:aws:ecs:{_WITHHELD}:task/{self._name(value.rpartition('/')[2])}"
        if key == "stoppedReason":
            return found[0] if (found := UNHEALTHY.match(value)) else _WITHHELD
        if key in _NAMED:
            runtime, slashes, name = value.rpartition("//" if "//" in value else "/")
            return f"{runtime}{slashes}{self._name(name)}"
        if key in ("namespace", "Namespace"):
            return self._name(value)
        if key == "fieldPath":
            return _FIELD_PATH.sub(lambda m: f"{m[1]}{{{self._name(m[2])}}}", value) if _FIELD_PATH.fullmatch(value) else _WITHHELD
        if key in _MESSAGES:
            return first_words("", value) or _WITHHELD
        return _WITHHELD


def _unquoted(value: str) -> str:
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'" else value


def _times(text: str) -> str:
    """Return the times of a collection of JDK 8 in a line."""
    found = times_of(text)
    return found[0] if found else ""
