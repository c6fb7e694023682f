# SPDX-License-Identifier: Apache-2.0
"""The same log in any layout gives the same events: captures, levels, loggers, times. Nothing here comes from where the layouts were learned."""

from __future__ import annotations

import itertools
import json
import os
import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from layout_families import PATTERNS, TOLD, Family, Line, families, lines_of, printed
from places import SAMPLES
from reading import PLACE, Reading, read, read_evidence

from forensics.catalogue.patterns import simple_name
from forensics.inventory.inventory import find_evidence
from forensics.inventory.source_options import SourceOptions
from forensics.records.line_reader import Profile

HEAD = re.compile(r"\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3})\] ([A-Z]+) ")
TAIL = re.compile(r" \(([\w.$]+)(?::(\d+))?\)$")
THREADS = (
    "main",
    "DistributedHerder-connect-1-1",
    "pool-4-thread-1",
    "kafka-coordinator-heartbeat-thread",
    "ntainer#0-0-C-1",
    "Camel (q) thread #0 - KafkaConsumer[t]",
)
LAYOUT_ONLY = {"message", "thread", "resolution_ms", "collector_ts", "source_line", "releases", "ts", "level", "logger"}


def original(path: Path) -> list[Line]:
    """Records of a log in Kafka's own layout."""
    records: list[Line] = []
    texts: list[str] = []
    for text in path.read_text(encoding="utf-8").splitlines():
        if HEAD.match(text):
            records.extend(_record(texts, len(records)))
            texts = []
        texts.append(text)
    return [*records, *_record(texts, len(records))]


def _record(texts: Sequence[str], number: int) -> list[Line]:
    head = HEAD.match(texts[0]) if texts else None
    end = next((i for i, text in enumerate(texts) if TAIL.search(text)), None)
    if head is None or end is None:
        return []
    tail = TAIL.search(texts[end])
    assert tail is not None
    message = "\n".join([texts[0][head.end() :], *texts[1 : end + 1]]) if end else texts[0][head.end() :]
    ts = datetime.strptime(head[1], "%Y-%m-%d %H:%M:%S,%f").replace(tzinfo=UTC)
    return [Line(ts, head[2], tail[1], int(tail[2] or 7), message[: -len(tail[0])], "\n".join(texts[end + 1 :]), THREADS[number % len(THREADS)])]


def chosen() -> list[Line]:
    """Some hundred records of a worker, a broker and a consumer: every event that each of them has; also records without one."""
    found: list[Line] = []
    for log in (
        "split-brain-frozen-worker-3.9.1/logs/w2/connect.log",
        "split-brain-partitioned-worker-2.3.0/logs/w1/connect.log",
        "split-brain-frozen-worker-3.9.1/logs/broker-1/server.log",
        "session-timeouts-consumers-3.9.1/logs/c2/consumer.log",
    ):
        seen: dict[str, Line] = {}
        for r in original(SAMPLES / log):
            seen.setdefault(r.logger + re.sub(r"[0-9a-f-]{36}|\d+", "#", r.message)[:60], r)
        found.extend(seen.values())
    start = datetime(2024, 3, 15, 8, 59, 50, tzinfo=UTC)
    steps = [(b.ts - a.ts) for a, b in zip(found, found[1:], strict=False)]
    times = [start]
    for step in steps:  # one clock, ever rising by whole seconds and some milliseconds, over noon
        times.append(times[-1] + timedelta(milliseconds=1 + max(0, int(step.total_seconds() * 1000)) % 47_000 + 7_000))
    return [Line(t, r.level, r.logger, r.source_line, m, r.trace, r.thread) for t, r, m in zip(times, found, shortened(found), strict=True)]


def shortened(records: Sequence[Line]) -> list[str]:
    """Messages of records; a printed configuration is whole in one of them, the others' have some lines."""
    whole = max(records, key=lambda r: r.message.count("\n"))
    texts = [r.message.split("\n") for r in records]
    return [r.message if r is whole or len(t) < 10 else "\n".join((*t[:8], t[-1])) for r, t in zip(records, texts, strict=True)]


RECORDS = chosen()


def some(of: Sequence[Any], each: int = 3) -> list[Any]:
    """Return every third (or as many) in the fast tests, all in the slow ones."""
    return [pytest.param(x, id=str(x), marks=[] if i % each == 0 else [pytest.mark.slow]) for i, x in enumerate(of)]


