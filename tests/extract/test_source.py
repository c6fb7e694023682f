"""Reading: the same bytes give the same rows, however they are cut or packed; nothing odd among the evidence stops the rest."""

from __future__ import annotations

import gzip
import json
import os
import zipfile
from pathlib import Path

import pyarrow.dataset as ds
import pytest
from places import SAMPLES

from forensics.case import folder as case_folder
from forensics.case.ingestion import Options, ingest

SAMPLE = SAMPLES / "split-brain-frozen-worker-3.9.1" / "logs"
ROWS = ["event_id", "process_id", "line", "byte_offset", "ts", "event", "message", "generation", "member_id", "assigned_tasks", "config"]


def rows(case: case_folder.Case, table: str = "event_row", columns: list[str] | None = None) -> list[dict]:
    found = ds.dataset([ds.dataset(p, format="parquet") for p in case.table_paths(table)]).to_table(columns=columns or ROWS).to_pylist()
    return sorted(found, key=lambda r: (r["process_id"], r["byte_offset"]) if "byte_offset" in r else str(r))


@pytest.fixture(scope="module")
def one_file(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("one") / "w2"
    folder.mkdir()
    (folder / "connect.log").write_bytes((SAMPLE / "w2" / "connect.log").read_bytes())
    return folder.parent


@pytest.fixture(scope="module")
def whole(one_file, tmp_path_factory) -> list[dict]:
    return rows(ingest([one_file], tmp_path_factory.mktemp("whole") / "case").case)


@pytest.mark.parametrize("ranges", [2, 64])  # hardly, and within nearly every record of several lines
def test_the_same_bytes_cut_anywhere_give_the_same_rows(ranges, one_file, whole, tmp_path):
    size = (one_file / "w2" / "connect.log").stat().st_size
    case = ingest([one_file], tmp_path / "case", Options(range_bytes=size // ranges + 1)).case
    assert rows(case) == whole
    counted = rows(case, "range_row", ["range_start", "lines", "records"])
    assert sum(r["lines"] for r in counted) == (one_file / "w2" / "connect.log").read_bytes().count(b"\n")


@pytest.mark.parametrize("packing", ["gz", "zip"])
def test_packed_bytes_give_the_same_rows(packing, one_file, whole, tmp_path):
    content = (one_file / "w2" / "connect.log").read_bytes()
    logs = tmp_path / "logs" / "w2"
    logs.mkdir(parents=True)
    if packing == "gz":
        (logs / "connect.log.gz").write_bytes(gzip.compress(content))
    else:
        with zipfile.ZipFile(logs.parent / "bundle.zip", "w", zipfile.ZIP_DEFLATED) as bundle:
            bundle.writestr("w2/connect.log", content)
    told = [{k: v for k, v in r.items() if k != "process_id"} for r in rows(ingest([tmp_path / "logs"], tmp_path / "case").case)]
    assert told == [{k: v for k, v in r.items() if k != "process_id"} for r in whole]


@pytest.mark.parametrize(("cores", "block"), [(2, 4096), (5, 1000)])  # ranges of many blocks, and blocks that divide nothing evenly
def test_a_packed_log_that_several_read_gives_the_same_rows(cores, block, one_file, whole, tmp_path, monkeypatch):
    """Each unpacks it from its beginning, and reads its own range."""
    for place in ("forensics.extract.splits", "forensics.inventory.examination"):
        monkeypatch.setattr(f"{place}.COUNT_BLOCK", block)
    monkeypatch.setattr("forensics.extract.splits._MIN_PACKED", 2000)
    logs = tmp_path / "logs" / "w2"
    logs.mkdir(parents=True)
    content = (one_file / "w2" / "connect.log").read_bytes()
    (logs / "connect.log.gz").write_bytes(gzip.compress(content))
    case = ingest([tmp_path / "logs"], tmp_path / "case", jobs=cores).case
    assert [{k: v for k, v in r.items() if k != "process_id"} for r in rows(case)] == [
        {k: v for k, v in r.items() if k != "process_id"} for r in whole
    ]
    ranges = rows(case, "range_row", ["range_start", "lines"])
    assert len(ranges) > 1
    assert sum(r["lines"] for r in ranges) == content.count(b"\n")


def test_odd_evidence_is_told_and_the_rest_is_read(one_file, whole, tmp_path):
    logs = tmp_path / "logs"
    (logs / "w2").mkdir(parents=True)
    (logs / "w2" / "connect.log").write_bytes((one_file / "w2" / "connect.log").read_bytes())
    (logs / "empty.log").write_bytes(b"")
    (logs / "binary.log").write_bytes(os.urandom(5000) + bytes(5000))
    (logs / "broken.log.gz").write_bytes(gzip.compress(b"[2026-01-01 00:00:00,000] INFO x (y)\n" * 9000)[:200])
    (logs / "loop").symlink_to(logs)
    summary = ingest([logs], tmp_path / "case")
    assert rows(summary.case) == whole
    told = {Path(e.path).name: e.status for e in summary.evidence}
    assert told["connect.log"] == "read"
    assert told["binary.log"] != "read"
    assert any("broken.log" in path for path, _ in summary.faults)


def test_whatever_is_wrong_with_one_file_the_case_is_published_and_says_so(one_file, whole, tmp_path):
    """A time of the year three billion, a name that is no UTF-8, and a log that is replaced while the ingest runs."""
    logs = tmp_path / "logs"
    (logs / "w2").mkdir(parents=True)
    content = (one_file / "w2" / "connect.log").read_bytes()
    (logs / "w2" / "connect.log").write_bytes(content)
    records = "".join(
        json.dumps({"instant": {"epochSecond": at, "nanoOfSecond": 0}, "level": "INFO", "loggerName": "a.B", "message": "m"}) + "\n"
        for at in (1_767_225_600, 99_999_999_999_999_999)
    )
    (logs / "absurd.log").write_text(records)
    Path(os.fsdecode(os.fsencode(logs) + b"/caf\xe9.log")).write_bytes(content.replace(b"2026", b"2025"))
    (logs / "live.log").write_bytes(content.replace(b"2026", b"2024"))

    def replace(step, done, total):
        if step == "reading" and not done:
            (logs / "live.log").write_bytes(content.replace(b"2026", b"2023"))

    summary = ingest([logs], tmp_path / "case", progress=replace)
    told = dict(summary.faults)
    assert sorted(told) == ["absurd.log", "live.log"]
    assert "an impossible time" in told["absurd.log"]
    assert "changed while it was read" in told["live.log"]
    assert [r for r in rows(summary.case) if r["process_id"] == "w2/connect.log"] == whole
    assert len([r for r in rows(summary.case) if r["process_id"] == r"caf\xe9.log"]) == len(whole)
    again = ingest([logs], tmp_path / "case")
    assert [e.path for e in again.added] == ["live.log"]
    assert {r["ts"].year for r in rows(again.case) if r["process_id"] == "live.log" and r["ts"]} == {2023}
    assert sorted(dict(again.faults)) == ["absurd.log"]


def test_crlf_and_a_byte_order_mark_change_no_fact(one_file, whole, tmp_path):
    logs = tmp_path / "logs" / "w2"
    logs.mkdir(parents=True)
    (logs / "connect.log").write_bytes(b"\xef\xbb\xbf" + (one_file / "w2" / "connect.log").read_bytes().replace(b"\n", b"\r\n"))
    facts = ["line", "ts", "event", "generation", "member_id", "assigned_tasks"]
    told = rows(ingest([tmp_path / "logs"], tmp_path / "case").case)
    assert [{k: r[k] for k in facts} for r in told] == [{k: r[k] for k in facts} for r in whole]


def test_a_second_run_adds_only_what_is_new(one_file, whole, tmp_path):
    ingest([one_file], tmp_path / "case")
    again = ingest([one_file], tmp_path / "case")
    assert again.added == []
    assert rows(again.case) == whole


def test_a_layout_without_times_still_gives_the_order(tmp_path):
    log = tmp_path / "walk.log"
    log.write_text(
        "[Worker clientId=connect-1, groupId=g] (Re-)joining group (org.apache.kafka.connect.runtime.distributed.WorkerCoordinator:605)\n"
        "[Worker clientId=connect-1, groupId=g] Joined group at generation 7 with protocol version 2 and got assignment: Assignment{error=0, "
        "leader='connect-1-aa', leaderUrl='http://h:8083/', offset=12, connectorIds=[a], taskIds=[a-0, b-1], revokedConnectorIds=[], revokedTaskIds=[], "
        "delay=0} with rebalance delay: 0 (org.apache.kafka.connect.runtime.distributed.DistributedHerder:2580)\n"
    )
    from forensics.inventory.source_options import SourceOptions

    case = ingest([log], tmp_path / "case", Options(SourceOptions.parse([], ["%m (%c:%L)%n"], []))).case
    found = rows(case, columns=["process_id", "byte_offset", "event", "generation", "leader_member_id", "assigned_tasks", "ts"])
    assert [r["event"] for r in found] == ["joining", "worker_assigned"]
    assert (found[1]["generation"], found[1]["leader_member_id"], found[1]["assigned_tasks"], found[1]["ts"]) == (
        7,
        "connect-1-aa",
        ["a-0", "b-1"],
        None,
    )
