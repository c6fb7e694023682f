# SPDX-License-Identifier: Apache-2.0
"""A copy groups lines to records exactly as `ingest` does: lines that a runtime split, gaps of zero bytes, and headings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from reading import read

from forensics.redact.copying import redact

LOGGER = "org.apache.kafka.clients.consumer.internals.ConsumerCoordinator"
PART = 16 * 1024


def line(second: int, message: str) -> str:
    return f"[2026-11-21 09:00:{second:02},250] INFO [Consumer clientId=c-1, groupId=payments] {message} ({LOGGER}:283)"


JOINED = [line(n, f"Successfully joined group with generation Generation{{generationId={n}, memberId='m-1', protocol='range'}}") for n in range(20)]
LONG = line(30, f"Adding newly assigned partitions: {', '.join(f'invoices-{n}' for n in range(3_000))}")


def copied(tmp_path: Path, text: bytes | str) -> tuple[list, list, bytes]:
    """Return the events of a log (names, times, numbers of partitions and of their topics), those of its copy, and the copy."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "some.log").write_bytes(text if isinstance(text, bytes) else text.encode())
    redact(tmp_path / "in", tmp_path / "out")

    def events(folder: str) -> list[tuple]:
        rows = read([tmp_path / folder], broken=True).events
        topics = [[p.rpartition("-")[0] for p in row.get("partitions") or ()] for row in rows]
        return [(row["event"], row.get("ts"), len(found), len(set(found))) for row, found in zip(rows, topics, strict=True)]

    (copy,) = (tmp_path / "out").rglob("*.log")
    return events("in"), events("out"), copy.read_bytes()


def parts(text: str, end: str) -> list[str]:
    whole = text + end
    return [whole[at : at + PART] for at in range(0, len(whole), PART)]


def of_docker(texts: list[str]) -> str:
    pieces = [part for text in texts for part in parts(text, "\n")]
    return "".join(json.dumps({"log": part, "stream": "stdout", "time": f"2026-11-21T09:00:59.{n:09}Z"}) + "\n" for n, part in enumerate(pieces))


def of_kubernetes(texts: list[str]) -> str:
    pieces = [(part, "P" if n < len(found) - 1 else "F") for text in texts for found in [parts(text, "")] for n, part in enumerate(found)]
    return "".join(f"2026-11-21T09:00:59.{n:09}Z stdout {flag} {part}\n" for n, (part, flag) in enumerate(pieces))


@pytest.mark.parametrize("written", [of_docker, of_kubernetes])
def test_a_line_that_a_container_runtime_split_is_one_line(written, tmp_path: Path) -> None:
    text = written([*JOINED, LONG])
    before, after, copy = copied(tmp_path, text)
    assert (len(before), after) == (21, before)
    assert before[-1][2:] == (3_000, 1)
    assert b"invoices" not in copy
    assert copy.count(b"\n") == text.count("\n")


def test_a_gap_of_zero_bytes_stays_and_ends_a_record(tmp_path: Path) -> None:
    """A program that crashed leaves it. What follows the gap does not continue the record before it."""
    gap = b"\0" * 4096
    text = "\n".join(JOINED[:10]).encode() + b"\n" + gap + b"\tssl.keystore.location = /srv/acme\n" + "\n".join(JOINED[10:]).encode() + b"\n"
    before, after, copy = copied(tmp_path, text)
    assert (len(before), after) == (20, before)
    assert gap + b"[withheld]\n" in copy


def test_headings_of_several_files_stay_headings(tmp_path: Path) -> None:
    text = "".join(f"==> acme-{name}/connect.log <==\n" + "\n".join(JOINED) + "\n\n" for name in ("alpha", "beta"))
    before, after, copy = copied(tmp_path, text)
    assert (len(before), after) == (40, before)
    assert copy.count(b"==> ") == 2
    assert b"acme" not in copy
    assert len({e["process_id"] for e in read([tmp_path / "out"]).events}) == 2


def test_names_of_settings_stay_and_their_values_do_not(tmp_path: Path) -> None:
    """A client lists the settings that it does not know; a connector is called like a word in one of them."""
    keys = "metrics.context.connect.kafka.cluster.id, metrics.context.connect.group.id, offset.storage.file.filename, plugin.discovery"
    head, logger = "[2026-11-21 09:00:01,250]", "(org.apache.kafka.clients.consumer.ConsumerConfig:378)"
    text = [
        f"{head} INFO These configurations '[{keys}]' were supplied but are not used yet. {logger}",
        f"{head} WARN The configuration offset.flush.interval.ms = acmepay was supplied but isn't a known config. {logger}",
        f"{head} WARN The configuration 'acmepay.topic' was supplied but isn't a known config. {logger}",
        *(line(n, "(Re-)joining group").replace("payments", "metrics") for n in range(5)),
    ]
    before, after, copy = copied(tmp_path, "\n".join(text) + "\n")
    assert before == after
    assert f"'[{keys}]' were supplied".encode() in copy
    assert b"The configuration offset.flush.interval.ms = " in copy
    assert b"acmepay" not in copy


@pytest.mark.parametrize("indent", [None, 2])
def test_an_object_in_several_rows_is_copied_in_its_first_one(tmp_path, indent):
    message = "[Consumer clientId=c-1, groupId=payments] (Re-)joining group"
    record = {"level": "INFO", "timestamp": "", "logger_name": LOGGER, "message": message}
    rows = [json.dumps(record | {"timestamp": f"2026-11-21T09:00:0{second}.250Z"}, indent=indent) for second in range(3)]
    if indent is None:
        rows = ["\n".join(row[at : at + 120] for at in range(0, len(row), 120)) for row in rows]
    text = "the log\n" + "\n".join(rows) + "\n"
    before, after, copy = copied(tmp_path, text)
    assert len(before) == 3
    assert after == before
    assert copy.count(b"\n") == text.count("\n")
    assert b"payments" not in copy
