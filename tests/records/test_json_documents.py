# SPDX-License-Identifier: Apache-2.0
"""Answers of log stores, and arrays of records, whatever is broken in them: what can be read is read, what cannot is said."""

from __future__ import annotations

import gzip
import io
import json
import random
import tracemalloc
from datetime import UTC, datetime

import pytest
from reading import read

from forensics.records.json_documents import Document, document_path
from forensics.records.layouts import packaged

KEYS = packaged().keys
COUNT = 300
LONGEST = 1 << 20


def record(n: int) -> str:
    return f"[2026-01-01 00:{n // 60:02}:{n % 60:02},000] INFO [Worker clientId=connect-1, groupId=g] (Re-)joining group (org.apache.kafka.x.WorkerCoordinator:605)"


def hit(n: int, **more: object) -> dict[str, object]:
    return {"_index": "logs", "_source": {"@timestamp": f"2026-01-01T00:{n // 60:02}:{n % 60:02}.000Z", "message": record(n), **more}}


def elasticsearch(count: int = COUNT) -> bytes:
    return json.dumps({"took": 1, "hits": {"total": {"value": count}, "hits": [hit(n) for n in range(count)]}}, separators=(",", ":")).encode()


def loki(count: int = COUNT) -> bytes:
    values = [[str((1_767_225_600 + n) * 10**9), record(n)] for n in range(count)]
    return json.dumps({"status": "success", "data": {"result": [{"stream": {"pod": "p"}, "values": values}]}}, separators=(",", ":")).encode()


ANSWERS = {"Elasticsearch": elasticsearch, "Loki": loki}


