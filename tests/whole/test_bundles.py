# SPDX-License-Identifier: Apache-2.0
"""Archives of the scripts of `forensics collect`, of a recording whose worker was killed: what the platform says is tied to that worker's log."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from some_views import with_views
from test_collection import collected, fake
from test_filtered_logs import logs_of, rows

from forensics.case.folder import Case
from forensics.case.ingestion import ingest
from forensics.engines import engine

RECORDINGS = os.environ.get("FORENSICS_RECORDINGS", "")
pytestmark = [pytest.mark.whole, pytest.mark.engine, pytest.mark.skipif(not RECORDINGS, reason="FORENSICS_RECORDINGS is not set")]
RECORDING = Path(RECORDINGS) / "2.6.2-worker_killed-0"
#: When w2 was started, killed and started again.
STARTED, KILLED, AGAIN = 1_795_249_697_416, 1_795_249_720_543, 1_795_249_750_545
PODS = {"broker-1": "my-kafka-0", "w1": "my-connect-0", "w2": "my-connect-1", "w3": "my-connect-2"}
ID = "0123456789abcdef" * 4


def iso(ms: int, form: str = "%Y-%m-%dT%H:%M:%SZ") -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).strftime(form)


def yaml(value: Any, indent: int = 0) -> str:
    """Return objects, lists and scalars as kubectl prints them."""
    pad, lines = " " * indent, []
    for key, item in value.items():
        if isinstance(item, list):
            blocks = [yaml(it, indent + 2) for it in item]
            lines += [f"{pad}{key}:\n", *(f"{pad}- {block[indent + 2 :]}" for block in blocks)]
        elif isinstance(item, dict):
            lines.append(f"{pad}{key}:\n{yaml(item, indent + 2)}")
        else:
            lines.append(f"{pad}{key}: {json.dumps(item)}\n")
    return "".join(lines)


def pod(name: str, *ended: str) -> dict[str, Any]:
    last = {"lastState": {"terminated": {"exitCode": 137, "finishedAt": iso(KILLED), "reason": ended[0], "startedAt": iso(STARTED)}}} if ended else {}
    status = {"name": "c", **last, "restartCount": len(ended), "state": {"running": {"startedAt": iso(AGAIN if ended else STARTED)}}}
    spec = {"containers": [{"env": [{"name": "PASSWORD", "value": "hunter2"}], "name": "c", "resources": {"limits": {"memory": "2Gi"}}}]}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "kafka"},
        "spec": spec,
        "status": {"containerStatuses": [status]},
    }


def served(folder: Path) -> Path:
    """Write what the fakes print: the logs of pods, also of the earlier run of w2, and what the API server knows of them."""
    out = folder / "served"
    out.mkdir()
    for path, text in logs_of(RECORDING / "logs").items():
        if (name := PODS.get(path.split("/")[0])) is not None:
            at = text.rfind("\n", 0, text.rfind("INFO WorkerInfo values: ")) + 1 if name == "my-connect-1" else 0
            (out / f"{name}.previous").write_text(text[:at])
            (out / f"{name}.log").write_text(text[at:])
            (out / f"{name}.whole").write_text(text)
    items = [pod(name, *(["OOMKilled"] if name == "my-connect-1" else [])) for name in PODS.values()]
    (out / "pods.yaml").write_text("apiVersion: v1\n" + yaml({"items": items}) + "kind: List\n")
    return out


def kubectl(folder: Path, *, operator: str = "") -> None:
    out = served(folder)
    (out / "operator.log").write_text(operator)
    fake(
        folder,
        "kubectl",
        f"""#!/bin/sh
cd {out}
case "$*" in
  *"get pods -o yaml"*) cat pods.yaml ;;
  *"get nodes"*) echo 'Error from server (Forbidden): nodes is forbidden: User "acme" cannot list resource "nodes"' >&2; exit 1 ;;
  *"get events"*) echo 'Error from server (Forbidden): events is forbidden' >&2; exit 1 ;;
  *"-l "*) echo pod/the-operator-5d9 ;;
  *"get pods -o name"*) printf 'pod/%s\\n' {" ".join(PODS.values())} ;;
  *jsonpath*) printf c ;;
  *"logs pod/the-operator"*) cat operator.log ;;
  *"get strimzi"*) echo "error: the server doesn't have a resource type strimzi" >&2; exit 1 ;;
  *"logs "*--previous*) if [ -s "$4.previous" ]; then cat "$4.previous"; else echo "previous terminated container not found" >&2; exit 1; fi ;;
  *"logs "*) cat "$4.log" ;;
  *) exit 1 ;;
