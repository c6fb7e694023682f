"""Engines: chosen by name, clear when they are not there, and every row of every view the same on each."""

from __future__ import annotations

import csv
import io
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import made_case
import offset_logs
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from conftest import ANY
from places import FIELD, SAMPLES
from some_views import only_views

from forensics.case import materialise, view_files
from forensics.case.folder import Case
from forensics.case.ingestion import ingest
from forensics.engines import SAIL, engine, quicker
from forensics.engines.base import Engine
from forensics.engines.paths import as_url, quoted, unquoted
from forensics.engines.rows import types_of
from forensics.engines.sail_sql import Variables, to_sail
from forensics.engines.spark import Spark
from forensics.engines.spark_session import check_s3a
from forensics.errors import ForensicsError, UsageError

RECORDINGS = Path(os.environ.get("FORENSICS_RECORDINGS", "/nonexistent"))
needs_sail = pytest.mark.skipif(find_spec("pysail") is None, reason="pysail is not installed: pip install -e '.[dev,sail]' compares both engines")


# --- without an engine


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ("SELECT 'it''s', \"a\"\"b\", 'x\\'y'", "SELECT 'it\\'s', \"a\\\"b\", 'x\\'y'"),
        (r"SELECT '\''''", r"SELECT '\'\''"),
        (
            "SELECT gap_ms, x.gap_ms, `gap_ms`, gap_ms(1), 'gap_ms', gap_ms2",
            "SELECT CAST(7 AS BIGINT), x.gap_ms, `gap_ms`, gap_ms(1), 'gap_ms', gap_ms2",
        ),
        ("WHERE a > GAP_MS -- not gap_ms\nAND b", "WHERE a > CAST(7 AS BIGINT) " + " " * len("-- not gap_ms") + "\nAND b"),
        (
            "FROM parquet.`/a \\[1\\]/b``c`",
            "FROM (SELECT __file.* FROM parquet.`file:///a%20%5B1%5D/b%60c` AS __file LATERAL VIEW explode(array(1)) AS __one)",
        ),
        ("SELECT '-- no comment', '/* nor this */' /* but this */", "SELECT '-- no comment', '/* nor this */' " + " " * len("/* but this */")),
        (
            "SELECT size(collect_set(f(a, ')')) FILTER (WHERE (b))), collect_set(a) OVER w, 'collect_set(a)'",
            "SELECT size(array_distinct(collect_list(f(a, ')')) FILTER (WHERE (b)))), collect_set(a) OVER w, 'collect_set(a)'",
        ),
        (
            "max(struct(a, f(b))) FILTER (WHERE c), max(struct(a)) OVER (w)",
            "max_by(struct(a, f(b)), struct(a, f(b))) FILTER (WHERE c), max(struct(a)) OVER (w)",
        ),
    ],
)
def test_statements_are_put_into_sails_words(given: str, sent: str) -> None:
    assert to_sail(given, {"gap_ms": "CAST(7 AS BIGINT)"}) == sent


def test_variables_are_declared_and_set() -> None:
    variables = Variables()
    for statement in view_files.statements(view_files.thresholds_sql({"assume_skew_ms": 5})):
        assert variables.take(statement)
    assert variables.texts()["assume_skew_ms"] == "CAST(5 AS BIGINT)"
    assert variables.take("SET VAR Gap_Ms = 1 + 1")
    assert variables.texts()["gap_ms"] == "CAST(1 + 1 AS BIGINT)"
    assert not variables.take("SET VAR nothing = 1")
    assert not variables.take("SELECT 1")


@pytest.mark.parametrize("path", ["/plain/x", "/a b/c", "/a[1]{2}*?/`x`/ä%20\\y"])
def test_paths_come_back_from_sql(path: str) -> None:
    assert unquoted(quoted(path)) == path
    assert set("[]{}*?") & set(as_url(path)) == set()


def test_what_cannot_be_chosen_is_said(monkeypatch) -> None:
    with pytest.raises(UsageError, match="no engine `duckdb`") as e:
        engine("duckdb")
    assert "spark, sail" in e.value.fix
    monkeypatch.setenv("FORENSICS_ENGINE", "nothing")
    with pytest.raises(UsageError) as e:
        engine()
    assert e.value.where == "FORENSICS_ENGINE"
    with pytest.raises(UsageError) as e:
        engine("sail", master="spark://somewhere:7077")
    assert e.value.where == "--master"


@needs_sail
def test_the_quicker_engine_is_named_only_to_users_of_spark_on_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FORENSICS_ENGINE", raising=False)
    assert [quicker(), quicker("spark"), quicker("sail"), quicker(master="spark://somewhere:7077")] == ["sail", "sail", "", ""]
    monkeypatch.setitem(sys.modules, "pysail", None)
    assert quicker() == ""


