"""A case and its files: what is missing, damaged or strange ends every command; `verify` names it, and looks at the evidence too."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from made_case import written
from typer.testing import CliRunner, Result

from forensics.case import folder as case_folder
from forensics.cli import app
from forensics.errors import CaseError
from forensics.inventory.evidence import Evidence, Fingerprint, Place


def run(*args: object) -> Result:
    return CliRunner().invoke(app, [str(a) for a in args], catch_exceptions=True)


def failed(result: Result) -> CaseError:
    """The error of a command that printed no answer; `main` gives it as words and exit code 4."""
    assert isinstance(result.exception, CaseError), result.output
    assert result.exception.exit_code == 4
    assert result.stdout == ""
    return result.exception


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    case = written(tmp_path_factory.mktemp("whole") / "case").root
    assert run("report", "--case", case, "--fail-on", "any").exit_code == 1
    return case


@pytest.fixture
def case(whole: Path, tmp_path: Path) -> Path:
    shutil.copytree(whole, tmp_path / "case")
    return tmp_path / "case"


def _cut(case: Path) -> None:
    file = next(case.glob("views/*/split_brain/*.parquet"))
    file.write_bytes(file.read_bytes()[:-1])


def _flip(case: Path) -> None:
    file = next(case.glob("views/*/finding/*.parquet"))
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


def _add(case: Path) -> None:
    folder = next(case.glob("views/*/finding"))
    shutil.copy(folder / "part-0.parquet", folder / "part-1.parquet")


def _empty(case: Path) -> None:
    file = next(case.glob("views/*/ownership/*.parquet"))
    pq.write_table(pa.table({"resource": pa.array([], pa.string())}), file)


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "files of two views": (
        lambda case: subprocess.run(["bash", "-c", f"rm '{case}'/views/*/{{split_brain,finding}}/*.parquet"], check=True),
        "finding/part-0.parquet is missing",
    ),
    "a view's folder": (lambda case: shutil.rmtree(next(case.glob("views/*/split_brain"))), "split_brain/part-0.parquet is missing"),
    "all views": (lambda case: shutil.rmtree(case / "views"), "is missing"),
    "a cut file": (_cut, "bytes, not"),
    "a flipped bit": (_flip, "another SHA-256"),
    "a file too many": (_add, "part-1.parquet does not belong to the case"),
    "other rows": (_empty, "ownership/part-0.parquet has"),
    "a table's file": (lambda case: next(case.glob("tables/event_row/*/*.parquet")).unlink(), "tables/event_row"),
    "a table's folder": (lambda case: shutil.rmtree(case / "tables" / "range_row"), "tables/range_row"),
    "open.sql": (lambda case: (case / "open.sql").unlink(), "open.sql is missing"),
    "a line in open.sql": (lambda case: (case / "open.sql").write_text("SELECT 1;\n"), "open.sql has"),
    "steps.sql": (lambda case: (case / "steps.sql").unlink(), "steps.sql is missing"),
    "kept SQL": (lambda case: (case / "sql" / "knobs.sql").unlink(), "sql/knobs.sql is missing"),
    "the manifest": (lambda case: _edit(case, lambda m: m["views"].pop("split_brain")), "case.json is not as it was written"),
    "keys of the manifest": (
        lambda case: (case / "case.json").write_text(f'{{"format": {case_folder.FORMAT}}}'),
        "case.json is not as it was written",
    ),
}

#: Damage of views, of tables and of the manifest. All commands open a case in one way, those that write in another.
ALL_COMMANDS = ("files of two views", "a table's file", "the manifest")


def _edit(case: Path, change: Callable[[dict[str, dict[str, object]]], object]) -> None:
    manifest = json.loads((case / "case.json").read_text())
    change(manifest)
    (case / "case.json").write_text(json.dumps(manifest))


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_case_gives_no_answer(case: Path, damage: str, tmp_path: Path) -> None:
    do, said = DAMAGES[damage]
    do(case)
    (tmp_path / "logs").mkdir()
    commands = [("report", "--case", case, "--fail-on", "any"), ("ingest", tmp_path / "logs", "--case", case)]
    if damage in ALL_COMMANDS:
        commands += [
            ("report", "--case", case, "--format", "json"),
            ("show", "f-split-brain-task", "--case", case),
            ("sql", "split_brain", "--case", case),
            ("sql", "-e", "SELECT 1", "--case", case),
        ]
    for command in commands:
        error = failed(run(*command))
        assert said in error.why
        assert "damaged" in error.what
        assert error.fix
    # `verify` prints what it finds before it fails.
    checked = run("verify", case)
    assert isinstance(checked.exception, CaseError)
    assert "The case is as you wrote it" not in checked.stdout


def test_the_shell_sees_exit_code_4(case: Path) -> None:
    """The words of the manual, as a shell runs them."""
    script = f"rm {case}/views/*/{{split_brain,finding}}/*.parquet; python -m forensics report --case {case} --fail-on any"
    done = subprocess.run(
        ["bash", "-c", script],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
    )
    assert done.returncode == 4
    assert done.stdout == ""
    assert done.stderr.startswith("error: The case in")
    assert "Traceback" not in done.stderr


def test_damage_of_views_alone_can_be_mended(case: Path) -> None:
    _cut(case)
    assert "--rebuild" in failed(run("report", "--case", case)).fix
    next(case.glob("tables/event_row/*/*.parquet")).unlink()
    assert "new folder" in failed(run("report", "--case", case)).fix


def test_verify_lists_every_file(case: Path) -> None:
    assert run("verify", case).exit_code == 0
    assert "The case is as you wrote it" in run("verify", "--case", case).stdout
    _cut(case)
    _add(case)
    shown = run("verify", case).stdout
    assert "The case is damaged: 2 files" in shown
    assert "split_brain/part-0.parquet" in shown
    assert "finding/part-1.parquet" in shown


def test_what_spark_leaves_beside_its_rows_is_no_damage(case: Path) -> None:
    folder = next(case.glob("views/*/finding"))
    (folder / "_SUCCESS").touch()
    (folder / ".part-0.parquet.crc").write_bytes(b"crc")
    assert run("report", "--case", case).exit_code == 0


def _every_file(folder: Path) -> dict[str, tuple[int, bytes]]:
    return {str(f.relative_to(folder)): (f.stat().st_mtime_ns, f.read_bytes()) for f in sorted(folder.rglob("*")) if f.is_file()}


def test_a_moved_case_is_read_and_not_written_to_until_its_user_asks(case: Path, tmp_path: Path) -> None:
    moved = tmp_path / "elsewhere" / "case"
    shutil.copytree(case, moved)
    before = _every_file(moved)
    for command in (("report",), ("timeline",), ("sql", "split_brain"), ("export", "--to", "perfetto", "-o", tmp_path / "x"), ("verify",)):
        done = run(*command, "--case", moved)
        assert done.exit_code == 0, done.output
    assert f"forensics verify {moved} --rebuild" in run("report", "--case", moved).stderr
    assert _every_file(moved) == before
    # What asks for other views writes, and a moved case is not written to.
    assert "read-only" in failed(run("report", "--case", moved, "--assume-skew", 7)).what
    assert _every_file(moved) == before


def test_adding_to_a_moved_case_makes_its_open_sql_name_this_place(case: Path, tmp_path: Path) -> None:
    moved = tmp_path / "elsewhere" / "case"
    shutil.copytree(case, moved)
    (tmp_path / "nothing").mkdir()
    run("ingest", tmp_path / "nothing", "--case", moved)
    assert f"(path '{moved}/" in (moved / "open.sql").read_text()
    assert f"(path '{moved}/" in (moved / "steps.sql").read_text()
    assert not run("report", "--case", moved).stderr.startswith("The case was moved")


def test_a_damaged_open_sql_is_not_mended_over(case: Path, tmp_path: Path) -> None:
    again = tmp_path / "again"
    shutil.copytree(case, again)
    (again / "open.sql").write_text("SELECT 1;\n")
    assert "open.sql" in failed(run("report", "--case", again)).why


def test_a_kill_between_manifest_and_open_sql_is_made_good_by_the_next_writer(case: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with case_folder.writing(case) as writer, monkeypatch.context() as killed:
        assert writer.case is not None
        killed.setattr(case_folder, "_settle", lambda case: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            case_folder.publish(writer.case, {"open.sql": "SELECT 2;\n", "sql/knobs.sql": "-- other\n"})
    before = _every_file(case)
    assert case_folder.open_case(case).faults() == []
    assert _every_file(case) == before, "reading writes nothing"
    with case_folder.writing(case):
        pass
    assert (case / "open.sql").read_text() == "SELECT 2;\n"
    assert [f.name for f in (case / "sql").iterdir()] == ["knobs.sql"]
    assert case_folder.open_case(case).faults() == []


def test_what_another_command_publishes_meanwhile_is_no_damage(case: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = case_folder._opened(case)
    with case_folder.writing(case) as writer:
        assert writer.case is not None
        folder = case_folder.new_views_folder(writer.case)
        for name, path in writer.case.views().items():
            shutil.copytree(path, folder / name)
        case_folder.publish(case_folder.with_views(writer.case, {name: str(folder / name) for name in writer.case.views()}, {}))
    seen = iter([before])
    really = case_folder._opened
    monkeypatch.setattr(case_folder, "_opened", lambda path, **how: next(seen, None) or really(path, **how))
    assert case_folder.open_case(case).faults() == []


def test_adding_to_a_case_does_not_take_damage_for_the_truth(case: Path) -> None:
    file = next(case.glob("tables/event_row/*/*.parquet"))
    size = file.stat().st_size
    file.write_bytes(b"x" * size)
    with pytest.raises(CaseError, match="damaged"), case_folder.writing(case):
        pass


# --- the evidence


def _evidence(file: Path, data: bytes, member: str | None = None) -> Evidence:
    digest = hashlib.sha256(data).hexdigest()
    return Evidence(member or file.name, Place(str(file), member), fingerprint=Fingerprint(digest[:24], digest, len(data)))


def test_verify_looks_at_the_evidence_where_it_still_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "300")  # however long the names of temporary folders are
    logs = tmp_path / "logs"
    logs.mkdir()
    told = []
    for name in ("same.log", "grown.log", "gone.log", "changed.log", "short.log"):
        (logs / name).write_bytes(name.encode() * 100)
        told.append(_evidence(logs / name, name.encode() * 100))
    bundle = tmp_path / "bundle.tar.gz"
    with tarfile.open(bundle, "w:gz") as archive:
        archive.add(logs / "same.log", "a/inside.log")
        archive.add(logs / "short.log", "a/other.log")
    told += [_evidence(bundle, b"same.log" * 100, "a/inside.log"), _evidence(bundle, b"x" * 900, "a/other.log")]
    case = written(tmp_path / "case", {}, told).root

    (logs / "grown.log").open("ab").write(b"more")
    (logs / "gone.log").unlink()
    assert run("verify", case).exit_code == 3, "a member of the archive is another"
    (logs / "changed.log").write_bytes(b"CHANGED.LOG" * 100)
    (logs / "short.log").write_bytes(b"short")
    done = run("verify", case)
    assert done.exit_code == 3
    shown = " ".join(done.stdout.split())
    assert "The case is as you wrote it" in shown
    assert "7 files of logs: 2 unchanged, 1 grown since, 1 no longer there, 3 changed" in shown
    for name, state in (("gone.log", "no longer there"), ("changed.log", "changed"), ("short.log", "changed"), ("a/other.log", "changed")):
        assert f"{name} {state}" in shown


def test_evidence_that_went_away_is_said_and_no_failure(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(b"a")
    case = written(tmp_path / "case", {}, [_evidence(tmp_path / "a.log", b"a")]).root
    (tmp_path / "a.log").unlink()
    done = run("verify", case)
    assert done.exit_code == 0
    assert "no longer there" in done.stdout


def test_one_at_a_time_writes_to_a_case(tmp_path: Path) -> None:
    """A second writer gets an error, in this process and in another, and may write when the first has ended."""
    root = tmp_path / "case"
    code = "import sys; from pathlib import Path; from forensics.case.folder import writing\nwith writing(Path(sys.argv[1])): pass"
    with case_folder.writing(root):
        with pytest.raises(CaseError, match="Another ingest is writing"), case_folder.writing(root):
            pytest.fail("two write")
        other = subprocess.run([sys.executable, "-c", code, str(root)], capture_output=True, text=True, check=False)
        assert other.returncode != 0
        assert "Another ingest is writing" in other.stderr
        assert (root / ".lock").stat().st_mode & 0o077 == 0
    subprocess.run([sys.executable, "-c", code, str(root)], check=True)