esac
""",
    )


def case_of_archive(platform: str, folder: Path, **variables: str) -> tuple[Case, dict[str, bytes]]:
    files = collected(platform, folder, **variables)
    case = ingest([folder / "evidence.tar.gz"], folder / "case").case
    return with_views(case, engine(), ("incident", "machine_event", "source_file")), files


def killed(case: Case, process_id: str) -> dict[str, Any]:
    """Return the only incident in which a process was killed."""
    (incident,) = (row for row in rows(case, "incident") if row["cause"] == "process_killed")
    assert incident["subject"] == process_id, incident["headline"]
    return incident


@pytest.mark.parametrize("platform", ["strimzi", *(pytest.param(name, marks=pytest.mark.slow) for name in ("kubernetes", "cfk"))])
def test_pods(platform: str, tmp_path: Path) -> None:
    kubectl(tmp_path)
    case, files = case_of_archive(platform, tmp_path)
    assert {"logs/my-connect-1-c.log", "logs/my-connect-1-c-previous.log", "logs/my-kafka-0-c.log", "pods.yaml"} < set(files)
    ids = [row["process_ids"] for row in rows(case, "machine_event")]
    assert ids == [["evidence.tar.gz/evidence/logs/my-connect-1-c.log"]]
    incident = killed(case, ids[0][0])
    assert incident["headline"].startswith(f"{ids[0][0]} was killed for lack of memory (OOMKilled, exit code 137, memory limit 2Gi)")
    (manifest,) = (row["note"] for row in rows(case, "source_file") if row["kind"] == "collected")
    refused = "events.json, nodes.yaml" + ", resources.yaml" * (platform == "strimzi")
    assert manifest.startswith(f"the platform refused {refused} (Error from server (Forbidden): events is forbidden; Error from server")


def journal(*messages: str) -> str:
    """Return lines of the journal of host h2 at the moment of the kill."""
    real, monotonic = KILLED * 1000, 5_000_000_000
    records = [
        {"__REALTIME_TIMESTAMP": str(real + n), "__MONOTONIC_TIMESTAMP": str(monotonic + n), "_BOOT_ID": "b", "_HOSTNAME": "h2", **record}
        for n, record in enumerate(json.loads(message) for message in messages)
    ]
    return "".join(json.dumps(record) + "\n" for record in records)


OOM = '{"_TRANSPORT": "kernel", "SYSLOG_IDENTIFIER": "kernel", "MESSAGE": "Memory cgroup out of memory: Killed process 4711 (java) total-vm:1kB"}'
EXIT = '{"SYSLOG_IDENTIFIER": "systemd", "MESSAGE": "connect.service: Main process exited, code=killed, status=9/KILL"}'


def host(folder: Path) -> None:
    """A host that shows its journal, but not that of its time service."""
    (folder / "kernel").write_text(journal(OOM))
    (folder / "systemd").write_text(journal(EXIT))
    fake(
        folder,
        "journalctl",
        f"""#!/bin/sh
case "$*" in
  *-k*) cat {folder}/kernel ;;
  *_PID=1*) cat {folder}/systemd ;;
  *) echo 'No journal files were opened due to insufficient permissions.' >&2; exit 1 ;;
esac
""",
    )
    fake(folder, "hostname", "#!/bin/sh\necho h2\n")


def test_containers_of_docker(tmp_path: Path) -> None:
    out = served(tmp_path)
    host(tmp_path)
    died = f"{iso(KILLED, '%Y-%m-%dT%H:%M:%S.%f')}000Z container"
    (out / "events").write_text(f"{died} oom {ID} (name=my-connect-1)\n{died} die {ID} (exitCode=137, name=my-connect-1)\n")
    running = {"Running": True, "OOMKilled": False, "ExitCode": 0, "StartedAt": iso(AGAIN), "FinishedAt": iso(KILLED)}
    (out / "inspect").write_text(
        json.dumps([{"Id": ID, "Name": "/my-connect-1", "State": running, "Config": {"Env": ["PASSWORD=hunter2"]}}], indent=4)
    )
    fake(
        tmp_path,
        "docker",
        f"""#!/bin/sh
cd {out}
case "$*" in
  ps*) printf '%s\\n' {" ".join(PODS.values())} ;;
  events*) cat events ;;
  "inspect my-connect-1") cat inspect ;;
  inspect*) echo 'permission denied while trying to connect to the Docker daemon socket' >&2; exit 1 ;;
  logs*) cat "$4.whole" ;;