def run(code: str, *args: object) -> subprocess.CompletedProcess[str]:
    """The command line in a process of its own, after some Python."""
    main = "\nfrom forensics.cli import main\nsys.argv[0] = 'forensics'\nmain()"
    return subprocess.run([sys.executable, "-c", f"import sys\n{code}{main}", *map(str, args)], capture_output=True, text=True, check=False)


def test_without_pysail_it_is_said_what_to_install(tmp_path: Path) -> None:
    case = made_case.written(tmp_path / "case").root
    done = run("sys.modules['pysail'] = None", "sql", "-e", "SELECT count(*) FROM finding", "--engine", "sail", "--case", case)
    assert done.returncode == 4, done.stderr
    assert "The engine `sail` is not installed." in done.stderr
    assert "pip install '.[sail]'" in done.stderr
    assert "Traceback" not in done.stderr


@needs_sail
def test_a_pyspark_that_pysail_does_not_know_is_said(tmp_path: Path) -> None:
    case = made_case.written(tmp_path / "case").root
    code = "import pyspark\npyspark.__version__ = '4.99.0'"
    done = run(code, "sql", "-e", "SELECT count(*) FROM finding", "--engine", "sail", "--case", case)
    assert done.returncode == 4, done.stderr
    assert "The engine `sail` does not start." in done.stderr
    assert "PySpark 4.99.0" in done.stderr
    assert "pip install '.[sail]'" in done.stderr


@needs_sail
def test_a_query_runs_on_sail_without_java_over_a_case_at_any_path(tmp_path: Path) -> None:
    case = made_case.written(tmp_path / "a [1]*{x}?'s" / "case").root
    code = "import os\nos.environ['JAVA_HOME'] = '/nonexistent'"
    own = "SELECT verdict, count(*) AS n, 'it''s' AS text, max(from_lo) AS at FROM split_brain WHERE clock_skew_ms > 5 GROUP BY verdict ORDER BY verdict"
    done = run(code, "sql", "-e", own, "--format", "csv", "--engine", "sail", "--case", case)
    assert done.returncode == 0, done.stderr
    assert list(csv.DictReader(io.StringIO(done.stdout))) == [
        {"verdict": "proved", "n": "1", "text": "it's", "at": "2026-03-01 10:01:00"},
        {"verdict": "refuted", "n": "1", "text": "it's", "at": "2026-03-01 10:01:00"},
        {"verdict": "undecided", "n": "1", "text": "it's", "at": ""},
    ]
    wrong = run(code, "sql", "-e", "SELECT nothing FROM nowhere", "--engine", "sail", "--case", case)
    assert wrong.returncode == 2
    assert "nowhere" in wrong.stderr


# --- both engines


@pytest.fixture(scope="module")
def engines() -> Iterator[tuple[Engine, Engine]]:
    yield engine("spark", jobs=2, little=True), engine("sail", jobs=2)


def tables_of(path: Path) -> dict[str, pa.Table]:
    return {folder.name: ds.dataset(str(folder), format="parquet").to_table() for folder in sorted(path.iterdir())}


def columns(table: pa.Table) -> list[str]:
    """Return names and types; nullability differs between engines."""
    return [f"{field.name}: {field.type}".replace(" not null", "") for field in table.schema]


def plain_rows(table: pa.Table) -> list[str]:
    return sorted(map(repr, table.to_pylist()))


def differences(case: Case, engines: tuple[Engine, Engine], folder: Path, *, small: bool = True) -> list[str]:
    """Views of which the engines give other columns, types or rows."""
    first, second = (tables_of_built(case, e, folder / e.name, small=small) for e in engines)
    assert first.keys() == second.keys()
    found = []
    for name, table in first.items():
        other = second[name]
        if (kinds := columns(table)) != (others := columns(other)):
            found.append(f"{name}: {kinds} is not {others}")
        elif (mine := plain_rows(table)) != (others := plain_rows(other)):
            found.append(f"{name}: {sorted(set(mine) - set(others))[:2]} is not {sorted(set(others) - set(mine))[:2]}")
    return found


def tables_of_built(case: Case, on: Engine, folder: Path, *, small: bool) -> dict[str, pa.Table]:
    materialise.build(on, case.tables(), folder, small=small)
    return tables_of(folder)


@needs_sail
@pytest.mark.whole
@pytest.mark.spark
def test_rows_of_small_inputs_are_the_same(engines, tmp_path: Path) -> None:
    """All samples in one case, and the inputs of ownership and of offsets: Spark plans each view once."""
    inputs = ("03-kip848-broker.log", "04-kip848-client-38.log", "05b-share-two", "15-kip848-goes-on.log")
    offset_logs.write(tmp_path / "offsets")
    case = ingest([*(FIELD / name for name in inputs), tmp_path / "offsets"], tmp_path / "case").case
    of_offsets = ("affected_range", "produced_range", "rule_offset_reset", "rule_source_rewound", "rule_hanging_transaction", "rule_growing_lag")
    with only_views(("ownership", "member_generation", *of_offsets)):
        assert differences(case, engines, tmp_path) == []


