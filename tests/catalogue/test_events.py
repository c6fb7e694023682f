"""From logger and message to a typed event: prefixes, dispatch, values, decoded bytes, repetition, hostile lines, pickling."""

import os
import pickle
import time
from pathlib import Path

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from forensics.catalogue import converters as values
from forensics.catalogue import embedded_protocol, patterns
from forensics.catalogue.prefixes import Prefixes, captures_of_thread
from forensics.catalogue.recogniser import Recogniser

RECOGNISER = Recogniser(patterns.load())
COORDINATOR = "org.apache.kafka.clients.consumer.internals.ConsumerCoordinator"
JOINED = "Successfully joined group with generation Generation{generationId=7, memberId='m-1', protocol='range'}"


@pytest.mark.parametrize(
    ("prefix", "captures"),
    [
        (
            "[Consumer clientId=consumer-app-1, groupId=orders-app] ",
            {"client_kind": "Consumer", "client_id": "consumer-app-1", "group_id": "orders-app"},
        ),
        (
            "[Consumer instanceId=two, clientId=c, groupId=g] ",
            {"client_kind": "Consumer", "group_instance_id": "two", "client_id": "c", "group_id": "g"},
        ),
        ("[Consumer clientId=c, groupId=null] ", {"client_kind": "Consumer", "client_id": "c"}),
        ("[Consumer clientId=c, groupId=a, b=c] ", {"client_kind": "Consumer", "client_id": "c", "group_id": "a, b=c"}),
        ("[Producer clientId=p, transactionalId=t] ", {"client_kind": "Producer", "client_id": "p", "transactional_id": "t"}),
        ("[AdminClient clientId=adminclient-1] ", {"client_kind": "AdminClient", "client_id": "adminclient-1"}),
        ("[Worker clientId=connect-1, groupId=connect-cluster] ", {"client_kind": "Worker", "client_id": "connect-1", "group_id": "connect-cluster"}),
        ("[ShareConsumer clientId=s, groupId=g] ", {"client_kind": "ShareConsumer", "client_id": "s", "group_id": "g"}),
        (
            "[Consumer clientId=connector-consumer-my-sink-12, groupId=connect-my-sink] ",
            {
                "client_kind": "Consumer",
                "client_id": "connector-consumer-my-sink-12",
                "group_id": "connect-my-sink",
                "connector": "my-sink",
                "task": "my-sink-12",
            },
        ),
        ("[b|task-1] ", {"connector": "b", "task": "b-1"}),
        ("[b|task-1|offsets] ", {"connector": "b", "task": "b-1"}),
        ("[my-orders|worker] ", {"connector": "my-orders"}),
        ("[GroupCoordinator 1]: ", {"broker_id": 1}),
        ("[GroupCoordinator id=1] ", {"broker_id": 1}),
        ("[GroupCoordinator id=1 topic=__consumer_offsets partition=7] ", {"broker_id": 1, "offsets_partition": 7}),
        ("[GroupMetadataManager brokerId=3] ", {"broker_id": 3}),
        ("[Group Metadata Manager on Broker 2]: ", {"broker_id": 2}),
        ("[KafkaApi-1] ", {"broker_id": 1}),
        ("[GroupId orders-app] ", {"group_id": "orders-app"}),
        ("[Group orders app] ", {"group_id": "orders app"}),
        ("[GroupCoordinator id=1 topic=__consumer_offsets partition=7] [GroupId x] ", {"broker_id": 1, "offsets_partition": 7, "group_id": "x"}),
        ("[ReplicaFetcher replicaId=2, leaderId=1, fetcherId=0] ", {"component": "ReplicaFetcher", "broker_id": 2}),
        ("stream-thread [app-StreamThread-1] ", {"thread_name": "app-StreamThread-1"}),
        ("stream-client [app] ", {"thread_name": "app"}),
        (
            "[b|task-1] [Producer clientId=connector-producer-c-3] ",
            {"connector": "c", "task": "c-3", "client_kind": "Producer", "client_id": "connector-producer-c-3"},
        ),
        ("[Something else] ", None),
        ("[unclosed ", None),
        ("streams are nice", None),
    ],
)
def test_prefixes(prefix, captures):
    rest, found, _ = Prefixes().split(prefix + "the message")
    if captures is None:
        assert (rest, found) == (prefix + "the message", {})
    else:
        assert (rest, found) == ("the message", captures)


