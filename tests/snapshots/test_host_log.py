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


def journal(*lines: tuple[int, int, str], boot: str = "b1") -> str:
    """Return lines of `journalctl -o json` of one boot: real and monotonic time in milliseconds, and the message."""
    fields = {"_HOSTNAME": "node7", "_BOOT_ID": boot, "SYSLOG_IDENTIFIER": "systemd"}
    return "".join(
        json.dumps({"__REALTIME_TIMESTAMP": str(real * 1000), "__MONOTONIC_TIMESTAMP": str(mono * 1000), **fields, "MESSAGE": message}) + "\n"
        for real, mono, message in lines
    )


def test_the_two_clocks_of_a_journal_show_each_step() -> None:
    text = journal(
        (AT, 5_000, "x"), (AT + 60_000, 65_000, "x"), (AT + 31_000, 66_000, "x"), (AT + 91_100, 126_000, "x"), (AT + 500_000, 130_000, "x")
    )
    assert kind_of(text.encode(), fitting=0, lines=5) == HOST_LOG
    steps = [row.captures["columns"] for row in read(text, HOST_LOG)]
    assert [(row["what"], row["of"], row["host"], int(row["length_ms"])) for row in steps] == [
        ("clock_stepped", "host", "node7", -30_000),
        ("clock_stepped", "host", "node7", 404_900),
    ]
    assert (int(steps[1]["from_ms"]), int(steps[1]["to_by_ms"])) == (AT + 91_100, AT + 500_000)
    assert "or the host was suspended" in steps[1]["how"]


def test_what_is_no_step() -> None:
    # Another boot; a clock that is slewed for an hour; a suspended host; a line without the clock; the clocks of another host's boot in between.
    assert kind_of(journal((AT, 5_000, "x"), (AT + 90_000, 6_000, "x"), boot="b1").replace("b1", "b2", 1).encode(), fitting=0, lines=2) is None
    slewed = journal((AT, 5_000, "x"), (AT + 3_600_900, 3_605_000, "x"))
    suspended = journal((AT, 5_000, "PM: suspend entry (deep)"), (AT + 90_000, 6_000, "PM: suspend exit"))
    assert [row.captures["columns"]["what"] for row in read(slewed + suspended, HOST_LOG) if "suspend" not in row.captures["columns"]["what"]] == []


def test_a_step_passes_over_the_time_before_it() -> None:
    """Lines of chrony and ntpd as people posted them, with dates."""
    text = (
        "2026-11-21T07:51:48+0000 n chronyd[840]: System clock was stepped by 4.005564 seconds\n"
        "2026-11-21T07:51:48+0000 n ntpd[742]: 0.0.0.0 c61c 0c clock_step +0.935486 s\n"
        "2026-11-21T07:51:48+0000 n chronyd[867]: System clock was stepped by -32400.283303 seconds\n"
    )
    steps = [row.captures["columns"] for row in read(text, HOST_LOG)]
    assert [(int(row["from_ms"]) - AT, int(row["length_ms"])) for row in steps] == [(-4_006, 4_006), (-935, 935), (0, -32_400_283)]


def test_a_damaged_journal_is_read_around_the_damage() -> None:
    text = JOURNAL + '{"__REALTIME_TIMESTAMP":"1795247508000000","MESS\n' + JOURNAL
    assert len(read(text, HOST_LOG)) == 8
