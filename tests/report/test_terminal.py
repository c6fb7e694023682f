"""Output on a terminal: nothing is cut off at any width, long output is paged, and a wrong name gets the closest one."""

from __future__ import annotations

import io
import os
import pty
import struct
import subprocess
import sys
import termios
from fcntl import ioctl
from pathlib import Path

import made_case
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from test_cli import run, run_here
from typer.testing import CliRunner

from forensics import console
from forensics.cli import _SUFFIXES, ReportFormat, app
from forensics.engines.rows import ArrowRows
from forensics.report import content, query, screen, text
from forensics.report.columns import lay_out, wrap
from forensics.report.document import Column
from forensics.report.read_only import Guard, Refused


@pytest.fixture(scope="module")
def case(tmp_path_factory) -> str:
    return str(made_case.written(tmp_path_factory.mktemp("made") / "case").root)


def at_terminal(*args: str, columns: int = 80, lines: int = 24, **env: str) -> str:
    """Return the output of a command on a terminal of this size."""
    ours, theirs = pty.openpty()
    ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    known = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES", "PAGER", "FORENSICS_PAGER", "NO_COLOR")}
    command = [sys.executable, "-m", "forensics", *args]
    running = subprocess.Popen(command, stdout=theirs, stderr=theirs, stdin=theirs, env={**known, "TERM": "xterm-256color", **env})
    os.close(theirs)
    told = b""
    try:
        while part := os.read(ours, 65536):
            told += part
    except OSError:  # on Linux: no process has the other end open any more
        pass
    finally:
        os.close(ours)
    running.wait()
    return told.decode().replace("\r\n", "\n")


CELL = st.text(st.sampled_from("ab/-. \n日"), max_size=40)


@given(st.data(), st.integers(12, 90))
def test_a_table_fits_and_keeps_every_sign(data: st.DataObject, width: int) -> None:
    columns = [Column(f"name {n}", right=n % 2 == 0, fixed=n % 3 == 0) for n in range(data.draw(st.integers(1, 6)))]
    rows = data.draw(st.lists(st.tuples(*(CELL for _ in columns)), max_size=4))
    lines = list(lay_out(columns, rows, width))
    assert all(cell_len(line) <= width for _, line in lines)
    for number, row in enumerate(rows):
        printed = "".join(line for n, line in lines if n == number)
        for sign in "ab/-.日":
            assert printed.count(sign) >= "".join(row).count(sign)


def test_what_fits_stands_side_by_side() -> None:
    columns = (Column("gen.", right=True), Column("why"))
    assert [line for _, line in lay_out(columns, [("1", "a b"), ("12", "c")], 80)] == ["gen.  why", "─────────", "   1  a b", "  12  c"]


def test_sentences_go_below_their_row_when_the_page_is_narrow() -> None:
    columns = (Column("when", fixed=True), Column("what"), Column("id", fixed=True))
    rows = [("07:52:02.352", "task b-1 ran in logs/w2/connect.log and in logs/w3/connect.log at once", "34dc560a1529")]
    lines = [line for _, line in lay_out(columns, rows, 50)]
    assert lines[0] == "when          id"
    # Its name is repeated with it: under the first column's name it would be read as a value of that column.
    assert lines[2:] == ["07:52:02.352  34dc560a1529", "    what: task b-1 ran in logs/w2/connect.log and", "    in logs/w3/connect.log at once"]


def test_a_record_that_does_not_fit_stands_in_one_piece() -> None:
    columns = (Column("task", fixed=True), Column("first"), Column("began"), Column("ended"), Column("at least", right=True))
    rows = [("a-0", "w2", "between 07:52:02.352 and 07:52:24.932", "07:52:24.935 ±4 ms", "22.6 s")]
    assert [line for _, line in lay_out(columns, rows, 40, records=2)][2:] == [
        "a-0   w2",
        "    began: between 07:52:02.352 and",
        "    07:52:24.932",
        "    ended: 07:52:24.935 ±4 ms",
        "    at least: 22.6 s",
    ]
    assert len(list(lay_out(columns, rows, 120, records=2))) == 3


def test_a_long_word_is_broken_after_a_joint() -> None:
    assert wrap("logs/worker-2/connect.log", 20) == ["logs/worker-2/", "connect.log"]
    assert wrap("a\nb-[0-3] c-[0,1] long", 12) == ["a", "b-[0-3]", "  c-[0,1]", "  long"]


@pytest.mark.parametrize("width", [60, 80, 120, 160])
def test_no_number_of_the_report_is_lost_at_any_width(width: int) -> None:
    report = made_case.made()
    narrow, wide = (" ".join(text.as_text(content.compose(report), w).split()) for w in (width, 400))
    assert sum(c.isdigit() for c in narrow) == sum(c.isdigit() for c in wide)


