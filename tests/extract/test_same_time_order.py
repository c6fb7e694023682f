"""Exports in another order than that of printing: newest lines first, with the lines of one moment in either order; or each second in any order."""

from __future__ import annotations

import json
import random
import re
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from places import ROOT

from forensics.case.folder import open_case
from forensics.case.ingestion import ingest
from forensics.extract.repairs import UNORDERED, is_reversed

LOG = ROOT / "sample_logs/split-brain-frozen-worker-3.9.1/logs/w2/connect.log"
HEAD = re.compile(r"^\[(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d),(\d{3})\] ", re.MULTILINE)


def records() -> list[tuple[str, str]]:
    """Times and texts of the records of a worker's log."""
    text = LOG.read_text(encoding="utf-8")
    heads = list(HEAD.finditer(text))
    ends = [m.start() for m in heads[1:]] + [len(text)]
    return [(f"{m[1]}T{m[2]}.{m[3]}Z", text[m.start() : end].rstrip("\n")) for m, end in zip(heads, ends, strict=True)]


def said(case: Path) -> list[str]:
    """Messages of events and of other records in the order of the process."""
    read = open_case(case)
    parts = [
        pq.read_table(path, columns=["stream_pos", name]).rename_columns(["stream_pos", "text"])
        for table, name in (("event_row", "message"), ("unrecognised_row", "text"))
        for path in read.table_paths(table)
    ]
    return [str(text) for text in pa.concat_tables(parts).sort_by("stream_pos")["text"].to_pylist()]


@pytest.mark.parametrize("ties", ["as printed", "turned round"])
def test_a_log_with_its_newest_lines_first_is_read_in_the_order_in_which_it_was_printed(ties: str, tmp_path: Path) -> None:
    found = sorted(records(), key=lambda r: r[0])  # threads that were held up print a little late
    assert len({time for time, _ in found}) < 0.8 * len(found), "many lines of this log are of one moment"
    newest_first = sorted(found if ties == "as printed" else reversed(found), key=lambda r: r[0], reverse=True)
    (tmp_path / "plain.log").write_text("".join(text + "\n" for _, text in found), encoding="utf-8")
    lines = (json.dumps({"@timestamp": time, "message": text}) + "\n" for time, text in newest_first)
    (tmp_path / "export.json").write_text("".join(lines), encoding="utf-8")
    for name in ("plain.log", "export.json"):
        ingest([tmp_path / name], tmp_path / f"case of {name}")
    plain, export = (said(tmp_path / f"case of {name}") for name in ("plain.log", "export.json"))
    assert len(plain) > 200
    assert export == plain


@pytest.mark.parametrize("newest_first", [False, True])
def test_lines_of_a_second_in_any_order_are_sorted_by_time(newest_first: bool, tmp_path: Path) -> None:
    found = records()
    random.Random(1).shuffle(found)
    found.sort(key=lambda r: r[0][:19], reverse=newest_first)
    log = tmp_path / "w2.log"
    log.write_text("".join(text + "\n" for _, text in found), encoding="utf-8")
    ingest([log], tmp_path / "case")
    case = open_case(tmp_path / "case")
    rows = pa.concat_tables(pq.read_table(path, columns=["stream_pos", "ts", "line", "message"]) for path in case.table_paths("event_row"))
    rows = rows.sort_by("stream_pos")
    times = rows["ts"].to_pylist()
    assert times == sorted(times)
    assert len(set(rows["stream_pos"].to_pylist())) == len(times) > 200
    lines = log.read_text(encoding="utf-8").split("\n")
    assert all(str(row["message"]).split("\n")[0][:40] in lines[row["line"] - 1] for row in rows.to_pylist()), "each row keeps its line"
    ranges = pa.concat_tables(pq.read_table(path) for path in case.table_paths("range_row")).to_pylist()
    assert [(row["path"], row["shift_ms"]) for row in ranges if row["shift_why"] == UNORDERED] == [("w2.log", 0)]


def test_small_logs_that_share_batches_and_reads_have_the_rows_of_logs_read_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = records()
    swapped = [r for n in range(0, len(found) - 1, 2) for r in (found[n + 1], found[n])]
    stepped = [*found[200:300], *found[:100]]
    for name, mine in (("in order", found), ("swapped", swapped), ("newest first", found[::-1]), ("stepped", stepped), ("stepped too", stepped[50:])):
        for worker in ("w1", "w2"):
            log = tmp_path / "logs" / worker / name / "connect.log"
            log.parent.mkdir(parents=True)
            log.write_text("".join(text + "\n" for _, text in mine), encoding="utf-8")
    merged = ("".join(f"[pod/connect-{n % 2}/connect] {line}\n" for line in text.split("\n")) for n, (_, text) in enumerate(found))
    (tmp_path / "logs" / "pods.log").write_text("".join(merged), encoding="utf-8")
    whole = all_rows(tmp_path)
    assert {row["process_id"] for row in whole["event_row"]} >= {"pods.log#connect-0/connect", "pods.log#connect-1/connect"}
    assert {row["shift_why"] for row in whole["range_row"]} > {UNORDERED}
    monkeypatch.setattr("forensics.extract.stream_lines._FEW_ROWS", 0)
    monkeypatch.setattr("forensics.extract.row_builder.MAX_ROWS", 1)
    assert all_rows(tmp_path) == whole


def all_rows(folder: Path) -> dict[str, list[dict[str, object]]]:
    """Rows of an ingest of the logs in a folder, by table."""
    ingest([folder / "logs"], folder / "case", jobs=1)
    case = open_case(folder / "case")
    tables = ("event_row", "counted_row", "range_row")
    rows = {name: [row for path in case.table_paths(name) for row in pq.read_table(path).to_pylist()] for name in tables}
    shutil.rmtree(folder / "case")
    return {
        name: sorted(found, key=lambda row: (row["path"], row.get("byte_offset", 0), row.get("range_start", 0), str(row)))
        for name, found in rows.items()
    }


def test_few_lines_of_one_moment_turn_nothing_round() -> None:
    ts, said_ = np.array([1, 2, 3, 4, 5, 5, 6, 6]), np.array([0, 1, 0, 1, 1, 0, 1, 0])
    assert not is_reversed(ts, said_)
    assert not is_reversed(ts[:0], said_[:0])
