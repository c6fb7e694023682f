"""A case in S3 is worked on as one on disk is: whole or not at all, by one writer, and never taken for what it is not."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from places import SAMPLES
from stores import BUCKET, Store, running
from typer.testing import CliRunner, Result

from forensics import api
from forensics.case import cache, remote, seals
from forensics.case.folder import open_case
from forensics.case.ingestion import ingest
from forensics.catalogue.patterns import load
from forensics.catalogue.recogniser import Recogniser
from forensics.cli import app
from forensics.errors import CaseError, ForensicsError, UsageError
from forensics.evidence.objects import S3Path, place
from forensics.extract.local_reading import read_partition
from forensics.extract.reading import Tools
from forensics.extract.row_builder import Schemas
from forensics.extract.splits import plan
from forensics.inventory.inventory import find_evidence

SAMPLE = SAMPLES / "split-brain-frozen-worker-3.9.1" / "logs"
CASE = Path(f"s3a://{BUCKET}/cases/one")
TABLES = ("event_row", "counted_row", "unrecognised_row", "range_row")


@pytest.fixture(scope="module")
def only_store() -> Iterator[Store]:
    with running() as store:
        yield store


@pytest.fixture
def on(only_store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Switch to a machine by its name: none has the copies of another."""
    only_store.empty()
    for name, value in only_store.variables.items():
        monkeypatch.setenv(name, value)

    def go(machine: str) -> None:
        monkeypatch.setattr(cache.platformdirs, "user_cache_dir", lambda name: str(tmp_path / machine / name))

    go("first")
    return go


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    for worker in ("w1", "w2"):
        (tmp_path / "logs" / worker).mkdir(parents=True)
        lines = (SAMPLE / worker / "connect.log").read_bytes().splitlines(keepends=True)
        (tmp_path / "logs" / worker / "connect.log").write_bytes(b"".join(lines[-300:]))
    return tmp_path / "logs"


def told(*arguments: object) -> Result:
    return CliRunner().invoke(app, [*map(str, arguments)])


def rows(case: Path) -> dict[str, list[dict[str, object]]]:
    opened = open_case(case)
    found = {t: ds.dataset([ds.dataset(p, format="parquet") for p in opened.table_paths(t)]).to_table() for t in TABLES}
    return {t: sorted(table.to_pylist(), key=repr) for t, table in found.items()}


def names() -> set[str]:
    """Return the names of all objects of the case."""
    return {path.key.removeprefix("cases/one/") for path, _ in S3Path(BUCKET, "cases/one").listed()}


def test_a_case_in_s3_is_the_case_on_disk_on_every_machine(on: Callable[[str], None], logs: Path, tmp_path: Path) -> None:
    for case in (tmp_path / "here", CASE):
        for worker in ("w1", "w2", "w1"):  # what is known already changes nothing
            ingest([logs / worker], case, jobs=1)
    assert rows(CASE) == rows(tmp_path / "here")
    on("second")
    assert rows(CASE) == rows(tmp_path / "here")
    assert told("verify", CASE).exit_code == 0
    event = rows(CASE)["event_row"][0]
    shown = told("show", event["event_id"], "--case", CASE, "--no-pager")
    assert shown.exit_code == 0, shown.output
    assert str(event["path"]) in shown.output
    there = json.loads(S3Path(BUCKET, "cases/one/case.json").open().read())
    assert names() == {"case.json", *there["contents"]}
    assert there["root"] == f"s3a://{BUCKET}/cases/one"
    assert open_case(CASE).seal == seals.state(there) == seals.OWN


@pytest.mark.slow
@pytest.mark.engine
def test_views_that_one_machine_computed_are_read_on_another(on: Callable[[str], None], logs: Path, tmp_path: Path) -> None:
    for case in (tmp_path / "here", CASE):
        done = told("ingest", logs, "--case", case)
        assert done.exit_code == 0, done.output
    assert f"read into s3://{BUCKET}/cases/one" in done.output
    on("second")
    assert told("compare", tmp_path / "here", CASE, "--no-pager").exit_code == 0
    script = S3Path(BUCKET, "cases/one/open.sql").open().read().decode()
    steps = S3Path(BUCKET, "cases/one/steps.sql").open().read().decode()
    for text in (script, steps):
        assert f"(path 's3a://{BUCKET}/cases/one/views/" in text
        assert str(tmp_path) not in text
    assert str(open_case(CASE).root) in (open_case(CASE).root / "open.sql").read_text()