esac
""",
    )
    case, files = case_of_archive("docker", tmp_path)
    log = "evidence.tar.gz/evidence/my-connect-1/container.log"
    ends = [row for row in rows(case, "machine_event") if row["of_what"] == "container"]
    assert {tuple(row["process_ids"]) for row in ends} == {(log,)}
    assert killed(case, log)["headline"].startswith(f"{log} was killed for lack of memory")
    # The host's own lines are in a folder without a log: they are about one of four processes.
    assert [row["process_ids"] for row in rows(case, "machine_event") if row["path"].endswith(("kernel.json", "systemd.json"))] == [[], []]
    (manifest,) = (row["note"] for row in rows(case, "source_file") if row["kind"] == "collected")
    assert (
        "the platform refused my-kafka-0/inspect.json, my-connect-0/inspect.json, my-connect-2/inspect.json and 1 more (permission denied" in manifest
    )


def test_a_host(tmp_path: Path) -> None:
    """Its worker, and the archive is that of the host on which it was killed."""
    out = served(tmp_path)
    host(tmp_path)
    logs = tmp_path / "kafka"
    logs.mkdir()
    (logs / "connect.log").write_text((out / "my-connect-1.whole").read_text())
    (logs / "connectDistributed-gc.log").write_text(
        f"[{iso(STARTED, '%Y-%m-%dT%H:%M:%S.000+0000')}][gc] GC(0) Pause Young (Normal) (G1 Evacuation Pause) 14M->14M(46M) 9.772ms\n"
    )
    case, files = case_of_archive("bare", tmp_path, LOGS=str(logs))
    assert {"h2/kernel.json", "h2/systemd.json", "h2/kafka/connect.log", "h2/kafka/connectDistributed-gc.log"} < set(files)
    log = "evidence.tar.gz/evidence/h2/kafka/connect.log"
    assert {tuple(row["process_ids"]) for row in rows(case, "machine_event")} == {(log,)}
    assert killed(case, log)["headline"].startswith(f"{log} was killed for lack of memory (Memory cgroup out of memory: Killed process 4711 (java))")
    (manifest,) = (row["note"] for row in rows(case, "source_file") if row["kind"] == "collected")
    assert "the platform refused h2/clock.json (No journal files were opened due to insufficient permissions.)" in manifest


def test_tasks_of_ecs(tmp_path: Path) -> None:
    """A task that ended is another log than the one that follows it. Its end is by another clock than that of its process, so it decides nothing."""
    out = served(tmp_path)
    tasks = {f"{n:032x}": PODS[name] for n, name in enumerate(PODS, 1)}
    task = next(task for task, name in tasks.items() if name == "my-connect-1")
    ended = {
        "taskArn": f"arn:aws:ecs:eu-west-1:1:task/prod/{task}",
        "stoppedAt": iso(KILLED),
        "stopCode": "EssentialContainerExited",
        "lastStatus": "STOPPED",
    }
    containers = [{"name": "c", "exitCode": 137, "reason": "OutOfMemoryError: Container killed due to memory usage"}]
    (out / "task.json").write_text(json.dumps({"tasks": [{**ended, "containers": containers}]}, indent=4))
    for it, name in tasks.items():
        text = (out / f"{name}.previous").read_text() or (out / f"{name}.log").read_text()
        (out / f"{it}.stream").write_text(
            "".join(f"{line[1:20].replace(' ', 'T') if line.startswith('[2026') else '2026-11-21T08:28:17'} {line}\n" for line in text.splitlines())
        )
    fake(
        tmp_path,
        "aws",
        f"""#!/bin/sh
cd {out}
case "$*" in
  *list-tasks*RUNNING*) echo 'An error occurred (AccessDeniedException) when calling the ListTasks operation' >&2; exit 254 ;;
  *list-tasks*) echo arn:aws:ecs:eu-west-1:1:task/prod/{task} ;;
  *describe-tasks*) cat task.json ;;
  *describe-log-streams*) printf 'connect/c/%s\\t' {" ".join(tasks)} ;;
  *tail*) for it in {" ".join(tasks)}; do case "$*" in *$it*) cat $it.stream ;; esac; done ;;
esac
""",
    )
    case, files = case_of_archive("ecs", tmp_path, SERVICE="s", LOG_GROUP="g")
    log = f"evidence.tar.gz/evidence/logs/connect_c_{task}.log"
    assert [(row["what"], row["process_ids"], row["clock"]) for row in rows(case, "machine_event")] == [("oom_killed", [log], "control_plane")]
    assert not any(row["cause"] == "process_killed" and "lack of memory" in row["headline"] for row in rows(case, "incident"))
    (manifest,) = (row["note"] for row in rows(case, "source_file") if row["kind"] == "collected")
    assert "the platform refused tasks-RUNNING.txt (An error occurred (AccessDeniedException)" in manifest
