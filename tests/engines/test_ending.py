"""Commands that do not finish: a query that hangs, and Ctrl-C at any moment. No process remains, and the case is unchanged."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import shlex
import shutil
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import made_case
import pytest
from places import SAMPLES
from test_engine_ports import JOINING, WAITING, children_of

from forensics import console
from forensics.engines import watchdog
from forensics.errors import CaseError

LOGS = SAMPLES / "split-brain-frozen-worker-3.9.1" / "logs"
needs_sail = pytest.mark.skipif(find_spec("pysail") is None, reason="pysail is not installed")
on_linux = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are read from /proc")

STALL = """
import sys
from forensics.engines import watchdog
watchdog.STALL_SECONDS = 6.0
from forensics.engines.sail import Sail
Sail.from_files = lambda self, rows: rows  # as it was when such joins hung
from forensics.cli import main
"""


@needs_sail
@on_linux
@pytest.mark.engine
def test_a_query_that_hangs_ends_with_an_error_that_names_the_other_engine(tmp_path: Path):
    """As in a view's query: the watchdog's message reaches the user, with exit code 4, and no process remains."""
    asked = "\n".join(
        [
            STALL,
            JOINING.format(how="sail.table('line', [path], [])", query=WAITING).rpartition("\nprint")[0],
            f"def ask(*_, **__):\n    with sail.watched():\n        sail.collected(sail.query({WAITING!r}))",
            "import forensics.api as api\napi.open_case = ask",
            "sys.argv[1:] = ['report', '--case', sys.argv[1]]\nmain()",
        ]
    )
    process = subprocess.Popen([sys.executable, "-c", asked, str(tmp_path / "line")], stderr=subprocess.PIPE, text=True)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 4, said
    assert "The engine `sail` has stopped working" in said
    assert "--engine spark" in said
    assert "Traceback" not in said


def test_a_process_that_works_is_left_alone(monkeypatch):
    monkeypatch.setattr(watchdog, "STALL_SECONDS", 1.0)
    called: list[bool] = []
    with watchdog.watched(lambda: called.append(True)):
        end = time.process_time() + 2
        while time.process_time() < end:
            sum(range(1000))
    assert not called
    with watchdog.watched(lambda: called.append(True), lambda: True):  # other machines are at work
        time.sleep(3)
    assert not called
    with watchdog.watched(lambda: called.append(True)):
        end = time.monotonic() + 10
        while not called and time.monotonic() < end:
            time.sleep(0.1)
    assert called == [True]


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file() and path.name != ".lock"}


@pytest.fixture(autouse=True)
def listening() -> Iterator[None]:
    """Let commands receive Ctrl-C: they inherit it if the tests ignore it, as the background job of a shell does."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupted(arguments: list[object], after: float) -> tuple[int, str, float]:
    """Exit code, standard error and the seconds that a command takes to end after Ctrl-C; fails where a process of it stays."""
    command = [sys.executable, "-m", "forensics", *map(str, arguments)]
    pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True, "start_new_session": True}
    process = subprocess.Popen(command, **pipes)
    with contextlib.suppress(OSError):
        while process.poll() is None and "site-packages" not in Path(f"/proc/{process.pid}/maps").read_text():
            time.sleep(0.02)  # Python itself is still starting
    time.sleep(after)
    children = children_of(process.pid)
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    took = time.monotonic() - began
    end = time.monotonic() + 10  # a shell that removes temporary files waits for the last writer
    while time.monotonic() < end and any(Path(f"/proc/{child}").exists() for child in children):
        time.sleep(0.1)
    assert not [child for child in children if Path(f"/proc/{child}").exists()]
    return process.returncode, said, took


#: On an idle machine a second is enough; the tests share theirs. A command that waits for its query would need half a minute.
ENOUGH_SECONDS = 20.0


def check(arguments: list[object], after: float) -> bool:
    """Return True if the command was still running; if so, check that it ended correctly."""
    code, said, took = interrupted(arguments, after)
    if code == 0:
        return False
    assert code == 130, said
    assert said.count("Interrupted") == 1
    assert "Traceback" not in said
    assert took < ENOUGH_SECONDS
    return True


