"""Evidence and cases that mean harm, and machines that fail: nothing is run, nothing is left behind, and every end has its words and its exit code."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from places import SAMPLES

from forensics import cli
from forensics.case import folder as case_folder
from forensics.case.folder import MANIFEST, open_case, writing
from forensics.engines.paths import literal
from forensics.errors import CaseError, ForensicsError
from forensics.failures import explained
from forensics.import_guard import importable
from forensics.inventory.inventory import find_evidence
from forensics.report import query
from forensics.scratch import PrivateFolder

LINE = (
    "[2026-11-21 07:51:24,897] INFO [Consumer clientId=c-1, groupId=g] (Re-)joining group "
    "(org.apache.kafka.clients.consumer.internals.ConsumerCoordinator:611)\n"
)


def test_the_command_imports_nothing_from_the_working_folder(tmp_path: Path) -> None:
    for name in ("numpy", "regex", "typer", "tomllib", "pyarrow", "unicodedata"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('run')")
    for path in (f":{tmp_path}", ".", ""):
        code = "import sys; sys.argv[0] = 'forensics'; sys.path[0:0] = ['']; from forensics.__main__ import main; main()"
        command = [sys.executable, "-P", "-c", code, "explain", LINE.strip()]
        done = subprocess.run(command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False)
        assert (done.returncode, "joining" in done.stdout) == (0, True), done.stderr


def test_what_could_be_imported_is_found(tmp_path: Path) -> None:
    (tmp_path / "connect.log").write_text("x")
    (tmp_path / "folder").mkdir()
    assert importable(str(tmp_path)) is None
    (tmp_path / "folder" / "__init__.py").touch()
    assert importable(str(tmp_path)) == str(tmp_path / "folder")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_temporary_files_are_private_and_end_with_their_process(tmp_path: Path, number: int) -> None:
    code = "import sys, time; from pathlib import Path; from forensics.scratch import scratch; print(scratch(Path(sys.argv[1])), flush=True); time.sleep(60)"
    process = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert process.stdout is not None
    folder = Path(process.stdout.readline().strip())
    (folder / "spill").write_text("password")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    os.killpg(process.pid, number)
    process.wait()
    for _ in range(100):
        if not folder.exists():
            return
        time.sleep(0.1)
    pytest.fail("the folder is still there")


def test_what_another_process_could_not_remove_is_removed(tmp_path: Path) -> None:
    left = tmp_path / "kafka-forensics-left"
    left.mkdir()
    (left / ".lock").touch()
    os.utime(left / ".lock", (0, 0))
    code = "import sys; from pathlib import Path; from forensics.scratch import scratch; scratch(Path(sys.argv[1]))"
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)
    assert not left.exists()


def test_any_command_removes_what_a_killed_one_left(tmp_path: Path) -> None:
    left = tmp_path / "kafka-forensics-left"
    left.mkdir()
    (left / ".lock").touch()
    os.utime(left / ".lock", (0, 0))
    subprocess.run([sys.executable, "-m", "forensics", "--version"], check=True, env={**os.environ, "TMPDIR": str(tmp_path)}, capture_output=True)
    assert not left.exists()


def test_a_folder_of_a_killed_command_is_removed_by_the_next_and_no_other(tmp_path: Path) -> None:
    """Folders of running commands, of other names, and without this program's lock stay."""
    code = "import sys, time; from pathlib import Path; from forensics.scratch import PrivateFolder; kept = PrivateFolder(Path(sys.argv[1])); print(kept.path, flush=True); time.sleep(60)"
    processes = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    killed, running = (Path(process.stdout.readline().strip()) for process in processes if process.stdout)
    (killed / "part-0.parquet").write_text("rows")
    for name in ("forensics-evidence", "kafka-forensics-notes"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "own.txt").touch()
    abandoned, new = tmp_path / "kafka-forensics-old", tmp_path / "kafka-forensics-new"
    for folder in (abandoned, new):
        folder.mkdir()
    os.utime(abandoned, (0, 0))
    processes[0].kill()
    processes[0].wait()
    for old in (killed, running):
        os.utime(old / ".lock", (0, 0))
    starting = tmp_path / "kafka-forensics-starting"  # its process has created the lock, and takes it next
    starting.mkdir()
    (starting / ".lock").touch()
    with PrivateFolder(tmp_path) as mine:
        assert stat.S_IMODE(mine.stat().st_mode) == 0o700
        assert {f.name for f in tmp_path.iterdir()} == {
            running.name,
            mine.name,
            new.name,
            starting.name,
            "forensics-evidence",
            "kafka-forensics-notes",
        }
    assert not mine.exists()
    processes[1].kill()
    processes[1].wait()


