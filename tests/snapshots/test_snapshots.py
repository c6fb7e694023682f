"""Second witnesses: every release's form of what tools, REST answers, topics and properties files say; what is broken; what is secret; what is none."""

from __future__ import annotations

import base64
import json
import os
import struct
from io import BytesIO
from pathlib import Path

import pytest

from forensics.extract import single_readers
from forensics.extract.single_readers import SnapshotReader
from forensics.records.layout_detection import SAMPLE_BYTES, profile_of
from forensics.records.layouts import packaged
from forensics.snapshots.detection import READERS, kind_of, sample_lines
from forensics.snapshots.observation import Broken, CommitEvent, Observation, Strange, moment_of


def read(text: str | bytes, expected_kind: str) -> list[Observation]:
    """Return the rows of a text; it must be of the kind and contain nothing unknown."""
    data = text.encode() if isinstance(text, str) else text
    assert kind_of(data, fitting=0, lines=1) == expected_kind
    items = [i.commit.observation(i.event) if isinstance(i, CommitEvent) else i for i in READERS[expected_kind](sample_lines(data))]
    assert [i for i in items if not isinstance(i, Observation)] == []
    return items


def of(items: list[Observation], event: str) -> list[dict]:
    return [dict(i.captures) for i in items if i.event == event]


TOPICS = {
    "0.9 to 2.3": (
        "Topic:orders\tPartitionCount:2\tReplicationFactor:2\tConfigs:cleanup.policy=compact,delete,retention.ms=5\n"
        "\tTopic: orders\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1\n"
        "\tTopic: orders\tPartition: 1\tLeader: none\tReplicas: 2,1\tIsr: \n"
    ),
    "2.4 to 2.7": (
        "Topic: orders\tPartitionCount: 2\tReplicationFactor: 2\tConfigs: cleanup.policy=compact,delete,retention.ms=5\tMarkedForDeletion: true\n"
        "\tTopic: orders\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1\tMarkedForDeletion: true\n"
        "\tTopic: orders\tPartition: 1\tLeader: none\tReplicas: 2,1\tIsr: \tMarkedForDeletion: true\n"
    ),
    "2.8 to 3.x": (
        "Topic: orders\tTopicId: A9qz0AydSSazQ5c6E-qUcQ\tPartitionCount: 2\tReplicationFactor: 2\tConfigs: cleanup.policy=compact,delete,retention.ms=5\n"
        "\tTopic: orders\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1\tAdding Replicas: 2\tRemoving Replicas: \n"
        "\tTopic: orders\tPartition: 1\tLeader: none\tReplicas: 2,1\tIsr: \n"
    ),
    "4.x": (
        "Topic: orders\tTopicId: A9qz0AydSSazQ5c6E-qUcQ\tPartitionCount: 2\tReplicationFactor: 2\tConfigs: cleanup.policy=compact,delete,retention.ms=5\n"
        "\tTopic: orders\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1\tElr: \tLastKnownElr: 2\n"
        "\tTopic: orders\tPartition: 1\tLeader: none\tReplicas: 2,1\tIsr: \tElr: N/A\tLastKnownElr: N/A\n"
    ),
}


@pytest.mark.parametrize("release", TOPICS)
@pytest.mark.parametrize("blanks", [False, True], ids=["tabs", "pasted"])
def test_topics_of_every_release(release: str, blanks: bool) -> None:
    text = TOPICS[release].replace("\t", "    ") if blanks else TOPICS[release]
    items = read("$ bin/kafka-topics.sh --describe --topic orders\n" + text.replace("\n", "\r\n"), "topics_described")
    topic = of(items, "topic_described")[0]
    assert (topic["topic"], topic["replication_factor"], topic["config"]) == ("orders", 2, {"cleanup.policy": "compact,delete", "retention.ms": "5"})
    first, second = of(items, "partition_described")
    assert (first["partition"], first["broker_id"], first["replicas"], first["isr"]) == ("orders-0", 1, ["1", "2"], ["1"])
    assert (second["partition"], second.get("broker_id"), second["replicas"], second["isr"]) == ("orders-1", None, ["2", "1"], [])
    if "4" in release[:1]:
        assert first["columns"] == {"Elr": "", "LastKnownElr": "2"}
    if "Adding" in text:
        assert first["columns"] == {"Adding Replicas": "2", "Removing Replicas": ""}


OFFSETS = {
    "0.9": (
        "GROUP, TOPIC, PARTITION, CURRENT OFFSET, LOG END OFFSET, LAG, OWNER\n"
        "app, orders, 0, 10, 12, 2, consumer-1_/10.0.0.1\napp, orders, 1, unknown, 12, unknown, none\n"
    ),
    "0.10.0": (
        "GROUP                          TOPIC                          PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG             OWNER\n"
        "app                            orders                         0          10              12              2               consumer-1_/10.0.0.1\n"
        "app                            orders                         1          unknown         12              unknown         none\n"
    ),
    "0.10.2 to 2.3": (
        "\nTOPIC                          PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG        CONSUMER-ID"
        "                                       HOST                           CLIENT-ID\n"
        "orders                         0          10              12              2          consumer-1-b52d3c5e-1c1c-4c1f-a8b5-0c3d1e9f0a55"
        "   /10.0.0.1                      consumer-1\n"
        "orders                         1          -               12              -          -"
        "                                                 -                              -\n"
    ),
    "2.4 on": (
        "\nGROUP           TOPIC           PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG             CONSUMER-ID"
        "                                       HOST            CLIENT-ID\n"
        "app             orders          0          10              12              2               consumer-1-b52d3c5e-1c1c-4c1f-a8b5-0c3d1e9f0a55"
        " /10.0.0.1       consumer-1\n"
        "app             orders          1          -               12              -               -"
        "                                                 -               -\n"
    ),
}


@pytest.mark.parametrize("release", OFFSETS)
def test_offsets_of_every_release(release: str) -> None:
    first, second = of(read(OFFSETS[release], "groups_described"), "group_offset_described")
    assert (first["partition"], first["offset"], first["columns"]["LAG"]) == ("orders-0", 10, "2")
    assert second["partition"] == "orders-1" and "offset" not in second
    assert first.get("group_id") == (None if release.startswith("0.10.2") else "app")
    if "CLIENT-ID" in OFFSETS[release]:
        assert (first["client_id"], first["client_host"], first["member_id"][:12]) == ("consumer-1", "10.0.0.1", "consumer-1-b")
        assert "client_id" not in second and "member_id" not in second


