"""Every [[event]] block of parsers/, held to its own examples and to its neighbours; one test a block, named by its place."""

import contextlib
import time

import pytest

from forensics.catalogue import patterns, prefixes
from forensics.catalogue.patterns import check_examples, check_pattern, compiled, simple_name, subject
from forensics.catalogue.recogniser import Recogniser
from forensics.records import kafka_words
from forensics.resources import parsers_dir
from forensics.schema import CAPTURE_TYPES
from forensics.snapshots.observation import COMMIT_VALUES

CATALOGUE = patterns.load()
RECOGNISER = Recogniser(CATALOGUE)
EVENTS = [pytest.param(e, id=f"{e.where.removeprefix('parsers/')}-{e.name}") for e in CATALOGUE.events]
#: Captures that prefixes, threads and decoded bytes give, whether or not a pattern names them too.
GIVEN_ELSEWHERE = {
    "client_kind", "client_id", "group_id", "group_instance_id", "transactional_id", "connector", "task", "broker_id", "offsets_partition",
    "thread_name", "assigned_partitions", "assigned_tasks", "assigned_connectors", "revoked_tasks", "revoked_connectors", "delay_ms",
    "leader_member_id", "leader_url", "assigned_config_offset", "assignment_error", "protocol_version",
    "state", "worker_id", "columns", "elapsed_s",  # of second witnesses
    *COMMIT_VALUES,
}  # fmt: skip
LONG = 100_000


def rivals(event):
    names = {simple_name(x) for x in event.loggers}
    return [e for e in CATALOGUE.events if e is not event and names & {simple_name(x) for x in e.loggers}]


def hostile(line, size):
    """Long lines out of a message's own pieces: what makes a pattern go back and forth."""
    quarter, half, times = len(line) // 4, len(line) // 2, size // len(line) + 1
    yield (line * times)[:size]
    yield (line[:half] * 2 * times)[:size] + line[half:]
    yield line[:quarter] + (line[quarter : 3 * quarter] * 2 * times)[:size] + "\x00"


@pytest.mark.parametrize("event", EVENTS)
def test_pattern_compiles_and_its_captures_are_known(event):
    assert [str(e) for e in check_pattern(event, CATALOGUE.fields)] == []


@pytest.mark.parametrize("event", EVENTS)
def test_examples_match_this_block_alone_with_the_stated_captures(event):
    assert [str(e) for e in check_examples(event, rivals(event), CATALOGUE.fields)] == []


@pytest.mark.parametrize("event", EVENTS)
def test_recogniser_finds_examples(event):
    for example in event.examples:
        for logger in event.loggers:
            found = RECOGNISER.recognise(logger, example.line)
            assert found is not None, (logger, example.line)
            assert found.event == event.name
            assert {k: found.captures.get(k) for k in example.fields} == example.fields
        assert RECOGNISER.matches(event.loggers[0], example.line) == [event]
        assert (event in RECOGNISER.matches(None, example.line)) is not event.named, (
            "without a logger, too, unless its words are those of any program"
        )


@pytest.mark.parametrize(
    "text", ["Error while consuming messages", "Failed to send email", "Loading rules", "Waiting for messages", "Received message 7"]
)
def test_without_a_logger_the_words_of_any_program_are_not_a_brokers(text):
    assert RECOGNISER.recognise(None, text) is None


@pytest.mark.parametrize("event", EVENTS)
def test_examples_hold_a_literal(event):
    # Layouts without a logger are filtered by these; a message without one would be lost.
    for example in event.examples:
        assert any(text in example.line for text in RECOGNISER.literals), example.line


@pytest.mark.parametrize("event", EVENTS)
def test_hostile_lines_up_to_the_limit_are_quick(event):
    # Shorter messages are matched without a time limit.
    for example in event.examples:
        line = subject(event, example.line)
        for text in hostile(line, patterns.LONG_MESSAGE) if line else ():
            start = time.process_time()
            compiled(event.pattern).fullmatch(text[: patterns.LONG_MESSAGE])
            assert time.process_time() - start < 0.2, text[:200]


