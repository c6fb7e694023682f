# SPDX-License-Identifier: Apache-2.0
"""A copy of GC logs and of what Kubernetes says has no names and no values of an environment, and shows the same."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from places import SAMPLES, TESTS

from forensics.catalogue.threads import threads_of
from forensics.redact.copying import redact
from forensics.redact.machine import comparable
from forensics.redact.snapshots import observations

sys.path.append(str(TESTS / "snapshots"))
from test_docker import EVENTS as DOCKER_EVENTS
from test_docker import INSPECTED
from test_ecs import NO_MEMORY, TASK, described
from test_gc_log import UNIFIED
from test_host_log import AT as AT_MS
from test_host_log import JOURNAL, TEXT, journal
from test_kubernetes import AT, DESCRIBED_NODE, FORMS, TABLE, event, node
from thread_dumps import JDK_8, JDK_17

EVENTS = json.dumps(
    {"apiVersion": "v1", "items": [event("Killing", "Container my-connect failed liveness probe, will be restarted", **AT)], "kind": "List"}, indent=2
)
HOSTNAME = "[2026-11-22T00:00:39.114+0000][secret-host][gc,init] Command line: -Dpassword=hunter2\n[2026-11-22T00:00:39.114+0000][secret-host][gc] GC(0) Pause Full (G1 Compaction Pause) 510M->498M(512M) 38114.000ms\n"
FILES = {
    **{f"{name}.yaml": ("kubernetes", text) for name, text in FORMS.items()},
    "events.json": ("kubernetes", EVENTS),
    "node.json": ("kubernetes", node("Unknown", "2026-11-21T07:51:48Z", "2026-11-21T07:52:30Z")),
    "node.txt": ("kubernetes", DESCRIBED_NODE),
    "events.txt": ("kubernetes", "2026-11-21T07:56:58Z\n" + TABLE),
    **{f"gc {n}.log": ("gc_log", text + "\n") for n, text in enumerate(UNIFIED.values())},
    "inspect.json": ("docker", INSPECTED),
    "docker events": ("docker", DOCKER_EVENTS),
    "tasks.json": (
        "ecs",
        described({"exitCode": 137, "reason": NO_MEMORY, "memory": "2048"}, stopCode="SpotInterruption", stoppedReason="hunter3").replace(
            TASK, "my-connect-0"
        ),
    ),
    "journal.json": ("host_log", JOURNAL),
    "messages": ("host_log", TEXT),
    "gc host.log": ("gc_log", HOSTNAME),
    "zgc.log": ("gc_log", "[2026-11-22T00:00:39.114+0000][info][gc] Allocation Stall (task-thread-acme-0) 38114.000ms\n" * 2),
    "steps.json": (
        "host_log",
        journal(
            (AT_MS, 5_000, "secret-host"), (AT_MS - 30_000, 6_000, "x"), (AT_MS, 36_000, "PM: suspend entry (deep)"), (AT_MS + 90_000, 37_000, "x")
        ),
    ),
    "hs_err_pid1.log": (
        "jvm_crash",
        "#\n# A fatal error has been detected by the Java Runtime Environment:\n#\n#  SIGSEGV (0xb) at pc=0x1, pid=21847, tid=21902\n# C  [libacme.so+0x1]\n"
        "Command Line: -Dpassword=hunter2 secret-host\nTime: Thu Mar 21 11:39:40 2024 UTC elapsed time: 0 seconds (0d 0h 0m 0s)\n",
    ),
    "manifest.tsv": (
        "collected",
        "kafka-forensics collection 1\ttaken 2026-11-21T07:56:58Z\tversion 0.3.0\ngot\tlogs/my-connect-0.log\tkubectl logs my-connect-0\t\n"
        "refused\tnode.yaml\tkubectl get node node-7\tForbidden: secret-host\n",
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_the_copy_shows_the_same_without_names(name: str, tmp_path: Path) -> None:
    kind, text = FILES[name]
    logs = tmp_path / "logs"
    (logs / "w1").mkdir(parents=True)
    (logs / "w1" / "witness.txt").write_text(text)
    log = (SAMPLES / "split-brain-frozen-worker-3.9.1" / "logs" / "w1" / "connect.log").read_text().split("\n")[:40]
    (logs / "w1" / "my-connect-0.log").write_text("\n".join(log) + "\n")
    summary = redact(logs, tmp_path / "copy")
    assert summary.left_out == []
    (copy,) = [file for file in (tmp_path / "copy").rglob("*.txt") if file.is_file()]
    copied = copy.read_text()
    assert not [word for word in ("hunter", "my-connect", "node-7", "secret-host", "aaaabbbbcccc", "acme", "mysql") if word in copied]
    before, after = (list(observations(kind, content)) for content in (text.encode(), copied.encode()))
    assert before
    assert [(row.line, row.ts, comparable(row.captures["columns"])) for row in before] == [
        (row.line, row.ts, comparable(row.captures["columns"])) for row in after
    ]
    # A pod and its log still have the same name.
    if any("pod" in row.captures["columns"] for row in before):
        logs_of_pods = {file.name.removesuffix(".log") for file in (tmp_path / "copy").rglob("*.log")}
        assert {row.captures["columns"]["pod"] for row in after} <= logs_of_pods


def test_the_log_of_an_operator_names_the_same_pod_as_its_log(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    log = (SAMPLES / "split-brain-frozen-worker-3.9.1" / "logs" / "w1" / "connect.log").read_text().split("\n")[:40]
    (logs / "acme-orders-0.log").write_text("\n".join(log) + "\n")
    line = "2026-11-21 07:51:48 INFO  KafkaConnectRoller:142 - Reconciliation #12(watch) KafkaConnect(acme/acme-orders): "
    rolled = line + "Rolling pod acme-orders-0: [Pod has old revision]\n" + line + "Rolling pod acme-orders-1: [Pod has old revision]\n"
    (logs / "strimzi-cluster-operator.log").write_text(rolled * 3)
    summary = redact(logs, tmp_path / "copy")
    assert summary.left_out == []
    texts = {file.name: file.read_text() for file in (tmp_path / "copy").rglob("*.log")}
    assert not [text for text in texts.values() if "acme" in text]
    (operator,) = (text for text in texts.values() if "Rolling" in text)
    pods = {line.split("Rolling pod ")[1].split(":")[0] for line in operator.splitlines()}
    assert len(pods) == 2
    assert sum(f"{pod}.log" in texts for pod in pods) == 1


def test_a_dump_of_threads_names_the_same_threads_without_names(tmp_path: Path) -> None:
    """In a file of its own and in the log: hosts, connectors and groups in names of threads, and classes of an application."""
    dump = JDK_17.replace("orders-0", "acme-orders-0") + JDK_8.partition("\n\n")[2].replace("| g", "| connect-acme-orders")
    dump += '"pool-db7.acme.corp-10.1.2.3" #9 prio=5 os_prio=0 tid=0x1 nid=0x1 waiting on hunter2\n'
    client = (
        "[2026-11-22 00:00:{:02},000] INFO [acme-orders|task-0] [Consumer clientId=connector-consumer-acme-orders-0, groupId=connect-acme-orders] "
    )
    client += "(Re-)joining group (org.apache.kafka.clients.consumer.internals.ConsumerCoordinator:604)\n"
    logs = tmp_path / "logs" / "w1"
    logs.mkdir(parents=True)
    (logs / "connect.log").write_text("".join(client.format(n) for n in range(5)) + dump + client.format(9))
    (logs / "threads.txt").write_text(dump)
    summary = redact(tmp_path / "logs", tmp_path / "copy")
    assert summary.left_out == []
    texts = [file.read_text() for file in (tmp_path / "copy").rglob("*") if file.is_file()]
    assert len(texts) == 2
    assert not [word for text in texts for word in ("acme", "SlowTask", "db7", "10.1.2.3", "hunter2") if word in text]
    in_log, alone = (threads_of(text) for text in sorted(texts, key=len, reverse=True))
    assert in_log == alone
    assert list(threads_of(dump).values())[0] == alone["main"]
    (task,) = (name for name in alone if name.startswith("task-thread-"))
    assert f"clientId=connector-consumer-{task.removeprefix('task-thread-')}" in "".join(texts)
    (group,) = (name.partition(" | ")[2] for name in alone if "heartbeat" in name and "(2)" not in name)
    assert f"groupId={group}]" in "".join(texts)
