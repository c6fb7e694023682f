# SPDX-License-Identifier: Apache-2.0
"""Records are read together, what several of them say once: each gives the row that the slow reader gives, whatever has been done to its bytes."""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from places import SAMPLES
from reading import read, read_evidence

from forensics.extract import row_builder
from forensics.extract.bulk_classification import BulkClassification, MessageTemplates
from forensics.inventory.inventory import find_evidence
from forensics.records.line_reader import Profile

LOGS = ("split-brain-frozen-worker-3.9.1", "session-timeouts-consumers-3.9.1", "split-brain-partitioned-worker-2.3.0")

#: What may befall a line; each must leave both readings alike.
HARMS: dict[str, Callable[[bytes], bytes]] = {
    "letters of other alphabets": lambda x: x.replace(b"group", "grüpp €".encode()),
    "broken UTF-8": lambda x: x.replace(b"a", b"\xff", 1),
    "zero byte": lambda x: x.replace(b"] INFO ", b"] INFO no\0thing "),
    "zero byte in a time": lambda x: x.replace(b"[20", b"[2\0000", 1),
    "byte order mark": lambda x: b"\xef\xbb\xbf" + x,
    "carriage returns": lambda x: x + b"\r\r",
    "cut": lambda x: x[: len(x) // 2],
    "secret": lambda x: x.replace(b" (org", b" password=hunter2 (org"),
    "odd blanks": lambda x: re.sub(rb" \(org", b"  \t\xc2\xa0 (org", x.replace(b"] INFO ", b"] INFO \xc2\xa0 ")),
    "blank lines": lambda x: x + b"\n\n\n",
    "unknown": lambda x: x.replace(b"] INFO ", b"] INFO Nobody knows of this: "),
    "another level": lambda x: x.replace(b"] INFO ", b"] DEBUG "),
    "no time": lambda x: re.sub(rb"\d\d:\d\d:\d\d", b"25:61:61", x, count=1),
    "seconds only": lambda x: re.sub(rb",\d{3}\]", b"]", x, count=1),
    "point and zone in a time": lambda x: re.sub(rb",(\d{3})\]", rb".\1Z]", x, count=1),
    "long number": lambda x: re.sub(rb"generation=?(Id=)?", rb"\g<0>9999999999999999999999", x),
    "another program": lambda x: x.replace(b"(org.apache.kafka", b"(com.example.kafka"),
    "long": lambda x: x.replace(b" (org", b" and more" * 400 + b" (org"),
}


def harmed(log: bytes, seed: int) -> bytes:
    """A log of which every third line has been harmed in some way."""
    rng = random.Random(seed)
    harms = list(HARMS.values())
    return b"\n".join(rng.choice(harms)(line) if rng.random() < 0.3 else line for line in log.split(b"\n"))


def told(counts: dict[str, Any]) -> dict[str, Any]:
    """Return the contents of a range; the order of layouts does not matter."""
    return {**counts, "layouts": dict(counts["layouts"])}


@pytest.mark.parametrize(
    # Statements differ by sample; ends of lines do so in none, and lines are counted, or all kept, of workers alone.
    ("sample", "ends", "keep_all"),
    [
        *(pytest.param(name, b"\n", False, id=name, marks=[pytest.mark.slow] if n else []) for n, name in enumerate(LOGS)),
        pytest.param(LOGS[1], b"\r\n", False, id="CRLF"),
        pytest.param(LOGS[0], b"\n", True, id="all kept", marks=pytest.mark.slow),
    ],
)
def test_what_is_said_often_is_read_as_what_is_said_once(
    sample: str, ends: bytes, keep_all: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, log in enumerate(sorted((SAMPLES / sample).rglob("*.log"))):
        content = harmed(log.read_bytes(), number)
        (tmp_path / f"{number}.log").write_bytes((content + b"\n" + content).replace(b"\n", ends))
    evidence = find_evidence([tmp_path])
    assert any(e.format.profile.plain for e in evidence)
    quick = read_evidence(evidence, 100_000, broken=True, keep_all=keep_all)
    monkeypatch.setattr(Profile, "plain", property(lambda self: False))
    slow = read_evidence(evidence, 100_000, broken=True, keep_all=keep_all)
    assert quick.unrecognised
    assert bool(quick.counted) == (not keep_all and "worker" in sample)
    assert quick.counted == slow.counted
    assert quick.events == slow.events
    assert quick.unrecognised == slow.unrecognised
    assert quick.faults == slow.faults
    assert [told(r) for r in quick.ranges if r["events"]] == [told(r) for r in slow.ranges if r["events"]]


#: The same lines as other programs lay them out.
LAYOUTS = {
    "logback": rb"\1 \2.\3 [main-1] \4 \6:\7 - \5",
    "Spring": rb"\1T\2.\3+02:00  \4 7 --- [app] [  thread-0] \6   : \5",
    "log4j 1": rb"\1 \2,\3 \4 [main] \6: \5",
    "time only": rb"\2.\3 \4 \6 - \5",
}


@pytest.mark.parametrize("layout", ["Spring", *(pytest.param(name, marks=pytest.mark.slow) for name in LAYOUTS if name != "Spring")])
def test_what_is_said_often_in_another_layout_is_read_as_what_is_said_once(layout: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kafkas = re.compile(rb"(?m)^\[(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d),(\d{3})\] ([A-Z]+) (.*) \(([\w.$]+)(?::(\d+))?\)\r?$")
    for number, log in enumerate(sorted((SAMPLES / LOGS[0]).rglob("*.log"))[:3]):
        content = kafkas.sub(LAYOUTS[layout], log.read_bytes())
        assert content != log.read_bytes()
        later = kafkas.sub(LAYOUTS[layout], log.read_bytes().replace(b":2", b":3").replace(b",4", b",7"))
        (tmp_path / f"{number}.log").write_bytes(b"\n".join((harmed(content, number), later, content)))
    evidence = find_evidence([tmp_path])
    assert any(e.format.profile.plain for e in evidence)
    monkeypatch.setattr("forensics.extract.column_reader.CHUNK", 200_000)
    monkeypatch.setattr("forensics.extract.column_reader._MAX_KEPT", 500)
    quick = read_evidence(evidence, 100_000, broken=True)
    monkeypatch.setattr(Profile, "plain", property(lambda self: False))
    slow = read_evidence(evidence, 100_000, broken=True)
    assert len(quick.events) > 1_000
    for rows in ("events", "counted", "unrecognised", "faults"):
        assert getattr(quick, rows) == getattr(slow, rows)
    assert [told(r) for r in quick.ranges if r["events"]] == [told(r) for r in slow.ranges if r["events"]]


def test_what_is_remembered_of_a_log_changes_no_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few kept records and messages, chunks of a few lines, and few words searched together give the same rows as everything together."""
    log = harmed((SAMPLES / LOGS[0] / "logs" / "w2" / "connect.log").read_bytes(), 7)
    foreign = b"[2026-11-21 07:50:00,000] INFO Flushing 17 records (com.example.Writer:3)\n[2026-11-21 07:50:00,001] INFO  (com.example.Writer:4)\n"
    (tmp_path / "connect.log").write_bytes(b"\n".join((log, foreign * 20, log)))
    evidence = find_evidence([tmp_path])
    whole = read_evidence(evidence, 100_000, broken=True)
    for name, value in (
        ("extract.column_reader._MAX_KEPT", 5),
        ("extract.bulk_classification._MAX_TEMPLATES", 7),
        ("extract.bulk_classification._MAX_COUNTED", 9),
        ("records.vectorized.buffers._NEAR", 3),
        ("records.vectorized.buffers._AT_ONCE", 7),
        ("extract.column_reader.CHUNK", 20_000),
    ):
        monkeypatch.setattr(f"forensics.{name}", value)
    monkeypatch.setattr("forensics.extract.row_builder.MAX_ROWS", 50)
    parts = read_evidence(evidence, 100_000, broken=True)
    assert (parts.events, parts.counted, parts.unrecognised) == (whole.events, whole.counted, whole.unrecognised)
    assert any(e["logger"] and e["logger"].startswith("com.example") for e in whole.events)


@pytest.mark.parametrize("megabytes", [0, 1, 7, 8, 9, 12])
def test_the_hash_of_a_file_is_that_of_all_its_bytes(megabytes: int, tmp_path: Path) -> None:
    line = b"[2026-11-21 07:50:00,000] INFO Worker stopping (org.apache.kafka.connect.runtime.Worker:250)\n"
    content = line * ((megabytes << 20) // len(line) + 3)
    (tmp_path / "connect.log").write_bytes(content)
    (found,) = find_evidence([tmp_path])
    assert found.fingerprint.sha256 == hashlib.sha256(content).hexdigest()
    assert found.fingerprint.lines == content.count(b"\n")


@pytest.mark.parametrize("few", [2, 32])
def test_requests_of_which_each_is_another_are_counted_as_the_slow_reader_counts_them(
    few: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = '[2026-11-21 07:50:{:02},000] INFO 10.0.0.{} - - [21/Nov/2026:10:00:00 +0000] "{} /connectors/a-{}/status HTTP/1.1" {} 417 "-" "curl/8.5.0" 12'
    tail = " (org.apache.kafka.connect.runtime.rest.RestServer:62)"
    odd = ("GET", "GET", "GET", "PUT", "GET ", "gét", "HEAD")
    lines = [request.format(n // 40, n % 250, odd[n % 7 if n % 5 == 0 else 0], n, 500 if n % 31 == 0 else 200) + tail for n in range(2_000)]
    lines[::97] = [x.replace("] INFO ", "] ERROR ").replace(" 12 (", "  (") for x in lines[::97]]
    (tmp_path / "connect.log").write_text("\n".join(lines))
    evidence = find_evidence([tmp_path])
    monkeypatch.setattr("forensics.extract.column_reader.CHUNK", 40_000)
    monkeypatch.setattr("forensics.extract.bulk_classification._FEW_COUNTED", 5)
    monkeypatch.setattr("forensics.extract.column_reader.FEW", few)
    quick = read_evidence(evidence, 1 << 20)
    monkeypatch.setattr(Profile, "plain", property(lambda self: False))
    slow = read_evidence(evidence, 1 << 20)
    assert len(quick.counted) > 1_000
    assert quick.events
    assert (quick.counted, quick.events, quick.unrecognised) == (slow.counted, slow.events, slow.unrecognised)


def test_logs_that_are_read_one_after_the_other_give_the_rows_that_each_gives_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Results learned from one log are used for the next: whatever it contained, and however the next is written."""
    logs = sorted((SAMPLES / LOGS[0]).rglob("*.log")) + sorted((SAMPLES / LOGS[1]).rglob("*.log"))
    for number, log in enumerate(logs):
        content = harmed(log.read_bytes(), number)
        if number % 3 == 1:
            content = re.sub(rb"(?m)^\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d),(\d{3})\] ([A-Z]+) ", rb"\1.\2 \3 ", content)
        (tmp_path / f"{number}.log").write_bytes(content)
    zones = "UTC", "Asia/Tokyo"
    evidence = [replace(e, times=replace(e.times, zone=zones[n % 2])) for n, e in enumerate(find_evidence([tmp_path]))]
    for name, value in (("reading._MAX_KINDS", 3), ("column_reader._MAX_TAILS", 40), ("row_builder.MAX_ROWS", 300)):
        monkeypatch.setattr(f"forensics.extract.{name}", value)
    together = read_evidence(evidence, 1 << 30, broken=True)
    alone = [read_evidence([e], 1 << 30, broken=True) for e in evidence]
    for rows in ("events", "unrecognised", "counted"):
        found = [row for reading in alone for row in getattr(reading, rows)]
        assert found
        assert getattr(together, rows) == sorted(found, key=lambda r: (r.get("process_id", ""), r["stream_pos"]))
    assert sorted(together.faults) == sorted(fault for reading in alone for fault in reading.faults)
    assert sorted(map(told, together.ranges), key=lambda r: r["path"]) == sorted((told(r) for a in alone for r in a.ranges), key=lambda r: r["path"])


def renumbered(line: bytes, rng: random.Random) -> bytes:
    """The line with other numbers in its message, and often in the context before it too."""
    head, tail = (
        re.match(rb"\[[^\]]*\] [A-Z]+ " + rng.choice((b"", rb"(?:\[[^\]]*\] )*", rb"(?:\[[^\]]*\] )*")), line),
        re.search(rb" \([\w.$]+:\d+\)\r?$", line),
    )
    if not head or not tail:
        return line
    message = re.sub(rb"\d+", lambda _: b"%d" % rng.choice((0, 7, rng.randrange(10**9), 10**17, 10**25)), line[head.end() : tail.start()])
    return line[: head.end()] + message + line[tail.start() :]


@pytest.mark.parametrize(("sample", "keep_all"), [(LOGS[0], False), (LOGS[1], False), (LOGS[2], False), (LOGS[0], True)])
def test_messages_that_all_differ_are_read_as_columns_as_they_are_one_by_one(
    sample: str, keep_all: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Replace numbers by others of any size; some lines are also damaged, and some appear again."""
    for number, log in enumerate(sorted((SAMPLES / sample).rglob("*.log"))[:2]):
        rng = random.Random(number)
        lines = log.read_bytes().split(b"\n")
        content = b"\n".join([b"\n".join(lines), *(b"\n".join(renumbered(x, rng) for x in lines) for _ in range(3)), *lines[:200]])
        (tmp_path / f"{number}.log").write_bytes(harmed(content, number))
    evidence = find_evidence([tmp_path])
    for name, value in (
        ("column_reader.FEW", 2),
        ("column_reader.CHUNK", 100_000),
        ("bulk_classification._ENOUGH", 1),
        ("bulk_classification._MAX_TEMPLATES", 300),
    ):
        monkeypatch.setattr(f"forensics.extract.{name}", value)
    as_columns = 0
    read_many = MessageTemplates.read

    def counting(self: MessageTemplates, *args: Any) -> BulkClassification:
        nonlocal as_columns
        found = read_many(self, *args)
        as_columns += int((found.which >= 0).sum())
        return found

    monkeypatch.setattr(MessageTemplates, "read", counting)
    quick = read_evidence(evidence, 1 << 20, broken=True, keep_all=keep_all)
    monkeypatch.setattr(Profile, "plain", property(lambda self: False))
    slow = read_evidence(evidence, 1 << 20, broken=True, keep_all=keep_all)
    assert as_columns > len(slow.events) / 8
    for rows in ("events", "counted", "unrecognised", "faults"):
        assert getattr(quick, rows) == getattr(slow, rows)
    assert [told(r) for r in quick.ranges if r["events"]] == [told(r) for r in slow.ranges if r["events"]]


@pytest.mark.parametrize("share", [0.02, 0.5, 1])
def test_lines_without_a_fraction_of_a_second_are_read_as_those_with_one(share: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A few lines in a log as half of it, and as all of it: logger, level, line of source and captures are those of the same lines with a fraction."""
    rng = random.Random(5)
    for number, log in enumerate(sorted((SAMPLES / LOGS[0]).rglob("*.log"))):
        lines = log.read_bytes().split(b"\n")
        changed = (re.sub(rb"^(\[\S+ \S{8}),\d{3}\]", rb"\1]", x) if rng.random() < share else x for x in lines)
        for folder, content in (("whole", lines), ("changed", changed)):
            (tmp_path / folder).mkdir(exist_ok=True)
            (tmp_path / folder / f"{number}.log").write_bytes(b"\n".join(content))
    quick = read([tmp_path / "changed"], range_bytes=100_000)
    whole = read([tmp_path / "whole"], range_bytes=100_000)
    monkeypatch.setattr(Profile, "plain", property(lambda self: False))
    slow = read([tmp_path / "changed"], range_bytes=100_000)
    assert (quick.events, quick.counted, quick.unrecognised) == (slow.events, slow.counted, slow.unrecognised)
    changes = {"event_id", "file_id", "byte_offset", "stream_pos", "ts", "resolution_ms"}
    # A few lines that follow each other are equal without their milliseconds, and are read once.
    kept = {(e["path"], e["line"]) for e in quick.events}
    of_both = [e for e in whole.events if (e["path"], e["line"]) in kept]
    said = [[{k: v for k, v in e.items() if k not in changes} for e in events] for events in (quick.events, of_both)]
    assert said[0] == said[1]
    assert len(whole.events) - len(of_both) < 0.01 * len(whole.events)
    assert {e["resolution_ms"] for e in quick.events} == ({1, 1000} if share < 1 else {1000})
    assert all(e["ts"] == w["ts"].replace(microsecond=0) for e, w in zip(quick.events, of_both, strict=True) if e["resolution_ms"] == 1000)


def test_a_time_with_a_fraction_is_not_read_as_one_without_where_lines_are_cut(tmp_path: Path) -> None:
    whole = b"[2026-11-21 07:51:21,404] INFO Worker stopping (org.apache.kafka.connect.runtime.Worker:250)\n"
    (tmp_path / "connect.log").write_bytes(whole * 50 + b"[2026-11-21 07:51:25]\n[2026-11-21 07:51:25,735] I")
    found = read_evidence(find_evidence([tmp_path]), 1 << 20)
    assert [r["last_ts"] % 60_000_000 for r in found.ranges] == [25_735_000]


def test_a_fault_in_a_row_costs_that_row_and_is_reported_as_a_fault_of_the_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    logs = sorted((SAMPLES / LOGS[0]).rglob("*.log"))[:4]
    for number, log in enumerate(logs):
        (tmp_path / f"{number}.log").write_bytes(
            log.read_bytes().replace(b"Worker started", b"Worker started badly" if number == 2 else b"Worker started")
        )
    with_values = row_builder._cleaned

    def failing(columns: dict[str, Any]) -> dict[str, Any]:
        if any("badly" in (text or "") for name in ("message", "text") if name in columns for text in columns[name].to_pylist()):
            raise ValueError("a fault")
        return with_values(columns)

    whole = read([tmp_path])
    assert any("badly" in row.get("message", row.get("text")) for row in (*whole.events, *whole.unrecognised))
    monkeypatch.setattr(row_builder, "_cleaned", failing)
    found = read([tmp_path], broken=True)
    number, line = 0, 10**9
    for rows in ("events", "counted", "unrecognised"):
        lost = [row for row in getattr(whole, rows) if "badly" in row.get("message", row.get("text", ""))]
        assert getattr(found, rows) == [row for row in getattr(whole, rows) if row not in lost]
        column = {"events": "events", "counted": "counted", "unrecognised": "unrecognised"}[rows]
        assert sum(r[column] for r in found.ranges) == sum(r[column] for r in whole.ranges) - len(lost)
        number += len(lost)
        line = min([line, *(row["line"] for row in lost)])
    assert found.faults == [
        (
            "2.log",
            f"{number} record{'s' * (number > 1)} could not be processed, the first at line {line}: a fault of this program, not of the evidence (ValueError: a fault)",
        )
    ]
