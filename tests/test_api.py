"""The API of `import forensics`: views in three forms, reports in all formats, one tree of errors; heavy packages are imported only when needed."""

from __future__ import annotations

import inspect
import json
import shutil
import subprocess
import sys
from pathlib import Path

import made_case
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from places import SAMPLES
from some_views import only_views
from typer.testing import CliRunner

import forensics
from forensics import api, cli, errors
from forensics.errors import CaseError, ForensicsError, UsageError


@pytest.fixture(scope="module")
def case(tmp_path_factory) -> forensics.Case:
    return forensics.open_case(made_case.written(tmp_path_factory.mktemp("made") / "case").root)


def loaded(code: str) -> set[str]:
    """Return the heavy packages that a program has imported."""
    heavy = "('pyspark', 'pyarrow', 'pandas', 'numpy', 'jinja2', 'typer', 'regex', 'bokeh')"
    code += f"\nimport sys; print(' '.join(m for m in {heavy} if m in sys.modules))"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


def test_the_import_is_light() -> None:
    assert loaded("import forensics; forensics.open_case, forensics.ingest, forensics.Case, dir(forensics)") == set()


def test_a_stored_view_and_a_report_take_no_engine(case) -> None:
    code = f"import forensics\ncase = forensics.open_case({str(case.root)!r})\nassert case.view('ownership').num_rows\nassert case.report().text()"
    assert not loaded(code) & {"pyspark", "typer", "bokeh"}  # pandas, where it is, comes with pyarrow


def test_what_an_interpreter_prints_is_short(case) -> None:
    assert repr(case.report()).startswith("<forensics.Report of '")
    assert len(repr(case.report())) < 300