def table(columns: dict[str, list[str]]) -> ArrowRows:
    import pyarrow as pa

    batch = pa.RecordBatch.from_pydict(columns)
    return ArrowRows(list(columns), [False] * len(columns), lambda: iter([batch]))


def test_wide_rows_are_told_one_below_the_other() -> None:
    out = io.StringIO()
    member = "connector-consumer-b-0-76e081ac-627b-4090-9cc1-5772665e6873"
    query.print_table(table({"member_id": [member, "m"], "text": ["word " * 30, "short"]}), out, 65)
    lines = out.getvalue().splitlines()
    assert all(len(line) <= 65 for line in lines)
    assert lines[0].startswith("── 1 ──")
    assert lines[1:3] == ["member_id", f"  {member}"], "an id stays whole, so that it can be copied"
    assert out.getvalue().count("word") == 30
    assert lines[-2:] == ["member_id  m", "text       short"]


def test_one_huge_cell_does_not_widen_every_row_of_a_piped_table() -> None:
    out = io.StringIO()
    texts = ["x" * 20_000, *["short"] * 500]
    query.print_table(table({"text": texts, "id": [f"e{n}" for n in range(501)]}), out)
    assert len(out.getvalue()) < 3 * sum(map(len, texts)) + 100 * len(texts)
    lines = out.getvalue().splitlines()
    assert lines[2] == "x" * 20_000 + "  e0"
    assert {line.index("e") for line in lines[3:]} == {len(lines[3]) - len("e1")}, "the other rows stay aligned"
    same = io.StringIO()
    query.print_table(table({"text": ["y" * 90] * 3, "id": ["e1"] * 3}), same)
    assert same.getvalue().splitlines()[0] == "text" + " " * 86 + "  id", "a column of long texts is as wide as they are"


def test_columns_are_chosen_in_the_reader_s_order(case: str) -> None:
    done = CliRunner().invoke(app, ["sql", "split_brain", "--columns", "verdict,resource", "--format", "csv", "--case", case])
    assert done.stdout.splitlines() == ["verdict,resource", "proved,orders-2", "refuted,orders-1", "undecided,orders-0"]


