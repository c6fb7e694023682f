# SPDX-License-Identifier: Apache-2.0
"""What Kubernetes says about pods: every form of kubectl, what is cut off or has no time, and what is secret."""

from __future__ import annotations

import json
from typing import Any

import pytest
from test_snapshots import read

from forensics.snapshots.detection import KUBERNETES, READERS, kind_of, sample_lines
from forensics.snapshots.kubernetes import shown
from forensics.snapshots.observation import Broken, Observation, Strange
from forensics.snapshots.yaml_text import YamlDocuments

#: 21 November 2026, 07:51:48 UTC.
ENDED = 1_795_247_508_000
LIST = """\
apiVersion: v1
items:
- apiVersion: v1
  kind: Pod
  metadata:
    annotations:
      note: 'a long text: that goes
        on here'
    name: my-connect-0
    namespace: kafka
  spec:
    containers:
    - command:
      - /opt/kafka/kafka_connect_run.sh
      env:
      - name: DB_PASSWORD
        value: hunter2
      - name: SCRIPT
        value: |
          reason: OOMKilled
          - hunter3
      name: my-connect
      resources:
        limits:
          memory: 2Gi
    nodeName: node-7
  status:
    containerStatuses:
    - containerID: containerd://aaaabbbbcccc
      lastState:
        terminated:
          containerID: containerd://9aaabbbbcccc
          exitCode: 137
          finishedAt: "2026-11-21T07:51:48Z"
          reason: OOMKilled
          startedAt: "2026-11-21T07:01:00Z"
      name: my-connect
      restartCount: 3
      state:
        running:
          startedAt: "2026-11-21T07:51:50Z"
    phase: Running
kind: List
metadata:
  resourceVersion: ""
"""
DESCRIBED = """\
Name:             my-connect-0
Namespace:        kafka
Priority:         0
Service Account:  my-connect
Node:             node-7/10.0.0.7
Start Time:       Sat, 21 Nov 2026 07:00:55 +0000
Containers:
  my-connect:
    Container ID:  containerd://aaaabbbbcccc
    State:          Running
      Started:      Sat, 21 Nov 2026 07:51:50 +0000
    Last State:     Terminated
      Reason:       OOMKilled
      Exit Code:    137
      Started:      Sat, 21 Nov 2026 07:01:00 +0000
      Finished:     Sat, 21 Nov 2026 07:51:48 +0000
    Ready:          True
    Restart Count:  3
    Limits:
      memory:  2Gi
    Environment:
      DB_PASSWORD:  hunter2
Conditions:
  Type    Status
  Ready   True
"""


def pod(ended: dict[str, Any], when: str = "lastState") -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "my-connect-0"},
        "spec": {
            "nodeName": "node-7",
            "containers": [{"name": "my-connect", "env": [{"name": "DB_PASSWORD", "value": "hunter2"}], "resources": {"limits": {"memory": "2Gi"}}}],
        },
        "status": {"containerStatuses": [{"name": "my-connect", "restartCount": 3, when: {"terminated": ended}}]},
    }


KILLED = {"exitCode": 137, "reason": "OOMKilled", "finishedAt": "2026-11-21T07:51:48Z"}
FORMS = {
    "yaml": LIST,
    "one pod as yaml": "\n".join(line[2:] for line in LIST.split("\n")[2:] if line.startswith(("- ", "  "))).replace('resourceVersion: ""\n', ""),
    "json": json.dumps({"apiVersion": "v1", "items": [pod(KILLED)], "kind": "List"}, indent=4),
    "json in one line": json.dumps(pod(KILLED)),
    "describe": DESCRIBED,
}


def rows(text: str) -> list[dict[str, str]]:
    return [row.captures["columns"] for row in read(text, KUBERNETES)]


@pytest.mark.parametrize("form", FORMS)
def test_a_container_that_was_killed_in_every_form(form: str) -> None:
    (found,) = rows(FORMS[form])
    assert (found["what"], found["how"], found["pod"], found["container"]) == ("oom_killed", "OOMKilled, exit code 137", "my-connect-0", "my-connect")
    assert (found["host"], found["restarts"], found["memory_limit"], found["exit_code"]) == ("node-7", "3", "2Gi", "137")
    # A second is printed without its fraction.
    assert (int(found["from_ms"]), int(found["to_by_ms"]), found["clock"]) == (ENDED, ENDED + 999, "host")


