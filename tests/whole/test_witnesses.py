# SPDX-License-Identifier: Apache-2.0
"""Files of the machine beside the logs decide why a process was silent, and change nothing else."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from _pytest.mark import ParameterSet
from places import SAMPLES
from test_filtered_logs import FROZEN, logs_of, rows
from thread_dumps import JDK_17
from written_logs import case_of, consumer, joined, told

RECORDINGS = os.environ.get("FORENSICS_RECORDINGS", "")
pytestmark = [pytest.mark.whole, pytest.mark.engine]
VIEWS = ("incident", "split_brain", "finding", "machine_event")
BEGIN, END = datetime(2026, 11, 21, 7, 51, 20, tzinfo=UTC), datetime(2026, 11, 21, 7, 52, 35, tzinfo=UTC)


def quickly(cases: Iterable[str], *quick: str) -> list[str | ParameterSet]:
    """Return cases as parameters: `make slow` runs all, and other commands those that are named."""
    return [case if case in quick else pytest.param(case, marks=pytest.mark.slow) for case in cases]


def gc_log(*long: tuple[datetime, str, float], begin: datetime = BEGIN, end: datetime = END) -> str:
    """Return a GC log with a short pause every 2.5 s, and long ones: their begin, kind and length in seconds."""
    ends = [(since + timedelta(seconds=length), kind, length) for since, kind, length in long]
    at = begin
    while at < end:
        if not any(since - timedelta(seconds=1) < at < since + timedelta(seconds=length + 1) for since, _, length in long):
            ends.append((at, "Pause Young (Normal) (G1 Evacuation Pause)", 0.012))
        at += timedelta(seconds=2.5)
    return "".join(
        f"[{until.isoformat(timespec='milliseconds').replace('+00:00', '+0000')}][gc          ] GC({n}) {kind} 140M->40M(512M) {length * 1000:.3f}ms\n"
        for n, (until, kind, length) in enumerate(sorted(ends))
    )


def test_a_full_collection_is_named_as_what_froze_a_worker(tmp_path: Path) -> None:
    log = gc_log((datetime(2026, 11, 21, 7, 51, 44, tzinfo=UTC), "Pause Full (G1 Compaction Pause)", 38.1))
    case = case_of({**logs_of(FROZEN), "w2/connectDistributed-gc.log": log}, tmp_path, VIEWS)
    (incident,) = (row for row in rows(case, "incident") if row["cause"] == "process_paused")
    assert incident["headline"].endswith("its garbage collector stopped it for 38.1 s (Pause Full (G1 Compaction Pause))")
    assert "heap" in incident["next"]
    assert "-Xmx" in incident["prevent"]
    (pause,) = (row for row in rows(case, "machine_event") if row["what"] == "pause")
    assert incident["witness"][0] == pause["event_id"]
    assert (pause["path"], pause["process_ids"]) == ("w2/connectDistributed-gc.log", ["w2/connect.log"])
    # The witness adds a cause and changes no verdict.
    expected = json.loads((SAMPLES / "split-brain-frozen-worker-3.9.1" / "expected" / "split_brain.json").read_text())
    assert sorted(row["verdict"] for row in rows(case, "split_brain")) == sorted(row["verdict"] for row in expected)


@pytest.mark.slow
def test_short_pauses_show_that_it_was_not_the_collector(tmp_path: Path) -> None:
    """The GC log of another worker says nothing about this one."""
    long = gc_log((datetime(2026, 11, 21, 7, 51, 44, tzinfo=UTC), "Pause Full (G1 Compaction Pause)", 38.1))
    case = case_of({**logs_of(FROZEN), "w2/gc.log": gc_log(), "w1/gc.log": long}, tmp_path, VIEWS)
    (incident,) = (row for row in rows(case, "incident") if row["cause"] == "process_paused")
    assert incident["headline"].endswith("; not its garbage collector, whose longest pause in that time took at most 12 ms")
    assert "GC log" not in incident["next"]
    assert not [row for row in rows(case, "incident") if "w1" in (row["subject"] or "")]


#: A consumer that its broker removed for its silence, after the end of its log at 08:16:36, between 08:16:52 and 08:17:01.
REMOVED = SAMPLES / "session-timeouts-consumers-3.9.1"
SINCE, UNTIL = datetime(2026, 11, 21, 8, 15, 41, tzinfo=UTC), datetime(2026, 11, 21, 8, 17, 12, tzinfo=UTC)
SHORT_PAUSES = gc_log(begin=SINCE, end=UNTIL)
BESIDE_REMOVED = {
    "all of the time": ({"c1/gc.log": SHORT_PAUSES}, True),
    "until it was silent": ({"c1/gc.log": gc_log(begin=SINCE, end=datetime(2026, 11, 21, 8, 16, 56, tzinfo=UTC))}, False),
    "from then on": ({"c1/gc.log": gc_log(begin=datetime(2026, 11, 21, 8, 16, 56, tzinfo=UTC), end=UNTIL)}, False),
    "without some collections": ({"c1/gc.log": "".join(line for line in SHORT_PAUSES.splitlines(keepends=True) if "GC(20)" not in line)}, False),
    "of another consumer": ({"c2/gc.log": SHORT_PAUSES}, False),
    "with a long one": ({"c1/gc.log": gc_log((datetime(2026, 11, 21, 8, 16, 54, tzinfo=UTC), "Pause Full (Ergonomics)", 3.0), begin=SINCE, end=UNTIL)}, False),
}  # fmt: skip


@pytest.mark.parametrize("time", quickly(BESIDE_REMOVED, "until it was silent", "with a long one"))
def test_the_first_screen_says_that_it_was_not_the_collector(time: str, tmp_path: Path) -> None:
    files, is_refuted = BESIDE_REMOVED[time]
    case = case_of({**logs_of(REMOVED / "logs"), **files}, tmp_path, VIEWS)
    (incident,) = (row for row in rows(case, "incident") if row["subject"] == "c1/consumer.log")
    assert incident["alternatives"] == ["member_cut_off", "process_killed", "process_paused"]
    open_ = "the logs do not show whether it was cut off from the broker, killed or paused"
    refuted = "; not its garbage collector, whose longest pause in that time took at most 12 ms" * is_refuted
    assert incident["headline"] == f"c1/consumer.log was removed from orders-app; {open_}{refuted}"


def between(log: str, gc: str, *, zone: str = "+0000") -> str:
    """Return a worker's log with the lines of a GC log where the JVM printed them, with times only, as Strimzi's images have it."""
    own, at = log.splitlines(keepends=True), 0
    for line in gc.splitlines(keepends=True):
        printed = line[1:24].replace("T", " ").replace(".", ",")
        while at < len(own) and not (own[at].startswith("[20") and own[at][1:24] > printed):
            at += 1
        own.insert(at, line.replace("[gc          ]", "").replace("+0000", zone))
        at += 1
    return "".join(own)


def test_a_gc_log_among_the_lines_of_its_process(tmp_path: Path) -> None:
    """The lines are of `-Xlog:gc*:stdout:time`, which kafka_run.sh of Strimzi's images sets if gcLoggingEnabled is true."""
    logs = logs_of(FROZEN)
    full = gc_log((datetime(2026, 11, 21, 7, 51, 44, tzinfo=UTC), "Pause Full (G1 Compaction Pause)", 38.1))
    mixed = between(logs["w2/connect.log"], full)
    assert "+0000] GC(9) Pause Young" in mixed
    case = case_of({**logs, "w2/connect.log": mixed}, tmp_path / "mixed", (*VIEWS, "source_file"))
    (incident,) = (row for row in rows(case, "incident") if row["cause"] == "process_paused")
    assert incident["headline"].endswith("its garbage collector stopped it for 38.1 s (Pause Full (G1 Compaction Pause))")
    (pause,) = (row for row in rows(case, "machine_event") if row["what"] == "pause")
    assert (pause["tied_by"], pause["process_ids"]) == ("log", ["w2/connect.log"])
    # The lines of the program are read as without them, and the lines of the JVM show its time zone.
    plain = case_of(logs, tmp_path / "plain", (*VIEWS, "source_file"))
    assert sorted(row["verdict"] for row in rows(case, "split_brain")) == sorted(row["verdict"] for row in rows(plain, "split_brain"))
    (file,) = (row for row in rows(case, "source_file") if row["path"] == "w2/connect.log")
    assert (file["time_zone"], file["time_zone_how"]) == ("UTC", "gc_log")
    assert not file["unrecognised"]
    (before,) = (row for row in rows(plain, "source_file") if row["path"] == "w2/connect.log")
    assert dict(file["layouts"])["kafka"] == before["records"]


