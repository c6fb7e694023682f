"""`verify --derive` reads the evidence again, and finds every row that it does not give."""

from __future__ import annotations

import shutil
import tarfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from places import SAMPLES
from strangers import renew, without_seal
from typer.testing import CliRunner, Result

from forensics.case import folder, seals, views
from forensics.case.folder import Case, open_case
from forensics.case.ingestion import Options, ingest
from forensics.cli import app
from forensics.errors import CaseError
from forensics.inventory.source_options import SourceOptions
from forensics.report import derivation
from forensics.report.comparison import OF_RECORDS
from forensics.report.verify import evidence


def run(*args: object) -> Result:
    return CliRunner().invoke(app, [str(a) for a in args], catch_exceptions=True)


HEAD = "(org.apache.kafka.clients.consumer.internals.ConsumerCoordinator:611)"


def lines(client: str, second: int, count: int = 3) -> str:
    return "".join(
        f"[2026-11-21 07:51:{second + n:02d},897] INFO [Consumer clientId={client}, groupId=g] (Re-)joining group {HEAD}\n" for n in range(count)
    )


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """Two hosts with the same names, a rotated log, an archive with two members, a file that is no log, and one that is not UTF-8 by its name."""
    place = tmp_path / "logs"
    for host in ("w1", "w2"):
        (place / host).mkdir(parents=True)
        (place / host / "connect.log").write_text(lines(f"c-{host}", 20))
        (place / host / "connect.log.1").write_text(lines(f"c-{host}", 10))
    (place / "w1" / "picture.png").write_bytes(b"\x89PNG" + bytes(100))
    (place / "b\udcff.log").write_text(lines("b", 1))
    for name in ("x", "y"):
        (tmp_path / name).write_text(lines(name, 30))
    with tarfile.open(place / "all [old].tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "x", "d/x.log")
        archive.add(tmp_path / "y", "d/y.log")
    return place


@pytest.fixture
def no_views(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of records are compared without an engine; views have tests of their own."""
    monkeypatch.setattr(views, "build", lambda case, engine, progress, thresholds: case)
    monkeypatch.setattr(derivation.comparison, "compare", lambda a, b, samples: [])


def derived(case: Case, folders: Sequence[Path] = ()) -> derivation.Derived:
    checked = evidence(case, folders)
    return derivation.derive(case, checked, None, folders=folders, jobs=1, progress=lambda step, done, total: None)  # type: ignore[arg-type]


def rows_of(case: Case, table: str) -> list[dict[str, Any]]:
    return [row for path in case.table_paths(table) for row in pq.read_table(path).to_pylist()]


@pytest.mark.parametrize("paths", [["."], ["w1", "w2", "all [old].tar.gz"], ["w1/connect.log", "b\udcff.log"]], ids=["a folder", "several", "files"])
def test_the_same_evidence_gives_the_same_rows_wherever_it_is(logs: Path, tmp_path: Path, no_views: None, paths: list[str]) -> None:
    options = SourceOptions.parse(time_zones=["Europe/Berlin", "*/y.log=UTC", "w2=Asia/Tokyo"], hosts=["*connect.log.1=old"])
    case = ingest([logs / path for path in paths], tmp_path / "case", Options(options), jobs=1).case
    assert len(rows_of(case, "event_row")) >= 6
    found = derived(case)
    assert found.is_same, [(d.view, d.only) for d in found.differing]
    assert found.foreign == () or found.foreign == []
    assert any("time zone" in stated for stated in found.taken)
    elsewhere = tmp_path / "elsewhere" / "logs"
    elsewhere.parent.mkdir()
    logs.rename(elsewhere)
    assert derived(case).missing
    found = derived(case, [elsewhere])
    assert found.is_same, [(d.view, d.only) for d in found.differing]
    assert len(found.foreign) == {".": 0, "w1": 1, "w1/connect.log": 5}[paths[0]]
    assert list(tmp_path.glob("kafka-forensics-*")) == []


def test_a_log_that_has_grown_is_read_as_far_as_it_was(logs: Path, tmp_path: Path, no_views: None) -> None:
    case = ingest([logs], tmp_path / "case", jobs=1).case
    with (logs / "w1" / "connect.log").open("a") as log:
        log.write(lines("c-w1", 40))
    assert derived(case).is_same
    case = ingest([logs], tmp_path / "case", jobs=1).case
    assert derived(case).is_same, "a case that has grown, too"
    (logs / "w2" / "connect.log").write_text(lines("other", 20))
    assert derived(case).missing == ["w2/connect.log"]


def _without_a_row(rows: list[dict[str, Any]]) -> None:
    rows.pop()


def _another_client(rows: list[dict[str, Any]]) -> None:
    rows[0]["client_id"] = "someone-else"


def _another_time(rows: list[dict[str, Any]]) -> None:
    rows[0]["ts"] = rows[1]["ts"]


@pytest.mark.parametrize("change", [_without_a_row, _another_client, _another_time])
def test_a_changed_event_is_found(logs: Path, tmp_path: Path, no_views: None, change: Callable[[list[dict[str, Any]]], None]) -> None:
    case = ingest([logs], tmp_path / "case", jobs=1).case
    file = next(case.root.glob("tables/event_row/*/*.parquet"))
    table = pq.read_table(file)
    rows = table.to_pylist()
    change(rows)
    pq.write_table(pa.Table.from_pylist(rows, table.schema), file)
    renew(case.root, file)
    found = derived(open_case(case.root))
    assert [d.view for d in found.differing] == ["event_row"]
    title, blocks, tone = derivation.section(found)
    assert tone == "bad"
    assert title == "The evidence gives other rows: event_row"
    said = blocks[-1].text
    expected = {_without_a_row: "Only the evidence has", _another_client: 'client_id is "someone-else" in the case', _another_time: "ts is"}
    assert expected[change] in said


@pytest.mark.parametrize("below", ["../../x.log", "/x.log", "a/../x.log", "a\0b", "a//b"])
def test_a_name_that_leads_out_of_the_private_folder_is_refused(logs: Path, tmp_path: Path, no_views: None, below: str) -> None:
    case = ingest([logs / "w1"], tmp_path / "case", jobs=1).case
    files = [{**f, "below": below} for f in case.manifest["files"]]
    with pytest.raises(CaseError, match="in an impossible way"):
        derived(Case(case.root, {**case.manifest, "files": files}))


def test_another_version_is_said(logs: Path, tmp_path: Path, no_views: None) -> None:
    case = ingest([logs], tmp_path / "case", jobs=1).case
    assert derived(case).version == ""
    older = Case(case.root, {**case.manifest, "tool_version": "0.0.1"})
    assert "Version 0.0.1 of this program wrote the case" in derived(older).version
    other = Case(case.root, {**case.manifest, "catalogue_hash": "0"})
    assert "other patterns" in derived(other).version


def test_every_table_of_records_is_compared() -> None:
    assert set(OF_RECORDS) == set(folder._OF_FILES) - {"range_row"}


@pytest.mark.engine
@pytest.mark.whole
def test_a_changed_verdict_is_found_by_view(sample_case: Callable[[str], Case], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a stranger changes it: in the rows of a view, with all hashes made anew and no seal."""
    monkeypatch.setenv("COLUMNS", "300")
    name = "producer-fenced-4.3.1"
    shutil.copytree(sample_case(name).root, tmp_path / "case")
    file = next((tmp_path / "case").glob("views/*/finding/*.parquet"))
    table = pq.read_table(file)
    rows = table.to_pylist()
    rows[0]["verdict"] = "possible" if rows[0]["verdict"] == "proved" else "proved"
    pq.write_table(pa.Table.from_pylist(rows, table.schema), file)
    renew(tmp_path / "case", file)
    without_seal(tmp_path / "case")
    assert run("verify", tmp_path / "case").exit_code == 0
    done = run("verify", tmp_path / "case", "--evidence", SAMPLES / name / "logs", "--derive", "--rebuild", "--no-pager")
    assert isinstance(done.exception, CaseError)
    assert done.exception.exit_code == 4
    assert "The evidence gives other rows: finding\n" in done.stdout
    assert f'verdict is "{rows[0]["verdict"]}" in the case' in done.stdout
    assert open_case(tmp_path / "case").seal == seals.NONE
