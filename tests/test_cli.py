"""The commands: what they print, where, with which exit code; and that the quick ones are quick."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import re
import resource
import subprocess
import sys
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import jsonschema
import made_case
import pyarrow.parquet as pq
import pytest
import typer
from some_views import only_views
from typer.testing import CliRunner

from forensics import __version__, cli
from forensics.catalogue import patterns
from forensics.cli import app
from forensics.errors import UsageError
from forensics.report.explain import explain

JOINED = (
    "[2026-11-21 07:51:24,897] INFO [Worker clientId=connect-1, groupId=connect-cluster] Successfully synced group in generation "
    "Generation{generationId=7, memberId='connect-1-8f14e45f-ceea-467f-a9d2-1d3f6a1b2c3d', protocol='sessioned'} "
    "(org.apache.kafka.connect.runtime.distributed.WorkerCoordinator:843)"
)


def run(*args: str, given: bytes = b"", **env: str) -> subprocess.CompletedProcess[str]:
    """The command as a user's shell runs it."""
    done = subprocess.run([sys.executable, "-m", "forensics", *args], input=given, capture_output=True, env={**os.environ, **env}, check=False)
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def run_here(*args: str, given: bytes = b"", **env: str) -> subprocess.CompletedProcess[str]:
    """The same in this process, where nothing has to be imported again; what a process of its own does is in the tests that start one."""
    told = [io.BytesIO(given), io.BytesIO(), io.BytesIO()]
    here = [io.TextIOWrapper(stream, encoding="utf-8", write_through=True) for stream in told]
    with pytest.MonkeyPatch.context() as patched:
        for name, value in env.items():
            patched.setenv(name, value)
        patched.setattr(sys, "argv", ["forensics", *args])
        for name, stream in zip(("stdin", "stdout", "stderr"), here, strict=True):
            patched.setattr(sys, name, stream)
        patched.setattr(cli.SHELL, "reads", False)
        try:
            cli.main()
            code: object = 0
        except SystemExit as e:
            code = e.code
    return subprocess.CompletedProcess(args, int(str(code or 0)), told[1].getvalue().decode(), told[2].getvalue().decode())


