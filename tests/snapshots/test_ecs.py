# SPDX-License-Identifier: Apache-2.0
"""What ECS says about stopped tasks; the form is that of `aws ecs describe-tasks`, the reasons are those of public issues of amazon-ecs-agent."""

from __future__ import annotations

import json
from typing import Any

import pytest
from test_snapshots import read

from forensics.snapshots.detection import ECS, READERS, kind_of, sample_lines
from forensics.snapshots.kubernetes import shown
from forensics.snapshots.observation import Broken, Observation

#: 21 November 2026, 07:51:48 UTC.
AT = 1_795_247_508_000
TASK = "0056d389848141b6a5d81c274ff15c58"
NO_MEMORY = "OutOfMemoryError: Container killed due to memory usage"


def described(*containers: dict[str, Any], **task: Any) -> str:
    its = [{"containerArn": "arn:aws:ecs:eu-west-1:1:container/c", "name": "connect", "lastStatus": "STOPPED", **it} for it in containers]
    overrides = {"containerOverrides": [{"name": "connect", "environment": [{"name": "DB_PASSWORD", "value": "hunter2"}]}]}
    one = {"taskArn": f"arn:aws:ecs:eu-west-1:123456789012:task/prod/{TASK}", "containers": its, "lastStatus": "STOPPED", "overrides": overrides}
    times = {
        "stoppingAt": "2026-11-21T07:51:49.500000+00:00",
        "executionStoppedAt": "2026-11-21T09:51:48+02:00",
        "stopCode": "EssentialContainerExited",
    }
    return json.dumps({"tasks": [{**one, **times, **task}], "failures": []}, indent=4)


def rows(text: str) -> list[dict[str, str]]:
    return [row.captures["columns"] for row in read(text, ECS)]


def test_a_container_that_was_killed_for_lack_of_memory() -> None:
    text = described({"exitCode": 137, "reason": NO_MEMORY, "memory": "2048", "runtimeId": f"{TASK}-3649130583"})
    assert kind_of(text.encode(), fitting=0, lines=30) == ECS
    (found,) = rows(text)
    assert (found["what"], found["how"], found["memory_limit"]) == ("oom_killed", f"{NO_MEMORY}, exit code 137", "2048Mi")
    # ECS starts a new task instead of the container, and its times are those of its own control plane.
    assert (found["pod"], found["container"], found["clock"], int(found["from_ms"])) == (TASK, "connect", "control_plane", AT)
    assert "hunter" not in str(found)


@pytest.mark.parametrize(
    ("container", "what"),
    [
        ({"exitCode": 137}, "killed"),
        ({"exitCode": 143}, "exited"),
        # The reason of another process of the container, and one without an end (aws/amazon-ecs-agent#2467 and #5135).
        ({"exitCode": 0, "reason": NO_MEMORY}, "exited"),
        ({"reason": NO_MEMORY}, "exited"),
    ],
)
def test_a_reason_alone_kills_nothing(container: dict[str, Any], what: str) -> None:
    assert [found["what"] for found in rows(described(container))] == [what]


@pytest.mark.parametrize(
    ("task", "what"),
    [
        ({"stopCode": "SpotInterruption", "stoppedReason": "Your Spot Task was interrupted."}, "evicted"),
        ({"stopCode": "UserInitiated", "stoppedReason": "Task stopped by user"}, "stopped"),
        ({"stopCode": "ServiceSchedulerInitiated", "stoppedReason": "Task failed container health checks"}, "probe_failed"),
        ({"stopCode": "ServiceSchedulerInitiated", "stoppedReason": "Scaling activity initiated by (deployment ecs-svc/1)"}, "stopped"),
    ],
)
def test_who_asked_for_the_end_of_a_task(task: dict[str, Any], what: str) -> None:
    found = rows(described({"exitCode": 143}, **task))
    assert [it["what"] for it in found] == [what, "exited"]
    assert task["stoppedReason"].split(" (")[0] in found[0]["how"]


def test_times_of_both_versions_of_the_command_line_and_none() -> None:
    seconds = described({"exitCode": 1}, stoppingAt=AT / 1000, executionStoppedAt=None)
    assert int(rows(seconds)[0]["from_ms"]) == AT
    (found,) = rows(described({"exitCode": 1}, stoppingAt="yesterday", executionStoppedAt="2026-11-21T07:51:48"))
    assert "from_ms" not in found
    running = described({"lastStatus": "RUNNING"}, lastStatus="RUNNING", stoppingAt=None, executionStoppedAt=None, stopCode=None)
    assert rows(running) == []


def test_several_containers_and_damage() -> None:
    two = described({"exitCode": 137}, {"name": "agent", "exitCode": 0})
    assert [found["beside"] for found in rows(two)] == ["1", "1"]
    for damaged in (
        two[:900],
        two.replace('"containers": [', '"containers": [7, null, '),
        '{"tasks": 7, "taskArn": "arn:aws:ecs:x"}',
        two + "\0\xff",
    ):
        items = list(READERS[ECS](sample_lines(damaged.encode())))
        assert all(isinstance(item, (Observation, Broken)) for item in items)
    assert any(isinstance(item, Broken) for item in READERS[ECS](sample_lines(two[:900].encode())))


def test_no_value_of_an_environment_is_shown() -> None:
    text = described({"exitCode": 137})
    assert "hunter" not in "\n".join(map(shown, text.split("\n")))