@pytest.fixture(scope="module")
def plain(tmp_path_factory) -> list[dict[str, Any]]:
    family = next(f for f in families() if f.line)
    reading = read_as(family, RECORDS, tmp_path_factory.mktemp("plain"))
    assert len(reading.events) > 200
    assert len({e["event"] for e in reading.events}) > 60
    return reading.events


def read_as(family: Family, records: Sequence[Line], folder: Path) -> Reading:
    path = folder / ("export.csv" if "CSV" in family.name else "export.json" if "kibana hits" in family.name else "some.log")
    path.write_bytes(family.render(records))
    if records:
        os.utime(path, (records[-1].ts.timestamp() + 1, records[-1].ts.timestamp() + 1))  # whose times have no year, it dates
    return read([path], SourceOptions(layouts=(("*", family.layout),)) if family.layout else None)


def captured(event: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in event.items() if k not in PLACE and k not in LAYOUT_ONLY}


def level_of(text: str | None) -> str | None:
    names = {"WARNING": "WARN", "SEVERE": "ERROR", "FINE": "DEBUG", "FINEST": "TRACE"}
    return None if text is None else names.get(text.upper(), text.upper())


def differences(family: Family, got: Sequence[dict[str, Any]], want: Sequence[dict[str, Any]]) -> list[Any]:
    """Return the losses and changes that a layout causes, event by event."""
    found: list[Any] = []
    rest = list(got)
    for w in want:
        same = next((i for i, g in enumerate(rest) if g["event"] == w["event"] and g["message"] == w["message"]), None)
        if same is None:
            found.append(("lost", w["event"], w["message"][:150]))
            continue
        g = rest.pop(same)
        if captured(g) != captured(w):
            a, b = captured(g), captured(w)
            found.append(("captures", w["event"], {k: (a.get(k), b.get(k)) for k in a.keys() | b.keys() if a.get(k) != b.get(k)}))
        if family.time:
            resolution = timedelta(milliseconds=family.resolution_ms)
            if g.get("ts") is None or not timedelta(0) <= w["ts"] - g["ts"] < resolution or g.get("resolution_ms") != family.resolution_ms:
                found.append(("time", w["event"], g.get("ts"), w["ts"], g.get("resolution_ms")))
        elif g.get("ts") is not None and g["ts"].replace(microsecond=0).time() != w["ts"].replace(microsecond=0).time():
            found.append(("time made up", w["event"], g["ts"]))  # the date of times without one is assumed
        if family.level and level_of(g.get("level")) != w["level"]:
            found.append(("level", w["event"], g.get("level"), w["level"]))
        if family.logger and simple_name(g.get("logger") or "") != simple_name(w["logger"]):
            found.append(("logger", w["event"], g.get("logger"), w["logger"]))
        if family.line and g.get("source_line") != w.get("source_line"):
            found.append(("line", w["event"], g.get("source_line"), w.get("source_line")))
        if g["process_id"].partition("#")[2] != family.process:
            found.append(("process", w["event"], g["process_id"]))
    # without loggers a message of a class that the catalogue leaves out may have the words of another
    return found + [("invented", g["event"], g["message"][:150]) for g in rest if family.logger or not g["event"].startswith("other_")]


@pytest.mark.parametrize("family", some(families(), 5))
def test_a_layout_changes_no_event(family, plain, tmp_path):
    reading = read_as(family, RECORDS, tmp_path)
    assert differences(family, reading.events, plain) == []
    # without loggers only its prefix shows that a message is Kafka's, and not that it is of a class that the catalogue leaves out
    assert [r["text"] for r in reading.unrecognised if family.logger or r["text"].startswith("(Re-)joining")] == []


#: Excerpts as people post them: a few records of a member's life.
EXCERPTS = [
    [r for r in RECORDS if any(word in r.message for word in words) and "\n" not in r.message][:most]
    for words, most in (
        (("oining group", "Joined group", "joined group"), 4),
        (("coordinator", "evoking", "Stopping task"), 6),
        (("Preparing to rebalance", "Stabilized", "has failed"), 3),
        (("Successfully joined",), 1),
    )
]


@pytest.fixture(scope="module")
def plain_excerpts(tmp_path_factory) -> list[list[dict[str, Any]]]:
    family = next(f for f in families() if f.line)
    return [read_as(family, records, tmp_path_factory.mktemp("plain")).events for records in EXCERPTS]