def joined(folder, content: bytes, name: str = "answer.json"):
    (folder / name).write_bytes(content)
    reading = read([folder], broken=True)
    return [e for e in reading.events if e["event"] == "joining"], "; ".join(text for _, text in reading.faults), reading


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("name", ["answer.json", "answer", "answer.json.gz"])
def test_each_record_has_its_time_and_its_place(answer, name, tmp_path):
    content = ANSWERS[answer]().replace(b'{"_index"', b'\n{"_index"').replace(b'["17', b'\n["17')
    events, faults, reading = joined(tmp_path, gzip.compress(content) if name.endswith("gz") else content, name)
    assert (len(events), faults) == (COUNT, "")
    lines = content.split(b"\n")
    for n, e in enumerate(events):
        assert e["ts"] == datetime(2026, 1, 1, 0, n // 60, n % 60, tzinfo=UTC)
        assert content[e["byte_offset"] :].startswith((b'{"_index"', b'["17'))
        assert record(n).encode() in lines[e["line"] - 1]
    assert reading.total("lines") == len(lines)
    assert len({e["event_id"] for e in events}) == COUNT


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("indent", [None, 2])
def test_a_document_is_read_as_it_comes(answer, indent):
    """The records are the same however few bytes each read returns."""
    content = json.dumps(json.loads(ANSWERS[answer](60)), indent=indent, ensure_ascii=False).replace("joining", "jöining €").encode()
    path = document_path(content, KEYS)
    whole = list(Document(io.BytesIO(content), path, KEYS, LONGEST).elements())
    assert len(whole) == 60
    chance = random.Random(7)

    class Slow:
        rest = content

        def read(self, size=-1, /):
            size = chance.choice((1, 2, 3, 50, 1_000))
            data, self.rest = self.rest[:size], self.rest[size:]
            return data

    slow = Document(Slow(), path, KEYS, LONGEST)
    assert list(slow.elements()) == whole
    assert slow.lines == content.count(b"\n") + 1


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("what", ["cut", "a quotation mark", "a brace or bracket", "torn"])
def test_a_fault_costs_the_record_that_it_is_in(answer, what, tmp_path):
    content = ANSWERS[answer]()
    middle = len(content) // 2
    gone = {"torn": b'"17' if answer == "Loki" else b'"', "a brace or bracket": b"}" if answer == "Elasticsearch" else b"]"}
    at, count = content.index(gone.get(what, b'"'), middle), COUNT
    if what == "cut":
        content, count = content[:at], COUNT // 2
    elif what == "torn":
        content = content[:at] + b"\n\xff\xfe torn\n" + content[at + 30 :]
    else:
        content = content[:at] + content[at + 1 :]
    events, faults, _ = joined(tmp_path, content)
    assert count - 2 <= len(events) <= count + 1
    assert "1 record of the document is not valid JSON, the first in line 1" in faults
    assert ("the document ends in the middle of a record" in faults) == (what == "cut")


def test_a_record_without_end_is_cut_and_the_next_are_read(tmp_path):
    hits = [hit(0), hit(1, stack_trace="x" * 5_000_000), *(hit(n) for n in range(2, COUNT))]
    events, faults, _ = joined(tmp_path, json.dumps({"hits": {"hits": hits}}).encode())
    assert len(events) == COUNT
    assert "longer than 1 MiB and truncated" in faults


def test_memory_is_bounded_by_a_record_and_not_by_the_document():
    class Endless:
        left, head = 100, b'{"hits":{"hits":['

        def read(self, size=-1, /):
            self.left -= 1
            head, self.head = self.head, b""
            return head + json.dumps(hit(1)).encode() + b"," + b" " * 1_000_000 if self.left > 0 else b""

    tracemalloc.start()
    assert sum(1 for _ in Document(Endless(), ("hits", "hits", "[]"), KEYS, LONGEST).elements()) == 99
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10 << 20


@pytest.mark.parametrize("size", ["9" * 6_000, "-1", "1e999", '"' + "9" * 20 + '"', "{}", "[[[]]]", "null"])
def test_absurd_values_cost_no_other_record(size, tmp_path):
    content = elasticsearch().replace(b'"took":1', b'"took":' + size.encode()).replace(b'"_index":"logs"', b'"_index":' + size.encode(), 1)
    events, _, _ = joined(tmp_path, content)
    assert len(events) >= COUNT - 1


def test_pages_of_an_answer_in_one_array_are_all_read(tmp_path):
    pages = [[hit(n) for n in range(at, at + 100)] for at in range(0, COUNT, 100)]
    events, faults, _ = joined(tmp_path, json.dumps(pages).encode())
    assert (len(events), faults) == (COUNT, "")


@pytest.mark.parametrize("content", [[1, 2, 3], [{"id": 1, "name": "b"}] * 50, [["a", "b"]] * 50, [[1767225600, "1"]] * 50, [{"message": "m"}] * 50])
def test_an_array_that_is_no_log_gives_nothing(content, tmp_path):
    events, _, reading = joined(tmp_path, json.dumps(content).encode())
    assert not events
    assert all(e.format.profile.document is None for e in reading.evidence)


@pytest.mark.parametrize("content", [b"[" * 300_000, b'{"a":[' * 100_000, b'[{"message":"x","level":"INFO"},' + b"[" * 300_000])
def test_brackets_without_end_are_no_document(content, tmp_path):
    events, faults, reading = joined(tmp_path, content)
    assert not events
    assert "it is not a document of records" in faults or reading.evidence[0].status == "skipped"


@pytest.mark.parametrize(
    "text",
    [
        '{"level":"INFO","message":"x"}\n{"level":"INFO","message":"y"}\n',
        '[\n{"level":"INFO","message":"x"},\n{"level":"INFO","message":"y"}\n]\n',
        '{"name":"b","connector":{"state":"RUNNING"},"tasks":[{"id":0,"state":"FAILED","trace":"x"}]}',
        '["a","b"]', "[2026-01-01 00:00:00,000] INFO x (a.B)", "{", "[]", '{"a":{"b":[1,2,{"c":"d"}]}}',
    ],
)  # fmt: skip
def test_what_is_no_document_of_records_is_left_to_others(text):
    assert document_path(text.encode(), KEYS) is None


def test_a_message_of_bytes_is_text(tmp_path):
    """journald writes what holds control characters, colours among them, as a list of bytes."""
    lines = [
        {"MESSAGE": list(f"\x1b[32m{record(n)}\x1b[0m".encode()), "__REALTIME_TIMESTAMP": str((1_767_225_600 + n) * 10**6), "_HOSTNAME": "h"}
        for n in range(10)
    ]
    events, faults, _ = joined(tmp_path, "".join(json.dumps(line) + "\n" for line in lines).encode(), "journal.json")
    assert (len(events), faults) == (10, "")
    assert [e["ts"] for e in events] == [datetime(2026, 1, 1, 0, 0, n, tzinfo=UTC) for n in range(10)]


def test_a_time_that_cannot_be_read_is_said(tmp_path):
    lines = [
        {
            "@timestamp": "2026-01-01T00:00:%02d.000Z",
            "level": "INFO",
            "logger": "org.apache.kafka.x.WorkerCoordinator",
            "message": "(Re-)joining group",
        }
        for _ in range(3)
    ]
    _, faults, _ = joined(tmp_path, "".join(json.dumps(line) + "\n" for line in lines).encode(), "es.json")
    assert "3" in faults
    assert "time" in faults
