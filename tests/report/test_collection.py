# SPDX-License-Identifier: Apache-2.0
"""Scripts that collect evidence: they are portable, stop at no refusal, and leave a manifest that `ingest` reads."""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
from pathlib import Path

import pyarrow.dataset as ds
import pytest

from forensics.case.ingestion import ingest
from forensics.cli import Platform
from forensics.report.collection import PLATFORMS, script
from forensics.snapshots.detection import COLLECTED, ECS, HOST_LOG, JVM_CRASH, READERS, kind_of, sample_lines
from forensics.snapshots.detection import DOCKER as DOCKER_KIND
from forensics.snapshots.observation import Broken, Observation

#: A cluster with one pod, in which events are forbidden and there is no earlier run of the container.
KUBECTL = """#!/bin/sh
case "$*" in
  *"get pods -o yaml"*) printf 'apiVersion: v1\\nkind: List\\n' ;;
  *"get nodes"*) echo 'Error from server (Forbidden): nodes is forbidden' >&2; exit 1 ;;
  *"get events"*) echo 'Error from server (Forbidden): events is forbidden' >&2; exit 1 ;;
  *"get pods -o name"*) echo pod/my-connect-0 ;;
  *jsonpath*) printf connect ;;
  *--previous*) echo 'previous terminated container "connect" not found' >&2; exit 1 ;;
  *logs*) echo '[2026-11-21 07:51:48,000] INFO x (org.apache.kafka.a.B:1)' ;;
esac
"""


#: A host whose journal may not be read, and one in which the kernel did nothing that is looked for.
JOURNALCTL = """#!/bin/sh
case "$*" in
  *_PID=1*) echo '{"__REALTIME_TIMESTAMP":"1795247508000000","SYSLOG_IDENTIFIER":"systemd","MESSAGE":"kafka.service: Main process exited, code=killed, status=9/KILL"}' ;;
  *-t*) echo 'Hint: You are currently not seeing messages from other users.' >&2; exit 1 ;;
  *) echo '{"MESSAGE":"eth0: link up"}' ;;
esac
"""
#: A daemon with one container that was killed.
DOCKER = """#!/bin/sh
case "$*" in
  ps*) echo w1 ;;
  events*) echo '2026-11-21T07:51:48.123456789Z container die 0123456789abcdef (exitCode=137, name=w1)' ;;
  inspect*) printf '[{"Id": "0123456789abcdef", "Name": "/w1",\n "State": {"Running": false,\n "OOMKilled": true,\n "ExitCode": 137,\n "FinishedAt": "2026-11-21T07:51:48.123456789Z"}}]\n' ;;
  logs*) echo '[2026-11-21 07:51:48,000] INFO x (org.apache.kafka.a.B:1)' ;;
esac
"""
#: A service with one stopped task, whose running tasks may not be listed.
AWS = """#!/bin/sh
task=arn:aws:ecs:eu-west-1:123456789012:task/prod/0056d389848141b6a5d81c274ff15c58
case "$*" in
  *list-tasks*RUNNING*) echo 'An error occurred (AccessDeniedException)' >&2; exit 254 ;;
  *list-tasks*) echo "$task" ;;
  *describe-tasks*) printf '{"tasks": [{"taskArn": "%s", "stoppedAt": "2026-11-21T07:51:48+00:00",\n"containers": [{"name": "c", "exitCode": 137}]}]}\n' "$task" ;;
  *describe-log-streams*) echo connect/c/0056d389848141b6a5d81c274ff15c58 ;;
  *tail*) echo '2026-11-21T07:51:48 [2026-11-21 07:51:48,000] INFO x (org.apache.kafka.a.B:1)' ;;
esac
"""


def fake(folder: Path, name: str, text: str) -> None:
    """Put a command into the folder of commands that scripts run first."""
    file = folder / "bin" / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    file.chmod(0o755)