MEMBERS = {
    "1.1 to 2.3": "\nCONSUMER-ID     HOST            CLIENT-ID       #PARTITIONS     ASSIGNMENT\nm-1             /10.0.0.1       c-1             3               orders(0,1), pay(2)\nm-2             /10.0.0.2       c-2             0               -\n",
    "2.4 on": "\nGROUP           CONSUMER-ID     HOST            CLIENT-ID       #PARTITIONS     ASSIGNMENT\napp             m-1             /10.0.0.1       c-1             3               orders(0,1), pay(2)\napp             m-2             /10.0.0.2       c-2             0               -\n",
    "static": "\nGROUP           CONSUMER-ID     GROUP-INSTANCE-ID HOST            CLIENT-ID       #PARTITIONS     ASSIGNMENT\napp             m-1             one               /10.0.0.1       c-1             3               orders(0,1), pay(2)\napp             m-2             two               /10.0.0.2       c-2             0               -\n",
    "4.x": "\nGROUP           CONSUMER-ID     HOST            CLIENT-ID       #PARTITIONS     CURRENT-EPOCH   CURRENT-ASSIGNMENT   TARGET-EPOCH    TARGET-ASSIGNMENT   \napp             m-1             /10.0.0.1       c-1             3               9               orders:0,1;pay:2     10              orders:0            \napp             m-2             /10.0.0.2       c-2             0               -               -                    -               -                   \n",
}


@pytest.mark.parametrize("release", MEMBERS)
def test_members_of_every_release(release: str) -> None:
    first, second = of(read(MEMBERS[release], "groups_described"), "member_described")
    assert (first["member_id"], first["client_host"], first["client_id"]) == ("m-1", "10.0.0.1", "c-1")
    assert first["assigned_partitions"] == ["orders-0", "orders-1", "pay-2"]
    assert second["assigned_partitions"] == []
    if release == "static":
        assert first["group_instance_id"] == "one"
    if release == "4.x":
        assert first["member_epoch"] == 9 and first["columns"]["TARGET-EPOCH"] == "10" and "member_epoch" not in second


def test_states_of_several_groups_in_one_file() -> None:
    items = read(
        "\nGROUP                     COORDINATOR (ID)          ASSIGNMENT-STRATEGY  STATE           #MEMBERS\n"
        "app                       10.0.0.9:9092 (3)         range                Stable          5\n"
        "\nGROUP                     COORDINATOR (ID)          ASSIGNMENT-STRATEGY  STATE           #MEMBERS\n"
        "empty                     10.0.0.8:9092  (2)                             Empty           0\n"
        "\nCOORDINATOR (ID)          ASSIGNMENT-STRATEGY       STATE                #MEMBERS\n"
        "10.0.0.9:9092 (3)         range                     Stable               2\n"
        "\nGROUP                     COORDINATOR (ID)          ASSIGNMENT-STRATEGY  STATE           GROUP-EPOCH     TARGET-ASSIGNMENT-EPOCH #MEMBERS\n"
        "new                       10.0.0.9:9092 (3)         uniform              Reconciling     7               6                       2\n"
        "\nConsumer group 'empty' has no active members.\n\nWarning: Consumer group 'busy' is rebalancing.\n",
        "groups_described",
    )
    found = of(items, "group_described")
    assert [(g.get("group_id"), g["group_state"], g.get("broker_id"), g.get("member_count")) for g in found] == [
        ("app", "Stable", 3, 5), ("empty", "Empty", 2, 0), (None, "Stable", 3, 2), ("new", "Reconciling", 3, 2),
        ("empty", "Empty", None, None), ("busy", "Rebalancing", None, None),
    ]  # fmt: skip
    assert (found[0]["protocol"], found[0]["coordinator"]) == ("range", "10.0.0.9:9092")
    assert "protocol" not in found[1]
    assert (found[3]["generation"], found[3]["columns"]["TARGET-ASSIGNMENT-EPOCH"]) == (7, "6")


def test_a_time_above_an_answer_is_when_it_was_taken() -> None:
    items = observed("Mon Mar  2 10:00:00 UTC 2026\n" + MEMBERS["2.4 on"])
    assert {i.ts for i in items} == {1772445600_000_000}
    assert moment_of("2026-03-02T11:00:00.250+01:00") == 1772445600_250_000
    assert moment_of("Date: Mon, 02 Mar 2026 10:00:00 GMT") == 1772445600_000_000
    assert moment_of("2026-03-02 10:00:00") is None, "a time without a zone tells no moment"


def observed(text: str, path: str = "", zone: str = "UTC") -> list[Observation]:
    """Return what is read of a tool's output, of which a log's layouts may fit some lines."""
    data = text.encode()
    profile = profile_of(data, packaged(), b"")
    assert kind_of(data, fitting=0 if profile.learned else profile.fitting, lines=profile.lines) == "groups_described"
    return list(SnapshotReader("groups_described", path, zone).observations(BytesIO(data)))


#: Forms of a time above an output, each the moment 10:15:30 by the clock of its zone.
WATCHED = "Every 5.0s: kafka-consumer-groups.sh --bootstrap-server b1:9092 --describe --group app"
ABOVE = {
    "date, UTC": ("Tue Mar  5 10:15:30 UTC 2024", 0),
    "date, another zone": ("Tue Mar  5 10:15:30 CET 2024", 1),
    "date, 12 hours": ("Tue 05 Mar 2024 10:15:30 AM CET", 1),
    "date, British": ("Tue  5 Mar 10:15:30 GMT 2024", 0),
    "date, ambiguous zone": ("Tue Mar  5 10:15:30 IST 2024", 2),
    "decorated": ("===== 2024-03-05 10:15:30 =====", 2),
    "decorated, with a zone": ("--- time: 2024-03-05T10:15:30.000+01:00 ---", 1),
    "brackets": ("[2024-03-05 10:15:30]", 2),
    "date -Is": ("2024-03-05T10:15:30+00:00", 0),
    "watch": (f"{WATCHED}  host: Tue Mar  5 10:15:30 2024", 2),
    "watch, before procps 3.3": (f"{WATCHED}     Tue Mar  5 10:15:30 2024", 2),
    "watch, shortened": ("Every 2,0s: kafka-consumer-groups --bootstrap-server b1:9092 --describe --gr...  host: Tue Mar  5 10:15:30 2024", 2),
    "epoch": ("1709633730", 0),
    "HTTP": ("Date: Tue, 05 Mar 2024 10:15:30 GMT", 0),
}