@pytest.mark.parametrize("form", ["yaml", "describe"])
def test_when_a_container_was_started_and_started_again(form: str) -> None:
    (found,) = rows(FORMS[form])
    assert (int(found["started_ms"]), int(found["restarted_ms"]), found["namespace"]) == (ENDED - 3_048_000, ENDED + 2_000, "kafka")


def test_a_container_that_the_kubelet_lost_was_not_killed() -> None:
    """Reason and code are those of kubernetes/kubernetes#104107: the kubelet makes them up."""
    lost = {"exitCode": 137, "reason": "ContainerStatusUnknown", "startedAt": None, "finishedAt": None}
    text = DESCRIBED.replace("OOMKilled", "ContainerStatusUnknown").replace("Sat, 21 Nov 2026 07:51:48 +0000", "Mon, 01 Jan 0001 00:00:00 +0000")
    for found in (*rows(json.dumps(pod(lost))), *rows(text)):
        assert (found["what"], found["how"], found.get("exit_code"), found.get("from_ms")) == ("exited", "ContainerStatusUnknown", None, None)


def test_containers_beside_each_other_are_counted_without_their_specification() -> None:
    its = pod(KILLED)
    its["status"]["containerStatuses"].append({"name": "tls-sidecar", "state": {"terminated": KILLED}})
    for spec in (its["spec"], {}):
        assert [found["beside"] for found in rows(json.dumps({**its, "spec": spec}))] == ["1", "1"]


def test_a_container_in_a_virtual_machine_has_a_clock_of_its_own() -> None:
    its = pod(KILLED)
    its["spec"]["runtimeClassName"] = "kata"
    (found,) = rows(json.dumps(its))
    assert found["clock"] == "control_plane"


@pytest.mark.parametrize("form", FORMS)
def test_no_value_of_an_environment_is_kept_or_shown(form: str) -> None:
    items = read(FORMS[form], KUBERNETES)
    assert "hunter" not in str([(item.message, item.captures) for item in items])
    assert "hunter" not in "\n".join(map(shown, FORMS[form].split("\n")))
    assert "OOMKilled" in "\n".join(map(shown, FORMS[form].split("\n"))) or form == "json in one line"


@pytest.mark.parametrize(
    ("ended", "what"),
    [
        ({"exitCode": 137, "reason": "Error"}, "killed"),
        ({"exitCode": 143, "reason": "Error"}, "exited"),
        ({"exitCode": 0, "reason": "Completed"}, "exited"),
        ({}, "exited"),
    ],
)
def test_137_alone_is_no_lack_of_memory(ended: dict[str, Any], what: str) -> None:
    (found,) = rows(json.dumps(pod({**ended, "finishedAt": "2026-11-21T07:51:48Z"}, "state"), indent=4))
    assert found["what"] == what


@pytest.mark.parametrize("time", [None, "0001-01-01T00:00:00Z", "yesterday", "2026-11-21T07:51:48"])
def test_an_end_without_a_time_has_none(time: str | None) -> None:
    (row,) = read(json.dumps(pod({**KILLED, "finishedAt": time}), indent=4), KUBERNETES)
    assert row.ts is None
    assert "from_ms" not in row.captures["columns"]


def event(reason: str, message: str, kind: str = "Pod", component: str = "kubelet", **times: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "involvedObject": {"kind": kind, "name": "my-connect-0", "fieldPath": "spec.containers{my-connect}"},
        "reason": reason,
        "message": message,
        "source": {"component": component, "host": "node-7"},
        **times,
    }


AT = {"firstTimestamp": "2026-11-21T07:51:48Z", "lastTimestamp": "2026-11-21T07:51:58Z"}