def test_context_is_kept_as_printed():
    assert Prefixes().split("[b|task-1|offsets] [Consumer clientId=c, groupId=g] x")[2] == "b|task-1|offsets"
    found = RECOGNISER.recognise(COORDINATOR, "[b|task-1] [Consumer clientId=c, groupId=connect-b] (Re-)joining group")
    assert (found.event, found.context, found.message) == ("joining", "b|task-1", "(Re-)joining group")
    assert found.captures == {"connector": "b", "task": "b-1", "client_kind": "Consumer", "client_id": "c", "group_id": "connect-b"}


def test_prefixes_seen_before_give_the_same():
    prefixes = Prefixes()
    assert prefixes.split("[b|task-1] x") == prefixes.split("[b|task-1] x")
    for n in range(20_000):
        assert prefixes.split(f"[c-{n}|task-1] x")[1]["connector"] == f"c-{n}"


@pytest.mark.parametrize(
    "logger",
    [
        COORDINATOR,
        "o.a.k.c.c.internals.ConsumerCoordinator",
        "ConsumerCoordinator",
        "org.apache.kafka.clients.consumer.internals.ConsumerCoordinator$1".removesuffix("$1"),
        "org.apache.kafka.connect.runtime.distributed.WorkerCoordinator",
        None,
    ],
)
def test_dispatch_by_simple_class_name(logger):
    found = RECOGNISER.recognise(logger, JOINED)
    assert (found.event, found.category) == ("joined", "membership")
    assert found.captures == {"generation": 7, "member_id": "m-1", "protocol": "range"}


def test_other_loggers_and_messages_are_nothing():
    assert RECOGNISER.recognise("com.example.Own", JOINED) is None
    assert RECOGNISER.recognise(COORDINATOR, "something") is None
    assert RECOGNISER.recognise(COORDINATOR, "") is None
    assert RECOGNISER.is_interesting(COORDINATOR)
    assert RECOGNISER.is_interesting("o.a.k.c.c.internals.ConsumerCoordinator")
    assert RECOGNISER.is_interesting(None)
    assert not RECOGNISER.is_interesting("com.example.Own")


def test_pattern_wins_over_prefix_over_thread():
    found = RECOGNISER.recognise(
        COORDINATOR, "[Consumer clientId=c, groupId=g] (Re-)joining group other", thread="kafka-coordinator-heartbeat-thread | third"
    )
    assert found.captures["group_id"] == "other"
    found = RECOGNISER.recognise(
        COORDINATOR, "[Consumer clientId=c, groupId=g] (Re-)joining group", thread="kafka-coordinator-heartbeat-thread | third"
    )
    assert found.captures["group_id"] == "g"
    found = RECOGNISER.recognise(COORDINATOR, "(Re-)joining group", thread="kafka-coordinator-heartbeat-thread | third")
    assert found.captures["group_id"] == "third"
    assert "group_id" not in RECOGNISER.recognise(COORDINATOR, "(Re-)joining group").captures, "identical messages share no thread"


def test_threads_and_contexts_of_the_layout():
    assert captures_of_thread("task-thread-my-sink-3") == {"task": "my-sink-3", "connector": "my-sink"}
    assert captures_of_thread("main") == {}
    found = RECOGNISER.recognise(COORDINATOR, "(Re-)joining group", thread="task-thread-a-0")
    assert found.captures == {"task": "a-0", "connector": "a"}
    found = RECOGNISER.recognise(COORDINATOR, "(Re-)joining group", context="[b|task-1] ")
    assert (found.captures, found.context) == ({"task": "b-1", "connector": "b"}, "b|task-1")


def test_a_task_is_read_off_the_client_that_closed():
    found = RECOGNISER.recognise("o.a.k.common.utils.AppInfoParser", "App info kafka.producer for connector-producer-a-0 unregistered")
    assert found.captures == {"app_kind": "kafka.producer", "client_id": "connector-producer-a-0", "task": "a-0", "connector": "a"}