@pytest.mark.slow
@pytest.mark.engine
def test_views_that_a_report_computes_are_kept_in_the_store(on: Callable[[str], None], logs: Path) -> None:
    assert told("ingest", logs, "--case", CASE, "--no-views", "--jobs", 1).exit_code == 0
    assert not {name for name in names() if name.startswith("views/")}
    first = told("report", "--case", CASE, "--no-pager")
    assert first.exit_code == 0, first.output
    assert {name for name in names() if name.startswith("views/build-001/finding/")}
    on("second")
    assert not api.open_case(CASE).outdated
    assert told("report", "--case", CASE, "--no-pager").output == first.output


def test_a_case_that_somebody_sent_is_no_copy_of_one_in_s3(on: Callable[[str], None], logs: Path, tmp_path: Path) -> None:
    ingest([logs / "w1"], tmp_path / "case", jobs=1)
    (tmp_path / "url-of-case").write_text(str(place(CASE)))
    ingest([logs / "w2"], tmp_path / "case", jobs=1)
    assert names() == set()
    assert remote.Remote.of(tmp_path / "case") is None
    ingest([logs / "w1"], CASE, jobs=1)
    assert remote.Remote.of(open_case(CASE).root) is not None


def test_of_two_writers_one_is_refused_and_changes_nothing(on: Callable[[str], None], logs: Path) -> None:
    ingest([logs / "w1"], CASE, jobs=1)
    before = rows(CASE)
    S3Path(BUCKET, "cases/one/lock/theirs").write(b"other.host, process 7")
    on("second")
    with pytest.raises(CaseError) as raised:
        ingest([logs / "w2"], CASE, jobs=1)
    for word in ("Another ingest is writing", "other.host, process 7", "s3://evidence/cases/one/lock/theirs", "delete this object"):
        assert word in str(raised.value)
    assert rows(CASE) == before
    S3Path(BUCKET, "cases/one/lock/theirs").remove()
    assert len(ingest([logs / "w2"], CASE, jobs=1).added) == 1
    assert not {name for name in names() if name.startswith("lock")}


def test_never_do_two_writers_get_in_at_once(on: Callable[[str], None], tmp_path: Path) -> None:
    within: list[int] = []
    most: list[int] = []

    def write(number: int) -> None:
        try:
            with remote.Remote(S3Path(BUCKET, "cases/one"), tmp_path / str(number)).writing():
                within.append(number)
                most.append(len(within))
                within.remove(number)
        except CaseError as e:
            assert "Another ingest is writing" in str(e)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(12)))
    assert set(most) <= {1}
    assert names() == set()