@pytest.mark.parametrize(
    ("reason", "message", "what"),
    [
        ("Killing", "Container my-connect failed liveness probe, will be restarted", "probe_failed"),
        ("Killing", "Stopping container my-connect", "stopped"),
        ("Unhealthy", "Liveness probe failed: HTTP probe failed with statuscode: 500", "probe_failed"),
        ("Unhealthy", "Readiness probe failed: connection refused", None),
        ("Evicted", "The node was low on resource: memory.", "evicted"),
        ("TaintManagerEviction", "Marking for deletion Pod kafka/my-connect-0", "evicted"),
        ("Pulled", "Container image already present", None),
    ],
)
def test_events_of_pods(reason: str, message: str, what: str | None) -> None:
    text = json.dumps({"apiVersion": "v1", "items": [event(reason, message, **AT)], "kind": "List"}, indent=4)
    found = rows(text)
    assert [row["what"] for row in found] == ([what] if what else [])
    if found:
        assert (found[0]["pod"], found[0]["container"], found[0]["clock"]) == ("my-connect-0", "my-connect", "host")
        assert (int(found[0]["from_ms"]), int(found[0]["to_ms"])) == (ENDED, ENDED + 10_000)


def test_an_event_of_the_control_plane_has_its_clock_and_one_without_a_time_has_none() -> None:
    (node,) = rows(json.dumps(event("NodeNotReady", "Node is not ready", "Node", "node-controller", **AT), indent=1))
    assert (node["what"], node["of"], node["clock"]) == ("node_not_ready", "node", "control_plane")
    (untimed,) = rows(json.dumps(event("Evicted", "low on memory"), indent=1))
    assert "from_ms" not in untimed


#: As in kubernetes/kubernetes#36273.
DESCRIBED_NODE = """\
Name:               node-7
Roles:              worker
Labels:             kubernetes.io/hostname=node-7
CreationTimestamp:  Wed, 18 Nov 2026 15:54:14 -0300
Taints:             node.kubernetes.io/unreachable:NoExecute
Unschedulable:      false
Lease:
  HolderIdentity:  node-7
Conditions:
  Type             Status    LastHeartbeatTime                 LastTransitionTime                Reason              Message
  ----             ------    -----------------                 ------------------                ------              -------
  MemoryPressure   Unknown   Sat, 21 Nov 2026 07:51:48 +0000   Sat, 21 Nov 2026 07:52:30 +0000   NodeStatusUnknown   Kubelet stopped posting node status.
  Ready            Unknown   Sat, 21 Nov 2026 07:51:48 +0000   Sat, 21 Nov 2026 07:52:30 +0000   NodeStatusUnknown   Kubelet stopped posting node status.
Addresses:
  Hostname:    node-7
"""


def node(status: str, heard: str | None, since: str | None, made: str = "2026-11-18T18:54:14Z") -> str:
    ready = {"type": "Ready", "status": status, "lastHeartbeatTime": heard, "lastTransitionTime": since, "reason": "NodeStatusUnknown"}
    conditions = [{**ready, "type": "MemoryPressure"}, ready]
    one = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-7", "creationTimestamp": made}, "status": {"conditions": conditions}}
    return json.dumps({"apiVersion": "v1", "items": [one], "kind": "List"}, indent=4)


@pytest.mark.parametrize("text", [node("Unknown", "2026-11-21T07:51:48Z", "2026-11-21T07:52:30Z"), DESCRIBED_NODE], ids=["json", "describe"])
def test_a_node_whose_kubelet_is_silent(text: str) -> None:
    assert kind_of(text.encode(), fitting=0, lines=20) == KUBERNETES
    (found,) = rows(text)
    assert (found["what"], found["of"], found["host"], found["clock"]) == ("node_not_ready", "node", "node-7", "control_plane")
    # It was heard last at the first time, and found to be silent at the second.
    assert (int(found["from_ms"]), int(found["from_by_ms"]), found.get("to_ms")) == (ENDED, ENDED + 42_999, None)


