# SPDX-License-Identifier: Apache-2.0
"""The text before a record: words, names and collectors' heads before Kafka's lines and before JSON, and epochs beside other times."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from places import FIELD
from reading import read

from forensics.inventory.inventory import find_evidence
from forensics.records.layout_detection import profile_of
from forensics.records.layouts import packaged
from forensics.records.line_reader import RecordReader, read_records

LOGGER = "org.apache.kafka.clients.consumer.internals.ConsumerCoordinator"
MESSAGES = [f"[Consumer clientId=c-1, groupId=g] Message {n}" for n in range(8)]
TIMES = [datetime(2026, 11, 21, 8, 17, 17, 100_000 + 1000 * n, tzinfo=UTC) for n in range(8)]


def printed(n: int) -> str:
    return f"[{TIMES[n]:%Y-%m-%d %H:%M:%S},{TIMES[n].microsecond // 1000:03}] INFO {MESSAGES[n]} ({LOGGER})"


def as_json(n: int) -> str:
    return json.dumps({"@timestamp": TIMES[n].isoformat(), "level": "INFO", "logger_name": LOGGER, "message": MESSAGES[n]})


def records(lines: list[str]):
    content = ("\n".join(lines) + "\n").encode()
    return [r.record for r in read_records(content, RecordReader(packaged(), profile_of(content, packaged())))]


def utc(record) -> datetime:
    return datetime.fromtimestamp((record.moment.wall_us - (record.moment.offset_us or 0)) / 1e6, UTC)


HEADS = {
    "c1 ": "c1", "[c1] ": "c1", "c1: ": "c1", "c1 - ": "c1", "c1\t": "c1", "10.1.2.3 ": "10.1.2.3", "pod/connect-0/main ": "pod/connect-0/main",
    "shop worker-a ": "shop/worker-a", "eu shop c1 ": "eu/shop/c1", "3f2a9c1b77de ": "3f2a9c1b77de", "app_1  | ": "app_1",
    "Nov 21 08:17:17 node1 app[12]: ": "node1 app", "Nov 21 08:17:17 node1: ": "node1", "2026-11-21T08:17:17+09:00 node1 app[12]: ": "node1 app",
    "2026-11-21T08:17:17.404512345Z stdout F ": None, "2026-11-21 08:17:17.404000000 +0000 kafka.connect: ": "kafka.connect",
}  # fmt: skip


@pytest.mark.parametrize("line", [printed, as_json], ids=["text", "json"])
@pytest.mark.parametrize("head", HEADS)
def test_a_head_is_taken_off_and_names_the_process(head, line):
    found = records([head + line(n) for n in range(8)])
    assert [(utc(r), r.logger, r.message, r.level) for r in found] == [(t, LOGGER, m, "INFO") for t, m in zip(TIMES, MESSAGES, strict=True)]
    assert {r.source for r in found} == {HEADS[head]}


def test_a_level_before_json_is_its_level():
    found = records([f'error {{"timestamp":"2020-03-01T20:59:47.{n}85Z","logger":"kafkajs","message":"x"}}' for n in range(8)])
    assert [(r.level, r.logger, r.source) for r in found] == [("error", "kafkajs", None)] * 8


def test_a_name_is_taken_off_the_lines_that_continue_a_record():
    lines = ["c1 " + printed(0), "c1 java.lang.IllegalStateException: x", "c1 \tat a.B.c(D.java:1)", "c2 " + printed(1), "c1 " + printed(2)]
    assert [(r.source, r.message) for r in records(lines)] == [
        ("c1", f"{MESSAGES[0]} ({LOGGER})\njava.lang.IllegalStateException: x\n\tat a.B.c(D.java:1)"[: len(MESSAGES[0])]
         + "\njava.lang.IllegalStateException: x\n\tat a.B.c(D.java:1)"),
        ("c2", MESSAGES[1]), ("c1", MESSAGES[2]),
    ]  # fmt: skip


def test_numbers_of_records_name_no_process():
    assert {r.source for r in records([f"req{n} {printed(n)}" for n in range(8)])} == {None}


def test_a_word_before_a_time_in_a_message_is_no_head():
    lines = [printed(0), "retried 2026-11-21 08:00:00 by hand", "once INFO more", printed(1)]
    assert [r.source for r in records(lines)] == [None, None]


EPOCHS = {
    "1795249037 INFO": 0, "1795249037.104 INFO": 104_000, "1795249037104 INFO": 104_000, "1795249037104123 INFO": 104_123,
    "2026-11-21 17:17:17 1795249037104 INFO": 104_000, "2026-11-21 17:17:17|1795249037.104| INFO": 104_000, "[2026-11-21 17:17:17] [1795249037] INFO": 0,
}  # fmt: skip


@pytest.mark.parametrize("head", EPOCHS)
def test_an_epoch_beats_a_time_without_a_zone(head):
    found = records([f"{head} {m} ({LOGGER})" for m in MESSAGES])
    assert [(utc(r), r.logger, r.level) for r in found] == [(datetime(2026, 11, 21, 8, 17, 17, EPOCHS[head], tzinfo=UTC), LOGGER, "INFO")] * 8


def test_an_epoch_beats_a_time_without_a_zone_in_a_layout_that_nobody_described():
    found = records([f"21.11.2026 17:17:17 ; 1795249037104 ; INFO ; {LOGGER} ; {m}" for m in MESSAGES])
    assert [(utc(r), r.logger) for r in found] == [(datetime(2026, 11, 21, 8, 17, 17, 104_000, tzinfo=UTC), LOGGER)] * 8


def test_an_epoch_beats_a_time_without_a_zone_in_json():
    record = {"time": "2026-11-21 17:17:17", "timeMillis": 1795249037104, "level": "INFO", "loggerName": LOGGER, "message": "x"}
    assert {utc(r) for r in records([json.dumps(record)] * 4)} == {datetime(2026, 11, 21, 8, 17, 17, 104_000, tzinfo=UTC)}


def test_lines_of_librdkafka_with_a_local_time_and_the_epoch():
    events = read([FIELD / "07-librdkafka-epoch.log"]).events
    assert events[0]["ts"] == datetime(2021, 5, 17, 16, 10, 34, 147_000, tzinfo=UTC)
    assert {e["group_id"] for e in events if e["event"] == "coordinator_discovered"} == {"orders"}


def test_ruby_kafka_behind_a_syslog_head():
    events = read([FIELD / "06-ruby-kafka.log"]).events
    assert {e["event"] for e in events} >= {"joining", "joined", "join_failed", "heartbeat_failed"}
    assert {e["ts"].date().isoformat() for e in events} == {"2019-08-09"}


def test_kafkajs_behind_a_level_and_without_its_namespace():
    events = read([FIELD / "06b-kafkajs-prefix.log"]).events
    assert [e["event"] for e in events] == ["heartbeat_failed", "rejoin_requested"] * 2
    assert events[0]["ts"] == datetime(2020, 3, 1, 20, 59, 47, 285_000, tzinfo=UTC)
    assert events[1]["member_id"] == "app-10196-aa2291c5-5bf9-4230-a123-d2e866bfc1e0"


def test_a_walk_of_a_consumer_of_0_9():
    reading = read([FIELD / "14-walk-0.9.log"])
    assert (reading.total("records"), reading.unrecognised) == (21, [])
    assert [e["event"] for e in reading.events].count("heartbeat_ok") == 2


@pytest.mark.parametrize(
    "line", ["[{}.404{}][info][gc] GC(1) Pause Young (Normal) 24M->4M(256M) 3.2ms", "{}.404{}: 1.2: [GC pause (young), 0.0034 secs]"]
)
@pytest.mark.parametrize(("zone", "expected"), [("+0900", "+09:00"), ("-0500", "assumed")])
def test_a_gc_log_says_the_zone_of_its_folder(line, zone, expected, tmp_path):
    """Not where its times and the log's would be further apart by that zone."""
    for name in ("b1", "b2"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "server.log").write_text("".join(printed(n).replace(" 08:", " 17:").replace("Message", name) + "\n" for n in range(8)))
    hour = 17 if zone == "+0900" else 3
    (tmp_path / "b1" / "kafkaServer-gc.log").write_text("".join(line.format(f"2026-11-21T{hour:02}:17:{n:02}", zone) + "\n" for n in range(10, 30)))
    found = {e.path: e.times for e in find_evidence([tmp_path])}
    told = found["b1/server.log"]
    assert (told.zone if told.how == "gc_log" else told.how) == expected
    assert found["b2/server.log"].how == "assumed"