@pytest.mark.parametrize("family", some(families()))
def test_a_few_lines_are_enough(family, plain_excerpts, tmp_path):
    for records, want in zip(EXCERPTS, plain_excerpts, strict=True):
        assert len(want) == len(records)
        if "newest first" in family.name and len(records) < 3:
            continue  # two lines may also be two clocks
        assert differences(family, read_as(family, records, tmp_path).events, want) == []


@pytest.mark.parametrize("pattern", TOLD)
def test_a_told_layout_changes_no_event(pattern, plain, tmp_path):
    family = Family(pattern, lines_of(pattern), layout=pattern)
    if pattern.startswith("%m"):  # then only the end of its first line identifies a record
        several = {" ".join(r.message.split("\n")[0].split()) for r in RECORDS if "\n" in r.message}
        records = [r for r in RECORDS if "\n" not in r.message]
        plain = [e for e in plain if e["message"] not in several]
    else:
        records = RECORDS
    assert differences(family, read_as(family, records, tmp_path).events, plain) == []


@pytest.mark.parametrize("pattern", some([p for p in PATTERNS if not p.startswith(("%m%n", "%m (%c)"))]))
def test_any_pattern_that_the_user_tells_is_read(pattern, plain, tmp_path):
    family = Family(pattern, lines_of(pattern), layout=pattern, **PATTERNS[pattern])
    family = replace(family, process="")
    assert differences(family, read_as(family, RECORDS, tmp_path).events, plain) == []


