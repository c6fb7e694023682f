# SPDX-License-Identifier: Apache-2.0
"""What Docker says about containers: how they ended, and who asked."""

from __future__ import annotations

import json
from typing import Any

import pytest
from test_snapshots import read

from forensics.snapshots.detection import DOCKER, READERS, kind_of, sample_lines
from forensics.snapshots.kubernetes import shown
from forensics.snapshots.observation import Broken

#: 21 November 2026, 07:51:48.123 UTC.
AT = 1_795_247_508_123
ID = "0123456789abcdef" * 4
STATE = {"Status": "exited", "Running": False, "OOMKilled": True, "ExitCode": 137, "FinishedAt": "2026-11-21T07:51:48.123456789Z"}


def inspected(**state: Any) -> str:
    it = {"Id": ID, "State": {**STATE, **state}, "Name": "/my-connect", "RestartCount": 2, "HostConfig": {"Memory": 2 << 30}}
    return json.dumps([{**it, "Config": {"Hostname": "node-7", "Env": ["DB_PASSWORD=hunter2"]}}], indent=4)


INSPECTED = inspected()
EVENTS = f"""\
2026-11-21T07:51:48.123456789Z container kill {ID} (image=acme/kafka:3, name=my-connect, signal=15)
2026-11-21T07:51:58.123456789Z container kill {ID} (image=acme/kafka:3, name=my-connect, signal=9)
2026-11-21T07:51:58.223456789Z container die {ID} (execDuration=30, exitCode=137, image=acme/kafka:3, name=my-connect)
2026-11-21T07:51:59.223456789Z container start {ID} (image=acme/kafka:3, name=my-connect)
"""


@pytest.mark.parametrize(
    ("state", "what", "how"),
    [
        ({}, "oom_killed", "OOMKilled, exit code 137"),
        ({"OOMKilled": False}, "killed", "exit code 137"),
        ({"OOMKilled": False, "ExitCode": 143}, "exited", "exit code 143"),
        # Started again: the exit code is not that of the run before.
        ({"OOMKilled": False, "ExitCode": 0, "Running": True}, "exited", "ended"),
        # Another process of the container that runs now was killed.
        ({"ExitCode": 0, "Running": True}, "exited", "ended"),
    ],
)
def test_how_a_container_ended(state: dict[str, Any], what: str, how: str) -> None:
    (row,) = read(inspected(**state), DOCKER)
    found = row.captures["columns"]
    assert (found["what"], found["how"], found["container"], found["memory_limit"], found["restarts"]) == (what, how, "my-connect", "2048Mi", "2")
    assert (int(found["from_ms"]), found["container_id"]) == (AT, ID)
    assert "hunter" not in str(row.captures)


def test_a_running_container_that_never_ended_and_a_time_that_is_none() -> None:
    assert read(inspected(Running=True, FinishedAt="0001-01-01T00:00:00Z"), DOCKER) == []
    (row,) = read(inspected(FinishedAt="0001-01-01T00:00:00Z"), DOCKER)
    assert row.ts is None


def test_when_a_container_was_started_and_started_again() -> None:
    text = EVENTS.splitlines(keepends=True)
    row = read("".join([text[3].replace("07:51:59", "07:01:00"), *text]), DOCKER)[-1].captures["columns"]
    assert (row["what"], int(row["started_ms"]), int(row["restarted_ms"])) == ("killed", AT - 3_047_900, AT + 11_100)
    (ended,) = read(inspected(StartedAt="2026-11-21T07:51:00Z"), DOCKER)
    assert int(ended.captures["columns"]["started_ms"]) == AT - 48_123
    (again,) = read(inspected(StartedAt="2026-11-21T07:52:00Z", Running=True), DOCKER)
    assert (int(again.captures["columns"]["restarted_ms"]), again.captures["columns"].get("started_ms")) == (AT + 11_877, None)


def test_events_as_text_and_as_json() -> None:
    rows = [row.captures["columns"] for row in read(EVENTS, DOCKER)]
    assert [(row["what"], int(row["from_ms"]) - AT) for row in rows] == [("stopped", 0), ("killed", 10_000), ("killed", 10_100)]
    attributes = {"exitCode": "137", "name": "my-connect"}
    event = {
        "status": "die",
        "id": ID,
        "Type": "container",
        "Action": "die",
        "Actor": {"ID": ID, "Attributes": attributes},
        "timeNano": AT * 1_000_000,
    }
    (row,) = read(json.dumps(event, separators=(",", ":")) + "\n", DOCKER)
    assert (row.captures["columns"]["what"], row.ts) == ("killed", AT * 1000)


def test_what_is_cut_off_is_read_up_to_there() -> None:
    cut = INSPECTED[: INSPECTED.index('"HostConfig"')]
    assert kind_of(cut.encode(), fitting=0, lines=9) == DOCKER
    items = list(READERS[DOCKER](sample_lines(cut.encode())))
    assert [type(item) for item in items][-1] is Broken
    assert "hunter" not in "\n".join(map(shown, INSPECTED.split("\n")))