def collected(platform: str, folder: Path, **variables: str) -> dict[str, bytes]:
    """Run the script of a platform and return the files in its archive."""
    environment = {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "OUT": "evidence", **variables}
    done = subprocess.run(["/bin/sh", "-c", script(platform)], cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.startswith("evidence.tar.gz\n"), done.stderr
    assert done.stderr == ""
    with tarfile.open(folder / "evidence.tar.gz") as archive:
        return {m.name.removeprefix("evidence/"): (archive.extractfile(m) or pytest.fail(m.name)).read() for m in archive.getmembers() if m.isfile()}


def states(files: dict[str, bytes]) -> dict[str, str]:
    """Return the state of each file that a manifest names."""
    return {row.message.rpartition(": ")[0]: row.message.rpartition(": ")[2] for row in read(files["manifest.tsv"].decode())}


def kind(content: bytes) -> str | None:
    return kind_of(content, fitting=0, lines=max(1, content.count(b"\n")))


def test_a_host(tmp_path: Path) -> None:
    fake(tmp_path, "journalctl", JOURNALCTL)
    fake(tmp_path, "hostname", "#!/bin/sh\necho h1\n")
    logs = tmp_path / "kafka logs"
    logs.mkdir()
    (logs / "server.log").write_text("[2026-11-21 07:51:48,000] INFO x (kafka.server.KafkaServer)\n")
    (logs.rename(tmp_path / "kafka") / "hs_err_pid7.log").write_text("#\n# A fatal error has been detected by the Java Runtime Environment:\n")
    files = collected("bare", tmp_path, LOGS=str(tmp_path / "kafka"))
    assert sorted(files) == ["h1/kafka/hs_err_pid7.log", "h1/kafka/server.log", "h1/systemd.json", "manifest.tsv"]
    # Nothing was found in the kernel's lines, and that is no refusal.
    assert states(files) == {
        "h1/kernel.json": "empty", "h1/systemd.json": "got", "h1/clock.json": "refused", "h1/kafka/server.log": "got", "h1/kafka/hs_err_pid7.log": "got",
    }  # fmt: skip
    assert (kind(files["h1/systemd.json"]), kind(files["h1/kafka/hs_err_pid7.log"])) == (HOST_LOG, JVM_CRASH)


def test_containers_of_docker(tmp_path: Path) -> None:
    fake(tmp_path, "docker", DOCKER)
    fake(tmp_path, "journalctl", JOURNALCTL)
    files = collected("docker", tmp_path)
    assert sorted(files) == ["events.txt", "host/systemd.json", "manifest.tsv", "w1/container.log", "w1/inspect.json"]
    assert [kind(files[name]) for name in ("events.txt", "w1/inspect.json")] == [DOCKER_KIND, DOCKER_KIND]


def test_tasks_of_ecs(tmp_path: Path) -> None:
    fake(tmp_path, "aws", AWS)
    files = collected("ecs", tmp_path, SERVICE="s", LOG_GROUP="g")
    task = "tasks/0056d389848141b6a5d81c274ff15c58.json"
    log = "logs/connect_c_0056d389848141b6a5d81c274ff15c58.log"
    assert {name: state for name, state in states(files).items() if state != "got"} == {"tasks-RUNNING.txt": "refused", "events.json": "empty"}
    assert kind(files[task]) == ECS
    assert log in files


@pytest.mark.parametrize("platform", ["strimzi", "cfk"])
def test_pods_and_their_operator(platform: str, tmp_path: Path) -> None:
    fake(tmp_path, "kubectl", KUBECTL)
    files = collected(platform, tmp_path)
    assert {"pods.yaml", "logs/my-connect-0-connect.log", "logs/my-connect-0.log"} < set(files)


@pytest.mark.parametrize(
    ("platform", "commands", "kinds", "refused"),
    [
        ("docker", {"docker": DOCKER, "journalctl": JOURNALCTL}, {"collected", "docker", "host_log", "log"}, "host/clock.json"),
        ("ecs", {"aws": AWS}, {"collected", "ecs", "log"}, "tasks-RUNNING.txt"),
    ],
)
def test_an_archive_is_read(platform: str, commands: dict[str, str], kinds: set[str], refused: str, tmp_path: Path) -> None:
    for name, text in commands.items():
        fake(tmp_path, name, text)
    collected(platform, tmp_path, SERVICE="s", LOG_GROUP="g")
    ingest([tmp_path / "evidence.tar.gz"], tmp_path / "case")
    files = ds.dataset(sorted(map(str, (tmp_path / "case" / "tables" / "evidence_file").rglob("*.parquet"))), format="parquet").to_table().to_pylist()
    read_files = [file for file in files if file["status"] == "read"]
    assert {file["kind"] or "log" for file in read_files} >= kinds
    (manifest,) = (file for file in read_files if file["kind"] == "collected")
    assert f"the platform refused {refused}" in manifest["note"]
    (log,) = (file for file in read_files if (file["kind"] or "log") == "log")
    assert log["path"].endswith(".log")


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="shellcheck is not installed")
@pytest.mark.parametrize("platform", PLATFORMS)
def test_each_script_has_no_fault_that_shellcheck_finds(platform: str, tmp_path: Path) -> None:
    file = tmp_path / "collect.sh"
    file.write_text(script(platform))
    found = subprocess.run(["shellcheck", "-s", "sh", str(file)], capture_output=True, text=True, check=False)
    assert found.stdout == ""


def read(text: str) -> list[Observation]:
    return [item for item in READERS[COLLECTED](sample_lines(text.encode())) if isinstance(item, Observation)]


@pytest.mark.parametrize("platform", PLATFORMS)
def test_each_script_is_one_for_a_posix_shell(platform: str, tmp_path: Path) -> None:
    file = tmp_path / "collect.sh"
    file.write_text(script(platform))
    assert subprocess.run(["/bin/sh", "-n", str(file)], capture_output=True, check=False).returncode == 0
    assert not [line for line in file.read_text().splitlines() if line.split(" ")[0] in ("kubectl", "docker", "aws") or "delete" in line]


def test_the_command_knows_all_platforms() -> None:
    assert tuple(Platform) == PLATFORMS


def test_a_refusal_stops_nothing_and_is_in_the_manifest(tmp_path: Path) -> None:
    fake(tmp_path, "kubectl", KUBECTL)
    files = collected("kubernetes", tmp_path)
    assert sorted(files) == ["logs/my-connect-0-connect.log", "manifest.tsv", "pods.yaml"]
    manifest = files["manifest.tsv"].decode()
    assert kind_of(manifest.encode(), fitting=0, lines=5) == COLLECTED
    rows = read(manifest)
    assert [row.captures["columns"]["state"] for row in rows] == ["got", "refused", "refused", "got", "empty"]
    assert all(row.ts is not None for row in rows)
    (broken,) = (item for item in READERS[COLLECTED](sample_lines(manifest.encode())) if isinstance(item, Broken))
    assert broken.reason.startswith("the platform refused events.json, nodes.yaml (Error from server (Forbidden)")


def test_a_damaged_manifest_is_read_as_far_as_possible() -> None:
    text = "kafka-forensics collection 1\ttaken yesterday\ngot\tpods.yaml\tkubectl\t\nrefu\nrefused\ta\n\n"
    assert [(row.message, row.ts) for row in read(text)] == [("pods.yaml: got", None)]