@pytest.mark.parametrize(
    ("args", "meant"),
    [
        (["sql", "ownershp"], "`ownership`"),
        (["sql", "split_brian"], "`split_brain`"),
        (["sql", "split_brain", "--columns", "resuorce"], "`resource`"),
        (["report", "--rule", "split-brain-tsk"], "`split-brain-task`"),
        (["report", "--group", "conect-cluster"], "`connect-cluster`"),
        (["reprot"], "'report'"),
        (["report", "--gruop", "x"], "--group"),
    ],
)
def test_a_wrong_name_is_answered_with_the_nearest(args: list[str], meant: str, case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORENSICS_CASE", case)
    done = CliRunner().invoke(app, args)
    assert meant in (str(done.exception) + done.output + getattr(done.exception, "fix", ""))
    assert done.exit_code != 0


def test_errors_are_wrapped_between_words_on_a_terminal(tmp_path: Path) -> None:
    path = tmp_path / ("a-long-name" * 8)
    told = at_terminal("sql", "-e", "delete from event", "--case", str(path), columns=60)
    assert all(len(line) <= 60 for line in told.splitlines())
    assert "  help: Use SELECT" in told
    assert str(path) in at_terminal("report", str(path), columns=60), "a path can be copied"
    assert max(map(len, run("sql", "-e", "delete from event").stderr.splitlines())) > 200, "not in a pipe"


def test_wrong_names_in_own_sql_are_answered_with_the_nearest() -> None:
    with pytest.raises(Refused, match="there is no view `ownershp`") as said:
        Guard().accept("SELECT * FROM ownershp")
    assert said.value.fix == "Did you mean `ownership`?"
    Guard().accept("WITH mine AS (SELECT 1) SELECT * FROM mine")


def test_what_is_longer_than_the_screen_goes_to_the_pager(case: str, tmp_path: Path) -> None:
    paged = tmp_path / "paged"
    pager = f"cat > {paged}"
    told = at_terminal("report", "--full", "--case", case, FORENSICS_PAGER=pager, PAGER="false")
    assert "Split brain: PROVED" not in told
    assert "\x1b[1;31m" in paged.read_text(), "a pager gets the colours"
    assert "What was not seen" in paged.read_text()
    paged.unlink()
    assert "Split brain: PROVED" in at_terminal("report", "--full", "--case", case, "--no-pager", FORENSICS_PAGER=pager)
    at_terminal("report", "--full", "--case", case, lines=2000, FORENSICS_PAGER=pager)
    assert not paged.exists(), "what fits the screen needs no pager"
    at_terminal("sql", "--list", PAGER=pager)
    assert "ownership" in paged.read_text()


def test_a_pager_that_cannot_be_run_loses_nothing(case: str) -> None:
    assert "Split brain: PROVED" in at_terminal("report", "--full", "--case", case, FORENSICS_PAGER="/no/such/pager")


def test_a_pipe_has_neither_pager_nor_colours(case: str, tmp_path: Path) -> None:
    env = {**os.environ, "FORENSICS_PAGER": f"cat > {tmp_path / 'paged'}"}
    done = subprocess.run(
        [sys.executable, "-m", "forensics", "report", "--full", "--case", case], capture_output=True, text=True, env=env, check=True
    )
    assert "Split brain: PROVED" in done.stdout
    assert "\x1b" not in done.stdout
    assert not (tmp_path / "paged").exists()


@pytest.mark.parametrize("columns", [60, 160])  # narrower than any line, and wider
def test_a_terminal_of_any_width_shows_all(case: str, columns: int) -> None:
    for args in (["sql", "ownership", "--case", case, "--no-pager"], ["sql", "--list", "--no-pager"], ["report", "-h"], ["sql", "-h"]):
        for line in at_terminal(*args, columns=columns).splitlines():
            assert cell_len(line) <= columns, line


def test_rows_on_screen_count_what_the_terminal_breaks() -> None:
    assert screen.rows_on_screen("a\n" + "b" * 81 + "\n\n\x1b[1m" + "c" * 80 + "\x1b[0m\n", 80) == 5


def completed(case: str, words: str, runs=run_here) -> set[str]:
    """Return the completions that a shell would offer for the last word."""
    asked = {"FORENSICS_CASE": case, "_FORENSICS_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    return set(runs(**asked).stdout.split())


def test_the_shell_completes_what_the_case_has(case: str) -> None:
    assert "connect-cluster" in completed(case, "forensics report --group conn", run)
    assert "connect-cluster" in completed(case, "forensics report --group conn")
    assert "connect-cluster" in completed(case, "forensics timeline conn")
    assert "orders-2" in completed(case, "forensics timeline --resource ord")
    owned = made_case.rows()["ownership"][0]["ownership_id"]
    assert owned in completed(case, f"forensics show {owned[:4]}")
    assert owned not in completed(case, "forensics show zzz")
    assert "ownership" in completed(case, "forensics sql owner")
    assert "split-brain-task" in completed(case, "forensics report --rule split")
    assert completed("/nonexistent", "forensics report --group conn") == set()


@pytest.mark.parametrize(("name", "begins"), [("r.md", "# SPLIT BRAIN"), ("r.json", "{"), ("r.txt", "\nSplit brain")])
def test_a_file_s_name_tells_the_form(case: str, name: str, begins: str, tmp_path: Path) -> None:
    assert _SUFFIXES[".html"] is ReportFormat.html
    assert CliRunner().invoke(app, ["report", "--case", case, "-o", str(tmp_path / name)]).exit_code == 0
    assert (tmp_path / name).read_text().lower().startswith(begins.lower())


@pytest.mark.parametrize(
    ("done", "total", "rate", "in_bytes", "said"),
    [
        (120_000_000, 340_000_000, 35_400_000.0, True, "120 of 340 MB, 35.4 MB/s"),
        (500_000, 2_000_000, None, True, "0.5 of 2.0 MB"),
        (12, 1200, 3.0, False, "12 of 1,200"),
    ],
)
def test_progress_tells_bytes_and_rate(done: int, total: int, rate: float | None, in_bytes: bool, said: str) -> None:
    assert console.amount(done, total, rate, in_bytes=in_bytes) == said


def test_progress_describes_the_step() -> None:
    assert console.in_words("views: split_brain") == "Computing split brain"
    assert console.in_words("reading") == "Reading logs"


def test_progress_is_drawn_on_a_terminal_alone(case: str) -> None:
    code = (
        "from forensics.console import progress\nimport time\n"
        "with progress() as step:\n"
        "    for done in range(0, 50_000_001, 10_000_000):\n        step('reading', done, 50_000_000); time.sleep(0.15)\n"
        "    step('views: split_brain', 3, 200); time.sleep(0.3)\n"
    )
    ours, theirs = pty.openpty()
    ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
    running = subprocess.Popen([sys.executable, "-c", code], stderr=theirs, env={**os.environ, "TERM": "xterm"})
    os.close(theirs)
    told = b""
    try:
        while part := os.read(ours, 65536):
            told += part
    except OSError:
        pass
    os.close(ours)
    assert running.wait() == 0
    drawn = told.decode()
    assert "Reading logs" in drawn
    assert "of 50 MB" in drawn
    assert "MB/s" in drawn
    assert "Computing split brain" in drawn
    assert "3 of 200" in drawn
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stderr == b""