def of_jdk_8(gc: str) -> str:
    """Return a GC log as JDK 8 prints it with details: a collection has the time of its beginning, and several lines."""
    lines = []
    for line in gc.splitlines():
        length = float(line.rpartition(" ")[2].removesuffix("ms")) / 1000
        begin = datetime.fromisoformat(line[1:29]) - timedelta(seconds=length)
        kind = "Full GC (Ergonomics) " if "Full" in line else "GC pause (G1 Evacuation Pause) (young)"
        stamp = f"[{begin.isoformat(timespec='milliseconds').replace('+00:00', '+0000')}: 1.000: "
        lines.append(
            f"{stamp}[{kind}, {length:.7f} secs]~   [Parallel Time: 7.6 ms, GC Workers: 2]~ [Times: user=0.02 sys=0.00, real={length:.2f} secs]"
        )
    return "\n".join(lines) + "\n"


def test_a_gc_log_of_jdk_8_among_the_lines_of_its_process(tmp_path: Path) -> None:
    logs = logs_of(FROZEN)
    full = of_jdk_8(gc_log((datetime(2026, 11, 21, 7, 51, 44, tzinfo=UTC), "Pause Full (G1 Compaction Pause)", 38.1)))
    mixed = re.sub(r"(?m)^\[(?=[^\]\n]*: 1\.000: )", "", between(logs["w2/connect.log"], full)).replace("~", "\n")
    assert "\n2026-11-21T07:51:44.000+0000: 1.000: [Full GC (Ergonomics) , 38.1000000 secs]\n   [Parallel" in mixed
    case = case_of({**logs, "w2/connect.log": mixed}, tmp_path / "mixed", (*VIEWS, "source_file", "unrecognised"))
    (incident,) = (row for row in rows(case, "incident") if row["cause"] == "process_paused")
    assert incident["headline"].endswith("its garbage collector stopped it for 38.1 s (Full GC (Ergonomics))")
    assert {row["tied_by"] for row in rows(case, "machine_event")} == {"log"}
    (file,) = (row for row in rows(case, "source_file") if row["path"] == "w2/connect.log")
    assert (file["time_zone"], file["time_zone_how"], file["unfit"]) == ("UTC", "gc_log", 0)
    assert not rows(case, "unrecognised")