def test_errors_name_arguments_to_programs_and_options_to_users(case, monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(errors.SHELL, "reads", False)
    with pytest.raises(UsageError) as wrong:
        case.report(since="yesterday")
    assert "--> since" in str(wrong.value)
    with pytest.raises(CaseError) as missing:
        forensics.open_case(tmp_path / "none")
    assert "forensics.ingest(" in str(missing.value)
    with pytest.raises(UsageError) as reverse:
        case.report(since="07:53", until="07:52")
    assert str(reverse.value).startswith("`since` (")
    assert "`until`" in str(reverse.value)
    with pytest.raises(UsageError) as nobody:
        case.show("nobody:7")
    assert "--> wanted" in str(nobody.value)
    # An option of another tool is none of ours.
    assert "kafka-topics --describe" in str(UsageError("x", fix="Run kafka-topics --describe."))
    with pytest.raises(UsageError, match="path"):
        forensics.ingest(None, tmp_path / "case")
    monkeypatch.setattr(errors.SHELL, "reads", True)
    assert "--> --since" in str(wrong.value)
    assert "forensics ingest PATH" in str(missing.value)


def test_options_in_errors_are_arguments_of_the_library() -> None:
    asked = (forensics.ingest, forensics.open_case, forensics.Case, forensics.Report)
    calls = [f for thing in asked for f in (vars(thing).values() if isinstance(thing, type) else (thing,)) if inspect.isfunction(f)]
    known = {name for call in calls for name in inspect.signature(call).parameters}
    assert {(argument or option).partition("=")[0] for option, argument in errors._ARGUMENTS.items()} - known <= {"case"}
    assert set(errors._POSITIONAL.values()) <= known


def test_names_that_are_offered_are_there_and_others_are_not() -> None:
    assert set(forensics.__all__) <= set(dir(forensics))
    for name in forensics.__all__:
        assert getattr(forensics, name).__doc__, name
    with pytest.raises(AttributeError, match="nothing"):
        _ = forensics.nothing
    # The function, also when rooms have been imported that could take its name.
    assert callable(forensics.ingest)


def test_a_view_is_a_table_of_all_its_rows(case) -> None:
    rows = case.view("ownership")
    assert isinstance(rows, pa.Table)
    kept = pq.read_table(case.folder.view_path("ownership"))
    assert rows.select(sorted(rows.column_names)).equals(kept.select(sorted(kept.column_names)))
    assert "ownership" in case.views
    assert "split-brain-task" in case.views


def test_a_case_is_asked_as_the_commands_are(case) -> None:
    rows = case.sql("SELECT process_id, role FROM process ORDER BY process_id")
    assert [r["process_id"] for r in rows] == sorted(case.view("process")["process_id"].to_pylist())
    assert rows._repr_html_().startswith("<table><thead><tr><th>process_id</th><th>role</th>")
    assert case.incidents == case.report().model.incidents
    assert case.findings._repr_html_().startswith("<table><thead><tr>")
    assert case.findings == case.report().findings
    assert case.view("process", "rows") == case.view("process").to_pylist()
    assert "<table>" in case.view("process", "rows")._repr_html_()
    assert case.report()._repr_html_().startswith("<pre>")
    drawn = case.timeline("connect-cluster")
    assert "connect-cluster" in drawn
    assert drawn._repr_html_().startswith("<pre>")
    with pytest.raises(UsageError, match="not an ID, a time or a generation"):
        case.show("nobody:7")


def test_errors_of_a_statement_name_the_argument(case, monkeypatch) -> None:
    monkeypatch.setattr(errors.SHELL, "reads", False)
    with pytest.raises(UsageError) as wrong:
        case.sql("  ")
    assert "-e" not in str(wrong.value)
    assert "statement" in str(wrong.value)


@pytest.mark.parametrize("statement", ["drop view finding", "SELECT 1; DELETE FROM finding", "-- all\nTRUNCATE TABLE finding"])
def test_a_statement_that_changes_a_case_is_refused(case, statement) -> None:
    with pytest.raises(UsageError, match=r"a query only reads a case\.[\s\S]*Use SELECT[\s\S]*unrestricted"):
        case.sql(statement)


def test_a_view_is_a_pandas_frame(case) -> None:
    pytest.importorskip("pandas")
    frame = case.view("ownership", "pandas")
    assert len(frame) == case.view("ownership").num_rows
    assert list(frame.columns) == case.view("ownership").column_names


def test_without_pandas_it_is_said_what_to_do(case, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ForensicsError, match="pandas is not installed") as raised:
        case.view("ownership", "pandas")
    assert "arrow" in raised.value.fix


def test_wrong_names_are_answered_with_the_nearest(case) -> None:
    with pytest.raises(UsageError, match="Did you mean `ownership`"):
        case.view("ownershp")
    with pytest.raises(UsageError, match="arrow, pandas, rows, spark"):
        case.view("ownership", "polars")
    with pytest.raises(UsageError, match="Did you mean `clock-skew`"):
        case.report(rules=["clock-skw"])
    with pytest.raises(UsageError, match="no group"):
        case.report(groups=["nobody"])
    with pytest.raises(UsageError, match="time zone"):
        case.report(tz="Mars/Olympus")
    with pytest.raises(UsageError, match="no format"):
        case.report().render("pdf")
    with pytest.raises(CaseError, match="no case"):
        forensics.open_case(case.root / "nowhere")
    with pytest.raises(UsageError, match="no file or folder"):
        forensics.ingest(case.root / "nowhere", case.root.parent / "other", engine="sail")
    with pytest.raises(UsageError, match="no engine"):
        forensics.open_case(case.root, engine="duck")


def test_findings_have_the_keys_that_their_type_promises(case) -> None:
    found = case.findings
    assert found == case.report().findings
    assert found
    schema = json.loads((Path(forensics.__file__).parent / "report-schema.json").read_text(encoding="utf-8"))
    promised = set(forensics.Finding.__annotations__)
    assert set(schema["$defs"]["finding"]["required"]) <= promised <= set(schema["$defs"]["finding"]["properties"])
    lines = [line for f in found for line in f["witness"]]
    assert lines
    assert {key for line in lines for key in line} <= set(forensics.ProofLine.__annotations__)


def test_every_form_is_what_the_command_prints(case) -> None:
    told = case.report(groups=["connect-cluster"], since="10:00")
    asked = ["report", "--case", str(case.root), "--group", "connect-cluster", "--since", "10:00"]
    for form in (api.ReportFormat.markdown, api.ReportFormat.json, api.ReportFormat.text):
        printed = CliRunner().invoke(cli.app, [*asked, "--format", form], env={"COLUMNS": ""})
        assert printed.exit_code == 0, printed.output
        if form is not api.ReportFormat.text:  # its width is the terminal's
            # A command also names the case.
            assert printed.stdout.replace(f" --case {case.root}`", "`") == told.render(form), form
    assert json.loads(told.json())["case"]["filters"]["groups"] == ["connect-cluster"]
    assert "What was not seen" in told.text(full=True)
    assert max(map(len, told.text(width=60).splitlines())) < max(map(len, told.text(width=160).splitlines()))
    assert len(case.report().text(all_lines=True)) >= len(case.report().text())


def test_times_are_told_in_the_reader_s_zone(case) -> None:
    assert "+05:30" in case.report(tz="+05:30").text()
    assert case.report(tz="+05:30", since="15:30").model.filters["since"] == case.report(since="10:00").model.filters["since"]


LOGS = SAMPLES / "session-timeouts-consumers-3.9.1" / "logs"


def test_ingest_without_views_leaves_them_to_the_first_question(tmp_path) -> None:
    told: list[str] = []
    done = forensics.ingest(LOGS, tmp_path / "case", views=False, jobs=1, progress=lambda step, *_: told.append(step))
    assert done.faults == []
    assert done.counts["lines"] > 1000
    assert done.case.outdated == "none"
    assert told.count("looking") and "reading" in told
    assert repr(done.case) == f"forensics.Case({str((tmp_path / 'case').resolve())!r})"


def test_what_cannot_be_read_is_a_fault(tmp_path) -> None:
    (tmp_path / "broken.log.gz").write_bytes(b"\x1f\x8b\x08 not gzip at all")
    done = forensics.ingest([tmp_path / "broken.log.gz", LOGS / "c1"], tmp_path / "case", views=False, jobs=1)
    assert [path for path, _ in done.faults] == ["broken.log.gz"]


@pytest.mark.engine
def test_an_ingest_gives_a_case_with_its_views(tmp_path) -> None:
    with only_views(["source_file"]):
        case = forensics.ingest(str(LOGS), str(tmp_path / "case")).case
    assert case.outdated is None
    assert case.view("source_file").num_rows == len(list(LOGS.rglob("*.log")))


@pytest.mark.engine
def test_a_case_of_a_sample_as_findings_and_frames(sample_case, tmp_path) -> None:
    """Frames of both kinds of views come with an engine."""
    shutil.copytree(sample_case(LOGS.parent.name).root, tmp_path / "case")
    case = forensics.open_case(tmp_path / "case")
    assert {f["rule"] for f in case.findings} >= {"session-timeout"}
    assert "<!doctype html>" in case.report().render("html").lower()[:40]
    frame = case.view("finding", "spark")
    assert {row["finding_id"] for row in frame.select("finding_id").collect()} == {f["finding_id"] for f in case.findings}
    assert frame.columns == case.view("finding").column_names
    assert case.view("event").num_rows == case.view("event", "spark").count() > 100
    again = forensics.open_case(tmp_path / "case", assume_skew_ms=5)
    assert again.outdated == "thresholds"
    with only_views(["source_file"]):
        again.compute_views()
    assert forensics.open_case(tmp_path / "case").folder.thresholds == {"assume_skew_ms": 5}
