"""Any order and any increments of an ingest give the same names: paths, processes and hosts. Without Spark: one row per file represents its rows."""

from __future__ import annotations

import gzip
import hashlib
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
from forensics.report import verify

LINE = (
    "[2026-11-21 07:51:{:02d},897] INFO [Consumer clientId=c-{}, groupId=g] (Re-)joining group "
    "(org.apache.kafka.clients.consumer.internals.ConsumerCoordinator:611)\n"
)


def add(case: Path, *roots: Path) -> list[Evidence]:
    """Ingest without reading: each file has one row of `range_row`, with its path and process."""
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
        known = renamed(writer.known(), found, roots)
        writer.rename(zip(writer.known(), known, strict=True))
        return case_folder.publish(writer.finish(_merged(known, found, {}, writer.segment), {})).evidence()


def names(case: Path) -> tuple[set[tuple[object, ...]], set[tuple[object, ...]]]:
    """Return for evidence: its path, process and host; for rows: the path and process, by content."""
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


def test_a_file_below_two_folders_is_named_by_the_outer_one(roots: list[Path], tmp_path: Path) -> None:
    outer = tmp_path / "logs"
    outer.mkdir()
    for name in ("w1", "w2"):
        (tmp_path / name).rename(outer / name)
    add(tmp_path / "inner", outer / "w1", outer / "w2")
    add(tmp_path / "inner", outer)
    add(tmp_path / "whole", outer)
    assert names(tmp_path / "inner") == names(tmp_path / "whole")
    assert {path for _, path, _, _ in names(tmp_path / "inner")[0]} == {"w1/connect.log", "w2/connect.log"}


def rotate(folder: Path, *, kept: int = 9) -> None:
    """Like a logger: `connect.log` becomes `connect.log.1`, that `connect.log.2`, and so on; files older than `kept` are deleted."""
    for number in range(kept, 0, -1):
        older = folder / (f"connect.log.{number - 1}" if number > 1 else "connect.log")
        if older.exists():
            older.replace(folder / f"connect.log.{number}")


def day_of(number: int) -> str:
    return "".join(LINE.replace("07:51", f"{number:02d}:51").format(second, 1) for second in range(50))


def test_a_log_that_was_rotated_is_not_read_again_and_stays_evidence(roots: list[Path], tmp_path: Path) -> None:
    case, folder = tmp_path / "case", roots[1]
    for day in range(4):
        (folder / "connect.log").write_text(day_of(day))
        add(case, folder)
        add(case, folder)  # nothing is new
        rotate(folder)
    evidence, rows = names(case)
    assert {path for _, path, _, _ in evidence} == {"connect.log", "connect.log.1", "connect.log.2", "connect.log.3"}
    assert len(rows) == 4
    assert {process for _, _, process, _ in evidence} == {"connect.log"}
    assert {e.status for e in open_case(case).evidence()} == {READ}
    content = {e.path: day_of(3 - n) for n, e in enumerate(sorted(open_case(case).evidence(), key=lambda e: e.path))}
    digests = {e.path: e.fingerprint.sha256 for e in open_case(case).evidence()}
    assert digests == {path: hashlib.sha256(text.encode()).hexdigest() for path, text in content.items()}
    ordinals = {e.path: e.origin.ordinal or 0 for e in open_case(case).evidence()}
    assert sorted(ordinals, key=ordinals.__getitem__) == sorted(ordinals, reverse=True)


def test_a_log_that_was_packed_when_it_was_rotated_stays_evidence_at_its_new_place(roots: list[Path], tmp_path: Path) -> None:
    case, folder = tmp_path / "case", roots[1]
    log = folder / "connect.log"
    for day in range(3):
        log.write_text(day_of(day))
        add(case, folder)
        (folder / f"connect.log.{3 - day}.gz").write_bytes(gzip.compress(log.read_bytes()))
        log.unlink()
        add(case, folder)
        add(case, folder)
    evidence, rows = names(case)
    assert {path for _, path, _, _ in evidence} == {f"connect.log.{n}.gz" for n in (1, 2, 3)}
    assert len(rows) == 3
    assert {e.status for e in open_case(case).evidence()} == {READ}
    assert {checked.state for checked in verify.evidence(open_case(case))} == {verify.SAME}
    # A copy elsewhere does not replace another file.
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "connect.log.1.gz").write_bytes((folder / "connect.log.1.gz").read_bytes())
    add(case, tmp_path / "elsewhere")
    assert {e.place.location for e in open_case(case).evidence() if e.status == READ} == {str(folder / f"connect.log.{n}.gz") for n in (1, 2, 3)}


def test_what_a_place_held_before_stays_evidence_and_is_called_by_its_hash(roots: list[Path], tmp_path: Path) -> None:
    case, folder = tmp_path / "case", roots[1]
    log = folder / "connect.log"
    first, second = day_of(1), day_of(2)
    mark = {text: f"connect.log@{hashlib.sha256(text.encode()).hexdigest()[:8]}" for text in (first, second)}
    for text, paths in (
        (first, {"connect.log"}),
        (second, {"connect.log", mark[first]}),
        (second, {"connect.log", mark[first]}),
        (first, {"connect.log", mark[second]}),
    ):
        log.write_text(text)
        add(case, folder)
        evidence, rows = names(case)
        assert {path for _, path, _, _ in evidence} == paths
        assert len(rows) == len(paths)
    log.unlink()
    add(case, folder)
    assert names(case) == (evidence, rows)
    # The log of which one content is the beginning takes its rows' place.
    log.write_text(second + first)
    add(case, folder)
    evidence, rows = names(case)
    assert {path for _, path, _, _ in evidence} == {"connect.log", mark[first]}
    assert [e.path for e in open_case(case).evidence() if e.status == SUPERSEDED] == [mark[second]]
    log.write_text("")
    add(case, folder)
    assert len(names(case)[1]) == 2