@pytest.mark.slow
def test_short_pauses_among_the_lines_of_a_process(tmp_path: Path) -> None:
    logs = logs_of(FROZEN)
    at = datetime(2026, 11, 21, 7, 51, 44, tzinfo=UTC)
    frozen = "".join(line for line in gc_log().splitlines(keepends=True) if not at < datetime.fromisoformat(line[1:29]) < at + timedelta(seconds=38))
    case = case_of({**logs, "w2/connect.log": between(logs["w2/connect.log"], frozen)}, tmp_path, VIEWS)
    (incident,) = (row for row in rows(case, "incident") if row["cause"] == "process_paused")
    assert incident["headline"].endswith("; not its garbage collector, whose longest pause in that time took at most 12 ms")


def test_the_zone_of_a_log_whose_gc_lines_print_theirs(tmp_path: Path) -> None:
    logs = logs_of(FROZEN)
    case = case_of({"w2/connect.log": between(logs["w2/connect.log"], gc_log(), zone="+0200")}, tmp_path / "a", ("source_file",))
    (file,) = rows(case, "source_file")
    assert (file["time_zone"], file["time_zone_how"]) == ("+02:00", "gc_log")
    # The program uses another zone than the JVM's GC log: nothing is known of it.
    late = between(logs["w2/connect.log"], gc_log()).replace("T07:", "T09:").replace("+0000", "+0200")
    case = case_of({"w2/connect.log": late}, tmp_path / "b", ("source_file",))
    (file,) = rows(case, "source_file")
    assert (file["time_zone"], file["time_zone_how"]) == ("UTC", "assumed")