def test_a_file_may_mix_layouts(plain, tmp_path):
    patterns = [
        "[%d] %p %m (%c:%L)%n",
        "%d{yyyy-MM-dd HH:mm:ss.SSS}  %5p 1 --- [%15.15t] %-40.40logger{39} : %m%n",
        "%d{yy/MM/dd HH:mm:ss.SSS} %p %c{1}: %m%n",
    ]

    def render(records: Sequence[Line]) -> bytes:
        return "".join(printed(patterns[i // 20 % len(patterns)], r) for i, r in enumerate(records)).encode()

    family = Family("mixed", render)
    reading = read_as(family, RECORDS, tmp_path)
    assert differences(family, reading.events, plain) == []
    assert len({name for r in reading.ranges for name, _ in r["layouts"]}) >= 3


MERGED = {
    "docker-compose": (lambda who, text, r: f"{who:<12} | {text}", lambda who: who),
    "kubectl --prefix": (lambda who, text, r: f"[pod/{who}/connect] {text}", lambda who: f"{who}/connect"),
    "journald": (lambda who, text, r: f"{r.ts:%b %d %H:%M:%S} {who} connect[{len(who)}]: {text}", lambda who: f"{who} connect"),
    "stern": (lambda who, text, r: f"{who} connect {text}", lambda who: f"{who} connect"),
    "JSON": (
        lambda who, text, r: json.dumps({"message": text, "@timestamp": r.ts.isoformat(), "kubernetes": {"pod": {"name": who}}}),
        lambda who: who,
    ),
}


@pytest.mark.parametrize("name", MERGED)
def test_a_merged_file_is_taken_apart_by_what_names_its_processes(name, tmp_path):
    """Three processes speak by turns, line by line: a record of several lines goes on behind lines of the others."""
    wrap, source = MERGED[name]
    layout = next(p for p in PATTERNS if p.endswith("(%c:%L)%n"))
    third = len(RECORDS) // 3
    voices = {f"connect-{i}": RECORDS[i * third : (i + 1) * third] for i in range(3)}
    alone, turns = {}, []
    for who, records in voices.items():
        path = tmp_path / f"{who}.log"
        path.write_bytes(lines_of(layout)(records))
        alone[source(who)] = [captured(e) for e in read([path]).events]
        parts = [printed(layout, r).removesuffix("\n") for r in records]
        turns.append([wrap(who, t, r) for r, p in zip(records, parts, strict=True) for t in ([p] if name == "JSON" else p.split("\n"))])
    merged = tmp_path / "merged.log"
    merged.write_text("".join(line + "\n" for row in itertools.zip_longest(*turns) for line in row if line is not None), encoding="utf-8")
    got: dict[str, list[dict[str, Any]]] = {}
    for e in read([merged]).events:
        got.setdefault(e["process_id"].partition("#")[2], []).append(captured(e))
    assert got == alone


@pytest.mark.parametrize("family", some(families()))
def test_reading_by_columns_is_reading_line_by_line(family, tmp_path, monkeypatch):
    """The quick reading of millions of lines gives what the plain, slow one gives; also with times that no date makes possible and torn lines."""
    content = family.render(RECORDS)
    torn = content[: len(content) // 2] + b"\n\xff\xfe torn\n" + content[len(content) // 2 + 7 :].replace(b"2024-03-15 10:3", b"2024-02-31 10:3")
    path = tmp_path / "some.log"
    path.write_bytes(torn)
    evidence = find_evidence([path])
    if not evidence[0].format.profile.plain:
        return  # it is always read line by line
    quick = read_evidence(evidence, broken=True)
    monkeypatch.setattr(Profile, "plain", property(lambda self: False))
    slow = read_evidence(evidence, broken=True)
    assert quick.events == slow.events
    assert quick.faults == slow.faults
    assert quick.unrecognised == slow.unrecognised
    counts = ("lines", "records", "events", "unrecognised", "unfit", "unfit_line", "first_ts", "last_ts")
    assert [{k: r[k] for k in counts} for r in quick.ranges] == [{k: r[k] for k in counts} for r in slow.ranges]


def test_a_line_that_docker_took_apart_is_one(tmp_path):
    """Docker's json-file driver writes a line of more than 16 KiB as several objects; only the last has its line break."""
    line = f"[2026-11-21 10:00:00,000] INFO [Worker clientId=connect-1, groupId=connect] Finished assignment {'x, ' * 9000}(org.acme.Long:1)\n"
    parts = [line[i : i + (16 << 10)] for i in range(0, len(line), 16 << 10)]
    after = "[2026-11-21 10:00:01,000] INFO Kafka version: 3.9.1 (org.apache.kafka.common.utils.AppInfoParser:124)\n"
    written = "".join(json.dumps({"log": text, "stream": "stdout", "time": "2026-11-21T10:00:00.0Z"}) + "\n" for text in (*parts, after, after))
    path = tmp_path / "container-json.log"
    path.write_text(written, encoding="utf-8")
    (found,) = read_evidence(find_evidence([path])).ranges
    assert (len(parts), found["records"], found["unfit"]) == (2, 3, 0)


@pytest.mark.parametrize(
    ("hours", "late", "zone"),
    [(1, 0.2, "+01:00"), (-5.5, 1.5, "-05:30"), (0, 0, "UTC"), (1, 300, None)],
    ids=["ahead", "behind", "UTC", "collected later"],
)
def test_times_that_a_container_runtime_puts_beside_tell_the_zone(hours: float, late: float, zone: str | None, tmp_path: Path) -> None:
    """`kubectl logs --timestamps` prints UTC beside local times; one with lines that are minutes later does not show the offset."""
    begin = datetime(2026, 11, 20, 9, tzinfo=UTC)
    moments = [begin + timedelta(seconds=i) for i in range(20)]
    local = [m + timedelta(hours=hours, seconds=-late) for m in moments]
    lines = [
        f"{m:%Y-%m-%dT%H:%M:%S.%fZ} [{w:%Y-%m-%d %H:%M:%S},{w.microsecond // 1000:03d}] INFO x (org.acme.A:1)\n"
        for m, w in zip(moments, local, strict=True)
    ]
    (tmp_path / "a.log").write_text("".join(lines), encoding="utf-8")
    (found,) = find_evidence([tmp_path / "a.log"])
    assert (found.times.zone, found.times.how) == ((zone, "collector") if zone else ("UTC", "assumed"))
    assert found.times.first == int((begin - timedelta(seconds=late) + timedelta(hours=0 if zone else hours)).timestamp() * 1_000_000)


@pytest.mark.parametrize(
    ("days", "changed", "first", "by"),
    [
        (("Dec 31", "Jan  1"), "2026-01-02", "2025-12-31", "collector_no_year"),
        (("Nov 20", "Nov 28"), "2026-11-25", "2025-11-20", "collector_no_year"),
        (("Nov 25", "Nov 26"), "2026-11-25", "2026-11-25", "collector_no_year"),
        (("Feb 29", "Mar  1"), "2024-03-01", "2024-02-29", "collector_no_year"),
        (("2019-05-01", "2019-05-02"), "2026-11-25", "2019-05-01", "collector"),
    ],
    ids=["over the turn of a year", "copied long after", "another zone", "a leap day", "with a year"],
)
def test_a_collectors_times_date_lines_that_have_none(days: tuple[str, str], changed: str, first: str, by: str, tmp_path: Path) -> None:
    """The last line is of the last year in which it can have been written before the file was changed; those before it are not behind it."""
    clocks = [f"{day}{'T' if day[0] == '2' else ' '}10:00:{i:02d}{'Z' if day[0] == '2' else ''}" for day in days for i in range(20)]
    path = tmp_path / "messages"
    path.write_text(
        "".join(f"{c} node-7 connect[991]: INFO Kafka version: 3.9.1 (org.apache.kafka.common.utils.AppInfoParser:124)\n" for c in clocks)
    )
    moment = datetime.fromisoformat(changed).replace(tzinfo=UTC).timestamp()
    os.utime(path, (moment, moment))
    found = find_evidence([path])
    times = [e["ts"] for e in read_evidence(found).events]
    assert (len(times), times[0].date().isoformat(), found[0].times.by) == (40, first, by)
    assert times == sorted(times)
    assert times[-1] - times[0] < timedelta(days=9)


def test_a_long_message_that_is_repeated_is_not_folded(tmp_path: Path) -> None:
    """All of the longest lines have the same length, and a stack trace continues after each."""
    begin = datetime(2026, 11, 20, 9, tzinfo=UTC)
    long = f"WARN {'Kafka said no ' * 9}(org.apache.kafka.clients.NetworkClient:1)"
    moments = [f"{begin + timedelta(seconds=i):%Y-%m-%d %H:%M:%S},{i:03d}" for i in range(40)]
    (tmp_path / "a.log").write_text(
        "".join(f"[{m}] {long}\njava.io.IOException: broken\n\tat org.acme.A.b(A.java:1)\n" for m in moments), encoding="utf-8"
    )
    found = find_evidence([tmp_path / "a.log"])
    assert (found[0].format.profile.folded, len(read_evidence(found).unrecognised)) == (0, 40)


@pytest.mark.parametrize("width", [90, 400])
def test_a_box_that_a_terminal_drew_around_the_lines_is_no_part_of_them(width: int, tmp_path: Path) -> None:
    """Longer lines continue in the next row of the box."""
    begin = datetime(2026, 11, 20, 9, tzinfo=UTC)
    lines = [
        f"[{begin + timedelta(seconds=i):%Y-%m-%d %H:%M:%S},{i:03d}] INFO [GroupCoordinator 1]: Stabilized group orders-{'eu' if i % 2 else 'us'} "
        f"generation {i} (__consumer_offsets-7) with 1 members (kafka.coordinator.group.GroupCoordinator)"
        for i in range(6)
    ]
    rows = [line[at : at + width] for line in lines for at in range(0, len(line), width)]
    border = "─" * (width + 2)
    (tmp_path / "a.txt").write_text("\n".join([f"┌{border}┐", *(f"│ {row:<{width}} │" for row in rows), f"└{border}┘"]), encoding="utf-8")
    (tmp_path / "b.txt").write_text("\n".join(lines), encoding="utf-8")
    framed, plain = (
        [{k: v for k, v in e.items() if k in ("ts", "level", "logger", "event", "group_id", "generation", "message")} for e in found.events]
        for found in (read_evidence(find_evidence([tmp_path / name])) for name in ("a.txt", "b.txt"))
    )
    assert framed == plain
    assert len(framed) == 6


@pytest.mark.parametrize("width", [110, 200])
def test_objects_that_a_terminal_broke_are_read_as_whole_ones(width: int, tmp_path: Path) -> None:
    begin = datetime(2026, 11, 20, 9, tzinfo=UTC)
    text = "[{0:%Y-%m-%d %H:%M:%S},000] INFO [GroupCoordinator 1]: Stabilized group orders-{1} generation {2} (__consumer_offsets-7) with 1 members (kafka.coordinator.group.GroupCoordinator)\n"
    lines = [
        json.dumps({"log": text.format(m := begin + timedelta(seconds=i), "eu" * (i % 3), i), "stream": "stdout", "time": f"{m:%Y-%m-%dT%H:%M:%SZ}"})
        for i in range(6)
    ]
    (tmp_path / "a.log").write_text("\n".join(line[at : at + width] for line in lines for at in range(0, len(line), width)), encoding="utf-8")
    (tmp_path / "b.log").write_text("\n".join(lines), encoding="utf-8")
    broken, whole = (
        [
            {k: v for k, v in e.items() if k in ("ts", "collector_ts", "level", "logger", "event", "group_id", "generation", "message")}
            for e in found.events
        ]
        for found in (read_evidence(find_evidence([tmp_path / name])) for name in ("a.log", "b.log"))
    )
    assert broken == whole
    assert len(broken) == 6