@needs_sail
@on_linux
@pytest.mark.engine
@pytest.mark.parametrize("after", [0.8, 2.0, 4.0, 6.0])
def test_ctrl_c_ends_an_ingest_and_leaves_the_case(after: float, tmp_path: Path):
    case = made_case.written(tmp_path / "case").root
    before = files_of(case)
    if check(["ingest", LOGS, "--case", case, "--engine", "sail"], after):
        left = files_of(case)
        assert {name: left.get(name) for name in before} == before
        assert subprocess.run([sys.executable, "-m", "forensics", "verify", "--case", case], capture_output=True, check=False).returncode == 0


@needs_sail
@on_linux
@pytest.mark.engine
@pytest.mark.slow
def test_a_killed_ingest_leaves_the_old_case_or_the_new_one(tmp_path: Path, record_property):
    """Moments from the start of the command to its end, as long as it takes here."""
    case, command = tmp_path / "case", [sys.executable, "-m", "forensics", "ingest", LOGS, "--case", tmp_path / "case", "--engine", "sail"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    made_case.written(case)
    before = json.loads((case / "case.json").read_text())
    began = time.monotonic()
    subprocess.run(command, check=True, **quiet)
    whole = time.monotonic() - began
    left = {"old": 0, "new": 0}
    for part in (0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 1.0):
        shutil.rmtree(case)
        made_case.written(case)
        process = subprocess.Popen(command, start_new_session=True, **quiet)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(part * whole)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        assert subprocess.run([sys.executable, "-m", "forensics", "verify", "--case", case], check=False, **quiet).returncode == 0, part
        now = json.loads((case / "case.json").read_text())
        left["old" if now["files"] == before["files"] else "new"] += 1
    record_property("inputs", sum(left.values()))
    record_property("found", f"{left['old']} old cases and {left['new']} new ones, all verified")
    assert left["old"] >= 3


@on_linux
@pytest.mark.spark
@pytest.mark.parametrize("after", [2.0, 8.0])
def test_ctrl_c_ends_spark(after: float, tmp_path: Path):
    assert check(["ingest", LOGS, "--case", tmp_path / "case", "--engine", "spark"], after)
    assert not (tmp_path / "case" / "case.json").exists()


@on_linux
@pytest.mark.parametrize("after", [0.8, 1.5])
def test_ctrl_c_ends_a_redaction_without_a_copy(after: float, tmp_path: Path):
    if check(["redact", LOGS, tmp_path / "copy"], after):
        assert not list(tmp_path.iterdir())


@on_linux
def test_ctrl_c_ends_an_export_without_a_file(tmp_path: Path):
    case = made_case.written(tmp_path / "case").root
    (tmp_path / "out").write_text("before")
    if check(["export", "--to", "perfetto", "-o", tmp_path / "out", "--case", case], 0.5):
        assert (tmp_path / "out").read_text() == "before"


@on_linux
def test_ctrl_c_ends_a_command_that_does_not_listen(tmp_path: Path):
    """A library that computes for long gives Python no chance to say that there was a Ctrl-C."""
    code = (
        "import hashlib, sys\nfrom forensics import api\n"
        "def compute(*a, **k):\n    print(flush=True)\n    hashlib.pbkdf2_hmac('sha256', b'x', b'y', 10**9)\n"
        "api.open_case = compute\nsys.argv[1:] = ['report', '--case', 'x']\nfrom forensics.cli import main\nmain()"
    )
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", code], **pipes) as process:
        process.stdout.readline()
        time.sleep(1)
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=20)
    assert process.returncode == 130
    assert said.count("\n") == 1
    assert time.monotonic() - began < ENOUGH_SECONDS


COMPUTE = (
    "import hashlib, sys\nfrom forensics import api\n"
    "def compute(*a, **k):\n    print(flush=True)\n    hashlib.pbkdf2_hmac('sha256', b'x', b'y', 10**9)\n"
    "api.open_case = compute\nsys.argv[1:] = ['report', '--case', 'x']\nfrom forensics.__main__ import main\nmain()"
)
#: As a shell without job control does for a background job, and `nohup` keeps.
IGNORING = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_IGN)}