def killed(reason: str, at_ms: int, started_ms: int, again_ms: int) -> dict[str, Any]:
    at, started, again = (f"{datetime.fromtimestamp(ms / 1000, UTC):%Y-%m-%dT%H:%M:%SZ}" for ms in (at_ms, started_ms, again_ms))
    ended = {"exitCode": 137, "reason": reason, "startedAt": started, "finishedAt": at}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "connect-1"},
        "spec": {"containers": [{"name": "c", "resources": {"limits": {"memory": "2Gi"}}}]},
        "status": {
            "containerStatuses": [{"name": "c", "restartCount": 1, "lastState": {"terminated": ended}, "state": {"running": {"startedAt": again}}}]
        },
    }


@pytest.mark.skipif(not RECORDINGS, reason="FORENSICS_RECORDINGS is not set")
def test_a_pod_that_was_killed_for_lack_of_memory(tmp_path: Path) -> None:
    recording = Path(RECORDINGS) / "2.6.2-worker_killed-0"
    deeds = json.loads((recording / "truth.json").read_text())["deeds"]
    at = next(deed["t_ms"] for deed in deeds if deed["did"] == "worker killed")
    started, again = (deed["t_ms"] for deed in deeds if deed["did"] == "worker started" and deed["worker"] == "w2")
    logs = {path: text for path, text in logs_of(recording / "logs").items() if "zookeeper" not in path}
    pod = json.dumps(killed("OOMKilled", at, started, again), indent=4)
    case = case_of({**logs, "w2/pod.json": pod}, tmp_path, VIEWS)
    (incident,) = (row for row in rows(case, "incident") if row["cause"] == "process_killed")
    assert incident["headline"].startswith("w2/connect.log was killed for lack of memory (OOMKilled, exit code 137, memory limit 2Gi)")
    assert "2Gi" in incident["next"]
    (end,) = rows(case, "machine_event")
    assert end["event_id"] == incident["witness"][0]
    # It had given up its work by then, so others did not have it at the same time. The end is in no log, so it has no place among its lines.
    pairs = rows(case, "split_brain")
    assert not [row for row in pairs if row["verdict"] == "undecided"]
    assert not [row for row in pairs if row["code"] == "ended_before_by_messages" and end["event_id"] in row["witness"]]
    after = [row for row in pairs if end["event_id"] in row["witness"]]
    assert {(row["process_a"], row["process_b"]) for row in after} >= {("w2/connect.log", "w3/connect.log")}
    assert {row["witness_role"][row["witness"].index(end["event_id"])] for row in after} == {"A ends", "B ends"}


