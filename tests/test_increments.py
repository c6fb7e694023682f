"""Any order and any increments of an ingest give the same names: paths, processes and hosts. Without Spark: one row a file stands for its rows."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import pyarrow.dataset as ds
import pytest

from forensics.case import folder as case_folder
from forensics.case.folder import files_to_drop, open_case, writing
from forensics.case.ingestion import _merged
from forensics.inventory.evidence import READ, SUPERSEDED, Evidence
from forensics.inventory.inventory import find_evidence
from forensics.inventory.names import renamed

LINE = (
    "[2026-11-21 07:51:{:02d},897] INFO [Consumer clientId=c-{}, groupId=g] (Re-)joining group "
    "(org.apache.kafka.clients.consumer.internals.ConsumerCoordinator:611)\n"
)


def add(case: Path, *roots: Path) -> list[Evidence]:
    """Ingests without reading: each file has one row of `range_row`, with its path and process."""
    with writing(case) as writer:
        found = find_evidence(roots, known=writer.known())
        rows = [
            {"path": e.path, "process_id": f"{e.origin.process_id}#pod", "file_id": e.fingerprint.file_id, "range_start": 0, "layouts": []}
            for e in found
            if e.status == READ
        ]
        if rows:
            (writer.staging / "rows").mkdir()
            writer.add(writer.staging / "rows", [], rows, ())
        writer.drop(files_to_drop(writer.case, found))
        writer.rename(zip(writer.known(), renamed(writer.known(), found), strict=True))
        return case_folder.publish(writer.finish(_merged(writer, found, {}), {})).evidence()


def names(case: Path) -> tuple[set[tuple[object, ...]], set[tuple[object, ...]]]:
    """Of evidence: its path, process and host; of rows: the path and process, by content."""
    opened = open_case(case)
    rows = ds.dataset([ds.dataset(p, format="parquet") for p in opened.table_paths("range_row")]).to_table().to_pylist()
    evidence = {(e.fingerprint.file_id, e.path, e.origin.process_id, e.origin.host) for e in opened.evidence() if e.status == READ}
    assert {(f, p, f"{process}#pod") for f, p, process, _ in evidence} == {(r["file_id"], r["path"], r["process_id"]) for r in rows}
    return evidence, {(r["file_id"], r["path"], r["process_id"]) for r in rows}


@pytest.fixture
def roots(tmp_path: Path) -> list[Path]:
    made = []
    for number, name in enumerate(("broker-1/server.log", "w1/connect.log", "w2/connect.log", "other/w2/connect.log")):
        file = tmp_path / name
        file.parent.mkdir(parents=True)
        file.write_text("".join(LINE.format(second, number) for second in range(50)))
        made.append(file.parent)
    return made


def test_any_order_and_any_increments_give_the_same_names(roots: list[Path], tmp_path: Path) -> None:
    add(tmp_path / "whole", *roots)
    whole = names(tmp_path / "whole")
    assert {(process, host) for _, _, process, host in whole[0]} == {
        ("server.log", "broker-1"), ("w1/connect.log", "w1"), ("w2/connect.log", "w2"), ("w2~2/connect.log", "w2"),
    }  # fmt: skip
    for number, order in enumerate(permutations(roots)):
        case = tmp_path / f"case-{number}"
        for root in order:
            add(case, root)
        assert names(case) == whole, order
    add(tmp_path / "pairs", *roots[:2])
    add(tmp_path / "pairs", *roots[2:])
    assert names(tmp_path / "pairs") == whole


def test_a_log_that_grew_keeps_its_names(roots: list[Path], tmp_path: Path) -> None:
    case = tmp_path / "case"
    add(case, roots[1])
    with (roots[1] / "connect.log").open("a") as file:
        file.write(LINE.format(59, 1))
    add(case, *roots[1:3])
    told = {(e.path.partition("@")[0], e.origin.process_id, e.origin.host) for e in open_case(case).evidence() if e.status == READ}
    assert told == {("w1/connect.log", "w1/connect.log", "w1"), ("w2/connect.log", "w2/connect.log", "w2")}
    assert [e.status for e in open_case(case).evidence()].count(SUPERSEDED) == 1
