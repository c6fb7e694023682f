# SPDX-License-Identifier: Apache-2.0
"""Any head before a known client's words is no obstacle, and an application's own sentences are no events."""

import gc
import json
import time

import pytest
from reading import read, recogniser

from forensics.records.line_reader import Profile

R = "rdkafka-4288997b-eb78-4ad5-be98-6bc353a5ad4d"
#: Words of each client, the event and some captures.
WORDS = {
    "librdkafka": ('Group "pay" heartbeat error response in state up (join-state steady, 3 partition(s) assigned): Broker: Group rebalance in progress', "heartbeat_failed", {"group_id": "pay"}),
    "librdkafka, joined": (f"JoinGroup response: GenerationId 3, Protocol range, LeaderId {R} (me), my MemberId {R}, member metadata count 1: (no error)", "joined", {"generation": 3, "member_id": R}),
    "kafka-python": ("Heartbeat failed for group pay because it is rebalancing", "heartbeat_failed", {"group_id": "pay"}),
    "kafka-python, old": ("Setting newly assigned partitions set([TopicPartition(topic=u'paid', partition=1)]) for group pay", "partitions_assigned", {"partitions": ["paid-1"], "group_id": "pay"}),
    "aiokafka": ("Joined group 'pay' (generation 5) with member_id aiokafka-0.8-c5fe", "joined", {"generation": 5, "member_id": "aiokafka-0.8-c5fe"}),
    "sarama": ("client/coordinator coordinator for consumergroup pay is #2 (10.0.0.7:9092)", "coordinator_discovered", {"group_id": "pay", "broker_id": 2}),
    "franz-go": ("joined, balancing group; group: pay, member_id: m-1, instance_id: <nil>, generation: 4, leader: true", "joined", {"generation": 4, "member_id": "m-1"}),
    "kafkajs": ('[Runner] The group is rebalancing, re-joining {"groupId":"pay","memberId":"m-1"}', "rejoin_requested", {"group_id": "pay", "member_id": "m-1"}),
    "Java": ("[Consumer clientId=c-1, groupId=pay] (Re-)joining group", "joining", {"group_id": "pay", "client_id": "c-1"}),
}  # fmt: skip
HEADS = (
    "{}", "kafka client says: {}", "[thrd:main]: {}", "LOG-7-CGRP: [thrd:main]: {}", "[2020-11-11 10:00:01,234: WARNING/MainProcess] {}", "D! [sarama] {}",
    "consumer.go:804: {}", "WARNING:kafka.coordinator:14:{}", "kafka.coordinator INFO {}", "7|rdkafka#consumer-1|CGRP| {}", "app | {}", "-> {}",
)  # fmt: skip


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("client", WORDS)
@pytest.mark.parametrize("logger", [None, "com.example.Bridge"])
def test_any_head_is_no_obstacle(client, head, logger):
    words, event, captures = WORDS[client]
    found = recogniser().recognise(logger, head.format(words))
    assert found is not None
    assert (found.event, {k: found.captures.get(k) for k in captures}) == (event, captures)
    assert found.message.startswith(words.split("] ")[-1][:20] if client == "Java" else words[:6])


def test_a_line_that_was_wrapped_before_it_was_shared():
    head = "[sarama_logger]2022/08/18 16:07:59 consumergroup/session/sarama-7ad0e968-451d-409e-921d-6f9fa16ae06a/16 heartbeat loop"
    found = recogniser().recognise(None, f"{head}\nstopped\nanother line")
    assert found is not None
    assert (found.event, found.captures["generation"]) == ("session_ended", 16)
    assert recogniser().recognise(None, f"{head}\nwill be discussed\nanother line") is None


PAIRS = {"group": "pay", "member_id": "m-1", "generation": 4, "instance_id": None, "leader": False}