def test_a_link_that_leads_out_of_the_evidence_is_not_followed(tmp_path: Path) -> None:
    logs, outside = tmp_path / "logs", tmp_path / "outside"
    for folder in (logs / "w1", outside):
        folder.mkdir(parents=True)
    (logs / "w1" / "connect.log").write_text(LINE)
    (outside / "secret.log").write_text(LINE.replace("c-1", "c-2"))
    (logs / "out").symlink_to(outside)
    (logs / "secret.log").symlink_to(outside / "secret.log")
    (logs / "gone.log").symlink_to(outside / "gone")
    (logs / "inside.log").symlink_to(logs / "w1" / "connect.log")
    found = {e.path: e.status for e in find_evidence([logs])}
    assert found == {"gone.log": "skipped", "inside.log": "read", "out": "skipped", "secret.log": "skipped"}
    assert all("leads out" in (e.note or "") for e in find_evidence([logs]) if e.status == "skipped")
    assert {e.path: e.status for e in find_evidence([logs, outside])}["out/secret.log"] == "read"


def test_cells_steer_no_terminal_and_no_spreadsheet() -> None:
    assert query.inert("a\x1b[31m\x07\x9b\r\nb\tc") == "a\\x1b[31m\\x07\\x9b\\r\nb\tc"
    assert query.inert("=\x1b") == "'=\\x1b"


def _manifest(root: Path) -> dict[str, object]:
    with writing(root) as writer:
        case_folder.publish(writer.finish([], {}))
    manifest = json.loads((root / MANIFEST).read_text())
    del manifest["manifest_sha256"]
    return manifest


def test_a_new_case_is_its_users_own(tmp_path: Path) -> None:
    _manifest(tmp_path / "case")
    assert stat.S_IMODE((tmp_path / "case").stat().st_mode) == 0o700