def test_several_lines():
    message = (
        "[Consumer clientId=c, groupId=g] Updating assignment with\n\tAssigned partitions:                       [t-0, t-1]\n"
        "\tCurrent owned partitions:                  [t-0]\n\tAdded partitions (assigned - owned):       [t-1]\n"
        "\tRevoked partitions (owned - assigned):     []\n"
    )
    found = RECOGNISER.recognise(COORDINATOR, message)
    assert found.event == "assignment_updated"
    assert found.message == "Updating assignment with"
    assert found.captures["added_partitions"] == ["t-1"]
    assert found.captures["revoked_partitions"] == []
    trace = RECOGNISER.recognise(COORDINATOR, "(Re-)joining group\njava.lang.Exception: what a pity\n\tat a.b.C.d(C.java:1)")
    assert trace.event == "joining", "a pattern of one line does not mind what follows"


def test_pickles_to_what_it_was():
    copy = pickle.loads(pickle.dumps(RECOGNISER))  # noqa: S301
    assert copy.recognise(COORDINATOR, JOINED) == RECOGNISER.recognise(COORDINATOR, JOINED)
    assert copy.interesting_loggers == RECOGNISER.interesting_loggers


def test_a_hostile_file_costs_less_and_less(tmp_path):
    (tmp_path / "own.toml").write_text(
        '[[event]]\nname = "slow"\ncategory = "other"\nlogger = "x.Slow"\nkafka = "2.0.0.."\n'
        "pattern = '''Slow\\ (?:a+)+b'''\n[[event.example]]\nline = \"Slow aab\"\n",
        encoding="utf-8",
    )
    recogniser = Recogniser(patterns.load([tmp_path]))
    start = time.process_time()
    for n in range(9):
        assert recogniser.recognise("x.Slow", "Slow " + "a" * (5_000 + n)) is None
    assert time.process_time() - start < 4, "nine times the limit of one would be nine seconds"


@given(st.text(max_size=300), st.sampled_from([None, COORDINATOR, "x.WorkerCoordinator", "x.NetworkClient"]))
def test_any_text_is_taken(text, logger):
    RECOGNISER.recognise(logger, text)
    RECOGNISER.recognise(logger, "[Consumer clientId=" + text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[a-0, b-1]", ["a-0", "b-1"]),
        ("a-0, b-1", ["a-0", "b-1"]),
        ("[]", []),
        ("", []),
        ("Set(a, b)", ["a", "b"]),
        ("List()", []),
        ("{a, b}", ["a", "b"]),
        ("null", None),
        ("[a [0], b]", ["a [0]", "b"]),
    ],
)
def test_lists(text, expected):
    assert values.to_list(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{m-1=Assignment(partitions=[t-0, t-1]), m-2=Assignment(partitions=[], userDataSize=4)}", {"m-1": ["t-0", "t-1"], "m-2": []}),
        ("{m=[a-0]}", {"m": ["a-0"]}),
        ("{M=Assignment(partitions={abc=[0, 1], def=[2]}), N=Assignment(partitions={})}", {"M": ["abc-0", "abc-1", "def-2"], "N": []}),
        ("Map(a -> List(t-1), b -> List())", {"a": ["t-1"], "b": []}),
        ("{}", {}),
    ],
)
def test_maps(text, expected):
    assert values.to_map(text) == expected


def test_numbers_that_are_none():
    assert values.to_int("9223372036854775807") == 2**63 - 1
    assert values.to_int("9223372036854775808") is None
    assert values.to_int("9" * 5_000) is None
    assert values.to_int("null") is None
    assert values.to_string("") is None
    assert values.to_double("1.5") == 1.5


def test_offsets_config_addresses():
    offsets = "{t-0=OffsetAndMetadata{offset=5, leaderEpoch=null, metadata=''}, t-1=OffsetAndMetadata{offset=7, metadata=''}}"
    assert values.to_offsets(offsets) == {"t-0": 5, "t-1": 7}
    assert values.to_config("\ta.b = c d\n\te = \n\tf = [x, y]\n") == {"a.b": "c d", "e": "", "f": "[x, y]"}
    assert values.to_address("10.77.0.11', port=9092") == "10.77.0.11:9092"