@pytest.mark.parametrize(
    "line",
    [
        {"level": "info", "ts": "2024-05-02T10:00:03.000Z", "msg": "joined", **PAIRS},
        {"time": "2024-05-02T10:00:03.000Z", "level": "INFO", "label": "x", "message": "joined", **PAIRS},
        'time=2024-05-02T10:00:03.000Z level=INFO msg="joined" group=pay member_id=m-1 instance_id=<nil> generation=4 leader=false',
        "2024-05-02T10:00:03.000Z\tINFO\tkzap/kzap.go:70\tjoined\t" + json.dumps(PAIRS),
        "2024/05/02 10:00:03 [INFO] joined; group: pay, member_id: m-1, instance_id: <nil>, generation: 4, leader: false",
    ],
    ids=["zap", "zerolog", "slog", "zap console", "own"],
)
def test_keys_and_values_wherever_a_logger_puts_them(tmp_path, line):
    log = tmp_path / "app.log"
    text = json.dumps(line) if isinstance(line, dict) else line
    other = text.replace("joined", "started", 1)
    log.write_text(f"{other}\n{text}\n{other}\n", encoding="utf-8")
    rows = read([log])
    assert [(e["line"], e["event"], e["group_id"], e["member_id"], e["generation"]) for e in rows.events] == [(2, "joined", "pay", "m-1", 4)]


@pytest.mark.parametrize(
    "message",
    [
        "user bob joined group admins with generation 4 of players",
        "Leaving group now",
        "Heartbeat failed for sensor 4: timeout",
        "Heartbeat failed for group sensors: no power",
        "joined; group: raft-1, term: 4",
        'Ann joined {"group": "admins", "member_id": "7", "generation": 1}',
        "restarting because Heartbeat session expired",
        'the alert was "Successfully joined group with generation 7" yesterday',
        "Joined group 'kitchen'",
        "synced; 3 files, assigned: bob",
        "Discovered coordinator Ann for group photo",
        'Group "choir" coordinator is Ann',
        'Kafka prints "(Re-)joining group" when it joins',
        "Leaving consumer group bargains for later.",
        "[Cart] Consumer has joined the group",
        '[Connection] Response Heartbeat(key: 12, version: 3) {"broker":"b:9092","correlationId":9}',
        "please stop leaving group chats",
    ],
)
def test_chatter_is_no_event(message):
    for logger in (None, "com.example.Chat"):
        found = recogniser().recognise(logger, message)
        assert found is None, (found.event, found.pattern.where)
    assert recogniser().recognise("com.example.Chat", "joined", pairs={"msg": "joined", "group": "admins", "user": "bob"}) is None


@pytest.mark.parametrize(
    "piece", ['msg="', '{"', "a=", 'Group "', "joined ", "Heartbeat: ", "[Consumer clientId=", "\\", "; group: ", "x-", ", k: "], ids=str.strip
)
def test_time_grows_as_the_line(piece):
    """A head is searched in one pass, whatever the line contains: if it were tried from each place, four times the line would take sixteen times as long."""

    def seconds(count):
        text = 'joined; group: a Group "b": ' + piece * count
        best = 9.0
        for _ in range(5):
            start = time.process_time()
            recogniser()._recognise("com.example.Chat", text)
            best = min(best, time.process_time() - start)
        return best

    gc.disable()  # it walks whatever the tests before this one have left
    try:
        seconds(10)
        assert seconds(80_000) < 0.05 + 10 * seconds(20_000)
    finally:
        gc.enable()


def test_blanked_parts_are_no_names():
    """A message with blanked values is still the event, but equal blanks do not mean equal members or groups."""
    for words, event in (
        ("(Re-)joining group", "joining"),
        ("Discovered group coordinator ... (id: 2147483646 rack: null)", "coordinator_discovered"),
        ("Member ... sending LeaveGroup request to coordinator ... due to the consumer is being closed", "leaving"),
        ("Successfully joined group with generation Generation{generationId=xxx, memberId='***', protocol='range'}", "joined"),
        ("Marking the coordinator <host> (id: 2147483646 rack: null) dead", "coordinator_lost"),
    ):
        found = recogniser().recognise("o.a.k.c.c.internals.AbstractCoordinator", "[Consumer clientId=..., groupId=...] " + words)
        assert found is not None, words
        assert found.event == event
        assert not {"group_id", "client_id", "member_id", "generation", "coordinator"} & found.captures.keys()
    found = recogniser().recognise(None, "[Consumer clientId=app-1, groupId=x] (Re-)joining group")
    assert found is not None
    assert found.captures["group_id"] == "x"


