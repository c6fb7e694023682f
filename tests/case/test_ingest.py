"""Ingest ends with all views, or with the case as it was."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from some_views import only_views
from typer.testing import CliRunner, Result

from forensics.case import folder as case_folder
from forensics.case import materialise, view_files, views
from forensics.case.ingestion import Summary
from forensics.cli import app
from forensics.console import say_ingested
from forensics.errors import CaseError

LINE = (
    "[2026-11-21 07:51:24,897] INFO [Consumer clientId=c, groupId=g] Successfully joined group with generation 7 "
    "(org.apache.kafka.clients.consumer.internals.ConsumerCoordinator:843)\n"
)
KEPT = {name for name, view in view_files.views().items() if view.kept}


def ingest(*args: object) -> Result:
    return CliRunner().invoke(app, ["ingest", *map(str, args)])


@pytest.fixture
def log(tmp_path: Path) -> Path:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "consumer.log").write_text(LINE)
    return tmp_path / "logs" / "consumer.log"


@pytest.fixture
def few_views() -> Iterator[None]:
    """For tests of when views are built, and not of what is in them."""
    with only_views(["source_file"]):
        yield


@pytest.mark.slow
@pytest.mark.spark
def test_a_large_case_has_its_views_after_ingest(log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spark_session) -> None:
    monkeypatch.setattr(views, "SMALL_EVENTS", 1)
    case = tmp_path / "case"
    assert ingest(log.parent, "--case", case).exit_code == 0
    assert case_folder.open_case(case).views().keys() == KEPT
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    command = f'spark-sql -i {case}/open.sql -i {case}/steps.sql -e "SELECT count(s.piece), max(gap_ms) FROM process_start AS s, source_file"'
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.split() == ["0", "300000"]


@pytest.mark.engine
def test_views_can_be_left_to_the_next_report(log: Path, tmp_path: Path) -> None:
    case = tmp_path / "case"
    done = ingest(log.parent, "--case", case, "--no-views", "--assume-skew", "7")
    assert done.exit_code == 0
    assert "no views" in done.stderr
    opened = case_folder.open_case(case)
    assert opened.views() == {}
    assert opened.thresholds == {"assume_skew_ms": 7}
    assert "VIEW event_row" in (case / "open.sql").read_text()
    assert not (case / "steps.sql").exists()
    assert CliRunner().invoke(app, ["report", "--case", str(case)]).exit_code == 0
    opened = case_folder.open_case(case)
    assert opened.views().keys() == KEPT
    assert opened.thresholds == {"assume_skew_ms": 7}

    subprocess.run(["bash", "-c", f"rm {case}/views/*/{{split_brain,finding}}/*.parquet"], check=True)
    shown = CliRunner().invoke(app, ["report", "--case", str(case), "--fail-on", "any"])
    assert isinstance(shown.exception, CaseError)
    assert shown.stdout == ""
    with only_views(["source_file"]):  # how a case is mended, and not once more what all views are
        assert CliRunner().invoke(app, ["verify", str(case), "--rebuild"]).exit_code == 0
        assert CliRunner().invoke(app, ["sql", "source_file", "--case", str(case)]).exit_code == 0


@pytest.mark.engine
def test_where_nothing_is_new_the_views_stay(log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, few_views) -> None:
    case = tmp_path / "case"
    assert ingest(log.parent, "--case", case).exit_code == 0
    before = case_folder.open_case(case)
    with monkeypatch.context() as patched:
        patched.setattr(materialise, "build", None)
        for again in ((), ("--no-views",)):
            done = ingest(log.parent, "--case", case, *again)
            assert done.exit_code == 0
            assert "no new logs" in done.stderr
            assert "no views" not in done.stderr
            opened = case_folder.open_case(case)
            assert (opened.manifest["views"], opened.manifest["contents"]) == (before.manifest["views"], before.manifest["contents"])
        assert CliRunner().invoke(app, ["sql", "source_file", "--case", str(case)]).exit_code == 0
    # Tables that are rewritten, gone or new are no longer those that the views were built from.
    assert ingest(log.parent, "--case", case, "--assume-skew", "7").exit_code == 0
    assert case_folder.open_case(case).manifest["views"] != before.manifest["views"]
    for change in (
        lambda: log.with_name("more.log").write_text(LINE * 2),
        lambda: log.write_text(LINE * 3),
        lambda: log.rename(log.with_name("other.log")),
    ):
        views_before = case_folder.open_case(case).manifest["views"]
        change()
        assert ingest(log.parent, "--case", case).exit_code == 0
        assert case_folder.open_case(case).manifest["views"] != views_before


@pytest.mark.engine
def test_logs_that_tell_nothing_of_groups_are_no_all_clear(tmp_path: Path) -> None:
    app_log, quiet = tmp_path / "app" / "app.log", tmp_path / "quiet" / "connect.log"
    for file in (app_log, quiet):
        file.parent.mkdir()
    at = "[2026-11-21 07:51:24,897]"
    app_log.write_text("".join(f"{at} INFO Order {n} was shipped (com.example.shop.Orders:{n % 7 + 20})\n" for n in range(200)))
    quiet.write_text(f"{at} INFO Kafka version: 3.9.1 (org.apache.kafka.common.utils.AppInfoParser:125)\n" * 3)
    for log, code, why in (
        (app_log, 3, "is from a logger"),
        (quiet, 0, "none of the 3 records shows, in a known form, that a member joined a group"),
    ):
        case = tmp_path / f"case-{log.stem}"
        assert ingest(log.parent, "--case", case).exit_code == code
        shown = CliRunner().invoke(app, ["report", "--full", "--case", str(case)])
        assert shown.exit_code == code
        assert "Split brain: NOT EXAMINED" in shown.stdout
        assert "NONE FOUND" not in shown.stdout
        assert why in " ".join(shown.stdout.split())
        assert ("/admin/loggers/" in shown.stdout) is (log is quiet)  # an application's loggers are not Kafka's
        assert CliRunner().invoke(app, ["report", "--case", str(case), "--fail-on", "any"]).exit_code == 3


@pytest.mark.engine
def test_an_ingest_that_fails_at_the_views_leaves_the_last_good_case(log: Path, tmp_path: Path, monkeypatch, few_views) -> None:
    case = tmp_path / "case"
    assert ingest(log.parent, "--case", case).exit_code == 0
    views_before = case_folder.open_case(case).views()
    before = {f.relative_to(case): f.read_bytes() for f in case.rglob("*") if f.is_file()}
    log.write_text(LINE * 2)

    def broken(*args: object, **more: object) -> None:
        raise CaseError("The view x could not be computed.")

    monkeypatch.setattr(materialise, "build", broken)
    done = ingest(log.parent, "--case", case)
    assert isinstance(done.exception, CaseError)
    assert "--no-views" in done.exception.fix
    opened = case_folder.open_case(case)
    assert opened.views() == views_before != {}
    assert {f: (case / f).read_bytes() for f in before} == before


def test_copies_that_are_left_out_are_named_and_said_to_be_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    summary = Summary(case_folder.Case(tmp_path, {}), [], copies=[(f"pod-{n}\x1b[31m", "another copy") for n in range(7)])
    say_ingested(summary, tmp_path)
    said = capsys.readouterr().err
    assert "left out pod-0" in said
    assert "\x1b" not in said
    assert f"left out 2 more copies: forensics sql coverage --case {tmp_path}\nthe counts above include the lines of these copies." in said
    summary.copies.clear()
    say_ingested(summary, tmp_path)
    assert "left out" not in capsys.readouterr().err


def test_what_has_grown_and_what_is_gone_is_said(tmp_path: Path) -> None:
    logs, case = tmp_path / "logs", tmp_path / "case"
    for worker in ("w1", "w2", "w3", "w4"):
        (logs / worker).mkdir(parents=True)
        (logs / worker / "consumer.log").write_text(LINE.replace("clientId=c", f"clientId={worker}"))

    def said(*paths: Path) -> list[str]:
        done = ingest(*paths, "--case", case, "--no-views")
        assert done.exit_code == 0
        return [line for line in done.stderr.splitlines() if line.startswith(("grown", "gone"))]

    assert said(logs) == []
    assert said(logs) == []
    for worker in ("w1", "w3"):
        with (logs / worker / "consumer.log").open("a") as log:
            log.write(LINE)
    (logs / "w2" / "consumer.log").unlink()
    (logs / "w3" / "consumer.log").rename(logs / "w3" / "consumer.log.1")
    (logs / "w3" / "consumer.log").write_text(LINE)
    (logs / "w4" / "consumer.log").rename(logs / "w4" / "consumer.log.1")
    assert said(logs / "w1") == ["grown: w1/consumer.log"]
    assert said(logs) == ["grown: w3/consumer.log, now w3/consumer.log.1", "gone: w2/consumer.log; its rows are kept"]
    before = hashlib.sha256((logs / "w1" / "consumer.log").read_bytes()).hexdigest()
    (logs / "w1" / "consumer.log").write_text(LINE.replace("07:51", "08:51"))
    assert said(logs) == [f"gone: w1/consumer.log@{before[:8]}; its rows are kept", "gone: w2/consumer.log; its rows are kept"]
    assert said(logs / "w3") == []


def test_records_without_a_logger_are_counted_and_what_that_means_is_said(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    for name, more in (("a", "2026-11-21 07:51:25.001 (Re-)joining group\n" * 2), ("b", "")):
        (logs / name).mkdir(parents=True)
        (logs / name / "consumer.log").write_text(LINE.replace("clientId=c", f"clientId={name}") * 60 + more)
    said = ingest(logs, "--case", tmp_path / "case", "--no-views").stderr
    assert 'layout of a/consumer.log: "kafka" and "time only"\n' in said
    assert "2 of 62 records of a/consumer.log show no logger: such a record is recognised by its message alone, so events may be missed.\n" in said
    assert "of b/consumer.log show" not in said
    # Clients of librdkafka name no logger, and are known by their words.
    (logs / "c.log").write_text(
        '%7|1589661585.753|JOIN|rdkafka#consumer-1| [thrd:main]: 10.0.0.1:9094/0: Joining group "a" with 1 subscribed topic(s)\n' * 9
    )
    assert "no logger" not in ingest(logs / "c.log", "--case", tmp_path / "case", "--no-views").stderr