@pytest.mark.parametrize("form", ABOVE)
@pytest.mark.parametrize("release", ["0.10.2 to 2.3", "2.4 on"])
def test_outputs_one_after_another_have_their_own_times(form: str, release: str) -> None:
    above, hours = ABOVE[form]
    again = above.replace("10:15:30", "10:15:35").replace("33730", "33735")
    table = OFFSETS[release]
    items = observed(f"{above}\n{table}\n{again}\n{table}{table}", zone="+02:00")
    at = 1709633730_000_000 - hours * 3600_000_000
    # The third output has no time of its own.
    assert [i.ts for i in items] == [at, at, at + 5_000_000, at + 5_000_000, None, None]
    assert [i.output for i in items] == [0, 0, 1, 1, 2, 2]
    known = release == "2.4 on" or WATCHED in above
    assert {i.captures.get("group_id") for i in items} == {"app" if known else None}


def test_the_name_of_a_file_has_the_time_of_its_first_output() -> None:
    table = OFFSETS["2.4 on"]
    for name in (
        "describe-20240305-101530.txt",
        "2024-03-05T10:15:30Z.txt",
        "lag.2024-03-05_10.15.30.out",
        "a.zip!d/d-1709633730.txt",
        "20240305101530",
    ):
        assert [i.ts for i in observed(table + table, f"20230101-000000/{name}")] == [1709633730_000_000] * 2 + [None] * 2
    assert observed(table, "describe-20240305-101530.txt", "Europe/Berlin")[0].ts == 1709630130_000_000
    for name in (
        "describe-20240305-1015.txt",
        "describe-20241305-101530.txt",
        "20240305-101530-to-20240305-101630.txt",
        "20240305-101530/describe.txt",
        "12345678901234.txt",
    ):
        assert observed(table, name)[0].ts is None
    assert observed("Tue Mar  5 10:15:35 UTC 2024\n" + table, "describe-20240101-000000.txt")[0].ts == 1709633735_000_000


def test_a_command_above_a_table_names_the_group_that_older_tools_do_not_print() -> None:
    table, command = OFFSETS["0.10.2 to 2.3"], "$ bin/kafka-consumer-groups.sh --bootstrap-server b:9092 --describe "
    items = observed(command + "--group app\n" + table + command + "--group=pay\n" + table + command + "--all-groups\n" + table)
    assert [i.captures.get("group_id") for i in items] == ["app", "app", "pay", "pay", None, None]


#: Tables of kafka-transactions: the values of a row, and what is read of it.
TRANSACTIONS = {
    "list": (
        "TransactionalId\tCoordinator\tProducerId\tTransactionState\t\npay-1          \t1          \t7         \tOngoing         \t\n",
        {"transactional_id": "pay-1", "producer_id": 7, "state": "Ongoing", "broker_id": 1},
    ),
    "describe": (
        "CoordinatorId\tTransactionalId\tProducerId\tProducerEpoch\tTransactionState\tTransactionTimeoutMs\tCurrentTransactionStartTimeMs\tTransactionDurationMs\tTopicPartitions\n"
        "1\tpay-1\t7\t3\tOngoing\t60000\t1709633730000\t5000\tt-0,t-1\n",
        {"transactional_id": "pay-1", "producer_id": 7, "epoch": 3, "state": "Ongoing", "partitions": ["t-0", "t-1"]},
    ),
    "describe, ended": (
        "CoordinatorId TransactionalId ProducerId ProducerEpoch TransactionState TransactionTimeoutMs CurrentTransactionStartTimeMs TransactionDurationMs TopicPartitions\n"
        "1             pay-1           7          3             Empty            60000                None                          None\n",
        {"transactional_id": "pay-1", "state": "Empty", "partitions": []},
    ),
    "describe-producers": (
        "$ bin/kafka-transactions.sh --bootstrap-server b1:9092 describe-producers --topic t --partition 4\n"
        "ProducerId\tProducerEpoch\tLatestCoordinatorEpoch\tLastSequence\tLastTimestamp\tCurrentTransactionStartOffset\t\n7\t3\t-1\t9\t1709633730000\t50\t\n",
        {"partition": "t-4", "topic": "t", "producer_id": 7, "epoch": 3, "offset": 50},
    ),
    "describe-producers without its command": (
        "ProducerId  ProducerEpoch  LatestCoordinatorEpoch  LastSequence  LastTimestamp  CurrentTransactionStartOffset\n7  3  -1  9  1709633730000  None\n",
        {"producer_id": 7, "partition": None, "offset": None},
    ),
    "find-hanging": (
        "Topic\tPartition\tProducerId\tProducerEpoch\tCoordinatorEpoch\tStartOffset\tLastTimestamp\tDuration(min)\t\nt\t4\t7\t3\t-1\t50\t1709633730000\t70\t\n",
        {"partition": "t-4", "producer_id": 7, "offset": 50},
    ),
}


@pytest.mark.parametrize("command", TRANSACTIONS)
def test_tables_of_transactions(command: str) -> None:
    text, expected = TRANSACTIONS[command]
    items = read(text.replace("\t", "    ") if "TopicPartitions\n" not in text else text, "transactions_described")
    assert len(items) == len(read(text, "transactions_described")) == 1
    for item in items:
        assert {name: item.captures.get(name) for name in expected} == expected
    both = "Tue Mar  5 10:15:30 UTC 2024\n" + OFFSETS["2.4 on"] + "\n2024-03-05 10:16:00\n" + text + OFFSETS["2.4 on"]
    assert [i.event for i in observed(both)].count(items[0].event) == 1 and len(observed(both)) == 5