def signed(data: bytes) -> str:
    return ", ".join(str(b - 256 if b > 127 else b) for b in data)


def test_bytes_of_assignments():
    consumer = b"\x00\x03\x00\x00\x00\x01\x00\x06orders\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x05\xff\xff\xff\xff"
    assert embedded_protocol.decode_assignment(signed(consumer)) == {"assigned_partitions": ["orders-0", "orders-5"]}
    head = b"\x00\x03m-1\x00\x08http://h" + (12).to_bytes(8, "big")
    entry = b"\x00\x00\x00\x01\x00\x01b\x00\x00\x00\x03\xff\xff\xff\xff\x00\x00\x00\x00\x00\x00\x00\x02"
    eager = embedded_protocol.decode_assignment(signed(b"\x00\x00\x00\x00" + head + entry))
    assert eager == {
        "protocol_version": 0, "assignment_error": 0, "leader_member_id": "m-1", "leader_url": "http://h", "assigned_config_offset": 12,
        "assigned_connectors": ["b"], "assigned_tasks": ["b-0", "b-2"],
    }  # fmt: skip
    cooperative = embedded_protocol.decode_assignment(signed(b"\x00\x02\x00\x00" + head + b"\x00\x00\x00\x00" + entry + (300_000).to_bytes(4, "big")))
    assert (cooperative["assigned_tasks"], cooperative["revoked_tasks"], cooperative["delay_ms"]) == ([], ["b-0", "b-2"], 300_000)


@given(st.binary(max_size=80))
def test_any_bytes_are_an_assignment_or_none(data):
    found = embedded_protocol.decode_assignment(signed(data))
    assert found is None or isinstance(found, dict)


@given(st.lists(st.tuples(st.sampled_from(["orders", "a.b", "x-y"]), st.lists(st.integers(0, 99), max_size=5)), max_size=4))
def test_consumer_bytes_round_trip(topics):
    data = b"\x00\x01" + len(topics).to_bytes(4, "big")
    for topic, numbers in topics:
        data += len(topic).to_bytes(2, "big") + topic.encode() + len(numbers).to_bytes(4, "big") + b"".join(n.to_bytes(4, "big") for n in numbers)
    found = embedded_protocol.decode_assignment(signed(data + b"\x00\x00\x00\x00"))
    assert found == {"assigned_partitions": [f"{t}-{n}" for t, numbers in topics for n in numbers]}


HEAD = regex.compile(r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\] (?P<level>INFO|WARN|ERROR) (?P<message>.*) \((?P<logger>[\w.$]+)(?::\d+)?\)")
#: Loggers whose every statement at INFO and above is in the catalogue.
COMPLETE = (
    "AbstractCoordinator", "ConsumerCoordinator", "WorkerCoordinator", "ConsumerRebalanceListenerInvoker", "CoordinatorRequestManager",
    "ConsumerMembershipManager", "ConsumerHeartbeatRequestManager", "NetworkClient", "Metadata", "AppInfoParser", "SubscriptionState",
    "KafkaConsumer", "ClassicKafkaConsumer", "AsyncKafkaConsumer", "CommitRequestManager", "KafkaProducer",
)  # fmt: skip


@pytest.mark.skipif("FORENSICS_RECORDINGS" not in os.environ, reason="FORENSICS_RECORDINGS names no folder of recordings")
def test_recordings_leave_nothing_of_complete_loggers_unrecognised():
    left = set()
    for path in sorted(Path(os.environ["FORENSICS_RECORDINGS"]).glob("*/logs/*/*.log")):
        with path.open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                found = HEAD.fullmatch(line.rstrip("\n"))
                if found and found["logger"].rsplit(".", 1)[-1] in COMPLETE and not RECOGNISER.recognise(found["logger"], found["message"]):
                    left.add((path.parts[-4], found["message"][:150]))
    assert left == set()
