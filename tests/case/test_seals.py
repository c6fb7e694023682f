"""A case that this user wrote has a seal that nobody else can renew; a case without it stays readable, and says so once."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import platformdirs
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from made_case import written
from strangers import renew, sealed, without_seal
from typer.testing import CliRunner, Result

from forensics.case import folder, seals
from forensics.case.folder import open_case
from forensics.cli import app
from forensics.errors import CaseError
from forensics.inventory.evidence import Evidence, Place


def run(*args: object) -> Result:
    return CliRunner().invoke(app, [str(a) for a in args], catch_exceptions=True)


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Path]]:
    """Switch to a user by name, each with a data folder and a key of their own; the first is `owner`."""

    def switch(name: str) -> Path:
        place = tmp_path / "home" / name
        monkeypatch.setattr(platformdirs, "user_data_dir", lambda app: str(place / app))
        return place / "kafka-forensics"

    switch("owner")
    yield switch
    seals._key.cache_clear()


@pytest.fixture
def case(user: Callable[[str], Path], tmp_path: Path) -> Path:
    return written(tmp_path / "case").root


def with_another_verdict(case: Path) -> None:
    """Change the verdict of a finding, and renew every hash, as anyone can."""
    file = next(case.glob("views/*/finding/*.parquet"))
    rows = pq.read_table(file).to_pylist()
    rows[0]["verdict"] = "possible" if rows[0]["verdict"] == "proved" else "proved"
    pq.write_table(pa.Table.from_pylist(rows), file)
    renew(case, file)


def test_an_own_case_is_sealed_and_nothing_is_said(case: Path) -> None:
    assert open_case(case).seal == seals.OWN
    shown = run("verify", case)
    assert shown.exit_code == 0
    assert "The case is as you wrote it" in shown.stdout
    assert "seal" not in run("report", "--case", case).stderr


def test_a_changed_verdict_with_new_hashes_fails_by_the_seal(case: Path) -> None:
    with_another_verdict(case)
    assert open_case(case).faults() == []
    shown = run("verify", case)
    assert "The case was changed, and its hashes were renewed" in shown.stdout
    assert isinstance(shown.exception, CaseError)
    assert shown.exception.exit_code == 4
    for _ in range(2):  # a warning is not given once only
        for command in (("report", "--case", case), ("show", "f-split-brain-task", "--case", case), ("compare", case, case)):
            assert "Warning: the case was changed after you sealed it" in run(*command).stderr, command


@pytest.mark.parametrize("change", [{"knobs": {"skew_ms": 1}}, {"tool_version": "9"}, {"command_line": ["x"]}, {"files": []}, {"views": {}}], ids=str)
def test_every_word_of_the_manifest_is_sealed(user: Callable[[str], Path], tmp_path: Path, change: dict[str, object]) -> None:
    case = written(tmp_path / "case", {}, [Evidence("a.log", Place("/logs/a.log"))]).root
    manifest = json.loads((case / "case.json").read_text())
    (case / "case.json").write_text(sealed({**manifest, **change}))
    assert open_case(case, check=False).seal == seals.CHANGED


def test_a_moved_and_a_copied_case_keep_their_seal(case: Path, tmp_path: Path) -> None:
    shutil.copytree(case, tmp_path / "copied")
    case.rename(tmp_path / "moved")
    for place in (tmp_path / "copied", tmp_path / "moved"):
        assert open_case(place).seal == seals.OWN
        assert run("verify", place).exit_code == 0
    (tmp_path / "logs").mkdir()
    run("ingest", tmp_path / "logs", "--case", tmp_path / "moved", "--no-views")
    assert open_case(tmp_path / "moved").seal == seals.OWN


@pytest.mark.parametrize("made", ["by another user", "by an earlier version"])
def test_a_case_without_the_readers_seal_says_so_once(case: Path, user: Callable[[str], Path], made: str) -> None:
    if made == "by another user":
        with_another_verdict(case)
        user("reader")
        said, state = "has the seal of another user or machine", seals.OTHER
    else:
        without_seal(case)
        said, state = "has no seal", seals.NONE
    assert open_case(case).seal == state
    first, second = run("report", "--case", case), run("report", "--case", case)
    assert said in first.stderr
    assert "--evidence DIR --derive" in first.stderr
    assert said not in second.stderr
    assert first.exit_code == second.exit_code == 0
    assert first.stdout == second.stdout
    for _ in range(2):
        shown = run("verify", case)
        assert shown.exit_code == 0
        assert said in " ".join(shown.stdout.split())
        assert "They do not show that whoever wrote the case was honest" in " ".join(shown.stdout.split())


def test_a_further_change_makes_no_case_of_others_an_own_one(case: Path, user: Callable[[str], Path], tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "a.log").write_text("[2026-11-21 07:51:24,897] INFO x (org.apache.kafka.clients.Metadata:1)\n")
    user("reader")
    run("ingest", tmp_path / "logs", "--case", case, "--no-views")
    assert open_case(case).seal == seals.OTHER
    user("owner")
    assert open_case(case).seal == seals.CHANGED
    run("ingest", tmp_path / "logs", "--case", case, "--no-views")
    assert open_case(case).seal == seals.CHANGED, "what others changed stays in it"
    new = folder.sealed(open_case(case))
    assert new.seal == open_case(case).seal == seals.OWN
    without_seal(case)
    run("ingest", tmp_path / "logs", "--case", case, "--no-views")
    assert open_case(case).seal == seals.NONE


def test_without_a_key_there_is_no_seal_and_no_error(user: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sound = written(tmp_path / "sound").root
    home = user("nobody")
    home.parent.parent.mkdir(parents=True, exist_ok=True)
    home.parent.write_text("a file, so that no folder can be created")
    assert open_case(sound).seal == seals.UNKNOWN
    case = written(tmp_path / "case").root
    assert open_case(case).seal == seals.NONE
    for _ in range(2):  # that it was said cannot be stored either
        assert "has no seal" in run("report", "--case", case).stderr
        assert "your key cannot be read" in run("report", "--case", sound).stderr
    assert run("verify", sound).exit_code == run("verify", case).exit_code == 0


def test_a_key_of_a_wrong_size_is_no_key(user: Callable[[str], Path], case: Path) -> None:
    (user("owner") / "key").write_bytes(b"short")
    seals._key.cache_clear()
    assert open_case(case).seal == seals.UNKNOWN
    assert run("verify", case).exit_code == 0
