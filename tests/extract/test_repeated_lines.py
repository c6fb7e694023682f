# SPDX-License-Identifier: Apache-2.0
"""Lines that a log holds twice at one time: read once, unless two clients may have said them."""

from __future__ import annotations

import random

import pytest
from test_repairs import lines, read, whys
from written_logs import CLIENT, CONNECT

from forensics.extract import repeated_lines


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


def test_lines_of_two_threads_stand_between_those_of_a_doubled_log(tmp_path):
    first, second = (
        line("01:00:00,250", "[Consumer clientId=a, groupId=g] (Re-)joining group"),
        line("01:00:00,251", "[Consumer clientId=b, groupId=g] (Re-)joining group"),
    )
    rows, _ = read(tmp_path, *(x.replace("01:00", f"01:{n:02}") for n in range(30) for x in (first, second, first, second)))
    assert len(rows) == 60


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


def test_settings_are_read_only_of_lines_that_are_equal_otherwise(tmp_path, monkeypatch):
    """A log of a worker has many thousands of lines with settings, and a few doubled lines of other kinds."""
    asked: list[int] = []
    real = repeated_lines._settings
    monkeypatch.setattr(repeated_lines, "_settings", lambda files, name, places: asked.extend(places.tolist()) or real(files, name, places))

    def settings(at: str, client: str) -> str:
        return line(at, f"ConsumerConfig values: \n\tclient.id = {client}\n\tgroup.id = g\n", "org.apache.kafka.clients.consumer.ConsumerConfig")

    often = [settings(f"01:00:{n:02},250", "a") for n in range(30)]
    again = [line(f"01:01:{n:02},250", "[Consumer clientId=c, groupId=g] (Re-)joining group") * 2 for n in range(5)]
    rows, _ = read(tmp_path / "other", *often, *again)
    assert (len(rows), asked) == (35, [])
    rows, _ = read(tmp_path / "settings", *often, often[-1], *again)
    assert (len(rows), len(asked)) == (35, 2)


def test_a_few_doubled_lines_cost_no_second_reading(tmp_path, monkeypatch):
    """Every log has a few. The task that reads them writes them to a file of their own, which is deleted; no row of another file is read."""
    seen: list[str] = []
    real = repeated_lines.rows_of
    monkeypatch.setattr(repeated_lines, "rows_of", lambda files, *more: seen.extend(file.name for file in files) or real(files, *more))
    monkeypatch.setattr(repeated_lines, "change", None)
    once = lines("01:00:00", "03:00:00", every=1).splitlines(keepends=True)
    again = dict.fromkeys(range(1, len(once), 50), 2)
    rows, ranges = read(tmp_path, *(text * again.get(n, 1) for n, text in enumerate(once)))
    assert len(rows) == len(once)
    assert [r["repeats"] for r in ranges if r.get("repeats")] == [len(again)]
    assert {name.partition("-")[0] for name in seen} == {"repeated_row"}
    assert not list((tmp_path / "staged").glob("repeated_row-*"))


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
        text = [*lines("01:00:00", "01:10:00", every=1).splitlines(keepends=True)]
        text[30:30] = texts
        return "".join(reversed(text) if newest_first else text)

    for name, texts, kept in (("apart", (uri, between, uri), 2), ("next", (uri, uri, between), 1), ("both", (uri, uri, between, uri), 2)):
        for range_bytes in (1 << 30, 700):
            rows, _ = read(tmp_path / f"{name}-{range_bytes}", log(*texts), range_bytes=range_bytes)
            assert [r["event"] for r in rows].count("worker_url_advertised") == kept, (name, range_bytes)