@needs_sail
@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("sample", sorted(p.name for p in SAMPLES.iterdir() if (p / "logs").is_dir()))
def test_every_row_of_every_view_of_a_sample_is_the_same(sample: str, engines, tmp_path: Path) -> None:
    case = ingest([SAMPLES / sample], tmp_path / "case").case
    assert differences(case, engines, tmp_path) == []


@needs_sail
@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("given", sorted(p.name for p in FIELD.iterdir()))
def test_every_row_of_every_view_of_a_field_input_is_the_same(given: str, engines, tmp_path: Path) -> None:
    case = ingest([FIELD / given], tmp_path / "case").case
    assert differences(case, engines, tmp_path) == []


@needs_sail
@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("recording", sorted(p.name for p in RECORDINGS.iterdir()) if RECORDINGS.is_dir() else [])
def test_every_row_of_every_view_of_a_recording_is_the_same(recording: str, engines, tmp_path: Path) -> None:
    case = ingest([RECORDINGS / recording], tmp_path / "case").case
    assert differences(case, engines, tmp_path) == []


@needs_sail
@pytest.mark.slow
@pytest.mark.spark
def test_a_large_case_has_the_same_rows(engines, tmp_path: Path) -> None:
    """Rows that do not pass through this process."""
    case = ingest([SAMPLES / "split-brain-frozen-worker-3.9.1"], tmp_path / "case").case
    assert differences(case, engines, tmp_path, small=False) == []


@pytest.mark.engine
def test_a_field_of_a_struct_that_is_null_is_null(any_engine, tmp_path: Path) -> None:
    step = pa.struct([("by_ms", pa.int64())])
    values: list[dict[str, int] | None] = [None, {"by_ms": 5}]
    table = pa.table({"step": pa.array(values, step), "of": pa.array([{"step": value} for value in values], pa.struct([("step", step)]))})
    (tmp_path / "stepped").mkdir()
    pq.write_table(table, tmp_path / "stepped" / "part-0.parquet")
    any_engine.know("stepped", tmp_path / "stepped", types_of(table.schema))
    rows, _ = any_engine.collected(any_engine.query("SELECT step.by_ms AS by_ms, of.step.by_ms AS inner_ms FROM stepped"))
    assert sorted(rows.column("by_ms").to_pylist(), key=str) == sorted(rows.column("inner_ms").to_pylist(), key=str) == [5, None]


@pytest.mark.engine
@pytest.mark.skipif(ANY != SAIL, reason="of Sail's client")
def test_a_garbled_answer_is_asked_for_again(any_engine, monkeypatch):
    """Once: what gRPC says when it cannot read an answer."""
    import grpc

    class Garbled(grpc.RpcError):
        def code(self) -> grpc.StatusCode:
            return grpc.StatusCode.INTERNAL

        def trailing_metadata(self) -> tuple[()]:
            return ()

        def __str__(self) -> str:
            return 'StatusCode.INTERNAL, details = "Exception deserializing response!"'

    client = any_engine.session.client
    answer, asked = client._stub.AnalyzePlan, []

    def once_garbled(*args: object, **named: object) -> object:
        asked.append(1)
        if len(asked) == 1:
            raise Garbled
        return answer(*args, **named)

    monkeypatch.setattr(client._stub, "AnalyzePlan", once_garbled)
    assert any_engine.session.sql("SELECT 1 AS one").columns == ["one"]
    assert len(asked) == 2


@pytest.mark.spark
def test_a_spark_that_cannot_read_s3_is_told_what_to_add(spark) -> None:
    with pytest.raises(ForensicsError) as raised:
        check_s3a(spark)
    assert "spark.jars.packages org.apache.hadoop:hadoop-aws:3." in str(raised.value)


@pytest.mark.spark
def test_spark_reads_a_copy_where_executors_see_it(spark, tmp_path: Path) -> None:
    """As for a case in S3, whose files have other paths for executors than on this machine."""

    class Elsewhere:
        def seen(self, path: str) -> str:
            return path.replace("/here/", "/there/")

        def fetch(self, folder: Path) -> None:
            fetched.append(folder)

    fetched: list[Path] = []
    runs = Spark()
    assert runs.session is spark
    runs.elsewhere = Elsewhere()
    (tmp_path / "there").mkdir()
    rows, kept = spark.sql("SELECT 7 AS n"), tmp_path / "here" / "k`ept"
    runs.keep_rows(rows, kept)
    runs.know("kept", kept, rows.schema)
    assert fetched == [tmp_path / "here" / "k`ept"]
    assert runs.sql("SELECT n FROM kept").first()[0] == 7
    assert runs.sql(f"SELECT n FROM parquet.`{quoted(str(tmp_path / 'here' / 'k`ept'))}`").first()[0] == 7
    assert not (tmp_path / "here").exists()
