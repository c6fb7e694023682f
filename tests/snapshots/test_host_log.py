# SPDX-License-Identifier: Apache-2.0
"""Lines of the kernel, systemd and chrony: what they show about a process, and what has no place in time."""

from __future__ import annotations

import json

import pytest
from test_snapshots import read

from forensics.snapshots.detection import HOST_LOG, READERS, kind_of, sample_lines
from forensics.snapshots.observation import Broken, Observation

#: 21 November 2026, 07:51:48 UTC.
AT = 1_795_247_508_000
OOM = "Memory cgroup out of memory: Killed process 28438 (java) total-vm:20255636kB, anon-rss:466160kB"
TEXT = f"""\
2026-11-21T07:51:40+0000 secret-host systemd[1]: Started Session 3 of User root.
2026-11-21T07:51:47+0000 secret-host kernel: java invoked oom-killer: gfp_mask=0xd0, order=0, oom_score_adj=-998
2026-11-21T08:51:48.000000+01:00 secret-host kernel: [1234.567] {OOM}
2026-11-21T07:51:48+0000 secret-host systemd[1]: acme-kafka.service: Main process exited, code=killed, status=9/KILL
2026-11-21T07:51:48+0000 secret-host systemd[1]: mysql.service: Failed with result 'oom-kill'.
2026-11-21T07:51:48+0000 secret-host chronyd[33]: System clock was stepped by -32400.283303 seconds
"""
JOURNAL = "".join(
    json.dumps({"__REALTIME_TIMESTAMP": str(AT * 1000), "_HOSTNAME": "secret-host", "SYSLOG_IDENTIFIER": program, "MESSAGE": message}) + "\n"
    for program, message in (
        ("kernel", OOM),
        ("systemd", "acme-kafka.service: Main process exited, code=killed, status=9/KILL"),
        ("systemd", "mysql.service: Failed with result 'oom-kill'."),
        ("chronyd", "System clock was stepped by -32400.283303 seconds"),
    )
)


@pytest.mark.parametrize("text", [TEXT, JOURNAL], ids=["text", "json"])
def test_what_ended_a_process_in_text_and_json(text: str) -> None:
    rows = [row.captures["columns"] for row in read(text, HOST_LOG)]
    assert [(row["what"], row["of"]) for row in rows] == [
        ("oom_killed", "process"),
        ("killed", "process"),
        # The end of another service says nothing about Kafka's.
        ("oom_killed", "host"),
        ("clock_stepped", "host"),
    ]
    assert all(row["host"] == "secret-host" and int(row["from_ms"]) == AT for row in rows)


@pytest.mark.parametrize("head", ["Nov 21 07:51:48 node7 kernel: ", "[Sat Nov 21 07:51:48 2026] ", "[1234.567890] "])
def test_a_line_without_a_year_or_zone_has_no_time(head: str) -> None:
    text = f"{head}{OOM}\n"
    assert kind_of(text.encode(), fitting=0, lines=1) == HOST_LOG
    items = list(READERS[HOST_LOG](sample_lines(text.encode())))
    assert [item.ts for item in items if isinstance(item, Observation)] == [None]
    assert any(isinstance(item, Broken) and "no zone" in item.reason for item in items)


def test_a_journal_with_lines_of_kafka_is_a_log() -> None:
    line = {
        "__REALTIME_TIMESTAMP": str(AT * 1000),
        "SYSLOG_IDENTIFIER": "kafka",
        "MESSAGE": "[2026-11-21 07:51:48,000] INFO x (org.apache.kafka.a.B:1)",
    }
    assert kind_of((JOURNAL + json.dumps(line) + "\n").encode(), fitting=0, lines=5) is None
    # Such lines may follow where a long journal of many programs is not examined.
    other = json.dumps({"__REALTIME_TIMESTAMP": "1", "SYSLOG_IDENTIFIER": "cron", "MESSAGE": "x"}) + "\n"
    assert kind_of((JOURNAL * 90 + other * 100).encode(), fitting=0, lines=460) is None
    assert kind_of((JOURNAL + other).encode(), fitting=0, lines=5) == HOST_LOG


def test_a_damaged_journal_is_read_around_the_damage() -> None:
    text = JOURNAL + '{"__REALTIME_TIMESTAMP":"1795247508000000","MESS\n' + JOURNAL
    assert len(read(text, HOST_LOG)) == 8
