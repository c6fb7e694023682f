# SPDX-License-Identifier: Apache-2.0
"""Lines that a log holds twice at one time: read once, unless two clients may have said them."""

from __future__ import annotations

import random

import pytest
from test_repairs import lines, read, whys
from written_logs import CLIENT, CONNECT


def doubled(text: str, share: float = 1.0) -> str:
    """Return a log in which lines, or some of them, appear twice."""
    chance = random.Random(5)  # noqa: S311
    return "".join(line * (1 + (chance.random() < share)) for line in text.splitlines(keepends=True))


def said(rows: list[dict]) -> list[tuple]:
    return [(r["ts"], r["event"]) for r in rows]


def line(at: str, message: str, logger: str = f"{CLIENT}.AbstractCoordinator") -> str:
    return f"[2026-10-25 {at}] INFO {message} ({logger})\n"


@pytest.mark.parametrize("share", [0.02, 0.3, 1.0])
@pytest.mark.parametrize("range_bytes", [1 << 30, 700])
def test_lines_that_stand_twice_are_read_once(share: float, range_bytes: int, tmp_path):
    """However large that part of the log is, and wherever it is cut."""
    log = lines("01:00:00", "03:00:00")
    whole, none = read(tmp_path / "once", log)
    rows, ranges = read(tmp_path / "twice", doubled(log, share), range_bytes=range_bytes)
    assert said(rows) == said(whole)
    # A line or two of a hundred, a thread may have said twice.
    assert (whys(none), whys(ranges)) == ([], ["doubled"] * (share > 0.1))
    (told,) = (r for r in ranges if r.get("repeats"))
    assert told["repeats"] == sum(r["events"] for r in ranges) - len(whole) > 0
    assert bool(told.get("shift_ids")) == (share > 0.1)


def test_two_clients_that_do_not_say_their_names_may_say_the_same(tmp_path):
    """Two consumers of one process, before 1.0: they cannot be distinguished."""
    joined = line("01:00:00,250", "Successfully joined group g with generation 1")
    rows, ranges = read(tmp_path, lines("00:00:00", "00:40:00"), joined, joined)
    assert [r["event"] for r in rows][-2:] == ["synced", "synced"]
    assert whys(ranges) == []


def test_settings_of_two_clients_are_two(tmp_path):
    """Their first lines are alike."""

    def settings(client: str) -> str:
        return line(
            "01:00:00,250", f"ConsumerConfig values: \n\tclient.id = {client}\n\tgroup.id = g\n", "org.apache.kafka.clients.consumer.ConsumerConfig"
        )

    rows, _ = read(tmp_path / "two", settings("a"), settings("b"))
    assert len(rows) == 2
    rows, _ = read(tmp_path / "one", settings("a"), settings("a"))
    assert len(rows) == 1


def test_what_is_said_again_at_another_time_is_said_again(tmp_path):
    asks = [
        line(f"01:00:00,{ms}", "[Worker clientId=connect-1, groupId=g] Rebalance started", f"{CONNECT}.distributed.WorkerCoordinator")
        for ms in (250, 251)
    ]
    rows, ranges = read(tmp_path, *asks)
    assert (len(rows), whys(ranges)) == (2, [])


def test_whole_seconds_tell_neighbours_only(tmp_path):
    """Between two joins in one second, something else happened."""
    asks = line("01:00:00,000", "[Consumer clientId=c, groupId=g] (Re-)joining group")
    lost = line("01:00:00,000", "[Consumer clientId=c, groupId=g] Attempt to heartbeat failed since group is rebalancing")
    rows, _ = read(tmp_path, asks, asks, lost, asks)
    assert len(rows) == 3


def test_what_a_thread_says_a_hundred_times_makes_no_doubled_log(tmp_path):
    """A member of 4.3.1 that was away prints dozens of times in a millisecond who its coordinator is."""
    found = line("03:00:01,000", "[Consumer clientId=c, groupId=g] Discovered group coordinator 10.0.0.1:9092 (id: 2147483646 rack: null)")
    rows, ranges = read(tmp_path, lines("01:00:00", "03:00:00"), *[found] * 100)
    assert (len(rows), whys(ranges)) == (122, [])
    assert [r["repeats"] for r in ranges if r.get("repeats")] == [99]


@pytest.mark.parametrize("newest_first", [False, True])
@pytest.mark.parametrize(
    "between",
    [
        line("01:00:29,900", "Registered java.sql.Driver: a.B@1 to java.sql.DriverManager", f"{CONNECT}.isolation.PluginUtils"),
        line("01:00:29,900", "Nobody knows this", f"{CONNECT}.distributed.DistributedHerder"),
        line("01:00:29,900", "Begin snapshot", "io.debezium.Snapshotter"),
    ],
    ids=["counted", "unrecognised", "of no interest"],
)
def test_a_record_without_a_row_keeps_two_lines_apart(between: str, newest_first: bool, tmp_path):
    """Kafka prints its advertised URI twice, with another line between. Only the file shows which lines are next to each other."""
    uri = line("01:00:29,900", "Advertised URI: http://w1:8083/", f"{CONNECT}.rest.RestServer")

    def log(*texts: str) -> str:
        text = [*lines("01:00:00", "01:01:00", every=1).splitlines(keepends=True)]
        text[30:30] = texts
        return "".join(reversed(text) if newest_first else text)

    for name, texts, kept in (("apart", (uri, between, uri), 2), ("next", (uri, uri, between), 1), ("both", (uri, uri, between, uri), 2)):
        for range_bytes in (1 << 30, 700):
            rows, _ = read(tmp_path / f"{name}-{range_bytes}", log(*texts), range_bytes=range_bytes)
            assert [r["event"] for r in rows].count("worker_url_advertised") == kept, (name, range_bytes)
