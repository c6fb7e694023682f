# SPDX-License-Identifier: Apache-2.0
"""Lines that carry no fact are counted, none is lost, and no answer needs their rows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from reading import Reading, read_evidence, recogniser

from forensics.case.view_files import views
from forensics.catalogue.patterns import load
from forensics.inventory.inventory import find_evidence
from forensics.schema import table_columns

SAMPLES = Path(__file__).parent.parent / "sample_logs"
WORKERS = "split-brain-partitioned-worker-2.3.0"
COUNTED = {e.name for e in load().events if e.counted}


def both(folder: Path) -> tuple[Reading, Reading]:
    """What is read of some logs by default, and with all lines kept."""
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
        named = COUNTED & set(re.findall(r"'(\w+)'", view.query))
        assert not named, f"{name} asks for {named}, which are no rows of event by default"
        for pattern in re.findall(r"\bevent (?:NOT )?LIKE '([^']+)'", view.query):
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