@pytest.mark.skipif(not RECORDINGS, reason="FORENSICS_RECORDINGS is not set")
def test_a_kill_beside_a_log_without_a_zone_decides_nothing(tmp_path: Path) -> None:
    """Without a start that prints its time, the log may be of another hour than the end of the container."""
    recording = Path(RECORDINGS) / "2.6.2-worker_killed-0"
    at = next(deed["t_ms"] for deed in json.loads((recording / "truth.json").read_text())["deeds"] if deed["did"] == "worker killed")
    worker = logs_of(recording / "logs")["w2/connect.log"]
    pod = killed("OOMKilled", at, at, at)
    status = pod["status"]["containerStatuses"][0]
    del status["lastState"]["terminated"]["startedAt"], status["state"]
    known = case_of({"w2/connect.log": worker, "w2/pod.json": json.dumps(pod, indent=4)}, tmp_path / "known", VIEWS)
    unsure = "".join(line for line in worker.splitlines(keepends=True) if "startTimeMs" not in line)
    case = case_of({"w2/connect.log": unsure, "w2/pod.json": json.dumps(pod, indent=4)}, tmp_path / "unsure", VIEWS)
    assert any("lack of memory" in row["headline"] for row in rows(known, "incident"))
    incidents = rows(case, "incident")
    assert not any("lack of memory" in row["headline"] for row in incidents)
    assert any("--time-zone" in (row["next"] or "") and "OOMKilled" in row["next"] for row in incidents)


#: A sink task's consumer that did not poll until 10:06:40, and a dump of its process's threads ten seconds before.
SLOW_SINK = consumer(
    "connector-consumer-orders-0",
    "connect-orders",
    *told(
        (10, joined(7, "m-1", "orders-0")),
        (400, "Member m-1 sending LeaveGroup request to coordinator b1:9092 (id: 2147483646 rack: null) due to consumer poll timeout has expired."),
        (450, joined(9, "m-2", "orders-0")),
    ),
)
DUMP = JDK_17.replace("2026-11-22 00:00:01", "2026-03-01 10:06:30")
IN_DUMP = "; at 10:06:30 its thread was in com.acme.SlowTask.put(SlowTask.java:99), running sun.nio.ch.SocketDispatcher.read0"
DUMPED = {
    "in a file beside the log": ({"w1/connect.log": SLOW_SINK, "w1/jstack.txt": DUMP}, True),
    "in the log": ({"w1/connect.log": SLOW_SINK.replace("[2026-03-01 10:06:40,000]", f"{DUMP}\n[2026-03-01 10:06:40,000]")}, True),
    "after it had left": ({"w1/connect.log": SLOW_SINK, "w1/jstack.txt": DUMP.replace("10:06:30", "10:06:50")}, False),
    "long before": ({"w1/connect.log": SLOW_SINK, "w1/jstack.txt": DUMP.replace("10:06:30", "10:02:30")}, False),
    "of another process": ({"w1/connect.log": SLOW_SINK, "w2/jstack.txt": DUMP}, False),
    "of another task": ({"w1/connect.log": SLOW_SINK, "w1/jstack.txt": DUMP.replace("task-thread-orders-0", "task-thread-orders-1")}, False),
    "without a time": ({"w1/connect.log": SLOW_SINK, "w1/jstack.txt": DUMP.partition("\n")[2]}, False),
    "beside the logs of two workers": ({"w/a.log": SLOW_SINK, "w/b.log": SLOW_SINK.replace("orders", "clicks"), "w/jstack.txt": DUMP}, False),
    "by a clock in another zone, perhaps": ({"w1/connect.log": SLOW_SINK.replace(",000]", ".000Z]"), "w1/jstack.txt": DUMP}, False),
}  # fmt: skip


@pytest.mark.parametrize("where", quickly(DUMPED, "in the log", "in a file beside the log", "of another process", "after it had left"))
def test_what_a_thread_did_that_did_not_poll_in_time(where: str, tmp_path: Path) -> None:
    files, is_shown = DUMPED[where]
    case = case_of(files, tmp_path, VIEWS)
    headlines = [row["headline"] for row in rows(case, "incident") if row["cause"] == "poll_too_slow"]
    assert headlines
    assert [headline.endswith(IN_DUMP) for headline in headlines] == [is_shown] * len(headlines)
    assert not is_shown or all(row["alternatives"] == [] for row in rows(case, "incident"))