def test_other_states_of_a_node() -> None:
    (says,) = rows(node("False", "2026-11-21T07:51:58Z", "2026-11-21T07:51:48Z"))
    assert (says["clock"], int(says["from_ms"]), int(says["from_by_ms"])) == ("host", ENDED, ENDED + 999)
    (again,) = rows(node("True", "2026-11-21T08:00:00Z", "2026-11-21T07:51:48Z"))
    assert (again.get("from_ms"), int(again["to_ms"]), int(again["to_by_ms"])) == (None, ENDED, ENDED + 999)
    assert rows(node("True", "2026-11-21T08:00:00Z", "2026-11-21T07:51:48Z", made="2026-11-21T07:51:00Z")) == []
    assert rows(node("True", None, None)) == []
    (untimed,) = rows(node("Unknown", None, "yesterday"))
    assert "from_ms" not in untimed
    assert rows(node("perhaps", None, None)) == []
    for end in range(100, len(DESCRIBED_NODE), 7):
        assert all(isinstance(item, Observation | Strange | Broken) for item in READERS[KUBERNETES](sample_lines(DESCRIBED_NODE[:end].encode())))


TABLE = """\
LAST SEEN   TYPE      REASON      OBJECT                MESSAGE
5m10s       Warning   Unhealthy   pod/my-connect-0      Liveness probe failed: timeout
4h          Normal    Killing     pod/my-connect-0      Container my-connect failed liveness probe, will be restarted
<unknown>   Normal    Scheduled   pod/my-connect-1      Successfully assigned
"""


def test_ages_are_bounds_if_a_line_says_when_they_were_printed() -> None:
    unhealthy, killing = rows("2026-11-21T07:56:58Z\n" + TABLE)
    assert int(unhealthy["from_ms"]) <= ENDED <= int(unhealthy["to_by_ms"])
    assert int(unhealthy["to_by_ms"]) - int(unhealthy["from_ms"]) == 2_000
    assert int(killing["to_by_ms"]) - int(killing["from_ms"]) == 3_601_000
    assert kind_of(TABLE.encode(), fitting=0, lines=4) == KUBERNETES
    items = list(READERS[KUBERNETES](sample_lines(TABLE.encode())))
    assert [item.ts for item in items if isinstance(item, Observation)] == [None, None]
    assert any(isinstance(item, Broken) and "ages" in item.reason for item in items)


def test_what_is_cut_off_is_read_up_to_there_at_every_place() -> None:
    for text in (FORMS["yaml"], FORMS["json"], FORMS["describe"]):
        for end in range(200, len(text), 17):
            for item in READERS[KUBERNETES](sample_lines(text[:end].encode())):
                assert isinstance(item, Observation | Strange | Broken)
    cut = FORMS["yaml"][: FORMS["yaml"].index("      name: my-connect\n      restartCount")]
    items = list(READERS[KUBERNETES](sample_lines(cut.encode())))
    assert any(isinstance(item, Broken) for item in items)
    assert [item.captures["columns"]["what"] for item in items if isinstance(item, Observation)] == ["oom_killed"]


@pytest.mark.parametrize("text", ["apiVersion: apps/v1\nkind: Deployment\nspec:\n  a: b\n", "a: b\nkind: Pod\napiVersion: v1\n", "Name: x\n"])
def test_other_objects_are_none_of_these(text: str) -> None:
    assert kind_of(text.encode(), fitting=0, lines=4) is None


def test_yaml_of_many_shapes() -> None:
    text = 'a:\n- b: 1\n  \'it\'\'s\': "q\\"x"\n- - c\n  - d: {}\nk:{"type":"Ready"}: []\ntext: >-\n  one\n  two: 2\nlast: \'x\n  y\'\n'
    blocks = YamlDocuments(text)
    assert list(blocks) == [{"a": [{"b": "1", "it's": 'q"x'}, ["c", {"d": {}}]], 'k:{"type":"Ready"}': [], "text": "one two: 2", "last": "x y"}]
    assert (blocks.strange, blocks.is_cut) == ([], False)


def test_deep_and_strange_yaml_is_no_burden() -> None:
    deep = "".join("  " * n + f"k{n}:\n" for n in range(500))
    blocks = YamlDocuments("a: 1\n" + deep + "&x *x\n" * 50)
    assert len(list(blocks)) == 1
    assert blocks.strange