def cpu_seconds() -> float:
    """Return the processor time of the processes that have ended, because wall time depends on the machine's other work."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@pytest.mark.parametrize("args", [["--help"], ["--version"], ["report", "--help"], ["ingest", "--help"]])
def test_help_is_quick_and_loads_nothing_heavy(args: list[str]) -> None:
    code = (
        "import sys\nfrom forensics.cli import app\n"
        f"try:\n    app({args!r})\nexcept SystemExit:\n    pass\n"
        "print([m for m in ('pyspark', 'pyarrow', 'numpy', 'jinja2', 'regex') if m in sys.modules], file=sys.stderr)"
    )
    begun = cpu_seconds()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert cpu_seconds() - begun < 0.8
    assert done.stderr.strip() == "[]"
    assert done.stdout.strip()


def test_version() -> None:
    assert CliRunner().invoke(app, ["--version"]).stdout == f"forensics {__version__}\n"


@pytest.mark.parametrize("line", ["-- Boot 3f2c --", "--Boot 3f2c", f"-- {JOINED}", "-> (Re-)joining group"])
@pytest.mark.parametrize("more", [(), ("--no-pager",)])
def test_explain_takes_a_line_that_begins_with_dashes(line: str, more: tuple[str, ...]) -> None:
    for args in ((line, *more), (*more, line), (*more, "--", line)):
        done = run_here("explain", *args)
        assert (done.returncode, done.stderr) in ((0, ""), (1, ""))
        assert done.stdout.split()


def test_explain_names_an_option_that_it_lacks() -> None:
    done = run_here("explain", "--no-such", "x y")
    assert done.returncode == 2
    assert "--no-such" in done.stderr


COMMANDS = typer.main.get_command(app).commands  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(name: str) -> None:
    shown = CliRunner().invoke(app, [name, "--help"])
    assert shown.exit_code == 0
    assert "Usage" in shown.stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_help_names_only_options_that_the_command_has(name: str) -> None:
    """Options of another program follow its name."""
    command = COMMANDS[name]
    own = {option for p in command.params for option in (*p.opts, *p.secondary_opts)}
    texts = [command.help or "", command.short_help or "", *(getattr(p, "help", None) or "" for p in command.params)]
    named = {
        option
        for text in texts
        for option in re.findall(r"(?<![\w-])--?[a-zA-Z][\w-]*", re.sub(r"kafka-topics --\w+|kubectl [^|]*\|.*?\|", "", text))
    }
    assert named - own == set()


@pytest.mark.parametrize(
    "args",
    [
        ["nonsense"],
        ["report", "--nonsense"],
        ["report", "--format", "pdf"],
        ["report", "--fail-on", "sometimes"],
        ["report", "pyproject.toml", "--name", "w1"],
        ["report", "--rule", "no-such-rule"],
        ["ingest"],
        ["ingest", "no/such/folder"],
        ["explain"],
        ["explain", ""],
        ["ingest", ""],
        ["report", ""],
        ["explain", " \n"],
        ["explain", "-"],
        ["check", "no/such/file.toml"],
        ["sql"],
        ["sql", "no_such_view"],
    ],
)
def test_wrong_use_is_2_without_a_traceback(args: list[str], tmp_path: Path) -> None:
    done = run_here(*args, FORENSICS_CASE=str(tmp_path / "none"))
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert done.stderr.strip()
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("args", [["report"], ["verify"], ["show", "0123456789abcdef01234567"], ["sql", "generation"], ["sql", "-e", "SELECT 1"]])
def test_a_missing_case_says_what_to_do(args: list[str], tmp_path: Path) -> None:
    done = run_here(*args, FORENSICS_CASE=str(tmp_path / "none"))
    assert done.returncode == 4
    assert done.stdout == ""
    assert done.stderr.startswith("error: ")
    assert "forensics ingest" in done.stderr
    assert "Traceback" not in done.stderr


def test_nothing_to_explain_says_what_to_give() -> None:
    done = run_here("explain", "-", given=b"\n\n")
    assert done.returncode == 2
    assert done.stderr.startswith("error: There is no text to explain.\n  reason: ")
    assert "forensics explain -" in done.stderr


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
        ("hello", "Paste the whole line"),
        ("[2026-11-21 07:51:24,897] INFO Started (org.eclipse.jetty.server.Server:415)", "logs nothing about groups"),
        ("[2026-11-21 07:51:24,897] INFO gibberish (org.apache.kafka.connect.runtime.distributed.DistributedHerder:843)", "this is not one of them"),
    ],
)
def test_explain_says_why_it_knows_nothing(line: str, said: str) -> None:
    done = run_here("explain", line)
    assert done.returncode == 1
    assert said in " ".join(done.stdout.split())


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("INFO Stopping task b-1", ["task_stopping (task)", "level      INFO", "task = b-1"]),
        ("WARN ... Catching up to assignment's config offset.", ["config_catching_up"]),
        ("07:52:24 [DistributedHerder-1] o.a.k.c.r.Worker - Stopping task b-1", ["task_stopping (task)", "o.a.k.c.r.Worker"]),
        (
            "CommitFailedException: Offset commit cannot be completed since the consumer is not part of an active group for auto partition assignment",
            ["CommitFailedException (exception)", "lost its membership", "max.poll.interval.ms"],
        ),
        ("kafka.errors.UnknownMemberIdError: [Error 25] UnknownMemberIdError", ["UnknownMemberIdException (exception)"]),
        ("Caused by: Broker: Unknown member", ["UnknownMemberIdException (exception)", "“broker: unknown member”"]),
    ],
)
def test_explain_takes_part_of_a_line_and_exceptions(line: str, said: list[str]) -> None:
    done = run_here("explain", line)
    assert done.returncode == 0, done.stdout
    for part in said:
        assert part in done.stdout


SECRET_LINES = (
    "Joined group at generation 7 with protocol version 2 and got assignment: Assignment{error=0, leader='c-1-8f14e45f-ceea-467f-a9d2-1d3f6a1b2c3d', "
    "leaderUrl='http://admin:geheim@p@ss@10.77.0.13:8083/', offset=9, connectorIds=[b], taskIds=[b-0], revokedConnectorIds=[], revokedTaskIds=[], delay=0} "
    "with rebalance delay: 0",
    "password: geheim",
    'org.apache.kafka.X required username="u" password="geheim";',
    "Authorization: Basic Z2VoZWltOmdlaGVpbQ==",
    "Cookie: JSESSIONID=geheim",
    '{"connection.password":"geheim"}',
    "mongodb+srv://bob:geheim@cluster/x",
    "ghp_geheim0123456789abcdefghijABCDEFGHIJ",
    "-Djavax.net.ssl.keyStorePassword=geheim",
)


@pytest.mark.parametrize("head", ["", "[2026-11-21 07:51:24,897] INFO "], ids=["bare", "whole line"])
def test_explain_prints_no_secret(head: str) -> None:
    catalogue = patterns.load()
    for line in SECRET_LINES:
        printed = repr(explain(head + line, catalogue).document.blocks)
        assert "geheim" not in printed
        assert "Z2VoZWlt" not in printed
        assert "[redacted]" in printed


def test_explain_names_what_comes_nearest() -> None:
    done = run_here("explain", "Attempt to heartbeat did not succeed since group is rebalancing again")
    assert done.returncode == 1
    assert "heartbeat_failed" in done.stdout


def test_explain_groups_repeats() -> None:
    lines = [JOINED.replace("generationId=7", f"generationId={n}") for n in range(1, 9)]
    done = run_here("explain", "-", given="\n".join([*lines, "[2026-11-21 07:51:24,897] INFO gibberish (x.Y)"]).encode())
    assert done.returncode == 0
    assert done.stdout.count("(membership)") == 1
    assert ", 8 times" in done.stdout
    assert "generation = 1; 2; 3; 4; 5 and 3 more" in done.stdout
    assert "gibberish" in done.stdout


def test_explain_is_quick() -> None:
    begun = cpu_seconds()
    run("explain", JOINED)
    assert cpu_seconds() - begun < 2.5


def test_check_shows_what_where_and_help(tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text(
        "[[event]]\nname = 'mine'\ncategory = 'other'\nlogger = ['com.example.Mine']\nkafka = '3.0.0..'\npattern = 'Hello\\ (?P<nobody>.*)'\n"
        "[[event.example]]\nline = 'Hello x'\nfields = {nobody = 'x'}\n"
    )
    done = run_here("check", str(own))
    assert done.returncode == 2
    for part in ("error: `mine` captures `nobody`", "reason:", f"--> {own}:", "help:"):
        assert part in done.stderr


def test_a_reader_that_leaves_is_no_error() -> None:
    pipe = f"'{sys.executable}' -m forensics explain - | true"
    done = subprocess.run(["sh", "-c", pipe], input=JOINED * 200, capture_output=True, text=True, check=True)
    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr


def test_completion_knows_commands_and_rules() -> None:
    done = run(_FORENSICS_COMPLETE="complete_bash", COMP_WORDS="forensics ", COMP_CWORD="1")
    assert {"ingest", "report", "sql", "show", "explain", "check"} <= set(done.stdout.split())


# --- a whole case


@pytest.fixture
def few_views() -> Iterator[None]:
    """For tests of when views are built, and not of what is in them."""
    with only_views(["source_file"]):
        yield


@pytest.fixture(scope="module")
def case(sample_case) -> str:
    return str(sample_case("split-brain-frozen-worker-3.9.1").root)


@pytest.mark.engine
def test_a_report_in_every_form(case: str, tmp_path: Path) -> None:
    shown = run("report", "--case", case)
    assert shown.returncode == 0, shown.stderr
    assert "SPLIT BRAIN PROVED" in shown.stdout
    assert re.search(r"w2/connect\.log:\d+", shown.stdout)
    assert len(shown.stdout.splitlines()) <= 60
    page = run_here("report", "--case", case, "--format", "html", "-o", str(tmp_path / "r.html"))
    assert page.returncode == 0
    assert page.stdout == ""
    assert "<!doctype html>" in (tmp_path / "r.html").read_text()
    assert run_here("report", "--case", case, "--format", "markdown").stdout.startswith("# SPLIT BRAIN PROVED")
    schema = json.loads(files("forensics").joinpath("report-schema.json").read_text(encoding="utf-8"))
    written = run_here("report", "--format", "json", FORENSICS_CASE=case).stdout
    jsonschema.Draft202012Validator(schema).validate(json.loads(written))


@pytest.mark.engine
@pytest.mark.parametrize(
    ("args", "code"),
    [
        ((), 0),
        (("--fail-on", "proved"), 1),
        (("--fail-on", "any"), 1),
        (("--fail-on", "incomplete"), 1),
        (("--fail-on", "proved", "--until", "07:51:30"), 0),
        (("--since", "2027-01-01"), 2),
        (("--since", "07:52"), 0),
        (("--since", "07:52", "--fail-on", "any"), 1),
        (("--fail-on", "any", "--rule", "poll-timeout"), 0),
        (("--group", "nobody"), 2),
    ],
)
def test_exit_codes_of_a_report(case: str, args: tuple[str, ...], code: int) -> None:
    assert run_here("report", "--case", case, *args).returncode == code


@pytest.mark.engine
def test_a_report_starts_no_spark(case: str) -> None:
    done = run("report", "--case", case, JAVA_HOME="/nowhere", PATH="/nowhere")
    assert done.returncode == 0, done.stderr


@pytest.mark.engine
def test_show_prints_the_raw_lines_of_events_findings_and_ownerships(case: str) -> None:
    found = json.loads(run_here("report", "--case", case, "--format", "json").stdout)
    finding = next(f for f in found["findings"] if f["rule"] == "split-brain-task")
    shown = run_here("show", "--case", case, finding["finding_id"])
    assert shown.returncode == 0, shown.stderr
    assert "has changed" not in shown.stdout
    for line in finding["witness"]:
        assert re.search(rf"^> +{line['line']}  \[", shown.stdout, re.MULTILINE), line
        assert line["text"][:60] in shown.stdout
        assert re.search(rf"^ +{line['role'].replace('_', ' ')}:\n|first sign that . runs:\n", shown.stdout, re.MULTILINE), line
    one = finding["witness"][0]
    alone = run_here("show", "--case", case, one["event_id"][:10], "-C", "0").stdout
    assert len([x for x in alone.splitlines() if x.startswith("> ")]) == 1
    owned = found["ownership"][0]["ownership_id"]
    assert run_here("show", "--case", case, owned).returncode == 0
    assert run_here("show", "--case", case, "ffffffffffffffffffffffff").returncode == 2
    assert run_here("show", "--case", case, "ff").returncode == 2


def test_show_says_when_evidence_moved_or_changed(tmp_path: Path) -> None:
    from expect_samples import SAMPLES

    from forensics.case.ingestion import ingest
    from forensics.report import text
    from forensics.report.show import show

    log = tmp_path / "logs" / "c1" / "consumer.log"
    log.parent.mkdir(parents=True)
    content = (SAMPLES / "session-timeouts-consumers-3.9.1" / "logs" / "c1" / "consumer.log").read_bytes()
    log.with_suffix(".log.gz").write_bytes(gzip.compress(content))
    found = ingest([tmp_path / "logs"], tmp_path / "case", jobs=2).case
    wanted = pq.read_table(found.table_paths("event_row")[0], columns=["event_id", "line"]).to_pylist()[20]
    raw = content.decode().splitlines()[wanted["line"] - 1]

    def shown() -> str:
        return text.as_text(show(found, wanted["event_id"], 1), 200)

    assert raw in shown()
    assert "changed" not in shown()
    log.with_suffix(".log.gz").write_bytes(gzip.compress(content + b"[2026-11-21 09:00:00,000] INFO more\n"))
    assert "changed" not in shown(), "a log that has only grown is still the evidence"
    log.with_suffix(".log.gz").write_bytes(gzip.compress(content.replace(b"INFO", b"WARN")))
    assert "has changed since it was ingested" in shown()
    log.with_suffix(".log.gz").unlink()
    assert "can no longer be read" in shown()


@pytest.mark.spark
def test_sql_runs_saved_and_own_queries(case: str, spark, tmp_path: Path) -> None:
    def sql(*args: str) -> str:
        shown = CliRunner().invoke(app, ["sql", *args, "--case", case])
        assert shown.exit_code == 0, shown.output
        return shown.stdout

    listed = sql("--list")
    assert "split_brain" in listed
    assert "split-brain-task" in listed
    saved = list(csv.DictReader(io.StringIO(sql("split_brain", "--format", "csv"))))
    assert {r["resource"] for r in saved if r["verdict"] == "proved"} >= {"a-0", "b-1"}
    own = "SET VAR gap_ms = 1; SELECT count(*) AS n FROM generation; -- the last statement counts"
    assert json.loads(sql("-e", own, "--format", "json"))[0]["n"] > 10
    (tmp_path / "own.sql").write_text("SELECT event, count(*) FROM event GROUP BY event")
    assert "joining" in sql("-f", str(tmp_path / "own.sql"))
    assert "split-brain-task" not in sql("session-timeout")


@pytest.mark.spark
def test_wrong_sql_is_2_and_says_why(case: str, spark) -> None:
    wrong = run_here("sql", "-e", "SELECT nothing, 1 FROM process", "--case", case)
    assert wrong.returncode == 2
    assert wrong.stderr.startswith("error: The query cannot be run.")
    assert "  --> -e, line 1, column 8" in wrong.stderr
    assert "Traceback" not in wrong.stderr
    assert wrong.stdout == ""
    late = run_here("sql", "-e", "SELECT 1 / (line - line) FROM event", "--case", case)
    assert (late.returncode, late.stderr.splitlines()[0]) == (2, "error: The query cannot be run.")
    assert "by zero" in late.stderr


@pytest.mark.engine
def test_wrong_sql_names_the_place_in_what_was_written(case: str) -> None:
    wrong = run_here("sql", "-e", "SELECT 1; -- and\n  SELECT resource 'ä''x' y z FROM ownership", "--case", case)
    assert wrong.returncode == 2
    assert "  --> -e, line 2, column " in wrong.stderr


@pytest.mark.engine
def test_views_of_another_version_are_built_anew(tmp_path: Path, few_views) -> None:
    from forensics.case import folder as case_folder

    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "connect.log").write_text(JOINED + "\n")
    case = tmp_path / "moved case"
    assert CliRunner().invoke(app, ["ingest", str(tmp_path / "logs"), "--case", str(tmp_path / "case")]).exit_code == 0
    (tmp_path / "case").rename(case)
    opened = case_folder.open_case(case)
    kept = {path: (case / path).read_text(encoding="utf-8") for path in opened.manifest["contents"] if path.startswith("sql/")}
    case_folder.publish(opened, kept | {"sql/4_groups/generation.sql": kept["sql/4_groups/generation.sql"] + "-- older\n"})
    shown = CliRunner().invoke(app, ["sql", "source_file", "--case", str(case)])
    assert shown.exit_code == 0, shown.output
    assert "being rebuilt" in shown.stderr
    assert "being rebuilt" not in CliRunner().invoke(app, ["sql", "source_file", "--case", str(case)]).stderr


@pytest.mark.engine
def test_ingest_of_broken_evidence_is_3_and_says_which(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    line = b"[2026-11-21 07:51:24,897] INFO (Re-)joining group (org.apache.kafka.clients.consumer.internals.ConsumerCoordinator)\n"
    (folder / "good.log").write_bytes(line)
    (folder / "bad.log.gz").write_bytes(gzip.compress(line * 1000)[:-30])
    shown = CliRunner().invoke(app, ["ingest", str(folder), "--case", str(tmp_path / "case")])
    assert shown.exit_code == 3, shown.output
    assert "bad.log.gz" in shown.stderr
    assert shown.stdout == ""
    for _ in range(2):
        again = CliRunner().invoke(app, ["report", "--case", str(tmp_path / "case")])
        assert again.exit_code == 3, again.output
        assert "what could not be read of bad.log.gz (" in " ".join(again.stdout.split())
        assert "bad.log.gz could not be read completely: " in again.stderr


def test_ingest_says_which_logs_are_newest_first(tmp_path: Path) -> None:
    said = {}
    for name, order in (("forwards", 1), ("backwards", -1)):
        lines = [JOINED.replace("51:24", f"51:{second}") for second in range(24, 54)]
        (tmp_path / name).mkdir()
        (tmp_path / name / "connect.log").write_text("".join(f"{line}\n" for line in lines[::order]))
        shown = CliRunner().invoke(app, ["ingest", str(tmp_path / name), "--case", str(tmp_path / f"case {name}"), "--no-views"])
        assert shown.exit_code == 0, shown.output
        said[name] = "the newest line comes first in connect.log" in shown.stderr
    assert said == {"forwards": False, "backwards": True}


@pytest.mark.engine
def test_an_empty_folder_has_a_report_too(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    done = CliRunner().invoke(app, ["ingest", str(tmp_path / "logs"), "--case", str(tmp_path / "case")])
    assert done.exit_code == 3
    assert "No log was found in" in done.stderr
    assert "there are no files" in done.stderr
    shown = CliRunner().invoke(app, ["report", "--case", str(tmp_path / "case")])
    assert shown.exit_code == 3, shown.output
    assert "NO KAFKA LOGS FOUND" in shown.stdout
    assert "No log was read: there are no files." in shown.stdout
    assert CliRunner().invoke(app, ["report", "--case", str(tmp_path / "case"), "--fail-on", "any"]).exit_code == 3


@pytest.mark.engine
def test_a_report_of_a_folder_without_logs_is_3_however_often_it_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "picture.bin").write_bytes(bytes(range(256)))
    for _ in range(2):
        shown = run_here("report", str(tmp_path / "logs"), XDG_CACHE_HOME=str(tmp_path / "cache"))
        assert shown.returncode == 3
        assert "1 other file is there" in shown.stderr


@pytest.mark.engine
def test_logs_are_read_again_once_the_patterns_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "issue.txt"
    log.write_text(
        "[2026-11-27 15:11:40,209] INFO [GroupCoordinator 1]: Preparing to rebalance group a in state Empty (kafka.coordinator.group.GroupCoordinator)\n"
    )
    for digest, is_read in (("a", True), ("a", False), ("b", True)):
        monkeypatch.setattr("forensics.catalogue.patterns.digest", lambda *_, digest=digest, **__: digest)
        shown = CliRunner().invoke(app, ["report", str(log)], env={"XDG_CACHE_HOME": str(tmp_path / "cache")})
        assert shown.exit_code == 0, shown.stderr
        assert ("1 file read into" in shown.stderr) is is_read


@pytest.mark.engine
def test_a_folder_without_kafka_is_3_and_says_what_was_read_and_what_is_expected(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    lines = (f"[2026-11-21 07:51:{n:02},897] INFO GET /index.html 200 (com.acme.web.AccessLog:12)\n" for n in range(20))
    (tmp_path / "logs" / "access.log").write_text("".join(lines))
    case = str(tmp_path / "case")
    for command in (["ingest", str(tmp_path / "logs"), "--case", case], ["report", "--case", case], ["report", str(tmp_path / "logs")]):
        shown = run_here(*command, XDG_CACHE_HOME=str(tmp_path / "cache"))
        assert shown.returncode == 3, shown.stderr
        assert "No Kafka logs were found." in shown.stderr
        assert "expected: logs of Kafka brokers (`server.log`" in shown.stderr
        if command[0] == "report":
            written = " ".join(shown.stdout.split())
            assert written.startswith("NO KAFKA LOGS FOUND")
            assert "None of the 20 records in 1 file (access.log) is from a logger of Kafka." in written


@pytest.mark.engine
def test_messages_in_prose_are_explained_if_no_log_was_read(tmp_path: Path) -> None:
    (tmp_path / "issue.txt").write_text(
        "Since the update we see this:\n\nDetected that the thread is being fenced. This implies that this thread missed a rebalance and "
        "dropped out of the consumer group. Will close out all assigned tasks and rejoin the consumer group.\n\nand then nothing more (see below).\n"
    )
    for _ in range(2):
        shown = run_here("report", str(tmp_path / "issue.txt"), XDG_CACHE_HOME=str(tmp_path / "cache"))
        assert shown.returncode == 3, shown.stderr
        written = " ".join(shown.stdout.split())
        assert written.startswith("SPLIT BRAIN NOT EXAMINED")
        assert "Shown Detected that the thread is being fenced." in written
        assert "(issue.txt:3) The thread learned that it was no longer a member of its group" in written


def test_an_ending_that_no_form_has_is_a_wrong_use_unless_the_form_is_told(tmp_path: Path) -> None:
    case = made_case.written(tmp_path / "case").root
    wrong = CliRunner().invoke(app, ["report", "--case", str(case), "-o", str(tmp_path / "x.pdf2")])
    assert isinstance(wrong.exception, UsageError)
    assert ".pdf2" in wrong.exception.what
    assert ".html" in wrong.exception.fix
    assert not (tmp_path / "x.pdf2").exists()
    for name in ("x", "x.txt"):
        assert CliRunner().invoke(app, ["report", "--case", str(case), "-o", str(tmp_path / name)]).exit_code == 0
        assert "SPLIT BRAIN" in (tmp_path / name).read_text()
    assert CliRunner().invoke(app, ["report", "--case", str(case), "-o", str(tmp_path / "x.pdf2"), "--format", "json"]).exit_code == 0
    assert json.loads((tmp_path / "x.pdf2").read_text())["version"] == 1


@pytest.mark.parametrize(
    ("arguments", "what", "help_"),
    [
        (["reprot"], "No such command 'reprot'. Did you mean 'report', 'export'?", "`forensics -h` lists the commands."),
        (["report", "--nope"], "No such option: --nope", "`forensics report -h` lists the options."),
        (
            ["sql", "--case"],
            "Option '--case' requires an argument.",
            "`forensics -h` lists the commands, and `forensics COMMAND -h` the options of one.",
        ),
        (["rep\x1b[31mort"], "No such command 'rep\\x1b[31mort'.", "`forensics -h` lists the commands."),
    ],
)
def test_a_wrong_command_line_is_an_error_like_any_other(arguments: list[str], what: str, help_: str) -> None:
    done = subprocess.run([sys.executable, "-m", "forensics", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: {what}")
    assert done.stderr.endswith(f"  help: {help_}\n")