def test_offsets_of_source_connectors() -> None:
    records = (
        'CreateTime:1709633730000\tPartition:3\tOffset:5\t["files",{"filename":"a b"}]\t{"position":30}\n'
        '["inventory",{"server":"x"}]\t{"lsn":5,"snapshot":true}\n'
        '["inventory",{"server":"x"}]|null\n'
        '{"schema":{"type":"array"},"payload":["old",{"p":1}]}\t{"schema":{},"payload":{"o":2}}\n'
    )
    first, second, third, fourth = read(records, "connect_topic")
    assert (first.ts, first.captures["connector"], first.captures["log_offset"]) == (1709633730_000_000, "files", 5)
    assert first.captures["columns"] == {"partition": '{"filename":"a b"}', "offset": '{"position":30}'}
    assert second.captures["columns"]["offset"] == '{"lsn":5,"snapshot":true}'
    assert (third.event, third.captures["columns"]) == ("source_offset_removed", {"partition": '{"server":"x"}'})
    assert (fourth.captures["connector"], fourth.captures["columns"]["offset"]) == ("old", '{"o":2}')
    # A record that is cut anywhere is no record, or the same one.
    whole = '["inventory",{"server":"x"}]\t{"lsn":512}'
    for size in range(len(whole)):
        found = [i for i in READERS["connect_topic"](sample_lines(whole[:size].encode())) if isinstance(i, Observation)]
        assert found == []


def test_offsets_in_an_answer_of_connect() -> None:
    answer = '{"offsets":[{"partition":{"filename":"a"},"offset":{"position":30}},{"partition":{"kafka_topic":"t","kafka_partition":0},"offset":{"kafka_offset":7}}]}'
    request = "$ curl -si http://w1:8083/connectors/files/offsets\nHTTP/1.1 200 OK\nDate: Tue, 05 Mar 2024 10:15:30 GMT\n\n"
    source, sink = read(request + answer, "connect_rest")
    assert (source.ts, source.captures["connector"], source.captures["columns"]["offset"]) == (1709633730_000_000, "files", '{"position":30}')
    assert (sink.captures["group_id"], sink.captures["partition"], sink.captures["offset"]) == ("connect-files", "t-0", 7)
    assert "connector" not in read(answer, "connect_rest")[0].captures


def connect_assignment(leader: str, url: str, tasks: list[int], version: int = 1) -> bytes:
    def text(s: str) -> bytes:
        return struct.pack(">h", len(s)) + s.encode()

    data = struct.pack(">hh", version, 0) + text(leader) + text(url) + struct.pack(">q", 5)
    data += struct.pack(">i", 1) + text("b") + struct.pack(f">i{len(tasks)}i", len(tasks), *tasks)
    return data + (struct.pack(">ii", 0, 0) if version else b"")


LEADER, URL = "connect-1-a", "http://w1:8083/"
HEX = f"{int.from_bytes(connect_assignment(LEADER, URL, [-1, 0]), 'big'):X}"
HEX_V0 = f"{int.from_bytes(connect_assignment(LEADER, URL, [-1, 0], 0), 'big'):X}"
HEAD = "Dumping /data/__consumer_offsets-7/00000000000000000000.log\nStarting offset: 0\n"
DUMPS = {
    "0.9": "offset: 3 position: 0 isvalid: true payloadsize: 9 magic: 0 compresscodec: NoCompressionCodec crc: 1 keysize: 9 key: metadata::cc payload: connect:default:4:{HEX0}\n",
    "0.10": "offset: 3 position: 0 CreateTime: 1772445600000 isvalid: true payloadsize: 9 magic: 1 compresscodec: NoCompressionCodec crc: 1 keysize: 9 key: metadata::cc payload: connect:default:4:{HEX0}\n",
    "1.1 to 2.4": '| offset: 3 CreateTime: 1772445600000 keysize: 9 valuesize: 9 sequence: -1 headerKeys: [] key: {"metadata":"cc"} payload: {"protocolType":"connect","protocol":"default","generationId":4,"assignment":"{HEX1}"}\n',
    "2.5 to 3.7": '| offset: 3 CreateTime: 1772445600000 keySize: 9 valueSize: 9 sequence: -1 headerKeys: [] key: group_metadata::group=cc payload: {"protocolType":"connect","protocol":"default","generationId":4,"assignment":"{HEX1}"}\n',
}


@pytest.mark.parametrize("release", DUMPS)
def test_group_metadata_of_older_dumps(release: str) -> None:
    text = DUMPS[release].replace("{HEX0}", f"{{connect-1-a={HEX_V0}}}").replace("{HEX1}", f"{{connect-1-a={HEX},connect-1-b=}}")
    items = read(HEAD + text, "offsets_dump")
    group = of(items, "group_stored")[0]
    assert (group["group_id"], group["generation"], group["protocol"], group["offsets_partition"]) == ("cc", 4, "default", 7)
    assert group["leader_member_id"] == LEADER
    member = of(items, "member_stored")[0]
    assert (member["member_id"], member["assigned_connectors"], member["assigned_tasks"], member["leader_url"]) == (
        "connect-1-a",
        ["b"],
        ["b-0"],
        URL,
    )
    assert items[0].ts == (None if release == "0.9" else 1772445600_000_000)


def test_consumers_in_an_older_dump() -> None:
    items = read(
        HEAD + "| offset: 1 CreateTime: 1 key: group_metadata::group=app payload: "
        '{"protocolType":"consumer","protocol":"range","generationId":2,"assignment":"{m-1=[orders-0, orders-1],m-2=[orders-2]:0AFF,m-3=[]}"}\n'
        "| offset: 2 CreateTime: 1 key: group_metadata::group=app payload: <DELETE>\n",
        "offsets_dump",
    )
    assert [m["assigned_partitions"] for m in of(items, "member_stored")] == [["orders-0", "orders-1"], ["orders-2"], []]
    assert of(items, "group_removed") == [{"group_id": "app", "offsets_partition": 7, "log_offset": 2, "log_run": 1}]