@on_linux
@pytest.mark.parametrize("after", [0.05, 2.0])
def test_a_command_started_with_interrupts_ignored_ends_by_one(after: float):
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "start_new_session": True}
    command = [sys.executable, "-c", COMPUTE]
    with subprocess.Popen(command, **pipes, **IGNORING) as process:
        if after > 1:
            process.stdout.readline()
        else:
            while "site-packages" not in Path(f"/proc/{process.pid}/maps").read_text():
                time.sleep(0.02)  # its first imports
        time.sleep(after)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=20)
    assert process.returncode == 130
    assert said.startswith("Interrupted: ")


@on_linux
def test_timeout_ends_a_background_job_of_a_script():
    script = f'timeout -s INT 4 {shlex.quote(sys.executable)} -c "$0" & wait $!'
    began = time.monotonic()
    done = subprocess.run(["sh", "-c", script, COMPUTE], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 124, done.stderr
    assert "Interrupted: " in done.stderr
    assert time.monotonic() - began < ENOUGH_SECONDS


@on_linux
@pytest.mark.parametrize(("ignoring", "code"), [(True, -signal.SIGKILL), (False, 130)])
def test_ctrl_c_for_a_script_does_not_end_its_background_job(ignoring: bool, code: int):
    """Both have the terminal, and the keys of Ctrl-C are typed."""
    ours, theirs = pty.openpty()

    def begin() -> None:
        fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)
        signal.signal(signal.SIGINT, signal.SIG_IGN if ignoring else signal.SIG_DFL)

    with subprocess.Popen(
        [sys.executable, "-c", COMPUTE], stdin=theirs, stdout=subprocess.PIPE, stderr=theirs, start_new_session=True, preexec_fn=begin
    ) as process:
        process.stdout.readline()
        time.sleep(0.5)
        os.write(ours, b"\x03")
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(4 if ignoring else 20)
        process.kill()
    os.close(ours)
    os.close(theirs)
    assert process.returncode == code


# --- what is said meanwhile


def test_a_long_step_is_said_with_its_time(monkeypatch, capsys):
    monkeypatch.setattr(console, "_FIRST_SECONDS", 0.2)
    monkeypatch.setattr(console, "_NEXT_SECONDS", 0.2)
    with console.progress() as step:
        step("views: lost_membership", 100, 161)
        time.sleep(0.3)
    assert capsys.readouterr().err == "Computing lost membership (100 of 161): running for 0 s; 0 s since the command started.\n"


def test_a_short_command_says_nothing_of_its_steps(capsys):
    with console.progress() as step:
        step("reading", 1, 2)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(("slow", "quicker", "said"), [(0.1, "sail", True), (0.1, "", False), (5.0, "sail", False)])
def test_a_quicker_engine_is_named_once_if_views_took_long(monkeypatch, capsys, slow, quicker, said):
    monkeypatch.setattr(console, "_SLOW_SECONDS", slow)
    with console.progress(quicker) as step:
        step("starting the engine", 0, 1)
        step("views: process", 1, 161)
        time.sleep(0.2)
    expected = "Computing the views took 0 s; with `--engine sail` this machine answers faster.\n"
    assert capsys.readouterr().err == expected * said


def test_no_engine_is_named_if_reading_took_long_or_the_command_failed(monkeypatch, capsys):
    monkeypatch.setattr(console, "_SLOW_SECONDS", 0.0)
    with console.progress("sail") as step:
        step("reading", 1, 2)
    with pytest.raises(CaseError), console.progress("sail") as step:
        step("views: process", 1, 161)
        raise CaseError("It cannot be computed.")
    assert capsys.readouterr().err == ""


def test_times_are_said_in_minutes():
    assert [console.span(seconds) for seconds in (0.4, 45, 185)] == ["0 s", "45 s", "3 min 5 s"]