@pytest.mark.parametrize("event", EVENTS)
def test_hostile_long_lines_end_in_time(event):
    line = subject(event, event.examples[0].line)
    for text in hostile(line, LONG) if line else ():
        start = time.process_time()
        with contextlib.suppress(TimeoutError):
            compiled(event.pattern).fullmatch(text, timeout=0.05)
        assert time.process_time() - start < 0.5, text[:200]


def test_every_field_is_used():
    captured = {name for e in CATALOGUE.events for name in compiled(e.pattern).groupindex}
    assert sorted(CATALOGUE.fields.keys() - captured - GIVEN_ELSEWHERE) == []


def test_fields_have_a_meaning_and_a_type():
    for field in CATALOGUE.fields.values():
        assert field.type in CAPTURE_TYPES
        assert len(field.meaning) > 5


def test_no_two_blocks_have_one_pattern():
    seen = {}
    for event in CATALOGUE.events:
        key = (event.pattern, tuple(sorted(event.loggers)), str(event.keys))  # what a client library's keys must contain decides too
        assert key not in seen, f"{event.where} repeats {seen[key].where}"
        seen[key] = event


def test_one_category_a_name():
    by_name = {}
    for event in CATALOGUE.events:
        assert by_name.setdefault(event.name, event.category) == event.category, event.where


#: Names that users build their own SQL on.
PROMISED = [
    "coordinator_discovered", "coordinator_lost", "coordinator_lookup_failed", "joining", "joined", "join_failed", "synced", "sync_failed",
    "rejoin_requested", "generation_reset", "heartbeat_ok", "heartbeat_failed", "leaving", "poll_timeout", "member_fenced",
    "assignment_computed", "assignment_received", "partitions_assigned", "partitions_revoked", "partitions_lost", "commit_failed",
    "position_set", "worker_rebalance_started", "worker_assigned", "worker_revoking", "work_starting", "work_started", "connector_creating",
    "connector_stopping", "connector_stopped", "task_starting", "task_creating", "task_started", "task_stopping", "task_stop_succeeded",
    "task_stop_failed", "tasks_stopped", "task_failed", "task_committing", "config_behind", "herder_started", "herder_stopped",
    "rebalance_preparing", "group_stabilized", "assignment_from_leader", "member_added", "member_expired", "member_left",
    "member_fenced_by_broker", "group_emptied", "group_died", "group_loaded", "group_unloaded", "coordinator_elected", "coordinator_resigned",
    "offsets_topic_created", "offsets_topic_failed", "kafka_version", "kafka_cluster_id", "client_closed", "config_dumped", "process_started",
    "process_stopping",
]  # fmt: skip


@pytest.mark.parametrize("name", PROMISED)
def test_promised_event_exists(name):
    assert any(e.name == name for e in CATALOGUE.events)


def test_a_task_is_read_off_its_client():
    assert prefixes.task_of_client("connector-producer-my-orders-12") == {"task": "my-orders-12", "connector": "my-orders"}


BROKEN_WORDS = {
    "an example that gives something else": ('fields = { broker_id = 2 }\n[[prefix.example]]', 'fields = { broker_id = 3 }\n[[prefix.example]]', "gives other captures"),
    "a prefix that does not take its example": ('line    = "[b|worker] "', 'line    = "[b|workers] "', "does not match it alone"),
    "a sign that finds its counterexample": ('"[main] Joined group"]', '"[GroupCoordinator 1] x"]', "finds its counterexample"),
    "a sign that misses its example": ('"stream-thread [a] State"]', '"streams [a] State"]', "does not find its example"),
    "a name that tells something else": ('line   = "task-thread-b-c-1"', 'line   = "task-thread-b-1"', "gives other captures"),
}  # fmt: skip


@pytest.mark.parametrize("what", BROKEN_WORDS)
def test_what_is_wrong_with_the_words_of_kafka_is_said(what):
    before, after, said = BROKEN_WORDS[what]
    text = (parsers_dir() / "kafka_words.toml").read_text(encoding="utf-8")
    assert before in text
    words = kafka_words.parse(text.replace(before, after))
    assert any(said in str(error) for error in [*kafka_words.check_signs(words), *prefixes.check(words)])


def test_the_words_of_kafka_are_sound_and_of_use():
    assert not [*kafka_words.check_signs(), *prefixes.check()]
    assert kafka_words.kafka_words().debug <= Recogniser(patterns.load()).interesting_loggers