@pytest.mark.parametrize(
    "change",
    [
        {"root": None}, {"tables": None}, {"views": None}, {"files": None}, {"tables": {}}, {"tables": {"event_row": ["../../other"]}}, {"views": []},
        {"views": {"finding": "/etc"}}, {"views": {"finding": "views/build-001/incident"}}, {"views": {"finding": "views/build-001/../../x"}}, {"knobs": {"assume_skew_ms": "1; DROP TABLE x"}},
        {"files": [{"path": "x"}]}, {"files": ["x"]},
    ],
)  # fmt: skip
def test_a_damaged_manifest_is_said(
    tmp_path: Path, change: dict[str, object], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "case"
    manifest = {**_manifest(root), **change}
    changed = {k: v for k, v in manifest.items() if v is not None}
    (root / MANIFEST).write_text(case_folder._dump(changed))  # noqa: SLF001 (whoever changes a manifest may write its checksum too)
    with pytest.raises(CaseError, match="damaged"):
        open_case(root)
    monkeypatch.setattr(sys, "argv", ["forensics", "report", "--case", str(root)])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 4
    assert "Traceback" not in capsys.readouterr().err


def test_a_garbage_table_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    root = tmp_path / "case"
    _manifest(root)
    for file in (root / "tables" / "event_row").rglob("*.parquet"):
        file.write_bytes(b"garbage" * 100)
    monkeypatch.setattr(sys, "argv", ["forensics", "report", "--case", str(root)])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    said = capsys.readouterr().err
    assert (ended.value.code, "Traceback" in said, "error: " in said) == (4, False, True)


def _python_error(last: str) -> Exception:
    text = (
        f"An exception was thrown from the Python worker. Please see the stack trace below.\nTraceback (most recent call last):\n  File x\n{last}\n"
    )
    return type("PythonException", (Exception,), {"__module__": "pyspark.errors.exceptions"})(text)


def _grpc_error() -> Exception:
    text = '<_InactiveRpcError of RPC that terminated with:\n\tstatus = StatusCode.UNAVAILABLE\n\tdetails = "failed to connect to all addresses"\n>'
    return type("SparkConnectGrpcException", (Exception,), {"__module__": "pyspark.errors.exceptions.connect"})(text)


@pytest.mark.parametrize(
    ("error", "what", "why"),
    [
        (OSError(errno.ENOSPC, "No space left on device", "/x/y"), "The disk is full.", ""),
        (_python_error("OSError: [Errno 28] No space left on device"), "The disk is full.", ""),
        (
            _python_error("pyarrow.lib.ArrowInvalid: x\nValueError: year 99999 is out of range"),
            "Spark failed.",
            "ValueError: year 99999 is out of range",
        ),
        (ConnectionRefusedError(111, "Connection refused"), "Spark's JVM ended before it had finished.", "[Errno 111] Connection refused"),
        (_grpc_error(), "Sail's server ended before it had finished.", "failed to connect to all addresses"),
        (PermissionError(errno.EACCES, "Permission denied", "/x"), "A file cannot be read or written.", "Permission denied"),
        (KeyError("x"), "Unexpected error.", "KeyError: 'x'"),
        (MemoryError(), "Out of memory.", ""),
    ],
)
def test_errors_of_others_have_words(error: Exception, what: str, why: str) -> None:
    known = explained(error)
    assert (known.what, known.why, known.exit_code) == (what, why, 4)


@pytest.mark.parametrize("raised", [RuntimeError("x"), ForensicsError("x"), OSError(errno.EIO, "Input/output error")])
def test_no_end_of_the_command_means_findings_by_mistake(
    raised: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(**_: object) -> None:
        raise raised

    monkeypatch.setattr(cli, "app", fail)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 4
    assert capsys.readouterr().err.startswith("error: ")


def test_a_path_is_no_pattern() -> None:
    assert literal("/a[b]/{c,d}*?\\") == "/a\\[b\\]/\\{c,d\\}\\*\\?\\\\"


def test_a_copied_case_gives_the_rows_beside_it_whatever_open_sql_says(tmp_path: Path) -> None:
    from forensics.case import open_sql

    original, copy = tmp_path / "origin[a]l", tmp_path / "cop[y]"
    _manifest(original)
    shutil.copytree(original, copy)

    case = open_case(copy)
    said = "\n".join(open_sql.opening(case.tables(), case.views(), case.thresholds))
    assert "origin" not in said
    assert f"parquet.`{literal(str(copy))}/tables/event_row/segment-000`" in said


def test_a_closed_standard_output_is_no_error(tmp_path: Path) -> None:
    done = subprocess.run(f"{sys.executable} -m forensics sql --list >&-", shell=True, capture_output=True, text=True, cwd=tmp_path, check=False)  # noqa: S602
    assert (done.returncode, done.stderr) == (0, "")


def _interrupted(seconds: float, case: Path, *, ignoring: bool) -> tuple[int, str]:
    """Return exit code and errors of an ingest that gets Ctrl-C after this number of seconds; `ignoring` it, like a script's background process."""
    logs = SAMPLES / "split-brain-frozen-worker-3.9.1" / "logs"
    ingest = [sys.executable, "-m", "forensics", "ingest", str(logs), "--case", str(case), "--jobs", "1"]
    # Said either way: the tests themselves may run in the background of a script.
    begin = (
        f"import os, signal, sys; signal.signal(signal.SIGINT, signal.{'SIG_IGN' if ignoring else 'SIG_DFL'}); os.execv(sys.argv[1], sys.argv[1:])"
    )
    with subprocess.Popen(
        [sys.executable, "-c", begin, *ingest], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        time.sleep(seconds)
        os.killpg(process.pid, signal.SIGINT)
        assert process.stderr is not None
        said = process.stderr.read()
        return process.wait(timeout=60), said


@pytest.mark.whole
@pytest.mark.engine
def test_an_interrupt_ends_a_job_that_began_with_it_ignored_and_sail_needs_no_second_core(tmp_path: Path) -> None:
    """Without a terminal, only `kill` and `timeout` can have sent it. Sail's planner fails if a query runs in one part, as on a machine with one core."""
    code, said = _interrupted(3.0, tmp_path / "case", ignoring=True)
    assert (code, "Interrupted" in said) == (130, True), said
    logs = SAMPLES / "producer-fenced-4.3.1" / "logs"
    ingest = [sys.executable, "-m", "forensics", "ingest", str(logs), "--case", str(tmp_path / "case"), "--jobs", "1"]
    done = subprocess.run(ingest, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert open_case(tmp_path / "case").views()


@pytest.mark.engine
def test_an_ignored_interrupt_while_the_engine_starts_ends_nothing() -> None:
    """The server takes signals as it starts; here each that starts gets one at that very moment."""
    start = """
import contextlib, os, signal
signal.signal(signal.SIGINT, signal.SIG_IGN)
from forensics.engines import sail

own = sail._own_signals

@contextlib.contextmanager
def struck():
    with own():
        yield
        os.kill(os.getpid(), signal.SIGINT)

sail._own_signals = struck
engine = sail.Sail()
print(engine.query("SELECT 1 AS one").collect()[0].one)
engine.stop()
"""
    done = subprocess.run([sys.executable, "-c", start], capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stdout) == (0, "1\n"), done.stderr
