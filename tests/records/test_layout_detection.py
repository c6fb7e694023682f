# SPDX-License-Identifier: Apache-2.0
"""The layout of each program in the output of several: one program's lines never change how another's are read."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from forensics.records.layout_detection import profile_of
from forensics.records.layouts import packaged
from forensics.records.line_reader import RecordReader, read_records
from forensics.records.timestamps import Zone

BROKER = [
    "[2026-11-21 14:44:08,{ms:03}] INFO [GroupCoordinator 1]: Group crypto with generation {n} is now empty (__consumer_offsets-3) (kafka.coordinator.group.GroupCoordinator)",
    "[2026-11-21 14:44:09,{ms:03}] INFO [GroupCoordinator 1]: Stabilized group crypto generation {n} (__consumer_offsets-3) with 1 members (kafka.coordinator.group.GroupCoordinator)",
]
#: How programs of other makes print what they do.
OTHERS = {
    "python": ["2026-11-21 14:44:09 [T:MainThread] INFO:src.commands.services: step {n} done"],
    "python with a stack trace": [
        "2026-11-21 14:44:09,{ms:03} - app - ERROR - step {n}",
        "Traceback (most recent call last):",
        '  File "a.py", line 3, in <module>',
    ],
    "spring": ["2026-11-21 14:44:09.{ms:03}  INFO 1 --- [           main] c.e.shop.OrderListener                   : order {n}"],
    "loguru": ["2026-11-21 14:44:09.{ms:03} | INFO     | __main__:main:12 - step {n}"],
    "go": ["2026/11/21 14:44:09 main.go:{n}: consumed"],
    "prints only": ["Consumed message {n}", "  value = 3"],
    "settings": ["consumer.client.rack=", "group.id=shop{n}"],
    "web server": ['172.18.0.1 - - [21/Nov/2026:14:44:09 +0000] "GET /orders/{n} HTTP/1.1" 200 17'],
    "zookeeper": ["2026-11-21 14:44:09,{ms:03} [myid:1] - INFO  [SyncThread:0:FileTxnLog@284] - Creating new log file: log.{n}"],
    "json": ['{{"level":"info","time":"2026-11-21T14:44:09.{ms:03}Z","msg":"step {n}"}}'],
    "database": ["2026-11-21 14:44:09.{ms:03} UTC [{n}] LOG:  checkpoint starting: time"],
}
COLLECTORS = {
    "docker compose": ("kafka-1     | ", "shop-app-1  | "),
    "docker compose, one dash": ("kafka_1  | ", "app_1    | "),
    "kubectl --prefix": ("[pod/kafka-0/kafka] ", "[pod/app-7f/app] "),
    "stern": ("kafka-0 kafka ", "app-7f9c app "),
    "none": ("", ""),
}


def _records(content: str) -> list[tuple[object, ...]]:
    data = content.encode()
    read = read_records(data, RecordReader(packaged(), profile_of(data, packaged())))
    # A line without a time continues the record before it; a message is recognised by its first line.
    return [
        (r.record.moment, r.record.level, r.record.logger, r.record.message.partition("\n")[0])
        for r in read
        if "kafka" in (r.record.source or r.record.logger or "")
    ]


def _mixed(collector: str, other: list[str], rounds: int) -> tuple[str, str]:
    kafka, app = COLLECTORS[collector]
    alone, both = [], []
    for n in range(rounds):
        mine = [kafka + line.format(n=n, ms=n) for line in BROKER]
        theirs = [app + line.format(n=n, ms=n) for line in other]
        alone += mine
        both += [mine[0], *theirs, mine[1], *theirs]
    return "\n".join(alone) + "\n", "\n".join(both) + "\n"


@pytest.mark.parametrize("rounds", [3, 20])
@pytest.mark.parametrize("collector", COLLECTORS)
@pytest.mark.parametrize("other", OTHERS)
def test_another_program_changes_no_record(other: str, collector: str, rounds: int) -> None:
    alone, both = _mixed(collector, OTHERS[other], rounds)
    read = _records(alone)
    assert len(read) == 2 * rounds
    assert all(logger == "kafka.coordinator.group.GroupCoordinator" for _, _, logger, _ in read)
    assert _records(both) == read


def test_the_echo_of_ctrl_c_before_a_record_is_not_part_of_it() -> None:
    record = BROKER[0].format(n=4, ms=0)
    assert _records(f"^C{record}\n{BROKER[1].format(n=5, ms=0)}\n")[0] == _records(f"{record}\n")[0]


def _moments(content: str) -> list[str]:
    data = content.encode()
    profile = profile_of(data, packaged(), changed=date(2026, 11, 29))
    zone = Zone("UTC")
    moments = [r.record.moment for r in read_records(data, RecordReader(packaged(), profile))]
    return [f"{datetime.fromtimestamp(zone.utc(m) / 1e6, UTC):%Y-%m-%d %H:%M:%S}" for m in moments]


def test_the_time_column_of_an_export_is_no_part_of_the_line_and_gives_lines_of_several_zones_theirs() -> None:
    broker = "[2023-08-01 05:17:45,047] INFO [GroupCoordinator 2]: Group orders with generation 2 is now empty (__consumer_offsets-36) (kafka.coordinator.group.GroupCoordinator)"
    client = "2023-08-01 14:26:42.036  INFO 7 --- [ntainer#0-0-C-1] o.a.k.c.c.internals.ConsumerCoordinator  : [Consumer clientId=c, groupId=orders] (Re-)joining group"
    content = "".join(
        f"{line}\n"
        for line in (f"{broker},2023-08-01 05:17:46.000", f"{client},2023-08-01 05:26:42.036", client, f"{broker},2023-08-01 05:17:46.000")
    )
    data = content.encode()
    messages = [r.record.message for r in read_records(data, RecordReader(packaged(), profile_of(data, packaged())))]
    assert messages[0].endswith("(__consumer_offsets-36)")
    assert messages[1].endswith("(Re-)joining group")
    assert _moments(content) == ["2023-08-01 05:17:45", "2023-08-01 05:26:42", "2023-08-01 05:26:42", "2023-08-01 05:17:45"]


def test_an_export_in_one_zone_says_nothing_of_the_zone() -> None:
    line = "[2023-08-01 05:17:45,047] INFO x (kafka.coordinator.group.GroupCoordinator),2023-08-01 14:17:46.000\n"
    assert _moments(line * 3) == ["2023-08-01 05:17:45"] * 3


@pytest.mark.parametrize(
    ("printed", "year"),
    [
        ("receivedTimeMs=1576364230978", 2019),  # 22:57:10 UTC on the day before, 13 hours behind
        ("receivedTimeMs=1576364530978", 2025),  # five minutes off: the time of something else
        ("offset=1576364230978000", 2025),
    ],
)
def test_a_message_that_prints_the_time_of_its_own_line_gives_it_the_year(printed: str, year: int) -> None:
    lines = (
        "Dec 15 11:57:08 AbstractCoordinator: [Consumer clientId=c, groupId=g] Sending FindCoordinator request to broker k:9092 (id: 2 rack: null)\n"
    )
    lines += f"Dec 15 11:57:10 AbstractCoordinator: [Consumer clientId=c, groupId=g] Received FindCoordinator response ClientResponse({printed}, latencyMs=1130)\n"
    assert _moments(lines) == [f"{year}-12-15 11:57:08", f"{year}-12-15 11:57:10"]
