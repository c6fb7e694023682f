"""The commands: what they print, where, with which exit code; and that the quick ones are quick."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from forensics import __version__
from forensics.cli import app

JOINED = (
    "[2026-11-21 07:51:24,897] INFO [Worker clientId=connect-1, groupId=connect-cluster] Successfully synced group in generation "
    "Generation{generationId=7, memberId='connect-1-8f14e45f-ceea-467f-a9d2-1d3f6a1b2c3d', protocol='sessioned'} "
    "(org.apache.kafka.connect.runtime.distributed.WorkerCoordinator:843)"
)


def run(*args: str, given: bytes = b"", **env: str) -> subprocess.CompletedProcess[str]:
    """The command as a user's shell runs it."""
    done = subprocess.run([sys.executable, "-m", "forensics", *args], input=given, capture_output=True, env={**os.environ, **env}, check=False)
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.mark.parametrize("args", [["--help"], ["--version"], ["report", "--help"], ["ingest", "--help"]])
def test_help_is_quick_and_loads_nothing_heavy(args: list[str]) -> None:
    code = (
        "import sys\nfrom forensics.cli import app\n"
        f"try:\n    app({args!r})\nexcept SystemExit:\n    pass\n"
        "print([m for m in ('pyspark', 'pyarrow', 'numpy', 'jinja2', 'regex') if m in sys.modules], file=sys.stderr)"
    )
    begun = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert time.perf_counter() - begun < 1.5  # a third of a second by itself; the rest is for a busy machine
    assert done.stderr.strip() == "[]"
    assert done.stdout.strip()


def test_version() -> None:
    assert CliRunner().invoke(app, ["--version"]).stdout == f"forensics {__version__}\n"


@pytest.mark.parametrize("name", ["ingest", "report", "sql", "show", "explain", "check"])
def test_every_command_has_help(name: str) -> None:
    shown = CliRunner().invoke(app, [name, "--help"])
    assert shown.exit_code == 0
    assert "Usage" in shown.stdout


@pytest.mark.parametrize(
    "args",
    [
        ["nonsense"],
        ["report", "--nonsense"],
        ["report", "--format", "pdf"],
        ["report", "--fail-on", "sometimes"],
        ["report", "--rule", "no-such-rule"],
        ["ingest"],
        ["ingest", "no/such/folder"],
        ["explain"],
        ["check", "no/such/file.toml"],
        ["sql"],
        ["sql", "no_such_view"],
    ],
)
def test_wrong_use_is_2_without_a_traceback(args: list[str], tmp_path: Path) -> None:
    done = run(*args, FORENSICS_CASE=str(tmp_path / "none"))
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert done.stderr.strip()
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("args", [["report"], ["show", "0123456789abcdef01234567"], ["sql", "generation"], ["sql", "-e", "SELECT 1"]])
def test_a_missing_case_says_what_to_do(args: list[str], tmp_path: Path) -> None:
    done = run(*args, "--case", str(tmp_path / "none"))
    assert done.returncode == 4
    assert done.stdout == ""
    assert done.stderr.startswith("error: ")
    assert "forensics ingest" in done.stderr
    assert "Traceback" not in done.stderr


def test_explain_a_line() -> None:
    done = run("explain", JOINED)
    assert done.returncode == 0, done.stderr
    assert "synced (membership)" in done.stdout
    assert "2.6.1 and later" in done.stdout
    assert "generation = 7" in done.stdout
    assert "INFO" in done.stdout


def test_explain_reads_standard_input_and_survives_anything() -> None:
    done = run("explain", "-", given=JOINED.encode() + b"\n\xff\xfe\x1b[31mnonsense\n" + b"\tat java.lang.Thread.run\n")
    assert done.returncode == 0, done.stderr
    assert "synced (membership)" in done.stdout
    assert "\x1b" not in done.stdout


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("", "no text"),
        ("hello", "Paste the whole line"),
        ("[2026-11-21 07:51:24,897] INFO Started (org.eclipse.jetty.server.Server:415)", "tells about groups"),
        ("[2026-11-21 07:51:24,897] INFO gibberish (org.apache.kafka.connect.runtime.distributed.DistributedHerder:843)", "this is none of them"),
    ],
)
def test_explain_says_why_it_knows_nothing(line: str, said: str) -> None:
    done = run("explain", line)
    assert done.returncode == 0
    assert said in " ".join(done.stdout.split())


def test_explain_is_quick() -> None:
    begun = time.perf_counter()
    run("explain", JOINED)
    assert time.perf_counter() - begun < 3


def test_check_accepts_the_packaged_patterns() -> None:
    done = run("check")
    assert done.returncode == 0, done.stderr
    assert "all sound" in done.stdout


def test_check_shows_what_where_and_help(tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text(
        "[[event]]\nname = 'mine'\ncategory = 'other'\nlogger = ['com.example.Mine']\nkafka = '3.0.0..'\npattern = 'Hello\\ (?P<nobody>.*)'\n"
        "[[event.example]]\nline = 'Hello x'\nfields = {nobody = 'x'}\n"
    )
    done = run("check", str(own))
    assert done.returncode == 2
    for part in ("error: `mine` captures `nobody`", "reason:", f"--> {own}:", "help:"):
        assert part in done.stderr


def test_a_reader_that_leaves_is_no_error() -> None:
    done = subprocess.run(
        ["sh", "-c", f"'{sys.executable}' -m forensics check --help | head -n 1; '{sys.executable}' -m forensics explain '{JOINED.replace(chr(39), '')}' | true"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr


def test_completion_knows_commands_and_rules() -> None:
    done = run(_FORENSICS_COMPLETE="complete_bash", COMP_WORDS="forensics ", COMP_CWORD="1")
    assert {"ingest", "report", "sql", "show", "explain", "check"} <= set(done.stdout.split())