def commits(items: list[Observation]) -> list[tuple]:
    """Return event, group, partition, offset, time in milliseconds and place in the log of each commit, in order of lines."""
    found = sorted((i for i in items if i.event.startswith("offset_")), key=lambda i: i.line)
    return [
        (i.event.removeprefix("offset_"), i.captures["group_id"], i.captures["partition"], i.captures.get("offset"), i.ts and i.ts // 1000,
         i.captures.get("log_offset"), i.captures.get("log_run")) for i in found
    ]  # fmt: skip


def test_every_commit_is_read() -> None:
    items = read(
        HEAD + "offset: 0 CreateTime: 5 key: offset::a:b:orders:0 payload: 10\noffset: 1 CreateTime: 6 key: offset::a:b:orders:0 payload: 12:meta\n"
        "| offset: 2 CreateTime: 7 key: offset_commit::group=app,partition=pay-day-3 payload: offset=9,metadata=x,y\n"
        "| offset: 5 CreateTime: 8 key: offset_commit::group=old,partition=pay-0 payload: <DELETE>\n"
        '| offset: 6 CreateTime: 9 key: {"type":"1","data":{"group":"app","topic":"orders","partition":4}} payload: '
        '{"version":"3","data":{"offset":121,"leaderEpoch":2,"metadata":"","commitTimestamp":9}}\n',
        "offsets_dump",
    )
    assert commits(items) == [
        ("superseded", "a:b", "orders-0", 10, 5, 0, 0), ("stored", "a:b", "orders-0", 12, 6, 1, 0), ("stored", "app", "pay-day-3", 9, 7, 2, 0),
        ("removed", "old", "pay-0", None, 8, 5, 1), ("stored", "app", "orders-4", 121, 9, 6, 1),
    ]  # fmt: skip
    assert [c.get("metadata") for c in of(items, "offset_stored")] == ["meta", "x,y", None]
    assert of(items, "offset_stored")[2]["leader_epoch"] == 2


@pytest.mark.parametrize(
    "line",
    [
        "[a,b,orders,0]::[OffsetMetadata[10,NO_METADATA],CommitTime 1479708539051,ExpirationTime 1480313339051]",
        "[a,b,orders,0]::OffsetAndMetadata(offset=10, leaderEpoch=Optional.empty, metadata=, commitTimestamp=1479708539051, expireTimestamp=Some(1480313339051))",
        "[a,b,orders,0]::OffsetAndMetadata(offset=10, leaderEpoch=Optional.empty, metadata=, commitTimestamp=1479708539051, "
        "expireTimestamp=OptionalLong[1480313339051])",
        '{"key":{"version":1,"data":{"group":"a,b","topic":"orders","partition":0}},"value":{"version":1,"data":{"offset":10,"metadata":"",'
        '"commitTimestamp":1479708539051,"expireTimestamp":1480313339051}}}',
        '{"key":{"type":"1","data":{"group":"a,b","topic":"orders","partition":0}},"value":{"version":"1","data":{"offset":10,"metadata":"",'
        '"commitTimestamp":1479708539051,"expireTimestamp":1480313339051}}}',
    ],
)
def test_commits_as_the_console_consumer_prints_them(line: str) -> None:
    removed = (
        '{"key":{"version":1,"data":{"group":"a,b","topic":"orders","partition":0}},"value":null}' if line.startswith("{") else "[a,b,orders,0]::NULL"
    )
    items = read(f"{line}\n{removed}\n", "offsets_dump")
    assert commits(items) == [
        ("superseded", "a,b", "orders-0", 10, 1479708539051, None, None),
        ("removed", "a,b", "orders-0", None, None, None, None),
    ]
    assert items[0].captures["expire_ms"] == 1480313339051


@pytest.mark.parametrize(
    "fields",
    [
        '"offset":%d,"leaderEpoch":-1,"metadata":"","commitTimestamp":9',
        '"offset":%d,"leaderEpoch":2,"metadata":"NO_METADATA","commitTimestamp":9,"expireTimestamp":-1',
        '"offset":%d,"leaderEpoch":2,"metadata":"a b","commitTimestamp":9,"expireTimestamp":70',
        '"offset":%d,"leaderEpoch":2,"metadata":"a\\u0020\\"b","commitTimestamp":9',
        '"offset":%d,"leaderEpoch":2,"metadata":"","commitTimestamp":9,"topicId":"AAAA"',
    ],
)
def test_a_commit_of_usual_form_is_read_as_any_other(fields: str) -> None:
    """The usual form is read without a JSON parser, which reads the same with blanks in it."""
    key = '{"type":"1","data":{"group":"app","topic":"pay","partition":3}}'

    def dump(blank: str) -> str:
        values = (f'{{"version":"4",{blank}"data":{{{fields % n}}}}}' for n in range(1, 4))
        return HEAD + "".join(f"| offset: {n} CreateTime: 8 key: {key} payload: {value}\n" for n, value in enumerate(values))

    usual, spaced = (read(dump(blank), "offsets_dump") for blank in ("", " "))
    assert len(usual) == 3
    assert [(o.event, o.message, o.captures, o.ts) for o in usual if isinstance(o, Observation)] == [
        (o.event, o.message, o.captures, o.ts) for o in spaced if isinstance(o, Observation)
    ]


def test_commits_of_a_transaction_count_from_its_end() -> None:
    def batch(at: int, producer: int, *, control: bool = False) -> str:
        return (
            f"baseOffset: {at} lastOffset: {at} count: 1 baseSequence: 0 lastSequence: 0 producerId: {producer} producerEpoch: 0 partitionLeaderEpoch: 0 "
            f"isTransactional: {'true' if producer >= 0 else 'false'} isControl: {'true' if control else 'false'} position: 0 CreateTime: {at} isvalid: true\n"
        )

    def commit(at: int, offset: int, producer: int) -> str:
        return batch(at, producer) + f"| offset: {at} CreateTime: {at} key: offset_commit::group=g,partition=t-0 payload: offset={offset}\n"

    def end(at: int, producer: int, how: str) -> str:
        return (
            batch(at, producer, control=True)
            + f"| offset: {at} CreateTime: {at} keySize: 4 sequence: -1 headerKeys: [] endTxnMarker: {how} coordinatorEpoch: 0\n"
        )

    text = commit(0, 10, 7) + commit(1, 5, -1) + end(2, 7, "COMMIT") + commit(3, 90, 7) + end(4, 7, "ABORT") + commit(5, 20, 8)
    found = commits(read(HEAD + text, "offsets_dump"))
    assert found == [
        ("stored", "g", "t-0", 10, 2, 2, 0), ("superseded", "g", "t-0", 5, 1, 1, 0), ("aborted", "g", "t-0", 90, 3, 3, 0), ("pending", "g", "t-0", 20, 5, 5, 0)
    ]  # fmt: skip


