# SPDX-License-Identifier: Apache-2.0
"""What Kubernetes, Docker and systemd would print about the processes of a run, in the forms that they have, from the true times."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

IMAGE = "registry.example/kafka:1"
NODE = "node-a"


def second(at_ms: int) -> str:
    """Return a time in whole seconds, cut, as Kubernetes prints it."""
    return datetime.fromtimestamp(at_ms // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def nanos(at_ms: int) -> str:
    """Return a time as Docker prints it."""
    return datetime.fromtimestamp(at_ms // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S") + f".{at_ms % 1000:03d}482915Z"


def container_id(name: str) -> str:
    """Return the ID of a container."""
    return sha256(name.encode()).hexdigest()


@dataclass(frozen=True)
class Pod:
    """A pod with one container.

    Attributes:
        name: of the pod.
        container: its name.
        started_ms: when its present container started; None: it has ended.
        ended: its last end: from, to (milliseconds), reason, exit code.
        restarts: how often its container was started again.
        memory: its limit.
    """

    name: str
    container: str
    started_ms: int | None
    ended: tuple[int, int, str, int] | None = None
    restarts: int = 0
    memory: str = "2Gi"

    def value(self) -> dict[str, Any]:
        """Return the object."""
        last = {}
        if self.ended:
            begin, end, reason, code = self.ended
            last = {
                "terminated": {
                    "containerID": f"containerd://{container_id(f'{self.name}-{begin}')}",
                    "exitCode": code,
                    "finishedAt": second(end),
                    "reason": reason,
                    "startedAt": second(begin),
                }
            }
        state = {"waiting": {"message": "back-off 10s restarting failed container", "reason": "CrashLoopBackOff"}}
        if self.started_ms:
            state = {"running": {"startedAt": second(self.started_ms)}}
        resources = {"limits": {"memory": self.memory}, "requests": {"cpu": "500m", "memory": self.memory}}
        spec = {"env": [{"name": "KAFKA_HEAP_OPTS", "value": "-Xms1g"}], "image": IMAGE, "name": self.container, "resources": resources}
        status = {
            "containerID": f"containerd://{container_id(f'{self.name}-{self.started_ms}')}",
            "image": IMAGE,
            "imageID": f"registry.example/kafka@sha256:{container_id(IMAGE)}",
            "lastState": last,
            "name": self.container,
            "ready": self.started_ms is not None,
            "restartCount": self.restarts,
            "started": self.started_ms is not None,
            "state": state,
        }
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"labels": {"app": "kafka"}, "name": self.name, "namespace": "streaming"},
            "spec": {"containers": [spec], "nodeName": NODE, "restartPolicy": "Always"},
            "status": {"containerStatuses": [status], "hostIP": "192.0.2.10", "phase": "Running", "qosClass": "Burstable"},
        }


@dataclass(frozen=True)
class Event:
    """An event of the kubelet about a pod."""

    pod: str
    container: str
    reason: str
    message: str
    first_ms: int
    last_ms: int
    count: int = 1

    def value(self) -> dict[str, Any]:
        """Return the object."""
        return {
            "apiVersion": "v1",
            "count": self.count,
            "eventTime": None,
            "firstTimestamp": second(self.first_ms),
            "involvedObject": {
                "apiVersion": "v1",
                "fieldPath": f"spec.containers{{{self.container}}}",
                "kind": "Pod",
                "name": self.pod,
                "namespace": "streaming",
            },
            "kind": "Event",
            "lastTimestamp": second(self.last_ms),
            "message": self.message,
            "metadata": {"name": f"{self.pod}.{container_id(self.message)[:16]}", "namespace": "streaming"},
            "reason": self.reason,
            "reportingComponent": "kubelet",
            "reportingInstance": NODE,
            "source": {"component": "kubelet", "host": NODE},
            "type": "Normal" if self.reason == "Killing" else "Warning",
        }


def listed(items: Iterable[Pod | Event]) -> str:
    """Return objects as `kubectl get -o json` prints them."""
    return (
        json.dumps({"apiVersion": "v1", "items": [it.value() for it in items], "kind": "List", "metadata": {"resourceVersion": ""}}, indent=4) + "\n"
    )


def inspected(name: str, started_ms: int, finished_ms: int | None, *, code: int = 0, is_running: bool = True, restarts: int = 0) -> str:
    """Return `docker inspect` of a container: while it runs, its exit code is 0 and its end that of the run before."""
    state = {
        "Status": "running" if is_running else "exited",
        "Running": is_running,
        "Paused": False,
        "Restarting": False,
        "OOMKilled": False,
        "Dead": False,
        "Pid": 4711 if is_running else 0,
        "ExitCode": 0 if is_running else code,
        "Error": "",
        "StartedAt": nanos(started_ms),
        "FinishedAt": nanos(finished_ms) if finished_ms else "0001-01-01T00:00:00Z",
    }
    one = {"Id": container_id(name), "Created": nanos(started_ms - 900), "State": state, "Image": f"sha256:{container_id(IMAGE)}", "Name": f"/{name}"}
    return json.dumps([{**one, "RestartCount": restarts, "HostConfig": {"Memory": 2147483648}, "Config": {"Image": IMAGE}}], indent=4) + "\n"


def docker_events(name: str, events: Sequence[tuple[int, str, str]]) -> str:
    """Return `docker events` of a container: time, action, and what is printed of it (`exitCode=143`)."""
    return "".join(
        f"{nanos(at_ms)} container {action} {container_id(name)} ({', '.join(filter(None, (about, f'image={IMAGE}', f'name={name}')))})\n"
        for at_ms, action, about in events
    )


def journal(unit: str, host: str, lines: Iterable[tuple[int, str]]) -> str:
    """Return lines of systemd about a unit as `journalctl -o json` prints them."""
    records = []
    for at_ms, text in lines:
        stamps = {"__REALTIME_TIMESTAMP": f"{at_ms}213", "__MONOTONIC_TIMESTAMP": f"{at_ms % 100_000_000}213", "_HOSTNAME": host}
        about = {"SYSLOG_IDENTIFIER": "systemd", "_COMM": "systemd", "_PID": "1", "_TRANSPORT": "journal", "PRIORITY": "5", "UNIT": unit}
        records.append(json.dumps({**stamps, **about, "MESSAGE": text}) + "\n")
    return "".join(records)


def kernel_text(host: str, lines: Iterable[tuple[int, str]]) -> str:
    """Return lines of the kernel (microseconds, text) as `journalctl -k -o short-iso-precise` prints them."""
    return "".join(
        f"{datetime.fromtimestamp(at_us / 1e6, UTC).strftime('%Y-%m-%dT%H:%M:%S.%f')}+00:00 {host} kernel: {text}\n" for at_us, text in lines
    )