@pytest.mark.slow
@pytest.mark.parametrize("step", ["rows", "manifest", "sql"])
def test_a_writer_that_dies_leaves_the_last_case_or_the_new_one(
    on: Callable[[str], None], logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    for case in (tmp_path / "old", CASE):
        assert told("ingest", logs / "w1", "--case", case, "--no-views", "--jobs", 1).exit_code == 0
    shutil.copytree(tmp_path / "old", tmp_path / "new")
    assert told("ingest", logs / "w2", "--case", tmp_path / "new", "--no-views", "--assume-skew", 7, "--jobs", 1).exit_code == 0
    dies = {"rows": "_put", "manifest": "_write", "sql": "_settle"}[step]
    real = getattr(remote.Remote, dies)

    def die(self: remote.Remote, *arguments: object) -> None:
        if step == "rows" or (step == "manifest" and arguments[0] == "case.json") or (step == "sql" and "views/" not in self._known):
            done.append(1)
        if (step == "sql" and len(done) == 2) or (step != "sql" and done):
            raise KeyboardInterrupt
        real(self, *arguments)

    done: list[int] = []
    with monkeypatch.context() as m:
        m.setattr(remote.Remote, dies, die)
        told("ingest", logs / "w2", "--case", CASE, "--no-views", "--assume-skew", 7, "--jobs", 1)
    assert done
    for machine in ("first", "second"):
        on(machine)
        expected = tmp_path / ("new" if step == "sql" else "old")
        assert rows(CASE) == rows(expected)
        assert open_case(CASE).thresholds == open_case(expected).thresholds
    again = told("ingest", logs / "w2", "--case", CASE, "--no-views", "--assume-skew", 7, "--jobs", 1)
    assert again.exit_code == 0, again.output
    assert rows(CASE) == rows(tmp_path / "new")
    assert names() == {"case.json", *json.loads(S3Path(BUCKET, "cases/one/case.json").open().read())["contents"]}


def test_an_object_that_was_changed_or_lost_is_said_to_be_damage(on: Callable[[str], None], logs: Path, only_store: Store) -> None:
    ingest([logs / "w1"], CASE, jobs=1)
    part = next(name for name in sorted(names()) if name.startswith("tables/event_row"))
    content = S3Path(BUCKET, f"cases/one/{part}").open().read()
    only_store.put(f"cases/one/{part}", content[:-9] + b"x" + content[-8:])
    assert "is damaged" in str(told("verify", CASE).exception)
    on("second")
    with pytest.raises(CaseError, match="damaged"):
        open_case(CASE)
    only_store.delete(f"cases/one/{part}")
    with pytest.raises(CaseError, match="is missing"):
        open_case(CASE)
    only_store.put(f"cases/one/{part}", content)
    assert rows(CASE)["event_row"]


@pytest.mark.slow
def test_a_copy_that_was_damaged_is_fetched_again(on: Callable[[str], None], logs: Path) -> None:
    ingest([logs / "w1"], CASE, jobs=1)
    before = rows(CASE)
    part = next((open_case(CASE).root / "tables" / "event_row").rglob("*.parquet"))
    part.write_bytes(part.read_bytes()[:-1] + b"x")
    assert rows(CASE) == before


def test_a_prefix_with_other_objects_is_left_alone(on: Callable[[str], None], logs: Path, only_store: Store) -> None:
    only_store.put("cases/one/tables/mine.csv", b"1,2\n")
    with pytest.raises(CaseError, match="has other objects in it"):
        ingest([logs / "w1"], CASE, jobs=1)
    assert names() == {"tables/mine.csv"}


def test_a_manifest_that_others_wrote_leads_nowhere_but_into_the_copy(
    on: Callable[[str], None], logs: Path, only_store: Store, tmp_path: Path
) -> None:
    ingest([logs / "w1"], CASE, jobs=1)
    manifest = json.loads(S3Path(BUCKET, "cases/one/case.json").open().read())
    manifest["contents"]["tables/../../../../stolen"] = {"bytes": 1, "sha256": hashlib.sha256(b"x").hexdigest()}
    only_store.put_oddly_named("cases/stolen", b"x")
    only_store.put("cases/one/case.json", json.dumps(manifest).encode())
    on("second")
    with pytest.raises(CaseError, match="damaged"):
        open_case(CASE)
    assert not list(tmp_path.rglob("stolen*"))


def test_a_case_below_the_logs_is_no_evidence(on: Callable[[str], None], logs: Path, only_store: Store) -> None:
    only_store.put_below(logs, "cases")
    for _ in range(2):
        summary = ingest([place(f"s3a://{BUCKET}/cases")], CASE, jobs=1)
    assert sorted({e.path for e in summary.evidence}) == ["w1/connect.log", "w2/connect.log"]


def test_executors_write_to_the_store_what_a_task_writes_to_disk(on: Callable[[str], None], logs: Path, tmp_path: Path) -> None:
    prefix = remote.Remote(S3Path(BUCKET, "cases/one"), tmp_path / "home").staging()
    catalogue, splits = load(), plan(find_evidence([logs]))
    tools = Tools(Recogniser(catalogue), Schemas.of(catalogue.fields.values()))
    here, there = (read_partition(splits[0], tools, target) for target in (tmp_path / "staged", prefix))
    case = remote.Remote(S3Path(BUCKET, "cases/one"), tmp_path / "home")
    case.fetch_from(prefix, [name for table, name, _ in there if table != "range_row"], tmp_path / "fetched")
    for (table, mine, _), (_, theirs, _) in zip(here, there, strict=True):
        if table != "range_row":
            assert pq.read_table(tmp_path / "fetched" / theirs).equals(pq.read_table(tmp_path / "staged" / mine)), table


def test_executors_see_a_file_of_the_copy_under_its_url(tmp_path: Path) -> None:
    case = remote.Remote(S3Path(BUCKET, "cases/one"), tmp_path)
    assert case.seen(str(case.copy / "tables" / "event_row")) == f"s3a://{BUCKET}/cases/one/tables/event_row"
    assert case.seen(str(case.copy) + "-other/x") == str(case.copy) + "-other/x"
    assert case.seen("/elsewhere") == "/elsewhere"


@pytest.mark.slow
def test_where_there_is_no_case_that_is_said(on: Callable[[str], None], monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CaseError, match="There is no case in `s3://evidence/cases/one`"):
        open_case(CASE)
    with pytest.raises(UsageError, match="cannot be written"):
        ingest([SAMPLE / "w1"], Path("s3a://no-such-bucket/case"), jobs=1)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    with pytest.raises(ForensicsError, match="does not answer"):
        open_case(CASE)
