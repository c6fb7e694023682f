"""Logs in a store of objects are read as if they lay on disk: the same rows, the same care, and clear words when the store says no."""

from __future__ import annotations

import gzip
import re
import shutil
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from places import SAMPLES
from reading import read
from stores import BUCKET, Store, running
from typer.testing import CliRunner, Result

from forensics.case import cache
from forensics.case.ingestion import Summary, ingest
from forensics.cli import app
from forensics.errors import ForensicsError, UsageError
from forensics.evidence.objects import S3Path, place
from forensics.inventory.evidence import Evidence
from forensics.inventory.source_options import SourceOptions

SAMPLE = SAMPLES / "split-brain-frozen-worker-3.9.1" / "logs"
LOGS = f"s3a://{BUCKET}/logs"
#: Lines of an object are read in splits of this number of bytes, which begin anywhere.
RANGE = 30_001


@pytest.fixture(scope="module")
def only_store() -> Iterator[Store]:
    with running() as store:
        yield store


@pytest.fixture
def store(only_store: Store, monkeypatch: pytest.MonkeyPatch) -> Store:
    only_store.empty()
    for name, value in only_store.variables.items():
        monkeypatch.setenv(name, value)
    return only_store


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """Logs of three workers: one rotated, with its older half in gzip; one in a zip archive; one unchanged, in a folder with a name in another alphabet."""
    folder = tmp_path / "logs"
    w1, w2, w3 = ((SAMPLE / worker / "connect.log").read_bytes() for worker in ("w1", "w2", "w3"))
    half = w1.index(b"\n[", len(w1) // 2) + 1
    for name in ("w1", "bundles", "w3 ü"):
        (folder / name).mkdir(parents=True)
    (folder / "w1" / "connect.log").write_bytes(w1[half:])
    (folder / "w1" / "connect.log.1.gz").write_bytes(gzip.compress(w1[:half]))
    with zipfile.ZipFile(folder / "bundles" / "of-w2.zip", "w", zipfile.ZIP_DEFLATED) as bundle:
        bundle.writestr("w2/connect.log", w2)
    (folder / "w3 ü" / "connect.log").write_bytes(w3)
    (folder / "notes.bin").write_bytes(bytes(range(256)) * 8)
    return folder


def told(*arguments: object) -> Result:
    return CliRunner().invoke(app, [*map(str, arguments)], env={"COLUMNS": "200"})


def without_place(evidence: list[Evidence]) -> list[tuple[object, ...]]:
    return [(e.path, e.below, e.place.member, e.status, e.note, e.fingerprint, e.text, e.times, e.origin) for e in evidence]


def test_an_object_has_one_name_however_it_is_called() -> None:
    assert {str(S3Path.parse(url)) for url in ("s3://b/a/x.log", "s3a://b/a/x.log", "s3n://b/a/x.log", str(Path("s3a://b/a/x.log")))} == {
        "s3://b/a/x.log"
    }
    assert str(S3Path.parse("s3a://b/")) == "s3://b"
    assert place("s3") == Path("s3")
    assert place("/logs/s3:/x") == Path("/logs/s3:/x")
    assert SourceOptions.parse(time_zones=["s3a://b/w2/*=+02:00"]).time_zone("w2/x.log", "s3://b/w2/x.log") == "+02:00"


def test_logs_in_a_store_give_the_rows_of_the_same_logs_on_disk(store: Store, logs: Path) -> None:
    store.put_below(logs, "logs")
    here, there = read([logs], range_bytes=RANGE), read([place(LOGS)], range_bytes=RANGE)
    assert len([r for r in there.ranges if r["path"] == "w3 ü/connect.log"]) > 3
    assert without_place(there.evidence) == without_place(here.evidence)
    assert {e.place.location for e in there.evidence} >= {f"s3://{BUCKET}/logs/w1/connect.log", f"s3://{BUCKET}/logs/w3 ü/connect.log"}
    for rows in ("events", "counted", "unrecognised", "ranges"):
        assert getattr(there, rows) == getattr(here, rows)
    assert {e["process_id"] for e in there.events} >= {"w1/connect.log", "bundles/of-w2.zip/w2/connect.log", "w3 ü/connect.log"}


@pytest.mark.slow
def test_one_object_is_named_as_one_file_is(store: Store, logs: Path) -> None:
    store.put_below(logs, "logs")
    here, there = read([logs / "w1" / "connect.log.1.gz"]), read([place(f"{LOGS}/w1/connect.log.1.gz")])
    assert there.events == here.events
    assert [e.path for e in there.evidence] == ["connect.log.1.gz"]


@pytest.mark.slow
def test_an_object_below_two_prefixes_is_read_once(store: Store, logs: Path) -> None:
    store.put_below(logs, "logs")
    both = read([place(LOGS), place(f"{LOGS}/w1"), place(f"s3://{BUCKET}/logs/w1/connect.log")])
    assert without_place(both.evidence) == without_place(read([place(LOGS)]).evidence)


@pytest.mark.slow
def test_lines_behind_an_id_and_the_hashes_of_the_evidence_come_from_the_store(store: Store, logs: Path, tmp_path: Path) -> None:
    store.put_below(logs, "logs")
    done = told("ingest", LOGS, "--case", tmp_path / "case", "--no-views", "--jobs", 1)
    assert done.exit_code == 0, done.output
    event = read([logs / "w1"]).events[0]
    shown = told("show", event["event_id"], "--case", tmp_path / "case", "--context", 0, "--no-pager")
    assert f"s3://{BUCKET}/logs/w1/connect.log.1.gz" in shown.output
    assert (SAMPLE / "w1" / "connect.log").read_text().splitlines()[event["line"] - 1] in shown.output
    assert told("verify", tmp_path / "case").exit_code == 0
    store.put("logs/w1/connect.log", b"other bytes\n")
    store.delete("logs/bundles/of-w2.zip")
    doubtful = told("verify", tmp_path / "case")
    assert doubtful.exit_code == 3
    assert re.search(r"w1/connect\.log +changed", doubtful.output)
    assert re.search(r"of-w2\.zip/w2/connect\.log +no longer there", doubtful.output)


@pytest.mark.slow
def test_a_log_that_grew_in_the_store_is_read_again_and_what_did_not_is_not(store: Store, logs: Path, tmp_path: Path) -> None:
    store.put_below(logs, "logs")
    log = (logs / "w3 ü" / "connect.log").read_bytes()
    store.put("logs/w3 ü/connect.log", log[: log.index(b"\n[", len(log) // 3) + 1])
    ingest([place(LOGS)], tmp_path / "case", jobs=1)
    assert ingest([place(LOGS)], tmp_path / "case", jobs=1).added == []
    store.put_below(logs, "logs")
    assert [e.path for e in ingest([place(LOGS)], tmp_path / "case", jobs=1).added] == ["w3 ü/connect.log"]


def replaced(store: Store) -> None:
    store.put("logs/w1/connect.log", (SAMPLE / "w1" / "connect.log").read_bytes().replace(b"2026", b"2025"))


def gone(store: Store) -> None:
    store.delete("logs/w1/connect.log")


def cut(store: Store) -> None:
    store.put("logs/w1/connect.log", (SAMPLE / "w1" / "connect.log").read_bytes()[:5000])


@pytest.mark.parametrize("change", [replaced, gone, pytest.param(cut, marks=pytest.mark.slow)])
@pytest.mark.parametrize("step", [pytest.param("looking", marks=pytest.mark.slow), "reading"])
def test_an_object_that_changes_while_it_is_read_is_told(store: Store, tmp_path: Path, change: Callable[[Store], None], step: str) -> None:
    for worker in ("w1", "w2"):
        store.put(f"logs/{worker}/connect.log", (SAMPLE / worker / "connect.log").read_bytes())
    done: list[str] = []

    def meddle(now: str, _: int, __: int) -> None:
        if now == step and not done:
            done.append(now)
            change(store)

    summary: Summary = ingest([place(LOGS)], tmp_path / "case", jobs=1, progress=meddle)
    faults = dict(summary.faults)
    assert [*faults] == ["w1/connect.log"]
    assert "changed while it was read" in faults["w1/connect.log"] or "no such object" in faults["w1/connect.log"]
    assert summary.read["w2/connect.log"].records.total() > 100


def test_an_object_that_cannot_be_read_is_named_and_the_others_are_read(store: Store, logs: Path, tmp_path: Path) -> None:
    store.put_below(logs, "logs")
    store.put_oddly_named("logs/w9//connect.log", b"line\n")
    done = told("ingest", LOGS, "--case", tmp_path / "case", "--no-views", "--jobs", 1)
    assert done.exit_code == 3
    assert "w9//connect.log" in done.output
    assert "4 files read" in done.output


def test_the_same_objects_have_the_same_case_until_they_change(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache.platformdirs, "user_cache_dir", lambda name: str(tmp_path / "cache" / name))
    store.put("logs/w1/connect.log", b"one\n")
    first = cache.case_folder([place(LOGS)])
    assert cache.case_folder([place(f"s3://{BUCKET}/logs/")]) == first
    store.put("logs/w1/connect.log", b"two\n")
    assert cache.case_folder([place(LOGS)]) != first


@pytest.mark.slow
def test_redacted_logs_of_a_store_are_those_of_the_same_logs_on_disk(store: Store, tmp_path: Path) -> None:
    shutil.copytree(SAMPLE / "w1", tmp_path / "logs" / "w1")
    store.put_below(tmp_path / "logs", "logs")
    for source, target in ((tmp_path / "logs", "here"), (LOGS, "there")):
        done = told("redact", source, tmp_path / target, "--mapping", tmp_path / "mapping.json")
        assert done.exit_code == 0, done.output
    there, here = (sorted(f.relative_to(tmp_path / t) for f in (tmp_path / t).rglob("*.log")) for t in ("there", "here"))
    assert there == here != []
    assert (tmp_path / "there" / there[0]).read_bytes() == (tmp_path / "here" / here[0]).read_bytes()


@pytest.mark.parametrize(
    ("url", "code", "words"),
    [
        (f"s3a://{BUCKET}/nothing", 2, ("There is no object `s3://evidence/nothing`, and none below it.",)),
        ("s3a://no-such-bucket/logs", 2, ("There is no bucket `no-such-bucket`.", "for a store other than")),
        (f"s3a://{BUCKET}/a//b", 2, ("cannot be listed", "Empty path component")),
    ],
)
def test_what_is_not_in_the_store_is_said(store: Store, tmp_path: Path, url: str, code: int, words: tuple[str, ...]) -> None:
    with pytest.raises(UsageError) as raised:
        place(url).files()  # type: ignore[union-attr]
    for word in words:
        assert word in str(raised.value)
    assert raised.value.exit_code == code
    assert not (tmp_path / "case").exists()


def test_who_is_not_let_in_is_told_what_says_who_he_is(store: Store) -> None:
    store.put("logs/w1/connect.log", b"line\n")
    store.let_in("0")
    for url in (LOGS, f"{LOGS}/w1/connect.log"):
        with pytest.raises(ForensicsError) as raised:
            place(url).files()  # type: ignore[union-attr]
        for word in ("cannot be listed", "invalid access key id", "AWS_ACCESS_KEY_ID", "s3:ListBucket"):
            assert word in str(raised.value)


@pytest.mark.slow
def test_a_store_that_does_not_answer_is_named_within_seconds(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, store: Store) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    begun = time.monotonic()
    done = told("ingest", LOGS, "--case", tmp_path / "case", "--no-views")
    assert time.monotonic() - begun < 20
    assert isinstance(done.exception, ForensicsError | SystemExit)
    assert "127.0.0.1:1 does not answer" in (done.output or str(done.exception)) + str(done.exception)