@pytest.mark.parametrize("size", range(1, 260, 7))
def test_a_dump_that_is_cut_has_no_wrong_commit(size: int) -> None:
    text = HEAD + "".join(
        f"| offset: {n} CreateTime: {n} key: offset_commit::group=g,partition=t-0 payload: offset={1000 * n + 999},metadata=m\n" for n in range(3)
    )
    found = list(READERS["offsets_dump"](sample_lines(text[:-size].encode())))
    assert all(p.commit.values[0] % 1000 == 999 for p in found if isinstance(p, CommitEvent))


@pytest.mark.parametrize("where", ["middle", "end"])
def test_a_huge_line_is_not_held(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(single_readers, "MAX_DOCUMENT_BYTES", 200_000)
    commit = "| offset: {} CreateTime: 7 key: offset_commit::group=g,partition=t-0 payload: offset={}\n"
    huge = "| offset: 1 CreateTime: 7 key: offset_commit::group=g,partition=t-0 payload: offset=5,metadata=" + "x" * 900_000 + "\n"
    after = commit.format(2, 9) if where == "middle" else ""
    content = (commit.format(0, 4) + huge + after).encode()
    (chunk,) = SnapshotReader("offsets_dump").read(BytesIO(content))
    found = list(SnapshotReader("offsets_dump").observations(BytesIO(content)))
    assert [(o.captures["offset"], o.line, o.offset, o.captures["log_run"]) for o in found] == [(4, 1, 0, 0)] + (
        [(9, 3, len(commit.format(0, 4) + huge), 1)] if after else []
    )
    assert (chunk.cut, chunk.lines) == ([2], 2 + bool(after))


def test_group_metadata_of_newer_dumps() -> None:
    subscription = base64.b64encode(struct.pack(">h", 1) + struct.pack(">h", len(URL)) + URL.encode() + struct.pack(">qi", 5, -1)).decode()
    assigned = base64.b64encode(connect_assignment(LEADER, URL, [0], 2)).decode()
    member = {
        "memberId": LEADER,
        "groupInstanceId": None,
        "clientId": "c",
        "clientHost": "/10.0.0.1",
        "rebalanceTimeout": 20000,
        "sessionTimeout": 6000,
    }
    value = {"protocolType": "connect", "generation": 3, "protocol": "sessioned", "leader": LEADER, "currentStateTimestamp": 7}
    data = {**value, "members": [{**member, "subscription": subscription, "assignment": assigned}]}
    line = '| offset: 0 CreateTime: 1772445600000 keySize: 9 key: {"type":"2","data":{"group":"cc"}} payload: '
    items = read(HEAD.replace("Starting", "Log starting") + line + json.dumps({"version": "3", "data": data}) + "\n", "offsets_dump")
    assert of(items, "group_stored")[0]["leader_member_id"] == LEADER
    found = of(items, "member_stored")[0]
    assert (found["worker_url"], found["client_host"], found["assigned_tasks"], found["session_timeout_ms"]) == (URL, "10.0.0.1", ["b-0"], 6000)


def test_groups_of_kip_848_in_a_dump() -> None:
    def record(kind: int, key: dict, value: dict | None) -> str:
        payload = "<DELETE>" if value is None else json.dumps({"version": "0", "data": value})
        return f"| offset: {kind} CreateTime: 5 key: {json.dumps({'type': str(kind), 'data': key}, separators=(',', ':'))} payload: {payload}\n"

    group, member = {"groupId": "app"}, {"groupId": "app", "memberId": "m"}
    items = read(
        HEAD
        + record(3, group, {"epoch": 4, "metadataHash": 1})
        + record(4, group, {"topics": []})
        + record(5, member, {"instanceId": None, "clientId": "c", "clientHost": "/10.0.0.1", "subscribedTopicNames": ["orders"], "rebalanceTimeoutMs": 5})
        + record(6, group, {"assignmentEpoch": 4})
        + record(7, member, {"topicPartitions": [{"topicId": "T", "partitions": [0, 1]}]})
        + record(8, member, {"memberEpoch": 4, "previousMemberEpoch": 3, "state": 1, "assignedPartitions": [{"topicId": "T", "partitions": [0]}],
                             "partitionsPendingRevocation": [{"topicId": "T", "partitions": [2]}]})
        + record(8, member, None)
        + record(3, group, None),
        "offsets_dump",
    )  # fmt: skip
    assert [g.get("generation") for g in of(items, "group_stored")] == [4, None]
    members = of(items, "member_stored")
    assert [m["columns"]["RECORD"] for m in members] == ["member", "target", "current"]
    assert (members[2]["member_epoch"], members[2]["assigned_partitions"], members[2]["revoked_partitions"]) == (4, ["T-0"], ["T-2"])
    assert len(of(items, "member_removed")) == len(of(items, "group_removed")) == 1


STATUS = '{"state":"FAILED","trace":"org.x.E: jdbc:db://me:geheim@h/x\\n\\tat a.b","worker_id":"w1:8083","generation":12}'


@pytest.mark.parametrize("before", ["", "CreateTime:1772445600000\t", "CreateTime:1772445600000\tPartition:2\tOffset:17\tNO_HEADERS\t"])
@pytest.mark.parametrize("parting", ["\t", " | ", ":"])
def test_records_of_connects_topics(before: str, parting: str) -> None:
    config = '{"properties":{"connector.class":"X","connection.password":"geheim","url":"http://u:geheim@h/"}}'
    text = "".join(
        f"{before}{key}{parting}{value}\n"
        for key, value in [
            ("status-task-my-sink-3", STATUS),
            ("status-connector-my-sink", '{"state":"RUNNING","trace":null,"worker_id":"w1:8083","generation":12}'),
            ("connector-my-sink", config),
            ("task-my-sink-0", config),
            ("commit-my-sink", '{"tasks":4}'),
            ("session-key", '{"key":"geheim=","algorithm":"HmacSHA256","creation-timestamp":1}'),
            ("target-state-my-sink", '{"state":"PAUSED","state.v2":"STOPPED"}'),
            ("status-task-my-sink-4", "null"),
        ]
    )
    items = read(text + "Processed a total of 8 messages\n", "connect_topic")
    failed, removed = of(items, "task_status_reported")
    assert (failed["connector"], failed["task"], failed["state"], failed["worker_id"], failed["generation"]) == (
        "my-sink", "my-sink-3", "FAILED", "w1:8083", 12,
    )  # fmt: skip
    assert failed["error"] == "org.x.E: jdbc:db://me:[redacted]@h/x"
    assert (removed["task"], removed["state"]) == ("my-sink-4", "REMOVED")
    assert of(items, "connector_described")[0]["config"] == {
        "connector.class": "X", "connection.password": "[redacted]", "url": "http://u:[redacted]@h/",
    }  # fmt: skip
    assert of(items, "task_config_reported")[0]["task"] == "my-sink-0"
    assert of(items, "target_state_stored")[0]["state"] == "STOPPED"
    assert "geheim" not in repr([(i.message, i.captures) for i in items]), "a secret was kept"
    assert items[0].ts == (1772445600_000_000 if before else None)


INFO = {
    "name": "b",
    "config": {"connector.class": "X", "name": "b", "db.password": "geheim"},
    "tasks": [{"connector": "b", "task": 0}],
    "type": "sink",
}
STATE = {
    "name": "b", "connector": {"state": "RUNNING", "worker_id": "w1:8083"}, "type": "sink",
    "tasks": [{"id": 0, "state": "UNASSIGNED", "worker_id": "w2:8083"}, {"id": 1, "state": "FAILED", "worker_id": "w1:8083", "trace": "E: x\n\tat y"}],
}  # fmt: skip


@pytest.mark.parametrize("indent", [None, 2])
def test_answers_of_connects_rest_interface(indent: int | None) -> None:
    both = read(json.dumps({"b": {"status": STATE, "info": INFO}}, indent=indent), "connect_rest")
    assert [(t["task"], t["state"], t["worker_id"]) for t in of(both, "task_status_reported")] == [
        ("b-0", "UNASSIGNED", "w2:8083"), ("b-1", "FAILED", "w1:8083"),
    ]  # fmt: skip
    assert of(both, "task_status_reported")[1]["error"] == "E: x"
    described = of(both, "connector_described")[0]
    assert (described["tasks"], described["config"]["db.password"]) == (["b-0"], "[redacted]")
    assert len({(i.line, i.offset) for i in both}) == len(both)
    assert (max(i.line for i in both) > 1) == (indent is not None)
    assert of(read(json.dumps(STATE, indent=indent), "connect_rest"), "connector_status_reported")[0]["connector"] == "b"
    assert of(read(json.dumps(INFO, indent=indent), "connect_rest"), "connector_described")[0]["connector"] == "b"
    root = read('{"version":"3.9.1","commit":"f745dfdcee2b9851","kafka_cluster_id":"LRz28jn2S3qvpSQo3o9Gzw"}', "connect_rest")
    assert of(root, "worker_described")[0]["kafka_version"] == "3.9.1"


def test_several_answers_with_headers_tell_when() -> None:
    head = "HTTP/1.1 200 OK\r\nDate: Mon, 02 Mar 2026 10:00:0{}  GMT\r\nContent-Type: application/json\r\n\r\n".replace("  GMT", " GMT")
    items = read(head.format(1) + json.dumps(STATE) + "\n" + head.format(5) + json.dumps(STATE) + "\n", "connect_rest")
    assert [i.ts for i in items] == [1772445601_000_000] * 3 + [1772445605_000_000] * 3


def test_json_that_ends_in_the_middle_gives_what_was_there() -> None:
    text = json.dumps({"a": {"status": STATE}, "b": {"status": STATE, "info": INFO}})
    whole = list(READERS["connect_rest"](sample_lines(text.encode())))
    for cut in range(text.index('"tasks"') + 60, len(text) - 1, 7):
        data = text[:cut].encode()
        assert kind_of(data, fitting=0, lines=1) == "connect_rest"
        items = list(READERS["connect_rest"](sample_lines(data)))
        assert [type(i) for i in items].count(Broken) == 1
        assert 0 < sum(isinstance(i, Observation) for i in items) <= len(whole)


def test_a_file_that_breaks_off_gives_what_was_there() -> None:
    data = TOPICS["4.x"].encode()[:-40]
    items = list(READERS["topics_described"](sample_lines(data)))
    assert [i.event for i in items if isinstance(i, Observation)][:2] == ["topic_described", "partition_described"]
    items = list(READERS["offsets_dump"](sample_lines((HEAD + DUMPS["2.5 to 3.7"][:-20]).encode())))
    assert [type(i) for i in items] == [Strange]


@pytest.mark.parametrize(
    ("component", "text"),
    [
        ("worker", "bootstrap.servers=b:9092\ngroup.id=cc\nconfig.storage.topic=c\n"),
        ("worker", "bootstrap.servers=b:9092\noffset.storage.file.filename=/x\n"),
        ("broker", "broker.id=1\nlog.dirs=/d\nzookeeper.connect=z:2181\n"),
        ("broker", "process.roles=broker,controller\nnode.id=1\n"),
        ("controller", "process.roles=controller\nnode.id=1\n"),
        ("connector", "name=b\nconnector.class=X\ntopics=t\n"),
        ("consumer", "bootstrap.servers=b:9092\ngroup.id=app\nsession.timeout.ms=6000\n"),
        ("producer", "bootstrap.servers=b:9092\nacks=all\n"),
        ("client", "security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nsasl.jaas.config=x\n"),
        ("zookeeper", "dataDir=/d\nclientPort=2181\n"),
        ("streams", "application.id=s\nbootstrap.servers=b:9092\n"),
        ("mirror_maker", "clusters = A, B\nA->B.enabled = true\n"),
    ],
)
def test_whose_properties_they_are_is_told_by_their_keys(component: str, text: str) -> None:
    assert {p["component"] for p in of(read("# a comment\n\n" + text, "properties"), "property_read")} == {component}


def test_properties_are_read_as_java_does_and_without_secrets() -> None:
    items = read(
        "! note\nbootstrap.servers : a:9092,\\\n    b:9092\n  group.id=app\nclient.id Zähler\nempty=\npath=C:\\\\x\\u0041\nkey.deserializer=D\n"
        'ssl.keystore.password=geheim\nsasl.jaas.config=org.L required username="u" \\\n  password="geheim";\nssl.truststore.location=/t\n',
        "properties",
    )
    found = {k: v for p in of(items, "property_read") for k, v in p["config"].items()}
    assert found["bootstrap.servers"] == "a:9092,b:9092"
    assert (found["client.id"], found["empty"], found["path"]) == ("Zähler", "", "C:\\xA")
    assert found["ssl.keystore.password"] == found["sasl.jaas.config"] == "[redacted]"
    assert [i.line for i in items] == [2, 4, 5, 6, 7, 8, 9, 10, 12]
    assert "geheim" not in repr([(i.message, i.captures) for i in items])


def test_a_markdown_text_is_no_log_and_a_log_in_markdown_is() -> None:
    from forensics.inventory.file_type import is_log, looks_like
    from forensics.records.layout_detection import profile_of
    from forensics.records.layouts import packaged

    text = b"# A frozen worker\n\nWARN means the worker w2: it froze.\n\n- INFO Two owners: see below.\n" * 9
    log = b"[2026-03-02 10:00:00,000] INFO Joined group (org.apache.kafka.X)\n" * 9
    assert not is_log("sample/README.md", text, profile_of(text, packaged()))
    assert looks_like("sample/README.md", text) == "looks like Markdown"
    assert is_log("sample/log.md", log, profile_of(log, packaged()))
    untimed = b"What the broker prints:\n```\n" + b"INFO [GroupCoordinator 0]: Group g is now empty (kafka.coordinator.group.GroupCoordinator)\n" * 9
    assert is_log("sample/untimed.md", untimed, profile_of(untimed, packaged()))


@pytest.mark.parametrize(
    "text",
    [
        '{"@timestamp":"2026-03-02T10:00:00Z","level":"INFO","message":"x","name":"a","connector":{"state":"RUNNING"}}\n' * 3,
        "[2026-03-02 10:00:00,000] INFO ProducerConfig values:\n\tacks = all\n\tbootstrap.servers = [b:9092]\n (org.apache.kafka.X)\n" * 3,
        "[2026-03-02 10:00:00,000] INFO Topic: a Partition: 3 Leader: 1 is fine (org.apache.kafka.X)\n" * 3,
    ],
)
def test_a_log_is_no_witness(text: str) -> None:
    from forensics.records.layout_detection import profile_of
    from forensics.records.layouts import packaged

    profile = profile_of(text.encode(), packaged())
    assert profile.fitting > 0
    assert kind_of(text.encode(), fitting=profile.fitting, lines=profile.lines) is None


@pytest.mark.parametrize(
    "text",
    ["", "\n", "hello world\n", "{}", "[]", '["a","b"]', '{"name":"x","version":"1.0"}', "a=1\nb=2\n", "- a: 1\n- b: 2\n", "GROUP of friends\n",
     "Topic: the weather\n", '{"version":"1","partitions":[]}', "log4j.rootLogger=INFO\nlog4j.appender.x=Y\nlog4j.appender.x.z=1\n"],
)  # fmt: skip
def test_other_files_are_no_witness(text: str) -> None:
    assert kind_of(text.encode(), fitting=0, lines=1) is None


def test_a_log_of_nothing_but_a_printed_configuration_is_no_properties_file() -> None:
    settings = "".join(f"\t{key} = x\n" for key in ("bootstrap.servers", "group.id", "key.deserializer", "value.deserializer"))
    printed = f"[2026-11-21 08:15:41,319] INFO ConsumerConfig values: \n{settings * 10} (org.apache.kafka.clients.consumer.ConsumerConfig)\n"
    assert kind_of(settings.encode(), fitting=0, lines=4) == "properties"
    assert kind_of(printed.encode(), fitting=1, lines=42) is None


RECORDINGS = os.environ.get("FORENSICS_RECORDINGS")


@pytest.mark.skipif(not RECORDINGS, reason="FORENSICS_RECORDINGS names no folder")
def test_every_witness_of_every_recording_is_read_whole() -> None:
    """Output of Kafka's own tools of many releases: nothing in it is unknown, and no log is taken for a snapshot."""
    names = {"kafka-topics": "topics_described", "kafka-consumer": "groups_described", "dump-offsets": "offsets_dump", "rest-": "connect_rest"}
    for file in sorted(Path(RECORDINGS or "").glob("*/witness/*")):
        data = file.read_bytes()
        kind = kind_of(data[:SAMPLE_BYTES], fitting=0, lines=1)
        if kind is None:
            text = data.decode().strip()
            assert text in ("", "[]", "{}") or text.startswith(("Error:", '["')), file
            continue
        assert file.name.startswith(tuple(k for k, v in names.items() if v == kind)) or (kind == "properties" and file.suffix == ".properties"), file
        items = list(READERS[kind](sample_lines(data)))
        assert items and all(isinstance(i, Observation | CommitEvent) for i in items), (
            file,
            [i for i in items if not isinstance(i, Observation | CommitEvent)][:3],
        )
    from forensics.records.layout_detection import profile_of
    from forensics.records.layouts import packaged

    for file in sorted(Path(RECORDINGS or "").glob("*/logs/*/*.log")):
        with file.open("rb") as f:
            sample = f.read(SAMPLE_BYTES)
        profile = profile_of(sample, packaged())
        assert kind_of(sample, fitting=profile.fitting, lines=profile.lines) is None, file