@pytest.mark.parametrize(
    ("layout", "logger", "words"),
    [
        ("2026-11-21 07:51:{:02d},404 INFO  {} - {}", "com.example.Bridge", 'kafka: [thrd:main]: Group "pay" changing coordinator -1 -> 0'),
        ("2026-11-21 07:51:{:02d},404 - {} - INFO - {}", "app.kafka", "said: Heartbeat failed for group pay because it is rebalancing"),
        ("2026-11-21 07:51:{:02d},404 INFO  {} - {}", "com.example.Bridge", "got [Consumer clientId=c-1, groupId=pay] (Re-)joining group"),
        (
            "[2026-11-21 07:51:{0:02d},404] INFO {2} ({1})",
            "com.example.OtherCoordinator",
            "[Other thing clientId=c-1, groupId=pay] (Re-)joining group",
        ),
    ],
)
def test_many_lines_are_sifted_for_words(tmp_path, layout, logger, words):
    """In files of many records most lines are never looked at one by one: those with a client's words must be."""
    lines = [layout.format(n % 60, logger, f"order {n} was paid by group {n % 7}") for n in range(600)]
    lines[400] = layout.format(40, logger, words)
    (tmp_path / "app.log").write_text("\n".join(lines) + "\n", encoding="utf-8")
    rows = read([tmp_path / "app.log"])
    assert [(e["line"], e["group_id"]) for e in rows.events] == [(401, "pay")]


@pytest.mark.parametrize("plain", [True, False], ids=["by columns", "line by line"])
def test_the_words_decide_under_any_logger_but_one_of_kafka_that_is_left_out(plain, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(Profile, "plain", property(lambda self: plain))
    said = (
        ("com.acme.Log:7", "[Consumer clientId=c-1, groupId=g] (Re-)joining group", "joining"),
        ("com.acme.Log:7", "% member heartbeat errored", None),
        ("org.apache.kafka.clients.FetchSessionHandler:618", "[Consumer clientId=c-1, groupId=g] Error sending fetch request to node 1:", None),
        ("com.acme.FetchSessionHandler:618", "[Consumer clientId=c-1, groupId=g] Error sending fetch request to node 1:", None),
    )
    text = "".join(f"[2026-01-01 00:00:{n:02},000] INFO {message} ({logger})\n" for n, (logger, message, _) in enumerate(said))
    (tmp_path / "some.log").write_text(text)
    events = {e["line"]: e["event"] for e in read([tmp_path]).events}
    assert events == {n: event for n, (_, _, event) in enumerate(said, 1) if event}


@pytest.mark.parametrize("tail", [" (", " (or", " (org.apache.kafka.clients.consumer.internals.Cons", " (kafka.coordinator.gr", ""])
@pytest.mark.parametrize(
    ("message", "fields"),
    [
        ("[Consumer clientId=app-1, groupId=x] (Re-)joining group", {"group_id": "x"}),
        ("[Consumer clientId=app-1, groupId=x] Adding newly assigned partitions: t-3, t-4", {"group_id": "x", "partitions": ["t-3", "t-4"]}),
        ("Finished creating connector a", {"connector": "a"}),
    ],
)
def test_what_is_left_of_a_logger_where_a_line_was_cut_is_no_part_of_the_message(message: str, fields: dict[str, object], tail: str) -> None:
    found = recogniser().recognise(None, message + tail)
    assert found is not None
    assert {name: found.captures.get(name) for name in fields} == fields


def test_half_a_url_is_none() -> None:
    found = recogniser().recognise(None, "REST server listening at http://w1:8083/, advertising URL htt")
    assert found is not None
    assert (found.event, found.captures.get("worker_url")) == ("worker_url_advertised", None)


@pytest.mark.parametrize("message", ["['{}']", '["{}"]', "{}']"])
def test_messages_that_are_logged_again_as_a_list_are_no_other_events(message):
    words = "Heartbeat failed: local member_id was not recognized; resetting and re-joining group"
    found = recogniser().recognise(None, words)
    assert found is not None
    assert recogniser().recognise(None, message.format(words)) is None
