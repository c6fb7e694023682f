# SPDX-License-Identifier: Apache-2.0
"""Lines that carry no fact are counted, none is lost, and no answer needs their rows."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pytest
from places import SAMPLES
from reading import Reading, read_evidence, recogniser

from forensics.case import views as case_views
from forensics.case.folder import Case
from forensics.case.ingestion import Options, ingest
from forensics.case.view_files import views
from forensics.catalogue.counted_texts import re2
from forensics.catalogue.patterns import compiled, load
from forensics.inventory.inventory import find_evidence
from forensics.records.line_reader import Profile
from forensics.report.comparison import compare
from forensics.schema import table_columns

WORKERS = "split-brain-partitioned-worker-2.3.0"
COUNTED = {e.name for e in load().events if e.counted}


#: Texts that may be in a line that is, or nearly is, one without a fact.
HEADS = ("INFO ", "WARN ", "ERROR ", "DEBUG ", "INFO [orders|task-0] ", "INFO [Consumer clientId=c, groupId=g] ", "INFO  ", "INFO stream-thread [x] ")
TEXTS = (
    '10.0.{n}.1 - - [21/Nov/2026:08:13:55 +0000] "{verb} /connectors/c{n}/status HTTP/1.1" {status} {n} "-" "curl/8.5.0" {n}',
    '10.0.{n}.1 - - [21/Nov/2026:08:13:55 +0000] "{verb} /connectors/c{n}/status HTTP/1.1" {status} -  {n}',
    '10.0.{n}.1 - - [21/Nov/2026:08:13:55 +0000] "{verb} /a b HTTP/1.1" {status} {n} "-" "x" "{n}',
    "Error forwarding REST request to http://10.0.{n}.1:8083/connectors/a/tasks :",
    "REST server listening at http://10.0.{n}.1:8083/, advertising URL http://10.0.{n}.1:8083/",
    "The configuration 'x{n}' was supplied but isn't a known config.",
    "These configurations '[x{n}, y]' were supplied but are not used yet.",
    "Nobody knows of this: {n}",
)
ENDS = ("",) * 12 + (" ", "\t", " é", "\u00a0", "\x00", "\n\tat a.b.C(D.java:1)", "\r")
LOGGERS = ("connect.runtime.rest.RestServer:62", "clients.consumer.ConsumerConfig:1124", "connect.runtime.distributed.DistributedConfig:396")


def odd_lines(seed: int, count: int) -> str:
    """Lines without a fact, and lines that are nearly such."""
    rng = random.Random(seed)
    out = []
    for i in range(count):
        verb, status = (
            rng.choice(("GET",) * 5 + ("HEAD", "POST", "DELETE", "get", "GETS")),
            rng.choice(("200",) * 5 + ("304", "404", "500", "2", "٢00")),
        )
        text = rng.choice(TEXTS).format(n=rng.randrange(300), verb=verb, status=status)
        head = rng.choice((HEADS[0],) * 8 + HEADS)
        out.append(
            f"[2026-11-21 08:{i // 3600 % 60:02d}:{i // 60 % 60:02d},{i % 60:03d}] {head}{text}{rng.choice(ENDS)} (org.apache.kafka.{rng.choice(LOGGERS)})"
        )
    return "\n".join(out) + "\n"


@pytest.mark.parametrize("keep_all", [False, True])
def test_lines_are_counted_together_as_they_are_by_themselves(keep_all: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "w.log").write_text(odd_lines(1, 6_000), encoding="utf-8", newline="")
    evidence = find_evidence([tmp_path])
    assert evidence[0].format.profile.plain
    quick = read_evidence(evidence, 400_000, broken=True, keep_all=keep_all)
    monkeypatch.setattr(Profile, "plain", property(lambda self: False))
    slow = read_evidence(evidence, 400_000, broken=True, keep_all=keep_all)
    assert (len(slow.counted) > 500) != keep_all
    assert len(slow.events) > 500
    assert quick.counted == slow.counted
    assert quick.events == slow.events
    assert quick.unrecognised == slow.unrecognised


def test_expressions_say_what_the_patterns_say() -> None:
    """Each pattern that RE2 can say means the same there, by all examples and counterexamples of all blocks of its loggers."""
    events = load().events
    texts = sorted({e.line for event in events for e in (*event.examples, *event.counterexamples) if e.line.isascii() and "\n" not in e.line})
    array = pa.array([text.encode() for text in texts], pa.large_binary())
    said = 0
    for event in events:
        expression = re2(event.pattern)
        if expression is None:
            continue
        said += 1
        found = pc.match_substring_regex(array, expression).to_pylist()
        pattern = compiled(event.pattern)
        assert [text for text, is_found in zip(texts, found, strict=True) if is_found] == [text for text in texts if pattern.fullmatch(text)], (
            event.where
        )
    assert said > 0.9 * len(events)


def both(folder: Path) -> tuple[Reading, Reading]:
    """Return the rows that are read from some logs by default, and with all lines kept."""
    evidence = find_evidence([folder])
    return read_evidence(evidence, 100_000), read_evidence(evidence, 100_000, keep_all=True)


def test_each_record_is_a_row_or_counted() -> None:
    few, all_ = both(SAMPLES / WORKERS)
    assert len(few.counted) > 300
    assert not all_.counted
    assert few.unrecognised == all_.unrecognised
    kept = {e["event_id"] for e in few.events}
    assert [e for e in all_.events if e["event_id"] in kept] == few.events
    columns = {c.name for c in table_columns("counted_row")}
    assert few.counted == [{k: v for k, v in e.items() if k in columns} for e in all_.events if e["event_id"] not in kept]
    for of_few, of_all in zip(few.ranges, all_.ranges, strict=True):
        assert of_few["counted"] >= of_all["counted"] == 0
        assert {**of_few, "counted": 0, "layouts": None} == {**of_all, "layouts": None}
    assert few.total("events") == len(few.events) + len(few.counted) == len(all_.events)
    assert few.total("counted") == len(few.counted)


def test_no_view_names_what_is_counted() -> None:
    for name, view in views().items():
        # What a view leaves out may be counted: it is no row either way.
        named = COUNTED & set(re.findall(r"(?<!<> )'(\w+)'", view.query))
        assert not named, f"{name} asks for {named}, which are no rows of event by default"
        for pattern in re.findall(r"\bevent LIKE '([^']+)'", view.query):
            words = re.compile(pattern.replace("\\\\_", "_").replace("%", ".*"))
            assert not [event for event in COUNTED if words.fullmatch(event)], f"{name}: {pattern}"
        assert not re.search(r"category[^,]*'other'", view.query), f"{name} asks for the category"


@pytest.mark.parametrize(
    ("logger", "level", "message", "is_counted"),
    [
        ("clients.consumer.ConsumerConfig", "WARN", "The configuration 'plugin.path' was supplied but isn't a known config.", True),
        # Of a task: a sign of its life.
        ("clients.consumer.ConsumerConfig", "WARN", "[orders|task-0] The configuration 'plugin.path' was supplied but isn't a known config.", False),
        ("connect.runtime.rest.RestServer", "INFO", '10.0.0.1 - - [21/Nov/2026:08:13:55 +0000] "GET / HTTP/1.1" 200 91 "-" "curl/8" 3', True),
        ("connect.runtime.rest.RestServer", "INFO", '10.0.0.1 - - [21/Nov/2026:08:13:55 +0000] "GET / HTTP/1.1" 500 91 "-" "curl/8" 3', False),
        ("connect.runtime.rest.RestServer", "INFO", '10.0.0.1 - - [21/Nov/2026:08:13:55 +0000] "PUT / HTTP/1.1" 200 91 "-" "curl/8" 3', False),
        ("connect.runtime.isolation.PluginUtils", "INFO", "Registered java.sql.Driver: org.postgresql.Driver@1b2 to java.sql.DriverManager", True),
        ("connect.runtime.isolation.PluginUtils", "ERROR", "Registered java.sql.Driver: org.postgresql.Driver@1b2 to java.sql.DriverManager", False),
        ("connect.runtime.distributed.DistributedHerder", "INFO", "Herder started", False),
    ],
)  # fmt: skip
def test_what_tells_whose_it_is_or_what_went_wrong_is_kept(logger: str, level: str, message: str, is_counted: bool) -> None:
    found = recogniser().recognise(f"org.apache.kafka.{logger}", message)
    assert found is not None
    assert recogniser().is_counted(found, level) == is_counted
    kept = recogniser(keep_all=True).recognise(f"org.apache.kafka.{logger}", message)
    assert kept is not None
    assert not recogniser(keep_all=True).is_counted(kept, level)


def stored_rows(case: Case, view: str) -> list[dict[str, Any]]:
    """A view's rows in their order."""
    rows = ds.dataset(str(case.view_path(view)), format="parquet").to_table().to_pylist()
    return sorted(rows, key=lambda row: str(row["path"]))


@pytest.mark.engine
@pytest.mark.slow
@pytest.mark.parametrize("sample", [WORKERS, "split-brain-frozen-worker-3.9.1"])
def test_every_view_is_the_same_with_all_lines_kept(sample: str, any_engine, tmp_path: Path) -> None:
    cases = {}
    for name, keep_all in (("few", False), ("all", True)):
        case = ingest([SAMPLES / sample / "logs"], tmp_path / name, Options(keep_all=keep_all)).case
        cases[name] = case_views.build(case, any_engine)
    differing = {d.view: d for d in compare(cases["few"], cases["all"]) if not d.same}
    assert differing.keys() == {"counted_line", "source_file"}, differing
    assert differing["counted_line"].rows[1] == 0
    few, all_ = (stored_rows(case, "source_file") for case in cases.values())
    assert sum(row["counted"] for row in few) > 50
    assert [{**row, "counted": 0} for row in few] == all_