def started_again(log: str, at: datetime) -> str:
    """Return a log with the first lines of its process once more, as if it had been started again then."""
    first = datetime.fromisoformat(log[1:20]).replace(tzinfo=UTC)
    again = []
    for line in log.splitlines(keepends=True)[:600]:
        if line.startswith("[2026-") and line[24:25] == "]":
            moved = at + (datetime.fromisoformat(line[1:20]).replace(tzinfo=UTC) - first)
            line = f"[{moved:%Y-%m-%d %H:%M:%S}{line[20:]}"
        again.append(line)
    return log + "".join(again)


@pytest.mark.slow
def test_a_container_that_ended_later_refutes_no_overlap(tmp_path: Path) -> None:
    """The end is a line of another file: where it is there does not say what came before it in the log."""
    logs = logs_of(FROZEN)
    # It was killed right after it woke, while others had its tasks.
    woken = logs["w2/connect.log"].partition("Attempt to heartbeat with Generation{generationId=10")[0].rpartition("\n")[0] + "\n"
    again = END + timedelta(seconds=40)
    moments = (datetime(2026, 11, 21, 7, 52, 24, tzinfo=UTC), BEGIN, again - timedelta(seconds=2))
    logs["w2/connect.log"] = started_again(woken, again)
    pod = json.dumps(killed("Error", *(int(moment.timestamp() * 1000) for moment in moments)), indent=4)
    without = case_of(logs, tmp_path / "without", VIEWS)
    case = case_of({**logs, "w2/pod.json": pod}, tmp_path / "with", (*VIEWS, "process_life"))
    lives = [row for row in rows(case, "process_life") if row["process_id"] == "w2/connect.log"]
    assert [row["end_ms"] is not None for row in sorted(lives, key=lambda row: row["instance"])] == [True, False]

    def proved(of: object) -> list[tuple[str, int]]:
        return sorted((row["resource"], row["certain_ms"]) for row in rows(of, "split_brain") if row["verdict"] == "proved")

    assert proved(case) == proved(without) != []


@pytest.mark.skipif(not RECORDINGS, reason="FORENSICS_RECORDINGS is not set")
def test_the_operator_that_restarted_all_pods_is_named(tmp_path: Path) -> None:
    """The folders are those of Strimzi's report.sh; the lines of the operator are those of 0.45, at the times of the recording's restarts."""
    recording = Path(RECORDINGS) / "3.3.2-rolling_bounce-0"
    deeds = json.loads((recording / "truth.json").read_text())["deeds"]
    pods = {"w1": "my-connect-0", "w2": "my-connect-1", "w3": "my-connect-2"}
    logs = {f"reports/logs/{pods.get(path.split('/')[0], 'my-kafka-0')}.log": text for path, text in logs_of(recording / "logs").items()}
    stamp = "2026-11-21 08:29:00 INFO  AbstractOperator:265 - Reconciliation #11(timer) KafkaConnect(kafka/my): reconciled\n"
    operator = stamp + "".join(
        f"{datetime.fromtimestamp(deed['t_ms'] // 1000, UTC):%Y-%m-%d %H:%M:%S} INFO  KafkaConnectRoller:140 - Reconciliation #12(watch) KafkaConnect(kafka/my):"
        f" Rolling pod {pods[deed['worker']]}: [Pod has old revision]\n"
        for deed in deeds
        if deed["did"] == "worker stopping"
    )
    case = case_of({**logs, "reports/logs/strimzi-cluster-operator-6f9d.log": operator}, tmp_path, VIEWS)
    (incident,) = rows(case, "incident")
    assert incident["cause"] == "deployment"
    assert incident["headline"].endswith("one after the other, by the operator (Pod has old revision)")