def test_all_files_of_a_log_have_one_zone(tmp_path):
    """GC logs are rotated away sooner than logs, so the oldest files are far from all of them; a file that comes later takes the zone of the others."""
    for hour in ("02", "08"):
        path = tmp_path / ("server.log" if hour == "08" else f"server.log.2026-11-21-{hour}")
        path.write_text("".join(printed(n).replace(" 08:", f" {hour}:") + "\n" for n in range(8)))
    (tmp_path / "kafkaServer-gc.log").write_text(
        "".join(f"[2026-11-21T08:17:{n:02}.404+0200][gc] GC(1) Pause Young (Normal) 24M->4M(256M) 3.2ms\n" for n in range(9))
    )
    found = find_evidence([tmp_path])
    logs = [e for e in found if e.is_live]
    assert [(e.times.zone, e.times.how) for e in logs] == [("+02:00", "gc_log")] * 2
    earlier = tmp_path / "server.log.2026-11-20-02"
    earlier.write_text("".join(printed(n).replace("2026-11-21 08:", "2026-11-20 02:") + "\n" for n in range(8)))
    (more,) = find_evidence([earlier], known=found)
    assert (more.times.zone, more.times.how) == ("+02:00", "gc_log")


def test_datadog_exports_attributes_behind_an_at_sign():
    record = {"@timestamp": "2026-11-21T08:17:17.104Z", "status": "info", "@logger_name": LOGGER, "@thread_name": "main", "message": MESSAGES[0]}
    assert {(r.logger, r.thread, r.message) for r in records([json.dumps(record)] * 4)} == {(LOGGER, "main", MESSAGES[0])}
    header, row = "Date,Host,Service,@logger_name,Message", f'2026-11-21T08:17:17.104Z,w1,connect,{LOGGER},"{MESSAGES[0]}"'
    assert {(r.logger, r.message) for r in records([header] + [row] * 4)} == {(LOGGER, MESSAGES[0])}


def test_indented_messages_are_records_and_a_surplus_brace_ends_no_object():
    assert [r.message for r in records([" Member a-1 sending LeaveGroup request to coordinator b:9092 due to x"])] == [
        "Member a-1 sending LeaveGroup request to coordinator b:9092 due to x"
    ]
    assert records([as_json(0) + "}"])[0].message == MESSAGES[0]
