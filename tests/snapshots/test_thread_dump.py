# SPDX-License-Identifier: Apache-2.0
"""Dumps of threads: of every release, several in one file, truncated, without times, and what is none."""

from __future__ import annotations

import time

from thread_dumps import JDK_8, JDK_17

from forensics.catalogue.threads import threads_of
from forensics.snapshots.detection import READERS, kind_of, sample_lines
from forensics.snapshots.observation import Broken, Item, Observation

SLOW = ["RUNNABLE", "sun.nio.ch.SocketDispatcher.read0(Native Method)", "com.acme.SlowTask.put(SlowTask.java:99)"]


def kind(text: str, fitting: int = 1) -> str | None:
    return kind_of(text.encode(), fitting=fitting, lines=text.count("\n"))


def items(text: str) -> list[Item]:
    return list(READERS["thread_dump"](sample_lines(text.encode())))


def dumps(text: str) -> list[Observation]:
    return [item for item in items(text) if isinstance(item, Observation)]


def test_what_each_thread_did() -> None:
    assert kind(JDK_17) == kind(JDK_8) == kind(f"4711:\n{JDK_17}") == "thread_dump"
    (dump,) = dumps(JDK_17)
    assert dump.moment is not None
    assert (dump.moment.wall_us, dump.moment.offset_us) == (1_795_305_601_000_000, None)
    assert dump.captures["elapsed_s"] == 61267.64
    assert dump.captures["threads"]["task-thread-orders-0"][:3] == SLOW
    assert dump.captures["threads"]["main"][1] == "java.lang.Thread.sleep(Native Method)"
    assert dump.captures["threads"]["VM Thread"] == ["UNKNOWN"]


def test_several_dumps_and_threads_of_one_name() -> None:
    first, second = dumps(JDK_17 + "\n" + JDK_8)
    assert second.moment.wall_us - first.moment.wall_us == 8_000_000
    assert list(second.captures["threads"]) == ["kafka-coordinator-heartbeat-thread | g", "kafka-coordinator-heartbeat-thread | g (2)"]
    assert "elapsed_s" not in second.captures


def test_a_dump_that_is_cut_off_or_has_no_time() -> None:
    for size in range(40, len(JDK_17), 17):
        for dump in dumps(JDK_17[:size]):
            assert all(len(thread) >= 1 for thread in dump.captures.get("threads", {}).values())
    dump, broken = items(JDK_17.partition("\n")[2])
    assert isinstance(dump, Observation)
    assert dump.moment is None
    assert isinstance(broken, Broken)
    assert "no time" in broken.reason


def test_a_log_with_a_dump_is_a_log() -> None:
    line = "[2026-11-22 00:00:01,000] INFO [Worker clientId=connect-1, groupId=g] Joined group (org.apache.kafka.connect.runtime.distributed.WorkerCoordinator:1)\n"
    assert kind(line * 9 + JDK_17 + line * 30, fitting=40) is None
    assert kind("Full thread dump OpenJDK 64-Bit Server VM (17.0.9+9 mixed mode, sharing):\n") is None


def test_a_dump_is_bounded_and_read_in_linear_time() -> None:
    thread = '"worker-{}" #{} prio=5 os_prio=0 tid=0x1 nid=0x1 runnable\n   java.lang.Thread.State: RUNNABLE\n' + "\tat a.b.C.d(C.java:1)\n" * 60
    many = "".join(thread.format(n, n) for n in range(3_000))
    found = threads_of(many)
    assert (len(found), max(map(len, found.values()))) == (2_000, 13)
    for hostile in (
        '"' * 200_000,
        '"' + '" ' * 100_000,
        '"a" #1 prio=5\n\tat ' + "a." * 100_000,
        '"a" #1 prio=5\n\tat a(' + "(" * 100_000,
        '"a" #1 prio=5\n' + " " * 100_000,
    ):
        begin = time.process_time()
        threads_of(hostile)
        assert time.process_time() - begin < 0.5
